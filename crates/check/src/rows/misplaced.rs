//! Rows in the wrong partition, verified again: 8984 with 8988.
//!
//! ```text
//! scan    how many rows of each partition stand where          [`BoundaryCounts`]
//! indexes of which some rows lie elsewhere, and most do not: their partitions are read again
//! rows    decoded by an independent way, and given to the whole function: the number they should
//!         have
//! ```
//!
//! Where functions lie in the catalog is known from descriptions only. So the rows themselves
//! bear witness: a function that more than a quarter of an index contradicts is taken for
//! misunderstood, and listed. So is the side that boundary values belong to.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::Rid;
use extentdb_catalog::Catalog;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::{Index, Table};
use extentdb_format::record::RecordKind;
use extentdb_reader::CheckedPages;
use extentdb_types::Datum;

use super::boundary::{Boundaries, index_of, what};
use super::describe::{StoredRow, join};
use super::page::PageRows;
use super::part::{BoundaryCounts, BoundaryPosition};
use super::plan::RowPlans;
use crate::collector::Collector;
use crate::coverage::NotChecked;
use crate::finding::{Finding, Findings};
use crate::partial::Partial;
use crate::second_pass::SecondPass;
use crate::sound::SoundPage;
use crate::unit::{Structure, Unit, UnitIndex};

/// A function is believed while at most one row in four contradicts it.
const DOUBTFUL_SHARE: u64 = 4;

/// What of an index is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct BoundaryVerdict {
    /// Rows that are not between the boundaries.
    outside: bool,
    /// Rows on a boundary that belongs to the adjacent partition.
    on_edge: bool,
    /// Something is left open.
    why: Option<&'static str>,
    /// Because rows contradict the function, as damage would.
    is_contradicted: bool,
}

impl BoundaryVerdict {
    fn of(all: &BoundaryCounts) -> BoundaryVerdict {
        let own = all.inside + all.on_own_edge;
        let is_believed = all.outside * DOUBTFUL_SHARE <= own + all.outside;
        let knows_side = all.on_foreign_edge < all.on_own_edge;
        let why = if all.outside > 0 && !is_believed {
            Some("many rows contradict it: more likely it is not understood")
        } else if all.on_foreign_edge > 0 && !knows_side {
            Some("its boundary values lie on the other side: more likely it is not understood")
        } else if all.undecided > 0 {
            Some("the order of some values is not known for certain")
        } else {
            None
        };
        BoundaryVerdict {
            outside: all.outside > 0 && is_believed,
            on_edge: all.on_foreign_edge > 0 && knows_side && is_believed,
            why,
            is_contradicted: all.outside > 0 && !is_believed,
        }
    }
}

/// Reports rows in partitions that they do not belong to; returns what could not be decided.
pub(crate) fn verify_partitions(
    pass: &SecondPass<'_>,
    rows: &RowPlans,
    sum: &Partial,
    findings: &mut Findings,
) -> Vec<NotChecked> {
    let Some(catalog) = &pass.plan.catalog else { return Vec::new() };
    let boundaries = &rows.boundaries;
    let mut left_out: Vec<NotChecked> =
        boundaries.left_out.iter().map(|(what, why)| NotChecked::skipped(what, why)).collect();
    let mut by_index: BTreeMap<_, (BoundaryCounts, BTreeSet<UnitIndex>)> = BTreeMap::new();
    for (unit, boundary_counts) in &sum.rows.boundary_counts {
        let Some(owner) = pass.plan.units.get(*unit).map(|unit| unit.owner) else { continue };
        let (all, units) = by_index.entry((owner.object, owner.index)).or_default();
        all.merge(*boundary_counts);
        units.insert(*unit);
    }
    for (all, units) in by_index.values() {
        let verdict = BoundaryVerdict::of(all);
        let Some(name) = units.first().and_then(|unit| name_of(pass, catalog, *unit)) else {
            continue;
        };
        left_out.extend(verdict.why.map(|why| NotChecked {
            was_asked_for: verdict.is_contradicted,
            ..NotChecked::asked(&name, why)
        }));
        if verdict.outside || verdict.on_edge {
            match find(pass, boundaries, units, verdict) {
                Some(rows) => report(pass, catalog, rows, findings),
                None => left_out.push(NotChecked::asked(&name, "the run was stopped")),
            }
        }
    }
    left_out
}

