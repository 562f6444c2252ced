//! Group 6: IAM pages, their bits and their chains.

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM};
use extentdb_base::{Extent, PageId};
use extentdb_catalog::PageGetter;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::AllocationBitmapMut;
use extentdb_format::allocation::iam::IamView;
use extentdb_format::page::{PageHeader, PageType};

use crate::candidates::{Candidates, Partition, reseal};
use crate::fault::{Fault, Owner};

/// Where an IAM page keeps its number in the chain, its interval, and its single pages.
const SEQUENCE: usize = 100;
const INTERVAL: usize = 136;
const SINGLE_PAGES: usize = 142;
/// What may follow when pages lose their owner.
const OWNERLESS: [u32; 10] = [2533, 2534, 8976, 8977, 8978, 8979, 8980, 8981, 8964, 8965];

/// The IAM chain of a partition.
struct Chain {
    partition: Partition,
    pages: Vec<(PageId, PageBuf)>,
}

impl Chain {
    /// A chain of a user table with at least `pages` pages and an extent.
    fn pick(db: &Candidates<'_>, least: usize) -> Option<Chain> {
        db.pick_partition(|partition| {
            let pages = db.iam_chain(&partition.unit);
            let has_extents = pages
                .first()
                .is_some_and(|(_, page)| IamView::new(page).extents().next().is_some());
            (pages.len() >= least && has_extents)
                .then(|| Chain { partition: partition.clone(), pages })
        })
    }

    /// A change of one of its pages.
    fn change(
        &self,
        db: &Candidates<'_>,
        at: usize,
        change: impl FnOnce(&mut PageBuf) -> Option<()>,
        expected: &[u32],
    ) -> Option<Fault> {
        let (id, page) = self.pages.get(at)?;
        let mut page = page.clone();
        change(&mut page)?;
        reseal(db.image, *id, &mut page)?;
        Some(Fault::new(*id, Owner::of(&self.partition), vec![(*id, page)], expected))
    }

    fn is_long(&self) -> bool {
        self.pages.len() > 1
    }
}

fn put(page: &mut PageBuf, at: usize, bytes: &[u8]) -> Option<()> {
    page.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(())
}

fn set_next(next: PageId) -> impl FnOnce(&mut PageBuf) -> Option<()> {
    move |page| {
        PageHeader::of_mut(page).next_bytes = next.to_bytes();
        Some(())
    }
}

/// Row 103: a free extent in an interval that the table has an IAM page for.
pub(crate) fn claims(db: &Candidates<'_>) -> Option<Fault> {
    let (extent, found) = (0..64).find_map(|_| {
        let found = db.heap_or_leaf()?;
        let extent = db.free_extent()?;
        db.iam_of(&found.partition.unit, extent.first_page()).map(|_| (extent, found))
    })?;
    set_bit(db, &found.partition, extent, true, &[8904, 8913])
}

/// Row 104: an extent of leaf pages or of heap pages only.
pub(crate) fn loses(db: &Candidates<'_>) -> Option<Fault> {
    let found = (0..64).find_map(|_| {
        let found = db.page_in_extent()?;
        let is_data = |page: PageId| match db.state(page) {
            Some(state) if state.is_allocated() => {
                db.page(page).is_some_and(|page| PageHeader::of(&page).kind() == PageType::Data)
            }
            _ => true,
        };
        found.id.extent().pages().all(is_data).then_some(found)
    })?;
    // What else is seen depends on which neighbours of the lost pages are left, and on what was in
    // them.
    let fault = set_bit(db, &found.partition, found.id.extent(), false, &[8905])?;
    Some(fault.permit(&OWNERLESS).permit(&[8929, 8993, 8994]))
}

/// Row 105: an extent of another table.
pub(crate) fn shares(db: &Candidates<'_>) -> Option<Fault> {
    let (extent, partition) = (0..64).find_map(|_| {
        let found = db.page_in_extent()?;
        let other =
            db.heap_or_leaf().filter(|other| other.partition.object != found.partition.object)?;
        db.iam_of(&other.partition.unit, found.id).map(|_| (found.id.extent(), other.partition))
    })?;
    let fault = set_bit(db, &partition, extent, true, &[8904, 8913])?;
    Some(fault.any_of(&[2533, 2534]).permit(&OWNERLESS).permit(&[8929, 8993, 8994]))
}

fn set_bit(
    db: &Candidates<'_>,
    partition: &Partition,
    extent: Extent,
    value: bool,
    expected: &[u32],
) -> Option<Fault> {
    let id = db.iam_of(&partition.unit, extent.first_page())?;
    let mut page = db.page(id)?;
    let index = extent.first_page().page % PAGES_PER_GAM / PAGES_PER_EXTENT;
    AllocationBitmapMut::of(&mut page).set(index, value);
    reseal(db.image, id, &mut page)?;
    Some(Fault::new(extent.first_page(), Owner::of(partition), vec![(id, page)], expected))
}

