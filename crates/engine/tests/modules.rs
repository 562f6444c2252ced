//! Views, procedures, functions and triggers are kept as texts, and read back by others. What a
//! trigger forbids: `scripts/ddl/triggers.script`.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::{ColumnSpec, Database, Error, ModuleKind, ModuleSpec};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::SqlType;
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
        parameters: Vec::new(),
        settings: Default::default(),
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

const TRIGGER: &str = "CREATE TRIGGER tr ON t AFTER INSERT AS DELETE FROM t";

/// One module of each kind: its code in `sysschobjs`, its name, its kind and its text.
fn modules() -> [(&'static str, &'static str, ModuleKind, String); 5] {
    let function = "CREATE FUNCTION f() RETURNS int AS BEGIN RETURN 1 END";
    let inline = "CREATE FUNCTION i() RETURNS TABLE AS RETURN SELECT 1 AS \u{3b1}";
    let long = format!("CREATE PROCEDURE p AS SELECT '{}'", "x".repeat(7000));
    let table = "CREATE FUNCTION tf() RETURNS @t TABLE (a int) AS BEGIN RETURN END";
    let view = "CREATE VIEW v AS SELECT id, name FROM t -- é ü";
    [
        ("FN", "f", ModuleKind::ScalarFunction, function.to_owned()),
        ("IF", "i", ModuleKind::InlineFunction, inline.to_owned()),
        ("P", "p", ModuleKind::Procedure, long),
        ("TF", "tf", ModuleKind::TableFunction, table.to_owned()),
        ("V", "v", ModuleKind::View, view.to_owned()),
    ]
}

/// A database with a table, its trigger and one module of each kind.
fn with_modules(disk: &MemDisk) -> Arc<Database> {
    let db = Database::create(&spec("modules"), on(disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    session.create_trigger(&table, "tr", TRIGGER).unwrap();
    for (_, name, kind, text) in modules() {
        session.create_module(&module(name, kind, &text)).unwrap();
    }
    drop((session, table));
    db
}

/// Closes the database, which checks clean; the modules that the offline reader finds.
fn texts_after_close(db: Arc<Database>, disk: &MemDisk) -> Vec<(String, String, String)> {
    db.close().unwrap();
    let paths = spec("modules").paths();
    assert_sound_on(disk, &paths);
    texts(disk, &paths)
}

fn expected() -> Vec<(String, String, String)> {
    let mut texts: Vec<_> = modules()
        .map(|(code, name, _, text)| (code.to_owned(), name.to_owned(), text))
        .into_iter()
        .collect();
    texts.push(("TR".to_owned(), "tr".to_owned(), TRIGGER.to_owned()));
    texts.sort();
    texts
}

#[test]
fn module_texts_are_kept_until_the_modules_are_dropped() {
    let disk = MemDisk::new();
    let db = with_modules(&disk);
    assert_eq!(texts_after_close(db, &disk), expected());
    let db = reopen(&disk, &spec("modules").paths());
    let mut session = db.session();
    for (_, name, ..) in modules() {
        session.drop_module("dbo", name).unwrap();
    }
    let table = session.table("t").unwrap();
    session.drop_trigger(&table, "tr").unwrap();
    drop((session, table));
    assert_eq!(texts_after_close(db, &disk), []);
}

#[test]
fn rollback_undoes_created_and_dropped_modules() {
    let disk = MemDisk::new();
    let db = with_modules(&disk);
    let mut session = db.session();
    session.begin();
    session.drop_module("dbo", "v").unwrap();
    let view = module("w", ModuleKind::View, "CREATE VIEW w AS SELECT 1 AS one");
    session.create_module(&view).unwrap();
    session.rollback().unwrap();
    drop(session);
    assert_eq!(texts_after_close(db, &disk), expected());
}

#[test]
fn a_text_of_any_length_lies_off_its_row() {
    let disk = MemDisk::new();
    let db = with_modules(&disk);
    let mut session = db.session();
    let long = [("long", "é".repeat(60_000)), ("longer", "x".repeat(300_000))];
    for (name, text) in &long {
        session.create_module(&module(name, ModuleKind::View, text)).unwrap();
    }
    session.begin();
    session.drop_module("dbo", "long").unwrap();
    session.create_module(&module("third", ModuleKind::View, &long[1].1)).unwrap();
    session.rollback().unwrap();
    session.begin();
    session.create_module(&module("third", ModuleKind::View, &long[1].1)).unwrap();
    db.checkpoint().unwrap();
    let disk = disk.crash(&mut SplitMix64::new(1));
    let db = reopen(&disk, &spec("modules").paths());
    let mut with_long = expected();
    let of_view =
        |(name, text): &(&str, String)| ("V".to_owned(), (*name).to_owned(), text.clone());
    with_long.extend(long.iter().map(of_view));
    with_long.sort();
    assert_eq!(texts_after_close(db, &disk), with_long);
    let db = reopen(&disk, &spec("modules").paths());
    let mut session = db.session();
    long.iter().for_each(|(name, _)| session.drop_module("dbo", name).unwrap());
    drop(session);
    assert_eq!(texts_after_close(db, &disk), expected());
}

#[test]
fn module_with_a_taken_name_is_refused() {
    let disk = MemDisk::new();
    let db = with_modules(&disk);
    let mut session = db.session();
    let taken = session.create_module(&module("T", ModuleKind::View, "x"));
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
    // A table is no module.
    assert!(session.drop_module("dbo", "t").is_err());
    drop(session);
    assert_eq!(texts_after_close(db, &disk), expected());
}
