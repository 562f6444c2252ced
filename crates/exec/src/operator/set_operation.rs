//! EXCEPT and INTERSECT, by two hash tables: the rows of the right input, and those of the left one
//! that have been seen. NULL is equal to NULL.
//!
//! Beyond the limit of memory nothing is added to the tables: right rows that are not in theirs,
//! and left rows that may be among these, go to partitions, which are compared one after the other
//! when the left input has ended.

use std::collections::VecDeque;

use extentdb_base::sync::Arc;
use extentdb_bind::logical::{Column, SetOperation as Operation};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, NO_GROUP, Nulls};
use crate::hash_key::HashKeys;
use crate::memory::Reservation;
use crate::operator::{Operator, poll};
use crate::spill::{DEPTH_MAX, Partitions, RunReader, Scatter};

/// Rows of the left input that the right one has, or has not; each once.
pub(crate) struct SetOperation {
    operation: Operation,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    types: Arc<[SqlType]>,
    keys: HashKeys,
    /// How often the inputs were parted.
    depth: u32,
    state: State,
}

enum State {
    Opened,
    /// Left rows are looked for.
    Comparing(Box<Tables>),
    /// Parts that are compared, the first one being open.
    Parts(VecDeque<SetOperation>),
}

struct Tables {
    right: GroupTable,
    seen: GroupTable,
    /// Right rows that are not in their table.
    right_rest: Option<Partitions>,
    /// Left rows that could not be decided.
    left_rest: Option<Partitions>,
    memory: Reservation,
}

impl SetOperation {
    pub(crate) fn new(
        operation: Operation,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        columns: &[Column],
    ) -> SetOperation {
        let types = columns.iter().map(|column| column.ty).collect();
        SetOperation::of(operation, left, right, types, 0)
    }

    fn of(
        operation: Operation,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        types: Arc<[SqlType]>,
        depth: u32,
    ) -> SetOperation {
        let all: Vec<usize> = (0..types.len()).collect();
        let keys = HashKeys::new(&all, &types);
        SetOperation {
            operation,
            left,
            right,
            types,
            keys,
            depth,
            state: State::Opened,
        }
    }

    fn read_right(&mut self, context: &mut Context<'_>) -> Result<Tables, Error> {
        let mut tables = Tables {
            right: GroupTable::new(self.keys.clone(), Nulls::AreEqual),
            seen: GroupTable::new(self.keys.clone(), Nulls::AreEqual),
            right_rest: None,
            left_rest: None,
            memory: context.memory.reservation(),
        };
        let mut groups = Vec::new();
        let mut new = Vec::new();
        self.right.open(context)?;
        while let Some(batch) = self.right.next(context)? {
            poll(context)?;
            if let Some(rest) = &mut tables.right_rest {
                tables.right.find_own(&batch, &mut groups);
                rest.push_rows(&batch, unknown(&groups))?;
                continue;
            }
            tables.right.assign(&batch, &mut groups, &mut new);
            new.clear();
            if !tables.has_room() && self.depth < DEPTH_MAX {
                tables.right_rest = self.partitions(None, context)?;
                tables.left_rest = self.partitions(tables.right_rest.as_ref(), context)?;
            }
        }
        Ok(tables)
    }

    /// No rows yet, in the file of others or in a new one.
    fn partitions(
        &self,
        others: Option<&Partitions>,
        context: &Context<'_>,
    ) -> Result<Option<Partitions>, Error> {
        let file = match (others, context.memory.area()) {
            (Some(others), _) => others.file().clone(),
            (None, Some(area)) => area.create()?,
            (None, None) => return Ok(None),
        };
        let scatter = Scatter::new(&self.keys.columns(), self.depth);
        Ok(Some(Partitions::new(&file, &self.types, scatter)))
    }

