//! Exact decimals of up to 38 digits: a sign, a magnitude and a scale.
//!
//! ```text
//! stored   +0   1  sign: 1 positive, 0 negative
//!          +1 4/8/12/16  magnitude, little-endian: the value times 10^scale
//!
//! vardecimal (also in row-compressed records), unverified: no sample contains it
//!          +0   1  bit 7: 1 positive; bits 0-6: exponent + 64
//!          +1  ..  mantissa d.ddd…: 10 bits for 3 digits, highest bit first, zeros at the end cut
//!                  off
//!          no bytes: zero
//! ```
//!
//! Invariants
//! - `magnitude < 10^38`, `scale <= 38`.
//! - A zero with a negative sign keeps its sign bit, so that its bytes round-trip, but equals and
//!   prints as zero.

use std::cmp::Ordering;
use std::fmt;

/// Digits a decimal can have.
pub const MAX_PRECISION: u8 = 38;

/// A decimal or numeric value at its declared scale. Prints every digit of the scale.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    is_negative: bool,
    magnitude: u128,
    scale: u8,
}

impl Decimal {
    /// A value of `magnitude / 10^scale`; `None` beyond 38 digits.
    #[must_use]
    pub fn new(is_negative: bool, magnitude: u128, scale: u8) -> Option<Decimal> {
        let fits = scale <= MAX_PRECISION && magnitude < power_of_ten(MAX_PRECISION);
        fits.then_some(Decimal { is_negative, magnitude, scale })
    }

    /// The sign bit; a negative zero is possible in a file.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// The value times `10^scale`, without sign.
    #[must_use]
    pub fn magnitude(&self) -> u128 {
        self.magnitude
    }

    /// Digits after the point.
    #[must_use]
    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// The value times `10^scale`, with its sign.
    #[must_use]
    pub fn unscaled(&self) -> i128 {
        // 10^38 < 2^127: the magnitude always fits.
        let magnitude = self.magnitude as i128;
        if self.is_negative { -magnitude } else { magnitude }
    }

    /// Is the magnitude below `10^precision`?
    #[must_use]
    pub fn fits_precision(&self, precision: u8) -> bool {
        precision >= MAX_PRECISION || self.magnitude < power_of_ten(precision)
    }

    /// The value of a text such as `-12.50`. The scale is the number of digits after the point.
    #[must_use]
    pub fn parse(text: &str) -> Option<Decimal> {
        let (is_negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let scale = u8::try_from(fraction.len()).ok()?;
        let mut magnitude = 0u128;
        for digit in whole.bytes().chain(fraction.bytes()) {
            let value = digit.is_ascii_digit().then(|| u128::from(digit - b'0'))?;
            magnitude = magnitude.checked_mul(10)?.checked_add(value)?;
        }
        Decimal::new(is_negative, magnitude, scale)
    }

    /// The same value at another scale; `None` when digits would be lost or 38 are not enough.
    #[must_use]
    pub fn rescale(&self, scale: u8) -> Option<Decimal> {
        let magnitude = if scale >= self.scale {
            self.magnitude.checked_mul(checked_power_of_ten(scale - self.scale)?)?
        } else {
            let divisor = checked_power_of_ten(self.scale - scale)?;
            self.magnitude.is_multiple_of(divisor).then_some(self.magnitude / divisor)?
        };
        Decimal::new(self.is_negative, magnitude, scale)
    }
}

/// `10^exponent` for exponents up to 38.
/// `10^0` to `10^38`.
const POWERS_OF_TEN: [u128; MAX_PRECISION as usize + 1] = {
    let mut powers = [1; MAX_PRECISION as usize + 1];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

fn power_of_ten(exponent: u8) -> u128 {
    POWERS_OF_TEN[usize::from(exponent.min(MAX_PRECISION))]
}

fn checked_power_of_ten(exponent: u8) -> Option<u128> {
    10u128.checked_pow(u32::from(exponent))
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        let is_below = |value: &Decimal| value.is_negative && value.magnitude != 0;
        match (is_below(self), is_below(other)) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => compare_magnitudes(self, other),
            (true, true) => compare_magnitudes(other, self),
        }
    }
}

/// Compares whole parts, then fractions brought to one scale; neither can overflow 38 digits.
fn compare_magnitudes(a: &Decimal, b: &Decimal) -> Ordering {
    let a_unit = power_of_ten(a.scale);
    let b_unit = power_of_ten(b.scale);
    let fraction = |value: &Decimal, unit: u128, other_scale: u8| {
        let widen = other_scale.saturating_sub(value.scale);
        (value.magnitude % unit) * power_of_ten(widen)
    };
    (a.magnitude / a_unit)
        .cmp(&(b.magnitude / b_unit))
        .then_with(|| fraction(a, a_unit, b.scale).cmp(&fraction(b, b_unit, a.scale)))
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_negative && self.magnitude != 0 { "-" } else { "" };
        let unit = power_of_ten(self.scale);
        write!(f, "{sign}{}", self.magnitude / unit)?;
        if self.scale > 0 {
            write!(f, ".{:0width$}", self.magnitude % unit, width = usize::from(self.scale))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_every_digit_of_the_declared_scale() {
        for text in
            ["0", "0.00", "-12.50", "0.0001", "99999999999999999999999999999999999999", "-0.5"]
        {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        let smallest = format!("0.{}1", "0".repeat(37));
        assert_eq!(Decimal::parse(&smallest).unwrap().to_string(), smallest);
        assert_eq!(Decimal::parse("+.5").unwrap().to_string(), "0.5");
    }

    #[test]
    fn text_beyond_38_digits_or_with_other_signs_is_refused() {
        let bad = [
            "",
            "-",
            ".",
            "1e5",
            "1,0",
            "--1",
            "1.2.3",
            " 1",
            "100000000000000000000000000000000000000",
        ];
        for text in bad {
            assert!(Decimal::parse(text).is_none(), "{text}");
        }
        assert!(Decimal::parse(&format!("0.{}", "0".repeat(300))).is_none());
    }

    #[test]
    fn values_of_different_scale_compare_by_value() {
        let value = |text: &str| Decimal::parse(text).unwrap();
        let max = "99999999999999999999999999999999999999";
        let tiny = format!("0.{}1", "0".repeat(37));
        let ascending =
            [&format!("-{max}"), "-1.5", "-1.25", "0", &tiny, "1", "1.000001", "2", max].map(value);
        assert!(ascending.is_sorted());
        assert!(ascending.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(value("1.50"), value("1.5"));
        assert_eq!(value("-0.0"), value("0"));
        assert_eq!(value("-0.0").to_string(), "0.0");
    }

    #[test]
    fn rescaling_never_loses_a_digit() {
        let value = Decimal::parse("1.50").unwrap();
        assert_eq!(value.rescale(4).unwrap().to_string(), "1.5000");
        assert_eq!(value.rescale(1).unwrap().to_string(), "1.5");
        assert!(value.rescale(0).is_none());
        assert!(value.rescale(38).is_none());
        assert!(value.rescale(200).is_none());
    }
}
