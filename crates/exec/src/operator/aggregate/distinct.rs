//! DISTINCT: each value of a group once.
//!
//! Beyond the limit of memory no more values are kept: rows of others go to partitions by group and
//! value, and are looked at when the input has ended.

use extentdb_base::sync::Arc;
use extentdb_bind::function::Aggregate;
use extentdb_engine::Vector;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::Error;
use crate::group_table::{GroupTable, NO_GROUP, Nulls};
use crate::hash_key::HashKeys;
use crate::operator::aggregate::fold::Groups;
use crate::operator::aggregate::set::Spill;
use crate::operator::poll;
use crate::spill::{DEPTH_MAX, Partitions, Run, RunReader, Scatter};

/// The values that each group has had.
#[derive(Debug)]
pub(super) struct Distinct {
    /// Columns that the aggregate uses, the one with the values first.
    used: Vec<usize>,
    keys: HashKeys,
    /// Groups of (group, value).
    values: GroupTable,
    overflow: Option<Overflow>,
}

/// Rows whose values are not among those in memory: their groups, then the columns that are used.
#[derive(Debug)]
struct Overflow {
    rows: Partitions,
    spill: Spill,
    types: Arc<[SqlType]>,
}

/// Takes rows and the groups that they are in.
type Each<'e> = &'e mut dyn FnMut(&Batch, &[u32]) -> Result<(), Error>;

impl Distinct {
    /// That of a call over columns of these types; `None` where every value counts, or where it
    /// does not matter.
    pub(super) fn of_call(call: &AggregateCall, types: &[SqlType]) -> Option<Distinct> {
        let is_needed = match call.function {
            Aggregate::Min | Aggregate::Max => false,
            Aggregate::ApproxCountDistinct => true,
            _ => call.is_distinct,
        };
        let column = call.argument.filter(|_| is_needed)?;
        let mut used = vec![column];
        let others = call.separator.into_iter().chain(call.order.iter().map(|key| key.column));
        for other in others {
            if !used.contains(&other) {
                used.push(other);
            }
        }
        let ty = types.get(column).copied().unwrap_or(call.argument_type);
        Some(Distinct::new(used, HashKeys::new(&[0, 1], &[SqlType::Int, ty])))
    }

    fn new(used: Vec<usize>, keys: HashKeys) -> Distinct {
        let values = GroupTable::new(keys.clone(), Nulls::AreEqual);
        Distinct { used, keys, values, overflow: None }
    }

    /// The rows whose value is new in their group, with the columns that the aggregate uses, and
    /// the groups of these rows. Rows without a group are left out.
    pub(super) fn first_rows(
        &mut self,
        batch: &Batch,
        groups: Groups<'_>,
    ) -> Result<(Batch, Vec<u32>), Error> {
        let keyed = self.keyed(batch, groups);
        let has_group = |row: &u32| groups.of(*row as usize) != NO_GROUP as usize;
        let mut seen = Vec::new();
        let mut new = Vec::new();
        match &mut self.overflow {
            None => self.values.assign(&keyed, &mut seen, &mut new),
            Some(overflow) => {
                self.values.find_own(&keyed, &mut seen);
                let is_new = |row: &u32| seen.get(*row as usize) == Some(&NO_GROUP);
                let rows = (0..batch.rows as u32).filter(has_group).filter(is_new);
                overflow.rows.push_rows(&keyed, rows)?;
            }
        }
        new.retain(has_group);
        let numbers = new.iter().map(|row| groups.of(*row as usize) as u32).collect();
        Ok((self.taken(batch, &new), numbers))
    }

    /// Keeps no more values.
    pub(super) fn freeze(&mut self, types: &[SqlType], spill: &Spill) {
        let used = self.used.iter().filter_map(|column| types.get(*column).copied());
        let types: Arc<[SqlType]> = std::iter::once(SqlType::Int).chain(used).collect();
        self.freeze_keyed(&types, spill);
    }

    fn freeze_keyed(&mut self, types: &Arc<[SqlType]>, spill: &Spill) {
        let scatter = Scatter::new(&[0, 1], spill.depth);
        self.overflow = Some(Overflow {
            rows: Partitions::new(&spill.file, types, scatter),
            spill: spill.clone(),
            types: types.clone(),
        });
    }

    /// Gives the rows whose values are new among those that did not fit into memory.
    pub(super) fn finish(self, context: &Context<'_>, each: Each<'_>) -> Result<(), Error> {
        let Some(overflow) = self.overflow else { return Ok(()) };
        drop(self.values);
        let depth = overflow.spill.depth + 1;
        let spill = Spill { depth, ..overflow.spill };
        for run in overflow.rows.finish()?.into_iter().flatten() {
            let part = Distinct::new(self.used.clone(), self.keys.clone());
            part.read(run, (&overflow.types, &spill), context, each)?;
        }
        Ok(())
    }

    /// Reads rows that did not fit into memory before.
    fn read(
        mut self,
        run: Run,
        (types, spill): (&Arc<[SqlType]>, &Spill),
        context: &Context<'_>,
        each: Each<'_>,
    ) -> Result<(), Error> {
        let mut memory = context.memory.reservation();
        let mut rows = RunReader::new(Some(run));
        while let Some(keyed) = rows.read()? {
            poll(context)?;
            let numbers = keyed.columns.first().and_then(Vector::integers).unwrap_or_default();
            let numbers: Vec<u32> = numbers.into_iter().map(|number| number as u32).collect();
            let batch = self.unkeyed(keyed);
            let (batch, numbers) = self.first_rows(&batch, Groups::Each(&numbers))?;
            each(&batch, &numbers)?;
            let may_freeze = self.overflow.is_none() && spill.depth < DEPTH_MAX;
            if may_freeze && !memory.resize(self.memory()) {
                self.freeze_keyed(types, spill);
            }
            memory.set(self.memory());
        }
        self.finish(context, each)
    }

    /// Groups, and the columns that are used.
    fn keyed(&self, batch: &Batch, groups: Groups<'_>) -> Batch {
        let mut group = Vector::computed(SqlType::Int);
        let numbers: Vec<i64> = (0..batch.rows).map(|row| groups.of(row) as i64).collect();
        group.extend_integers(&numbers, &|_| true);
        let mut columns = vec![group];
        let is_kept = self.overflow.is_some();
        let used = self.used.iter().take(if is_kept { usize::MAX } else { 1 });
        columns.extend(used.filter_map(|column| batch.columns.get(*column).cloned()));
        Batch { rows: batch.rows, columns }
    }

    /// The columns that are used where the aggregate looks for them.
    fn unkeyed(&self, keyed: Batch) -> Batch {
        let width = self.used.iter().max().map_or(0, |last| last + 1);
        let mut columns = vec![Vector::computed(SqlType::Bit); width];
        for (column, values) in self.used.iter().zip(keyed.columns.into_iter().skip(1)) {
            if let Some(own) = columns.get_mut(*column) {
                *own = values;
            }
        }
        Batch { rows: keyed.rows, columns }
    }

    fn taken(&self, batch: &Batch, rows: &[u32]) -> Batch {
        let columns = batch.columns.iter().enumerate().map(|(at, column)| {
            let is_used = self.used.contains(&at);
            if is_used { column.take(rows) } else { Vector::computed(SqlType::Bit) }
        });
        Batch { rows: rows.len(), columns: columns.collect() }
    }

    /// Bytes in memory, about.
    pub(super) fn memory(&self) -> usize {
        self.values.memory() + self.overflow.as_ref().map_or(0, |it| it.rows.memory())
    }
}
