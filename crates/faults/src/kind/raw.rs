//! Group 1: damage under a checksum that is wrong, pages that are not theirs, and a file that ends
//! too early.

use extentdb_base::size::{PAGE_BYTES, PAGE_HEADER_BYTES, SECTOR_BYTES};
use extentdb_base::{AllocUnitId, FileId, PageId};
use extentdb_catalog::bootstrap::SYSALLOCUNITS;
use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::system::object;
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::MapKind;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::page::checksum::{Protection, verify};
use extentdb_format::page::{PageHeader, PageType};
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, children_of, reseal};
use crate::fault::{Fault, Owner, Truncation};
use crate::kind::lob::lob_pages;
use crate::row::{has_pointers, span};

/// What follows in a tree from a page that cannot be used.
pub(crate) fn with_links(found: &CandidatePage, numbers: &[u32]) -> Vec<u32> {
    let links: &[u32] = if found.has_links() { &[8976, 8978] } else { &[] };
    [numbers, links].concat()
}

/// A lost page may have held the only references to values off its rows.
pub(crate) fn orphans(found: &CandidatePage) -> &'static [u32] {
    let has_values = (0..found.slots())
        .filter_map(|slot| found.record(slot))
        .any(|record| has_pointers(&record));
    if has_values { &[8964] } else { &[] }
}

fn has_checksum(db: &Candidates<'_>, id: PageId) -> bool {
    db.stored(id).is_some_and(|page| matches!(verify(&page), Protection::Checksum { .. }))
}

/// A bit of the page's body flips. Only a checksum sees every bit: a torn-page signature covers two
/// bits of a sector.
fn flip(db: &Candidates<'_>, id: PageId) -> Option<PageBuf> {
    if !has_checksum(db, id) {
        return None;
    }
    let mut page = db.stored(id)?;
    let at = PAGE_HEADER_BYTES + db.below((PAGE_BYTES - PAGE_HEADER_BYTES) as u64) as usize;
    page[at] ^= 1 << db.below(8);
    Some(page)
}

/// Rows 1 and 2: a bit of a row, after its header.
pub(crate) fn flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let found = protected(db, |it| matches!(it, Protection::Checksum { .. }))?;
    flip_in_row(db, &found).map(|fault| fault.permit(&[824]).permit(orphans(&found)))
}

/// Row 3: a bit of an index entry flips; the checksum is wrong from then on.
pub(crate) fn index_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.entry_page().filter(|found| has_checksum(db, found.id))?;
    flip_in_row(db, &found)
}

fn flip_in_row(db: &Candidates<'_>, found: &CandidatePage) -> Option<Fault> {
    let slot = db.below(found.slots().into()) as u16;
    let at = usize::from(found.view().slot_offset(slot)?);
    let len = found.record(slot)?.len();
    let mut page = db.stored(found.id)?;
    let at = at + 4 + db.below(len.saturating_sub(4).max(1) as u64) as usize;
    *page.get_mut(at)? ^= 1 << db.below(8);
    Some(Fault::on(found, page, &with_links(found, &[8928, 8939])).at_slot(slot))
}

/// Row 4: what hangs below the page has no parent.
pub(crate) fn upper_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.upper()?;
    let page = flip(db, found.id)?;
    Some(Fault::on(&found, page, &with_links(&found, &[8928, 8939, 8977])))
}

/// Row 5: a bit of the root of a clustered index flips; the checksum is wrong from then on.
pub(crate) fn root_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.pick_partition(|partition| {
        let found =
            db.found(partition.unit.root, partition).filter(|_| partition.is_clustered())?;
        (found.header().kind() == PageType::Index && children_of(&found).len() >= 2)
            .then_some(found)
    })?;
    let page = flip(db, found.id)?;
    Some(Fault::on(&found, page, &[8928, 8939, 8977]).permit(&[8979]))
}

/// Row 6: a bit of a tree page of off-row values flips; the checksum is wrong from then on.
pub(crate) fn lob_tree_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    lob_flipped(db, PageType::TextTree)
}

/// Row 7: a bit of a mix page of off-row values flips; the checksum is wrong from then on.
pub(crate) fn lob_mix_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    lob_flipped(db, PageType::TextMix)
}

fn lob_flipped(db: &Candidates<'_>, kind: PageType) -> Option<Fault> {
    let (id, owner) =
        lob_pages(db, |header| header.kind() == kind && has_checksum(db, header.page_id()))?;
    let page = flip(db, id)?;
    Some(Fault::new(id, owner, vec![(id, page)], &[8928, 8939, 8965, 8929]).permit(&[8964]))
}

