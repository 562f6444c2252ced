//! An index of a user table: a B-tree of its rows (clustered), or of entries with row locators.
//!
//! ```text
//! clustered      row     uniquifier, when the key is not unique │ key columns │ all others
//!                key     the key columns, then the uniquifier
//! nonclustered   entry   key columns │ included columns │ row locator: the RID, or the rest of the
//!                        clustered key
//!                key     unique       the key columns
//!                        not unique   the key columns, then the row locator
//! ```
//!
//! The columns of entries come from the columns of the table by [`TableDefinition::layout`]; an
//! index whose rowset the catalog describes in any other way is not written here.
//!
//! What is known of the order of texts in its key: [`key_order`](crate::catalog::key_order).

mod entry;

use extentdb_base::sync::Arc;
use extentdb_base::{HobtId, IndexId, Rid};
use extentdb_catalog::layout::{Cell, Level};
use extentdb_catalog::model::{self, AllocUnitKind, IndexKind};
use extentdb_catalog::table::definition::index_status;
use extentdb_catalog::table::{IndexDefinition, RowsetLayout, Source, TableDefinition};
use extentdb_format::record::Record;
use extentdb_rowset::btree::{self, Fill, Ghosts, KeyRange};
use extentdb_rowset::{RowShape, Tree};
use extentdb_space::{Space, Unit};
use extentdb_types::Datum;

use crate::catalog::definition::{definition_of_index, has_column, has_same_columns, is_same_form};
use crate::catalog::key_order::{Disorder, IndexName, KeyOrder};
use crate::catalog::system_table::is_null;
use crate::catalog::{Address, Condition, LoadedCatalog, Storage, TableColumn};
use crate::database::options::Purpose;
use crate::error::{Error, Unsupported};

/// The source of the value of a column of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ValueSource {
    /// A column of the table, by its position.
    Column(usize),
    /// A column of the row that is not a column of the table, by its position in the row: a
    /// uniquifier, or what was dropped.
    Row(usize),
    /// The RID of the row.
    Rid,
}

/// How an entry leads to its row.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Locator {
    /// It is the row: the index is clustered.
    Own,
    /// By the RID of the row, which this column of the entry holds.
    Rid(usize),
    /// By the clustered key: where its columns are in the entry, in key order.
    Key(Vec<usize>),
}

/// The key of a clustered index, as far as other indexes have it in their entries.
#[derive(Debug)]
struct BaseKey {
    /// Its columns, in key order; empty for a heap.
    sources: Vec<Source>,
    /// Where the uniquifier is in a row.
    uniquifier: Option<usize>,
}

impl BaseKey {
    fn of(storage: &Storage) -> BaseKey {
        let Some(index) = storage.base.clustered() else {
            return BaseKey { sources: Vec::new(), uniquifier: None };
        };
        let source = |at: &usize| match index.from.get(*at) {
            Some(ValueSource::Column(number)) => storage
                .columns
                .get(*number)
                .map_or(Source::Uniquifier, |column| Source::Column(column.id)),
            _ => Source::Uniquifier,
        };
        BaseKey {
            sources: index.key.iter().map(source).collect(),
            uniquifier: index.uniquifier(),
        }
    }
}

/// The constraint that an index is there for; it has the index's name.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Constraint {
    /// None: the index stands for itself.
    #[default]
    None,
    /// PRIMARY KEY: unique, no NULLs, one for each table.
    PrimaryKey,
    /// UNIQUE: as many as wanted; NULL counts as one value.
    Unique,
}

impl Constraint {
    pub(crate) fn of_status(status: u32) -> Constraint {
        if status & index_status::PRIMARY_KEY != 0 {
            Constraint::PrimaryKey
        } else if status & index_status::UNIQUE_CONSTRAINT != 0 {
            Constraint::Unique
        } else {
            Constraint::None
        }
    }

    /// The bit of the constraint in `sysidxstats.status`.
    pub(crate) fn status(self) -> u32 {
        match self {
            Constraint::None => 0,
            Constraint::PrimaryKey => index_status::PRIMARY_KEY,
            Constraint::Unique => index_status::UNIQUE_CONSTRAINT,
        }
    }
}

/// An index of a user table, with its tree.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    definition: IndexDefinition,
    tree: Arc<Tree>,
    /// One for each column of an entry.
    from: Vec<ValueSource>,
    /// The columns of an entry that its key consists of, in key order.
    key: Vec<usize>,
    locator: Locator,
    /// The rows that it has entries for.
    filter: Option<Arc<Condition>>,
    order: Arc<KeyOrder>,
}

