//! Several files and filegroups: proportional fill, growth, and what happens when nothing grows any
//! more.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::{DataFileSpec, Database, DatabaseSpec, Error, Options, TableSpec};
use extentdb_format::allocation::file_header::Growth;
use extentdb_io::MemDisk;
use extentdb_telemetry::{Event, Recorder};
use support::*;

const MB: u64 = 1 << 20;

fn three_files() -> DatabaseSpec {
    let mut spec = spec("files");
    spec.files.push(DataFileSpec::new("second.ndf", 2 * MB));
    spec.files.push(DataFileSpec::new("third.ndf", 16 * MB));
    spec.filegroups.push(("ARCHIVE".to_owned(), vec![DataFileSpec::new("archive.ndf", 2 * MB)]));
    spec
}

fn fill(db: &Database, table: &str, rows: i32) -> Result<(), Error> {
    let mut session = db.session();
    let table = session.table(table)?;
    session.begin();
    for id in 0..rows {
        session.insert(&table, &person(id, &"f".repeat(3900)))?;
    }
    session.commit()
}

#[test]
fn unequal_files_are_filled_in_proportion() {
    let disk = MemDisk::new();
    let spec = three_files();
    let recorder = Arc::new(Recorder::default());
    let options = Options { events: recorder.clone(), mixed_pages: false, ..on(&disk) };
    let db = Database::create(&spec, options).unwrap();
    db.session().create_table(&people("people")).unwrap();
    let free = |db: &Database| -> Vec<u32> {
        db.space().files().iter().map(|f| f.free_extents()).collect()
    };
    let before = free(&db);
    fill(&db, "people", 2000).unwrap();
    let used: Vec<u32> = before.iter().zip(free(&db)).map(|(before, now)| before - now).collect();
    // 125 extents: by far the most from the largest file, in the archive none.
    assert!(used[2] > 5 * used[1] && used[2] > 2 * used[0] && used[3] <= 1, "{before:?} {used:?}");
    let lines: Vec<String> = recorder
        .take()
        .into_iter()
        .filter_map(|event| match event {
            Event::ProportionalFill { lines } => Some(lines.join("\n")),
            _ => None,
        })
        .collect();
    assert!(lines.iter().any(|text| text.contains("most free file is file 4")), "{lines:#?}");
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn a_table_lies_in_its_filegroup() {
    let disk = MemDisk::new();
    let spec = three_files();
    let db = Database::create(&spec, on(&disk)).unwrap();
    let table = TableSpec { filegroup: Some("ARCHIVE".to_owned()), ..people("old") };
    let table = db.session().create_table(&table).unwrap();
    fill(&db, "old", 300).unwrap();
    assert!(table.heap().unwrap().formatted_pages().unwrap().iter().all(|page| page.file.0 == 5));
    drop(table);
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn files_grow_in_turn_until_the_filegroup_is_full() {
    let disk = MemDisk::new();
    let mut spec = spec("growing");
    let limited = |path: &str, growth| DataFileSpec {
        growth,
        bytes_max: Some(8 * MB),
        ..DataFileSpec::new(path, 4 * MB)
    };
    spec.files =
        vec![limited("growing.mdf", Growth::Pages(100)), limited("more.ndf", Growth::Percent(10))];
    let db = Database::create(&spec, on(&disk)).unwrap();
    db.session().create_table(&people("people")).unwrap();
    let full = fill(&db, "people", 5000);
    assert!(matches!(full, Err(Error::Rowset(_))), "{full:?}");
    let sizes: Vec<u32> = db.space().files().iter().map(|file| file.pages()).collect();
    assert_eq!(sizes, [1024, 1024]);
    let mut session = db.session();
    let table = session.table("people").unwrap();
    assert_eq!(ids(&mut session, &table), Vec::<i32>::new());
    // What the transaction had taken is the table's, and there is room again.
    for id in 0..500 {
        session.insert(&table, &person(id, &"g".repeat(3900))).unwrap();
    }
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    assert_eq!(db.session().table("people").unwrap().row_count(), 500);
}

#[test]
fn a_file_may_grow_over_the_border_of_its_maps() {
    let disk = MemDisk::new();
    let spec = spec("border");
    let db = Database::create(&spec, Options { frames: 1024, ..on(&disk) }).unwrap();
    db.session().create_table(&people("people")).unwrap();
    // More than 8088 pages: a second PFS page.
    fill(&db, "people", 17_000).unwrap();
    assert!(db.space().files()[0].pages() > 8_200);
    drop(db);
    let disk = disk.crash(&mut extentdb_base::env::SplitMix64::new(3));
    let db = reopen(&disk, &spec.paths());
    assert_eq!(db.session().table("people").unwrap().row_count(), 17_000);
    close_and_check(db, &disk, &spec.paths());
}
