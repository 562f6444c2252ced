//! Where partitions, peers and frames begin and end among sorted rows.

use std::ops::Range;

use extentdb_bind::logical::{Frame, FrameBound};
use extentdb_engine::{Values, Vector};

use crate::batch::Batch;
use crate::key::push_value;

/// Runs of rows.
#[derive(Debug)]
pub(super) struct Layout {
    partitions: Runs,
    peers: Runs,
    rows: usize,
}

/// A run is a number; rows know theirs.
#[derive(Debug)]
pub(super) struct Runs {
    /// The run of each row.
    numbers: Vec<u32>,
    /// Where each run begins; then the end of the last one.
    starts: Vec<usize>,
}

impl Layout {
    /// Of rows that are sorted by these columns.
    pub(super) fn new(rows: &Batch, partition: &[usize], order: &[usize]) -> Layout {
        let mut begins = vec![false; rows.rows];
        mark_changes(rows, partition, &mut begins);
        let partitions = Runs::new(&begins);
        mark_changes(rows, order, &mut begins);
        Layout { partitions, peers: Runs::new(&begins), rows: rows.rows }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The partitions.
    pub(super) fn partitions(&self) -> &Runs {
        &self.partitions
    }

    /// The rows that the order does not tell apart.
    pub(super) fn peers(&self) -> &Runs {
        &self.peers
    }

    /// The rows of a row's frame; empty when it ends before it begins.
    pub(super) fn frame(&self, frame: &Frame, row: usize) -> Range<usize> {
        let partition = self.partitions.of(row);
        let peers = if frame.is_range { self.peers.of(row) } else { row..row + 1 };
        let distance = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let start = match frame.start {
            FrameBound::UnboundedPreceding => partition.start,
            FrameBound::Preceding(rows) => row.saturating_sub(distance(rows)),
            FrameBound::CurrentRow => peers.start,
            FrameBound::Following(rows) => row.saturating_add(distance(rows)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        let end = match frame.end {
            FrameBound::UnboundedPreceding => partition.start,
            FrameBound::Preceding(rows) => (row + 1).saturating_sub(distance(rows)),
            FrameBound::CurrentRow => peers.end,
            FrameBound::Following(rows) => (row + 1).saturating_add(distance(rows)),
            FrameBound::UnboundedFollowing => partition.end,
        };
        start.clamp(partition.start, partition.end)..end.clamp(partition.start, partition.end)
    }
}

impl Runs {
    fn new(begins: &[bool]) -> Runs {
        let mut numbers = Vec::with_capacity(begins.len());
        let mut starts = Vec::new();
        for (row, begins) in begins.iter().enumerate() {
            if *begins || row == 0 {
                starts.push(row);
            }
            numbers.push((starts.len() as u32).saturating_sub(1));
        }
        starts.push(begins.len());
        Runs { numbers, starts }
    }

    /// The run of each row.
    pub(super) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The rows of all runs, one after the other.
    pub(super) fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.iter().zip(self.starts.iter().skip(1)).map(|(start, end)| *start..*end)
    }

    /// The number of a row's run.
    pub(super) fn number(&self, row: usize) -> usize {
        self.numbers.get(row).map_or(0, |number| *number as usize)
    }

    /// The rows of a row's run.
    pub(super) fn of(&self, row: usize) -> Range<usize> {
        let number = self.number(row);
        match self.starts.get(number..number + 2) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }
}

/// Marks the rows that differ in one of the columns from the row before.
fn mark_changes(rows: &Batch, columns: &[usize], begins: &mut [bool]) {
    for vector in columns.iter().filter_map(|column| rows.columns.get(*column)) {
        match &vector.values {
            Values::U8(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::I16(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::I32(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::I64(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::I128(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::F32(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::F64(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::Bits(own) => mark(vector, begins, |row| own.get(row - 1) != own.get(row)),
            Values::Fixed { .. } | Values::Variable { .. } => {
                mark(vector, begins, |row| {
                    let is_same = vector.bytes(row - 1) == vector.bytes(row);
                    !is_same && sort_key(vector, row - 1) != sort_key(vector, row)
                });
            }
        }
    }
}

#[inline(always)]
fn mark(vector: &Vector, begins: &mut [bool], differs: impl Fn(usize) -> bool) {
    for (row, begins) in begins.iter_mut().enumerate().skip(1) {
        *begins |= match (vector.is_null(row - 1), vector.is_null(row)) {
            (true, true) => false,
            (false, false) => differs(row),
            _ => true,
        };
    }
}

fn sort_key(vector: &Vector, row: usize) -> Vec<u8> {
    let mut key = Vec::new();
    push_value(vector, row, false, &mut Vec::new(), &mut key);
    key
}
