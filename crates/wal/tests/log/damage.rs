//! Damaged sectors of the log: every opening has all that was acknowledged, or is refused.

use std::collections::BTreeSet;
use std::path::Path;

use extentdb_base::Lsn;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_io::MemDisk;
use extentdb_wal::{Damage, Error, Growth, Log, LogSpec};

use crate::harness::*;

/// Bytes of a sector of the device, as far as damage goes.
const SECTOR: usize = 512;

/// VLFs of the logs here.
const VLFS: u64 = 4;

/// How a sector is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransactionKind {
    /// One bit.
    Flip,
    /// The bits of one byte, as chance has it.
    Byte,
    Random,
    Zeros,
    /// What lay there before.
    Old,
}

const KINDS: [TransactionKind; 5] = [
    TransactionKind::Flip,
    TransactionKind::Byte,
    TransactionKind::Random,
    TransactionKind::Zeros,
    TransactionKind::Old,
];

/// A log after some work, and what lay in its sectors before.
struct Story {
    log: Vec<u8>,
    /// For each sector what it held before its last change.
    old: Vec<u8>,
    /// The minimum LSN.
    from: Lsn,
    /// All records from there on. They were acknowledged.
    records: Vec<(Lsn, u32, usize)>,
    /// Sectors of the last write.
    last_write: BTreeSet<usize>,
    /// How many of the records that write held.
    last_records: usize,
}

impl Story {
    /// Notes what a write has changed.
    fn note(&mut self, now: Vec<u8>) {
        self.old.resize(now.len(), 0);
        self.log.resize(now.len(), 0);
        self.last_write.clear();
        for sector in 0..now.len() / SECTOR {
            let range = sector * SECTOR..(sector + 1) * SECTOR;
            if self.log[range.clone()] != now[range.clone()] {
                self.old[range.clone()].copy_from_slice(&self.log[range]);
                self.last_write.insert(sector);
            }
        }
        self.log = now;
    }
}

/// Goes round the log until its VLFs were used `turns` times, then some more: records of all sizes,
/// several in a write, several blocks in a write.
fn story(sector_bytes: u32, turns: u32) -> Story {
    let disk = MemDisk::new();
    let log = create(&disk, &LogSpec { sector_bytes, ..spec(VLFS * SMALL / 2, Growth::None) });
    let mut rng = SplitMix64::new(u64::from(sector_bytes) + u64::from(turns));
    let mut story = Story {
        log: contents(&disk),
        old: contents(&disk),
        from: Lsn::ZERO,
        records: Vec::new(),
        last_write: BTreeSet::new(),
        last_records: 0,
    };
    let last_vlf = FIRST + VLFS as u32 * turns - 1;
    let mut writes_in_last = 0;
    for serial in 0.. {
        story.last_records = 0;
        for _ in 0..1 + rng.below(4) {
            let bytes = [60, 300, 1100, 9000][rng.below(4) as usize];
            let lsn = append(&log, serial, bytes).unwrap();
            story.records.push((lsn, serial, bytes));
            story.last_records += 1;
        }
        let last = log.flush_all().unwrap();
        story.note(contents(&disk));
        writes_in_last += u32::from(last.vlf == last_vlf);
        if writes_in_last == 12 {
            break;
        }
        // The active part is a few writes long, and ends in the VLF before.
        let from = story.records[story.records.len().saturating_sub(20)].0;
        if from.vlf < last_vlf {
            log.truncate(from).unwrap();
            story.from = from;
        }
    }
    let from = story.from;
    story.records.retain(|record| record.0 >= from);
    assert!(story.last_records < story.records.len() && from.vlf < last_vlf);
    story
}

/// The sectors that the contract is about: the first page, the headers of VLFs, the active log.
fn sectors_in_use(story: &Story) -> Vec<usize> {
    let map = extentdb_format::log::VlfMap::read(&story.log).unwrap();
    let mut sectors: Vec<usize> = (0..16).collect();
    let first = story.from;
    let last = story.records.last().unwrap().0;
    for vlf in map.vlfs() {
        sectors.push(vlf.offset as usize / SECTOR);
        let start = if vlf.header.sequence == first.vlf {
            vlf.block_offset(first)
        } else {
            vlf.offset + 0x2000
        };
        let end = if vlf.header.sequence == last.vlf { vlf.block_offset(last) } else { vlf.end() };
        if (first.vlf..=last.vlf).contains(&vlf.header.sequence) {
            sectors.extend(start as usize / SECTOR..end as usize / SECTOR);
        }
    }
    sectors.extend(&story.last_write);
    sectors.sort_unstable();
    sectors.dedup();
    sectors
}

