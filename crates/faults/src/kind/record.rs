//! Group 3: records that contradict themselves or the catalog.

use std::ops::Range;

use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_format::PageBuf;
use extentdb_format::record::Record;
use extentdb_format::record::row::{COMPLEX_COLUMN, VERSION_TAG_BYTES};
use extentdb_format::record::sparse::SPARSE_VECTOR;
use extentdb_format::record::status::{HAS_VARIABLE, HAS_VERSION_TAG};
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, PartitionPage, offset_of};
use crate::edit::Edit;
use crate::fault::Fault;
use crate::kind::header::{changed, lost};
use crate::row::{
    Anatomy, anatomy, has_pointers, key_text, make_ghost, null_bit, pointer_span, replace, span,
    with_var,
};

/// A row of a leaf between two others, or else of a heap, for which `choose` finds something to do.
fn row<T>(
    db: &Candidates<'_>,
    mut choose: impl FnMut(&CandidatePage, u16, &Record<'_>) -> Option<T>,
) -> Option<(CandidatePage, u16, T)> {
    let mut in_tree = |found: &CandidatePage, slot: u16, record: &Record<'_>| {
        let suits = found.has_links() && found.slots() >= 2 && !has_pointers(record);
        suits.then(|| choose(found, slot, record))?
    };
    db.pick_row(db.leaves(), &mut in_tree).or_else(|| {
        db.pick_row(db.heaps(), |found, slot, record| {
            let is_plain = found.slots() >= 2
                && found.view().records().all(|(_, bytes)| {
                    let other = Record::parse_data(bytes);
                    other.kind() == record.kind() && !has_pointers(&other)
                });
            is_plain.then(|| choose(found, slot, record))?
        })
    })
}

/// A row that makes its page unreadable: 8944, 8928 and what follows.
fn broken(
    db: &Candidates<'_>,
    suits: impl Fn(&CandidatePage, u16, &Record<'_>) -> bool,
    change: impl Fn(&mut PageBuf, usize, Option<Anatomy>) -> Option<()>,
) -> Option<Fault> {
    let (found, slot, at) = row(db, |found, slot, record| {
        suits(found, slot, record).then(|| offset_of(&found.page, slot))?
    })?;
    let partitions = anatomy(&found.page, slot);
    let fault = lost(db, &found, |page| change(page, at, partitions), &[8944, 8928])?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

fn any(_: &CandidatePage, _: u16, _: &Record<'_>) -> bool {
    true
}

fn has_variable(found: &CandidatePage, slot: u16, record: &Record<'_>) -> bool {
    record.status_a() & HAS_VARIABLE != 0 && anatomy(&found.page, slot).is_some()
}

fn put_u16(page: &mut PageBuf, at: usize, value: u16) -> Option<()> {
    page.get_mut(at..at + 2)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

fn u16_at(page: &PageBuf, at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*page.get(at..)?.first_chunk()?))
}

/// Row 55: a forwarding stub cannot be in a clustered index.
pub(crate) fn kind_stub(db: &Candidates<'_>) -> Option<Fault> {
    let in_tree = |found: &CandidatePage, _: u16, _: &Record<'_>| !found.partition.is_heap();
    broken(db, in_tree, |page, at, _| {
        page[at] = page[at] & !0x0e | 0x04;
        Some(())
    })
}

/// Row 56: the row is a ghost, its entries are not, and no count includes it.
pub(crate) fn ghost(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, ()) = row(db, |_, _, _| Some(()))?;
    let fault = changed(db, &found, |page| make_ghost(page, slot), &[8927])?;
    let fault = fault.and(db.cross(&found.partition, &[8952]));
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 57: a reserved bit of a row's status is set.
pub(crate) fn reserved_bit(db: &Candidates<'_>) -> Option<Fault> {
    broken(db, any, |page, at, _| {
        page[at] |= 0x80;
        Some(())
    })
}

/// Row 58: a row says that its fixed part ends past the end of the page.
pub(crate) fn record_length(db: &Candidates<'_>) -> Option<Fault> {
    broken(db, any, |page, at, _| put_u16(page, at + 2, 0x7fff))
}

/// Row 59: one column more than the table has.
pub(crate) fn column_count(db: &Candidates<'_>) -> Option<Fault> {
    let is_full = |found: &CandidatePage, slot: u16, record: &Record<'_>| {
        let columns = db.rowset(&found.partition).map_or(&[][..], |rowset| &rowset.layout.columns);
        let most = columns.iter().map(|column| column.leaf.null_bit).max().unwrap_or(0);
        most > 0 && record.column_count() == most && anatomy(&found.page, slot).is_some()
    };
    let fault = broken(db, is_full, |page, _, partitions| {
        let at = partitions?.column_count;
        let count = u16_at(page, at)?;
        put_u16(page, at, count + 1)
    })?;
    Some(fault.permit(&[2537]))
}

