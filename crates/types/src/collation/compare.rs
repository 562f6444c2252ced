//! The order of texts: total, and the same for comparisons and for sort keys.
//!
//! ```text
//! level 1  primary weights       all of them; a prefix is less
//! level 2  diacritic weights     unless AI; trailing 2s do not count; French from the end
//! level 3  case weights          CS, WS or KS, under a mask; trailing 2s do not count
//! level 4  specials: - ' dashes  position among the primary weights, then weight; none before some
//! ```
//!
//! * Word sort: nchar types under every collation, and char types under Windows collations. Char
//!   types under a SQL sort order have an order of their own: see `sql_order`. Binary collations:
//!   see `binary`.
//! * Trailing blanks never matter.
//! * A comparison is certain when nothing doubted could change it. A doubted character does not
//!   matter where both texts have it, all before being the same, nor after the primary difference
//!   that decides.

use std::cmp::Ordering;
use std::fmt;

use super::data::Doubt;
use super::elements::{Element, Elements, Primary, Weight, Weights, code_point};
use super::language::PlainAscii;
use super::sql_order::SqlOrder;
use super::units::{Half, Units, Wide, common, decode};
use super::{Collation, ascii, binary};
use crate::text::CodePage;

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
    /// The code point, or the number of an unpaired surrogate. Of a byte that the code page does
    /// not know, U+FFFD.
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

/// Which weights a collation compares, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels {
    pub(super) has_accents: bool,
    pub(super) reverses_accents: bool,
    /// Bits of a case weight that count; `None` when none does.
    pub(super) case_mask: Option<u8>,
}

/// Bits of a case weight.
const CASE_BITS: u8 = 0x18;
const WIDTH_BIT: u8 = 0x01;
const KANA_BIT: u8 = 0x20;

impl Levels {
    pub(super) fn of(collation: Collation, weights: &Weights) -> Levels {
        let ignored = |is_ignored: bool, bits: u8| if is_ignored { bits } else { 0 };
        let mask = !(ignored(collation.ignores_case(), CASE_BITS)
            | ignored(collation.ignores_width(), WIDTH_BIT)
            | ignored(collation.ignores_kana(), KANA_BIT));
        Levels {
            has_accents: !collation.ignores_accents(),
            reverses_accents: weights.language.reverses_accents,
            case_mask: collation.compares_case_weights().then_some(mask),
        }
    }
}

impl Collation {
    /// Compares two values of char, varchar or text, given in the collation's code page.
    #[must_use]
    pub fn compare_char(self, a: &[u8], b: &[u8]) -> Comparison {
        if self.is_binary() {
            return binary::compare_char(self, trim_char(a), trim_char(b));
        }
        if let Some(difference) = ascii::compare_char(a, b)
            && self.is_decided_by(difference.is_before_ascii, false)
        {
            return difference.ordering.into();
        }
        self.compare_char_by_weights(trim_char(a), trim_char(b))
    }

    /// The same by the weights of all characters, of texts without trailing blanks.
    pub(super) fn compare_char_by_weights(self, a: &[u8], b: &[u8]) -> Comparison {
        if let Some(order) = SqlOrder::of(self) {
            return order.compare(a, b);
        }
        let code_page = self.units_code_page();
        match Half::of(code_page) {
            Some(half) => self.compare_units(half.text(a), half.text(b)),
            None => {
                let [a, b] = [a, b].map(|text| decode(code_page, text));
                self.compare_units(a.as_slice(), b.as_slice())
            }
        }
    }

    /// Compares two values of nchar, nvarchar or ntext, given as UTF-16LE. A dangling odd byte is
    /// ignored.
    #[must_use]
    pub fn compare_nchar(self, a: &[u8], b: &[u8]) -> Comparison {
        if self.is_binary() {
            return binary::compare_nchar(self, trim_nchar(a), trim_nchar(b));
        }
        if let Some(difference) = ascii::compare_nchar(a, b)
            && self.is_decided_by(difference.is_before_ascii, true)
        {
            return difference.ordering.into();
        }
        self.compare_nchar_by_weights(trim_nchar(a), trim_nchar(b))
    }

    /// The same by the weights of all characters, of texts without trailing blanks.
    pub(super) fn compare_nchar_by_weights(self, a: &[u8], b: &[u8]) -> Comparison {
        self.compare_units(Wide(a.as_chunks().0), Wide(b.as_chunks().0))
    }

    fn compare_units<U: Units>(self, a: U, b: U) -> Comparison {
        let same = common(a, b);
        if same == a.len() && same == b.len() {
            return Ordering::Equal.into();
        }
        let weights = Weights::of(self);
        let levels = Levels::of(self, &weights);
        Texts::new(&weights, a, b, same).compare(levels)
    }

