//! Columnar scans: batches straight from pages, pulled as a cursor's rows are.
//!
//! ```text
//! page of a heap, leaf of a tree ── settled ──▶ decoded under its latch, no row locked
//!                                └─ else ─────▶ row by row, each locked as the isolation asks for
//! entries of an index that has all columns      as rows; without all columns: row by row
//! ```
//!
//! Where locks stay (REPEATABLE READ and up, UPDLOCK, XLOCK), every row is read alone, as a cursor
//! reads it. The level is that of the session when the scan was opened.
//!
//! Invariants
//! - As for cursors: a paused scan holds no latch, page or lock, and a batch that fails changes
//!   nothing.
//! - A batch ends with a page, or with the limit: it has as many rows as were asked for, and at
//!   most those of one page more.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_base::{PageId, Rid};
use extentdb_expr::Batch;
use extentdb_rowset::Heap;
use extentdb_rowset::btree::{LeafRun, LeafVisit, RangePosition};
use extentdb_rowset::columnar::{Located, PageRun, Vector, Visibility};
use extentdb_rowset::read_ahead;

use crate::catalog::off_row::VALUE_IN_MEMORY_MAX;
use crate::catalog::{Address, Base, Index, Storage, Table};
use crate::dml::row_ref::RowRef;
use crate::error::{Error, Unsupported};
use crate::scan::batch::{BatchBuilder, ColumnBatch};
use crate::scan::cursor::{Opened, Source};
use crate::scan::hints::RowLock;
use crate::scan::pipeline::{LoneRow, Pipeline, Records};
use crate::scan::reading::Reading;
use crate::scan::source::Step;
use crate::scan::spec::{Locators, Sample, ScanSpec};
use crate::session::{Isolation, Session, StatementContext};

/// A columnar scan that is pulled batch by batch. It keeps the files of its database open, and is
/// dropped before they are opened again.
#[derive(Clone, Debug)]
pub struct Scan {
    opened: Opened,
    work: ScanWork,
    source: ScanSource,
    /// Rows that the limit leaves.
    left: usize,
}

/// What becomes of what is read.
#[derive(Clone, Debug)]
pub(crate) struct ScanWork {
    /// Of rows of the table.
    pub(crate) rows: Arc<Pipeline>,
    /// Of entries of the index that is read, when it has all columns that are needed.
    pub(crate) entries: Option<Arc<Pipeline>>,
    pub(crate) sample: Option<Sample>,
    /// Are rows that a statement may change given back when it does not want them?
    pub(crate) releases: bool,
}

/// What is left.
#[derive(Clone, Debug)]
pub(crate) enum ScanSource {
    /// Pages of a heap.
    Pages { pages: Arc<[PageId]>, next: usize },
    /// Leaves of an index.
    Leaves { index: Arc<Index>, at: RangePosition, run: LeafRun },
    /// Rows one by one.
    Rows(Source),
}

/// Room that is used again for each page.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    pub(crate) rows: Vec<Located>,
    pub(crate) batch: Batch,
}

impl Session {
    /// A columnar scan at the beginning of what it reads.
    ///
    /// # Errors
    /// There is no such index or column, a column cannot be read, the filter cannot be evaluated,
    /// or the table cannot be locked.
    pub fn open_scan(&mut self, table: &Arc<Table>, spec: &ScanSpec<'_>) -> Result<Scan, Error> {
        self.statement("OPEN", |context| context.open_scan(table, spec))
    }
}

impl Scan {
    /// The next rows, about `rows` of them: see the module. `None` when nothing is left.
    ///
    /// # Errors
    /// A lock is not granted, a row cannot be read, the statement is cancelled, or
    /// [`Error::TableChanged`]. The scan stays where it was.
    pub fn next_batch(
        &mut self,
        session: &mut Session,
        rows: usize,
    ) -> Result<Option<ColumnBatch>, Error> {
        let mut source = self.source.clone();
        let mut batch = self.work.rows.builder(self.left);
        session.statement("FETCH", |context| {
            context.resume(&self.opened)?;
            let mut scratch = Scratch::default();
            let mut step = ScanStep { work: &self.work, scratch: &mut scratch, to: &mut batch };
            while !step.to.is_full(rows) {
                let reading = self.opened.reading();
                if context.step_scan(reading, &mut source, &mut step, rows)? == Step::End {
                    break;
                }
            }
            Ok(())
        })?;
        self.source = source;
        self.left = batch.left;
        Ok((batch.rows() > 0).then(|| batch.finish()))
    }

