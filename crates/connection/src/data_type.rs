//! Types by their names in statements.

use extentdb_tsql::syntax::{DataType, TypeParameter};
use extentdb_types::{Collation, SqlType};

use crate::cause::{Cause, DefinitionCause};

/// Length of a text or binary type without one, in a declaration.
const DECLARED: u32 = 1;
/// The same in CAST and CONVERT.
const CONVERTED: u32 = 30;
const MAX_BYTES: u32 = 8_000;

/// The type of a variable; `position` counts the declarations from 1.
pub fn declared(
    data_type: &DataType,
    position: usize,
    collation: Collation,
) -> Result<SqlType, Cause> {
    let ty = named(data_type, DECLARED, position, collation)?;
    if ty.is_lob() { Err(Cause::LobVariable) } else { Ok(ty) }
}

/// The type of a parameter, which text, ntext and image can be.
pub fn parameter(
    data_type: &DataType,
    position: usize,
    collation: Collation,
) -> Result<SqlType, Cause> {
    named(data_type, DECLARED, position, collation)
}

/// The type that CAST or CONVERT names.
pub fn converted(data_type: &DataType, collation: Collation) -> Result<SqlType, Cause> {
    named(data_type, CONVERTED, 1, collation)
}

/// A column whose type is named.
#[derive(Clone, Copy)]
pub struct TypedColumn<'c> {
    /// Name as it was written.
    pub name: &'c str,
    /// Among the columns of its statement, from 1.
    pub position: usize,
}

/// The system type of a column; `None` when the name is none of a system type.
///
/// # Errors
/// Its length, precision or scale is beyond what the type has.
pub fn of_column(
    data_type: &DataType,
    column: TypedColumn<'_>,
    collation: Collation,
) -> Result<Option<SqlType>, Cause> {
    let is_system = data_type.name.schema().is_none_or(|it| it.text.eq_ignore_ascii_case("sys"));
    if !is_system {
        return Ok(None);
    }
    if data_type.xml_schema.is_some() {
        return Err(Cause::not_supported("xml schema collections"));
    }
    let name = data_type.name.name.text.to_ascii_lowercase();
    let parameters = &data_type.parameters;
    verify_size(&name, parameters, column)?;
    if let Some(ty) = sized(&name, parameters, DECLARED, collation) {
        return Ok(Some(ty));
    }
    let position = column.position;
    match plain(&name, collation) {
        Some(_) if !parameters.is_empty() => {
            Err(DefinitionCause::WidthOfType { position, ty: name }.into())
        }
        found => Ok(found),
    }
}

