//! Characters: where they lie in the bytes, and when two of them are certainly equal.
//!
//! ```text
//! Encoding      bytes of a character
//! SingleByte    1                    char types of code pages 437 … 1258
//! MultiByte     1 if ASCII           double-byte code pages, UTF-8, unknown: anything else is not
//!                                    certain
//! Utf16         2                    nchar types: code units are what functions count
//! Supplementary 2 if no surrogate    nchar types under _SC and version 140, which count code
//!                                    points
//! ```
//!
//! Searching follows the collation. It is certain for binary collations (same code) and for
//! printable ASCII under languages that leave ASCII alone (same letter); the rest is
//! [`EvalError::Characters`].

use extentdb_types::{Collation, SqlType};

use crate::error::{EvalError, EvalResult};
use crate::operator::compare;
use crate::type_facts;

/// Where characters lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// One byte for each character.
    SingleByte,
    /// One to four bytes: double-byte code pages, UTF-8.
    MultiByte,
    /// Units of UTF-16, each of which counts.
    Utf16,
    /// UTF-16 under a collation of supplementary characters.
    Supplementary,
    /// As Supplementary, for statements: pairs of surrogates are counted as one.
    CodePoints,
}

impl Encoding {
    /// Of a text type in a statement, where char types of more bytes per character are widened
    /// first.
    pub fn of_statement(ty: &SqlType) -> Encoding {
        match Encoding::of(ty) {
            Encoding::Supplementary => Encoding::CodePoints,
            other => other,
        }
    }

    /// Number of characters.
    pub(crate) fn characters(self, text: &[u8]) -> usize {
        match self {
            Encoding::CodePoints => {
                let pairs = text.as_chunks::<2>().0;
                pairs.len() - pairs.windows(2).filter(|two| is_pair(two)).count()
            }
            _ => text.len() / self.unit(),
        }
    }

    /// Bytes of the first `count` characters, at most all.
    pub(crate) fn offset(self, text: &[u8], count: usize) -> usize {
        if self != Encoding::CodePoints {
            return count.saturating_mul(self.unit()).min(text.len());
        }
        let mut rest = text.as_chunks::<2>().0;
        let mut at = 0;
        for _ in 0..count {
            let len = match rest {
                [] => break,
                [first, second, ..] if is_pair(&[*first, *second]) => 2,
                _ => 1,
            };
            at += len;
            rest = rest.get(len..).unwrap_or_default();
        }
        at * 2
    }

    /// Of a text type.
    pub fn of(ty: &SqlType) -> Encoding {
        let collation = ty.collation().unwrap_or(Collation::SQL_LATIN1_GENERAL_CP1_CI_AS);
        if type_facts::is_wide_text(ty) {
            return if collation.is_supplementary() {
                Encoding::Supplementary
            } else {
                Encoding::Utf16
            };
        }
        let number =
            collation.code_page().and_then(|page| (!page.is_double_byte()).then(|| page.number()));
        match number.flatten() {
            Some(number) if number != 65001 => Encoding::SingleByte,
            _ => Encoding::MultiByte,
        }
    }

    /// Bytes of a code unit.
    pub fn unit(self) -> usize {
        match self {
            Encoding::SingleByte | Encoding::MultiByte => 1,
            Encoding::Utf16 | Encoding::Supplementary | Encoding::CodePoints => 2,
        }
    }

    /// An error when a character of this text may be more than one unit.
    pub(crate) fn verify_units(self, text: &[u8]) -> EvalResult<()> {
        let is_plain = match self {
            Encoding::SingleByte | Encoding::Utf16 | Encoding::CodePoints => true,
            Encoding::MultiByte => text.is_ascii(),
            Encoding::Supplementary => {
                text.as_chunks::<2>().0.iter().all(|[_, high]| !(0xD8..=0xDF).contains(high))
            }
        };
        if is_plain { Ok(()) } else { Err(EvalError::Characters) }
    }

    /// The text without blanks at its end.
    pub(crate) fn trim_end(self, text: &[u8]) -> usize {
        if self.unit() == 1 {
            return text.iter().rposition(|byte| *byte != b' ').map_or(0, |at| at + 1);
        }
        text.as_chunks::<2>().0.iter().rposition(|pair| pair != b" \0").map_or(0, |at| at * 2 + 2)
    }

