//! The rows of a table, one after the other.
//!
//! A clustered table is read in key order, a heap in the order of its IAM pages; each row once, at its home. A forwarded row
//! is read through its stub. Partitions follow each other. Memory: the path down a tree, a page or two, the current row.

use std::collections::VecDeque;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::access::{HeapPages, LeafKind, LeafPages, LobReader};
use extentdb_catalog::layout::{Compression, Level, cell};
use extentdb_catalog::model::AllocUnitKind;
use extentdb_catalog::{Catalog, Cell, Column, Fault, PageGetter, PhysicalColumn, RowLayout, Rowset, Table};
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::{Datum, SqlType};

use crate::checked::CheckedPages;

/// The longest value of a type that is not (max): pushed off its row, it is still read whole.
const SHORT_VALUE_BYTES_MAX: usize = 8192;

/// A column of a row.
pub enum Value<'a> {
    /// A value that is here.
    Datum(Datum<'a>),
    /// A value that lies off the row and can be long.
    Lob(LobValue<'a>),
}

/// An off-row value of a (max), text, ntext, image or xml column.
pub struct LobValue<'a> {
    /// The type of the column.
    pub ty: SqlType,
    /// Its bytes, in pieces.
    pub reader: LobReader<'a>,
}

/// Why a table cannot be scanned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The table has no rows of its own.
    #[error("{table}: no heap or clustered index in the catalogue")]
    NoBase {
        /// Its name.
        table: String,
    },
    /// Rows are stored in a way this program does not read.
    #[error("not supported: {table} is stored as {storage}")]
    Storage {
        /// Its name.
        table: String,
        /// How it is stored.
        storage: String,
    },
}

/// Reads the rows of a table.
pub struct TableScan<'d> {
    pages: &'d CheckedPages<'d>,
    catalog: &'d Catalog,
    columns: Vec<&'d Column>,
    rowsets: VecDeque<&'d Rowset>,
    current: Option<RowsetScan<'d>>,
}

impl<'d> TableScan<'d> {
    /// Starts a scan over all columns that have values in the rows.
    ///
    /// # Errors
    /// The table cannot be scanned at all.
    pub fn new(pages: &'d CheckedPages<'d>, catalog: &'d Catalog, table: &'d Table) -> Result<Self, ScanError> {
        let base = table.base().ok_or_else(|| ScanError::NoBase { table: table.full_name() })?;
        let rowsets: VecDeque<&Rowset> = catalog.rowsets_of(base).collect();
        for rowset in &rowsets {
            if let Compression::Other(_) = rowset.compression {
                let storage = rowset.compression.name().to_owned();
                return Err(ScanError::Storage { table: table.full_name(), storage });
            }
        }
        let columns = table.columns.iter().filter(|column| !column.is_virtual()).collect();
        Ok(TableScan { pages, catalog, columns, rowsets, current: None })
    }

    /// The columns of each row, in order.
    pub fn columns(&self) -> &[&'d Column] {
        &self.columns
    }

    /// The next row. After an error the scan goes on behind what could not be read.
    pub fn next_row(&mut self) -> Option<Result<Row<'_>, Fault>> {
        loop {
            let Some(current) = &mut self.current else {
                let rowset = self.rowsets.pop_front()?;
                self.current = Some(RowsetScan::new(self.pages, self.catalog, rowset, &self.columns));
                continue;
            };
            match current.advance() {
                Some(Ok(())) => break,
                Some(Err(fault)) => return Some(Err(fault)),
                None => self.current = None,
            }
        }
        self.current.as_mut().map(RowsetScan::row)
    }
}

/// Pages of a rowset's base, by either structure.
enum Pages<'d> {
    Heap(HeapPages<'d>),
    Tree(LeafPages<'d>),
    None,
}

impl Iterator for Pages<'_> {
    type Item = Result<(PageId, PageBuf), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Pages::Heap(pages) => pages.next(),
            Pages::Tree(pages) => pages.next(),
            Pages::None => None,
        }
    }
}

/// A page that rows are taken from.
struct Loaded {
    id: PageId,
    page: PageBuf,
}

