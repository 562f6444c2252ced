//! The pages of one allocation unit while it is being built.
//!
//! ```text
//! page 1 … 8   single pages of mixed extents, listed in the first IAM page
//! page 9 …     uniform extents, one bit each in the IAM page of their file and interval
//! ```
//!
//! A unit without rows has no pages at all, not even an IAM page.

pub(crate) mod fragmented_tree;
pub(crate) mod heap;
pub(crate) mod packer;
pub(crate) mod page_compression;
pub(crate) mod tree;

use std::collections::VecDeque;

use extentdb_base::env::Rng;
use extentdb_base::{AllocUnitId, Extent, PageId};
use extentdb_format::PageBuf;
use extentdb_format::allocation::bitmap::{AllocationBitmapMut, BITMAP_BYTES};
use extentdb_format::allocation::iam::{IamForm, IamHead, SINGLE_PAGE_SLOTS, write_iam};
use extentdb_format::allocation::pfs::PfsByte;

use crate::Error;
use crate::file::allocation::{PRIMARY, Space, fixed_address};
use crate::file::fixed_pages::STAMP;
use crate::file::sink::PageSink;

/// An IAM page of the chain.
struct IamPage {
    id: PageId,
    interval: PageId,
    bits: Box<[u8; BITMAP_BYTES]>,
}

/// Hands out the pages of a unit.
pub(crate) struct UnitPages {
    id: AllocUnitId,
    group: i16,
    singles: Vec<PageId>,
    /// What is left of the current extent.
    rest: VecDeque<PageId>,
    iams: Vec<IamPage>,
    /// Places that the first pages must have, by the unit's role.
    reserved: VecDeque<PageId>,
    reserved_iam: Option<PageId>,
    /// Pages allocated in advance, in reverse order of their use.
    shuffled: Option<Vec<PageId>>,
    form: IamForm,
    used: i64,
    extents: i64,
}

/// What the catalog keeps of a unit.
pub(crate) use extentdb_catalog::table::describe::UnitAnchor as UnitResult;

impl UnitPages {
    pub(crate) fn new(id: AllocUnitId) -> UnitPages {
        let (reserved, reserved_iam, form) = match id {
            AllocUnitId::SYSFILES1 => (
                VecDeque::from([fixed_address::SYSFILES_PAGE]),
                Some(fixed_address::SYSFILES_IAM),
                IamForm::SysFiles,
            ),
            AllocUnitId::SYSALLOCUNITS => {
                (VecDeque::from([fixed_address::SYSALLOCUNITS_FIRST]), None, IamForm::Usual)
            }
            _ => (VecDeque::new(), None, IamForm::Usual),
        };
        UnitPages {
            id,
            group: PRIMARY,
            shuffled: None,
            singles: Vec::new(),
            rest: VecDeque::new(),
            iams: Vec::new(),
            reserved,
            reserved_iam,
            form,
            used: 0,
            extents: 0,
        }
    }

    /// In this filegroup.
    pub(crate) fn in_group(mut self, group: i16) -> UnitPages {
        self.group = group;
        self
    }

    /// Takes `count` pages at once and hands them out in random order.
    pub(crate) fn shuffle(
        &mut self,
        count: u64,
        rng: &mut impl Rng,
        space: &mut Space,
    ) -> Result<(), Error> {
        let mut pages =
            (0..count).map(|_| self.take(space)).collect::<Result<Vec<PageId>, Error>>()?;
        for last in (1..pages.len()).rev() {
            pages.swap(last, rng.below(last as u64 + 1) as usize);
        }
        self.shuffled = Some(pages);
        Ok(())
    }

    /// Pages handed out, IAM pages left out.
    pub(crate) fn page_count(&self) -> u64 {
        (self.used - self.iams.len() as i64) as u64
    }

    pub(crate) fn id(&self) -> AllocUnitId {
        self.id
    }

