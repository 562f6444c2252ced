//! An index of a user table: a B-tree of its rows, or of entries that lead to them.
//!
//! ```text
//! clustered      row     uniquifier, when the key is not unique │ key columns │ all others
//!                key     the key columns, then the uniquifier
//! nonclustered   entry   key columns │ included columns │ what leads to the row: its place, or the rest of the clustered key
//!                key     unique       the key columns
//!                        not unique   the key columns, then what leads to the row
//! ```
//!
//! The columns of entries come from the columns of the table by [`TableDefinition::layout`]; an index whose rowset the catalogue
//! describes in any other way is not written here.
//!
//! Texts are in order by their collation, which is not known here for every text. An index that was there when the database was
//! opened and has texts in its key is therefore read once before it is used: only when the place of each entry is certain, what is
//! looked for in it is found, and what is put into it lies where others look for it.

use std::borrow::Cow;

use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{HobtId, IndexId, ObjectId, Rid};
use extentdb_catalog::layout::{Cell, Compression, Level, RowLayout};
use extentdb_catalog::model::{self, AllocUnitKind, Catalog, IndexKind, ObjectType};
use extentdb_catalog::table::definition::{index_status, rowset_status};
use extentdb_catalog::table::{
    ColumnDefinition, ColumnHistory, IndexDefinition, KeyColumn, RowsetLayout, Source, TableDefinition,
};
use extentdb_rowset::btree::Fill;
use extentdb_rowset::{RowShape, Tree};
use extentdb_space::{Space, Unit};
use extentdb_types::{Datum, SqlType};

use crate::address::Address;
use crate::catalogue::Units;
use crate::column::TableColumn;
use crate::error::Error;
use crate::storage::Storage;

/// Where the value of a column of an entry comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    /// A column of the table, by its place among them.
    Column(usize),
    /// A column of the row that no column of the table stands for, by its place in the row: a uniquifier, or what was dropped.
    Row(usize),
    /// The place of the row in its heap.
    Rid,
}

/// How an entry leads to its row.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Locator {
    /// It is the row: the index is clustered.
    Own,
    /// By the place of the row, which this column of the entry has.
    Rid(usize),
    /// By the clustered key: where its columns are in the entry, in key order.
    Key(Vec<usize>),
}

/// The key of a clustered index, as far as other indexes have it in their entries.
#[derive(Debug)]
pub(crate) struct BaseKey {
    /// Its columns, in key order; empty for a heap.
    sources: Vec<Source>,
    /// Where the uniquifier is in a row.
    uniquifier: Option<usize>,
}

impl BaseKey {
    pub(crate) fn of(storage: &Storage) -> BaseKey {
        let Some(index) = storage.base.clustered() else {
            return BaseKey { sources: Vec::new(), uniquifier: None };
        };
        let source = |at: &usize| match index.from.get(*at) {
            Some(From::Column(number)) => {
                storage.columns.get(*number).map_or(Source::Uniquifier, |column| Source::Column(column.id))
            }
            _ => Source::Uniquifier,
        };
        BaseKey { sources: index.key.iter().map(source).collect(), uniquifier: index.uniquifier() }
    }
}

/// The constraint that an index is there for; it has the index's name.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Constraint {
    /// None: the index stands for itself.
    #[default]
    None,
    /// PRIMARY KEY.
    PrimaryKey,
    /// UNIQUE.
    Unique,
}

impl Constraint {
    fn of_status(status: u32) -> Constraint {
        match () {
            () if status & index_status::PRIMARY_KEY != 0 => Constraint::PrimaryKey,
            () if status & index_status::UNIQUE_CONSTRAINT != 0 => Constraint::Unique,
            () => Constraint::None,
        }
    }

    /// In `sysidxstats.status`.
    pub(crate) fn status(self) -> u32 {
        match self {
            Constraint::None => 0,
            Constraint::PrimaryKey => index_status::PRIMARY_KEY,
            Constraint::Unique => index_status::UNIQUE_CONSTRAINT,
        }
    }
}

