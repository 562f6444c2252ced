//! Where the rows of a reading come from, one page of a heap or one leaf of a range at a time. What
//! is locked: [`reading`](crate::scan::reading).
//!
//! ```text
//! page of a heap, settled                  its rows, as they were copied out of it
//! leaf of the clustered index, settled     the same
//! leaf of another index of a heap          a batch of its entries; rows that they lead to, page by
//!                                          page where those are settled
//! all else                                 row by row, each locked as the isolation asks for
//! ```
//!
//! A row that was read in a batch is returned when it has the values of the entry's key: it may
//! have changed between the two reads, and then it is read again alone, under its lock.
//!
//! Invariants
//! - A source holds neither latch nor page: a page and a slot, or what is left of a range of keys.
//! - A caller that stops at a row goes on after that row: nothing that was read ahead is kept.

use extentdb_base::PageId;
use extentdb_base::sync::Arc;
use extentdb_rowset::btree::{Ghosts, KeyRange, LeafRows, RangePosition};
use extentdb_rowset::heap::{Heap, PageRows};
use extentdb_rowset::read_ahead;

use crate::catalog::{Address, Index};
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::reading::{EachRow, Reading};
use crate::session::StatementContext;

/// Rows of a heap that are read at once for the entries of an index: the first ones, and later.
const FIRST_BATCH_ROWS: usize = 8;
const BATCH_ROWS_MAX: usize = 128;

/// How a step of a source ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// There may be more.
    More,
    /// The caller stopped at a row.
    Stopped,
    /// Nothing is left.
    End,
}

/// The pages of a heap that are left.
#[derive(Clone, Debug)]
pub(crate) struct HeapSource {
    pages: Arc<[PageId]>,
    next: usize,
    /// The first slot of the next page that is left.
    slot: u16,
}

/// What is left of a range of an index.
#[derive(Clone, Debug)]
pub(crate) struct RangeSource {
    at: RangePosition,
    /// Is the key after the range locked?
    is_begun: bool,
    /// Will a caller that stops go on? Otherwise where it stopped is not noted.
    is_resumed: bool,
}

/// What is left of a range of an index that is out of order: entries of the range, sorted. Nobody
/// changes such a table.
#[derive(Clone, Debug)]
pub(crate) struct SortedSource {
    entries: Arc<[Vec<u8>]>,
    next: usize,
}

impl HeapSource {
    pub(crate) fn new(heap: &Heap) -> Result<HeapSource, Error> {
        Ok(HeapSource { pages: heap.formatted_pages()?.into(), next: 0, slot: 0 })
    }

    /// All of its pages.
    pub(crate) fn pages(&self) -> &Arc<[PageId]> {
        &self.pages
    }
}

impl RangeSource {
    pub(crate) fn new(range: KeyRange, backward: bool) -> RangeSource {
        let at = RangePosition::new(range);
        let at = if backward { at.backward() } else { at };
        RangeSource { at, is_begun: false, is_resumed: false }
    }

    /// What is left.
    pub(crate) fn into_position(self) -> RangePosition {
        self.at
    }

    /// One that goes on where a caller stopped.
    pub(crate) fn resumed(self) -> RangeSource {
        RangeSource { is_resumed: true, ..self }
    }
}

impl SortedSource {
    /// All entries of an index are read, and those of the range sorted.
    pub(crate) fn new(
        context: &StatementContext<'_>,
        index: &Index,
        range: &KeyRange,
        backward: bool,
    ) -> Result<SortedSource, Error> {
        let mut found = Vec::new();
        for leaf in index.tree().leaf_chain(Ghosts::Skipped) {
            context.verify_not_cancelled()?;
            for row in leaf?.iter() {
                let key = index.key_of_record(row.bytes)?;
                if range.contains(&key) {
                    found.push((key, row.bytes.to_vec()));
                }
            }
        }
        found.sort();
        if backward {
            found.reverse();
        }
        let entries = found.into_iter().map(|(_, entry)| entry).collect();
        Ok(SortedSource { entries, next: 0 })
    }
}

