//! `_manifest.json`: what a folder of exported tables holds and where it came from.

use std::path::{Path, PathBuf};

use extentdb_reader::Database;
use serde_json::{Value, json};

use super::outcome::{ExportOutcome, Loss};
use super::select::SelectArgs;
use super::table::{Exported, Report};

/// Name of the file.
pub(super) const FILE_NAME: &str = "_manifest.json";

/// A table of the folder, or why it is not there.
pub(super) enum Entry {
    /// It was exported, at least in part.
    Exported {
        /// How it went.
        report: Report,
        file: String,
    },
    /// It cannot be exported.
    Skipped { name: String, why: String },
    /// The user stopped before its turn.
    NotReached { name: String },
}

impl Entry {
    fn is_complete(&self) -> bool {
        matches!(self, Entry::Exported { report, .. } if report.outcome.is_complete())
    }
}

/// What the manifest says about the export as a whole.
pub(super) struct Export<'a> {
    pub(super) database: &'a Database,
    pub(super) inputs: &'a [PathBuf],
    pub(super) format: &'static str,
    pub(super) select: &'a SelectArgs,
    /// Reasons that hold for all tables.
    pub(super) outcome: &'a ExportOutcome,
    pub(super) entries: &'a [Entry],
}

/// The whole file.
pub(super) fn manifest(export: &Export<'_>) -> Value {
    let boot = &export.database.catalog().boot;
    let entries = export.entries;
    let log = export.database.opened().restart().log.summary();
    json!({
        "tool": "extentdb",
        "version": env!("CARGO_PKG_VERSION"),
        "database": boot.name.to_string(),
        "database_version": boot.version,
        "inputs": export.inputs.iter().map(|path| input(path)).collect::<Vec<_>>(),
        "source_lsn": boot.checkpoint_lsn.to_string(),
        "format": export.format,
        "recovered_to_lsn": log.map(|log| log.end_lsn.to_string()),
        "selection": export.select.json(),
        "complete": export.outcome.is_complete() && entries.iter().all(Entry::is_complete),
        "incomplete_because": export.outcome.json(),
        "tables": entries.iter().filter_map(table).collect::<Vec<_>>(),
        "skipped": entries.iter().filter_map(skipped).collect::<Vec<_>>(),
    })
}

fn input(path: &Path) -> Value {
    // The file was open all the time: it is there.
    let bytes = extentdb_io::File::open_read(path).map(|file| file.len()).ok();
    json!({ "path": path.display().to_string(), "bytes": bytes })
}

fn table(entry: &Entry) -> Option<Value> {
    let Entry::Exported { report, file } = entry else { return None };
    let omitted = report
        .omitted
        .iter()
        .map(|omitted| json!({ "column": omitted.column, "why": omitted.why }));
    Some(json!({
        "schema": report.schema,
        "table": report.table,
        "file": file,
        "complete": report.outcome.is_complete(),
        "incomplete_because": report.outcome.json(),
        "rows": report.rows,
        "catalog_rows": report.catalog_rows,
        "unreadable": report.counts.unreadable,
        "absent_pages": report.counts.absent_pages,
        "absent_rows": report.counts.absent_rows,
        "refused_rows": report.counts.refused,
        "undecided_rows": report.counts.undecided,
        "columns": report.columns.iter().map(column).collect::<Vec<_>>(),
        "omitted_columns": omitted.collect::<Vec<_>>(),
        "bytes": report.bytes,
        "sha256": report.sha256,
    }))
}

fn column(column: &Exported) -> Value {
    let Loss { characters, times, values } = column.loss;
    json!({
        "name": column.name,
        "type": column.ty,
        "nullable": column.nullable,
        "replaced_characters": characters,
        "truncated_times": times,
        "lost_values": values,
    })
}

fn skipped(entry: &Entry) -> Option<Value> {
    match entry {
        Entry::Exported { .. } => None,
        Entry::Skipped { name, why } => Some(json!({ "table": name, "why": why })),
        Entry::NotReached { name } => Some(json!({ "table": name, "why": "interrupted" })),
    }
}
