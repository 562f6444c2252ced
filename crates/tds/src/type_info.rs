//! TYPE_INFO: types as the wire describes them.
//!
//! ```text
//! 1F null   30 tinyint  32 bit  34 smallint  38 int  7F bigint  3B real  3E float
//! 3C money  7A smallmoney  3D datetime  3A smalldatetime            no more; values are never NULL
//! 26 INTN  68 BITN  6D FLTN  6E MONEYN  6F DATETIMN  24 GUID        length u8
//! 6A DECIMALN  6C NUMERICN (37, 3F)                                 length u8, precision, scale
//! 28 DATE                                                           no more
//! 29 TIME  2A DATETIME2  2B DATETIMEOFFSET                          scale u8
//! 25 varbinary  27 varchar  2D binary  2F char                      length u8 (before TDS 7)
//! A7 varchar  AF char  E7 nvarchar  EF nchar                        length u16, collation
//! A5 varbinary  AD binary                                           length u16; FFFF = (max)
//! 23 text  63 ntext                                                 length u32, collation
//! 22 image  62 SQL_VARIANT                                          length u32
//! F1 XML                                                            flag u8, [schema names]
//! F0 UDT    column: length u16, names, assembly; parameter: names
//! ```
//!
//! Invariants
//! - Lengths are bytes. `None` is `(max)`, `FFFF` on the wire, and its values are PLP.
//! - A type that a client of an older version does not know is replaced in
//!   [`down_level`], nowhere else.

pub mod down_level;
mod from_sql;
mod read;
mod to_sql;
mod write;

pub use from_sql::Nullability;

use crate::collation::WireCollation;
use crate::version::TdsVersion;

/// Type codes, as the first byte of a TYPE_INFO.
pub(crate) mod code {
    pub(crate) const NULL: u8 = 0x1F;
    pub(crate) const IMAGE: u8 = 0x22;
    pub(crate) const TEXT: u8 = 0x23;
    pub(crate) const GUID: u8 = 0x24;
    pub(crate) const SHORT_VARBINARY: u8 = 0x25;
    pub(crate) const INTN: u8 = 0x26;
    pub(crate) const SHORT_VARCHAR: u8 = 0x27;
    pub(crate) const DATE: u8 = 0x28;
    pub(crate) const TIME: u8 = 0x29;
    pub(crate) const DATETIME2: u8 = 0x2A;
    pub(crate) const DATETIMEOFFSET: u8 = 0x2B;
    pub(crate) const SHORT_BINARY: u8 = 0x2D;
    pub(crate) const SHORT_CHAR: u8 = 0x2F;
    pub(crate) const TINYINT: u8 = 0x30;
    pub(crate) const BIT: u8 = 0x32;
    pub(crate) const SMALLINT: u8 = 0x34;
    pub(crate) const DECIMAL: u8 = 0x37;
    pub(crate) const INT: u8 = 0x38;
    pub(crate) const SMALLDATETIME: u8 = 0x3A;
    pub(crate) const REAL: u8 = 0x3B;
    pub(crate) const MONEY: u8 = 0x3C;
    pub(crate) const DATETIME: u8 = 0x3D;
    pub(crate) const FLOAT: u8 = 0x3E;
    pub(crate) const NUMERIC: u8 = 0x3F;
    pub(crate) const VARIANT: u8 = 0x62;
    pub(crate) const NTEXT: u8 = 0x63;
    pub(crate) const BITN: u8 = 0x68;
    pub(crate) const DECIMALN: u8 = 0x6A;
    pub(crate) const NUMERICN: u8 = 0x6C;
    pub(crate) const FLTN: u8 = 0x6D;
    pub(crate) const MONEYN: u8 = 0x6E;
    pub(crate) const DATETIMN: u8 = 0x6F;
    pub(crate) const SMALLMONEY: u8 = 0x7A;
    pub(crate) const BIGINT: u8 = 0x7F;
    pub(crate) const VARBINARY: u8 = 0xA5;
    pub(crate) const VARCHAR: u8 = 0xA7;
    pub(crate) const BINARY: u8 = 0xAD;
    pub(crate) const CHAR: u8 = 0xAF;
    pub(crate) const NVARCHAR: u8 = 0xE7;
    pub(crate) const NCHAR: u8 = 0xEF;
    pub(crate) const UDT: u8 = 0xF0;
    pub(crate) const XML: u8 = 0xF1;
    pub(crate) const TVP: u8 = 0xF3;
}

/// Length of a `(max)` type.
pub(crate) const MAX: u16 = 0xFFFF;
/// Length that servers announce for sql_variant.
pub const VARIANT_BYTES: u32 = 8_009;

/// Where a type or a value stands: both have forms that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// A column of a result, of a bulk load or of a table-valued parameter; a RETURNVALUE.
    Column,
    /// A parameter of an RPC.
    Parameter,
}

