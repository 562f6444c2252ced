//! The double-write area: copies of pages that are about to be overwritten in place, so that a torn
//! write can be repaired.
//!
//! The file is ours, no SQL Server knows it. It stands beside the primary data file while a
//! database is open and after a crash; a clean close removes it.
//!
//! ```text
//! page 0            header: which database, which use of it, how segments are laid out
//! page 1            segment 0: one directory page, then up to `pages_per_segment` images
//! page 2 + n        segment 1 …
//!
//! header, all integers little-endian            directory
//! offset size                                   offset size
//!      0   16 "ExtentDB area 1\0"                    0   16 "ExtentDB batch 1"
//!     16   16 binding id of the database            16    8 number of the batch, ascending
//!     32   10 use of this opening (an LSN)          24   10 the log was durable up to here
//!     42   10 oldest use that a data file may name          34    2 images
//!     52    4 pages per segment                     36    4 CRC-32C of the rest of the page
//!     56    4 CRC-32C of bytes 0..56                40   12 × images: file u16, 0 u16, page u32,
//!                                                        CRC-32C u32
//! ```
//!
//! Invariants
//! - A directory is believed only when its checksum holds, an image only when the checksum in its
//!   directory holds. Both are written by one write that may tear anywhere: an image whose write
//!   was cut short is not used, and is not needed, because the write in place begins when the batch
//!   is durable.
//! - Of several images of a page the one of the highest batch counts.

use extentdb_base::size::{PAGE_BYTES, SECTOR_BYTES};
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_types::Guid;

use crate::page::PageBytes;

/// Images of a segment at most: what a directory page has room for, rounded down.
pub const IMAGES_MAX: usize = 512;

const HEADER_SIGNATURE: &[u8; 16] = b"ExtentDB area 1\0";
const BATCH_SIGNATURE: &[u8; 16] = b"ExtentDB batch 1";
const HEADER_BYTES: usize = 56;
const ENTRIES_AT: usize = 40;
const ENTRY_BYTES: usize = 12;
const _: () = assert!(
    HEADER_BYTES + size_of::<u32>() <= SECTOR_BYTES,
    "the header is one sector: rewriting `oldest use` leaves the old header or the new one"
);
const _: () =
    assert!(ENTRIES_AT + IMAGES_MAX * ENTRY_BYTES <= PAGE_BYTES, "a directory is one page");

/// The first page of the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaHeader {
    /// Binding id of the database.
    pub binding_id: Guid,
    /// Names the opening for writing that the area belongs to: data files carry it in their
    /// headers.
    pub current_use: Lsn,
    /// The oldest opening that a data file may name: files that are not stamped yet carry it. Equal
    /// to `current_use` once the stamps are durable.
    pub oldest_use: Lsn,
    /// Images of a segment: 1 to [`IMAGES_MAX`].
    pub pages_per_segment: u32,
}

/// How a data file relates to the state of its database that an area protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileMatch {
    /// It is of that state.
    Same,
    /// It has the binding id of another database.
    OtherDatabase,
    /// It was last opened for writing at another time: an older or a newer copy.
    OtherState,
}

/// Where a segment begins in the area, in bytes.
pub fn segment_offset(index: usize, pages_per_segment: u32) -> u64 {
    (1 + index as u64 * (1 + u64::from(pages_per_segment))) * PAGE_BYTES as u64
}

impl AreaHeader {
    /// Compares a data file's header with the area: its binding id, and the opening that it names.
    pub fn match_file(&self, binding_id: Guid, first_update: Lsn) -> FileMatch {
        if binding_id != self.binding_id {
            FileMatch::OtherDatabase
        } else if (self.oldest_use..=self.current_use).contains(&first_update) {
            FileMatch::Same
        } else {
            FileMatch::OtherState
        }
    }

    /// Writes the header page.
    pub fn write(&self, page: &mut PageBytes) {
        page.fill(0);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 4);
        bytes.extend_from_slice(HEADER_SIGNATURE);
        bytes.extend_from_slice(&self.binding_id.0);
        bytes.extend_from_slice(&self.current_use.to_bytes());
        bytes.extend_from_slice(&self.oldest_use.to_bytes());
        bytes.extend_from_slice(&self.pages_per_segment.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        put(page, 0, &bytes);
    }

    /// Reads the header page; `None` when it is none, or torn.
    pub fn read(page: &PageBytes) -> Option<AreaHeader> {
        let header = page.get(..HEADER_BYTES)?;
        let is_sound = header.starts_with(HEADER_SIGNATURE)
            && u32_at(page, HEADER_BYTES)? == crc32c::crc32c(header);
        let pages_per_segment = u32_at(page, 52)?;
        let is_possible = (1..=IMAGES_MAX as u32).contains(&pages_per_segment);
        (is_sound && is_possible).then_some(AreaHeader {
            binding_id: Guid(array_at(page, 16)?),
            current_use: Lsn::from_bytes(array_at(page, 32)?),
            oldest_use: Lsn::from_bytes(array_at(page, 42)?),
            pages_per_segment,
        })
    }
}

/// What a segment holds.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Directory {
    /// Number of the batch; later batches have higher ones.
    pub batch: u64,
    /// The log was durable up to here when the batch was written.
    pub log_durable: Lsn,
    /// The images, in their order.
    pub entries: Vec<DirectoryEntry>,
}

/// An image of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Page whose image the segment holds.
    pub page: PageId,
    /// CRC-32C of the image.
    pub checksum: u32,
}

