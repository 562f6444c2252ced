//! A type as INFORMATION_SCHEMA describes it.
//!
//! ```text
//! characters and binaries   lengths in characters and bytes; -1 for (max) and xml
//! numbers                   precision, its radix, scale; floats have radix 2 and no scale
//! dates and times           digits of the seconds
//! character set             iso_1 and its kin for char, UNICODE for nchar
//! ```

use extentdb_engine::model::{CatalogModel, Column};
use extentdb_types::{CodePage, SqlType};

use crate::columns::Columns;
use crate::view::type_facets::Facets;

/// Characters or bytes of the values of text, ntext, image at most.
const LOB_MAX: i32 = i32::MAX;

/// A type as INFORMATION_SCHEMA describes it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::view) struct InfoType {
    pub(in crate::view) name: Option<String>,
    characters: Option<i32>,
    bytes: Option<i32>,
    precision: Option<u8>,
    radix: Option<u8>,
    scale: Option<u8>,
    datetime_precision: Option<u8>,
    character_set: Option<String>,
    collation: Option<String>,
    /// Schema and name of an alias type.
    pub(in crate::view) domain: Option<(String, String)>,
}

impl InfoType {
    /// The type of a column or parameter.
    pub(in crate::view) fn of_column(column: &Column, model: &CatalogModel) -> InfoType {
        let mut info = column.ty.as_ref().map(InfoType::of).unwrap_or_default();
        let alias = column.user_type.as_deref().map(|alias| {
            let (schema, name) = alias.split_once('.').unwrap_or(("sys", alias));
            (schema.to_owned(), name.to_owned())
        });
        let is_udt = matches!(column.ty, Some(SqlType::Udt { .. }));
        if let Some((_, name)) = alias.as_ref().filter(|_| is_udt) {
            info.name = Some(name.clone());
        } else if let Some((schema, name)) = alias.filter(|(schema, _)| schema != "sys") {
            info.domain = model.schema(&schema).map(|schema| (schema.name.clone(), name));
        }
        info
    }

    /// That of a system type.
    pub(in crate::view) fn of(ty: &SqlType) -> InfoType {
        let facets = Facets::of(ty);
        let (characters, bytes) = lengths(ty, facets.max_length);
        let (precision, radix, scale) = number(ty, facets);
        InfoType {
            name: Some(type_name(ty).to_owned()),
            characters,
            bytes,
            precision,
            radix,
            scale,
            datetime_precision: seconds(ty),
            character_set: character_set(ty),
            collation: ty.collation().and_then(|collation| collation.name()),
            domain: None,
        }
    }

    /// What a function with a table returns.
    pub(in crate::view) fn table() -> InfoType {
        InfoType { name: Some("TABLE".to_owned()), ..InfoType::default() }
    }
}

/// The name in `sys.types`.
fn type_name(ty: &SqlType) -> &'static str {
    if *ty == SqlType::RowVersion { "timestamp" } else { ty.base_name() }
}

fn lengths(ty: &SqlType, max_length: i16) -> (Option<i32>, Option<i32>) {
    let both = |length: i32| (Some(length), Some(length));
    match ty {
        SqlType::Text { .. } | SqlType::Image => both(LOB_MAX),
        SqlType::NText { .. } => (Some(LOB_MAX / 2), Some(LOB_MAX - 1)),
        SqlType::SqlVariant => both(0),
        SqlType::NChar { .. } | SqlType::NVarChar { len: Some(_), .. } => {
            (Some(i32::from(max_length) / 2), Some(max_length.into()))
        }
        SqlType::Char { .. }
        | SqlType::VarChar { .. }
        | SqlType::NVarChar { .. }
        | SqlType::Binary { .. }
        | SqlType::VarBinary { .. }
        | SqlType::Xml
        | SqlType::Udt { .. } => both(max_length.into()),
        _ => (None, None),
    }
}

