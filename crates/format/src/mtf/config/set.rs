//! SCIN: the backup set.
//!
//! ```text
//! offset size field                  HEADERONLY
//!      0    4 tag                    "SCIN"
//!      4    4 bytes                  of the section
//!      8    4 flags                  Flags; 512 in all samples
//!     12    8 residue                1, 1
//!     20    4 residue                0 from 2012 on
//!     24    4 product_version        major << 24, minor << 16, build
//!     28    4 residue                9
//!     32   10 first_lsn              FirstLSN
//!     42   10 last_lsn               LastLSN: the next block, not yet written
//!     52   10 checkpoint_lsn         CheckpointLSN
//!     62   10 database_backup_lsn    DatabaseBackupLSN
//!     72    5 database_created       DatabaseCreationDate
//!     77    5 started                BackupStartDate
//!     82    5 finished               BackupFinishDate; none in MSCI
//!     87    1 kind                   D L I F G P Q, see [`BackupKind`]
//!     88    1 sort_order             SortOrder
//!     89    2 residue
//!     91    1 compatibility_level    CompatibilityLevel
//!     92    2 database_id
//!     94    2 database_version       DatabaseVersion
//!     96    8 backup_bytes           BackupSize, all stripes; an estimate in MSCI
//!    104    4 database_name          span
//!    108    4 server_name            span
//!    112    4 residue                span, empty
//!    116    4 locale_id              UnicodeLocaleId
//!    120    4 comparison_style       UnicodeComparisonStyle
//!    124   16 binding_id             BindingID
//!    140    4 residue
//!    144   28 end                    end LSN, RecoveryForkID
//!    172   28 fork                   ForkPointLSN, FirstRecoveryForkID, when it was restored
//!    200   16 differential_base      DifferentialBaseGUID
//!    216    5 collation              u32 locale and flags, u8 sort id
//!    221    3 residue
//!    224   16 family_guid            FamilyGUID
//!    240   64 residue
//!    304   28 fork_again
//!    332   12 first_lsn_again
//!    344    8 compressed_bytes       CompressedBackupSize
//!    352   12 residue
//!    364      tail                   36 bytes from 2012 on, then texts
//! ```

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{finish_section, section_faults, tail};
use crate::mtf::date::MtfDate;
use crate::mtf::fault::{Fault, NoRoom};
use crate::mtf::layout::{
    DiskGuid, DiskLsn, Filler, ForkPoint, Span, TextKind, read_front, utf16_text,
};

/// Fixed part of SCIN; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct SetInfoFields {
    pub tag: [u8; 4],
    pub bytes: U32,
    pub flags: U32,
    pub residue_12: [U32; 2],
    pub residue_20: U32,
    pub product_version: U32,
    pub residue_28: U32,
    pub first_lsn: DiskLsn,
    pub last_lsn: DiskLsn,
    pub checkpoint_lsn: DiskLsn,
    pub database_backup_lsn: DiskLsn,
    pub database_created: MtfDate,
    pub started: MtfDate,
    pub finished: MtfDate,
    pub kind: u8,
    pub sort_order: u8,
    pub residue_89: [u8; 2],
    pub compatibility_level: u8,
    pub database_id: U16,
    pub database_version: U16,
    pub backup_bytes: U64,
    pub database_name: Span,
    pub server_name: Span,
    pub residue_112: Span,
    pub locale_id: U32,
    pub comparison_style: U32,
    pub binding_id: DiskGuid,
    pub residue_140: U32,
    pub end: ForkPoint,
    pub fork: ForkPoint,
    pub differential_base: DiskGuid,
    pub collation: [u8; 5],
    pub residue_221: [u8; 3],
    pub family_guid: DiskGuid,
    pub residue_240: [u8; 64],
    pub fork_again: ForkPoint,
    pub first_lsn_again: DiskLsn,
    pub residue_342: [u8; 2],
    pub compressed_bytes: U64,
    pub residue_352: [u8; 12],
}

const KNOWN_BYTES: usize = size_of::<SetInfoFields>();
const _: () = assert!(KNOWN_BYTES == 364);
const _: () = assert!(std::mem::offset_of!(SetInfoFields, binding_id) == 124);
const _: () = assert!(std::mem::offset_of!(SetInfoFields, compressed_bytes) == 344);

/// What a backup holds: the letter in SCIN. Only D was seen in a file; the others are public
/// knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackupKind {
    /// D: a full database.
    Database,
    /// L: transaction log.
    Log,
    /// I: extents changed since the last full backup.
    Differential,
    /// F: files or filegroups.
    File,
    /// G: extents of files or filegroups changed since the last file backup.
    DifferentialFile,
    /// P: primary and read/write filegroups.
    Partial,
    /// Q: extents changed since the last partial backup.
    DifferentialPartial,
    /// A letter nobody knows.
    Other(u8),
}

impl BackupKind {
    /// The kind a letter names.
    pub fn from_letter(letter: u8) -> Self {
        match letter {
            b'D' => BackupKind::Database,
            b'L' => BackupKind::Log,
            b'I' => BackupKind::Differential,
            b'F' => BackupKind::File,
            b'G' => BackupKind::DifferentialFile,
            b'P' => BackupKind::Partial,
            b'Q' => BackupKind::DifferentialPartial,
            other => BackupKind::Other(other),
        }
    }

    /// The letter of the kind.
    pub fn letter(self) -> u8 {
        match self {
            BackupKind::Database => b'D',
            BackupKind::Log => b'L',
            BackupKind::Differential => b'I',
            BackupKind::File => b'F',
            BackupKind::DifferentialFile => b'G',
            BackupKind::Partial => b'P',
            BackupKind::DifferentialPartial => b'Q',
            BackupKind::Other(letter) => letter,
        }
    }

