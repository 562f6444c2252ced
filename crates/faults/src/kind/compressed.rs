//! Group 9: compressed rows and pages.

use std::ops::Range;

use extentdb_base::size::PAGE_HEADER_BYTES;
use extentdb_catalog::layout::Compression;
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::compressed::page::{HAS_ANCHOR, HAS_DICTIONARY};
use extentdb_format::record::compressed::row::IS_CD;
use extentdb_format::record::compressed::{CdColumn, CdKind, CdRecord, CiView};

use crate::candidates::{CandidatePage, Candidates};
use crate::fault::Fault;
use crate::kind::header::changed;

/// What follows in a tree. A check that does not read the upper levels of compressed indexes knows
/// of a lost page from its neighbours only: 8981.
const LINKS: &[u32] = &[8976, 8977, 8978, 8980, 8981];

/// A leaf page of a compressed table for which `choose` finds something to do.
fn page<T>(
    db: &Candidates<'_>,
    choose: impl Fn(&CandidatePage) -> Option<T>,
) -> Option<(CandidatePage, T)> {
    let partitions = db.all_parts();
    let compressed: Vec<_> = partitions
        .iter()
        .filter(|partition| {
            matches!(partition.compression, Compression::Row | Compression::Page)
                && partition.index.0 <= 1
        })
        .flat_map(|partition| db.leaf_pages(partition).into_iter().map(move |id| (id, partition)))
        .collect();
    let from = db.below(compressed.len() as u64) as usize;
    let (before, after) = compressed.split_at_checked(from)?;
    after.iter().chain(before).find_map(|(id, partition)| {
        let found = db.found(*id, partition)?;
        let chosen = choose(&found)?;
        Some((found, chosen))
    })
}

fn put_u16(page: &mut PageBuf, at: usize, value: u16) -> Option<()> {
    page.get_mut(at..at + 2)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

fn lost(
    db: &Candidates<'_>,
    found: &CandidatePage,
    change: impl FnOnce(&mut PageBuf) -> Option<()>,
    expected: &[u32],
) -> Option<Fault> {
    changed(db, found, change, expected)
        .map(|fault| fault.permit(LINKS).permit(crate::kind::raw::orphans(found)))
}

/// Row 151: the size of the compression information.
pub(crate) fn information_size(db: &Candidates<'_>) -> Option<Fault> {
    let (found, at) = page(db, |found| {
        let ci = CiView::of(&found.page).filter(|ci| ci.fault().is_none())?;
        let has_both = ci.flags() & (HAS_ANCHOR | HAS_DICTIONARY) == HAS_ANCHOR | HAS_DICTIONARY;
        Some(PAGE_HEADER_BYTES + if has_both { 5 } else { 3 })
    })?;
    lost(db, &found, |page| put_u16(page, at, 0x1f00), &[5274, 8928])
}

/// Row 152: an entry of the dictionary ends past the end of the page.
pub(crate) fn dictionary_entry(db: &Candidates<'_>) -> Option<Fault> {
    let (found, at) = page(db, |found| {
        let ci = CiView::of(&found.page)
            .filter(|ci| ci.fault().is_none() && !ci.dictionary().is_empty())?;
        let ends_at = if ci.flags() & HAS_ANCHOR != 0 { 7 } else { 5 };
        let word = |at: usize| {
            Some(usize::from(u16::from_le_bytes(*found.page.get(at..)?.first_chunk()?)))
        };
        let anchor_end =
            if ci.flags() & HAS_ANCHOR != 0 { word(PAGE_HEADER_BYTES + 3)? } else { ends_at };
        Some(PAGE_HEADER_BYTES + anchor_end + 2)
    })?;
    lost(db, &found, |page| put_u16(page, at, 0x1f00), &[5274, 8928])
}

/// A row in CD format and its first byte on the page.
fn row(found: &CandidatePage, suits: impl Fn(u16, &CdRecord<'_>) -> bool) -> Option<(u16, usize)> {
    let view = PageRef::new(&found.page);
    (0..view.slot_count()).find_map(|slot| {
        let bytes = view.record_bytes(slot)?;
        let record = CdRecord::parse(bytes);
        let is_row = bytes.first()? & IS_CD != 0
            && record.fault().is_none()
            && record.kind() == CdKind::Primary;
        (is_row && suits(slot, &record))
            .then(|| Some((slot, usize::from(view.slot_offset(slot)?))))?
    })
}

/// Row 153: a descriptor that there is not.
pub(crate) fn descriptor(db: &Candidates<'_>) -> Option<Fault> {
    let (found, (slot, at)) = page(db, |found| row(found, |_, record| record.column_count() > 0))?;
    // Below 128 columns the count is one byte.
    let wide = usize::from(*found.page.get(at + 1)? >= 0x80);
    let fault = lost(
        db,
        &found,
        |page| {
            *page.get_mut(at + 2 + wide)? |= 0x0f;
            Some(())
        },
        &[],
    )?;
    Some(fault.any_of(&[8944, 2537, 5274]).permit(&[8928]).at_slot(slot))
}

/// Row 154: a value that begins with more bytes of its anchor than the anchor has.
pub(crate) fn anchor_prefix(db: &Candidates<'_>) -> Option<Fault> {
    let (found, (slot, range)) = page(db, |found| {
        let ci = CiView::of(&found.page).filter(|ci| ci.fault().is_none())?;
        let anchors = ci.anchors();
        let view = PageRef::new(&found.page);
        (0..view.slot_count()).find_map(|slot| {
            let bytes = view.record_bytes(slot)?;
            let record = CdRecord::parse(bytes);
            if record.fault().is_some()
                || bytes.first()? & IS_CD == 0
                || record.kind() != CdKind::Primary
            {
                return None;
            }
            record.columns().zip(&anchors).find_map(|(column, anchor)| match (column, anchor) {
                (
                    CdColumn::Short(partition),
                    CdColumn::Short(_) | CdColumn::Long { complex: false, .. },
                ) => Some((slot, within(&found.page, partition))),
                _ => None,
            })
        })
    })?;
    let fault = changed(
        db,
        &found,
        |page| {
            *page.get_mut(range.start)? = 0x7f;
            Some(())
        },
        &[],
    )?;
    // 5274 were possible, too. Whether values are put together without the checks of rows is not
    // known.
    Some(fault.and(&[2537]).permit(&[5274, 8928, 8951, 8952]).permit(LINKS).at_slot(slot))
}

fn within(page: &PageBuf, partition: &[u8]) -> Range<usize> {
    let start = partition.as_ptr().addr().wrapping_sub(page.as_ptr().addr());
    start..start + partition.len()
}
