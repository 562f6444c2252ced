//! The records of a text page: parts of values, and the nodes that lead to them.

use extentdb_base::PageId;
use extentdb_format::PageBytes;
use extentdb_format::page::PageRef;
use extentdb_format::record::lob::{LobContent, LobRecord};
use serde_json::{Value, json};

use super::hex;

/// A record of a text page.
pub(super) struct LobShown {
    pub(super) slot: u16,
    /// Length in bytes.
    pub(super) len: usize,
    /// Kind number and name.
    pub(super) kind: (u16, &'static str),
    /// The id that all records of a value share.
    pub(super) blob_id: u64,
    /// Lines of text.
    pub(super) lines: Vec<String>,
    /// The same as JSON.
    pub(super) json: Value,
}

/// The records that can be read; the others are among the faults.
pub(super) fn of_page(page: &PageBytes, id: PageId) -> Vec<LobShown> {
    let view = PageRef::new(page);
    view.records().map(|(slot, bytes)| of_record(id, slot, LobRecord::parse(bytes))).collect()
}

fn of_record(id: PageId, slot: u16, record: LobRecord<'_>) -> LobShown {
    let len = record.len();
    let blob_id = record.blob_id();
    let kind = (record.kind(), kind_name(record.kind()));
    let title =
        format!("Blob row at: Page {id} Slot {slot} Length: {len} Type: {} ({})", kind.0, kind.1);
    let mut lines = vec![title, format!("Blob Id: {blob_id}")];
    let json = match record.content() {
        LobContent::Data(bytes) | LobContent::SmallRoot(bytes) => {
            lines.extend(hex::dump(bytes, 0).lines().map(str::to_owned));
            json!({"data": hex::word(bytes)})
        }
        LobContent::Links(node) => {
            lines.push(format!(
                "Level: {} MaxLinks: {} CurLinks: {}",
                node.level,
                node.links_max,
                node.len()
            ));
            let mut links = Vec::with_capacity(node.len());
            for (number, link) in node.links().enumerate() {
                let target = link.target;
                let end = link.end;
                lines.push(format!(
                    "Child {number} at Page {} Slot {} Size: {end}",
                    target.page, target.slot
                ));
                links.push(json!({"end": end, "rid": target.to_string()}));
            }
            json!({"level": node.level, "links_max": node.links_max, "links": links})
        }
        LobContent::Null => json!({"data": Value::Null}),
        LobContent::Unknown => json!({}),
    };
    LobShown { slot, len, kind, blob_id, lines, json }
}

/// The kinds as DBCC PAGE names them.
fn kind_name(kind: u16) -> &'static str {
    match kind {
        0 => "SMALL_ROOT",
        1 => "LARGE_ROOT",
        2 => "INTERNAL",
        3 => "DATA",
        4 => "LARGE_ROOT_SHILOH",
        5 => "LARGE_ROOT_YUKON",
        6 => "SUPER_LARGE_ROOT",
        8 => "NULL",
        _ => "unknown",
    }
}
