use proptest::prelude::*;

use super::*;
use crate::collation::Collation;

const COLLATION: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

/// One of every type, with small and large parameters.
fn all_types() -> Vec<SqlType> {
    let collation = COLLATION;
    let mut types = vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Float,
        SqlType::Real,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Char { len: 5, collation },
        SqlType::VarChar { len: Some(5), collation },
        SqlType::VarChar { len: None, collation },
        SqlType::Text { collation },
        SqlType::NChar { len: 6, collation },
        SqlType::NVarChar { len: Some(6), collation },
        SqlType::NVarChar { len: None, collation },
        SqlType::NText { collation },
        SqlType::Binary { len: 4 },
        SqlType::VarBinary { len: Some(4) },
        SqlType::VarBinary { len: None },
        SqlType::Image,
        SqlType::RowVersion,
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::Xml,
        SqlType::Udt { len: Some(892), kind: UdtKind::Other },
        SqlType::Udt { len: None, kind: UdtKind::Other },
    ];
    for scale in 0..=7 {
        types.extend([
            SqlType::Time { scale },
            SqlType::DateTime2 { scale },
            SqlType::DateTimeOffset { scale },
        ]);
    }
    for precision in [1, 9, 10, 19, 20, 28, 29, 38] {
        types.push(SqlType::Decimal { precision, scale: precision / 2 });
        types.push(SqlType::Numeric { precision, scale: precision });
    }
    types
}

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

fn json(ty: &SqlType, bytes: &[u8]) -> String {
    let mut text = String::new();
    crate::json::write_json(&Datum::decode(ty, bytes).unwrap(), &mut text).unwrap();
    text
}

#[test]
fn stored_bytes_have_these_values() {
    let collation = COLLATION;
    let cases = [
        (SqlType::TinyInt, "FF", "255"),
        (SqlType::SmallInt, "FEFF", "-2"),
        (SqlType::Int, "2A000000", "42"),
        (SqlType::BigInt, "0000000000000080", "-9223372036854775808"),
        (SqlType::Bit, "01", "true"),
        (SqlType::Decimal { precision: 9, scale: 2 }, "00 E2040000", "\"-12.50\""),
        (
            SqlType::Numeric { precision: 38, scale: 0 },
            "01 FFFFFFFF3F228A097AC4865AA84C3B4B",
            "\"99999999999999999999999999999999999999\"",
        ),
        (SqlType::Money, "1027000000000000", "\"1.0000\""),
        (SqlType::SmallMoney, "FFFFFFFF", "\"-0.0001\""),
        (SqlType::Float, "000000000000F03F", "1.0"),
        (SqlType::Real, "CDCCCC3D", "0.1"),
        (SqlType::DateTime, "2C010000 00000000", "\"1900-01-01T00:00:01.000\""),
        (SqlType::DateTime, "00000000 462EFFFF", "\"1753-01-01T00:00:00.000\""),
        (SqlType::SmallDateTime, "3D00 0100", "\"1900-01-02T01:01:00.000\""),
        (SqlType::Date, "5B950A", "\"1900-01-01\""),
        (SqlType::Time { scale: 7 }, "0100000000", "\"00:00:00.0000001\""),
        (SqlType::DateTime2 { scale: 3 }, "E8030000 5B950A", "\"1900-01-01T00:00:01.000\""),
        (
            SqlType::DateTimeOffset { scale: 0 },
            "000000 5B950A 3C00",
            "\"1900-01-01T01:00:00+01:00\"",
        ),
        (SqlType::Char { len: 4, collation }, "61622020", "\"ab  \""),
        (SqlType::VarChar { len: Some(4), collation }, "80", "\"€\""),
        (SqlType::NChar { len: 4, collation }, "16042000", "\"Ж \""),
        (SqlType::RowVersion, "00000000000007D1", "\"0x00000000000007D1\""),
        (
            SqlType::UniqueIdentifier,
            "33221100554477668899AABBCCDDEEFF",
            "\"00112233-4455-6677-8899-AABBCCDDEEFF\"",
        ),
        (SqlType::SqlVariant, "38 01 2A000000", "{\"type\":\"int\",\"value\":42}"),
        (SqlType::Udt { len: None, kind: UdtKind::Geometry }, "0102", "\"0x0102\""),
    ];
    for (ty, bytes, expected) in cases {
        assert_eq!(json(&ty, &hex(bytes)), expected, "{ty}");
    }
}

