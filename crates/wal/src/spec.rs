//! What a new log file looks like, and its first page.
//!
//! ```text
//! 0000   file header page: which file of which database, how it grows; written once, never again
//! 2000   VLFs                                                               vlf.rs
//! ```

use extentdb_base::size::{PAGE_BYTES, PAGE_HEADER_BYTES};
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::PageStamp;
use extentdb_format::allocation::field::ForkPoint;
use extentdb_format::allocation::file_header::{
    self, EncryptionKey, FileHeader, FileHeaderPage, FileHeaderView, MAX_SIZE_LOG,
    MAX_SIZE_UNLIMITED, STATUS_GROWTH_PERCENT, write_file_header,
};
use extentdb_format::page::{PageHeader, PageType, checksum};
use extentdb_io::DiskFile;
use extentdb_types::Guid;

use crate::error::{Damage, Error};
use crate::vlf::{Growth, GrowthRule, MIN_VLF_BYTES};

/// The smallest log: file header page and two VLFs.
pub const MIN_LOG_BYTES: u64 = PAGE_BYTES as u64 + 2 * MIN_VLF_BYTES;
/// Columns of a file header of version 661.
const COLUMNS: u16 = 47;

/// What a new log file looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSpec {
    /// Number of the file in its database, 2 for the first log file.
    pub file_id: FileId,
    /// Logical name of the log file.
    pub logical_name: String,
    /// Size; rounded up to pages, at least [`MIN_LOG_BYTES`].
    pub bytes: u64,
    /// How it grows.
    pub growth: Growth,
    /// Where growth ends; `None` is 2 TB.
    pub max_bytes: Option<u64>,
    /// Binding id of the database.
    pub binding_id: Guid,
    /// Recovery fork of the database; zero when it was never restored.
    pub fork_guid: Guid,
    /// Id of the file itself.
    pub file_guid: Guid,
    /// Sequence number of the first VLF. Above every LSN of the database's pages when the log
    /// replaces another one.
    pub first_sequence: u32,
    /// Sector size of the device: 512 or 4096. Blocks are multiples of it.
    pub sector_bytes: u32,
}

impl LogSpec {
    /// The length of the file.
    pub(crate) fn file_bytes(&self) -> Result<u64, Error> {
        let bytes = self.bytes.next_multiple_of(PAGE_BYTES as u64);
        if bytes < MIN_LOG_BYTES {
            return Err(Error::TooSmall { bytes: self.bytes, least: MIN_LOG_BYTES });
        }
        Ok(bytes)
    }

    /// Sectors as the writer counts them: nothing but 4096 is taken for other than 512.
    pub(crate) fn sector(&self) -> u64 {
        sector_of(Some(self.sector_bytes))
    }

    pub(crate) fn growth_rule(&self) -> GrowthRule {
        GrowthRule {
            growth: self.growth,
            max_bytes: self.max_bytes.unwrap_or(MAX_LOG_BYTES).min(MAX_LOG_BYTES),
        }
    }

    /// The file header page.
    pub(crate) fn header_page(&self, file_bytes: u64) -> PageBuf {
        let pages = (file_bytes / PAGE_BYTES as u64) as u32;
        let header = self.file_header(pages);
        let mut page = PageBuf::zeroed();
        let id = PageId { file: self.file_id, page: 0 };
        let content = FileHeaderPage {
            id,
            header: &header,
            offset: PAGE_HEADER_BYTES as u16,
            boot: None,
        };
        write_file_header(&mut page, &content, &PageStamp::default());
        checksum::seal(&mut page);
        page
    }

