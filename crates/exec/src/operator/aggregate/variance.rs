//! STDEV, STDEVP, VAR and VARP.
//!
//! Welford's algorithm: mean and sum of squared distances from it, value by value, which does not
//! lose digits where values are close to each other and far from zero.

use extentdb_bind::function::Aggregate;
use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::number::{self, Results};
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::fold::{Groups, fold};

/// One of the four functions.
#[derive(Debug)]
pub(super) struct Variance {
    column: usize,
    function: Aggregate,
    states: Vec<Spread>,
}

/// How values are spread.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    count: f64,
    mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Spread {
    /// Adds a value.
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let distance = value - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (value - self.mean);
    }

    /// The result of one of the functions; `None`: there are too few values.
    pub(crate) fn result(&self, function: Aggregate) -> Option<f64> {
        let is_sample = matches!(function, Aggregate::StDev | Aggregate::Var);
        let divisor = if is_sample { self.count - 1.0 } else { self.count };
        if divisor <= 0.0 {
            return None;
        }
        let variance = self.squares / divisor;
        let is_root = matches!(function, Aggregate::StDev | Aggregate::StDevP);
        Some(if is_root { variance.sqrt() } else { variance })
    }
}

impl Variance {
    pub(super) fn new(column: usize, function: Aggregate) -> Variance {
        Variance { column, function, states: Vec::new() }
    }
}

impl Accumulator for Variance {
    fn grow(&mut self, groups: usize) {
        self.states.resize(groups, Spread::default());
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let Some(vector) = input.columns.get(self.column) else { return Ok(()) };
        let values = number::floats(vector);
        let values = values.ok_or_else(|| Error::NotSupported(self.function.name().to_owned()))?;
        fold(values.into_iter(), vector.validity.as_ref(), groups, &mut self.states, Spread::add);
        Ok(())
    }

    fn memory(&self) -> usize {
        self.states.len() * size_of::<Spread>()
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut results = Results::new(SqlType::Float);
        for state in &self.states {
            results.push_float(state.result(self.function))?;
        }
        Ok(results.finish())
    }
}
