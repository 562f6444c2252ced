//! Schemas, types, synonyms, sequences, triggers, constraints that are switched, new names: each
//! is undone by a rollback, by a restart after a power cut, and is there after a commit.

mod support;

use extentdb_base::env::SplitMix64;
use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectBody};
use extentdb_engine::{
    ColumnSpec, ColumnType, Database, DefaultSpec, Error, ExistingRows, ForeignKeySpec, IndexSpec,
    ModuleKind, ModuleSettings, ModuleSpec, Nullability, Paths, ReferentialActions,
    SequenceDefinition, Session, TableSpec, TypeSpec, Unsupported,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};
use support::*;

/// All that a model says, in the order of ids.
fn told(model: &CatalogModel) -> Vec<String> {
    let mut objects: Vec<_> = model.objects().collect();
    objects.sort_by_key(|model| model.object.id);
    let mut told: Vec<String> = objects.iter().map(|object| format!("{object:?}")).collect();
    told.extend(model.schemas().map(|schema| format!("{schema:?}")));
    told.extend(model.scalar_types().map(|ty| format!("{ty:?}")));
    told
}

#[track_caller]
fn assert_same(found: &[String], expected: &[String], what: &str) {
    let only = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|line| !b.contains(line)).cloned().collect()
    };
    assert_eq!(only(found, expected), only(expected, found), "{what}");
    assert_eq!(found.len(), expected.len(), "{what}");
}

fn whole(session: &mut Session, name: &str) -> Arc<extentdb_engine::Table> {
    session.table(name).unwrap()
}

fn sequence() -> SequenceDefinition {
    SequenceDefinition {
        ty: SqlType::Int,
        start: 1,
        increment: 1,
        minimum: 1,
        maximum: 1000,
        is_cycling: false,
        cache: 10,
    }
}

fn view(text: &str) -> ModuleSpec {
    ModuleSpec {
        schema: None,
        name: "v".to_owned(),
        kind: ModuleKind::View,
        text: text.to_owned(),
        columns: vec![ColumnSpec::new("a", SqlType::Int)],
        parameters: Vec::new(),
        settings: ModuleSettings { ansi_nulls: true, quoted_identifier: false },
    }
}

/// What the statements find: two tables with rows and constraints, and one of each other object.
fn made(disk: &MemDisk) -> Paths {
    let spec = spec("definitions");
    let db = Database::create(&spec, on(disk)).unwrap();
    let mut session = db.session();
    let primary = IndexSpec::primary_key("pk_parent", &["id"]).clustered();
    let parent = session.create_table(&people("parent").clustered(primary)).unwrap();
    let child = session.create_table(&people("child")).unwrap();
    for id in 1..=20 {
        session.insert(&parent, &person(id, "p")).unwrap();
        session.insert(&child, &person(id, "c")).unwrap();
    }
    session.add_check(&child, "ck", "([id]>(0))").unwrap();
    session.add_default(&child, "name", &DefaultSpec::new("df", "('x')")).unwrap();
    let columns = [("id", "id")];
    session.add_foreign_key(&child, "fk", &parent, &columns).unwrap();
    session.create_index(&child, &IndexSpec::new("ix", &["name"])).unwrap();
    session.create_trigger(&child, "tr", "CREATE TRIGGER tr ON child FOR INSERT AS").unwrap();
    session.create_schema("empty").unwrap();
    session.create_module(&view("CREATE VIEW v AS SELECT 1 AS a")).unwrap();
    session.create_synonym("dbo", "syn", "[child]").unwrap();
    session.create_sequence("dbo", "seq", &sequence()).unwrap();
    session
        .create_type(&TypeSpec {
            schema: None,
            name: "unused".to_owned(),
            ty: SqlType::BigInt,
            nullability: Nullability::Nullable,
        })
        .unwrap();
    drop((session, parent, child));
    db.close().unwrap();
    spec.paths()
}

