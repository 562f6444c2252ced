//! Functions of dates: DATEPART, DATEADD, DATEDIFF, EOMONTH, DATEFROMPARTS.
//!
//! Parts that depend on a session (weekday and week by DATEFIRST) or on the compatibility level
//! (microseconds of a datetime) are not here. DATEDIFF counts the boundaries crossed; its weeks
//! begin on Sunday, whatever the session says.

use extentdb_types::SqlType;

use crate::calendar::{self, Clock, DAY, Moment, SECOND};
use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, Lanes, Reg, map, zip, zip3};
use crate::operator::arithmetic::Range;
use crate::operator::date_text::milliseconds;

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the names of the parts")]
pub enum DatePart {
    Year,
    Quarter,
    Month,
    DayOfYear,
    Day,
    Week,
    WeekDay,
    IsoWeek,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    /// `tzoffset`
    Offset,
}

/// All parts, each at the place of its number.
const PARTS: [(DatePart, &str); 15] = [
    (DatePart::Year, "year"),
    (DatePart::Quarter, "quarter"),
    (DatePart::Month, "month"),
    (DatePart::DayOfYear, "dayofyear"),
    (DatePart::Day, "day"),
    (DatePart::Week, "week"),
    (DatePart::WeekDay, "weekday"),
    (DatePart::IsoWeek, "iso_week"),
    (DatePart::Hour, "hour"),
    (DatePart::Minute, "minute"),
    (DatePart::Second, "second"),
    (DatePart::Millisecond, "millisecond"),
    (DatePart::Microsecond, "microsecond"),
    (DatePart::Nanosecond, "nanosecond"),
    (DatePart::Offset, "tzoffset"),
];

impl DatePart {
    /// The part of a number, which is its place.
    pub(crate) fn numbered(number: i64) -> Option<DatePart> {
        usize::try_from(number).ok().and_then(|at| PARTS.get(at)).map(|(part, _)| *part)
    }

    /// As messages name it.
    pub fn name(self) -> &'static str {
        PARTS.get(self as usize).map_or("", |(_, name)| name)
    }

    /// Months of it, for the parts that are months.
    pub fn months(self) -> Option<i64> {
        match self {
            DatePart::Year => Some(12),
            DatePart::Quarter => Some(3),
            DatePart::Month => Some(1),
            _ => None,
        }
    }

    /// Has a type this part?
    pub fn is_of(self, ty: &SqlType) -> bool {
        let is_of_time = self.ticks().is_some() || self == DatePart::Nanosecond;
        match ty {
            SqlType::Date => !is_of_time && self != DatePart::Offset,
            SqlType::Time { .. } => is_of_time,
            SqlType::DateTimeOffset { .. } | SqlType::DateTime2 { .. } => true,
            _ => self != DatePart::Offset,
        }
    }

    /// Can a type be cut to this part?
    pub fn is_not_finer_than(self, ty: &SqlType) -> bool {
        let digits = match *ty {
            SqlType::SmallDateTime => {
                return !matches!(
                    self,
                    DatePart::Second | DatePart::Millisecond | DatePart::Microsecond
                );
            }
            SqlType::DateTime => 3,
            SqlType::Time { scale }
            | SqlType::DateTime2 { scale }
            | SqlType::DateTimeOffset { scale } => scale,
            _ => return true,
        };
        match self {
            DatePart::Millisecond => digits >= 3,
            DatePart::Microsecond => digits >= 6,
            _ => true,
        }
    }

    /// By its name or abbreviation, in lower case.
    pub fn named(name: &str) -> Option<DatePart> {
        Some(match name {
            "year" | "yy" | "yyyy" => DatePart::Year,
            "quarter" | "qq" | "q" => DatePart::Quarter,
            "month" | "mm" | "m" => DatePart::Month,
            "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
            "day" | "dd" | "d" => DatePart::Day,
            "week" | "wk" | "ww" => DatePart::Week,
            "weekday" | "dw" | "w" => DatePart::WeekDay,
            "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            "tzoffset" | "tz" => DatePart::Offset,
            _ => return None,
        })
    }

    /// Parts of 100 ns, for the parts of a day.
    pub fn ticks(self) -> Option<i64> {
        Some(match self {
            DatePart::Hour => 3_600 * SECOND,
            DatePart::Minute => 60 * SECOND,
            DatePart::Second => SECOND,
            DatePart::Millisecond => SECOND / 1_000,
            DatePart::Microsecond => SECOND / 1_000_000,
            _ => return None,
        })
    }
}

