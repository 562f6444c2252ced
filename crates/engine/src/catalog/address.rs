//! Row locators: a RID in a heap, or the key in a clustered table.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use extentdb_base::{HobtId, Rid};
use extentdb_txn::lock::Resource;

/// What leads to a row. That of a row in a heap stays as long as the row; that of a row in a
/// clustered table changes with its key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// Its RID in a heap.
    Rid(Rid),
    /// Its sort key in a clustered table, with the uniquifier where the key has one.
    Key(Box<[u8]>),
}

impl Address {
    /// The RID, of a row in a heap.
    pub fn rid(&self) -> Option<Rid> {
        if let Address::Rid(rid) = self { Some(*rid) } else { None }
    }

    /// What is locked for the row, in a heap or clustered index.
    pub(crate) fn resource(&self, base: HobtId) -> Resource {
        match self {
            Address::Rid(rid) => Resource::Rid(*rid),
            Address::Key(key) => key_resource(base, key),
        }
    }
}

/// What is locked for a key of an index.
pub(crate) fn key_resource(index: HobtId, key: &[u8]) -> Resource {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    Resource::Key(index, hasher.finish())
}

impl From<Rid> for Address {
    fn from(rid: Rid) -> Address {
        Address::Rid(rid)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Rid(rid) => write!(f, "{rid}"),
            Address::Key(key) => {
                write!(f, "(")?;
                key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                write!(f, ")")
            }
        }
    }
}
