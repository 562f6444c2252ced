//! A slow and simple check of a whole database: every page has one owner, every tree is one, every
//! index matches its table, and every number of the catalog is right.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_base::{AllocUnitId, FileId, ObjectId, PageId, Rid};
use extentdb_catalog::PageGetter;
use extentdb_catalog::access::{LeafKind, LeafPages, LobReader};
use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_catalog::model::{AllocUnit, AllocUnitKind, Catalog, Index, IndexKind, Rowset, Table};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, MapKind, MapView, fixed_page_type};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{Fullness, PfsByte, PfsView};
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::Record;
use extentdb_format::record::compressed::{CdColumn, CiView};
use extentdb_format::record::lob::{LobContent, LobPointer, LobRecord};

use extentdb_types::{Datum, SqlType};

use super::image::Image;
use super::stored::{Reading, Role, Stored};
use crate::record::order::sort_key;
use extentdb_catalog::table::values;

/// What was found.
pub(super) struct Audited {
    pub(super) tables: BTreeMap<ObjectId, AuditedTable>,
    /// Of every ten leaf pages of trees of ten pages or more, how many are not followed by their
    /// physical neighbour.
    pub(super) jumps_of_ten: usize,
    pub(super) longest_iam_chain: usize,
    pub(super) deepest_tree: usize,
}

#[derive(Default)]
pub(super) struct AuditedTable {
    pub(super) rows: u64,
    pub(super) pages: u64,
}

struct Audit<'a> {
    image: &'a Image,
    owners: HashMap<PageId, AllocUnitId>,
    extents: HashMap<PageId, AllocUnitId>,
    longest_iam_chain: usize,
    deepest_tree: usize,
    /// Leaf pages of larger trees, and those whose successor lies elsewhere.
    leaves: (usize, usize),
    packing: Packing,
}

/// How trees are expected to be filled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// Records side by side, separators equal to the first key of their child.
    Tight,
    /// As after random inserts and deletes.
    Loose,
}

/// A row or entry by its values: NULL is `None`.
pub(super) type Values = Vec<Option<Vec<u8>>>;

pub(super) fn audit(image: &Image) -> Audited {
    audit_packing(image, Packing::Tight)
}

pub(super) fn audit_packing(image: &Image, packing: Packing) -> Audited {
    let catalog = Catalog::load(image).unwrap();
    assert!(catalog.faults.is_empty(), "{:?}", catalog.faults);
    let mut audit = Audit {
        image,
        owners: HashMap::new(),
        extents: HashMap::new(),
        longest_iam_chain: 0,
        deepest_tree: 0,
        leaves: (0, 0),
        packing,
    };
    let mut tables = BTreeMap::new();
    for table in catalog.tables.values() {
        tables.insert(table.id, audit.table(&catalog, table));
    }
    audit.pages_and_maps();
    let last = catalog.units.keys().map(|unit| unit.0 as u64 >> 16).max().unwrap_or(0);
    assert_eq!(catalog.boot.alloc_unit_next, Some(last + 1));
    Audited {
        tables,
        longest_iam_chain: audit.longest_iam_chain,
        deepest_tree: audit.deepest_tree,
        jumps_of_ten: 10 * audit.leaves.1 / audit.leaves.0.max(1),
    }
}

