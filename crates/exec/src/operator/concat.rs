//! All rows of all inputs: UNION ALL.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::operator::Operator;

/// The rows of one input after the other. An input is opened when those before it have ended.
pub(crate) struct Concat {
    inputs: Vec<Box<dyn Operator>>,
    at: usize,
    is_open: bool,
}

impl Concat {
    pub(crate) fn new(inputs: Vec<Box<dyn Operator>>) -> Concat {
        Concat { inputs, at: 0, is_open: false }
    }
}

impl Operator for Concat {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.at = 0;
        self.is_open = false;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        while let Some(input) = self.inputs.get_mut(self.at) {
            if !self.is_open {
                input.open(context)?;
                self.is_open = true;
            }
            if let Some(batch) = input.next(context)? {
                return Ok(Some(batch));
            }
            self.at += 1;
            self.is_open = false;
        }
        Ok(None)
    }
}
