//! One grouping set: groups by its keys, aggregates of each group.

use extentdb_base::sync::Arc;
use extentdb_engine::Vector;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, NO_GROUP, Nulls};
use crate::hash_key::HashKeys;
use crate::operator::aggregate::Plan;
use crate::operator::aggregate::accumulator::Accumulator;
use crate::operator::aggregate::create;
use crate::operator::aggregate::distinct::Distinct;
use crate::operator::aggregate::fold::Groups;
use crate::operator::append;
use crate::spill::{Partitions, Run, Scatter, WorkFile};

/// A grouping set that is computed.
pub(super) struct Set {
    /// Numbers of its keys.
    keys: Vec<usize>,
    /// `None`: there is one group.
    table: Option<GroupTable>,
    /// Values of the input's key columns, one row for each group.
    values: Batch,
    /// Columns of the input that its keys are.
    columns: Vec<usize>,
    calls: Vec<Call>,
    /// Rows of groups that are not in the table, once there is no room for more.
    overflow: Option<Partitions>,
    /// Numbers of the groups of a batch, and the rows that made some; here to be used again.
    numbers: Vec<u32>,
    new: Vec<u32>,
}

/// Where rows go that do not fit into memory.
#[derive(Debug, Clone)]
pub(super) struct Spill {
    pub(super) file: Arc<WorkFile>,
    pub(super) depth: u32,
}

/// An aggregate that is computed.
struct Call {
    accumulator: Box<dyn Accumulator>,
    distinct: Option<Distinct>,
}

impl Set {
    pub(super) fn new(plan: &Plan, keys: &[usize]) -> Result<Set, Error> {
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
            overflow: None,
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

    pub(super) fn update(&mut self, batch: &Batch) -> Result<(), Error> {
        let groups = match &mut self.table {
            None => Groups::One(batch.rows),
            Some(table) if let Some(overflow) = &mut self.overflow => {
                table.find_own(batch, &mut self.numbers);
                let is_left = |(_, group): &(usize, &u32)| **group == NO_GROUP;
                let left = self.numbers.iter().enumerate().filter(is_left);
                overflow.push_rows(batch, left.map(|(row, _)| row as u32))?;
                Groups::Each(&self.numbers)
            }
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

    /// Adds the groups of another set of the same plan and keys.
    pub(super) fn merge(&mut self, other: Set) -> Result<(), Error> {
        match &mut self.table {
            None => {
                self.numbers.clear();
                self.numbers.push(0);
            }
            Some(table) => {
                self.new.clear();
                table.assign_values(&other.values, &mut self.numbers, &mut self.new);
                append(&mut self.values, &other.values.take(&self.new))?;
                let groups = table.len();
                self.calls.iter_mut().for_each(|call| call.accumulator.grow(groups));
            }
        }
        let calls = self.calls.iter_mut().zip(&other.calls);
        let numbers = &self.numbers;
        calls
            .into_iter()
            .try_for_each(|(own, other)| own.accumulator.merge(other.accumulator.as_ref(), numbers))
    }

    /// Makes no more groups, and keeps no more distinct values.
    pub(super) fn freeze(&mut self, plan: &Plan, spill: &Spill) {
        if self.table.is_some() {
            let scatter = Scatter::new(&self.columns, spill.depth);
            self.overflow = Some(Partitions::new(&spill.file, &plan.types, scatter));
        }
        let distinct = self.calls.iter_mut().filter_map(|call| call.distinct.as_mut());
        distinct.for_each(|distinct| distinct.freeze(&plan.types, spill));
    }

    /// The rows of groups that are not in the table.
    pub(super) fn take_overflow(&mut self) -> Result<Vec<Option<Run>>, Error> {
        self.overflow.take().map_or(Ok(Vec::new()), Partitions::finish)
    }

    /// Bytes in memory, about.
    pub(super) fn memory(&self) -> usize {
        let table = self.table.as_ref().map_or(0, GroupTable::memory);
        let overflow = self.overflow.as_ref().map_or(0, Partitions::memory);
        let calls: usize = self.calls.iter().map(Call::memory).sum();
        table + overflow + self.values.memory() + calls
    }

    /// The columns of the result: keys, aggregates, groupings.
    pub(super) fn finish(mut self, plan: &Plan, context: &Context<'_>) -> Result<Batch, Error> {
        let rows = self.values.rows;
        let mut columns = Vec::with_capacity(plan.columns.len());
        for (key, column) in plan.columns.iter().take(plan.keys.len()).enumerate() {
            let at = self.keys.iter().position(|own| *own == key);
            let own = at.and_then(|at| self.values.columns.get(at));
            columns.push(own.cloned().unwrap_or_else(|| Vector::nulls(column.ty, rows)));
        }
        for call in &mut self.calls {
            call.finish_distinct(context)?;
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
                let (batch, numbers) = distinct.first_rows(batch, groups)?;
                self.accumulator.update(&batch, Groups::Each(&numbers))
            }
        }
    }

    /// Adds the distinct values that did not fit into memory.
    fn finish_distinct(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let Some(distinct) = self.distinct.take() else { return Ok(()) };
        distinct.finish(context, &mut |batch, numbers| {
            self.accumulator.update(batch, Groups::Each(numbers))
        })
    }

    fn memory(&self) -> usize {
        self.accumulator.memory() + self.distinct.as_ref().map_or(0, Distinct::memory)
    }
}