/// An index.
#[derive(Debug)]
pub(crate) struct Index {
    definition: IndexDefinition,
    tree: Arc<Tree>,
    /// One for each column of an entry.
    from: Vec<From>,
    /// The columns of an entry that its key consists of, in key order.
    key: Vec<usize>,
    locator: Locator,
    /// Is the order of its entries certain? `None` as long as nobody has looked.
    is_certain: Mutex<Option<bool>>,
}

impl Index {
    /// An index of the catalogue; `Ok(None)` for one that is disabled and has nothing to be kept true.
    ///
    /// # Errors
    /// Why it cannot be kept true here.
    pub(crate) fn open(
        table: &TableDefinition,
        (columns, base): (&[TableColumn], &BaseKey),
        index: &model::Index,
        catalog: &Catalog,
        (space, units): (&Arc<Space>, &Units),
    ) -> Result<Option<Index>, String> {
        let name = index.name.clone().unwrap_or_default();
        if index.is_marked_disabled() {
            return Ok(None);
        }
        let refused = |what: &str| Err(format!("index {name}, {what}"));
        if index.kind != IndexKind::Nonclustered {
            return refused(&format!("of kind {}", index.kind.name()));
        }
        if index.filter.is_some() {
            return refused("which is filtered");
        }
        let [rowset] = index.rowsets.as_slice() else { return refused("which has not one partition") };
        let rowset = catalog.rowsets.get(rowset);
        let unit = rowset.and_then(|rowset| units.get(rowset.unit(AllocUnitKind::InRow)?.id));
        let (Some(rowset), Some(unit)) = (rowset, unit) else { return refused("whose pages are not known") };
        let definition = definition_of_index(index, rowset);
        let layout = table.layout(&definition);
        if !is_same_form(&layout.row, &rowset.layout) {
            return refused("whose entries are laid out in a way of their own");
        }
        match Index::new(definition, &layout, (columns, base), (space.clone(), unit)) {
            Ok(index) => Ok(Some(index.with_order_unknown(columns))),
            Err(error) => refused(&error.to_string()),
        }
    }

    /// A nonclustered index by its definition, which is empty yet.
    pub(crate) fn new(
        definition: IndexDefinition,
        layout: &RowsetLayout,
        (columns, base): (&[TableColumn], &BaseKey),
        (space, unit): (Arc<Space>, Arc<Unit>),
    ) -> Result<Index, Error> {
        let from = layout.sources.iter().map(|source| match source {
            Source::Column(id) => columns.iter().position(|column| column.id == *id).map(From::Column),
            Source::Rid => Some(From::Rid),
            Source::Uniquifier => base.uniquifier.map(From::Row),
        });
        let missing = || Error::catalogue("an index names a column that its table has not got");
        let from = from.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let place = |source: &Source| layout.sources.iter().position(|own| own == source);
        let locator = match place(&Source::Rid) {
            Some(at) => Locator::Rid(at),
            None => Locator::Key(base.sources.iter().map(place).collect::<Option<_>>().ok_or_else(missing)?),
        };
        let shape = RowShape::of_layout(layout, false)?.with_declared_keys(definition.keys.len());
        Ok(Index {
            definition,
            tree: Arc::new(Tree::new(space, unit, shape)),
            from,
            key: key_of(&layout.row),
            locator,
            is_certain: Mutex::new(Some(true)),
        })
    }

    /// The clustered index of a table, whose rows have this shape.
    pub(crate) fn clustered(
        definition: IndexDefinition,
        columns: &[TableColumn],
        shape: RowShape,
        (space, unit): (Arc<Space>, Arc<Unit>),
    ) -> Index {
        let layout = shape.layout().clone();
        let from = (0..layout.columns.len())
            .map(|at| columns.iter().position(|column| column.at == at).map_or(From::Row(at), From::Column));
        Index {
            definition,
            tree: Arc::new(Tree::new(space, unit, shape)),
            from: from.collect(),
            key: key_of(&layout),
            locator: Locator::Own,
            is_certain: Mutex::new(Some(true)),
        }
    }

