#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod access;
mod decorrelate;
mod disjunction;
mod error;
mod estimate;
mod join;
mod join_order;
mod lower;
mod parallel;
pub mod physical;
mod push_down;
mod render;
mod selectivity;
mod table;
mod unique;
mod uses;

use extentdb_bind::logical::{Relation, ValueId};
use extentdb_expr::{Environment, Scalar};

pub use error::{Error, Result};

use decorrelate::Numbers;
use lower::Planner;
use physical::{Expression, Node};

/// Plans the queries of one statement.
pub struct Statement<'e> {
    environment: &'e Environment,
    next: ValueId,
    is_parallel: bool,
}

impl<'e> Statement<'e> {
    /// The statement's binder has given out numbers of values up to `last`.
    pub fn new(environment: &'e Environment, last: ValueId) -> Statement<'e> {
        Statement { environment, next: last, is_parallel: false }
    }

    /// Large tables may be read by several threads: its rows go to a client, and nothing is changed
    /// while they are read.
    #[must_use]
    pub fn in_parallel(self) -> Statement<'e> {
        Statement { is_parallel: true, ..self }
    }

    /// The plan of a relation whose columns are these values, in this order.
    ///
    /// # Errors
    /// An expression cannot be compiled.
    pub fn plan(&mut self, relation: Relation, values: &[ValueId]) -> Result<Node> {
        let environment = self.environment;
        let mut numbers = Numbers::from(self.next);
        let relation = decorrelate::rewrite(relation, environment, &mut numbers)?;
        let relation = push_down::push(relation, Vec::new(), environment)?;
        let relation = unique::rewrite(relation, environment)?;
        let relation = join_order::order(relation, environment)?;
        let mut planner = Planner { environment, numbers };
        let node = planner.exactly(&relation, values);
        self.next = planner.numbers.next();
        let mut node = node?;
        if self.is_parallel {
            parallel::choose(&mut node);
        } else {
            parallel::forbid(&mut node);
        }
        Ok(node)
    }

    /// A value that needs no rows, or those columns.
    ///
    /// # Errors
    /// It cannot be compiled.
    pub fn expression(
        &self,
        scalar: &Scalar,
        columns: &[extentdb_bind::logical::Column],
    ) -> Result<Expression> {
        let numbers = Numbers::from(self.next);
        Planner { environment: self.environment, numbers }.expression(scalar, columns)
    }
}
