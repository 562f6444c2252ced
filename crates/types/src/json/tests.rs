use std::borrow::Cow;

use super::*;
use crate::datetime::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime, Time};
use crate::decimal::Decimal;
use crate::guid::Guid;
use crate::money::{Money, SmallMoney};
use crate::sql_type::{SqlType, UdtKind};
use crate::text::CodePage;
use crate::variant::Variant;

fn json(value: &Datum<'_>) -> String {
    let mut text = String::new();
    write_json(value, &mut text).unwrap();
    text
}

#[test]
fn numbers_are_the_shortest_that_read_back() {
    let cases = [
        (Datum::Bit(true), "true"),
        (Datum::TinyInt(255), "255"),
        (Datum::BigInt(i64::MIN), "-9223372036854775808"),
        (Datum::Float(0.1), "0.1"),
        (Datum::Float(-0.0), "-0.0"),
        (Datum::Float(100.0), "100.0"),
        (Datum::Float(123_456.789), "123456.789"),
        (Datum::Float(1e15), "1000000000000000.0"),
        (Datum::Float(1e16), "1e16"),
        (Datum::Float(0.000_012), "0.000012"),
        (Datum::Float(1.5e-7), "1.5e-7"),
        (Datum::Float(f64::MAX), "1.7976931348623157e308"),
        (Datum::Real(0.1), "0.1"),
        (Datum::Real(16_777_216.0), "16777216.0"),
        (Datum::Real(f32::MIN_POSITIVE), "1.1754944e-38"),
        (Datum::Float(f64::NAN), "\"NaN\""),
        (Datum::Real(f32::INFINITY), "\"Infinity\""),
        (Datum::Float(f64::NEG_INFINITY), "\"-Infinity\""),
    ];
    for (value, text) in cases {
        assert_eq!(json(&value), text);
    }
}

#[test]
fn exact_values_and_times_are_strings() {
    let date = Date::from_ymd(2024, 2, 29).unwrap();
    let instant = |scale| DateTime2 { date, time: Time::new(0, scale).unwrap() };
    let cases = [
        (Datum::Null, "null"),
        (Datum::Decimal(Decimal::parse("-0.50").unwrap()), "\"-0.50\""),
        (Datum::Money(Money(-15_000)), "\"-1.5000\""),
        (Datum::SmallMoney(SmallMoney(1)), "\"0.0001\""),
        (Datum::DateTime(DateTime::new(0, 1).unwrap()), "\"1900-01-01T00:00:00.003\""),
        (Datum::SmallDateTime(SmallDateTime::new(1, 61).unwrap()), "\"1900-01-02T01:01:00.000\""),
        (Datum::Date(date), "\"2024-02-29\""),
        (Datum::Time(Time::new(5, 2).unwrap()), "\"00:00:00.05\""),
        (Datum::DateTime2(instant(0)), "\"2024-02-29T00:00:00\""),
        (Datum::DateTime2(instant(7)), "\"2024-02-29T00:00:00.0000000\""),
        (
            Datum::DateTimeOffset(DateTimeOffset::new(instant(1), -330).unwrap()),
            "\"2024-02-28T18:30:00.0-05:30\"",
        ),
        (Datum::Guid(Guid([0xAB; 16])), "\"ABABABAB-ABAB-ABAB-ABAB-ABABABABABAB\""),
        (Datum::RowVersion(0x7D1), "\"0x00000000000007D1\""),
        (Datum::Binary(Cow::Borrowed(&[])), "\"0x\""),
        (Datum::Binary(Cow::Borrowed(&[0, 0xAF])), "\"0x00AF\""),
        (Datum::Udt { kind: UdtKind::HierarchyId, bytes: Cow::Borrowed(&[0x58]) }, "\"0x58\""),
        (
            Datum::Variant(Box::new(Variant {
                ty: SqlType::Decimal { precision: 5, scale: 1 },
                value: Datum::Decimal(Decimal::parse("1.5").unwrap()),
            })),
            "{\"type\":\"decimal\",\"value\":\"1.5\"}",
        ),
    ];
    for (value, text) in cases {
        assert_eq!(json(&value), text);
    }
}

#[test]
fn text_keeps_padding_and_escapes() {
    let char_text = |bytes: &'static [u8], code_page| {
        Datum::Char(CharText { bytes: Cow::Borrowed(bytes), code_page })
    };
    assert_eq!(json(&char_text(b"ab  ", CodePage::Cp1252)), "\"ab  \"");
    assert_eq!(
        json(&char_text(b"\"\\\n\x01\x7F\x80", CodePage::Cp1252)),
        "\"\\\"\\\\\\n\\u0001\u{7F}€\""
    );
    let units: [u16; 5] = [0x41, 0xD800, 0x22, 0xD83D, 0xDE00];
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    assert_eq!(json(&Datum::NChar(NText { bytes: Cow::Owned(bytes) })), "\"A\\uD800\\\"😀\"");
}

#[test]
fn replacements_are_counted() {
    let text = CharText {
        bytes: Cow::Borrowed(b"a\xE9\xFF"),
        code_page: CodePage::Unknown,
    };
    let mut out = String::new();
    assert_eq!(write_json(&Datum::Char(text), &mut out), Ok(2));
    assert_eq!(out, "\"a\u{FFFD}\u{FFFD}\"");
}

#[test]
fn xml_is_text_when_decoded_and_hex_otherwise() {
    let bytes = crate::xml::tests::element_with_text("\"");
    assert_eq!(json(&Datum::Xml(Cow::Owned(bytes))), "\"<a>\\\"</a>\"");
    assert_eq!(json(&Datum::Xml(Cow::Borrowed(&[1, 2]))), "\"0x0102\"");
}

#[test]
fn long_binary_is_written_in_full() {
    let bytes: Vec<u8> = (0..1000u32).map(|at| at as u8).collect();
    let text = json(&Datum::Binary(Cow::Borrowed(&bytes)));
    let expected: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    assert_eq!(text, format!("\"0x{expected}\""));
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn floats_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(json(&Datum::Float(value)).parse::<f64>().unwrap().to_bits(), bits);
            let single = f32::from_bits(bits as u32);
            prop_assume!(single.is_finite());
            prop_assert_eq!(json(&Datum::Real(single)).parse::<f32>().unwrap().to_bits(), bits as u32);
        }
    }
}
