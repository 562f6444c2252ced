//! A system base table: its clustered and nonclustered indexes, changed together.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use extentdb_base::sync::Arc;
use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::layout::{Cell, PhysicalColumn};
use extentdb_catalog::model::{self, IndexKind, Rowset};
use extentdb_catalog::table::values::{Cell as Value, RowValues};
use extentdb_catalog::table::{IndexDefinition, Source, TableDefinition};
use extentdb_rowset::{RowShape, Tree};
use extentdb_txn::Transaction;
use extentdb_types::SqlType;

use crate::catalog::LoadedCatalog;
use crate::catalog::OffRowUnits;
use crate::catalog::changes::{Described, ModelChanges};
use crate::catalog::key_order::{IndexName, KeyOrder, Origin};
use crate::error::Error;

/// A row in the order of the table's columns.
pub(crate) type Cells = Vec<Cell<'static>>;

/// An index of a system table.
pub(crate) struct SystemIndex {
    id: IndexId,
    name: String,
    pub(crate) tree: Arc<Tree>,
    order: KeyOrder,
    /// What each column of its rows holds.
    sources: Vec<Source>,
    /// Where the columns of its key are in its rows, in key order.
    key: Vec<usize>,
}

/// Classes of extended properties and permissions of objects, and of references of foreign keys.
const OBJECT_CLASS: RangeInclusive<i64> = 1..=1;
const FOREIGN_KEY_CLASSES: RangeInclusive<i64> = 27..=29;

/// How a row says what it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
enum About {
    /// The object whose id is in this column.
    Object(usize),
    /// The same of rows of these classes, which are in column 0; others are about something else.
    ObjectOfClass(usize, RangeInclusive<i64>),
    /// Schemas, types, principals.
    Names,
    /// Space, files, rows: nothing that a binder reads.
    Nothing,
}

impl About {
    fn of_table(name: &str) -> About {
        match name {
            "sysschobjs" | "syscolpars" | "sysidxstats" | "sysiscols" => About::Object(0),
            "sysobjvalues" => About::Object(1),
            "syssingleobjrefs" => About::ObjectOfClass(1, FOREIGN_KEY_CLASSES),
            "sysxprops" | "sysprivs" => About::ObjectOfClass(1, OBJECT_CLASS),
            "sysscalartypes" | "sysclsobjs" | "sysowners" | "sysmultiobjrefs" => About::Names,
            _ => About::Nothing,
        }
    }

    fn row(&self, cells: &[Cell<'_>]) -> Option<Described> {
        let object = |at: usize| {
            let id = cells.get(at).and_then(number)?;
            Some(Described::Object(ObjectId(id as i32)))
        };
        let class = cells.first().and_then(number);
        match self {
            About::Object(at) => object(*at),
            About::ObjectOfClass(at, classes) if class.is_some_and(|it| classes.contains(&it)) => {
                object(*at)
            }
            About::ObjectOfClass(..) | About::Names => Some(Described::Names),
            About::Nothing => None,
        }
    }
}

/// A system base table with a clustered index.
pub(crate) struct SystemTable {
    pub(crate) name: String,
    about: About,
    changes: Arc<ModelChanges>,
    origin: Origin,
    columns: Vec<String>,
    /// The clustered one first.
    pub(crate) indexes: Vec<SystemIndex>,
    pub(crate) off_row: OffRowUnits,
}

impl SystemTable {
    /// The table as the catalog of this database has it; `None` for one that is a heap.
    pub(crate) fn open(
        definition: &TableDefinition,
        origin: Origin,
        loaded: LoadedCatalog<'_>,
        changes: &Arc<ModelChanges>,
    ) -> Result<Option<SystemTable>, Error> {
        let is_tree = |index: &&IndexDefinition| index.kind != IndexKind::Heap;
        let indexes = definition.indexes.iter().filter(is_tree);
        let indexes: Vec<SystemIndex> = indexes
            .map(|index| SystemIndex::open(definition, index, loaded))
            .collect::<Result<_, _>>()?;
        let name = definition.name.clone();
        let base = definition.indexes.first().map(|index| index.id);
        let is_base =
            |rowset: &&Rowset| rowset.object == definition.id && Some(rowset.index) == base;
        let rowset = loaded.catalog.rowsets.values().find(is_base);
        let off_row = rowset.map(|rowset| OffRowUnits::open(rowset, loaded.space, loaded.units));
        let table = SystemTable {
            about: About::of_table(&name),
            changes: changes.clone(),
            name,
            origin,
            columns: definition.columns.iter().map(|column| column.name.clone()).collect(),
            indexes,
            off_row: off_row.unwrap_or_default(),
        };
        Ok((!table.indexes.is_empty()).then_some(table))
    }

