//! ORDER BY: an external merge sort by normalized keys, bytes that compare as the rows do.
//!
//! ```text
//! input ─▶ Kept, at most SORTED_ROWS ── sorted ──▶ Runs: in memory, or, beyond its limit, in a
//!                                                    │     work file
//!                                                    └─ Merge ─▶ batches
//! ```
//!
//! Where a limit follows, only the first rows are kept: once twice as many have been read, they are
//! sorted and cut, and from then on rows past the last one kept are not even added.
//!
//! Invariants
//! - The sort is stable: rows with equal keys stay in the order of the input.
//! - Rows are sorted in parts, so that a cancelled statement ends soon.

mod merge;
mod runs;

use extentdb_base::sync::Arc;
use extentdb_bind::logical::Column;
use extentdb_plan::physical::{SortKey, TopRows};
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::key::{KeyEncoder, KeyRows};
use crate::operator::row_limit::RowLimit;
use crate::operator::sort::merge::Merge;
use crate::operator::sort::runs::{Runs, SortedRows};
use crate::operator::{Operator, Rows, append, poll};

/// Rows that are sorted at once, at most; and their bytes.
const SORTED_ROWS: usize = 1 << 20;
const SORTED_BYTES: usize = 256 << 20;

/// The input in an order.
pub(crate) struct Sort {
    input: Box<dyn Operator>,
    types: Arc<[SqlType]>,
    keys: KeyEncoder,
    limit: Option<RowLimit>,
    /// Rows that are needed, of those that come first.
    needed: Option<usize>,
    sorted: Option<Sorted>,
}

enum Sorted {
    Rows(Rows),
    Merge(Merge),
}

/// Rows that are read.
#[derive(Default)]
struct Kept {
    rows: Option<Batch>,
    keys: KeyRows,
    /// The rows are sorted, and there are as many as are needed: those that are not less than the
    /// last one are not needed.
    bound: Option<Vec<u8>>,
}

impl Sort {
    pub(crate) fn new(
        input: Box<dyn Operator>,
        columns: &[Column],
        keys: &[SortKey],
        limit: Option<&TopRows>,
    ) -> Sort {
        Sort {
            input,
            types: columns.iter().map(|column| column.ty).collect(),
            keys: KeyEncoder::new(keys.to_vec()),
            limit: limit.map(RowLimit::new),
            needed: None,
            sorted: None,
        }
    }

    fn sort(&mut self, context: &mut Context<'_>) -> Result<Sorted, Error> {
        let mut kept = Kept::default();
        let mut runs = Runs::new(&context.memory, &self.types);
        while let Some(batch) = self.input.next(context)? {
            poll(context)?;
            kept.add(&mut self.keys, batch)?;
            if let Some(needed) = self.needed {
                let most = needed.saturating_mul(2).max(needed.saturating_add(BATCH_ROWS));
                if kept.keys.len() >= most {
                    kept.cut(&mut self.keys, needed);
                }
            }
            let is_full = kept.keys.len() >= SORTED_ROWS || kept.memory() >= SORTED_BYTES;
            if !runs.has_room(kept.memory()) {
                runs.spill(kept.take_sorted(self.needed), context)?;
            } else if is_full && self.needed.is_none_or(|needed| needed >= SORTED_ROWS) {
                runs.keep(kept.take_sorted(self.needed));
            }
        }
        poll(context)?;
        let last = kept.take_sorted(self.needed);
        if runs.is_empty() {
            let rows = last.map(|last| Rows::reserved(last.rows, last.order, runs.into_memory()));
            return Ok(Sorted::Rows(rows.unwrap_or_default()));
        }
        runs.end(last, &mut self.keys, context)?;
        Ok(Sorted::Merge(Merge::new(runs, &mut self.keys)?))
    }
}

impl Kept {
    fn add(&mut self, encoder: &mut KeyEncoder, batch: Batch) -> Result<(), Error> {
        let batch = match &self.bound {
            None => {
                self.keys.append(encoder, &batch);
                batch
            }
            Some(bound) => {
                let mut key = Vec::new();
                let mut rows = Vec::new();
                for row in 0..batch.rows {
                    key.clear();
                    encoder.push(&batch, row, &mut key);
                    if key < *bound {
                        self.keys.push(&key);
                        rows.push(row as u32);
                    }
                }
                batch.take(&rows)
            }
        };
        match &mut self.rows {
            Some(all) => append(all, &batch),
            none => {
                *none = Some(batch);
                Ok(())
            }
        }
    }

    /// Keeps the first rows only.
    fn cut(&mut self, encoder: &mut KeyEncoder, needed: usize) {
        let bound = needed.checked_sub(1);
        let order = self.order(Some(needed));
        let Some(rows) = self.rows.take().map(|rows| rows.take(&order)) else { return };
        self.keys = KeyRows::of(encoder, &rows);
        self.bound = Some(bound.map(|last| self.keys.get(last).to_vec()).unwrap_or_default());
        self.rows = Some(rows);
    }

    /// The first rows in their order.
    fn order(&self, needed: Option<usize>) -> Vec<u32> {
        let mut order = self.keys.sorted();
        order.truncate(needed.unwrap_or(usize::MAX));
        order
    }

    /// The rows, sorted; the bound stays. `None`: there are none.
    fn take_sorted(&mut self, needed: Option<usize>) -> Option<SortedRows> {
        let order = self.order(needed);
        let keys = std::mem::take(&mut self.keys);
        self.rows.take().map(|rows| SortedRows { rows, keys, order })
    }

    /// Bytes in memory, about.
    fn memory(&self) -> usize {
        self.rows.as_ref().map_or(0, Batch::memory) + self.keys.memory()
    }
}

impl Operator for Sort {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.sorted = None;
        // What is wrong with the limit is said by the operator that keeps to it.
        let limits = self.limit.as_mut().and_then(|limit| limit.limits(&context.outer).ok());
        let needed = limits.and_then(|limits| limits.needed());
        self.needed = needed.and_then(|rows| usize::try_from(rows).ok());
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if self.sorted.is_none() {
            self.sorted = Some(self.sort(context)?);
        }
        match &mut self.sorted {
            None => Ok(None),
            Some(Sorted::Rows(rows)) => Ok(rows.next()),
            Some(Sorted::Merge(merge)) => {
                poll(context)?;
                merge.next(&mut self.keys)
            }
        }
    }
}
