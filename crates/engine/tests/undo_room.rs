//! Rollbacks in a full filegroup, while the bytes that they need back are wanted by others: each
//! succeeds, and no file grows.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::size::PAGE_BYTES;
use extentdb_engine::{
    Cause, DataFileSpec, Database, DatabaseSpec, Error, IndexSpec, Paths, Row, Session,
};
use extentdb_format::allocation::file_header::Growth;
use extentdb_io::MemDisk;
use support::*;

const MB: u64 = 1 << 20;
const ROWS: i32 = 600;
/// Between the ids of two rows.
const STEP: i32 = 1000;

/// A database whose file cannot grow, with a clustered table that has an index with all columns.
fn in_small_file(disk: &MemDisk) -> (Database, Paths) {
    let file = DataFileSpec {
        growth: Growth::Pages(0),
        bytes_max: Some(4 * MB),
        ..DataFileSpec::new("room.mdf", 4 * MB)
    };
    let spec = DatabaseSpec { files: vec![file], ..spec("room") };
    let db = Database::create(&spec, on(disk)).unwrap();
    let mut session = db.session();
    let people = people("people").clustered(IndexSpec::primary_key("pk", &["id"]));
    let table = session.create_table(&people).unwrap();
    let included = vec!["name".to_owned()];
    let covering = IndexSpec { included, ..IndexSpec::new("covering", &["id"]) };
    session.create_index(&table, &covering).unwrap();
    drop(session);
    (db, spec.paths())
}

/// Rows with long names, committed.
fn fill(session: &mut Session<'_>) -> Vec<Row> {
    let table = session.table("people").unwrap();
    let made: Vec<Row> = (0..ROWS).map(|id| person(id * STEP, &"l".repeat(700))).collect();
    session.begin();
    made.iter().for_each(|row| drop(session.insert(&table, row).unwrap()));
    session.commit().unwrap();
    made
}

/// Makes all rows short, and leaves that open.
fn shorten(session: &mut Session<'_>) {
    let table = session.table("people").unwrap();
    session.begin();
    for (at, row) in rows(session, &table) {
        let id = row[0].clone();
        session.update(&table, &at, &[id, text("s")]).unwrap();
    }
}

/// Inserts rows between the others until there is no room.
fn crowd(session: &mut Session<'_>) -> usize {
    let table = session.table("people").unwrap();
    let mut done = 0;
    for number in 0.. {
        let id = number % ROWS * STEP + 1 + number / ROWS;
        match session.insert(&table, &person(id, &"o".repeat(90))) {
            Ok(_) => done += 1,
            Err(error) if error.cause() == Cause::FilegroupFull => break,
            Err(error) => panic!("{error:?}"),
        }
    }
    done
}

/// One session has shortened all rows, and the other one wants their room. The long rows.
fn fill_shorten_crowd(one: &mut Session<'_>, other: &mut Session<'_>) -> Vec<Row> {
    let made = fill(one);
    shorten(one);
    assert!(crowd(other) > 100);
    made
}

fn long_rows(session: &mut Session<'_>) -> Vec<Row> {
    let table = session.table("people").unwrap();
    let all = rows(session, &table).into_iter().map(|(_, row)| row);
    all.filter(|row| row[1] == text(&"l".repeat(700))).collect()
}

fn sizes(db: &Database) -> Vec<u32> {
    db.space().files().iter().map(|file| file.pages()).collect()
}

#[test]
fn a_rollback_in_a_full_filegroup_needs_no_page() {
    let disk = MemDisk::new();
    let (db, paths) = in_small_file(&disk);
    let mut one = db.session();
    let mut other = db.session();
    let made = fill_shorten_crowd(&mut one, &mut other);
    let before = sizes(&db);
    one.rollback().unwrap();
    assert!(long_rows(&mut one) == made);
    assert_eq!(sizes(&db), before);
    drop((one, other));
    close_and_check(db, &disk, &paths);
}

#[test]
fn a_restart_in_a_full_filegroup_needs_no_page() {
    for is_checkpointed in [false, true] {
        let disk = MemDisk::new();
        let (db, paths) = in_small_file(&disk);
        let mut one = db.session();
        let mut other = db.session();
        let made = fill_shorten_crowd(&mut one, &mut other);
        let before = sizes(&db);
        if is_checkpointed {
            db.checkpoint().unwrap();
        }
        db.log().flush_all().unwrap();
        // No page is torn: that is another story.
        let disk = disk.crash_by(&mut SplitMix64::new(5), &|_| PAGE_BYTES);
        std::mem::forget((one, other));
        let db = reopen(&disk, &paths);
        assert!(long_rows(&mut db.session()) == made);
        assert_eq!(sizes(&db), before);
        close_and_check(db, &disk, &paths);
    }
}

/// A heap reserves what a statement freed until the transaction ends, also when the statement was
/// undone. It may be more than a page has by then.
#[test]
fn a_heap_row_is_shortened_and_rolled_back_often_in_one_transaction() -> Result<(), Error> {
    let disk = MemDisk::new();
    let spec = spec("savepoints");
    let db = Database::create(&spec, on(&disk))?;
    let mut session = db.session();
    let table = session.create_table(&people("people"))?;
    let at = session.insert(&table, &person(1, &"l".repeat(3900)))?;
    session.begin();
    for _ in 0..40 {
        session.save("here")?;
        session.update(&table, &at, &person(1, "s"))?;
        session.rollback_to("here")?;
    }
    session.update(&table, &at, &person(1, "s"))?;
    let mut other = db.session();
    let others = other.table("people")?;
    for id in 2..20 {
        other.insert(&others, &person(id, &"o".repeat(1500)))?;
    }
    session.rollback()?;
    assert_eq!(rows(&mut session, &table)[0].1, person(1, &"l".repeat(3900)));
    drop((session, other, table, others));
    db.close()?;
    assert_sound_on(&disk, &spec.paths());
    Ok(())
}
