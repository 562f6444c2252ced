//! Writing a value: a new one, or a change of one that is there, both as a stream.

use extentdb_base::Rid;
use extentdb_format::page::PageType;
use extentdb_format::record::lob::{
    LARGE_ROOT_KIND, ROOT_LINKS_MAX, write_large_root, write_null, write_small_root,
};

use super::build::{Built, TreeBuilder, links_of};
use super::cut::Kept;
use super::pages::Work;
use super::path::{Path, parts_of};
use super::read::OpenRoot;
use super::root::blob_id_of;
use super::{InRowRoot, LobChange, LobForm, LobRoot, LobUnit, TextRoot};
use crate::Error;

/// The longest value of any type.
const VALUE_BYTES_MAX: u64 = (1 << 31) - 1;
/// The update sequence of a value that was never changed.
const FIRST_UPDATE: u32 = 1;

/// A part of a value that is replaced, as by `.WRITE`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LobSplice {
    /// Its first byte; the length of the value to append.
    pub offset: u64,
    /// Its length; what reaches past the end of the value does not count.
    pub length: u64,
    /// Length of the new bytes, when that is known. As many as before change the value in place.
    pub data_len: Option<u64>,
}

/// A value that is being written, chunk by chunk.
///
/// One that is dropped before [`finish`](Self::finish), or fails, has changed pages: the
/// transaction is to be rolled back to where the statement began.
#[derive(Debug)]
pub struct LobWriter<'u, 't> {
    work: Work<'u, 't>,
    form: LobForm,
    blob_id: u64,
    update_sequence: u32,
    /// The root record of a text pointer, when there is one already.
    root: Option<Rid>,
    /// Bytes of the value, with those that are written so far.
    len: u64,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Build(TreeBuilder),
    Overwrite(Overwrite),
}

/// A replacement of bytes by as many others.
#[derive(Debug)]
struct Overwrite {
    root: LobRoot,
    path: Path,
    offset: u64,
    end: u64,
}

impl LobUnit {
    /// A new value. `blob_id` must be one that no value of the database has, with 16 low bits that
    /// are zero and at most 48 bits: the counter of rowversion values, shifted left by 16.
    pub fn create<'u, 't>(
        &'u self,
        change: LobChange<'t>,
        form: LobForm,
        blob_id: u64,
    ) -> LobWriter<'u, 't> {
        let blob_id = blob_id_of(blob_id);
        LobWriter {
            work: Work::new(self, change),
            form,
            blob_id,
            update_sequence: FIRST_UPDATE,
            root: None,
            len: 0,
            body: Body::Build(TreeBuilder::new(blob_id)),
        }
    }

    /// Replaces a part of a value by what is written to the result: append (at its end), replace,
    /// and without a byte written, truncate or remove. Bytes that stay are not copied, but for the
    /// fragments at both ends of the part.
    ///
    /// # Errors
    /// [`Error::Offset`]: the part begins past the end. A record is damaged; the log is full.
    pub fn edit<'u, 't>(
        &'u self,
        change: LobChange<'t>,
        root: &LobRoot,
        splice: LobSplice,
    ) -> Result<LobWriter<'u, 't>, Error> {
        let open = self.open_root(root)?;
        let blob_id = self.full_blob_id(root)?;
        let len = match &open {
            OpenRoot::Small(data) => data.len() as u64,
            OpenRoot::Tree { links, .. } => links.last().map_or(0, |link| link.end),
        };
        let LobSplice { offset, .. } = splice;
        if offset > len {
            return Err(Error::Offset { offset, len });
        }
        let end = offset.saturating_add(splice.length).min(len);
        let mut work = Work::new(self, change);
        let left_len = len - (end - offset);
        let (body, len) = match open {
            OpenRoot::Tree { level, links } if splice.data_len == Some(end - offset) => {
                let path = Path::new(blob_id, level, links);
                (Body::Overwrite(Overwrite { root: root.clone(), path, offset, end }), len)
            }
            open => (Body::Build(cut_open(&mut work, blob_id, open, offset, end)?), left_len),
        };
        let (update_sequence, root_record) = match root {
            LobRoot::InRow(root) => (root.update_sequence.wrapping_add(1), None),
            LobRoot::Text(text) => (FIRST_UPDATE, (!text.root.page.is_none()).then_some(text.root)),
        };
        Ok(LobWriter {
            work,
            form: root.form(),
            blob_id,
            update_sequence,
            root: root_record,
            len,
            body,
        })
    }

    /// Removes a value. Its pages are free after the commit.
    ///
    /// # Errors
    /// A record is damaged; the log is full.
    pub fn free(&self, change: LobChange<'_>, root: &LobRoot) -> Result<(), Error> {
        let open = self.open_root(root)?;
        let blob_id = self.full_blob_id(root)?;
        let mut work = Work::new(self, change);
        if let OpenRoot::Tree { level, links } = open {
            work.remove_parts(blob_id, level.into(), &parts_of(&links))?;
        }
        if let LobRoot::Text(text) = root
            && !text.root.page.is_none()
        {
            work.remove(text.root)?;
        }
        work.free_pages()
    }
}

