//! Lock waits under schedules that follow from a seed: `RUSTFLAGS="--cfg shuttle"`, and a target
//! folder of its own.
//!
//! A waiter that is not woken is a deadlock, which shuttle reports with the schedule that led to
//! it. Timeouts end after a few turns of other threads: shuttle knows no time.
#![cfg(shuttle)]

use std::time::Duration;

use extentdb_base::cancel::Cancellation;
use extentdb_base::env::Clock;
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{DatabaseId, HobtId, OwnerId, SessionId, XactId};
use extentdb_telemetry::{TaskId, Tasks, Waits};
use extentdb_txn::lock::{
    DatabaseLocks, LockError, LockManager, LockMode, LockOwner, LockRequest, Resource, Timeout,
};

/// Time stands still.
struct NoTime;

impl Clock for NoTime {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn since_epoch(&self) -> Duration {
        Duration::ZERO
    }
}

/// Schedules per test: a fixed number of random ones, and as many with few, well placed switches
/// (PCT).
fn explore(test: impl Fn() + Clone + Send + Sync + 'static) {
    shuttle::check_random(test.clone(), 1_000);
    shuttle::check_pct(test, 1_000, 3);
}

fn manager() -> Arc<LockManager> {
    Arc::new(LockManager::new(Arc::new(Waits::new()), Arc::new(NoTime)))
}

fn owner(number: u32) -> LockOwner {
    LockOwner {
        id: OwnerId(u64::from(number)),
        xact: XactId { high: 0, low: number },
    }
}

fn exclusive(number: u32, row: u64) -> LockRequest {
    LockRequest::new(owner(number), Resource::Key(HobtId(1), row), LockMode::X)
}

/// Nothing is held and nobody waits.
fn assert_empty(manager: &LockManager) {
    assert_eq!(manager.locks(), []);
    assert_eq!(manager.waits(), []);
}

/// Owner 2 waits for a row of owner 1, in a thread of its own; gives up its locks at the end.
fn waiter(
    locks: &DatabaseLocks,
    cancellation: &Arc<Cancellation>,
    timeout: Timeout,
) -> thread::JoinHandle<Result<LockMode, LockError>> {
    let locks = locks.clone();
    let cancellation = cancellation.clone();
    thread::spawn(move || {
        let request = exclusive(2, 5).within(timeout);
        let outcome = locks.acquire_cancellable(request, &cancellation);
        let is_held = locks.held(owner(2).id, request.resource).is_some();
        assert_eq!(outcome.is_ok(), is_held, "{outcome:?}");
        locks.release_all(owner(2).id);
        outcome
    })
}

#[test]
fn cancel_against_a_grant_ends_the_wait_in_one_of_both_ways() {
    explore(|| {
        let manager = manager();
        let locks = DatabaseLocks::new(manager.clone(), DatabaseId(5));
        locks.acquire(exclusive(1, 5)).unwrap();
        let cancellation = Arc::new(Cancellation::new());
        let waiter = waiter(&locks, &cancellation, Timeout::Infinite);
        let holder = {
            let locks = locks.clone();
            thread::spawn(move || locks.release_all(owner(1).id))
        };
        cancellation.cancel();
        let outcome = waiter.join().unwrap();
        assert!(matches!(outcome, Ok(_) | Err(LockError::Cancelled { .. })), "{outcome:?}");
        holder.join().unwrap();
        assert_eq!(manager.stats().cancelled, u64::from(outcome.is_err()));
        assert_empty(&manager);
    });
}

#[test]
fn cancel_alone_always_ends_the_wait() {
    explore(|| {
        let manager = manager();
        let locks = DatabaseLocks::new(manager.clone(), DatabaseId(5));
        locks.acquire(exclusive(1, 5)).unwrap();
        let cancellation = Arc::new(Cancellation::new());
        let waiter = waiter(&locks, &cancellation, Timeout::Infinite);
        let second = {
            let cancellation = cancellation.clone();
            thread::spawn(move || cancellation.cancel())
        };
        cancellation.cancel();
        let outcome = waiter.join().unwrap();
        assert!(matches!(outcome, Err(LockError::Cancelled { .. })), "{outcome:?}");
        second.join().unwrap();
        // The next statement of the session waits again.
        cancellation.clear();
        let waiter = self::waiter(&locks, &cancellation, Timeout::Infinite);
        locks.release_all(owner(1).id);
        assert_eq!(waiter.join().unwrap(), Ok(LockMode::X));
        assert_empty(&manager);
    });
}

