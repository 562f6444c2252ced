//! The pieces that blocks, streams and sections are made of.
//!
//! A text is kept outside the fixed part and named by a [`Span`]: u16 size in bytes, u16 offset
//! from the start of the block or section.

use std::borrow::Cow;

use extentdb_base::Lsn;
use extentdb_types::Guid;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::fault::{Fault, NoRoom, Tag};

/// Where a text or sub-structure lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Span {
    /// Size in bytes.
    pub size: U16,
    /// Offset from the start of the block or section.
    pub offset: U16,
}

impl Span {
    /// The bytes it names, or `None` when they do not all lie inside `whole`.
    pub fn of(self, whole: &[u8]) -> Option<&[u8]> {
        let start = usize::from(self.offset.get());
        whole.get(start..start + usize::from(self.size.get()))
    }

    /// A fault when the span names bytes outside `whole`.
    pub fn fault(self, whole: &[u8], kind: Tag) -> Option<Fault> {
        let size = self.size.get();
        let offset = self.offset.get();
        (size > 0 && self.of(whole).is_none()).then_some(Fault::Text { kind, size, offset })
    }
}

/// An LSN on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiskLsn(pub [u8; 10]);

impl DiskLsn {
    /// The LSN in memory form.
    pub fn get(self) -> Lsn {
        Lsn::from_bytes(self.0)
    }
}

impl From<Lsn> for DiskLsn {
    fn from(lsn: Lsn) -> Self {
        DiskLsn(lsn.to_bytes())
    }
}

/// A GUID on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DiskGuid(pub [u8; 16]);

impl DiskGuid {
    /// The GUID in memory form.
    pub fn get(self) -> Guid {
        Guid(self.0)
    }

    /// True for the all-zero value, which means "none".
    pub fn is_none(self) -> bool {
        self.0 == [0; 16]
    }
}

/// A point of the log together with the recovery fork it lies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ForkPoint {
    /// Position in the log.
    pub lsn: DiskLsn,
    /// Fills up to a multiple of four.
    pub residue: U16,
    /// The recovery fork.
    pub fork: DiskGuid,
}

/// The structure at the start of `bytes`; bytes that are not there read as zero.
pub(crate) fn read_front<T: FromBytes + IntoBytes>(bytes: &[u8]) -> T {
    let mut value = T::new_zeroed();
    for (to, from) in value.as_mut_bytes().iter_mut().zip(bytes) {
        *to = *from;
    }
    value
}

/// A little-endian u16 at `offset`; 0 when it lies outside.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    bytes.get(offset..).map_or(0, |rest| read_front::<U16>(rest).get())
}

/// A little-endian u32 at `offset`; 0 when it lies outside.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).map_or(0, |rest| read_front::<U32>(rest).get())
}

/// Decodes UTF-16LE; an unpaired surrogate becomes U+FFFD.
pub fn utf16_text(bytes: &[u8]) -> String {
    let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A text as MTF stores it: UTF-16, little-endian, without a zero at its end.
pub fn utf16_bytes(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// How the texts of a block are encoded: `string_type` of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Type 1. The code page is not stored; bytes above 127 are taken as Latin-1.
    Ansi,
    /// Type 2, and every other value: SQL Server writes nothing else.
    Utf16,
}

impl TextKind {
    /// The kind that a block header's byte names.
    pub fn from_byte(byte: u8) -> Self {
        if byte == 1 { TextKind::Ansi } else { TextKind::Utf16 }
    }

    /// Decodes a text.
    pub fn decode(self, bytes: &[u8]) -> String {
        match self {
            TextKind::Ansi => bytes.iter().map(|byte| char::from(*byte)).collect(),
            TextKind::Utf16 => utf16_text(bytes),
        }
    }

    /// Encodes a text; Latin-1 has a question mark for what it lacks.
    pub fn encode(self, text: &str) -> Cow<'static, [u8]> {
        match self {
            TextKind::Ansi => text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
            TextKind::Utf16 => utf16_bytes(text).into(),
        }
    }
}

/// Fills a structure whose texts follow its fixed part: texts first, then the fixed part with their
/// spans.
pub(crate) struct Filler<'a> {
    to: &'a mut [u8],
    kind: TextKind,
    end: usize,
}

impl<'a> Filler<'a> {
    /// Starts a structure on `to`; its first text will lie at `texts_at`.
    pub(crate) fn new(to: &'a mut [u8], kind: TextKind, texts_at: usize) -> Result<Self, NoRoom> {
        let room = to.len();
        match to.get_mut(..texts_at) {
            Some(fixed) => fixed.fill(0),
            None => return Err(NoRoom { needed: texts_at, room }),
        }
        Ok(Filler { to, kind, end: texts_at })
    }

    /// Adds a text; an empty one gets the empty span `(0, 0)`.
    pub(crate) fn text(&mut self, text: &str) -> Result<Span, NoRoom> {
        if text.is_empty() { Ok(Span::default()) } else { self.text_at(text) }
    }

    /// Adds a text; an empty one gets a span that names its place.
    pub(crate) fn text_at(&mut self, text: &str) -> Result<Span, NoRoom> {
        let bytes = self.kind.encode(text);
        let end = self.end + bytes.len();
        let too_far = NoRoom { needed: end, room: self.to.len().min(usize::from(u16::MAX)) };
        let (Ok(size), Ok(offset)) = (u16::try_from(bytes.len()), u16::try_from(self.end)) else {
            return Err(too_far);
        };
        self.to.get_mut(self.end..end).ok_or(too_far)?.copy_from_slice(&bytes);
        self.end = end;
        Ok(Span { size: size.into(), offset: offset.into() })
    }

    /// Pads with zeros to a multiple of `unit`, writes the fixed part and returns the bytes of the
    /// whole.
    pub(crate) fn finish(self, unit: usize, fixed: &[u8]) -> Result<(&'a mut [u8], usize), NoRoom> {
        let end = self.end.next_multiple_of(unit);
        let room = self.to.len();
        let whole = self.to.get_mut(..end).ok_or(NoRoom { needed: end, room })?;
        if let Some(padding) = whole.get_mut(self.end..) {
            padding.fill(0);
        }
        put(whole, 0, fixed)?;
        Ok((whole, end))
    }
}

/// Copies `bytes` to `offset`.
pub(crate) fn put(to: &mut [u8], offset: usize, bytes: &[u8]) -> Result<(), NoRoom> {
    let room = to.len();
    let needed = offset + bytes.len();
    to.get_mut(offset..needed).ok_or(NoRoom { needed, room })?.copy_from_slice(bytes);
    Ok(())
}
