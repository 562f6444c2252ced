//! Dates and times in their stored units.
//!
//! ```text
//! datetime          u32 ticks of 1/300 s since midnight, i32 days since 1900-01-01
//! smalldatetime     u16 minutes since midnight, u16 days since 1900-01-01
//! date              u24 days since 0001-01-01
//! time(n)           count of 10^-n s since midnight: 3 bytes (n 0-2), 4 (3-4), 5 (5-7)
//! datetime2(n)      time(n), date
//! datetimeoffset(n) time(n), date (both UTC), i16 offset in minutes
//! ```
//!
//! Invariants
//! - A value of these types is always within SQL Server's range: the constructors refuse the rest.
//! - [`Display`](fmt::Display) is the ISO 8601 text of `export`; comparison is by instant.

use std::fmt;

use crate::error::Field;

/// Ticks of 1/300 s in a day.
const DATETIME_TICKS_PER_DAY: u32 = 300 * 86_400;
/// 1753-01-01 in days since 1900-01-01.
const DATETIME_FIRST_DAY: i32 = -53_690;
/// 9999-12-31 in days since 1900-01-01.
const DATETIME_LAST_DAY: i32 = 2_958_463;
/// 9999-12-31 in days since 0001-01-01.
const DATE_LAST_DAY: u32 = 3_652_058;
/// 1900-01-01 in days since 0001-01-01.
const DAYS_TO_1900: i32 = 693_595;
const MINUTES_PER_DAY: u16 = 1_440;
/// ±14:00, the widest offset of a datetimeoffset.
const MAX_OFFSET_MINUTES: i16 = 840;
const MAX_SCALE: u8 = 7;

/// datetime: 1753-01-01 to 9999-12-31 in steps of 1/300 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    days: i32,
    ticks: u32,
}

impl DateTime {
    /// 1900-01-01, the base date.
    pub const BASE: DateTime = DateTime { days: 0, ticks: 0 };

    /// A value of days since 1900-01-01 and 1/300 s since midnight, or the field that is out of
    /// range.
    pub fn new(days: i32, ticks: u32) -> Result<DateTime, Field> {
        if !(DATETIME_FIRST_DAY..=DATETIME_LAST_DAY).contains(&days) {
            return Err(Field::Days);
        }
        if ticks >= DATETIME_TICKS_PER_DAY {
            return Err(Field::Ticks);
        }
        Ok(DateTime { days, ticks })
    }

    /// Days since 1900-01-01.
    #[must_use]
    pub fn days(&self) -> i32 {
        self.days
    }

    /// Parts of 1/300 s since midnight.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// The date part.
    #[must_use]
    pub fn date(&self) -> Date {
        // In range by the constructor: the first day is in 1753.
        Date { days: (self.days + DAYS_TO_1900) as u32 }
    }

    /// Milliseconds since midnight, rounded: …0, …3 or …7.
    #[must_use]
    pub fn milliseconds(&self) -> u32 {
        // round(ticks * 10 / 3): the remainder is 0, 1 or 2 thirds, so one half never occurs.
        (self.ticks * 10 + 1) / 3
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.milliseconds();
        write!(f, "{}T", self.date())?;
        write_clock(f, milliseconds / 1_000)?;
        write!(f, ".{:03}", milliseconds % 1_000)
    }
}

/// smalldatetime: 1900-01-01 to 2079-06-06 in minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmallDateTime {
    days: u16,
    minutes: u16,
}

impl SmallDateTime {
    /// A value of days since 1900-01-01 and minutes since midnight, or the field that is out of
    /// range.
    pub fn new(days: u16, minutes: u16) -> Result<SmallDateTime, Field> {
        if minutes >= MINUTES_PER_DAY {
            return Err(Field::Minutes);
        }
        Ok(SmallDateTime { days, minutes })
    }

    /// Days since 1900-01-01.
    #[must_use]
    pub fn days(&self) -> u16 {
        self.days
    }

    /// Minutes since midnight.
    #[must_use]
    pub fn minutes(&self) -> u16 {
        self.minutes
    }
}

impl fmt::Display for SmallDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let date = Date { days: DAYS_TO_1900 as u32 + u32::from(self.days) };
        write!(f, "{date}T{:02}:{:02}:00.000", self.minutes / 60, self.minutes % 60)
    }
}

/// date: 0001-01-01 to 9999-12-31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    days: u32,
}

impl Date {
    /// A value of days since 0001-01-01, or the field that is out of range.
    pub fn new(days: u32) -> Result<Date, Field> {
        if days > DATE_LAST_DAY { Err(Field::Days) } else { Ok(Date { days }) }
    }

    /// The date of a year (1–9999), month and day of the Gregorian calendar.
    #[must_use]
    pub fn from_ymd(year: u16, month: u8, day: u8) -> Option<Date> {
        if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let days = days_before_year(u32::from(year))
            + days_before_month(u32::from(month), is_leap(u32::from(year)))
            + u32::from(day)
            - 1;
        let date = Date::new(days).ok()?;
        (date.ymd() == (year, month, day)).then_some(date)
    }

