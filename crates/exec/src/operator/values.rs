//! Rows of values: VALUES, and lists of constants.

use extentdb_bind::logical::Column;
use extentdb_plan::physical::Expression;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::operator::{Operator, poll};

/// Rows of values that use no columns.
#[derive(Debug)]
pub(crate) struct Values {
    columns: Vec<Column>,
    rows: Vec<Vec<Evaluator>>,
    at: usize,
}

impl Values {
    pub(crate) fn new(columns: &[Column], rows: &[Vec<Expression>]) -> Values {
        let row = |row: &Vec<Expression>| row.iter().map(Evaluator::new).collect();
        Values {
            columns: columns.to_vec(),
            rows: rows.iter().map(row).collect(),
            at: 0,
        }
    }
}

impl Operator for Values {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        poll(context)?;
        let mut batch = Batch::empty(&self.columns);
        for row in self.rows.iter_mut().skip(self.at).take(BATCH_ROWS) {
            for (value, column) in row.iter_mut().zip(&mut batch.columns) {
                let stored = value.stored(&context.outer)?;
                let pushed = column.push_stored(stored.as_deref());
                pushed.map_err(|error| Error::NotSupported(error.to_string()))?;
            }
            batch.rows += 1;
        }
        self.at += batch.rows;
        Ok(Some(batch).filter(|batch| batch.rows > 0))
    }
}
