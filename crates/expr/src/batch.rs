//! A batch: rows of one page on their way through a program. The scratch state of one worker.
//!
//! ```text
//! batch.reset(&program)
//! for each row:  for each input: batch.push(input, bytes);  batch.end_row()
//!   or at once:  for each input: batch.push_column(input, values) or push_words;
//!                batch.end_rows(count)
//! program.run(&mut batch)
//! batch.value(row)   or   batch.truth(row)   or   batch.numbers() of all rows
//! ```
//!
//! Invariants
//! - Memory is kept from batch to batch: once warm, a row allocates nothing.
//! - A row that was not pushed properly (an input missing, or twice) has the result
//!   [`EvalError::Input`].
//! - Nothing is shared: a worker owns its batch, programs are only read.

use extentdb_kernel::arena::Arena;
use extentdb_kernel::disk::StorageForm;
use extentdb_kernel::error::{EvalError, EvalResult, NULL, VALUE};
use extentdb_kernel::lane::{Lane, LaneKind, Lanes, Reg, Span};
use extentdb_kernel::operator::row::{Cell, Outcome, cell};

use crate::program::Program;

/// Most rows of one batch; further rows are refused one by one.
pub const MAX_ROWS: usize = 1 << 20;

/// The scratch state of one worker.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) inputs: Vec<(Reg, StorageForm)>,
    pub(crate) lanes: Lanes,
    pub(crate) arena: Arena,
    pub(crate) rows: usize,
    /// Lane and form of the result, once a program has run.
    pub(crate) result: Option<(Reg, StorageForm)>,
    pub(crate) encoded: Vec<u8>,
    pub(crate) stride: usize,
    pub(crate) arithmetic_nulls: ArithmeticNulls,
}

/// Which errors of arithmetic the last run has made NULL, as a session without ANSI_WARNINGS and
/// ARITHABORT wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ArithmeticNulls {
    /// A division by zero: message 3607.
    pub division: bool,
    /// An overflow, or a number outside the domain of its function: message 3606.
    pub overflow: bool,
}

impl ArithmeticNulls {
    /// Makes the errors of a lane NULL.
    pub(crate) fn take(&mut self, lane: &mut Lane) {
        for state in &mut lane.state {
            match EvalError::of_state(*state).filter(|error| error.is_arithmetic()) {
                Some(EvalError::DivideByZero) => self.division = true,
                Some(_) => self.overflow = true,
                None => continue,
            }
            *state = NULL;
        }
    }
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Forgets all rows and takes the inputs of `program`.
    pub fn reset(&mut self, program: &impl AsRef<Program>) {
        let program = program.as_ref();
        self.inputs.clear();
        self.inputs.extend_from_slice(&program.forms);
        self.lanes.reset(program.lanes);
        self.arena.clear(program.text_limit());
        self.rows = 0;
        self.result = None;
    }

    /// The value of an input (its place in [`Program::inputs`]) for the row at hand, in stored
    /// form; `None` for NULL. An input that the program does not have is ignored.
    #[inline]
    pub fn push(&mut self, input: usize, value: Option<&[u8]>) {
        let Some((reg, form)) = self.inputs.get(input).filter(|_| self.rows < MAX_ROWS) else {
            return;
        };
        if let Some(lane) = self.lanes.at_mut(*reg) {
            form.read(value, lane, &mut self.arena);
        }
    }

    /// The values of an input for all rows of the batch, in stored form; `None` for NULL. More rows
    /// than [`MAX_ROWS`] are refused.
    pub fn push_column(&mut self, input: usize, values: &[Option<&[u8]>]) {
        let Some((reg, form)) = self.inputs.get(input).filter(|_| values.len() <= MAX_ROWS) else {
            return;
        };
        if let Some(lane) = self.lanes.at_mut(*reg) {
            form.read_all(values, lane, &mut self.arena);
        }
    }

    /// As [`push_column`](Batch::push_column), for values of `bytes` bytes each, at most eight,
    /// none of them NULL: little-endian words. False, and nothing is pushed, for a type that is not
    /// stored so.
    pub fn push_words(&mut self, input: usize, words: &[u64], bytes: usize) -> bool {
        let Some((reg, form)) = self.inputs.get(input).filter(|_| words.len() <= MAX_ROWS) else {
            return false;
        };
        self.lanes.at_mut(*reg).is_some_and(|lane| form.read_words(words, bytes, lane))
    }

    /// Ends `rows` rows whose columns were pushed as a whole. An input that has not as many makes
    /// all of them errors.
    pub fn end_rows(&mut self, rows: usize) {
        self.rows = rows.min(MAX_ROWS);
        for (reg, form) in &self.inputs {
            let Some(lane) = self.lanes.at_mut(*reg) else { continue };
            if lane.state.len() != self.rows {
                lane.clear();
                (0..self.rows).for_each(|_| lane.push_state(form.kind(), EvalError::Input.state()));
            }
        }
    }

