//! Power cuts at every place.

use std::path::Path;

use extentdb_base::Lsn;
use extentdb_base::env::SplitMix64;
use extentdb_io::{Disk, Durability, MemDisk};
use extentdb_wal::{Damage, Error, Growth, Log};

use crate::harness::*;

/// A disk with only this log file.
fn disk_with(bytes: Vec<u8>) -> MemDisk {
    let disk = MemDisk::new();
    disk.put(Path::new(PATH), bytes);
    disk
}

#[test]
fn a_torn_tail_ends_the_log_wherever_it_is_torn() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let acknowledged = append(&log, 1, 1000).unwrap();
    log.flush(acknowledged).unwrap();
    let before = contents(&disk);
    for serial in 2..12 {
        append(&log, serial, 700).unwrap();
    }
    log.flush_all().unwrap();
    let after = contents(&disk);
    let changed: Vec<usize> = (0..after.len() / 512)
        .filter(|sector| before[sector * 512..][..512] != after[sector * 512..][..512])
        .collect();
    assert!(changed.len() > 10, "the write has sectors to tear: {changed:?}");
    let check = |survivors: &dyn Fn(usize) -> bool, whole: bool| {
        let mut torn = before.clone();
        for (index, sector) in changed.iter().enumerate().filter(|(index, _)| survivors(*index)) {
            assert!(index < changed.len());
            torn[sector * 512..][..512].copy_from_slice(&after[sector * 512..][..512]);
        }
        let disk = disk_with(torn);
        let log = open(&disk, acknowledged).unwrap();
        assert_eq!(records(&log, acknowledged).len(), if whole { 11 } else { 1 });
        assert_eq!(assert_sound(&contents(&disk)), if whole { 11 } else { 1 });
        // The next record lies where the torn ones lay.
        let next = append(&log, 99, 3000).unwrap();
        log.flush(next).unwrap();
        drop(log);
        let log = open(&disk, acknowledged).unwrap();
        assert_eq!(records(&log, acknowledged).last().unwrap(), &(next, 99, 3000));
        assert_sound(&contents(&disk));
    };
    for cut in 0..=changed.len() {
        check(&|index| index < cut, cut == changed.len());
        check(&|index| index >= cut, cut == 0);
        check(&|index| index != cut, cut == changed.len());
        check(&|index| index == cut, false);
    }
}

#[test]
fn blocks_after_a_torn_one_of_the_same_write_never_come_back() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let first = append(&log, 1, 100).unwrap();
    log.flush(first).unwrap();
    let before = contents(&disk);
    let lost = append(&log, 2, 40_000).unwrap();
    let later = append(&log, 3, 40_000).unwrap();
    assert_ne!(lost.block, later.block);
    log.flush_all().unwrap();
    assert_eq!(log.stats().writes, 2);
    let mut image = contents(&disk);
    // The block of record 2 was not written, that of record 3 was.
    let start = 0x2000 + 512 * lost.block as usize;
    let end = 0x2000 + 512 * later.block as usize;
    image[start..end].copy_from_slice(&before[start..end]);
    let disk = disk_with(image);
    let log = open(&disk, first).unwrap();
    assert_eq!(records(&log, first).len(), 1);
    // A new block of the same size leads exactly to where block 3 lay.
    assert_eq!(append(&log, 22, 40_000).unwrap(), lost);
    log.flush(lost).unwrap();
    drop(log);
    let log = open(&disk, first).unwrap();
    assert_eq!(records(&log, first).iter().map(|record| record.1).collect::<Vec<_>>(), [1, 22]);
}

/// What a run does until the power goes: fills several VLFs, growing and going round.
fn work(log: &Log, acknowledged: &mut Vec<Lsn>) -> Result<(), Error> {
    for serial in 0..60 {
        let lsn = append(log, serial, 20_000)?;
        if serial % 4 == 3 {
            log.flush(lsn)?;
            acknowledged.push(lsn);
        }
        if serial == 43 {
            log.truncate(acknowledged[8])?;
        }
    }
    log.flush_all()?;
    Ok(())
}