struct RowsetScan<'d> {
    pages: &'d CheckedPages<'d>,
    catalog: &'d Catalog,
    rowset: &'d Rowset,
    /// For each column of the table, its place in this rowset.
    places: Vec<(&'d Column, Option<&'d PhysicalColumn>)>,
    scan: Pages<'d>,
    home: Option<Loaded>,
    /// Slot of the next record to look at.
    next_slot: u16,
    /// The current row's home, and the page and slot its record lies in.
    row: Rid,
    record: Rid,
    /// The page of the last forwarded row.
    away: Option<Loaded>,
}

impl<'d> RowsetScan<'d> {
    fn new(
        pages: &'d CheckedPages<'d>,
        catalog: &'d Catalog,
        rowset: &'d Rowset,
        columns: &[&'d Column],
    ) -> RowsetScan<'d> {
        let getter: &'d dyn PageGetter = pages;
        let scan = match rowset.unit(AllocUnitKind::InRow) {
            Some(unit) if rowset.index.0 == 0 => Pages::Heap(HeapPages::new(getter, unit.id, unit.first_iam)),
            Some(unit) => Pages::Tree(LeafPages::new(getter, unit.id, unit.root, LeafKind::Clustered)),
            None => Pages::None,
        };
        let places = columns.iter().map(|column| (*column, rowset.layout.column(column.id))).collect();
        let (home, away) = (None, None);
        RowsetScan {
            pages,
            catalog,
            rowset,
            places,
            scan,
            home,
            next_slot: 0,
            row: Rid::default(),
            record: Rid::default(),
            away,
        }
    }

    /// Finds the next row; its record can then be taken by [`row`](Self::row).
    fn advance(&mut self) -> Option<Result<(), Fault>> {
        loop {
            let Some(home) = &self.home else {
                match self.scan.next()? {
                    Ok((id, page)) => self.home = Some(Loaded { id, page }),
                    Err(fault) => return Some(Err(fault)),
                }
                self.next_slot = 0;
                continue;
            };
            let view = PageRef::new(&home.page);
            if self.next_slot >= view.slot_count() {
                self.home = None;
                continue;
            }
            let rid = Rid::new(home.id, self.next_slot);
            self.next_slot += 1;
            let Some(bytes) = view.record_bytes(rid.slot.0) else { continue };
            let kind = self.kind_of(bytes);
            (self.row, self.record) = (rid, rid);
            match kind {
                RecordKind::Primary => return Some(Ok(())),
                RecordKind::ForwardingStub => return Some(self.follow(rid)),
                // Forwarded rows are read through their stub; ghosts are no rows.
                RecordKind::Forwarded
                | RecordKind::GhostData
                | RecordKind::GhostIndex
                | RecordKind::GhostVersion => {}
                RecordKind::Index | RecordKind::Blob => {
                    return Some(Err(Fault::Misplaced { page: rid.page, what: "a record that is no row", from: rid.page }));
                }
            }
        }
    }

    fn kind_of(&self, bytes: &[u8]) -> RecordKind {
        RecordKind::of(bytes.first().copied().unwrap_or(0))
    }

    /// Loads the page that a stub points to.
    fn follow(&mut self, home: Rid) -> Result<(), Fault> {
        let stub = self.home.as_ref().and_then(|h| PageRef::new(&h.page).record_bytes(home.slot.0)).unwrap_or_default();
        let Some(target) = Record::parse_data(stub).stub_target() else {
            return Err(Fault::Lob { rid: home, what: "a forwarding stub without target".to_owned() });
        };
        if self.away.as_ref().is_none_or(|away| away.id != target.page) {
            let mut page = PageBuf::zeroed();
            self.away = None;
            self.pages.page(target.page, &mut page)?;
            self.away = Some(Loaded { id: target.page, page });
        }
        let there = self.away.as_ref().map(|away| PageRef::new(&away.page));
        let bytes = there.and_then(|view| view.record_bytes(target.slot.0)).unwrap_or_default();
        if Record::parse_data(bytes).back_pointer() != Some(home) {
            let what = format!("the stub points to {target}, which does not point back");
            return Err(Fault::Lob { rid: home, what });
        }
        self.record = target;
        Ok(())
    }

