//! Indexes against their rowsets.
//!
//! ```text
//! sysidxstats (id, indid, rowset) <-> sysrowsets (rowsetid, idmajor, idminor, numpart) <->
//!             sysallocunits (ownerid)
//! ```
//!
//! Only heaps, clustered and nonclustered indexes of user tables are judged: what other indexes
//! keep in these columns, and the rowsets of tables in memory, is not published. So is what
//! `sysidxstats` names after partitions were switched, and what an online build that was paused
//! leaves.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{HobtId, IndexId, ObjectId};
use extentdb_catalog::layout::Compression;
use extentdb_catalog::model::{
    AllocUnitKind, Catalog, Index, IndexKind, ObjectType, Rowset, Table as Described,
};

use super::rows::{Key, SYSRSCOLS, Table};
use super::{report_missing_attribute, report_missing_row, report_unmatched, report_value};
use crate::finding::Findings;

/// `sysrowsets.ownertype` of heaps and indexes.
const OWNED_BY_INDEX: u8 = 1;
/// SQL Server's limit.
const PARTITIONS_MAX: i32 = 15_000;
/// `sysclsobjs.type` of filegroups and partition schemes.
const FILEGROUP: &str = "FG";
const PARTITION_SCHEME: &str = "PS";

/// Where the rows of an index are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Filegroup,
    /// A scheme and, when it is known, the number of its partitions.
    Scheme(Option<usize>),
    Unknown,
}

/// The rowsets of a catalog by their index.
pub(super) struct Storage<'c> {
    pub(super) catalog: &'c Catalog,
    rowsets: BTreeMap<(ObjectId, IndexId), Vec<&'c Rowset>>,
    /// Rowsets that own allocation units, listed or not.
    owners: BTreeSet<HobtId>,
}

