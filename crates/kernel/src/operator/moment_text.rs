//! Texts as points in time, in every form that is documented.
//!
//! ```text
//! yyyymmdd  yymmdd  yyyy           a number alone: year first, whatever DATEFORMAT says
//! n sep n sep n                    `/`, `-` or `.`: by style or DATEFORMAT; four digits are a year
//! Apr 15, 1996   15 April 96 …     a month's name: DATEFORMAT does not count
//! hh:mi[:ss[.f | :mmm]] [AM|PM]    before or after the date; or alone, then of 1900-01-01
//! dateThh:mi:ss[.f][Z | ±hh:mm]    ISO 8601
//! ```

use crate::calendar::{self, DAYS_TO_1900, SECOND};
use crate::error::{EvalError, EvalResult};
use crate::operator::moment::{Local, MAX_OFFSET};
use crate::options::DateFormat;

/// Names of months.
pub(crate) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// What the target of a text lets it have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// datetime and smalldatetime: `yyyy-mm-dd` obeys DATEFORMAT, three digits of a fraction, no
    /// offset, and a date out of range is an error of its own.
    pub(crate) is_old: bool,
    pub(crate) date_format: DateFormat,
    /// Style of CONVERT; negative where there is none.
    pub(crate) style: i64,
}

/// The point in time of a text; the offset is `None` where it names none.
pub(crate) fn read(text: &str, rules: Rules) -> EvalResult<(Local, Option<i64>)> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok((Local { days: DAYS_TO_1900, ticks: 0, offset: 0 }, None));
    }
    let mut reader = Reader { rest: text.as_bytes(), found: Found::default(), rules };
    reader.all()?;
    let found = reader.found;
    let ticks = found.time.unwrap_or(0);
    let days = found.days(rules)?;
    let offset = found.offset;
    if offset.is_some() && rules.is_old && !found.is_utc {
        return Err(EvalError::Conversion);
    }
    Ok((Local { days, ticks, offset: offset.unwrap_or(0) }, offset))
}

/// A number of a date with how many digits it was written.
#[derive(Debug, Clone, Copy, Default)]
struct Number {
    value: i64,
    digits: usize,
}

#[derive(Debug, Default)]
struct Found {
    numbers: Vec<Number>,
    /// The month by its name.
    month: Option<i64>,
    time: Option<i64>,
    offset: Option<i64>,
    is_utc: bool,
    /// The time stands after `T`, as ISO 8601 has it.
    is_iso: bool,
    separators: usize,
}

struct Reader<'a> {
    rest: &'a [u8],
    found: Found,
    rules: Rules,
}

