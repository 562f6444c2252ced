//! A log file, opened: its bytes as the log reader wants them.

use std::path::Path;

use extentdb_base::FileId;
use extentdb_base::size::PAGE_BYTES;
use extentdb_format::PageBuf;
use extentdb_format::allocation::file_header::{FileHeader, FileHeaderView};
use extentdb_format::log::LogBytes;
use extentdb_format::page::{PageHeader, PageType, checksum};
use extentdb_io::{File, ReadAt};

/// First byte of a VLF.
const VLF_SIGNATURE: u8 = 0xab;

/// A log file. Its blocks are read through `extentdb_format::log`.
pub struct LogFile {
    file: File,
    header: Option<FileHeader>,
}

impl LogFile {
    /// Takes an open file that has a file header of filegroup 0, or a VLF at 8 KiB. `Err` returns
    /// the file back.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn recognize(file: File) -> Result<Result<LogFile, File>, extentdb_io::Error> {
        let mut page = PageBuf::zeroed();
        file.read_at(0, &mut page[..])?;
        let mut first = [0u8; 3];
        let vlf = file.read_at(PAGE_BYTES as u64, &mut first)? == 3
            && matches!(first, [VLF_SIGNATURE, 0 | 0x40 | 0x80, 2..=9]);
        let is_header = PageHeader::of(&page).kind() == PageType::FileHeader;
        let header = is_header.then(|| {
            checksum::restore_torn(&mut page);
            FileHeaderView::new(&page).header()
        });
        if vlf || header.as_ref().is_some_and(|header| header.filegroup_id == Some(0)) {
            return Ok(Ok(LogFile { file, header }));
        }
        Ok(Err(file))
    }

    /// Its file header page, if it has one.
    pub fn header(&self) -> Option<&FileHeader> {
        self.header.as_ref()
    }

    /// File id, from its header.
    pub fn id(&self) -> Option<FileId> {
        self.header.as_ref()?.file_id.map(FileId)
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The open log file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl LogBytes for LogFile {
    type Error = extentdb_io::Error;

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), extentdb_io::Error> {
        self.file.read_exact_at(offset, buf)
    }

    fn next_data(&self, offset: u64) -> u64 {
        ReadAt::next_data(&self.file, offset)
            .map_or(self.file.len(), |range| range.start.max(offset))
    }
}
