//! Row versions: what a record says of its older states, and where these are kept.
//!
//! ```text
//! record on its page ─ tag ─▶ version in the store ─ tag ─▶ older version ─▶ … ─▶ no pointer
//!  writer 0000:00000412        writer 0000:00000400          no tag: everybody sees it
//! ```
//!
//! A writer in a database with row versions keeps the record as it finds it and gives the new one a
//! tag that leads to it. A reader with a snapshot takes the newest version whose writer it sees. A
//! version that is a ghost says that the row does not exist; so does a chain that ends without a
//! version that the snapshot sees.
//!
//! The sequence number in a tag is the id of the transaction. Ids grow over restarts, and every
//! snapshot sees those from before the opening of the database, so that the pointer of a tag from
//! before a restart is never followed.
//!
//! # What an implementation promises
//!
//! * [`VersionStore::read`] returns the record that [`VersionStore::keep`] got, byte for byte, or
//!   an error; never another record. A pointer is not used again while the store is open.
//! * A version may be removed when every snapshot, now and later, sees the writer that `keep` was
//!   called with. A rolled back writer counts as seen once its undo is complete: no record has its
//!   tag any more.
//! * [`Snapshot::sees`] is called under the latch of a page: it takes no lock that is held during
//!   waits. A snapshot of a transaction sees the transaction's own changes. Its answers never
//!   change.
//! * `keep` and `read` are called while a page may be latched: neither may use pages of the same
//!   database.

use std::borrow::Cow;
use std::fmt::Debug;

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, Rid, XactId};
use extentdb_format::record::RecordKind;
use extentdb_format::record::row::{VERSION_TAG_BYTES, VersionTag as StoredTag};
use extentdb_format::record::status::HAS_VERSION_TAG;

use crate::Error;

/// Position of a version in the version store: the first 8 bytes of a versioning tag, page u32,
/// file u16, slot u16 in SQL Server. All zero stands for no version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VersionPointer(pub [u8; 8]);

/// The versioning tag: the 14 bytes at the end of a versioned record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VersionTag {
    /// The version before this one; `None` when the row did not exist.
    pub previous: Option<VersionPointer>,
    /// Transaction that wrote the record.
    pub writer: XactId,
}

/// Keeps records as they were before a transaction changed them.
pub trait VersionStore: Send + Sync + Debug {
    /// Keeps a record, with its own tag if it has one, as it was before `writer` changed it.
    fn keep(&self, writer: XactId, record: &[u8]) -> Result<VersionPointer, Error>;

    /// A kept record. An error if the store does not have it any more: never another record.
    fn read(&self, at: VersionPointer) -> Result<Vec<u8>, Error>;

    /// Keeps a value off its row before `writer` frees it or changes it in place: `read` appends
    /// its next bytes, until it says that there are none. Only what was there before the first
    /// change of a transaction is kept. The value is not changed before this returns.
    fn keep_value(
        &self,
        _writer: XactId,
        _value: ValueKey,
        _read: &mut dyn FnMut(&mut Vec<u8>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// What a snapshot sees of a value: one that was kept, or `None` for what the tree holds. Asked
    /// after each read of the tree: what was read is the snapshot's if the answer is `None` still.
    fn kept_value(&self, _value: ValueKey, _snapshot: &dyn Snapshot) -> Option<Arc<dyn KeptValue>> {
        None
    }
}

/// A value off its row: its unit, and the bits of its id that are in the row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueKey {
    /// Allocation unit of the value.
    pub unit: AllocUnitId,
    /// Its id.
    pub blob_id: u64,
}

/// A value that was kept.
pub trait KeptValue: Send + Sync + Debug {
    /// Bytes of the value.
    fn value_len(&self) -> u64;

    /// Some of its bytes from an offset on; none at its end.
    fn read_at(&self, offset: u64) -> Result<Vec<u8>, Error>;
}

/// What a reader sees: the changes of some transactions.
pub trait Snapshot: Send + Sync + Debug {
    /// Had this transaction committed when the snapshot was taken, or is it the reader's own?
    fn sees(&self, writer: XactId) -> bool;
}

/// What a reader needs to find its versions.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'a> {
    /// Where older versions are.
    pub store: &'a dyn VersionStore,
    /// Which of them the reader sees.
    pub snapshot: &'a dyn Snapshot,
}