/// Functions of dates.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum Op {
    DatePart {
        part: DatePart,
        clock: Clock,
        a: Reg,
    },
    /// Adds `factor` counts of the clock for each of `count`.
    AddCounts {
        factor: i64,
        range: Range,
        count: Reg,
        a: Reg,
    },
    /// Adds `factor` months for each of `count`.
    AddMonths {
        factor: i64,
        clock: Clock,
        range: Range,
        count: Reg,
        a: Reg,
    },
    Diff {
        part: DatePart,
        clocks: (Clock, Clock),
        from: Reg,
        to: Reg,
    },
    EndOfMonth {
        clock: Clock,
        a: Reg,
        months: Reg,
    },
    FromParts {
        year: Reg,
        month: Reg,
        day: Reg,
    },
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, out: &mut Lane) {
        match *self {
            Op::DatePart { part, clock, a } => date_parts(part, clock, lanes.at(a), out),
            Op::AddCounts { factor, range, count, a } => {
                zip(out, (lanes.at(count), lanes.at(a)), |count: i64, a: i64| {
                    let sum = count.checked_mul(factor).and_then(|added| a.checked_add(added));
                    sum.filter(|it| (range.0..=range.1).contains(it)).ok_or(EvalError::Argument)
                });
            }
            Op::AddMonths { factor, clock, range, count, a } => {
                zip(out, (lanes.at(count), lanes.at(a)), |count: i64, a: i64| {
                    let sum = add_months(
                        clock,
                        a,
                        count.checked_mul(factor).ok_or(EvalError::Argument)?,
                    )?;
                    if (range.0..=range.1).contains(&sum) {
                        Ok(sum)
                    } else {
                        Err(EvalError::Argument)
                    }
                });
            }
            Op::Diff { part, clocks, from, to } => {
                zip(out, (lanes.at(from), lanes.at(to)), |from: i64, to: i64| {
                    diff(part, clocks.0.moment(from), clocks.1.moment(to))
                });
            }
            Op::EndOfMonth { clock, a, months } => {
                zip(out, (lanes.at(a), lanes.at(months)), |a: i64, months: i64| {
                    let (year, month, _) = calendar::ymd(clock.moment(a).days)?;
                    let first = calendar::days_of(year, month, 1).ok_or(EvalError::Argument)?;
                    let (year, month, _) = calendar::ymd(calendar::add_months(first, months)?)?;
                    let last = calendar::last_of_month(year, month);
                    calendar::days_of(year, month, last).ok_or(EvalError::Argument)
                });
            }
            Op::FromParts { year, month, day } => {
                zip3(
                    out,
                    (lanes.at(year), lanes.at(month), lanes.at(day)),
                    |year: i64, month: i64, day: i64| {
                        calendar::days_of(year, month, day).ok_or(EvalError::Argument)
                    },
                );
            }
        }
    }
}

/// What is asked for most has a loop of its own, in which part and clock are settled.
fn date_parts(part: DatePart, clock: Clock, a: &Lane, out: &mut Lane) {
    match (part, clock) {
        (DatePart::Year, Clock::DateTime) => {
            map(out, a, |a| date_part(DatePart::Year, Clock::DateTime, a))
        }
        (DatePart::Month, Clock::DateTime) => {
            map(out, a, |a| date_part(DatePart::Month, Clock::DateTime, a))
        }
        (DatePart::Year, Clock::Date) => map(out, a, |a| date_part(DatePart::Year, Clock::Date, a)),
        _ => map(out, a, |a| date_part(part, clock, a)),
    }
}

#[inline(always)]
fn date_part(part: DatePart, clock: Clock, count: i64) -> EvalResult<i64> {
    let Moment { days, ticks } = clock.moment(count);
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
        DatePart::IsoWeek => calendar::iso_week(days)?,
        DatePart::Hour => seconds / 3_600,
        DatePart::Minute => seconds / 60 % 60,
        DatePart::Second => seconds % 60,
        DatePart::Millisecond if clock == Clock::DateTime => milliseconds(count) % 1_000,
        DatePart::Millisecond => ticks % SECOND / 10_000,
        DatePart::Microsecond => ticks % SECOND / 10,
        DatePart::Nanosecond => ticks % SECOND * 100,
        DatePart::Week | DatePart::WeekDay | DatePart::Offset => return Err(EvalError::Argument),
    })
}

/// The same time of day some months later.
fn add_months(clock: Clock, count: i64, months: i64) -> EvalResult<i64> {
    let before = clock.moment(count).days;
    let after = calendar::add_months(before, months)?;
    after
        .checked_sub(before)
        .and_then(|days| days.checked_mul(clock.per_day()))
        .and_then(|added| count.checked_add(added))
        .ok_or(EvalError::Argument)
}

