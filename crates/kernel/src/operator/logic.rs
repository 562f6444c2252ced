//! Three-valued logic, and the choice between values.
//!
//! ```text
//! AND    true  false unknown error      OR     true  false unknown error
//! true   true  false unknown error      true   true  true  true    true
//! false  false false false   false      false  true  false unknown error
//! unknown unknown false unknown error   unknown true unknown unknown error
//! error  error error error   error      error  error error error   error
//! ```
//!
//! The left operand is asked first: what it settles, an error on the right does not disturb. Every
//! operand has been evaluated for every row before, so a choice is only a copy, and an error that
//! is not chosen is gone.

use crate::error::{EvalError, NULL, VALUE};
use crate::lane::{Element, Lane, LaneKind, Lanes, Reg, Span, map};

/// Truth, NULL and choice.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum Op {
    And {
        a: Reg,
        b: Reg,
    },
    Or {
        a: Reg,
        b: Reg,
    },
    Not {
        a: Reg,
    },
    IsNull {
        a: Reg,
    },
    /// `then` where the condition is true, `other` where it is false or unknown.
    Select {
        condition: Reg,
        then: Reg,
        other: Reg,
        kind: LaneKind,
    },
    /// `a`, or `b` where `a` is NULL.
    IfNull {
        a: Reg,
        b: Reg,
        kind: LaneKind,
    },
    /// `a`, a conversion of `of`, or NULL where the conversion fails.
    NullIfFailed {
        a: Reg,
        of: Reg,
        kind: LaneKind,
    },
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, out: &mut Lane) {
        match *self {
            Op::And { a, b } => junction(lanes.at(a), lanes.at(b), 0, out),
            Op::Or { a, b } => junction(lanes.at(a), lanes.at(b), 1, out),
            Op::Not { a } => map(out, lanes.at(a), |a: i64| Ok(1 - a)),
            Op::IsNull { a } => is_null(lanes.at(a), out),
            Op::Select { condition, then, other, kind } => {
                let operands = (lanes.at(condition), lanes.at(then), lanes.at(other));
                match kind {
                    LaneKind::Int => select::<i64>(operands, out),
                    LaneKind::Wide => select::<i128>(operands, out),
                    LaneKind::Float => select::<f64>(operands, out),
                    LaneKind::Bytes | LaneKind::Opaque => select::<Span>(operands, out),
                }
            }
            Op::NullIfFailed { a, of, kind } => {
                let operands = (lanes.at(a), lanes.at(of));
                match kind {
                    LaneKind::Int => null_if_failed::<i64>(operands, out),
                    LaneKind::Wide => null_if_failed::<i128>(operands, out),
                    LaneKind::Float => null_if_failed::<f64>(operands, out),
                    LaneKind::Bytes | LaneKind::Opaque => null_if_failed::<Span>(operands, out),
                }
            }
            Op::IfNull { a, b, kind } => {
                let operands = (lanes.at(a), lanes.at(b));
                match kind {
                    LaneKind::Int => if_null::<i64>(operands, out),
                    LaneKind::Wide => if_null::<i128>(operands, out),
                    LaneKind::Float => if_null::<f64>(operands, out),
                    LaneKind::Bytes | LaneKind::Opaque => if_null::<Span>(operands, out),
                }
            }
        }
    }
}

/// AND and OR: `settling` is the value that decides alone, 0 or 1.
fn junction(a: &Lane, b: &Lane, settling: i64, out: &mut Lane) {
    let (states, values) = out.slots::<i64>(a.state.len().min(b.state.len()));
    let operands = a.state.iter().zip(&a.ints).zip(b.state.iter().zip(&b.ints));
    for ((state, value), (a, b)) in states.iter_mut().zip(values).zip(operands) {
        (*state, *value) = join(settling, (*a.0, *a.1), (*b.0, *b.1));
    }
}

fn join(settling: i64, a: (u8, i64), b: (u8, i64)) -> (u8, i64) {
    let settles = |(state, value)| state == VALUE && value == settling;
    if settles(a) || (a.0 <= NULL && settles(b)) {
        return (VALUE, settling);
    }
    // An error on the left comes first, as it would have stopped the statement.
    let state = if a.0 > NULL { a.0 } else { a.0.max(b.0) };
    (state, if state == VALUE { 1 - settling } else { 0 })
}

