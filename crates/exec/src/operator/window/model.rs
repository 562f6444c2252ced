//! Window functions as a model that looks at the whole partition for each row.

use extentdb_bind::function::{Aggregate, WindowFunction};
use extentdb_bind::logical::{Frame, FrameBound};
use extentdb_plan::physical::WindowCall;
use extentdb_types::SqlType;

use crate::testing::{Cell, CellRow};

/// Partition, order, an integer, a float, a decimal, a text, an offset.
pub(super) const PARTITION: usize = 0;
pub(super) const ORDER: usize = 1;
pub(super) const VALUE: usize = 2;
pub(super) const FLOAT: usize = 3;
pub(super) const WIDE: usize = 4;
pub(super) const TEXT: usize = 5;
pub(super) const OFFSET: usize = 6;

/// What a row of the model sees: its partition in order, where it is, and its frame.
struct View<'r> {
    partition: &'r [CellRow],
    at: usize,
    frame: Vec<usize>,
}

impl View<'_> {
    fn peers(&self) -> Vec<usize> {
        let is_peer = |at: &usize| self.partition[*at][ORDER] == self.partition[self.at][ORDER];
        (0..self.partition.len()).filter(is_peer).collect()
    }

    fn frame_cells(&self, column: usize) -> Vec<Cell> {
        let cells = self.frame.iter().map(|row| self.partition[*row][column].clone());
        cells.filter(|cell| *cell != Cell::Null).collect()
    }

    fn result(&self, call: &WindowCall) -> Cell {
        let peers = self.peers();
        let count = self.partition.len();
        match call.function {
            WindowFunction::RowNumber => Cell::Int(self.at as i64 + 1),
            WindowFunction::Rank => Cell::Int(peers[0] as i64 + 1),
            WindowFunction::DenseRank => {
                let is_first = |at: &usize| {
                    *at == 0 || self.partition[*at][ORDER] != self.partition[*at - 1][ORDER]
                };
                Cell::Int((0..=self.at).filter(is_first).count() as i64)
            }
            WindowFunction::PercentRank if count == 1 => Cell::Float(0.0),
            WindowFunction::PercentRank => Cell::Float(peers[0] as f64 / (count - 1) as f64),
            WindowFunction::CumeDist => {
                Cell::Float((peers[peers.len() - 1] + 1) as f64 / count as f64)
            }
            WindowFunction::Lag => self.moved(call, -1),
            WindowFunction::Lead => self.moved(call, 1),
            WindowFunction::FirstValue | WindowFunction::LastValue => {
                let mut rows = self.frame.clone();
                if call.function == WindowFunction::LastValue {
                    rows.reverse();
                }
                let cells = rows.iter().map(|row| &self.partition[*row][call.arguments[0]]);
                let mut cells = cells.filter(|it| !call.ignores_nulls || **it != Cell::Null);
                cells.next().cloned().unwrap_or(Cell::Null)
            }
            WindowFunction::Aggregate(function) => self.aggregate(function, call),
            _ => unreachable!("by cases"),
        }
    }

    /// The value some rows further, those without a value maybe not counted.
    fn moved(&self, call: &WindowCall, step: i64) -> Cell {
        let own = &self.partition[self.at];
        let mut left = match call.arguments.get(1).map(|column| &own[*column]) {
            None => 1,
            Some(Cell::Int(offset)) => *offset,
            Some(_) => i64::MAX,
        };
        let mut at = self.at as i64;
        while left > 0 {
            at += step;
            if at < 0 || at >= self.partition.len() as i64 {
                return call.arguments.get(2).map_or(Cell::Null, |column| own[*column].clone());
            }
            let cell = &self.partition[at as usize][call.arguments[0]];
            left -= i64::from(!call.ignores_nulls || *cell != Cell::Null);
        }
        self.partition[at as usize][call.arguments[0]].clone()
    }

    fn aggregate(&self, function: Aggregate, call: &WindowCall) -> Cell {
        let Some(column) = call.arguments.first() else {
            return Cell::Int(self.frame.len() as i64);
        };
        let cells = self.frame_cells(*column);
        let number = |cell: &Cell| match cell {
            Cell::Int(value) => *value as i128,
            Cell::Wide(value) => *value,
            Cell::Float(value) => *value as i128,
            other => panic!("{other:?}"),
        };
        let typed = |value: i128| match call.ty {
            SqlType::Float => Cell::Float(value as f64),
            SqlType::Decimal { .. } => Cell::Wide(value),
            _ => Cell::Int(value as i64),
        };
        let sum = || cells.iter().map(number).sum::<i128>();
        match function {
            Aggregate::Count | Aggregate::CountBig => Cell::Int(cells.len() as i64),
            _ if cells.is_empty() => Cell::Null,
            Aggregate::Sum => typed(sum()),
            Aggregate::Avg => match call.ty {
                SqlType::Float => Cell::Float(sum() as f64 / cells.len() as f64),
                SqlType::Decimal { .. } => Cell::Wide(sum() * 10_000 / cells.len() as i128),
                _ => typed(sum() / cells.len() as i128),
            },
            Aggregate::Min => cells.into_iter().reduce(|a, b| if b < a { b } else { a }).unwrap(),
            Aggregate::Max => cells.into_iter().reduce(|a, b| if b > a { b } else { a }).unwrap(),
            Aggregate::ChecksumAgg => {
                Cell::Int(cells.iter().map(|cell| number(cell) as i64).fold(0, |a, b| a ^ b))
            }
            Aggregate::VarP => {
                let mean = sum() as f64 / cells.len() as f64;
                let distance = |cell: &Cell| (number(cell) as f64 - mean).powi(2);
                Cell::Float(cells.iter().map(distance).sum::<f64>() / cells.len() as f64)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Is a row in the frame of another one?
fn is_in_frame(frame: &Frame, partition: &[CellRow], at: usize, other: usize) -> bool {
    let at = at as i64;
    let other = other as i64;
    let order = |row: i64| &partition[row as usize][ORDER];
    let is_from = match frame.start {
        FrameBound::UnboundedPreceding => true,
        FrameBound::Preceding(rows) => other >= at - rows as i64,
        FrameBound::CurrentRow if frame.is_range => order(other) >= order(at),
        FrameBound::CurrentRow => other >= at,
        FrameBound::Following(rows) => other >= at + rows as i64,
        FrameBound::UnboundedFollowing => false,
    };
    is_from
        && match frame.end {
            FrameBound::UnboundedPreceding => false,
            FrameBound::Preceding(rows) => other <= at - rows as i64,
            FrameBound::CurrentRow if frame.is_range => order(other) <= order(at),
            FrameBound::CurrentRow => other <= at,
            FrameBound::Following(rows) => other <= at + rows as i64,
            FrameBound::UnboundedFollowing => true,
        }
}

/// The rows with the results of all calls, partition by partition.
pub(super) fn model(rows: &[CellRow], calls: &[WindowCall]) -> Vec<CellRow> {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a[..=ORDER].partial_cmp(&b[..=ORDER]).unwrap());
    let mut results = Vec::new();
    for partition in rows.chunk_by(|a, b| a[PARTITION] == b[PARTITION]) {
        for (at, row) in partition.iter().enumerate() {
            let result = |call: &WindowCall| {
                let is_in = |other: &usize| is_in_frame(&call.frame, partition, at, *other);
                let frame = (0..partition.len()).filter(is_in).collect();
                View { partition, at, frame }.result(call)
            };
            let own = calls.iter().map(result).collect();
            results.push([row.clone(), own].concat());
        }
    }
    results
}
