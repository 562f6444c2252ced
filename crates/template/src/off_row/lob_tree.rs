//! A value off its row as a tree of records.
//!
//! ```text
//! root       in the row ((max) types) or a record (text, ntext, image): up to 5 links
//! internal   up to 501 links each, as many levels as the value needs
//! data       8040 bytes each
//!
//! bytes            levels of internal records
//! to 40,200        0
//! to 20,140,200    1
//! to 2 GiB         2
//! ```
//!
//! Ends in a record count from the start of its own part. A text value of up to 64 bytes is a small
//! root, an empty one a null record. The value is read part by part and never held as a whole.

use extentdb_format::record::lob::{
    DATA_BYTES_MAX, INTERNAL_LINKS_MAX, LobLink, ROOT_LINKS_MAX, SMALL_ROOT_DATA_MAX, write_data,
    write_inline_root, write_internal, write_large_root, write_null, write_small_root,
    write_text_pointer,
};

use crate::Error;
use crate::file::allocation::Space;
use crate::file::sink::PageSink;
use crate::off_row::lob_pages::LobBuilder;
use extentdb_catalog::table::values::LobStream;

/// The longest value of any type.
pub(crate) const VALUE_BYTES_MAX: u64 = (1 << 31) - 1;
/// Kind of a root record of 2005 and later.
const LARGE_ROOT: u16 = 5;
/// The update sequence of a value that was never changed.
const FIRST_UPDATE: u32 = 1;

/// The bytes of a value.
#[derive(Clone, Copy)]
pub(crate) enum LobBytes<'a> {
    Slice(&'a [u8]),
    Stream(&'a LobStream),
}

impl LobBytes<'_> {
    fn len(&self) -> u64 {
        match self {
            LobBytes::Slice(bytes) => bytes.len() as u64,
            LobBytes::Stream(stream) => stream.byte_len(),
        }
    }

    fn read(&self, offset: u64, part: &mut [u8]) {
        match self {
            LobBytes::Slice(bytes) => part.copy_from_slice(&bytes[offset as usize..][..part.len()]),
            LobBytes::Stream(stream) => stream.read(offset, part),
        }
    }
}

/// Writes one value.
pub(crate) struct LobTree<'a, 'b> {
    pub(crate) value: LobBytes<'a>,
    pub(crate) blob: u64,
    pub(crate) pages: &'b mut LobBuilder,
    pub(crate) space: &'b mut Space,
    pub(crate) sink: &'b mut dyn PageSink,
}

impl LobTree<'_, '_> {
    /// Stores the value; returns what the row of a (max) column keeps.
    pub(crate) fn inline_root(mut self) -> Result<Vec<u8>, Error> {
        let (level, links) = self.children()?;
        Ok(write_inline_root(false, level, FIRST_UPDATE, self.blob, &links))
    }

    /// Stores the value of a column pushed off its row; returns what the row keeps.
    pub(crate) fn overflow_pointer(mut self) -> Result<Vec<u8>, Error> {
        let (level, links) = self.children()?;
        Ok(write_inline_root(true, level, FIRST_UPDATE, self.blob, &links))
    }

    /// Stores the value; returns what the row of a text, ntext or image column keeps.
    pub(crate) fn text_pointer(mut self) -> Result<Vec<u8>, Error> {
        let len = self.value.len();
        let record = if len == 0 {
            write_null(self.blob)
        } else if len <= SMALL_ROOT_DATA_MAX as u64 {
            let mut bytes = [0; SMALL_ROOT_DATA_MAX];
            let bytes = &mut bytes[..len as usize];
            self.value.read(0, bytes);
            write_small_root(self.blob, bytes)
        } else {
            let (level, links) = self.children()?;
            write_large_root(self.blob, LARGE_ROOT, ROOT_LINKS_MAX, level, &links)
        };
        let root = self.pages.place(&record, self.space, self.sink)?;
        Ok(write_text_pointer(self.blob, root).to_vec())
    }

    /// Stores everything below the root: its level and links.
    fn children(&mut self) -> Result<(u16, Vec<LobLink>), Error> {
        let mut level = 0;
        while span(level) * u64::from(ROOT_LINKS_MAX) < self.value.len() {
            level += 1;
        }
        let links = self.links(0, self.value.len(), level)?;
        Ok((level, links))
    }

    /// Links of a record of this level to the parts of `start..end`, ends counted from `start`.
    fn links(&mut self, start: u64, end: u64, level: u16) -> Result<Vec<LobLink>, Error> {
        let mut links = Vec::new();
        let mut at = start;
        while at < end {
            let to = end.min(at + span(level));
            let target = match level.checked_sub(1) {
                None => {
                    let mut part = [0; DATA_BYTES_MAX];
                    let part = &mut part[..(to - at) as usize];
                    self.value.read(at, part);
                    self.pages.place(&write_data(self.blob, part), self.space, self.sink)?
                }
                Some(below) => {
                    let links = self.links(at, to, below)?;
                    let record = write_internal(self.blob, INTERNAL_LINKS_MAX, below, &links);
                    self.pages.place_internal(&record, self.space, self.sink)?
                }
            };
            links.push(LobLink { end: to - start, target });
            at = to;
        }
        Ok(links)
    }
}

/// Bytes below one link of a record of this level.
fn span(level: u16) -> u64 {
    (0..level).fold(DATA_BYTES_MAX as u64, |bytes, _| bytes * u64::from(INTERNAL_LINKS_MAX))
}
