//! The executable model of `docs/check.md` 18: a tree of 27 leaves, fan-out 3, four levels, in a
//! real database whose rows are so wide that three fill a page. Faults are made in pages; those go
//! through the same audit, sums, runs and verification as in every run. The truth is a walk from
//! the root that knows nothing of hashes.
//!
//! Truth: each page has one parent, at its level; siblings are linked in the order of their
//! parents; keys ascend; and a search for any key of a leaf ends at that leaf. The separator in a
//! page's first slot is no bound for a search, but it may neither be before the page's own
//! separator nor after the next one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_format::page::{PageHeader, PageRef, PageType, checksum};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_reader::{PageSource, ReadError, SourceFile};
use extentdb_template::{ColumnSpec, DatabaseBuilder, FnRows, IndexSpec, TableSpec};
use extentdb_types::SqlType;

use super::TreeCollector;
use super::plan::Trees;
use super::verify::verify_trees;
use crate::finding::{Finding, Findings};
use crate::options::{Control, Options};
use crate::partial::Partial;
use crate::plan::{Plan, make};
use crate::scan::{Counters, PageVisitor, Scan};
use crate::second_pass::SecondPass;
use crate::unit::UnitIndex;

const FAN_OUT: usize = 3;
const LEAVES: usize = 27;
const LEVELS: usize = 4;
/// Bytes of a key: three records fill a page, of either form.
const KEY_BYTES: u16 = 2600;
/// Keys are this far apart, so that there is room for wrong ones between them.
const STEP: u32 = 10;

/// A page of the model.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    prev: u32,
    next: u32,
    level: u8,
    is_leaf: bool,
    /// Of upper pages.
    children: Vec<u32>,
    keys: Vec<u32>,
}

type Nodes = BTreeMap<u32, Node>;

/// A database in memory, some of whose pages are changed.
struct Image {
    bytes: Vec<u8>,
    changed: BTreeMap<u32, PageBuf>,
    files: Vec<SourceFile>,
}

impl Image {
    fn stored(&self, page: u32) -> &PageBytes {
        self.bytes[page as usize * 8192..][..8192].try_into().unwrap()
    }
}

impl PageSource for Image {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        for (page, out) in (first.page..).zip(buf.chunks_exact_mut(8192)) {
            if page >= self.files[0].pages {
                return Err(ReadError::BeyondEnd {
                    page: PageId { page, ..first },
                    pages: self.files[0].pages,
                });
            }
            match self.changed.get(&page) {
                Some(changed) => out.copy_from_slice(&changed[..]),
                None => out.copy_from_slice(self.stored(page)),
            }
        }
        Ok(())
    }

    fn is_stored(&self, _: Extent) -> bool {
        true
    }
}

struct Model {
    image: Image,
    plan: Plan,
    options: Options,
    unit: UnitIndex,
    root: u32,
    healthy: Nodes,
    /// With keys and without, without sketches and with.
    trees: [Trees; 3],
}

/// Which trees are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TreeVariant {
    Keys = 0,
    StructureOnly = 1,
    Sketch = 2,
}

