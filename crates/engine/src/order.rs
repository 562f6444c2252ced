//! Where texts lie in an index: what is known of their order, and what must be known before an entry comes or is looked for.
//!
//! The order of texts under a collation is known here in part: of two texts it is decided, or it is not. A tree must put every key
//! somewhere all the same, and does so by its bytes. So there are two orders: the *true* one, of the real product, and *ours*. An
//! index can be used when its entries lie in both at once, and stays so by what is asked here.
//!
//! ```text
//! opening   all entries lie in our order (else nothing is found); two neighbours that are decided, as they lie
//! insert    before ◀ decided ▶ entry ◀ decided ▶ behind        what lies beside its place: rows, ghosts, separators
//! seek      before ◀ decided ▶ │ from … to │ ◀ decided ▶ behind   at each end of a range: on which side of it they are
//! build     every two entries that lie one behind the other are decided
//! ```
//!
//! Why that is enough: the true order is an order, so what lies between two others stays there whoever else comes or goes.
//! - A tree that the product wrote is in the true order, and so is one written here by these rules. When an entry between two
//!   others goes, these may be a pair that is not decided; they lie right all the same, and the next opening does not ask.
//! - An entry that is decided against both neighbours lies where the product would have put it. A unique index has no other one
//!   that is equal to it, in whatever bytes: that would have to lie between the two.
//! - Separators count like entries: the way to an entry goes by them, and they stay when the row they were made of has gone.
//! - When the nearest keys on both sides of an end of a range are decided, all others are.
//!
//! A text is *certain* when it is decided against every other one that is. In an index that has no others nothing needs to be
//! asked, and such entries come side by side. Any other entry comes alone, from the look at its neighbours until it is in the tree:
//! nobody ever looks at a neighbour that is itself in doubt. Entries that go, also by rollback, leave the others where they are.
//!
//! What comes to the ends of a range while it is read is looked for behind the reading, too.
//! What else was thought of: `docs/decisions` 14.

use std::cmp;

use extentdb_base::sync::atomic::{AtomicU64, Ordering};
use extentdb_base::sync::{RwLock, read, write};
use extentdb_catalog::layout::Cell;
use extentdb_rowset::btree::{Beside, Edge, Key, KeyRange, SortedRows};
use extentdb_rowset::layout::KeyOrder;
use extentdb_rowset::{RowShape, Tree};
use extentdb_txn::Transaction;
use extentdb_types::{Datum, SqlType};

use crate::column::TableColumn;
use crate::error::Error;
use crate::index::Index;
use crate::system_table::owned;

/// What is known of the order of an index's entries.
#[derive(Clone, Debug)]
enum Known {
    /// Nobody has looked since the database was opened.
    Unknown,
    /// All texts, of separators, too, are certain.
    Certain,
    /// Some are not, and lie right.
    Pairwise,
    /// Some lie in another order than ours, or are not told apart here.
    Refused(String),
}

/// The order of the entries of one tree.
#[derive(Debug)]
pub(crate) struct Order {
    /// Without texts in the key all of this is idle.
    has_texts: bool,
    /// Held shared by those who put certain entries among certain ones, alone by all others who put entries there. Taken behind
    /// locks of transactions, before pages.
    known: RwLock<Known>,
    /// Counts what is put among entries that are not all certain, before and behind that: odd while it happens.
    comings: AtomicU64,
}

impl Order {
    /// Of a tree that is empty.
    pub(crate) fn new(shape: &RowShape) -> Order {
        Order::with(shape, Known::Certain)
    }

    /// Of a tree that was there when the database was opened.
    pub(crate) fn unknown(shape: &RowShape) -> Order {
        Order::with(shape, Known::Unknown)
    }

    fn with(shape: &RowShape, known: Known) -> Order {
        Order { has_texts: shape.has_text_keys(), known: RwLock::new(known), comings: AtomicU64::new(0) }
    }

    /// How often something has come; `None` while it does, and where what comes is not counted.
    fn quiet(&self) -> Option<u64> {
        let comings = self.comings.load(Ordering::SeqCst);
        (comings.is_multiple_of(2) && !self.is_certain()).then_some(comings)
    }

    fn is_certain(&self) -> bool {
        matches!(*read(&self.known), Known::Certain)
    }

    /// An entry that is not certain is about to come.
    fn doubt(&self) {
        let mut known = write(&self.known);
        if matches!(*known, Known::Certain) {
            *known = Known::Pairwise;
        }
    }
}

/// An end of a range of keys: before or behind those that begin with some values.
#[derive(Debug)]
pub(crate) struct End {
    values: Vec<Cell<'static>>,
    prefix: Vec<u8>,
    is_behind: bool,
}

/// When the ends of a range were looked at, as a count of what had come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looked(Option<u64>);

