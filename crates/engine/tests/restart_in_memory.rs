//! What the offline reader reads of a killed database is what the engine has after its own
//! recovery.
//!
//! ```text
//! work ─ power cut or kill ─┬─▶ engine recovers a copy ─▶ rows
//!                           └─▶ files in a folder, read with their log ─▶ the same rows
//! ```

mod support;

use extentdb_base::sync::Arc;
use std::path::{Path, PathBuf};

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64, SystemClock};
use extentdb_base::sync::atomic::AtomicBool;
use extentdb_check::{Control, LogUse, Options as CheckOptions};
use extentdb_engine::{Database, Error, IndexSpec, Options, Paths, Row, Session, TableSpec};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, LogState, OpenOptions, OpenedFiles, TornRepair};
use support::*;

/// Seeds of each test; `EXTENTDB_RESTARTS` runs more.
fn seeds() -> u64 {
    std::env::var("EXTENTDB_RESTARTS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

fn table_specs() -> Vec<TableSpec> {
    let key = IndexSpec::primary_key("pk", &["id"]);
    vec![people("heap"), people("tree").clustered(key)]
}

/// Commits, rolls back, creates and drops until the power goes, or to the end.
fn work(db: &Arc<Database>, rng: &mut SplitMix64, rounds: u64) -> Result<(), Error> {
    let mut session = db.session();
    for round in 0..rounds {
        session.begin();
        let name = if rng.below(2) == 0 { "heap" } else { "tree" };
        change_rows(&mut session, name, rng)?;
        if rng.below(12) == 0 {
            let late = session.create_table(&people(&format!("late{round}")))?;
            session.insert(&late, &person(1, "late"))?;
        }
        match rng.below(6) {
            0 => session.rollback()?,
            1 => {
                session.commit()?;
                db.checkpoint()?;
            }
            _ => session.commit()?,
        }
    }
    // Left open: with pages of it on disk now and then.
    session.begin();
    change_rows(&mut session, "tree", rng)?;
    change_rows(&mut session, "heap", rng)?;
    db.log().flush_all()?;
    if rng.below(2) == 0 {
        db.pool().write_dirty()?;
    }
    std::mem::forget(session);
    Ok(())
}

fn change_rows(session: &mut Session, name: &str, rng: &mut SplitMix64) -> Result<(), Error> {
    let table = session.table(name)?;
    let there = rows(session, &table);
    for _ in 0..rng.below(30) {
        let id = rng.below(1 << 30) as i32;
        if there.iter().any(|(_, row)| id_of(row) == id) {
            continue;
        }
        session.insert(&table, &person(id, &"x".repeat(rng.below(1200) as usize)))?;
    }
    for (at, row) in &there {
        match rng.below(20) {
            0 => session.delete(&table, at)?,
            1 => {
                let name = "y".repeat(rng.below(2000) as usize);
                session.update(&table, at, &person(id_of(row), &name))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A database that worked until call number `calls`, and the disk that is left of it.
fn killed(seed: u64, end: &dyn Fn(&MemDisk, &mut SplitMix64) -> MemDisk) -> (MemDisk, Paths) {
    let mut rng = SplitMix64::new(seed);
    let disk = MemDisk::new();
    let spec = spec("killed");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    for spec in table_specs() {
        session.create_table(&spec).unwrap();
    }
    session
        .create_index(&session.table("heap").unwrap(), &IndexSpec::new("by_name", &["id"]))
        .unwrap();
    drop(session);
    disk.fail_after(rng.below(400));
    let _ = work(&db, &mut rng, 25);
    drop(db);
    (end(&disk, &mut rng), spec.paths())
}

/// All files of a disk, with the double-write area, in a folder: data files and log.
fn put_into(folder: &Path, disk: &MemDisk, paths: &Paths) -> Vec<PathBuf> {
    for path in disk.paths() {
        std::fs::write(folder.join(path.file_name().unwrap()), disk.contents(&path).unwrap())
            .unwrap();
    }
    let given = paths.data.iter().chain([&paths.log]);
    given.map(|path| folder.join(path.file_name().unwrap())).collect()
}

fn sorted(mut rows: Vec<Row>) -> Vec<String> {
    rows.sort_by_key(id_of);
    rows.iter().map(|row| format!("{row:?}")).collect()
}

/// Compares every table; how many rows there are. `None` where a change of an open transaction
/// could not be rolled back in memory, which must be said.
fn assert_same_rows(seed: u64, disk: &MemDisk, paths: &Paths) -> Option<usize> {
    let folder = tempfile::tempdir().unwrap();
    let files = put_into(folder.path(), disk, paths);
    let reader = Reader::open(&files, &OpenOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    if let Some(why) = reader.shortfall() {
        assert!(why.contains("could not be rolled back"), "seed {seed}: {why}");
        return None;
    }
    let db =
        Database::open(paths, on(&disk.copy())).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
    let mut session = db.session();
    let mut count = 0;
    let names: Vec<String> = db.tables().iter().map(|table| table.name().to_owned()).collect();
    let mut found: Vec<String> =
        reader.catalog().user_tables().iter().map(|table| table.name.clone()).collect();
    let mut expected = names.clone();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "seed {seed}: tables");
    for name in names {
        let table = session.table(&name).unwrap();
        let engine: Vec<Row> = rows(&mut session, &table).into_iter().map(|(_, row)| row).collect();
        count += engine.len();
        assert_eq!(
            sorted(rows_of_reader(&reader, &name)),
            sorted(engine),
            "seed {seed}, table {name}"
        );
    }
    Some(count)
}

/// Compares the databases of many seeds.
fn assert_all_same(first: u64, end: &dyn Fn(&MemDisk, &mut SplitMix64) -> MemDisk) {
    let mut rows = 0;
    let mut in_doubt = 0;
    for seed in first..first + seeds() {
        let (disk, paths) = killed(seed, end);
        match assert_same_rows(seed, &disk, &paths) {
            Some(count) => rows += count,
            None => in_doubt += 1,
        }
    }
    eprintln!("{rows} rows of {} databases, {in_doubt} in doubt", seeds());
    assert!(rows > 1000 && in_doubt * 20 <= seeds(), "{rows} rows, {in_doubt} in doubt");
}

#[test]
fn rows_of_a_killed_process_are_those_after_its_recovery() {
    assert_all_same(0, &|disk, rng| disk.kill(rng));
}

#[test]
fn rows_after_a_power_cut_with_torn_pages_are_those_after_recovery() {
    assert_all_same(1000, &|disk, rng| disk.crash(rng));
}

/// A page that was formatted and written once, without a copy, torn between sectors of equal words
/// and of zeros: its checksum holds. Found by the test above with more seeds.
#[test]
fn new_page_torn_without_checksum_error_is_redone() {
    let (disk, paths) = killed(1101, &|disk, rng| disk.crash(rng));
    assert!(assert_same_rows(1101, &disk, &paths).is_some());
}

/// A killed database of which the log is needed.
fn unclean() -> (MemDisk, Paths) {
    let end = |disk: &MemDisk, rng: &mut SplitMix64| disk.kill(rng);
    let mut all = (0..100).map(|seed| killed(seed, &end));
    all.find(|(disk, paths)| {
        let folder = tempfile::tempdir().unwrap();
        let files = put_into(folder.path(), disk, paths);
        let reader = Reader::open(&files, &OpenOptions::default()).unwrap();
        !reader.has_current_counts()
    })
    .unwrap()
}

#[test]
fn without_its_log_a_killed_database_is_in_doubt() {
    let (disk, paths) = unclean();
    let folder = tempfile::tempdir().unwrap();
    let files = put_into(folder.path(), &disk, &paths);
    let reader = Reader::open(&files[..1], &OpenOptions::default()).unwrap();
    assert_eq!(reader.opened().restart().log, LogState::Missing);
    assert!(reader.shortfall().is_some_and(|why| why.contains("its log is not given")));
}

#[test]
fn the_log_of_another_database_is_refused_by_name_and_ids() {
    let (disk, paths) = unclean();
    let other = MemDisk::new();
    let spec = spec("other");
    Database::create(&spec, on(&other)).unwrap().close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = put_into(folder.path(), &disk, &paths);
    let others = put_into(folder.path(), &other, &spec.paths());
    let mixed = [files[0].clone(), others[1].clone()];
    let Err(error) = Reader::open(&mixed, &OpenOptions::default()) else { panic!("refused") };
    let text = error.to_string();
    let log_name = others[1].file_name().unwrap().to_str().unwrap();
    assert!(text.contains(log_name) && text.contains("log of another database"), "{text}");
    assert_eq!(text.matches("binding id is").count(), 1, "{text}");
}

/// Spoils a page in place whose copy the area of the database holds.
fn tear_one(disk: &MemDisk, paths: &Paths, folder: &Path) -> Option<(Vec<PathBuf>, PageId)> {
    let files = put_into(folder, disk, paths);
    let opened = OpenedFiles::open(&files, &OpenOptions::default()).ok()?;
    let area = folder.join(format!("{}.dw", paths.data[0].file_name()?.to_str()?));
    let bytes = std::fs::read(area).ok()?;
    let images = bytes.as_chunks::<8192>().0.iter().skip(2);
    let is_image = |image: &&[u8; 8192]| image[0] == 1 && image[36..38] == [1, 0];
    let image = images.filter(is_image).find(|image| {
        let mut page = extentdb_format::PageBuf::zeroed();
        let id = PageId::new(1, u32::from_le_bytes(*image[32..].first_chunk().unwrap()));
        opened.source().read(id, &mut page).is_ok() && page[..] == image[..] && id.page > 9
    })?;
    let id = PageId::new(1, u32::from_le_bytes(*image[32..].first_chunk().unwrap()));
    let mut data = std::fs::read(&files[0]).unwrap();
    let at = id.page as usize * 8192;
    data[at + 4096..at + 4608].fill(0xdb);
    std::fs::write(&files[0], data).unwrap();
    Some((files, id))
}

#[test]
fn a_torn_page_is_read_from_the_area_of_these_files_and_of_no_others() {
    let end = |disk: &MemDisk, rng: &mut SplitMix64| disk.kill(rng);
    let folder = tempfile::tempdir().unwrap();
    let torn = (0..100).find_map(|seed| {
        let (disk, paths) = killed(seed, &end);
        tear_one(&disk, &paths, folder.path())
    });
    let (files, id) = torn.expect("a page with a copy");
    let open = || {
        OpenedFiles::open(&files, &OpenOptions::default()).unwrap().restarted(&Default::default())
    };
    let opened = open().unwrap();
    let TornRepair::Used { area, pages } = &opened.restart().torn else { panic!("used") };
    assert!(pages.contains(&id), "{id} of {pages:?}");
    assert!(opened.restart().log.shortfall().is_none());
    // Another database's area says nothing about these files.
    let mut bytes = std::fs::read(area).unwrap();
    let mut page = extentdb_format::PageBuf::zeroed();
    page.copy_from_slice(&bytes[..8192]);
    let header = extentdb_format::double_write::AreaHeader::read(&page).unwrap();
    let other = extentdb_types::Guid([9; 16]);
    extentdb_format::double_write::AreaHeader { binding_id: other, ..header }.write(&mut page);
    bytes[..8192].copy_from_slice(&page[..]);
    std::fs::write(area, bytes).unwrap();
    assert!(matches!(open().unwrap().restart().torn, TornRepair::Foreign { .. }));
}

#[test]
fn a_database_that_an_engine_has_open_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let spec = extentdb_engine::DatabaseSpec::new("busy", folder.path(), 4 << 20);
    let db = Database::create(&spec, Options::default()).unwrap();
    let files = [spec.paths().data[0].clone(), spec.paths().log];
    let opened = OpenedFiles::open(&files, &OpenOptions::default()).unwrap();
    let found = opened.in_use().expect("in use");
    assert!(found.to_string().contains("a running engine holds a lock on it"), "{found}");
    db.close().unwrap();
    let opened = OpenedFiles::open(&files, &OpenOptions::default()).unwrap();
    assert_eq!(opened.in_use(), None);
    assert_eq!(opened.restarted(&Default::default()).unwrap().restart().log, LogState::Closed);
}

/// A heap whose next pages come from extents that a dropped table had, and the process killed at
/// call number `calls` of the disk.
fn killed_on_reused_extents(calls: u64) -> (MemDisk, Paths) {
    let disk = MemDisk::new();
    let spec = spec("reused");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    session.create_table(&people("dropped")).unwrap();
    let dropped = session.table("dropped").unwrap();
    let is_full = || db.space().files().iter().all(|file| file.free_extents() == 0);
    for id in (0..).take_while(|_| !is_full()) {
        session.insert(&dropped, &person(id, &"d".repeat(3900))).unwrap();
    }
    // The records of the old table are in the file.
    db.checkpoint().unwrap();
    session.drop_table(&dropped).unwrap();
    session.create_table(&people("heap")).unwrap();
    db.checkpoint().unwrap();
    disk.fail_after(calls);
    let table = session.table("heap").unwrap();
    for id in 0..150 {
        if session.insert(&table, &person(id, &"h".repeat(3000))).is_err() {
            break;
        }
        if id % 40 == 39 && db.checkpoint().is_err() {
            break;
        }
    }
    drop(session);
    drop(db);
    (disk.kill(&mut SplitMix64::new(calls)), spec.paths())
}

#[test]
fn killed_heap_on_reused_extents_has_no_page_of_another_table() {
    let mut reused = 0;
    for calls in (0..240).step_by(3) {
        let (disk, paths) = killed_on_reused_extents(calls);
        let folder = tempfile::tempdir().unwrap();
        let files = put_into(folder.path(), &disk, &paths);
        let opened = OpenedFiles::open(&files, &OpenOptions::default()).unwrap();
        let opened = opened.restarted(&Default::default()).unwrap();
        let clock = SystemClock::new();
        let cancel = AtomicBool::new(false);
        let control = Control::new(&clock, &cancel);
        let log = match &opened.restart().log {
            LogState::Replayed(summary) => LogUse::Redone(summary.clone()),
            LogState::Closed => LogUse::None,
            other => panic!("call {calls}: {other:?}"),
        };
        let options = CheckOptions { log, ..CheckOptions::default() };
        let report = extentdb_check::run(opened.source(), &options, &control);
        let findings: Vec<String> =
            report.findings.iter().take(5).map(|it| format!("{it:?}")).collect();
        assert!(findings.is_empty(), "call {calls}: {findings:#?}");
        let db = reopen(&disk, &paths);
        reused += rows(&mut db.session(), &db.session().table("heap").unwrap()).len();
        close_and_check(db, &disk, &paths);
    }
    assert!(reused > 100, "{reused} rows");
}
