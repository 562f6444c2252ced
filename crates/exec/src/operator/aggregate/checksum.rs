//! CHECKSUM_AGG: the values, combined by exclusive or, so that their order does not matter.

use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::number::Results;
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::fold::{Groups, fold_integers};

/// CHECKSUM_AGG; NULL without values.
#[derive(Debug)]
pub(super) struct Checksum {
    column: usize,
    states: Vec<Option<i64>>,
}

impl Checksum {
    pub(super) fn new(column: usize) -> Checksum {
        Checksum { column, states: Vec::new() }
    }
}

impl Accumulator for Checksum {
    fn grow(&mut self, groups: usize) {
        self.states.resize(groups, None);
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        if let Some(vector) = input.columns.get(self.column) {
            fold_integers(vector, groups, &mut self.states, |state, value| {
                *state = Some(state.unwrap_or_default() ^ value);
            });
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.states.len() * size_of::<Option<i64>>()
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut results = Results::new(SqlType::Int);
        for state in &self.states {
            results.push_exact(state.map(i128::from))?;
        }
        Ok(results.finish())
    }
}
