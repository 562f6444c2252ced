//! The statistics that a table has in memory, and how many of its rows have changed since.
//!
//! ```text
//! changed rows    one counter of the table: inserts, deletes, TRUNCATE
//! updates         one of each Kept: rows whose value in its first column was updated
//! stale           changed rows since the build + updates ≥ threshold
//! ```
//!
//! What a transaction changes counts when it does it, and stays when it is rolled back, as SQL
//! Server's `rowmodctr`. Counters are not exact under races: nothing depends on a single row.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Condvar, Mutex, RwLock, lock, read, wait_at_most, write};
use extentdb_catalog::layout::Cell;

use super::Statistics;
use crate::catalog::{Storage, TableColumn};
use crate::database::options::UpdateThreshold;

/// See the module.
#[derive(Default, Debug)]
pub(crate) struct TableStatistics {
    changed_rows: AtomicU64,
    /// Are there any? Asked by every update of a row.
    has_kept: AtomicU64,
    kept: RwLock<Vec<Arc<Kept>>>,
    pub(crate) turn: Turn,
}

/// Statistics, and what has changed since they were built.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) statistics: Arc<Statistics>,
    /// The counter of the table when they were built.
    changed_rows_then: AtomicU64,
    updates: AtomicU64,
}

impl Kept {
    pub(crate) fn new(statistics: Arc<Statistics>, changed_rows_then: u64) -> Kept {
        Kept {
            statistics,
            changed_rows_then: changed_rows_then.into(),
            updates: AtomicU64::new(0),
        }
    }

    fn leading(&self) -> Option<i32> {
        self.statistics.column_ids().next()
    }

    /// Are its columns what they were?
    fn is_of(&self, storage: &Storage) -> bool {
        let is_same = |(id, ty): &(i32, _)| {
            storage.columns.iter().any(|column| column.id == *id && column.ty == *ty)
        };
        self.statistics.columns.iter().all(is_same)
    }
}

impl TableStatistics {
    /// Rows that were inserted or deleted since the database was opened.
    pub(crate) fn changed_rows(&self) -> u64 {
        self.changed_rows.load(Ordering::Relaxed)
    }

    /// Rows were inserted or deleted.
    pub(crate) fn note_rows(&self, rows: u64) {
        self.changed_rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// A row was updated. `old` is empty when nobody needed to read it: then all columns count.
    pub(crate) fn note_update(&self, columns: &[TableColumn], old: &[Cell<'_>], new: &[Cell<'_>]) {
        if self.has_kept.load(Ordering::Relaxed) == 0 {
            return;
        }
        for kept in read(&self.kept).iter() {
            let column = columns.iter().find(|column| Some(column.id) == kept.leading());
            let at = column.map_or(usize::MAX, |column| column.at);
            if old.is_empty() || old.get(at) != new.get(at) {
                kept.updates.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The statistics of all rows that are about a column first: the newest ones.
    pub(crate) fn leading(&self, storage: &Storage, column: i32) -> Option<Arc<Kept>> {
        let is_it = |kept: &&Arc<Kept>| {
            kept.leading() == Some(column) && !kept.statistics.is_filtered && kept.is_of(storage)
        };
        read(&self.kept).iter().rev().find(is_it).cloned()
    }

    /// Those of an index or of statistics by its name.
    pub(crate) fn by_name(&self, storage: &Storage, name: &str) -> Option<Arc<Kept>> {
        let is_it = |kept: &&Arc<Kept>| {
            kept.statistics.name.eq_ignore_ascii_case(name) && kept.is_of(storage)
        };
        read(&self.kept).iter().find(is_it).cloned()
    }

    /// Rows that have changed since these were built.
    pub(crate) fn modifications(&self, kept: &Kept) -> u64 {
        let then = kept.changed_rows_then.load(Ordering::Relaxed);
        self.changed_rows().saturating_sub(then) + kept.updates.load(Ordering::Relaxed)
    }

    pub(crate) fn is_stale(&self, kept: &Kept, threshold: UpdateThreshold) -> bool {
        self.modifications(kept) >= threshold.of_rows(kept.statistics.rows)
    }

    /// Those that are stale.
    pub(crate) fn stale(&self, threshold: UpdateThreshold) -> Vec<Arc<Kept>> {
        let is_stale = |kept: &&Arc<Kept>| self.is_stale(kept, threshold);
        read(&self.kept).iter().filter(is_stale).cloned().collect()
    }

    /// They could not be built again: that waits until as much has changed once more.
    pub(crate) fn postpone(&self, kept: &Kept) {
        kept.changed_rows_then.store(self.changed_rows(), Ordering::Relaxed);
        kept.updates.store(0, Ordering::Relaxed);
    }

    /// Takes the place of older ones with this id.
    pub(crate) fn keep(&self, kept: Kept) {
        self.change(|all| {
            all.retain(|other| other.statistics.id != kept.statistics.id);
            all.push(Arc::new(kept));
        });
    }

    /// They were dropped.
    pub(crate) fn forget(&self, id: i32) {
        self.change(|all| all.retain(|kept| kept.statistics.id != id));
    }

    /// A column was dropped; another one may get its id.
    pub(crate) fn forget_column(&self, column: i32) {
        self.change(|all| all.retain(|kept| kept.statistics.column_ids().all(|id| id != column)));
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Arc<Kept>>)) {
        let mut kept = write(&self.kept);
        change(&mut kept);
        self.has_kept.store(kept.len() as u64, Ordering::Relaxed);
    }
}

/// Lets one scan for statistics read a table at a time.
#[derive(Default, Debug)]
pub(crate) struct Turn {
    is_taken: Mutex<bool>,
    ended: Condvar,
}

/// It is taken while this lives.
#[derive(Debug)]
pub(crate) struct TurnGuard<'t>(&'t Turn);

impl Turn {
    /// Takes it, after waiting at most so long.
    pub(crate) fn take(&self, most: Duration) -> Option<TurnGuard<'_>> {
        let is_taken = lock(&self.is_taken);
        let mut is_taken = wait_at_most(&self.ended, is_taken, most, |is_taken| *is_taken);
        if std::mem::replace(&mut *is_taken, true) { None } else { Some(TurnGuard(self)) }
    }
}

impl Drop for TurnGuard<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_taken) = false;
        self.0.ended.notify_one();
    }
}
