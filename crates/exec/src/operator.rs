//! Operators: pulled batch by batch, and begun again for each row of an outer loop.

pub(crate) mod aggregate;
pub(crate) mod call;
pub(crate) mod concat;
pub(crate) mod filter;
pub(crate) mod function;
pub(crate) mod gather;
pub(crate) mod hash_join;
pub(crate) mod join;
pub(crate) mod loop_join;
pub(crate) mod project;
pub(crate) mod provided;
pub(crate) mod recursive;
pub(crate) mod row;
pub(crate) mod row_limit;
pub(crate) mod scan;
pub(crate) mod set_operation;
pub(crate) mod sort;
pub(crate) mod text;
pub(crate) mod top;
pub(crate) mod values;
pub(crate) mod window;

use extentdb_engine::Values;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::memory::Reservation;

/// An operator that runs.
///
/// Invariant: [`open`](Self::open) comes before the first [`next`](Self::next), and begins
/// again with the values from outside as they are then.
pub trait Operator: Send {
    /// Begins, or begins again.
    ///
    /// # Errors
    /// A value that is needed at the beginning has none.
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error>;

    /// The next rows, at least one; `None` at the end.
    ///
    /// # Errors
    /// The execution ends.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error>;
}

/// Ends the execution when its statement was cancelled. Loops over batches call it for each.
pub(crate) fn poll(context: &Context<'_>) -> Result<(), Error> {
    context.verify_not_cancelled().map_err(|_| extentdb_engine::Error::Cancelled.into())
}

/// Reads an operator to its end into one batch; `None` when it has no rows.
pub(crate) fn drain(
    operator: &mut dyn Operator,
    context: &mut Context<'_>,
) -> Result<Option<Batch>, Error> {
    let mut all: Option<Batch> = None;
    while let Some(batch) = operator.next(context)? {
        poll(context)?;
        match &mut all {
            Some(all) => append(all, &batch)?,
            None => all = Some(batch),
        }
    }
    Ok(all)
}

/// Appends the rows of a batch to rows that are kept.
///
/// # Errors
/// They are too many for the numbers that rows and bytes have.
pub(crate) fn append(all: &mut Batch, batch: &Batch) -> Result<(), Error> {
    let is_full = |(own, new): (&_, &_)| text_bytes(own) + text_bytes(new) > i32::MAX as usize;
    if all.rows + batch.rows >= u32::MAX as usize
        || all.columns.iter().zip(&batch.columns).any(is_full)
    {
        return Err(Error::NotSupported("more than 2 GB of a column in memory".to_owned()));
    }
    all.append(batch);
    Ok(())
}

fn text_bytes(vector: &extentdb_engine::Vector) -> usize {
    if let Values::Variable { bytes, .. } = &vector.values { bytes.len() } else { 0 }
}

/// Rows that are there, given batch by batch.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    batch: Batch,
    /// The rows that are given, in this order; `None`: all, as they are.
    order: Option<Vec<u32>>,
    at: usize,
    /// What is reserved for them.
    memory: Option<Reservation>,
}

impl Rows {
    pub(crate) fn new(batch: Batch) -> Rows {
        Rows { batch, ..Rows::default() }
    }

    /// Some rows, in an order, and the memory that is reserved for them.
    pub(crate) fn reserved(batch: Batch, order: Vec<u32>, memory: Reservation) -> Rows {
        Rows { batch, order: Some(order), at: 0, memory: Some(memory) }
    }

    /// Takes over what is reserved for them.
    pub(crate) fn hold(&mut self, memory: Reservation) {
        self.memory = Some(memory);
    }

    /// Bytes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.batch.memory()
    }

    /// The next of them.
    pub(crate) fn next(&mut self) -> Option<Batch> {
        let rest = match &self.order {
            None => self.batch.rows.saturating_sub(self.at),
            Some(order) => order.len().saturating_sub(self.at),
        };
        if rest == 0 {
            *self = Rows::default();
            return None;
        }
        let to = self.at + rest.min(BATCH_ROWS);
        let part = match &self.order {
            None => self.batch.slice(self.at, BATCH_ROWS),
            Some(order) => self.batch.take(order.get(self.at..to).unwrap_or_default()),
        };
        self.at = to;
        Some(part)
    }
}

#[cfg(test)]
mod tests;
