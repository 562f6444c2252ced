//! Reading a system table through the catalog's own description of it.
//!
//! Columns are asked for by number (`rscolid`), which later versions only ever add to; where the
//! column lies, and of what type it is, the file says.

use std::borrow::Cow;

use extentdb_base::{IndexId, ObjectId, PageId, Rid};
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::{DateTime, Datum, Guid, SqlType};

use crate::access::{HeapPages, LeafKind, LeafPages, LobReader};
use crate::bootstrap::Bootstrap;
use crate::error::Fault;
use crate::layout::{Cell, Compression, Level, RowLayout, cell};
use crate::model::{AllocUnitKind, Rowset};
use crate::pages::PageGetter;

/// Object ids of the system base tables. They are the same in every database and version.
pub mod object {
    use extentdb_base::ObjectId;

    /// Columns of rowsets, with their physical layout (2008 on).
    pub const SYSRSCOLS: ObjectId = ObjectId(3);
    /// Columns of rowsets (2005).
    pub const SYSROWSETCOLUMNS: ObjectId = ObjectId(4);
    /// Rowsets: heap and index partitions.
    pub const SYSROWSETS: ObjectId = ObjectId(5);
    /// Allocation units, with their first page, root and first IAM page.
    pub const SYSALLOCUNITS: ObjectId = ObjectId(7);
    /// Files, with their paths at creation.
    pub const SYSFILES1: ObjectId = ObjectId(8);
    /// Values attached to physical columns (2012 on).
    pub const SYSSEOBJVALUES: ObjectId = ObjectId(9);
    /// Physical columns of rowsets (2005).
    pub const SYSHOBTCOLUMNS: ObjectId = ObjectId(13);
    /// Heaps and B-trees (2005).
    pub const SYSHOBTS: ObjectId = ObjectId(15);
    /// Filegroups, with their options.
    pub const SYSPHFG: ObjectId = ObjectId(23);
    /// Files, with size, growth and path.
    pub const SYSPRUFILES: ObjectId = ObjectId(24);
    /// Database principals: users and roles.
    pub const SYSOWNERS: ObjectId = ObjectId(27);
    /// Objects: tables, constraints, modules …
    pub const SYSSCHOBJS: ObjectId = ObjectId(34);
    /// Permissions.
    pub const SYSPRIVS: ObjectId = ObjectId(29);
    /// Columns and parameters.
    pub const SYSCOLPARS: ObjectId = ObjectId(41);
    /// Extended properties of objects and columns.
    pub const SYSXPROPS: ObjectId = ObjectId(49);
    /// Types, system and user-defined.
    pub const SYSSCALARTYPES: ObjectId = ObjectId(50);
    /// Parameters of partition functions.
    pub const SYSTYPEDSUBOBJS: ObjectId = ObjectId(51);
    /// Indexes and statistics.
    pub const SYSIDXSTATS: ObjectId = ObjectId(54);
    /// Columns of indexes and statistics.
    pub const SYSISCOLS: ObjectId = ObjectId(55);
    /// Texts and other values of objects.
    pub const SYSOBJVALUES: ObjectId = ObjectId(60);
    /// Schemas, filegroups, assemblies …
    pub const SYSCLSOBJS: ObjectId = ObjectId(64);
    /// References of one thing to one other.
    pub const SYSSINGLEOBJREFS: ObjectId = ObjectId(74);
    /// References of one thing to several others: columns of checks, members of roles …
    pub const SYSMULTIOBJREFS: ObjectId = ObjectId(75);
}

