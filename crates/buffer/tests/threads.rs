//! Real threads on a small pool: nothing is lost, nothing is torn, and `oldest_dirty` holds at
//! every moment.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::size::PAGE_BYTES;
use extentdb_buffer::BufferMemory;
use extentdb_format::page::{PageBytes, PageHeader};
use extentdb_telemetry::Waits;
use support::{Bench, Nothing, PATH, counter, page, page_of, put};

const PAGES: u32 = 96;

/// Adds one to the counter of a page, logged.
fn increment(bench: &Bench, number: u32) {
    let mut guard = bench.pool.write(page(number)).unwrap();
    let value = counter(&guard) + 1;
    let lsn = bench.log.append(page(number), value);
    put(guard.bytes_mut(), page(number), value, lsn);
    guard.set_dirty(lsn);
}

/// The order of the checkpoint: a place in the log, then the oldest change, then (as bad as it can
/// be) the power cut.
fn verify_oldest(bench: &Bench) {
    let begin = bench.log.last();
    let oldest = bench.pool.oldest_dirty();
    let image = bench.disk.crash(&mut Nothing).contents(Path::new(PATH)).unwrap();
    for number in 0..PAGES {
        let bytes: &PageBytes = page_of(&image, number);
        let missing = bench.log.missing(page(number), PageHeader::of(bytes).lsn(), begin);
        if let Some((first, _)) = missing.first() {
            let oldest = oldest.expect("a change is missing, and the pool says that none is");
            assert!(*first >= oldest, "page {number} lacks {first}, redo would start at {oldest}");
        }
    }
}

fn hammer(frames: usize, workers: u64, turns: u32) {
    let bench = Bench::new(frames, PAGES);
    let done = AtomicBool::new(false);
    let total = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let background = scope.spawn(|| {
            let mut rng = SplitMix64::new(99);
            while !done.load(Ordering::SeqCst) {
                match rng.below(4) {
                    0 => assert!(bench.pool.write_dirty().unwrap().syncs <= 1),
                    1 => {
                        assert!(bench.pool.sweep(frames / 4).unwrap().free_frames <= frames as u64)
                    }
                    2 => bench.pool.read_ahead(page(rng.below(96) as u32), 8),
                    _ => verify_oldest(&bench),
                }
            }
        });
        let threads: Vec<_> = (0..workers)
            .map(|worker| {
                let bench = &bench;
                let total = &total;
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(worker);
                    for _ in 0..turns {
                        // A few hot pages, many cold ones.
                        let bound = if rng.below(2) == 0 { 4 } else { u64::from(PAGES) };
                        let number = rng.below(bound) as u32;
                        if rng.below(3) == 0 {
                            increment(bench, number);
                            total.fetch_add(1, Ordering::SeqCst);
                        } else {
                            let guard = bench.pool.read(page(number)).unwrap();
                            assert_eq!(PageHeader::of(&guard).page_id(), page(number));
                            assert_eq!(
                                counter(&guard).to_le_bytes(),
                                guard[8184..],
                                "half a change was seen"
                            );
                        }
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        done.store(true, Ordering::SeqCst);
        background.join().unwrap();
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    let counters = (0..PAGES).map(|number| counter(&bench.pool.read(page(number)).unwrap()));
    assert_eq!(
        counters.sum::<u64>(),
        total.load(Ordering::SeqCst),
        "an increment was lost in memory"
    );
    bench.pool.write_dirty().unwrap();
    assert_eq!((bench.pool.oldest_dirty(), bench.pool.dirty_count()), (None, 0));
    let image = bench.durable_image();
    assert_eq!(image.len(), PAGES as usize * PAGE_BYTES);
    let counters = (0..PAGES).map(|number| counter(page_of(&image, number)));
    assert_eq!(
        counters.sum::<u64>(),
        total.load(Ordering::SeqCst),
        "an increment was lost on the way to the disk"
    );
    let stats = bench.pool.stats();
    assert!(stats.evictions > 0 && stats.page_writes > 0, "{stats:?}");
}

#[test]
fn four_threads_on_a_tiny_pool() {
    hammer(16, 4, 10_000);
}

#[test]
fn eight_threads_on_a_pool_of_half_the_file() {
    hammer(48, 8, 5_000);
}

#[test]
fn pages_reach_the_disk_while_they_are_changed() {
    // One page, always hot: every checkpoint catches it between two changes.
    let bench = Bench::new(8, PAGES);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..20_000).for_each(|_| increment(&bench, 5)));
        let mut last = 0;
        while !writer.is_finished() {
            bench.pool.write_dirty().unwrap();
            verify_oldest(&bench);
            let durable = bench.durable_counter(5);
            assert!(durable >= last, "an older image replaced a newer one");
            last = durable;
        }
    });
    assert_eq!(counter(&bench.pool.read(page(5)).unwrap()), 20_000);
}

#[test]
fn databases_are_opened_and_dropped_beside_others() {
    let memory = BufferMemory::new(32, Arc::new(Waits::new()), Arc::new(SystemClock::new()));
    let kept = [Bench::sharing(&memory, PAGES), Bench::sharing(&memory, PAGES)];
    let counts = [AtomicU64::new(0), AtomicU64::new(0)];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let dropper = scope.spawn(|| {
            let mut opened = 0;
            while !done.load(Ordering::SeqCst) {
                let bench = Bench::sharing(&memory, PAGES);
                (0..24).for_each(|number| increment(&bench, number));
                assert!((0..24).all(|number| bench.read(number) == 1));
                let file = Arc::clone(&bench.file);
                drop(bench);
                assert_eq!(Arc::strong_count(&file), 1, "somebody still writes to it");
                opened += 1;
            }
            opened
        });
        let threads: Vec<_> = (0..4)
            .map(|worker: usize| {
                let bench = &kept[worker % 2];
                let count = &counts[worker % 2];
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(worker as u64);
                    for _ in 0..5_000 {
                        increment(bench, rng.below(u64::from(PAGES)) as u32);
                        count.fetch_add(1, Ordering::SeqCst);
                        if rng.below(200) == 0 {
                            verify_oldest(bench);
                            bench.pool.write_dirty().unwrap();
                        }
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(dropper.join().unwrap() > 0);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    for (bench, count) in kept.iter().zip(counts) {
        let sum: u64 = (0..PAGES).map(|number| bench.read(number)).sum();
        assert_eq!(sum, count.into_inner(), "an increment was lost");
        bench.pool.write_dirty().unwrap();
        assert_eq!((bench.pool.oldest_dirty(), bench.pool.dirty_count()), (None, 0));
    }
    let stats = memory.stats();
    assert_eq!((stats.databases, stats.cached_pages + stats.free_frames), (2, stats.frames));
}
