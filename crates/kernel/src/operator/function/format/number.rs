//! Numbers by their decimal digits, in the standard formats of .NET.

use extentdb_types::SqlType;

use super::section::{Section, sections};
use crate::operator::number_text;
use crate::operator::row::Cell;
use crate::type_facts;

/// A number by its sign and decimal digits.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) is_negative: bool,
    /// Digits before and after the point, none of them a leading zero.
    pub(super) whole: String,
    pub(super) fraction: String,
    pub(super) is_integer: bool,
    pub(super) is_float: bool,
}

impl Number {
    pub(super) fn of(ty: &SqlType, value: Cell<'_>, is_shortest: bool) -> Option<Number> {
        let (text, is_integer, is_float) = match value {
            Cell::Int(value) if type_facts::is_money(ty) => {
                (decimal(value.into(), 4), false, false)
            }
            Cell::Int(value) => (value.to_string(), true, false),
            Cell::Wide(value) => {
                (decimal(value, type_facts::digits(ty).map_or(0, |it| it.1)), false, false)
            }
            // 15 digits, as .NET shows a double; all of them for R.
            Cell::Float(value) if is_shortest => (plain(&format!("{value:.16e}"))?, false, true),
            Cell::Float(value) => (plain(&format!("{value:.14e}"))?, false, true),
            _ => return None,
        };
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.as_str()),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        Some(Number {
            is_negative,
            whole: whole.trim_start_matches('0').to_owned(),
            fraction: fraction.to_owned(),
            is_integer,
            is_float,
        })
    }

    /// The digits rounded to some after the point.
    pub(super) fn rounded(&self, decimals: usize) -> Number {
        let mut digits: Vec<u8> = format!("0{}{}", self.whole, self.fraction).into_bytes();
        let point = self.whole.len() + 1;
        let end = point + decimals;
        let is_up = digits.get(end).is_some_and(|digit| *digit >= b'5');
        digits.resize(end, b'0');
        if is_up {
            for digit in digits.iter_mut().rev() {
                if *digit == b'9' {
                    *digit = b'0';
                } else {
                    *digit += 1;
                    break;
                }
            }
        }
        let text = String::from_utf8_lossy(&digits).into_owned();
        let (whole, fraction) = text.split_at_checked(point).unwrap_or((&text, ""));
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.to_owned();
        let is_zero = whole.is_empty() && fraction.bytes().all(|digit| digit == b'0');
        Number {
            is_negative: self.is_negative && !is_zero,
            whole,
            fraction,
            ..self.clone()
        }
    }

    /// The number times a power of ten.
    pub(super) fn shifted(&self, by: usize) -> Number {
        let fraction = format!("{:0<by$}", self.fraction);
        let (more, rest) = fraction.split_at_checked(by).unwrap_or((&fraction, ""));
        let whole = format!("{}{more}", self.whole);
        Number {
            whole: whole.trim_start_matches('0').to_owned(),
            fraction: rest.to_owned(),
            ..self.clone()
        }
    }

    pub(super) fn format(&self, pattern: &str) -> Option<String> {
        let mut letters = pattern.chars();
        let first = letters.next().unwrap_or('G');
        let precision = letters.as_str();
        let is_standard = first.is_ascii_alphabetic()
            && precision.len() <= 2
            && precision.bytes().all(|byte| byte.is_ascii_digit());
        if is_standard {
            return self.standard(first, precision.parse().ok());
        }
        Some(self.custom(pattern))
    }

    fn sign(&self) -> &'static str {
        if self.is_negative { "-" } else { "" }
    }

    fn whole_or_zero(&self) -> &str {
        if self.whole.is_empty() { "0" } else { &self.whole }
    }

    /// Digits with a point and some decimals, perhaps in groups of three.
    fn fixed(&self, decimals: usize, has_groups: bool) -> String {
        let rounded = self.rounded(decimals);
        let whole = match has_groups {
            true => grouped(rounded.whole_or_zero()),
            false => rounded.whole_or_zero().to_owned(),
        };
        match decimals {
            0 => whole,
            _ => format!("{whole}.{}", rounded.fraction),
        }
    }

    fn standard(&self, letter: char, precision: Option<usize>) -> Option<String> {
        let decimals = precision.unwrap_or(2);
        Some(match letter.to_ascii_uppercase() {
            'C' => {
                let text = self.fixed(decimals, true);
                let is_negative = self.rounded(decimals).is_negative;
                if is_negative { format!("-${text}") } else { format!("${text}") }
            }
            'N' | 'F' => {
                let has_groups = letter.eq_ignore_ascii_case(&'N');
                let sign = self.rounded(decimals).sign();
                format!("{sign}{}", self.fixed(decimals, has_groups))
            }
            'P' => {
                let percent = self.shifted(2);
                let sign = percent.rounded(decimals).sign();
                format!("{sign}{}%", percent.fixed(decimals, true))
            }
            'D' if self.is_integer => {
                let width = precision.unwrap_or(1);
                format!("{}{:0>width$}", self.sign(), self.whole_or_zero())
            }
            'X' if self.is_integer => {
                let value: i64 = format!("{}{}", self.sign(), self.whole_or_zero()).parse().ok()?;
                let value = if i32::try_from(value).is_ok() { value & 0xFFFF_FFFF } else { value };
                let width = precision.unwrap_or(1);
                match letter {
                    'X' => format!("{value:0width$X}"),
                    _ => format!("{value:0width$x}"),
                }
            }
            'E' => self.exponential(letter, precision.unwrap_or(6), 3),
            'G' => self.general(letter, precision.filter(|it| *it > 0)),
            'R' if self.is_float => self.shortest(),
            _ => return None,
        })
    }

    /// Significant digits and the exponent of the first one.
    pub(super) fn significant(&self) -> (String, i64) {
        let digits = format!("{}{}", self.whole, self.fraction);
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        let exponent = self.whole.len() as i64 - zeros as i64 - 1;
        let digits = digits.trim_start_matches('0').to_owned();
        if digits.is_empty() { ("0".to_owned(), 0) } else { (digits, exponent) }
    }

    fn exponential(&self, letter: char, decimals: usize, least: usize) -> String {
        let (digits, exponent) = self.significant();
        let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
        let mantissa = Number {
            whole: first.trim_start_matches('0').to_owned(),
            fraction: rest.to_owned(),
            ..self.clone()
        };
        let rounded = mantissa.rounded(decimals);
        let is_carried = rounded.whole.len() > 1;
        let exponent = exponent + i64::from(is_carried);
        let mut text = rounded.fixed(decimals, false);
        if is_carried {
            // 9.9… has become 10.0…
            text = text.replacen("10", "1", 1);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}{text}{letter}{sign}{:0least$}", self.sign(), exponent.abs())
    }

    fn general(&self, letter: char, precision: Option<usize>) -> String {
        let (digits, exponent) = self.significant();
        let Some(precision) = precision.or(self.is_float.then_some(15)) else {
            // Exact numbers show all their digits.
            let fraction = if self.fraction.is_empty() { "" } else { "." };
            return format!("{}{}{fraction}{}", self.sign(), self.whole_or_zero(), self.fraction);
        };
        if exponent >= precision as i64 || exponent < -5 {
            let letter = if letter == 'g' { 'e' } else { 'E' };
            let kept = precision.min(digits.len()).saturating_sub(1);
            let text = self.exponential(letter, kept, 2);
            let (mantissa, rest) = text.split_once(letter).unwrap_or((&text, "+00"));
            return format!("{}{letter}{rest}", without_zeros(mantissa));
        }
        let decimals = (precision as i64 - 1 - exponent).max(0) as usize;
        let rounded = self.rounded(decimals.min(self.fraction.len()));
        let text = rounded.fixed(decimals.min(self.fraction.len()), false);
        format!("{}{}", rounded.sign(), without_zeros(&text))
    }

    /// As few digits as read back as the same float.
    fn shortest(&self) -> String {
        let text = format!("{}{}.{}0", self.sign(), self.whole_or_zero(), self.fraction);
        let value: f64 = text.parse().unwrap_or(0.0);
        let exact = plain(&format!("{value:e}")).unwrap_or_default();
        let (_, exponent) = self.significant();
        if (-5..15).contains(&exponent) {
            return exact;
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}E{sign}{:02}", exponent.abs())
    }

    /// A custom pattern: its section by the sign, then digit by digit.
    fn custom(&self, pattern: &str) -> String {
        let sections = sections(pattern);
        let is_zero = self.whole.is_empty() && self.fraction.bytes().all(|digit| digit == b'0');
        let section = |at: usize| sections.get(at).filter(|it| !it.is_empty());
        let (chosen, has_own_sign) = match (self.is_negative, is_zero) {
            (_, true) => (section(2), true),
            (true, _) => (section(1), true),
            _ => (None, false),
        };
        let first = sections.first().cloned().unwrap_or_default();
        match chosen {
            Some(section) => Section::parse(section).write(&self.positive()),
            None => {
                let text = Section::parse(&first).write(&self.positive());
                let sign = if has_own_sign && is_zero { "" } else { self.sign() };
                format!("{sign}{text}")
            }
        }
    }

    fn positive(&self) -> Number {
        Number { is_negative: false, ..self.clone() }
    }
}

fn decimal(value: i128, scale: u8) -> String {
    let mut bytes = Vec::new();
    number_text::write_decimal(value, scale, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number without its exponent.
pub(super) fn plain(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once('e')?;
    let exponent: i64 = exponent.parse().ok()?;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let point = exponent + 1;
    Some(if point <= 0 {
        format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else {
        let point = point as usize;
        let padded = format!("{digits:0<point$}");
        let (whole, fraction) = padded.split_at_checked(point)?;
        let separator = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{whole}{separator}{fraction}")
    })
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
