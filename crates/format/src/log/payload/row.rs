//! Payloads of row operations: insert, delete, modify.
//!
//! ```text
//! offset size field
//!     18   24 page          page part
//!     30    8 partition_id  rowset
//!     38    2 offset_in_row MODIFY_ROW: where in the row; MODIFY_HEADER: where in the page header;
//!           DELETE_ROWS: 1
//!     3A    2 modify_size   bytes before the change
//!     3C    2 row_flags     41, 46, 241 on LOB rows
//!     3E      elements      RowLog Contents 0, 1, …
//! ```
//!
//! Observed in real files of versions 611 to 904.

use extentdb_base::HobtId;

use super::page::PagePart;
use super::{Body, Undecoded, element_list, len_of};
use crate::log::field::{Field, fixed_part};
use crate::log::record::{ElementList, Slices};

fixed_part! {
    /// The fixed part of a row operation.
    pub struct RowPart from 0x18 {
        /// The page and slot.
        0x18 page: PagePart,
        /// Rowset of the row, `PartitionID` of `fn_dblog`.
        0x30 partition_id: HobtId,
        /// Offset of the change in the row or page header.
        0x38 offset_in_row: u16,
        /// Bytes before the change.
        0x3a modify_size: u16,
        /// Flags of unknown meaning; set on LOB rows.
        0x3c row_flags: u16,
    }
}

/// `LOP_INSERT_ROWS`: one row, or the rows that a split or an index build puts on a page at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InsertRows<'a> {
    /// The fixed part; slot is that of the first row.
    pub fixed: RowPart,
    /// The rows as they come to lie on the page, in slot order.
    pub rows: Slices<'a>,
    /// Key of the row; mostly empty.
    pub key: &'a [u8],
    /// Lock information; its bytes are not decoded.
    pub lock_info: &'a [u8],
}

impl<'a> Body<'a> for InsertRows<'a> {
    type Fixed = RowPart;

    fn join(fixed: RowPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let mut rows = elements?;
        let lock_info = rows.pop()?;
        let key = rows.pop()?;
        Some(InsertRows { fixed, rows, key, lock_info })
    }

    fn fixed(&self) -> &RowPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list(self.rows.iter().copied().chain([self.key, self.lock_info])))
    }

    fn unknown_elements(&self) -> usize {
        self.lock_info.len()
    }
}

/// `LOP_DELETE_ROWS`: rows go, or become ghosts (context `LCX_MARK_AS_GHOST`). A compensation
/// record does not repeat the row: its element is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteRows<'a> {
    /// The fixed part.
    pub fixed: RowPart,
    /// The rows as they lay on the page.
    pub rows: Slices<'a>,
    /// Lock information; its bytes are not decoded.
    pub lock_info: &'a [u8],
}

impl DeleteRows<'_> {
    /// `offset_in_row` of every record seen.
    pub const OFFSET_IN_ROW: u16 = 1;
}

impl<'a> Body<'a> for DeleteRows<'a> {
    type Fixed = RowPart;

    fn join(fixed: RowPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let mut rows = elements?;
        let lock_info = rows.pop()?;
        Some(DeleteRows { fixed, rows, lock_info })
    }

    fn fixed(&self) -> &RowPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list(self.rows.iter().copied().chain([self.lock_info])))
    }

    fn unknown_elements(&self) -> usize {
        self.lock_info.len()
    }
}

/// `LOP_MODIFY_ROW`: one run of bytes in a row becomes another, perhaps of another length. Also how
/// PFS bytes, the page slots of an IAM page and fields of the boot page change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModifyRow<'a> {
    /// The fixed part.
    pub fixed: RowPart,
    /// Bytes that the change replaces: undo image.
    pub before: &'a [u8],
    /// Bytes that the change writes: redo image.
    pub after: &'a [u8],
    /// Key of the row; records with fewer than four elements have none.
    pub key: Option<&'a [u8]>,
    /// Lock information; records with two elements have none. Its bytes are not decoded.
    pub lock_info: Option<&'a [u8]>,
    /// Two more elements of unknown meaning from 2012 on.
    pub more: Slices<'a>,
}

impl<'a> Body<'a> for ModifyRow<'a> {
    type Fixed = RowPart;

    fn join(fixed: RowPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let elements = elements?;
        let (key, lock_info, more) = match elements.get(2..)? {
            [] => (None, None, Vec::new()),
            [lock_info] => (None, Some(*lock_info), Vec::new()),
            [key, lock_info, more @ ..] => (Some(*key), Some(*lock_info), more.to_vec()),
        };
        Some(ModifyRow {
            fixed,
            before: elements.first()?,
            after: elements.get(1)?,
            key,
            lock_info,
            more,
        })
    }

    fn fixed(&self) -> &RowPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        let options = [self.key, self.lock_info].into_iter().flatten();
        let images = [self.before, self.after].into_iter();
        Some(element_list(images.chain(options).chain(self.more.iter().copied())))
    }

    fn unknown_elements(&self) -> usize {
        self.lock_info.map_or(0, <[u8]>::len) + len_of(&self.more)
    }
}

