//! Reading a value by offset and length.

use extentdb_base::sync::Arc;
use extentdb_format::record::lob::{LobContent, LobLink, LobRecord};

use super::build::Part;
use super::error::damaged;
use super::path::{Path, sound_links, verify_links};
use super::{LobRoot, LobUnit};
use crate::Error;
use crate::version::{KeptValue, ValueKey, Versioning, Versions};

/// What a root holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum OpenRoot {
    /// The value itself.
    Small(Vec<u8>),
    /// Links to its parts.
    Tree { level: u16, links: Vec<LobLink> },
}

/// A value that is being read, from any offset on. Holds no latch and no page between two calls:
/// the row of the value is locked by the caller.
#[derive(Debug)]
pub struct LobCursor<'u> {
    unit: &'u LobUnit,
    blob_id: u64,
    body: Body,
    offset: u64,
    seen: Option<Seen<'u>>,
}

/// A reader with a snapshot has no lock of the row: a writer may free the tree or change it, but
/// keeps the value before. What the tree held is taken when the value is not kept afterwards.
#[derive(Debug)]
struct Seen<'u> {
    key: ValueKey,
    versions: Versions<'u>,
}

impl Seen<'_> {
    fn kept(&self) -> Option<Body> {
        self.versions.store.kept_value(self.key, self.versions.snapshot).map(Body::Kept)
    }
}

#[derive(Debug)]
enum Body {
    Small(Vec<u8>),
    Tree(Path),
    /// As it was before a transaction that the reader does not see.
    Kept(Arc<dyn KeptValue>),
}

impl LobUnit {
    /// Begins to read a value, at its first byte.
    ///
    /// # Errors
    /// The root is damaged or cannot be read.
    pub fn read(&self, root: &LobRoot) -> Result<LobCursor<'_>, Error> {
        let body = self.open_body(root)?;
        Ok(LobCursor {
            unit: self,
            blob_id: root.blob_id(),
            body,
            offset: 0,
            seen: None,
        })
    }

    /// The same as a snapshot sees it, whose version of the row has this root. Nobody has locked
    /// the row.
    ///
    /// # Errors
    /// As [`read`](Self::read), and those of the version store.
    pub fn read_seen<'u>(
        &'u self,
        root: &LobRoot,
        versions: Versions<'u>,
    ) -> Result<LobCursor<'u>, Error> {
        let seen = Seen { key: root.key_in(self.unit.id()), versions };
        let body = self.open_body(root);
        let body = seen.kept().map_or(body, Ok)?;
        Ok(LobCursor {
            unit: self,
            blob_id: root.blob_id(),
            body,
            offset: 0,
            seen: Some(seen),
        })
    }

    /// Keeps a value before `writer` frees it or changes it in place.
    ///
    /// # Errors
    /// The version store fails, or the value cannot be read.
    pub fn keep(&self, root: &LobRoot, versions: Versioning<'_>) -> Result<(), Error> {
        let mut cursor = self.read(root)?;
        let key = root.key_in(self.unit.id());
        let mut read = |out: &mut Vec<u8>| cursor.read_chunk(out);
        versions.store.keep_value(versions.writer, key, &mut read)
    }

    fn open_body(&self, root: &LobRoot) -> Result<Body, Error> {
        Ok(match self.open_root(root)? {
            OpenRoot::Small(data) => Body::Small(data),
            OpenRoot::Tree { level, links } => Body::Tree(Path::new(root.blob_id(), level, links)),
        })
    }

    pub(super) fn open_root(&self, root: &LobRoot) -> Result<OpenRoot, Error> {
        match root {
            LobRoot::InRow(root) => {
                let at = root.links.first().map(|link| link.target).unwrap_or_default();
                verify_links(&root.links, root.level, at)?;
                Ok(OpenRoot::Tree { level: root.level, links: root.links.clone() })
            }
            LobRoot::Text(text) if text.root.page.is_none() => Ok(OpenRoot::Small(Vec::new())),
            LobRoot::Text(text) => self.with_record(text.root, |record| {
                if !root.owns(record.blob_id()) {
                    return Err(damaged(text.root, "a text pointer leads to another value"));
                }
                match record.content() {
                    LobContent::SmallRoot(data) | LobContent::Data(data) => {
                        Ok(OpenRoot::Small(data.to_vec()))
                    }
                    LobContent::Null => Ok(OpenRoot::Small(Vec::new())),
                    LobContent::Links(node) => Ok(OpenRoot::Tree {
                        level: node.level,
                        links: sound_links(node, text.root)?,
                    }),
                    LobContent::Unknown => Err(damaged(text.root, "a root of unknown kind")),
                }
            }),
        }
    }

    /// The id that the records of a value have in full, when it has any: a root in a row has 32
    /// bits of it.
    pub(super) fn full_blob_id(&self, root: &LobRoot) -> Result<u64, Error> {
        match root {
            LobRoot::InRow(in_row) => match in_row.links.first() {
                Some(link) => {
                    let id = |record: LobRecord<'_>| Ok(record.blob_id());
                    let id = self.with_record(link.target, id)?;
                    if root.owns(id) {
                        Ok(id)
                    } else {
                        Err(damaged(link.target, "a record belongs to another value"))
                    }
                }
                None => Ok(in_row.blob_id),
            },
            LobRoot::Text(text) => Ok(text.blob_id),
        }
    }
}

