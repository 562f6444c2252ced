//! TAPE, RAID and SFMB: the media header, which stripe a file is, and filemarks.
//!
//! ```text
//! TAPE, after the block header                RAID stream
//! offset size field                           offset size field
//!     52    4 family_id                            0   16 media_set    same in all stripes
//!     56    4 attributes       5                  16    2 residue      AD
//!     60    2 sequence         1                  18    2 residue      F000
//!     62    2 residue                             20    2 families     stripes of the set
//!     64    2 filemark_units   512-byte units     22    2 mirrors      1
//!     66    2 catalog_type     3                  24    2 family       this stripe, from 1
//!     68    4 name             span               26    6 residue
//!     72    4 description      span
//!     76    4 password         span             SFMB
//!     80    4 software_name    span             offset size field
//!     84    2 block_bytes      1024                52    4 slots        entries there is room for
//!     86    2 vendor           4608                56    4 used
//!     88    5 written          date                60    4 list_offset  72
//!     93    1 major_version    1                   64    8 residue
//!     94      texts                                72  8 n positions    earlier filemarks, newest
//!                                                                       first
//! ```
//!
//! Before SQL Server 2008 SFMB has attributes 0 and no `list_offset`: the positions begin at 60, so
//! that 512 bytes have room for 56 instead of 55. Observed in backups of version 611.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::block::{BLOCK_HEADER_BYTES, Block, BlockHeader, BlockKind, finish_block, seal};
use super::date::MtfDate;
use super::fault::{Fault, NoRoom};
use super::layout::{DiskGuid, Filler, Span, put, read_front};

/// Fixed part of TAPE; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct TapeFields {
    pub header: BlockHeader,
    pub family_id: U32,
    pub attributes: U32,
    pub sequence: U16,
    pub residue_62: U16,
    pub filemark_units: U16,
    pub catalog_type: U16,
    pub name: Span,
    pub description: Span,
    pub password: Span,
    pub software_name: Span,
    pub block_bytes: U16,
    pub vendor: U16,
    pub written: MtfDate,
    pub major_version: u8,
}

const _: () = assert!(size_of::<TapeFields>() == 94);

/// TAPE: the media header, first block of every backup file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tape {
    /// Numbers and dates. Spans, offsets and checksum are computed again when writing.
    pub fields: TapeFields,
    /// `MEDIANAME` of BACKUP.
    pub name: String,
    /// `MEDIADESCRIPTION` of BACKUP.
    pub description: String,
    /// Product that wrote it: "Microsoft SQL Server" and two NUL characters.
    pub software_name: String,
}

impl Tape {
    /// A media header as SQL Server writes it. `filemark_bytes`: 512, or 4096 on devices with such
    /// sectors.
    pub fn new(family_id: u32, filemark_bytes: usize, written: MtfDate) -> Self {
        let mut header = BlockHeader::new(BlockKind::Tape);
        header.attributes = 0x0003_0000.into();
        let fields = TapeFields {
            header,
            family_id: family_id.into(),
            attributes: 5.into(),
            sequence: 1.into(),
            residue_62: 0.into(),
            filemark_units: ((filemark_bytes / 512) as u16).into(),
            catalog_type: 3.into(),
            name: Span::default(),
            description: Span::default(),
            password: Span::default(),
            software_name: Span::default(),
            block_bytes: 1024.into(),
            vendor: 4608.into(),
            written,
            major_version: 1,
        };
        let software_name = "Microsoft SQL Server\0\0".to_owned();
        Tape {
            fields,
            name: String::new(),
            description: String::new(),
            software_name,
        }
    }

    /// Reads a block as TAPE.
    pub fn parse(block: &Block<'_>) -> Self {
        let fields: TapeFields = block.fields();
        Tape {
            name: block.text(fields.name),
            description: block.text(fields.description),
            software_name: block.text(fields.software_name),
            fields,
        }
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        let fields: TapeFields = block.fields();
        let mut faults = block.faults(size_of::<TapeFields>());
        faults.extend(block.text_faults(&[fields.name, fields.description, fields.software_name]));
        faults
    }

    /// Writes the block; returns its length, which is where its first stream begins.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let mut fields = self.fields;
        let kind = super::layout::TextKind::from_byte(fields.header.string_type);
        let mut filler = Filler::new(to, kind, size_of::<TapeFields>())?;
        fields.name = filler.text(&self.name)?;
        fields.description = filler.text(&self.description)?;
        fields.password = Span::default();
        fields.software_name = filler.text(&self.software_name)?;
        finish_block(filler, fields.header, fields.as_bytes())
    }
}

/// RAID stream of TAPE: the media set and the place of this file in it; see the module for the
/// picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct Raid {
    pub media_set: DiskGuid,
    pub residue_16: U16,
    pub residue_18: U16,
    pub families: U16,
    pub mirrors: U16,
    pub family: U16,
    pub residue_26: [U16; 3],
}

