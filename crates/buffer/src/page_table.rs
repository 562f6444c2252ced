//! The page table: which frame holds which page.
//!
//! ```text
//! page key ── hash ──▶ shard (mutex) ──▶ map: key → frame index
//! ```
//!
//! Invariants
//! - A frame's `Arc` is cloned only under the lock of the shard of its page, and a page leaves the
//!   table only under the same lock while its frame is not fixed. So what was looked up stays what
//!   it is until its guard is dropped.
//! - No shard is locked while another one is, nor during a wait for a latch or for I/O.

use std::collections::HashMap;

use extentdb_base::sync::{Mutex, MutexGuard, lock};
use rustc_hash::FxBuildHasher;

use crate::page_key::{DatabaseNumber, PageKey};

/// Shards; far more than processors, so that two threads seldom contend.
const SHARDS: usize = 128;
/// An odd number without pattern: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// See the module.
pub(crate) struct PageTable {
    shards: Vec<Padded>,
}

/// A shard on cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Padded(Mutex<Shard>);

/// Some pages and their frames. In this order, a hit touches the first cache line only (2 threads,
/// `figures.rs`).
#[derive(Default)]
#[repr(C)]
pub(crate) struct Shard {
    map: HashMap<u64, u32, FxBuildHasher>,
    /// Look-ups by users. Counted here because this cache line is at hand.
    pub(crate) lookups: u64,
    /// Pages of each database, by the index of its number.
    pages: Vec<u32>,
}

impl PageTable {
    pub(crate) fn new() -> Self {
        PageTable { shards: (0..SHARDS).map(|_| Padded::default()).collect() }
    }

    /// The shard of a page, locked.
    pub(crate) fn shard(&self, key: PageKey) -> MutexGuard<'_, Shard> {
        let shard = spread(key.packed()) >> (u64::BITS - SHARDS.trailing_zeros());
        lock(&self.shards[shard as usize].0)
    }

    /// Pages of a database in the table.
    pub(crate) fn pages_of(&self, database: DatabaseNumber) -> u64 {
        let Some(index) = database.index() else { return 0 };
        let pages = |shard: &Padded| lock(&shard.0).pages.get(index).copied();
        self.shards.iter().filter_map(pages).map(u64::from).sum()
    }

    /// Pages in the table and look-ups so far.
    pub(crate) fn totals(&self) -> (usize, u64) {
        self.shards.iter().fold((0, 0), |(pages, lookups), shard| {
            let shard = lock(&shard.0);
            (pages + shard.map.len(), lookups + shard.lookups)
        })
    }
}

impl Shard {
    /// The frame of a page.
    pub(crate) fn frame(&self, key: PageKey) -> Option<usize> {
        self.map.get(&key.packed()).map(|frame| *frame as usize)
    }

    /// Enters the page with its frame.
    pub(crate) fn insert(&mut self, key: PageKey, frame: usize) {
        let before = self.map.insert(key.packed(), frame as u32);
        assert!(before.is_none(), "page {} in two frames", key.page());
        let Some(index) = key.database().index() else { return };
        if index >= self.pages.len() {
            self.pages.resize(index + 1, 0);
        }
        self.pages[index] += 1;
    }

    /// The page is in no frame any more.
    pub(crate) fn remove(&mut self, key: PageKey) {
        let before = self.map.remove(&key.packed());
        if let (Some(_), Some(index)) = (before, key.database().index()) {
            self.pages[index] -= 1;
        }
    }
}

fn spread(value: u64) -> u64 {
    let mixed = value.wrapping_mul(SPREAD);
    (mixed ^ (mixed >> 32)).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use extentdb_base::PageId;

    use super::*;

    fn key(page: u32) -> PageKey {
        PageKey::new(DatabaseNumber::of_index(0), PageId::new(1, page))
    }

    #[test]
    fn consecutive_pages_spread_over_the_shards() {
        let table = PageTable::new();
        for page in 0..1280 {
            table.shard(key(page)).insert(key(page), page as usize);
        }
        let fullest = table.shards.iter().map(|shard| lock(&shard.0).map.len()).max().unwrap();
        assert!(fullest <= 30, "{fullest} pages in one of {SHARDS} shards; 10 on average");
        assert_eq!(table.totals(), (1280, 0));
        assert_eq!(table.pages_of(DatabaseNumber::of_index(0)), 1280);
        assert_eq!(table.pages_of(DatabaseNumber::of_index(1)), 0);
        let key = key(77);
        assert_eq!(table.shard(key).frame(key), Some(77));
        table.shard(key).remove(key);
        assert_eq!(table.shard(key).frame(key), None);
        assert_eq!(table.pages_of(DatabaseNumber::of_index(0)), 1279);
    }
}
