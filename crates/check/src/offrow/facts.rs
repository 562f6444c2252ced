//! What a reference, a node, a stub and a forwarded record state for the hashes.
//!
//! ```text
//! Forward      + stub: own slot, target            − forwarded record: back pointer, own slot
//! Pointer      + reference: target, text id        − node: own slot, own text id
//! PointerSize  + stated size: target, level, size  − inner or data node: own slot, level above it,
//!                                                  size
//! ```
//!
//! Text ids take part with the 48 bits that every reference knows; those of text pointers and roots
//! with all.
//!
//! What is odd about one node by itself states a fact that nothing cancels ([`ODD`]): its unit is
//! then verified again, and that is where findings come from.

use super::node::{Node, NodeRole};
use super::read::{ExpectedId, Forwarded, Reference, Stub, common_id};
use crate::relation::{Relation, Side, rid_word};
use crate::unit::UnitIndex;

/// Third word of a fact that nothing cancels.
pub(super) const ODD: u64 = u64::MAX;
/// Bits of a text id that only whole ids have.
const HIGH_BITS_AT: u32 = 48;

/// A fact on its way to the hashes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    pub(super) unit: UnitIndex,
    pub(super) relation: Relation,
    pub(super) side: Side,
    pub(super) words: [u64; 3],
}

impl Fact {
    /// The place where both sides meet: the node, or the forwarded record.
    pub(super) fn meeting(relation: Relation, words: [u64; 3]) -> u64 {
        let [first, second, _] = words;
        if relation == Relation::Forward { second } else { first }
    }
}

/// The facts of a stub.
pub(super) fn of_stub(stub: &Stub) -> Fact {
    let words = [rid_word(stub.rid), rid_word(stub.target), 0];
    Fact {
        unit: stub.unit,
        relation: Relation::Forward,
        side: Side::Plus,
        words,
    }
}

/// The facts of a forwarded record; ghosts have none.
pub(super) fn of_forwarded(record: &Forwarded) -> Option<Fact> {
    let words = [rid_word(record.back), rid_word(record.rid), 0];
    let fact = Fact {
        unit: record.unit,
        relation: Relation::Forward,
        side: Side::Minus,
        words,
    };
    (!record.is_ghost).then_some(fact)
}

/// The facts of a reference; ghosts have none.
pub(super) fn of_reference(reference: &Reference) -> impl Iterator<Item = Fact> + use<> {
    let target = rid_word(reference.target);
    let id = reference.id.value();
    let is_text_pointer =
        reference.stated.is_none() && matches!(reference.id, ExpectedId::Whole(_));
    let high = if is_text_pointer { id >> HIGH_BITS_AT } else { 0 };
    let fact = |relation, words| Fact { unit: reference.filed, relation, side: Side::Plus, words };
    let pointer = fact(Relation::Pointer, [target, common_id(id), high]);
    let size = reference
        .stated
        .map(|stated| fact(Relation::PointerSize, [target, u64::from(stated.level), stated.size]));
    let is_live = !reference.is_ghost();
    [Some(pointer), size].into_iter().flatten().filter(move |_| is_live)
}

/// The facts of a node. `id_max`: no text id of the database is higher.
pub(super) fn of_node(node: &Node, id_max: u64) -> impl Iterator<Item = Fact> + use<> {
    let rid = rid_word(node.rid);
    let fact = |relation, words| Fact { unit: node.unit, relation, side: Side::Minus, words };
    let high = if node.role == NodeRole::Root { node.id >> HIGH_BITS_AT } else { 0 };
    let pointer = fact(Relation::Pointer, [rid, common_id(node.id), high]);
    let level = match node.role {
        NodeRole::Data => Some(0),
        NodeRole::Inner => Some(u64::from(node.level) + 1),
        _ => None,
    };
    let size = level.map(|level| fact(Relation::PointerSize, [rid, level, node.size]));
    let is_odd = matches!(node.role, NodeRole::NoKind | NodeRole::Broken)
        || node.is_misplaced
        || node.id > id_max;
    let odd = is_odd.then(|| fact(Relation::PointerSize, [rid, node.id, ODD]));
    [Some(pointer), size, odd].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use extentdb_base::{PageId, Rid};

    use super::super::read::{Referrer, Stated};
    use super::*;
    use crate::hash::HashKey;
    use crate::relation::RelationHashes;

    const TARGET: Rid = Rid::new(PageId::new(1, 77), 3);
    const ROW: Rid = Rid::new(PageId::new(1, 9), 0);
    const ID: u64 = 0x2009 << 16;

    fn reference(id: ExpectedId, stated: Option<Stated>) -> Reference {
        let by = Referrer::Row { column: 1, is_entry: false, is_ghost: false };
        Reference {
            target: TARGET,
            from: ROW,
            by,
            id,
            stated,
            from_unit: 0,
            filed: 0,
        }
    }

    fn node(role: NodeRole, number: u16, level: u16, size: u64) -> Node {
        Node {
            rid: TARGET,
            unit: 0,
            id: ID,
            kind: number,
            role,
            level,
            size,
            page_type: 3,
            is_misplaced: false,
        }
    }

    /// Relations that do not balance.
    fn open(reference: Reference, node: Node) -> Vec<Relation> {
        let mut sums = RelationHashes::new(1, HashKey::new([3, 4]));
        for fact in of_reference(&reference).chain(of_node(&node, u64::MAX)) {
            sums.state(fact.unit, fact.relation, fact.side, fact.words, true);
        }
        sums.unit(0).unwrap().unbalanced().collect()
    }

    #[test]
    fn a_reference_and_its_node_cancel() {
        let data = node(NodeRole::Data, 3, 0, 8040);
        let inner = node(NodeRole::Inner, 2, 1, 90_000);
        let root = node(NodeRole::Root, 5, 1, 90_000);
        let stated = |level, size| Some(Stated { level, size });
        assert_eq!(open(reference(ExpectedId::Part(ID), stated(0, 8040)), data), []);
        assert_eq!(open(reference(ExpectedId::Whole(ID), stated(2, 90_000)), inner), []);
        assert_eq!(open(reference(ExpectedId::Whole(ID), None), root), []);
    }

    #[test]
    fn what_differs_does_not_cancel() {
        let data = node(NodeRole::Data, 3, 0, 8040);
        let stated = |level, size| Some(Stated { level, size });
        let part = ExpectedId::Part(ID);
        let size = [Relation::PointerSize];
        assert_eq!(open(reference(part, stated(0, 8041)), data), size);
        assert_eq!(open(reference(part, stated(1, 8040)), data), size);
        assert_eq!(
            open(reference(ExpectedId::Part(ID + 1), stated(0, 8040)), data),
            [Relation::Pointer]
        );
        let root = node(NodeRole::Root, 5, 1, 90_000);
        let high = ExpectedId::Whole(ID | 1 << 60);
        assert_eq!(open(reference(high, None), root), [Relation::Pointer]);
        let odd = Node { is_misplaced: true, ..data };
        assert_eq!(open(reference(part, stated(0, 8040)), odd), size);
    }

    #[test]
    fn ids_agree_by_the_bits_that_are_known() {
        assert!(ExpectedId::Part(ID).agrees(ID | 1 << 50));
        assert!(!ExpectedId::Part(ID).agrees(ID | 1), "the low bits of every id are 0");
        assert!(!ExpectedId::Whole(ID).agrees(ID | 1 << 50));
    }
}
