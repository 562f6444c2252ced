//! Off-row data: the pointers in a row and the records on text pages.
//!
//! ```text
//! text pointer (text, ntext, image; (max) types
//! with "large value types out of row"), 16 bytes    inline root ((max) types) and overflow
//!                                                   pointer, 12 + 12 n bytes
//!  0 8 blob id                                       0  1 4 = inline root, 2 = row-overflow
//!                                                       pointer
//!  8 8 slot pointer of the root record               1  2 level; 0 = entries lead to data records
//!                                                    3  1 undefined
//! LOB record                                         4  4 update sequence
//!  0  1 status 0x08                                  8  4 blob id >> 16
//!  1  1 0                                           12 12 each: cumulative end u32, slot pointer 8
//!  2  2 record length
//!  4  8 blob id
//! 12  2 kind: 0 small root, 2 internal, 3 data, 4 large root of 2000, 5 large root, 8 null
//! 14  - by kind
//!       small root:      length u16, 4 undefined bytes, data at 20; the record has 84 bytes
//!       data:            data to the end of the record
//!       internal:        max links u16, links u16, level u16, entries at 20: end u64, slot pointer
//!                        8
//!       large roots:     max links u16, links u16, level u16, 4 bytes, entries at 24: end u32,
//!                        slot pointer 8
//! ```
//!
//! Every entry's end counts from the start of the value. Observed in real files, except levels
//! above 1 below a root and the overflow pointer, which follow public documentation.

use extentdb_base::Rid;

/// Status byte of a LOB record.
pub const STATUS: u8 = 0x08;
/// Bytes before the part that depends on the kind.
pub const HEADER_BYTES: usize = 14;
/// Where a record has its length.
pub const LEN_AT: std::ops::Range<usize> = 2..4;
/// Bytes of an internal record before its links: what changes when it gets or loses some.
pub const INTERNAL_HEADER_BYTES: usize = INTERNAL_ENTRIES_AT;
/// Bytes of small and large roots, used or not.
pub const ROOT_BYTES: usize = 84;
/// The most data that a data record holds.
pub const DATA_BYTES_MAX: usize = 8040;
/// The longest record: a data record that is full.
pub const MAX_RECORD_BYTES: usize = HEADER_BYTES + DATA_BYTES_MAX;
/// The most data that a small root holds.
pub const SMALL_ROOT_DATA_MAX: usize = 64;
/// Kind of a large root of 2005 and later.
pub const LARGE_ROOT_KIND: u16 = 5;
/// Entries of a full internal record.
pub const INTERNAL_LINKS_MAX: u16 = 501;
/// Entries of a full large root.
pub const ROOT_LINKS_MAX: u16 = 5;

const TEXT_POINTER_BYTES: usize = 16;
const INTERNAL_ENTRIES_AT: usize = 20;
const INTERNAL_ENTRY_BYTES: usize = 16;
const ROOT_ENTRIES_AT: usize = 24;
const ROOT_ENTRY_BYTES: usize = 12;
const INLINE_ENTRIES_AT: usize = 12;

/// A link to a child: where it is and where its part of the value ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LobLink {
    /// Bytes of the value up to the end of this child, counted from the start of the parent's part.
    pub end: u64,
    /// The child record.
    pub target: Rid,
}

