//! The order of text keys: one total order per collation, that of sort keys, in every tree.
//!
//! ```text
//! index made by this engine       every key lies by its sort key; equal sort keys are equal keys
//! index there at the opening      examined once, before its first use
//!   in order                      read and changed like any other
//!   out of order                  its table is not changed; reads go through all of its leaves
//! key new to an attached index    refused when a character of it has a weight that is not certain
//! ```
//!
//! An index can be out of order because another product wrote it, or because an earlier version of
//! this engine had other weights. Rebuilding it puts it in order.
//!
//! Databases of another product keep its order: there a key with an uncertain character could end
//! up where that product does not look for it. What counts as attached: `docs/decisions` 18.

use extentdb_base::PageId;
use extentdb_base::sync::{Arc, RwLock, read, write};
use extentdb_buffer::Pool;
use extentdb_catalog::layout::{Cell, Level, cell};
use extentdb_format::allocation::boot::BootView;
use extentdb_rowset::btree::{Ghosts, Row, RowRef};
use extentdb_rowset::{RowShape, Tree};
use extentdb_template::has_creation_mark;
use extentdb_types::Datum;

use crate::error::Error;

/// Whose order the keys of a database lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Made by this engine or by `template`: ours.
    Own,
    /// Made by another product: that of the product.
    Attached,
}

impl Origin {
    /// By the boot page.
    pub(crate) fn read(pool: &Pool) -> Result<Origin, Error> {
        let page = pool.read(PageId::BOOT)?;
        let boot = BootView::new(&page).record();
        let is_own = boot.is_some_and(|boot| has_creation_mark(&boot));
        Ok(if is_own { Origin::Own } else { Origin::Attached })
    }

    /// Refuses a new key of an attached database that the product may order differently. `key` has
    /// the columns of the tree's key, in key order.
    ///
    /// # Errors
    /// [`Error::UncertainKey`].
    pub(crate) fn verify_new_key<'k, 'c: 'k>(
        self,
        names: IndexName<'_>,
        shape: &RowShape,
        key: impl Iterator<Item = &'k Cell<'c>> + Clone,
    ) -> Result<(), Error> {
        if self == Origin::Own || !shape.has_text_keys() {
            return Ok(());
        }
        let Some(character) = shape.uncertain_character(key.clone()) else { return Ok(()) };
        let table = names.table.to_owned();
        let index = names.index.to_owned();
        Err(Error::UncertainKey { table, index, key: describe(shape, key), character })
    }
}

/// An index, for messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexName<'n> {
    pub(crate) table: &'n str,
    pub(crate) index: &'n str,
}

/// Where the keys of an index are out of order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Disorder {
    /// A key lies before one that it is not less than.
    Keys { first: String, second: String },
    /// The keys of a leaf do not lie between the separators that lead to it.
    Separators { page: PageId },
}

impl Disorder {
    fn refusal(&self, IndexName { table, index }: IndexName<'_>) -> Error {
        let table = table.to_owned();
        let index = index.to_owned();
        match self.clone() {
            Disorder::Keys { first, second } => {
                Error::KeysOutOfOrder { table, index, first, second }
            }
            Disorder::Separators { page } => Error::SeparatorsOutOfOrder { table, index, page },
        }
    }
}

#[derive(Clone, Debug)]
enum OrderState {
    /// Not examined since the database was opened.
    Unknown,
    Ordered,
    OutOfOrder(Arc<Disorder>),
}

/// What is known of the order of the keys of one tree. Shared by all descriptions of the tree.
#[derive(Debug)]
pub(crate) struct KeyOrder {
    /// No other key can be out of order by its collation.
    has_texts: bool,
    /// Taken with no page latched.
    known: RwLock<OrderState>,
}

impl KeyOrder {
    /// Of an empty tree.
    pub(crate) fn new() -> KeyOrder {
        KeyOrder { has_texts: false, known: RwLock::new(OrderState::Ordered) }
    }

    /// Of a tree that was there when the database was opened.
    pub(crate) fn unknown(shape: &RowShape) -> KeyOrder {
        KeyOrder {
            has_texts: shape.has_text_keys(),
            known: RwLock::new(OrderState::Unknown),
        }
    }

