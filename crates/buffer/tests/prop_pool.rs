//! The pool against a model: any sequence of reads, changes, checkpoints, sweeps and power cuts.
//!
//! The model is a list of log records and the newest counter of each page. After every step
//! - what the pool says a page holds is what the model says;
//! - redo from `oldest_dirty` would bring a disk on which nothing unsynced survived to the model's
//!   state, so would it bring one on which some of it did;
//! - no page overtook its log (the watched file sees to that at every write).

mod support;

use std::path::Path;
use std::sync::Arc;

use extentdb_base::env::SplitMix64;
use extentdb_format::page::{PageBytes, PageHeader, checksum};
use proptest::prelude::*;
use support::{Bench, PATH, change, counter, lsn, page, page_of, put};

const PAGES: u32 = 64;

#[derive(Clone, Debug)]
enum Step {
    Read(u32),
    Change(u32),
    /// Several neighbours, so that writes gather.
    ChangeRun(u32, u32),
    Create(u32),
    CreateAndDrop(u32),
    WriteDirty,
    Sweep(usize),
    ReadAhead(u32, u32),
    PowerCut(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..PAGES).prop_map(Step::Read),
        8 => (0..PAGES).prop_map(Step::Change),
        2 => (0..PAGES, 1u32..12).prop_map(|(first, pages)| Step::ChangeRun(first, pages)),
        2 => (0..PAGES).prop_map(Step::Create),
        1 => (0..PAGES).prop_map(Step::CreateAndDrop),
        1 => Just(Step::WriteDirty),
        1 => (0usize..20).prop_map(Step::Sweep),
        2 => (0..PAGES, 0u32..64).prop_map(|(first, pages)| Step::ReadAhead(first, pages)),
        1 => any::<u64>().prop_map(Step::PowerCut),
    ]
}

struct Model {
    bench: Bench,
    frames: usize,
    /// The counter each page should have.
    expected: Vec<u64>,
    next: u64,
}

impl Model {
    fn new(frames: usize) -> Model {
        Model {
            bench: Bench::new(frames, PAGES),
            frames,
            expected: vec![0; PAGES as usize],
            next: 1,
        }
    }

