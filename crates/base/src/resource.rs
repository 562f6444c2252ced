//! What can be locked. Locks themselves belong to `txn`; waits for them are shown by `telemetry`.

use std::fmt;

use crate::id::{AllocUnitId, DatabaseId, Extent, HobtId, ObjectId, PageId, Rid};

/// Something that can be locked, within one database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
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

    /// As `wait_resource` of a request shows it: kind, database, and what it is there. A database
    /// without a number is left out.
    pub fn wait_text(&self, database: DatabaseId) -> String {
        let within = match self {
            Resource::Database => None,
            Resource::Metadata { class, id } => Some(format!("{class}:{id}")),
            // The zero is the lock partition.
            Resource::Object(id) => Some(format!("{id}:0")),
            Resource::Hobt(id) => Some(id.to_string()),
            Resource::AllocUnit(id) => Some(id.to_string()),
            Resource::Extent(extent) => Some(page_text(extent.first_page())),
            Resource::Page(page) => Some(page_text(*page)),
            Resource::Rid(rid) => Some(format!("{}:{}", page_text(rid.page), rid.slot)),
            Resource::Key(index, hash) => Some(key_text(*index, *hash)),
        };
        let database = (database != DatabaseId(0)).then(|| database.to_string());
        let parts: Vec<String> = database.into_iter().chain(within).collect();
        format!("{}: {}", self.type_name(), parts.join(":"))
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
            Resource::Key(hobt, hash) => write!(f, ": {}", key_text(*hobt, *hash)),
        }
    }
}

/// The hash as SQL Server shows it: six bytes.
fn key_text(index: HobtId, hash: u64) -> String {
    format!("{index} ({:012x})", hash & 0xffff_ffff_ffff)
}

fn page_text(page: PageId) -> String {
    format!("{}:{}", page.file, page.page)
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

    #[test]
    fn wait_texts_name_the_database_when_it_has_a_number() {
        let key = Resource::Key(HobtId(5), 0xab);
        assert_eq!(key.wait_text(DatabaseId(6)), "KEY: 6:5 (0000000000ab)");
        assert_eq!(key.wait_text(DatabaseId(0)), "KEY: 5 (0000000000ab)");
        assert_eq!(Resource::Database.wait_text(DatabaseId(6)), "DATABASE: 6");
    }
}
