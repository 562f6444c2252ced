//! Length, precision and scale of a type, as `sys.columns` and `sys.types` show them.
//!
//! ```text
//! max_length   bytes; -1 for (max), xml and large CLR types; 16 for text, ntext, image
//! precision    digits of numbers, characters of dates and times, 0 of others
//! scale        digits after the point
//! ```

use extentdb_engine::model::{CatalogModel, Column};
use extentdb_types::{SqlType, UdtKind};

/// Length, precision and scale.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Facets {
    pub(crate) max_length: i16,
    pub(crate) precision: u8,
    pub(crate) scale: u8,
}

/// Bytes of a text pointer.
const TEXT_POINTER: i16 = 16;
/// Id of sysname.
pub(crate) const SYSNAME: i32 = 256;

impl Facets {
    /// Those of a type.
    pub(crate) fn of(ty: &SqlType) -> Facets {
        let (precision, scale) = digits(ty);
        Facets { max_length: max_length(ty), precision, scale }
    }

    /// Those of a column; zeros where its type is not known.
    pub(crate) fn of_column(column: &Column) -> Facets {
        column.ty.as_ref().map(Facets::of).unwrap_or_default()
    }
}

fn max_length(ty: &SqlType) -> i16 {
    match ty {
        _ if ty.is_lob() => TEXT_POINTER,
        _ if ty.is_max() => -1,
        _ => ty.max_bytes().and_then(|bytes| i16::try_from(bytes).ok()).unwrap_or(-1),
    }
}

/// Precision and scale: digits of numbers, characters of times, 0 of others.
pub fn digits(ty: &SqlType) -> (u8, u8) {
    // The point, and the digits after it.
    let fraction = |scale: u8| if scale == 0 { 0 } else { scale + 1 };
    match *ty {
        SqlType::Bit => (1, 0),
        SqlType::TinyInt => (3, 0),
        SqlType::SmallInt => (5, 0),
        SqlType::Int => (10, 0),
        SqlType::BigInt => (19, 0),
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            (precision, scale)
        }
        SqlType::Money => (19, 4),
        SqlType::SmallMoney => (10, 4),
        SqlType::Float => (53, 0),
        SqlType::Real => (24, 0),
        SqlType::DateTime => (23, 3),
        SqlType::SmallDateTime => (16, 0),
        SqlType::Date => (10, 0),
        SqlType::Time { scale } => (8 + fraction(scale), scale),
        SqlType::DateTime2 { scale } => (19 + fraction(scale), scale),
        SqlType::DateTimeOffset { scale } => (26 + fraction(scale), scale),
        _ => (0, 0),
    }
}

/// `user_type_id`: of an alias type its own, of a system type that of `sys.types`.
pub(crate) fn user_type_id(column: &Column, model: &CatalogModel) -> i32 {
    let alias = column.user_type.as_deref().and_then(|name| alias_id(name, model));
    alias.unwrap_or_else(|| match column.ty {
        Some(SqlType::Udt { kind: UdtKind::HierarchyId, .. }) => 128,
        Some(SqlType::Udt { kind: UdtKind::Geometry, .. }) => 129,
        Some(SqlType::Udt { kind: UdtKind::Geography, .. }) => 130,
        _ => column.xtype.into(),
    })
}

fn alias_id(name: &str, model: &CatalogModel) -> Option<i32> {
    let Some((schema, name)) = name.split_once('.') else {
        return (name == "sysname").then_some(SYSNAME);
    };
    let schema = model.schema(schema)?.id;
    model.scalar_type_named(schema, name).map(|ty| ty.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_types::Collation;

    #[test]
    fn facets_are_those_of_the_product() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let cases = [
            (SqlType::Int, (4, 10, 0)),
            (SqlType::Bit, (1, 1, 0)),
            (SqlType::Decimal { precision: 9, scale: 2 }, (5, 9, 2)),
            (SqlType::Decimal { precision: 38, scale: 38 }, (17, 38, 38)),
            (SqlType::Time { scale: 7 }, (5, 16, 7)),
            (SqlType::Time { scale: 0 }, (3, 8, 0)),
            (SqlType::DateTime2 { scale: 7 }, (8, 27, 7)),
            (SqlType::DateTimeOffset { scale: 7 }, (10, 34, 7)),
            (SqlType::NVarChar { len: Some(100), collation }, (100, 0, 0)),
            (SqlType::NVarChar { len: None, collation }, (-1, 0, 0)),
            (SqlType::Text { collation }, (16, 0, 0)),
            (SqlType::SqlVariant, (8016, 0, 0)),
            (SqlType::Xml, (-1, 0, 0)),
            (SqlType::RowVersion, (8, 0, 0)),
        ];
        for (ty, (max_length, precision, scale)) in cases {
            assert_eq!(Facets::of(&ty), Facets { max_length, precision, scale }, "{ty}");
        }
    }
}
