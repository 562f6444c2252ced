//! BIN and BIN2 collations: order by the numbers of the code units, or nearly.
//!
//! ```text
//! char         bytes
//! nchar BIN2   code units
//! nchar BIN    the first code unit as a number, then bytes as they lie
//! ```
//!
//! Texts without trailing blanks; the shorter one comes first. Where SQL Server pads it with blanks
//! instead, something below the blank would come before it, so that is not certain; nor are
//! surrogates against U+E000 and above, which have a higher number than their code points. A
//! collation with unknown bits is not certain of anything.

use std::cmp::Ordering;

use super::Collation;
use super::compare::{Comparison, UncertainCharacter};
use super::elements::code_point;
use super::sort_key::SortKey;
use super::units::Wide;

const BLANK: u16 = b' ' as u16;

pub(super) fn compare_char(collation: Collation, a: &[u8], b: &[u8]) -> Comparison {
    let ordering = a.cmp(b);
    let rest = longer(a, b).get(a.len().min(b.len())..).unwrap_or_default();
    let is_padding_met =
        is_prefix(a, b) && rest.iter().find(|byte| **byte != b' ').is_some_and(|byte| *byte < b' ');
    certain_unless(collation, ordering, is_padding_met)
}

pub(super) fn compare_nchar(collation: Collation, a: &[u8], b: &[u8]) -> Comparison {
    let ordering = if collation.is_bin2() { units(a).cmp(units(b)) } else { compare_bin(a, b) };
    let is_padding_met = if is_prefix(a, b) {
        let rest = units(longer(a, b)).skip(a.len().min(b.len()) / 2).find(|unit| *unit != BLANK);
        let below = |unit: u16| unit < BLANK || (!collation.is_bin2() && unit & 0xFF < BLANK);
        rest.is_some_and(below)
    } else {
        false
    };
    let is_doubted = is_padding_met || (collation.is_bin2() && depends_on_surrogates(a, b));
    certain_unless(collation, ordering, is_doubted)
}

fn certain_unless(collation: Collation, ordering: Ordering, is_doubted: bool) -> Comparison {
    let is_foreign = collation.has_unknown_bits() && ordering.is_ne();
    Comparison { ordering, certain: !is_doubted && !is_foreign }
}

fn longer<'a>(a: &'a [u8], b: &'a [u8]) -> &'a [u8] {
    if a.len() > b.len() { a } else { b }
}

fn is_prefix(a: &[u8], b: &[u8]) -> bool {
    a.len() != b.len() && a.iter().zip(b).all(|(x, y)| x == y)
}

fn units(text: &[u8]) -> impl Iterator<Item = u16> + '_ {
    text.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair))
}

/// Is the first difference one between a surrogate and U+E000 or above?
fn depends_on_surrogates(a: &[u8], b: &[u8]) -> bool {
    let differing = units(a).zip(units(b)).find(|(x, y)| x != y);
    differing.is_some_and(|(x, y)| (0xD800..0xE000).contains(&x.min(y)) && x.max(y) >= 0xE000)
}

/// The first unit as a number, the rest as bytes.
fn compare_bin(a: &[u8], b: &[u8]) -> Ordering {
    let rest = |text: &[u8]| text.len().min(2);
    units(a).next().cmp(&units(b).next()).then_with(|| a[rest(a)..].cmp(&b[rest(b)..]))
}

/// The sort key of a text of whole code units.
pub(super) fn sort_key_nchar(collation: Collation, text: &[u8]) -> SortKey {
    if collation.is_bin2() {
        return SortKey::new(units(text).flat_map(u16::to_be_bytes).collect());
    }
    let first = units(text).next().map(u16::to_be_bytes);
    SortKey::new(first.into_iter().flatten().chain(text.iter().skip(2).copied()).collect())
}

pub(super) fn uncertain_char(collation: Collation, text: &[u8]) -> Option<UncertainCharacter> {
    let is_doubted = |byte: &&u8| collation.has_unknown_bits() || **byte < b' ';
    text.iter().find(is_doubted).map(|byte| UncertainCharacter { code_point: u32::from(*byte) })
}

pub(super) fn uncertain_nchar(collation: Collation, text: &[u8]) -> Option<UncertainCharacter> {
    let is_doubted = |unit: u16| {
        let is_surrogate = collation.is_bin2() && (0xD800..0xE000).contains(&unit);
        collation.has_unknown_bits() || unit < BLANK || is_surrogate
    };
    let at = units(text).position(is_doubted)?;
    Some(UncertainCharacter { code_point: code_point(Wide(text.as_chunks().0), at) })
}
