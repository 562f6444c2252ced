//! Taking back what open transactions did, in memory, newest record first.
//!
//! ```text
//! record ── inverse ──▶ change of its page     the row lies where the record found it
//!                └────▶ the same on a page      a split has moved the row to a page further right,
//!                       beside it               or a redistribution to one further left
//! ```
//!
//! Nothing is logged and no page gets another LSN: this is a picture of what a restart would leave.
//! Counters are not undone: a restart counts in memory. When one record of a transaction cannot be
//! undone, the transaction stays as it is from there on, with the reason.
//!
//! Invariants
//! - A row is undone only where it is found, byte for byte; nothing is guessed.
//! - Work is bounded by the records of open transactions, and by [`CHAIN_MAX`] pages for each.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::{AllocUnitId, Lsn, PageId, XactId};
use extentdb_format::allocation::bitmap::{AllocationBitmapMut, MapKind};
use extentdb_format::allocation::iam::IamView;
use extentdb_format::allocation::pfs::{PfsMut, PfsView};
use extentdb_format::allocation::unit_row::{UnitPointer, unit_of_row};
use extentdb_format::log::apply::apply;
use extentdb_format::log::map_change::{PfsChange, pfs_changes};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::record::{RecordFlags, RecordHeader};
use extentdb_format::log::undo::{Change, Inverse, inverse};
use extentdb_format::log::{BlockFormat, Context, Op, RecordRef};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_format::record::status::KIND_BITS;

use super::redo::Redo;

/// Pages searched on either side of the one where a row was.
const CHAIN_MAX: usize = 256;

/// Records of open transactions.
#[derive(Default)]
pub(super) struct OpenRecords {
    records: BTreeMap<Lsn, (BlockFormat, Vec<u8>)>,
    last: BTreeMap<XactId, Lsn>,
    bytes: u64,
}

impl OpenRecords {
    /// Keeps a record; false when the kept records would exceed their memory.
    pub(super) fn add(&mut self, lsn: Lsn, record: &RecordRef<'_>, bytes_max: u64) -> bool {
        self.bytes += record.bytes().len() as u64;
        if self.bytes > bytes_max {
            return false;
        }
        self.last.insert(record.header().xact, lsn);
        self.records.insert(lsn, (record.format(), record.bytes().to_vec()));
        true
    }

    /// Undoes all transactions except those in `stay`. Returns the transactions that remain,
    /// and why.
    pub(super) fn undo(
        &self,
        redo: &mut Redo<'_>,
        stay: &BTreeSet<XactId>,
    ) -> BTreeMap<XactId, String> {
        let goes = self.last.iter().filter(|(xact, _)| !stay.contains(xact));
        let mut next: BTreeSet<(Lsn, XactId)> = goes.map(|(xact, lsn)| (*lsn, *xact)).collect();
        let mut left = BTreeMap::new();
        while let Some((lsn, xact)) = next.pop_last() {
            match self.undo_one(lsn, redo) {
                Ok(Some(before)) if before < lsn => {
                    next.insert((before, xact));
                }
                Ok(Some(_)) => {
                    left.insert(xact, format!("log record {lsn} does not lead back"));
                }
                Ok(None) => {}
                Err(why) => {
                    left.insert(xact, format!("log record {lsn}: {why}"));
                }
            }
        }
        left
    }

    /// Takes a record back; the one before it in its transaction, `None` at its beginning.
    fn undo_one(&self, lsn: Lsn, redo: &mut Redo<'_>) -> Result<Option<Lsn>, String> {
        let (format, bytes) = self.records.get(&lsn).ok_or("it is not in the log")?;
        let record = RecordRef::parse(*format, bytes).ok_or("it cannot be read")?;
        let header = *record.header();
        match header.op {
            Op::BEGIN_XACT => return Ok(None),
            // Changes that other transactions depend on, and records without undo.
            Op::MARK_SAVEPOINT
            | Op::PREP_XACT
            | Op::LOCK_XACT
            | Op::HOBT_DDL
            | Op::IDENT_NEWVAL
            | Op::IDENT_SENTVAL => {}
            _ if header.flags.is_compensation() => {}
            _ => undo_change(&header, &record.payload(), redo)?,
        }
        Ok(Some(header.previous))
    }
}

/// Takes one change back.
fn undo_change(
    header: &RecordHeader,
    payload: &Payload<'_>,
    redo: &mut Redo<'_>,
) -> Result<(), String> {
    let Some(part) = payload.page_part().copied() else {
        return inverse(header, payload, PageType::Unformatted)
            .map(|_| ())
            .map_err(|error| error.to_string());
    };
    let kind = PageHeader::of(redo.page(part.page)?).kind();
    match inverse(header, payload, kind).map_err(|error| error.to_string())? {
        Inverse::Nothing => Ok(()),
        Inverse::Change(change) => {
            let (page, slot) = location_of(header, payload, redo)?;
            if change.op == Op::DELETE_ROWS && part.alloc_unit() == AllocUnitId::SYSALLOCUNITS {
                free_unit(redo, page, slot)?;
            }
            put(redo, page, slot, &change)?;
            set_hints(header, payload, redo)
        }
        Inverse::RowsFrom { page, count, slot } => {
            let rows = rows_of(redo, page, count)?;
            let mut fixed = RowPart::default();
            fixed.page.slot = slot;
            let rows = rows.iter().map(Vec::as_slice).collect();
            let payload = Payload::InsertRows(InsertRows { fixed, rows, ..InsertRows::default() });
            let change = Change { op: Op::INSERT_ROWS, context: Context::NONSYS_SPLIT, payload };
            put(redo, part.page, slot, &change)
        }
    }
}

