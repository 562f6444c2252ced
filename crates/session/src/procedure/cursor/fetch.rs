//! sp_cursorfetch: the next rows of a cursor, or others, into its buffer and to the client.

use std::collections::HashSet;

use extentdb_base::sync::lock;
use extentdb_types::Datum;

use super::open::{CLOSED, ROWS, describe};
use super::{Finished, Given, found, handle_of, invalid, remove, returned, row_count, unknown};
use crate::statement::capture::rows_of;
use crate::statement::cursor::{KeyedRow, failed, frame_of, not_open, row_query};
use extentdb_connection::api_cursor::{
    ApiCursor, ApiKind, BufferRow, FetchBuffer, SharedApiCursor,
};
use extentdb_connection::cause::Cause;
use extentdb_connection::cursor::{CursorModel, CursorPlan, SharedCursor};
use extentdb_connection::frame::Frame;
use extentdb_connection::output::{Scope, StatementCode};
use extentdb_connection::request::Argument;
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// Kinds of fetches.
const FIRST: i64 = 0x01;
const NEXT: i64 = 0x02;
const PREVIOUS: i64 = 0x04;
const LAST: i64 = 0x08;
const ABSOLUTE: i64 = 0x10;
const RELATIVE: i64 = 0x20;
const REFRESH: i64 = 0x80;
const INFO: i64 = 0x100;
const PREVIOUS_ALONE: i64 = 0x200;
/// Versions of rows are not noted; they never are.
const NO_VERSIONS: i64 = 0x400;

/// Status of a call that would have begun before the first row, and began there.
const ADJUSTED: i32 = 2;

/// A row was there, or not.
const PRESENT: i32 = 1;
const MISSING: i32 = 2;

/// Where a fetch goes, and how many rows it wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    First {
        count: i64,
    },
    Next {
        count: i64,
    },
    /// `is_adjusted`: with the first rows when there are fewer before the buffer.
    Previous {
        count: i64,
        is_adjusted: bool,
    },
    Last {
        count: i64,
    },
    /// From the end when it is negative.
    Absolute {
        row: i64,
        count: i64,
    },
    /// From the first row of the buffer.
    Relative {
        by: i64,
        count: i64,
    },
    /// The rows of the buffer again, or one of them.
    Refresh {
        row: Option<usize>,
    },
}

/// What a fetch has done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fetched {
    pub(super) rows: u64,
    pub(super) is_closed: bool,
    is_adjusted: bool,
}

pub(super) fn fetch(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: "sp_cursorfetch", arguments };
    let cursor = found(run, given)?;
    let kind = given.number(1, "@fetchtype").unwrap_or(NEXT) & !NO_VERSIONS;
    if kind == INFO {
        return Ok(info(given, &lock(&cursor)));
    }
    let row = given.number(2, "@rownum").unwrap_or(1);
    let count = given.number(3, "@nrows").unwrap_or(ROWS).max(0);
    let walk = match kind {
        FIRST => Walk::First { count },
        NEXT => Walk::Next { count },
        PREVIOUS => Walk::Previous { count, is_adjusted: true },
        PREVIOUS_ALONE => Walk::Previous { count, is_adjusted: false },
        LAST => Walk::Last { count },
        ABSOLUTE => Walk::Absolute { row, count },
        RELATIVE => Walk::Relative { by: row, count },
        REFRESH => Walk::Refresh { row: None },
        _ => return Err(invalid(given, "fetchtype")),
    };
    verify(&lock(&cursor), walk)?;
    let own = lock(&cursor).cursor.clone();
    describe(run, &lock(&own))?;
    let done = fetch_rows(run, handle_of(given)?, walk)?;
    run.done(Scope::Procedure, StatementCode::Select, Some(done.rows), false)?;
    let status = match done {
        Fetched { is_closed: true, .. } => CLOSED,
        Fetched { is_adjusted: true, .. } => ADJUSTED,
        _ => 0,
    };
    Ok(Finished { status, outputs: Vec::new() })
}

