//! Clocks: what the integers of date and time types count, and the arithmetic of calendars.
//!
//! ```text
//! type            counts                 from
//! date            days                   0001-01-01, a Monday
//! datetime        1/300 s                1900-01-01
//! smalldatetime   minutes                1900-01-01
//! time            100 ns                 midnight
//! datetime2       100 ns                 0001-01-01
//! ```

use extentdb_types::{Date, SqlType};

use crate::error::{EvalError, EvalResult};

/// 1900-01-01 in days since 0001-01-01.
pub(crate) const DAYS_TO_1900: i64 = 693_595;
/// 9999-12-31 in days since 0001-01-01.
pub(crate) const LAST_DAY: i64 = 3_652_058;
/// 1753-01-01 in days since 1900-01-01.
const DATETIME_FIRST_DAY: i64 = -53_690;
/// Parts of 1/300 s in a day.
pub(crate) const DATETIME_DAY: i64 = 300 * 86_400;
/// Minutes in a day.
pub(crate) const SMALL_DAY: i64 = 1_440;
/// Parts of 100 ns in a second.
pub const SECOND: i64 = 10_000_000;
/// Parts of 100 ns in a day.
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// Which clock a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are SQL Server's types")]
pub enum Clock {
    Date,
    DateTime,
    SmallDateTime,
    Time,
    DateTime2,
}

/// The clock of a type.
#[inline]
pub fn clock(ty: &SqlType) -> Option<Clock> {
    Some(match ty {
        SqlType::Date => Clock::Date,
        SqlType::DateTime => Clock::DateTime,
        SqlType::SmallDateTime => Clock::SmallDateTime,
        SqlType::Time { .. } => Clock::Time,
        SqlType::DateTime2 { .. } => Clock::DateTime2,
        _ => return None,
    })
}

/// Least and greatest count of a clock.
#[inline]
pub fn range(ty: &SqlType) -> Option<(i64, i64)> {
    Some(match clock(ty)? {
        Clock::Date => (0, LAST_DAY),
        Clock::DateTime => {
            (DATETIME_FIRST_DAY * DATETIME_DAY, (LAST_DAY - DAYS_TO_1900 + 1) * DATETIME_DAY - 1)
        }
        Clock::SmallDateTime => (0, 65_536 * SMALL_DAY - 1),
        Clock::Time => (0, DAY - 1),
        Clock::DateTime2 => (0, (LAST_DAY + 1) * DAY - 1),
    })
}

/// A point in time: days since 0001-01-01 and parts of 100 ns since midnight, a datetime's rounded
/// down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub(crate) days: i64,
    pub(crate) ticks: i64,
}

impl Clock {
    /// The point in time of a count. A time is of 1900-01-01.
    pub(crate) fn moment(self, count: i64) -> Moment {
        let split = |day: i64, tick: i64, first: i64| Moment {
            days: count.div_euclid(day) + first,
            ticks: count.rem_euclid(day) * tick,
        };
        match self {
            Clock::Date => Moment { days: count, ticks: 0 },
            Clock::DateTime => Moment {
                days: count.div_euclid(DATETIME_DAY) + DAYS_TO_1900,
                ticks: count.rem_euclid(DATETIME_DAY) * (SECOND / 100) / 3,
            },
            Clock::SmallDateTime => split(SMALL_DAY, 60 * SECOND, DAYS_TO_1900),
            Clock::Time => split(DAY, 1, DAYS_TO_1900),
            Clock::DateTime2 => split(DAY, 1, 0),
        }
    }

    /// The count of a day with this clock, `None` for a time.
    pub(crate) fn of_day(self, days: i64) -> Option<i64> {
        Some(match self {
            Clock::Date => days,
            Clock::DateTime => (days - DAYS_TO_1900) * DATETIME_DAY,
            Clock::SmallDateTime => (days - DAYS_TO_1900) * SMALL_DAY,
            Clock::DateTime2 => days.checked_mul(DAY)?,
            Clock::Time => return None,
        })
    }

