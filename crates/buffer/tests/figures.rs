//! How fast the pool is, on demand:
//! `cargo test -p extentdb-buffer --test figures -- --ignored --nocapture`.

mod support;

use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::size::PAGE_BYTES;
use extentdb_buffer::{BufferMemory, Pool, PoolOptions};
use extentdb_io::{DiskFile, Durability, Error, Fill};
use extentdb_telemetry::Waits;
use support::{FILE, TestLog, change, counter, fresh_image, page};

/// A file that costs no more than its copies.
#[derive(Debug)]
struct Plain(RwLock<Vec<u8>>);

impl DiskFile for Plain {
    fn path(&self) -> &Path {
        Path::new("plain")
    }

    fn len(&self) -> u64 {
        self.0.read().unwrap().len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        buf.copy_from_slice(&self.0.read().unwrap()[offset as usize..][..buf.len()]);
        Ok(buf.len())
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], _: Durability) -> Result<(), Error> {
        let mut at = offset as usize;
        for part in parts {
            self.0.write().unwrap()[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn extend(&self, _: u64, _: Fill) -> Result<(), Error> {
        Ok(())
    }
}

fn pool(frames: usize, pages: u32) -> (Pool, Arc<TestLog>) {
    let log = Arc::new(TestLog::default());
    let pool =
        Pool::new(PoolOptions::new(frames), Arc::clone(&log) as _, Arc::new(SystemClock::new()));
    pool.add_file(FILE, Arc::new(Plain(RwLock::new(fresh_image(pages)))));
    (pool, log)
}

/// Time that this thread was on a processor: other work of the machine does not count.
fn on_processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

/// Millions of `work` per second of processor time of a thread, times the threads.
fn rate(threads: u64, turns: u64, work: impl Fn(&mut SplitMix64) + Sync) -> f64 {
    let spent: Duration = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads)
            .map(|thread| {
                let work = &work;
                scope.spawn(move || {
                    let mut rng = SplitMix64::new(thread);
                    let begun = on_processor();
                    (0..turns).for_each(|_| work(&mut rng));
                    on_processor() - begun
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    (threads * threads * turns) as f64 / spent.as_secs_f64() / 1e6
}

/// Two databases in one memory: a miss takes a frame of either.
fn shared() {
    for (frames, what) in [(8192, "hits of 4096 pages"), (512, "7 of 8 reads miss")] {
        let memory =
            BufferMemory::new(frames, Arc::new(Waits::new()), Arc::new(SystemClock::new()));
        let pools = [0, 1].map(|_| {
            let log = Arc::new(TestLog::default());
            let clock = Arc::new(SystemClock::new());
            let pool = Pool::in_memory(&memory, PoolOptions::new(0), log, clock);
            pool.add_file(FILE, Arc::new(Plain(RwLock::new(fresh_image(2048)))));
            pool
        });
        let read = |rng: &mut SplitMix64| {
            let number = rng.below(4096) as u32;
            let pool = &pools[(number % 2) as usize];
            std::hint::black_box(counter(&pool.read(page(number / 2)).unwrap()));
        };
        for threads in [1, 2] {
            let rate = rate(threads, 500_000, read);
            println!("{threads} threads, two databases in one memory: {what} {rate:.3} M/s");
        }
    }
}

#[test]
#[ignore = "figures, no promise"]
fn figures() {
    let (cached, _) = pool(8192, 4096);
    (0..4096).for_each(|number| drop(cached.read(page(number)).unwrap()));
    for threads in [1, 2] {
        let spread = |pages: u64| {
            rate(threads, 2_000_000, |rng| {
                std::hint::black_box(counter(&cached.read(page(rng.below(pages) as u32)).unwrap()));
            })
        };
        let hot = spread(1);
        let few = spread(64);
        let many = spread(4096);
        let changed = rate(threads, 2_000_000, |rng| {
            let mut guard = cached.write(page(rng.below(4096) as u32)).unwrap();
            guard.bytes_mut()[5000] ^= 1;
            guard.set_dirty(extentdb_base::Lsn::ZERO);
        });
        println!(
            "{threads} threads: hits of 1 page {hot:.1}, 64 pages {few:.1}, 4096 pages {many:.1}; changes {changed:.1} M/s"
        );
    }
    let begun = on_processor();
    let written = cached.write_dirty().unwrap();
    let megabytes = ((written.pages as usize * PAGE_BYTES) >> 20) as f64;
    println!(
        "checkpoint to memory: {:.0} MB/s",
        megabytes / (on_processor() - begun).as_secs_f64()
    );

    shared();
    let (small, log) = pool(512, 4096);
    for threads in [1, 2] {
        let clean = rate(threads, 200_000, |rng| {
            std::hint::black_box(counter(&small.read(page(rng.below(4096) as u32)).unwrap()));
        });
        println!("{threads} threads: 7 of 8 reads miss, victims clean: {clean:.3} M/s");
    }
    let before = small.stats();
    let dirty = rate(1, 200_000, |rng| {
        change(&small, &log, rng.below(4096) as u32, 1);
    });
    let after = small.stats();
    println!(
        "1 thread: 7 of 8 changes miss, victims dirty: {dirty:.3} M/s ({} evictions, {} pages in {} writes)",
        after.evictions - before.evictions,
        after.page_writes - before.page_writes,
        after.write_calls - before.write_calls
    );
}
