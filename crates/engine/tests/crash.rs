//! The power goes: whatever was acknowledged is there again, nothing else, and the files are sound.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{Address, Database, Error, Paths, Row, Session};
use extentdb_io::{Disk, MemDisk};
use support::*;

/// What must be in the table: rows by id.
type Model = BTreeMap<i32, Row>;

/// A life of random transactions over one table.
struct Life {
    seed: u64,
    rng: SplitMix64,
    /// What has been acknowledged.
    committed: Model,
    /// What the transaction that was being committed when the power went would have made.
    in_doubt: Option<Model>,
    next_id: i32,
}

impl Life {
    fn new(seed: u64) -> Life {
        Life {
            seed,
            rng: SplitMix64::new(seed),
            committed: Model::new(),
            in_doubt: None,
            next_id: 0,
        }
    }

    fn row(&mut self, id: i32) -> Row {
        let len = match self.rng.below(10) {
            0 => self.rng.below(3900),
            1..=3 => self.rng.below(800),
            _ => self.rng.below(60),
        };
        let letter = char::from(b'a' + self.rng.below(26) as u8);
        person(id, &letter.to_string().repeat(len as usize))
    }

    /// One transaction; an error is the power going.
    fn transaction(
        &mut self,
        session: &mut Session<'_>,
        places: &mut BTreeMap<i32, Address>,
    ) -> Result<(), Error> {
        let table = session.table("people")?;
        let mut model = self.committed.clone();
        let mut moved = places.clone();
        session.begin();
        for _ in 0..1 + self.rng.below(12) {
            let known: Vec<i32> = model.keys().copied().collect();
            let any = |rng: &mut SplitMix64| known[rng.below(known.len() as u64) as usize];
            match self.rng.below(10) {
                0..=5 => {
                    let id = self.next_id;
                    self.next_id += 1;
                    let row = self.row(id);
                    moved.insert(id, session.insert(&table, &row)?);
                    model.insert(id, row);
                }
                6..=7 if !known.is_empty() => {
                    let id = any(&mut self.rng);
                    let row = self.row(id);
                    session.update(&table, &moved[&id], &row)?;
                    model.insert(id, row);
                }
                8 if !known.is_empty() => {
                    let id = any(&mut self.rng);
                    session.delete(&table, &moved[&id])?;
                    model.remove(&id);
                    moved.remove(&id);
                }
                _ => {}
            }
        }
        match self.rng.below(6) {
            0 => session.rollback(),
            _ => {
                self.in_doubt = Some(model.clone());
                session.commit()?;
                self.in_doubt = None;
                (self.committed, *places) = (model, moved);
                Ok(())
            }
        }
    }

    /// Transactions until the power goes.
    fn run(&mut self, db: &Database, transactions: usize) -> Result<(), Error> {
        let mut session = db.session();
        let mut places = self.places(&mut session);
        for _ in 0..transactions {
            self.transaction(&mut session, &mut places)?;
            if self.rng.below(12) == 0 {
                db.checkpoint()?;
            }
        }
        Ok(())
    }

    fn places(&self, session: &mut Session<'_>) -> BTreeMap<i32, Address> {
        let table = session.table("people").unwrap();
        rows(session, &table).into_iter().map(|(at, row)| (id_of(&row), at)).collect()
    }

    /// What the database has must be what was acknowledged, or that with the transaction in doubt.
    fn assert_kept(&mut self, db: &Database) {
        let mut session = db.session();
        let table = session.table("people").unwrap();
        let found: Model =
            rows(&mut session, &table).into_iter().map(|(_, row)| (id_of(&row), row)).collect();
        assert_eq!(table.row_count(), found.len() as i64);
        if self.in_doubt.take().is_some_and(|doubtful| doubtful == found) {
            self.committed = found;
            return;
        }
        let expected: Vec<_> = self.committed.keys().collect();
        let got: Vec<_> = found.keys().collect();
        assert_eq!(expected, got, "seed {}", self.seed);
        assert!(self.committed == found, "a row has other values");
    }
}

