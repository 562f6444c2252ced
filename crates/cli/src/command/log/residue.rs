//! Records that hold more than is known of their operation: counted by operation.

use std::collections::BTreeMap;

use extentdb_format::log::{Op, RecordRef};

/// Operations that are named in the summary; damage can invent many.
const OPS_NAMED: usize = 10;

/// Records and bytes of one operation.
#[derive(Clone, Copy, Default)]
struct Count {
    records: u64,
    bytes: u64,
}

/// What the records shown hold beyond what is known.
#[derive(Default)]
pub(super) struct Residues {
    by_op: BTreeMap<Op, Count>,
}

impl Residues {
    /// Counts a record, if it holds such bytes.
    pub(super) fn add(&mut self, record: &RecordRef<'_>) {
        let bytes = record.undecoded_bytes() as u64;
        if bytes > 0 {
            let count = self.by_op.entry(record.header().op).or_default();
            count.records += 1;
            count.bytes += bytes;
        }
    }

    /// One sentence for all; `None` when every record is as it is known.
    pub(super) fn summary(&self) -> Option<String> {
        if self.by_op.is_empty() {
            return None;
        }
        let records: u64 = self.by_op.values().map(|count| count.records).sum();
        let bytes: u64 = self.by_op.values().map(|count| count.bytes).sum();
        let named = self.by_op.iter().take(OPS_NAMED);
        let named: Vec<String> =
            named.map(|(op, count)| format!("{} {op} ({})", count.records, count.bytes)).collect();
        let more = self.by_op.len().saturating_sub(OPS_NAMED);
        let more = if more > 0 { format!(", and {more} more operations") } else { String::new() };
        Some(format!(
            "{records} records hold {bytes} bytes whose meaning is not known: {}{more}",
            named.join(", ")
        ))
    }
}
