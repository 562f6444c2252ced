//! A column of a rowset, made ready to be read from one record after the other.

use extentdb_base::HobtId;
use extentdb_catalog::Catalog;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::AddedDefault;
use extentdb_types::{Datum, SqlType};

use super::cells::Cells;
use super::value::Range;

/// Where the bytes of a column lie in leaf records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ColumnPosition {
    /// In the fixed part.
    Fixed { at: u16, bytes: u16 },
    /// A bit of a byte of the fixed part.
    Bit { at: u16, mask: u8 },
    /// A variable column, from 0.
    Variable { index: u16 },
}

/// A column of a record as the logical checks see it: what is not stored has its value all the
/// same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content<'r> {
    Null,
    /// In the disk form of the type; a bit is one byte.
    Bytes(&'r [u8]),
    /// A pointer structure.
    Complex(&'r [u8]),
}

/// A column of leaf records.
#[derive(Clone, Debug)]
pub(crate) struct ColumnPlan {
    /// `sysrscols.rscolid`, the column in its rowset.
    pub(super) id: i32,
    pub(super) name: Box<str>,
    pub(super) ty: SqlType,
    pub(super) place: ColumnPosition,
    /// From 1; 0 = never NULL.
    pub(super) null_bit: u16,
    pub(super) is_not_null: bool,
    /// The value in rows that were written before the column existed; `None` = NULL.
    absent: Option<Box<[u8]>>,
    /// Most bytes a value in the row may have; `u16::MAX` = not limited.
    pub(super) bytes_max: u16,
    /// What values are legal.
    pub(super) range: Range,
}

impl ColumnPlan {
    /// `None` when the column cannot be read: its type is not understood, or its values lie in the
    /// sparse vector.
    pub(super) fn new(
        column: &PhysicalColumn,
        name: &str,
        catalog: &Catalog,
        rowset: HobtId,
    ) -> Option<ColumnPlan> {
        let ty = column.ty?;
        if column.is_sparse() {
            return None;
        }
        let at = u16::try_from(column.leaf.offset).ok().filter(|at| *at > 0);
        let place = match at {
            Some(at) if ty.is_bit() => ColumnPosition::Bit { at, mask: 1 << (column.leaf.bit & 7) },
            Some(at) => ColumnPosition::Fixed { at, bytes: u16::try_from(ty.fixed_bytes()?).ok()? },
            None if column.leaf.offset < 0 => {
                ColumnPosition::Variable { index: column.leaf.offset.unsigned_abs() - 1 }
            }
            None => return None,
        };
        Some(ColumnPlan {
            id: column.column_id,
            name: name.into(),
            ty,
            place,
            null_bit: column.leaf.null_bit,
            is_not_null: column.is_not_null(),
            absent: catalog
                .added_default(rowset, column)
                .and_then(|default| stored_default(default, Some(&ty))),
            bytes_max: bytes_max(column, &ty),
            range: if has_other_form(column, &ty) { Range::Any } else { Range::of(&ty) },
        })
    }

    /// The column of a record. `None` when the fixed part ends inside it.
    #[inline(always)]
    pub(super) fn of<'r>(&'r self, cells: &Cells<'r>) -> Option<Content<'r>> {
        match cells.is_null(self.null_bit) {
            Some(false) => {}
            Some(true) if self.is_uniquifier() => return Some(Content::Bytes(&[0; 4])),
            Some(true) => return Some(Content::Null),
            None => return self.absent(),
        }
        match self.place {
            ColumnPosition::Fixed { at, bytes } => {
                let at = usize::from(at);
                match cells.fixed().get(at..at + usize::from(bytes)) {
                    Some(bytes) => Some(Content::Bytes(bytes)),
                    None if at >= cells.fixed().len() => self.absent(),
                    None => None,
                }
            }
            ColumnPosition::Bit { at, mask } => match cells.fixed().get(usize::from(at)) {
                Some(byte) => Some(Content::Bytes(if byte & mask != 0 { &[1] } else { &[0] })),
                _ => self.absent(),
            },
            ColumnPosition::Variable { index } => Some(match cells.variable(index) {
                (bytes, true) => Content::Complex(bytes),
                ([], false) if self.is_uniquifier() => Content::Bytes(&[0; 4]),
                (bytes, false) => Content::Bytes(bytes),
            }),
        }
    }

    /// What rows have that are older than the column. `None`: a default that was not found, for
    /// NULL it cannot be.
    #[cold]
    fn absent(&self) -> Option<Content<'_>> {
        match self.absent.as_deref() {
            Some(bytes) => Some(Content::Bytes(bytes)),
            None if self.is_uniquifier() => Some(Content::Bytes(&[0; 4])),
            None if self.is_not_null => None,
            None => Some(Content::Null),
        }
    }

    /// First byte and end in the fixed part.
    #[inline]
    pub(super) fn fixed_place(&self) -> Option<(usize, usize)> {
        match self.place {
            ColumnPosition::Fixed { at, bytes } => {
                Some((usize::from(at), usize::from(at) + usize::from(bytes)))
            }
            _ => None,
        }
    }

    /// True for the hidden uniquifier, the only int among variable columns: 0 is not stored, or
    /// stored as four bytes.
    #[inline(always)]
    pub(super) fn is_uniquifier(&self) -> bool {
        matches!((self.ty, self.place), (SqlType::Int, ColumnPosition::Variable { .. }))
    }

    /// True for text, ntext and image: one that was updated to NULL keeps its text pointer (public
    /// documentation).
    pub(super) fn keeps_bytes_when_null(&self) -> bool {
        self.ty.is_lob()
    }
}

