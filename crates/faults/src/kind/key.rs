//! Group 3: keys out of order, doubled keys, separators and child pointers.

use std::ops::Range;

use extentdb_catalog::layout::PhysicalColumn;
use extentdb_format::PageBuf;
use extentdb_format::page::PageHeader;
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, record_at};
use crate::fault::Fault;
use crate::kind::header::{changed, next_of};
use crate::kind::link::free_page;
use crate::row::{key_text, set_child, span, value};

/// Numbers of the cross-check when the key of a row of a clustered index changes: its locator is
/// another one.
const MOVED: &[u32] = &[8951, 8952];

/// A deleted row has no entries, and another row may take its key.
fn is_ghost(page: &PageBuf, slot: u16) -> bool {
    record_at(page, slot).is_none_or(|record| record.kind().is_ghost())
}

/// Gives a record the key of another one, byte for byte. `None` when they have not the same lengths
/// and NULLs, and for ghosts.
fn copy_key(
    key: &[PhysicalColumn],
    page: &mut PageBuf,
    slot: u16,
    source: &PageBuf,
    from: u16,
) -> Option<()> {
    if is_ghost(page, slot) || is_ghost(source, from) {
        return None;
    }
    let mut partitions: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    let mut is_other = false;
    for column in key {
        match (span(page, slot, column), value(source, from, column)) {
            (Some(range), Some(bytes)) if range.len() == bytes.len() => {
                is_other |= page.get(range.clone())? != bytes;
                partitions.push((range, bytes));
            }
            // An uniquifier that is not stored on both sides.
            (None, Some(bytes)) if bytes.is_empty() => {}
            _ => return None,
        }
    }
    for (range, bytes) in partitions {
        page.get_mut(range)?.copy_from_slice(&bytes);
    }
    is_other.then_some(())
}

/// The key columns of a partition, in key order.
fn key_of(db: &Candidates<'_>, found: &CandidatePage) -> Option<Vec<PhysicalColumn>> {
    let key: Vec<PhysicalColumn> =
        db.rowset(&found.partition)?.layout.key().into_iter().cloned().collect();
    (!key.is_empty()).then_some(key)
}

/// A leaf whose row `slot` gets the key of another row.
fn moved(
    db: &Candidates<'_>,
    found: &CandidatePage,
    slot: u16,
    page: PageBuf,
    expected: &[u32],
) -> Option<Fault> {
    let fault = changed(
        db,
        found,
        |image| {
            *image = page;
            Some(())
        },
        expected,
    )?;
    Some(fault.of_key(key_text(db, found, slot)).at_slot(slot))
}

/// Row 68: a row in the middle gets the key of the second row after it.
pub(crate) fn raised(db: &Candidates<'_>) -> Option<Fault> {
    let (found, (slot, page)) = db.pick(db.leaves(), |found| {
        let key = key_of(db, found)?;
        let inner = found.slots().checked_sub(3).filter(|inner| *inner > 0)?;
        let from = db.below(inner.into()) as u16;
        (0..inner)
            .map(|at| 1 + (from + at) % inner)
            .filter(|slot| slot + 2 < found.slots())
            .find_map(|slot| {
                let mut page = found.page.clone();
                copy_key(&key, &mut page, slot, &found.page, slot + 2)?;
                Some((slot, page))
            })
    })?;
    moved(db, &found, slot, page, &[2511]).map(|fault| fault.and(db.cross(&found.partition, MOVED)))
}

/// Row 69: the last row gets the key of the second row of the next page.
pub(crate) fn raised_last(db: &Candidates<'_>) -> Option<Fault> {
    last_gets(db, 1, &[8934])
}

/// Row 73: the last row gets the key of the first row of the next page.
pub(crate) fn doubled_across(db: &Candidates<'_>) -> Option<Fault> {
    last_gets(db, 0, &[]).map(|fault| fault.any_of(&[2512, 8934]))
}

fn last_gets(db: &Candidates<'_>, from: u16, expected: &[u32]) -> Option<Fault> {
    let (found, (slot, page)) = db.pick(db.leaves(), |found| {
        let key = key_of(db, found)?;
        let next = db.found(next_of(db, found.id)?, &found.partition)?;
        let slot =
            found.slots().checked_sub(1).filter(|_| found.has_links() && next.slots() > 2)?;
        let mut page = found.page.clone();
        copy_key(&key, &mut page, slot, &next.page, from)?;
        Some((slot, page))
    })?;
    moved(db, &found, slot, page, expected)
        .map(|fault| fault.and(db.cross(&found.partition, MOVED)))
}