impl Model {
    fn new() -> Model {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.mdf");
        let rows = FnRows::new((LEAVES * FAN_OUT) as u64, |number, row| {
            let mut key = [0u8; KEY_BYTES as usize];
            key[..4].copy_from_slice(&((number as u32 + 1) * STEP).to_be_bytes());
            row.raw(&key);
        });
        let columns = vec![ColumnSpec::new("k", SqlType::Binary { len: KEY_BYTES })];
        let table = TableSpec::heap("model", columns, rows)
            .clustered(IndexSpec::primary_key("PK_model", &["k"]));
        DatabaseBuilder::new("model").table(table).build(&[&path], &mut |_| {}).unwrap();
        let file = extentdb_io::File::open_read(&path).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        let pages = (bytes.len() / 8192) as u32;
        let files = vec![SourceFile {
            id: FileId(1),
            pages,
            trailing_bytes: 0,
            path: PathBuf::from("model"),
        }];
        let image = Image { bytes, changed: BTreeMap::new(), files };
        let options = Options {
            jobs: Some(std::num::NonZeroUsize::MIN),
            ..Options::default()
        };
        let plan = make(&image, &options).plan;
        let catalog = plan.catalog.as_ref().unwrap();
        let table = catalog.tables.values().find(|table| table.name == "model").unwrap();
        let rowset = &catalog.rowsets[&table.indexes[0].rowsets[0]];
        let owner = rowset.unit(AllocUnitKind::InRow).unwrap();
        let unit = plan.units.iter().find(|(_, unit)| unit.id() == owner.id).unwrap().0;
        let root = owner.root.page;
        let [keys, mut structure, mut sketch] = [(); 3].map(|()| Trees::new(&plan));
        structure.tree_mut(unit).unwrap().key = None;
        sketch.tree_mut(unit).unwrap().has_sketch = true;
        let mut model = Model {
            image,
            options,
            unit,
            root,
            healthy: Nodes::new(),
            trees: [keys, structure, sketch],
            plan,
        };
        model.read(root);
        assert_eq!(model.healthy.len(), 40, "27, 9, 3 and 1 pages");
        assert_eq!(model.healthy[&root].level as usize, LEVELS - 1);
        model
    }

    fn read(&mut self, page: u32) {
        let bytes = self.image.stored(page);
        let view = PageRef::new(bytes);
        let header = PageHeader::of(bytes);
        let is_leaf = header.kind() == PageType::Data;
        let mut node = Node {
            prev: header.prev().page,
            next: header.next().page,
            level: header.level,
            is_leaf,
            children: Vec::new(),
            keys: Vec::new(),
        };
        for (_, record) in view.records() {
            let at = if is_leaf { 4 } else { 1 };
            node.keys.push(u32::from_be_bytes(record[at..at + 4].try_into().unwrap()));
            if !is_leaf {
                let at = usize::from(header.fixed_len.get()) - PageId::BYTES;
                node.children.push(u32::from_le_bytes(record[at..at + 4].try_into().unwrap()));
            }
        }
        assert_eq!(node.keys.len(), FAN_OUT);
        let children = node.children.clone();
        self.healthy.insert(page, node);
        children.into_iter().for_each(|child| self.read(child));
    }

    /// Puts a page into the image as the model has it.
    fn write(&mut self, page: u32, node: &Node) {
        let mut buf = PageBuf::zeroed();
        buf.copy_from_slice(self.image.stored(page));
        let starts: Vec<usize> = PageRef::new(&buf).slot_offsets().map(usize::from).collect();
        let header = PageHeader::of_mut(&mut buf);
        let link = |page: u32| if page == 0 { PageId::NONE } else { PageId::new(1, page) };
        header.prev_bytes = link(node.prev).to_bytes();
        header.next_bytes = link(node.next).to_bytes();
        header.level = node.level;
        let end = usize::from(header.fixed_len.get());
        for (slot, start) in starts.into_iter().enumerate() {
            let at = start + if node.is_leaf { 4 } else { 1 };
            buf[at..at + 4].copy_from_slice(&node.keys[slot].to_be_bytes());
            if !node.is_leaf {
                let at = start + end - PageId::BYTES;
                buf[at..at + 6].copy_from_slice(&PageId::new(1, node.children[slot]).to_bytes());
            }
        }
        checksum::seal(&mut buf);
        self.image.changed.insert(page, buf);
    }

    fn set(&mut self, nodes: &Nodes) {
        self.image.changed.clear();
        let changed: Vec<u32> = nodes
            .iter()
            .filter(|(page, node)| self.healthy[page] != **node)
            .map(|(page, _)| *page)
            .collect();
        for page in changed {
            self.write(page, &nodes[&page]);
        }
    }

