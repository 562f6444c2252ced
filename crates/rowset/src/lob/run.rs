//! Where new pages come from: runs of an extent, each used by one writer at a time.
//!
//! ```text
//! run    pages of one extent that are allocated and formatted, and called full by PFS
//! writer leases the first run that nobody has, and keeps it until the value is written: values
//!        that are written at the same time lie in extents of their own
//! ```
//!
//! The pages are formatted by the system transaction that allocates them: one of them may have had
//! records of the unit before, which a restart must not find again. A checkpoint frees the runs.

use std::collections::VecDeque;

use extentdb_base::PageId;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Mutex, MutexGuard, lock};
use extentdb_buffer::PageWriteGuard;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::log::Context;
use extentdb_format::page::PageType;
use extentdb_space::PageForm;
use extentdb_txn::Transaction;

use super::LobUnit;
use crate::Error;

/// Writers with a run of their own.
const RUNS: usize = 32;

/// The runs of a unit.
#[derive(Debug)]
pub(super) struct PageRuns {
    runs: Vec<PageRun>,
    /// Held while pages are allocated: a unit gets its first page once.
    growing: Mutex<()>,
}

#[derive(Debug, Default)]
struct PageRun {
    is_leased: AtomicBool,
    pages: Mutex<VecDeque<PageId>>,
}

/// A writer's run.
#[derive(Debug)]
pub(super) struct Lease<'u> {
    run: &'u PageRun,
    /// False for one that shares the run of another.
    is_own: bool,
}

impl Default for PageRuns {
    fn default() -> Self {
        PageRuns {
            runs: (0..RUNS).map(|_| PageRun::default()).collect(),
            growing: Mutex::default(),
        }
    }
}

impl PageRuns {
    /// The first run that nobody has.
    pub(super) fn lease(&self) -> Lease<'_> {
        let is_free = |run: &&PageRun| !run.is_leased.swap(true, Ordering::AcqRel);
        match self.runs.iter().find(is_free) {
            Some(run) => Lease { run, is_own: true },
            None => Lease { run: &self.runs[0], is_own: false },
        }
    }

    /// The pages of every run, removed from it by `free`.
    pub(super) fn drain(
        &self,
        mut free: impl FnMut(&[PageId]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for run in &self.runs {
            let mut pages = lock(&run.pages);
            if !pages.is_empty() {
                free(pages.make_contiguous())?;
                pages.clear();
            }
        }
        Ok(())
    }

    /// Runs with pages.
    pub(super) fn count(&self) -> usize {
        self.runs.iter().filter(|run| !lock(&run.pages).is_empty()).count()
    }

    pub(super) fn forget(&self) {
        self.runs.iter().for_each(|run| lock(&run.pages).clear());
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.is_own {
            self.run.is_leased.store(false, Ordering::Release);
        }
    }
}

/// An empty page, out of its run. While this is held, no checkpoint passes the run: a page that
/// has left it has a log record after the checkpoint, or a record on it before.
pub(super) struct NewPage<'l> {
    pub(super) page: PageWriteGuard,
    _run: MutexGuard<'l, VecDeque<PageId>>,
}

impl LobUnit {
    /// An empty page of this type, formatted, which PFS calls full.
    pub(super) fn next_page<'l>(
        &self,
        tx: &mut Transaction,
        lease: &'l Lease<'_>,
        kind: PageType,
    ) -> Result<NewPage<'l>, Error> {
        let mut run = lock(&lease.run.pages);
        if run.is_empty() {
            let _growing = lock(&self.runs.growing);
            if self.space.wants_single(&self.unit)? {
                let page = self.single_page(tx, kind)?;
                return Ok(NewPage { page, _run: run });
            }
            let form = form(PageType::TextMix);
            let full = Fullness::UpTo100;
            run.extend(self.space.append_formatted_pages(tx, &self.unit, full, &form)?);
            self.set_missing_root(tx)?;
        }
        let Some(next) = run.front().copied() else {
            return Err(extentdb_space::Error::FilegroupFull {
                group: self.unit.group(),
                growth: None,
            }
            .into());
        };
        let page = match kind {
            // The transaction has not allocated it: it must not be blank when the log is full.
            PageType::TextTree => self.space.reformat_page(tx, &self.unit, next, &form(kind))?,
            _ => self.space.pool().write(next)?,
        };
        run.pop_front();
        // When nothing comes to lie on it, PFS must not call it full for good.
        self.free.lock().touch(next);
        Ok(NewPage { page, _run: run })
    }

    /// A page of a mixed extent, or of the unit's first extent.
    fn single_page(&self, tx: &mut Transaction, kind: PageType) -> Result<PageWriteGuard, Error> {
        let next = self.space.in_system_of(tx, &self.unit, "SpaceAlloc", |system| {
            let next = self.space.allocate_page(system, &self.unit)?;
            drop(self.space.format_page(system, &self.unit, next, &form(kind))?);
            Ok(next)
        });
        if next.is_err() {
            self.unit.forget_chain();
        }
        let next = next?;
        self.space.set_free_space(next, |old| old.with_fullness(Fullness::UpTo100))?;
        self.free.lock().touch(next);
        self.set_missing_root(tx)?;
        Ok(self.space.pool().write(next)?)
    }

    /// The root of a text unit is its first page, as real files have it.
    fn set_missing_root(&self, tx: &mut Transaction) -> Result<(), Error> {
        let first = self.unit.first();
        if self.unit.root().is_none() && !first.is_none() {
            self.space.in_system_of(tx, &self.unit, "FirstPage Alloc", |system| {
                self.space.set_root(system, &self.unit, first)
            })?;
        }
        Ok(())
    }
}

/// The context of log records about pages of this type.
pub(super) fn context_of(kind: PageType) -> Context {
    if kind == PageType::TextTree { Context::TEXT_TREE } else { Context::TEXT_MIX }
}

fn form(kind: PageType) -> PageForm {
    PageForm {
        kind,
        level: 0,
        pminlen: 0,
        context: context_of(kind),
        prev: PageId::NONE,
        next: PageId::NONE,
        type_flag_bits: 0,
        flag_bits: 0,
    }
}
