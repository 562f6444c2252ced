//! Columns of the input, then computed ones.

use extentdb_plan::physical::Expression;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::operator::Operator;

/// Columns of the input, then computed ones.
pub(crate) struct Project {
    input: Box<dyn Operator>,
    keep: Vec<usize>,
    computed: Vec<Evaluator>,
}

impl Project {
    pub(crate) fn new(
        input: Box<dyn Operator>,
        keep: &[usize],
        computed: &[Expression],
    ) -> Project {
        Project {
            input,
            keep: keep.to_vec(),
            computed: computed.iter().map(Evaluator::new).collect(),
        }
    }
}

impl Operator for Project {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let Some(mut batch) = self.input.next(context)? else { return Ok(None) };
        let mut computed = Vec::with_capacity(self.computed.len());
        for evaluator in &mut self.computed {
            computed.push(evaluator.vector(&batch, &context.outer)?);
        }
        let rows = batch.rows;
        let mut columns = Vec::with_capacity(self.keep.len() + computed.len());
        for (at, column) in self.keep.iter().enumerate() {
            let is_kept_again = self.keep.iter().skip(at + 1).any(|other| other == column);
            let Some(own) = batch.columns.get_mut(*column) else { continue };
            columns.push(if is_kept_again {
                own.clone()
            } else {
                let none = extentdb_engine::Vector::computed(own.ty);
                std::mem::replace(own, none)
            });
        }
        columns.extend(computed);
        Ok(Some(Batch { rows, columns }))
    }
}
