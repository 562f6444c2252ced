//! SQL types as columns declare them, and their two packed forms in the catalog.
//!
//! ```text
//! sysrscols.ti   byte 0   xtype (type code)
//!                byte 1   precision of decimal, scale of time/datetime2/datetimeoffset
//!                byte 1-2 length in bytes of character and binary types, 0 = (max)
//!                byte 2   scale of decimal
//! sysrscols.cid  collation id of character types, 0 otherwise
//! syscolpars     xtype, utype, length (bytes, -1 = max), prec, scale, collationid
//! ```
//!
//! Invariants
//! - Lengths are bytes everywhere, also for nchar and nvarchar; only [`Display`](std::fmt::Display)
//!   speaks of characters.
//! - `from_physical(to_physical(t)) == t`, except that a UDT comes back as [`UdtKind::Other`]: the
//!   physical form does not name it.

use std::fmt;

use crate::collation::Collation;

/// Type codes (`xtype`), as the catalog and sql_variant write them.
pub mod xtype {
    #![allow(missing_docs, reason = "each constant is the type it names")]
    pub const IMAGE: u8 = 34;
    pub const TEXT: u8 = 35;
    pub const UNIQUEIDENTIFIER: u8 = 36;
    pub const DATE: u8 = 40;
    pub const TIME: u8 = 41;
    pub const DATETIME2: u8 = 42;
    pub const DATETIMEOFFSET: u8 = 43;
    pub const TINYINT: u8 = 48;
    pub const SMALLINT: u8 = 52;
    pub const INT: u8 = 56;
    pub const SMALLDATETIME: u8 = 58;
    pub const REAL: u8 = 59;
    pub const MONEY: u8 = 60;
    pub const DATETIME: u8 = 61;
    pub const FLOAT: u8 = 62;
    pub const SQL_VARIANT: u8 = 98;
    pub const NTEXT: u8 = 99;
    pub const BIT: u8 = 104;
    pub const DECIMAL: u8 = 106;
    pub const NUMERIC: u8 = 108;
    pub const SMALLMONEY: u8 = 122;
    pub const BIGINT: u8 = 127;
    pub const VARBINARY: u8 = 165;
    pub const VARCHAR: u8 = 167;
    pub const BINARY: u8 = 173;
    pub const CHAR: u8 = 175;
    pub const TIMESTAMP: u8 = 189;
    pub const NVARCHAR: u8 = 231;
    pub const NCHAR: u8 = 239;
    pub const UDT: u8 = 240;
    pub const XML: u8 = 241;
}

/// Which CLR type a UDT column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UdtKind {
    /// Type id 128.
    HierarchyId,
    /// Type id 129.
    Geometry,
    /// Type id 130.
    Geography,
    /// Any other CLR type, or one not named by the structure at hand.
    Other,
}

impl UdtKind {
    /// The kind by `syscolpars.utype`.
    #[must_use]
    pub fn from_utype(utype: i32) -> UdtKind {
        match utype {
            128 => UdtKind::HierarchyId,
            129 => UdtKind::Geometry,
            130 => UdtKind::Geography,
            _ => UdtKind::Other,
        }
    }

    /// Lower-case type name; `udt` for [`UdtKind::Other`].
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            UdtKind::HierarchyId => "hierarchyid",
            UdtKind::Geometry => "geometry",
            UdtKind::Geography => "geography",
            UdtKind::Other => "udt",
        }
    }
}

/// The type of a column. Lengths are bytes; `None` is `(max)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "variants are SQL Server's own types, fields say what they are")]
pub enum SqlType {
    Bit,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    Decimal { precision: u8, scale: u8 },
    Numeric { precision: u8, scale: u8 },
    Money,
    SmallMoney,
    Float,
    Real,
    DateTime,
    SmallDateTime,
    Date,
    Time { scale: u8 },
    DateTime2 { scale: u8 },
    DateTimeOffset { scale: u8 },
    Char { len: u16, collation: Collation },
    VarChar { len: Option<u16>, collation: Collation },
    Text { collation: Collation },
    NChar { len: u16, collation: Collation },
    NVarChar { len: Option<u16>, collation: Collation },
    NText { collation: Collation },
    Binary { len: u16 },
    VarBinary { len: Option<u16> },
    Image,
    RowVersion,
    UniqueIdentifier,
    SqlVariant,
    Xml,
    Udt { len: Option<u16>, kind: UdtKind },
}

