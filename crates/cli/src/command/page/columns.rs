//! The columns of one record, decoded by the catalog.

use std::borrow::Cow;

use extentdb_base::Rid;
use extentdb_catalog::layout::{Cell, Level, PhysicalColumn, cell};
use extentdb_catalog::model::AddedDefault;
use extentdb_format::record::Record;
use extentdb_format::record::compressed::{CdRecord, CiView, CompressedValue};
use extentdb_format::record::lob::{InlineRoot, LobPointer};
use extentdb_format::record::sparse::SparseVector;
use extentdb_types::json::write_json;
use extentdb_types::plain::write_plain;
use extentdb_types::{Datum, SqlType};
use serde_json::{Value, json};

use super::hex;
use super::names::Owner;

/// A column of a record.
pub(super) struct ColumnShown {
    /// What it is called.
    pub(super) name: String,
    /// Its number in the rowset.
    pub(super) id: i32,
    /// Its type as T-SQL writes it.
    pub(super) ty: String,
    /// Part of the physical key.
    pub(super) is_key: bool,
    /// First byte in the record, where the record has it.
    pub(super) offset: Option<usize>,
    /// Bytes in the record.
    pub(super) physical_len: usize,
    pub(super) value: ShownValue,
}

/// What there is of a value.
pub(super) enum ShownValue {
    Null,
    /// The row was written before the column was added; it reads as this.
    Added(Value, String),
    /// A value, as JSON and as text.
    Here(Value, String),
    /// It lies elsewhere: the pointer, as JSON and in lines.
    Elsewhere(Value, Vec<String>),
    /// The bytes are no value of the type.
    Broken(String, Vec<u8>),
}

/// A record of either format.
#[derive(Clone, Copy)]
pub(super) enum AnyRecord<'a> {
    /// Fixed part, null bitmap, variable part.
    Plain(Record<'a>),
    /// Column descriptors; with the compression information of its page.
    Compressed(CdRecord<'a>, Option<CiView<'a>>),
}

/// The columns that records of a level have, in record order.
pub(super) fn columns_of<'c>(owner: &Owner<'c>, level: Level) -> Vec<&'c PhysicalColumn> {
    let columns = owner.rowset.layout.columns.iter();
    match level {
        Level::Leaf => columns.collect(),
        Level::Interior => columns.filter(|column| column.interior.offset != 0).collect(),
    }
}

/// Takes all columns out of a record; `bytes` begin at it.
pub(super) fn decode(
    owner: &Owner<'_>,
    record: AnyRecord<'_>,
    bytes: &[u8],
    level: Level,
) -> Vec<ColumnShown> {
    let sparse = sparse_vector(record);
    let columns = columns_of(owner, level);
    columns
        .into_iter()
        .map(|column| decode_one(owner, record, bytes, level, column, sparse))
        .collect()
}

fn decode_one(
    owner: &Owner<'_>,
    record: AnyRecord<'_>,
    bytes: &[u8],
    level: Level,
    column: &PhysicalColumn,
    sparse: Option<SparseVector<'_>>,
) -> ColumnShown {
    let cell = if column.is_sparse() {
        Ok(sparse_cell(column, sparse))
    } else {
        match record {
            AnyRecord::Plain(record) => {
                cell(&record, column, level).map_err(|fault| fault.to_string())
            }
            AnyRecord::Compressed(record, ci) => compressed_cell(&record, ci.as_ref(), column),
        }
    };
    let (offset, physical_len) = match &cell {
        Ok(Cell::Bytes(Cow::Borrowed(inner)) | Cell::Complex(Cow::Borrowed(inner))) => {
            (offset_in(bytes, inner), inner.len())
        }
        Ok(Cell::Bit(_)) if matches!(record, AnyRecord::Plain(_)) => {
            (usize::try_from(column.leaf.offset).ok(), 1)
        }
        _ => (None, 0),
    };
    ColumnShown {
        name: owner.column_name(column),
        id: column.column_id,
        ty: column.ty.map_or_else(|| format!("unknown type {:#x}", column.ti), |ty| ty.to_string()),
        is_key: column.key_ordinal > 0,
        offset,
        physical_len,
        value: shown(owner, column, cell),
    }
}