    fn value(&mut self, number: u32) -> u64 {
        self.next += 1;
        self.expected[number as usize] = self.next;
        self.next
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Read(number) => self.read(number),
            Step::Change(number) => self.change(number),
            Step::ChangeRun(first, pages) => {
                (first..(first + pages).min(PAGES)).for_each(|number| self.change(number))
            }
            Step::Create(number) => self.create(number),
            Step::CreateAndDrop(number) => self.create_and_drop(number),
            Step::WriteDirty => self.write_dirty(),
            Step::Sweep(target) => {
                assert!(self.bench.pool.sweep(target).unwrap().free_frames <= self.frames as u64)
            }
            Step::ReadAhead(first, pages) => self.bench.pool.read_ahead(page(first), pages),
            Step::PowerCut(seed) => self.power_cut(seed),
        }
    }

    fn read(&self, number: u32) {
        let guard = self.bench.pool.read(page(number)).unwrap();
        assert_eq!(counter(&guard), self.expected[number as usize]);
    }

    fn change(&mut self, number: u32) {
        let value = self.value(number);
        self.bench.change(number, value);
    }

    fn create(&mut self, number: u32) {
        let value = self.value(number);
        let mut guard = self.bench.pool.create(page(number)).unwrap();
        assert!(guard.iter().all(|byte| *byte == 0));
        let lsn = self.bench.log.append(page(number), value);
        put(guard.bytes_mut(), page(number), value, lsn);
        guard.set_dirty(lsn);
    }

    /// Creation that fails: a page with changes of its own would lose them, so this is for clean
    /// ones.
    fn create_and_drop(&mut self, number: u32) {
        self.bench.pool.write_dirty().unwrap();
        drop(self.bench.pool.create(page(number)).unwrap());
        self.read(number);
    }

    fn write_dirty(&mut self) {
        self.bench.pool.write_dirty().unwrap();
        let image = self.bench.durable_image();
        for number in 0..PAGES {
            assert_eq!(
                counter(page_of(&image, number)),
                self.expected[number as usize],
                "page {number}"
            );
        }
        assert_eq!((self.bench.pool.dirty_count(), self.bench.pool.oldest_dirty()), (0, None));
    }

    /// What `oldest_dirty` promises: a change that the disk lacks is not older.
    fn verify_oldest(&self) {
        let oldest = self.bench.pool.oldest_dirty();
        let image = self.bench.durable_image();
        for number in 0..PAGES {
            let on_disk = PageHeader::of(page_of(&image, number)).lsn();
            for (missing, _) in self.bench.log.missing(page(number), on_disk, self.bench.log.last())
            {
                let oldest = oldest.expect("a change is missing, and the pool says that none is");
                assert!(missing >= oldest, "page {number} lacks {missing}, oldest {oldest}");
            }
        }
    }

    /// The power goes; recovery knows the durable log and where redo starts.
    fn power_cut(&mut self, seed: u64) {
        let oldest = self.bench.pool.oldest_dirty();
        let durable = self.bench.log.durable();
        let image =
            self.bench.disk.crash(&mut SplitMix64::new(seed)).contents(Path::new(PATH)).unwrap();
        let mut recovered = image.clone();
        for number in 0..PAGES {
            let bytes = page_of(&image, number);
            let before = page_of(&self.bench.durable_image(), number).to_vec();
            // A torn page is found out; the lost one is replaced by the last that was durable, as
            // from a backup.
            let intact = checksum::verify(bytes).is_intact();
            let mut bytes: PageBytes = if intact { *bytes } else { before.try_into().unwrap() };
            assert!(
                PageHeader::of(&bytes).lsn() <= durable,
                "page {number} is newer than the durable log"
            );
            let on_disk = PageHeader::of(&bytes).lsn();
            for (at, value) in self.bench.log.missing(page(number), on_disk, durable) {
                assert!(oldest.is_some_and(|oldest| at >= oldest));
                put(&mut bytes, page(number), value, at);
            }
            checksum::seal(&mut bytes);
            recovered[number as usize * 8192..][..8192].copy_from_slice(&bytes);
            self.expected[number as usize] = counter(&bytes);
        }
        // The log ends where it was durable.
        let log = Arc::new(support::TestLog::default());
        let pinned = durable.block as usize;
        *log.records.lock().unwrap() = self.bench.log.records.lock().unwrap()[..pinned].to_vec();
        if pinned > 0 {
            extentdb_buffer::WriteAhead::flush_to(&*log, lsn(pinned as u64)).unwrap();
        }
        self.bench = Bench::over(self.frames, recovered, log);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_pool_keeps_what_it_was_given(frames in 8usize..=32, steps in prop::collection::vec(step(), 1..150)) {
        let mut model = Model::new(frames);
        for step in &steps {
            model.take(step);
            model.verify_oldest();
        }
        (0..PAGES).for_each(|number| model.read(number));
        model.write_dirty();
    }

    /// A write or a sync fails somewhere: from then on nothing changes on the disk, and nothing is
    /// forgotten.
    #[test]
    fn a_failure_anywhere_ends_all_writing(
        calls in 1u64..40,
        frames in 8usize..=16,
        numbers in prop::collection::vec(0..PAGES, 1..100),
    ) {
        let bench = Bench::new(frames, PAGES);
        bench.disk.fail_after(calls);
        for number in numbers {
            let outcome = bench.pool.write(page(number)).map(drop);
            if outcome.is_ok() && !bench.pool.outage().has_begun() {
                change(&bench.pool, &bench.log, number, u64::from(number));
            }
            if number % 8 == 0 {
                let _ = bench.pool.write_dirty();
            }
        }
        let oldest = bench.pool.oldest_dirty();
        let image = bench.durable_image();
        for number in 0..PAGES {
            let on_disk = PageHeader::of(page_of(&image, number)).lsn();
            for (missing, _) in bench.log.missing(page(number), on_disk, bench.log.last()) {
                prop_assert!(oldest.is_some_and(|oldest| missing >= oldest), "page {} lacks {}", number, missing);
            }
        }
    }
}
