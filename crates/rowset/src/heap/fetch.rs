//! Many rows by their addresses: those of one page are read under one latch.
//!
//! ```text
//! addresses   (1:80:3) (1:77:2) (1:80:1)     in the order of some index
//! pages       (1:77): 2      (1:80): 1, 3    each latched once, its records copied into one buffer
//! fetched     by number: 0, 1, 2             in the order of the addresses again
//! ```

use std::ops::Range;

use extentdb_base::{Lsn, Rid};
use extentdb_format::page::PageRef;

use super::Heap;
use super::scan::{StoredRow, stored};
use crate::Error;

/// Bytes assumed for a record before the first one is read.
const USUAL_RECORD_BYTES: usize = 100;

/// Records by the number of their address.
#[derive(Debug)]
pub struct Fetched {
    bytes: Vec<u8>,
    rows: Vec<Option<Range<usize>>>,
}

impl Fetched {
    /// None yet, of so many addresses.
    pub(super) fn with_room_for(count: usize) -> Fetched {
        let bytes = Vec::with_capacity(count * USUAL_RECORD_BYTES);
        Fetched { bytes, rows: vec![None; count] }
    }

    /// The record of an address.
    pub(super) fn set(&mut self, number: usize, record: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record.unwrap_or_default());
        if let Some(row) = self.rows.get_mut(number) {
            *row = record.map(|_| start..self.bytes.len());
        }
    }

    /// The record of the address with this number; `None` where it is not known to be committed, or
    /// there is no row.
    pub fn record(&self, number: usize) -> Option<&[u8]> {
        self.bytes.get(self.rows.get(number)?.clone()?)
    }
}

impl Heap {
    /// The records at these addresses, as far as [`settled`](Self::settled) has them. `oldest_open`
    /// returns the begin of the oldest open transaction; it is called once for each page, while the
    /// page is latched.
    ///
    /// # Errors
    /// A page cannot be read, or a record does not add up.
    pub fn settled_rows(
        &self,
        rids: &[Rid],
        oldest_open: &dyn Fn() -> Option<Lsn>,
    ) -> Result<Fetched, Error> {
        let mut fetched = Fetched::with_room_for(rids.len());
        let mut order: Vec<(Rid, usize)> = rids.iter().copied().zip(0..).collect();
        if order.len() > 1 {
            order.sort_unstable();
        }
        for run in order.chunk_by(|(a, _), (b, _)| a.page == b.page) {
            self.fetch_page(run, oldest_open, &mut fetched)?;
        }
        Ok(fetched)
    }

    /// The same for addresses of one page.
    fn fetch_page(
        &self,
        run: &[(Rid, usize)],
        oldest_open: &dyn Fn() -> Option<Lsn>,
        fetched: &mut Fetched,
    ) -> Result<(), Error> {
        let Some((first, _)) = run.first() else { return Ok(()) };
        let page = self.space.pool().read(first.page)?;
        let view = PageRef::new(&page);
        let is_open = oldest_open().is_some_and(|open| view.header().lsn() >= open);
        if is_open || view.header().alloc_unit() != self.unit.id() {
            return Ok(());
        }
        for (at, number) in run {
            let is_used = view.slot_offset(at.slot.0).is_some_and(|offset| offset != 0);
            if is_used && let StoredRow::Row(row) = stored(view, *at)? {
                fetched.set(*number, Some(row));
            }
        }
        Ok(())
    }
}
