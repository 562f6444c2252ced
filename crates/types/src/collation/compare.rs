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

use super::sort_order;
use super::tailoring::Tailoring;
use super::weights::{self, LIGATURE, STROKE, Weight, Weights};
use super::{Collation, CollationVersion};
use crate::text::{CharDecoder, CodePage};

/// Result of comparing two strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// The first string sorts before the second.
    Less,
    /// Equal to the collation; the bytes may differ.
    Equal,
    /// The first string sorts after the second.
    Greater,
    /// The rules known here do not settle the order.
    Undecided,
}

impl Comparison {
    /// The order; `None` when undecided.
    #[must_use]
    pub fn ordering(self) -> Option<Ordering> {
        match self {
            Comparison::Less => Some(Ordering::Less),
            Comparison::Equal => Some(Ordering::Equal),
            Comparison::Greater => Some(Ordering::Greater),
            Comparison::Undecided => None,
        }
    }
}

impl From<Ordering> for Comparison {
    fn from(ordering: Ordering) -> Comparison {
        match ordering {
            Ordering::Less => Comparison::Less,
            Ordering::Equal => Comparison::Equal,
            Ordering::Greater => Comparison::Greater,
        }
    }
}

/// Bytes that stand for a string in comparisons.
///
/// Equal keys mean strings the collation holds equal, as far as its rules are known here. The byte order of two keys
/// is the collation's order when both are [certain](SortKey::is_order_certain).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SortKey {
    bytes: Vec<u8>,
    is_order_certain: bool,
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
        let (a, b) = (trim_char(a), trim_char(b));
        if a == b {
            return Comparison::Equal;
        }
        if self.is_binary() {
            return compare_units(a.iter().map(|&x| u16::from(x)), b.iter().map(|&x| u16::from(x)));
        }
        let Some(rules) = Rules::for_char(self) else { return Comparison::Undecided };
        let code_page = self.code_page().unwrap_or(CodePage::Unknown);
        rules
            .compare_ascii(a.iter().map(|&x| u16::from(x)), b.iter().map(|&x| u16::from(x)))
            .unwrap_or_else(|| rules.compare(&char_codes(code_page, a), &char_codes(code_page, b)))
    }

    /// Compares two values of nchar, nvarchar or ntext, given as UTF-16LE. A dangling odd byte is ignored.
    #[must_use]
    pub fn compare_nchar(self, a: &[u8], b: &[u8]) -> Comparison {
        let (a, b) = (trim_nchar(a), trim_nchar(b));
        if a == b {
            return Comparison::Equal;
        }
        match (self.is_binary(), self.is_bin2()) {
            (true, true) => compare_bin2(a, b),
            (true, false) => compare_bin(a, b),
            (false, _) => {
                let Some(rules) = Rules::for_nchar(self) else { return Comparison::Undecided };
                rules
                    .compare_ascii(units(a), units(b))
                    .unwrap_or_else(|| rules.compare(&nchar_codes(a), &nchar_codes(b)))
            }
        }
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

    /// The sort key of char, varchar or text.
    #[must_use]
    pub fn sort_key_char(self, text: &[u8]) -> SortKey {
        let text = trim_char(text);
        if self.is_binary() {
            return SortKey { bytes: text.to_vec(), is_order_certain: text.iter().all(|&byte| byte >= b' ') };
        }
        let codes = char_codes(self.code_page().unwrap_or(CodePage::Unknown), text);
        match Rules::for_char(self) {
            Some(rules) => rules.sort_key(&codes),
            None => SortKey { bytes: text.to_vec(), is_order_certain: false },
        }
    }

    /// The sort key of nchar, nvarchar or ntext.
    #[must_use]
    pub fn sort_key_nchar(self, text: &[u8]) -> SortKey {
        let text = trim_nchar(text);
        if self.is_binary() {
            return binary_key(self, text);
        }
        match Rules::for_nchar(self) {
            Some(rules) => rules.sort_key(&nchar_codes(text)),
            None => SortKey { bytes: text.to_vec(), is_order_certain: false },
        }
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

fn units(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    text.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair))
}

