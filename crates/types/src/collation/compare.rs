//! Comparison of strings as SQL Server's indexes order them, with an honest "undecided".
//!
//! ```text
//! stage 1  primary weights        blank < symbols < digits < letters; - and ' skipped in a word sort
//! stage 2  accents                unless AI; without < with
//! stage 3  case                   unless CI; lower < upper
//! stage 4  skipped - and '        word sort only; without < with
//! ```
//!
//! * Word sort: nchar types under every collation, and char types under Windows collations. String sort: char types
//!   under a SQL sort order.
//! * Trailing blanks never matter.
//! * Stage 1 on Latin text is verified on real index pages. Where a comparison rests on anything else (two different
//!   symbols in tables before version 100, two different accents, letters with a place of their own in the
//!   language, scripts without weights here, ties in a SQL sort order), the answer is [`Comparison::Undecided`]:
//!   the checker then lists the index as not verified instead of reporting a false 2511.
//! * Binary collations: BIN2 compares code units (bytes for char types); BIN compares the first code unit as a number
//!   and the rest byte by byte. A unit below the blank against padding is undecided.

use std::cmp::Ordering;
use std::fmt;

use super::rules::Rules;
use super::{Collation, ascii, binary};
use crate::text::{CharDecoder, CodePage};

/// How two texts compare under a collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The order: total, and that of the sort keys.
    pub ordering: Ordering,
    /// False where the result could depend on a character whose weight is not known for certain.
    pub certain: bool,
}

impl Comparison {
    /// The order; `None` where it is not certain.
    #[must_use]
    pub fn ordering(self) -> Option<Ordering> {
        self.certain.then_some(self.ordering)
    }
}

impl From<Ordering> for Comparison {
    /// A certain comparison.
    fn from(ordering: Ordering) -> Comparison {
        Comparison { ordering, certain: true }
    }
}

/// A character whose weight is not known for certain under a collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UncertainCharacter {
    /// The code point, or the number of an unpaired surrogate. Of a byte that the code page does not know, U+FFFD.
    pub code_point: u32,
}

impl fmt::Display for UncertainCharacter {
    /// `U+4E00 (一)`; without the character where it cannot be printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "U+{:04X}", self.code_point)?;
        match char::from_u32(self.code_point) {
            Some(character) if !character.is_control() => write!(f, " ({character})"),
            _ => Ok(()),
        }
    }
}

/// What the rules known so far say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Less,
    Equal,
    Greater,
    Undecided,
}

impl Decision {
    /// Every order is that of the sort keys; a decision that they contradict is none.
    fn with_order_of_keys(self, by_keys: impl FnOnce() -> Ordering) -> Comparison {
        let ordering = by_keys();
        Comparison { ordering, certain: self == Decision::from(ordering) }
    }
}

impl From<Ordering> for Decision {
    fn from(ordering: Ordering) -> Decision {
        match ordering {
            Ordering::Less => Decision::Less,
            Ordering::Equal => Decision::Equal,
            Ordering::Greater => Decision::Greater,
        }
    }
}

/// Bytes that stand for a string in comparisons.
///
/// Equal keys mean strings the collation holds equal, as far as its rules are known here. The byte order of two keys
/// is the collation's order when both are [certain](SortKey::is_order_certain).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortKey {
    pub(super) bytes: Vec<u8>,
    pub(super) is_order_certain: bool,
}

impl SortKey {
    /// The key.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// May the byte order be taken for the collation's order?
    #[must_use]
    pub fn is_order_certain(&self) -> bool {
        self.is_order_certain
    }
}

impl Collation {
    /// Compares two values of char, varchar or text, given in the collation's code page.
    #[must_use]
    pub fn compare_char(self, a: &[u8], b: &[u8]) -> Comparison {
        let decided = self.decide_char(a, b);
        decided.with_order_of_keys(|| self.sort_key_char(a).bytes.cmp(&self.sort_key_char(b).bytes))
    }

    /// The first character of a char text whose weight is not known for certain.
    #[must_use]
    pub fn uncertain_char(self, text: &[u8]) -> Option<UncertainCharacter> {
        if self.certain_about_char(text) {
            return None;
        }
        let codes = char_codes(self.code_page().unwrap_or(CodePage::Unknown), trim_char(text));
        self.first_uncertain(&codes, Rules::for_char(self))
    }

    /// The first character of a UTF-16LE text whose weight is not known for certain.
    #[must_use]
    pub fn uncertain_nchar(self, text: &[u8]) -> Option<UncertainCharacter> {
        if self.certain_about_nchar(text) {
            return None;
        }
        self.first_uncertain(&nchar_codes(trim_nchar(text)), Rules::for_nchar(self))
    }

    fn first_uncertain(self, codes: &[u32], rules: Option<Rules>) -> Option<UncertainCharacter> {
        let is_uncertain =
            |code: &&u32| rules.as_ref().is_some_and(|rules| !rules.sort_key(&[**code]).is_order_certain);
        let code_point = codes.iter().find(is_uncertain).or(codes.first())?;
        Some(UncertainCharacter { code_point: *code_point })
    }

    fn decide_char(self, a: &[u8], b: &[u8]) -> Decision {
        if let Some(order) = ascii::compare_char(a, b)
            && self.has_plain_ascii(false)
            && !self.is_binary()
        {
            return order.into();
        }
        let (a, b) = (trim_char(a), trim_char(b));
        if a == b {
            return Decision::Equal;
        }
        if self.is_binary() {
            return binary::compare_units(a.iter().map(|&x| u16::from(x)), b.iter().map(|&x| u16::from(x)));
        }
        self.compare_char_by_weights(a, b)
    }

