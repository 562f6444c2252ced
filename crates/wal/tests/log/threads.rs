//! Many committers on a real disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use extentdb_base::Lsn;
use extentdb_io::{Disk, DurabilityMode, RealDisk};
use extentdb_wal::{Growth, Log, LogStats};

use crate::harness::*;

/// Commits of `threads` committers, each a record and a flush; then a restart, and everything must
/// be there.
fn commit(mode: DurabilityMode, threads: u32, commits: u32) -> LogStats {
    let folder = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(mode);
    let path = folder.path().join("log.ldf");
    let log = Log::create(disk.create(&path).unwrap(), &spec(1 << 20, Growth::Pages(128)), clock())
        .unwrap();
    let log = Arc::new(log);
    let acknowledged: BTreeMap<Lsn, (u32, usize)> = std::thread::scope(|scope| {
        let committers: Vec<_> = (0..threads)
            .map(|thread| {
                let log = Arc::clone(&log);
                scope.spawn(move || {
                    let commit = |number| {
                        let serial = thread << 16 | number;
                        let bytes = 100 + (number as usize * 37) % 900;
                        let lsn = append(&log, serial, bytes).unwrap();
                        log.flush(lsn).unwrap();
                        assert!(log.durable() >= lsn);
                        (lsn, (serial, bytes))
                    };
                    (0..commits).map(commit).collect::<Vec<_>>()
                })
            })
            .collect();
        committers.into_iter().flat_map(|committer| committer.join().unwrap()).collect()
    });
    assert_eq!(acknowledged.len() as u32, threads * commits);
    let stats = log.stats();
    drop(log);
    let log = Log::open(disk.open(&path).unwrap(), Lsn::ZERO, clock()).unwrap();
    let found = records(&log, log.minimum());
    let found: BTreeMap<Lsn, (u32, usize)> =
        found.into_iter().map(|(lsn, serial, bytes)| (lsn, (serial, bytes))).collect();
    assert_eq!(found, acknowledged);
    assert_eq!(assert_sound(&std::fs::read(&path).unwrap()), u64::from(threads * commits));
    stats
}

#[test]
fn every_commit_of_every_thread_is_there() {
    for threads in [1, 2, 5, 16] {
        for mode in [DurabilityMode::ForcedFlush, DurabilityMode::Fua, DurabilityMode::Auto] {
            let stats = commit(mode, threads, 30);
            assert_eq!(stats.records, u64::from(threads) * 30);
            assert!(stats.flushes <= stats.flush_waits);
        }
    }
}

#[test]
fn one_committer_writes_once_per_commit_and_many_share_their_writes() {
    let one = commit(DurabilityMode::ForcedFlush, 1, 60);
    assert_eq!((one.flushes, one.flush_waits), (60, 60));
    let many = commit(DurabilityMode::ForcedFlush, 64, 40);
    let shared = many.flush_waits as f64 / many.flushes as f64;
    println!("64 committers: {shared:.1} commits per flush; {many:?}");
    println!("1 committer: {one:?}");
    // How many share one depends on the device and on other load; the bench measures it.
    assert!(shared > 1.0, "{shared:.1} commits per flush");
}

#[test]
fn threads_that_append_much_and_never_flush_share_the_buffers() {
    let folder = tempfile::tempdir().unwrap();
    let disk = RealDisk::new(DurabilityMode::Auto);
    let path = folder.path().join("log.ldf");
    let log =
        Log::create(disk.create(&path).unwrap(), &spec(2 << 20, Growth::Percent(50)), clock())
            .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..400 {
                    let bytes = [40, 900, 8000][number as usize % 3];
                    let lsn = append(log, thread << 16 | number, bytes).unwrap();
                    if number % 50 == 0 {
                        assert_eq!(
                            log.with_record(lsn, read_back).unwrap(),
                            (thread << 16 | number, bytes)
                        );
                    }
                }
            });
        }
    });
    log.flush_all().unwrap();
    let stats = log.stats();
    assert!(stats.buffer_waits > 0 && stats.growths > 0, "{stats:?}");
    assert_eq!(records(&log, log.minimum()).len(), 3200);
    assert_eq!(assert_sound(&std::fs::read(&path).unwrap()), 3200);
}
