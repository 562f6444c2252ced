//! Identifiers of the things on disk.
//!
//! Each is a newtype, so that a page number cannot be handed over as an object id. Display forms
//! are those of DBCC: `(1:272)` for a page, `(1:272:3)` for a row.

use std::fmt;
use std::str::FromStr;

use crate::size::{PAGES_PER_EXTENT, PAGES_PER_GAM, PAGES_PER_PFS};

macro_rules! newtype {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

newtype!(
    /// Database of an instance, as in `sys.databases`: `master` is 1. 0 is a database that was
    /// opened by itself, without an instance.
    DatabaseId(u16)
);

impl DatabaseId {
    /// Registers all databases of the instance.
    pub const MASTER: DatabaseId = DatabaseId(1);
    /// Temporary tables and row versions; new at every start.
    pub const TEMPDB: DatabaseId = DatabaseId(2);
    /// Copied into each new database.
    pub const MODEL: DatabaseId = DatabaseId(3);
    /// Jobs and histories.
    pub const MSDB: DatabaseId = DatabaseId(4);
    /// The first id of a user's database.
    pub const FIRST_USER: DatabaseId = DatabaseId(5);
}

newtype!(
    /// Session of an instance: `session_id`.
    SessionId(u16)
);
newtype!(
    /// Owner of locks: a transaction, unique in the instance while it runs. Its branches in several
    /// databases are one owner. `sys.dm_tran_locks.request_owner_id`. 0 means none.
    OwnerId(u64)
);
newtype!(
    /// File of a database, from 1. 0 means none.
    FileId(u16)
);
newtype!(
    /// Object (table, view, constraint, …) as in `sys.objects`.
    ObjectId(i32)
);
newtype!(
    /// Index of a table: 0 heap, 1 clustered, 2.. nonclustered.
    IndexId(i32)
);
newtype!(
    /// Rowset: one partition of a heap or index. SQL Server's `partition_id` and `hobt_id`.
    HobtId(i64)
);
newtype!(
    /// Allocation unit: the pages of one kind (in-row, LOB, row-overflow) of a rowset.
    AllocUnitId(i64)
);
newtype!(
    /// Entry of the slot array of a page, from 0.
    Slot(u16)
);

impl AllocUnitId {
    /// The unit that pages without an owner (maps, file header, boot page) carry in their header:
    /// object 99, index 0.
    pub const SYSTEM_PAGES: AllocUnitId = AllocUnitId(99 << 16);
    /// Clustered index of the system base table `sysrscols`.
    pub const SYSRSCOLS: AllocUnitId = AllocUnitId(3 << 16);
    /// Clustered index of the system base table `sysrowsets`.
    pub const SYSROWSETS: AllocUnitId = AllocUnitId(5 << 16);
    /// Clustered index of the system base table `sysallocunits`.
    pub const SYSALLOCUNITS: AllocUnitId = AllocUnitId(7 << 16);
    /// The system base table `sysfiles1`, a heap.
    pub const SYSFILES1: AllocUnitId = AllocUnitId(8 << 16);

    /// Is it one of a system base table? The others have 256 and more as `m_indexId`.
    pub const fn is_system(self) -> bool {
        self.header_index_id() < 256
    }

    /// The id that the header fields of a page name: `index_id << 48 | object_id << 16`.
    pub const fn from_header(object_id: u32, index_id: u16) -> Self {
        AllocUnitId(((index_id as i64) << 48) | ((object_id as i64) << 16))
    }

    /// `m_objId` of the pages of this unit: bits 16..48.
    pub const fn header_object_id(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// `m_indexId` of the pages of this unit: bits 48..64.
    pub const fn header_index_id(self) -> u16 {
        (self.0 >> 48) as u16
    }
}

/// Transaction. Prints as `fn_dblog` does, high part first: `0000:000003f1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct XactId {
    /// High 16 bits.
    pub high: u16,
    /// Low 32 bits.
    pub low: u32,
}

impl fmt::Display for XactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:08x}", self.high, self.low)
    }
}

/// A page: file and page number. Ordered by file, then page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    /// File of the database.
    pub file: FileId,
    /// Page in the file, from 0; at byte offset `8192 * page`.
    pub page: u32,
}

impl PageId {
    /// `(0:0)`: no page.
    pub const NONE: PageId = PageId { file: FileId(0), page: 0 };
    /// Bytes of a page pointer on disk.
    pub const BYTES: usize = 6;
    /// The boot page of every database.
    pub const BOOT: PageId = PageId::new(1, 9);
    /// The server configuration, in `master` only; an ordinary page in every other database.
    pub const CONFIGURATION: PageId = PageId::new(1, 10);

    /// A page from its numbers.
    pub const fn new(file: u16, page: u32) -> Self {
        PageId { file: FileId(file), page }
    }

    /// Reads the disk form: page u32, file u16.
    pub fn from_bytes(b: [u8; 6]) -> Self {
        let [p0, p1, p2, p3, f0, f1] = b;
        PageId::new(u16::from_le_bytes([f0, f1]), u32::from_le_bytes([p0, p1, p2, p3]))
    }