    fn file_header(&self, pages: u32) -> FileHeader {
        let (growth, status) = match self.growth {
            Growth::Pages(pages) => (pages, 0),
            Growth::Percent(percent) => (percent, STATUS_GROWTH_PERCENT),
            Growth::None => (0, 0),
        };
        let max_size = self.max_bytes.map_or(MAX_SIZE_LOG, |bytes| {
            u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(MAX_SIZE_LOG).min(MAX_SIZE_LOG)
        });
        let no_lsn = Some(Lsn::ZERO);
        let no_guid = Some(Guid([0; 16]));
        FileHeader {
            fixed: u32::from(self.file_id.0),
            column_count: COLUMNS,
            binding_id: Some(self.binding_id),
            file_id: Some(self.file_id.0),
            filegroup_id: Some(0),
            size: Some(pages),
            max_size: Some(max_size),
            growth: Some(growth),
            perf: Some(0),
            backup_lsn: no_lsn,
            first_update_lsn: no_lsn,
            oldest_restored_lsn: no_lsn,
            min_size: Some(pages),
            status: Some(status),
            user_shrink_size: Some(u32::MAX),
            sector_size: Some(self.sector_bytes),
            max_lsn: no_lsn,
            redo_start_fork: Some(ForkPoint::default()),
            first_lsn: no_lsn,
            create_lsn: no_lsn,
            diff_base_lsn: no_lsn,
            diff_base_guid: no_guid,
            offline_lsn: no_lsn,
            file_guid: Some(self.file_guid),
            restore_status: Some(0),
            restore_redo_start_lsn: no_lsn,
            restore_source_guid: no_guid,
            fork_guid: Some(self.fork_guid),
            read_only_lsn: no_lsn,
            read_write_lsn: no_lsn,
            unknown_fork: Some(ForkPoint::default()),
            restore_diff_base_lsn: no_lsn,
            restore_diff_base_guid: no_guid,
            restore_path_origin: Some(ForkPoint::default()),
            encryption_state: Some(0),
            encryption_key: Some(EncryptionKey([0; 600])),
            logical_name: Some(self.logical_name.encode_utf16().collect()),
            residue: Vec::new(),
        }
    }
}

/// No log file is longer: 2 TB.
const MAX_LOG_BYTES: u64 = MAX_SIZE_LOG as u64 * PAGE_BYTES as u64;

/// Which database a log file belongs to, by its file header page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogIdentity {
    /// Binding id of the database: that of its primary data file.
    pub binding_id: Guid,
    /// Id of the file itself.
    pub file_guid: Guid,
    /// Recovery fork; zero when the log was never restored.
    pub fork_guid: Guid,
    /// Where redo of that fork began.
    pub redo_start_fork: ForkPoint,
}

impl LogIdentity {
    /// Reads it from the file header page.
    pub(crate) fn read(file: &dyn DiskFile) -> Result<LogIdentity, Error> {
        let header = read_file_header(file)?;
        let zero = Guid([0; 16]);
        Ok(LogIdentity {
            binding_id: header.binding_id.unwrap_or(zero),
            file_guid: header.file_guid.unwrap_or(zero),
            fork_guid: header.fork_guid.unwrap_or(zero),
            redo_start_fork: header.redo_start_fork.unwrap_or_default(),
        })
    }
}

/// Reads the file header page.
fn read_file_header(file: &dyn DiskFile) -> Result<FileHeader, Error> {
    let damage = Error::Corrupt { offset: 0, what: Damage::FileHeader };
    let mut page = PageBuf::zeroed();
    if file.read_at(0, &mut page[..])? != PAGE_BYTES {
        return Err(damage);
    }
    let is_header = PageHeader::of(&page).kind() == PageType::FileHeader;
    if !is_header || !checksum::verify(&page).is_intact() {
        return Err(damage);
    }
    checksum::restore_torn(&mut page);
    let header = FileHeaderView::new(&page).header();
    if header.filegroup_id != Some(0) {
        return Err(damage);
    }
    Ok(header)
}

/// What the file header page says that an open log needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderFacts {
    pub(crate) sector: u64,
    pub(crate) growth: GrowthRule,
}

/// Reads them from the file header page.
pub(crate) fn read_header(file: &dyn DiskFile) -> Result<HeaderFacts, Error> {
    let header = read_file_header(file)?;
    let growth = match header.growth() {
        Some(file_header::Growth::Pages(0) | file_header::Growth::Percent(0)) | None => {
            Growth::None
        }
        Some(file_header::Growth::Pages(pages)) => Growth::Pages(pages),
        Some(file_header::Growth::Percent(percent)) => Growth::Percent(percent),
    };
    let limit =
        header.max_size.filter(|pages| *pages != MAX_SIZE_UNLIMITED).unwrap_or(MAX_SIZE_LOG);
    let max_bytes = u64::from(limit.min(MAX_SIZE_LOG)) * PAGE_BYTES as u64;
    Ok(HeaderFacts {
        sector: sector_of(header.sector_size),
        growth: GrowthRule { growth, max_bytes },
    })
}

fn sector_of(stored: Option<u32>) -> u64 {
    if stored == Some(4096) { 4096 } else { 512 }
}
