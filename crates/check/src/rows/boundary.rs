//! Rows against the boundaries of their partition (`docs/check.md` 4), as the scan sees them: only
//! counted.
//!
//! ```text
//! boundaries     10        20        30
//! partition 2     [---------[                 RANGE RIGHT: 10 is inside, 20 is on the other side
//!                 ]---------]                 RANGE LEFT: 20 is inside
//! ```
//!
//! A partition knows its own two boundaries, so that a row costs two comparisons, in partitioned
//! indexes only.
//!
//! Not decided, and listed by name: indexes whose function, type or number of partitions does not
//! fit together, and values whose order is not known.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use extentdb_base::{IndexId, ObjectId};
use extentdb_catalog::Catalog;
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnitKind, Index, IndexKind, Rowset, Table};
use extentdb_catalog::partition::{PartitionFunction, compare};
use extentdb_types::{Datum, SqlType};

use super::cells::Cells;
use super::column::{ColumnPlan, Content};
use super::page::PageRows;
use super::part::BoundaryPosition;
use crate::expand::has_certain_compression;
use crate::partial::Partial;
use crate::unit::{Structure, Unit, UnitIndex, Units};

/// The values of one partition.
#[derive(Clone, Debug)]
struct PartitionRange {
    ty: SqlType,
    /// The boundaries; the first partition has none below, the last none above.
    low: Option<Datum<'static>>,
    high: Option<Datum<'static>>,
    is_right: bool,
}

impl PartitionRange {
    fn new(ty: SqlType, number: i32, function: &PartitionFunction) -> Option<PartitionRange> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        let at = |place: usize| function.boundaries.get(place).cloned();
        let low = place.checked_sub(1).and_then(at);
        Some(PartitionRange { ty, low, high: at(place), is_right: function.range_right })
    }

    fn position(&self, value: &Datum<'_>) -> BoundaryPosition {
        if value.is_null() {
            return if self.low.is_none() {
                BoundaryPosition::Inside
            } else {
                BoundaryPosition::Outside
            };
        }
        let against = |boundary: &Option<Datum<'static>>, open| match boundary {
            Some(boundary) => compare(&self.ty, value, boundary),
            None => Some(open),
        };
        let edge = |is_own: bool| {
            if is_own { BoundaryPosition::OnOwnEdge } else { BoundaryPosition::OnForeignEdge }
        };
        match (against(&self.low, Ordering::Greater), against(&self.high, Ordering::Less)) {
            (None, _) | (_, None) => BoundaryPosition::Undecided,
            (Some(Ordering::Less), _) | (_, Some(Ordering::Greater)) => BoundaryPosition::Outside,
            (Some(Ordering::Equal), _) => edge(self.is_right),
            (_, Some(Ordering::Equal)) => edge(!self.is_right),
            _ => BoundaryPosition::Inside,
        }
    }
}

/// What the rows of a unit are held against.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    /// The partitioning column.
    pub(super) column: ColumnPlan,
    range: PartitionRange,
}

impl Boundary {
    /// Counts the rows of a page by how they relate to the boundaries.
    pub(super) fn count(&self, unit: UnitIndex, rows: &PageRows<'_>, partial: &mut Partial) {
        let boundary_counts = partial.rows.boundary_counts.entry(unit).or_default();
        rows.iter().for_each(|row| boundary_counts.add(self.position(&rows.cells(row))));
    }

    /// How a row relates to them.
    pub(super) fn position(&self, cells: &Cells<'_>) -> BoundaryPosition {
        match self.column.of(cells) {
            Some(Content::Null) => self.range.position(&Datum::Null),
            Some(Content::Bytes(bytes)) => Datum::decode(&self.column.ty, bytes)
                .map_or(BoundaryPosition::Undecided, |value| self.range.position(&value)),
            _ => BoundaryPosition::Undecided,
        }
    }
}

/// The boundaries of all partitions.
#[derive(Clone, Default, Debug)]
pub(crate) struct Boundaries {
    /// By unit; empty in a database without partitions.
    by_unit: Vec<Option<Boundary>>,
    /// Partitioned indexes that are not judged, and why.
    pub(crate) left_out: Vec<(String, String)>,
}

impl Boundaries {
    pub(super) fn new(catalog: &Catalog, units: &Units) -> Boundaries {
        let mut boundaries = Boundaries::default();
        let mut known: BTreeMap<(ObjectId, IndexId), Option<(&PartitionFunction, i32)>> =
            BTreeMap::new();
        let is_row_unit =
            |unit: &Unit| unit.kind == AllocUnitKind::InRow && unit.structure != Structure::Other;
        for (number, unit) in units.iter().filter(|(_, unit)| is_row_unit(unit)) {
            let Some(rowset) = catalog.rowsets.get(&unit.owner.partition) else { continue };
            let Some((table, index)) = index_of(catalog, rowset) else { continue };
            let decided = *known.entry((table.id, index.id)).or_insert_with(|| {
                function_of(catalog, table, index).unwrap_or_else(|why| {
                    boundaries.left_out.push((what(table, index), why.to_owned()));
                    None
                })
            });
            if let Some((function, column)) = decided {
                boundaries.set(number, boundary(catalog, unit, rowset, function, column));
            }
        }
        boundaries
    }

    fn set(&mut self, unit: UnitIndex, boundary: Option<Boundary>) {
        let at = unit as usize;
        if self.by_unit.len() <= at {
            self.by_unit.resize(at + 1, None);
        }
        if let Some(place) = self.by_unit.get_mut(at) {
            *place = boundary;
        }
    }