    /// The same as one that was there when the database was opened: with texts in its key nobody has looked at its order yet.
    pub(crate) fn with_order_unknown(self, columns: &[TableColumn]) -> Index {
        let has_texts = self.declared(columns).any(|column| column.ty.collation().is_some());
        *lock(&self.is_certain) = (!has_texts).then_some(true);
        self
    }

    /// The same over another, empty unit.
    pub(crate) fn over(&self, space: Arc<Space>, unit: Arc<Unit>) -> Index {
        let tree = Arc::new(Tree::new(space, unit, self.tree.shape().clone()));
        let (definition, locator) = (self.definition.clone(), self.locator.clone());
        let (from, key, is_certain) = (self.from.clone(), self.key.clone(), Mutex::new(Some(true)));
        Index { definition, tree, from, key, locator, is_certain }
    }

    /// What the catalogue says of it.
    pub(crate) fn definition(&self) -> &IndexDefinition {
        &self.definition
    }

    /// How full it gets when it is made anew.
    pub(crate) fn fill(&self) -> Fill {
        Fill { percent: self.definition.fill_factor, pads: false }
    }

    pub(crate) fn id(&self) -> IndexId {
        self.definition.id
    }

    pub(crate) fn name(&self) -> &str {
        self.definition.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn is_unique(&self) -> bool {
        self.definition.is_unique()
    }

    pub(crate) fn constraint(&self) -> Constraint {
        Constraint::of_status(self.definition.status)
    }

    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    pub(crate) fn hobt(&self) -> HobtId {
        self.tree.unit().hobt()
    }

    /// Where the uniquifier is in a row of a clustered index that is not unique.
    pub(crate) fn uniquifier(&self) -> Option<usize> {
        let is_own = self.locator == Locator::Own && !self.is_unique();
        self.key.last().copied().filter(|_| is_own && self.key.len() > self.definition.keys.len())
    }

    /// The entry of a row, given by the cells of its record.
    pub(crate) fn entry<'c>(&self, row: &[Cell<'c>], columns: &[TableColumn], at: &Address) -> Vec<Cell<'c>> {
        let of_row = |at: usize| match row.get(at) {
            None | Some(Cell::Missing) => Cell::Null,
            Some(cell) => cell.clone(),
        };
        let cell = |from: &From| match (from, at) {
            (From::Rid, Address::Rid(rid)) => Cell::Bytes(Cow::Owned(rid.to_bytes().to_vec())),
            (From::Rid, Address::Key(_)) => Cell::Null,
            (From::Row(at), _) => of_row(*at),
            (From::Column(number), _) => columns.get(*number).map_or(Cell::Null, |column| of_row(column.at)),
        };
        self.from.iter().map(cell).collect()
    }

    /// The sort key of an entry.
    pub(crate) fn key_of_record(&self, entry: &[u8]) -> Result<Vec<u8>, Error> {
        let shape = self.tree.shape();
        Ok(shape.key(&shape.leaf(entry), Level::Leaf)?)
    }

    /// The columns of the tree's key, from an entry.
    pub(crate) fn key_of<'c>(&self, entry: &[Cell<'c>]) -> Vec<Cell<'c>> {
        self.key.iter().filter_map(|at| entry.get(*at).cloned()).collect()
    }

    /// The table's columns that the index was declared with, in key order.
    pub(crate) fn declared<'t>(&self, columns: &'t [TableColumn]) -> impl Iterator<Item = &'t TableColumn> {
        self.key.iter().take(self.definition.keys.len()).filter_map(|at| match self.from.get(*at)? {
            From::Column(number) => columns.get(*number),
            From::Row(_) | From::Rid => None,
        })
    }

    /// The address of the row that an entry leads to, in a table whose rows have this shape.
    pub(crate) fn address(&self, record: &[u8], rows: &RowShape) -> Result<Address, Error> {
        let shape = self.tree.shape();
        let cells = shape.decode(record)?;
        let nowhere = || Error::catalogue(format!("an entry of index {} leads nowhere", self.name()));
        match &self.locator {
            Locator::Own => Ok(Address::Key(shape.key_of_cells(&cells)?.into())),
            Locator::Rid(at) => match cells.get(*at) {
                Some(Cell::Bytes(bytes)) if let Ok(bytes) = <[u8; 8]>::try_from(&**bytes) => {
                    Ok(Address::Rid(Rid::from_bytes(bytes)))
                }
                _ => Err(nowhere()),
            },
            Locator::Key(places) => {
                let key = places.iter().map(|at| cells.get(*at).cloned()).collect::<Option<Vec<_>>>();
                Ok(Address::Key(rows.prefix(&key.ok_or_else(nowhere)?)?.into()))
            }
        }
    }

    /// The bytes with which the keys begin whose first declared columns have these values.
    pub(crate) fn prefix(&self, columns: &[TableColumn], values: &[Datum<'_>]) -> Result<Vec<u8>, Error> {
        let expected = self.declared(columns).count();
        if values.len() > expected {
            return Err(Error::Columns { expected, found: values.len() });
        }
        let cells = self.declared(columns).zip(values).map(|(column, value)| column.sought(value));
        Ok(self.tree.shape().prefix(&cells.collect::<Result<Vec<_>, Error>>()?)?)
    }

    /// Refuses to use an index in which some entry has a place that is not known for certain. Looks at all of them when nobody has.
    pub(crate) fn verify_order(&self, columns: &[TableColumn]) -> Result<(), Error> {
        let mut is_certain = lock(&self.is_certain);
        let found = match *is_certain {
            Some(known) => known,
            None => self.has_certain_order(columns)?,
        };
        *is_certain = Some(found);
        if found {
            return Ok(());
        }
        let what =
            format!("index {}, which has texts whose order under their collation is not known", self.name());
        Err(Error::NotSupported { what })
    }

    fn has_certain_order(&self, columns: &[TableColumn]) -> Result<bool, Error> {
        for entry in self.tree.scan_all(&[])? {
            match entry {
                Ok(entry) => {
                    let cells = self.tree.shape().decode(&entry.bytes)?;
                    if self.verify_place(&cells, columns).is_err() {
                        return Ok(false);
                    }
                }
                // Out of the order that is known here.
                Err(extentdb_rowset::Error::Corrupt { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Refuses an entry whose place among the others is not known for certain: the real product might look for it elsewhere.
    pub(crate) fn verify_place(&self, entry: &[Cell<'_>], columns: &[TableColumn]) -> Result<(), Error> {
        for (at, column) in self.key.iter().zip(self.declared(columns)) {
            let Some(Cell::Bytes(bytes)) = entry.get(*at) else { continue };
            let is_certain = match column.ty {
                SqlType::Char { collation, .. } | SqlType::VarChar { collation, .. } => {
                    collation.certain_about_char(bytes)
                }
                SqlType::NChar { collation, .. } | SqlType::NVarChar { collation, .. } => {
                    collation.certain_about_nchar(bytes)
                }
                _ => true,
            };
            if !is_certain {
                let what = format!("its place in index {} is not known under its collation", self.name());
                return Err(Error::Value { column: column.name.clone(), what });
            }
        }
        Ok(())
    }

    /// The key columns of an entry, for people.
    pub(crate) fn describe(&self, entry: &[Cell<'_>], columns: &[TableColumn]) -> String {
        let text = |(at, column): (&usize, &TableColumn)| match column.value(entry.get(*at)) {
            Ok(Datum::Null) => "<NULL>".to_owned(),
            Ok(value) => {
                let mut text = String::new();
                // Writing into a string does not fail.
                let _ = extentdb_types::plain::write_plain(&value, &mut text);
                text
            }
            Err(_) => "?".to_owned(),
        };
        self.key.iter().zip(self.declared(columns)).map(text).collect::<Vec<_>>().join(", ")
    }
}

/// The columns of a key in key order, by their places.
fn key_of(layout: &RowLayout) -> Vec<usize> {
    let mut key: Vec<(i16, usize)> = (0..)
        .zip(&layout.columns)
        .filter(|(_, column)| column.key_ordinal > 0)
        .map(|(at, column)| (column.key_ordinal, at))
        .collect();
    key.sort_unstable();
    key.into_iter().map(|(_, at)| at).collect()
}

/// A table by its columns and its clustered index, as far as the layout of indexes needs it.
pub(crate) fn definition_of(id: ObjectId, name: &str, storage: &Storage) -> TableDefinition {
    let columns = &storage.columns;
    let last = columns.iter().map(|column| column.id).max().unwrap_or(0);
    let column = |id: i32| match columns.iter().find(|column| column.id == id) {
        Some(column) => plain_column(&column.name, column.ty, column.nullable),
        // Dropped: no index can name it.
        None => plain_column("", SqlType::Int, true),
    };
    TableDefinition {
        id,
        name: name.to_owned(),
        schema_id: 0,
        kind: ObjectType::USER_TABLE,
        status: 0,
        parent: ObjectId(0),
        columns: (1..=last).map(column).collect(),
        indexes: storage.base.clustered().map(|index| index.definition.clone()).into_iter().collect(),
    }
}

/// A column that is neither computed nor an identity, and has no default.
pub(crate) fn plain_column(name: &str, ty: SqlType, nullable: bool) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        ty,
        user_type: i32::from(ty.xtype()),
        nullable,
        stored_nullable: nullable,
        identity: None,
        default_object: ObjectId(0),
        computed: None,
        history: ColumnHistory::default(),
    }
}

pub(crate) fn definition_of_index(index: &model::Index, rowset: &model::Rowset) -> IndexDefinition {
    let mut keys: Vec<_> = index.columns.iter().filter(|column| column.key_ordinal > 0).collect();
    keys.sort_by_key(|column| column.key_ordinal);
    let key = |column: &&model::IndexColumn| KeyColumn {
        column_id: column.column_id,
        descending: column.descending,
    };
    let unique = if index.unique { index_status::UNIQUE } else { 0 };
    IndexDefinition {
        id: index.id,
        name: index.name.clone(),
        kind: index.kind,
        keys: keys.iter().map(key).collect(),
        included: index.columns.iter().filter(|c| c.key_ordinal == 0).map(|c| c.column_id).collect(),
        status: index.status | unique,
        data_space: index.data_space,
        filegroup: 0,
        partition: 1,
        partition_column: 0,
        rest: Vec::new(),
        filter: None,
        rowset: rowset.id,
        rowset_status: rowset.status | rowset_status::USUAL,
        compression: rowset.compression,
        fill_factor: index.fill_factor,
        hides_min_interior: false,
        units: Vec::new(),
    }
}

/// Do records of both layouts have the same columns in the same places?
fn is_same_form(ours: &RowLayout, theirs: &RowLayout) -> bool {
    let is_same = |(a, b): (&extentdb_catalog::layout::PhysicalColumn, &_)| {
        let b: &extentdb_catalog::layout::PhysicalColumn = b;
        let order = |column: &extentdb_catalog::layout::PhysicalColumn| {
            (column.key_ordinal, column.is_descending(), column.is_not_null())
        };
        (a.ty, a.leaf, a.interior) == (b.ty, b.leaf, b.interior) && order(a) == order(b)
    };
    ours.compression == Compression::None
        && theirs.compression == Compression::None
        && ours.columns.len() == theirs.columns.len()
        && ours.columns.iter().zip(&theirs.columns).all(is_same)
}
