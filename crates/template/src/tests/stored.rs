//! Records of both forms by their values, for the audit.

use extentdb_base::{PageId, Rid};
use extentdb_catalog::access::LobReader;
use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_catalog::model::{AddedDefault, Catalog, Rowset};
use extentdb_format::PageBuf;
use extentdb_format::page::{PageRef, PageType};
use extentdb_format::record::compressed::row::IS_CD;
use extentdb_format::record::compressed::{CdColumn, CdKind, CdRecord, CiView, CompressedValue};
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::{Record, RecordKind};
use extentdb_types::{Datum, SqlType};

use super::audit::Values;
use super::image::Image;

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Row,
    Ghost,
    Stub(Rid),
    Moved(Rid),
}

/// A record in either form.
#[derive(Clone, Copy)]
pub(super) enum Stored<'a> {
    Plain(Record<'a>),
    Compressed(CdRecord<'a>, Option<CiView<'a>>),
}

impl<'a> Stored<'a> {
    pub(super) fn of(page: &'a PageBuf, bytes: &'a [u8]) -> Stored<'a> {
        let header = PageRef::new(page).header();
        match bytes.first() {
            Some(status) if status & IS_CD != 0 => {
                Stored::Compressed(CdRecord::parse(bytes), CiView::of(page))
            }
            _ if header.kind() == PageType::Data => Stored::Plain(Record::parse_data(bytes)),
            _ => Stored::Plain(Record::parse_index(bytes, header.fixed_len.get())),
        }
    }

    pub(super) fn role(&self) -> Role {
        match self {
            Stored::Plain(record) => match record.kind() {
                RecordKind::Primary | RecordKind::Index => Role::Row,
                RecordKind::GhostData | RecordKind::GhostIndex => Role::Ghost,
                RecordKind::ForwardingStub => Role::Stub(record.stub_target().unwrap()),
                RecordKind::Forwarded => Role::Moved(record.back_pointer().unwrap()),
                other => panic!("{other:?}"),
            },
            Stored::Compressed(record, _) => match record.kind() {
                CdKind::Primary | CdKind::Index => Role::Row,
                CdKind::GhostData | CdKind::GhostIndex => Role::Ghost,
                CdKind::ForwardingStub => Role::Stub(record.stub_target().unwrap()),
                CdKind::Forwarded => {
                    let home = record.extra_long().find_map(|(bytes, _)| {
                        match LobPointer::parse(bytes, false) {
                            LobPointer::BackPointer(home) => Some(home),
                            _ => None,
                        }
                    });
                    Role::Moved(home.unwrap())
                }
                other => panic!("{other:?}"),
            },
        }
    }

    pub(super) fn child(&self) -> PageId {
        match self {
            Stored::Plain(record) => record.child().unwrap(),
            Stored::Compressed(record, _) => record.child().unwrap(),
        }
    }

    /// Bytes; a record that does not add up fails the test.
    pub(super) fn len(&self) -> usize {
        match self {
            Stored::Plain(record) => {
                assert_eq!(record.fault(), None);
                record.len()
            }
            Stored::Compressed(record, _) => {
                assert_eq!(record.fault(), None);
                record.len()
            }
        }
    }
}

/// Reads values of one rowset.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) image: &'a Image,
    pub(super) catalog: &'a Catalog,
    pub(super) rowset: &'a Rowset,
}

impl Reading<'_> {
    /// The values of the columns in record order. A long value off the row is represented by its
    /// pointer, one that was pushed off is read. Dropped columns have none.
    pub(super) fn values(&self, record: &Stored<'_>, level: Level) -> Values {
        let columns = &self.rowset.layout.columns;
        columns.iter().map(|column| self.value(record, column, level)).collect()
    }

    fn value(&self, record: &Stored<'_>, column: &PhysicalColumn, level: Level) -> Option<Vec<u8>> {
        if column.is_dropped() {
            return None;
        }
        let ty = column.ty.unwrap();
        let value = match self.cell(record, column, level) {
            Cell::Null => None,
            Cell::Bit(value) => Some(vec![u8::from(value)]),
            Cell::Bytes(bytes) => Some(bytes.into_owned()),
            Cell::Complex(bytes) if ty.is_max() || ty.is_lob() => Some(bytes.into_owned()),
            Cell::Complex(bytes) => {
                let pointer = LobPointer::parse(&bytes, false);
                let reader = LobReader::new(self.image, Rid::default(), &pointer).unwrap();
                Some(reader.read_to_vec(8192).unwrap())
            }
            Cell::Missing if level == Level::Interior => None,
            Cell::Missing => self.added(column, &ty),
        };
        // The first row of a key has an empty uniquifier in an uncompressed record, and 0 in a
        // compressed one.
        value.map(|bytes| if bytes.is_empty() && ty == SqlType::Int { vec![0; 4] } else { bytes })
    }

    fn cell<'r>(&self, record: &Stored<'r>, column: &PhysicalColumn, level: Level) -> Cell<'r> {
        match record {
            Stored::Plain(record) => cell(record, column, level).unwrap(),
            Stored::Compressed(record, information) => {
                let number = match level {
                    Level::Leaf => column.ordinal,
                    Level::Interior => i32::from(column.key_ordinal),
                };
                let Some(number) = u16::try_from(number - 1).ok() else { return Cell::Missing };
                let Some(stored) = record.column(number) else { return Cell::Missing };
                compressed_cell(information.as_ref(), number, stored, &column.ty.unwrap())
            }
        }
    }

    fn added(&self, column: &PhysicalColumn, ty: &SqlType) -> Option<Vec<u8>> {
        match self.catalog.added_default(self.rowset.id, column)? {
            AddedDefault::Bytes(bytes) => Some(bytes.clone()),
            AddedDefault::Variant(bytes) => {
                let Datum::Variant(variant) = Datum::decode(&SqlType::SqlVariant, bytes).unwrap()
                else {
                    panic!("not a variant")
                };
                if *ty == SqlType::SqlVariant {
                    return Some(bytes.clone());
                }
                let mut out = Vec::new();
                variant.value.encode(ty, &mut out).unwrap();
                Some(out)
            }
        }
    }
}

fn compressed_cell<'r>(
    information: Option<&CiView<'r>>,
    number: u16,
    stored: CdColumn<'r>,
    ty: &SqlType,
) -> Cell<'r> {
    let value = match information {
        Some(information) => information.resolve(number, stored).unwrap(),
        None => stored.plain().unwrap(),
    };
    if let CompressedValue::Pointer(bytes) = value {
        return Cell::Complex(bytes.into());
    }
    match value.decompress(ty).unwrap() {
        None => Cell::Null,
        Some(bytes) if ty.is_bit() => Cell::Bit(bytes[0] != 0),
        Some(bytes) => Cell::Bytes(bytes),
    }
}
