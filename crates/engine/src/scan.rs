//! Readings that are pulled: cursors of rows, columnar scans, parallel scans, seeks of many keys.
//!
//! ```text
//! ReadHints ──▶ Reading ──▶ source: page by page of a heap, leaf by leaf of a range
//!                             ├─▶ callback (Session::range, scan, visit)
//!                             ├─▶ Cursor: batches of rows, paused between two of them
//!                             └─▶ Scan: columnar batches, straight from pages where that is allowed
//!                                   ├─▶ ParallelScan: the same by many threads
//!                                   └─▶ Seek: the same by many keys at once
//! ```

pub(crate) mod batch;
pub(crate) mod columns;
pub(crate) mod cursor;
pub(crate) mod hints;
pub(crate) mod key_lock;
pub(crate) mod parallel;
pub(crate) mod pipeline;
pub(crate) mod reading;
pub(crate) mod seek;
pub(crate) mod source;
pub(crate) mod spec;
