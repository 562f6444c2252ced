//! One allocated page cannot be read as what it was: of a table, of an index, of the maps, of the
//! catalog.
//!
//! Seen in the wild as: error 824 or 823 for one page of a database of a terabyte. The engine must
//! detect it and continue without the page: errors name the page; the database opens, also after a
//! crash whose log has records for it, and work on everything that does not need the page goes on,
//! to a clean close and over the next opening. Only a page without which the catalog cannot be
//! read, or a transaction that has changed it cannot be undone, prevents the opening; the error
//! then names it.

use std::path::{Path, PathBuf};

use extentdb_base::env::Rng;
use extentdb_base::size::{PAGE_BYTES, PAGE_HEADER_BYTES, PAGES_PER_PFS};
use extentdb_base::{AllocUnitId, FileId, PageId};
use extentdb_format::allocation::bitmap::fixed_page_type;
use extentdb_format::allocation::pfs::PfsView;
use extentdb_format::page::PageHeader;
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_io::MemDisk;

/// Units of the base tables have an index id below this in their id.
const FIRST_USER_INDEX_ID: u16 = 256;

/// The role of a page in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRole {
    /// Without it the catalog cannot be read: base tables, boot page, file header.
    Catalog,
    /// GAM, SGAM, PFS, DIFF, ML or IAM page.
    Map,
    /// Rows or entries of one table.
    Table,
}

/// A damaged page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPage {
    /// Id of the damaged page.
    pub page: PageId,
    /// What depends on the page.
    pub role: PageRole,
    /// What was done to it.
    pub what: &'static str,
}

/// Damages a random allocated page; `None` when the chosen page is not allocated, or when its
/// checksum does not see the damage: equal sectors in pairs cancel out (docs/durability.md), as in
/// the unused half of a page whose slots are all empty.
pub fn damage(memory: &MemDisk, files: &[PathBuf], rng: &mut dyn Rng) -> Option<BadPage> {
    let number = rng.below(files.len() as u64) as usize;
    let file = FileId(if number == 0 { 1 } else { number as u16 + 2 });
    let path = &files[number];
    let pages = allocated(memory, path, file);
    let page = *pages.get(rng.below(pages.len() as u64) as usize)?;
    let mut bytes = memory.contents(path)?;
    let start = page.page as usize * PAGE_BYTES;
    let content = bytes.get_mut(start..start + PAGE_BYTES)?;
    let role = role_of(page, &page_of(content));
    let what = spoil(content, rng);
    if is_unseen(&page_of(content)) {
        return None;
    }
    memory.put(path, bytes);
    Some(BadPage { page, role, what })
}

/// Does a page with a checksum look sound?
fn is_unseen(page: &PageBytes) -> bool {
    match checksum::verify(page) {
        Protection::Checksum { stored, computed } => stored == computed,
        _ => false,
    }
}

/// The pages of a file that its PFS calls allocated.
fn allocated(memory: &MemDisk, path: &Path, file: FileId) -> Vec<PageId> {
    let bytes = memory.contents(path).unwrap_or_default();
    let pages = (bytes.len() / PAGE_BYTES) as u32;
    let mut allocated = Vec::new();
    for first in (0..pages).step_by(PAGES_PER_PFS as usize) {
        let at = PageId { file, page: first }.pfs_page().page as usize * PAGE_BYTES;
        let map = page_of(&bytes[at..at + PAGE_BYTES]);
        let in_map = first..pages.min(first + PAGES_PER_PFS);
        let is_allocated = |page: &u32| PfsView::new(&map).entry(*page).is_allocated();
        allocated.extend(in_map.filter(is_allocated).map(|page| PageId { file, page }));
    }
    allocated
}

fn page_of(bytes: &[u8]) -> PageBuf {
    let mut page = PageBuf::zeroed();
    page.copy_from_slice(bytes);
    page
}

fn role_of(id: PageId, page: &PageBytes) -> PageRole {
    let unit = PageHeader::of(page).alloc_unit();
    match fixed_page_type(id) {
        Some(_) if id.page == 0 || id == PageId::BOOT => PageRole::Catalog,
        Some(_) => PageRole::Map,
        None if unit == AllocUnitId::SYSTEM_PAGES => PageRole::Map,
        None if unit.header_index_id() < FIRST_USER_INDEX_ID => PageRole::Catalog,
        None => PageRole::Table,
    }
}

fn spoil(page: &mut [u8], rng: &mut dyn Rng) -> &'static str {
    match rng.below(3) {
        0 => {
            // Past the header, so that the page does not look like one without a checksum.
            let at =
                PAGE_HEADER_BYTES + rng.below((page.len() - PAGE_HEADER_BYTES) as u64) as usize;
            page[at] ^= 1 << rng.below(8);
            "one bit"
        }
        1 => {
            page[PAGE_BYTES / 2..].fill(0xa5);
            "its second half"
        }
        _ => {
            page.fill(0);
            "all zeros"
        }
    }
}
