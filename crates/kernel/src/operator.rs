//! Operators: one step of a program, one loop over all rows of a batch.
//!
//! One module per family; each has an enum `Op` with the lanes it reads and a `run` that fills one
//! lane. Functions that are not worth a loop of their own are called row by row: [`row`].
//!
//! ```text
//! field                      of an operator
//! a, b, condition, count …   lanes of the operands (`Reg`)
//! range, precision, scale    of the type of the result; `scale` of the operand where the result
//!                            has none
//! unit, up, factor           a multiple, a power of ten, a factor that the compiler has settled
//! len, limit                 bytes that the type of the result holds; `None` for (max)
//! is_wide, encoding          the text is nchar or nvarchar; how its characters lie
//! is_real                    the result is rounded to 32 bits
//! cut, is_up                 ROUND that truncates; CEILING, else FLOOR
//! kind                       representation of the result
//! ```
//!
//! Invariants
//! - Every operator is total: it fills each row with a value, NULL or an error, whatever its
//!   operands hold.
//! - An operator reads other lanes and the arena, writes its own lane and appends to the arena;
//!   nothing else.

use crate::arena::Arena;
use crate::lane::{Lane, Lanes};

pub mod arithmetic;
pub mod ascii;
pub mod cast;
pub mod codec;
pub mod compare;
pub mod convert;
pub mod date;
pub mod date_text;
pub mod digest;
pub(crate) mod far;
pub mod function;
pub mod like;
pub mod logic;
pub(crate) mod moment;
pub mod moment_style;
pub(crate) mod moment_text;
pub mod number_form;
pub(crate) mod number_text;
mod operands;
pub mod pattern;
pub mod row;
pub mod text;

/// An operator of any family.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "variants are the modules of this one")]
pub enum Op {
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
    /// Fills `out` with the outcome of every row.
    pub fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
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