impl Reader<'_> {
    fn all(&mut self) -> EvalResult<()> {
        loop {
            self.blanks();
            match self.rest.first() {
                None => return Ok(()),
                Some(byte) if byte.is_ascii_digit() => self.number()?,
                Some(byte) if byte.is_ascii_alphabetic() => self.word()?,
                Some(b'+' | b'-') if self.found.time.is_some() => self.offset()?,
                // A comma stands after a month or a day.
                Some(b',') => self.skip(1),
                Some(_) => return Err(EvalError::Conversion),
            }
        }
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn blanks(&mut self) {
        let count = self.rest.iter().take_while(|byte| **byte == b' ').count();
        self.skip(count);
    }

    fn digits(&mut self) -> EvalResult<Number> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return Err(EvalError::Conversion);
        }
        let value = self
            .rest
            .iter()
            .take(digits)
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        self.skip(digits);
        Ok(Number { value, digits })
    }

    /// A part of a date, or the hour of a time.
    fn number(&mut self) -> EvalResult<()> {
        let number = self.digits()?;
        if self.rest.first() == Some(&b':') || self.half_of_day().is_some() {
            return self.time(number);
        }
        self.found.numbers.push(number);
        let has_date = self.found.numbers.len() + usize::from(self.found.month.is_some());
        if let Some(b'/' | b'-' | b'.') = self.rest.first()
            && has_date < 3
        {
            self.skip(1);
            self.found.separators += 1;
            if !self.rest.first().is_some_and(u8::is_ascii_alphanumeric) {
                return Err(EvalError::Conversion);
            }
        }
        Ok(())
    }

    /// AM or PM after blanks: is it PM, and the bytes up to its end.
    fn half_of_day(&self) -> Option<(bool, usize)> {
        let blanks = self.rest.iter().take_while(|byte| **byte == b' ').count();
        let word = self.rest.get(blanks..blanks + 2)?;
        let is_word = !self.rest.get(blanks + 2).is_some_and(|byte| byte.is_ascii_alphabetic());
        if word.eq_ignore_ascii_case(b"am") && is_word {
            Some((false, blanks + 2))
        } else if word.eq_ignore_ascii_case(b"pm") && is_word {
            Some((true, blanks + 2))
        } else {
            None
        }
    }

    fn time(&mut self, hour: Number) -> EvalResult<()> {
        if self.found.time.is_some() || hour.digits > 2 {
            return Err(EvalError::Conversion);
        }
        let mut minute = 0;
        let mut second = 0;
        let mut fraction = 0;
        if self.accept(b':') {
            minute = self.digits()?.value;
            if self.accept(b':') {
                second = self.digits()?.value;
                fraction = self.fraction()?;
            }
        }
        let mut hour = hour.value;
        if let Some((is_pm, len)) = self.half_of_day() {
            self.skip(len);
            hour = match (is_pm, hour) {
                (false, 0..=11) => hour,
                (false, 12) => 0,
                (true, 12..=23) => hour,
                (true, 1..=11) => hour + 12,
                _ => return Err(EvalError::Conversion),
            };
        }
        if hour > 23 || minute > 59 || second > 59 {
            return Err(EvalError::Conversion);
        }
        self.found.time = Some(((hour * 60 + minute) * 60 + second) * SECOND + fraction);
        Ok(())
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is_it = self.rest.first() == Some(&byte);
        self.skip(usize::from(is_it));
        is_it
    }

    /// `.f`, a decimal fraction, or `:mmm`, thousandths.
    fn fraction(&mut self) -> EvalResult<i64> {
        if self.accept(b':') {
            let thousandths = self.digits()?;
            let is_one = thousandths.digits <= 3;
            return if is_one {
                Ok(thousandths.value * 10_000)
            } else {
                Err(EvalError::Conversion)
            };
        }
        if !self.accept(b'.') {
            return Ok(0);
        }
        let Number { value, digits } = self.digits()?;
        let most = if self.rules.is_old { 3 } else { 7 };
        if digits > most {
            return Err(EvalError::Conversion);
        }
        Ok(value * 10i64.pow(7 - digits as u32))
    }

    fn word(&mut self) -> EvalResult<()> {
        let len = self.rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = self.rest.get(..len).unwrap_or_default();
        let is_separator = word.eq_ignore_ascii_case(b"t") && self.found.time.is_none();
        if is_separator && !self.found.numbers.is_empty() {
            self.skip(1);
            return if self.rest.first().is_some_and(u8::is_ascii_digit) {
                self.iso_time()
            } else {
                Err(EvalError::Conversion)
            };
        }
        if word.eq_ignore_ascii_case(b"z") && self.found.time.is_some() {
            self.skip(1);
            self.found.offset = Some(0);
            self.found.is_utc = true;
            return Ok(());
        }
        let month = month_named(word).ok_or(EvalError::Conversion)?;
        if self.found.month.is_some() {
            return Err(EvalError::Conversion);
        }
        self.found.month = Some(month);
        self.skip(len);
        if let Some(b'/' | b'-' | b'.') = self.rest.first() {
            self.skip(1);
        }
        Ok(())
    }

    /// After `T` a time needs its seconds, for the old types.
    fn iso_time(&mut self) -> EvalResult<()> {
        let is_whole = self.rest.iter().filter(|byte| **byte == b':').count() >= 2;
        if self.rules.is_old && !is_whole {
            return Err(EvalError::Conversion);
        }
        self.found.is_iso = true;
        let hour = self.digits()?;
        self.time(hour)
    }

    /// `±hh:mm`
    fn offset(&mut self) -> EvalResult<()> {
        let is_negative = self.rest.first() == Some(&b'-');
        self.skip(1);
        let hours = self.digits()?;
        if !self.accept(b':') {
            return Err(EvalError::Conversion);
        }
        let minutes = self.digits()?;
        let total = hours.value * 60 + minutes.value;
        if self.found.offset.is_some() || minutes.value > 59 || total > MAX_OFFSET {
            return Err(EvalError::Conversion);
        }
        self.found.offset = Some(if is_negative { -total } else { total });
        Ok(())
    }
}

/// The month of a name or its first three letters.
pub(crate) fn month_named(word: &[u8]) -> Option<i64> {
    let is_it = |name: &str| {
        word.eq_ignore_ascii_case(name.as_bytes())
            || name.get(..3).is_some_and(|short| word.eq_ignore_ascii_case(short.as_bytes()))
    };
    MONTHS.iter().position(|name| is_it(name)).map(|at| at as i64 + 1)
}