fn shown(owner: &Owner<'_>, column: &PhysicalColumn, cell: Result<Cell<'_>, String>) -> ShownValue {
    match cell {
        Err(why) => ShownValue::Broken(why, Vec::new()),
        Ok(Cell::Null) => ShownValue::Null,
        Ok(Cell::Missing) => added(owner, column),
        Ok(Cell::Bit(bit)) => here(&Datum::Bit(bit)),
        Ok(Cell::Complex(bytes)) => {
            pointer(&bytes, column.ty.is_some_and(|ty| ty.may_have_text_pointer()))
        }
        Ok(Cell::Bytes(bytes)) if owner.is_heap_rid(column) => match <[u8; 8]>::try_from(&*bytes) {
            Ok(rid) => {
                let text = Rid::from_bytes(rid).to_string();
                ShownValue::Here(json!(text), text)
            }
            Err(_) => ShownValue::Broken("not a row id".to_owned(), bytes.into_owned()),
        },
        // An int of variable length is a uniquifier, in the table or in an index: 0 takes no bytes.
        Ok(Cell::Bytes(bytes)) if bytes.is_empty() && column.ty == Some(SqlType::Int) => {
            here(&Datum::Int(0))
        }
        Ok(Cell::Bytes(bytes)) => value(column.ty, &bytes),
    }
}

fn value(ty: Option<SqlType>, bytes: &[u8]) -> ShownValue {
    let Some(ty) = ty else {
        return ShownValue::Broken("a value of unknown type".to_owned(), bytes.to_vec());
    };
    match Datum::decode(&ty, bytes) {
        Ok(datum) => here(&datum),
        Err(error) => ShownValue::Broken(error.to_string(), bytes.to_vec()),
    }
}

fn here(datum: &Datum<'_>) -> ShownValue {
    let mut json = String::new();
    let mut text = String::new();
    // Writing to a string does not fail, and what could not be kept shows as U+FFFD.
    let _ = write_json(datum, &mut json);
    let _ = write_plain(datum, &mut text);
    // An unpaired surrogate is no JSON string for every reader; the text has a replacement for it.
    let json = serde_json::from_str(&json).unwrap_or_else(|_| json!(text));
    ShownValue::Here(json, text)
}

/// The value that a column has in rows that were written before it.
fn added(owner: &Owner<'_>, column: &PhysicalColumn) -> ShownValue {
    let shown = match owner.catalog.added_default(owner.rowset.id, column) {
        None => return ShownValue::Added(Value::Null, "NULL".to_owned()),
        Some(AddedDefault::Bytes(bytes)) => value(column.ty, bytes),
        Some(AddedDefault::Variant(bytes)) => match Datum::decode(&SqlType::SqlVariant, bytes) {
            Ok(Datum::Variant(variant)) => here(&variant.value),
            Ok(other) => here(&other),
            Err(error) => return ShownValue::Broken(error.to_string(), bytes.clone()),
        },
    };
    match shown {
        ShownValue::Here(json, text) => ShownValue::Added(json, text),
        other => other,
    }
}

fn sparse_vector(record: AnyRecord<'_>) -> Option<SparseVector<'_>> {
    let bytes = match record {
        AnyRecord::Plain(record) => record
            .vars()
            .find(|var| var.complex && SparseVector::is_one(var.bytes))
            .map(|var| var.bytes),
        AnyRecord::Compressed(record, _) => {
            record.extra_long().map(|(bytes, _)| bytes).find(|bytes| SparseVector::is_one(bytes))
        }
    };
    bytes.map(SparseVector::parse)
}

fn sparse_cell<'a>(column: &PhysicalColumn, vector: Option<SparseVector<'a>>) -> Cell<'a> {
    let id = u16::try_from(column.column_id).ok();
    match vector.zip(id).and_then(|(vector, id)| vector.value(id)) {
        None => Cell::Null,
        Some(var) if var.complex => Cell::Complex(Cow::Borrowed(var.bytes)),
        Some(var) => Cell::Bytes(Cow::Borrowed(var.bytes)),
    }
}

