//! A data file as the pool knows it: its disk file, and what was written to it but is not durable
//! yet.
//!
//! ```text
//! write ends ──▶ oldest = min(oldest, first change of the pages) ──▶ their frames are clean
//! sync begins ─▶ syncing = oldest, oldest = none      sync ends well ─▶ syncing = none      badly ─▶ offline, kept for ever
//! ```
//!
//! Invariants
//! - A change is in the account of its frame or of its file until a sync that began after its write
//!   has ended. It enters the file's account before it leaves the frame's; so a reader that visits
//!   frames first and files second misses none.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::sync::{Arc, Mutex, lock};
use extentdb_base::{FileId, Lsn};
use extentdb_io::DiskFile;

use crate::frame::earlier;

/// See the module.
#[derive(Debug)]
pub(crate) struct PoolFile {
    pub(crate) id: FileId,
    pub(crate) disk: Arc<dyn DiskFile>,
    unsynced: Mutex<Unsynced>,
    /// Held during a sync: one at a time.
    turn: Mutex<()>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Unsynced {
    /// Writes ended since the last sync began.
    writes: u64,
    /// The first logged change in them.
    oldest: Lsn,
    /// The first logged change that the current sync makes durable.
    syncing: Lsn,
}

impl PoolFile {
    pub(crate) fn new(id: FileId, disk: Arc<dyn DiskFile>) -> Self {
        PoolFile { id, disk, unsynced: Mutex::default(), turn: Mutex::default() }
    }

    /// Whole pages that the file holds.
    pub(crate) fn pages(&self) -> u64 {
        self.disk.len() / PAGE_BYTES as u64
    }

    /// Writes of pages have ended whose first logged change is `first`. To be called before the
    /// frames are updated.
    pub(crate) fn note_writes(&self, writes: u64, first: Lsn) {
        let mut unsynced = lock(&self.unsynced);
        unsynced.writes += writes;
        unsynced.oldest = earlier(unsynced.oldest, first);
    }

    /// The first logged change that was written and is not known to be durable.
    pub(crate) fn oldest_unsynced(&self) -> Lsn {
        let unsynced = lock(&self.unsynced);
        earlier(unsynced.oldest, unsynced.syncing)
    }

    /// Makes what was written durable. Returns the writes this was for; none, and no sync, when all
    /// is durable already.
    pub(crate) fn sync(&self) -> Result<u64, extentdb_io::Error> {
        let _turn = lock(&self.turn);
        let writes = {
            let mut unsynced = lock(&self.unsynced);
            unsynced.syncing = unsynced.oldest;
            unsynced.oldest = Lsn::ZERO;
            std::mem::take(&mut unsynced.writes)
        };
        if writes == 0 {
            return Ok(0);
        }
        // On failure `syncing` stays set: what has reached the device is unknown, and the pool
        // never syncs again.
        self.disk.sync()?;
        lock(&self.unsynced).syncing = Lsn::ZERO;
        Ok(writes)
    }

    /// Forgets what was written.
    pub(crate) fn forget_writes(&self) {
        *lock(&self.unsynced) = Unsynced::default();
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use extentdb_base::sync::OnceLock;
    use extentdb_io::{Disk, Durability, Error, Fill, MemDisk};

    use super::*;

    fn lsn(block: u32) -> Lsn {
        Lsn::new(1, block, 1)
    }

    #[test]
    fn a_write_counts_until_a_sync_that_began_after_it() {
        let disk = MemDisk::new();
        let file = PoolFile::new(FileId(1), disk.create(Path::new("a")).unwrap());
        assert_eq!((file.sync().unwrap(), file.oldest_unsynced()), (0, Lsn::ZERO));
        file.note_writes(1, lsn(7));
        file.note_writes(1, lsn(5));
        file.note_writes(1, Lsn::ZERO);
        assert_eq!(file.oldest_unsynced(), lsn(5));
        assert_eq!((file.sync().unwrap(), file.oldest_unsynced()), (3, Lsn::ZERO));
        file.note_writes(1, lsn(9));
        disk.fail_after(0);
        assert!(file.sync().is_err());
        assert_eq!(file.oldest_unsynced(), lsn(9), "a failed sync makes nothing durable");
    }

    /// A file during whose syncs a write ends.
    #[derive(Debug, Default)]
    struct Busy(OnceLock<Arc<PoolFile>>);

    impl DiskFile for Busy {
        fn path(&self) -> &Path {
            Path::new("busy")
        }

        fn len(&self) -> u64 {
            0
        }

        fn read_at(&self, _: u64, _: &mut [u8]) -> Result<usize, Error> {
            Ok(0)
        }

        fn write_at(&self, _: u64, _: &[&[u8]], _: Durability) -> Result<(), Error> {
            Ok(())
        }

        fn sync(&self) -> Result<(), Error> {
            let file = self.0.get().unwrap();
            assert_eq!(file.oldest_unsynced(), lsn(3), "what is being synced is not durable yet");
            file.note_writes(1, lsn(8));
            Ok(())
        }

        fn extend(&self, _: u64, _: Fill) -> Result<(), Error> {
            Ok(())
        }
    }

    #[test]
    fn a_write_that_ends_during_a_sync_waits_for_the_next() {
        let disk = Arc::new(Busy::default());
        let file = Arc::new(PoolFile::new(FileId(1), Arc::clone(&disk) as _));
        disk.0.set(Arc::clone(&file)).unwrap();
        file.note_writes(1, lsn(3));
        assert_eq!(file.sync().unwrap(), 1);
        assert_eq!(file.oldest_unsynced(), lsn(8));
    }
}
