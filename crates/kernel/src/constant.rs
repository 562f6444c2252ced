//! Values that are the same for all rows.

use crate::operator::row::Cell;

/// A value that is the same for all rows.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "variants are the representations of `lane`")]
pub enum Constant {
    Null,
    Int(i64),
    Wide(i128),
    Float(f64),
    Bytes(Vec<u8>),
}

impl Constant {
    pub(crate) fn cell(&self) -> Cell<'_> {
        match self {
            Constant::Null => Cell::Null,
            Constant::Int(value) => Cell::Int(*value),
            Constant::Wide(value) => Cell::Wide(*value),
            Constant::Float(value) => Cell::Float(*value),
            Constant::Bytes(bytes) => Cell::Bytes(bytes),
        }
    }
}
