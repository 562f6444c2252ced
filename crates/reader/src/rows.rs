//! The rows of a table, one after the other.
//!
//! A clustered table is read in key order, a heap in the order of its IAM pages; each row once, at
//! its home. A forwarded row is read through its stub. Partitions follow each other. Memory: the
//! path down a tree, a page or two, the current row, and a bit for each page that was read.

use std::borrow::Cow;
use std::collections::VecDeque;

use extentdb_base::{PageId, Rid};
use extentdb_catalog::access::LobReader;
use extentdb_catalog::layout::{Compression, Level, cell};
use extentdb_catalog::model::AddedDefault;
use extentdb_catalog::{Catalog, Cell, Column, Fault, PageGetter, PhysicalColumn, Rowset, Table};
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::compressed::row::IS_CD;
use extentdb_format::record::compressed::{
    CdKind, CdRecord, CiView, CompressedError, CompressedValue,
};
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::sparse::SparseVector;
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::{Datum, SqlType};

use crate::checked::CheckedPages;

mod page_set;
mod pages;
mod unit_pages;

use pages::BasePages;

/// The longest value of a type that is not (max): stored off its row, it is still read as a whole.
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
    /// The table stores no rows.
    #[error("{table}: no heap or clustered index in the catalog")]
    NoBase {
        /// Name of the table.
        table: String,
    },
    /// Rows are stored in a way this program does not read.
    #[error("not supported: {table} is stored as {storage}")]
    Storage {
        /// Name of the table.
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
    /// Absent pages of the rowsets that were scanned.
    absent_pages: u64,
}

/// The columns that have values in the rows of a table, in the order of [`TableScan::columns`].
pub fn stored_columns(table: &Table) -> Vec<&Column> {
    table.columns.iter().filter(|column| !column.is_virtual()).collect()
}

impl<'d> TableScan<'d> {
    /// Starts a scan over all columns that have values in the rows.
    ///
    /// # Errors
    /// The table cannot be scanned at all.
    pub fn new(
        pages: &'d CheckedPages<'d>,
        catalog: &'d Catalog,
        table: &'d Table,
    ) -> Result<Self, ScanError> {
        let base = table.base().ok_or_else(|| ScanError::NoBase { table: table.full_name() })?;
        let rowsets: VecDeque<&Rowset> = catalog.rowsets_of(base).collect();
        for rowset in &rowsets {
            if let Compression::Other(_) = rowset.compression {
                let storage = rowset.compression.name().to_owned();
                return Err(ScanError::Storage { table: table.full_name(), storage });
            }
        }
        let columns = stored_columns(table);
        Ok(TableScan {
            pages,
            catalog,
            columns,
            rowsets,
            current: None,
            absent_pages: 0,
        })
    }

    /// The columns of each row, in order.
    pub fn columns(&self) -> &[&'d Column] {
        &self.columns
    }

    /// Number of pages of the table that are not in the files or the backup, as far as the scan has
    /// come. Where a map page is among them the number is the catalog's count of pages less those
    /// that were found.
    pub fn absent_pages(&self) -> u64 {
        self.absent_pages + self.current.as_ref().map_or(0, |current| current.scan.absent_pages())
    }

    /// The next row. After an error the scan continues after the unreadable part.
    pub fn next_row(&mut self) -> Option<Result<Row<'_>, Fault>> {
        loop {
            let Some(current) = &mut self.current else {
                let rowset = self.rowsets.pop_front()?;
                self.current =
                    Some(RowsetScan::new(self.pages, self.catalog, rowset, &self.columns));
                continue;
            };
            match current.advance() {
                Some(Ok(())) => break,
                Some(Err(fault)) => return Some(Err(fault)),
                None => {
                    self.absent_pages += current.scan.absent_pages();
                    self.current = None;
                }
            }
        }
        self.current.as_mut().map(RowsetScan::row)
    }
}

/// The current page of a scan.
struct CurrentPage {
    id: PageId,
    page: PageBuf,
}

impl CurrentPage {
    fn record(&self, rid: Rid) -> Option<&[u8]> {
        if self.id != rid.page {
            return None;
        }
        PageRef::new(&self.page).record_bytes(rid.slot.0)
    }
}

struct RowsetScan<'d> {
    pages: &'d CheckedPages<'d>,
    catalog: &'d Catalog,
    rowset: &'d Rowset,
    /// For each column of the table, its column in this rowset.
    mapping: Vec<(&'d Column, Option<&'d PhysicalColumn>)>,
    scan: BasePages<'d>,
    home: Option<CurrentPage>,
    /// Slot of the next record.
    next_slot: u16,
    /// The current row's home, and the page and slot its record lies in.
    row: Rid,
    record: Rid,
    /// The page of the last forwarded row.
    away: Option<CurrentPage>,
}

