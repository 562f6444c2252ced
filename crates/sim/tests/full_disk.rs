//! A disk that is full at every operation of a fixed script, and at the opening after it.
//!
//! For each amount of room the script runs from the same files. What needs room fails as a full log
//! or a full filegroup does; all else goes on; the database closes and opens while the disk is
//! full. With room again, everything works.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, Cause, ColumnSpec, DataFileSpec, Database, DatabaseSpec, Error, FileGrowth, IndexSpec,
    Options, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_sim::assert_sound;
use extentdb_types::{Collation, Datum, SqlType};

/// Bytes of the blocks that room is counted in.
const BLOCK_BYTES: u64 = 4096;
const TABLES: [&str; 2] = ["heap", "tree"];
/// Rows of each table before the script.
const FIRST_ROWS: i32 = 40;
/// Rows that the script inserts: more than the files have extents for.
const MORE_ROWS: i32 = 250;
/// Rows of a transaction that is rolled back.
const ROLLED_BACK_ROWS: i32 = 20;

/// Acknowledged rows: length of the text by id, for each table.
type Model = BTreeMap<&'static str, BTreeMap<i32, usize>>;

fn text_type() -> SqlType {
    SqlType::VarChar { len: Some(8000), collation: Collation(0x3400_d008) }
}

fn row(id: i32, len: usize) -> Vec<Datum<'static>> {
    vec![Datum::Int(id), Datum::decode(&text_type(), &vec![b'f'; len]).unwrap().into_owned()]
}

fn spec() -> DatabaseSpec {
    let mut spec = DatabaseSpec::new("full", "", 3 << 20);
    spec.files[0] = DataFileSpec { growth: FileGrowth::Pages(64), ..spec.files[0].clone() };
    spec
}

fn options(disk: &MemDisk) -> Options {
    Options {
        frames: 64,
        checkpoint_log_bytes: Some(128 << 10),
        ..Options::on(Arc::new(disk.clone()))
    }
}

fn columns() -> Vec<ColumnSpec> {
    vec![ColumnSpec::new("id", SqlType::Int).not_null(), ColumnSpec::new("name", text_type())]
}

/// The files that every script begins with, and what is in them.
fn beginning() -> (MemDisk, Model) {
    let disk = MemDisk::new();
    let db = Database::create(&spec(), options(&disk)).unwrap();
    let mut session = db.session();
    session.create_table(&TableSpec::heap("heap", columns())).unwrap();
    let tree = TableSpec::heap("tree", columns()).clustered(IndexSpec::new("c", &["id"]).unique());
    session.create_table(&tree).unwrap();
    let mut model = Model::new();
    for name in TABLES {
        let table = session.table(name).unwrap();
        for id in 0..FIRST_ROWS {
            session.insert(&table, &row(id, 500)).unwrap();
            model.entry(name).or_default().insert(id, 500);
        }
    }
    drop(session);
    db.close().unwrap();
    (disk, model)
}

/// What has room is done, what has none fails as it should.
fn tolerate<T>(what: &str, done: Result<T, Error>) -> Option<T> {
    match done {
        Ok(done) => Some(done),
        Err(error) if matches!(error.cause(), Cause::LogFull | Cause::FilegroupFull) => None,
        Err(error) => panic!("{what}: {error:?}"),
    }
}

fn addresses(session: &mut Session, table: &Table) -> Vec<(i32, Address)> {
    let mut addresses = Vec::new();
    let scanned = session.scan(table, &mut |at, row| {
        if let Datum::Int(id) = row[0] {
            addresses.push((id, at));
        }
        ControlFlow::Continue(())
    });
    scanned.unwrap();
    addresses
}

/// Every operation once or more often.
fn script(db: &Arc<Database>, model: &mut Model) {
    let mut session = db.session();
    for name in TABLES {
        let table = session.table(name).unwrap();
        let rows = model.entry(name).or_default();
        insert_rows(&mut session, &table, rows);
        change_rows(&mut session, &table, rows);
        roll_back_rows(&mut session, &table);
        tolerate("create index", session.create_index(&table, &IndexSpec::new("i", &["id"])));
        tolerate("checkpoint", db.checkpoint());
        if table.indexes().contains(&"i".to_owned()) {
            tolerate("rebuild", session.rebuild_index(&table, "i"));
            tolerate("drop index", session.drop_index(&table, "i"));
        }
        tolerate("lazy writer", db.write_lazily());
        tolerate("growth", db.grow_ahead());
        tolerate("ghosts", db.clean_some_ghosts());
    }
    create_and_drop(&mut session);
}