/// A column of a compressed record in the form of an uncompressed one.
fn compressed_cell<'a>(
    record: &CdRecord<'a>,
    ci: Option<&CiView<'a>>,
    column: &PhysicalColumn,
) -> Result<Cell<'a>, String> {
    let number = column.ordinal.checked_sub(1).and_then(|number| u16::try_from(number).ok());
    let Some((number, stored)) = number.and_then(|number| Some((number, record.column(number)?)))
    else {
        return Ok(Cell::Missing);
    };
    let value = match ci {
        Some(ci) => ci.resolve(number, stored),
        None => stored.plain(),
    };
    let value = value.map_err(|error| error.to_string())?;
    if let CompressedValue::Pointer(bytes) = value {
        return Ok(Cell::Complex(Cow::Borrowed(bytes)));
    }
    let Some(ty) = column.ty else { return Err(format!("unknown type {:#x}", column.ti)) };
    Ok(match value.decompress(&ty).map_err(|error| error.to_string())? {
        None => Cell::Null,
        Some(bytes) if ty.is_bit() => Cell::Bit(bytes.first().is_some_and(|byte| *byte != 0)),
        Some(bytes) => Cell::Bytes(bytes),
    })
}

fn pointer(bytes: &[u8], is_text: bool) -> ShownValue {
    match LobPointer::parse(bytes, is_text) {
        LobPointer::Text { blob_id, root } => {
            let json = json!({"pointer": "text", "blob_id": blob_id, "root": root.to_string()});
            ShownValue::Elsewhere(
                json,
                vec![format!("[Textpointer] Blob Id = {blob_id} RowId = {root}")],
            )
        }
        LobPointer::Inline(root) => inline(root),
        LobPointer::BackPointer(rid) => {
            let json = json!({"pointer": "forwarded from", "rid": rid.to_string()});
            ShownValue::Elsewhere(json, vec![format!("[Back pointer] Forwarded from = {rid}")])
        }
        LobPointer::SparseVector(bytes) => {
            let json = json!({"pointer": "sparse vector", "bytes": hex::word(bytes)});
            ShownValue::Elsewhere(json, vec![format!("[Sparse vector] {} bytes", bytes.len())])
        }
        LobPointer::Unknown(bytes) => {
            ShownValue::Broken("not a pointer that is known".to_owned(), bytes.to_vec())
        }
    }
}

fn inline(root: InlineRoot<'_>) -> ShownValue {
    let (name, kind) = if root.is_overflow() {
        ("Row-overflow", "row-overflow")
    } else {
        ("BLOB Inline Root", "inline root")
    };
    let blob_id = root.blob_id();
    let level = root.level();
    let sequence = root.update_sequence();
    let mut lines =
        vec![format!("[{name}] Level = {level} UpdateSeq = {sequence} Blob Id = {blob_id}")];
    let mut links = Vec::new();
    for (number, link) in root.links().enumerate() {
        lines.push(format!("Link {number} Size = {} RowId = {}", link.end, link.target));
        links.push(json!({"end": link.end, "rid": link.target.to_string()}));
    }
    let json = json!({"pointer": kind, "level": level, "update_sequence": sequence, "blob_id": blob_id, "links": links});
    ShownValue::Elsewhere(json, lines)
}

/// Where `inner`, a part of `outer`, begins in it.
fn offset_in(outer: &[u8], inner: &[u8]) -> Option<usize> {
    let offset = inner.as_ptr().addr().checked_sub(outer.as_ptr().addr())?;
    (!inner.is_empty() && offset + inner.len() <= outer.len()).then_some(offset)
}