    /// What a run makes of the image: the pages in several parts and in random order. True:
    /// something had to be verified again. And the findings.
    fn check(
        &self,
        way: TreeVariant,
        force_rescan: bool,
        rng: &mut SplitMix64,
    ) -> (bool, Vec<Finding>) {
        let trees = &self.trees[way as usize];
        let options = Options { force_rescan, ..self.options.clone() };
        let counters = Counters::default();
        let scan = Scan::new(&self.image, &self.plan, &options, &counters);
        let mut order: Vec<u32> = self.healthy.keys().copied().collect();
        if rng.below(2) == 0 {
            for i in (1..order.len()).rev() {
                order.swap(i, rng.below(i as u64 + 1) as usize);
            }
        }
        let parts = 1 + rng.below(3) as usize;
        let mut looks: Vec<_> = (0..parts)
            .map(|_| PageVisitor::new(&scan, TreeCollector::new(trees, 1 << 20)))
            .collect();
        let cut = order.len().div_ceil(parts);
        for (at, page) in order.into_iter().enumerate() {
            looks[at / cut].page(PageId::new(1, page));
        }
        let mut sum = Partial::new(self.plan.units.len(), 1000, self.plan.key);
        for visitor in looks {
            sum.merge(visitor.finish()).unwrap();
        }
        let clock = SystemClock::new();
        let stop = AtomicBool::new(false);
        let control = Control::new(&clock, &stop);
        let pass = SecondPass {
            source: &self.image,
            plan: &self.plan,
            options: &options,
            control: &control,
            stop: &stop,
            jobs: 1,
        };
        let mut findings = Findings::new(1000);
        // Only pages of one tree were shown.
        sum.tree
            .rooted
            .extend(trees.iter().map(|(unit, _)| unit).filter(|unit| *unit != self.unit));
        assert!(verify_trees(&pass, trees, &mut sum, &mut findings).is_empty());
        assert_eq!(sum.tree.undecided.contains(self.unit), way == TreeVariant::StructureOnly);
        let unit = sum.sums.unit(self.unit).unwrap();
        let is_flagged = unit.unbalanced().count() > 0
            || sum.tree.upper.of_unit(self.unit).len() != LEVELS - 1
            || !sum.tree.upper.of_unit(self.unit).iter().all(super::run::PageRun::is_level)
            || sum.tree.leaves.of_unit(self.unit).len() > 1
            || !sum.tree.unproven.is_empty()
            || sum.findings.count() > 0;
        findings.merge(std::mem::replace(&mut sum.findings, Findings::new(1)));
        (is_flagged, findings.into_sorted())
    }

    /// Faults against the truth, in one way.
    fn compare(
        &mut self,
        nodes: &Nodes,
        way: TreeVariant,
        rng: &mut SplitMix64,
        tally: &mut Tally,
    ) {
        let is_sound = match way {
            TreeVariant::StructureOnly => is_structure_sound(nodes, self.root),
            _ => is_structure_sound(nodes, self.root) && are_keys_sound(nodes, self.root),
        };
        self.set(nodes);
        let (is_flagged, findings) = self.check(way, false, rng);
        tally.trials += 1;
        tally.broken += u32::from(!is_sound);
        tally.looked_again += u32::from(is_sound && is_flagged);
        assert!(is_sound || is_flagged, "not flagged: {:?}", self.difference(nodes));
        assert_eq!(is_sound, findings.is_empty(), "{:?}\n{findings:#?}", self.difference(nodes));
        if !is_sound && way == TreeVariant::Sketch {
            let (_, again) = self.check(way, true, rng);
            assert_eq!(
                findings,
                again,
                "sketch and another look differ: {:?}",
                self.difference(nodes)
            );
        }
    }

    fn difference(&self, nodes: &Nodes) -> Vec<(u32, Node, Node)> {
        let changed = nodes.iter().filter(|(page, node)| self.healthy[page] != **node);
        changed.map(|(page, node)| (*page, self.healthy[page].clone(), node.clone())).collect()
    }

    /// Every page, none, and one that is not there.
    fn targets(&self) -> Vec<u32> {
        self.healthy.keys().copied().chain([0, self.image.files[0].pages + 7]).collect()
    }