#[test]
fn cancel_against_a_timeout_withdraws_the_request_once() {
    explore(|| {
        let manager = manager();
        let locks = DatabaseLocks::new(manager.clone(), DatabaseId(5));
        locks.acquire(exclusive(1, 5)).unwrap();
        let cancellation = Arc::new(Cancellation::new());
        let waiter = waiter(&locks, &cancellation, Timeout::After(Duration::from_secs(1)));
        cancellation.cancel();
        let outcome = waiter.join().unwrap();
        let is_cancelled = matches!(outcome, Err(LockError::Cancelled { .. }));
        assert!(is_cancelled || matches!(outcome, Err(LockError::Timeout { .. })), "{outcome:?}");
        let stats = manager.stats();
        assert_eq!((stats.cancelled, stats.timeouts), if is_cancelled { (1, 0) } else { (0, 1) });
        assert_eq!(manager.waits(), []);
        locks.release_all(owner(1).id);
        assert_empty(&manager);
    });
}

#[test]
fn cancel_against_a_deadlock_through_two_databases_leaves_one_that_goes_on() {
    explore(|| {
        let manager = manager();
        let first = DatabaseLocks::new(manager.clone(), DatabaseId(5));
        let second = DatabaseLocks::new(manager.clone(), DatabaseId(6));
        let cancellation = Arc::new(Cancellation::new());
        first.acquire(exclusive(1, 5)).unwrap();
        second.acquire(exclusive(2, 5)).unwrap();
        let run =
            |number: u32, wanted: &DatabaseLocks, cancellation: Option<&Arc<Cancellation>>| {
                let wanted = wanted.clone();
                let cancellation = cancellation.cloned();
                thread::spawn(move || {
                    let request = exclusive(number, 5).costing(u64::from(number));
                    let outcome = match cancellation {
                        Some(cancellation) => wanted.acquire_cancellable(request, &cancellation),
                        None => wanted.acquire(request),
                    };
                    wanted.manager().release_all(owner(number).id);
                    outcome
                })
            };
        // The cheaper one is the victim of the deadlock, and the one that is cancelled.
        let one = run(1, &second, Some(&cancellation));
        let two = run(2, &first, None);
        cancellation.cancel();
        let outcome = one.join().unwrap();
        assert_eq!(two.join().unwrap(), Ok(LockMode::X));
        let stats = manager.stats();
        match outcome {
            Ok(_) => assert_eq!((stats.deadlocks, stats.cancelled), (0, 0)),
            Err(LockError::Cancelled { .. }) => {
                assert_eq!((stats.deadlocks, stats.cancelled), (0, 1));
            }
            Err(LockError::Deadlock { .. }) => {
                assert_eq!((stats.deadlocks, stats.cancelled), (1, 0));
            }
            Err(other) => panic!("{other}"),
        }
        assert_empty(&manager);
    });
}

#[test]
fn shown_waits_end_with_the_waits() {
    explore(|| {
        let manager = manager();
        let locks = DatabaseLocks::new(manager.clone(), DatabaseId(5));
        let tasks = Arc::new(Tasks::new());
        locks.acquire(exclusive(1, 5)).unwrap();
        let session = {
            let locks = locks.clone();
            let tasks = tasks.clone();
            thread::spawn(move || {
                let task = tasks.enter(TaskId { session: SessionId(52), context: 0 });
                let _at_work = task.work();
                locks.acquire(exclusive(2, 5)).unwrap();
                assert_eq!(tasks.waiting(), []);
                locks.release_all(owner(2).id);
            })
        };
        for shown in tasks.waiting() {
            assert_eq!(shown.wait.blocker, Some(owner(1).id));
        }
        locks.release_all(owner(1).id);
        session.join().unwrap();
        assert_eq!(tasks.waiting(), []);
        assert_empty(&manager);
    });
}
