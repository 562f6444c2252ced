//! Counts distinct values while rows pass in the order of their leading column.
//!
//! ```text
//! key of a row    sort keys of its columns, one after the other
//! ends            where each of them ends
//! ```
//!
//! Rows with the same first columns are adjacent, in any order. The columns that a row shares with
//! the one before are those that end within the bytes both begin with: no sort key of a column
//! begins another one.

use super::Histogram;
use super::histogram::HistogramBuilder;
use super::key::{NULL_KEY, common_bytes};

/// What was counted.
#[derive(Debug)]
pub(crate) struct Collected {
    /// Rows of the sample.
    pub(crate) rows: u64,
    /// Stored bytes of the values of all of them.
    pub(crate) value_bytes: u64,
    prefixes: Vec<Prefix>,
    histogram: HistogramBuilder,
}

/// The values of the first columns.
#[derive(Clone, Copy, Default, Debug)]
struct Prefix {
    /// Different ones.
    distinct: u64,
    /// Those of one row.
    singles: u64,
    /// Rows with the one that was pushed last.
    run: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Collector {
    collected: Collected,
    /// The row before.
    key: Vec<u8>,
    ends: Vec<u16>,
}

impl Prefix {
    fn end_run(&mut self) -> u64 {
        let run = std::mem::take(&mut self.run);
        self.distinct += u64::from(run > 0);
        self.singles += u64::from(run == 1);
        run
    }
}

impl Collector {
    pub(crate) fn new(columns: usize) -> Collector {
        let collected = Collected {
            rows: 0,
            value_bytes: 0,
            prefixes: vec![Prefix::default(); columns],
            histogram: HistogramBuilder::default(),
        };
        Collector { collected, key: Vec::new(), ends: Vec::new() }
    }

    /// The next row.
    pub(crate) fn push(&mut self, key: &[u8], ends: &[u16]) {
        let common = common_bytes(&self.key, key);
        let shared = self.ends.iter().take_while(|end| usize::from(**end) <= common).count();
        self.end_runs(shared);
        for prefix in &mut self.collected.prefixes {
            prefix.run += 1;
        }
        self.collected.rows += 1;
        self.key.truncate(common);
        self.key.extend_from_slice(&key[common..]);
        self.ends.clear();
        self.ends.extend_from_slice(ends);
    }

    /// Stored bytes of the values of a row.
    pub(crate) fn add_value_bytes(&mut self, bytes: u64) {
        self.collected.value_bytes += bytes;
    }

    pub(crate) fn finish(mut self) -> Collected {
        self.end_runs(0);
        self.collected
    }

    /// The values of all prefixes longer than `shared` columns end.
    fn end_runs(&mut self, shared: usize) {
        for (at, prefix) in self.collected.prefixes.iter_mut().enumerate().skip(shared) {
            let run = prefix.end_run();
            if at > 0 || run == 0 {
                continue;
            }
            let leading = self.ends.first().map_or(0, |end| usize::from(*end));
            match &self.key[..leading.min(self.key.len())] {
                key if *key == NULL_KEY => self.collected.histogram.push_null(run),
                key => self.collected.histogram.push(key, run),
            }
        }
    }
}

impl Collected {
    /// 1 / distinct values of each prefix, in a table of `scale` times the rows; nothing of an
    /// empty one.
    pub(crate) fn densities(&self, scale: f64) -> Vec<f64> {
        if self.rows == 0 {
            return Vec::new();
        }
        let density = |prefix: &Prefix| {
            1.0 / distinct_in_table(prefix.distinct, prefix.singles, self.rows, scale)
        };
        self.prefixes.iter().map(density).collect()
    }

    pub(crate) fn into_histogram(self, scale: f64) -> Histogram {
        self.histogram.finish(scale)
    }
}

/// Distinct values in a table by those in a sample of `rows` of its rows: the estimator of Haas and
/// Stokes (1998), Duj1, as PostgreSQL uses it. `scale`: rows of the table / rows of the sample.
pub(crate) fn distinct_in_table(distinct: u64, singles: u64, rows: u64, scale: f64) -> f64 {
    let found = distinct as f64;
    if scale <= 1.0 || rows == 0 {
        return found;
    }
    let rows = rows as f64;
    let singles = singles as f64;
    let estimate = found * rows / (rows - singles + singles / scale);
    estimate.clamp(found, found.max(rows * scale))
}
