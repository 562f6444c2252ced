//! Functions of dates that no loop has: weeks by DATEFIRST, names, offsets, parts of dates.

use extentdb_types::SqlType;

use crate::calendar::{self, DAY, Moment, SECOND};
use crate::error::{EvalError, EvalResult};
use crate::operator::date::{DatePart, boundaries};
use crate::operator::moment::{self, Local, MAX_OFFSET};
use crate::operator::moment_style::{DAYS, offset_text};
use crate::operator::moment_text::{self, MONTHS, Rules};
use crate::operator::row::{Call, Cell, Outcome, first};
use crate::operator::{cast, codec};

/// The part that a call is about.
fn part_of(call: &Call) -> EvalResult<DatePart> {
    DatePart::numbered(call.number).ok_or(EvalError::Argument)
}

/// Number of a day in its week, 1 for the first day that the session says (1 is Monday).
fn week_day(days: i64, first_day: u8) -> i64 {
    (days - (i64::from(first_day) - 1)).rem_euclid(7) + 1
}

/// Number of the week: the first of January is in week 1.
fn week(days: i64, first_day: u8) -> EvalResult<i64> {
    let (year, _, _) = calendar::ymd(days)?;
    let first = calendar::days_of(year, 1, 1).ok_or(EvalError::Argument)?;
    Ok((days - first + week_day(first, first_day) - 1) / 7 + 1)
}

fn value(part: DatePart, local: Local, call: &Call) -> EvalResult<i64> {
    let Local { days, ticks, offset } = local;
    let seconds = ticks / SECOND;
    Ok(match part {
        DatePart::Year => calendar::ymd(days)?.0,
        DatePart::Quarter => (calendar::ymd(days)?.1 + 2) / 3,
        DatePart::Month => calendar::ymd(days)?.1,
        DatePart::Day => calendar::ymd(days)?.2,
        DatePart::DayOfYear => {
            let (year, _, _) = calendar::ymd(days)?;
            days - calendar::days_of(year, 1, 1).ok_or(EvalError::Argument)? + 1
        }
        DatePart::Week => week(days, call.options.first_day)?,
        DatePart::WeekDay => week_day(days, call.options.first_day),
        DatePart::IsoWeek => calendar::iso_week(days)?,
        DatePart::Hour => seconds / 3_600,
        DatePart::Minute => seconds / 60 % 60,
        DatePart::Second => seconds % 60,
        // Thirds of a datetime are shown rounded.
        DatePart::Millisecond if *call.ty(0) == SqlType::DateTime => {
            (ticks % SECOND + 5_000) / 10_000
        }
        DatePart::Millisecond => ticks % SECOND / 10_000,
        DatePart::Microsecond => ticks % SECOND / 10,
        DatePart::Nanosecond => ticks % SECOND * 100,
        DatePart::Offset => offset,
    })
}

/// DATEPART
pub fn part(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [date] = first::<1>(cells);
    value(part_of(call)?, moment::read(call.ty(0), date)?, call).map(Outcome::Int)
}

/// DATENAME
pub fn name(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [date] = first::<1>(cells);
    let local = moment::read(call.ty(0), date)?;
    let part = part_of(call)?;
    let named =
        |names: &[&str], at: i64| names.get(at as usize).copied().unwrap_or_default().to_owned();
    let text = match part {
        DatePart::Month => named(&MONTHS, calendar::ymd(local.days)?.1 - 1),
        // 0001-01-01 was a Monday.
        DatePart::WeekDay => named(&DAYS, local.days.rem_euclid(7)),
        DatePart::Offset => offset_text(local.offset),
        _ => value(part, local, call)?.to_string(),
    };
    codec::write(&call.result, &text, to);
    Ok(Outcome::Bytes)
}

/// A point in time some parts later.
fn later(part: DatePart, count: i64, local: Local) -> EvalResult<Local> {
    let overflow = EvalError::DateOverflow;
    if let Some(months) = part.months() {
        let months = count.checked_mul(months).ok_or(overflow)?;
        let days = calendar::add_months(local.days, months).map_err(|_| overflow)?;
        return Ok(Local { days, ..local });
    }
    let total = match part {
        DatePart::Day | DatePart::DayOfYear | DatePart::WeekDay => count.checked_mul(DAY),
        DatePart::Week => count.checked_mul(7 * DAY),
        // 100 ns is the least that is kept: the half goes up.
        DatePart::Nanosecond => Some((count + if count < 0 { -50 } else { 50 }) / 100),
        _ => part.ticks().and_then(|ticks| count.checked_mul(ticks)),
    };
    let total = total.and_then(|added| local.total().checked_add(added)).ok_or(overflow)?;
    Ok(Local::of_total(total, local.offset))
}

