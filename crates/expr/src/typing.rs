//! Types of expressions: precedence, common types, and the precision of decimals.
//!
//! ```text
//! result of        precision                                  scale             (public table)
//! e1 + e2, e1 - e2 max(s1, s2) + max(p1-s1, p2-s2) + 1        max(s1, s2)
//! e1 * e2          p1 + p2 + 1                                s1 + s2
//! e1 / e2          p1 - s1 + s2 + max(6, s1 + p2 + 1)         max(6, s1 + p2 + 1)
//! e1 % e2          min(p1-s1, p2-s2) + max(s1, s2)            max(s1, s2)
//! CASE, ISNULL …   max(s1, s2) + max(p1-s1, p2-s2)            max(s1, s2)
//! ```
//!
//! Beyond 38 digits the scale is reduced: in products and quotients down to 6, in sums as far as
//! the whole part needs.

pub(crate) use extentdb_kernel::type_facts::{
    bytes_len, characters, digits, is_binary, is_clock, is_decimal, is_float, is_integer, is_money,
    is_number, is_opaque, is_padded, is_temporal, is_text, is_wide_text, kind, range,
};
use extentdb_kernel::wide::MAX_PRECISION;
use extentdb_types::{Collation, SqlType};

use crate::syntax::{Infix, TypeName};

mod common_type;
mod matrix;

pub(crate) use common_type::common_of_statement;
pub(crate) use matrix::{Conversion, conversion};

/// Bytes that a character or binary value may have when it is not `(max)`.
pub(crate) const MAX_BYTES: u16 = 8_000;

/// Rank in data type precedence, highest first.
pub(crate) fn rank(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Udt { .. } => 0,
        SqlType::SqlVariant => 1,
        SqlType::Xml => 2,
        SqlType::DateTimeOffset { .. } => 3,
        SqlType::DateTime2 { .. } => 4,
        SqlType::DateTime => 5,
        SqlType::SmallDateTime => 6,
        SqlType::Date => 7,
        SqlType::Time { .. } => 8,
        SqlType::Float => 9,
        SqlType::Real => 10,
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 11,
        SqlType::Money => 12,
        SqlType::SmallMoney => 13,
        SqlType::BigInt => 14,
        SqlType::Int => 15,
        SqlType::SmallInt => 16,
        SqlType::TinyInt => 17,
        SqlType::Bit => 18,
        SqlType::NText { .. } => 19,
        SqlType::Text { .. } => 20,
        SqlType::Image => 21,
        SqlType::RowVersion => 22,
        SqlType::UniqueIdentifier => 23,
        SqlType::NVarChar { .. } => 24,
        SqlType::NChar { .. } => 25,
        SqlType::VarChar { .. } => 26,
        SqlType::Char { .. } => 27,
        SqlType::VarBinary { .. } => 28,
        SqlType::Binary { .. } => 29,
    }
}

/// The type both values of a CASE, COALESCE or comparison are brought to; `None` when it is not
/// certain. The collation of texts is that of `a`: the caller settles it by the labels.
pub(crate) fn common(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    if is_text(a) && is_text(b) {
        return common_text(a, b);
    }
    if is_binary(a) && is_binary(b) {
        return common_binary(a, b);
    }
    let (higher, lower) = if rank(a) <= rank(b) { (*a, *b) } else { (*b, *a) };
    match (&higher, &lower) {
        (SqlType::Decimal { .. } | SqlType::Numeric { .. }, _) if digits(&lower).is_some() => {
            let (p1, s1) = digits(&higher)?;
            let (p2, s2) = digits(&lower)?;
            let scale = s1.max(s2);
            let precision = (p1 - s1).max(p2 - s2) + scale;
            (precision <= MAX_PRECISION).then_some(SqlType::Decimal { precision, scale })
        }
        (SqlType::DateTime2 { scale }, SqlType::DateTime2 { scale: other }) => {
            Some(SqlType::DateTime2 { scale: *scale.max(other) })
        }
        (SqlType::Time { scale }, SqlType::Time { scale: other }) => {
            Some(SqlType::Time { scale: *scale.max(other) })
        }
        // After the point, datetime has three digits.
        (SqlType::DateTime2 { scale }, SqlType::DateTime) => {
            Some(SqlType::DateTime2 { scale: *scale.max(&3) })
        }
        _ => Some(higher),
    }
}