/// A range of an index, and its ends as values.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) keys: KeyRange,
    pub(crate) ends: Vec<End>,
}

impl Sought {
    /// All keys.
    pub(crate) fn all() -> Sought {
        Sought { keys: KeyRange::all(), ends: Vec::new() }
    }

    /// The keys that begin with these values.
    pub(crate) fn of(index: &Index, values: &[Cell<'_>]) -> Result<Sought, Error> {
        Sought::all().not_before(index, values, false)?.not_behind(index, values, false)
    }

    /// Those of them that are not before these values, or, with `is_open`, behind them.
    pub(crate) fn not_before(
        mut self,
        index: &Index,
        values: &[Cell<'_>],
        is_open: bool,
    ) -> Result<Sought, Error> {
        let prefix = self.end(index, values, is_open)?;
        self.keys = self.keys.not_before(&prefix, is_open);
        Ok(self)
    }

    /// Those of them that are not behind these values, or, with `is_open`, before them.
    pub(crate) fn not_behind(
        mut self,
        index: &Index,
        values: &[Cell<'_>],
        is_open: bool,
    ) -> Result<Sought, Error> {
        let prefix = self.end(index, values, !is_open)?;
        self.keys = self.keys.not_behind(&prefix, is_open);
        Ok(self)
    }

    fn end(&mut self, index: &Index, values: &[Cell<'_>], is_behind: bool) -> Result<Vec<u8>, Error> {
        let prefix = index.tree().shape().prefix(values)?;
        if index.order().has_texts {
            let values = values.iter().cloned().map(owned).collect();
            self.ends.push(End { values, prefix: prefix.clone(), is_behind });
        }
        Ok(prefix)
    }
}

impl Index {
    /// Refuses to use an index whose entries lie otherwise than they would be looked for. Looks at all of them when nobody has.
    pub(crate) fn verify_order(&self, columns: &[TableColumn]) -> Result<(), Error> {
        let order = self.order();
        if !order.has_texts {
            return Ok(());
        }
        if matches!(*read(&order.known), Known::Unknown) {
            let mut known = write(&order.known);
            if matches!(*known, Known::Unknown) {
                *known = self.look(columns)?;
            }
        }
        match &*read(&order.known) {
            Known::Refused(why) => Err(Error::NotSupported { what: format!("index {}, {why}", self.name()) }),
            _ => Ok(()),
        }
    }

    /// Looks at all entries, ghosts among them.
    fn look(&self, columns: &[TableColumn]) -> Result<Known, Error> {
        let (shape, mut is_certain) = (self.tree().shape(), true);
        let mut before: Option<(Vec<u8>, bool)> = None;
        for entry in self.tree().scan_all(&[])? {
            let entry = match entry {
                Ok(entry) => entry.bytes,
                Err(extentdb_rowset::Error::Corrupt { page, .. }) => {
                    let what =
                        format!("whose texts on page {page} lie in another order than the one known here");
                    return Ok(Known::Refused(what));
                }
                Err(error) => return Err(error.into()),
            };
            let cells = shape.decode(&entry)?;
            let is_sure = shape.is_certain_about(self.key_cells(&cells));
            is_certain &= is_sure;
            if let Some((before, was_sure)) = &before
                && !(is_sure && *was_sure)
                && !self.is_behind(&entry, before)?
            {
                let texts = [&shape.decode(before)?, &cells].map(|cells| self.describe(cells, columns));
                let [before, behind] = texts;
                return Ok(Known::Refused(format!(
                    "in which ({before}) comes before ({behind}), and here it is not known to"
                )));
            }
            before = Some((entry, is_sure));
        }
        Ok(if is_certain && self.has_certain_separators()? { Known::Certain } else { Known::Pairwise })
    }

    /// Does an entry come behind another one, as it lies, for all that is known? A ghost may lie beside the row of its key.
    fn is_behind(&self, entry: &[u8], before: &[u8]) -> Result<bool, Error> {
        let shape = self.tree().shape();
        let [a, b] = [before, entry].map(|record| shape.decode(record));
        let (a, b) = (self.key_of(&a?), self.key_of(&b?));
        let by_bytes = self.key_of_record(before)?.cmp(&self.key_of_record(entry)?);
        Ok(match shape.compare(&a, &b)? {
            KeyOrder::Decided(order) => order == by_bytes,
            KeyOrder::Open(_) => by_bytes.is_ne(),
        })
    }

    /// Rows may have gone of which separators were made.
    fn has_certain_separators(&self) -> Result<bool, Error> {
        let (tree, mut at) = (self.tree(), Vec::new());
        while let Some(separator) = tree.separator_behind(&at)? {
            if !tree.shape().is_certain_about(&separator.cells) {
                return Ok(false);
            }
            at = separator.bytes;
        }
        Ok(true)
    }

    /// Puts an entry, by its key and its cells, into the tree. The order of the index was verified.
    ///
    /// # Errors
    /// It is not known for certain that its place is the true one: nothing has changed then. There is an entry with its key.
    pub(crate) fn insert(
        &self,
        tx: &mut Transaction,
        (key, entry): (&[u8], &[Cell<'_>]),
        columns: &[TableColumn],
    ) -> Result<(), Error> {
        let order = self.order();
        if !order.has_texts {
            return Ok(self.tree().insert_at(tx, key, entry)?);
        }
        let is_sure = self.tree().shape().is_certain_about(self.key_cells(entry));
        if is_sure {
            let known = read(&order.known);
            if matches!(*known, Known::Certain) {
                return Ok(self.tree().insert_at(tx, key, entry)?);
            }
        }
        let mut known = write(&order.known);
        self.verify_place(key, entry, columns)?;
        if !is_sure {
            *known = Known::Pairwise;
        }
        order.comings.fetch_add(1, Ordering::SeqCst);
        let inserted = self.tree().insert_at(tx, key, entry);
        order.comings.fetch_add(1, Ordering::SeqCst);
        Ok(inserted?)
    }

    /// Puts other bytes into an entry whose key, as bytes that are compared, stays.
    ///
    /// # Errors
    /// The texts of its key are other ones, as far as is known.
    pub(crate) fn replace(
        &self,
        tx: &mut Transaction,
        (before, after): (&[Cell<'_>], &[Cell<'_>]),
        columns: &[TableColumn],
    ) -> Result<(), Error> {
        if self.order().has_texts {
            let (own, now) = (self.key_of(before), self.key_of(after));
            self.verify_pair((&own, &now), cmp::Ordering::Equal, columns)?;
            if !self.tree().shape().is_certain_about(&now) {
                self.order().doubt();
            }
        }
        Ok(self.tree().replace(tx, after)?)
    }

    /// Refuses an entry that is not decided against what lies beside its place.
    fn verify_place(&self, key: &[u8], entry: &[Cell<'_>], columns: &[TableColumn]) -> Result<(), Error> {
        match open_neighbour(self.tree(), Edge::Before(key), &self.key_of(entry))? {
            None => Ok(()),
            Some((neighbour, at)) => Err(self.misplaced(&neighbour, at, columns)),
        }
    }

    /// Refuses a key whose order against another one is not known, or not that of their bytes.
    fn verify_pair(
        &self,
        (neighbour, own): (&[Cell<'_>], &[Cell<'_>]),
        by_bytes: cmp::Ordering,
        columns: &[TableColumn],
    ) -> Result<(), Error> {
        match open_column(self.tree().shape(), (neighbour, own), by_bytes)? {
            None => Ok(()),
            Some(at) => Err(self.misplaced(neighbour, at, columns)),
        }
    }

    fn misplaced(&self, neighbour: &[Cell<'_>], at: usize, columns: &[TableColumn]) -> Error {
        let column = self.key_column(at, columns).map(|column| column.name.clone());
        let text = describe(self.tree().shape(), neighbour, at);
        let what =
            format!("its place beside '{text}' in index {} is not known under its collation", self.name());
        Error::Value { column: column.unwrap_or_default(), what }
    }

    /// Are these values, of the first columns of the key, the same?
    ///
    /// # Errors
    /// That is not known for certain.
    pub(crate) fn is_same(&self, a: &[Cell<'_>], b: &[Cell<'_>]) -> Result<bool, Error> {
        let shape = self.tree().shape();
        match shape.compare(a, b)? {
            KeyOrder::Decided(order) => Ok(order.is_eq()),
            KeyOrder::Open(at) => {
                let [a, b] = [a, b].map(|key| describe(shape, key, at));
                Err(Error::NotSupported { what: format!("to tell '{a}' from '{b}' under their collation") })
            }
        }
    }

    /// Refuses a range of which it is not certain where it begins or ends among the entries, which is asked for again when it was
    /// read: [`verify_still`](Self::verify_still).
    pub(crate) fn verify_ends(&self, ends: &[End]) -> Result<Looked, Error> {
        let looked = Looked(self.order().quiet());
        ends.iter().try_for_each(|end| self.verify_end(end))?;
        Ok(looked)
    }

    /// Refuses a range to whose ends something has come since they were looked at, and it is not certain on which side it is.
    pub(crate) fn verify_still(&self, ends: &[End], looked: Looked) -> Result<(), Error> {
        if looked.0.is_some() && looked.0 == self.order().quiet() {
            return Ok(());
        }
        self.verify_ends(ends).map(drop)
    }

    fn verify_end(&self, end: &End) -> Result<(), Error> {
        let (tree, shape) = (self.tree(), self.tree().shape());
        let is_text = |ty: SqlType| ty.collation().is_some();
        let has_text =
            shape.key_columns().take(end.values.len()).any(|column| column.ty.is_some_and(is_text));
        if !has_text || (self.order().is_certain() && shape.is_certain_about(&end.values)) {
            return Ok(());
        }
        let edge = if end.is_behind { Edge::Behind(&end.prefix) } else { Edge::Before(&end.prefix) };
        match open_neighbour(tree, edge, &end.values)? {
            None => Ok(()),
            Some((neighbour, at)) => {
                let [sought, there] = [&end.values, &neighbour].map(|key| describe(shape, key, at));
                let what = format!(
                    "to look for '{sought}' in index {}: how it stands to '{there}' under its collation is not known",
                    self.name()
                );
                Err(Error::NotSupported { what })
            }
        }
    }
}

/// What lies beside a place and is not decided against the values that the place is of, or otherwise than the bytes of the two are;
/// and the column, counted from 0 in key order, that leaves it open. Both as the values of their keys.
pub(crate) fn open_neighbour(
    tree: &Tree,
    edge: Edge<'_>,
    own: &[Cell<'_>],
) -> Result<Option<(Vec<Cell<'static>>, usize)>, Error> {
    let (Edge::Before(prefix) | Edge::Behind(prefix)) = edge;
    let Beside { before, behind } = tree.beside(edge)?;
    for Key { bytes, cells } in before.into_iter().chain(behind) {
        let is_same = bytes.starts_with(prefix);
        let by_bytes = if is_same { cmp::Ordering::Equal } else { bytes.as_slice().cmp(prefix) };
        if let Some(at) = open_column(tree.shape(), (&cells, own), by_bytes)? {
            return Ok(Some((cells, at)));
        }
    }
    Ok(None)
}

/// The column that leaves open how two keys stand to each other; the first one when they stand otherwise than their bytes.
fn open_column(
    shape: &RowShape,
    (a, b): (&[Cell<'_>], &[Cell<'_>]),
    by_bytes: cmp::Ordering,
) -> Result<Option<usize>, Error> {
    Ok(match shape.compare(a, b)? {
        KeyOrder::Decided(order) if order == by_bytes => None,
        KeyOrder::Decided(_) => Some(0),
        KeyOrder::Open(at) => Some(at),
    })
}

/// A column of a key, for people.
pub(crate) fn describe(shape: &RowShape, key: &[Cell<'_>], at: usize) -> String {
    let (ty, cell) = (shape.key_columns().nth(at).and_then(|column| column.ty), key.get(at));
    let mut text = String::new();
    if let (Some(ty), Some(Cell::Bytes(bytes))) = (ty, cell)
        && let Ok(value) = Datum::decode(&ty, bytes)
    {
        // Writing into a string does not fail.
        let _ = extentdb_types::plain::write_plain(&value, &mut text);
    }
    text
}

/// Looks at the entries of an index that is made, as they come in the order of their keys.
pub(crate) struct Run<'i> {
    index: &'i Index,
    columns: &'i [TableColumn],
    before: Option<(Vec<Cell<'static>>, bool)>,
}

impl<'i> Run<'i> {
    pub(crate) fn new(index: &'i Index, columns: &'i [TableColumn]) -> Run<'i> {
        Run { index, columns, before: None }
    }

    /// Looks at the order of all entries that an index is built of.
    ///
    /// # Errors
    /// That of two side by side is not known.
    pub(crate) fn verify_all(
        index: &'i Index,
        columns: &'i [TableColumn],
        entries: &SortedRows,
    ) -> Result<(), Error> {
        if !index.order().has_texts || entries.is_certain() {
            return Ok(());
        }
        let mut run = Run::new(index, columns);
        let shape = index.tree().shape();
        entries.records().try_for_each(|record| run.verify_next(&shape.decode(record)?))
    }

    /// The next entry.
    ///
    /// # Errors
    /// Its order against the one before is not known.
    pub(crate) fn verify_next(&mut self, entry: &[Cell<'_>]) -> Result<(), Error> {
        let index = self.index;
        if !index.order().has_texts {
            return Ok(());
        }
        let key: Vec<_> = index.key_of(entry).into_iter().map(owned).collect();
        let is_sure = index.tree().shape().is_certain_about(&key);
        if let Some((before, was_sure)) = &self.before
            && !(is_sure && *was_sure)
        {
            let shape = index.tree().shape();
            let by_bytes = shape.prefix(before)?.cmp(&shape.prefix(&key)?);
            index.verify_pair((before, &key), by_bytes, self.columns)?;
        }
        if !is_sure {
            index.order().doubt();
        }
        self.before = Some((key, is_sure));
        Ok(())
    }
}
