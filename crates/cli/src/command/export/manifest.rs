//! `_manifest.json`: what a folder of exported tables holds and where it came from.

use std::path::{Path, PathBuf};

use extentdb_reader::Database;
use serde_json::{Value, json};

use super::table::Report;
use crate::context::doubt;

/// Name of the file.
pub(super) const FILE_NAME: &str = "_manifest.json";

/// A table of the folder, or why it is not there.
pub(super) enum Entry {
    /// It was exported, at least in part.
    Exported {
        /// How it went.
        report: Report,
        /// Its file.
        file: String,
    },
    /// It cannot be exported.
    Skipped {
        /// The table.
        name: String,
        /// Why.
        why: String,
    },
    /// The user stopped before its turn.
    NotReached {
        /// The table.
        name: String,
    },
}

impl Entry {
    fn is_complete(&self) -> bool {
        matches!(self, Entry::Exported { report, .. } if report.is_complete())
    }
}

/// The whole file.
pub(super) fn manifest(database: &Database, inputs: &[PathBuf], extension: &str, entries: &[Entry]) -> Value {
    let boot = &database.catalog().boot;
    let doubt = doubt(database);
    let replayed_to = database.opened().restart().log.summary().map(|log| log.end_lsn.to_string());
    json!({
        "tool": "extentdb",
        "version": env!("CARGO_PKG_VERSION"),
        "database": boot.name.to_string(),
        "database_version": boot.version,
        "inputs": inputs.iter().map(|path| input(path)).collect::<Vec<_>>(),
        "source_lsn": boot.checkpoint_lsn.to_string(),
        "format": extension,
        "recovered_to_lsn": replayed_to,
        "complete": doubt.is_none() && entries.iter().all(Entry::is_complete),
        "incomplete_because": doubt,
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
    let omitted =
        report.omitted.iter().map(|omitted| json!({ "column": omitted.column, "why": omitted.why }));
    Some(json!({
        "schema": report.schema,
        "table": report.table,
        "file": file,
        "complete": report.is_complete(),
        "rows": report.rows,
        "catalog_rows": report.catalog_rows,
        "unreadable": report.unreadable,
        "replaced": report.lost,
        "omitted_columns": omitted.collect::<Vec<_>>(),
        "bytes": report.bytes,
        "sha256": report.sha256,
    }))
}

fn skipped(entry: &Entry) -> Option<Value> {
    match entry {
        Entry::Exported { .. } => None,
        Entry::Skipped { name, why } => Some(json!({ "table": name, "why": why })),
        Entry::NotReached { name } => Some(json!({ "table": name, "why": "interrupted" })),
    }
}
