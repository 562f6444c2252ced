//! The catalog model: what DDL does to it step by step is what a reader of the whole catalog sees.

mod support;

use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectBody, ObjectModel};
use extentdb_engine::{
    ColumnSpec, Database, DefaultSpec, Error, IndexSpec, ModuleKind, ModuleSpec, Nullability,
    Options, Paths, Session, TableSpec, Timeout,
};
use extentdb_io::MemDisk;
use extentdb_reader::{Database as Reader, OpenOptions};
use extentdb_types::{Datum, SqlType};
use support::*;

/// All that a model says, in the order of ids.
fn told(model: &CatalogModel) -> Vec<String> {
    let mut objects: Vec<&Arc<ObjectModel>> = model.objects().collect();
    objects.sort_by_key(|model| model.object.id);
    let mut told: Vec<String> = objects.iter().map(|object| format!("{object:?}")).collect();
    told.extend(model.schemas().map(|schema| format!("{schema:?}")));
    told.extend(model.principals().iter().map(|principal| format!("{principal:?}")));
    told.extend(model.permissions().iter().map(|permission| format!("{permission:?}")));
    told
}

#[track_caller]
fn assert_same(found: &CatalogModel, expected: &CatalogModel) {
    let found = told(found);
    let expected = told(expected);
    let only = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|line| !b.contains(line)).cloned().collect()
    };
    assert_eq!(only(&found, &expected), only(&expected, &found));
    assert_eq!(found.len(), expected.len());
}

fn module(name: &str, kind: ModuleKind, text: &str) -> ModuleSpec {
    let columns = match kind {
        ModuleKind::View => vec![ColumnSpec::new("id", SqlType::Int)],
        _ => Vec::new(),
    };
    let (name, text) = (name.to_owned(), text.to_owned());
    ModuleSpec {
        schema: None,
        name,
        kind,
        text,
        columns,
        parameters: Vec::new(),
        settings: Default::default(),
    }
}

type Statement = fn(&mut Session) -> Result<(), Error>;

/// DDL of all kinds, one statement after the other.
fn ddl() -> Vec<Statement> {
    vec![
        |session| {
            let primary = IndexSpec::primary_key("pk_parent", &["id"]).clustered();
            session.create_table(&people("parent").clustered(primary)).map(drop)
        },
        |session| session.create_table(&people("child")).map(drop),
        |session| {
            let table = session.table("child")?;
            session.add_column(&table, &ColumnSpec::new("parent", SqlType::Int))?;
            session.add_column(&table, &ColumnSpec::new("n", SqlType::Int))
        },
        |session| {
            let table = session.table("child")?;
            session.add_default(&table, "n", &DefaultSpec::new("df_n", "((7))"))
        },
        |session| {
            let table = session.table("child")?;
            session.add_check(&table, "ck_n", "([n]>(0))")
        },
        |session| {
            let child = session.table("child")?;
            let parent = session.table("parent")?;
            session.add_foreign_key(&child, "fk_parent", &parent, &[("parent", "id")])
        },
        |session| {
            let table = session.table("child")?;
            let index = IndexSpec {
                included: vec!["name".to_owned()],
                filter: Some("([n]>(5))".to_owned()),
                ..IndexSpec::new("ix_n", &["n"])
            };
            session.create_index(&table, &index)
        },
        |session| {
            let table = session.table("child")?;
            let twice = ColumnSpec::computed("twice", SqlType::Int, "([n]*(2))");
            session.add_column(&table, &twice)
        },
        |session| {
            let view = module("v", ModuleKind::View, "create view v as select id from parent");
            session.create_module(&view)
        },
        |session| {
            session.create_module(&module("p", ModuleKind::Procedure, "create procedure p as"))
        },
        |session| session.create_schema("other").map(drop),
        |session| {
            let spec = TableSpec { schema: Some("other".to_owned()), ..people("parent") };
            session.create_table(&spec).map(drop)
        },
        |session| {
            let table = session.table("other.parent")?;
            session.create_trigger(&table, "tr", "create trigger tr on parent after insert as")
        },
        |session| {
            let table = session.table("child")?;
            session.disable_index(&table, "ix_n")
        },
        |session| {
            let table = session.table("child")?;
            session.rebuild_index(&table, "ix_n")
        },
        |session| {
            let table = session.table("parent")?;
            session.alter_column(&table, "name", varchar(5000), Nullability::Nullable)
        },
        |session| {
            let table = session.table("child")?;
            session.drop_constraint(&table, "ck_n")
        },
        |session| {
            let table = session.table("child")?;
            session.drop_index(&table, "ix_n")?;
            session.drop_column(&table, "twice")
        },
        |session| {
            let table = session.table("other.parent")?;
            session.drop_trigger(&table, "tr")
        },
        |session| session.drop_module("dbo", "p"),
        |session| {
            let table = session.table("child")?;
            session.drop_table(&table)
        },
        |session| {
            let table = session.table("parent")?;
            session.create_index(&table, &IndexSpec::new("by_name", &["id", "name"]))
        },
    ]
}

