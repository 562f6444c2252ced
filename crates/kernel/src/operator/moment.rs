//! Points in time of any type: local day and time of day, with the offset of datetimeoffset.

use extentdb_types::SqlType;

use crate::calendar::{self, Clock, DATETIME_DAY, DAY, Moment};
use crate::error::{EvalError, EvalResult};
use crate::operator::row::{Cell, Outcome};

/// Parts of 100 ns in a minute.
pub(crate) const MINUTE: i64 = 60 * calendar::SECOND;
/// The widest offset, in minutes.
pub(crate) const MAX_OFFSET: i64 = 14 * 60;

/// A local time and its offset from UTC in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Local {
    pub(crate) days: i64,
    pub(crate) ticks: i64,
    pub(crate) offset: i64,
}

impl From<Moment> for Local {
    fn from(moment: Moment) -> Local {
        Local { days: moment.days, ticks: moment.ticks, offset: 0 }
    }
}

impl Local {
    /// 100 ns since 0001-01-01.
    pub(crate) fn total(self) -> i64 {
        self.days * DAY + self.ticks
    }

    pub(crate) fn of_total(total: i64, offset: i64) -> Local {
        Local {
            days: total.div_euclid(DAY),
            ticks: total.rem_euclid(DAY),
            offset,
        }
    }

    /// The same instant in UTC.
    pub(crate) fn utc(self) -> Local {
        Local::of_total(self.total() - self.offset * MINUTE, 0)
    }

    /// The same instant at another offset.
    pub(crate) fn at_offset(self, offset: i64) -> Local {
        Local::of_total(self.utc().total() + offset * MINUTE, offset)
    }
}

fn unit(scale: u8) -> i64 {
    10i64.pow(u32::from(7 - scale.min(7)))
}

fn little_endian(bytes: &[u8]) -> i64 {
    bytes.iter().take(7).rev().fold(0, |value, byte| value << 8 | i64::from(*byte))
}

/// The point in time of a value. Parts of 1/300 s are rounded to 100 ns.
pub(crate) fn read(ty: &SqlType, cell: Cell<'_>) -> EvalResult<Local> {
    if let SqlType::DateTimeOffset { scale } = *ty {
        return read_offset(cell.bytes(), scale);
    }
    let count = cell.int();
    match calendar::clock(ty).ok_or(EvalError::Input)? {
        Clock::DateTime => Ok(Local {
            days: count.div_euclid(DATETIME_DAY) + calendar::DAYS_TO_1900,
            ticks: (count.rem_euclid(DATETIME_DAY) * 200_000 + 3) / 6,
            offset: 0,
        }),
        clock => Ok(clock.moment(count).into()),
    }
}

/// The UTC instant that a stored datetimeoffset begins with, as parts of 100 ns, and its offset.
pub(crate) fn stored_offset(bytes: &[u8], scale: u8) -> EvalResult<(i64, i64)> {
    let time_len = bytes.len().checked_sub(5).ok_or(EvalError::Input)?;
    let (time, rest) = bytes.split_at_checked(time_len).ok_or(EvalError::Input)?;
    let (date, offset) = rest.split_at_checked(3).ok_or(EvalError::Input)?;
    let ticks = little_endian(time).checked_mul(unit(scale)).filter(|ticks| *ticks < DAY);
    let days = little_endian(date);
    let (Some(ticks), 0..=calendar::LAST_DAY) = (ticks, days) else {
        return Err(EvalError::Input);
    };
    let utc = days * DAY + ticks;
    let offset = offset.try_into().map(i16::from_le_bytes).map_err(|_| EvalError::Input)?;
    Ok((utc, i64::from(offset)))
}

fn read_offset(bytes: &[u8], scale: u8) -> EvalResult<Local> {
    let (utc, offset) = stored_offset(bytes, scale)?;
    Ok(Local::of_total(utc + offset * MINUTE, offset))
}

