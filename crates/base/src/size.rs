//! Sizes that all crates share. Units are bytes unless the name says otherwise.

/// Bytes of a page.
pub const PAGE_BYTES: usize = 8192;
/// Bytes of the page header; the first record of a page starts here.
pub const PAGE_HEADER_BYTES: usize = 96;
/// Bytes of a page that records and the slot array share.
pub const PAGE_BODY_BYTES: usize = PAGE_BYTES - PAGE_HEADER_BYTES;
/// Bytes of the longest row, by public documentation.
pub const ROW_BYTES_MAX: usize = 8060;
/// Pages of an extent.
pub const PAGES_PER_EXTENT: u32 = 8;
/// Bytes of an extent.
pub const EXTENT_BYTES: usize = PAGE_BYTES * PAGES_PER_EXTENT as usize;
/// Pages that one PFS page describes, itself included.
pub const PAGES_PER_PFS: u32 = 8088;
/// Extents that one GAM, SGAM, DIFF, ML or IAM page describes.
pub const EXTENTS_PER_GAM: u32 = 63_904;
/// Pages of a GAM interval.
pub const PAGES_PER_GAM: u32 = EXTENTS_PER_GAM * PAGES_PER_EXTENT;
/// Bytes of a sector as page protection and log stamps count them.
pub const SECTOR_BYTES: usize = 512;

const _: () =
    assert!(ROW_BYTES_MAX + 2 <= PAGE_BODY_BYTES, "a page holds the longest row and its slot");
const _: () = assert!(
    EXTENTS_PER_GAM as usize / 8 <= PAGE_BODY_BYTES,
    "a map page holds a bit for each extent of its interval"
);
const _: () = assert!(
    PAGES_PER_PFS as usize <= PAGE_BODY_BYTES,
    "a PFS page holds a byte for each page that it describes"
);
const _: () = assert!(
    PAGE_BYTES.is_multiple_of(SECTOR_BYTES),
    "a torn write leaves whole sectors of the old and of the new page"
);
