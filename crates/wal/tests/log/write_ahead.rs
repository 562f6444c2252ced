//! Log blocks that are written when half of the log buffers are full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use extentdb_base::Lsn;
use extentdb_io::MemDisk;
use extentdb_wal::{Growth, Log};

use crate::harness::*;

/// Records of which a block holds seven.
const BYTES: usize = 8000;

/// A log, and how often it has asked for a write.
fn signalling_log() -> (Log, Arc<AtomicUsize>) {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(16 << 20, Growth::Percent(50)));
    let signals = Arc::new(AtomicUsize::new(0));
    let counted = signals.clone();
    log.on_half_full(Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    }));
    (log, signals)
}

#[test]
fn nothing_is_written_before_half_of_the_buffers_are_full() {
    let (log, signals) = signalling_log();
    for serial in 0..200 {
        append(&log, serial, BYTES).unwrap();
    }
    assert_eq!(signals.load(Ordering::Relaxed), 0);
    assert!(!log.write_if_half_full().unwrap());
    assert_eq!((log.durable(), log.stats().writes), (Lsn::ZERO, 0));
}

#[test]
fn a_writer_that_heeds_the_signal_spares_appends_the_wait() {
    let (log, signals) = signalling_log();
    let mut served = 0;
    for serial in 0..2000 {
        append(&log, serial, BYTES).unwrap();
        if signals.load(Ordering::Relaxed) > served {
            served = signals.load(Ordering::Relaxed);
            let before = log.durable();
            assert!(log.write_if_half_full().unwrap());
            assert!(log.durable() > before && log.durable() < log.last(), "what is closed");
            assert!(!log.write_if_half_full().unwrap(), "the buffers are empty again");
        }
    }
    let stats = log.stats();
    assert!(served > 5, "{served} signals");
    assert_eq!((stats.writes_ahead as usize, stats.buffer_waits, stats.flushes), (served, 0, 0));
    log.flush_all().unwrap();
    assert_eq!(records(&log, log.minimum()).len(), 2000);
}

#[test]
fn without_a_writer_the_append_that_finds_no_buffer_writes() {
    let (log, signals) = signalling_log();
    for serial in 0..2000 {
        append(&log, serial, BYTES).unwrap();
    }
    let stats = log.stats();
    assert!(stats.buffer_waits > 0 && stats.writes_ahead == 0, "{stats:?}");
    assert!(signals.load(Ordering::Relaxed) as u64 > stats.buffer_waits);
    log.flush_all().unwrap();
    assert_eq!(records(&log, log.minimum()).len(), 2000);
}
