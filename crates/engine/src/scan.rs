//! Readings that are pulled: cursors of rows, columnar scans, parallel scans, seeks of many keys.
//!
//! ```text
//! ReadHints ──▶ Reading ──▶ source: page by page of a heap, leaf by leaf of a range
//!                             ├─▶ callback (Session::range, scan, visit)
//!                             └─▶ Cursor: batches of rows, paused between two of them
//! ```

pub(crate) mod cursor;
pub(crate) mod hints;
pub(crate) mod key_lock;
pub(crate) mod reading;
pub(crate) mod source;