impl SqlType {
    /// The type behind `sysrscols.ti` and `cid`; `None` when the code is unknown or its parameters
    /// are impossible.
    #[must_use]
    pub fn from_physical(ti: u32, collation_id: u32) -> Option<SqlType> {
        let [code, b1, b2, _] = ti.to_le_bytes();
        let len = u16::from_le_bytes([b1, b2]);
        TypeParameters {
            code,
            utype: 0,
            len: (len != 0).then_some(len),
            precision: b1,
            scale: b2,
            collation_id,
        }
        .build(if is_scaled_time(code) { b1 } else { b2 })
    }

    /// The type behind a row of `syscolpars` or `sysscalartypes`; `None` as for
    /// [`SqlType::from_physical`].
    #[must_use]
    pub fn from_column(
        xtype: u8,
        utype: i32,
        length: i16,
        prec: u8,
        scale: u8,
        collation_id: u32,
    ) -> Option<SqlType> {
        let len = match length {
            -1 => None,
            other => Some(u16::try_from(other).ok()?),
        };
        TypeParameters {
            code: xtype,
            utype,
            len,
            precision: prec,
            scale,
            collation_id,
        }
        .build(scale)
    }

    /// The type code.
    #[must_use]
    pub fn xtype(&self) -> u8 {
        match self {
            SqlType::Bit => xtype::BIT,
            SqlType::TinyInt => xtype::TINYINT,
            SqlType::SmallInt => xtype::SMALLINT,
            SqlType::Int => xtype::INT,
            SqlType::BigInt => xtype::BIGINT,
            SqlType::Decimal { .. } => xtype::DECIMAL,
            SqlType::Numeric { .. } => xtype::NUMERIC,
            SqlType::Money => xtype::MONEY,
            SqlType::SmallMoney => xtype::SMALLMONEY,
            SqlType::Float => xtype::FLOAT,
            SqlType::Real => xtype::REAL,
            SqlType::DateTime => xtype::DATETIME,
            SqlType::SmallDateTime => xtype::SMALLDATETIME,
            SqlType::Date => xtype::DATE,
            SqlType::Time { .. } => xtype::TIME,
            SqlType::DateTime2 { .. } => xtype::DATETIME2,
            SqlType::DateTimeOffset { .. } => xtype::DATETIMEOFFSET,
            SqlType::Char { .. } => xtype::CHAR,
            SqlType::VarChar { .. } => xtype::VARCHAR,
            SqlType::Text { .. } => xtype::TEXT,
            SqlType::NChar { .. } => xtype::NCHAR,
            SqlType::NVarChar { .. } => xtype::NVARCHAR,
            SqlType::NText { .. } => xtype::NTEXT,
            SqlType::Binary { .. } => xtype::BINARY,
            SqlType::VarBinary { .. } => xtype::VARBINARY,
            SqlType::Image => xtype::IMAGE,
            SqlType::RowVersion => xtype::TIMESTAMP,
            SqlType::UniqueIdentifier => xtype::UNIQUEIDENTIFIER,
            SqlType::SqlVariant => xtype::SQL_VARIANT,
            SqlType::Xml => xtype::XML,
            SqlType::Udt { .. } => xtype::UDT,
        }
    }

