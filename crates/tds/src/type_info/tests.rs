use extentdb_types::{Collation, SqlType, UdtKind};

use super::*;
use crate::error::Cause;
use crate::protocol::Protocol;
use crate::reader::ByteReader;

const LATIN1: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

pub(crate) fn every_sql_type() -> Vec<SqlType> {
    let collation = LATIN1;
    let mut types = vec![
        SqlType::Bit,
        SqlType::TinyInt,
        SqlType::SmallInt,
        SqlType::Int,
        SqlType::BigInt,
        SqlType::Decimal { precision: 9, scale: 2 },
        SqlType::Numeric { precision: 38, scale: 38 },
        SqlType::Money,
        SqlType::SmallMoney,
        SqlType::Float,
        SqlType::Real,
        SqlType::DateTime,
        SqlType::SmallDateTime,
        SqlType::Date,
        SqlType::Char { len: 10, collation },
        SqlType::VarChar { len: Some(8000), collation },
        SqlType::VarChar { len: None, collation },
        SqlType::Text { collation },
        SqlType::NChar { len: 20, collation },
        SqlType::NVarChar { len: Some(8000), collation },
        SqlType::NVarChar { len: None, collation },
        SqlType::NText { collation },
        SqlType::Binary { len: 8 },
        SqlType::VarBinary { len: Some(1) },
        SqlType::VarBinary { len: None },
        SqlType::Image,
        SqlType::UniqueIdentifier,
        SqlType::SqlVariant,
        SqlType::Xml,
        SqlType::Udt { len: Some(892), kind: UdtKind::HierarchyId },
        SqlType::Udt { len: None, kind: UdtKind::Geography },
    ];
    for scale in 0..=7 {
        types.push(SqlType::Time { scale });
        types.push(SqlType::DateTime2 { scale });
        types.push(SqlType::DateTimeOffset { scale });
    }
    types
}

fn bytes(info: &TypeInfo, place: Place) -> Vec<u8> {
    let mut out = Vec::new();
    info.write(place, &mut out).unwrap();
    out
}

#[test]
fn every_type_comes_back_as_the_type_that_the_version_knows() {
    for version in TdsVersion::ALL {
        let protocol = Protocol::new(version, LATIN1);
        for ty in every_sql_type() {
            for nullability in [Nullability::NotNull, Nullability::Nullable] {
                let info = TypeInfo::of(ty, nullability, &protocol);
                let bytes = bytes(&info, Place::Column);
                let mut reader = ByteReader::new(&bytes);
                let back = TypeInfo::read(&mut reader, &protocol, Place::Column);
                assert_eq!(back.as_ref(), Ok(&info));
                assert!(reader.is_empty());
                let seen = down_level::replaced(ty, version, LATIN1);
                assert_eq!(info.to_sql_type(LATIN1), Some(seen), "{version:?}");
            }
        }
    }
}

#[test]
fn known_bytes() {
    let protocol = Protocol::new(TdsVersion::V7_4, LATIN1);
    let check = |ty: SqlType, expected: &[u8]| {
        let info = TypeInfo::of(ty, Nullability::Nullable, &protocol);
        assert_eq!(bytes(&info, Place::Column), expected, "{ty}");
    };
    check(SqlType::Int, &[0x26, 4]);
    check(SqlType::Decimal { precision: 18, scale: 4 }, &[0x6A, 9, 18, 4]);
    check(SqlType::DateTime2 { scale: 7 }, &[0x2A, 7]);
    check(SqlType::RowVersion, &[0xAD, 8, 0]);
    check(SqlType::SqlVariant, &[0x62, 0x49, 0x1F, 0, 0]);
    let nvarchar = SqlType::NVarChar { len: None, collation: LATIN1 };
    check(nvarchar, &[0xE7, 0xFF, 0xFF, 0x09, 0x04, 0xD0, 0x00, 0x34]);
    let fixed = TypeInfo::of(SqlType::Int, Nullability::NotNull, &protocol);
    assert_eq!(bytes(&fixed, Place::Column), [0x38]);
}

