//! `query`: SELECT over the files of a database, without a server.
//!
//! ```text
//! text        the last word, a file (`-f`), or stdin (`-`)
//! rows        crate session, `offline`: bound, planned and executed over the rows of the reader
//! formats     grid (a text table), or the writers of `export`
//! ```
//!
//! A row that cannot be read is left out, as an export leaves it out; nothing of this ends with
//! exit code 0.

mod json;
mod rows;

use std::io::{BufWriter, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use extentdb_base::cancel::Cancellation;
use extentdb_base::env::Clock;
use extentdb_base::sync::atomic::{AtomicBool, Ordering};
use extentdb_base::sync::{Arc, thread};
use extentdb_io::{DurabilityMode, RealDisk};
use extentdb_session::offline::{Database, Memory, MemoryPool, Query, Stop, TableLosses, WorkArea};

use crate::command::export::{ExportOutcome, Reason, Style, StyleArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::interrupt::Interrupt;
use crate::options::CommonOptions;
use crate::terminal;

use json::JsonArray;
use rows::Rows;

/// How often the interrupt is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Longest text of a query.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// Options of `query`.
#[derive(Args, Debug)]
#[command(override_usage = "extentdb query [OPTIONS] FILE... \"SELECT ...\"\n       \
                            extentdb query [OPTIONS] -f SCRIPT FILE...")]
pub(crate) struct QueryArgs {
    /// Data files of one database, or the files of one backup; then the query: one SELECT, or `-`
    /// for stdin
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Take the query from a file
    #[arg(short = 'f', long = "file", value_name = "SCRIPT")]
    pub(crate) script: Option<PathBuf>,
    /// How to write rows
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: QueryFormat,
    /// Memory that sorts, groups and joins keep rows in, in megabytes
    #[arg(long, default_value_t = 256, value_name = "MB")]
    memory_limit: usize,
    /// Where rows go that do not fit; the system's folder for temporary files otherwise
    #[arg(long, value_name = "FOLDER")]
    temp_dir: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
    #[command(flatten)]
    pub(crate) common: CommonOptions,
}

/// How the rows of a query are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum QueryFormat {
    /// A text table; on a terminal its lines fit
    #[default]
    Table,
    /// RFC 4180 with a header line; NULL is an empty field, an empty string is ""
    Csv,
    /// A JSON array of objects
    Json,
    /// One JSON object per line
    Jsonl,
    /// Apache Parquet
    Parquet,
}

/// Runs the verb.
pub(crate) fn run(args: &QueryArgs, context: &Context) -> anyhow::Result<Exit> {
    if args.format == QueryFormat::Parquet && !cfg!(feature = "parquet") {
        bail!("not supported: built without the feature `parquet`");
    }
    let mut files = args.files.clone();
    let text = match &args.script {
        Some(script) => std::fs::read_to_string(script)
            .with_context(|| format!("cannot read {}", script.display()))?,
        None => text_of(files.pop())?,
    };
    if files.is_empty() {
        bail!("which files, and which query? extentdb query FILE… \"SELECT …\"");
    }
    let style = Style::new(args.format.rows(), &args.style)?;
    let mut output = context.output(&files)?;
    let database = Database::new(context.open_database(&files)?);
    let query = database.query(&text, context.clock.since_epoch())?.within(memory(args));
    context.interrupt.stop_gracefully();
    let width = terminal::columns(output.reader());
    let mut buffered = BufWriter::with_capacity(256 << 10, &mut output);
    let written = if args.format == QueryFormat::Json {
        let mut array = JsonArray::new(&mut buffered);
        let rows = Rows::new(args.format, &style, &query, width, context, &mut array)?;
        let written = write(query, rows, context)?;
        array.finish(written.is_whole)?;
        written
    } else {
        let rows = Rows::new(args.format, &style, &query, width, context, &mut buffered)?;
        write(query, rows, context)?
    };
    buffered.flush()?;
    drop(buffered);
    let outcome = outcome(&database, &written, context);
    for reason in &outcome.reasons {
        context.warn(&reason.to_string());
    }
    if written.is_whole {
        output.finish()?;
    } else if let Some(path) = output.finish_incomplete()? {
        context.warn(&format!("what was read is in {}", path.display()));
    }
    Ok(context.exit_of(database.reader(), outcome.exit()))
}

/// Memory for rows; what does not fit goes to files that never have a name for long.
fn memory(args: &QueryArgs) -> Memory {
    let limit = args.memory_limit.saturating_mul(1 << 20);
    let folder = args.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
    let disk = RealDisk::new(DurabilityMode::ForcedFlush);
    Memory::new(&MemoryPool::new(limit), limit, &WorkArea::new(Arc::new(disk), folder))
}

/// How the writing of a result ended.
struct Written {
    rows: u64,
    /// The query came to its end.
    is_whole: bool,
    outcome: ExportOutcome,
}

/// Runs the query into a result.
fn write(query: Query, mut rows: Rows<'_>, context: &Context) -> anyhow::Result<Written> {
    let cancellation = Cancellation::new();
    let is_done = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        scope.spawn(|| watch(&context.interrupt, &cancellation, &is_done));
        let done = query.run(&cancellation, &mut |row| rows.push(row));
        is_done.store(true, Ordering::Relaxed);
        done
    });
    let is_whole = match done {
        Ok(_) => true,
        Err(Stop::Cancelled) => false,
        Err(Stop::Query(error)) => return Err(error.into()),
        Err(Stop::Taker(error)) => {
            return Err(error).context("the result could not be written");
        }
    };
    let (rows, outcome) = rows.finish(is_whole).context("the result could not be written")?;
    Ok(Written { rows, is_whole, outcome })
}

