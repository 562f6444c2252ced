//! The IAM chain of a unit: reading it, and adding to it.

use std::collections::VecDeque;

use extentdb_base::size::{PAGE_HEADER_BYTES, PAGES_PER_EXTENT};
use extentdb_base::{Extent, PageId};
use extentdb_change::change;
use extentdb_format::allocation::bitmap::{BITS_IN_RECORD, MAP_PMINLEN};
use extentdb_format::allocation::iam::{
    IamView, SEQUENCE_IN_RECORD, SINGLE_PAGE_SLOTS, SINGLE_PAGES_IN_RECORD,
};
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::log::payload::page::{BitsPart, FormatPage, SetBits};
use extentdb_format::log::payload::row::{ModifyHeader, ModifyRow, RowPart};
use extentdb_format::log::payload::space::HobtDelta;
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::header::NEXT_AT;
use extentdb_format::page::{PageHeader, PageType};
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::space::Space;
use crate::unit::{Chain, IamPage, Unit};

/// IAM pages of the longest chain there can be: one for each interval of each file.
const CHAIN_MAX: usize = 32_767 * 8_404;

/// What belongs to a unit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Owned {
    /// Number of IAM pages.
    pub iams: usize,
    /// Single pages of mixed extents.
    pub singles: Vec<PageId>,
    /// Uniform extents of the unit.
    pub extents: Vec<Extent>,
}

impl Space {
    /// Reads the chain of a unit, and which pages of its extents are not allocated.
    pub(crate) fn read_chain(&self, unit: &Unit) -> Result<Chain, Error> {
        let mut chain = Chain::default();
        let mut next = unit.first_iam();
        while !next.is_none() {
            let page = self.pool().read(next)?;
            let view = IamView::new(&page);
            let wrong = |what| Error::Maps { page: next, unit: unit.id(), what };
            if view.header().kind() != PageType::Iam || view.header().alloc_unit() != unit.id() {
                return Err(wrong("it is no IAM page of the unit"));
            }
            if chain.iams.len() >= CHAIN_MAX || chain.iams.iter().any(|iam| iam.id == next) {
                return Err(wrong("the chain comes back to it"));
            }
            if chain.iams.is_empty() {
                chain.singles = view.single_pages().count();
            }
            chain.iams.push(IamPage { id: next, interval: view.interval() });
            let extents: Vec<Extent> = view.extents().collect();
            let following = view.header().next();
            drop(page);
            chain.extents += extents.len() as u64;
            for extent in extents {
                self.add_rest(extent, &mut chain.rest)?;
            }
            next = following;
        }
        Ok(chain)
    }

    fn add_rest(&self, extent: Extent, rest: &mut VecDeque<PageId>) -> Result<(), Error> {
        let first = extent.first_page();
        let states = self.pfs_bytes(first.file, first.page..first.page + PAGES_PER_EXTENT)?;
        let freed = self.pending_pages();
        rest.extend(
            extent
                .pages()
                .zip(states)
                .filter(|(page, state)| !state.is_allocated() && !freed.contains_key(page))
                .map(|(page, _)| page),
        );
        Ok(())
    }

    /// What the IAM chain of a unit owns.
    pub fn owned_by(&self, unit: &Unit) -> Result<Owned, Error> {
        let mut owned = Owned::default();
        let mut next = unit.first_iam();
        while !next.is_none() && owned.iams < CHAIN_MAX {
            let page = self.pool().read(next)?;
            let view = IamView::new(&page);
            owned.iams += 1;
            owned.singles.extend(view.single_pages());
            owned.extents.extend(view.extents());
            next = view.header().next();
        }
        Ok(owned)
    }

    /// Every page of the unit that PFS calls allocated, IAM pages left out, in the order of the
    /// chain.
    pub fn pages_of(&self, unit: &Unit) -> Result<Vec<PageId>, Error> {
        let mut pages = Vec::new();
        let mut next = unit.first_iam();
        let mut seen = 0;
        while !next.is_none() && seen < CHAIN_MAX {
            let (singles, extents, following) = {
                let page = self.pool().read(next)?;
                let view = IamView::new(&page);
                let singles: Vec<PageId> = view.single_pages().collect();
                (singles, view.extents().collect::<Vec<_>>(), view.header().next())
            };
            for single in singles {
                if self
                    .pfs_bytes(single.file, single.page..single.page + 1)?
                    .iter()
                    .any(|s| s.is_allocated())
                {
                    pages.push(single);
                }
            }
            for extent in extents {
                let first = extent.first_page();
                let states =
                    self.pfs_bytes(first.file, first.page..first.page + PAGES_PER_EXTENT)?;
                pages.extend(
                    extent
                        .pages()
                        .zip(states)
                        .filter(|(_, state)| state.is_allocated())
                        .map(|(p, _)| p),
                );
            }
            (next, seen) = (following, seen + 1);
        }
        Ok(pages)
    }

    /// The IAM page for an interval: the unit's own, or a new one at the end of the chain.
    pub(crate) fn iam_for(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
        interval: PageId,
    ) -> Result<PageId, Error> {
        match chain.iams.iter().rfind(|iam| iam.interval == interval) {
            Some(iam) => Ok(iam.id),
            None => {
                let id = self.single_page(tx, unit.group(), PfsByte::ALLOCATED.with_iam(true))?;
                self.add_iam(tx, unit, chain, id, interval)?;
                Ok(id)
            }
        }
    }

