use extentdb_base::env::{Rng, SplitMix64};
use extentdb_types::Collation;

use super::*;

const COLLATION: Collation = Collation(0x0000_d008);

fn expanded(ty: SqlType, bytes: &[u8]) -> Vec<u8> {
    decompress_value(&ty, bytes)
        .unwrap_or_else(|error| panic!("{ty} {bytes:02x?}: {error}"))
        .into_owned()
}

#[test]
fn published_integers() {
    let cases: [(i64, &[u8]); 8] = [
        (-2, &[0x7e]),
        (-1, &[0x7f]),
        (0, &[]),
        (1, &[0x81]),
        (127, &[0xff]),
        (128, &[0x80, 0x80]),
        (i64::from(i32::MAX), &[0xff, 0xff, 0xff, 0xff]),
        (6_538, &[0x99, 0x8a]),
    ];
    for (value, bytes) in cases {
        assert_eq!(expanded(SqlType::BigInt, bytes), value.to_le_bytes());
        assert_eq!(expanded(SqlType::Int, bytes), (value as i32).to_le_bytes());
    }
    assert_eq!(expanded(SqlType::SmallInt, &[0x7f, 0x00]), (-256i16).to_le_bytes());
    assert_eq!(expanded(SqlType::BigInt, &[0; 8]), i64::MIN.to_le_bytes());
    assert_eq!(expanded(SqlType::TinyInt, &[0xff]), [0xff]);
    assert_eq!(expanded(SqlType::TinyInt, &[]), [0]);
    assert_eq!(expanded(SqlType::Money, &[0x80, 0xc8]), 200i64.to_le_bytes());
    let too_long = CompressedError::Length { ty: SqlType::SmallInt, expected: 2, found: 3 };
    assert_eq!(decompress_value(&SqlType::SmallInt, &[1, 2, 3]), Err(too_long));
}