/// Types of a fixed number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "variants are SQL Server's own types")]
pub enum Scalar {
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Bit,
    Real,
    Float,
    SmallMoney,
    Money,
    SmallDateTime,
    DateTime,
}

impl Scalar {
    /// Bytes of a value.
    #[must_use]
    pub fn bytes(self) -> u8 {
        match self {
            Scalar::TinyInt | Scalar::Bit => 1,
            Scalar::SmallInt => 2,
            Scalar::Int | Scalar::Real | Scalar::SmallMoney | Scalar::SmallDateTime => 4,
            Scalar::BigInt | Scalar::Float | Scalar::Money | Scalar::DateTime => 8,
        }
    }

    /// The code of the type that has no NULL.
    pub(crate) fn fixed_code(self) -> u8 {
        match self {
            Scalar::TinyInt => code::TINYINT,
            Scalar::SmallInt => code::SMALLINT,
            Scalar::Int => code::INT,
            Scalar::BigInt => code::BIGINT,
            Scalar::Bit => code::BIT,
            Scalar::Real => code::REAL,
            Scalar::Float => code::FLOAT,
            Scalar::SmallMoney => code::SMALLMONEY,
            Scalar::Money => code::MONEY,
            Scalar::SmallDateTime => code::SMALLDATETIME,
            Scalar::DateTime => code::DATETIME,
        }
    }

    /// The code of the type that has a NULL.
    pub(crate) fn nullable_code(self) -> u8 {
        match self {
            Scalar::TinyInt | Scalar::SmallInt | Scalar::Int | Scalar::BigInt => code::INTN,
            Scalar::Bit => code::BITN,
            Scalar::Real | Scalar::Float => code::FLTN,
            Scalar::SmallMoney | Scalar::Money => code::MONEYN,
            Scalar::SmallDateTime | Scalar::DateTime => code::DATETIMN,
        }
    }

    /// The type of a code without NULL.
    pub(crate) fn from_fixed(code: u8) -> Option<Scalar> {
        Scalar::ALL.into_iter().find(|scalar| scalar.fixed_code() == code)
    }

    /// The type of a code with NULL and its length.
    pub(crate) fn from_nullable(code: u8, bytes: usize) -> Option<Scalar> {
        let fits = |scalar: &Scalar| {
            scalar.nullable_code() == code && usize::from(scalar.bytes()) == bytes
        };
        Scalar::ALL.into_iter().find(fits)
    }

    /// Every scalar, integers first.
    pub const ALL: [Scalar; 11] = [
        Scalar::TinyInt,
        Scalar::SmallInt,
        Scalar::Int,
        Scalar::BigInt,
        Scalar::Bit,
        Scalar::Real,
        Scalar::Float,
        Scalar::SmallMoney,
        Scalar::Money,
        Scalar::SmallDateTime,
        Scalar::DateTime,
    ];

    fn name(self) -> &'static str {
        match self {
            Scalar::TinyInt => "tinyint",
            Scalar::SmallInt => "smallint",
            Scalar::Int => "int",
            Scalar::BigInt => "bigint",
            Scalar::Bit => "bit",
            Scalar::Real => "real",
            Scalar::Float => "float",
            Scalar::SmallMoney => "smallmoney",
            Scalar::Money => "money",
            Scalar::SmallDateTime => "smalldatetime",
            Scalar::DateTime => "datetime",
        }
    }
}

/// Names of the schema collection of typed XML.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct XmlSchema {
    /// Database of the collection.
    pub database: String,
    /// Schema that owns it.
    pub owner: String,
    /// Name of the collection.
    pub collection: String,
}

/// Names of a CLR type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UdtInfo {
    /// Largest value; `None` = up to 2 GiB. Parameters do not say it.
    pub len: Option<u16>,
    /// Database of the type.
    pub database: String,
    /// Schema of the type; `sys` for the built-in ones.
    pub schema: String,
    /// Name of the type.
    pub name: String,
    /// Assembly-qualified class name. Parameters do not say it.
    pub assembly: String,
}

/// Does sql_variant know the types of 7.3?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariantDates {
    /// date, time, datetime2 and datetimeoffset stand as they are.
    Native,
    /// They are sent as nvarchar: clients before 7.3.
    Text,
}

impl VariantDates {
    fn in_version(version: TdsVersion) -> VariantDates {
        if version.is_7_3_or_later() { VariantDates::Native } else { VariantDates::Text }
    }
}

