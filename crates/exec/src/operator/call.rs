//! A column that a function of the session gives, row by row.

use extentdb_engine::Vector;
use extentdb_plan::physical::Expression;
use extentdb_types::{Datum, SqlType};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::{Evaluator, datum};
use crate::operator::{Operator, poll};

/// The input with a column that a function gives.
pub(crate) struct Call {
    input: Box<dyn Operator>,
    function: usize,
    arguments: Vec<Evaluator>,
    is_guarded: bool,
    ty: SqlType,
}

impl Call {
    pub(crate) fn new(
        input: Box<dyn Operator>,
        function: usize,
        arguments: &[Expression],
        is_guarded: bool,
        ty: SqlType,
    ) -> Call {
        Call {
            input,
            function,
            arguments: arguments.iter().map(Evaluator::new).collect(),
            is_guarded,
            ty,
        }
    }
}

impl Operator for Call {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let Some(mut batch) = self.input.next(context)? else { return Ok(None) };
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for evaluator in &mut self.arguments {
            arguments.push(evaluator.vector(&batch, &context.outer)?);
        }
        let mut results = Vector::computed(self.ty);
        for row in 0..batch.rows {
            poll(context)?;
            let values: Result<Vec<Datum<'_>>, Error> =
                arguments.iter().map(|vector| datum(vector, row)).collect();
            let mut values = values?;
            if self.is_guarded && values.pop() != Some(Datum::Int(1)) {
                results.push_null();
                continue;
            }
            let result = context.call(self.function, &values)?;
            push(&mut results, &result)?;
        }
        batch.columns.push(results);
        Ok(Some(batch))
    }
}

fn push(results: &mut Vector, value: &Datum<'_>) -> Result<(), Error> {
    if value.is_null() {
        results.push_null();
        return Ok(());
    }
    let mut stored = Vec::new();
    let encoded = value.encode(&results.ty, &mut stored);
    encoded.map_err(|error| Error::NotSupported(error.to_string()))?;
    let pushed = results.push_stored(Some(&stored));
    pushed.map_err(|error| Error::NotSupported(error.to_string()))
}
