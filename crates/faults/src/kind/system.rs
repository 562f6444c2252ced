//! Group 10: the system tables. And rows 82, 83 and 124, where they state something wrong
//! about a user table.

use extentdb_base::{IndexId, ObjectId, PageId};
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::system::object;
use extentdb_catalog::table::Source;
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageMut};
use extentdb_types::SqlType;

use crate::candidates::{CandidatePage, Candidates, Partition, offset_of, reseal};
use crate::edit::Edit;
use crate::fault::{Fault, Owner};
use crate::kind::header::{changed, disorder};
use crate::kind::raw::sysallocunits;
use crate::row::{span, value};

const CLUSTERED: IndexId = IndexId(1);
/// Columns by number: `sysallocunits` (auid, pgroot, pgfirstiam), `sysrowsets` (rowsetid, rcrows).
const AUID: i32 = 1;
const PGROOT: i32 = 7;
const PGFIRSTIAM: i32 = 8;
const ROWSETID: i32 = 1;
const RCROWS: i32 = 8;

/// A column of a system table's rows.
fn column<'t>(
    db: &'t Candidates<'_>,
    partition: &Partition,
    id: i32,
) -> Option<&'t PhysicalColumn> {
    db.catalog.rowsets.get(&partition.rowset)?.layout.column(id)
}

/// An integer of any width.
fn int(found: &CandidatePage, slot: u16, column: &PhysicalColumn) -> Option<i64> {
    let bytes = value(&found.page, slot, column)?;
    let mut wide = if bytes.last()? & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    wide.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(i64::from_le_bytes(wide))
}

/// A row of a system table.
struct SystemRow {
    found: CandidatePage,
    slot: u16,
}

/// The first row of a system table that suits.
fn row(
    db: &Candidates<'_>,
    object: ObjectId,
    suits: impl Fn(&CandidatePage, u16) -> bool,
) -> Option<SystemRow> {
    let partition = db.system_part(object, CLUSTERED)?;
    db.leaf_pages(&partition).into_iter().find_map(|id| {
        let found = db.found(id, &partition)?;
        let slot = (0..found.slots()).find(|slot| suits(&found, *slot))?;
        Some(SystemRow { found, slot })
    })
}

/// A row by an integer column.
fn row_with(db: &Candidates<'_>, object: ObjectId, id: i32, wanted: i64) -> Option<SystemRow> {
    let partition = db.system_part(object, CLUSTERED)?;
    let column = column(db, &partition, id)?;
    row(db, object, |found, slot| int(found, slot, column) == Some(wanted))
}

/// What a fault in a system row is about: a page of a user table.
struct About<'p> {
    page: PageId,
    partition: &'p Partition,
}

/// Writes a column of a system row; the fault is about a user table.
fn set(
    db: &Candidates<'_>,
    row: SystemRow,
    id: i32,
    bytes: &[u8],
    about: About<'_>,
    expected: &[u32],
) -> Option<Fault> {
    let SystemRow { found, slot } = row;
    let range = span(&found.page, slot, column(db, &found.partition, id)?)?;
    let fault = changed(
        db,
        &found,
        |page| {
            page.get_mut(range).filter(|old| old.len() == bytes.len())?.copy_from_slice(bytes);
            Some(())
        },
        expected,
    )?;
    Some(Fault { owner: Owner::of(about.partition), ..fault.about(about.page) })
}

/// Row 82: the root of an index is one of its leaf pages; the page that is the root has nobody
/// above it.
pub(crate) fn root_leaf(db: &Candidates<'_>) -> Option<Fault> {
    let leaf = db.leaf()?;
    let entry = row_with(db, object::SYSALLOCUNITS, AUID, leaf.partition.unit.id.0)?;
    let about = About { page: leaf.partition.unit.root, partition: &leaf.partition };
    let fault = set(db, entry, PGROOT, &leaf.id.to_bytes(), about, &[8979])?;
    Some(fault.permit(&[8977, 8931]))
}

/// Row 83: no row refers to the IAM chain of a table.
pub(crate) fn first_iam_none(db: &Candidates<'_>) -> Option<Fault> {
    let (partition, iam, _) = db.partition_with_extents()?;
    let entry = row_with(db, object::SYSALLOCUNITS, AUID, partition.unit.id.0)?;
    let about = About { page: iam, partition: &partition };
    let fault = set(db, entry, PGFIRSTIAM, &PageId::NONE.to_bytes(), about, &[2576, 8905])?;
    Some(fault.permit(&[2534, 8906, 8964, 8951, 8952, 8980]))
}