impl Found {
    fn days(&self, rules: Rules) -> EvalResult<i64> {
        let (year, month, day) = match (self.month, self.numbers.as_slice()) {
            (None, []) => return Ok(DAYS_TO_1900),
            (None, [one]) if self.separators == 0 => alone(*one)?,
            (None, [a, b, c]) if self.separators == 2 => {
                let rules = Rules { is_old: rules.is_old && !self.is_iso, ..rules };
                numeric([*a, *b, *c], rules)?
            }
            (Some(month), [one]) if one.digits > 2 || self.separators == 0 => {
                (one.year()?, month, 1)
            }
            (Some(month), [a, b]) => {
                // The year is what has four digits; else it stands last.
                let (year, day) = match (a.digits, b.digits) {
                    (4, 1..=2) => (a, b),
                    (1..=2, 4) => (b, a),
                    (1..=2, 1..=2) => (b, a),
                    _ => return Err(EvalError::Conversion),
                };
                (year.year()?, month, day.value)
            }
            _ => return Err(EvalError::Conversion),
        };
        let out_of_range = if rules.is_old { EvalError::DateRange } else { EvalError::Conversion };
        calendar::days_of(year, month, day).ok_or(out_of_range)
    }
}

impl Number {
    /// Of two or four digits; below 50 it is of this century.
    fn year(self) -> EvalResult<i64> {
        match self.digits {
            4 => Ok(self.value),
            1..=2 if self.value < 50 => Ok(2000 + self.value),
            1..=2 => Ok(1900 + self.value),
            _ => Err(EvalError::Conversion),
        }
    }
}

/// `yyyymmdd`, `yymmdd`, `yyyy`
fn alone(number: Number) -> EvalResult<(i64, i64, i64)> {
    let parts = |year: Number| Ok((year.year()?, number.value / 100 % 100, number.value % 100));
    match number.digits {
        8 => parts(Number { value: number.value / 10_000, digits: 4 }),
        6 => parts(Number { value: number.value / 10_000, digits: 2 }),
        4 => Ok((number.value, 1, 1)),
        _ => Err(EvalError::Conversion),
    }
}

/// Three numbers with separators.
fn numeric(numbers: [Number; 3], rules: Rules) -> EvalResult<(i64, i64, i64)> {
    let style = order_of_style(rules.style);
    let order = style.unwrap_or_else(|| rules.date_format.order());
    let year_at = numbers.iter().position(|number| number.digits == 4);
    if let (Some(year_at), Some(style)) = (year_at, style)
        && style.get(year_at) != Some(&b'y')
    {
        return Err(EvalError::Style);
    }
    let order = match year_at {
        None => order,
        // Not by DATEFORMAT, for the new types.
        Some(0) if !rules.is_old => *b"ymd",
        Some(at) => with_year_at(order, at),
    };
    if numbers.iter().enumerate().any(|(at, it)| it.digits > 2 && Some(at) != year_at) {
        return Err(EvalError::Conversion);
    }
    let mut year = Number::default();
    let mut month = 0;
    let mut day = 0;
    for (part, number) in order.into_iter().zip(numbers) {
        match part {
            b'y' => year = number,
            b'm' => month = number.value,
            _ => day = number.value,
        }
    }
    Ok((year.year()?, month, day))
}

/// The order with the year moved to a place, month and day as they follow each other.
fn with_year_at(order: [u8; 3], year_at: usize) -> [u8; 3] {
    let mut others = order.into_iter().filter(|part| *part != b'y');
    let mut moved = [b'y'; 3];
    for (at, part) in moved.iter_mut().enumerate() {
        if at != year_at {
            *part = others.next().unwrap_or(b'd');
        }
    }
    moved
}

