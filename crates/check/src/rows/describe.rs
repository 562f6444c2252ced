//! Rows in words, by a second way of decoding them: what 8955, 8956 and the keys of findings show.
//!
//! Nothing here is shared with the fast way in [`super::column`]: cells come from
//! `catalog::layout`, values from `types`. A difference between the two sides of an index is
//! believed only when this way sees it, too.

use std::borrow::Cow;
use std::fmt::Write;

use extentdb_base::Rid;
use extentdb_catalog::Catalog;
use extentdb_catalog::access::LobReader;
use extentdb_catalog::layout::{Cell, Compression, Level, PhysicalColumn, RowLayout, cell};
use extentdb_catalog::model::{AddedDefault, Rowset, Table};
use extentdb_format::PageBuf;
use extentdb_format::page::PageRef;
use extentdb_format::record::lob::LobPointer;
use extentdb_format::record::{Record, RecordKind};
use extentdb_reader::CheckedPages;
use extentdb_types::plain::write_plain;
use extentdb_types::{Datum, SqlType};

use super::comparison::{IndexComparison, Origin};
use super::hasher::OVERFLOW_BYTES_MAX;
use crate::expand::Expander;
use crate::plan::pages::load;
use crate::second_pass::SecondPass;
use crate::unit::{Structure, UnitIndex};

/// Longer values are cut in messages.
const SHOWN_CHARS_MAX: usize = 60;

/// A value that was decoded, and its canonical bytes: whether it is there, and what it is stored
/// as.
pub(super) struct Value {
    pub(super) text: String,
    canonical: Vec<u8>,
}

impl Value {
    /// Its disk form; nothing for NULL.
    pub(super) fn stored(&self) -> Option<&[u8]> {
        self.canonical.split_first().filter(|(is_there, _)| **is_there == 1).map(|(_, bytes)| bytes)
    }
}

/// A row on one side of an index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Described {
    /// All compared columns, locator included, in one form for both sides.
    pub(super) canonical: Vec<u8>,
    /// `a = 1 and b = 'x'`: the index's own columns.
    pub(super) values: String,
    /// What identifies the row of the table: its clustered key, or its RID.
    pub(super) identity: String,
    /// A row of the table that an update moved.
    pub(super) is_forwarded: bool,
}

impl Described {
    /// The place of the row in its heap, when that is the last of the columns.
    pub(super) fn home(&self) -> Option<Rid> {
        // Its length, a mark that it is not NULL, eight bytes.
        let (_, last) = self.canonical.split_last_chunk::<8>()?;
        Some(Rid::from_bytes(*last))
    }
}

/// What a description is made from.
#[derive(Clone, Copy)]
pub(super) struct Describer<'d> {
    pub(super) catalog: &'d Catalog,
    pub(super) table: &'d Table,
    pub(super) comparison: &'d IndexComparison,
}

