//! The histogram of a column, made in one pass over its sorted values: a greedy V-optimal histogram
//! (Jagadish et al., 1998) in the form that SQL Server shows.
//!
//! ```text
//! step        (hi key of the step before … │ hi key]
//!             range rows, distinct range rows │ equal rows
//! merging     step i and i + 1 ─▶ one step with the second hi key; the first one's equal rows
//!             become range rows
//! ```
//!
//! Every value is a step of its own at first. From [`PIECES_MAX`] of them on, adjacent ones are
//! merged where that costs least, and at the end until [`STEPS_MAX`] are left: the maxdiff idea,
//! that boundaries stay where neighbours differ most. The cost is the growth of
//!
//! ```text
//! Σ (rows of a range value − their average)²  +  DEPTH_WEIGHT × Σ (range rows)²
//! ```
//!
//! The first term keeps frequent values as boundaries, where they are counted exactly. The second
//! keeps ranges of about as many rows where all values are as frequent. With no more distinct
//! values than steps nothing is merged, and every estimate of a value is exact. The least value
//! always is a step. NULLs are counted apart; SQL Server shows them as a step before the first.

use super::collector::distinct_in_table;

/// Steps of a histogram, NULL not counted.
pub(crate) const STEPS_MAX: usize = 200;
/// Steps while values are read: memory is bounded by so many keys.
const PIECES_MAX: usize = 4 * STEPS_MAX;
/// What remains of them after a merge.
const PIECES_KEPT: usize = 2 * STEPS_MAX;
/// Weight of even ranges against even frequencies: a value with more than about a third of the
/// rows of an average range stays a boundary.
const DEPTH_WEIGHT: f64 = 1.0 / 16.0;

/// The values of a column, by the bytes of their sort keys.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Histogram {
    pub(super) null_rows: f64,
    pub(super) steps: Vec<HistogramStep>,
}

/// A value, and the values between the one of the step before and it.
#[derive(Clone, PartialEq, Debug)]
pub struct HistogramStep {
    /// RANGE_HI_KEY as a sort key.
    pub hi_key: Box<[u8]>,
    /// RANGE_ROWS: rows with values between.
    pub range_rows: f64,
    /// EQ_ROWS: rows with this value.
    pub eq_rows: f64,
    /// DISTINCT_RANGE_ROWS: values between.
    pub distinct_range_rows: f64,
}

impl HistogramStep {
    /// AVG_RANGE_ROWS: rows of a value between, on average; 1 when there are none.
    pub fn avg_range_rows(&self) -> f64 {
        if self.distinct_range_rows > 0.0 {
            self.range_rows / self.distinct_range_rows
        } else {
            1.0
        }
    }
}

impl Histogram {
    /// The steps, in the order of the values; NULL is none of them.
    pub fn steps(&self) -> &[HistogramStep] {
        &self.steps
    }

    /// Rows with NULL.
    pub fn null_rows(&self) -> f64 {
        self.null_rows
    }
}

/// A step that is not complete, counted in rows of the sample.
#[derive(Clone, Debug)]
struct Piece {
    hi_key: Box<[u8]>,
    equal: u64,
    range: u64,
    distinct: u64,
    /// Values of the range with one row.
    singles: u64,
    /// Sum of the squares of the rows of each range value.
    squares: f64,
}

impl Piece {
    /// What it contributes to the sum that is kept small.
    fn cost(&self) -> f64 {
        let rows = self.range as f64;
        let mean = if self.distinct == 0 { 0.0 } else { rows / self.distinct as f64 };
        (self.squares - rows * mean).max(0.0) + DEPTH_WEIGHT * rows * rows
    }

    /// Both as one.
    fn merged(self, next: Piece) -> Piece {
        let range = self.merged_range(&next);
        Piece { hi_key: next.hi_key, ..range }
    }

    /// The same without the key.
    fn merged_range(&self, next: &Piece) -> Piece {
        let equal = self.equal as f64;
        Piece {
            hi_key: Box::default(),
            equal: next.equal,
            range: self.range + self.equal + next.range,
            distinct: self.distinct + 1 + next.distinct,
            singles: self.singles + u64::from(self.equal == 1) + next.singles,
            squares: self.squares + equal * equal + next.squares,
        }
    }

    fn cost_of_merging(&self, next: &Piece) -> f64 {
        self.merged_range(next).cost() - self.cost() - next.cost()
    }
}

/// Makes a histogram of values in ascending order.
#[derive(Default, Debug)]
pub(crate) struct HistogramBuilder {
    null_rows: u64,
    pieces: Vec<Piece>,
}

impl HistogramBuilder {
    /// Rows with NULL.
    pub(crate) fn push_null(&mut self, rows: u64) {
        self.null_rows += rows;
    }

    /// The next value, and its rows.
    pub(crate) fn push(&mut self, key: &[u8], rows: u64) {
        if self.pieces.len() >= PIECES_MAX {
            self.reduce(PIECES_KEPT);
        }
        self.pieces.push(Piece {
            hi_key: key.into(),
            equal: rows,
            range: 0,
            distinct: 0,
            singles: 0,
            squares: 0.0,
        });
    }

    /// The histogram of a table with `scale` times the rows that were pushed.
    pub(crate) fn finish(mut self, scale: f64) -> Histogram {
        self.reduce(STEPS_MAX);
        let step = |piece: Piece| HistogramStep {
            hi_key: piece.hi_key,
            range_rows: piece.range as f64 * scale,
            eq_rows: piece.equal as f64 * scale,
            distinct_range_rows: distinct_in_table(
                piece.distinct,
                piece.singles,
                piece.range,
                scale,
            ),
        };
        Histogram {
            null_rows: self.null_rows as f64 * scale,
            steps: self.pieces.into_iter().map(step).collect(),
        }
    }

    /// Merges until so many are left. An eighth of what is there is merged at once, so that the
    /// cheapest merges are made without sorting all of them again after each.
    fn reduce(&mut self, most: usize) {
        while self.pieces.len() > most {
            let at_once = (self.pieces.len() - most).min(self.pieces.len() / 8).max(1);
            let mut costs: Vec<f64> = self.pieces.windows(2).map(cost_of_pair).collect();
            // The least value stays a step.
            costs[0] = f64::INFINITY;
            let mut sorted = costs.clone();
            let (_, limit, _) = sorted.select_nth_unstable_by(at_once - 1, f64::total_cmp);
            let limit = *limit;
            self.merge_within(&costs, limit, at_once);
        }
    }

    /// Merges adjacent pairs that cost no more than `limit`, `most` of them.
    fn merge_within(&mut self, costs: &[f64], limit: f64, most: usize) {
        let mut left = most;
        let mut pieces = std::mem::take(&mut self.pieces).into_iter().enumerate();
        while let Some((at, piece)) = pieces.next() {
            let is_cheap = left > 0 && costs.get(at).is_some_and(|cost| *cost <= limit);
            match if is_cheap { pieces.next() } else { None } {
                Some((_, next)) => {
                    self.pieces.push(piece.merged(next));
                    left -= 1;
                }
                None => self.pieces.push(piece),
            }
        }
    }
}

fn cost_of_pair(pair: &[Piece]) -> f64 {
    match pair {
        [piece, next] => piece.cost_of_merging(next),
        _ => f64::INFINITY,
    }
}