/// The order that a style of CONVERT asks for; `None` where DATEFORMAT decides.
fn order_of_style(style: i64) -> Option<[u8; 3]> {
    Some(*match style {
        1 | 101 | 10 | 110 | 22 => b"mdy",
        2 | 102 | 11 | 111 | 20 | 21 | 23 | 25 | 120 | 121 | 126 | 127 => b"ymd",
        3 | 103 | 4 | 104 | 5 | 105 => b"dmy",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Rules = Rules { is_old: false, date_format: DateFormat::Mdy, style: -1 };
    const OLD: Rules = Rules { is_old: true, ..NEW };

    fn shown(text: &str, rules: Rules) -> String {
        match read(text, rules) {
            Ok((local, offset)) => {
                let (year, month, day) = calendar::ymd(local.days).unwrap();
                let seconds = local.ticks / SECOND;
                let offset = offset.map_or(String::new(), |it| format!(" {it}"));
                format!(
                    "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:07}{offset}",
                    seconds / 3_600,
                    seconds / 60 % 60,
                    seconds % 60,
                    local.ticks % SECOND
                )
            }
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn every_documented_form_is_read() {
        let midnight = "00:00:00.0000000";
        let cases = [
            ("", format!("1900-01-01 {midnight}")),
            ("20240229", format!("2024-02-29 {midnight}")),
            ("490229", "Conversion".to_owned()),
            ("480229", format!("2048-02-29 {midnight}")),
            ("500101", format!("1950-01-01 {midnight}")),
            ("2024", format!("2024-01-01 {midnight}")),
            ("01/02/2024", format!("2024-01-02 {midnight}")),
            ("1-2-24", format!("2024-01-02 {midnight}")),
            ("2024/02/01", format!("2024-02-01 {midnight}")),
            ("2024.2.1", format!("2024-02-01 {midnight}")),
            ("Apr 15, 1996", format!("1996-04-15 {midnight}")),
            ("15 April 96", format!("1996-04-15 {midnight}")),
            ("15-Apr-1996", format!("1996-04-15 {midnight}")),
            ("April 1996", format!("1996-04-01 {midnight}")),
            ("1996 Apr", format!("1996-04-01 {midnight}")),
            ("1996 April 15", format!("1996-04-15 {midnight}")),
            ("20240101 10:11", "2024-01-01 10:11:00.0000000".to_owned()),
            ("10:11 20240101", "2024-01-01 10:11:00.0000000".to_owned()),
            ("4am", "1900-01-01 04:00:00.0000000".to_owned()),
            ("12:30 AM", "1900-01-01 00:30:00.0000000".to_owned()),
            ("4 PM", "1900-01-01 16:00:00.0000000".to_owned()),
            ("0:30 PM", "Conversion".to_owned()),
            ("13:30 AM", "Conversion".to_owned()),
            ("24:00", "Conversion".to_owned()),
            ("10:11:12:5", "1900-01-01 10:11:12.0050000".to_owned()),
            ("10:11:12.5", "1900-01-01 10:11:12.5000000".to_owned()),
            ("2024-01-02T10:11:12.1234567", "2024-01-02 10:11:12.1234567".to_owned()),
            ("2024-01-02T10:11:12Z", "2024-01-02 10:11:12.0000000 0".to_owned()),
            ("2024-01-02 10:11:12 +02:30", "2024-01-02 10:11:12.0000000 150".to_owned()),
            ("2024-01-02 10:11:12 -14:30", "Conversion".to_owned()),
            ("2024-13-02", "Conversion".to_owned()),
            ("abc", "Conversion".to_owned()),
            ("1/2", "Conversion".to_owned()),
            ("1/2/3/4", "Conversion".to_owned()),
        ];
        for (text, expected) in cases {
            assert_eq!(shown(text, NEW), expected, "{text}");
        }
    }

    #[test]
    fn the_old_types_obey_dateformat_and_report_ranges() {
        let dmy = Rules { date_format: DateFormat::Dmy, ..OLD };
        assert_eq!(shown("2020-01-13", dmy), "DateRange");
        assert_eq!(shown("2020-01-13", Rules { is_old: false, ..dmy })[..10], *"2020-01-13");
        assert_eq!(shown("2020-01-13T10:11:12", dmy)[..10], *"2020-01-13");
        assert_eq!(shown("13/01/2020", dmy)[..10], *"2020-01-13");
        assert_eq!(shown("20200230", OLD), "DateRange");
        assert_eq!(shown("20200101 10:11:12.1234", OLD), "Conversion");
        assert_eq!(shown("2020-01-01T10:11", OLD), "Conversion");
        assert_eq!(shown("2020-01-01 10:11:12 +01:00", OLD), "Conversion");
    }

    #[test]
    fn a_style_says_the_order() {
        let style = |style| Rules { style, ..OLD };
        assert_eq!(shown("01/02/03", style(3))[..10], *"2003-02-01");
        assert_eq!(shown("01/02/03", style(1))[..10], *"2003-01-02");
        assert_eq!(shown("01/02/2003", style(103))[..10], *"2003-02-01");
        assert_eq!(shown("2003-02-01", style(103)), "Style");
    }
}