impl<'c> Storage<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        let mut rowsets: BTreeMap<_, Vec<&Rowset>> = BTreeMap::new();
        for rowset in catalog.rowsets.values() {
            rowsets.entry((rowset.object, rowset.index)).or_default().push(rowset);
        }
        let owners = catalog.units.values().map(|unit| unit.owner).collect();
        Storage { catalog, rowsets, owners }
    }

    /// 2005 describes the columns of rows in two other tables; what they hold was seen in too few
    /// files to be judged.
    pub(super) fn describes_rows(&self) -> bool {
        self.catalog.units.contains_key(&SYSRSCOLS)
    }

    /// The tables that are judged. From 2012 on tables of the system are listed as user tables,
    /// with negative ids.
    pub(super) fn tables(&self) -> impl Iterator<Item = &'c Described> + use<'c> {
        let catalog = self.catalog;
        catalog
            .tables
            .values()
            .filter(|table| table.kind == ObjectType::USER_TABLE && table.id.0 > 0)
    }

    /// The tables of the system, which are the same in every database of a version.
    pub(super) fn base_tables(&self) -> impl Iterator<Item = &'c Described> + use<'c> {
        let catalog = self.catalog;
        catalog
            .tables
            .values()
            .filter(|table| table.kind == ObjectType::SYSTEM_TABLE && table.id.0 > 0)
    }

    fn listed(&self, table: &Described, index: &Index) -> &[&'c Rowset] {
        self.rowsets.get(&(table.id, index.id)).map_or(&[], Vec::as_slice)
    }

    /// The rowsets of an index, when all of them hold rows in one of the known forms.
    pub(super) fn rowsets(&self, table: &Described, index: &Index) -> &[&'c Rowset] {
        let listed = self.listed(table, index);
        let is_known = |rowset: &&Rowset| {
            rowset.owner_type == OWNED_BY_INDEX
                && !matches!(rowset.compression, Compression::Other(_))
        };
        if listed.iter().all(is_known) { listed } else { &[] }
    }

    pub(super) fn space(&self, index: &Index) -> Space {
        let space = self.catalog.filegroups.iter().find(|space| space.id == index.data_space);
        match space.map(|space| space.kind.as_str()) {
            Some(FILEGROUP) => Space::Filegroup,
            Some(PARTITION_SCHEME) => Space::Scheme(self.partitions(index.data_space)),
            // From 2012 on the column is 0, and the data space is kept elsewhere.
            _ if !self.catalog.filegroups.iter().any(|space| space.kind == PARTITION_SCHEME) => {
                Space::Filegroup
            }
            _ => Space::Unknown,
        }
    }

    fn partitions(&self, scheme: i32) -> Option<usize> {
        let scheme = self.catalog.partition_schemes.iter().find(|it| it.id == scheme)?;
        let mut functions = self.catalog.partition_functions.iter();
        let function =
            functions.find(|function| function.id == scheme.function && function.is_known)?;
        Some(function.boundaries.len() + 1)
    }

    /// Rowsets, partition numbers and roots of all indexes.
    pub(super) fn verify(&self, findings: &mut Findings) {
        for table in self.tables() {
            for index in table.indexes.iter().filter(|index| is_row_store(index)) {
                self.verify_rowset(table, index, findings);
                self.verify_partitions(table, index, findings);
                self.verify_roots(table, index, findings);
            }
        }
    }

    /// An index with pages names its rowset, and a rowset that is named is listed.
    fn verify_rowset(&self, table: &Described, index: &Index, findings: &mut Findings) {
        let row = index_key(table, index);
        let named = index.named_rowset;
        let is_listed = self.catalog.rowsets.contains_key(&index.named_rowset);
        if index.is_marked_disabled() {
            return;
        }
        if self.listed(table, index).is_empty() {
            // Storage that another rowset claims, or that no rowset describes.
            if named.0 != 0 && (is_listed || self.owners.contains(&named)) {
                let target = Table::Indexes.row(row).describe();
                report_missing_row(Table::Indexes.row(row), Table::Partitions, target, findings);
            }
            return;
        }
        let [rowset] = self.rowsets(table, index) else { return };
        if self.space(index) != Space::Filegroup || !has_pages(rowset) {
            return;
        }
        if named.0 == 0 {
            report_missing_attribute("rowset", Table::Indexes.row(row), findings);
        } else if !is_listed {
            let names = Table::Partitions.row(Key::one(named.0));
            report_unmatched(None, Table::Indexes.row(row), names, findings);
        }
    }

    /// A table without partitions is partition 1; the others are numbered 1 to n, each once.
    fn verify_partitions(&self, table: &Described, index: &Index, findings: &mut Findings) {
        let rowsets = self.rowsets(table, index);
        let space = self.space(index);
        let last = match space {
            Space::Filegroup => 1,
            Space::Scheme(Some(count)) => i32::try_from(count).unwrap_or(PARTITIONS_MAX),
            Space::Scheme(None) | Space::Unknown => PARTITIONS_MAX,
        };
        let is_complete = space == Space::Scheme(Some(rowsets.len()));
        let mut seen = BTreeSet::new();
        let has_space = |rowset: &&&Rowset| index.data_space != 0 || has_pages(rowset);
        for rowset in rowsets.iter().filter(has_space) {
            let is_double = !seen.insert(rowset.partition) && is_complete;
            if !(1..=last).contains(&rowset.partition) || is_double {
                let attribute = format!("partition_number={}", rowset.partition);
                report_value(&attribute, Table::Partitions.row(Key::one(rowset.id.0)), findings);
            }
        }
    }

    /// A tree that has pages has a root. Trees whose pages are understood are walked anyway.
    fn verify_roots(&self, table: &Described, index: &Index, findings: &mut Findings) {
        let compressed =
            self.rowsets(table, index).iter().filter(|it| it.compression != Compression::None);
        for unit in compressed.filter_map(|rowset| rowset.unit(AllocUnitKind::InRow)) {
            let has_rows = !unit.first_iam.is_none() && unit.pages_data > 0;
            if index.kind != IndexKind::Heap && has_rows && unit.root.is_none() {
                let row = Table::AllocationUnits.row(Key::one(unit.id.0));
                report_missing_attribute("root_page", row, findings);
            }
        }
    }
}

/// A heap, clustered or nonclustered index, under the number it must have.
pub(super) fn is_row_store(index: &Index) -> bool {
    match index.kind {
        IndexKind::Heap => index.id.0 == 0,
        IndexKind::Clustered => index.id.0 == 1,
        IndexKind::Nonclustered => index.id.0 >= 2,
        _ => false,
    }
}

/// Rows were stored in it: a table in memory never has pages.
pub(super) fn has_pages(rowset: &Rowset) -> bool {
    rowset.unit(AllocUnitKind::InRow).is_some_and(|unit| !unit.first_iam.is_none())
}

pub(super) fn index_key(table: &Described, index: &Index) -> Key {
    Key::two(table.id.0.into(), index.id.0.into())
}