/// Row 16: a page of off-row values is zero.
pub(crate) fn lob_zero_page(db: &Candidates<'_>) -> Option<Fault> {
    let (id, owner) = lob_pages(db, |_| true)?;
    let images = vec![(id, PageBuf::zeroed())];
    Some(Fault::new(id, owner, images, &[8909, 8928, 8965, 8929]).permit(&[8964]))
}

/// Row 8: without its IAM page the allocation of the table is unknown.
pub(crate) fn iam_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, id, _) = db.partition_with_extents()?;
    let page = flip(db, id)?;
    let fault = Fault::new(id, Owner::of(&partition), vec![(id, page)], &[8946, 7965, 8905]);
    Some(fault.permit(&[8906, 2576, 8928, 8939]))
}

fn fixed(db: &Candidates<'_>, page: u32) -> Option<(PageId, PageBuf)> {
    let files: Vec<FileId> = db.image.files().collect();
    let from = db.below(files.len() as u64) as usize;
    let file = files.get(from)?;
    let id = PageId { file: *file, page };
    flip(db, id).map(|page| (id, page))
}

fn nobodys(id: PageId, page: PageBuf, expected: &[u32]) -> Fault {
    Fault::new(id, Owner::default(), vec![(id, page)], expected)
}

/// Row 9: a bit of a PFS page flips; the checksum is wrong from then on.
pub(crate) fn pfs_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    fixed(db, 1).map(|(id, page)| nobodys(id, page, &[8946, 8998]))
}

/// Row 10: a bit of a GAM page flips; the checksum is wrong from then on.
pub(crate) fn gam_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let page = MapKind::Gam.page_of(PageId::new(1, 0)).page;
    fixed(db, page).map(|(id, page)| nobodys(id, page, &[8946, 8998]))
}

/// Row 11: a bit of an SGAM page flips; the checksum is wrong from then on.
pub(crate) fn sgam_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let page = MapKind::Sgam.page_of(PageId::new(1, 0)).page;
    fixed(db, page).map(|(id, page)| nobodys(id, page, &[8946, 8998]))
}

/// Row 12: a bit of the boot page flips; the checksum is wrong from then on.
pub(crate) fn boot_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    flip(db, PageId::BOOT).map(|page| nobodys(PageId::BOOT, page, &[5250]))
}

/// Row 13: a bit of a file header page flips; the checksum is wrong from then on.
pub(crate) fn file_header_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    fixed(db, 0).map(|(id, page)| nobodys(id, page, &[5250]))
}

/// Row 13, too: the page itself adds up.
pub(crate) fn file_header_file_id(db: &Candidates<'_>) -> Option<Fault> {
    let files: Vec<FileId> = db.image.files().collect();
    let file = *files.get(db.below(files.len() as u64) as usize)?;
    let id = PageId { file, page: 0 };
    let mut page = db.page(id)?;
    let wrong = FileId(file.0 + 1 + db.below(9) as u16);
    let range = FileHeaderView::new(&page).file_id_range()?;
    page.get_mut(range)?.copy_from_slice(&wrong.0.to_le_bytes());
    reseal(db.image, id, &mut page)?;
    Some(nobodys(id, page, &[5250]))
}

/// Row 14: a bit of the first leaf page of sysallocunits flips; the checksum is wrong from then on.
pub(crate) fn catalog_flipped_byte(db: &Candidates<'_>) -> Option<Fault> {
    let id = db.catalog.boot.first_sys_indexes;
    let page = flip(db, id)?;
    Some(
        Fault::new(id, sysallocunits(), vec![(id, page)], &[7985])
            .permit(&[5235, 5233, 8928, 8939]),
    )
}

/// Who owns the pages of `sysallocunits`.
pub(crate) fn sysallocunits() -> Owner {
    Owner {
        object: object::SYSALLOCUNITS,
        unit: Some(SYSALLOCUNITS),
        is_system: true,
        ..Owner::default()
    }
}

/// Row 15: a page of a table is zero.
pub(crate) fn zero_page(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf().or_else(|| db.heap())?;
    let fault = Fault::on(&found, PageBuf::zeroed(), &with_links(&found, &[8909, 8928]));
    Some(fault.permit(orphans(&found)))
}

/// Row 17: a misdirected write. The foreign image is sound in itself, its checksum is right.
pub(crate) fn foreign_page(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.leaf().or_else(|| db.heap())?;
    let foreign = (0..16).find_map(|_| db.row_page().filter(|other| other.id != found.id))?;
    let page = db.stored(foreign.id)?;
    Some(Fault::on(&found, page, &with_links(&found, &[8909, 8928])).permit(orphans(&found)))
}