/// Row 62: far past the end of the record.
pub(crate) fn end_offset_beyond(db: &Candidates<'_>) -> Option<Fault> {
    broken(db, has_variable, |page, _, partitions| put_u16(page, partitions?.ends, 0x1f00))
}

/// Row 63: the first column ends before it begins.
pub(crate) fn end_offsets_descending(db: &Candidates<'_>) -> Option<Fault> {
    broken(db, has_variable, |page, _, partitions| put_u16(page, partitions?.ends, 1))
        .map(|it| it.permit(&[2537]))
}

/// Row 64: the first bytes of the first value are taken for an end offset.
pub(crate) fn variable_count(db: &Candidates<'_>) -> Option<Fault> {
    let is_caught = |found: &CandidatePage, slot: u16, record: &Record<'_>| {
        if !has_variable(found, slot, record) {
            return false;
        }
        let mut bytes = found.view().record_bytes(slot).unwrap_or_default().to_vec();
        let at = anatomy(&found.page, slot)
            .zip(offset_of(&found.page, slot))
            .map(|(partitions, at)| partitions.var_count - at);
        if let Some(count) = at.and_then(|at| bytes.get_mut(at)) {
            *count += 1;
        }
        Record::parse_data(&bytes).fault().is_some()
    };
    broken(db, is_caught, |page, _, partitions| {
        let at = partitions?.var_count;
        let count = u16_at(page, at)?;
        put_u16(page, at, count + 1)
    })
}

/// A column and its bytes in a record.
type PlacedColumn<'t> = (&'t PhysicalColumn, Range<usize>);

/// A column of a row of a user table for which `suits` holds, and whose bytes are in the row.
fn column<'t>(
    db: &'t Candidates<'_>,
    suits: impl Fn(&CandidatePage, &PhysicalColumn) -> bool,
) -> Option<(CandidatePage, u16, PlacedColumn<'t>)> {
    db.pick_row(&db.base_pages(), |found, slot, _| {
        let rowset = db.catalog.rowsets.get(&found.partition.rowset)?;
        let live = rowset.layout.columns.iter().filter(|column| !column.is_dropped());
        live.filter(|column| column.key_ordinal == 0 && suits(found, column))
            .find_map(|column| Some((column, span(&found.page, slot, column)?)))
    })
}

/// Row 60: the bytes stay, the null bit is set. An index that has the column has the value.
pub(crate) fn null_not_null(db: &Candidates<'_>) -> Option<Fault> {
    let is_fixed = |column: &PhysicalColumn| {
        column.leaf.offset > 0 && column.leaf.null_bit > 0 && column.is_not_null()
    };
    let is_clear = |found: &CandidatePage, column: &PhysicalColumn| {
        is_fixed(column)
            && db.table(&found.partition).is_some_and(|table| is_not_null(table, column))
    };
    let indexed = |found: &CandidatePage, column: &PhysicalColumn| {
        db.is_indexed(&found.partition, column.column_id)
    };
    let (found, slot, (column, _)) =
        column(db, |f, c| is_clear(f, c) && indexed(f, c)).or_else(|| column(db, is_clear))?;
    let (at, mask) = null_bit(&found.page, slot, column)?;
    let fault = changed(
        db,
        &found,
        |page| {
            page[at] |= mask;
            Some(())
        },
        &[8970],
    )?;
    let cross: &[u32] = if indexed(&found, column) { &[8951, 8952] } else { &[] };
    Some(fault.and(cross).of_key(key_text(db, &found, slot)).at_slot(slot))
}

fn is_not_null(table: &extentdb_catalog::Table, column: &PhysicalColumn) -> bool {
    table
        .column(column.column_id)
        .is_some_and(|logical| !logical.nullable && logical.computed.is_none())
}

/// A nullable variable column without a copy in an index.
fn is_lonely_text(db: &Candidates<'_>, found: &CandidatePage, column: &PhysicalColumn) -> bool {
    let is_text = matches!(
        column.ty,
        Some(SqlType::VarChar { .. } | SqlType::NVarChar { .. } | SqlType::VarBinary { .. })
    );
    let id = column.column_id;
    is_text
        && column.leaf.offset < 0
        && db.is_free(&found.partition, id)
        && !db.is_indexed(&found.partition, id)
}

