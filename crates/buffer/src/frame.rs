//! A frame: the memory of one page, with its latch and state.
//!
//! ```text
//! latch        protects the bytes
//! page         which page it holds; changes only while the frame is not fixed
//! present      the bytes are the page's: read and verified, or created
//! in_io        the bytes are on their way from the file
//! referenced   used since the clock's hand passed
//! changes      changes that are not on the file yet
//! ```
//!
//! **Fixed** (pinned) means that the frame's `Arc` has an owner besides the pool. It is cloned only
//! under the lock of the page table's shard, so a count of one seen under that lock stays one.
//!
//! ```text
//! changes: clean ── set_dirty(L) ──▶ changed, first = L ── begin_write ──▶ in flight (L), not changed
//!            ▲                            ▲                                  │ set_dirty(M): changed, first = M
//!            └──────── end_write ─────────┼──── still changed (M) ◀──────────┤ end_write: L goes to the file's account
//!                                         └──── first = L again  ◀───────────┘ fail_write
//! ```

use extentdb_base::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Condvar, Mutex, lock, wait};
use extentdb_base::{FileId, Lsn, OfflineCause, Outage, PageId};
use extentdb_format::page::{PageBytes, PageHeader};
use extentdb_telemetry::EventSink;

use crate::PageFault;
use crate::guard::Fixed;
use crate::latch::{Latch, LatchMode, WaitAccounts};
use crate::memory::{PageMemory, SLAB_PAGES, Slab};
use crate::suspect::Suspects;

/// What all frames of a pool share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) accounts: WaitAccounts,
    pub(crate) events: Arc<dyn EventSink>,
    /// Once it has begun, nothing is changed or written any more.
    pub(crate) outage: Outage,
    /// Frames with changes that are not written.
    pub(crate) dirty_count: AtomicU64,
    /// Pages that could not be read.
    pub(crate) suspects: Suspects,
}

/// See the module.
pub(crate) struct Frame {
    pub(crate) latch: Latch,
    page: AtomicU64,
    present: AtomicBool,
    in_io: AtomicBool,
    referenced: AtomicBool,
    /// Says without the mutex whether `changes` holds any; changes under it.
    dirty: AtomicBool,
    changes: Mutex<Changes>,
    /// A write of this page ended.
    written: Condvar,
    pub(crate) memory: PageMemory,
    pub(crate) shared: Arc<Shared>,
}

/// What is newer in memory than on the file. `Lsn::ZERO` stands for "no logged change".
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Changed since the last copy was taken.
    changed: bool,
    /// The first logged of these changes.
    first: Lsn,
    /// The copy that is being written.
    in_flight: Option<InFlight>,
    /// Formatted, by a logged record, since the last copy was taken.
    formatted: bool,
    /// The newest logged change ever announced; the log must be durable up to here before the page
    /// is written.
    newest: Lsn,
    /// The LSN of the page when it was read. Its log was durable before it was written, perhaps in
    /// another log.
    arrived_with: Lsn,
}

/// A copy of a page that is being written.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// The first logged change in it.
    first: Lsn,
    tear: Tear,
}

/// Whether to wait for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LatchWait {
    /// As long as it takes.
    Wait,
    /// Do not wait.
    AtOnce,
}

/// What the copy of a page needs before and after its write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteNeeds {
    /// The log must be durable up to here first.
    pub(crate) newest: Lsn,
    /// The first logged change in it.
    pub(crate) first: Lsn,
    /// Whether a torn write of it would matter.
    pub(crate) tear: Tear,
}

/// What a torn write of a page does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tear {
    /// Destroys what redo needs: a copy must be durable first.
    Harmful,
    /// Nothing. The page was formatted since it was written last: redo makes it again and never
    /// reads it. No checkpoint that a restart could begin at is later than that record, because the
    /// page has been dirty since.
    Harmless,
}

impl Shared {
    /// Nothing is changed or written after `error`.
    pub(crate) fn go_offline(
        &self,
        file: Option<FileId>,
        error: &(dyn std::error::Error + 'static),
    ) {
        self.outage.begin(OfflineCause::new(file, error));
    }
}

impl Frame {
    /// `count` frames that hold nothing.
    pub(crate) fn allocate(count: usize, shared: &Arc<Shared>) -> Box<[Arc<Frame>]> {
        let slabs = (0..count).step_by(SLAB_PAGES).flat_map(|first| Slab::pages(count - first));
        slabs.map(|memory| Arc::new(Frame::new(memory, Arc::clone(shared)))).collect()
    }

