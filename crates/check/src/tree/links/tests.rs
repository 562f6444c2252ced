//! The model of `docs/check.md` 18 without keys: a tree of 27 leaves, fan-out 3, four levels. Every
//! single wrong link, level or child pointer must be reported, and nothing in the healthy tree.

use std::collections::{BTreeMap, HashMap};

use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId, PageId};
use extentdb_catalog::RowLayout;
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, Rowset};

use super::{ChildFact, PageFact, verify_links};
use crate::finding::{Finding, Findings};
use crate::plan::{OwnerMap, Plan};
use crate::unit::Units;

const FAN_OUT: u32 = 3;
const LEVELS: u32 = 4;

/// Page number of a node: its level's hundred, then its place from the left.
fn page(level: u32, place: u32) -> u32 {
    100 * (level + 1) + place
}

fn width(level: u32) -> u32 {
    FAN_OUT.pow(LEVELS - 1 - level)
}

#[derive(Clone)]
struct Tree {
    pages: Vec<PageFact>,
    children: Vec<ChildFact>,
}

impl Tree {
    fn healthy() -> Tree {
        let mut tree = Tree { pages: Vec::new(), children: Vec::new() };
        for level in 0..LEVELS {
            for place in 0..width(level) {
                let next = if place + 1 < width(level) { page(level, place + 1) } else { 0 };
                let prev = place.checked_sub(1).map_or(0, |before| page(level, before));
                tree.pages.push(PageFact {
                    page: page(level, place),
                    prev,
                    next,
                    unit: 0,
                    file: 1,
                    prev_file: u16::from(prev != 0),
                    next_file: u16::from(next != 0),
                    level: level as u8,
                    is_leaf: level == 0,
                });
                for slot in 0..if level == 0 { 0 } else { FAN_OUT } {
                    let child = page(level - 1, place * FAN_OUT + slot);
                    tree.children.push(ChildFact {
                        parent: page(level, place),
                        child,
                        parent_file: 1,
                        child_file: 1,
                        slot: slot as u16,
                    });
                }
            }
        }
        tree
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings = Findings::new(1000);
        verify_links(
            &plan(),
            self.pages.clone(),
            self.children.clone(),
            &mut |_| None,
            &mut findings,
        );
        findings.into_sorted()
    }

    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.check().iter().map(|finding| finding.error).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// A plan of one clustered index, rooted where the tree is.
fn plan() -> Plan {
    let root = PageId::new(1, page(LEVELS - 1, 0));
    let id = AllocUnitId(256 << 48);
    let owner = HobtId(72_057_594_037_927_936);
    let unit = AllocUnit {
        id,
        kind: AllocUnitKind::InRow,
        owner,
        status: 0,
        filegroup: 1,
        first_page: PageId::NONE,
        root,
        first_iam: PageId::new(1, 50),
        pages_used: 0,
        pages_data: 0,
        pages_reserved: 0,
    };
    let rowset = Rowset {
        id: owner,
        owner_type: 1,
        object: ObjectId(1000),
        index: IndexId(1),
        partition: 1,
        status: 0,
        rows: 0,
        compression: Compression::None,
        fill_factor: 0,
        min_leaf: 0,
        min_interior: 0,
        layout: RowLayout::default(),
        units: Vec::new(),
    };
    Plan {
        database: "model".to_owned(),
        database_id: 1,
        units: Units::new([(&unit, &rowset)].into_iter(), None, false),
        maps: Vec::new(),
        owners: OwnerMap::default(),
        owners_are_known: true,
        missing_files: Vec::new(),
        has_cut_chains: false,
        cut_units: Default::default(),
        was_closed_cleanly: true,
        bad: HashMap::new(),
        diff_base: HashMap::new(),
        checkpoint: None,
        chosen: crate::plan::Chosen::Database,
        target: None,
        names: BTreeMap::new(),
        catalog: None,
        key: crate::hash::HashKey::new([1, 2]),
    }
}

/// Every page number there is, none, and one that is not there.
fn targets() -> Vec<u32> {
    let nodes =
        (0..LEVELS).flat_map(|level| (0..width(level)).map(move |place| page(level, place)));
    nodes.chain([0, 9999]).collect()
}

#[test]
fn a_healthy_tree_has_no_findings() {
    assert_eq!(Tree::healthy().check(), []);
}

#[test]
fn a_level_zero_root_above_data_pages_is_healthy() {
    let mut tree = Tree::healthy();
    // Cut off everything above level 1 and below: one index page of level 0 with three data pages.
    let root = page(LEVELS - 1, 0);
    tree.pages.retain(|fact| fact.page == root || (fact.level == LEVELS as u8 - 2));
    tree.children.retain(|fact| fact.parent == root);
    for fact in &mut tree.pages {
        fact.is_leaf = fact.page != root;
        fact.level = 0;
    }
    assert_eq!(tree.check(), []);
}

#[test]
fn every_wrong_link_is_reported() {
    let healthy = Tree::healthy();
    let mut faults = 0;
    for at in 0..healthy.pages.len() {
        for target in targets() {
            for is_next in [true, false] {
                let mut tree = healthy.clone();
                let fact = &mut tree.pages[at];
                let (link, file) = if is_next {
                    (&mut fact.next, &mut fact.next_file)
                } else {
                    (&mut fact.prev, &mut fact.prev_file)
                };
                if *link == target {
                    continue;
                }
                (*link, *file) = (target, u16::from(target != 0));
                faults += 1;
                assert!(
                    !tree.check().is_empty(),
                    "page {} next {is_next} = {target}",
                    healthy.pages[at].page
                );
            }
        }
    }
    assert!(faults > 3_000, "{faults}");
}

#[test]
fn every_wrong_child_and_level_is_reported() {
    let healthy = Tree::healthy();
    for at in 0..healthy.children.len() {
        for target in targets().into_iter().filter(|target| *target != healthy.children[at].child) {
            let mut tree = healthy.clone();
            tree.children[at].child = target;
            assert!(!tree.check().is_empty(), "{:?} -> {target}", healthy.children[at]);
        }
    }
    for at in 0..healthy.pages.len() {
        for level in (0..6).filter(|level| *level != healthy.pages[at].level) {
            let mut tree = healthy.clone();
            tree.pages[at].level = level;
            assert!(!tree.check().is_empty(), "page {} level {level}", healthy.pages[at].page);
        }
    }
}

#[test]
fn every_lost_page_is_named_by_its_parent_and_its_neighbours() {
    let healthy = Tree::healthy();
    for place in 0..width(0) {
        let mut tree = healthy.clone();
        tree.pages.retain(|fact| fact.page != page(0, place));
        let expected: &[u32] = if place + 1 < width(0) { &[8976, 8978] } else { &[8976] };
        assert_eq!(tree.numbers(), expected, "leaf {place}");
    }
    for place in 0..width(1) {
        let mut tree = healthy.clone();
        let lost = page(1, place);
        tree.pages.retain(|fact| fact.page != lost);
        tree.children.retain(|fact| fact.parent != lost);
        let findings = tree.check();
        let orphans = findings.iter().filter(|it| matches!(it.error, 8977 | 8979)).count();
        assert_eq!(orphans, FAN_OUT as usize, "{findings:?}");
        assert!(
            findings
                .iter()
                .any(|it| it.error == 8976 && it.location.page == Some(PageId::new(1, lost)))
        );
    }
}

/// The children of one parent in another order, links and all: only the order of the parents shows
/// it.
#[test]
fn exchanged_neighbourhoods_are_reported() {
    let healthy = Tree::healthy();
    for parent in 0..width(1) - 1 {
        let mut tree = healthy.clone();
        // The chain runs through the children of the right parent first.
        let order: Vec<u32> = (0..width(0))
            .map(|place| match place / FAN_OUT {
                group if group == parent => place + FAN_OUT,
                group if group == parent + 1 => place - FAN_OUT,
                _ => place,
            })
            .collect();
        let chain: Vec<u32> = order.iter().map(|place| page(0, *place)).collect();
        for fact in tree.pages.iter_mut().filter(|fact| fact.is_leaf) {
            let at = chain.iter().position(|page| *page == fact.page).unwrap();
            fact.prev = at.checked_sub(1).map_or(0, |before| chain[before]);
            fact.next = chain.get(at + 1).copied().unwrap_or(0);
            (fact.prev_file, fact.next_file) =
                (u16::from(fact.prev != 0), u16::from(fact.next != 0));
        }
        assert_eq!(tree.numbers(), [8935], "parent {parent}");
    }
}
