//! Dates as text, and texts as dates, in the deterministic styles of CONVERT.
//!
//! ```text
//! 101 mm/dd/yyyy   102 yyyy.mm.dd   103 dd/mm/yyyy   104 dd.mm.yyyy   105 dd-mm-yyyy
//! 110 mm-dd-yyyy   111 yyyy/mm/dd   112 yyyymmdd      23 yyyy-mm-dd   108 hh:mi:ss
//! 20, 120 yyyy-mm-dd hh:mi:ss       21, 121 yyyy-mm-dd hh:mi:ss.mmm   126 yyyy-mm-ddThh:mi:ss.mmm
//! ```
//!
//! Reading is strict: every digit, the style's own separators. The product accepts more; such a
//! text is [`EvalError::Form`].

use crate::calendar::{self, Clock, DAY, Moment, SECOND};
use crate::error::{EvalError, EvalResult};

/// What a style writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Date part: `y`, `m`, `d` stand for four, two and two digits.
    date: &'static str,
    /// Between date and time; `None` without time.
    time: Option<char>,
    fraction: Fraction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fraction {
    None,
    /// The type's own digits.
    All,
    /// The type's own digits, unless all are zero.
    NotZero,
}

const ISO: &str = "y-m-d";

/// The style that writes values of a clock; `None` when the form is not certain.
pub fn writing(number: i64, clock: Clock) -> Option<Style> {
    let full = style(number)?;
    let has_time = full.time.is_some();
    let date_only = Style { time: None, fraction: Fraction::None, ..full };
    match clock {
        Clock::Date if number == 108 => None,
        Clock::Date => Some(date_only),
        Clock::Time => (number == 108).then_some(full),
        _ if !has_time || full.fraction == Fraction::None => Some(full),
        Clock::DateTime => Some(full),
        Clock::DateTime2 => (full.fraction == Fraction::All).then_some(full),
        Clock::SmallDateTime => None,
    }
}

/// The style of a number.
pub fn style(number: i64) -> Option<Style> {
    let date = match number {
        101 => "m/d/y",
        102 => "y.m.d",
        103 => "d/m/y",
        104 => "d.m.y",
        105 => "d-m-y",
        110 => "m-d-y",
        111 => "y/m/d",
        112 => "ymd",
        108 => "",
        23 | 20 | 21 | 120 | 121 | 126 => ISO,
        _ => return None,
    };
    let (time, fraction) = match number {
        20 | 120 | 108 => (Some(' '), Fraction::None),
        21 | 121 => (Some(' '), Fraction::All),
        126 => (Some('T'), Fraction::NotZero),
        _ => (None, Fraction::None),
    };
    Some(Style { date, time, fraction })
}

impl Style {
    /// Writes a point in time; `digits` after the point, for datetime its milliseconds.
    pub(crate) fn write(
        self,
        clock: Clock,
        count: i64,
        digits: u8,
        to: &mut Vec<u8>,
    ) -> EvalResult<()> {
        let moment = clock.moment(count);
        let (year, month, day) = calendar::ymd(moment.days)?;
        for part in self.date.bytes() {
            match part {
                b'y' => write_digits(year, 4, to),
                b'm' => write_digits(month, 2, to),
                b'd' => write_digits(day, 2, to),
                separator => to.push(separator),
            }
        }
        let Some(separator) = self.time else { return Ok(()) };
        if !self.date.is_empty() {
            to.push(separator as u8);
        }
        for (at, part) in calendar::hms(moment.ticks).into_iter().enumerate() {
            if at > 0 {
                to.push(b':');
            }
            write_digits(part, 2, to);
        }
        let (fraction, digits) = match clock {
            Clock::DateTime => (milliseconds(count) % 1_000, 3),
            _ => (moment.ticks % SECOND / 10i64.pow(u32::from(7 - digits.min(7))), digits),
        };
        let is_written = match self.fraction {
            Fraction::None => false,
            Fraction::All => digits > 0,
            Fraction::NotZero => fraction != 0,
        };
        if is_written {
            to.push(b'.');
            write_digits(fraction, digits, to);
        }
        Ok(())
    }