    fn new(memory: PageMemory, shared: Arc<Shared>) -> Frame {
        Frame {
            latch: Latch::new(),
            page: AtomicU64::new(0),
            present: AtomicBool::new(false),
            in_io: AtomicBool::new(false),
            referenced: AtomicBool::new(false),
            dirty: AtomicBool::new(false),
            changes: Mutex::new(Changes::default()),
            written: Condvar::new(),
            memory,
            shared,
        }
    }

    /// The page held here; `PageId::NONE` when none.
    pub(crate) fn page(&self) -> PageId {
        let packed = self.page.load(Ordering::Acquire);
        PageId::new((packed >> 32) as u16, packed as u32)
    }

    /// Is it fixed? Final only under the lock of the page's shard.
    pub(crate) fn is_fixed(frame: &Arc<Frame>) -> bool {
        let fixed = Arc::strong_count(frame) > 1;
        // The last user's doings happened before its reference was dropped; see them.
        extentdb_base::sync::atomic::fence(Ordering::Acquire);
        fixed
    }

    pub(crate) fn acquire(&self, mode: LatchMode) {
        self.latch.acquire(mode, &self.shared.accounts, || self.in_io.load(Ordering::Acquire));
    }

    pub(crate) fn release(&self, mode: LatchMode) {
        self.latch.release(mode, &self.shared.accounts);
    }

    /// Prepares for reading `page`. The frame is in no table, and EX is held.
    pub(crate) fn assign(&self, page: PageId) {
        self.present.store(false, Ordering::Release);
        self.in_io.store(true, Ordering::Release);
        self.page.store(u64::from(page.file.0) << 32 | u64::from(page.page), Ordering::Release);
        *lock(&self.changes) = Changes::default();
    }

    /// Empties the frame. DT is held, or the frame is in no table.
    pub(crate) fn vacate(&self) {
        self.page.store(0, Ordering::Release);
        self.present.store(false, Ordering::Release);
        self.in_io.store(false, Ordering::Release);
        self.referenced.store(false, Ordering::Relaxed);
    }

    /// The bytes are those of the page, read with `lsn`. EX is held.
    pub(crate) fn set_present(&self, lsn: Lsn) {
        lock(&self.changes).arrived_with = lsn;
        self.present.store(true, Ordering::Release);
        self.in_io.store(false, Ordering::Release);
    }

    /// The bytes are invalid: the next user reads the page from the file. EX is held.
    pub(crate) fn set_absent(&self) {
        self.present.store(false, Ordering::Release);
        self.in_io.store(false, Ordering::Release);
    }

    /// Are the bytes those of the page? Final while a latch is held.
    pub(crate) fn is_present(&self) -> bool {
        self.present.load(Ordering::Acquire)
    }

    pub(crate) fn touch(&self) {
        // Hot pages are touched all the time; a load keeps their line shared between processors, a
        // store would not.
        if !self.referenced.load(Ordering::Relaxed) {
            self.referenced.store(true, Ordering::Relaxed);
        }
    }

    /// Was it used since the clock's last turn?
    pub(crate) fn has_chance(&self) -> bool {
        self.referenced.load(Ordering::Relaxed)
    }

    /// Takes away the second chance; false when it was taken away before.
    pub(crate) fn take_chance(&self) -> bool {
        self.referenced.load(Ordering::Relaxed) && self.referenced.swap(false, Ordering::Relaxed)
    }

