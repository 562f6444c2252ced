//! A text as the order sees it: one weight after the other.
//!
//! ```text
//! longest sequence of the language one letter      c h (Czech)
//! its own entry, else the table    letter, mark, special, ideograph, kana, nothing
//! expansion                        two letters     ß as s s, each looked up again
//! repeat mark                      the letter before, with weights of its own below the primary
//!                                  one
//! ```

use super::data::{self, Class, Doubt, Entry, Generation};
use super::language::{Knowledge, Language};
use super::units::Units;
use super::{Collation, CollationVersion};

/// What compares first: SM and AW, of some East Asian orders DW after them, of ideographs of the
/// default order four bytes. The highest bytes count first, and zeros at the end are no part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Primary(pub(super) u32);

/// A weight of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Letter {
        primary: Primary,
        dw: u8,
        cw: u8,
    },
    /// Is added to the diacritic weight before.
    Mark {
        dw: u8,
    },
    /// Counts last, with its position.
    Special {
        aw: u8,
    },
    Nothing,
}

/// A weight with what it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) weight: Weight,
    pub(super) doubt: Doubt,
    /// Position of its first unit.
    pub(super) start: usize,
    /// Position after its last unit.
    pub(super) end: usize,
}

/// The weights of one collation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weights {
    pub(super) generation: Generation,
    pub(super) language: Language,
    version: CollationVersion,
    /// Nothing is known of the collation.
    is_foreign: bool,
    /// Doubts are asked for.
    has_doubts: bool,
    /// The case weights of kana are compared.
    tells_kana_apart: bool,
    /// Variation selectors count (_VSS), by rules that are not known.
    has_selectors: bool,
}

/// The accent that makes V a W: the first one after none.
const ACCENT_OF_W: u8 = 3;
const HIGH_SURROGATES: std::ops::RangeInclusive<u16> = 0xD800..=0xDBFF;
const SURROGATES: std::ops::RangeInclusive<u16> = 0xD800..=0xDFFF;
const SELECTORS: std::ops::RangeInclusive<u16> = 0xFE00..=0xFE0F;

impl Weights {
    pub(super) fn of(collation: Collation) -> Weights {
        let version = collation.version();
        let generation = Generation::of(collation);
        Weights {
            generation,
            version,
            language: Language::of(collation, generation),
            is_foreign: collation.has_unknown_bits() || collation.lcid().is_none(),
            has_doubts: true,
            tells_kana_apart: collation.compares_case_weights(),
            has_selectors: version == CollationVersion::V140
                && !collation.ignores_variation_selectors(),
        }
    }

    /// The same without doubts.
    pub(super) fn without_doubts(self) -> Weights {
        Weights { has_doubts: false, ..self }
    }

    fn common_entry(&self, unit: u16) -> Entry {
        if self.language.has_w_as_v && matches!(unit, 0x57 | 0x77) {
            return data::entry(self.generation, unit - 1).with_accent(ACCENT_OF_W);
        }
        data::entry(self.generation, unit)
    }

    /// The weight of a unit that is neither an expansion nor a repeat mark.
    fn weight(&self, unit: u16, entry: &Entry) -> Weight {
        if self.version == CollationVersion::V80 && SURROGATES.contains(&unit) {
            return Weight::Nothing;
        }
        if let Some([sm, aw, dw]) = self.language.ideographs.and_then(|order| order.weight(unit)) {
            return self.letter([sm, aw], dw, 2);
        }
        let [high, low] = entry.weight;
        match entry.class {
            Class::Letter | Class::Kana => self.letter([high, low], entry.dw, entry.cw),
            Class::Ideograph => {
                let first = if self.generation == Generation::Win2008 { 0xFD } else { 0xFE };
                let primary = Primary(u32::from_be_bytes([first, 0xFF, high, low]));
                Weight::Letter { primary, dw: entry.dw, cw: entry.cw }
            }
            Class::Mark => Weight::Mark { dw: entry.dw },
            Class::Special => Weight::Special { aw: low },
            Class::Weightless | Class::Repeat | Class::Expansion => Weight::Nothing,
        }
    }

    fn letter(&self, weight: [u8; 2], dw: u8, cw: u8) -> Weight {
        let [sm, aw] = weight;
        let has_third = matches!(sm, 0xC0..=0xF9)
            && self.language.ideographs.is_some_and(|order| order.has_three_bytes);
        let (third, dw) = if has_third { (dw, 2) } else { (0, dw) };
        Weight::Letter {
            primary: Primary(u32::from_be_bytes([sm, aw, third, 0])),
            dw,
            cw,
        }
    }

    fn doubt(&self, unit: u16, entry: &Entry) -> Doubt {
        let is_old = matches!(self.version, CollationVersion::V80 | CollationVersion::V90);
        if self.is_foreign || (self.has_selectors && SELECTORS.contains(&unit)) {
            return Doubt::All;
        }
        let is_doubted_letter = unit < 0x80 && self.language.doubted_letters >> unit & 1 != 0;
        let by_language = match self.language.knowledge {
            _ if is_doubted_letter => Doubt::Position,
            Knowledge::Tables => Doubt::None,
            Knowledge::Ascii if unit >= 0x80 => Doubt::All,
            Knowledge::Nothing if unit >= 0x80 || (unit as u8).is_ascii_alphabetic() => Doubt::All,
            Knowledge::Ascii | Knowledge::Nothing => Doubt::None,
        };
        let by_order = match self.language.ideographs {
            Some(order) if order.weight(unit).is_some() => {
                return by_language.max(self.doubt_of_han(is_old));
            }
            _ => entry.doubt(self.version == CollationVersion::V90),
        };
        let by_kana = match entry.class {
            Class::Kana if self.tells_kana_apart => Doubt::Ties,
            _ => Doubt::None,
        };
        by_language.max(by_order).max(by_kana)
    }

