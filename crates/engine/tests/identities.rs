//! Identity values over rollbacks of the table or column that gives them out: what was told to the
//! catalog goes with it.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, Session, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

fn numbered(ty: SqlType) -> ColumnSpec {
    ColumnSpec {
        identity: Some((1, 1)),
        ..ColumnSpec::new("number", ty).not_null()
    }
}

fn table() -> TableSpec {
    TableSpec::heap("t", vec![ColumnSpec::new("id", SqlType::Int), numbered(SqlType::BigInt)])
}

fn insert(session: &mut Session<'_>, id: i32) -> i64 {
    let table = session.table("t").unwrap();
    let at = session.insert_columns(&table, &[("id", Datum::Int(id))]).unwrap();
    match session.get(&table, &at).unwrap().unwrap()[1] {
        Datum::BigInt(value) => value,
        _ => panic!("a bigint"),
    }
}

#[test]
fn rollback_of_create_table_drops_its_identity() {
    let disk = MemDisk::new();
    let of_db = spec("identities");
    let db = Database::create(&of_db, on(&disk)).unwrap();
    let mut session = db.session();
    for _ in 0..3 {
        session.begin();
        session.create_table(&table()).unwrap();
        assert_eq!(insert(&mut session, 1), 1);
        session.rollback().unwrap();
    }
    session.begin();
    session.save("s").unwrap();
    session.create_table(&table()).unwrap();
    insert(&mut session, 1);
    session.rollback_to("s").unwrap();
    session.create_table(&table()).unwrap();
    assert_eq!(insert(&mut session, 1), 1);
    session.save("behind").unwrap();
    let drawn: Vec<i64> = (2..250).map(|id| insert(&mut session, id)).collect();
    session.rollback_to("behind").unwrap();
    // What is gone is gone; and what comes is told again.
    assert_eq!(insert(&mut session, 2), drawn.last().unwrap() + 1);
    session.commit().unwrap();
    std::mem::forget(session);
    drop(db);
    let crashed = disk.crash(&mut SplitMix64::new(1));
    let db = reopen(&crashed, &of_db.paths());
    let mut session = db.session();
    assert!(insert(&mut session, 3) > drawn.last().unwrap() + 1);
    drop(session);
    db.close().unwrap();
    assert_sound_on(&crashed, &of_db.paths());
}

#[test]
fn restart_undoes_a_table_that_has_drawn_identity_values() {
    let disk = MemDisk::new();
    let of_db = spec("identities");
    let db = Database::create(&of_db, on(&disk)).unwrap();
    let mut session = db.session();
    session.begin();
    session.create_table(&table()).unwrap();
    insert(&mut session, 1);
    db.checkpoint().unwrap();
    std::mem::forget(session);
    drop(db);
    let crashed = disk.crash(&mut SplitMix64::new(2));
    let db = reopen(&crashed, &of_db.paths());
    assert!(db.session().table("t").is_err());
    db.close().unwrap();
    assert_sound_on(&crashed, &of_db.paths());
}

#[test]
fn rows_get_numbers_when_an_identity_comes_and_none_when_they_are_too_many() {
    for clustered in [false, true] {
        let disk = MemDisk::new();
        let of_db = spec("identities");
        let db = Database::create(&of_db, on(&disk)).unwrap();
        let mut session = db.session();
        let spec = people("t");
        let spec =
            if clustered { spec.clustered(IndexSpec::primary_key("pk", &["id"])) } else { spec };
        let table = session.create_table(&spec).unwrap();
        for id in 0..300 {
            session.insert(&table, &person(id, "x")).unwrap();
        }
        let failed = session.add_column(&table, &numbered(SqlType::TinyInt));
        assert!(matches!(failed, Err(Error::Identity { .. })), "{failed:?}");
        session.begin();
        session.add_column(&table, &numbered(SqlType::BigInt)).unwrap();
        session.rollback().unwrap();
        assert_eq!(table.columns().len(), 2);
        session.add_column(&table, &numbered(SqlType::BigInt)).unwrap();
        let mut numbers: Vec<i64> = rows(&mut session, &table)
            .iter()
            .map(|(_, row)| if let Datum::BigInt(number) = row[2] { number } else { -1 })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &of_db.paths());
        let db = reopen(&disk, &of_db.paths());
        let mut session = db.session();
        let table = session.table("t").unwrap();
        assert_eq!(session.next_identity(&table).unwrap(), Datum::BigInt(301));
    }
}