impl LobCursor<'_> {
    /// Bytes of the value.
    #[expect(clippy::len_without_is_empty, reason = "a value is a stream, not a collection")]
    pub fn len(&self) -> u64 {
        match &self.body {
            Body::Small(data) => data.len() as u64,
            Body::Tree(path) => path.value_len(),
            Body::Kept(kept) => kept.value_len(),
        }
    }

    /// Where the next read begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next read begins at this offset; past the end it reads nothing.
    pub fn seek(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Calls `read` with the bytes from the current offset to the end of their fragment, at most
    /// 8,040, and goes on after those that it says it has taken. They lie in a latched page: `read`
    /// must not read another one. 0 at the end of the value.
    ///
    /// # Errors
    /// A record of the value is damaged or cannot be read.
    pub fn read_with(&mut self, read: impl FnOnce(&[u8]) -> usize) -> Result<usize, Error> {
        if self.seen.is_some() {
            return self.read_seen(read);
        }
        let taken = self.body.read(self.unit, self.blob_id, self.offset, read)?;
        self.offset += taken as u64;
        Ok(taken)
    }

    fn read_seen(&mut self, read: impl FnOnce(&[u8]) -> usize) -> Result<usize, Error> {
        let mut copy = Vec::new();
        let append = |data: &[u8]| {
            copy.extend_from_slice(data);
            data.len()
        };
        let copied = self.body.read(self.unit, self.blob_id, self.offset, append);
        if let Body::Tree(_) | Body::Small(_) = self.body
            && let Some(kept) = self.seen.as_ref().and_then(Seen::kept)
        {
            self.body = kept;
            return self.read_seen(read);
        }
        copied?;
        let taken = if copy.is_empty() { 0 } else { read(&copy) };
        self.offset += taken as u64;
        Ok(taken)
    }

    /// Fills `out` from the current offset on; fewer bytes at the end of the value.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < out.len() {
            let rest = &mut out[filled..];
            let taken = self.read_with(|data| {
                let count = data.len().min(rest.len());
                rest[..count].copy_from_slice(&data[..count]);
                count
            })?;
            if taken == 0 {
                break;
            }
            filled += taken;
        }
        Ok(filled)
    }

    /// Appends the next chunk to `out`, the rest of a fragment. False at the end of the value.
    ///
    /// # Errors
    /// As [`read_with`](Self::read_with).
    pub fn read_chunk(&mut self, out: &mut Vec<u8>) -> Result<bool, Error> {
        let taken = self.read_with(|data| {
            out.extend_from_slice(data);
            data.len()
        })?;
        Ok(taken > 0)
    }
}

impl Body {
    /// Calls `read` with the bytes from an offset to the end of their fragment.
    fn read(
        &mut self,
        unit: &LobUnit,
        blob_id: u64,
        offset: u64,
        read: impl FnOnce(&[u8]) -> usize,
    ) -> Result<usize, Error> {
        match self {
            Body::Small(data) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                Ok(data.get(start..).filter(|rest| !rest.is_empty()).map_or(0, read))
            }
            Body::Tree(path) => {
                let Some(fragment) = path.fragment_at(unit, offset)? else {
                    return Ok(0);
                };
                let part = Part { len: fragment.end - fragment.start, target: fragment.at };
                let within = (offset - fragment.start) as usize;
                unit.with_data(blob_id, part, |data| read(&data[within..]))
            }
            Body::Kept(kept) => {
                let data = kept.read_at(offset)?;
                Ok(if data.is_empty() { 0 } else { read(&data) })
            }
        }
    }
}
