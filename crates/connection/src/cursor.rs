//! Cursors of T-SQL: what a session knows of them.
//!
//! ```text
//! DECLARE ─▶ closed ─ OPEN ─▶ rows, position 0 ─ FETCH ─▶ 1 … n, n + 1 ─ CLOSE ─▶ closed ─▶ DEALLOCATE
//! ```
//!
//! Invariants
//! - Positions are 0 before the first row, and one more than there are rows after the last.
//! - A global cursor is the connection's, a local one that of a batch, procedure or trigger, and
//!   ends with it. Names are compared without case.

use std::collections::BTreeMap;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_tsql::syntax::{ObjectName, Query};
use extentdb_types::{Datum, SqlType};

use crate::api_cursor::ApiCursors;
use crate::output::ColumnInfo;
use crate::variable::Variable;

/// How a cursor sees changes of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorModel {
    /// Its rows are those at OPEN.
    Static,
    /// Which rows it has is known at OPEN, their values at FETCH; one that is deleted is missing.
    Keyset,
    /// The same, and rows that no longer belong to it are passed over.
    Dynamic,
}

/// A column by which a row is found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
}

/// The one table of a cursor whose rows can be found again.
#[derive(Debug, Clone)]
pub struct CursorTable {
    /// As the query names it.
    pub name: ObjectName,
    /// How columns are named by it in the query.
    pub qualifier: String,
    /// Columns of a unique index: the last ones of the rows that are read.
    pub key: Vec<KeyColumn>,
    /// Without a unique index all columns are the key: rows that are alike are not told apart, and
    /// one of them is changed.
    pub is_unique: bool,
}

/// What a cursor is.
#[derive(Debug, Clone)]
pub struct CursorPlan {
    /// Its query as it was written.
    pub query: Arc<Query>,
    /// The query with the key after its columns; the same without a table.
    pub keyed: Arc<Query>,
    /// `None` when rows cannot be found again.
    pub table: Option<CursorTable>,
    /// How it sees changes.
    pub model: CursorModel,
    /// May it go elsewhere than to the next row?
    pub is_scrollable: bool,
    /// Rows cannot be changed through it.
    pub is_read_only: bool,
    /// The columns that FOR UPDATE OF names; empty for all.
    pub updatable: Vec<String>,
}

/// A cursor.
#[derive(Debug)]
pub struct Cursor {
    /// What it is.
    pub plan: CursorPlan,
    /// Variables of its query, and their values when it was declared.
    pub variables: Arc<[Variable]>,
    /// The values.
    pub values: Vec<Datum<'static>>,
    /// Its rows while it is open.
    pub open: Option<OpenCursor>,
}

/// The rows of an open cursor.
#[derive(Debug)]
pub struct OpenCursor {
    /// Its columns, without those of the key.
    pub columns: Vec<ColumnInfo>,
    /// All rows, each with its key.
    pub rows: Vec<Vec<Datum<'static>>>,
    /// Where it is.
    pub position: usize,
    /// The row at hand was deleted.
    pub is_missing: bool,
}

/// A cursor, known under any number of names.
pub type SharedCursor = Arc<Mutex<Cursor>>;

/// Cursors by their names in small letters; a variable may have none.
pub type CursorNames = BTreeMap<String, Option<SharedCursor>>;

/// The cursors of a connection.
#[derive(Debug, Default)]
pub struct Cursors {
    /// Those that are not local.
    pub global: CursorNames,
    /// `@@FETCH_STATUS`
    pub fetch_status: i32,
    /// `@@CURSOR_ROWS`
    pub rows: i32,
    /// Those that the client has opened by calls.
    pub api: ApiCursors,
}

impl Cursors {
    /// Closes all but local ones, at the end of a transaction.
    pub fn close_all(&self) {
        let global = self.global.values().flatten().cloned();
        for cursor in global.chain(self.api.cursors()) {
            lock(&cursor).open = None;
        }
    }
}

impl Cursor {
    /// What CURSOR_STATUS says: 1 open with rows, 0 without, -1 closed.
    pub fn status(&self) -> i16 {
        match &self.open {
            None => -1,
            Some(open) if open.rows.is_empty() && self.plan.model != CursorModel::Dynamic => 0,
            Some(_) => 1,
        }
    }
}

impl OpenCursor {
    /// The row at hand, with its key.
    pub fn row(&self) -> Option<&Vec<Datum<'static>>> {
        self.position.checked_sub(1).and_then(|at| self.rows.get(at)).filter(|_| !self.is_missing)
    }
}
