//! Numbers as texts and texts as numbers, in every form that statements accept.
//!
//! ```text
//! integers    blanks around, one sign, digits; nothing, or a sign alone, is 0
//! decimal     sign, digits, one point; something must be there
//! float       as decimal with an exponent e, E, d or D; nothing is 0
//! money       a currency sign, commas anywhere, a sign, four decimals rounded; nothing is 0
//! bit         digits, true, false
//! ```

use crate::error::{EvalError, EvalResult};
use crate::wide::power_of_ten;

/// Currency signs that money takes.
const CURRENCIES: &str = "$£¤¥৲৳฿៛₠₡₢₣₤₥₦₧₨₩₪₫€₭₮₯₰₱﷼﹩＄￠￡￥￦";

/// The sign and the rest.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// An integer; [`EvalError::Overflow`] beyond 64 bits.
pub(crate) fn read_integer(text: &str) -> EvalResult<i64> {
    let (is_negative, digits) = signed(text.trim_matches(' '));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EvalError::Conversion);
    }
    let digit = |value: i64, digit: u8| {
        let digit = i64::from(digit - b'0');
        let next = value.checked_mul(10)?;
        if is_negative { next.checked_sub(digit) } else { next.checked_add(digit) }
    };
    digits.bytes().try_fold(0, digit).ok_or(EvalError::Overflow)
}

/// A bit.
pub(crate) fn read_bit(text: &str) -> EvalResult<i64> {
    let word = text.trim_matches(' ');
    if word.eq_ignore_ascii_case("true") {
        return Ok(1);
    }
    if word.eq_ignore_ascii_case("false") {
        return Ok(0);
    }
    match read_integer(word) {
        Ok(value) => Ok(i64::from(value != 0)),
        // Digits beyond 64 bits are not 0.
        Err(EvalError::Overflow) => Ok(1),
        Err(error) => Err(error),
    }
}

/// A decimal times `10^scale`; further digits are rounded, the half away from zero.
pub(crate) fn read_decimal(text: &str, scale: u8) -> EvalResult<i128> {
    let (is_negative, digits) = signed(text.trim_matches(' '));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !are_digits || whole.is_empty() && fraction.is_empty() {
        return Err(EvalError::Conversion);
    }
    scaled(is_negative, whole, fraction, i64::from(scale))
}

/// `0.whole…` digits times `10^scale`, rounded; a negative scale drops digits of the whole part.
fn scaled(is_negative: bool, whole: &str, fraction: &str, scale: i64) -> EvalResult<i128> {
    let point = whole.len() as i64 + scale;
    let digit_at = |at: i64| {
        let at = usize::try_from(at).ok()?;
        let text = if at < whole.len() { whole } else { fraction };
        let at = if at < whole.len() { at } else { at - whole.len() };
        text.as_bytes().get(at).map(|byte| i128::from(byte - b'0'))
    };
    let mut value = 0i128;
    for at in 0..point {
        let digit = digit_at(at).unwrap_or(0);
        let next = value.checked_mul(10).and_then(|value| value.checked_add(digit));
        value = next.ok_or(EvalError::Overflow)?;
    }
    let is_up = point >= 0 && digit_at(point).is_some_and(|digit| digit >= 5);
    let value = value + i128::from(is_up);
    Ok(if is_negative { -value } else { value })
}

/// A float.
pub(crate) fn read_float(text: &str) -> EvalResult<f64> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(0.0);
    }
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.eEdD".contains(&byte);
    if !text.bytes().all(is_part) || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(EvalError::Conversion);
    }
    let plain = text.replace(['d', 'D'], "e");
    // An exponent without digits is 0.
    let plain = plain.strip_suffix(['e', 'E']).unwrap_or(&plain);
    let value: f64 = plain.parse().map_err(|_| EvalError::Conversion)?;
    if value.is_finite() { Ok(value) } else { Err(EvalError::Overflow) }
}

/// Money in 1/10000.
pub fn read_money(text: &str) -> EvalResult<i64> {
    let (is_negative, rest) = signed(text.trim_matches(' '));
    let rest = rest.trim_start_matches(' ');
    let unmarked = rest.strip_prefix(|sign| CURRENCIES.contains(sign)).unwrap_or(rest);
    let (is_negative, rest) = match signed(unmarked.trim_start_matches(' ')) {
        (true, rest) if !is_negative => (true, rest),
        (true, _) => return Err(EvalError::Conversion),
        (false, rest) => (is_negative, rest),
    };
    let digits = rest.replace(',', "");
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return Err(EvalError::Conversion);
    }
    let value = scaled(is_negative, whole, fraction, 4)?;
    i64::try_from(value).map_err(|_| EvalError::Overflow)
}

/// ISNUMERIC: is it a value of any type of numbers?
pub(crate) fn is_numeric(text: &str) -> bool {
    let word = text.trim_matches(' ');
    let is_read = |outcome: Result<(), EvalError>| outcome.is_ok();
    !word.is_empty()
        && (is_read(read_float(word).map(|_| ()))
            || is_read(read_money(word).map(|_| ()))
            || read_decimal(word, 0).is_ok())
}

