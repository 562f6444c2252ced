//! One column of a table as one or two columns of a Parquet file.

use arrow_array::ArrayRef;
use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder,
};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, UInt8Type,
};
use arrow_schema::{DataType, TimeUnit};
use extentdb_types::plain::write_plain;
use extentdb_types::{Date, DateTime2, Datum, SqlType, UdtKind, hierarchyid};

use super::super::outcome::Loss;
use super::super::style::Timestamps;

/// Days from 0001-01-01 and from 1900-01-01 to 1970-01-01.
const EPOCH_FROM_1: i64 = 719_162;
const EPOCH_FROM_1900: i64 = 25_567;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;
/// Times of this scale and below fit microseconds.
const MICROSECOND_SCALE: u8 = 6;
/// Times are counted in 100 ns.
const TICKS_PER_MICROSECOND: i64 = 10;

/// Gathers the values of a column.
pub(super) enum ColumnBuilder {
    Boolean(BooleanBuilder),
    UInt8(PrimitiveBuilder<UInt8Type>),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    /// With precision and scale.
    Decimal(PrimitiveBuilder<Decimal128Type>, u8, u8),
    Float64(PrimitiveBuilder<Float64Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Date(PrimitiveBuilder<Date32Type>),
    TimeMicro(PrimitiveBuilder<Time64MicrosecondType>),
    TimeNano(PrimitiveBuilder<Time64NanosecondType>),
    Micro(PrimitiveBuilder<TimestampMicrosecondType>),
    OffsetMicro(PrimitiveBuilder<TimestampMicrosecondType>, PrimitiveBuilder<Int16Type>),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Variant(StringBuilder, StringBuilder),
}

/// What appending a value did.
#[derive(Default)]
pub(super) struct Appended {
    /// Bytes it takes.
    pub(super) bytes: usize,
    /// What of it could not be kept.
    pub(super) loss: Loss,
}

impl Appended {
    fn bytes(bytes: usize) -> Appended {
        Appended { bytes, loss: Loss::default() }
    }
}

impl ColumnBuilder {
    /// A builder for a type.
    pub(super) fn new(ty: SqlType, timestamps: Timestamps) -> ColumnBuilder {
        let in_microseconds =
            |scale: u8| scale <= MICROSECOND_SCALE || timestamps == Timestamps::Us;
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
            SqlType::Time { scale } if in_microseconds(scale) => {
                ColumnBuilder::TimeMicro(PrimitiveBuilder::new())
            }
            SqlType::Time { .. } => ColumnBuilder::TimeNano(PrimitiveBuilder::new()),
            SqlType::DateTime | SqlType::SmallDateTime => {
                ColumnBuilder::Micro(PrimitiveBuilder::new())
            }
            SqlType::DateTime2 { scale } if in_microseconds(scale) => {
                ColumnBuilder::Micro(PrimitiveBuilder::new())
            }
            SqlType::DateTimeOffset { scale } if in_microseconds(scale) => {
                ColumnBuilder::OffsetMicro(in_utc(), PrimitiveBuilder::new())
            }
            SqlType::SqlVariant => {
                ColumnBuilder::Variant(StringBuilder::new(), StringBuilder::new())
            }
            SqlType::Binary { .. }
            | SqlType::VarBinary { .. }
            | SqlType::Image
            | SqlType::RowVersion => ColumnBuilder::Binary(BinaryBuilder::new()),
            SqlType::Udt {
                kind: UdtKind::Geometry | UdtKind::Geography | UdtKind::Other,
                ..
            } => ColumnBuilder::Binary(BinaryBuilder::new()),
            // Nanoseconds would reach from 1677 to 2262 only: datetime2(7) and datetimeoffset(7)
            // are texts, too.
            _ => ColumnBuilder::Text(StringBuilder::new()),
        }
    }

