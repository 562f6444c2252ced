//! A disk that refuses.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use extentdb_io::{Disk, DiskFile, Durability, Error as IoError, FileOp, Fill, MemDisk};
use extentdb_wal::{Error, Growth, Log};

use crate::harness::*;

/// A file whose durable writes, or growth, can be made to fail.
#[derive(Debug)]
struct Refusing {
    file: Arc<dyn DiskFile>,
    refuses_writes: AtomicBool,
    refuses_growth: AtomicBool,
    writes: AtomicU64,
}

impl Refusing {
    fn on(disk: &MemDisk) -> Arc<Refusing> {
        let file = disk.create(Path::new(PATH)).unwrap();
        Arc::new(Refusing {
            file,
            refuses_writes: AtomicBool::new(false),
            refuses_growth: AtomicBool::new(false),
            writes: AtomicU64::new(0),
        })
    }

    fn refusal(&self, op: FileOp) -> IoError {
        IoError::File {
            op,
            path: self.path().to_path_buf(),
            source: std::io::ErrorKind::StorageFull.into(),
        }
    }
}

impl DiskFile for Refusing {
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
        self.writes.fetch_add(1, Ordering::Relaxed);
        if durability == Durability::Through && self.refuses_writes.load(Ordering::Relaxed) {
            return Err(self.refusal(FileOp::Write));
        }
        self.file.write_at(offset, parts, durability)
    }

    fn sync(&self) -> Result<(), IoError> {
        if self.refuses_writes.load(Ordering::Relaxed) {
            Err(self.refusal(FileOp::Sync))
        } else {
            self.file.sync()
        }
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        if self.refuses_growth.load(Ordering::Relaxed) {
            return Err(self.refusal(FileOp::Resize));
        }
        self.file.extend(bytes, fill)
    }
}

#[test]
fn after_a_failed_write_the_log_is_offline_and_stays_so() {
    let disk = MemDisk::new();
    let file = Refusing::on(&disk);
    let log = Log::create(file.clone(), &spec(SMALL, Growth::None), clock()).unwrap();
    let durable = append(&log, 1, 100).unwrap();
    log.flush(durable).unwrap();
    let lost = append(&log, 2, 100).unwrap();
    file.refuses_writes.store(true, Ordering::Relaxed);
    assert!(matches!(log.flush(lost), Err(Error::Disk(_))));
    // The disk works again; what it did with the block is not known, so nothing is tried again.
    file.refuses_writes.store(false, Ordering::Relaxed);
    let writes = file.writes.load(Ordering::Relaxed);
    assert!(matches!(log.flush(lost), Err(Error::Offline(_))));
    assert!(matches!(log.flush_all(), Err(Error::Offline(_))));
    assert!(matches!(append(&log, 3, 100), Err(Error::Offline(_))));
    assert!(log.outage().has_begun());
    assert_eq!((file.writes.load(Ordering::Relaxed), log.durable()), (writes, durable));
    // What is durable can still be flushed and read.
    log.flush(durable).unwrap();
    assert_eq!(log.with_record(durable, read_back).unwrap(), (1, 100));
}

#[test]
fn everybody_who_waits_learns_of_the_failure() {
    let disk = MemDisk::new();
    let file = Refusing::on(&disk);
    let log = Log::create(file.clone(), &spec(SMALL, Growth::None), clock()).unwrap();
    file.refuses_writes.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let commits: Vec<_> = (0..16)
            .map(|serial| {
                let log = &log;
                scope.spawn(move || append(log, serial, 50).and_then(|lsn| log.flush(lsn)))
            })
            .collect();
        for commit in commits {
            assert!(matches!(commit.join().unwrap(), Err(Error::Disk(_) | Error::Offline(_))));
        }
    });
    assert!(log.durable().is_zero());
}

#[test]
fn a_disk_without_room_is_a_full_log_and_not_its_end() {
    let disk = MemDisk::new();
    let file = Refusing::on(&disk);
    let log = Log::create(file.clone(), &spec(SMALL, Growth::Pages(64)), clock()).unwrap();
    file.refuses_growth.store(true, Ordering::Relaxed);
    let mut serial = 0;
    let error = loop {
        serial += 1;
        if let Err(error) = append(&log, serial, 10_000) {
            break error;
        }
    };
    assert!(
        matches!(&error, Error::Full { growth: Some(_), free, total, .. } if free < total),
        "{error}"
    );
    assert!(serial > 35, "{serial} records of 10 KB in 480 KB");
    // All that was let in can be made durable; when there is room again, it goes on.
    log.flush_all().unwrap();
    file.refuses_growth.store(false, Ordering::Relaxed);
    let lsn = append(&log, serial, 10_000).unwrap();
    log.flush(lsn).unwrap();
    assert_eq!(log.stats().growths, 1);
    assert_eq!(assert_sound(&contents(&disk)), u64::from(serial));
}

#[test]
fn a_growth_that_is_not_durable_takes_the_log_offline() {
    let disk = MemDisk::new();
    let file = Refusing::on(&disk);
    let log = Log::create(file.clone(), &spec(SMALL, Growth::Pages(64)), clock()).unwrap();
    file.refuses_writes.store(true, Ordering::Relaxed);
    let error = (0..).find_map(|serial| append(&log, serial, 10_000).err()).unwrap();
    assert!(matches!(error, Error::Disk(_)), "{error}");
    assert!(log.outage().has_begun());
}

#[test]
fn what_no_log_can_hold_is_refused_by_name() {
    let disk = MemDisk::new();
    let log = create(&disk, &spec(SMALL, Growth::None));
    append(&log, 1, 61_000).unwrap();
    let error = append(&log, 2, 61_400).unwrap_err();
    assert!(matches!(error, Error::RecordTooBig { bytes, most } if bytes > most), "{error}");
    let short = with_payload(3, 10, |header, payload| {
        let header = extentdb_format::log::RecordHeader { fixed_len: 24, ..*header };
        log.append(&header, payload, 0)
    });
    assert!(matches!(short, Err(Error::BadRecord(_))));
    log.flush_all().unwrap();
    assert_eq!(assert_sound(&contents(&disk)), 1);

    let other = disk.create(Path::new("other")).unwrap();
    let small = Log::create(other.clone(), &spec(100_000, Growth::None), clock());
    assert!(matches!(small, Err(Error::TooSmall { .. })));
    other.write_at(0, &[b"x"], Durability::Deferred).unwrap();
    assert!(matches!(
        Log::create(other, &spec(SMALL, Growth::None), clock()),
        Err(Error::NotEmpty { bytes: 1 })
    ));
}
