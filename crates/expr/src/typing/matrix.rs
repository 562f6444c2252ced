//! Which conversions there are: the public table of CAST and CONVERT.

use extentdb_types::SqlType;

/// How a value of one type becomes one of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    /// By itself, where the other type is needed.
    Implicit,
    /// Where CAST or CONVERT asks for it.
    Explicit,
    /// Not at all.
    None,
}

/// Columns of the table: bin chr nch dt date time d2 dec float int money bit ts uid image ntext
/// text var xml.
const TABLE: [&[u8; 19]; 19] = [
    /* bin   */ b"IIIIEEEIXIIIIIIXXII",
    /* chr   */ b"EIIIIIIIIIIIEIIIIII",
    /* nch   */ b"EIIIIIIIIIIIXIXIIII",
    /* dt    */ b"EIIIIIIEEEEEEXXXXIX",
    /* date  */ b"EIIIIXIXXXXXXXXXXIX",
    /* time  */ b"EIIIXIIXXXXXXXXXXIX",
    /* d2    */ b"EIIIIIIXXXXXXXXXXIX",
    /* dec   */ b"IIIIXXXIIIIIIXXXXIX",
    /* float */ b"IIIIXXXIIIIIXXXXXIX",
    /* int   */ b"IIIIXXXIIIIIIXXXXIX",
    /* money */ b"IEEIXXXIIIIIIXXXXIX",
    /* bit   */ b"IIIIXXXIIIIIIXXXXIX",
    /* ts    */ b"IIXIXXXIXIIIIXIXXXX",
    /* uid   */ b"IIIXXXXXXXXXXIXXXIX",
    /* image */ b"IXXXXXXXXXXXIXIXXXX",
    /* ntext */ b"XEIXXXXXXXXXXXXIIXI",
    /* text  */ b"XIEXXXXXXXXXXXXIIXI",
    /* var   */ b"EEEEEEEEEEEEXEXXXIX",
    /* xml   */ b"EEEXXXXXXXXXXXXXXXI",
];

/// Place in the table; `None` for types of the user.
fn class(ty: &SqlType) -> Option<usize> {
    Some(match ty {
        SqlType::Binary { .. } | SqlType::VarBinary { .. } => 0,
        SqlType::Char { .. } | SqlType::VarChar { .. } => 1,
        SqlType::NChar { .. } | SqlType::NVarChar { .. } => 2,
        SqlType::DateTime | SqlType::SmallDateTime => 3,
        SqlType::Date => 4,
        SqlType::Time { .. } => 5,
        SqlType::DateTime2 { .. } | SqlType::DateTimeOffset { .. } => 6,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 7,
        SqlType::Float | SqlType::Real => 8,
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => 9,
        SqlType::Money | SqlType::SmallMoney => 10,
        SqlType::Bit => 11,
        SqlType::RowVersion => 12,
        SqlType::UniqueIdentifier => 13,
        SqlType::Image => 14,
        SqlType::NText { .. } => 15,
        SqlType::Text { .. } => 16,
        SqlType::SqlVariant => 17,
        SqlType::Xml => 18,
        SqlType::Udt { .. } => return None,
    })
}

/// How values of `from` become values of `to`.
pub(crate) fn conversion(from: &SqlType, to: &SqlType) -> Conversion {
    if from == to {
        return Conversion::Implicit;
    }
    let (Some(row), Some(column)) = (class(from), class(to)) else { return Conversion::None };
    match TABLE.get(row).and_then(|row| row.get(column)) {
        // A (max) type does not fit a sql_variant.
        Some(b'I') if *to == SqlType::SqlVariant && from.is_max() => Conversion::None,
        Some(b'I') => Conversion::Implicit,
        Some(b'E') => Conversion::Explicit,
        _ => Conversion::None,
    }
}

#[cfg(test)]
mod tests {
    use extentdb_types::Collation;

    use super::*;

    #[test]
    fn conversions_are_those_of_the_public_table() {
        let varchar = SqlType::VarChar {
            len: Some(10),
            collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
        };
        let time = SqlType::Time { scale: 7 };
        let cases = [
            (SqlType::Int, varchar, Conversion::Implicit),
            (SqlType::Money, varchar, Conversion::Explicit),
            (varchar, SqlType::VarBinary { len: Some(5) }, Conversion::Explicit),
            (varchar, SqlType::RowVersion, Conversion::Explicit),
            (SqlType::Int, SqlType::Date, Conversion::None),
            (SqlType::Date, SqlType::Int, Conversion::None),
            (time, SqlType::Date, Conversion::None),
            (SqlType::DateTime, SqlType::Int, Conversion::Explicit),
            (SqlType::Int, SqlType::DateTime, Conversion::Implicit),
            (SqlType::VarBinary { len: None }, SqlType::Float, Conversion::None),
            (SqlType::UniqueIdentifier, SqlType::Int, Conversion::None),
            (SqlType::SqlVariant, SqlType::Int, Conversion::Explicit),
            (SqlType::VarBinary { len: None }, SqlType::SqlVariant, Conversion::None),
            (SqlType::Xml, varchar, Conversion::Explicit),
        ];
        for (from, to, expected) in cases {
            assert_eq!(conversion(&from, &to), expected, "{from} to {to}");
        }
    }
}
