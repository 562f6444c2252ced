//! Databases that share a small memory, against a model: any sequence of reads, changes,
//! checkpoints, sweeps and drops. The last database is ephemeral.
//!
//! The model of a database is the newest counter of each of its pages. After every step
//! - what a pool says a page holds is what the model of its database says;
//! - redo from `oldest_dirty` of a database misses no change that its disk lacks;
//! - no page overtook the log of its database (the watched files see to that at every write), and
//!   the ephemeral one never waited for its log nor for a sync;
//! - every frame is free or holds a page of one of the databases.
//!
//! A pool is dropped as when a database goes offline: changes that were not written are lost, and
//! the next pool finds what the file holds.

mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use extentdb_base::env::SystemClock;
use extentdb_buffer::{BufferMemory, Durability, PoolOptions};
use extentdb_format::page::PageHeader;
use extentdb_telemetry::Waits;
use proptest::prelude::*;
use support::{Bench, TestLog, counter, fresh_image, page, page_of, put};

const PAGES: u32 = 24;

#[derive(Clone, Debug)]
enum Action {
    Read(u32),
    /// Several neighbours, so that writes gather.
    Change {
        first: u32,
        pages: u32,
    },
    Create(u32),
    WriteDirty,
    Sweep(usize),
    ReadAhead(u32),
    DiscardAll,
    Drop,
}

#[derive(Clone, Debug)]
struct Step {
    database: usize,
    action: Action,
}

fn step() -> impl Strategy<Value = Step> {
    let action = prop_oneof![
        6 => (0..PAGES).prop_map(Action::Read),
        8 => (0..PAGES, 1u32..6).prop_map(|(first, pages)| Action::Change { first, pages }),
        2 => (0..PAGES).prop_map(Action::Create),
        1 => Just(Action::WriteDirty),
        1 => (0usize..10).prop_map(Action::Sweep),
        1 => (0..PAGES).prop_map(Action::ReadAhead),
        1 => Just(Action::DiscardAll),
        1 => Just(Action::Drop),
    ];
    (0usize..3, action).prop_map(|(database, action)| Step { database, action })
}

struct Database {
    bench: Bench,
    durability: Durability,
    /// The counter each page should have.
    expected: Vec<u64>,
    next: u64,
}

impl Database {
    fn open(
        memory: &Arc<BufferMemory>,
        durability: Durability,
        image: Vec<u8>,
        log: Arc<TestLog>,
    ) -> Database {
        let expected = (0..PAGES).map(|number| counter(page_of(&image, number))).collect();
        let options = PoolOptions { durability, ..PoolOptions::new(0) };
        let bench = Bench::in_memory(memory, options, image, log);
        Database { bench, durability, expected, next: 0 }
    }

    fn value(&mut self, number: u32) -> u64 {
        self.next += 1;
        self.expected[number as usize] = self.next;
        self.next
    }

    fn act(&mut self, action: &Action) {
        match *action {
            Action::Read(number) => self.read(number),
            Action::Change { first, pages } => {
                (first..(first + pages).min(PAGES)).for_each(|number| self.change(number))
            }
            Action::Create(number) => self.create(number),
            Action::WriteDirty => self.write_dirty(),
            Action::Sweep(target) => assert!(self.bench.pool.sweep(target).is_ok()),
            Action::ReadAhead(first) => self.bench.pool.read_ahead(page(first), 8),
            Action::DiscardAll => {
                self.bench.pool.discard_all();
                self.expect_image();
                assert_eq!(self.bench.pool.stats().cached_pages, 0);
            }
            Action::Drop => {}
        }
    }

    fn read(&self, number: u32) {
        assert_eq!(self.bench.read(number), self.expected[number as usize]);
    }

    fn change(&mut self, number: u32) {
        let value = self.value(number);
        self.bench.change(number, value);
    }

