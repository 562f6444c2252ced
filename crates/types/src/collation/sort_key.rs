//! Sort keys: bytes that compare as texts do.
//!
//! ```text
//! primary weights    2, 3 or 4 bytes each, none of them beginning another one
//! 01  diacritic weights    unless AI       a weight w is w + 1; 0 and 1 are 02 02 and 02 03; 254 and 255 are ff 02 and ff 03
//! 01  case weights         CS, KS or WS    the same
//! 01  specials             position in four digits of 254 values, from 02 on; weight
//! ```
//!
//! 01s at the end are left out. No byte is 0, and none but the separators 1, but for orders of bytes (BIN).

use super::compare::{Accents, Levels, PLAIN, cases, specials, trim_char, trim_nchar};
use super::data::ASCII;
use super::elements::{Elements, Weight, Weights};
use super::sql_order::SqlOrder;
use super::units::{Half, Units, Wide, decode};
use super::{Collation, binary};

/// Bytes that stand for a text: they compare as texts do, and are the same for equal texts and for no others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortKey {
    bytes: Vec<u8>,
}

impl SortKey {
    pub(super) fn new(bytes: Vec<u8>) -> SortKey {
        SortKey { bytes }
    }

    /// The key.
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
        self.sort_key_of_units(Wide(text.as_chunks().0))
    }

    fn sort_key_of_units(self, text: impl Units) -> SortKey {
        let weights = Weights::of(self);
        let levels = Levels::of(self, &weights);
        let mut key = Vec::with_capacity(2 * text.len() + 4);
        if push_plain(&weights, levels, text, &mut key) {
            return SortKey::new(key);
        }
        key.clear();
        push_levels(&weights, levels, text, &mut key);
        SortKey::new(key)
    }
}

/// Appends the key of a text of plain ASCII characters; false of any other text.
fn push_plain(weights: &Weights, levels: Levels, text: impl Units, key: &mut Vec<u8>) -> bool {
    let table = &ASCII[weights.generation as usize];
    let filter = weights.language.ascii();
    for at in 0..text.len() {
        let unit = usize::from(text.unit(at));
        match table.get(unit) {
            Some(&weight) if weight != [0; 2] && filter >> unit & 1 == 0 => key.extend_from_slice(&weight),
            _ => return false,
        }
    }
    let upper = UPPER & levels.case_mask.unwrap_or(PLAIN);
    if upper != PLAIN {
        let is_upper = |at: usize| matches!(text.unit(at), 0x41..=0x5A);
        key.extend([SEPARATOR, SEPARATOR]);
        push_list((0..text.len()).map(|at| if is_upper(at) { upper } else { PLAIN }), key);
        trim(key);
    }
    true
}

fn push_levels(weights: &Weights, levels: Levels, text: impl Units, key: &mut Vec<u8>) {
    let elements = Elements::new(weights, text, 0);
    let mut is_plain = true;
    for element in elements {
        match element.weight {
            Weight::Letter { primary, dw, .. } => {
                key.extend(primary.0.to_be_bytes().into_iter().take_while(|byte| *byte != 0));
                is_plain &= dw == PLAIN;
            }
            Weight::Mark { .. } | Weight::Special { .. } => is_plain = false,
            Weight::Nothing => {}
        }
    }
    if is_plain && levels.case_mask.is_none() {
        return;
    }
    key.push(SEPARATOR);
    if levels.has_accents {
        push_accents(levels, elements, key);
    }
    key.push(SEPARATOR);
    if let Some(mask) = levels.case_mask {
        push_list(cases(elements, mask), key);
    }
    key.push(SEPARATOR);
    for (position, weight) in specials(elements) {
        let digit = |power: u32| 2 + (position / 254u32.pow(power) % 254) as u8;
        key.extend([digit(3), digit(2), digit(1), digit(0)]);
        push_weight(weight, key);
    }
    trim(key);
}

fn push_accents<U: Units>(levels: Levels, elements: Elements<'_, U>, key: &mut Vec<u8>) {
    let accents = Accents::new(elements);
    if levels.reverses_accents {
        push_list(accents.collect::<Vec<u8>>().into_iter().rev(), key);
    } else {
        push_list(accents, key);
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
