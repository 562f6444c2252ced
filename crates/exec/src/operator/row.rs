//! One row without columns: what a query without FROM reads.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::operator::Operator;

/// One row without columns.
#[derive(Debug, Default)]
pub(crate) struct Row {
    is_given: bool,
}

impl Operator for Row {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.is_given = false;
        Ok(())
    }

    fn next(&mut self, _: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let is_given = std::mem::replace(&mut self.is_given, true);
        Ok((!is_given).then(|| Batch { rows: 1, columns: Vec::new() }))
    }
}
