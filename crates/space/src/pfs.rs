//! PFS: reading and changing the bytes of pages, one log record for each run. Which class of free
//! space a page has is decided by its owner: `rowset::heap` for heaps, at checkpoints; pages of
//! B-trees have none.

use std::ops::Range;

use extentdb_base::size::PAGES_PER_PFS;
use extentdb_base::{FileId, Lsn, PageId};
use extentdb_change::change;
use extentdb_format::allocation::pfs::{BYTES_IN_RECORD, PfsByte, PfsView};
use extentdb_format::log::payload::page::SetFreeSpace;
use extentdb_format::log::payload::row::{ModifyRow, RowPart};
use extentdb_format::log::{Context, Op, Payload};
use extentdb_txn::RecordOwner;

use crate::error::Error;
use crate::space::Space;

impl Space {
    /// The PFS bytes of a run of pages of one PFS interval.
    pub fn pfs_bytes(&self, file: FileId, pages: Range<u32>) -> Result<Vec<PfsByte>, Error> {
        let first = PageId { file, page: pages.start };
        let map = self.pool().read(first.pfs_page())?;
        let at = (pages.start % PAGES_PER_PFS) as usize;
        let bytes = PfsView::new(&map).bytes();
        let run = bytes.get(at..at + pages.len()).unwrap_or_default();
        Ok(run.iter().map(|byte| PfsByte(*byte)).collect())
    }

    /// Changes the bytes of `count` pages of one PFS interval, from `first` on. `new` maps each
    /// page's byte. Nothing is logged when nothing changes.
    pub(crate) fn set_pfs(
        &self,
        link: RecordOwner<'_>,
        first: PageId,
        count: u32,
        mut new: impl FnMut(u32, PfsByte) -> PfsByte,
    ) -> Result<Option<Lsn>, Error> {
        let mut map = self.pool().write(first.pfs_page())?;
        let at = (first.page % PAGES_PER_PFS) as usize;
        let before =
            PfsView::new(&map).bytes().get(at..at + count as usize).unwrap_or_default().to_vec();
        let after: Vec<u8> =
            (0u32..).zip(&before).map(|(n, byte)| new(first.page + n, PfsByte(*byte)).0).collect();
        if before == after {
            return Ok(None);
        }
        let fixed = RowPart {
            offset_in_row: BYTES_IN_RECORD + at as u16,
            modify_size: before.len() as u16,
            ..RowPart::default()
        };
        let page = first.to_bytes();
        let key = Some(&page[..]);
        let modify = ModifyRow {
            fixed,
            before: &before,
            after: &after,
            key,
            lock_info: Some(&[]),
            more: Vec::new(),
        };
        let payload = Payload::ModifyRow(modify);
        Ok(Some(change(link, &mut map, Op::MODIFY_ROW, Context::PFS, payload)?))
    }

    /// Changes the class of fullness, or the ghost bit, of one page: a change that belongs to no
    /// transaction. The byte of a page that is not allocated stays as it is: the transaction that
    /// has freed the page may be rolled back, and must find it so.
    pub fn set_free_space(
        &self,
        page: PageId,
        new: impl FnOnce(PfsByte) -> PfsByte,
    ) -> Result<bool, Error> {
        let mut map = self.pool().write(page.pfs_page())?;
        let at = page.page % PAGES_PER_PFS;
        let old = PfsByte(PfsView::new(&map).bytes().get(at as usize).copied().unwrap_or(0));
        let new = new(old);
        if old == new || !old.is_allocated() {
            return Ok(false);
        }
        let set = SetFreeSpace {
            byte_offset: Some(BYTES_IN_RECORD + at as u16),
            new_value: Some(new.0),
            old_value: Some(old.0),
            ..SetFreeSpace::default()
        };
        let link = RecordOwner::Alone(self.transactions());
        change(link, &mut map, Op::SET_FREE_SPACE, Context::PFS, Payload::SetFreeSpace(set))?;
        Ok(true)
    }
}
