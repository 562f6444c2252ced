//! A query under construction: operators that the expressions of a clause need, in order.
//!
//! Expressions may need more than the rows at hand: the value of a subquery, an aggregate, a
//! function of the session. Each of these becomes an operator below the one that uses the
//! expression.

use extentdb_expr::Scalar;

use crate::logical::{
    Column, Computed, FunctionCall, JoinKind, OrderKey, Relation, ValueId, WindowCall,
};

/// Operators upon a relation that may not be known yet.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    steps: Vec<StageStep>,
}

/// An operator with one input that is still open.
#[derive(Debug)]
pub(crate) enum StageStep {
    Join { kind: JoinKind, right: Relation, conditions: Vec<Scalar> },
    Call(FunctionCall),
    Compute(Vec<Computed>),
    Filter(Vec<Scalar>),
    Window { partition: Vec<ValueId>, order: Vec<OrderKey>, calls: Vec<WindowCall> },
}

impl Stage {
    pub(crate) fn push(&mut self, step: StageStep) {
        self.steps.push(step);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(crate) fn compute(&mut self, computed: Computed) {
        match self.steps.last_mut() {
            // A value may use those before it, but not those beside it.
            Some(StageStep::Compute(values))
                if computed.value.places().all(|place| values.iter().all(|it| it.id != place)) =>
            {
                values.push(computed);
            }
            _ => self.push(StageStep::Compute(vec![computed])),
        }
    }

    /// The value of this expression, where it was computed before.
    pub(crate) fn known(&self, value: &Scalar) -> Option<ValueId> {
        self.steps.iter().find_map(|step| match step {
            StageStep::Compute(values) => {
                values.iter().find(|it| it.value == *value).map(|it| it.id)
            }
            _ => None,
        })
    }

    /// The column of a function that is called already.
    pub(crate) fn called(&self, function: usize) -> Option<&Column> {
        self.steps.iter().find_map(|step| match step {
            StageStep::Call(call) if call.function == function => Some(&call.column),
            _ => None,
        })
    }

    /// A relation that uses values of the stage, which come first.
    pub(crate) fn before(self, made: Relation) -> Relation {
        match self.is_empty() {
            true => made,
            false => Relation::Join {
                kind: JoinKind::Inner,
                left: Box::new(self.upon(Relation::Row)),
                right: Box::new(made),
                conditions: Vec::new(),
            },
        }
    }

    /// The operators upon a relation.
    pub(crate) fn upon(self, base: Relation) -> Relation {
        self.steps.into_iter().fold(base, |input, step| match step {
            StageStep::Join { kind, right, conditions } => Relation::Join {
                kind,
                left: Box::new(input),
                right: Box::new(right),
                conditions,
            },
            StageStep::Call(call) => Relation::Call { input: Box::new(input), call },
            StageStep::Compute(values) => input.computing(values),
            StageStep::Filter(conditions) => input.filtered(conditions),
            StageStep::Window { partition, order, calls } => {
                Relation::Window { input: Box::new(input), partition, order, calls }
            }
        })
    }
}
