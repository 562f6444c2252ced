//! The file header: page 0 of every data and log file. It says which file this is and of which
//! database.
//!
//! ```text
//! slot 0 a record of variable columns only (status 0x30, fixed end 8), by index:
//!    0  16 binding_id               16  10 max_lsn                  28  16 restore_source_guid
//!    2   2 file_id                  17  28 redo_start_fork          35  16 fork_guid
//!    3   2 filegroup_id             18  10 first_lsn                38  10 read_only_lsn
//!    4   4 size                     19  10 create_lsn               39  10 read_write_lsn
//!    5   4 max_size                 20  10 diff_base_lsn            41  10 restore_diff_base_lsn
//!    6   4 growth                   21  16 diff_base_guid           42  16 restore_diff_base_guid
//!    7   4 perf                     22  10 offline_lsn              43  28 restore_path_origin
//!    8  10 backup_lsn               23  16 file_guid                44   8 encryption_state
//!    9  10 first_update_lsn         24   4 restore_status           45 600 encryption_key
//!   10  10 oldest_restored_lsn      25  10 restore_redo_start_lsn
//!   12   4 min_size                 27 var logical_name
//!   13   4 status
//!   14   4 user_shrink_size
//!   15   4 sector_size
//! slot 1 log files only: a copy of the boot record, see [`boot`](super::boot)
//! ```
//!
//! An empty column is NULL although the null bitmap is zero. There are 23 columns in the form of
//! SQL Server 2000 (22 stored), 47 to version 661, 49 from 706 on, more later. The record moves
//! when it is rewritten: the space before and after it holds older images.
//!
//! Sizes are pages. `size` and `min_size` are not kept up when a file grows by itself: the length
//! of the file counts.
//!
//! What a crash can tear: the record spans sectors, and every rewrite moves it. In a data file
//! page 0 is written like any other page: copied first, then in place, so that a torn header is
//! repaired (`buffer::double_write`). In a log file it is written once, and synced before the first
//! block: a log with a torn header has never been used.
//!
//! Presence and lengths observed in data and log files of versions 539 to 904; the meaning of
//! columns 18, 19, 22, 38, 39 and 41 to 45 is from the names that DBCC prints, in their order
//! (unverified).

use std::ops::Range;

use extentdb_base::size::{PAGE_BODY_BYTES, PAGE_HEADER_BYTES};
use extentdb_base::{AllocUnitId, Lsn, PageId};
use extentdb_types::Guid;

use super::boot::BootRecord;
use super::field::{Field, ForkPoint, Residue, before_zero};
use super::{PageStamp, put, write_header, write_slots};
use crate::PageBytes;
use crate::page::header::{PageHeader, PageType};
use crate::page::view::PageRef;
use crate::record::{Record, RecordBuilder, RecordFault, RecordKind};

/// `status`: growth is a percentage.
pub const STATUS_GROWTH_PERCENT: u32 = 0x10_0000;
/// `max_size`: no limit.
pub const MAX_SIZE_UNLIMITED: u32 = u32::MAX;
/// `max_size` of log files without a limit of their own: 2 TB.
pub const MAX_SIZE_LOG: u32 = 0x1000_0000;
/// End of the fixed part: four bytes of header, four of content.
const FIXED_END: usize = 8;
/// More columns than any version has; what a damaged count claims beyond is not read.
const COLUMNS_MAX: u16 = 128;
/// The columns that every file header has.
const COLUMNS_MIN: u16 = 16;

/// How a file grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// By so many pages at a time; 0 = not at all.
    Pages(u32),
    /// By so many percent of its size.
    Percent(u32),
}

