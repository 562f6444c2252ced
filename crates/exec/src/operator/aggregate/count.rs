//! COUNT and COUNT_BIG.

use std::any::Any;

use extentdb_engine::Vector;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::error::Error;
use crate::number::Results;
use crate::operator::aggregate::accumulator::{Accumulator, merge_states};
use crate::operator::aggregate::fold::Groups;

/// `COUNT(*)`: rows.
#[derive(Debug)]
pub(super) struct CountRows {
    counts: Vec<i64>,
    ty: SqlType,
}

impl CountRows {
    pub(super) fn new(ty: SqlType) -> CountRows {
        CountRows { counts: Vec::new(), ty }
    }

    fn add(&mut self, groups: Groups<'_>) {
        match groups {
            Groups::One(rows) => {
                self.counts.iter_mut().take(1).for_each(|count| *count += rows as i64);
            }
            Groups::Each(numbers) => {
                for group in numbers {
                    if let Some(count) = self.counts.get_mut(*group as usize) {
                        *count += 1;
                    }
                }
            }
        }
    }
}

impl Accumulator for CountRows {
    fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, _: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        self.add(groups);
        Ok(())
    }

    fn merge(&mut self, other: &dyn Accumulator, groups: &[u32]) -> Result<(), Error> {
        if let Some(other) = other.as_any().and_then(|it| it.downcast_ref::<CountRows>()) {
            merge_states(&mut self.counts, &other.counts, groups, |own, count| *own += count);
        }
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn memory(&self) -> usize {
        self.counts.len() * size_of::<i64>()
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        let mut results = Results::new(self.ty);
        for count in &self.counts {
            results.push_exact(Some((*count).into()))?;
        }
        Ok(results.finish())
    }
}

/// `COUNT(value)`: values that are not NULL.
#[derive(Debug)]
pub(super) struct CountValues {
    column: usize,
    rows: CountRows,
}

impl CountValues {
    pub(super) fn new(column: usize, ty: SqlType) -> CountValues {
        CountValues { column, rows: CountRows::new(ty) }
    }
}

impl Accumulator for CountValues {
    fn grow(&mut self, groups: usize) {
        self.rows.grow(groups);
    }

    fn update(&mut self, input: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        let Some(vector) = input.columns.get(self.column) else { return Ok(()) };
        let Some(validity) = &vector.validity else {
            self.rows.add(groups);
            return Ok(());
        };
        for row in (0..groups.rows()).filter(|row| validity.get(*row)) {
            if let Some(count) = self.rows.counts.get_mut(groups.of(row)) {
                *count += 1;
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &dyn Accumulator, groups: &[u32]) -> Result<(), Error> {
        self.rows.merge(other, groups)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        self.rows.as_any()
    }

    fn memory(&self) -> usize {
        self.rows.memory()
    }

    fn finish(&mut self) -> Result<Vector, Error> {
        self.rows.finish()
    }
}
