//! Values that lie off their rows: data records on text pages, and the root that stays in the row.
//!
//! ```text
//! row     … complex column: inline root, 1 to 5 links ->
//! page    data record (up to 8040 bytes), data record …      type 3, of the table's LOB unit
//! ```
//!
//! Longer values need inner nodes; they are not made here.

use extentdb_base::{PageId, Rid};
use extentdb_format::PageBuf;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::page::{PageHeader, PageMut, PageType};
use extentdb_format::record::lob::{DATA_BYTES_MAX, LobLink, ROOT_LINKS_MAX, write_data, write_inline_root};

use super::fixed::LSN;
use super::sink::PageSink;
use super::space::Space;
use super::unit::{UnitPages, UnitResult};
use crate::Error;

/// The longest value an inline root reaches without inner nodes.
pub(super) const VALUE_BYTES_MAX: usize = DATA_BYTES_MAX * ROOT_LINKS_MAX as usize;

/// The LOB unit of a table.
pub(super) struct LobBuilder {
    unit: UnitPages,
    open: Option<(PageBuf, PageId)>,
    first: PageId,
    /// The id of the next value, without its 16 low bits, which are 0.
    next_blob: u64,
}

impl LobBuilder {
    /// `next_blob`: the counter that blob ids come from, which is the one of rowversion values.
    pub(super) fn new(unit: UnitPages, next_blob: u64) -> LobBuilder {
        LobBuilder { unit, open: None, first: PageId::NONE, next_blob }
    }

    /// Stores a value; returns what the row keeps.
    pub(super) fn push(
        &mut self,
        value: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<Vec<u8>, Error> {
        let blob = self.next_blob << 16;
        self.next_blob += 1;
        let (mut links, mut end) = (Vec::new(), 0);
        for part in value.chunks(DATA_BYTES_MAX) {
            end += part.len() as u64;
            let target = self.place(&write_data(blob, part), space, sink)?;
            links.push(LobLink { end, target });
        }
        Ok(write_inline_root(false, 0, 1, blob, &links))
    }

    fn place(&mut self, record: &[u8], space: &mut Space, sink: &mut dyn PageSink) -> Result<Rid, Error> {
        if let Some((page, id)) = &mut self.open
            && let Some(slot) = PageMut::new(page).push(record)
        {
            return Ok(Rid::new(*id, slot));
        }
        self.close(space, sink)?;
        let id = self.unit.page(space)?;
        if self.first.is_none() {
            self.first = id;
        }
        let mut page = PageBuf::zeroed();
        let mut edit = PageMut::format(&mut page, id, PageType::TextMix, self.unit.id());
        edit.header_mut().lsn_bytes = LSN.to_bytes();
        let slot = edit.push(record).unwrap_or(0);
        self.open = Some((page, id));
        Ok(Rid::new(id, slot))
    }

    fn close(&mut self, space: &mut Space, sink: &mut dyn PageSink) -> Result<(), Error> {
        let Some((page, id)) = self.open.take() else { return Ok(()) };
        space.set_fullness(id, Fullness::of_free_bytes(PageHeader::of(&page).free_bytes.get()));
        sink.put(&page)
    }

    /// Writes the open page and the IAM chain; returns the next blob id, too.
    pub(super) fn finish(
        mut self,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(UnitResult, u64), Error> {
        self.close(space, sink)?;
        let result = self.unit.finish(self.first, self.first, 0, sink)?;
        Ok((result, self.next_blob))
    }
}
