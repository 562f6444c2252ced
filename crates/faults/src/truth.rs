//! The record of a fault, which a check is compared with.

use extentdb_base::size::PAGE_BYTES;
use extentdb_base::{AllocUnitId, FileId, IndexId, ObjectId, PageId};
use extentdb_format::{PageBuf, PageBytes};
use serde_json::{Value, json};

use crate::Error;
use crate::fault::Fault;
use crate::fault::Repair;
use crate::image::Image;
use crate::kind::Kind;

/// Differences closer than this are one change.
const GAP_BYTES: usize = 8;

/// Bytes of a file that were replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The data file.
    pub file: FileId,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// The bytes before the fault.
    pub before: Vec<u8>,
    /// The bytes after the fault.
    pub after: Vec<u8>,
}

/// A fault, what it changed, and what a check says about it.
///
/// A check passes when every number of `expected` is reported, one of `any_of` unless that is
/// empty, and nothing that is in none of the three lists. With PHYSICAL_ONLY and NOINDEX the lists
/// of that option replace the first two.
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
    /// The key of that row, if it can be decoded.
    pub key: Option<String>,
    /// The table; 0 for none.
    pub object_id: ObjectId,
    /// The index of the table.
    pub index_id: Option<IndexId>,
    /// The allocation unit.
    pub alloc_unit_id: Option<AllocUnitId>,
    /// What was changed.
    pub changes: Vec<Change>,
    /// The file and its length in bytes after truncation.
    pub truncated_to: Option<u64>,
    /// Numbers of the messages that a full check must report; none for a fault that no check can
    /// see.
    pub expected: Vec<u32>,
    /// What PHYSICAL_ONLY must report.
    pub expected_physical: Vec<u32>,
    /// What NOINDEX must report.
    pub expected_no_index: Vec<u32>,
    /// At least one of these is reported, unless there are none.
    pub any_of: Vec<u32>,
    /// The counterpart of `any_of` with PHYSICAL_ONLY.
    pub any_of_physical: Vec<u32>,
    /// The counterpart of `any_of` with NOINDEX.
    pub any_of_no_index: Vec<u32>,
    /// Numbers of further messages that a check may report.
    pub permitted: Vec<u32>,
    /// The mildest repair, by the catalog of faults.
    pub repair: Repair,
}

impl Truth {
    /// The truth file: one JSON object.
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
            "any_of": self.any_of,
            "expected_physical": self.expected_physical,
            "any_of_physical": self.any_of_physical,
            "expected_no_index": self.expected_no_index,
            "any_of_no_index": self.any_of_no_index,
            "repair": self.repair.name(),
            "rows": self.kind.rows(),
            "group": self.kind.group(),
            "index_id": self.index_id.map(|index| index.0),
            "alloc_unit_id": self.alloc_unit_id.map(|unit| unit.0),
            "key": self.key,
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
pub(crate) fn of(image: &Image, kind: Kind, seed: u64, fault: &Fault) -> Result<Truth, Error> {
    Ok(Truth {
        seed,
        kind,
        page: fault.page,
        slot: fault.slot,
        key: fault.key.clone(),
        object_id: fault.owner.object,
        index_id: fault.owner.index,
        alloc_unit_id: fault.owner.unit,
        changes: changes(image, &fault.images)?,
        truncated_to: fault.truncate.map(|it| it.bytes),
        expected: fault.expected.clone(),
        expected_physical: fault.with_physical_only(&fault.expected),
        expected_no_index: fault.with_no_index(&fault.expected),
        any_of: fault.any_of.clone(),
        any_of_physical: fault.with_physical_only(&fault.any_of),
        any_of_no_index: fault.with_no_index(&fault.any_of),
        permitted: fault.only_permitted(),
        repair: repair(kind, fault),
    })
}

/// The repair of the catalog of faults. It assumes that a truncated file ends in a table: an index
/// can be rebuilt.
fn repair(kind: Kind, fault: &Fault) -> Repair {
    match (kind, fault.owner.index) {
        (Kind::TruncatedFile, Some(index)) if index.0 > 1 => Repair::Rebuild,
        _ => kind.repair(),
    }
}

/// The differences between stored pages and their new images.
pub(crate) fn changes(image: &Image, images: &[(PageId, PageBuf)]) -> Result<Vec<Change>, Error> {
    let mut changes = Vec::new();
    let mut before = PageBuf::zeroed();
    for (page, after) in images {
        image.raw(*page, &mut before).map_err(|source| Error::Page { page: *page, source })?;
        changes.extend(differences(*page, &before, after));
    }
    Ok(changes)
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
