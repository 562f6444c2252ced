//! A page among the pages of all databases of a memory.
//!
//! ```text
//! | number of the database: 16 bits | file: 16 bits | page: 32 bits |
//! ```

use extentdb_base::PageId;

/// Databases of a memory at most, as of an instance of SQL Server.
pub(crate) const DATABASES_MAX: usize = 32_767;

/// Number of a database within a memory, from 1 to [`DATABASES_MAX`]. It is used again after the
/// database has left the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DatabaseNumber(u16);

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PageKey(u64);

// No key of a page is that of an orphan.
const _: () = assert!(DATABASES_MAX < u16::MAX as usize);

impl DatabaseNumber {
    /// Of the slot `index` of the registry.
    pub(crate) fn of_index(index: usize) -> DatabaseNumber {
        debug_assert!(index < DATABASES_MAX);
        DatabaseNumber(index as u16 + 1)
    }

    /// Its slot of the registry; none for the number of no database.
    pub(crate) fn index(self) -> Option<usize> {
        usize::from(self.0).checked_sub(1)
    }
}

impl PageKey {
    /// The key of a frame without a page.
    pub(crate) const NONE: PageKey = PageKey(0);
    /// A page of a database that has left the memory while a guard of the page existed.
    pub(crate) const ORPHAN: PageKey = PageKey(u64::MAX);

    #[inline]
    pub(crate) fn new(database: DatabaseNumber, page: PageId) -> PageKey {
        PageKey(u64::from(database.0) << 48 | u64::from(page.file.0) << 32 | u64::from(page.page))
    }

    /// From the word that [`packed`](Self::packed) returned.
    pub(crate) fn of_packed(packed: u64) -> PageKey {
        PageKey(packed)
    }

    pub(crate) fn packed(self) -> u64 {
        self.0
    }

    pub(crate) fn database(self) -> DatabaseNumber {
        DatabaseNumber((self.0 >> 48) as u16)
    }

    /// The page within its database.
    pub(crate) fn page(self) -> PageId {
        PageId::new((self.0 >> 32) as u16, self.0 as u32)
    }

    pub(crate) fn is_none(self) -> bool {
        self == PageKey::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_database_file_and_page() {
        let page = PageId::new(32_767, u32::MAX);
        for index in [0, 1, DATABASES_MAX - 1] {
            let database = DatabaseNumber::of_index(index);
            let key = PageKey::of_packed(PageKey::new(database, page).packed());
            assert_eq!((key.database(), key.page()), (database, page));
            assert_eq!(database.index(), Some(index));
            assert!(!key.is_none() && key != PageKey::ORPHAN);
        }
        assert_eq!(PageKey::NONE.database().index(), None);
        assert!(PageKey::ORPHAN.database().index().is_some_and(|index| index >= DATABASES_MAX));
    }
}
