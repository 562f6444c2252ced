//! Values of other rows: FIRST_VALUE and LAST_VALUE, and which rows have values at all.

use extentdb_bind::function::WindowFunction;
use extentdb_engine::Vector;
use extentdb_plan::physical::WindowCall;

use crate::error::Error;
use crate::operator::join::NO_ROW;
use crate::operator::window::layout::Layout;

/// The rows whose value is not NULL.
#[derive(Debug)]
pub(super) struct Valued {
    rows: Vec<u32>,
    /// How many of them are before each row, and before the end.
    before: Vec<u32>,
}

impl Valued {
    pub(super) fn of(vector: &Vector) -> Valued {
        let mut rows = Vec::with_capacity(vector.len());
        let mut before = Vec::with_capacity(vector.len() + 1);
        for row in 0..vector.len() {
            before.push(rows.len() as u32);
            if !vector.is_null(row) {
                rows.push(row as u32);
            }
        }
        before.push(rows.len() as u32);
        Valued { rows, before }
    }

    /// How many of them are before a row.
    pub(super) fn before(&self, row: usize) -> usize {
        self.before.get(row).map_or(self.rows.len(), |count| *count as usize)
    }

    /// One of them, by its number.
    pub(super) fn get(&self, number: usize) -> Option<usize> {
        self.rows.get(number).map(|row| *row as usize)
    }
}

/// The values of the first or the last rows of frames.
pub(super) fn column(call: &WindowCall, values: &Vector, layout: &Layout) -> Result<Vector, Error> {
    let is_first = call.function == WindowFunction::FirstValue;
    let valued = call.ignores_nulls.then(|| Valued::of(values));
    let row = |row: usize| {
        let frame = layout.frame(&call.frame, row);
        let found = match (&valued, is_first) {
            (None, true) => Some(frame.start),
            (None, false) => frame.end.checked_sub(1),
            (Some(valued), true) => valued.get(valued.before(frame.start)),
            (Some(valued), false) => {
                valued.before(frame.end).checked_sub(1).and_then(|last| valued.get(last))
            }
        };
        found.filter(|row| frame.contains(row)).map_or(NO_ROW, |row| row as u32)
    };
    let rows: Vec<u32> = (0..layout.rows()).map(row).collect();
    typed(call, values.take_or_null(&rows))
}

/// A result must have the type that the plan says.
pub(super) fn typed(call: &WindowCall, vector: Vector) -> Result<Vector, Error> {
    if vector.ty == call.ty {
        return Ok(vector);
    }
    Err(Error::NotSupported(format!("{} as {} of a window", vector.ty, call.ty)))
}
