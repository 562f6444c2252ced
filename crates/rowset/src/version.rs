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

use std::fmt::Debug;

use extentdb_base::{Rid, XactId};
use extentdb_format::record::row::{VERSION_TAG_BYTES, VersionTag as StoredTag};

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
}

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
}
