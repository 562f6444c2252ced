//! Group 2: page headers and slot arrays under a right checksum.

use extentdb_base::{AllocUnitId, FileId, Lsn, PageId};
use extentdb_catalog::PageGetter;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmap, AllocationBitmapMut, MapKind};
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::page::{PageHeader, PageMut};

use crate::candidates::{CandidatePage, Candidates, reseal};
use crate::fault::Fault;
use crate::kind::raw::{header_of, orphans, with_links};
use crate::row::exchange_slots;

/// A changed page, protected as before.
pub(crate) fn changed(
    db: &Candidates<'_>,
    found: &CandidatePage,
    change: impl FnOnce(&mut PageBuf) -> Option<()>,
    expected: &[u32],
) -> Option<Fault> {
    let mut page = found.page.clone();
    change(&mut page)?;
    reseal(db.image, found.id, &mut page)?;
    Some(Fault::on(found, page, expected))
}

/// A page that can no longer be processed: what follows in its tree is added.
pub(crate) fn lost(
    db: &Candidates<'_>,
    found: &CandidatePage,
    change: impl FnOnce(&mut PageBuf) -> Option<()>,
    expected: &[u32],
) -> Option<Fault> {
    changed(db, found, change, &with_links(found, expected))
        .map(|fault| fault.permit(orphans(found)))
}

fn header(change: impl FnOnce(&mut PageHeader)) -> impl FnOnce(&mut PageBuf) -> Option<()> {
    |page| {
        change(PageHeader::of_mut(page));
        Some(())
    }
}

fn random_slot(db: &Candidates<'_>, found: &CandidatePage) -> u16 {
    db.below(found.slots().into()) as u16
}

/// Row 21: a leaf page of a clustered index says that it is an index page.
pub(crate) fn page_type_index(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    // Pages from SQL Server 2000 name index 0 in their header, which is theirs as long as they are
    // data pages.
    let is_old = PageHeader::of(&found.page).alloc_unit().0 >> 48 == 0;
    let expected: &[u32] = if is_old { &[2533] } else { &[8938, 8928] };
    lost(db, &found, header(|h| h.page_type = 2), expected)
}

/// Row 22: the type of a page is none.
pub(crate) fn page_type_unknown(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    lost(db, &found, header(|h| h.page_type = 0x7f), &[8939, 8928])
}

/// Row 23: the version of a page header is 2.
pub(crate) fn header_version(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    lost(db, &found, header(|h| h.header_version = 2), &[8939, 8928])
}

/// Row 24: a leaf page says that it is one level higher.
pub(crate) fn leaf_level(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    let fault = changed(db, &found, header(|h| h.level = 1), &[8931, 2531])?;
    Some(fault.permit(&[8938, 8928]))
}

/// Row 25: a page above the leaves says that it is one level higher.
pub(crate) fn upper_level(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.upper()?;
    changed(db, &found, header(|h| h.level += 1), &[8931, 2531])
}

fn set_unit(unit: AllocUnitId) -> impl FnOnce(&mut PageBuf) -> Option<()> {
    header(move |h| {
        h.object_id.set(unit.header_object_id());
        h.index_id.set(unit.header_index_id());
    })
}

/// Rows 27 and 29: another table's unit; where there is none, row 28.
pub(crate) fn owner(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    let others = [db.heap(), db.leaf()].into_iter().flatten();
    let Some(other) =
        others.into_iter().find(|other| other.partition.object != found.partition.object)
    else {
        return unknown_owner(db, &found);
    };
    lost(db, &found, set_unit(other.partition.unit.id), &[2533, 2534])
}

/// Row 28: the page header names an allocation unit that does not exist.
pub(crate) fn owner_unknown(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    unknown_owner(db, &found)
}

fn unknown_owner(db: &Candidates<'_>, found: &CandidatePage) -> Option<Fault> {
    let ids = db.catalog.units.keys();
    let free = AllocUnitId(ids.map(|unit| unit.0).max()? + (0x7000 << 16));
    lost(db, found, set_unit(free), &[2533]).map(|fault| fault.permit(&[5233]))
}

/// Row 38: the header counts one slot less.
pub(crate) fn slot_count_less(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    lost(db, &found, header(|h| h.slot_count.set(h.slot_count.get() - 1)), &[8939, 8928])
}

