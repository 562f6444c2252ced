//! SFIN: a file of the database.
//!
//! ```text
//! offset size field                   FILELISTONLY
//!      0    4 tag                     "SFIN"
//!      4    4 bytes                   of the section
//!      8    4 flags                   4 always, 8 growth is a percentage, 128 data file
//!     12    4 residue
//!     16    4 page_bytes              8192
//!     20    4 id                      FileId
//!     24    4 pages                   in the backup, all stripes; for a log bytes / 8192
//!     28    4 kind                    Type: 1 D (data), 2 L (log)
//!     32    4 sector_bytes            SourceBlockSize
//!     36    4 filegroup               FileGroupId
//!     40    8 size                    Size
//!     48    4 logical_name            span
//!     52    4 physical_name           span
//!     56   30 residue
//!     86    8 max_size                MaxSize; 1FFFFFFFE000 none
//!     94    4 growth                  bytes, or percent by flag 8
//!     98   16 residue
//!    114    8 initial_size
//!    122    8 initial_max_size
//!    130    8 size_again
//!    138   20 residue
//!    158   10 differential_base_lsn   DifferentialBaseLSN; in MSLS that of this backup
//!    168    2 residue
//!    170   16 differential_base       DifferentialBaseGUID; in MSLS this set's
//!    186   16 unique_id               UniqueId, the GUID in the file's header page
//!    202   16 first_lsn               LSN and 6 residue
//!    218   16 last_lsn                LSN and 6 residue
//!    234   16 redo_start_lsn          LSN and 6 residue
//!    250    8 backup_bytes            BackupSizeInBytes; none in MSCI
//!    258    4 residue
//!    262    8 differential_base_time  FILETIME, UTC
//!    270      tail                    to 1024 (2008) or 1028 bytes (2012 on), then texts
//! ```

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{finish_section, section_faults, tail};
use crate::mtf::fault::{Fault, NoRoom};
use crate::mtf::layout::{DiskGuid, DiskLsn, Filler, Span, TextKind, read_front, utf16_text};

/// `max_size` of a file that may grow without limit.
pub const NO_LIMIT: u64 = 0x1FFF_FFFF_E000;
/// `flags`: growth is a percentage.
pub const GROWTH_IS_PERCENT: u32 = 8;

/// Fixed part of SFIN; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct FileInfoFields {
    pub tag: [u8; 4],
    pub bytes: U32,
    pub flags: U32,
    pub residue_12: U32,
    pub page_bytes: U32,
    pub id: U32,
    pub pages: U32,
    pub kind: U32,
    pub sector_bytes: U32,
    pub filegroup: U32,
    pub size: U64,
    pub logical_name: Span,
    pub physical_name: Span,
    pub residue_56: [u8; 30],
    pub max_size: U64,
    pub growth: U32,
    pub residue_98: [u8; 16],
    pub initial_size: U64,
    pub initial_max_size: U64,
    pub size_again: U64,
    pub residue_138: [u8; 20],
    pub differential_base_lsn: DiskLsn,
    pub residue_168: [u8; 2],
    pub differential_base: DiskGuid,
    pub unique_id: DiskGuid,
    pub first_lsn: DiskLsn,
    pub residue_212: [u8; 6],
    pub last_lsn: DiskLsn,
    pub residue_228: [u8; 6],
    pub redo_start_lsn: DiskLsn,
    pub residue_244: [u8; 6],
    pub backup_bytes: U64,
    pub residue_258: [u8; 4],
    pub differential_base_time: U64,
}

const KNOWN_BYTES: usize = size_of::<FileInfoFields>();
const _: () = assert!(KNOWN_BYTES == 270);
const _: () = assert!(std::mem::offset_of!(FileInfoFields, max_size) == 86);
const _: () = assert!(std::mem::offset_of!(FileInfoFields, unique_id) == 186);

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A data file: pages.
    Data,
    /// Log file, type 1.
    Log,
    /// Something else (FILESTREAM, full text): not stored as pages.
    Other(u32),
}

/// SFIN: a file of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Numbers, LSNs and dates. Spans and the length are computed again when writing.
    pub fields: FileInfoFields,
    /// Bytes between the known part and the texts.
    pub tail: Vec<u8>,
    /// `LogicalName` of RESTORE FILELISTONLY.
    pub logical_name: String,
    /// `PhysicalName` of RESTORE FILELISTONLY.
    pub physical_name: String,
}

impl FileInfo {
    /// A file as 2008 R2 writes it, growing by 1 MB without limit.
    pub fn new(
        id: u32,
        kind: FileKind,
        size: u64,
        logical_name: &str,
        physical_name: &str,
    ) -> Self {
        let mut fields: FileInfoFields = read_front(b"SFIN");
        let (code, flags, filegroup) = match kind {
            FileKind::Data => (1, 0x84, 1),
            FileKind::Log => (2, 0x04, 0),
            FileKind::Other(code) => (code, 0x04, 0),
        };
        fields.flags = flags.into();
        fields.page_bytes = 8192.into();
        fields.id = id.into();
        fields.kind = code.into();
        fields.sector_bytes = 512.into();
        fields.filegroup = filegroup.into();
        fields.size = size.into();
        fields.size_again = size.into();
        fields.initial_size = size.into();
        fields.max_size = NO_LIMIT.into();
        fields.initial_max_size = NO_LIMIT.into();
        fields.growth = (1 << 20).into();
        FileInfo {
            fields,
            tail: vec![0; 1024 - KNOWN_BYTES],
            logical_name: logical_name.to_owned(),
            physical_name: physical_name.to_owned(),
        }
    }

    /// Reads a section as SFIN.
    pub fn parse(section: &[u8], faults: &mut Vec<Fault>) -> Self {
        let fields: FileInfoFields = read_front(section);
        let spans = [fields.logical_name, fields.physical_name];
        section_faults(section, KNOWN_BYTES, &spans, faults);
        FileInfo {
            tail: tail(section, KNOWN_BYTES, &spans).to_vec(),
            logical_name: utf16_text(fields.logical_name.of(section).unwrap_or_default()),
            physical_name: utf16_text(fields.physical_name.of(section).unwrap_or_default()),
            fields,
        }
    }

    /// What the file holds.
    pub fn kind(&self) -> FileKind {
        match self.fields.kind.get() {
            1 => FileKind::Data,
            2 => FileKind::Log,
            other => FileKind::Other(other),
        }
    }

    /// Writes the section; returns its length.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let mut filler = Filler::new(to, TextKind::Utf16, KNOWN_BYTES + self.tail.len())?;
        fields.logical_name = filler.text(&self.logical_name)?;
        fields.physical_name = filler.text(&self.physical_name)?;
        finish_section(filler, fields.as_bytes(), &self.tail)
    }
}
