//! The SQL type of a parameter or bulk column, from its TYPE_INFO.

use extentdb_types::{Collation, SqlType};

use super::{Scalar, TypeInfo};
use crate::collation::WireCollation;

impl TypeInfo {
    /// The SQL type; `None` for a NULL without a type. `default` is the collation of texts whose
    /// own is not known here.
    #[must_use]
    pub fn to_sql_type(&self, default: Collation) -> Option<SqlType> {
        let collation = |wire: &WireCollation| wire.to_collation().unwrap_or(default);
        // char(0) and binary(0) do not exist; clients declare them for empty values.
        let fixed = |len: u16| len.max(1);
        let even = |len: u16| (len & !1).max(2);
        Some(match self {
            TypeInfo::Null => return None,
            TypeInfo::Fixed(scalar) | TypeInfo::Nullable(scalar) => scalar.to_sql_type(),
            TypeInfo::Guid => SqlType::UniqueIdentifier,
            TypeInfo::Decimal { precision, scale } => {
                SqlType::Decimal { precision: *precision, scale: *scale }
            }
            TypeInfo::Numeric { precision, scale } => {
                SqlType::Numeric { precision: *precision, scale: *scale }
            }
            TypeInfo::Date => SqlType::Date,
            TypeInfo::Time { scale } => SqlType::Time { scale: *scale },
            TypeInfo::DateTime2 { scale } => SqlType::DateTime2 { scale: *scale },
            TypeInfo::DateTimeOffset { scale } => SqlType::DateTimeOffset { scale: *scale },
            TypeInfo::ShortChar { len, collation: wire } => {
                SqlType::Char { len: fixed((*len).into()), collation: collation(wire) }
            }
            TypeInfo::ShortVarChar { len, collation: wire } => {
                SqlType::VarChar { len: Some(fixed((*len).into())), collation: collation(wire) }
            }
            TypeInfo::ShortBinary { len } => SqlType::Binary { len: fixed((*len).into()) },
            TypeInfo::ShortVarBinary { len } => {
                SqlType::VarBinary { len: Some(fixed((*len).into())) }
            }
            TypeInfo::Char { len, collation: wire } => {
                SqlType::Char { len: fixed(*len), collation: collation(wire) }
            }
            TypeInfo::VarChar { len, collation: wire } => {
                SqlType::VarChar { len: len.map(fixed), collation: collation(wire) }
            }
            TypeInfo::NChar { len, collation: wire } => {
                SqlType::NChar { len: even(*len), collation: collation(wire) }
            }
            TypeInfo::NVarChar { len, collation: wire } => {
                SqlType::NVarChar { len: len.map(even), collation: collation(wire) }
            }
            TypeInfo::Binary { len } => SqlType::Binary { len: fixed(*len) },
            TypeInfo::VarBinary { len } => SqlType::VarBinary { len: len.map(fixed) },
            TypeInfo::Text { collation: wire, .. } => SqlType::Text { collation: collation(wire) },
            TypeInfo::NText { collation: wire, .. } => {
                SqlType::NText { collation: collation(wire) }
            }
            TypeInfo::Image { .. } => SqlType::Image,
            TypeInfo::Xml(_) => SqlType::Xml,
            TypeInfo::Udt(info) => SqlType::Udt { len: info.len, kind: info.kind() },
            TypeInfo::Variant { .. } => SqlType::SqlVariant,
        })
    }
}

impl Scalar {
    /// The SQL type.
    #[must_use]
    pub fn to_sql_type(self) -> SqlType {
        match self {
            Scalar::TinyInt => SqlType::TinyInt,
            Scalar::SmallInt => SqlType::SmallInt,
            Scalar::Int => SqlType::Int,
            Scalar::BigInt => SqlType::BigInt,
            Scalar::Bit => SqlType::Bit,
            Scalar::Real => SqlType::Real,
            Scalar::Float => SqlType::Float,
            Scalar::SmallMoney => SqlType::SmallMoney,
            Scalar::Money => SqlType::Money,
            Scalar::SmallDateTime => SqlType::SmallDateTime,
            Scalar::DateTime => SqlType::DateTime,
        }
    }
}
