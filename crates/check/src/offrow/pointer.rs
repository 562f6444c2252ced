//! Pointers to off-row data in the columns of a row.
//!
//! ```text
//! text, ntext, image; (max) types of a table with "large value types out of row": 16 bytes
//!   00 00 d1 07 00 00 00 00 | 9a 00 00 00 01 00 | 00 00          text id 131137536, root (1:154:0)
//!
//! (max) types, xml, large UDTs: 12 + 12 n bytes, first byte 4; columns pushed off the row: 24
//!       bytes, first byte 2
//!   02 | 00 00 | 00 | 01 00 00 00 | 29 00 00 00 | 40 1f 00 00 | 75 46 03 00 01 00 | 00 00
//!   tag  level   sequence   text id >> 16   end 8000   (1:214645)   slot 0   text id 2686976
//! ```
//!
//! A (max) value of up to 8000 bytes may lie in the row-overflow unit, under a pointer with tag 2,
//! which has one link only. Short columns are never under tag 4; that is not tested, because
//! nothing depends on it.
//!
//! What is not judged: columns of FILESTREAM and of unknown types, and other tags in text columns
//! ("text in row").

use extentdb_base::Rid;
use extentdb_catalog::PhysicalColumn;
use extentdb_format::record::lob::{InlineRoot, LobPointer};
use extentdb_format::record::sparse::SparseVector;
use extentdb_types::SqlType;

/// Bytes of a text pointer.
const TEXT_POINTER_BYTES: usize = 16;
/// First bytes of the two roots that lie in a row.
const ROOT_TAGS: [u8; 2] = [2, 4];

/// What a variable column may keep off its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PointerClass {
    /// Nothing: uniquifiers and numbers.
    Nothing,
    /// A value of up to 8000 bytes.
    Short,
    /// A value of any length.
    Large,
    /// The same, under a text pointer.
    Text,
    /// That is not known.
    Unknown,
}

impl PointerClass {
    /// The class of a column of a rowset.
    pub(super) fn of(column: &PhysicalColumn) -> PointerClass {
        if column.is_uniquifier() {
            return PointerClass::Nothing;
        }
        match column.ty {
            None => PointerClass::Unknown,
            Some(SqlType::Text { .. } | SqlType::NText { .. } | SqlType::Image) => {
                PointerClass::Text
            }
            Some(
                SqlType::VarChar { len: None, .. }
                | SqlType::NVarChar { len: None, .. }
                | SqlType::VarBinary { len: None }
                | SqlType::Xml
                | SqlType::Udt { len: None, .. },
            ) => PointerClass::Large,
            Some(
                SqlType::VarChar { .. }
                | SqlType::NVarChar { .. }
                | SqlType::VarBinary { .. }
                | SqlType::SqlVariant
                | SqlType::Udt { .. },
            ) => PointerClass::Short,
            Some(_) => PointerClass::Nothing,
        }
    }
}

