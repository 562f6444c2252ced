//! What the caller knows about a log when it is opened, and the emergency cut.

use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::Lsn;
use extentdb_format::log::fault::VlfFault;
use extentdb_format::log::{Op, VlfMap};
use extentdb_io::{Disk, MemDisk};
use extentdb_types::Guid;
use extentdb_wal::{
    Damage, Error, Examined, Growth, Log, LogSpec, Lost, OnDamage, OpenOptions, OpenedLog,
};

use crate::harness::*;

/// A log of four VLFs, all of them used, some twice; its records from the minimum on.
struct Sample {
    bytes: Vec<u8>,
    from: Lsn,
    records: Vec<(Lsn, u32, usize)>,
}

fn sample() -> Sample {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(2 * SMALL, Growth::None));
    let mut records = Vec::new();
    for serial in 0..90 {
        let bytes = 15_000;
        let lsn = append(&log, serial, bytes).unwrap();
        log.flush(lsn).unwrap();
        records.push((lsn, serial, bytes));
        if records.len() > 30 {
            records.remove(0);
            log.truncate(records[0].0).unwrap();
        }
    }
    assert!(records[29].0.vlf > records[0].0.vlf + 1 && records[29].0.vlf > FIRST + 4);
    Sample { bytes: contents(&disk), from: records[0].0, records }
}

fn disk_with(bytes: Vec<u8>) -> MemDisk {
    let disk = MemDisk::new();
    disk.put(Path::new(PATH), bytes);
    disk
}

fn open_with(disk: &MemDisk, options: &OpenOptions) -> Result<OpenedLog, Error> {
    Log::open_with(disk.open(Path::new(PATH)).unwrap(), options, clock())
}

/// Offset in the file of the block of a record.
fn offset_of(bytes: &Vec<u8>, lsn: Lsn) -> usize {
    let map = VlfMap::read(bytes).unwrap();
    let vlfs = map.by_sequence();
    vlfs.iter().find(|vlf| vlf.header.sequence == lsn.vlf).unwrap().block_offset(lsn) as usize
}

/// Offset in the file of the VLF with a sequence number.
fn vlf_at(bytes: &Vec<u8>, sequence: u32) -> usize {
    offset_of(bytes, Lsn::new(sequence, 0, 1))
}

/// What an examination says, and the last record that it hands out; it changes nothing.
fn examine(disk: &MemDisk, options: &OpenOptions) -> (Examined, Lsn) {
    let before = contents(disk);
    let mut last = Lsn::ZERO;
    let file = disk.open(Path::new(PATH)).unwrap();
    let examined = Log::examine(&*file, options, &mut |lsn, record| {
        if record.header().op != Op::DURABLE_MARK {
            last = lsn;
        }
        ControlFlow::Continue(())
    });
    assert!(contents(disk) == before);
    (examined.unwrap(), last)
}

/// Cuts a damaged log that is refused otherwise, and goes on with it over all its VLFs.
fn cut(bytes: Vec<u8>, sample: &Sample) -> (Lost, usize) {
    let disk = disk_with(bytes);
    let refused = open(&disk, sample.from).unwrap_err();
    let Error::Corrupt { offset, what } = refused else { panic!("{refused}") };
    let options = OpenOptions {
        from: sample.from,
        on_damage: OnDamage::CutHere,
        ..OpenOptions::default()
    };
    let (examined, before_end) = examine(&disk, &options);
    let OpenedLog { log, lost } = open_with(&disk, &options).unwrap();
    let lost = lost.unwrap();
    assert_eq!((lost.offset, lost.what), (offset, what));
    assert_eq!(lost.from, log.next());
    assert_eq!((examined.lost, examined.from, examined.end), (Some(lost), sample.from, lost.from));
    assert!(examined.newest_vlf >= sample.records[29].0.vlf);
    assert_eq!(before_end, log.last());
    let found = records(&log, sample.from);
    assert_eq!(found, sample.records[..found.len()]);
    assert_sound_from(&disk, sample.from);
    // The log goes round, over all that was erased.
    for serial in 1000..1060 {
        let lsn = append(&log, serial, 20_000).unwrap();
        log.flush(lsn).unwrap();
        log.truncate(lsn).unwrap();
    }
    let from = log.minimum();
    let last = log.last();
    drop(log);
    assert_eq!(open(&disk, from).unwrap().last(), last);
    (lost, found.len())
}

