//! Batches: rows as columns, on their way from one operator to the next.
//!
//! Invariant: all columns of a batch have its number of rows. A batch without columns has rows all
//! the same.

use extentdb_bind::logical::Column;
use extentdb_engine::Vector;

/// Rows that an operator puts into a batch, about: large enough that a loop over a column pays,
/// small enough that a batch stays in the cache.
pub const BATCH_ROWS: usize = 1024;

/// Rows as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Number of rows.
    pub rows: usize,
    /// Columns, in the order of the operator's columns.
    pub columns: Vec<Vector>,
}

impl Batch {
    /// A batch without rows for an operator's columns.
    pub fn empty(columns: &[Column]) -> Batch {
        Batch {
            rows: 0,
            columns: columns.iter().map(|column| Vector::computed(column.ty)).collect(),
        }
    }

    /// Some of its rows, in this order; a row may come twice.
    #[must_use]
    pub fn take(&self, rows: &[u32]) -> Batch {
        Batch {
            rows: rows.len(),
            columns: self.columns.iter().map(|column| column.take(rows)).collect(),
        }
    }

    /// The rows from `from` on, at most `count` of them.
    #[must_use]
    pub fn slice(&self, from: usize, count: usize) -> Batch {
        let to = self.rows.min(from.saturating_add(count));
        if from == 0 && to == self.rows {
            return self.clone();
        }
        let rows: Vec<u32> = (from.min(to)..to).map(|row| row as u32).collect();
        self.take(&rows)
    }

    /// Appends all rows of a batch with the same columns.
    pub fn append(&mut self, other: &Batch) {
        for (own, from) in self.columns.iter_mut().zip(&other.columns) {
            own.append(from);
        }
        self.rows += other.rows;
    }

    /// Appends some rows of a batch with the same columns.
    pub fn append_rows(&mut self, other: &Batch, rows: &[u32]) {
        for (own, from) in self.columns.iter_mut().zip(&other.columns) {
            own.append_rows(from, rows);
        }
        self.rows += rows.len();
    }

    /// Bytes in memory, about.
    pub fn memory(&self) -> usize {
        self.columns.iter().map(Vector::memory).sum()
    }
}
