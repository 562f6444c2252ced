//! The rows of a part of a plan that several threads run, in no order; of one thread, where there
//! are no others.

use extentdb_base::sync::Arc;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::exchange::Producer;
use crate::operator::{Operator, append, poll};
use crate::parallel::{Fragment, Running, Work};

/// The rows of a part of a plan that several threads run.
pub(crate) struct Gather {
    fragment: Fragment,
    sequential: Box<dyn Operator>,
    running: Option<Running<Batch>>,
    /// Have the threads ended?
    is_left: bool,
}

impl Gather {
    pub(crate) fn new(fragment: Fragment) -> Gather {
        Gather {
            sequential: fragment.sequential(),
            fragment,
            running: None,
            is_left: false,
        }
    }
}

impl Operator for Gather {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        if let Some(running) = self.running.take() {
            running.end(context);
        }
        self.is_left = false;
        let work: Work<Batch> = Arc::new(send);
        self.running = self.fragment.start(context, &work)?;
        if self.running.is_none() {
            self.sequential.open(context)?;
        }
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let Some(running) = &mut self.running else { return self.sequential.next(context) };
        if !self.is_left {
            if let Some(batch) = running.pop(context)? {
                return Ok(Some(batch));
            }
            self.is_left = true;
        }
        running.next_left(context)
    }
}

/// Batches with fewer rows are put together: one to be taken wakes a thread.
const FEW_ROWS: usize = BATCH_ROWS / 2;

fn send(
    operator: &mut dyn Operator,
    context: &mut Context<'_>,
    to: &Producer<Batch>,
) -> Result<(), Error> {
    operator.open(context)?;
    let mut few: Option<Batch> = None;
    while let Some(batch) = operator.next(context)? {
        poll(context)?;
        let all = match few.take() {
            Some(mut all) => {
                append(&mut all, &batch)?;
                all
            }
            None => batch,
        };
        if all.rows < FEW_ROWS {
            few = Some(all);
        } else if !to.push(all) {
            return Ok(());
        }
    }
    if let Some(rest) = few {
        to.push(rest);
    }
    Ok(())
}