#[test]
fn old_clients_see_types_that_they_know() {
    let seen = |ty, version| down_level::replaced(ty, version, LATIN1).to_string();
    let v7_1 = TdsVersion::V7_1;
    assert_eq!(seen(SqlType::Date, v7_1), "nvarchar(10)");
    assert_eq!(seen(SqlType::Time { scale: 0 }, v7_1), "nvarchar(8)");
    assert_eq!(seen(SqlType::Time { scale: 7 }, v7_1), "nvarchar(16)");
    assert_eq!(seen(SqlType::DateTime2 { scale: 7 }, TdsVersion::V7_2), "nvarchar(27)");
    assert_eq!(seen(SqlType::DateTimeOffset { scale: 7 }, v7_1), "nvarchar(34)");
    assert_eq!(seen(SqlType::Xml, v7_1), "ntext");
    assert_eq!(seen(SqlType::Xml, TdsVersion::V7_2), "xml");
    assert_eq!(seen(SqlType::VarBinary { len: None }, v7_1), "image");
    let hierarchyid = SqlType::Udt { len: Some(892), kind: UdtKind::HierarchyId };
    assert_eq!(seen(hierarchyid, v7_1), "varbinary(892)");
}

#[test]
fn the_names_of_a_clr_type_are_shorter_in_a_parameter() {
    let protocol = Protocol::new(TdsVersion::V7_4, LATIN1);
    let info = TypeInfo::Udt(Box::new(UdtInfo::of(UdtKind::Geometry, None)));
    let parameter = bytes(&info, Place::Parameter);
    assert_eq!(parameter[..4], [0xF0, 0, 3, b's']);
    let back = TypeInfo::read(&mut ByteReader::new(&parameter), &protocol, Place::Parameter);
    let TypeInfo::Udt(back) = back.unwrap() else { panic!() };
    assert_eq!((back.kind(), back.assembly.as_str()), (UdtKind::Geometry, ""));
    assert!(bytes(&info, Place::Column).len() > parameter.len());
}

#[test]
fn typed_xml_names_its_schema() {
    let protocol = Protocol::new(TdsVersion::V7_4, LATIN1);
    let schema = XmlSchema {
        database: "db".to_owned(),
        owner: "dbo".to_owned(),
        collection: "sc".to_owned(),
    };
    let info = TypeInfo::Xml(Some(Box::new(schema)));
    let bytes = bytes(&info, Place::Column);
    let back = TypeInfo::read(&mut ByteReader::new(&bytes), &protocol, Place::Column);
    assert_eq!(back, Ok(info));
}

#[track_caller]
fn refused(bytes: &[u8], version: TdsVersion, at: usize, cause: Cause) {
    let protocol = Protocol::new(version, LATIN1);
    let error = TypeInfo::read(&mut ByteReader::new(bytes), &protocol, Place::Column).unwrap_err();
    assert_eq!((error.at, error.cause), (at, cause));
}

#[test]
fn impossible_types_are_refused_at_their_place() {
    let v = TdsVersion::V7_4;
    refused(&[0x00], v, 0, Cause::Type { code: 0 });
    refused(&[0x26, 3], v, 1, Cause::Value { field: "length of type", found: 3 });
    refused(&[0x24, 8], v, 1, Cause::Value { field: "length of type", found: 8 });
    refused(&[0x6A, 17, 39, 0], v, 2, Cause::Value { field: "precision", found: 39 });
    refused(&[0x6A, 17, 5, 6], v, 3, Cause::Value { field: "scale", found: 6 });
    refused(&[0x29, 8], v, 1, Cause::Value { field: "scale", found: 8 });
    let max = Cause::Value { field: "length of type", found: 0xFFFF };
    refused(&[0xAF, 0xFF, 0xFF], v, 1, max);
    let dates = Cause::NotInVersion { what: "date and time types" };
    refused(&[0x28], TdsVersion::V7_2, 0, dates);
    let max = Cause::NotInVersion { what: "(max)" };
    refused(&[0xA5, 0xFF, 0xFF], TdsVersion::V7_1, 1, max);
}
