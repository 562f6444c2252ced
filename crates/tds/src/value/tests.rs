use std::borrow::Cow;

use extentdb_types::{
    CharText, CodePage, Collation, Date, DateTime, DateTime2, DateTimeOffset, Datum, Decimal, Guid,
    Money, NText, SmallDateTime, SmallMoney, SqlType, Time, UdtKind, Variant,
};

use super::*;
use crate::error::{Cause, DecodeError, EncodeError};
use crate::type_info::{Nullability, Place, TypeInfo};
use crate::{ByteReader, Protocol, TdsVersion};

const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

fn info(ty: SqlType, version: TdsVersion) -> TypeInfo {
    TypeInfo::of(ty, Nullability::Nullable, &Protocol::new(version, LATIN1))
}

fn written(ty: SqlType, value: &Datum<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    write_value(&info(ty, TdsVersion::V7_4), Place::Column, value, &mut out).unwrap();
    out
}

fn char(text: &str) -> Datum<'static> {
    let bytes = CodePage::Cp1252.encode(text).unwrap().into();
    Datum::Char(CharText { bytes, code_page: CodePage::Cp1252 })
}

fn nchar(text: &str) -> Datum<'static> {
    Datum::NChar(NText::from_text(text))
}

/// The value comes back, and its bytes are those given.
#[track_caller]
fn check(ty: SqlType, value: &Datum<'_>, bytes: &[u8]) {
    assert_eq!(written(ty, value), bytes, "{ty}");
    let mut reader = ByteReader::new(bytes);
    let back = read_value(&info(ty, TdsVersion::V7_4), Place::Column, &mut reader).unwrap();
    assert!(reader.is_empty());
    assert_eq!(&back, value, "{ty}");
}

