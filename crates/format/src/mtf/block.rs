//! Descriptor block: the header that all blocks of the stream share.
//!
//! ```text
//! offset size field
//!      0    4 kind             four characters
//!      4    4 attributes       TAPE 00030000, SFMB 80000000, others 0
//!      8    2 stream_offset    first stream, from the block's start; for SFMB the block's own
//!                              length
//!     10    1 os_id            14 (NT)
//!     11    1 os_version       1
//!     12    8 displayable_size 0
//!     20    8 address          (offset of the block - offset of SSET) / 1024; 0 for TAPE, SFMB,
//!                              SSET, ESET
//!     28    8 residue
//!     36    4 control_block    0, 1, 2 … within the set
//!     40    4 residue
//!     44    4 os_data          span of OS-specific data
//!     48    1 string_type      0 none, 1 ANSI, 2 UTF-16LE
//!     49    1 residue
//!     50    2 checksum         XOR of the 25 u16 before it
//! ```
//!
//! The fields of each kind follow at offset 52, its texts after them. The checksum covers these 52
//! bytes only.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::checksum::xor_words;
use super::fault::{Fault, NoRoom, Tag};
use super::layout::{Filler, Span, TextKind, put, read_front};

/// Bytes of the header.
pub const BLOCK_HEADER_BYTES: usize = 52;
/// Bytes of the header that the checksum covers.
const SUMMED_BYTES: usize = 50;

/// The header as it lies on disk; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct BlockHeader {
    pub kind: [u8; 4],
    pub attributes: U32,
    pub stream_offset: U16,
    pub os_id: u8,
    pub os_version: u8,
    pub displayable_size: U64,
    pub address: U64,
    pub residue_28: [u8; 8],
    pub control_block: U32,
    pub residue_40: [u8; 4],
    pub os_data: Span,
    pub string_type: u8,
    pub residue_49: u8,
    pub checksum: U16,
}

const _: () = assert!(size_of::<BlockHeader>() == BLOCK_HEADER_BYTES);

/// The kinds of blocks that SQL Server and the tape format know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "each is its four characters; the module `mtf` says what they mean"
)]
pub enum BlockKind {
    Tape,
    Sfmb,
    Sset,
    Volb,
    Msci,
    Msda,
    Mstl,
    Msls,
    Eset,
    Eotm,
    Espb,
    Cfil,
    Dirb,
    File,
}

impl BlockKind {
    const ALL: [(BlockKind, [u8; 4]); 14] = [
        (BlockKind::Tape, *b"TAPE"),
        (BlockKind::Sfmb, *b"SFMB"),
        (BlockKind::Sset, *b"SSET"),
        (BlockKind::Volb, *b"VOLB"),
        (BlockKind::Msci, *b"MSCI"),
        (BlockKind::Msda, *b"MSDA"),
        (BlockKind::Mstl, *b"MSTL"),
        (BlockKind::Msls, *b"MSLS"),
        (BlockKind::Eset, *b"ESET"),
        (BlockKind::Eotm, *b"EOTM"),
        (BlockKind::Espb, *b"ESPB"),
        (BlockKind::Cfil, *b"CFIL"),
        (BlockKind::Dirb, *b"DIRB"),
        (BlockKind::File, *b"FILE"),
    ];

    /// The kind a tag names.
    pub fn from_tag(tag: Tag) -> Option<Self> {
        Self::ALL.iter().find(|(_, bytes)| *bytes == tag.0).map(|(kind, _)| *kind)
    }

    /// The four characters.
    pub fn tag(self) -> Tag {
        let found = Self::ALL.iter().find(|(kind, _)| *kind == self);
        Tag(found.map_or(*b"????", |(_, bytes)| *bytes))
    }
}

impl BlockHeader {
    /// A header of `kind` as SQL Server writes it; the writer of the block fills in offsets and
    /// checksum.
    pub fn new(kind: BlockKind) -> Self {
        BlockHeader {
            kind: kind.tag().0,
            attributes: 0.into(),
            stream_offset: 0.into(),
            os_id: 14,
            os_version: 1,
            displayable_size: 0.into(),
            address: 0.into(),
            residue_28: [0; 8],
            control_block: 0.into(),
            residue_40: [0; 4],
            os_data: Span::default(),
            string_type: 2,
            residue_49: 0,
            checksum: 0.into(),
        }
    }

