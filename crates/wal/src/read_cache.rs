//! Blocks of the log that were read lately, and the windows of the file that they came from.

use std::collections::VecDeque;

use extentdb_base::Lsn;
use extentdb_base::sync::Arc;
use extentdb_format::log::block::{BlockBuf, MAX_BLOCK_BYTES};
use extentdb_format::log::fault::{BlockFault, RecordFault};
use extentdb_io::DiskFile;

use crate::error::{Damage, Error};

/// Blocks that stay in memory, and windows of the file.
const CACHED_BLOCKS: usize = 16;
const CACHED_WINDOWS: usize = 4;
/// A window begins on a multiple of this, and is longer by the largest block, so that a block that
/// begins in it ends in it.
const WINDOW_BYTES: u64 = 256 << 10;

/// A position of a block in the file.
#[derive(Clone, Copy)]
pub(crate) struct BlockPosition {
    pub(crate) offset: u64,
    /// Bytes up to the end of the VLF.
    pub(crate) room: u64,
}

/// What was read lately.
#[derive(Debug, Default)]
pub(crate) struct ReadCache {
    /// Blocks, most recently used first.
    blocks: VecDeque<Arc<BlockBuf>>,
    windows: VecDeque<(u64, Vec<u8>)>,
}

impl ReadCache {
    /// A block kept from before.
    pub(crate) fn block(&mut self, lsn: Lsn) -> Option<Arc<BlockBuf>> {
        let is_it = |block: &Arc<BlockBuf>| {
            let first = block.view().header().first_lsn;
            (first.vlf, first.block) == (lsn.vlf, lsn.block)
        };
        let index = self.blocks.iter().position(is_it)?;
        let block = self.blocks.remove(index)?;
        self.blocks.push_front(Arc::clone(&block));
        Some(block)
    }

    pub(crate) fn keep(&mut self, block: BlockBuf) -> Arc<BlockBuf> {
        let block = Arc::new(block);
        self.blocks.truncate(CACHED_BLOCKS - 1);
        self.blocks.push_front(Arc::clone(&block));
        block
    }

    /// Takes a block from a window, or from the file.
    pub(crate) fn fetch(
        &mut self,
        file: &dyn DiskFile,
        lsn: Lsn,
        position: BlockPosition,
    ) -> Result<BlockBuf, Error> {
        let start = position.offset / WINDOW_BYTES * WINDOW_BYTES;
        if let Some(index) = self.windows.iter().position(|(window, _)| *window == start)
            && let Some(window) = self.windows.remove(index)
        {
            let bytes = window.1.get((position.offset - start) as usize..).unwrap_or_default();
            if let Ok(block) = parse(bytes, lsn, position) {
                self.windows.push_front(window);
                return Ok(block);
            }
            // It was read before the block was written, or the file was that long.
        }
        let mut bytes = vec![0; WINDOW_BYTES as usize + MAX_BLOCK_BYTES];
        let read = file.read_at(start, &mut bytes)?;
        bytes.truncate(read.max((position.offset - start) as usize));
        let block = parse(&bytes[(position.offset - start) as usize..], lsn, position);
        self.windows.truncate(CACHED_WINDOWS - 1);
        self.windows.push_front((start, bytes));
        block.map_err(|what| Error::Corrupt { offset: position.offset, what })
    }
}

/// The block at the start of `bytes`, when it is the one that holds `lsn`.
fn parse(bytes: &[u8], lsn: Lsn, position: BlockPosition) -> Result<BlockBuf, Damage> {
    let first = Lsn { slot: 1, ..lsn };
    let block = BlockBuf::at_start(bytes, first, position.room);
    let block = block.map_err(|reason| Damage::NoBlock { lsn: first, reason })?;
    match damage_of(&block) {
        Some(fault) => Err(Damage::Block { lsn: first, fault }),
        None => Ok(block),
    }
}

/// The first fault of a block that makes its records doubtful. An unknown operation is no fault:
/// recovery refuses it.
pub(crate) fn damage_of(block: &BlockBuf) -> Option<BlockFault> {
    let is_meaning = |fault: &RecordFault| matches!(fault, RecordFault::ShortFixed { .. });
    let is_harmless =
        |fault: &BlockFault| matches!(fault, BlockFault::Record { fault, .. } if is_meaning(fault));
    block.faults().into_iter().find(|fault| !is_harmless(fault))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use extentdb_io::{Disk, MemDisk};

    use super::*;

    #[test]
    fn a_window_that_was_read_before_the_file_grew_is_read_again() {
        let disk = MemDisk::new();
        let path = Path::new("log.ldf");
        disk.put(path, vec![0; 8192]);
        let mut cache = ReadCache::default();
        let file = disk.open(path).unwrap();
        let lsn = Lsn { vlf: 1, block: 16, slot: 1 };
        let fetch = |cache: &mut ReadCache, file: &dyn DiskFile, offset| {
            cache.fetch(file, lsn, BlockPosition { offset, room: 1 << 20 }).map(drop)
        };
        assert!(matches!(fetch(&mut cache, &*file, 512), Err(Error::Corrupt { offset: 512, .. })));
        disk.put(path, vec![0; 65536]);
        let file = disk.open(path).unwrap();
        assert!(matches!(
            fetch(&mut cache, &*file, 32256),
            Err(Error::Corrupt { offset: 32256, .. })
        ));
    }
}