#[test]
fn numbers() {
    check(SqlType::Int, &Datum::Int(1), &[4, 1, 0, 0, 0]);
    check(SqlType::TinyInt, &Datum::TinyInt(255), &[1, 255]);
    check(SqlType::Bit, &Datum::Bit(true), &[1, 1]);
    check(SqlType::BigInt, &Datum::BigInt(i64::MIN), &[8, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    check(SqlType::Real, &Datum::Real(1.0), &[4, 0, 0, 0x80, 0x3F]);
    let ty = SqlType::Decimal { precision: 10, scale: 2 };
    let value = Datum::Decimal(Decimal::parse("-12.50").unwrap());
    check(ty, &value, &[9, 0, 0xE2, 4, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn money_has_its_high_half_first() {
    check(SqlType::Money, &Datum::Money(Money(1)), &[8, 0, 0, 0, 0, 1, 0, 0, 0]);
    let minus_one = Datum::Money(Money(-1));
    check(SqlType::Money, &minus_one, &[8, 255, 255, 255, 255, 255, 255, 255, 255]);
    let big = Datum::Money(Money(0x0102_0304_0506_0708));
    check(SqlType::Money, &big, &[8, 4, 3, 2, 1, 8, 7, 6, 5]);
    check(SqlType::SmallMoney, &Datum::SmallMoney(SmallMoney(10_000)), &[4, 0x10, 0x27, 0, 0]);
}

#[test]
fn dates_and_times() {
    let datetime = Datum::DateTime(DateTime::new(1, 300).unwrap());
    check(SqlType::DateTime, &datetime, &[8, 1, 0, 0, 0, 0x2C, 1, 0, 0]);
    let small = Datum::SmallDateTime(SmallDateTime::new(1, 2).unwrap());
    check(SqlType::SmallDateTime, &small, &[4, 1, 0, 2, 0]);
    check(SqlType::Date, &Datum::Date(Date::new(0x01_0203).unwrap()), &[3, 3, 2, 1]);
    let time = Time::new(0x01_0203, 3).unwrap();
    check(SqlType::Time { scale: 3 }, &Datum::Time(time), &[4, 3, 2, 1, 0]);
    let datetime2 = DateTime2 { date: Date::new(5).unwrap(), time };
    let bytes = [7, 3, 2, 1, 0, 5, 0, 0];
    check(SqlType::DateTime2 { scale: 3 }, &Datum::DateTime2(datetime2), &bytes);
    let offset = DateTimeOffset::new(datetime2, -60).unwrap();
    let bytes = [9, 3, 2, 1, 0, 5, 0, 0, 0xC4, 0xFF];
    check(SqlType::DateTimeOffset { scale: 3 }, &Datum::DateTimeOffset(offset), &bytes);
}

#[test]
fn texts_and_binary() {
    let collation = LATIN1;
    check(SqlType::VarChar { len: Some(5), collation }, &char("é"), &[1, 0, 0xE9]);
    check(SqlType::NVarChar { len: Some(10), collation }, &nchar("é"), &[2, 0, 0xE9, 0]);
    check(SqlType::NVarChar { len: Some(10), collation }, &nchar(""), &[0, 0]);
    let binary = Datum::Binary(Cow::Borrowed(&[7, 8]));
    check(SqlType::Binary { len: 2 }, &binary, &[2, 0, 7, 8]);
    let plp = [2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 7, 8, 0, 0, 0, 0];
    check(SqlType::VarBinary { len: None }, &binary, &plp);
    let empty = Datum::Binary(Cow::Borrowed(&[]));
    check(SqlType::VarBinary { len: None }, &empty, &[0; 12]);
    check(SqlType::Xml, &nchar("<a/>"), &{
        let mut bytes = vec![8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0];
        bytes.extend(b"<\0a\0/\0>\0");
        bytes.extend([0; 4]);
        bytes
    });
    let udt = Datum::Udt { kind: UdtKind::HierarchyId, bytes: Cow::Borrowed(&[0x58]) };
    let ty = SqlType::Udt { len: Some(892), kind: UdtKind::HierarchyId };
    check(ty, &udt, &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x58, 0, 0, 0, 0]);
    check(SqlType::UniqueIdentifier, &Datum::Guid(Guid([3; 16])), &{
        let mut bytes = vec![16];
        bytes.extend([3; 16]);
        bytes
    });
}

#[test]
fn text_pointers_stand_in_rows_alone() {
    let text = info(SqlType::Text { collation: LATIN1 }, TdsVersion::V7_4);
    let mut row = Vec::new();
    write_value(&text, Place::Column, &char("ab"), &mut row).unwrap();
    assert_eq!(row.len(), 1 + 16 + 8 + 4 + 2);
    assert_eq!((row[0], &row[25..]), (16, &[2, 0, 0, 0, b'a', b'b'][..]));
    let mut parameter = Vec::new();
    write_value(&text, Place::Parameter, &char("ab"), &mut parameter).unwrap();
    assert_eq!(parameter, [2, 0, 0, 0, b'a', b'b']);
    for (place, bytes) in [(Place::Column, row), (Place::Parameter, parameter)] {
        let back = read_value(&text, place, &mut ByteReader::new(&bytes));
        assert_eq!(back, Ok(char("ab")));
    }
}

#[test]
fn every_type_has_its_null() {
    let collation = LATIN1;
    check(SqlType::Int, &Datum::Null, &[0]);
    check(SqlType::Date, &Datum::Null, &[0]);
    check(SqlType::Decimal { precision: 5, scale: 0 }, &Datum::Null, &[0]);
    check(SqlType::Char { len: 1, collation }, &Datum::Null, &[0xFF, 0xFF]);
    check(SqlType::Xml, &Datum::Null, &[0xFF; 8]);
    check(SqlType::SqlVariant, &Datum::Null, &[0; 4]);
    check(SqlType::Image, &Datum::Null, &[0]);
    let not_null = TypeInfo::Fixed(crate::type_info::Scalar::Int);
    let error = write_value(&not_null, Place::Column, &Datum::Null, &mut Vec::new());
    assert_eq!(error, Err(EncodeError::Null { wire: "int" }));
    let mut out = Vec::new();
    let ntext = info(SqlType::NText { collation }, TdsVersion::V7_4);
    write_value(&ntext, Place::Parameter, &Datum::Null, &mut out).unwrap();
    assert_eq!(out, [0xFF; 4]);
}

#[test]
fn a_variant_carries_its_type() {
    let variant = |ty, value| Datum::Variant(Box::new(Variant { ty, value }));
    let int = variant(SqlType::Int, Datum::Int(7));
    check(SqlType::SqlVariant, &int, &[6, 0, 0, 0, 0x38, 0, 7, 0, 0, 0]);
    let ty = SqlType::Decimal { precision: 5, scale: 1 };
    let decimal = variant(ty, Datum::Decimal(Decimal::parse("1.5").unwrap()));
    check(SqlType::SqlVariant, &decimal, &[9, 0, 0, 0, 0x6A, 2, 5, 1, 1, 15, 0, 0, 0]);
    let ty = SqlType::NVarChar { len: Some(20), collation: LATIN1 };
    let text = variant(ty, nchar("a"));
    let bytes = [11, 0, 0, 0, 0xE7, 7, 0x09, 0x04, 0xD0, 0x00, 0x34, 20, 0, b'a', 0];
    check(SqlType::SqlVariant, &text, &bytes);
}

#[test]
fn old_clients_read_dates_as_text() {
    let date = Date::from_ymd(2026, 11, 24).unwrap();
    let time = Time::new(65_714_123, 3).unwrap();
    let local = DateTimeOffset::new(DateTime2 { date, time }, 90).unwrap();
    let cases = [
        (SqlType::Date, Datum::Date(date), "2026-11-24"),
        (SqlType::Time { scale: 3 }, Datum::Time(time), "18:15:14.123"),
        (
            SqlType::DateTime2 { scale: 3 },
            Datum::DateTime2(DateTime2 { date, time }),
            "2026-11-24 18:15:14.123",
        ),
        (
            SqlType::DateTimeOffset { scale: 3 },
            Datum::DateTimeOffset(local),
            "2026-11-24 19:45:14.123 +01:30",
        ),
    ];
    for (ty, value, text) in cases {
        let info = info(ty, TdsVersion::V7_1);
        let mut out = Vec::new();
        write_value(&info, Place::Column, &value, &mut out).unwrap();
        let back = read_value(&info, Place::Column, &mut ByteReader::new(&out)).unwrap();
        assert_eq!(back, nchar(text));
        let TypeInfo::NVarChar { len: Some(len), .. } = info else { panic!() };
        assert_eq!(usize::from(len), text.len() * 2, "the declared length is exact");
    }
}

#[test]
fn a_value_in_chunks_is_joined_and_borrowed_when_there_is_one() {
    let info = info(SqlType::VarBinary { len: None }, TdsVersion::V7_4);
    let mut bytes = Vec::new();
    write_plp_start(None, &mut bytes);
    write_plp_chunk(&[1, 2], &mut bytes);
    write_plp_chunk(&[], &mut bytes);
    write_plp_chunk(&[3], &mut bytes);
    write_plp_end(&mut bytes);
    let mut reader = ByteReader::new(&bytes);
    let RawValue::Plp(plp) = RawValue::read(&info, Place::Column, &mut reader).unwrap() else {
        panic!()
    };
    assert_eq!(plp.len(), 3);
    assert_eq!(plp.chunks().collect::<Vec<_>>(), [&[1u8, 2][..], &[3]]);
    assert!(matches!(plp.join(), Cow::Owned(joined) if joined == [1, 2, 3]));
    bytes[..8].copy_from_slice(&4u64.to_le_bytes());
    let error = RawValue::read(&info, Place::Column, &mut ByteReader::new(&bytes)).unwrap_err();
    assert_eq!(error.cause, Cause::Value { field: "PLP length", found: 4 });
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_written() {
    let refused = |ty: SqlType, value: Datum<'_>| {
        let mut out = vec![9];
        let info = info(ty, TdsVersion::V7_4);
        let error = write_value(&info, Place::Column, &value, &mut out).unwrap_err();
        assert_eq!(out, [9]);
        error
    };
    let collation = LATIN1;
    let length = EncodeError::Length { wire: "varchar", max: 1, found: 2 };
    assert_eq!(refused(SqlType::VarChar { len: Some(1), collation }, char("ab")), length);
    let mismatch = EncodeError::TypeMismatch { wire: "int", value: "bigint" };
    assert_eq!(refused(SqlType::Int, Datum::BigInt(1)), mismatch);
    let value = Decimal::parse("1.234").unwrap();
    let ty = SqlType::Decimal { precision: 9, scale: 2 };
    assert!(matches!(refused(ty, Datum::Decimal(value)), EncodeError::Scale { .. }));
    let value = Decimal::parse("12345678901.00").unwrap();
    assert!(matches!(refused(ty, Datum::Decimal(value)), EncodeError::Length { .. }));
    let time = Time::new(1, 7).unwrap();
    assert!(matches!(
        refused(SqlType::Time { scale: 3 }, Datum::Time(time)),
        EncodeError::Scale { .. }
    ));
    assert_eq!(refused(SqlType::Xml, Datum::Xml(Cow::Borrowed(&[0xDF, 0xFF]))), EncodeError::Xml);
}

#[test]
fn text_of_another_code_page_is_converted() {
    let greek = Collation(0x0000_D007);
    assert_eq!(greek.code_page(), Some(CodePage::Cp1253));
    let ty = SqlType::VarChar { len: Some(10), collation: greek };
    let bytes = CodePage::Cp1252.encode("aµé").unwrap().into();
    let value = Datum::Char(CharText { bytes, code_page: CodePage::Cp1252 });
    assert_eq!(written(ty, &value), [3, 0, b'a', 0xB5, b'?']);
}

#[test]
fn clients_may_send_less_than_the_declared_width() {
    let bigint = info(SqlType::BigInt, TdsVersion::V7_4);
    let value = read_value(&bigint, Place::Parameter, &mut ByteReader::new(&[4, 5, 0, 0, 0]));
    assert_eq!(value, Ok(Datum::Int(5)));
    let decimal = info(SqlType::Decimal { precision: 38, scale: 0 }, TdsVersion::V7_4);
    let bytes = [5, 1, 7, 0, 0, 0];
    let value = read_value(&decimal, Place::Parameter, &mut ByteReader::new(&bytes));
    assert_eq!(value, Ok(Datum::Decimal(Decimal::parse("7").unwrap())));
    let cause = Cause::Value { field: "length of value", found: 3 };
    let error = read_value(&bigint, Place::Parameter, &mut ByteReader::new(&[3, 5, 0, 0]));
    assert_eq!(error.unwrap_err(), DecodeError { at: 0, cause });
}

#[test]
fn stored_bytes_and_values_give_the_same_wire_bytes() {
    let collation = LATIN1;
    let time = Time::new(123, 3).unwrap();
    let datetime2 = DateTime2 { date: Date::new(5).unwrap(), time };
    let variant = Variant { ty: SqlType::Int, value: Datum::Int(7) };
    let cases = [
        (SqlType::Int, Datum::Int(-5)),
        (SqlType::Money, Datum::Money(Money(0x0102_0304_0506_0708))),
        (SqlType::DateTime, Datum::DateTime(DateTime::new(-5, 77).unwrap())),
        (SqlType::SmallDateTime, Datum::SmallDateTime(SmallDateTime::new(9, 77).unwrap())),
        (SqlType::DateTime2 { scale: 3 }, Datum::DateTime2(datetime2)),
        (
            SqlType::Decimal { precision: 20, scale: 1 },
            Datum::Decimal(Decimal::parse("1.5").unwrap()),
        ),
        (SqlType::VarChar { len: None, collation }, char("é")),
        (SqlType::NText { collation }, nchar("é")),
        (SqlType::RowVersion, Datum::RowVersion(0x0102)),
        (SqlType::SqlVariant, Datum::Variant(Box::new(variant))),
    ];
    for version in TdsVersion::ALL {
        for (ty, value) in &cases {
            let info = info(*ty, version);
            let mut stored = Vec::new();
            value.encode(ty, &mut stored).unwrap();
            let mut by_value = Vec::new();
            write_value(&info, Place::Column, value, &mut by_value).unwrap();
            let mut by_bytes = Vec::new();
            write_stored(&info, Place::Column, ty, Some(&stored), &mut by_bytes).unwrap();
            assert_eq!(by_bytes, by_value, "{ty} {version:?}");
        }
    }
}
