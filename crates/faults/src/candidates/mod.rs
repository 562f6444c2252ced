//! The pages, rows and extents of a database that a fault can be made in.
//!
//! ```text
//! Partition      one partition of a heap or index: its owner, its first pages
//! CandidatePage  a readable page of a partition, with its displaced torn-page bits restored
//! Candidates     lists of pages by role, built at the first use: leaves and upper pages of
//!                clustered
//!                indexes, pages of heaps, leaves of nonclustered indexes
//! ```
//!
//! Of large tables the first [`PAGES_MAX`] pages are considered, so that a database of any size is
//! damaged quickly. Pages that cannot be read are skipped: the database may be damaged
//! already. Choices are drawn from a generator that is seeded for each fault.

pub(crate) mod entry;
mod space;

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{HobtId, IndexId, ObjectId, PageId};
use extentdb_catalog::PageGetter;
use extentdb_catalog::access::{HeapPages, LeafKind, LeafPages};
use extentdb_catalog::layout::{Compression, PhysicalColumn};
use extentdb_catalog::model::{
    AllocUnit, AllocUnitKind, Catalog, Index, IndexKind, ObjectType, Rowset, Table,
};
use extentdb_format::PageBuf;
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::{Record, RecordKind};

use crate::Error;
use crate::image::Image;

pub(crate) const PAGES_MAX: usize = 4_096;
/// Pages that are tried, at most, for one suitable page.
const TRIES_MAX: usize = 1_024;
/// Levels of a tree that are followed, at most: more than any tree has.
const LEVELS_MAX: usize = 40;

/// One partition of a heap or index.
#[derive(Clone, Debug)]
pub(crate) struct Partition {
    pub(crate) object: ObjectId,
    pub(crate) index: IndexId,
    pub(crate) rowset: HobtId,
    /// Its in-row unit.
    pub(crate) unit: AllocUnit,
    pub(crate) is_user: bool,
    pub(crate) compression: Compression,
}

impl Partition {
    pub(crate) fn is_heap(&self) -> bool {
        self.index == IndexId(0)
    }

    pub(crate) fn is_clustered(&self) -> bool {
        self.index == IndexId(1)
    }
}

/// A page of a partition.
pub(crate) struct CandidatePage {
    pub(crate) id: PageId,
    pub(crate) page: PageBuf,
    pub(crate) partition: Partition,
    /// Of a tree: the neighbours, when there are both.
    pub(crate) neighbours: Option<(PageId, PageId)>,
}

impl CandidatePage {
    /// A lost page shows in the links of its tree, too.
    pub(crate) fn has_links(&self) -> bool {
        self.neighbours.is_some()
    }

    pub(crate) fn view(&self) -> PageRef<'_> {
        PageRef::new(&self.page)
    }

    pub(crate) fn header(&self) -> &PageHeader {
        PageHeader::of(&self.page)
    }

    pub(crate) fn slots(&self) -> u16 {
        self.view().slot_count()
    }

    /// The record in a slot.
    pub(crate) fn record(&self, slot: u16) -> Option<Record<'_>> {
        record_at(&self.page, slot)
    }
}

/// The record in a slot of a data or index page.
pub(crate) fn record_at(page: &PageBuf, slot: u16) -> Option<Record<'_>> {
    let view = PageRef::new(page);
    let bytes = view.record_bytes(slot)?;
    let record = match view.header().kind() {
        PageType::Data => Record::parse_data(bytes),
        PageType::Index => Record::parse_index(bytes, view.header().fixed_len.get()),
        _ => return None,
    };
    record.fault().is_none().then_some(record)
}

/// The first byte of a slot's record on its page.
pub(crate) fn offset_of(page: &PageBuf, slot: u16) -> Option<usize> {
    PageRef::new(page).slot_offset(slot).map(usize::from)
}

/// A page and the index of its partition in the list.
#[derive(Clone, Copy)]
pub(crate) struct PartitionPage {
    pub(crate) id: PageId,
    partition: usize,
}

/// A database, by what faults can be made in.
pub(crate) struct Candidates<'a> {
    pub(crate) image: &'a Image,
    pub(crate) catalog: Catalog,
    /// Uncompressed heaps and indexes of user tables.
    partitions: Vec<Partition>,
    leaves: OnceCell<Vec<PartitionPage>>,
    heaps: OnceCell<Vec<PartitionPage>>,
    entries: OnceCell<Vec<PartitionPage>>,
    uppers: OnceCell<Vec<PartitionPage>>,
    /// What every choice is drawn from; set for each fault.
    pub(crate) rng: RefCell<SplitMix64>,
}