    /// The boundaries of a unit's partition.
    #[inline]
    pub(super) fn get(&self, unit: UnitIndex) -> Option<&Boundary> {
        self.by_unit.get(unit as usize)?.as_ref()
    }
}

/// A partitioned index in words, as under `not_checked`.
pub(super) fn what(table: &Table, index: &Index) -> String {
    match &index.name {
        Some(name) => {
            format!(
                "rows of index {name} of {} against their partition function",
                table.full_name()
            )
        }
        None => format!("rows of {} against their partition function", table.full_name()),
    }
}

pub(super) fn index_of<'c>(
    catalog: &'c Catalog,
    rowset: &Rowset,
) -> Option<(&'c Table, &'c Index)> {
    let table = catalog.tables.get(&rowset.object)?;
    Some((table, table.indexes.iter().find(|index| index.id == rowset.index)?))
}

/// The function of an index, and the column of the table that it is asked for; nothing for indexes
/// without partitions.
fn function_of<'c>(
    catalog: &'c Catalog,
    table: &Table,
    index: &Index,
) -> Result<Option<(&'c PartitionFunction, i32)>, &'static str> {
    let is_judged =
        matches!(index.kind, IndexKind::Heap | IndexKind::Clustered | IndexKind::Nonclustered);
    let is_partitioned = index.rowsets.len() > 1 || catalog.partition_scheme_of(index).is_some();
    if !is_judged || !is_partitioned {
        return Ok(None);
    }
    let (function, column) =
        catalog.partition_function_of(index).ok_or("its partition function was not found")?;
    if !function.is_known {
        return Err("the boundaries of its partition function were not found");
    }
    let mut numbers: Vec<i32> = catalog.rowsets_of(index).map(|rowset| rowset.partition).collect();
    numbers.sort_unstable();
    if !numbers.into_iter().eq(1..=function.partitions()) {
        return Err("it has not the partitions that its function gives");
    }
    let stored = table.column(column).and_then(|column| column.ty);
    if !stored.zip(function.ty).is_some_and(|(column, parameter)| is_same(&column, &parameter)) {
        return Err("the type of its partitioning column is not that of its function");
    }
    let is_open = |ty: SqlType| !has_certain_compression(&ty);
    let is_compressed = |rowset: &Rowset| rowset.compression != Compression::None;
    if stored.is_some_and(is_open) && catalog.rowsets_of(index).any(is_compressed) {
        return Err("the compressed form of its partitioning column is not certain");
    }
    Ok(Some((function, column)))
}

/// Values of both types have the same order. The length of text does not matter to it.
fn is_same(column: &SqlType, parameter: &SqlType) -> bool {
    let is_text = column.collation().is_some() && column.collation() == parameter.collation();
    column == parameter
        || (is_text && std::mem::discriminant(column) == std::mem::discriminant(parameter))
}

/// The boundaries of a unit. Rows of an index have its columns by their place in it.
fn boundary(
    catalog: &Catalog,
    unit: &Unit,
    rowset: &Rowset,
    function: &PartitionFunction,
    column: i32,
) -> Option<Boundary> {
    let id = match unit.structure {
        Structure::Nonclustered => {
            let (_, index) = index_of(catalog, rowset)?;
            index.columns.iter().find(|own| own.column_id == column)?.ordinal
        }
        _ => column,
    };
    let layout = match rowset.compression {
        Compression::None => &rowset.layout,
        _ => unit.expanded.as_deref()?,
    };
    let column = ColumnPlan::new(layout.column(id)?, "", catalog, rowset.id)?;
    let range = PartitionRange::new(column.ty, rowset.partition, function)?;
    Some(Boundary { column, range })
}

#[cfg(test)]
mod tests {
    use extentdb_types::Money;

    use super::*;

    fn partition(number: i32, is_right: bool) -> PartitionRange {
        let function = PartitionFunction {
            id: 65_536,
            name: "by_ten".to_owned(),
            ty: Some(SqlType::Int),
            range_right: is_right,
            boundaries: [10, 20, 30].map(Datum::Int).to_vec(),
            is_known: true,
        };
        PartitionRange::new(SqlType::Int, number, &function).unwrap()
    }

    #[test]
    fn a_row_is_inside_when_its_value_lies_between_the_boundaries() {
        for is_right in [false, true] {
            for (number, value) in
                (1..=4).flat_map(|number| (0..45).map(move |value| (number, value)))
            {
                let position = partition(number, is_right).position(&Datum::Int(value));
                let below =
                    [10, 20, 30].iter().filter(|at| value > **at || (is_right && value == **at));
                let is_own = below.count() as i32 + 1 == number;
                let is_edge =
                    [(number - 1) * 10, number * 10].contains(&value) && (10..=30).contains(&value);
                let expected = match (is_own, is_edge) {
                    (true, false) => BoundaryPosition::Inside,
                    (true, true) => BoundaryPosition::OnOwnEdge,
                    (false, true) => BoundaryPosition::OnForeignEdge,
                    (false, false) => BoundaryPosition::Outside,
                };
                assert_eq!(position, expected, "{value} in {number}, RIGHT: {is_right}");
            }
        }
    }

    #[test]
    fn null_belongs_to_the_first_partition_and_another_type_to_none() {
        assert_eq!(partition(1, true).position(&Datum::Null), BoundaryPosition::Inside);
        assert_eq!(partition(2, true).position(&Datum::Null), BoundaryPosition::Outside);
        assert_eq!(
            partition(2, true).position(&Datum::Money(Money(1))),
            BoundaryPosition::Undecided
        );
    }
}