/// What a writer in a database with row versions needs.
#[derive(Clone, Copy, Debug)]
pub struct Versioning<'a> {
    /// Where the records go that the writer changes.
    pub store: &'a dyn VersionStore,
    /// The writer.
    pub writer: XactId,
    /// Of a SNAPSHOT transaction: it changes no row whose newest version it does not see.
    pub snapshot: Option<&'a dyn Snapshot>,
}

/// Says of a transaction whether every snapshot, now and later, sees it: see
/// [`Tree::clean`](crate::Tree::clean).
pub type SeenByAll<'a> = &'a dyn Fn(XactId) -> bool;

impl VersionPointer {
    /// The pointer of a tag; `None` for all zeros.
    pub fn stored(bytes: [u8; 8]) -> Option<VersionPointer> {
        (bytes != [0; 8]).then_some(VersionPointer(bytes))
    }
}

impl VersionTag {
    /// Bytes of a tag in a record.
    pub const BYTES: usize = VERSION_TAG_BYTES;

    /// The tag as records have it.
    pub fn to_stored(self) -> StoredTag {
        let previous = self.previous.map_or([0; 8], |pointer| pointer.0);
        let [a, b, c, d] = self.writer.low.to_le_bytes();
        let [e, f] = self.writer.high.to_le_bytes();
        StoredTag {
            previous: Rid::from_bytes(previous),
            sequence: [a, b, c, d, e, f],
        }
    }

    /// What the tag of a record says.
    pub fn from_stored(stored: StoredTag) -> VersionTag {
        let [a, b, c, d, e, f] = stored.sequence;
        let writer = XactId {
            high: u16::from_le_bytes([e, f]),
            low: u32::from_le_bytes([a, b, c, d]),
        };
        VersionTag {
            previous: VersionPointer::stored(stored.previous.to_bytes()),
            writer,
        }
    }

    /// The tag of a record, all of whose bytes these are.
    pub fn of(record: &[u8]) -> Option<VersionTag> {
        let (pointer, sequence) = tag_bytes(record)?.split_first_chunk::<8>()?;
        let stored = StoredTag {
            previous: Rid::from_bytes(*pointer),
            sequence: *sequence.first_chunk()?,
        };
        Some(VersionTag::from_stored(stored))
    }

    /// A record with this tag in place of its own.
    pub fn replaced_in(self, record: &[u8]) -> Vec<u8> {
        let mut out = untagged_bytes(record).to_vec();
        if let Some(status) = out.first_mut() {
            *status |= HAS_VERSION_TAG;
        }
        let stored = self.to_stored();
        out.extend_from_slice(&stored.previous.to_bytes());
        out.extend_from_slice(&stored.sequence);
        out
    }
}

/// A record without its tag.
pub fn untagged(record: &[u8]) -> Cow<'_, [u8]> {
    if !is_tagged(record) {
        return Cow::Borrowed(record);
    }
    let mut out = untagged_bytes(record).to_vec();
    if let Some(status) = out.first_mut() {
        *status &= !HAS_VERSION_TAG;
    }
    Cow::Owned(out)
}

fn is_tagged(record: &[u8]) -> bool {
    record.first().is_some_and(|status| {
        status & HAS_VERSION_TAG != 0 && RecordKind::of(*status) != RecordKind::ForwardingStub
    })
}

fn tag_bytes(record: &[u8]) -> Option<&[u8]> {
    let at = record.len().checked_sub(VersionTag::BYTES).filter(|_| is_tagged(record))?;
    record.get(at..)
}

/// What precedes the tag; the status byte is as it was.
fn untagged_bytes(record: &[u8]) -> &[u8] {
    let end = record.len() - tag_bytes(record).map_or(0, <[u8]>::len);
    record.get(..end).unwrap_or(record)
}

fn is_ghost(record: &[u8]) -> bool {
    record.first().is_some_and(|status| RecordKind::of(*status).is_ghost())
}

/// The version of a row that a reader takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// The record on the page.
    Newest,
    /// An older one.
    Older(Vec<u8>),
    /// The row does not exist for the reader.
    Nothing,
}