/// Row 70: the first row gets a key below its separator, yet above all of the page before.
pub(crate) fn lowered_first(db: &Candidates<'_>) -> Option<Fault> {
    let (found, page) = db
        .pick(db.uppers(), |upper| {
            let slots = upper.slots();
            let from = db.below(slots.into()) as u16;
            (0..slots).map(|at| (from + at) % slots).find_map(|slot| lower_child(db, upper, slot))
        })
        .map(|(_, (found, page))| (found, page))?;
    moved(db, &found, 0, page, &[8933]).map(|fault| fault.and(db.cross(&found.partition, MOVED)))
}

fn lower_child(
    db: &Candidates<'_>,
    upper: &CandidatePage,
    slot: u16,
) -> Option<(CandidatePage, PageBuf)> {
    let key = key_of(db, upper)?;
    let first = key.first().filter(|column| !column.is_descending())?;
    let found = db
        .found(upper.record(slot)?.child()?, &upper.partition)
        .filter(CandidatePage::has_links)?;
    let before = db.found(found.neighbours?.0, &upper.partition)?;
    let high = integer(first, &before.page, before.slots().checked_sub(1)?)?;
    let separator = integer(first, &upper.page, slot)?;
    let wanted = high.checked_add(1).filter(|wanted| *wanted < separator)?;
    let range = span(&found.page, 0, first).filter(|_| !is_ghost(&found.page, 0))?;
    let mut page = found.page.clone();
    let bytes = wanted.to_le_bytes();
    page.get_mut(range.clone())?.copy_from_slice(bytes.get(..range.len())?);
    Some((found, page))
}

/// The value of an integer column.
fn integer(column: &PhysicalColumn, page: &PageBuf, slot: u16) -> Option<i64> {
    let bytes = value(page, slot, column)?;
    match (column.ty?, &bytes[..]) {
        (SqlType::TinyInt, [byte]) => Some(i64::from(*byte)),
        (SqlType::SmallInt, bytes) => Some(i64::from(i16::from_le_bytes(bytes.try_into().ok()?))),
        (SqlType::Int, bytes) => Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))),
        (SqlType::BigInt, bytes) => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// Row 71: an entry of a unique index gets the key of the one before it.
pub(crate) fn index_doubled(db: &Candidates<'_>) -> Option<Fault> {
    let (found, (slot, page)) = db.pick(db.entries(), |found| {
        let table = db.table(&found.partition)?;
        table.indexes.iter().find(|index| index.id == found.partition.index && index.unique)?;
        let key = key_of(db, found)?;
        let pairs = found.slots().checked_sub(2).filter(|pairs| *pairs > 0)?;
        let slot = 1 + db.below(pairs.into()) as u16;
        let mut page = found.page.clone();
        copy_key(&key, &mut page, slot, &found.page, slot - 1)?;
        Some((slot, page))
    })?;
    moved(db, &found, slot, page, &[2512, 8951, 8952])
}

/// Row 72: two rows with the same key and the same number.
pub(crate) fn uniquifier_doubled(db: &Candidates<'_>) -> Option<Fault> {
    let (found, (slot, page)) = db.pick(db.leaves(), |found| {
        let key = key_of(db, found)?;
        let (number, rest) = key.split_last().filter(|(last, _)| last.is_uniquifier())?;
        let pairs = found.slots().checked_sub(1).filter(|pairs| *pairs > 0)?;
        let from = db.below(pairs.into()) as u16;
        (0..pairs).map(|at| 1 + (from + at) % pairs).find_map(|slot| {
            let same = |column: &PhysicalColumn| {
                value(&found.page, slot, column) == value(&found.page, slot - 1, column)
            };
            let mut page = found.page.clone();
            rest.iter().all(same).then(|| {
                copy_key(std::slice::from_ref(number), &mut page, slot, &found.page, slot - 1)
            })??;
            Some((slot, page))
        })
    })?;
    moved(db, &found, slot, page, &[2512]).map(|fault| fault.and(db.cross(&found.partition, MOVED)))
}

/// An upper page with a separator, not the first of its page, that gets the key of a row near it.
fn separator(
    db: &Candidates<'_>,
    source: impl Fn(&CandidatePage, u16) -> Option<(CandidatePage, u16)>,
    expected: &[u32],
) -> Option<Fault> {
    let (found, (slot, page)) = db.pick(db.uppers(), |found| {
        let key = key_of(db, found)?;
        let inner = found.slots().checked_sub(1).filter(|inner| *inner > 0)?;
        let from = db.below(inner.into()) as u16;
        (0..inner).map(|at| 1 + (from + at) % inner).find_map(|slot| {
            let (leaf, row) = source(found, slot)?;
            let mut page = found.page.clone();
            copy_key(&key, &mut page, slot, &leaf.page, row)?;
            Some((slot, page))
        })
    })?;
    let fault = changed(
        db,
        &found,
        |image| {
            *image = page;
            Some(())
        },
        expected,
    )?;
    Some(fault.at_slot(slot))
}

