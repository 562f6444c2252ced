//! The part of the database that is checked: all of it, one table, or one filegroup.
//!
//! ```text
//!                  pages read                      allocation findings kept
//! database         all allocated ones              all
//! table            those of its units              about its units and their extents
//! filegroup        those of its files that belong  about its files
//!                  to tables checked, or to no table
//! ```
//!
//! Units outside are marked and not read, as with NOINDEX. What a filegroup leaves out of its own
//! tables is said: rowsets that lie elsewhere (2594), and tables whose base index lies elsewhere at
//! least in part, so that their indexes cannot be compared with it (2595).

use std::collections::BTreeSet;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_GAM};
use extentdb_base::{Extent, FileId, ObjectId, PageId};
use extentdb_catalog::Catalog;
use extentdb_catalog::model::{AllocUnitKind, DataSpace, Index, Table};
use extentdb_messages::{Arg, Class};
use extentdb_reader::PageSource;
use extentdb_types::Collation;

use super::OwnerMap;
use crate::finding::{Finding, Location};
use crate::options::ScopeChoice;
use crate::unit::{Unit, UnitIndex, Units};

/// Name of synonyms in `sysschobjs`.
const SYNONYM: &str = "SN";

/// What is checked, found in the catalog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Chosen {
    Database,
    Table(ObjectId),
    /// A filegroup with its files.
    Filegroup {
        id: i32,
        /// Its data files.
        files: Vec<FileId>,
    },
    /// Something was asked for, and without a catalog its pages are unknown.
    Unknown,
}

/// What was chosen, and what is to be said about it.
pub(super) struct ScopePlan {
    pub(super) chosen: Chosen,
    /// Its name in full.
    pub(super) target: Option<String>,
    pub(super) notes: Vec<Finding>,
}

impl Chosen {
    /// Is this a limited run?
    pub(crate) fn is_limited(&self) -> bool {
        *self != Chosen::Database
    }

    /// Are pages of a file checked that belong to no unit?
    pub(crate) fn has_unowned(&self, file: FileId) -> bool {
        match self {
            Chosen::Database => true,
            Chosen::Filegroup { files, .. } => files.contains(&file),
            Chosen::Table(_) | Chosen::Unknown => false,
        }
    }

    /// Is the allocation of an extent checked?
    pub(super) fn has_extent(&self, extent: Extent, units: &Units, owners: &OwnerMap) -> bool {
        match self {
            Chosen::Database => true,
            Chosen::Filegroup { files, .. } => files.contains(&extent.file),
            Chosen::Unknown => false,
            Chosen::Table(_) => owners.any_unit(extent, |unit| is_inside(units, unit)),
        }
    }

    /// Is a finding about what was chosen? Findings that concern the whole database always are.
    pub(super) fn keeps(&self, finding: &Finding, units: &Units, owners: &OwnerMap) -> bool {
        let owner = finding.location.owner;
        let page = finding.location.page;
        match (self, owner, page) {
            (Chosen::Database, ..) | (_, None, None) => true,
            (Chosen::Unknown, ..) => finding.is(Class::Database),
            (Chosen::Filegroup { files, .. }, _, Some(page)) if files.contains(&page.file) => true,
            // A damaged map page: of any extent of its GAM interval.
            (Chosen::Table(_), None, Some(page)) if finding.is(Class::Map) => {
                let first = page.page / PAGES_PER_GAM * EXTENTS_PER_GAM;
                let extents = (first..first.saturating_add(EXTENTS_PER_GAM))
                    .map(|index| Extent { file: page.file, index });
                extents.into_iter().any(|extent| self.has_extent(extent, units, owners))
            }
            (_, Some(owner), _)
                if units.of_header(owner.unit, false).is_some_and(|it| is_inside(units, it)) =>
            {
                true
            }
            (_, _, Some(page)) if self.has_extent(page.extent(), units, owners) => true,
            _ => finding.is(Class::Database),
        }
    }
}