/// What a complex column of a row leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LobPointer<'a> {
    /// text, ntext, image: 16 bytes.
    Text {
        /// Equals the blob id of the record.
        blob_id: u64,
        /// The root record.
        root: Rid,
    },
    /// (max) types, xml, large UDTs; and columns pushed off the row when `overflow`.
    Inline(InlineRoot<'a>),
    /// Row back pointer of a forwarded record: no data.
    BackPointer(Rid),
    /// Sparse columns, see [`sparse`](super::sparse).
    SparseVector(&'a [u8]),
    /// A structure that is none of these.
    Unknown(&'a [u8]),
}

impl<'a> LobPointer<'a> {
    /// Reads the bytes of a complex column. `may_be_text`: the column is of a type whose pointers
    /// may carry no tag (`SqlType::may_have_text_pointer`): text, ntext and image, unless the table
    /// has the option "text in row", and (max) types if it has the option "large value types out of
    /// row". Inline roots are never 16 bytes long.
    pub fn parse(bytes: &'a [u8], may_be_text: bool) -> LobPointer<'a> {
        if may_be_text && bytes.len() == TEXT_POINTER_BYTES {
            return Self::parse_text(bytes).unwrap_or(LobPointer::Unknown(bytes));
        }
        match bytes {
            [0x04 | 0x02, ..] => {
                InlineRoot::parse(bytes).map_or(LobPointer::Unknown(bytes), LobPointer::Inline)
            }
            [0x00, 0x04, rid @ ..] => match rid.try_into() {
                Ok(rid) => LobPointer::BackPointer(Rid::from_bytes(rid)),
                Err(_) => LobPointer::Unknown(bytes),
            },
            [0x05, 0x00, ..] => LobPointer::SparseVector(bytes),
            _ => LobPointer::Unknown(bytes),
        }
    }

    fn parse_text(bytes: &[u8]) -> Option<LobPointer<'a>> {
        let (blob_id, rest) = bytes.split_first_chunk::<8>()?;
        let root = Rid::from_bytes(rest.try_into().ok()?);
        Some(LobPointer::Text { blob_id: u64::from_le_bytes(*blob_id), root })
    }
}

/// A root that lies in the row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InlineRoot<'a> {
    bytes: &'a [u8],
}

impl<'a> InlineRoot<'a> {
    /// `None` when the length is not 12 + 12 n with n > 0.
    pub fn parse(bytes: &'a [u8]) -> Option<InlineRoot<'a>> {
        let entries = bytes.len().checked_sub(INLINE_ENTRIES_AT)?;
        (entries > 0 && entries.is_multiple_of(ROOT_ENTRY_BYTES)).then_some(InlineRoot { bytes })
    }

    /// True for a row-overflow pointer.
    pub fn is_overflow(self) -> bool {
        self.bytes.first() == Some(&2)
    }

    /// Levels below: 0 = the links lead to data records.
    pub fn level(self) -> u16 {
        u16_at(self.bytes, 1).unwrap_or(0)
    }

    /// Counts the updates of the value.
    pub fn update_sequence(self) -> u32 {
        u32_at(self.bytes, 4).unwrap_or(0)
    }

    /// The blob id of the records below.
    pub fn blob_id(self) -> u64 {
        u64::from(u32_at(self.bytes, 8).unwrap_or(0)) << 16
    }

    /// The children in order.
    pub fn links(self) -> impl ExactSizeIterator<Item = LobLink> + 'a {
        short_links(self.bytes.get(INLINE_ENTRIES_AT..).unwrap_or_default())
    }

    /// Length of the value in bytes: the end of the last child.
    pub fn value_len(self) -> u64 {
        self.links().last().map_or(0, |link| link.end)
    }
}

/// What a LOB record holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LobContent<'a> {
    /// Kind 0: a value of up to 64 bytes.
    SmallRoot(&'a [u8]),
    /// Kind 3: a part of a value.
    Data(&'a [u8]),
    /// Kinds 2, 4, 5: links to parts.
    Links(LobNode<'a>),
    /// Kind 8: an empty value.
    Null,
    /// Kinds without a known layout.
    Unknown,
}

/// A record that links to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LobNode<'a> {
    /// Links there could be.
    pub links_max: u16,
    /// Height above the data records' parents: 0 = children are data records.
    pub level: u16,
    /// True for kind 2, whose ends are 64 bits wide.
    pub internal: bool,
    entries: &'a [u8],
}

impl<'a> LobNode<'a> {
    /// Number of links.
    pub fn len(self) -> usize {
        self.entries.len() / if self.internal { INTERNAL_ENTRY_BYTES } else { ROOT_ENTRY_BYTES }
    }

    /// True without links.
    pub fn is_empty(self) -> bool {
        self.entries.is_empty()
    }

    /// The link at `index`; `None` past the last.
    pub fn link(self, index: usize) -> Option<LobLink> {
        if self.internal {
            let entry = self.entries.get(index.checked_mul(INTERNAL_ENTRY_BYTES)?..)?;
            let (end, rest) = entry.split_first_chunk::<8>()?;
            Some(LobLink {
                end: u64::from_le_bytes(*end),
                target: Rid::from_bytes(*rest.first_chunk()?),
            })
        } else {
            short_link(self.entries.get(index.checked_mul(ROOT_ENTRY_BYTES)?..)?)
        }
    }

    /// All links in order.
    pub fn links(self) -> impl Iterator<Item = LobLink> + 'a {
        (0..self.len()).filter_map(move |i| self.link(i))
    }
}

/// Why a LOB record does not add up. Offsets count from the record's first byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LobFault {
    /// The status byte is not 0x08.
    Status(u8),
    /// The record does not reach its own header, or reaches past the page.
    Length {
        /// Length as stored, in bytes.
        len: usize,
        /// Bytes to the end of the page's body.
        limit: usize,
    },
    /// No such kind.
    Kind(u16),
    /// More data or links than the record has room for.
    Content {
        /// Bytes the content would take.
        needed: usize,
        /// Bytes of the record.
        len: usize,
    },
}

