//! Latches: protection of a page's bytes for an instant.
//!
//! ```text
//!      KP  SH UP  EX  DT          KP  keep: the page must not be evicted
//! KP    y   y  y   y   -          SH  share: read the bytes
//! SH    y   y  y   -   -          UP  update: read, and keep other writers out (pages being
//!                                     written)
//! UP    y   y  -   -   -          EX  exclusive: change the bytes
//! EX    y   -  -   -   -          DT  destroy: reuse the frame for another page
//! DT    -   -  -   -   -
//!
//! state word  | KP holders: 20 bits | SH holders: 20 bits | UP | EX | DT | QUEUED |
//! ```
//!
//! Invariants
//! - Without waiters: one compare-and-swap acquires a latch, one subtraction releases it.
//! - With waiters: QUEUED is set, the fast path is closed, and holders change only by release or by
//!   grant from the front of the queue. So the order is first come, first served; compatible
//!   neighbours in the queue are granted together.
//! - QUEUED is set and cleared only under the queue's mutex; when it is clear, the queue is empty.
//! - A release that leaves QUEUED set grants. The one who set QUEUED looked at the holders *after*
//!   setting it, so either it saw them gone or they see QUEUED: nobody sleeps unseen.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Condvar, Mutex, lock, wait};
use extentdb_telemetry::{WaitType, Waits};

/// How strongly a page is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LatchMode {
    /// Keep: the page must not be evicted.
    Kp,
    /// Shared: any number of readers.
    Sh,
    /// Update: read, and keep other writers out.
    Up,
    /// Exclusive: one owner, which may change the bytes.
    Ex,
    /// Destroy: give the frame to another page.
    Dt,
}

/// Where waits for latches are counted, and by which clock.
#[derive(Clone)]
pub struct WaitAccounts {
    /// Where waits are counted.
    pub waits: Arc<Waits>,
    /// Measures how long a wait takes.
    pub clock: Arc<dyn Clock>,
}

/// A latch; see the module for its rules. It has no guards of its own: an acquired mode must be
/// released in that mode.
#[derive(Debug)]
pub struct Latch {
    state: AtomicU64,
    queue: Mutex<VecDeque<Arc<Waiter>>>,
}

#[derive(Debug)]
struct Waiter {
    mode: LatchMode,
    /// When it was granted.
    granted: Mutex<Option<Duration>>,
    wake: Condvar,
}

const KP_ONE: u64 = 1;
const SH_ONE: u64 = 1 << 20;
const SH_HOLDERS: u64 = ((1 << 20) - 1) << 20;
const UP: u64 = 1 << 40;
const EX: u64 = 1 << 41;
const DT: u64 = 1 << 42;
const QUEUED: u64 = 1 << 43;
const _: () = assert!(
    SH_HOLDERS & (SH_ONE - 1) == 0 && SH_HOLDERS < UP,
    "the counts of KP and SH holders do not run into one another, nor into the bits"
);
/// Turns of looking again before a task parks: about the time that an SH holder needs to read a
/// record.
const SPINS: u32 = if cfg!(shuttle) { 0 } else { 40 };

impl LatchMode {
    /// All modes, in the order of the table.
    pub const ALL: [LatchMode; 5] =
        [LatchMode::Kp, LatchMode::Sh, LatchMode::Up, LatchMode::Ex, LatchMode::Dt];

    /// What one holder adds to the state word.
    const fn unit(self) -> u64 {
        match self {
            LatchMode::Kp => KP_ONE,
            LatchMode::Sh => SH_ONE,
            LatchMode::Up => UP,
            LatchMode::Ex => EX,
            LatchMode::Dt => DT,
        }
    }

    /// The bits of the state word that count its holders.
    const fn holders(self) -> u64 {
        match self {
            LatchMode::Kp => SH_ONE - 1,
            LatchMode::Sh => SH_HOLDERS,
            LatchMode::Up | LatchMode::Ex | LatchMode::Dt => self.unit(),
        }
    }

    /// The bits of the state word that keep this mode out.
    const fn blocked_by(self) -> u64 {
        match self {
            LatchMode::Kp => DT,
            LatchMode::Sh => EX | DT,
            LatchMode::Up => UP | EX | DT,
            LatchMode::Ex => SH_HOLDERS | UP | EX | DT,
            LatchMode::Dt => QUEUED - 1,
        }
    }