fn name_of(pass: &SecondPass<'_>, catalog: &Catalog, unit: UnitIndex) -> Option<String> {
    let rowset = catalog.rowsets.get(&pass.plan.units.get(unit)?.owner.partition)?;
    index_of(catalog, rowset).map(|(table, index)| what(table, index))
}

/// Finds rows that lie in the wrong partition. The first ones are kept, whichever worker finds
/// them.
struct Finder<'f> {
    boundaries: &'f Boundaries,
    verdict: BoundaryVerdict,
    limit: usize,
    found: Vec<(UnitIndex, Rid)>,
}

impl Finder<'_> {
    fn settle(&mut self) {
        self.found.sort_unstable();
        self.found.truncate(self.limit);
    }
}

impl Collector for Finder<'_> {
    fn sound(&mut self, page: &SoundPage<'_>, _: &mut Partial) {
        let Some(boundary) = self.boundaries.get(page.index).filter(|_| page.is_leaf) else {
            return;
        };
        let mut memory = Vec::new();
        let rows = PageRows::read(page, &mut memory);
        for row in rows.iter() {
            let is_wanted = match boundary.position(&rows.cells(row)) {
                BoundaryPosition::Outside => self.verdict.outside,
                BoundaryPosition::OnForeignEdge => self.verdict.on_edge,
                BoundaryPosition::Inside
                | BoundaryPosition::OnOwnEdge
                | BoundaryPosition::Undecided => false,
            };
            if is_wanted {
                self.found.push((page.index, page.rid(row.slot)));
            }
        }
        if self.found.len() > self.limit.saturating_mul(2) {
            self.settle();
        }
    }
}

/// The rows of some partitions that lie elsewhere, in order; `None` when the run was stopped.
fn find(
    pass: &SecondPass<'_>,
    boundaries: &Boundaries,
    units: &BTreeSet<UnitIndex>,
    verdict: BoundaryVerdict,
) -> Option<Vec<(UnitIndex, Rid)>> {
    let limit = pass.options.max_errors;
    let finders = pass.visit(units, || Finder { boundaries, verdict, limit, found: Vec::new() })?;
    let found = finders.into_iter().flat_map(|finder| finder.found).collect();
    let mut all = Finder { boundaries, verdict, limit, found };
    all.settle();
    Some(all.found)
}

fn report(
    pass: &SecondPass<'_>,
    catalog: &Catalog,
    rows: Vec<(UnitIndex, Rid)>,
    findings: &mut Findings,
) {
    let pages = CheckedPages::new(pass.source);
    for (unit, rid) in rows {
        if let Some(finding) = finding(pass, catalog, &pages, unit, rid) {
            findings.push(finding);
        }
    }
}

/// 8984 with 8988; nothing when the second way of decoding puts the row where it is, or cannot
/// tell.
fn finding(
    pass: &SecondPass<'_>,
    catalog: &Catalog,
    pages: &CheckedPages<'_>,
    index: UnitIndex,
    rid: Rid,
) -> Option<Finding> {
    let unit = pass.plan.units.get(index)?;
    let (expected, partition, identity) =
        StoredRow::read(pass, catalog, pages, index, rid, |stored| {
            let (table, index) = index_of(catalog, stored.rowset)?;
            let row = PartitionRow { stored, table, index };
            let partition = stored.rowset.partition;
            let expected = row.partition().filter(|expected| *expected != partition)?;
            Some((expected, partition, row.identity(unit)))
        })?;
    let place = unit.at(rid.page).slot(rid.slot.0);
    let of_partition =
        [unit.owner.object.0.into(), unit.owner.index.0.into(), unit.owner.partition.0.into()];
    let args = of_partition.into_iter().chain([expected.into(), partition.into()]);
    let of_row =
        [rid.page.file.0.into(), rid.page.page.into(), rid.slot.0.into(), identity.clone().into()];
    let companion = Finding::new(8988, place, of_row);
    Some(Finding::new(8984, place, args).with(companion).key(identity))
}