#[test]
fn a_model_kept_up_by_ddl_equals_one_read_as_a_whole() {
    let disk = MemDisk::new();
    let spec = spec("model");
    let mut db = Database::create(&spec, on(&disk)).unwrap();
    db.model().unwrap();
    for (number, statement) in ddl().into_iter().enumerate() {
        let before = db.model().unwrap();
        let mut session = db.session();
        // Rolled back it leaves nothing, whether it was seen meanwhile or not.
        session.begin();
        statement(&mut session).unwrap();
        if number % 2 == 0 {
            assert!(db.model().unwrap().version() > before.version());
        }
        session.rollback().unwrap();
        assert_same(&db.model().unwrap(), &before);
        statement(&mut session).unwrap();
        let after = db.model().unwrap();
        assert!(after.version() > before.version(), "statement {number}");
        assert!(Arc::ptr_eq(&after, &db.model().unwrap()), "nothing has changed since");
        let kept = after
            .objects()
            .filter(|model| {
                let was = before.object_by_id(model.object.id);
                was.is_some_and(|was| Arc::ptr_eq(was, model))
            })
            .count();
        assert!(kept + 12 >= before.objects().count(), "statement {number} kept {kept}");
        drop(session);
        db.close().unwrap();
        db = reopen(&disk, &spec.paths());
        assert_same(&after, &db.model().unwrap());
    }
}

#[test]
fn a_binder_finds_what_it_needs() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("model"), on(&disk)).unwrap();
    let mut session = db.session();
    ddl().into_iter().take(13).for_each(|statement| statement(&mut session).unwrap());
    let model = db.model().unwrap();
    let child = model.object("DBO", "Child").expect("names compare without case");
    let table = child.table().unwrap();
    let column = |name: &str| table.column(name, model.collation()).unwrap();
    assert!(!column("ID").nullable && column("n").nullable);
    assert_eq!(table.default_of(column("n")).unwrap().definition.as_deref(), Some("((7))"));
    assert_eq!(column("twice").computed.as_deref(), Some("([n]*(2))"));
    assert!(!column("twice").persisted);
    assert_eq!(table.checks[0].definition.as_deref(), Some("([n]>(0))"));
    assert!(!table.checks[0].object.is_disabled_constraint());
    let parent = model.object("dbo", "parent").unwrap();
    assert_eq!(table.foreign_keys[0].referenced, parent.object.id);
    assert_eq!(table.foreign_keys[0].columns, [(column("parent").id, 1)]);
    assert!(parent.table().unwrap().primary_key().is_some());
    let index = table.indexes.iter().find(|it| it.name.as_deref() == Some("ix_n")).unwrap();
    assert_eq!(index.filter.as_deref(), Some("([n]>(5))"));
    assert!(index.columns.iter().any(|it| it.is_included() && it.column_id == column("name").id));
    assert!(table.statistics.iter().any(|it| it.name == "ix_n" && it.columns == [column("n").id]));
    let view = model.object("dbo", "v").unwrap().module().unwrap();
    assert_eq!(view.text.as_deref(), Some("create view v as select id from parent"));
    assert_eq!(view.columns[0].name, "id");
    let other = model.object("other", "parent").unwrap();
    assert_ne!(other.object.id, parent.object.id);
    let trigger = model.object("other", "tr").unwrap();
    assert_eq!(trigger.object.parent, other.object.id);
    assert!(other.children.contains(&trigger.object.id) && trigger.module().is_some());
    assert!(model.object("dbo", "nothing").is_none() && model.object("nowhere", "v").is_none());
    assert!(model.principals().iter().any(|principal| principal.name == "dbo"));
    assert_eq!(model.user_tables().count(), 3);
    assert!(matches!(model.object("dbo", "ck_n").unwrap().body, ObjectBody::Other));
}

