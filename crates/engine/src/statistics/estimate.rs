//! Estimates of rows by values of the first column, given as sort keys.
//!
//! ```text
//! equal        a hi key: its equal rows     between two: the average of the range     beyond: 0
//! range        whole steps, and of those that a bound cuts a share by linear interpolation over
//!              the bytes of the keys
//! ```

use std::ops::Bound;

use super::key::{KEY_BYTES_MAX, NULL_KEY, common_bytes};
use super::{Histogram, HistogramStep, Statistics};

impl Statistics {
    /// Rows with this value.
    pub fn equal(&self, key: &[u8]) -> f64 {
        let key = cut(key);
        if *key == NULL_KEY {
            return self.is_null();
        }
        let at = self.histogram.step_of(key);
        match self.histogram.steps.get(at) {
            Some(step) if *step.hi_key == *key => step.eq_rows,
            Some(step) if step.range_rows > 0.0 => step.avg_range_rows(),
            _ => 0.0,
        }
    }

    /// Rows with values within these bounds; NULL is within none.
    pub fn range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> f64 {
        let below = match low {
            Bound::Unbounded => 0.0,
            Bound::Included(key) => self.histogram.rows_before(cut(key)),
            Bound::Excluded(key) => self.histogram.rows_to(cut(key)),
        };
        let to = match high {
            Bound::Unbounded => self.histogram.rows_with_values(),
            Bound::Included(key) => self.histogram.rows_to(cut(key)),
            Bound::Excluded(key) => self.histogram.rows_before(cut(key)),
        };
        (to - below).max(0.0)
    }

    /// Rows with NULL.
    pub fn is_null(&self) -> f64 {
        self.histogram.null_rows
    }
}

impl Histogram {
    /// The first step that does not end before a key.
    fn step_of(&self, key: &[u8]) -> usize {
        self.steps.partition_point(|step| *step.hi_key < *key)
    }

    /// Rows with values that are not NULL.
    fn rows_with_values(&self) -> f64 {
        self.rows_of_steps(self.steps.len())
    }

    fn rows_of_steps(&self, steps: usize) -> f64 {
        self.steps[..steps].iter().map(|step| step.range_rows + step.eq_rows).sum()
    }

    /// Rows with lesser values.
    fn rows_before(&self, key: &[u8]) -> f64 {
        let at = self.step_of(key);
        let whole = self.rows_of_steps(at);
        let before = at.checked_sub(1).and_then(|at| self.steps.get(at));
        match self.steps.get(at) {
            Some(step) => whole + step.range_rows * step.share_before(before, key),
            None => whole,
        }
    }

    /// Rows with lesser values or this one.
    fn rows_to(&self, key: &[u8]) -> f64 {
        let before = self.rows_before(key);
        match self.steps.get(self.step_of(key)) {
            Some(step) if *step.hi_key == *key => before + step.eq_rows,
            // A value between two steps is one of the range.
            Some(step) if step.range_rows > 0.0 => {
                let whole = self.rows_of_steps(self.step_of(key));
                (before + step.avg_range_rows()).min(whole + step.range_rows)
            }
            _ => before,
        }
    }
}

impl HistogramStep {
    /// The share of the range that is less than a key of this step.
    fn share_before(&self, before: Option<&HistogramStep>, key: &[u8]) -> f64 {
        let Some(before) = before else { return 0.0 };
        if *key == *self.hi_key {
            return 1.0;
        }
        let common = common_bytes(&before.hi_key, &self.hi_key);
        let low = number(&before.hi_key[common..]);
        let high = number(&self.hi_key[common..]);
        let at = number(key.get(common..).unwrap_or_default());
        if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }
}

/// The first bytes of a key as a number.
fn number(key: &[u8]) -> f64 {
    let byte = |at: usize| u64::from(key.get(at).copied().unwrap_or(0));
    (0..8).fold(0, |number, at| number << 8 | byte(at)) as f64
}

/// As much of a key as keys of the histogram have.
fn cut(key: &[u8]) -> &[u8] {
    key.get(..KEY_BYTES_MAX).unwrap_or(key)
}
