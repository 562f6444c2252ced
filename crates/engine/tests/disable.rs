//! Indexes that are disabled and enabled again: what is enforced in between, restarts, rollbacks,
//! and the full check.

mod support;

use std::ops::ControlFlow;

use extentdb_engine::{Database, Error, IndexSpec, Range, Session, Table, TableSpec};
use extentdb_io::MemDisk;
use extentdb_types::Datum;
use support::*;

fn names() -> IndexSpec {
    IndexSpec::unique_constraint("names", &["name"])
}

fn indexed(session: &mut Session<'_>, table: &Table) -> usize {
    let mut found = 0;
    session
        .range(table, &Range::all("names"), &mut |_, _| {
            found += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn tables() -> [TableSpec; 2] {
    [people("t"), people("t").clustered(IndexSpec::primary_key("pk", &["id"]))]
}

#[test]
fn disabled_unique_index_is_not_enforced_until_rebuilt() {
    for spec in tables() {
        let disk = MemDisk::new();
        let of_db = support::spec("off");
        let db = Database::create(&of_db, on(&disk)).unwrap();
        let mut session = db.session();
        let table = session.create_table(&spec).unwrap();
        session.create_index(&table, &names()).unwrap();
        session.create_index(&table, &IndexSpec::new("other", &["id"])).unwrap();
        for id in 0..300 {
            session.insert(&table, &person(id, &format!("n{id}"))).unwrap();
        }
        session.begin();
        session.disable_index(&table, "names").unwrap();
        session.insert(&table, &person(1000, "n7")).unwrap();
        session.rollback().unwrap();
        assert_eq!(indexed(&mut session, &table), 300);
        assert!(matches!(
            session.insert(&table, &person(1000, "n7")),
            Err(Error::DuplicateKey { .. })
        ));
        session.disable_index(&table, "names").unwrap();
        assert!(matches!(
            session.range(&table, &Range::all("names"), &mut |_, _| ControlFlow::Continue(())),
            Err(Error::NoIndex { .. })
        ));
        assert!(matches!(session.create_index(&table, &names()), Err(Error::Exists { .. })));
        assert!(matches!(session.drop_column(&table, "name"), Err(Error::Dependent { .. })));
        session.insert(&table, &person(1000, "n7")).unwrap();
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &of_db.paths());
        let db = reopen(&disk, &of_db.paths());
        let mut session = db.session();
        let table = session.table("t").unwrap();
        // Other things go on beside it.
        session.rebuild_index(&table, "other").unwrap();
        if spec.clustered.is_some() {
            session.rebuild_index(&table, "pk").unwrap();
        }
        assert!(matches!(session.rebuild_index(&table, "names"), Err(Error::DuplicateKey { .. })));
        let (at, _) = rows(&mut session, &table)
            .into_iter()
            .find(|(_, row)| row[0] == Datum::Int(1000))
            .unwrap();
        session.delete(&table, &at).unwrap();
        session.begin();
        session.rebuild_index(&table, "names").unwrap();
        assert_eq!(indexed(&mut session, &table), 300);
        session.rollback().unwrap();
        session.rebuild_index(&table, "names").unwrap();
        assert_eq!(indexed(&mut session, &table), 300);
        assert!(matches!(
            session.insert(&table, &person(1000, "n7")),
            Err(Error::DuplicateKey { .. })
        ));
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &of_db.paths());
        let db = reopen(&disk, &of_db.paths());
        let mut session = db.session();
        let table = session.table("t").unwrap();
        session.disable_index(&table, "names").unwrap();
        session.drop_constraint(&table, "names").unwrap();
        session.disable_index(&table, "other").unwrap();
        session.drop_index(&table, "other").unwrap();
        assert!(session.disable_index(&table, "pk").is_err());
        session.create_index(&table, &names()).unwrap();
        drop((session, table));
        db.close().unwrap();
        assert_sound_on(&disk, &of_db.paths());
    }
}

#[test]
fn what_is_off_still_stands_in_the_way_of_what_would_contradict_it() {
    let disk = MemDisk::new();
    let of_db = support::spec("off");
    let db = Database::create(&of_db, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    session.create_index(&table, &IndexSpec::primary_key("pk", &["id"])).unwrap();
    session.disable_index(&table, "pk").unwrap();
    let second = IndexSpec::primary_key("pk2", &["id"]);
    assert!(matches!(session.create_index(&table, &second), Err(Error::NotSupported { .. })));
    let nullable = session.alter_column(&table, "id", extentdb_types::SqlType::Int, true);
    assert!(matches!(nullable, Err(Error::Dependent { .. })), "{nullable:?}");
    let filter = Some("([name]>'m')".to_owned());
    let by_id = IndexSpec { filter, ..IndexSpec::new("by_id", &["id"]) };
    session.create_index(&table, &by_id).unwrap();
    session.disable_index(&table, "by_id").unwrap();
    assert!(matches!(session.drop_column(&table, "name"), Err(Error::Dependent { .. })));
    session.rebuild_index(&table, "pk").unwrap();
    session.rebuild_index(&table, "by_id").unwrap();
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &of_db.paths());
}
