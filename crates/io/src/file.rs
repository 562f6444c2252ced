//! A file on disk: opened read-only or created new, read and written at explicit offsets.
//!
//! Input files are evidence. [`File::open_read`] never asks for write access and shares the file
//! with all processes; the only constructor of a writable [`File`] is [`File::create_new`], which
//! refuses a path that exists.
//!
//! Invariants
//! - No operation uses or moves a file position, so one `File` serves all threads.
//! - An interrupted call is repeated; a short transfer is continued. A transfer is short only at
//!   the end of the file.
//! - `len` is the length when the file was opened, or as far as it was written since. A file that
//!   another process truncates meanwhile causes [`Error::EndOfFile`] at the offset of the missing
//!   bytes.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::{AtomicU64, Ordering};

use crate::direct::DirectFile;
use crate::error::{Error, FileOp};
use crate::platform;
use crate::read_at::ReadAt;

/// Offsets probed by [`ReadAt::cached_fraction`], spread evenly over the file.
const CACHE_SAMPLES: u64 = 64;

/// An open file. Cheap to share by reference or `Arc`.
#[derive(Debug)]
pub struct File {
    handle: fs::File,
    path: Arc<Path>,
    len: AtomicU64,
}

/// Do two paths name the same file?
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FileIdentity(pub(crate) platform::Identity);

/// Length and time of the last change of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileStamp {
    /// Length of the file in bytes.
    pub len: u64,
    /// Time of the last change; `None` where the file system keeps none.
    pub modified: Option<std::time::SystemTime>,
}

impl File {
    /// Opens an existing file for reading only. Directories, pipes and the like are refused by
    /// name.
    pub fn open_read(path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path.as_ref();
        let failed = |op, source| Error::File { op, path: path.to_path_buf(), source };
        // Looked at before it is opened: opening a pipe would wait for a writer.
        let metadata = fs::metadata(path).map_err(|source| failed(FileOp::Open, source))?;
        if let Some(kind) = platform::not_a_file(&metadata) {
            return Err(Error::NotAFile { path: path.to_path_buf(), kind });
        }
        let handle = fs::OpenOptions::new()
            .read(true)
            .open(path)
            .map_err(|source| failed(FileOp::Open, source))?;
        let len = platform::len(&handle).map_err(|source| failed(FileOp::Inspect, source))?;
        Ok(File { handle, path: path.into(), len: AtomicU64::new(len) })
    }

