//! What a table is at one moment: its columns, how its rows are laid out, where they lie, and the
//! indexes that lead to them.
//!
//! DDL replaces it as a whole while no other session uses the table; a statement asks for it once.

use std::borrow::Cow;

use extentdb_base::sync::Arc;
use extentdb_base::{HobtId, Lsn, ObjectId};
use extentdb_catalog::layout::{Cell, Level, RowLayout};
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::table::values::RowValues;
use extentdb_catalog::table::{ColumnDefinition, IndexDefinition, TableDefinition};
use extentdb_rowset::heap::{Heap, HeapShape};
use extentdb_rowset::{RowShape, Tree};
use extentdb_space::Unit;
use extentdb_types::Datum;

use crate::catalog::address::Address;
use crate::catalog::column::TableColumn;
use crate::catalog::constraint::Constraints;
use crate::catalog::identity::Identity;
use crate::catalog::index::Index;
use crate::catalog::system_table::{cells_of, owned};
use crate::error::Error;

/// What a table is at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) shape: RowShape,
    pub(crate) base: Base,
    /// The nonclustered ones, by id.
    pub(crate) indexes: Vec<Arc<Index>>,
    /// Disabled ones: the catalog has their definitions, and they are not maintained.
    pub(crate) disabled: Vec<Arc<IndexDefinition>>,
    pub(crate) identity: Option<Arc<Identity>>,
    pub(crate) constraints: Constraints,
    /// What would run when rows change: they are only read here.
    pub(crate) triggers: Vec<Trigger>,
    /// Why its rows and its definition are only read here.
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

    /// Where the uniquifier is in a row.
    pub(crate) fn uniquifier(&self) -> Option<usize> {
        self.clustered().and_then(|index| index.uniquifier())
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

    /// An index that is disabled by its name.
    pub(crate) fn disabled(&self, name: &str) -> Option<&Arc<IndexDefinition>> {
        let is_it = |own: &str| own.eq_ignore_ascii_case(name);
        self.disabled.iter().find(|index| index.name.as_deref().is_some_and(is_it))
    }

    /// The units of the rows and of all indexes.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        std::iter::once(self.base.unit())
            .chain(self.indexes.iter().map(|index| index.tree().unit()))
    }

    /// All trees of the table.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.all_indexes().map(|index| index.tree())
    }

    /// The cells of the row that a record is.
    pub(crate) fn cells<'r>(&self, record: &'r [u8]) -> Result<Vec<Cell<'r>>, Error> {
        let mut cells = self.shape.decode(record)?;
        self.compute_unstored(&mut cells);
        Ok(cells)
    }

    /// The part of a row that its record has.
    pub(crate) fn stored<'c, 'r>(&self, row: &'c [Cell<'r>]) -> &'c [Cell<'r>] {
        &row[..row.len().min(self.shape.layout().columns.len())]
    }

    /// The cells of a row from values in column order, NULL for those that are computed. A
    /// uniquifier is left open.
    pub(crate) fn cells_of(&self, values: &[Datum<'_>]) -> Result<Vec<Cell<'static>>, Error> {
        if values.len() != self.columns.len() {
            return Err(Error::Columns { expected: self.columns.len(), found: values.len() });
        }
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, value) in self.columns.iter().zip(values) {
            match &column.formula {
                None => cells[column.at] = column.cell(value)?,
                Some(_) if matches!(value, Datum::Null) => {}
                Some(_) => return Err(column.refused("it is computed, and takes no value")),
            }
        }
        self.compute(&mut cells)?;
        Ok(cells)
    }

    /// Computes what is computed in a row.
    pub(crate) fn compute(&self, cells: &mut Vec<Cell<'_>>) -> Result<(), Error> {
        cells.truncate(self.shape.layout().columns.len());
        for column in self.columns.iter().filter(|column| column.is_stored()) {
            if let Some(formula) = &column.formula {
                cells[column.at] = formula.evaluate(column, &self.columns, cells)?;
            }
        }
        self.compute_unstored(cells);
        Ok(())
    }

    /// Adds the cells of columns that are computed and not stored. One that has no value is left
    /// missing: only statements that need the value fail.
    fn compute_unstored(&self, cells: &mut Vec<Cell<'_>>) {
        for column in self.columns.iter().filter(|column| !column.is_stored()) {
            let value = self.computed(column, cells);
            if cells.len() <= column.at {
                cells.resize(column.at + 1, Cell::Missing);
            }
            cells[column.at] = value.unwrap_or(Cell::Missing);
        }
    }

    /// The value of a computed column in a row.
    pub(crate) fn computed(
        &self,
        column: &TableColumn,
        row: &[Cell<'_>],
    ) -> Result<Cell<'static>, Error> {
        match &column.formula {
            Some(formula) => formula.evaluate(column, &self.columns, row),
            None => Err(column.refused("it is not computed")),
        }
    }

    /// The row of another storage of the same table as a row of this one, by the ids of its
    /// columns.
    pub(crate) fn adopt(
        &self,
        other: &Storage,
        row: Vec<Cell<'_>>,
    ) -> Result<Vec<Cell<'static>>, Error> {
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for column in self.columns.iter().filter(|column| column.is_stored()) {
            let own = other.columns.iter().find(|own| own.id == column.id);
            if let Some(cell) =
                own.and_then(|own| row.get(own.at)).filter(|cell| **cell != Cell::Missing)
            {
                cells[column.at] = owned(cell.clone());
            }
        }
        if let (Some(at), Some(was)) = (self.base.uniquifier(), other.base.uniquifier()) {
            cells[at] = match row.get(was) {
                Some(cell @ Cell::Bytes(_)) => owned(cell.clone()),
                _ => Cell::Bytes(Cow::Borrowed(&[])),
            };
        }
        self.compute_unstored(&mut cells);
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
        self.values_of(&self.cells(record)?)
    }

    /// The values of the cells of a row, in column order.
    pub(crate) fn values_of(&self, cells: &[Cell<'_>]) -> Result<Vec<Datum<'static>>, Error> {
        let value = |column: &TableColumn| match cells.get(column.at) {
            Some(Cell::Missing) if !column.is_stored() => {
                // It had no value before: this says why.
                column.value(Some(&self.computed(column, cells)?))
            }
            cell => column.value(cell),
        };
        self.columns.iter().map(value).collect()
    }

    /// The address of a row in a clustered table, by its cells.
    pub(crate) fn key_address(&self, cells: &[Cell<'_>]) -> Result<Address, Error> {
        Ok(Address::Key(self.shape.key_of_cells(self.stored(cells))?.into()))
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
                Ok(index.find_key(key)?.map(|row| row.bytes))
            }
            // An address from before the table got another base.
            _ => Ok(None),
        }
    }
}