fn new_database(disk: &MemDisk) -> Paths {
    let spec = spec("life");
    let db = Database::create(&spec, on(disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    db.close().unwrap();
    spec.paths()
}

#[test]
fn a_crash_without_open_transactions_loses_nothing() {
    let disk = MemDisk::new();
    let paths = new_database(&disk);
    let mut life = Life::new(1);
    let db = reopen(&disk, &paths);
    life.run(&db, 40).unwrap();
    drop(db);
    let disk = disk.crash(&mut SplitMix64::new(5));
    let db = reopen(&disk, &paths);
    life.assert_kept(&db);
    close_and_check(db, &disk, &paths);
}

/// Lives in which the power goes again and again; `crash` says what of unsynced writes is left.
/// Each one ends with what opening the database for the last time gave.
fn live(
    seed: u64,
    crash: &dyn Fn(&MemDisk, &mut SplitMix64) -> MemDisk,
) -> (Life, MemDisk, Paths, Result<Database, Error>) {
    let mut rng = SplitMix64::new(seed ^ 0xdead_beef);
    let mut disk = MemDisk::new();
    let paths = new_database(&disk);
    let mut life = Life::new(seed);
    for _ in 0..4 {
        // The power may go during recovery, too.
        disk.fail_after(rng.below(60));
        if let Ok(db) = Database::open(&paths, on(&disk)) {
            disk.fail_after(u64::MAX);
            life.assert_kept(&db);
            disk.fail_after(rng.below(150));
            let _ = life.run(&db, 60);
            drop(db);
        }
        disk = crash(&disk, &mut rng);
    }
    let opened = Database::open(&paths, on(&disk));
    (life, disk, paths, opened)
}

fn assert_life_kept(seed: u64, mut life: Life, disk: &MemDisk, paths: &Paths, db: Database) {
    life.assert_kept(&db);
    db.close().unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    let folder = tempfile::tempdir().unwrap();
    let files = files_of(disk, paths, folder.path());
    assert_sound(&files);
    let read: Model =
        rows_by_reader(&files, "people").into_iter().map(|row| (id_of(&row), row)).collect();
    assert!(read == life.committed, "seed {seed}: the reader sees other rows");
}

#[test]
fn crash_at_any_disk_call_keeps_committed_rows() {
    // Data pages are written as a whole or not at all; log blocks are torn at any sector.
    let unit_of =
        |path: &Path| if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 };
    for seed in 0..lives() {
        let crash = |disk: &MemDisk, rng: &mut SplitMix64| disk.crash_by(rng, &unit_of);
        let (life, disk, paths, opened) = live(seed, &crash);
        let db = opened.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
        assert_life_kept(seed, life, &disk, &paths, db);
    }
}

#[test]
fn torn_page_is_reported_or_repaired() {
    let mut torn = 0;
    for seed in 0..lives() {
        let crash = |disk: &MemDisk, rng: &mut SplitMix64| disk.crash(rng);
        let (life, disk, paths, opened) = live(seed, &crash);
        match opened {
            Ok(db) => assert_life_kept(seed, life, &disk, &paths, db),
            Err(
                Error::Buffer(extentdb_buffer::Error::BadPage { .. }) | Error::WrongFile { .. },
            ) => torn += 1,
            Err(error) => panic!("seed {seed}: {error:?}"),
        }
    }
    eprintln!("{torn} of {} databases had a torn page", lives());
}

/// How many lives: more with EXTENTDB_LIVES.
fn lives() -> u64 {
    std::env::var("EXTENTDB_LIVES").ok().and_then(|lives| lives.parse().ok()).unwrap_or(25)
}

#[test]
fn crash_while_a_new_log_is_created_is_recovered() {
    let disk = MemDisk::new();
    let mut unusable = 0;
    let paths = new_database(&disk);
    let mut life = Life::new(9);
    let db = reopen(&disk, &paths);
    life.run(&db, 30).unwrap();
    db.close().unwrap();
    let primary = disk.contents(&paths.data[0]).unwrap();
    for calls in 0..160 {
        let disk = MemDisk::new();
        disk.put(&paths.data[0], primary.clone());
        disk.fail_after(calls);
        drop(Database::open(&paths, on(&disk)));
        let unit_of =
            |path: &Path| if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 };
        let disk = disk.crash_by(&mut SplitMix64::new(calls), &unit_of);
        let opened = Database::open(&paths, on(&disk));
        let db = opened.unwrap_or_else(|error| panic!("{calls}: {error:?}"));
        unusable += usize::from(disk.exists(Path::new("life_log.ldf.old1")));
        life.assert_kept(&db);
        close_and_check(db, &disk, &paths);
    }
    eprintln!("{unusable} logs could not be used, and were kept beside new ones");
}
