//! Group 4: stubs and moved rows of heaps. And a row of a heap that is gone (group 7).

use extentdb_base::Rid;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_format::record::row::STUB_BYTES;
use extentdb_format::record::{Record, RecordKind};

use crate::fault::Fault;
use crate::kind::header::changed;
use crate::row::{has_pointers, make_ghost};
use crate::target::{Found, Target, offset_of};

/// A stub and where it leads.
struct Stub {
    found: Found,
    slot: u16,
    target: Rid,
}

impl Stub {
    fn change(&self, target: &Target<'_>, to: Rid, expected: &[u32]) -> Option<Fault> {
        let at = offset_of(&self.found.page, self.slot)? + 1;
        let write = |page: &mut PageBuf| {
            page.get_mut(at..at + Rid::BYTES)?.copy_from_slice(&to.to_bytes());
            Some(())
        };
        changed(target, &self.found, write, expected).map(|fault| fault.at_slot(self.slot))
    }
}

/// A stub whose row is there and leads back to it.
fn stub(
    target: &Target<'_>,
    rng: &mut SplitMix64,
    suits: impl Fn(&Found, u16) -> bool,
) -> Option<Stub> {
    let (found, (slot, rid)) = target.pick(rng, target.heaps(), |found, rng| {
        let slots = found.slots();
        let from = rng.below(slots.into()) as u16;
        (0..slots).map(|at| (from + at) % slots).filter(|slot| suits(found, *slot)).find_map(
            |slot| {
                let rid = found.record(slot)?.stub_target()?;
                let moved = target.found(rid.page, &found.part)?;
                let back = moved.record(rid.slot.0)?.back_pointer()?;
                (back == Rid::new(found.id, slot)).then_some((slot, rid))
            },
        )
    })?;
    Some(Stub { found, slot, target: rid })
}

/// A moved row and its place.
fn moved_row(target: &Target<'_>, rng: &mut SplitMix64) -> Option<(Found, u16, Stub)> {
    let stub = stub(target, rng, |_, _| true)?;
    let found = target.found(stub.target.page, &stub.found.part)?;
    let slot = stub.target.slot.0;
    Some((found, slot, stub))
}

/// Row 86.
pub(crate) fn stub_target(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let stub = stub(target, rng, |_, _| true)?;
    let slots = target.found(stub.target.page, &stub.found.part)?.slots();
    let unused = Rid::new(stub.target.page, slots + 5);
    stub.change(target, unused, &[8993, 8994])
}

/// Row 87: two stubs lead to one row, and none to the other.
pub(crate) fn stub_shared(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let first = stub(target, rng, |_, _| true)?;
    let is_other = |found: &Found, slot: u16| {
        found.part.unit.id == first.found.part.unit.id
            && (found.id, slot) != (first.found.id, first.slot)
    };
    let second = stub(target, rng, is_other)?;
    first.change(target, second.target, &[8972, 8994])
}

/// Row 88: the row names another slot of its stub's page.
pub(crate) fn back_pointer(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (found, slot, stub) = moved_row(target, rng)?;
    let record = found.record(slot)?;
    let column = record.var(record.var_count().checked_sub(1)?)?;
    let end = offset_of(&found.page, slot)? + record.len() - tag_bytes(&record);
    let at = end.checked_sub(column.bytes.len())? + 2;
    let other = Rid::new(stub.found.id, stub.slot.wrapping_add(1));
    let write = |page: &mut PageBuf| {
        page.get_mut(at..at + Rid::BYTES)?.copy_from_slice(&other.to_bytes());
        Some(())
    };
    // An index knows the row by its stub, which is not where the row says that it is.
    let fault = changed(target, &found, write, &[8971])?.permit(&[8993, 8994, 8951, 8952]);
    Some(fault.at_slot(slot))
}

fn tag_bytes(record: &Record<'_>) -> usize {
    record.version_tag().map_or(0, |_| extentdb_format::record::row::VERSION_TAG_BYTES)
}

/// Row 89: a ghost as short as a stub, without a single column.
pub(crate) fn stub_ghost(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let stub = stub(target, rng, |_, _| true)?;
    let at = offset_of(&stub.found.page, stub.slot)?;
    let write = |page: &mut PageBuf| {
        let record = page.get_mut(at..at + STUB_BYTES)?;
        record.fill(0);
        record.get_mut(..4)?.copy_from_slice(&[RecordKind::GhostData.bits(), 0, 4, 0]);
        Some(())
    };
    let fault = changed(target, &stub.found, write, &[8994])?;
    // The row is still there and says whose it is: an entry that leads to the stub may count as
    // answered.
    Some(
        fault
            .permit(target.cross(&stub.found.part, &[8952]))
            .permit(&[8927, 8951])
            .at_slot(stub.slot),
    )
}

/// Row 90: the row stands for itself now, and its stub for nothing.
pub(crate) fn forwarded_primary(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (found, slot, _) = moved_row(target, rng)?;
    let at = offset_of(&found.page, slot)?;
    let write = |page: &mut PageBuf| {
        let status = page.get_mut(at)?;
        *status &= !0x0e;
        Some(())
    };
    let fault = changed(target, &found, write, &[8993])?.and(target.cross(&found.part, &[8951]));
    // The pointer back is now a column that the table does not have.
    Some(fault.permit(&[8952, 2537, 8960]).at_slot(slot))
}

/// Row 128: deleted, counted, and still in the indexes.
pub(crate) fn row_removed(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let heaps: Vec<_> = target.heaps().to_vec();
    let (found, slot, ()) = target.pick_row(rng, &heaps, |found, _, record| {
        let suits = !has_pointers(record) && record.kind() == RecordKind::Primary;
        (suits && target.full_indexes(&found.part).next().is_some()).then_some(())
    })?;
    let write = |page: &mut PageBuf| {
        make_ghost(page, slot)?;
        let ghosts = &mut PageHeader::of_mut(page).ghost_count;
        ghosts.set(ghosts.get() + 1);
        Some(())
    };
    changed(target, &found, write, &[8952]).map(|fault| fault.at_slot(slot))
}
