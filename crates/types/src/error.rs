//! What can be wrong with the bytes of a value, and with a value that is to be written.
//!
//! A caller that shows a bad value shows the error and the raw bytes: the bytes stay with the
//! caller.

use crate::sql_type::SqlType;

/// The part of a value that is out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// The byte of a bit: 0 or 1.
    Bit,
    /// Sign byte of a decimal: 0 or 1.
    Sign,
    /// Magnitude of a decimal: below 10 to the precision.
    Magnitude,
    /// Days since the type's first day.
    Days,
    /// Parts of a second since midnight.
    Ticks,
    /// Minutes since midnight.
    Minutes,
    /// Minutes between UTC and local time: −840 to 840.
    Offset,
    /// The local time of a datetimeoffset: within the years 1 to 9999.
    LocalTime,
    /// Type code of a sql_variant.
    VariantType,
    /// Version byte of a sql_variant: 1.
    VariantVersion,
    /// Length, precision or scale in a sql_variant.
    VariantProperty,
}

impl Field {
    /// The field in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Field::Bit => "bit",
            Field::Sign => "sign byte",
            Field::Magnitude => "magnitude",
            Field::Days => "days",
            Field::Ticks => "ticks",
            Field::Minutes => "minutes",
            Field::Offset => "offset",
            Field::LocalTime => "local time",
            Field::VariantType => "base type",
            Field::VariantVersion => "version",
            Field::VariantProperty => "property",
        }
    }
}

/// Bytes that are no value of the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A fixed-length value has another length.
    #[error("{ty} takes {expected} bytes, {found} found")]
    Length {
        /// Type of the column.
        ty: SqlType,
        /// Bytes it takes.
        expected: usize,
        /// Length of the bytes given.
        found: usize,
    },
    /// A variable-length value is longer than declared.
    #[error("{ty} takes at most {max} bytes, {found} found")]
    TooLong {
        /// Type of the column.
        ty: SqlType,
        /// Most bytes it takes.
        max: usize,
        /// Length of the bytes given.
        found: usize,
    },
    /// UTF-16 text of an odd number of bytes.
    #[error("{ty} takes an even number of bytes, {found} found")]
    OddLength {
        /// Type of the column.
        ty: SqlType,
        /// Length of the bytes given.
        found: usize,
    },
    /// A sql_variant that ends inside its header.
    #[error("sql_variant of {found} bytes ends inside its header")]
    VariantTooShort {
        /// Length of the bytes given.
        found: usize,
    },
    /// A field holds a value outside its range.
    #[error("{ty}: {} {found} is out of range", .field.name())]
    Range {
        /// Type of the column, or the base type inside a sql_variant.
        ty: SqlType,
        /// Field that is out of range.
        field: Field,
        /// What it holds.
        found: i128,
    },
}

/// A value that cannot be written as the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// NULL has no bytes: the row's null bitmap says it.
    #[error("NULL has no stored form as {ty}")]
    Null {
        /// Type of the column.
        ty: SqlType,
    },
    /// The value is of another type.
    #[error("a {value} value cannot be stored as {ty}")]
    TypeMismatch {
        /// Type of the column.
        ty: SqlType,
        /// Kind of the value.
        value: &'static str,
    },
    /// The value has more bytes than the column, or not as many as a fixed-length column asks for.
    #[error("{found} bytes do not fit {ty}")]
    Length {
        /// Type of the column.
        ty: SqlType,
        /// Bytes of the value.
        found: usize,
    },
    /// Scale of the value and scale of the column differ.
    #[error("scale {found} does not fit {ty}")]
    Scale {
        /// Type of the column.
        ty: SqlType,
        /// Scale of the value.
        found: u8,
    },
    /// A field of the value is outside its range.
    #[error("{ty}: {} is out of range", .field.name())]
    Range {
        /// Type of the column.
        ty: SqlType,
        /// Field that is out of range.
        field: Field,
    },
}
