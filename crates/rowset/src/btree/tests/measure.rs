//! How fast a tree is with several threads: figures to be looked at, nothing is asserted of them.
//!
//! `cargo test --release -p extentdb-rowset measure -- --ignored --nocapture`

use extentdb_base::env::{Clock, Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::thread;

use super::bench::{Bench, Setup, bytes};

/// Operations of one measurement, all threads together.
const OPERATIONS: u64 = 200_000;
/// Inserts of a transaction.
const BATCH: usize = 50;
const VALUE: [u8; 40] = [7; 40];

/// Which keys come one after the other.
#[derive(Clone, Copy)]
enum Order {
    Ascending,
    Random,
}

fn key(number: u64, order: Order) -> [u8; 4] {
    match order {
        Order::Ascending => (number as i32).to_le_bytes(),
        // Odd, so that no two numbers meet.
        Order::Random => (number as u32).wrapping_mul(0x9e37_79b1).to_le_bytes(),
    }
}

fn bench() -> Bench {
    Bench::with(&Setup { has_numbers: true, frames: 16_000, ..Setup::of(true) })
}

/// Hands the numbers below `OPERATIONS` out to threads, in runs; operations per second.
fn run(threads: usize, work: impl Fn(std::ops::Range<u64>) + Sync) -> u64 {
    let (clock, next) = (SystemClock::new(), AtomicU64::new(0));
    let begun = clock.monotonic();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let from = next.fetch_add(BATCH as u64, Ordering::Relaxed);
                    if from >= OPERATIONS {
                        break;
                    }
                    work(from..from + BATCH as u64);
                }
            });
        }
    });
    (OPERATIONS as f64 / (clock.monotonic() - begun).as_secs_f64()) as u64
}

fn insert(bench: &Bench, numbers: std::ops::Range<u64>, order: Order) {
    let mut tx = bench.begin();
    for number in numbers {
        bench.insert(&mut tx, &key(number, order), &VALUE).unwrap();
    }
    tx.commit_delayed().unwrap();
}

fn find(bench: &Bench, numbers: std::ops::Range<u64>, order: Order) {
    let mut rng = SplitMix64::new(numbers.start);
    for _ in numbers {
        let key = key(rng.below(OPERATIONS), order);
        bench.tree.find(&[bytes(&key)]).unwrap();
    }
}

#[test]
#[ignore = "prints figures"]
fn inserts_and_finds_by_threads() {
    println!("threads  ascending  random  finds  finds beside random inserts (operations per second)");
    for threads in [1, 2, 4, 16] {
        let ascending = bench();
        let first = run(threads, |numbers| insert(&ascending, numbers, Order::Ascending));
        let random = bench();
        let second = run(threads, |numbers| insert(&random, numbers, Order::Random));
        let third = run(threads, |numbers| find(&random, numbers, Order::Random));
        let mixed = bench();
        let fourth = run(threads, |numbers| match numbers.start / BATCH as u64 % 2 {
            0 => insert(&mixed, numbers, Order::Random),
            _ => find(&mixed, numbers, Order::Random),
        });
        println!("{threads:>7} {first:>10} {second:>7} {third:>6} {fourth:>6}");
    }
}
