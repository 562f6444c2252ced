//! GROUP BY, DISTINCT and aggregates: a hash table from keys to numbers of groups, and for each
//! aggregate an accumulator with a state for each group, which is updated column by column.
//!
//! Invariants
//! - Each grouping set is grouped for itself, in one pass over the input.
//! - A grouping by nothing has one group, with or without rows.
//! - Beyond the limit of memory no groups are made: rows of others go to partitions, each of which
//!   is grouped for itself when the input has ended (hybrid hash aggregation). The rows of a group
//!   are added in the order of the input all the same.
//! - Threads that group parts of the input give their groups back once, before the session has no
//!   room for more: so a group is in the table, or its rows are in a partition.

pub(crate) mod accumulator;
mod checksum;
mod count;
pub(crate) mod create;
mod distinct;
mod extreme;
pub(crate) mod fold;
mod partial;
mod percentile;
mod set;
mod string_agg;
pub(crate) mod sum;
pub(crate) mod variance;

use std::collections::VecDeque;

use extentdb_base::sync::Arc;
use extentdb_bind::function::Aggregate as AggregateFunction;
use extentdb_bind::logical::Column;
use extentdb_engine::Vector;
use extentdb_plan::physical::{AggregateCall, Grouping};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::notice::Notice;
use crate::operator::aggregate::partial::Partial;
use crate::operator::aggregate::set::{Set, Spill};
use crate::operator::{Operator, Rows, poll};
use crate::parallel::{Fragment, Running};
use crate::spill::{DEPTH_MAX, Run, RunReader};

/// Groups of the input with their aggregates.
pub(crate) struct Aggregate {
    input: Box<dyn Operator>,
    plan: Arc<Plan>,
    /// The sets that are computed, by the numbers of their keys.
    sets: Vec<Vec<usize>>,
    /// How often the input was parted.
    depth: u32,
    /// What is left to give; `None` before the input is read.
    results: Option<VecDeque<Part>>,
    /// What several threads group; and while they do.
    fragment: Option<Fragment>,
    running: Option<Running<Partial>>,
}

/// A part of the result.
enum Part {
    Rows(Rows),
    /// Groups of rows that did not fit into memory; open or not.
    Parted(Box<Aggregate>, bool),
}

/// What is grouped and computed.
struct Plan {
    /// Columns of the result.
    columns: Vec<Column>,
    /// Types of the input's columns.
    types: Arc<[SqlType]>,
    keys: Vec<usize>,
    calls: Vec<AggregateCall>,
    /// Sets of numbers of keys.
    groupings: Vec<Vec<usize>>,
}

/// Notes that an aggregate passes over NULL.
fn note_nulls(calls: &[AggregateCall], batch: &Batch, context: &Context<'_>) {
    for call in calls.iter().filter(|call| call.function != AggregateFunction::StringAgg) {
        note_nulls_of(call.argument.and_then(|at| batch.columns.get(at)), context);
    }
}

/// The same of one argument.
pub(crate) fn note_nulls_of(argument: Option<&Vector>, context: &Context<'_>) {
    let notices = &context.outer.notices;
    let Some(vector) = argument.filter(|_| !notices.has(Notice::NullEliminated)) else { return };
    if vector.validity.is_some() && (0..vector.len()).any(|row| vector.is_null(row)) {
        notices.note(Notice::NullEliminated);
    }
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
            groupings: grouping.groupings.clone(),
        };
        let sets = grouping.sets.clone().unwrap_or_else(all);
        Aggregate {
            input,
            plan: Arc::new(plan),
            sets,
            depth: 0,
            results: None,
            fragment: None,
            running: None,
        }
    }

    /// The same, where several threads may group parts of the input.
    pub(crate) fn by_threads(self, fragment: Option<Fragment>) -> Aggregate {
        Aggregate { fragment, ..self }
    }

    fn run(&mut self, context: &mut Context<'_>) -> Result<VecDeque<Part>, Error> {
        let sets: Result<Vec<Set>, Error> =
            self.sets.iter().map(|keys| Set::new(&self.plan, keys)).collect();
        let mut sets = sets?;
        let mut memory = context.memory.reservation();
        let mut spill: Option<Spill> = None;
        let mut given = match (&mut self.running, sets.first_mut()) {
            (Some(running), Some(set)) => partial::merge(running, set, &mut memory, context)?,
            _ => VecDeque::new(),
        };
        while let Some(batch) = self.next_batch(&mut given, context)? {
            poll(context)?;
            note_nulls(&self.plan.calls, &batch, context);
            for set in &mut sets {
                set.update(&batch)?;
            }
            let used = sets.iter().map(Set::memory).sum();
            if spill.is_some() {
                memory.set(used);
            } else if !memory.resize(used) && self.depth < DEPTH_MAX {
                let file = context.memory.area().map(|area| area.create()).transpose()?;
                spill = file.map(|file| Spill { file, depth: self.depth });
                for (set, spill) in sets.iter_mut().zip(spill.iter().cycle()) {
                    set.freeze(&self.plan, spill);
                }
            } else {
                memory.set(used);
            }
        }
        let mut results = VecDeque::new();
        for (mut set, keys) in sets.into_iter().zip(&self.sets) {
            poll(context)?;
            let parts = set.take_overflow()?;
            let rows = Rows::new(set.finish(&self.plan, context)?);
            results.push_back(Part::Rows(rows));
            for run in parts.into_iter().flatten() {
                results.push_back(Part::Parted(Box::new(self.parted(run, keys)), false));
            }
        }
        let rows = |part: &Part| if let Part::Rows(rows) = part { rows.memory() } else { 0 };
        memory.set(results.iter().map(rows).sum());
        if let Some(Part::Rows(last)) = results.iter_mut().rfind(|it| matches!(it, Part::Rows(_))) {
            last.hold(memory);
        }
        Ok(results)
    }

    /// The next rows of the input: those that threads have not grouped, or all.
    fn next_batch(
        &mut self,
        given: &mut VecDeque<Batch>,
        context: &mut Context<'_>,
    ) -> Result<Option<Batch>, Error> {
        match &mut self.running {
            None => self.input.next(context),
            Some(running) => match given.pop_front() {
                Some(batch) => Ok(Some(batch)),
                None => partial::next_batch(running, context),
            },
        }
    }

    /// The same over rows that did not fit into memory.
    fn parted(&self, run: Run, keys: &[usize]) -> Aggregate {
        Aggregate {
            input: Box::new(RunReader::new(Some(run))),
            plan: self.plan.clone(),
            sets: vec![keys.to_vec()],
            depth: self.depth + 1,
            results: None,
            fragment: None,
            running: None,
        }
    }
}

impl Operator for Aggregate {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.results = None;
        if let Some(running) = self.running.take() {
            running.end(context);
        }
        if let Some(fragment) = &mut self.fragment {
            let keys = self.sets.first().cloned().unwrap_or_default();
            let work = partial::grouping(&self.plan, keys);
            self.running = fragment.start(context, &work)?;
        }
        match self.running {
            Some(_) => Ok(()),
            None => self.input.open(context),
        }
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if self.results.is_none() {
            self.results = Some(self.run(context)?);
        }
        let results = self.results.get_or_insert_default();
        while let Some(first) = results.front_mut() {
            let batch = match first {
                Part::Rows(rows) => rows.next(),
                Part::Parted(aggregate, is_open) => {
                    if !std::mem::replace(is_open, true) {
                        aggregate.open(context)?;
                    }
                    aggregate.next(context)?
                }
            };
            if batch.is_some() {
                return Ok(batch);
            }
            results.pop_front();
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

#[cfg(test)]
mod tests;
