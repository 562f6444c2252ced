//! The export of one table, and what there is to say about it afterwards.

use std::io::{self, Write};

use anyhow::Context as _;
use extentdb_base::Rid;
use extentdb_catalog::{Column, Fault, Table};
use extentdb_expr::Batch;
use extentdb_reader::{CheckedPages, Database, Row, ScanError, TableScan};

use super::counted::Counted;
use super::encode::why_left_out;
use super::formula::NoResult;
use super::head::ColumnHead;
use super::outcome::{ExportOutcome, Loss, Reason};
use super::select::{OutputRow, SelectArgs, Selection};
use super::sink::RowStop;
use super::source::WatchedSource;
use super::style::Style;
use crate::context::Context;
use crate::exit::{Exit, chain};
use crate::names::quoted;
use crate::progress::Progress;

/// Rows and pages of a table that are named on stderr when something is wrong with them; the others
/// are counted.
const NAMED_MAX: u64 = 10;

/// What exporting any table of a database takes.
pub(super) struct TableExport<'a> {
    pub(super) context: &'a Context,
    pub(super) database: &'a Database,
    pub(super) source: &'a WatchedSource<'a>,
    pub(super) progress: &'a Progress,
    pub(super) style: &'a Style,
    pub(super) select: &'a SelectArgs,
}

/// A table and what of it is wanted.
pub(super) struct Wanted<'c> {
    pub(super) table: &'c Table,
    pub(super) selection: Selection<'c>,
}

impl<'c> Wanted<'c> {
    /// # Errors
    /// The table has no such column, or the condition cannot be evaluated for it.
    pub(super) fn new(
        table: &'c Table,
        select: &SelectArgs,
        database: &Database,
    ) -> anyhow::Result<Wanted<'c>> {
        let selection = Selection::new(select, table, database.catalog())?;
        Ok(Wanted { table, selection })
    }
}

/// A column that the export has.
pub(super) struct Exported {
    pub(super) name: String,
    /// As CREATE TABLE names it.
    pub(super) ty: String,
    pub(super) nullable: bool,
    pub(super) loss: Loss,
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
    pub(super) rows: u64,
    /// Rows by the catalog's count.
    pub(super) catalog_rows: i64,
    pub(super) counts: Counts,
    pub(super) columns: Vec<Exported>,
    pub(super) omitted: Vec<Omitted>,
    pub(super) bytes: u64,
    pub(super) sha256: Option<String>,
    /// Why it is not all that was asked for.
    pub(super) outcome: ExportOutcome,
}

/// Takes the rows of one table in one format.
pub(super) trait RowWriter {
    /// Writes a row, the `number`th from 1, or leaves no trace of it.
    fn write_row(&mut self, row: &OutputRow<'_, '_>, number: u64) -> Result<(), RowStop>;

    /// Ends the output. Of a table that was not read to its end, what is there is kept.
    fn finish(self: Box<Self>, rows: u64, is_complete: bool) -> io::Result<WrittenTable>;
}

/// What a [`RowWriter`] wrote.
pub(super) struct WrittenTable {
    pub(super) bytes: u64,
    /// When it was asked for.
    pub(super) sha256: Option<String>,
    /// What each column of the selection lost.
    pub(super) losses: Vec<Loss>,
}

/// What became of the rows of a scan.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) rows: u64,
    /// Damaged rows, and pages with the rows on them.
    pub(super) unreadable: u64,
    /// Pages that are not there.
    pub(super) absent_pages: u64,
    /// Rows of which a part is not there.
    pub(super) absent_rows: u64,
    /// Rows that cannot be written because of `--surrogates`.
    pub(super) refused: u64,
    /// Rows that `--where` or a computed column cannot be evaluated for.
    pub(super) undecided: u64,
    interrupted: bool,
}

/// Why a row was not written.
enum Left {
    Stop(RowStop),
    Undecided(extentdb_expr::EvalError),
}

impl From<RowStop> for Left {
    fn from(stop: RowStop) -> Left {
        Left::Stop(stop)
    }
}

impl From<NoResult> for Left {
    fn from(why: NoResult) -> Left {
        match why {
            NoResult::Stop(stop) => Left::Stop(stop),
            NoResult::Undecided(error) => Left::Undecided(error),
        }
    }
}

