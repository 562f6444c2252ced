//! The key of the lock table: a resource of one of the databases, packed with its hash.
//!
//! A key goes through two tables, three times for a lock that is acquired and released. It is
//! hashed once, and compared word by word (`tests/lock_speed.rs` measures it).

use std::fmt;
use std::hash::{Hash, Hasher};

use extentdb_base::{AllocUnitId, DatabaseId, Extent, HobtId, ObjectId, PageId, Resource, Rid};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockKey {
    hash: u32,
    database: DatabaseId,
    kind: Kind,
    first: u64,
    second: u64,
}

// A lock without waiters is one cache line in the table: key, one grant, a pointer.
const _: () = assert!(size_of::<LockKey>() == 24);

/// Kinds of resources, as [`Resource`] has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Kind {
    Database,
    Metadata,
    Object,
    Hobt,
    AllocUnit,
    Extent,
    Page,
    Rid,
    Key,
}

impl LockKey {
    pub(crate) fn new(database: DatabaseId, resource: Resource) -> LockKey {
        let (kind, first, second) = match resource {
            Resource::Database => (Kind::Database, 0, 0),
            Resource::Metadata { class, id } => (Kind::Metadata, u64::from(class), id as u64),
            Resource::Object(id) => (Kind::Object, id.0 as u64, 0),
            Resource::Hobt(id) => (Kind::Hobt, id.0 as u64, 0),
            Resource::AllocUnit(id) => (Kind::AllocUnit, id.0 as u64, 0),
            Resource::Extent(extent) => {
                (Kind::Extent, page_word(PageId { file: extent.file, page: extent.index }), 0)
            }
            Resource::Page(page) => (Kind::Page, page_word(page), 0),
            Resource::Rid(rid) => (Kind::Rid, page_word(rid.page), u64::from(rid.slot.0)),
            Resource::Key(index, key) => (Kind::Key, index.0 as u64, key),
        };
        let space = u64::from(database.0) << 8 | kind as u64;
        let hash = fold(fold(fold(0, space), first), second);
        LockKey {
            hash: (hash ^ (hash >> 32)) as u32,
            database,
            kind,
            first,
            second,
        }
    }

    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    pub(crate) fn resource(&self) -> Resource {
        match self.kind {
            Kind::Database => Resource::Database,
            Kind::Metadata => {
                Resource::Metadata { class: self.first as u32, id: self.second as i64 }
            }
            Kind::Object => Resource::Object(ObjectId(self.first as i32)),
            Kind::Hobt => Resource::Hobt(HobtId(self.first as i64)),
            Kind::AllocUnit => Resource::AllocUnit(AllocUnitId(self.first as i64)),
            Kind::Extent => {
                let PageId { file, page: index } = page_of(self.first);
                Resource::Extent(Extent { file, index })
            }
            Kind::Page => Resource::Page(page_of(self.first)),
            Kind::Rid => Resource::Rid(Rid::new(page_of(self.first), self.second as u16)),
            Kind::Key => Resource::Key(HobtId(self.first as i64), self.second),
        }
    }

    /// Is it a part of a table of which there may be many?
    pub(crate) fn is_fine(&self) -> bool {
        matches!(self.kind, Kind::Page | Kind::Rid | Kind::Key)
    }

    /// The shard of `shards`. From the highest bits of the hash: the map of a shard spreads all of
    /// them again.
    pub(crate) fn shard(&self, shards: usize) -> usize {
        (self.hash >> 16) as usize % shards
    }
}

fn page_word(page: PageId) -> u64 {
    u64::from(page.file.0) << 32 | u64::from(page.page)
}

fn page_of(word: u64) -> PageId {
    PageId::new((word >> 32) as u16, word as u32)
}

impl Hash for LockKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.hash);
    }
}

impl fmt::Debug for LockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.resource().wait_text(self.database))
    }
}

/// Hashing for the tables of this crate: their keys are one word.
pub(crate) type FastHash = rustc_hash::FxBuildHasher;

/// 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds a word into the hash that a [`LockKey`] carries.
fn fold(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(SPREAD)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_key_is_its_database_and_its_resource() {
        let page = PageId::new(3, 0xffff_fff0);
        let resources = [
            Resource::Database,
            Resource::Metadata { class: u32::MAX, id: -3 },
            Resource::Object(ObjectId(-1)),
            Resource::Hobt(HobtId(-5)),
            Resource::AllocUnit(AllocUnitId(1 << 62)),
            Resource::Extent(page.extent()),
            Resource::Page(page),
            Resource::Rid(Rid::new(page, 0xffff)),
            Resource::Key(HobtId(7), u64::MAX),
        ];
        let mut keys = HashSet::new();
        for database in [0, 1, u16::MAX].map(DatabaseId) {
            for resource in resources {
                let key = LockKey::new(database, resource);
                assert_eq!((key.database(), key.resource()), (database, resource));
                assert_eq!(key.is_fine(), resource.is_fine());
                assert!(keys.insert(key));
            }
        }
    }

    #[test]
    fn adjacent_rows_are_spread_over_shards_and_hashes() {
        let shards = 32;
        let mut counts = vec![0; shards];
        let mut hashes = HashSet::new();
        for page in 0..100 {
            for slot in 0..100 {
                let row = Resource::Rid(Rid::new(PageId::new(1, page), slot));
                let key = LockKey::new(DatabaseId(5), row);
                counts[key.shard(shards)] += 1;
                hashes.insert(key.hash);
            }
        }
        assert!(counts.iter().all(|count| (200..450).contains(count)), "{counts:?}");
        assert!(hashes.len() > 9_990, "{}", hashes.len());
    }
}
