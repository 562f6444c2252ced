//! What a sql_variant and a collation are: SQL_VARIANT_PROPERTY, COLLATIONPROPERTY.

use extentdb_sysview::digits;
use extentdb_types::{Collation, Datum, SqlType, Variant};

use super::catalog::text;
use super::{Definition, Kind};
use crate::cause::Cause;
use crate::frame::Values;
use crate::variant::nchar;

type Arguments<'a> = &'a [Datum<'static>];
type Given = Result<Datum<'static>, Cause>;

/// `ignore case`, `ignore accents`, `ignore kana`, `ignore width` of Windows.
const IGNORE_CASE: i32 = 0x1;
const IGNORE_ACCENTS: i32 = 0x2;
const IGNORE_KANA: i32 = 0x1_0000;
const IGNORE_WIDTH: i32 = 0x2_0000;

fn wrapped(ty: SqlType, value: Datum<'static>) -> Datum<'static> {
    Datum::Variant(Box::new(Variant { ty, value }))
}

fn int(value: i32) -> Datum<'static> {
    wrapped(SqlType::Int, Datum::Int(value))
}

fn name(at: Values<'_>, text: &str) -> Datum<'static> {
    let collation = at.connection.collation();
    wrapped(SqlType::NVarChar { len: Some(256), collation }, nchar(text))
}

fn variant_property(at: Values<'_>, it: Arguments<'_>) -> Given {
    let Some(Datum::Variant(inner)) = it.first() else { return Ok(Datum::Null) };
    let ty = &inner.ty;
    Ok(match text(it, 1).unwrap_or_default().trim_end().to_ascii_lowercase().as_str() {
        "basetype" => name(at, ty.base_name()),
        "precision" => int(digits(ty).0.into()),
        "scale" => int(digits(ty).1.into()),
        "maxlength" => int(ty.max_bytes().and_then(|it| i32::try_from(it).ok()).unwrap_or(-1)),
        "totalbytes" => int(total_bytes(inner)),
        "collation" => match ty.collation().and_then(|own| own.name()) {
            Some(own) => name(at, &own),
            None => Datum::Null,
        },
        _ => Datum::Null,
    })
}

/// Bytes of the value with what says its type.
fn total_bytes(inner: &Variant<'static>) -> i32 {
    let mut bytes = Vec::new();
    let value = Datum::Variant(Box::new(inner.clone()));
    // A value that is in memory can be stored.
    let _ = value.encode(&SqlType::SqlVariant, &mut bytes);
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

fn collation_property(_: Values<'_>, it: Arguments<'_>) -> Given {
    let collation = text(it, 0).and_then(|own| Collation::from_name(own.trim_end()));
    let Some(collation) = collation else { return Ok(Datum::Null) };
    Ok(match text(it, 1).unwrap_or_default().trim_end().to_ascii_lowercase().as_str() {
        "codepage" => collation.code_page().map_or(Datum::Null, |page| int(page_number(page))),
        "lcid" => match collation.lcid().and_then(|own| i32::try_from(own).ok()) {
            Some(own) => int(own),
            None => Datum::Null,
        },
        "comparisonstyle" => int(comparison_style(collation)),
        "tdscollation" => {
            let mut bytes = tds_collation(collation).to_le_bytes().to_vec();
            bytes.push(collation.sort_order());
            let len = u16::try_from(bytes.len()).ok();
            wrapped(SqlType::VarBinary { len }, Datum::Binary(bytes.into()))
        }
        "version" => wrapped(SqlType::TinyInt, Datum::TinyInt(collation.version() as u8)),
        _ => Datum::Null,
    })
}

fn page_number(page: extentdb_types::CodePage) -> i32 {
    let name = format!("{page:?}");
    name.trim_start_matches("Cp").parse().unwrap_or(0)
}

/// The first four bytes of a collation as the protocol has it: LCID, flags from bit 20, version.
fn tds_collation(collation: Collation) -> u32 {
    let flags = [
        collation.ignores_case(),
        collation.ignores_accents(),
        collation.ignores_kana(),
        collation.ignores_width(),
        collation.is_binary(),
        collation.is_bin2(),
    ];
    let lcid = collation.lcid().unwrap_or_default();
    let version = collation.version() as u32;
    let flags = (20..).zip(flags).map(|(bit, is_set)| u32::from(is_set) << bit).sum::<u32>();
    lcid | flags | version << 28
}

fn comparison_style(collation: Collation) -> i32 {
    if collation.is_binary() || collation.is_bin2() {
        return 0;
    }
    let flags = [
        (collation.ignores_case(), IGNORE_CASE),
        (collation.ignores_accents(), IGNORE_ACCENTS),
        (collation.ignores_kana(), IGNORE_KANA),
        (collation.ignores_width(), IGNORE_WIDTH),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}

pub(super) static TABLE: &[Definition] = &[
    Definition::new("sql_variant_property", Kind::Variant, variant_property)
        .nullable()
        .of(&[Kind::Variant, Kind::Name]),
    Definition::new("collationproperty", Kind::Variant, collation_property)
        .nullable()
        .of(&[Kind::Name, Kind::Name]),
];
