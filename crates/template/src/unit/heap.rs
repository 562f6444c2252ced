//! Builds a heap: rows page after page, moved rows on pages of their own.
//!
//! ```text
//! home page      row, row, stub -> , row …
//! forward page   forwarded row …                open together with the home page, filled in turn
//! ```

use extentdb_base::{PageId, Rid};
use extentdb_format::PageBuf;
use extentdb_format::allocation::pfs::Fullness;
use extentdb_format::page::{PageHeader, PageMut, PageType};

use crate::Error;
use crate::file::allocation::Space;
use crate::file::fixed_pages::LSN;
use crate::file::sink::PageSink;
use crate::record::{Entry, RecordWriter};
use crate::spec::alteration::RowState;
use crate::unit::packer::Packer;
use crate::unit::tree::{EntryError, RECORD_BYTES_MAX};
use crate::unit::{UnitPages, UnitResult};

/// A heap that is growing.
pub(crate) struct HeapBuilder {
    writer: RecordWriter,
    unit: UnitPages,
    home: Option<OpenPage>,
    forward: Option<OpenPage>,
    first: PageId,
    pages: i64,
    record: Vec<u8>,
    form: HeapForm,
}

/// Two kinds of heaps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapForm {
    /// All but one.
    Usual,
    /// sysfiles1: each record takes 792 bytes of its page, which has two flags of its own.
    SysFiles,
}

const SYSFILES_FOOTPRINT: usize = 792;
const SYSFILES_FLAGS: u16 = 0x0006;

struct OpenPage {
    page: PageBuf,
    id: PageId,
    packer: Packer,
}

impl HeapBuilder {
    pub(crate) fn new(writer: RecordWriter, unit: UnitPages, form: HeapForm) -> HeapBuilder {
        HeapBuilder {
            writer,
            unit,
            home: None,
            forward: None,
            first: PageId::NONE,
            pages: 0,
            record: Vec::new(),
            form,
        }
    }

    /// Appends a row; returns its RID, which for a forwarded row is that of its stub, and for a
    /// deleted one its empty slot.
    pub(crate) fn push(
        &mut self,
        entry: &Entry<'_>,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<Rid, EntryError> {
        if entry.state.is_forwarded {
            return self.push_forwarded(entry, space, sink);
        }
        let mut record = std::mem::take(&mut self.record);
        self.writer.leaf(entry, &mut record);
        if record.len() > RECORD_BYTES_MAX {
            return Err(EntryError::TooLong(record.len()));
        }
        if self.form == HeapForm::SysFiles {
            record.resize(SYSFILES_FOOTPRINT, 0);
        }
        let home = self.home.take();
        let (rid, mut home) = self.place(home, &record, &entry.state, space, sink)?;
        if entry.state.is_vacated {
            home.packer.vacate(&mut home.page, rid.slot.0, &record);
        }
        self.home = Some(home);
        self.record = record;
        Ok(rid)
    }

    fn push_forwarded(
        &mut self,
        entry: &Entry<'_>,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<Rid, EntryError> {
        // The stub is written first, because the forwarded row refers back to it; its target is
        // filled in afterwards.
        let home = self.home.take();
        let (rid, mut home) =
            self.place(home, &self.writer.stub(Rid::default()), &entry.state, space, sink)?;
        let mut record = std::mem::take(&mut self.record);
        self.writer.forwarded(entry, rid, &mut record);
        if record.len() > RECORD_BYTES_MAX {
            return Err(EntryError::TooLong(record.len()));
        }
        let forward = self.forward.take();
        let (target, forward) = self.place(forward, &record, &entry.state, space, sink)?;
        home.packer.replace(&mut home.page, rid.slot.0, &self.writer.stub(target));
        (self.home, self.forward, self.record) = (Some(home), Some(forward), record);
        Ok(rid)
    }

    /// Places a record on the open page, or on a new one.
    fn place(
        &mut self,
        open: Option<OpenPage>,
        record: &[u8],
        state: &RowState,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<(Rid, OpenPage), Error> {
        if let Some(mut open) = open {
            if let Some(slot) = open.packer.push(&mut open.page, record) {
                return Ok((Rid::new(open.id, slot), open));
            }
            close(open, space, sink)?;
        }
        let mut open = self.open(state, space)?;
        let slot = open.packer.push(&mut open.page, record).unwrap_or(0);
        Ok((Rid::new(open.id, slot), open))
    }

    fn open(&mut self, state: &RowState, space: &mut Space) -> Result<OpenPage, Error> {
        let id = self.unit.page(space)?;
        if self.first.is_none() {
            self.first = id;
        }
        self.pages += 1;
        let mut page = PageBuf::zeroed();
        let mut edit = PageMut::format(&mut page, id, PageType::Data, self.unit.id());
        let header = edit.header_mut();
        header.fixed_len.set(self.writer.fixed_end(state));
        header.lsn_bytes = LSN.to_bytes();
        if self.form == HeapForm::SysFiles {
            header.flag_bits.set(SYSFILES_FLAGS);
        }
        Ok(OpenPage {
            page,
            id,
            packer: Packer::new(self.writer.layout.row.compression),
        })
    }

    /// Writes the open pages and the IAM chain.
    pub(crate) fn finish(
        mut self,
        space: &mut Space,
        sink: &mut dyn PageSink,
    ) -> Result<UnitResult, Error> {
        for open in [self.home.take(), self.forward.take()].into_iter().flatten() {
            close(open, space, sink)?;
        }
        // The old system table keeps its first page as its root.
        let root = if self.form == HeapForm::SysFiles { self.first } else { PageId::NONE };
        self.unit.finish(self.first, root, self.pages, sink)
    }
}

fn close(open: OpenPage, space: &mut Space, sink: &mut dyn PageSink) -> Result<(), Error> {
    let free = PageHeader::of(&open.page).free_bytes.get();
    space.set_fullness(open.id, Fullness::of_free_bytes(free));
    space.note_ghosts(&open.page);
    sink.put(&open.page)
}
