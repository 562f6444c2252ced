//! Restart recovery.
//!
//! ```text
//! redo   from the minimum LSN of the last checkpoint to the end of the log: every change of a page
//!        that the page does not
//!        have yet; on the way: which transactions are open, which units and extents were touched
//! undo   system transactions first, newest record first, page by page: afterwards every tree is
//!        whole
//!        then the others, newest record first: rows of trees by their key, all else by its place
//! settle units that were touched are counted anew; PFS learns the truth about their pages
//! ```
//!
//! Invariants
//! - Redo is strict: a page that is neither before nor behind a record stops the recovery, with the
//!   place. A page that cannot be read is passed over, and what it lacks is kept in the log
//!   (`suspect`).
//! - Doing all of it again, from any point where the power went, ends in the same state.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, Extent, Lsn, PageId, XactId};
use extentdb_buffer::{PageWriteGuard, Pool};
use extentdb_change::undo_next;
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::allocation::unit_row::unit_of_row;
use extentdb_format::log::map_change::{PfsChange, extent_run, pfs_changes, pfs_run};
use extentdb_format::log::payload::xact::XACT_TYPE_SYSTEM;
use extentdb_format::log::replay::{Applied, page_of, redo};
use extentdb_format::log::{Context, Op, Payload, RecordRef};
use extentdb_format::page::PageHeader;
use extentdb_space::{FileDescription, Freed, Space};
use extentdb_txn::{Manager, Transaction};
use extentdb_wal::Log;

use crate::error::{Cause, Error};

/// A page that is newer than the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerPage {
    /// The page.
    pub page: PageId,
    /// The LSN that it had.
    pub lsn: Lsn,
}

/// What a restart had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Records read.
    pub records: u64,
    /// Changes applied to pages again.
    pub redone: u64,
    /// Transactions undone.
    pub undone: u64,
    /// In an emergency: pages that are newer than the end of the log.
    pub(crate) newer_pages: Vec<NewerPage>,
}

/// An open transaction.
#[derive(Clone, Copy, Debug)]
struct Open {
    begin: Lsn,
    last: Lsn,
    is_system: bool,
}

/// What the log touched since the checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) units: BTreeSet<AllocUnitId>,
    pub(crate) extents: BTreeSet<Extent>,
}

/// Pages that are newer than the end of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum NewerPages {
    /// They say that the log lacks something: recovery is refused.
    #[default]
    Refuse,
    /// The log was cut in an emergency: they stay, and get the LSN of its end.
    Keep,
}

/// A restart under way.
pub(crate) struct Recovery {
    log: Arc<Log>,
    pub(crate) pool: Arc<Pool>,
    /// The last record of the log.
    pub(crate) log_end: Lsn,
    newer_pages: NewerPages,
    open: BTreeMap<XactId, Open>,
    last_xact: XactId,
    touched: Touched,
    /// What open transactions gave back.
    freed: BTreeMap<XactId, Freed>,
    /// Pages that cannot be read, and the first record that each of them lacks.
    unredone: BTreeMap<PageId, Lsn>,
    /// Pages that did not take a record, and why. One whose first write after its format was torn,
    /// unseen by its checksum, is formatted by a later record.
    stopped: BTreeMap<PageId, Error>,
    /// System transactions whose undo needs a page that cannot be read.
    deferred: Vec<(Transaction, Error)>,
    pub(crate) facts: Recovered,
}

impl Recovery {
    pub(crate) fn new(
        log: Arc<Log>,
        pool: Arc<Pool>,
        log_end: Lsn,
        newer_pages: NewerPages,
    ) -> Recovery {
        Recovery {
            log,
            pool,
            log_end,
            newer_pages,
            open: BTreeMap::new(),
            last_xact: XactId::default(),
            touched: Touched::default(),
            freed: BTreeMap::new(),
            unredone: BTreeMap::new(),
            stopped: BTreeMap::new(),
            deferred: Vec::new(),
            facts: Recovered::default(),
        }
    }