/// Boundaries of the part between two points in time; the result is an int.
fn diff(part: DatePart, from: Moment, to: Moment) -> EvalResult<i64> {
    let crossed = boundaries(part, from, to)?;
    let is_int = i32::try_from(crossed).is_ok();
    if is_int { Ok(crossed) } else { Err(EvalError::Argument) }
}

/// Boundaries of the part between two points in time.
pub(crate) fn boundaries(part: DatePart, from: Moment, to: Moment) -> EvalResult<i64> {
    let months = |moment: Moment| {
        let (year, month, _) = calendar::ymd(moment.days)?;
        Ok::<i64, EvalError>(year * 12 + month - 1)
    };
    let between = |count: &dyn Fn(Moment) -> i64| count(to) - count(from);
    Ok(match part {
        DatePart::Year => months(to)? / 12 - months(from)? / 12,
        DatePart::Quarter => months(to)? / 3 - months(from)? / 3,
        DatePart::Month => months(to)? - months(from)?,
        DatePart::Day | DatePart::DayOfYear | DatePart::WeekDay => to.days - from.days,
        // 0001-01-01 is a Monday, so the first Sunday is day 6.
        DatePart::Week => between(&|it| (it.days + 1).div_euclid(7)),
        DatePart::IsoWeek | DatePart::Offset => return Err(EvalError::Argument),
        DatePart::Nanosecond => (to.days - from.days)
            .checked_mul(DAY)
            .and_then(|days| days.checked_add(to.ticks - from.ticks))
            .and_then(|ticks| ticks.checked_mul(100))
            .ok_or(EvalError::Argument)?,
        _ => {
            let unit = part.ticks().ok_or(EvalError::Argument)?;
            between(&|it| it.days * (DAY / unit) + it.ticks / unit)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        crate::operator::date_text::read_unambiguous(text, Clock::DateTime2).unwrap()
    }

    #[test]
    fn one_tick_can_cross_every_boundary() {
        // The documented example: all of these are 1.
        let from = moment("2005-12-31 23:59:59.9999999");
        let to = moment("2006-01-01 00:00:00.0000000");
        let parts = [
            DatePart::Year,
            DatePart::Quarter,
            DatePart::Month,
            DatePart::DayOfYear,
            DatePart::Day,
            DatePart::Week,
            DatePart::Hour,
            DatePart::Minute,
            DatePart::Second,
            DatePart::Millisecond,
            DatePart::Microsecond,
        ];
        for part in parts {
            assert_eq!(diff(part, from, to), Ok(1), "{part:?}");
            assert_eq!(diff(part, to, from), Ok(-1), "{part:?}");
        }
        assert_eq!(diff(DatePart::Nanosecond, from, to), Ok(100));
        assert_eq!(
            diff(DatePart::Second, moment("19000101"), moment("20000101")),
            Err(EvalError::Argument)
        );
    }

    #[test]
    fn parts_of_the_documented_example() {
        let at = moment("2007-10-30 12:15:32.1234567");
        let count = at.days * DAY + at.ticks;
        let parts = [
            (DatePart::Year, 2007),
            (DatePart::Quarter, 4),
            (DatePart::Month, 10),
            (DatePart::DayOfYear, 303),
            (DatePart::Day, 30),
            (DatePart::Hour, 12),
            (DatePart::Minute, 15),
            (DatePart::Second, 32),
            (DatePart::Millisecond, 123),
            (DatePart::Microsecond, 123_456),
            (DatePart::Nanosecond, 123_456_700),
        ];
        for (part, expected) in parts {
            assert_eq!(date_part(part, Clock::DateTime2, count), Ok(expected), "{part:?}");
        }
    }

    #[test]
    fn weeks_begin_on_sunday() {
        // 2006-01-01 was a Sunday.
        assert_eq!(diff(DatePart::Week, moment("20060101"), moment("20060107")), Ok(0));
        assert_eq!(diff(DatePart::Week, moment("20060107"), moment("20060108")), Ok(1));
    }

    #[test]
    fn months_keep_the_time_of_day() {
        let noon = |text| {
            let at = moment(text);
            Clock::DateTime.of_day(at.days).unwrap() + calendar::DATETIME_DAY / 2
        };
        assert_eq!(add_months(Clock::DateTime, noon("20060831"), 1), Ok(noon("20060930")));
        assert_eq!(
            add_months(Clock::DateTime, noon("20060831"), i64::MAX),
            Err(EvalError::Argument)
        );
    }
}
