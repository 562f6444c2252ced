//! Which extent is this? A backup stores extents without addresses; each formatted page names
//! itself.
//!
//! ```text
//! extent of 64 KB = 8 pages; page header: 0 version 1 · 1 type · 32 page u32 · 36 file u16
//! ```
//!
//! A page's word counts when its header version is 1, its type is a known one (1 to 20) and its
//! number modulo 8 is its place in the extent. Pages never formatted are zero or hold anything at
//! all.
//!
//! A backup may also store extents that are none of the database: its buffers begin their life as
//! empty work pages of the server (header version 1, type 65 hex, page id (0:0)), and a buffer that
//! was never filled is written as it is. Observed at the end of a stripe in backups of 2008 R2, one
//! extent more than the GAM allocates.

use extentdb_base::size::{PAGE_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{Extent, PageId};

/// Bytes at the start of a page that [`claimed_extent`] needs.
pub const CLAIM_BYTES: usize = 38;
/// Highest page type there is.
const PAGE_TYPE_MAX: u8 = 20;
/// Page type of a work page of the server, which no database file holds.
const WORK_PAGE_TYPE: u8 = 0x65;

/// The extent that a page claims to lie in. `front`: first bytes of the page; `index`: 0 to 7, its
/// place in the extent.
pub fn claimed_extent(front: &[u8], index: u32) -> Option<Extent> {
    let front: &[u8; CLAIM_BYTES] = front.first_chunk()?;
    let [version, page_type, ..] = *front;
    if version != 1 || !(1..=PAGE_TYPE_MAX).contains(&page_type) {
        return None;
    }
    let id = PageId::from_bytes(*front.last_chunk()?);
    (id.file.0 != 0 && id.page % PAGES_PER_EXTENT == index).then(|| id.extent())
}

/// The claim of the first page in `extent` that makes one.
pub fn first_claim(extent: &[u8]) -> Option<Extent> {
    claims(extent).next()
}

/// The claims of all pages of an extent, in order.
pub fn claims(extent: &[u8]) -> impl Iterator<Item = Extent> {
    extent
        .chunks(PAGE_BYTES)
        .zip(0..PAGES_PER_EXTENT)
        .filter_map(|(page, index)| claimed_extent(page, index))
}

/// True for the front of an empty work page: it is no page of any file.
pub fn is_work_page(front: &[u8]) -> bool {
    let Some(front) = front.first_chunk::<CLAIM_BYTES>() else { return false };
    let names_no_page = front.last_chunk().is_some_and(|id| PageId::from_bytes(*id).is_none());
    front.starts_with(&[1, WORK_PAGE_TYPE]) && names_no_page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(version: u8, page_type: u8, id: PageId) -> Vec<u8> {
        let mut page = vec![0; PAGE_BYTES];
        page[0] = version;
        page[1] = page_type;
        page[32..38].copy_from_slice(&id.to_bytes());
        page
    }

    #[test]
    fn a_page_counts_only_when_header_type_and_index_fit() {
        let extent = PageId::new(1, 803).extent();
        for (page, index, expected) in [
            (page(1, 1, PageId::new(1, 803)), 3, Some(extent)),
            (page(1, 20, PageId::new(1, 803)), 3, Some(extent)),
            (page(1, 1, PageId::new(1, 803)), 2, None),
            (page(0, 1, PageId::new(1, 803)), 3, None),
            (page(1, 0, PageId::new(1, 803)), 3, None),
            (page(1, 0x65, PageId::new(1, 803)), 3, None),
            (page(1, 1, PageId::new(0, 803)), 3, None),
            (vec![1; CLAIM_BYTES - 1], 1, None),
        ] {
            assert_eq!(claimed_extent(&page, index), expected);
        }
    }

    #[test]
    fn the_first_formatted_page_names_the_extent() {
        let mut extent = vec![0; 8 * PAGE_BYTES];
        assert_eq!(first_claim(&extent), None);
        extent[5 * PAGE_BYTES..6 * PAGE_BYTES].copy_from_slice(&page(1, 2, PageId::new(3, 85)));
        extent[6 * PAGE_BYTES..7 * PAGE_BYTES].copy_from_slice(&page(1, 2, PageId::new(3, 94)));
        let found: Vec<u32> = claims(&extent).map(|extent| extent.index).collect();
        assert_eq!(found, [10, 11]);
        assert_eq!(first_claim(&extent).map(|extent| extent.file.0), Some(3));
    }

    #[test]
    fn an_empty_work_page_is_recognized_by_type_and_page_id() {
        let work_page = page(1, WORK_PAGE_TYPE, PageId::new(0, 0));
        assert!(is_work_page(&work_page));
        assert!(!is_work_page(&page(1, WORK_PAGE_TYPE, PageId::new(1, 9))));
        assert!(!is_work_page(&page(1, 1, PageId::new(0, 0))));
        assert!(!is_work_page(&work_page[..CLAIM_BYTES - 1]));
    }
}