impl TableExport<'_> {
    /// Writes the wanted rows of a table to `out`, with their hash when it is wanted.
    ///
    /// # Errors
    /// The table cannot be scanned ([`ScanError`]), or the output cannot be written.
    pub(super) fn run(
        &self,
        wanted: &Wanted<'_>,
        out: &mut (dyn Write + Send),
        is_hashed: bool,
    ) -> anyhow::Result<Report> {
        let table = wanted.table;
        let catalog = self.database.catalog();
        let pages = CheckedPages::new(self.source);
        let mut scan = TableScan::new(&pages, catalog, table)?;
        let selected = wanted.selection.columns();
        let out = Counted::new(out, is_hashed);
        let heads: Vec<ColumnHead> = selected.iter().map(|column| ColumnHead::of(column)).collect();
        let target = quoted(&table.schema, &table.name);
        let mut writer = self.style.writer(&target, &heads, &self.context.interrupt, out)?;
        let failed = "the result could not be written";
        let counts = self.rows(wanted, &mut scan, &mut *writer).context(failed)?;
        let written = writer.finish(counts.rows, !counts.interrupted).context(failed)?;
        let columns = self.exported(&selected, &written.losses);
        let catalog_rows = catalog.row_count(table);
        Ok(Report {
            schema: table.schema.clone(),
            table: table.name.clone(),
            rows: counts.rows,
            catalog_rows,
            outcome: self.outcome(&counts, &columns, catalog_rows),
            counts,
            columns,
            omitted: self.omitted(table, &selected),
            bytes: written.bytes,
            sha256: written.sha256,
        })
    }

    fn rows(
        &self,
        wanted: &Wanted<'_>,
        scan: &mut TableScan<'_>,
        writer: &mut dyn RowWriter,
    ) -> io::Result<Counts> {
        let mut counts = Counts::default();
        let mut batch = Batch::new();
        while wanted.selection.limit.is_none_or(|limit| counts.rows < limit) {
            let Some(row) = scan.next_row() else { break };
            let result = match &row {
                Ok(row) => one_row(&wanted.selection, row, &mut batch, writer, counts.rows + 1)
                    .map_err(|left| (left, Some(row.rid))),
                Err(_) => Ok(false),
            };
            let result = match row {
                Err(fault) => Err((Left::Stop(RowStop::Fault(fault)), None)),
                Ok(_) => result,
            };
            counts.interrupted = self.context.interrupt.stopped().is_some();
            match result {
                Ok(is_written) => {
                    counts.rows += u64::from(is_written);
                    self.progress.add(1, 0);
                }
                Err((Left::Stop(RowStop::Io(error)), _)) => return Err(error),
                // Once the user wants to stop, pages are withheld: faults mean nothing any more.
                Err(_) if counts.interrupted => {}
                Err((left, rid)) => self.left_out(wanted.table, left, rid, &mut counts),
            }
            if counts.interrupted {
                break;
            }
        }
        counts.absent_pages = scan.absent_pages();
        counts.interrupted |= self.context.interrupt.stopped().is_some();
        Ok(counts)
    }

    /// Counts a row that is not written, or a page that cannot be read, and names the first ones.
    fn left_out(&self, table: &Table, left: Left, rid: Option<Rid>, counts: &mut Counts) {
        let (counter, what) = match left {
            Left::Stop(RowStop::Fault(fault)) => {
                let what = format!("cannot be read: {}", chain(&fault));
                match (fault.is_damage() || matches!(fault, Fault::Catalog(_)), rid) {
                    (true, _) => (&mut counts.unreadable, what),
                    (false, Some(_)) => (&mut counts.absent_rows, what),
                    // The scan counts them; here they are only named.
                    (false, None) => (&mut counts.absent_pages, what),
                }
            }
            Left::Stop(RowStop::Refused { unit }) => (
                &mut counts.refused,
                format!("left out: it holds the unpaired surrogate U+{unit:04X}"),
            ),
            Left::Undecided(error) => (
                &mut counts.undecided,
                format!("left out: an expression cannot be evaluated: {error}"),
            ),
            Left::Stop(RowStop::TooLong | RowStop::Interrupted | RowStop::Io(_)) => {
                counts.interrupted = true;
                return;
            }
        };
        *counter += 1;
        let place = rid.map(|rid| format!(", row {rid}")).unwrap_or_default();
        match *counter {
            0..=NAMED_MAX => self.context.warn(&format!("{}{place}: {what}", table.full_name())),
            counted if counted == NAMED_MAX + 1 => {
                self.context
                    .warn(&format!("{}: more of these are counted only", table.full_name()));
            }
            _ => {}
        }
    }

    fn exported(&self, selected: &[&Column], losses: &[Loss]) -> Vec<Exported> {
        let is_written =
            |column: &Column| why_left_out(self.style.format, &ColumnHead::of(column)).is_none();
        let columns = selected.iter().zip(losses).filter(|(column, _)| is_written(column));
        let exported = |(column, loss): (&&Column, &Loss)| Exported {
            name: column.name.clone(),
            ty: column
                .ty
                .map_or_else(|| format!("unknown type {}", column.xtype), |ty| ty.to_string()),
            nullable: column.nullable,
            loss: *loss,
        };
        columns.map(exported).collect()
    }

    fn omitted(&self, table: &Table, selected: &[&Column]) -> Vec<Omitted> {
        let is_selected = |id: i32| selected.iter().any(|column| column.id == id);
        let why = |column: &Column| {
            if is_selected(column.id) {
                return why_left_out(self.style.format, &ColumnHead::of(column));
            }
            if !self.select.takes_all_columns() {
                return None;
            }
            let column_set = "column set: its values are those of the sparse columns";
            Some(if column.column_set { column_set } else { "computed, not stored" })
        };
        let omitted = table.columns.iter().filter_map(|column| Some((column, why(column)?)));
        omitted.map(|(column, why)| Omitted { column: column.name.clone(), why }).collect()
    }

    fn outcome(&self, counts: &Counts, columns: &[Exported], catalog_rows: i64) -> ExportOutcome {
        let mut outcome = ExportOutcome::default();
        if counts.interrupted {
            let exit = self.context.interrupt.stopped().unwrap_or(Exit::Incomplete);
            outcome.add(Reason::Interrupted { exit, rows: counts.rows });
        }
        if counts.unreadable > 0 {
            outcome.add(Reason::Unreadable { records: counts.unreadable });
        }
        if counts.absent_pages > 0 || counts.absent_rows > 0 {
            outcome.add(Reason::Absent { pages: counts.absent_pages, rows: counts.absent_rows });
        }
        if counts.refused > 0 {
            outcome.add(Reason::Refused { rows: counts.refused });
        }
        if counts.undecided > 0 {
            outcome.add(Reason::Undecided { rows: counts.undecided });
        }
        for column in columns.iter().filter(|column| !column.loss.is_none()) {
            outcome.add(Reason::Changed { column: column.name.clone(), loss: column.loss });
        }
        // A catalog that counted before the last changes proves nothing.
        let is_comparable = self.select.takes_all_rows() && self.database.has_current_counts();
        if is_comparable && !counts.interrupted && counts.differ(catalog_rows) {
            outcome.add(Reason::Count { rows: counts.rows + counts.left_out(), catalog_rows });
        }
        outcome
    }
}

