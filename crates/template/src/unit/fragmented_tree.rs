//! Builds a fragmented B-tree, as after inserts in random order and some deletes.
//!
//! ```text
//! pages      in random physical order, on every level
//! fill       the entries of a page end somewhere between half and all of it
//! records    on a page in random order, with gaps where deleted ones lay
//! separator  the key at which the page began when it was split off: that row may have been deleted
//!            since, so a separator
//!            may be lower than the first key of its page
//! no page    where all rows of a page were deleted; a page above may have lost its first child
//!            that way
//! ```
//!
//! Invariants
//! - A separator is more than every key before its page, and not more than any key in it.
//! - A page is allocated with its first live entry, so none is empty.

use extentdb_base::PageId;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_HEADER_BYTES};
use extentdb_format::PageBuf;
use extentdb_format::page::PageMut;

use crate::Error;
use crate::file::allocation::Space;
use crate::file::sink::PageSink;
use crate::record::{Entry, RecordWriter};
use crate::unit::packer::is_ghost;
use crate::unit::tree::{EntryError, RECORD_BYTES_MAX, format_page};
use crate::unit::{UnitPages, UnitResult};

/// An entry as it was when the page was filled.
struct Written {
    record: Vec<u8>,
    is_live: bool,
}

/// An allocated page.
struct AllocatedPage {
    id: PageId,
    prev: PageId,
    entries: Vec<Written>,
}

/// One level of the tree.
struct Level {
    /// Bytes at which the page that is being filled counts as full.
    target: usize,
    /// Bytes of its entries, deleted ones included, and their number.
    filled: (usize, usize),
    /// Its separator for the level above; the child is filled in when the page is allocated.
    separator: Vec<u8>,
    /// Deleted entries from before the page was allocated.
    waiting: Vec<Written>,
    open: Option<AllocatedPage>,
    /// The previous page, whose next link is not known yet.
    closed: Option<AllocatedPage>,
    /// The separator of the first page, as long as the level above does not exist.
    first: Option<Vec<u8>>,
}

/// A tree that is growing.
pub(crate) struct FragmentedTree {
    writer: RecordWriter,
    unit: UnitPages,
    rng: SplitMix64,
    levels: Vec<Level>,
    first: PageId,
    leaves: i64,
    key: Vec<u8>,
    previous_key: Vec<u8>,
}

impl FragmentedTree {
    pub(crate) fn new(writer: RecordWriter, unit: UnitPages, seed: u64) -> FragmentedTree {
        FragmentedTree {
            writer,
            unit,
            rng: SplitMix64::new(seed),
            levels: Vec::new(),
            first: PageId::NONE,
            leaves: 0,
            key: Vec::new(),
            previous_key: Vec::new(),
        }
    }

    /// Pages that the tree has taken so far.
    pub(crate) fn page_count(&self) -> u64 {
        self.unit.page_count()
    }

    /// Appends an entry, which must follow the previous one; a deleted one leaves no more than
    /// its traces.
    pub(crate) fn push(
        &mut self,
        entry: &Entry<'_>,
        is_live: bool,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), EntryError> {
        self.writer.sort_key(entry, &mut self.key);
        if !self.previous_key.is_empty() && self.key <= self.previous_key {
            return Err(EntryError::Order);
        }
        std::mem::swap(&mut self.key, &mut self.previous_key);
        let mut record = Vec::new();
        self.writer.leaf(entry, &mut record);
        if record.len() > RECORD_BYTES_MAX {
            return Err(EntryError::TooLong(record.len()));
        }
        let mut separator = Vec::new();
        self.writer.interior(entry, PageId::NONE, &mut separator);
        self.add(0, Written { record, is_live }, &separator, space, sink)?;
        Ok(())
    }

    /// Adds an entry to a level; `separator` refers to the page that begins with it.
    fn add(
        &mut self,
        level: usize,
        entry: Written,
        separator: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let cost = self.cost(level, &entry);
        let is_full = self.levels.get(level).is_none_or(|level| level.is_full(cost));
        if is_full {
            self.turn(level, separator, space, sink)?;
        }
        if entry.is_live && self.levels.get(level).is_some_and(|level| level.open.is_none()) {
            self.place(level, space, sink)?;
        }
        let Some(level) = self.levels.get_mut(level) else { return Ok(()) };
        level.filled = (level.filled.0 + cost, level.filled.1 + 1);
        match &mut level.open {
            Some(page) => page.entries.push(entry),
            None => level.waiting.push(entry),
        }
        Ok(())
    }

    /// Bytes an entry takes with its slot.
    fn cost(&self, level: usize, entry: &Written) -> usize {
        let least = if level == 0 && self.writer.is_base() { 9 } else { 0 };
        entry.record.len().max(least) + 2
    }

