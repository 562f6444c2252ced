//! What a table is at one moment: its columns, how its rows are laid out, where they lie, and the
//! indexes that lead to them.
//!
//! DDL replaces it as a whole while no other session uses the table; a statement asks for it once.

use std::borrow::Cow;

use extentdb_base::sync::Arc;
use extentdb_base::{HobtId, Lsn, ObjectId};
use extentdb_catalog::layout::{Cell, Level, RowLayout};
use extentdb_catalog::model::{ObjectType, Unreadable};
use extentdb_catalog::table::values::RowValues;
use extentdb_catalog::table::{ColumnDefinition, IndexDefinition, TableDefinition};
use extentdb_rowset::heap::{Heap, HeapShape};
use extentdb_rowset::version::Versions;
use extentdb_rowset::{LobUnit, RowShape, Tree};
use extentdb_space::Unit;
use extentdb_types::{Datum, SqlType};

use crate::catalog::off_row::VALUE_IN_MEMORY_MAX;
use crate::catalog::system_table::{cells_of, owned};
use crate::catalog::{
    Address, ColumnDefault, Constraints, Identity, Index, OffRowUnits, TableColumn,
};
use crate::error::{Error, Unsupported};

/// What a table is at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    pub(crate) columns: Vec<TableColumn>,
    /// Those whose values are not read; with any, the table is read only.
    pub(crate) unreadable: Vec<UnreadableColumn>,
    pub(crate) shape: RowShape,
    pub(crate) base: Base,
    pub(crate) off_row: OffRowUnits,
    pub(crate) off_row_options: OffRowOptions,
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