/// True for a value of fixed length that lies among the variable columns: vardecimal, or Always
/// Encrypted. Its bytes are not those of its type.
pub(super) fn has_other_form(column: &PhysicalColumn, ty: &SqlType) -> bool {
    let is_fixed = ty.is_bit() || ty.fixed_bytes().is_some();
    column.leaf.offset < 0 && is_fixed && !column.is_uniquifier()
}

/// The value of rows older than an added column, as a column of type `ty` stores it; nothing when
/// it cannot be decoded.
pub(crate) fn stored_default(default: &AddedDefault, ty: Option<&SqlType>) -> Option<Box<[u8]>> {
    match (default, ty) {
        (AddedDefault::Bytes(bytes), _)
        | (AddedDefault::Variant(bytes), Some(SqlType::SqlVariant)) => {
            Some(bytes.as_slice().into())
        }
        (AddedDefault::Variant(bytes), ty) => {
            let Datum::Variant(variant) = Datum::decode(&SqlType::SqlVariant, bytes).ok()? else {
                return None;
            };
            let mut out = Vec::new();
            variant.value.encode(ty?, &mut out).ok()?;
            Some(out.into())
        }
    }
}

/// Declared length of variable columns. Where the physical column allows more than the type, the
/// more generous counts.
fn bytes_max(column: &PhysicalColumn, ty: &SqlType) -> u16 {
    let declared = match ty {
        SqlType::VarChar { len, .. }
        | SqlType::NVarChar { len, .. }
        | SqlType::VarBinary { len } => *len,
        _ => None,
    };
    match (declared, u16::try_from(column.max_in_row)) {
        (Some(declared), Ok(in_row)) if column.leaf.offset < 0 => declared.max(in_row),
        _ => u16::MAX,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A column by its type, its offset as the catalog has it, and its null bit.
    pub(in crate::rows) fn column(ty: SqlType, offset: i16, null_bit: u16) -> ColumnPlan {
        let place = match u16::try_from(offset) {
            Ok(at) if ty.is_bit() => ColumnPosition::Bit { at, mask: 1 << 2 },
            Ok(at) => ColumnPosition::Fixed { at, bytes: ty.fixed_bytes().unwrap_or(0) as u16 },
            Err(_) => ColumnPosition::Variable { index: offset.unsigned_abs() - 1 },
        };
        ColumnPlan {
            id: 1,
            name: "".into(),
            ty,
            place,
            null_bit,
            is_not_null: false,
            absent: None,
            bytes_max: u16::MAX,
            range: Range::Any,
        }
    }
}
