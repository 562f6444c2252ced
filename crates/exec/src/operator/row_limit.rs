//! How many rows TOP, OFFSET and FETCH leave, as it is when the operator begins.

use extentdb_engine::Values;
use extentdb_plan::physical::{Expression, TopRows};

use crate::batch::Batch;
use crate::context::OuterValues;
use crate::error::Error;
use crate::evaluate::Evaluator;
use crate::number;

/// Message numbers of what a count of rows may not be.
mod message {
    /// TOP of less than nothing.
    pub(super) const TOP_NEGATIVE: i32 = 127;
    /// TOP of something that is no integer, NULL among them.
    pub(super) const TOP_NO_INTEGER: i32 = 1060;
    /// TOP of a share beyond 0 to 100 percent.
    pub(super) const TOP_PERCENT: i32 = 1031;
    pub(super) const OFFSET_NEGATIVE: i32 = 10742;
    pub(super) const OFFSET_NO_INTEGER: i32 = 10743;
    /// FETCH of less than one row.
    pub(super) const FETCH_NONE: i32 = 10744;
    pub(super) const FETCH_NO_INTEGER: i32 = 10745;
}

/// What says how many rows are left.
#[derive(Debug)]
pub(crate) struct RowLimit {
    skip: Option<Evaluator>,
    count: Option<Evaluator>,
    is_percent: bool,
}

/// How many rows are left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    /// Rows that are left out first.
    pub(crate) skip: u64,
    /// Rows that follow.
    pub(crate) count: Count,
}

/// A number of rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Count {
    /// All that there are.
    All,
    /// At most as many.
    Rows(u64),
    /// A share of all, in percent, rounded up.
    Percent(f64),
}

impl RowLimit {
    pub(crate) fn new(top: &TopRows) -> RowLimit {
        let evaluator = |expression: &Expression| Evaluator::new(expression);
        RowLimit {
            skip: top.skip.as_ref().map(evaluator),
            count: top.count.as_ref().map(evaluator),
            is_percent: top.is_percent,
        }
    }

    /// The numbers of rows.
    ///
    /// # Errors
    /// [`Error::RowCount`] with the number of the message for what is wrong with them.
    pub(crate) fn limits(&mut self, outer: &OuterValues) -> Result<Limits, Error> {
        // FETCH follows OFFSET; TOP stands alone.
        let is_fetch = self.skip.is_some();
        let skip = match &mut self.skip {
            None => 0,
            Some(skip) => {
                let value = integer(skip, outer, message::OFFSET_NO_INTEGER)?;
                at_least(value, 0, message::OFFSET_NEGATIVE)?
            }
        };
        let count = match &mut self.count {
            None => Count::All,
            Some(count) if self.is_percent => Count::Percent(percent(count, outer)?),
            Some(count) if is_fetch => {
                let value = integer(count, outer, message::FETCH_NO_INTEGER)?;
                Count::Rows(at_least(value, 1, message::FETCH_NONE)?)
            }
            Some(count) => {
                let value = integer(count, outer, message::TOP_NO_INTEGER)?;
                Count::Rows(at_least(value, 0, message::TOP_NEGATIVE)?)
            }
        };
        Ok(Limits { skip, count })
    }
}

impl Limits {
    /// Rows that are needed to know the result; `None`: all.
    pub(crate) fn needed(&self) -> Option<u64> {
        match self.count {
            Count::Rows(rows) => Some(self.skip.saturating_add(rows)),
            Count::All | Count::Percent(_) => None,
        }
    }
}

fn at_least(value: i64, least: u64, number: i32) -> Result<u64, Error> {
    u64::try_from(value).ok().filter(|value| *value >= least).ok_or(Error::RowCount { number })
}

fn integer(evaluator: &mut Evaluator, outer: &OuterValues, number: i32) -> Result<i64, Error> {
    let vector = evaluator.vector(&Batch { rows: 1, columns: Vec::new() }, outer)?;
    let is_integer = matches!(
        vector.values,
        Values::Bits(_) | Values::U8(_) | Values::I16(_) | Values::I32(_) | Values::I64(_)
    );
    let value = vector.integers().filter(|_| is_integer && !vector.is_null(0));
    value.and_then(|values| values.first().copied()).ok_or(Error::RowCount { number })
}

fn percent(evaluator: &mut Evaluator, outer: &OuterValues) -> Result<f64, Error> {
    let vector = evaluator.vector(&Batch { rows: 1, columns: Vec::new() }, outer)?;
    let value = number::floats(&vector).filter(|_| !vector.is_null(0));
    let value = value.and_then(|values| values.first().copied());
    let value = value.ok_or(Error::RowCount { number: message::TOP_NO_INTEGER })?;
    if (0.0..=100.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::RowCount { number: message::TOP_PERCENT })
    }
}