/// A point in time as a value of a type, rounded to its precision.
pub(crate) fn write(ty: &SqlType, local: Local, to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let rounded = |scale: u8| (local.ticks + unit(scale) / 2) / unit(scale) * unit(scale);
    let is_day = |days: i64| (0..=calendar::LAST_DAY).contains(&days);
    let in_range = |count: i64| {
        let range = calendar::range(ty).ok_or(EvalError::DateRange)?;
        let is_in = (range.0..=range.1).contains(&count);
        if is_in { Ok(Outcome::Int(count)) } else { Err(EvalError::DateRange) }
    };
    // The nearest 1/300 s.
    let parts = (local.ticks * 3 + 50_000) / 100_000;
    let since_1900 = local.days - calendar::DAYS_TO_1900;
    match *ty {
        SqlType::Date => in_range(local.days),
        SqlType::DateTime => in_range(since_1900 * DATETIME_DAY + parts),
        SqlType::SmallDateTime => {
            in_range(since_1900 * calendar::SMALL_DAY + (parts + 9_000) / 18_000)
        }
        // Past midnight a time starts over.
        SqlType::Time { scale } => Ok(Outcome::Int(rounded(scale) % DAY)),
        SqlType::DateTime2 { scale } if is_day(local.days) => {
            in_range(local.days * DAY + rounded(scale))
        }
        SqlType::DateTimeOffset { scale } => {
            let local = Local::of_total(local.days * DAY + rounded(scale), local.offset);
            let utc = local.utc();
            if !is_day(local.days) || !is_day(utc.days) {
                return Err(EvalError::DateRange);
            }
            let time_len = match scale {
                0..=2 => 3,
                3..=4 => 4,
                _ => 5,
            };
            push_low(utc.ticks / unit(scale), time_len, to);
            push_low(utc.days, 3, to);
            push_low(local.offset, 2, to);
            Ok(Outcome::Bytes)
        }
        _ => Err(EvalError::DateRange),
    }
}

fn push_low(value: i64, bytes: usize, to: &mut Vec<u8>) {
    to.extend_from_slice(value.to_le_bytes().get(..bytes).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(days: i64, ticks: i64) -> Local {
        Local { days, ticks, offset: 0 }
    }

    #[test]
    fn values_round_to_their_precision() {
        let day = calendar::days_of(1998, 1, 1).unwrap();
        let ms = |ms: i64| (86_399_000 + ms) * 10_000;
        let datetime = |ticks| match write(&SqlType::DateTime, at(day, ticks), &mut Vec::new()) {
            Ok(Outcome::Int(count)) => count - (day - calendar::DAYS_TO_1900) * DATETIME_DAY,
            other => panic!("{other:?}"),
        };
        // 23:59:59.999 is the next day, .994 is .993 (public example).
        assert_eq!(datetime(ms(999)), DATETIME_DAY);
        assert_eq!(datetime(ms(994)), DATETIME_DAY - 2);
        assert_eq!(datetime(ms(995)), DATETIME_DAY - 1);
        let small = |ms: i64| {
            write(&SqlType::SmallDateTime, at(calendar::DAYS_TO_1900, ms * 10_000), &mut Vec::new())
        };
        assert_eq!(small(29_998), Ok(Outcome::Int(0)));
        assert_eq!(small(29_999), Ok(Outcome::Int(1)));
        let time = write(&SqlType::Time { scale: 0 }, at(0, DAY - 1), &mut Vec::new());
        assert_eq!(time, Ok(Outcome::Int(0)));
    }

    #[test]
    fn an_offset_is_stored_in_utc() {
        let ty = SqlType::DateTimeOffset { scale: 7 };
        let local = Local { days: 1, ticks: 30 * MINUTE, offset: 60 };
        let mut bytes = Vec::new();
        write(&ty, local, &mut bytes).unwrap();
        assert_eq!(stored_offset(&bytes, 7), Ok((DAY - 30 * MINUTE, 60)));
        assert_eq!(read(&ty, Cell::Bytes(&bytes)), Ok(local));
        let first = Local { days: 0, ticks: 0, offset: 60 };
        assert_eq!(write(&ty, first, &mut Vec::new()), Err(EvalError::DateRange));
    }

    #[test]
    fn a_datetime_has_thirds_of_a_millisecond() {
        let count = 100; // .333333
        assert_eq!(read(&SqlType::DateTime, Cell::Int(count)).unwrap().ticks, 3_333_333);
        assert_eq!(read(&SqlType::DateTime, Cell::Int(2 * count)).unwrap().ticks, 6_666_667);
    }
}
