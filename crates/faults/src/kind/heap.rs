//! Group 4: stubs and forwarded rows of heaps. And a deleted row of a heap (group 7).

use extentdb_base::Rid;
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_format::record::row::STUB_BYTES;
use extentdb_format::record::{Record, RecordKind};

use crate::candidates::{CandidatePage, Candidates, offset_of};
use crate::fault::Fault;
use crate::kind::header::changed;
use crate::row::{has_pointers, make_ghost};

/// A stub and its target.
struct Stub {
    found: CandidatePage,
    slot: u16,
    target: Rid,
}

impl Stub {
    fn change(&self, db: &Candidates<'_>, to: Rid, expected: &[u32]) -> Option<Fault> {
        let at = offset_of(&self.found.page, self.slot)? + 1;
        let write = |page: &mut PageBuf| {
            page.get_mut(at..at + Rid::BYTES)?.copy_from_slice(&to.to_bytes());
            Some(())
        };
        changed(db, &self.found, write, expected).map(|fault| fault.at_slot(self.slot))
    }
}

/// A stub whose row exists and refers back to it.
fn stub(db: &Candidates<'_>, suits: impl Fn(&CandidatePage, u16) -> bool) -> Option<Stub> {
    let (found, (slot, rid)) = db.pick(db.heaps(), |found| {
        let slots = found.slots();
        let from = db.below(slots.into()) as u16;
        (0..slots).map(|at| (from + at) % slots).filter(|slot| suits(found, *slot)).find_map(
            |slot| {
                let rid = found.record(slot)?.stub_target()?;
                let moved = db.found(rid.page, &found.partition)?;
                let back = moved.record(rid.slot.0)?.back_pointer()?;
                (back == Rid::new(found.id, slot)).then_some((slot, rid))
            },
        )
    })?;
    Some(Stub { found, slot, target: rid })
}

/// A forwarded row and its RID.
fn moved_row(db: &Candidates<'_>) -> Option<(CandidatePage, u16, Stub)> {
    let stub = stub(db, |_, _| true)?;
    let found = db.found(stub.target.page, &stub.found.partition)?;
    let slot = stub.target.slot.0;
    Some((found, slot, stub))
}

/// Row 86: a forwarding stub refers to a slot that does not exist.
pub(crate) fn stub_target(db: &Candidates<'_>) -> Option<Fault> {
    let stub = stub(db, |_, _| true)?;
    let slots = db.found(stub.target.page, &stub.found.partition)?.slots();
    let unused = Rid::new(stub.target.page, slots + 5);
    stub.change(db, unused, &[8993, 8994])
}

/// Row 87: two stubs refer to one row, and none to the other.
pub(crate) fn stub_shared(db: &Candidates<'_>) -> Option<Fault> {
    let first = stub(db, |_, _| true)?;
    let is_other = |found: &CandidatePage, slot: u16| {
        found.partition.unit.id == first.found.partition.unit.id
            && (found.id, slot) != (first.found.id, first.slot)
    };
    let second = stub(db, is_other)?;
    first.change(db, second.target, &[8972, 8994])
}

/// Row 88: the row refers back to another slot of its stub's page.
pub(crate) fn back_pointer(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, stub) = moved_row(db)?;
    let record = found.record(slot)?;
    let column = record.var(record.var_count().checked_sub(1)?)?;
    let end = offset_of(&found.page, slot)? + record.len() - tag_bytes(&record);
    let at = end.checked_sub(column.bytes.len())? + 2;
    let other = Rid::new(stub.found.id, stub.slot.wrapping_add(1));
    let write = |page: &mut PageBuf| {
        page.get_mut(at..at + Rid::BYTES)?.copy_from_slice(&other.to_bytes());
        Some(())
    };
    // An index refers to the row by its stub, which is not the slot that the row refers back to.
    let fault = changed(db, &found, write, &[8971])?.permit(&[8993, 8994, 8951, 8952]);
    Some(fault.at_slot(slot))
}

fn tag_bytes(record: &Record<'_>) -> usize {
    record.version_tag().map_or(0, |_| extentdb_format::record::row::VERSION_TAG_BYTES)
}

/// Row 89: a ghost as short as a stub, without a single column.
pub(crate) fn stub_ghost(db: &Candidates<'_>) -> Option<Fault> {
    let stub = stub(db, |_, _| true)?;
    let at = offset_of(&stub.found.page, stub.slot)?;
    let write = |page: &mut PageBuf| {
        let record = page.get_mut(at..at + STUB_BYTES)?;
        record.fill(0);
        record.get_mut(..4)?.copy_from_slice(&[RecordKind::GhostData.bits(), 0, 4, 0]);
        Some(())
    };
    let fault = changed(db, &stub.found, write, &[8994])?;
    // The row still exists and refers back to its stub: an entry for the stub may count as
    // matched.
    Some(
        fault
            .permit(db.cross(&stub.found.partition, &[8952]))
            .permit(&[8927, 8951])
            .at_slot(stub.slot),
    )
}

/// Row 90: the row becomes an ordinary row, and its stub refers to none.
pub(crate) fn forwarded_primary(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, _) = moved_row(db)?;
    let at = offset_of(&found.page, slot)?;
    let write = |page: &mut PageBuf| {
        let status = page.get_mut(at)?;
        *status &= !0x0e;
        Some(())
    };
    let fault = changed(db, &found, write, &[8993])?.and(db.cross(&found.partition, &[8951]));
    // The pointer back is now a column that the table does not have.
    Some(fault.permit(&[8952, 2537, 8960]).at_slot(slot))
}

/// Row 128: deleted, counted, and still in the indexes.
pub(crate) fn row_removed(db: &Candidates<'_>) -> Option<Fault> {
    let heaps: Vec<_> = db.heaps().to_vec();
    let (found, slot, ()) = db.pick_row(&heaps, |found, _, record| {
        let suits = !has_pointers(record) && record.kind() == RecordKind::Primary;
        (suits && db.full_indexes(&found.partition).next().is_some()).then_some(())
    })?;
    let write = |page: &mut PageBuf| {
        make_ghost(page, slot)?;
        let ghosts = &mut PageHeader::of_mut(page).ghost_count;
        ghosts.set(ghosts.get() + 1);
        Some(())
    };
    changed(db, &found, write, &[8952]).map(|fault| fault.at_slot(slot))
}
