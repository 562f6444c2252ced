//! TYPE_INFO from bytes.

use super::{MAX, Place, Scalar, TypeInfo, UdtInfo, VariantDates, XmlSchema, code};
use crate::collation::WireCollation;
use crate::error::{Cause, DecodeError};
use crate::protocol::Protocol;
use crate::reader::ByteReader;

const PRECISION_MAX: u8 = 38;
const SCALE_OF_TIME_MAX: u8 = 7;

impl TypeInfo {
    /// Reads a type. A table-valued parameter is not one: see
    /// [`Parameter`](crate::request::Parameter).
    pub fn read(
        reader: &mut ByteReader<'_>,
        protocol: &Protocol,
        place: Place,
    ) -> Result<TypeInfo, DecodeError> {
        let code = reader.u8()?;
        if let Some(scalar) = Scalar::from_fixed(code) {
            return Ok(TypeInfo::Fixed(scalar));
        }
        match code {
            code::NULL => Ok(TypeInfo::Null),
            code::INTN | code::BITN | code::FLTN | code::MONEYN | code::DATETIMN | code::GUID => {
                read_short(reader, code)
            }
            code::DECIMALN | code::DECIMAL | code::NUMERICN | code::NUMERIC => {
                read_decimal(reader, code)
            }
            code::DATE | code::TIME | code::DATETIME2 | code::DATETIMEOFFSET => {
                read_time(reader, protocol, code)
            }
            code::SHORT_CHAR | code::SHORT_VARCHAR | code::SHORT_BINARY | code::SHORT_VARBINARY => {
                read_old(reader, protocol, code)
            }
            code::CHAR | code::VARCHAR | code::NCHAR | code::NVARCHAR => {
                read_text(reader, protocol, code)
            }
            code::BINARY | code::VARBINARY => read_binary(reader, protocol, code),
            code::TEXT | code::NTEXT | code::IMAGE | code::VARIANT => {
                read_long(reader, protocol, code)
            }
            code::XML => read_xml(reader, protocol),
            code::UDT => read_udt(reader, protocol, place),
            _ => Err(reader.fail_before(1, Cause::Type { code })),
        }
    }
}

fn read_short(reader: &mut ByteReader<'_>, code: u8) -> Result<TypeInfo, DecodeError> {
    let len = reader.u8()?;
    if code == code::GUID && len == 16 {
        return Ok(TypeInfo::Guid);
    }
    let cause = Cause::Value { field: "length of type", found: len.into() };
    let scalar = Scalar::from_nullable(code, len.into());
    scalar.map(TypeInfo::Nullable).ok_or_else(|| reader.fail_before(1, cause))
}

fn read_decimal(reader: &mut ByteReader<'_>, code: u8) -> Result<TypeInfo, DecodeError> {
    // The length follows from the precision; clients that say less send short magnitudes.
    let _length = reader.u8()?;
    let precision = reader.u8()?;
    if !(1..=PRECISION_MAX).contains(&precision) {
        let cause = Cause::Value { field: "precision", found: precision.into() };
        return Err(reader.fail_before(1, cause));
    }
    let scale = reader.u8()?;
    if scale > precision {
        return Err(reader.fail_before(1, Cause::Value { field: "scale", found: scale.into() }));
    }
    Ok(match code {
        code::DECIMAL | code::DECIMALN => TypeInfo::Decimal { precision, scale },
        _ => TypeInfo::Numeric { precision, scale },
    })
}

fn read_time(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    code: u8,
) -> Result<TypeInfo, DecodeError> {
    if !protocol.version().is_7_3_or_later() {
        return Err(reader.fail_before(1, Cause::NotInVersion { what: "date and time types" }));
    }
    if code == code::DATE {
        return Ok(TypeInfo::Date);
    }
    let scale = reader.u8()?;
    if scale > SCALE_OF_TIME_MAX {
        return Err(reader.fail_before(1, Cause::Value { field: "scale", found: scale.into() }));
    }
    Ok(match code {
        code::TIME => TypeInfo::Time { scale },
        code::DATETIME2 => TypeInfo::DateTime2 { scale },
        _ => TypeInfo::DateTimeOffset { scale },
    })
}

