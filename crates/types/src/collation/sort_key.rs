//! Sort keys: bytes that compare as texts do.
//!
//! ```text
//! primary weights    2, 3 or 4 bytes each, none of them beginning another one
//! 01  diacritic weights    unless AI       a weight w is w + 1; 0 and 1 are 02 02 and 02 03; 254
//!                                          and 255 are ff 02 and ff 03
//! 01  case weights         CS, KS or WS    the same
//! 01  specials             position in four digits of 254 values, from 02 on; weight
//! ```
//!
//! 01s at the end are left out. No byte is 0, and none but the separators 1, but for orders of
//! bytes (BIN).

use super::compare::{Levels, PLAIN, trim_char, trim_nchar};
use super::data::{ASCII, Generation};
use super::elements::{Elements, Primary, Weight, Weights};
use super::language::PlainAscii;
use super::sql_order::SqlOrder;
use super::units::{Half, Narrow, Units, Wide, decode};
use super::{Collation, binary};

/// Bytes that stand for a text: they compare as texts do, and are the same for equal texts and for
/// no others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey {
    bytes: Vec<u8>,
}

impl SortKey {
    pub(super) fn new(bytes: Vec<u8>) -> SortKey {
        SortKey { bytes }
    }

    /// Bytes that compare as the texts do.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

pub(super) const SEPARATOR: u8 = 1;
/// The case weight of an upper-case ASCII letter.
const UPPER: u8 = 18;

impl Collation {
    /// The sort key of char, varchar or text.
    #[must_use]
    pub fn sort_key_char(self, text: &[u8]) -> SortKey {
        let text = trim_char(text);
        if self.is_binary() {
            return SortKey::new(text.to_vec());
        }
        if let Some(order) = SqlOrder::of(self) {
            return order.sort_key(text);
        }
        if let Some(key) = self.plain_key(Narrow(text)) {
            return key;
        }
        let code_page = self.units_code_page();
        match Half::of(code_page) {
            Some(half) => self.sort_key_of_units(half.text(text)),
            None => self.sort_key_of_units(decode(code_page, text).as_slice()),
        }
    }

    /// The sort key of nchar, nvarchar or ntext.
    #[must_use]
    pub fn sort_key_nchar(self, text: &[u8]) -> SortKey {
        let text = trim_nchar(text);
        if self.is_binary() {
            return binary::sort_key_nchar(self, text);
        }
        let text = Wide(text.as_chunks().0);
        self.plain_key(text).unwrap_or_else(|| self.sort_key_of_units(text))
    }

    fn sort_key_of_units(self, text: impl Units) -> SortKey {
        let weights = Weights::of(self).without_doubts();
        let levels = Levels::of(self, &weights);
        SortKey::new(KeyLevels::of(&weights, levels, text).key(levels))
    }

    /// The key of a text of plain ASCII characters, whose primary weights have two bytes; `None` of
    /// any other text.
    fn plain_key(self, text: impl Units) -> Option<SortKey> {
        let weights = &ASCII[Generation::of(self) as usize];
        let exceptions = PlainAscii::exceptions(self);
        let is_common = |unit: u16| exceptions == 0 || exceptions >> unit & 1 == 0;
        let len = text.len();
        let upper = self.upper();
        let mut key = Vec::with_capacity(2 * len + if upper == PLAIN { 0 } else { len + 2 });
        key.resize(2 * len, 0);
        for (at, slot) in key.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let unit = text.unit(at);
            *slot = *weights
                .get(usize::from(unit))
                .filter(|weight| weight[0] != 0 && is_common(unit))?;
        }
        if upper != PLAIN {
            push_upper(upper, text, &mut key);
        }
        Some(SortKey::new(key))
    }

    /// The case weight of upper-case ASCII letters, as far as it counts.
    fn upper(self) -> u8 {
        if self.ignores_case() { PLAIN } else { UPPER }
    }
}

/// Appends the case weights of a text of plain ASCII characters.
fn push_upper(upper: u8, text: impl Units, key: &mut Vec<u8>) {
    let is_upper = |at: usize| matches!(text.unit(at), 0x41..=0x5A);
    let end = key.len();
    key.extend([SEPARATOR, SEPARATOR]);
    key.extend((0..text.len()).map(|at| 1 + if is_upper(at) { upper } else { PLAIN }));
    let last = key[end..].iter().rposition(|byte| *byte == 1 + upper);
    key.truncate(last.map_or(end, |last| end + last + 1));
}

