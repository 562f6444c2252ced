//! GROUP BY, DISTINCT and aggregates: a hash table from keys to numbers of groups, and for each
//! aggregate an accumulator with a state for each group, which is updated column by column.
//!
//! Invariants
//! - Each grouping set is grouped for itself, in one pass over the input.
//! - A grouping by nothing has one group, with or without rows.

pub(crate) mod accumulator;
mod checksum;
mod count;
pub(crate) mod create;
mod distinct;
mod extreme;
pub(crate) mod fold;
mod string_agg;
pub(crate) mod sum;
pub(crate) mod variance;

use extentdb_bind::logical::Column;
use extentdb_engine::Vector;
use extentdb_plan::physical::{AggregateCall, Grouping};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, Nulls};
use crate::hash_key::HashKeys;
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::distinct::Distinct;
use crate::operator::aggregate::fold::Groups;
use crate::operator::{Operator, Rows, append, poll};

/// Groups of the input with their aggregates.
pub(crate) struct Aggregate {
    input: Box<dyn Operator>,
    plan: Plan,
    /// What is left to give, last set first; `None` before the input is read.
    results: Option<Vec<Rows>>,
}

/// What is grouped and computed.
struct Plan {
    /// Columns of the result.
    columns: Vec<Column>,
    /// Types of the input's columns.
    types: Vec<SqlType>,
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    /// Numbers of keys.
    sets: Vec<Vec<usize>>,
    groupings: Vec<Vec<usize>>,
}

/// A grouping set that is computed.
struct Set {
    /// Numbers of its keys.
    keys: Vec<usize>,
    /// `None`: there is one group.
    table: Option<GroupTable>,
    /// Values of the input's key columns, one row for each group.
    values: Batch,
    /// Columns of the input that its keys are.
    columns: Vec<usize>,
    calls: Vec<Call>,
    /// Numbers of the groups of a batch, and the rows that made some; here to be used again.
    numbers: Vec<u32>,
    new: Vec<u32>,
}

/// An aggregate that is computed.
struct Call {
    accumulator: Box<dyn Accumulator>,
    distinct: Option<Distinct>,
}

impl Aggregate {
    pub(crate) fn new(
        input: Box<dyn Operator>,
        grouping: &Grouping,
        columns: &[Column],
    ) -> Aggregate {
        let all = || vec![(0..grouping.keys.len()).collect()];
        let plan = Plan {
            columns: columns.to_vec(),
            types: grouping.input.columns.iter().map(|column| column.ty).collect(),
            keys: grouping.keys.clone(),
            calls: grouping.calls.clone(),
            sets: grouping.sets.clone().unwrap_or_else(all),
            groupings: grouping.groupings.clone(),
        };
        Aggregate { input, plan, results: None }
    }

    fn run(&mut self, context: &mut Context<'_>) -> Result<Vec<Rows>, Error> {
        let sets: Result<Vec<Set>, Error> =
            self.plan.sets.iter().map(|keys| Set::new(&self.plan, keys)).collect();
        let mut sets = sets?;
        while let Some(batch) = self.input.next(context)? {
            poll(context)?;
            for set in &mut sets {
                set.update(&batch)?;
            }
        }
        let mut results = Vec::with_capacity(sets.len());
        for set in sets {
            poll(context)?;
            results.push(Rows::new(set.finish(&self.plan)?));
        }
        results.reverse();
        Ok(results)
    }
}

impl Operator for Aggregate {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.results = None;
        self.input.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if self.results.is_none() {
            self.results = Some(self.run(context)?);
        }
        let results = self.results.get_or_insert_default();
        while let Some(last) = results.last_mut() {
            if let Some(batch) = last.next() {
                return Ok(Some(batch));
            }
            results.pop();
        }
        Ok(None)
    }
}

impl Plan {
    fn key_type(&self, key: usize) -> Option<(usize, SqlType)> {
        let column = *self.keys.get(key)?;
        Some((column, *self.types.get(column)?))
    }
}

impl Set {
    fn new(plan: &Plan, keys: &[usize]) -> Result<Set, Error> {
        let typed: Vec<(usize, SqlType)> =
            keys.iter().filter_map(|key| plan.key_type(*key)).collect();
        let columns: Vec<usize> = typed.iter().map(|(column, _)| *column).collect();
        let types: Vec<SqlType> = typed.iter().map(|(_, ty)| *ty).collect();
        let calls: Result<Vec<Call>, Error> =
            plan.calls.iter().map(|call| Call::new(call, &plan.types)).collect();
        let mut set = Set {
            keys: keys.to_vec(),
            table: None,
            values: Batch {
                rows: 0,
                columns: types.iter().map(|ty| Vector::computed(*ty)).collect(),
            },
            calls: calls?,
            numbers: Vec::new(),
            new: Vec::new(),
            columns,
        };
        if set.columns.is_empty() {
            set.values.rows = 1;
            set.calls.iter_mut().for_each(|call| call.accumulator.grow(1));
        } else {
            let keys = HashKeys::new(&set.columns, &types);
            set.table = Some(GroupTable::new(keys, Nulls::AreEqual));
        }
        Ok(set)
    }

    fn update(&mut self, batch: &Batch) -> Result<(), Error> {
        let groups = match &mut self.table {
            None => Groups::One(batch.rows),
            Some(table) => {
                self.new.clear();
                table.assign(batch, &mut self.numbers, &mut self.new);
                if !self.new.is_empty() {
                    let taken = self.columns.iter().filter_map(|column| batch.columns.get(*column));
                    let taken = taken.map(|column| column.take(&self.new)).collect();
                    append(&mut self.values, &Batch { rows: self.new.len(), columns: taken })?;
                    let groups = table.len();
                    self.calls.iter_mut().for_each(|call| call.accumulator.grow(groups));
                }
                Groups::Each(&self.numbers)
            }
        };
        self.calls.iter_mut().try_for_each(|call| call.update(batch, groups))
    }

    /// The columns of the result: keys, aggregates, groupings.
    fn finish(mut self, plan: &Plan) -> Result<Batch, Error> {
        let rows = self.values.rows;
        let mut columns = Vec::with_capacity(plan.columns.len());
        for (key, column) in plan.columns.iter().take(plan.keys.len()).enumerate() {
            let at = self.keys.iter().position(|own| *own == key);
            let own = at.and_then(|at| self.values.columns.get(at));
            columns.push(own.cloned().unwrap_or_else(|| Vector::nulls(column.ty, rows)));
        }
        for call in &mut self.calls {
            columns.push(call.accumulator.finish()?);
        }
        for asked in &plan.groupings {
            let value =
                asked.iter().fold(0, |value, key| value << 1 | i64::from(!self.keys.contains(key)));
            let mut vector = Vector::computed(SqlType::Int);
            vector.extend_integers(&vec![value; rows], &|_| true);
            columns.push(vector);
        }
        Ok(Batch { rows, columns })
    }
}

impl Call {
    fn new(call: &AggregateCall, types: &[SqlType]) -> Result<Call, Error> {
        Ok(Call {
            accumulator: create::accumulator(call, types)?,
            distinct: Distinct::of_call(call, types),
        })
    }

    fn update(&mut self, batch: &Batch, groups: Groups<'_>) -> Result<(), Error> {
        match &mut self.distinct {
            None => self.accumulator.update(batch, groups),
            Some(distinct) => {
                let (batch, numbers) = distinct.first_rows(batch, groups);
                self.accumulator.update(&batch, Groups::Each(&numbers))
            }
        }
    }
}

#[cfg(test)]
mod tests;
