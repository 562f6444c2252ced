//! The time form of log records: ticks of 1/300 second since midnight, then days since 1900-01-01.
//!
//! ```text
//! offset size field
//!      0    4 ticks   1/300 s since midnight, local time of the server
//!      4    4 days    since 1900-01-01
//! ```
//!
//! These are the bytes of a `datetime` value, but the log never holds a time before 1900, and the
//! views must show whatever a damaged record says; hence a type of its own that keeps the two
//! numbers as they are.

use std::fmt;
use std::str::FromStr;

use super::field::{Field, read_chunk, write_chunk};

/// Ticks of a day.
const TICKS_PER_DAY: u32 = 300 * 86_400;
/// Days from 1900-01-01 to 9999-12-31.
const LAST_DAY: u32 = 2_958_463;

/// A moment as log records hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogTime {
    /// Days since 1900-01-01.
    pub days: u32,
    /// Ticks of 1/300 s since midnight.
    pub ticks: u32,
}

impl LogTime {
    /// True when the two numbers name a moment between 1900 and 9999.
    pub fn is_valid(self) -> bool {
        self.ticks < TICKS_PER_DAY && self.days <= LAST_DAY
    }
}

/// A text that is no time of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a time is YYYY-MM-DD, or YYYY-MM-DDThh:mm[:ss[.fff]]")]
pub struct NoLogTime;

impl FromStr for LogTime {
    type Err = NoLogTime;

    /// `2019-05-02T21:05:56.123`, shorter forms, and the form of [`Display`](fmt::Display).
    fn from_str(text: &str) -> Result<Self, NoLogTime> {
        let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "0:0"));
        let mut date = date.split(['-', '/']).map(|part| part.parse::<u32>().ok());
        let mut next = || date.next().flatten().ok_or(NoLogTime);
        let year = next()?;
        let month = next()?;
        let day = next()?;
        let mut time = time.splitn(4, [':', '.']);
        let mut next =
            || time.next().map_or(Ok(0), |part| part.parse::<u32>().map_err(|_| NoLogTime));
        let hour = next()?;
        let minute = next()?;
        let second = next()?;
        let millis = match time.next() {
            None => 0,
            // A fraction: of more digits than three the first count.
            Some(part) => {
                format!("{part:0<3}").get(..3).ok_or(NoLogTime)?.parse().map_err(|_| NoLogTime)?
            }
        };
        let days = days_since_1900(year, month, day).ok_or(NoLogTime)?;
        if date.next().is_some() || hour > 23 || minute > 59 || second > 59 {
            return Err(NoLogTime);
        }
        let seconds = hour * 3600 + minute * 60 + second;
        // The nearest tick, as a cast to datetime rounds.
        let ticks = seconds * 300 + (millis * 3 + 5) / 10;
        let time = LogTime { days, ticks: ticks.min(TICKS_PER_DAY - 1) };
        if time.is_valid() { Ok(time) } else { Err(NoLogTime) }
    }
}

/// The number that [`civil_date`] turns back; `None` when there is no such day.
fn days_since_1900(year: u32, month: u32, day: u32) -> Option<u32> {
    if !(1900..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let shifted_year = year - u32::from(month <= 2);
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let leap_days = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = (365 * shifted_year + leap_days + day_of_year).checked_sub(693_901)?;
    (civil_date(days) == (year, month, day)).then_some(days)
}

impl Field for LogTime {
    const BYTES: usize = 8;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let [t0, t1, t2, t3, d0, d1, d2, d3] = read_chunk::<8>(bytes, at)?;
        let ticks = u32::from_le_bytes([t0, t1, t2, t3]);
        let days = u32::from_le_bytes([d0, d1, d2, d3]);
        Some(LogTime { days, ticks })
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        write_chunk(bytes, at, &self.ticks.to_le_bytes());
        write_chunk(bytes, at + 4, &self.days.to_le_bytes());
    }
}

/// Year, month and day of a number of days since 1900-01-01.
fn civil_date(days: u32) -> (u32, u32, u32) {
    // Count from 0000-03-01, so that the leap day ends a year: 693 901 days lie between it and
    // 1900-01-01.
    let days = days + 693_901;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + u32::from(month <= 2), month, day)
}

impl fmt::Display for LogTime {
    /// As `fn_dblog` prints it: `2013/12/01 14:22:07:483`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_valid() {
            return write!(f, "invalid time (day {}, tick {})", self.days, self.ticks);
        }
        let (year, month, day) = civil_date(self.days);
        let seconds = self.ticks / 300;
        let tick = self.ticks % 300;
        let hour = seconds / 3600;
        let minute = seconds / 60 % 60;
        let second = seconds % 60;
        let millis = (tick * 10 + 1) / 3;
        write!(f, "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}:{millis:03}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back_and_nonsense_is_refused() {
        for (days, ticks) in [(0, 0), (59, 1), (36_583, 2), (43_585, 145), (LAST_DAY, 7)] {
            let time = LogTime { days, ticks };
            assert_eq!(time.to_string().parse(), Ok(time));
        }
        let time = |text: &str| text.parse::<LogTime>().map(|time| time.to_string());
        assert_eq!(time("2019-05-02T21:05:56").unwrap(), "2019/05/02 21:05:56:000");
        assert_eq!(time("2019-05-02 21:05").unwrap(), "2019/05/02 21:05:00:000");
        assert_eq!(time("2019-05-02T21:05:56.5").unwrap(), "2019/05/02 21:05:56:500");
        for bad in
            ["", "2019", "2019-02-29", "2019-13-01", "2019-05-02T24:00", "1-1-1", "2019-05-02Tx"]
        {
            assert_eq!(time(bad), Err(NoLogTime), "{bad}");
        }
    }

    #[test]
    fn times_print_as_fn_dblog_prints_them() {
        let text = |days, ticks| LogTime { days, ticks }.to_string();
        assert_eq!(text(0, 0), "1900/01/01 00:00:00:000");
        assert_eq!(text(59, 1), "1900/03/01 00:00:00:003");
        assert_eq!(text(36_583, 2), "2000/02/29 00:00:00:007");
        assert_eq!(text(36_584, TICKS_PER_DAY - 1), "2000/03/01 23:59:59:997");
        assert_eq!(text(LAST_DAY, 0), "9999/12/31 00:00:00:000");
        assert_eq!(text(LAST_DAY + 1, 0), "invalid time (day 2958464, tick 0)");
        assert_eq!(text(u32::MAX, u32::MAX), "invalid time (day 4294967295, tick 4294967295)");
    }
}
