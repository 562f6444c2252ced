//! Random work and power cuts against the simplest model of a log: a list of records.

use std::path::Path;

use extentdb_base::Lsn;
use extentdb_base::env::SplitMix64;
use extentdb_io::MemDisk;
use extentdb_wal::{Error, Growth, Log};
use proptest::prelude::*;

use crate::harness::*;

#[derive(Clone, Debug)]
enum Act {
    Append {
        bytes: usize,
    },
    /// Makes durable the record that lies this share of the list before the newest.
    Flush {
        back: u8,
    },
    /// Forgets all before the record at this share of the durable ones.
    Truncate {
        share: u8,
    },
    ReadBack {
        share: u8,
    },
    /// The power goes at the n-th call from now, wherever that is.
    CutAfter {
        calls: u8,
    },
    Crash {
        seed: u64,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let bytes = prop_oneof![6 => 0usize..300, 3 => 300usize..9000, 1 => 9000usize..55_000];
    let act = prop_oneof![
        12 => bytes.prop_map(|bytes| Act::Append { bytes }),
        4 => any::<u8>().prop_map(|back| Act::Flush { back: back % 8 }),
        2 => any::<u8>().prop_map(|share| Act::Truncate { share }),
        2 => any::<u8>().prop_map(|share| Act::ReadBack { share }),
        1 => (0u8..12).prop_map(|calls| Act::CutAfter { calls }),
        1 => any::<u64>().prop_map(|seed| Act::Crash { seed }),
    ];
    proptest::collection::vec(act, 1..150)
}

/// What the log should hold from its minimum on.
struct Model {
    disk: MemDisk,
    log: Option<Log>,
    records: Vec<(Lsn, u32, usize)>,
    /// How many of them are known to be durable.
    durable: usize,
    serial: u32,
}

impl Model {
    fn new(growth: Growth, sector_bytes: u32) -> Self {
        let disk = MemDisk::new();
        let log = create(&disk, &extentdb_wal::LogSpec { sector_bytes, ..spec(SMALL, growth) });
        Model {
            disk,
            log: Some(log),
            records: Vec::new(),
            durable: 0,
            serial: 0,
        }
    }

    fn log(&self) -> &Log {
        self.log.as_ref().unwrap()
    }

    /// Where recovery would begin: at a record that is durable, or nowhere.
    fn minimum(&self) -> Lsn {
        self.records.first().filter(|_| self.durable > 0).map_or(Lsn::ZERO, |record| record.0)
    }

    /// Does one thing; a crash when the power went during it.
    fn act(&mut self, act: &Act) {
        let result = self.try_act(act);
        match result {
            Ok(()) | Err(Error::Full { growth: None, .. }) => {}
            Err(error) => {
                assert!(self.disk.is_dark(), "{error}: {act:?}");
                self.crash(u64::from(self.serial) << 8 | 7);
            }
        }
    }

    fn try_act(&mut self, act: &Act) -> Result<(), Error> {
        match *act {
            Act::Append { bytes } => {
                self.serial += 1;
                let lsn = append(self.log(), self.serial, bytes)?;
                assert!(self.records.last().is_none_or(|last| last.0 < lsn));
                self.records.push((lsn, self.serial, bytes));
            }
            Act::Flush { back } => {
                let Some(index) = self.records.len().checked_sub(1 + usize::from(back)) else {
                    return Ok(());
                };
                self.log().flush(self.records[index].0)?;
                self.durable = self.durable.max(index + 1);
            }
            Act::Truncate { share } => {
                let index = self.durable * usize::from(share) / 256;
                if index > 0 {
                    self.log().truncate(self.records[index].0)?;
                    self.records.drain(..index);
                    self.durable -= index;
                }
            }
            Act::ReadBack { share } => {
                let index = self.records.len() * usize::from(share) / 256;
                if let Some((lsn, serial, bytes)) = self.records.get(index) {
                    let found = self.log().with_record(*lsn, read_back)?;
                    assert_eq!(found, (*serial, *bytes));
                }
            }
            Act::CutAfter { calls } => self.disk.fail_after(u64::from(calls)),
            Act::Crash { seed } => self.crash(seed),
        }
        Ok(())
    }

    /// The power goes, and the log is opened again.
    fn crash(&mut self, seed: u64) {
        let durable = self.log().durable();
        let acknowledged =
            self.records.iter().filter(|record| record.0 <= durable).count().max(self.durable);
        self.disk = self.disk.crash(&mut SplitMix64::new(seed));
        self.log = None;
        self.durable = acknowledged;
        let from = self.minimum();
        self.log = Some(open(&self.disk, from).unwrap_or_else(|error| panic!("{error}")));
        let found = if self.log().last().is_zero() {
            Vec::new()
        } else {
            records(self.log(), self.from(from))
        };
        assert!(
            found.len() >= acknowledged,
            "{} of {acknowledged} acknowledged records are there",
            found.len()
        );
        assert!(found.len() <= self.records.len());
        assert_eq!(found, self.records[..found.len()]);
        self.records.truncate(found.len());
        self.durable = found.len();
        assert_sound(&contents(&self.disk));
    }

    /// Where to scan from when nothing was truncated yet.
    fn from(&self, minimum: Lsn) -> Lsn {
        if minimum.is_zero() { Lsn::new(FIRST, 16, 1) } else { minimum }
    }
}

fn run(growth: Growth, sector_bytes: u32, acts: &[Act]) {
    let mut model = Model::new(growth, sector_bytes);
    for act in acts {
        model.act(act);
    }
    model.crash(99);
    // What is there is enough to go on with.
    let last = append(model.log(), u32::MAX, 10);
    if let Ok(lsn) = last {
        model.log().flush(lsn).unwrap();
        assert_eq!(model.log().with_record(lsn, read_back).unwrap(), (u32::MAX, 10));
    }
    assert!(model.disk.contents(Path::new(PATH)).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_records_survive_and_what_follows_is_a_prefix(acts in acts(), is_4k in any::<bool>()) {
        run(Growth::Pages(32), if is_4k { 4096 } else { 512 }, &acts);
    }

    #[test]
    fn a_log_that_cannot_grow_goes_round_and_stays_sound(acts in acts()) {
        run(Growth::None, 512, &acts);
    }
}

/// Long lives, each from its seed: many turns of the log, with cuts in the middle of everything.
#[test]
fn a_hundred_restarts_lose_nothing_that_was_acknowledged() {
    use extentdb_base::env::Rng;
    for seed in 0..12u64 {
        let mut rng = SplitMix64::new(seed);
        let growth = if seed % 3 == 0 { Growth::Pages(64) } else { Growth::None };
        let mut model = Model::new(growth, 512);
        for _ in 0..4000 {
            let share = rng.below(256) as u8;
            let act = match rng.below(40) {
                0..22 => Act::Append { bytes: rng.below(600) as usize },
                22..25 => Act::Append { bytes: rng.below(30_000) as usize },
                25..33 => Act::Flush { back: rng.below(3) as u8 },
                33..37 => Act::Truncate { share: share | 0x80 },
                37 => Act::ReadBack { share },
                38 if rng.below(3) == 0 => Act::CutAfter { calls: rng.below(20) as u8 },
                _ if rng.below(20) == 0 => Act::Crash { seed: rng.next_u64() },
                _ => Act::ReadBack { share },
            };
            model.act(&act);
        }
        model.crash(seed);
        let taken = model.log().last().vlf - FIRST;
        assert!(taken > 10, "only {taken} VLFs were taken: the log did not go round");
    }
}
