//! Aggregates over frames: those of whole partitions as groups, the others by frames that slide.

use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::FrameBound;
use extentdb_engine::{Values, Vector};
use extentdb_plan::physical::{AggregateCall, WindowCall};
use extentdb_types::SqlType;

use crate::batch::{BATCH_ROWS, Batch};
use crate::context::Context;
use crate::error::Error;
use crate::number::{self, Results};
use crate::operator::aggregate::create;
use crate::operator::aggregate::fold::Groups;
use crate::operator::aggregate::variance::Spread;
use crate::operator::poll;
use crate::operator::window::argument;
use crate::operator::window::extreme::Extreme;
use crate::operator::window::layout::Layout;
use crate::operator::window::slide::slide;
use crate::operator::window::total::{Count, Exact, Float};
use crate::operator::window::value::typed;

/// The aggregate of each row's frame.
pub(super) fn column(
    function: Aggregate,
    call: &WindowCall,
    rows: &Batch,
    layout: &Layout,
    context: &Context<'_>,
) -> Result<Vector, Error> {
    let is_range = call.frame.is_range;
    let is_by_rows = |bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
    if is_range && (is_by_rows(call.frame.start) || is_by_rows(call.frame.end)) {
        return Err(Error::NotSupported("RANGE with a number of rows".to_owned()));
    }
    let is_grouping_only = function.is_percentile()
        || matches!(function, Aggregate::StringAgg | Aggregate::ApproxCountDistinct);
    if is_grouping_only {
        return Err(Error::NotSupported(format!("{} over a window", function.name())));
    }
    let is_whole = call.frame.start == FrameBound::UnboundedPreceding
        && call.frame.end == FrameBound::UnboundedFollowing;
    if is_whole {
        return of_partitions(function, call, rows, layout);
    }
    match function {
        Aggregate::Count | Aggregate::CountBig => {
            let values =
                if call.arguments.is_empty() { None } else { Some(argument(call, rows, 0)?) };
            let mut count = Count::new(values, call.ty);
            slide(layout, &call.frame, &mut count, context)?;
            Ok(count.finish())
        }
        Aggregate::Min | Aggregate::Max => {
            let mut extreme = Extreme::new(argument(call, rows, 0)?, function == Aggregate::Max);
            slide(layout, &call.frame, &mut extreme, context)?;
            typed(call, extreme.finish())
        }
        Aggregate::StDev | Aggregate::StDevP | Aggregate::Var | Aggregate::VarP => {
            spread(function, call, argument(call, rows, 0)?, layout, context)
        }
        _ => total(function, call, argument(call, rows, 0)?, layout, context),
    }
}

/// One result for each partition, for all its rows.
fn of_partitions(
    function: Aggregate,
    call: &WindowCall,
    rows: &Batch,
    layout: &Layout,
) -> Result<Vector, Error> {
    let column = call.arguments.first().copied();
    let types: Vec<SqlType> = rows.columns.iter().map(|column| column.ty).collect();
    let aggregate = AggregateCall {
        function,
        argument: column,
        argument_type: call.argument_types.first().copied().unwrap_or(call.ty),
        separator: None,
        is_distinct: false,
        order: Vec::new(),
        ty: call.ty,
    };
    let mut accumulator = create::accumulator(&aggregate, &types)?;
    accumulator.grow(layout.partitions().len());
    accumulator.update(rows, Groups::Each(layout.partitions().numbers()))?;
    let results = accumulator.finish()?;
    typed(call, results.take(layout.partitions().numbers()))
}

fn total(
    function: Aggregate,
    call: &WindowCall,
    values: &Vector,
    layout: &Layout,
    context: &Context<'_>,
) -> Result<Vector, Error> {
    let refused = || Error::NotSupported(format!("{} of {}", function.name(), values.ty));
    if matches!(values.values, Values::F32(_) | Values::F64(_)) {
        let mut sum = Float::new(values, function, call.ty).ok_or_else(refused)?;
        slide(layout, &call.frame, &mut sum, context)?;
        return Ok(sum.finish());
    }
    let mut sum = Exact::new(values, function, call.ty).ok_or_else(refused)?;
    slide(layout, &call.frame, &mut sum, context)?;
    Ok(sum.finish())
}

/// STDEV and the like: rows are added while frames grow; a frame whose first row leaves is computed
/// again, because values cannot be taken off without losing digits.
fn spread(
    function: Aggregate,
    call: &WindowCall,
    values: &Vector,
    layout: &Layout,
    context: &Context<'_>,
) -> Result<Vector, Error> {
    let refused = || Error::NotSupported(format!("{} of {}", function.name(), values.ty));
    let numbers = number::floats(values).ok_or_else(refused)?;
    let mut results = Results::new(call.ty);
    let mut spread = Spread::default();
    let mut counted = 0..0;
    let mut work = 0;
    for row in 0..layout.rows() {
        let frame = layout.frame(&call.frame, row);
        if frame.start != counted.start || frame.is_empty() || counted.is_empty() {
            spread = Spread::default();
            counted = frame.start..frame.start;
        }
        for row in counted.end..frame.end {
            if let Some(value) = numbers.get(row).filter(|_| !values.is_null(row)) {
                spread.add(*value);
            }
            work += 1;
            if work % BATCH_ROWS == 0 {
                poll(context)?;
            }
        }
        counted.end = counted.end.max(frame.end);
        results.push_float(spread.result(function))?;
    }
    Ok(results.finish())
}