/// Row 39: what lies before the slot array is taken for a slot.
pub(crate) fn slot_count_more(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    let fault = lost(db, &found, header(|h| h.slot_count.set(h.slot_count.get() + 1)), &[8928])?;
    Some(fault.any_of(&[8939, 8941, 8942, 8944]))
}

/// Row 40: the header says that two bytes more are free.
pub(crate) fn free_count(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let change = header(|h| h.free_bytes.set(h.free_bytes.get().wrapping_add(2)));
    lost(db, &found, change, &[8939, 8928])
}

/// Row 41: free space begins in the page header.
pub(crate) fn free_offset_low(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    lost(db, &found, header(|h| h.free_offset.set(40)), &[8939, 8928])
}

/// Row 42: 20 bytes below the end of the last record.
pub(crate) fn free_offset_short(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let end =
        |slot: u16| Some(usize::from(found.view().slot_offset(slot)?) + found.record(slot)?.len());
    let last = (0..found.slots()).filter_map(end).max()?;
    let short = last.checked_sub(20).filter(|short| *short > 96)? as u16;
    lost(db, &found, header(|h| h.free_offset.set(short)), &[8943, 8928])
}

/// Row 43: the header counts one ghost more.
pub(crate) fn ghost_count(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    changed(db, &found, header(|h| h.ghost_count.set(h.ghost_count.get() + 1)), &[8927])
}

/// Row 44: the header counts more ghosts than slots.
pub(crate) fn ghost_count_high(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    lost(db, &found, header(|h| h.ghost_count.set(h.slot_count.get() + 1)), &[8939, 8928])
}

/// Row 45: the page header names the next page.
pub(crate) fn page_id(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let wrong = PageId { page: found.id.page + 1, ..found.id };
    lost(db, &found, header(|h| h.page_id_bytes = wrong.to_bytes()), &[8909, 8928])
}

/// Row 46: newer than any log. Of a file by itself that is worth a note, no more; the map of
/// changed extents may contradict it.
pub(crate) fn lsn_high(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.row_page()?;
    let lsn = found.header().lsn();
    let high = Lsn { vlf: lsn.vlf.saturating_add(1 << 20), ..lsn };
    changed(db, &found, header(|h| h.lsn_bytes = high.to_bytes()), &[])
        .map(|fault| fault.permit(&[2515]))
}

/// Row 47: a page that is newer than the last full backup, and is not marked as changed.
pub(crate) fn diff_bit(db: &Candidates<'_>) -> Option<Fault> {
    let boot = &db.catalog.boot;
    if !boot.status.is_clean() {
        return None;
    }
    let base = |file: FileId| {
        let page = db.page(PageId { file, page: 0 })?;
        let own = FileHeaderView::new(&page).header().diff_base_lsn.unwrap_or_default();
        // A boot page without a base is that of a rebuilt log: a check reports nothing about such a
        // database.
        Some(boot.backup_lsn).filter(|base| !base.is_zero()).map(|base| base.max(own))
    };
    let pages: Vec<_> = db.base_pages();
    let (found, map) = db.pick(&pages, |found| {
        let map = MapKind::Diff.page_of(found.id);
        let page = db.page(map)?;
        let is_marked = AllocationBitmap::of(&page).get(extent_bit(found.id));
        (found.header().lsn() > base(found.id.file)? && is_marked).then_some(map)
    })?;
    let mut page = db.page(map)?;
    AllocationBitmapMut::of(&mut page).set(extent_bit(found.id), false);
    reseal(db.image, map, &mut page)?;
    // One page of a database is named: the first that is newer.
    let is_newer =
        |id: &PageId| header_of(db, *id).zip(base(id.file)).is_some_and(|(h, base)| h.lsn() > base);
    let is_read = |id: &PageId| db.state(*id).is_some_and(|state| state.is_allocated());
    let first = found.id.extent().pages().find(|id| is_read(id) && is_newer(id))?;
    let owner =
        crate::fault::Owner { is_system: true, ..crate::fault::Owner::of(&found.partition) };
    Some(Fault::new(first, owner, vec![(map, page)], &[2515]))
}

