//! What log records change on allocation maps: the pages and extents that they are about.
//!
//! ```text
//! MODIFY_ROW, context PFS            bytes of a run of pages, from the offset in the map's record
//! SET_BITS, context GAM, SGAM, DIFF  bits of a run of extents of the map's interval
//! SET_BITS, context IAM              bits of a run of extents of the interval that the page names
//! ```
//!
//! Recovery, undo and readers of a log without recovery all ask here.

use std::ops::Range;

use extentdb_base::size::{PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};
use extentdb_base::{Extent, PageId};

use super::context::Context;
use super::payload::Payload;
use super::payload::page::BitsPart;
use super::payload::row::ModifyRow;
use crate::allocation::bitmap::BITS_IN_RECORD;
use crate::allocation::pfs::{BYTES_IN_RECORD, PfsByte};

/// A page whose PFS byte changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfsChange {
    /// Map page (PFS, GAM, SGAM, IAM) that changes.
    pub page: PageId,
    /// Its byte before the change.
    pub before: PfsByte,
    /// Its byte after the change.
    pub after: PfsByte,
}

impl PfsChange {
    /// Is a page of a mixed extent allocated?
    pub fn allocates_mixed(&self) -> bool {
        !self.before.is_allocated() && self.after.is_allocated() && self.after.is_mixed()
    }

    /// Is a page of a mixed extent freed?
    pub fn frees_mixed(&self) -> bool {
        self.before.is_allocated() && self.before.is_mixed() && !self.after.is_allocated()
    }
}

/// The pages whose bytes a record of a PFS page changes; empty for every other record.
pub fn pfs_changes<'r>(
    context: Context,
    payload: &'r Payload<'r>,
) -> impl Iterator<Item = PfsChange> + 'r {
    let modify = match payload {
        Payload::ModifyRow(modify) if context == Context::PFS => Some(modify),
        _ => None,
    };
    modify.into_iter().flat_map(|modify| {
        let bytes = modify.before.iter().zip(modify.after);
        pfs_run(modify).zip(bytes).map(|(page, (before, after))| PfsChange {
            page: PageId { page, ..modify.fixed.page.page },
            before: PfsByte(*before),
            after: PfsByte(*after),
        })
    })
}

/// The numbers of the pages whose bytes a change of a PFS page covers.
pub fn pfs_run(modify: &ModifyRow<'_>) -> Range<u32> {
    let interval = modify.fixed.page.page.page / PAGES_PER_PFS * PAGES_PER_PFS;
    let first = modify.fixed.offset_in_row.saturating_sub(BYTES_IN_RECORD);
    let first = interval.saturating_add(u32::from(first));
    first..first.saturating_add(modify.after.len() as u32)
}

/// The extents whose bits a change of GAM, SGAM or DIFF covers, as far as page numbers go.
pub fn extent_run(bits: &BitsPart) -> impl Iterator<Item = Extent> + use<> {
    let map = bits.page.page;
    let interval = map.page / PAGES_PER_GAM * PAGES_PER_GAM / PAGES_PER_EXTENT;
    let first = interval + u32::from(bits.first_bit.saturating_sub(BITS_IN_RECORD));
    let count = u32::from(bits.bit_count);
    let end = (first + count).min(u32::MAX / PAGES_PER_EXTENT);
    (first..end).map(move |index| Extent { file: map.file, index })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::payload::page::SetBits;

    #[test]
    fn bytes_and_bits_are_counted_from_the_start_of_their_interval() {
        let mut modify = ModifyRow { before: &[0, 0x60], after: &[0x60, 0], ..Default::default() };
        modify.fixed.page.page = PageId::new(3, 16176);
        modify.fixed.offset_in_row = 4 + 7;
        let payload = Payload::ModifyRow(modify);
        let changes: Vec<PfsChange> = pfs_changes(Context::PFS, &payload).collect();
        let [first, second] = changes[..] else { panic!("{changes:?}") };
        assert_eq!((first.page, second.page), (PageId::new(3, 16183), PageId::new(3, 16184)));
        assert!(first.allocates_mixed() && !first.frees_mixed());
        assert!(second.frees_mixed() && !second.allocates_mixed());
        assert_eq!(pfs_changes(Context::IAM, &payload).count(), 0);

        let mut bits = SetBits::default();
        bits.fixed.page.page = PageId::new(1, PAGES_PER_GAM);
        (bits.fixed.first_bit, bits.fixed.bit_count) = (32 + 5, 2);
        let extents: Vec<u32> = extent_run(&bits.fixed).map(|extent| extent.index).collect();
        assert_eq!(extents, [63_904 + 5, 63_904 + 6]);
    }
}
