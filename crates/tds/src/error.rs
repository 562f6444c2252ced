//! What can be wrong with received bytes, and with what is to be sent.
//!
//! A [`DecodeError`] says where decoding stopped, in bytes from the start of the message body, and
//! why. Fields are named as the protocol description names them.

/// Bytes that are no message of this protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: {cause}")]
pub struct DecodeError {
    /// Offset from the start of the message body.
    pub at: usize,
    /// What is wrong there.
    pub cause: Cause,
}

impl DecodeError {
    /// True when more bytes could complete the structure.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        matches!(self.cause, Cause::Truncated { .. })
    }
}

/// Why decoding stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The bytes end inside a field.
    #[error("{needed} more bytes expected")]
    Truncated {
        /// Bytes that the field still lacks.
        needed: usize,
    },
    /// A field ends after the structure it belongs to.
    #[error("field ends {needed} bytes after its structure")]
    Overrun {
        /// Bytes past the end.
        needed: usize,
    },
    /// Bytes follow the end of the structure.
    #[error("{bytes} bytes after the end")]
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// A field has a value that it cannot have.
    #[error("{field} cannot be {found:#x}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// What it holds.
        found: u64,
    },
    /// A length or count is above the limit set for it.
    #[error("{field} of {found} is above the limit of {max}")]
    Limit {
        /// Name of the field.
        field: &'static str,
        /// What it holds.
        found: u64,
        /// Largest value accepted.
        max: u64,
    },
    /// A token that does not belong into this stream.
    #[error("token {token:#04x} does not belong here")]
    Token {
        /// First byte of the token.
        token: u8,
    },
    /// A type that the protocol does not have.
    #[error("type {code:#04x} is unknown")]
    Type {
        /// First byte of the TYPE_INFO.
        code: u8,
    },
    /// A protocol version before 7.1.
    #[error("protocol version {raw:#010x} is not supported")]
    Version {
        /// As LOGIN7 holds it.
        raw: u32,
    },
    /// A type or request that the negotiated protocol version does not have.
    #[error("{what} needs a later protocol version")]
    NotInVersion {
        /// The type or request.
        what: &'static str,
    },
    /// UTF-16 text of an odd number of bytes.
    #[error("text of {bytes} bytes is not UTF-16")]
    OddText {
        /// Length found.
        bytes: usize,
    },
    /// A parameter encrypted by the client (Always Encrypted).
    #[error("parameter {ordinal} is encrypted")]
    EncryptedParameter {
        /// Position in the call, from 0.
        ordinal: usize,
    },
    /// A row before the columns it belongs to.
    #[error("row without column metadata")]
    NoColumns,
    /// Bytes of a value that are no value of its type.
    #[error("{0}")]
    Datum(#[from] extentdb_types::DecodeError),
}

/// A value or name that has no wire form as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// NULL for a type that has no NULL.
    #[error("{wire} has no NULL")]
    Null {
        /// Name of the wire type.
        wire: &'static str,
    },
    /// The value is of another type.
    #[error("a {value} value has no form as {wire}")]
    TypeMismatch {
        /// Name of the wire type.
        wire: &'static str,
        /// Kind of the value.
        value: &'static str,
    },
    /// The value is longer than its type says.
    #[error("{found} bytes do not fit {wire} of {max}")]
    Length {
        /// Name of the wire type.
        wire: &'static str,
        /// Most bytes that fit.
        max: usize,
        /// Bytes of the value.
        found: usize,
    },
    /// A name is longer than its length field can say.
    #[error("{field} of {found} characters, at most {max}")]
    Name {
        /// Name of the field.
        field: &'static str,
        /// UTF-16 code units of the name.
        found: usize,
        /// Largest number.
        max: usize,
    },
    /// The row has more or fewer values than columns.
    #[error("{found} values for {expected} columns")]
    ColumnCount {
        /// Columns described.
        expected: usize,
        /// Values given.
        found: usize,
    },
    /// More elements than the count field can say.
    #[error("{found} {field}, at most {max}")]
    Count {
        /// Name of the list.
        field: &'static str,
        /// Elements given.
        found: usize,
        /// Largest number.
        max: usize,
    },
    /// A form that the negotiated protocol version does not have.
    #[error("{what} needs a later protocol version")]
    NotInVersion {
        /// The type or token.
        what: &'static str,
    },
    /// Binary XML that has no text form.
    #[error("xml value has no text form")]
    Xml,
    /// The bytes of a row are no value of their type.
    #[error("stored value: {0}")]
    Stored(Cause),
    /// Scale of the value and scale of the type differ.
    #[error("scale {found} is not that of {wire} of scale {scale}")]
    Scale {
        /// Name of the wire type.
        wire: &'static str,
        /// Scale of the type.
        scale: u8,
        /// Scale of the value.
        found: u8,
    },
}
