//! Rows of the base tables that describe tables, indexes, constraints and allocation units.
//!
//! From a [`TableDefinition`] to the values that the catalog keeps about it: for a builder of a
//! whole database, and for one that inserts row by row. Where each value comes from:
//! `docs/format/new-database.md`.

use std::collections::BTreeMap;

use extentdb_base::{AllocUnitId, HobtId, ObjectId, PageId};
use extentdb_format::allocation::field::StoredTime;

use super::definition::{
    ColumnDefinition, IndexDefinition, TableDefinition, UnitDefinition, column_facets,
    is_ansi_padded, max_in_row,
};
use super::values::RowValues;
use crate::layout::{ColumnOffset, Compression, PhysicalColumn};
use crate::model::{AllocUnitKind, IndexKind, ObjectType, ReferentialAction, ReferentialActions};
use crate::system::object;

/// Rows of the base tables by name.
pub type SystemRows = BTreeMap<String, Vec<RowValues>>;

/// The only fragment of these databases.
pub const FRAGMENT: i32 = 1;
/// Bit of `syscolpars.status` of a parameter: OUTPUT.
pub const PARAMETER_OUTPUT: i32 = 0x200;
/// Bits of `syscolpars.status`.
mod column {
    pub(super) const NOT_NULL: i32 = 0x1;
    pub(super) const ANSI_PADDED: i32 = 0x2;
    pub(super) const IDENTITY: i32 = 0x4;
    /// Public text of `sys.columns`.
    pub(super) const ROW_GUID: i32 = 0x8;
    /// Public text of `sys.columns`.
    pub(super) const COMPUTED: i32 = 0x10;
}

/// An object that belongs to a table.
pub struct Child {
    /// Object id, `sysschobjs.id`.
    pub id: ObjectId,
    /// Name in the schema, `sysschobjs.name`.
    pub name: String,
    /// What it is.
    pub kind: ChildKind,
    /// Object id of the table it belongs to, `sysschobjs.pid`.
    pub table: ObjectId,
    /// The schema of the table.
    pub schema_id: i32,
}

/// What it is.
pub enum ChildKind {
    /// PRIMARY KEY, `sysschobjs` type PK.
    PrimaryKey,
    /// UNIQUE constraint, `sysschobjs` type UQ.
    Unique,
    /// DEFAULT: column and expression.
    Default(i32, String),
    /// CHECK: the columns that it is about, and the expression.
    Check(Vec<i32>, String),
    /// FOREIGN KEY, `sysschobjs` type F.
    ForeignKey {
        /// Object id of the referenced table.
        table: ObjectId,
        /// Index id of the referenced key.
        index: i32,
        /// Pairs of referencing and referenced column.
        columns: Vec<(i32, i32)>,
        /// ON DELETE and ON UPDATE.
        actions: ReferentialActions,
    },
}

/// The rows of one table.
pub fn rows_of<'r>(rows: &'r mut SystemRows, table: &str) -> &'r mut Vec<RowValues> {
    rows.entry(table.to_owned()).or_default()
}

/// Rows that describe a table, whether of the system or of a user.
pub fn add_table(table: &TableDefinition, created: StoredTime, rows: &mut SystemRows) {
    rows_of(rows, "sysschobjs").push(object_row(
        table.id,
        &table.name,
        table.schema_id,
        table.status as i32,
        &table.kind.0,
        table.parent,
        table.columns.len() as i32,
        created,
    ));
    let is_there = |column: &ColumnDefinition| !column.history.dropped && !column.history.gone;
    for (id, column) in (1..).zip(&table.columns).filter(|(_, column)| is_there(column)) {
        let used = |text: &str| {
            let names =
                (1..).zip(&table.columns).filter(|(_, c)| text.contains(&format!("[{}]", c.name)));
            names.map(|(used, _)| used).collect::<Vec<i32>>()
        };
        let used =
            column.computed.as_ref().map(|computed| used(&computed.text)).unwrap_or_default();
        add_column(table.id, id, column, &used, rows);
    }
    table.indexes.iter().for_each(|index| add_index(table, index, rows));
}

