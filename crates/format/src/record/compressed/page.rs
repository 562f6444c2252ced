//! The compression information of a page-compressed page: prefixes and values that its rows share.
//! Unverified, see [`compressed`](super).
//!
//! ```text
//! +0 flags u8          bit 1: anchor record, bit 2: dictionary (bit 0 clear: not a CD record)
//! +1 changes u16       changes since the page was compressed (PageModCount)
//! +3 end of anchor u16 if bit 1: from +0
//! +5 size u16          if bit 2: end of the dictionary, from +0
//!    anchor record     in CD format, if bit 1
//!    dictionary        if bit 2: count u16, end offset u16 each from the dictionary's own start,
//!                      entries
//! ```
//!
//! It stands right past the page header, in no slot; `m_typeFlagBits` 0x80 announces it. A page
//! of a page-compressed table without it holds plain CD records; non-leaf index pages never have
//! it.
//!
//! A column is anchored when the anchor record is not NULL there. Stored for an anchored column:
//! nothing (exactly the anchor), or one byte *n* and a suffix (the first *n* bytes of the anchor,
//! then the suffix). A symbol stands for an entry of the dictionary, which in an anchored column is
//! such a prefix and suffix itself.

use std::borrow::Cow;

use extentdb_base::size::PAGE_HEADER_BYTES;

use super::fault::CiFault;
use super::row::{CdColumn, CdRecord, IS_CD};
use super::value::{CompressedError, CompressedValue};
use crate::PageBytes;
use crate::page::PageRef;

/// `m_typeFlagBits`: the page has compression information.
pub const TYPE_FLAG_COMPRESSED: u8 = 0x80;
/// Flag: there is an anchor record.
pub const HAS_ANCHOR: u8 = 0x02;
/// Flag: there is a dictionary.
pub const HAS_DICTIONARY: u8 = 0x04;
/// A prefix of this many bytes or more could also be the first of two bytes.
const PREFIX_LIMIT: u8 = 0x80;

/// The values that several columns of a page share.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dictionary<'a> {
    bytes: &'a [u8],
    /// Entries that can be read.
    count: u16,
}

impl<'a> Dictionary<'a> {
    fn parse(bytes: &'a [u8]) -> (Dictionary<'a>, Option<CiFault>) {
        let limit = bytes.len();
        let mut dictionary = Dictionary { bytes, count: 0 };
        let count = u16_at(bytes, 0).unwrap_or(u16::MAX);
        let mut start = 2 + 2 * usize::from(count);
        if start > limit {
            return (dictionary, Some(CiFault::DictionaryArray { count, limit }));
        }
        for entry in 0..count {
            let end = usize::from(dictionary.end(entry).unwrap_or(0));
            if end < start || end > limit {
                return (dictionary, Some(CiFault::DictionaryEntry { entry, end, start, limit }));
            }
            start = end;
            dictionary.count = entry + 1;
        }
        (dictionary, None)
    }

    fn end(&self, entry: u16) -> Option<u16> {
        u16_at(self.bytes, 2 + 2 * usize::from(entry))
    }

    /// Number of entries that can be read.
    pub fn len(&self) -> u16 {
        self.count
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// An entry as stored, from 0.
    pub fn entry(&self, entry: u16) -> Option<&'a [u8]> {
        if entry >= self.count {
            return None;
        }
        let start = match entry.checked_sub(1) {
            Some(before) => self.end(before)?,
            None => u16_at(self.bytes, 0)?.checked_mul(2)?.checked_add(2)?,
        };
        self.bytes.get(usize::from(start)..usize::from(self.end(entry)?))
    }
}

/// The compression information of a page.
#[derive(Clone, Copy, Debug)]
pub struct CiView<'a> {
    flags: u8,
    changes: u16,
    size: usize,
    anchor: Option<CdRecord<'a>>,
    dictionary: Dictionary<'a>,
    fault: Option<CiFault>,
}