    /// The first character of a char text whose weight is not known for certain under this
    /// collation.
    #[must_use]
    pub fn uncertain_char(self, text: &[u8]) -> Option<UncertainCharacter> {
        let text = trim_char(text);
        if self.is_binary() {
            return binary::uncertain_char(self, text);
        }
        if let Some(order) = SqlOrder::of(self) {
            return order.uncertain(text);
        }
        let code_page = self.units_code_page();
        match Half::of(code_page) {
            Some(half) => self.uncertain_unit(half.text(text)),
            None => self.uncertain_unit(decode(code_page, text).as_slice()),
        }
    }

    /// The first character of a UTF-16LE text whose weight is not known for certain under this
    /// collation.
    #[must_use]
    pub fn uncertain_nchar(self, text: &[u8]) -> Option<UncertainCharacter> {
        let text = trim_nchar(text);
        if self.is_binary() {
            return binary::uncertain_nchar(self, text);
        }
        self.uncertain_unit(Wide(text.as_chunks().0))
    }

    fn uncertain_unit(self, text: impl Units) -> Option<UncertainCharacter> {
        let weights = Weights::of(self);
        let uncertain =
            Elements::new(&weights, text, 0).find(|element| element.doubt > Doubt::None)?;
        Some(UncertainCharacter { code_point: code_point(text, uncertain.start) })
    }

    /// Are two texts of printable ASCII equal exactly when their characters are, one by one, under
    /// this collation? (Case aside, where the collation ignores it.) True of binary collations,
    /// too.
    #[must_use]
    pub fn has_plain_ascii(self, is_nchar: bool) -> bool {
        if self.is_binary() {
            return true;
        }
        if self.sort_order() != 0 && !is_nchar {
            return SqlOrder::has_plain_ascii(self);
        }
        PlainAscii::of(self) != PlainAscii::Never
    }

    /// Does the first difference of two texts decide, when it is one of ASCII letters or digits
    /// after nothing but ASCII?
    #[inline]
    fn is_decided_by(self, is_before_ascii: bool, is_nchar: bool) -> bool {
        if self.sort_order() != 0 && !is_nchar {
            return SqlOrder::has_plain_ascii(self);
        }
        match PlainAscii::of(self) {
            PlainAscii::Always => true,
            PlainAscii::BeforeAscii => is_before_ascii,
            PlainAscii::Never => false,
        }
    }

    /// The code page in which char text is read for its order.
    pub(super) fn units_code_page(self) -> CodePage {
        self.code_page().unwrap_or(CodePage::Unknown)
    }
}

/// Two texts that differ, and where their comparison begins.
struct Texts<'w, U> {
    weights: &'w Weights,
    a: U,
    b: U,
    /// Units that both begin with.
    same: usize,
    /// From here on the weights are compared: those before are the same.
    start: usize,
}

impl<'w, U: Units> Texts<'w, U> {
    fn new(weights: &'w Weights, a: U, b: U, same: usize) -> Texts<'w, U> {
        let start = if is_plain_before(weights, a, same) { same - 1 } else { 0 };
        Texts { weights, a, b, same, start }
    }

    fn of_a(&self) -> Elements<'w, U> {
        Elements::new(self.weights, self.a, self.start)
    }

    fn of_b(&self) -> Elements<'w, U> {
        Elements::new(self.weights, self.b, self.start)
    }

    fn compare(&self, levels: Levels) -> Comparison {
        let mut doubt = Doubt::None;
        if let Some(decided) = self.compare_primary(&mut doubt) {
            return decided;
        }
        let is_known = doubt == Doubt::None;
        if levels.has_accents {
            let (ordering, is_direction_known) = self.compare_accents(levels);
            if ordering.is_ne() {
                return Comparison { ordering, certain: is_known && is_direction_known };
            }
        }
        let by_case = levels.case_mask.map_or(Ordering::Equal, |mask| {
            compare_lists(cases(self.of_a(), mask), cases(self.of_b(), mask))
        });
        let ordering = by_case.then_with(|| specials(self.of_a()).cmp(specials(self.of_b())));
        Comparison { ordering, certain: is_known }
    }

    /// `None` when all primary weights are the same. `met` is the greatest doubt met before the
    /// deciding weights.
    fn compare_primary(&self, met: &mut Doubt) -> Option<Comparison> {
        let mut a = self.of_a();
        let mut b = self.of_b();
        loop {
            let x = self.next_letter(&mut a, met);
            let y = self.next_letter(&mut b, met);
            let (ordering, is_known) = match (x, y) {
                (None, None) => return None,
                (Some((x, of_x)), Some((y, of_y))) if x == y => {
                    *met = of_x.max(of_y).max(*met);
                    continue;
                }
                (Some((x, of_x)), Some((y, of_y))) => (x.cmp(&y), of_x.max(of_y) < Doubt::Position),
                // That a letter follows is all that counts, wherever it belongs.
                (None, of_y) => (Ordering::Less, of_y.is_none_or(|(_, doubt)| doubt < Doubt::All)),
                (Some((_, of_x)), None) => (Ordering::Greater, of_x < Doubt::All),
            };
            return Some(Comparison { ordering, certain: is_known && *met < Doubt::Position });
        }
    }

    /// The next primary weight and its doubt. The doubts of what is skipped are met.
    fn next_letter(
        &self,
        elements: &mut Elements<'_, U>,
        met: &mut Doubt,
    ) -> Option<(Primary, Doubt)> {
        for element in elements {
            let doubt = if element.end <= self.same { Doubt::None } else { element.doubt };
            if let Weight::Letter { primary, .. } = element.weight {
                return Some((primary, doubt));
            }
            *met = doubt.max(*met);
        }
        None
    }

    /// The order by accents, and whether the direction of the comparison is known or does not
    /// matter.
    fn compare_accents(&self, levels: Levels) -> (Ordering, bool) {
        let forward = compare_lists(Accents::new(self.of_a()), Accents::new(self.of_b()));
        if !levels.reverses_accents || forward.is_eq() {
            return (forward, true);
        }
        let reversed = |elements| Accents::new(elements).collect::<Vec<u8>>().into_iter().rev();
        let backward = compare_lists(reversed(self.of_a()), reversed(self.of_b()));
        (backward, backward == forward)
    }
}