/// The variable-length form of a text type; other types as they are.
pub(crate) fn variable(ty: SqlType) -> SqlType {
    match ty.collation().filter(|_| is_text(&ty)) {
        Some(collation) => text_type(is_wide_text(&ty), characters(&ty), collation),
        None => ty,
    }
}

/// char for varchar, nchar for nvarchar.
pub(crate) fn padded(ty: SqlType) -> SqlType {
    match ty {
        SqlType::VarChar { len: Some(len), collation } => SqlType::Char { len, collation },
        SqlType::NVarChar { len: Some(len), collation } => SqlType::NChar { len, collation },
        other => other,
    }
}

/// The same type under another collation.
pub(crate) fn with_collation(ty: SqlType, collation: Collation) -> SqlType {
    match ty {
        SqlType::Char { len, .. } => SqlType::Char { len, collation },
        SqlType::VarChar { len, .. } => SqlType::VarChar { len, collation },
        SqlType::NChar { len, .. } => SqlType::NChar { len, collation },
        SqlType::NVarChar { len, .. } => SqlType::NVarChar { len, collation },
        SqlType::Text { .. } => SqlType::Text { collation },
        SqlType::NText { .. } => SqlType::NText { collation },
        other => other,
    }
}

fn common_text(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    let collation = a.collation()?;
    let is_wide = is_wide_text(a) || is_wide_text(b);
    let chars = match (characters(a), characters(b)) {
        (Some(a), Some(b)) => Some(a.max(b)),
        _ => None,
    };
    // Whether two padded texts of different length give a padded one is not certain.
    if is_padded(a) && is_padded(b) {
        let is_same = characters(a) == characters(b) && is_wide_text(a) == is_wide_text(b);
        return is_same.then_some(*a);
    }
    Some(text_type(is_wide, chars, collation))
}

fn common_binary(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    let len = |ty: &SqlType| match *ty {
        SqlType::Binary { len } => Some(Some(len)),
        SqlType::VarBinary { len } => Some(len),
        _ => None,
    };
    if a == b {
        return Some(*a);
    }
    match (len(a)?, len(b)?) {
        _ if is_padded(a) && is_padded(b) => None,
        (Some(a), Some(b)) => Some(SqlType::VarBinary { len: Some(a.max(b)) }),
        _ => Some(SqlType::VarBinary { len: None }),
    }
}

/// varchar or nvarchar of `characters` characters, at most 8,000 bytes; `None` characters is
/// `(max)`.
pub(crate) fn text_type(is_wide: bool, characters: Option<u16>, collation: Collation) -> SqlType {
    if is_wide {
        let len = characters.map(|it| it.saturating_mul(2).clamp(2, MAX_BYTES));
        SqlType::NVarChar { len, collation }
    } else {
        SqlType::VarChar { len: characters.map(|it| it.clamp(1, MAX_BYTES)), collation }
    }
}

/// Precision and scale of a result, and the scale it would have without the limit of 38 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits {
    pub(crate) precision: u8,
    pub(crate) scale: u8,
    pub(crate) full_scale: u8,
}

