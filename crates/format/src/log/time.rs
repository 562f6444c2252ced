//! The time form of log records: ticks of 1/300 second since midnight, then days since 1900-01-01.
//!
//! ```text
//! offset size field
//!      0    4 ticks   1/300 s since midnight, local time of the server
//!      4    4 days    since 1900-01-01
//! ```
//!
//! These are the bytes of a `datetime` value, but the log never holds a time before 1900, and the views must show
//! whatever a damaged record says; hence a type of its own that keeps the two numbers as they are.

use std::fmt;

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

impl Field for LogTime {
    const BYTES: usize = 8;

    fn read(bytes: &[u8], at: usize) -> Option<Self> {
        let [t0, t1, t2, t3, d0, d1, d2, d3] = read_chunk::<8>(bytes, at)?;
        let (ticks, days) = (u32::from_le_bytes([t0, t1, t2, t3]), u32::from_le_bytes([d0, d1, d2, d3]));
        Some(LogTime { days, ticks })
    }

    fn write(&self, bytes: &mut [u8], at: usize) {
        write_chunk(bytes, at, &self.ticks.to_le_bytes());
        write_chunk(bytes, at + 4, &self.days.to_le_bytes());
    }
}

/// Year, month and day of a number of days since 1900-01-01.
fn civil_date(days: u32) -> (u32, u32, u32) {
    // Count from 0000-03-01, so that the leap day ends a year: 693 901 days lie between it and 1900-01-01.
    let days = days + 693_901;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
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
        let (seconds, tick) = (self.ticks / 300, self.ticks % 300);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let millis = (tick * 10 + 1) / 3;
        write!(f, "{year:04}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02}:{millis:03}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
