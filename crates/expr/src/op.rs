//! Operators: one step of a program, one loop over all rows of a batch.
//!
//! One module per family; each has an enum `Op` with the lanes it reads and a `run` that fills one
//! lane.
//!
//! Invariants
//! - Every operator is total: it fills each row with a value, NULL or an error, whatever its
//!   operands hold.
//! - An operator reads other lanes and the arena, writes its own lane and appends to the arena;
//!   nothing else.

use crate::arena::Arena;
use crate::lane::{Lane, Lanes};

pub(crate) mod arithmetic;
pub(crate) mod ascii;
pub(crate) mod cast;
pub(crate) mod codec;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod date;
pub(crate) mod date_text;
pub(crate) mod digest;
pub(crate) mod far;
pub(crate) mod function;
pub(crate) mod like;
pub(crate) mod logic;
pub(crate) mod moment;
pub(crate) mod moment_style;
pub(crate) mod moment_text;
pub(crate) mod number_form;
pub(crate) mod number_text;
mod operands;
pub(crate) mod pattern;
pub(crate) mod row;
pub(crate) mod text;
pub(crate) mod variant;

/// An operator of any family.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Arithmetic(arithmetic::Op),
    Compare(compare::Op),
    Convert(convert::Op),
    Date(date::Op),
    Digest(digest::Op),
    Like(like::Op),
    Logic(logic::Op),
    Pattern(pattern::Op),
    Row(Box<row::Op>),
    Text(text::Op),
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        match self {
            Op::Arithmetic(op) => op.run(lanes, out),
            Op::Compare(op) => op.run(lanes, arena, out),
            Op::Convert(op) => op.run(lanes, arena, out),
            Op::Date(op) => op.run(lanes, out),
            Op::Digest(op) => op.run(lanes, arena, out),
            Op::Like(op) => op.run(lanes, arena, out),
            Op::Logic(op) => op.run(lanes, out),
            Op::Pattern(op) => op.run(lanes, arena, out),
            Op::Row(op) => op.run(lanes, arena, out),
            Op::Text(op) => op.run(lanes, arena, out),
        }
    }
}