    /// Is nothing left, as far as is known? Then there is no next batch.
    pub fn is_over(&self) -> bool {
        match &self.source {
            ScanSource::Leaves { at, .. } => at.is_done(),
            ScanSource::Pages { pages, next } => *next >= pages.len(),
            ScanSource::Rows(_) => false,
        }
    }

    /// The values of a column of a batch, those off their rows read as the scan sees them.
    ///
    /// # Errors
    /// A value is damaged, or too long to be held in memory.
    pub fn whole_values(&self, column: usize, vector: &Vector) -> Result<Vector, Error> {
        self.opened.whole_values(column, vector)
    }

    /// What it reads, what is done with it, and what is left.
    pub(crate) fn into_parts(self) -> (Opened, ScanWork, ScanSource) {
        (self.opened, self.work, self.source)
    }

    /// Was the table this when the scan was opened?
    pub(crate) fn is_of(&self, storage: &Arc<Storage>) -> bool {
        Arc::ptr_eq(&self.opened.storage, storage)
    }

    /// Gives back the locks of rows of the last batch that the statement does not change after
    /// all, below REPEATABLE READ. What the transaction held before the scan stays.
    ///
    /// # Errors
    /// The statement is cancelled.
    pub fn release_rows(&self, session: &mut Session, rows: &[Address]) -> Result<(), Error> {
        if !self.work.releases || rows.is_empty() {
            return Ok(());
        }
        session.statement("FETCH", |context| {
            context.release_rows(&self.opened.storage, rows.iter());
            Ok(())
        })
    }

    /// The table that it reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.opened.table
    }
}

impl Opened {
    /// The values of a column of a batch, those off their rows read as the scan sees them.
    pub(crate) fn whole_values(&self, column: usize, vector: &Vector) -> Result<Vector, Error> {
        let columns = &self.storage.columns;
        let missing = || Error::Columns { expected: columns.len(), found: column };
        let ty = columns.get(column).ok_or_else(missing)?.ty;
        let versions = self.reading().versions;
        let mut failed = None;
        let whole = vector.with_values_of(&mut |row| {
            let bytes = vector.bytes(row);
            let read = self.storage.off_row.value_seen(&ty, bytes, VALUE_IN_MEMORY_MAX, versions);
            read.map_err(|error| failed = Some(error)).ok()
        })?;
        failed.map_or(Ok(whole), Err)
    }
}

/// One step of a scan: what is done, and where its rows go.
pub(crate) struct ScanStep<'s> {
    pub(crate) work: &'s ScanWork,
    pub(crate) scratch: &'s mut Scratch,
    pub(crate) to: &'s mut BatchBuilder,
}

impl ScanStep<'_> {
    pub(crate) fn take_row(&mut self, row: &RowRef<'_>) -> Result<(), Error> {
        let row = LoneRow { record: row.record().bytes(), rid: row.rid() };
        self.work.rows.take_row(row, &mut self.scratch.batch, self.to)
    }
}