fn read_old(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    code: u8,
) -> Result<TypeInfo, DecodeError> {
    let len = reader.u8()?;
    let collation = protocol.wire_collation();
    Ok(match code {
        code::SHORT_CHAR => TypeInfo::ShortChar { len, collation },
        code::SHORT_VARCHAR => TypeInfo::ShortVarChar { len, collation },
        code::SHORT_BINARY => TypeInfo::ShortBinary { len },
        _ => TypeInfo::ShortVarBinary { len },
    })
}

/// A length of two bytes; `None` = (max).
fn read_len(reader: &mut ByteReader<'_>, protocol: &Protocol) -> Result<Option<u16>, DecodeError> {
    let len = reader.u16()?;
    if len != MAX {
        return Ok(Some(len));
    }
    if !protocol.version().is_7_2_or_later() {
        return Err(reader.fail_before(2, Cause::NotInVersion { what: "(max)" }));
    }
    Ok(None)
}

/// The length of a type that has no (max).
fn fixed_len(reader: &ByteReader<'_>, len: Option<u16>) -> Result<u16, DecodeError> {
    let cause = Cause::Value { field: "length of type", found: MAX.into() };
    len.ok_or_else(|| reader.fail_before(2, cause))
}

fn read_text(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    code: u8,
) -> Result<TypeInfo, DecodeError> {
    let len = read_len(reader, protocol)?;
    let has_max = matches!(code, code::VARCHAR | code::NVARCHAR);
    let fixed = if has_max { 0 } else { fixed_len(reader, len)? };
    let collation = WireCollation::read(reader, protocol.wire_collation())?;
    Ok(match code {
        code::CHAR => TypeInfo::Char { len: fixed, collation },
        code::VARCHAR => TypeInfo::VarChar { len, collation },
        code::NCHAR => TypeInfo::NChar { len: fixed, collation },
        _ => TypeInfo::NVarChar { len, collation },
    })
}

fn read_binary(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    code: u8,
) -> Result<TypeInfo, DecodeError> {
    let len = read_len(reader, protocol)?;
    Ok(match code {
        code::BINARY => TypeInfo::Binary { len: fixed_len(reader, len)? },
        _ => TypeInfo::VarBinary { len },
    })
}

fn read_long(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    code: u8,
) -> Result<TypeInfo, DecodeError> {
    let len = reader.u32()?;
    Ok(match code {
        code::TEXT => {
            let collation = WireCollation::read(reader, protocol.wire_collation())?;
            TypeInfo::Text { len, collation }
        }
        code::NTEXT => {
            let collation = WireCollation::read(reader, protocol.wire_collation())?;
            TypeInfo::NText { len, collation }
        }
        code::IMAGE => TypeInfo::Image { len },
        _ => TypeInfo::Variant { len, dates: VariantDates::in_version(protocol.version()) },
    })
}

fn read_xml(reader: &mut ByteReader<'_>, protocol: &Protocol) -> Result<TypeInfo, DecodeError> {
    if !protocol.version().is_7_2_or_later() {
        return Err(reader.fail_before(1, Cause::NotInVersion { what: "xml" }));
    }
    if reader.u8()? == 0 {
        return Ok(TypeInfo::Xml(None));
    }
    Ok(TypeInfo::Xml(Some(Box::new(XmlSchema {
        database: reader.b_varchar()?.to_string(),
        owner: reader.b_varchar()?.to_string(),
        collection: reader.us_varchar()?.to_string(),
    }))))
}

fn read_udt(
    reader: &mut ByteReader<'_>,
    protocol: &Protocol,
    place: Place,
) -> Result<TypeInfo, DecodeError> {
    if !protocol.version().is_7_2_or_later() {
        return Err(reader.fail_before(1, Cause::NotInVersion { what: "CLR types" }));
    }
    let is_column = place == Place::Column;
    let len = if is_column { Some(reader.u16()?).filter(|len| *len != MAX) } else { None };
    let mut info = UdtInfo {
        len,
        database: reader.b_varchar()?.to_string(),
        schema: reader.b_varchar()?.to_string(),
        name: reader.b_varchar()?.to_string(),
        assembly: String::new(),
    };
    if is_column {
        info.assembly = reader.us_varchar()?.to_string();
    }
    Ok(TypeInfo::Udt(Box::new(info)))
}