/// Tables of a model that was taken by a statement are not altered before its transaction ends.
#[test]
fn a_stable_model_keeps_ddl_out() {
    let disk = MemDisk::new();
    let db = Database::create(&spec("model"), on(&disk)).unwrap();
    let mut session = db.session();
    let table = session.create_table(&people("t")).unwrap();
    let free = session.create_table(&people("free")).unwrap();
    assert!(matches!(session.stable_model(&[table.id()]), Err(Error::NoTransaction)));
    session.begin();
    let model = session.stable_model(&[table.id()]).unwrap();
    let mut other = db.session();
    other.set_lock_timeout(Timeout::NoWait);
    let column = ColumnSpec::new("more", SqlType::Int);
    assert!(matches!(other.add_column(&table, &column), Err(Error::Lock(_))));
    other.add_column(&free, &column).unwrap();
    // Rows may change.
    other.insert(&table, &person(1, "one")).unwrap();
    session.commit().unwrap();
    other.add_column(&table, &column).unwrap();
    session.begin();
    let now = session.stable_model(&[table.id()]).unwrap();
    assert!(now.version() > model.version());
    let columns = |model: &CatalogModel| {
        model.object_by_id(table.id()).unwrap().table().unwrap().columns.len()
    };
    assert_eq!((columns(&model), columns(&now)), (2, 3), "a model stays as it was taken");
    // An open change keeps those out who would be bound to it.
    other.begin();
    other.drop_column(&table, "more").unwrap_err();
    session.commit().unwrap();
    other.drop_column(&table, "more").unwrap();
    session.set_lock_timeout(Timeout::NoWait);
    session.begin();
    assert!(matches!(session.stable_model(&[table.id()]), Err(Error::Lock(_))));
    other.rollback().unwrap();
    assert_eq!(columns(&session.stable_model(&[table.id()]).unwrap()), 3);
}

/// Every real file of a version that is opened for writing.
#[test]
fn models_of_real_databases_equal_what_the_reader_reads() {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let Ok(files) = std::fs::read_dir(&samples) else {
        return eprintln!("SKIPPED: no samples in {}", samples.display());
    };
    let mut opened = 0;
    for file in files {
        let file = file.unwrap().path();
        if file.extension().is_some_and(|extension| extension == "mdf") {
            opened += u32::from(verify_sample(&file));
        }
    }
    assert!(opened > 0, "some sample is of a version that is opened");
}

/// False of a file that the engine does not open.
fn verify_sample(file: &Path) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("sample.mdf");
    std::fs::copy(file, &data).unwrap();
    let paths = Paths {
        data: vec![data.clone()],
        log: folder.path().join("sample_log.ldf"),
    };
    let db = match Database::open(&paths, Options { frames: 512, ..Options::default() }) {
        Ok(db) => db,
        Err(error) => {
            eprintln!("SKIPPED: {}: {error}", file.display());
            return false;
        }
    };
    let whole = db.model().unwrap();
    let reader = Reader::open(&[data], &OpenOptions::default()).unwrap();
    let catalog = reader.catalog();
    for table in catalog.user_tables() {
        let model = whole.object(&table.schema, &table.name).unwrap();
        let own = model.table().unwrap();
        assert_eq!(format!("{:?}", own.columns), format!("{:?}", table.columns));
        assert_eq!(format!("{:?}", own.indexes), format!("{:?}", table.indexes));
        assert!(
            own.columns.iter().all(|it| it.default_object.0 == 0 || own.default_of(it).is_some())
        );
    }
    let checks: usize = whole.user_tables().map(|(_, table)| table.checks.len()).sum();
    let keys: usize = whole.user_tables().map(|(_, table)| table.foreign_keys.len()).sum();
    assert_eq!((checks, keys), (catalog.checks.len(), catalog.foreign_keys.len()));
    for module in &catalog.modules {
        let own = whole.object_by_id(module.object.id).unwrap().module().unwrap();
        assert_eq!(own.text, module.text);
    }
    assert!(whole.role_members().contains(&(16_384, 1)), "dbo is a member of db_owner");
    let parameters: usize =
        whole.objects().filter_map(|it| it.module()).map(|it| it.parameters.len()).sum();
    let untrusted = whole.user_tables().flat_map(|(_, table)| &table.checks);
    let untrusted = untrusted.filter(|check| check.object.is_not_trusted()).count();
    println!(
        "{}: {} tables, {} modules with {parameters} parameters, {checks} checks, {untrusted} not trusted, members of roles {:?}",
        file.display(),
        whole.user_tables().count(),
        catalog.modules.len(),
        whole.role_members()
    );
    // New objects beside the old ones, read by their keys.
    let mut session = db.session();
    let table = session.create_table(&people("newcomers")).unwrap();
    session.create_index(&table, &IndexSpec::new("by_id", &["id"])).unwrap();
    session.insert(&table, &[Datum::Int(1), text("one")]).unwrap();
    let after = db.model().unwrap();
    assert_eq!(after.objects().count(), whole.objects().count() + 1);
    assert!(after.object("dbo", "newcomers").unwrap().table().is_some());
    session.drop_table(&table).unwrap();
    assert_same(&db.model().unwrap(), &whole);
    true
}
