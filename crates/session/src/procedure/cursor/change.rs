//! sp_cursor: changes of rows in the buffer of a cursor.
//!
//! ```text
//! '@a' = value, '@b' = value      UPDATE t SET [a] = @v0, [b] = @v1 WHERE key
//! 'a = 1', 'b = 2'                UPDATE t SET a = 1, b = 2 WHERE key
//! 'INSERT INTO t VALUES (…)'      as it is
//! ```

use extentdb_base::sync::lock;
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::{Datum, SqlType};

use super::{Finished, Given, fetch, found, invalid};
use crate::procedure::nested;
use crate::statement::capture::rows_of;
use crate::statement::cursor::{KeyedRow, failed, frame_of, key_text, not_open, quoted, row_query};
use extentdb_connection::api_cursor::{ApiConcurrency, ApiKind, BufferRow, SharedApiCursor};
use extentdb_connection::cursor::{CursorPlan, CursorTable, SharedCursor};
use extentdb_connection::frame::{Frame, Variable};
use extentdb_connection::objects::object_name;
use extentdb_connection::output::Scope;
use extentdb_connection::request::Argument;
use extentdb_connection::scalar::converted;
use extentdb_connection::step::{Run, Source, Text};
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// Operations.
const UPDATE: i64 = 0x01;
const DELETE: i64 = 0x02;
const INSERT: i64 = 0x04;
const REFRESH: i64 = 0x08;
const LOCK: i64 = 0x10;
/// With another operation or alone: the row is the one that WHERE CURRENT OF means.
const SET_POSITION: i64 = 0x20;
/// The row is one of the cursor, not of the buffer.
const ABSOLUTE: i64 = 0x40;

/// Where the values begin among the arguments.
const FIRST_VALUE: usize = 4;

/// The cursor that is changed through, and the arguments.
struct Change<'c> {
    given: Given<'c>,
    api: SharedApiCursor,
    cursor: SharedCursor,
    plan: CursorPlan,
    table: CursorTable,
    frame: Frame,
}

pub(super) fn run(run: &mut Run<'_>, arguments: &[Argument]) -> Result<Finished, Stop> {
    let given = Given { procedure: "sp_cursor", arguments };
    let api = found(run, given)?;
    let operation = given.number(1, "@optype").ok_or_else(|| invalid(given, "optype"))?;
    let row = given.number(2, "@rownum").unwrap_or(0);
    if operation & SET_POSITION != 0 {
        set_position(&api, row);
    }
    match operation & !(SET_POSITION | ABSOLUTE) {
        0 => Ok(Finished::default()),
        REFRESH => fetch::refresh(run, given, row),
        kind => {
            let change = Change::of(given, api, kind)?;
            change.run(run, kind, operation & ABSOLUTE != 0, row)?;
            Ok(Finished::default())
        }
    }
}

/// A row that is none of the buffer stands for the first.
fn set_position(api: &SharedApiCursor, row: i64) {
    let own = lock(api);
    let at = usize::try_from(row).ok().and_then(|row| row.checked_sub(1));
    let row = at.and_then(|at| own.buffer.rows.get(at)).or(own.buffer.rows.first());
    if let Some(row) = row
        && let Some(open) = lock(&own.cursor).open.as_mut()
    {
        open.position = row.position;
        open.is_missing = row.values.is_none();
    }
}

