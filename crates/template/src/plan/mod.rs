//! Assigns ids to user tables: objects, rowsets, allocation units.
//!
//! ```text
//! object ids           2105058535, then + 16000057 modulo 2^31, as 2008 R2 assigns them
//! rowset ids           1 << 56 | n << 16, n from 13
//! allocation unit ids  1 << 56 | n << 16, n from 29
//! ```
//!
//! The numbers below were used by the internal tables of the template.

pub(crate) mod index;
pub(crate) mod members;

use extentdb_base::{AllocUnitId, HobtId, IndexId, ObjectId};
use extentdb_catalog::model::{AllocUnitKind, IndexKind, ObjectType};
use extentdb_catalog::table::definition::{index_status, rowset_status};
use extentdb_catalog::table::{
    ColumnDefinition, ColumnHistory, Computed, IndexDefinition, KeyColumn, TableDefinition,
    UnitDefinition,
};
use extentdb_types::{SqlType, UdtKind};

use crate::Error;
use crate::file::allocation::PRIMARY;
use crate::plan::index::{IndexPlan, place_indexes, verify_computed};
use crate::spec::alteration::History;
use crate::spec::data_space::DataSpaces;
use crate::spec::{ColumnSpec, Constraint, ForeignKeySpec, IndexSpec, TableSpec};
use crate::unit::tree::RECORD_BYTES_MAX;
use extentdb_catalog::table::describe::{Child, ChildKind};

const FIRST_OBJECT_ID: i32 = 2_105_058_535;
const OBJECT_ID_STEP: i64 = 16_000_057;
const FIRST_ROWSET: i64 = 13;
const FIRST_UNIT: i64 = 29;
const USER_ID_BASE: i64 = 1 << 56;
const DBO: i32 = 1;
/// `sysschobjs.status` of user tables.
const TABLE_STATUS: u32 = 0xe_0000;

/// A table with its ids.
pub(crate) struct PlannedTable<'a> {
    pub(crate) definition: TableDefinition,
    /// The plan of each of its indexes.
    pub(crate) indexes: Vec<IndexPlan>,
    pub(crate) spec: &'a TableSpec,
    pub(crate) history: History<'a>,
}

/// All tables with their ids.
pub(crate) struct Plan<'a> {
    pub(crate) tables: Vec<PlannedTable<'a>>,
    pub(crate) children: Vec<Child>,
    pub(crate) next_object_id: i32,
    pub(crate) next_unit: u64,
}

impl Plan<'_> {
    /// Entries of all heaps and indexes.
    pub(crate) fn entries(&self) -> u64 {
        let entries = |table: &PlannedTable<'_>| {
            table.spec.rows.count() * table.definition.indexes.len() as u64
        };
        self.tables.iter().map(entries).sum()
    }
}

pub(crate) struct Ids {
    object: i32,
    rowset: i64,
    unit: i64,
}

impl Ids {
    fn object(&mut self) -> ObjectId {
        let id = self.object;
        self.object = ((i64::from(id) + OBJECT_ID_STEP) % (1 << 31)) as i32;
        ObjectId(id)
    }

    pub(crate) fn rowset(&mut self) -> HobtId {
        self.rowset += 1;
        HobtId(USER_ID_BASE | (self.rowset - 1) << 16)
    }

    pub(crate) fn unit(&mut self, kind: AllocUnitKind) -> UnitDefinition {
        self.unit += 1;
        UnitDefinition { kind, id: AllocUnitId(USER_ID_BASE | (self.unit - 1) << 16) }
    }
}

/// Plans the tables in the order given.
pub(crate) fn plan<'a>(
    specs: &'a [TableSpec],
    spaces: &DataSpaces<'_>,
    seed: u64,
) -> Result<Plan<'a>, Error> {
    let mut ids = Ids {
        object: FIRST_OBJECT_ID,
        rowset: FIRST_ROWSET,
        unit: FIRST_UNIT,
    };
    let mut tables = Vec::new();
    let mut children = Vec::new();
    for spec in specs {
        let mut definition = plan_table(spec, &mut ids, &mut children)?;
        let indexes = place_indexes(spec, &mut definition, spaces, &mut ids, seed)?;
        for check in &spec.checks {
            let column = column_id(&definition, &check.column)?;
            let kind = ChildKind::Check(vec![column], check.expression.clone());
            children.push(child(ids.object(), &check.name, kind, &definition));
        }
        for key in &spec.foreign_keys {
            let kind = plan_foreign_key(key, &definition, &tables)?;
            children.push(child(ids.object(), &key.name, kind, &definition));
        }
        tables.push(PlannedTable { definition, indexes, spec, history: History::of(spec)? });
    }
    let next_unit = ((USER_ID_BASE >> 16) + ids.unit) as u64;
    Ok(Plan { tables, children, next_object_id: ids.object, next_unit })
}

