//! Functions of dates: DATEPART, DATEADD, DATEDIFF, EOMONTH, DATEFROMPARTS.
//!
//! Parts that depend on a session (weekday and week by DATEFIRST) or on the compatibility level
//! (microseconds of a datetime) are not here. DATEDIFF counts the boundaries crossed; its weeks
//! begin on Sunday, whatever the session says.

use crate::calendar::{self, Clock, DAY, Moment, SECOND};
use crate::error::{EvalError, Outcome};
use crate::lane::{Lane, Lanes, Reg, map, zip, zip3};
use crate::op::arithmetic::Range;
use crate::op::date_text::milliseconds;

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
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
}

impl Part {
    /// By its name or abbreviation, in lower case.
    pub(crate) fn named(name: &str) -> Option<Part> {
        Some(match name {
            "year" | "yy" | "yyyy" => Part::Year,
            "quarter" | "qq" | "q" => Part::Quarter,
            "month" | "mm" | "m" => Part::Month,
            "dayofyear" | "dy" | "y" => Part::DayOfYear,
            "day" | "dd" | "d" => Part::Day,
            "week" | "wk" | "ww" => Part::Week,
            "weekday" | "dw" | "w" => Part::WeekDay,
            "iso_week" | "isowk" | "isoww" => Part::IsoWeek,
            "hour" | "hh" => Part::Hour,
            "minute" | "mi" | "n" => Part::Minute,
            "second" | "ss" | "s" => Part::Second,
            "millisecond" | "ms" => Part::Millisecond,
            "microsecond" | "mcs" => Part::Microsecond,
            "nanosecond" | "ns" => Part::Nanosecond,
            _ => return None,
        })
    }

