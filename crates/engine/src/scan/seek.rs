//! Seeks of many keys at once, for joins through an index.
//!
//! ```text
//! keys ─▶ prefixes, sorted ─▶ one pass over the leaves that have them ─▶ columns, and for each row
//!                                                                       the number of its key
//! ```
//!
//! Rows come in the order of the index; those of equal keys once for each of the keys. Known
//! algorithm: batched key access. Where locks stay, or where an index has not all columns that are
//! needed, the keys are read one after the other in the same order.

use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_rowset::btree::{KeyRange, SeekPosition, SeekRows, SeekVisit};
use extentdb_rowset::columnar::PageRun;
use extentdb_types::Datum;

use crate::catalog::{Index, Table};
use crate::dml::read::Range;
use crate::dml::row_ref::RowRef;
use crate::error::{Error, Unsupported};
use crate::scan::batch::{BatchBuilder, ColumnBatch};
use crate::scan::columns::{ScanStep, ScanWork, Scratch};
use crate::scan::cursor::{Access, Opened, Source};
use crate::scan::reading::Reading;
use crate::scan::source::{RangeSource, SortedSource, drain};
use crate::scan::spec::ScanSpec;
use crate::session::{Session, StatementContext};

/// Seeks through an index, compiled once for many batches of keys. It keeps the files of its
/// database open, and is dropped before they are opened again.
#[derive(Clone, Debug)]
pub struct Seek {
    opened: Opened,
    work: ScanWork,
    index: Arc<Index>,
}

/// Rows of a batch of keys.
#[derive(Debug)]
pub struct SeekBatch {
    /// The rows.
    pub batch: ColumnBatch,
    /// For each row the number of the key that it was found by.
    pub keys: Vec<u32>,
}

/// A key that is sought.
struct SoughtKey {
    range: KeyRange,
    number: u32,
}

impl Session {
    /// Seeks through the index that `spec` names in its access, whose bounds do not count. A limit
    /// is one of each batch of keys.
    ///
    /// # Errors
    /// As for [`open_scan`](Self::open_scan); the access is not one by an index, or has a sample.
    pub fn open_seek(&mut self, table: &Arc<Table>, spec: &ScanSpec<'_>) -> Result<Seek, Error> {
        let (Access::Range(range), None) = (&spec.access, &spec.sample) else {
            return Err(Unsupported::SeekWithoutIndex.into());
        };
        let whole = Range { hints: range.hints, ..Range::all(range.index) };
        let spec = ScanSpec { access: Access::Range(whole), ..spec.clone() };
        self.statement("OPEN", |context| {
            let (mut opened, source) = context.open_reading(table, &spec.access)?;
            opened.hints.isolation = Some(context.level(opened.hints));
            let work = ScanWork::compile(&opened, &source, &spec)?;
            match source {
                Source::Range(index, _) | Source::Sorted(index, _) => {
                    Ok(Seek { opened, work, index })
                }
                Source::Heap(_) => Err(Unsupported::SeekWithoutIndex.into()),
            }
        })
    }
}

