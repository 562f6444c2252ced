//! `export`: the rows of tables, to stdout, into a file, or many tables into a folder.
//!
//! ```text
//! table    one table: scan, count, compare with the catalog     folder   many tables, on several
//!                                                                        threads
//! select   which columns and rows (`--columns --where --limit`)    formula  the expressions of
//!                                                                           these
//! style    how values are written (`--surrogates --null …`)        outcome  why a result is not
//!                                                                           complete
//! text     rows as text, whole or not at all                       encode   a row as JSON, CSV or
//!                                                                           SQL
//! long     values off their rows, in pieces                        csv      fields and their
//!                                                                           quotes
//! sink     holds a row back until it is known to be whole          counted  bytes and hash of what
//!                                                                           is written
//! parquet  rows in columns (feature `parquet`)                     manifest `_manifest.json`
//!                                                                  beside many tables
//! source   pages, counted and interruptible                        suggest  "did you mean"
//! surrogate  halves of characters, where a format cannot hold them
//! head     what is known of a column before its values         result   the rows of a query in
//!                                                                       these formats
//! ```
//!
//! Memory does not grow with the table: long values pass through in pieces. A row that cannot be
//! read is left out, told with its place, and counted. A value that cannot be written as it is
//! stored is counted, too, and nothing of this ends with exit code 0.

mod counted;
mod csv;
mod encode;
mod folder;
pub(crate) mod format;
mod formula;
mod head;
mod long;
mod manifest;
mod outcome;
#[cfg(feature = "parquet")]
mod parquet;
mod result;
mod select;
mod sink;
mod source;
mod style;
mod surrogate;
mod table;
mod text;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use extentdb_reader::Database;

use crate::context::{Context, doubt};
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::names;
use crate::options::CommonOptions;

pub(crate) use head::ColumnHead;
pub(crate) use outcome::{ExportOutcome, Reason};
pub(crate) use result::ResultRows;
pub(crate) use style::{Style, StyleArgs};

use counted::Counted;
use format::RowFormat;
use select::SelectArgs;
use source::WatchedSource;
use table::{RowWriter, TableExport, Wanted};

/// Options of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// Data files of one database, or the files of one backup
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The table: dbo.Orders, [dbo].[Order Details], or the name alone
    #[arg(long, value_name = "NAME", conflicts_with = "tables")]
    table: Option<String>,
    /// Several tables, with wildcards: 'dbo.*'; needs --out. May be repeated
    #[arg(long, value_name = "PATTERN", requires = "out")]
    tables: Vec<String>,
    /// A folder that gets one file per table and _manifest.json
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    out: Option<PathBuf>,
    /// How to write rows
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: RowFormat,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

impl Style {
    /// Writes rows in this style; SQL inserts them into `target`.
    fn writer<'a>(
        &'a self,
        target: &'a str,
        selected: &[ColumnHead],
        interrupt: &'a Interrupt,
        out: Counted<'a>,
    ) -> anyhow::Result<Box<dyn RowWriter + 'a>> {
        match self.format {
            #[cfg(feature = "parquet")]
            RowFormat::Parquet => {
                Ok(Box::new(parquet::ParquetRows::new(self, selected, interrupt, out)?))
            }
            #[cfg(not(feature = "parquet"))]
            RowFormat::Parquet => bail!("not supported: built without the feature `parquet`"),
            _ => Ok(Box::new(text::TextRows::new(self, target, selected, interrupt, out))),
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &ExportArgs, context: &Context) -> anyhow::Result<Exit> {
    if args.format == RowFormat::Parquet && !cfg!(feature = "parquet") {
        bail!("not supported: built without the feature `parquet`");
    }
    match (&args.table, &args.out) {
        (None, None) => bail!("which table? Give --table NAME, or --tables PATTERN with --out DIR"),
        (Some(name), None) => one_table(args, name, context),
        (_, Some(folder)) => folder::export(args, folder, context),
    }
}

fn one_table(args: &ExportArgs, name: &str, context: &Context) -> anyhow::Result<Exit> {
    let style = Style::new(args.format, &args.style)?;
    let mut output = context.output(&args.files)?;
    let database = context.open_database(&args.files)?;
    let catalog = database.catalog();
    let table = names::find_table(catalog, name)?;
    let wanted = Wanted::new(table, &args.select, &database)?;
    let rows = catalog.row_count(table);
    let progress = context.progress(&format!("export {}", table.full_name()), rows.max(0) as u64);
    context.interrupt.stop_gracefully();
    let source = WatchedSource::new(database.source(), &context.interrupt, &progress);
    let export = TableExport {
        context,
        database: &database,
        source: &source,
        progress: &progress,
        style: &style,
        select: &args.select,
    };
    let report = export.run(&wanted, &mut output, false)?;
    drop(progress);
    report.tell(context);
    if report.is_whole() {
        output.finish()?;
    } else if let Some(path) = output.finish_incomplete()? {
        context.warn(&format!("what was read is in {}", path.display()));
    }
    // Rows of a table whose description is damaged may be missing without trace.
    Ok(context.exit_of(&database, report.exit()))
}

/// Reasons why the export of any table of the database may lack rows.
fn outcome_of(database: &Database) -> ExportOutcome {
    let mut outcome = ExportOutcome::default();
    let faults = database.catalog().faults.len();
    if faults > 0 {
        outcome.add(Reason::DamagedCatalog { faults });
    }
    if let Some(why) = doubt(database) {
        outcome.add(Reason::Doubtful { why });
    }
    outcome
}