    /// The header at the start of `bytes`; missing bytes read as zero.
    pub fn parse(bytes: &[u8]) -> Self {
        read_front(bytes)
    }

    /// The four characters.
    pub fn tag(&self) -> Tag {
        Tag(self.kind)
    }

    /// What the checksum should be.
    pub fn computed_checksum(&self) -> u16 {
        self.as_bytes().get(..SUMMED_BYTES).map_or(0, xor_words)
    }

    /// True when the checksum is right and the tag is a known one: bytes at this place start a
    /// block.
    pub fn starts_a_block(&self) -> bool {
        self.checksum.get() == self.computed_checksum() && BlockKind::from_tag(self.tag()).is_some()
    }
}

/// A block: its header, its fields and its texts, up to the first stream.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    bytes: &'a [u8],
    header: BlockHeader,
}

impl<'a> Block<'a> {
    /// The block at the start of `bytes`, which may be longer than the block, or shorter.
    pub fn parse(bytes: &'a [u8]) -> Self {
        let header = BlockHeader::parse(bytes);
        let len = usize::from(header.stream_offset.get());
        Block { bytes: bytes.get(..len).unwrap_or(bytes), header }
    }

    /// The common block header, 52 bytes.
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// The bytes up to the first stream.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Which block it is; `None` for a tag that the tape format does not know.
    pub fn kind(&self) -> Option<BlockKind> {
        BlockKind::from_tag(self.header.tag())
    }

    /// The fixed part, header included; bytes that are not there read as zero.
    pub(crate) fn fields<T: FromBytes + IntoBytes>(&self) -> T {
        read_front(self.bytes)
    }

    /// A text; empty when the span lies outside the block.
    pub fn text(&self, span: Span) -> String {
        span.of(self.bytes).map_or_else(String::new, |bytes| self.text_kind().decode(bytes))
    }

    pub(crate) fn text_kind(&self) -> TextKind {
        TextKind::from_byte(self.header.string_type)
    }

    /// What is wrong with the header or the size. `needed`: bytes of the fixed part.
    pub(crate) fn faults(&self, needed: usize) -> Vec<Fault> {
        let kind = self.header.tag();
        let mut faults = Vec::new();
        let stored = self.header.checksum.get();
        let computed = self.header.computed_checksum();
        if stored != computed {
            faults.push(Fault::BlockChecksum { kind, stored, computed });
        }
        if self.bytes.len() < needed {
            faults.push(Fault::ShortBlock { kind, bytes: self.bytes.len(), needed });
        }
        faults
    }

    /// What is wrong with the texts.
    pub(crate) fn text_faults(&self, spans: &[Span]) -> impl Iterator<Item = Fault> {
        spans.iter().filter_map(|span| span.fault(self.bytes, self.header.tag()))
    }
}

/// Ends a block: pads it to a multiple of four, sets the stream offset and the checksum, writes the
/// fixed part. `fixed` starts with the header. Returns the length of the block, which is where its
/// first stream begins.
pub(crate) fn finish_block(
    filler: Filler<'_>,
    header: BlockHeader,
    fixed: &[u8],
) -> Result<usize, NoRoom> {
    let (whole, len) = filler.finish(4, fixed)?;
    let room = usize::from(u16::MAX);
    let offset = u16::try_from(len).map_err(|_| NoRoom { needed: len, room })?;
    seal(whole, BlockHeader { stream_offset: offset.into(), ..header })?;
    Ok(len)
}

/// Writes a header with its checksum to the start of a block.
pub(crate) fn seal(whole: &mut [u8], header: BlockHeader) -> Result<(), NoRoom> {
    let header = BlockHeader { checksum: header.computed_checksum().into(), ..header };
    put(whole, 0, header.as_bytes())
}