impl Seek {
    /// The rows whose first key columns have the values of one of the keys.
    ///
    /// # Errors
    /// A value is not one of its column; a lock is not granted, a row cannot be read, the statement
    /// is cancelled, or [`Error::TableChanged`].
    pub fn rows_of(
        &self,
        session: &mut Session,
        keys: &[&[Datum<'_>]],
    ) -> Result<SeekBatch, Error> {
        let mut sought = Vec::with_capacity(keys.len());
        for (number, values) in (0..).zip(keys) {
            let storage = &self.opened.storage;
            let values = self.index.sought(&storage.columns, values)?;
            sought.push(SoughtKey { range: self.index.keys_of(&values)?, number });
        }
        sought.sort_unstable_by(|a, b| a.range.cmp(&b.range));
        let mut to = self.work.rows.builder(usize::MAX);
        to.ordinals = Some(Vec::new());
        session.statement("SELECT", |context| {
            context.resume(&self.opened)?;
            let mut scratch = Scratch::default();
            let mut step = ScanStep { work: &self.work, scratch: &mut scratch, to: &mut to };
            context.seek_keys(self.opened.reading(), &self.index, &sought, &mut step)
        })?;
        let keys = to.ordinals.take().unwrap_or_default();
        Ok(SeekBatch { batch: to.finish(), keys })
    }

    /// The table that it reads.
    pub fn table(&self) -> &Arc<Table> {
        &self.opened.table
    }
}

impl StatementContext<'_> {
    fn seek_keys(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        keys: &[SoughtKey],
        step: &mut ScanStep<'_>,
    ) -> Result<(), Error> {
        let is_in_entries = of.storage.is_base(index) || step.work.entries.is_some();
        if of.keeps_locks(self) || !is_in_entries || index.disorder()?.is_some() {
            return keys.iter().try_for_each(|key| self.seek_key(of, index, key, step));
        }
        let ranges: Vec<KeyRange> = keys.iter().map(|key| key.range.clone()).collect();
        let numbers: Vec<u32> = keys.iter().map(|key| key.number).collect();
        let mut at = SeekPosition::default();
        let mut found = SeekRows::default();
        loop {
            self.verify_not_cancelled()?;
            let pipeline = step.work.of(of, index);
            let batch = &mut step.scratch.batch;
            let to = &mut *step.to;
            let mut taken = Ok(());
            let visit = &mut |run: PageRun<'_>, ranges: &mut Vec<u32>| {
                let all = run.rows.clone();
                let before = to.rows();
                let page = run.page;
                let bytes = run.bytes;
                if taken.is_err() {
                    return;
                }
                taken = pipeline.take_page(PageRun { page, bytes, rows: run.rows }, batch, to);
                if to.rows() - before == all.len() {
                    note_keys(to, ranges, &numbers);
                } else {
                    // Equal rows have equal outcomes, so that the first one left is meant.
                    let mut kept = run.rows.iter().peekable();
                    let mut is_kept = all.iter().map(|row| kept.next_if_eq(&row).is_some());
                    ranges.retain(|_| is_kept.next().unwrap_or(false));
                    note_keys(to, ranges, &numbers);
                }
            };
            let visited = self.visited(of, |visibility| {
                index.tree().seek_next(&ranges, &mut at, visibility, &mut found, visit)
            })?;
            taken?;
            match visited {
                SeekVisit::Visited => {}
                SeekVisit::End => return Ok(()),
                SeekVisit::Unsettled(leaf) => {
                    for (entry, range) in leaf.iter().zip(&found.ranges) {
                        let number = numbers.get(*range as usize).copied().unwrap_or_default();
                        self.scan_entries(of, index, std::iter::once(entry.bytes), step)?;
                        number_rows(step.to, number);
                    }
                }
            }
        }
    }

    /// Rows of one key.
    fn seek_key(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        key: &SoughtKey,
        step: &mut ScanStep<'_>,
    ) -> Result<(), Error> {
        let each = &mut |row: &RowRef<'_>| {
            step.take_row(row)?;
            number_rows(step.to, key.number);
            Ok(ControlFlow::Continue(()))
        };
        if index.disorder()?.is_some() {
            let mut source = SortedSource::new(self, index, &key.range, false)?;
            return drain(|| self.step_sorted(of, index, &mut source, each));
        }
        let mut source = RangeSource::new(key.range.clone(), false);
        drain(|| self.step_range(of, index, &mut source, each))
    }
}

/// Notes the keys of rows that were added, by their ranges.
fn note_keys(to: &mut BatchBuilder, ranges: &[u32], numbers: &[u32]) {
    if let Some(ordinals) = &mut to.ordinals {
        let number = |range: &u32| numbers.get(*range as usize).copied().unwrap_or_default();
        ordinals.extend(ranges.iter().map(number));
    }
}

/// Notes a key for all rows that have none.
fn number_rows(to: &mut BatchBuilder, number: u32) {
    let rows = to.rows();
    if let Some(ordinals) = &mut to.ordinals {
        ordinals.resize(rows, number);
    }
}