    /// Formats an IAM page, whose byte in PFS is set already, and appends it to the chain. The
    /// caller enters the first one of a unit in the catalog.
    pub(crate) fn add_iam(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
        id: PageId,
        interval: PageId,
    ) -> Result<(), Error> {
        let mut page = self.pool().create(id)?;
        let previous = chain.iams.last().map_or(PageId::NONE, |iam| iam.id);
        let format = iam_format(unit, interval, previous);
        let payload = Payload::FormatPage(format);
        change(RecordOwner::Change(tx), &mut page, Op::FORMAT_PAGE, Context::IAM, payload)?;
        if !previous.is_none() {
            let sequence = (chain.iams.len() as u32).to_le_bytes();
            self.modify_iam(tx, &mut page, SEQUENCE_IN_RECORD, &sequence)?;
            drop(page);
            self.link_iam(tx, previous, id)?;
        }
        self.count_pages(
            tx,
            unit,
            HobtDelta { used_pages: 1, reserved_pages: 1, ..HobtDelta::default() },
        )?;
        chain.iams.push(IamPage { id, interval });
        Ok(())
    }

    /// Lets the last IAM page of a chain point to the next one.
    fn link_iam(&self, tx: &mut Transaction, last: PageId, next: PageId) -> Result<(), Error> {
        let mut page = self.pool().write(last)?;
        let before = PageHeader::of(&page).next().to_bytes();
        let after = next.to_bytes();
        let modify_size = PageId::BYTES as u16;
        let fixed = RowPart { offset_in_row: NEXT_AT, modify_size, ..RowPart::default() };
        let link = ModifyHeader { fixed, before: &before, after: &after, more: Vec::new() };
        let payload = Payload::ModifyHeader(link);
        change(RecordOwner::Change(tx), &mut page, Op::MODIFY_HEADER, Context::IAM, payload)?;
        Ok(())
    }

    /// Enters a single page in the first IAM page.
    pub(crate) fn add_single(
        &self,
        tx: &mut Transaction,
        chain: &mut Chain,
        page: PageId,
    ) -> Result<(), Error> {
        debug_assert!(chain.singles < SINGLE_PAGE_SLOTS);
        let Some(first) = chain.iams.first().copied() else { return Ok(()) };
        let mut map = self.pool().write(first.id)?;
        let free = IamView::new(&map)
            .single_page_slots()
            .iter()
            .position(|slot| slot.is_none())
            .unwrap_or(0);
        let at = SINGLE_PAGES_IN_RECORD + (PageId::BYTES * free) as u16;
        self.modify_iam(tx, &mut map, at, &page.to_bytes())?;
        chain.singles += 1;
        Ok(())
    }

    fn modify_iam(
        &self,
        tx: &mut Transaction,
        page: &mut extentdb_buffer::PageWriteGuard,
        offset: u16,
        after: &[u8],
    ) -> Result<(), Error> {
        // The first record of an IAM page begins right after the page header.
        let at = PAGE_HEADER_BYTES + usize::from(offset);
        let before = page.get(at..at + after.len()).unwrap_or_default().to_vec();
        let fixed = RowPart {
            offset_in_row: offset,
            modify_size: before.len() as u16,
            ..RowPart::default()
        };
        let modify = ModifyRow { fixed, before: &before, after, ..ModifyRow::default() };
        change(
            RecordOwner::Change(tx),
            page,
            Op::MODIFY_ROW,
            Context::IAM,
            Payload::ModifyRow(modify),
        )?;
        Ok(())
    }

    /// Enters an extent in the unit's IAM page for its interval.
    pub(crate) fn own(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
        extent: Extent,
    ) -> Result<(), Error> {
        let interval = extent.first_page().gam_interval();
        let id = self.iam_for(tx, unit, chain, interval)?;
        let mut map = self.pool().write(id)?;
        let bit = extent.index - interval.extent().index;
        self.set_map_bits(RecordOwner::Change(tx), &mut map, Context::IAM, bit, 1, true)?;
        chain.extents += 1;
        Ok(())
    }

    /// Sets or clears a run of bits of a map page. They must all have the other value before.
    pub(crate) fn set_map_bits(
        &self,
        link: RecordOwner<'_>,
        map: &mut extentdb_buffer::PageWriteGuard,
        context: Context,
        first: u32,
        count: u32,
        value: bool,
    ) -> Result<(), Error> {
        let mut fixed = BitsPart {
            first_bit: BITS_IN_RECORD + first as u16,
            bit_count: count as u16,
            value: value.into(),
            ..BitsPart::default()
        };
        fixed.page.slot = 1;
        change(
            link,
            map,
            Op::SET_BITS,
            context,
            Payload::SetBits(SetBits { fixed, lock_info: None }),
        )?;
        Ok(())
    }

    /// Logs and counts pages that a unit gets or loses.
    pub(crate) fn count_pages(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        delta: HobtDelta,
    ) -> Result<(), Error> {
        let delta = HobtDelta { alloc_unit: unit.id(), ..delta };
        // Counted first, as rows are: what a checkpoint in between counts too much is in the log
        // after it.
        unit.count_pages(delta.data_pages, delta.used_pages, delta.reserved_pages);
        let logged = tx.log(Op::HOBT_DELTA, Context::NULL, &Payload::HobtDelta(delta.clone()));
        if logged.is_err() {
            unit.count_pages(-delta.data_pages, -delta.used_pages, -delta.reserved_pages);
        }
        logged?;
        Ok(())
    }
}

/// What FORMAT_PAGE says of an IAM page.
fn iam_format(unit: &Unit, interval: PageId, previous: PageId) -> FormatPage {
    let mut format = FormatPage {
        page_type: PageType::Iam.to_byte(),
        pminlen: MAP_PMINLEN,
        iam_interval: Some(interval),
        previous_page: previous,
        ..FormatPage::default()
    };
    format.page.slot = u16::MAX;
    format.page.object_id = unit.id().header_object_id();
    format.page.index_id = unit.id().header_index_id();
    format
}
