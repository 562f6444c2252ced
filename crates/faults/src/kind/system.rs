//! Group 10: the tables of the system. And rows 82, 83 and 124, where they say something wrong
//! about a user table.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::{IndexId, ObjectId, PageId};
use extentdb_catalog::layout::PhysicalColumn;
use extentdb_catalog::model::ObjectType;
use extentdb_catalog::system::object;
use extentdb_catalog::table::Source;
use extentdb_format::PageBuf;
use extentdb_format::page::{PageHeader, PageMut};
use extentdb_types::SqlType;

use crate::edit::Edit;
use crate::fault::{Fault, Owner};
use crate::kind::header::{changed, disorder};
use crate::kind::raw::sysallocunits;
use crate::row::{span, value};
use crate::target::{Found, Part, Target, offset_of, reseal};

const SYSRSCOLS: ObjectId = ObjectId(3);
const SYSROWSETS: ObjectId = ObjectId(5);
const SYSALLOCUNITS: ObjectId = ObjectId(7);
const CLUSTERED: IndexId = IndexId(1);
/// Columns by number: `sysallocunits` (auid, pgroot, pgfirstiam), `sysrowsets` (rowsetid, rcrows).
const AUID: i32 = 1;
const PGROOT: i32 = 7;
const PGFIRSTIAM: i32 = 8;
const ROWSETID: i32 = 1;
const RCROWS: i32 = 8;

/// A column of a system table's rows.
fn column<'t>(target: &'t Target<'_>, part: &Part, id: i32) -> Option<&'t PhysicalColumn> {
    target.catalog.rowsets.get(&part.rowset)?.layout.column(id)
}

/// An integer of any width.
fn int(found: &Found, slot: u16, column: &PhysicalColumn) -> Option<i64> {
    let bytes = value(&found.page, slot, column)?;
    let mut wide = if bytes.last()? & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    wide.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(i64::from_le_bytes(wide))
}

/// The first row of a system table that suits.
fn row(
    target: &Target<'_>,
    object: ObjectId,
    suits: impl Fn(&Found, u16) -> bool,
) -> Option<(Found, u16)> {
    let part = target.system_part(object, CLUSTERED)?;
    target.leaf_pages(&part).into_iter().find_map(|id| {
        let found = target.found(id, &part)?;
        let slot = (0..found.slots()).find(|slot| suits(&found, *slot))?;
        Some((found, slot))
    })
}

/// A row by an integer column.
fn row_with(target: &Target<'_>, object: ObjectId, id: i32, wanted: i64) -> Option<(Found, u16)> {
    let part = target.system_part(object, CLUSTERED)?;
    let column = column(target, &part, id)?;
    row(target, object, |found, slot| int(found, slot, column) == Some(wanted))
}

/// Writes a column of a system row; the fault is about a user table.
fn set(
    target: &Target<'_>,
    (found, slot): (Found, u16),
    id: i32,
    bytes: &[u8],
    about: (PageId, &Part),
    expected: &[u32],
) -> Option<Fault> {
    let place = span(&found.page, slot, column(target, &found.part, id)?)?;
    let fault = changed(
        target,
        &found,
        |page| {
            page.get_mut(place).filter(|old| old.len() == bytes.len())?.copy_from_slice(bytes);
            Some(())
        },
        expected,
    )?;
    let (page, part) = about;
    Some(Fault { owner: Owner::of(part), ..fault.about(page) })
}

/// Row 82: the root of an index is one of its leaf pages; the page that is the root has nobody
/// above it.
pub(crate) fn root_leaf(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let leaf = target.leaf(rng)?;
    let entry = row_with(target, SYSALLOCUNITS, AUID, leaf.part.unit.id.0)?;
    let about = (leaf.part.unit.root, &leaf.part);
    let fault = set(target, entry, PGROOT, &leaf.id.to_bytes(), about, &[8979])?;
    Some(fault.permit(&[8977, 8931]))
}