fn child(id: ObjectId, name: &str, kind: ChildKind, table: &TableDefinition) -> Child {
    Child {
        id,
        name: name.to_owned(),
        kind,
        table: table.id,
        schema_id: table.schema_id,
    }
}

fn plan_table(
    spec: &TableSpec,
    ids: &mut Ids,
    children: &mut Vec<Child>,
) -> Result<TableDefinition, Error> {
    let id = ids.object();
    let mut definition = TableDefinition {
        id,
        name: checked_name(&spec.name)?,
        schema_id: DBO,
        kind: ObjectType::USER_TABLE,
        status: TABLE_STATUS,
        parent: ObjectId(0),
        columns: Vec::new(),
        indexes: Vec::new(),
    };
    let indexes = spec.clustered.iter().chain(&spec.indexes);
    for index in indexes.filter(|index| index.constraint != Constraint::None) {
        let kind = match index.constraint {
            Constraint::PrimaryKey => ChildKind::PrimaryKey,
            _ => ChildKind::Unique,
        };
        children.push(child(ids.object(), &index.name, kind, &definition));
    }
    for (column_id, column) in (1..).zip(&spec.columns) {
        let mut planned = plan_column(column, spec.rows.count())?;
        if let Some(dropped) = &column.replaces {
            planned.history.replaces = Some(dropped_column_id(spec, dropped)?);
        }
        if let Some((name, expression)) = &column.default {
            planned.default_object = ids.object();
            let kind = ChildKind::Default(column_id, expression.clone());
            children.push(child(planned.default_object, name, kind, &definition));
        }
        definition.columns.push(planned);
    }
    verify_computed(&definition, spec.clustered.as_ref())?;
    plan_indexes(spec, &mut definition, ids)?;
    Ok(definition)
}

fn checked_name(name: &str) -> Result<String, Error> {
    match name.encode_utf16().count() {
        1..=128 => Ok(name.to_owned()),
        _ => Err(Error::NameTooLong { name: name.to_owned() }),
    }
}

/// The id of the dropped column that another one replaces.
fn dropped_column_id(spec: &TableSpec, name: &str) -> Result<i32, Error> {
    let is_it = |column: &ColumnSpec| column.name == name && column.dropped_at.is_some();
    let found = (1..).zip(&spec.columns).find(|(_, column)| is_it(column)).map(|(id, _)| id);
    found.ok_or_else(|| Error::NoColumn { table: spec.name.clone(), column: name.to_owned() })
}

fn plan_column(spec: &ColumnSpec, rows: u64) -> Result<ColumnDefinition, Error> {
    let identity = match spec.identity {
        Some((seed, increment)) => Some(identity_value(seed, increment, rows)?),
        None => None,
    };
    Ok(ColumnDefinition {
        name: checked_name(&spec.name)?,
        ty: spec.ty,
        user_type: user_type(&spec.ty),
        nullable: spec.nullable,
        stored_nullable: spec.nullable,
        identity,
        default_object: ObjectId(0),
        computed: spec.computed.clone().map(|(text, persisted)| Computed { text, persisted }),
        row_guid: false,
        history: ColumnHistory {
            dropped: spec.dropped_at.is_some(),
            gone: false,
            has_stored_default: spec.added.as_ref().is_some_and(|added| added.value.is_some()),
            replaces: None,
        },
    })
}

/// The type's own id: its code, but for the CLR types, which share one.
fn user_type(ty: &SqlType) -> i32 {
    match ty {
        SqlType::Udt { kind: UdtKind::HierarchyId, .. } => 128,
        SqlType::Udt { kind: UdtKind::Geometry, .. } => 129,
        SqlType::Udt { kind: UdtKind::Geography, .. } => 130,
        _ => i32::from(ty.xtype()),
    }
}

/// `idtval`: last value, increment, seed, and a flag byte that is 1 as long as there was no row.
fn identity_value(seed: i32, increment: i32, rows: u64) -> Result<Vec<u8>, Error> {
    let steps = i64::try_from(rows.saturating_sub(1)).map_err(|_| Error::TooManyRows { rows })?;
    let last = steps.checked_mul(increment.into()).and_then(|way| way.checked_add(seed.into()));
    let last = last.and_then(|last| i32::try_from(last).ok()).ok_or(Error::TooManyRows { rows })?;
    let mut value: Vec<u8> =
        [last, increment, seed].iter().flat_map(|number| number.to_le_bytes()).collect();
    value.push(u8::from(rows == 0));
    Ok(value)
}

