//! Off-row values as streams of bytes.
//!
//! A value is a tree of LOB records. Parents come before children and carry, for each child, where
//! its part of the value ends; the reader checks every such end against the bytes it has handed
//! out, so a value is either complete or an error. Memory: one page, and the links of one record
//! per level.

use extentdb_base::Rid;
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::lob::{LobContent, LobLink, LobPointer, LobRecord};

use crate::error::Fault;
use crate::pages::PageGetter;

/// Deeper than any value: internal records have hundreds of links.
const LEVELS_MAX: usize = 16;

/// An inline root keeps 32 bits of the blob id, from bit 16 on.
const INLINE_BLOB_BITS: u64 = 0x0000_ffff_ffff_0000;

/// A level that is being read.
struct LobLevel {
    /// Bytes of the value before this record's part.
    base: u64,
    /// Links still to follow, in reverse order.
    links: Vec<LobLink>,
}

/// Reads a value chunk by chunk.
pub struct LobReader<'g> {
    pages: &'g dyn PageGetter,
    blob_id: u64,
    /// The bits of the blob id that the pointer holds.
    blob_mask: u64,
    /// Where the value starts, for messages.
    owner: Rid,
    levels: Vec<LobLevel>,
    /// A root whose ends are not known before it is read (text pointers).
    root: Option<Rid>,
    /// Bytes handed out.
    done: u64,
    /// The page read last; absent while its record is taken.
    page: Option<PageBuf>,
    loaded: Option<extentdb_base::PageId>,
}

impl<'g> LobReader<'g> {
    /// Starts reading what a complex column of the row at `owner` points to.
    ///
    /// # Errors
    /// The pointer is none to a value.
    pub fn new(
        pages: &'g dyn PageGetter,
        owner: Rid,
        pointer: &LobPointer<'_>,
    ) -> Result<Self, Fault> {
        let mut reader = LobReader {
            pages,
            blob_id: 0,
            blob_mask: u64::MAX,
            owner,
            levels: Vec::new(),
            root: None,
            done: 0,
            page: None,
            loaded: None,
        };
        match pointer {
            LobPointer::Text { blob_id, root } => {
                reader.blob_id = *blob_id;
                reader.root = (!root.page.is_none()).then_some(*root);
            }
            LobPointer::Inline(root) => {
                reader.blob_id = root.blob_id();
                reader.blob_mask = INLINE_BLOB_BITS;
                reader.enter(root.links().collect(), owner, None)?;
            }
            _ => {
                return Err(Fault::Lob {
                    rid: owner,
                    what: "the pointer in the row has no known form".to_owned(),
                });
            }
        }
        Ok(reader)
    }

    /// Appends the next part of the value to `out`. False at its end.
    ///
    /// # Errors
    /// The value does not add up: it cannot be read on.
    pub fn read_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Fault> {
        if let Some(root) = self.root.take() {
            return self.read_record(root, None, out);
        }
        loop {
            let Some(level) = self.levels.last_mut() else { return Ok(false) };
            let base = level.base;
            match level.links.pop() {
                Some(link) => {
                    return self.read_record(link.target, Some(base.saturating_add(link.end)), out);
                }
                None => self.levels.pop(),
            };
        }
    }

    /// The whole value, refused when it is longer than `max` bytes.
    ///
    /// # Errors
    /// As [`read_chunk`](Self::read_chunk), or too long.
    pub fn read_to_vec(mut self, max: usize) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        while self.read_chunk(&mut out)? {
            if out.len() > max {
                return Err(self.fault(self.owner, format!("longer than {max} bytes")));
            }
        }
        Ok(out)
    }

    fn fault(&self, rid: Rid, what: String) -> Fault {
        Fault::Lob { rid, what: format!("{what} (value of row {})", self.owner) }
    }

    fn load(&mut self, rid: Rid) -> Result<(), Fault> {
        if self.loaded != Some(rid.page) {
            self.loaded = None;
            let page = self.page.get_or_insert_with(PageBuf::zeroed);
            self.pages.page(rid.page, page)?;
            self.loaded = Some(rid.page);
        }
        Ok(())
    }

    /// Reads one record: data goes to `out`, links become the next level. `end` is where the parent
    /// says it ends.
    fn read_record(
        &mut self,
        rid: Rid,
        end: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Fault> {
        self.load(rid)?;
        let Some(page) = self.page.take() else { return Ok(false) };
        let result = self.take_record(&page, rid, end, out);
        self.page = Some(page);
        result.map(|()| true)
    }

    fn take_record(
        &mut self,
        page: &PageBuf,
        rid: Rid,
        end: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let Some(bytes) = PageRef::new(page).record_bytes(rid.slot.0) else {
            return Err(self.fault(rid, "no record in this slot".to_owned()));
        };
        let record = LobRecord::parse(bytes);
        if let Some(fault) = record.fault() {
            return Err(self.fault(rid, format!("{fault:?}")));
        }
        if (record.blob_id() ^ self.blob_id) & self.blob_mask != 0 {
            let what = format!(
                "blob id {:#x}, but the pointer says {:#x}",
                record.blob_id(),
                self.blob_id
            );
            return Err(self.fault(rid, what));
        }
        match record.content() {
            LobContent::SmallRoot(data) | LobContent::Data(data) => {
                self.take_data(data, rid, end, out)
            }
            LobContent::Links(node) => self.enter(node.links().collect(), rid, end),
            LobContent::Null => self.take_data(&[], rid, end, out),
            LobContent::Unknown => Err(self.fault(rid, format!("record kind {}", record.kind()))),
        }
    }

    fn take_data(
        &mut self,
        data: &[u8],
        rid: Rid,
        end: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        out.extend_from_slice(data);
        self.done += data.len() as u64;
        match end {
            Some(end) if end != self.done => Err(self.fault(
                rid,
                format!("ends at byte {} of the value, its parent says {end}", self.done),
            )),
            _ => Ok(()),
        }
    }

    fn enter(&mut self, mut links: Vec<LobLink>, rid: Rid, end: Option<u64>) -> Result<(), Fault> {
        if self.levels.len() >= LEVELS_MAX {
            return Err(self.fault(rid, "deeper than a value can be".to_owned()));
        }
        let last = links.last().map_or(0, |link| link.end);
        if end.is_some_and(|end| self.done.checked_add(last) != Some(end)) {
            return Err(self.fault(rid, format!("its parts end at {last}, its parent disagrees")));
        }
        // Every part has bytes: a record that leads back to itself would otherwise never end.
        if !links.is_sorted_by(|a, b| a.end < b.end)
            || links.first().is_some_and(|first| first.end == 0)
        {
            return Err(self.fault(rid, "its parts are not in order".to_owned()));
        }
        links.reverse();
        self.levels.push(LobLevel { base: self.done, links });
        Ok(())
    }
}
