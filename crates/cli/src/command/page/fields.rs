//! The header by its fields, named as DBCC PAGE names them.

use extentdb_base::{Lsn, PageId};
use extentdb_format::page::PageHeader;
use serde_json::{Value, json};

use super::names::Owner;

/// Names and values in the order they are shown.
pub(super) type Fields = Vec<(String, Value)>;

/// Width of a field on a line of three, as DBCC prints them.
const FIELD_WIDTH: usize = 36;

/// The page header.
pub(super) fn header(header: &PageHeader) -> Fields {
    let xdes = header.xdes_id_bytes;
    let [x0, x1, x2, x3, h0, h1] = xdes;
    let xdes =
        format!("({}:{})", u16::from_le_bytes([h0, h1]), u32::from_le_bytes([x0, x1, x2, x3]));
    named([
        ("m_pageId", page(header.page_id())),
        ("m_headerVersion", json!(header.header_version)),
        ("m_type", json!(header.page_type)),
        ("m_typeFlagBits", json!(format!("{:#x}", header.type_flag_bits))),
        ("m_level", json!(header.level)),
        ("m_flagBits", json!(format!("{:#x}", header.flag_bits.get()))),
        ("m_objId (AllocUnitId.idObj)", json!(header.object_id.get())),
        ("m_indexId (AllocUnitId.idInd)", json!(header.index_id.get())),
        ("m_prevPage", page(header.prev())),
        ("m_nextPage", page(header.next())),
        ("pminlen", json!(header.fixed_len.get())),
        ("m_slotCnt", json!(header.slot_count.get())),
        ("m_freeCnt", json!(header.free_bytes.get())),
        ("m_freeData", json!(header.free_offset.get())),
        ("m_reservedCnt", json!(header.reserved_bytes.get())),
        ("m_lsn", lsn(header.lsn())),
        ("m_xactReserved", json!(header.xact_reserved.get())),
        ("m_xdesId", json!(xdes)),
        ("m_ghostRecCnt", json!(header.ghost_count.get())),
        ("m_tornBits", json!(header.checksum.get().cast_signed())),
    ])
}

/// Whose the page is: by its header alone, and by name where the catalog knows the unit.
pub(super) fn metadata(header: &PageHeader, owner: Option<&Owner<'_>>) -> Fields {
    let unit = owner.map_or(header.alloc_unit(), |owner| owner.unit.id);
    let mut fields = named([("AllocUnitId", json!(unit.0))]);
    let Some(owner) = owner else { return fields };
    fields.extend(named([
        ("PartitionId", json!(owner.rowset.id.0)),
        ("IndexId", json!(owner.rowset.index.0)),
        ("ObjectId", json!(owner.rowset.object.0)),
        ("Type", json!(owner.unit.kind.name())),
    ]));
    if let Some(table) = owner.table {
        fields.extend(named([("Object", json!(table.full_name()))]));
    }
    if let Some(name) = owner.index.and_then(|index| index.name.as_deref()) {
        fields.extend(named([("Index", json!(name))]));
    }
    fields
}

fn named<const N: usize>(fields: [(&str, Value); N]) -> Fields {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A page as a value.
pub(super) fn page(page: PageId) -> Value {
    json!(page.to_string())
}

/// An LSN as DBCC PAGE prints it, in decimal: `(48:57:12)`.
pub(super) fn lsn(lsn: Lsn) -> Value {
    json!(format!("({}:{}:{})", lsn.vlf, lsn.block, lsn.slot))
}

/// A value without the quotes of JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "NULL".to_owned(),
        other => other.to_string(),
    }
}

/// `name = value`, three on a line.
pub(super) fn lines(fields: &[(String, Value)], prefix: &str) -> String {
    let words = fields.iter().map(|(name, value)| format!("{prefix}{name} = {}", plain(value)));
    in_columns(words)
}

/// Texts in columns, three on a line; a text that is too wide takes two.
pub(super) fn in_columns(words: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in words {
        let width = word.chars().count();
        let cells = width / FIELD_WIDTH + 1;
        if column > 0 && column + cells > 3 {
            trim_line(&mut out);
            column = 0;
        }
        out += &word;
        out += &" ".repeat(cells * FIELD_WIDTH - width);
        column += cells;
    }
    if column > 0 {
        trim_line(&mut out);
    }
    out
}

fn trim_line(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
}
