//! Accumulators: the states of one aggregate for all groups.

use extentdb_engine::Vector;

use crate::batch::Batch;
use crate::error::Error;
use crate::operator::aggregate::fold::Groups;

/// The states of an aggregate.
pub(crate) trait Accumulator: Send {
    /// Makes states until there are as many as there are groups.
    fn grow(&mut self, groups: usize);

    /// Adds the rows of a batch, each to its group.
    ///
    /// # Errors
    /// A value leaves the range of its type already now.
    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error>;

    /// Bytes in memory, about.
    fn memory(&self) -> usize;

    /// The results of all groups.
    ///
    /// # Errors
    /// [`Error::Overflow`], [`Error::StringAggLength`].
    fn finish(&mut self) -> Result<Vector, Error>;
}
