//! Guards: a page fixed and latched, for as long as the guard lives.
//!
//! Invariants
//! - A guard owns its frame's `Arc` (the pin) and one hold of its latch, and releases the latch
//!   first.
//! - `&` of an SH, UP or EX guard gives `&PageBytes`; only `&mut` of an EX guard gives
//!   `&mut PageBytes`.
//! - Guards stay on their thread: a latch is released by the thread that acquired it.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use extentdb_base::sync::{Arc, thread};
use extentdb_base::{Lsn, OfflineCause, PageId};
use extentdb_format::page::PageBytes;

use crate::frame::{Frame, LatchWait};
use crate::latch::LatchMode;

/// A frame that is fixed and whose latch is held in SH, UP or EX.
pub(crate) struct Fixed {
    frame: Arc<Frame>,
    mode: LatchMode,
    /// Zeroed to be formatted, and not announced yet.
    unformatted: bool,
    /// Bytes were handed out for changing.
    touched: bool,
    /// Keeps guards on their thread: latches are released where they were acquired.
    stays: PhantomData<*const ()>,
}

/// A page latched SH: readers only.
pub struct PageReadGuard {
    fixed: Fixed,
    id: PageId,
}

/// A page that may be read and changed. Nobody else sees it meanwhile.
///
/// A caller that changes the bytes calls [`set_dirty`](Self::set_dirty) before the guard is
/// dropped; what is not announced is lost when the page leaves memory. A panic while a page is
/// being changed takes the pool offline: half a change must not reach the file.
pub struct PageWriteGuard {
    fixed: Fixed,
    id: PageId,
}

impl Fixed {
    /// Takes the latch of a frame that the caller holds a reference to.
    pub(crate) fn acquire(frame: Arc<Frame>, mode: LatchMode) -> Fixed {
        debug_assert!(matches!(mode, LatchMode::Sh | LatchMode::Up | LatchMode::Ex));
        frame.acquire(mode);
        Fixed::held(frame, mode)
    }

    /// Takes the latch if it is free.
    pub(crate) fn try_acquire(frame: Arc<Frame>, mode: LatchMode) -> Option<Fixed> {
        frame.latch.try_acquire(mode).then(|| Fixed::held(frame, mode))
    }

    /// Of a latch that the caller has taken.
    fn held(frame: Arc<Frame>, mode: LatchMode) -> Fixed {
        Fixed {
            frame,
            mode,
            unformatted: false,
            touched: false,
            stays: PhantomData,
        }
    }

    /// A reference under UP, for a copy.
    pub(crate) fn update(frame: &Arc<Frame>, latch_wait: LatchWait) -> Option<Fixed> {
        match latch_wait {
            LatchWait::Wait => Some(Fixed::acquire(Arc::clone(frame), LatchMode::Up)),
            LatchWait::AtOnce => Fixed::try_acquire(Arc::clone(frame), LatchMode::Up),
        }
    }

    pub(crate) fn frame(&self) -> &Frame {
        &self.frame
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &PageBytes {
        // SAFETY: the latch is held in SH, UP or EX while `self` lives, and the reference borrows
        // `self`; `bytes_mut` needs `&mut self`, so its reference cannot exist at the same time.
        unsafe { self.frame.memory.bytes() }
    }

    /// The bytes, to be changed. Only under EX.
    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut PageBytes {
        assert!(self.mode == LatchMode::Ex, "a page is changed under EX only");
        self.touched = true;
        // SAFETY: EX is held while `self` lives, so no other guard of the frame exists; the
        // reference borrows `self` mutably, so it is the only reference of this guard.
        unsafe { self.frame.memory.bytes_mut() }
    }

    /// From EX to SH without letting others change the page between.
    pub(crate) fn downgrade(mut self) -> Fixed {
        self.settle();
        self.frame.downgrade(self.mode);
        self.mode = LatchMode::Sh;
        self
    }

    /// Before EX is released: does the frame hold a page?
    fn settle(&mut self) {
        if std::mem::take(&mut self.unformatted) && !self.frame.is_dirty() {
            self.frame.set_absent();
        }
        if std::mem::take(&mut self.touched) && thread::panicking() {
            let cause = "a thread panicked in the middle of a change of a page";
            self.frame.begin_outage(OfflineCause::text(None, cause));
        }
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        self.settle();
        self.frame.release(self.mode);
    }
}

impl PageReadGuard {
    pub(crate) fn new(fixed: Fixed, id: PageId) -> Self {
        PageReadGuard { fixed, id }
    }

    /// Which page it is.
    pub fn id(&self) -> PageId {
        self.id
    }
}

impl PageWriteGuard {
    pub(crate) fn new(fixed: Fixed, id: PageId) -> Self {
        PageWriteGuard { fixed, id }
    }

    /// Of a page that was zeroed to be formatted.
    pub(crate) fn unformatted(mut fixed: Fixed, id: PageId) -> Self {
        fixed.bytes_mut().fill(0);
        fixed.unformatted = true;
        PageWriteGuard { fixed, id }
    }

    /// Which page it is.
    pub fn id(&self) -> PageId {
        self.id
    }

    pub(crate) fn frame(&self) -> Arc<Frame> {
        Arc::clone(&self.fixed.frame)
    }

    /// The bytes, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut PageBytes {
        self.fixed.bytes_mut()
    }

    /// Announces a change that was logged at `lsn`; the page's header carries that LSN. Call it for
    /// every record, or once with the first and once with the last. `Lsn::ZERO` announces a change
    /// that is not logged.
    pub fn set_dirty(&mut self, lsn: Lsn) {
        self.fixed.unformatted = false;
        self.fixed.frame.set_dirty(lsn);
    }

    /// Announces that the page was formatted by the record at `lsn`: whatever was on it before is
    /// of no interest, to redo either.
    pub fn set_formatted(&mut self, lsn: Lsn) {
        self.fixed.unformatted = false;
        self.fixed.frame.set_formatted(lsn);
    }

    /// Was a change announced that no write of the page has taken along yet? The log from there on
    /// is kept.
    pub fn is_changed(&self) -> bool {
        self.fixed.frame.is_changed()
    }

    /// Keeps the page, to read only.
    pub fn downgrade(self) -> PageReadGuard {
        PageReadGuard::new(self.fixed.downgrade(), self.id)
    }
}

impl Deref for PageReadGuard {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        self.fixed.bytes()
    }
}

impl Deref for PageWriteGuard {
    type Target = PageBytes;

    #[inline]
    fn deref(&self) -> &PageBytes {
        self.fixed.bytes()
    }
}

impl fmt::Debug for PageReadGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageReadGuard{}", self.id)
    }
}

impl fmt::Debug for PageWriteGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageWriteGuard{}", self.id)
    }
}