macro_rules! file_header {
    ($($(#[$doc:meta])* $index:literal $name:ident: $ty:ty,)*) => {
        /// The file header by its fields. `None` = the column is empty or not stored.
        #[derive(Clone, PartialEq, Eq, Debug, Default)]
        pub struct FileHeader {
            /// The four fixed bytes as a number: 2 on log files, else 0.
            pub fixed: u32,
            /// Number of columns by the null bitmap.
            pub column_count: u16,
            $($(#[$doc])* pub $name: Option<$ty>,)*
            /// `lname`: logical name of the file, as UTF-16 units.
            pub logical_name: Option<Vec<u16>>,
            /// Columns without a field, and columns whose length is not their field's, by index.
            pub residue: Vec<Residue>,
        }

        impl FileHeader {
            /// Index and name of the columns with a field.
            pub const COLUMNS: &'static [(u16, &'static str)] =
                &[$(($index, stringify!($name)),)* (LOGICAL_NAME, "logical_name")];

            /// Keeps a column in its field; false when it has none or its length is not the
            /// field's.
            fn set_column(&mut self, index: u16, bytes: &[u8]) -> bool {
                match index {
                    $($index if bytes.len() == <$ty as Field>::BYTES => {
                        self.$name = <$ty as Field>::read(bytes);
                    })*
                    LOGICAL_NAME if bytes.len() % 2 == 0 => {
                        let (units, _) = bytes.as_chunks::<2>();
                        let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
                        self.logical_name = Some(units.collect());
                    }
                    _ => return false,
                }
                true
            }

            /// The disk form of a column; empty when it is not set.
            fn column(&self, index: u16) -> Vec<u8> {
                if let Some(residue) = self.residue.iter().find(|residue| residue.index == index) {
                    return residue.bytes.clone();
                }
                match index {
                    $($index => self.$name.as_ref().map(disk_form).unwrap_or_default(),)*
                    LOGICAL_NAME => {
                        let units = self.logical_name.iter().flatten();
                        units.flat_map(|unit| unit.to_le_bytes()).collect()
                    }
                    _ => Vec::new(),
                }
            }
        }
    };
}

/// Index of the one column without a fixed length.
const LOGICAL_NAME: u16 = 27;
/// Index of the file id.
const FILE_ID: u16 = 2;

file_header! {
    /// The same in all files of a database.
    0 binding_id: Guid,
    /// Number of the file in its database.
    2 file_id: u16,
    /// 1 = PRIMARY, 0 = log.
    3 filegroup_id: u16,
    /// Size when created or last set.
    4 size: u32,
    /// Limit of growth; [`MAX_SIZE_UNLIMITED`] = none.
    5 max_size: u32,
    /// Growth, see [`growth`](Self::growth).
    6 growth: u32,
    /// 0 in all files seen.
    7 perf: u32,
    /// `BackupLsn`: of the most recent backup of the file.
    8 backup_lsn: Lsn,
    /// `FirstUpdateLsn`: when the file was opened for writing; equal to `sysprufiles`.
    9 first_update_lsn: Lsn,
    /// `OldestRestoredLsn`: the oldest page that a restore brought.
    10 oldest_restored_lsn: Lsn,
    /// Size when created: the limit of shrinking.
    12 min_size: u32,
    /// Bits; see [`STATUS_GROWTH_PERCENT`].
    13 status: u32,
    /// All bits set = none.
    14 user_shrink_size: u32,
    /// Sector size of the device: 512 or 4096.
    15 sector_size: u32,
    /// `MaxLsn`: end of the restore.
    16 max_lsn: Lsn,
    /// Where redo begins after a restore.
    17 redo_start_fork: ForkPoint,
    /// `FirstLsn` of DBCC FILEHEADER; the meaning is not published.
    18 first_lsn: Lsn,
    /// `CreateLsn`: when the file was created (`sys.database_files.create_lsn`).
    19 create_lsn: Lsn,
    /// `DifferentialBaseLsn`: extents changed after it are in a differential backup.
    20 diff_base_lsn: Lsn,
    /// `DifferentialBaseGuid`: the full backup that differential backups are based on.
    21 diff_base_guid: Guid,
    /// `FileOfflineLsn`: when the file went offline.
    22 offline_lsn: Lsn,
    /// The file's own id.
    23 file_guid: Guid,
    /// `RestoreStatus` of DBCC FILEHEADER: how far a restore of the file has come.
    24 restore_status: u32,
    /// `RestoreRedoStartLsn`: where the next roll forward of the file begins.
    25 restore_redo_start_lsn: Lsn,
    /// `RestoreSourceGuid`: the backup set that the file was restored from.
    28 restore_source_guid: Guid,
    /// `MaxLsnBranchId`: the recovery fork.
    35 fork_guid: Guid,
    /// `ReadOnlyLsn`: when the filegroup became read-only.
    38 read_only_lsn: Lsn,
    /// `ReadWriteLsn`: when the filegroup became writable again.
    39 read_write_lsn: Lsn,
    /// A fork point of unknown meaning.
    40 unknown_fork: ForkPoint,
    /// `RestoreDifferentialBaseLsn`: `DifferentialBaseLsn` as a restore found it.
    41 restore_diff_base_lsn: Lsn,
    /// `RestoreDifferentialBaseGuid`: `DifferentialBaseGuid` as a restore found it.
    42 restore_diff_base_guid: Guid,
    /// `RestorePathOrigin`: the fork that the restore began on.
    43 restore_path_origin: ForkPoint,
    /// `DatabaseEncryptionFileState`: transparent data encryption of the file.
    44 encryption_state: u64,
    /// `FCBFileDEK`: the encrypted key that the file's pages are encrypted with.
    45 encryption_key: EncryptionKey,
}

fn disk_form<T: Field>(value: &T) -> Vec<u8> {
    let mut bytes = vec![0; T::BYTES];
    value.write(&mut bytes);
    bytes
}

/// The 600 bytes for the key of an encrypted file; all zero in the files seen, none of which is
/// encrypted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncryptionKey(pub [u8; 600]);

impl Field for EncryptionKey {
    const BYTES: usize = 600;

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| EncryptionKey(*bytes))
    }

    fn write(&self, out: &mut [u8]) {
        if let Some(target) = out.first_chunk_mut() {
            *target = self.0;
        }
    }
}