/// Single pages that a transaction had allocated are free again: SGAM marks their extent. A surplus
/// bit does not disturb.
fn set_hints(
    header: &RecordHeader,
    payload: &Payload<'_>,
    redo: &mut Redo<'_>,
) -> Result<(), String> {
    let mut claimed = pfs_changes(header.context, payload).filter(PfsChange::allocates_mixed);
    claimed.try_for_each(|change| set_hint(redo, change.page))
}

fn set_hint(redo: &mut Redo<'_>, page: PageId) -> Result<(), String> {
    let interval = page.gam_interval();
    let bit = page.extent().index - interval.extent().index;
    AllocationBitmapMut::of(redo.page(MapKind::Sgam.page_of(interval))?).set(bit, true);
    Ok(())
}

/// Makes a change of a page that keeps its LSN.
fn put(redo: &mut Redo<'_>, id: PageId, slot: u16, change: &Change<'_>) -> Result<(), String> {
    let page = redo.page(id)?;
    let lsn = PageHeader::of(page).lsn();
    let mut payload = change.payload.clone();
    if let Some(part) = payload.page_part_mut() {
        part.slot = slot;
    }
    let header = RecordHeader {
        op: change.op,
        context: change.context,
        flags: RecordFlags::COMPENSATION,
        ..RecordHeader::default()
    };
    let mut image = page.clone();
    apply(lsn, &header, &payload, &mut image).map_err(|stop| stop.to_string())?;
    *page = image;
    Ok(())
}

/// Where the row of a record lies now: on its page, on one that splits have put to the right of
/// it, or on one to the left, where a sibling of the page has taken rows.
fn location_of(
    header: &RecordHeader,
    payload: &Payload<'_>,
    redo: &mut Redo<'_>,
) -> Result<(PageId, u16), String> {
    let Some(part) = payload.page_part().copied() else {
        return Err("it is about no page".to_owned());
    };
    let here = (part.page, part.slot);
    let (row, is_ghost) = match payload {
        Payload::InsertRows(insert) => (insert.rows.first().copied(), false),
        Payload::DeleteRows(delete) if header.context == Context::MARK_AS_GHOST => {
            (delete.rows.first().copied(), true)
        }
        // Rows of heaps stay where they are, and so do maps and headers; other records contain the
        // expected bytes.
        _ => (None, false),
    };
    let Some(row) = row else { return Ok(here) };
    if header.context == Context::HEAP {
        return Ok(here);
    }
    let is_same: fn(&[u8], &[u8], bool) -> bool = match part.alloc_unit() {
        AllocUnitId::SYSALLOCUNITS | AllocUnitId::SYSROWSETS => has_same_id,
        _ => is_same,
    };
    let links: [fn(&PageHeader) -> PageId; 2] = [PageHeader::next, PageHeader::prev];
    for link in links {
        let mut id = part.page;
        for _ in 0..CHAIN_MAX {
            let page = redo.page(id)?;
            let view = PageRef::new(page);
            let found = (0..view.slot_count())
                .find(|slot| view.row(*slot).is_ok_and(|found| is_same(found, row, is_ghost)));
            if let Some(slot) = found {
                return Ok((id, slot));
            }
            id = link(view.header());
            if id.is_none() {
                break;
            }
        }
    }
    Err("its row is not where it was, nor on a page beside it".to_owned())
}

/// The row itself, or its ghost.
fn is_same(found: &[u8], row: &[u8], is_ghost: bool) -> bool {
    let same_kind = |a: &u8, b: &u8| is_ghost || a & KIND_BITS == b & KIND_BITS;
    match (found.split_first(), row.split_first()) {
        (Some((a, found)), Some((b, row))) => found == row && same_kind(a, b),
        _ => false,
    }
}

/// Rows of `sysallocunits` and `sysrowsets` change by records of others: pointers by system
/// transactions, counters by none. Their id is first, and is unique.
fn has_same_id(found: &[u8], row: &[u8], _is_ghost: bool) -> bool {
    unit_of_row(found).is_some() && unit_of_row(found) == unit_of_row(row)
}

/// The allocation unit whose row is about to be deleted owns pages, allocated by committed system
/// transactions: they are freed with it.
fn free_unit(redo: &mut Redo<'_>, page: PageId, slot: u16) -> Result<(), String> {
    let view = PageRef::new(redo.page(page)?);
    let row = view.row(slot).map_err(|error| error.to_string())?;
    let mut next = UnitPointer::FirstIam.read(row).unwrap_or(PageId::NONE);
    for _ in 0..CHAIN_MAX {
        if next.is_none() {
            return Ok(());
        }
        let iam = redo.page(next)?.clone();
        let view = IamView::new(&iam);
        for extent in view.extents() {
            let interval = extent.first_page().gam_interval();
            let bit = extent.index - interval.extent().index;
            let map = redo.page(MapKind::Gam.page_of(interval))?;
            AllocationBitmapMut::of(map).set(bit, true);
            for page in extent.pages() {
                free_page(redo, page)?;
            }
        }
        for single in view.single_pages().chain([next]) {
            set_hint(redo, single)?;
            free_page(redo, single)?;
        }
        next = view.header().next();
    }
    Err("its IAM chain does not end".to_owned())
}

/// The page is no longer allocated.
fn free_page(redo: &mut Redo<'_>, page: PageId) -> Result<(), String> {
    let map = redo.page(page.pfs_page())?;
    let state = PfsView::new(map).entry(page.page);
    PfsMut::of(map).set(page.page, state.with_allocated(false));
    Ok(())
}

fn rows_of(redo: &mut Redo<'_>, id: PageId, count: u16) -> Result<Vec<Vec<u8>>, String> {
    let view = PageRef::new(redo.page(id)?);
    let row = |slot| view.row(slot).map(<[u8]>::to_vec).map_err(|error| error.to_string());
    (0..count).map(row).collect()
}
