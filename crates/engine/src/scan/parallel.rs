//! Parallel scans: one table, many workers, no lock.
//!
//! ```text
//! session   open_parallel_scan ── locks the table ──▶ morsels: 64 pages of a heap in the order of its
//!                                                     IAM chain, or a range of leaves
//! workers   take a morsel, decode its pages under their latches, take the next one
//!             └─ page that an open transaction may have changed ──▶ left to the session
//! session   next_batch: what was left, each row under the lock that the isolation asks for
//! ```
//!
//! Known algorithm: morsel-driven parallelism: a worker that is done early takes more. Workers are
//! threads of the caller. They wait for latches and pages, never for locks: a transaction waits for
//! one lock at a time, so that whatever needs a lock is read by the session that owns it. Where
//! every row is locked to stay, the session reads all of them.
//!
//! Invariants
//! - The session's transaction stays open until all workers have ended: its lock keeps the table as
//!   it is.
//! - Each row is returned once, by a worker or by the session: a page is taken as a whole under one
//!   latch, a key belongs to one range.

use extentdb_base::cancel::Cancellation;
use extentdb_base::sync::atomic::{AtomicUsize, Ordering};
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{PageId, Rid};
use extentdb_buffer::Pool;
use extentdb_rowset::btree::{KeyRange, LeafRows, LeafRun, LeafVisit, RangePosition};
use extentdb_rowset::columnar::{PageRun, Vector, Visibility};
use extentdb_rowset::read_ahead;
use extentdb_txn::Manager;

use crate::catalog::{Base, Index, Table};
use crate::error::{Error, Unsupported};
use crate::scan::batch::{BatchBuilder, ColumnBatch};
use crate::scan::columns::{ScanSource, ScanStep, ScanWork, Scratch};
use crate::scan::cursor::Opened;
use crate::scan::source::Step;
use crate::scan::spec::ScanSpec;
use crate::session::{Isolation, Session};

/// Pages of a morsel of a heap: what is read ahead at once.
const MORSEL_PAGES: usize = read_ahead::PAGES_MAX;
/// Morsels of an index: enough that the last ones end at about the same time.
const MORSEL_RANGES: usize = 256;

/// A scan that many threads do. It belongs to the session that opened it.
#[derive(Debug)]
pub struct ParallelScan {
    shared: Arc<SharedScan>,
    /// What the session reads alone.
    rest: Option<ScanSource>,
}

/// One of the threads of a parallel scan: see [`ParallelScan::worker`].
pub struct ScanWorker {
    shared: Arc<SharedScan>,
    morsel: Option<Morsel>,
    scratch: Scratch,
}

struct SharedScan {
    opened: Opened,
    work: ScanWork,
    morsels: Morsels,
    next: AtomicUsize,
    left: Mutex<Vec<LeftPage>>,
    cancellation: Arc<Cancellation>,
    transactions: Arc<Manager>,
    pool: Arc<Pool>,
}

/// All that workers read.
enum Morsels {
    Pages(Arc<[PageId]>),
    Ranges { index: Arc<Index>, ranges: Vec<KeyRange> },
}

/// What a worker is reading.
enum Morsel {
    /// Pages by their numbers in the list.
    Pages(std::ops::Range<usize>),
    Leaves {
        at: RangePosition,
        run: LeafRun,
    },
}

/// A page that is left to the session.
enum LeftPage {
    Heap(Vec<Rid>),
    Leaf(LeafRows),
}

impl Session {
    /// A parallel scan of what `spec` says, without a limit, in no particular order.
    ///
    /// # Errors
    /// As for [`open_scan`](Self::open_scan); the session is in no transaction, or there is a
    /// limit.
    pub fn open_parallel_scan(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec<'_>,
    ) -> Result<ParallelScan, Error> {
        if !self.is_in_transaction() {
            return Err(Unsupported::ParallelScanWithoutTransaction.into());
        }
        if spec.limit.is_some() {
            return Err(Unsupported::ParallelLimit.into());
        }
        let cancellation = self.cancellation();
        self.statement("OPEN", |context| {
            let (opened, work, source) = context.open_scan(table, spec)?.into_parts();
            let (morsels, rest) = match source {
                ScanSource::Pages { pages, .. } => (Morsels::Pages(pages), None),
                ScanSource::Leaves { index, at, .. } => {
                    let ranges = index.tree().partition(at.range(), MORSEL_RANGES)?;
                    (Morsels::Ranges { index, ranges }, None)
                }
                source => (Morsels::Pages(Arc::from([])), Some(source)),
            };
            let shared = SharedScan {
                opened,
                work,
                morsels,
                next: AtomicUsize::new(0),
                left: Mutex::default(),
                cancellation,
                transactions: context.db().transactions.clone(),
                pool: context.db().pool.clone(),
            };
            Ok(ParallelScan { shared: Arc::new(shared), rest })
        })
    }
}

