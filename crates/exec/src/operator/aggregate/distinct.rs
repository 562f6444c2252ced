//! DISTINCT: each value of a group once.

use extentdb_bind::function::Aggregate;
use extentdb_engine::Vector;
use extentdb_plan::physical::AggregateCall;
use extentdb_types::SqlType;

use crate::batch::Batch;
use crate::group_table::{GroupTable, Nulls};
use crate::hash_key::HashKeys;
use crate::operator::aggregate::fold::Groups;

/// The values that each group has had.
#[derive(Debug)]
pub(super) struct Distinct {
    column: usize,
    /// Columns that the aggregate uses.
    used: Vec<usize>,
    /// Groups of (group, value).
    values: GroupTable,
}

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
        used.extend(call.separator);
        used.extend(call.order.iter().map(|key| key.column));
        let ty = types.get(column).copied().unwrap_or(call.argument_type);
        let keys = HashKeys::new(&[0, 1], &[SqlType::Int, ty]);
        Some(Distinct { column, used, values: GroupTable::new(keys, Nulls::AreEqual) })
    }

    /// The rows whose value is new in their group, with the columns that the aggregate uses, and
    /// the groups of these rows.
    pub(super) fn first_rows(&mut self, batch: &Batch, groups: Groups<'_>) -> (Batch, Vec<u32>) {
        let mut group = Vector::computed(SqlType::Int);
        let numbers: Vec<i64> = (0..batch.rows).map(|row| groups.of(row) as i64).collect();
        group.extend_integers(&numbers, &|_| true);
        let value = batch.columns.get(self.column).cloned();
        let mut columns = vec![group];
        columns.extend(value);
        let mut seen = Vec::new();
        let mut new = Vec::new();
        self.values.assign(&Batch { rows: batch.rows, columns }, &mut seen, &mut new);
        let numbers = new.iter().map(|row| groups.of(*row as usize) as u32).collect();
        let columns = batch.columns.iter().enumerate().map(|(at, column)| {
            let is_used = self.used.contains(&at);
            if is_used { column.take(&new) } else { Vector::computed(SqlType::Bit) }
        });
        (Batch { rows: new.len(), columns: columns.collect() }, numbers)
    }
}
