//! Accounting of waits, as `sys.dm_os_wait_stats` defines its columns.
//!
//! ```text
//! begin ──── waiting_tasks_count + 1 ──── … parked … ──── signalled ──── runs again: end
//!            └───────────────────────── wait_time ──────────────────────────┘
//!                                                       └─ signal_wait_time ┘
//! ```
//!
//! One cell per wait type, a cache line of its own. A wait costs four relaxed additions, and only
//! tasks that really parked are counted; a park costs a thousand times as much, so the cells are
//! not split by processor.

use std::time::Duration;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Mutex, lock};

use crate::WaitType;

/// Sums per wait type. Shared by all tasks of a server.
#[derive(Debug)]
pub struct Waits {
    cells: Vec<Cell>,
    /// Sums at the last clearing, one per cell.
    cleared: Mutex<Vec<WaitTotals>>,
}

/// A wait that has begun. Only [`end`](Wait::end) adds its time.
#[derive(Debug)]
#[must_use = "a wait that is not ended never adds its time"]
pub struct Wait<'a> {
    cell: &'a Cell,
    begun: Duration,
}

/// One row of `sys.dm_os_wait_stats`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct WaitTotals {
    /// Number of waits begun, ended or not.
    pub waiting_tasks_count: u64,
    /// Time of all waits that have ended, signal time included.
    pub wait_time: Duration,
    /// The longest of them.
    pub max_wait_time: Duration,
    /// From being signalled to running again.
    pub signal_wait_time: Duration,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Cell {
    count: AtomicU64,
    wait_ns: AtomicU64,
    max_ns: AtomicU64,
    signal_ns: AtomicU64,
}

impl Waits {
    /// Counters of all wait types, zero.
    pub fn new() -> Self {
        Waits {
            cells: WaitType::ALL.iter().map(|_| Cell::default()).collect(),
            cleared: Mutex::new(vec![WaitTotals::default(); WaitType::COUNT]),
        }
    }

    /// A task begins to wait at `now`, a time of its clock.
    pub fn begin(&self, wait: WaitType, now: Duration) -> Wait<'_> {
        let cell = &self.cells[wait as usize];
        cell.count.fetch_add(1, Ordering::Relaxed);
        Wait { cell, begun: now }
    }

    /// The sums of one type since the last clearing.
    pub fn totals(&self, wait: WaitType) -> WaitTotals {
        let cleared = lock(&self.cleared)[wait as usize];
        self.cells[wait as usize].read().since(cleared)
    }

    /// The sums of all types since the last clearing, in their order.
    pub fn snapshot(&self) -> Vec<(WaitType, WaitTotals)> {
        let cleared = lock(&self.cleared);
        let rows = WaitType::ALL.iter().zip(&self.cells).zip(cleared.iter());
        rows.map(|((wait, cell), cleared)| (*wait, cell.read().since(*cleared))).collect()
    }

    /// Starts all sums again at zero.
    pub fn clear(&self) {
        let mut cleared = lock(&self.cleared);
        for (cell, cleared) in self.cells.iter().zip(cleared.iter_mut()) {
            // A maximum cannot be subtracted. A wait that ends right now lands before or after;
            // both are true.
            cell.max_ns.store(0, Ordering::Relaxed);
            *cleared = cell.read();
        }
    }
}

impl Default for Waits {
    fn default() -> Self {
        Self::new()
    }
}

impl Wait<'_> {
    /// The task runs again at `now`; it was signalled at `signalled`, when that is known.
    pub fn end(self, now: Duration, signalled: Option<Duration>) {
        let wait_ns = nanos(now.saturating_sub(self.begun));
        self.cell.wait_ns.fetch_add(wait_ns, Ordering::Relaxed);
        self.cell.max_ns.fetch_max(wait_ns, Ordering::Relaxed);
        if let Some(signalled) = signalled {
            // Never more than the wait: the signal may be older than its beginning.
            let signal_ns = nanos(now.saturating_sub(signalled)).min(wait_ns);
            self.cell.signal_ns.fetch_add(signal_ns, Ordering::Relaxed);
        }
    }
}

impl Cell {
    fn read(&self) -> WaitTotals {
        WaitTotals {
            waiting_tasks_count: self.count.load(Ordering::Relaxed),
            wait_time: Duration::from_nanos(self.wait_ns.load(Ordering::Relaxed)),
            max_wait_time: Duration::from_nanos(self.max_ns.load(Ordering::Relaxed)),
            signal_wait_time: Duration::from_nanos(self.signal_ns.load(Ordering::Relaxed)),
        }
    }
}

impl WaitTotals {
    /// The difference to `earlier`; the maximum is kept, it started again at zero.
    fn since(self, earlier: WaitTotals) -> WaitTotals {
        WaitTotals {
            waiting_tasks_count: self.waiting_tasks_count - earlier.waiting_tasks_count,
            wait_time: self.wait_time.saturating_sub(earlier.wait_time),
            max_wait_time: self.max_wait_time,
            signal_wait_time: self.signal_wait_time.saturating_sub(earlier.signal_wait_time),
        }
    }
}

/// 584 years fit.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_wait_counts_when_it_begins_and_adds_time_when_it_ends() {
        let waits = Waits::new();
        let wait = waits.begin(WaitType::WriteLog, MS(10));
        let during = waits.totals(WaitType::WriteLog);
        assert_eq!((during.waiting_tasks_count, during.wait_time), (1, MS(0)));
        wait.end(MS(25), Some(MS(22)));
        waits.begin(WaitType::WriteLog, MS(30)).end(MS(34), None);
        assert_eq!(
            waits.totals(WaitType::WriteLog),
            WaitTotals {
                waiting_tasks_count: 2,
                wait_time: MS(19),
                max_wait_time: MS(15),
                signal_wait_time: MS(3)
            }
        );
        assert_eq!(waits.totals(WaitType::LogBuffer), WaitTotals::default());
    }

    #[test]
    fn clearing_loses_no_wait_that_is_under_way() {
        let waits = Waits::new();
        waits.begin(WaitType::LockX, MS(0)).end(MS(50), None);
        let wait = waits.begin(WaitType::LockX, MS(60));
        waits.clear();
        assert_eq!(waits.totals(WaitType::LockX), WaitTotals::default());
        wait.end(MS(67), None);
        let after = waits.totals(WaitType::LockX);
        assert_eq!(
            (after.waiting_tasks_count, after.wait_time, after.max_wait_time),
            (0, MS(7), MS(7))
        );
    }

    #[test]
    fn a_clock_that_disagrees_does_no_harm() {
        let waits = Waits::new();
        waits.begin(WaitType::LockS, MS(10)).end(MS(5), Some(MS(1)));
        waits.begin(WaitType::LockS, MS(10)).end(MS(12), Some(MS(1)));
        let totals = waits.totals(WaitType::LockS);
        assert_eq!((totals.wait_time, totals.signal_wait_time), (MS(2), MS(2)));
        let snapshot = waits.snapshot();
        assert_eq!(snapshot.len(), WaitType::COUNT);
        assert_eq!(snapshot[WaitType::LockS as usize], (WaitType::LockS, totals));
    }
}