impl<'a> Candidates<'a> {
    pub(crate) fn new(image: &'a Image) -> Result<Self, Error> {
        let catalog = Catalog::load(image)?;
        let is_user = |table: &&Table| table.kind == ObjectType::USER_TABLE && table.id.0 > 0;
        let partitions = catalog
            .tables
            .values()
            .filter(is_user)
            .flat_map(|table| parts_of(&catalog, table, true));
        let partitions =
            partitions.filter(|partition| partition.compression == Compression::None).collect();
        let leaves = OnceCell::new();
        let heaps = OnceCell::new();
        let entries = OnceCell::new();
        let uppers = OnceCell::new();
        let rng = RefCell::new(SplitMix64::new(0));
        Ok(Candidates {
            image,
            catalog,
            partitions,
            leaves,
            heaps,
            entries,
            uppers,
            rng,
        })
    }

    pub(crate) fn next_u64(&self) -> u64 {
        self.rng.borrow_mut().next_u64()
    }

    /// A random number below `bound`; 0 when `bound` is 0.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.rng.borrow_mut().below(bound)
    }

    pub(crate) fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    /// Every heap and index of user tables, compressed ones among them.
    pub(crate) fn all_parts(&self) -> Vec<Partition> {
        let user =
            self.catalog.tables.values().filter(|table| table.kind == ObjectType::USER_TABLE);
        user.filter(|table| table.id.0 > 0)
            .flat_map(|table| parts_of(&self.catalog, table, true))
            .collect()
    }

    /// The partitions of an index of a system table.
    pub(crate) fn system_part(&self, object: ObjectId, index: IndexId) -> Option<Partition> {
        let table = self.catalog.tables.get(&object)?;
        parts_of(&self.catalog, table, false).into_iter().find(|partition| partition.index == index)
    }

    pub(crate) fn rowset(&self, partition: &Partition) -> Option<&Rowset> {
        self.catalog.rowsets.get(&partition.rowset)
    }

    pub(crate) fn table(&self, partition: &Partition) -> Option<&Table> {
        self.catalog.tables.get(&partition.object)
    }

    /// The columns of a partition, without dropped ones.
    pub(crate) fn columns(&self, partition: &Partition) -> impl Iterator<Item = &PhysicalColumn> {
        let columns = self.rowset(partition).map_or(&[][..], |rowset| &rowset.layout.columns);
        columns.iter().filter(|column| !column.is_dropped())
    }

    /// Nonclustered indexes of the partition's table that hold every row of it.
    pub(crate) fn full_indexes(&self, partition: &Partition) -> impl Iterator<Item = &Index> {
        let indexes = self.table(partition).map_or(&[][..], |table| &table.indexes);
        indexes.iter().filter(|index| {
            index.kind == IndexKind::Nonclustered
                && !index.disabled
                && index.filter.is_none()
                && !index.rowsets.is_empty()
        })
    }

    /// Numbers of the cross-check, when the partition's table has a nonclustered index.
    pub(crate) fn cross(&self, partition: &Partition, numbers: &'static [u32]) -> &'static [u32] {
        if self.full_indexes(partition).next().is_some() { numbers } else { &[] }
    }

    /// A page that can be read.
    pub(crate) fn page(&self, id: PageId) -> Option<PageBuf> {
        let mut page = PageBuf::zeroed();
        self.image.page(id, &mut page).ok().map(|()| page)
    }

    /// A page as it is stored.
    pub(crate) fn stored(&self, id: PageId) -> Option<PageBuf> {
        let mut page = PageBuf::zeroed();
        self.image.raw(id, &mut page).ok().map(|()| page)
    }

    /// A page of a partition.
    pub(crate) fn found(&self, id: PageId, partition: &Partition) -> Option<CandidatePage> {
        let page = self.page(id)?;
        let header = PageHeader::of(&page);
        if !header.belongs_to(partition.unit.id) {
            return None;
        }
        let prev = header.prev();
        let next = header.next();
        let has_both = !partition.is_heap() && !prev.is_none() && !next.is_none();
        Some(CandidatePage {
            id,
            partition: partition.clone(),
            neighbours: has_both.then_some((prev, next)),
            page,
        })
    }

    /// Leaf pages of clustered indexes.
    pub(crate) fn leaves(&self) -> &[PartitionPage] {
        self.leaves.get_or_init(|| {
            self.list(Partition::is_clustered, |partition| self.leaf_pages(partition))
        })
    }

    /// Pages of heaps.
    pub(crate) fn heaps(&self) -> &[PartitionPage] {
        self.heaps
            .get_or_init(|| self.list(Partition::is_heap, |partition| self.leaf_pages(partition)))
    }

    /// Leaf pages of nonclustered indexes.
    pub(crate) fn entries(&self) -> &[PartitionPage] {
        self.entries.get_or_init(|| {
            self.list(
                |partition| !partition.is_heap() && !partition.is_clustered(),
                |partition| self.leaf_pages(partition),
            )
        })
    }

    /// The pages above the leaves of clustered indexes, left to right, the root among them when it
    /// is one.
    pub(crate) fn uppers(&self) -> &[PartitionPage] {
        self.uppers.get_or_init(|| {
            self.list(Partition::is_clustered, |partition| self.upper_pages(partition))
        })
    }

    fn list(
        &self,
        suits: impl Fn(&Partition) -> bool,
        pages: impl Fn(&Partition) -> Vec<PageId>,
    ) -> Vec<PartitionPage> {
        let partitions =
            self.partitions.iter().enumerate().filter(|(_, partition)| suits(partition));
        partitions
            .flat_map(|(at, partition)| {
                pages(partition).into_iter().map(move |id| PartitionPage { id, partition: at })
            })
            .collect()
    }

    /// The pages of a partition that hold rows or entries, in key order.
    pub(crate) fn leaf_pages(&self, partition: &Partition) -> Vec<PageId> {
        let unit = partition.unit.id;
        let root = partition.unit.root;
        let tree = |kind| LeafPages::new(self.image, unit, root, kind).flatten().take(PAGES_MAX);
        match partition.index {
            IndexId(0) => {
                let pages = HeapPages::new(self.image, unit, partition.unit.first_iam);
                pages.flatten().take(PAGES_MAX).map(|(id, _)| id).collect()
            }
            IndexId(1) => tree(LeafKind::Clustered).map(|(id, _)| id).collect(),
            _ => tree(LeafKind::Nonclustered).map(|(id, _)| id).collect(),
        }
    }

    /// The pages of a tree at level 1.
    pub(crate) fn upper_pages(&self, partition: &Partition) -> Vec<PageId> {
        let mut level = vec![partition.unit.root];
        let mut seen: HashSet<PageId> = level.iter().copied().collect();
        for _ in 0..LEVELS_MAX {
            let pages: Vec<CandidatePage> =
                level.iter().filter_map(|id| self.found(*id, partition)).collect();
            let is_upper = |found: &CandidatePage| {
                found.header().kind() == PageType::Index && found.header().level > 0
            };
            let Some(first) = pages.iter().find(|found| is_upper(found)) else { return Vec::new() };
            if first.header().level == 1 {
                return pages
                    .iter()
                    .filter(|found| is_upper(found))
                    .map(|found| found.id)
                    .collect();
            }
            let children = pages.iter().flat_map(children_of).filter(|child| seen.insert(*child));
            level = children.take(PAGES_MAX).collect();
        }
        Vec::new()
    }

    /// The first page, in list order from a random page, for which `choose` returns a change.
    pub(crate) fn pick<T>(
        &self,
        pages: &[PartitionPage],
        mut choose: impl FnMut(&CandidatePage) -> Option<T>,
    ) -> Option<(CandidatePage, T)> {
        let from = self.below(pages.len() as u64) as usize;
        let (before, after) = pages.split_at_checked(from)?;
        after.iter().chain(before).take(TRIES_MAX).find_map(|page| {
            let found = self.found(page.id, self.partitions.get(page.partition)?)?;
            let chosen = choose(&found)?;
            Some((found, chosen))
        })
    }

    /// A leaf page of a clustered index between two others, with two rows at least.
    pub(crate) fn leaf(&self) -> Option<CandidatePage> {
        let suits =
            |found: &CandidatePage| (found.has_links() && rows_of(&found.page) >= 2).then_some(());
        self.pick(self.leaves(), suits).map(|(found, ())| found)
    }

    /// A leaf page of a nonclustered index between two others.
    pub(crate) fn entry_page(&self) -> Option<CandidatePage> {
        let suits =
            |found: &CandidatePage| (found.has_links() && rows_of(&found.page) >= 2).then_some(());
        self.pick(self.entries(), suits).map(|(found, ())| found)
    }

    /// A page above the leaves of a clustered index, between two others: not the root.
    pub(crate) fn upper(&self) -> Option<CandidatePage> {
        let suits =
            |found: &CandidatePage| (found.has_links() && rows_of(&found.page) >= 2).then_some(());
        self.pick(self.uppers(), suits).map(|(found, ())| found)
    }

    /// A page of a heap with rows, and without forwarded ones: damage to those has consequences
    /// elsewhere.
    pub(crate) fn heap(&self) -> Option<CandidatePage> {
        let is_plain = |found: &CandidatePage| {
            rows_of(&found.page) >= 2
                && found.view().records().all(|(_, bytes)| {
                    let record = Record::parse_data(bytes);
                    record.kind() == RecordKind::Primary && record.vars().all(|var| !var.complex)
                })
        };
        self.pick(self.heaps(), |found| is_plain(found).then_some(())).map(|(found, ())| found)
    }

    /// A leaf page of a clustered index or a page of a heap.
    pub(crate) fn row_page(&self) -> Option<CandidatePage> {
        match self.below(2) {
            0 => self.leaf().or_else(|| self.heap()),
            _ => self.heap().or_else(|| self.leaf()),
        }
    }

    /// A page of a heap, or of a clustered index when there is no heap.
    pub(crate) fn heap_or_leaf(&self) -> Option<CandidatePage> {
        self.heap().or_else(|| self.leaf())
    }

    /// All pages with rows of user tables.
    pub(crate) fn base_pages(&self) -> Vec<PartitionPage> {
        self.leaves().iter().chain(self.heaps()).copied().collect()
    }

    /// A row of a user table for which `choose` returns a change. Ghosts, stubs and forwarded rows
    /// are left alone.
    pub(crate) fn pick_row<T>(
        &self,
        pages: &[PartitionPage],
        mut choose: impl FnMut(&CandidatePage, u16, &Record<'_>) -> Option<T>,
    ) -> Option<(CandidatePage, u16, T)> {
        let (found, (slot, chosen)) = self.pick(pages, |found| {
            let slots = found.slots();
            let from = self.below(slots.into()) as u16;
            (0..slots).map(|at| (from + at) % slots).find_map(|slot| {
                let record = found.record(slot)?;
                let is_row = matches!(record.kind(), RecordKind::Primary | RecordKind::Index);
                Some((slot, is_row.then(|| choose(found, slot, &record))??))
            })
        })?;
        Some((found, slot, chosen))
    }
}

fn parts_of(catalog: &Catalog, table: &Table, is_user: bool) -> Vec<Partition> {
    let is_known = |index: &&Index| {
        matches!(index.kind, IndexKind::Heap | IndexKind::Clustered | IndexKind::Nonclustered)
            && !index.disabled
    };
    let rowsets = table.indexes.iter().filter(is_known).flat_map(|index| catalog.rowsets_of(index));
    let partition = |rowset: &Rowset| {
        Some(Partition {
            object: table.id,
            index: rowset.index,
            rowset: rowset.id,
            unit: rowset.unit(AllocUnitKind::InRow)?.clone(),
            is_user,
            compression: rowset.compression,
        })
    };
    rowsets.filter_map(partition).collect()
}

/// The child pages of an upper page, in key order.
pub(crate) fn children_of(found: &CandidatePage) -> Vec<PageId> {
    (0..found.slots()).filter_map(|slot| found.record(slot)?.child()).collect()
}

/// The number of slots of a page.
pub(crate) fn rows_of(page: &PageBuf) -> usize {
    PageRef::new(page).records().count()
}

/// Protects a changed page again, the way it was protected. `before` is the page as it was stored.
pub(crate) fn reseal(image: &Image, id: PageId, page: &mut PageBuf) -> Option<()> {
    let mut before = PageBuf::zeroed();
    image.raw(id, &mut before).ok()?;
    match checksum::verify(&before) {
        Protection::None => {}
        Protection::Checksum { .. } => checksum::seal(page),
        Protection::Torn { signature, .. } => checksum::seal_torn(page, signature),
    }
    Some(())
}
