//! Types for clients that do not know the real ones. This is the only place that replaces a type.
//!
//! | type | 7.1 | 7.2 | 7.3 and later |
//! |---|---|---|---|
//! | date | nvarchar(10) | nvarchar(10) | date |
//! | time(n) | nvarchar(8 + fraction) | the same | time(n) |
//! | datetime2(n) | nvarchar(19 + fraction) | the same | datetime2(n) |
//! | datetimeoffset(n) | nvarchar(26 + fraction) | the same | datetimeoffset(n) |
//! | varchar(max), nvarchar(max), varbinary(max) | text, ntext, image | (max) | (max) |
//! | xml | ntext | xml | xml |
//! | CLR types | varbinary, image when large | CLR type | CLR type |
//!
//! The fraction of scale n takes n + 1 characters, none for scale 0. The texts are those of
//! `value::date_text`.

use extentdb_types::{Collation, SqlType};

use crate::version::TdsVersion;

/// The type that a client of `version` sees for a column of type `ty`. `collation` is that of texts
/// that stand for values without one.
#[must_use]
pub fn replaced(ty: SqlType, version: TdsVersion, collation: Collation) -> SqlType {
    if version.is_7_3_or_later() {
        return ty;
    }
    let nvarchar = |chars: u16| SqlType::NVarChar { len: Some(chars * 2), collation };
    match ty {
        SqlType::Date => nvarchar(10),
        SqlType::Time { scale } => nvarchar(8 + fraction(scale)),
        SqlType::DateTime2 { scale } => nvarchar(19 + fraction(scale)),
        SqlType::DateTimeOffset { scale } => nvarchar(26 + fraction(scale)),
        _ if version.is_7_2_or_later() => ty,
        SqlType::VarChar { len: None, collation } => SqlType::Text { collation },
        SqlType::NVarChar { len: None, collation } => SqlType::NText { collation },
        SqlType::VarBinary { len: None } | SqlType::Udt { len: None, .. } => SqlType::Image,
        SqlType::Udt { len, .. } => SqlType::VarBinary { len },
        SqlType::Xml => SqlType::NText { collation },
        _ => ty,
    }
}

/// Characters of a fraction with its point.
fn fraction(scale: u8) -> u16 {
    if scale == 0 { 0 } else { u16::from(scale) + 1 }
}