/// The row of a column that comes to a table; of a computed one its text, and the columns that it
/// is computed of.
pub fn add_column(
    table: ObjectId,
    id: i32,
    column: &ColumnDefinition,
    used: &[i32],
    rows: &mut SystemRows,
) {
    rows_of(rows, "syscolpars").push(column_row(table, id, column));
    if let Some(computed) = &column.computed {
        rows_of(rows, "sysobjvalues").push(text_row(TEXT, table, id, &computed.text));
        let references = used.iter().map(|used| reference_row(1, table, id, table, *used));
        rows_of(rows, "sysmultiobjrefs").extend(references);
    }
}

/// A view, procedure, function or trigger.
#[derive(Clone, Copy, Debug)]
pub struct ModuleDefinition<'m> {
    /// Object id, unique in the database: `sysschobjs.id`.
    pub id: ObjectId,
    /// Type of the object.
    pub kind: ObjectType,
    /// Schema that the module belongs to; 0 for a trigger of the database.
    pub schema_id: i32,
    /// Table of a trigger; 0 for other modules.
    pub parent: ObjectId,
    /// Name without schema.
    pub name: &'m str,
    /// The whole CREATE statement.
    pub text: &'m str,
    /// `sysschobjs.status`: the settings under which it was defined.
    pub status: u32,
    /// Columns of a view or table function.
    pub columns: &'m [ColumnDefinition],
    /// Time of its creation.
    pub created: StoredTime,
}

/// Rows that keep a view, procedure, function or trigger.
pub fn add_module(module: &ModuleDefinition<'_>, rows: &mut SystemRows) {
    let ModuleDefinition {
        id,
        kind,
        schema_id,
        parent,
        name,
        text,
        columns,
        created,
        status,
    } = *module;
    let object = object_row(id, name, schema_id, status as i32, &kind.0, parent, 0, created);
    rows_of(rows, "sysschobjs").push(object);
    rows_of(rows, "sysobjvalues").push(text_row(TEXT, id, 0, text));
    for (number, column) in (1..).zip(columns) {
        rows_of(rows, "syscolpars").push(column_row(id, number, column));
    }
}

/// The row of an object without a table that belongs to no other.
pub fn add_object(
    id: ObjectId,
    name: &str,
    schema_id: i32,
    kind: ObjectType,
    created: StoredTime,
    rows: &mut SystemRows,
) {
    let row = object_row(id, name, schema_id, 0, &kind.0, ObjectId(0), 0, created);
    rows_of(rows, "sysschobjs").push(row);
}

/// An extended property of an object.
#[derive(Clone, Copy, Debug)]
pub struct PropertyDefinition<'p> {
    /// Object id.
    pub object: ObjectId,
    /// Name of the property.
    pub name: &'p str,
    /// The value as a sql_variant is stored.
    pub value: &'p [u8],
}

/// The row of an extended property.
pub fn add_property(property: &PropertyDefinition<'_>, rows: &mut SystemRows) {
    let mut row = RowValues::new();
    row.tinyint(OBJECT_CLASS).int(property.object.0).int(0).ntext(property.name);
    row.raw(property.value);
    rows_of(rows, "sysxprops").push(row);
}

/// The text of an object.
pub fn add_text(object: ObjectId, text: &str, rows: &mut SystemRows) {
    rows_of(rows, "sysobjvalues").push(text_row(TEXT, object, 0, text));
}

/// The row of its place in the rows of a rowset.
pub fn add_physical_column(rowset: HobtId, column: &PhysicalColumn, rows: &mut SystemRows) {
    rows_of(rows, "sysrscols").push(physical_row(rowset, column, 0));
}

/// Rows that describe an index of a table, without those of its rowsets.
pub fn add_index(table: &TableDefinition, index: &IndexDefinition, rows: &mut SystemRows) {
    rows_of(rows, "sysidxstats").push(index_row(table, index));
    rows_of(rows, "sysiscols").extend(index_column_rows(table.id, index));
    if let Some(filter) = &index.filter {
        rows_of(rows, "sysobjvalues").push(text_row(FILTER_TEXT, table.id, index.id.0, filter));
    }
}

