//! Values in and out of a batch as machine numbers, in the units of `types::native`: those of
//! lanes, so that columns in memory are not encoded and decoded again.

use extentdb_kernel::error::{EvalError, NULL, VALUE};
use extentdb_kernel::lane::{Element, LaneKind};

use crate::batch::{Batch, MAX_ROWS};

/// The results of all rows of a batch, by their representation.
#[derive(Debug, Clone, Copy)]
pub enum Native<'b> {
    /// Integers, bits, money, dates and times.
    Ints(&'b [i64]),
    /// Decimals, unscaled.
    Wides(&'b [i128]),
    /// float and real.
    Floats(&'b [f64]),
    /// Texts and other bytes: see [`Batch::value`].
    Bytes,
}

impl Batch {
    /// The values of an input whose type is held as integers, for all rows of the batch; where
    /// `is_null`, the value is not looked at. Other types, and more rows than
    /// [`MAX_ROWS`], are refused: their rows are errors.
    pub fn push_ints(
        &mut self,
        input: usize,
        values: impl ExactSizeIterator<Item = i64>,
        is_null: impl Fn(usize) -> bool,
    ) {
        self.push_native(input, LaneKind::Int, values, is_null);
    }

    /// The same of decimals.
    pub fn push_wides(
        &mut self,
        input: usize,
        values: impl ExactSizeIterator<Item = i128>,
        is_null: impl Fn(usize) -> bool,
    ) {
        self.push_native(input, LaneKind::Wide, values, is_null);
    }

    /// The same of float and real.
    pub fn push_floats(
        &mut self,
        input: usize,
        values: impl ExactSizeIterator<Item = f64>,
        is_null: impl Fn(usize) -> bool,
    ) {
        self.push_native(input, LaneKind::Float, values, is_null);
    }

    fn push_native<T: Element>(
        &mut self,
        input: usize,
        kind: LaneKind,
        values: impl ExactSizeIterator<Item = T>,
        is_null: impl Fn(usize) -> bool,
    ) {
        let rows = values.len();
        let taken = self.inputs.get(input).filter(|(_, form)| form.kind() == kind);
        let Some((reg, _)) = taken.filter(|_| rows <= MAX_ROWS) else { return };
        let Some(lane) = self.lanes.at_mut(*reg) else { return };
        let (states, to) = lane.slots::<T>(rows);
        for (at, ((state, to), value)) in states.iter_mut().zip(to).zip(values).enumerate() {
            (*state, *to) = if is_null(at) { (NULL, T::default()) } else { (VALUE, value) };
        }
    }

    /// The results of all rows, after [`Program::evaluate`](crate::Program::evaluate) or
    /// [`run`](crate::Program::run); `None` before. [`Batch::outcome`] says which of them are
    /// values.
    #[must_use]
    pub fn native(&self) -> Option<Native<'_>> {
        let (reg, form) = self.result?;
        let lane = self.lanes.at(reg);
        let rows = self.rows;
        Some(match form.kind() {
            LaneKind::Int => Native::Ints(lane.ints.get(..rows)?),
            LaneKind::Wide => Native::Wides(lane.wides.get(..rows)?),
            LaneKind::Float => Native::Floats(lane.floats.get(..rows)?),
            LaneKind::Bytes | LaneKind::Opaque => Native::Bytes,
        })
    }

    /// Has a row a value (true), is it NULL (false), or did it fail?
    #[inline]
    pub fn outcome(&self, row: usize) -> Result<bool, EvalError> {
        let (reg, _) = self.result.ok_or(EvalError::Row)?;
        match self.lanes.at(reg).state.get(row).copied() {
            Some(VALUE) => Ok(true),
            Some(NULL) => Ok(false),
            Some(state) => Err(EvalError::of_state(state).unwrap_or(EvalError::Row)),
            None => Err(EvalError::Row),
        }
    }

    /// The first error among the rows, and its row.
    #[must_use]
    pub fn first_error(&self) -> Option<(usize, EvalError)> {
        let (reg, _) = self.result?;
        let states = self.lanes.at(reg).state.get(..self.rows)?;
        let row = states.iter().position(|state| *state > NULL)?;
        Some((row, EvalError::of_state(*states.get(row)?).unwrap_or(EvalError::Row)))
    }

    /// Has every row a value?
    #[must_use]
    pub fn are_all_values(&self) -> bool {
        let states = self.result.and_then(|(reg, _)| self.lanes.at(reg).state.get(..self.rows));
        states.is_some_and(|states| states.iter().all(|state| *state == VALUE))
    }
}
