//! Growing a file.
//!
//! ```text
//! extend on disk → new PFS, GAM, SGAM, DIFF, ML pages written there → synced → FILE_HDR_MODIFY
//!        logged → extents free in memory
//! ```
//!
//! The new part is whole and durable before anything says that it exists.
//!
//! Crash example. A file of 1,024 pages grows by 512.
//!
//! 1. The disk extends it to 1,536 pages. Power cut: restart sees a header of 1,024 pages and a
//!    longer file. The pages past 1,023 belong to nothing; the next growth writes them again.
//! 2. Map pages of the new part are written and synced. Power cut, some of them torn: the same.
//! 3. FILE_HDR_MODIFY is logged, with the size 1,536. Power cut before it is durable: the same.
//!    After: redo writes the size into the header, and the part is whole since step 2.
//! 4. The extents are free in memory, and a transaction takes one. Its record follows that of the
//!    growth in the log, so no page past 1,023 is used while the header may still say 1,024.

use std::ops::Range;

use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::sync::lock;
use extentdb_base::{Extent, FileId, Lsn, PageId};
use extentdb_change::{change, in_own_system};
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::bitmap::{MapKind, fixed_page_type, is_fixed_extent, write_map};
use extentdb_format::allocation::file_header::{
    FileHeader, FileHeaderView, Growth, MAX_SIZE_UNLIMITED,
};
use extentdb_format::allocation::pfs::{Fullness, PfsByte, write_pfs};
use extentdb_format::log::payload::row::FileHeaderModify;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::{PageHeader, PageRef, checksum};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_io::{DiskFile, Durability, Fill};
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::file::{DataFile, FileSettings};
use crate::space::Space;

/// Pages of the largest file: 16 TB.
const PAGES_MAX: u32 = 0x8000_0000;

impl Space {
    /// Makes a file longer by its own increment. False when it may not grow any more.
    pub(crate) fn grow(&self, file: &DataFile) -> Result<bool, Error> {
        let _growing = lock(file.growing());
        if file.is_withdrawn() {
            return Ok(false);
        }
        let pages = file.pages();
        let description = file.description();
        let increment = match description.growth {
            Growth::Pages(pages) => u64::from(pages),
            // A percentage of the size of today, to the nearest extent.
            Growth::Percent(percent) => u64::from(pages) * u64::from(percent) / 100,
        };
        let extent = u64::from(PAGES_PER_EXTENT);
        let increment =
            if increment == 0 { 0 } else { ((increment + extent / 2) / extent).max(1) * extent };
        let most = description.pages_max.unwrap_or(PAGES_MAX).min(PAGES_MAX);
        let target = (u64::from(pages) + increment).min(u64::from(most)) / extent * extent;
        if target <= u64::from(pages) {
            return Ok(false);
        }
        self.lengthen(file, target as u32)?;
        Ok(true)
    }

    /// Makes a file this long, in whole extents.
    pub fn grow_to(&self, id: FileId, pages: u32) -> Result<(), Error> {
        let file = self.file(id)?;
        let _growing = lock(file.growing());
        self.lengthen(&file, pages)
    }

    /// The same, for a caller that holds the file's lock.
    fn lengthen(&self, file: &DataFile, pages: u32) -> Result<(), Error> {
        let id = file.id();
        let started = self.transactions().clock().monotonic();
        let old = file.pages();
        let new = pages / PAGES_PER_EXTENT * PAGES_PER_EXTENT;
        if new <= old {
            return Ok(());
        }
        self.write_new_part(id, old, new)?;
        let added = old.div_ceil(PAGES_PER_EXTENT)..new / PAGES_PER_EXTENT;
        let (fixed, free): (Vec<u32>, Vec<u32>) = added.partition(|index| is_fixed_extent(*index));
        in_own_system(self, "GrowFile", |system| -> Result<(), Error> {
            self.set_header_size(system, id, new)?;
            // The maps of the old part do not have these extents as allocated yet, though they hold
            // a PFS page.
            let mut extents = fixed.iter().map(|index| Extent { file: id, index: *index });
            extents.try_for_each(|extent| self.log_taken(system, extent))
        })?;
        file.grown(new, free.into_iter());
        let took = self.transactions().clock().monotonic().saturating_sub(started);
        self.events().grown(file, new - old, took);
        Ok(())
    }

    /// Logs other settings of a file in its header, which the caller's transaction may undo.
    ///
    /// # Errors
    /// There is no such file; the log is full.
    pub fn log_settings(
        &self,
        tx: &mut Transaction,
        id: FileId,
        settings: &FileSettings,
    ) -> Result<(), Error> {
        self.change_header(tx, id, |header| {
            header.set_growth(settings.growth);
            header.max_size = Some(settings.pages_max.unwrap_or(MAX_SIZE_UNLIMITED));
            header.set_name(&settings.name);
        })
    }

    fn write_new_part(&self, id: FileId, old: u32, new: u32) -> Result<(), Error> {
        let disk = self.pool().file(id).ok_or(Error::NoFile { file: id })?;
        write_part(&*disk, id, old..new, Lsn::ZERO)?;
        disk.sync()?;
        Ok(())
    }

    /// Logs the new size of the file in its header.
    fn set_header_size(&self, tx: &mut Transaction, id: FileId, pages: u32) -> Result<(), Error> {
        self.change_header(tx, id, |header| header.size = Some(pages))
    }

