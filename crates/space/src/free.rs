//! Freeing a whole unit: DROP and TRUNCATE (deferred deallocation). Single pages of a unit that
//! stays: `free_pages`.
//!
//! The maps change in the user's transaction, and a rollback changes them back. In memory the
//! extents and pages stay allocated until the transaction has committed, so that a rollback finds
//! them unused.

use std::collections::HashSet;

use extentdb_base::size::{EXTENTS_PER_GAM, PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, PageId};
use extentdb_format::allocation::bitmap::MapKind;
use extentdb_format::allocation::iam::IamView;
use extentdb_format::log::Context;
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::free_pages::FreedPages;
use crate::space::Space;
use crate::unit::Unit;

/// Extents and pages that a transaction has freed; free in memory as soon as it has committed.
#[derive(Clone, Debug, Default)]
#[must_use = "what is not released after the commit stays taken until the database is opened again"]
pub struct Freed {
    pub(crate) extents: Vec<Extent>,
    pub(crate) singles: Vec<PageId>,
    /// Pages of units that keep the rest of their extents.
    pub(crate) pages: Vec<FreedPages>,
}

/// How much was freed at a moment: [`Freed::mark`].
#[derive(Default, Clone, Copy, Debug)]
pub struct FreedMark {
    extents: usize,
    singles: usize,
    pages: usize,
}

impl Freed {
    /// Adds an extent.
    pub fn push_extent(&mut self, extent: Extent) {
        self.extents.push(extent);
    }

    /// Adds a page of a mixed extent.
    pub fn push_single(&mut self, page: PageId) {
        self.singles.push(page);
    }

    /// The current length, for [`return_to`](Self::return_to).
    pub fn mark(&self) -> FreedMark {
        FreedMark {
            extents: self.extents.len(),
            singles: self.singles.len(),
            pages: self.pages.len(),
        }
    }

    /// Removes what was added since the mark: an undo has allocated it again.
    pub fn return_to(&mut self, mark: FreedMark) {
        self.extents.truncate(mark.extents);
        self.singles.truncate(mark.singles);
        self.pages.truncate(mark.pages);
    }

    /// Adds what another unit has freed.
    pub fn extend(&mut self, other: Freed) {
        self.extents.extend(other.extents);
        self.singles.extend(other.singles);
        self.pages.extend(other.pages);
    }
}

impl Space {
    /// Frees all pages of a unit, which must not be used afterwards.
    pub fn free_unit(&self, tx: &mut Transaction, unit: &Unit) -> Result<Freed, Error> {
        let mut freed = Freed::default();
        let mut next = unit.first_iam();
        while !next.is_none() {
            let (singles, extents, following) = {
                let page = self.pool().read(next)?;
                let view = IamView::new(&page);
                let singles: Vec<PageId> = view.single_pages().collect();
                (singles, view.extents().collect::<Vec<_>>(), view.header().next())
            };
            for run in runs(&extents) {
                self.free_run(tx, run)?;
            }
            for single in singles.into_iter().chain([next]) {
                self.free_single(tx, single)?;
                freed.singles.push(single);
            }
            freed.extents.extend(extents);
            next = following;
        }
        Ok(freed)
    }

    pub(crate) fn free_run(&self, tx: &mut Transaction, run: ExtentRun) -> Result<(), Error> {
        let ExtentRun { first, count } = run;
        let page = first.first_page();
        self.set_pfs(RecordOwner::Change(tx), page, count * PAGES_PER_EXTENT, |_, old| {
            old.with_allocated(false)
        })?;
        let bit = page.page % PAGES_PER_GAM / PAGES_PER_EXTENT;
        let mut map = self.pool().write(MapKind::Gam.page_of(page))?;
        self.set_map_bits(RecordOwner::Change(tx), &mut map, Context::GAM, bit, count, true)
    }

    /// Allocates this again in memory: a restart found open transactions that have freed it, and
    /// their undo allocates it in the maps.
    ///
    /// # Errors
    /// There is no such file.
    pub fn retake(&self, freed: &Freed) -> Result<(), Error> {
        for extent in &freed.extents {
            self.file(extent.file)?.take(extent.index);
        }
        freed.singles.iter().try_for_each(|page| self.hold_freed(*page))
    }

    /// The transaction has committed: what it has freed can be allocated.
    pub fn release(&self, freed: Freed) -> Result<(), Error> {
        let gone: HashSet<Extent> = freed.extents.iter().copied().collect();
        freed.pages.into_iter().try_for_each(|pages| self.release_pages(pages, &gone))?;
        for extent in freed.extents {
            self.file(extent.file)?.release(extent.index);
        }
        freed.singles.into_iter().try_for_each(|page| self.release_single(page))
    }
}

/// Consecutive extents of one interval and one PFS page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExtentRun {
    pub(crate) first: Extent,
    pub(crate) count: u32,
}

pub(crate) fn runs(extents: &[Extent]) -> Vec<ExtentRun> {
    let mut runs: Vec<ExtentRun> = Vec::new();
    for extent in extents {
        let same = |a: Extent, b: Extent| {
            a.file == b.file
                && a.index / EXTENTS_PER_GAM == b.index / EXTENTS_PER_GAM
                && a.first_page().page / PAGES_PER_PFS == b.first_page().page / PAGES_PER_PFS
        };
        match runs.last_mut() {
            Some(run)
                if run.first.index + run.count == extent.index && same(run.first, *extent) =>
            {
                run.count += 1;
            }
            _ => runs.push(ExtentRun { first: *extent, count: 1 }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use extentdb_base::FileId;

    use super::*;

    #[test]
    fn runs_end_where_a_map_page_ends() {
        let extent = |file, index| Extent { file: FileId(file), index };
        let extents = [
            extent(1, 5),
            extent(1, 6),
            extent(1, 8),
            extent(3, 9),
            extent(1, 1010),
            extent(1, 1011),
        ];
        let run = |file, index, count| ExtentRun { first: extent(file, index), count };
        let expected = [run(1, 5, 2), run(1, 8, 1), run(3, 9, 1), run(1, 1010, 1), run(1, 1011, 1)];
        assert_eq!(runs(&extents), expected, "page 8088 begins with extent 1011");
    }
}