impl Index {
    /// An index of the catalog.
    ///
    /// # Errors
    /// Why it cannot be kept true here.
    pub(crate) fn open(
        table: &TableDefinition,
        storage: &Storage,
        index: &model::Index,
        loaded: LoadedCatalog<'_>,
    ) -> Result<Index, String> {
        let name = index.name.clone().unwrap_or_default();
        let refused = |what: &str| Err(format!("index {name}, {what}"));
        if index.kind != IndexKind::Nonclustered {
            return refused(&format!("of kind {}", index.kind.name()));
        }
        let [rowset] = index.rowsets.as_slice() else {
            return refused("which has not one partition");
        };
        let rowset = loaded.catalog.rowsets.get(rowset);
        let Some((rowset, unit)) = rowset.and_then(|it| Some((it, loaded.unit(it)?))) else {
            return refused("whose pages are not known");
        };
        let definition = definition_of_index(index, Some(rowset));
        let mut layout = table.layout(&definition);
        if rowset.units.iter().any(|unit| unit.kind != AllocUnitKind::InRow && unit.pages_used > 0)
        {
            return refused("whose entries have values off them");
        }
        if (index.status & index_status::FILTERED != 0) != index.filter.is_some() {
            return refused("whose filter is not known");
        }
        let is_unknown = |column: &&TableColumn| is_unknown(column, &definition);
        if let Some(column) = storage.columns.iter().find(is_unknown) {
            return refused(&format!(
                "which has computed column {}, whose values are not known",
                column.name
            ));
        }
        if rowset.layout.columns.iter().any(|column| {
            !column.is_dropped() && column.ty.is_some_and(|ty| ty.is_max() || ty.is_lob())
        }) {
            // Entries have trees of their own, which are not kept here.
            return refused("which includes values of a LOB type");
        }
        if !is_same_form(&layout.row, &rowset.layout) {
            if loaded.purpose == Purpose::Change || !has_same_columns(&layout.row, &rowset.layout) {
                return refused("whose entries are laid out in a way of their own");
            }
            // As other versions lay them out.
            layout = RowsetLayout {
                row: rowset.layout.clone(),
                min_leaf: rowset.min_leaf,
                min_interior: rowset.min_interior,
                ..layout
            };
        }
        match Index::new(definition, &layout, storage, loaded.space.clone(), unit) {
            Ok(index) => Ok(index.with_order_unknown()),
            Err(error) => refused(&error.to_string()),
        }
    }

    /// A nonclustered index of a table by its definition, which is empty yet.
    pub(crate) fn new(
        definition: IndexDefinition,
        layout: &RowsetLayout,
        storage: &Storage,
        space: Arc<Space>,
        unit: Arc<Unit>,
    ) -> Result<Index, Error> {
        let columns = &storage.columns;
        let base = BaseKey::of(storage);
        let from = layout.sources.iter().map(|source| match source {
            Source::Column(id) => {
                columns.iter().position(|column| column.id == *id).map(ValueSource::Column)
            }
            Source::Rid => Some(ValueSource::Rid),
            Source::Uniquifier => base.uniquifier.map(ValueSource::Row),
        });
        let missing = || Error::catalog("an index names a column that its table has not got");
        let from = from.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let place = |source: &Source| layout.sources.iter().position(|own| own == source);
        let locator = match place(&Source::Rid) {
            Some(at) => Locator::Rid(at),
            None => Locator::Key(
                base.sources.iter().map(place).collect::<Option<_>>().ok_or_else(missing)?,
            ),
        };
        let shape = RowShape::of_layout(layout, false)?.with_declared_keys(definition.keys.len());
        let refused = |why: String| Unsupported::IndexFilter {
            index: definition.name.clone().unwrap_or_default(),
            why,
        };
        let filter = definition.filter.as_deref().map(|text| Condition::compile(text, columns));
        Ok(Index {
            order: Arc::new(KeyOrder::new()),
            filter: filter.transpose().map_err(refused)?.map(Arc::new),
            definition,
            tree: Arc::new(Tree::new(space, unit, shape)),
            from,
            key: layout.row.key_positions(),
            locator,
        })
    }

    /// The clustered index of a table, whose rows have this shape.
    pub(crate) fn clustered(
        definition: IndexDefinition,
        columns: &[TableColumn],
        shape: RowShape,
        space: Arc<Space>,
        unit: Arc<Unit>,
    ) -> Index {
        let layout = shape.layout().clone();
        let from = (0..layout.columns.len()).map(|at| {
            columns
                .iter()
                .position(|column| column.at == at)
                .map_or(ValueSource::Row(at), ValueSource::Column)
        });
        Index {
            order: Arc::new(KeyOrder::new()),
            definition,
            tree: Arc::new(Tree::new(space, unit, shape)),
            from: from.collect(),
            key: layout.key_positions(),
            locator: Locator::Own,
            filter: None,
        }
    }

