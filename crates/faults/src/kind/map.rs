//! Group 6: the allocation maps PFS, GAM and SGAM.

use extentdb_base::size::EXTENTS_PER_GAM;
use extentdb_base::{Extent, PageId};
use extentdb_format::allocation::bitmap::{AllocationBitmapMut, MapKind};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{Fullness, PfsByte, PfsMut};

use crate::candidates::{Candidates, reseal};
use crate::fault::{Fault, Owner};
use crate::kind::raw::orphans;

/// Sets the PFS byte of a page; the fault is about that page.
fn set_state(
    db: &Candidates<'_>,
    page: PageId,
    owner: Owner,
    state: PfsByte,
    expected: &[u32],
) -> Option<Fault> {
    let map = page.pfs_page();
    let mut image = db.page(map)?;
    PfsMut::of(&mut image).set(page.page, state);
    reseal(db.image, map, &mut image)?;
    Some(Fault::new(page, owner, vec![(map, image)], expected))
}

/// Row 111: the page is there, is linked, and may not be read.
pub(crate) fn pfs_allocated(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf()?;
    let state = db.state(found.id)?.with_allocated(false);
    let fault = set_state(db, found.id, Owner::of(&found.partition), state, &[8976, 8978])?;
    let fault = permit_of_single(fault, state);
    Some(fault.permit(&[2533]).permit(orphans(&found)))
}

/// A page of a mixed extent is listed by an IAM page, which contradicts PFS.
fn permit_of_single(fault: Fault, state: PfsByte) -> Fault {
    if state.is_mixed() { fault.permit(&[8948]) } else { fault }
}

/// Row 112: the rows of the page are lost, and only an index refers to them.
pub(crate) fn pfs_heap_page(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap()?;
    let state = db.state(found.id)?.with_allocated(false);
    let fault = set_state(
        db,
        found.id,
        Owner::of(&found.partition),
        state,
        db.cross(&found.partition, &[8952]),
    )?;
    Some(permit_of_single(fault, state).permit(orphans(&found)))
}

/// Row 113: an unused page of an extent of a table.
pub(crate) fn pfs_unused_page(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, page) = db.pick_partition(|partition| {
        let (_, iam) = db.iam_chain(&partition.unit).into_iter().next()?;
        let extents = IamView::new(&iam).extents();
        let is_unused = |page: &PageId| {
            let is_free = db.state(*page).is_some_and(|state| !state.is_allocated());
            is_free && db.stored(*page).is_some_and(|image| image.iter().all(|byte| *byte == 0))
        };
        let page = extents
            .take(1 << 12)
            .flat_map(|extent| extent.pages().collect::<Vec<_>>())
            .find(is_unused)?;
        Some((partition.clone(), page))
    })?;
    let state = db.state(page)?.with_allocated(true);
    let fault = set_state(db, page, Owner::of(&partition), state, &[])?;
    Some(fault.any_of(&[2533, 8909]).permit(&[8928, 8914]))
}

/// Row 114: PFS says that a page of a uniform extent is in a mixed one.
pub(crate) fn pfs_mixed(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.page_in_extent()?;
    let state = db.state(found.id)?;
    set_state(
        db,
        found.id,
        Owner::of(&found.partition),
        state.with_mixed(!state.is_mixed()),
        &[8948],
    )
}

/// Row 112, too: a page of a mixed extent, with its owner and its slot in the list of an IAM page.
pub(crate) fn pfs_single_page(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, page) = db.pick_partition(|partition| {
        let (_, iam) = db.iam_chain(&partition.unit).into_iter().next()?;
        let is_allocated = |page: &PageId| db.state(*page).is_some_and(PfsByte::is_allocated);
        let page = IamView::new(&iam).single_pages().find(is_allocated)?;
        Some((partition.clone(), page))
    })?;
    let state = db.state(page)?.with_allocated(false);
    let fault = set_state(db, page, Owner::of(&partition), state, &[8948])?;
    // What is on the page is read no more: links, rows of indexes, off-row data.
    Some(fault.permit(&[
        2533, 8976, 8977, 8978, 8979, 8951, 8952, 8964, 8965, 8929, 8992, 8981, 8980, 2531,
    ]))
}

/// Row 115: PFS says that an IAM page is none.
pub(crate) fn pfs_iam(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, id, _) = db.partition_with_extents()?;
    let state = db.state(id)?.with_iam(false);
    set_state(db, id, Owner::of(&partition), state, &[8948])
}

/// Row 91: the fullness of the page in PFS.
pub(crate) fn pfs_fullness(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.heap()?;
    let state = db.state(found.id)?;
    let empty = Fullness::from_bits(0)?;
    let wrong = if state.fullness() == Some(empty) { Fullness::from_bits(4)? } else { empty };
    set_state(db, found.id, Owner::of(&found.partition), state.with_fullness(wrong), &[8914])
}

/// Sets a bit of a map page; the fault is about the first page of the extent.
fn set_map(
    db: &Candidates<'_>,
    kind: MapKind,
    extent: Extent,
    value: bool,
    owner: Owner,
    expected: &[u32],
) -> Option<Fault> {
    let id = kind.page_of(extent.first_page());
    let mut page = db.page(id)?;
    AllocationBitmapMut::of(&mut page).set(extent.index % EXTENTS_PER_GAM, value);
    reseal(db.image, id, &mut page)?;
    Some(Fault::new(extent.first_page(), owner, vec![(id, page)], expected))
}

/// Row 106: GAM says that an extent of a table is free.
pub(crate) fn gam_free(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.page_in_extent()?;
    set_map(db, MapKind::Gam, found.id.extent(), true, Owner::of(&found.partition), &[8904, 8913])
}

/// Row 107: GAM says that a free extent is allocated.
pub(crate) fn gam_lost(db: &Candidates<'_>) -> Option<Fault> {
    let extent = db.free_extent()?;
    set_map(db, MapKind::Gam, extent, false, Owner::default(), &[8905])
}

/// Row 109: SGAM says that an extent of a table is mixed.
pub(crate) fn sgam_owned(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.page_in_extent()?;
    set_map(db, MapKind::Sgam, found.id.extent(), true, Owner::of(&found.partition), &[8904, 8913])
}

/// Row 108: SGAM says that a free extent is mixed.
pub(crate) fn sgam_free(db: &Candidates<'_>) -> Option<Fault> {
    let extent = db.free_extent()?;
    set_map(db, MapKind::Sgam, extent, true, Owner::default(), &[8903])
}
