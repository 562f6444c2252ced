//! The device's own limit: one small write after the other, each durable before the next begins.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use extentdb_io::{Disk, DiskFile, Durability, DurabilityMode, Fill, RealDisk};
use std::sync::Arc;
use tempfile::TempDir;

use crate::report::timed;

const WRITE_BYTES: usize = 4096;
const FILE_BYTES: u64 = 16 << 20;

/// A file that is written in place, past the page cache, and flushed after each write.
pub struct Device {
    file: Arc<dyn DiskFile>,
    at: u64,
    _folder: TempDir,
}

impl Device {
    /// A file of written zeros in a folder of its own.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(parent: &Path) -> Result<Device> {
        let folder = tempfile::Builder::new().prefix("extentdb-device-").tempdir_in(parent)?;
        let disk = RealDisk::new(DurabilityMode::Fua);
        let path = folder.path().join("device");
        let file = disk.create(&path)?;
        file.extend(FILE_BYTES, Fill::Zeros)?;
        file.sync()?;
        // Opened again: from here on it has its full length, and no hole.
        drop(file);
        Ok(Device { file: disk.open(&path)?, at: 0, _folder: folder })
    }

    /// Time of one durable write, the average of `count`.
    ///
    /// # Errors
    /// The device refuses.
    pub fn write_time(&mut self, count: u32) -> Result<Duration> {
        let (time, done) = timed(|| (0..count).try_for_each(|_| self.write_one()));
        done?;
        Ok(time / count.max(1))
    }

    fn write_one(&mut self) -> Result<()> {
        let page = extentdb_io::AlignedBuf::zeroed(WRITE_BYTES);
        self.file.write_at(self.at, &[&page[..]], Durability::Deferred)?;
        self.file.sync()?;
        self.at = (self.at + WRITE_BYTES as u64) % FILE_BYTES;
        Ok(())
    }
}
