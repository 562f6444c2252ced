//! Group commit under schedules that follow from a seed: `RUSTFLAGS="--cfg shuttle"`, and a target
//! folder of its own.
//!
//! A caller that is not woken is a deadlock, which shuttle reports with the schedule that led to
//! it.
#![cfg(shuttle)]

use std::path::Path;
use std::time::Duration;

use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{Arc, thread};
use extentdb_base::{FileId, XactId};
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::{Context, Op, Payload, RecordHeader};
use extentdb_io::{Disk, DiskFile, Durability, Error as IoError, Fill, MemDisk};
use extentdb_types::Guid;
use extentdb_wal::{Error, Growth, Log, LogSpec};

/// Time stands still.
struct NoTime;

impl Clock for NoTime {
    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn since_epoch(&self) -> Duration {
        Duration::ZERO
    }
}

/// A file that yields in the middle of a write, and fails durable ones from a number on.
#[derive(Debug)]
struct Slow {
    file: Arc<dyn DiskFile>,
    writes_left: AtomicU64,
}

impl DiskFile for Slow {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, IoError> {
        self.file.read_at(offset, buf)
    }

    fn write_at(
        &self,
        offset: u64,
        parts: &[&[u8]],
        durability: Durability,
    ) -> Result<(), IoError> {
        thread::yield_now();
        if durability == Durability::Through {
            let left = self.writes_left.load(Ordering::SeqCst);
            if left == 0 {
                let op = extentdb_io::FileOp::Write;
                let path = self.path().to_path_buf();
                return Err(IoError::File {
                    op,
                    path,
                    source: std::io::ErrorKind::StorageFull.into(),
                });
            }
            self.writes_left.store(left - 1, Ordering::SeqCst);
        }
        self.file.write_at(offset, parts, durability)
    }

    fn sync(&self) -> Result<(), IoError> {
        self.file.sync()
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.file.extend(bytes, fill)
    }
}

fn log(writes: u64) -> Arc<Log> {
    let spec = LogSpec {
        file_id: FileId(2),
        logical_name: "lab_log".into(),
        bytes: 504 << 10,
        growth: Growth::None,
        max_bytes: None,
        binding_id: Guid([1; 16]),
        fork_guid: Guid([0; 16]),
        file_guid: Guid([2; 16]),
        first_sequence: 0x31,
        sector_bytes: 512,
    };
    let file = MemDisk::new().create(Path::new("log.ldf")).unwrap();
    let slow = Arc::new(Slow { file, writes_left: AtomicU64::new(writes) });
    Arc::new(Log::create(slow, &spec, Arc::new(NoTime)).unwrap())
}

/// Appends a row of `bytes` bytes, and makes it durable.
fn commit(log: &Log, serial: u32, bytes: usize) -> Result<(), Error> {
    let row = vec![serial as u8; bytes];
    let header = RecordHeader {
        op: Op::INSERT_ROWS,
        context: Context::HEAP,
        xact: XactId { high: 0, low: serial },
        ..RecordHeader::default()
    };
    let insert = InsertRows {
        fixed: RowPart::default(),
        rows: vec![&row],
        ..InsertRows::default()
    };
    let lsn = log.append(&header, &Payload::InsertRows(insert), 0)?;
    log.flush(lsn)?;
    assert!(log.durable() >= lsn);
    Ok(())
}

/// Of each committer: together they leave a VLF.
const COMMITS: u32 = 3;

/// Four committers, some with rows that fill a block, over a disk that fails after a number of
/// durable writes.
fn commit_side_by_side(writes: u64) {
    let log = log(writes);
    let committers = (0..4u32).map(|number| {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            let bytes = if number < 3 { 40_000 } else { 100 };
            (0..COMMITS).map(|_| commit(&log, number, bytes)).collect::<Vec<_>>()
        })
    });
    let committers: Vec<_> = committers.collect();
    let results: Vec<_> =
        committers.into_iter().flat_map(|committer| committer.join().unwrap()).collect();
    if results.iter().all(Result::is_ok) {
        assert_eq!(log.stats().records, u64::from(4 * COMMITS));
    } else {
        assert!(writes < u64::MAX && log.outage().has_begun());
    }
}

/// Schedules per test: a fixed number of random ones, and as many with few, well placed switches
/// (PCT).
fn explore(test: impl Fn() + Clone + Send + Sync + 'static, schedules: usize) {
    shuttle::check_random(test.clone(), schedules);
    shuttle::check_pct(test, schedules, 3);
}

#[test]
fn every_flush_returns() {
    explore(|| commit_side_by_side(u64::MAX), 1_500);
}

#[test]
fn a_write_that_fails_leaves_nobody_asleep() {
    for writes in [0, 1, 2, 4] {
        explore(move || commit_side_by_side(writes), 400);
    }
}