/// A record of a text page. Parsing never fails; see [`fault`](Self::fault).
#[derive(Clone, Copy, Debug)]
pub struct LobRecord<'a> {
    bytes: &'a [u8],
    kind: u16,
    content: LobContent<'a>,
    fault: Option<LobFault>,
}

impl<'a> LobRecord<'a> {
    /// Reads a record; `bytes` begin at it and may reach beyond.
    pub fn parse(bytes: &'a [u8]) -> LobRecord<'a> {
        let limit = bytes.len();
        let len = usize::from(u16_at(bytes, 2).unwrap_or(0));
        let status = bytes.first().copied().unwrap_or(0);
        let mut record = LobRecord {
            bytes: &[],
            kind: 0,
            content: LobContent::Unknown,
            fault: None,
        };
        match bytes.get(..len) {
            _ if status & 0x0f != STATUS => record.fault = Some(LobFault::Status(status)),
            Some(own) if len >= HEADER_BYTES => {
                record.bytes = own;
                record.kind = u16_at(own, 12).unwrap_or(0);
                match content(own, record.kind) {
                    Ok(content) => record.content = content,
                    Err(fault) => record.fault = Some(fault),
                }
            }
            _ => record.fault = Some(LobFault::Length { len, limit }),
        }
        record
    }

    /// Bytes of the record; 0 when its length makes no sense.
    #[expect(clippy::len_without_is_empty, reason = "a record is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The record's own bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The id that all records of a value share.
    pub fn blob_id(&self) -> u64 {
        self.bytes.get(4..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
    }

    /// The kind as stored.
    pub fn kind(&self) -> u16 {
        self.kind
    }

    /// What it holds.
    pub fn content(&self) -> LobContent<'a> {
        self.content
    }

    /// What does not add up.
    pub fn fault(&self) -> Option<LobFault> {
        self.fault
    }
}

fn content(record: &[u8], kind: u16) -> Result<LobContent<'_>, LobFault> {
    let len = record.len();
    let too_short = |needed| LobFault::Content { needed, len };
    match kind {
        0 => {
            let needed = 20 + usize::from(u16_at(record, 14).ok_or(too_short(20))?);
            record.get(20..needed).map(LobContent::SmallRoot).ok_or(too_short(needed))
        }
        2 => node(record, INTERNAL_ENTRIES_AT, INTERNAL_ENTRY_BYTES, true),
        3 => record.get(HEADER_BYTES..).map(LobContent::Data).ok_or(too_short(HEADER_BYTES)),
        4 | 5 => node(record, ROOT_ENTRIES_AT, ROOT_ENTRY_BYTES, false),
        8 => Ok(LobContent::Null),
        _ => Err(LobFault::Kind(kind)),
    }
}

