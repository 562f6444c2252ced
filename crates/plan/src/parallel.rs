//! Which tables several threads read: those whose rows come in any order, and are many.
//!
//! A thread costs about as much as it takes to read some thousand rows; what it reads is to be
//! thinned out, grouped or joined before it reaches the client, who takes rows one by one anyway.

use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::JoinKind;
use extentdb_engine::Values;
use extentdb_engine::Vector;

use crate::physical::{AggregateCall, Grouping, Node, Operator};

/// Fewer rows are read by one thread.
pub(crate) const PARALLEL_ROWS: f64 = 50_000.0;
/// Of so many rows that are read, at most one reaches the client.
const THINNED_OUT: f64 = 10.0;

/// Leaves to several threads only the scans of a query that gain by it.
pub(crate) fn choose(node: &mut Node) {
    let is_thinned_out = read_rows(node).is_some_and(|read| node.rows * THINNED_OUT <= read);
    within(node, is_thinned_out);
}

/// Leaves all scans to one thread.
pub(crate) fn forbid(node: &mut Node) {
    if let Operator::Scan(scan) = &mut node.operator {
        scan.is_parallel = false;
    }
    node.inputs_mut().into_iter().for_each(forbid);
}

fn within(node: &mut Node, is_worth_it: bool) {
    match &mut node.operator {
        Operator::Scan(scan) => scan.is_parallel &= is_worth_it,
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::Top { input, .. } => within(input, is_worth_it),
        Operator::HashJoin(join) => {
            within(&mut join.left, true);
            within(&mut join.right, true);
        }
        Operator::LoopJoin(join) => {
            let is_read_once = join.bindings.is_empty() && join.kind != JoinKind::Full;
            within(&mut join.left, true);
            match is_read_once {
                true => within(&mut join.right, true),
                false => forbid(&mut join.right),
            }
        }
        Operator::Aggregate(grouping) => {
            let is_free = !grouping.calls.iter().any(depends_on_order);
            match is_free {
                true => within(&mut grouping.input, true),
                false => forbid(&mut grouping.input),
            }
        }
        Operator::Sort { input, .. } => within(input, true),
        Operator::Concat(inputs) => inputs.iter_mut().for_each(|input| within(input, is_worth_it)),
        Operator::SetOperation { left, right, .. } => {
            within(left, true);
            within(right, true);
        }
        Operator::Window(window) => within(&mut window.input, true),
        Operator::Call { .. } | Operator::Text { .. } | Operator::Recursive { .. } => {
            node.inputs_mut().into_iter().for_each(forbid);
        }
        Operator::Row
        | Operator::Values(_)
        | Operator::Provided(_)
        | Operator::Function(..)
        | Operator::Recent { .. } => {}
    }
}

/// Rows that the scan below filters and projections reads; `None` where there is none, or it is one
/// for one thread.
fn read_rows(node: &Node) -> Option<f64> {
    match &node.operator {
        Operator::Scan(scan) => scan.is_parallel.then_some(scan.read_rows),
        Operator::Filter { input, .. } | Operator::Project { input, .. } => read_rows(input),
        _ => None,
    }
}

/// Does the result differ with the order of the rows? Sums of floats do in their last digits.
fn depends_on_order(call: &AggregateCall) -> bool {
    match call.function {
        Aggregate::StringAgg => call.order.is_empty(),
        Aggregate::StDev | Aggregate::StDevP | Aggregate::Var | Aggregate::VarP => true,
        Aggregate::Sum | Aggregate::Avg => is_float(call),
        // Of texts that are equal, the first one.
        Aggregate::Min | Aggregate::Max => !is_exact(call),
        Aggregate::Count
        | Aggregate::CountBig
        | Aggregate::ApproxCountDistinct
        | Aggregate::ChecksumAgg => false,
    }
}

/// May a grouping be made of groupings of parts of its input?
pub(crate) fn is_divisible(grouping: &Grouping, rows: f64) -> bool {
    let is_divisible = |call: &AggregateCall| {
        let is_known = match call.function {
            Aggregate::Count | Aggregate::CountBig => true,
            Aggregate::Sum | Aggregate::Avg | Aggregate::Min | Aggregate::Max => is_exact(call),
            _ => false,
        };
        is_known && !call.is_distinct && call.order.is_empty()
    };
    // Groups of nearly every row would be made twice.
    rows * 4.0 <= grouping.input.rows
        && grouping.sets.is_none()
        && grouping.calls.iter().all(is_divisible)
}

fn is_float(call: &AggregateCall) -> bool {
    matches!(Vector::computed(call.argument_type).values, Values::F32(_) | Values::F64(_))
}

/// Are values of its argument equal only where they are the same?
fn is_exact(call: &AggregateCall) -> bool {
    !is_float(call)
        && !matches!(
            Vector::computed(call.argument_type).values,
            Values::Fixed { .. } | Values::Variable { .. }
        )
}