/// A type on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "variants are SQL Server's own types, fields say what they are")]
pub enum TypeInfo {
    /// NULL without a type.
    Null,
    /// A type that has no NULL.
    Fixed(Scalar),
    /// INTN, BITN, FLTN, MONEYN, DATETIMN.
    Nullable(Scalar),
    Guid,
    Decimal {
        precision: u8,
        scale: u8,
    },
    Numeric {
        precision: u8,
        scale: u8,
    },
    Date,
    Time {
        scale: u8,
    },
    DateTime2 {
        scale: u8,
    },
    DateTimeOffset {
        scale: u8,
    },
    /// Lengths up to 255, without a collation: clients of old libraries.
    ShortChar {
        len: u8,
        collation: WireCollation,
    },
    ShortVarChar {
        len: u8,
        collation: WireCollation,
    },
    ShortBinary {
        len: u8,
    },
    ShortVarBinary {
        len: u8,
    },
    Char {
        len: u16,
        collation: WireCollation,
    },
    VarChar {
        len: Option<u16>,
        collation: WireCollation,
    },
    NChar {
        len: u16,
        collation: WireCollation,
    },
    NVarChar {
        len: Option<u16>,
        collation: WireCollation,
    },
    Binary {
        len: u16,
    },
    VarBinary {
        len: Option<u16>,
    },
    Text {
        len: u32,
        collation: WireCollation,
    },
    NText {
        len: u32,
        collation: WireCollation,
    },
    Image {
        len: u32,
    },
    Xml(Option<Box<XmlSchema>>),
    Udt(Box<UdtInfo>),
    Variant {
        len: u32,
        dates: VariantDates,
    },
}

impl TypeInfo {
    /// Name of the type, without length.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            TypeInfo::Null => "null",
            TypeInfo::Fixed(scalar) | TypeInfo::Nullable(scalar) => scalar.name(),
            TypeInfo::Guid => "uniqueidentifier",
            TypeInfo::Decimal { .. } => "decimal",
            TypeInfo::Numeric { .. } => "numeric",
            TypeInfo::Date => "date",
            TypeInfo::Time { .. } => "time",
            TypeInfo::DateTime2 { .. } => "datetime2",
            TypeInfo::DateTimeOffset { .. } => "datetimeoffset",
            TypeInfo::ShortChar { .. } | TypeInfo::Char { .. } => "char",
            TypeInfo::ShortVarChar { .. } | TypeInfo::VarChar { .. } => "varchar",
            TypeInfo::ShortBinary { .. } | TypeInfo::Binary { .. } => "binary",
            TypeInfo::ShortVarBinary { .. } | TypeInfo::VarBinary { .. } => "varbinary",
            TypeInfo::NChar { .. } => "nchar",
            TypeInfo::NVarChar { .. } => "nvarchar",
            TypeInfo::Text { .. } => "text",
            TypeInfo::NText { .. } => "ntext",
            TypeInfo::Image { .. } => "image",
            TypeInfo::Xml(_) => "xml",
            TypeInfo::Udt(_) => "udt",
            TypeInfo::Variant { .. } => "sql_variant",
        }
    }

    /// text, ntext, image: values have a text pointer in rows, and columns name their table.
    #[must_use]
    pub fn has_text_pointer(&self) -> bool {
        matches!(self, TypeInfo::Text { .. } | TypeInfo::NText { .. } | TypeInfo::Image { .. })
    }

    /// Are values sent in chunks (PLP)?
    #[must_use]
    pub fn is_plp(&self) -> bool {
        matches!(
            self,
            TypeInfo::VarChar { len: None, .. }
                | TypeInfo::NVarChar { len: None, .. }
                | TypeInfo::VarBinary { len: None }
                | TypeInfo::Xml(_)
                | TypeInfo::Udt(_)
        )
    }

    /// Are the bytes of a value those that a row stores, whatever they are? No for types whose
    /// bytes can be wrong, or lie otherwise in a message.
    #[must_use]
    pub fn is_as_stored(&self) -> bool {
        match self {
            TypeInfo::Fixed(scalar) | TypeInfo::Nullable(scalar) => {
                matches!(scalar, Scalar::Int | Scalar::BigInt)
            }
            TypeInfo::VarChar { len, .. }
            | TypeInfo::NVarChar { len, .. }
            | TypeInfo::VarBinary { len } => len.is_some(),
            _ => false,
        }
    }

    /// The collation of a character type.
    #[must_use]
    pub fn collation(&self) -> Option<WireCollation> {
        match *self {
            TypeInfo::ShortChar { collation, .. }
            | TypeInfo::ShortVarChar { collation, .. }
            | TypeInfo::Char { collation, .. }
            | TypeInfo::VarChar { collation, .. }
            | TypeInfo::NChar { collation, .. }
            | TypeInfo::NVarChar { collation, .. }
            | TypeInfo::Text { collation, .. }
            | TypeInfo::NText { collation, .. } => Some(collation),
            _ => None,
        }
    }
}

/// Bytes of a time by its scale.
pub(crate) fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

/// Bytes of a decimal by its precision: sign and magnitude.
pub(crate) fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

#[cfg(test)]
mod tests;