#[test]
fn a_cut_at_any_call_leaves_a_log_that_opens_with_all_that_was_acknowledged() {
    // Growth by one VLF at a time, and by four.
    cut_at_any_call(Growth::Pages(32));
    cut_at_any_call(Growth::Pages(128));
}

fn cut_at_any_call(growth: Growth) {
    let mut calls = 0;
    loop {
        let disk = MemDisk::new();
        let log = create(&disk, &spec(SMALL, growth));
        disk.fail_after(calls);
        let mut acknowledged = Vec::new();
        let result = work(&log, &mut acknowledged);
        let minimum = if acknowledged.is_empty() { Lsn::ZERO } else { log.minimum() };
        for seed in 0..6 {
            let image = disk.crash(&mut SplitMix64::new(seed ^ (calls << 16)));
            let log = open(&image, minimum)
                .unwrap_or_else(|error| panic!("cut after {calls} calls, seed {seed}: {error}"));
            let found =
                if log.last().is_zero() { Vec::new() } else { records(&log, log.minimum()) };
            let newest = found.last().map_or(Lsn::ZERO, |record| record.0);
            assert!(
                acknowledged.last().is_none_or(|lsn| *lsn <= newest),
                "cut after {calls} calls, seed {seed}"
            );
            assert!(found.windows(2).all(|pair| pair[0].1 + 1 == pair[1].1));
            assert_sound(&contents(&image));
            let next = append(&log, 1000, 50_000).unwrap();
            log.flush(next).unwrap();
            assert_sound(&contents(&image));
        }
        if result.is_ok() {
            break;
        }
        calls += 1;
    }
    assert!(calls > 20, "the work takes {calls} calls");
}

#[test]
fn what_was_found_in_the_page_cache_is_durable_before_it_is_built_upon() {
    struct Nothing;
    impl extentdb_base::env::Rng for Nothing {
        fn next_u64(&mut self) -> u64 {
            0
        }
    }
    let first = MemDisk::new();
    let log = create(&first, &spec(SMALL, Growth::None));
    let from = append(&log, 1, 100).unwrap();
    log.flush(from).unwrap();
    let empty = contents(&first);
    append(&log, 2, 100).unwrap();
    log.flush_all().unwrap();
    // A program died between its write and its sync; the machine did not.
    let disk = disk_with(empty);
    let file = disk.open(Path::new(PATH)).unwrap();
    file.write_at(0, &[&contents(&first)], Durability::Deferred).unwrap();
    drop(file);
    let log = open(&disk, from).unwrap();
    assert_eq!((records(&log, from).len(), log.durable()), (2, log.last()));
    let log = open(&disk.crash(&mut Nothing), from).unwrap();
    assert_eq!(records(&log, from).len(), 2);
}

#[test]
fn an_interrupted_growth_is_done_again_and_leaves_no_rubbish() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::Pages(64)));
    let from = append(&log, 1, 100).unwrap();
    log.flush(from).unwrap();
    let sound = contents(&disk);
    for rubbish in [1, 4096, 8192, 20_000, 300_000, 700_000] {
        let mut bytes = sound.clone();
        bytes.resize(sound.len() + rubbish, 0x90);
        let end = bytes.len();
        bytes[sound.len()..end.min(sound.len() + 0x2001)].fill(0);
        let disk = disk_with(bytes.clone());
        let log = open(&disk, from).unwrap();
        let grown = contents(&disk);
        assert_eq!(assert_sound(&grown), 1);
        assert!(grown.len() >= bytes.len() && grown.len().is_multiple_of(0x10000));
        let stray = grown[sound.len()..]
            .chunks(0x2000)
            .filter(|area| area[0] != 0xab)
            .flatten()
            .any(|byte| *byte != 0);
        assert!(!stray, "{rubbish} bytes of rubbish");
        assert!(append(&log, 2, 50_000).is_ok());
    }
    // A VLF that was in use and lost its header is no growth.
    for serial in 2..40 {
        append(&log, serial, 10_000).unwrap();
    }
    log.flush_all().unwrap();
    let mut bytes = contents(&disk);
    bytes[0x40000..0x40200].fill(0);
    let error = open(&disk_with(bytes), from).unwrap_err();
    assert!(matches!(error, Error::Corrupt { offset: 0x40000, what: Damage::Vlf(_) }), "{error}");
}