fn is_inside(units: &Units, unit: UnitIndex) -> bool {
    units.get(unit).is_some_and(|unit| !unit.is_outside)
}

/// Finds what was asked for, and marks the units that do not belong to it.
///
/// # Errors
/// The message that says why it cannot be checked: 2501, 2523, 2529, 2547, 5239.
pub(super) fn choose(
    choice: &ScopeChoice,
    catalog: Option<&Catalog>,
    source: &dyn PageSource,
    units: &mut Units,
) -> Result<ScopePlan, Box<Finding>> {
    let nothing_more = |chosen| Ok(ScopePlan { chosen, target: None, notes: Vec::new() });
    if *choice == ScopeChoice::Database {
        return nothing_more(Chosen::Database);
    }
    let Some(catalog) = catalog else {
        units.leave_out(|_| true);
        return nothing_more(Chosen::Unknown);
    };
    match choice {
        ScopeChoice::Database => nothing_more(Chosen::Database),
        ScopeChoice::Table { schema, name } => {
            let table = find_table(catalog, schema.as_deref(), name)?;
            units.leave_out(|unit| unit.owner.object != table.id);
            Ok(ScopePlan {
                chosen: Chosen::Table(table.id),
                target: Some(table.full_name()),
                notes: Vec::new(),
            })
        }
        ScopeChoice::Filegroup(name) => choose_filegroup(catalog, name, source, units),
    }
}

fn refuse(error: u32, args: &[Arg<'_>]) -> Box<Finding> {
    Box::new(Finding::new(error, Location::default(), args.iter().cloned()))
}

/// The table of this name. Of several schemas, `dbo` is the one that is meant.
fn find_table<'c>(
    catalog: &'c Catalog,
    schema: Option<&str>,
    name: &str,
) -> Result<&'c Table, Box<Finding>> {
    let is_same = comparison(catalog);
    let typed = schema.map_or_else(|| name.to_owned(), |schema| format!("{schema}.{name}"));
    let fits = |table: &&Table| {
        is_same(&table.name, name) && schema.is_none_or(|schema| is_same(&table.schema, schema))
    };
    let mut found: Vec<&Table> = catalog.tables.values().filter(fits).collect();
    found.sort_by_key(|table| (table.schema != "dbo", table.id.0 <= 0, table.id));
    if let Some(table) = found.first() {
        return Ok(table);
    }
    let object = catalog.objects.values().find(|object| {
        let own_schema = catalog.schema_name(object.schema_id);
        is_same(&object.name, name) && schema.is_none_or(|schema| is_same(&own_schema, schema))
    });
    Err(match object {
        Some(object) if object.kind.code() == SYNONYM => {
            refuse(2547, &[object.id.0.into(), object.name.as_str().into()])
        }
        Some(object) => refuse(5239, &[object.id.0.into(), object.name.as_str().into()]),
        None => refuse(2501, &[typed.as_str().into()]),
    })
}

/// Names are equal as the database compares them.
fn comparison(catalog: &Catalog) -> impl Fn(&str, &str) -> bool {
    let ignores_case = Collation(catalog.boot.collation_id).ignores_case();
    move |a, b| {
        let folded = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
        a == b || (ignores_case && folded(a) == folded(b))
    }
}

fn choose_filegroup(
    catalog: &Catalog,
    name: &str,
    source: &dyn PageSource,
    units: &mut Units,
) -> Result<ScopePlan, Box<Finding>> {
    const ROWS: u8 = 0;
    let is_same = comparison(catalog);
    let id = name.parse::<i32>().ok();
    let fits = |space: &&DataSpace| {
        space.kind.trim() == "FG" && (is_same(&space.name, name) || id == Some(space.id))
    };
    let Some(space) = catalog.filegroups.iter().find(fits) else {
        return Err(refuse(2523, &[name.into()]));
    };
    let listed = catalog
        .files
        .iter()
        .filter(|file| file.filegroup == space.id && file.file_type == ROWS && !file.dropped);
    let files: Vec<FileId> =
        listed.map(|file| file.id).filter(|id| source.page_count(*id) > 0).collect();
    if files.is_empty() {
        return Err(refuse(2529, &[space.name.as_str().into()]));
    }
    let notes = leave_out_elsewhere(catalog, space, units);
    let chosen = Chosen::Filegroup { id: space.id, files };
    Ok(ScopePlan { chosen, target: Some(space.name.clone()), notes })
}

