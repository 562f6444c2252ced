//! Disks and files that are written: the interface between storage and operating system.
//!
//! ```text
//!   wal, buffer, engine
//!        │  Disk, DiskFile: bytes at an offset, and when they are durable
//!        ▼
//!   RealDisk        the file system; one DurabilityMode decides how "durable" is done
//!   MemDisk         memory; keeps live and durable bytes apart and returns what a power failure
//!                   would leave
//!   StagedDisk      over another disk: nothing is durable before all of it is, a new database
//!   EphemeralDisk   over another disk: nothing is ever made durable, tempdb
//!   OverlayDisk     over files that are only read: what is written stays in memory
//! ```
//!
//! Bytes become durable in two ways. [`Durability::Deferred`] writes are cheap and become durable
//! together at the next [`DiskFile::sync`]: pages of a checkpoint. [`Durability::Through`] writes
//! are durable when the call returns, and the disk decides how: forced unit access where that is
//! cheaper, a write and a flush where it is not. Log blocks are written so.
//!
//! Invariants
//! - Writes name their offset; no file position, so one file serves all threads.
//! - After a failed sync or a failed [`Durability::Through`] write a file of the file system is
//!   poisoned: what was written before may be lost, and a later sync that succeeded would hide it.
//!   Every later sync and durable write fails with [`Error::Poisoned`]. Deferred writes and reads
//!   do not: the owner stops them.
//! - A sector of 512 bytes is written whole or not at all; anything longer may tear: in a power cut
//!   between any two sectors, when the process dies between any two blocks of 4096 bytes, wherever
//!   the file system has split the write.

mod ephemeral;
mod mem;
mod overlay;
mod real;
mod staged;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::path::Path;

use extentdb_base::sync::Arc;

use crate::error::Error;

pub use ephemeral::EphemeralDisk;
pub use mem::MemDisk;
pub use overlay::{BaseFile, OverlayDisk};
pub use real::{Backend, DurabilityMode, DurabilityReport, RealDisk};
pub use staged::StagedDisk;

/// Where files live: the real file system, or a simulator's. Paths are opaque names to it.
pub trait Disk: Send + Sync + Debug {
    /// Makes a new file of length 0 and takes it exclusively. A path that exists is left alone and
    /// refused. The name is durable when the call returns.
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error>;

    /// As [`create`](Self::create), but a power failure may lose the name before
    /// [`sync_names`](Self::sync_names) is called for it.
    fn create_unsynced(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        self.create(path)
    }

    /// Makes the names durable of all files in the folder of this one.
    fn sync_names(&self, beside: &Path) -> Result<(), Error> {
        let _ = beside;
        Ok(())
    }

    /// Opens an existing file for reading and writing, and locks it exclusively: [`Error::InUse`]
    /// when another process has locked it.
    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error>;

    /// Does the path name something?
    fn exists(&self, path: &Path) -> bool;

    /// Removes a file. It stays removed after a power failure.
    fn remove(&self, path: &Path) -> Result<(), Error>;

    /// Gives a file another name, which nothing may have yet. The new name is durable when the call
    /// returns.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error>;
}

/// A file locked for reading and writing, until the last reference to it is dropped.
#[expect(
    clippy::len_without_is_empty,
    reason = "a database file is never asked whether it is empty"
)]
pub trait DiskFile: Send + Sync + Debug {
    /// The path it was opened by.
    fn path(&self) -> &Path;

    /// Length in bytes.
    fn len(&self) -> u64;

    /// Reads at `offset` until `buf` is full or the file ends; returns the number of bytes read.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error>;

    /// Writes all parts at `offset`, concatenated. A write past the end extends the file.
    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error>;

    /// Writes at several offsets that do not overlap, each as [`write_at`](Self::write_at) with
    /// [`Durability::Deferred`] does. They may run concurrently and end in any order. After an
    /// error each of them may have been made, in part, or not.
    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        writes
            .iter()
            .try_for_each(|(offset, bytes)| self.write_at(*offset, &[bytes], Durability::Deferred))
    }

    /// Returns when every write that ended before the call is durable, and the length with it.
    fn sync(&self) -> Result<(), Error>;

    /// Makes the file `bytes` long. A file that is as long already is left alone;
    /// [`Fill::Allocated`] gives its holes room. When it fails, the length is the old one. Durable
    /// after the next sync.
    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error>;

    /// What was done to the file since it was opened.
    fn counters(&self) -> DiskCounters {
        DiskCounters::default()
    }

    /// Fills `buf` from `offset`; a file that ends before is [`Error::EndOfFile`].
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        let read = self.read_at(offset, buf)?;
        Error::unless_whole(self.path(), offset, buf.len(), read)
    }
}

/// When a write must be durable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Durability {
    /// After the next sync.
    Deferred,
    /// When the call returns. Says nothing about other writes.
    Through,
}

/// What the bytes of a longer file are made of. They read as zeros either way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fill {
    /// Nothing is stored, and no room is allocated: a later write may find the disk full. The first
    /// write to a block costs the file system a change of its metadata.
    Hole,
    /// Room is allocated and nothing is stored, as [`Hole`](Self::Hole) but for the full disk: a
    /// later write has room. Zeros are written where the file system cannot do that.
    Allocated,
    /// Zeros are written, so that a later write changes bytes only: then forced unit access needs
    /// no flush.
    Zeros,
}

/// What was done to a file since it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DiskCounters {
    /// Read calls, of any length.
    pub reads: u64,
    /// Bytes that read calls returned.
    pub bytes_read: u64,
    /// Writes, those of fills included.
    pub writes: u64,
    /// Bytes handed to write calls.
    pub bytes_written: u64,
    /// Writes that asked the device to be durable on their own, without a flush.
    pub fua_writes: u64,
    /// Flushes of the device's cache (`fdatasync` on unix), those of durable writes included.
    pub syncs: u64,
    /// Calls of the system for all these. One that hands over a write and its flush, or many
    /// writes, is one. What the system split is counted once.
    pub calls: u64,
}