    /// `(ti, cid)` as `sysrscols` stores them.
    #[must_use]
    pub fn to_physical(&self) -> (u32, u32) {
        let parameters = match *self {
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                u16::from_le_bytes([precision, scale])
            }
            SqlType::Time { scale }
            | SqlType::DateTime2 { scale }
            | SqlType::DateTimeOffset { scale } => u16::from(scale),
            SqlType::Char { len, .. } | SqlType::NChar { len, .. } | SqlType::Binary { len } => len,
            SqlType::VarChar { len, .. }
            | SqlType::NVarChar { len, .. }
            | SqlType::VarBinary { len }
            | SqlType::Udt { len, .. } => len.unwrap_or(0),
            _ => 0,
        };
        let ti = u32::from(self.xtype()) | u32::from(parameters) << 8;
        (ti, self.collation().map_or(0, |collation| collation.0))
    }

    /// Bytes taken in the fixed part of a row; `None` for variable-length types and for bit, which
    /// shares bytes.
    #[must_use]
    pub fn fixed_bytes(&self) -> Option<usize> {
        match *self {
            SqlType::TinyInt => Some(1),
            SqlType::SmallInt => Some(2),
            SqlType::Date => Some(3),
            SqlType::Int | SqlType::Real | SqlType::SmallMoney | SqlType::SmallDateTime => Some(4),
            SqlType::BigInt
            | SqlType::Float
            | SqlType::Money
            | SqlType::DateTime
            | SqlType::RowVersion => Some(8),
            SqlType::UniqueIdentifier => Some(16),
            SqlType::Decimal { precision, .. } | SqlType::Numeric { precision, .. } => {
                Some(decimal_bytes(precision))
            }
            SqlType::Time { scale } => Some(time_bytes(scale)),
            SqlType::DateTime2 { scale } => Some(time_bytes(scale) + 3),
            SqlType::DateTimeOffset { scale } => Some(time_bytes(scale) + 5),
            SqlType::Char { len, .. } | SqlType::NChar { len, .. } | SqlType::Binary { len } => {
                Some(usize::from(len))
            }
            _ => None,
        }
    }

    /// Is this bit, which takes one bit of a shared byte?
    #[must_use]
    pub fn is_bit(&self) -> bool {
        matches!(self, SqlType::Bit)
    }

    /// text, ntext or image: the row holds a text pointer.
    #[must_use]
    pub fn is_lob(&self) -> bool {
        matches!(self, SqlType::Text { .. } | SqlType::NText { .. } | SqlType::Image)
    }

    /// `(max)`, xml or a large UDT: the value may be in the row or in LOB pages.
    #[must_use]
    pub fn is_max(&self) -> bool {
        matches!(
            self,
            SqlType::VarChar { len: None, .. }
                | SqlType::NVarChar { len: None, .. }
                | SqlType::VarBinary { len: None }
                | SqlType::Xml
                | SqlType::Udt { len: None, .. }
        )
    }

    /// True for types whose values may lie under a 16-byte text pointer: text, ntext and image
    /// always, (max) types in tables with the option "large value types out of row".
    #[must_use]
    pub fn may_have_text_pointer(&self) -> bool {
        self.is_lob() || self.is_max()
    }

    /// Largest number of bytes a value may have; `None` where only 2 GiB limits it.
    #[must_use]
    pub fn max_bytes(&self) -> Option<usize> {
        match *self {
            SqlType::VarChar { len, .. }
            | SqlType::NVarChar { len, .. }
            | SqlType::VarBinary { len }
            | SqlType::Udt { len, .. } => len.map(usize::from),
            SqlType::SqlVariant => Some(crate::variant::MAX_BYTES),
            SqlType::Bit => Some(1),
            _ => self.fixed_bytes(),
        }
    }

    /// The collation of a character type.
    #[must_use]
    pub fn collation(&self) -> Option<Collation> {
        match *self {
            SqlType::Char { collation, .. }
            | SqlType::VarChar { collation, .. }
            | SqlType::Text { collation }
            | SqlType::NChar { collation, .. }
            | SqlType::NVarChar { collation, .. }
            | SqlType::NText { collation } => Some(collation),
            _ => None,
        }
    }

    /// The type's name without length, precision or scale, as `SQL_VARIANT_PROPERTY(…, 'BaseType')`
    /// gives it.
    #[must_use]
    pub fn base_name(&self) -> &'static str {
        match self {
            SqlType::Bit => "bit",
            SqlType::TinyInt => "tinyint",
            SqlType::SmallInt => "smallint",
            SqlType::Int => "int",
            SqlType::BigInt => "bigint",
            SqlType::Decimal { .. } => "decimal",
            SqlType::Numeric { .. } => "numeric",
            SqlType::Money => "money",
            SqlType::SmallMoney => "smallmoney",
            SqlType::Float => "float",
            SqlType::Real => "real",
            SqlType::DateTime => "datetime",
            SqlType::SmallDateTime => "smalldatetime",
            SqlType::Date => "date",
            SqlType::Time { .. } => "time",
            SqlType::DateTime2 { .. } => "datetime2",
            SqlType::DateTimeOffset { .. } => "datetimeoffset",
            SqlType::Char { .. } => "char",
            SqlType::VarChar { .. } => "varchar",
            SqlType::Text { .. } => "text",
            SqlType::NChar { .. } => "nchar",
            SqlType::NVarChar { .. } => "nvarchar",
            SqlType::NText { .. } => "ntext",
            SqlType::Binary { .. } => "binary",
            SqlType::VarBinary { .. } => "varbinary",
            SqlType::Image => "image",
            SqlType::RowVersion => "rowversion",
            SqlType::UniqueIdentifier => "uniqueidentifier",
            SqlType::SqlVariant => "sql_variant",
            SqlType::Xml => "xml",
            SqlType::Udt { kind, .. } => kind.name(),
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base_name())?;
        match *self {
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                write!(f, "({precision},{scale})")
            }
            SqlType::Time { scale }
            | SqlType::DateTime2 { scale }
            | SqlType::DateTimeOffset { scale } => {
                write!(f, "({scale})")
            }
            SqlType::Char { len, .. } | SqlType::Binary { len } => write!(f, "({len})"),
            SqlType::NChar { len, .. } => write!(f, "({})", len / 2),
            SqlType::VarChar { len: Some(len), .. } | SqlType::VarBinary { len: Some(len) } => {
                write!(f, "({len})")
            }
            SqlType::NVarChar { len: Some(len), .. } => write!(f, "({})", len / 2),
            SqlType::VarChar { len: None, .. }
            | SqlType::NVarChar { len: None, .. }
            | SqlType::VarBinary { len: None } => f.write_str("(max)"),
            _ => Ok(()),
        }
    }
}

