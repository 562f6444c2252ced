//! Heaps: rows without order, addressed by RID.
//!
//! ```text
//! insert a page known to have room (free_space) → the session's own page (append) → its next page
//!        → its next extent
//! delete the record is removed, its slot stays empty; its bytes are reserved until the transaction
//!        ends. With row versions it becomes a ghost, which is removed later (versions)
//! update in place when the page has room, else the row moves and a stub of nine bytes keeps its
//!        address (forward)
//! fill   many rows of one transaction, one log record for each page (fill)
//! scan   pages of the IAM chain in their order; a forwarded row where its stub is
//! ```
//!
//! Each session fills pages of its own, from an extent of its own, until they are physically full:
//! no page is shared while it is being filled, and PFS is updated for eight pages at a time. The
//! room that deletes leave is kept in memory, page by page, in finer classes than those of PFS; the
//! PFS class of a page is updated by a checkpoint ([`Heap::update_pfs`]).
//!
//! Lock order: appender → new pages → page latch → free space in memory. An insert tries the page
//! of another session and never waits for it.

mod append;
mod fetch;
pub mod fill;
mod forward;
pub(crate) mod free_space;
mod insert;
mod pfs;
mod row_locks;
mod scan;
pub(crate) mod update;
mod versions;
mod visit;

use extentdb_base::size::ROW_BYTES_MAX;
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{PageId, Rid};
use extentdb_format::page::PageHeader;
use extentdb_space::{Space, Unit};

use crate::Error;
use append::Appender;
use free_space::{FreeSpace, SharedFreeSpace};

pub use free_space::ReservedRoom;

pub use fetch::Fetched;
pub use forward::{HeapShape, as_forwarded};
pub use row_locks::{HeapWriter, RowLocks};
pub use scan::PageRows;
pub use visit::LeftOut;

/// Sessions that append without sharing a page.
const APPENDERS: usize = 64;

/// How rows are placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// Until a page is physically full.
    #[default]
    Packed,
    /// As SQL Server does: a row is inserted into a page only when its PFS class guarantees the
    /// room.
    ByPfs,
}

/// A heap over an allocation unit: rows by RID.
pub struct Heap {
    space: Arc<Space>,
    unit: Arc<Unit>,
    shape: HeapShape,
    placement: Placement,
    room: Arc<HeapSpace>,
}

/// What is known of the room in a heap.
struct HeapSpace {
    appenders: Vec<Mutex<Appender>>,
    free: SharedFreeSpace,
    /// Held while pages are allocated: no session uses a chain that the catalog does not have yet,
    /// and no list of pages has one that is allocated, not formatted, and not in any appender.
    coming: Mutex<()>,
}

impl Heap {
    /// A heap over its allocation unit.
    pub fn new(space: Arc<Space>, unit: Arc<Unit>, shape: HeapShape, placement: Placement) -> Heap {
        let appenders = (0..APPENDERS).map(|_| Mutex::default()).collect();
        let room = HeapSpace {
            appenders,
            free: SharedFreeSpace::default(),
            coming: Mutex::new(()),
        };
        Heap { space, unit, shape, placement, room: Arc::new(room) }
    }

    /// The same heap with records of another shape. Both know the same of its room, whichever of
    /// them is used.
    #[must_use]
    pub fn with_shape(&self, shape: HeapShape) -> Heap {
        let space = self.space.clone();
        let unit = self.unit.clone();
        let room = self.room.clone();
        Heap { space, unit, shape, placement: self.placement, room }
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.unit
    }

    /// What its records look like.
    pub fn shape(&self) -> HeapShape {
        self.shape
    }

    /// The transaction that made this room has ended: others may use it.
    pub fn give_back(&self, reserved: ReservedRoom) {
        self.room.free.lock().give_back(reserved);
    }

    /// An undo changed this page: its free space is no longer known.
    pub fn touched(&self, page: PageId) -> Result<(), Error> {
        let free_bytes = PageHeader::of(&*self.space.pool().read(page)?).free_bytes.get();
        let mut free = self.room.free.lock();
        let room = free_bytes.saturating_sub(free.reserved(page));
        free.file(page, room);
        free.touch(page);
        Ok(())
    }

    /// Forgets all free space: recovery or DDL has changed the pages.
    pub fn forget(&self) {
        *self.room.free.lock() = FreeSpace::default();
        for appender in &self.room.appenders {
            *lock(appender) = Appender::default();
        }
    }
}

impl std::fmt::Debug for Heap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Heap({})", self.unit.id())
    }
}

fn rid(page: PageId, slot: u16) -> Rid {
    Rid::new(page, slot)
}

fn too_long(bytes: usize) -> Result<(), Error> {
    if bytes > ROW_BYTES_MAX {
        Err(Error::RowTooLong { bytes, most: ROW_BYTES_MAX })
    } else {
        Ok(())
    }
}