    /// The next page, allocated.
    pub(crate) fn page(&mut self, space: &mut Space) -> Result<PageId, Error> {
        let page = match self.shuffled.as_mut().and_then(Vec::pop) {
            Some(page) => page,
            None => self.take(space)?,
        };
        self.used += 1;
        space.allocate(page, PfsByte::ALLOCATED);
        Ok(page)
    }

    fn take(&mut self, space: &mut Space) -> Result<PageId, Error> {
        if self.singles.len() < SINGLE_PAGE_SLOTS {
            let page = match self.reserved.pop_front() {
                Some(page) => page,
                None => space.single(self.group)?,
            };
            self.singles.push(page);
            if self.iams.is_empty() {
                self.add_iam(page.gam_interval(), space)?;
            }
            Ok(page)
        } else {
            self.page_of_extent(space)
        }
    }

    fn page_of_extent(&mut self, space: &mut Space) -> Result<PageId, Error> {
        if self.rest.is_empty() {
            let extent = space.extent(self.group)?;
            self.own(extent, space)?;
            self.rest.extend(extent.pages());
        }
        self.rest.pop_front().ok_or(Error::FileFull { file: PageId::BOOT.file })
    }

    fn own(&mut self, extent: Extent, space: &mut Space) -> Result<(), Error> {
        let first = extent.first_page();
        let interval = first.gam_interval();
        // New extents nearly always lie in an interval that was used lately: search from the end.
        let at = match self.iams.iter().rposition(|iam| iam.interval == interval) {
            Some(at) => at,
            None => self.add_iam(interval, space)?,
        };
        let bit = (first.page - interval.page) / extentdb_base::size::PAGES_PER_EXTENT;
        self.iams[at].bits[(bit / 8) as usize] |= 1 << (bit % 8);
        self.extents += 1;
        Ok(())
    }

    fn add_iam(&mut self, interval: PageId, space: &mut Space) -> Result<usize, Error> {
        let id = match self.reserved_iam.take() {
            Some(id) => id,
            None => space.single(self.group)?,
        };
        space.allocate(id, PfsByte::ALLOCATED.with_iam(true));
        self.iams.push(IamPage { id, interval, bits: Box::new([0; BITMAP_BYTES]) });
        self.used += 1;
        Ok(self.iams.len() - 1)
    }

    /// Writes the IAM chain. `data`: leaf pages, for units of rows.
    pub(crate) fn finish(
        self,
        first: PageId,
        root: PageId,
        data: i64,
        sink: &mut dyn PageSink,
    ) -> Result<UnitResult, Error> {
        let mut page = PageBuf::zeroed();
        for (at, iam) in self.iams.iter().enumerate() {
            let mut head = IamHead::new(iam.id, self.id, iam.interval);
            head.sequence = at as u32;
            head.form = self.form;
            head.prev = at.checked_sub(1).map_or(PageId::NONE, |at| self.iams[at].id);
            head.next = self.iams.get(at + 1).map_or(PageId::NONE, |iam| iam.id);
            if at == 0 {
                head.single_pages[..self.singles.len()].copy_from_slice(&self.singles);
            }
            page.fill(0);
            write_bits(write_iam(&mut page, &head, &STAMP), &iam.bits);
            if self.form == IamForm::SysFiles {
                extentdb_format::page::PageHeader::of_mut(&mut page).flag_bits.set(0x0002);
                sink.put_bare(&page)?;
            } else {
                sink.put(&page)?;
            }
        }
        let reserved = self.iams.len() as i64 + self.singles.len() as i64 + 8 * self.extents;
        let first_iam = self.iams.first().map_or(PageId::NONE, |iam| iam.id);
        Ok(UnitResult { first, root, first_iam, used: self.used, data, reserved })
    }
}

fn write_bits(mut bitmap: AllocationBitmapMut<'_>, bits: &[u8; BITMAP_BYTES]) {
    for (byte, value) in (0u32..).zip(bits).filter(|(_, value)| **value != 0) {
        (0..8).filter(|bit| value >> bit & 1 == 1).for_each(|bit| bitmap.set(byte * 8 + bit, true));
    }
}