    fn random_page(&self, rng: &mut SplitMix64) -> u32 {
        *self.healthy.keys().nth(rng.below(self.healthy.len() as u64) as usize).unwrap()
    }

    /// The pages of a level, left to right.
    fn level(&self, level: u8) -> Vec<u32> {
        let mut page = self.root;
        while self.healthy[&page].level > level {
            page = self.healthy[&page].children[0];
        }
        let mut pages = Vec::new();
        while page != 0 {
            pages.push(page);
            page = self.healthy[&page].next;
        }
        pages
    }
}

#[derive(Default, Debug)]
struct Tally {
    trials: u32,
    broken: u32,
    looked_again: u32,
}

/// Pages of each level in the order of their parents; `None` when that is no tree.
fn levels(nodes: &Nodes, root: u32) -> Option<Vec<Vec<u32>>> {
    let mut levels = vec![vec![root]];
    let mut seen = 1;
    while let Some(above) = levels.last() {
        let mut below = Vec::new();
        for page in above {
            let node = &nodes[page];
            for child in &node.children {
                let found = nodes.get(child)?;
                let is_right = match node.level {
                    0 => found.level == 0 && found.is_leaf,
                    level => found.level == level - 1 && found.is_leaf == (found.level == 0),
                };
                if !is_right {
                    return None;
                }
                below.push(*child);
            }
        }
        seen += below.len();
        if below.is_empty() || seen > nodes.len() {
            break;
        }
        levels.push(below);
    }
    let mut all: Vec<u32> = levels.concat();
    all.sort_unstable();
    all.dedup();
    (seen == nodes.len() && all.len() == nodes.len()).then_some(levels)
}

fn is_structure_sound(nodes: &Nodes, root: u32) -> bool {
    let Some(levels) = levels(nodes, root) else { return false };
    levels.iter().all(|level| {
        level.iter().enumerate().all(|(at, page)| {
            let prev = at.checked_sub(1).map_or(0, |at| level[at]);
            let next = level.get(at + 1).copied().unwrap_or(0);
            (nodes[page].prev, nodes[page].next) == (prev, next)
        })
    })
}

/// Keys of a tree whose structure is sound.
fn are_keys_sound(nodes: &Nodes, root: u32) -> bool {
    fn walk(nodes: &Nodes, page: u32, low: Option<u32>, high: Option<u32>) -> bool {
        let node = &nodes[&page];
        let skipped = usize::from(!node.is_leaf && node.prev == 0);
        let keys = &node.keys[skipped..];
        let is_inside =
            |key: &u32| low.is_none_or(|low| low <= *key) && high.is_none_or(|high| *key < high);
        keys.is_sorted_by(|a, b| a < b)
            && keys.iter().all(is_inside)
            && (0..node.children.len()).all(|at| {
                let low = if at == 0 { low } else { Some(node.keys[at]) };
                let high = node.keys.get(at + 1).copied().or(high);
                walk(nodes, node.children[at], low, high)
            })
    }
    walk(nodes, root, None, None)
}

#[test]
fn a_healthy_tree_is_proven_by_its_hashes_alone() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(1);
    let mut tally = Tally::default();
    let healthy = model.healthy.clone();
    for way in [TreeVariant::Keys, TreeVariant::StructureOnly, TreeVariant::Sketch] {
        for _ in 0..20 {
            model.compare(&healthy, way, &mut rng, &mut tally);
        }
    }
    // Parts in random order know only prefixes of keys, which are enough here.
    assert_eq!((tally.broken, tally.looked_again), (0, 0));
}

