//! Which tables several threads read: those whose rows come in any order, and are many.
//!
//! A thread costs about as much as it takes to read some thousand rows; what it reads is to be
//! thinned out, grouped or joined before it reaches the client, who takes rows one by one anyway.

use extentdb_base::sync::Arc;
use extentdb_bind::function::Aggregate;
use extentdb_bind::logical::JoinKind;
use extentdb_engine::Values;
use extentdb_engine::Vector;

use crate::physical::{AggregateCall, Grouping, Node, Operator};

/// Fewer rows are read by one thread.
pub(crate) const PARALLEL_ROWS: f64 = 50_000.0;
/// Of so many rows that are read, at most one reaches the client.
const THINNED_OUT: f64 = 10.0;

/// Who reads the rows of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// One thread, all that is below it, too.
    One,
    /// One thread: it is not worth more.
    OneHere,
    Several,
}

impl Readers {
    /// Of an input whose rows are taken in any order, all of them.
    fn of_whole(self) -> Readers {
        if self == Readers::One { Readers::One } else { Readers::Several }
    }
}

/// Leaves to several threads only the scans of a query that gain by it.
pub(crate) fn choose(node: &mut Node) {
    let is_thinned_out = read_rows(node).is_some_and(|read| node.rows * THINNED_OUT <= read);
    set(node, if is_thinned_out { Readers::Several } else { Readers::OneHere });
}

/// Leaves all scans to one thread.
pub(crate) fn forbid(node: &mut Node) {
    set(node, Readers::One);
}

fn set(node: &mut Node, readers: Readers) {
    let whole = readers.of_whole();
    match &mut node.operator {
        Operator::Scan(scan) => {
            Arc::make_mut(scan).is_parallel &= readers == Readers::Several;
        }
        Operator::Filter { input, .. }
        | Operator::Project { input, .. }
        | Operator::Top { input, .. } => set(input, readers),
        Operator::Concat(inputs) => inputs.iter_mut().for_each(|input| set(input, readers)),
        Operator::Sort { input, .. } => set(input, whole),
        Operator::Window(window) => set(&mut window.input, whole),
        Operator::HashJoin(join) => {
            set(&mut join.left, whole);
            set(&mut join.right, whole);
        }
        Operator::LoopJoin(join) => {
            let is_read_once = join.bindings.is_empty() && join.kind != JoinKind::Full;
            set(&mut join.left, whole);
            set(&mut join.right, if is_read_once { whole } else { Readers::One });
        }
        Operator::SetOperation { left, right, .. } => {
            set(left, whole);
            set(right, whole);
        }
        Operator::Aggregate(grouping) => {
            let is_ordered = grouping.calls.iter().any(depends_on_order);
            set(&mut grouping.input, if is_ordered { Readers::One } else { whole });
        }
        Operator::Call { input, .. } | Operator::Text { input, .. } => set(input, Readers::One),
        Operator::Recursive { anchor, step, .. } => {
            set(anchor, Readers::One);
            set(step, Readers::One);
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
        | Aggregate::ApproxPercentileCont
        | Aggregate::ApproxPercentileDisc
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