/// Row 110: a page of a mixed extent that no IAM page lists any more.
pub(crate) fn single_page(db: &Candidates<'_>) -> Option<Fault> {
    let (chain, slot, page) = db.pick_partition(|partition| {
        let pages = db.iam_chain(&partition.unit);
        let slots = IamView::new(&pages.first()?.1).single_page_slots();
        let slot = slots.iter().position(|page| !page.is_none())?;
        let page = *slots.get(slot)?;
        Some((Chain { partition: partition.clone(), pages }, slot, page))
    })?;
    let zero =
        |image: &mut PageBuf| put(image, SINGLE_PAGES + PageId::BYTES * slot, &[0; PageId::BYTES]);
    let fault = chain.change(db, 0, zero, &[8906])?;
    Some(fault.about(page).permit(&OWNERLESS).permit(&[8929, 8993, 8994]))
}

/// Row 116: the chain continues at a page of rows.
pub(crate) fn next_data_page(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 2).or_else(|| Chain::pick(db, 1))?;
    let page = db.row_page()?.id;
    let fault = chain.change(db, 0, set_next(page), &[2575])?;
    if chain.is_long() {
        // What the following pages listed has no owner now.
        let second = &[8905, 8906];
        return Some(fault.and(&[2576]).permit(second).permit(&OWNERLESS));
    }
    Some(fault)
}

/// Row 117: of a chain of one page, the page before is none of an IAM at all.
pub(crate) fn previous_wrong(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 2).or_else(|| Chain::pick(db, 1))?;
    let other = (0..64).find_map(|_| {
        let other = Chain::pick(db, 1)?;
        (other.partition.unit.id != chain.partition.unit.id).then_some(other.pages.first()?.0)
    })?;
    let at = usize::from(chain.is_long());
    let set = |page: &mut PageBuf| {
        PageHeader::of_mut(page).prev_bytes = other.to_bytes();
        Some(())
    };
    Some(chain.change(db, at, set, &[])?.any_of(&[8969, 2576]))
}

/// Row 118: the second page of an IAM chain has the number of the third.
pub(crate) fn sequence(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 2)?;
    let wrong = IamView::new(&chain.pages.get(1)?.1).sequence() + 1;
    chain.change(db, 1, |page| put(page, SEQUENCE, &wrong.to_le_bytes()), &[2577])
}

/// Row 119: two IAM pages for one interval. What the second one lists is now elsewhere.
pub(crate) fn interval_doubled(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 2)?;
    let first = IamView::new(&chain.pages.first()?.1).interval();
    let fault = chain.change(db, 1, |page| put(page, INTERVAL, &first.to_bytes()), &[8947])?;
    Some(fault.permit(&[8905, 8904, 8913, 8910, 8906]).permit(&OWNERLESS))
}

/// Row 120: the interval of a file in another filegroup.
pub(crate) fn interval_filegroup(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 1)?;
    let own = i32::from(chain.partition.unit.filegroup);
    let files = db.catalog.files.iter().filter(|file| file.file_type == 0 && file.filegroup != own);
    let file = files.map(|file| file.id).find(|file| db.image.page_count(*file) > 0)?;
    let interval = PageId { file, page: 0 };
    let fault = chain.change(db, 0, |page| put(page, INTERVAL, &interval.to_bytes()), &[8996])?;
    Some(fault.permit(&[8905, 8904, 8913, 8910, 8906, 2579, 8929, 8993, 8994]).permit(&OWNERLESS))
}

/// Row 121: an extent past the end of the file.
pub(crate) fn beyond_file(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 1)?;
    let interval = IamView::new(&chain.pages.first()?.1).interval();
    let pages = db.image.page_count(interval.file).checked_sub(interval.page)?;
    let extent = pages.div_ceil(PAGES_PER_EXTENT) + 100;
    let set = |page: &mut PageBuf| {
        AllocationBitmapMut::of(page).set(extent, true);
        Some(())
    };
    let far = PageId { page: interval.page + extent * PAGES_PER_EXTENT, ..interval };
    let fault =
        chain.change(db, 0, set, &[2579]).filter(|_| extent < PAGES_PER_GAM / PAGES_PER_EXTENT)?;
    Some(fault.about(far))
}

/// Row 122: the chain continues in that of another table.
pub(crate) fn next_foreign(db: &Candidates<'_>) -> Option<Fault> {
    let (chain, other) = (0..64).find_map(|_| {
        let chain = Chain::pick(db, 1)?;
        let other = Chain::pick(db, 1)?;
        let suits = chain.partition.object != other.partition.object && !chain.is_long();
        suits.then(|| Some((chain, other.pages.first()?.0)))?
    })?;
    chain.change(db, 0, set_next(other), &[8959, 8969])
}

/// Row 123: an IAM page says that it is a data page.
pub(crate) fn page_type(db: &Candidates<'_>) -> Option<Fault> {
    let chain = Chain::pick(db, 1)?;
    let set = |page: &mut PageBuf| {
        PageHeader::of_mut(page).page_type = PageType::Data.to_byte();
        Some(())
    };
    chain.change(db, 0, set, &[8946, 7965, 8905]).map(|fault| fault.permit(&[2576, 8906]))
}