    fn create(&mut self, number: u32) {
        let value = self.value(number);
        let mut guard = self.bench.pool.create(page(number)).unwrap();
        let lsn = self.bench.log.append(page(number), value);
        put(guard.bytes_mut(), page(number), value, lsn);
        guard.set_dirty(lsn);
    }

    fn write_dirty(&self) {
        self.bench.pool.write_dirty().unwrap();
        if self.durability == Durability::Logged {
            let image = self.bench.durable_image();
            let durable = (0..PAGES).map(|number| counter(page_of(&image, number)));
            assert_eq!(durable.collect::<Vec<_>>(), self.expected);
            assert_eq!((self.bench.pool.dirty_count(), self.bench.pool.oldest_dirty()), (0, None));
        }
    }

    /// What is not written is lost; what is written survives.
    fn expect_image(&mut self) {
        self.bench.file.inner.sync().unwrap();
        let image = self.bench.image();
        self.expected = (0..PAGES).map(|number| counter(page_of(&image, number))).collect();
    }

    fn verify(&self) {
        let oldest = self.bench.pool.oldest_dirty();
        if self.durability == Durability::Ephemeral {
            assert_eq!(oldest, None);
            assert_eq!(self.bench.log.flushes.load(Ordering::SeqCst), 0);
            assert_eq!(self.bench.file.syncs.load(Ordering::SeqCst), 0);
        }
    }

    /// What `oldest_dirty` promises: a change that the disk lacks is not older.
    fn verify_oldest(&self) {
        let oldest = self.bench.pool.oldest_dirty();
        let image = self.bench.durable_image();
        for number in 0..PAGES {
            let on_disk = PageHeader::of(page_of(&image, number)).lsn();
            let end = self.bench.log.last();
            for (missing, _) in self.bench.log.missing(page(number), on_disk, end) {
                let oldest = oldest.expect("a change is missing, and the pool says that none is");
                assert!(missing >= oldest, "page {number} lacks {missing}, oldest {oldest}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn databases_that_share_a_memory_keep_what_they_were_given(
        frames in 8usize..=20,
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let memory = BufferMemory::new(frames, Arc::new(Waits::new()), Arc::new(SystemClock::new()));
        let open = |durability, image| {
            Database::open(&memory, durability, image, Arc::default())
        };
        let mut databases = [
            open(Durability::Logged, fresh_image(PAGES)),
            open(Durability::Logged, fresh_image(PAGES)),
            open(Durability::Ephemeral, fresh_image(PAGES)),
        ];
        // Nothing was discarded since the pool was made: then every change is known to its log.
        let mut is_whole = [true; 3];
        for Step { database: index, action } in &steps {
            let database = &mut databases[*index];
            database.act(action);
            if matches!(action, Action::DiscardAll) {
                is_whole[*index] = false;
            }
            if matches!(action, Action::Drop) {
                let mut image = database.bench.image();
                for number in 0..PAGES {
                    let value = counter(page_of(&image, number));
                    image[number as usize * 8192..][..8192]
                        .copy_from_slice(&support::sealed(page(number), value));
                }
                let file = Arc::clone(&database.bench.file);
                let writes = file.writes.lock().unwrap().len();
                *database = open(database.durability, image);
                assert_eq!(file.writes.lock().unwrap().len(), writes, "written while dropped");
                is_whole[*index] = true;
            }
            for (database, is_whole) in databases.iter().zip(is_whole) {
                database.verify();
                if is_whole && database.durability == Durability::Logged {
                    database.verify_oldest();
                }
            }
            let stats = memory.stats();
            let cached: u64 =
                databases.iter().map(|database| database.bench.pool.stats().cached_pages).sum();
            prop_assert_eq!(stats.cached_pages, cached);
            prop_assert_eq!(cached + stats.free_frames, stats.frames);
        }
        for database in &databases {
            (0..PAGES).for_each(|number| database.read(number));
            database.write_dirty();
        }
    }
}
