//! Pages that a crash tears, in halves or by sectors, are repaired at the next opening.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_engine::{
    Address, DataFileSpec, Database, Error, Options, Paths, Row, Session, TornPages,
};
use extentdb_io::{Disk, MemDisk};
use extentdb_telemetry::{Event, EventSink};
use support::*;

/// Sectors of the device in this life: 512 bytes, or 4096.
fn sector_of(seed: u64) -> usize {
    if seed.is_multiple_of(2) { 512 } else { 4096 }
}

/// Small enough that pages leave memory all the time.
fn options(disk: &MemDisk, torn_pages: TornPages) -> Options {
    Options {
        frames: 24,
        checkpoint_log_bytes: Some(48 << 10),
        torn_pages,
        ..on(disk)
    }
}

/// Rows that are changed over and over; every change is a transaction.
fn change_rows(
    session: &mut Session<'_>,
    rng: &mut SplitMix64,
    committed: &mut BTreeMap<i32, Row>,
    places: &mut BTreeMap<i32, Address>,
) -> Result<(), Error> {
    let table = session.table("people")?;
    loop {
        let id = rng.below(1200) as i32;
        let row = person(id, &"x".repeat(rng.below(700) as usize));
        match places.get(&id) {
            Some(at) => drop(session.update(&table, at, &row)?),
            None => drop(places.insert(id, session.insert(&table, &row)?)),
        }
        committed.insert(id, row);
    }
}

/// A database is changed until the power goes; the disk that is left, and what must be on it.
fn life(seed: u64, torn_pages: TornPages) -> (MemDisk, BTreeMap<i32, Row>) {
    life_with(seed, torn_pages, &|_, db| db)
}

/// The same, with something done to the database first.
fn life_with(
    seed: u64,
    torn_pages: TornPages,
    prepare: &dyn Fn(&MemDisk, Database) -> Database,
) -> (MemDisk, BTreeMap<i32, Row>) {
    let mut rng = SplitMix64::new(seed);
    let disk = MemDisk::new();
    let db = Database::create(&spec("torn"), options(&disk, torn_pages)).unwrap();
    let db = prepare(&disk, db);
    db.session().create_table(&people("people")).unwrap();
    let mut committed = BTreeMap::new();
    let mut places = BTreeMap::new();
    disk.fail_after(1500 + rng.below(3000));
    change_rows(&mut db.session(), &mut rng, &mut committed, &mut places).unwrap_err();
    drop(db);
    let unit = sector_of(seed);
    (disk.crash_by(&mut rng, &|_: &Path| unit), committed)
}

/// The rows that were acknowledged, and perhaps the one that was being changed when the power went.
fn assert_kept(db: &Database, committed: &BTreeMap<i32, Row>, seed: u64) {
    let mut session = db.session();
    let table = session.table("people").unwrap();
    let found: BTreeMap<i32, Row> = rows(&mut session, &table)
        .into_iter()
        .map(|(_, row)| (if let extentdb_types::Datum::Int(id) = row[0] { id } else { -1 }, row))
        .collect();
    let differing = committed.iter().filter(|(id, row)| found.get(id) != Some(row)).count();
    assert!(
        differing <= 1 && found.len() <= committed.len() + 1,
        "seed {seed}: {differing} rows differ"
    );
}

#[test]
fn pages_torn_by_a_power_cut_are_repaired() {
    for seed in 0..60 {
        let (disk, committed) = life(seed, TornPages::Repaired);
        let db =
            Database::open(&spec("torn").paths(), options(&disk, TornPages::Repaired)).unwrap();
        assert_kept(&db, &committed, seed);
        close_and_check(db, &disk, &spec("torn").paths());
    }
}

/// Without the area the same lives lose pages: the simulation tears what it should.
#[test]
fn torn_pages_are_lost_without_a_double_write_area() {
    let loses = |seed: &u64| {
        let (disk, _) = life(*seed, TornPages::Lost);
        let opened = Database::open(&spec("torn").paths(), options(&disk, TornPages::Lost));
        opened.is_err() || !opened.is_ok_and(|db| db.suspect_pages().is_empty())
    };
    assert!((0..20).any(|seed| loses(&seed)));
}

fn area() -> PathBuf {
    "torn.mdf.dw".into()
}

#[test]
fn clean_close_deletes_the_double_write_area() {
    let (disk, _) = life(1, TornPages::Repaired);
    assert!(disk.exists(&area()));
    let db = Database::open(&spec("torn").paths(), options(&disk, TornPages::Repaired)).unwrap();
    db.close().unwrap();
    assert!(!disk.exists(&area()));
}

/// Remembers the pages that were repaired.
#[derive(Debug, Default)]
struct Repairs(Mutex<usize>);

impl EventSink for Repairs {
    fn event(&self, event: &Event) {
        if let Event::TornPagesRepaired { pages } = event {
            *lock(&self.0) += pages.len();
        }
    }
}

#[test]
fn torn_page_repairs_are_reported() {
    let repairs = Arc::new(Repairs::default());
    for seed in 0..20 {
        let (disk, _) = life(seed, TornPages::Repaired);
        let options = Options {
            events: repairs.clone(),
            ..options(&disk, TornPages::Repaired)
        };
        drop(Database::open(&spec("torn").paths(), options).unwrap());
    }
    assert!(*lock(&repairs.0) > 0, "no page of any life was torn");
}