fn damage(story: &Story, sector: usize, kind: TransactionKind, rng: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = story.log.clone();
    let range = sector * SECTOR..(sector + 1) * SECTOR;
    let old = &story.old[range.clone()];
    let target = &mut bytes[range];
    // Half of the flips hit the head of the sector, where stamps and headers are.
    let zone = if rng.below(2) == 0 { 48 } else { SECTOR as u64 };
    let at = rng.below(zone) as usize;
    match kind {
        TransactionKind::Flip => target[at] ^= 1 << rng.below(8),
        TransactionKind::Byte => target[at] = rng.next_u64() as u8,
        TransactionKind::Random => target.fill_with(|| rng.next_u64() as u8),
        TransactionKind::Zeros => target.fill(0),
        TransactionKind::Old => target.copy_from_slice(old),
    }
    bytes
}

fn disk_with(bytes: Vec<u8>) -> MemDisk {
    let disk = MemDisk::new();
    disk.put(Path::new(PATH), bytes);
    disk
}

/// Did the damage leave a stamp that looks like that of an earlier use, or zeros?
fn looks_old(bytes: &[u8], sector: usize, parity_now: u8) -> bool {
    let stamp = bytes[sector * SECTOR];
    stamp & 0xc0 == parity_now ^ 0xc0
        || bytes[sector * SECTOR..][..SECTOR].iter().all(|byte| *byte == 0)
}

/// Opens a damaged log. True when it was refused.
fn assert_contract(story: &Story, bytes: Vec<u8>, sector: usize, kind: TransactionKind) -> bool {
    let what = format!("sector {sector:#x}, {kind:?}");
    let is_last = story.last_write.contains(&sector);
    let parity = story.log[*story.last_write.first().unwrap() * SECTOR] & 0xc0;
    let may_look_torn = is_last && looks_old(&bytes, sector, parity);
    let disk = disk_with(bytes);
    let log = match open(&disk, story.from) {
        Ok(log) => log,
        Err(Error::Corrupt { .. }) => return true,
        Err(error) => panic!("{what}: {error}"),
    };
    let found = records(&log, story.from);
    if found != story.records {
        assert!(may_look_torn, "{what}: {} of {} records", found.len(), story.records.len());
        assert!(found.len() >= story.records.len() - story.last_records, "{what}");
        assert_eq!(found, story.records[..found.len()], "{what}");
    }
    false
}

fn every_damaged_sector(story: &Story) {
    let mut rng = SplitMix64::new(5);
    let mut refused = 0;
    let mut openings = 0;
    let sectors = sectors_in_use(story);
    for sector in &sectors {
        for kind in KINDS {
            let bytes = damage(story, *sector, kind, &mut rng);
            if bytes == story.log {
                continue;
            }
            openings += 1;
            refused += u32::from(assert_contract(story, bytes, *sector, kind));
        }
    }
    println!("{} sectors, {openings} openings, {refused} refused", sectors.len());
    assert!(refused > openings * 3 / 4, "{refused} of {openings}");
}

#[test]
fn a_damaged_sector_never_cuts_the_log_in_silence() {
    every_damaged_sector(&story(512, 1));
    every_damaged_sector(&story(512, 2));
}

#[test]
fn a_damaged_sector_never_cuts_a_log_of_4096_byte_sectors_in_silence() {
    every_damaged_sector(&story(4096, 1));
    every_damaged_sector(&story(4096, 3));
}

/// A write of several blocks over a log, of which a power cut keeps any sectors.
fn last_write(story: &Story, rows: &[usize]) -> Vec<u8> {
    let disk = disk_with(story.log.clone());
    let log = open(&disk, story.from).unwrap();
    let writes = log.stats().writes;
    for bytes in rows {
        append(&log, 7777, *bytes).unwrap();
    }
    log.flush_all().unwrap();
    assert_eq!(log.stats().writes, writes + 1, "one write");
    contents(&disk)
}

