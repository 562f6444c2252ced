//! The comparison that most pairs of index keys come to: two texts that differ in an ASCII letter
//! or digit first, with nothing but ASCII before. Eight bytes at a time.
//!
//! ```text
//! P000000000000 17      equal, and all of it ASCII
//! P000000000000 3x      the first difference: two digits, so the order of the texts
//! ```
//!
//! Holds for every collation that leaves ASCII letters in their common places, and is not binary;
//! where marks can make letters of their own, only before more ASCII.

use std::cmp::Ordering;

/// Bits that no ASCII text has: of char, and of UTF-16LE.
const HIGH_OF_CHAR: u64 = 0x8080_8080_8080_8080;
const HIGH_OF_NCHAR: u64 = 0xff80_ff80_ff80_ff80;

/// A first difference that is one of letters or digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) ordering: Ordering,
    /// In both texts an ASCII character follows, or nothing.
    pub(super) is_before_ascii: bool,
}

/// Orders two values of char; `None` when something else than the first difference counts.
#[inline]
pub(super) fn compare_char(a: &[u8], b: &[u8]) -> Option<Difference> {
    let at = first_difference(a, b, HIGH_OF_CHAR)?;
    let ordering = compare_letters(*a.get(at)?, *b.get(at)?)?;
    let is_ascii = |text: &[u8]| text.get(at + 1).is_none_or(u8::is_ascii);
    Some(Difference { ordering, is_before_ascii: is_ascii(a) && is_ascii(b) })
}

/// Orders two values of nchar; `None` when something else than the first difference counts.
#[inline]
pub(super) fn compare_nchar(a: &[u8], b: &[u8]) -> Option<Difference> {
    let at = first_difference(a, b, HIGH_OF_NCHAR)?;
    let x = a.get(at..at + 2)?;
    let y = b.get(at..at + 2)?;
    let ordering = match (x, y) {
        ([x, 0], [y, 0]) if at % 2 == 0 => compare_letters(*x, *y)?,
        _ => return None,
    };
    let is_ascii = |text: &[u8]| matches!(text.get(at + 2..at + 4), None | Some([..0x80, 0]));
    Some(Difference { ordering, is_before_ascii: is_ascii(a) && is_ascii(b) })
}

/// The place of the first byte that differs, when there is one and no bit of `high` is set before.
#[inline]
fn first_difference(a: &[u8], b: &[u8], high: u64) -> Option<usize> {
    let words = a.as_chunks::<8>().0;
    let others = b.as_chunks::<8>().0;
    for (at, (word, other)) in words.iter().zip(others).enumerate() {
        let word = u64::from_le_bytes(*word);
        let other = u64::from_le_bytes(*other);
        let same = u64::MAX.unbounded_shl((word ^ other).trailing_zeros() & !7);
        if word & !same & high != 0 {
            return None;
        }
        if word != other {
            return Some(8 * at + (word ^ other).trailing_zeros() as usize / 8);
        }
    }
    // The shorter text has less than eight bytes left.
    let done = 8 * words.len().min(others.len());
    let at = a[done..].iter().zip(&b[done..]).position(|(x, y)| x != y)?;
    let is_ascii =
        |(byte, at): (&u8, usize)| u64::from(*byte) & (high >> (8 * (at % 8))) & 0xff == 0;
    a[done..done + at].iter().zip(0..).all(is_ascii).then_some(done + at)
}

/// The order of two letters or digits; `None` of the same letter in either case, and of anything
/// else.
fn compare_letters(x: u8, y: u8) -> Option<Ordering> {
    let rank = |byte: u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { 0 };
    let x = rank(x);
    let y = rank(y);
    (x != y && x.min(y) > 0).then(|| x.cmp(&y))
}

#[cfg(test)]
mod tests {
    use super::super::Collation;
    use super::super::compare::{Comparison, trim_char, trim_nchar};
    use super::*;

    fn texts() -> Vec<String> {
        let heads = ["", "a", "P0000000", "P00000001", "co-op", "O'Neil 12", "Zürich", "x y"];
        let tails =
            ["", "0", "9", "a", "B", "b", "-", "'", " ", "é", "z99999999", "_", "a-", "\u{7f}"];
        heads
            .iter()
            .flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}")))
            .collect()
    }

    /// What is decided here is what the comparison by weights says.
    #[test]
    fn a_first_difference_decides_as_the_weights_do() {
        let latin = Collation::from_name("Latin1_General_CI_AS").unwrap();
        let sql = Collation::from_name("SQL_Latin1_General_CP1_CI_AS").unwrap();
        let mut decided = 0;
        for (a, b) in texts().iter().flat_map(|a| texts().into_iter().map(move |b| (a.clone(), b)))
        {
            let bytes =
                |text: &str| -> Vec<u8> { text.chars().map(|it| it as u32 as u8).collect() };
            let wide = |text: &str| -> Vec<u8> {
                text.encode_utf16().flat_map(u16::to_le_bytes).collect()
            };
            if let Some(found) = compare_char(&bytes(&a), &bytes(&b)) {
                decided += 1;
                for collation in [latin, sql] {
                    let by_weights = collation
                        .compare_char_by_weights(trim_char(&bytes(&a)), trim_char(&bytes(&b)));
                    assert_eq!(by_weights, Comparison::from(found.ordering), "{a} {b}");
                }
            }
            if let Some(found) = compare_nchar(&wide(&a), &wide(&b)) {
                decided += 1;
                let by_weights =
                    latin.compare_nchar_by_weights(trim_nchar(&wide(&a)), trim_nchar(&wide(&b)));
                assert_eq!(by_weights, Comparison::from(found.ordering), "{a} {b}");
            }
        }
        assert!(decided > 5_000, "{decided}");
    }

    #[test]
    fn what_is_not_a_difference_of_letters_is_left_open() {
        for (a, b) in [("abc", "ABC"), ("a-b", "aXb"), ("a", "ab"), ("a b", "a_b"), ("x", "x")] {
            assert_eq!(compare_char(a.as_bytes(), b.as_bytes()), None, "{a} {b}");
        }
        assert_eq!(compare_char(b"\xe9a", b"\xe9b"), None, "a letter of another code page before");
        assert_eq!(compare_char(b"12345678\xe9a", b"12345678\xe9b"), None);
        assert_eq!(compare_nchar(&[0x61, 0], &[0x61, 1]), None, "another script");
        assert_eq!(compare_nchar(&[0x61, 0, 0x62], &[0x61, 0, 0x63]), None, "half a character");
    }
}
