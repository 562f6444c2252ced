//! Views, procedures, functions and triggers are kept as texts, and read back by others.

mod support;

use extentdb_engine::{ColumnSpec, Database, Error, IndexSpec, ModuleKind, ModuleSpec};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Datum, SqlType};
use support::*;

fn module(name: &str, kind: ModuleKind, text: &str) -> ModuleSpec {
    let columns = match kind {
        ModuleKind::View => {
            vec![ColumnSpec::new("id", SqlType::Int), ColumnSpec::new("name", varchar(20))]
        }
        _ => Vec::new(),
    };
    ModuleSpec {
        schema: None,
        name: name.to_owned(),
        kind,
        text: text.to_owned(),
        columns,
    }
}

/// Kinds, names and texts as the offline reader sees them.
fn texts(disk: &MemDisk, paths: &extentdb_engine::Paths) -> Vec<(String, String, String)> {
    let folder = tempfile::tempdir().unwrap();
    let reader =
        Reader::open(&files_of(disk, paths, folder.path()), &OpenOptions::default()).unwrap();
    let of = |module: &extentdb_catalog::model::Module| {
        (
            module.object.kind.code().to_owned(),
            module.object.name.clone(),
            module.text.clone().unwrap(),
        )
    };
    let mut found: Vec<_> = reader.catalog().modules.iter().map(of).collect();
    found.sort();
    found
}

#[test]
fn texts_come_back_as_they_were_and_go() {
    let disk = MemDisk::new();
    let spec = spec("modules");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    session.create_table(&people("t")).unwrap();
    let long = format!("CREATE PROCEDURE p AS SELECT '{}'", "x".repeat(7000));
    let kept = [
        (
            "FN",
            "f",
            ModuleKind::ScalarFunction,
            "CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END",
        ),
        (
            "IF",
            "i",
            ModuleKind::InlineFunction,
            "CREATE FUNCTION i() RETURNS TABLE AS RETURN SELECT 1 AS \u{3b1}",
        ),
        ("P", "p", ModuleKind::Procedure, long.as_str()),
        (
            "TF",
            "tf",
            ModuleKind::TableFunction,
            "CREATE FUNCTION tf() RETURNS @t TABLE (a int) AS BEGIN RETURN END",
        ),
        ("V", "v", ModuleKind::View, "CREATE VIEW v AS SELECT id, name FROM t -- é ü"),
    ];
    for (_, name, kind, text) in kept {
        session.create_module(&module(name, kind, text)).unwrap();
    }
    assert!(matches!(
        session.create_module(&module("T", ModuleKind::View, "x")),
        Err(Error::Exists { .. })
    ));
    let too_long = module("long", ModuleKind::View, &"é".repeat(4000));
    assert!(matches!(session.create_module(&too_long), Err(Error::NotSupported { .. })));
    session.begin();
    session.drop_module("dbo", "v").unwrap();
    session
        .create_module(&module("w", ModuleKind::View, "CREATE VIEW w AS SELECT 1 AS one"))
        .unwrap();
    session.rollback().unwrap();
    // A table is no module.
    assert!(session.drop_module("dbo", "t").is_err());
    drop(session);
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    let expected: Vec<_> =
        kept.map(|(code, name, _, text)| (code.into(), name.into(), text.into())).into();
    assert_eq!(texts(&disk, &spec.paths()), expected);
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    for (_, name, ..) in kept {
        session.drop_module("dbo", name).unwrap();
    }
    drop(session);
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    assert_eq!(texts(&disk, &spec.paths()), []);
}

#[test]
fn rows_of_a_table_with_a_trigger_are_only_read() {
    let disk = MemDisk::new();
    let spec = spec("triggers");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    let at = session.insert(&table, &person(1, "one")).unwrap();
    let text = "CREATE TRIGGER tr ON t AFTER INSERT AS DELETE FROM t";
    session.begin();
    session.create_trigger(&table, "tr", text).unwrap();
    session.rollback().unwrap();
    session.insert(&table, &person(2, "two")).unwrap();
    session.create_trigger(&table, "tr", text).unwrap();
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    assert_eq!(texts(&disk, &spec.paths()), [("TR".to_owned(), "tr".to_owned(), text.to_owned())]);
    let db = reopen(&disk, &spec.paths());
    let mut session = db.session();
    let table = session.table("t").unwrap();
    assert!(matches!(session.insert(&table, &person(3, "three")), Err(Error::NotSupported { .. })));
    assert!(matches!(
        session.update(&table, &at, &person(3, "three")),
        Err(Error::NotSupported { .. })
    ));
    assert!(matches!(session.delete(&table, &at), Err(Error::NotSupported { .. })));
    // Definitions ask no trigger.
    session.create_index(&table, &IndexSpec::primary_key("pk", &["id"]).clustered()).unwrap();
    session.add_column(&table, &ColumnSpec::new("more", SqlType::Int)).unwrap();
    assert_eq!(rows(&mut session, &table).len(), 2);
    session.drop_trigger(&table, "TR").unwrap();
    assert!(session.drop_trigger(&table, "tr").is_err());
    session.insert(&table, &[person(3, "three"), vec![Datum::Null]].concat()).unwrap();
    session.create_trigger(&table, "tr", text).unwrap();
    session.drop_table(&table).unwrap();
    drop((session, table));
    db.close().unwrap();
    assert_sound_on(&disk, &spec.paths());
    assert_eq!(texts(&disk, &spec.paths()), []);
}
