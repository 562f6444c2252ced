//! Every page of a tree, and whether they agree.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::PageId;
use extentdb_catalog::layout::Level;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::{Record, RecordKind};

use super::bench::{Bench, key_and_value};
use crate::Tree;

/// What a walk has seen.
#[derive(Default)]
pub(super) struct TreePages {
    pub(super) rows: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) pages: BTreeSet<PageId>,
    /// Leaves, left to right.
    pub(super) leaves: Vec<PageId>,
    pub(super) ghosts: usize,
    pub(super) levels: u8,
    /// Pages of each level, left to right.
    chains: BTreeMap<u8, Vec<(PageId, PageId, PageId)>>,
}

/// Walks a tree from its root and asserts that its pages are sound.
pub(super) fn walk(tree: &Tree) -> TreePages {
    let mut walk = TreePages::default();
    let root = tree.unit().root();
    if root.is_none() {
        return walk;
    }
    let level = PageHeader::of(&tree.space.pool().read(root).expect("the root")).level;
    walk.levels = level + 1;
    walk.page(tree, root, level, (None, None), true);
    for chain in walk.chains.values() {
        let ids: Vec<PageId> = chain.iter().map(|(_, id, _)| *id).collect();
        for (at, (previous, id, next)) in chain.iter().enumerate() {
            let left = at.checked_sub(1).map_or(PageId::NONE, |at| ids[at]);
            let right = ids.get(at + 1).copied().unwrap_or(PageId::NONE);
            assert_eq!((*previous, *next), (left, right), "links of {id}");
        }
    }
    assert_eq!(walk.leaves.first(), ids_of(&walk, 0).first());
    walk
}

fn ids_of(walk: &TreePages, level: u8) -> Vec<PageId> {
    walk.chains[&level].iter().map(|(_, id, _)| *id).collect()
}

impl TreePages {
    /// Asserts that a tree holds these rows and no page is lost.
    pub(super) fn matches(&self, bench: &Bench, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
        assert_eq!(self.rows.len(), model.len());
        assert!(self.rows == *model, "the rows are others");
        assert_eq!(self.pages, bench.pages(), "pages are lost");
        let counts = bench.counts();
        assert_eq!((counts.rows, counts.data), (model.len() as i64, self.leaves.len() as i64));
        // And one IAM page.
        assert_eq!(counts.used, self.pages.len() as i64 + i64::from(!self.pages.is_empty()));
        assert_eq!(self.leaves.first().copied().unwrap_or(PageId::NONE), bench.tree.unit().first());
    }

    fn page(
        &mut self,
        tree: &Tree,
        id: PageId,
        level: u8,
        (low, high): (Option<Vec<u8>>, Option<Vec<u8>>),
        is_leftmost: bool,
    ) {
        assert!(self.pages.insert(id), "{id} is reached twice");
        let page = tree.space.pool().read(id).expect("a page of the tree");
        let view = PageRef::new(&page);
        let header = view.header();
        assert_eq!(
            (header.page_id(), header.alloc_unit(), header.level),
            (id, tree.unit().id(), level)
        );
        let is_leaf = level == 0;
        let kind = if is_leaf && tree.shape().is_base() { PageType::Data } else { PageType::Index };
        assert_eq!(header.kind(), kind);
        self.chains.entry(level).or_default().push((header.prev(), id, header.next()));
        self.accounting(view);
        let of_level = if is_leaf { Level::Leaf } else { Level::Interior };
        assert_eq!(header.fixed_len.get(), tree.shape().pminlen(of_level));
        let record = |slot| match kind {
            PageType::Data => Record::parse_data(view.row(slot).expect("a row")),
            _ => Record::parse_index(view.row(slot).expect("a row"), header.fixed_len.get()),
        };
        let skipped = u16::from(!is_leaf && is_leftmost);
        let keys: Vec<Vec<u8>> = (skipped..view.slot_count())
            .map(|slot| tree.shape().key(&record(slot), of_level).expect("a key"))
            .collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "order on {id}");
        assert!(
            keys.first().is_none_or(|first| low.as_ref().is_none_or(|low| low <= first)),
            "{id}"
        );
        assert!(
            keys.last().is_none_or(|last| high.as_ref().is_none_or(|high| last < high)),
            "{id}"
        );
        if is_leaf {
            self.leaf(tree, view);
            return;
        }
        assert!(view.slot_count() > 0, "{id} leads nowhere");
        let mut bounds: Vec<Option<Vec<u8>>> = keys.into_iter().map(Some).collect();
        if is_leftmost {
            bounds.insert(0, None);
            assert_eq!(
                view.row(0),
                Ok(&*tree.shape().first_separator(record(0).child().expect("a child")))
            );
        }
        for slot in 0..view.slot_count() {
            let at = usize::from(slot);
            let high = bounds.get(at + 1).cloned().unwrap_or(high.clone());
            let child = record(slot).child().expect("a child");
            self.page(tree, child, level - 1, (bounds[at].clone(), high), is_leftmost && slot == 0);
        }
    }

    fn leaf(&mut self, tree: &Tree, view: PageRef<'_>) {
        self.leaves.push(view.header().page_id());
        for slot in 0..view.slot_count() {
            let row = view.row(slot).expect("a row");
            if RecordKind::of(row[0]).is_ghost() {
                self.ghosts += 1;
            } else {
                let (key, value) = key_and_value(tree, row);
                self.rows.insert(key, value);
            }
        }
    }

    fn accounting(&self, view: PageRef<'_>) {
        let header = view.header();
        let least = if header.kind() == PageType::Data { 9 } else { 0 };
        let mut spans: Vec<(usize, usize)> = (0..view.slot_count())
            .map(|slot| {
                let at = usize::from(view.slot_offset(slot).expect("a slot"));
                (at, at + view.row(slot).expect("a row").len().max(least))
            })
            .collect();
        spans.sort_unstable();
        assert!(spans.is_sorted_by(|a, b| a.1 <= b.0), "records overlap on {}", header.page_id());
        let used: usize = spans.iter().map(|(start, end)| end - start + 2).sum();
        assert_eq!(
            usize::from(header.free_bytes.get()),
            8096 - used,
            "free bytes of {}",
            header.page_id()
        );
        let end = spans.last().map_or(96, |(_, end)| *end);
        assert!((end..=view.slot_array_start()).contains(&usize::from(header.free_offset.get())));
        let ghosts = (0..view.slot_count()).filter(|slot| {
            let is_ghost = |row: &[u8]| RecordKind::of(row[0]).is_ghost();
            view.row(*slot).is_ok_and(is_ghost)
        });
        assert_eq!(usize::from(header.ghost_count.get()), ghosts.count());
    }
}