/// Compares units of texts without trailing blanks, the shorter one padded with blanks.
fn compare_units(
    mut a: impl Iterator<Item = u16>,
    mut b: impl Iterator<Item = u16>,
) -> Comparison {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Comparison::Equal,
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => return x.cmp(&y).into(),
            (None, Some(y)) => return padded(y, &mut b, Comparison::Less),
            (Some(x), None) => return padded(x, &mut a, Comparison::Greater),
        }
    }
}

/// The longer text goes on with `unit` where the shorter is padded with blanks.
fn padded(unit: u16, rest: &mut impl Iterator<Item = u16>, if_above: Comparison) -> Comparison {
    let blank = u16::from(b' ');
    match std::iter::once(unit).chain(rest).find(|&unit| unit != blank) {
        Some(unit) if unit < blank => Comparison::Undecided,
        Some(_) => if_above,
        None => Comparison::Equal,
    }
}

/// BIN2: code units. Surrogates against U+E000 and above would differ by code point, so that is left open.
fn compare_bin2(a: &[u8], b: &[u8]) -> Comparison {
    let differing = units(a).zip(units(b)).find(|(x, y)| x != y);
    if let Some((x, y)) = differing {
        let (low, high) = (x.min(y), x.max(y));
        if (0xD800..0xE000).contains(&low) && high >= 0xE000 {
            return Comparison::Undecided;
        }
    }
    compare_units(units(a), units(b))
}

/// BIN: the first unit as a number, the rest as bytes.
fn compare_bin(a: &[u8], b: &[u8]) -> Comparison {
    let (a_first, b_first) = (units(a).next(), units(b).next());
    if a_first != b_first {
        return compare_units(a_first.into_iter(), b_first.into_iter());
    }
    // Both texts have whole units, so that padding starts at a unit: its first byte is the blank.
    let rest = |text: &'_ [u8]| text.get(2..).unwrap_or_default().iter().map(|&byte| u16::from(byte)).collect();
    let (a, b): (Vec<u16>, Vec<u16>) = (rest(a), rest(b));
    let common = a.len().min(b.len());
    match a[..common].cmp(&b[..common]) {
        Ordering::Equal => compare_units(a[common..].iter().copied(), b[common..].iter().copied()),
        decided => decided.into(),
    }
}

fn binary_key(collation: Collation, text: &[u8]) -> SortKey {
    let is_plain = |unit: u16| unit >= u16::from(b' ') && unit < 0xD800;
    let bytes = if collation.is_bin2() {
        units(text).flat_map(u16::to_be_bytes).collect()
    } else {
        let first = units(text).next().map(u16::to_be_bytes);
        first.into_iter().flatten().chain(text.iter().skip(2).copied()).collect()
    };
    // A low byte under the blank may sort below padding in BIN.
    let is_order_certain = units(text).all(|unit| is_plain(unit) && (collation.is_bin2() || unit & 0xFF >= 0x20));
    SortKey { bytes, is_order_certain }
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

/// How the strings of one collation and type family are compared.
struct Rules {
    collation: Collation,
    tailoring: Tailoring,
    /// - and ' are skipped at first.
    is_word_sort: bool,
    /// The order among symbols is the one of `weights`.
    knows_symbols: bool,
    /// Accents and case may count before a later primary difference, and ties follow a table of its own.
    is_sql_order: bool,
}

/// One place in the primary order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    Known(Weight),
    Unknown(u32),
}

/// A string taken apart.
#[derive(Default)]
struct Items {
    primary: Vec<Item>,
    /// Place and character of the skipped - and '.
    skipped: Vec<(usize, u32)>,
}

impl Rules {
    fn for_char(collation: Collation) -> Option<Rules> {
        let id = collation.sort_order();
        if id == 0 {
            return Rules::for_nchar(collation);
        }
        let is_known = sort_order::has_common_order(id) && !collation.has_unknown_bits();
        let mut tailoring = Tailoring::of(0x08)?;
        tailoring.has_common_accents = sort_order::knows_accents(id);
        is_known.then_some(Rules {
            collation,
            tailoring,
            is_word_sort: false,
            knows_symbols: false,
            is_sql_order: true,
        })
    }