    /// The same by the weights of all characters.
    pub(super) fn compare_char_by_weights(self, a: &[u8], b: &[u8]) -> Decision {
        let Some(rules) = Rules::for_char(self) else { return Decision::Undecided };
        let code_page = self.code_page().unwrap_or(CodePage::Unknown);
        rules
            .compare_ascii(a.iter().map(|&x| u16::from(x)), b.iter().map(|&x| u16::from(x)))
            .unwrap_or_else(|| rules.compare(&char_codes(code_page, a), &char_codes(code_page, b)))
    }

    /// Compares two values of nchar, nvarchar or ntext, given as UTF-16LE. A dangling odd byte is ignored.
    #[must_use]
    pub fn compare_nchar(self, a: &[u8], b: &[u8]) -> Comparison {
        let decided = self.decide_nchar(a, b);
        decided.with_order_of_keys(|| self.sort_key_nchar(a).bytes.cmp(&self.sort_key_nchar(b).bytes))
    }

    fn decide_nchar(self, a: &[u8], b: &[u8]) -> Decision {
        if let Some(order) = ascii::compare_nchar(a, b)
            && self.has_plain_ascii(true)
            && !self.is_binary()
        {
            return order.into();
        }
        let (a, b) = (trim_nchar(a), trim_nchar(b));
        if a == b {
            return Decision::Equal;
        }
        match (self.is_binary(), self.is_bin2()) {
            (true, true) => binary::compare_bin2(a, b),
            (true, false) => binary::compare_bin(a, b),
            (false, _) => self.compare_nchar_by_weights(a, b),
        }
    }

    /// The same by the weights of all characters.
    pub(super) fn compare_nchar_by_weights(self, a: &[u8], b: &[u8]) -> Decision {
        let Some(rules) = Rules::for_nchar(self) else { return Decision::Undecided };
        rules
            .compare_ascii(units(a), units(b))
            .unwrap_or_else(|| rules.compare(&nchar_codes(a), &nchar_codes(b)))
    }

    /// Is the place of this char text known in full, so that comparing it with another such text is decided?
    #[must_use]
    pub fn certain_about_char(self, text: &[u8]) -> bool {
        self.sort_key_char(text).is_order_certain
    }

    /// Is the place of this UTF-16LE text known in full?
    #[must_use]
    pub fn certain_about_nchar(self, text: &[u8]) -> bool {
        self.sort_key_nchar(text).is_order_certain
    }

    /// Are two texts of printable ASCII equal exactly when their characters are, one by one, under this collation?
    /// (Case aside, where the collation ignores it.) True of binary collations, too.
    #[must_use]
    pub fn has_plain_ascii(self, is_nchar: bool) -> bool {
        let rules = if is_nchar { Rules::for_nchar(self) } else { Rules::for_char(self) };
        self.is_binary() || rules.is_some_and(|rules| rules.has_plain_ascii())
    }

    /// The sort key of char, varchar or text.
    #[must_use]
    pub fn sort_key_char(self, text: &[u8]) -> SortKey {
        let text = trim_char(text);
        if self.is_binary() {
            return SortKey { bytes: text.to_vec(), is_order_certain: text.iter().all(|&byte| byte >= b' ') };
        }
        let Some(rules) = Rules::for_char(self) else {
            return SortKey { bytes: text.to_vec(), is_order_certain: false };
        };
        rules.plain_sort_key(text.iter().map(|&byte| u16::from(byte))).unwrap_or_else(|| {
            rules.sort_key(&char_codes(self.code_page().unwrap_or(CodePage::Unknown), text))
        })
    }

    /// The sort key of nchar, nvarchar or ntext.
    #[must_use]
    pub fn sort_key_nchar(self, text: &[u8]) -> SortKey {
        let text = trim_nchar(text);
        if self.is_binary() {
            return binary::sort_key(self, text);
        }
        let Some(rules) = Rules::for_nchar(self) else {
            return SortKey { bytes: text.to_vec(), is_order_certain: false };
        };
        rules.plain_sort_key(units(text)).unwrap_or_else(|| rules.sort_key(&nchar_codes(text)))
    }
}

fn trim_char(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1);
    &text[..end]
}

fn trim_nchar(text: &[u8]) -> &[u8] {
    let (pairs, _) = text.as_chunks::<2>();
    let end = pairs.iter().rposition(|pair| pair != b" \0").map_or(0, |at| at + 1);
    &text[..end * 2]
}

/// The code units of UTF-16LE bytes.
pub(super) fn units(text: &[u8]) -> impl ExactSizeIterator<Item = u16> + Clone + '_ {
    text.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair))
}

/// Code points of char text; what the code page cannot say becomes a number no weight knows.
fn char_codes(code_page: CodePage, text: &[u8]) -> Vec<u32> {
    if text.is_ascii() {
        return text.iter().map(|&byte| u32::from(byte)).collect();
    }
    let mut decoded = String::new();
    let mut decoder = CharDecoder::new(code_page);
    decoder.push(text, &mut decoded);
    decoder.finish(&mut decoded);
    decoded.chars().map(u32::from).collect()
}

/// Code points of UTF-16; an unpaired surrogate keeps its number.
fn nchar_codes(text: &[u8]) -> Vec<u32> {
    char::decode_utf16(units(text))
        .map(|code| code.map_or_else(|unpaired| u32::from(unpaired.unpaired_surrogate()), u32::from))
        .collect()
}