impl StatementContext<'_> {
    pub(crate) fn open_scan(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec<'_>,
    ) -> Result<Scan, Error> {
        let (mut opened, source) = self.open_reading(table, &spec.access)?;
        opened.hints.isolation = Some(self.level(opened.hints));
        let mut work = ScanWork::compile(&opened, &source, spec)?;
        work.releases = self.releases_rows(&opened, spec);
        let source = self.scan_source(&opened, source, &work)?;
        let left = spec.limit.map_or(usize::MAX, |limit| limit.min(usize::MAX as u64) as usize);
        Ok(Scan { opened, work, source, left })
    }

    /// Are locks of rows given back that turn out not to be changed? UPDATE and DELETE ask where
    /// rows are; levels from REPEATABLE READ on keep what was read as it is.
    fn releases_rows(&self, opened: &Opened, spec: &ScanSpec<'_>) -> bool {
        let level = self.level(opened.hints);
        spec.locators == Locators::Delivered
            && opened.hints.row_lock == RowLock::Update
            && matches!(level, Isolation::ReadUncommitted | Isolation::ReadCommitted)
            && opened.reading().keeps_locks(self)
    }

    /// Releases one lock of each row: each was locked by its reading.
    fn release_rows<'r>(&self, storage: &Storage, rows: impl Iterator<Item = &'r Address>) {
        rows.for_each(|row| self.unlock(row.resource(storage.base.hobt())));
    }

    /// Reads a scan to its end, in batches of about `rows` rows.
    pub(crate) fn drain_scan(
        &mut self,
        mut scan: Scan,
        rows: usize,
        each: &mut dyn FnMut(&mut Self, &ColumnBatch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut scratch = Scratch::default();
        let mut is_over = false;
        while !is_over {
            let mut batch = scan.work.rows.builder(scan.left);
            let mut step = ScanStep { work: &scan.work, scratch: &mut scratch, to: &mut batch };
            while !step.to.is_full(rows) && !is_over {
                let reading = scan.opened.reading();
                is_over = self.step_scan(reading, &mut scan.source, &mut step, rows)? == Step::End;
            }
            is_over |= batch.left == 0;
            scan.left = batch.left;
            if batch.rows() > 0 {
                each(self, &batch.finish())?;
            }
        }
        Ok(())
    }

    fn scan_source(
        &self,
        opened: &Opened,
        source: Source,
        work: &ScanWork,
    ) -> Result<ScanSource, Error> {
        let storage = &opened.storage;
        if opened.reading().keeps_locks(self) {
            return work.one_by_one(source);
        }
        match source {
            Source::Heap(source) => {
                let pages = source.pages().iter().copied();
                let takes = |page: &PageId| work.sample.is_none_or(|sample| sample.takes(*page));
                Ok(ScanSource::Pages { pages: pages.filter(takes).collect(), next: 0 })
            }
            Source::Range(index, source) if storage.is_base(&index) || work.entries.is_some() => {
                let run = LeafRun::default();
                Ok(ScanSource::Leaves { index, at: source.into_position(), run })
            }
            source => work.one_by_one(source),
        }
    }

    /// Rows of the next page or leaf.
    pub(crate) fn step_scan(
        &mut self,
        of: Reading<'_>,
        source: &mut ScanSource,
        step: &mut ScanStep<'_>,
        rows: usize,
    ) -> Result<Step, Error> {
        match (source, &of.storage.base) {
            (ScanSource::Pages { pages, next }, Base::Heap(heap)) => {
                let Some(page) = pages.get(*next) else { return Ok(Step::End) };
                self.verify_not_cancelled()?;
                if next.is_multiple_of(read_ahead::PAGES_MAX) {
                    read_ahead::bring(&self.db().pool, &pages[*next..]);
                }
                self.scan_page(of, heap, *page, step)?;
                *next += 1;
                Ok(Step::More)
            }
            (ScanSource::Leaves { index, at, run }, _) => {
                self.verify_not_cancelled()?;
                self.scan_leaf(of, index, (at, run), step)
            }
            (ScanSource::Rows(source), _) => {
                let releases = step.work.releases;
                let mut rejected = Vec::new();
                let each = &mut |row: &RowRef<'_>| {
                    let before = step.to.rows();
                    step.take_row(row)?;
                    if releases && step.to.rows() == before {
                        rejected.push(row.address()?);
                    }
                    let is_full = step.to.is_full(rows);
                    Ok(if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                };
                let stepped = self.step(of, source, each);
                self.release_rows(of.storage, rejected.iter());
                stepped
            }
            (ScanSource::Pages { .. }, Base::Clustered(_)) => Ok(Step::End),
        }
    }

    /// Which pages are decoded without locks.
    pub(crate) fn visited<T>(&self, of: Reading<'_>, read: impl FnOnce(Visibility<'_>) -> T) -> T {
        match (of.versions, self.row_locking(of.hints)) {
            (Some(versions), _) => read(Visibility::Snapshot(versions)),
            (None, None) => read(Visibility::All),
            (None, Some(_)) => read(Visibility::Settled(&|| self.oldest_open(of.hints))),
        }
    }

    fn scan_page(
        &self,
        of: Reading<'_>,
        heap: &Heap,
        page: PageId,
        step: &mut ScanStep<'_>,
    ) -> Result<(), Error> {
        let Scratch { rows, batch } = &mut *step.scratch;
        let pipeline = &step.work.rows;
        let mut taken = Ok(());
        let visit = &mut |run: PageRun<'_>| {
            if taken.is_ok() {
                taken = pipeline.take_page(run, batch, step.to);
            }
        };
        let left_out =
            self.visited(of, |visibility| heap.visit_page(page, visibility, rows, visit))?;
        taken?;
        self.scan_rids(of, left_out.rids, step)
    }

    /// Rows of a heap that are read alone.
    pub(crate) fn scan_rids(
        &self,
        of: Reading<'_>,
        rids: Vec<Rid>,
        step: &mut ScanStep<'_>,
    ) -> Result<(), Error> {
        for rid in rids {
            let at = Address::Rid(rid);
            if let Some(found) = self.read_row(of, &at)? {
                step.take_row(&RowRef::at(of.storage, &found.record, &at)?.seen_by(of.versions))?;
            }
        }
        Ok(())
    }

    fn scan_leaf(
        &self,
        of: Reading<'_>,
        index: &Index,
        (at, run): (&mut RangePosition, &mut LeafRun),
        step: &mut ScanStep<'_>,
    ) -> Result<Step, Error> {
        let Scratch { rows, batch } = &mut *step.scratch;
        let pipeline = step.work.of(of, index);
        let mut taken = Ok(());
        let visit = &mut |run: PageRun<'_>| {
            if taken.is_ok() {
                taken = pipeline.take_page(run, batch, step.to);
            }
        };
        let mut leaves = index.tree().leaves_from(std::mem::take(at));
        let takes = |page: PageId| step.work.sample.is_none_or(|sample| sample.takes(page));
        let filter = step.work.sample.is_some().then_some(&takes as &dyn Fn(PageId) -> bool);
        let found =
            self.visited(of, |visibility| leaves.visit_next(run, visibility, filter, rows, visit));
        *at = leaves.into_position();
        let found = found?;
        taken?;
        match found {
            LeafVisit::Visited => Ok(Step::More),
            LeafVisit::End => Ok(Step::End),
            LeafVisit::Unsettled(leaf) => {
                self.scan_entries(of, index, leaf.iter().map(|row| row.bytes), step)?;
                Ok(Step::More)
            }
        }
    }

    /// Rows that entries of an index lead to, or rows of a clustered index, read alone.
    pub(crate) fn scan_entries<'e>(
        &self,
        of: Reading<'_>,
        index: &Index,
        entries: impl Iterator<Item = &'e [u8]>,
        step: &mut ScanStep<'_>,
    ) -> Result<(), Error> {
        for entry in entries {
            let each = &mut |row: &RowRef<'_>| {
                step.take_row(row)?;
                Ok(ControlFlow::Continue(()))
            };
            // No caller stops it.
            let _: ControlFlow<()> = self.read_entry(of, index, entry, each)?;
        }
        Ok(())
    }
}