impl Audit<'_> {
    fn page(&self, id: PageId) -> PageBuf {
        let mut page = PageBuf::zeroed();
        self.image.page(id, &mut page).unwrap();
        page
    }

    fn table(&mut self, catalog: &Catalog, table: &Table) -> AuditedTable {
        let mut out = AuditedTable::default();
        let image = self.image;
        let mut base_rows: Vec<(Rid, Values)> = Vec::new();
        for index in &table.indexes {
            let mut all = Vec::new();
            for (rowset, number) in catalog.rowsets_of(index).zip(1..) {
                for unit in &rowset.units {
                    self.unit(unit);
                    out.pages += unit.pages_used as u64;
                }
                let reading = Reading { image, catalog, rowset };
                let rows = self.rowset(reading, index);
                self.values_off_the_row(reading, index, &rows);
                assert_eq!(
                    rowset.rows,
                    rows.len() as i64,
                    "{} index {}",
                    table.full_name(),
                    index.id
                );
                check_partition(catalog, index, rowset, number, &rows);
                all.extend(rows);
            }
            if index.kind == IndexKind::Nonclustered {
                compare_with_table(catalog, table, index, all, &base_rows);
            } else {
                out.rows = all.len() as u64;
                base_rows = all;
            }
        }
        out
    }

    /// Follows the IAM chain: every page and extent gets its owner, and the catalog's counts are
    /// checked.
    fn unit(&mut self, unit: &AllocUnit) {
        let mut iam_id = unit.first_iam;
        let mut previous = PageId::NONE;
        let mut sequence = 0;
        let mut used = 0;
        let mut reserved = 0;
        let mut intervals = HashSet::new();
        while !iam_id.is_none() {
            let page = self.page(iam_id);
            let iam = IamView::new(&page);
            assert_eq!(iam.faults(), []);
            assert_eq!(
                (iam.header().alloc_unit(), iam.sequence(), iam.header().prev()),
                (unit.id, sequence, previous)
            );
            assert!(intervals.insert(iam.interval()), "one IAM page per interval");
            assert!(self.state(iam_id).is_iam() && self.state(iam_id).is_mixed());
            self.own(iam_id, unit.id);
            (used, reserved) = (used + 1, reserved + 1);
            for single in iam.single_pages() {
                assert!(self.state(single).is_mixed() && self.state(single).is_allocated());
                self.own(single, unit.id);
                (used, reserved) = (used + 1, reserved + 1);
            }
            for extent in iam.extents() {
                assert_eq!(
                    self.extents.insert(extent.first_page(), unit.id),
                    None,
                    "{extent:?} has two owners"
                );
                reserved += 8;
                for page in extent.pages() {
                    let state = self.state(page);
                    if state.is_allocated() {
                        assert!(!state.is_mixed());
                        self.own(page, unit.id);
                        used += 1;
                    }
                }
            }
            (previous, iam_id, sequence) = (iam_id, iam.header().next(), sequence + 1);
        }
        self.longest_iam_chain = self.longest_iam_chain.max(sequence as usize);
        assert_eq!((unit.pages_used, unit.pages_reserved), (used, reserved), "unit {}", unit.id);
    }

    fn own(&mut self, page: PageId, unit: AllocUnitId) {
        assert_eq!(self.owners.insert(page, unit), None, "{page} has two owners");
    }

    fn state(&self, page: PageId) -> PfsByte {
        PfsView::new(&self.page(page.pfs_page())).entry(page.page)
    }

    /// The rows or entries of a rowset in their order, by the values of its columns in record
    /// order.
    fn rowset(&mut self, reading: Reading<'_>, index: &Index) -> Vec<(Rid, Values)> {
        let rowset = reading.rowset;
        let Some(unit) = rowset.unit(AllocUnitKind::InRow) else { panic!("no unit for rows") };
        if unit.first_iam.is_none() {
            assert_eq!((unit.first_page, unit.root), (PageId::NONE, PageId::NONE));
            return Vec::new();
        }
        if index.kind == IndexKind::Heap {
            return self.heap(reading, unit);
        }
        let leaves = self.tree(reading, unit);
        assert_eq!(unit.pages_data, leaves.len() as i64);
        assert_eq!(leaves.first(), Some(&unit.first_page));
        if leaves.len() >= 10 {
            let jumps = leaves.windows(2).filter(|pair| pair[0].page + 1 != pair[1].page).count();
            self.leaves = (self.leaves.0 + leaves.len(), self.leaves.1 + jumps);
        }
        let mut out = Vec::new();
        for leaf in leaves {
            let page = self.page(leaf);
            out.extend(entries(&page, leaf, reading, Level::Leaf));
        }
        // Ghosts keep their position in the order.
        let ordered: Vec<(Rid, Values)> =
            out.iter().map(|(rid, _, values)| (*rid, values.clone())).collect();
        check_order(rowset, &ordered);
        out.into_iter()
            .filter(|(_, role, _)| *role == Role::Row)
            .map(|(rid, _, v)| (rid, v))
            .collect()
    }

    /// Every record of the units for values off the row belongs to one value of one row.
    fn values_off_the_row(&self, reading: Reading<'_>, index: &Index, rows: &[(Rid, Values)]) {
        let layout = &reading.rowset.layout;
        let units: Vec<AllocUnitId> = reading
            .rowset
            .units
            .iter()
            .filter(|unit| unit.kind != AllocUnitKind::InRow)
            .map(|unit| unit.id)
            .collect();
        let mut there: HashSet<Rid> = HashSet::new();
        for (page, _) in self.owners.iter().filter(|(_, owner)| units.contains(owner)) {
            let bytes = self.page(*page);
            let view = PageRef::new(&bytes);
            if matches!(view.header().kind(), PageType::TextMix | PageType::TextTree) {
                there.extend(view.records().map(|(slot, _)| Rid::new(*page, slot)));
            }
        }
        if there.is_empty() || !matches!(index.kind, IndexKind::Heap | IndexKind::Clustered) {
            assert!(there.is_empty());
            return;
        }
        let mut left = there;
        for id in self
            .owners
            .iter()
            .filter(|(_, owner)| reading.rowset.units[0].id == **owner)
            .map(|(id, _)| *id)
        {
            let page = self.page(id);
            let view = PageRef::new(&page);
            for (_, bytes) in view.records().filter(|_| view.header().kind() == PageType::Data) {
                let record = Stored::of(&page, bytes);
                for (bytes, is_text) in pointers(&record, &layout.columns) {
                    self.take(&LobPointer::parse(&bytes, is_text), &mut left);
                }
            }
        }
        assert!(
            left.is_empty(),
            "{} LOB records of {} rows belong to none",
            left.len(),
            rows.len()
        );
    }

    /// Removes the records of a value from those not yet owned.
    fn take(&self, pointer: &LobPointer<'_>, left: &mut HashSet<Rid>) {
        let mut open: Vec<Rid> = match pointer {
            LobPointer::Text { root, .. } => vec![*root],
            LobPointer::Inline(root) => root.links().map(|link| link.target).collect(),
            LobPointer::BackPointer(_) => Vec::new(),
            other => panic!("{other:?}"),
        };
        while let Some(rid) = open.pop() {
            assert!(left.remove(&rid), "{rid} is no LOB record, or belongs to two values");
            let page = self.page(rid.page);
            let record = LobRecord::parse(PageRef::new(&page).record_bytes(rid.slot.0).unwrap());
            if let LobContent::Links(node) = record.content() {
                open.extend(node.links().map(|link| link.target));
            }
        }
    }

    fn heap(&self, reading: Reading<'_>, unit: &AllocUnit) -> Vec<(Rid, Values)> {
        let mut pages: Vec<PageId> = self
            .owners
            .iter()
            .filter(|(_, owner)| **owner == unit.id)
            .map(|(page, _)| *page)
            .collect();
        pages.sort_unstable();
        let mut out = Vec::new();
        let mut moved = HashMap::new();
        let mut data = 0;
        let mut stubs = Vec::new();
        for id in pages {
            let page = self.page(id);
            let view = PageRef::new(&page);
            if view.header().kind() != PageType::Data {
                continue;
            }
            data += 1;
            assert_eq!(
                self.state(id).fullness(),
                Some(Fullness::of_free_bytes(view.header().free_bytes.get())),
                "{id}"
            );
            for (slot, bytes) in view.records() {
                let record = Stored::of(&page, bytes);
                let rid = Rid::new(id, slot);
                match record.role() {
                    Role::Stub(target) => stubs.push((rid, target)),
                    Role::Moved(home) => {
                        moved.insert(rid, (home, reading.values(&record, Level::Leaf)));
                    }
                    Role::Row => out.push((rid, reading.values(&record, Level::Leaf))),
                    Role::Ghost => {}
                }
            }
        }
        assert_eq!(unit.pages_data, data);
        for (home, target) in stubs {
            let (back, values) = moved.remove(&target).expect("a stub refers to a forwarded row");
            assert_eq!(back, home);
            out.push((home, values));
        }
        assert!(moved.is_empty(), "every moved row has its stub");
        out.sort_by_key(|(rid, _)| *rid);
        out
    }

    /// Walks a tree from its root, checks links, levels and separators; returns the leaves in
    /// order.
    fn tree(&mut self, reading: Reading<'_>, unit: &AllocUnit) -> Vec<PageId> {
        let rowset = reading.rowset;
        let mut level = vec![unit.root];
        let height = PageRef::new(&self.page(unit.root)).header().level;
        self.deepest_tree = self.deepest_tree.max(usize::from(height) + 1);
        for expected in (0..=height).rev() {
            let mut below = Vec::new();
            for (at, id) in level.iter().enumerate() {
                let page = self.page(*id);
                let view = PageRef::new(&page);
                let header = view.header();
                assert_eq!((header.alloc_unit(), header.level), (unit.id, expected), "{id}");
                assert_eq!(header.prev(), if at == 0 { PageId::NONE } else { level[at - 1] });
                assert_eq!(header.next(), level.get(at + 1).copied().unwrap_or(PageId::NONE));
                let is_leaf = expected == 0;
                let is_data = is_leaf && rowset.index.0 == 1;
                assert_eq!(header.kind(), if is_data { PageType::Data } else { PageType::Index });
                if !is_leaf {
                    below.extend(self.children(&page, *id, reading));
                }
            }
            if expected > 0 {
                level = below;
            }
        }
        level
    }

    /// The children of a page; each separator is the key of its child's first entry, or lies
    /// between that and the last entry before.
    fn children(&self, page: &PageBuf, id: PageId, reading: Reading<'_>) -> Vec<PageId> {
        let view = PageRef::new(page);
        let key = reading.rowset.layout.key();
        let mut out = Vec::new();
        for (slot, bytes) in view.records() {
            let record = Stored::of(page, bytes);
            let child = record.child();
            let below = self.page(child);
            let level = if below[3] == 0 { Level::Leaf } else { Level::Interior };
            let first = entries(&below, child, reading, level);
            let of = |values: &Values| -> Values {
                key.iter().map(|column| values[column.ordinal as usize - 1].clone()).collect()
            };
            let separator = reading.values(&record, Level::Interior);
            let order = key_order(reading.rowset, &separator, &first[0].2);
            match self.packing {
                Packing::Tight => assert_eq!(of(&separator), of(&first[0].2), "{id} slot {slot}"),
                Packing::Loose => assert_ne!(order, Ordering::Greater, "{id} slot {slot}"),
            }
            let before = out.last().copied().unwrap_or(view.header().prev());
            if self.packing == Packing::Loose && !before.is_none() && !out.is_empty() {
                let last = self.last_entry(before, reading);
                assert_eq!(
                    key_order(reading.rowset, &last, &separator),
                    Ordering::Less,
                    "{id} slot {slot}"
                );
            }
            out.push(child);
        }
        out
    }

    /// The last entry of the last leaf below a page.
    fn last_entry(&self, mut id: PageId, reading: Reading<'_>) -> Values {
        loop {
            let page = self.page(id);
            let view = PageRef::new(&page);
            if view.header().level == 0 {
                return entries(&page, id, reading, Level::Leaf).pop().expect("no page is empty").2;
            }
            let (_, last) = view.records().last().expect("no page is empty");
            id = Stored::of(&page, last).child();
        }
    }

    /// Every allocated page has one owner or a fixed address, is intact and accounts for its bytes;
    /// every extent is in one of the legal states.
    fn pages_and_maps(&mut self) {
        let files: Vec<FileId> = self.image.files().collect();
        for file in files {
            let pages = self.image.page_count(file);
            for first in (0..pages).step_by(8088) {
                let pfs_page = self.page(PageId { file, page: first }.pfs_page());
                let pfs = PfsView::new(&pfs_page);
                assert_eq!(pfs.faults(), []);
                for page in first..pages.min(first + 8088) {
                    self.one_page(PageId { file, page }, pfs.entry(page));
                }
            }
            for first in (0..pages).step_by(511_232) {
                self.interval(PageId { file, page: first }, pages);
            }
        }
        let lost = self.owners.keys().find(|page| !self.state(**page).is_allocated());
        assert_eq!(lost, None, "owned, but not allocated");
    }

    fn one_page(&self, id: PageId, state: PfsByte) {
        assert!(!state.has_reserved_bits());
        let is_fixed = fixed_page_type(id).is_some();
        let owners = usize::from(self.owners.contains_key(&id)) + usize::from(is_fixed);
        assert_eq!(owners, usize::from(state.is_allocated()), "{id} {state}");
        if !state.is_allocated() {
            return;
        }
        let page = self.page(id);
        let header = PageRef::new(&page).header();
        assert_eq!(header.page_id(), id);
        assert!(
            header.flag_bits.get() & 0x200 != 0
                || [(1, 7), (1, 12)].map(|(f, p)| PageId::new(f, p)).contains(&id)
        );
        if header.kind().holds_records() {
            account(&page, id, self.packing);
        }
        if header.kind() == PageType::TextMix {
            assert_eq!(
                state.fullness(),
                Some(Fullness::of_free_bytes(header.free_bytes.get())),
                "{id}"
            );
        }
        if header.kind() == PageType::TextTree {
            assert_eq!(state.fullness(), Some(Fullness::UpTo100), "{id}");
        }
    }

    fn interval(&self, first: PageId, pages: u32) {
        let map = |kind: MapKind| {
            let page = self.page(kind.page_of(first));
            assert_eq!(MapView::new(&page, kind).faults(), []);
            page
        };
        let [gam, sgam, diff, ml] = MapKind::ALL.map(map);
        let [gam, sgam, diff, ml] =
            [&gam, &sgam, &diff, &ml].map(|page| AllocationBitmap::of(page));
        assert_eq!(ml.count_ones(), 0);
        for extent in 0..63_904u32 {
            let page = PageId {
                file: first.file,
                page: first.page + extent * PAGES_PER_EXTENT,
            };
            if page.page >= pages {
                assert!(gam.get(extent) && !sgam.get(extent), "{page} is past the end");
                continue;
            }
            let states: Vec<PfsByte> = if gam.get(extent) {
                Vec::new()
            } else {
                page.extent().pages().map(|page| self.state(page)).collect()
            };
            let is_fixed =
                page.extent().pages().any(|p| fixed_page_type(p).is_some() && p != PageId::BOOT);
            let is_mixed = states.iter().any(|state| state.is_mixed());
            let has_free = states.iter().any(|state| !state.is_allocated());
            let is_owned = self.extents.contains_key(&page);
            match (gam.get(extent), sgam.get(extent)) {
                (true, false) => {
                    assert!(
                        !is_owned && !diff.get(extent) || page.page.is_multiple_of(8088),
                        "{page}"
                    )
                }
                (false, true) => assert!(!is_owned && !is_fixed && has_free, "{page}"),
                (false, false) => {
                    assert!(
                        is_owned ^ is_fixed ^ (is_mixed && !has_free),
                        "{page} {is_owned} {is_fixed}"
                    );
                }
                (true, true) => panic!("{page} is free and mixed"),
            }
            assert!(
                gam.get(extent) || diff.get(extent),
                "{page} was written, and is not marked as changed"
            );
        }
    }
}

