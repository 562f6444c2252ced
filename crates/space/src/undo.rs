//! Undo by place: what a record did to its page is taken back there.
//!
//! Right for everything but rows of B-trees whose transaction has let go of the page: maps,
//! headers, heaps, and the system transactions that a crash or an error cut off, whose pages nobody
//! else has touched. Pointers in the catalog are looked for by their unit: its row may have
//! moved.

use extentdb_base::size::PAGES_PER_GAM;
use extentdb_base::{Lsn, PageId};
use extentdb_buffer::PageWriteGuard;
use extentdb_format::PageBytes;
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::undo::{Inverse, inverse};
use extentdb_format::log::{BlockFormat, Context, Op, Payload, RecordRef};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_txn::{Link, Transaction};

use crate::change::change;
use crate::error::Error;
use crate::pfs::first_page_of;
use crate::space::Space;
use crate::unit::{Pointers, Unit};

/// What an undo changed that is also kept in memory elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restored {
    /// Nothing of the kind.
    Nothing,
    /// A pointer of this unit in the catalog.
    Pointer(extentdb_base::AllocUnitId),
}

/// Takes back the record at `lsn`, which is the next one to be undone of `tx`.
pub fn undo_record(
    space: &Space,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
) -> Result<Restored, Error> {
    undo_beside(space, tx, record, &mut Vec::new())
}

/// The same for somebody who has pages latched, and keeps them.
fn undo_beside(
    space: &Space,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
    held: &mut Vec<PageWriteGuard>,
) -> Result<Restored, Error> {
    let header = record.header();
    let payload = record.payload();
    let undo_next = header.previous;
    let part = payload.page_part().copied();
    let Some(part) = part else {
        if let Inverse::Change(change) = inverse(header, &payload, PageType::Unformatted)? {
            tx.compensate(undo_next, change.op, change.context, &change.payload)?;
        }
        tx.skip_to(undo_next);
        return Ok(Restored::Nothing);
    };
    let singles = Singles::of(header.context, &payload, part.page);
    space.hold_all(&singles.claimed)?;
    let at = held.iter().position(|page| page.id() == part.page);
    if let (Payload::RootChange(root), None) = (&payload, at) {
        space.undo_pointer(tx, undo_next, root)?;
        tx.skip_to(undo_next);
        return note(space, header.context, &payload, part.page);
    }
    let mut page = match at {
        Some(at) => held.swap_remove(at),
        None => space.pool().write(part.page)?,
    };
    let undone = undo_change(space, tx, record, &mut page, held);
    held.extend(at.map(|_| page));
    undone?;
    tx.skip_to(undo_next);
    singles.note_undone(space)?;
    note(space, header.context, &payload, part.page)
}

/// Pages of mixed extents that a change of PFS is about.
#[derive(Default)]
struct Singles {
    /// Not allocated before it.
    claimed: Vec<PageId>,
    /// Not allocated after it.
    freed: Vec<PageId>,
}

impl Singles {
    fn of(context: Context, payload: &Payload<'_>, map: PageId) -> Singles {
        let mut singles = Singles::default();
        let Payload::ModifyRow(modify) = payload else { return singles };
        if context != Context::PFS {
            return singles;
        }
        let first = first_page_of(map, modify.fixed.offset_in_row);
        let is_single = |state: PfsByte| state.is_allocated() && state.is_mixed();
        for (page, (before, after)) in (first..).zip(modify.before.iter().zip(modify.after)) {
            let page = PageId { file: map.file, page };
            let before = PfsByte(*before);
            let after = PfsByte(*after);
            match (is_single(before), is_single(after)) {
                (false, true) if !before.is_allocated() => singles.claimed.push(page),
                (true, false) if !after.is_allocated() => singles.freed.push(page),
                _ => {}
            }
        }
        singles
    }

    /// The change is undone: what it claimed may be handed out, what it freed is allocated again.
    fn note_undone(&self, space: &Space) -> Result<(), Error> {
        self.claimed.iter().try_for_each(|page| space.release_single(*page))?;
        self.freed.iter().try_for_each(|page| space.take_single(*page))
    }
}

/// Takes a change of a page back.
fn undo_change(
    space: &Space,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
    page: &mut PageWriteGuard,
    held: &[PageWriteGuard],
) -> Result<(), Error> {
    let header = record.header();
    let payload = record.payload();
    let link = Link::Compensation(tx, header.previous);
    match inverse(header, &payload, PageHeader::of(page).kind())? {
        Inverse::Nothing => {}
        Inverse::Change(back) => {
            change(link, page, back.op, back.context, back.payload)?;
        }
        Inverse::RowsFrom { page: from, count, slot } => {
            let rows = match held.iter().find(|page| page.id() == from) {
                Some(source) => rows_of(from, source, count)?,
                None => rows_of(from, &*space.pool().read(from)?, count)?,
            };
            let mut fixed = RowPart::default();
            fixed.page.slot = slot;
            let rows = rows.iter().map(Vec::as_slice).collect();
            let insert = InsertRows { fixed, rows, ..InsertRows::default() };
            change(
                link,
                page,
                Op::INSERT_ROWS,
                Context::NONSYS_SPLIT,
                Payload::InsertRows(insert),
            )?;
        }
    }
    Ok(())
}