    /// The Arrow types, each with what stands after the column's name.
    pub(super) fn types(&self) -> Vec<(&'static str, DataType)> {
        let one = |ty| vec![("", ty)];
        match self {
            ColumnBuilder::Boolean(_) => one(DataType::Boolean),
            ColumnBuilder::UInt8(_) => one(UInt8Type::DATA_TYPE),
            ColumnBuilder::Int16(_) => one(Int16Type::DATA_TYPE),
            ColumnBuilder::Int32(_) => one(Int32Type::DATA_TYPE),
            ColumnBuilder::Int64(_) => one(Int64Type::DATA_TYPE),
            ColumnBuilder::Decimal(_, precision, scale) => one(decimal_type(*precision, *scale)),
            ColumnBuilder::Float64(_) => one(Float64Type::DATA_TYPE),
            ColumnBuilder::Float32(_) => one(Float32Type::DATA_TYPE),
            ColumnBuilder::Date(_) => one(Date32Type::DATA_TYPE),
            ColumnBuilder::TimeMicro(_) => one(Time64MicrosecondType::DATA_TYPE),
            ColumnBuilder::TimeNano(_) => one(Time64NanosecondType::DATA_TYPE),
            ColumnBuilder::Micro(_) => one(TimestampMicrosecondType::DATA_TYPE),
            ColumnBuilder::OffsetMicro(..) => {
                let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
                vec![("", utc), ("_offset", DataType::Int16)]
            }
            ColumnBuilder::Text(_) => one(DataType::Utf8),
            ColumnBuilder::Binary(_) => one(DataType::Binary),
            ColumnBuilder::Variant(..) => vec![("", DataType::Utf8), ("_type", DataType::Utf8)],
        }
    }

    /// Appends a value of the column's type, or NULL. What the column cannot hold becomes NULL and
    /// is counted.
    pub(super) fn append(&mut self, value: &Datum<'_>) -> Appended {
        match self {
            ColumnBuilder::Boolean(to) => {
                let bit = if let Datum::Bit(bit) = value { Some(*bit) } else { None };
                to.append_option(bit);
                fixed(value, bit.is_some())
            }
            ColumnBuilder::UInt8(to) => put(to, value, integer(value)),
            ColumnBuilder::Int16(to) => put(to, value, integer(value)),
            ColumnBuilder::Int32(to) => put(to, value, integer(value)),
            ColumnBuilder::Int64(to) => put(to, value, integer(value)),
            ColumnBuilder::Decimal(to, precision, scale) => {
                put(to, value, unscaled(value, *precision, *scale))
            }
            ColumnBuilder::Float64(to) => {
                put(to, value, if let Datum::Float(v) = value { Some(*v) } else { None })
            }
            ColumnBuilder::Float32(to) => {
                put(to, value, if let Datum::Real(v) = value { Some(*v) } else { None })
            }
            ColumnBuilder::Date(to) => {
                put(to, value, date(value).and_then(|days| i32::try_from(days).ok()))
            }
            ColumnBuilder::TimeMicro(to) => {
                let ticks = time_ticks(value);
                let appended = put(to, value, ticks.map(|ticks| ticks / TICKS_PER_MICROSECOND));
                truncated(appended, ticks)
            }
            ColumnBuilder::TimeNano(to) => {
                put(to, value, time_ticks(value).map(|ticks| ticks * 100))
            }
            ColumnBuilder::Micro(to) => append_microseconds(to, value),
            ColumnBuilder::OffsetMicro(to, offset) => {
                offset.append_option(offset_minutes(value));
                append_microseconds(to, value)
            }
            ColumnBuilder::Text(to) => append_text(to, value),
            ColumnBuilder::Binary(to) => append_binary(to, value),
            ColumnBuilder::Variant(to, types) => {
                types.append_option(if let Datum::Variant(v) = value {
                    Some(v.ty.to_string())
                } else {
                    None
                });
                append_text(to, value)
            }
        }
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
            ColumnBuilder::OffsetMicro(b, o) => {
                vec![ArrayBuilder::finish(b), ArrayBuilder::finish(o)]
            }
            ColumnBuilder::Text(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Binary(b) => vec![ArrayBuilder::finish(b)],
            ColumnBuilder::Variant(b, t) => vec![ArrayBuilder::finish(b), ArrayBuilder::finish(t)],
        }
    }
}

fn decimal(precision: u8, scale: u8) -> ColumnBuilder {
    let builder = PrimitiveBuilder::new().with_data_type(decimal_type(precision, scale));
    ColumnBuilder::Decimal(builder, precision, scale)
}

