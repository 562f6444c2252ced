//! Units with pairs of keys whose order is not certain, and the characters that leave it open.
//!
//! Of each unit the lowest code points are kept, so that merging is associative and commutative.

use std::collections::BTreeMap;

use crate::unit::UnitIndex;
use crate::wire::wire_structs;

/// Code points that are named of a unit.
const NAMED_MAX: usize = 4;

/// Units with keys whose order is not certain.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Undecided {
    /// By unit its lowest uncertain code points in ascending order: at most one more than are
    /// named. None where no text leaves the order open.
    pub units: BTreeMap<UnitIndex, Vec<u32>>,
}

impl Undecided {
    /// Adds a pair of keys of a unit, and the code point that leaves its order open, if one does.
    pub(super) fn add(&mut self, unit: UnitIndex, character: Option<u32>) {
        let known = self.units.entry(unit).or_default();
        if let Some(character) = character
            && let Err(at) = known.binary_search(&character)
        {
            known.insert(at, character);
            known.truncate(NAMED_MAX + 1);
        }
    }

    /// Adds those of another part.
    pub(super) fn merge(&mut self, other: Undecided) {
        for (unit, characters) in other.units {
            self.add(unit, None);
            characters.into_iter().for_each(|character| self.add(unit, Some(character)));
        }
    }

    /// Each unit, and why the order of some of its keys is not certain.
    pub(crate) fn reasons(&self) -> impl Iterator<Item = (UnitIndex, String)> {
        self.units.iter().map(|(unit, characters)| (*unit, reason(characters)))
    }

    #[cfg(test)]
    pub(super) fn contains(&self, unit: UnitIndex) -> bool {
        self.units.contains_key(&unit)
    }
}

fn reason(characters: &[u32]) -> String {
    if characters.is_empty() {
        return "the order of some of its values is not known for certain".to_owned();
    }
    let named = characters.iter().take(NAMED_MAX).map(|code_point| {
        extentdb_types::collation::UncertainCharacter { code_point: *code_point }.to_string()
    });
    let others = if characters.len() > NAMED_MAX { " and others" } else { "" };
    let named = named.collect::<Vec<_>>().join(", ");
    format!("its collation's order of {named}{others} is not known for certain")
}

wire_structs! { Undecided { units } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_characters_are_named_in_any_order_of_merging() {
        let part = |characters: &[u32]| {
            let mut part = Undecided::default();
            characters.iter().for_each(|character| part.add(7, Some(*character)));
            part.add(9, None);
            part
        };
        let a = part(&[0x4e00, 0x3000, 0x61, 0x61]);
        let b = part(&[0x41, 0x4e01, 0x7f, 0x80]);
        let mut first = a.clone();
        first.merge(b.clone());
        let mut second = b;
        second.merge(a);
        assert_eq!(first, second);
        let reasons: Vec<(UnitIndex, String)> = first.reasons().collect();
        let expected = "its collation's order of U+0041 (A), U+0061 (a), U+007F, U+0080 and others is not known for certain";
        assert_eq!(reasons[0], (7, expected.to_owned()));
        assert_eq!(reasons[1].1, "the order of some of its values is not known for certain");
    }
}