impl FileHeader {
    /// Reads the record. `bytes` begin at it and may reach beyond it.
    pub fn parse(bytes: &[u8]) -> (FileHeader, Option<RecordFault>) {
        let record = Record::parse_data(bytes);
        let mut header =
            FileHeader { column_count: record.column_count(), ..FileHeader::default() };
        header.fixed = record.fixed(4, 4).and_then(u32::read).unwrap_or(0);
        for index in 0..record.var_count().min(COLUMNS_MAX) {
            let Some(column) = record.var(index) else { break };
            if !column.bytes.is_empty() && !header.set_column(index, column.bytes) {
                header.residue.push(Residue { index, bytes: column.bytes.to_vec() });
            }
        }
        (header, record.fault())
    }

    /// The record of slot 0, all columns in order.
    pub fn to_record(&self) -> Vec<u8> {
        let mut record = RecordBuilder::data(RecordKind::Primary, FIXED_END);
        record.fixed(4, &self.fixed.to_le_bytes()).columns(self.column_count);
        let last_residue = self.residue.iter().map(|residue| residue.index + 1).max().unwrap_or(0);
        for index in 0..self.column_count.max(last_residue).min(COLUMNS_MAX) {
            record.var(&self.column(index), false);
        }
        record.to_vec()
    }

    /// How the file grows.
    pub fn growth(&self) -> Option<Growth> {
        let amount = self.growth?;
        let is_percent = self.status.unwrap_or(0) & STATUS_GROWTH_PERCENT != 0;
        Some(if is_percent { Growth::Percent(amount) } else { Growth::Pages(amount) })
    }

    /// Gives the file another growth.
    pub fn set_growth(&mut self, growth: Growth) {
        let status = self.status.unwrap_or(0);
        let (amount, status) = match growth {
            Growth::Pages(pages) => (pages, status & !STATUS_GROWTH_PERCENT),
            Growth::Percent(percent) => (percent, status | STATUS_GROWTH_PERCENT),
        };
        self.growth = Some(amount);
        self.status = Some(status);
    }

