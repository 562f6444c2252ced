//! hierarchyid as its text path (`/1/2.1/`), by the bit patterns of [MS-SSCLRT], an open
//! specification of Microsoft.
//!
//! ```text
//! label        prefix   bits of the offset (. = value, 0 and 1 = fixed), then one bit: 1 = '/', 0
//!                       = '.'
//! 0..3         01       ..
//! 4..7         100      ..
//! 8..15        101      ...
//! 16..79       110      ..0.1...
//! 80..1103     1110     ...0...0.1...
//! 1104..5199   11110    .....0...0.1...
//! 5200..       111110   19 bits, 0, 6 bits, 0, 3 bits, 0, 1 bit, 1, 3 bits
//! then         111111   14 bits, 0, 21 bits, 0, 6 bits, 0, 3 bits, 0, 1 bit, 1, 3 bits
//! -8..-1       00111    ...
//! -72..-9      0010     ..0.1...
//! and below, with the patterns of their positive counterparts
//! ```
//!
//! A label followed by `.` is stored one higher than it prints. Zero bits pad the last byte. The
//! root is no bytes.
//!
//! Unverified: no sample contains a hierarchyid. `export` writes the bytes; this text is an extra.

use std::fmt::Write;

/// A prefix, the first label it stands for, and the pattern of the offset: `.` is a bit of the
/// value.
struct Pattern {
    prefix: &'static str,
    first: i64,
    offset: &'static str,
}

const WIDE_32: &str = "...................0......0...0.1...";
const WIDE_48: &str = "..............0.....................0......0...0.1...";
const PATTERNS: [Pattern; 13] = [
    Pattern { prefix: "01", first: 0, offset: ".." },
    Pattern { prefix: "100", first: 4, offset: ".." },
    Pattern { prefix: "101", first: 8, offset: "..." },
    Pattern { prefix: "110", first: 16, offset: "..0.1..." },
    Pattern { prefix: "1110", first: 80, offset: "...0...0.1..." },
    Pattern { prefix: "11110", first: 1_104, offset: ".....0...0.1..." },
    Pattern { prefix: "111110", first: 5_200, offset: WIDE_32 },
    Pattern { prefix: "111111", first: 4_294_972_496, offset: WIDE_48 },
    Pattern { prefix: "00111", first: -8, offset: "..." },
    Pattern { prefix: "0010", first: -72, offset: "..0.1..." },
    Pattern { prefix: "000110", first: -4_168, offset: ".....0...0.1..." },
    Pattern { prefix: "000101", first: -4_294_971_464, offset: WIDE_32 },
    Pattern {
        prefix: "000100",
        first: -281_479_271_682_120,
        offset: WIDE_48,
    },
];

/// Largest stored hierarchyid.
const MAX_BYTES: usize = 892;

/// The path, or `None` when the bytes are no hierarchyid.
#[must_use]
pub fn to_text(bytes: &[u8]) -> Option<String> {
    if bytes.len() > MAX_BYTES {
        return None;
    }
    let mut bits = Bits { bytes, at: 0 };
    let mut path = String::from("/");
    while !bits.is_padding() {
        let label = bits.label()?;
        let ends_level = bits.next()?;
        let (label, separator) = if ends_level { (label, '/') } else { (label - 1, '.') };
        write!(path, "{label}{separator}").ok()?;
    }
    // A path ends with a whole level, and no whole byte is padding.
    let is_whole = path.ends_with('/') && bytes.len() == bits.at.div_ceil(8);
    is_whole.then_some(path)
}

struct Bits<'b> {
    bytes: &'b [u8],
    /// Number of bits read.
    at: usize,
}

