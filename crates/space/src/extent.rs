//! Allocating extents, and runs of pages in advance.
//!
//! A free extent is claimed in memory first, without a latch; then its GAM and IAM bits are logged.
//! A freed extent is free in memory only when its transaction has committed.

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM};
use extentdb_base::{Extent, PageId};
use extentdb_format::allocation::bitmap::{MapKind, MapView};
use extentdb_format::allocation::iam::SINGLE_PAGE_SLOTS;
use extentdb_format::allocation::pfs::{Fullness, PfsByte};
use extentdb_format::log::Context;
use extentdb_format::log::payload::space::HobtDelta;
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::page::{PageForm, refuse_undo};
use crate::space::Space;
use crate::unit::{Chain, Unit};

impl Space {
    /// A uniform extent for a unit: GAM, IAM and counters. Its pages are not allocated yet.
    pub(crate) fn extent_for(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
    ) -> Result<Extent, Error> {
        let extent = self.claim_extent(unit.group())?;
        self.log_taken(tx, extent)?;
        self.own(tx, unit, chain, extent)?;
        let reserved_pages = i64::from(PAGES_PER_EXTENT);
        self.count_pages(tx, unit, HobtDelta { reserved_pages, ..HobtDelta::default() })?;
        Ok(extent)
    }

    /// An extent that memory alone knows: no map says that it is in use. For pages that no restart
    /// looks for, in a database that does not outlive one.
    ///
    /// # Errors
    /// The filegroup is full.
    pub fn claim_unmapped(&self, group: i16) -> Result<Extent, Error> {
        self.claim_extent(group)
    }

    /// An extent that memory alone knew is free again.
    ///
    /// # Errors
    /// There is no such file.
    pub fn release_unmapped(&self, extent: Extent) -> Result<(), Error> {
        self.file(extent.file)?.release(extent.index);
        Ok(())
    }

    /// Logs that a claimed extent is not free any more, if its map does not say so already. Without
    /// a record the claim is given up; once there is one, undoing it gives the extent back in
    /// memory, too, and nothing else may.
    pub(crate) fn log_taken(&self, tx: &mut Transaction, extent: Extent) -> Result<(), Error> {
        let first = extent.first_page();
        let bit = first.page % PAGES_PER_GAM / PAGES_PER_EXTENT;
        let mut map = self.pool().write(MapKind::Gam.page_of(first))?;
        if MapView::new(&map, MapKind::Gam).bitmap().get(bit) {
            let logged =
                self.set_map_bits(RecordOwner::Change(tx), &mut map, Context::GAM, bit, 1, false);
            if logged.is_err() {
                self.file(extent.file)?.release(extent.index);
            }
            logged?;
        }
        self.note_changed([extent]);
        Ok(())
    }

    /// Allocates a run of pages of one extent, with the fullness that they will have when the
    /// caller has filled them: one record in PFS instead of two for each page. A caller that fills
    /// fewer corrects PFS with [`update_pfs`](Self::update_pfs). The pages are formatted at once: a
    /// page may be one that this or another unit has had before, whose old records a restart must
    /// not find.
    pub fn append_formatted_pages(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        ends: Fullness,
        form: &PageForm,
    ) -> Result<Vec<PageId>, Error> {
        refuse_undo(tx, unit)?;
        let is_first = unit.first_iam().is_none();
        let mut claimed = Vec::new();
        let taken = self.in_system_of(tx, unit, "BulkExtentAlloc", |system| {
            let (run, iam) = self.append_run(system, unit)?;
            claimed.clone_from(&run);
            let Some(first) = run.first().copied() else { return Ok(run) };
            let state = PfsByte::ALLOCATED.with_fullness(ends);
            let used = run.len() as u32;
            self.set_pfs(RecordOwner::Change(system), first, used, |_, _| state)?;
            self.count_pages(
                system,
                unit,
                HobtDelta { used_pages: used.into(), ..HobtDelta::default() },
            )?;
            if let Some(iam) = iam.filter(|_| is_first) {
                self.set_first_iam(system, unit, iam)?;
                self.set_first(system, unit, first)?;
            }
            run.iter()
                .try_for_each(|page| self.format_page(system, unit, *page, form).map(drop))?;
            Ok(run)
        });
        {
            let mut pending = self.pending_pages();
            claimed.iter().for_each(|page| {
                pending.remove(page);
            });
        }
        if taken.is_err() {
            unit.forget_chain();
        }
        taken
    }

    /// Consecutive pages of one of the unit's extents, else of a new one; and the first IAM page.
    fn append_run(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
    ) -> Result<(Vec<PageId>, Option<PageId>), Error> {
        let mut chain = self.chain_of(unit)?;
        let Some(own) = chain.as_mut() else { return Ok((Vec::new(), None)) };
        if own.rest.is_empty() {
            let extent = self.extent_for(tx, unit, own)?;
            own.rest.extend(extent.pages());
        }
        let mut run: Vec<PageId> = Vec::new();
        while let Some(next) = own.rest.front().copied() {
            let follows =
                |last: &PageId| last.extent() == next.extent() && last.page + 1 == next.page;
            if !run.last().is_none_or(follows) {
                break;
            }
            run.push(next);
            own.rest.pop_front();
        }
        // PFS does not say yet that they are taken: until it does, nobody gives their extent back.
        self.pending_pages().extend(run.iter().map(|page| (*page, tx.id())));
        Ok((run, own.iams.first().map(|iam| iam.id)))
    }

    /// Is the unit's next page a single page of a mixed extent?
    pub fn wants_single(&self, unit: &Unit) -> Result<bool, Error> {
        let chain = self.chain_of(unit)?;
        let is_young =
            chain.as_ref().is_some_and(|own| own.singles < SINGLE_PAGE_SLOTS && own.extents == 0);
        Ok(self.options().mixed_pages && is_young)
    }

    /// Updates the PFS bytes of a run of pages of one extent. Pages that lose the allocated bit,
    /// because they were never formatted, can be allocated again.
    pub fn update_pfs(
        &self,
        unit: &Unit,
        first: PageId,
        count: u32,
        mut new: impl FnMut(PageId, PfsByte) -> PfsByte,
    ) -> Result<(), Error> {
        let mut unused = Vec::new();
        // Held from before PFS calls pages free until the chain has them: their extent must not be
        // given back in between.
        let mut chain = unit.chain();
        self.set_pfs(RecordOwner::Alone(self.transactions()), first, count, |page, old| {
            let page = PageId { file: first.file, page };
            let new = new(page, old);
            if old.is_allocated() && !new.is_allocated() {
                unused.push(page);
            }
            new
        })?;
        unit.count_pages(0, -(unused.len() as i64), 0);
        if let Some(chain) = chain.as_mut() {
            chain.rest.extend(unused);
        }
        Ok(())
    }
}
