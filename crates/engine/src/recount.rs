//! After a crash: what was touched is counted anew, and PFS learns the truth about it.

use extentdb_base::AllocUnitId;
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::RecordKind;
use extentdb_space::{Counts, Unit};

use crate::database::Database;
use crate::error::Error;
use crate::recovery::Touched;

impl Database {
    /// Counts every unit that the log touched, and corrects the classes of its pages.
    pub(crate) fn settle_after_crash(&self, touched: &Touched) -> Result<(), Error> {
        for unit in self.catalogue.units.all() {
            if !touched.units.contains(&header_form(unit.id())) && !touched.units.contains(&unit.id()) {
                continue;
            }
            if let Some(heap) = self.catalogue.table_of(unit.id()).and_then(|table| table.heap()) {
                let pages = self.space.pages_of(&unit)?;
                let pages = pages.into_iter().filter(|page| touched.extents.contains(&page.extent()));
                heap.settle_after_crash(pages)?;
            }
            let counts = self.count(&unit)?;
            unit.set_counts(counts);
        }
        Ok(())
    }

    /// The size of a unit by its maps and pages.
    fn count(&self, unit: &Unit) -> Result<Counts, Error> {
        let owned = self.space.owned_by(unit)?;
        let pages = self.space.pages_of(unit)?;
        let mut counts = Counts {
            rows: 0,
            data: 0,
            used: (pages.len() + owned.iams) as i64,
            reserved: (owned.iams + owned.singles.len() + 8 * owned.extents.len()) as i64,
        };
        for id in pages {
            let page = self.pool.read(id)?;
            let header = PageHeader::of(&page);
            let is_leaf = header.level == 0 && matches!(header.kind(), PageType::Data | PageType::Index);
            if is_leaf {
                counts.data += 1;
                counts.rows += rows_on(PageRef::new(&page));
            }
        }
        if !self.catalogue.counts_rows(unit.id()) {
            counts.rows = 0;
        }
        Ok(counts)
    }
}

/// A unit as page headers name it: its low 16 bits are not there.
fn header_form(unit: AllocUnitId) -> AllocUnitId {
    AllocUnitId::from_header(unit.header_object_id(), unit.header_index_id())
}

/// Rows that are there: stubs count, what they lead to does not.
fn rows_on(page: PageRef<'_>) -> i64 {
    let is_row = |bytes: &[u8]| match bytes.first().map(|status| RecordKind::of(*status)) {
        Some(RecordKind::Primary | RecordKind::ForwardingStub | RecordKind::Index) => 1,
        _ => 0,
    };
    page.records().map(|(_, bytes)| is_row(bytes)).sum()
}
