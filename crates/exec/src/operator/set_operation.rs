//! EXCEPT and INTERSECT, by two hash tables: the rows of the right input, and those of the left one
//! that have been seen. NULL is equal to NULL.

use extentdb_bind::logical::{Column, SetOperation as Operation};
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, NO_GROUP, Nulls};
use crate::hash_key::HashKeys;
use crate::operator::{Operator, poll};

/// Rows of the left input that the right one has, or has not; each once.
pub(crate) struct SetOperation {
    operation: Operation,
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    keys: HashKeys,
    tables: Option<Tables>,
}

struct Tables {
    right: GroupTable,
    seen: GroupTable,
}

impl SetOperation {
    pub(crate) fn new(
        operation: Operation,
        left: Box<dyn Operator>,
        right: Box<dyn Operator>,
        columns: &[Column],
    ) -> SetOperation {
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty).collect();
        let all: Vec<usize> = (0..types.len()).collect();
        SetOperation {
            operation,
            left,
            right,
            keys: HashKeys::new(&all, &types),
            tables: None,
        }
    }

    fn read_right(&mut self, context: &mut Context<'_>) -> Result<Tables, Error> {
        let mut right = GroupTable::new(self.keys.clone(), Nulls::AreEqual);
        let mut groups = Vec::new();
        let mut new = Vec::new();
        self.right.open(context)?;
        while let Some(batch) = self.right.next(context)? {
            poll(context)?;
            right.assign(&batch, &mut groups, &mut new);
            new.clear();
        }
        let seen = GroupTable::new(self.keys.clone(), Nulls::AreEqual);
        Ok(Tables { right, seen })
    }

    /// The rows of a left batch that belong to the result.
    fn chosen(&mut self, batch: &Batch) -> Vec<u32> {
        let Some(tables) = &mut self.tables else { return Vec::new() };
        let mut groups = Vec::new();
        let mut new = Vec::new();
        tables.seen.assign(batch, &mut groups, &mut new);
        tables.right.find(&self.keys, batch, &mut groups);
        let is_wanted = |row: &u32| {
            let is_found = groups.get(*row as usize).is_some_and(|group| *group != NO_GROUP);
            is_found == (self.operation == Operation::Intersect)
        };
        new.retain(is_wanted);
        new
    }
}

impl Operator for SetOperation {
    fn open(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        self.tables = None;
        self.left.open(context)
    }

    fn next(&mut self, context: &mut Context<'_>) -> Result<Option<Batch>, Error> {
        if self.tables.is_none() {
            self.tables = Some(self.read_right(context)?);
        }
        while let Some(batch) = self.left.next(context)? {
            poll(context)?;
            let chosen = self.chosen(&batch);
            if !chosen.is_empty() {
                return Ok(Some(batch.take(&chosen)));
            }
        }
        Ok(None)
    }
}