    /// Ends the row at hand.
    #[inline]
    pub fn end_row(&mut self) {
        if self.rows >= MAX_ROWS {
            return;
        }
        self.rows += 1;
        for (reg, form) in &self.inputs {
            let Some(lane) = self.lanes.at_mut(*reg) else { continue };
            if lane.state.len() != self.rows {
                mend(lane, *form, self.rows);
            }
        }
    }

    /// Which errors the last run has made NULL.
    #[must_use]
    pub fn arithmetic_nulls(&self) -> ArithmeticNulls {
        self.arithmetic_nulls
    }

    /// Number of rows pushed since the last evaluation.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The result of a row in the stored form of the program's result type; `None` for NULL.
    #[inline]
    pub fn value(&self, row: usize) -> Result<Option<&[u8]>, EvalError> {
        let (reg, form) = self.result.as_ref().filter(|_| row < self.rows).ok_or(EvalError::Row)?;
        let lane = self.lanes.at(*reg);
        if let StorageForm::Bytes { .. } | StorageForm::Opaque = form {
            return Ok(lane.row::<Span>(row)?.map(|span| self.arena.get(span)));
        }
        let state = lane.state.get(row).copied().ok_or(EvalError::Row)?;
        match state {
            NULL => Ok(None),
            VALUE => self
                .encoded
                .get(row * self.stride..(row + 1) * self.stride)
                .map(Some)
                .ok_or(EvalError::Row),
            error => Err(EvalError::of_state(error).unwrap_or(EvalError::Row)),
        }
    }

    /// The result of a row as a function of rows gives it.
    pub(crate) fn row_outcome(
        &self,
        row: usize,
        kind: LaneKind,
        to: &mut Vec<u8>,
    ) -> EvalResult<Outcome> {
        let (reg, _) = self.result.ok_or(EvalError::Row)?;
        let lane = self.lanes.at(reg);
        match lane.state.get(row).copied().ok_or(EvalError::Row)? {
            VALUE => Ok(match cell(lane, kind, row, &self.arena) {
                Cell::Null => Outcome::Null,
                Cell::Int(value) => Outcome::Int(value),
                Cell::Wide(value) => Outcome::Wide(value),
                Cell::Float(value) => Outcome::Float(value),
                Cell::Bytes(bytes) => {
                    to.extend(bytes);
                    Outcome::Bytes
                }
            }),
            NULL => Ok(Outcome::Null),
            error => Err(EvalError::of_state(error).unwrap_or(EvalError::Row)),
        }
    }

    /// The results of all rows, for types that are stored in a fixed number of bytes; those of
    /// [`Batch::value`].
    pub fn values(&self) -> Option<impl Iterator<Item = Result<Option<&[u8]>, EvalError>>> {
        let (reg, _) = self.result.filter(|_| self.stride > 0)?;
        let states = self.lanes.at(reg).state.get(..self.rows)?;
        let encoded = self.encoded.chunks_exact(self.stride);
        (encoded.len() == self.rows).then(|| {
            states.iter().zip(encoded).map(|(state, bytes)| match *state {
                VALUE => Ok(Some(bytes)),
                NULL => Ok(None),
                error => Err(EvalError::of_state(error).unwrap_or(EvalError::Row)),
            })
        })
    }

    /// The results of all rows where they are numbers, with the bytes of one, and none of them is
    /// NULL or an error.
    pub fn numbers(&self) -> Option<(usize, &[i64])> {
        let (reg, form) = self.result?;
        let lane = self.lanes.at(reg);
        let states = lane.state.get(..self.rows)?;
        let are_values = states.iter().fold(0, |all, state| all | state) == VALUE;
        Some((form.number_bytes()?, lane.ints.get(..self.rows).filter(|_| are_values)?))
    }

    /// The result of a row of a predicate; `None` for unknown.
    pub fn truth(&self, row: usize) -> Result<Option<bool>, EvalError> {
        let (reg, _) = self.result.filter(|_| row < self.rows).ok_or(EvalError::Row)?;
        Ok(self.lanes.at(reg).row::<i64>(row)?.map(|truth| truth == 1))
    }
}

/// Makes a lane as long as there are rows, the last one an error.
fn mend(lane: &mut Lane, form: StorageForm, rows: usize) {
    let before = rows - 1;
    lane.state.truncate(before);
    lane.ints.truncate(before);
    lane.wides.truncate(before);
    lane.floats.truncate(before);
    lane.spans.truncate(before);
    lane.push_state(form.kind(), EvalError::Input.state());
}
