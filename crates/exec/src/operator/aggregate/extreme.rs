//! MIN and MAX.

use std::any::Any;

use extentdb_engine::{Values, Vector};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::key::push_value;
use crate::operator::aggregate::accumulator::{Accumulator, merge_states};
use crate::operator::aggregate::fold::{Groups, fold_floats, fold_integers, fold_wide};

/// MIN or MAX; NULL without values. Of equal values, the first one.
#[derive(Debug)]
pub(super) struct Extreme {
    column: usize,
    ty: SqlType,
    is_max: bool,
    states: States,
}

/// Bytes of the state of a group whose values are bytes, about: key and value are short mostly.
const BYTES_STATE: usize = 128;

#[derive(Debug)]
enum States {
    Integers(Vec<Option<i64>>),
    Wide(Vec<Option<i128>>),
    Floats(Vec<Option<f64>>),
    Bytes(Vec<Option<Best>>),
}

/// The least or greatest value of a group whose values are compared by their sort keys.
#[derive(Debug, Clone)]
struct Best {
    key: Vec<u8>,
    stored: Vec<u8>,
}

impl Extreme {
    pub(super) fn new(column: usize, ty: SqlType, is_max: bool) -> Extreme {
        let states = match Vector::computed(ty).values {
            Values::F32(_) | Values::F64(_) => States::Floats(Vec::new()),
            Values::I128(_) => States::Wide(Vec::new()),
            Values::Fixed { .. } | Values::Variable { .. } => States::Bytes(Vec::new()),
            _ => States::Integers(Vec::new()),
        };
        Extreme { column, ty, is_max, states }
    }
}

/// Keeps the less or the greater one.
#[inline(always)]
fn keep<T: PartialOrd + Copy>(state: &mut Option<T>, value: T, is_max: bool) {
    let is_better = match state {
        None => true,
        Some(own) if is_max => value > *own,
        Some(own) => value < *own,
    };
    if is_better {
        *state = Some(value);
    }
}

fn keep_other<T: PartialOrd + Copy>(state: &mut Option<T>, other: &Option<T>, is_max: bool) {
    if let Some(value) = other {
        keep(state, *value, is_max);
    }
}

fn keep_bytes(vector: &Vector, groups: Groups<'_>, states: &mut [Option<Best>], is_max: bool) {
    let mut key = Vec::new();
    let mut scratch = Vec::new();
    for row in (0..groups.rows()).filter(|row| !vector.is_null(*row)) {
        let Some(state) = states.get_mut(groups.of(row)) else { continue };
        let bytes = vector.bytes(row);
        if state.as_ref().is_some_and(|own| own.stored == bytes) {
            continue;
        }
        key.clear();
        push_value(vector, row, false, &mut scratch, &mut key);
        match state {
            Some(own) if is_max && key <= own.key || !is_max && key >= own.key => {}
            Some(own) => {
                own.key.clone_from(&key);
                own.stored.clear();
                own.stored.extend_from_slice(bytes);
            }
            none => *none = Some(Best { key: key.clone(), stored: bytes.to_vec() }),
        }
    }
}

impl Accumulator for Extreme {
    fn grow(&mut self, groups: usize) {
        match &mut self.states {
            States::Integers(states) => states.resize(groups, None),
            States::Wide(states) => states.resize(groups, None),
            States::Floats(states) => states.resize(groups, None),
            States::Bytes(states) => states.resize(groups, None),
        }
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let Some(vector) = input.columns.get(self.column) else { return Ok(()) };
        // The loops are compiled for each of the two.
        match (&mut self.states, self.is_max) {
            (States::Integers(states), true) => {
                fold_integers(vector, groups, states, |state, value| keep(state, value, true));
            }
            (States::Integers(states), false) => {
                fold_integers(vector, groups, states, |state, value| keep(state, value, false));
            }
            (States::Wide(states), is_max) => {
                fold_wide(vector, groups, states, |state, value| keep(state, value, is_max));
            }
            (States::Floats(states), is_max) => {
                fold_floats(vector, groups, states, |state, value| keep(state, value, is_max));
            }
            (States::Bytes(states), is_max) => keep_bytes(vector, groups, states, is_max),
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn Accumulator, groups: &[u32]) -> Result<(), Error> {
        let is_max = self.is_max;
        let other = other.as_any().and_then(|it| it.downcast_ref::<Extreme>());
        match (&mut self.states, other.map(|other| &other.states)) {
            (States::Integers(own), Some(States::Integers(other))) => {
                merge_states(own, other, groups, |own, it| keep_other(own, it, is_max));
            }
            (States::Wide(own), Some(States::Wide(other))) => {
                merge_states(own, other, groups, |own, it| keep_other(own, it, is_max));
            }
            _ => return Err(Error::NotSupported("a least value of parts".to_owned())),
        }
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn memory(&self) -> usize {
        match &self.states {
            States::Integers(states) => states.len() * size_of::<Option<i64>>(),
            States::Wide(states) => states.len() * size_of::<Option<i128>>(),
            States::Floats(states) => states.len() * size_of::<Option<f64>>(),
            States::Bytes(states) => states.len() * BYTES_STATE,
        }
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut vector = Vector::computed(self.ty);
        match &self.states {
            States::Integers(states) => {
                let values: Vec<i64> = states.iter().map(|it| it.unwrap_or_default()).collect();
                vector
                    .extend_integers(&values, &|row| states.get(row).is_some_and(Option::is_some));
            }
            States::Wide(states) => {
                let values: Vec<i128> = states.iter().map(|it| it.unwrap_or_default()).collect();
                vector.extend_wide(&values, &|row| states.get(row).is_some_and(Option::is_some));
            }
            States::Floats(states) => {
                let values: Vec<f64> = states.iter().map(|it| it.unwrap_or_default()).collect();
                vector.extend_floats(&values, &|row| states.get(row).is_some_and(Option::is_some));
            }
            States::Bytes(states) => {
                for state in states {
                    let stored = state.as_ref().map(|best| best.stored.as_slice());
                    let pushed = vector.push_stored(stored);
                    pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
                }
            }
        }
        Ok(vector)
    }
}
