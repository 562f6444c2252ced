//! Torn pages of a database that ExtentDB left without closing it: their copies in the double-write
//! area of the primary data file replace them, in memory.
//!
//! ```text
//! NAME.mdf      torn page ──────────────┐
//! NAME.mdf.dw   newest intact image ────┴─▶ page that is read
//! ```
//!
//! The rules are those of an opening by the engine (`docs/durability.md`), which writes where this
//! module only overlays: an area counts when the binding id is that of every file and every file's
//! stamp lies between the oldest and the current use of the area; a page is replaced when it cannot
//! be believed, or differs from its newest image without being newer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::PageBytes;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::double_write::{AreaHeader, Directory, segment_offset};
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{self, Protection};
use extentdb_io::{Error, File};

use crate::checked::check;
use crate::source::{PageSource, is_zero};

/// The state of a double-write area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TornRepair {
    /// No area exists.
    NoArea,
    /// It belongs to another database, or to another state of these files: it is not used.
    Foreign {
        /// Path of the double-write area.
        area: PathBuf,
    },
    /// It was used.
    Used {
        /// Path of the double-write area.
        area: PathBuf,
        /// Pages that are read from it, ascending.
        pages: Vec<PageId>,
    },
}

/// The newest image of a page.
struct Newest {
    batch: u64,
    image: PageBuf,
}

/// The pages that the area of a database replaces.
///
/// # Errors
/// The area exists and cannot be read.
pub(crate) fn torn_pages(
    source: &dyn PageSource,
) -> Result<(TornRepair, Vec<(PageId, PageBuf)>), Error> {
    let none = || (TornRepair::NoArea, Vec::new());
    let primary = source.files().iter().find(|file| file.id == PageId::BOOT.file);
    let Some(primary) = primary else { return Ok(none()) };
    let path = area_path(&primary.path);
    if !path.is_file() {
        return Ok(none());
    }
    let file = File::open_read(&path)?;
    // A header that was never completed: nothing was written under its protection.
    let Some(header) = page_at(&file, 0)?.and_then(|page| AreaHeader::read(&page)) else {
        return Ok(none());
    };
    if !belongs_to(&header, source) {
        return Ok((TornRepair::Foreign { area: path }, Vec::new()));
    }
    let mut replaced = Vec::new();
    for (page, newest) in newest_images(&file, &header)? {
        let is_ours = source.files().iter().any(|file| file.id == page.file);
        if is_ours && !is_sound(source, page, &newest.image) {
            replaced.push((page, newest.image));
        }
    }
    let pages = replaced.iter().map(|(page, _)| *page).collect();
    Ok((TornRepair::Used { area: path, pages }, replaced))
}

/// Where the area of a database is.
fn area_path(primary: &Path) -> PathBuf {
    let mut name = OsString::from(primary);
    name.push(".dw");
    name.into()
}

/// True when the area belongs to these files. Torn pages do not contradict it.
fn belongs_to(area: &AreaHeader, source: &dyn PageSource) -> bool {
    source.files().iter().all(|file| {
        let mut page = PageBuf::zeroed();
        let id = PageId { file: file.id, page: 0 };
        let is_read = source.read(id, &mut page).is_ok();
        if !is_read || !checksum::verify(&page).is_intact() {
            return true;
        }
        checksum::restore_torn(&mut page);
        let header = FileHeaderView::new(&page).header();
        let stamp = header.first_update_lsn.unwrap_or(Lsn::ZERO);
        header.binding_id.is_none_or(|binding| {
            binding == area.binding_id && (area.oldest_use..=area.current_use).contains(&stamp)
        })
    })
}

/// The newest image of each page whose directory and checksum hold.
fn newest_images(file: &File, header: &AreaHeader) -> Result<BTreeMap<PageId, Newest>, Error> {
    let mut images: BTreeMap<PageId, Newest> = BTreeMap::new();
    let segments = (0..).map(|index| segment_offset(index, header.pages_per_segment));
    for offset in segments.take_while(|offset| *offset < file.len()) {
        let directory = page_at(file, offset)?.and_then(|page| Directory::read(&page));
        let Some(directory) = directory else { continue };
        for (number, entry) in (1..).zip(&directory.entries) {
            let image = page_at(file, offset + number * PAGE_BYTES as u64)?;
            let Some(image) = image.filter(|image| entry.describes(&image[..])) else { continue };
            let batch = directory.batch;
            if images.get(&entry.page).is_none_or(|known| known.batch < batch) {
                images.insert(entry.page, Newest { batch, image });
            }
        }
    }
    Ok(images)
}

fn page_at(file: &File, offset: u64) -> Result<Option<PageBuf>, Error> {
    let mut page = PageBuf::zeroed();
    let read = file.read_at(offset, &mut page[..])?;
    Ok((read == PAGE_BYTES).then_some(page))
}

/// True when the page in the file is whole and as new as the copy, or newer. The boot page changes
/// without a new LSN: of it only the checksum is asked.
fn is_sound(source: &dyn PageSource, id: PageId, image: &PageBytes) -> bool {
    let mut page = PageBuf::zeroed();
    if source.read(id, &mut page).is_err() {
        return false;
    }
    if page[..] == image[..] {
        return true;
    }
    let is_newer = PageHeader::of(&page).lsn() > PageHeader::of(image).lsn() || id == PageId::BOOT;
    let is_protected = !matches!(checksum::verify(&page), Protection::None);
    is_newer && is_protected && !is_zero(&page) && check(id, &mut page).is_ok()
}
