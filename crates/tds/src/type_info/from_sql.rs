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
        let ty = down_level::replaced(ty, version, protocol.collation());
        if let Some(scalar) = scalar_of(ty) {
            return match nullability {
                Nullability::NotNull => TypeInfo::Fixed(scalar),
                Nullability::Nullable => TypeInfo::Nullable(scalar),
            };
        }
        match ty {
            SqlType::Numeric { precision, scale } => TypeInfo::Numeric { precision, scale },
            SqlType::Date => TypeInfo::Date,
            SqlType::Time { scale } => TypeInfo::Time { scale },
            SqlType::DateTime2 { scale } => TypeInfo::DateTime2 { scale },
            SqlType::DateTimeOffset { scale } => TypeInfo::DateTimeOffset { scale },
            SqlType::Binary { len } => TypeInfo::Binary { len },
            SqlType::VarBinary { len } => TypeInfo::VarBinary { len },
            SqlType::RowVersion => TypeInfo::Binary { len: 8 },
            SqlType::Image => TypeInfo::Image { len: TEXT_BYTES },
            SqlType::UniqueIdentifier => TypeInfo::Guid,
            SqlType::Xml => TypeInfo::Xml(None),
            SqlType::Udt { len, kind } => TypeInfo::Udt(Box::new(UdtInfo::of(kind, len))),
            SqlType::SqlVariant if version.is_7_3_or_later() => {
                TypeInfo::Variant { len: VARIANT_BYTES, dates: VariantDates::Native }
            }
            SqlType::SqlVariant => {
                TypeInfo::Variant { len: VARIANT_BYTES, dates: VariantDates::Text }
            }
            SqlType::Decimal { precision, scale } => TypeInfo::Decimal { precision, scale },
            _ => text_of(ty),
        }
    }
}

fn text_of(ty: SqlType) -> TypeInfo {
    let collation = ty.collation().map_or(WireCollation::UNSPECIFIED, WireCollation::of);
    match ty {
        SqlType::Char { len, .. } => TypeInfo::Char { len, collation },
        SqlType::VarChar { len, .. } => TypeInfo::VarChar { len, collation },
        SqlType::NChar { len, .. } => TypeInfo::NChar { len, collation },
        SqlType::NVarChar { len, .. } => TypeInfo::NVarChar { len, collation },
        SqlType::Text { .. } => TypeInfo::Text { len: TEXT_BYTES, collation },
        SqlType::NText { .. } => TypeInfo::NText { len: NTEXT_BYTES, collation },
        // All other types were matched by the caller.
        _ => TypeInfo::Null,
    }
}

fn scalar_of(ty: SqlType) -> Option<Scalar> {
    Some(match ty {
        SqlType::Bit => Scalar::Bit,
        SqlType::TinyInt => Scalar::TinyInt,
        SqlType::SmallInt => Scalar::SmallInt,
        SqlType::Int => Scalar::Int,
        SqlType::BigInt => Scalar::BigInt,
        SqlType::Real => Scalar::Real,
        SqlType::Float => Scalar::Float,
        SqlType::Money => Scalar::Money,
        SqlType::SmallMoney => Scalar::SmallMoney,
        SqlType::DateTime => Scalar::DateTime,
        SqlType::SmallDateTime => Scalar::SmallDateTime,
        _ => return None,
    })
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