impl StatementContext<'_> {
    /// Rows of the next page of a heap.
    pub(crate) fn step_heap(
        &self,
        of: Reading<'_>,
        heap: &Heap,
        source: &mut HeapSource,
        each: EachRow<'_>,
    ) -> Result<Step, Error> {
        let Some(page) = source.pages.get(source.next).copied() else { return Ok(Step::End) };
        self.verify_not_cancelled()?;
        if source.next.is_multiple_of(read_ahead::PAGES_MAX) && source.slot == 0 {
            read_ahead::bring(&self.db().pool, &source.pages[source.next..]);
        }
        let found = match of.versions {
            Some(versions) => PageRows::Committed(heap.page_rows_seen(page, versions)?),
            None => heap.page_rows(page, || self.oldest_open(of.hints))?,
        };
        let places = match found {
            PageRows::Committed(rows) => {
                for (at, record) in rows.iter().filter(|(at, _)| at.slot.0 >= source.slot) {
                    let row = RowRef::new(of.storage, record, Some(*at))?.seen_by(of.versions);
                    if self.emit_settled(of, &row, each)?.is_break() {
                        source.slot = at.slot.0.saturating_add(1);
                        return Ok(Step::Stopped);
                    }
                }
                Vec::new()
            }
            PageRows::Unsure(places) => places,
        };
        for rid in places.into_iter().filter(|rid| rid.slot.0 >= source.slot) {
            let at = Address::Rid(rid);
            let Some(found) = self.read_row(of, &at)? else { continue };
            let row = RowRef::at(of.storage, &found.record, &at)?.seen_by(of.versions);
            if self.emit_unlocked(of, &row, each)?.is_break() {
                source.slot = rid.slot.0.saturating_add(1);
                return Ok(Step::Stopped);
            }
        }
        source.next += 1;
        source.slot = 0;
        Ok(Step::More)
    }

    /// Rows of the next leaf of a range of an index.
    pub(crate) fn step_range(
        &mut self,
        of: Reading<'_>,
        index: &Index,
        source: &mut RangeSource,
        each: EachRow<'_>,
    ) -> Result<Step, Error> {
        let locking = if of.versions.is_some() { None } else { self.range_locking(of.hints) };
        if let (Some(mode), false) = (locking, source.is_begun) {
            self.begin_serializable();
            // Against the order of the index the end comes first: a range is locked from the key
            // after it.
            self.lock_next_key(of, index, source.at.range().following(), mode)?;
        }
        source.is_begun = true;
        self.verify_not_cancelled()?;
        let mut leaves = index.tree().leaves_from(std::mem::take(&mut source.at));
        let leaf = match locking {
            Some(mode) => self.locked_leaf(of, index, &mut leaves, mode),
            None => Ok(self.visited(of, |visibility| leaves.next_of(visibility))?),
        };
        source.at = leaves.into_position();
        let Some(leaf) = leaf? else { return Ok(Step::End) };
        let stopped_at = self.emit_leaf(of, index, &leaf, each)?;
        let Some(entry) = stopped_at else { return Ok(Step::More) };
        if source.is_resumed
            && let Some(entry) = leaf.iter().nth(entry)
        {
            source.at.return_after(&index.key_of_record(entry.bytes)?);
        }
        Ok(Step::Stopped)
    }

    /// The next row of a range of an index that is out of order.
    pub(crate) fn step_sorted(
        &self,
        of: Reading<'_>,
        index: &Index,
        source: &mut SortedSource,
        each: EachRow<'_>,
    ) -> Result<Step, Error> {
        let Some(entry) = source.entries.get(source.next) else { return Ok(Step::End) };
        self.verify_not_cancelled()?;
        source.next += 1;
        let flow = if of.storage.is_base(index) {
            each(&RowRef::new(of.storage, entry, None)?.seen_by(of.versions))?
        } else {
            self.read_entry(of, index, entry, each)?
        };
        Ok(if flow.is_break() { Step::Stopped } else { Step::More })
    }

    /// Rows of a leaf of an index. Returns the entry at which the caller stopped.
    fn emit_leaf(
        &self,
        of: Reading<'_>,
        index: &Index,
        leaf: &LeafRows,
        each: EachRow<'_>,
    ) -> Result<Option<usize>, Error> {
        let is_base = of.storage.is_base(index);
        let keeps_locks = of.keeps_locks(self);
        if let Some(heap) =
            of.storage.base.heap().filter(|_| !keeps_locks && index.filter().is_none())
        {
            return self.emit_heap_rows(of, index, heap, leaf, each);
        }
        for (number, row) in leaf.iter().enumerate() {
            let flow = if is_base && leaf.is_settled() {
                {
                    let row = RowRef::new(of.storage, row.bytes, None)?.seen_by(of.versions);
                    self.emit_settled(of, &row, each)?
                }
            } else {
                self.read_entry(of, index, row.bytes, each)?
            };
            if flow.is_break() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Rows of a heap by the entries of a leaf, in batches that double: the first row waits for few
    /// others. A row that is not settled, or changed since the entry was read, is read alone.
    fn emit_heap_rows(
        &self,
        of: Reading<'_>,
        index: &Index,
        heap: &Heap,
        leaf: &LeafRows,
        each: EachRow<'_>,
    ) -> Result<Option<usize>, Error> {
        let shape = index.tree().shape();
        let mut entries = leaf.iter();
        let mut batch = FIRST_BATCH_ROWS;
        let mut done = 0;
        while entries.len() > 0 {
            let records =
                entries.by_ref().take(batch).map(|entry| Ok(shape.sound_leaf(entry.bytes)?));
            let records = records.collect::<Result<Vec<_>, Error>>()?;
            let places =
                records.iter().map(|entry| index.rid(entry)).collect::<Result<Vec<_>, Error>>()?;
            let fetched = match of.versions {
                Some(versions) => heap.rows_seen(&places, versions)?,
                None => heap.settled_rows(&places, &|| self.oldest_open(of.hints))?,
            };
            for (number, (entry, at)) in records.iter().zip(places).enumerate() {
                let row = fetched.record(number).map(|row| {
                    let row = RowRef::new(of.storage, row, Some(at));
                    row.map(|row| row.seen_by(of.versions))
                });
                let flow = match row.transpose()? {
                    // The snapshot sees entry and row of the same moment.
                    Some(row) if of.versions.is_some() => each(&row)?,
                    None if of.versions.is_some() => continue,
                    Some(row)
                        if !row.is_off_row()
                            && index.has_bytes_of(entry, row.record(), of.storage)? =>
                    {
                        each(&row)?
                    }
                    _ => self.read_entry(of, index, entry.bytes(), each)?,
                };
                if flow.is_break() {
                    return Ok(Some(done + number));
                }
            }
            done += records.len();
            batch = (2 * batch).min(BATCH_ROWS_MAX);
        }
        Ok(None)
    }
}

/// A source that is read to its end, or until the caller stops.
pub(crate) fn drain(mut step: impl FnMut() -> Result<Step, Error>) -> Result<(), Error> {
    while step()? == Step::More {}
    Ok(())
}