/// Where rows of system tables come from: all rows, through the pages of a file, or those about
/// some objects, through the trees of an open database.
pub trait SystemSource {
    /// Calls `visit` for the rows of a table. False when the table does not exist in this version.
    fn visit_rows(
        &self,
        object: ObjectId,
        faults: &mut Vec<Fault>,
        visit: &mut dyn FnMut(&SystemRow<'_>),
    ) -> bool;

    /// The rowsets of the tables that it has rows of, in order of their ids.
    fn rowsets(&self) -> Vec<&Rowset>;
}

impl<'s> dyn SystemSource + 's {
    /// As [`visit_rows`](Self::visit_rows).
    pub fn each(
        &self,
        object: ObjectId,
        faults: &mut Vec<Fault>,
        mut visit: impl FnMut(&SystemRow<'_>),
    ) -> bool {
        self.visit_rows(object, faults, &mut visit)
    }
}

impl SystemSource for SystemTables<'_> {
    fn visit_rows(
        &self,
        object: ObjectId,
        faults: &mut Vec<Fault>,
        visit: &mut dyn FnMut(&SystemRow<'_>),
    ) -> bool {
        self.each(object, faults, visit)
    }

    fn rowsets(&self) -> Vec<&Rowset> {
        SystemTables::rowsets(self).collect()
    }
}

/// Reads system tables once the bootstrap tables are known.
pub struct SystemTables<'g> {
    pages: &'g dyn PageGetter,
    boot: &'g Bootstrap,
}

impl<'g> SystemTables<'g> {
    /// Reads through `boot`.
    pub fn new(pages: &'g dyn PageGetter, boot: &'g Bootstrap) -> Self {
        SystemTables { pages, boot }
    }

    /// All rowsets of the base tables, in order of their ids.
    pub fn rowsets(&self) -> impl Iterator<Item = &'g Rowset> {
        self.boot.rowsets.values()
    }

    /// The rowset of a table's heap or clustered index.
    pub fn base_rowset(&self, object: ObjectId) -> Option<&'g Rowset> {
        self.boot
            .rowsets
            .values()
            .find(|r| r.object == object && (r.index == IndexId(0) || r.index == IndexId(1)))
    }

    /// Calls `visit` for every row. False when the table does not exist in this version.
    pub fn each(
        &self,
        object: ObjectId,
        faults: &mut Vec<Fault>,
        mut visit: impl FnMut(&SystemRow<'_>),
    ) -> bool {
        let Some(rowset) = self.base_rowset(object) else { return false };
        let Some(unit) = rowset.unit(AllocUnitKind::InRow) else { return false };
        if rowset.compression != Compression::None {
            faults.push(Fault::Catalog(format!("system table {object} is compressed: not read")));
            return true;
        }
        let layout = &rowset.layout;
        if rowset.index == IndexId(0) {
            for page in HeapPages::new(self.pages, unit.id, unit.first_iam) {
                self.each_on(page, layout, faults, &mut visit);
            }
        } else {
            for page in LeafPages::new(self.pages, unit.id, unit.root, LeafKind::Clustered) {
                self.each_on(page, layout, faults, &mut visit);
            }
        }
        true
    }

    fn each_on(
        &self,
        page: Result<(PageId, PageBuf), Fault>,
        layout: &RowLayout,
        faults: &mut Vec<Fault>,
        visit: &mut impl FnMut(&SystemRow<'_>),
    ) {
        let (id, page) = match page {
            Ok(page) => page,
            Err(fault) => return faults.push(fault),
        };
        for (slot, bytes) in PageRef::new(&page).records() {
            let record = Record::parse_data(bytes);
            let rid = Rid::new(id, slot);
            if let Some(fault) = record.fault() {
                faults.push(Fault::Record { rid, fault });
            } else if record.kind() == RecordKind::Primary {
                visit(&SystemRow { rid, record, layout, pages: self.pages });
            }
        }
    }
}

/// A row of a system table.
pub struct SystemRow<'a> {
    /// Where it lies.
    pub rid: Rid,
    record: Record<'a>,
    layout: &'a RowLayout,
    pages: &'a dyn PageGetter,
}