    /// Reads the log from `minimum` on, and applies what the pages do not have yet.
    pub(crate) fn redo(&mut self, minimum: Lsn) -> Result<(), Error> {
        let mut failed = None;
        let log = self.log.clone();
        log.scan(minimum, &mut |lsn, record| match self.take(lsn, record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        let stopped = self.stopped.pop_first().map(|(_, error)| error);
        failed.or(stopped).map_or(Ok(()), Err)
    }

    fn take(&mut self, lsn: Lsn, record: &RecordRef<'_>) -> Result<(), Error> {
        self.facts.records += 1;
        self.follow(lsn, record);
        self.note(record);
        self.note_freed(record);
        let Some(part) = page_of(record) else { return Ok(()) };
        let Some(mut page) = self.page_to_redo(lsn, record.header().op, part.page)? else {
            return Ok(());
        };
        match redo(lsn, record, page.bytes_mut()) {
            Ok(Applied::Changed) => self.facts.redone += 1,
            Ok(Applied::Already) => {}
            Err(source) => {
                self.stopped.insert(part.page, Error::Redo { lsn, page: part.page, source });
            }
        }
        Ok(())
    }

    /// The page of a record, announced as changed; none when it cannot be read. Such a page may be
    /// one whose first write was torn: then a later record formats it.
    fn page_to_redo(
        &mut self,
        lsn: Lsn,
        op: Op,
        id: PageId,
    ) -> Result<Option<PageWriteGuard>, Error> {
        if op == Op::FORMAT_PAGE {
            self.unredone.remove(&id);
            self.stopped.remove(&id);
            let mut page = self.pool.create(id)?;
            page.set_formatted(lsn);
            return Ok(Some(page));
        }
        if self.unredone.contains_key(&id) || self.stopped.contains_key(&id) {
            return Ok(None);
        }
        match self.pool.write(id).map_err(Error::from) {
            Ok(mut page) => {
                let page_lsn = PageHeader::of(&page).lsn();
                if page_lsn > self.log_end && self.newer_pages == NewerPages::Refuse {
                    return Err(Error::LogEndsBefore {
                        page: id,
                        lsn: page_lsn,
                        end: self.log_end,
                    });
                }
                page.set_dirty(lsn);
                Ok(Some(page))
            }
            Err(error) if error.cause() == Cause::BadPage => {
                self.unredone.insert(id, lsn);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The first record that a page lacks because it cannot be read: the log is needed from there
    /// on.
    pub(crate) fn needed_from(&self) -> Option<Lsn> {
        self.unredone.values().min().copied()
    }

    /// System transactions that could not be undone, and why.
    pub(crate) fn take_deferred(&mut self) -> Vec<(Transaction, Error)> {
        std::mem::take(&mut self.deferred)
    }

    /// Keeps the table of open transactions.
    fn follow(&mut self, lsn: Lsn, record: &RecordRef<'_>) {
        let header = record.header();
        if header.xact == XactId::default() {
            return;
        }
        self.last_xact = self.last_xact.max(header.xact);
        match (header.op, record.payload()) {
            (Op::BEGIN_XACT, Payload::BeginXact(begin)) => {
                let is_system = begin.fixed.kind == XACT_TYPE_SYSTEM;
                self.open.insert(header.xact, Open { begin: lsn, last: lsn, is_system });
            }
            (Op::COMMIT_XACT | Op::ABORT_XACT, _) => {
                self.open.remove(&header.xact);
                self.freed.remove(&header.xact);
            }
            _ => {
                if let Some(open) = self.open.get_mut(&header.xact) {
                    open.last = lsn;
                }
            }
        }
    }

    /// Notes which units and extents a record is about.
    fn note(&mut self, record: &RecordRef<'_>) {
        match record.payload() {
            Payload::HobtDelta(delta) => {
                self.touched.units.insert(delta.alloc_unit);
            }
            Payload::ModifyRow(modify) if record.header().context == Context::PFS => {
                let file = modify.fixed.page.page.file;
                let pages = pfs_run(&modify).map(|page| PageId { file, page });
                self.touched.extents.extend(pages.map(PageId::extent));
            }
            payload => {
                let Some(part) = payload.page_part() else { return };
                let unit = part.alloc_unit();
                if unit != AllocUnitId::SYSTEM_PAGES {
                    self.touched.units.insert(unit);
                    self.touched.extents.insert(part.page.extent());
                }
                if unit == AllocUnitId::SYSALLOCUNITS {
                    self.note_unit(&payload);
                }
            }
        }
    }

    /// Units come and go with their rows in `sysallocunits`: the rowset's counter may be that of
    /// another one.
    fn note_unit(&mut self, payload: &Payload<'_>) {
        let row = match payload {
            Payload::InsertRows(insert) => insert.rows.first(),
            Payload::DeleteRows(delete) => delete.rows.first(),
            _ => None,
        };
        self.touched.units.extend(row.and_then(|row| unit_of_row(row)));
    }

    /// Notes what a transaction gave back: as long as that may be undone, it is not free.
    fn note_freed(&mut self, record: &RecordRef<'_>) {
        let xact = record.header().xact;
        let context = record.header().context;
        // What a compensation gives back is never taken again.
        if xact == XactId::default() || record.header().flags.is_compensation() {
            return;
        }
        let payload = record.payload();
        if let Payload::SetBits(bits) = &payload
            && context == Context::GAM
            && bits.fixed.value != 0
        {
            let freed = self.freed.entry(xact).or_default();
            extent_run(&bits.fixed).for_each(|extent| freed.push_extent(extent));
        }
        for change in pfs_changes(context, &payload).filter(PfsChange::frees_mixed) {
            self.freed.entry(xact).or_default().push_single(change.page);
        }
    }

    /// What open transactions gave back is taken again before anybody can have it.
    pub(crate) fn take_back_freed(&mut self, space: &Space) -> Result<(), Error> {
        for freed in std::mem::take(&mut self.freed).values() {
            space.retake(freed)?;
        }
        Ok(())
    }

    pub(crate) fn last_xact(&self) -> XactId {
        self.last_xact
    }

    pub(crate) fn touched(&self) -> Touched {
        self.touched.clone()
    }

    /// The files with the sizes that their headers have now.
    pub(crate) fn sizes(&self, files: Vec<FileDescription>) -> Result<Vec<FileDescription>, Error> {
        let size = |file: FileDescription| {
            let page = self.pool.read(PageId { file: file.id, page: 0 })?;
            let pages = FileHeaderView::new(&page).header().size.unwrap_or(file.pages);
            Ok(FileDescription { pages, ..file })
        };
        files.into_iter().map(size).collect()
    }

    /// Takes back system transactions that were cut off, newest record first.
    pub(crate) fn undo_system(&mut self, space: &Space) -> Result<(), Error> {
        let system: Vec<(XactId, Open)> = self
            .open
            .iter()
            .filter(|(_, open)| open.is_system)
            .map(|(id, open)| (*id, *open))
            .collect();
        self.open.retain(|_, open| !open.is_system);
        let mut open: Vec<Transaction> = system
            .iter()
            .map(|(id, open)| space.transactions().resume(*id, open.begin, open.last))
            .collect();
        self.facts.undone += open.len() as u64;
        while let Some(at) = newest(&open) {
            if open[at].undo_next() <= open[at].begin_lsn() {
                open.swap_remove(at).abort()?;
                continue;
            }
            match undo_next(space, &mut open[at]).map_err(Error::from) {
                Err(error) if error.cause() == Cause::BadPage => {
                    self.deferred.push((open.swap_remove(at), error));
                }
                undone => undone?,
            }
        }
        Ok(())
    }

    /// The other open transactions, ready to be undone.
    pub(crate) fn losers(&mut self, transactions: &Arc<Manager>) -> Vec<Transaction> {
        let open = std::mem::take(&mut self.open);
        self.facts.undone += open.len() as u64;
        open.into_iter().map(|(id, open)| transactions.resume(id, open.begin, open.last)).collect()
    }

    pub(crate) fn into_facts(self) -> Recovered {
        self.facts
    }
}

/// The transaction whose next record to undo is the newest.
pub(crate) fn newest(open: &[Transaction]) -> Option<usize> {
    (0..open.len()).max_by_key(|at| open[*at].undo_next())
}

impl Recovered {
    /// True when the database had been closed cleanly.
    pub fn was_clean(&self) -> bool {
        self.redone == 0 && self.undone == 0
    }
}
