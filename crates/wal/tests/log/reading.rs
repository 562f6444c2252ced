//! Records read back.

use std::ops::ControlFlow;
use std::path::Path;

use extentdb_base::Lsn;
use extentdb_io::{Disk, MemDisk};
use extentdb_wal::{Error, Growth, Log};

use crate::harness::*;

#[test]
fn a_record_is_found_in_memory_and_in_the_file() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::Pages(256)));
    let mut lsns = Vec::new();
    for serial in 0..300 {
        lsns.push(append(&log, serial, 100 + 20 * serial as usize).unwrap());
        if serial == 100 {
            log.flush_all().unwrap();
        }
        for (serial, lsn) in lsns.iter().enumerate().step_by(7) {
            assert_eq!(
                log.with_record(*lsn, read_back).unwrap(),
                (serial as u32, 100 + 20 * serial)
            );
        }
    }
    assert!(log.durable() < lsns[299]);
    assert_eq!(records(&log, lsns[50]).len(), 250);
    let mut seen = 0;
    log.scan(lsns[0], &mut |lsn, record| {
        assert_eq!(lsn, lsns[seen]);
        assert_eq!(read_back(record).0, seen as u32);
        // A reader does not keep others from writing.
        append(&log, 1000, 10).unwrap();
        seen += 1;
        if seen == 280 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(seen, 280);
}

#[test]
fn what_is_not_in_the_log_is_not_found() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    let first = append(&log, 1, 100).unwrap();
    log.flush(first).unwrap();
    let second = append(&log, 2, 100).unwrap();
    let strange = [
        Lsn::ZERO,
        Lsn { slot: 0, ..first },
        Lsn { slot: 3, ..first },
        Lsn { slot: 9, ..second },
        Lsn { block: 0, ..first },
        Lsn { vlf: 7, ..first },
        Lsn::new(u32::MAX, u32::MAX, u16::MAX),
    ];
    for lsn in strange {
        assert!(matches!(log.with_record(lsn, |_| ()), Err(Error::NoRecord { .. })), "{lsn}");
    }
    let between = Lsn { block: first.block + 9, ..first };
    assert!(log.with_record(between, |_| ()).is_err());
    // Truncated and overwritten: lost, in the file and in the cache.
    for serial in 0..100 {
        let lsn = append(&log, serial, 10_000).unwrap();
        log.flush(lsn).unwrap();
        log.truncate(lsn).unwrap();
    }
    assert!(matches!(
        log.scan(first, &mut |_, _| ControlFlow::Continue(())),
        Err(Error::NoRecord { .. })
    ));
}

#[test]
fn walking_backwards_through_a_long_transaction_reads_the_file_in_large_pieces() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(4 << 20, Growth::None));
    let mut lsns = Vec::new();
    for serial in 0..2000 {
        // Each record in a block of its own, as when others commit in between.
        lsns.push(append(&log, serial, 300).unwrap());
        log.flush_all().unwrap();
    }
    drop(log);
    let file = disk.open(Path::new(PATH)).unwrap();
    let log = Log::open(file.clone(), lsns[0], clock()).unwrap();
    let before = file.counters().reads;
    for (serial, lsn) in lsns.iter().enumerate().rev() {
        assert_eq!(log.with_record(*lsn, read_back).unwrap().0, serial as u32);
    }
    let reads = file.counters().reads - before;
    assert!(reads <= 8, "{reads} reads for 1 MB of log");
}
