//! FORMAT: the format strings of .NET in the culture en-US.
//!
//! ```text
//! numbers  C D E F G N P R X with a precision; or a custom pattern of 0 # . , % ‰ E0 ; '…'
//! dates    d D f F g G m o r s t T u U y; or a custom pattern of y M d H h m s f F t z K '…'
//! ```
//!
//! A format that does not fit its value gives NULL.

use extentdb_types::SqlType;

use crate::calendar::{self, SECOND};
use crate::error::EvalResult;
use crate::op::codec;
use crate::op::moment::{self, Local};
use crate::op::moment_style::{DAYS, offset_text};
use crate::op::moment_text::MONTHS;
use crate::op::row::{Call, Cell, Outcome, first};
use crate::typing;

/// FORMAT: the value, the pattern.
pub(crate) fn format(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, pattern] = first::<2>(cells);
    let pattern = codec::decode(call.ty(1), pattern.bytes()).into_owned();
    let ty = call.ty(0);
    let text = if typing::is_temporal(ty) {
        format_date(ty, moment::read(ty, value)?, &pattern)
    } else {
        let is_shortest = pattern.starts_with(['R', 'r']);
        Number::of(ty, value, is_shortest).and_then(|number| number.format(&pattern))
    };
    match text {
        Some(text) => {
            codec::write(&call.result, &text, to);
            Ok(Outcome::Bytes)
        }
        None => Ok(Outcome::Null),
    }
}

/// A number by its sign and decimal digits.
#[derive(Debug, Clone)]
struct Number {
    is_negative: bool,
    /// Digits before and after the point, none of them a leading zero.
    whole: String,
    fraction: String,
    is_integer: bool,
    is_float: bool,
}