    /// BackupType of HEADERONLY; `None` for an unknown letter.
    pub fn header_only_number(self) -> Option<u8> {
        match self {
            BackupKind::Database => Some(1),
            BackupKind::Log => Some(2),
            BackupKind::File => Some(4),
            BackupKind::Differential => Some(5),
            BackupKind::DifferentialFile => Some(6),
            BackupKind::Partial => Some(7),
            BackupKind::DifferentialPartial => Some(8),
            BackupKind::Other(_) => None,
        }
    }

    /// BackupTypeDescription of HEADERONLY.
    pub fn description(self) -> &'static str {
        match self {
            BackupKind::Database => "DATABASE",
            BackupKind::Log => "TRANSACTION LOG",
            BackupKind::Differential => "DATABASE DIFFERENTIAL",
            BackupKind::File => "FILE OR FILEGROUP",
            BackupKind::DifferentialFile => "FILE DIFFERENTIAL",
            BackupKind::Partial => "PARTIAL",
            BackupKind::DifferentialPartial => "PARTIAL DIFFERENTIAL",
            BackupKind::Other(_) => "UNKNOWN",
        }
    }

    /// True when the set holds only what changed since another backup.
    pub fn is_differential(self) -> bool {
        matches!(
            self,
            BackupKind::Differential
                | BackupKind::DifferentialFile
                | BackupKind::DifferentialPartial
        )
    }
}

/// Flags of a set. The bits are public documentation, except copy-only, which was seen in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SetFlags(pub u32);

impl SetFlags {
    /// Holds bulk-logged data.
    pub const BULK_LOGGED: u32 = 0x1;
    /// Bit of a snapshot backup.
    pub const SNAPSHOT: u32 = 0x2;
    /// The database was read-only.
    pub const READ_ONLY: u32 = 0x4;
    /// The database was in single-user mode.
    pub const SINGLE_USER: u32 = 0x8;
    /// Written WITH CHECKSUM.
    pub const CHECKSUMS: u32 = 0x10;
    /// The database was damaged, the backup went on.
    pub const DAMAGED: u32 = 0x20;
    /// Tail of the log: begins a log chain.
    pub const TAIL_LOG: u32 = 0x40;
    /// Tail of the log with incomplete metadata.
    pub const INCOMPLETE_METADATA: u32 = 0x80;
    /// Tail of the log WITH NORECOVERY.
    pub const FORCE_OFFLINE: u32 = 0x100;
    /// Set in every file seen; meaning not known.
    pub const ALWAYS: u32 = 0x200;
    /// Bit of a copy-only backup.
    pub const COPY_ONLY: u32 = 0x400;

    /// True when all `bits` are set.
    pub fn has(self, bits: u32) -> bool {
        self.0 & bits == bits
    }
}

/// SCIN: the backup set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetInfo {
    /// Numbers, LSNs and dates. Spans and the length are computed again when writing.
    pub fields: SetInfoFields,
    /// Bytes between the known part and the texts: 36 from 2012 on.
    pub tail: Vec<u8>,
    /// `DatabaseName` of RESTORE HEADERONLY.
    pub database_name: String,
    /// `ServerName` of RESTORE HEADERONLY.
    pub server_name: String,
}

impl SetInfo {
    /// A full backup as 2008 R2 writes it; the caller fills in the rest.
    pub fn new(database_name: &str, server_name: &str) -> Self {
        let mut fields: SetInfoFields = read_front(b"SCIN");
        fields.flags = SetFlags::ALWAYS.into();
        fields.residue_12 = [1.into(), 1.into()];
        fields.residue_28 = 9.into();
        fields.product_version = (10 << 24 | 50 << 16 | 1600).into();
        fields.kind = b'D';
        fields.residue_89 = [1, 0];
        fields.compatibility_level = 100;
        fields.database_version = 661.into();
        SetInfo {
            fields,
            tail: Vec::new(),
            database_name: database_name.to_owned(),
            server_name: server_name.to_owned(),
        }
    }

    /// Reads a section as SCIN.
    pub fn parse(section: &[u8], faults: &mut Vec<Fault>) -> Self {
        let fields: SetInfoFields = read_front(section);
        let spans = [fields.database_name, fields.server_name];
        section_faults(section, KNOWN_BYTES, &spans, faults);
        SetInfo {
            tail: tail(section, KNOWN_BYTES, &spans).to_vec(),
            database_name: utf16_text(fields.database_name.of(section).unwrap_or_default()),
            server_name: utf16_text(fields.server_name.of(section).unwrap_or_default()),
            fields,
        }
    }

    /// What the set holds.
    pub fn kind(&self) -> BackupKind {
        BackupKind::from_letter(self.fields.kind)
    }

    /// The set's flags.
    pub fn flags(&self) -> SetFlags {
        SetFlags(self.fields.flags.get())
    }

    /// Major, minor and build number of the server.
    pub fn product_version(&self) -> (u8, u8, u16) {
        let [b0, b1, minor, major] = self.fields.product_version.get().to_le_bytes();
        (major, minor, u16::from_le_bytes([b0, b1]))
    }

    /// Writes the section; returns its length.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let mut filler = Filler::new(to, TextKind::Utf16, KNOWN_BYTES + self.tail.len())?;
        fields.database_name = filler.text(&self.database_name)?;
        fields.server_name = filler.text(&self.server_name)?;
        finish_section(filler, fields.as_bytes(), &self.tail)
    }
}