    fn for_nchar(collation: Collation) -> Option<Rules> {
        if collation.has_unknown_bits() {
            return None;
        }
        let is_new = matches!(collation.version(), CollationVersion::V100 | CollationVersion::V140);
        Some(Rules {
            collation,
            tailoring: Tailoring::of(collation.language())?,
            is_word_sort: true,
            knows_symbols: is_new,
            is_sql_order: false,
        })
    }

    fn is_skipped(&self, code: u32) -> bool {
        self.is_word_sort && (code == u32::from(b'-') || code == u32::from(b'\''))
    }

    /// Most comparisons end at the first differing character, both of them ASCII: `None` when this one does not.
    fn compare_ascii(
        &self,
        mut a: impl Iterator<Item = u16>,
        mut b: impl Iterator<Item = u16>,
    ) -> Option<Comparison> {
        if !self.tailoring.leaves_ascii_alone() {
            return None;
        }
        loop {
            let (x, y) = (u32::from(a.next()?), u32::from(b.next()?));
            if x == y && x < 0x80 {
                continue;
            }
            let (Item::Known(x), Item::Known(y)) = (self.ascii_item(x)?, self.ascii_item(y)?) else {
                return None;
            };
            let is_open = x.primary == y.primary || (x.is_symbol() && y.is_symbol());
            return (!is_open).then(|| x.primary.cmp(&y.primary).into());
        }
    }

    fn ascii_item(&self, code: u32) -> Option<Item> {
        match weights::of(code) {
            Weights::One(weight) if code < 0x80 && !self.is_skipped(code) => Some(Item::Known(weight)),
            _ => None,
        }
    }

    fn items(&self, codes: &[u32]) -> Items {
        let mut items = Items::default();
        for (at, &code) in codes.iter().enumerate() {
            if self.is_skipped(code) {
                items.skipped.push((items.primary.len(), code));
            } else if self.tailoring.is_uncertain(code, codes.get(at + 1).copied()) {
                items.primary.push(Item::Unknown(code));
            } else {
                match weights::of(code) {
                    Weights::One(weight) => items.primary.push(Item::Known(weight)),
                    Weights::Two(first, second) => {
                        items.primary.extend([Item::Known(first), Item::Known(second)]);
                    }
                    Weights::Unknown => items.primary.push(Item::Unknown(code)),
                }
            }
        }
        items
    }

    fn compare(&self, a: &[u32], b: &[u32]) -> Comparison {
        let (a, b) = (self.items(a), self.items(b));
        self.compare_primary(&a.primary, &b.primary)
            .or_else(|| self.compare_accents(&a.primary, &b.primary))
            .or_else(|| self.compare_case(&a.primary, &b.primary))
            .unwrap_or_else(|| compare_skipped(&a.skipped, &b.skipped))
    }

    /// `None` when all primary weights are equal.
    fn compare_primary(&self, a: &[Item], b: &[Item]) -> Option<Comparison> {
        let is_decisive = |x: &Item, y: &Item| match (x, y) {
            (Item::Known(x), Item::Known(y)) => x.primary != y.primary,
            (x, y) => x != y,
        };
        let common = a.len().min(b.len());
        let at = a.iter().zip(b).position(|(x, y)| is_decisive(x, y)).unwrap_or(common);
        if at == a.len() && at == b.len() {
            return None;
        }
        if self.is_sql_order && a[..at] != b[..at] {
            return Some(Comparison::Undecided);
        }
        Some(match (a.get(at), b.get(at)) {
            (Some(Item::Known(x)), Some(Item::Known(y))) if x.is_symbol() && y.is_symbol() && !self.knows_symbols => {
                Comparison::Undecided
            }
            (Some(Item::Known(x)), Some(Item::Known(y))) => x.primary.cmp(&y.primary).into(),
            (None, Some(Item::Known(_))) => Comparison::Less,
            (Some(Item::Known(_)), None) => Comparison::Greater,
            _ => Comparison::Undecided,
        })
    }