    /// Gives the file another logical name, filled up with zeros: the record keeps its length. A
    /// name that is longer than the one before has no room here; the catalog has it.
    pub fn set_name(&mut self, name: &str) {
        let Some(units) = &mut self.logical_name else { return };
        let mut new: Vec<u16> = name.encode_utf16().collect();
        if new.len() <= units.len() {
            new.resize(units.len(), 0);
            *units = new;
        }
    }

    /// Is there a limit of growth, and which?
    pub fn size_limit(&self) -> Option<u32> {
        self.max_size.filter(|pages| *pages != MAX_SIZE_UNLIMITED)
    }

    /// The logical name without zeros that fill it up; an unpaired surrogate as U+FFFD.
    pub fn name(&self) -> Option<String> {
        self.logical_name.as_deref().map(|units| String::from_utf16_lossy(before_zero(units)))
    }

    /// Does the file hold an encryption key, or say that it is encrypted? The pages of such a file
    /// cannot be read (unverified: no encrypted file was at hand). The states are those of
    /// `sys.dm_database_encryption_keys`: 0 and 1 mean not encrypted, 2 to 6 that it is, was or
    /// will be.
    pub fn is_encrypted(&self) -> bool {
        let has_key =
            self.encryption_key.as_ref().is_some_and(|key| key.0.iter().any(|byte| *byte != 0));
        has_key || self.encryption_state.is_some_and(|state| (2..=6).contains(&state))
    }
}

/// Something about a file header page that cannot be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileHeaderFault {
    /// The header names another kind of page.
    PageType {
        /// Kind in the header.
        found: PageType,
    },
    /// Slot 0 does not point at a place on the page.
    Slot {
        /// Where it points; 0 when there is no slot.
        found: u16,
    },
    /// The record does not add up.
    Record(RecordFault),
    /// There are fewer columns than every version has.
    ColumnCount {
        /// How many the null bitmap is for.
        found: u16,
    },
    /// A column that has a field has another length.
    ColumnLength {
        /// Index of the column.
        index: u16,
        /// Size of the column as stored, in bytes.
        found: usize,
    },
    /// The file id is not the one in the page header.
    FileId {
        /// In the record.
        found: u16,
        /// In the page header.
        expected: u16,
    },
}

/// A file header page that is read.
#[derive(Clone, Copy)]
pub struct FileHeaderView<'a> {
    page: &'a PageBytes,
}

impl<'a> FileHeaderView<'a> {
    /// Reads a page as a file header.
    pub fn new(page: &'a PageBytes) -> Self {
        FileHeaderView { page }
    }