/// Row 124: a table of minus one row.
pub(crate) fn row_count(db: &Candidates<'_>) -> Option<Fault> {
    let partition =
        db.pick_partition(|partition| (partition.index.0 <= 1).then(|| partition.clone()))?;
    let entry = row_with(db, object::SYSROWSETS, ROWSETID, partition.rowset.0)?;
    let about = About { page: entry.found.id, partition: &partition };
    set(db, entry, RCROWS, &(-1i64).to_le_bytes(), about, &[2508])
}

/// A page of the leaf level of `sysallocunits`, changed.
fn critical(
    db: &Candidates<'_>,
    id: PageId,
    change: impl FnOnce(&mut PageHeader),
    expected: &[u32],
) -> Option<Fault> {
    let mut page = db.page(id)?;
    change(PageHeader::of_mut(&mut page));
    reseal(db.image, id, &mut page)?;
    // Whatever needs the catalog is left out; the page itself is audited all the same.
    let audit = [2533, 2534, 5233, 8928, 8930, 8938, 8939, 8976, 8978, 8936, 8935];
    Some(Fault::new(id, sysallocunits(), vec![(id, page)], expected).permit(&audit))
}

fn critical_pages(db: &Candidates<'_>) -> Option<(PageId, PageId)> {
    let first = db.catalog.boot.first_sys_indexes;
    let second = PageHeader::of(&*db.page(first)?).next();
    (!second.is_none()).then_some((first, second))
}

/// Row 155: the first leaf page of sysallocunits says that it is an index page.
pub(crate) fn critical_type(db: &Candidates<'_>) -> Option<Fault> {
    critical(db, db.catalog.boot.first_sys_indexes, |header| header.page_type = 2, &[7984])
}

/// Row 156: a leaf page of sysallocunits names another table.
pub(crate) fn critical_owner(db: &Candidates<'_>) -> Option<Fault> {
    let (_, second) = critical_pages(db)?;
    critical(db, second, |header| header.object_id.set(41), &[7986])
}

/// Row 157: a leaf page of sysallocunits has a wrong previous page.
pub(crate) fn critical_previous(db: &Candidates<'_>) -> Option<Fault> {
    let (_, second) = critical_pages(db)?;
    critical(db, second, |header| header.prev_bytes = PageId::BOOT.to_bytes(), &[7987])
}

/// Row 158: the leaf pages of sysallocunits form a cycle.
pub(crate) fn critical_loop(db: &Candidates<'_>) -> Option<Fault> {
    let (first, second) = critical_pages(db)?;
    let fault = critical(db, second, |header| header.next_bytes = first.to_bytes(), &[7988])?;
    Some(fault.about(first).permit(&[7987]))
}

/// Row 159: what describes the columns of all tables is out of order.
pub(crate) fn columns_disorder(db: &Candidates<'_>) -> Option<Fault> {
    let partition = db.system_part(object::SYSRSCOLS, CLUSTERED)?;
    let pages = db.leaf_pages(&partition);
    let id = *pages.get(db.below(pages.len() as u64) as usize)?;
    let found = db.found(id, &partition)?;
    disorder(db, &found).map(|fault| fault.and(&[7995]))
}

/// A row of a system table is removed with its entries.
fn removed(db: &Candidates<'_>, row: SystemRow, about: ObjectId) -> Option<Fault> {
    let SystemRow { found, slot } = row;
    let mut edit = Edit::new(db);
    db.remove_row(&mut edit, &found, slot)?;
    let fault = edit.fault(&found, &[8992])?.at_slot(slot);
    let owner = Owner { object: about, is_system: true, ..Owner::default() };
    // What the table's other checks make of it depends on how much they need the row.
    Some(Fault { owner, ..fault }.permit(&[8901, 8930, 2537, 8951, 8952]))
}

fn user_table(db: &Candidates<'_>) -> Option<Partition> {
    db.pick_partition(|partition| (partition.index.0 <= 1).then(|| partition.clone()))
}

/// Row 160: the columns of a table without the table. Views and functions are preferred: they
/// have no pages that a check would miss.
pub(crate) fn object_removed(db: &Candidates<'_>) -> Option<Fault> {
    let has_columns = |kind: ObjectType| matches!(kind.code(), "V" | "TF" | "IF");
    let view =
        db.catalog.objects.values().find(|object| has_columns(object.kind) && object.id.0 > 0);
    let id = match view {
        Some(view) => view.id,
        None => user_table(db)?.object,
    };
    let found = row_with(db, object::SYSSCHOBJS, 1, i64::from(id.0))?;
    removed(db, found, id)
}