/// The sectors in which two images differ, in units of the device.
fn changed_units(before: &[u8], after: &[u8], unit: usize) -> Vec<usize> {
    let differs =
        |at: &usize| before[at * unit..(at + 1) * unit] != after[at * unit..(at + 1) * unit];
    (0..before.len() / unit).filter(differs).collect()
}

/// The image after a power cut that kept these units of the last write.
fn torn(
    before: &[u8],
    after: &[u8],
    unit: usize,
    survivors: impl Iterator<Item = usize>,
) -> Vec<u8> {
    let mut image = before.to_vec();
    for at in survivors {
        image[at * unit..(at + 1) * unit].copy_from_slice(&after[at * unit..(at + 1) * unit]);
    }
    image
}

#[test]
fn any_sectors_of_the_last_write_may_survive() {
    for (sector_bytes, turns) in [(512, 1), (512, 2), (4096, 1), (4096, 2)] {
        let story = story(sector_bytes, turns);
        let unit = sector_bytes as usize;
        for rows in [vec![300], vec![5000, 80], vec![50_000, 20_000, 1000]] {
            let after = last_write(&story, &rows);
            let units = changed_units(&story.log, &after, unit);
            let mut rng = SplitMix64::new(rows.len() as u64);
            for round in 0..150 {
                let share = rng.below(11);
                let survivors = units.iter().copied().filter(|_| rng.below(10) < share);
                let mut image =
                    torn(&story.log, &after, unit, survivors.collect::<Vec<_>>().into_iter());
                // Clearing it was interrupted, too.
                if round % 3 == 0 {
                    for at in units.iter().filter(|_| rng.below(3) == 0) {
                        image[at * unit..(at + 1) * unit].fill(0);
                    }
                }
                let disk = disk_with(image);
                let log = open(&disk, story.from)
                    .unwrap_or_else(|error| panic!("round {round}: {error}"));
                let found = records(&log, story.from);
                assert_eq!(found[..story.records.len()], story.records);
                assert_sound(&contents(&disk));
            }
        }
    }
}

#[test]
fn a_torn_last_write_still_proves_the_ones_before_it() {
    let story = story(512, 2);
    let after = last_write(&story, &[50_000, 20_000]);
    let units = changed_units(&story.log, &after, SECTOR);
    // Nothing but the first sector of the torn write survived.
    let image = torn(&story.log, &after, SECTOR, units.first().copied().into_iter());
    assert_eq!(
        records(&open(&disk_with(image.clone()), story.from).unwrap(), story.from),
        story.records
    );
    for sector in &story.last_write {
        for fill in [TransactionKind::Zeros, TransactionKind::Old] {
            let mut damaged = image.clone();
            let range = sector * SECTOR..(sector + 1) * SECTOR;
            match fill {
                TransactionKind::Zeros => damaged[range].fill(0),
                _ => damaged[range.clone()].copy_from_slice(&story.old[range]),
            }
            let error = open(&disk_with(damaged), story.from).unwrap_err();
            let is_proven = matches!(error, Error::Corrupt { what: Damage::EndsEarly { .. }, .. });
            assert!(is_proven, "sector {sector:#x}: {error}");
        }
    }
}

/// A write of more than the first sector of a log.
fn first_write(log: &Log) {
    append(log, 1, 40_000).unwrap();
    append(log, 2, 40_000).unwrap();
    log.flush_all().unwrap();
}

#[test]
fn the_first_write_of_a_log_may_be_torn_like_any_other() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let before = contents(&disk);
    first_write(&log);
    let after = contents(&disk);
    let units = changed_units(&before, &after, SECTOR);
    let mut rng = SplitMix64::new(1);
    for _ in 0..100 {
        let survivors: Vec<usize> = units.iter().copied().filter(|_| rng.below(2) == 0).collect();
        let disk = disk_with(torn(&before, &after, SECTOR, survivors.into_iter()));
        let log = open(&disk, Lsn::ZERO).unwrap();
        assert!(log.last().is_zero());
        first_write(&log);
        assert_eq!(assert_sound(&contents(&disk)), 2);
    }
}
