//! A user table: its columns, the heap that holds its rows, and the indexes that lead to them.

use std::borrow::Cow;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, RwLock, read, write};
use extentdb_catalog::layout::{Cell, RowLayout};
use extentdb_catalog::model::{AllocUnitKind, Catalog, IndexKind};
use extentdb_catalog::table::values::RowValues;
use extentdb_catalog::table::{RowsetLayout, Source};
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::{Heap, HeapShape, Placement};
use extentdb_space::{Space, Unit};
use extentdb_types::{Datum, SqlType};

use crate::catalogue::Units;
use crate::ddl::ColumnSpec;
use crate::error::Error;
use crate::identity::Identity;
use crate::index::{Index, definition_of};
use crate::system_table::cells_of;

/// A column of a user table.
#[derive(Clone, Debug)]
pub(crate) struct TableColumn {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) ty: SqlType,
    pub(crate) nullable: bool,
    /// The expression of its default, as the catalogue keeps it.
    pub(crate) default: Option<String>,
    /// Where it is in a record's columns.
    pub(crate) at: usize,
}

/// A user table whose rows lie in a heap.
#[derive(Debug)]
pub struct Table {
    id: ObjectId,
    schema: String,
    name: String,
    columns: Vec<TableColumn>,
    shape: RowShape,
    /// Replaced by TRUNCATE, CREATE INDEX and DROP INDEX.
    storage: RwLock<Arc<Storage>>,
    identity: Option<Identity>,
    /// Why its rows are only read here.
    read_only: Option<String>,
}

/// Where the rows of a table lie.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) heap: Arc<Heap>,
    /// By id.
    pub(crate) indexes: Vec<Arc<Index>>,
}

impl Storage {
    /// The units of the heap and of all indexes.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        std::iter::once(self.heap.unit()).chain(self.indexes.iter().map(|index| index.tree().unit()))
    }
}

impl Table {
    /// The table as the catalogue has it. `None` when its rows are not in one plain heap: such a table is read and checked by
    /// other means, and not written here. With an index that cannot be kept true it is read only.
    pub(crate) fn open(
        table: &extentdb_catalog::model::Table,
        catalog: &Catalog,
        space: &Arc<Space>,
        units: &Units,
        placement: Placement,
    ) -> Result<Option<Table>, Error> {
        let is_plain = table.indexes.first().is_some_and(|first| first.kind == IndexKind::Heap);
        let Some(rowset) = table.base().and_then(|base| catalog.rowsets_of(base).next()) else {
            return Ok(None);
        };
        let has_lob = table.columns.iter().any(|column| column.computed.is_some());
        if !is_plain || has_lob || table.indexes[0].rowsets.len() != 1 {
            return Ok(None);
        }
        let Ok(shape) = RowShape::of_rowset(rowset) else { return Ok(None) };
        let Some(unit) = rowset.unit(AllocUnitKind::InRow).and_then(|unit| units.get(unit.id)) else {
            return Ok(None);
        };
        let mut columns = Vec::new();
        for column in &table.columns {
            let at = rowset.layout.columns.iter().position(|physical| physical.column_id == column.id);
            let (Some(at), Some(ty)) = (at, column.ty) else { return Ok(None) };
            let constraint =
                catalog.defaults.iter().find(|default| default.object.id == column.default_object);
            let default = constraint.filter(|_| column.default_object.0 != 0);
            columns.push(TableColumn {
                id: column.id,
                name: column.name.clone(),
                ty,
                nullable: column.nullable,
                // A default whose text cannot be read is one that cannot be evaluated.
                default: default.map(|default| default.definition.clone().unwrap_or_default()),
                at,
            });
        }
        let identity = table.columns.iter().find_map(Identity::of);
        let heap = Heap::new(space.clone(), unit, heap_shape(&rowset.layout, &shape), placement);
        let definition = definition_of(table.id, &table.name, &columns);
        let (mut indexes, mut read_only) = (Vec::new(), None);
        for index in table.indexes.iter().skip(1) {
            match Index::open(&definition, &columns, index, catalog, (space, units)) {
                Ok(index) => indexes.extend(index.map(Arc::new)),
                Err(why) => read_only = Some(why),
            }
        }
        Ok(Some(Table {
            id: table.id,
            schema: table.schema.clone(),
            name: table.name.clone(),
            columns,
            shape,
            storage: RwLock::new(Arc::new(Storage { heap: Arc::new(heap), indexes })),
            identity,
            read_only,
        }))
    }

    /// A table that has just been made.
    pub(crate) fn new(
        (id, schema, name): (ObjectId, String, String),
        columns: &[ColumnSpec],
        layout: &RowsetLayout,
        heap: impl FnOnce(HeapShape) -> Heap,
    ) -> Result<Table, Error> {
        let shape = RowShape::of_layout(layout, true)?;
        let columns = (1..).zip(columns).map(|(id, column)| TableColumn {
            id,
            name: column.name.clone(),
            ty: column.ty,
            nullable: column.nullable,
            default: column.default.as_ref().map(|(_, text)| text.clone()),
            at: layout.sources.iter().position(|source| *source == Source::Column(id)).unwrap_or(0),
        });
        let columns = columns.collect();
        let heap = Arc::new(heap(heap_shape(&layout.row, &shape)));
        let storage = RwLock::new(Arc::new(Storage { heap, indexes: Vec::new() }));
        Ok(Table { id, schema, name, columns, shape, storage, identity: None, read_only: None })
    }

