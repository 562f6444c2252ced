//! The file system as a [`Disk`], and how its writes become durable.
//!
//! ```text
//! mode          Deferred write    Through write             sync
//! ForcedFlush   direct            direct, fdatasync         fdatasync
//! Fua           direct            direct with RWF_DSYNC     fdatasync
//! DirectOnly    direct            direct                    nothing, unless a write was not direct
//! ```
//!
//! The kernel turns a direct write with `RWF_DSYNC` into forced unit access where the device has it
//! (or has no volatile cache) and the blocks were written before; elsewhere it flushes by itself.
//! It is requested per write, never by the open flag: data pages must not pay for what log blocks
//! need. Deferred writes are direct in every mode: one that the kernel has taken is not cut short
//! when the process dies. A write that is not aligned for the device takes the page cache, in every
//! mode, and is then flushed.
//!
//! `DirectOnly` is for media that are declared stable. A file with holes is still flushed in that
//! mode: a write into a hole changes the file system's own records, and those are in its journal
//! first.
//!
//! A [`Backend`] decides how writes are submitted to the system. Single writes and reads are system
//! calls; batches of writes ([`DiskFile::write_many`]) go through io_uring, past the page cache, in
//! every mode, where the system lets us have one:
//!
//! ```text
//! backend       Through, ForcedFlush        Through, Fua        write_many
//! Plain         write; fdatasync            RWF_DSYNC           one after the other, as Deferred
//! Auto          as Plain                    as Plain            ring: up to 128 at once, direct
//! Uring         ring: write linked to       ring: RWF_DSYNC     as Auto
//!               flush, one call
//! ```
//!
//! Invariants
//! - What a ring cannot do, or leaves unfinished, is done as `Plain` does it. Failures are the same
//!   whatever the backend.
//! - A file opened here is locked (advisory, whole file) for as long as it is open.
//! - A sync with nothing written since the last one costs no system call.

mod file;
mod lane;
mod probe;
mod ring;
mod ring_writes;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use extentdb_base::sync::Arc;

use self::file::RealFile;
use super::{Disk, DiskFile};
use crate::error::{Error, FileOp};
use crate::platform;

/// How durable writes are done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DurabilityMode {
    /// Direct writes and flushes. Right everywhere; what SQL Server does on Linux by default.
    ForcedFlush,
    /// Direct writes, the durable ones with `RWF_DSYNC`: no flush where the device supports forced
    /// unit access.
    Fua,
    /// Direct writes and no flush. **Loses acknowledged writes in a power failure unless the
    /// device's cache is not volatile.**
    DirectOnly,
    /// [`Fua`](Self::Fua) where the device has no volatile cache or supports forced unit access,
    /// else [`ForcedFlush`](Self::ForcedFlush). Asked per file.
    Auto,
}

/// How writes are handed to the system. What is durable when, and what fails how, does not depend
/// on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Backend {
    /// io_uring for batches of writes, system calls for single ones: each where it was measured to
    /// be faster. Without io_uring as [`Plain`](Self::Plain).
    #[default]
    Auto,
    /// io_uring for batches and for single durable writes. Without io_uring as
    /// [`Plain`](Self::Plain).
    Uring,
    /// System calls only.
    Plain,
}

/// What was chosen for a file, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DurabilityReport {
    /// File whose writes are described.
    pub path: PathBuf,
    /// Mode the caller asked for.
    pub asked: DurabilityMode,
    /// What is done; never [`DurabilityMode::Auto`].
    pub chosen: DurabilityMode,
    /// `write back` or `write through`, as the system describes the device's cache; `None` when it
    /// says nothing.
    pub write_cache: Option<String>,
    /// Does the device support forced unit access? `None` when that is not known.
    pub fua: Option<bool>,
    /// Can the file be written past the page cache?
    pub direct: bool,
    /// The choice in a sentence.
    pub reason: &'static str,
    /// How writes are submitted: as requested, or [`Backend::Plain`] where there is no io_uring.
    pub backend: Backend,
    /// Why there is no io_uring though it was requested.
    pub refusal: Option<String>,
}

/// The file system.
#[derive(Debug, Clone)]
pub struct RealDisk {
    mode: DurabilityMode,
    backend: Backend,
}

impl RealDisk {
    /// Files opened through it become durable in this mode. The backend is [`Backend::Auto`].
    pub fn new(mode: DurabilityMode) -> Self {
        RealDisk { mode, backend: Backend::Auto }
    }

    /// The same with another backend.
    pub fn with_backend(self, backend: Backend) -> Self {
        RealDisk { backend, ..self }
    }

    /// What would be done for an existing file, and why.
    pub fn report(&self, path: &Path) -> Result<DurabilityReport, Error> {
        let failed = |source| Error::File { op: FileOp::Inspect, path: path.to_path_buf(), source };
        let handle = fs::File::open(path).map_err(failed)?;
        let direct = platform::open_direct_for_writes(path).is_some();
        let (backend, refusal) = lane::describe(self.backend);
        Ok(DurabilityReport {
            backend,
            refusal,
            ..probe::choose(self.mode, &handle, path, direct)
        })
    }

    fn take(&self, handle: fs::File, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let failed = |source| Error::File { op: FileOp::Lock, path: path.to_path_buf(), source };
        match handle.try_lock() {
            Ok(()) => Ok(Arc::new(RealFile::new(handle, path, self.mode, self.backend)?)),
            Err(fs::TryLockError::WouldBlock) => Err(Error::InUse { path: path.to_path_buf() }),
            Err(fs::TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let file = self.create_unsynced(path)?;
        self.sync_names(path).map(|()| file).inspect_err(|_| {
            // Nobody else knows of the file yet. If it cannot even be removed, the next attempt
            // will say that it exists.
            let _ = fs::remove_file(path);
        })
    }

    fn create_unsynced(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let handle = fs::OpenOptions::new().read(true).write(true).create_new(true).open(path);
        let failed = |source| Error::File { op: FileOp::Create, path: path.to_path_buf(), source };
        self.take(handle.map_err(failed)?, path).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    }

    fn sync_names(&self, beside: &Path) -> Result<(), Error> {
        let path = beside.to_path_buf();
        platform::sync_folder_of(beside).map_err(|source| Error::File {
            op: FileOp::Create,
            path,
            source,
        })
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let failed = |source| Error::File { op: FileOp::Open, path: path.to_path_buf(), source };
        // Looked at before it is opened: opening a pipe would wait for a writer.
        let metadata = fs::metadata(path).map_err(failed)?;
        if let Some(kind) = platform::not_a_file(&metadata) {
            return Err(Error::NotAFile { path: path.to_path_buf(), kind });
        }
        let handle = fs::OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        self.take(handle, path)
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::File { op: FileOp::Remove, path: path.to_path_buf(), source };
        fs::remove_file(path).map_err(failed)?;
        platform::sync_folder_of(path).map_err(failed)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let failed = |source| Error::File { op: FileOp::Rename, path: from.to_path_buf(), source };
        if self.exists(to) {
            return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
        }
        fs::rename(from, to).map_err(failed)?;
        platform::sync_folder_of(from).and_then(|()| platform::sync_folder_of(to)).map_err(failed)
    }
}
