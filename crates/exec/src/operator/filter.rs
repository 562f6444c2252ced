//! Rows whose condition is true: neither false nor unknown.

use extentdb_plan::physical::Expression;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::operator::{Operator, poll};

/// Rows whose condition is true.
pub(crate) struct Filter {
    input: Box<dyn Operator>,
    condition: Evaluator,
}

impl Filter {
    pub(crate) fn new(input: Box<dyn Operator>, condition: &Expression) -> Filter {
        Filter { input, condition: Evaluator::new(condition) }
    }
}

impl Operator for Filter {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        while let Some(batch) = self.input.next(context)? {
            poll(context)?;
            let selected = self.condition.selection(&batch, &context.outer)?;
            if selected.len() == batch.rows {
                return Ok(Some(batch));
            }
            if !selected.is_empty() {
                return Ok(Some(batch.take(&selected)));
            }
        }
        Ok(None)
    }
}
