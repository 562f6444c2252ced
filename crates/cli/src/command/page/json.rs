//! A page as JSON.
//!
//! ```text
//! {"file","page","page_type","style","is_allocated",
//!  "header":{field:value …}, "metadata":{…}, "protection":{"kind","is_intact",…},
//!  "allocation":[{"map","page","status"}], "faults":[{"slot","byte_offset","what"}],
//!  "slots":[offset …]            styles 1 and 3
//!  "records":[…] | "lob":[…] | "map":{…} | "fields":{…}    styles 1 and 3
//!  "hex"}                        style 2
//! ```

use extentdb_format::page::checksum::Protection;
use extentdb_format::page::{PageHeader, PageRef};
use serde_json::{Map, Value, json};

use super::columns::{ColumnShown, ShownValue};
use super::content::Content;
use super::fields::Fields;
use super::rows::RecordShown;
use super::{ShownPage, hex};

/// The whole document.
pub(super) fn document(shown: &ShownPage<'_>) -> Value {
    let mut document = json!({
        "file": shown.path.display().to_string(),
        "page": shown.id.to_string(),
        "page_type": PageHeader::of(shown.page).kind().name(),
        "style": shown.style,
        "is_allocated": shown.allocation.is_allocated,
        "header": object(&shown.header),
        "metadata": object(&shown.metadata),
        "protection": protection(shown.protection),
        "allocation": shown.allocation.maps.iter().map(|map| {
            json!({"map": map.map, "page": map.page.to_string(), "status": map.is_known.then_some(&map.status)})
        }).collect::<Vec<_>>(),
        "faults": shown.faults.iter().map(|fault| {
            json!({"slot": fault.slot, "byte_offset": fault.byte_offset, "what": fault.what})
        }).collect::<Vec<_>>(),
    });
    let Some(fields) = document.as_object_mut() else { return document };
    if matches!(shown.style, 1 | 3) {
        let offsets: Vec<u16> = PageRef::new(shown.page).slot_offsets().collect();
        fields.insert("slots".to_owned(), json!(offsets));
    }
    if shown.style == 2 {
        fields.insert("hex".to_owned(), json!(hex::word(&shown.raw[..])));
    }
    if let Some((name, content)) = content(&shown.content) {
        fields.insert(name.to_owned(), content);
    }
    document
}

fn object(fields: &Fields) -> Value {
    // DBCC explains two names in brackets; keys do without.
    let key = |name: &String| name.split(" (").next().unwrap_or(name).to_owned();
    Value::Object(fields.iter().map(|(name, value)| (key(name), value.clone())).collect())
}

fn protection(protection: Protection) -> Value {
    let is_intact = protection.is_intact();
    match protection {
        Protection::None => json!({"kind": "none", "is_intact": is_intact}),
        Protection::Checksum { stored, computed } => json!({
            "kind": "checksum", "is_intact": is_intact, "stored": stored, "computed": computed,
        }),
        Protection::Torn { signature, torn_sectors } => {
            let torn: Vec<u16> = (0..16).filter(|sector| torn_sectors >> sector & 1 == 1).collect();
            json!({"kind": "torn", "is_intact": is_intact, "signature": signature, "torn_sectors": torn})
        }
    }
}

fn content(content: &Content) -> Option<(&'static str, Value)> {
    Some(match content {
        Content::None => return None,
        Content::Slots(records) | Content::Rows(records) | Content::Entries(records) => {
            ("records", Value::Array(records.iter().map(record).collect()))
        }
        Content::Lob(records) => {
            let each = records.iter().map(|record| {
                json!({"slot": record.slot, "length": record.len, "kind": record.kind.0, "kind_name": record.kind.1,
                    "blob_id": record.blob_id, "content": record.json})
            });
            ("lob", Value::Array(each.collect()))
        }
        Content::Map { name, head, runs } => {
            let runs: Vec<Value> = runs
                .iter()
                .map(|run| json!({"from": run.first.to_string(), "to": run.last.to_string(), "status": run.status}))
                .collect();
            ("map", json!({"name": name, "head": object(head), "runs": runs}))
        }
        Content::Fields(_, fields) => ("fields", object(fields)),
    })
}

fn record(record: &RecordShown) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("slot", json!(record.slot));
    set("offset", json!(record.offset));
    set("length", json!(record.bytes.len()));
    set("kind", json!(record.kind));
    set("attributes", json!(record.attributes));
    if let Some(child) = record.child {
        set("child", json!(child.to_string()));
    }
    if let Some((name, rid)) = record.other_end {
        set(
            if name == "Forwarding to" { "forwarding_to" } else { "forwarded_from" },
            json!(rid.to_string()),
        );
    }
    match &record.columns {
        Some(columns) => set("columns", Value::Array(columns.iter().map(column).collect())),
        None => set("hex", json!(hex::word(&record.bytes))),
    };
    Value::Object(fields)
}

fn column(column: &ColumnShown) -> Value {
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("name", json!(column.name));
    set("id", json!(column.id));
    set("type", json!(column.ty));
    set("key", json!(column.is_key));
    set("offset", json!(column.offset));
    set("length", json!(column.physical_len));
    match &column.value {
        ShownValue::Null => set("value", Value::Null),
        ShownValue::Here(value, _) => set("value", value.clone()),
        ShownValue::Added(value, _) => {
            set("in_row", json!(false));
            set("value", value.clone())
        }
        ShownValue::Elsewhere(pointer, _) => set("off_row", pointer.clone()),
        ShownValue::Broken(why, bytes) => {
            set("fault", json!(why));
            set("hex", json!(hex::word(bytes)))
        }
    };
    Value::Object(fields)
}