/// Statistics that are not those of an index.
#[derive(Clone, Copy, Debug)]
pub struct StatisticsDefinition<'d> {
    /// The table.
    pub table: ObjectId,
    /// A number that no index and no other statistics of the table have.
    pub id: i32,
    /// Name.
    pub name: &'d str,
    /// Ids of the columns, in order.
    pub columns: &'d [i32],
    /// Were they created for a query?
    pub is_automatic: bool,
}

/// Bits of `sysidxstats.status`: statistics; created automatically. Observed in real files.
const STATUS_STATISTICS: i32 = 0x2;
const STATUS_AUTO_CREATED: i32 = 0x2000;
/// Bit of `sysiscols.status`: a column of statistics that no index has.
const ISCOL_STATISTICS: i32 = 0x1;

/// Rows that describe statistics, without a histogram.
pub fn add_statistics(definition: &StatisticsDefinition<'_>, rows: &mut SystemRows) {
    let StatisticsDefinition { table, id, name, columns, is_automatic } = *definition;
    let status = STATUS_STATISTICS | if is_automatic { STATUS_AUTO_CREATED } else { 0 };
    let mut row = RowValues::new();
    row.int(table.0).int(id).ntext(name).int(status).int(0).tinyint(0).tinyint(0).tinyint(0);
    row.int(0).int(0).bigint(0);
    rows_of(rows, "sysidxstats").push(row);
    for (subid, column) in (1..).zip(columns) {
        let mut row = RowValues::new();
        row.int(table.0).int(id).int(subid).int(ISCOL_STATISTICS).int(*column);
        row.tinyint(0).tinyint(0);
        rows_of(rows, "sysiscols").push(row);
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "one for each column of the row that is not always the same"
)]
fn object_row(
    id: ObjectId,
    name: &str,
    schema_id: i32,
    status: i32,
    kind: &[u8; 2],
    parent: ObjectId,
    int_prop: i32,
    created: StoredTime,
) -> RowValues {
    let mut row = RowValues::new();
    let (name_class, parent_class) = if schema_id == 0 {
        (NAMES_OF_DATABASE, OF_DATABASE)
    } else {
        (NAMES_OF_SCHEMA, OF_OBJECT)
    };
    row.int(id.0)
        .ntext(name)
        .int(schema_id)
        .tinyint(name_class)
        .int(status)
        .raw(kind)
        .int(parent.0)
        .tinyint(parent_class);
    row.int(int_prop).datetime(created.days, created.ticks).datetime(created.days, created.ticks);
    row
}

/// The row of `syscolpars` of a column.
pub fn column_row(table: ObjectId, id: i32, of: &ColumnDefinition) -> RowValues {
    described(table, Numbered { number: 0, id }, of, 0)
}

/// The row of `syscolpars` of a parameter of a module.
pub fn parameter_row(
    module: ObjectId,
    id: i32,
    of: &ColumnDefinition,
    is_output: bool,
) -> RowValues {
    let status = if is_output { PARAMETER_OUTPUT } else { 0 };
    described(module, Numbered { number: 1, id }, of, status)
}

/// Which row of an object: number 0 are columns, 1 parameters.
struct Numbered {
    number: i16,
    id: i32,
}

fn described(table: ObjectId, at: Numbered, of: &ColumnDefinition, more: i32) -> RowValues {
    let (length, precision, scale) = column_facets(&of.ty);
    let collation = of.ty.collation().map_or(0, |collation| collation.0 as i32);
    let flags = [
        (!of.nullable, column::NOT_NULL),
        (is_ansi_padded(&of.ty), column::ANSI_PADDED),
        (of.identity.is_some(), column::IDENTITY),
        (of.row_guid, column::ROW_GUID),
        (of.computed.is_some(), column::COMPUTED),
    ];
    let status = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum::<i32>() | more;
    let mut row = RowValues::new();
    row.int(table.0)
        .smallint(at.number)
        .int(at.id)
        .ntext(&of.name)
        .tinyint(of.ty.xtype())
        .int(of.user_type);
    row.smallint(length).tinyint(precision).tinyint(scale).int(collation).int(status);
    row.smallint(max_in_row(&of.ty)).int(0).int(of.default_object.0).int(0);
    match &of.identity {
        Some(value) => row.raw(value),
        None => row.null(),
    };
    row
}

