//! What a row keeps of a value off it.

use extentdb_base::{AllocUnitId, Rid};
use extentdb_format::record::lob::{
    LobLink, LobPointer, ROOT_LINKS_MAX, write_inline_root, write_text_pointer,
};

use crate::Error;
use crate::version::ValueKey;

/// Bits of a blob id that an in-row root has; the low ones are zero in every id.
const IN_ROW_BLOB_BITS: u64 = 0x0000_ffff_ffff_0000;

/// Which pointer a column has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LobForm {
    /// The root lies in the row: (max) types, xml, large UDTs.
    InRow,
    /// The same for a column that was pushed off its row.
    Overflow,
    /// A text pointer of 16 bytes, to a root record: text, ntext, image.
    Text,
}

/// What a row keeps of a value off it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LobRoot {
    /// The root itself.
    InRow(InRowRoot),
    /// A pointer to it.
    Text(TextRoot),
}

/// A root in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InRowRoot {
    /// The column was pushed off its row.
    pub is_overflow: bool,
    /// 0 = the links lead to data.
    pub level: u16,
    /// Changes of the value, from 1 on.
    pub update_sequence: u32,
    /// The id of all records of the value, bits 16 to 47; the others are zero.
    pub blob_id: u64,
    /// At most five; none for a value without a byte, which belongs into the row.
    pub links: Vec<LobLink>,
}

/// A pointer to a root record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextRoot {
    /// The id of all records of the value.
    pub blob_id: u64,
    /// The root record; on no page for a value that was never written.
    pub root: Rid,
}

impl LobRoot {
    /// What the bytes of a complex column lead to; see [`LobPointer::parse`] for `may_be_text`.
    ///
    /// # Errors
    /// [`Error::Record`]: it is no pointer to a value.
    pub fn parse(bytes: &[u8], may_be_text: bool) -> Result<LobRoot, Error> {
        match LobPointer::parse(bytes, may_be_text) {
            LobPointer::Text { blob_id, root } => Ok(LobRoot::Text(TextRoot { blob_id, root })),
            LobPointer::Inline(root) => Ok(LobRoot::InRow(InRowRoot {
                is_overflow: root.is_overflow(),
                level: root.level(),
                update_sequence: root.update_sequence(),
                blob_id: root.blob_id(),
                links: root.links().collect(),
            })),
            _ => Err(Error::Record { what: "the pointer in the row has no known form" }),
        }
    }

    /// The bytes that the row keeps.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            LobRoot::InRow(root) => write_inline_root(
                root.is_overflow,
                root.level,
                root.update_sequence,
                root.blob_id,
                &root.links,
            ),
            LobRoot::Text(text) => write_text_pointer(text.blob_id, text.root).to_vec(),
        }
    }

    /// Which pointer it is.
    pub fn form(&self) -> LobForm {
        match self {
            LobRoot::InRow(root) if root.is_overflow => LobForm::Overflow,
            LobRoot::InRow(_) => LobForm::InRow,
            LobRoot::Text(_) => LobForm::Text,
        }
    }

    /// The id of all records of the value.
    pub fn blob_id(&self) -> u64 {
        match self {
            LobRoot::InRow(root) => root.blob_id,
            LobRoot::Text(text) => text.blob_id,
        }
    }

    /// Has the value no byte? Only an in-row root says so; such a value belongs into the row.
    pub fn is_empty_in_row(&self) -> bool {
        matches!(self, LobRoot::InRow(root) if root.links.is_empty())
    }

    /// What names the value in its unit: the same as long as it has its tree.
    pub(super) fn key_in(&self, unit: AllocUnitId) -> ValueKey {
        let blob_id = match self {
            LobRoot::InRow(root) => root.blob_id & IN_ROW_BLOB_BITS,
            LobRoot::Text(text) => text.blob_id,
        };
        ValueKey { unit, blob_id }
    }

    /// Is this the id of a record of the value?
    pub(super) fn owns(&self, blob_id: u64) -> bool {
        match self {
            LobRoot::InRow(root) => (root.blob_id ^ blob_id) & IN_ROW_BLOB_BITS == 0,
            LobRoot::Text(text) => text.blob_id == blob_id,
        }
    }
}

/// A blob id as both forms of pointers can hold it.
pub(super) fn blob_id_of(id: u64) -> u64 {
    id & IN_ROW_BLOB_BITS
}

const _: () = assert!(ROOT_LINKS_MAX == 5, "an in-row root has at most 72 bytes");
