//! Nonclustered indexes: their entries follow the rows, through rollbacks, crashes and other
//! sessions.

mod support;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_base::{FileId, PageId};
use extentdb_engine::{
    Address, ColumnSpec, Database, Error, IndexSpec, Options, Paths, Row, Session, Table, TableSpec,
};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Datum, SqlType};
use support::*;

/// A table `t` of people with an index on the name and a unique one on the id.
fn indexed(disk: &MemDisk) -> (Database, Paths) {
    let spec = spec("indexes");
    let db = Database::create(&spec, on(disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    session.create_index(&table, &IndexSpec::new("by_name", &["name"])).unwrap();
    session.create_index(&table, &IndexSpec::new("by_id", &["id"]).unique()).unwrap();
    drop(session);
    (db, spec.paths())
}

#[test]
fn entries_follow_insert_update_and_delete() {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    let mut at = Vec::new();
    for id in 0..3000 {
        at.push(session.insert(&table, &person(id, &format!("name{}", id % 100))).unwrap());
    }
    assert_eq!(seek(&mut session, &table, "by_id", &[Datum::Int(1234)]), [1234]);
    assert_eq!(seek(&mut session, &table, "by_name", &[text("name7")]).len(), 30);
    // Longer rows move; their addresses and entries stay.
    for id in (0..3000).step_by(7) {
        session.update(&table, &at[id as usize], &person(id, &"long".repeat(200))).unwrap();
    }
    for id in (1..3000).step_by(5) {
        session.delete(&table, &at[id as usize]).unwrap();
    }
    let left = |id: &i32| id % 5 != 1;
    let long: Vec<i32> = (0..3000).step_by(7).filter(left).collect();
    let mut found = seek(&mut session, &table, "by_name", &[text(&"long".repeat(200))]);
    found.sort_unstable();
    assert_eq!(found, long);
    assert_eq!(
        seek(&mut session, &table, "by_id", &[]),
        (0..3000).filter(left).collect::<Vec<_>>()
    );
    assert!(seek(&mut session, &table, "by_id", &[Datum::Int(1)]).is_empty());
    drop((session, table));
    close_and_check(db, &disk, &paths);
    // Another opening goes on with the same trees.
    let db = reopen(&disk, &paths);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    assert_eq!(table.indexes(), ["by_name", "by_id"]);
    session.insert(&table, &person(1, "again")).unwrap();
    assert_eq!(seek(&mut session, &table, "by_id", &[Datum::Int(1)]), [1]);
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

#[test]
fn index_created_over_rows_is_complete_and_ordered() {
    let disk = MemDisk::new();
    let spec = spec("late");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("n", SqlType::BigInt),
        ColumnSpec::new("d", SqlType::DateTime2 { scale: 7 }),
        ColumnSpec::new("b", SqlType::Bit),
    ];
    let table = session.create_table(&TableSpec::heap("t", columns)).unwrap();
    let mut rng = SplitMix64::new(3);
    session.begin();
    for id in 0..5000 {
        let n = if rng.below(9) == 0 {
            Datum::Null
        } else {
            Datum::BigInt(rng.next_u64() as i64 >> rng.below(60))
        };
        session.insert(&table, &[Datum::Int(id), n, Datum::Null, Datum::Bit(id % 3 == 0)]).unwrap();
    }
    let index = IndexSpec {
        keys: vec![("n".into(), true), ("b".into(), false)],
        included: vec!["id".into(), "d".into()],
        ..IndexSpec::new("late", &[])
    };
    session.create_index(&table, &index).unwrap();
    session.commit().unwrap();
    let mut before = None;
    let each = &mut |_: Address, row: Row| {
        let n = if let Datum::BigInt(n) = row[1] { Some(n) } else { None };
        assert!(before.is_none_or(|before| before >= n), "descending, NULL last");
        before = Some(n);
        ControlFlow::Continue(())
    };
    session.seek(&table, "late", &[], each).unwrap();
    assert!(seek(&mut session, &table, "late", &[Datum::Null]).len() > 300);
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn failed_create_index_leaves_nothing() {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for id in 0..500 {
        session.insert(&table, &person(id, if id < 499 { "same" } else { "other" })).unwrap();
    }
    session.begin();
    session.insert(&table, &person(500, "third")).unwrap();
    let refused =
        session.create_index(&table, &IndexSpec::new("u", &["name"]).unique()).unwrap_err();
    assert!(matches!(&refused, Error::DuplicateKey { key, .. } if key == "same"), "{refused}");
    for (name, keys) in
        [("by_id", vec!["id"]), ("none", vec![]), ("twice", vec!["id", "ID"]), ("x", vec!["y"])]
    {
        assert!(session.create_index(&table, &IndexSpec::new(name, &keys)).is_err(), "{name}");
    }
    session.commit().unwrap();
    assert_eq!(table.indexes(), ["by_name", "by_id"]);
    assert_eq!(seek(&mut session, &table, "by_name", &[text("third")]), [500]);
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

#[test]
fn rollback_undoes_index_ddl() {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    session.begin();
    for id in 0..800 {
        session.insert(&table, &person(id, &format!("n{id}"))).unwrap();
    }
    session.commit().unwrap();
    let works: [fn(&mut Session<'_>, &Arc<Table>); 4] = [
        |session, table| session.drop_index(table, "by_name").unwrap(),
        |session, table| session.truncate_table(table).unwrap(),
        |session, table| {
            session.create_index(table, &IndexSpec::new("more", &["name", "id"])).unwrap()
        },
        |session, table| session.drop_table(table).unwrap(),
    ];
    for work in works {
        session.begin();
        session.insert(&table, &person(9000, "before")).unwrap();
        work(&mut session, &table);
        session.rollback().unwrap();
        assert_eq!(table.indexes(), ["by_name", "by_id"]);
        assert_eq!(seek(&mut session, &table, "by_id", &[]), (0..800).collect::<Vec<_>>());
        assert_eq!(seek(&mut session, &table, "by_name", &[text("n77")]), [77]);
    }
    for work in works {
        session.begin();
        work(&mut session, &table);
        session.commit().unwrap();
    }
    assert!(session.table("t").is_err());
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

/// Rows and entries after the power went in the middle of `work`, which others had not seen the end
/// of.
fn after_a_cut(work: impl FnOnce(&mut Session<'_>, &Arc<Table>)) -> (MemDisk, Paths) {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    session.begin();
    for id in 0..600 {
        session.insert(&table, &person(id, &format!("n{id}"))).unwrap();
    }
    session.commit().unwrap();
    session.begin();
    work(&mut session, &table);
    db.checkpoint().unwrap();
    let crashed = disk.crash(&mut SplitMix64::new(5));
    session.rollback().unwrap();
    (crashed, paths)
}

#[test]
fn restart_undoes_interrupted_index_ddl() {
    let works: [fn(&mut Session<'_>, &Arc<Table>); 5] = [
        |session, table| {
            for id in 600..900 {
                session.insert(table, &person(id, "more")).unwrap();
            }
        },
        |session, table| {
            for (at, _) in rows(session, table) {
                session.delete(table, &at).unwrap();
            }
            session.drop_index(table, "by_name").unwrap();
        },
        |session, table| {
            let (at, _) = rows(session, table).swap_remove(5);
            session.update(table, &at, &person(5, "other")).unwrap();
            session.drop_table(table).unwrap();
        },
        |session, table| {
            session.insert(table, &person(900, "x")).unwrap();
            session.truncate_table(table).unwrap();
            session.insert(table, &person(901, "y")).unwrap();
        },
        |session, table| session.create_index(table, &IndexSpec::new("more", &["name"])).unwrap(),
    ];
    for (number, work) in works.into_iter().enumerate() {
        let (disk, paths) = after_a_cut(work);
        let db = reopen(&disk, &paths);
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(table.indexes(), ["by_name", "by_id"], "{number}");
        assert_eq!(
            seek(&mut session, &table, "by_id", &[]),
            (0..600).collect::<Vec<_>>(),
            "{number}"
        );
        assert_eq!(seek(&mut session, &table, "by_name", &[text("n5")]), [5], "{number}");
        session.insert(&table, &person(600, "next")).unwrap();
        drop((session, table));
        close_and_check(db, &disk, &paths);
    }
}

#[test]
fn threads_change_one_indexed_table_at_once() {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let table = db.session().table("t").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = &db;
            let table = &table;
            scope.spawn(move || {
                let mut session = db.session();
                let mut rng = SplitMix64::new(thread);
                let mut own: Vec<(Address, i32)> = Vec::new();
                for step in 0..400 {
                    let id = thread as i32 * 10_000 + step;
                    // Ids below 50 belong to all: some of these inserts find the key taken.
                    let id = if rng.below(5) == 0 { rng.below(50) as i32 } else { id };
                    let name = format!("n{}", rng.below(30));
                    match (rng.below(4), own.len() as u64) {
                        (0, count @ 1..) => {
                            let (at, id) = own[rng.below(count) as usize].clone();
                            session.update(table, &at, &person(id, &name.repeat(20))).unwrap();
                        }
                        (1, count @ 1..) => {
                            let (at, _) = own.swap_remove(rng.below(count) as usize);
                            session.delete(table, &at).unwrap();
                        }
                        _ => match session.insert(table, &person(id, &name)) {
                            Ok(at) => own.push((at, id)),
                            Err(Error::DuplicateKey { .. }) => {}
                            Err(error) => panic!("{error}"),
                        },
                    }
                }
            });
        }
    });
    let mut session = db.session();
    let mut by_id = seek(&mut session, &table, "by_id", &[]);
    let mut by_name = seek(&mut session, &table, "by_name", &[]);
    by_id.sort_unstable();
    by_name.sort_unstable();
    assert_eq!(by_id, ids(&mut session, &table));
    assert_eq!(by_name, by_id);
    drop((session, table));
    close_and_check(db, &disk, &paths);
}

#[test]
fn keys_of_constraints_are_objects_of_their_table() {
    let disk = MemDisk::new();
    let spec = spec("keys");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    session.create_schema("shop").unwrap();
    let table = TableSpec { schema: Some("shop".into()), ..people("orders") };
    let table = session.create_table(&table).unwrap();
    session.create_index(&table, &IndexSpec::primary_key("PK_orders", &["id"])).unwrap();
    session.create_index(&table, &IndexSpec::unique_constraint("UQ_name", &["name"])).unwrap();
    session.insert(&table, &person(1, "a")).unwrap();
    session.insert(&table, &[Datum::Int(2), Datum::Null]).unwrap();
    let is_refused =
        |error: Error| matches!(error, Error::DuplicateKey { is_constraint: true, .. });
    assert!(is_refused(session.insert(&table, &person(1, "b")).unwrap_err()));
    assert!(is_refused(session.insert(&table, &person(3, "a")).unwrap_err()));
    assert!(
        is_refused(session.insert(&table, &[Datum::Int(3), Datum::Null]).unwrap_err()),
        "NULL is there once"
    );
    let refused = |result: Result<(), Error>| {
        assert!(matches!(result, Err(Error::NotSupported { .. })), "{result:?}")
    };
    refused(session.create_index(&table, &IndexSpec::primary_key("PK_2", &["id"])));
    refused(session.drop_index(&table, "PK_orders"));
    let taken = session.create_index(&table, &IndexSpec::unique_constraint("orders", &["id"]));
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    let other = session.create_table(&people("other")).unwrap();
    refused(session.create_index(&other, &IndexSpec::primary_key("PK_3", &["name"])));
    drop((session, table, other));
    close_and_check(db, &disk, &spec.paths());
    let folder = tempfile::tempdir().unwrap();
    let reader =
        Reader::open(&files_of(&disk, &spec.paths(), folder.path()), &OpenOptions::default())
            .unwrap();
    let table =
        reader.catalog().user_tables().into_iter().find(|table| table.name == "orders").unwrap();
    let keys: Vec<_> =
        table.indexes.iter().map(|it| (it.primary_key, it.unique_constraint, it.unique)).collect();
    assert_eq!(keys, [(false, false, false), (true, false, true), (false, true, true)]);
    // Opened again, they are what they were; without its key the table takes the row.
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let table = session.table("shop.orders").unwrap();
    assert!(is_refused(session.insert(&table, &person(1, "c")).unwrap_err()));
    session.drop_constraint(&table, "PK_orders").unwrap();
    session.insert(&table, &person(1, "c")).unwrap();
    session.drop_table(&table).unwrap();
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}

/// Ghosts on pages of trees.
fn ghosts(db: &Database) -> usize {
    let pages = db.space().file(FileId(1)).map_or(0, |file| file.pages());
    let read = (0..pages).filter_map(|page| db.pool().read(PageId::new(1, page)).ok());
    let of_tree = read.filter(|page| PageHeader::of(page).kind() == PageType::Index);
    of_tree.map(|page| usize::from(PageHeader::of(&page).ghost_count.get())).sum()
}

#[test]
fn ghosts_are_removed_when_no_rollback_can_restore_them() {
    for ghost_cleanup in [true, false] {
        let disk = MemDisk::new();
        let spec = spec("ghosts");
        let db = Database::create(&spec, Options { ghost_cleanup, ..on(&disk) }).unwrap();
        let mut one = db.session();
        let mut other = db.session();
        let table = one.create_table(&people("t")).unwrap();
        one.create_index(&table, &IndexSpec::new("by_name", &["name"])).unwrap();
        let mut keep = Vec::new();
        let mut gone = Vec::new();
        for id in 0..2000 {
            let at = one.insert(&table, &person(id, &format!("name{:05}", id * 7 % 2000))).unwrap();
            if id % 4 == 0 { keep.push(at) } else { gone.push(at) }
        }
        // One that is open, and could take its deletions back.
        other.begin();
        other.delete(&table, &keep[0]).unwrap();
        one.begin();
        gone.iter().for_each(|at| one.delete(&table, at).unwrap());
        let before = ghosts(&db);
        db.clean_some_ghosts().unwrap();
        assert_eq!(ghosts(&db), before);
        one.commit().unwrap();
        other.rollback().unwrap();
        let work = || {
            let mut turns = 0;
            let mut now = ghosts(&db);
            while now >= 100 && turns < 1500 {
                std::thread::sleep(Duration::from_millis(20));
                (turns, now) = (turns + 1, ghosts(&db));
                if !ghost_cleanup {
                    break;
                }
            }
            now
        };
        let left = db.run(work);
        assert!(
            before >= 1500 && if ghost_cleanup { left < 100 } else { left >= 1500 },
            "{before} {left}"
        );
        assert_eq!(seek(&mut one, &table, "by_name", &[]).len(), keep.len());
        drop((one, other, table));
        close_and_check(db, &disk, &spec.paths());
    }
}

/// The files go through the reader, too, which knows nothing of the engine.
#[test]
fn the_offline_reader_sees_the_rows_of_an_indexed_table() {
    let disk = MemDisk::new();
    let (db, paths) = indexed(&disk);
    let mut session = db.session();
    let table = session.table("t").unwrap();
    for id in 0..50 {
        session.insert(&table, &person(id, "x")).unwrap();
    }
    drop((session, table));
    db.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = files_of(&disk, &paths, folder.path());
    assert_eq!(rows_by_reader(&files, "t").len(), 50);
}