/// What moving a record of a heap needs to know about it.
pub(crate) fn heap_shape(layout: &RowLayout, shape: &RowShape) -> HeapShape {
    let variable = layout.columns.iter().filter(|column| column.leaf.offset < 0).count();
    HeapShape {
        pminlen: shape.pminlen(Level::Leaf),
        variable_columns: variable as u16,
    }
}

/// A table by its columns and its clustered index, as far as the layout of indexes needs it.
pub(crate) fn definition_of(id: ObjectId, name: &str, storage: &Storage) -> TableDefinition {
    let columns = &storage.columns;
    let last = columns.iter().map(|column| column.id).max().unwrap_or(0);
    let column = |id: i32| match columns.iter().find(|column| column.id == id) {
        Some(column) => column.definition(),
        None => ColumnDefinition::dropped(),
    };
    TableDefinition {
        id,
        name: name.to_owned(),
        schema_id: 0,
        kind: ObjectType::USER_TABLE,
        status: 0,
        parent: ObjectId(0),
        columns: (1..=last).map(column).collect(),
        indexes: storage
            .base
            .clustered()
            .map(|index| index.definition().clone())
            .into_iter()
            .collect(),
    }
}

/// A trigger of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trigger {
    pub(crate) id: ObjectId,
    pub(crate) name: String,
}
