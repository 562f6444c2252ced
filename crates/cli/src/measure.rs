//! Sizes, rates and durations as people type them, and sizes as they like to read them.
//!
//! | typed | means |
//! | --- | --- |
//! | `64MB`, `1.5GB` | powers of 1000 |
//! | `64MiB`, `1GiB` | powers of 1024 |
//! | `8192` | bytes |
//! | `400MB/s` | a rate |
//! | `90s`, `15m`, `2h`, `1h30m`, `500ms`, `90` | a duration; without a unit, seconds |

use std::num::NonZeroU64;
use std::time::Duration;

/// Units of size.
const SIZES: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];
/// Units of time in milliseconds.
const TIMES: [(&str, u64); 5] =
    [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a size in bytes.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text.trim())?;
    let unit = unit.to_ascii_lowercase();
    let Some((_, factor)) = SIZES.iter().find(|(name, _)| *name == unit) else {
        return Err("a size is written as 64MB, 1GiB or 8192".to_owned());
    };
    scaled(number, *factor)
}

/// Reads a rate in bytes per second.
pub(crate) fn rate(text: &str) -> Result<NonZeroU64, String> {
    let text = text.trim();
    let bytes = size(text.strip_suffix("/s").unwrap_or(text))
        .map_err(|_| "a rate is written as 400MB/s".to_owned())?;
    NonZeroU64::new(bytes).ok_or_else(|| "a rate of nothing would never end".to_owned())
}

/// Reads a duration.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a duration is written as 90s, 15m, 2h or 1h30m".to_owned();
    let mut rest = text.trim();
    let mut total = 0u64;
    if rest.is_empty() {
        return Err(wrong());
    }
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        return scaled(rest, 1000).map(Duration::from_millis);
    }
    while !rest.is_empty() {
        let (number, after_number) = split(rest)?;
        let unit =
            after_number.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after_number.len());
        let (unit, after_number) = after_number.split_at(unit);
        let factor = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
        total = total.checked_add(scaled(number, factor)?).ok_or_else(wrong)?;
        rest = after_number;
    }
    Ok(Duration::from_millis(total))
}

/// The number at the front and what stands after it.
fn split(text: &str) -> Result<(&str, &str), String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    match text.split_at(end) {
        ("", _) => Err(format!("`{text}` does not begin with a number")),
        (number, unit) => Ok((number, unit.trim())),
    }
}

/// A decimal number times a factor, exactly; what is smaller than the unit is cut off.
fn scaled(number: &str, factor: u64) -> Result<u64, String> {
    let wrong = || format!("`{number}` is not a number that fits");
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits =
        |text: &str| if text.is_empty() { Ok(0) } else { text.parse::<u64>().map_err(|_| wrong()) };
    if fraction.len() > 9 || whole.is_empty() || fraction.contains('.') {
        return Err(wrong());
    }
    let parts = 10u128.pow(fraction.len() as u32);
    let value = u128::from(digits(whole)?) * parts + u128::from(digits(fraction)?);
    u64::try_from(value * u128::from(factor) / parts).map_err(|_| wrong())
}

/// A size to read: `3.2 MB`.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(factor, _)| bytes as f64 >= *factor) {
        Some((factor, unit)) => format!("{:.1} {unit}", bytes as f64 / factor),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        let cases = [
            ("64MB", 64_000_000),
            ("1GiB", 1 << 30),
            ("8192", 8192),
            ("1.5 gb", 1_500_000_000),
            ("0.5KiB", 512),
            ("2TiB", 2 << 40),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MB", "64M", "-1MB", "1..5MB", "99999999999999TB", "1e9", ".5MB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_are_sizes_per_second_and_not_zero() {
        assert_eq!(rate("400MB/s").map(NonZeroU64::get), Ok(400_000_000));
        assert_eq!(rate("1GiB").map(NonZeroU64::get), Ok(1 << 30));
        assert!(rate("0").is_err());
        assert!(rate("fast").is_err());
    }

    #[test]
    fn durations_add_up() {
        let cases = [
            ("90s", 90_000),
            ("2h", 7_200_000),
            ("1h30m", 5_400_000),
            ("500ms", 500),
            ("90", 90_000),
            ("1.5m", 90_000),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "h", "2 weeks", "1h30", "-5s", "99999999999999999d"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_shown_in_a_fitting_unit() {
        assert_eq!(bytes_text(512), "512 bytes");
        assert_eq!(bytes_text(3_200_000), "3.2 MB");
    }
}
