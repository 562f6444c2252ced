use extentdb_base::env::SystemClock;
use extentdb_base::sync::thread;

use super::*;

fn accounts() -> WaitAccounts {
    WaitAccounts {
        waits: Arc::new(Waits::new()),
        clock: Arc::new(SystemClock::new()),
    }
}

/// Waits for a state that other threads bring about.
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[test]
fn modes_are_compatible_as_the_table_says() {
    let table = ["yyyy-", "yyy--", "yy---", "y----", "-----"];
    for (held, row) in LatchMode::ALL.into_iter().zip(table) {
        for (wanted, expected) in LatchMode::ALL.into_iter().zip(row.chars()) {
            let latch = Latch::new();
            assert!(latch.try_acquire(held));
            assert_eq!(latch.try_acquire(wanted), expected == 'y', "{held:?} then {wanted:?}");
        }
    }
}

#[test]
fn a_released_latch_is_as_new() {
    let latch = Latch::new();
    let accounts = accounts();
    for mode in LatchMode::ALL {
        latch.acquire(mode, &accounts, || false);
        latch.release(mode, &accounts);
        assert!(latch.try_acquire(LatchMode::Dt), "after {mode:?}");
        latch.release(LatchMode::Dt, &accounts);
    }
    assert!(accounts.waits.snapshot().iter().all(|(_, totals)| totals.waiting_tasks_count == 0));
}

#[test]
fn latches_are_granted_in_order_and_readers_do_not_overtake_a_writer() {
    let latch = Latch::new();
    let accounts = accounts();
    let order = Mutex::new(Vec::new());
    latch.acquire(LatchMode::Sh, &accounts, || false);
    let queue =
        [LatchMode::Ex, LatchMode::Sh, LatchMode::Sh, LatchMode::Up, LatchMode::Ex, LatchMode::Sh];
    thread::scope(|scope| {
        for (number, mode) in queue.into_iter().enumerate() {
            let latch = &latch;
            let accounts = &accounts;
            let order = &order;
            scope.spawn(move || {
                latch.acquire(mode, accounts, || false);
                lock(order).push(number);
                latch.release(mode, accounts);
            });
            until(|| lock(&latch.queue).len() == number + 1);
            assert!(!latch.try_acquire(LatchMode::Sh), "a reader passed a writer who waits");
        }
        latch.release(LatchMode::Sh, &accounts);
    });
    let order = lock(&order).clone();
    let rank = |number: usize| order.iter().position(|at| *at == number).unwrap();
    // The two readers and the updater are granted together, so their order among each other is
    // open.
    assert!(
        rank(0) == 0 && (1..4).all(|number| rank(number) < rank(4)) && rank(5) == 5,
        "{order:?}"
    );
    assert_eq!(accounts.waits.totals(WaitType::PageLatchEx).waiting_tasks_count, 2);
    assert_eq!(accounts.waits.totals(WaitType::PageLatchSh).waiting_tasks_count, 3);
    assert!(!latch.has_waiters());
}

#[test]
fn a_downgrade_lets_readers_in_and_keeps_writers_out() {
    let latch = Latch::new();
    let accounts = accounts();
    for from in [LatchMode::Ex, LatchMode::Up] {
        latch.acquire(from, &accounts, || false);
        latch.downgrade(from, &accounts);
        assert!(!latch.try_acquire(LatchMode::Ex));
        assert!(latch.try_acquire(LatchMode::Up));
        latch.release(LatchMode::Up, &accounts);
        latch.release(LatchMode::Sh, &accounts);
    }
    latch.acquire(LatchMode::Ex, &accounts, || false);
    thread::scope(|scope| {
        scope.spawn(|| {
            latch.acquire(LatchMode::Sh, &accounts, || true);
            latch.release(LatchMode::Sh, &accounts);
        });
        until(|| latch.has_waiters());
        latch.downgrade(LatchMode::Ex, &accounts);
        // The reader must get in although we still hold SH; the scope ends only then.
    });
    assert_eq!(accounts.waits.totals(WaitType::PageIoLatchSh).waiting_tasks_count, 1);
    assert!(!latch.try_acquire(LatchMode::Ex));
}

#[test]
fn exclusive_holders_exclude_each_other_under_load() {
    /// Two numbers that are equal whenever the latch protects them.
    struct Pair(std::cell::UnsafeCell<[u64; 2]>);
    // SAFETY: the test reaches the numbers only under the latch, whose exclusion is what it tests.
    unsafe impl Sync for Pair {}
    let latch = Latch::new();
    let accounts = accounts();
    let pair = Pair(std::cell::UnsafeCell::new([0; 2]));
    thread::scope(|scope| {
        for worker in 0..4 {
            let latch = &latch;
            let accounts = &accounts;
            let pair = &pair;
            scope.spawn(move || {
                for turn in 0..20_000 {
                    if (turn + worker) % 4 == 0 {
                        latch.acquire(LatchMode::Ex, accounts, || false);
                        // SAFETY: EX is held.
                        let both = unsafe { &mut *pair.0.get() };
                        both[0] += 1;
                        both[1] += 1;
                        latch.release(LatchMode::Ex, accounts);
                    } else {
                        let mode = if turn % 16 == 1 { LatchMode::Up } else { LatchMode::Sh };
                        latch.acquire(mode, accounts, || false);
                        // SAFETY: SH or UP is held.
                        let both = unsafe { *pair.0.get() };
                        assert_eq!(both[0], both[1]);
                        latch.release(mode, accounts);
                    }
                }
            });
        }
    });
    assert_eq!(pair.0.into_inner(), [20_000; 2]);
    assert!(latch.try_acquire(LatchMode::Dt), "somebody is still counted");
}
