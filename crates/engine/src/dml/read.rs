//! Reading rows with callbacks: one by its address, all of a table, a range of an index.
//!
//! ```text
//! get             one row, by its address
//! scan            all rows          ┐
//! range, seek     a range           ├ sources that are read to their end: scan::source
//! visit           the same, in place┘
//! ```

use std::ops::{Bound, ControlFlow};

use extentdb_base::sync::Arc;
use extentdb_rowset::btree::KeyRange;
use extentdb_types::Datum;

use crate::catalog::{Address, Base, Index, Storage, Table};
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::hints::{ReadHints, RowLock};
use crate::scan::reading::Extent;
use crate::scan::source::{HeapSource, RangeSource, SortedSource, drain};
use crate::session::{Row, SeenVersions, Session, StatementContext};

pub(crate) use crate::scan::reading::{EachRow, Reading};

/// Receives the rows that are read.
pub(crate) type Each<'e> = &'e mut dyn FnMut(Address, Row) -> ControlFlow<()>;

/// A range of an index, by values of its first key columns. Fewer values than columns stand for all
/// keys that begin with them.
#[derive(Clone, Debug)]
pub struct Range<'r> {
    /// Name of the index.
    pub index: &'r str,
    /// Where it begins in the order of the index.
    pub from: Bound<&'r [Datum<'r>]>,
    /// Where it ends in the order of the index.
    pub to: Bound<&'r [Datum<'r>]>,
    /// From its end to its beginning.
    pub backward: bool,
    /// How its rows are locked.
    pub hints: ReadHints,
}