/// Marks the units that lie elsewhere, and the nonclustered indexes whose base does. Units without
/// pages lie nowhere; they go with their table.
fn leave_out_elsewhere(catalog: &Catalog, space: &DataSpace, units: &mut Units) -> Vec<Finding> {
    let is_here = |unit: &Unit| i32::from(unit.filegroup) == space.id;
    let has_pages = |unit: &Unit| !unit.first_iam.is_none();
    let tables_here: BTreeSet<ObjectId> = (units.iter().map(|(_, unit)| unit))
        .filter(|unit| has_pages(unit) && is_here(unit))
        .map(|unit| unit.owner.object)
        .collect();
    let mut notes = Vec::new();
    let mut told = BTreeSet::new();
    let mut split = BTreeSet::new();
    for (_, unit) in units.iter().filter(|(_, unit)| has_pages(unit) && !is_here(unit)) {
        let table =
            catalog.tables.get(&unit.owner.object).filter(|table| tables_here.contains(&table.id));
        let Some(table) = table else { continue };
        if told.insert(unit.owner.partition) {
            notes.push(rowset_elsewhere(catalog, table, unit));
        }
        // Large values may lie elsewhere without taking their table along.
        let is_base = unit.owner.index.0 <= 1 && unit.kind == AllocUnitKind::InRow;
        if is_base && split.insert(table.id) {
            let filegroup = filegroup_name(catalog, unit.filegroup);
            let args: [Arg<'_>; 2] = [table.name.as_str().into(), filegroup.into()];
            notes.push(Finding::new(
                2595,
                Location { owner: Some(unit.owner), ..Location::default() },
                args,
            ));
        }
    }
    units.leave_out(|unit| {
        let object = unit.owner.object;
        !tables_here.contains(&object)
            || (has_pages(unit) && !is_here(unit))
            || (unit.owner.index.0 >= 2 && split.contains(&object))
    });
    notes
}

/// 2594: a rowset is in a filegroup that was not chosen.
fn rowset_elsewhere(catalog: &Catalog, table: &Table, unit: &Unit) -> Finding {
    let index = table.indexes.iter().find(|index| index.id == unit.owner.index);
    let index_name = index.and_then(|index: &Index| index.name.as_deref()).unwrap_or_default();
    let args: [Arg<'_>; 7] = [
        unit.owner.partition.0.into(),
        table.name.as_str().into(),
        table.id.0.into(),
        index_name.into(),
        unit.owner.index.0.into(),
        filegroup_name(catalog, unit.filegroup).into(),
        unit.filegroup.into(),
    ];
    Finding::new(2594, Location { owner: Some(unit.owner), ..Location::default() }, args)
}

fn filegroup_name(catalog: &Catalog, id: i16) -> String {
    let space = catalog.filegroups.iter().find(|space| space.id == i32::from(id));
    space.map_or_else(|| format!("filegroup {id}"), |space| space.name.clone())
}

/// Is a page of the plan left out of the scan? A page with several claimants is read when one of
/// them is checked.
#[inline]
pub(crate) fn leaves_out(plan: &super::Plan, page: PageId) -> bool {
    if !plan.chosen.is_limited() {
        return false;
    }
    let owners = &plan.owners;
    match owners.any_unit_of_page(page, |unit| is_inside(&plan.units, unit)) {
        Some(is_inside) => !is_inside,
        None => !plan.chosen.has_unowned(page.file),
    }
}

#[cfg(test)]
mod tests;