type Statement = (&'static str, fn(&mut Session) -> Result<(), Error>);

fn statements() -> Vec<Statement> {
    vec![
        ("drop schema", |session| session.drop_schema("empty")),
        ("create type", |session| {
            let spec = TypeSpec {
                schema: Some("empty".to_owned()),
                name: "phone".to_owned(),
                ty: varchar(20),
                nullability: Nullability::NotNull,
            };
            let id = session.create_type(&spec)?;
            let column = ColumnSpec { user_type: Some(id), ..ColumnSpec::new("p", varchar(20)) };
            session.create_table(&TableSpec::heap("typed", vec![column])).map(drop)
        }),
        ("drop type", |session| session.drop_type("dbo", "unused")),
        ("alter to a type", |session| {
            let id = session.create_type(&TypeSpec {
                schema: None,
                name: "long".to_owned(),
                ty: SqlType::BigInt,
                nullability: Nullability::Nullable,
            })?;
            let table = whole(session, "child");
            session.add_column(&table, &ColumnSpec::new("n", SqlType::Int))?;
            let ty = ColumnType { ty: SqlType::BigInt, user_type: Some(id) };
            session.alter_column_as(&table, "n", ty, Nullability::Nullable)
        }),
        ("create synonym", |session| session.create_synonym("empty", "s", "[x].[y].[z]")),
        ("drop synonym", |session| session.drop_synonym("dbo", "syn")),
        ("alter module", |session| session.alter_module(&view("CREATE VIEW v AS SELECT 2 AS a"))),
        ("alter trigger", |session| {
            let table = whole(session, "child");
            let settings = ModuleSettings::default();
            session.alter_trigger(
                &table,
                "tr",
                "CREATE TRIGGER tr ON child FOR DELETE AS",
                settings,
            )
        }),
        ("disable trigger", |session| {
            let table = whole(session, "child");
            session.switch_trigger(&table, "tr", false)
        }),
        ("disable check", |session| {
            let table = whole(session, "child");
            session.disable_constraint(&table, "ck")
        }),
        ("disable foreign key", |session| {
            let table = whole(session, "child");
            session.disable_constraint(&table, "fk")
        }),
        ("disable and enable", |session| {
            let table = whole(session, "child");
            for name in ["ck", "fk"] {
                session.disable_constraint(&table, name)?;
                session.enable_constraint(&table, name, ExistingRows::Unverified)?;
            }
            Ok(())
        }),
        ("drop a disabled check", |session| {
            let table = whole(session, "child");
            session.disable_constraint(&table, "ck")?;
            session.drop_constraint(&table, "ck")
        }),
        ("unverified constraints", |session| {
            let table = whole(session, "child");
            session.add_check_with(&table, "ck2", "([id]>(10))", ExistingRows::Unverified)?;
            let spec = ForeignKeySpec {
                name: "fk2".to_owned(),
                columns: vec![("id".to_owned(), "id".to_owned())],
                actions: ReferentialActions::default(),
                rows: ExistingRows::Unverified,
            };
            let parent = whole(session, "parent");
            session.create_foreign_key(&table, &parent, &spec)
        }),
        ("rename table", |session| {
            let table = whole(session, "parent");
            let renamed = session.rename_table(&table, "people")?;
            let gone = session.insert(&table, &person(99, "x"));
            assert!(matches!(gone, Err(Error::Gone { .. })));
            assert_eq!(ids(session, &renamed).len(), 20);
            session.add_column(&renamed, &ColumnSpec::new("later", SqlType::Int))
        }),
        ("rename column", |session| {
            let table = whole(session, "child");
            session.rename_column(&table, "name", "called")
        }),
        ("rename index", |session| {
            let table = whole(session, "child");
            session.rename_index(&table, "ix", "by_name")
        }),
        ("rename primary key", |session| {
            let table = whole(session, "parent");
            session.rename_index(&table, "pk_parent", "pk")
        }),
        ("rename constraints", |session| {
            let table = whole(session, "child");
            for name in ["ck", "fk", "df", "tr"] {
                session.rename_constraint(&table, name, &format!("{name}_new"))?;
            }
            session.drop_constraint(&table, "fk_new")
        }),
        ("rename modules", |session| {
            for name in ["v", "syn", "seq"] {
                session.rename_module("dbo", name, &format!("{name}_new"))?;
            }
            Ok(())
        }),
        ("with values", |session| {
            let default = Some(DefaultSpec::new("df_w", "((7))"));
            let column = ColumnSpec {
                default,
                with_values: true,
                row_guid: false,
                ..ColumnSpec::new("w", SqlType::Int)
            };
            let table = whole(session, "child");
            session.add_column(&table, &column)
        }),
        ("row guid", |session| {
            let table = whole(session, "child");
            session.add_column(&table, &ColumnSpec::new("g", SqlType::UniqueIdentifier))?;
            session.set_row_guid(&table, "g", true)
        }),
        ("rebuild tables", |session| {
            for name in ["parent", "child"] {
                let table = whole(session, name);
                session.rebuild_table(&table)?;
            }
            Ok(())
        }),
        ("create sequence", |session| {
            session.create_sequence("empty", "s", &sequence())?;
            let model = session.database().model()?;
            let id = model.object("empty", "s").unwrap().object.id;
            assert_eq!(session.next_value(id)?, Datum::Int(1));
            Ok(())
        }),
        ("alter sequence", |session| {
            let other = SequenceDefinition { increment: 5, is_cycling: true, ..sequence() };
            session.alter_sequence("dbo", "seq", &other, Some(500))
        }),
        ("drop sequence", |session| session.drop_sequence("dbo", "seq")),
    ]
}

/// The database after the power was cut.
fn after_crash(disk: &MemDisk, seed: u64) -> MemDisk {
    disk.crash(&mut SplitMix64::new(seed))
}

#[test]
fn definitions_are_undone_or_kept_as_a_whole() {
    let disk = MemDisk::new();
    let paths = made(&disk);
    let before = {
        let db = reopen(&disk, &paths);
        let before = told(&db.model().unwrap());
        db.close().unwrap();
        before
    };
    for (seed, (name, statement)) in (1..).zip(statements()) {
        let own = after_crash(&disk, seed);
        let db = reopen(&own, &paths);
        let mut session = db.session();
        session.begin();
        statement(&mut session).unwrap_or_else(|error| panic!("{name}: {error}"));
        db.checkpoint().unwrap();
        let cut = after_crash(&own, seed);
        session.rollback().unwrap();
        assert_same(&told(&db.model().unwrap()), &before, &format!("{name}: rolled back"));
        let undone = reopen(&cut, &paths);
        assert_same(
            &told(&undone.model().unwrap()),
            &before,
            &format!("{name}: undone by a restart"),
        );
        drop(undone);
        statement(&mut session).unwrap();
        let after = told(&db.model().unwrap());
        assert_ne!(after, before, "{name}");
        let kept = reopen(&after_crash(&own, seed), &paths);
        assert_same(&told(&kept.model().unwrap()), &after, &format!("{name}: after a restart"));
        drop(kept);
        drop(session);
        db.close().unwrap();
        assert_sound_on(&own, &paths);
    }
}

#[test]
fn what_is_used_is_not_dropped() {
    let disk = MemDisk::new();
    let db = reopen(&disk, &made(&disk));
    let mut session = db.session();
    let by = |result: Result<(), Error>| match result {
        Err(Error::ReferencedBy { by, .. }) => by,
        other => panic!("{other:?}"),
    };
    session.create_synonym("empty", "s", "[x]").unwrap();
    assert_eq!(by(session.drop_schema("empty")), "s");
    let system = session.drop_schema("sys");
    assert!(matches!(system, Err(Error::NotSupported(Unsupported::SystemSchema { .. }))));
    let id = session
        .create_type(&TypeSpec {
            schema: None,
            name: "t".to_owned(),
            ty: SqlType::Int,
            nullability: Nullability::Nullable,
        })
        .unwrap();
    let column = ColumnSpec { user_type: Some(id), ..ColumnSpec::new("a", SqlType::Int) };
    session.create_table(&TableSpec::heap("typed", vec![column])).unwrap();
    assert_eq!(by(session.drop_type("dbo", "t")), "typed");
    let child = session.table("child").unwrap();
    let used = session.rename_column(&child, "id", "number");
    assert!(matches!(used, Err(Error::Dependent { object, .. }) if object == "ck"));
}

#[test]
fn a_disabled_constraint_lets_rows_in_and_is_verified_again() {
    let disk = MemDisk::new();
    let db = reopen(&disk, &made(&disk));
    let mut session = db.session();
    let child = session.table("child").unwrap();
    session.switch_trigger(&child, "tr", false).unwrap();
    let refused = |session: &mut Session, id: i32| {
        let child = session.table("child").unwrap();
        matches!(session.insert(&child, &person(id, "x")), Err(Error::Constraint { .. }))
    };
    assert!(refused(&mut session, -1) && refused(&mut session, 500));
    session.disable_constraint(&child, "ck").unwrap();
    session.disable_constraint(&child, "fk").unwrap();
    assert!(!refused(&mut session, -1) && !refused(&mut session, 500));
    for name in ["ck", "fk"] {
        let enabled = session.enable_constraint(&child, name, ExistingRows::Verified);
        assert!(matches!(enabled, Err(Error::Constraint { .. })), "{name}");
        session.enable_constraint(&child, name, ExistingRows::Unverified).unwrap();
    }
    assert!(refused(&mut session, -2) && refused(&mut session, 501));
}

fn seq(db: &Arc<Database>) -> extentdb_base::ObjectId {
    let model = db.model().unwrap();
    let object = model.object("dbo", "seq").unwrap();
    assert!(matches!(object.body, ObjectBody::Sequence(_)));
    object.object.id
}

fn number(value: Datum<'static>) -> i32 {
    match value {
        Datum::Int(number) => number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_value_of_a_sequence_is_handed_out_once() {
    let disk = MemDisk::new();
    let paths = made(&disk);
    let db = reopen(&disk, &paths);
    let id = seq(&db);
    let mut one = db.session();
    let mut other = db.session();
    let mut values: Vec<i32> = Vec::new();
    for _ in 0..7 {
        values.push(number(one.next_value(id).unwrap()));
        one.begin();
        values.push(number(one.next_value(id).unwrap()));
        one.rollback().unwrap();
        values.push(number(other.next_value(id).unwrap()));
    }
    assert_eq!(values, (1..=21).collect::<Vec<i32>>());
    // A power cut loses what was reserved, and hands nothing out again.
    let cut = reopen(&after_crash(&disk, 3), &paths);
    assert_eq!(number(cut.session().next_value(id).unwrap()), 31);
    drop(cut);
    // A clean close loses nothing.
    drop((one, other));
    db.close().unwrap();
    let db = reopen(&disk, &paths);
    assert_eq!(number(db.session().next_value(id).unwrap()), 22);
}

#[test]
fn a_sequence_that_is_changed_is_waited_for() {
    let disk = MemDisk::new();
    let db = reopen(&disk, &made(&disk));
    let id = seq(&db);
    let mut one = db.session();
    let mut other = db.session();
    other.set_lock_timeout(extentdb_engine::Timeout::NoWait);
    assert_eq!(number(one.next_value(id).unwrap()), 1);
    one.begin();
    one.alter_sequence("dbo", "seq", &sequence(), Some(100)).unwrap();
    assert_eq!(number(one.next_value(id).unwrap()), 100);
    assert!(matches!(other.next_value(id), Err(Error::Lock(_))));
    one.rollback().unwrap();
    let next = number(other.next_value(id).unwrap());
    assert!((2..=12).contains(&next), "{next}");
    let last = SequenceDefinition { maximum: 501, ..sequence() };
    one.alter_sequence("dbo", "seq", &last, Some(500)).unwrap();
    assert_eq!([500, 501], [0; 2].map(|_| number(other.next_value(id).unwrap())));
    assert!(matches!(other.next_value(id), Err(Error::SequenceEnd { .. })));
    one.drop_sequence("dbo", "seq").unwrap();
    assert!(matches!(other.next_value(id), Err(Error::Gone { .. })));
}

#[test]
fn a_name_that_a_transaction_has_taken_is_waited_for() {
    let disk = MemDisk::new();
    let db = reopen(&disk, &made(&disk));
    let mut one = db.session();
    let mut other = db.session();
    other.set_lock_timeout(extentdb_engine::Timeout::NoWait);
    one.begin();
    one.drop_synonym("dbo", "syn").unwrap();
    let child = one.table("child").unwrap();
    one.drop_table(&child).unwrap();
    for name in ["SYN", "Child"] {
        let taken = other.create_synonym("dbo", name, "[x]");
        assert!(matches!(taken, Err(Error::Lock(_))), "{taken:?}");
    }
    one.rollback().unwrap();
    let taken = other.create_synonym("dbo", "SYN", "[x]");
    assert!(matches!(taken, Err(Error::Exists { .. })), "{taken:?}");
}