    /// The same of a database of any version, that is only read: its columns are those that the
    /// catalog describes, and of its indexes only the clustered one is there. `None` also for a
    /// table whose rows cannot be read.
    pub(crate) fn open_described(
        table: &model::Table,
        origin: Origin,
        loaded: LoadedCatalog<'_>,
        changes: &Arc<ModelChanges>,
    ) -> Result<Option<SystemTable>, Error> {
        let Some(base) = table.base().filter(|base| base.kind == IndexKind::Clustered) else {
            return Ok(None);
        };
        let Some(rowset) = loaded.catalog.rowsets_of(base).next() else { return Ok(None) };
        let (Some(unit), Ok((shape, _))) = (loaded.unit(rowset), RowShape::for_reading(rowset))
        else {
            return Ok(None);
        };
        let last = table.columns.iter().map(|column| column.id).max().unwrap_or(0);
        let name_of = |id: i32| table.columns.iter().find(|own| own.id == id);
        let columns = (1..=last).map(|id| name_of(id).map(|own| own.name.clone()));
        let index = SystemIndex {
            id: base.id,
            name: base.name.clone().unwrap_or_default(),
            order: KeyOrder::unknown(&shape),
            tree: Arc::new(Tree::new(loaded.space.clone(), unit, shape)),
            sources: rowset.layout.columns.iter().map(source_of).collect(),
            key: rowset.layout.key_positions(),
        };
        Ok(Some(SystemTable {
            about: About::of_table(&table.name),
            changes: changes.clone(),
            name: table.name.clone(),
            origin,
            columns: columns.map(Option::unwrap_or_default).collect(),
            indexes: vec![index],
            off_row: OffRowUnits::open(rowset, loaded.space, loaded.units),
        }))
    }

    fn clustered(&self) -> &SystemIndex {
        &self.indexes[0]
    }

    /// Names of its columns.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The type of a column of the clustered index's rows, by its position in the table.
    pub(crate) fn type_of(&self, column: usize) -> Option<SqlType> {
        let clustered = self.clustered();
        let is_it = |source: &Source| *source == Source::Column(column as i32 + 1);
        let at = clustered.sources.iter().position(is_it)?;
        clustered.tree.shape().layout().columns.get(at)?.ty
    }

    /// The cells of a row.
    pub(crate) fn cells_of(&self, row: &RowValues) -> Cells {
        cells_of(row, self.columns.len())
    }

    /// Adds a row to all indexes.
    pub(crate) fn insert(&self, tx: &mut Transaction, row: &RowValues) -> Result<(), Error> {
        self.insert_cells(tx, &cells_of(row, self.columns.len()))
    }

