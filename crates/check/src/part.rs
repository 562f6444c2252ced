//! What a family of checks leaves of a part of the database.
//!
//! Each family (scan, page audits, rows, trees, off-row data) has a part of its own, in its own
//! `part.rs`; [`Partial`](crate::partial::Partial) composes them by static types.

use crate::finding::Finding;
use crate::relation::RelationHashes;
use crate::wire::Wire;

/// The mergeable result of one family of checks: plain data, without references.
///
/// Merging is associative and commutative, and the default changes nothing.
pub(crate) trait FamilyPart: Wire {
    /// Adds what the family found on other pages. `relations` are the multiset hashes that families
    /// share: runs of tree pages that meet when they merge add their boundary to them.
    fn merge(&mut self, other: Self, relations: &mut RelationHashes);
}

/// Appends the shorter list to the longer: their order means nothing.
pub(crate) fn append<T>(own: &mut Vec<T>, mut others: Vec<T>) {
    if own.len() < others.len() {
        std::mem::swap(own, &mut others);
    }
    own.append(&mut others);
}

/// Keeps the finding on the lowest page.
pub(crate) fn keep_first(own: &mut Option<Finding>, other: Option<Finding>) {
    if let Some(other) = other
        && own.as_ref().is_none_or(|own| other.location.page < own.location.page)
    {
        *own = Some(other);
    }
}
