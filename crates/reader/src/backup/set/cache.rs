//! A few expanded extents, kept for the next page of them.
//!
//! Reading a B-tree page by page would otherwise expand an extent of a compressed backup eight
//! times. Two threads may expand the same extent at once; the lock is held only for lookup and
//! insert.

use extentdb_base::Extent;
use extentdb_base::sync::{Arc, Mutex, lock};

/// Number of shards, each with its own lock.
const SHARDS: usize = 8;
/// Extents in each part: 4 MB in all.
const EXTENTS_PER_SHARD: usize = 8;

type Shard = Vec<(Extent, Arc<[u8]>)>;

#[derive(Default)]
pub(crate) struct ExtentCache {
    shards: [Mutex<Shard>; SHARDS],
}

impl ExtentCache {
    fn shard(&self, extent: Extent) -> &Mutex<Shard> {
        let [first, ..] = &self.shards;
        self.shards.get(extent.index as usize % SHARDS).unwrap_or(first)
    }

    /// The cached extent, which becomes the most recently used one.
    pub(crate) fn find(&self, extent: Extent) -> Option<Arc<[u8]>> {
        let mut shard = lock(self.shard(extent));
        let at = shard.iter().position(|(kept, _)| *kept == extent)?;
        let found = shard.remove(at);
        let bytes = found.1.clone();
        shard.push(found);
        Some(bytes)
    }

    /// Caches an extent in place of the least recently used one.
    pub(crate) fn keep(&self, extent: Extent, bytes: Arc<[u8]>) {
        let mut shard = lock(self.shard(extent));
        if shard.iter().any(|(kept, _)| *kept == extent) {
            return;
        }
        if shard.len() >= EXTENTS_PER_SHARD {
            shard.remove(0);
        }
        shard.push((extent, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use extentdb_base::FileId;
    use extentdb_base::size::EXTENT_BYTES;

    #[test]
    fn the_least_recently_used_extent_is_evicted() {
        let cache = ExtentCache::default();
        let extent = |n: u32| Extent { file: FileId(1), index: n * SHARDS as u32 };
        for n in 0..EXTENTS_PER_SHARD as u32 {
            cache.keep(extent(n), vec![n as u8; EXTENT_BYTES].into());
        }
        assert!(cache.find(extent(0)).is_some());
        cache.keep(extent(99), vec![99; EXTENT_BYTES].into());
        assert!(cache.find(extent(1)).is_none());
        assert_eq!(cache.find(extent(0)).map(|bytes| bytes[5]), Some(0));
        assert_eq!(cache.find(extent(99)).map(|bytes| bytes[5]), Some(99));
    }
}
