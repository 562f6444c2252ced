//! Groupings of parts of the input, which threads make and the session puts together.
//!
//! A thread that has no room for more groups gives those that it has, and rows from then on; all
//! others do the same at their next batch, so that few rows wait for the last groups.

use std::collections::VecDeque;

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::exchange::Producer;
use crate::memory::Reservation;
use crate::operator::aggregate::Plan;
use crate::operator::aggregate::note_nulls;
use crate::operator::aggregate::set::Set;
use crate::operator::{Operator, poll};
use crate::parallel::{Running, Work};

/// What threads give.
pub(super) enum Partial {
    /// The groups of a thread: once.
    Groups(Box<Set>, Reservation),
    /// Rows, after its groups.
    Rows(Batch),
}

/// Groups the rows of each thread.
pub(super) fn grouping(plan: &Arc<Plan>, keys: Vec<usize>) -> Work<Partial> {
    let plan = plan.clone();
    let is_full = AtomicBool::new(false);
    Arc::new(move |input, context, to| {
        input.open(context)?;
        let mut set = Set::new(&plan, &keys)?;
        let mut memory = context.memory.reservation();
        while !is_full.load(Ordering::Relaxed)
            && let Some(batch) = input.next(context)?
        {
            poll(context)?;
            note_nulls(&plan.calls, &batch, context);
            set.update(&batch)?;
            if !memory.resize(set.memory()) {
                memory.set(set.memory());
                is_full.store(true, Ordering::Relaxed);
            }
        }
        if to.push(Partial::Groups(Box::new(set), memory)) {
            pass_on(input, context, to)?;
        }
        Ok(())
    })
}

fn pass_on(
    input: &mut dyn Operator,
    context: &mut Context<'_>,
    to: &Producer<Partial>,
) -> Result<(), Error> {
    while let Some(batch) = input.next(context)? {
        poll(context)?;
        if !to.push(Partial::Rows(batch)) {
            break;
        }
    }
    Ok(())
}

/// Adds the groups of all threads to a set; the rows that came meanwhile.
pub(super) fn merge(
    running: &mut Running<Partial>,
    set: &mut Set,
    memory: &mut Reservation,
    context: &mut Context<'_>,
) -> Result<VecDeque<Batch>, Error> {
    let mut rows = VecDeque::new();
    let mut left = running.count;
    while left > 0 {
        poll(context)?;
        match running.pop(context)? {
            Some(Partial::Groups(own, _reserved)) => {
                left -= 1;
                set.merge(*own)?;
                memory.set(set.memory());
            }
            Some(Partial::Rows(batch)) => rows.push_back(batch),
            None => break,
        }
    }
    Ok(rows)
}

/// The next rows that are not grouped: of threads, then of the session.
pub(super) fn next_batch(
    running: &mut Running<Partial>,
    context: &mut Context<'_>,
) -> Result<Option<Batch>, Error> {
    match running.pop(context)? {
        Some(Partial::Rows(batch)) => Ok(Some(batch)),
        // Each thread has given its groups before.
        Some(Partial::Groups(..)) => Err(Error::NotSupported("groups given twice".to_owned())),
        None => running.next_left(context),
    }
}