/// Free bytes are those that no record takes, and no two records overlap.
fn account(page: &PageBuf, id: PageId, packing: Packing) {
    let view = PageRef::new(page);
    let header = view.header();
    let is_data = header.kind() == PageType::Data;
    let mut spans: Vec<(usize, usize)> = Vec::new();
    let mut ghosts: u16 = 0;
    let information =
        CiView::of(page).filter(|_| matches!(header.kind(), PageType::Data | PageType::Index));
    let start = 96 + information.map_or(0, |information| information.size());
    for (slot, bytes) in view.records() {
        if matches!(header.kind(), PageType::TextMix | PageType::TextTree) {
            let record = LobRecord::parse(bytes);
            assert_eq!(record.fault(), None, "{id} slot {slot}");
            spans.push((usize::from(view.slot_offset(slot).unwrap()), record.len()));
            continue;
        }
        let record = Stored::of(page, bytes);
        ghosts += u16::from(record.role() == Role::Ghost);
        let least = if is_data { 9 } else { 0 };
        spans.push((usize::from(view.slot_offset(slot).unwrap()), record.len().max(least)));
    }
    spans.sort_unstable();
    let padding = if id == PageId::new(1, 32) { 3 } else { 0 };
    // A deleted row of a heap leaves a gap.
    let empty = usize::from(view.slot_count()) - spans.len();
    assert!(empty == 0 || is_data, "{id} has empty slots");
    let has_gaps = empty > 0 || packing == Packing::Loose;
    let is_apart = |pair: &[(usize, usize)]| {
        let end = pair[0].0 + pair[0].1 + padding;
        end == pair[1].0 || (has_gaps && end < pair[1].0)
    };
    assert!(spans.windows(2).all(is_apart), "{id}");
    assert!(spans.first().is_none_or(|(at, _)| *at >= start), "{id}");
    let used: usize = spans.iter().map(|(_, len)| len + padding).sum();
    let used = used + 2 * usize::from(view.slot_count()) + start - 96;
    assert_eq!(usize::from(header.free_bytes.get()), 8096 - used, "{id}");
    let end = spans.last().map_or(start, |(at, len)| at + len + padding);
    let free_offset = usize::from(header.free_offset.get());
    let limit = 8192 - 2 * usize::from(view.slot_count());
    assert!(free_offset == end || (has_gaps && (end..=limit).contains(&free_offset)), "{id}");
    assert_eq!(header.ghost_count.get(), ghosts, "{id}");
}

