//! Accumulators: the states of one aggregate for all groups.

use std::any::Any;

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

    /// Adds the states of another accumulator of the same call, each to its group.
    ///
    /// # Errors
    /// The states of this aggregate are not added: see `plan`'s `Grouping::is_divisible`.
    fn merge(&mut self, _other: &dyn Accumulator, _groups: &[u32]) -> Result<(), Error> {
        Err(Error::NotSupported("an aggregate of parts".to_owned()))
    }

    /// Itself, where [`merge`](Self::merge) looks at it.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Bytes in memory, about.
    fn memory(&self) -> usize;

    /// The results of all groups.
    ///
    /// # Errors
    /// [`Error::Overflow`], [`Error::StringAggLength`].
    fn finish(&mut self) -> Result<Vector, Error>;
}

/// Adds states to those of their groups.
pub(super) fn merge_states<S>(
    own: &mut [S],
    other: &[S],
    groups: &[u32],
    add: impl Fn(&mut S, &S),
) {
    for (state, group) in other.iter().zip(groups) {
        if let Some(own) = own.get_mut(*group as usize) {
            add(own, state);
        }
    }
}
