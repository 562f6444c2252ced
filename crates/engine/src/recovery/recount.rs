//! After a crash: units that the log touched are counted again, and the PFS of their pages is
//! corrected.

use std::collections::BTreeSet;

use extentdb_base::{Extent, PageId};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::RecordKind;
use extentdb_space::{Unit, UnitCounts};

use crate::database::Database;
use crate::database::suspect::skip_suspect;
use crate::error::Error;
use crate::recovery::analysis::Touched;

impl Database {
    /// Counts every unit that the log touched, and corrects the classes of its pages.
    pub(crate) fn recount_after_crash(&self, touched: &Touched) -> Result<(), Error> {
        for unit in self.catalog.units.all() {
            if !touched.units.iter().any(|id| unit.is_known_as(*id)) {
                continue;
            }
            skip_suspect(self.recount_unit(&unit, touched))?;
        }
        // A map that cannot be read may hide the owner of an extent: then nothing is found again.
        skip_suspect(self.recount_mixed(touched))
    }

    /// Mixed extents that the log touched, and whose free pages SGAM does not lead to, are found
    /// again: older versions of the engine left such extents. Nothing says that an extent is mixed
    /// but that no unit owns it.
    fn recount_mixed(&self, touched: &Touched) -> Result<(), Error> {
        let mut left: BTreeSet<Extent> =
            self.space.without_hint(touched.extents.iter().copied())?.into_iter().collect();
        let mut units = self.catalog.units.all();
        // Most of them are extents of units that were touched, too: often no other unit need be
        // read.
        units.sort_by_key(|unit| !touched.units.iter().any(|id| unit.is_known_as(*id)));
        let mut singles = BTreeSet::new();
        for unit in units {
            if left.is_empty() {
                return Ok(());
            }
            let owned = self.space.owned_by(&unit)?;
            owned.extents.iter().for_each(|extent| {
                left.remove(extent);
            });
            singles.extend(owned.singles);
        }
        left.into_iter().try_for_each(|extent| Ok(self.space.restore_hint(extent, &singles)?))
    }

    fn recount_unit(&self, unit: &Unit, touched: &Touched) -> Result<(), Error> {
        let heap = self.catalog.table_of(unit.id()).and_then(|table| table.heap());
        let lob = self.catalog.lob_of(unit.id());
        if heap.is_some() || lob.is_some() {
            let pages = self.space.pages_of(unit)?;
            let is_touched = |page: &PageId| touched.extents.contains(&page.extent());
            let pages: Vec<PageId> = pages.into_iter().filter(is_touched).collect();
            heap.map_or(Ok(()), |heap| heap.update_pfs_after_crash(pages.iter().copied()))?;
            lob.map_or(Ok(()), |lob| lob.update_pfs_after_crash(pages))?;
        }
        let counts = self.count(unit)?;
        unit.set_counts(counts);
        Ok(())
    }

    /// The size of a unit by its maps and pages.
    fn count(&self, unit: &Unit) -> Result<UnitCounts, Error> {
        let owned = self.space.owned_by(unit)?;
        let pages = self.space.pages_of(unit)?;
        let mut counts = UnitCounts {
            rows: 0,
            data: 0,
            used: (pages.len() + owned.iams) as i64,
            reserved: (owned.iams + owned.singles.len() + 8 * owned.extents.len()) as i64,
        };
        // Leaves, and their rows: data pages, or where there are none the lowest index pages.
        let mut of_data = (0, 0);
        let mut of_index = (0, 0);
        for id in pages {
            let page = self.pool.read(id)?;
            let header = PageHeader::of(&page);
            let leaves = match header.kind() {
                PageType::Data => &mut of_data,
                PageType::Index if header.level == 0 => &mut of_index,
                _ => continue,
            };
            *leaves = (leaves.0 + 1, leaves.1 + rows_on(PageRef::new(&page)));
        }
        (counts.data, counts.rows) = if of_data.0 > 0 { of_data } else { of_index };
        if !self.catalog.counts_rows(unit.id()) {
            counts.rows = 0;
        }
        Ok(counts)
    }
}

/// Rows that are there: a forwarded row counts, and its stub, which may lead to a ghost, does not.
fn rows_on(page: PageRef<'_>) -> i64 {
    let is_row = |bytes: &[u8]| match bytes.first().map(|status| RecordKind::of(*status)) {
        Some(RecordKind::Primary | RecordKind::Forwarded | RecordKind::Index) => 1,
        _ => 0,
    };
    page.records().map(|(_, bytes)| is_row(bytes)).sum()
}
