//! The export of one table, and what there is to say about it afterwards.

use std::io::{self, Write};

use anyhow::Context as _;
use extentdb_catalog::{Fault, Table};
use extentdb_reader::{CheckedPages, Database, Row, ScanError, TableScan};

use super::Format;
use super::counted::Counted;
use super::encode::why_left_out;
use super::sink::Stop;
use super::source::WatchedSource;
use crate::context::Context;
use crate::exit::{Exit, chain};
use crate::progress::Progress;

/// What exporting any table of a database takes.
pub(super) struct TableExport<'a> {
    pub(super) context: &'a Context,
    pub(super) database: &'a Database,
    pub(super) source: &'a WatchedSource<'a>,
    pub(super) progress: &'a Progress,
    pub(super) format: Format,
}

/// A column that the export does not have.
pub(super) struct Omitted {
    pub(super) column: String,
    pub(super) why: &'static str,
}

/// How the export of a table went.
pub(super) struct Report {
    pub(super) schema: String,
    pub(super) table: String,
    /// Rows written.
    pub(super) rows: u64,
    /// Rows by the catalogue's count.
    pub(super) catalog_rows: i64,
    /// False when the catalogue may have counted before the last changes.
    pub(super) has_current_counts: bool,
    /// Places that could not be read: rows, or pages with the rows on them.
    pub(super) unreadable: u64,
    /// Characters replaced by U+FFFD, and values without a literal.
    pub(super) lost: u64,
    pub(super) omitted: Vec<Omitted>,
    pub(super) bytes: u64,
    pub(super) sha256: Option<String>,
    /// The user stopped the scan.
    pub(super) interrupted: bool,
}

/// Takes the rows of one table in one format.
pub(super) trait RowWriter {
    /// Writes a row, the `number`th from 1, or leaves no trace of it.
    fn write_row(&mut self, row: &Row<'_>, number: u64) -> Result<(), Stop>;

    /// Ends the output. Of a table that was not read to its end, what is there is kept.
    fn finish(self: Box<Self>, rows: u64, is_complete: bool) -> io::Result<Written>;
}

/// What a [`RowWriter`] wrote.
pub(super) struct Written {
    pub(super) bytes: u64,
    /// When it was asked for.
    pub(super) sha256: Option<String>,
    /// Characters replaced by U+FFFD, and values the format cannot hold.
    pub(super) lost: u64,
}

/// Where a scan stands.
struct Counts {
    rows: u64,
    unreadable: u64,
    interrupted: bool,
}

impl TableExport<'_> {
    /// Writes all rows of `table` to `out`, with their hash when it is wanted.
    ///
    /// # Errors
    /// The table cannot be scanned ([`ScanError`]), or the output cannot be written.
    pub(super) fn run(
        &self,
        table: &Table,
        out: &mut (dyn Write + Send),
        is_hashed: bool,
    ) -> anyhow::Result<Report> {
        let catalog = self.database.catalog();
        let pages = CheckedPages::new(self.source);
        let mut scan = TableScan::new(&pages, catalog, table)?;
        let omitted = self.omitted(table, &scan);
        let out = Counted::new(out, is_hashed);
        let mut writer = self.format.writer(table, scan.columns(), &self.context.interrupt, out)?;
        let failed = "the result could not be written";
        let counts = self.rows(table, &mut scan, &mut *writer).context(failed)?;
        let written = writer.finish(counts.rows, !counts.interrupted).context(failed)?;
        Ok(Report {
            schema: table.schema.clone(),
            table: table.name.clone(),
            rows: counts.rows,
            catalog_rows: catalog.row_count(table),
            has_current_counts: self.database.has_current_counts(),
            unreadable: counts.unreadable,
            lost: written.lost,
            omitted,
            bytes: written.bytes,
            sha256: written.sha256,
            interrupted: counts.interrupted,
        })
    }

    fn rows(
        &self,
        table: &Table,
        scan: &mut TableScan<'_>,
        writer: &mut dyn RowWriter,
    ) -> io::Result<Counts> {
        let mut counts = Counts { rows: 0, unreadable: 0, interrupted: false };
        while let Some(row) = scan.next_row() {
            let result = match row {
                Ok(row) => writer.write_row(&row, counts.rows + 1).map_err(|stop| (stop, Some(row.rid))),
                Err(fault) => Err((Stop::Fault(fault), None)),
            };
            counts.interrupted = self.context.interrupt.stopped().is_some();
            match result {
                Ok(()) => {
                    counts.rows += 1;
                    self.progress.add(1, 0);
                }
                Err((Stop::Io(error), _)) => return Err(error),
                // Once the user wants to stop, pages are withheld: faults mean nothing any more.
                Err(_) if counts.interrupted => {}
                Err((Stop::Fault(fault), rid)) => {
                    counts.unreadable += 1;
                    self.unreadable(table, rid, &fault);
                }
                Err((Stop::TooLong | Stop::Interrupted, _)) => counts.interrupted = true,
            }
            if counts.interrupted {
                break;
            }
        }
        counts.interrupted |= self.context.interrupt.stopped().is_some();
        Ok(counts)
    }

    fn unreadable(&self, table: &Table, row: Option<extentdb_base::Rid>, fault: &Fault) {
        let place = row.map(|rid| format!(", row {rid}")).unwrap_or_default();
        self.context.warn(&format!("{}{place}: cannot be read: {}", table.full_name(), chain(fault)));
    }

    fn omitted(&self, table: &Table, scan: &TableScan<'_>) -> Vec<Omitted> {
        let is_scanned = |id: i32| scan.columns().iter().any(|column| column.id == id);
        let why = |column: &extentdb_catalog::Column| match is_scanned(column.id) {
            true => why_left_out(self.format, column),
            false if column.column_set => Some("column set: its values are those of the sparse columns"),
            false => Some("computed, not stored"),
        };
        let omitted = table.columns.iter().filter_map(|column| Some((column, why(column)?)));
        omitted.map(|(column, why)| Omitted { column: column.name.clone(), why }).collect()
    }
}

impl Report {
    /// `schema.table`.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }

    /// True when the scan came to its end.
    pub(super) fn is_complete(&self) -> bool {
        !self.interrupted
    }

    fn differs(&self) -> bool {
        self.has_current_counts && i64::try_from(self.rows) != Ok(self.catalog_rows)
    }

    /// How the command ends if this was all.
    pub(super) fn exit(&self, context: &Context) -> Exit {
        if self.interrupted {
            return context.interrupt.stopped().unwrap_or(Exit::Incomplete);
        }
        if self.unreadable > 0 || self.differs() { Exit::Found } else { Exit::Done }
    }

    /// Says what the rows do not.
    pub(super) fn tell(&self, context: &Context) {
        let name = self.name();
        for Omitted { column, why } in &self.omitted {
            context.note(&format!("{name}: column {column} is left out ({why})"));
        }
        if self.lost > 0 {
            context.warn(&format!(
                "{name}: {} characters or values could not be written as they are",
                self.lost
            ));
        }
        if self.unreadable > 0 {
            context.warn(&format!(
                "{name}: {} places could not be read; their rows are missing",
                self.unreadable
            ));
        }
        if self.interrupted {
            context.warn(&format!("{name}: interrupted after {} rows: incomplete", self.rows));
        } else if self.differs() {
            context.warn(&format!(
                "{name}: {} rows were read, the catalogue says {}",
                self.rows, self.catalog_rows
            ));
        }
    }
}

/// True when a table is stored in a way that cannot be scanned, which is not the fault of the file.
pub(super) fn is_unsupported(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ScanError>().is_some()
}
