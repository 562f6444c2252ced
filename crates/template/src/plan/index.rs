//! The placement and partitions of each index of a table.

use extentdb_catalog::table::definition::PartitionDefinition;
use extentdb_catalog::table::{IndexDefinition, TableDefinition};

use crate::Error;
use crate::plan::{Ids, column_id};
use crate::spec::data_space::{DataSpaces, Partitioning, ResolvedPlacement};
use crate::spec::{Filter, IndexSpec, TableSpec};

/// The facts about an index beyond its definition.
#[derive(Clone, Default)]
pub(crate) struct IndexPlan {
    /// Which rows have an entry.
    pub(crate) filter: Option<Filter>,
    /// The seed of a fragmented tree.
    pub(crate) scatter: Option<u64>,
    /// Which partition a row belongs to.
    pub(crate) partitioning: Option<Partitioning>,
}

/// Places the indexes of a table, heap or clustered index first, and adds their further
/// partitions.
pub(crate) fn place_indexes(
    spec: &TableSpec,
    table: &mut TableDefinition,
    spaces: &DataSpaces<'_>,
    ids: &mut Ids,
    seed: u64,
) -> Result<Vec<IndexPlan>, Error> {
    let mut plans = Vec::with_capacity(table.indexes.len());
    for at in 0..table.indexes.len() {
        let own = match at {
            0 => spec.clustered.as_ref(),
            _ => spec.indexes.get(at - 1),
        };
        let mut plan = IndexPlan::default();
        if let Some(own) = own {
            plan.filter = own.filter.clone();
            plan.scatter = own.fragmented.then_some(seed);
        }
        let placement = own.and_then(|own| own.placement.as_ref()).or(spec.placement.as_ref());
        if let Some(placement) = placement {
            let found = |name: &str| {
                let id = column_id(table, name)?;
                Ok((id, table.columns[id as usize - 1].ty))
            };
            match spaces.place(placement, found)? {
                ResolvedPlacement::Filegroup(group) => {
                    let index = &mut table.indexes[at];
                    (index.data_space, index.filegroup) = (group.into(), group);
                }
                ResolvedPlacement::Partitions(partitioning) => {
                    verify_partitioned(table, &table.indexes[at], &partitioning)?;
                    part(&mut table.indexes[at], &partitioning, ids);
                    plan.partitioning = Some(partitioning);
                }
            }
        }
        plans.push(plan);
    }
    verify_locators(table, &plans)?;
    Ok(plans)
}

/// Turns an index into one of several partitions.
fn part(index: &mut IndexDefinition, partitioning: &Partitioning, ids: &mut Ids) {
    index.data_space = partitioning.scheme;
    index.partition_column = partitioning.column;
    for (at, group) in partitioning.groups.iter().enumerate() {
        if at == 0 {
            index.filegroup = *group;
            continue;
        }
        let rowset = ids.rowset();
        let units = index.units.iter().map(|unit| ids.unit(unit.kind)).collect();
        index.rest.push(PartitionDefinition { filegroup: *group, rowset, units });
    }
}

/// SQL Server demands the partitioning column in the key of a unique index, and adds it to a
/// clustered one.
fn verify_partitioned(
    table: &TableDefinition,
    index: &IndexDefinition,
    partitioning: &Partitioning,
) -> Result<(), Error> {
    let is_key = index.keys.iter().any(|key| key.column_id == partitioning.column);
    let must_be = index.is_unique() || index.id.0 == 1;
    if must_be && !is_key {
        let what = "a unique or clustered index in partitions without their column in its key";
        return Err(Error::NotBuilt { table: table.name.clone(), what });
    }
    Ok(())
}

/// The row locators of a non-aligned index on a partitioned heap are not known.
fn verify_locators(table: &TableDefinition, plans: &[IndexPlan]) -> Result<(), Error> {
    let base = plans.first().and_then(|plan| plan.partitioning.as_ref());
    let is_heap = table.indexes.first().is_some_and(|index| index.id.0 == 0);
    let differs = plans.iter().any(|plan| plan.partitioning.as_ref() != base);
    if is_heap && base.is_some() && differs {
        let what = "an index that is not aligned with its heap";
        return Err(Error::NotBuilt { table: table.name.clone(), what });
    }
    Ok(())
}

/// A clustered key must be in the rows.
pub(crate) fn verify_computed(
    table: &TableDefinition,
    clustered: Option<&IndexSpec>,
) -> Result<(), Error> {
    let is_stored = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        column.is_none_or(|column| column.is_stored())
    };
    let keys = clustered.map_or(&[][..], |index| &index.columns);
    if keys.iter().all(|(name, _)| is_stored(name)) {
        return Ok(());
    }
    let what = "a clustered key with a computed column that is not stored";
    Err(Error::NotBuilt { table: table.name.clone(), what })
}