/// Rows of the buffer again, and their columns, for sp_cursor; 0 means all.
pub(super) fn refresh(run: &mut Run<'_>, given: Given<'_>, row: i64) -> Result<Finished, Stop> {
    let api = found(run, given)?;
    let own = lock(&api).cursor.clone();
    describe(run, &lock(&own))?;
    let row = usize::try_from(row).ok().and_then(|row| row.checked_sub(1));
    let done = fetch_rows(run, handle_of(given)?, Walk::Refresh { row })?;
    run.done(Scope::Procedure, StatementCode::Select, Some(done.rows), false)?;
    Ok(Finished::default())
}

/// Position and number of rows, for arguments that are outputs.
fn info(given: Given<'_>, cursor: &ApiCursor) -> Finished {
    let rows = lock(&cursor.cursor).open.as_ref().map_or(0, |open| open.rows.len());
    let position = match cursor.buffer.first {
        0 => 0,
        first if first > rows => -1,
        _ if cursor.kind == ApiKind::Dynamic => 1,
        first => i32::try_from(first).unwrap_or(i32::MAX),
    };
    let values = [(2, "@rownum", position), (3, "@nrows", row_count(cursor))];
    let outputs = values.into_iter().filter_map(|(place, name, value)| {
        given.place(place, name).map(|place| (place, returned(value)))
    });
    Finished { status: 0, outputs: outputs.collect() }
}

/// Can the cursor go there?
fn verify(cursor: &ApiCursor, walk: Walk) -> Result<(), Cause> {
    let word = match walk {
        Walk::First { .. } => "first",
        Walk::Previous { .. } => "prior",
        Walk::Last { .. } => "last",
        Walk::Absolute { .. } => "absolute",
        Walk::Relative { .. } => "relative",
        Walk::Next { .. } | Walk::Refresh { .. } => return Ok(()),
    };
    let is_forward = matches!(cursor.kind, ApiKind::ForwardOnly | ApiKind::FastForward);
    if is_forward && !matches!(walk, Walk::First { .. }) {
        return Err(failed(
            16_911,
            format!(
                "sp_cursorfetch: The fetch type {word} cannot be used with forward only cursors."
            ),
        ));
    }
    if cursor.kind == ApiKind::Dynamic && matches!(walk, Walk::Absolute { .. }) {
        let text = format!("The fetch type {word} cannot be used with dynamic cursors.");
        return Err(failed(16_925, text));
    }
    Ok(())
}

/// Reads rows of a cursor.
struct Reader<'c> {
    cursor: SharedCursor,
    plan: CursorPlan,
    frame: &'c Frame,
    /// Rows that it has, or their keys.
    count: usize,
}

/// A row as it is now.
enum Read {
    Present(Vec<Datum<'static>>),
    /// Of a keyset: it is gone.
    Missing,
    /// Of a dynamic cursor: it has no such row.
    Skipped,
}

impl Reader<'_> {
    fn row(&self, run: &mut Run<'_>, position: usize) -> Result<Read, Stop> {
        let kept = {
            let own = lock(&self.cursor);
            let open = own.open.as_ref().ok_or_else(not_open)?;
            position.checked_sub(1).and_then(|at| open.rows.get(at)).cloned()
        };
        let Some(kept) = kept else { return Ok(Read::Skipped) };
        let Some(table) = &self.plan.table else { return Ok(Read::Present(kept)) };
        let is_filtered = self.plan.model == CursorModel::Dynamic;
        let query = row_query(&self.plan.query, &KeyedRow { table, row: &kept }, is_filtered)?;
        let row = rows_of(run, self.frame, &query)?.rows.into_iter().next();
        Ok(match row {
            Some(row) => Read::Present(row),
            None if self.plan.model == CursorModel::Keyset => Read::Missing,
            None => Read::Skipped,
        })
    }