impl Versions<'_> {
    /// Which version of a row the reader takes, whose record on its page this is.
    pub(crate) fn look(&self, record: &[u8]) -> Result<Seen, Error> {
        let mut older: Option<Vec<u8>> = None;
        loop {
            let now = older.as_deref().unwrap_or(record);
            match VersionTag::of(now) {
                Some(tag) if !self.snapshot.sees(tag.writer) => match tag.previous {
                    // Each version leads to one that was kept before it: chains end.
                    Some(at) => older = Some(self.store.read(at)?),
                    None => return Ok(Seen::Nothing),
                },
                _ if is_ghost(now) => return Ok(Seen::Nothing),
                _ => return Ok(older.map_or(Seen::Newest, Seen::Older)),
            }
        }
    }

    /// The version itself; `None` when the row does not exist for the reader.
    pub(crate) fn resolve<'r>(&self, record: &'r [u8]) -> Result<Option<Cow<'r, [u8]>>, Error> {
        Ok(match self.look(record)? {
            Seen::Newest => Some(Cow::Borrowed(record)),
            Seen::Older(version) => Some(Cow::Owned(version)),
            Seen::Nothing => None,
        })
    }
}

impl Versioning<'_> {
    /// The tag of a row that did not exist.
    pub(crate) fn tag_of_new(&self) -> VersionTag {
        VersionTag { previous: None, writer: self.writer }
    }

    /// The tag of a record that takes the place of `old`, which is kept. Of several changes by one
    /// transaction only what was there before the first is kept: nobody sees the others.
    ///
    /// # Errors
    /// [`Error::UpdateConflict`]; the version store fails.
    pub(crate) fn tag_over(&self, unit: AllocUnitId, old: &[u8]) -> Result<VersionTag, Error> {
        self.verify_seen(unit, old)?;
        match VersionTag::of(old) {
            Some(tag) if tag.writer == self.writer => Ok(tag),
            // Nobody sees a row there.
            None if is_ghost(old) => Ok(self.tag_of_new()),
            _ => {
                let previous = Some(self.store.keep(self.writer, old)?);
                Ok(VersionTag { previous, writer: self.writer })
            }
        }
    }

    /// Refuses the change of a row whose newest version the transaction does not see.
    ///
    /// # Errors
    /// [`Error::UpdateConflict`].
    pub fn verify_seen(&self, unit: AllocUnitId, record: &[u8]) -> Result<(), Error> {
        match (VersionTag::of(record), self.snapshot) {
            (Some(VersionTag { writer, .. }), Some(snapshot))
                if writer != self.writer && !snapshot.sees(writer) =>
            {
                Err(Error::UpdateConflict { unit, writer })
            }
            _ => Ok(()),
        }
    }

    /// Was a row inserted by this transaction, so that nobody else has ever seen it?
    pub(crate) fn is_own_insert(&self, record: &[u8]) -> bool {
        VersionTag::of(record) == Some(self.tag_of_new())
    }
}

/// Older versions beside the bytes of a page, so that one offset of 16 bits leads to either.
///
/// ```text
/// page │ versions …         a copy of the page, made with the first version that is needed; when
///                            64 KiB are full, what there is is read, and the next piece begins
/// ```
#[derive(Debug)]
pub(crate) struct Overlay<'p> {
    page: &'p [u8],
    copy: Vec<u8>,
}

impl<'p> Overlay<'p> {
    pub(crate) fn new(page: &'p [u8]) -> Overlay<'p> {
        Overlay { page, copy: Vec::new() }
    }

    /// What records are in.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.copy.is_empty() { self.page } else { &self.copy }
    }

    /// Offset of the version that a snapshot sees of a record, which lies at `start`; `None` when
    /// it sees no row. When there is no room for a version, `full` takes what there is, and the
    /// next piece begins.
    ///
    /// # Errors
    /// The version store fails.
    pub(crate) fn place(
        &mut self,
        versions: Versions<'_>,
        record: &[u8],
        start: u16,
        mut full: impl FnMut(&[u8]),
    ) -> Result<Option<u16>, Error> {
        let version = match versions.look(record)? {
            Seen::Newest => return Ok(Some(start)),
            Seen::Nothing => return Ok(None),
            Seen::Older(version) => version,
        };
        if let Some(start) = self.push(&version) {
            return Ok(Some(start));
        }
        full(self.bytes());
        self.copy.clear();
        Ok(self.push(&version))
    }

    /// Appends a version; returns its offset, or `None` when the piece is full.
    fn push(&mut self, version: &[u8]) -> Option<u16> {
        if self.copy.is_empty() {
            self.copy.extend_from_slice(self.page);
        }
        let start = u16::try_from(self.copy.len()).ok()?;
        self.copy.extend_from_slice(version);
        Some(start)
    }
}

#[cfg(test)]
pub(crate) mod tests;