impl<'r> Range<'r> {
    /// All of an index.
    pub fn all(index: &'r str) -> Range<'r> {
        let from = Bound::Unbounded;
        let to = Bound::Unbounded;
        let hints = ReadHints::default();
        Range { index, from, to, backward: false, hints }
    }

    /// The keys that begin with these values.
    pub fn of(index: &'r str, values: &'r [Datum<'r>]) -> Range<'r> {
        Range {
            from: Bound::Included(values),
            to: Bound::Included(values),
            ..Range::all(index)
        }
    }

    /// The same from its end to its beginning.
    #[must_use]
    pub fn backward(self) -> Range<'r> {
        Range { backward: true, ..self }
    }

    /// The same, to be changed: rows are locked U until the transaction ends.
    #[must_use]
    pub fn for_update(self) -> Range<'r> {
        let hints = ReadHints { row_lock: RowLock::Update, ..self.hints };
        Range { hints, ..self }
    }

    pub(crate) fn keys(&self, index: &Index, storage: &Storage) -> Result<KeyRange, Error> {
        let prefix = |values: &[Datum<'_>]| index.prefix(&index.sought(&storage.columns, values)?);
        if let (Bound::Included(from), Bound::Included(to)) = (self.from, self.to)
            && std::ptr::eq(from, to)
        {
            return Ok(KeyRange::of(prefix(from)?));
        }
        let bound = |bound: Bound<&[Datum<'_>]>| {
            Ok::<_, Error>(match bound {
                Bound::Included(values) => Bound::Included(prefix(values)?),
                Bound::Excluded(values) => Bound::Excluded(prefix(values)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let lower = bound(self.from)?;
        let upper = bound(self.to)?;
        let range = KeyRange::all().with_lower(lower.as_ref().map(Vec::as_slice));
        Ok(range.with_upper(upper.as_ref().map(Vec::as_slice)))
    }
}

impl Session {
    /// The row at an address; waits for a transaction that is changing it.
    pub fn get(&mut self, table: &Table, at: &Address) -> Result<Option<Row>, Error> {
        self.row_at(table, at, ReadHints::default())
    }

    /// The same of a row that is to be changed: it is locked U until the transaction ends.
    pub fn row_for_update(&mut self, table: &Table, at: &Address) -> Result<Option<Row>, Error> {
        self.row_at(table, at, ReadHints::for_update())
    }

    /// The row at an address, locked as the hints say. `None` of one that READPAST leaves out.
    ///
    /// # Errors
    /// A lock is not granted, or the row cannot be read.
    pub fn row_at(
        &mut self,
        table: &Table,
        at: &Address,
        hints: ReadHints,
    ) -> Result<Option<Row>, Error> {
        self.statement("SELECT", |context| {
            // One row, not the range around it.
            context.lock_to_read(table, hints, Extent::Part)?;
            let storage = table.storage();
            let seen = context.seen(hints);
            let versions = seen.as_ref().map(SeenVersions::versions);
            let found =
                context.read_row(Reading { table, storage: &storage, hints, versions }, at)?;
            found.map(|found| storage.values(&found.record, versions)).transpose()
        })
    }

    /// Calls `each` with every row. Rows that others are changing are waited for.
    pub fn scan(&mut self, table: &Table, each: Each<'_>) -> Result<(), Error> {
        self.scan_with(table, ReadHints::default(), each)
    }

    /// Calls `each` with every row, locked as the hints say.
    ///
    /// # Errors
    /// A lock is not granted, or a row cannot be read.
    pub fn scan_with(
        &mut self,
        table: &Table,
        hints: ReadHints,
        each: Each<'_>,
    ) -> Result<(), Error> {
        self.statement("SELECT", |context| {
            let storage = context.lock_whole(table, hints)?;
            let seen = context.seen(hints);
            let versions = seen.as_ref().map(SeenVersions::versions);
            let reading = Reading { table, storage: &storage, hints, versions };
            context.scan_rows(reading, &mut |row| Ok(each(row.address()?, row.values()?)))
        })
    }

    /// Calls `each` with every row whose first key columns have these values, in the order of the
    /// index.
    ///
    /// # Errors
    /// There is no such index, or a value is not one of its column.
    pub fn seek(
        &mut self,
        table: &Table,
        index: &str,
        values: &[Datum<'_>],
        each: Each<'_>,
    ) -> Result<(), Error> {
        self.range(table, &Range::of(index, values), each)
    }

    /// Calls `each` with every row of a range of an index, in its order or against it.
    ///
    /// # Errors
    /// There is no such index, or a value is not one of its column.
    pub fn range(&mut self, table: &Table, range: &Range<'_>, each: Each<'_>) -> Result<(), Error> {
        self.visit(table, range, &mut |row| Ok(each(row.address()?, row.values()?)))
    }

    /// The same without copies: values are decoded on demand.
    ///
    /// # Errors
    /// As for [`range`](Self::range), and those of `each`.
    pub fn visit(
        &mut self,
        table: &Table,
        range: &Range<'_>,
        each: &mut dyn FnMut(&RowRef<'_>) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        self.statement("SELECT", |context| {
            context.lock_to_read(table, range.hints, Extent::Part)?;
            let storage = table.storage();
            let index = storage.index(range.index).ok_or_else(|| table.no_index(range.index))?;
            let keys = range.keys(index, &storage)?;
            let seen = context.seen(range.hints);
            let versions = seen.as_ref().map(SeenVersions::versions);
            let reading = Reading { table, storage: &storage, hints: range.hints, versions };
            context.read_range(reading, index, keys, range.backward, each)
        })
    }
}

impl StatementContext<'_> {
    /// All rows of a table that is locked.
    pub(crate) fn scan_rows(&mut self, of: Reading<'_>, each: EachRow<'_>) -> Result<(), Error> {
        match &of.storage.base {
            Base::Heap(heap) => {
                let mut source = HeapSource::new(heap)?;
                drain(|| self.step_heap(of, heap, &mut source, each))
            }
            Base::Clustered(index) => self.read_range(of, index, KeyRange::all(), false, each),
        }
    }

    /// Locks a table that is read as a whole, and returns what it is.
    pub(crate) fn lock_whole(
        &mut self,
        table: &Table,
        hints: ReadHints,
    ) -> Result<Arc<Storage>, Error> {
        self.lock_to_read(table, hints, Extent::Part)?;
        let storage = table.storage();
        if storage.base.heap().is_some() {
            self.lock_to_read(table, hints, Extent::WholeHeap)?;
        }
        Ok(storage)
    }

    /// Rows of a range of an index, in its order or against it.
    pub(crate) fn read_range(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        range: KeyRange,
        backward: bool,
        each: EachRow<'_>,
    ) -> Result<(), Error> {
        if index.disorder()?.is_some() {
            let mut source = SortedSource::new(self, index, &range, backward)?;
            return drain(|| self.step_sorted(of, index, &mut source, each));
        }
        let mut source = RangeSource::new(range, backward);
        drain(|| self.step_range(of, index, &mut source, each))
    }
}