/// Row 162: the pages of an index without the index.
pub(crate) fn index_removed(db: &Candidates<'_>) -> Option<Fault> {
    let partition =
        db.pick_partition(|partition| (partition.index.0 >= 2).then(|| partition.clone()))?;
    let table = db.system_part(object::SYSIDXSTATS, CLUSTERED)?;
    let id = column(db, &table, 1)?;
    let index = column(db, &table, 2)?;
    let found = row(db, object::SYSIDXSTATS, |found, slot| {
        int(found, slot, id) == Some(partition.object.0.into())
            && int(found, slot, index) == Some(partition.index.0.into())
    })?;
    removed(db, found, partition.object)
}

/// Row 161: a column of an object that there is not. It is a copy of the last row of the table, and
/// of the last entry of each index, under the next object id: so it is the last there, too.
pub(crate) fn column_orphan(db: &Candidates<'_>) -> Option<Fault> {
    let partition = db.system_part(object::SYSCOLPARS, CLUSTERED)?;
    let id_column = column(db, &partition, 1)?;
    let last = db.found(*db.leaf_pages(&partition).last()?, &partition)?;
    let highest = int(&last, last.slots().checked_sub(1)?, id_column)?;
    let orphan = (highest + 1..).find(|id| {
        i32::try_from(*id).is_ok_and(|id| !db.catalog.objects.contains_key(&ObjectId(id)))
    })?;
    let orphan = i32::try_from(orphan).ok()?;
    let indexes: Vec<_> = db.full_indexes(&partition).collect();
    let [index] = indexes[..] else { return None };
    let nonclustered = db.system_part(object::SYSCOLPARS, index.id)?;
    let entry = db.found(*db.leaf_pages(&nonclustered).last()?, &nonclustered)?;
    let at = entry.slots().checked_sub(1)?;
    let (base, slot) = db.find_base(&nonclustered, &db.locator(&entry, at)?)?;
    let sources = db.sources(&nonclustered);
    let (entry_id, _) = sources.iter().find(|(_, source)| *source == Source::Column(1))?;
    let mut edit = Edit::new(db);
    append(&mut edit, &last, &renamed(&base, slot, id_column, orphan)?)?;
    append(&mut edit, &entry, &renamed(&entry, at, entry_id, orphan)?)?;
    let fault = edit.fault(&last, &[8992])?.at_slot(last.slots());
    Some(Fault {
        owner: Owner {
            object: ObjectId(orphan),
            is_system: true,
            ..Owner::default()
        },
        ..fault
    })
}

/// A copy of a record with another object id.
fn renamed(found: &CandidatePage, slot: u16, column: &PhysicalColumn, id: i32) -> Option<Vec<u8>> {
    let at = offset_of(&found.page, slot)?;
    let range = span(&found.page, slot, column)?;
    let mut record = found.record(slot)?.bytes().to_vec();
    record
        .get_mut(range.start.checked_sub(at)?..range.end.checked_sub(at)?)?
        .copy_from_slice(&id.to_le_bytes());
    Some(record)
}

fn append(edit: &mut Edit<'_>, found: &CandidatePage, record: &[u8]) -> Option<()> {
    PageMut::new(edit.page(found.id)?).push(record).map(|_| ())
}

/// Row 164: an entry of a unique index of the catalog names another row.
pub(crate) fn entry_byte(db: &Candidates<'_>) -> Option<Fault> {
    let table = db.catalog.tables.get(&object::SYSSCHOBJS)?;
    let (found, slot, range) =
        table.indexes.iter().filter(|index| index.id.0 >= 2 && index.unique).find_map(|index| {
            let partition = db.system_part(table.id, index.id)?;
            let pages = db.leaf_pages(&partition);
            let found = db.found(*pages.get(db.below(pages.len() as u64) as usize)?, &partition)?;
            let slot = db.below(found.slots().into()) as u16;
            let is_locator = |column: &&PhysicalColumn| {
                column.key_ordinal == 0 && column.ty == Some(SqlType::Int)
            };
            let range = span(&found.page, slot, db.columns(&partition).find(is_locator)?)?;
            Some((found, slot, range))
        })?;
    let flip = |page: &mut PageBuf| {
        *page.get_mut(range.start)? ^= 1;
        Some(())
    };
    changed(db, &found, flip, &[8951, 8952]).map(|fault| fault.at_slot(slot))
}
