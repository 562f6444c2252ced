//! Room on a disk in memory: blocks that files take, and how many there are.
//!
//! Invariant: a block is counted once, when a file first takes it, until the file is removed.

use extentdb_base::sync::{Mutex, lock};

/// What room is given in: the block of usual file systems.
pub(super) const BLOCK_BYTES: usize = 4096;

/// Blocks of a file that take room; the others are holes.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    is_taken: Vec<bool>,
    count: u64,
}

impl Blocks {
    /// All blocks of a file of `len` bytes.
    pub(super) fn of_len(len: usize) -> Blocks {
        let count = len.div_ceil(BLOCK_BYTES);
        Blocks { is_taken: vec![true; count], count: count as u64 }
    }

    /// The same without those past `len` bytes.
    pub(super) fn up_to(&self, len: usize) -> Blocks {
        let mut is_taken = self.is_taken.clone();
        is_taken.truncate(len.div_ceil(BLOCK_BYTES));
        let count = is_taken.iter().filter(|is_taken| **is_taken).count() as u64;
        Blocks { is_taken, count }
    }

    /// How many take room.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The holes in a range of bytes, by the number of their block.
    pub(super) fn holes(&self, offset: usize, len: usize) -> Vec<usize> {
        let blocks = offset / BLOCK_BYTES..(offset + len).div_ceil(BLOCK_BYTES);
        blocks.filter(|block| !self.is_taken.get(*block).copied().unwrap_or(false)).collect()
    }

    /// These blocks take room from now on. None of them did.
    pub(super) fn take(&mut self, blocks: &[usize]) {
        for block in blocks {
            if self.is_taken.len() <= *block {
                self.is_taken.resize(*block + 1, false);
            }
            self.is_taken[*block] = true;
        }
        self.count += blocks.len() as u64;
    }
}

/// The blocks of a disk.
#[derive(Debug, Default)]
pub(super) struct DiskSpace(Mutex<SpaceUse>);

/// Room taken, in blocks of [`BLOCK_BYTES`].
#[derive(Clone, Copy, Debug, Default)]
struct SpaceUse {
    used: u64,
    /// `None`: no limit.
    capacity: Option<u64>,
}

impl DiskSpace {
    /// The same limit, with `used` blocks in use.
    pub(super) fn with_used(&self, used: u64) -> DiskSpace {
        DiskSpace(Mutex::new(SpaceUse { used, ..*lock(&self.0) }))
    }

    pub(super) fn set_capacity(&self, bytes: Option<u64>) {
        lock(&self.0).capacity = bytes.map(|bytes| bytes / BLOCK_BYTES as u64);
    }

    pub(super) fn used_bytes(&self) -> u64 {
        lock(&self.0).used * BLOCK_BYTES as u64
    }

    /// Takes up to `blocks`; returns how many there were.
    pub(super) fn take(&self, blocks: u64) -> u64 {
        if blocks == 0 {
            return 0;
        }
        let mut account = lock(&self.0);
        let free =
            account.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(account.used));
        let taken = blocks.min(free);
        account.used += taken;
        taken
    }

    /// Takes blocks that need not be there.
    pub(super) fn charge(&self, blocks: u64) {
        lock(&self.0).used += blocks;
    }

    pub(super) fn give_back(&self, blocks: u64) {
        let mut account = lock(&self.0);
        account.used = account.used.saturating_sub(blocks);
    }
}