/// A complex column that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Complex<'a> {
    /// A pointer to a root record.
    Text { id: u64, root: Rid },
    /// A root in the row.
    Root(InlineRoot<'a>),
    /// The values of all sparse columns.
    Sparse(&'a [u8]),
    /// It leads nowhere.
    Empty,
    /// A form that the column cannot have: 8960.
    Invalid,
    /// A form that is not known.
    Unread,
}

impl<'a> Complex<'a> {
    /// Reads the bytes of a complex column.
    pub(super) fn read(bytes: &'a [u8], class: PointerClass) -> Complex<'a> {
        if bytes.is_empty() {
            return Complex::Empty;
        }
        if SparseVector::is_one(bytes) {
            return Complex::Sparse(bytes);
        }
        match class {
            PointerClass::Nothing => Complex::Invalid,
            PointerClass::Short => Self::root(bytes).unwrap_or(Complex::Invalid),
            PointerClass::Large => {
                Self::text(bytes).or_else(|| Self::root(bytes)).unwrap_or(Complex::Invalid)
            }
            PointerClass::Text
                if bytes.len() != TEXT_POINTER_BYTES && InlineRoot::parse(bytes).is_none() =>
            {
                Complex::Invalid
            }
            PointerClass::Text => {
                Self::text(bytes).or_else(|| Self::root(bytes)).unwrap_or(Complex::Unread)
            }
            PointerClass::Unknown => Self::root(bytes).unwrap_or(Complex::Unread),
        }
    }

    /// A root in the row is never 16 bytes long.
    fn text(bytes: &'a [u8]) -> Option<Complex<'a>> {
        if bytes.len() != TEXT_POINTER_BYTES {
            return None;
        }
        match LobPointer::parse(bytes, true) {
            LobPointer::Text { root, .. } if root.page.is_none() => Some(Complex::Empty),
            LobPointer::Text { blob_id, root } => Some(Complex::Text { id: blob_id, root }),
            _ => None,
        }
    }

    fn root(bytes: &'a [u8]) -> Option<Complex<'a>> {
        let has_tag = bytes.first().is_some_and(|tag| ROOT_TAGS.contains(tag));
        let is_possible =
            |root: &InlineRoot<'_>| has_tag && (!root.is_overflow() || root.links().len() == 1);
        InlineRoot::parse(bytes).filter(is_possible).map(Complex::Root)
    }
}

/// True for a value that could be a pointer although its column does not say so.
pub(super) fn resembles_pointer(bytes: &[u8]) -> bool {
    Complex::root(bytes).is_some()
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;
    use extentdb_types::Collation;

    use super::*;

    /// The dump of a row that was pushed over 8060 bytes ("Pro SQL Server Internals", listing
    /// 1-10).
    const OVERFLOW: [u8; 24] = [
        0x02, 0, 0, 0, 0x01, 0, 0, 0, 0x29, 0, 0, 0, 0x40, 0x1f, 0, 0, 0x75, 0x46, 0x03, 0, 0x01,
        0, 0, 0,
    ];
    const TEXT: [u8; 16] = [0, 0, 0xd1, 0x07, 0, 0, 0, 0, 0x9a, 0, 0, 0, 1, 0, 0, 0];

    #[test]
    fn published_pointers_are_read() {
        for class in
            [PointerClass::Short, PointerClass::Large, PointerClass::Text, PointerClass::Unknown]
        {
            let Complex::Root(root) = Complex::read(&OVERFLOW, class) else { panic!("{class:?}") };
            assert!(root.is_overflow());
            assert_eq!((root.blob_id(), root.value_len(), root.level()), (2_686_976, 8000, 0));
            assert_eq!(root.links().next().unwrap().target, Rid::new(PageId::new(1, 214_645), 0));
        }
        for class in [PointerClass::Large, PointerClass::Text] {
            let root = Rid::new(PageId::new(1, 154), 0);
            assert_eq!(Complex::read(&TEXT, class), Complex::Text { id: 131_137_536, root });
        }
    }

    #[test]
    fn what_a_column_cannot_hold_is_invalid_and_what_is_not_known_is_not_judged() {
        let cases: [(&[u8], PointerClass, Complex<'_>); 9] = [
            (b"Nancy", PointerClass::Short, Complex::Invalid),
            (&OVERFLOW[..23], PointerClass::Short, Complex::Invalid),
            (&OVERFLOW, PointerClass::Nothing, Complex::Invalid),
            (&TEXT, PointerClass::Short, Complex::Invalid),
            (b"Nancy", PointerClass::Large, Complex::Invalid),
            (b"Nancy", PointerClass::Text, Complex::Invalid),
            (&[b'x'; 24], PointerClass::Text, Complex::Unread),
            (b"Nancy", PointerClass::Unknown, Complex::Unread),
            (&[], PointerClass::Nothing, Complex::Empty),
        ];
        for (bytes, class, expected) in cases {
            assert_eq!(Complex::read(bytes, class), expected, "{bytes:02x?} {class:?}");
        }
        let nowhere = [7; 8].into_iter().chain([0; 8]).collect::<Vec<u8>>();
        assert_eq!(Complex::read(&nowhere, PointerClass::Text), Complex::Empty);
    }

    #[test]
    fn sparse_vectors_are_no_pointers() {
        for class in
            [PointerClass::Nothing, PointerClass::Short, PointerClass::Large, PointerClass::Unknown]
        {
            assert!(matches!(Complex::read(&[5, 0, 0, 0], class), Complex::Sparse(_)), "{class:?}");
        }
    }

    #[test]
    fn classes_follow_types() {
        let collation = Collation(0);
        let class = |ty: Option<SqlType>, status: u32| {
            let (ti, collation_id) = ty.map_or((0, 0), |ty| ty.to_physical());
            PointerClass::of(&PhysicalColumn {
                column_id: 1,
                ordinal: 1,
                ti,
                collation_id,
                ty,
                key_ordinal: 0,
                status,
                max_in_row: 0,
                leaf: Default::default(),
                interior: Default::default(),
            })
        };
        assert_eq!(
            class(Some(SqlType::VarChar { len: Some(10), collation }), 0),
            PointerClass::Short
        );
        assert_eq!(class(Some(SqlType::VarChar { len: None, collation }), 0), PointerClass::Large);
        assert_eq!(class(Some(SqlType::NText { collation }), 0), PointerClass::Text);
        assert_eq!(
            class(Some(SqlType::Decimal { precision: 9, scale: 2 }), 0),
            PointerClass::Nothing
        );
        assert_eq!(class(Some(SqlType::Int), 0x10), PointerClass::Nothing, "a uniquifier");
        assert_eq!(class(None, 0), PointerClass::Unknown);
    }
}