    /// Days since 0001-01-01.
    #[must_use]
    pub fn days(&self) -> u32 {
        self.days
    }

    /// Year, month, day.
    #[must_use]
    pub fn ymd(&self) -> (u16, u8, u8) {
        // Years that begin in March have their leap day at the end: eras of 400 of them have
        // 146,097 days, and months follow each other by 30.6 days.
        let from_march = self.days + DAYS_TO_YEAR_1;
        let era = from_march / 146_097;
        let day = from_march % 146_097;
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        let year = era * 400 + year + u32::from(month <= 2);
        (year as u16, month as u8, day as u8)
    }
}

/// From the first of March of year 0 to the first of January of year 1.
const DAYS_TO_YEAR_1: u32 = 306;

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// Days from 0001-01-01 to the first of January of `year`.
fn days_before_year(year: u32) -> u32 {
    let past = year - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

fn days_before_month(month: u32, is_leap: bool) -> u32 {
    const BEFORE: [u32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    BEFORE[(month as usize - 1).min(11)] + u32::from(is_leap && month > 2)
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// time(n): parts of 10^-n s since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Time {
    ticks: u64,
    scale: u8,
}

impl Time {
    /// A value of 10^-scale seconds since midnight, or the field that is out of range.
    pub fn new(ticks: u64, scale: u8) -> Result<Time, Field> {
        let is_in_day = scale <= MAX_SCALE && ticks < ticks_per_day(scale);
        if is_in_day { Ok(Time { ticks, scale }) } else { Err(Field::Ticks) }
    }

    /// Parts of 10^-scale s since midnight.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Digits of the fraction.
    #[must_use]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// Parts of 100 ns since midnight, whatever the scale.
    #[must_use]
    pub fn ticks_100ns(&self) -> u64 {
        self.ticks * 10u64.pow(u32::from(MAX_SCALE - self.scale))
    }
}

fn ticks_per_day(scale: u8) -> u64 {
    86_400 * 10u64.pow(u32::from(scale.min(MAX_SCALE)))
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> std::cmp::Ordering {
        self.ticks_100ns().cmp(&other.ticks_100ns()).then(self.scale.cmp(&other.scale))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10u64.pow(u32::from(self.scale));
        write_clock(f, (self.ticks / unit) as u32)?;
        if self.scale > 0 {
            write!(f, ".{:0width$}", self.ticks % unit, width = usize::from(self.scale))?;
        }
        Ok(())
    }
}

/// `hh:mm:ss` of a number of seconds.
fn write_clock(f: &mut fmt::Formatter<'_>, seconds: u32) -> fmt::Result {
    write!(f, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A datetime2: date and time of day, to 100 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime2 {
    /// Day in the proleptic Gregorian calendar, 0001 to 9999.
    pub date: Date,
    /// The time of that day.
    pub time: Time,
}

impl fmt::Display for DateTime2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

/// datetimeoffset(n): an instant in UTC and the offset of the place it was written at. Prints local
/// time and `±hh:mm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTimeOffset {
    utc: DateTime2,
    offset_minutes: i16,
}

impl DateTimeOffset {
    /// A value of an instant in UTC and an offset, or the field that is out of range.
    pub fn new(utc: DateTime2, offset_minutes: i16) -> Result<DateTimeOffset, Field> {
        if !(-MAX_OFFSET_MINUTES..=MAX_OFFSET_MINUTES).contains(&offset_minutes) {
            return Err(Field::Offset);
        }
        shifted(utc, offset_minutes).ok_or(Field::LocalTime)?;
        Ok(DateTimeOffset { utc, offset_minutes })
    }

    /// The instant in UTC, as stored.
    #[must_use]
    pub fn utc(&self) -> DateTime2 {
        self.utc
    }

    /// Minutes that local time is ahead of UTC.
    #[must_use]
    pub fn offset_minutes(&self) -> i16 {
        self.offset_minutes
    }

    /// The local time.
    #[must_use]
    pub fn local(&self) -> DateTime2 {
        // The constructor has seen that the local time exists.
        shifted(self.utc, self.offset_minutes).unwrap_or(self.utc)
    }
}

/// `instant` plus some minutes; `None` outside the years 1 to 9999.
fn shifted(instant: DateTime2, minutes: i16) -> Option<DateTime2> {
    let scale = instant.time.scale();
    let day = ticks_per_day(scale) as i64;
    let ticks =
        instant.time.ticks() as i64 + i64::from(minutes) * (day / i64::from(MINUTES_PER_DAY));
    let days = i64::from(instant.date.days()) + ticks.div_euclid(day);
    let date = Date::new(u32::try_from(days).ok()?).ok()?;
    let time = Time::new(ticks.rem_euclid(day) as u64, scale).ok()?;
    Some(DateTime2 { date, time })
}

impl fmt::Display for DateTimeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.unsigned_abs();
        write!(f, "{}{sign}{:02}:{:02}", self.local(), minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests;