/// Calls back with every fault of one field.
fn single_faults(model: &Model, mut fault: impl FnMut(Nodes)) {
    let targets = model.targets();
    let keys: Vec<u32> = (0..=LEAVES as u32 * 3 + 1)
        .flat_map(|key| [key * STEP, key * STEP + 5])
        .step_by(4)
        .collect();
    for (page, node) in &model.healthy {
        let mut change = |change: &mut dyn FnMut(&mut Node)| {
            let mut nodes = model.healthy.clone();
            change(nodes.get_mut(page).unwrap());
            if nodes != model.healthy {
                fault(nodes);
            }
        };
        for target in &targets {
            change(&mut |node| node.prev = *target);
            change(&mut |node| node.next = *target);
            for slot in 0..node.children.len() {
                change(&mut |node| node.children[slot] = *target);
            }
        }
        for level in [0, 1, 2, 3, 4, 200] {
            change(&mut |node| node.level = level);
        }
        for slot in 0..node.keys.len() {
            let near = [-9, -4, 3, 9].map(|by| node.keys[slot].saturating_add_signed(by));
            for key in keys.iter().chain(&near) {
                change(&mut |node| node.keys[slot] = *key);
            }
        }
    }
}

#[test]
fn no_single_fault_is_missed_and_no_finding_is_false() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(2);
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    single_faults(&model, |nodes| faults.push(nodes));
    assert!(faults.len() > 9_000, "{}", faults.len());
    for (at, nodes) in faults.iter().enumerate() {
        let way = [TreeVariant::Keys, TreeVariant::Sketch][at % 2];
        model.compare(nodes, way, &mut rng, &mut tally);
    }
    assert!(tally.broken > 6_000 && tally.looked_again > 100, "{tally:?}");
}

#[test]
fn without_keys_no_fault_of_the_structure_is_missed() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(3);
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    single_faults(&model, |nodes| faults.push(nodes));
    for nodes in faults.iter().step_by(3) {
        model.compare(nodes, TreeVariant::StructureOnly, &mut rng, &mut tally);
    }
    for _ in 0..2_000 {
        let nodes = random_faults(&model, &mut rng);
        model.compare(&nodes, TreeVariant::StructureOnly, &mut rng, &mut tally);
    }
    assert!(tally.broken > 2_000, "{tally:?}");
}

/// Two to four fields at once.
fn random_faults(model: &Model, rng: &mut SplitMix64) -> Nodes {
    let mut nodes = model.healthy.clone();
    let targets = model.targets();
    // Half of them leave the links alone, so that the result is often sound.
    let kinds = [6, 1][rng.below(2) as usize];
    for _ in 0..2 + rng.below(3) {
        let page = model.random_page(rng);
        let target = targets[rng.below(targets.len() as u64) as usize];
        let node = nodes.get_mut(&page).unwrap();
        let slot = rng.below(FAN_OUT as u64) as usize;
        match (4 + rng.below(kinds)) % 6 {
            0 => node.prev = target,
            1 => node.next = target,
            2 if !node.is_leaf => node.children[slot] = target,
            3 => node.level = rng.below(5) as u8,
            // Near where it was.
            4 => node.keys[slot] = (node.keys[slot] + rng.below(18) as u32).saturating_sub(4),
            _ => node.keys[slot] = rng.below(u64::from(STEP) * 85) as u32,
        }
    }
    nodes
}

#[test]
fn no_fault_of_several_fields_is_missed_and_no_finding_is_false() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(4);
    let mut tally = Tally::default();
    for at in 0..6_000 {
        let nodes = random_faults(&model, &mut rng);
        model.compare(
            &nodes,
            [TreeVariant::Keys, TreeVariant::Sketch][at % 2],
            &mut rng,
            &mut tally,
        );
    }
    assert!(tally.broken > 3_000 && tally.looked_again > 20, "{tally:?}");
}

