//! Cursors: DECLARE CURSOR, SET @c = CURSOR, OPEN, FETCH, CLOSE, DEALLOCATE.
//!
//! Where we differ
//! - All rows, or their keys, are read at OPEN, whatever the kind. A dynamic cursor does not see
//!   rows that are inserted after it; the order of its rows is the one at OPEN.
//! - A cursor whose rows cannot be found again (joins, groups, no unique index) is static and read
//!   only, as the product makes it.

mod declare;
mod fetch;
mod row_key;

use extentdb_base::sync::{Arc, lock};
use extentdb_tsql::syntax::{CursorName, NameOrVariable};

use super::Compiled;
use super::capture::{Rows, rows_of};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorModel, OpenCursor, SharedCursor};
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

pub(crate) use declare::{CursorKind, cursor_of, variable};
pub(super) use declare::{declare, set_variable};
pub(super) use fetch::fetch;
pub(super) use row_key::current_row_filter;
pub(crate) use row_key::{ByValues, KeyedRow, key_text, quoted, row_query};

struct Open(CursorName);
struct Close(CursorName);
struct Deallocate(CursorName);

pub(super) fn open(name: &CursorName) -> Compiled {
    Ok(Box::new(Open(name.clone())))
}

pub(super) fn close(name: &CursorName) -> Compiled {
    Ok(Box::new(Close(name.clone())))
}

pub(super) fn deallocate(name: &CursorName) -> Compiled {
    Ok(Box::new(Deallocate(name.clone())))
}

/// An error of a cursor.
pub(crate) fn failed(number: i32, text: impl Into<String>) -> Cause {
    Cause::Failed { number, severity: 16, text: text.into() }
}

pub(crate) fn not_open() -> Cause {
    failed(16_917, "Cursor is not open.")
}

/// The name as it is looked up, and as messages show it.
fn text_of(name: &CursorName) -> &str {
    match &name.name {
        NameOrVariable::Name(name) => &name.text,
        NameOrVariable::Variable(name) => &name.text,
    }
}

/// The cursor of a name: a local one before a global one.
fn found(run: &Run<'_>, frame: &Frame, name: &CursorName) -> Result<SharedCursor, Cause> {
    let text = text_of(name);
    let key = text.to_lowercase();
    let local = (!name.is_global).then(|| frame.cursors.get(&key)).flatten();
    match local {
        Some(Some(cursor)) => return Ok(cursor.clone()),
        Some(None) => {
            return Err(failed(
                16_950,
                format!("The variable '{text}' does not currently have a cursor allocated to it."),
            ));
        }
        None => {}
    }
    let global = run.connection.cursors.global.get(&key).cloned().flatten();
    global.ok_or_else(|| failed(16_916, format!("A cursor with the name '{text}' does not exist.")))
}

/// A frame with the variables that a cursor was declared with.
pub(crate) fn frame_of(cursor: &SharedCursor, frame: &Frame) -> Frame {
    let cursor = lock(cursor);
    let mut own = Frame::new(frame.scope, cursor.variables.clone());
    own.values.clone_from(&cursor.values);
    own.trigger.clone_from(&frame.trigger);
    own
}

fn ended(run: &mut Run<'_>, frame: &Frame) -> Result<RowCount, Stop> {
    run.done(frame.scope, StatementCode::Other, None, false)?;
    Ok(RowCount::Rows(0))
}

/// Reads the rows of a cursor, or their keys.
pub(crate) fn open_rows(
    run: &mut Run<'_>,
    frame: &Frame,
    cursor: &SharedCursor,
) -> Result<(), Stop> {
    let plan = lock(cursor).plan.clone();
    let Rows { mut columns, rows } = rows_of(run, &frame_of(cursor, frame), &plan.keyed)?;
    let hidden = plan.table.as_ref().map_or(0, |table| table.key.len());
    columns.truncate(columns.len().saturating_sub(hidden));
    let count = i32::try_from(rows.len()).unwrap_or(i32::MAX);
    run.connection.cursors.rows = if plan.model == CursorModel::Dynamic { -1 } else { count };
    lock(cursor).open = Some(OpenCursor { columns, rows, position: 0, is_missing: false });
    Ok(())
}

impl Step for Open {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let cursor = found(run, frame, &self.0)?;
        if lock(&cursor).open.is_some() {
            return Err(failed(16_905, "The cursor is already open.").into());
        }
        open_rows(run, frame, &cursor)?;
        ended(run, frame)
    }
}

impl Step for Close {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let cursor = found(run, frame, &self.0)?;
        let open = lock(&cursor).open.take();
        open.ok_or_else(not_open)?;
        run.connection.cursors.rows = 0;
        ended(run, frame)
    }
}

impl Step for Deallocate {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        found(run, frame, &self.0)?;
        let key = text_of(&self.0).to_lowercase();
        let is_local = !self.0.is_global && frame.cursors.contains_key(&key);
        match &self.0.name {
            NameOrVariable::Variable(_) => {
                frame.cursors.insert(key, None);
            }
            NameOrVariable::Name(_) if is_local => {
                frame.cursors.remove(&key);
            }
            NameOrVariable::Name(_) => {
                run.connection.cursors.global.remove(&key);
            }
        }
        ended(run, frame)
    }
}

/// A cursor that other names may share.
pub(crate) fn shared(cursor: extentdb_connection::cursor::Cursor) -> SharedCursor {
    Arc::new(extentdb_base::sync::Mutex::new(cursor))
}