    /// Rows from a position on, or back from it; in the order of the cursor.
    fn rows(
        &self,
        run: &mut Run<'_>,
        positions: &mut dyn Iterator<Item = usize>,
        count: i64,
    ) -> Result<Vec<BufferRow>, Stop> {
        let count = usize::try_from(count).unwrap_or(0);
        let mut rows = Vec::new();
        while rows.len() < count
            && let Some(position) = positions.next()
        {
            let values = match self.row(run, position)? {
                Read::Present(values) => Some(values),
                Read::Missing => None,
                Read::Skipped => continue,
            };
            rows.push(BufferRow { position, values });
        }
        rows.sort_by_key(|row| row.position);
        Ok(rows)
    }

    /// The buffer after rows were read from a position on: past the end without any.
    fn forward(&mut self, run: &mut Run<'_>, from: i64, count: i64) -> Result<FetchBuffer, Stop> {
        let Ok(from) = usize::try_from(from) else { return Ok(FetchBuffer::default()) };
        if from == 0 {
            return Ok(FetchBuffer::default());
        }
        let mut rows = self.rows(run, &mut (from..=self.count), count)?;
        let missing = count.saturating_sub(i64::try_from(rows.len()).unwrap_or(count));
        if self.plan.model == CursorModel::Dynamic && missing > 0 {
            let next = self.count + 1;
            self.find_new(run)?;
            rows.extend(self.rows(run, &mut (next.max(from)..=self.count), missing)?);
        }
        Ok(self.buffer(rows, self.count + 1))
    }

    /// Rows that came to a dynamic cursor since it was opened, after those that it has.
    fn find_new(&mut self, run: &mut Run<'_>) -> Result<(), Stop> {
        let Some(table) = self.plan.table.as_ref().filter(|table| table.is_unique) else {
            return Ok(());
        };
        let width = table.key.len();
        let found = rows_of(run, self.frame, &self.plan.keyed)?.rows;
        let mut own = lock(&self.cursor);
        let open = own.open.as_mut().ok_or_else(not_open)?;
        let key = |row: &Vec<Datum<'static>>| {
            row.get(row.len().saturating_sub(width)..).map(|key| format!("{key:?}"))
        };
        let known: HashSet<_> = open.rows.iter().map(key).collect();
        open.rows.extend(found.into_iter().filter(|row| !known.contains(&key(row))));
        self.count = open.rows.len();
        Ok(())
    }

    /// The buffer after rows were read back from a position: before the first without any.
    fn backward(&self, run: &mut Run<'_>, from: usize, count: i64) -> Result<FetchBuffer, Stop> {
        let rows = self.rows(run, &mut (1..=from.min(self.count)).rev(), count)?;
        Ok(self.buffer(rows, 0))
    }

    fn buffer(&self, rows: Vec<BufferRow>, empty: usize) -> FetchBuffer {
        let first = rows.first().map_or(empty, |row| row.position);
        let last = rows.last().map_or(empty, |row| row.position);
        FetchBuffer { first, last, rows }
    }

    /// The buffer after a fetch, and whether it began at the first row instead of before it.
    fn walk(
        &mut self,
        run: &mut Run<'_>,
        at: &FetchBuffer,
        walk: Walk,
    ) -> Result<(FetchBuffer, bool), Stop> {
        let end = i64::try_from(self.count).unwrap_or(i64::MAX - 1);
        let first = i64::try_from(at.first).unwrap_or(i64::MAX - 1);
        let last = i64::try_from(at.last).unwrap_or(i64::MAX - 1);
        let buffer = match walk {
            Walk::First { count: 0 } => FetchBuffer::default(),
            Walk::First { count } => self.forward(run, 1, count)?,
            Walk::Next { count } => self.forward(run, last + 1, count)?,
            Walk::Last { count: 0 } => self.buffer(Vec::new(), self.count + 1),
            Walk::Last { count } => {
                if self.plan.model == CursorModel::Dynamic {
                    self.find_new(run)?;
                }
                self.backward(run, self.count, count)?
            }
            Walk::Absolute { row, count } if row < 0 => {
                self.forward(run, reached(end + 1, row, count), count)?
            }
            Walk::Absolute { row, count } => self.forward(run, row, count)?,
            Walk::Relative { by, count } => self.forward(run, reached(first, by, count), count)?,
            Walk::Previous { count, is_adjusted } => {
                let before = self.backward(run, at.first.saturating_sub(1), count)?;
                let is_short = i64::try_from(before.rows.len()).is_ok_and(|rows| rows < count);
                if is_adjusted && is_short && !before.rows.is_empty() {
                    return Ok((self.forward(run, 1, count)?, true));
                }
                before
            }
            Walk::Refresh { row } => {
                let mut positions = at.rows.iter().map(|row| row.position);
                let rows = match row {
                    None => self.rows(run, &mut positions, i64::MAX)?,
                    Some(row) => self.rows(run, &mut positions.skip(row).take(1), 1)?,
                };
                FetchBuffer { rows, ..*at }
            }
        };
        Ok((buffer, false))
    }
}

