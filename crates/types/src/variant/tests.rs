use super::*;
use crate::collation::Collation;
use crate::decimal::Decimal;
use crate::text::NText;

#[test]
fn base_types_of_real_files_decode() {
    let int = [56, 1, 0x2A, 0, 0, 0];
    assert_eq!(decode(&int).unwrap(), Variant { ty: SqlType::Int, value: Datum::Int(42) });
    let bit = [104, 1, 1];
    assert_eq!(decode(&bit).unwrap().value, Datum::Bit(true));
    let nvarchar = [231, 1, 0x14, 0, 0x08, 0xD0, 0x00, 0x34, b'h', 0, b'i', 0];
    let variant = decode(&nvarchar).unwrap();
    assert_eq!(
        variant.ty,
        SqlType::NVarChar {
            len: Some(20),
            collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS
        }
    );
    assert_eq!(variant.value, Datum::NChar(NText::from_text("hi")));
    let decimal = [106, 1, 10, 2, 0, 0xE2, 0x04, 0, 0, 0, 0, 0, 0];
    assert_eq!(decode(&decimal).unwrap().value, Datum::Decimal(Decimal::parse("-12.50").unwrap()));
}

#[test]
fn fixed_strings_are_stored_unpadded() {
    let char10 = [175, 1, 10, 0, 0x08, 0xD0, 0x00, 0x34, b'a', b'b'];
    let variant = decode(&char10).unwrap();
    assert_eq!(variant.ty.to_string(), "char(10)");
    let mut out = Vec::new();
    encode(&variant, &mut out).unwrap();
    assert_eq!(out, char10);
}

#[test]
fn bad_headers_are_errors() {
    let cases: [(&[u8], Field); 6] = [
        (&[56, 2, 0, 0, 0, 0], Field::VariantVersion),
        (&[98, 1, 0], Field::VariantType),
        (&[241, 1], Field::VariantType),
        (&[106, 1, 39, 0, 1], Field::VariantProperty),
        (&[41, 1, 8], Field::VariantProperty),
        (&[231, 1, 0xFF, 0xFF, 0, 0, 0, 0], Field::VariantProperty),
    ];
    for (bytes, expected) in cases {
        assert!(
            matches!(decode(bytes), Err(DecodeError::Range { field, .. }) if field == expected),
            "{bytes:?} {:?}",
            decode(bytes)
        );
    }
    for bytes in [&[][..], &[56], &[231, 1, 20, 0]] {
        assert_eq!(decode(bytes), Err(DecodeError::VariantTooShort { found: bytes.len() }));
    }
    assert!(matches!(decode(&[56, 1, 0, 0]), Err(DecodeError::Length { .. })));
    let nested = Variant { ty: SqlType::Xml, value: Datum::Null };
    assert!(encode(&nested, &mut Vec::new()).is_err());
}