#[test]
fn files_moved_without_their_area_name_the_torn_page() {
    let is_named = |seed: u64| {
        let (disk, _) = life(seed, TornPages::Repaired);
        disk.remove(&area()).unwrap();
        match Database::open(&spec("torn").paths(), options(&disk, TornPages::Repaired)) {
            Ok(db) => !db.suspect_pages().is_empty(),
            Err(error) => format!("{error:?}").contains("BadPage"),
        }
    };
    assert!((0..30).any(is_named));
}

/// An area that belongs to another state of the files is kept apart and not used.
#[test]
fn the_area_of_an_older_state_is_put_aside() {
    let (crashed, _) = life(4, TornPages::Repaired);
    let paths = spec("torn").paths();
    let old_area = crashed.contents(&area()).unwrap();
    Database::open(&paths, options(&crashed, TornPages::Repaired)).unwrap().close().unwrap();
    Database::open(&paths, options(&crashed, TornPages::Repaired)).unwrap().close().unwrap();
    crashed.put(&area(), old_area);
    let db = Database::open(&paths, options(&crashed, TornPages::Repaired)).unwrap();
    db.close().unwrap();
    assert!(crashed.exists(Path::new("torn.mdf.dw.old")));
    assert_sound_on(&crashed, &paths);
}

/// The paths of a database that got a further file while it was open.
fn paths_with_added() -> Paths {
    let mut paths = spec("torn").paths();
    paths.data.push("added.ndf".into());
    paths
}

fn add_file(db: &Database) {
    db.add_file(&DataFileSpec::new("added.ndf", 2 << 20), None).unwrap();
}

#[test]
fn pages_of_a_file_that_was_added_since_the_opening_are_repaired_too() {
    let repairs = Arc::new(Repairs::default());
    for seed in 0..20 {
        let (disk, committed) = life_with(seed, TornPages::Repaired, &|disk, db| {
            db.close().unwrap();
            let db =
                Database::open(&spec("torn").paths(), options(disk, TornPages::Repaired)).unwrap();
            add_file(&db);
            db
        });
        let options = Options {
            events: repairs.clone(),
            ..options(&disk, TornPages::Repaired)
        };
        let db = Database::open(&paths_with_added(), options).unwrap();
        assert_kept(&db, &committed, seed);
        db.close().unwrap();
        assert!(!disk.exists(Path::new("torn.mdf.dw.old")), "seed {seed}: the area was not used");
        assert_sound_on(&disk, &paths_with_added());
    }
    assert!(*lock(&repairs.0) > 0, "no page of any life was torn");
}

#[test]
fn an_older_copy_of_a_file_is_refused_unchanged_and_the_area_is_kept() {
    let paths = paths_with_added();
    for seed in 0..20 {
        let older = Mutex::new(None);
        let (disk, committed) = life_with(seed, TornPages::Repaired, &|disk, db| {
            add_file(&db);
            db.close().unwrap();
            *lock(&older) = disk.contents(&paths.data[1]);
            let db = Database::open(&paths, options(disk, TornPages::Repaired)).unwrap();
            // Until the first checkpoint the copy is a state that the log leads on from.
            db.checkpoint().unwrap();
            db
        });
        let right = disk.contents(&paths.data[1]).unwrap();
        let wrong = lock(&older).take().unwrap();
        disk.put(&paths.data[1], wrong.clone());
        assert!(Database::open(&paths, options(&disk, TornPages::Repaired)).is_err());
        assert_eq!(
            disk.contents(&paths.data[1]).unwrap(),
            wrong,
            "seed {seed}: a foreign file was changed"
        );
        disk.put(&paths.data[1], right);
        let db = Database::open(&paths, options(&disk, TornPages::Repaired)).unwrap();
        assert_kept(&db, &committed, seed);
    }
}

#[test]
fn set_aside_double_write_area_is_used_when_its_files_return() {
    let paths = spec("torn").paths();
    for seed in 0..20 {
        let older = Mutex::new(None);
        let (disk, committed) = life_with(seed, TornPages::Repaired, &|disk, db| {
            db.close().unwrap();
            *lock(&older) = Some(files_of(disk, &paths));
            let db = Database::open(&paths, options(disk, TornPages::Repaired)).unwrap();
            db.checkpoint().unwrap();
            db
        });
        let crashed = files_of(&disk, &paths);
        let older = lock(&older).take().unwrap();
        put_files(&disk, older);
        Database::open(&paths, options(&disk, TornPages::Repaired)).unwrap().close().unwrap();
        put_files(&disk, crashed);
        let db = Database::open(&paths, options(&disk, TornPages::Repaired)).unwrap();
        assert_kept(&db, &committed, seed);
        db.close().unwrap();
        assert!(!disk.exists(Path::new("torn.mdf.dw.old")), "seed {seed}: the area is still aside");
    }
}

/// Data files and log, with their contents.
fn files_of(disk: &MemDisk, paths: &Paths) -> Vec<(PathBuf, Vec<u8>)> {
    let all = paths.data.iter().chain([&paths.log]);
    all.map(|path| (path.clone(), disk.contents(path).unwrap())).collect()
}

fn put_files(disk: &MemDisk, files: Vec<(PathBuf, Vec<u8>)>) {
    for (path, contents) in files {
        disk.put(&path, contents);
    }
}
