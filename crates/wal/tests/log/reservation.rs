//! Room for undo.

use extentdb_io::MemDisk;
use extentdb_wal::{Error, Growth, Log};

use crate::harness::*;

fn append_reserving(log: &Log, serial: u32, bytes: usize, reserve: u64) -> Result<(), Error> {
    with_payload(serial, bytes, |header, payload| log.append(header, payload, reserve)).map(drop)
}

fn undo(log: &Log, serial: u32, bytes: usize, reserve: u64) {
    with_payload(serial, bytes, |header, payload| log.append_reserved(header, payload)).unwrap();
    log.release(reserve);
}

/// Fills the log with records of `bytes` whose undo is as large, then undoes all of them.
fn fill_and_undo(bytes: usize, flush_each: bool, sector_bytes: u32) {
    let disk = MemDisk::new();
    let log = create(&disk, &extentdb_wal::LogSpec { sector_bytes, ..spec(1 << 20, Growth::None) });
    let reserve = bytes as u64 + 100;
    let mut done = 0;
    let error = loop {
        match append_reserving(&log, done, bytes, reserve) {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
        if flush_each {
            log.flush_all().unwrap();
        }
    };
    assert!(matches!(error, Error::Full { growth: None, .. }), "{error}");
    assert_eq!(log.reserved_bytes(), u64::from(done) * reserve);
    assert!(done > 0);
    for serial in (0..done).rev() {
        undo(&log, serial, bytes, reserve);
        // Others flush in between: each time a block ends early.
        if done - serial < 24 {
            log.flush_all().unwrap();
        }
    }
    log.flush_all().unwrap();
    assert_eq!(log.reserved_bytes(), 0);
    assert_eq!(assert_sound(&contents(&disk)), 2 * u64::from(done));
}

#[test]
fn what_was_let_in_can_be_undone_to_the_last_record() {
    for bytes in [10, 100, 1000, 3000, 8000, 20_000, 50_000] {
        for flush_each in [false, true] {
            fill_and_undo(bytes, flush_each, 512);
            fill_and_undo(bytes, flush_each, 4096);
        }
    }
}

#[test]
fn a_refused_record_reserves_nothing_and_a_released_one_makes_room() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    append_reserving(&log, 1, 100, 300_000).unwrap();
    let error = append_reserving(&log, 2, 100, 200_000).unwrap_err();
    assert!(
        matches!(error, Error::Full { reserved: 300_000, wanted, .. } if wanted > 200_000),
        "{error}"
    );
    assert_eq!(log.reserved_bytes(), 300_000);
    log.release(300_000);
    append_reserving(&log, 3, 100, 200_000).unwrap();
}

#[test]
fn a_full_log_still_takes_a_checkpoint_and_truncation_frees_it() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let mut serial = 0;
    while append(&log, serial, 5000).is_ok() {
        serial += 1;
    }
    assert!(
        log.used_bytes() * 100 / log.total_bytes() > 80,
        "{} of {}",
        log.used_bytes(),
        log.total_bytes()
    );
    // The records of a checkpoint use the reserved space.
    for _ in 0..3 {
        with_payload(serial, 60, |header, payload| log.append_reserved(header, payload)).unwrap();
    }
    let last = log.flush_all().unwrap();
    assert!(append(&log, serial, 5000).is_err());
    log.truncate(last).unwrap();
    assert!(log.used_bytes() * 100 / log.total_bytes() < 60);
    append(&log, serial, 5000).unwrap();
    assert!(
        matches!(log.truncate(log.last()), Err(Error::NoRecord { .. })),
        "a restart could not begin there"
    );
    log.flush_all().unwrap();
    log.truncate(log.last()).unwrap();
    assert_sound(&contents(&disk));
}

#[test]
fn checkpoints_leave_alone_what_is_reserved_and_use_what_records_leave_to_them() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    log.reserve(100_000).unwrap();
    assert_eq!(log.reserved_bytes(), 100_000);
    let mut serial = 0;
    while append(&log, serial, 5000).is_ok() {
        serial += 1;
    }
    // No more records, no more reservations; but a checkpoint.
    assert!(matches!(log.reserve(5000), Err(Error::Full { reserved: 100_000, .. })));
    log.ensure(8000).unwrap();
    assert!(matches!(log.ensure(100_000), Err(Error::Full { .. })), "that is the room of an undo");
    log.release(100_000);
    log.ensure(100_000).unwrap();
}

#[test]
fn a_log_that_may_grow_does_so_for_reservations_and_checkpoints() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::Pages(64)));
    let before = log.total_bytes();
    log.ensure(before).unwrap();
    let grown = log.total_bytes();
    assert!(grown > before);
    log.reserve(grown).unwrap();
    assert!(log.total_bytes() > grown);
}