impl<'c> Change<'c> {
    fn of(given: Given<'c>, api: SharedApiCursor, kind: i64) -> Result<Change<'c>, Stop> {
        let cursor = lock(&api).cursor.clone();
        let plan = lock(&cursor).plan.clone();
        let is_change = matches!(kind, UPDATE | DELETE | INSERT);
        let table = plan.table.clone().filter(|_| !is_change || !plan.is_read_only);
        let table = table.ok_or_else(|| failed(16_929, "The cursor is READ ONLY."))?;
        let frame = frame_of(&cursor, &Frame::new(Scope::Procedure, Vec::new().into()));
        Ok(Change { given, api, cursor, plan, table, frame })
    }

    fn run(&self, run: &mut Run<'_>, kind: i64, is_absolute: bool, row: i64) -> Result<(), Stop> {
        if kind == INSERT {
            return self.insert(run);
        }
        for (at, row) in self.rows(is_absolute, row)? {
            match kind {
                UPDATE => self.update(run, at, &row)?,
                DELETE => {
                    self.verify_unchanged(run, &row)?;
                    let text = format!(
                        "DELETE {}FROM {} WHERE {}",
                        self.top(),
                        self.target(),
                        self.key(&row)?
                    );
                    self.execute(run, &text, &[])?;
                    self.verify_done(run)?;
                }
                LOCK => {
                    let (target, key) = (self.target(), self.key(&row)?);
                    let text = format!(
                        "DECLARE @found int; SELECT @found = 1 FROM {target} WITH (UPDLOCK) \
                         WHERE {key}"
                    );
                    self.execute(run, &text, &[])?;
                }
                _ => return Err(invalid(self.given, "optype")),
            }
        }
        Ok(())
    }

    /// The rows that are meant, with their places in the buffer; 0 means all.
    fn rows(&self, is_absolute: bool, row: i64) -> Result<Vec<(usize, BufferRow)>, Stop> {
        let own = lock(&self.api);
        let rows = own.buffer.rows.iter().cloned().enumerate();
        if row == 0 {
            return Ok(rows.collect());
        }
        let row = usize::try_from(row).unwrap_or(0);
        let is_it = |(at, own): &(usize, BufferRow)| match is_absolute {
            true => own.position == row,
            false => at + 1 == row,
        };
        let found: Vec<_> = rows.filter(is_it).collect();
        if found.is_empty() {
            let (number, text) = match own.buffer.rows.is_empty() {
                true => (16_931, "There are no rows in the current fetch buffer."),
                false => (16_930, "The requested row is not in the fetch buffer."),
            };
            return Err(failed(number, text).into());
        }
        Ok(found)
    }

    /// The table that is changed: the one that the client names, or that of the cursor.
    fn target(&self) -> ObjectName {
        let name = self.given.text(3, "@table").filter(|name| !name.trim().is_empty());
        name.map_or_else(|| self.table.name.clone(), |name| object_name(name.trim()))
    }

    /// Of rows that are alike one is changed.
    fn top(&self) -> &'static str {
        if self.table.is_unique { "" } else { "TOP (1) " }
    }

