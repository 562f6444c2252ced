//! Cursors: readings that are pulled batch by batch, paused between two of them, and kept across
//! statements. A session has as many as it likes.
//!
//! ```text
//! open_cursor ──▶ Cursor: table, what it was then, what is left
//!                   next_batch(session) ──▶ statement: lock the table, same as then? step by step ──▶ RowBatch
//! ```
//!
//! A cursor with a snapshot sees what its snapshot sees, to its end. What any other one sees is
//! what its isolation level gives each batch for itself: rows that are inserted, deleted or moved
//! while it is paused may be seen or not, and none is seen twice unless its key changed. An update
//! or delete of what was read goes by [`Address`], which stays right when pages split and rows of
//! heaps move, so a statement may change the table that its own cursor reads. A row that gets a
//! greater key is met again: a statement that updates the key of the index it reads by collects
//! addresses first.
//!
//! Invariants
//! - A paused cursor holds no latch, no page and no lock of its own. Locks that its reading left
//!   are the transaction's; outside of a transaction each batch is one by itself.
//! - A batch that fails changes nothing: the next call reads the same rows.

use std::ops::{ControlFlow, Range as Bytes};

use extentdb_base::Rid;
use extentdb_base::sync::Arc;
use extentdb_rowset::btree::KeyRange;

use crate::catalog::{Base, Index, Storage, Table};
use crate::dml::read::Range;
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::hints::ReadHints;
use crate::scan::reading::{EachRow, Extent, Reading};
use crate::scan::source::{HeapSource, RangeSource, SortedSource, Step};
use crate::session::{SeenVersions, Session, StatementContext};

/// Which rows are read, and how.
#[derive(Clone, Debug)]
pub enum Access<'r> {
    /// All rows, in the order of the heap or of the clustered index.
    Table(ReadHints),
    /// Those of a range of an index, in its order or against it.
    Range(Range<'r>),
}

/// A reading that is pulled batch by batch. It keeps the files of its database open, and is dropped
/// before they are opened again.
#[derive(Clone, Debug)]
pub struct Cursor {
    opened: Opened,
    source: Source,
}

/// A table as it was when a reading of it began.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    pub(crate) table: Arc<Table>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) hints: ReadHints,
    pub(crate) extent: Extent,
    /// What the reading sees, all of its batches the same; `None`: what is there when they are
    /// read.
    pub(crate) seen: Option<SeenVersions>,
}

/// What is left.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Heap(HeapSource),
    Range(Arc<Index>, RangeSource),
    Sorted(Arc<Index>, SortedSource),
}

/// Rows of a cursor, as they were read.
#[derive(Debug)]
pub struct RowBatch {
    storage: Arc<Storage>,
    seen: Option<SeenVersions>,
    /// Their records, concatenated.
    bytes: Vec<u8>,
    rows: Vec<BatchRow>,
}

#[derive(Clone, Debug)]
struct BatchRow {
    record: Bytes<usize>,
    /// Of a row of a heap.
    rid: Option<Rid>,
}

impl Session {
    /// A cursor at the beginning of what it reads.
    ///
    /// # Errors
    /// There is no such index, a value is not one of its column, or the table cannot be locked.
    pub fn open_cursor(
        &mut self,
        table: &Arc<Table>,
        access: &Access<'_>,
    ) -> Result<Cursor, Error> {
        self.statement("OPEN", |context| {
            let (opened, source) = context.open_reading(table, access)?;
            Ok(Cursor { opened, source })
        })
    }
}

impl Cursor {
    /// The next rows: `rows` of them, and fewer only at the end. `None` when nothing is left.
    ///
    /// # Errors
    /// A lock is not granted, a row cannot be read, the statement is cancelled, or
    /// [`Error::TableChanged`]. The cursor stays where it was.
    pub fn next_batch(
        &mut self,
        session: &mut Session,
        rows: usize,
    ) -> Result<Option<RowBatch>, Error> {
        let mut source = self.source.clone();
        let mut batch = RowBatch::new(&self.opened);
        let opened = &self.opened;
        session.statement("FETCH", |context| {
            context.resume(opened)?;
            let each = &mut |row: &RowRef<'_>| Ok(batch.push(row, rows));
            while context.step(opened.reading(), &mut source, each)? == Step::More {}
            Ok(())
        })?;
        self.source = source;
        Ok((!batch.is_empty()).then_some(batch))
    }

