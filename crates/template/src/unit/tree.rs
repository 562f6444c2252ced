//! Builds a B-tree bottom up from entries in key order.
//!
//! ```text
//! level 2                   root      one page per level is open; when it is full, the next one is
//! level 1           open page  ...    allocated, linked to it and entered in the level above
//! level 0  full -> full -> open page  (which is created with the second page below)
//! ```
//!
//! Invariants
//! - A separator is the key of the first entry of its child.
//! - Both links of a page are known when it is written: the next page is taken when the current one
//!   is closed.

use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageMut, PageType};

use crate::Error;
use crate::file::allocation::Space;
use crate::file::fixed_pages::LSN;
use crate::file::sink::PageSink;
use crate::record::{Entry, RecordWriter};
use crate::unit::packer::Packer;
use crate::unit::{UnitPages, UnitResult};

/// Why an entry was refused; the caller adds the names.
#[derive(Debug)]
pub(crate) enum EntryError {
    /// The entry does not follow the one before.
    Order,
    /// The record is longer than a page can hold.
    TooLong(usize),
    Other(Error),
}

impl From<Error> for EntryError {
    fn from(error: Error) -> Self {
        EntryError::Other(error)
    }
}

pub(crate) use extentdb_base::size::ROW_BYTES_MAX as RECORD_BYTES_MAX;

/// The open page of a level.
struct OpenPage {
    page: PageBuf,
    id: PageId,
    /// The separator of this page for the level above, as long as that level does not exist.
    separator: Vec<u8>,
}

/// A tree that is growing.
pub(crate) struct TreeBuilder {
    writer: RecordWriter,
    unit: UnitPages,
    levels: Vec<OpenPage>,
    /// Fills the leaf page.
    packer: Packer,
    /// The fixed length of the next leaf page.
    fixed_end: u16,
    first: PageId,
    leaves: i64,
    record: Vec<u8>,
    key: Vec<u8>,
    previous_key: Vec<u8>,
    entries: u64,
}

impl TreeBuilder {
    pub(crate) fn new(writer: RecordWriter, unit: UnitPages) -> TreeBuilder {
        TreeBuilder {
            packer: Packer::new(writer.layout.row.compression),
            fixed_end: writer.layout.min_leaf,
            writer,
            unit,
            levels: Vec::new(),
            first: PageId::NONE,
            leaves: 0,
            record: Vec::new(),
            key: Vec::new(),
            previous_key: Vec::new(),
            entries: 0,
        }
    }

    /// Appends an entry, which must follow the previous one.
    pub(crate) fn push(
        &mut self,
        entry: &Entry<'_>,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), EntryError> {
        self.writer.sort_key(entry, &mut self.key);
        if self.entries > 0 && self.key <= self.previous_key {
            return Err(EntryError::Order);
        }
        std::mem::swap(&mut self.key, &mut self.previous_key);
        self.entries += 1;
        let mut record = std::mem::take(&mut self.record);
        self.writer.leaf(entry, &mut record);
        if record.len() > RECORD_BYTES_MAX {
            return Err(EntryError::TooLong(record.len()));
        }
        let packer = &mut self.packer;
        let placed = self
            .levels
            .first_mut()
            .is_some_and(|open| packer.push(&mut open.page, &record).is_some());
        if !placed {
            let mut separator = Vec::new();
            let id = self.unit.page(space)?;
            self.writer.interior(entry, id, &mut separator);
            self.fixed_end = self.writer.fixed_end(&entry.state);
            self.open(0, id, separator, space, sink)?;
            self.packer.begin();
            self.packer.push(&mut self.levels[0].page, &record);
        }
        self.record = record;
        Ok(())
    }

    /// Makes page `id` the open page of a level; the one before is closed and written.
    fn open(
        &mut self,
        level: usize,
        id: PageId,
        separator: Vec<u8>,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let mut page = PageBuf::zeroed();
        format_page(&self.writer, self.unit.id(), level, id, &mut page);
        if level == 0 {
            PageHeader::of_mut(&mut page).fixed_len.set(self.fixed_end);
            self.leaves += 1;
        }
        let Some(before) = self.levels.get_mut(level) else {
            if level == 0 {
                self.first = id;
            }
            self.levels.push(OpenPage { page, id, separator });
            return Ok(());
        };
        PageHeader::of_mut(&mut before.page).next_bytes = id.to_bytes();
        PageHeader::of_mut(&mut page).prev_bytes = before.id.to_bytes();
        space.note_ghosts(&before.page);
        sink.put(&before.page)?;
        let first = std::mem::take(&mut before.separator);
        before.page = page;
        before.id = id;
        if self.levels.len() == level + 1 {
            // The level has its second page: both get a parent.
            self.add_separator(level + 1, first, space, sink)?;
        }
        self.add_separator(level + 1, separator, space, sink)
    }

    fn add_separator(
        &mut self,
        level: usize,
        separator: Vec<u8>,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(), Error> {
        let placed = self
            .levels
            .get_mut(level)
            .is_some_and(|open| PageMut::new(&mut open.page).push(&separator).is_some());
        if placed {
            return Ok(());
        }
        let id = self.unit.page(space)?;
        // The same key, one level up, with this page as the child.
        let above = self.writer.with_child(&separator, id);
        self.open(level, id, above, space, sink)?;
        PageMut::new(&mut self.levels[level].page).push(&separator);
        Ok(())
    }

    /// Writes the open pages and the IAM chain.
    pub(crate) fn finish(self, sink: &mut dyn PageSink) -> Result<UnitResult, Error> {
        for open in &self.levels {
            sink.put(&open.page)?;
        }
        let root = self.levels.last().map_or(PageId::NONE, |open| open.id);
        self.unit.finish(self.first, root, self.leaves, sink)
    }
}

/// Makes an empty page of a tree.
pub(crate) fn format_page(
    writer: &RecordWriter,
    unit: AllocUnitId,
    level: usize,
    id: PageId,
    page: &mut PageBuf,
) {
    let is_data = level == 0 && writer.is_base();
    let kind = if is_data { PageType::Data } else { PageType::Index };
    let mut page = PageMut::format(page, id, kind, unit);
    let header = page.header_mut();
    header.level = level as u8;
    let layout = &writer.layout;
    header.fixed_len.set(if level == 0 { layout.min_leaf } else { layout.min_interior });
    header.lsn_bytes = LSN.to_bytes();
}
