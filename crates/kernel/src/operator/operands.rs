//! Which lanes a step reads: the way back from a result to the step that failed.

use super::{Op, arithmetic, date, logic, text};
use crate::error::{NULL, VALUE};
use crate::lane::{Lanes, Reg};

impl Op {
    /// The operand that the outcome of a row was taken from, when it is an error with this state.
    pub fn source_of(&self, lanes: &Lanes, row: usize, state: u8) -> Option<Reg> {
        let state_of = |reg: Reg| lanes.at(reg).state.get(row).copied().unwrap_or(VALUE);
        if let Op::Logic(logic::Op::Select { condition, then, other, .. }) = self {
            let is_true = lanes.at(*condition).ints.get(row) == Some(&1);
            return match state_of(*condition) {
                VALUE if is_true => Some(*then),
                VALUE | NULL => Some(*other),
                _ => Some(*condition),
            };
        }
        if let Op::Logic(logic::Op::IfNull { a, b, .. }) = self {
            return Some(if state_of(*a) == NULL { *b } else { *a });
        }
        self.operands().into_iter().find(|reg| state_of(*reg) == state)
    }

    /// All lanes that are read.
    pub fn operands(&self) -> Vec<Reg> {
        match self {
            Op::Arithmetic(op) => of_arithmetic(op),
            Op::Compare(op) => vec![op.a, op.b],
            Op::Convert(op) => vec![op.a],
            Op::Date(op) => of_date(op),
            Op::Digest(op) => vec![op.a],
            Op::Like(op) => vec![op.a],
            Op::Logic(op) => match *op {
                logic::Op::And { a, b } | logic::Op::Or { a, b } => vec![a, b],
                logic::Op::Not { a } | logic::Op::IsNull { a } => vec![a],
                logic::Op::Select { condition, then, other, .. } => vec![condition, then, other],
                logic::Op::IfNull { a, b, .. } => vec![a, b],
                logic::Op::NullIfFailed { a, .. } => vec![a],
            },
            Op::Pattern(op) => vec![op.a, op.pattern],
            Op::Row(op) => op.arguments.clone(),
            Op::Text(op) => of_text(op),
        }
    }
}

fn of_arithmetic(op: &arithmetic::Op) -> Vec<Reg> {
    use arithmetic::Op;
    match *op {
        Op::Int { a, b, .. }
        | Op::Money { a, b, .. }
        | Op::Wide { a, b, .. }
        | Op::MoneyProduct { a, b, .. }
        | Op::Remainder { a, b, .. }
        | Op::WideExactly { a, b, .. }
        | Op::Float { a, b, .. }
        | Op::Bits { a, b, .. } => vec![a, b],
        Op::BitNot { a, .. }
        | Op::NegateInt { a, .. }
        | Op::NegateWide { a }
        | Op::NegateFloat { a }
        | Op::AbsInt { a, .. }
        | Op::AbsWide { a }
        | Op::AbsFloat { a }
        | Op::SignInt { a, .. }
        | Op::SignWide { a, .. }
        | Op::StepInt { a, .. }
        | Op::StepWide { a, .. }
        | Op::StepFloat { a, .. }
        | Op::RoundInt { a, .. }
        | Op::RoundWide { a, .. } => vec![a],
    }
}

fn of_date(op: &date::Op) -> Vec<Reg> {
    use date::Op;
    match *op {
        Op::DatePart { a, .. } => vec![a],
        Op::AddCounts { count, a, .. } | Op::AddMonths { count, a, .. } => vec![count, a],
        Op::Diff { from, to, .. } => vec![from, to],
        Op::EndOfMonth { a, months, .. } => vec![a, months],
        Op::FromParts { year, month, day } => vec![year, month, day],
    }
}

fn of_text(op: &text::Op) -> Vec<Reg> {
    use text::Op;
    match *op {
        Op::Len { a, .. }
        | Op::DataLength { a }
        | Op::FixedLength { a, .. }
        | Op::Case { a, .. }
        | Op::Trim { a, .. }
        | Op::Reverse { a, .. }
        | Op::NullAsEmpty { a }
        | Op::FirstUnit { a, .. }
        | Op::Character { a, .. } => vec![a],
        Op::Left { a, len, .. } | Op::Right { a, len, .. } => vec![a, len],
        Op::Substring { a, start, len, .. } => vec![a, start, len],
        Op::Replicate { a, count, .. } => vec![a, count],
        Op::Concat { a, b, .. } => vec![a, b],
        Op::Stuff { a, start, len, with, .. } => vec![a, start, len, with],
        Op::Replace { a, pattern, with, .. } => vec![a, pattern, with],
        Op::CharIndex { pattern, a, start, .. } => vec![pattern, a, start],
    }
}
