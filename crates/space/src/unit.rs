//! An allocation unit at run time: where it begins, what it owns, how large it is.
//!
//! The pages of a unit are the single pages and the extents of its IAM chain. The chain is read at
//! the first allocation, and cached: a unit that is only read never needs it.
//!
//! Invariants
//! - `Chain` is what the IAM pages say, except during a change. A change that fails forgets the
//!   chain; it is read again.
//! - Counters are those of all changes made, committed or not; they go to the catalog at
//!   checkpoints.

use std::collections::VecDeque;

use extentdb_base::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, MutexGuard, lock};
use extentdb_base::{AllocUnitId, HobtId, PageId};
use extentdb_buffer::PageWriteGuard;

use crate::error::Error;

/// What `sysallocunits` says about a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitDescription {
    /// Id of the unit.
    pub id: AllocUnitId,
    /// Rowset that the unit belongs to.
    pub hobt: HobtId,
    /// Filegroup that its pages come from.
    pub group: i16,
    /// `pgfirst`: the leftmost leaf, or a page of the heap.
    pub first: PageId,
    /// `pgroot`: the root of a tree; of a heap, its first page or none.
    pub root: PageId,
    /// `pgfirstiam`: the first page of the IAM chain.
    pub first_iam: PageId,
    /// Pages used, reserved and with data.
    pub counts: UnitCounts,
}

/// How large a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitCounts {
    /// Rows of its rowset.
    pub rows: i64,
    /// `pcdata`: pages of rows, leaf pages of an index.
    pub data: i64,
    /// `pcused`: pages in use, IAM pages included.
    pub used: i64,
    /// `pcreserved`: pages of its extents, single pages and IAM pages.
    pub reserved: i64,
}

/// An IAM page of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IamPage {
    pub(crate) id: PageId,
    pub(crate) interval: PageId,
}

/// What a unit owns.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) iams: Vec<IamPage>,
    /// Slots for single pages in use on the first IAM page.
    pub(crate) singles: usize,
    pub(crate) extents: u64,
    /// Pages of owned extents that are not allocated.
    pub(crate) rest: VecDeque<PageId>,
}

/// The three pointers of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointers {
    first: PageId,
    root: PageId,
    first_iam: PageId,
}

/// An allocation unit.
#[derive(Debug)]
pub struct Unit {
    id: AllocUnitId,
    hobt: HobtId,
    group: i16,
    pointers: Mutex<Pointers>,
    chain: Mutex<Option<Chain>>,
    rows: AtomicI64,
    data: AtomicI64,
    used: AtomicI64,
    reserved: AtomicI64,
    /// Changes of counters so far; equal at two moments = nothing changed between.
    changes: AtomicU64,
}

impl Unit {
    /// A unit as the catalog describes it.
    pub fn new(description: &UnitDescription) -> Unit {
        let UnitDescription { id, hobt, group, first, root, first_iam, counts } = *description;
        // A unit without pages has a chain, an empty one.
        let chain = first_iam.is_none().then(Chain::default);
        Unit {
            id,
            hobt,
            group,
            pointers: Mutex::new(Pointers { first, root, first_iam }),
            chain: Mutex::new(chain),
            rows: AtomicI64::new(counts.rows),
            data: AtomicI64::new(counts.data),
            used: AtomicI64::new(counts.used),
            reserved: AtomicI64::new(counts.reserved),
            changes: AtomicU64::new(0),
        }
    }

    /// Id of the unit.
    pub fn id(&self) -> AllocUnitId {
        self.id
    }

    /// Is this the id in its pages and log records? Data pages of clustered indexes from SQL Server
    /// 2000 have index 0.
    pub fn is_known_as(&self, id: AllocUnitId) -> bool {
        self.aliases().any(|own| own == id)
    }

