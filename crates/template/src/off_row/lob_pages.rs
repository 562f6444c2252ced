//! The pages of a LOB or row-overflow unit: records of many values, one after the other.
//!
//! ```text
//! type 3   text mix page    data records, roots: records of several values, filled in turn
//! type 4   text tree page   internal records of long values
//! ```

use extentdb_base::{PageId, Rid};
use extentdb_format::PageBuf;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::page::{PageHeader, PageMut, PageType};

use crate::Error;
use crate::file::allocation::Space;
use crate::file::fixed_pages::LSN;
use crate::file::sink::PageSink;
use crate::unit::{UnitPages, UnitResult};

/// A unit of values off their rows.
pub(crate) struct LobBuilder {
    unit: UnitPages,
    mix: Option<OpenPage>,
    tree: Option<OpenPage>,
    first: PageId,
}

struct OpenPage {
    page: PageBuf,
    id: PageId,
}

impl LobBuilder {
    pub(crate) fn new(unit: UnitPages) -> LobBuilder {
        LobBuilder { unit, mix: None, tree: None, first: PageId::NONE }
    }

    /// Places a data record or a root.
    pub(crate) fn place(
        &mut self,
        record: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<Rid, Error> {
        let open = self.mix.take();
        let (rid, open) = self.place_on(open, PageType::TextMix, record, space, sink)?;
        self.mix = Some(open);
        Ok(rid)
    }

    /// Places an internal record.
    pub(crate) fn place_internal(
        &mut self,
        record: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<Rid, Error> {
        let open = self.tree.take();
        let (rid, open) = self.place_on(open, PageType::TextTree, record, space, sink)?;
        self.tree = Some(open);
        Ok(rid)
    }

    fn place_on(
        &mut self,
        open: Option<OpenPage>,
        kind: PageType,
        record: &[u8],
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(Rid, OpenPage), Error> {
        if let Some(mut open) = open {
            if let Some(slot) = PageMut::new(&mut open.page).push(record) {
                return Ok((Rid::new(open.id, slot), open));
            }
            close(&open, space, sink)?;
        }
        let id = self.unit.page(space)?;
        if self.first.is_none() {
            self.first = id;
        }
        let mut page = PageBuf::zeroed();
        let mut edit = PageMut::format(&mut page, id, kind, self.unit.id());
        edit.header_mut().lsn_bytes = LSN.to_bytes();
        let slot = edit.push(record).unwrap_or(0);
        Ok((Rid::new(id, slot), OpenPage { page, id }))
    }

    /// Writes the open pages and the IAM chain.
    pub(crate) fn finish(
        mut self,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<UnitResult, Error> {
        for open in [self.mix.take(), self.tree.take()].into_iter().flatten() {
            close(&open, space, sink)?;
        }
        self.unit.finish(self.first, self.first, 0, sink)
    }
}

fn close(open: &OpenPage, space: &mut Space, sink: &mut dyn PageSink) -> Result<(), Error> {
    let header = PageHeader::of(&open.page);
    let fullness = match header.kind() {
        // Text tree pages count as full however many records they have, in every real file.
        PageType::TextTree => Fullness::UpTo100,
        _ => Fullness::of_free_bytes(header.free_bytes.get()),
    };
    space.set_fullness(open.id, fullness);
    sink.put(&open.page)
}
