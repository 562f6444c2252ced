//! Operators of a physical plan.

use extentdb_plan::physical::{self, Node};

use crate::error::Error;
use crate::operator::Operator;
use crate::operator::scan::TableScan;

/// The operator of a node, with those of its inputs.
///
/// # Errors
/// The plan has an operator that is not executed here.
pub fn build(node: &Node) -> Result<Box<dyn Operator>, Error> {
    match &node.operator {
        physical::Operator::Scan(scan) => Ok(Box::new(TableScan::new(scan))),
        physical::Operator::Row => Err(Error::NotSupported("a row".to_owned())),
        _ => Err(Error::NotSupported("an operator".to_owned())),
    }
}