    /// The same as one that was there when the database was opened: its order was not examined yet.
    pub(crate) fn with_order_unknown(self) -> Index {
        let order = Arc::new(KeyOrder::unknown(self.tree.shape()));
        Index { order, ..self }
    }

    /// The same over the tree of another one whose key it has.
    pub(crate) fn with_order_of(self, other: &Index) -> Index {
        Index { order: other.order.clone(), ..self }
    }

    /// The same over another, empty unit.
    pub(crate) fn over(&self, space: Arc<Space>, unit: Arc<Unit>) -> Index {
        let tree = Arc::new(Tree::new(space, unit, self.tree.shape().clone()));
        Index { tree, order: Arc::new(KeyOrder::new()), ..self.clone() }
    }

    /// The same when the columns of its table, which it has not, have changed.
    pub(crate) fn renumbered(
        &self,
        old: &[TableColumn],
        new: &[TableColumn],
    ) -> Result<Index, Error> {
        let missing =
            || Error::catalog(format!("index {} has a column that has gone", self.name()));
        let number = |from: &ValueSource| match from {
            ValueSource::Column(at) => {
                let id = old.get(*at).ok_or_else(missing)?.id;
                new.iter()
                    .position(|column| column.id == id)
                    .map(ValueSource::Column)
                    .ok_or_else(missing)
            }
            other => Ok(*other),
        };
        let from = self.from.iter().map(number).collect::<Result<_, Error>>()?;
        Ok(Index { from, ..self.clone() })
    }

    /// The same under another name.
    pub(crate) fn renamed(&self, name: &str) -> Index {
        let definition = IndexDefinition { name: Some(name.to_owned()), ..self.definition.clone() };
        Index { definition, ..self.clone() }
    }

    /// What the catalog says of it.
    pub(crate) fn definition(&self) -> &IndexDefinition {
        &self.definition
    }

    /// How full it gets when it is built again.
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

    /// Refuses to change an index that is out of order. Examines all of its keys at the first call.
    pub(crate) fn verify_writable(&self, table: &str) -> Result<(), Error> {
        self.order.verify_writable(&self.tree, self.name_of(table))
    }

    /// Where the index is out of order. Examines all of its keys at the first call.
    pub(crate) fn disorder(&self) -> Result<Option<Arc<Disorder>>, Error> {
        self.order.disorder(&self.tree)
    }

    /// With that of its table.
    pub(crate) fn name_of<'n>(&'n self, table: &'n str) -> IndexName<'n> {
        IndexName { table, index: self.name() }
    }

