//! Scripts of batches with commands between them.
//!
//! Three commands are no batches: `describe t` shows an object of the catalog, `describe` all of
//! them by name; `reconnect` ends the connection and makes another one; `other: …` is a batch of a
//! second connection.

use std::sync::Arc;

use extentdb_session::{Connection, Server};

use super::describe::describe;
use super::{batch, connect, server};

/// A server with two connections in database `shop`.
pub(crate) struct Story {
    pub(crate) server: Arc<Server>,
    pub(crate) connection: Connection,
    pub(crate) other: Connection,
}

impl Story {
    /// What a block gives: a batch or a command.
    pub(crate) fn given(&mut self, text: &str) -> String {
        if text.starts_with("describe") {
            return describe(&self.server, &self.connection, text);
        }
        if text == "reconnect" {
            let database = self.connection.database().to_owned();
            self.connection = connect(&self.server);
            return batch(&mut self.connection, &format!("USE {database}"));
        }
        match text.strip_prefix("other: ") {
            Some(text) => batch(&mut self.other, text),
            None => batch(&mut self.connection, text),
        }
    }
}

/// Runs a script of a folder of `tests`, and compares.
pub(crate) fn script(folder: &str, name: &str) {
    let path = format!("{}/tests/{folder}/{name}.batches", env!("CARGO_MANIFEST_DIR"));
    let golden = std::fs::read_to_string(&path).unwrap();
    let server = server();
    let mut connection = connect(&server);
    let mut other = connect(&server);
    batch(&mut connection, "CREATE DATABASE shop");
    batch(&mut connection, "USE shop");
    batch(&mut other, "USE shop");
    let mut story = Story { server, connection, other };
    let mut found = String::new();
    for block in golden.split("\n\n") {
        let (comment, text) = block
            .strip_prefix('#')
            .filter(|rest| rest.starts_with(' '))
            .and_then(|rest| rest.split_once('\n'))
            .map_or(("", block), |(comment, text)| (comment, text));
        if !comment.is_empty() {
            found.push_str(&format!("#{comment}\n"));
        }
        let text = text.split_once("\n---").map_or(text, |(text, _)| text).trim_end();
        let given = story.given(text);
        let given = if given.is_empty() { given } else { format!("{given}\n") };
        found.push_str(&format!("{text}\n---\n{given}\n"));
    }
    let found = format!("{}\n", found.trim_end());
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    assert_eq!(found, golden, "{name}");
}
