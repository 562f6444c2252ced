//! Cursors that clients open by calls (sp_cursoropen …), by handle.
//!
//! ```text
//!  before │ 1 … first … last … n │ after
//!         └─ 0    └── buffer ─┘      └─ n + 1
//! ```
//!
//! Invariants
//! - The buffer has the rows of the last fetch. A dynamic cursor leaves out rows that are gone, so
//!   positions in the buffer rise, but not always by one.
//! - Without rows, `first` and `last` are 0 before the first row and n + 1 after the last.

use std::collections::BTreeMap;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_types::Datum;

use crate::cursor::SharedCursor;

/// Where handles begin; none is 0.
const FIRST_HANDLE: i32 = 180_150_001;
/// From one handle to the next.
const HANDLE_STEP: i32 = 2;

/// Kinds of cursors, as the bits of the scroll option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are kinds of cursors")]
pub enum ApiKind {
    Keyset = 0x01,
    Dynamic = 0x02,
    ForwardOnly = 0x04,
    Static = 0x08,
    FastForward = 0x10,
}

/// How changes through a cursor are guarded, as the bits of the concurrency option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiConcurrency {
    /// Nothing is changed through it.
    ReadOnly = 0x01,
    /// Rows are locked when they are fetched.
    ScrollLocks = 0x02,
    /// A row that others have changed since it was fetched is not changed.
    Optimistic = 0x04,
    /// The same, by its values.
    OptimisticValues = 0x08,
}

/// A row of the buffer.
#[derive(Debug, Clone)]
pub struct BufferRow {
    /// From 1.
    pub position: usize,
    /// Its values as they were fetched; `None` for a row of a keyset that is gone.
    pub values: Option<Vec<Datum<'static>>>,
}

/// What was fetched last.
#[derive(Debug, Clone, Default)]
pub struct FetchBuffer {
    /// Position of the first row.
    pub first: usize,
    /// Position of the last row.
    pub last: usize,
    /// The rows.
    pub rows: Vec<BufferRow>,
}

/// A cursor of a client.
#[derive(Debug)]
pub struct ApiCursor {
    /// Its query and rows.
    pub cursor: SharedCursor,
    /// What it was opened as, which may be less than the client asked for.
    pub kind: ApiKind,
    /// How changes through it are guarded.
    pub concurrency: ApiConcurrency,
    /// A row whose key is changed through it keeps its position; otherwise it goes to the end.
    pub updates_in_place: bool,
    /// It is closed when its last row has been fetched.
    pub closes_at_end: bool,
    /// The name that WHERE CURRENT OF knows it by, in small letters.
    pub name: Option<String>,
    /// What was fetched last.
    pub buffer: FetchBuffer,
}

/// A cursor while a call works on it.
pub type SharedApiCursor = Arc<Mutex<ApiCursor>>;

/// The cursors of a connection, by handle.
#[derive(Debug, Default)]
pub struct ApiCursors {
    by_handle: BTreeMap<i32, SharedApiCursor>,
    last: i32,
}

impl ApiCursors {
    /// Keeps a cursor; its handle.
    pub fn add(&mut self, cursor: ApiCursor) -> i32 {
        self.last = match self.last.checked_add(HANDLE_STEP) {
            Some(next) if self.last != 0 => next,
            _ => FIRST_HANDLE,
        };
        self.by_handle.insert(self.last, Arc::new(Mutex::new(cursor)));
        self.last
    }

    /// The cursor of a handle.
    pub fn named(&self, handle: i64) -> Option<SharedApiCursor> {
        self.by_handle.get(&i32::try_from(handle).ok()?).cloned()
    }

    /// The cursors behind all handles.
    pub fn cursors(&self) -> impl Iterator<Item = SharedCursor> {
        self.by_handle.values().map(|api| lock(api).cursor.clone())
    }

    /// Takes a cursor out.
    pub fn remove(&mut self, handle: i64) -> Option<SharedApiCursor> {
        self.by_handle.remove(&i32::try_from(handle).ok()?)
    }
}
