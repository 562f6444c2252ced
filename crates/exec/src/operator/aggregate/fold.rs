//! Loops over a column that update the states of groups.

use extentdb_engine::{Bits, Values, Vector};

/// The groups of the rows of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Groups<'g> {
    /// All rows, as many, are in group 0.
    One(usize),
    /// The number of each row's group.
    Each(&'g [u32]),
}

impl Groups<'_> {
    /// The group of a row.
    pub(crate) fn of(&self, row: usize) -> usize {
        match self {
            Groups::One(_) => 0,
            Groups::Each(numbers) => numbers.get(row).map_or(0, |number| *number as usize),
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        match self {
            Groups::One(rows) => *rows,
            Groups::Each(numbers) => numbers.len(),
        }
    }
}

/// Adds every value that is not NULL to the state of its group.
#[inline(always)]
pub(super) fn fold<T: Copy, S>(
    values: impl Iterator<Item = T>,
    validity: Option<&Bits>,
    groups: Groups<'_>,
    states: &mut [S],
    add: impl Fn(&mut S, T),
) {
    match (groups, validity) {
        (Groups::One(_), None) => {
            let Some(state) = states.first_mut() else { return };
            values.for_each(|value| add(state, value));
        }
        (Groups::One(_), Some(validity)) => {
            let Some(state) = states.first_mut() else { return };
            let valid = values.enumerate().filter(|(row, _)| validity.get(*row));
            valid.for_each(|(_, value)| add(state, value));
        }
        (Groups::Each(numbers), None) => {
            for (value, group) in values.zip(numbers) {
                if let Some(state) = states.get_mut(*group as usize) {
                    add(state, value);
                }
            }
        }
        (Groups::Each(numbers), Some(validity)) => {
            for (row, (value, group)) in values.zip(numbers).enumerate() {
                if let Some(state) = states.get_mut(*group as usize)
                    && validity.get(row)
                {
                    add(state, value);
                }
            }
        }
    }
}

/// The same for a column whose values are integers of up to 64 bits.
#[inline(always)]
pub(super) fn fold_integers<S>(
    vector: &Vector,
    groups: Groups<'_>,
    states: &mut [S],
    add: impl Fn(&mut S, i64),
) {
    let validity = vector.validity.as_ref();
    match &vector.values {
        Values::Bits(own) => {
            let values = (0..own.len()).map(|row| i64::from(own.get(row)));
            fold(values, validity, groups, states, add);
        }
        Values::U8(own) => {
            fold(own.iter().map(|value| i64::from(*value)), validity, groups, states, add);
        }
        Values::I16(own) => {
            fold(own.iter().map(|value| i64::from(*value)), validity, groups, states, add);
        }
        Values::I32(own) => {
            fold(own.iter().map(|value| i64::from(*value)), validity, groups, states, add);
        }
        Values::I64(own) => fold(own.iter().copied(), validity, groups, states, add),
        _ => {}
    }
}

/// The same for a column of decimals.
#[inline(always)]
pub(super) fn fold_wide<S>(
    vector: &Vector,
    groups: Groups<'_>,
    states: &mut [S],
    add: impl Fn(&mut S, i128),
) {
    if let Values::I128(own) = &vector.values {
        fold(own.iter().copied(), vector.validity.as_ref(), groups, states, add);
    }
}

/// The same for a column of floats.
#[inline(always)]
pub(super) fn fold_floats<S>(
    vector: &Vector,
    groups: Groups<'_>,
    states: &mut [S],
    add: impl Fn(&mut S, f64),
) {
    let validity = vector.validity.as_ref();
    match &vector.values {
        Values::F32(own) => {
            fold(own.iter().map(|value| f64::from(*value)), validity, groups, states, add);
        }
        Values::F64(own) => fold(own.iter().copied(), validity, groups, states, add),
        _ => {}
    }
}
