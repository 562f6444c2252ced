//! Names are looked up by indexes, and what validates rows does not hold what checkpoints need.

use std::path::Path;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_io::MemDisk;
use extentdb_template::DatabaseBuilder;
use extentdb_types::{Datum, SqlType};

use super::template::sample;
use crate::catalog::objects::object;
use crate::catalog::system_table::{int, number, text};
use crate::database::verify::PRIMARY_BYTES_MIN;
use crate::{
    ColumnSpec, Database, DatabaseSpec, Error, IndexSpec, Options, Session, Table, TableSpec,
};

fn create(name: &str) -> Database {
    let options = Options { frames: 512, ..Options::on(Arc::new(MemDisk::new())) };
    Database::create(&DatabaseSpec::new(name, "", 4 << 20), options).unwrap()
}

fn numbers(session: &mut Session<'_>, name: &str) -> Arc<Table> {
    let id = IndexSpec::new(&format!("pk_{name}"), &["id"]).unique();
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("other", SqlType::Int),
    ];
    session.create_table(&TableSpec::heap(name, columns).clustered(id)).unwrap()
}

/// Every object is found by its name, in any case, as by a look at all of them.
fn assert_found_by_name(db: &Database) -> usize {
    let objects = db.catalog.system("sysschobjs").unwrap();
    let mut by_index = 0;
    for row in objects.rows(&[]).unwrap() {
        let id = ObjectId(row.get(object::ID).and_then(number).unwrap() as i32);
        let schema = row.get(object::SCHEMA).and_then(number).unwrap() as i32;
        let name = text(row.get(object::NAME));
        for name in [name.clone(), name.to_ascii_lowercase(), name.to_ascii_uppercase()] {
            assert_eq!(db.catalog.object_named(schema, &name).unwrap(), Some(id), "{name}");
            by_index +=
                usize::from(objects.rows_by_name(object::BY_NAME, &name).unwrap().is_some());
        }
        assert_eq!(db.catalog.object_named(schema, &format!("{name}_not")).unwrap(), None);
    }
    by_index
}

#[test]
fn objects_are_found_by_name_in_new_and_real_databases() {
    let db = create("named");
    let mut session = db.session();
    for number in 0..50 {
        let table = numbers(&mut session, &format!("Table {number}"));
        session.add_check(&table, &format!("check_{number}"), "([id]>=(0))").unwrap();
    }
    assert!(assert_found_by_name(&db) > 300, "most of them by the index");
    drop(session);
    if let Some(db) = sample() {
        assert!(assert_found_by_name(&db) > 100);
    }
}

#[test]
fn children_and_units_are_found_as_by_a_full_scan() {
    let db = create("children");
    let mut session = db.session();
    let tables: Vec<_> =
        (0..20).map(|number| numbers(&mut session, &format!("t{number}"))).collect();
    for (number, table) in tables.iter().enumerate() {
        for of in 0..number % 4 {
            session.add_check(table, &format!("c{number}_{of}"), "([id]>=(0))").unwrap();
        }
    }
    let all = db.catalog.system("sysschobjs").unwrap().rows(&[]).unwrap();
    for table in &tables {
        let is_child =
            |row: &&Vec<_>| row.get(object::PARENT).and_then(number) == Some(table.id().0.into());
        let expected: Vec<_> =
            all.iter().filter(is_child).map(|row| row[object::ID].clone()).collect();
        let objects = db.catalog.system("sysschobjs").unwrap();
        let found = objects.rows_by(object::BY_PARENT, &[int(table.id().0)]).unwrap();
        let found: Vec<_> = found.iter().map(|row| row[object::ID].clone()).collect();
        assert_eq!(found, expected);
        for unit in table.storage().units() {
            assert!(db.catalog.tree_of(unit.id()).is_some());
            assert!(db.catalog.table_of(unit.id()).is_some());
        }
    }
}

/// Who holds this lock keeps checkpoints waiting: a row that breaks a rule is found without it.
#[test]
fn rows_are_validated_without_the_lock_that_checkpoints_need() {
    let db = create("validated");
    let mut session = db.session();
    let [child, parent] = ["child", "parent"].map(|name| numbers(&mut session, name));
    for id in 0..100 {
        session.insert(&child, &[Datum::Int(id), Datum::Int(id)]).unwrap();
    }
    let held = lock(&db.ddl);
    let refused = session.add_check(&child, "few", "([id]<(50))");
    assert!(matches!(refused, Err(Error::Constraint { .. })), "{refused:?}");
    let refused = session.add_foreign_key(&child, "leads", &parent, &[("other", "id")]);
    assert!(matches!(refused, Err(Error::Constraint { .. })), "{refused:?}");
    drop(held);
    session.add_check(&child, "few", "([id]<(100))").unwrap();
    db.checkpoint().unwrap();
}

#[test]
fn the_catalog_of_a_new_database_fits_the_smallest_primary_file() {
    let disk = MemDisk::new();
    let built = DatabaseBuilder::new("least").build_on(&disk, &[Path::new("least.mdf")]).unwrap();
    assert!(built.file_bytes[0] <= PRIMARY_BYTES_MIN, "{} bytes", built.file_bytes[0]);
}