    /// The same of a row that was read before.
    pub(crate) fn insert_cells(
        &self,
        tx: &mut Transaction,
        cells: &[Cell<'_>],
    ) -> Result<(), Error> {
        for index in &self.indexes {
            let row = index.row(cells);
            let key = index.tree.shape().key_of_cells(&row)?;
            self.verify_key(index, &row)?;
            index.tree.insert_at(tx, &key, &row)?;
        }
        self.note(tx, cells);
        Ok(())
    }

    /// What a row is about is to be read again.
    fn note(&self, tx: &Transaction, cells: &[Cell<'_>]) {
        if let Some(what) = self.about.row(cells) {
            self.changes.note(tx.owner(), what);
        }
    }

    /// Refuses a row in an index that is out of order, and a name that an attached database does
    /// not take.
    fn verify_key(&self, index: &SystemIndex, row: &[Cell<'_>]) -> Result<(), Error> {
        let names = IndexName { table: &self.name, index: &index.name };
        index.order.verify_writable(&index.tree, names)?;
        let key = index.key.iter().filter_map(|at| row.get(*at));
        self.origin.verify_new_key(names, index.tree.shape(), key)
    }

    /// Takes a row out of all indexes.
    pub(crate) fn delete(&self, tx: &mut Transaction, row: &[Cell<'_>]) -> Result<(), Error> {
        for index in &self.indexes {
            if index.tree.delete(tx, &index.key_of(row))?.is_none() {
                return Err(self.incomplete());
            }
        }
        self.note(tx, row);
        Ok(())
    }

    /// Gives a row about a definition other values in columns that no index has.
    pub(crate) fn redefine(&self, tx: &mut Transaction, row: &[Cell<'_>]) -> Result<(), Error> {
        self.replace(tx, row)?;
        self.note(tx, row);
        Ok(())
    }

    /// The same of values that are no part of a definition: counts, sizes, the last identity.
    pub(crate) fn replace(&self, tx: &mut Transaction, row: &[Cell<'_>]) -> Result<(), Error> {
        Ok(self.clustered().tree.replace(tx, &self.clustered().row(row))?)
    }

    /// The same in columns that other indexes have: the row keeps its place in the clustered one.
    pub(crate) fn replace_keys(
        &self,
        tx: &mut Transaction,
        old: &[Cell<'_>],
        new: &[Cell<'_>],
    ) -> Result<(), Error> {
        for index in self.indexes.iter().skip(1) {
            let row = index.row(new);
            if row == index.row(old) {
                continue;
            }
            self.verify_key(index, &row)?;
            if index.tree.delete(tx, &index.key_of(old))?.is_none() {
                return Err(self.incomplete());
            }
            let key = index.tree.shape().key_of_cells(&row)?;
            index.tree.insert_at(tx, &key, &row)?;
        }
        self.replace(tx, new)
    }

    /// The same of a row about a definition.
    pub(crate) fn redefine_keys(
        &self,
        tx: &mut Transaction,
        old: &[Cell<'_>],
        new: &[Cell<'_>],
    ) -> Result<(), Error> {
        self.replace_keys(tx, old, new)?;
        self.note(tx, new);
        Ok(())
    }

    fn incomplete(&self) -> Error {
        Error::catalog(format!("a row of {} is not in all of its indexes", self.name))
    }

    /// The rows whose clustered key begins with these values.
    pub(crate) fn rows(&self, prefix: &[Cell<'_>]) -> Result<Vec<Cells>, Error> {
        let clustered = self.clustered();
        let scan = clustered.tree.scan(prefix)?;
        scan.map(|row| clustered.cells(&row?.bytes, self.columns.len())).collect()
    }

    /// The rows whose key in this index begins with these values. Of each, only the columns that
    /// the index has; the clustered key is among them.
    pub(crate) fn rows_by(&self, index: IndexId, prefix: &[Cell<'_>]) -> Result<Vec<Cells>, Error> {
        let index = self.index(index)?;
        let scan = index.tree.scan(prefix)?;
        scan.map(|row| index.cells(&row?.bytes, self.columns.len())).collect()
    }

    /// The same by a text, the first column of the key, which compares without the case of ASCII
    /// letters. `None` when the index is out of order or distinguishes case: then all rows must be
    /// read.
    pub(crate) fn rows_by_name(
        &self,
        index: IndexId,
        name: &str,
    ) -> Result<Option<Vec<Cells>>, Error> {
        let SystemIndex { tree, order, .. } = self.index(index)?;
        let prefix = tree.shape().prefix(&[name_cell(name)])?;
        for folded in [name.to_ascii_lowercase(), name.to_ascii_uppercase()] {
            if tree.shape().prefix(&[name_cell(&folded)])? != prefix {
                return Ok(None);
            }
        }
        match order.disorder(tree)? {
            None => self.rows_by(index, &[name_cell(name)]).map(Some),
            Some(_) => Ok(None),
        }
    }

    fn index(&self, id: IndexId) -> Result<&SystemIndex, Error> {
        let found = self.indexes.iter().find(|index| index.id == id);
        found.ok_or_else(|| Error::catalog(format!("{} has no index {}", self.name, id.0)))
    }
}

/// What a column of the clustered index of a base table holds.
fn source_of(column: &PhysicalColumn) -> Source {
    match column.is_uniquifier() {
        true => Source::Uniquifier,
        false => Source::Column(column.column_id),
    }
}

impl SystemIndex {
    fn open(
        table: &TableDefinition,
        definition: &IndexDefinition,
        loaded: LoadedCatalog<'_>,
    ) -> Result<SystemIndex, Error> {
        let missing =
            || Error::catalog(format!("index {} of {} has no rowset", definition.id.0, table.name));
        let is_it = |own: &&Rowset| own.object == table.id && own.index == definition.id;
        let rowset = loaded.catalog.rowsets.values().find(is_it).ok_or_else(missing)?;
        let unit = loaded.unit(rowset).ok_or_else(missing)?;
        let sources = table.layout(definition).sources;
        if sources.len() != rowset.layout.columns.len() {
            return Err(Error::catalog(format!(
                "{} has other columns than a table of its name",
                table.name
            )));
        }
        let shape = RowShape::of_rowset(rowset)?;
        let order = KeyOrder::unknown(&shape);
        Ok(SystemIndex {
            id: definition.id,
            name: definition.name.clone().unwrap_or_default(),
            tree: Arc::new(Tree::new(loaded.space.clone(), unit, shape)),
            order,
            sources,
            key: rowset.layout.key_positions(),
        })
    }

    /// The row of this index for a row of the table.
    fn row<'a>(&self, cells: &[Cell<'a>]) -> Vec<Cell<'a>> {
        let cell = |source: &Source| match source {
            Source::Column(id) => cells.get(*id as usize - 1).cloned().unwrap_or(Cell::Null),
            Source::Uniquifier => Cell::Bytes(Cow::Borrowed(&[])),
            Source::Rid => Cell::Null,
        };
        self.sources.iter().map(cell).collect()
    }

    fn key_of<'a>(&self, cells: &[Cell<'a>]) -> Vec<Cell<'a>> {
        let row = self.row(cells);
        self.key.iter().filter_map(|at| row.get(*at).cloned()).collect()
    }

    /// A row of the table from a record of its clustered index.
    fn cells(&self, record: &[u8], columns: usize) -> Result<Cells, Error> {
        let mut cells = vec![Cell::Null; columns];
        for (cell, source) in self.tree.shape().decode(record)?.into_iter().zip(&self.sources) {
            if let Source::Column(id) = source
                && let Some(place) = cells.get_mut(*id as usize - 1)
            {
                *place = owned(cell);
            }
        }
        Ok(cells)
    }
}

/// NULL, or past the end of a record that is older than its column.
pub(crate) fn is_null(cell: &Cell<'_>) -> bool {
    matches!(cell, Cell::Null | Cell::Missing)
}

/// A cell that owns its bytes.
pub(crate) fn owned(cell: Cell<'_>) -> Cell<'static> {
    match cell {
        Cell::Null => Cell::Null,
        Cell::Missing => Cell::Missing,
        Cell::Bit(bit) => Cell::Bit(bit),
        Cell::Bytes(bytes) => Cell::Bytes(Cow::Owned(bytes.into_owned())),
        Cell::Complex(bytes) => Cell::Complex(Cow::Owned(bytes.into_owned())),
    }
}

pub(crate) fn cells_of(row: &RowValues, columns: usize) -> Cells {
    let cell = |at: usize| match row.cell(at) {
        Value::Null | Value::Stream(_) => Cell::Null,
        Value::Bit(bit) => Cell::Bit(bit),
        Value::Bytes(bytes) | Value::Lob(bytes) | Value::Pointer(bytes) => {
            Cell::Bytes(Cow::Owned(bytes.to_vec()))
        }
    };
    (0..columns).map(cell).collect()
}

/// A name as a cell.
pub(crate) fn name_cell(name: &str) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(name.encode_utf16().flat_map(u16::to_le_bytes).collect()))
}

/// The text in a cell of a name.
pub(crate) fn text(cell: Option<&Cell<'_>>) -> String {
    let Some(Cell::Bytes(bytes)) = cell else { return String::new() };
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    String::from_utf16_lossy(&units.collect::<Vec<_>>())
}

/// A number as a cell.
pub(crate) fn int(value: i32) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(value.to_le_bytes().to_vec()))
}

/// A number as a cell.
pub(crate) fn bigint(value: i64) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(value.to_le_bytes().to_vec()))
}

/// A number as a cell.
pub(crate) fn smallint(value: i16) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(value.to_le_bytes().to_vec()))
}

/// A number as a cell.
pub(crate) fn byte(value: u8) -> Cell<'static> {
    Cell::Bytes(Cow::Owned(vec![value]))
}

/// The bytes in a cell.
pub(crate) fn bytes<'c>(cell: &'c Cell<'_>) -> &'c [u8] {
    if let Cell::Bytes(bytes) = cell { bytes } else { &[] }
}

/// The number in a cell.
pub(crate) fn number(cell: &Cell<'_>) -> Option<i64> {
    let Cell::Bytes(bytes) = cell else { return None };
    Some(match **bytes {
        [a] => a.into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}
