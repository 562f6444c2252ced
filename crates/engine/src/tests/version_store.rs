//! The version store of a server: what is kept is read back or gone, never another record.

use std::time::Duration;

use extentdb_base::sync::{Arc, thread};
use extentdb_base::{DatabaseId, SessionId, XactId};
use extentdb_io::MemDisk;
use extentdb_rowset::version::VersionPointer;
use extentdb_txn::versions::{DatabaseCommits, SnapshotKind, TakenSnapshot};

use crate::versions::{RecordOwner, VersionPages};
use crate::{Error, Instance, InstanceOptions, Options};

const FRAMES: usize = 256;

/// A server and a database whose commits are numbered.
struct Lab {
    disk: MemDisk,
    instance: Arc<Instance>,
    store: Arc<VersionPages>,
    commits: Arc<DatabaseCommits>,
}

impl Lab {
    fn new() -> Lab {
        let disk = MemDisk::new();
        let database = Options { frames: FRAMES, ..Options::on(Arc::new(disk.clone())) };
        let options = InstanceOptions {
            tempdb_files: 2,
            tempdb_file_bytes: 2 << 20,
            ..InstanceOptions::new("data", database)
        };
        let instance = Instance::start(options).unwrap();
        let versions = &instance.services().versions;
        let store = versions.store().unwrap().clone();
        let commits = versions.commits.enter_database();
        Lab { disk, instance, store, commits }
    }

    fn keep(&self, writer: u32, record: &[u8]) -> Result<VersionPointer, Error> {
        let database = DatabaseId(5);
        let owner = RecordOwner { database, commits: &self.commits, writer: id(writer) };
        self.store.keep(owner, record)
    }

    fn snapshot(&self) -> TakenSnapshot {
        let commits = self.commits.commits();
        commits.snapshot(SessionId(51), SnapshotKind::Transaction, Duration::ZERO)
    }

    /// Closes all units, and drops those that nobody needs.
    fn clean(&self) {
        self.store.close_units();
        self.instance.services().versions.clean().unwrap();
    }

    fn free_extents(&self) -> u32 {
        let tempdb = self.instance.database("tempdb").unwrap();
        tempdb.space().files().iter().map(|file| file.free_extents()).sum()
    }
}

fn id(number: u32) -> XactId {
    XactId { high: 0, low: number }
}

/// A record of its own for each number, of 1 to 8,074 bytes.
fn record(number: u32) -> Vec<u8> {
    let len = 1 + number as usize * 7919 % 8074;
    (0..len).map(|at| (number as usize * 31 + at) as u8).collect()
}

#[test]
fn records_are_read_back_also_from_the_files_of_tempdb() {
    let lab = Lab::new();
    let _writer = lab.commits.begin(id(7));
    // Four times what the frames hold.
    let kept: Vec<VersionPointer> =
        (0..4 * FRAMES as u32).map(|number| lab.keep(7, &record(number)).unwrap()).collect();
    for (number, at) in kept.iter().enumerate() {
        let found = lab.store.read(*at).unwrap();
        assert_eq!(found.as_deref(), Some(&record(number as u32)[..]), "record {number}");
    }
    let size = lab.store.size();
    assert_eq!(size.records_kept, 4 * FRAMES as u64);
    assert!(size.bytes_by_database[&DatabaseId(5)] > 3 << 20, "{size:?}");
}

#[test]
fn a_unit_is_dropped_when_all_snapshots_see_who_has_written_to_it() {
    let lab = Lab::new();
    let free = lab.free_extents();
    let writer = lab.commits.begin(id(7));
    let at = lab.keep(7, b"before").unwrap();
    let snapshot = lab.snapshot();
    lab.clean();
    assert_eq!(lab.store.read(at).unwrap().as_deref(), Some(&b"before"[..]), "the writer is open");
    lab.commits.commits().commit([writer]);
    lab.clean();
    assert_eq!(
        lab.store.read(at).unwrap().as_deref(),
        Some(&b"before"[..]),
        "the snapshot needs it"
    );
    drop(snapshot);
    lab.clean();
    assert_eq!(lab.store.read(at).unwrap(), None);
    assert_eq!(lab.free_extents(), free, "its extents are free");
    assert_eq!(lab.store.size().units, 0);
}

#[test]
fn an_old_transaction_keeps_only_the_units_that_it_has_written_to() {
    let lab = Lab::new();
    let _old = lab.commits.begin(id(7));
    let needed = lab.keep(7, b"needed").unwrap();
    lab.clean();
    let other = lab.commits.begin(id(8));
    let unneeded = lab.keep(8, b"unneeded").unwrap();
    lab.commits.commits().commit([other]);
    lab.clean();
    assert!(lab.store.read(needed).unwrap().is_some());
    assert_eq!(lab.store.read(unneeded).unwrap(), None);
}

#[test]
fn a_pointer_into_a_dropped_unit_never_leads_to_another_record() {
    let lab = Lab::new();
    let mut gone = Vec::new();
    for writer in 1..40 {
        let open = lab.commits.begin(id(writer));
        gone.push(lab.keep(writer, &record(writer)).unwrap());
        lab.commits.commits().commit([open]);
        lab.clean();
        for at in &gone {
            assert_eq!(lab.store.read(*at).unwrap(), None);
        }
    }
}

#[test]
fn a_full_tempdb_fails_the_writer_and_has_room_again_after_the_cleanup() {
    let lab = Lab::new();
    let writer = lab.commits.begin(id(7));
    lab.disk.set_capacity(Some(lab.disk.used_bytes() + (1 << 20)));
    let mut kept = Vec::new();
    let error = loop {
        match lab.keep(7, &record(kept.len() as u32)) {
            Ok(at) => kept.push(at),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::VersionStoreFull { .. }), "{error:?}");
    assert_eq!(error.cause(), crate::Cause::FilegroupFull);
    let last = kept.len() as u32 - 1;
    let found = lab.store.read(kept[last as usize]).unwrap();
    assert_eq!(found, Some(record(last)), "nothing is lost");
    lab.commits.commits().commit([writer]);
    lab.clean();
    let _next = lab.commits.begin(id(8));
    lab.keep(8, b"there is room again").unwrap();
}

#[test]
fn threads_keep_read_and_clean_side_by_side() {
    let lab = Lab::new();
    thread::scope(|scope| {
        for first in [1_000, 2_000, 3_000, 4_000] {
            let lab = &lab;
            scope.spawn(move || {
                for writer in first..first + 60 {
                    let open = lab.commits.begin(id(writer));
                    let snapshot = lab.snapshot();
                    let kept: Vec<VersionPointer> =
                        (0..10).map(|n| lab.keep(writer, &record(writer + n)).unwrap()).collect();
                    lab.commits.commits().commit([open]);
                    for (n, at) in (0..).zip(&kept) {
                        assert_eq!(lab.store.read(*at).unwrap(), Some(record(writer + n)));
                    }
                    drop(snapshot);
                    // Gone, or still there: nothing else.
                    for (n, at) in (0..).zip(&kept) {
                        let found = lab.store.read(*at).unwrap();
                        assert!(found.is_none_or(|found| found == record(writer + n)));
                    }
                }
            });
        }
        scope.spawn(|| (0..200).for_each(|_| lab.clean()));
    });
    lab.clean();
    assert_eq!(lab.store.size().units, 0);
}