    /// Makes a new file for reading and writing. A path that exists is left alone and refused.
    pub fn create_new(path: impl AsRef<Path>) -> Result<File, Error> {
        let path = path.as_ref();
        let handle =
            fs::OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(
                |source| Error::File { op: FileOp::Create, path: path.to_path_buf(), source },
            )?;
        Ok(File { handle, path: path.into(), len: AtomicU64::new(0) })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length in bytes.
    #[expect(clippy::len_without_is_empty, reason = "ReadAt has it")]
    pub fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Reads at `offset` until `buf` is full or the file ends; returns the number of bytes read.
    pub fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        let mut done = 0;
        while done < buf.len() {
            match platform::read_at(
                &self.handle,
                &mut buf[done..],
                offset.saturating_add(done as u64),
            ) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.transfer(FileOp::Read, offset, buf.len(), source)),
            }
        }
        Ok(done)
    }

    /// Fills `buf` from `offset`; a file that ends before is [`Error::EndOfFile`].
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        ReadAt::read_exact_at(self, offset, buf)
    }

    /// Writes all of `bytes` at `offset`, extending the file when needed.
    pub fn write_all_at(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            match platform::write_at(
                &self.handle,
                &bytes[done..],
                offset.saturating_add(done as u64),
            ) {
                Ok(0) => {
                    return Err(self.transfer(
                        FileOp::Write,
                        offset,
                        bytes.len(),
                        io::ErrorKind::WriteZero.into(),
                    ));
                }
                Ok(written) => done += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(self.transfer(FileOp::Write, offset, bytes.len(), source));
                }
            }
        }
        self.len.fetch_max(offset + done as u64, Ordering::AcqRel);
        Ok(())
    }

    /// Cuts the file or extends it by a hole. Not to be mixed with writes of other threads.
    pub fn set_len(&self, bytes: u64) -> Result<(), Error> {
        self.handle.set_len(bytes).map_err(|source| self.failed(FileOp::Resize, source))?;
        self.len.store(bytes, Ordering::Release);
        Ok(())
    }

    /// Returns when everything written is durable.
    pub fn sync(&self) -> Result<(), Error> {
        self.handle.sync_all().map_err(|source| self.failed(FileOp::Sync, source))
    }

    /// What makes this file this file, whatever the path.
    pub fn identity(&self) -> Result<FileIdentity, Error> {
        platform::identity(&self.handle, &self.path)
            .map(FileIdentity)
            .map_err(|source| self.failed(FileOp::Inspect, source))
    }

    /// Length and time of the last change as they are now.
    pub fn stamp(&self) -> Result<FileStamp, Error> {
        let metadata =
            self.handle.metadata().map_err(|source| self.failed(FileOp::Inspect, source))?;
        Ok(FileStamp { len: metadata.len(), modified: metadata.modified().ok() })
    }

    /// True when another process, or another opening of this one, holds an exclusive lock on the
    /// file, as [`RealDisk`](crate::RealDisk) does. A shared lock is tried for and released at
    /// once.
    pub fn is_locked(&self) -> bool {
        match self.handle.try_lock_shared() {
            Ok(()) => {
                // The handle would keep the lock until it is closed.
                let _ = self.handle.unlock();
                false
            }
            Err(fs::TryLockError::WouldBlock) => true,
            // A file system without locks: no process can hold one.
            Err(fs::TryLockError::Error(_)) => false,
        }
    }

    /// The runs of bytes that are really stored, in order. Between them are holes, which read as
    /// zeros.
    ///
    /// Lazy, because a file may have any number of holes. Where the system knows nothing of holes,
    /// the file is one run.
    pub fn data_ranges(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let range = self.next_data(from)?;
            from = range.end;
            Some(range)
        })
    }

    /// Tells the system that the file will be read from front to back. A hint: nothing depends on
    /// it.
    pub fn advise_sequential(&self) {
        platform::advise_sequential(&self.handle);
    }

    /// The same file, opened a second time past the page cache; `None` where the system or the file
    /// system cannot.
    pub fn try_direct(&self) -> Option<DirectFile> {
        DirectFile::twin_of(&self.path, &self.identity().ok()?.0)
    }

    fn failed(&self, op: FileOp, source: io::Error) -> Error {
        Error::File { op, path: self.path.to_path_buf(), source }
    }

    fn transfer(&self, op: FileOp, offset: u64, bytes: usize, source: io::Error) -> Error {
        Error::Transfer { op, path: self.path.to_path_buf(), offset, bytes, source }
    }
}

impl ReadAt for File {
    fn len(&self) -> u64 {
        File::len(self)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        File::read_at(self, offset, buf)
    }

    fn path(&self) -> &Path {
        File::path(self)
    }

    fn next_data(&self, from: u64) -> Option<Range<u64>> {
        let end = self.len();
        if from >= end {
            return None;
        }
        let range = platform::next_data(&self.handle, from, end)?;
        (range.start < range.end).then_some(range)
    }

    fn try_direct(&self) -> Option<DirectFile> {
        File::try_direct(self)
    }

    /// Estimated by samples. A check of a file in the page cache should read it from there; a check
    /// of another file should bypass the cache and leave it unchanged. The probe costs 64 system
    /// calls of one byte each that return at once instead of reading (`RWF_NOWAIT`), so it is done
    /// before every scan. `None` for a file without data, too. Holes are not probed: they are never
    /// read.
    fn cached_fraction(&self) -> Option<f64> {
        let len = self.len();
        let step = (len / CACHE_SAMPLES).max(1);
        let mut seen = 0_u32;
        let mut cached = 0_u32;
        for sample in 0..CACHE_SAMPLES.min(len) {
            // The middle of each stretch: both ends of a file are read whenever it is opened and
            // would look better than the rest.
            let offset = sample * step + step / 2;
            if self.next_data(offset).is_some_and(|range| range.start == offset) {
                seen += 1;
                cached += u32::from(platform::is_cached(&self.handle, offset)?);
            }
        }
        (seen > 0).then(|| f64::from(cached) / f64::from(seen))
    }
}

#[cfg(test)]
mod tests;
