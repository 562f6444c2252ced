//! The type that two values of a statement are brought to.

use extentdb_kernel::wide::MAX_PRECISION;
use extentdb_types::SqlType;

use super::{
    bytes_len, characters, digits, is_padded, is_text, is_wide_text, padded, rank, text_type,
};

/// The type both values of a CASE, COALESCE or comparison are brought to; whether a value becomes
/// one of that type is for the caller to see. The collation of texts is that of `a`.
pub(crate) fn common_of_statement(a: &SqlType, b: &SqlType) -> SqlType {
    let (higher, lower) = if rank(a) <= rank(b) { (*a, *b) } else { (*b, *a) };
    if is_text(a) && is_text(b) {
        return common_text_of_statement(a, b);
    }
    if is_string_of_bytes(a) && is_string_of_bytes(b) {
        return common_bytes(a, b);
    }
    match (higher, lower) {
        (SqlType::Decimal { .. } | SqlType::Numeric { .. }, _) => {
            match digits(&higher).zip(digits(&lower)) {
                Some((one, other)) => common_decimal(one, other),
                None => higher,
            }
        }
        (SqlType::Time { scale }, _) => SqlType::Time { scale: scale.max(fraction_digits(&lower)) },
        (SqlType::DateTime2 { scale }, _) => {
            SqlType::DateTime2 { scale: scale.max(fraction_digits(&lower)) }
        }
        (SqlType::DateTimeOffset { scale }, _) => {
            SqlType::DateTimeOffset { scale: scale.max(fraction_digits(&lower)) }
        }
        _ => higher,
    }
}

/// Digits after the second that a type of dates shows; 0 for others.
fn fraction_digits(ty: &SqlType) -> u8 {
    match *ty {
        SqlType::DateTime => 3,
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => scale,
        _ => 0,
    }
}

/// Wide enough for both; beyond 38 digits the fraction is cut.
fn common_decimal((p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> SqlType {
    let whole = (p1.saturating_sub(s1)).max(p2.saturating_sub(s2));
    let scale = s1.max(s2).min(MAX_PRECISION.saturating_sub(whole));
    SqlType::Decimal { precision: (whole + scale).clamp(1, MAX_PRECISION), scale }
}

fn common_text_of_statement(a: &SqlType, b: &SqlType) -> SqlType {
    let Some(collation) = a.collation() else { return *a };
    let is_wide = is_wide_text(a) || is_wide_text(b);
    let chars = characters(a).zip(characters(b)).map(|(a, b)| a.max(b));
    let ty = text_type(is_wide, chars, collation);
    if is_padded(a) && is_padded(b) { padded(ty) } else { ty }
}

fn common_bytes(a: &SqlType, b: &SqlType) -> SqlType {
    let len = bytes_len(a).zip(bytes_len(b)).map(|(a, b)| a.max(b));
    match len {
        Some(len) if is_padded(a) && is_padded(b) => SqlType::Binary { len },
        len => SqlType::VarBinary { len },
    }
}

fn is_string_of_bytes(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Binary { .. } | SqlType::VarBinary { .. })
}