    /// Ends the page of a level. One without a live entry is dropped, and leaves its separator as a
    /// deleted entry above.
    fn turn(
        &mut self,
        level: usize,
        separator: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let half = PAGE_BODY_BYTES / 2;
        let target = half + self.rng.below(half as u64 + 1) as usize;
        let Some(own) = self.levels.get_mut(level) else {
            self.levels.push(Level::new(target, separator));
            return Ok(());
        };
        let lost = std::mem::replace(&mut own.separator, separator.to_vec());
        (own.target, own.filled) = (target, (0, 0));
        own.waiting.clear();
        match own.open.take() {
            Some(page) => own.closed = Some(page),
            None if self.levels.len() > level + 1 => {
                let entry = Written { record: lost.clone(), is_live: false };
                self.add(level + 1, entry, &lost, space, sink)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Allocates the page of a level: the previous page is written, and the level above gets an
    /// entry.
    fn place(
        &mut self,
        level: usize,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let id = self.unit.page(space)?;
        if level == 0 {
            self.leaves += 1;
            if self.first.is_none() {
                self.first = id;
            }
        }
        let has_above = self.levels.len() > level + 1;
        let Some(own) = self.levels.get_mut(level) else { return Ok(()) };
        let separator = self.writer.with_child(&own.separator, id);
        let closed = own.closed.take();
        let prev = closed.as_ref().map_or(PageId::NONE, |page| page.id);
        own.open = Some(AllocatedPage { id, prev, entries: std::mem::take(&mut own.waiting) });
        let Some(closed) = closed else {
            own.first = Some(separator);
            return Ok(());
        };
        let first = own.first.take().filter(|_| !has_above);
        self.write(level, &closed, id, sink)?;
        // With its second page a level gets one above it.
        for separator in first.into_iter().chain([separator]) {
            let entry = Written { record: separator.clone(), is_live: true };
            self.add(level + 1, entry, &separator, space, sink)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        level: usize,
        placed: &AllocatedPage,
        next: PageId,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let mut page = PageBuf::zeroed();
        format_page(&self.writer, self.unit.id(), level, placed.id, &mut page);
        let mut order: Vec<usize> = (0..placed.entries.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, self.rng.below(last as u64 + 1) as usize);
        }
        let mut offsets = vec![0; order.len()];
        let mut end = PAGE_HEADER_BYTES;
        let mut free = PAGE_BODY_BYTES;
        for at in order {
            let entry = &placed.entries[at];
            page[end..end + entry.record.len()].copy_from_slice(&entry.record);
            offsets[at] = end;
            let cost = self.cost(level, entry);
            end += cost - 2;
            free -= if entry.is_live { cost } else { 0 };
        }
        let live = placed.entries.iter().zip(&offsets).filter(|(entry, _)| entry.is_live);
        let mut edit = PageMut::new(&mut page);
        let mut slots = 0;
        let mut ghosts = 0;
        for (entry, offset) in live {
            edit.set_slot_offset(slots, *offset as u16);
            slots += 1;
            ghosts += u16::from(entry.record.first().is_some_and(|status| is_ghost(*status)));
        }
        let header = edit.header_mut();
        header.slot_count.set(slots);
        header.ghost_count.set(ghosts);
        header.free_offset.set(end as u16);
        header.free_bytes.set(free as u16);
        header.prev_bytes = placed.prev.to_bytes();
        header.next_bytes = next.to_bytes();
        sink.put(&page)
    }

    /// Writes the last pages and the IAM chain.
    pub(crate) fn finish(mut self, sink: &mut dyn PageSink) -> Result<UnitResult, Error> {
        let mut root = PageId::NONE;
        for level in 0..self.levels.len() {
            let open = self.levels[level].open.take();
            let closed = self.levels[level].closed.take();
            // A page is closed and nothing open when all following rows are deleted.
            if let Some(page) = open.or(closed) {
                root = page.id;
                self.write(level, &page, PageId::NONE, sink)?;
            }
        }
        self.unit.finish(self.first, root, self.leaves, sink)
    }
}

impl Level {
    fn new(target: usize, separator: &[u8]) -> Level {
        Level {
            target,
            filled: (0, 0),
            separator: separator.to_vec(),
            waiting: Vec::new(),
            open: None,
            closed: None,
            first: None,
        }
    }

    /// A page takes at least two entries if they fit: with one child per page a tree would not end.
    fn is_full(&self, cost: usize) -> bool {
        let (bytes, count) = self.filled;
        let limit = if count < 2 { PAGE_BODY_BYTES } else { self.target };
        bytes + cost > limit
    }
}
