//! What a sql_variant says of its value (`docs/check.md` 5: legal inner type, version, length).
//!
//! ```text
//! +0 type code  one that a variant can hold: no text, ntext, image, xml, rowversion, CLR type or
//!               variant
//! +1 version    1
//! +2 properties scale; precision and scale; most bytes; most bytes and collation
//!    value      as long as the type and its properties say
//! ```
//!
//! Integers and nvarchar were seen in real files. Of the other types only the properties and what
//! the length is certain are judged, and nothing of the value itself.

use extentdb_types::sql_type::xtype;

/// The only version there is.
const VERSION: u8 = 1;
const PRECISION_MAX: u8 = 38;
const SCALE_OF_TIME_MAX: u8 = 7;
/// Most bytes that a character or binary type without (max) can have.
const BYTES_MAX: u16 = 8_000;
/// A sign, and a magnitude of up to 16 bytes.
const DECIMAL_BYTES: std::ops::RangeInclusive<usize> = 2..=17;
/// A date after the shortest time, and an offset after the longest datetime2.
const TIME_BYTES: std::ops::RangeInclusive<usize> = 3..=10;

/// True for the bytes of a variant. One without bytes says nothing.
pub(super) fn is_variant(bytes: &[u8]) -> bool {
    match bytes.split_first_chunk::<2>() {
        Some((&[code, version], rest)) => version == VERSION && is_value(code, rest),
        None => bytes.is_empty(),
    }
}

/// True for properties and a value that a type can have.
fn is_value(code: u8, rest: &[u8]) -> bool {
    match code {
        xtype::BIT | xtype::TINYINT => rest.len() == 1,
        xtype::SMALLINT => rest.len() == 2,
        xtype::DATE => rest.len() == 3,
        xtype::INT | xtype::REAL | xtype::SMALLMONEY | xtype::SMALLDATETIME => rest.len() == 4,
        xtype::BIGINT | xtype::FLOAT | xtype::MONEY | xtype::DATETIME => rest.len() == 8,
        xtype::UNIQUEIDENTIFIER => rest.len() == 16,
        xtype::DECIMAL | xtype::NUMERIC => is_decimal(rest),
        xtype::TIME | xtype::DATETIME2 | xtype::DATETIMEOFFSET => is_time(rest),
        xtype::BINARY | xtype::VARBINARY => {
            rest.split_first_chunk().is_some_and(|(len, value)| has_length(*len, value))
        }
        xtype::CHAR | xtype::VARCHAR => is_text(rest),
        xtype::NCHAR | xtype::NVARCHAR => is_text(rest) && rest.len().is_multiple_of(2),
        _ => false,
    }
}

fn is_decimal(rest: &[u8]) -> bool {
    rest.split_first_chunk().is_some_and(|(&[precision, scale], value)| {
        (1..=PRECISION_MAX).contains(&precision)
            && scale <= precision
            && DECIMAL_BYTES.contains(&value.len())
    })
}

fn is_time(rest: &[u8]) -> bool {
    let scale = rest.split_first();
    scale.is_some_and(|(scale, value)| {
        *scale <= SCALE_OF_TIME_MAX && TIME_BYTES.contains(&value.len())
    })
}

/// A length, a collation of four bytes, and text.
fn is_text(rest: &[u8]) -> bool {
    rest.split_first_chunk()
        .is_some_and(|(len, rest)| rest.get(4..).is_some_and(|text| has_length(*len, text)))
}

fn has_length(len: [u8; 2], value: &[u8]) -> bool {
    let len = u16::from_le_bytes(len);
    len <= BYTES_MAX && value.len() <= usize::from(len)
}

#[cfg(test)]
mod tests {
    use extentdb_types::{Datum, SqlType, Variant};

    use super::*;

    #[test]
    fn a_variant_names_a_type_that_it_can_hold() {
        assert!(is_variant(&[56, 1, 1, 0, 0, 0]));
        assert!(is_variant(&[]), "nothing is said");
        for code in [0, 3, 34, 35, 98, 99, 189, 200, 240, 241, 255] {
            assert!(!is_variant(&[code, 1, 1, 0, 0, 0]), "{code}");
        }
    }

    #[test]
    fn there_is_one_version() {
        for version in (0..=255).filter(|version| *version != VERSION) {
            assert!(!is_variant(&[56, version, 1, 0, 0, 0]), "{version}");
        }
        assert!(!is_variant(&[56]), "a type and nothing else");
    }

    #[test]
    fn integers_have_the_length_of_their_type() {
        for (code, len) in
            [(104u8, 1), (48, 1), (52, 2), (56, 4), (127, 8), (36, 16), (40, 3), (61, 8)]
        {
            for found in 0..20 {
                let bytes = [vec![code, 1], vec![0; found]].concat();
                assert_eq!(is_variant(&bytes), found == len, "{code} with {found} bytes");
            }
        }
    }

    #[test]
    fn properties_are_those_that_a_type_can_have() {
        let decimal = |precision, scale| [&[106, 1, precision, scale, 1][..], &[0; 4]].concat();
        assert!(is_variant(&decimal(9, 2)) && is_variant(&decimal(38, 38)));
        assert!(
            !is_variant(&decimal(0, 0))
                && !is_variant(&decimal(39, 0))
                && !is_variant(&decimal(5, 6))
        );
        assert!(is_variant(&[41, 1, 7, 0, 0, 0, 0, 0]));
        assert!(!is_variant(&[41, 1, 8, 0, 0, 0, 0, 0]) && !is_variant(&[41, 1]));
        let text = |len: u16, text: &[u8]| {
            [&[231, 1][..], &len.to_le_bytes(), &[8, 0xd0, 0, 0], text].concat()
        };
        assert!(is_variant(&text(2, b"a\0")) && is_variant(&text(0, b"")));
        assert!(!is_variant(&text(8_002, b"a\0")), "no such type");
        assert!(!is_variant(&text(2, b"a\0b\0")), "longer than its type");
        assert!(!is_variant(&text(4, b"a\0b")), "half a character");
        assert!(!is_variant(&[231, 1, 2, 0, 8]), "half a collation");
        assert!(!is_variant(&[165, 1, 1]), "half a length");
    }

    #[test]
    fn every_variant_that_is_written_is_one() {
        let values = [
            (SqlType::Int, Datum::Int(5)),
            (SqlType::BigInt, Datum::BigInt(-1)),
            (SqlType::Bit, Datum::Bit(true)),
            (SqlType::VarBinary { len: Some(20) }, Datum::Binary(b"abc".into())),
        ];
        for (ty, value) in values {
            let mut bytes = Vec::new();
            let variant = Datum::Variant(Box::new(Variant { ty, value }));
            variant.encode(&SqlType::SqlVariant, &mut bytes).unwrap();
            assert!(is_variant(&bytes), "{ty:?} {bytes:02x?}");
        }
    }
}
