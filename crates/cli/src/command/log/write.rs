//! Records and VLFs as lines of text or as a JSON array, one element on a line.

use std::io::{self, BufWriter, Write};

use extentdb_base::Lsn;
use extentdb_format::log::RecordRef;
use extentdb_format::log::dblog::{Column, columns};
use serde_json::{Map, Value};

use crate::output::Output;

/// The columns of the table, with their widths.
const TABLE: [(Column, usize); 7] = [
    (Column::CurrentLsn, 22),
    (Column::Operation, 22),
    (Column::Context, 20),
    (Column::TransactionId, 13),
    (Column::AllocUnitId, 19),
    (Column::PageId, 13),
    (Column::SlotId, 7),
];

/// Columns that the text leaves to JSON: they are long, or say little to people.
const ONLY_JSON: [Column; 17] = [
    Column::TagBits,
    Column::FixedLength,
    Column::RecordLength,
    Column::PreviousLsn,
    Column::FlagBits,
    Column::PreviousPageLsn,
    Column::PartitionId,
    Column::RowFlags,
    Column::NumElements,
    Column::TransactionSid,
    Column::RowLogContents0,
    Column::RowLogContents1,
    Column::RowLogContents2,
    Column::RowLogContents3,
    Column::RowLogContents4,
    Column::RowLogContents5,
    Column::LogRecord,
];

/// Columns that are numbers in JSON.
const NUMBERS: [Column; 15] = [
    Column::FixedLength,
    Column::RecordLength,
    Column::AllocUnitId,
    Column::SlotId,
    Column::PartitionId,
    Column::NumElements,
    Column::OffsetInRow,
    Column::ModifySize,
    Column::NumTransactions,
    Column::DirtyPages,
    Column::Spid,
    Column::NumberOfLocks,
    Column::ByteOffset,
    Column::RowsDeleted,
    Column::BytesFreed,
];

/// Writes one element after the other.
pub(super) struct Writer<'o> {
    to: BufWriter<&'o mut Output>,
    is_json: bool,
    written: u64,
}

impl<'o> Writer<'o> {
    pub(super) fn new(output: &'o mut Output, is_json: bool) -> Writer<'o> {
        Writer {
            to: BufWriter::with_capacity(1 << 16, output),
            is_json,
            written: 0,
        }
    }

    /// A log record.
    pub(super) fn record(&mut self, lsn: Lsn, record: &RecordRef<'_>) -> io::Result<()> {
        let columns = columns(lsn, record);
        if self.is_json {
            let element = columns
                .iter()
                .map(|(column, text)| (column.name().to_owned(), json_of(*column, text)));
            return self.json(&Value::Object(element.collect()));
        }
        if self.written == 0 {
            let names = TABLE.map(|(column, width)| format!("{:width$}", column.name()));
            self.line(&names.join("  "))?;
        }
        self.written += 1;
        let text = |wanted| {
            columns
                .iter()
                .find(|(column, _)| *column == wanted)
                .map_or("", |(_, text)| text.as_str())
        };
        let mut line = TABLE.map(|(column, width)| format!("{:width$}", text(column))).join("  ");
        for (column, text) in &columns {
            if !TABLE.iter().any(|(known, _)| known == column) && !ONLY_JSON.contains(column) {
                line += &format!("  [{}] {text}", column.name());
            }
        }
        self.line(&line)
    }

    /// A row of named columns; `head` is what stands above the first one.
    pub(super) fn row(
        &mut self,
        head: &str,
        line: &str,
        json: Map<String, Value>,
    ) -> io::Result<()> {
        if self.is_json {
            return self.json(&Value::Object(json));
        }
        if self.written == 0 {
            self.line(head)?;
        }
        self.written += 1;
        self.line(line)
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.to.write_all(line.trim_end().as_bytes())?;
        self.to.write_all(b"\n")
    }

    fn json(&mut self, element: &Value) -> io::Result<()> {
        self.to.write_all(if self.written == 0 { b"[\n" } else { b",\n" })?;
        self.written += 1;
        serde_json::to_writer(&mut self.to, element).map_err(io::Error::from)
    }

    /// Closes the document.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.is_json {
            self.to.write_all(if self.written == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        self.to.flush()
    }
}

fn json_of(column: Column, text: &str) -> Value {
    let number = NUMBERS.contains(&column).then(|| text.parse::<i64>().ok()).flatten();
    number.map_or_else(|| Value::from(text), Value::from)
}
