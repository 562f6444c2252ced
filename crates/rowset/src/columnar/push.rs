//! Appending values one by one, without their stored bytes.

use extentdb_types::{Datum, SqlType};

use super::vector::{Values, Vector};

impl Vector {
    /// Appends a value of just the column's type, of those types that loads have most; false, and
    /// nothing appended, for all others: these are encoded, and come by
    /// [`push_stored`](Self::push_stored).
    #[must_use]
    pub fn push_plain(&mut self, value: &Datum<'_>) -> bool {
        match (&mut self.values, self.ty, value) {
            (Values::U8(to), SqlType::TinyInt, Datum::TinyInt(value)) => to.push(*value),
            (Values::I16(to), SqlType::SmallInt, Datum::SmallInt(value)) => to.push(*value),
            (Values::I32(to), SqlType::Int, Datum::Int(value)) => to.push(*value),
            (Values::I32(to), SqlType::Date, Datum::Date(value)) => to.push(value.days() as i32),
            (Values::I64(to), SqlType::BigInt, Datum::BigInt(value)) => to.push(*value),
            (
                Values::I128(to),
                SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
                Datum::Decimal(value),
            ) if value.scale() == scale && value.fits_precision(precision) => {
                to.push(value.unscaled());
            }
            (Values::Variable { offsets, bytes }, ty, value) => match plain_bytes(&ty, value) {
                Some(plain) => {
                    bytes.extend_from_slice(plain);
                    offsets.push(bytes.len() as i32);
                }
                None => return false,
            },
            _ => return false,
        }
        self.note_valid(1);
        true
    }

    /// Appends the stored bytes of an integer, or of a value of variable length, when the type has
    /// room for them; false, and nothing appended, for all others.
    #[must_use]
    pub fn push_plain_bytes(&mut self, value: &[u8]) -> bool {
        match (&mut self.values, self.ty) {
            (Values::I32(to), SqlType::Int) => match <[u8; 4]>::try_from(value) {
                Ok(value) => to.push(i32::from_le_bytes(value)),
                Err(_) => return false,
            },
            (Values::I64(to), SqlType::BigInt) => match <[u8; 8]>::try_from(value) {
                Ok(value) => to.push(i64::from_le_bytes(value)),
                Err(_) => return false,
            },
            (Values::Variable { offsets, bytes }, ty) if has_room(&ty, value) => {
                bytes.extend_from_slice(value);
                offsets.push(bytes.len() as i32);
            }
            _ => return false,
        }
        self.note_valid(1);
        true
    }
}

/// Can these be the stored bytes of a type of variable length?
fn has_room(ty: &SqlType, value: &[u8]) -> bool {
    let is_whole = match ty {
        SqlType::VarChar { .. } | SqlType::VarBinary { .. } => true,
        SqlType::NVarChar { .. } => value.len().is_multiple_of(2),
        _ => false,
    };
    is_whole && ty.max_bytes().is_none_or(|most| value.len() <= most)
}

/// The bytes of a value that are its stored ones, when the type has room for them.
fn plain_bytes<'v>(ty: &SqlType, value: &'v Datum<'_>) -> Option<&'v [u8]> {
    let bytes: &[u8] = match (ty, value) {
        (SqlType::VarChar { .. }, Datum::Char(text)) => &text.bytes,
        (SqlType::NVarChar { .. }, Datum::NChar(text)) => &text.bytes,
        (SqlType::VarBinary { .. }, Datum::Binary(bytes)) => bytes,
        _ => return None,
    };
    has_room(ty, bytes).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use extentdb_types::{Date, Decimal};

    use super::*;

    fn values() -> Vec<(SqlType, Datum<'static>)> {
        let decimal = SqlType::Decimal { precision: 5, scale: 2 };
        let bytes = |len: usize| Datum::Binary(Cow::Owned(vec![7; len]));
        vec![
            (SqlType::TinyInt, Datum::TinyInt(200)),
            (SqlType::SmallInt, Datum::SmallInt(-3)),
            (SqlType::Int, Datum::Int(i32::MIN)),
            (SqlType::BigInt, Datum::BigInt(i64::MAX)),
            (SqlType::Date, Datum::Date(Date::new(700_000).unwrap())),
            (decimal, Datum::Decimal(Decimal::parse("-123.45").unwrap())),
            (SqlType::VarBinary { len: Some(4) }, bytes(4)),
            (SqlType::VarBinary { len: Some(4) }, bytes(0)),
        ]
    }

    #[test]
    fn a_value_is_the_one_that_its_stored_bytes_are() {
        for (ty, value) in values() {
            let (mut plain, mut stored) = (Vector::computed(ty), Vector::computed(ty));
            assert!(plain.push_plain(&value), "{ty:?}");
            let mut bytes = Vec::new();
            value.encode(&ty, &mut bytes).unwrap();
            stored.push_stored(Some(&bytes)).unwrap();
            assert_eq!(plain, stored);
            let mut back = Vec::new();
            plain.stored_bytes(0, &mut back);
            assert_eq!(back, bytes, "{ty:?}");
        }
    }

    #[test]
    fn bytes_are_appended_as_the_value_that_they_are_or_not_at_all() {
        for (ty, value) in values() {
            let mut bytes = Vec::new();
            value.encode(&ty, &mut bytes).unwrap();
            let (mut plain, mut stored) = (Vector::computed(ty), Vector::computed(ty));
            if plain.push_plain_bytes(&bytes) {
                stored.push_stored(Some(&bytes)).unwrap();
            }
            assert_eq!(plain, stored, "{ty:?}");
            assert!(!plain.push_plain_bytes(&[1; 5]), "{ty:?}");
        }
        let mut text = Vector::computed(SqlType::VarBinary { len: None });
        assert!(text.push_plain_bytes(&[1; 9000]) && !text.is_empty());
    }

    #[test]
    fn a_value_that_has_to_be_made_to_fit_is_left() {
        let decimal = SqlType::Decimal { precision: 5, scale: 2 };
        for (ty, value) in [
            (SqlType::Int, Datum::BigInt(1)),
            (decimal, Datum::Decimal(Decimal::parse("1.5").unwrap())),
            (decimal, Datum::Decimal(Decimal::parse("1234.56").unwrap())),
            (SqlType::VarBinary { len: Some(4) }, Datum::Binary(Cow::Borrowed(&[0; 5]))),
            (SqlType::Int, Datum::Null),
        ] {
            let mut vector = Vector::computed(ty);
            assert!(!vector.push_plain(&value) && vector.is_empty(), "{ty:?}");
        }
    }
}