fn index_row(table: &TableDefinition, index: &IndexDefinition) -> RowValues {
    let kind = match index.kind {
        IndexKind::Heap => 0,
        IndexKind::Clustered => 1,
        _ => 2,
    };
    let is_lob = |column: &ColumnDefinition| {
        column.is_stored() && (column.ty.is_max() || column.ty.is_lob())
    };
    let has_lob = index.is_base() && table.columns.iter().any(is_lob);
    let mut row = RowValues::new();
    row.int(table.id.0).int(index.id.0);
    match &index.name {
        Some(name) => row.ntext(name),
        None => row.null(),
    };
    row.int(index.status as i32).int(0).tinyint(index.fill_factor).tinyint(kind).tinyint(0);
    row.int(index.data_space)
        .int(if has_lob { index.data_space } else { 0 })
        .bigint(index.rowset.0);
    row
}

/// Bits of `sysiscols.status`: statistics column, index column, descending, included.
const ISCOL_KEY: i32 = 0x3;
const ISCOL_DESCENDING: i32 = 0x4;
const ISCOL_INCLUDED: i32 = 0x12;
/// A column that is there because it decides the partition: documented as neither key nor included.
const ISCOL_PARTITIONING: i32 = 0x2;

fn index_column_rows(table: ObjectId, index: &IndexDefinition) -> Vec<RowValues> {
    let mut keys: Vec<(u8, i32, bool)> = (1..)
        .zip(&index.keys)
        .map(|(ordinal, key)| (ordinal, key.column_id, key.descending))
        .collect();
    // A clustered index lists its columns by column id, others in key order.
    if index.is_base() {
        keys.sort_by_key(|(_, column, _)| *column);
    }
    let keys = keys.into_iter().map(|(ordinal, column, descending)| {
        (ISCOL_KEY | if descending { ISCOL_DESCENDING } else { 0 }, column, ordinal)
    });
    let columns = keys.chain(index.included.iter().map(|column| (ISCOL_INCLUDED, *column, 0)));
    let columns =
        columns.chain(index.added_partition_column().map(|column| (ISCOL_PARTITIONING, column, 0)));
    let row = |(subid, (status, column, ordinal)): (i32, (i32, i32, u8))| {
        let mut row = RowValues::new();
        let partition_ordinal = u8::from(column == index.partition_column);
        row.int(table.0).int(index.id.0).int(subid).int(status).int(column);
        row.tinyint(ordinal).tinyint(partition_ordinal);
        row
    };
    (1..).zip(columns).map(row).collect()
}

/// Rows for a constraint.
pub fn add_child(child: &Child, created: StoredTime, rows: &mut SystemRows) {
    // A default or check counts as enabled by these bits, seen in real databases.
    let (kind, status, int_prop) = match &child.kind {
        ChildKind::PrimaryKey => (b"PK", 0, 0),
        ChildKind::Unique => (b"UQ", 0, 0),
        ChildKind::Default(column, _) => (b"D ", 0x2_0000, *column),
        ChildKind::Check(columns, _) => (b"C ", 0x12_0000, column_of_check(columns)),
        ChildKind::ForeignKey { columns, .. } => {
            (b"F ", 0, columns.first().map_or(0, |(from, _)| *from))
        }
    };
    let object = object_row(
        child.id,
        &child.name,
        child.schema_id,
        status,
        kind,
        child.table,
        int_prop,
        created,
    );
    rows_of(rows, "sysschobjs").push(object);
    match &child.kind {
        ChildKind::PrimaryKey | ChildKind::Unique => {}
        ChildKind::Default(_, text) => {
            rows_of(rows, "sysobjvalues").push(text_row(TEXT, child.id, 0, text))
        }
        ChildKind::Check(columns, text) => {
            rows_of(rows, "sysobjvalues").push(text_row(TEXT, child.id, 0, text));
            let references =
                columns.iter().map(|column| reference_row(1, child.id, 0, child.table, *column));
            rows_of(rows, "sysmultiobjrefs").extend(references);
        }
        ChildKind::ForeignKey { table, index, columns, actions } => {
            add_action(child.id, ReferentialAction::ON_DELETE, actions.on_delete, rows);
            add_action(child.id, ReferentialAction::ON_UPDATE, actions.on_update, rows);
            let references = rows_of(rows, "syssingleobjrefs");
            references.push(reference_row(27, child.id, 0, *table, *index));
            for (ordinal, (from, to)) in (1..).zip(columns) {
                references.push(reference_row(28, child.id, ordinal, child.table, *from));
                references.push(reference_row(29, child.id, ordinal, *table, *to));
            }
        }
    }
}

