//! Decimals of variable length: the vardecimal table option of SQL Server 2005 SP2, and every
//! decimal of a compressed row.
//!
//! ```text
//! byte 0   bit 7: 1 = positive; bits 0..6: exponent + 64
//! byte 1.. digits in groups of three, 10 bits each, most significant first; the first digit is not
//!      0 and stands before
//!          the decimal point: value = d.ddd… × 10^exponent. Trailing zero bytes are left out.
//! (empty)  0
//!
//! 123.45   c2 1e dc 20   positive, exponent 2, groups 123 and 450
//! -3       40 4b         negative, exponent 0, group 300
//! 0.01     be 19         positive, exponent -2, group 100
//! ```
//!
//! In a table with the option the column lies in the variable part: that is how it is recognised, a
//! decimal column with a negative offset in `sysrscols`.
//!
//! Unverified: no sample has such a value. From public descriptions, whose examples are the tests.

use std::fmt;

/// The most bytes a value takes: 13 groups, which are 130 bits, and the exponent.
pub const VARDECIMAL_BYTES_MAX: usize = 18;
/// Digits of a group.
const GROUP_DIGITS: usize = 3;
/// Bits of a group.
const GROUP_BITS: usize = 10;
/// Groups of the longest value.
const GROUPS_MAX: usize = 13;
const EXPONENT_BIAS: i32 = 64;
const POSITIVE: u8 = 0x80;
/// The widest decimal in its fixed form: sign and 16 bytes.
const FIXED_BYTES_MAX: usize = 17;

/// Why bytes are no decimal of their column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VarDecimalError {
    /// Only the exponent, or more bytes than the longest value.
    #[error("a variable decimal takes no or 2 to 18 bytes, {found} found")]
    Length {
        /// Bytes of the stored value.
        found: usize,
    },
    /// Ten bits that are more than 999.
    #[error("digit group {group} of a variable decimal is {value}")]
    Group {
        /// The group, from 0.
        group: usize,
        /// Value of the group of ten bits, 0 to 1,023.
        value: u16,
    },
    /// More digits before the decimal point, or after it, than the column has.
    #[error("the variable decimal does not fit decimal({precision},{scale})")]
    OutOfRange {
        /// Precision of the column.
        precision: u8,
        /// Scale of the column.
        scale: u8,
    },
}

/// A decimal by its parts: `±magnitude / 10^scale`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Magnitude {
    /// Below zero; false for zero itself.
    pub is_negative: bool,
    /// The digits without the decimal point.
    pub digits: u128,
}

/// A decimal in the fixed disk form: sign byte (1 = positive), then the magnitude, little-endian.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FixedDecimal {
    bytes: [u8; FIXED_BYTES_MAX],
    len: usize,
}

impl FixedDecimal {
    /// The bytes: 5, 9, 13 or 17 by precision.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Debug for FixedDecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().fmt(f)
    }
}

/// Reads a value of a column `decimal(precision, scale)`.
pub fn read_vardecimal(
    bytes: &[u8],
    precision: u8,
    scale: u8,
) -> Result<Magnitude, VarDecimalError> {
    let Some((first, mantissa)) = bytes.split_first() else {
        return Ok(Magnitude { is_negative: false, digits: 0 });
    };
    if mantissa.is_empty() || bytes.len() > VARDECIMAL_BYTES_MAX {
        return Err(VarDecimalError::Length { found: bytes.len() });
    }
    let exponent = i32::from(first & !POSITIVE) - EXPONENT_BIAS;
    let digits = scale_digits(&digits_of(mantissa)?, exponent + i32::from(scale), precision)
        .ok_or(VarDecimalError::OutOfRange { precision, scale })?;
    Ok(Magnitude { is_negative: first & POSITIVE == 0 && digits != 0, digits })
}

