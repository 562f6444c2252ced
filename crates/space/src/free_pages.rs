//! Freeing single pages of a unit that stays: values off their rows.
//!
//! ```text
//! in the transaction   PFS: the pages are not allocated; an extent without an allocated page: IAM
//!                      and GAM, too
//! after its commit     in memory: pages of extents that stay are the unit's to allocate again,
//!                      the other extents are anyone's
//! ```
//!
//! Only bytes of the pages that are freed stand in a record of PFS, so that an undo finds them as
//! it left them: nobody else changes the byte of a page that is not allocated and not to be had.
//! Pages of mixed extents are not freed here: the slot in the IAM page that an undo would fill
//! again could be another page's by then.

use std::collections::{BTreeSet, HashSet};

use extentdb_base::size::PAGES_PER_EXTENT;
use extentdb_base::sync::Arc;
use extentdb_base::{Extent, PageId, XactId};
use extentdb_format::log::payload::space::HobtDelta;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::free::{ExtentRun, Freed, runs};
use crate::space::Space;
use crate::unit::{Chain, Unit};

/// Pages that a transaction has freed, of one unit.
#[derive(Clone, Debug)]
pub(crate) struct FreedPages {
    unit: Arc<Unit>,
    pages: Vec<PageId>,
    /// Extents that went with them.
    extents: usize,
}

impl Space {
    /// Is this a page of a mixed extent? Such pages are not freed one by one.
    pub fn is_mixed(&self, page: PageId) -> Result<bool, Error> {
        let states = self.pfs_bytes(page.file, page.page..page.page + 1)?;
        Ok(states.first().is_some_and(|state| state.is_mixed()))
    }

    /// Pages of uniform extents that an open transaction has freed, as a restart found: nobody gets
    /// them before its undo allocates them again in the maps.
    pub fn retake_pages(&self, xact: XactId, pages: impl IntoIterator<Item = PageId>) {
        self.pending_pages().extend(pages.into_iter().map(|page| (page, xact)));
    }

    /// Frees pages of uniform extents of a unit, and the extents that have no other page. Until the
    /// transaction has committed, and what this returns is released, nobody gets them.
    ///
    /// # Errors
    /// A page is of a mixed extent or not the unit's; a map cannot be read or the log is full. The
    /// transaction is to be rolled back then.
    pub fn free_pages(
        &self,
        tx: &mut Transaction,
        unit: &Arc<Unit>,
        pages: &[PageId],
    ) -> Result<Freed, Error> {
        let mut chain = self.chain_of(unit)?;
        let Some(own) = chain.as_mut() else { return Ok(Freed::default()) };
        let freed = self.free_of_chain(tx, unit, own, pages);
        if freed.is_err() {
            *chain = None;
        }
        freed
    }

    fn free_of_chain(
        &self,
        tx: &mut Transaction,
        unit: &Arc<Unit>,
        chain: &mut Chain,
        pages: &[PageId],
    ) -> Result<Freed, Error> {
        let pages: BTreeSet<PageId> = pages.iter().copied().collect();
        self.pending_pages().extend(pages.iter().map(|page| (*page, tx.id())));
        let mut whole: Vec<Extent> = Vec::new();
        let mut single: Vec<PageId> = Vec::new();
        let sorted: Vec<PageId> = pages.iter().copied().collect();
        for group in sorted.chunk_by(|page, next| page.extent() == next.extent()) {
            let Some(extent) = group.first().map(|page| page.extent()) else { continue };
            if self.becomes_free(tx, unit, extent, group)? {
                whole.push(extent);
            } else {
                single.extend(group);
            }
        }
        for run in runs(&whole) {
            self.disown(tx, unit, chain, run)?;
            self.free_run(tx, run)?;
        }
        for run in
            single.chunk_by(|page, next| page.file == next.file && page.page + 1 == next.page)
        {
            // The pages of one run may be of two PFS intervals.
            for part in run.chunk_by(|page, next| page.pfs_page() == next.pfs_page()) {
                let owner = RecordOwner::Change(tx);
                self.set_pfs(owner, part[0], part.len() as u32, |_, old| {
                    old.with_allocated(false)
                })?;
            }
        }
        let gone: HashSet<Extent> = whole.iter().copied().collect();
        if !gone.is_empty() {
            chain.rest.retain(|page| !gone.contains(&page.extent()));
        }
        chain.extents = chain.extents.saturating_sub(whole.len() as u64);
        let pages = FreedPages { unit: unit.clone(), pages: sorted, extents: whole.len() };
        Ok(Freed { extents: whole, pages: vec![pages], ..Freed::default() })
    }

    /// Has an extent no page but these, and none that another transaction may allocate again by its
    /// rollback?
    fn becomes_free(
        &self,
        tx: &Transaction,
        unit: &Unit,
        extent: Extent,
        pages: &[PageId],
    ) -> Result<bool, Error> {
        let first = extent.first_page();
        let states = self.pfs_bytes(first.file, first.page..first.page + PAGES_PER_EXTENT)?;
        if states.iter().any(|state| state.is_mixed()) {
            let what = "a page of a mixed extent is not freed by itself";
            return Err(Error::Maps { page: pages[0], unit: unit.id(), what });
        }
        let freed = self.pending_pages();
        let is_ours = |page: &PageId| freed.get(page).is_none_or(|xact| *xact == tx.id());
        Ok(extent.pages().zip(states).all(|(page, state)| {
            if state.is_allocated() { pages.contains(&page) } else { is_ours(&page) }
        }))
    }

    /// Takes extents out of the unit's IAM page.
    fn disown(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &Chain,
        run: ExtentRun,
    ) -> Result<(), Error> {
        let ExtentRun { first, count } = run;
        let page = first.first_page();
        let interval = page.gam_interval();
        let Some(iam) = chain.iams.iter().rfind(|iam| iam.interval == interval) else {
            let what = "no IAM page has its extent";
            return Err(Error::Maps { page, unit: unit.id(), what });
        };
        let mut map = self.pool().write(iam.id)?;
        let bit = first.index - interval.extent().index;
        self.set_map_bits(RecordOwner::Change(tx), &mut map, Context::IAM, bit, count, false)
    }

    /// The transaction that freed these pages has committed.
    pub(crate) fn release_pages(
        &self,
        freed: FreedPages,
        gone: &HashSet<Extent>,
    ) -> Result<(), Error> {
        let FreedPages { unit, pages, extents } = freed;
        let used = -(pages.len() as i64);
        let reserved = -(extents as i64 * i64::from(PAGES_PER_EXTENT));
        unit.count_pages(0, used, reserved);
        let delta = HobtDelta {
            alloc_unit: unit.id(),
            used_pages: used,
            reserved_pages: reserved,
            ..HobtDelta::default()
        };
        // After a checkpoint that still counted them, a restart learns from this record that the
        // unit is to be counted again. Without it the counters are off until then, no more.
        let _ = self.transactions().log_alone(
            Op::HOBT_DELTA,
            Context::NULL,
            &Payload::HobtDelta(delta),
        );
        let mut chain = unit.chain();
        let mut open = self.pending_pages();
        for page in &pages {
            open.remove(page);
        }
        if let Some(chain) = chain.as_mut() {
            let stays = |page: &PageId| !gone.contains(&page.extent());
            chain.rest.extend(pages.into_iter().filter(stays));
        }
        Ok(())
    }
}