    /// `None` when accents do not tell the strings apart.
    fn compare_accents(&self, a: &[Item], b: &[Item]) -> Option<Comparison> {
        let accents = a.iter().zip(b).filter_map(|pair| match pair {
            (Item::Known(x), Item::Known(y)) => Some((x.accent, y.accent)),
            _ => None,
        });
        let mut differing = accents.filter(|(x, y)| x != y);
        if self.collation.ignores_accents() {
            // Whether ø and æ count as accented when accents are ignored is not certain.
            let is_open = |(x, y): (u8, u8)| x.max(y) >= STROKE;
            return differing.any(is_open).then_some(Comparison::Undecided);
        }
        let (x, y) = differing.next()?;
        let is_open = self.tailoring.may_reverse_accents
            || (self.is_sql_order && !self.collation.ignores_case())
            || x.max(y) == LIGATURE;
        Some(match (x, y) {
            _ if is_open => Comparison::Undecided,
            (0, _) => Comparison::Less,
            (_, 0) => Comparison::Greater,
            _ => Comparison::Undecided,
        })
    }

    /// `None` when case does not tell the strings apart.
    fn compare_case(&self, a: &[Item], b: &[Item]) -> Option<Comparison> {
        let cases = a.iter().zip(b).filter_map(|pair| match pair {
            (Item::Known(x), Item::Known(y)) => Some((x.is_upper, y.is_upper)),
            _ => None,
        });
        let (x, y) = cases.into_iter().find(|(x, y)| x != y)?;
        if self.is_sql_order && (sort_order::prefers_upper_case(self.collation.sort_order())) {
            return Some(Comparison::Undecided);
        }
        if self.collation.ignores_case() {
            return None;
        }
        Some(if self.is_sql_order { Comparison::Undecided } else { x.cmp(&y).into() })
    }

    fn sort_key(&self, codes: &[u32]) -> SortKey {
        let items = self.items(codes);
        let mut key = Vec::with_capacity(items.primary.len() * 2 + 4);
        let mut is_order_certain = items.skipped.is_empty();
        for item in &items.primary {
            match item {
                Item::Known(weight) => {
                    key.extend(weight.primary.to_be_bytes());
                    is_order_certain &= self.is_place_certain(*weight);
                }
                Item::Unknown(code) => {
                    key.extend([0xFF, 0xFF]);
                    key.extend(code.to_be_bytes());
                    is_order_certain = false;
                }
            }
        }
        self.push_ties(&items, &mut key);
        SortKey { bytes: key, is_order_certain }
    }

    /// Is every comparison that this weight can settle, or tie, known?
    fn is_place_certain(&self, weight: Weight) -> bool {
        let is_case_certain = !self.is_sql_order
            || (self.collation.ignores_case() && !sort_order::prefers_upper_case(self.collation.sort_order()));
        let is_accent_certain = weight.accent == 0 || (self.collation.ignores_accents() && weight.accent < STROKE);
        is_case_certain && is_accent_certain && (self.knows_symbols || !weight.is_symbol())
    }

    /// Accents, case and skipped characters behind a separator that is below every primary weight.
    fn push_ties(&self, items: &Items, key: &mut Vec<u8>) {
        let known = || items.primary.iter().filter_map(|item| match item {
            Item::Known(weight) => Some(weight),
            Item::Unknown(_) => None,
        });
        key.extend([0, 0]);
        if !self.collation.ignores_accents() {
            push_trimmed(known().map(|weight| weight.accent), key);
        }
        key.push(0);
        if !self.collation.ignores_case() {
            push_trimmed(known().map(|weight| u8::from(weight.is_upper)), key);
        }
        key.push(0);
        for (place, code) in &items.skipped {
            key.extend((*place as u32).to_be_bytes());
            key.extend(code.to_be_bytes());
        }
    }
}

/// Numbers plus one, without the zeros at the end: 0 can then separate the stages.
fn push_trimmed(values: impl Iterator<Item = u8>, key: &mut Vec<u8>) {
    let start = key.len();
    key.extend(values.map(|value| value + 1));
    while key.len() > start && key.last() == Some(&1) {
        key.pop();
    }
}

fn compare_skipped(a: &[(usize, u32)], b: &[(usize, u32)]) -> Comparison {
    match (a.is_empty(), b.is_empty()) {
        _ if a == b => Comparison::Equal,
        (true, false) => Comparison::Less,
        (false, true) => Comparison::Greater,
        _ => Comparison::Undecided,
    }
}
