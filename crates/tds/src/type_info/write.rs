//! TYPE_INFO to bytes.

use super::{MAX, Place, TypeInfo, UdtInfo, XmlSchema, code, decimal_bytes};
use crate::collation::WireCollation;
use crate::error::EncodeError;
use crate::text::{write_b_varchar, write_us_varchar};

impl TypeInfo {
    /// The first byte.
    pub(crate) fn code(&self) -> u8 {
        match self {
            TypeInfo::Null => code::NULL,
            TypeInfo::Fixed(scalar) => scalar.fixed_code(),
            TypeInfo::Nullable(scalar) => scalar.nullable_code(),
            TypeInfo::Guid => code::GUID,
            TypeInfo::Decimal { .. } => code::DECIMALN,
            TypeInfo::Numeric { .. } => code::NUMERICN,
            TypeInfo::Date => code::DATE,
            TypeInfo::Time { .. } => code::TIME,
            TypeInfo::DateTime2 { .. } => code::DATETIME2,
            TypeInfo::DateTimeOffset { .. } => code::DATETIMEOFFSET,
            TypeInfo::ShortChar { .. } => code::SHORT_CHAR,
            TypeInfo::ShortVarChar { .. } => code::SHORT_VARCHAR,
            TypeInfo::ShortBinary { .. } => code::SHORT_BINARY,
            TypeInfo::ShortVarBinary { .. } => code::SHORT_VARBINARY,
            TypeInfo::Char { .. } => code::CHAR,
            TypeInfo::VarChar { .. } => code::VARCHAR,
            TypeInfo::NChar { .. } => code::NCHAR,
            TypeInfo::NVarChar { .. } => code::NVARCHAR,
            TypeInfo::Binary { .. } => code::BINARY,
            TypeInfo::VarBinary { .. } => code::VARBINARY,
            TypeInfo::Text { .. } => code::TEXT,
            TypeInfo::NText { .. } => code::NTEXT,
            TypeInfo::Image { .. } => code::IMAGE,
            TypeInfo::Xml(_) => code::XML,
            TypeInfo::Udt(_) => code::UDT,
            TypeInfo::Variant { .. } => code::VARIANT,
        }
    }

    /// Appends the type. `out` may hold a part of it after an error.
    pub fn write(&self, place: Place, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(self.code());
        match self {
            TypeInfo::Null | TypeInfo::Fixed(_) | TypeInfo::Date => {}
            TypeInfo::Nullable(scalar) => out.push(scalar.bytes()),
            TypeInfo::Guid => out.push(16),
            TypeInfo::Decimal { precision, scale } | TypeInfo::Numeric { precision, scale } => {
                out.extend([decimal_bytes(*precision), *precision, *scale]);
            }
            TypeInfo::Time { scale }
            | TypeInfo::DateTime2 { scale }
            | TypeInfo::DateTimeOffset { scale } => out.push(*scale),
            TypeInfo::ShortChar { len, .. }
            | TypeInfo::ShortVarChar { len, .. }
            | TypeInfo::ShortBinary { len }
            | TypeInfo::ShortVarBinary { len } => out.push(*len),
            TypeInfo::Char { len, collation } | TypeInfo::NChar { len, collation } => {
                write_text(Some(*len), *collation, out);
            }
            TypeInfo::VarChar { len, collation } | TypeInfo::NVarChar { len, collation } => {
                write_text(*len, *collation, out);
            }
            TypeInfo::Binary { len } => out.extend(len.to_le_bytes()),
            TypeInfo::VarBinary { len } => out.extend(len.unwrap_or(MAX).to_le_bytes()),
            TypeInfo::Text { len, collation } | TypeInfo::NText { len, collation } => {
                out.extend(len.to_le_bytes());
                out.extend(collation.to_bytes());
            }
            TypeInfo::Image { len } | TypeInfo::Variant { len, .. } => {
                out.extend(len.to_le_bytes());
            }
            TypeInfo::Xml(schema) => write_xml(schema.as_deref(), out)?,
            TypeInfo::Udt(info) => write_udt(info, place, out)?,
        }
        Ok(())
    }
}

fn write_text(len: Option<u16>, collation: WireCollation, out: &mut Vec<u8>) {
    out.extend(len.unwrap_or(MAX).to_le_bytes());
    out.extend(collation.to_bytes());
}

fn write_xml(schema: Option<&XmlSchema>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let Some(schema) = schema else {
        out.push(0);
        return Ok(());
    };
    out.push(1);
    write_b_varchar("database of the XML schema", &schema.database, out)?;
    write_b_varchar("owner of the XML schema", &schema.owner, out)?;
    write_us_varchar("XML schema collection", &schema.collection, out)
}

fn write_udt(info: &UdtInfo, place: Place, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if place == Place::Column {
        out.extend(info.len.unwrap_or(MAX).to_le_bytes());
    }
    write_b_varchar("database of the type", &info.database, out)?;
    write_b_varchar("schema of the type", &info.schema, out)?;
    write_b_varchar("name of the type", &info.name, out)?;
    if place == Place::Column {
        write_us_varchar("assembly of the type", &info.assembly, out)?;
    }
    Ok(())
}
