//! TOP, OFFSET and FETCH: some of the first rows.

use extentdb_plan::physical::{SortKey, TopRows};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::key::KeyEncoder;
use crate::operator::row_limit::{Count, RowLimit};
use crate::operator::{Operator, Rows, drain, poll};

/// Some of the first rows of the input.
pub(crate) struct Top {
    input: Box<dyn Operator>,
    limit: RowLimit,
    ties: Option<KeyEncoder>,
    state: State,
}

/// What is left to do.
enum State {
    /// Rows to skip, then rows to give; `None`: all.
    Counting {
        skip: u64,
        left: Option<u64>,
    },
    /// The rows that are given; a share of all.
    Percent {
        skip: u64,
        share: f64,
    },
    /// Rows that are there.
    Given(Rows),
    /// Rows whose key is that of the last one.
    Ties(Vec<u8>),
    Ended,
}

impl Top {
    pub(crate) fn new(input: Box<dyn Operator>, top: &TopRows, ties: Option<&Vec<SortKey>>) -> Top {
        Top {
            input,
            limit: RowLimit::new(top),
            ties: ties.map(|keys| KeyEncoder::new(keys.clone())),
            state: State::Ended,
        }
    }

    /// The part of a batch that is given; moves on when the count is reached.
    fn count(&mut self, batch: Batch, skip: u64, left: Option<u64>) -> Batch {
        let skipped = skip.min(batch.rows as u64);
        let behind = batch.rows as u64 - skipped;
        let given = left.map_or(behind, |left| left.min(behind));
        let part = batch.slice(skipped as usize, given as usize);
        let left = left.map(|left| left - given);
        self.state = State::Counting { skip: skip - skipped, left };
        if left == Some(0) {
            self.state = State::Ended;
            if let (Some(keys), Some(last)) = (&mut self.ties, part.rows.checked_sub(1)) {
                let mut key = Vec::new();
                keys.push(&part, last, &mut key);
                let first = skipped as usize + part.rows;
                let (tied, is_end) = tied(keys, &key, &batch, first);
                if !is_end {
                    self.state = State::Ties(key);
                }
                return batch.slice(skipped as usize, part.rows + tied);
            }
        }
        part
    }

    /// All rows are read, to know what their share is.
    fn percent(
        &mut self,
        context: &mut Context<'_>,
        skip: u64,
        share: f64,
    ) -> Result<Option<Batch>, Error> {
        self.state = State::Ended;
        let Some(all) = drain(&mut *self.input, context)? else { return Ok(None) };
        let rows = (all.rows as f64 * share / 100.0).ceil() as u64;
        if rows == 0 {
            return Ok(None);
        }
        let part = self.count(all, skip, Some(rows));
        let mut given = Rows::new(part);
        let first = given.next();
        self.state = State::Given(given);
        Ok(first)
    }
}

/// How many rows of a batch, from one on, have this key; and whether one follows that has not.
fn tied(keys: &mut KeyEncoder, key: &[u8], batch: &Batch, from: usize) -> (usize, bool) {
    let mut own = Vec::new();
    for row in from..batch.rows {
        own.clear();
        keys.push(batch, row, &mut own);
        if own != key {
            return (row - from, true);
        }
    }
    (batch.rows.saturating_sub(from), false)
}

impl Operator for Top {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let limits = self.limit.limits(&context.outer)?;
        self.state = match limits.count {
            Count::All => State::Counting { skip: limits.skip, left: None },
            Count::Rows(0) => State::Ended,
            Count::Rows(rows) => State::Counting { skip: limits.skip, left: Some(rows) },
            Count::Percent(share) => State::Percent { skip: limits.skip, share },
        };
        if matches!(self.state, State::Ended) {
            return Ok(());
        }
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        loop {
            poll(context)?;
            match &mut self.state {
                State::Ended => return Ok(None),
                State::Given(rows) => return Ok(rows.next()),
                State::Percent { skip, share } => {
                    let (skip, share) = (*skip, *share);
                    return self.percent(context, skip, share);
                }
                State::Counting { skip, left } => {
                    let skip = *skip;
                    let left = *left;
                    let Some(batch) = self.input.next(context)? else { return Ok(None) };
                    let part = self.count(batch, skip, left);
                    if part.rows > 0 {
                        return Ok(Some(part));
                    }
                }
                State::Ties(key) => {
                    let Some(batch) = self.input.next(context)? else { return Ok(None) };
                    let Some(keys) = &mut self.ties else { return Ok(None) };
                    let (tied, is_end) = tied(keys, key, &batch, 0);
                    if is_end {
                        self.state = State::Ended;
                    }
                    return Ok(Some(batch.slice(0, tied)).filter(|part| part.rows > 0));
                }
            }
        }
    }
}