/// Row 83: nobody knows the IAM chain of a table.
pub(crate) fn first_iam_none(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let (part, iam, _) = target.part_with_extents(rng)?;
    let entry = row_with(target, SYSALLOCUNITS, AUID, part.unit.id.0)?;
    let fault =
        set(target, entry, PGFIRSTIAM, &PageId::NONE.to_bytes(), (iam, &part), &[2576, 8905])?;
    Some(fault.permit(&[2534, 8906, 8964, 8951, 8952, 8980]))
}

/// Row 124: a table of minus one row.
pub(crate) fn row_count(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let part = target.pick_part(rng, |part| (part.index.0 <= 1).then(|| part.clone()))?;
    let entry = row_with(target, SYSROWSETS, ROWSETID, part.rowset.0)?;
    let page = entry.0.id;
    set(target, entry, RCROWS, &(-1i64).to_le_bytes(), (page, &part), &[2508])
}

/// A page of the leaf level of `sysallocunits`, changed.
fn critical(
    target: &Target<'_>,
    id: PageId,
    change: impl FnOnce(&mut PageHeader),
    expected: &[u32],
) -> Option<Fault> {
    let mut page = target.page(id)?;
    change(PageHeader::of_mut(&mut page));
    reseal(target.image, id, &mut page)?;
    // Whatever needs the catalog is left out; the page itself is audited all the same.
    let audit = [2533, 2534, 5233, 8928, 8930, 8938, 8939, 8976, 8978, 8936, 8935];
    Some(Fault::new(id, sysallocunits(), vec![(id, page)], expected).permit(&audit))
}

fn critical_pages(target: &Target<'_>) -> Option<(PageId, PageId)> {
    let first = target.catalog.boot.first_sys_indexes;
    let second = PageHeader::of(&*target.page(first)?).next();
    (!second.is_none()).then_some((first, second))
}

/// Row 155.
pub(crate) fn critical_type(target: &Target<'_>, _: &mut SplitMix64) -> Option<Fault> {
    critical(target, target.catalog.boot.first_sys_indexes, |header| header.page_type = 2, &[7984])
}

/// Row 156.
pub(crate) fn critical_owner(target: &Target<'_>, _: &mut SplitMix64) -> Option<Fault> {
    let (_, second) = critical_pages(target)?;
    critical(target, second, |header| header.object_id.set(41), &[7986])
}

/// Row 157.
pub(crate) fn critical_previous(target: &Target<'_>, _: &mut SplitMix64) -> Option<Fault> {
    let (_, second) = critical_pages(target)?;
    critical(target, second, |header| header.prev_bytes = PageId::BOOT.to_bytes(), &[7987])
}

/// Row 158.
pub(crate) fn critical_loop(target: &Target<'_>, _: &mut SplitMix64) -> Option<Fault> {
    let (first, second) = critical_pages(target)?;
    let fault = critical(target, second, |header| header.next_bytes = first.to_bytes(), &[7988])?;
    Some(fault.about(first).permit(&[7987]))
}

/// Row 159: what describes the columns of all tables is out of order.
pub(crate) fn columns_disorder(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let part = target.system_part(SYSRSCOLS, CLUSTERED)?;
    let pages = target.leaf_pages(&part);
    let id = *pages.get(rng.below(pages.len() as u64) as usize)?;
    let found = target.found(id, &part)?;
    disorder(target, &found, rng).map(|fault| fault.and(&[7995]))
}

/// A row of a system table with its entries, taken away.
fn removed(target: &Target<'_>, (found, slot): (Found, u16), about: ObjectId) -> Option<Fault> {
    let mut edit = Edit::new(target);
    target.remove_row(&mut edit, &found, slot)?;
    let fault = edit.fault(&found, &[8992])?.at_slot(slot);
    let owner = Owner { object: about, is_system: true, ..Owner::default() };
    // What the table's other checks make of it depends on how much they need the row.
    Some(Fault { owner, ..fault }.permit(&[8901, 8930, 2537, 8951, 8952]))
}

