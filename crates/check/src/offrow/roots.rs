//! Nodes of an older kind: roots whose links cannot be followed, or other nodes that lost their
//! kind.
//!
//! ```text
//! text pointer    ── nothing is said of the size ──> a root of any kind
//! link, row root  ── the size of the part        ──> data or an inner node, never a root
//! ```
//!
//! With a root that cannot be followed, nothing can be said of the nodes of a rowset. With none, a
//! link to such a node is wrong like any other. Two passes over the rowset decide it, and only
//! rowsets with such nodes are examined.

use std::collections::{BTreeSet, HashSet};

use extentdb_base::Rid;

use super::exact::ExactReader;
use super::facts::Fact;
use super::node::{Node, NodeRole};
use super::pass::id_max;
use super::read::{PageReader, Reference, Sink};
use super::rowset::Rowset;
use crate::collector::Collector;
use crate::partial::Partial;
use crate::relation::rid_word;
use crate::second_pass::SecondPass;
use crate::sound::SoundPage;
use crate::unit::UnitIndex;

/// More nodes of an older kind are not damage.
const NODES_MAX: usize = 1 << 12;

/// True when no node of an older kind is a root. `None` when the run was stopped.
pub(super) fn has_none(pass: &SecondPass<'_>, rowset: &Rowset) -> Option<bool> {
    let visit: BTreeSet<UnitIndex> = rowset.units().collect();
    let found = pass.visit(&rowset.texts, || Search {
        reader: PageReader::new(pass.plan),
        nodes: OlderNodes::default(),
    })?;
    let nodes: HashSet<Rid> = found.into_iter().flat_map(|found| found.nodes.0).collect();
    if nodes.len() > NODES_MAX {
        return Some(false);
    }
    let exact = ExactReader { pass, open: &visit, visit: &visit, id_max: id_max(pass.plan) };
    let facts = exact.look(&nodes.iter().map(|node| rid_word(*node)).collect())?;
    let is_part =
        |node: &Rid| facts.references.get(node).is_some_and(|references| is_part(references));
    Some(nodes.iter().all(is_part))
}

/// True for a node that a link says to be a part of a value.
fn is_part(references: &[Reference]) -> bool {
    references.iter().any(|reference| !reference.is_ghost() && reference.stated.is_some())
}

/// Finds nodes of an older kind.
struct Search<'p> {
    reader: PageReader<'p>,
    nodes: OlderNodes,
}

#[derive(Default)]
struct OlderNodes(HashSet<Rid>);

impl Collector for Search<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        if self.nodes.0.len() <= NODES_MAX {
            self.reader.read(page, &mut self.nodes);
        }
    }
}

impl Sink for OlderNodes {
    fn id_max(&self) -> u64 {
        0
    }

    fn fact(&mut self, _: Fact) {}

    fn node(&mut self, node: &Node) {
        if node.role == NodeRole::Older {
            self.0.insert(node.rid);
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;

    use super::super::read::{ExpectedId, Referrer, Stated};
    use super::*;

    fn reference(stated: Option<Stated>, is_ghost: bool) -> Reference {
        let rid = Rid::new(PageId::new(1, 9), 0);
        let by = Referrer::Row { column: 1, is_entry: false, is_ghost };
        Reference {
            target: rid,
            from: rid,
            by,
            id: ExpectedId::Part(1 << 16),
            stated,
            from_unit: 0,
            filed: 0,
        }
    }

    #[test]
    fn what_has_a_stated_size_is_no_root() {
        let stated = Some(Stated { level: 0, size: 8040 });
        assert!(is_part(&[reference(stated, false)]));
        assert!(is_part(&[reference(None, false), reference(stated, false)]));
        assert!(!is_part(&[reference(None, false)]), "a text pointer leads to roots of any kind");
        assert!(!is_part(&[reference(stated, true)]), "a ghost says nothing");
        assert!(!is_part(&[]), "nobody says anything");
    }
}