impl<'d> RowsetScan<'d> {
    fn new(
        pages: &'d CheckedPages<'d>,
        catalog: &'d Catalog,
        rowset: &'d Rowset,
        columns: &[&'d Column],
    ) -> RowsetScan<'d> {
        RowsetScan {
            pages,
            catalog,
            rowset,
            mapping: columns
                .iter()
                .map(|column| (*column, rowset.layout.column(column.id)))
                .collect(),
            scan: BasePages::of(pages, rowset),
            home: None,
            next_slot: 0,
            row: Rid::default(),
            record: Rid::default(),
            away: None,
        }
    }

    /// Finds the next row; its record can then be taken by [`row`](Self::row).
    fn advance(&mut self) -> Option<Result<(), Fault>> {
        loop {
            let Some(home) = &self.home else {
                match self.scan.next()? {
                    Ok((id, page)) => self.home = Some(CurrentPage { id, page }),
                    Err(fault) => return Some(Err(fault)),
                }
                self.next_slot = 0;
                continue;
            };
            if self.next_slot >= PageRef::new(&home.page).slot_count() {
                self.home = None;
                continue;
            }
            let rid = Rid::new(home.id, self.next_slot);
            self.next_slot += 1;
            let Some(bytes) = home.record(rid) else { continue };
            let role = RecordRole::of(bytes);
            (self.row, self.record) = (rid, rid);
            match role {
                RecordRole::Row => return Some(Ok(())),
                RecordRole::Stub => match self.follow(rid) {
                    Ok(true) => return Some(Ok(())),
                    Ok(false) => {}
                    Err(fault) => return Some(Err(fault)),
                },
                RecordRole::NoRow => {}
                RecordRole::Misplaced => {
                    let what = "a record that is no row";
                    return Some(Err(Fault::Misplaced { page: rid.page, what, from: rid.page }));
                }
            }
        }
    }

    /// Loads the page that a stub points to. False when the row there is deleted.
    fn follow(&mut self, home: Rid) -> Result<bool, Fault> {
        let stub = self.home.as_ref().and_then(|loaded| loaded.record(home)).unwrap_or_default();
        let Some(target) = RowBytes::parse(stub).stub_target() else {
            return Err(Fault::Lob {
                rid: home,
                what: "a forwarding stub without target".to_owned(),
            });
        };
        if self.away.as_ref().is_none_or(|away| away.id != target.page) {
            let mut page = PageBuf::zeroed();
            self.away = None;
            if let Err(error) = self.pages.page(target.page, &mut page) {
                let fault = Fault::from(error);
                self.scan.note_absent(target.page, &fault);
                return Err(fault);
            }
            self.away = Some(CurrentPage { id: target.page, page });
        }
        let bytes = self.away.as_ref().and_then(|away| away.record(target)).unwrap_or_default();
        let record = RowBytes::parse(bytes);
        if record.is_ghost_of(home) {
            return Ok(false);
        }
        if !record.points_back_to(home) {
            let what = format!("the stub points to {target}, which does not point back");
            return Err(Fault::Lob { rid: home, what });
        }
        self.record = target;
        Ok(true)
    }

    /// The row found last.
    fn row(&mut self) -> Result<Row<'_>, Fault> {
        let loaded = if self.record == self.row { &self.home } else { &self.away };
        let Some(loaded) = loaded else {
            return Err(Fault::Catalog("the scan has no row".to_owned()));
        };
        let bytes = RowBytes::parse(loaded.record(self.record).unwrap_or_default());
        bytes.verify(self.record)?;
        let ci = match bytes {
            RowBytes::Plain(_) => None,
            RowBytes::Compressed(_) => CiView::of(&loaded.page),
        };
        Ok(Row {
            rid: self.row,
            bytes,
            ci,
            rowset: self.rowset,
            mapping: &self.mapping,
            pages: self.pages,
            catalog: self.catalog,
        })
    }
}

/// The role of a record in a scan.
enum RecordRole {
    Row,
    Stub,
    /// A ghost, or a forwarded row, which is read through its stub.
    NoRow,
    Misplaced,
}

