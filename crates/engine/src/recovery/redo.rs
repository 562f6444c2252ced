//! Redo: the history of the log is repeated on the pages.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_base::sync::Arc;
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_buffer::{PageWriteGuard, Pool};
use extentdb_format::allocation::file_header::FileHeaderView;
use extentdb_format::log::replay::{Applied, page_of, redo};
use extentdb_format::log::{Op, RecordRef};
use extentdb_format::page::PageHeader;
use extentdb_space::FileDescription;
use extentdb_txn::Transaction;
use extentdb_wal::Log;

use crate::error::{Cause, Error};
use crate::recovery::analysis::{Analysis, Touched};

/// A page that is newer than the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerPage {
    /// Page of a data file with a change that the log lacks.
    pub page: PageId,
    /// The LSN that it had.
    pub lsn: Lsn,
}

/// What a restart had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Log records read by redo, from the first that a page may lack.
    pub records: u64,
    /// Changes applied to pages again.
    pub redone: u64,
    /// Transactions undone, the system's own among them.
    pub undone: u64,
    /// Transactions over several databases whose end is not known: see [`Error::InDoubt`].
    pub in_doubt: u64,
    /// In an emergency: pages that are newer than the end of the log.
    pub(crate) newer_pages: Vec<NewerPage>,
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
    pub(super) analysis: Analysis,
    /// Pages that cannot be read, and the first record that each of them lacks.
    unredone: BTreeMap<PageId, Lsn>,
    /// Pages that did not take a record, and why. One whose first write after its format was torn,
    /// unseen by its checksum, is formatted by a later record.
    stopped: BTreeMap<PageId, Error>,
    /// System transactions whose undo needs a page that cannot be read.
    pub(super) deferred: Vec<(Transaction, Error)>,
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
            analysis: Analysis::default(),
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
        self.analysis.add(lsn, record);
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

    /// The page of a record, announced as changed; none when it has the record already, or cannot
    /// be read. A page that cannot be read may be one whose first write was torn: then a later
    /// record formats it.
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
                // Already on the page: it is neither changed nor written again.
                if page_lsn >= lsn && PageHeader::of(&page).page_id() == id {
                    return Ok(None);
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

    pub(crate) fn last_xact(&self) -> XactId {
        self.analysis.last_xact
    }

    pub(crate) fn touched(&self) -> Touched {
        self.analysis.touched.clone()
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

    pub(crate) fn into_report(self) -> Recovered {
        self.facts
    }
}

impl Recovered {
    /// True when the database had been closed cleanly.
    pub fn was_clean(&self) -> bool {
        self.redone == 0 && self.undone == 0
    }
}
