//! Plans as text: an operator a line, its inputs below it.
//!
//! ```text
//! top
//!   hash join inner
//!     scan orders by ix_date = >= <, 12 rows
//!     scan lineitem, 6000 rows
//! ```
//!
//! For tests, and to find the reason of a slow query; the form may change.

use std::fmt::{Display, Formatter, Result};

use extentdb_bind::logical::JoinKind;

use crate::physical::{Access, IndexRange, Node, Operator, Scan};

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        lines(self, 0, f)
    }
}

fn lines(node: &Node, depth: usize, f: &mut Formatter<'_>) -> Result {
    write!(f, "{:width$}", "", width = 2 * depth)?;
    line(node, f)?;
    writeln!(f)?;
    node.inputs().into_iter().try_for_each(|input| lines(input, depth + 1, f))
}

fn line(node: &Node, f: &mut Formatter<'_>) -> Result {
    match &node.operator {
        Operator::Scan(scan) => {
            scan_line(scan, f)?;
            write!(f, ", {:.0} rows", node.rows)
        }
        Operator::HashJoin(join) => {
            write!(f, "hash join {}, {:.0} rows", kind(join.kind), node.rows)
        }
        Operator::LoopJoin(join) => {
            write!(f, "loop join {}, {:.0} rows", kind(join.kind), node.rows)
        }
        Operator::Aggregate(_) => write!(f, "aggregate, {:.0} rows", node.rows),
        Operator::Filter { .. } => write!(f, "filter, {:.0} rows", node.rows),
        other => f.write_str(name(other)),
    }
}

fn scan_line(scan: &Scan, f: &mut Formatter<'_>) -> Result {
    let threads = if scan.is_parallel { "parallel " } else { "" };
    write!(f, "{threads}scan {}", scan.table.table.name())?;
    match &scan.access {
        Access::Whole => Ok(()),
        Access::Range(range) => range_text(range, f),
    }
}

fn range_text(range: &IndexRange, f: &mut Formatter<'_>) -> Result {
    write!(f, " by {}", range.index)?;
    range.equal.iter().try_for_each(|_| f.write_str(" ="))?;
    let (lower, upper) = if range.is_descending { ("<", ">") } else { (">", "<") };
    for (bound, sign) in [(&range.from, lower), (&range.to, upper)] {
        if let Some((_, is_included)) = bound {
            write!(f, " {sign}{}", if *is_included { "=" } else { "" })?;
        }
    }
    if range.is_backward { f.write_str(" backwards") } else { Ok(()) }
}

fn kind(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "inner",
        JoinKind::Left => "left",
        JoinKind::Full => "full",
        JoinKind::Semi => "semi",
        JoinKind::Anti => "anti",
        JoinKind::Mark(_) => "mark",
        JoinKind::Single => "single",
    }
}

fn name(operator: &Operator) -> &'static str {
    match operator {
        Operator::Row => "row",
        Operator::Values(_) => "values",
        Operator::Scan(_) => "scan",
        Operator::Provided(_) => "provided",
        Operator::Function(..) => "function",
        Operator::Filter { .. } => "filter",
        Operator::Project { .. } => "project",
        Operator::Call { .. } => "call",
        Operator::HashJoin(_) => "hash join",
        Operator::LoopJoin(_) => "loop join",
        Operator::Aggregate(_) => "aggregate",
        Operator::Window(_) => "window",
        Operator::Sort { .. } => "sort",
        Operator::Top { .. } => "top",
        Operator::Concat(_) => "concat",
        Operator::SetOperation { .. } => "set operation",
        Operator::Text { .. } => "text",
        Operator::Recursive { .. } => "recursion",
        Operator::Recent { .. } => "recent",
    }
}
