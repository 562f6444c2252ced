//! Expressions over batches.
//!
//! Invariant: a row whose expression fails ends the evaluation with what is needed to tell the
//! client: the expression, and the values that it had.

use extentdb_base::sync::Arc;
use extentdb_engine::{Values, Vector};
use extentdb_expr::{self as expr, Native};
use extentdb_plan::physical::{Expression, Input};
use extentdb_types::{Datum, SqlType};

use crate::batch::Batch;
use crate::context::OuterValues;
use crate::error::Error;

/// Bytes of texts that are evaluated at once.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// An expression with its room for rows.
#[derive(Debug)]
pub struct Evaluator {
    expression: Arc<Expression>,
    batch: expr::Batch,
}

impl Evaluator {
    /// An evaluator of an expression.
    pub fn new(expression: &Expression) -> Evaluator {
        Evaluator {
            expression: Arc::new(expression.clone()),
            batch: expr::Batch::new(),
        }
    }

    /// Type of the value.
    pub fn ty(&self) -> SqlType {
        self.expression.program.result_type()
    }

    /// The values for all rows.
    ///
    /// # Errors
    /// [`Error::Expression`] of the first row without a value.
    pub fn vector(&mut self, input: &Batch, outer: &OuterValues) -> Result<Vector, Error> {
        if let (Some(Input::Column(column)), true) = (self.only_input(), self.is_identity())
            && let Some(vector) = input.columns.get(column)
        {
            return Ok(vector.clone());
        }
        let mut out = Vector::computed(self.ty());
        for part in parts(input) {
            self.run(input, part.clone(), outer)?;
            self.append_results(&mut out)?;
        }
        Ok(out)
    }

    /// The rows for which the condition is true.
    ///
    /// # Errors
    /// As for [`vector`](Self::vector).
    pub fn selection(&mut self, input: &Batch, outer: &OuterValues) -> Result<Vec<u32>, Error> {
        let mut selected = Vec::new();
        for part in parts(input) {
            let from = part.start;
            self.run(input, part, outer)?;
            let Some(Native::Ints(values)) = self.batch.native() else { continue };
            for (row, value) in values.iter().enumerate() {
                if *value == 1 && self.batch.outcome(row) == Ok(true) {
                    selected.push((from + row) as u32);
                }
            }
        }
        Ok(selected)
    }

    /// The truth of the condition for each row; `None` is unknown.
    ///
    /// # Errors
    /// As for [`vector`](Self::vector).
    pub fn truths(
        &mut self,
        input: &Batch,
        outer: &OuterValues,
    ) -> Result<Vec<Option<bool>>, Error> {
        let mut truths = Vec::with_capacity(input.rows);
        for part in parts(input) {
            let rows = part.len();
            self.run(input, part, outer)?;
            for row in 0..rows {
                truths.push(self.batch.truth(row).unwrap_or(None));
            }
        }
        Ok(truths)
    }

    /// The value of an expression without columns, in stored form; `None` for NULL.
    ///
    /// # Errors
    /// As for [`vector`](Self::vector).
    pub fn stored(&mut self, outer: &OuterValues) -> Result<Option<Vec<u8>>, Error> {
        let vector = self.vector(&Batch { rows: 1, columns: Vec::new() }, outer)?;
        if vector.is_null(0) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        vector.stored_bytes(0, &mut bytes);
        Ok(Some(bytes))
    }

