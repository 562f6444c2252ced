//! One column of a table as one or two columns of a Parquet file.

use arrow_array::ArrayRef;
use arrow_array::builder::{ArrayBuilder, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampNanosecondType, UInt8Type,
};
use arrow_schema::{DataType, TimeUnit};
use extentdb_types::plain::write_plain;
use extentdb_types::{Date, DateTime2, Datum, SqlType, UdtKind, hierarchyid};

/// Days from 0001-01-01 and from 1900-01-01 to 1970-01-01.
const EPOCH_FROM_1: i64 = 719_162;
const EPOCH_FROM_1900: i64 = 25_567;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
const NANOSECONDS_PER_DAY: i64 = 1_000 * MICROSECONDS_PER_DAY;
/// Times of this scale and below fit microseconds.
const MICROSECOND_SCALE: u8 = 6;

/// Gathers the values of a column.
pub(super) enum ColumnBuilder {
    Boolean(BooleanBuilder),
    UInt8(PrimitiveBuilder<UInt8Type>),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    /// With precision and scale.
    Decimal(PrimitiveBuilder<Decimal128Type>, u8, i8),
    Float64(PrimitiveBuilder<Float64Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Date(PrimitiveBuilder<Date32Type>),
    TimeMicro(PrimitiveBuilder<Time64MicrosecondType>),
    TimeNano(PrimitiveBuilder<Time64NanosecondType>),
    Micro(PrimitiveBuilder<TimestampMicrosecondType>),
    Nano(PrimitiveBuilder<TimestampNanosecondType>),
    OffsetMicro(PrimitiveBuilder<TimestampMicrosecondType>, PrimitiveBuilder<Int16Type>),
    OffsetNano(PrimitiveBuilder<TimestampNanosecondType>, PrimitiveBuilder<Int16Type>),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Variant(StringBuilder, StringBuilder),
}

/// What appending a value did.
#[derive(Default)]
pub(super) struct Appended {
    /// Bytes it takes.
    pub(super) bytes: usize,
    /// Characters or values that could not be kept.
    pub(super) lost: u64,
}

impl ColumnBuilder {
    /// A builder for a type.
    pub(super) fn new(ty: SqlType) -> ColumnBuilder {
        match ty {
            SqlType::Bit => ColumnBuilder::Boolean(BooleanBuilder::new()),
            SqlType::TinyInt => ColumnBuilder::UInt8(PrimitiveBuilder::new()),
            SqlType::SmallInt => ColumnBuilder::Int16(PrimitiveBuilder::new()),
            SqlType::Int => ColumnBuilder::Int32(PrimitiveBuilder::new()),
            SqlType::BigInt => ColumnBuilder::Int64(PrimitiveBuilder::new()),
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                decimal(precision, scale)
            }
            SqlType::Money => decimal(19, 4),
            SqlType::SmallMoney => decimal(10, 4),
            SqlType::Float => ColumnBuilder::Float64(PrimitiveBuilder::new()),
            SqlType::Real => ColumnBuilder::Float32(PrimitiveBuilder::new()),
            SqlType::Date => ColumnBuilder::Date(PrimitiveBuilder::new()),
            SqlType::Time { scale } if scale <= MICROSECOND_SCALE => {
                ColumnBuilder::TimeMicro(PrimitiveBuilder::new())
            }
            SqlType::Time { .. } => ColumnBuilder::TimeNano(PrimitiveBuilder::new()),
            SqlType::DateTime | SqlType::SmallDateTime => ColumnBuilder::Micro(PrimitiveBuilder::new()),
            SqlType::DateTime2 { scale } if scale <= MICROSECOND_SCALE => {
                ColumnBuilder::Micro(PrimitiveBuilder::new())
            }
            SqlType::DateTime2 { .. } => ColumnBuilder::Nano(PrimitiveBuilder::new()),
            SqlType::DateTimeOffset { scale } if scale <= MICROSECOND_SCALE => {
                ColumnBuilder::OffsetMicro(in_utc(), PrimitiveBuilder::new())
            }
            SqlType::DateTimeOffset { .. } => ColumnBuilder::OffsetNano(in_utc(), PrimitiveBuilder::new()),
            SqlType::SqlVariant => ColumnBuilder::Variant(StringBuilder::new(), StringBuilder::new()),
            SqlType::Binary { .. } | SqlType::VarBinary { .. } | SqlType::Image | SqlType::RowVersion => {
                ColumnBuilder::Binary(BinaryBuilder::new())
            }
            SqlType::Udt { kind: UdtKind::Geometry | UdtKind::Geography | UdtKind::Other, .. } => {
                ColumnBuilder::Binary(BinaryBuilder::new())
            }
            _ => ColumnBuilder::Text(StringBuilder::new()),
        }
    }