#[test]
fn wrong_lengths_are_errors() {
    for ty in all_types() {
        if let Some(expected) = ty.fixed_bytes() {
            for found in [0, expected - 1, expected + 1] {
                assert_eq!(
                    Datum::decode(&ty, &vec![0; found]),
                    Err(DecodeError::Length { ty, expected, found }),
                    "{ty}"
                );
            }
        }
    }
    let collation = COLLATION;
    let varchar = SqlType::VarChar { len: Some(5), collation };
    assert_eq!(
        Datum::decode(&varchar, &[32; 6]),
        Err(DecodeError::TooLong { ty: varchar, max: 5, found: 6 })
    );
    let nvarchar = SqlType::NVarChar { len: Some(6), collation };
    assert_eq!(
        Datum::decode(&nvarchar, &[32; 3]),
        Err(DecodeError::OddLength { ty: nvarchar, found: 3 })
    );
    assert!(Datum::decode(&SqlType::Bit, &[]).is_err());
}

#[test]
fn values_out_of_range_name_field_and_content() {
    let cases = [
        (SqlType::Bit, "02", Field::Bit, 2),
        (SqlType::Decimal { precision: 9, scale: 0 }, "02 00000000", Field::Sign, 2),
        (SqlType::Decimal { precision: 3, scale: 0 }, "01 E8030000", Field::Magnitude, 1000),
        (SqlType::DateTime, "00000000 00000080", Field::Days, i128::from(i32::MIN)),
        (SqlType::DateTime, "0082 8B01 00000000", Field::Ticks, 25_920_000),
        (SqlType::SmallDateTime, "A005 0000", Field::Minutes, 1_440),
        (SqlType::Date, "FFFFFF", Field::Days, 0xFF_FFFF),
        (SqlType::Time { scale: 0 }, "805101", Field::Ticks, 86_400),
        (SqlType::DateTimeOffset { scale: 0 }, "000000 5B950A 4903", Field::Offset, 841),
        (SqlType::DateTimeOffset { scale: 0 }, "000000 000000 FFFF", Field::LocalTime, -1),
    ];
    for (ty, bytes, field, found) in cases {
        assert_eq!(
            Datum::decode(&ty, &hex(bytes)),
            Err(DecodeError::Range { ty, field, found }),
            "{ty}"
        );
    }
}

#[test]
fn values_that_do_not_fit_are_not_written() {
    let collation = COLLATION;
    let decimal = Datum::Decimal(Decimal::parse("123.45").unwrap());
    let cases = [
        (Datum::Null, SqlType::Int),
        (Datum::Int(1), SqlType::BigInt),
        (decimal.clone(), SqlType::Decimal { precision: 5, scale: 1 }),
        (decimal, SqlType::Decimal { precision: 4, scale: 2 }),
        (Datum::Binary(Cow::Borrowed(&[1, 2])), SqlType::Binary { len: 3 }),
        (Datum::NChar(NText::from_text("abcd")), SqlType::NVarChar { len: Some(6), collation }),
        (Datum::Time(Time::new(0, 3).unwrap()), SqlType::Time { scale: 4 }),
    ];
    for (value, ty) in cases {
        let mut out = vec![7];
        assert!(value.encode(&ty, &mut out).is_err(), "{value:?} {ty}");
        assert_eq!(out, [7], "nothing is left behind");
    }
}

#[test]
fn physical_types_convert_there_and_back() {
    for ty in all_types() {
        let (ti, cid) = ty.to_physical();
        assert_eq!(SqlType::from_physical(ti, cid), Some(ty), "{ty}");
    }
}