/// The records of a page with what they are, ghosts included.
fn entries(
    page: &PageBuf,
    id: PageId,
    reading: Reading<'_>,
    level: Level,
) -> Vec<(Rid, Role, Values)> {
    let view = PageRef::new(page);
    let entry = |(slot, bytes)| {
        let record = Stored::of(page, bytes);
        (Rid::new(id, slot), record.role(), reading.values(&record, level))
    };
    view.records().map(entry).collect()
}

/// The pointers of a record of a data page, and whether each is that of a text type.
fn pointers(record: &Stored<'_>, columns: &[PhysicalColumn]) -> Vec<(Vec<u8>, bool)> {
    let is_text = |column: &PhysicalColumn| column.ty.is_some_and(|ty| ty.is_lob());
    let mut out = Vec::new();
    match record {
        Stored::Plain(record) => {
            for (var, at) in record.vars().zip(1i16..).filter(|(var, _)| var.complex) {
                let column = columns.iter().find(|column| column.leaf.offset == -at);
                out.push((var.bytes.to_vec(), column.is_some_and(is_text)));
            }
        }
        Stored::Compressed(record, _) => {
            for (column, stored) in columns.iter().zip(record.columns()) {
                if let CdColumn::Long { bytes, complex: true } = stored {
                    out.push((bytes.to_vec(), is_text(column)));
                }
            }
        }
    }
    out
}