fn is_null(a: &Lane, out: &mut Lane) {
    let (states, values) = out.slots::<i64>(a.state.len());
    for ((state, value), &a) in states.iter_mut().zip(values).zip(&a.state) {
        *state = if a > NULL { a } else { VALUE };
        *value = i64::from(a == NULL);
    }
}

fn select<T: Element>((condition, then, other): (&Lane, &Lane, &Lane), out: &mut Lane) {
    let rows = condition.state.len().min(then.state.len()).min(other.state.len());
    let (states, values) = out.slots::<T>(rows);
    let conditions = condition.state.iter().zip(&condition.ints);
    let choices = then.state.iter().zip(T::of(then)).zip(other.state.iter().zip(T::of(other)));
    for (((state, value), (&settled, &truth)), (then, other)) in
        states.iter_mut().zip(values).zip(conditions).zip(choices)
    {
        (*state, *value) = match settled {
            VALUE if truth == 1 => (*then.0, *then.1),
            VALUE | NULL => (*other.0, *other.1),
            error => (error, T::default()),
        };
    }
}

fn if_null<T: Element>((a, b): (&Lane, &Lane), out: &mut Lane) {
    let (states, values) = out.slots::<T>(a.state.len().min(b.state.len()));
    let operands = a.state.iter().zip(T::of(a)).zip(b.state.iter().zip(T::of(b)));
    for ((state, value), (a, b)) in states.iter_mut().zip(values).zip(operands) {
        (*state, *value) = if *a.0 == NULL { (*b.0, *b.1) } else { (*a.0, *a.1) };
    }
}

/// Only what the conversion itself adds becomes NULL: an error of its operand stays.
fn null_if_failed<T: Element>((a, of): (&Lane, &Lane), out: &mut Lane) {
    let (states, values) = out.slots::<T>(a.state.len().min(of.state.len()));
    let operands = a.state.iter().zip(T::of(a)).zip(&of.state);
    for ((state, value), ((&settled, &converted), &operand)) in
        states.iter_mut().zip(values).zip(operands)
    {
        let is_failure = EvalError::of_state(settled).is_some_and(EvalError::is_failed_conversion);
        *state = if is_failure && operand <= NULL { NULL } else { settled };
        *value = converted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUE: (u8, i64) = (VALUE, 1);
    const FALSE: (u8, i64) = (VALUE, 0);
    const UNKNOWN: (u8, i64) = (NULL, 0);
    const ERROR: (u8, i64) = (3, 0);

    #[test]
    fn and_and_or_follow_the_table_above() {
        let all = [TRUE, FALSE, UNKNOWN, ERROR];
        let and = [
            [TRUE, FALSE, UNKNOWN, ERROR],
            [FALSE; 4],
            [UNKNOWN, FALSE, UNKNOWN, ERROR],
            [ERROR; 4],
        ];
        let or =
            [[TRUE; 4], [TRUE, FALSE, UNKNOWN, ERROR], [TRUE, UNKNOWN, UNKNOWN, ERROR], [ERROR; 4]];
        for (i, a) in all.into_iter().enumerate() {
            for (j, b) in all.into_iter().enumerate() {
                assert_eq!(join(0, a, b), and[i][j], "{a:?} AND {b:?}");
                assert_eq!(join(1, a, b), or[i][j], "{a:?} OR {b:?}");
            }
        }
    }

    #[test]
    fn an_error_in_the_branch_not_taken_is_dropped() {
        let lane = |rows: [(u8, i64); 4]| Lane {
            state: rows.iter().map(|row| row.0).collect(),
            ints: rows.iter().map(|row| row.1).collect(),
            ..Lane::default()
        };
        let condition = lane([TRUE, FALSE, UNKNOWN, ERROR]);
        let then = lane([(VALUE, 7), ERROR, ERROR, TRUE]);
        let other = lane([ERROR, (VALUE, 8), (VALUE, 9), TRUE]);
        let mut out = Lane::default();
        select::<i64>((&condition, &then, &other), &mut out);
        assert_eq!(
            (out.state.as_slice(), out.ints.as_slice()),
            (&[0, 0, 0, 3][..], &[7, 8, 9, 0][..])
        );
    }
}
