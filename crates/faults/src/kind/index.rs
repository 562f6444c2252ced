//! Group 7: nonclustered indexes against their table, stored computed columns, partitions.

use std::ops::Range;

use extentdb_base::Rid;
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::table::Source;
use extentdb_format::PageBuf;
use extentdb_format::page::PageMut;
use extentdb_format::record::{RecordBuilder, RecordKind};
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, Partition};
use crate::edit::Edit;
use crate::fault::Fault;
use crate::kind::header::changed;
use crate::row::{key_text, remove, span, value};

/// The two messages for a row and an entry that do not match.
const PAIR: &[u32] = &[8951, 8952];
/// Entries after another one that are tried, at most, for an exchange with it.
const NEIGHBOURS: u16 = 16;
/// An entry whose key columns changed may be out of order.
const DISORDER: &[u32] = &[2511, 2512, 8933, 8934];

/// The byte of a value whose lowest bit can be flipped so that the result is another legal value.
fn byte_of(column: &PhysicalColumn, range: &Range<usize>) -> Option<usize> {
    let skip = match column.ty? {
        // The first byte is the sign.
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => 1,
        // Base type and version.
        SqlType::SqlVariant | SqlType::Xml | SqlType::Udt { .. } => return None,
        _ => 0,
    };
    Some(range.start + skip).filter(|at| *at < range.end)
}

/// Flips a bit of a value.
fn flip(
    db: &Candidates<'_>,
    found: &CandidatePage,
    slot: u16,
    at: usize,
    expected: &[u32],
) -> Option<Fault> {
    let fault = changed(
        db,
        found,
        |page| {
            *page.get_mut(at)? ^= 1;
            Some(())
        },
        expected,
    )?;
    Some(fault.of_key(key_text(db, found, slot)).at_slot(slot))
}

/// An entry with an included column of its own: no key, no part of the row locator.
fn included(
    db: &Candidates<'_>,
    suits: impl Fn(&Partition) -> bool,
) -> Option<(CandidatePage, u16, usize)> {
    db.pick_row(db.entries(), |found, slot, _| {
        let columns = if suits(&found.partition) {
            included_columns(db, &found.partition)
        } else {
            Vec::new()
        };
        columns.into_iter().find_map(|column| byte_of(column, &span(&found.page, slot, column)?))
    })
}

fn included_columns<'t>(db: &'t Candidates<'_>, partition: &Partition) -> Vec<&'t PhysicalColumn> {
    let base = db.base_parts(partition);
    let locator: Vec<Source> = base.first().map_or(Vec::new(), |base| {
        let keys = db.sources(base).into_iter().filter(|(column, _)| column.key_ordinal > 0);
        keys.map(|(_, source)| source).collect()
    });
    let own = db.sources(partition).into_iter().filter(|(column, source)| {
        column.key_ordinal == 0 && matches!(source, Source::Column(_)) && !locator.contains(source)
    });
    own.map(|(column, _)| column).collect()
}

/// Row 125: a byte of an included column of an index changes.
pub(crate) fn included_byte(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, at) = included(db, |_| true)?;
    flip(db, &found, slot, at, PAIR)
}

/// Row 135: the same, in an index of a partitioned table.
pub(crate) fn partition_index_byte(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, at) = included(db, |partition| db.base_parts(partition).len() > 1)?;
    flip(db, &found, slot, at, PAIR)
}

