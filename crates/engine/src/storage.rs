//! What a table is at one moment: its columns, how its rows are laid out, where they lie, and the indexes that lead to them.
//!
//! DDL puts another one in its place, whole, while nobody else uses the table; a statement asks for it once.

use extentdb_base::sync::Arc;
use extentdb_base::{HobtId, Lsn};
use extentdb_catalog::layout::{Cell, Level, RowLayout};
use extentdb_catalog::table::values::RowValues;
use extentdb_rowset::heap::{Heap, HeapShape};
use extentdb_rowset::{RowShape, Tree};
use extentdb_space::Unit;
use extentdb_types::Datum;

use crate::address::Address;
use crate::column::TableColumn;
use crate::constraint::Constraints;
use crate::error::Error;
use crate::identity::Identity;
use crate::index::Index;
use crate::system_table::cells_of;

/// What a table is at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) shape: RowShape,
    pub(crate) base: Base,
    /// The nonclustered ones, by id.
    pub(crate) indexes: Vec<Arc<Index>>,
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) constraints: Constraints,
    /// Why its rows are only read here.
    pub(crate) read_only: Option<String>,
}

/// Where the rows of a table lie.
#[derive(Clone, Debug)]
pub(crate) enum Base {
    Heap(Arc<Heap>),
    /// The clustered index.
    Clustered(Arc<Index>),
}

impl Base {
    pub(crate) fn unit(&self) -> &Arc<Unit> {
        match self {
            Base::Heap(heap) => heap.unit(),
            Base::Clustered(index) => index.tree().unit(),
        }
    }

    pub(crate) fn hobt(&self) -> HobtId {
        self.unit().hobt()
    }

    pub(crate) fn heap(&self) -> Option<&Arc<Heap>> {
        if let Base::Heap(heap) = self { Some(heap) } else { None }
    }

    pub(crate) fn clustered(&self) -> Option<&Arc<Index>> {
        if let Base::Clustered(index) = self { Some(index) } else { None }
    }
}

impl Storage {
    /// The clustered index, when there is one, and the others.
    pub(crate) fn all_indexes(&self) -> impl Iterator<Item = &Arc<Index>> {
        self.base.clustered().into_iter().chain(&self.indexes)
    }

    /// An index by its name.
    pub(crate) fn index(&self, name: &str) -> Option<&Arc<Index>> {
        self.all_indexes().find(|index| index.name().eq_ignore_ascii_case(name))
    }

    /// The units of the rows and of all indexes.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        std::iter::once(self.base.unit()).chain(self.indexes.iter().map(|index| index.tree().unit()))
    }

    /// All trees of the table.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.all_indexes().map(|index| index.tree())
    }

    /// The cells of a record, as its rowset has them.
    pub(crate) fn cells<'r>(&self, record: &'r [u8]) -> Result<Vec<Cell<'r>>, Error> {
        Ok(self.shape.decode(record)?)
    }

    /// The cells of a row from values in column order. A uniquifier is left open.
    pub(crate) fn cells_of(&self, values: &[Datum<'_>]) -> Result<Vec<Cell<'static>>, Error> {
        if values.len() != self.columns.len() {
            return Err(Error::Columns { expected: self.columns.len(), found: values.len() });
        }
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, value) in self.columns.iter().zip(values) {
            cells[column.at] = column.cell(value)?;
        }
        Ok(cells)
    }

    /// Cells of a row by the ids of their columns; NULL for one that is not there.
    pub(crate) fn cells_by_id<'c>(&self, ids: &[i32], row: &[Cell<'c>]) -> Vec<Cell<'c>> {
        let cell = |id: &i32| {
            let at = self.columns.iter().find(|column| column.id == *id).map(|column| column.at);
            at.and_then(|at| row.get(at)).cloned().unwrap_or(Cell::Null)
        };
        ids.iter().map(cell).collect()
    }

    /// The cells of a row from the row of a system table.
    pub(crate) fn cells_of_system(&self, row: &RowValues) -> Vec<Cell<'static>> {
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, cell) in self.columns.iter().zip(cells_of(row, self.columns.len())) {
            cells[column.at] = cell;
        }
        cells
    }

    /// The values of a record, in column order.
    pub(crate) fn values(&self, record: &[u8]) -> Result<Vec<Datum<'static>>, Error> {
        self.values_of(&self.shape.decode(record)?)
    }

    /// The values of the cells of a row, in column order.
    pub(crate) fn values_of(&self, cells: &[Cell<'_>]) -> Result<Vec<Datum<'static>>, Error> {
        self.columns.iter().map(|column| column.value(cells.get(column.at))).collect()
    }

    /// The address of a row in a clustered table, by its cells.
    pub(crate) fn key_address(&self, cells: &[Cell<'_>]) -> Result<Address, Error> {
        Ok(Address::Key(self.shape.key_of_cells(cells)?.into()))
    }

    /// The record of the row at an address, when no transaction that is open can have changed it.
    pub(crate) fn settled_row_at(
        &self,
        at: &Address,
        oldest_open: impl Fn() -> Option<Lsn>,
    ) -> Result<Option<Vec<u8>>, Error> {
        match (&self.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => Ok(heap.settled(*rid, oldest_open)?),
            (Base::Clustered(index), Address::Key(key)) => {
                Ok(index.tree().find_settled(key, oldest_open)?.map(|row| row.bytes))
            }
            _ => Ok(None),
        }
    }

    /// The record of the row at an address, as it is now.
    pub(crate) fn row_at(&self, at: &Address) -> Result<Option<Vec<u8>>, Error> {
        match (&self.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => Ok(heap.get(*rid)?),
            (Base::Clustered(index), Address::Key(key)) => {
                Ok(index.tree().find_key(key)?.map(|row| row.bytes))
            }
            // An address from before the table got another base.
            _ => Ok(None),
        }
    }
}

/// What moving a record of a heap needs to know about it.
pub(crate) fn heap_shape(layout: &RowLayout, shape: &RowShape) -> HeapShape {
    let variable = layout.columns.iter().filter(|column| column.leaf.offset < 0).count();
    HeapShape { pminlen: shape.pminlen(Level::Leaf), variable_columns: variable as u16 }
}
