//! A data file comes to a database that is open.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{DataFileSpec, Database, Error, FilesRefused, Options, Paths, TableSpec};
use extentdb_io::{Disk, MemDisk};
use extentdb_telemetry::{Event, Recorder};
use support::*;

const MB: u64 = 1 << 20;

fn with(paths: &Paths, more: &[&str]) -> Paths {
    let mut paths = paths.clone();
    paths.data.extend(more.iter().map(Into::into));
    paths
}

/// Rows that take an extent for each eight.
fn fill(db: &Arc<Database>, table: &str, rows: i32) {
    let mut session = db.session();
    let table = session.table(table).unwrap();
    for id in 0..rows {
        session.insert(&table, &person(id, &"f".repeat(3900))).unwrap();
    }
}

#[test]
fn added_file_is_filled_and_opened_again() {
    let disk = MemDisk::new();
    let mut spec = spec("added");
    spec.filegroups.push(("ARCHIVE".to_owned(), vec![DataFileSpec::new("archive.ndf", 2 * MB)]));
    let db = Database::create(&spec, on(&disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    let old = TableSpec { filegroup: Some("ARCHIVE".to_owned()), ..people("old") };
    db.session().create_table(&old).unwrap();
    assert_eq!(db.add_file(&DataFileSpec::new("more.ndf", 16 * MB), None).unwrap().0, 4);
    assert_eq!(db.add_file(&DataFileSpec::new("older.ndf", 2 * MB), Some("archive")).unwrap().0, 5);
    fill(&db, "people", 500);
    fill(&db, "old", 500);
    let free: Vec<u32> = db.space().files().iter().map(|file| file.free_extents()).collect();
    assert!(free[2] < 240 && free[3] < 31, "{free:?}");
    db.close().unwrap();
    let paths = with(&spec.paths(), &["more.ndf", "older.ndf"]);
    assert_sound_on(&disk, &paths);
    // Without one of them it is not the whole database.
    let without = Database::open(&spec.paths(), on(&disk));
    assert!(matches!(without, Err(Error::MissingFile { .. })), "{without:?}");
    let db = reopen(&disk, &paths);
    assert_eq!(db.session().table("people").unwrap().row_count(), 500);
    fill(&db, "old", 100);
    close_and_check(db, &disk, &paths);
}

#[test]
fn list_of_many_added_files_grows_over_its_page() {
    let disk = MemDisk::new();
    let spec = spec("many");
    let db = Database::create(&spec, on(&disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    let names: Vec<String> = (0..25).map(|at| format!("file_{at}.ndf")).collect();
    for name in &names {
        db.add_file(&DataFileSpec::new(name, MB), None).unwrap();
    }
    fill(&db, "people", 2000);
    db.close().unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let paths = with(&spec.paths(), &names);
    assert_sound_on(&disk, &paths);
    assert_eq!(reopen(&disk, &paths).space().files().len(), 26);
}

#[test]
fn taken_file_name_or_path_is_refused() {
    let disk = MemDisk::new();
    let spec = spec("taken");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let named = |path: &str, name: &str| DataFileSpec {
        name: Some(name.to_owned()),
        ..DataFileSpec::new(path, MB)
    };
    let taken = db.add_file(&named("other.ndf", "TAKEN"), None);
    let expected = FilesRefused::NameTaken { name: "TAKEN".to_owned() };
    assert!(matches!(&taken, Err(Error::Files(files)) if *files == expected), "{taken:?}");
    let taken = db.add_file(&named("taken.mdf", "other"), None);
    assert!(matches!(taken, Err(Error::Disk(_))), "{taken:?}");
    let missing = db.add_file(&named("other.ndf", "other"), Some("NOWHERE"));
    assert!(matches!(missing, Err(Error::NotSupported { .. })), "{missing:?}");
    let small = db.add_file(&DataFileSpec::new("small.ndf", 8192), None);
    assert!(
        matches!(&small, Err(Error::Invalid(invalid)) if invalid.option() == "bytes"),
        "{small:?}"
    );
    assert!(!exists(&disk, "other.ndf".as_ref()) && !exists(&disk, "small.ndf".as_ref()));
    close_and_check(db, &disk, &spec.paths());
    assert_eq!(reopen(&disk, &spec.paths()).space().files().len(), 1);
}

#[test]
fn crash_during_add_file_leaves_the_file_added_or_not() {
    let mut with_it = 0;
    let mut without = 0;
    for calls in 0..80 {
        let disk = MemDisk::new();
        let spec = spec("cut");
        let db = Database::create(&spec, on(&disk)).unwrap();
        db.session().create_table(&people("people")).unwrap();
        disk.fail_after(calls);
        let added = db.add_file(&DataFileSpec::new("more.ndf", 2 * MB), None);
        if added.is_ok() {
            let mut session = db.session();
            let table = session.table("people").unwrap();
            (0..200).all(|id| session.insert(&table, &person(id, &"f".repeat(3900))).is_ok());
        }
        drop(db);
        let unit_of = |path: &std::path::Path| {
            if path.extension().is_some_and(|e| e == "ldf") { 512 } else { 8192 }
        };
        let disk = disk.crash_by(&mut SplitMix64::new(calls), &unit_of);
        let whole = with(&spec.paths(), &["more.ndf"]);
        let paths = match Database::open(&whole, on(&disk)) {
            Ok(db) => {
                db.close().unwrap();
                with_it += 1;
                whole
            }
            Err(Error::WrongFile { .. } | Error::Unreadable { .. } | Error::Disk(_)) => {
                assert!(added.is_err(), "call {calls}: the file was added");
                without += 1;
                reopen(&disk, &spec.paths()).close().unwrap();
                // What is left of the file does not stand in the way once it is gone.
                if disk.exists("more.ndf".as_ref()) {
                    disk.remove("more.ndf".as_ref()).unwrap();
                }
                let db = reopen(&disk, &spec.paths());
                db.add_file(&DataFileSpec::new("more.ndf", 2 * MB), None).unwrap();
                db.close().unwrap();
                whole
            }
            Err(error) => panic!("call {calls}: {error:?}"),
        };
        assert_sound_on(&disk, &paths);
    }
    assert!(with_it > 5 && without > 5, "{with_it} with it, {without} without");
}

#[test]
fn skip_targets_are_recomputed_when_a_file_is_added() {
    let disk = MemDisk::new();
    let recorder = Arc::new(Recorder::default());
    let db =
        Database::create(&spec("fill"), Options { events: recorder.clone(), ..on(&disk) }).unwrap();
    recorder.take();
    db.add_file(&DataFileSpec::new("more.ndf", 2 * MB), None).unwrap();
    let heard = recorder.take();
    let lines = heard.iter().filter(|event| matches!(event, Event::ProportionalFill { .. }));
    assert_eq!(lines.count(), 1, "{heard:?}");
}