    fn doubt_of_han(&self, is_old: bool) -> Doubt {
        if is_old { Doubt::Position } else { Doubt::None }
    }

    /// How far an entry of the language itself is known: old orders of other scripts are inferred.
    fn doubt_of_own(&self, unit: u16) -> Doubt {
        let is_old = matches!(self.version, CollationVersion::V80 | CollationVersion::V90);
        let is_alphabet = matches!(unit, 0..0x218 | 0x300..0x370 | 0x400..0x460 | 0x1E00..0x1F00);
        match self.language.knowledge {
            _ if self.is_foreign => Doubt::All,
            Knowledge::Tables if !is_old || is_alphabet => Doubt::None,
            _ => Doubt::Position,
        }
    }
}

/// Units that an expansion still has to give: expansions of expansions are at most three deep.
const MAX_PENDING: usize = 8;

/// The elements of a text from some position on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'w, U> {
    weights: &'w Weights,
    text: U,
    at: usize,
    pending: [u16; MAX_PENDING],
    pending_len: usize,
    /// Where the pending units come from.
    source: (usize, usize),
    /// The letter of a sequence that counts twice.
    again: Option<Element>,
    last: Option<Primary>,
}

impl<'w, U: Units> Elements<'w, U> {
    pub(super) fn new(weights: &'w Weights, text: U, at: usize) -> Elements<'w, U> {
        Elements {
            weights,
            text,
            at,
            pending: [0; MAX_PENDING],
            pending_len: 0,
            source: (at, at),
            again: None,
            last: None,
        }
    }

    /// A unit of the text or of an expansion.
    fn unit_element(&mut self, unit: u16) -> Element {
        let own = self.weights.language.tailoring.filter(|tailoring| tailoring.may_know(unit));
        let own = own.and_then(|tailoring| tailoring.single(unit));
        let entry = own.unwrap_or_else(|| self.weights.common_entry(unit));
        let doubt = match own {
            _ if !self.weights.has_doubts => Doubt::None,
            Some(_) => self.weights.doubt_of_own(unit),
            None => self.weights.doubt(unit, &entry),
        };
        let weight = match entry.class {
            Class::Expansion => return self.expand(data::expansion(&entry), doubt),
            Class::Repeat => match self.last {
                Some(primary) => Weight::Letter { primary, dw: entry.dw, cw: entry.cw },
                None => Weight::Nothing,
            },
            _ => self.weights.weight(unit, &entry),
        };
        self.element(weight, doubt)
    }

    fn element(&mut self, weight: Weight, doubt: Doubt) -> Element {
        if let Weight::Letter { primary, .. } = weight {
            self.last = Some(primary);
        }
        Element { weight, doubt, start: self.source.0, end: self.source.1 }
    }

    /// The first of two characters; the second one waits.
    fn expand(&mut self, pair: [u16; 2], doubt: Doubt) -> Element {
        if self.pending_len == MAX_PENDING {
            return self.element(Weight::Nothing, Doubt::All);
        }
        self.pending[self.pending_len] = pair[1];
        self.pending_len += 1;
        let element = self.unit_element(pair[0]);
        Element { doubt: element.doubt.max(doubt), ..element }
    }

    /// A sequence of the language at the current position, and whether it counts twice.
    fn sequence(&mut self, unit: u16) -> Option<Element> {
        let tailoring =
            self.weights.language.tailoring.filter(|tailoring| tailoring.may_know(unit))?;
        let text = self.text;
        let at = self.at;
        let doubled = self.weights.language.doubles_sequences && text.get(at + 1) == Some(unit);
        if doubled && let Some((entry, len)) = tailoring.sequence(|index| text.get(at + 1 + index))
        {
            self.source = (at, at + 1 + len);
            self.at = self.source.1;
            let element = self.element(self.weights.weight(unit, &entry), Doubt::Position);
            self.again = Some(element);
            return Some(element);
        }
        let (entry, len) = tailoring.sequence(|index| text.get(at + index))?;
        self.source = (at, at + len);
        self.at = self.source.1;
        Some(self.element(self.weights.weight(unit, &entry), self.weights.doubt_of_own(unit)))
    }
}

impl<U: Units> Iterator for Elements<'_, U> {
    type Item = Element;

    fn next(&mut self) -> Option<Element> {
        if let Some(element) = self.again.take() {
            return Some(element);
        }
        if self.pending_len > 0 {
            self.pending_len -= 1;
            let unit = self.pending[self.pending_len];
            return Some(self.unit_element(unit));
        }
        let unit = self.text.get(self.at)?;
        if let Some(element) = self.sequence(unit) {
            return Some(element);
        }
        self.source = (self.at, self.at + 1);
        self.at += 1;
        Some(self.unit_element(unit))
    }
}

/// The code point at a position: a pair of surrogates is one.
pub(super) fn code_point(text: impl Units, at: usize) -> u32 {
    let unit = text.unit(at);
    let (high, low) = if HIGH_SURROGATES.contains(&unit) {
        (Some(unit), text.get(at + 1))
    } else {
        (at.checked_sub(1).map(|before| text.unit(before)), Some(unit))
    };
    let pair = [high.unwrap_or(0), low.unwrap_or(0)];
    match char::decode_utf16(pair).next() {
        Some(Ok(character)) if u32::from(character) > 0xFFFF => u32::from(character),
        _ => u32::from(unit),
    }
}
