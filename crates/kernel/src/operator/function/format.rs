//! FORMAT: the format strings of .NET in the culture en-US.
//!
//! ```text
//! numbers  C D E F G N P R X with a precision; or a custom pattern of 0 # . , % ‰ E0 ; '…'
//! dates    d D f F g G m o r s t T u U y; or a custom pattern of y M d H h m s f F t z K '…'
//! ```
//!
//! A format that does not fit its value gives NULL.

use crate::error::EvalResult;
use crate::operator::row::{Call, Cell, Outcome, first};
use crate::operator::{codec, moment};
use crate::type_facts;

mod date;
mod number;
mod section;

use number::Number;

/// FORMAT: the value, the pattern.
pub fn format(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, pattern] = first::<2>(cells);
    let pattern = codec::decode(call.ty(1), pattern.bytes()).into_owned();
    let ty = call.ty(0);
    let text = if type_facts::is_temporal(ty) {
        date::format(ty, moment::read(ty, value)?, &pattern)
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

#[cfg(test)]
mod tests {
    use extentdb_types::SqlType;

    use super::*;
    use crate::calendar::{self, SECOND};
    use crate::operator::moment::Local;

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
        assert_eq!(number::plain("1.0e-3"), Some("0.001".to_owned()));
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
            assert_eq!(date::format(&ty, local, pattern).as_deref(), Some(expected), "{pattern}");
        }
        let offset = SqlType::DateTimeOffset { scale: 7 };
        assert_eq!(date::format(&offset, local, "HH:mm zzz").as_deref(), Some("15:04 +02:00"));
        let time = SqlType::Time { scale: 7 };
        assert_eq!(date::format(&time, local, "hh:mm"), None, "not escaped");
        assert_eq!(date::format(&time, local, r"hh\:mm").as_deref(), Some("15:04"));
    }
}
