//! Functions evaluated row by row: everything that is not worth a loop of its own.
//!
//! A function sees the values of its arguments as [`Cell`]s and gives a [`Cell`]'s worth back; the
//! bytes of a text or binary result it appends to a buffer. What the compiler knows of a call
//! (types, options of the session, a style) is in its [`Call`].

use extentdb_types::SqlType;

use crate::arena::Arena;
use crate::constant::Constant;
use crate::error::{EvalError, EvalResult, NULL, VALUE};
use crate::lane::{Lane, LaneKind, Lanes, Reg, Span};
use crate::options::StatementOptions;
use crate::type_facts;

/// An argument's value.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "variants are the representations of `lane`")]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Wide(i128),
    Float(f64),
    Bytes(&'a [u8]),
}

/// A function's value.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "variants are the representations of `lane`")]
pub enum Outcome {
    Null,
    Int(i64),
    Wide(i128),
    Float(f64),
    /// What was appended to the buffer.
    Bytes,
}

/// What is the same for all rows.
#[derive(Debug, Clone)]
pub struct Call {
    /// Types of the arguments.
    pub types: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
    /// Options of the session.
    pub options: StatementOptions,
    /// A style, a part of a date, or whatever else the function settles when it is compiled.
    pub number: i64,
}

impl Call {
    /// Type of an argument.
    pub fn ty(&self, argument: usize) -> &SqlType {
        self.types.get(argument).unwrap_or(&self.result)
    }
}

/// A function: the call, its arguments, and where bytes of the result are appended.
pub type Function = fn(&Call, &[Cell<'_>], &mut Vec<u8>) -> EvalResult<Outcome>;

/// A function that is called for each row.
#[derive(Debug, Clone)]
pub struct Op {
    /// What is called.
    pub function: Function,
    /// Lanes of the arguments.
    pub arguments: Vec<Reg>,
    /// What is the same for all rows.
    pub call: Call,
    /// The function sees NULL; else NULL in is NULL out.
    pub takes_null: bool,
    /// The argument whose value is [`Call::number`].
    pub number_from: Option<usize>,
}

/// Arguments that need no allocation.
const FEW: usize = 8;

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        let arguments: Vec<(&Lane, LaneKind)> = self
            .arguments
            .iter()
            .zip(&self.call.types)
            .map(|(reg, ty)| (lanes.at(*reg), type_facts::kind(ty)))
            .collect();
        let rows = arguments.iter().map(|(lane, _)| lane.state.len()).min().unwrap_or(0);
        let kind = type_facts::kind(&self.call.result);
        let mut buffer = Vec::new();
        out.clear();
        for row in 0..rows {
            let worst = arguments
                .iter()
                .filter_map(|(lane, _)| lane.state.get(row))
                .copied()
                .filter(|state| !self.takes_null || *state != NULL)
                .max()
                .unwrap_or(VALUE);
            if worst != VALUE {
                out.push_state(kind, worst);
                continue;
            }
            buffer.clear();
            let outcome = self.row(&arguments, row, arena, &mut buffer);
            push(out, kind, outcome, arena, &buffer);
        }
    }

    fn row(
        &self,
        arguments: &[(&Lane, LaneKind)],
        row: usize,
        arena: &Arena,
        buffer: &mut Vec<u8>,
    ) -> EvalResult<Outcome> {
        let cell = |&(lane, kind): &(&Lane, LaneKind)| cell(lane, kind, row, arena);
        if let Some(argument) = self.number_from.and_then(|at| arguments.get(at)) {
            let call = Call { number: cell(argument).int(), ..self.call.clone() };
            let cells: Vec<Cell<'_>> = arguments.iter().map(cell).collect();
            return (self.function)(&call, &cells, buffer);
        }
        if arguments.len() <= FEW {
            let mut few = [Cell::Null; FEW];
            few.iter_mut().zip(arguments).for_each(|(to, argument)| *to = cell(argument));
            let cells = few.get(..arguments.len()).unwrap_or_default();
            return (self.function)(&self.call, cells, buffer);
        }
        let many: Vec<Cell<'_>> = arguments.iter().map(cell).collect();
        (self.function)(&self.call, &many, buffer)
    }

    /// The value for arguments that are constants; `None` where it fails.
    pub fn fold(&self, arguments: &[&Constant]) -> Option<Constant> {
        let cells: Vec<Cell<'_>> = arguments.iter().map(|it| it.cell()).collect();
        if !self.takes_null && cells.contains(&Cell::Null) {
            return Some(Constant::Null);
        }
        let mut buffer = Vec::new();
        let outcome = (self.function)(&self.call, &cells, &mut buffer).ok()?;
        Some(match outcome {
            Outcome::Null => Constant::Null,
            Outcome::Int(value) => Constant::Int(value),
            Outcome::Wide(value) => Constant::Wide(value),
            Outcome::Float(value) => Constant::Float(value),
            Outcome::Bytes => Constant::Bytes(buffer),
        })
    }
}

/// The value of a row in a lane.
#[inline]
pub fn cell<'a>(lane: &Lane, kind: LaneKind, row: usize, arena: &'a Arena) -> Cell<'a> {
    if lane.state.get(row) != Some(&VALUE) {
        return Cell::Null;
    }
    let value = match kind {
        LaneKind::Int => lane.ints.get(row).copied().map(Cell::Int),
        LaneKind::Wide => lane.wides.get(row).copied().map(Cell::Wide),
        LaneKind::Float => lane.floats.get(row).copied().map(Cell::Float),
        LaneKind::Bytes => lane.spans.get(row).map(|span| Cell::Bytes(arena.get(*span))),
        LaneKind::Opaque => None,
    };
    value.unwrap_or(Cell::Null)
}

fn push(
    out: &mut Lane,
    kind: LaneKind,
    outcome: EvalResult<Outcome>,
    arena: &mut Arena,
    bytes: &[u8],
) {
    match (outcome, kind) {
        (Ok(Outcome::Null), _) => out.push_null(kind),
        (Ok(Outcome::Int(value)), LaneKind::Int) => out.push(Ok(value)),
        (Ok(Outcome::Wide(value)), LaneKind::Wide) => out.push(Ok(value)),
        (Ok(Outcome::Float(value)), LaneKind::Float) => out.push(Ok(value)),
        (Ok(Outcome::Bytes), LaneKind::Bytes) => out.push::<Span>(arena.push(bytes)),
        (Err(error), _) => out.push_state(kind, error.state()),
        // A value of another kind than its type has: no function gives one.
        (Ok(_), _) => out.push_state(kind, EvalError::Row.state()),
    }
}

impl Cell<'_> {
    /// A number that the binder has made an integer.
    pub(crate) fn int(self) -> i64 {
        match self {
            Cell::Int(value) => value,
            _ => 0,
        }
    }

    pub(crate) fn float(self) -> f64 {
        match self {
            Cell::Float(value) => value,
            _ => 0.0,
        }
    }
}

impl<'a> Cell<'a> {
    /// A text or binary value; of others nothing.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Cell::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The first arguments of a function; those that are missing are NULL.
pub fn first<'a, const N: usize>(cells: &[Cell<'a>]) -> [Cell<'a>; N] {
    let mut first = [Cell::Null; N];
    first.iter_mut().zip(cells).for_each(|(to, cell)| *to = *cell);
    first
}