/// Keys ascend, column by column; text as its collation compares it, which is asked and not its
/// sort key.
fn check_order(rowset: &Rowset, rows: &[(Rid, Values)]) {
    for pair in rows.windows(2) {
        let order = key_order(rowset, &pair[0].1, &pair[1].1);
        assert_eq!(order, Ordering::Less, "{} {}", pair[0].0, pair[1].0);
    }
}

fn key_order(rowset: &Rowset, a: &Values, b: &Values) -> Ordering {
    let columns = rowset.layout.key().into_iter().map(|column| {
        let at = column.ordinal as usize - 1;
        let order = compare(column, a[at].as_deref(), b[at].as_deref());
        if column.is_descending() { order.reverse() } else { order }
    });
    columns.fold(Ordering::Equal, Ordering::then)
}

/// Every row lies in the partition that the function says.
fn check_partition(
    catalog: &Catalog,
    index: &Index,
    rowset: &Rowset,
    number: i32,
    rows: &[(Rid, Values)],
) {
    assert_eq!(rowset.partition, number);
    let Some((function, column)) = catalog.partition_function_of(index) else {
        assert_eq!(index.rowsets.len(), 1, "several partitions and no function");
        let group = catalog.filegroups.iter().find(|space| space.id == index.data_space).unwrap();
        assert!(rowset.units.iter().all(|unit| i32::from(unit.filegroup) == group.id));
        return;
    };
    let scheme = catalog.partition_scheme_of(index).unwrap();
    assert_eq!(index.rowsets.len() as i32, function.partitions());
    let group = scheme.filegroups[number as usize - 1];
    assert!(rowset.units.iter().all(|unit| i32::from(unit.filegroup) == group));
    let at = match index.kind {
        IndexKind::Nonclustered => index.columns.iter().position(|c| c.column_id == column),
        _ => rowset.layout.columns.iter().position(|c| c.column_id == column),
    };
    let at = at.unwrap();
    let ty = rowset.layout.columns[at].ty.unwrap();
    for (rid, values) in rows {
        let value =
            values[at].as_deref().map_or(Datum::Null, |bytes| Datum::decode(&ty, bytes).unwrap());
        assert_eq!(function.partition_of(&value), Some(number), "{rid}");
    }
}

