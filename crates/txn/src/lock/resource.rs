//! What can be locked.

use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use extentdb_base::{AllocUnitId, Extent, HobtId, ObjectId, PageId, Rid};

/// Something that can be locked, within one database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Resource {
    /// The database as a whole; sessions of SQL Server hold it shared.
    Database,
    /// A piece of catalog data that is no object.
    Metadata {
        /// Type of the resource.
        class: u32,
        /// Which of them.
        id: i64,
    },
    /// A table, view or other object.
    Object(ObjectId),
    /// A heap or index partition.
    Hobt(HobtId),
    /// An allocation unit, while it is built or dropped.
    AllocUnit(AllocUnitId),
    /// Eight pages, while they are handed out.
    Extent(Extent),
    /// A page of a heap or index.
    Page(PageId),
    /// A row of a heap.
    Rid(Rid),
    /// A row of an index, by the hash of its key.
    Key(HobtId, u64),
}

impl Resource {
    /// The name in `sys.dm_tran_locks.resource_type`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Resource::Database => "DATABASE",
            Resource::Metadata { .. } => "METADATA",
            Resource::Object(_) => "OBJECT",
            Resource::Hobt(_) => "HOBT",
            Resource::AllocUnit(_) => "ALLOCATION_UNIT",
            Resource::Extent(_) => "EXTENT",
            Resource::Page(_) => "PAGE",
            Resource::Rid(_) => "RID",
            Resource::Key(..) => "KEY",
        }
    }

    /// The end of an index, after its last key: the resource of a range lock that has no next key.
    /// SQL Server shows it as `(ffffffffffff)`. A key with the same hash shares the lock, which
    /// blocks more, never less.
    pub const fn end_of(index: HobtId) -> Resource {
        Resource::Key(index, u64::MAX)
    }

    /// Is it a part of a table of which there may be many? Such locks count towards escalation.
    pub const fn is_fine(&self) -> bool {
        matches!(self, Resource::Page(_) | Resource::Rid(_) | Resource::Key(..))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.type_name())?;
        match self {
            Resource::Database => Ok(()),
            Resource::Metadata { class, id } => write!(f, ": {class}:{id}"),
            Resource::Object(id) => write!(f, ": {id}"),
            Resource::Hobt(id) => write!(f, ": {id}"),
            Resource::AllocUnit(id) => write!(f, ": {id}"),
            Resource::Extent(extent) => write!(f, ": {}", extent.first_page()),
            Resource::Page(page) => write!(f, ": {page}"),
            Resource::Rid(rid) => write!(f, ": {rid}"),
            // As SQL Server shows it: six bytes.
            Resource::Key(hobt, hash) => write!(f, ": {hobt} ({:012x})", hash & 0xffff_ffff_ffff),
        }
    }
}

/// Hashing for the tables of this crate: a few multiplications.
pub(crate) type FastHash = BuildHasherDefault<FastHasher>;

/// Folds words into one by multiplication; the end spreads them over all bits.
#[derive(Default)]
pub(crate) struct FastHasher(u64);

/// 2^64 divided by the golden ratio, odd.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl FastHasher {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(SPREAD);
    }
}

impl Hasher for FastHasher {
    fn finish(&self) -> u64 {
        (self.0 ^ (self.0 >> 32)).wrapping_mul(SPREAD)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add(u64::from(*byte)));
    }

    fn write_u16(&mut self, value: u16) {
        self.add(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.add(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_i32(&mut self, value: i32) {
        self.add(value as u64);
    }

    fn write_i64(&mut self, value: i64) {
        self.add(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.add(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_shown_as_the_dmv_does() {
        let shown = [
            (Resource::Database, "DATABASE"),
            (Resource::Object(ObjectId(21575115)), "OBJECT: 21575115"),
            (Resource::Page(PageId::new(1, 77)), "PAGE: (1:77)"),
            (Resource::Rid(Rid::new(PageId::new(1, 77), 3)), "RID: (1:77:3)"),
            (Resource::Key(HobtId(5), 0x98ec_012a_a510_0001), "KEY: 5 (012aa5100001)"),
            (Resource::end_of(HobtId(5)), "KEY: 5 (ffffffffffff)"),
            (Resource::Extent(PageId::new(1, 77).extent()), "EXTENT: (1:72)"),
        ];
        for (resource, expected) in shown {
            assert_eq!(resource.to_string(), expected);
        }
    }
}