/// Cancels the query when the user wants to stop.
fn watch(interrupt: &Interrupt, cancellation: &Cancellation, is_done: &AtomicBool) {
    while !is_done.load(Ordering::Relaxed) {
        if interrupt.stopped().is_some() {
            return cancellation.cancel();
        }
        thread::sleep(LOOK);
    }
}

/// Why the result is not that of all rows of the database.
fn outcome(database: &Database, written: &Written, context: &Context) -> ExportOutcome {
    let mut outcome = written.outcome.clone();
    if !written.is_whole {
        let exit = context.interrupt.stopped().unwrap_or(Exit::Incomplete);
        outcome.add(Reason::Interrupted { exit, rows: written.rows });
    }
    for losses in database.losses() {
        tell(&losses, context);
        if losses.unreadable > 0 {
            outcome.add(Reason::Unreadable { records: losses.unreadable });
        }
        if losses.absent_pages > 0 || losses.absent_rows > 0 {
            let (pages, rows) = (losses.absent_pages, losses.absent_rows);
            outcome.add(Reason::Absent { pages, rows });
        }
    }
    let faults = database.reader().catalog().faults.len();
    if faults > 0 {
        outcome.add(Reason::DamagedCatalog { faults });
    }
    outcome
}

fn tell(losses: &TableLosses, context: &Context) {
    for part in &losses.parts {
        let place = part.row.map(|row| format!(", row {row}")).unwrap_or_default();
        context.warn(&format!("{}{place}: cannot be read: {}", losses.table, part.why));
    }
}

/// The query that a word stands for.
fn text_of(word: Option<PathBuf>) -> anyhow::Result<String> {
    let word = word.map(PathBuf::into_os_string).unwrap_or_default();
    if word != "-" {
        return word.into_string().map_err(|_| anyhow::anyhow!("the query is no Unicode text"));
    }
    let mut text = String::new();
    let stdin = std::io::stdin().lock().take(TEXT_BYTES_MAX);
    { stdin }.read_to_string(&mut text).context("cannot read the query from stdin")?;
    Ok(text)
}