fn insert_rows(session: &mut Session, table: &Table, rows: &mut BTreeMap<i32, usize>) {
    for id in 1000..1000 + MORE_ROWS {
        if tolerate("insert", session.insert(table, &row(id, 4000))).is_some() {
            rows.insert(id, 4000);
        }
    }
}

fn change_rows(session: &mut Session, table: &Table, rows: &mut BTreeMap<i32, usize>) {
    for (id, at) in addresses(session, table).into_iter().filter(|(id, _)| *id < FIRST_ROWS) {
        if id % 2 == 0 {
            if tolerate("update", session.update(table, &at, &row(id, 3000))).is_some() {
                rows.insert(id, 3000);
            }
        } else if tolerate("delete", session.delete(table, &at)).is_some() {
            rows.remove(&id);
        }
    }
}

fn roll_back_rows(session: &mut Session, table: &Table) {
    session.begin();
    for id in 5000..5000 + ROLLED_BACK_ROWS {
        tolerate("insert", session.insert(table, &row(id, 4000)));
    }
    tolerate("rollback", session.rollback());
}

fn create_and_drop(session: &mut Session) {
    let created =
        tolerate("create table", session.create_table(&TableSpec::heap("other", columns())));
    if let Some(table) = created {
        tolerate("insert", session.insert(&table, &row(1, 4000)));
        tolerate("truncate", session.truncate_table(&table));
        while tolerate("drop table", session.drop_table(&table)).is_none() {
            // A drop may need log that a checkpoint gives back, and nothing else.
            session.rollback().unwrap();
        }
    }
}

fn compare(db: &Arc<Database>, model: &Model) {
    let mut session = db.session();
    for (name, rows) in model {
        let table = session.table(name).unwrap();
        let mut found = BTreeMap::new();
        let scanned = session.scan(&table, &mut |_, row| {
            if let (Datum::Int(id), Datum::Char(text)) = (&row[0], &row[1]) {
                found.insert(*id, text.bytes.len());
            }
            ControlFlow::Continue(())
        });
        scanned.unwrap();
        assert!(found == *rows, "{name}: {} rows found, {} expected", found.len(), rows.len());
    }
}

fn run_seed(beginning: &(MemDisk, Model), blocks: u64) {
    eprintln!("room for {blocks} blocks");
    let disk = beginning.0.copy();
    let mut model = beginning.1.clone();
    disk.set_capacity(Some(disk.used_bytes() + blocks * BLOCK_BYTES));
    let open = || Database::open(&spec().paths(), options(&disk)).unwrap();
    let db = open();
    script(&db, &mut model);
    compare(&db, &model);
    db.close().unwrap();
    let db = open();
    compare(&db, &model);
    drop(db);
    let db = open();
    compare(&db, &model);
    disk.set_capacity(None);
    let mut session = db.session();
    let table = session.table("heap").unwrap();
    for id in 9000..9100 {
        session.insert(&table, &row(id, 4000)).unwrap();
        model.entry("heap").or_default().insert(id, 4000);
    }
    drop((session, table));
    compare(&db, &model);
    db.close().unwrap();
    assert_sound(&disk, &spec().paths());
}

/// Amounts of room: `EXTENTDB_ROOMS=A..B` for others than the usual ones.
fn rooms() -> Vec<u64> {
    let asked = std::env::var("EXTENTDB_ROOMS").ok();
    let asked = asked.as_deref().and_then(|asked| asked.split_once(".."));
    let asked =
        asked.and_then(|(from, to)| Some((from.parse::<u64>().ok()?..to.parse().ok()?).collect()));
    asked.unwrap_or_else(|| vec![0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610])
}

#[test]
fn a_disk_that_is_full_at_any_operation_loses_no_row() {
    let beginning = beginning();
    rooms().into_iter().for_each(|blocks| run_seed(&beginning, blocks));
}

#[test]
fn the_script_succeeds_with_room() {
    run_seed(&beginning(), u64::from(u32::MAX));
}
