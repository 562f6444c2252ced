//! Locks between real threads: waits, timeouts, deadlocks, fairness.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_base::{HobtId, XactId};
use extentdb_telemetry::{WaitType, Waits};
use extentdb_txn::lock::report::{DeadlockObserver, DeadlockReport};
use extentdb_txn::lock::{
    LockError, LockManager, LockMode, LockRequest, LockStatus, Resource, Timeout,
};

struct Bench {
    manager: LockManager,
    waits: Arc<Waits>,
    reports: Arc<Reports>,
}

/// Deadlocks that were heard of.
#[derive(Default, Debug)]
struct Reports(Mutex<Vec<DeadlockReport>>);

impl DeadlockObserver for Reports {
    fn deadlock(&self, report: &DeadlockReport) {
        self.0.lock().unwrap().push(report.clone());
    }
}

fn bench() -> Bench {
    let waits = Arc::new(Waits::new());
    let reports = Arc::new(Reports::default());
    let manager = LockManager::new(Arc::clone(&waits), Arc::new(SystemClock::new()));
    assert!(manager.observe(reports.clone()) && !manager.observe(Arc::new(Reports::default())));
    Bench { manager, waits, reports }
}

fn owner(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

fn key(number: u64) -> Resource {
    Resource::Key(HobtId(1), number)
}

impl Bench {
    fn take(&self, number: u32, resource: u64, mode: LockMode) -> Result<LockMode, LockError> {
        self.manager.acquire(
            LockRequest::new(owner(number), key(resource), mode).costing(u64::from(number)),
        )
    }

    fn waiting(&self) -> usize {
        self.manager.locks().iter().filter(|row| row.status != LockStatus::Grant).count()
    }

    fn until_waiting(&self, number: usize) {
        until(|| self.waiting() == number);
    }
}

/// Waits for what is sure to come: a failure says so instead of a test that never ends.
fn until(is_so: impl Fn() -> bool) {
    let clock = SystemClock::new();
    let begun = clock.monotonic();
    while !is_so() {
        assert!(
            clock.monotonic().saturating_sub(begun) < Duration::from_secs(60),
            "it did not come within a minute"
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_wait_ends_when_the_lock_is_given_back() {
    let bench = bench();
    bench.take(1, 5, LockMode::X).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| bench.take(2, 5, LockMode::S));
        bench.until_waiting(1);
        bench.manager.release(owner(1), key(5));
        assert_eq!(waiter.join().unwrap(), Ok(LockMode::S));
    });
    let totals = bench.waits.totals(WaitType::LockS);
    assert_eq!(totals.waiting_tasks_count, 1);
    assert!(
        totals.wait_time >= totals.signal_wait_time && totals.max_wait_time == totals.wait_time
    );
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    let bench = bench();
    bench.take(1, 5, LockMode::X).unwrap();
    let request = LockRequest::new(owner(2), key(5), LockMode::U);
    let refused = LockError::Timeout { resource: key(5), mode: LockMode::U };
    assert_eq!(bench.manager.acquire(request.within(Timeout::NoWait)), Err(refused.clone()));
    assert_eq!(
        bench.waits.totals(WaitType::LockU).waiting_tasks_count,
        0,
        "no wait, nothing counted"
    );
    let limit = Duration::from_millis(20);
    assert_eq!(bench.manager.acquire(request.within(Timeout::After(limit))), Err(refused));
    let totals = bench.waits.totals(WaitType::LockU);
    assert!(totals.waiting_tasks_count == 1 && totals.wait_time >= limit, "{totals:?}");
    assert_eq!(
        (bench.manager.stats().timeouts, bench.manager.locks().len()),
        (2, 1),
        "nothing is left of it"
    );
    // A withdrawn request lets those after it pass.
    bench.manager.release_all(owner(1));
    bench.take(1, 5, LockMode::S).unwrap();
    std::thread::scope(|scope| {
        let limited = scope.spawn(|| {
            bench.manager.acquire(
                LockRequest::new(owner(2), key(5), LockMode::X).within(Timeout::After(limit)),
            )
        });
        // On a busy machine it may time out before it is observed.
        until(|| bench.waiting() == 1 || limited.is_finished());
        let reader = scope.spawn(|| bench.take(3, 5, LockMode::S));
        assert!(limited.join().unwrap().is_err());
        assert_eq!(reader.join().unwrap(), Ok(LockMode::S));
    });
}

#[test]
fn of_two_owners_in_a_deadlock_the_cheaper_is_the_victim() {
    let bench = bench();
    bench.take(1, 1, LockMode::X).unwrap();
    bench.take(2, 2, LockMode::X).unwrap();
    std::thread::scope(|scope| {
        // Owner 1 is cheaper, although 2 closes the cycle.
        let cheap = scope.spawn(|| {
            let outcome = bench.take(1, 2, LockMode::X);
            bench.manager.release_all(owner(1));
            outcome
        });
        bench.until_waiting(1);
        assert_eq!(bench.take(2, 1, LockMode::S), Ok(LockMode::S));
        match cheap.join().unwrap() {
            Err(LockError::Deadlock { mut cycle, resource, .. }) => {
                cycle.sort();
                assert_eq!((cycle, resource), (vec![owner(1), owner(2)], key(2)));
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(bench.manager.stats().deadlocks, 1);
}

#[test]
fn a_low_priority_gives_way_whatever_it_costs_and_the_deadlock_is_reported() {
    let bench = bench();
    let ask = |number: u32, resource, mode, priority| {
        let request =
            LockRequest::new(owner(number), key(resource), mode).costing(u64::from(number) * 100);
        bench.manager.acquire(request.of_priority(priority))
    };
    bench.take(1, 1, LockMode::X).unwrap();
    bench.take(2, 2, LockMode::U).unwrap();
    bench.take(3, 2, LockMode::S).unwrap();
    std::thread::scope(|scope| {
        let low = scope.spawn(|| {
            let outcome = ask(2, 1, LockMode::S, -5);
            bench.manager.release_all(owner(2));
            outcome
        });
        bench.until_waiting(1);
        let pause = Duration::from_millis(5);
        std::thread::sleep(pause);
        bench.manager.release_all(owner(3));
        assert_eq!(ask(1, 2, LockMode::X, -4), Ok(LockMode::X));
        assert!(matches!(low.join().unwrap(), Err(LockError::Deadlock { .. })));
        let reports = bench.reports.0.lock().unwrap();
        let [report] = &reports[..] else { panic!("{reports:?}") };
        let [closing, waiting] = &report.nodes[..] else { panic!("{report:?}") };
        assert_eq!(report.victim, owner(2));
        assert_eq!((closing.request.owner, closing.request.resource), (owner(1), key(2)));
        assert_eq!((closing.blocker.owner, closing.blocker.mode), (owner(2), LockMode::U));
        assert_eq!((waiting.request.priority, waiting.request.cost), (-5, 200));
        assert_eq!((waiting.request.mode, waiting.granted), (LockMode::S, LockMode::X));
        assert!(waiting.wait_time >= pause && closing.wait_time < waiting.wait_time, "{report:?}");
        assert_eq!(report.held_by(owner(1)).collect::<Vec<_>>(), [waiting]);
    });
}

#[test]
fn two_readers_who_both_want_to_write_are_a_deadlock() {
    let bench = bench();
    bench.take(1, 1, LockMode::S).unwrap();
    bench.take(2, 1, LockMode::S).unwrap();
    std::thread::scope(|scope| {
        let expensive = scope.spawn(|| bench.take(2, 1, LockMode::X));
        bench.until_waiting(1);
        assert!(matches!(bench.take(1, 1, LockMode::X), Err(LockError::Deadlock { .. })));
        bench.manager.release_all(owner(1));
        assert_eq!(expensive.join().unwrap(), Ok(LockMode::X));
    });
}

#[test]
fn two_who_read_a_range_and_then_insert_into_it_are_a_deadlock() {
    let bench = bench();
    bench.take(1, 5, LockMode::RsS).unwrap();
    bench.take(2, 5, LockMode::RsS).unwrap();
    std::thread::scope(|scope| {
        let expensive = scope.spawn(|| bench.take(2, 5, LockMode::RiN));
        bench.until_waiting(1);
        assert!(matches!(bench.take(1, 5, LockMode::RiN), Err(LockError::Deadlock { .. })));
        bench.manager.release_all(owner(1));
        assert_eq!(expensive.join().unwrap(), Ok(LockMode::RxS));
    });
    assert_eq!(bench.waits.totals(WaitType::LockRinNl).waiting_tasks_count, 2);
}

#[test]
fn an_insert_waits_for_who_has_read_the_range_and_not_for_who_changes_the_key() {
    let bench = bench();
    let end = Resource::end_of(HobtId(1));
    let ask = |number, mode, timeout| {
        bench.manager.acquire(LockRequest::new(owner(number), end, mode).within(timeout))
    };
    ask(1, LockMode::X, Timeout::NoWait).unwrap();
    assert_eq!(ask(2, LockMode::RiN, Timeout::NoWait), Ok(LockMode::RiN));
    bench.manager.release_all(owner(1));
    bench.manager.release_all(owner(2));
    ask(1, LockMode::RsS, Timeout::NoWait).unwrap();
    std::thread::scope(|scope| {
        let insert = scope.spawn(|| ask(2, LockMode::RiN, Timeout::Infinite));
        bench.until_waiting(1);
        bench.manager.release_all(owner(1));
        assert_eq!(insert.join().unwrap(), Ok(LockMode::RiN));
    });
}

#[test]
fn of_many_readers_who_all_want_to_write_one_gets_through() {
    let bench = bench();
    (1..=5).for_each(|number| assert_eq!(bench.take(number, 1, LockMode::S), Ok(LockMode::S)));
    let done = std::thread::scope(|scope| {
        let write = |number| {
            let bench = &bench;
            scope.spawn(move || {
                let outcome = bench.take(number, 1, LockMode::X);
                bench.manager.release_all(owner(number));
                outcome.is_ok()
            })
        };
        let writers: Vec<_> = (1..=5).map(write).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).filter(|done| *done).count()
    });
    // A request after the others have ended is no victim.
    assert!(done >= 1 && bench.manager.stats().deadlocks == 5 - done as u64, "{done}");
    assert!(bench.manager.locks().is_empty());
}

#[test]
fn a_cycle_of_three_is_a_deadlock() {
    let bench = bench();
    for number in 1..=3 {
        bench.take(number, u64::from(number), LockMode::X).unwrap();
    }
    std::thread::scope(|scope| {
        let run = |number: u32, wanted: u64| {
            let bench = &bench;
            scope.spawn(move || {
                let outcome = bench.take(number, wanted, LockMode::X);
                bench.manager.release_all(owner(number));
                outcome
            })
        };
        let second = run(2, 3);
        bench.until_waiting(1);
        let third = run(3, 1);
        bench.until_waiting(2);
        let first = run(1, 2);
        assert!(
            matches!(first.join().unwrap(), Err(LockError::Deadlock { cycle, .. }) if cycle.len() == 3)
        );
        assert_eq!(
            (second.join().unwrap(), third.join().unwrap()),
            (Ok(LockMode::X), Ok(LockMode::X))
        );
    });
    assert_eq!(bench.manager.stats().deadlocks, 1);
    assert!(bench.manager.locks().is_empty());
}

#[test]
fn requests_are_granted_in_order_of_arrival() {
    let bench = bench();
    bench.take(100, 1, LockMode::X).unwrap();
    let order = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..8 {
            let bench = &bench;
            let order = &order;
            scope.spawn(move || {
                bench.take(number, 1, LockMode::X).unwrap();
                order.lock().unwrap().push(number);
                bench.manager.release_all(owner(number));
            });
            bench.until_waiting(number as usize + 1);
        }
        bench.manager.release_all(owner(100));
    });
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// Moves amounts between accounts under X locks; `ordered` takes the smaller account first. Returns
/// the deadlocks.
fn bank(ordered: bool, workers: u32, transfers: u32) -> u64 {
    let bench = bench();
    let accounts: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(1_000_000)).collect();
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let bench = &bench;
            let accounts = &accounts;
            scope.spawn(move || {
                let mut rng = SplitMix64::new(u64::from(worker));
                let mut done = 0;
                while done < transfers {
                    let mut from = rng.below(16);
                    let mut to = rng.below(16);
                    if ordered && from > to {
                        (from, to) = (to, from);
                    }
                    let outcome = bench.take(worker, from, LockMode::X).and_then(|_| {
                        if rng.below(4) == 0 {
                            // Lets other threads run in between, so that cycles may close.
                            std::thread::yield_now();
                        }
                        bench.take(worker, to, LockMode::X)
                    });
                    match outcome {
                        Ok(_) => {
                            // A load and a store: if two owners were in, an amount would be lost.
                            for (account, change) in [(from, -1i64), (to, 1)] {
                                let balance = accounts[account as usize].load(Ordering::Relaxed);
                                std::hint::spin_loop();
                                accounts[account as usize]
                                    .store(balance.wrapping_add_signed(change), Ordering::Relaxed);
                            }
                            done += 1;
                        }
                        Err(LockError::Deadlock { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                    bench.manager.release_all(owner(worker));
                }
            });
        }
    });
    assert_eq!(
        accounts.iter().map(|account| account.load(Ordering::Relaxed)).sum::<u64>(),
        16_000_000
    );
    assert!(bench.manager.locks().is_empty());
    bench.manager.stats().deadlocks
}

#[test]
fn an_order_of_locking_never_gives_a_deadlock() {
    assert_eq!(bank(true, 6, 3_000), 0);
}

#[test]
fn without_an_order_deadlocks_are_broken_and_nothing_is_lost() {
    assert!(bank(false, 6, 3_000) > 0);
}