/// A row of a partition, to be put into words.
struct PartitionRow<'r> {
    stored: &'r StoredRow<'r>,
    table: &'r Table,
    index: &'r Index,
}

impl PartitionRow<'_> {
    /// The partition that the function gives.
    fn partition(&self) -> Option<i32> {
        let (function, id) = self.stored.catalog.partition_function_of(self.index)?;
        let is_entry = self.index.id.0 > 1;
        let own =
            || self.index.columns.iter().find(|own| own.column_id == id).map(|own| own.ordinal);
        let column = self.stored.layout.column(if is_entry { own()? } else { id })?;
        let value = self.stored.value(column)?;
        match value.stored() {
            None => function.partition_of(&Datum::Null),
            Some(bytes) => function.partition_of(&Datum::decode(&column.ty?, bytes).ok()?),
        }
    }

    /// What 8988 calls it by: its key, or its place in a heap.
    fn identity(&self, unit: &Unit) -> String {
        let mut text = String::new();
        if unit.structure == Structure::Heap {
            let home = match self.stored.record.kind() {
                RecordKind::Forwarded => {
                    self.stored.record.back_pointer().unwrap_or(self.stored.rid)
                }
                _ => self.stored.rid,
            };
            let Rid { page, slot } = home;
            join(&mut text, "HEAP RID", &format!("({}:{}:{})", page.file.0, page.page, slot.0));
        }
        for column in self.stored.layout.key() {
            let value = self.stored.value(column);
            let value = value.map_or_else(|| "?".to_owned(), |value| value.text);
            join(&mut text, &self.name(unit, column), &value);
        }
        text
    }

    fn name(&self, unit: &Unit, column: &PhysicalColumn) -> String {
        let own = self.index.columns.iter().find(|own| own.ordinal == column.column_id);
        let id = match unit.structure {
            Structure::Nonclustered => own.map(|own| own.column_id),
            _ => Some(column.column_id).filter(|_| !column.is_uniquifier()),
        };
        let named = id.and_then(|id| self.table.column(id)).map(|column| column.name.clone());
        named.unwrap_or_else(|| "UNIQUIFIER".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(
        inside: u64,
        outside: u64,
        on_own_edge: u64,
        on_foreign_edge: u64,
    ) -> (bool, bool, bool) {
        let all = BoundaryCounts { inside, outside, on_own_edge, on_foreign_edge, undecided: 0 };
        let BoundaryVerdict { outside, on_edge, why, .. } = BoundaryVerdict::of(&all);
        (outside, on_edge, why.is_some())
    }

    #[test]
    fn a_function_that_many_rows_contradict_is_not_believed() {
        assert_eq!(verdict(100, 0, 0, 0), (false, false, false));
        assert_eq!(verdict(3, 1, 0, 0), (true, false, false));
        assert_eq!(verdict(2, 1, 0, 0), (false, false, true));
        assert_eq!(verdict(0, 5, 0, 0), (false, false, true));
    }

    #[test]
    fn boundary_values_are_judged_when_others_lie_on_the_side_that_the_function_names() {
        assert_eq!(verdict(100, 0, 2, 1), (false, true, false));
        assert_eq!(verdict(100, 0, 0, 1), (false, false, true));
        assert_eq!(verdict(100, 0, 1, 1), (false, false, true));
        assert_eq!(
            verdict(0, 50, 2, 1),
            (false, false, true),
            "nor when the function is not believed"
        );
    }

    #[test]
    fn values_without_an_order_leave_the_index_open() {
        let all = BoundaryCounts { inside: 9, undecided: 1, ..BoundaryCounts::default() };
        assert!(BoundaryVerdict::of(&all).why.is_some());
    }
}