#[test]
fn published_dates_and_times() {
    let ty = SqlType::DateTime;
    let first = expanded(ty, &[0x7f, 0x2e, 0x46, 0, 0, 0, 0]);
    assert_eq!(first, [0, 0, 0, 0, 0x46, 0x2e, 0xff, 0xff], "1753-01-01");
    assert_eq!(expanded(ty, &[]), [0; 8], "1900-01-01");
    assert_eq!(expanded(ty, &[0x81]), [1, 0, 0, 0, 0, 0, 0, 0], "one tick");
    assert_eq!(expanded(SqlType::Date, &[0x01, 0x02]), [1, 2, 0]);
    assert_eq!(expanded(SqlType::DateTime2 { scale: 7 }, &[]), [0; 8]);
    assert_eq!(expanded(SqlType::DateTimeOffset { scale: 3 }, &[5]), [5, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(expanded(SqlType::SmallDateTime, &[0x12, 0x34]), [0, 0, 0x12, 0x34], "midnight");
    assert_eq!(expanded(SqlType::SmallDateTime, &[0x9f, 5, 0xff, 0xff]), [0x9f, 5, 0xff, 0xff]);
}

#[test]
fn floats_keep_their_high_bytes() {
    assert_eq!(expanded(SqlType::Float, &[0xf0, 0x3f]), 1f64.to_le_bytes());
    assert_eq!(expanded(SqlType::Real, &[0x80, 0x3f]), 1f32.to_le_bytes());
    assert_eq!(expanded(SqlType::Float, &[0x80]), (-0f64).to_le_bytes());
    assert_eq!(expanded(SqlType::Float, &[]), 0f64.to_le_bytes());
}

#[test]
fn texts_are_filled_with_blanks_and_binaries_with_zeros() {
    assert_eq!(expanded(SqlType::Char { len: 5, collation: COLLATION }, b"ab"), b"ab   ");
    assert_eq!(expanded(SqlType::NChar { len: 8, collation: COLLATION }, b"abc"), b"a\0b\0c\0 \0");
    assert_eq!(expanded(SqlType::NChar { len: 8, collation: COLLATION }, b"a\0"), b"a\0 \0 \0 \0");
    assert_eq!(expanded(SqlType::Binary { len: 4 }, &[1, 2]), [1, 2, 0, 0]);
    assert_eq!(expanded(SqlType::RowVersion, &[7, 0xd1]), [0, 0, 0, 0, 0, 0, 7, 0xd1]);
    assert_eq!(expanded(SqlType::VarBinary { len: Some(9) }, &[1, 0]), [1, 0]);
    assert_eq!(expanded(SqlType::UniqueIdentifier, &[3; 16]), [3; 16]);
    assert_eq!(expanded(SqlType::UniqueIdentifier, &[]), [0; 16]);
    let short = CompressedError::Length { ty: SqlType::UniqueIdentifier, expected: 16, found: 3 };
    assert_eq!(decompress_value(&SqlType::UniqueIdentifier, &[1, 2, 3]), Err(short));
}

#[test]
fn an_odd_number_of_bytes_is_compressed_text_but_not_in_a_max_column() {
    let ty = |len| SqlType::NVarChar { len, collation: COLLATION };
    assert_eq!(expanded(ty(Some(80)), b"Gray\x10"), b"G\0r\0a\0y\0");
    // Eight bytes of a real column: even, therefore UTF-16.
    let cory = [0x43, 0x00, 0x0f, 0x1d, 0x80, 0x02, 0x8f, 0x02];
    assert_eq!(expanded(ty(Some(80)), &cory), cory);
    assert_eq!(expanded(ty(None), b"abc"), b"abc");
    let broken = CompressedError::Text(ScsuError::Truncated { at: 0 });
    assert_eq!(decompress_value(&ty(Some(80)), &[0x0e]), Err(broken));
}

#[test]
fn descriptors_must_go_with_the_type() {
    let bit = |value: CompressedValue<'static>| {
        value.decompress(&SqlType::Bit).map(|value| value.unwrap().into_owned())
    };
    assert_eq!(bit(CompressedValue::BitTrue).unwrap(), [1]);
    assert_eq!(bit(CompressedValue::Bytes((&[]).into())).unwrap(), [0]);
    assert!(bit(CompressedValue::Bytes((&[1]).into())).is_err());
    let int = CompressedValue::BitTrue.decompress(&SqlType::Int);
    assert_eq!(int, Err(CompressedError::Descriptor { ty: SqlType::Int }));
    assert_eq!(CompressedValue::Null.decompress(&SqlType::Int), Ok(None));
    let pointer = CompressedValue::Pointer(&[0; 16]).decompress(&SqlType::Image);
    assert_eq!(pointer, Err(CompressedError::IsPointer { ty: SqlType::Image }));
    let owned = CompressedValue::Bytes(vec![0x81].into()).decompress(&SqlType::Int);
    assert_eq!(owned.unwrap().unwrap().into_owned(), 1i32.to_le_bytes());
}

#[test]
fn decimals_come_back_in_their_fixed_form() {
    let ty = SqlType::Decimal { precision: 5, scale: 2 };
    assert_eq!(expanded(ty, &[0xc2, 0x1e, 0xdc, 0x20]), [1, 0x39, 0x30, 0, 0]);
    assert_eq!(expanded(ty, &[]), [1, 0, 0, 0, 0]);
}

#[test]
fn random_bytes_never_panic_and_fixed_types_have_their_width() {
    let types = [
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::Int,
        SqlType::Money,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Float,
        SqlType::DateTimeOffset { scale: 7 },
        SqlType::Numeric { precision: 38, scale: 20 },
        SqlType::Char { len: 9, collation: COLLATION },
        SqlType::NChar { len: 12, collation: COLLATION },
        SqlType::NVarChar { len: Some(40), collation: COLLATION },
        SqlType::UniqueIdentifier,
        SqlType::RowVersion,
        SqlType::Xml,
    ];
    let mut rng = SplitMix64::new(7);
    for _ in 0..30_000 {
        let bytes: Vec<u8> = (0..rng.below(20)).map(|_| rng.next_u64() as u8).collect();
        for ty in types {
            if let Ok(value) = decompress_value(&ty, &bytes) {
                assert!(
                    ty.fixed_bytes().is_none_or(|width| value.len() == width),
                    "{ty} {bytes:02x?}"
                );
            }
        }
    }
}