fn extent_bit(page: PageId) -> u32 {
    page.extent().index % extentdb_base::size::EXTENTS_PER_GAM
}

/// Row 48: the page header states a longer fixed part than its rows have.
pub(crate) fn fixed_length(db: &Candidates<'_>) -> Option<Fault> {
    let found = (0..16).find_map(|_| {
        let found = db.heap_or_leaf()?;
        let usual = db.rowset(&found.partition)?.min_leaf;
        (found.header().fixed_len.get() == usual).then_some(found)
    })?;
    lost(db, &found, header(|h| h.fixed_len.set(h.fixed_len.get() + 4)), &[8944, 8928])
}

/// Row 49: a slot points into the page header.
pub(crate) fn slot_offset(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let slot = random_slot(db, &found);
    let change = |page: &mut PageBuf| {
        PageMut::new(page).set_slot_offset(slot, 0x20);
        Some(())
    };
    lost(db, &found, change, &[8941, 8928]).map(|fault| fault.at_slot(slot))
}

/// Row 50: two slots point to one record.
pub(crate) fn slot_same(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let slot = 1 + db.below(u64::from(found.slots()) - 1) as u16;
    let before = found.view().slot_offset(slot - 1)?;
    let change = |page: &mut PageBuf| {
        PageMut::new(page).set_slot_offset(slot, before);
        Some(())
    };
    lost(db, &found, change, &[8942, 8928]).map(|fault| fault.at_slot(slot))
}

/// Row 51: a slot points into the middle of its record.
pub(crate) fn slot_middle(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap_or_leaf()?;
    let slot = random_slot(db, &found);
    let middle = found.view().slot_offset(slot)? + 5;
    let change = |page: &mut PageBuf| {
        PageMut::new(page).set_slot_offset(slot, middle);
        Some(())
    };
    let fault = lost(db, &found, change, &[8928])?;
    // The bytes there may look like a record of any length; one that ends with its own leaves a gap
    // before it.
    Some(fault.any_of(&[8942, 8944, 8939]).permit(&[8943]).at_slot(slot))
}

/// Row 52: two slots of a leaf page are exchanged.
pub(crate) fn slots_exchanged(db: &Candidates<'_>) -> Option<Fault> {
    let long = |found: &CandidatePage| (found.slots() >= 4).then_some(());
    let (found, ()) = db.pick(db.leaves(), long)?;
    disorder(db, &found)
}

/// Row 54: two slots of a leaf page of a nonclustered index are exchanged.
pub(crate) fn index_slots_exchanged(db: &Candidates<'_>) -> Option<Fault> {
    let long = |found: &CandidatePage| (found.slots() >= 4).then_some(());
    let (found, ()) = db.pick(db.entries(), long)?;
    disorder(db, &found)
}

/// Two neighbouring slots in the middle of a page: the first and the last row stay what they are.
pub(crate) fn disorder(db: &Candidates<'_>, found: &CandidatePage) -> Option<Fault> {
    let inner = u64::from(found.slots().checked_sub(3).filter(|inner| *inner > 0)?);
    let slot = 1 + db.below(inner) as u16;
    let fault = changed(db, found, |page| exchange_slots(page, slot, slot + 1), &[2511])?;
    Some(fault.at_slot(slot))
}

/// Row 53: real heaps have pages with such links, so a check reports nothing about them.
pub(crate) fn heap_links(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap()?;
    let neighbour = db.heaps().iter().map(|page| page.id).find(|id| *id != found.id)?;
    let change =
        header(|h| (h.prev_bytes, h.next_bytes) = (neighbour.to_bytes(), neighbour.to_bytes()));
    changed(db, &found, change, &[]).map(|fault| fault.permit(&[8939, 8928]))
}

/// A page id past the end of the file of `page`.
pub(crate) fn beyond(db: &Candidates<'_>, page: PageId) -> PageId {
    PageId {
        page: db.image.page_count(page.file).saturating_add(1_000),
        ..page
    }
}

/// The next page of a leaf.
pub(crate) fn next_of(db: &Candidates<'_>, id: PageId) -> Option<PageId> {
    header_of(db, id).map(|header| header.next()).filter(|next| !next.is_none())
}
