//! Compares the catalog of a new database with that of a real one of the same version.

use std::collections::BTreeMap;
use std::path::PathBuf;

use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::{Catalog, ObjectType};

use super::*;

fn sample() -> Option<Catalog> {
    let folder = std::env::var_os("EXTENTDB_SAMPLES").map(PathBuf::from).unwrap_or_else(|| {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples"))
    });
    let path = folder.join("bookshop-2008r2.mdf");
    if !path.exists() {
        eprintln!("SKIPPED: no samples in {}", folder.display());
        return None;
    }
    Some(Catalog::load(&Image::open(&[&path])).unwrap())
}

fn ours() -> Catalog {
    let (_folder, paths, _) = build(&DatabaseBuilder::new("template"), 1);
    Catalog::load(&open(&paths)).unwrap()
}

/// What must be the same about a rowset: all that does not depend on collation or on what is in it.
fn rowset_facts(catalog: &Catalog) -> BTreeMap<(i32, i32), String> {
    let is_system =
        |object| catalog.objects.get(&object).is_none_or(|o| o.kind != ObjectType::USER_TABLE);
    let column = |c: &PhysicalColumn| {
        let text = if c.collation_id & 0xff_ffff == 0xd008 { "database" } else { "own" };
        (
            c.column_id,
            c.ordinal,
            c.ti,
            text,
            c.key_ordinal,
            c.status,
            c.max_in_row,
            c.leaf,
            c.interior,
        )
    };
    let facts = catalog.rowsets.values().filter(|rowset| is_system(rowset.object)).map(|rowset| {
        let columns: Vec<_> = rowset.layout.columns.iter().map(column).collect();
        let units: Vec<_> =
            rowset.units.iter().map(|unit| (unit.kind, unit.id, unit.status)).collect();
        let lengths = (rowset.min_leaf, rowset.min_interior);
        let text = format!("{} {:#x} {lengths:?} {units:?} {columns:#?}", rowset.id, rowset.status);
        ((rowset.object.0, rowset.index.0), text)
    });
    facts.collect()
}

#[test]
fn rowsets_and_physical_columns_equal_those_of_a_real_database() {
    let Some(sample) = sample() else { return };
    let expected = rowset_facts(&sample);
    let found = rowset_facts(&ours());
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (key, facts) in &expected {
        assert_eq!(facts, &found[key], "object and index {key:?}");
    }
}

#[test]
fn objects_columns_and_indexes_equal_those_of_a_real_database() {
    let Some(sample) = sample() else { return };
    let facts = |catalog: &Catalog| -> BTreeMap<i32, String> {
        let system = catalog.tables.values().filter(|table| table.kind != ObjectType::USER_TABLE);
        let of = |table: &extentdb_catalog::Table| {
            let columns: Vec<_> = table
                .columns
                .iter()
                .map(|c| {
                    (
                        c.id,
                        &c.name,
                        c.ty.map(|ty| ty.to_string()),
                        &c.user_type,
                        c.status,
                        &c.identity,
                    )
                })
                .collect();
            let indexes: Vec<_> = table
                .indexes
                .iter()
                .map(|i| (i.id, &i.name, i.kind, i.status, i.data_space, &i.columns, &i.rowsets))
                .collect();
            let object = &catalog.objects[&table.id];
            format!(
                "{} {} {:#x} {} {columns:#?} {indexes:#?}",
                table.full_name(),
                object.kind.code(),
                object.status,
                object.parent
            )
        };
        system.map(|table| (table.id.0, of(table))).collect()
    };
    let expected = facts(&sample);
    let found = facts(&ours());
    assert_eq!(expected.len(), 50);
    for (id, facts) in &expected {
        assert_eq!(facts, &found[id], "object {id}");
    }
}

#[test]
fn schemas_principals_and_types_equal_those_of_a_real_database() {
    let Some(sample) = sample() else { return };
    let ours = ours();
    assert_eq!(sample.schemas, ours.schemas);
    assert_eq!(sample.principals, ours.principals);
    assert_eq!(sample.types.keys().collect::<Vec<_>>(), ours.types.keys().collect::<Vec<_>>());
    assert_eq!(sample.filegroups, ours.filegroups);
    assert_eq!((ours.boot.version, ours.boot.template_version), (661, 661));
    assert!(ours.boot.status.is_clean());
}