/// Faults that leave every link mutual and every pointer used once.
fn structured_faults(
    model: &Model,
    rng: &mut SplitMix64,
    each: usize,
    mut fault: impl FnMut(Nodes),
) {
    for at in 0..each {
        let mut nodes = model.healthy.clone();
        let level = rng.below(LEVELS as u64 - 1) as u8;
        let mut pages = model.level(level);
        match at % 4 {
            0 => {
                // A chain in another order.
                let a = rng.below(pages.len() as u64) as usize;
                let b = rng.below(pages.len() as u64) as usize;
                pages.swap(a, b);
                chain(&mut nodes, &pages);
            }
            1 => {
                // Groups of siblings in another order.
                let groups = pages.len() / FAN_OUT;
                let a = rng.below(groups as u64) as usize;
                let b = rng.below(groups as u64) as usize;
                for i in 0..FAN_OUT {
                    pages.swap(a * FAN_OUT + i, b * FAN_OUT + i);
                }
                chain(&mut nodes, &pages);
            }
            2 => {
                // A ring apart from the chain; of all of a level, at times.
                let start = rng.below(pages.len() as u64) as usize;
                let len = (1 + rng.below(6) as usize).min(pages.len() - start);
                let ring: Vec<u32> = if rng.below(5) == 0 {
                    pages.clone()
                } else {
                    pages[start..start + len].to_vec()
                };
                pages.retain(|page| !ring.contains(page));
                chain(&mut nodes, &pages);
                chain(&mut nodes, &ring);
                nodes.get_mut(&ring[0]).unwrap().prev = ring[ring.len() - 1];
                nodes.get_mut(&ring[ring.len() - 1]).unwrap().next = ring[0];
            }
            _ => {
                // Two child pointers, of one page or of two.
                let parents = model.level(level + 1);
                let pick = |rng: &mut SplitMix64| parents[rng.below(parents.len() as u64) as usize];
                let a = pick(rng);
                let b = pick(rng);
                let i = rng.below(FAN_OUT as u64) as usize;
                let j = rng.below(FAN_OUT as u64) as usize;
                let first = nodes[&a].children[i];
                let second = nodes[&b].children[j];
                nodes.get_mut(&a).unwrap().children[i] = second;
                nodes.get_mut(&b).unwrap().children[j] = first;
            }
        }
        if nodes != model.healthy {
            fault(nodes);
        }
    }
}

fn chain(nodes: &mut Nodes, pages: &[u32]) {
    for (at, page) in pages.iter().enumerate() {
        let node = nodes.get_mut(page).unwrap();
        node.prev = at.checked_sub(1).map_or(0, |at| pages[at]);
        node.next = pages.get(at + 1).copied().unwrap_or(0);
    }
}

#[test]
fn no_structured_fault_is_missed() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(5);
    let mut tally = Tally::default();
    let mut faults = Vec::new();
    structured_faults(&model, &mut rng, 2_900, |nodes| faults.push(nodes));
    // The root as its own sibling, and all levels below it as rings, which every pair of neighbours
    // agrees with.
    let mut rings = model.healthy.clone();
    for level in 0..LEVELS as u8 {
        let pages = model.level(level);
        rings.get_mut(&pages[0]).unwrap().prev = pages[pages.len() - 1];
        rings.get_mut(&pages[pages.len() - 1]).unwrap().next = pages[0];
    }
    faults.push(rings);
    for (at, nodes) in faults.iter().enumerate() {
        let way = [TreeVariant::Keys, TreeVariant::StructureOnly, TreeVariant::Sketch][at % 3];
        model.compare(nodes, way, &mut rng, &mut tally);
    }
    assert!(tally.broken > 2_000, "{tally:?}");
}

#[test]
fn a_root_that_the_index_does_not_have_is_reported() {
    let mut model = Model::new();
    let mut rng = SplitMix64::new(6);
    let nodes = model.healthy.clone();
    model.set(&nodes);
    let nowhere = PageId::new(1, model.image.files[0].pages + 7);
    for (at, way) in
        [TreeVariant::Keys, TreeVariant::StructureOnly, TreeVariant::Sketch].into_iter().enumerate()
    {
        let unit = model.unit;
        model.trees[at].tree_mut(unit).unwrap().root = nowhere;
        let (_, findings) = model.check(way, false, &mut rng);
        let lost = findings.iter().find(|finding| finding.error == 8980).unwrap();
        assert_eq!(lost.location.page, Some(nowhere), "{way:?}");
        assert!(
            lost.message.contains("Index node page (0:0), slot 0 refers to child page"),
            "{}",
            lost.message
        );
    }
}
