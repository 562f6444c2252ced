//! money and smallmoney: integers of 1/10000.

use std::fmt;

/// money: i64 in 1/10000. Prints with four decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(pub i64);

/// smallmoney: i32 in 1/10000. Prints with four decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmallMoney(pub i32);

impl From<SmallMoney> for Money {
    fn from(value: SmallMoney) -> Money {
        Money(i64::from(value.0))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:04}", magnitude / 10_000, magnitude % 10_000)
    }
}

impl fmt::Display for SmallMoney {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Money::from(*self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_prints_four_decimals_and_its_extremes() {
        let cases = [
            (0, "0.0000"),
            (1, "0.0001"),
            (-1, "-0.0001"),
            (123_456, "12.3456"),
            (-9_999, "-0.9999"),
            (i64::MAX, "922337203685477.5807"),
            (i64::MIN, "-922337203685477.5808"),
        ];
        for (value, text) in cases {
            assert_eq!(Money(value).to_string(), text);
        }
        assert_eq!(SmallMoney(i32::MIN).to_string(), "-214748.3648");
    }
}