    /// The same as a value.
    ///
    /// # Errors
    /// As for [`vector`](Self::vector).
    pub fn datum(&mut self, outer: &OuterValues) -> Result<Datum<'static>, Error> {
        let vector = self.vector(&Batch { rows: 1, columns: Vec::new() }, outer)?;
        datum(&vector, 0)
    }

    fn only_input(&self) -> Option<Input> {
        match self.expression.inputs.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    fn is_identity(&self) -> bool {
        self.expression.scalar.as_parameter().is_some()
    }

    /// Evaluates the expression for rows of the input.
    fn run(
        &mut self,
        input: &Batch,
        rows: std::ops::Range<usize>,
        outer: &OuterValues,
    ) -> Result<(), Error> {
        let expression = self.expression.clone();
        self.batch.reset(&*expression.program);
        for (at, source) in expression.inputs.iter().enumerate() {
            match source {
                Input::Column(column) => {
                    if let Some(vector) = input.columns.get(*column) {
                        push_vector(&mut self.batch, at, vector, rows.clone());
                    }
                }
                Input::Outer(id) => {
                    let value = outer.get(*id);
                    rows.clone().for_each(|_| self.batch.push(at, value));
                }
            }
        }
        self.batch.end_rows(rows.len());
        if rows.is_empty() {
            return Ok(());
        }
        expression.program.evaluate(&mut self.batch);
        outer.notices.note_arithmetic(self.batch.arithmetic_nulls());
        let Some((row, error)) = self.batch.first_error() else { return Ok(()) };
        let failure = expression.program.failure(&self.batch, row);
        let failure = failure.ok_or_else(|| Error::NotSupported(error.to_string()))?;
        Err(Error::Expression(Box::new(failure)))
    }

    fn append_results(&self, out: &mut Vector) -> Result<(), Error> {
        let batch = &self.batch;
        let is_valid = |row: usize| batch.outcome(row) == Ok(true);
        match batch.native() {
            None => {}
            Some(Native::Ints(values)) => out.extend_integers(values, &is_valid),
            Some(Native::Wides(values)) => out.extend_wide(values, &is_valid),
            Some(Native::Floats(values)) => out.extend_floats(values, &is_valid),
            Some(Native::Bytes) => {
                for row in 0..batch.rows() {
                    let value = batch.value(row).unwrap_or(None);
                    let pushed = out.push_stored(value);
                    pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
                }
            }
        }
        Ok(())
    }
}

/// The rows of a batch in parts whose texts have room in an evaluation.
fn parts(input: &Batch) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
    let rows = input.rows;
    let bytes = input.memory().max(1);
    let each = if bytes <= PART_BYTES { rows } else { (rows * PART_BYTES / bytes).max(1) };
    let each = each.max(1);
    (0..rows).step_by(each).map(move |from| from..rows.min(from + each))
}

fn push_vector(batch: &mut expr::Batch, at: usize, vector: &Vector, rows: std::ops::Range<usize>) {
    let from = rows.start;
    let is_null = |row: usize| vector.is_null(from + row);
    match &vector.values {
        Values::Bits(bits) => {
            batch.push_ints(at, rows.map(|row| i64::from(bits.get(row))), is_null);
        }
        Values::U8(own) => batch.push_ints(at, part(own, rows).map(|it| i64::from(*it)), is_null),
        Values::I16(own) => batch.push_ints(at, part(own, rows).map(|it| i64::from(*it)), is_null),
        Values::I32(own) => batch.push_ints(at, part(own, rows).map(|it| i64::from(*it)), is_null),
        Values::I64(own) => batch.push_ints(at, part(own, rows).copied(), is_null),
        Values::I128(own) => batch.push_wides(at, part(own, rows).copied(), is_null),
        Values::F32(own) => {
            batch.push_floats(at, part(own, rows).map(|it| f64::from(*it)), is_null);
        }
        Values::F64(own) => batch.push_floats(at, part(own, rows).copied(), is_null),
        Values::Fixed { .. } | Values::Variable { .. } => {
            for row in rows {
                batch.push(at, (!vector.is_null(row)).then(|| vector.bytes(row)));
            }
        }
    }
}

fn part<T>(values: &[T], rows: std::ops::Range<usize>) -> std::slice::Iter<'_, T> {
    values.get(rows).unwrap_or_default().iter()
}

/// A value of a vector.
///
/// # Errors
/// Its bytes are no value of its type.
pub fn datum(vector: &Vector, row: usize) -> Result<Datum<'static>, Error> {
    if vector.is_null(row) {
        return Ok(Datum::Null);
    }
    let mut bytes = Vec::new();
    vector.stored_bytes(row, &mut bytes);
    let value = Datum::decode(&vector.ty, &bytes);
    value.map(Datum::into_owned).map_err(|error| Error::NotSupported(error.to_string()))
}