    /// The point in time of a text, its time in parts of 100 ns.
    pub(crate) fn read(self, text: &[u8]) -> EvalResult<Moment> {
        let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
        let mut reader = Reader { rest: text.get(..end).unwrap_or_default() };
        let mut year = 0;
        let mut month = 0;
        let mut day = 0;
        for part in self.date.bytes() {
            match part {
                b'y' => year = reader.digits(4)?,
                b'm' => month = reader.digits(2)?,
                b'd' => day = reader.digits(2)?,
                separator => reader.expect(separator)?,
            }
        }
        let days = calendar::days_of(year, month, day).ok_or(EvalError::Conversion)?;
        let ticks = match (reader.rest.is_empty(), self.time) {
            (true, _) if self.time != Some('T') => 0,
            (false, Some(separator)) => {
                reader.expect(separator as u8)?;
                reader.time()?
            }
            _ => return Err(EvalError::Form),
        };
        Ok(Moment { days, ticks })
    }
}

/// The forms that no setting of a session reads differently: `yyyymmdd [hh:mi[:ss[.f]]]`,
/// `yyyy-mm-ddThh:mi:ss[.f]`, and for date and datetime2 also `yyyy-mm-dd [hh:mi:ss[.f]]`.
pub fn read_unambiguous(text: &str, clock: Clock) -> Option<Moment> {
    let plain = Style { date: "ymd", time: Some(' '), fraction: Fraction::All };
    let iso = Style { date: ISO, time: Some('T'), fraction: Fraction::All };
    let spaced = Style { date: ISO, time: Some(' '), fraction: Fraction::All };
    let is_new = matches!(clock, Clock::Date | Clock::DateTime2);
    let styles = [Some(plain), Some(iso), is_new.then_some(spaced)];
    styles.into_iter().flatten().find_map(|style| style.read(text.as_bytes()).ok())
}

/// The count of a clock for a moment that a text gave; `None` for a time.
pub fn count(clock: Clock, moment: Moment) -> EvalResult<i64> {
    let day = clock.of_day(moment.days).ok_or(EvalError::Conversion)?;
    let rest = match clock {
        // Parts of 1/300 s: the nearest, as 1 ms is 0, 2 to 4 are 3, 5 to 8 are 7 and 9 is 10.
        Clock::DateTime => {
            if moment.ticks % (SECOND / 1_000) != 0 {
                return Err(EvalError::Form);
            }
            (moment.ticks / (SECOND / 1_000) * 3 + 5) / 10
        }
        // Seconds round at 29.998, which only a datetime reaches.
        Clock::SmallDateTime => {
            if moment.ticks % SECOND != 0 {
                return Err(EvalError::Form);
            }
            (moment.ticks / SECOND + 30) / 60
        }
        Clock::Date => 0,
        Clock::DateTime2 => moment.ticks,
        Clock::Time => return Err(EvalError::Conversion),
    };
    day.checked_add(rest).ok_or(EvalError::Conversion)
}

/// Milliseconds since midnight of a datetime: …0, …3 or …7.
pub(crate) fn milliseconds(count: i64) -> i64 {
    (count.rem_euclid(calendar::DATETIME_DAY) * 10 + 1) / 3
}

