//! Cancellation under schedules that follow from a seed: `RUSTFLAGS="--cfg shuttle"`, and a target
//! folder of its own.
//!
//! A cancel that is lost leaves a thread asleep: a deadlock, which shuttle reports with the
//! schedule that led to it.
#![cfg(shuttle)]

use std::time::Duration;

use extentdb_base::cancel::{Cancellation, Cancelled};
use extentdb_base::monitor::{Monitor, WaitEnd};
use extentdb_base::sync::{Arc, thread};

/// Schedules per test: a fixed number of random ones, and as many with few, well placed switches
/// (PCT).
fn explore(test: impl Fn() + Clone + Send + Sync + 'static) {
    shuttle::check_random(test.clone(), 2_000);
    shuttle::check_pct(test, 2_000, 3);
}

#[test]
fn cancel_before_during_or_after_registration_ends_the_wait() {
    explore(|| {
        let cancellation = Arc::new(Cancellation::new());
        let monitor = Arc::new(Monitor::new(false));
        let waiter = {
            let cancellation = cancellation.clone();
            let monitor = monitor.clone();
            thread::spawn(move || {
                monitor.wait_while(Some(&cancellation), None, |is_open| !*is_open).1
            })
        };
        cancellation.cancel();
        assert_eq!(waiter.join().unwrap(), WaitEnd::Cancelled);
    });
}

#[test]
fn cancel_against_a_notification_ends_the_wait_in_one_of_both_ways() {
    explore(|| {
        let cancellation = Arc::new(Cancellation::new());
        let monitor = Arc::new(Monitor::new(false));
        let waiter = {
            let cancellation = cancellation.clone();
            let monitor = monitor.clone();
            thread::spawn(move || {
                let (is_open, end) =
                    monitor.wait_while(Some(&cancellation), None, |is_open| !*is_open);
                assert_eq!(*is_open, end == WaitEnd::Ready);
            })
        };
        let opener = {
            let monitor = monitor.clone();
            thread::spawn(move || {
                *monitor.lock() = true;
                monitor.notify_one();
            })
        };
        cancellation.cancel();
        opener.join().unwrap();
        waiter.join().unwrap();
    });
}

#[test]
fn two_cancels_end_all_waits_of_a_session() {
    explore(|| {
        let cancellation = Arc::new(Cancellation::new());
        let monitor = Arc::new(Monitor::new(()));
        let threads = [0, 1].map(|_| {
            let waiting = cancellation.clone();
            let monitor = monitor.clone();
            let waiter = thread::spawn(move || {
                let end = monitor.wait_while(Some(&waiting), None, |()| true).1;
                assert_eq!(end, WaitEnd::Cancelled);
            });
            let cancelling = cancellation.clone();
            [waiter, thread::spawn(move || cancelling.cancel())]
        });
        threads.into_iter().flatten().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn cancel_after_a_clear_is_not_lost() {
    explore(|| {
        let cancellation = Arc::new(Cancellation::new());
        cancellation.cancel();
        // The session begins its next statement, and tells the one that cancels.
        let begun = Arc::new(Monitor::new(false));
        let session = {
            let cancellation = cancellation.clone();
            let begun = begun.clone();
            thread::spawn(move || {
                cancellation.clear();
                *begun.lock() = true;
                begun.notify_one();
                let waits = Arc::new(Monitor::new(()));
                waits.wait_while(Some(&cancellation), None, |()| true).1
            })
        };
        drop(begun.wait_while(None, None, |begun| !*begun));
        cancellation.cancel();
        assert_eq!(session.join().unwrap(), WaitEnd::Cancelled);
    });
}

#[test]
fn sleep_ends_by_time_or_by_cancel() {
    explore(|| {
        let cancellation = Arc::new(Cancellation::new());
        let sleeper = {
            let cancellation = cancellation.clone();
            thread::spawn(move || cancellation.sleep(Duration::from_secs(1)))
        };
        cancellation.cancel();
        let end = sleeper.join().unwrap();
        assert!(matches!(end, Ok(()) | Err(Cancelled)));
        assert!(cancellation.is_cancelled());
    });
}
