//! SSET, VOLB and ESET: start of a backup set, its volume, its end.
//!
//! ```text
//! SSET, after the block header                   VOLB, after the block header
//! offset size field                              offset size field
//!     52    4 attributes   4 full, 2 copy,           52    4 attributes
//!                          8 differential, 16 log    56    4 device       span, "C:"
//!     56    4 residue                                60    4 volume       span
//!     60    2 vendor       4608                      64    4 machine      span
//!     62    2 set_number   from 1                    68    5 written      date
//!     64    4 name         span                      73      texts
//!     68    4 description  span
//!     72    4 password     span                    ESET, after the block header
//!     76    4 user         span                    offset size field
//!     80    8 position     of this block               52    4 attributes
//!     88    5 written      date                        56    4 corrupt_objects
//!     93    1 product_major                            60    8 first_end     of the first ESET,
//!     94    1 product_minor                                                  0 in that one
//!     95    1 time_zone    quarter hours from UTC      68    8 residue
//!     96    1 minor_version                            76    2 residue
//!     97    1 catalog_version  2                       78    2 set_number
//!     98    2 residue                                  80    5 written       date
//!    100   16 set_guid     OS data: BackupSetGUID      85    3 residue
//!    116    5 expires      date
//!    121    1 residue
//!    122      texts
//! ```
//!
//! The OS data of SSET is named by the header's span and always lay at 100. Positions are offsets
//! in the file, which in a compressed backup is the container, not the stream inside.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use extentdb_types::Guid;

use super::block::{Block, BlockHeader, BlockKind, finish_block};
use super::date::MtfDate;
use super::fault::{Fault, NoRoom};
use super::layout::{DiskGuid, Filler, Span, TextKind, read_front};

/// Fixed part of SSET; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct StartOfSetFields {
    pub header: BlockHeader,
    pub attributes: U32,
    pub residue_56: [u8; 4],
    pub vendor: U16,
    pub set_number: U16,
    pub name: Span,
    pub description: Span,
    pub password: Span,
    pub user: Span,
    pub position: U64,
    pub written: MtfDate,
    pub product_major: u8,
    pub product_minor: u8,
    pub time_zone: i8,
    pub minor_version: u8,
    pub catalog_version: u8,
    pub residue_98: U16,
}

/// OS data of SSET.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct SetIdentity {
    guid: DiskGuid,
    expires: MtfDate,
}

const IDENTITY_AT: usize = size_of::<StartOfSetFields>();
const IDENTITY_BYTES: usize = size_of::<SetIdentity>();
const START_TEXTS_AT: usize = 122;
const _: () = assert!(IDENTITY_AT == 100 && IDENTITY_BYTES == 21);

/// `attributes` of SSET and ESET: a copy-only backup.
pub const SET_COPY: u32 = 2;
/// `attributes` of SSET and ESET: a full backup.
pub const SET_NORMAL: u32 = 4;
/// `attributes` of SSET and ESET: a differential backup.
pub const SET_DIFFERENTIAL: u32 = 8;
/// `attributes` of SSET and ESET: a log backup.
pub const SET_LOG: u32 = 16;

/// SSET: start of a backup set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartOfSet {
    /// Numbers and dates. Spans, offsets and checksum are computed again when writing.
    pub fields: StartOfSetFields,
    /// `BackupSetGUID` of RESTORE HEADERONLY.
    pub set_guid: Guid,
    /// `ExpirationDate` of RESTORE HEADERONLY.
    pub expires: MtfDate,
    /// `BackupName` of RESTORE HEADERONLY.
    pub name: String,
    /// `BackupDescription` of RESTORE HEADERONLY.
    pub description: String,
    /// `UserName` of RESTORE HEADERONLY.
    pub user: String,
}

impl StartOfSet {
    /// Start of full backup number `set_number` as SQL Server writes it.
    pub fn new(set_number: u16, set_guid: Guid, written: MtfDate) -> Self {
        let fields = StartOfSetFields {
            header: BlockHeader::new(BlockKind::Sset),
            attributes: SET_NORMAL.into(),
            residue_56: [0; 4],
            vendor: 4608.into(),
            set_number: set_number.into(),
            name: Span::default(),
            description: Span::default(),
            password: Span::default(),
            user: Span::default(),
            position: 0.into(),
            written,
            product_major: 10,
            product_minor: 50,
            time_zone: 0,
            minor_version: 0,
            catalog_version: 2,
            residue_98: 0.into(),
        };
        let (name, description, user) = Default::default();
        StartOfSet {
            fields,
            set_guid,
            expires: MtfDate::NONE,
            name,
            description,
            user,
        }
    }