    /// Counts in a day; a date counts days.
    pub fn per_day(self) -> i64 {
        match self {
            Clock::Date => 1,
            Clock::DateTime => DATETIME_DAY,
            Clock::SmallDateTime => SMALL_DAY,
            Clock::Time | Clock::DateTime2 => DAY,
        }
    }
}

/// Year, month and day of days since 0001-01-01.
pub(crate) fn ymd(days: i64) -> EvalResult<(i64, i64, i64)> {
    let date = u32::try_from(days)
        .ok()
        .and_then(|days| Date::new(days).ok())
        .ok_or(EvalError::Argument)?;
    let (year, month, day) = date.ymd();
    Ok((year.into(), month.into(), day.into()))
}

/// Days since 0001-01-01 of a date; `None` when there is no such date.
pub(crate) fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let date = Date::from_ymd(
        u16::try_from(year).ok()?,
        u8::try_from(month).ok()?,
        u8::try_from(day).ok()?,
    )?;
    Some(date.days().into())
}

/// The last day of a month (1–12).
pub(crate) fn last_of_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day some months later, the last of its month where the month is shorter.
pub(crate) fn add_months(days: i64, months: i64) -> EvalResult<i64> {
    let (year, month, day) = ymd(days)?;
    let at = (year * 12 + month - 1).checked_add(months).ok_or(EvalError::Argument)?;
    let year = at.div_euclid(12);
    let month = at.rem_euclid(12) + 1;
    let day = day.min(last_of_month(year, month));
    days_of(year, month, day).ok_or(EvalError::Argument)
}

/// Number of the ISO 8601 week.
pub(crate) fn iso_week(days: i64) -> EvalResult<i64> {
    // The week belongs to the year of its Thursday. Beyond the last year of the calendar there is
    // none.
    let thursday = days - days.rem_euclid(7) + 3;
    let (year, _, _) = ymd(thursday)?;
    let first = days_of(year, 1, 1).ok_or(EvalError::Argument)?;
    Ok((thursday - first) / 7 + 1)
}

/// Hour, minute and second of a time of day in ticks.
pub(crate) fn hms(ticks: i64) -> [i64; 3] {
    let seconds = ticks / SECOND;
    [seconds / 3_600, seconds / 60 % 60, seconds % 60]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_weeks_belong_to_the_year_of_their_thursday() {
        for (year, month, day, week) in [
            (2007, 4, 21, 16),
            (2005, 1, 1, 53),
            (2008, 12, 29, 1),
            (2010, 1, 3, 53),
            (2010, 1, 4, 1),
        ] {
            assert_eq!(
                iso_week(days_of(year, month, day).unwrap()),
                Ok(week),
                "{year}-{month}-{day}"
            );
        }
    }

    #[test]
    fn months_end_at_their_last_day() {
        let day = |year, month, day| days_of(year, month, day).unwrap();
        assert_eq!(add_months(day(2006, 8, 31), 1), Ok(day(2006, 9, 30)));
        assert_eq!(add_months(day(2004, 2, 29), 12), Ok(day(2005, 2, 28)));
        assert_eq!(add_months(day(2004, 1, 31), -1), Ok(day(2003, 12, 31)));
        assert_eq!(add_months(day(9999, 12, 1), 1), Err(EvalError::Argument));
        assert_eq!(add_months(day(1, 1, 1), -1), Err(EvalError::Argument));
        assert_eq!(add_months(day(1, 1, 1), i64::MAX), Err(EvalError::Argument));
    }

    #[test]
    fn clocks_agree_about_a_day() {
        let day = days_of(2000, 2, 29).unwrap();
        for clock in [Clock::Date, Clock::DateTime, Clock::SmallDateTime, Clock::DateTime2] {
            assert_eq!(clock.moment(clock.of_day(day).unwrap()), Moment { days: day, ticks: 0 });
        }
        // The last 1/300 s of 1899.
        assert_eq!(
            Clock::DateTime.moment(-1),
            Moment { days: DAYS_TO_1900 - 1, ticks: DAY - 33_334 }
        );
    }
}