/// A run of bytes that changes outside of rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByteChange<'a> {
    /// The fixed part.
    pub fixed: RowPart,
    /// Bytes that the change replaces: undo image.
    pub before: &'a [u8],
    /// Bytes that the change writes: redo image.
    pub after: &'a [u8],
    /// Elements of unknown meaning.
    pub more: Slices<'a>,
}

impl<'a> Body<'a> for ByteChange<'a> {
    type Fixed = RowPart;

    fn join(fixed: RowPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let elements = elements?;
        let [before, after, more @ ..] = elements.as_slice() else { return None };
        Some(ByteChange { fixed, before, after, more: more.to_vec() })
    }

    fn fixed(&self) -> &RowPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        Some(element_list([self.before, self.after].into_iter().chain(self.more.iter().copied())))
    }

    fn unknown_elements(&self) -> usize {
        len_of(&self.more)
    }
}

/// `LOP_MODIFY_HEADER`: bytes of a page header change; `offset_in_row` is the offset in the header
/// (8 previous page, 10 hex next page, 2 type flag bits).
pub type ModifyHeader<'a> = ByteChange<'a>;

/// `LOP_FILE_HDR_MODIFY`: the file header record of page 0 changes as a whole.
pub type FileHeaderModify<'a> = ByteChange<'a>;

/// `LOP_EXPUNGE_ROWS` (a ghost is removed; no elements) and `LOP_CLEAR_GAM_BITS` (elements not
/// decoded).
pub type RowTouch<'a> = Undecoded<'a, RowPart>;

/// One run of bytes of [`ModifyColumns`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Offset in the row before the change.
    pub old_offset: u16,
    /// Offset in the row after the change.
    pub new_offset: u16,
    /// Length before the change as the record's second element states it.
    pub old_len: u16,
    /// Bytes that the change replaces: undo image.
    pub before: &'a [u8],
    /// Bytes that the change writes: redo image.
    pub after: &'a [u8],
}

/// `LOP_MODIFY_COLUMNS`: several runs of bytes in a row change.
///
/// Elements: 0 pairs of u16 (old offset, new offset), one per chunk; 1 a u16 per chunk, the length
/// before; 2 the key; 3 lock information; then before and after of each chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModifyColumns<'a> {
    /// The fixed part.
    pub fixed: RowPart,
    /// The runs of bytes, in row order.
    pub chunks: Vec<Chunk<'a>>,
    /// Key of the row.
    pub key: &'a [u8],
    /// Lock information; its bytes are not decoded.
    pub lock_info: &'a [u8],
}

impl<'a> Body<'a> for ModifyColumns<'a> {
    type Fixed = RowPart;

    fn join(fixed: RowPart, elements: Option<Slices<'a>>) -> Option<Self> {
        let elements = elements?;
        let [offsets, old_lens, key, lock_info, images @ ..] = elements.as_slice() else {
            return None;
        };
        let count = images.len() / 2;
        if images.len() % 2 != 0 || offsets.len() != 4 * count || old_lens.len() != 2 * count {
            return None;
        }
        let chunks = images.chunks_exact(2).enumerate().map(|(i, pair)| {
            Some(Chunk {
                old_offset: u16::read(offsets, 4 * i)?,
                new_offset: u16::read(offsets, 4 * i + 2)?,
                old_len: u16::read(old_lens, 2 * i)?,
                before: pair.first()?,
                after: pair.get(1)?,
            })
        });
        Some(ModifyColumns {
            fixed,
            chunks: chunks.collect::<Option<_>>()?,
            key,
            lock_info,
        })
    }

    fn fixed(&self) -> &RowPart {
        &self.fixed
    }

    fn elements(&self) -> Option<ElementList<'_>> {
        let mut offsets = Vec::with_capacity(4 * self.chunks.len());
        let mut old_lens = Vec::with_capacity(2 * self.chunks.len());
        for chunk in &self.chunks {
            offsets.extend(chunk.old_offset.to_le_bytes());
            offsets.extend(chunk.new_offset.to_le_bytes());
            old_lens.extend(chunk.old_len.to_le_bytes());
        }
        let mut list = ElementList::new();
        list.push(offsets.into());
        list.push(old_lens.into());
        list.extend([self.key.into(), self.lock_info.into()]);
        list.extend(self.chunks.iter().flat_map(|c| [c.before.into(), c.after.into()]));
        Some(list)
    }

    fn unknown_elements(&self) -> usize {
        self.lock_info.len()
    }
}