impl Number {
    fn of(ty: &SqlType, value: Cell<'_>, is_shortest: bool) -> Option<Number> {
        let (text, is_integer, is_float) = match value {
            Cell::Int(value) if typing::is_money(ty) => (decimal(value.into(), 4), false, false),
            Cell::Int(value) => (value.to_string(), true, false),
            Cell::Wide(value) => {
                (decimal(value, typing::digits(ty).map_or(0, |it| it.1)), false, false)
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
    fn rounded(&self, decimals: usize) -> Number {
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
    fn shifted(&self, by: usize) -> Number {
        let fraction = format!("{:0<by$}", self.fraction);
        let (more, rest) = fraction.split_at_checked(by).unwrap_or((&fraction, ""));
        let whole = format!("{}{more}", self.whole);
        Number {
            whole: whole.trim_start_matches('0').to_owned(),
            fraction: rest.to_owned(),
            ..self.clone()
        }
    }

    fn format(&self, pattern: &str) -> Option<String> {
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
    fn significant(&self) -> (String, i64) {
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
    crate::op::number_text::write_decimal(value, scale, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number without its exponent.
fn plain(text: &str) -> Option<String> {
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

/// The parts of a custom pattern between semicolons that are not quoted.
fn sections(pattern: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quote = None;
    let mut characters = pattern.chars();
    while let Some(it) = characters.next() {
        if it == ';' && quote.is_none() {
            sections.push(String::new());
            continue;
        }
        match quote {
            Some(open) if open == it => quote = None,
            None if matches!(it, '\'' | '"') => quote = Some(it),
            _ => {}
        }
        if let Some(section) = sections.last_mut() {
            section.push(it);
            if it == '\\' {
                section.extend(characters.next());
            }
        }
    }
    sections
}

/// An element of a section.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// `0` (true) or `#`.
    Digit(bool),
    Point,
    Text(String),
    /// `E+0`: the letter, whether a plus is shown, digits at least.
    Exponent(char, bool, usize),
}

#[derive(Debug, Default)]
struct Section {
    pieces: Vec<Piece>,
    has_groups: bool,
    /// Divisions by 1,000: commas before the point.
    thousands: usize,
    /// Multiplications by ten: 2 for each `%`, 3 for each `‰`.
    up: usize,
}

impl Section {
    fn parse(pattern: &str) -> Section {
        let mut section = Section::default();
        let characters: Vec<char> = pattern.chars().collect();
        let mut at = 0;
        let mut commas = 0;
        let mut has_point = false;
        while let Some(it) = characters.get(at).copied() {
            at += 1;
            match it {
                '0' | '#' => {
                    let has_digit =
                        section.pieces.iter().any(|piece| matches!(piece, Piece::Digit(_)));
                    section.has_groups |= commas > 0 && has_digit && !has_point;
                    commas = 0;
                    section.pieces.push(Piece::Digit(it == '0'));
                }
                ',' => commas += 1,
                '.' if !has_point => {
                    has_point = true;
                    section.thousands += commas;
                    commas = 0;
                    section.pieces.push(Piece::Point);
                }
                '.' => {}
                '%' | '‰' => {
                    section.up += if it == '%' { 2 } else { 3 };
                    section.text(it.to_string());
                }
                '\\' => {
                    section.text(characters.get(at).map(char::to_string).unwrap_or_default());
                    at += 1;
                }
                '\'' | '"' => {
                    let rest = characters.get(at..).unwrap_or_default();
                    let len = rest.iter().position(|end| *end == it).unwrap_or(rest.len());
                    section.text(rest.iter().take(len).collect());
                    at += len + 1;
                }
                'E' | 'e' => at = section.exponent(it, &characters, at),
                other => section.text(other.to_string()),
            }
        }
        if !has_point {
            section.thousands += commas;
        }
        section
    }

    fn text(&mut self, text: String) {
        self.pieces.push(Piece::Text(text));
    }

    /// `E0`, `E+0`, `E-0`; else a letter. Gives the place after it.
    fn exponent(&mut self, letter: char, characters: &[char], at: usize) -> usize {
        let sign = characters.get(at).copied();
        let from = at + usize::from(matches!(sign, Some('+' | '-')));
        let zeros = characters.iter().skip(from).take_while(|it| **it == '0').count();
        if zeros == 0 {
            self.text(letter.to_string());
            return at;
        }
        self.pieces.push(Piece::Exponent(letter, sign == Some('+'), zeros));
        from + zeros
    }

    fn write(&self, number: &Number) -> String {
        let point = self.pieces.iter().position(|piece| *piece == Piece::Point);
        let (before, after) = match point {
            Some(point) => self.pieces.split_at_checked(point).unwrap_or((&self.pieces, &[])),
            None => (self.pieces.as_slice(), &[][..]),
        };
        let digits = |pieces: &[Piece]| -> Vec<bool> {
            let digit = |piece: &Piece| match piece {
                Piece::Digit(is_zero) => Some(*is_zero),
                _ => None,
            };
            pieces.iter().filter_map(digit).collect()
        };
        let whole_digits = digits(before);
        let decimals = digits(after);
        let has_exponent = self.pieces.iter().any(|piece| matches!(piece, Piece::Exponent(..)));
        let mut exponent = 0;
        let mut scaled = number.shifted(self.up);
        if self.thousands > 0 {
            scaled = divided(&scaled, self.thousands * 3);
        }
        if has_exponent {
            let (digits, own) = scaled.significant();
            let places = whole_digits.len().max(1);
            exponent = own + 1 - places as i64;
            let padded = format!("{digits:0<places$}");
            let (whole, fraction) = padded.split_at_checked(places).unwrap_or((&padded, ""));
            scaled = Number {
                whole: whole.trim_start_matches('0').to_owned(),
                fraction: fraction.to_owned(),
                ..scaled
            };
        }
        let rounded = scaled.rounded(decimals.len());
        let mut text = String::new();
        self.write_whole(before, &whole_digits, &rounded.whole, &mut text, exponent);
        write_fraction(after, &decimals, &rounded.fraction, &mut text, exponent);
        text
    }

    /// Digits that no piece stands for go before the first one.
    fn write_whole(
        &self,
        pieces: &[Piece],
        digits: &[bool],
        whole: &str,
        text: &mut String,
        exponent: i64,
    ) {
        let first_zero = digits.iter().position(|is_zero| *is_zero).unwrap_or(digits.len());
        let least = digits.len() - first_zero;
        let shown = format!("{whole:0>least$}");
        let extra = shown.len().saturating_sub(digits.len());
        let mut rest = shown.chars();
        let mut left = shown.len();
        let mut put = |text: &mut String, count: usize| {
            for digit in rest.by_ref().take(count) {
                text.push(digit);
                left -= 1;
                if self.has_groups && left > 0 && left % 3 == 0 {
                    text.push(',');
                }
            }
        };
        let mut place = digits.len();
        for piece in pieces {
            match piece {
                Piece::Digit(_) => {
                    if place == digits.len() {
                        put(text, extra);
                    }
                    if place <= shown.len() {
                        put(text, 1);
                    }
                    place -= 1;
                }
                other => write_piece(other, exponent, text),
            }
        }
    }
}

fn write_piece(piece: &Piece, exponent: i64, text: &mut String) {
    match piece {
        Piece::Text(own) => text.push_str(own),
        Piece::Exponent(letter, has_plus, least) => {
            let sign = match exponent < 0 {
                true => "-",
                false if *has_plus => "+",
                false => "",
            };
            text.push_str(&format!("{letter}{sign}{:0least$}", exponent.abs()));
        }
        _ => {}
    }
}

fn write_fraction(
    pieces: &[Piece],
    digits: &[bool],
    fraction: &str,
    text: &mut String,
    exponent: i64,
) {
    let needed = digits.iter().rposition(|is_zero| *is_zero).map_or(0, |at| at + 1);
    let shown = fraction.trim_end_matches('0').len().max(needed);
    let mut rest = fraction.chars().take(shown);
    for piece in pieces {
        match piece {
            Piece::Point if shown > 0 => text.push('.'),
            Piece::Digit(_) => text.extend(rest.next()),
            other => write_piece(other, exponent, text),
        }
    }
}

/// A number divided by a power of ten.
fn divided(number: &Number, by: usize) -> Number {
    let padded = format!("{:0>width$}", number.whole, width = by + 1);
    let cut = padded.len() - by;
    let (whole, more) = padded.split_at_checked(cut).unwrap_or((&padded, ""));
    Number {
        whole: whole.trim_start_matches('0').to_owned(),
        fraction: format!("{more}{}", number.fraction),
        ..number.clone()
    }
}

/// The custom pattern of a standard one of dates.
fn date_pattern(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "M/d/yyyy",
        'D' => "dddd, MMMM d, yyyy",
        'f' => "dddd, MMMM d, yyyy h:mm tt",
        'F' | 'U' => "dddd, MMMM d, yyyy h:mm:ss tt",
        'g' => "M/d/yyyy h:mm tt",
        'G' => "M/d/yyyy h:mm:ss tt",
        'm' | 'M' => "MMMM d",
        'o' | 'O' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss'.'fffffffK",
        'r' | 'R' => "ddd, dd MMM yyyy HH':'mm':'ss 'GMT'",
        's' => "yyyy'-'MM'-'dd'T'HH':'mm':'ss",
        't' => "h:mm tt",
        'T' => "h:mm:ss tt",
        'u' => "yyyy'-'MM'-'dd HH':'mm':'ss'Z'",
        'y' | 'Y' => "MMMM yyyy",
        _ => return None,
    })
}

fn format_date(ty: &SqlType, local: Local, pattern: &str) -> Option<String> {
    if matches!(ty, SqlType::Time { .. }) {
        return format_time(local, pattern);
    }
    let mut letters = pattern.chars();
    let pattern = match (letters.next(), letters.next()) {
        (None, _) => date_pattern('G')?,
        (Some(letter), None) if letter.is_ascii_alphabetic() => date_pattern(letter)?,
        _ => pattern,
    };
    let is_offset = matches!(ty, SqlType::DateTimeOffset { .. });
    custom_date(local, is_offset, pattern)
}

/// A time is a TimeSpan: only `c`, `g` and the letters h, m, s, f, with escaped separators.
fn format_time(local: Local, pattern: &str) -> Option<String> {
    let seconds = local.ticks / SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = local.ticks % SECOND;
    if matches!(pattern, "c" | "t" | "T" | "") {
        let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:07}") };
        return Some(format!("{hour:02}:{minute:02}:{second:02}{fraction}"));
    }
    let mut text = String::new();
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while let Some(it) = characters.get(at).copied() {
        let run = characters.iter().skip(at).take_while(|other| **other == it).count();
        match it {
            'h' | 'm' | 's' if run <= 2 => {
                let value = match it {
                    'h' => hour,
                    'm' => minute,
                    _ => second,
                };
                text.push_str(&format!("{value:0run$}"));
                at += run;
            }
            'f' if run <= 7 => {
                text.push_str(format!("{fraction:07}").get(..run)?);
                at += run;
            }
            '\\' => {
                text.extend(characters.get(at + 1));
                at += 2;
            }
            '\'' => {
                let rest = characters.get(at + 1..)?;
                let len = rest.iter().position(|end| *end == '\'')?;
                text.extend(rest.iter().take(len));
                at += len + 2;
            }
            // A separator that is not escaped is no format of a TimeSpan.
            _ => return None,
        }
    }
    Some(text)
}

fn custom_date(local: Local, is_offset: bool, pattern: &str) -> Option<String> {
    let (year, month, day) = calendar::ymd(local.days).ok()?;
    let seconds = local.ticks / SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = format!("{:07}", local.ticks % SECOND);
    let month_name = MONTHS.get((month - 1) as usize).copied()?;
    let day_name = DAYS.get(local.days.rem_euclid(7) as usize).copied()?;
    let padded = |value: i64, run: usize| {
        let width = run.min(2);
        format!("{value:0width$}")
    };
    let mut text = String::new();
    let characters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    while let Some(it) = characters.get(at).copied() {
        let run = characters.iter().skip(at).take_while(|other| **other == it).count();
        at += run;
        match (it, run) {
            ('y', 1..=2) => text.push_str(&padded(year % 100, run)),
            ('y', _) => text.push_str(&format!("{year:0run$}")),
            ('M', 1..=2) => text.push_str(&padded(month, run)),
            ('M', 3) => text.push_str(month_name.get(..3)?),
            ('M', _) => text.push_str(month_name),
            ('d', 1..=2) => text.push_str(&padded(day, run)),
            ('d', 3) => text.push_str(day_name.get(..3)?),
            ('d', _) => text.push_str(day_name),
            ('H', _) => text.push_str(&padded(hour, run)),
            ('h', _) => text.push_str(&padded((hour + 11) % 12 + 1, run)),
            ('m', _) => text.push_str(&padded(minute, run)),
            ('s', _) => text.push_str(&padded(second, run)),
            ('f', 1..=7) => text.push_str(fraction.get(..run)?),
            ('F', 1..=7) => {
                let digits = fraction.get(..run)?.trim_end_matches('0');
                // The point before it goes with it.
                if digits.is_empty() && text.ends_with('.') {
                    text.pop();
                }
                text.push_str(digits);
            }
            ('t', 1) => text.push(if hour < 12 { 'A' } else { 'P' }),
            ('t', _) => text.push_str(if hour < 12 { "AM" } else { "PM" }),
            ('g', _) => text.push_str("A.D."),
            ('K', _) if !is_offset => {}
            ('K' | 'z', _) => {
                let offset = offset_text(local.offset);
                match (it, run) {
                    ('z', 1) => {
                        let sign = offset.get(..1)?;
                        text.push_str(&format!("{sign}{}", local.offset.abs() / 60));
                    }
                    ('z', 2) => text.push_str(offset.get(..3)?),
                    _ => text.push_str(&offset),
                }
            }
            ('\\', _) => {
                at = at - run + 2;
                text.extend(characters.get(at - 1));
            }
            ('\'' | '"', _) => {
                at = at - run + 1;
                let rest = characters.get(at..).unwrap_or_default();
                let len = rest.iter().position(|end| *end == it)?;
                text.extend(rest.iter().take(len));
                at += len + 1;
            }
            ('%', 1) => {}
            ('f' | 'F' | '%', _) => return None,
            _ => text.extend(std::iter::repeat_n(it, run)),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i64, pattern: &str) -> String {
        let number = Number::of(&SqlType::Int, Cell::Int(value), false).unwrap();
        number.format(pattern).unwrap_or_else(|| "NULL".to_owned())
    }

    fn float(value: f64, pattern: &str) -> String {
        let number = Number::of(&SqlType::Float, Cell::Float(value), false).unwrap();
        number.format(pattern).unwrap_or_else(|| "NULL".to_owned())
    }

    #[test]
    fn standard_formats_of_numbers() {
        let cases = [
            (int(1_234_567, "N"), "1,234,567.00"),
            (int(1_234_567, "N0"), "1,234,567"),
            (int(-1_234, "C"), "-$1,234.00"),
            (int(42, "D5"), "00042"),
            (int(-42, "D"), "-42"),
            (int(255, "X"), "FF"),
            (int(255, "x4"), "00ff"),
            (int(-1, "X"), "FFFFFFFF"),
            (float(0.1234, "P"), "12.34%"),
            (float(0.1234, "P1"), "12.3%"),
            (float(1_234.5, "F1"), "1234.5"),
            (float(1_234.567_8, "E2"), "1.23E+003"),
            (float(9.996, "E2"), "1.00E+001"),
            (float(0.1, "G"), "0.1"),
            (float(1e20, "G"), "1E+20"),
            (float(1.5, "D"), "NULL"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn custom_formats_of_numbers() {
        let cases = [
            (int(123_456_789, "###-##-####"), "123-45-6789"),
            (int(5, "000"), "005"),
            (int(1_234_567, "#,##0"), "1,234,567"),
            (int(0, "#,##0.00"), "0.00"),
            (int(0, "#"), ""),
            (float(1_234.5, "#,##0.00"), "1,234.50"),
            (float(1_234.5, "0.###"), "1234.5"),
            (float(-1.5, "0.0"), "-1.5"),
            (float(-1.5, "0.0;(0.0)"), "(1.5)"),
            (float(0.0, "0;-0;zero"), "zero"),
            (float(0.256, "0.0%"), "25.6%"),
            (int(1_234_567, "0,,"), "1"),
            (float(12_345.0, "0.00E+0"), "1.23E+4"),
            (int(7, "'no. '0"), "no. 7"),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
        assert_eq!(plain("1.0e-3"), Some("0.001".to_owned()));
    }

    #[test]
    fn formats_of_dates() {
        let days = calendar::days_of(2024, 2, 5).unwrap();
        let ticks = ((15 * 60 + 4) * 60 + 9) * SECOND + 1_230_000;
        let local = Local { days, ticks, offset: 120 };
        let ty = SqlType::DateTime2 { scale: 7 };
        let cases = [
            ("d", "2/5/2024"),
            ("D", "Monday, February 5, 2024"),
            ("yyyy-MM-dd HH:mm:ss", "2024-02-05 15:04:09"),
            ("dd MMM yy", "05 Feb 24"),
            ("h:mm tt", "3:04 PM"),
            ("HH:mm:ss.fff", "15:04:09.123"),
            ("s", "2024-02-05T15:04:09"),
            ("MMMM", "February"),
            ("ddd 'the' d", "Mon the 5"),
            ("t", "3:04 PM"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(format_date(&ty, local, pattern).as_deref(), Some(expected), "{pattern}");
        }
        let offset = SqlType::DateTimeOffset { scale: 7 };
        assert_eq!(format_date(&offset, local, "HH:mm zzz").as_deref(), Some("15:04 +02:00"));
        let time = SqlType::Time { scale: 7 };
        assert_eq!(format_date(&time, local, "hh:mm"), None, "not escaped");
        assert_eq!(format_date(&time, local, r"hh\:mm").as_deref(), Some("15:04"));
    }
}