/// Refuses a length, precision or scale by the number of its message.
fn verify_size(
    name: &str,
    parameters: &[TypeParameter],
    column: TypedColumn<'_>,
) -> Result<(), Cause> {
    let number = |at: usize| match parameters.get(at) {
        Some(TypeParameter::Number(number)) => Some(*number),
        _ => None,
    };
    let position = column.position;
    let shown = || column.name.to_owned();
    match (name, number(0)) {
        ("char" | "character" | "varchar" | "binary" | "varbinary", Some(size))
            if size > MAX_BYTES =>
        {
            Err(DefinitionCause::SizeBeyondAll { size, kind: "column", name: shown() }.into())
        }
        ("nchar" | "nvarchar", Some(size)) if size > MAX_BYTES / 2 => {
            let most = MAX_BYTES / 2;
            Err(DefinitionCause::SizeBeyond { size, kind: "column", name: shown(), most }.into())
        }
        ("decimal" | "dec" | "numeric", Some(precision)) if precision > 38 => {
            Err(DefinitionCause::PrecisionBeyond { position, precision }.into())
        }
        ("decimal" | "dec" | "numeric", Some(precision)) => match number(1) {
            Some(scale) if scale > precision => {
                Err(DefinitionCause::ScaleBeyond { position, scale, precision }.into())
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Is it a type of the product that is not here?
pub fn is_absent(data_type: &DataType) -> bool {
    let absent = ["hierarchyid", "geography", "geometry", "json", "vector"];
    let is_system = data_type.name.schema().is_none_or(|it| it.text.eq_ignore_ascii_case("sys"));
    let name = &data_type.name.name.text;
    is_system && absent.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn named(
    data_type: &DataType,
    default: u32,
    position: usize,
    collation: Collation,
) -> Result<SqlType, Cause> {
    let name = data_type.name.name.text.to_ascii_lowercase();
    let is_system = data_type.name.schema().is_none_or(|it| it.text.eq_ignore_ascii_case("sys"));
    let unknown = || Cause::UnknownType { position, name: data_type.name.name.text.to_string() };
    if is_absent(data_type) {
        return Err(Cause::not_supported(format!("type {name}")));
    }
    if !is_system {
        return Err(unknown());
    }
    let parameters = &data_type.parameters;
    let found = sized(&name, parameters, default, collation)
        .or_else(|| plain(&name, collation).filter(|_| parameters.is_empty()));
    found.ok_or_else(unknown)
}

/// Types without length, precision or scale.
const PLAIN: [(&str, SqlType); 16] = [
    ("bit", SqlType::Bit),
    ("tinyint", SqlType::TinyInt),
    ("smallint", SqlType::SmallInt),
    ("int", SqlType::Int),
    ("integer", SqlType::Int),
    ("bigint", SqlType::BigInt),
    ("money", SqlType::Money),
    ("smallmoney", SqlType::SmallMoney),
    ("real", SqlType::Real),
    ("datetime", SqlType::DateTime),
    ("smalldatetime", SqlType::SmallDateTime),
    ("date", SqlType::Date),
    ("uniqueidentifier", SqlType::UniqueIdentifier),
    ("sql_variant", SqlType::SqlVariant),
    ("xml", SqlType::Xml),
    ("image", SqlType::Image),
];

fn plain(name: &str, collation: Collation) -> Option<SqlType> {
    match name {
        "text" => Some(SqlType::Text { collation }),
        "ntext" => Some(SqlType::NText { collation }),
        "timestamp" | "rowversion" => Some(SqlType::RowVersion),
        "sysname" => Some(SqlType::NVarChar { len: Some(256), collation }),
        _ => PLAIN.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty),
    }
}

fn sized(
    name: &str,
    parameters: &[TypeParameter],
    default: u32,
    collation: Collation,
) -> Option<SqlType> {
    let number = |place: usize| match parameters.get(place) {
        Some(TypeParameter::Number(number)) => Some(*number),
        _ => None,
    };
    let is_max = parameters.first() == Some(&TypeParameter::Max);
    let length = |most: u32| {
        let length = number(0).unwrap_or(default);
        u16::try_from(length).ok().filter(|_| (1..=most).contains(&length))
    };
    let variable = |most: u32| if is_max { Some(None) } else { length(most).map(Some) };
    let scale = || u8::try_from(number(0).unwrap_or(7)).ok().filter(|scale| *scale <= 7);
    Some(match name {
        "char" | "character" => SqlType::Char { len: length(MAX_BYTES)?, collation },
        "varchar" => SqlType::VarChar { len: variable(MAX_BYTES)?, collation },
        "nchar" => SqlType::NChar { len: length(MAX_BYTES / 2)? * 2, collation },
        "nvarchar" => {
            SqlType::NVarChar { len: variable(MAX_BYTES / 2)?.map(|len| len * 2), collation }
        }
        "binary" => SqlType::Binary { len: length(MAX_BYTES)? },
        "varbinary" => SqlType::VarBinary { len: variable(MAX_BYTES)? },
        "decimal" | "dec" => {
            let (precision, scale) = digits(number(0), number(1))?;
            SqlType::Decimal { precision, scale }
        }
        "numeric" => {
            let (precision, scale) = digits(number(0), number(1))?;
            SqlType::Numeric { precision, scale }
        }
        "float" => match number(0).unwrap_or(53) {
            1..=24 => SqlType::Real,
            25..=53 => SqlType::Float,
            _ => return None,
        },
        "time" => SqlType::Time { scale: scale()? },
        "datetime2" => SqlType::DateTime2 { scale: scale()? },
        "datetimeoffset" => SqlType::DateTimeOffset { scale: scale()? },
        _ => return None,
    })
}

fn digits(precision: Option<u32>, scale: Option<u32>) -> Option<(u8, u8)> {
    let precision = u8::try_from(precision.unwrap_or(18)).ok()?;
    let scale = u8::try_from(scale.unwrap_or(0)).ok()?;
    ((1..=38).contains(&precision) && scale <= precision).then_some((precision, scale))
}
