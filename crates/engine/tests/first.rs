//! A database from its creation to its close, and again.

mod support;

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, DefaultSpec, IdentitySpec};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

#[test]
fn a_new_database_is_sound_before_anything_is_done() {
    let disk = MemDisk::new();
    let spec = spec("empty");
    Database::create(&spec, on(&disk)).unwrap().close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    assert!(db.tables().is_empty(), "tables of the system are not the user's");
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn rows_are_kept_over_a_clean_close() {
    let disk = MemDisk::new();
    let spec = spec("shop");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    session.begin();
    for id in 0..1000 {
        session.insert(&table, &person(id, &"x".repeat(id as usize % 300))).unwrap();
    }
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &table), (0..1000).collect::<Vec<_>>());
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let table = session.table("dbo.people").unwrap();
    assert_eq!(ids(&mut session, &table), (0..1000).collect::<Vec<_>>());
    assert_eq!(table.row_count(), 1000);
}

#[test]
fn rolled_back_rows_do_not_reappear_after_restart() {
    let disk = MemDisk::new();
    let spec = spec("undo");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    let kept = session.insert(&table, &person(1, "one")).unwrap();
    let long = session.insert(&table, &person(2, &"y".repeat(3000))).unwrap();
    session.begin();
    for id in 10..300 {
        session.insert(&table, &person(id, &"z".repeat(100))).unwrap();
    }
    session.update(&table, &kept, &person(1, &"grown".repeat(700))).unwrap();
    session.delete(&table, &long).unwrap();
    session.create_table(&people("other")).unwrap();
    session.rollback().unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2]);
    assert_eq!(session.get(&table, &kept).unwrap(), Some(person(1, "one")));
    assert!(session.table("other").is_err());
    drop(session);
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn tables_are_created_and_dropped() {
    let disk = MemDisk::new();
    let spec = spec("ddl");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    for round in 0..30 {
        let name = format!("table_{round}");
        let table = session.create_table(&people(&name)).unwrap();
        for id in 0..20 {
            session.insert(&table, &person(id, &"w".repeat(2000))).unwrap();
        }
        match round % 3 {
            0 => session.drop_table(&table).unwrap(),
            1 => session.truncate_table(&table).unwrap(),
            _ => {}
        }
    }
    let table = session.table("table_1").unwrap();
    assert_eq!(ids(&mut session, &table), Vec::<i32>::new());
    session.insert(&table, &person(7, "again")).unwrap();
    assert_eq!(ids(&mut session, &table), [7]);
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    assert!(db.session().table("table_0").is_err());
    assert_eq!(db.session().table("table_2").unwrap().row_count(), 20);
}

#[test]
fn schemas_defaults_and_identity_values_are_in_the_catalog() {
    let disk = MemDisk::new();
    let spec = spec("more");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    session.create_schema("sales").unwrap();
    assert!(session.create_schema("SALES").is_err());
    let mut table = people("orders");
    table.schema = Some("sales".to_owned());
    table.columns[0].identity = Some(IdentitySpec { seed: 100, increment: 5 });
    table.columns[1].default = Some(DefaultSpec::new("DF_orders_name", "('nobody')"));
    let table = session.create_table(&table).unwrap();
    let mut given = Vec::new();
    for _ in 0..250 {
        let Datum::Int(id) = session.next_identity(&table).unwrap() else { panic!("an int") };
        given.push(id);
        session.insert(&table, &person(id, "somebody")).unwrap();
    }
    assert_eq!((given[0], given[249]), (100, 100 + 249 * 5));
    session.begin();
    session.create_schema("gone").unwrap();
    session.rollback().unwrap();
    session.create_schema("gone").unwrap();
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let table = session.table("sales.orders").unwrap();
    let Datum::Int(next) = session.next_identity(&table).unwrap() else { panic!("an int") };
    assert_eq!(next, 100 + 250 * 5);
    session.insert(&table, &person(next, "committed")).unwrap();
    drop((session, table));
    drop(db);
    let disk = disk.crash(&mut extentdb_base::env::SplitMix64::new(1));
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let table = session.table("sales.orders").unwrap();
    let after = session.next_identity(&table).unwrap();
    assert!(matches!(after, Datum::Int(after) if after > 100 + 250 * 5));
    session.drop_table(&table).unwrap();
    drop((session, table));
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn the_full_recovery_model_keeps_the_log_until_it_is_backed_up() {
    let disk = MemDisk::new();
    let spec = spec("full");
    let options = extentdb_engine::Options {
        recovery_model: extentdb_engine::RecoveryModel::Full,
        ..on(&disk)
    };
    let db = Database::create(&spec, options).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("people")).unwrap();
    let mut work = |db: &Arc<Database>| {
        for id in 0..200 {
            session.insert(&table, &person(id, &"l".repeat(2000))).unwrap();
        }
        db.checkpoint().unwrap();
        db.log().used_bytes()
    };
    let first = work(&db);
    let second = work(&db);
    assert!(second > first + 300_000, "{first} {second}: nothing was released");
    db.log_backed_up(db.log().durable());
    assert!(work(&db) < second);
}
