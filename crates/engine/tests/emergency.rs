//! A crashed database whose log is damaged: refused by `open`, opened in emergency mode with what
//! the log has before the damage.

mod support;

use std::ops::ControlFlow;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, PageId};
use extentdb_engine::{Address, Database, Error, IndexSpec, LostLog, Options, Paths};
use extentdb_format::log::{LogReader, Op, VlfMap};
use extentdb_io::{Disk, MemDisk};
use extentdb_telemetry::{Event, Recorder};
use support::*;

/// The first row whose commit is lost, and the end of those that were acknowledged.
const LOST_FROM: i32 = 30;
const ROWS: i32 = 40;
/// Two rows of one page: the first was changed by a transaction that was open when the power went,
/// the second by one that is lost.
const OPEN_ROW: i32 = 5;
const LOST_ROW: i32 = 6;
const NAME: &str = "before or after";

/// A crashed database with a damaged log.
struct Crashed {
    disk: MemDisk,
    paths: Paths,
    /// The block of the first commit that is lost.
    lost_from: Lsn,
    /// The page of `OPEN_ROW` and `LOST_ROW`.
    page: PageId,
}

/// Which pages the crash left in the data file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pages {
    /// Those of the last checkpoint.
    OfCheckpoint,
    /// All that had changed, without a checkpoint: some are newer than the log will be.
    Newest,
}

fn insert(db: &Arc<Database>, from: i32, to: i32) {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    for id in from..to {
        session.insert(&table, &person(id, NAME)).unwrap();
    }
}

/// The ids of all rows; the change that was never committed is undone.
fn ids_of(db: &Arc<Database>) -> Vec<i32> {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    let open = rows(&mut session, &table).remove(OPEN_ROW as usize);
    assert_eq!(open.1, person(OPEN_ROW, NAME));
    ids(&mut session, &table)
}

fn copy_of(disk: &MemDisk, paths: &Paths) -> MemDisk {
    let copy = MemDisk::new();
    for path in paths.data.iter().chain([&paths.log]) {
        copy.put(path, disk.contents(path).unwrap());
    }
    copy
}

/// Offset in the log file of a block.
fn offset_of(log: &Vec<u8>, lsn: Lsn) -> usize {
    let map = VlfMap::read(log).unwrap();
    let vlfs = map.by_sequence();
    vlfs.iter().find(|vlf| vlf.header.sequence == lsn.vlf).unwrap().block_offset(lsn) as usize
}

/// Changes a byte of a log block.
fn damage_log(disk: &MemDisk, paths: &Paths, block: Lsn) -> u64 {
    let mut log = disk.contents(&paths.log).unwrap();
    let at = offset_of(&log, block);
    log[at + 100] ^= 0x55;
    disk.put(&paths.log, log);
    at as u64
}

