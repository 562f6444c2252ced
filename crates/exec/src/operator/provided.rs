//! Rows of a provider: system views, tables of files that are only read.

use extentdb_bind::provider::RowStream;
use extentdb_plan::physical::ProvidedRows;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::operator::{Operator, poll};

/// Rows of a provider.
pub(crate) struct Provided {
    plan: ProvidedRows,
    stream: Option<Box<dyn RowStream>>,
}

impl Provided {
    pub(crate) fn new(plan: &ProvidedRows) -> Provided {
        Provided { plan: plan.clone(), stream: None }
    }
}

impl Operator for Provided {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        let opened = self.plan.provider.open(&self.plan.columns);
        self.stream = Some(opened.map_err(Error::NotSupported)?);
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        poll(context)?;
        let Some(stream) = &mut self.stream else { return Ok(None) };
        match stream.next() {
            Ok(Some(batch)) => Ok(Some(Batch { rows: batch.rows, columns: batch.columns })),
            Ok(None) => {
                self.stream = None;
                Ok(None)
            }
            Err(error) => {
                // A stream that gives up because the request ends says so by the interrupt.
                poll(context)?;
                Err(Error::NotSupported(error))
            }
        }
    }
}