#[test]
fn impossible_physical_types_are_refused() {
    for ti in [
        0,
        255,
        106,
        106 | 39 << 8,
        106 | 5 << 8 | 6 << 16,
        41 | 8 << 8,
        175,
        239 | 3 << 8,
        231 | 3 << 8,
    ] {
        assert_eq!(SqlType::from_physical(ti, 0), None, "{ti:#x}");
    }
}

#[test]
fn column_types_print_as_t_sql() {
    let column = |xtype, utype, length, prec, scale| {
        SqlType::from_column(xtype, utype, length, prec, scale, COLLATION.0)
            .map(|ty| ty.to_string())
    };
    let cases = [
        (column(231, 231, 80, 0, 0), "nvarchar(40)"),
        (column(231, 256, 256, 0, 0), "nvarchar(128)"),
        (column(231, 231, -1, 0, 0), "nvarchar(max)"),
        (column(167, 167, -1, 0, 0), "varchar(max)"),
        (column(106, 106, 9, 10, 2), "decimal(10,2)"),
        (column(42, 42, 8, 27, 7), "datetime2(7)"),
        (column(175, 175, 3, 0, 0), "char(3)"),
        (column(239, 239, 10, 0, 0), "nchar(5)"),
        (column(240, 128, 892, 0, 0), "hierarchyid"),
        (column(240, 130, -1, 0, 0), "geography"),
        (column(189, 189, 8, 0, 0), "rowversion"),
        (column(35, 35, 16, 0, 0), "text"),
        (column(241, 241, -1, 0, 0), "xml"),
        (column(62, 62, 8, 53, 0), "float"),
    ];
    for (found, expected) in cases {
        assert_eq!(found.as_deref(), Some(expected));
    }
    assert_eq!(column(231, 231, -2, 0, 0), None);
    assert_eq!(column(244, 244, -1, 0, 0), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn no_bytes_make_decoding_panic_and_what_decodes_writes_back(
        bytes in proptest::collection::vec(any::<u8>(), 0..30),
        header in any::<bool>(),
    ) {
        for ty in all_types() {
            // Of the right length, so that ranges are reached too.
            let mut bytes = bytes.clone();
            if let Some(len) = ty.fixed_bytes() {
                bytes.resize(len, 0);
                if let (SqlType::Decimal { .. } | SqlType::Numeric { .. }, Some(sign)) = (ty, bytes.first_mut()) {
                    *sign &= 1;
                }
            }
            if ty == SqlType::SqlVariant && header {
                bytes.splice(0..0, [[56u8, 104, 231, 106, 42, 175, 165][bytes.len() % 7], 1]);
            }
            let Ok(value) = Datum::decode(&ty, &bytes) else { continue };
            let mut back = Vec::new();
            value.encode(&ty, &mut back).unwrap();
            prop_assert_eq!(&back, &bytes, "{}", ty);
            let mut texts = [String::new(), String::new(), String::new()];
            crate::json::write_json(&value, &mut texts[0]).unwrap();
            crate::plain::write_plain(&value, &mut texts[1]).unwrap();
            crate::literal::write_literal(&value, &mut texts[2]).unwrap();
            let owned = value.clone().into_owned();
            let mut again = String::new();
            crate::json::write_json(&owned, &mut again).unwrap();
            prop_assert_eq!(&again, &texts[0]);
        }
    }

    #[test]
    fn decimals_of_every_precision_write_and_read(magnitude in any::<u128>(), precision in 1u8..=38, is_negative in any::<bool>()) {
        let magnitude = magnitude % 10u128.pow(u32::from(precision));
        let ty = SqlType::Decimal { precision, scale: precision / 3 };
        let value = Decimal::new(is_negative, magnitude, precision / 3).unwrap();
        let mut bytes = Vec::new();
        Datum::Decimal(value).encode(&ty, &mut bytes).unwrap();
        prop_assert_eq!(Datum::decode(&ty, &bytes).unwrap(), Datum::Decimal(value));
        prop_assert_eq!(Decimal::parse(&value.to_string()).unwrap(), value);
    }
}
