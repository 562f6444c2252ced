//! BIN and BIN2 collations: order by the numbers of the code units, or nearly.
//!
//! Trailing blanks are cut off before; the shorter text is then padded with blanks in thought. Something below the
//! blank against padding is left undecided.

use std::cmp::Ordering;

use super::Collation;
use super::compare::{Decision, SortKey, units};

/// Compares units of texts without trailing blanks, the shorter one padded with blanks.
pub(super) fn compare_units(mut a: impl Iterator<Item = u16>, mut b: impl Iterator<Item = u16>) -> Decision {
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Decision::Equal,
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => return x.cmp(&y).into(),
            (None, Some(y)) => return padded(y, &mut b, Decision::Less),
            (Some(x), None) => return padded(x, &mut a, Decision::Greater),
        }
    }
}

/// The longer text goes on with `unit` where the shorter is padded with blanks.
fn padded(unit: u16, rest: &mut impl Iterator<Item = u16>, if_above: Decision) -> Decision {
    let blank = u16::from(b' ');
    match std::iter::once(unit).chain(rest).find(|&unit| unit != blank) {
        Some(unit) if unit < blank => Decision::Undecided,
        Some(_) => if_above,
        None => Decision::Equal,
    }
}

/// BIN2: code units. Surrogates against U+E000 and above would differ by code point, so that is left open.
pub(super) fn compare_bin2(a: &[u8], b: &[u8]) -> Decision {
    let differing = units(a).zip(units(b)).find(|(x, y)| x != y);
    if let Some((x, y)) = differing {
        let (low, high) = (x.min(y), x.max(y));
        if (0xD800..0xE000).contains(&low) && high >= 0xE000 {
            return Decision::Undecided;
        }
    }
    compare_units(units(a), units(b))
}

/// BIN: the first unit as a number, the rest as bytes.
pub(super) fn compare_bin(a: &[u8], b: &[u8]) -> Decision {
    let first = |text| units(text).next();
    match compare_units(first(a).into_iter(), first(b).into_iter()) {
        Decision::Equal => {}
        decided => return decided,
    }
    // What is left starts at a whole unit: the first byte of padding is the blank, the second is zero. A byte that
    // meets padding can only be told apart from the blank, since the texts do not end in blanks.
    let rest = |text: &[u8]| text.get(2..).unwrap_or_default().to_vec();
    let (a, b) = (rest(a), rest(b));
    let common = a.len().min(b.len());
    match a[..common].cmp(&b[..common]) {
        Ordering::Equal if a.len() == b.len() => Decision::Equal,
        Ordering::Equal if a.len() < b.len() => padded_bytes(&b[common..], Decision::Less),
        Ordering::Equal => padded_bytes(&a[common..], Decision::Greater),
        decided => decided.into(),
    }
}

/// The longer text goes on with these bytes where the shorter is padded with blanks.
fn padded_bytes(rest: &[u8], if_above: Decision) -> Decision {
    let (pairs, _) = rest.as_chunks::<2>();
    match pairs.iter().find(|pair| *pair != b" \0") {
        Some([low, _]) if *low < b' ' => Decision::Undecided,
        Some(_) => if_above,
        None => Decision::Equal,
    }
}

pub(super) fn sort_key(collation: Collation, text: &[u8]) -> SortKey {
    let is_plain = |unit: u16| unit >= u16::from(b' ') && unit < 0xD800;
    let bytes = if collation.is_bin2() {
        units(text).flat_map(u16::to_be_bytes).collect()
    } else {
        let first = units(text).next().map(u16::to_be_bytes);
        first.into_iter().flatten().chain(text.iter().skip(2).copied()).collect()
    };
    // A low byte under the blank may sort below padding in BIN.
    let is_order_certain =
        units(text).all(|unit| is_plain(unit) && (collation.is_bin2() || unit & 0xFF >= 0x20));
    SortKey { bytes, is_order_certain }
}