    /// The disk form: page u32, file u16.
    pub fn to_bytes(self) -> [u8; 6] {
        let [p0, p1, p2, p3] = self.page.to_le_bytes();
        let [f0, f1] = self.file.0.to_le_bytes();
        [p0, p1, p2, p3, f0, f1]
    }

    /// True for `(0:0)`.
    pub fn is_none(self) -> bool {
        self == PageId::NONE
    }

    /// The extent of this page.
    pub fn extent(self) -> Extent {
        Extent { file: self.file, index: self.page / PAGES_PER_EXTENT }
    }

    /// The PFS page that describes this page.
    pub fn pfs_page(self) -> PageId {
        let first = self.page - self.page % PAGES_PER_PFS;
        PageId { file: self.file, page: first.max(1) }
    }

    /// First page of the GAM interval of this page.
    pub fn gam_interval(self) -> PageId {
        PageId { file: self.file, page: self.page - self.page % PAGES_PER_GAM }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{})", self.file, self.page)
    }
}

impl fmt::Debug for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The text was not a page id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePageIdError;

impl fmt::Display for ParsePageIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a page is written as 1:272 or (1:272)")
    }
}

impl std::error::Error for ParsePageIdError {}

impl FromStr for PageId {
    type Err = ParsePageIdError;

    fn from_str(s: &str) -> Result<Self, ParsePageIdError> {
        let s = s.strip_prefix('(').and_then(|s| s.strip_suffix(')')).unwrap_or(s);
        let (file, page) = s.split_once(':').ok_or(ParsePageIdError)?;
        let file = file.trim().parse().map_err(|_| ParsePageIdError)?;
        let page = page.trim().parse().map_err(|_| ParsePageIdError)?;
        Ok(PageId::new(file, page))
    }
}

/// Eight consecutive pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Extent {
    /// File of the database.
    pub file: FileId,
    /// Extent in the file, from 0: pages `8 * index ..  8 * index + 8`.
    pub index: u32,
}

impl Extent {
    /// The first page.
    pub fn first_page(self) -> PageId {
        PageId { file: self.file, page: self.index * PAGES_PER_EXTENT }
    }

    /// The eight pages.
    pub fn pages(self) -> impl Iterator<Item = PageId> {
        let first = self.first_page();
        (0..PAGES_PER_EXTENT).map(move |i| PageId { file: first.file, page: first.page + i })
    }
}

/// RID of a row: page and slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rid {
    /// Page of the record.
    pub page: PageId,
    /// Slot on the page.
    pub slot: Slot,
}

impl Rid {
    /// Bytes of a slot pointer on disk.
    pub const BYTES: usize = 8;

    /// A row from its numbers.
    pub const fn new(page: PageId, slot: u16) -> Self {
        Rid { page, slot: Slot(slot) }
    }

    /// Reads the disk form: page u32, file u16, slot u16.
    pub fn from_bytes(b: [u8; 8]) -> Self {
        let [p0, p1, p2, p3, f0, f1, s0, s1] = b;
        Rid {
            page: PageId::from_bytes([p0, p1, p2, p3, f0, f1]),
            slot: Slot(u16::from_le_bytes([s0, s1])),
        }
    }

    /// The disk form: page u32, file u16, slot u16.
    pub fn to_bytes(self) -> [u8; 8] {
        let [p0, p1, p2, p3, f0, f1] = self.page.to_bytes();
        let [s0, s1] = self.slot.0.to_le_bytes();
        [p0, p1, p2, p3, f0, f1, s0, s1]
    }
}

impl fmt::Display for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}:{}:{})", self.page.file, self.page.page, self.slot)
    }
}

impl fmt::Debug for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_ids_print_and_parse_as_dbcc_writes_them() {
        assert_eq!(PageId::new(1, 272).to_string(), "(1:272)");
        assert_eq!("(1:272)".parse(), Ok(PageId::new(1, 272)));
        assert_eq!("1:272".parse(), Ok(PageId::new(1, 272)));
        assert!("1-272".parse::<PageId>().is_err());
        assert_eq!(Rid::new(PageId::new(1, 354), 12).to_string(), "(1:354:12)");
    }

    #[test]
    fn disk_forms_round_trip() {
        let page = PageId::new(3, 0x0102_0304);
        assert_eq!(page.to_bytes(), [4, 3, 2, 1, 3, 0]);
        assert_eq!(PageId::from_bytes(page.to_bytes()), page);
        let rid = Rid::new(page, 0x0a0b);
        assert_eq!(Rid::from_bytes(rid.to_bytes()), rid);
    }

    #[test]
    fn an_allocation_unit_id_is_split_over_two_header_fields() {
        let unit = AllocUnitId::from_header(34, 256);
        assert_eq!(unit.0, 72_057_594_037_927_936 + (34 << 16));
        assert_eq!((unit.header_object_id(), unit.header_index_id()), (34, 256));
    }

    #[test]
    fn the_first_pfs_page_is_page_one() {
        assert_eq!(PageId::new(1, 0).pfs_page(), PageId::new(1, 1));
        assert_eq!(PageId::new(1, 8087).pfs_page(), PageId::new(1, 1));
        assert_eq!(PageId::new(1, 8088).pfs_page(), PageId::new(1, 8088));
    }
}