/// Row 74: the second row of the child becomes its separator.
pub(crate) fn separator_raised(db: &Candidates<'_>) -> Option<Fault> {
    let second = |found: &CandidatePage, slot: u16| {
        let child = db.found(found.record(slot)?.child()?, &found.partition)?;
        (child.slots() >= 3).then_some((child, 1))
    };
    separator(db, second, &[8933])
}

/// Row 75: the last row but one of the child before becomes the separator.
pub(crate) fn separator_lowered(db: &Candidates<'_>) -> Option<Fault> {
    let last_but_one = |found: &CandidatePage, slot: u16| {
        let child = db.found(found.record(slot - 1)?.child()?, &found.partition)?;
        let row = child.slots().checked_sub(2).filter(|row| *row >= 1)?;
        Some((child, row))
    };
    separator(db, last_but_one, &[8934])
}

/// Row 76: the key of the leftmost slot of a level is not compared.
pub(crate) fn separator_ignored(db: &Candidates<'_>) -> Option<Fault> {
    let (found, page) = db.pick(db.uppers(), |found| {
        let key = key_of(db, found).filter(|_| found.header().prev().is_none())?;
        let mut page = found.page.clone();
        copy_key(&key, &mut page, 0, &found.page, found.slots().checked_sub(1)?)?;
        Some(page)
    })?;
    changed(
        db,
        &found,
        |image| {
            *image = page;
            Some(())
        },
        &[],
    )
    .map(|fault| fault.at_slot(0))
}

/// An upper page with children to spare, and a slot in its middle.
fn pointers(db: &Candidates<'_>) -> Option<(CandidatePage, u16)> {
    db.pick(db.uppers(), |found| {
        let inner = found.slots().checked_sub(3).filter(|inner| *inner > 0)?;
        let slot = 1 + db.below(inner.into()) as u16;
        let leads = |slot: u16| db.found(record_at(&found.page, slot)?.child()?, &found.partition);
        (leads(slot).is_some() && leads(slot + 1).is_some()).then_some(slot)
    })
}

/// Row 77: two slots refer to the same child, and none to the other one.
pub(crate) fn child_doubled(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot) = pointers(db)?;
    let child = found.record(slot + 1)?.child()?;
    let fault = changed(db, &found, |page| set_child(page, slot, child), &[8937, 8977])?;
    Some(fault.permit(&[8935, 8933, 8934]).at_slot(slot))
}

/// Row 78: a child pointer leads to a page of a heap.
pub(crate) fn child_foreign(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot) = pointers(db)?;
    let other = db.heap().filter(|heap| heap.partition.object != found.partition.object)?;
    let fault = changed(db, &found, |page| set_child(page, slot, other.id), &[8977])?;
    Some(fault.any_of(&[8926, 8976, 8980]).at_slot(slot))
}

/// Row 79: a child pointer leads to a free page.
pub(crate) fn child_free(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot) = pointers(db)?;
    let free = free_page(db)?;
    let fault = changed(db, &found, |page| set_child(page, slot, free), &[8977])?;
    Some(fault.any_of(&[8976, 8980]).at_slot(slot))
}

/// Row 80: two child pointers are exchanged.
pub(crate) fn children_exchanged(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot) = pointers(db)?;
    let left = found.record(slot)?.child()?;
    let right = found.record(slot + 1)?.child()?;
    let exchange = |page: &mut PageBuf| {
        set_child(page, slot, right)?;
        set_child(page, slot + 1, left)
    };
    let fault = changed(db, &found, exchange, &[8935])?;
    Some(fault.any_of(&[8933, 8934]).at_slot(slot))
}

/// Row 81: no page above the leaves may be empty.
pub(crate) fn upper_emptied(db: &Candidates<'_>) -> Option<Fault> {
    let found = db.upper().or_else(|| db.pick(db.uppers(), |_| Some(())).map(|it| it.0))?;
    let fault = changed(
        db,
        &found,
        |page| {
            let header = PageHeader::of_mut(page);
            header.slot_count.set(0);
            header.free_bytes.set(extentdb_base::size::PAGE_BODY_BYTES as u16);
            header.free_offset.set(extentdb_base::size::PAGE_HEADER_BYTES as u16);
            Some(())
        },
        &[2574, 8977],
    )?;
    Some(fault.permit(&[8979]))
}