fn plan_indexes(
    spec: &TableSpec,
    definition: &mut TableDefinition,
    ids: &mut Ids,
) -> Result<(), Error> {
    let mut planned = Vec::new();
    planned.push(match &spec.clustered {
        Some(index) => {
            let index = plan_index(index, IndexKind::Clustered, 1, definition, ids)?;
            IndexDefinition { compression: spec.compression, ..index }
        }
        None => plan_heap(spec, ids),
    });
    for (id, index) in (2..).zip(&spec.indexes) {
        planned.push(plan_index(index, IndexKind::Nonclustered, id, definition, ids)?);
    }
    definition.indexes = planned;
    for at in 0..definition.indexes.len() {
        let layout = definition.layout(&definition.indexes[at]);
        let is_lob = |column: &ColumnDefinition| {
            column.is_stored() && (column.ty.is_max() || column.ty.is_lob())
        };
        let has_lob = at == 0 && definition.columns.iter().any(is_lob);
        let index = &mut definition.indexes[at];
        if layout.has_nullable_key {
            index.rowset_status |= rowset_status::NULLABLE_KEY;
        }
        index.units.push(ids.unit(AllocUnitKind::InRow));
        if has_lob {
            index.units.push(ids.unit(AllocUnitKind::Lob));
        }
        if at == 0 && layout.max_leaf > RECORD_BYTES_MAX as u32 {
            index.units.push(ids.unit(AllocUnitKind::RowOverflow));
        }
    }
    Ok(())
}

fn plan_heap(spec: &TableSpec, ids: &mut Ids) -> IndexDefinition {
    IndexDefinition {
        id: IndexId(0),
        name: None,
        kind: IndexKind::Heap,
        keys: Vec::new(),
        included: Vec::new(),
        status: index_status::HAS_ROWSET,
        data_space: PRIMARY.into(),
        filegroup: PRIMARY,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: None,
        rowset: ids.rowset(),
        rowset_status: rowset_status::USUAL | rowset_status::TABLE,
        compression: spec.compression,
        fill_factor: 0,
        hides_min_interior: false,
        units: Vec::new(),
    }
}

fn plan_index(
    spec: &IndexSpec,
    kind: IndexKind,
    id: i32,
    table: &TableDefinition,
    ids: &mut Ids,
) -> Result<IndexDefinition, Error> {
    let keys = spec.columns.iter().map(|(name, descending)| {
        Ok(KeyColumn { column_id: column_id(table, name)?, descending: *descending })
    });
    let mut status = index_status::HAS_ROWSET | index_status::HAS_STATISTICS;
    let mut on_rowset = rowset_status::USUAL;
    if spec.unique {
        status |= index_status::UNIQUE;
        on_rowset |= rowset_status::UNIQUE;
    }
    status |= match spec.constraint {
        Constraint::None => 0,
        Constraint::PrimaryKey => index_status::PRIMARY_KEY,
        Constraint::Unique => index_status::UNIQUE_CONSTRAINT,
    };
    if spec.filter.is_some() {
        status |= index_status::FILTERED;
    }
    if kind == IndexKind::Clustered {
        on_rowset |= rowset_status::TABLE;
    }
    Ok(IndexDefinition {
        id: IndexId(id),
        name: Some(checked_name(&spec.name)?),
        kind,
        keys: keys.collect::<Result<_, Error>>()?,
        included: spec
            .included
            .iter()
            .map(|name| column_id(table, name))
            .collect::<Result<_, Error>>()?,
        status,
        data_space: PRIMARY.into(),
        filegroup: PRIMARY,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: spec.filter.as_ref().map(|filter| filter.text.clone()),
        rowset: ids.rowset(),
        rowset_status: on_rowset,
        compression: spec.compression,
        fill_factor: 0,
        hides_min_interior: false,
        units: Vec::new(),
    })
}

pub(crate) fn column_id(table: &TableDefinition, name: &str) -> Result<i32, Error> {
    let error = || Error::NoColumn { table: table.name.clone(), column: name.to_owned() };
    let id = table.column_id(name).ok_or_else(error)?;
    let is_dropped = table.column(id).is_some_and(|column| column.history.dropped);
    if is_dropped { Err(error()) } else { Ok(id) }
}

fn plan_foreign_key(
    spec: &ForeignKeySpec,
    from: &TableDefinition,
    tables: &[PlannedTable<'_>],
) -> Result<ChildKind, Error> {
    let missing = || Error::NoReferencedKey { name: spec.name.clone(), table: spec.table.clone() };
    let to = tables.iter().map(|table| &table.definition).find(|table| table.name == spec.table);
    let to = to.ok_or_else(missing)?;
    let mut columns = Vec::new();
    for (referencing, referenced) in &spec.columns {
        columns.push((column_id(from, referencing)?, column_id(to, referenced)?));
    }
    let is_on_key = |index: &&IndexDefinition| {
        index.is_unique()
            && index.keys.iter().map(|key| key.column_id).eq(columns.iter().map(|(_, to)| *to))
    };
    let index = to.indexes.iter().find(is_on_key).ok_or_else(missing)?;
    Ok(ChildKind::ForeignKey {
        table: to.id,
        index: index.id.0,
        columns,
        actions: Default::default(),
    })
}