/// The digits of all groups, missing bits read as 0.
fn digits_of(mantissa: &[u8]) -> Result<[u8; GROUPS_MAX * GROUP_DIGITS], VarDecimalError> {
    let mut digits = [0; GROUPS_MAX * GROUP_DIGITS];
    for (group, targets) in digits.chunks_exact_mut(GROUP_DIGITS).enumerate() {
        let value = bits_at(mantissa, group * GROUP_BITS);
        if value > 999 {
            return Err(VarDecimalError::Group { group, value });
        }
        for (target, digit) in targets.iter_mut().zip([value / 100, value / 10 % 10, value % 10]) {
            *target = digit as u8;
        }
    }
    Ok(digits)
}

/// Ten bits from bit `at` on, counted from the most significant bit of the first byte.
fn bits_at(bytes: &[u8], at: usize) -> u16 {
    let byte = |index: usize| u32::from(bytes.get(index).copied().unwrap_or(0));
    let window = byte(at / 8) << 16 | byte(at / 8 + 1) << 8 | byte(at / 8 + 2);
    (window >> (24 - GROUP_BITS - at % 8) & 0x3ff) as u16
}

/// The number whose first digit stands at 10^`first_power`. `None` when it has more than
/// `precision` digits or one after place 0.
fn scale_digits(digits: &[u8], first_power: i32, precision: u8) -> Option<u128> {
    let count = usize::try_from(first_power + 1).unwrap_or(0);
    let fraction = digits.get(count.min(digits.len())..).unwrap_or_default();
    if fraction.iter().any(|digit| *digit != 0) {
        return None;
    }
    // Leading zeros do not occur, but would not matter: only significant digits count.
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    if leading == digits.len() {
        return Some(0);
    }
    if count - leading > usize::from(precision.min(38)) {
        return None;
    }
    let placed = digits.iter().copied().chain(std::iter::repeat(0)).take(count);
    Some(placed.fold(0, |number, digit| number * 10 + u128::from(digit)))
}

/// Reads a value and gives the fixed disk form that an uncompressed row would have.
pub fn expand_vardecimal(
    bytes: &[u8],
    precision: u8,
    scale: u8,
) -> Result<FixedDecimal, VarDecimalError> {
    let value = read_vardecimal(bytes, precision, scale)?;
    let mut fixed = FixedDecimal { bytes: [0; FIXED_BYTES_MAX], len: fixed_bytes(precision) };
    let [sign, magnitude @ ..] = &mut fixed.bytes;
    *sign = u8::from(!value.is_negative);
    *magnitude = value.digits.to_le_bytes();
    Ok(fixed)
}

/// Bytes of the fixed form by precision.
fn fixed_bytes(precision: u8) -> usize {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => FIXED_BYTES_MAX,
    }
}

