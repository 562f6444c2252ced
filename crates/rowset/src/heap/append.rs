//! Where a session appends: a page of its own, and the pages after it in its extent.
//!
//! ```text
//! extent   | full | full | page | empty | empty | …
//!                          ▲ rows go here until it is physically full
//! ```
//!
//! All pages of the run are allocated in PFS from the moment it is taken, with the class of
//! fullness that the last page ended with: of rows of like length every page ends the same, and
//! nothing is left to correct. The system transaction that allocates them formats them: one of them
//! may have had rows of another table, which must not be found after a crash.

use std::collections::VecDeque;

use extentdb_base::PageId;
use extentdb_base::sync::{MutexGuard, lock};
use extentdb_buffer::PageWriteGuard;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::Context;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_space::PageForm;
use extentdb_txn::Transaction;

use super::{Heap, Placement};
use crate::Error;

/// Where a session appends.
#[derive(Debug, Default)]
pub(super) struct Appender {
    /// The page being filled.
    pub(super) page: Option<PageId>,
    /// Pages allocated and formatted for it, empty.
    pub(super) rest: VecDeque<PageId>,
    /// How full the last page became.
    pub(super) ends: Option<Fullness>,
    /// The fullness in PFS of the pages of the run.
    pub(super) noted: Option<Fullness>,
}

impl Heap {
    /// The append slot of a session.
    pub(super) fn appender(&self, session: usize) -> MutexGuard<'_, Appender> {
        lock(&self.room.appenders[session % self.room.appenders.len()])
    }

    /// The page of this appender is full: its free bytes are filed, and PFS is updated later when
    /// its class differs.
    pub(super) fn retire(&self, appender: &mut Appender, free_bytes: u16) {
        let Some(page) = appender.page.take() else { return };
        let ends = Fullness::of_free_bytes(free_bytes);
        let mut free = self.room.free.lock();
        let room = free_bytes.saturating_sub(free.reserved(page));
        free.file(page, room);
        if appender.noted != Some(ends) {
            free.touch(page);
        }
        appender.ends = Some(ends);
    }

    /// An empty page for the appender.
    pub(super) fn next_page(
        &self,
        tx: &mut Transaction,
        appender: &mut Appender,
    ) -> Result<PageWriteGuard, Error> {
        if appender.rest.is_empty()
            && let Some(page) = self.take_pages(tx, appender)?
        {
            return Ok(page);
        }
        let Some(next) = appender.rest.pop_front() else {
            return Err(extentdb_space::Error::FilegroupFull {
                group: self.unit.group(),
                growth: None,
            }
            .into());
        };
        let page = self.space.pool().write(next)?;
        appender.page = Some(next);
        Ok(page)
    }

    /// Pages for the appender: a run of an extent, or a single page, which is returned.
    fn take_pages(
        &self,
        tx: &mut Transaction,
        appender: &mut Appender,
    ) -> Result<Option<PageWriteGuard>, Error> {
        let _coming = lock(&self.room.coming);
        if self.placement == Placement::ByPfs || self.space.wants_single(&self.unit)? {
            return self.single_page(tx, appender).map(Some);
        }
        let ends = appender.ends.unwrap_or(Fullness::UpTo100);
        let run = self.space.append_formatted_pages(tx, &self.unit, ends, &self.form())?;
        appender.rest.extend(run);
        appender.noted = Some(ends);
        Ok(None)
    }

    /// One page, with the records that a first row in a new heap shows: maps, catalog, format,
    /// first page again.
    fn single_page(
        &self,
        tx: &mut Transaction,
        appender: &mut Appender,
    ) -> Result<PageWriteGuard, Error> {
        let is_first = self.unit.first_iam().is_none();
        let next =
            self.space.in_system_of(tx, &self.unit, "AllocHeapPageSimpleXactDML", |system| {
                let next = self.space.allocate_page(system, &self.unit)?;
                drop(self.space.format_page(system, &self.unit, next, &self.form())?);
                if is_first {
                    self.space.set_first(system, &self.unit, next)?;
                }
                Ok(next)
            });
        if next.is_err() {
            self.unit.forget_chain();
        }
        let next = next?;
        appender.page = Some(next);
        appender.noted = Some(Fullness::Empty);
        Ok(self.space.pool().write(next)?)
    }

    fn form(&self) -> PageForm {
        PageForm {
            kind: PageType::Data,
            level: 0,
            pminlen: self.shape.pminlen,
            context: Context::HEAP,
            prev: PageId::NONE,
            next: PageId::NONE,
            type_flag_bits: 0,
            flag_bits: 0,
        }
    }
}

/// Free bytes of a page by its header.
pub(super) fn free_bytes(page: &PageWriteGuard) -> u16 {
    PageHeader::of(page).free_bytes.get()
}
