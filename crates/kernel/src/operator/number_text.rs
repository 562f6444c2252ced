//! Numbers as text, and texts as numbers.
//!
//! ```text
//! int, decimal   digits, every digit of the scale: -12.50, 0.05
//! money          style 0: two digits, rounded; style 1: with commas; style 2: four digits
//! uniqueidentifier  36 characters, upper case
//! binary         style 1: 0x and hexadecimal digits; style 2: the digits
//! ```
//!
//! A text that is read must be blanks, a sign, digits (and a point), blanks. What the product may
//! accept beyond that is [`EvalError::Form`], except the empty text, which is 0 as an integer, and
//! texts with letters, which are no numbers.

use crate::error::{EvalError, EvalResult};
use crate::wide::power_of_ten;

/// Decimal digits of `value / 10^scale`, every digit of the scale.
pub(crate) fn write_decimal(value: i128, scale: u8, to: &mut Vec<u8>) {
    if value < 0 {
        to.push(b'-');
    }
    let mut digits = [b'0'; 40];
    let mut rest = value.unsigned_abs();
    let least = usize::from(scale) + 1;
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        if rest == 0 && count >= least {
            break;
        }
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    let written = digits.get(digits.len() - count..).unwrap_or_default();
    let (whole, fraction) =
        written.split_at_checked(count - usize::from(scale)).unwrap_or((written, &[]));
    to.extend_from_slice(whole);
    if scale > 0 {
        to.push(b'.');
        to.extend_from_slice(fraction);
    }
}

/// money by its style.
pub(crate) fn write_money(value: i64, style: u8, to: &mut Vec<u8>) -> EvalResult<()> {
    if style == 2 {
        write_decimal(value.into(), 4, to);
        return Ok(());
    }
    let cents = super::arithmetic::round(value.into(), 100, false)? / 100;
    let start = to.len();
    write_decimal(cents, 2, to);
    if style == 1 {
        let first = start + usize::from(cents < 0);
        let mut at = to.len().saturating_sub(6);
        while at > first {
            to.insert(at, b',');
            at = at.saturating_sub(3);
        }
    }
    Ok(())
}

/// The text form of a stored uniqueidentifier.
pub(crate) fn write_guid(stored: &[u8], to: &mut Vec<u8>) -> EvalResult<()> {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    for (at, from) in ORDER.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            to.push(b'-');
        }
        write_hex(&[*stored.get(from).ok_or(EvalError::Input)?], to);
    }
    Ok(())
}

/// Upper-case hexadecimal digits.
pub(crate) fn write_hex(bytes: &[u8], to: &mut Vec<u8>) {
    let digit = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'A' + nibble - 10 };
    to.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

/// Sign, digits before and after the point.
struct Plain<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

fn plain(text: &[u8]) -> EvalResult<Plain<'_>> {
    let blank = |byte: &u8| *byte == b' ';
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |at| at + 1);
    let text = text.get(start..end).unwrap_or_default();
    let (is_negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    };
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let whole = digits.get(..point).unwrap_or_default();
    let fraction = digits.get(point + 1..).unwrap_or_default();
    let is_plain = whole.iter().chain(fraction).all(u8::is_ascii_digit);
    let is_number = is_plain && !(whole.is_empty() && fraction.is_empty());
    if is_number {
        return Ok(Plain { is_negative, whole, fraction });
    }
    // No number has a letter, but for that of an exponent.
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() && !b"eEdD".contains(byte);
    Err(if text.iter().any(is_letter) { EvalError::Conversion } else { EvalError::Form })
}

/// The integer of a text.
pub(crate) fn read_integer(text: &[u8]) -> EvalResult<i64> {
    if text.iter().all(|byte| *byte == b' ') {
        return Ok(0);
    }
    let Plain { is_negative, whole, fraction } = plain(text)?;
    if !fraction.is_empty() || text.contains(&b'.') {
        return Err(EvalError::Conversion);
    }
    let digit = |value: i64, digit: &u8| {
        let digit = i64::from(digit - b'0');
        let next = value.checked_mul(10)?;
        if is_negative { next.checked_sub(digit) } else { next.checked_add(digit) }
    };
    whole.iter().try_fold(0, digit).ok_or(EvalError::Overflow)
}