fn compare(column: &PhysicalColumn, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return a.is_some().cmp(&b.is_some()) };
    let ty = column.ty.unwrap();
    let decided = match ty {
        SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
            collation.compare_char(a, b).ordering()
        }
        SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
            collation.compare_nchar(a, b).ordering()
        }
        SqlType::Int if a.is_empty() || b.is_empty() => Some(a.len().cmp(&b.len())),
        _ => None,
    };
    decided.unwrap_or_else(|| {
        let key_of = |bytes| {
            let mut out = Vec::new();
            sort_key(&ty, values::Cell::Bytes(bytes), false, &mut out);
            out
        };
        key_of(a).cmp(&key_of(b))
    })
}

/// An index holds for every row its own columns and the row locator, and nothing else. Values
/// of columns that are not in the rows, and which rows a filter lets in, are compared by those who
/// know them.
fn compare_with_table(
    catalog: &Catalog,
    table: &Table,
    index: &Index,
    entries: Vec<(Rid, Values)>,
    base_rows: &[(Rid, Values)],
) {
    let base = table.base().unwrap();
    let base_layout = &catalog.rowsets_of(base).next().unwrap().layout;
    let position =
        |column_id: i32| base_layout.columns.iter().position(|c| c.column_id == column_id);
    // Index in the entry, index in the row.
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut width = index.columns.len();
    for (at, column) in index.columns.iter().enumerate() {
        columns.extend(position(column.column_id).map(|from| (at, from)));
    }
    for column in base_layout.key() {
        let from = position(column.column_id).unwrap();
        if !columns.iter().any(|(_, known)| *known == from) {
            columns.push((width, from));
            width += 1;
        }
    }
    let is_heap = base.kind == IndexKind::Heap;
    let mut expected: Vec<Values> = base_rows
        .iter()
        .map(|(rid, values)| {
            let mut entry: Values = columns.iter().map(|(_, from)| values[*from].clone()).collect();
            if is_heap {
                entry.push(Some(rid.to_bytes().to_vec()));
            }
            entry
        })
        .collect();
    let mut found: Vec<Values> = entries
        .into_iter()
        .map(|(_, values)| {
            assert_eq!(
                values.len(),
                width + usize::from(is_heap),
                "{} index {}",
                table.full_name(),
                index.id
            );
            let own = columns.iter().map(|(at, _)| values[*at].clone());
            own.chain(is_heap.then(|| values[width].clone())).collect()
        })
        .collect();
    expected.sort_unstable();
    found.sort_unstable();
    let is_right = match index.filter {
        None => expected == found,
        Some(_) => found.iter().all(|entry| expected.binary_search(entry).is_ok()),
    };
    assert!(is_right, "{} index {}", table.full_name(), index.id);
}

