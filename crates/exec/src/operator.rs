//! Operators: pulled batch by batch, and begun again for each row of an outer loop.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;

/// An operator that runs.
///
/// Invariant: [`open`](Self::open) comes before the first [`next`](Self::next), and begins anew
/// with the values from outside as they are then.
pub trait Operator: Send {
    /// Begins, or begins again.
    ///
    /// # Errors
    /// A value that is needed at the beginning has none.
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error>;

    /// The next rows, at least one; `None` when there are no more.
    ///
    /// # Errors
    /// The execution ends.
    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error>;
}

/// Reads an operator to its end into one batch; `None` when it has no rows.
pub(crate) fn drain(
    operator: &mut dyn Operator,
    context: &mut Context<'_>,
) -> Result<Option<Batch>, Error> {
    let mut all: Option<Batch> = None;
    while let Some(batch) = operator.next(context)? {
        match &mut all {
            Some(all) => all.append(&batch),
            None => all = Some(batch),
        }
    }
    Ok(all)
}

pub(crate) mod scan;