fn write_digits(value: i64, count: u8, to: &mut Vec<u8>) {
    let mut unit = 10i64.pow(u32::from(count.min(18)));
    for _ in 0..count {
        unit /= 10;
        to.push(b'0' + (value / unit.max(1) % 10) as u8);
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn expect(&mut self, byte: u8) -> EvalResult<()> {
        self.rest = self.rest.strip_prefix(&[byte]).ok_or(EvalError::Form)?;
        Ok(())
    }

    fn digits(&mut self, count: usize) -> EvalResult<i64> {
        let (digits, rest) = self.rest.split_at_checked(count).ok_or(EvalError::Form)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(EvalError::Form);
        }
        self.rest = rest;
        Ok(digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    /// `hh:mi[:ss[.f]]` to the end.
    fn time(&mut self) -> EvalResult<i64> {
        let hours = self.digits(2)?;
        self.expect(b':')?;
        let minutes = self.digits(2)?;
        let mut seconds = 0;
        let mut fraction = 0;
        if !self.rest.is_empty() {
            self.expect(b':')?;
            seconds = self.digits(2)?;
        }
        if !self.rest.is_empty() {
            self.expect(b'.')?;
            let count = self.rest.len();
            if !(1..=7).contains(&count) {
                return Err(EvalError::Form);
            }
            fraction = self.digits(count)? * 10i64.pow(7 - count as u32);
        }
        if hours > 23 || minutes > 59 || seconds > 59 {
            return Err(EvalError::Conversion);
        }
        let ticks = ((hours * 60 + minutes) * 60 + seconds) * SECOND + fraction;
        if ticks < DAY { Ok(ticks) } else { Err(EvalError::Conversion) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2006-12-30 00:38:54.840 as a datetime.
    fn example() -> i64 {
        let day = Clock::DateTime.of_day(calendar::days_of(2006, 12, 30).unwrap()).unwrap();
        day + ((38 * 60) + 54) * 300 + 252
    }

    #[test]
    fn each_style_writes_its_documented_form() {
        let cases = [
            (101, "12/30/2006"),
            (102, "2006.12.30"),
            (103, "30/12/2006"),
            (104, "30.12.2006"),
            (105, "30-12-2006"),
            (108, "00:38:54"),
            (110, "12-30-2006"),
            (111, "2006/12/30"),
            (112, "20061230"),
            (120, "2006-12-30 00:38:54"),
            (121, "2006-12-30 00:38:54.840"),
            (126, "2006-12-30T00:38:54.840"),
            (23, "2006-12-30"),
        ];
        for (number, expected) in cases {
            let mut text = Vec::new();
            let style = writing(number, Clock::DateTime).unwrap();
            style.write(Clock::DateTime, example(), 3, &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
        assert_eq!(style(100), None, "the month's name depends on the language");
        assert_eq!(writing(108, Clock::Date), None);
    }

    #[test]
    fn what_a_style_writes_it_reads() {
        for number in [120, 121, 126] {
            let style = style(number).unwrap();
            let mut text = Vec::new();
            style.write(Clock::DateTime, example(), 3, &mut text).unwrap();
            let read = count(Clock::DateTime, style.read(&text).unwrap());
            let expected = if number == 120 { example() - 252 } else { example() };
            assert_eq!(read, Ok(expected), "{number}");
        }
        assert_eq!(
            style(112).unwrap().read(b"20061230  ").unwrap().days,
            calendar::days_of(2006, 12, 30).unwrap()
        );
        assert_eq!(style(112).unwrap().read(b"2006-12-30"), Err(EvalError::Form));
        assert_eq!(style(112).unwrap().read(b"20061330"), Err(EvalError::Conversion));
    }

    #[test]
    fn milliseconds_round_to_three_hundredths() {
        let of = |ms: i64| {
            count(
                Clock::DateTime,
                Moment { days: calendar::DAYS_TO_1900, ticks: ms * SECOND / 1_000 },
            )
        };
        let shown: Vec<i64> = (0..=10).map(|ms| milliseconds(of(ms).unwrap())).collect();
        assert_eq!(shown, [0, 0, 3, 3, 3, 7, 7, 7, 7, 10, 10]);
    }

    #[test]
    fn only_forms_that_mean_one_thing_are_literals() {
        let day = calendar::days_of(2000, 8, 25).unwrap();
        assert_eq!(
            read_unambiguous("20000825", Clock::DateTime),
            Some(Moment { days: day, ticks: 0 })
        );
        assert_eq!(
            read_unambiguous("20000825 12:30", Clock::DateTime).unwrap().ticks,
            DAY / 2 + 1_800 * SECOND
        );
        assert!(read_unambiguous("2000-08-25T00:00:00", Clock::DateTime).is_some());
        assert!(read_unambiguous("2000-08-25", Clock::Date).is_some());
        assert!(
            read_unambiguous("2000-08-25", Clock::DateTime).is_none(),
            "day and month depend on DATEFORMAT"
        );
        assert!(read_unambiguous("08/25/2000", Clock::Date).is_none());
    }
}
