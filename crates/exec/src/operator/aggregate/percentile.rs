//! APPROX_PERCENTILE_CONT and APPROX_PERCENTILE_DISC. All values are kept, so that they are exact.

use extentdb_bind::function::Aggregate;
use extentdb_engine::Vector;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::number;
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::fold::Groups;

/// Message number of a share that is not between 0 and 1.
const SHARE_OUT_OF_RANGE: i32 = 8727;

/// A percentile; NULL without values.
#[derive(Debug)]
pub(super) struct Percentile {
    column: usize,
    share: usize,
    is_descending: bool,
    /// Between two values, in proportion?
    is_continuous: bool,
    ty: SqlType,
    states: Vec<State>,
    values: usize,
}

/// The values of a group, each with its stored bytes.
#[derive(Debug, Default, Clone)]
struct State {
    values: Vec<(f64, Vec<u8>)>,
    share: f64,
}

impl Percentile {
    /// `None`: there is no share.
    pub(super) fn new(call: &AggregateCall, column: usize) -> Option<Percentile> {
        Some(Percentile {
            column,
            share: call.separator?,
            is_descending: call.order.first().is_some_and(|key| key.is_descending),
            is_continuous: call.function == Aggregate::ApproxPercentileCont,
            ty: call.ty,
            states: Vec::new(),
            values: 0,
        })
    }

    /// The value at the share of a sorted group, in stored form.
    fn result(&self, state: &State) -> Option<Vec<u8>> {
        let last = state.values.len().checked_sub(1)?;
        if self.is_continuous {
            let at = state.share * last as f64;
            let (below, _) = state.values.get(at.floor() as usize)?;
            let (above, _) = state.values.get(at.ceil() as usize)?;
            return Some((below + (above - below) * at.fract()).to_le_bytes().to_vec());
        }
        let rows = (state.share * state.values.len() as f64).ceil() as usize;
        state.values.get(rows.max(1) - 1).map(|(_, bytes)| bytes.clone())
    }
}

impl Accumulator for Percentile {
    fn grow(&mut self, groups: usize) {
        self.states.resize(groups, State::default());
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let columns = input.columns.get(self.column).zip(input.columns.get(self.share));
        let Some((values, shares)) = columns else { return Ok(()) };
        let refused = || Error::WindowArgument { number: SHARE_OUT_OF_RANGE };
        let no_number = || Error::NotSupported(format!("a percentile of {}", values.ty));
        let numbers = number::floats(values).ok_or_else(no_number)?;
        let shares_of = number::floats(shares).ok_or_else(refused)?;
        for row in 0..groups.rows() {
            let share = shares_of.get(row).filter(|share| (0.0..=1.0).contains(*share));
            let share = *share.filter(|_| !shares.is_null(row)).ok_or_else(refused)?;
            let Some(state) = self.states.get_mut(groups.of(row)) else { continue };
            state.share = share;
            if let Some(number) = numbers.get(row).filter(|_| !values.is_null(row)) {
                let mut bytes = Vec::new();
                if !self.is_continuous {
                    values.stored_bytes(row, &mut bytes);
                }
                state.values.push((*number, bytes));
                self.values += 1;
            }
        }
        Ok(())
    }

    fn memory(&self) -> usize {
        self.values * size_of::<(f64, Vec<u8>)>() + self.states.len() * size_of::<State>()
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut out = Vector::computed(self.ty);
        let mut states = std::mem::take(&mut self.states);
        for state in &mut states {
            state.values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            if self.is_descending {
                state.values.reverse();
            }
            let pushed = out.push_stored(self.result(state).as_deref());
            pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
        }
        Ok(out)
    }
}
