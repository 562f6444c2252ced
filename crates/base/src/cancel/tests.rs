use std::time::Duration;

use super::*;
use crate::sync::atomic::AtomicU64;
use crate::sync::thread;

/// Counts its calls.
#[derive(Default)]
struct Calls(AtomicU64);

impl Calls {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Calls {
    fn wake(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn cancel_stays_until_it_is_cleared() {
    let cancellation = Cancellation::new();
    assert_eq!((cancellation.is_cancelled(), cancellation.verify()), (false, Ok(())));
    cancellation.cancel();
    cancellation.cancel();
    assert_eq!((cancellation.is_cancelled(), cancellation.verify()), (true, Err(Cancelled)));
    cancellation.clear();
    assert_eq!(cancellation.verify(), Ok(()));
    assert_eq!(cancellation.sleep(Duration::from_micros(1)), Ok(()));
}

#[test]
fn cancel_calls_registered_wakers() {
    let cancellation = Cancellation::new();
    let first = Arc::new(Calls::default());
    let second = Arc::new(Calls::default());
    let registration = cancellation.register(first.clone());
    let other = cancellation.register(second.clone());
    cancellation.cancel();
    assert_eq!((first.count(), second.count()), (1, 1));
    drop(registration);
    cancellation.cancel();
    assert_eq!((first.count(), second.count()), (1, 2));
    drop(other);
    assert!(lock(&cancellation.wakers).is_empty());
}

#[test]
fn cancelled_before_registration_wakes_at_once() {
    let cancellation = Cancellation::new();
    cancellation.cancel();
    let calls = Arc::new(Calls::default());
    let _registration = cancellation.register(calls.clone());
    assert_eq!(calls.count(), 1);
}

#[test]
fn waker_registered_twice_stays_until_both_are_dropped() {
    let cancellation = Cancellation::new();
    let calls = Arc::new(Calls::default());
    let first = cancellation.register(calls.clone());
    let second = cancellation.register(calls.clone());
    drop(first);
    cancellation.cancel();
    assert_eq!(calls.count(), 1);
    drop(second);
    cancellation.cancel();
    assert_eq!(calls.count(), 1);
}

#[test]
fn sleep_ends_with_a_cancel() {
    let cancellation = Cancellation::new();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| cancellation.sleep(Duration::from_secs(600)));
        while lock(&cancellation.wakers).is_empty() {
            thread::yield_now();
        }
        cancellation.cancel();
        assert_eq!(sleeper.join().unwrap(), Err(Cancelled));
    });
    assert_eq!(cancellation.sleep(Duration::from_secs(600)), Err(Cancelled), "before the sleep");
    assert!(lock(&cancellation.wakers).is_empty());
}