impl RecordRole {
    fn of(bytes: &[u8]) -> RecordRole {
        let status = bytes.first().copied().unwrap_or(0);
        if status & IS_CD != 0 {
            return match CdKind::of(status) {
                CdKind::Primary => RecordRole::Row,
                CdKind::ForwardingStub => RecordRole::Stub,
                CdKind::Index | CdKind::GhostIndex => RecordRole::Misplaced,
                _ => RecordRole::NoRow,
            };
        }
        match RecordKind::of(status) {
            RecordKind::Primary => RecordRole::Row,
            RecordKind::ForwardingStub => RecordRole::Stub,
            RecordKind::Index | RecordKind::Blob => RecordRole::Misplaced,
            _ => RecordRole::NoRow,
        }
    }
}

/// A record in either format, by bit 0 of its first byte.
#[derive(Clone, Copy)]
enum RowBytes<'s> {
    Plain(Record<'s>),
    Compressed(CdRecord<'s>),
}

impl<'s> RowBytes<'s> {
    fn parse(bytes: &'s [u8]) -> RowBytes<'s> {
        match bytes.first() {
            Some(status) if status & IS_CD != 0 => RowBytes::Compressed(CdRecord::parse(bytes)),
            _ => RowBytes::Plain(Record::parse_data(bytes)),
        }
    }

    fn verify(&self, rid: Rid) -> Result<(), Fault> {
        match self {
            RowBytes::Plain(record) => {
                record.fault().map_or(Ok(()), |fault| Err(Fault::Record { rid, fault }))
            }
            RowBytes::Compressed(record) => match record.fault() {
                None => Ok(()),
                Some(fault) => Err(Fault::Compressed { rid, what: format!("{fault:?}") }),
            },
        }
    }

    fn stub_target(&self) -> Option<Rid> {
        match self {
            RowBytes::Plain(record) => record.stub_target(),
            RowBytes::Compressed(record) => record.stub_target(),
        }
    }

    /// Is it a forwarded row that is deleted but still there?
    fn is_ghost_of(&self, home: Rid) -> bool {
        match self {
            RowBytes::Plain(record) => {
                record.is_ghost_forwarded() && record.back_pointer() == Some(home)
            }
            RowBytes::Compressed(record) => record.kind() == CdKind::GhostForwarded,
        }
    }

    fn points_back_to(&self, home: Rid) -> bool {
        match self {
            RowBytes::Plain(record) => {
                record.kind() == RecordKind::Forwarded && record.back_pointer() == Some(home)
            }
            RowBytes::Compressed(record) => {
                record.kind() == CdKind::Forwarded
                    && record.extra_long().any(|(bytes, _)| {
                        LobPointer::parse(bytes, false) == LobPointer::BackPointer(home)
                    })
            }
        }
    }
}

/// A row; its columns are decoded when they are asked for.
pub struct Row<'s> {
    /// RID of its home slot.
    pub rid: Rid,
    bytes: RowBytes<'s>,
    /// Compression information of the row's page.
    ci: Option<CiView<'s>>,
    rowset: &'s Rowset,
    mapping: &'s [(&'s Column, Option<&'s PhysicalColumn>)],
    pages: &'s CheckedPages<'s>,
    catalog: &'s Catalog,
}

impl<'s> Row<'s> {
    /// Number of columns.
    pub fn len(&self) -> usize {
        self.mapping.len()
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.mapping.is_empty()
    }

    /// The value of a column, by its position in [`TableScan::columns`].
    ///
    /// # Errors
    /// The bytes are no value of the column's type, or the off-row value cannot be found.
    pub fn value(&self, position: usize) -> Result<Value<'s>, Fault> {
        let Some((column, physical)) = self.mapping.get(position) else {
            return Ok(Value::Datum(Datum::Null));
        };
        let Some(ty) = column.ty.or(physical.and_then(|physical| physical.ty)) else {
            return Err(Fault::Catalog(format!(
                "column {} has unknown type {}",
                column.name, column.xtype
            )));
        };
        let cell = match physical {
            Some(physical) if !physical.is_sparse() => self.cell(column, physical, ty)?,
            _ => self.sparse_cell(column)?,
        };
        match cell {
            Cell::Null => Ok(Value::Datum(Datum::Null)),
            Cell::Missing => self.added_default(column, *physical, ty),
            Cell::Bit(bit) => Ok(Value::Datum(Datum::Bit(bit))),
            Cell::Bytes(Cow::Borrowed(bytes)) => self.decode(column, ty, bytes).map(Value::Datum),
            Cell::Bytes(Cow::Owned(bytes)) => {
                self.decode(column, ty, &bytes).map(|datum| Value::Datum(datum.into_owned()))
            }
            Cell::Complex(bytes) => self.off_row(column, ty, &bytes),
        }
    }

    fn cell(
        &self,
        column: &Column,
        physical: &PhysicalColumn,
        ty: SqlType,
    ) -> Result<Cell<'s>, Fault> {
        let fault = |what| Fault::Compressed { rid: self.rid, what };
        match &self.bytes {
            RowBytes::Plain(record) => {
                cell(record, physical, Level::Leaf).map_err(|error| fault(error.to_string()))
            }
            RowBytes::Compressed(record) => compressed_cell(record, self.ci.as_ref(), physical, ty)
                .map_err(|e| fault(format!("{}: {e}", column.name))),
        }
    }

    /// A sparse column: in the row's sparse vector, or NULL.
    fn sparse_cell(&self, column: &Column) -> Result<Cell<'s>, Fault> {
        if !column.sparse {
            return Err(Fault::Catalog(format!(
                "column {} is not stored in rowset {}",
                column.name, self.rowset.id
            )));
        }
        let vector = match &self.bytes {
            RowBytes::Plain(record) => record
                .vars()
                .find(|var| var.complex && SparseVector::is_one(var.bytes))
                .map(|var| var.bytes),
            RowBytes::Compressed(record) => record
                .extra_long()
                .map(|(bytes, _)| bytes)
                .find(|bytes| SparseVector::is_one(bytes)),
        };
        let Some(vector) = vector else { return Ok(Cell::Null) };
        let vector = SparseVector::parse(vector);
        if let Some(fault) = vector.fault() {
            return Err(Fault::Compressed {
                rid: self.rid,
                what: format!("sparse vector: {fault:?}"),
            });
        }
        Ok(match u16::try_from(column.id).ok().and_then(|id| vector.value(id)) {
            None => Cell::Null,
            Some(var) if var.complex => Cell::Complex(Cow::Borrowed(var.bytes)),
            Some(var) => Cell::Bytes(Cow::Borrowed(var.bytes)),
        })
    }

    fn decode<'b>(
        &self,
        column: &Column,
        ty: SqlType,
        bytes: &'b [u8],
    ) -> Result<Datum<'b>, Fault> {
        Datum::decode(&ty, bytes).map_err(|source| Fault::Value {
            rid: self.rid,
            column: column.name.clone(),
            source,
        })
    }

    fn off_row(&self, column: &Column, ty: SqlType, bytes: &[u8]) -> Result<Value<'s>, Fault> {
        let pointer = LobPointer::parse(bytes, ty.may_have_text_pointer());
        let reader = LobReader::new(self.pages, self.rid, &pointer)?;
        if ty.is_lob() || ty.is_max() {
            return Ok(Value::Lob(LobValue { ty, reader }));
        }
        let bytes = reader.read_to_vec(SHORT_VALUE_BYTES_MAX)?;
        self.decode(column, ty, &bytes).map(|datum| Value::Datum(datum.into_owned()))
    }

    /// A column added after the row was written: NULL, or the default it was added with.
    fn added_default(
        &self,
        column: &Column,
        physical: Option<&PhysicalColumn>,
        ty: SqlType,
    ) -> Result<Value<'s>, Fault> {
        let datum = match physical
            .and_then(|physical| self.catalog.added_default(self.rowset.id, physical))
        {
            None => Datum::Null,
            Some(AddedDefault::Bytes(bytes)) => self.decode(column, ty, bytes)?,
            Some(AddedDefault::Variant(bytes)) => {
                match self.decode(column, SqlType::SqlVariant, bytes)? {
                    Datum::Variant(variant) => variant.value,
                    other => other,
                }
            }
        };
        Ok(Value::Datum(datum))
    }
}

/// A column of a compressed record in the form of an uncompressed one.
fn compressed_cell<'s>(
    record: &CdRecord<'s>,
    ci: Option<&CiView<'s>>,
    physical: &PhysicalColumn,
    ty: SqlType,
) -> Result<Cell<'s>, CompressedError> {
    let Some(number) = physical.ordinal.checked_sub(1).and_then(|n| u16::try_from(n).ok()) else {
        return Ok(Cell::Missing);
    };
    let Some(stored) = record.column(number) else { return Ok(Cell::Missing) };
    let value = match ci {
        Some(ci) => ci.resolve(number, stored)?,
        None => stored.plain()?,
    };
    if let CompressedValue::Pointer(bytes) = value {
        return Ok(Cell::Complex(Cow::Borrowed(bytes)));
    }
    Ok(match value.decompress(&ty)? {
        None => Cell::Null,
        Some(bytes) if ty.is_bit() => Cell::Bit(bytes.first().is_some_and(|b| *b != 0)),
        Some(bytes) => Cell::Bytes(bytes),
    })
}