    /// The page header.
    pub fn page_header(self) -> &'a PageHeader {
        PageHeader::of(self.page)
    }

    /// Where the record lies: slot 0, or right past the page header when the slot points nowhere.
    pub fn record_offset(self) -> usize {
        PageRef::new(self.page).only_record_offset()
    }

    fn record_bytes(self) -> &'a [u8] {
        PageRef::new(self.page).only_record_bytes()
    }

    /// Where the file id lies on the page; `None` when the record does not have it.
    pub fn file_id_range(self) -> Option<Range<usize>> {
        let record = Record::parse_data(self.record_bytes());
        let bytes = record.var(FILE_ID).filter(|var| var.bytes.len() == size_of::<u16>())?.bytes;
        let start = (bytes.as_ptr() as usize).checked_sub(self.page.as_ptr() as usize)?;
        Some(start..start + bytes.len())
    }

    /// All fields that the record has.
    pub fn header(self) -> FileHeader {
        FileHeader::parse(self.record_bytes()).0
    }

    /// Where the copy of the boot record lies: slot 1, on log files.
    pub fn boot_offset(self) -> Option<usize> {
        PageRef::new(self.page)
            .slot_offset(1)
            .map(usize::from)
            .filter(|offset| *offset >= PAGE_HEADER_BYTES)
    }

    /// The copy of the boot record that log files keep.
    pub fn boot_copy(self) -> Option<BootRecord> {
        BootRecord::parse(PageRef::new(self.page).record_bytes(1)?)
    }

    /// Everything about the page that cannot be right.
    pub fn faults(self) -> Vec<FileHeaderFault> {
        let mut faults = Vec::new();
        let kind = self.page_header().kind();
        if kind != PageType::FileHeader {
            faults.push(FileHeaderFault::PageType { found: kind });
        }
        let slot = PageRef::new(self.page).slot_offset(0).unwrap_or(0);
        if usize::from(slot) != self.record_offset() {
            faults.push(FileHeaderFault::Slot { found: slot });
        }
        let (header, fault) = FileHeader::parse(self.record_bytes());
        faults.extend(fault.map(FileHeaderFault::Record));
        if header.column_count < COLUMNS_MIN {
            faults.push(FileHeaderFault::ColumnCount { found: header.column_count });
        }
        let known = |index| FileHeader::COLUMNS.iter().any(|(known, _)| *known == index);
        let lengths = header.residue.iter().filter(|residue| known(residue.index));
        faults.extend(
            lengths.map(|r| FileHeaderFault::ColumnLength { index: r.index, found: r.bytes.len() }),
        );
        let expected = self.page_header().page_id().file.0;
        if let Some(found) = header.file_id.filter(|found| *found != expected) {
            faults.push(FileHeaderFault::FileId { found, expected });
        }
        faults
    }

    /// Bytes that mean nothing: before, between and after the records.
    pub fn undefined(self) -> Vec<Range<usize>> {
        let end = PageRef::new(self.page).slot_array_start();
        let start = self.record_offset();
        let header = start..start + Record::parse_data(self.record_bytes()).len();
        let boot = match (self.boot_offset(), self.boot_copy()) {
            (Some(start), Some(boot)) => start..start + usize::from(boot.len),
            _ => end..end,
        };
        let mut records = [header, boot, end..end];
        records.sort_by_key(|record| record.start);
        let mut gaps = Vec::new();
        let mut at = PAGE_HEADER_BYTES;
        for record in records {
            let gap = at..record.start.min(end);
            if !gap.is_empty() {
                gaps.push(gap);
            }
            at = at.max(record.end);
        }
        gaps
    }
}

/// What goes on a file header page, and where.
#[derive(Clone, Copy, Debug)]
pub struct FileHeaderPage<'a> {
    /// Its page id: page 0 of a file.
    pub id: PageId,
    /// All fields that the record has.
    pub header: &'a FileHeader,
    /// Where the record goes, from [`PAGE_HEADER_BYTES`] on. New pages have it right there.
    pub offset: u16,
    /// Log files: the copy of the boot record and its place.
    pub boot: Option<(u16, &'a BootRecord)>,
}

/// Makes the page a file header. What would not fit on the page is not written.
pub fn write_file_header(page: &mut PageBytes, content: &FileHeaderPage<'_>, stamp: &PageStamp) {
    write_header(page, PageType::FileHeader, content.id, AllocUnitId::SYSTEM_PAGES, stamp);
    let mut records = vec![(content.offset, content.header.to_record())];
    if let Some((offset, boot)) = content.boot {
        let mut bytes = vec![0; usize::from(boot.len)];
        boot.write(&mut bytes);
        records.push((offset, bytes));
    }
    let slots: Vec<u16> = records.iter().map(|(offset, _)| *offset).collect();
    write_slots(page, &slots);
    for (offset, bytes) in &records {
        put(page, usize::from(*offset), bytes);
    }
    let used: usize = records.iter().map(|(_, bytes)| bytes.len() + 2).sum();
    let end =
        records.iter().map(|(offset, bytes)| usize::from(*offset) + bytes.len()).max().unwrap_or(0);
    let header = PageHeader::of_mut(page);
    header.free_bytes.set(PAGE_BODY_BYTES.saturating_sub(used) as u16);
    header.free_offset.set(end as u16);
}

#[cfg(test)]
mod tests;
