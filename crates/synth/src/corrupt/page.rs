//! Faults of one page: its bytes, its header, its slots, its records.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{AllocUnitId, PageId};
use extentdb_format::PageBuf;
use extentdb_format::page::checksum::{Protection, verify};
use extentdb_format::page::{PageHeader, PageMut, PageRef};
use extentdb_format::record::Record;

use super::Fault;
use super::target::{RowPage, Target, reseal};

/// A page of a table could not be processed: what follows from it in a tree, and what may follow where it was the
/// child or neighbour of something.
fn with_links(found: &RowPage, numbers: &[u32]) -> Vec<u32> {
    let mut numbers = numbers.to_vec();
    if found.is_leaf() {
        numbers.extend([8976, 8978]);
    }
    numbers
}

/// The fault with its page protected as before.
fn sealed(
    target: &Target<'_>,
    found: &RowPage,
    mut page: PageBuf,
    expected: &[u32],
    permitted: &[u32],
) -> Option<Fault> {
    reseal(target.image, found.id, &mut page)?;
    let expected = with_links(found, expected);
    Some(Fault::on_page(found.id, found.object, page, &expected, permitted))
}

/// Checkdb catalogue, rows 1 and 2.
///
/// Only a checksum sees every bit: a torn-page signature covers two bits of a sector.
pub(super) fn flipped_byte(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = protected(target, rng, |it| matches!(it, Protection::Checksum { .. }))?;
    let slot = rng.below(u64::from(PageRef::new(&found.page).slot_count())) as u16;
    let at = usize::from(PageRef::new(&found.page).slot_offset(slot)?);
    let len = Record::parse_data(PageRef::new(&found.page).record_bytes(slot)?).len();
    let mut page = stored(target, found.id)?;
    // Behind the record's header, so that the damage is in row data.
    let at = at + 4 + rng.below(len.saturating_sub(4).max(1) as u64) as usize;
    *page.get_mut(at)? ^= 1 << rng.below(8);
    let expected = with_links(&found, &[8928, 8939]);
    Some(Fault::on_page(found.id, found.object, page, &expected, &[824]).at_slot(slot))
}

/// Row 18: the last sector is from another time; here, from another page of the table.
pub(super) fn torn_sector(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = protected(target, rng, |it| it != Protection::None)?;
    let mut page = stored(target, found.id)?;
    let other = (0..16).find_map(|_| {
        let other = target.row_page(rng)?;
        let other = stored(target, other.id)?;
        (other[7680..] != page[7680..]).then_some(other)
    })?;
    page[7680..].copy_from_slice(&other[7680..]);
    if let Protection::Torn { signature, .. } = verify(&page) {
        // Another write has another signature: 1 and 2 take turns.
        page[8191] = (page[8191] & 0xfc) | (signature ^ 3);
    }
    let expected = with_links(&found, &[8928, 8939]);
    Some(Fault::on_page(found.id, found.object, page, &expected, &[824]))
}

/// A page of a table whose stored form is protected in a way that `suits`.
fn protected(
    target: &Target<'_>,
    rng: &mut SplitMix64,
    suits: impl Fn(Protection) -> bool,
) -> Option<RowPage> {
    (0..64).find_map(|_| {
        let found = target.row_page(rng)?;
        suits(verify(&*stored(target, found.id)?)).then_some(found)
    })
}

fn stored(target: &Target<'_>, id: PageId) -> Option<PageBuf> {
    let mut page = PageBuf::zeroed();
    target.image.raw(id, &mut page).ok().map(|()| page)
}

/// Row 45.
pub(super) fn page_id(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.heap_or_leaf(rng)?;
    let mut page = found.page.clone();
    let wrong = PageId { page: found.id.page + 1, ..found.id };
    PageHeader::of_mut(&mut page).page_id_bytes = wrong.to_bytes();
    sealed(target, &found, page, &[8909, 8928], &[])
}

/// Rows 27, 28 and 29: another table's unit, or one that does not exist.
pub(super) fn owner(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.row_page(rng)?;
    let other = [target.heap(rng), target.leaf(rng)].into_iter().flatten().find(|o| o.object != found.object);
    let (unit, expected): (AllocUnitId, &[u32]) = match &other {
        Some(other) => (other.unit.id, &[2533, 2534]),
        None => (AllocUnitId(found.unit.id.0 + (0x7000 << 16)), &[2533]),
    };
    let mut page = found.page.clone();
    let header = PageHeader::of_mut(&mut page);
    header.object_id.set(unit.header_object_id());
    header.index_id.set(unit.header_index_id());
    let permitted: &[u32] = if other.is_some() { &[] } else { &[5233] };
    sealed(target, &found, page, expected, permitted)
}

/// Row 49.
pub(super) fn slot_offset(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.heap_or_leaf(rng)?;
    let slots = PageRef::new(&found.page).slot_count();
    let slot = rng.below(u64::from(slots)) as u16;
    let mut page = found.page.clone();
    PageMut::new(&mut page).set_slot_offset(slot, 0x20);
    sealed(target, &found, page, &[8941, 8928], &[]).map(|fault| fault.at_slot(slot))
}

/// Row 40.
pub(super) fn free_count(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.heap_or_leaf(rng)?;
    let mut page = found.page.clone();
    let free = &mut PageHeader::of_mut(&mut page).free_bytes;
    free.set(free.get().wrapping_add(2));
    sealed(target, &found, page, &[8939, 8928], &[])
}

/// Row 58.
pub(super) fn record_length(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.row_page(rng)?;
    let slot = rng.below(u64::from(PageRef::new(&found.page).slot_count())) as u16;
    let at = usize::from(PageRef::new(&found.page).slot_offset(slot)?);
    let mut page = found.page.clone();
    page.get_mut(at + 2..at + 4)?.copy_from_slice(&0x7fffu16.to_le_bytes());
    sealed(target, &found, page, &[8944, 8928], &[]).map(|fault| fault.at_slot(slot))
}
