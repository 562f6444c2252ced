//! Faults of the allocation maps: PFS, GAM, SGAM, IAM.

use extentdb_base::env::SplitMix64;
use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_GAM};
use extentdb_base::{Extent, ObjectId, PageId};
use extentdb_format::allocation::bitmap::{AllocationBitmapMut, MapKind};
use extentdb_format::allocation::pfs::{PfsByte, PfsMut};
use extentdb_format::page::{PageHeader, PageType};

use super::Fault;
use super::target::{RowPage, Target, reseal};

/// Sets the PFS byte of a page; the fault is about that page.
fn set_state(
    target: &Target<'_>,
    found: &RowPage,
    state: PfsByte,
    expected: &[u32],
    permitted: &[u32],
) -> Option<Fault> {
    let id = found.id.pfs_page();
    let mut page = target.page(id)?;
    PfsMut::of(&mut page).set(found.id.page, state);
    reseal(target.image, id, &mut page)?;
    let fault = Fault::on_page(id, found.object, page, expected, permitted);
    Some(Fault { page: found.id, ..fault })
}

/// Row 111: the page is there, is linked, and may not be read.
pub(super) fn pfs_allocated(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.leaf(rng)?;
    let state = target.state(found.id)?.with_allocated(false);
    set_state(target, &found, state, &[8976, 8978], &[2533])
}

/// Row 114.
pub(super) fn pfs_mixed(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.page_in_extent(rng)?;
    let state = target.state(found.id)?;
    set_state(target, &found, state.with_mixed(!state.is_mixed()), &[8948], &[])
}

/// Sets a bit of a map page; the fault is about the first page of the extent.
fn set_map(
    target: &Target<'_>,
    kind: MapKind,
    extent: Extent,
    value: bool,
    object: ObjectId,
    expected: &[u32],
) -> Option<Fault> {
    let id = kind.page_of(extent.first_page());
    let mut page = target.page(id)?;
    AllocationBitmapMut::of(&mut page).set(extent.index % EXTENTS_PER_GAM, value);
    reseal(target.image, id, &mut page)?;
    let fault = Fault::on_page(id, object, page, expected, &[]);
    Some(Fault { page: extent.first_page(), ..fault })
}

/// Row 106.
pub(super) fn gam_free(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.page_in_extent(rng)?;
    set_map(target, MapKind::Gam, found.id.extent(), true, found.object, &[8904, 8913])
}

/// Row 107.
pub(super) fn gam_lost(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let extent = target.free_extent(rng)?;
    set_map(target, MapKind::Gam, extent, false, ObjectId(0), &[8905])
}

/// Row 109.
pub(super) fn sgam_owned(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = target.page_in_extent(rng)?;
    set_map(target, MapKind::Sgam, found.id.extent(), true, found.object, &[8904, 8913])
}

/// Row 108.
pub(super) fn sgam_free(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let extent = target.free_extent(rng)?;
    set_map(target, MapKind::Sgam, extent, true, ObjectId(0), &[8903])
}

/// Row 103: a free extent in an interval that the table has an IAM page for.
pub(super) fn iam_claims(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (extent, found) = (0..64).find_map(|_| {
        let found = target.heap_or_leaf(rng)?;
        let extent = target.free_extent(rng)?;
        target.iam_of(&found.unit, extent.first_page()).map(|_| (extent, found))
    })?;
    set_iam(target, &found, extent, true, &[8904, 8913], &[])
}

/// Row 104: an extent of leaf pages or of heap pages only.
pub(super) fn iam_loses(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let found = (0..64).find_map(|_| {
        let found = target.page_in_extent(rng)?;
        let is_data = |page: PageId| match target.state(page) {
            Some(state) if state.is_allocated() => {
                target.page(page).is_some_and(|page| PageHeader::of(&page).kind() == PageType::Data)
            }
            _ => true,
        };
        found.id.extent().pages().all(is_data).then_some(found)
    })?;
    // What else is seen depends on which neighbours of the lost pages are left.
    let permitted = [2534, 8976, 8977, 8978, 8979, 8980, 8981];
    set_iam(target, &found, found.id.extent(), false, &[8905], &permitted)
}

fn set_iam(
    target: &Target<'_>,
    found: &RowPage,
    extent: Extent,
    value: bool,
    expected: &[u32],
    permitted: &[u32],
) -> Option<Fault> {
    let id = target.iam_of(&found.unit, extent.first_page())?;
    let mut page = target.page(id)?;
    let first = extent.first_page().page % PAGES_PER_GAM / extentdb_base::size::PAGES_PER_EXTENT;
    AllocationBitmapMut::of(&mut page).set(first, value);
    reseal(target.image, id, &mut page)?;
    let fault = Fault::on_page(id, found.object, page, expected, permitted);
    Some(Fault { page: extent.first_page(), ..fault })
}
