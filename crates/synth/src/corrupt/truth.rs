//! What a fault did, for whoever judges a check.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{FileId, ObjectId, PageId};
use extentdb_format::{PageBuf, PageBytes};
use serde_json::{Value, json};

use super::{Fault, Kind};
use crate::Error;
use crate::image::Image;

/// Differences closer than this are one change.
const GAP_BYTES: usize = 8;

/// Bytes of a file that were replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// File.
    pub file: FileId,
    /// First byte, from the start of the file.
    pub offset: u64,
    /// As they were.
    pub before: Vec<u8>,
    /// As they are.
    pub after: Vec<u8>,
}

/// A fault, what it changed, and what a check says about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Truth {
    /// The seed it was made from.
    pub seed: u64,
    /// What kind of fault it is.
    pub kind: Kind,
    /// The page it is in.
    pub page: PageId,
    /// The slot, when it is about a row.
    pub slot: Option<u16>,
    /// The table.
    pub object_id: ObjectId,
    /// What was changed.
    pub changes: Vec<Change>,
    /// The file was cut to so many bytes.
    pub truncated_to: Option<u64>,
    /// Numbers of the messages that a check must report.
    pub expected: Vec<u32>,
    /// Numbers of further messages that a check may report.
    pub permitted: Vec<u32>,
}

impl Truth {
    /// The truth file.
    pub fn to_json(&self) -> Value {
        let change = |change: &Change| {
            json!({
                "offset": change.offset,
                "before": hex(&change.before),
                "after": hex(&change.after),
            })
        };
        let mut out = json!({
            "seed": self.seed,
            "kind": self.kind.name(),
            "file": self.page.file.0,
            "page": self.page.page,
            "slot": self.slot,
            "object_id": self.object_id.0,
            "changes": self.changes.iter().map(change).collect::<Vec<_>>(),
            "expected": self.expected,
            "permitted": self.permitted,
        });
        if let (Some(bytes), Some(fields)) = (self.truncated_to, out.as_object_mut()) {
            fields.insert("truncated_to".to_owned(), json!(bytes));
        }
        out
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The truth about a fault, from the images before and after.
pub(super) fn of(image: &Image, kind: Kind, seed: u64, fault: &Fault) -> Result<Truth, Error> {
    let mut changes = Vec::new();
    let mut before = PageBuf::zeroed();
    for (page, after) in &fault.images {
        image.raw(*page, &mut before).map_err(|source| Error::Page { page: *page, source })?;
        changes.extend(differences(*page, &before, after));
    }
    Ok(Truth {
        seed,
        kind,
        page: fault.page,
        slot: fault.slot,
        object_id: fault.object,
        changes,
        truncated_to: fault.truncate.map(|(_, bytes)| bytes),
        expected: fault.expected.clone(),
        permitted: fault.permitted.clone(),
    })
}

fn differences(page: PageId, before: &PageBytes, after: &PageBytes) -> Vec<Change> {
    let base = u64::from(page.page) * PAGE_BYTES as u64;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for at in (0..PAGE_BYTES).filter(|at| before[*at] != after[*at]) {
        match runs.last_mut() {
            Some((_, end)) if at < *end + GAP_BYTES => *end = at + 1,
            _ => runs.push((at, at + 1)),
        }
    }
    let change = |(start, end): (usize, usize)| Change {
        file: page.file,
        offset: base + start as u64,
        before: before[start..end].to_vec(),
        after: after[start..end].to_vec(),
    };
    runs.into_iter().map(change).collect()
}
