//! The bytes of a file in memory: what reads see, what is durable, and what is in between.

use std::collections::BTreeMap;

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;

use super::death::{Death, InFlightWrite};
use super::room::Blocks;

/// What a sector was given, by the number of the write.
type Versions = Vec<(u64, [u8; SECTOR_BYTES])>;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    pub(super) live: Vec<u8>,
    pub(super) durable: Vec<u8>,
    unsynced: BTreeMap<u64, Versions>,
    /// Number of the last write.
    writes: u64,
    /// Blocks that take room on the disk.
    pub(super) blocks: Blocks,
    /// Writes that the process did not live to see the end of.
    pub(super) death: Death,
}

impl Bytes {
    /// A file with these contents, all of them durable.
    pub(super) fn with(contents: Vec<u8>) -> Bytes {
        let blocks = Blocks::of_len(contents.len());
        Bytes::sparse(contents, blocks)
    }

    /// The same with holes.
    pub(super) fn sparse(contents: Vec<u8>, blocks: Blocks) -> Bytes {
        Bytes {
            durable: contents.clone(),
            live: contents,
            blocks,
            ..Bytes::default()
        }
    }

    /// Changes the live bytes; what is in them is not durable yet. Returns the number of the write.
    pub(super) fn write(&mut self, offset: usize, parts: &[&[u8]]) -> u64 {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if self.live.len() < offset + len {
            self.live.resize(offset + len, 0);
        }
        let mut at = offset;
        for part in parts {
            self.live[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.writes += 1;
        for sector in sectors_of(offset, len) {
            let version = (self.writes, sector_at(&self.live, sector));
            self.unsynced.entry(sector).or_default().push(version);
        }
        self.writes
    }

    /// Undoes the part of a write after its first `keep` bytes, as if that had never reached the
    /// file.
    pub(super) fn undo_write_after(&mut self, keep: usize, piece: &InFlightWrite) {
        let start = piece.offset + keep;
        let end = piece.offset + piece.after.len();
        for sector in sectors_of(start, end - start) {
            if let Some(versions) = self.unsynced.get_mut(&sector) {
                versions.retain(|(write, _)| Some(*write) != piece.number);
            }
        }
        self.unsynced.retain(|_, versions| !versions.is_empty());
        if end > piece.old_len {
            self.live.truncate(piece.old_len.max(start));
        }
        let before = piece.before.get(keep..).unwrap_or(&[]);
        self.live[start..start + before.len()].copy_from_slice(before);
    }

    /// Makes the sectors of a range durable, and the length as far as they reach.
    pub(super) fn harden(&mut self, offset: usize, len: usize) {
        for sector in sectors_of(offset, len) {
            self.unsynced.remove(&sector);
            let content = sector_at(&self.live, sector);
            put_sector(&mut self.durable, sector, &content, self.live.len());
        }
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) {
        self.durable.resize(self.live.len(), 0);
        for (sector, versions) in std::mem::take(&mut self.unsynced) {
            if let Some((_, content)) = versions.last() {
                put_sector(&mut self.durable, sector, content, self.live.len());
            }
        }
    }

    /// What a power failure would leave on a device that writes `sectors` sectors atomically.
    pub(super) fn image(&self, keep: &mut dyn Rng, unit: u64) -> Vec<u8> {
        let mut image = self.durable.clone();
        let grown = self.live.len().saturating_sub(image.len());
        // The new length is recorded or not, or half way: file systems extend a file step by step.
        let len = image.len()
            + match keep.below(3) {
                0 => 0,
                1 => grown,
                _ => keep.below(grown as u64 + 1) as usize,
            };
        image.resize(len, 0);
        let mut outcomes = BTreeMap::new();
        let mut torn = BTreeMap::new();
        for (sector, versions) in &self.unsynced {
            for (write, content) in versions {
                let outcome = *outcomes.entry(*write).or_insert_with(|| keep.below(3));
                let survives = match outcome {
                    0 => false,
                    1 => true,
                    _ => *torn.entry((*write, sector / unit)).or_insert_with(|| keep.below(2) == 0),
                };
                if survives {
                    put_sector(&mut image, *sector, content, len);
                }
            }
        }
        image
    }
}

/// Numbers of the sectors that a range touches.
fn sectors_of(offset: usize, len: usize) -> std::ops::Range<u64> {
    (offset / SECTOR_BYTES) as u64..(offset + len).div_ceil(SECTOR_BYTES) as u64
}

fn sector_at(bytes: &[u8], sector: u64) -> [u8; SECTOR_BYTES] {
    let mut content = [0; SECTOR_BYTES];
    let start = sector as usize * SECTOR_BYTES;
    let stored = &bytes[start..(start + SECTOR_BYTES).min(bytes.len())];
    content[..stored.len()].copy_from_slice(stored);
    content
}

/// Stores a sector, as far as it is within a file of `len` bytes.
fn put_sector(bytes: &mut Vec<u8>, sector: u64, content: &[u8; SECTOR_BYTES], len: usize) {
    let start = sector as usize * SECTOR_BYTES;
    let end = (start + SECTOR_BYTES).min(len);
    if start >= end {
        return;
    }
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[start..end].copy_from_slice(&content[..end - start]);
}