fn node(
    record: &[u8],
    at: usize,
    entry_bytes: usize,
    internal: bool,
) -> Result<LobContent<'_>, LobFault> {
    let fault = |needed| LobFault::Content { needed, len: record.len() };
    let field = |offset| u16_at(record, offset).ok_or(fault(at));
    let links_max = field(14)?;
    let links = field(16)?;
    let level = field(18)?;
    let end = at + entry_bytes * usize::from(links);
    let entries = record.get(at..end).ok_or(fault(end))?;
    Ok(LobContent::Links(LobNode { links_max, level, internal, entries }))
}

fn short_links(entries: &[u8]) -> impl ExactSizeIterator<Item = LobLink> + '_ {
    entries.as_chunks::<ROOT_ENTRY_BYTES>().0.iter().map(|entry| {
        let [e0, e1, e2, e3, rid @ ..] = *entry;
        LobLink {
            end: u64::from(u32::from_le_bytes([e0, e1, e2, e3])),
            target: Rid::from_bytes(rid),
        }
    })
}

fn short_link(entry: &[u8]) -> Option<LobLink> {
    let (end, rest) = entry.split_first_chunk::<4>()?;
    Some(LobLink {
        end: u64::from(u32::from_le_bytes(*end)),
        target: Rid::from_bytes(*rest.first_chunk()?),
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}

// ---- writing

/// A text pointer.
pub fn write_text_pointer(blob_id: u64, root: Rid) -> [u8; 16] {
    let mut out = [0; 16];
    let (id, rid) = out.split_at_mut(8);
    id.copy_from_slice(&blob_id.to_le_bytes());
    rid.copy_from_slice(&root.to_bytes());
    out
}

/// An inline root (`overflow` false) or a row-overflow pointer.
pub fn write_inline_root(
    overflow: bool,
    level: u16,
    update_sequence: u32,
    blob_id: u64,
    links: &[LobLink],
) -> Vec<u8> {
    let mut out = vec![if overflow { 2 } else { 4 }];
    out.extend_from_slice(&level.to_le_bytes());
    out.push(0);
    out.extend_from_slice(&update_sequence.to_le_bytes());
    out.extend_from_slice(&((blob_id >> 16) as u32).to_le_bytes());
    for link in links {
        out.extend_from_slice(&(link.end as u32).to_le_bytes());
        out.extend_from_slice(&link.target.to_bytes());
    }
    out
}

fn record_header(len: usize, blob_id: u64, kind: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(len);
    out.extend_from_slice(&[STATUS, 0]);
    out.extend_from_slice(&(len as u16).to_le_bytes());
    out.extend_from_slice(&blob_id.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out
}

/// A data record: at most [`DATA_BYTES_MAX`] bytes.
pub fn write_data(blob_id: u64, data: &[u8]) -> Vec<u8> {
    let mut out = record_header(HEADER_BYTES + data.len(), blob_id, 3);
    out.extend_from_slice(data);
    out
}

/// A small root: at most [`SMALL_ROOT_DATA_MAX`] bytes.
pub fn write_small_root(blob_id: u64, data: &[u8]) -> Vec<u8> {
    let mut out = record_header(ROOT_BYTES, blob_id, 0);
    out.extend_from_slice(&(data.len() as u16).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(data);
    out.resize(ROOT_BYTES, 0);
    out
}

/// A null record: an empty value.
pub fn write_null(blob_id: u64) -> Vec<u8> {
    let mut out = record_header(ROOT_BYTES, blob_id, 8);
    out.resize(ROOT_BYTES, 0);
    out
}

/// An internal record.
pub fn write_internal(blob_id: u64, links_max: u16, level: u16, links: &[LobLink]) -> Vec<u8> {
    let len = INTERNAL_ENTRIES_AT + INTERNAL_ENTRY_BYTES * links.len();
    let mut out = record_header(len, blob_id, 2);
    for field in [links_max, links.len() as u16, level] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    for link in links {
        out.extend_from_slice(&link.end.to_le_bytes());
        out.extend_from_slice(&link.target.to_bytes());
    }
    out
}

/// A large root, kind 5 (4 in SQL Server 2000): at most [`ROOT_LINKS_MAX`] links.
pub fn write_large_root(
    blob_id: u64,
    kind: u16,
    links_max: u16,
    level: u16,
    links: &[LobLink],
) -> Vec<u8> {
    let mut out = record_header(ROOT_BYTES, blob_id, kind);
    for field in [links_max, links.len() as u16, level] {
        out.extend_from_slice(&field.to_le_bytes());
    }
    out.extend_from_slice(&[0; 4]);
    for link in links {
        out.extend_from_slice(&(link.end as u32).to_le_bytes());
        out.extend_from_slice(&link.target.to_bytes());
    }
    out.resize(ROOT_BYTES, 0);
    out
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;
    use proptest::prelude::*;

    use super::*;

    fn link(end: u64, page: u32) -> LobLink {
        LobLink { end, target: Rid::new(PageId::new(1, page), 3) }
    }

    #[test]
    fn a_real_text_pointer_names_its_root() {
        let bytes = [0, 0, 0xd1, 7, 0, 0, 0, 0, 0x77, 0, 0, 0, 1, 0, 1, 0];
        let root = Rid::new(PageId::new(1, 0x77), 1);
        assert_eq!(LobPointer::parse(&bytes, true), LobPointer::Text { blob_id: 0x7d1_0000, root });
        assert_eq!(write_text_pointer(0x7d1_0000, root), bytes);
    }

    #[test]
    fn what_is_written_is_read() {
        let links = [link(8040, 7), link(9000, 8)];
        let cases = [
            (write_data(9 << 16, b"abc"), LobContent::Data(b"abc")),
            (write_small_root(9 << 16, b"abc"), LobContent::SmallRoot(b"abc")),
            (write_null(9 << 16), LobContent::Null),
        ];
        for (bytes, expected) in &cases {
            let record = LobRecord::parse(bytes);
            assert_eq!(
                (record.fault(), record.content(), record.blob_id()),
                (None, *expected, 9 << 16)
            );
        }
        for bytes in [write_internal(1, 501, 1, &links), write_large_root(1, 5, 5, 0, &links)] {
            let LobContent::Links(node) = LobRecord::parse(&bytes).content() else {
                panic!("not a node")
            };
            assert_eq!(node.links().collect::<Vec<_>>(), links);
        }
        let bytes = write_inline_root(false, 1, 5, 0xabc << 16, &links);
        let LobPointer::Inline(root) = LobPointer::parse(&bytes, false) else {
            panic!("not a root")
        };
        assert_eq!(
            (root.level(), root.update_sequence(), root.blob_id(), root.value_len()),
            (1, 5, 0xabc << 16, 9000)
        );
        assert!(!root.is_overflow());
    }

    #[test]
    fn more_links_than_the_record_holds_is_a_fault() {
        let mut bytes = write_large_root(1, 5, 5, 0, &[link(1, 1)]);
        bytes[16] = 200;
        assert_eq!(
            LobRecord::parse(&bytes).fault(),
            Some(LobFault::Content { needed: 24 + 2400, len: 84 })
        );
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text: bool) {
            if let LobContent::Links(node) = LobRecord::parse(&bytes).content() {
                prop_assert!(node.links().count() <= bytes.len());
            }
            if let LobPointer::Inline(root) = LobPointer::parse(&bytes, text) {
                prop_assert!(root.links().count() <= bytes.len());
            }
        }
    }
}
