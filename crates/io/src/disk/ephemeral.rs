//! A disk whose files need not survive: tempdb's, and those of tests and throw-away databases.
//!
//! ```text
//! EphemeralDisk ──▶ any Disk      Through  → Deferred
//!                                 sync     → nothing
//! ```
//!
//! Reads and writes are those of the disk below, and so is the order of two writes to one range.
//! Nothing is made durable: after a crash of the machine the files hold anything. Their owner
//! makes them again at its start and never recovers them.

use std::path::Path;

use extentdb_base::sync::Arc;

use crate::disk::{Disk, DiskCounters, DiskFile, Durability, Fill};
use crate::error::Error;

/// See the module.
#[derive(Debug)]
pub struct EphemeralDisk {
    disk: Arc<dyn Disk>,
}

impl EphemeralDisk {
    /// Files of `disk` that are never made durable.
    pub fn over(disk: Arc<dyn Disk>) -> EphemeralDisk {
        EphemeralDisk { disk }
    }
}

impl Disk for EphemeralDisk {
    fn create(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        Ok(EphemeralFile::over(self.disk.create_unsynced(path)?))
    }

    fn open(&self, path: &Path) -> Result<Arc<dyn DiskFile>, Error> {
        Ok(EphemeralFile::over(self.disk.open(path)?))
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn remove(&self, path: &Path) -> Result<(), Error> {
        self.disk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.disk.rename(from, to)
    }
}

#[derive(Debug)]
struct EphemeralFile {
    file: Arc<dyn DiskFile>,
}

impl EphemeralFile {
    fn over(file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(EphemeralFile { file })
    }
}

impl DiskFile for EphemeralFile {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Error> {
        self.file.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, parts: &[&[u8]], _: Durability) -> Result<(), Error> {
        self.file.write_at(offset, parts, Durability::Deferred)
    }

    fn write_many(&self, writes: &[(u64, &[u8])]) -> Result<(), Error> {
        self.file.write_many(writes)
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Zeros are holes: they need not be durable before they are written over.
    fn extend(&self, bytes: u64, fill: Fill) -> Result<(), Error> {
        let fill = if fill == Fill::Zeros { Fill::Allocated } else { fill };
        self.file.extend(bytes, fill)
    }

    fn counters(&self) -> DiskCounters {
        self.file.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemDisk;

    #[test]
    fn writes_are_read_back_and_nothing_is_synced() {
        let disk = Arc::new(MemDisk::new());
        let ephemeral = EphemeralDisk::over(disk.clone());
        let file = ephemeral.create(Path::new("t")).unwrap();
        file.write_at(0, &[b"page"], Durability::Through).unwrap();
        file.sync().unwrap();
        let mut bytes = [0; 4];
        file.read_exact_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"page");
        let counters = file.counters();
        assert_eq!((counters.writes, counters.syncs, counters.fua_writes), (1, 0, 0));
    }

    #[test]
    fn zeros_are_not_written() {
        let ephemeral = EphemeralDisk::over(Arc::new(MemDisk::new()));
        let file = ephemeral.create(Path::new("t")).unwrap();
        file.extend(8192, Fill::Zeros).unwrap();
        assert_eq!((file.len(), file.counters().bytes_written), (8192, 0));
    }
}
