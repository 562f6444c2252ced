//! What a view of the backup stream can find wrong, and the one reason why writing can fail.

use std::fmt;

/// The four characters that name a block, a stream or a section.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(pub [u8; 4]);

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.iter().all(|byte| byte.is_ascii_graphic()) {
            self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
        } else {
            write!(f, "{:08X}", u32::from_be_bytes(self.0))
        }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Bytes of a backup stream that break a rule. Places are relative to the structure; the caller
/// knows where that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the message of each variant names its fields")]
pub enum Fault {
    #[error("{kind} block: checksum {stored:04X} stored, {computed:04X} computed")]
    BlockChecksum { kind: Tag, stored: u16, computed: u16 },
    #[error("{kind} block: {bytes} bytes, {needed} needed")]
    ShortBlock { kind: Tag, bytes: usize, needed: usize },
    #[error("{kind}: text of {size} bytes at offset {offset} lies outside")]
    Text { kind: Tag, size: u16, offset: u16 },
    #[error("{kind} stream header: checksum {stored:04X} stored, {computed:04X} computed")]
    StreamChecksum { kind: Tag, stored: u16, computed: u16 },
    #[error("{kind} stream: {bytes} bytes, {needed} needed")]
    ShortStream { kind: Tag, bytes: usize, needed: usize },
    #[error("{kind} stream: {bytes} bytes are not a whole number of 64 KB extents")]
    OddLength { kind: Tag, bytes: u64 },
    #[error("section {kind} at offset {offset} says {size} bytes, {left} are left")]
    Section { kind: Tag, offset: usize, size: u32, left: usize },
    #[error("set map entry at offset {offset} says {size} bytes, {left} are left")]
    SetMapEntry { offset: usize, size: u16, left: usize },
    #[error(
        "log of VLF at {vlf_offset}: bytes {first} to {end} do not lie inside its {vlf_size} bytes"
    )]
    LogRange { vlf_offset: u64, vlf_size: u64, first: u64, end: u64 },
    #[error("log of VLF at {vlf_offset}: {stored} bytes stored, {needed} needed")]
    ShortLog { vlf_offset: u64, stored: u64, needed: u64 },
    #[error("seek index: checksum {stored:08X} stored, {computed:08X} computed")]
    IndexChecksum { stored: u32, computed: u32 },
    #[error("filemark: {used} of {slots} entries do not fit its {bytes} bytes")]
    Filemark { slots: u32, used: u32, bytes: usize },
}

/// The buffer is smaller than what should be written into it, or a text is too long for its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{needed} bytes do not fit a buffer or field of {room}")]
pub struct NoRoom {
    /// Bytes that should have been written.
    pub needed: usize,
    /// Bytes there are.
    pub room: usize,
}