    /// The row found last.
    fn row(&mut self) -> Result<Row<'_>, Fault> {
        let loaded = if self.record == self.row { &self.home } else { &self.away };
        let bytes = loaded.as_ref().and_then(|l| PageRef::new(&l.page).record_bytes(self.record.slot.0));
        let record = Record::parse_data(bytes.unwrap_or_default());
        if let Some(fault) = record.fault() {
            return Err(Fault::Record { rid: self.record, fault });
        }
        Ok(Row {
            rid: self.row,
            record,
            layout: &self.rowset.layout,
            rowset: self.rowset,
            places: &self.places,
            pages: self.pages,
            catalog: self.catalog,
        })
    }
}

/// A row; its columns are decoded when they are asked for.
pub struct Row<'s> {
    /// Where it lives: its home slot.
    pub rid: Rid,
    record: Record<'s>,
    layout: &'s RowLayout,
    rowset: &'s Rowset,
    places: &'s [(&'s Column, Option<&'s PhysicalColumn>)],
    pages: &'s CheckedPages<'s>,
    catalog: &'s Catalog,
}

impl<'s> Row<'s> {
    /// Number of columns.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The bytes of the record, as stored.
    pub fn record(&self) -> &Record<'s> {
        &self.record
    }

    /// The value of a column, by its position in [`TableScan::columns`].
    ///
    /// # Errors
    /// The bytes are no value of the column's type, or the off-row value cannot be found.
    pub fn value(&self, position: usize) -> Result<Value<'s>, Fault> {
        let Some((column, place)) = self.places.get(position) else { return Ok(Value::Datum(Datum::Null)) };
        let Some(place) = place else { return self.without_place(column) };
        let Some(ty) = column.ty.or(place.ty) else {
            return Err(Fault::Catalog(format!("column {} has unknown type {}", column.name, column.xtype)));
        };
        let cell = cell(&self.record, place, Level::Leaf).map_err(|fault| Fault::Compressed {
            rid: self.rid,
            what: fault.to_string(),
        })?;
        match cell {
            Cell::Null => Ok(Value::Datum(Datum::Null)),
            Cell::Missing => self.added_default(column, ty),
            Cell::Bit(bit) => Ok(Value::Datum(Datum::Bit(bit))),
            Cell::Bytes(std::borrow::Cow::Borrowed(bytes)) => self.decode(column, ty, bytes).map(Value::Datum),
            Cell::Bytes(std::borrow::Cow::Owned(bytes)) => {
                self.decode(column, ty, &bytes).map(|datum| Value::Datum(datum.into_owned()))
            }
            Cell::Complex(bytes) => self.off_row(column, ty, &bytes),
        }
    }

    fn decode<'b>(&self, column: &Column, ty: SqlType, bytes: &'b [u8]) -> Result<Datum<'b>, Fault> {
        Datum::decode(&ty, bytes).map_err(|source| Fault::Value { rid: self.rid, column: column.name.clone(), source })
    }

    fn off_row(&self, column: &Column, ty: SqlType, bytes: &[u8]) -> Result<Value<'s>, Fault> {
        let pointer = LobPointer::parse(bytes, ty.is_lob());
        let reader = LobReader::new(self.pages, self.rid, &pointer)?;
        if ty.is_lob() || ty.is_max() {
            return Ok(Value::Lob(LobValue { ty, reader }));
        }
        let bytes = reader.read_to_vec(SHORT_VALUE_BYTES_MAX)?;
        self.decode(column, ty, &bytes).map(|datum| Value::Datum(datum.into_owned()))
    }

    /// A column added after the row was written: NULL, or the default it was added with.
    fn added_default(&self, column: &Column, ty: SqlType) -> Result<Value<'s>, Fault> {
        match self.catalog.added_defaults.get(&(self.rowset.id, column.id)) {
            None => Ok(Value::Datum(Datum::Null)),
            Some(bytes) => match Datum::decode(&SqlType::SqlVariant, bytes) {
                Ok(Datum::Variant(variant)) => Ok(Value::Datum(variant.value.into_owned())),
                _ => self.decode(column, ty, bytes).map(Value::Datum),
            },
        }
    }

    /// A column that has no place in the record: sparse columns have theirs in the row's sparse vector.
    fn without_place(&self, column: &Column) -> Result<Value<'s>, Fault> {
        let _ = self.layout;
        Err(Fault::Catalog(format!("column {} has no place in rowset {}", column.name, self.rowset.id)))
    }
}