/// Row 126: the entry refers to another row, which has an entry of its own.
pub(crate) fn locator(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, ranges) = db.pick_row(db.entries(), |found, slot, _| {
        let sources = db.sources(&found.partition);
        let mut indexes = db.table(&found.partition)?.indexes.iter();
        let index = indexes.find(|index| index.id == found.partition.index)?;
        let is_own = |source: &Source| {
            let Source::Column(id) = source else { return false };
            index.columns.iter().any(|own| own.column_id == *id)
        };
        let mut slots = 0..found.slots();
        let other = slots.find(|other| *other != slot && found.record(*other).is_some())?;
        let partition = |column: &PhysicalColumn| {
            let range = span(&found.page, slot, column)?;
            let bytes = value(&found.page, other, column)?;
            (range.len() == bytes.len()).then_some((range, bytes))
        };
        let locator = sources.iter().filter(|(_, source)| !is_own(source));
        let ranges: Option<Vec<_>> = locator.map(|(column, _)| partition(column)).collect();
        ranges.filter(|ranges| {
            ranges.iter().any(|(range, bytes)| found.page.get(range.clone()) != Some(bytes))
        })
    })?;
    let fault = changed(db, &found, |page| put_all(page, &ranges), PAIR)?;
    Some(fault.permit(DISORDER).at_slot(slot))
}

fn put_all(page: &mut PageBuf, ranges: &[(Range<usize>, Vec<u8>)]) -> Option<()> {
    for (range, bytes) in ranges {
        page.get_mut(range.clone())?.copy_from_slice(bytes);
    }
    Some(())
}

/// Row 127: from the middle of a page, so that no separator is concerned.
pub(crate) fn entry_removed(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, ()) = db.pick_row(db.entries(), |found, slot, _| {
        (slot > 0 && slot + 1 < found.slots()).then_some(())
    })?;
    changed(db, &found, |page| remove(page, slot), &[8951]).map(|fault| fault.at_slot(slot))
}

/// Row 129: a column that an index has, too, changes in the table alone.
pub(crate) fn base_column(db: &Candidates<'_>) -> Option<Fault> {
    let is_copied = |found: &CandidatePage, column: &PhysicalColumn| {
        let table = db.table(&found.partition);
        let logical = table.and_then(|table| table.column(column.column_id));
        logical.is_some_and(|logical| logical.computed.is_none())
    };
    let (found, slot, at) = copied(db, is_copied)?;
    flip(db, &found, slot, at, PAIR).map(|fault| fault.permit(&[2537, 8984]))
}

/// Row 133: the stored value of a computed column.
pub(crate) fn computed_value(db: &Candidates<'_>) -> Option<Fault> {
    let is_computed = |found: &CandidatePage, column: &PhysicalColumn| {
        let table = db.table(&found.partition);
        let logical = table.and_then(|table| table.column(column.column_id));
        logical.is_some_and(|logical| logical.computed.is_some() && logical.persisted)
    };
    let (found, slot, at) = copied(db, is_computed)?;
    flip(db, &found, slot, at, PAIR).map(|fault| fault.permit(&[2537]))
}

/// A value of a row that is no part of its clustered key and has a copy in an index.
fn copied(
    db: &Candidates<'_>,
    suits: impl Fn(&CandidatePage, &PhysicalColumn) -> bool,
) -> Option<(CandidatePage, u16, usize)> {
    db.pick_row(&db.base_pages(), |found, slot, record| {
        if record.kind() != RecordKind::Primary {
            return None;
        }
        db.columns(&found.partition).filter(|column| column.key_ordinal == 0).find_map(|column| {
            let is_it = db.is_indexed(&found.partition, column.column_id) && suits(found, column);
            let range = span(&found.page, slot, column).filter(|_| is_it)?;
            byte_of(column, &range)
        })
    })
}

/// Row 130: one entry three times, and two rows without one.
pub(crate) fn entry_doubled(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, (at, bytes)) = db.pick_row(db.entries(), |found, slot, record| {
        let next = found.record(slot.checked_add(1)?)?;
        let second = found.record(slot.checked_add(2)?)?;
        let len = record.len();
        let is_entry = |other: &extentdb_format::record::Record<'_>| {
            other.len() == len
                && other.kind() == RecordKind::Index
                && other.bytes() != record.bytes()
        };
        let at = |slot: u16| crate::candidates::offset_of(&found.page, slot);
        (is_entry(&next) && is_entry(&second))
            .then(|| Some(([at(slot + 1)?, at(slot + 2)?], record.bytes().to_vec())))?
    })?;
    let fault = changed(
        db,
        &found,
        |page| {
            for start in at {
                page.get_mut(start..start + bytes.len())?.copy_from_slice(&bytes);
            }
            Some(())
        },
        &[8951],
    )?;
    Some(fault.any_of(&[2512, 8952]).at_slot(slot + 1))
}

