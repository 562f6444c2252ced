//! The stages of a comparison by weights, and what each collation leaves open.

use super::compare::{Decision, SortKey};
use super::sort_order;
use super::tailoring::Tailoring;
use super::weights::{self, LIGATURE, STROKE, Weight, Weights};
use super::{Collation, CollationVersion};

/// How the strings of one collation and type family are compared.
pub(super) struct Rules {
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
    pub(super) fn for_char(collation: Collation) -> Option<Rules> {
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

    pub(super) fn for_nchar(collation: Collation) -> Option<Rules> {
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

    /// No ASCII letter or pair of letters has a place of its own.
    pub(super) fn has_plain_ascii(&self) -> bool {
        self.tailoring.leaves_ascii_alone()
    }

    fn is_skipped(&self, code: u32) -> bool {
        self.is_word_sort && (code == u32::from(b'-') || code == u32::from(b'\''))
    }

    /// Most comparisons end at the first differing character, both of them ASCII: `None` when this one does not.
    pub(super) fn compare_ascii(
        &self,
        mut a: impl Iterator<Item = u16>,
        mut b: impl Iterator<Item = u16>,
    ) -> Option<Decision> {
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

    pub(super) fn compare(&self, a: &[u32], b: &[u32]) -> Decision {
        let (a, b) = (self.items(a), self.items(b));
        self.compare_primary(&a.primary, &b.primary)
            .or_else(|| self.compare_accents(&a.primary, &b.primary))
            .or_else(|| self.compare_case(&a.primary, &b.primary))
            .unwrap_or_else(|| compare_skipped(&a.skipped, &b.skipped))
    }

    /// `None` when all primary weights are equal.
    fn compare_primary(&self, a: &[Item], b: &[Item]) -> Option<Decision> {
        let is_decisive = |x: &Item, y: &Item| match (x, y) {
            (Item::Known(x), Item::Known(y)) => x.primary != y.primary,
            (x, y) => x != y,
        };
        let common = a.len().min(b.len());
        let at = a.iter().zip(b).position(|(x, y)| is_decisive(x, y)).unwrap_or(common);
        if at == a.len() && at == b.len() {
            return None;
        }
        if self.is_sql_order && !self.is_same_before(&a[..at], &b[..at]) {
            return Some(Decision::Undecided);
        }
        Some(match (a.get(at), b.get(at)) {
            (Some(Item::Known(x)), Some(Item::Known(y)))
                if x.is_symbol() && y.is_symbol() && !self.knows_symbols =>
            {
                Decision::Undecided
            }
            (Some(Item::Known(x)), Some(Item::Known(y))) => x.primary.cmp(&y.primary).into(),
            (None, Some(Item::Known(_))) => Decision::Less,
            (Some(Item::Known(_)), None) => Decision::Greater,
            _ => Decision::Undecided,
        })
    }

    /// Are these items, whose primary weights are equal, the same to a SQL sort order in every respect?
    fn is_same_before(&self, a: &[Item], b: &[Item]) -> bool {
        a.iter().zip(b).all(|pair| match pair {
            (Item::Known(x), Item::Known(y)) => {
                x.accent == y.accent && (x.is_upper == y.is_upper || self.collation.ignores_case())
            }
            (x, y) => x == y,
        })
    }

    /// `None` when accents do not tell the strings apart.
    fn compare_accents(&self, a: &[Item], b: &[Item]) -> Option<Decision> {
        let accents = a.iter().zip(b).filter_map(|pair| match pair {
            (Item::Known(x), Item::Known(y)) => Some((x.accent, y.accent)),
            _ => None,
        });
        let mut differing = accents.filter(|(x, y)| x != y);
        if self.collation.ignores_accents() {
            // Whether ø and æ count as accented when accents are ignored is not certain.
            let is_open = |(x, y): (u8, u8)| x.max(y) >= STROKE;
            return differing.any(is_open).then_some(Decision::Undecided);
        }
        let (x, y) = differing.next()?;
        let is_open = self.tailoring.may_reverse_accents
            || (self.is_sql_order && !self.collation.ignores_case())
            || x.max(y) == LIGATURE;
        Some(match (x, y) {
            _ if is_open => Decision::Undecided,
            (0, _) => Decision::Less,
            (_, 0) => Decision::Greater,
            _ => Decision::Undecided,
        })
    }

    /// `None` when case does not tell the strings apart.
    fn compare_case(&self, a: &[Item], b: &[Item]) -> Option<Decision> {
        let cases = a.iter().zip(b).filter_map(|pair| match pair {
            (Item::Known(x), Item::Known(y)) => Some((x.is_upper, y.is_upper)),
            _ => None,
        });
        let (x, y) = cases.into_iter().find(|(x, y)| x != y)?;
        if self.is_sql_order && (sort_order::prefers_upper_case(self.collation.sort_order())) {
            return Some(Decision::Undecided);
        }
        if self.collation.ignores_case() {
            return None;
        }
        Some(if self.is_sql_order { Decision::Undecided } else { x.cmp(&y).into() })
    }

    pub(super) fn sort_key(&self, codes: &[u32]) -> SortKey {
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

    /// The same of a text of ASCII letters, digits and blanks alone, as most keys are: `None` of any other one.
    pub(super) fn plain_sort_key(&self, text: impl ExactSizeIterator<Item = u16> + Clone) -> Option<SortKey> {
        if !self.tailoring.leaves_ascii_alone() {
            return None;
        }
        let mut key = Vec::with_capacity(text.len() * if self.collation.ignores_case() { 2 } else { 3 } + 4);
        for code in text.clone() {
            key.extend(weights::of_plain(code)?.primary.to_be_bytes());
        }
        let is_order_certain = self.is_case_certain() || key.is_empty();
        key.extend([0, 0, 0]);
        if !self.collation.ignores_case() {
            push_trimmed(text.map(|code| u8::from((0x41..=0x5a).contains(&code))), &mut key);
        }
        key.push(0);
        Some(SortKey { bytes: key, is_order_certain })
    }

    /// Is every comparison that this weight can settle, or tie, known?
    fn is_place_certain(&self, weight: Weight) -> bool {
        let is_accent_certain =
            weight.accent == 0 || (self.collation.ignores_accents() && weight.accent < STROKE);
        self.is_case_certain() && is_accent_certain && (self.knows_symbols || !weight.is_symbol())
    }

    fn is_case_certain(&self) -> bool {
        !self.is_sql_order
            || (self.collation.ignores_case() && !sort_order::prefers_upper_case(self.collation.sort_order()))
    }

    /// Accents, case and skipped characters behind a separator that is below every primary weight.
    fn push_ties(&self, items: &Items, key: &mut Vec<u8>) {
        let known = || {
            items.primary.iter().filter_map(|item| match item {
                Item::Known(weight) => Some(weight),
                Item::Unknown(_) => None,
            })
        };
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

fn compare_skipped(a: &[(usize, u32)], b: &[(usize, u32)]) -> Decision {
    match (a.is_empty(), b.is_empty()) {
        _ if a == b => Decision::Equal,
        (true, false) => Decision::Less,
        (false, true) => Decision::Greater,
        _ => Decision::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 12] = [
        "SQL_Latin1_General_CP1_CI_AS",
        "SQL_Latin1_General_CP1_CS_AS",
        "SQL_Latin1_General_CP1_CI_AI",
        "SQL_Latin1_General_Pref_CP1_CI_AS",
        "Latin1_General_CI_AS",
        "Latin1_General_CS_AS",
        "Latin1_General_100_CS_AI",
        "German_PhoneBook_CI_AS",
        "Traditional_Spanish_CI_AS",
        "Croatian_CI_AS",
        "Turkish_CI_AS",
        "Danish_Norwegian_CS_AS",
    ];

    /// The short way says of all its texts what the long one does.
    #[test]
    fn plain_texts_have_the_key_of_their_weights() {
        let texts =
            ["", "a", "A", "aB c", "x 1Y2", "ZZZ9", "0", " a", "Zuerich AE oe SS", "ll", "ch dz", "lj NJ"];
        let others = ["a-b", "o'n", "é", "_", "\t", "ß", "x\u{100}"];
        let mut plain = 0;
        for name in NAMES {
            let collation = Collation::from_name(name).unwrap();
            for rules in [Rules::for_char(collation), Rules::for_nchar(collation)].into_iter().flatten() {
                for text in texts {
                    let units: Vec<u16> = text.encode_utf16().collect();
                    let codes: Vec<u32> = text.chars().map(u32::from).collect();
                    let Some(key) = rules.plain_sort_key(units.into_iter()) else { continue };
                    assert_eq!(key, rules.sort_key(&codes), "{name} {text}");
                    plain += 1;
                }
                for text in others {
                    let units: Vec<u16> = text.encode_utf16().collect();
                    assert_eq!(rules.plain_sort_key(units.into_iter()), None, "{name} {text}");
                }
            }
        }
        assert!(plain > 100, "{plain}");
    }
}
