//! Window functions: values computed over the rows around each row.
//!
//! ```text
//! input, sorted by partition and order ──▶ Chunk: whole partitions ──▶ Layout: partitions, peers,
//!                                             │            │           frames
//!                                             └─ each call: one column of results
//! ```
//!
//! Invariant: the input is sorted by the columns of the partition, then by the order; so partitions
//! and peers (rows that the order does not tell apart) are runs of rows.

mod aggregate;
mod buffer;
mod extreme;
mod layout;
#[cfg(test)]
mod model;
mod offset;
mod percentile;
mod rank;
mod slide;
mod total;
mod value;

use extentdb_bind::function::WindowFunction;
use extentdb_engine::Vector;
use extentdb_plan::physical::{self, SortKey, WindowCall};

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::operator::aggregate::note_nulls_of;
use crate::operator::window::buffer::{Buffer, Chunk, Given};
use crate::operator::window::layout::Layout;
use crate::operator::{Operator, poll};

/// The input with a column for each function.
pub(crate) struct Window {
    input: Box<dyn Operator>,
    partition: Vec<usize>,
    order: Vec<SortKey>,
    calls: Vec<WindowCall>,
    buffer: Buffer,
    given: Option<Given>,
}

impl Window {
    pub(crate) fn new(window: &physical::Window, input: Box<dyn Operator>) -> Window {
        let arguments = window.calls.iter().flat_map(|call| call.arguments.iter().copied());
        let used: Vec<usize> = arguments.chain(window.order.iter().map(|key| key.column)).collect();
        let types = window.input.columns.iter().map(|column| column.ty).collect();
        Window {
            input,
            buffer: Buffer::new(types, &window.partition, &used),
            partition: window.partition.clone(),
            order: window.order.clone(),
            calls: window.calls.clone(),
            given: None,
        }
    }

    fn compute(&self, chunk: Chunk, context: &Context<'_>) -> Result<Given, Error> {
        let rows = &chunk.rows;
        let order: Vec<usize> = self.order.iter().map(|key| key.column).collect();
        let layout = Layout::new(rows, &self.partition, &order);
        let mut results = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            poll(context)?;
            results.push(self.column(call, rows, &layout, context)?);
        }
        chunk.with(results)
    }

    fn column(
        &self,
        call: &WindowCall,
        rows: &Batch,
        layout: &Layout,
        context: &Context<'_>,
    ) -> Result<Vector, Error> {
        match call.function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => rank::rank(call.function, call.ty, layout),
            WindowFunction::NTile => rank::tiles(argument(call, rows, 0)?, call.ty, layout),
            WindowFunction::Lag | WindowFunction::Lead => offset::column(call, rows, layout),
            WindowFunction::FirstValue | WindowFunction::LastValue => {
                value::column(call, argument(call, rows, 0)?, layout)
            }
            WindowFunction::PercentileCont | WindowFunction::PercentileDisc => {
                let missing = || Error::NotSupported("a percentile without an order".to_owned());
                let key = self.order.first().ok_or_else(missing)?;
                let values = rows.columns.get(key.column).ok_or_else(missing)?;
                percentile::column(call, argument(call, rows, 0)?, values, layout)
            }
            WindowFunction::Aggregate(function) => {
                let first = call.arguments.first().and_then(|column| rows.columns.get(*column));
                note_nulls_of(first, context);
                aggregate::column(function, call, rows, layout, context)
            }
        }
    }
}

/// The column of an argument.
fn argument<'b>(call: &WindowCall, rows: &'b Batch, at: usize) -> Result<&'b Vector, Error> {
    let column = call.arguments.get(at).and_then(|column| rows.columns.get(*column));
    column.ok_or_else(|| Error::NotSupported("a window function without its argument".to_owned()))
}

impl Operator for Window {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.given = None;
        self.buffer.clear();
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        loop {
            poll(context)?;
            if let Some(given) = &mut self.given
                && let Some(batch) = given.next()?
            {
                return Ok(Some(batch));
            }
            self.given = None;
            let Some(chunk) = self.buffer.next(&mut *self.input, context)? else {
                return Ok(None);
            };
            self.given = Some(self.compute(chunk, context)?);
        }
    }
}

#[cfg(test)]
mod tests;