/// A float times `10^scale`, from its 17 significant digits, rounded.
pub(crate) fn float_to_decimal(value: f64, scale: u8) -> EvalResult<i128> {
    if !value.is_finite() {
        return Err(EvalError::Overflow);
    }
    let text = format!("{:.16e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').ok_or(EvalError::Overflow)?;
    let exponent: i64 = exponent.parse().map_err(|_| EvalError::Overflow)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    scaled(value < 0.0, whole, fraction, i64::from(scale) + exponent)
}

/// A decimal as the nearest float.
pub(crate) fn decimal_to_float(value: i128, scale: u8) -> f64 {
    // Exact where both are below 2^53; else the digits are read as a float is.
    if value.unsigned_abs() < 1 << 53 && scale <= 22 {
        return value as f64 / power_of_ten(scale).unwrap_or(1) as f64;
    }
    format!("{value}e-{scale}").parse().unwrap_or(0.0)
}

/// Appends a float in a style of CONVERT: 0 at most six digits, 1 eight digits, 2 sixteen, 3
/// seventeen, these with an exponent.
pub(crate) fn write_float(value: f64, style: i64, to: &mut String) -> EvalResult<()> {
    let digits = match style {
        0 | super::moment_style::NO_STYLE => return write_short_float(value, to),
        1 => 8,
        2 => 16,
        3 | 126 | 128 | 129 => 17,
        _ => return Err(EvalError::Style),
    };
    to.push_str(&exponential(value, digits));
    Ok(())
}

/// `d.ddde±ddd`
fn exponential(value: f64, digits: usize) -> String {
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:03}", exponent.abs())
}

fn write_short_float(value: f64, to: &mut String) -> EvalResult<()> {
    let text = format!("{value:.5e}");
    let (_, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 {
        to.push_str(if value.is_sign_negative() { "-0" } else { "0" });
        return Ok(());
    }
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent).max(0) as usize;
        to.push_str(without_zeros(&format!("{value:.decimals$}")));
        return Ok(());
    }
    let text = exponential(value, 6);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+000"));
    to.push_str(without_zeros(mantissa));
    to.push('e');
    to.push_str(exponent);
    Ok(())
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_as_documented() {
        let integers = [("", Ok(0)), (" -12 ", Ok(-12)), ("+", Ok(0)), ("-", Ok(0))];
        for (text, expected) in integers {
            assert_eq!(read_integer(text), expected, "{text}");
        }
        for text in ["1.5", "1e5", "1,000", "$1", "0x1", "abc"] {
            assert_eq!(read_integer(text), Err(EvalError::Conversion), "{text}");
        }
        let decimals = [
            ("1.239", Ok(124)),
            ("-1.235", Ok(-124)),
            (".5", Ok(50)),
            ("5.", Ok(500)),
            ("", Err(EvalError::Conversion)),
            ("1e5", Err(EvalError::Conversion)),
            ("1,0", Err(EvalError::Conversion)),
        ];
        for (text, expected) in decimals {
            assert_eq!(read_decimal(text, 2), expected, "{text}");
        }
        let floats = [("1e5", Ok(1e5)), ("1d2", Ok(100.0)), ("", Ok(0.0)), (" 1.5 ", Ok(1.5))];
        for (text, expected) in floats {
            assert_eq!(read_float(text), expected, "{text}");
        }
        assert_eq!(read_float("inf"), Err(EvalError::Conversion));
        let money = [
            ("$1,234.56789", Ok(12_345_679)),
            ("-$1", Ok(-10_000)),
            ("$-1", Ok(-10_000)),
            ("€ 1", Ok(10_000)),
            ("", Ok(0)),
            ("$", Ok(0)),
            ("abc", Err(EvalError::Conversion)),
        ];
        for (text, expected) in money {
            assert_eq!(read_money(text), expected, "{text}");
        }
        for (text, expected) in [("true", Ok(1)), ("FALSE", Ok(0)), ("", Ok(0)), ("12", Ok(1))] {
            assert_eq!(read_bit(text), expected, "{text}");
        }
    }

    #[test]
    fn isnumeric_takes_what_any_type_of_numbers_takes() {
        for text in ["$", ".", ",", "+", "1e5", "1d5", "1,000", "-1.5"] {
            assert!(is_numeric(text), "{text}");
        }
        for text in ["", "0x1", "abc", "1 2"] {
            assert!(!is_numeric(text), "{text}");
        }
    }

    #[test]
    fn floats_are_written_by_their_style() {
        let shown = |value: f64, style: i64| {
            let mut text = String::new();
            write_float(value, style, &mut text).unwrap();
            text
        };
        let cases = [
            (1_495_591e0, 0, "1.49559e+006"),
            (123_456_789.123_456_79, 1, "1.2345679e+008"),
            (123_456_789.123_456_79, 2, "1.234567891234568e+008"),
            (0.1, 0, "0.1"),
            (-0.0, 0, "-0"),
            (100_000.0, 0, "100000"),
            (1e-5, 0, "1e-005"),
            (0.000_123_456_7, 0, "0.000123457"),
            (999_999.7, 0, "1e+006"),
        ];
        for (value, style, expected) in cases {
            assert_eq!(shown(value, style), expected, "{value} {style}");
        }
    }

    #[test]
    fn a_float_is_a_decimal_by_its_17_digits() {
        assert_eq!(float_to_decimal(0.1, 20), Ok(10_000_000_000_000_001_000));
        assert_eq!(float_to_decimal(-2.5, 0), Ok(-3));
        assert_eq!(float_to_decimal(1e-30, 2), Ok(0));
        assert_eq!(float_to_decimal(1e40, 0), Err(EvalError::Overflow));
        assert_eq!(decimal_to_float(15, 1), 1.5);
        assert_eq!(decimal_to_float(12_345_678_901_234_567_890, 10), 1_234_567_890.123_456_7);
    }
}
