//! Literals.

/// A literal. Numbers keep their text: their type follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Literal {
    Null,
    /// Digits.
    Integer(Box<str>),
    /// Digits and a point.
    Decimal(Box<str>),
    /// With `e` and possibly no digits after it.
    Float(Box<str>),
    /// With its currency sign, and possibly no digits.
    Money(Box<str>),
    /// `0x…`, as bytes.
    Binary(Box<[u8]>),
    String(StringLiteral),
    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{guid '…'}`
    Odbc {
        kind: OdbcKind,
        value: Box<str>,
    },
}

/// `'…' | N'…'`, without delimiters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StringLiteral {
    pub value: Box<str>,
    /// `N'…'`
    pub is_national: bool,
}

/// What an ODBC escape stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OdbcKind {
    Date,
    Time,
    Timestamp,
    Guid,
}