/// The decimal of a text at a scale; digits beyond it are rounded, the half away from zero.
pub(crate) fn read_decimal(text: &[u8], scale: u8) -> EvalResult<i128> {
    let Plain { is_negative, whole, fraction } = plain(text)?;
    let kept = fraction.get(..usize::from(scale)).unwrap_or(fraction);
    let digit =
        |value: i128, digit: &u8| value.checked_mul(10)?.checked_add(i128::from(digit - b'0'));
    let value = whole.iter().chain(kept).try_fold(0, digit).ok_or(EvalError::Overflow)?;
    let missing = usize::from(scale) - kept.len();
    let unit = u8::try_from(missing).ok().and_then(power_of_ten).ok_or(EvalError::Overflow)?;
    let value = value.checked_mul(unit).ok_or(EvalError::Overflow)?;
    let is_far = fraction.get(usize::from(scale)).is_some_and(|digit| *digit >= b'5');
    let value = value + i128::from(is_far);
    Ok(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i128, scale: u8) -> String {
        let mut text = Vec::new();
        write_decimal(value, scale, &mut text);
        String::from_utf8(text).unwrap()
    }

    fn money(value: i64, style: u8) -> String {
        let mut text = Vec::new();
        write_money(value, style, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn every_digit_of_the_scale_is_written() {
        assert_eq!(decimal(0, 0), "0");
        assert_eq!(decimal(5, 2), "0.05");
        assert_eq!(decimal(-1250, 2), "-12.50");
        assert_eq!(decimal(i64::MIN.into(), 0), "-9223372036854775808");
        assert_eq!(decimal(10i128.pow(38) - 1, 38), format!("0.{}", "9".repeat(38)));
        assert_eq!(decimal(-(10i128.pow(38) - 1), 0), format!("-{}", "9".repeat(38)));
    }

    #[test]
    fn money_follows_its_styles() {
        // Public examples of the styles: 3510.92, 3,510.92 and 3510.9200 (style 2 keeps four
        // digits).
        assert_eq!(
            (money(35_109_200, 0), money(35_109_200, 1)),
            ("3510.92".into(), "3,510.92".into())
        );
        assert_eq!(money(35_109_200, 2), "3510.9200");
        assert_eq!(money(-12_345_678_905_000, 1), "-1,234,567,890.50");
        assert_eq!(
            (money(12_350, 0), money(-12_350, 0), money(99_950, 0)),
            ("1.24".into(), "-1.24".into(), "10.00".into())
        );
        assert_eq!(money(9_990_000, 1), "999.00");
    }

    #[test]
    fn texts_are_read_strictly() {
        assert_eq!(read_integer(b"  -12 "), Ok(-12));
        assert_eq!(read_integer(b"+7"), Ok(7));
        assert_eq!(read_integer(b"   "), Ok(0));
        assert_eq!(read_integer(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read_integer(b"9223372036854775808"), Err(EvalError::Overflow));
        assert_eq!(read_integer(b"1.0"), Err(EvalError::Conversion));
        for open in [&b"1e3"[..], b"- 1", b"--1", b"1,000", b"-"] {
            assert_eq!(read_integer(open), Err(EvalError::Form), "{open:?}");
        }
        assert_eq!(read_integer(b"x"), Err(EvalError::Conversion));
        assert_eq!(read_decimal(b" 1.239", 2), Ok(124));
        assert_eq!(read_decimal(b"-1.235", 2), Ok(-124));
        assert_eq!(read_decimal(b".5", 3), Ok(500));
        assert_eq!(read_decimal(b"", 3), Err(EvalError::Form));
        assert_eq!(read_decimal(&b"9".repeat(60), 3), Err(EvalError::Overflow));
    }
}
