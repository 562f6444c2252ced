//! Tables whose rows lie in a clustered index: unique keys, uniquifiers, other indexes beside it,
//! rollbacks and crashes.

mod support;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{Address, Database, Error, IndexSpec, Session, Table, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

/// Ids as a scan finds them: in the order of the clustered key.
fn scanned(session: &mut Session<'_>, table: &Table) -> Vec<i32> {
    rows(session, table).iter().map(|(_, row)| id_of(row)).collect()
}

fn by_id() -> TableSpec {
    people("t").clustered(IndexSpec::primary_key("pk", &["id"]))
}

fn by_name() -> TableSpec {
    people("t").clustered(IndexSpec::new("c", &["name"]))
}

fn made(
    disk: &MemDisk,
    table: &TableSpec,
    indexes: &[IndexSpec],
) -> (Database, extentdb_engine::Paths) {
    let spec = spec("clustered");
    let db = Database::create(&spec, on(disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(table).unwrap();
    indexes.iter().for_each(|index| session.create_index(&table, index).unwrap());
    drop(session);
    (db, spec.paths())
}

/// Deletes the row of some ids; others get another key, or another name only. The id and address
/// afterwards.
fn delete_move_or_change(
    session: &mut Session<'_>,
    table: &Table,
    at: &Address,
    id: i32,
) -> Option<(i32, Address)> {
    match id % 4 {
        0 => {
            session.delete(table, at).unwrap();
            None
        }
        1 => {
            let moved = person(id + 100_000, &"long".repeat(100));
            let now = session.update(table, at, &moved).unwrap();
            assert_ne!(now, *at);
            assert_eq!(session.get(table, at).unwrap(), None);
            Some((id + 100_000, now))
        }
        _ => {
            let changed = person(id, &"x".repeat(id as usize % 900));
            let now = session.update(table, at, &changed).unwrap();
            assert_eq!(now, *at);
            Some((id, now))
        }
    }
}

#[test]
fn rows_lie_in_key_order_and_move_with_their_key() {
    let disk = MemDisk::new();
    let (db, paths) = made(&disk, &by_id(), &[IndexSpec::new("by_name", &["name"])]);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let mut rng = SplitMix64::new(7);
    let mut model = BTreeMap::new();
    while model.len() < 3000 {
        let id = rng.below(100_000) as i32;
        let inserted = session.insert(&table, &person(id, &format!("name{}", id % 50)));
        if let Entry::Vacant(entry) = model.entry(id) {
            entry.insert(inserted.unwrap());
        } else {
            assert!(matches!(inserted, Err(Error::DuplicateKey { is_constraint: true, .. })));
        }
    }
    assert!(scanned(&mut session, &table).iter().eq(model.keys()));
    let chosen: Vec<i32> = model.keys().step_by(3).copied().collect();
    for id in chosen {
        let at = model.remove(&id).unwrap();
        let now = delete_move_or_change(&mut session, &table, &at, id);
        model.extend(now);
    }
    assert!(scanned(&mut session, &table).iter().eq(model.keys()));
    let mut named = seek(&mut session, &table, "by_name", &[]);
    named.sort_unstable();
    assert!(named.iter().eq(model.keys()));
    let (id, at) = model.iter().nth(100).unwrap();
    assert_eq!(seek(&mut session, &table, "pk", &[Datum::Int(*id)]), [*id]);
    assert_eq!(id_of(&session.get(&table, at).unwrap().unwrap()), *id);
    assert_eq!(table.row_count(), model.len() as i64);
    drop((session, table));
    close_and_check(db, &disk, &paths);
    // Another opening goes on with the same trees.
    let db = reopen(&disk, &paths);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    assert_eq!(table.indexes(), ["pk", "by_name"]);
    assert!(scanned(&mut session, &table).iter().eq(model.keys()));
    session.insert(&table, &person(-5, "first")).unwrap();
    assert_eq!(scanned(&mut session, &table)[0], -5);
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

#[test]
fn rows_with_equal_clustered_keys_have_uniquifiers() {
    let disk = MemDisk::new();
    let indexes =
        [IndexSpec::new("by_id", &["id"]).unique(), IndexSpec::new("both", &["name", "id"])];
    let (db, paths) = made(&disk, &by_name(), &indexes);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let mut at = Vec::new();
    for id in 0..1200 {
        at.push(session.insert(&table, &person(id, &format!("name{}", id % 3))).unwrap());
    }
    assert_eq!(seek(&mut session, &table, "c", &[text("name1")]).len(), 400);
    for id in (0..1200).step_by(5) {
        session.delete(&table, &at[id as usize]).unwrap();
    }
    // What the open transaction has deleted keeps its uniquifier: it comes back.
    session.begin();
    let last = session.insert(&table, &person(5000, "name0")).unwrap();
    session.save("s").unwrap();
    session.delete(&table, &last).unwrap();
    let next = session.insert(&table, &person(5001, "name0")).unwrap();
    assert_ne!(last, next);
    session.rollback_to("s").unwrap();
    session.commit().unwrap();
    assert_eq!(id_of(&session.get(&table, &last).unwrap().unwrap()), 5000);
    let left = (0..1200).filter(|id| id % 5 != 0).chain([5000]);
    assert_eq!(seek(&mut session, &table, "by_id", &[]), left.clone().collect::<Vec<_>>());
    // Rows get another key and its next uniquifier; their entries follow.
    for id in (1..1200).step_by(50).filter(|id| id % 3 != 2) {
        let now = session.update(&table, &at[id as usize], &person(id, "name2")).unwrap();
        assert_ne!(now, at[id as usize]);
    }
    assert_eq!(seek(&mut session, &table, "by_id", &[]), left.collect::<Vec<_>>());
    let mut named = seek(&mut session, &table, "both", &[text("name2")]);
    assert!(named.is_sorted());
    let mut clustered = seek(&mut session, &table, "c", &[text("name2")]);
    named.sort_unstable();
    clustered.sort_unstable();
    assert_eq!(named, clustered);
    drop((session, table));
    close_and_check(db, &disk, &paths);
    let db = reopen(&disk, &paths);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    session.insert(&table, &person(6000, "name1")).unwrap();
    assert_eq!(seek(&mut session, &table, "by_id", &[Datum::Int(6000)]), [6000]);
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

#[test]
fn rollback_and_crash_keep_committed_rows() {
    for (seed, table) in [by_id(), by_name()].into_iter().enumerate() {
        let disk = MemDisk::new();
        let (db, paths) = made(&disk, &table, &[IndexSpec::new("by_both", &["name", "id"])]);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        for id in 0..400 {
            session.insert(&table, &person(id, &format!("name{}", id % 7))).unwrap();
        }
        let before = scanned(&mut session, &table);
        let mut rng = SplitMix64::new(seed as u64);
        let all = rows(&mut session, &table);
        let work = |session: &mut Session<'_>, rng: &mut SplitMix64| {
            for (at, row) in &all {
                match rng.below(3) {
                    0 => session.delete(&table, at).unwrap(),
                    1 => drop(
                        session.update(&table, at, &person(id_of(row) + 1000, "moved")).unwrap(),
                    ),
                    _ => drop(
                        session
                            .insert(&table, &person(id_of(row) + 5000, &"n".repeat(200)))
                            .unwrap(),
                    ),
                }
            }
        };
        session.begin();
        work(&mut session, &mut rng);
        session.rollback().unwrap();
        assert_eq!(scanned(&mut session, &table), before);
        session.begin();
        work(&mut session, &mut rng);
        db.checkpoint().unwrap();
        session.insert(&table, &person(-1, "behind the checkpoint")).unwrap();
        db.log().flush_all().unwrap();
        let disk = disk.crash(&mut SplitMix64::new(5));
        std::mem::forget((session, table));
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(scanned(&mut session, &table), before);
        assert_eq!(seek(&mut session, &table, "by_both", &[]).len(), before.len());
        drop((session, table));
        close_and_check(db, &disk, &paths);
    }
}

#[test]
fn clustered_tables_are_created_and_dropped() {
    let disk = MemDisk::new();
    let (db, paths) = made(&disk, &by_name(), &[IndexSpec::new("by_id", &["id"]).unique()]);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for id in 0..500 {
        session.insert(&table, &person(id, &format!("name{}", id % 9))).unwrap();
    }
    session.begin();
    session.truncate_table(&table).unwrap();
    session.insert(&table, &person(1, "only")).unwrap();
    assert_eq!(scanned(&mut session, &table), [1]);
    session.rollback().unwrap();
    assert_eq!(seek(&mut session, &table, "by_id", &[]), (0..500).collect::<Vec<_>>());
    session.begin();
    session.drop_table(&table).unwrap();
    let again = session.create_table(&by_id()).unwrap();
    session.insert(&again, &person(1, "a")).unwrap();
    session.rollback().unwrap();
    let table = session.table("t").unwrap();
    assert_eq!(table.indexes(), ["c", "by_id"]);
    assert_eq!(scanned(&mut session, &table).len(), 500);
    session.truncate_table(&table).unwrap();
    session.insert(&table, &person(1, "only")).unwrap();
    let refused = session.create_table(&by_id().clustered(IndexSpec::primary_key("pk", &["name"])));
    assert!(refused.is_err(), "a key column that takes NULL");
    session.drop_table(&table).unwrap();
    let table = session.create_table(&by_id()).unwrap();
    session.insert(&table, &person(2, "new")).unwrap();
    drop((session, table, again));
    close_and_check(db, &disk, &paths);
}

/// The clustered indexes that a heap may get: not unique, and of a primary key.
fn clustered_specs() -> [IndexSpec; 2] {
    [IndexSpec::new("c", &["name"]).clustered(), IndexSpec::primary_key("c", &["id"]).clustered()]
}

const HEAP_ROWS: i32 = 700;

/// A heap with two indexes and 700 rows.
fn filled_heap(disk: &MemDisk) -> (Database, extentdb_engine::Paths) {
    let indexes = [IndexSpec::new("by_id", &["id"]).unique(), IndexSpec::new("by_name", &["name"])];
    let (db, paths) = made(disk, &people("t"), &indexes);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for id in 0..HEAP_ROWS {
        let name = format!("name{}", id % 11);
        session.insert(&table, &person((id * 37) % HEAP_ROWS, &name)).unwrap();
    }
    drop((session, table));
    (db, paths)
}

/// All rows are found, by the table and by its indexes, of which there are these.
fn verify_rows(session: &mut Session<'_>, indexes: &[&str]) {
    let table = session.table("t").unwrap();
    let all: Vec<i32> = (0..HEAP_ROWS).collect();
    assert_eq!(table.indexes(), indexes);
    assert_eq!(seek(session, &table, "by_id", &[]), all);
    assert_eq!(seek(session, &table, "by_name", &[text("name3")]).len(), 64);
    assert_eq!(ids(session, &table), all);
}

fn drop_clustered(session: &mut Session<'_>, spec: &IndexSpec) {
    let table = session.table("t").unwrap();
    if spec.unique {
        session.drop_constraint(&table, "c").unwrap();
    } else {
        session.drop_index(&table, "c").unwrap();
    }
}

#[test]
fn heap_becomes_clustered_and_heap_again() {
    for spec in clustered_specs() {
        let disk = MemDisk::new();
        let (db, paths) = filled_heap(&disk);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.begin();
        session.create_index(&table, &spec).unwrap();
        verify_rows(&mut session, &["c", "by_id", "by_name"]);
        session.rollback().unwrap();
        verify_rows(&mut session, &["by_id", "by_name"]);
        session.create_index(&table, &spec).unwrap();
        assert!(matches!(session.create_index(&table, &spec), Err(Error::Exists { .. })));
        for index in ["by_name", "c"] {
            session.rebuild_index(&table, index).unwrap();
            verify_rows(&mut session, &["c", "by_id", "by_name"]);
        }
        drop_clustered(&mut session, &spec);
        verify_rows(&mut session, &["by_id", "by_name"]);
        let at = session.insert(&table, &person(HEAP_ROWS, "last")).unwrap();
        assert!(at.rid().is_some());
        drop((session, table));
        close_and_check(db, &disk, &paths);
    }
}

#[test]
fn rollback_and_restart_undo_the_drop_of_a_clustered_index() {
    for spec in clustered_specs() {
        let disk = MemDisk::new();
        let (db, paths) = filled_heap(&disk);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.create_index(&table, &spec).unwrap();
        session.begin();
        drop_clustered(&mut session, &spec);
        verify_rows(&mut session, &["by_id", "by_name"]);
        db.log().flush_all().unwrap();
        let crashed = disk.crash(&mut SplitMix64::new(8));
        session.rollback().unwrap();
        verify_rows(&mut session, &["c", "by_id", "by_name"]);
        drop((session, table));
        close_and_check(db, &disk, &paths);
        let restarted = reopen(&crashed, &paths);
        verify_rows(&mut restarted.session(), &["c", "by_id", "by_name"]);
        close_and_check(restarted, &crashed, &paths);
    }
}

#[test]
fn failed_statement_frees_no_page_in_use() {
    let disk = MemDisk::new();
    let (db, paths) = made(&disk, &people("t"), &[IndexSpec::new("by_id", &["id"])]);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for id in 0..600 {
        session.insert(&table, &person(id % 599, &"x".repeat(500))).unwrap();
    }
    let clustered = IndexSpec::new("c", &["id"]).unique().clustered();
    session.begin();
    assert!(matches!(session.create_index(&table, &clustered), Err(Error::DuplicateKey { .. })));
    // A row that takes a whole page has no room for a uniquifier.
    session.rebuild_index(&table, "by_id").unwrap();
    session.commit().unwrap();
    db.checkpoint().unwrap();
    // Others take all the space that there is.
    let other = session.create_table(&people("other")).unwrap();
    for id in 0..600 {
        session.insert(&other, &person(id, &"y".repeat(500))).unwrap();
    }
    assert_eq!(ids(&mut session, &table).len(), 600);
    assert!(rows(&mut session, &table).iter().all(|(_, row)| row[1] == text(&"x".repeat(500))));
    assert_eq!(seek(&mut session, &table, "by_id", &[]).len(), 600);
    drop((session, table, other));
    close_and_check(db, &disk, &paths);
}
