//! Columns whose values are not read; the other columns of their table are.
//!
//! ```text
//! by the column alone     an unknown type, a column set, FILESTREAM
//! by a rowset, too        its record layout has no such column, or not in the way the column says;
//!                         a stored default that cannot be decoded
//! ```
//!
//! A wrong value is worse than none: what is not understood makes its column unreadable by name.

use std::borrow::Cow;

use extentdb_types::{Datum, SqlType};

use super::{AddedDefault, Catalog, Column, Rowset};
use crate::layout::{Cell, PhysicalColumn, column_status};

/// Why the values of a column are not read. Its text continues "column c: ".
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The catalog's description of the type is not understood.
    #[error("its type {xtype} is not known")]
    UnknownType {
        /// `syscolpars.xtype`.
        xtype: u8,
    },
    /// It stands for the sparse columns of its table, and has no values of its own.
    #[error("it is a column set")]
    ColumnSet,
    /// Its values are files.
    #[error("it is FILESTREAM")]
    FileStream,
    /// Records have no such column, or it is sparse by one description and not by the other.
    #[error("its place in the rows is not known")]
    NotInRows,
    /// Rows from before it was added have a value that `sysseobjvalues` should keep.
    #[error("the value that older rows have in it cannot be read")]
    StoredDefault,
    /// It is computed from columns that are not read.
    #[error("it is computed from what is not read")]
    Computed,
}

impl Column {
    /// Why its values are not read, as far as its own description says.
    pub fn unreadable(&self) -> Option<Unreadable> {
        if self.column_set {
            Some(Unreadable::ColumnSet)
        } else if self.filestream {
            Some(Unreadable::FileStream)
        } else if self.ty.is_none() {
            Some(Unreadable::UnknownType { xtype: self.xtype })
        } else {
            None
        }
    }

    /// The same with what a rowset says of it.
    pub fn unreadable_in(&self, rowset: &Rowset, catalog: &Catalog) -> Option<Unreadable> {
        if let Some(why) = self.unreadable() {
            return Some(why);
        }
        if self.is_virtual() {
            return None;
        }
        let is_own = |own: &&PhysicalColumn| {
            own.column_id == self.id && !own.is_uniquifier() && !own.is_dropped()
        };
        let Some(physical) = rowset.layout.columns.iter().find(is_own) else {
            return Some(Unreadable::NotInRows);
        };
        if physical.is_sparse() != self.sparse {
            return Some(Unreadable::NotInRows);
        }
        let Some(ty) = physical.ty else {
            return Some(Unreadable::UnknownType { xtype: physical.ti.to_le_bytes()[0] });
        };
        let has_default = physical.status & column_status::STORED_DEFAULT != 0;
        match catalog.added_default(rowset.id, physical) {
            Some(default) if default.cell(&ty).is_none() => Some(Unreadable::StoredDefault),
            None if has_default => Some(Unreadable::StoredDefault),
            _ => None,
        }
    }
}

impl AddedDefault {
    /// The value as a record of a table would have it; `None` when it is none of the type.
    pub fn cell(&self, ty: &SqlType) -> Option<Cell<'static>> {
        let value = match self {
            AddedDefault::Bytes(bytes) => Datum::decode(ty, bytes).ok()?,
            AddedDefault::Variant(bytes) => {
                match Datum::decode(&SqlType::SqlVariant, bytes).ok()? {
                    Datum::Variant(variant) if *ty != SqlType::SqlVariant => variant.value,
                    value => value,
                }
            }
        };
        match value {
            Datum::Null => Some(Cell::Null),
            Datum::Bit(bit) => ty.is_bit().then_some(Cell::Bit(bit)),
            value => {
                let mut bytes = Vec::new();
                value.encode(ty, &mut bytes).ok()?;
                Some(Cell::Bytes(Cow::Owned(bytes)))
            }
        }
    }
}