    /// Parts of 100 ns, for the parts of a day.
    pub(crate) fn ticks(self) -> Option<i64> {
        Some(match self {
            Part::Hour => 3_600 * SECOND,
            Part::Minute => 60 * SECOND,
            Part::Second => SECOND,
            Part::Millisecond => SECOND / 1_000,
            Part::Microsecond => SECOND / 1_000_000,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Part {
        part: Part,
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
        part: Part,
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
            Op::Part { part, clock, a } => date_parts(part, clock, lanes.at(a), out),
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
fn date_parts(part: Part, clock: Clock, a: &Lane, out: &mut Lane) {
    match (part, clock) {
        (Part::Year, Clock::DateTime) => map(out, a, |a| date_part(Part::Year, Clock::DateTime, a)),
        (Part::Month, Clock::DateTime) => {
            map(out, a, |a| date_part(Part::Month, Clock::DateTime, a))
        }
        (Part::Year, Clock::Date) => map(out, a, |a| date_part(Part::Year, Clock::Date, a)),
        _ => map(out, a, |a| date_part(part, clock, a)),
    }
}

#[inline(always)]
fn date_part(part: Part, clock: Clock, count: i64) -> Outcome<i64> {
    let Moment { days, ticks } = clock.moment(count);
    let seconds = ticks / SECOND;
    Ok(match part {
        Part::Year => calendar::ymd(days)?.0,
        Part::Quarter => (calendar::ymd(days)?.1 + 2) / 3,
        Part::Month => calendar::ymd(days)?.1,
        Part::Day => calendar::ymd(days)?.2,
        Part::DayOfYear => {
            let (year, _, _) = calendar::ymd(days)?;
            days - calendar::days_of(year, 1, 1).ok_or(EvalError::Argument)? + 1
        }
        Part::IsoWeek => calendar::iso_week(days)?,
        Part::Hour => seconds / 3_600,
        Part::Minute => seconds / 60 % 60,
        Part::Second => seconds % 60,
        Part::Millisecond if clock == Clock::DateTime => milliseconds(count) % 1_000,
        Part::Millisecond => ticks % SECOND / 10_000,
        Part::Microsecond => ticks % SECOND / 10,
        Part::Nanosecond => ticks % SECOND * 100,
        Part::Week | Part::WeekDay => return Err(EvalError::Argument),
    })
}

/// The same time of day some months later.
fn add_months(clock: Clock, count: i64, months: i64) -> Outcome<i64> {
    let before = clock.moment(count).days;
    let after = calendar::add_months(before, months)?;
    after
        .checked_sub(before)
        .and_then(|days| days.checked_mul(clock.per_day()))
        .and_then(|added| count.checked_add(added))
        .ok_or(EvalError::Argument)
}

/// Boundaries of the part between two points in time; the result is an int.
fn diff(part: Part, from: Moment, to: Moment) -> Outcome<i64> {
    let months = |moment: Moment| {
        let (year, month, _) = calendar::ymd(moment.days)?;
        Ok::<i64, EvalError>(year * 12 + month - 1)
    };
    let between = |count: &dyn Fn(Moment) -> i64| count(to) - count(from);
    let crossed = match part {
        Part::Year => months(to)? / 12 - months(from)? / 12,
        Part::Quarter => months(to)? / 3 - months(from)? / 3,
        Part::Month => months(to)? - months(from)?,
        Part::Day | Part::DayOfYear | Part::WeekDay => to.days - from.days,
        // 0001-01-01 is a Monday, so the first Sunday is day 6.
        Part::Week => between(&|it| (it.days + 1).div_euclid(7)),
        Part::IsoWeek => return Err(EvalError::Argument),
        Part::Nanosecond => (to.days - from.days)
            .checked_mul(DAY)
            .and_then(|days| days.checked_add(to.ticks - from.ticks))
            .and_then(|ticks| ticks.checked_mul(100))
            .ok_or(EvalError::Argument)?,
        _ => {
            let unit = part.ticks().ok_or(EvalError::Argument)?;
            between(&|it| it.days * (DAY / unit) + it.ticks / unit)
        }
    };
    let is_int = i32::try_from(crossed).is_ok();
    if is_int { Ok(crossed) } else { Err(EvalError::Argument) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        crate::op::date_text::read_unambiguous(text, Clock::DateTime2).unwrap()
    }

    #[test]
    fn one_tick_can_cross_every_boundary() {
        // The documented example: all of these are 1.
        let from = moment("2005-12-31 23:59:59.9999999");
        let to = moment("2006-01-01 00:00:00.0000000");
        let parts = [
            Part::Year,
            Part::Quarter,
            Part::Month,
            Part::DayOfYear,
            Part::Day,
            Part::Week,
            Part::Hour,
            Part::Minute,
            Part::Second,
            Part::Millisecond,
            Part::Microsecond,
        ];
        for part in parts {
            assert_eq!(diff(part, from, to), Ok(1), "{part:?}");
            assert_eq!(diff(part, to, from), Ok(-1), "{part:?}");
        }
        assert_eq!(diff(Part::Nanosecond, from, to), Ok(100));
        assert_eq!(
            diff(Part::Second, moment("19000101"), moment("20000101")),
            Err(EvalError::Argument)
        );
    }

    #[test]
    fn parts_of_the_documented_example() {
        let at = moment("2007-10-30 12:15:32.1234567");
        let count = at.days * DAY + at.ticks;
        let parts = [
            (Part::Year, 2007),
            (Part::Quarter, 4),
            (Part::Month, 10),
            (Part::DayOfYear, 303),
            (Part::Day, 30),
            (Part::Hour, 12),
            (Part::Minute, 15),
            (Part::Second, 32),
            (Part::Millisecond, 123),
            (Part::Microsecond, 123_456),
            (Part::Nanosecond, 123_456_700),
        ];
        for (part, expected) in parts {
            assert_eq!(date_part(part, Clock::DateTime2, count), Ok(expected), "{part:?}");
        }
    }

    #[test]
    fn weeks_begin_on_sunday() {
        // 2006-01-01 was a Sunday.
        assert_eq!(diff(Part::Week, moment("20060101"), moment("20060107")), Ok(0));
        assert_eq!(diff(Part::Week, moment("20060107"), moment("20060108")), Ok(1));
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