    /// The same with an identity column.
    pub(crate) fn with_identity(self, identity: Option<Identity>) -> Table {
        Table { identity, ..self }
    }

    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Object id.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Schema.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn table_columns(&self) -> &[TableColumn] {
        &self.columns
    }

    /// Names and types of the columns, in order.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, SqlType)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.ty))
    }

    /// Where its rows are.
    pub fn heap(&self) -> Arc<Heap> {
        read(&self.storage).heap.clone()
    }

    pub(crate) fn storage(&self) -> Arc<Storage> {
        read(&self.storage).clone()
    }

    pub(crate) fn set_storage(&self, storage: Arc<Storage>) {
        *write(&self.storage) = storage;
    }

    /// Names of its indexes.
    pub fn indexes(&self) -> Vec<String> {
        self.storage().indexes.iter().map(|index| index.name().to_owned()).collect()
    }

    /// An index by its name.
    pub(crate) fn index(&self, name: &str) -> Result<Arc<Index>, Error> {
        let storage = self.storage();
        let found = storage.indexes.iter().find(|index| index.name().eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| Error::NoIndex { table: self.name.clone(), name: name.to_owned() })
    }

    /// Refuses a table whose rows are only read here.
    pub(crate) fn verify_writable(&self) -> Result<(), Error> {
        match &self.read_only {
            None => Ok(()),
            Some(why) => {
                Err(Error::NotSupported { what: format!("changes of table {}, which has {why}", self.name) })
            }
        }
    }

    /// The cells of a record, as its rowset has them.
    pub(crate) fn cells<'r>(&self, record: &'r [u8]) -> Result<Vec<Cell<'r>>, Error> {
        Ok(self.shape.decode(record)?)
    }

    /// Rows, those of open transactions counted as if they were to commit.
    pub fn row_count(&self) -> i64 {
        self.heap().unit().counts().0.rows
    }

    /// A record from values in column order.
    pub(crate) fn record(&self, values: &[Datum<'_>]) -> Result<Vec<u8>, Error> {
        if values.len() != self.columns.len() {
            return Err(Error::Columns { expected: self.columns.len(), found: values.len() });
        }
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, value) in self.columns.iter().zip(values) {
            cells[column.at] = column.cell(value)?;
        }
        Ok(self.shape.leaf_record(&cells)?)
    }

    /// A record from the row of a system table.
    pub(crate) fn record_of(&self, row: &RowValues) -> Result<Vec<u8>, Error> {
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, cell) in self.columns.iter().zip(cells_of(row, self.columns.len())) {
            cells[column.at] = cell;
        }
        Ok(self.shape.leaf_record(&cells)?)
    }

    /// The values of a record, in column order.
    pub(crate) fn values(&self, record: &[u8]) -> Result<Vec<Datum<'static>>, Error> {
        let cells = self.shape.decode(record)?;
        self.columns.iter().map(|column| column.value(cells.get(column.at))).collect()
    }
}

impl TableColumn {
    fn refused(&self, what: impl Into<String>) -> Error {
        Error::Value { column: self.name.clone(), what: what.into() }
    }

    pub(crate) fn cell(&self, value: &Datum<'_>) -> Result<Cell<'static>, Error> {
        match value {
            Datum::Null if self.nullable => Ok(Cell::Null),
            Datum::Null => Err(self.refused("it takes no NULL")),
            Datum::Bit(bit) if self.ty.is_bit() => Ok(Cell::Bit(*bit)),
            value => {
                let mut bytes = Vec::new();
                value.encode(&self.ty, &mut bytes).map_err(|error| self.refused(error.to_string()))?;
                Ok(Cell::Bytes(Cow::Owned(bytes)))
            }
        }
    }

    pub(crate) fn value(&self, cell: Option<&Cell<'_>>) -> Result<Datum<'static>, Error> {
        match cell {
            None | Some(Cell::Null | Cell::Missing) => Ok(Datum::Null),
            Some(Cell::Bit(bit)) => Ok(Datum::Bit(*bit)),
            Some(Cell::Bytes(bytes)) => {
                let value =
                    Datum::decode(&self.ty, bytes).map_err(|error| self.refused(error.to_string()))?;
                Ok(value.into_owned())
            }
            Some(Cell::Complex(_)) => Err(self.refused("its value lies off the row")),
        }
    }
}

/// What moving a record needs to know about it.
fn heap_shape(layout: &RowLayout, shape: &RowShape) -> HeapShape {
    let variable = layout.columns.iter().filter(|column| column.leaf.offset < 0).count();
    let pminlen = shape.pminlen(extentdb_catalog::layout::Level::Leaf);
    HeapShape { pminlen, variable_columns: variable as u16 }
}
