//! MIN and MAX over frames that slide, by a monotonic queue: the rows that may still become the
//! result, the best one first; a row that enters drops all those before it that are not better.

use std::collections::VecDeque;

use extentdb_engine::Vector;

use crate::batch::Batch;
use crate::error::Error;
use crate::key::{KeyEncoder, KeyRows};
use crate::operator::join::NO_ROW;
use crate::operator::window::slide::Slider;

/// MIN or MAX.
pub(super) struct Extreme<'v> {
    values: &'v Vector,
    /// Sort keys of the values, the best one being the least.
    keys: KeyRows,
    queue: VecDeque<usize>,
    rows: Vec<u32>,
}

impl<'v> Extreme<'v> {
    pub(super) fn new(values: &'v Vector, is_max: bool) -> Extreme<'v> {
        let key = extentdb_plan::physical::SortKey { column: 0, is_descending: is_max };
        let batch = Batch { rows: values.len(), columns: vec![values.clone()] };
        Extreme {
            values,
            keys: KeyRows::of(&mut KeyEncoder::new(vec![key]), &batch),
            queue: VecDeque::new(),
            rows: Vec::with_capacity(values.len()),
        }
    }

    pub(super) fn finish(self) -> Vector {
        self.values.take_or_null(&self.rows)
    }
}

impl Slider for Extreme<'_> {
    fn clear(&mut self) {
        self.queue.clear();
    }

    fn add(&mut self, row: usize) {
        if self.values.is_null(row) {
            return;
        }
        let key = self.keys.get(row);
        while self.queue.back().is_some_and(|last| self.keys.get(*last) > key) {
            self.queue.pop_back();
        }
        self.queue.push_back(row);
    }

    fn remove(&mut self, row: usize) {
        if self.queue.front() == Some(&row) {
            self.queue.pop_front();
        }
    }

    fn push_result(&mut self) -> Result<(), Error> {
        self.rows.push(self.queue.front().map_or(NO_ROW, |row| *row as u32));
        Ok(())
    }
}