/// The log opens without an emergency.
fn assert_sound_from(disk: &MemDisk, from: Lsn) {
    open(&disk_with(contents(disk)), from).unwrap();
}

#[test]
fn an_emergency_cut_ends_the_log_before_a_damaged_block() {
    let sample = sample();
    let newest = sample.records[29].0;
    // In a VLF in the middle: a wrong byte, and a lost block.
    let at = offset_of(&sample.bytes, sample.records[3].0);
    for erase in [1, 512] {
        let mut bytes = sample.bytes.clone();
        bytes[at + 700..at + 700 + erase].fill(0x21);
        let (lost, left) = cut(bytes, &sample);
        assert_eq!((left, lost.from), (3, Lsn { slot: 1, ..sample.records[3].0 }));
        assert_eq!(lost.proven_to, Some(Lsn::new(newest.vlf, 0, 0)));
    }
    // In the newest VLF.
    let mut bytes = sample.bytes.clone();
    let at = offset_of(&sample.bytes, sample.records[27].0);
    assert_eq!(sample.records[27].0.vlf, newest.vlf);
    bytes[at..at + 512].fill(0);
    let (lost, left) = cut(bytes, &sample);
    assert_eq!((left, lost.proven_to), (27, Some(sample.records[28].0)));
    // In the last write: nothing says that it was ever acknowledged.
    let mut bytes = sample.bytes.clone();
    bytes[offset_of(&sample.bytes, newest) + 512] = 0x77;
    let (lost, left) = cut(bytes, &sample);
    assert_eq!((left, lost.proven_to), (29, None));
    assert!(matches!(lost.what, Damage::Tail { .. }), "{}", lost.what);
}

#[test]
fn an_emergency_cut_erases_vlfs_whose_headers_are_older_than_their_blocks() {
    let sample = sample();
    let newest = sample.records[29].0.vlf;
    let at = vlf_at(&sample.bytes, newest);
    let mut bytes = sample.bytes.clone();
    // The header of the use before, as a lost write leaves it.
    bytes[at + 4..at + 8].copy_from_slice(&(newest - 4).to_le_bytes());
    bytes[at + 1] ^= 0xc0;
    let (lost, left) = cut(bytes, &sample);
    let expected = Damage::VlfHeader { sequence: newest - 4, block: Lsn::new(newest, 16, 1) };
    assert_eq!((lost.what, lost.offset), (expected, at as u64));
    assert_eq!(left, sample.records.iter().filter(|record| record.0.vlf < newest).count());
}

#[test]
fn a_cut_that_is_interrupted_leaves_a_log_that_is_refused_or_cut() {
    let sample = sample();
    let at = offset_of(&sample.bytes, sample.records[3].0);
    let mut bytes = sample.bytes.clone();
    bytes[at + 700] ^= 1;
    let options = OpenOptions {
        from: sample.from,
        on_damage: OnDamage::CutHere,
        ..OpenOptions::default()
    };
    let mut refused = 0;
    let mut sound = 0;
    let mut calls = 0;
    loop {
        let disk = disk_with(bytes.clone());
        let file = disk.open(Path::new(PATH)).unwrap();
        disk.fail_after(calls);
        let result = Log::open_with(file, &options, clock());
        let is_done = result.is_ok();
        let image = disk.crash(&mut extentdb_base::env::SplitMix64::new(calls));
        match open(&image, sample.from) {
            Ok(log) => {
                assert_eq!(records(&log, sample.from), sample.records[..3]);
                sound += 1;
            }
            Err(_) => refused += 1,
        }
        let log = open_with(&image, &options).unwrap().log;
        assert_eq!(records(&log, sample.from), sample.records[..3]);
        if is_done {
            break;
        }
        calls += 1;
    }
    assert!(refused > 10 && sound > 0, "{refused} refused, {sound} sound");
}