impl Describer<'_> {
    /// A row of the table, as its index should hold it.
    pub(super) fn base(&self, row: &StoredRow<'_>) -> Option<Described> {
        let is_forwarded = row.record.kind() == RecordKind::Forwarded;
        let home = if is_forwarded { row.record.back_pointer()? } else { row.rid };
        let column_of = |origin: Origin| match origin {
            Origin::Column(id) => row.layout.column(id),
            Origin::Uniquifier => row.layout.columns.iter().find(|column| column.is_uniquifier()),
            Origin::Rid => None,
        };
        let described = self.describe(|_, origin| match (column_of(origin), origin) {
            (Some(column), _) => row.value(column),
            (None, Origin::Column(id)) => self.computed(row, id),
            (None, _) => Some(rid_value(home)),
        })?;
        Some(Described { is_forwarded, ..described })
    }

    /// A computed column that the row does not store.
    fn computed(&self, row: &StoredRow<'_>, id: i32) -> Option<Value> {
        let (_, expression) =
            self.comparison.computed.iter().find(|(computed, _)| *computed == id)?;
        let ty = self.table.column(id)?.ty?;
        let input = |id: &i32| {
            let value = row.value(row.layout.column(*id)?)?;
            Some(value.stored().map(<[u8]>::to_vec))
        };
        let inputs = expression.inputs.iter().map(input).collect::<Option<Vec<_>>>()?;
        let value = expression.value_of(&inputs)?;
        Some(value.map_or_else(null_value, |bytes| stored_value(&ty, &bytes)))
    }

    /// An entry of the index.
    pub(super) fn entry(&self, row: &StoredRow<'_>) -> Option<Described> {
        self.describe(|ordinal, origin| {
            let value = row.value(row.layout.column(ordinal)?)?;
            match (origin, value.canonical.get(1..).and_then(|bytes| bytes.first_chunk())) {
                (Origin::Rid, Some(bytes)) => Some(rid_value(Rid::from_bytes(*bytes))),
                _ => Some(value),
            }
        })
    }

    fn describe(&self, value: impl Fn(i32, Origin) -> Option<Value>) -> Option<Described> {
        let mut described = Described::default();
        let key = self.key_columns();
        for (position, (ordinal, origin)) in self.comparison.origins.iter().enumerate() {
            if self.comparison.long_columns.contains(ordinal) {
                continue;
            }
            let value = value(*ordinal, *origin)?;
            described.canonical.extend((value.canonical.len() as u32).to_le_bytes());
            described.canonical.extend_from_slice(&value.canonical);
            let name = self.name(*origin);
            if position < self.comparison.own_columns {
                join(&mut described.values, &name, &value.text);
            }
            if key.contains(origin) {
                join(&mut described.identity, &name, &value.text);
            }
        }
        Some(described)
    }

    /// What identifies a row of the table.
    fn key_columns(&self) -> Vec<Origin> {
        let rowset = self.table.base().and_then(|base| self.catalog.rowsets_of(base).next());
        match rowset {
            Some(rowset) if rowset.index.0 == 1 => {
                let origin = |column: &&PhysicalColumn| {
                    if column.is_uniquifier() {
                        Origin::Uniquifier
                    } else {
                        Origin::Column(column.column_id)
                    }
                };
                rowset.layout.key().iter().map(origin).collect()
            }
            _ => vec![Origin::Rid],
        }
    }

    fn name(&self, origin: Origin) -> String {
        match origin {
            Origin::Rid => "HEAP RID".to_owned(),
            Origin::Uniquifier => "UNIQUIFIER".to_owned(),
            Origin::Column(id) => self
                .table
                .column(id)
                .map_or_else(|| format!("column {id}"), |column| column.name.clone()),
        }
    }
}

/// A row where it is stored, for the second way of decoding.
pub(super) struct StoredRow<'r> {
    pub(super) catalog: &'r Catalog,
    pages: &'r CheckedPages<'r>,
    pub(super) rowset: &'r Rowset,
    pub(super) layout: &'r RowLayout,
    pub(super) record: Record<'r>,
    pub(super) rid: Rid,
}

impl StoredRow<'_> {
    /// Reads a row of a unit; nothing when its page or record cannot be used.
    pub(super) fn read<T>(
        pass: &SecondPass<'_>,
        catalog: &Catalog,
        pages: &CheckedPages<'_>,
        index: UnitIndex,
        rid: Rid,
        with: impl FnOnce(&StoredRow<'_>) -> Option<T>,
    ) -> Option<T> {
        let unit = pass.plan.units.get(index)?;
        let rowset = catalog.rowsets.get(&unit.owner.partition)?;
        let mut page = PageBuf::zeroed();
        let is_sound = load(pass.source, rid.page, &mut page).is_sound();
        let view = PageRef::new(&page);
        let bytes = view.record_bytes(rid.slot.0).filter(|_| is_sound)?;
        let layout = pass.plan.layout(index)?;
        let is_entry = unit.structure == Structure::Nonclustered;
        let mut expander = Expander::default();
        let (bytes, fixed_end) = match unit.compression {
            Compression::None => (bytes, view.header().fixed_len.get()),
            _ => expander.single(&view, bytes, layout, !is_entry)?,
        };
        let record = if is_entry {
            Record::parse_index(bytes, fixed_end)
        } else {
            Record::parse_data(bytes)
        };
        with(&StoredRow { catalog, pages, rowset, layout, record, rid })
    }

    /// A column of the row.
    pub(super) fn value(&self, column: &PhysicalColumn) -> Option<Value> {
        let ty = column.ty?;
        match cell(&self.record, column, Level::Leaf).ok()? {
            Cell::Null if is_uniquifier(column) => Some(stored_value(&ty, &[0; 4])),
            Cell::Bytes(bytes) if bytes.is_empty() && is_uniquifier(column) => {
                Some(stored_value(&ty, &[0; 4]))
            }
            Cell::Null => Some(null_value()),
            Cell::Bit(bit) => Some(Value {
                text: u8::from(bit).to_string(),
                canonical: vec![1, bit.into()],
            }),
            Cell::Bytes(bytes) => Some(stored_value(&ty, &bytes)),
            Cell::Complex(pointer) => {
                let pointer = LobPointer::parse(&pointer, ty.may_have_text_pointer());
                let reader = LobReader::new(self.pages, self.rid, &pointer).ok()?;
                Some(stored_value(&ty, &reader.read_to_vec(OVERFLOW_BYTES_MAX).ok()?))
            }
            Cell::Missing => match self.catalog.added_default(self.rowset.id, column) {
                None => Some(null_value()),
                Some(default) => default_value(&ty, default),
            },
        }
    }
}

