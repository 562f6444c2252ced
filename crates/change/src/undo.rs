//! Page-oriented undo: a record is undone on the page that it names, by a compensation record.
//!
//! Known algorithm: the undo pass of ARIES with compensation log records. Where we differ: rows of
//! B-trees are undone by their key, two floors above, because splits move them and stay.

use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, PageId};
use extentdb_buffer::{PageWriteGuard, Pool};
use extentdb_format::PageBytes;
use extentdb_format::allocation::unit_row::slot_of_unit;
use extentdb_format::log::payload::page::RootChange;
use extentdb_format::log::payload::row::{InsertRows, RowPart};
use extentdb_format::log::undo::{Inverse, inverse};
use extentdb_format::log::{BlockFormat, Context, Op, Payload, RecordRef};
use extentdb_format::page::{PageHeader, PageRef, PageType};
use extentdb_txn::{Manager, RecordOwner, Transaction};

use crate::error::Error;
use crate::page_change::change;

/// Where changes are undone: pages, transactions, and what the floor above keeps in memory of the
/// pages.
pub trait UndoContext {
    /// An error of this floor, or of the one above.
    type Error: From<Error>;

    /// The buffer pool.
    fn pool(&self) -> &Pool;

    /// The transactions that changes belong to.
    fn transactions(&self) -> &Arc<Manager>;