    /// The row of the tree with a sort key. Of an index out of order all rows are read when the way
    /// from the root does not lead to it.
    pub(crate) fn find_key(&self, key: &[u8]) -> Result<Option<btree::Row>, Error> {
        let found = self.tree.find_key(key)?;
        if found.is_some() || self.disorder()?.is_none() {
            return Ok(found);
        }
        for leaf in self.tree.leaf_chain(Ghosts::Skipped) {
            for row in leaf?.iter() {
                if self.key_of_record(row.bytes)? == key {
                    return Ok(Some(row.to_row()));
                }
            }
        }
        Ok(None)
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

    /// Has it entries for some rows only?
    pub(crate) fn filter(&self) -> Option<&Condition> {
        self.filter.as_deref()
    }

    /// Does it have anything of this column: as key, included, or as what it is filtered by?
    pub(crate) fn uses(&self, column: i32) -> bool {
        let filter = self.filter().is_some_and(|filter| filter.columns().contains(&column));
        has_column(&self.definition, column) || filter
    }

    /// The sort key of an entry.
    pub(crate) fn key_of_record(&self, entry: &[u8]) -> Result<Vec<u8>, Error> {
        let shape = self.tree.shape();
        Ok(shape.key(&shape.leaf(entry), Level::Leaf)?)
    }

    /// The columns of the tree's key, from an entry.
    pub(crate) fn key_of<'c>(&self, entry: &[Cell<'c>]) -> Vec<Cell<'c>> {
        self.key_cells(entry).cloned().collect()
    }

    /// The same as they lie in the entry.
    pub(crate) fn key_cells<'e, 'c>(
        &self,
        entry: &'e [Cell<'c>],
    ) -> impl Iterator<Item = &'e Cell<'c>> + Clone {
        self.key.iter().filter_map(|at| entry.get(*at))
    }

    /// The table's columns that the index was declared with, in key order.
    pub(crate) fn declared<'t>(
        &self,
        columns: &'t [TableColumn],
    ) -> impl Iterator<Item = &'t TableColumn> {
        self.key.iter().take(self.definition.keys.len()).filter_map(|at| {
            match self.from.get(*at)? {
                ValueSource::Column(number) => columns.get(*number),
                ValueSource::Row(_) | ValueSource::Rid => None,
            }
        })
    }

    /// Where a column of the table, by its number there, lies in an entry.
    pub(crate) fn position_of(&self, column: usize) -> Option<usize> {
        self.from.iter().position(|from| *from == ValueSource::Column(column))
    }

    /// The address of the row that an entry leads to, in a table whose rows have this shape.
    pub(crate) fn address(&self, record: &[u8], rows: &RowShape) -> Result<Address, Error> {
        let shape = self.tree.shape();
        let cells = shape.decode(record)?;
        let nowhere = || self.dangling_entry();
        match &self.locator {
            Locator::Own => Ok(Address::Key(shape.key_of_cells(&cells)?.into())),
            Locator::Rid(at) => match cells.get(*at) {
                Some(Cell::Bytes(bytes)) if let Ok(bytes) = <[u8; 8]>::try_from(&**bytes) => {
                    Ok(Address::Rid(Rid::from_bytes(bytes)))
                }
                _ => Err(nowhere()),
            },
            Locator::Key(places) => {
                let key =
                    places.iter().map(|at| cells.get(*at).cloned()).collect::<Option<Vec<_>>>();
                Ok(Address::Key(rows.prefix(&key.ok_or_else(nowhere)?)?.into()))
            }
        }
    }

    /// The RID in an entry.
    pub(crate) fn rid(&self, entry: &Record<'_>) -> Result<Rid, Error> {
        let Locator::Rid(at) = self.locator else { return Err(self.dangling_entry()) };
        match self.tree.shape().cell(entry, at)? {
            Cell::Bytes(bytes) if let Ok(bytes) = <[u8; 8]>::try_from(&*bytes) => {
                Ok(Rid::from_bytes(bytes))
            }
            _ => Err(self.dangling_entry()),
        }
    }

    /// Has the row that an entry leads to the values of the entry's key in its record, byte for
    /// byte? Where it has not, they may still belong together: letters may be of another case,
    /// values computed, and the filter is not evaluated here.
    pub(crate) fn has_bytes_of(
        &self,
        entry: &Record<'_>,
        row: &Record<'_>,
        storage: &Storage,
    ) -> Result<bool, Error> {
        if self.filter.is_some() {
            return Ok(false);
        }
        for at in &self.key {
            let of_row = match self.from.get(*at) {
                Some(ValueSource::Column(number)) => storage
                    .columns
                    .get(*number)
                    .filter(|column| column.is_stored())
                    .map(|column| column.at),
                Some(ValueSource::Row(at)) => Some(*at),
                Some(ValueSource::Rid) => continue,
                None => None,
            };
            let Some(of_row) = of_row else { return Ok(false) };
            let own = self.tree.shape().cell(entry, *at)?;
            let other = storage.shape.cell(row, of_row)?;
            if own != other && !(is_null(&own) && is_null(&other)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn dangling_entry(&self) -> Error {
        Error::catalog(format!("an entry of index {} leads nowhere", self.name()))
    }

    /// The bytes that keys begin with whose first columns have these values.
    pub(crate) fn prefix(&self, values: &[Cell<'_>]) -> Result<Vec<u8>, Error> {
        Ok(self.tree.shape().prefix(values)?)
    }

    /// The keys that begin with these values.
    pub(crate) fn keys_of(&self, values: &[Cell<'_>]) -> Result<KeyRange, Error> {
        Ok(KeyRange::of(self.prefix(values)?))
    }

    /// Are these values of the first columns of the key equal?
    pub(crate) fn is_same(&self, a: &[Cell<'_>], b: &[Cell<'_>]) -> Result<bool, Error> {
        Ok(self.prefix(a)? == self.prefix(b)?)
    }

    /// The cells of values of its first declared columns, which are looked for.
    pub(crate) fn sought(
        &self,
        columns: &[TableColumn],
        values: &[Datum<'_>],
    ) -> Result<Vec<Cell<'static>>, Error> {
        let expected = self.declared(columns).count();
        if values.len() > expected {
            return Err(Error::Columns { expected, found: values.len() });
        }
        self.declared(columns).zip(values).map(|(column, value)| column.sought(value)).collect()
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

/// Has an index a column whose values cannot be computed?
fn is_unknown(column: &TableColumn, index: &IndexDefinition) -> bool {
    let is_unknown = column.formula.as_ref().is_some_and(|formula| formula.unknown().is_some());
    is_unknown && has_column(index, column.id)
}