impl ParallelScan {
    /// Another worker: send it to a thread, and call it until it returns `None`. There may be any
    /// number, and one at least: what no worker reads is not returned by
    /// [`next_batch`](Self::next_batch) either, and neither is the rest of the morsel of a worker
    /// that is dropped before.
    pub fn worker(&self) -> ScanWorker {
        ScanWorker {
            shared: self.shared.clone(),
            morsel: None,
            scratch: Scratch::default(),
        }
    }

    /// The same as [`Scan::whole_values`](crate::Scan::whole_values).
    ///
    /// # Errors
    /// As there.
    pub fn whole_values(&self, column: usize, vector: &Vector) -> Result<Vector, Error> {
        self.shared.opened.whole_values(column, vector)
    }

    /// How many morsels there are: more workers have nothing to do.
    pub fn morsels(&self) -> usize {
        self.shared.morsels.count()
    }

    /// What the workers have left to the session, until it is `None`. Called when they have ended.
    ///
    /// # Errors
    /// As for [`Scan::next_batch`](crate::Scan::next_batch).
    pub fn next_batch(
        &mut self,
        session: &mut Session,
        rows: usize,
    ) -> Result<Option<ColumnBatch>, Error> {
        let shared = &self.shared;
        let mut batch = shared.work.rows.builder(usize::MAX);
        let mut rest = self.rest.clone();
        let mut left = std::mem::take(&mut *lock(&shared.left));
        let mut done = 0;
        let read = session.statement("FETCH", |context| {
            let reading = shared.opened.reading();
            context.resume(&shared.opened)?;
            let mut scratch = Scratch::default();
            let mut step = ScanStep { work: &shared.work, scratch: &mut scratch, to: &mut batch };
            while let Some(source) = &mut rest
                && !step.to.is_full(rows)
            {
                if context.step_scan(reading, source, &mut step, rows)? == Step::End {
                    rest = None;
                }
            }
            for page in &left {
                if step.to.is_full(rows) {
                    break;
                }
                context.verify_not_cancelled()?;
                match (page, &shared.morsels) {
                    (LeftPage::Heap(rids), _) => {
                        context.scan_rids(reading, rids.clone(), &mut step)?;
                    }
                    (LeftPage::Leaf(leaf), Morsels::Ranges { index, .. }) => {
                        let entries = leaf.iter().map(|row| row.bytes);
                        context.scan_entries(reading, index, entries, &mut step)?;
                    }
                    (LeftPage::Leaf(_), Morsels::Pages(_)) => {}
                }
                done += 1;
            }
            Ok(())
        });
        if read.is_ok() {
            left.drain(..done);
            self.rest = rest;
        }
        lock(&shared.left).append(&mut left);
        read?;
        Ok((batch.rows() > 0).then(|| batch.finish()))
    }
}

impl Morsels {
    fn count(&self) -> usize {
        match self {
            Morsels::Pages(pages) => pages.len().div_ceil(MORSEL_PAGES),
            Morsels::Ranges { ranges, .. } => ranges.len(),
        }
    }

    fn at(&self, number: usize) -> Option<Morsel> {
        match self {
            Morsels::Pages(pages) => {
                let first =
                    number.checked_mul(MORSEL_PAGES).filter(|first| *first < pages.len())?;
                Some(Morsel::Pages(first..pages.len().min(first + MORSEL_PAGES)))
            }
            Morsels::Ranges { ranges, .. } => {
                let at = RangePosition::new(ranges.get(number)?.clone());
                Some(Morsel::Leaves { at, run: LeafRun::default() })
            }
        }
    }
}

impl ScanWorker {
    /// The same as [`Scan::whole_values`](crate::Scan::whole_values).
    ///
    /// # Errors
    /// As there.
    pub fn whole_values(&self, column: usize, vector: &Vector) -> Result<Vector, Error> {
        self.shared.opened.whole_values(column, vector)
    }