impl Raid {
    /// Bytes of the stream.
    pub const BYTES: usize = 32;

    /// The stream of stripe `family` of `families`.
    pub fn new(media_set: [u8; 16], family: u16, families: u16) -> Self {
        Raid {
            media_set: DiskGuid(media_set),
            residue_16: 0xAD.into(),
            residue_18: 0xF000.into(),
            families: families.into(),
            mirrors: 1.into(),
            family: family.into(),
            residue_26: [0.into(), 0.into(), 1.into()],
        }
    }

    /// Reads the stream's data; missing bytes read as zero.
    pub fn parse(data: &[u8]) -> Self {
        read_front(data)
    }

    /// Writes the stream's data.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        put(to, 0, self.as_bytes())?;
        Ok(Raid::BYTES)
    }
}

const _: () = assert!(size_of::<Raid>() == Raid::BYTES);

/// Fixed part of SFMB; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct FilemarkFields {
    pub header: BlockHeader,
    pub slots: U32,
    pub used: U32,
    pub list_offset: U32,
    pub residue_64: [u8; 8],
}

const FILEMARK_LIST_AT: usize = size_of::<FilemarkFields>();
const _: () = assert!(FILEMARK_LIST_AT == 72);

/// SFMB: a filemark. It has no streams; `stream_offset` is its own length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filemark {
    /// Numbers. The list's size and the checksum are computed again when writing.
    pub fields: FilemarkFields,
    /// Offsets of the filemarks before this one, newest first.
    pub earlier: Vec<u64>,
}

/// Where the list begins in a filemark without `list_offset`.
const OLD_LIST_AT: usize = 60;
/// `attributes` of a filemark that has `list_offset`.
const HAS_LIST_OFFSET: u32 = 0x8000_0000;

impl FilemarkFields {
    /// Where the list of earlier filemarks begins.
    fn list_at(&self) -> usize {
        if self.header.attributes.get() & HAS_LIST_OFFSET == 0 {
            OLD_LIST_AT
        } else {
            self.list_offset.get() as usize
        }
    }
}

/// `attributes` of a filemark that follows a seek index in a compressed backup.
pub const AFTER_SEEK_INDEX: u32 = 0x0004_0000;

impl Filemark {
    /// A filemark of `bytes` bytes (512 to 32,768) that lists the `earlier` ones, newest first.
    pub fn new(bytes: usize, earlier: Vec<u64>) -> Self {
        let mut header = BlockHeader::new(BlockKind::Sfmb);
        header.attributes = HAS_LIST_OFFSET.into();
        header.string_type = 0;
        header.stream_offset = (bytes as u16).into();
        let slots = bytes.saturating_sub(FILEMARK_LIST_AT) / 8;
        let fields = FilemarkFields {
            header,
            slots: (slots as u32).into(),
            used: 0.into(),
            list_offset: (FILEMARK_LIST_AT as u32).into(),
            residue_64: [0; 8],
        };
        Filemark { fields, earlier }
    }

    /// Reads a block as SFMB.
    pub fn parse(block: &Block<'_>) -> Self {
        let fields: FilemarkFields = block.fields();
        let list = block.bytes().get(fields.list_at()..).unwrap_or_default();
        let used = fields.used.get() as usize;
        let earlier =
            list.as_chunks::<8>().0.iter().take(used).map(|at| u64::from_le_bytes(*at)).collect();
        Filemark { fields, earlier }
    }

    /// What is wrong with the block.
    pub fn faults(block: &Block<'_>) -> Vec<Fault> {
        let fields: FilemarkFields = block.fields();
        let mut faults = block.faults(size_of::<FilemarkFields>());
        let slots = fields.slots.get();
        let used = fields.used.get();
        let end = fields.list_at() as u64 + 8 * u64::from(used);
        if used > slots || end > block.bytes().len() as u64 {
            faults.push(Fault::Filemark { slots, used, bytes: block.bytes().len() });
        }
        faults
    }

    /// Writes the block; returns its length. Of a list longer than its room the newest entries
    /// stay.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let len = usize::from(self.fields.header.stream_offset.get()).max(FILEMARK_LIST_AT);
        let room = to.len();
        let whole = to.get_mut(..len).ok_or(NoRoom { needed: len, room })?;
        whole.fill(0);
        let list_at = self.fields.list_at();
        let slots = len.saturating_sub(list_at) / 8;
        let mut fields = self.fields;
        fields.used = (self.earlier.len().min(slots) as u32).into();
        put(whole, 0, fields.as_bytes())?;
        whole.get_mut(list_at..).unwrap_or_default().fill(0);
        for (slot, at) in self.earlier.iter().take(slots).enumerate() {
            put(whole, list_at + 8 * slot, U64::new(*at).as_bytes())?;
        }
        seal(whole, fields.header)?;
        Ok(len)
    }
}

const _: () = assert!(size_of::<BlockHeader>() == BLOCK_HEADER_BYTES);