/// DATEADD: the date, then the count.
pub fn add(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [date, count] = first::<2>(cells);
    let local = moment::read(call.ty(0), date)?;
    let sum = later(part_of(call)?, count.int(), local)?;
    moment::write(&call.result, sum, to).map_err(|_| EvalError::DateOverflow)
}

/// DATEDIFF and DATEDIFF_BIG, datetimeoffset by UTC.
pub fn diff(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [from, to] = first::<2>(cells);
    let moment = |at: usize, cell| {
        let utc = moment::read(call.ty(at), cell)?.utc();
        Ok(Moment { days: utc.days, ticks: utc.ticks })
    };
    let crossed = boundaries(part_of(call)?, moment(0, from)?, moment(1, to)?)
        .map_err(|_| EvalError::DateDifference)?;
    let is_big = call.result == SqlType::BigInt;
    let fits = is_big || i32::try_from(crossed).is_ok();
    if fits { Ok(Outcome::Int(crossed)) } else { Err(EvalError::DateDifference) }
}

/// DATETRUNC
pub fn truncate(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [date] = first::<1>(cells);
    let local = moment::read(call.ty(0), date)?;
    let (year, month, _) = calendar::ymd(local.days)?;
    let first_of = |month: i64| calendar::days_of(year, month, 1).ok_or(EvalError::Argument);
    let part = part_of(call)?;
    let days = match part {
        DatePart::Year => first_of(1)?,
        DatePart::Quarter => first_of((month - 1) / 3 * 3 + 1)?,
        DatePart::Month => first_of(month)?,
        DatePart::Week => local.days - week_day(local.days, call.options.first_day) + 1,
        DatePart::IsoWeek => local.days - local.days.rem_euclid(7),
        _ => local.days,
    };
    let ticks = match (part, part.ticks()) {
        // A datetime is cut by its thousandths as they are shown.
        (DatePart::Millisecond, _) if call.result == SqlType::DateTime => local.ticks,
        (_, Some(unit)) => local.ticks / unit * unit,
        _ => 0,
    };
    let local = Local { days, ticks, ..local };
    moment::write(&call.result, local, to).map_err(|_| EvalError::DateOverflow)
}

/// DATE_BUCKET: the date, the width, the origin (or 1900-01-01).
pub fn bucket(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [date, width, origin] = first::<3>(cells);
    let local = moment::read(call.ty(0), date)?;
    let origin = match origin {
        Cell::Null => Local { days: calendar::DAYS_TO_1900, ticks: 0, offset: local.offset },
        origin => moment::read(call.ty(2), origin)?,
    };
    let width = width.int();
    if width <= 0 {
        return Err(EvalError::Value);
    }
    let part = part_of(call)?;
    let start = match part.months() {
        Some(months) => {
            let width = width.checked_mul(months).ok_or(EvalError::DateOverflow)?;
            let mut steps = {
                let crossed = |local: Local| {
                    let (year, month, _) = calendar::ymd(local.days)?;
                    Ok::<i64, EvalError>(year * 12 + month)
                };
                (crossed(local)? - crossed(origin)?).div_euclid(width)
            };
            // The bucket may begin later in its month.
            let begin = |steps: i64| later(DatePart::Month, steps * width, origin);
            if begin(steps)?.total() > local.total() {
                steps -= 1;
            }
            begin(steps)?
        }
        None => {
            let unit = match part {
                DatePart::Day => Some(DAY),
                DatePart::Week => Some(7 * DAY),
                other => other.ticks(),
            };
            let width = unit.and_then(|unit| unit.checked_mul(width));
            let width = width.ok_or(EvalError::DateOverflow)?;
            let steps = (local.total() - origin.total()).div_euclid(width);
            Local::of_total(origin.total() + steps * width, local.offset)
        }
    };
    moment::write(&call.result, start, to).map_err(|_| EvalError::DateOverflow)
}