    /// The next rows of the worker, about `rows` of them; `None` when no morsel is left.
    ///
    /// # Errors
    /// A page cannot be read, a row has no value where one is needed, or the statement of the
    /// session is cancelled. The scan is of no use then.
    pub fn next_batch(&mut self, rows: usize) -> Result<Option<ColumnBatch>, Error> {
        let shared = self.shared.clone();
        let mut batch = shared.work.rows.builder(usize::MAX);
        while !batch.is_full(rows) {
            shared.cancellation.verify().map_err(|_| Error::Cancelled)?;
            let mut morsel = match self.morsel.take() {
                Some(morsel) => morsel,
                None => match shared.take() {
                    Some(morsel) => morsel,
                    None => break,
                },
            };
            let is_left = self.step(&shared, &mut morsel, &mut batch)?;
            self.morsel = is_left.then_some(morsel);
        }
        Ok((batch.rows() > 0).then(|| batch.finish()))
    }

    /// Reads a page. False when nothing is left of the morsel.
    fn step(
        &mut self,
        shared: &SharedScan,
        morsel: &mut Morsel,
        to: &mut BatchBuilder,
    ) -> Result<bool, Error> {
        let oldest_begin = || shared.transactions.oldest_begin();
        let reading = shared.opened.reading();
        let visibility = match (reading.versions, shared.opened.hints.isolation) {
            (Some(versions), _) => Visibility::Snapshot(versions),
            _ if shared.reads_all() => Visibility::All,
            (None, Some(Isolation::ReadUncommitted)) => Visibility::All,
            _ => Visibility::Settled(&oldest_begin),
        };
        let Scratch { rows, batch } = &mut self.scratch;
        let mut taken = Ok(());
        match (morsel, &shared.morsels, &reading.storage.base) {
            (Morsel::Pages(numbers), Morsels::Pages(pages), Base::Heap(heap)) => {
                let Some(page) = numbers.next().and_then(|number| pages.get(number)) else {
                    return Ok(false);
                };
                let pipeline = &shared.work.rows;
                let visit = &mut |run: PageRun<'_>| {
                    if taken.is_ok() {
                        taken = pipeline.take_page(run, batch, to);
                    }
                };
                let left = heap.visit_page(*page, visibility, rows, visit)?;
                if !left.rids.is_empty() {
                    lock(&shared.left).push(LeftPage::Heap(left.rids));
                }
                taken?;
                Ok(numbers.start < numbers.end)
            }
            (Morsel::Leaves { at, run }, Morsels::Ranges { index, .. }, _) => {
                let pipeline = shared.work.of(reading, index);
                let visit = &mut |run: PageRun<'_>| {
                    if taken.is_ok() {
                        taken = pipeline.take_page(run, batch, to);
                    }
                };
                let sample = shared.work.sample;
                let takes = |page: PageId| sample.is_none_or(|sample| sample.takes(page));
                let filter = sample.is_some().then_some(&takes as &dyn Fn(PageId) -> bool);
                let mut leaves = index.tree().leaves_from(std::mem::take(at));
                let found = leaves.visit_next(run, visibility, filter, rows, visit);
                *at = leaves.into_position();
                let found = found?;
                taken?;
                if let LeafVisit::Unsettled(leaf) = found {
                    lock(&shared.left).push(LeftPage::Leaf(leaf));
                    return Ok(true);
                }
                Ok(!matches!(found, LeafVisit::End))
            }
            _ => Ok(false),
        }
    }
}

impl SharedScan {
    /// Another morsel, with its first pages in memory.
    fn take(&self) -> Option<Morsel> {
        let morsel = self.morsels.at(self.next.fetch_add(1, Ordering::Relaxed))?;
        if let (Morsel::Pages(numbers), Morsels::Pages(pages)) = (&morsel, &self.morsels) {
            read_ahead::bring(&self.pool, pages.get(numbers.clone()).unwrap_or_default());
        }
        Some(morsel)
    }

    /// Is the whole table locked, so that nobody else changes it?
    fn reads_all(&self) -> bool {
        self.opened.hints.granularity == crate::scan::hints::Granularity::Table
    }
}

impl std::fmt::Debug for SharedScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ParallelScan({}, {} morsels)", self.opened.table.name(), self.morsels.count())
    }
}

impl std::fmt::Debug for ScanWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ScanWorker({})", self.shared.opened.table.name())
    }
}
