//! Operators of a physical plan.

use extentdb_plan::physical::{self, Node};

use crate::error::Error;
use crate::operator::Operator;
use crate::operator::aggregate::Aggregate;
use crate::operator::call::Call;
use crate::operator::concat::Concat;
use crate::operator::filter::Filter;
use crate::operator::function::Function;
use crate::operator::gather::Gather;
use crate::operator::hash_join::HashJoin;
use crate::operator::loop_join::LoopJoin;
use crate::operator::project::Project;
use crate::operator::provided::Provided;
use crate::operator::recursive::{Recent, Recursive};
use crate::operator::row::Row;
use crate::operator::scan::TableScan;
use crate::operator::set_operation::SetOperation;
use crate::operator::sort::Sort;
use crate::operator::text::{Text, TextColumn};
use crate::operator::top::Top;
use crate::operator::values::Values;
use crate::operator::window::Window;
use crate::parallel::Fragment;

/// The operator of a node, with those of its inputs.
///
/// # Errors
/// The plan has an operator that is not executed here.
pub fn build(node: &Node) -> Result<Box<dyn Operator>, Error> {
    if let Some(fragment) = Fragment::of(node) {
        return Ok(Box::new(Gather::new(fragment)));
    }
    Ok(match &node.operator {
        physical::Operator::Row => Box::new(Row::default()),
        physical::Operator::Values(rows) => Box::new(Values::new(&node.columns, rows)),
        physical::Operator::Scan(scan) => Box::new(TableScan::new(scan)),
        physical::Operator::Provided(rows) => Box::new(Provided::new(rows)),
        physical::Operator::Function(source, arguments) => {
            Box::new(Function::new(source, arguments, &node.columns))
        }
        physical::Operator::Filter { input, condition } => match &input.operator {
            physical::Operator::Scan(scan) if scan.has_locator => {
                Box::new(TableScan::filtered(scan, condition))
            }
            _ => Box::new(Filter::new(build(input)?, condition)),
        },
        physical::Operator::Project { input, keep, computed } => {
            Box::new(Project::new(build(input)?, keep, computed))
        }
        physical::Operator::Call { input, function, arguments, is_guarded } => {
            let missing = || Error::NotSupported("a call without a result".to_owned());
            let ty = node.columns.last().map(|column| column.ty).ok_or_else(missing)?;
            Box::new(Call::new(build(input)?, *function, arguments, *is_guarded, ty))
        }
        physical::Operator::HashJoin(join) => {
            Box::new(HashJoin::new(join, build(&join.left)?, build(&join.right)?)?)
        }
        physical::Operator::LoopJoin(join) => {
            Box::new(LoopJoin::new(join, build(&join.left)?, build(&join.right)?)?)
        }
        physical::Operator::Aggregate(grouping) => {
            let fragment = Fragment::of(&grouping.input).filter(|_| grouping.is_divisible);
            let input = match &fragment {
                Some(fragment) => fragment.sequential(),
                None => build(&grouping.input)?,
            };
            let aggregate = Aggregate::new(input, grouping, &node.columns);
            Box::new(aggregate.by_threads(fragment))
        }
        physical::Operator::Window(window) => Box::new(Window::new(window, build(&window.input)?)),
        physical::Operator::Sort { input, keys, limit } => {
            Box::new(Sort::new(build(input)?, &input.columns, keys, limit.as_ref()))
        }
        physical::Operator::Top { input, top, ties } => {
            Box::new(Top::new(build(input)?, top, ties.as_ref()))
        }
        physical::Operator::Concat(inputs) => {
            let inputs: Result<Vec<_>, Error> = inputs.iter().map(build).collect();
            Box::new(Concat::new(inputs?))
        }
        physical::Operator::SetOperation { operation, left, right } => {
            let left = build(left)?;
            Box::new(SetOperation::new(*operation, left, build(right)?, &node.columns))
        }
        physical::Operator::Text { input, text } => {
            let column = |(column, item): (usize, &extentdb_bind::logical::TextItem)| TextColumn {
                name: item.name.clone(),
                column,
                is_raw: item.is_raw,
            };
            let columns = text.items.iter().enumerate().map(column).collect();
            Box::new(Text::new(build(input)?, columns, &text.form, text.column.ty))
        }
        physical::Operator::Recursive { number, anchor, step, most } => {
            Box::new(Recursive::new(*number, build(anchor)?, build(step)?, *most))
        }
        physical::Operator::Recent { number } => Box::new(Recent::new(*number)),
    })
}