    /// The row with its key as it was when the cursor was opened, or changed through it.
    fn keyed(&self, row: &BufferRow) -> Result<Vec<Datum<'static>>, Stop> {
        let own = lock(&self.cursor);
        let open = own.open.as_ref().ok_or_else(not_open)?;
        let kept = row.position.checked_sub(1).and_then(|at| open.rows.get(at));
        Ok(kept
            .cloned()
            .ok_or_else(|| failed(16_930, "The requested row is not in the fetch buffer."))?)
    }

    fn key(&self, row: &BufferRow) -> Result<String, Stop> {
        let row = self.keyed(row)?;
        Ok(key_text(&KeyedRow { table: &self.table, row: &row }, None)?)
    }

    /// The row as it is now.
    fn now(
        &self,
        run: &mut Run<'_>,
        keyed: &[Datum<'static>],
    ) -> Result<Option<Vec<Datum<'static>>>, Stop> {
        let keyed = KeyedRow { table: &self.table, row: keyed };
        let query = row_query(&self.plan.query, &keyed, false)?;
        Ok(rows_of(run, &self.frame, &query)?.rows.into_iter().next())
    }

    /// Others have not changed the row since it was fetched.
    fn verify_unchanged(&self, run: &mut Run<'_>, row: &BufferRow) -> Result<(), Stop> {
        if lock(&self.api).concurrency == ApiConcurrency::ReadOnly {
            return Err(failed(16_929, "The cursor is READ ONLY.").into());
        }
        let keyed = self.keyed(row)?;
        if self.now(run, &keyed)? == row.values {
            return Ok(());
        }
        let text = "Optimistic concurrency check failed. The row was modified outside of this \
                    cursor.";
        Err(failed(16_934, text).into())
    }

    fn verify_done(&self, run: &Run<'_>) -> Result<(), Stop> {
        match run.connection.rowcount {
            0 => Err(failed(16_947, "No rows were updated or deleted.").into()),
            _ => Ok(()),
        }
    }

    fn update(&self, run: &mut Run<'_>, at: usize, row: &BufferRow) -> Result<(), Stop> {
        self.verify_unchanged(run, row)?;
        let values = self.values();
        let (set, parameters) = match named(values) {
            Some(named) => {
                let columns = named.iter().zip(0..);
                let set: Vec<_> =
                    columns.map(|((name, _), at)| format!("{} = @v{at}", quoted(name))).collect();
                let all = set.join(", ");
                (format!("UPDATE {}{} SET {all}", self.top(), self.target()), values)
            }
            None => (self.update_text(values)?, &[][..]),
        };
        let text = format!("{set} WHERE {}", self.key(row)?);
        self.execute(run, &text, parameters)?;
        self.verify_done(run)?;
        self.note_update(run, at, row)
    }

    /// The row of the cursor and of its buffer are as they were changed.
    fn note_update(&self, run: &mut Run<'_>, at: usize, row: &BufferRow) -> Result<(), Stop> {
        let before = self.keyed(row)?;
        let mut keyed = before.clone();
        self.set_key(run, &mut keyed, self.values())?;
        let mut now = self.now(run, &keyed)?;
        let mut api = lock(&self.api);
        if let Some(open) = lock(&self.cursor).open.as_mut() {
            let is_moved = keyed != before && api.kind == ApiKind::Keyset;
            if is_moved && !api.updates_in_place && self.table.is_unique {
                // As if it had been deleted and inserted.
                open.rows.push(keyed);
                now = None;
            } else if let Some(kept) = open.rows.get_mut(row.position.saturating_sub(1)) {
                *kept = keyed;
            }
        }
        if let Some(row) = api.buffer.rows.get_mut(at) {
            row.values = now;
        }
        Ok(())
    }

    fn values(&self) -> &'c [Argument] {
        self.given.arguments.get(FIRST_VALUE..).unwrap_or_default()
    }

    /// An UPDATE without its condition, of one text or of assignments.
    fn update_text(&self, values: &[Argument]) -> Result<String, Stop> {
        let parts = texts(values);
        let Some(first) = parts.first() else { return Err(no_values("UPDATE")) };
        let all = parts.join(", ");
        Ok(match () {
            () if begins_with(first, "UPDATE") => all,
            () if begins_with(first, "SET") => {
                format!("UPDATE {}{} {all}", self.top(), self.target())
            }
            () => format!("UPDATE {}{} SET {all}", self.top(), self.target()),
        })
    }

    /// Gives the key the values of the columns that were changed by name.
    fn set_key(
        &self,
        run: &Run<'_>,
        keyed: &mut [Datum<'static>],
        values: &[Argument],
    ) -> Result<(), Stop> {
        let begin = keyed.len().saturating_sub(self.table.key.len());
        for (column, value) in self.table.key.iter().zip(keyed.iter_mut().skip(begin)) {
            let is_it =
                |it: &&Argument| it.name.trim_start_matches('@').eq_ignore_ascii_case(&column.name);
            if let Some(argument) = values.iter().find(is_it) {
                let from = argument.ty.unwrap_or(column.ty);
                let at = run.values(&self.frame);
                *value = converted(argument.value.clone(), from, column.ty, at)?;
            }
        }
        Ok(())
    }

    fn insert(&self, run: &mut Run<'_>) -> Result<(), Stop> {
        let values = self.values();
        let (text, parameters) = match named(values) {
            Some(named) => {
                let columns: Vec<_> = named.iter().map(|(name, _)| quoted(name)).collect();
                let slots: Vec<_> = (0..named.len()).map(|at| format!("@v{at}")).collect();
                let (columns, slots) = (columns.join(", "), slots.join(", "));
                (format!("INSERT INTO {} ({columns}) VALUES ({slots})", self.target()), values)
            }
            None => (self.insert_text(values)?, &[][..]),
        };
        self.execute(run, &text, parameters)?;
        if lock(&self.api).kind == ApiKind::Keyset {
            self.append(run, values)?;
        }
        Ok(())
    }

    fn insert_text(&self, values: &[Argument]) -> Result<String, Stop> {
        let parts = texts(values);
        let Some(first) = parts.first() else {
            return Ok(format!("INSERT INTO {} DEFAULT VALUES", self.target()));
        };
        let all = parts.join(", ");
        Ok(match () {
            () if begins_with(first, "INSERT") => all,
            () if begins_with(first, "VALUES") || begins_with(first, "DEFAULT VALUES") => {
                format!("INSERT INTO {} {all}", self.target())
            }
            () if first.starts_with('(') => format!("INSERT INTO {} VALUES {all}", self.target()),
            () => format!("INSERT INTO {} VALUES ({all})", self.target()),
        })
    }

    /// A row whose key is known is the last one of a keyset.
    fn append(&self, run: &mut Run<'_>, values: &[Argument]) -> Result<(), Stop> {
        let mut key = vec![Datum::Null; self.table.key.len()];
        self.set_key(run, &mut key, values)?;
        if let [value @ Datum::Null] = key.as_mut_slice()
            && let [column] = self.table.key.as_slice()
            && let Some(identity) = run.connection.identities.last()
        {
            let from = SqlType::Numeric { precision: 38, scale: 0 };
            let at = run.values(&self.frame);
            *value =
                converted(Datum::Decimal(identity), from, column.ty, at).unwrap_or(Datum::Null);
        }
        let keyed = KeyedRow { table: &self.table, row: &key };
        let query = row_query(&self.plan.keyed, &keyed, false)?;
        let row = rows_of(run, &self.frame, &query)?.rows.into_iter().next();
        if let Some(row) = row
            && let Some(open) = lock(&self.cursor).open.as_mut()
        {
            open.rows.push(row);
        }
        Ok(())
    }

    /// Runs a statement whose parameters are `@v0`, `@v1` …
    fn execute(&self, run: &mut Run<'_>, text: &str, values: &[Argument]) -> Result<(), Stop> {
        let variables = values.iter().zip(0..).map(|(argument, at)| Variable {
            name: format!("@v{at}").into(),
            ty: argument.ty.unwrap_or(SqlType::Int),
        });
        let text = Text {
            source: Source::Text(text),
            scope: Scope::Procedure,
            parameters: variables.collect(),
            values: values.iter().map(|argument| argument.value.clone()).collect(),
            inherited: None,
            has_outer_handler: false,
            trigger: None,
        };
        nested(run, |run| run.text(text)).map(|_| ())
    }
}

/// Columns and values, when they are given by name.
fn named(values: &[Argument]) -> Option<Vec<(&str, &Argument)>> {
    let name = |argument: &'_ Argument| !argument.name.is_empty();
    (!values.is_empty() && values.iter().all(name)).then(|| {
        values.iter().map(|argument| (argument.name.trim_start_matches('@'), argument)).collect()
    })
}

fn texts(values: &[Argument]) -> Vec<String> {
    values.iter().filter_map(|argument| variant::text(&argument.value)).collect()
}

fn begins_with(text: &str, words: &str) -> bool {
    let mut own = text.split_whitespace();
    words.split_whitespace().all(|word| own.next().is_some_and(|it| it.eq_ignore_ascii_case(word)))
}

fn no_values(operation: &str) -> Stop {
    let text =
        format!("No parameter values were specified for the sp_cursor-{operation} statement.");
    failed(16_935, text).into()
}
