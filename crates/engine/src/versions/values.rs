//! Values off rows as they were before transactions changed or freed them.
//!
//! ```text
//! writer   value copied into the version store, chunk by chunk ─▶ entry ─▶ tree changed or freed
//! reader   fragment read from the tree ─▶ no entry of a writer that it does not see: it is right
//!                                      ─▶ an entry: the copy of the first such writer instead
//! ```
//!
//! A reader has no lock of the row. What it has read from the tree is the value of its snapshot if
//! there is no entry afterwards, because a writer makes the entry before it changes anything.
//!
//! Invariants
//! - Entries of a value are in the order of its writers, whom the lock of its row keeps apart. The
//!   value that a snapshot sees is what the first writer has kept that it does not see.
//! - An entry stays as long as its chunks: until all snapshots see its writer.

use std::collections::HashMap;

use extentdb_base::XactId;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_rowset::version::{KeptValue, Snapshot, ValueKey, VersionPointer};

use super::store::VersionPages;
use super::unit::RECORD_BYTES_MAX;

/// The values of a database that snapshots may see otherwise than they are.
#[derive(Debug, Default)]
pub(super) struct KeptValues {
    by_value: Mutex<HashMap<ValueKey, Vec<Kept>>>,
    /// Entries: readers look no further while there are none.
    count: AtomicUsize,
}

#[derive(Debug)]
struct Kept {
    writer: XactId,
    chunks: Arc<ValueChunks>,
}

/// A value in the version store. In memory are 8 bytes for each chunk, a thousandth of it.
#[derive(Debug)]
pub(super) struct ValueChunks {
    store: Arc<VersionPages>,
    chunks: Vec<VersionPointer>,
    len: u64,
}

impl KeptValues {
    /// Has this writer kept the value already?
    pub(super) fn has(&self, value: ValueKey, writer: XactId) -> bool {
        let by_value = lock(&self.by_value);
        by_value.get(&value).is_some_and(|all| all.iter().any(|kept| kept.writer == writer))
    }

    pub(super) fn add(&self, value: ValueKey, writer: XactId, chunks: ValueChunks) {
        let kept = Kept { writer, chunks: Arc::new(chunks) };
        let mut by_value = lock(&self.by_value);
        by_value.entry(value).or_default().push(kept);
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// What a snapshot sees instead of the tree.
    pub(super) fn find(
        &self,
        value: ValueKey,
        snapshot: &dyn Snapshot,
    ) -> Option<Arc<ValueChunks>> {
        if self.count.load(Ordering::SeqCst) == 0 {
            return None;
        }
        let by_value = lock(&self.by_value);
        let unseen = by_value.get(&value)?.iter().find(|kept| !snapshot.sees(kept.writer))?;
        Some(unseen.chunks.clone())
    }

    pub(super) fn clean(&self, is_seen_by_all: impl Fn(XactId) -> bool) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut by_value = lock(&self.by_value);
        by_value.retain(|_, all| {
            all.retain(|kept| !is_seen_by_all(kept.writer));
            !all.is_empty()
        });
        let count = by_value.values().map(Vec::len).sum();
        self.count.store(count, Ordering::SeqCst);
    }
}

impl ValueChunks {
    /// Bytes of a chunk but the last one.
    pub(super) const BYTES: usize = RECORD_BYTES_MAX;

    pub(super) fn new(store: &Arc<VersionPages>) -> ValueChunks {
        ValueChunks { store: store.clone(), chunks: Vec::new(), len: 0 }
    }

    pub(super) fn push(&mut self, at: VersionPointer, bytes: usize) {
        self.chunks.push(at);
        self.len += bytes as u64;
    }
}

impl KeptValue for ValueChunks {
    fn value_len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64) -> Result<Vec<u8>, extentdb_rowset::Error> {
        let number = usize::try_from(offset / Self::BYTES as u64).unwrap_or(usize::MAX);
        let Some(at) = self.chunks.get(number).copied() else { return Ok(Vec::new()) };
        let wrapped = |error| extentdb_rowset::Error::VersionStore(Box::new(error));
        let chunk = self.store.read(at).map_err(wrapped)?;
        let mut chunk = chunk.ok_or(extentdb_rowset::Error::VersionGone { at })?;
        let within = (offset % Self::BYTES as u64) as usize;
        Ok(chunk.split_off(within.min(chunk.len())))
    }
}