    /// Has it changes that are not written?
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Acquire)
    }

    /// Has it changes that no copy holds? Final while EX is held.
    pub(crate) fn is_changed(&self) -> bool {
        lock(&self.changes).changed
    }

    /// Announces that the page was formatted by the record at `lsn`. EX is held.
    pub(crate) fn set_formatted(&self, lsn: Lsn) {
        lock(&self.changes).formatted = true;
        self.shared.suspects.clear(self.page());
        self.set_dirty(lsn);
    }

    /// Announces a change, logged at `lsn` or, with zero, not logged. EX is held.
    pub(crate) fn set_dirty(&self, lsn: Lsn) {
        let mut changes = lock(&self.changes);
        if !changes.changed {
            changes.changed = true;
            changes.first = Lsn::ZERO;
        }
        changes.first = earlier(changes.first, lsn);
        changes.newest = changes.newest.max(lsn);
        self.count_dirty(&changes);
    }

    /// The first logged change that is not on the file, or not known to be.
    pub(crate) fn oldest_change(&self) -> Lsn {
        if !self.is_dirty() {
            return Lsn::ZERO;
        }
        let changes = lock(&self.changes);
        let first = if changes.changed { changes.first } else { Lsn::ZERO };
        earlier(first, changes.in_flight.map_or(Lsn::ZERO, |copy| copy.first))
    }

    /// Copies the page into `image` if it has changes, and counts them as in flight. The caller has
    /// the frame fixed as the one of `page`, and ends the write by [`end_write`](Self::end_write)
    /// or [`fail_write`](Self::fail_write).
    pub(crate) fn begin_write(
        frame: &Arc<Frame>,
        image: &mut PageBytes,
        latch_wait: LatchWait,
    ) -> Result<Option<WriteNeeds>, PageFault> {
        loop {
            let Some(fixed) = Fixed::update(frame, latch_wait) else { return Ok(None) };
            let mut changes = lock(&frame.changes);
            if changes.in_flight.is_some() {
                // Another write of this page is under way. Wait without a latch, so that the page's
                // users do not wait, too.
                drop(fixed);
                if latch_wait == LatchWait::AtOnce {
                    return Ok(None);
                }
                while changes.in_flight.is_some() {
                    changes = wait(&frame.written, changes);
                }
                continue;
            }
            if !changes.changed {
                return Ok(None);
            }
            let header = PageHeader::of(fixed.bytes());
            let announced = changes.newest.max(changes.arrived_with);
            if header.lsn() > announced {
                return Err(PageFault::AheadOfLog { lsn: header.lsn(), announced });
            }
            let first = changes.first;
            let tear = if changes.formatted { Tear::Harmless } else { Tear::Harmful };
            changes.changed = false;
            changes.formatted = false;
            changes.in_flight = Some(InFlight { first, tear });
            let newest = changes.newest;
            // The copy is made under UP: no writer, but readers.
            drop(changes);
            image.copy_from_slice(fixed.bytes());
            return Ok(Some(WriteNeeds { newest, first, tear }));
        }
    }

    /// Waits until no copy is being written; returns the LSN that must be durable before the page
    /// is written. EX is held, so that no copy is taken meanwhile.
    pub(crate) fn wait_for_write(&self) -> Lsn {
        let mut changes = lock(&self.changes);
        while changes.in_flight.is_some() {
            changes = wait(&self.written, changes);
        }
        changes.newest
    }

    /// The page as it is now is durable in its file. EX is held.
    pub(crate) fn set_clean(&self) {
        let mut changes = lock(&self.changes);
        changes.changed = false;
        changes.formatted = false;
        self.count_dirty(&changes);
    }

    /// The copy has reached the file, and the file's account knows its first change.
    pub(crate) fn end_write(&self) {
        let mut changes = lock(&self.changes);
        changes.in_flight = None;
        self.count_dirty(&changes);
        self.written.notify_all();
    }

    /// The copy may not have reached the file: its changes count as before.
    pub(crate) fn fail_write(&self) {
        let mut changes = lock(&self.changes);
        if let Some(copy) = changes.in_flight.take() {
            let later = if changes.changed { changes.first } else { Lsn::ZERO };
            changes.first = earlier(copy.first, later);
            changes.changed = true;
            changes.formatted |= copy.tear == Tear::Harmless;
        }
        self.count_dirty(&changes);
        self.written.notify_all();
    }

    /// Forgets all changes. Nobody has the frame fixed.
    pub(crate) fn forget_changes(&self) {
        let mut changes = lock(&self.changes);
        *changes = Changes::default();
        self.count_dirty(&changes);
    }

    /// Updates flag and count by `changes`, which are locked.
    fn count_dirty(&self, changes: &Changes) {
        let dirty = changes.changed || changes.in_flight.is_some();
        if dirty == self.dirty.load(Ordering::Relaxed) {
            return;
        }
        self.dirty.store(dirty, Ordering::Release);
        if dirty {
            self.shared.dirty_count.fetch_add(1, Ordering::AcqRel);
        } else {
            self.shared.dirty_count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The earlier of two positions, where zero means none.
pub(crate) fn earlier(a: Lsn, b: Lsn) -> Lsn {
    match (a.is_zero(), b.is_zero()) {
        (true, _) => b,
        (_, true) => a,
        _ => a.min(b),
    }
}
