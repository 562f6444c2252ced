//! A batch and its answer.

use std::ops::ControlFlow;

use extentdb_client::{Connection, Event, MessageKind};
use extentdb_types::{Datum, plain};

/// What a batch was answered.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Rows of all results, their values as text.
    pub(crate) rows: Vec<Vec<String>>,
    /// Number and text of the errors.
    pub(crate) errors: Vec<(i32, String)>,
}

/// Runs a batch; `None` when the connection has ended.
pub(crate) fn ask(connection: &mut Connection, text: &str) -> Option<Answer> {
    let mut answer = Answer::default();
    let asked = connection.batch(text, &mut |event| {
        match event {
            Event::Row(values) => answer.rows.push(values.iter().map(shown).collect()),
            Event::Message(message) if message.kind == MessageKind::Error => {
                answer.errors.push((message.number, message.text.clone()));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    asked.ok().map(|()| answer)
}

/// The rows of a batch that must not fail.
#[track_caller]
pub(crate) fn rows(connection: &mut Connection, text: &str) -> Vec<Vec<String>> {
    let answer = ask(connection, text).expect("a connection");
    assert_eq!(answer.errors, [], "{text}");
    answer.rows
}

fn shown(value: &Datum<'_>) -> String {
    let mut text = String::new();
    match value {
        Datum::Null => text.push_str("NULL"),
        value => {
            plain::write_plain(value, &mut text).unwrap();
        }
    }
    text
}