    /// A change is about to be undone. Its page is not latched, unless by the caller of the undo.
    fn before_undo(&self, change: &UndoneChange<'_>) -> Result<(), Self::Error>;

    /// A change has been undone, and its page is not latched any more, unless by the caller.
    fn after_undo(&self, change: &UndoneChange<'_>) -> Result<(), Self::Error>;
}

/// A change of a page that is undone.
#[derive(Debug)]
pub struct UndoneChange<'r> {
    /// Page that the undone record changed.
    pub page: PageId,
    /// Context of the record.
    pub context: Context,
    /// What the record said.
    pub payload: &'r Payload<'r>,
}

/// A copy of a log record: what is done because of it may need the log itself.
pub fn record_bytes(transactions: &Manager, lsn: Lsn) -> Result<Vec<u8>, Error> {
    Ok(transactions.log().with_record(lsn, |record| record.bytes().to_vec())?)
}

/// Undoes the next record of a transaction.
pub fn undo_next<C: UndoContext>(context: &C, tx: &mut Transaction) -> Result<(), C::Error> {
    undo_with(context, tx, &mut Vec::new(), &mut |_| ())
}

/// Undoes the record, which must be the next one of `tx` to be undone.
pub fn undo_record<C: UndoContext>(
    context: &C,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
) -> Result<(), C::Error> {
    undo_latched(context, tx, record, &mut Vec::new())
}

/// Undoes the next record of a transaction, unless it is a compensation itself, for a caller that
/// has pages latched and keeps them.
pub(crate) fn undo_with<C: UndoContext>(
    context: &C,
    tx: &mut Transaction,
    latched: &mut Vec<PageWriteGuard>,
    before: &mut impl FnMut(&RecordRef<'_>),
) -> Result<(), C::Error> {
    let bytes = record_bytes(context.transactions(), tx.undo_next())?;
    let Some(record) = RecordRef::parse(BlockFormat::V4, &bytes) else { return Ok(()) };
    if record.header().flags.is_compensation() {
        tx.skip_to(record.header().previous);
        return Ok(());
    }
    before(&record);
    undo_latched(context, tx, &record, latched)
}

fn undo_latched<C: UndoContext>(
    context: &C,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
    latched: &mut Vec<PageWriteGuard>,
) -> Result<(), C::Error> {
    let header = record.header();
    let payload = record.payload();
    let Some(page) = payload.page_part().map(|part| part.page) else {
        undo_without_page(tx, record)?;
        tx.skip_to(header.previous);
        return Ok(());
    };
    let undone = UndoneChange { page, context: header.context, payload: &payload };
    context.before_undo(&undone)?;
    let own = latched.iter().position(|latched| latched.id() == page);
    match (&payload, own) {
        (Payload::RootChange(root), None) => {
            undo_pointer(context.pool(), tx, header.previous, root)?;
        }
        (_, Some(own)) => {
            let mut guard = latched.swap_remove(own);
            let done = undo_on_page(context.pool(), tx, record, &mut guard, latched);
            latched.push(guard);
            done?;
        }
        (_, None) => {
            let mut guard = context.pool().write(page).map_err(Error::from)?;
            undo_on_page(context.pool(), tx, record, &mut guard, latched)?;
        }
    }
    tx.skip_to(header.previous);
    context.after_undo(&undone)
}

fn undo_without_page(tx: &mut Transaction, record: &RecordRef<'_>) -> Result<(), Error> {
    let header = record.header();
    if let Inverse::Change(back) = inverse(header, &record.payload(), PageType::Unformatted)? {
        tx.compensate(header.previous, back.op, back.context, &back.payload)?;
    }
    Ok(())
}

fn undo_on_page(
    pool: &Pool,
    tx: &mut Transaction,
    record: &RecordRef<'_>,
    page: &mut PageWriteGuard,
    latched: &[PageWriteGuard],
) -> Result<(), Error> {
    let header = record.header();
    let payload = record.payload();
    let link = RecordOwner::Compensation(tx, header.previous);
    match inverse(header, &payload, PageHeader::of(page).kind())? {
        Inverse::Nothing => {}
        Inverse::Change(back) => {
            change(link, page, back.op, back.context, back.payload)?;
        }
        Inverse::RowsFrom { page: from, count, slot } => {
            let rows = match latched.iter().find(|page| page.id() == from) {
                Some(source) => first_rows(from, source, count)?,
                None => first_rows(from, &*pool.read(from)?, count)?,
            };
            let mut fixed = RowPart::default();
            fixed.page.slot = slot;
            let rows = rows.iter().map(Vec::as_slice).collect();
            let insert = InsertRows { fixed, rows, ..InsertRows::default() };
            let payload = Payload::InsertRows(insert);
            change(link, page, Op::INSERT_ROWS, Context::NONSYS_SPLIT, payload)?;
        }
    }
    Ok(())
}

/// The rows of a page's first slots.
fn first_rows(from: PageId, page: &PageBytes, count: u16) -> Result<Vec<Vec<u8>>, Error> {
    let view = PageRef::new(page);
    let stopped = |edit: extentdb_format::page::EditError| Error::Apply {
        page: from,
        op: Op::DELETE_SPLIT,
        source: edit.into(),
    };
    (0..count).map(|slot| view.row(slot).map(<[u8]>::to_vec).map_err(stopped)).collect()
}

/// Undoes a change of a pointer of an allocation unit. Since its page was unlatched, other
/// transactions may have inserted rows before the unit's row or split the page; splits move rows to
/// the right only.
fn undo_pointer(
    pool: &Pool,
    tx: &mut Transaction,
    undo_next: Lsn,
    root: &RootChange,
) -> Result<(), Error> {
    let mut id = root.page.page;
    while !id.is_none() {
        let mut page = pool.write(id)?;
        if let Some(slot) = slot_of_unit(&page, root.alloc_unit, root.page.slot) {
            return restore_pointer(tx, undo_next, root, &mut page, slot);
        }
        id = PageHeader::of(&page).next();
    }
    Err(Error::NoUnitRow { unit: root.alloc_unit })
}

/// Undoes a change of a pointer in the row of its allocation unit, which is in this slot.
pub fn restore_pointer(
    tx: &mut Transaction,
    undo_next: Lsn,
    root: &RootChange,
    page: &mut PageWriteGuard,
    slot: u16,
) -> Result<(), Error> {
    let mut back = root.clone();
    (back.new_page, back.old_page) = (root.old_page, root.new_page);
    (back.page.page, back.page.slot) = (page.id(), slot);
    let link = RecordOwner::Compensation(tx, undo_next);
    change(link, page, Op::ROOT_CHANGE, Context::CLUSTERED, Payload::RootChange(back))?;
    Ok(())
}