/// The rows of a page's first slots.
fn rows_of(from: PageId, page: &PageBytes, count: u16) -> Result<Vec<Vec<u8>>, Error> {
    let view = PageRef::new(page);
    let stopped = |edit: extentdb_format::page::EditError| Error::Apply {
        page: from,
        op: Op::DELETE_SPLIT,
        source: edit.into(),
    };
    (0..count).map(|slot| view.row(slot).map(<[u8]>::to_vec).map_err(stopped)).collect()
}

/// Counts what a record counted the other way round.
fn count_back(unit: &Unit, payload: &Payload<'_>) {
    match payload {
        Payload::HobtDelta(delta) => {
            unit.count_pages(-delta.data_pages, -delta.used_pages, -delta.reserved_pages);
        }
        Payload::FormatPage(format) => {
            let kind = PageType::from_byte(format.page_type);
            let is_leaf = format.level == 0 && matches!(kind, PageType::Data | PageType::Index);
            unit.count_data_pages(-i64::from(is_leaf));
        }
        _ => {}
    }
}

/// Keeps what is in memory in step.
fn note(
    space: &Space,
    context: Context,
    payload: &Payload<'_>,
    page: PageId,
) -> Result<Restored, Error> {
    match payload {
        // What was taken is free again.
        Payload::SetBits(bits) if context == Context::GAM && bits.fixed.value == 0 => {
            let interval = PageId { file: page.file, page: page.page - page.page % PAGES_PER_GAM };
            let first =
                interval.extent().index + u32::from(bits.fixed.first_bit).saturating_sub(32);
            let file = space.file(page.file)?;
            for extent in first..first + u32::from(bits.fixed.bit_count) {
                // A restart may have found it mixed: the record of SGAM behind this one was undone
                // by place.
                file.mixed().forget(extent);
                file.release(extent);
            }
            Ok(Restored::Nothing)
        }
        Payload::RootChange(root) => Ok(Restored::Pointer(root.alloc_unit)),
        _ => Ok(Restored::Nothing),
    }
}

impl Space {
    /// Takes back everything a system transaction did, and ends it.
    pub fn roll_back_system(&self, mut tx: Transaction) -> Result<(), Error> {
        while tx.undo_next() > tx.begin_lsn() {
            self.undo_next(&mut tx)?;
        }
        tx.abort()?;
        Ok(())
    }

    /// The same for one that changed what a unit owns: afterwards its counters and pointers in
    /// memory are what they were, too.
    pub fn roll_back_system_of(
        &self,
        tx: Transaction,
        unit: &Unit,
        pointers: Pointers,
    ) -> Result<(), Error> {
        self.roll_back_system_beside(tx, unit, pointers, &mut Vec::new())
    }

    /// The same for somebody who has pages latched that it changed, and keeps them until all of it
    /// is taken back.
    pub fn roll_back_system_beside(
        &self,
        mut tx: Transaction,
        unit: &Unit,
        pointers: Pointers,
        held: &mut Vec<PageWriteGuard>,
    ) -> Result<(), Error> {
        unit.put_back(pointers);
        while tx.undo_next() > tx.begin_lsn() {
            let bytes = self.record_bytes(tx.undo_next())?;
            if let Some(record) = RecordRef::parse(BlockFormat::V4, &bytes)
                && !record.header().flags.is_compensation()
            {
                count_back(unit, &record.payload());
            }
            self.undo_bytes(&mut tx, &bytes, held)?;
        }
        tx.abort()?;
        Ok(())
    }

    /// Takes back the next record of a transaction.
    pub fn undo_next(&self, tx: &mut Transaction) -> Result<Restored, Error> {
        let bytes = self.record_bytes(tx.undo_next())?;
        self.undo_bytes(tx, &bytes, &mut Vec::new())
    }

    fn undo_bytes(
        &self,
        tx: &mut Transaction,
        bytes: &[u8],
        held: &mut Vec<PageWriteGuard>,
    ) -> Result<Restored, Error> {
        match RecordRef::parse(BlockFormat::V4, bytes) {
            Some(record) if record.header().flags.is_compensation() => {
                tx.skip_to(record.header().previous);
                Ok(Restored::Nothing)
            }
            Some(record) => undo_beside(self, tx, &record, held),
            None => Ok(Restored::Nothing),
        }
    }

    /// A copy of a record: what is done because of it may need the log itself.
    pub fn record_bytes(&self, lsn: Lsn) -> Result<Vec<u8>, Error> {
        Ok(self.transactions().log().with_record(lsn, |record| record.bytes().to_vec())?)
    }
}
