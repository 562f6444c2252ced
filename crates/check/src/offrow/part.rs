//! What the scan leaves of off-row data, besides its multiset hashes.

use std::collections::BTreeSet;

use crate::part::FamilyPart;
use crate::relation::RelationHashes;
use crate::unit::UnitIndex;
use crate::wire::{wire_enums, wire_structs};

/// Why the nodes of a rowset cannot be matched with their references.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub(crate) enum Gap {
    /// A node of a kind whose links are not known.
    Node,
    /// A complex column whose form is not known.
    Pointer,
}

wire_enums! { Gap { Node, Pointer } }

/// What the scan found of off-row data, besides findings.
#[derive(Clone, Default, Debug)]
pub(crate) struct OffRowPart {
    /// Units whose off-row data cannot be matched with its references, and why: each pair once.
    pub gaps: BTreeSet<(UnitIndex, Gap)>,
}

impl FamilyPart for OffRowPart {
    fn merge(&mut self, other: OffRowPart, _: &mut RelationHashes) {
        self.gaps.extend(other.gaps);
    }
}

wire_structs! { OffRowPart { gaps } }