fn number(ty: &SqlType, facets: Facets) -> (Option<u8>, Option<u8>, Option<u8>) {
    match ty {
        SqlType::Float | SqlType::Real => (Some(facets.precision), Some(2), None),
        SqlType::TinyInt
        | SqlType::SmallInt
        | SqlType::Int
        | SqlType::BigInt
        | SqlType::Decimal { .. }
        | SqlType::Numeric { .. }
        | SqlType::Money
        | SqlType::SmallMoney => (Some(facets.precision), Some(10), Some(facets.scale)),
        _ => (None, None, None),
    }
}

fn seconds(ty: &SqlType) -> Option<u8> {
    match *ty {
        SqlType::Date | SqlType::SmallDateTime => Some(0),
        SqlType::DateTime => Some(3),
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => Some(scale),
        _ => None,
    }
}

fn character_set(ty: &SqlType) -> Option<String> {
    let collation = ty.collation()?;
    if matches!(ty, SqlType::NChar { .. } | SqlType::NVarChar { .. } | SqlType::NText { .. }) {
        return Some("UNICODE".to_owned());
    }
    Some(match collation.code_page()? {
        CodePage::Cp1252 => "iso_1".to_owned(),
        other => format!("{other:?}").to_ascii_lowercase(),
    })
}

/// An item that has a type, or none.
pub(in crate::view) trait HasType {
    /// Its type.
    fn info(&self) -> &InfoType;
}

/// The columns that describe a type.
pub(in crate::view) fn type_columns<T: HasType>(columns: Columns<T>) -> Columns<T> {
    columns
        .put("DATA_TYPE", |it: &T| it.info().name.as_ref().into())
        .put("CHARACTER_MAXIMUM_LENGTH", |it| it.info().characters.into())
        .put("CHARACTER_OCTET_LENGTH", |it| it.info().bytes.into())
        .put("NUMERIC_PRECISION", |it| it.info().precision.into())
        .put("NUMERIC_PRECISION_RADIX", |it| it.info().radix.into())
        .put("NUMERIC_SCALE", |it| it.info().scale.into())
        .put("DATETIME_PRECISION", |it| it.info().datetime_precision.into())
        .put("CHARACTER_SET_NAME", |it| it.info().character_set.as_ref().into())
        .put("COLLATION_NAME", |it| it.info().collation.as_ref().into())
        .null(&["CHARACTER_SET_CATALOG", "CHARACTER_SET_SCHEMA"])
        .null(&["COLLATION_CATALOG", "COLLATION_SCHEMA"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_types::Collation;

    #[test]
    fn types_are_described_as_the_product_does() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let cases = [
            (SqlType::Int, "int None None Some(10) Some(10) Some(0) None"),
            (SqlType::Bit, "bit None None None None None None"),
            (SqlType::Float, "float None None Some(53) Some(2) None None"),
            (SqlType::DateTime, "datetime None None None None None Some(3)"),
            (SqlType::Date, "date None None None None None Some(0)"),
            (
                SqlType::NVarChar { len: Some(100), collation },
                "nvarchar Some(50) Some(100) None None None None",
            ),
            (
                SqlType::NVarChar { len: None, collation },
                "nvarchar Some(-1) Some(-1) None None None None",
            ),
            (
                SqlType::NText { collation },
                "ntext Some(1073741823) Some(2147483646) None None None None",
            ),
            (SqlType::RowVersion, "timestamp None None None None None None"),
        ];
        for (ty, expected) in cases {
            let info = InfoType::of(&ty);
            let InfoType { characters, bytes, precision, radix, scale, .. } = info;
            let name = info.name.unwrap();
            let seconds = info.datetime_precision;
            let shown = format!(
                "{name} {characters:?} {bytes:?} {precision:?} {radix:?} {scale:?} {seconds:?}"
            );
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn char_has_the_character_set_of_its_code_page_and_nchar_is_unicode() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        let set = |ty: SqlType| InfoType::of(&ty).character_set;
        assert_eq!(set(SqlType::Char { len: 4, collation }).as_deref(), Some("iso_1"));
        assert_eq!(set(SqlType::NChar { len: 4, collation }).as_deref(), Some("UNICODE"));
        assert_eq!(set(SqlType::Int), None);
    }
}
