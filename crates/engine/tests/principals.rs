//! Users, roles and permissions: what is stored, what the reader and the full check find of it, and
//! what a rollback leaves.

mod support;

use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;
use extentdb_catalog::model::{Descriptions, Permission};
use extentdb_engine::{Database, Options, Paths, PrincipalChange, PrincipalSpec, Session};
use extentdb_io::{Disk, Durability, MemDisk};
use extentdb_reader::{Database as Reader, OpenOptions};
use support::*;

const DBO: i32 = 1;
const SCHEMA_OWNER: u8 = 50;

fn user(name: &str, sid: u8) -> PrincipalSpec {
    PrincipalSpec {
        name: name.to_owned(),
        kind: 'S',
        sid: vec![sid; 16],
        default_schema: Some("dbo".to_owned()),
        owner: None,
        password: None,
    }
}

fn role(name: &str) -> PrincipalSpec {
    PrincipalSpec {
        kind: 'R',
        owner: Some(DBO),
        default_schema: None,
        ..user(name, 77)
    }
}

fn granted(class: u8, id: i32, grantee: i32, kind: &str) -> Permission {
    Permission {
        class,
        id,
        sub_id: 0,
        grantee,
        grantor: DBO,
        kind: kind.to_owned(),
        state: "G".to_owned(),
    }
}

/// Makes a user in a role with permissions and a schema, and changes most of it again.
fn fill(session: &mut Session) -> (i32, i32) {
    let table = session.create_table(&people("guarded")).unwrap().id().0;
    let ann = session.create_principal(&user("ann", 5)).unwrap();
    let bob = session.create_principal(&user("bob", 6)).unwrap();
    let clerks = session.create_principal(&role("clerks")).unwrap();
    session.add_role_member(clerks, ann).unwrap();
    session.add_role_member(clerks, bob).unwrap();
    session.drop_role_member(clerks, bob).unwrap();
    let rows = [
        granted(0, 0, ann, "CO"),
        granted(1, table, clerks, "SL"),
        granted(1, table, bob, "SL"),
        granted(4, ann, bob, "IM"),
    ];
    session.change_permissions(&[], &rows).unwrap();
    session.change_permissions(&rows[..1], &[granted(0, 0, ann, "CRTB")]).unwrap();
    let schema = session.create_schema_of("sales", bob).unwrap();
    session.set_owner(SCHEMA_OWNER, schema, ann).unwrap();
    let change = PrincipalChange { name: Some("anna".to_owned()), ..PrincipalChange::default() };
    session.alter_principal(ann, &change).unwrap();
    session.drop_principal(bob).unwrap();
    (ann, clerks)
}

/// What a model says of principals, as text.
fn told(db: &Arc<Database>) -> Vec<String> {
    let model = db.model().unwrap();
    let mut told: Vec<String> = model.principals().iter().map(|it| format!("{it:?}")).collect();
    told.extend(model.role_members().iter().map(|it| format!("{it:?}")));
    told.extend(model.schemas().map(|it| format!("{it:?}")));
    told.extend(model.permissions().iter().map(|it| format!("{it:?}")));
    told
}

fn assert_stored(db: &Arc<Database>, ann: i32, clerks: i32) {
    let model = db.model().unwrap();
    assert_eq!(model.principal("anna").map(|own| own.id), Some(ann));
    assert!(model.principal("bob").is_none());
    assert!(model.role_members().contains(&(clerks, ann)));
    assert_eq!(model.schema("sales").map(|own| own.owner), Some(ann));
    let of_table = &model.object("dbo", "guarded").unwrap().permissions;
    assert_eq!(of_table.iter().map(|own| own.grantee).collect::<Vec<_>>(), [clerks]);
    let is_ours = |own: &&Permission| own.grantee == ann;
    let own: Vec<&str> =
        model.permissions().iter().filter(is_ours).map(|own| own.kind.trim_end()).collect();
    assert_eq!(own, ["CRTB"]);
}

#[test]
fn principals_outlive_a_restart_and_the_full_check_finds_nothing() {
    let disk = MemDisk::new();
    let spec = spec("guarded");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let (ann, clerks) = fill(&mut db.session());
    assert_stored(&db, ann, clerks);
    let before = told(&db);
    close_and_check(db, &disk, &spec.paths());
    let db = reopen(&disk, &spec.paths());
    assert_eq!(told(&db), before);
    assert_stored(&db, ann, clerks);
}

#[test]
fn what_is_rolled_back_was_never_there() {
    let disk = MemDisk::new();
    let spec = spec("guarded");
    let db = Database::create(&spec, on(&disk)).unwrap();
    let before = told(&db);
    let mut session = db.session();
    session.begin();
    fill(&mut session);
    assert_ne!(told(&db), before);
    session.rollback().unwrap();
    assert_eq!(told(&db), before);
    drop(session);
    close_and_check(db, &disk, &spec.paths());
}

#[test]
fn an_attached_database_takes_principals_where_the_reader_finds_them() {
    let samples = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    for name in ["pubs-2008.mdf", "northwind-2008.mdf"] {
        let Ok(bytes) = std::fs::read(samples.join(name)) else {
            eprintln!("SKIPPED: no {name} in {}", samples.display());
            continue;
        };
        let disk = MemDisk::new();
        let data = PathBuf::from("/attached.mdf");
        let file = disk.create(&data).unwrap();
        file.write_at(0, &[&bytes], Durability::Deferred).unwrap();
        file.sync().unwrap();
        drop(file);
        let paths = Paths {
            data: vec![data],
            log: Path::new("/attached_log.ldf").to_path_buf(),
        };
        let options = || Options { frames: 1024, ..Options::on(Arc::new(disk.clone())) };
        let db = Database::open(&paths, options()).unwrap();
        let (ann, clerks) = fill(&mut db.session());
        assert_stored(&db, ann, clerks);
        db.close().unwrap();
        let folder = std::env::temp_dir().join(format!("principals-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = files_of(&disk, &paths, &folder);
        let reader = Reader::open(&files, &OpenOptions::default()).unwrap();
        let described = Descriptions::load(&reader.pages()).unwrap();
        assert!(described.principals.iter().any(|own| own.name == "anna" && own.id == ann));
        assert!(described.role_members.contains(&(clerks, ann)), "{name}");
        assert!(check(&files).findings.is_empty(), "{name}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