    /// The Arrow types, each with what stands behind the column's name.
    pub(super) fn types(&self) -> Vec<(&'static str, DataType)> {
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let one = |ty| vec![("", ty)];
        match self {
            ColumnBuilder::Boolean(_) => one(DataType::Boolean),
            ColumnBuilder::UInt8(_) => one(UInt8Type::DATA_TYPE),
            ColumnBuilder::Int16(_) => one(Int16Type::DATA_TYPE),
            ColumnBuilder::Int32(_) => one(Int32Type::DATA_TYPE),
            ColumnBuilder::Int64(_) => one(Int64Type::DATA_TYPE),
            ColumnBuilder::Decimal(_, precision, scale) => one(DataType::Decimal128(*precision, *scale)),
            ColumnBuilder::Float64(_) => one(Float64Type::DATA_TYPE),
            ColumnBuilder::Float32(_) => one(Float32Type::DATA_TYPE),
            ColumnBuilder::Date(_) => one(Date32Type::DATA_TYPE),
            ColumnBuilder::TimeMicro(_) => one(Time64MicrosecondType::DATA_TYPE),
            ColumnBuilder::TimeNano(_) => one(Time64NanosecondType::DATA_TYPE),
            ColumnBuilder::Micro(_) => one(TimestampMicrosecondType::DATA_TYPE),
            ColumnBuilder::Nano(_) => one(TimestampNanosecondType::DATA_TYPE),
            ColumnBuilder::OffsetMicro(..) => {
                vec![("", utc(TimeUnit::Microsecond)), ("_offset", DataType::Int16)]
            }
            ColumnBuilder::OffsetNano(..) => {
                vec![("", utc(TimeUnit::Nanosecond)), ("_offset", DataType::Int16)]
            }
            ColumnBuilder::Text(_) => one(DataType::Utf8),
            ColumnBuilder::Binary(_) => one(DataType::Binary),
            ColumnBuilder::Variant(..) => vec![("", DataType::Utf8), ("_type", DataType::Utf8)],
        }
    }

    /// True when a value may become NULL because the format cannot hold it.
    pub(super) fn may_lose(&self) -> bool {
        matches!(self, ColumnBuilder::Nano(_) | ColumnBuilder::OffsetNano(..))
    }

    /// Appends a value of the column's type, or NULL.
    pub(super) fn append(&mut self, value: &Datum<'_>) -> Appended {
        let fixed = Appended { bytes: 16, lost: 0 };
        match self {
            ColumnBuilder::Boolean(to) => {
                to.append_option(if let Datum::Bit(bit) = value { Some(*bit) } else { None })
            }
            ColumnBuilder::UInt8(to) => to.append_option(integer(value)),
            ColumnBuilder::Int16(to) => to.append_option(integer(value)),
            ColumnBuilder::Int32(to) => to.append_option(integer(value)),
            ColumnBuilder::Int64(to) => to.append_option(integer(value)),
            ColumnBuilder::Decimal(to, ..) => to.append_option(unscaled(value)),
            ColumnBuilder::Float64(to) => {
                to.append_option(if let Datum::Float(v) = value { Some(*v) } else { None })
            }
            ColumnBuilder::Float32(to) => {
                to.append_option(if let Datum::Real(v) = value { Some(*v) } else { None })
            }
            ColumnBuilder::Date(to) => {
                to.append_option(date(value).and_then(|days| i32::try_from(days).ok()))
            }
            ColumnBuilder::TimeMicro(to) => to.append_option(time_100ns(value).map(|ticks| ticks / 10)),
            ColumnBuilder::TimeNano(to) => to.append_option(time_100ns(value).map(|ticks| ticks * 100)),
            ColumnBuilder::Micro(to) => to.append_option(microseconds(value)),
            ColumnBuilder::Nano(to) => return append_nano(to, value),
            ColumnBuilder::OffsetMicro(to, offset) => {
                to.append_option(microseconds(value));
                offset.append_option(offset_minutes(value));
            }
            ColumnBuilder::OffsetNano(to, offset) => {
                offset.append_option(offset_minutes(value));
                return append_nano(to, value);
            }
            ColumnBuilder::Text(to) => return append_text(to, value),
            ColumnBuilder::Binary(to) => return append_binary(to, value),
            ColumnBuilder::Variant(to, types) => {
                types.append_option(if let Datum::Variant(v) = value {
                    Some(v.ty.to_string())
                } else {
                    None
                });
                return append_text(to, value);
            }
        }
        fixed
    }