    /// Bytes of blanks at the beginning.
    pub(crate) fn leading_blanks(self, text: &[u8]) -> usize {
        if self.unit() == 1 {
            return text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
        }
        text.as_chunks::<2>()
            .0
            .iter()
            .position(|pair| pair != b" \0")
            .map_or(text.len(), |at| at * 2)
    }
}

/// A high surrogate and a low one?
fn is_pair(units: &[[u8; 2]]) -> bool {
    matches!(units, [[_, 0xD8..=0xDB], [_, 0xDC..=0xDF]])
}

/// How a search compares characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are facts of the collation")]
pub enum Fold {
    /// Binary collations: by code.
    Exact,
    /// Printable ASCII letter by letter.
    Ascii {
        ignores_case: bool,
        /// Hyphen and apostrophe may be skipped over.
        is_word_sort: bool,
    },
    /// Character by character, whatever they are; ASCII letters are simply letters where
    /// `has_plain_ascii`.
    Collated { collation: Collation, has_plain_ascii: bool },
}

impl Fold {
    /// For texts of statements.
    pub fn of_statement(collation: Collation, is_wide: bool) -> Fold {
        if collation.is_binary() {
            return Fold::Exact;
        }
        Fold::Collated {
            collation,
            has_plain_ascii: collation.has_plain_ascii(is_wide),
        }
    }

    /// For texts under a collation; `None` when nothing is certain.
    pub fn of(collation: Collation, is_wide: bool) -> Option<Fold> {
        if collation.is_binary() {
            return Some(Fold::Exact);
        }
        collation.has_plain_ascii(is_wide).then(|| Fold::Ascii {
            ignores_case: collation.ignores_case(),
            is_word_sort: is_wide || collation.sort_order() == 0,
        })
    }
}

/// Most comparisons of bytes for one search.
const MAX_WORK: usize = 1 << 32;

/// A text to look for, ready for several searches.
pub(crate) struct Search<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) pattern: &'a [u8],
    unit: usize,
    way: Way,
}

/// When two parts of texts are equal.
#[derive(Debug, Clone, Copy)]
enum Way {
    Exact,
    IgnoreCase,
    Collated { collation: Collation, encoding: Encoding, has_plain_ascii: bool },
}

impl<'a> Search<'a> {
    /// An error when equality of characters is not certain in these texts.
    pub(crate) fn new(
        text: &'a [u8],
        pattern: &'a [u8],
        encoding: Encoding,
        fold: Fold,
    ) -> EvalResult<Search<'a>> {
        let unit = encoding.unit();
        if text.len().saturating_mul(pattern.len().max(1)) > MAX_WORK {
            return Err(EvalError::Space);
        }
        let way = match fold {
            Fold::Exact => {
                encoding.verify_units(text).and_then(|()| encoding.verify_units(pattern))?;
                Way::Exact
            }
            Fold::Collated { collation, has_plain_ascii } => {
                let is_plain =
                    has_plain_ascii && is_printable(text, unit) && is_printable(pattern, unit);
                match is_plain {
                    true if collation.ignores_case() => Way::IgnoreCase,
                    true => Way::Exact,
                    false => Way::Collated { collation, encoding, has_plain_ascii },
                }
            }
            Fold::Ascii { ignores_case, is_word_sort } => {
                let is_certain = is_printable(text, unit) && is_printable(pattern, unit);
                let may_skip =
                    is_word_sort && pattern.len() > unit && (skips(text) || skips(pattern));
                if !is_certain || may_skip {
                    return Err(EvalError::Characters);
                }
                if ignores_case { Way::IgnoreCase } else { Way::Exact }
            }
        };
        Ok(Search { text, pattern, unit, way })
    }

    /// The unit at which the pattern is found, from unit `from` on.
    pub(crate) fn find(&self, from: usize) -> Option<usize> {
        let units = self.text.len() / self.unit;
        let last = units.checked_sub(self.pattern.len() / self.unit)?;
        (from..=last).find(|at| {
            let start = at * self.unit;
            let window = self.text.get(start..start + self.pattern.len()).unwrap_or_default();
            self.is_equal(window)
        })
    }
}

