//! SUM and AVG.
//!
//! Integers of up to 32 bits are summed in 64 bits, which no number of rows overflows; bigint,
//! money and decimals in 128 bits; floats as floats. Whether a sum is in the range of its type is
//! verified at the end: a sum that leaves the range on its way and comes back is one.

use std::any::Any;

use extentdb_bind::function::Aggregate;
use extentdb_engine::{Values, Vector};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::number::{Results, scale, verify_range};
use crate::operator::aggregate::accumulator::{Accumulator, merge_states};
use crate::operator::aggregate::fold::{Groups, fold_floats, fold_integers, fold_wide};

/// SUM or AVG; NULL without values.
#[derive(Debug)]
pub(super) struct Sum {
    column: usize,
    average: Option<Average>,
    ty: SqlType,
    totals: Totals,
}

/// What an average is made of beside a sum and a count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Average {
    /// Digits that the average has more than the values.
    more_digits: u32,
}

/// A sum, and how many values are in it.
#[derive(Debug, Clone, Copy, Default)]
struct Total<T> {
    sum: T,
    count: i64,
}

#[derive(Debug)]
enum Totals {
    Short(Vec<Total<i64>>),
    Wide(Vec<Total<i128>>),
    Floats(Vec<Total<f64>>),
}

impl Average {
    /// Of values of one type as values of another.
    pub(crate) fn new(from: &SqlType, to: &SqlType) -> Average {
        Average { more_digits: scale(to).saturating_sub(scale(from)).into() }
    }

    /// The quotient, truncated; the sum of integers and money must have been in the range of the
    /// type.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(crate) fn of(self, ty: SqlType, sum: i128, count: i64) -> Result<i128, Error> {
        let sum = verify_range(ty, sum)?;
        let count = i128::from(count.max(1));
        let unit = 10i128.pow(self.more_digits);
        // The rest is less than the count: only the quotient may be too large.
        let whole = (sum / count).checked_mul(unit).ok_or(Error::Overflow { ty })?;
        Ok(whole + sum % count * unit / count)
    }
}

impl Sum {
    /// `None`: values of this type have no sum.
    pub(super) fn new(
        column: usize,
        argument: SqlType,
        function: Aggregate,
        ty: SqlType,
    ) -> Option<Sum> {
        let totals = match Vector::computed(argument).values {
            Values::U8(_) | Values::I16(_) | Values::I32(_) => Totals::Short(Vec::new()),
            Values::I64(_) | Values::I128(_) => Totals::Wide(Vec::new()),
            Values::F32(_) | Values::F64(_) => Totals::Floats(Vec::new()),
            Values::Bits(_) | Values::Fixed { .. } | Values::Variable { .. } => return None,
        };
        let average = (function == Aggregate::Avg).then(|| Average::new(&argument, &ty));
        Some(Sum { column, average, ty, totals })
    }

    fn exact(&self, results: &mut Results, sum: i128, count: i64) -> Result<(), Error> {
        let value = match self.average {
            _ if count == 0 => None,
            None => Some(sum),
            Some(average) => Some(average.of(self.ty, sum, count)?),
        };
        results.push_exact(value)
    }
}

impl Accumulator for Sum {
    fn grow(&mut self, groups: usize) {
        match &mut self.totals {
            Totals::Short(states) => states.resize(groups, Total::default()),
            Totals::Wide(states) => states.resize(groups, Total::default()),
            Totals::Floats(states) => states.resize(groups, Total::default()),
        }
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let Some(vector) = input.columns.get(self.column) else { return Ok(()) };
        match &mut self.totals {
            Totals::Short(states) => fold_integers(vector, groups, states, |state, value| {
                state.sum = state.sum.wrapping_add(value);
                state.count += 1;
            }),
            Totals::Wide(states) if matches!(vector.values, Values::I128(_)) => {
                fold_wide(vector, groups, states, |state, value| {
                    // A sum beyond 128 bits stays out of range.
                    state.sum = state.sum.saturating_add(value);
                    state.count += 1;
                });
            }
            Totals::Wide(states) => fold_integers(vector, groups, states, |state, value| {
                state.sum = state.sum.wrapping_add(i128::from(value));
                state.count += 1;
            }),
            Totals::Floats(states) => fold_floats(vector, groups, states, |state, value| {
                state.sum += value;
                state.count += 1;
            }),
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn Accumulator, groups: &[u32]) -> Result<(), Error> {
        let other = other.as_any().and_then(|it| it.downcast_ref::<Sum>());
        match (&mut self.totals, other.map(|other| &other.totals)) {
            (Totals::Short(own), Some(Totals::Short(other))) => {
                merge_states(own, other, groups, |own, it| {
                    own.sum = own.sum.wrapping_add(it.sum);
                    own.count += it.count;
                });
            }
            (Totals::Wide(own), Some(Totals::Wide(other))) => {
                merge_states(own, other, groups, |own, it| {
                    own.sum = own.sum.saturating_add(it.sum);
                    own.count += it.count;
                });
            }
            _ => return Err(Error::NotSupported("a sum of parts".to_owned())),
        }
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn memory(&self) -> usize {
        match &self.totals {
            Totals::Short(states) => states.len() * size_of::<Total<i64>>(),
            Totals::Wide(states) => states.len() * size_of::<Total<i128>>(),
            Totals::Floats(states) => states.len() * size_of::<Total<f64>>(),
        }
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut results = Results::new(self.ty);
        match &self.totals {
            Totals::Short(states) => {
                for state in states {
                    self.exact(&mut results, state.sum.into(), state.count)?;
                }
            }
            Totals::Wide(states) => {
                for state in states {
                    self.exact(&mut results, state.sum, state.count)?;
                }
            }
            Totals::Floats(states) => {
                for state in states {
                    let divisor = if self.average.is_some() { state.count as f64 } else { 1.0 };
                    let value = (state.count > 0).then(|| state.sum / divisor);
                    results.push_float(value)?;
                }
            }
        }
        Ok(results.finish())
    }
}
