//! Speed of locks that nobody contends for. Ignored: it measures, and asserts nothing.
//!
//! `cargo test --release -p extentdb-txn --test lock_speed -- --ignored --nocapture`

use std::sync::Arc;
use std::time::Duration;

use extentdb_base::env::{Clock, SystemClock};
use extentdb_base::{DatabaseId, HobtId, ObjectId, OwnerId, XactId};
use extentdb_telemetry::Waits;
use extentdb_txn::lock::{DatabaseLocks, LockManager, LockMode, LockOwner, LockRequest, Resource};

const TABLE: ObjectId = ObjectId(7);
const ROUNDS: usize = 15;

fn owner(number: u32) -> LockOwner {
    LockOwner {
        id: OwnerId(u64::from(number)),
        xact: XactId { high: 0, low: number },
    }
}

fn key(number: u64) -> Resource {
    Resource::Key(HobtId(1), number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The least time of an operation over all rounds, in nanoseconds.
fn least_ns(operations: u32, mut work: impl FnMut(u32)) -> f64 {
    let clock = SystemClock::new();
    let rounds = (0..ROUNDS).map(|_| {
        let begun = clock.monotonic();
        (0..operations).for_each(&mut work);
        clock.monotonic().saturating_sub(begun)
    });
    let least = rounds.min().unwrap_or(Duration::ZERO);
    least.as_nanos() as f64 / f64::from(operations)
}

#[test]
#[ignore = "a measurement"]
fn uncontended_locks() {
    let clock = Arc::new(SystemClock::new());
    let manager = Arc::new(LockManager::new(Arc::new(Waits::new()), clock));
    let locks = DatabaseLocks::new(manager, DatabaseId(5));
    let one = owner(1);
    locks.acquire(LockRequest::new(one, Resource::Object(TABLE), LockMode::Is)).unwrap();
    let read = least_ns(200_000, |number| {
        let resource = key(u64::from(number));
        locks.acquire(LockRequest::new(one, resource, LockMode::S).of_table(TABLE)).unwrap();
        locks.release(one.id, resource);
    });
    println!("row lock, acquired and released:           {read:8.1} ns");
    let transaction = least_ns(20_000, |number| {
        let owner = owner(number + 10);
        locks.acquire(LockRequest::new(owner, Resource::Object(TABLE), LockMode::Ix)).unwrap();
        for row in 0..10 {
            let resource = key(u64::from(number) * 10 + row);
            locks.acquire(LockRequest::new(owner, resource, LockMode::X).of_table(TABLE)).unwrap();
        }
        locks.release_all(owner.id);
    });
    println!("transaction with a table and ten row locks: {transaction:8.1} ns");
    let small = least_ns(100_000, |number| {
        let owner = owner(number + 10);
        locks.acquire(LockRequest::new(owner, Resource::Object(TABLE), LockMode::Ix)).unwrap();
        let resource = key(u64::from(number));
        locks.acquire(LockRequest::new(owner, resource, LockMode::X).of_table(TABLE)).unwrap();
        locks.release_all(owner.id);
    });
    println!("transaction with a table and one row lock:  {small:8.1} ns");
    let many = least_ns(20, |number| {
        let owner = owner(number + 10);
        for row in 0..4_000 {
            let resource = key(row);
            locks.acquire(LockRequest::new(owner, resource, LockMode::X).of_table(TABLE)).unwrap();
        }
        locks.release_all(owner.id);
    });
    println!("transaction with 4,000 row locks, per lock: {:8.1} ns", many / 4_000.0);
}