/// Writes a row unless the condition says no.
fn one_row(
    selection: &Selection<'_>,
    row: &Row<'_>,
    batch: &mut Batch,
    writer: &mut dyn RowWriter,
    number: u64,
) -> Result<bool, Left> {
    let Some(output) = selection.take(row, batch)? else { return Ok(false) };
    writer.write_row(&output, number)?;
    Ok(true)
}

impl Counts {
    /// Rows that were read but not written.
    fn left_out(&self) -> u64 {
        self.absent_rows + self.refused + self.undecided
    }

    /// True when the catalog counts other rows than were found; where pages are absent it has to.
    fn differ(&self, catalog_rows: i64) -> bool {
        let is_explained = self.absent_pages > 0 && self.unreadable == 0;
        !is_explained && i64::try_from(self.rows + self.left_out()) != Ok(catalog_rows)
    }
}

impl Report {
    /// Schema and name of the table, without brackets.
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }

    /// True when the scan came to its end, so that the file is whole, whatever its rows lack.
    pub(super) fn is_whole(&self) -> bool {
        !self.counts.interrupted
    }

    /// How the command ends if this was all.
    pub(super) fn exit(&self) -> Exit {
        self.outcome.exit()
    }

    /// Says what the rows do not.
    pub(super) fn tell(&self, context: &Context) {
        let name = self.name();
        for Omitted { column, why } in &self.omitted {
            context.note(&format!("{name}: column {column} is left out ({why})"));
        }
        for reason in &self.outcome.reasons {
            context.warn(&format!("{name}: {reason}"));
        }
        if self.counts.absent_pages > 0 {
            let rows = self.rows;
            let catalog_rows = self.catalog_rows;
            context
                .warn(&format!("{name}: {rows} rows were read, the catalog says {catalog_rows}"));
        }
    }
}

/// True when a table is stored in a way that cannot be scanned, which is not the fault of the file.
pub(super) fn is_unsupported(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ScanError>().is_some()
}