/// Row 131: two entries exchange their included values.
pub(crate) fn entries_exchanged(db: &Candidates<'_>) -> Option<Fault> {
    let (found, slot, (one, other)) = db.pick_row(db.entries(), |found, slot, _| {
        let columns = included_columns(db, &found.partition);
        (1..=NEIGHBOURS).map(|step| (slot + step) % found.slots()).find_map(|other| {
            columns.iter().find_map(|column| {
                let one = span(&found.page, slot, column)?;
                let other = span(&found.page, other, column)?;
                let differ = found.page.get(one.clone()) != found.page.get(other.clone());
                (one.len() == other.len() && differ).then_some((one, other))
            })
        })
    })?;
    let first = found.page.get(one.clone())?.to_vec();
    let second = found.page.get(other.clone())?.to_vec();
    let swap = |page: &mut PageBuf| put_all(page, &[(one, second), (other, first)]);
    changed(db, &found, swap, PAIR).map(|fault| fault.at_slot(slot))
}

/// Row 134: the last row of a partition gets a key that belongs to the last partition, and so do
/// its entries.
///
/// The column that rows are distributed by must be the first one of the key, and an integer.
pub(crate) fn wrong_partition(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, column, high) = db.pick_partition(|partition| {
        let partitions = db.base_parts(partition);
        let is_candidate = partition.is_clustered()
            && partitions.len() > 1
            && partitions.last()?.rowset != partition.rowset;
        let own = db.table(partition)?.indexes.iter().find(|index| index.id == partition.index)?;
        let (_, partitioning) = db.catalog.partition_function_of(own)?;
        let is_it = |column: &&PhysicalColumn| is_candidate && column.column_id == partitioning;
        let column = db.rowset(partition)?.layout.key().first().copied().filter(is_it)?.clone();
        let highs: Vec<i64> =
            partitions.iter().filter_map(|partition| high_key(db, partition, &column)).collect();
        let is_ascending = highs.len() > 1 && highs.is_sorted_by(|a, b| a < b);
        (is_ascending && high_key(db, partition, &column).is_some())
            .then(|| Some((partition.clone(), column, highs.last()?.checked_add(1)?)))?
    })?;
    let found = db.found(*db.leaf_pages(&partition).last()?, &partition)?;
    let slot = found.slots().checked_sub(1)?;
    let mut edit = Edit::new(db);
    let range = span(&found.page, slot, &column)?;
    put_int(edit.page(found.id)?, &range, high)?;
    for (entry, at) in db.entries_of(&found, slot)? {
        let copies = db.sources(&entry.partition);
        let copy = copies.iter().find(|(_, source)| *source == Source::Column(column.column_id))?;
        let range = span(&entry.page, at, copy.0)?;
        put_int(edit.page(entry.id)?, &range, high)?;
    }
    let fault = edit.fault(&found, &[8984])?.permit(DISORDER).permit(&[8988]).permit(PAIR);
    Some(fault.of_key(key_text(db, &found, slot)).at_slot(slot))
}

/// The highest value of the first key column of a partition.
fn high_key(db: &Candidates<'_>, partition: &Partition, column: &PhysicalColumn) -> Option<i64> {
    let found = db.found(*db.leaf_pages(partition).last()?, partition)?;
    integer(column, &value(&found.page, found.slots().checked_sub(1)?, column)?)
}

fn put_int(page: &mut PageBuf, range: &Range<usize>, value: i64) -> Option<()> {
    let bytes = value.to_le_bytes();
    page.get_mut(range.clone())?.copy_from_slice(bytes.get(..range.len())?);
    Some(())
}

