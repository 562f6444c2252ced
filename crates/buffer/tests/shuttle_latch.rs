//! Latches and the pool under schedules that follow from a seed: `RUSTFLAGS="--cfg shuttle"`, and a
//! target folder of its own.
//!
//! Every atomic access, lock and wait is a point where another thread may go on. shuttle treats all
//! atomics as sequentially consistent; orderings are argued in the code, and the threads of
//! `threads.rs` run on real processors.
#![cfg(shuttle)]

use std::path::Path;
use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock, thread};
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_buffer::{
    BufferMemory, Latch, LatchMode, Pool, PoolOptions, WaitAccounts, WriteAhead, WriteAheadError,
};
use extentdb_format::page::{PageBytes, PageHeader, checksum};
use extentdb_io::{Disk, MemDisk};
use extentdb_telemetry::Waits;

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
fn explore(test: impl Fn() + Clone + Send + Sync + 'static, schedules: usize) {
    shuttle::check_random(test.clone(), schedules);
    shuttle::check_pct(test, schedules, 3);
}

fn accounts() -> WaitAccounts {
    WaitAccounts { waits: Arc::new(Waits::new()), clock: Arc::new(NoTime) }
}

#[test]
fn nobody_sleeps_for_ever_and_writers_are_alone() {
    let test = || {
        let latch = Arc::new(Latch::new());
        let accounts = accounts();
        // Readers add 1, a writer adds 1000; 1000 and anything else together is a breach.
        let inside = Arc::new(AtomicU64::new(0));
        let modes = [LatchMode::Ex, LatchMode::Sh, LatchMode::Ex, LatchMode::Up];
        let threads: Vec<_> = modes
            .into_iter()
            .map(|mode| {
                let latch = Arc::clone(&latch);
                let accounts = accounts.clone();
                let inside = Arc::clone(&inside);
                thread::spawn(move || {
                    for _ in 0..2 {
                        let weight = if mode == LatchMode::Ex { 1000 } else { 1 };
                        latch.acquire(mode, &accounts, || false);
                        let before = inside.fetch_add(weight, Ordering::SeqCst);
                        assert!(before + weight <= 1000, "a writer is not alone");
                        inside.fetch_sub(weight, Ordering::SeqCst);
                        latch.release(mode, &accounts);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(latch.try_acquire(LatchMode::Dt), "somebody is still counted");
    };
    explore(test, 3_000);
}

#[test]
fn a_downgrade_wakes_those_it_admits() {
    let test = || {
        let latch = Arc::new(Latch::new());
        let accounts = accounts();
        latch.acquire(LatchMode::Ex, &accounts, || false);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let latch = Arc::clone(&latch);
                let accounts = accounts.clone();
                thread::spawn(move || {
                    latch.acquire(LatchMode::Sh, &accounts, || false);
                    latch.release(LatchMode::Sh, &accounts);
                })
            })
            .collect();
        latch.downgrade(LatchMode::Ex, &accounts);
        // SH is still held: the readers must come through all the same.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        latch.release(LatchMode::Sh, &accounts);
        assert!(!latch.has_waiters() && latch.try_acquire(LatchMode::Dt));
    };
    explore(test, 3_000);
}

/// A log that counts records and forgets nothing.
#[derive(Default)]
struct CountingLog {
    records: Mutex<Vec<PageId>>,
}

impl WriteAhead for CountingLog {
    fn flush_to(&self, lsn: Lsn) -> Result<(), WriteAheadError> {
        assert!(lsn.block as usize <= lock(&self.records).len());
        Ok(())
    }
}

fn counter(bytes: &PageBytes) -> u32 {
    u32::from_le_bytes([bytes[100], bytes[101], bytes[102], bytes[103]])
}

fn format(bytes: &mut PageBytes, page: PageId, value: u32, lsn: Lsn) {
    let header = PageHeader::of_mut(bytes);
    header.header_version = 1;
    header.page_id_bytes = page.to_bytes();
    header.lsn_bytes = lsn.to_bytes();
    bytes[100..104].copy_from_slice(&value.to_le_bytes());
}

struct Bench {
    disk: MemDisk,
    log: Arc<CountingLog>,
    pool: Pool,
}

const PAGES: u32 = 6;

const FRAMES: usize = 4;

/// Four frames for six pages.
fn bench() -> Bench {
    bench_in(&memory())
}

fn memory() -> Arc<BufferMemory> {
    BufferMemory::new(FRAMES, Arc::new(Waits::new()), Arc::new(NoTime))
}

/// A database of six pages in a memory that it shares.
fn bench_in(memory: &Arc<BufferMemory>) -> Bench {
    let image: Vec<u8> = (0..PAGES)
        .flat_map(|number| {
            let mut bytes = [0; PAGE_BYTES];
            format(&mut bytes, PageId::new(1, number), 0, Lsn::ZERO);
            checksum::seal(&mut bytes);
            bytes
        })
        .collect();
    let disk = MemDisk::new();
    disk.put(Path::new("a"), image);
    let log = Arc::new(CountingLog::default());
    let pool = pool_over(memory, &disk, &log);
    Bench { disk, log, pool }
}

fn pool_over(memory: &Arc<BufferMemory>, disk: &MemDisk, log: &Arc<CountingLog>) -> Pool {
    let options = PoolOptions::new(0);
    let pool = Pool::in_memory(memory, options, Arc::clone(log) as _, Arc::new(NoTime));
    pool.add_file(FileId(1), disk.open(Path::new("a")).unwrap());
    pool
}

impl Bench {
    fn increment(&self, number: u32) {
        let page = PageId::new(1, number);
        let mut guard = self.pool.write(page).unwrap();
        let lsn = {
            let mut records = lock(&self.log.records);
            records.push(page);
            Lsn::new(1, records.len() as u32, 1)
        };
        let value = counter(&guard) + 1;
        format(guard.bytes_mut(), page, value, lsn);
        guard.set_dirty(lsn);
    }

    fn read(&self, number: u32) -> u32 {
        counter(&self.pool.read(PageId::new(1, number)).unwrap())
    }

    /// As a checkpoint does: a place in the log, the oldest change, and then the worst power cut.
    fn verify_oldest(&self) {
        let begin = lock(&self.log.records).len() as u32;
        let oldest = self.pool.oldest_dirty();
        let image = self.disk.crash(&mut Nothing).contents(Path::new("a")).unwrap();
        for (number, bytes) in (0u32..).zip(image.as_chunks::<PAGE_BYTES>().0) {
            let on_disk = PageHeader::of(bytes).lsn();
            for (at, page) in (1..=begin).zip(lock(&self.log.records).iter()) {
                let lsn = Lsn::new(1, at, 1);
                let is_missing = page.page == number && lsn > on_disk;
                assert!(
                    !is_missing || oldest.is_some_and(|oldest| lsn >= oldest),
                    "{page} lacks {lsn}: {oldest:?}"
                );
            }
        }
    }
}

struct Nothing;

impl extentdb_base::env::Rng for Nothing {
    fn next_u64(&mut self) -> u64 {
        0
    }
}

#[test]
fn nothing_is_lost_between_eviction_and_reading_again() {
    let test = || {
        let bench = Arc::new(bench());
        let threads: Vec<_> = [[0, 3, 4, 0], [1, 4, 5, 0]]
            .into_iter()
            .map(|numbers| {
                let bench = Arc::clone(&bench);
                thread::spawn(move || {
                    numbers.into_iter().for_each(|number| bench.increment(number))
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let counters: Vec<u32> = (0..PAGES).map(|number| bench.read(number)).collect();
        assert_eq!(counters, [3, 1, 0, 1, 2, 1]);
    };
    explore(test, 400);
}

#[test]
fn the_oldest_change_is_never_overlooked() {
    let test = || {
        let bench = Arc::new(bench());
        let writer = {
            let bench = Arc::clone(&bench);
            thread::spawn(move || {
                [0, 1, 0, 4, 5].into_iter().for_each(|number| bench.increment(number))
            })
        };
        let checkpoint = {
            let bench = Arc::clone(&bench);
            thread::spawn(move || {
                bench.pool.write_dirty().unwrap();
                bench.verify_oldest();
            })
        };
        bench.verify_oldest();
        bench.verify_oldest();
        writer.join().unwrap();
        checkpoint.join().unwrap();
        bench.pool.write_dirty().unwrap();
        assert_eq!(bench.pool.oldest_dirty(), None);
        let counters: Vec<u32> = (0..PAGES).map(|number| bench.read(number)).collect();
        assert_eq!(counters, [2, 1, 0, 0, 1, 1]);
    };
    explore(test, 400);
}

#[test]
fn two_checkpoints_and_a_writer_agree() {
    let test = || {
        let bench = Arc::new(bench());
        let threads: Vec<_> = (0..3)
            .map(|worker| {
                let bench = Arc::clone(&bench);
                thread::spawn(move || match worker {
                    0 => [0, 1, 0].into_iter().for_each(|number| bench.increment(number)),
                    _ => assert!(bench.pool.write_dirty().unwrap().syncs <= 1),
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        bench.pool.write_dirty().unwrap();
        let image = bench.disk.crash(&mut Nothing).contents(Path::new("a")).unwrap();
        let pages = image.as_chunks::<PAGE_BYTES>().0;
        assert_eq!((counter(&pages[0]), counter(&pages[1])), (2, 1));
        assert_eq!((bench.pool.oldest_dirty(), bench.pool.dirty_count()), (None, 0));
    };
    explore(test, 400);
}

/// The counters of the file, durable or not.
fn on_disk(disk: &MemDisk) -> Vec<u32> {
    let image = disk.contents(Path::new("a")).unwrap();
    image.as_chunks::<PAGE_BYTES>().0.iter().map(counter).collect()
}

#[test]
fn two_databases_evict_each_other_and_lose_nothing() {
    let test = || {
        let memory = memory();
        let benches = [0, 1].map(|_| Arc::new(bench_in(&memory)));
        let threads: Vec<_> = benches
            .iter()
            .map(|bench| {
                let bench = Arc::clone(bench);
                thread::spawn(move || {
                    [0, 3, 4, 0].into_iter().for_each(|number| bench.increment(number));
                    bench.verify_oldest();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        for bench in &benches {
            let counters: Vec<u32> = (0..PAGES).map(|number| bench.read(number)).collect();
            assert_eq!(counters, [2, 0, 0, 1, 1, 0]);
        }
    };
    explore(test, 400);
}

#[test]
fn a_pool_is_dropped_while_another_database_writes_its_pages() {
    let test = || {
        let memory = memory();
        let kept = Arc::new(bench_in(&memory));
        let Bench { disk, log, pool } = bench_in(&memory);
        let dropper = {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                let bench = Bench { disk: disk.clone(), log: Arc::clone(&log), pool };
                [0, 1, 2].into_iter().for_each(|number| bench.increment(number));
                drop(bench);
                let left = on_disk(&disk);
                assert!(left.iter().all(|counter| *counter <= 1));
                // The number is used again, and the pages are those of the file.
                let bench = Bench { pool: pool_over(&memory, &disk, &log), disk, log };
                let read: Vec<u32> = (0..3).map(|number| bench.read(number)).collect();
                assert_eq!(read, left[..3]);
                assert_eq!(on_disk(&bench.disk), left, "written after the pool was dropped");
            })
        };
        let worker = {
            let kept = Arc::clone(&kept);
            thread::spawn(move || {
                [0, 3, 4, 0].into_iter().for_each(|number| kept.increment(number))
            })
        };
        dropper.join().unwrap();
        worker.join().unwrap();
        let counters: Vec<u32> = (0..PAGES).map(|number| kept.read(number)).collect();
        assert_eq!(counters, [2, 0, 0, 1, 1, 0]);
        let stats = memory.stats();
        let cached = kept.pool.stats().cached_pages;
        assert_eq!((stats.databases, stats.cached_pages), (1, cached));
        assert_eq!(cached + stats.free_frames, FRAMES as u64);
    };
    explore(test, 400);
}

#[test]
fn a_guard_of_a_dropped_pool_gives_its_frame_back_once() {
    let test = || {
        let memory = memory();
        let kept = Arc::new(bench_in(&memory));
        let dropped = bench_in(&memory);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let kept = Arc::clone(&kept);
                thread::spawn(move || {
                    [0, 1, 2, 3].into_iter().for_each(|number| kept.increment(number))
                })
            })
            .collect();
        let guard = dropped.pool.read(PageId::new(1, 5)).unwrap();
        drop(dropped);
        assert_eq!(counter(&guard), 0);
        drop(guard);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let counters: Vec<u32> = (0..PAGES).map(|number| kept.read(number)).collect();
        assert_eq!(counters, [2, 2, 2, 2, 0, 0]);
        assert_eq!(memory.stats().cached_pages, FRAMES as u64, "a frame is lost or counted twice");
    };
    explore(test, 400);
}