    /// Every id that its pages and log records may have, its own first.
    pub fn aliases(&self) -> impl Iterator<Item = AllocUnitId> + use<> {
        const CLUSTERED_THEN: u16 = 1;
        let object = self.id.header_object_id();
        let index = self.id.header_index_id();
        let is_old = index == CLUSTERED_THEN;
        let old = is_old.then(|| AllocUnitId::from_header(object, 0));
        [self.id, AllocUnitId::from_header(object, index)].into_iter().chain(old)
    }

    /// Rowset that the unit belongs to.
    pub fn hobt(&self) -> HobtId {
        self.hobt
    }

    /// Filegroup that its pages come from.
    pub fn group(&self) -> i16 {
        self.group
    }

    /// The root of the index; the first page of a heap, or none.
    pub fn root(&self) -> PageId {
        lock(&self.pointers).root
    }

    /// The leftmost leaf, or the first page of a heap.
    pub fn first(&self) -> PageId {
        lock(&self.pointers).first
    }

    /// The first IAM page; none while the unit has no pages.
    pub fn first_iam(&self) -> PageId {
        lock(&self.pointers).first_iam
    }

    /// All three, to be restored when a change of them is undone.
    pub fn pointers(&self) -> Pointers {
        *lock(&self.pointers)
    }

    pub(crate) fn restore_pointers(&self, pointers: Pointers) {
        *lock(&self.pointers) = pointers;
    }

    /// The root is this page from here on. The catalog has it already:
    /// [`Space::log_root`](crate::Space::log_root).
    pub fn set_root(&self, page: PageId) {
        lock(&self.pointers).root = page;
    }

    pub(crate) fn set_first(&self, page: PageId) {
        lock(&self.pointers).first = page;
    }

    pub(crate) fn set_first_iam(&self, page: PageId) {
        lock(&self.pointers).first_iam = page;
    }

    pub(crate) fn chain(&self) -> MutexGuard<'_, Option<Chain>> {
        lock(&self.chain)
    }

    /// Forgets the cached chain: an undo has changed the maps.
    pub fn forget_chain(&self) {
        *self.chain() = self.first_iam().is_none().then(Chain::default);
    }

    /// Changes the number of rows.
    pub fn count_rows(&self, delta: i64) {
        self.rows.fetch_add(delta, Ordering::AcqRel);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn count_pages(&self, data: i64, used: i64, reserved: i64) {
        self.data.fetch_add(data, Ordering::AcqRel);
        self.used.fetch_add(used, Ordering::AcqRel);
        self.reserved.fetch_add(reserved, Ordering::AcqRel);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Changes the number of data pages: B-trees count their leaf pages, heaps all pages that are
    /// formatted.
    pub fn count_data_pages(&self, delta: i64) {
        self.count_pages(delta, 0, 0);
    }

    /// Its size, and how often that changed since it was opened.
    pub fn counts(&self) -> (UnitCounts, u64) {
        let changes = self.changes.load(Ordering::Acquire);
        let of = |counter: &AtomicI64| counter.load(Ordering::Acquire);
        let counts = UnitCounts {
            rows: of(&self.rows),
            data: of(&self.data),
            used: of(&self.used),
            reserved: of(&self.reserved),
        };
        (counts, changes)
    }

    /// Sets counters that were recomputed.
    pub fn set_counts(&self, counts: UnitCounts) {
        self.rows.store(counts.rows, Ordering::Release);
        self.data.store(counts.data, Ordering::Release);
        self.used.store(counts.used, Ordering::Release);
        self.reserved.store(counts.reserved, Ordering::Release);
        self.changes.fetch_add(1, Ordering::AcqRel);
    }
}

/// Finds the rows of allocation units in `sysallocunits`.
pub trait UnitRows: Send + Sync {
    /// Runs `f` with the page and slot of the unit's row. The caller holds no page.
    fn with_row(
        &self,
        unit: &Unit,
        f: &mut dyn FnMut(&mut PageWriteGuard, u16) -> Result<(), Error>,
    ) -> Result<(), Error>;
}
