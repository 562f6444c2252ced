//! The ways a real disk hands writes to the system, side by side: what a commit and what a
//! checkpoint ask of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::size::PAGE_BYTES;
use extentdb_io::{
    AlignedBuf, Backend, Disk, DiskFile, Durability, DurabilityMode, Fill, RealDisk,
};
use tempfile::TempDir;

use crate::report::timed;

/// A log block of a small transaction.
const BLOCK_BYTES: usize = 4096;
const LOG_BYTES: u64 = 16 << 20;
/// 20 MiB of pages, somewhere in 64 MiB.
const PAGES: usize = 2560;
const DATA_BYTES: u64 = 64 << 20;
/// Pages that a checkpoint hands over at once.
const BATCH_PAGES: usize = 128;

/// A file of a backend in a folder of its own.
pub struct BackendFile {
    file: Arc<dyn DiskFile>,
    at: u64,
    _folder: TempDir,
}

impl BackendFile {
    /// A log: zeros that were written and are durable.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn log(parent: &Path, mode: DurabilityMode, backend: Backend) -> Result<BackendFile> {
        Self::create(parent, mode, backend, LOG_BYTES, Fill::Zeros)
    }

    /// A data file, of zeros that were written or of a hole.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn data(
        parent: &Path,
        mode: DurabilityMode,
        backend: Backend,
        fill: Fill,
    ) -> Result<BackendFile> {
        Self::create(parent, mode, backend, DATA_BYTES, fill)
    }

    fn create(
        parent: &Path,
        mode: DurabilityMode,
        backend: Backend,
        bytes: u64,
        fill: Fill,
    ) -> Result<BackendFile> {
        let folder = tempfile::Builder::new().prefix("extentdb-backend-").tempdir_in(parent)?;
        let disk = RealDisk::new(mode).with_backend(backend);
        let path = folder.path().join("file");
        let file = disk.create(&path)?;
        file.extend(bytes, fill)?;
        file.sync()?;
        // Opened again: from here on its length is old.
        drop(file);
        Ok(BackendFile { file: disk.open(&path)?, at: 0, _folder: folder })
    }

    /// Time of one durable write of a log block, the average of `count`.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn commit_time(&mut self, count: u32) -> Result<Duration> {
        let block = vec![7; BLOCK_BYTES];
        let (time, done) = timed(|| (0..count).try_for_each(|_| self.write_block(&block)));
        done?;
        Ok(time / count.max(1))
    }

    fn write_block(&mut self, block: &[u8]) -> Result<()> {
        self.file.write_at(self.at, &[block], Durability::Through)?;
        self.at = (self.at + BLOCK_BYTES as u64) % LOG_BYTES;
        Ok(())
    }

    /// Time to write 20 MiB of pages here and there, in ascending order as a checkpoint does, and
    /// to make them durable.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn checkpoint_time(&mut self, seed: u64) -> Result<Duration> {
        let pages = random_pages(seed);
        let mut memory = AlignedBuf::zeroed(BATCH_PAGES * PAGE_BYTES);
        memory.fill(seed as u8);
        let (time, done) = timed(|| -> Result<()> {
            for batch in pages.chunks(BATCH_PAGES) {
                let copies = memory.chunks(PAGE_BYTES);
                let writes: Vec<(u64, &[u8])> = batch.iter().copied().zip(copies).collect();
                self.file.write_many(&writes)?;
            }
            Ok(self.file.sync()?)
        });
        done?;
        Ok(time)
    }
}

/// Offsets of pages, each at most once, ascending.
fn random_pages(seed: u64) -> Vec<u64> {
    let mut rng = SplitMix64::new(seed);
    let mut pages: Vec<u64> = (0..DATA_BYTES / PAGE_BYTES as u64).collect();
    for at in 0..PAGES {
        let other = at + rng.below((pages.len() - at) as u64) as usize;
        pages.swap(at, other);
    }
    pages.truncate(PAGES);
    pages.sort_unstable();
    pages.into_iter().map(|page| page * PAGE_BYTES as u64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_pages_are_distinct_ascending_and_within_the_file() {
        let pages = random_pages(3);
        assert!(pages.len() == PAGES && pages.is_sorted_by(|page, next| page < next));
        assert!(pages.iter().all(|offset| offset + PAGE_BYTES as u64 <= DATA_BYTES));
        assert_ne!(pages, random_pages(4));
    }
}