    /// Logs the LSN of this opening in the header of a file. False when the header has no room for
    /// it: versions before 2008 do not have the field.
    pub fn set_first_update(
        &self,
        tx: &mut Transaction,
        id: FileId,
        lsn: Lsn,
    ) -> Result<bool, Error> {
        let has_field = {
            let page = self.pool().read(PageId { file: id, page: 0 })?;
            FileHeaderView::new(&page).header().first_update_lsn.is_some()
        };
        if has_field {
            self.change_header(tx, id, |header| header.first_update_lsn = Some(lsn))?;
        }
        Ok(has_field)
    }

    fn change_header(
        &self,
        tx: &mut Transaction,
        id: FileId,
        change_fields: impl FnOnce(&mut FileHeader),
    ) -> Result<(), Error> {
        let mut page = self.pool().write(PageId { file: id, page: 0 })?;
        let before = header_record(&page);
        let (mut header, _) = FileHeader::parse(&before);
        change_fields(&mut header);
        let after = header.to_record();
        let modify = FileHeaderModify {
            before: &before,
            after: &after,
            ..FileHeaderModify::default()
        };
        let payload = Payload::FileHeaderModify(modify);
        change(
            RecordOwner::Change(tx),
            &mut page,
            Op::FILE_HDR_MODIFY,
            Context::FILE_HEADER,
            payload,
        )?;
        Ok(())
    }
}

/// Formats an empty file as the data file `id` of `pages` pages: the header page given, and its
/// maps. Durable when this returns; the database does not have the file yet. `lsn`, of a record
/// that is durable, goes on all of these pages: they are newer than copies, in the double-write
/// area, of a file that had the number before.
pub fn write_new_file(
    disk: &dyn DiskFile,
    id: FileId,
    pages: u32,
    header: &PageBytes,
    lsn: Lsn,
) -> Result<(), extentdb_io::Error> {
    write_part(disk, id, 0..pages, lsn)?;
    let mut page = PageBuf::zeroed();
    page.copy_from_slice(header);
    PageHeader::of_mut(&mut page).lsn_bytes = lsn.to_bytes();
    checksum::seal(&mut page);
    disk.write_at(0, &[&page[..]], Durability::Deferred)?;
    disk.sync()
}

/// The maps between two sizes of a file, not synced.
fn write_part(
    disk: &dyn DiskFile,
    id: FileId,
    part: Range<u32>,
    lsn: Lsn,
) -> Result<(), extentdb_io::Error> {
    let Range { start: old, end: new } = part;
    disk.extend(u64::from(new) * PAGE_BYTES as u64, Fill::Allocated)?;
    let mut page = PageBuf::zeroed();
    for number in fixed_pages(old, new) {
        write_fixed_page(PageId { file: id, page: number }, lsn, &mut page);
        checksum::seal(&mut page);
        disk.write_at(u64::from(number) * PAGE_BYTES as u64, &[&page[..]], Durability::Deferred)?;
    }
    Ok(())
}

/// The record of a file header page.
fn header_record(page: &PageBytes) -> Vec<u8> {
    let at = FileHeaderView::new(page).record_offset();
    let bytes = page.get(at..PageRef::new(page).slot_array_start()).unwrap_or_default();
    let len = extentdb_format::record::Record::parse_data(bytes).len();
    bytes.get(..len).unwrap_or_default().to_vec()
}

/// The map pages between two sizes of a file.
fn fixed_pages(old: u32, new: u32) -> Vec<u32> {
    let of = |page| PageId { file: FileId(1), page };
    let pfs = (0..new).step_by(PAGES_PER_PFS as usize).map(|first| of(first).pfs_page().page);
    let maps = (0..new)
        .step_by(PAGES_PER_GAM as usize)
        .flat_map(|first| MapKind::ALL.map(|kind| kind.page_of(of(first)).page));
    let mut all: Vec<u32> = pfs.chain(maps).filter(|page| *page >= old).collect();
    all.sort_unstable();
    all
}

/// A map page of a part of a file where nothing is allocated but the map pages themselves.
fn write_fixed_page(id: PageId, lsn: Lsn, page: &mut PageBuf) {
    page.fill(0);
    let stamp = PageStamp { lsn, ..PageStamp::default() };
    let Some(kind) = MapKind::ALL.into_iter().find(|kind| kind.page_of(id) == id) else {
        let mut entries = write_pfs(page, id, &stamp);
        let state = PfsByte::ALLOCATED.with_fullness(Fullness::UpTo100);
        // The first PFS page is page 1, after page 0, the first that it describes.
        let first = id.page / PAGES_PER_PFS * PAGES_PER_PFS;
        let fixed = first..first.saturating_add(PAGES_PER_PFS);
        for page in
            fixed.filter(|page| fixed_page_type(PageId { file: id.file, page: *page }).is_some())
        {
            entries.set(page, state);
        }
        return;
    };
    let mut bits = write_map(page, id, kind, &stamp);
    let first = id.gam_interval().extent().index;
    for bit in 0..extentdb_base::size::EXTENTS_PER_GAM {
        let fixed = is_fixed_extent(first.saturating_add(bit));
        match kind {
            MapKind::Gam => bits.set(bit, !fixed),
            MapKind::Diff => bits.set(bit, fixed),
            MapKind::Sgam | MapKind::Ml => {}
        }
    }
}