/// A column of a table whose values are not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreadableColumn {
    /// Its name.
    pub name: String,
    /// Why its values are not read.
    pub why: Unreadable,
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

    pub(crate) fn set_default(&mut self, column: i32, default: Option<ColumnDefault>) {
        if let Some(column) = self.columns.iter_mut().find(|own| own.id == column) {
            column.default = default;
        }
    }

    /// Is it the clustered index?
    pub(crate) fn is_base(&self, index: &Index) -> bool {
        self.base.clustered().is_some_and(|base| base.id() == index.id())
    }

    /// Why there is no column of this name.
    pub(crate) fn no_column(&self, name: &str) -> Error {
        let own = self.unreadable.iter().find(|own| own.name.eq_ignore_ascii_case(name));
        match own {
            Some(own) => Error::UnreadableColumn { column: own.name.clone(), why: own.why },
            None => Unsupported::NoColumn { column: name.to_owned() }.into(),
        }
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

    /// The units of the rows, of values off them, and of all indexes.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Arc<Unit>> {
        std::iter::once(self.base.unit())
            .chain(self.indexes.iter().map(|index| index.tree().unit()))
            .chain(self.off_row.units())
    }

    /// The units that have values off rows.
    pub(crate) fn lob_units(&self) -> impl Iterator<Item = &Arc<LobUnit>> {
        self.off_row.all()
    }

    /// May the record of a row have pointers to values off it? Their trees are protected by the
    /// lock of the row.
    pub(crate) fn is_off_row(&self, record: &[u8]) -> bool {
        !self.off_row.is_empty() && self.shape.leaf(record).vars().any(|var| var.complex)
    }

    /// All trees of the table.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Arc<Tree>> {
        self.all_indexes().map(|index| index.tree())
    }

    /// The cells of the row that a record is. Values off it are among them where their type has
    /// a length, or an expression of the table needs them; others are pointers.
    pub(crate) fn cells<'r>(&self, record: &'r [u8]) -> Result<Vec<Cell<'r>>, Error> {
        self.cells_seen(record, None)
    }

    /// The same; with versions, of a record that was read by its snapshot.
    pub(crate) fn cells_seen<'r>(
        &self,
        record: &'r [u8],
        versions: Option<Versions<'_>>,
    ) -> Result<Vec<Cell<'r>>, Error> {
        let mut cells = self.shape.decode(record)?;
        self.resolve(&mut cells, |column| self.is_evaluated(column), versions)?;
        self.compute_unstored(&mut cells);
        Ok(cells)
    }

    /// The same with pointers for all values of the LOB unit, as they stand in the record.
    pub(crate) fn cells_to_move<'r>(&self, record: &'r [u8]) -> Result<Vec<Cell<'r>>, Error> {
        let mut cells = self.shape.decode(record)?;
        self.resolve(&mut cells, |_| false, None)?;
        self.compute_unstored(&mut cells);
        Ok(cells)
    }

    /// Reads values off the row: those whose type has a length, and those of LOB types that
    /// `is_needed` says of, by the id of their column.
    fn resolve(
        &self,
        cells: &mut [Cell<'_>],
        is_needed: impl Fn(i32) -> bool,
        versions: Option<Versions<'_>>,
    ) -> Result<(), Error> {
        for (cell, column) in cells.iter_mut().zip(&self.shape.layout().columns) {
            let Cell::Complex(pointer) = cell else { continue };
            let Some(ty) = column.ty.filter(|_| !column.is_dropped()) else { continue };
            if ty.max_bytes().is_some() || is_needed(column.column_id) {
                let most = VALUE_IN_MEMORY_MAX;
                let value = self.off_row.value_seen(&ty, pointer, most, versions)?;
                *cell = Cell::Bytes(Cow::Owned(value));
            }
        }
        Ok(())
    }

    /// Reads a value of a column off its row when an expression of the table needs it.
    pub(crate) fn evaluated(
        &self,
        column: &TableColumn,
        cell: Cell<'static>,
    ) -> Result<Cell<'static>, Error> {
        match cell {
            Cell::Complex(pointer) if self.is_evaluated(column.id) => {
                let value = self.off_row.value(&column.ty, &pointer, VALUE_IN_MEMORY_MAX)?;
                Ok(Cell::Bytes(Cow::Owned(value)))
            }
            cell => Ok(cell),
        }
    }

    /// Does an expression of the table need the values of a column?
    pub(crate) fn is_evaluated(&self, column: i32) -> bool {
        let of_formula = |own: &TableColumn| {
            own.formula.as_ref().is_some_and(|formula| formula.columns().contains(&column))
        };
        let of_filter = |index: &Arc<Index>| {
            index.filter().is_some_and(|filter| filter.columns().contains(&column))
        };
        self.columns.iter().any(of_formula)
            || self.constraints.checks.iter().any(|check| check.columns().contains(&column))
            || self.constraints.rules.iter().any(|rule| rule.column == column)
            || self.indexes.iter().any(of_filter)
    }

    /// The part of a row that its record has.
    pub(crate) fn stored<'c, 'r>(&self, row: &'c [Cell<'r>]) -> &'c [Cell<'r>] {
        &row[..row.len().min(self.shape.layout().columns.len())]
    }

    /// The cells of a row from values in column order, NULL for those that are computed, and for
    /// a rowversion. A uniquifier is left open.
    pub(crate) fn uncomputed_cells(
        &self,
        values: &[Datum<'_>],
    ) -> Result<Vec<Cell<'static>>, Error> {
        if values.len() != self.columns.len() {
            return Err(Error::Columns { expected: self.columns.len(), found: values.len() });
        }
        let mut cells = vec![Cell::Null; self.shape.layout().columns.len()];
        for (column, value) in self.columns.iter().zip(values) {
            if !self.is_generated(column, matches!(value, Datum::Null))? {
                cells[column.at] = column.cell(value)?;
            }
        }
        Ok(cells)
    }

    /// Does a column get its value from elsewhere? Then it takes none.
    pub(crate) fn is_generated(&self, column: &TableColumn, is_null: bool) -> Result<bool, Error> {
        let why = match &column.formula {
            Some(_) => "it is computed, and takes no value",
            None if column.ty == SqlType::RowVersion => "it is a rowversion, and takes no value",
            None => return Ok(false),
        };
        if is_null { Ok(true) } else { Err(column.refused(why)) }
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

    /// The values of a record, in column order, those off the row included.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`]: one is not held in memory.
    pub(crate) fn values(
        &self,
        record: &[u8],
        versions: Option<Versions<'_>>,
    ) -> Result<Vec<Datum<'static>>, Error> {
        let mut cells = self.shape.decode(record)?;
        self.resolve(&mut cells, |_| true, versions)?;
        self.compute_unstored(&mut cells);
        self.values_of(&cells)
    }

    /// A value off its row.
    pub(crate) fn value_off_row(
        &self,
        column: &TableColumn,
        pointer: &[u8],
        versions: Option<Versions<'_>>,
    ) -> Result<Datum<'static>, Error> {
        let most = VALUE_IN_MEMORY_MAX;
        let bytes = self.off_row.value_seen(&column.ty, pointer, most, versions)?;
        column.value(Some(&Cell::Bytes(Cow::Owned(bytes))))
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

    /// The record of the row at an address, as a snapshot sees it.
    pub(crate) fn row_seen(
        &self,
        at: &Address,
        versions: Versions<'_>,
    ) -> Result<Option<Vec<u8>>, Error> {
        match (&self.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => Ok(heap.row_seen(*rid, versions)?),
            (Base::Clustered(index), Address::Key(key)) => {
                Ok(index.tree().find_seen(key, versions)?.map(|row| row.bytes))
            }
            _ => Ok(None),
        }
    }

    /// The newest record at an address, be it a ghost.
    pub(crate) fn newest(&self, at: &Address) -> Result<Option<Vec<u8>>, Error> {
        match (&self.base, at) {
            (Base::Heap(heap), Address::Rid(rid)) => Ok(heap.newest(*rid)?),
            (Base::Clustered(index), Address::Key(key)) => {
                Ok(index.tree().newest(key)?.map(|row| row.bytes))
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

/// Where large values of a table lie: the options of `sp_tableoption`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct OffRowOptions {
    /// Bytes of a text, ntext or image value that lies in its row; 0 for none.
    pub(crate) text_in_row: u16,
    /// (max) values never lie in their row, but under a text pointer.
    pub(crate) large_values_out_of_row: bool,
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
    pub(crate) is_enabled: bool,
}