impl<'a> CiView<'a> {
    /// The compression information of a page; `None` when the page has none. The header bit
    /// decides. Where it is not set, sound information that ends before the first record counts as
    /// well: the bit is known from one source only.
    pub fn of(page: &'a PageBytes) -> Option<CiView<'a>> {
        let view = PageRef::new(page);
        let slots = view.slot_array_start();
        let first_record = view
            .slot_offsets()
            .map(usize::from)
            .filter(|offset| *offset != 0)
            .min()
            .unwrap_or(slots);
        let end = first_record.clamp(PAGE_HEADER_BYTES, slots);
        let bytes = page.get(PAGE_HEADER_BYTES..end).unwrap_or_default();
        if bytes.is_empty() {
            // The first record begins where it would stand.
            return None;
        }
        if view.header().type_flag_bits & TYPE_FLAG_COMPRESSED != 0 {
            return Some(CiView::parse(bytes));
        }
        let is_plausible =
            bytes.first().is_some_and(|flags| flags & IS_CD == 0 && flags & HAS_ANCHOR != 0);
        is_plausible.then(|| CiView::parse(bytes)).filter(|ci| ci.fault.is_none())
    }

    /// Reads compression information. `bytes` begin at it and may reach beyond it.
    pub fn parse(bytes: &'a [u8]) -> CiView<'a> {
        let flags = bytes.first().copied().unwrap_or(0);
        let changes = u16_at(bytes, 1).unwrap_or(0);
        let mut ci = CiView {
            flags,
            changes,
            size: 0,
            anchor: None,
            dictionary: Dictionary::default(),
            fault: None,
        };
        ci.fault = ci.parse_parts(bytes).err();
        ci
    }

    fn parse_parts(&mut self, bytes: &'a [u8]) -> Result<(), CiFault> {
        let known = HAS_ANCHOR | HAS_DICTIONARY;
        if self.flags & known == 0 || self.flags & !known != 0 {
            return Err(CiFault::Flags { found: self.flags });
        }
        let mut at = 3;
        let mut next_end = |is_there: bool| {
            let end = is_there.then(|| u16_at(bytes, at).unwrap_or(0));
            at += if is_there { 2 } else { 0 };
            end
        };
        let anchor_end = next_end(self.flags & HAS_ANCHOR != 0);
        let dictionary_end = next_end(self.flags & HAS_DICTIONARY != 0);
        let anchor_end = self.parse_anchor(bytes, at, anchor_end)?;
        self.parse_dictionary(bytes, anchor_end, dictionary_end)
    }

    fn parse_anchor(
        &mut self,
        bytes: &'a [u8],
        start: usize,
        end: Option<u16>,
    ) -> Result<usize, CiFault> {
        let Some(found) = end else { return Ok(start) };
        let anchor_bytes = part(bytes, start, found)?;
        let anchor = CdRecord::parse(anchor_bytes);
        self.anchor = Some(anchor);
        self.size = usize::from(found);
        if let Some(fault) = anchor.fault() {
            return Err(CiFault::Anchor(fault));
        }
        if anchor.len() != anchor_bytes.len() {
            return Err(CiFault::AnchorLength {
                found: anchor.len(),
                expected: anchor_bytes.len(),
            });
        }
        Ok(self.size)
    }

    fn parse_dictionary(
        &mut self,
        bytes: &'a [u8],
        start: usize,
        end: Option<u16>,
    ) -> Result<(), CiFault> {
        let Some(found) = end else { return Ok(()) };
        let (dictionary, fault) = Dictionary::parse(part(bytes, start, found)?);
        self.dictionary = dictionary;
        self.size = usize::from(found);
        fault.map_or(Ok(()), Err)
    }

    /// The flag byte.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Changes since the page was compressed.
    pub fn changes(&self) -> u16 {
        self.changes
    }

    /// Bytes of it; with a fault, of the part before it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The anchor record.
    pub fn anchor(&self) -> Option<CdRecord<'a>> {
        self.anchor
    }

    /// The dictionary; empty when there is none.
    pub fn dictionary(&self) -> Dictionary<'a> {
        self.dictionary
    }

    /// The first thing that does not add up.
    pub fn fault(&self) -> Option<CiFault> {
        self.fault
    }

    /// The anchor of every column, to be used for all rows of the page; shorter than a row where
    /// columns came later.
    pub fn anchors(&self) -> Vec<CdColumn<'a>> {
        self.anchor.iter().flat_map(|anchor| anchor.columns()).collect()
    }

    /// The value of a column of a row, with prefix and dictionary undone.
    pub fn resolve(
        &self,
        column: u16,
        stored: CdColumn<'a>,
    ) -> Result<CompressedValue<'a>, CompressedError> {
        let anchor = self.anchor.and_then(|anchor| anchor.column(column)).unwrap_or(CdColumn::Null);
        self.resolve_with(anchor, stored)
    }

    /// The same with the anchor of the column at hand, from [`anchors`](Self::anchors); NULL for a
    /// column beyond them.
    pub fn resolve_with(
        &self,
        anchor: CdColumn<'a>,
        stored: CdColumn<'a>,
    ) -> Result<CompressedValue<'a>, CompressedError> {
        let bytes = match stored {
            CdColumn::Symbol(symbol) => {
                let entry = self.dictionary.entry(u16::from(symbol));
                entry.ok_or(CompressedError::Symbol { symbol, entries: self.dictionary.count })?
            }
            CdColumn::Short(bytes) | CdColumn::Long { bytes, complex: false } => bytes,
            CdColumn::Empty if anchor != CdColumn::Null => return anchor.plain(),
            other => return other.plain(),
        };
        match anchor {
            CdColumn::Null => Ok(CompressedValue::Bytes(bytes.into())),
            anchor => expand(anchor, bytes),
        }
    }
}

/// Puts the first bytes of the anchor before a suffix.
fn expand<'a>(
    anchor: CdColumn<'a>,
    stored: &'a [u8],
) -> Result<CompressedValue<'a>, CompressedError> {
    let anchor: &[u8] = match anchor {
        CdColumn::Short(bytes) | CdColumn::Long { bytes, complex: false } => bytes,
        CdColumn::Empty | CdColumn::BitTrue => &[],
        _ => return Err(CompressedError::Anchor),
    };
    let (prefix, suffix) = stored.split_first().ok_or(CompressedError::NoPrefix)?;
    let found = usize::from(*prefix);
    // Longer anchors could need two bytes here; how those would look is not published.
    if *prefix >= PREFIX_LIMIT && anchor.len() >= usize::from(PREFIX_LIMIT) {
        return Err(CompressedError::LongPrefix);
    }
    let shared =
        anchor.get(..found).ok_or(CompressedError::Prefix { found, anchor: anchor.len() })?;
    Ok(CompressedValue::Bytes(match (shared, suffix) {
        ([], suffix) => Cow::Borrowed(suffix),
        (shared, []) => Cow::Borrowed(shared),
        (shared, suffix) => Cow::Owned([shared, suffix].concat()),
    }))
}

/// The bytes between two offsets.
fn part(bytes: &[u8], start: usize, found: u16) -> Result<&[u8], CiFault> {
    bytes.get(start..usize::from(found)).ok_or(CiFault::Size { found, start, limit: bytes.len() })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

mod write;

pub use write::write_information;
