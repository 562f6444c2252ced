//! TYPE_INFO of a column, from its SQL type.

use extentdb_types::{SqlType, UdtKind};

use super::{Scalar, TypeInfo, UdtInfo, VARIANT_BYTES, VariantDates, down_level};
use crate::collation::WireCollation;
use crate::protocol::Protocol;

/// Largest length of text, ntext and image, as servers announce it.
const TEXT_BYTES: u32 = 0x7FFF_FFFF;
const NTEXT_BYTES: u32 = 0x7FFF_FFFE;

/// Can a column hold NULL?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nullability {
    /// No.
    NotNull,
    /// Yes, or it is not known.
    Nullable,
}

impl TypeInfo {
    /// The type that a client sees for a column of type `ty`.
    #[must_use]
    pub fn of(ty: SqlType, nullability: Nullability, protocol: &Protocol) -> TypeInfo {
        let version = protocol.version();
        let scalar = |scalar| match nullability {
            Nullability::NotNull => TypeInfo::Fixed(scalar),
            Nullability::Nullable => TypeInfo::Nullable(scalar),
        };
        let wire = WireCollation::of;
        match down_level::replaced(ty, version, protocol.collation()) {
            SqlType::Bit => scalar(Scalar::Bit),
            SqlType::TinyInt => scalar(Scalar::TinyInt),
            SqlType::SmallInt => scalar(Scalar::SmallInt),
            SqlType::Int => scalar(Scalar::Int),
            SqlType::BigInt => scalar(Scalar::BigInt),
            SqlType::Real => scalar(Scalar::Real),
            SqlType::Float => scalar(Scalar::Float),
            SqlType::Money => scalar(Scalar::Money),
            SqlType::SmallMoney => scalar(Scalar::SmallMoney),
            SqlType::DateTime => scalar(Scalar::DateTime),
            SqlType::SmallDateTime => scalar(Scalar::SmallDateTime),
            SqlType::Decimal { precision, scale } => TypeInfo::Decimal { precision, scale },
            SqlType::Numeric { precision, scale } => TypeInfo::Numeric { precision, scale },
            SqlType::Date => TypeInfo::Date,
            SqlType::Time { scale } => TypeInfo::Time { scale },
            SqlType::DateTime2 { scale } => TypeInfo::DateTime2 { scale },
            SqlType::DateTimeOffset { scale } => TypeInfo::DateTimeOffset { scale },
            SqlType::Char { len, collation } => TypeInfo::Char { len, collation: wire(collation) },
            SqlType::VarChar { len, collation } => {
                TypeInfo::VarChar { len, collation: wire(collation) }
            }
            SqlType::Text { collation } => {
                TypeInfo::Text { len: TEXT_BYTES, collation: wire(collation) }
            }
            SqlType::NChar { len, collation } => {
                TypeInfo::NChar { len, collation: wire(collation) }
            }
            SqlType::NVarChar { len, collation } => {
                TypeInfo::NVarChar { len, collation: wire(collation) }
            }
            SqlType::NText { collation } => {
                TypeInfo::NText { len: NTEXT_BYTES, collation: wire(collation) }
            }
            SqlType::Binary { len } => TypeInfo::Binary { len },
            SqlType::VarBinary { len } => TypeInfo::VarBinary { len },
            SqlType::Image => TypeInfo::Image { len: TEXT_BYTES },
            SqlType::RowVersion => TypeInfo::Binary { len: 8 },
            SqlType::UniqueIdentifier => TypeInfo::Guid,
            SqlType::SqlVariant => {
                let dates = VariantDates::in_version(version);
                TypeInfo::Variant { len: VARIANT_BYTES, dates }
            }
            SqlType::Xml => TypeInfo::Xml(None),
            SqlType::Udt { len, kind } => TypeInfo::Udt(Box::new(UdtInfo::of(kind, len))),
        }
    }
}

impl UdtInfo {
    /// The names of a built-in CLR type; a type that is not built in has none here.
    #[must_use]
    pub fn of(kind: UdtKind, len: Option<u16>) -> UdtInfo {
        let class = match kind {
            UdtKind::HierarchyId => "SqlHierarchyId",
            UdtKind::Geometry => "SqlGeometry",
            UdtKind::Geography => "SqlGeography",
            UdtKind::Other => "",
        };
        let assembly = if class.is_empty() {
            String::new()
        } else {
            format!(
                "Microsoft.SqlServer.Types.{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, \
                 Culture=neutral, PublicKeyToken=89845dcd8080cc91"
            )
        };
        UdtInfo {
            len,
            database: String::new(),
            schema: "sys".to_owned(),
            name: kind.name().to_owned(),
            assembly,
        }
    }

    /// Which built-in type this is.
    #[must_use]
    pub fn kind(&self) -> UdtKind {
        [UdtKind::HierarchyId, UdtKind::Geometry, UdtKind::Geography]
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(&self.name))
            .unwrap_or(UdtKind::Other)
    }
}