/// Takes the part between two offsets out of a value; what is left is in the builder.
fn cut_open(
    work: &mut Work<'_, '_>,
    blob_id: u64,
    open: OpenRoot,
    offset: u64,
    end: u64,
) -> Result<TreeBuilder, Error> {
    let mut builder = TreeBuilder::new(blob_id);
    match open {
        OpenRoot::Small(data) => {
            builder.tail.data = data[end as usize..].to_vec();
            builder.data = data;
            builder.data.truncate(offset as usize);
        }
        OpenRoot::Tree { level, links } => {
            let parts = parts_of(&links);
            let len = links.last().map_or(0, |link| link.end);
            let kept = Kept {
                left: (offset > 0).then_some(offset),
                right: (end < len).then_some(end),
            };
            work.cut(&mut builder, level.into(), &parts, kept)?;
        }
    }
    Ok(builder)
}

impl LobWriter<'_, '_> {
    /// Writes the next bytes.
    ///
    /// # Errors
    /// [`Error::ValueTooLong`]: longer than 2 GiB - 1. The filegroup or the log is full; a page
    /// cannot be read. The statement is to be rolled back then.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.body {
            Body::Build(builder) => {
                self.len += bytes.len() as u64;
                if self.len > VALUE_BYTES_MAX {
                    return Err(Error::ValueTooLong { most: VALUE_BYTES_MAX });
                }
                builder.push(&mut self.work, bytes)
            }
            Body::Overwrite(overwrite) => overwrite.write(&mut self.work, bytes),
        }
    }

    /// Bytes of the value, with those written so far.
    pub fn value_len(&self) -> u64 {
        self.len
    }

    /// Ends the value; returns what its row is to keep.
    ///
    /// # Errors
    /// As [`write`](Self::write); [`Error::Offset`] when fewer bytes were written than the splice
    /// promised.
    pub fn finish(mut self) -> Result<LobRoot, Error> {
        let root = match self.body {
            Body::Overwrite(overwrite) => overwrite.finish(self.update_sequence)?,
            Body::Build(builder) => {
                let built = builder.finish(&mut self.work, self.form == LobForm::Text)?;
                match self.form {
                    LobForm::Text => {
                        let record = root_record(self.blob_id, built);
                        let root = self.work.put(self.root, PageType::TextMix, &record)?;
                        LobRoot::Text(TextRoot { blob_id: self.blob_id, root })
                    }
                    LobForm::InRow | LobForm::Overflow => {
                        let Built::Tree { level, parts } = built else {
                            return Err(Error::Record { what: "a small root in a row" });
                        };
                        LobRoot::InRow(InRowRoot {
                            is_overflow: self.form == LobForm::Overflow,
                            level,
                            update_sequence: self.update_sequence,
                            blob_id: blob_id_of(self.blob_id),
                            links: links_of(&parts),
                        })
                    }
                }
            }
        };
        self.work.free_pages()?;
        Ok(root)
    }
}

/// The root record of a text value.
fn root_record(blob_id: u64, built: Built) -> Vec<u8> {
    match built {
        Built::Small(data) if data.is_empty() => write_null(blob_id),
        Built::Small(data) => write_small_root(blob_id, &data),
        Built::Tree { level, parts } => {
            let links = links_of(&parts);
            write_large_root(blob_id, LARGE_ROOT_KIND, ROOT_LINKS_MAX, level, &links)
        }
    }
}

impl Overwrite {
    fn write(&mut self, work: &mut Work<'_, '_>, mut bytes: &[u8]) -> Result<(), Error> {
        if bytes.len() as u64 > self.end - self.offset {
            let offset = self.offset + bytes.len() as u64;
            return Err(Error::Offset { offset, len: self.end });
        }
        while !bytes.is_empty() {
            let Some(fragment) = self.path.fragment_at(work.unit, self.offset)? else {
                return Err(Error::Offset { offset: self.offset, len: self.path.value_len() });
            };
            let count = bytes.len().min((fragment.end - self.offset) as usize);
            let (now, rest) = bytes.split_at(count);
            let within = (self.offset - fragment.start) as usize;
            work.unit.overwrite(&mut work.change, fragment.at, within, now)?;
            self.offset += count as u64;
            bytes = rest;
        }
        Ok(())
    }

    fn finish(self, update_sequence: u32) -> Result<LobRoot, Error> {
        if self.offset != self.end {
            return Err(Error::Offset { offset: self.offset, len: self.end });
        }
        Ok(match self.root {
            LobRoot::InRow(root) => LobRoot::InRow(InRowRoot { update_sequence, ..root }),
            text => text,
        })
    }
}