impl<'a> SystemRow<'a> {
    /// A row by its record, in a table of this layout. Values off the row are read through `pages`.
    pub fn new(
        rid: Rid,
        record: Record<'a>,
        layout: &'a RowLayout,
        pages: &'a dyn PageGetter,
    ) -> SystemRow<'a> {
        SystemRow { rid, record, layout, pages }
    }

    fn cell(&self, column: i32) -> Option<(Cell<'a>, SqlType)> {
        let column = self.layout.column(column)?;
        Some((cell(&self.record, column, Level::Leaf).ok()?, column.ty?))
    }

    /// The stored bytes of a column; `None` for NULL, for a column that is not there and for
    /// off-row values.
    pub fn bytes(&self, column: i32) -> Option<Cow<'a, [u8]>> {
        match self.cell(column)?.0 {
            Cell::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// An integer of any width; tinyint is unsigned.
    pub fn int(&self, column: i32) -> Option<i64> {
        let (cell, ty) = self.cell(column)?;
        let Cell::Bytes(bytes) = cell else { return None };
        match Datum::decode(&ty, &bytes).ok()? {
            Datum::TinyInt(v) => Some(v.into()),
            Datum::SmallInt(v) => Some(v.into()),
            Datum::Int(v) => Some(v.into()),
            Datum::BigInt(v) => Some(v),
            _ => None,
        }
    }

    /// An integer that fits an i32.
    pub fn int32(&self, column: i32) -> Option<i32> {
        self.int(column).and_then(|v| v.try_into().ok())
    }

    /// A status word: its bits.
    pub fn bits(&self, column: i32) -> Option<u32> {
        self.int(column).map(|v| v as u32)
    }

    /// The value of a tinyint column; `None` when it is NULL or absent.
    pub fn int8(&self, column: i32) -> Option<u8> {
        self.int(column).and_then(|v| v.try_into().ok())
    }

    /// Unicode text. Names are stored in UTF-16; an unpaired surrogate becomes U+FFFD.
    pub fn text(&self, column: i32) -> Option<String> {
        self.bytes(column).map(|bytes| utf16(&bytes))
    }

    /// Text of a char column, which is ASCII in system tables, without its padding.
    pub fn ascii(&self, column: i32) -> Option<String> {
        self.bytes(column)
            .map(|b| b.iter().map(|&b| char::from(b)).collect::<String>().trim_end().to_owned())
    }

    /// The value of a datetime column; `None` when it is NULL or absent.
    pub fn datetime(&self, column: i32) -> Option<DateTime> {
        match Datum::decode(&SqlType::DateTime, &self.bytes(column)?).ok()? {
            Datum::DateTime(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a uniqueidentifier column; `None` when it is NULL or absent.
    pub fn guid(&self, column: i32) -> Option<Guid> {
        match Datum::decode(&SqlType::UniqueIdentifier, &self.bytes(column)?).ok()? {
            Datum::Guid(value) => Some(value),
            _ => None,
        }
    }

    /// A sql_variant that holds an integer.
    pub fn variant_int(&self, column: i32) -> Option<i64> {
        match &*self.bytes(column)? {
            [56, 1, v @ ..] => v.try_into().ok().map(|v| i64::from(i32::from_le_bytes(v))),
            [127, 1, v @ ..] => v.try_into().ok().map(i64::from_le_bytes),
            [52, 1, v @ ..] => v.try_into().ok().map(|v| i64::from(i16::from_le_bytes(v))),
            [48 | 104, 1, v] => Some(i64::from(*v)),
            _ => None,
        }
    }

    /// A value that may lie off the row. `Ok(None)` for NULL.
    ///
    /// # Errors
    /// The off-row value cannot be read, or is longer than `max` bytes.
    pub fn value(&self, column: i32, max: usize) -> Result<Option<Vec<u8>>, Fault> {
        match self.cell(column) {
            Some((Cell::Bytes(bytes), _)) => Ok(Some(bytes.into_owned())),
            Some((Cell::Complex(bytes), ty)) => {
                let pointer = LobPointer::parse(&bytes, ty.may_have_text_pointer());
                LobReader::new(self.pages, self.rid, &pointer)?.read_to_vec(max).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// UTF-16LE bytes as text; an odd last byte is dropped, unpaired surrogates become U+FFFD.
pub fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|b| u16::from_le_bytes(*b)).collect();
    String::from_utf16_lossy(&units)
}
