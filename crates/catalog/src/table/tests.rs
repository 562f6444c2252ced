use extentdb_types::{Collation, SqlType};

use super::*;
use crate::model::{IndexKind, ObjectType};

fn tables() -> Vec<TableDefinition> {
    base_tables(DEFAULT_COLLATION).unwrap()
}

#[test]
fn version_661_has_45_base_tables_and_5_internal_ones() {
    let tables = tables();
    let count = |kind| tables.iter().filter(|table| table.kind == kind).count();
    assert_eq!((count(ObjectType::SYSTEM_TABLE), count(ObjectType::INTERNAL_TABLE)), (45, 5));
    let indexes = tables.iter().flat_map(|table| &table.indexes);
    assert_eq!(indexes.clone().count(), 91, "one rowset each");
    assert_eq!(indexes.map(|index| index.units.len()).sum::<usize>(), 103);
    assert_eq!(tables.iter().map(|table| table.columns.len()).sum::<usize>(), 483);
}

#[test]
fn template_rows_fit_their_tables() {
    let tables = tables();
    let mut rows = 0;
    for template in template_rows().unwrap() {
        let table = tables.iter().find(|table| table.name == template.name).unwrap();
        rows += template.rows.len();
        assert!(template.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.name);
    }
    assert_eq!(rows, 809);
}

/// Examples of the format description: the fixed places of the tables that a reader must know by
/// heart.
#[test]
fn bootstrap_tables_have_their_fixed_offsets() {
    let tables = tables();
    let column_offset = |table: &str, column: &str| {
        let table = tables.iter().find(|t| t.name == table).unwrap();
        let layout = table.layout(&table.indexes[0]);
        layout.row.column(table.column_id(column).unwrap()).unwrap().leaf.offset
    };
    assert_eq!(column_offset("sysallocunits", "pgroot"), 33);
    assert_eq!(column_offset("sysrowsets", "rcrows"), 31);
    assert_eq!(column_offset("sysrscols", "nullbit"), 48);
    assert_eq!(column_offset("sysrscols", "dbfragid"), 54);
    assert_eq!(column_offset("sysrowsets", "lockres"), -2);
    assert_eq!(column_offset("sysprufiles", "pname"), -2);
}

/// As in files of versions 706 to 904.
#[test]
fn the_table_of_stored_defaults_has_its_known_offsets() {
    let tables = later_tables(DEFAULT_COLLATION).unwrap();
    let [table] = tables.as_slice() else { panic!("one table") };
    let layout = table.layout(&table.indexes[0]);
    let offsets: Vec<i16> = layout.row.columns.iter().map(|column| column.leaf.offset).collect();
    assert_eq!((table.id.0, offsets), (9, vec![4, 5, 13, 21, -1, -2]));
    assert_eq!(table.indexes[0].rowset.0, 1 << 48 | 9 << 16);
    assert_eq!(
        table.indexes[0].units.iter().map(|unit| unit.id.0).collect::<Vec<_>>(),
        [1 << 48 | 9 << 16, 0xff << 48 | 9 << 16]
    );
}

/// As in files of versions 706 to 904.
#[test]
fn tables_of_master_have_their_known_offsets() {
    let tables = master_tables(DEFAULT_COLLATION).unwrap();
    let offset = |table: &TableDefinition, column: &str| {
        let layout = table.layout(&table.indexes[0]);
        layout.row.column(table.column_id(column).unwrap()).unwrap().leaf.offset
    };
    let [files, databases, logins] = tables.as_slice() else { panic!("three tables") };
    assert_eq!(["status", "filetype", "growth"].map(|name| offset(files, name)), [24, 28, 38]);
    assert_eq!(
        ["pname", "firstupdatelsn", "forkvc"].map(|name| offset(files, name)),
        [-2, 112, 232]
    );
    assert_eq!(["name", "crdate", "svcbrkrguid"].map(|name| offset(databases, name)), [-1, 20, 36]);
    assert_eq!(["sid", "scope", "cmptlevel"].map(|name| offset(databases, name)), [-2, 52, 56]);
    assert_eq!(
        ["status", "type", "modate", "pwdhash"].map(|it| offset(logins, it)),
        [8, 12, 21, -5]
    );
}

