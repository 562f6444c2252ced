//! What the catalog says about units and cannot be: filegroups (8932, 8992, 8995) and counts
//! (2508).
//!
//! Counts are judged as SQL Server 2005 and later judge them: only impossible ones are errors.
//! Those of nonclustered indexes that come from SQL Server 2000 are stale in healthy files.

use std::collections::BTreeSet;

use extentdb_base::{HobtId, ObjectId};
use extentdb_catalog::Catalog;
use extentdb_catalog::bootstrap::Bootstrap;
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{AllocUnit, ObjectType, Rowset};
use extentdb_messages::Arg;

use super::Prelude;
use crate::catalog::filegroup_without_file;
use crate::finding::{Finding, Location, Owner};
use crate::unit::Units;

/// The filegroup of all system tables: PRIMARY.
const PRIMARY: i16 = 1;

impl Prelude<'_> {
    /// 2508: counts below zero.
    pub(super) fn verify_counts(&mut self, bootstrap: &Bootstrap, catalog: Option<&Catalog>) {
        let mut seen: BTreeSet<HobtId> = BTreeSet::new();
        for unit in bootstrap.units.values() {
            let Some(rowset) = bootstrap.rowsets.get(&unit.owner) else { continue };
            // What columnstores and tables in memory count, and how, is not known.
            if rowset.owner_type > 1 || matches!(rowset.compression, Compression::Other(_)) {
                continue;
            }
            let rows = if seen.insert(rowset.id) { rowset.rows } else { 0 };
            let counts = [
                (rows, "row"),
                (unit.pages_data, "data page"),
                (unit.pages_used, "used page"),
                (unit.pages_reserved, "reserved page"),
            ];
            for (_, what) in counts.into_iter().filter(|(count, _)| *count < 0) {
                self.report_count(what, unit, rowset, catalog);
            }
        }
    }

    fn report_count(
        &mut self,
        what: &'static str,
        unit: &AllocUnit,
        rowset: &Rowset,
        catalog: Option<&Catalog>,
    ) {
        let table = catalog.and_then(|catalog| catalog.tables.get(&rowset.object));
        let name = table.map_or_else(|| rowset.object.to_string(), |table| table.name.clone());
        let owner = Owner {
            is_user: table.is_some_and(|table| table.kind == ObjectType::USER_TABLE),
            object: rowset.object,
            index: rowset.index,
            partition: rowset.id,
            unit: unit.id,
        };
        let args: [Arg<'_>; 6] = [
            what.into(),
            name.into(),
            rowset.index.0.into(),
            rowset.id.0.into(),
            unit.id.0.into(),
            unit.kind.name().into(),
        ];
        self.report(2508, Location { owner: Some(owner), ..Location::default() }, args);
    }

    /// 8932: filegroups that do not exist; 8992: that have no file; 8995: system tables outside
    /// PRIMARY. Only units with pages have a filegroup that means anything.
    pub(super) fn verify_filegroups(&mut self, units: &Units, catalog: Option<&Catalog>) {
        let Some(catalog) = catalog else { return };
        let known: BTreeSet<i32> = catalog.files.iter().map(|file| file.filegroup).collect();
        let mut missing: BTreeSet<i16> = BTreeSet::new();
        for (_, unit) in units.iter().filter(|(_, unit)| !unit.first_iam.is_none()) {
            let filegroup = unit.filegroup;
            if !known.is_empty()
                && filegroup > 0
                && !known.contains(&i32::from(filegroup))
                && missing.insert(filegroup)
            {
                self.report_filegroup(filegroup, catalog);
            }
            if is_base_table(catalog, unit.owner.object) && filegroup > PRIMARY {
                let name =
                    catalog.tables.get(&unit.owner.object).map_or("", |table| table.name.as_str());
                let Owner { object, index, .. } = unit.owner;
                let args = [
                    name.into(),
                    object.0.into(),
                    index.0.into(),
                    filegroup.into(),
                    PRIMARY.into(),
                ];
                let place = Location { owner: Some(unit.owner), ..Location::default() };
                self.report(8995, place, args);
            }
        }
    }
}

impl Prelude<'_> {
    fn report_filegroup(&mut self, filegroup: i16, catalog: &Catalog) {
        let is_listed = catalog.filegroups.iter().any(|listed| listed.id == i32::from(filegroup));
        let finding = if is_listed {
            filegroup_without_file(filegroup)
        } else {
            let args = [filegroup.into(), self.database.clone().into()];
            Finding::new(8932, Location::default(), args)
        };
        self.findings.push(finding);
    }
}

fn is_base_table(catalog: &Catalog, object: ObjectId) -> bool {
    catalog.objects.get(&object).is_some_and(|object| object.kind == ObjectType::SYSTEM_TABLE)
}
