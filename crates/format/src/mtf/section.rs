//! MSDA, MSTL, MSCI and MSLS: SQL Server's own blocks.
//!
//! ```text
//! MSDA, after the block header              VLF description
//! offset size field                         offset size field
//!     52    4 residue                            0    4 sequence      0: none of its log is
//!                                                                     carried
//!     56    2 residue                            4    8 bytes         size of the VLF
//!     58    2 residue    1                      12    8 offset        of the VLF in the log file
//!                                               20    2 file
//! MSTL, after the block header                  22    1 parity        64, 128
//! offset size field                             23    1 residue
//!     52    6 residue                           24   10 create_lsn
//!     58    2 residue    1                      34    2 format        VLF format
//!     60    8 first      file offsets of the    36      residue       to 500 (2008) or 504 bytes
//!                                                                     (2012)
//!     68    8 end        log that is carried  MSCI, MSLS, after the block header
//!     76    4 file                            offset size field
//!     80    4 vlf        span                     52    4 residue
//!     84    8 residue
//!     92      VLF description
//! ```
//!
//! The first byte after the gap of the MQTL stream belongs to file offset `first`. In a striped
//! set only one stripe has that stream, all have the block.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::block::{Block, BlockHeader, BlockKind, finish_block};
use super::fault::{Fault, NoRoom};
use super::layout::{DiskLsn, Filler, Span, TextKind, read_front};

/// MSDA: data pages follow; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct DataSection {
    pub header: BlockHeader,
    pub residue_52: U32,
    pub residue_56: U16,
    pub residue_58: U16,
}

const _: () = assert!(size_of::<DataSection>() == 60);

impl DataSection {
    /// A data section as SQL Server writes it.
    pub fn new() -> Self {
        let mut header = BlockHeader::new(BlockKind::Msda);
        header.string_type = 0;
        DataSection {
            header,
            residue_52: 0.into(),
            residue_56: 0.into(),
            residue_58: 1.into(),
        }
    }

    /// Reads a block as MSDA.
    pub fn parse(block: &Block<'_>) -> Self {
        block.fields()
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        block.faults(size_of::<DataSection>())
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let filler = Filler::new(to, TextKind::Utf16, size_of::<DataSection>())?;
        finish_block(filler, self.header, self.as_bytes())
    }
}

impl Default for DataSection {
    fn default() -> Self {
        Self::new()
    }
}

/// Fixed part of MSTL; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct LogSectionFields {
    pub header: BlockHeader,
    pub residue_52: [u8; 6],
    pub residue_58: U16,
    pub first: U64,
    pub end: U64,
    pub file: U32,
    pub vlf: Span,
    pub residue_84: [u8; 8],
}

/// What MSTL tells about a virtual log file; see the module for the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct VlfDescription {
    pub sequence: U32,
    pub bytes: U64,
    pub offset: U64,
    pub file: U16,
    pub parity: u8,
    pub residue_23: u8,
    pub create_lsn: DiskLsn,
    pub format: U16,
}

const VLF_AT: usize = size_of::<LogSectionFields>();
const VLF_BYTES: usize = size_of::<VlfDescription>();
const _: () = assert!(VLF_AT == 92 && VLF_BYTES == 36);

/// MSTL: one virtual log file, and the log of it that the backup carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSection {
    /// Numbers. The span, offsets and checksum are computed again when writing.
    pub fields: LogSectionFields,
    /// The virtual log file.
    pub vlf: VlfDescription,
    /// What follows the known part of the description; zeros in every sample.
    pub residue: Vec<u8>,
}

impl LogSection {
    /// A log section as 2008 and 2008 R2 write it. `first..end`: file offsets of the log carried,
    /// both 0 for none.
    pub fn new(vlf: VlfDescription, first: u64, end: u64) -> Self {
        let mut header = BlockHeader::new(BlockKind::Mstl);
        header.string_type = 0;
        let fields = LogSectionFields {
            header,
            residue_52: [0; 6],
            residue_58: 1.into(),
            first: first.into(),
            end: end.into(),
            file: u32::from(vlf.file.get()).into(),
            vlf: Span::default(),
            residue_84: [0; 8],
        };
        LogSection { fields, vlf, residue: vec![0; 500 - VLF_BYTES] }
    }

    /// Reads a block as MSTL.
    pub fn parse(block: &Block<'_>) -> Self {
        let fields: LogSectionFields = block.fields();
        let description = fields.vlf.of(block.bytes()).unwrap_or_default();
        let residue = description.get(VLF_BYTES..).unwrap_or_default().to_vec();
        LogSection { fields, vlf: read_front(description), residue }
    }

    /// File offsets of the log carried; `None` when there is none, or when it does not lie inside
    /// the VLF.
    pub fn carried(&self) -> Option<std::ops::Range<u64>> {
        let first = self.fields.first.get();
        let end = self.fields.end.get();
        (first < end && self.range_fault().is_none()).then_some(first..end)
    }

    fn range_fault(&self) -> Option<Fault> {
        let first = self.fields.first.get();
        let end = self.fields.end.get();
        let vlf_offset = self.vlf.offset.get();
        let vlf_size = self.vlf.bytes.get();
        let inside = vlf_offset <= first
            && first <= end
            && vlf_offset.checked_add(vlf_size).is_some_and(|vlf_end| end <= vlf_end);
        let none = first == 0 && end == 0;
        (!none && !inside).then_some(Fault::LogRange { vlf_offset, vlf_size, first, end })
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        let fields: LogSectionFields = block.fields();
        let mut faults = block.faults(VLF_AT + VLF_BYTES);
        faults.extend(block.text_faults(&[fields.vlf]));
        faults.extend(Self::parse(block).range_fault());
        faults
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let described = VLF_BYTES + self.residue.len();
        let size =
            u16::try_from(described).map_err(|_| NoRoom { needed: described, room: 0xFFFF })?;
        fields.vlf = Span { size: size.into(), offset: (VLF_AT as u16).into() };
        let mut fixed = fields.as_bytes().to_vec();
        fixed.extend_from_slice(self.vlf.as_bytes());
        fixed.extend_from_slice(&self.residue);
        let kind = TextKind::from_byte(fields.header.string_type);
        finish_block(Filler::new(to, kind, fixed.len())?, fields.header, &fixed)
    }
}

/// MSCI or MSLS: the configuration follows in the MQCI stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct ConfigurationSection {
    pub header: BlockHeader,
    pub residue_52: U32,
}

impl ConfigurationSection {
    /// A configuration section as SQL Server writes it; `kind` is MSCI or MSLS.
    pub fn new(kind: BlockKind) -> Self {
        ConfigurationSection { header: BlockHeader::new(kind), residue_52: 0.into() }
    }

    /// Reads a block as MSCI or MSLS.
    pub fn parse(block: &Block<'_>) -> Self {
        block.fields()
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        block.faults(size_of::<ConfigurationSection>())
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let filler = Filler::new(to, TextKind::Utf16, size_of::<ConfigurationSection>())?;
        finish_block(filler, self.header, self.as_bytes())
    }
}

const _: () = assert!(size_of::<ConfigurationSection>() == 56);
