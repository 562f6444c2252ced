//! Default constraints in the catalog: objects of their own, dropped with their table. Which values
//! they give: `scripts/constraints`.

mod support;

use extentdb_engine::{ColumnSpec, Database, DefaultSpec, TableSpec};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::SqlType;
use support::*;

fn with_defaults(name: &str) -> TableSpec {
    let default = |column: ColumnSpec, constraint: &str, text: &str| ColumnSpec {
        default: Some(DefaultSpec::new(&format!("{constraint}_{name}"), text)),
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
    close_and_check(db, &disk, &spec.paths());
    let expected = [("DF_id_kept", "((7))"), ("DF_name_kept", "('nobody')")];
    assert_eq!(defaults(&disk), expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let db = reopen(&disk, &spec.paths());
    assert_eq!(db.session().table("kept").unwrap().row_count(), 1);
}