#[test]
fn damage_in_the_middle_is_refused_with_its_offset() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::Pages(32)));
    let lsns: Vec<Lsn> = (0..30)
        .map(|serial| {
            let lsn = append(&log, serial, 15_000).unwrap();
            log.flush(lsn).unwrap();
            lsn
        })
        .collect();
    let sound = contents(&disk);
    let position = |lsn: &Lsn| {
        let map = extentdb_format::log::VlfMap::read(&sound).unwrap();
        let vlf = map
            .by_sequence()
            .into_iter()
            .find(|vlf| vlf.header.sequence == lsn.vlf)
            .unwrap()
            .clone();
        vlf.block_offset(*lsn) as usize
    };
    let damaged = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x20;
        open(&disk_with(bytes), lsns[3]).map(|log| records(&log, lsns[3]).len())
    };
    assert_eq!(
        damaged(position(&lsns[1]) + 700).unwrap(),
        27,
        "what lies before the minimum does not matter"
    );
    let error = damaged(position(&lsns[5]) + 700).unwrap_err();
    assert!(
        matches!(error, Error::Corrupt { offset, what: Damage::Block { lsn, .. } }
            if offset == position(&lsns[5]) as u64 && lsn == Lsn { slot: 1, ..lsns[5] }),
        "{error}"
    );
    // A lost stamp in a VLF that is not the newest breaks the chain.
    assert!(lsns[5].vlf < lsns[29].vlf);
    let mut bytes = sound.clone();
    bytes[position(&lsns[5])] = 0;
    let error = open(&disk_with(bytes), lsns[3]).unwrap_err();
    assert!(
        matches!(error, Error::Corrupt { what: Damage::NoBlock { lsn, .. }, .. }
            if lsn == Lsn { slot: 1, ..lsns[5] }),
        "{error}"
    );
    // A VLF header.
    let error = damaged(0x2000 + 0x3e000).unwrap_err();
    assert!(matches!(error, Error::Corrupt { offset: 0x40000, what: Damage::Vlf(_) }), "{error}");
    // The first page.
    let error = damaged(100).unwrap_err();
    assert!(matches!(error, Error::Corrupt { offset: 0, what: Damage::FileHeader }), "{error}");
    // A beginning that is not there.
    for lsn in [
        Lsn::new(5, 16, 1),
        Lsn { block: lsns[3].block + 1, ..lsns[3] },
        Lsn { slot: 9, ..lsns[3] },
    ] {
        let error = open(&disk_with(sound.clone()), lsn).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

#[test]
fn rubbish_is_refused_and_never_a_panic() {
    use extentdb_base::env::Rng;
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::Pages(32)));
    for serial in 0..40 {
        append(&log, serial, 9000).unwrap();
    }
    let from = log.flush_all().unwrap();
    let sound = contents(&disk);
    drop(log);
    let mut opened = 0;
    let mut refused = 0;
    for seed in 0..400 {
        let mut rng = SplitMix64::new(seed);
        let mut bytes = sound.clone();
        for _ in 0..1 + rng.below(30) {
            let zone = if rng.below(2) == 0 { 0x2100 } else { bytes.len() as u64 };
            let at = rng.below(zone) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        if rng.below(4) == 0 {
            bytes.truncate(rng.below(sound.len() as u64) as usize);
        }
        let disk = disk_with(bytes);
        match open(&disk, if seed % 2 == 0 { Lsn::ZERO } else { from }) {
            Ok(log) => {
                opened += 1;
                let lsn = append(&log, 77, 20_000).unwrap();
                log.flush(lsn).unwrap();
                assert_eq!(log.with_record(lsn, read_back).unwrap(), (77, 20_000));
            }
            Err(_) => refused += 1,
        }
    }
    assert!(opened > 0 && refused > 50, "{opened} opened, {refused} refused");
    assert!(disk.exists(Path::new(PATH)));
}