/// Appends the disk form of `±digits / 10^scale`; nothing for 0.
pub fn write_vardecimal(value: Magnitude, scale: u8, out: &mut Vec<u8>) {
    if value.digits == 0 {
        return;
    }
    let text = value.digits.to_string();
    let exponent = text.len() as i32 - 1 - i32::from(scale);
    let sign = if value.is_negative { 0 } else { POSITIVE };
    out.push(sign | (exponent + EXPONENT_BIAS) as u8 & !POSITIVE);
    let start = out.len();
    let mut bits = 0u32;
    let mut held = 0;
    for group in text.as_bytes().chunks(GROUP_DIGITS) {
        let digit = |at: usize| group.get(at).map_or(0, |ascii| u32::from(ascii - b'0'));
        bits = bits << GROUP_BITS | (digit(0) * 100 + digit(1) * 10 + digit(2));
        held += GROUP_BITS;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    out.push((bits << (8 - held)) as u8);
    while out.len() > start + 1 && out.last() == Some(&0) {
        out.pop();
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::{Rng, SplitMix64};

    use super::*;

    fn written(is_negative: bool, digits: u128, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        write_vardecimal(Magnitude { is_negative, digits }, scale, &mut out);
        out
    }

    #[test]
    fn published_examples_read_and_write() {
        let nines = 9_999_999_999_999_999_999_999_999_999_999_999_999u128;
        let cases: [(&[u8], u8, u8, bool, u128); 7] = [
            (&[0xc2, 0x1e, 0xdc, 0x20], 5, 2, false, 12_345),
            (&[0xc0, 0x67], 5, 2, false, 412),
            (&[0xc0, 0x19], 9, 0, false, 1),
            (&[0xbe, 0x19], 9, 2, false, 1),
            (&[0x40, 0x4b], 9, 0, true, 3),
            (&[0xc4, 0xf9, 0xfd, 0xe0], 5, 0, false, 99_999),
            (&[], 9, 2, false, 0),
        ];
        for (bytes, precision, scale, is_negative, digits) in cases {
            let value = read_vardecimal(bytes, precision, scale);
            assert_eq!(value, Ok(Magnitude { is_negative, digits }), "{bytes:02x?}");
            assert_eq!(written(is_negative, digits, scale), bytes);
        }
        assert_eq!(written(false, nines, 20).len(), 17, "37 digits take 17 bytes");
    }

    #[test]
    fn every_number_survives_in_every_scale() {
        let mut rng = SplitMix64::new(3);
        for _ in 0..20_000 {
            let precision = 1 + rng.below(38) as u8;
            let scale = rng.below(u64::from(precision) + 1) as u8;
            let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            let digits = wide % 10u128.pow(1 + rng.below(u64::from(precision)) as u32);
            let is_negative = digits != 0 && rng.below(2) == 1;
            let bytes = written(is_negative, digits, scale);
            assert!(bytes.len() <= VARDECIMAL_BYTES_MAX);
            let value = read_vardecimal(&bytes, precision, scale);
            assert_eq!(
                value,
                Ok(Magnitude { is_negative, digits }),
                "decimal({precision},{scale}) {bytes:02x?}"
            );
            let fixed = expand_vardecimal(&bytes, precision, scale).unwrap();
            assert_eq!(fixed.as_bytes()[0], u8::from(!is_negative));
            let mut magnitude = [0; 16];
            magnitude[..fixed.as_bytes().len() - 1].copy_from_slice(&fixed.as_bytes()[1..]);
            assert_eq!(u128::from_le_bytes(magnitude), digits);
        }
    }

    #[test]
    fn what_does_not_fit_the_column_is_refused() {
        assert_eq!(read_vardecimal(&[0xc0], 9, 0), Err(VarDecimalError::Length { found: 1 }));
        assert_eq!(read_vardecimal(&[0xc0; 19], 9, 0), Err(VarDecimalError::Length { found: 19 }));
        assert_eq!(
            read_vardecimal(&[0xc0, 0xff, 0xff], 9, 0),
            Err(VarDecimalError::Group { group: 0, value: 1023 })
        );
        let out_of_range = |precision, scale| Err(VarDecimalError::OutOfRange { precision, scale });
        assert_eq!(
            read_vardecimal(&[0xc2, 0x1e, 0xdc, 0x20], 4, 2),
            out_of_range(4, 2),
            "too many digits"
        );
        assert_eq!(
            read_vardecimal(&[0xc2, 0x1e, 0xdc, 0x20], 5, 1),
            out_of_range(5, 1),
            "a digit too fine"
        );
        assert_eq!(read_vardecimal(&[0xff, 0x19], 38, 38), out_of_range(38, 38), "far too large");
        assert_eq!(read_vardecimal(&[0x80, 0x19], 38, 38), out_of_range(38, 38), "far too small");
    }

    #[test]
    fn random_bytes_never_panic() {
        let mut rng = SplitMix64::new(4);
        for _ in 0..50_000 {
            let bytes: Vec<u8> = (0..rng.below(20)).map(|_| rng.next_u64() as u8).collect();
            let precision = rng.below(256) as u8;
            let scale = rng.below(256) as u8;
            let _ = expand_vardecimal(&bytes, precision, scale);
        }
    }
}
