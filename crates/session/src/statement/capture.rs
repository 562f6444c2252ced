//! Results that are kept instead of sent: of cursors, INSERT … EXECUTE, INSTEAD OF triggers.

use extentdb_bind::Binder;
use extentdb_tsql::syntax::Query;
use extentdb_types::Datum;

use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::{ColumnInfo, Environment, Gone, Output, OutputValue};
use extentdb_connection::query::{self, Prepared};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// A result, kept.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<ColumnInfo>,
    pub(crate) rows: Vec<Vec<Datum<'static>>>,
}

/// Keeps results; all else goes on.
pub(crate) struct Capture<'o> {
    outer: &'o mut dyn Output,
    results: Vec<Rows>,
}

impl<'o> Capture<'o> {
    pub(crate) fn new(outer: &'o mut dyn Output) -> Capture<'o> {
        Capture { outer, results: Vec::new() }
    }

    pub(crate) fn into_results(self) -> Vec<Rows> {
        self.results
    }
}

impl Output for Capture<'_> {
    fn columns(&mut self, columns: &[ColumnInfo]) -> Result<(), Gone> {
        self.results.push(Rows { columns: columns.to_vec(), rows: Vec::new() });
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> Result<(), Gone> {
        if let Some(result) = self.results.last_mut() {
            result.rows.push(values.iter().map(|value| value.clone().into_owned()).collect());
        }
        Ok(())
    }

    fn message(&mut self, message: &Message, is_urgent: bool) -> Result<(), Gone> {
        self.outer.message(message, is_urgent)
    }

    fn environment(&mut self, change: &Environment) -> Result<(), Gone> {
        self.outer.environment(change)
    }

    fn output_value(&mut self, value: &OutputValue) -> Result<(), Gone> {
        self.outer.output_value(value)
    }
}

/// All rows of a query.
pub(crate) fn rows_of(run: &mut Run<'_>, frame: &Frame, query: &Query) -> Result<Rows, Stop> {
    let bind = |binder: &mut Binder<'_>| binder.statement(query);
    let (prepared, bound) = Prepared::bind(run, frame, bind)?;
    let mut capture = Capture::new(run.output);
    let mut inner = Run::new(run.connection, &mut capture, run.run_text);
    query::send_rows(&mut inner, frame, prepared, bound, None)?;
    Ok(capture.results.pop().unwrap_or_default())
}
