//! Statistics: histograms, densities and row counts, in memory only.
//!
//! ```text
//! Session::statistics ──▶ TableStatistics (of each table) ── fresh ──▶ Arc<Statistics>
//!                           │ none, or stale
//!                           ▼
//!                         target: an index, a statistics object, or a new _WA_Sys_…      [target]
//!                           ▼ read in index order, or all pages, or some of them         [plan]
//!                         sort keys ─▶ sorted by the leading column                      [sorter]
//!                           ▼
//!                         distinct prefixes ─▶ density     leading values ─▶ histogram   [collector]
//! ```
//!
//! The catalog has the names (`ddl::statistics`); the contents are read from the rows again when
//! somebody asks for them after a restart. No histogram of a file is used or written: decision 28.
//!
//! Invariants
//! - One scan for statistics at a time reads a table ([`Turn`](kept::Turn)).
//! - Reading statistics takes no lock of a transaction. Building them takes Sch-S on the table and
//!   reads without locks on rows; what open transactions have changed is counted as if they were
//!   to commit.
//! - Statistics are used while the columns that they are about have the types that they had.

pub(crate) mod automatic;
pub(crate) mod build;
pub(crate) mod collector;
mod estimate;
pub(crate) mod histogram;
pub(crate) mod kept;
mod key;
mod plan;
pub(crate) mod service;
mod sorter;
pub(crate) mod target;
#[cfg(test)]
mod tests;

use extentdb_format::allocation::field::StoredTime;
use extentdb_types::{Datum, SqlType};

pub use histogram::{Histogram, HistogramStep};
pub use target::StatisticsScan;

use crate::error::Error;

/// What is known of the values of some columns of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Statistics {
    pub(crate) id: i32,
    pub(crate) name: String,
    /// Ids and types of the columns; the histogram is that of the first one.
    pub(crate) columns: Vec<(i32, SqlType)>,
    pub(crate) is_filtered: bool,
    pub(crate) rows: f64,
    pub(crate) rows_sampled: u64,
    pub(crate) density: Vec<f64>,
    pub(crate) average_key_bytes: f64,
    pub(crate) histogram: Histogram,
    pub(crate) updated: StoredTime,
}

impl Statistics {
    /// `stats_id`: that of the index, or one of their own.
    pub fn id(&self) -> i32 {
        self.id
    }

    /// Name of the index or of the statistics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ids of the columns, the one that the histogram is about first. Of an index these are its key
    /// columns, and after them those of the clustered key.
    pub fn column_ids(&self) -> impl ExactSizeIterator<Item = i32> {
        self.columns.iter().map(|(id, _)| *id)
    }

    /// Are they about the rows of a filtered index only?
    pub fn is_filtered(&self) -> bool {
        self.is_filtered
    }

    /// Rows of the table, or of the index, when they were built.
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// Rows that were read for them.
    pub fn rows_sampled(&self) -> u64 {
        self.rows_sampled
    }

    /// 1 / number of distinct values in the first `prefix` columns, NULL as a value; `None` for 0,
    /// for more columns than there are, and of an empty table.
    pub fn density(&self, prefix: usize) -> Option<f64> {
        self.density.get(prefix.checked_sub(1)?).copied()
    }

    /// Stored bytes of the values of all columns, on average of a row.
    pub fn average_key_bytes(&self) -> f64 {
        self.average_key_bytes
    }

    /// The values of the first column.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// When they were built.
    pub fn updated(&self) -> StoredTime {
        self.updated
    }

    /// The sort key of a value of the first column, as the estimators take it.
    ///
    /// # Errors
    /// It is no value of the column's type.
    pub fn key(&self, value: &Datum<'_>) -> Result<Vec<u8>, Error> {
        let Some((_, ty)) = self.columns.first() else { return Ok(Vec::new()) };
        key::of_datum(ty, value)
            .map_err(|error| Error::Value { column: self.name.clone(), what: error.to_string() })
    }
}