/// DATEFROMPARTS and its family, by the type of the result.
pub fn from_parts(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let mut parts = cells.iter().map(|cell| cell.int());
    let mut next = || parts.next().unwrap_or(0);
    let days = match call.result {
        SqlType::Time { .. } => Some(calendar::DAYS_TO_1900),
        _ => calendar::days_of(next(), next(), next()),
    };
    let hour = next();
    let minute = next();
    let second = next();
    let fraction = next();
    let offset_hours = next();
    let offset_minutes = next();
    let digits = match call.result {
        SqlType::Time { scale }
        | SqlType::DateTime2 { scale }
        | SqlType::DateTimeOffset { scale } => scale,
        _ => 3,
    };
    let unit = 10i64.pow(u32::from(7 - digits.min(7)));
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..10i64.pow(u32::from(digits))).contains(&fraction);
    let offset = offset_hours * 60 + offset_minutes;
    // Hours and minutes have the same sign.
    let is_offset = offset.abs() <= MAX_OFFSET
        && offset_minutes.abs() < 60
        && offset_hours.signum() * offset_minutes.signum() >= 0;
    let days = days.filter(|_| is_time && is_offset).ok_or(EvalError::DateParts)?;
    let ticks = ((hour * 60 + minute) * 60 + second) * SECOND + fraction * unit;
    let local = Local { days, ticks, offset };
    moment::write(&call.result, local, to).map_err(|_| EvalError::DateParts)
}

/// ISDATE: is the text a datetime?
pub fn is_date(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [text] = first::<1>(cells);
    let Cell::Bytes(bytes) = text else { return Ok(Outcome::Int(0)) };
    let text = codec::decode(call.ty(0), bytes);
    let rules = Rules {
        is_old: true,
        date_format: call.options.date_format,
        style: -1,
    };
    let is_date = !text.trim().is_empty()
        && moment_text::read(&text, rules).is_ok_and(|(local, _)| {
            moment::write(&SqlType::DateTime, local, &mut Vec::new()).is_ok()
        });
    Ok(Outcome::Int(i64::from(is_date)))
}

/// Minutes of `±hh:mm`, or of a number.
fn offset_of(call: &Call, cell: Cell<'_>) -> EvalResult<i64> {
    let minutes = match cell {
        Cell::Bytes(bytes) => {
            let text = codec::decode(call.ty(0), bytes);
            read_offset(text.trim()).ok_or(EvalError::Offset)?
        }
        other => other.int(),
    };
    if minutes.abs() <= MAX_OFFSET { Ok(minutes) } else { Err(EvalError::Offset) }
}

fn read_offset(text: &str) -> Option<i64> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let number = |digits: &str| {
        let is_number = (1..=2).contains(&digits.len());
        is_number.then(|| digits.parse::<u8>().ok()).flatten().map(i64::from)
    };
    let minutes = number(minutes).filter(|minutes| *minutes < 60)?;
    Some(sign * (number(hours)? * 60 + minutes))
}

/// SWITCHOFFSET: the offset, then the date.
pub fn switch_offset(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [offset, date] = first::<2>(cells);
    let local = moment::read(call.ty(1), date)?;
    moment::write(&call.result, local.at_offset(offset_of(call, offset)?), to)
}

/// TODATETIMEOFFSET: the offset, then the date.
pub fn to_offset(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [offset, date] = first::<2>(cells);
    let local = moment::read(call.ty(1), date)?;
    moment::write(&call.result, Local { offset: offset_of(call, offset)?, ..local }, to)
}

/// PARSE of a date in en-US.
pub fn parse(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [text] = first::<1>(cells);
    let text = codec::decode(call.ty(0), text.bytes());
    // The name of a day may stand before the date.
    let word = text.trim();
    let is_day = |name: &&&str| word.len() > name.len() && word.starts_with(**name);
    let rest = DAYS.iter().find(is_day).and_then(|name| word.get(name.len()..)).unwrap_or(word);
    let rest = rest.trim_start_matches([',', ' ']);
    if rest.is_empty() {
        return Err(EvalError::Parse);
    }
    let mdy = Call {
        options: crate::options::StatementOptions {
            date_format: crate::options::DateFormat::Mdy,
            ..call.options
        },
        number: crate::operator::moment_style::NO_STYLE,
        ..call.clone()
    };
    cast::read(&call.result, rest, &mdy, to).map_err(|_| EvalError::Parse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_at_the_first_day_of_the_session() {
        let day = |year, month, day| calendar::days_of(year, month, day).unwrap();
        // 2024-01-01 was a Monday.
        assert_eq!(week_day(day(2024, 1, 1), 7), 2);
        assert_eq!(week_day(day(2024, 1, 1), 1), 1);
        assert_eq!(week(day(2021, 1, 1), 7), Ok(1));
        assert_eq!(week(day(2021, 1, 3), 7), Ok(2));
        assert_eq!(week(day(2021, 1, 3), 1), Ok(1));
    }

    #[test]
    fn offsets_are_read_strictly() {
        assert_eq!(read_offset("+05:30"), Some(330));
        assert_eq!(read_offset("-8:00"), Some(-480));
        assert_eq!(read_offset("05:30"), None);
        assert_eq!(read_offset("+05:60"), None);
    }
}