/// Row 132: a filtered index gets the entry of a row that its predicate leaves out: a row of the
/// table without an entry.
///
/// The entry is inserted between two others whose first key column, an integer, is lower and
/// higher.
pub(crate) fn filtered_row(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, index) = db.pick_partition(|partition| {
        let index =
            db.table(partition)?.indexes.iter().find(|index| index.id == partition.index)?;
        index.filter.is_some().then_some((partition.clone(), index))
    })?;
    let sources = db.sources(&partition);
    let (key, source) = *sources.iter().find(|(column, _)| column.key_ordinal == 1)?;
    let bases = db.base_pages();
    let (base, slot, wanted) = db.pick_row(&bases, |found, slot, _| {
        let is_of_table = found.partition.object == partition.object;
        let own = is_of_table.then(|| db.sources(&found.partition))?;
        let (column, _) = own.iter().find(|(_, it)| *it == source)?;
        let wanted = integer(column, &value(&found.page, slot, column)?)?;
        let locator = db.locator(found, slot)?;
        db.find_entry(&found.partition, index, &locator).is_none().then_some(wanted)
    })?;
    let at = |found: &CandidatePage, slot: u16| integer(key, &value(&found.page, slot, key)?);
    let (entry, gap) = db.leaf_pages(&partition).into_iter().find_map(|id| {
        let found = db.found(id, &partition)?;
        let is_gap =
            |slot: &u16| at(&found, *slot - 1) < Some(wanted) && at(&found, *slot) > Some(wanted);
        let gap = (1..found.slots()).find(is_gap)?;
        Some((found, gap))
    })?;
    let record = entry_for(db, &base, slot, &entry)?;
    let insert = |page: &mut PageBuf| PageMut::new(page).insert(gap, &record).then_some(());
    // A check reports this only where it evaluates the predicate.
    changed(db, &entry, insert, &[]).map(|fault| fault.permit(&[8952]).at_slot(gap))
}

fn integer(column: &PhysicalColumn, bytes: &[u8]) -> Option<i64> {
    match column.ty? {
        SqlType::Int => Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?))),
        SqlType::BigInt => Some(i64::from_le_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

/// The entry of a row as the index of `like` would have it.
fn entry_for(
    db: &Candidates<'_>,
    base: &CandidatePage,
    slot: u16,
    like: &CandidatePage,
) -> Option<Vec<u8>> {
    let own = db.sources(&base.partition);
    let wanted = db.sources(&like.partition);
    let sample = (0..like.slots()).find_map(|slot| like.record(slot))?;
    let mut record =
        RecordBuilder::index(RecordKind::Index, usize::from(like.header().fixed_len.get()));
    if sample.has_null_bitmap() {
        record.columns(sample.column_count());
    }
    let mut variable: Vec<(i16, Vec<u8>)> = Vec::new();
    for (column, source) in &wanted {
        let bytes = match source {
            Source::Rid => Some(Rid::new(base.id, slot).to_bytes().to_vec()),
            _ => own
                .iter()
                .find(|(_, it)| it == source)
                .and_then(|(own, _)| value(&base.page, slot, own)),
        };
        match (column.leaf.offset, bytes) {
            (offset, bytes) if offset < 0 => variable.push((offset, bytes.unwrap_or_default())),
            (_, None) => {
                record.null(column.leaf.null_bit);
            }
            (offset, Some(bytes)) if column.ty?.is_bit() => {
                record.fixed_bit(usize::try_from(offset).ok()?, column.leaf.bit, bytes != [0]);
            }
            (offset, Some(bytes)) => {
                record.fixed(usize::try_from(offset).ok()?, &bytes);
            }
        }
    }
    variable.sort_by_key(|(offset, _)| -offset);
    for (_, bytes) in &variable {
        record.var(bytes, false);
    }
    Some(record.to_vec())
}
