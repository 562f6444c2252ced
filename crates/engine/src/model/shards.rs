//! A map whose changed copy shares all but a few of its entries with the original: a two-level
//! persistent map.
//!
//! ```text
//! map ──▶ 512 shards by hash ──▶ each a small sorted map, shared by all versions that have it alike
//! ```

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use extentdb_base::sync::Arc;

/// Shards of a map: a change copies as many pointers, and a 512th of the entries.
const SHARDS: usize = 512;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Shards<K, V>(Vec<Arc<BTreeMap<K, V>>>);

impl<K, V> Default for Shards<K, V> {
    fn default() -> Self {
        Shards((0..SHARDS).map(|_| Arc::default()).collect())
    }
}

impl<K: Ord + Hash + Clone, V: Clone> Shards<K, V> {
    fn shard(key: &K) -> usize {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        hasher.finish() as usize % SHARDS
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(Self::shard(key))?.get(key)
    }

    /// Copies the shard of the key, when another map has it, too.
    pub(super) fn insert(&mut self, key: K, value: V) {
        if let Some(shard) = self.0.get_mut(Self::shard(&key)) {
            Arc::make_mut(shard).insert(key, value);
        }
    }

    /// The same.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.get(key)?;
        Arc::make_mut(self.0.get_mut(Self::shard(key))?).remove(key)
    }

    /// In no particular order.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().flat_map(|shard| shard.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_copy_leaves_the_original_alone() {
        let mut first = Shards::default();
        (0..5000).for_each(|key| first.insert(key, key));
        let mut second = first.clone();
        second.insert(17, 0);
        second.remove(&18);
        assert_eq!((first.get(&17), first.get(&18)), (Some(&17), Some(&18)));
        assert_eq!((second.get(&17), second.get(&18)), (Some(&0), None));
        assert_eq!((first.values().count(), second.values().count()), (5000, 4999));
        let shared = first.0.iter().zip(&second.0).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        assert!(shared >= SHARDS - 2);
    }
}