/// The only int among variable columns.
fn is_uniquifier(column: &PhysicalColumn) -> bool {
    column.leaf.offset < 0 && column.ty == Some(SqlType::Int)
}

fn null_value() -> Value {
    Value { text: "NULL".to_owned(), canonical: vec![0] }
}

fn rid_value(rid: Rid) -> Value {
    let canonical = [&[1][..], &rid.to_bytes()].concat();
    Value {
        text: format!("({}:{}:{})", rid.page.file.0, rid.page.page, rid.slot.0),
        canonical,
    }
}

/// A value by its disk form: the canonical bytes are what the value encodes to.
fn stored_value(ty: &SqlType, bytes: &[u8]) -> Value {
    let canonical = |bytes: &[u8]| [&[1][..], bytes].concat();
    let Ok(datum) = Datum::decode(ty, bytes) else {
        // Out of its range: two such values are equal when their bytes are.
        let mut text = String::from("0x");
        bytes.iter().take(SHOWN_CHARS_MAX / 2).for_each(|byte| _ = write!(text, "{byte:02X}"));
        return Value { text, canonical: canonical(bytes) };
    };
    let mut encoded = Vec::new();
    let bytes = match datum.encode(ty, &mut encoded) {
        Ok(()) => Cow::Owned(encoded),
        Err(_) => Cow::Borrowed(bytes),
    };
    Value { text: show(&datum), canonical: canonical(&bytes) }
}

fn default_value(ty: &SqlType, default: &AddedDefault) -> Option<Value> {
    match default {
        AddedDefault::Bytes(bytes) => Some(stored_value(ty, bytes)),
        AddedDefault::Variant(bytes) if *ty == SqlType::SqlVariant => Some(stored_value(ty, bytes)),
        AddedDefault::Variant(bytes) => match Datum::decode(&SqlType::SqlVariant, bytes).ok()? {
            Datum::Variant(variant) => {
                let mut encoded = Vec::new();
                variant.value.encode(ty, &mut encoded).ok()?;
                Some(stored_value(ty, &encoded))
            }
            _ => None,
        },
    }
}

/// A value as messages show it: text in quotes, cut when it is long.
pub(super) fn show(datum: &Datum<'_>) -> String {
    let mut text = String::new();
    _ = write_plain(datum, &mut text);
    if text.chars().count() > SHOWN_CHARS_MAX {
        text = text.chars().take(SHOWN_CHARS_MAX).chain("...".chars()).collect();
    }
    let is_bare = matches!(
        datum,
        Datum::Bit(_)
            | Datum::TinyInt(_)
            | Datum::SmallInt(_)
            | Datum::Int(_)
            | Datum::BigInt(_)
            | Datum::Decimal(_)
            | Datum::Money(_)
            | Datum::SmallMoney(_)
            | Datum::Float(_)
            | Datum::Real(_)
            | Datum::Binary(_)
            | Datum::RowVersion(_)
    );
    match datum {
        Datum::Null => "NULL".to_owned(),
        _ if is_bare => text,
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

pub(super) fn join(list: &mut String, name: &str, value: &str) {
    let comma = if list.is_empty() { "" } else { " and " };
    _ = write!(list, "{comma}{name} = {value}");
}