    /// The rows of a left batch that belong to the result.
    fn chosen(&mut self, batch: &Batch, context: &Context<'_>) -> Result<Vec<u32>, Error> {
        let State::Comparing(tables) = &mut self.state else { return Ok(Vec::new()) };
        let mut groups = Vec::new();
        tables.right.find_own(batch, &mut groups);
        if tables.left_rest.is_some() {
            return self.decided(batch, &groups);
        }
        let mut seen = Vec::new();
        let mut new = Vec::new();
        tables.seen.assign(batch, &mut seen, &mut new);
        let is_wanted = |row: &u32| {
            let is_found = groups.get(*row as usize).is_some_and(|group| *group != NO_GROUP);
            is_found == (self.operation == Operation::Intersect)
        };
        new.retain(is_wanted);
        // What both have is in the other table, too, and needs not more room than that.
        if self.operation == Operation::Except && !tables.has_room() && self.depth < DEPTH_MAX {
            let rest = self.partitions(None, context)?;
            if let State::Comparing(tables) = &mut self.state {
                tables.left_rest = rest;
            }
        }
        Ok(new)
    }

    /// The same when there is no room for more; rows that may be among those that did not fit are
    /// left for later.
    fn decided(&mut self, batch: &Batch, groups: &[u32]) -> Result<Vec<u32>, Error> {
        let State::Comparing(tables) = &mut self.state else { return Ok(Vec::new()) };
        let Tables { seen, left_rest: Some(rest), .. } = &mut **tables else {
            return Ok(Vec::new());
        };
        let mut new = Vec::new();
        let mut numbers = Vec::new();
        match self.operation {
            Operation::Intersect => {
                rest.push_rows(batch, unknown(groups))?;
                let found: Vec<u32> = known(groups).collect();
                seen.assign(&batch.take(&found), &mut numbers, &mut new);
                Ok(new.iter().filter_map(|row| found.get(*row as usize).copied()).collect())
            }
            Operation::Except => {
                seen.find_own(batch, &mut numbers);
                let is_new = |row: &u32| numbers.get(*row as usize) == Some(&NO_GROUP);
                rest.push_rows(batch, unknown(groups).filter(is_new))?;
                Ok(new)
            }
        }
    }

    /// What was left for later, by parts.
    fn parts(&mut self) -> Result<VecDeque<SetOperation>, Error> {
        let State::Comparing(tables) = &mut self.state else { return Ok(VecDeque::new()) };
        let left = tables.left_rest.take().map_or(Ok(Vec::new()), Partitions::finish)?;
        let right = tables.right_rest.take().map_or(Ok(Vec::new()), Partitions::finish)?;
        let right = right.into_iter().chain(std::iter::repeat(None));
        let mut parts = VecDeque::new();
        for (left, right) in left.into_iter().zip(right) {
            let is_empty = self.operation == Operation::Intersect && right.is_none();
            if left.is_some() && !is_empty {
                let left = Box::new(RunReader::new(left));
                let right = Box::new(RunReader::new(right));
                let types = self.types.clone();
                let depth = self.depth + 1;
                let part = SetOperation::of(self.operation, left, right, types, depth);
                parts.push_back(part);
            }
        }
        Ok(parts)
    }
}

/// Rows without a group.
fn unknown(groups: &[u32]) -> impl Iterator<Item = u32> {
    let rows = groups.iter().enumerate().filter(|(_, group)| **group == NO_GROUP);
    rows.map(|(row, _)| row as u32)
}

/// Rows with a group.
fn known(groups: &[u32]) -> impl Iterator<Item = u32> {
    let rows = groups.iter().enumerate().filter(|(_, group)| **group != NO_GROUP);
    rows.map(|(row, _)| row as u32)
}

impl Tables {
    /// Is there room for what is in the tables?
    fn has_room(&mut self) -> bool {
        let used = self.right.memory() + self.seen.memory();
        let has_room = self.memory.resize(used);
        self.memory.set(used);
        has_room
    }
}

impl Operator for SetOperation {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.state = State::Opened;
        self.left.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if let State::Opened = self.state {
            self.state = State::Comparing(Box::new(self.read_right(context)?));
        }
        if let State::Comparing(_) = self.state {
            while let Some(batch) = self.left.next(context)? {
                poll(context)?;
                let chosen = self.chosen(&batch, context)?;
                if !chosen.is_empty() {
                    return Ok(Some(batch.take(&chosen)));
                }
            }
            self.state = State::Parts(self.parts()?);
        }
        let State::Parts(parts) = &mut self.state else { return Ok(None) };
        while let Some(part) = parts.front_mut() {
            if let Some(batch) = part.next(context)? {
                return Ok(Some(batch));
            }
            parts.pop_front();
        }
        Ok(None)
    }
}