fn user_table(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Part> {
    target.pick_part(rng, |part| (part.index.0 <= 1).then(|| part.clone()))
}

/// Row 160: the columns of a table without the table. Views and procedures come first: nobody looks
/// for their pages.
pub(crate) fn object_removed(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let has_columns = |kind: ObjectType| matches!(kind.code(), "V" | "TF" | "IF");
    let view =
        target.catalog.objects.values().find(|object| has_columns(object.kind) && object.id.0 > 0);
    let id = match view {
        Some(view) => view.id,
        None => user_table(target, rng)?.object,
    };
    let found = row_with(target, object::SYSSCHOBJS, 1, i64::from(id.0))?;
    removed(target, found, id)
}

/// Row 162: the pages of an index without the index.
pub(crate) fn index_removed(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let part = target.pick_part(rng, |part| (part.index.0 >= 2).then(|| part.clone()))?;
    let table = target.system_part(object::SYSIDXSTATS, CLUSTERED)?;
    let id = column(target, &table, 1)?;
    let index = column(target, &table, 2)?;
    let found = row(target, object::SYSIDXSTATS, |found, slot| {
        int(found, slot, id) == Some(part.object.0.into())
            && int(found, slot, index) == Some(part.index.0.into())
    })?;
    removed(target, found, part.object)
}

/// Row 161: a column of an object that there is not. It is a copy of the last row of the table, and
/// of the last entry of each index, under the next object id: so it is the last there, too.
pub(crate) fn column_orphan(target: &Target<'_>, _: &mut SplitMix64) -> Option<Fault> {
    let part = target.system_part(object::SYSCOLPARS, CLUSTERED)?;
    let id_column = column(target, &part, 1)?;
    let last = target.found(*target.leaf_pages(&part).last()?, &part)?;
    let highest = int(&last, last.slots().checked_sub(1)?, id_column)?;
    let orphan = (highest + 1..).find(|id| {
        i32::try_from(*id).is_ok_and(|id| !target.catalog.objects.contains_key(&ObjectId(id)))
    })?;
    let orphan = i32::try_from(orphan).ok()?;
    let indexes: Vec<_> = target.full_indexes(&part).collect();
    let [index] = indexes[..] else { return None };
    let nonclustered = target.system_part(object::SYSCOLPARS, index.id)?;
    let entry = target.found(*target.leaf_pages(&nonclustered).last()?, &nonclustered)?;
    let at = entry.slots().checked_sub(1)?;
    let (base, slot) = target.find_base(&nonclustered, &target.locator(&entry, at)?)?;
    let sources = target.sources(&nonclustered);
    let (entry_id, _) = sources.iter().find(|(_, source)| *source == Source::Column(1))?;
    let mut edit = Edit::new(target);
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
fn renamed(found: &Found, slot: u16, column: &PhysicalColumn, id: i32) -> Option<Vec<u8>> {
    let at = offset_of(&found.page, slot)?;
    let place = span(&found.page, slot, column)?;
    let mut record = found.record(slot)?.bytes().to_vec();
    record
        .get_mut(place.start.checked_sub(at)?..place.end.checked_sub(at)?)?
        .copy_from_slice(&id.to_le_bytes());
    Some(record)
}

fn append(edit: &mut Edit<'_>, found: &Found, record: &[u8]) -> Option<()> {
    PageMut::new(edit.page(found.id)?).push(record).map(|_| ())
}

/// Row 164: an entry of a unique index of the catalog names another row.
pub(crate) fn entry_byte(target: &Target<'_>, rng: &mut SplitMix64) -> Option<Fault> {
    let table = target.catalog.tables.get(&object::SYSSCHOBJS)?;
    let (found, slot, place) =
        table.indexes.iter().filter(|index| index.id.0 >= 2 && index.unique).find_map(|index| {
            let part = target.system_part(table.id, index.id)?;
            let pages = target.leaf_pages(&part);
            let found = target.found(*pages.get(rng.below(pages.len() as u64) as usize)?, &part)?;
            let slot = rng.below(found.slots().into()) as u16;
            let is_locator = |column: &&PhysicalColumn| {
                column.key_ordinal == 0 && column.ty == Some(SqlType::Int)
            };
            let place = span(&found.page, slot, target.columns(&part).find(is_locator)?)?;
            Some((found, slot, place))
        })?;
    let flip = |page: &mut PageBuf| {
        *page.get_mut(place.start)? ^= 1;
        Some(())
    };
    changed(target, &found, flip, &[8951, 8952]).map(|fault| fault.at_slot(slot))
}