    /// The values since the last time.
    pub(super) fn finish(&mut self) -> Vec<ArrayRef> {
        match self {
            ColumnBuilder::Boolean(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::UInt8(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Int16(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Int32(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Int64(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Decimal(b, ..) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Float64(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Float32(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Date(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::TimeMicro(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::TimeNano(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Micro(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Nano(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::OffsetMicro(b, o) => vec![ArrayBuilder::finish(b), ArrayBuilder::finish(o)],
            ColumnBuilder::OffsetNano(b, o) => vec![ArrayBuilder::finish(b), ArrayBuilder::finish(o)],
            ColumnBuilder::Text(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Binary(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Variant(b, t) => vec![ArrayBuilder::finish(b), ArrayBuilder::finish(t)],
        }
    }
}

fn decimal(precision: u8, scale: u8) -> ColumnBuilder {
    // A type of the catalogue has been checked: 1 to 38 digits, of which at most all are decimals.
    let scale = i8::try_from(scale).unwrap_or(0);
    let ty = DataType::Decimal128(precision, scale);
    ColumnBuilder::Decimal(PrimitiveBuilder::new().with_data_type(ty), precision, scale)
}

fn in_utc<T: ArrowPrimitiveType>() -> PrimitiveBuilder<T> {
    let DataType::Timestamp(unit, _) = T::DATA_TYPE else { return PrimitiveBuilder::new() };
    PrimitiveBuilder::new().with_data_type(DataType::Timestamp(unit, Some("UTC".into())))
}

fn integer<T: TryFrom<i64>>(value: &Datum<'_>) -> Option<T> {
    let value = match *value {
        Datum::TinyInt(value) => i64::from(value),
        Datum::SmallInt(value) => i64::from(value),
        Datum::Int(value) => i64::from(value),
        Datum::BigInt(value) => value,
        _ => return None,
    };
    T::try_from(value).ok()
}

fn unscaled(value: &Datum<'_>) -> Option<i128> {
    match value {
        Datum::Decimal(value) => Some(value.unscaled()),
        Datum::Money(value) => Some(i128::from(value.0)),
        Datum::SmallMoney(value) => Some(i128::from(value.0)),
        _ => None,
    }
}

fn date(value: &Datum<'_>) -> Option<i64> {
    if let Datum::Date(date) = value { Some(days(*date)) } else { None }
}

/// Days since 1970.
fn days(date: Date) -> i64 {
    i64::from(date.days()) - EPOCH_FROM_1
}

fn time_100ns(value: &Datum<'_>) -> Option<i64> {
    let Datum::Time(time) = value else { return None };
    i64::try_from(time.ticks_100ns()).ok()
}

/// The instant of a datetime2 or datetimeoffset: days since 1970 and the time in 100 ns.
fn instant(value: &Datum<'_>) -> Option<(i64, i64)> {
    let DateTime2 { date, time } = match value {
        Datum::DateTime2(value) => *value,
        Datum::DateTimeOffset(value) => value.utc(),
        _ => return None,
    };
    Some((days(date), i64::try_from(time.ticks_100ns()).ok()?))
}

/// Every date of SQL Server fits.
fn microseconds(value: &Datum<'_>) -> Option<i64> {
    let (days, microseconds) = match value {
        Datum::DateTime(value) => {
            (i64::from(value.days()) - EPOCH_FROM_1900, i64::from(value.milliseconds()) * 1_000)
        }
        Datum::SmallDateTime(value) => {
            (i64::from(value.days()) - EPOCH_FROM_1900, i64::from(value.minutes()) * 60_000_000)
        }
        other => instant(other).map(|(days, ticks)| (days, ticks / 10))?,
    };
    Some(days * MICROSECONDS_PER_DAY + microseconds)
}

/// Nanoseconds reach from 1677 to 2262.
fn append_nano(to: &mut PrimitiveBuilder<TimestampNanosecondType>, value: &Datum<'_>) -> Appended {
    let nanoseconds =
        |(days, ticks): (i64, i64)| days.checked_mul(NANOSECONDS_PER_DAY)?.checked_add(ticks * 100);
    let fits = instant(value).and_then(nanoseconds);
    to.append_option(fits);
    Appended { bytes: 16, lost: u64::from(fits.is_none() && !value.is_null()) }
}

fn offset_minutes(value: &Datum<'_>) -> Option<i16> {
    if let Datum::DateTimeOffset(value) = value { Some(value.offset_minutes()) } else { None }
}

fn append_text(to: &mut StringBuilder, value: &Datum<'_>) -> Appended {
    if value.is_null() {
        to.append_null();
        return Appended { bytes: 4, lost: 0 };
    }
    let mut text = String::new();
    let lost = match value {
        Datum::Udt { kind: UdtKind::HierarchyId, bytes } if hierarchyid::to_text(bytes).is_some() => {
            text = hierarchyid::to_text(bytes).unwrap_or_default();
            0
        }
        // A String takes everything.
        value => write_plain(value, &mut text).unwrap_or(0),
    };
    to.append_value(&text);
    Appended { bytes: text.len(), lost: lost as u64 }
}

fn append_binary(to: &mut BinaryBuilder, value: &Datum<'_>) -> Appended {
    let bytes = match value {
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } => bytes.len(),
        _ => 8,
    };
    match value {
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } => to.append_value(bytes),
        Datum::RowVersion(version) => to.append_value(version.to_be_bytes()),
        _ => to.append_null(),
    }
    Appended { bytes, lost: 0 }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use extentdb_types::{DateTime, DateTimeOffset, Money, Time};

    use super::*;

    #[test]
    fn dates_are_exact_to_the_unit() {
        // 1753-01-01, the first datetime, and the last tick of a day.
        assert_eq!(
            microseconds(&Datum::DateTime(DateTime::new(-53_690, 0).unwrap())),
            Some(-6_847_804_800_000_000)
        );
        let last = Datum::DateTime(DateTime::new(25_567, 25_919_999).unwrap());
        assert_eq!(microseconds(&last), Some(86_399_997_000));
        let date = Date::from_ymd(1970, 1, 2).unwrap();
        assert_eq!(days(date), 1);
        let instant = DateTime2 { date, time: Time::new(1, 7).unwrap() };
        let offset = Datum::DateTimeOffset(DateTimeOffset::new(instant, -90).unwrap());
        let mut builder = ColumnBuilder::new(SqlType::DateTimeOffset { scale: 7 });
        builder.append(&offset);
        let arrays = builder.finish();
        assert_eq!(arrays[0].as_primitive::<TimestampNanosecondType>().value(0), NANOSECONDS_PER_DAY + 100);
        assert_eq!(arrays[1].as_primitive::<Int16Type>().value(0), -90);
    }

    #[test]
    fn what_nanoseconds_do_not_reach_is_counted() {
        let mut builder = ColumnBuilder::new(SqlType::DateTime2 { scale: 7 });
        let date = Date::from_ymd(9999, 12, 31).unwrap();
        let value = Datum::DateTime2(DateTime2 { date, time: Time::new(0, 7).unwrap() });
        assert_eq!(builder.append(&value).lost, 1);
        assert_eq!(builder.append(&Datum::Null).lost, 0);
        assert_eq!(builder.finish()[0].null_count(), 2);
    }

    #[test]
    fn money_keeps_its_four_decimals() {
        let mut builder = ColumnBuilder::new(SqlType::Money);
        builder.append(&Datum::Money(Money(i64::MIN)));
        let array = builder.finish().remove(0);
        assert_eq!(array.data_type(), &DataType::Decimal128(19, 4));
        assert_eq!(array.as_primitive::<Decimal128Type>().value(0), i128::from(i64::MIN));
    }
}
