//! Default constraints: in the catalog, as objects of their own, with their table.

mod support;

use extentdb_engine::{ColumnSpec, Database, TableSpec};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Datum, SqlType};
use support::*;

fn with_defaults(name: &str) -> TableSpec {
    let default = |column: ColumnSpec, constraint: &str, text: &str| ColumnSpec {
        default: Some((format!("{constraint}_{name}"), text.to_owned())),
        ..column
    };
    let columns = vec![
        default(ColumnSpec::new("id", SqlType::Int).not_null(), "DF_id", "((7))"),
        default(ColumnSpec::new("name", varchar(4000)), "DF_name", "('nobody')"),
    ];
    TableSpec::heap(name, columns)
}

/// Default constraints by the independent reading of the files: table and text.
fn defaults(disk: &MemDisk) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("defaults.mdf");
    std::fs::write(&path, disk.contents("defaults.mdf".as_ref()).unwrap()).unwrap();
    let reader = Reader::open(&[path], &OpenOptions::default()).unwrap();
    let catalog = reader.catalog();
    let mut found: Vec<(String, String)> = catalog
        .defaults
        .iter()
        .map(|default| {
            (default.object.name.clone(), default.definition.clone().unwrap_or_default())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn defaults_are_created_and_dropped_with_their_table() {
    let disk = MemDisk::new();
    let spec = spec("defaults");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&with_defaults("kept")).unwrap();
    session.insert(&table, &person(1, "one")).unwrap();
    let dropped = session.create_table(&with_defaults("dropped")).unwrap();
    session.drop_table(&dropped).unwrap();
    session.begin();
    session.create_table(&with_defaults("undone")).unwrap();
    session.rollback().unwrap();
    drop((session, table, dropped));
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    let expected = [("DF_id_kept", "((7))"), ("DF_name_kept", "('nobody')")];
    assert_eq!(defaults(&disk), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let db = reopen(&disk, &spec.paths());
    assert_eq!(db.session().table("kept").unwrap().row_count(), 1);
}

#[test]
fn columns_that_are_not_named_get_their_defaults() {
    let disk = MemDisk::new();
    let spec = spec("defaults");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut table = with_defaults("people");
    let identity = ColumnSpec {
        identity: Some((10, 5)),
        ..ColumnSpec::new("number", SqlType::Int).not_null()
    };
    let unknown = Some(("DF_guid".to_owned(), "(newid())".to_owned()));
    let unknown = ColumnSpec {
        default: unknown,
        ..ColumnSpec::new("guid", SqlType::UniqueIdentifier)
    };
    table.columns.extend([identity, ColumnSpec::new("note", varchar(20)), unknown]);
    let mut session = db.session();
    let people = session.create_table(&table).unwrap();
    let guid = ("guid", Datum::Null);
    let no_default =
        session.insert_columns(&people, &[("ID", Datum::Int(1))]).unwrap_err().to_string();
    assert!(no_default.contains("(newid())") && no_default.contains("guid"), "{no_default}");
    let at = session.insert_columns(&people, std::slice::from_ref(&guid)).unwrap();
    let row = session.get(&people, &at).unwrap().unwrap();
    // The number that the refused row had drawn is gone.
    assert_eq!(row, [Datum::Int(7), text("nobody"), Datum::Int(15), Datum::Null, Datum::Null]);
    for (wrong, what) in [("nothing", "no such column"), ("Guid", "named twice")] {
        let values = [guid.clone(), (wrong, Datum::Null)];
        let refused = session.insert_columns(&people, &values).unwrap_err().to_string();
        assert!(refused.contains(what), "{refused}");
    }
    drop((session, people));
    db.close().unwrap();
    // The catalog tells the same after a restart.
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let people = session.table("people").unwrap();
    let at = session.insert_columns(&people, &[guid, ("note", text("later"))]).unwrap();
    let row = session.get(&people, &at).unwrap().unwrap();
    assert_eq!(row, [Datum::Int(7), text("nobody"), Datum::Int(20), text("later"), Datum::Null]);
}