/// A type of the catalog has been checked: 1 to 38 digits, of which at most all are decimals.
fn decimal_type(precision: u8, scale: u8) -> DataType {
    DataType::Decimal128(precision, i8::try_from(scale).unwrap_or(0))
}

fn in_utc() -> PrimitiveBuilder<TimestampMicrosecondType> {
    let utc = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    PrimitiveBuilder::new().with_data_type(utc)
}

/// A value of a type of fixed length; lost when it is neither NULL nor held.
fn fixed(value: &Datum<'_>, is_held: bool) -> Appended {
    let values = u64::from(!is_held && !value.is_null());
    Appended { bytes: 16, loss: Loss { values, ..Loss::default() } }
}

fn put<T: ArrowPrimitiveType>(
    to: &mut PrimitiveBuilder<T>,
    value: &Datum<'_>,
    native: Option<T::Native>,
) -> Appended {
    to.append_option(native);
    fixed(value, native.is_some())
}

/// Counts a time whose 100 ns are not whole microseconds.
fn truncated(mut appended: Appended, ticks: Option<i64>) -> Appended {
    appended.loss.times = u64::from(ticks.is_some_and(|ticks| ticks % TICKS_PER_MICROSECOND != 0));
    appended
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

fn unscaled(value: &Datum<'_>, precision: u8, scale: u8) -> Option<i128> {
    match value {
        Datum::Decimal(value) => {
            let value = value.rescale(scale)?;
            value.fits_precision(precision).then(|| value.unscaled())
        }
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

/// A time in 100 ns.
fn time_ticks(value: &Datum<'_>) -> Option<i64> {
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

/// Microseconds since 1970, and the time of the day in 100 ns. Every date of SQL Server fits.
fn microseconds(value: &Datum<'_>) -> Option<(i64, i64)> {
    let (days, ticks) = match value {
        Datum::DateTime(value) => {
            (i64::from(value.days()) - EPOCH_FROM_1900, i64::from(value.milliseconds()) * 10_000)
        }
        Datum::SmallDateTime(value) => {
            (i64::from(value.days()) - EPOCH_FROM_1900, i64::from(value.minutes()) * 600_000_000)
        }
        other => instant(other)?,
    };
    Some((days * MICROSECONDS_PER_DAY + ticks / TICKS_PER_MICROSECOND, ticks))
}

fn append_microseconds(
    to: &mut PrimitiveBuilder<TimestampMicrosecondType>,
    value: &Datum<'_>,
) -> Appended {
    let time = microseconds(value);
    let appended = put(to, value, time.map(|(microseconds, _)| microseconds));
    truncated(appended, time.map(|(_, ticks)| ticks))
}

fn offset_minutes(value: &Datum<'_>) -> Option<i16> {
    if let Datum::DateTimeOffset(value) = value { Some(value.offset_minutes()) } else { None }
}

fn append_text(to: &mut StringBuilder, value: &Datum<'_>) -> Appended {
    if value.is_null() {
        to.append_null();
        return Appended::bytes(4);
    }
    let mut text = String::new();
    let mut lost = 0;
    match value {
        Datum::Udt { kind: UdtKind::HierarchyId, bytes }
            if hierarchyid::to_text(bytes).is_some() =>
        {
            text = hierarchyid::to_text(bytes).unwrap_or_default();
        }
        // A String takes everything.
        value => lost = write_plain(value, &mut text).unwrap_or(0) as u64,
    }
    to.append_value(&text);
    Appended { bytes: text.len(), loss: Loss::of(value, lost) }
}

fn append_binary(to: &mut BinaryBuilder, value: &Datum<'_>) -> Appended {
    match value {
        Datum::Binary(bytes) | Datum::Udt { bytes, .. } => {
            to.append_value(bytes);
            Appended::bytes(bytes.len())
        }
        Datum::RowVersion(version) => {
            to.append_value(version.to_be_bytes());
            Appended::bytes(8)
        }
        other => {
            to.append_null();
            fixed(other, false)
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use extentdb_types::{DateTime, DateTimeOffset, Money, Time};

    use super::*;

    fn since_1970(value: Datum<'_>) -> Option<i64> {
        microseconds(&value).map(|(microseconds, _)| microseconds)
    }

    fn instant_of(date: Date, ticks: u64) -> DateTime2 {
        DateTime2 { date, time: Time::new(ticks, 7).unwrap() }
    }

    #[test]
    fn dates_are_exact_to_the_unit() {
        // 1753-01-01, the first datetime, and the last tick of a day.
        let first = Datum::DateTime(DateTime::new(-53_690, 0).unwrap());
        assert_eq!(since_1970(first), Some(-6_847_804_800_000_000));
        let last = Datum::DateTime(DateTime::new(25_567, 25_919_999).unwrap());
        assert_eq!(since_1970(last), Some(86_399_997_000));
        assert_eq!(days(Date::from_ymd(1970, 1, 2).unwrap()), 1);
        // The first and the last day of datetime2.
        let day = |year, month, day| Date::from_ymd(year, month, day).unwrap();
        let first = Datum::DateTime2(instant_of(day(1, 1, 1), 0));
        assert_eq!(since_1970(first), Some(-62_135_596_800_000_000));
        let last = Datum::DateTime2(instant_of(day(9999, 12, 31), 863_999_999_999));
        assert_eq!(since_1970(last), Some(253_402_300_799_999_999));
    }

    #[test]
    fn an_offset_has_a_column_of_its_own() {
        let date = Date::from_ymd(1970, 1, 2).unwrap();
        let offset = Datum::DateTimeOffset(DateTimeOffset::new(instant_of(date, 10), -90).unwrap());
        let mut builder =
            ColumnBuilder::new(SqlType::DateTimeOffset { scale: 6 }, Timestamps::Text);
        builder.append(&offset);
        let arrays = builder.finish();
        let microseconds = arrays[0].as_primitive::<TimestampMicrosecondType>().value(0);
        assert_eq!(microseconds, MICROSECONDS_PER_DAY + 1);
        assert_eq!(arrays[1].as_primitive::<Int16Type>().value(0), -90);
    }

    #[test]
    fn seven_digits_are_text_in_every_year() {
        let mut builder = ColumnBuilder::new(SqlType::DateTime2 { scale: 7 }, Timestamps::Text);
        let date = Date::from_ymd(9999, 12, 31).unwrap();
        let appended = builder.append(&Datum::DateTime2(instant_of(date, 863_999_999_999)));
        assert!(appended.loss.is_none());
        assert!(builder.append(&Datum::Null).loss.is_none());
        let array = builder.finish().remove(0);
        assert_eq!(array.as_string::<i32>().value(0), "9999-12-31T23:59:59.9999999");
        assert_eq!(array.null_count(), 1);
    }

    #[test]
    fn digits_beyond_microseconds_are_counted_when_there_are_any() {
        let date = Date::from_ymd(9999, 12, 31).unwrap();
        for (ticks, lost) in [(10, 0), (11, 1), (0, 0), (863_999_999_999, 1)] {
            let mut builder = ColumnBuilder::new(SqlType::DateTime2 { scale: 7 }, Timestamps::Us);
            let appended = builder.append(&Datum::DateTime2(instant_of(date, ticks)));
            assert_eq!(appended.loss, Loss { times: lost, ..Loss::default() }, "{ticks}");
            let mut builder = ColumnBuilder::new(SqlType::Time { scale: 7 }, Timestamps::Us);
            let appended = builder.append(&Datum::Time(Time::new(ticks, 7).unwrap()));
            assert_eq!(appended.loss.times, lost, "{ticks}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_counted_as_lost() {
        let mut builder = ColumnBuilder::new(SqlType::Int, Timestamps::Text);
        assert_eq!(builder.append(&Datum::BigInt(1 << 40)).loss.values, 1);
        assert_eq!(builder.append(&Datum::Null).loss.values, 0);
    }

    #[test]
    fn money_keeps_its_four_decimals() {
        let mut builder = ColumnBuilder::new(SqlType::Money, Timestamps::Text);
        builder.append(&Datum::Money(Money(i64::MIN)));
        let array = builder.finish().remove(0);
        assert_eq!(array.data_type(), &DataType::Decimal128(19, 4));
        assert_eq!(array.as_primitive::<Decimal128Type>().value(0), i128::from(i64::MIN));
    }
}