/// Row 18: the last sector is from another time; here, from another page of the table.
pub(crate) fn torn_sector(db: &Candidates<'_>) -> Option<Fault> {
    const LAST: usize = PAGE_BYTES - SECTOR_BYTES;
    let found = protected(db, |it| it != Protection::None)?;
    let mut page = db.stored(found.id)?;
    let other = (0..16).find_map(|_| {
        let other = db.row_page()?;
        let other = db.stored(other.id)?;
        (other[LAST..] != page[LAST..]).then_some(other)
    })?;
    page[LAST..].copy_from_slice(&other[LAST..]);
    if let Protection::Torn { signature, .. } = verify(&page) {
        // Another write has another signature: 1 and 2 take turns.
        page[PAGE_BYTES - 1] = (page[PAGE_BYTES - 1] & 0xfc) | (signature ^ 3);
    }
    Some(
        Fault::on(&found, page, &with_links(&found, &[8928, 8939]))
            .permit(&[824])
            .permit(orphans(&found)),
    )
}

/// A page of a table whose stored form is protected in a way that `suits`.
fn protected(db: &Candidates<'_>, suits: impl Fn(Protection) -> bool) -> Option<CandidatePage> {
    (0..64).find_map(|_| {
        let found = db.row_page()?;
        suits(verify(&*db.stored(found.id)?)).then_some(found)
    })
}

/// Row 19: the last allocated extent of a file is missing, with everything after it. Which of the
/// messages about unreadable pages a check gives depends on what they were: leaf or not,
/// first or last.
pub(crate) fn truncated(db: &Candidates<'_>) -> Option<Fault> {
    let (extent, found) = db.last_extent()?;
    let first = extent.first_page();
    let bytes = u64::from(first.page) * PAGE_BYTES as u64;
    let fault = Fault::new(first, Owner::of(&found.partition), Vec::new(), &[8928, 8939]);
    let links = [823, 2579, 8968, 8976, 8977, 8978, 8979, 8980, 8981, 2533, 2534, 8905];
    let rows = [8964, 8965, 8929, 8993, 8994];
    Some(
        Fault {
            truncate: Some(Truncation { file: first.file, bytes }),
            ..fault
        }
        .permit(&links)
        .permit(&rows),
    )
}

/// Row 20: two bits in the same column of one sector cancel in the checksum. Both hit values that
/// an index has, too, so that the rows no longer match their entries.
pub(crate) fn cancelling_flips(db: &Candidates<'_>) -> Option<Fault> {
    const WORD: usize = 4;
    let (found, (one, other)) = db.pick(&db.base_pages(), |found| {
        if !has_checksum(db, found.id) {
            return None;
        }
        let offsets = indexed_bytes(db, found);
        let same = |one: &usize, other: &usize| {
            one / SECTOR_BYTES == other / SECTOR_BYTES && one % WORD == other % WORD && one < other
        };
        offsets.iter().find_map(|one| Some((*one, *offsets.iter().find(|other| same(one, other))?)))
    })?;
    let mut page = db.stored(found.id)?;
    page[one] ^= 1;
    page[other] ^= 1;
    verify(&page).is_intact().then(|| Fault::on(&found, page, &[8951, 8952]).permit(&[2570]))
}

/// First bytes of integer and text values that lie in an index but not in the clustered key.
fn indexed_bytes(db: &Candidates<'_>, found: &CandidatePage) -> Vec<usize> {
    let is_plain = |ty: &SqlType| {
        matches!(
            ty,
            SqlType::TinyInt
                | SqlType::SmallInt
                | SqlType::Int
                | SqlType::BigInt
                | SqlType::Money
                | SqlType::Char { .. }
                | SqlType::Binary { .. }
                | SqlType::UniqueIdentifier
        )
    };
    let columns: Vec<_> = db
        .columns(&found.partition)
        .filter(|column| column.key_ordinal == 0 && column.ty.as_ref().is_some_and(is_plain))
        .filter(|column| db.is_indexed(&found.partition, column.column_id))
        .collect();
    let mut offsets = Vec::new();
    for slot in 0..found.slots() {
        let Some(record) = found.record(slot) else { continue };
        if record.kind() == extentdb_format::record::RecordKind::Primary {
            offsets.extend(
                columns.iter().filter_map(|column| span(&found.page, slot, column)).flatten(),
            );
        }
    }
    offsets
}

/// The unit of LOB or row-overflow data in a header.
pub(crate) fn is_lob_unit(db: &Candidates<'_>, unit: AllocUnitId) -> bool {
    let owner = db.catalog.owner_of(unit);
    owner.is_some_and(|(unit, _)| {
        matches!(unit.kind, AllocUnitKind::Lob | AllocUnitKind::RowOverflow)
    })
}

/// The header of a page that can be read.
pub(crate) fn header_of(db: &Candidates<'_>, id: PageId) -> Option<PageHeader> {
    db.page(id).map(|page| PageHeader::of(&page).clone())
}
