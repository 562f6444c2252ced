//! A walk over values and pages: every record of the unit is reached once, and every page adds up.

use std::collections::BTreeSet;

use extentdb_base::Rid;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::lob::{
    DATA_BYTES_MAX, INTERNAL_LINKS_MAX, LobContent, LobLink, LobRecord, ROOT_LINKS_MAX,
};

use super::bench::Bench;
use crate::lob::LobRoot;

/// What a walk saw.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) records: BTreeSet<Rid>,
    pub(super) internal: usize,
    pub(super) data: usize,
    pub(super) levels: u16,
}

impl Walk {
    fn enter(&mut self, bench: &Bench, blob_id: u64, at: Rid, level: Option<u16>, len: u64) {
        assert!(self.records.insert(at), "{at:?} is reached twice");
        let page = bench.space.pool().read(at.page).expect("a page of the file");
        let view = PageRef::new(&page);
        assert_eq!(view.header().alloc_unit(), bench.lob.unit().id(), "{at:?}");
        let record = LobRecord::parse(view.record_bytes(at.slot.0).expect("a record"));
        assert_eq!((record.fault(), record.blob_id()), (None, blob_id), "{at:?}");
        match (record.content(), level.and_then(|level| level.checked_sub(1))) {
            (LobContent::Data(data), None) => {
                assert_eq!(level, Some(0));
                assert_eq!(view.header().kind(), PageType::TextMix);
                assert!((1..=DATA_BYTES_MAX).contains(&data.len()));
                assert_eq!(data.len() as u64, len);
                self.data += 1;
            }
            (LobContent::Links(node), Some(below)) => {
                assert!(node.internal && node.level == below);
                assert_eq!((view.header().kind(), view.slot_count()), (PageType::TextTree, 1));
                assert!(node.len() <= usize::from(INTERNAL_LINKS_MAX));
                let links: Vec<LobLink> = node.links().collect();
                drop(page);
                self.internal += 1;
                assert_eq!(links.last().unwrap().end, len);
                self.links(bench, blob_id, &links, below);
            }
            (content, _) => panic!("{at:?} has {content:?} on level {level:?}"),
        }
    }

    fn links(&mut self, bench: &Bench, blob_id: u64, links: &[LobLink], level: u16) {
        self.levels = self.levels.max(level);
        let mut before = 0;
        for link in links {
            assert!(link.end > before);
            self.enter(bench, blob_id, link.target, Some(level), link.end - before);
            before = link.end;
        }
    }

    /// Walks over one value.
    pub(super) fn value(&mut self, bench: &Bench, root: &LobRoot) {
        match root {
            LobRoot::InRow(in_row) => {
                assert!(in_row.links.len() <= usize::from(ROOT_LINKS_MAX));
                self.links(bench, in_row.blob_id, &in_row.links, in_row.level);
            }
            LobRoot::Text(text) => {
                assert!(self.records.insert(text.root));
                let page = bench.space.pool().read(text.root.page).expect("a page of the file");
                let view = PageRef::new(&page);
                assert_eq!(view.header().kind(), PageType::TextMix);
                let bytes = view.record_bytes(text.root.slot.0).expect("a root record");
                let record = LobRecord::parse(bytes);
                assert_eq!((record.fault(), record.len()), (None, 84));
                assert_eq!(record.blob_id(), text.blob_id);
                if let LobContent::Links(node) = record.content() {
                    let links: Vec<LobLink> = node.links().collect();
                    let level = node.level;
                    assert!(!node.internal && links.len() <= usize::from(ROOT_LINKS_MAX));
                    drop(page);
                    self.links(bench, text.blob_id, &links, level);
                }
            }
        }
    }
}

/// Walks over these values, which are all there are.
pub(super) fn walk<'r>(bench: &Bench, roots: impl Iterator<Item = &'r LobRoot>) -> Walk {
    let mut walk = Walk::default();
    roots.for_each(|root| walk.value(bench, root));
    for id in bench.pages() {
        let page = bench.space.pool().read(id).expect("a page of the file");
        let view = PageRef::new(&page);
        let header = PageHeader::of(&page);
        assert_eq!(header.alloc_unit(), bench.lob.unit().id(), "{id}");
        let mut used = 2 * usize::from(header.slot_count.get());
        for (slot, bytes) in view.records() {
            used += LobRecord::parse(bytes).len();
            let at = Rid::new(id, slot);
            assert!(walk.records.contains(&at), "nothing leads to {at:?}");
        }
        assert_eq!(used + usize::from(header.free_bytes.get()), 8096, "{id}");
    }
    walk
}
