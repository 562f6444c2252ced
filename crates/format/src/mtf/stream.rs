//! Stream header: what follows a block, and what follows a stream.
//!
//! ```text
//! offset size field
//!      0    4 kind
//!      4    2 system_attributes of the file system
//!      6    2 media_attributes  1 continued, 2 variable length, 4 end of variable, 8 encrypted, 10
//!                               compressed,
//!                               20 checksummed, 80 seen on APAD (hexadecimal)
//!      8    8 bytes             length of the data after the header
//!     16    2 encryption        algorithm, 0 none
//!     18    2 compression       algorithm, 0 none
//!     20    2 checksum          XOR of the 10 u16 before it
//! ```
//!
//! Headers begin on multiples of four. The data follows at once; SPAD ends the chain and fills up
//! to the next block.
//!
//! MQDA and MQTL hold two zero bytes, then 64 KB units: the 22 bytes of the header and those two
//! keep pages aligned.

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use extentdb_base::size::EXTENT_BYTES;

use super::checksum::xor_words;
use super::fault::{Fault, NoRoom, Tag};
use super::layout::{put, read_front};

/// Bytes of the header.
pub const STREAM_HEADER_BYTES: usize = 22;
/// Streams begin on multiples of this.
pub const STREAM_ALIGNMENT: u64 = 4;
/// Zero bytes between the header of MQDA or MQTL and its first page or log block.
pub const PAYLOAD_GAP_BYTES: u64 = 2;

/// `media_attributes`: further segments follow, the length is that of this one.
pub const VARIABLE: u16 = 0x02;
/// `media_attributes`: no further segment follows.
pub const VARIABLE_END: u16 = 0x04;
/// `media_attributes`: the data is encrypted.
pub const ENCRYPTED: u16 = 0x08;
/// `media_attributes`: the data is compressed.
pub const COMPRESSED: u16 = 0x10;
/// `media_attributes` of every APAD seen.
pub const APAD_ATTRIBUTE: u16 = 0x80;

/// The header as it lies on disk; see the module for the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
#[expect(missing_docs, reason = "the module head documents every field beside its offset")]
pub struct StreamHeader {
    pub kind: [u8; 4],
    pub system_attributes: U16,
    pub media_attributes: U16,
    pub bytes: U64,
    pub encryption: U16,
    pub compression: U16,
    pub checksum: U16,
}

const _: () = assert!(size_of::<StreamHeader>() == STREAM_HEADER_BYTES);

/// The streams of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// RAID: media set and stripe.
    Raid,
    /// SPAD: padding that ends the chain.
    Spad,
    /// APAD: padding before pages or log, so that they begin on a device block.
    Apad,
    /// `MQCI`, the stream with the configuration of the backup.
    Mqci,
    /// `MQDA`, a stream with pages of data files.
    Mqda,
    /// MQTL: log blocks.
    Mqtl,
    /// OTCP: padding before the set map.
    Otcp,
    /// TSMP: set map.
    Tsmp,
    /// CSUM: checksum of the stream before it; the tape format has it, no sample does.
    Csum,
}

impl StreamKind {
    const ALL: [(StreamKind, [u8; 4]); 9] = [
        (StreamKind::Raid, *b"RAID"),
        (StreamKind::Spad, *b"SPAD"),
        (StreamKind::Apad, *b"APAD"),
        (StreamKind::Mqci, *b"MQCI"),
        (StreamKind::Mqda, *b"MQDA"),
        (StreamKind::Mqtl, *b"MQTL"),
        (StreamKind::Otcp, *b"OTCP"),
        (StreamKind::Tsmp, *b"TSMP"),
        (StreamKind::Csum, *b"CSUM"),
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

impl StreamHeader {
    /// A header with its checksum.
    pub fn new(kind: StreamKind, media_attributes: u16, bytes: u64) -> Self {
        let mut header = StreamHeader {
            kind: kind.tag().0,
            system_attributes: 0.into(),
            media_attributes: media_attributes.into(),
            bytes: bytes.into(),
            encryption: 0.into(),
            compression: 0.into(),
            checksum: 0.into(),
        };
        header.checksum = header.computed_checksum().into();
        header
    }

    /// The header at the start of `bytes`; missing bytes read as zero.
    pub fn parse(bytes: &[u8]) -> Self {
        read_front(bytes)
    }

    /// Writes the 22 bytes, with the checksum they need.
    pub fn write(&self, to: &mut [u8]) -> Result<usize, NoRoom> {
        let header = StreamHeader { checksum: self.computed_checksum().into(), ..*self };
        put(to, 0, header.as_bytes())?;
        Ok(STREAM_HEADER_BYTES)
    }

    /// The four characters.
    pub fn tag(&self) -> Tag {
        Tag(self.kind)
    }

    /// Which stream it is; `None` for one that is not known.
    pub fn stream_kind(&self) -> Option<StreamKind> {
        StreamKind::from_tag(self.tag())
    }

    /// True when the data cannot be read without a key.
    pub fn is_encrypted(&self) -> bool {
        self.media_attributes.get() & ENCRYPTED != 0 || self.encryption.get() != 0
    }

    /// Bytes between the header and the first page or log block of MQDA or MQTL: two, or none if
    /// the length says so.
    pub fn payload_gap(&self) -> u64 {
        let beyond = self.bytes.get() % EXTENT_BYTES as u64;
        if beyond == PAYLOAD_GAP_BYTES
            || (beyond != 0 && self.bytes.get() % 512 == PAYLOAD_GAP_BYTES)
        {
            PAYLOAD_GAP_BYTES
        } else {
            0
        }
    }

    fn computed_checksum(&self) -> u16 {
        self.as_bytes().get(..STREAM_HEADER_BYTES - 2).map_or(0, xor_words)
    }

    /// A fault when the checksum is wrong.
    pub fn fault(&self) -> Option<Fault> {
        let stored = self.checksum.get();
        let computed = self.computed_checksum();
        (stored != computed).then_some(Fault::StreamChecksum { kind: self.tag(), stored, computed })
    }
}

/// Writes a stream, header and data, to the start of `to`; returns where the next stream begins.
pub fn write_stream(to: &mut [u8], header: &StreamHeader, data: &[u8]) -> Result<usize, NoRoom> {
    let at = header.write(to)?;
    put(to, at, data)?;
    let end = at + data.len();
    let next = end.next_multiple_of(STREAM_ALIGNMENT as usize);
    let room = to.len();
    to.get_mut(end..next).ok_or(NoRoom { needed: next, room })?.fill(0);
    Ok(next)
}