/// The position at a distance from another one: the first row in place of those before it, when the
/// distance is not longer than the buffer.
fn reached(from: i64, by: i64, count: i64) -> i64 {
    let at = from.saturating_add(by);
    if at < 1 && from > 1 && by.saturating_neg() <= count { 1 } else { at }
}

/// Fills the buffer of a cursor, and sends its rows.
pub(super) fn fetch_rows(run: &mut Run<'_>, handle: i64, walk: Walk) -> Result<Fetched, Stop> {
    let given = Given { procedure: "sp_cursorfetch", arguments: &[] };
    let api = run.connection.cursors.api.named(handle).ok_or_else(|| unknown(given, handle))?;
    let (cursor, at) = {
        let own = lock(&api);
        (own.cursor.clone(), own.buffer.clone())
    };
    let frame = frame_of(&cursor, &Frame::new(Scope::Procedure, Vec::new().into()));
    let (plan, count) = {
        let own = lock(&cursor);
        (own.plan.clone(), own.open.as_ref().ok_or_else(not_open)?.rows.len())
    };
    let mut reader = Reader { cursor, plan, frame: &frame, count };
    let (buffer, is_adjusted) = reader.walk(run, &at, walk)?;
    send(run, &reader.cursor, &buffer)?;
    let rows = buffer.rows.len() as u64;
    let is_at_end = buffer.last >= reader.count;
    match walk {
        Walk::Refresh { row: Some(row) } => set_row(&api, row, buffer.rows),
        _ => set_buffer(&api, buffer),
    }
    let is_closed = lock(&api).closes_at_end && is_at_end && remove(run, handle);
    Ok(Fetched { rows, is_closed, is_adjusted })
}

/// Rows with their status; the values of one that is gone are those that it had.
fn send(run: &mut Run<'_>, cursor: &SharedCursor, buffer: &FetchBuffer) -> Result<(), Stop> {
    for row in &buffer.rows {
        let mut values = match &row.values {
            Some(values) => values.clone(),
            None => {
                let own = lock(cursor);
                let open = own.open.as_ref().ok_or_else(not_open)?;
                let kept = row.position.checked_sub(1).and_then(|at| open.rows.get(at));
                let kept = kept.into_iter().flatten().take(open.columns.len());
                kept.cloned().collect()
            }
        };
        values.push(Datum::Int(if row.values.is_some() { PRESENT } else { MISSING }));
        run.output.row(&values)?;
    }
    Ok(())
}

/// One row of the buffer.
fn set_row(api: &SharedApiCursor, row: usize, rows: Vec<BufferRow>) {
    if let Some(own) = lock(api).buffer.rows.get_mut(row)
        && let Some(new) = rows.into_iter().next()
    {
        *own = new;
    }
}

/// The buffer, and its first row as the one that WHERE CURRENT OF means.
fn set_buffer(api: &SharedApiCursor, buffer: FetchBuffer) {
    let mut own = lock(api);
    if let Some(open) = lock(&own.cursor).open.as_mut() {
        open.position = buffer.first;
        open.is_missing = buffer.rows.first().is_some_and(|row| row.values.is_none());
    }
    own.buffer = buffer;
}
