//! Recursive common table expressions: rounds of a step over the rows that were added last.
//!
//! Semi-naive evaluation: each round sees the rows of the round before only, through
//! [`Recent`], and ends with the rows that the next one sees.
//!
//! Invariant: rows are given as they are made: those before an error have been given.

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::operator::{Operator, poll};

/// A recursion.
pub(crate) struct Recursive {
    number: usize,
    anchor: Box<dyn Operator>,
    step: Box<dyn Operator>,
    /// Rounds that may add rows; 0: any number.
    most: u32,
    /// The round that runs; 0: the anchor.
    round: u32,
    is_ended: bool,
    /// Rows of this round.
    added: Vec<Batch>,
}

impl Recursive {
    pub(crate) fn new(
        number: usize,
        anchor: Box<dyn Operator>,
        step: Box<dyn Operator>,
        most: u32,
    ) -> Recursive {
        Recursive {
            number,
            anchor,
            step,
            most,
            round: 0,
            is_ended: false,
            added: Vec::new(),
        }
    }

    /// Begins the next round; false: the last one added nothing.
    fn begin_round(&mut self, context: &mut Context<'_>) -> Result<bool, Error> {
        let added = std::mem::take(&mut self.added);
        if added.is_empty() {
            context.recent.remove(&self.number);
            return Ok(false);
        }
        context.recent.insert(self.number, added);
        self.round += 1;
        self.step.open(context)?;
        Ok(true)
    }
}

impl Operator for Recursive {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.round = 0;
        self.is_ended = false;
        self.added.clear();
        self.anchor.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        while !self.is_ended {
            poll(context)?;
            let input = if self.round == 0 { &mut self.anchor } else { &mut self.step };
            if let Some(batch) = input.next(context)? {
                if self.most > 0 && self.round > self.most {
                    return Err(Error::Recursion { most: self.most });
                }
                self.added.push(batch.clone());
                return Ok(Some(batch));
            }
            self.is_ended = !self.begin_round(context)?;
        }
        Ok(None)
    }
}

/// The rows that were added last to a recursion.
#[derive(Debug)]
pub(crate) struct Recent {
    number: usize,
    at: usize,
}

impl Recent {
    pub(crate) fn new(number: usize) -> Recent {
        Recent { number, at: 0 }
    }
}

impl Operator for Recent {
    fn open(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        self.at = 0;
        Ok(())
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        let rows = context.recent.get(&self.number);
        let batch = rows.and_then(|rows| rows.get(self.at)).cloned();
        self.at += 1;
        Ok(batch)
    }
}
