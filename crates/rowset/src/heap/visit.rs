//! The rows of a page, visited under its latch and not copied.

use extentdb_base::{PageId, Rid};
use extentdb_format::page::PageRef;
use extentdb_format::record::RecordKind;

use super::{Heap, rid};
use crate::Error;
use crate::columnar::{Located, PageRun, Visibility, Visit};
use crate::heap::scan::{StoredRow, is_ghost_forwarded, stored};
use crate::version::{Overlay, Versions};

/// Where the other rows of a page are: what a visit left out.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Addresses of rows that must be read one by one: forwarded rows of a page that was visited;
    /// all rows of a page that was not, deleted ones among them.
    pub rids: Vec<Rid>,
}

impl Heap {
    /// Visits the rows of a page that lie at their own address, unless an open transaction may have
    /// changed the page. `rows` is room for them.
    ///
    /// # Errors
    /// The page cannot be read, or has a damaged record.
    pub fn visit_page(
        &self,
        id: PageId,
        visibility: Visibility<'_>,
        rows: &mut Vec<Located>,
        visit: Visit<'_>,
    ) -> Result<LeftOut, Error> {
        let page = self.space.pool().read(id)?;
        let view = PageRef::new(&page);
        rows.clear();
        let mut left_out = LeftOut::default();
        // A reader that was paused may come when the page has been freed and used again.
        if !view.header().belongs_to(self.unit.id()) {
            return Ok(left_out);
        }
        // The slot of a row that an open transaction has deleted is empty, and its bytes are
        // reserved: the row may come back.
        let has_reserved = self.room.free.reserved(id) > 0;
        let slots = (0..view.slot_count()).zip(view.slot_offsets());
        if !visibility.takes(view.header().lsn()) {
            let is_row = |(_, offset): &(u16, u16)| *offset != 0 || has_reserved;
            left_out.rids = slots.filter(is_row).map(|(slot, _)| rid(id, slot)).collect();
            return Ok(left_out);
        }
        let bytes = &view.bytes()[..view.slot_array_start()];
        if let Some(versions) = visibility.versions_on(view.header()) {
            return visit_versions(view, versions, rows, visit);
        }
        for (slot, start) in slots.filter(|(_, start)| *start != 0) {
            let status = bytes.get(usize::from(start)).ok_or(Error::BadRow(rid(id, slot)))?;
            match RecordKind::of(*status) {
                RecordKind::Primary => rows.push(Located { start, slot }),
                RecordKind::ForwardingStub => left_out.rids.push(rid(id, slot)),
                RecordKind::Forwarded | RecordKind::GhostData | RecordKind::GhostVersion => {}
                _ => return Err(Error::BadRow(rid(id, slot))),
            }
        }
        visit(PageRun { page: id, bytes, rows });
        Ok(left_out)
    }
}

/// Visits the versions that a snapshot sees of the rows of a page.
fn visit_versions(
    view: PageRef<'_>,
    versions: Versions<'_>,
    rows: &mut Vec<Located>,
    visit: Visit<'_>,
) -> Result<LeftOut, Error> {
    let page = view.header().page_id();
    let mut left_out = LeftOut::default();
    let mut overlay = Overlay::new(&view.bytes()[..view.slot_array_start()]);
    let slots = (0..view.slot_count()).zip(view.slot_offsets());
    for (slot, start) in slots.filter(|(_, start)| *start != 0) {
        let at = rid(page, slot);
        let row = match stored(view, at)? {
            StoredRow::Row(row) => row,
            StoredRow::Ghost(row) if !is_ghost_forwarded(row) => row,
            StoredRow::Stub(_) => {
                left_out.rids.push(at);
                continue;
            }
            StoredRow::Forwarded(_) | StoredRow::Ghost(_) => continue,
        };
        let start = overlay.place(versions, row, start, |bytes| {
            visit(PageRun { page, bytes, rows });
            rows.clear();
        })?;
        rows.extend(start.map(|start| Located { start, slot }));
    }
    visit(PageRun { page, bytes: overlay.bytes(), rows });
    Ok(left_out)
}
