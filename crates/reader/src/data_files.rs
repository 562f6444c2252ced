//! The data files of one database as a [`PageSource`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use extentdb_base::size::{EXTENT_BYTES, PAGE_BYTES};
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView};
use extentdb_format::page::{PageHeader, PageType, checksum};
use extentdb_io::File;

use crate::source::{PageSource, ReadError, SourceFile};

/// Runs of data of a sparse file that are stored, at most; a file with more is read as if it had no
/// holes.
const DATA_RANGES_MAX: usize = 1 << 20;

/// An open data file.
pub struct DataFile {
    file: File,
    id: FileId,
    header: Option<FileHeader>,
    /// Runs of the file that hold data, when it has holes.
    data: Option<Vec<Range<u64>>>,
}

impl DataFile {
    /// Accepts an open file that is a data file by its first page or its maps; returns the file
    /// otherwise.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn recognize(file: File) -> Result<Result<DataFile, File>, extentdb_io::Error> {
        let mut page = PageBuf::zeroed();
        file.read_at(0, &mut page[..])?;
        let first = PageHeader::of(&page);
        if first.kind() == PageType::FileHeader
            && first.header_version == 1
            && first.page_id().page == 0
        {
            checksum::restore_torn(&mut page);
            let header = FileHeaderView::new(&page).header();
            if is_log(&file, &header)? {
                return Ok(Err(file));
            }
            let id = file_id(&file, &header, PageHeader::of(&page).page_id().file)?;
            return Ok(Ok(DataFile::new(file, id, Some(header))));
        }
        // The header page is damaged; the maps after it still identify a data file.
        match file_of_maps(&file)? {
            Some(id) => Ok(Ok(DataFile::new(file, id, None))),
            None => Ok(Err(file)),
        }
    }

    fn new(file: File, id: FileId, header: Option<FileHeader>) -> DataFile {
        let data: Vec<Range<u64>> = file.data_ranges().take(DATA_RANGES_MAX + 1).collect();
        let whole = matches!(&data[..], [only] if *only == (0..file.len()));
        let data = (!whole && data.len() <= DATA_RANGES_MAX).then_some(data);
        DataFile { file, id, header, data }
    }

    /// The file header as read, whatever its state; `None` when page 0 is not one at all.
    pub fn header(&self) -> Option<&FileHeader> {
        self.header.as_ref()
    }

    /// File id, from the header page or the maps.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

/// The id of a data file: that of the file header, unless the page header and the maps agree on
/// another one.
fn file_id(
    file: &File,
    header: &FileHeader,
    of_page: FileId,
) -> Result<FileId, extentdb_io::Error> {
    let Some(stated) = header.file_id.map(FileId).filter(|stated| *stated != of_page) else {
        return Ok(of_page);
    };
    // Either of the two is damaged; the other one is that of all pages.
    let of_maps = file_of_maps(file)?;
    Ok(if of_maps == Some(of_page) { of_page } else { stated })
}

/// Log files have the same first page, filegroup 0, and a VLF at 8 KiB.
fn is_log(file: &File, header: &FileHeader) -> Result<bool, extentdb_io::Error> {
    const VLF_SIGNATURE: u8 = 0xab;
    let mut byte = [0];
    let read = file.read_at(PAGE_BYTES as u64, &mut byte)?;
    Ok(header.filegroup_id == Some(0) && (read == 0 || byte == [VLF_SIGNATURE]))
}

/// The file id on pages 1 and 2 when they are PFS and GAM pages.
fn file_of_maps(file: &File) -> Result<Option<FileId>, extentdb_io::Error> {
    let mut found = None;
    for (number, kind) in [(1u32, PageType::Pfs), (2, PageType::Gam)] {
        let mut page = PageBuf::zeroed();
        if file.read_at(u64::from(number) * PAGE_BYTES as u64, &mut page[..])? < PAGE_BYTES {
            return Ok(None);
        }
        let header = PageHeader::of(&page);
        let id = header.page_id();
        if header.kind() != kind || id.page != number || found.is_some_and(|file| file != id.file) {
            return Ok(None);
        }
        found = Some(id.file);
    }
    Ok(found)
}

/// All data files of a database.
pub struct DataFiles {
    /// In the order of `files`.
    open: Vec<DataFile>,
    files: Vec<SourceFile>,
}

impl DataFiles {
    /// Puts the files in order of their ids, which must differ.
    pub fn new(mut open: Vec<DataFile>) -> DataFiles {
        open.sort_by_key(DataFile::id);
        let files = open.iter().map(source_file).collect();
        DataFiles { open, files }
    }

    /// The files, ordered by id.
    pub fn open_files(&self) -> &[DataFile] {
        &self.open
    }

    fn find(&self, id: FileId) -> Option<(&DataFile, &SourceFile)> {
        let at = self.files.binary_search_by_key(&id, |file| file.id).ok()?;
        Some((self.open.get(at)?, self.files.get(at)?))
    }
}

fn source_file(file: &DataFile) -> SourceFile {
    let bytes = file.file.len();
    // Page numbers are 32 bits wide: what lies beyond cannot be addressed.
    let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
    let trailing_bytes = (bytes % PAGE_BYTES as u64) as u32;
    SourceFile {
        id: file.id,
        pages,
        trailing_bytes,
        path: PathBuf::from(file.path()),
    }
}

impl PageSource for DataFiles {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let (open, file) = self.find(first.file).ok_or(ReadError::NoFile { file: first.file })?;
        let wanted = (buf.len() / PAGE_BYTES) as u64;
        if u64::from(first.page) + wanted > u64::from(file.pages) {
            let page = PageId { page: first.page.max(file.pages), ..first };
            return Err(ReadError::BeyondEnd { page, pages: file.pages });
        }
        let offset = u64::from(first.page) * PAGE_BYTES as u64;
        open.file.read_exact_at(offset, buf).map_err(|source| ReadError::Io { page: first, source })
    }

    fn is_stored(&self, extent: Extent) -> bool {
        let Some((open, file)) = self.find(extent.file) else { return false };
        let start = u64::from(extent.index) * EXTENT_BYTES as u64;
        if extent.first_page().page >= file.pages {
            return false;
        }
        let Some(data) = &open.data else { return true };
        // The first run that ends after the start of the extent must begin before its end.
        let at = data.partition_point(|range| range.end <= start);
        data.get(at).is_some_and(|range| range.start < start + EXTENT_BYTES as u64)
    }

    fn plain_file(&self, file: FileId) -> Option<&File> {
        self.find(file).map(|(open, _)| &open.file)
    }
}