/// Bytes of a decimal by precision: sign and 4, 8, 12 or 16 bytes of magnitude.
pub(crate) fn decimal_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes of a time by scale.
pub(crate) fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn is_scaled_time(code: u8) -> bool {
    matches!(code, xtype::TIME | xtype::DATETIME2 | xtype::DATETIMEOFFSET)
}

/// The parameters of a type before they are checked.
struct TypeParameters {
    code: u8,
    utype: i32,
    /// `None` = (max).
    len: Option<u16>,
    precision: u8,
    scale: u8,
    collation_id: u32,
}

impl TypeParameters {
    fn build(self, time_scale: u8) -> Option<SqlType> {
        let TypeParameters { code, len, precision, scale, .. } = self;
        let collation = Collation(self.collation_id);
        let is_time_scale = time_scale <= 7;
        let is_decimal = (1..=38).contains(&precision) && scale <= precision;
        let fixed_len = len.filter(|&len| len > 0);
        let fixed_even = fixed_len.filter(|len| len % 2 == 0);
        let has_even_len = len.is_none_or(|len| len % 2 == 0);
        match code {
            xtype::BIT => Some(SqlType::Bit),
            xtype::TINYINT => Some(SqlType::TinyInt),
            xtype::SMALLINT => Some(SqlType::SmallInt),
            xtype::INT => Some(SqlType::Int),
            xtype::BIGINT => Some(SqlType::BigInt),
            xtype::DECIMAL => is_decimal.then_some(SqlType::Decimal { precision, scale }),
            xtype::NUMERIC => is_decimal.then_some(SqlType::Numeric { precision, scale }),
            xtype::MONEY => Some(SqlType::Money),
            xtype::SMALLMONEY => Some(SqlType::SmallMoney),
            xtype::FLOAT => Some(SqlType::Float),
            xtype::REAL => Some(SqlType::Real),
            xtype::DATETIME => Some(SqlType::DateTime),
            xtype::SMALLDATETIME => Some(SqlType::SmallDateTime),
            xtype::DATE => Some(SqlType::Date),
            xtype::TIME => is_time_scale.then_some(SqlType::Time { scale: time_scale }),
            xtype::DATETIME2 => is_time_scale.then_some(SqlType::DateTime2 { scale: time_scale }),
            xtype::DATETIMEOFFSET => {
                is_time_scale.then_some(SqlType::DateTimeOffset { scale: time_scale })
            }
            xtype::CHAR => fixed_len.map(|len| SqlType::Char { len, collation }),
            xtype::VARCHAR => Some(SqlType::VarChar { len, collation }),
            xtype::TEXT => Some(SqlType::Text { collation }),
            xtype::NCHAR => fixed_even.map(|len| SqlType::NChar { len, collation }),
            xtype::NVARCHAR => has_even_len.then_some(SqlType::NVarChar { len, collation }),
            xtype::NTEXT => Some(SqlType::NText { collation }),
            xtype::BINARY => fixed_len.map(|len| SqlType::Binary { len }),
            xtype::VARBINARY => Some(SqlType::VarBinary { len }),
            xtype::IMAGE => Some(SqlType::Image),
            xtype::TIMESTAMP => Some(SqlType::RowVersion),
            xtype::UNIQUEIDENTIFIER => Some(SqlType::UniqueIdentifier),
            xtype::SQL_VARIANT => Some(SqlType::SqlVariant),
            xtype::XML => Some(SqlType::Xml),
            xtype::UDT => Some(SqlType::Udt { len, kind: UdtKind::from_utype(self.utype) }),
            _ => None,
        }
    }
}