    /// Where the tree is out of order. Examines all of its keys at the first call.
    ///
    /// # Errors
    /// The tree is damaged in another way, or a page of it cannot be read.
    pub(crate) fn disorder(&self, tree: &Tree) -> Result<Option<Arc<Disorder>>, Error> {
        if !self.has_texts {
            return Ok(None);
        }
        if matches!(*read(&self.known), OrderState::Unknown) {
            let mut known = write(&self.known);
            if matches!(*known, OrderState::Unknown) {
                let disorder = first_disorder(tree)?.map(Arc::new);
                *known = disorder.map_or(OrderState::Ordered, OrderState::OutOfOrder);
            }
        }
        Ok(match &*read(&self.known) {
            OrderState::OutOfOrder(disorder) => Some(disorder.clone()),
            OrderState::Unknown | OrderState::Ordered => None,
        })
    }

    /// Refuses to change a tree that is out of order.
    ///
    /// # Errors
    /// [`Error::KeysOutOfOrder`], [`Error::SeparatorsOutOfOrder`], and those of
    /// [`disorder`](Self::disorder).
    pub(crate) fn verify_writable(&self, tree: &Tree, names: IndexName<'_>) -> Result<(), Error> {
        match self.disorder(tree)? {
            None => Ok(()),
            Some(disorder) => Err(disorder.refusal(names)),
        }
    }
}

/// The first two keys, of ghosts, too, that are out of order.
fn first_disorder(tree: &Tree) -> Result<Option<Disorder>, Error> {
    let mut before: Option<(Vec<u8>, Row)> = None;
    for row in tree.scan_all(&[])? {
        let row = match row {
            Ok(row) => row,
            Err(extentdb_rowset::Error::KeysOutOfOrder { page }) => {
                let falling = first_falling(tree)?;
                return Ok(Some(falling.unwrap_or(Disorder::Separators { page })));
            }
            Err(error) => return Err(error.into()),
        };
        let key = sort_key(tree, &row.bytes)?;
        if let Some((last, first)) = &before
            && *last == key
            // A ghost may lie next to the row of its key.
            && !first.is_ghost()
            && !row.is_ghost()
        {
            return Ok(Some(keys(tree, &first.bytes, &row.bytes)));
        }
        before = Some((key, row));
    }
    Ok(None)
}

/// The first two adjacent keys along the leaves of which the second is less.
fn first_falling(tree: &Tree) -> Result<Option<Disorder>, Error> {
    let mut before: Option<(Vec<u8>, Row)> = None;
    for leaf in tree.leaf_chain(Ghosts::Included) {
        for row in leaf?.iter().map(RowRef::to_row) {
            let key = sort_key(tree, &row.bytes)?;
            if let Some((last, first)) = &before
                && key < *last
            {
                return Ok(Some(keys(tree, &first.bytes, &row.bytes)));
            }
            before = Some((key, row));
        }
    }
    Ok(None)
}

fn sort_key(tree: &Tree, record: &[u8]) -> Result<Vec<u8>, Error> {
    let shape = tree.shape();
    Ok(shape.key(&shape.leaf(record), Level::Leaf)?)
}

fn keys(tree: &Tree, first: &[u8], second: &[u8]) -> Disorder {
    let [first, second] = [first, second].map(|record| describe_record(tree.shape(), record));
    Disorder::Keys { first, second }
}

fn describe_record(shape: &RowShape, record: &[u8]) -> String {
    let record = shape.leaf(record);
    let cells =
        shape.key_columns().map(|column| cell(&record, column, Level::Leaf).unwrap_or(Cell::Null));
    let cells: Vec<Cell<'_>> = cells.collect();
    describe(shape, cells.iter())
}

/// The columns of a key, in key order, for messages.
fn describe<'k, 'c: 'k>(shape: &RowShape, key: impl Iterator<Item = &'k Cell<'c>>) -> String {
    let text = |(column, cell): (&extentdb_catalog::PhysicalColumn, &Cell<'_>)| {
        let Cell::Bytes(bytes) = cell else { return "<NULL>".to_owned() };
        let mut text = String::new();
        if let Some(value) = column.ty.and_then(|ty| Datum::decode(&ty, bytes).ok()) {
            // Writing into a string does not fail.
            let _ = extentdb_types::plain::write_plain(&value, &mut text);
        }
        text
    };
    shape.key_columns().zip(key).map(text).collect::<Vec<_>>().join(", ")
}