/// Does the comparison of two texts with `same` equal units need only the last one of them? So it
/// is when that is an ASCII letter or digit, and nothing before can begin a sequence that reaches
/// it.
fn is_plain_before(weights: &Weights, text: impl Units, same: usize) -> bool {
    const LONGEST_SEQUENCE: usize = 5;
    let filter = weights.language.ascii();
    let is_plain = |unit: u16| unit < 0x80 && filter >> unit & 1 == 0;
    let is_alphanumeric = |unit: u16| unit < 0x80 && (unit as u8).is_ascii_alphanumeric();
    let tail = same.saturating_sub(LONGEST_SEQUENCE)..same;
    same > 0
        && is_alphanumeric(text.unit(same - 1))
        && tail.into_iter().all(|at| is_plain(text.unit(at)))
}

/// Diacritic weights, one per letter, with those of the marks that follow it added.
pub(super) struct Accents<E> {
    elements: E,
    current: Option<u8>,
}

impl<E: Iterator<Item = Element>> Accents<E> {
    pub(super) fn new(elements: E) -> Accents<E> {
        Accents { elements, current: None }
    }
}

impl<E: Iterator<Item = Element>> Iterator for Accents<E> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        for element in self.elements.by_ref() {
            match element.weight {
                Weight::Letter { dw, .. } => {
                    if let Some(done) = self.current.replace(dw) {
                        return Some(done);
                    }
                }
                Weight::Mark { dw } => {
                    self.current = Some(self.current.map_or(dw, |sum| sum.wrapping_add(dw)))
                }
                Weight::Special { .. } | Weight::Nothing => {}
            }
        }
        self.current.take()
    }
}

/// Case weights under a mask, one per letter.
pub(super) fn cases(elements: impl Iterator<Item = Element>, mask: u8) -> impl Iterator<Item = u8> {
    elements.filter_map(move |element| match element.weight {
        Weight::Letter { cw, .. } => Some(cw & mask),
        _ => None,
    })
}

/// Specials: how many primary weights are before each, and its weight.
pub(super) fn specials(elements: impl Iterator<Item = Element>) -> impl Iterator<Item = (u32, u8)> {
    let mut letters = 0u32;
    elements.filter_map(move |element| match element.weight {
        Weight::Letter { .. } => {
            letters += 1;
            None
        }
        Weight::Special { aw } => Some((letters, aw)),
        Weight::Mark { .. } | Weight::Nothing => None,
    })
}

/// A weight that does not count at the end of a list.
pub(super) const PLAIN: u8 = 2;

/// Compares two lists of weights without the plain ones at their ends; a prefix is less.
pub(super) fn compare_lists(
    mut a: impl Iterator<Item = u8>,
    mut b: impl Iterator<Item = u8>,
) -> Ordering {
    loop {
        let x = a.next();
        let y = b.next();
        if x == y && x.is_some() {
            continue;
        }
        let a_goes_on = x.into_iter().chain(a).any(|weight| weight != PLAIN);
        let b_goes_on = y.into_iter().chain(b).any(|weight| weight != PLAIN);
        return match (a_goes_on, b_goes_on) {
            (true, true) => x.cmp(&y),
            _ => a_goes_on.cmp(&b_goes_on),
        };
    }
}

pub(super) fn trim_char(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != b' ').map_or(0, |at| at + 1);
    &text[..end]
}

pub(super) fn trim_nchar(text: &[u8]) -> &[u8] {
    let (pairs, _) = text.as_chunks::<2>();
    let end = pairs.iter().rposition(|pair| pair != b" \0").map_or(0, |at| at + 1);
    &text[..end * 2]
}