/// Row 61: the null bit of a variable column with data is set.
pub(crate) fn null_with_data(db: &Candidates<'_>) -> Option<Fault> {
    let suits = |found: &CandidatePage, column: &PhysicalColumn| {
        is_lonely_text(db, found, column) && !column.is_not_null() && column.leaf.null_bit > 0
    };
    let (found, slot, (column, _)) = column(db, suits)?;
    let (at, mask) = null_bit(&found.page, slot, column)?;
    let fault = changed(
        db,
        &found,
        |page| {
            page[at] |= mask;
            Some(())
        },
        &[7961],
    )?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 65: letters are taken for a pointer.
pub(crate) fn complex_bit(db: &Candidates<'_>) -> Option<Fault> {
    let suits = |found: &CandidatePage, column: &PhysicalColumn| {
        is_lonely_text(db, found, column) && !column.ty.is_some_and(|ty| ty.is_max())
    };
    let (found, slot, (column, _)) = column(db, suits)?;
    let ends = anatomy(&found.page, slot)?.ends;
    let at = ends + 2 * (usize::from(column.leaf.offset.unsigned_abs()) - 1);
    let fault = changed(
        db,
        &found,
        |page| {
            let end = u16_at(page, at)?;
            put_u16(page, at, end | COMPLEX_COLUMN)
        },
        &[8960],
    )?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 67: a version chain without a time.
pub(crate) fn version_timestamp(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, end) = db.pick_row(&db.base_pages(), |found, slot, record| {
        let tag = record.version_tag().filter(|_| record.status_a() & HAS_VERSION_TAG != 0)?;
        let is_known = !tag.previous.page.is_none() && tag.sequence != [0; 6];
        is_known.then(|| Some(offset_of(&found.page, slot)? + record.len()))?
    })?;
    let sequence = end - VERSION_TAG_BYTES + 8..end;
    let fault = changed(
        db,
        &found,
        |page| {
            page.get_mut(sequence)?.fill(0);
            Some(())
        },
        &[5262],
    )?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 84: one byte more than the column may have (two for Unicode text).
pub(crate) fn in_row_too_long(db: &Candidates<'_>) -> Option<Fault> {
    let longest = |column: &PhysicalColumn| column.ty.filter(|ty| !ty.is_max())?.max_bytes();
    let (found, slot, page) = db.pick_row(&db.base_pages(), |found, slot, record| {
        let columns =
            db.columns(&found.partition).filter(|column| is_lonely_text(db, found, column));
        columns.into_iter().find_map(|column| {
            let mut value = found.page.get(span(&found.page, slot, column)?)?.to_vec();
            let wanted = longest(column)?
                + if matches!(column.ty?, SqlType::NVarChar { .. }) { 2 } else { 1 };
            let filler: Vec<u8> = value.iter().copied().take(2).cycle().take(wanted).collect();
            value.extend_from_slice(filler.get(value.len()..)?);
            let new = with_var(record, column.leaf.offset.unsigned_abs() - 1, &value, false)?;
            let mut page = found.page.clone();
            replace(&mut page, slot, &new)?;
            Some(page)
        })
    })?;
    let mut edit = Edit::new(db);
    *edit.page(found.id)? = page;
    edit.sync_fullness(found.id)?;
    let fault = edit.fault(&found, &[2537])?;
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// Row 85: the sparse vector counts one value too many. The message of a server is not known; the
/// count and the bytes contradict each other.
pub(crate) fn sparse_count(db: &Candidates<'_>) -> Option<Fault> {
    let pages: Vec<PartitionPage> = db.base_pages();
    let (found, slot, at) = db.pick_row(&pages, |found, slot, record| {
        let columns = db.rowset(&found.partition)?.layout.columns.iter();
        columns.into_iter().find_map(|column| {
            let Cell::Complex(bytes) = cell(record, column, Level::Leaf).ok()? else { return None };
            let is_vector = bytes.first_chunk() == Some(&SPARSE_VECTOR.to_le_bytes());
            is_vector.then(|| pointer_span(&found.page, slot, column))?.map(|span| span.start + 2)
        })
    })?;
    let fault = changed(
        db,
        &found,
        |page| {
            let count = u16_at(page, at)?;
            put_u16(page, at, count.wrapping_add(0x100))
        },
        &[],
    )?;
    Some(fault.any_of(&[2537, 8960]).of_key(key_text(db, &found, slot)).at_slot(slot))
}