impl DirectoryEntry {
    /// The entry of an image.
    pub fn of(page: PageId, image: &[u8]) -> DirectoryEntry {
        DirectoryEntry { page, checksum: crc32c::crc32c(image) }
    }

    /// Are these the bytes that the entry was made of?
    pub fn describes(&self, image: &[u8]) -> bool {
        self.checksum == crc32c::crc32c(image)
    }
}

impl Directory {
    /// Writes the directory page. Entries beyond [`IMAGES_MAX`] do not fit.
    pub fn write(&self, page: &mut PageBytes) {
        debug_assert!(
            self.entries.len() <= IMAGES_MAX,
            "a directory has room for {IMAGES_MAX} images"
        );
        page.fill(0);
        put(page, 0, BATCH_SIGNATURE);
        put(page, 16, &self.batch.to_le_bytes());
        put(page, 24, &self.log_durable.to_bytes());
        put(page, 34, &(self.entries.len() as u16).to_le_bytes());
        for (number, entry) in self.entries.iter().enumerate() {
            let at = ENTRIES_AT + number * ENTRY_BYTES;
            put(page, at, &entry.page.file.0.to_le_bytes());
            put(page, at + 4, &entry.page.page.to_le_bytes());
            put(page, at + 8, &entry.checksum.to_le_bytes());
        }
        let checksum = directory_checksum(page);
        put(page, 36, &checksum.to_le_bytes());
    }

    /// Reads a directory page; `None` when it was never written, or is torn.
    pub fn read(page: &PageBytes) -> Option<Directory> {
        let is_sound =
            page.starts_with(BATCH_SIGNATURE) && u32_at(page, 36)? == directory_checksum(page);
        let images = usize::from(u16::from_le_bytes(array_at(page, 34)?));
        if !is_sound || images > IMAGES_MAX {
            return None;
        }
        let entry = |number: usize| {
            let at = ENTRIES_AT + number * ENTRY_BYTES;
            let file = FileId(u16::from_le_bytes(array_at(page, at)?));
            let page_number = u32_at(page, at + 4)?;
            let checksum = u32_at(page, at + 8)?;
            Some(DirectoryEntry { page: PageId { file, page: page_number }, checksum })
        };
        Some(Directory {
            batch: u64::from_le_bytes(array_at(page, 16)?),
            log_durable: Lsn::from_bytes(array_at(page, 24)?),
            entries: (0..images).map(entry).collect::<Option<_>>()?,
        })
    }
}

/// Of the whole page but the checksum itself.
fn directory_checksum(page: &PageBytes) -> u32 {
    let before = page.get(..36).unwrap_or_default();
    let after = page.get(ENTRIES_AT..).unwrap_or_default();
    crc32c::crc32c_append(crc32c::crc32c(before), after)
}

fn put(page: &mut PageBytes, at: usize, bytes: &[u8]) {
    if let Some(target) = page.get_mut(at..at + bytes.len()) {
        target.copy_from_slice(bytes);
    }
}

fn array_at<const N: usize>(page: &PageBytes, at: usize) -> Option<[u8; N]> {
    page.get(at..)?.first_chunk().copied()
}

fn u32_at(page: &PageBytes, at: usize) -> Option<u32> {
    array_at(page, at).map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageBuf;

    fn header() -> AreaHeader {
        AreaHeader {
            binding_id: Guid([7; 16]),
            current_use: Lsn::new(30, 16, 2),
            oldest_use: Lsn::new(29, 400, 1),
            pages_per_segment: 128,
        }
    }

    fn directory(images: u32) -> Directory {
        let entry = |page| DirectoryEntry::of(PageId::new(3, page), &page.to_le_bytes());
        Directory {
            batch: 9,
            log_durable: Lsn::new(30, 20, 4),
            entries: (0..images).map(entry).collect(),
        }
    }

    #[test]
    fn a_header_reads_back_and_one_changed_byte_spoils_it() {
        let mut page = PageBuf::zeroed();
        assert_eq!(AreaHeader::read(&page), None);
        header().write(&mut page);
        assert_eq!(AreaHeader::read(&page), Some(header()));
        for at in 0..HEADER_BYTES + 4 {
            page[at] ^= 1;
            assert_eq!(AreaHeader::read(&page), None, "byte {at}");
            page[at] ^= 1;
        }
    }

    #[test]
    fn a_directory_reads_back_whatever_its_length() {
        let mut page = PageBuf::zeroed();
        for images in [0, 1, 128, IMAGES_MAX as u32] {
            directory(images).write(&mut page);
            assert_eq!(Directory::read(&page), Some(directory(images)));
        }
    }

    #[test]
    fn a_directory_torn_between_two_batches_is_none() {
        let mut older = PageBuf::zeroed();
        let mut newer = PageBuf::zeroed();
        directory(300).write(&mut older);
        Directory { batch: 10, ..directory(310) }.write(&mut newer);
        for cut in (512..3840).step_by(512) {
            let mut torn = older.clone();
            torn[..cut].copy_from_slice(&newer[..cut]);
            assert_eq!(Directory::read(&torn), None, "cut after {cut} bytes");
        }
    }

    #[test]
    fn segments_lie_one_after_the_other() {
        assert_eq!(
            [0, 1, 2].map(|index| segment_offset(index, 128)),
            [8192, 130 * 8192, 259 * 8192]
        );
    }

    #[test]
    fn an_entry_knows_its_image() {
        let image = [3u8; PAGE_BYTES];
        let entry = DirectoryEntry::of(PageId::new(1, 5), &image);
        assert!(entry.describes(&image));
        assert!(!entry.describes(&[4u8; PAGE_BYTES]));
    }
}