    /// The wait type of a page latch; `in_io` while the page is being read.
    pub const fn wait_type(self, in_io: bool) -> WaitType {
        match (self, in_io) {
            (LatchMode::Kp, false) => WaitType::PageLatchKp,
            (LatchMode::Sh, false) => WaitType::PageLatchSh,
            (LatchMode::Up, false) => WaitType::PageLatchUp,
            (LatchMode::Ex, false) => WaitType::PageLatchEx,
            (LatchMode::Dt, false) => WaitType::PageLatchDt,
            (LatchMode::Kp, true) => WaitType::PageIoLatchKp,
            (LatchMode::Sh, true) => WaitType::PageIoLatchSh,
            (LatchMode::Up, true) => WaitType::PageIoLatchUp,
            (LatchMode::Ex, true) => WaitType::PageIoLatchEx,
            (LatchMode::Dt, true) => WaitType::PageIoLatchDt,
        }
    }
}

impl Latch {
    /// A latch that is not held.
    pub fn new() -> Self {
        Latch { state: AtomicU64::new(0), queue: Mutex::new(VecDeque::new()) }
    }

    /// Acquires the latch if that needs no waiting; never overtakes a waiter.
    #[inline]
    pub fn try_acquire(&self, mode: LatchMode) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & (mode.blocked_by() | QUEUED) == 0 {
            let taken = state + mode.unit();
            match self.state.compare_exchange_weak(
                state,
                taken,
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Acquires the latch. `in_io` is called when the thread has to wait: is the page being read?
    #[inline]
    pub fn acquire(&self, mode: LatchMode, accounts: &WaitAccounts, in_io: impl FnOnce() -> bool) {
        if !self.try_acquire(mode) && !self.spin(mode) {
            self.park(mode, accounts, in_io());
        }
    }

    /// Gives the latch back.
    #[inline]
    pub fn release(&self, mode: LatchMode, accounts: &WaitAccounts) {
        let before = self.state.fetch_sub(mode.unit(), Ordering::Release);
        debug_assert!(before & mode.holders() != 0, "not held in {mode:?}");
        if before & QUEUED != 0 {
            self.grant(accounts);
        }
    }

    /// Downgrades a held EX or UP latch to SH without releasing it.
    pub fn downgrade(&self, from: LatchMode, accounts: &WaitAccounts) {
        assert!(matches!(from, LatchMode::Ex | LatchMode::Up), "{from:?} does not include SH");
        let before = self.state.fetch_add(SH_ONE.wrapping_sub(from.unit()), Ordering::Release);
        if before & QUEUED != 0 {
            self.grant(accounts);
        }
    }

    /// True while it is held in EX or DT.
    pub fn is_exclusive(&self) -> bool {
        self.state.load(Ordering::Acquire) & (EX | DT) != 0
    }

    /// True while it has waiters.
    pub fn has_waiters(&self) -> bool {
        self.state.load(Ordering::Acquire) & QUEUED != 0
    }

    fn spin(&self, mode: LatchMode) -> bool {
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if self.try_acquire(mode) {
                return true;
            }
        }
        false
    }

    #[cold]
    fn park(&self, mode: LatchMode, accounts: &WaitAccounts, in_io: bool) {
        let Some(waiter) = self.enqueue(mode) else { return };
        let account = accounts.waits.begin(mode.wait_type(in_io), accounts.clock.monotonic());
        let mut granted = lock(&waiter.granted);
        let signalled = loop {
            match *granted {
                Some(at) => break at,
                None => granted = wait(&waiter.wake, granted),
            }
        };
        account.end(accounts.clock.monotonic(), Some(signalled));
    }

    /// Joins the queue, unless the latch was released meanwhile and could be acquired.
    fn enqueue(&self, mode: LatchMode) -> Option<Arc<Waiter>> {
        let mut queue = lock(&self.queue);
        let state = self.state.fetch_or(QUEUED, Ordering::Acquire);
        if queue.is_empty() && state & mode.blocked_by() == 0 {
            // With QUEUED set only releases change the holders.
            self.state.fetch_add(mode.unit().wrapping_sub(QUEUED), Ordering::Acquire);
            return None;
        }
        let waiter = Arc::new(Waiter { mode, granted: Mutex::new(None), wake: Condvar::new() });
        queue.push_back(Arc::clone(&waiter));
        Some(waiter)
    }

    /// Grants from the front of the queue as far as the holders permit.
    #[cold]
    fn grant(&self, accounts: &WaitAccounts) {
        let mut queue = lock(&self.queue);
        while let Some(front) = queue.front() {
            // Acquire: the writes of the releasers must be visible to the waiters that are granted
            // here, through their mutex.
            if self.state.load(Ordering::Acquire) & front.mode.blocked_by() != 0 {
                return;
            }
            self.state.fetch_add(front.mode.unit(), Ordering::Acquire);
            *lock(&front.granted) = Some(accounts.clock.monotonic());
            front.wake.notify_one();
            queue.pop_front();
        }
        self.state.fetch_and(!QUEUED, Ordering::Relaxed);
    }
}

impl Default for Latch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for WaitAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WaitAccounts")
    }
}

#[cfg(test)]
mod tests;
