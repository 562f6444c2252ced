//! Allocating pages, one at a time.
//!
//! ```text
//! pages 1 … 8 of a unit single pages of mixed extents, entered in the first IAM page (with mixed
//!       pages on)
//! the others            pages of the unit's own extents that are not allocated in PFS; then a new
//!                       extent
//! ```

use extentdb_base::PageId;
use extentdb_base::sync::MutexGuard;
use extentdb_buffer::PageWriteGuard;
use extentdb_change::change;
use extentdb_format::allocation::iam::SINGLE_PAGE_SLOTS;
use extentdb_format::allocation::pfs::PfsByte;
use extentdb_format::log::payload::page::FormatPage;
use extentdb_format::log::payload::space::{CreateAllocChain, HobtDelta};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_format::page::PageType;
use extentdb_txn::{RecordOwner, Transaction};

use crate::error::Error;
use crate::space::Space;
use crate::unit::{Chain, Unit};

/// How a page is formatted.
#[derive(Clone, Copy, Debug)]
pub struct PageForm {
    /// Data or index.
    pub kind: PageType,
    /// Level in the index; 0 = leaf or heap.
    pub level: u8,
    /// End of the fixed part of its records.
    pub pminlen: u16,
    /// Of the log record.
    pub context: Context,
    /// The previous page.
    pub prev: PageId,
    /// The next page.
    pub next: PageId,
    /// `m_typeFlagBits` of the page header, by the type of the page.
    pub type_flag_bits: u8,
    /// `m_flagBits` of the page header: how the page is protected.
    pub flag_bits: u16,
}

impl Space {
    /// What the unit owns, read at the first call.
    pub(crate) fn chain_of<'u>(
        &self,
        unit: &'u Unit,
    ) -> Result<MutexGuard<'u, Option<Chain>>, Error> {
        let mut chain = unit.chain();
        if chain.is_none() {
            *chain = Some(self.read_chain(unit)?);
        }
        Ok(chain)
    }

    /// A page for the unit. Allocated, but not formatted.
    ///
    /// # Errors
    /// There is none, or the transaction is being rolled back; nothing has changed then.
    pub fn allocate_page(&self, tx: &mut Transaction, unit: &Unit) -> Result<PageId, Error> {
        refuse_undo(tx, unit)?;
        let mut chain = self.chain_of(unit)?;
        let Some(own) = chain.as_mut() else {
            return Err(Error::NoFilegroup { group: unit.group() });
        };
        let is_first = own.iams.is_empty();
        let page = match self.page_for(tx, unit, own) {
            Ok(page) => page,
            Err(error) => {
                *chain = None;
                return Err(error);
            }
        };
        let first_iam = own.iams.first().map(|iam| iam.id).filter(|_| is_first);
        drop(chain);
        if let Some(iam) = first_iam {
            self.set_first_iam(tx, unit, iam)?;
            self.set_first(tx, unit, page)?;
        }
        Ok(page)
    }

    fn page_for(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
    ) -> Result<PageId, Error> {
        let is_mixed =
            self.options().mixed_pages && chain.singles < SINGLE_PAGE_SLOTS && chain.extents == 0;
        if is_mixed {
            // In the caller's own system transaction: the page must not stay allocated when its
            // format, or the pointers in the catalog, are undone.
            return self.single_for(tx, unit, chain);
        }
        if chain.rest.is_empty() {
            let extent = if chain.iams.is_empty() {
                self.extent_for(tx, unit, chain)?
            } else {
                self.in_system_of(tx, unit, "ExtentAlloc", |system| {
                    self.extent_for(system, unit, chain)
                })?
            };
            chain.rest.extend(extent.pages());
        }
        let Some(page) = chain.rest.pop_front() else {
            return Err(Error::FilegroupFull { group: unit.group(), growth: None });
        };
        // Whatever the extent was before: in databases made by other versions it may say that it
        // was mixed.
        self.set_pfs(RecordOwner::Change(tx), page, 1, |_, _| PfsByte::ALLOCATED)?;
        self.count_pages(tx, unit, HobtDelta { used_pages: 1, ..HobtDelta::default() })?;
        Ok(page)
    }

    /// A single page, in the order of records that a first row in a new heap shows.
    fn single_for(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        chain: &mut Chain,
    ) -> Result<PageId, Error> {
        let page = self.single_page(tx, unit.group(), PfsByte::ALLOCATED)?;
        let is_first = chain.iams.is_empty();
        if is_first {
            let iam = self.single_page(tx, unit.group(), PfsByte::ALLOCATED.with_iam(true))?;
            self.add_iam(tx, unit, chain, iam, page.gam_interval())?;
        }
        self.add_single(tx, chain, page)?;
        if let Some(first) = chain.iams.first().filter(|_| is_first) {
            let object_id = unit.id().header_object_id();
            let index_id = unit.id().header_index_id();
            let create = CreateAllocChain {
                first_iam: first.id,
                object_id,
                index_id,
                ..CreateAllocChain::default()
            };
            tx.log(Op::CREATE_ALLOCCHAIN, Context::NULL, &Payload::CreateAllocChain(create))?;
        }
        self.count_pages(
            tx,
            unit,
            HobtDelta { used_pages: 1, reserved_pages: 1, ..HobtDelta::default() },
        )?;
        Ok(page)
    }

    /// Formats an allocated page. When the log refuses the record, the page is blank.
    pub fn format_page(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        page: PageId,
        form: &PageForm,
    ) -> Result<PageWriteGuard, Error> {
        self.log_format(tx, unit, self.pool().create(page)?, form)
    }

    /// Formats a page without records as another kind. When the log refuses the record, the page
    /// stays as it is.
    pub fn reformat_page(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        page: PageId,
        form: &PageForm,
    ) -> Result<PageWriteGuard, Error> {
        self.log_format(tx, unit, self.pool().write(page)?, form)
    }

    fn log_format(
        &self,
        tx: &mut Transaction,
        unit: &Unit,
        mut guard: PageWriteGuard,
        form: &PageForm,
    ) -> Result<PageWriteGuard, Error> {
        let mut format = FormatPage {
            page_type: form.kind.to_byte(),
            type_flag_bits: form.type_flag_bits,
            level: form.level,
            previous_page: form.prev,
            pminlen: form.pminlen,
            next_page: form.next,
            flag_bits: form.flag_bits,
            ..FormatPage::default()
        };
        format.page.slot = u16::MAX;
        (format.page.object_id, format.page.index_id) =
            (unit.id().header_object_id(), unit.id().header_index_id());
        let data = i64::from(form.level == 0 && is_counted(form.kind));
        unit.count_data_pages(data);
        let done = change(
            RecordOwner::Change(tx),
            &mut guard,
            Op::FORMAT_PAGE,
            form.context,
            Payload::FormatPage(format),
        );
        if done.is_err() {
            unit.count_data_pages(-data);
        }
        Ok(done.map(|_| guard)?)
    }
}

/// Are pages of this kind, on level 0, the data pages of their unit? Text pages are not.
pub(crate) fn is_counted(kind: PageType) -> bool {
    matches!(kind, PageType::Data | PageType::Index)
}

/// A rollback must succeed in a full filegroup on a full disk: it works on the pages there are.
pub(crate) fn refuse_undo(tx: &Transaction, unit: &Unit) -> Result<(), Error> {
    if tx.is_undoing() { Err(Error::PageForUndo { unit: unit.id() }) } else { Ok(()) }
}