/// The levels of a key, gathered in one walk over the text.
struct KeyLevels {
    primary: Vec<u8>,
    accents: Vec<u8>,
    cases: Vec<u8>,
    /// Number of letters before each special, and its weight.
    specials: Vec<(u32, u8)>,
}

impl KeyLevels {
    /// Lists of weights are filled up to the last one that is not plain only.
    fn of(weights: &Weights, levels: Levels, text: impl Units) -> KeyLevels {
        let primary = Vec::with_capacity(3 * text.len() + 4);
        let mut parts = KeyLevels {
            primary,
            accents: Vec::new(),
            cases: Vec::new(),
            specials: Vec::new(),
        };
        // Diacritic weights are one more than letters when a mark comes first.
        let mut accents = 0;
        let mut letters = 0;
        for element in Elements::new(weights, text, 0) {
            match element.weight {
                Weight::Letter { primary: Primary(primary), dw, cw } => {
                    let len = 4 - primary.trailing_zeros() as usize / 8;
                    parts.primary.extend_from_slice(&primary.to_be_bytes()[..len]);
                    put(&mut parts.accents, accents, dw);
                    accents += 1;
                    if let Some(mask) = levels.case_mask {
                        put(&mut parts.cases, letters, cw & mask);
                    }
                    letters += 1;
                }
                Weight::Mark { dw } => {
                    let is_alone = accents == 0;
                    accents = accents.max(1);
                    let known = parts.accents.get(accents - 1).copied();
                    let before = if is_alone { 0 } else { known.unwrap_or(PLAIN) };
                    put(&mut parts.accents, accents - 1, before.wrapping_add(dw));
                }
                Weight::Special { aw } => parts.specials.push((letters as u32, aw)),
                Weight::Nothing => {}
            }
        }
        if levels.reverses_accents {
            parts.accents.resize(accents, PLAIN);
        }
        parts
    }

    fn key(self, levels: Levels) -> Vec<u8> {
        let mut key = self.primary;
        key.push(SEPARATOR);
        match levels {
            Levels { has_accents: false, .. } => {}
            Levels { reverses_accents: true, .. } => {
                push_list(self.accents.into_iter().rev(), &mut key)
            }
            _ => push_list(self.accents.into_iter(), &mut key),
        }
        key.push(SEPARATOR);
        push_list(self.cases.into_iter(), &mut key);
        key.push(SEPARATOR);
        for (position, weight) in self.specials {
            let digit = |power: u32| 2 + (position / 254u32.pow(power) % 254) as u8;
            key.extend([digit(3), digit(2), digit(1), digit(0)]);
            push_weight(weight, &mut key);
        }
        trim(&mut key);
        key
    }
}

/// Sets a weight of a list that ends with its last weight that is not plain.
fn put(list: &mut Vec<u8>, at: usize, weight: u8) {
    match list.get_mut(at) {
        Some(known) => *known = weight,
        None if weight == PLAIN => {}
        None => {
            list.resize(at, PLAIN);
            list.push(weight);
        }
    }
}

/// Weights without the plain ones at the end.
pub(super) fn push_list(weights: impl Iterator<Item = u8>, key: &mut Vec<u8>) {
    let mut end = key.len();
    for weight in weights {
        push_weight(weight, key);
        if weight != PLAIN {
            end = key.len();
        }
    }
    key.truncate(end);
}

/// One byte or two, in the order of the weights, none below 2.
pub(super) fn push_weight(weight: u8, key: &mut Vec<u8>) {
    match weight {
        0 | 1 => key.extend([2, 2 + weight]),
        254 | 255 => key.extend([255, weight - 252]),
        _ => key.push(weight + 1),
    }
}

/// Removes the separators at the end.
pub(super) fn trim(key: &mut Vec<u8>) {
    while key.last() == Some(&SEPARATOR) {
        key.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_one_byte_keep_their_order() {
        let key = |weight: u8| {
            let mut key = Vec::new();
            push_weight(weight, &mut key);
            key
        };
        for weight in 0..255 {
            assert!(key(weight) < key(weight + 1), "{weight}");
            assert!(key(weight).iter().all(|byte| *byte > SEPARATOR));
        }
    }
}