/// An extended property of a foreign key.
fn add_action(key: ObjectId, name: &str, action: ReferentialAction, rows: &mut SystemRows) {
    if action != ReferentialAction::NoAction {
        let mut row = RowValues::new();
        row.tinyint(OBJECT_CLASS).int(key.0).int(0).ntext(name).raw(&[
            56,
            1,
            action as u8,
            0,
            0,
            0,
        ]);
        rows_of(rows, "sysxprops").push(row);
    }
}

/// The column of a check that is about one only; 0 for others, which belong to the table.
fn column_of_check(columns: &[i32]) -> i32 {
    if let [column] = columns { *column } else { 0 }
}

fn reference_row(class: u8, from: ObjectId, sub: i32, to: ObjectId, to_sub: i32) -> RowValues {
    let mut row = RowValues::new();
    row.tinyint(class).int(from.0).int(sub).int(to.0).int(to_sub).int(0);
    row
}

/// `sysobjvalues.valclass`: text of an object or of one of its columns; of an index (public text of
/// `sys.indexes`).
const TEXT: u8 = 1;
const FILTER_TEXT: u8 = 7;
/// `sysxprops.class` of objects and columns.
const OBJECT_CLASS: u8 = 1;

/// `sysschobjs.nsclass`: whose names an object's is one of. Names of triggers of the database are
/// among themselves; the number of their class is chosen, no file of the product with one was seen.
const NAMES_OF_SCHEMA: u8 = 0;
const NAMES_OF_DATABASE: u8 = 20;
/// `sysschobjs.pclass`: what an object belongs to (`sys.triggers.parent_class`).
const OF_DATABASE: u8 = 0;
const OF_OBJECT: u8 = 1;

/// Text in single bytes, which the variant value 2 says; with other letters than those of ASCII in
/// UTF-16, which 0 says.
fn text_row(class: u8, object: ObjectId, sub: i32, text: &str) -> RowValues {
    let mut row = RowValues::new();
    row.tinyint(class).int(object.0).int(sub).int(0);
    if text.is_ascii() {
        row.raw(&[56, 1, 2, 0, 0, 0]).raw(text.as_bytes());
    } else {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        row.raw(&[56, 1, 0, 0, 0, 0]).raw(&units);
    }
    row
}

/// Rows of `sysrowsets` and `sysrscols` for all tables; `counts`: rows by rowset.
pub fn add_rowsets(
    tables: &[TableDefinition],
    counts: &BTreeMap<HobtId, u64>,
    rows: &mut SystemRows,
) {
    for table in tables {
        for index in table.indexes.iter().flat_map(IndexDefinition::partitions) {
            let count = counts.get(&index.rowset).copied().unwrap_or(0);
            add_rowset(table, &index, count, rows);
        }
    }
}

/// Rows of `sysrowsets` and `sysrscols` for one partition of an index with `count` rows.
pub fn add_rowset(
    table: &TableDefinition,
    index: &IndexDefinition,
    count: u64,
    rows: &mut SystemRows,
) {
    let count = count as i64;
    rows_of(rows, "sysrowsets").push(rowset_row(table, index, count));
    for column in &table.layout(index).row.columns {
        rows_of(rows, "sysrscols").push(physical_row(index.rowset, column, count));
    }
}

/// The longest row of sysobjvalues, as real databases state it, is not the sum of its columns.
const SYSOBJVALUES_MAX_LEAF: u32 = 73_589;

