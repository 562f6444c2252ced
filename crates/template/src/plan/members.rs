//! The rows of a rowset: those of its partition that pass its filter and are not deleted.

use crate::plan::index::IndexPlan;
use crate::spec::data_space::Partitioning;
use crate::spec::{Filter, Rows};
use extentdb_catalog::table::values::RowValues;

/// Partition numbers of all rows, for one partitioning.
#[derive(Clone, Default)]
pub(crate) struct PartitionNumbers {
    of: Option<Partitioning>,
    numbers: Vec<u16>,
}

impl PartitionNumbers {
    /// Reads the partitioning column of every row, unless it was just done.
    pub(crate) fn settle(&mut self, partitioning: Option<&Partitioning>, rows: &dyn Rows) {
        let Some(partitioning) = partitioning.filter(|wanted| self.of.as_ref() != Some(wanted))
        else {
            return;
        };
        let mut row = RowValues::new();
        let number = |number| {
            row.clear();
            rows.row(number, &mut row);
            partitioning.partition_of(row.cell(partitioning.column as usize - 1)) as u16
        };
        self.numbers = (0..rows.count()).map(number).collect();
        self.of = Some(partitioning.clone());
    }
}

/// Whether a rowset has a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    /// The row has an entry.
    Live,
    /// The row had an entry.
    Deleted,
    /// The row belongs to another partition or fails the filter.
    Foreign,
}

/// Decides which rows belong to one rowset.
pub(crate) struct Members<'a> {
    rows: &'a dyn Rows,
    filter: Option<&'a Filter>,
    /// Partition numbers, and the own one.
    partition: Option<(&'a [u16], u16)>,
}

impl<'a> Members<'a> {
    pub(crate) fn new(
        rows: &'a dyn Rows,
        plan: Option<&'a IndexPlan>,
        numbers: &'a PartitionNumbers,
        partition: i32,
    ) -> Members<'a> {
        let is_partitioned = plan.is_some_and(|plan| plan.partitioning.is_some());
        Members {
            rows,
            filter: plan.and_then(|plan| plan.filter.as_ref()),
            partition: is_partitioned.then_some((&*numbers.numbers, partition as u16)),
        }
    }

    /// True for one of several partitions.
    pub(crate) fn is_one_of_several(&self) -> bool {
        self.partition.is_some()
    }

    /// True for rows of other partitions: they need not be generated.
    pub(crate) fn is_elsewhere(&self, number: u64) -> bool {
        self.partition.is_some_and(|(numbers, own)| numbers.get(number as usize) != Some(&own))
    }

    /// Whether the rowset has a row; `row` has its values.
    pub(crate) fn standing(&self, number: u64, row: &RowValues) -> Membership {
        if self.is_elsewhere(number)
            || self.filter.is_some_and(|filter| !(filter.includes)(number, row))
        {
            Membership::Foreign
        } else if self.rows.is_deleted(number) {
            Membership::Deleted
        } else {
            Membership::Live
        }
    }
}