/// The entries of an index in its order, by the values of its columns.
pub(super) fn index_values(image: &Image, name: &str) -> Vec<Values> {
    let catalog = Catalog::load(image).unwrap();
    let mut indexes = catalog.tables.values().flat_map(|table| &table.indexes);
    let index = indexes.find(|index| index.name.as_deref() == Some(name)).unwrap();
    let mut out = Vec::new();
    for rowset in catalog.rowsets_of(index) {
        let unit = rowset.unit(AllocUnitKind::InRow).unwrap();
        for leaf in LeafPages::new(image, unit.id, unit.root, LeafKind::Nonclustered) {
            let (id, page) = leaf.unwrap();
            let reading = Reading { image, catalog: &catalog, rowset };
            let entries = entries(&page, id, reading, Level::Leaf).into_iter();
            out.extend(
                entries.filter(|(_, role, _)| *role == Role::Row).map(|(_, _, values)| values),
            );
        }
    }
    out
}

/// The rows of a clustered user table in key order, by column id, with off-row values in place.
pub(super) fn table_values(image: &Image, name: &str) -> Vec<Values> {
    let catalog = Catalog::load(image).unwrap();
    let table = catalog.user_tables().into_iter().find(|table| table.name == name).unwrap();
    let rowset = catalog.rowsets_of(table.base().unwrap()).next().unwrap();
    let unit = rowset.unit(AllocUnitKind::InRow).unwrap();
    let mut out = Vec::new();
    for leaf in LeafPages::new(image, unit.id, unit.root, LeafKind::Clustered) {
        let (id, page) = leaf.unwrap();
        for (slot, bytes) in PageRef::new(&page).records() {
            let record = Record::parse_data(bytes);
            let value = |column_id: i32| {
                let column = rowset.layout.column(column_id).unwrap();
                match cell(&record, column, Level::Leaf).unwrap() {
                    Cell::Bit(value) => Some(vec![u8::from(value)]),
                    Cell::Bytes(bytes) => Some(bytes.into_owned()),
                    Cell::Complex(bytes) => {
                        let pointer = LobPointer::parse(&bytes, false);
                        let reader = LobReader::new(image, Rid::new(id, slot), &pointer).unwrap();
                        Some(reader.read_to_vec(1 << 20).unwrap())
                    }
                    Cell::Null => None,
                    Cell::Missing => panic!("column {column_id} is missing"),
                }
            };
            out.push((1..=table.columns.len() as i32).map(value).collect());
        }
    }
    out
}