#[test]
fn altered_columns_keep_their_offsets_and_are_marked() {
    let mut table = tables().remove(0);
    table.kind = ObjectType::USER_TABLE;
    table.columns = ["a", "b", "c", "d"].map(|name| column(name, SqlType::Int, true)).to_vec();
    table.columns[1].history.dropped = true;
    table.columns[2].history.dropped = true;
    table.columns[3].history.has_stored_default = true;
    let mut heap = table.indexes.remove(0);
    (heap.kind, heap.keys) = (IndexKind::Heap, Vec::new());
    let layout = table.layout(&heap);
    let found: Vec<(i32, u32, i16)> = layout
        .row
        .columns
        .iter()
        .map(|column| (column.column_id, column.status, column.leaf.offset))
        .collect();
    assert_eq!(found, [(1, 0, 4), (0x0400_0001, 2, 8), (0x0400_0002, 2, 12), (4, 0x200, 16)]);
}

fn column(name: &str, ty: SqlType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        ty,
        user_type: i32::from(ty.xtype()),
        nullable,
        stored_nullable: nullable,
        identity: None,
        default_object: extentdb_base::ObjectId(0),
        computed: None,
        row_guid: false,
        history: Default::default(),
    }
}

/// The table `employee` of the 2008 pubs database: clustered and not unique, with a nullable key
/// column.
#[test]
fn a_clustered_key_that_is_not_unique_gets_a_uniquifier() {
    let collation = Collation(DEFAULT_COLLATION);
    let varchar = |len| SqlType::VarChar { len: Some(len), collation };
    let chars = |len| SqlType::Char { len, collation };
    let mut table = tables().remove(0);
    table.kind = ObjectType::USER_TABLE;
    table.columns = vec![
        column("emp_id", chars(9), false),
        column("fname", varchar(20), false),
        column("minit", chars(1), true),
        column("lname", varchar(30), false),
        column("job_id", SqlType::SmallInt, false),
        column("job_lvl", SqlType::TinyInt, true),
        column("pub_id", chars(4), false),
        column("hire_date", SqlType::DateTime, false),
    ];
    let key = |column_id| KeyColumn { column_id, descending: false };
    let mut clustered = table.indexes.remove(0);
    clustered.status = 0x3;
    clustered.keys = vec![key(4), key(2), key(3)];
    let mut nonclustered = clustered.clone();
    (nonclustered.kind, nonclustered.status) = (IndexKind::Nonclustered, 0x2b);
    nonclustered.keys = vec![key(1)];
    table.indexes = vec![clustered, nonclustered];

    let base = table.layout(&table.indexes[0]);
    let ids: Vec<i32> = base.row.columns.iter().map(|column| column.column_id).collect();
    assert_eq!(ids, [0, 4, 2, 3, 1, 5, 6, 7, 8]);
    let variable: Vec<i16> =
        base.row.columns.iter().take(3).map(|column| column.interior.offset).collect();
    assert_eq!(variable, [-3, -1, -2], "non-leaf records follow the key order");
    assert_eq!(
        (base.min_leaf, base.min_interior, base.max_leaf, base.max_interior),
        (29, 8, 95, 73)
    );
    assert_eq!(base.row.columns[0].status, 0x90);
    assert!(base.has_nullable_key);

    let index = table.layout(&table.indexes[1]);
    assert_eq!(index.sources.last(), Some(&Source::Uniquifier));
    assert_eq!(
        (index.min_leaf, index.min_interior, index.max_leaf, index.max_interior),
        (11, 16, 76, 16)
    );
    assert_eq!(index.max_null_bit, 5, "a nullable locator column gives the leaf a null bitmap");
    assert!(!index.has_nullable_key);
}