    /// The table that it reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.opened.table
    }
}

impl Opened {
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading {
            table: &self.table,
            storage: &self.storage,
            hints: self.hints,
            versions: self.seen.as_ref().map(SeenVersions::versions),
        }
    }
}

impl StatementContext<'_> {
    /// Begins a reading that may be paused.
    pub(crate) fn open_reading(
        &mut self,
        table: &Arc<Table>,
        access: &Access<'_>,
    ) -> Result<(Opened, Source), Error> {
        let table = table.clone();
        let range = match access {
            Access::Table(hints) => return self.open_whole(table, *hints),
            Access::Range(range) => range,
        };
        let hints = range.hints;
        self.lock_to_read(&table, hints, Extent::Part)?;
        let storage = table.storage();
        let index = storage.index(range.index).ok_or_else(|| table.no_index(range.index))?.clone();
        let keys = range.keys(&index, &storage)?;
        let source = self.open_range(index, keys, range.backward)?;
        let seen = self.seen(hints);
        Ok((Opened { table, storage, hints, extent: Extent::Part, seen }, source))
    }

    fn open_whole(
        &mut self,
        table: Arc<Table>,
        hints: ReadHints,
    ) -> Result<(Opened, Source), Error> {
        let storage = self.lock_whole(&table, hints)?;
        let source = match &storage.base {
            Base::Heap(heap) => Source::Heap(HeapSource::new(heap)?),
            Base::Clustered(index) => self.open_range(index.clone(), KeyRange::all(), false)?,
        };
        let extent = match source {
            Source::Heap(_) => Extent::WholeHeap,
            Source::Range(..) | Source::Sorted(..) => Extent::Part,
        };
        let seen = self.seen(hints);
        Ok((Opened { table, storage, hints, extent, seen }, source))
    }

    fn open_range(
        &self,
        index: Arc<Index>,
        keys: KeyRange,
        backward: bool,
    ) -> Result<Source, Error> {
        if index.disorder()?.is_some() {
            let source = SortedSource::new(self, &index, &keys, backward)?;
            return Ok(Source::Sorted(index, source));
        }
        Ok(Source::Range(index, RangeSource::new(keys, backward).resumed()))
    }

    /// Locks the table of a reading that was paused, and verifies that it is what it was.
    pub(crate) fn resume(&mut self, opened: &Opened) -> Result<(), Error> {
        self.lock_to_read(&opened.table, opened.hints, opened.extent)?;
        if Arc::ptr_eq(&opened.storage, &opened.table.storage()) {
            Ok(())
        } else {
            Err(Error::TableChanged { table: opened.table.name().to_owned() })
        }
    }

    /// Rows of the next page or leaf.
    pub(crate) fn step(
        &mut self,
        of: Reading<'_>,
        source: &mut Source,
        each: EachRow<'_>,
    ) -> Result<Step, Error> {
        match (source, &of.storage.base) {
            (Source::Heap(source), Base::Heap(heap)) => self.step_heap(of, heap, source, each),
            (Source::Range(index, source), _) => self.step_range(of, index, source, each),
            (Source::Sorted(index, source), _) => self.step_sorted(of, index, source, each),
            (Source::Heap(_), Base::Clustered(_)) => Ok(Step::End),
        }
    }
}

impl RowBatch {
    fn new(opened: &Opened) -> RowBatch {
        RowBatch {
            storage: opened.storage.clone(),
            seen: opened.seen.clone(),
            bytes: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; breaks when there are `most`.
    fn push(&mut self, row: &RowRef<'_>, most: usize) -> ControlFlow<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row.record().bytes());
        let record = start..self.bytes.len();
        self.rows.push(BatchRow { record, rid: row.rid() });
        if self.rows.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows in the order in which they were read.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<RowRef<'_>, Error>> {
        let row = |row: &BatchRow| {
            let record = self.bytes.get(row.record.clone()).unwrap_or_default();
            let versions = self.seen.as_ref().map(SeenVersions::versions);
            Ok(RowRef::new(&self.storage, record, row.rid)?.seen_by(versions))
        };
        self.rows.iter().map(row)
    }
}