#[test]
fn without_its_first_block_or_its_header_page_no_log_is_cut() {
    let sample = sample();
    for at in [100, 0x2000, offset_of(&sample.bytes, sample.from) + 600] {
        let mut bytes = sample.bytes.clone();
        bytes[at] ^= 0x10;
        let options = OpenOptions {
            from: sample.from,
            on_damage: OnDamage::CutHere,
            ..OpenOptions::default()
        };
        let error = open_with(&disk_with(bytes), &options).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
    let options = OpenOptions { from: sample.from, ..OpenOptions::default() };
    assert_eq!(
        open_with(&disk_with(sample.bytes), &options).unwrap().lost,
        None,
        "a sound log loses nothing"
    );
}

#[test]
fn a_log_that_ends_before_what_is_known_to_be_durable_is_refused() {
    let sample = sample();
    let last = sample.records[29].0;
    let from = sample.from;
    let with = |durable_at_least, on_damage| OpenOptions { from, durable_at_least, on_damage };
    let disk = disk_with(sample.bytes.clone());
    for known in [Lsn::ZERO, from, last] {
        open_with(&disk, &with(known, OnDamage::Refuse)).unwrap();
    }
    // The last write was replaced by what lay there before: no byte of the log says so.
    let mut bytes = sample.bytes.clone();
    let at = offset_of(&sample.bytes, last);
    let len = u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]);
    bytes[at..at + usize::from(len)].fill(0);
    let disk = disk_with(bytes);
    open_with(&disk_with(contents(&disk)), &with(sample.records[28].0, OnDamage::Refuse)).unwrap();
    let error = open_with(&disk, &with(last, OnDamage::Refuse)).unwrap_err();
    let end = Lsn { slot: 1, ..last };
    let expected = Damage::EndsBefore { durable: last, end };
    assert!(matches!(error, Error::Corrupt { what, .. } if what == expected), "{error}");
    let lost = open_with(&disk, &with(last, OnDamage::CutHere)).unwrap().lost.unwrap();
    assert_eq!((lost.from, lost.proven_to), (end, Some(last)));
    let later = Lsn::new(last.vlf + 1, 16, 2);
    assert!(open_with(&disk_with(sample.bytes), &with(later, OnDamage::Refuse)).is_err());
}

#[test]
fn a_log_says_which_database_it_belongs_to() {
    let disk = MemDisk::new();
    let guids = LogSpec {
        binding_id: Guid([5; 16]),
        file_guid: Guid([6; 16]),
        ..spec(SMALL, Growth::None)
    };
    drop(create(&disk, &guids));
    let file = disk.open(Path::new(PATH)).unwrap();
    let identity = Log::identity(&*file).unwrap();
    assert_eq!((identity.binding_id, identity.file_guid), (Guid([5; 16]), Guid([6; 16])));
    assert_eq!((identity.fork_guid, identity.redo_start_fork.lsn), (Guid([0; 16]), Lsn::ZERO));
    let mut bytes = contents(&disk);
    bytes[200] ^= 4;
    let error = Log::identity(&*disk_with(bytes).open(Path::new(PATH)).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Corrupt { offset: 0, what: Damage::FileHeader }), "{error}");
}

#[test]
fn a_vlf_whose_size_hides_the_next_ones_is_refused() {
    let disk = MemDisk::new();
    // VLFs of 80000 hex: one bit more, and a VLF covers the two after it.
    let log = create(&disk, &spec(0x2000 + 4 * 0x8_0000, Growth::None));
    let from = append(&log, 1, 100).unwrap();
    log.flush(from).unwrap();
    drop(log);
    let mut bytes = contents(&disk);
    let sizes: Vec<u64> =
        VlfMap::read(&bytes).unwrap().vlfs().iter().map(|vlf| vlf.header.size).collect();
    assert_eq!(sizes, [0x8_0000; 4]);
    bytes[0x2000 + 0x12] ^= 0x10;
    let error = open(&disk_with(bytes.clone()), from).unwrap_err();
    let hidden = Damage::HiddenVlf { at: 0x10_2000 };
    assert!(matches!(error, Error::Corrupt { offset: 0x2000, what } if what == hidden), "{error}");
    bytes[0x2000 + 0x10] ^= 0x10;
    let error = open(&disk_with(bytes), from).unwrap_err();
    assert!(
        matches!(error, Error::Corrupt { what: Damage::Vlf(VlfFault::Size { .. }), .. }),
        "{error}"
    );
}
