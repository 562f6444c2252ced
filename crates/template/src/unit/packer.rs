//! Records onto a page, with page compression where the rowset has it.
//!
//! ```text
//! first rows    as row-compressed records, until one does not fit
//! page is full  compression information is computed from its rows; if it saves space, they are
//!               rewritten against it
//! more rows     against the information, until one does not fit: the page is done
//! ```
//!
//! So the last page of a rowset, which was never full, has no compression information, as real
//! ones.
//!
//! Invariant: slot numbers never change.

use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_BYTES, PAGE_HEADER_BYTES};
use extentdb_catalog::layout::Compression;
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageMut, PageRef};
use extentdb_format::record::RecordKind;
use extentdb_format::record::compressed::row::IS_CD;
use extentdb_format::record::compressed::{CdKind, page::TYPE_FLAG_COMPRESSED};

use crate::unit::page_compression::CompressionInfo;

/// Fills one page after the other.
pub(crate) struct Packer {
    compression: Compression,
    /// The records of the page as appended, by slot; `None` for an empty slot. Kept under page
    /// compression only.
    kept: Vec<Option<Vec<u8>>>,
    shared: Option<CompressionInfo>,
    is_tried: bool,
}

impl Packer {
    pub(crate) fn new(compression: Compression) -> Packer {
        Packer { compression, kept: Vec::new(), shared: None, is_tried: false }
    }

    /// Begins an empty page.
    pub(crate) fn begin(&mut self) {
        self.kept.clear();
        self.shared = None;
        self.is_tried = false;
    }

    /// Places a record in a new last slot; `None` when the page is full.
    pub(crate) fn push(&mut self, page: &mut PageBuf, record: &[u8]) -> Option<u16> {
        if self.compression != Compression::Page {
            return place(page, record);
        }
        if let Some(slot) = self.push_stored(page, record) {
            return Some(slot);
        }
        if self.is_tried {
            return None;
        }
        self.is_tried = true;
        self.shared = CompressionInfo::of(self.kept.iter().flatten().map(Vec::as_slice));
        self.shared.as_ref()?;
        self.rewrite(page);
        self.push_stored(page, record)
    }

    fn push_stored(&mut self, page: &mut PageBuf, record: &[u8]) -> Option<u16> {
        let slot = match &self.shared {
            Some(shared) => place(page, &shared.encode(record)),
            None => place(page, record),
        }?;
        self.kept.push(Some(record.to_vec()));
        Some(slot)
    }

    /// Rewrites all records of the page, after the compression information.
    fn rewrite(&self, page: &mut PageBuf) {
        let Some(shared) = &self.shared else { return };
        let information = shared.information();
        let start = PAGE_HEADER_BYTES + information.len();
        page[PAGE_HEADER_BYTES..].fill(0);
        page[PAGE_HEADER_BYTES..start].copy_from_slice(information);
        let header = PageHeader::of_mut(page);
        header.type_flag_bits |= TYPE_FLAG_COMPRESSED;
        header.slot_count.set(0);
        header.ghost_count.set(0);
        header.free_bytes.set((PAGE_BODY_BYTES - information.len()) as u16);
        header.free_offset.set(start as u16);
        for record in &self.kept {
            match record {
                Some(record) => {
                    place(page, &shared.encode(record));
                }
                None => push_empty_slot(page),
            }
        }
    }

    /// Replaces a forwarding stub by another.
    pub(crate) fn replace(&mut self, page: &mut PageBuf, slot: u16, record: &[u8]) {
        if let Some(at) = PageRef::new(page).slot_offset(slot).map(usize::from) {
            page[at..at + record.len()].copy_from_slice(record);
        }
        if let Some(kept) = self.kept.get_mut(usize::from(slot)) {
            *kept = Some(record.to_vec());
        }
    }

    /// Takes out the record pushed last, whose length this is; its slot stays, empty.
    pub(crate) fn vacate(&mut self, page: &mut PageBuf, slot: u16, record: &[u8]) {
        let len = self.shared.as_ref().map_or(record.len(), |shared| shared.encode(record).len());
        let mut edit = PageMut::new(page);
        let footprint = edit.footprint(len) as u16;
        edit.set_slot_offset(slot, 0);
        // The bytes are free, but not contiguous: the next record is placed after them.
        let header = edit.header_mut();
        let free = header.free_bytes.get();
        header.free_bytes.set(free + footprint);
        if let Some(kept) = self.kept.get_mut(usize::from(slot)) {
            *kept = None;
        }
    }
}

fn push_empty_slot(page: &mut PageBuf) {
    let mut edit = PageMut::new(page);
    let header = edit.header_mut();
    let count = header.slot_count.get();
    let free = header.free_bytes.get();
    header.slot_count.set(count + 1);
    header.free_bytes.set(free - 2);
    edit.set_slot_offset(count, 0);
    debug_assert!(
        usize::from(PageHeader::of(page).free_offset.get()) + 2 * usize::from(count + 1)
            <= PAGE_BYTES
    );
}

/// Pushes a record and counts it when it is a ghost.
fn place(page: &mut PageBuf, record: &[u8]) -> Option<u16> {
    let slot = PageMut::new(page).push(record)?;
    if record.first().is_some_and(|status| is_ghost(*status)) {
        let header = PageHeader::of_mut(page);
        let ghosts = header.ghost_count.get();
        header.ghost_count.set(ghosts + 1);
    }
    Some(slot)
}

/// True when a record with this first byte is a ghost.
pub(crate) fn is_ghost(status: u8) -> bool {
    if status & IS_CD != 0 {
        CdKind::of(status).is_ghost()
    } else {
        RecordKind::of(status).is_ghost()
    }
}