    /// Reads a block as SSET.
    pub fn parse(block: &Block<'_>) -> Self {
        let fields: StartOfSetFields = block.fields();
        let identity: SetIdentity =
            read_front(fields.header.os_data.of(block.bytes()).unwrap_or_default());
        StartOfSet {
            set_guid: identity.guid.get(),
            expires: identity.expires,
            name: block.text(fields.name),
            description: block.text(fields.description),
            user: block.text(fields.user),
            fields,
        }
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        let fields: StartOfSetFields = block.fields();
        let mut faults = block.faults(IDENTITY_AT + IDENTITY_BYTES);
        let spans = [fields.header.os_data, fields.name, fields.description, fields.user];
        faults.extend(block.text_faults(&spans));
        faults
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        fields.header.os_data = Span {
            size: (IDENTITY_BYTES as u16).into(),
            offset: (IDENTITY_AT as u16).into(),
        };
        let mut filler =
            Filler::new(to, TextKind::from_byte(fields.header.string_type), START_TEXTS_AT)?;
        fields.name = filler.text(&self.name)?;
        fields.description = filler.text(&self.description)?;
        fields.password = Span::default();
        fields.user = filler.text(&self.user)?;
        let identity = SetIdentity { guid: DiskGuid(self.set_guid.0), expires: self.expires };
        let mut fixed = [0; IDENTITY_AT + IDENTITY_BYTES];
        super::layout::put(&mut fixed, 0, fields.as_bytes())?;
        super::layout::put(&mut fixed, IDENTITY_AT, identity.as_bytes())?;
        finish_block(filler, fields.header, &fixed)
    }
}

/// Fixed part of VOLB; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct VolumeFields {
    pub header: BlockHeader,
    pub attributes: U32,
    pub device: Span,
    pub volume: Span,
    pub machine: Span,
    pub written: MtfDate,
}

const _: () = assert!(size_of::<VolumeFields>() == 73);

/// VOLB: the volume that was backed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Numbers and dates. Spans, offsets and checksum are computed again when writing.
    pub fields: VolumeFields,
    /// Drive of the data, such as "C:".
    pub device: String,
    /// Name of the volume.
    pub volume: String,
    /// `MachineName` of RESTORE HEADERONLY.
    pub machine: String,
}

impl Volume {
    /// A volume as SQL Server writes it.
    pub fn new(device: &str, machine: &str, written: MtfDate) -> Self {
        let fields = VolumeFields {
            header: BlockHeader::new(BlockKind::Volb),
            attributes: 2.into(),
            device: Span::default(),
            volume: Span::default(),
            machine: Span::default(),
            written,
        };
        Volume {
            fields,
            device: device.to_owned(),
            volume: String::new(),
            machine: machine.to_owned(),
        }
    }

    /// Reads a block as VOLB.
    pub fn parse(block: &Block<'_>) -> Self {
        let fields: VolumeFields = block.fields();
        Volume {
            device: block.text(fields.device),
            volume: block.text(fields.volume),
            machine: block.text(fields.machine),
            fields,
        }
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        let fields: VolumeFields = block.fields();
        let mut faults = block.faults(size_of::<VolumeFields>());
        faults.extend(block.text_faults(&[fields.device, fields.volume, fields.machine]));
        faults
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let kind = TextKind::from_byte(fields.header.string_type);
        let mut filler = Filler::new(to, kind, size_of::<VolumeFields>())?;
        fields.device = filler.text_at(&self.device)?;
        fields.volume = filler.text_at(&self.volume)?;
        fields.machine = filler.text_at(&self.machine)?;
        finish_block(filler, fields.header, fields.as_bytes())
    }
}

/// Fixed part of ESET; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct EndOfSet {
    pub header: BlockHeader,
    pub attributes: U32,
    pub corrupt_objects: U32,
    pub first_end: U64,
    pub residue_68: U64,
    pub residue_76: U16,
    pub set_number: U16,
    pub written: MtfDate,
    pub residue_85: [u8; 3],
}

const _: () = assert!(size_of::<EndOfSet>() == 88);

impl EndOfSet {
    /// An end of set as SQL Server writes it. `first_end`: position of the first ESET, 0 in
    /// that one.
    pub fn new(set_number: u16, first_end: u64, written: MtfDate) -> Self {
        let mut header = BlockHeader::new(BlockKind::Eset);
        header.string_type = 0;
        EndOfSet {
            header,
            attributes: SET_NORMAL.into(),
            corrupt_objects: 0.into(),
            first_end: first_end.into(),
            residue_68: 0.into(),
            residue_76: 0.into(),
            set_number: set_number.into(),
            written,
            residue_85: [0; 3],
        }
    }

    /// Reads a block as ESET.
    pub fn parse(block: &Block<'_>) -> Self {
        block.fields()
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        block.faults(size_of::<EndOfSet>())
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let kind = TextKind::from_byte(self.header.string_type);
        finish_block(Filler::new(to, kind, size_of::<EndOfSet>())?, self.header, self.as_bytes())
    }
}
