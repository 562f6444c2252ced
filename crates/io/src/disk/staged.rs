//! A disk for files that become durable together: those of a database that is being made.
//!
//! ```text
//! StagedDisk ──▶ any Disk     while staged    Through → Deferred, sync → nothing, names not synced
//!                 finish ──▶  all files synced at once, then their folders
//!                             afterwards      as the disk below
//! ```
//!
//! A new database is worth nothing before it is registered somewhere: each of its writes may be
//! lost until then. One wait for all of its files replaces a dozen.
//!
//! Invariant: when [`StagedDisk::finish`] returns, every write that was made through the disk is
//! durable, and every later one is as durable as it asks to be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, Mutex, Weak, lock, thread};

use crate::disk::{Disk, DiskCounters, DiskFile, Durability, Fill};
use crate::error::Error;

/// See the module.
#[derive(Debug)]
pub struct StagedDisk {
    disk: Arc<dyn Disk>,
    stage: Arc<Stage>,
}

#[derive(Debug)]
struct Stage {
    is_staged: AtomicBool,
    /// The files by path, with the handle that was opened last: weak, because a file that is closed
    /// is unlocked and may be opened again.
    files: Mutex<BTreeMap<PathBuf, Weak<dyn DiskFile>>>,
}

impl StagedDisk {
    /// Files of `disk`, of which nothing is durable before [`finish`](Self::finish).
    pub fn over(disk: Arc<dyn Disk>) -> StagedDisk {
        let stage = Stage { is_staged: AtomicBool::new(true), files: Mutex::default() };
        StagedDisk { disk, stage: Arc::new(stage) }
    }

    /// Makes everything durable that was done through this disk.
    ///
    /// # Errors
    /// Of the first file that fails. The files are as after any failed sync.
    pub fn finish(&self) -> Result<(), Error> {
        // First: a write from now on is durable by itself.
        self.stage.is_staged.store(false, Ordering::SeqCst);
        let staged = std::mem::take(&mut *lock(&self.stage.files));
        let reopened = |(path, file): (PathBuf, Weak<dyn DiskFile>)| {
            file.upgrade().map_or_else(|| self.disk.open(&path), Ok)
        };
        let files: Vec<Arc<dyn DiskFile>> =
            staged.into_iter().map(reopened).collect::<Result<_, _>>()?;
        sync_all(&files)?;
        let mut folders: Vec<&Path> = Vec::new();
        for file in &files {
            let folder = file.path().parent().unwrap_or(Path::new(""));
            if !folders.contains(&folder) {
                folders.push(folder);
                self.disk.sync_names(file.path())?;
            }
        }
        Ok(())
    }

    fn staged(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        if self.stage.is_staged() {
            lock(&self.stage.files).insert(file.path().to_path_buf(), Arc::downgrade(&file));
        }
        Arc::new(StagedFile { file, stage: self.stage.clone() })
    }
}

/// Syncs files side by side: a device has one cache to flush.
fn sync_all(files: &[Arc<dyn DiskFile>]) -> Result<(), Error> {
    thread::scope(|scope| {
        let others: Vec<_> =
            files.iter().skip(1).map(|file| scope.spawn(move || file.sync())).collect();
        let first = files.first().map_or(Ok(()), |file| file.sync());
        others.into_iter().fold(first, |synced, other| {
            // A panic of a sync is one of this thread.
            synced.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    })
}

impl Stage {
    fn is_staged(&self) -> bool {
        self.is_staged.load(Ordering::SeqCst)
    }
}

impl Disk for StagedDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        let file = if self.stage.is_staged() {
            self.disk.create_unsynced(path)?
        } else {
            self.disk.create(path)?
        };
        Ok(self.staged(file))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        Ok(self.staged(self.disk.open(path)?))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        lock(&self.stage.files).remove(path);
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.disk.rename(from, to)?;
        let mut files = lock(&self.stage.files);
        if let Some(file) = files.remove(from) {
            files.insert(to.to_path_buf(), file);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct StagedFile {
    file: Arc<dyn DiskFile>,
    stage: Arc<Stage>,
}

impl DiskFile for StagedFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], durability: Durability) -> Result<(), Error> {
        let durability = if self.stage.is_staged() { Durability::Deferred } else { durability };
        self.file.write_at(offset, parts, durability)
    }

    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        self.file.write_many(writes)
    }

    fn sync(&self) -> Result<(), Error> {
        if self.stage.is_staged() { Ok(()) } else { self.file.sync() }
    }

    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        self.file.extend(bytes, fill)
    }

    fn counters(&self) -> DiskCounters {
        self.file.counters()
    }
}

#[cfg(test)]
mod tests {
    use extentdb_base::env::SplitMix64;

    use super::*;
    use crate::disk::MemDisk;

    fn read(disk: &dyn Disk, path: &str) -> Vec<u8> {
        let file = disk.open(Path::new(path)).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read_exact_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn nothing_is_synced_before_the_end_and_everything_at_it() {
        let below = Arc::new(MemDisk::new());
        let staged = StagedDisk::over(below.clone());
        let files = ["a", "b"].map(|name| staged.create(Path::new(name)).unwrap());
        for file in &files {
            file.write_at(0, &[b"page"], Durability::Through).unwrap();
            file.sync().unwrap();
            assert_eq!((file.counters().syncs, file.counters().fua_writes), (0, 0));
        }
        staged.finish().unwrap();
        drop(files);
        let crashed = below.crash(&mut SplitMix64::new(1));
        assert_eq!(["a", "b"].map(|name| read(&crashed, name)), [b"page", b"page"]);
    }

    #[test]
    fn writes_after_the_end_are_as_durable_as_they_ask_to_be() {
        let below = Arc::new(MemDisk::new());
        let staged = StagedDisk::over(below.clone());
        let file = staged.create(Path::new("a")).unwrap();
        staged.finish().unwrap();
        file.write_at(0, &[b"later"], Durability::Through).unwrap();
        drop(file);
        assert_eq!(read(&below.crash(&mut SplitMix64::new(1)), "a"), b"later");
    }

    #[test]
    fn a_file_that_was_closed_is_synced_and_may_be_opened_again() {
        let below = Arc::new(MemDisk::new());
        let staged = StagedDisk::over(below.clone());
        let file = staged.create(Path::new("a")).unwrap();
        file.write_at(0, &[b"page"], Durability::Through).unwrap();
        drop(file);
        assert_eq!(read(&staged, "a"), b"page");
        staged.finish().unwrap();
        assert_eq!(read(&below.crash(&mut SplitMix64::new(1)), "a"), b"page");
    }

    #[test]
    fn a_file_that_was_removed_is_not_synced() {
        let staged = StagedDisk::over(Arc::new(MemDisk::new()));
        drop(staged.create(Path::new("a")).unwrap());
        staged.remove(Path::new("a")).unwrap();
        staged.finish().unwrap();
    }
}
