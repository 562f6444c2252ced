//! Repair at restart: pages that a crash tore are replaced by their images.
//!
//! Invariants
//! - A page is replaced when it is not trusted (its checksum or torn-page bits fail, it is zeros,
//!   its header has another page id, it has no protection at all), and when it differs from its
//!   newest image without being newer than it. The second rule does not depend on the checksum of
//!   the format, which is a XOR: a sector of equal words counts as one of zeros, and a tear between
//!   such two is not seen. The newest image is what the last write in place meant to put there, or
//!   what it never began to put there.
//! - A page in place that is newer than its image was written without a copy: redo makes it again.
//!   The boot page changes without a new LSN; of it only the checksum is asked.
//! - Nothing is repaired from an area of another database or of another use of this one: its images
//!   may be older than the log knows.

use std::collections::BTreeMap;
use std::path::Path;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::Arc;
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::double_write::{AreaHeader, Directory, segment_offset};
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::page::{PageBytes, PageHeader};
use extentdb_io::{Disk, DiskFile, Durability};

use crate::load::accept;

/// The area that a crash has left.
#[derive(Debug)]
pub struct Area {
    file: Arc<dyn DiskFile>,
    header: AreaHeader,
}

/// What was repaired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Pages replaced by their images, in order.
    pub pages: Vec<PageId>,
    /// The log was durable at least up to here.
    pub log_durable: Lsn,
}

/// The newest image of a page.
struct Newest {
    batch: u64,
    image: PageBuf,
}

impl Area {
    /// Opens the area at `path`. None when its header was never completed: then no write in place
    /// has used it.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn open(disk: &dyn Disk, path: &Path) -> Result<Option<Area>, extentdb_io::Error> {
        let file = disk.open(path)?;
        let mut page = PageBuf::zeroed();
        let read = file.read_at(0, &mut page[..])?;
        let header = AreaHeader::read(&page).filter(|_| read == PAGE_BYTES);
        Ok(header.map(|header| Area { file, header }))
    }

    /// Which database it belongs to, and which use of it.
    pub fn header(&self) -> &AreaHeader {
        &self.header
    }

    /// Replaces the pages of `files` that cannot be believed by their newest images, durably.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn repair(
        &self,
        files: &BTreeMap<FileId, Arc<dyn DiskFile>>,
    ) -> Result<Repaired, extentdb_io::Error> {
        let (images, log_durable) = self.newest_images()?;
        let mut repaired = Repaired { pages: Vec::new(), log_durable };
        for (page, newest) in &images {
            let Some(file) = files.get(&page.file) else { continue };
            if is_sound(&**file, *page, &newest.image)? {
                continue;
            }
            let offset = u64::from(page.page) * PAGE_BYTES as u64;
            file.write_at(offset, &[&newest.image[..]], Durability::Deferred)?;
            repaired.pages.push(*page);
        }
        for file in files.values() {
            file.sync()?;
        }
        Ok(repaired)
    }

    /// The newest sound image of each page, and the newest LSN that a directory knows to be
    /// durable.
    fn newest_images(&self) -> Result<(BTreeMap<PageId, Newest>, Lsn), extentdb_io::Error> {
        let mut images: BTreeMap<PageId, Newest> = BTreeMap::new();
        let mut log_durable = Lsn::ZERO;
        let per_segment = self.header.pages_per_segment;
        let offsets = (0..)
            .map(|index| segment_offset(index, per_segment))
            .take_while(|at| *at < self.file.len());
        for offset in offsets {
            let Some(directory) = self.page_at(offset)?.and_then(|page| Directory::read(&page))
            else {
                continue;
            };
            log_durable = log_durable.max(directory.log_durable);
            for (number, entry) in (1..).zip(&directory.entries) {
                let image = self.page_at(offset + number * PAGE_BYTES as u64)?;
                let Some(image) = image.filter(|image| entry.describes(&image[..])) else {
                    continue;
                };
                let batch = directory.batch;
                if images.get(&entry.page).is_none_or(|known| known.batch < batch) {
                    images.insert(entry.page, Newest { batch, image });
                }
            }
        }
        Ok((images, log_durable))
    }

    fn page_at(&self, offset: u64) -> Result<Option<PageBuf>, extentdb_io::Error> {
        let mut page = PageBuf::zeroed();
        let read = self.file.read_at(offset, &mut page[..])?;
        Ok((read == PAGE_BYTES).then_some(page))
    }

    /// Empties the area for another opening: all its pages are durable in place.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn renew(self, header: AreaHeader) -> Result<Arc<dyn DiskFile>, extentdb_io::Error> {
        let mut page = PageBuf::zeroed();
        header.write(&mut page);
        self.file.write_at(0, &[&page[..]], Durability::Through)?;
        let none = PageBuf::zeroed();
        let per_segment = self.header.pages_per_segment;
        let offsets = (0..)
            .map(|index| segment_offset(index, per_segment))
            .take_while(|at| *at < self.file.len());
        for offset in offsets {
            self.file.write_at(offset, &[&none[..]], Durability::Deferred)?;
        }
        self.file.sync()?;
        Ok(self.file)
    }
}

/// Is the page in place what its last write left there, whole, or newer?
fn is_sound(
    file: &dyn DiskFile,
    page: PageId,
    image: &PageBytes,
) -> Result<bool, extentdb_io::Error> {
    let mut bytes = PageBuf::zeroed();
    let read = file.read_at(u64::from(page.page) * PAGE_BYTES as u64, &mut bytes[..])?;
    if bytes[..] == image[..] {
        return Ok(true);
    }
    let is_newer =
        PageHeader::of(&bytes).lsn() > PageHeader::of(image).lsn() || page == PageId::BOOT;
    Ok(read == PAGE_BYTES && is_newer && is_protected(&bytes) && accept(page, &mut bytes).is_ok())
}

/// Would a tear show?
fn is_protected(page: &PageBytes) -> bool {
    !matches!(checksum::verify(page), Protection::None)
}