/// The public table, see the module.
pub(crate) fn result_digits(op: Infix, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> Option<Digits> {
    let w1 = p1.checked_sub(s1)?;
    let w2 = p2.checked_sub(s2)?;
    let most = s1.max(s2);
    Some(match op {
        Infix::Add | Infix::Subtract => limit_sum(w1.max(w2), most),
        Infix::Multiply => limit_product(p1 + p2 + 1, s1 + s2),
        Infix::Divide => {
            let scale = (s1 + p2 + 1).max(6);
            limit_product(w1 + s2 + scale, scale)
        }
        Infix::Modulo => limit_sum_exactly(w1.min(w2) + most, most)?,
        Infix::BitAnd | Infix::BitOr | Infix::BitXor => return None,
    })
}

fn limit_product(precision: u8, scale: u8) -> Digits {
    if precision <= MAX_PRECISION {
        return Digits { precision, scale, full_scale: scale };
    }
    let room = MAX_PRECISION.saturating_sub(precision - scale);
    Digits {
        precision: MAX_PRECISION,
        scale: scale.min(room.max(scale.min(6))),
        full_scale: scale,
    }
}

fn limit_sum(whole: u8, scale: u8) -> Digits {
    let precision = (whole + scale + 1).min(MAX_PRECISION);
    let limited = if whole > precision.saturating_sub(scale) { precision - whole } else { scale };
    Digits { precision, scale: limited, full_scale: scale }
}

fn limit_sum_exactly(precision: u8, scale: u8) -> Option<Digits> {
    let fits = precision <= MAX_PRECISION;
    fits.then_some(Digits { precision: precision.max(1), scale, full_scale: scale })
}

/// The type a CONVERT names; `None` when it is no type known here. A text's collation is for the
/// caller to set.
pub(crate) fn named(name: &TypeName, collation: Collation) -> Option<SqlType> {
    let TypeName { name, first, second } = name;
    let number = |default: u32, most: u32| match first {
        None => Some(default),
        Some(Some(given)) => (*given <= most).then_some(*given),
        Some(None) => None,
    };
    let small = |default: u8, most: u8| u8::try_from(number(default.into(), most.into())?).ok();
    let fixed =
        |most: u32| number(30, most).filter(|len| *len > 0).and_then(|len| u16::try_from(len).ok());
    let variable = |most: u32| match first {
        Some(None) => Some(None),
        _ => fixed(most).map(Some),
    };
    let bytes = u32::from(MAX_BYTES);
    let chars = u32::from(MAX_BYTES / 2);
    let ty = match name.as_str() {
        "char" | "character" => return Some(SqlType::Char { len: fixed(bytes)?, collation }),
        "varchar" => return Some(SqlType::VarChar { len: variable(bytes)?, collation }),
        "nchar" => return Some(SqlType::NChar { len: fixed(chars)? * 2, collation }),
        "nvarchar" => {
            return Some(SqlType::NVarChar { len: variable(chars)?.map(|len| len * 2), collation });
        }
        "binary" => return Some(SqlType::Binary { len: fixed(bytes)? }),
        "varbinary" => return Some(SqlType::VarBinary { len: variable(bytes)? }),
        "decimal" | "numeric" | "dec" => {
            let precision = small(18, MAX_PRECISION)?;
            let scale = u8::try_from(second.unwrap_or(0)).ok()?;
            let is_possible = precision > 0 && scale <= precision;
            return is_possible.then_some(SqlType::Decimal { precision, scale });
        }
        "datetimeoffset" => return Some(SqlType::DateTimeOffset { scale: small(7, 7)? }),
        "datetime2" => return Some(SqlType::DateTime2 { scale: small(7, 7)? }),
        "time" => return Some(SqlType::Time { scale: small(7, 7)? }),
        "float" => return Some(if number(53, 53)? <= 24 { SqlType::Real } else { SqlType::Float }),
        "bit" => SqlType::Bit,
        "tinyint" => SqlType::TinyInt,
        "smallint" => SqlType::SmallInt,
        "int" | "integer" => SqlType::Int,
        "bigint" => SqlType::BigInt,
        "money" => SqlType::Money,
        "smallmoney" => SqlType::SmallMoney,
        "real" => SqlType::Real,
        "datetime" => SqlType::DateTime,
        "smalldatetime" => SqlType::SmallDateTime,
        "date" => SqlType::Date,
        "uniqueidentifier" => SqlType::UniqueIdentifier,
        "text" => SqlType::Text { collation },
        "ntext" => SqlType::NText { collation },
        "image" => SqlType::Image,
        "xml" => SqlType::Xml,
        "sql_variant" => SqlType::SqlVariant,
        "timestamp" | "rowversion" => SqlType::RowVersion,
        "sysname" => return Some(SqlType::NVarChar { len: Some(256), collation }),
        _ => return None,
    };
    first.is_none().then_some(ty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(op: Infix, a: (u8, u8), b: (u8, u8)) -> (u8, u8) {
        let digits = result_digits(op, a, b).unwrap();
        (digits.precision, digits.scale)
    }

    #[test]
    fn precision_and_scale_follow_the_public_table() {
        assert_eq!(result(Infix::Add, (10, 2), (5, 3)), (12, 3));
        assert_eq!(result(Infix::Multiply, (10, 2), (5, 3)), (16, 5));
        assert_eq!(result(Infix::Divide, (10, 2), (5, 3)), (19, 8));
        assert_eq!(result(Infix::Modulo, (10, 2), (5, 3)), (5, 3));
        // numeric(2,1) / numeric(2,1): 2.0 / 3.0 shows six digits.
        assert_eq!(result(Infix::Divide, (2, 1), (2, 1)), (8, 6));
    }

    #[test]
    fn beyond_38_digits_the_scale_gives_way_as_published() {
        // decimal(38,10) / decimal(38,10) is decimal(38,6).
        assert_eq!(result(Infix::Divide, (38, 10), (38, 10)), (38, 6));
        // decimal(30,20) * decimal(30,20) is decimal(38,17).
        assert_eq!(result(Infix::Multiply, (30, 20), (30, 20)), (38, 17));
        // decimal(30,10) * decimal(30,10) is decimal(38,6).
        assert_eq!(result(Infix::Multiply, (30, 10), (30, 10)), (38, 6));
        // decimal(18,9) * decimal(27,9) shows nine digits, (28,9) eight, (30,9) and beyond six.
        assert_eq!(result(Infix::Multiply, (27, 9), (19, 9)), (38, 9));
        assert_eq!(result(Infix::Multiply, (28, 9), (19, 9)), (38, 8));
        assert_eq!(result(Infix::Multiply, (30, 9), (19, 9)), (38, 6));
        assert_eq!(result(Infix::Multiply, (38, 9), (19, 9)), (38, 6));
        // A scale below six stays.
        assert_eq!(result(Infix::Multiply, (38, 2), (38, 2)), (38, 4));
        // Sums keep the whole part.
        assert_eq!(result(Infix::Add, (38, 10), (38, 10)), (38, 10));
        assert_eq!(result(Infix::Add, (38, 0), (38, 10)), (38, 0));
        assert_eq!(result(Infix::Add, (38, 5), (38, 10)), (38, 5));
    }

    #[test]
    fn a_line_total_of_money_has_the_type_its_sample_database_declares() {
        // isnull([UnitPrice]*((1.0)-[UnitPriceDiscount])*[OrderQty],(0.0)) is declared
        // numeric(38,6).
        let discount = result(Infix::Subtract, (2, 1), (19, 4));
        assert_eq!(discount, (20, 4));
        let price = result(Infix::Multiply, (19, 4), discount);
        assert_eq!(price, (38, 6));
        assert_eq!(result(Infix::Multiply, price, (5, 0)), (38, 6));
    }

    #[test]
    fn the_common_type_is_the_higher_one_wide_enough_for_both() {
        let decimal = |precision, scale| SqlType::Decimal { precision, scale };
        assert_eq!(common(&SqlType::Int, &SqlType::TinyInt), Some(SqlType::Int));
        assert_eq!(common(&decimal(5, 2), &SqlType::Int), Some(decimal(12, 2)));
        assert_eq!(common(&SqlType::Money, &decimal(4, 1)), Some(decimal(19, 4)));
        assert_eq!(common(&decimal(38, 0), &decimal(38, 2)), None);
        assert_eq!(common(&SqlType::Float, &decimal(38, 0)), Some(SqlType::Float));
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let varchar = SqlType::VarChar { len: Some(5), collation };
        let nchar = SqlType::NChar { len: 6, collation };
        assert_eq!(common(&varchar, &nchar), Some(SqlType::NVarChar { len: Some(10), collation }));
        assert_eq!(
            common(&SqlType::Char { len: 1, collation }, &SqlType::Char { len: 2, collation }),
            None
        );
    }
}
