//! `--vlfs`: the VLFs of a log as DBCC LOGINFO lists them.

use std::error::Error as StdError;

use extentdb_base::FileId;
use extentdb_format::log::loginfo::{LogInfoRow, rows};
use extentdb_format::log::{LogBytes, LogReader};
use serde_json::{Map, Value};

use super::write::Writer;

/// Widths of the columns of text.
const WIDTHS: [usize; 8] = [14, 6, 12, 14, 8, 6, 6, 25];

/// Writes the VLFs. Which are active follows from the last checkpoint, so the log is read through.
pub(super) fn write<S: LogBytes>(
    file: FileId,
    reader: &LogReader<S>,
    writer: &mut Writer<'_>,
) -> anyhow::Result<()>
where
    S::Error: StdError + Send + Sync + 'static,
{
    let summary = reader.summary()?;
    let minimum = summary.last_checkpoint.map(|(_, checkpoint)| checkpoint.minimum);
    let head = in_columns(LogInfoRow::COLUMNS.map(str::to_owned));
    for row in rows(reader.map(), file, minimum) {
        writer.row(&head, &in_columns(row.to_text()), json(&row))?;
    }
    Ok(())
}

fn in_columns(cells: [String; 8]) -> String {
    let cells: Vec<String> =
        cells.iter().zip(WIDTHS).map(|(cell, width)| format!("{cell:width$}")).collect();
    cells.join("  ")
}

fn json(row: &LogInfoRow) -> Map<String, Value> {
    let values: [Value; 8] = [
        row.recovery_unit_id.into(),
        row.file_id.0.into(),
        row.file_size.into(),
        row.start_offset.into(),
        row.sequence.into(),
        row.status.into(),
        row.parity.into(),
        // More digits than a JSON number keeps everywhere.
        row.create_lsn.to_decimal().to_string().into(),
    ];
    LogInfoRow::COLUMNS.map(str::to_owned).into_iter().zip(values).collect()
}