impl Bits<'_> {
    fn bit(&self, at: usize) -> Option<bool> {
        self.bytes.get(at / 8).map(|byte| byte >> (7 - at % 8) & 1 == 1)
    }

    fn next(&mut self) -> Option<bool> {
        let bit = self.bit(self.at)?;
        self.at += 1;
        Some(bit)
    }

    /// Are there only zero bits left, and less than a byte of them?
    fn is_padding(&self) -> bool {
        let left = self.bytes.len() * 8 - self.at;
        left < 8 && (self.at..self.bytes.len() * 8).all(|at| self.bit(at) == Some(false))
    }

    fn starts_with(&self, prefix: &str) -> bool {
        prefix
            .bytes()
            .enumerate()
            .all(|(index, expected)| self.bit(self.at + index) == Some(expected == b'1'))
    }

    fn label(&mut self) -> Option<i64> {
        let pattern = PATTERNS.iter().find(|pattern| self.starts_with(pattern.prefix))?;
        self.at += pattern.prefix.len();
        let mut offset = 0i64;
        for kind in pattern.offset.bytes() {
            let bit = self.next()?;
            match kind {
                b'.' => offset = offset << 1 | i64::from(bit),
                fixed if bit != (fixed == b'1') => return None,
                _ => {}
            }
        }
        Some(pattern.first + offset)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn well_known_values_have_their_paths() {
        let cases: [(&[u8], &str); 11] = [
            (&[], "/"),
            (&[0x58], "/1/"),
            (&[0x5A, 0xC0], "/1/1/"),
            (&[0x5B, 0x40], "/1/2/"),
            (&[0x68], "/2/"),
            (&[0x78], "/3/"),
            (&[0x84], "/4/"),
            (&[0x62, 0xC0], "/1.1/"),
            // The two examples of the public specification, and the ends of the second range.
            (&[0b0101_1001, 0b1111_1011, 0b0000_0101, 0b0100_0000], "/1/-2.18/"),
            (&[0x9C], "/7/"),
            (&[0b1010_0010], "/8/"),
        ];
        for (bytes, path) in cases {
            assert_eq!(to_text(bytes).as_deref(), Some(path), "{bytes:02X?}");
        }
    }

    /// The bits of one label, by the same table but written the other way round.
    fn encode(labels: &[(i64, bool)]) -> Vec<u8> {
        let mut bits: Vec<bool> = Vec::new();
        for (label, ends_level) in labels {
            let stored = if *ends_level { *label } else { label + 1 };
            let fits = |pattern: &&Pattern| {
                let width = pattern.offset.bytes().filter(|kind| *kind == b'.').count();
                (pattern.first..pattern.first + (1 << width)).contains(&stored)
            };
            let pattern = PATTERNS.iter().find(fits).unwrap();
            bits.extend(pattern.prefix.bytes().map(|bit| bit == b'1'));
            let mut offset = stored - pattern.first;
            let mut tail: Vec<bool> = Vec::new();
            for kind in pattern.offset.bytes().rev() {
                if kind == b'.' {
                    tail.push(offset & 1 == 1);
                    offset >>= 1;
                } else {
                    tail.push(kind == b'1');
                }
            }
            bits.extend(tail.into_iter().rev());
            bits.push(*ends_level);
        }
        bits.chunks(8)
            .map(|byte| {
                byte.iter().enumerate().fold(0, |all, (at, bit)| all | u8::from(*bit) << (7 - at))
            })
            .collect()
    }

    #[test]
    fn the_ranges_of_labels_touch_without_gaps() {
        let mut ranges: Vec<(i64, i64)> = PATTERNS
            .iter()
            .map(|pattern| {
                let width = pattern.offset.bytes().filter(|kind| *kind == b'.').count();
                (pattern.first, pattern.first + (1 << width))
            })
            .collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ranges:?}");
    }

    #[test]
    fn bytes_that_are_no_path_are_refused() {
        let cases: [&[u8]; 6] = [&[0x00], &[0x58, 0x00], &[0x50], &[0xFF], &[0xC4], &[0x5A]];
        for bytes in cases {
            assert_eq!(to_text(bytes), None, "{bytes:02X?}");
        }
        assert_eq!(to_text(&[0x58; 893]), None);
    }

    proptest! {
        #[test]
        fn labels_of_every_size_decode(labels in proptest::collection::vec(
            (prop_oneof![-20i64..100, -5_000i64..6_000, -5_000_000_000i64..5_000_000_000], any::<bool>()), 1..6)) {
            let mut labels = labels;
            labels.last_mut().unwrap().1 = true;
            let mut path = String::from("/");
            for (label, ends_level) in &labels {
                write!(path, "{label}{}", if *ends_level { '/' } else { '.' }).unwrap();
            }
            prop_assert_eq!(to_text(&encode(&labels)), Some(path));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = to_text(&bytes);
        }
    }
}