/// A database that is still open when the power goes: rows 0 to `ROWS` are committed one by one.
fn crashed(pages: Pages) -> Crashed {
    let disk = MemDisk::new();
    let spec = spec("emergency");
    let paths = spec.paths();
    let db = Database::create(&spec, on(&disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    insert(&db, 0, 10);
    db.checkpoint().unwrap();
    let mut open = db.session();
    let table = open.table("people").unwrap();
    let places = rows(&mut open, &table);
    open.begin();
    open.update(&table, &places[OPEN_ROW as usize].0, &person(OPEN_ROW, "never committed"))
        .unwrap();
    insert(&db, 10, LOST_FROM);
    db.log().flush_all().unwrap();
    let lost_from = db.log().next();
    let lost = person(LOST_ROW, "lost with the log");
    db.session().update(&table, &places[LOST_ROW as usize].0, &lost).unwrap();
    insert(&db, LOST_FROM, ROWS);
    if pages == Pages::Newest {
        db.pool().write_dirty().unwrap();
    }
    let [open_row, lost_row] = [OPEN_ROW, LOST_ROW].map(|id| page_of(&places[id as usize].0));
    assert_eq!(open_row, lost_row);
    let copy = copy_of(&disk, &paths);
    std::mem::forget((open, table));
    std::mem::forget(db);
    Crashed { disk: copy, paths, lost_from, page: open_row }
}

fn page_of(row: &Address) -> PageId {
    match row {
        Address::Rid(rid) => rid.page,
        other => panic!("{other}"),
    }
}

fn open_emergency(crashed: &Crashed) -> (Arc<Database>, Option<LostLog>) {
    Database::open_emergency(&crashed.paths, on(&crashed.disk)).unwrap()
}

/// What a power cut at this moment leaves of all files.
fn power_cut(disk: &MemDisk, seed: u64) -> MemDisk {
    disk.crash(&mut SplitMix64::new(seed))
}

#[test]
fn a_database_with_a_sound_log_opens_as_usual_and_loses_nothing() {
    let crashed = crashed(Pages::Newest);
    let (db, lost) = open_emergency(&crashed);
    assert_eq!((lost, db.emergency_cuts().unwrap()), (None, 0));
    assert_eq!(ids_of(&db), (0..ROWS).collect::<Vec<_>>());
}

#[test]
fn rows_committed_before_the_damage_are_there_and_the_database_is_marked() {
    let crashed = crashed(Pages::OfCheckpoint);
    let at = damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
    let refused = Database::open(&crashed.paths, on(&crashed.disk));
    let is_refused = matches!(refused, Err(Error::Log(extentdb_wal::Error::Corrupt { offset, .. })) if offset == at);
    assert!(is_refused, "{refused:?}");
    let recorder = Arc::new(Recorder::default());
    let options = Options { events: recorder.clone(), ..on(&crashed.disk) };
    let (db, lost) = Database::open_emergency(&crashed.paths, options).unwrap();
    let lost = lost.unwrap();
    assert_eq!((lost.from, lost.damage.unwrap().offset), (crashed.lost_from, at));
    assert!(lost.proven_to > Some(crashed.lost_from) && lost.newer_pages.is_empty(), "{lost:?}");
    let LostLog { from, proven_to, .. } = lost;
    assert!(recorder.take().contains(&Event::LogCut { from, proven_to, offset: Some(at) }));
    assert_eq!(ids_of(&db), (0..LOST_FROM).collect::<Vec<_>>());
    assert_eq!(db.emergency_cuts().unwrap(), 1);
    // The new log lies past all that is lost.
    assert!(Some(db.log().minimum()) > proven_to && db.log().minimum().vlf > from.vlf);
    assert!(exists(&crashed.disk, "emergency_log.ldf.old1".as_ref()));
    insert(&db, 100, 120);
    db.close().unwrap();
    assert_sound_on(&crashed.disk, &crashed.paths);
    let db = reopen(&crashed.disk, &crashed.paths);
    assert_eq!(db.emergency_cuts().unwrap(), 1);
    assert_eq!(ids_of(&db), (0..LOST_FROM).chain(100..120).collect::<Vec<_>>());
}

#[test]
fn a_second_cut_is_counted() {
    let mut crashed = crashed(Pages::OfCheckpoint);
    damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
    let (db, _) = open_emergency(&crashed);
    insert(&db, 100, 110);
    let block = db.log().next();
    insert(&db, 110, 120);
    crashed.disk = copy_of(&crashed.disk, &crashed.paths);
    drop(db);
    damage_log(&crashed.disk, &crashed.paths, block);
    let (db, lost) = open_emergency(&crashed);
    assert_eq!((lost.unwrap().from, db.emergency_cuts().unwrap()), (block, 2));
    assert_eq!(ids_of(&db), (0..LOST_FROM).chain(100..110).collect::<Vec<_>>());
}

#[test]
fn pages_newer_than_the_log_are_listed_and_new_records_lie_past_them() {
    let crashed = crashed(Pages::Newest);
    damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
    let (db, lost) = open_emergency(&crashed);
    let lost = lost.unwrap();
    assert!(!lost.newer_pages.is_empty());
    assert!(lost.newer_pages.iter().all(|newer| newer.lsn >= lost.from), "{lost:?}");
    // Rows of lost transactions whose pages were written stay, those of the open transaction do
    // not.
    assert_eq!(ids_of(&db), (0..ROWS).collect::<Vec<_>>());
    insert(&db, 100, 120);
    let after = power_cut(&crashed.disk, 3);
    drop(db);
    let db = reopen(&after, &crashed.paths);
    assert_eq!(ids_of(&db), (0..ROWS).chain(100..120).collect::<Vec<_>>());
    assert_eq!(db.emergency_cuts().unwrap(), 1);
    close_and_check(db, &after, &crashed.paths);
}

#[test]
fn a_log_that_ends_before_its_pages_is_accepted_in_emergency_mode() {
    let whole = crashed(Pages::Newest);
    // Zeros from the first lost commit on, as if nothing had been written there.
    let mut log = whole.disk.contents(&whole.paths.log).unwrap();
    let at = offset_of(&log, whole.lost_from);
    log[at..].fill(0);
    let headers = VlfMap::read(&whole.disk.contents(&whole.paths.log).unwrap()).unwrap();
    let sound = whole.disk.contents(&whole.paths.log).unwrap();
    for vlf in headers.vlfs().iter().filter(|vlf| vlf.offset as usize > at) {
        let header = vlf.offset as usize..vlf.offset as usize + 8192;
        log[header.clone()].copy_from_slice(&sound[header]);
    }
    whole.disk.put(&whole.paths.log, log);
    let refused = Database::open(&whole.paths, on(&whole.disk));
    assert!(matches!(refused, Err(Error::LogEndsBefore { .. })), "{refused:?}");
    let (db, lost) = open_emergency(&whole);
    let lost = lost.unwrap();
    assert_eq!((lost.from, lost.damage), (whole.lost_from, None));
    assert_eq!(lost.proven_to, lost.newer_pages.iter().map(|newer| newer.lsn).max());
    assert_eq!(ids_of(&db), (0..ROWS).collect::<Vec<_>>());
    assert_eq!(db.emergency_cuts().unwrap(), 1);
}

/// The records of a log, with their operations.
fn records(log: &Vec<u8>) -> Vec<(Lsn, Op)> {
    let mut records = Vec::new();
    let reader = LogReader::open(log.as_slice()).unwrap();
    let visit = |lsn, record: &extentdb_format::log::RecordRef<'_>, _: &_| {
        records.push((lsn, record.header().op));
        ControlFlow::Continue(())
    };
    reader.for_each_record(visit).unwrap();
    records
}

#[test]
fn a_log_without_the_end_of_its_checkpoint_is_redone_from_its_oldest_record() {
    let crashed = crashed(Pages::Newest);
    let all = records(&crashed.disk.contents(&crashed.paths.log).unwrap());
    let (end, _) = *all.iter().rev().find(|(_, op)| *op == Op::END_CKPT).unwrap();
    damage_log(&crashed.disk, &crashed.paths, end);
    let (db, lost) = open_emergency(&crashed);
    assert_eq!(lost.unwrap().from.block, end.block);
    // The log has the formatting of the page: it is built again as of the cut.
    assert_eq!(ids_of(&db), (0..10).collect::<Vec<_>>());
    assert_eq!(db.emergency_cuts().unwrap(), 1);
}

#[test]
fn a_log_without_its_checkpoint_is_refused_and_nothing_is_changed() {
    let crashed = crashed(Pages::OfCheckpoint);
    let all = records(&crashed.disk.contents(&crashed.paths.log).unwrap());
    let (begin, _) = *all.iter().rev().find(|(_, op)| *op == Op::BEGIN_CKPT).unwrap();
    damage_log(&crashed.disk, &crashed.paths, begin);
    let before = copy_of(&crashed.disk, &crashed.paths);
    let refused = Database::open_emergency(&crashed.paths, on(&crashed.disk));
    assert!(matches!(refused, Err(Error::Log(extentdb_wal::Error::Corrupt { .. }))), "{refused:?}");
    for path in crashed.paths.data.iter().chain([&crashed.paths.log]) {
        assert!(
            before.contents(path) == crashed.disk.contents(path),
            "{} was changed",
            path.display()
        );
    }
}

#[test]
fn a_missing_or_foreign_log_stays_refused() {
    let crashed = crashed(Pages::OfCheckpoint);
    crashed.disk.remove(&crashed.paths.log).unwrap();
    let refused = Database::open_emergency(&crashed.paths, on(&crashed.disk));
    assert!(matches!(refused, Err(Error::LogMissing)), "{refused:?}");
    let other = MemDisk::new();
    let spec = spec("other");
    drop(Database::create(&spec, on(&other)).unwrap());
    crashed.disk.put(&crashed.paths.log, other.contents(&spec.log.path).unwrap());
    let refused = Database::open_emergency(&crashed.paths, on(&crashed.disk));
    assert!(matches!(refused, Err(Error::ForeignLog { .. })), "{refused:?}");
}

#[test]
fn a_bad_page_keeps_its_table_from_being_undone_and_the_rest_opens() {
    let crashed = crashed(Pages::OfCheckpoint);
    let page = crashed.page;
    damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
    let mut data = crashed.disk.contents(&crashed.paths.data[0]).unwrap();
    data[page.page as usize * 8192 + 4000] ^= 1;
    crashed.disk.put(&crashed.paths.data[0], data);
    let (db, lost) = open_emergency(&crashed);
    assert_eq!(lost.unwrap().from, crashed.lost_from);
    assert_eq!((db.emergency_cuts().unwrap(), db.deferred_transactions()), (1, 1));
    let mut session = db.session();
    let table = session.create_table(&people("rest")).unwrap();
    session.insert(&table, &person(1, "works")).unwrap();
    drop((session, table));
    let after = power_cut(&crashed.disk, 9);
    drop(db);
    let db = reopen(&after, &crashed.paths);
    let mut session = db.session();
    let table = session.table("rest").unwrap();
    assert_eq!(ids(&mut session, &table), [1]);
}

/// A crashed database with an index and long rows; of those that are lost, some pages were written
/// and some were not.
fn half_written() -> (Crashed, i32) {
    let disk = MemDisk::new();
    let mut spec = spec("half");
    spec.log.bytes = 16 << 20;
    let paths = spec.paths();
    let options = Options {
        frames: 64,
        checkpoint_log_bytes: None,
        target_recovery: None,
        ..on(&disk)
    };
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    session.create_index(&table, &IndexSpec::new("by_id", &["id"]).unique()).unwrap();
    let mut add = |from: i32, to: i32| {
        for id in from..to {
            session.insert(&table, &person(id, &NAME.repeat(60))).unwrap();
        }
    };
    add(0, 100);
    db.checkpoint().unwrap();
    add(100, 200);
    db.log().flush_all().unwrap();
    let lost_from = db.log().next();
    add(200, 1000);
    let copy = copy_of(&disk, &paths);
    drop((session, table));
    std::mem::forget(db);
    (Crashed { disk: copy, paths, lost_from, page: PageId::NONE }, 200)
}

#[test]
fn after_an_emergency_with_pages_newer_than_the_log_the_check_says_what_contradicts() {
    let (crashed, kept) = half_written();
    damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
    let (db, lost) = open_emergency(&crashed);
    assert!(!lost.unwrap().newer_pages.is_empty());
    let mut session = db.session();
    let table = session.table("people").unwrap();
    let found = ids(&mut session, &table);
    assert!((0..kept).all(|id| found.contains(&id)), "{found:?}");
    drop((session, table));
    db.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let report = check(&files_of(&crashed.disk, &crashed.paths, folder.path()));
    // Rows of lost transactions, whose entries in the index were not written; pages that the maps,
    // which were not written, do not know.
    let errors: Vec<u32> = report.findings.iter().map(|finding| finding.error).collect();
    let is_expected = |error: &u32| [8905, 8906, 8909, 8951, 8979].contains(error);
    assert!(errors.iter().all(is_expected), "{errors:?}");
    assert!(!errors.is_empty());
}

#[test]
fn log_damage_after_the_checkpoint_loses_no_earlier_row() {
    let crashed = crashed(Pages::OfCheckpoint);
    let log = crashed.disk.contents(&crashed.paths.log).unwrap();
    let all = records(&log);
    let (begin, _) = *all.iter().rev().find(|(_, op)| *op == Op::BEGIN_CKPT).unwrap();
    let mut blocks: Vec<Lsn> = all.iter().map(|(lsn, _)| Lsn { slot: 1, ..*lsn }).collect();
    blocks.retain(|block| *block > begin);
    blocks.dedup();
    let mut kept = 0;
    for block in blocks {
        let disk = copy_of(&crashed.disk, &crashed.paths);
        damage_log(&disk, &crashed.paths, block);
        let (db, lost) = Database::open_emergency(&crashed.paths, on(&disk)).unwrap();
        assert_eq!(lost.unwrap().from, block);
        let found = ids_of(&db);
        assert!(
            found.len() >= kept && found == (0..found.len() as i32).collect::<Vec<_>>(),
            "{found:?}"
        );
        kept = found.len();
        close_and_check(db, &disk, &crashed.paths);
    }
    assert_eq!(kept, ROWS as usize - 1);
}

/// Emergency mode with a power cut after `calls` I/O calls; true when it was done before.
fn interrupted(crashed: &Crashed, calls: u64, expected: &[i32]) -> bool {
    let disk = copy_of(&crashed.disk, &crashed.paths);
    disk.fail_after(calls);
    let is_done = Database::open_emergency(&crashed.paths, on(&disk)).is_ok();
    let left = power_cut(&disk, calls);
    let probe = power_cut(&left, calls);
    if let Ok(db) = Database::open(&crashed.paths, on(&probe)) {
        assert!(
            db.emergency_cuts().unwrap() > 0,
            "after {calls} calls the database opens without a mark"
        );
    }
    let opened = Database::open_emergency(&crashed.paths, on(&left));
    let (db, _) = opened.unwrap_or_else(|error| panic!("after {calls} calls: {error:?}"));
    assert_eq!(ids_of(&db), expected, "after {calls} calls");
    let cuts = db.emergency_cuts().unwrap();
    assert!((1..=2).contains(&cuts), "after {calls} calls {cuts} cuts");
    insert(&db, 100, 103);
    let after = power_cut(&left, calls + 1);
    drop(db);
    let db = reopen(&after, &crashed.paths);
    let expected: Vec<i32> = expected.iter().copied().chain(100..103).collect();
    assert_eq!(ids_of(&db), expected, "after {calls} calls and a crash");
    is_done
}

#[test]
fn an_emergency_opening_may_be_interrupted_at_every_io_call() {
    let whole = [(Pages::OfCheckpoint, LOST_FROM), (Pages::Newest, ROWS)];
    for (pages, rows) in whole {
        let crashed = crashed(pages);
        damage_log(&crashed.disk, &crashed.paths, crashed.lost_from);
        let expected: Vec<i32> = (0..rows).collect();
        let calls = (0..).find(|calls| interrupted(&crashed, *calls, &expected)).unwrap();
        assert!(calls > 100, "only {calls} I/O calls");
    }
}