impl Search<'_> {
    fn is_equal(&self, window: &[u8]) -> bool {
        match self.way {
            Way::Exact => window == self.pattern,
            Way::IgnoreCase => window.eq_ignore_ascii_case(self.pattern),
            Way::Collated { collation, encoding, has_plain_ascii } => {
                let mut units = window.chunks(self.unit).zip(self.pattern.chunks(self.unit));
                units.all(|(a, b)| is_same(collation, encoding, has_plain_ascii, a, b))
            }
        }
    }
}

/// Are two characters the same under a collation?
pub(crate) fn is_same(
    collation: Collation,
    encoding: Encoding,
    has_plain_ascii: bool,
    a: &[u8],
    b: &[u8],
) -> bool {
    if a == b {
        return true;
    }
    let is_plain = |text: &[u8]| match text {
        [byte] | [byte, 0] => (b'!'..=b'~').contains(byte),
        _ => false,
    };
    if has_plain_ascii && is_plain(a) && is_plain(b) {
        return collation.ignores_case() && a.eq_ignore_ascii_case(b);
    }
    compare::order_text(collation, encoding, a, b).is_eq()
}

fn skips(text: &[u8]) -> bool {
    text.iter().any(|byte| matches!(byte, b'-' | b'\''))
}

/// Only characters from blank to tilde?
pub(crate) fn is_printable(text: &[u8], unit: usize) -> bool {
    let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
    if unit == 1 {
        return text.iter().all(is_plain);
    }
    let (pairs, rest) = text.as_chunks::<2>();
    rest.is_empty() && pairs.iter().all(|[low, high]| is_plain(low) && *high == 0)
}

/// Are two texts of printable ASCII equal, blanks at the end aside? `None` when they are not plain.
pub(crate) fn plain_equal(
    a: &[u8],
    b: &[u8],
    encoding: Encoding,
    ignores_case: bool,
) -> Option<bool> {
    let a = a.get(..encoding.trim_end(a))?;
    let b = b.get(..encoding.trim_end(b))?;
    if a == b {
        return Some(true);
    }
    let is_plain = is_printable(a, encoding.unit()) && is_printable(b, encoding.unit());
    is_plain.then(|| ignores_case && a.eq_ignore_ascii_case(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQL: Collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;

    fn find(text: &str, pattern: &str, fold: Fold) -> EvalResult<Option<usize>> {
        Search::new(text.as_bytes(), pattern.as_bytes(), Encoding::SingleByte, fold)
            .map(|it| it.find(0))
    }

    #[test]
    fn a_search_follows_the_case_of_its_collation() {
        let insensitive = Fold::of(SQL, false).unwrap();
        assert_eq!(find("Hello", "L", insensitive), Ok(Some(2)));
        assert_eq!(find("Hello", "L", Fold::Exact), Ok(None));
        assert_eq!(find("Hello", "", insensitive), Ok(Some(0)));
        assert_eq!(find("He", "Hello", insensitive), Ok(None));
    }

    #[test]
    fn what_a_word_sort_may_skip_is_left_open() {
        let words = Fold::of(SQL, true).unwrap();
        assert_eq!(find("a-b", "-", words), Ok(Some(1)));
        assert_eq!(find("a-b", "ab", words), Err(EvalError::Characters));
        assert_eq!(find("é", "e", words), Err(EvalError::Characters));
        let turkish = Collation::from_name("Turkish_CI_AS").unwrap();
        assert_eq!(Fold::of(turkish, true), None);
    }

    #[test]
    fn utf16_is_searched_by_whole_units() {
        let text: Vec<u8> = "aĀb".encode_utf16().flat_map(u16::to_le_bytes).collect();
        // Ā is 00 01: its bytes shifted by one look like other characters.
        let pattern = [0x00, 0x00];
        let search = Search::new(&text, &pattern, Encoding::Utf16, Fold::Exact).unwrap();
        assert_eq!(search.find(0), None);
    }
}
