//! The data files of a database, page by page.

use std::collections::BTreeMap;
use std::path::Path;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, PageId};
use extentdb_catalog::{PageError, PageGetter};
use extentdb_format::page::checksum::{self, Protection};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_format::{PageBuf, PageBytes};
use extentdb_io::File;

use crate::Error;

/// Open data files by their ids.
pub(crate) struct Image {
    files: BTreeMap<FileId, File>,
}

impl Image {
    /// Opens the files; each says in its header which one it is.
    pub(crate) fn open(paths: &[&Path]) -> Result<Image, Error> {
        let mut files = BTreeMap::new();
        for path in paths {
            let file = File::open_read(path)?;
            let not = |what| Error::NotDataFile { path: path.to_path_buf(), what };
            if file.len() < PAGE_BYTES as u64 {
                return Err(not("it is shorter than a page"));
            }
            let mut page = PageBuf::zeroed();
            file.read_exact_at(0, &mut page[..])?;
            let header = PageHeader::of(&page);
            if header.kind() != PageType::FileHeader {
                return Err(not("it does not begin with a file header"));
            }
            if files.insert(header.page_id().file, file).is_some() {
                return Err(not("another file has the same file id"));
            }
        }
        Ok(Image { files })
    }

    /// Ids of the files, ascending.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.files.keys().copied()
    }

    /// The id of a file that is open here, too.
    pub(crate) fn file_id_of(&self, other: &File) -> Result<FileId, Error> {
        let not = Error::NotDataFile {
            path: other.path().to_path_buf(),
            what: "it is no file of this database",
        };
        self.files
            .iter()
            .find(|(_, file)| file.path() == other.path())
            .map(|(id, _)| *id)
            .ok_or(not)
    }

    /// A page as it is stored.
    pub(crate) fn raw(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        let file = self.files.get(&id.file).ok_or(PageError::NoFile { page: id })?;
        let pages = self.page_count(id.file);
        if id.page >= pages {
            return Err(PageError::BeyondEnd { page: id, pages });
        }
        let offset = u64::from(id.page) * PAGE_BYTES as u64;
        file.read_exact_at(offset, page)
            .map_err(|source| PageError::Io { page: id, source: Box::new(source) })
    }
}

impl PageGetter for Image {
    fn page(&self, id: PageId, page: &mut PageBytes) -> Result<(), PageError> {
        self.raw(id, page)?;
        match checksum::verify(page) {
            Protection::Checksum { stored, computed } if stored != computed => {
                return Err(PageError::Checksum { page: id, stored, computed });
            }
            Protection::Torn { torn_sectors, .. } if torn_sectors != 0 => {
                return Err(PageError::Torn { page: id, torn_sectors });
            }
            _ => checksum::restore_torn(page),
        }
        let found = PageHeader::of(page).page_id();
        if found != id && page.iter().any(|byte| *byte != 0) {
            return Err(PageError::WrongPage { page: id, found });
        }
        Ok(())
    }

    fn page_count(&self, file: FileId) -> u32 {
        self.files
            .get(&file)
            .map_or(0, |file| (file.len() / PAGE_BYTES as u64).min(u32::MAX.into()) as u32)
    }

    fn total_pages(&self) -> u64 {
        self.files.values().map(|file| file.len() / PAGE_BYTES as u64).sum()
    }
}
