//! ORDER BY: a sort in memory by normalized keys, bytes that compare as the rows do.
//!
//! Where a limit follows, only the first rows are kept: once twice as many have been read, they are
//! sorted and cut, and from then on rows past the last one kept are not even added.
//!
//! Invariant: the sort is stable: rows with equal keys stay in the order of the input.

use extentdb_plan::physical::{SortKey, TopRows};

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::key::{KeyEncoder, KeyRows};
use crate::operator::row_limit::RowLimit;
use crate::operator::{Operator, Rows, append, poll};

/// The input in an order.
pub(crate) struct Sort {
    input: Box<dyn Operator>,
    keys: KeyEncoder,
    limit: Option<RowLimit>,
    /// Rows that are needed, of those that come first.
    needed: Option<usize>,
    sorted: Option<Rows>,
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
    pub(crate) fn new(input: Box<dyn Operator>, keys: &[SortKey], limit: Option<&TopRows>) -> Sort {
        Sort {
            input,
            keys: KeyEncoder::new(keys.to_vec()),
            limit: limit.map(RowLimit::new),
            needed: None,
            sorted: None,
        }
    }

    fn sort(&mut self, context: &mut Context<'_>) -> Result<Rows, Error> {
        let mut kept = Kept::default();
        while let Some(batch) = self.input.next(context)? {
            poll(context)?;
            kept.add(&mut self.keys, batch)?;
            let Some(needed) = self.needed else { continue };
            if kept.keys.len() >= needed.saturating_mul(2).max(needed.saturating_add(BATCH_ROWS)) {
                kept.cut(&mut self.keys, needed);
            }
        }
        poll(context)?;
        let order = kept.order(self.needed);
        Ok(kept.rows.map(|rows| Rows::ordered(rows, order)).unwrap_or_default())
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
        Ok(self.sorted.as_mut().and_then(Rows::next))
    }
}
