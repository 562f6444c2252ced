//! Page sources: data files, or the extents of a backup.

use std::path::PathBuf;

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{Extent, FileId, PageId};
use extentdb_format::{PageBytes, page::PageHeader};

/// A data file of a database, as a source offers it.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// File id, from the file's header page (or from its maps when that page is damaged).
    pub id: FileId,
    /// Number of whole pages.
    pub pages: u32,
    /// Bytes after the last whole page: not 0 when the file is truncated.
    pub trailing_bytes: u32,
    /// Where it was read from.
    pub path: PathBuf,
}

/// Raw pages of a database, read-only. Nothing is verified or restored here.
///
/// All methods may be called from several threads at once.
pub trait PageSource: Send + Sync {
    /// The data files, ordered by id.
    fn files(&self) -> &[SourceFile];

    /// Reads adjacent whole pages, starting at `first`. `buf` is a multiple of the page
    /// size; the run must lie in one file.
    ///
    /// # Errors
    /// Names the page that cannot be read. `buf` may be filled in part.
    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError>;

    /// False for extents that the source knows to hold nothing: not part of the backup, or a hole
    /// of a sparse file. Their pages may still be read where the source is a file (they are zero).
    fn is_stored(&self, extent: Extent) -> bool;

    /// The data file as a plain file, when a page lies at byte 8192 * page of it: then it may be
    /// read directly, except extents for which [`has_overlay`](Self::has_overlay) is true.
    fn plain_file(&self, file: FileId) -> Option<&extentdb_io::File> {
        let _ = file;
        None
    }

    /// True when pages of the extent are held in memory and replace those of the file.
    fn has_overlay(&self, extent: Extent) -> bool {
        let _ = extent;
        false
    }

    /// The page that replaces that of the file. [`read_run`](Self::read_run) returns the same.
    fn overlaid_page(&self, id: PageId) -> Option<&PageBytes> {
        let _ = id;
        None
    }

    /// Pages of a file, 0 when the source lacks it.
    fn page_count(&self, file: FileId) -> u32 {
        self.files().iter().find(|f| f.id == file).map_or(0, |f| f.pages)
    }

    /// Reads one page.
    ///
    /// # Errors
    /// As [`read_run`](Self::read_run).
    fn read(&self, id: PageId, page: &mut PageBytes) -> Result<(), ReadError> {
        self.read_run(id, page)
    }
}

/// Why pages could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file is not among those given.
    #[error("file {file} of the database is missing")]
    NoFile {
        /// The missing file id.
        file: FileId,
    },
    /// The file is shorter.
    #[error("page {page} lies past the end of its file, which has {pages} pages")]
    BeyondEnd {
        /// The first page that is missing.
        page: PageId,
        /// Pages of the file.
        pages: u32,
    },
    /// The backup does not carry the extent.
    #[error("page {page} is not in the backup")]
    NotStored {
        /// The first page that is missing.
        page: PageId,
    },
    /// The operating system refused.
    #[error("page {page} could not be read")]
    Io {
        /// The first page of the read.
        page: PageId,
        /// The error of the system.
        source: extentdb_io::Error,
    },
    /// A compressed extent of a backup cannot be expanded.
    #[error("page {page}: its extent in the backup cannot be expanded: {what}")]
    Damaged {
        /// The first page that is missing.
        page: PageId,
        /// The damage and its position in the backup.
        what: String,
    },
}

/// True for a page of zeros only.
pub fn is_zero(page: &PageBytes) -> bool {
    // The header almost always decides; only otherwise is the rest compared.
    PageHeader::of(page).header_version == 0
        && page.as_chunks::<8>().0.iter().all(|w| u64::from_ne_bytes(*w) == 0)
}

/// A data file in memory: for tests, fuzzing and images from other sources.
pub struct MemoryFile {
    files: [SourceFile; 1],
    bytes: Vec<u8>,
}

impl MemoryFile {
    /// Takes the bytes of a data file as file `id`.
    pub fn new(id: FileId, bytes: Vec<u8>) -> MemoryFile {
        let pages = u32::try_from(bytes.len() / PAGE_BYTES).unwrap_or(u32::MAX);
        let trailing_bytes = (bytes.len() % PAGE_BYTES) as u32;
        MemoryFile {
            files: [SourceFile { id, pages, trailing_bytes, path: "memory".into() }],
            bytes,
        }
    }

    /// The bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl PageSource for MemoryFile {
    fn files(&self) -> &[SourceFile] {
        &self.files
    }

    fn read_run(&self, first: PageId, buf: &mut [u8]) -> Result<(), ReadError> {
        let [file] = &self.files;
        if first.file != file.id {
            return Err(ReadError::NoFile { file: first.file });
        }
        let start = first.page as usize * PAGE_BYTES;
        let beyond = PageId { page: first.page.max(file.pages), ..first };
        let bytes = self.bytes.get(start..start.saturating_add(buf.len()));
        buf.copy_from_slice(bytes.ok_or(ReadError::BeyondEnd { page: beyond, pages: file.pages })?);
        Ok(())
    }

    fn is_stored(&self, extent: Extent) -> bool {
        extent.first_page().page < self.page_count(extent.file)
    }
}