impl ScanWork {
    /// Compiles what is done with the rows of a source.
    pub(crate) fn compile(
        opened: &Opened,
        source: &Source,
        spec: &ScanSpec<'_>,
    ) -> Result<ScanWork, Error> {
        let storage = &opened.storage;
        let entries = match source {
            Source::Range(index, _) if !storage.is_base(index) => {
                Pipeline::compile(storage, Records::Entries(index.clone()), spec)?
            }
            _ => None,
        };
        ScanWork::new(opened, entries, spec)
    }

    pub(crate) fn new(
        opened: &Opened,
        entries: Option<Pipeline>,
        spec: &ScanSpec<'_>,
    ) -> Result<ScanWork, Error> {
        if let Some(sample) = &spec.sample {
            sample.verify()?;
        }
        let rows = Pipeline::compile(&opened.storage, Records::Rows, spec)?;
        let rows = rows.ok_or_else(|| Error::catalog("a column that its rows do not have"))?;
        let entries = entries.filter(|entries| entries.is_like(&rows)).map(Arc::new);
        Ok(ScanWork {
            rows: Arc::new(rows),
            entries,
            sample: spec.sample,
            releases: false,
        })
    }

    /// That of the leaves of an index.
    pub(crate) fn of(&self, reading: Reading<'_>, index: &Index) -> &Pipeline {
        match &self.entries {
            Some(entries) if !reading.storage.is_base(index) => entries,
            _ => &self.rows,
        }
    }

    fn one_by_one(&self, source: Source) -> Result<ScanSource, Error> {
        if self.sample.is_some() {
            return Err(Unsupported::SampleOfLockedRows.into());
        }
        Ok(ScanSource::Rows(source))
    }
}