fn rowset_row(table: &TableDefinition, index: &IndexDefinition, count: i64) -> RowValues {
    let layout = table.layout(index);
    let max_leaf =
        if table.id == object::SYSOBJVALUES { SYSOBJVALUES_MAX_LEAF } else { layout.max_leaf };
    let min_interior = if index.hides_min_interior { 0 } else { layout.min_interior };
    let mut row = RowValues::new();
    row.bigint(index.rowset.0).tinyint(1).int(table.id.0).int(index.id.0).int(index.partition);
    row.int(index.rowset_status as i32).smallint(0).bigint(count);
    row.tinyint(compression_level(index.compression))
        .tinyint(0)
        .smallint(layout.max_null_bit as i16)
        .int(max_leaf as i32)
        .smallint(layout.max_interior as i16);
    row.smallint(layout.min_leaf as i16).smallint(min_interior as i16).null().null().int(FRAGMENT);
    row
}

fn compression_level(compression: Compression) -> u8 {
    match compression {
        Compression::None => 0,
        Compression::Row => 1,
        Compression::Page => 2,
        Compression::Other(level) => level,
    }
}

/// The row of a column of a rowset.
pub fn physical_row(rowset: HobtId, column: &PhysicalColumn, count: i64) -> RowValues {
    let pack = |leaf: [u8; 2], interior: [u8; 2]| {
        i32::from_le_bytes([leaf[0], leaf[1], interior[0], interior[1]])
    };
    let ColumnOffset { offset, null_bit, bit } = column.leaf;
    let interior = column.interior;
    let mut row = RowValues::new();
    row.bigint(rowset.0).int(column.column_id).int(column.ordinal).bigint(count);
    row.int(column.ti as i32).int(column.collation_id as i32).smallint(column.key_ordinal);
    row.smallint(column.max_in_row).int(column.status as i32);
    // A variable column that is not in non-leaf rows has 0 there, like a fixed one.
    row.int(pack(offset.to_le_bytes(), interior.offset.to_le_bytes()));
    row.int(pack(null_bit.to_le_bytes(), interior.null_bit.to_le_bytes()));
    row.smallint(i16::from_le_bytes([bit, interior.bit])).null().int(FRAGMENT);
    row
}

/// Where the pages of an allocation unit are, and how many. `PageId::NONE` and 0 of an empty one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitAnchor {
    /// `sysallocunits.pgfirst`: the first page of rows or leaves.
    pub first: PageId,
    /// `sysallocunits.pgroot`: the root of a tree; of a heap, a page of it or none.
    pub root: PageId,
    /// `sysallocunits.pgfirstiam`: the first page of the IAM chain.
    pub first_iam: PageId,
    /// `sysallocunits.pcused`: pages with something on them, those of the IAM included.
    pub used: i64,
    /// `sysallocunits.pcdata`: pages with rows or values.
    pub data: i64,
    /// `sysallocunits.pcreserved`: pages of its extents, used or not.
    pub reserved: i64,
}

/// Rows of `sysallocunits`, once it is known where the pages are.
pub fn unit_rows(
    tables: &[TableDefinition],
    places: &BTreeMap<AllocUnitId, UnitAnchor>,
) -> Vec<RowValues> {
    let indexes =
        tables.iter().flat_map(|table| &table.indexes).flat_map(IndexDefinition::partitions);
    let units = indexes.flat_map(|index| {
        let rowset = index.rowset;
        let group = index.filegroup;
        index.units.into_iter().map(move |unit| (rowset, group, unit))
    });
    units
        .map(|(rowset, group, unit)| {
            let pages = places.get(&unit.id).copied().unwrap_or_default();
            unit_row(rowset, group, unit, &pages)
        })
        .collect()
}

/// The row of one allocation unit.
pub fn unit_row(rowset: HobtId, group: i16, unit: UnitDefinition, pages: &UnitAnchor) -> RowValues {
    let kind = match unit.kind {
        AllocUnitKind::InRow => 1,
        AllocUnitKind::Lob => 2,
        AllocUnitKind::RowOverflow => 3,
        AllocUnitKind::Other(kind) => kind,
    };
    let mut row = RowValues::new();
    row.bigint(unit.id.0).tinyint(kind).bigint(rowset.0).int(0).smallint(group);
    row.raw(&pages.first.to_bytes()).raw(&pages.root.to_bytes()).raw(&pages.first_iam.to_bytes());
    row.bigint(pages.used).bigint(pages.data).bigint(pages.reserved).int(FRAGMENT);
    row
}
