//! The shop of the story: its database of three unequal files, its orders, and the process that is
//! killed while it writes.
//!
//! Everything here follows from numbers, not from time or chance: the story is the same whenever it
//! is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, anyhow, bail, ensure};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, DataFileSpec, Database, DatabaseSpec, Options, Recovered, Session, Table,
    TableSpec,
};
use extentdb_telemetry::{Event, Recorder};
use extentdb_types::{Collation, Date, Datum, Money, SqlType};

use crate::scratch::Running;

/// The files of the database, and how large they begin.
pub(super) const FILES: [(&str, u64); 3] =
    [("shop.mdf", 4 << 20), ("shop_2.ndf", 8 << 20), ("shop_3.ndf", 32 << 20)];
pub(super) const TABLE: &str = "orders";
/// Orders that one transaction brings.
const BATCH: u32 = 1000;
/// Rows that the transaction that never commits deletes and inserts.
const UNFINISHED: u32 = 500;
/// What the process says when it is ready to be killed.
const READY: &str = "ready";
const COLLATION: Collation = Collation(0x3400_d008);
const CUSTOMERS: [&str; 8] =
    ["Ada", "Edgar", "Grace", "Jim", "Barbara", "Rudolf", "Pat", "Charles"];
const GOODS: [&str; 6] = ["pencil", "notebook", "ink, blue", "envelope, padded", "chair", "lamp"];

/// The database in this folder.
pub(super) fn spec(folder: &Path) -> DatabaseSpec {
    let mut spec = DatabaseSpec::new("shop", folder, FILES[0].1);
    let more = FILES[1..].iter().map(|(name, bytes)| DataFileSpec::new(folder.join(name), *bytes));
    spec.files.extend(more);
    // Everything that the killed process writes is to be redone: the log must hold it.
    spec.log.bytes = 16 << 20;
    spec
}

/// A file, and what the rows took of it.
pub(super) struct FileUse {
    pub(super) name: String,
    /// Extents that were free before.
    pub(super) free: u32,
    /// Extents that the rows took.
    pub(super) taken: u32,
}

/// Makes the database with its table. Returns the lines of trace flag 1165.
pub(super) fn create(folder: &Path) -> anyhow::Result<Vec<String>> {
    let recorder = Arc::new(Recorder::default());
    let db = Database::create(
        &spec(folder),
        Options { events: recorder.clone(), ..Options::default() },
    )?;
    db.session().create_table(&orders())?;
    db.close()?;
    Ok(fill_lines(&recorder))
}

/// Inserts orders 1 to `rows`, a thousand in each transaction.
pub(super) fn fill(folder: &Path, rows: u32) -> anyhow::Result<Vec<FileUse>> {
    let db = Database::open(&spec(folder).paths(), Options::default())?;
    let free: Vec<u32> = db.space().files().iter().map(|file| file.free_extents()).collect();
    let mut session = db.session();
    let table = session.table(TABLE)?;
    let mut next = 1;
    while next <= rows {
        let last = (next + BATCH - 1).min(rows);
        insert(&mut session, &table, next..=last)?;
        next = last + 1;
    }
    drop((session, table));
    let files = db.space().files().into_iter().zip(free).map(|(file, free)| {
        let name = file.description().name.clone();
        FileUse { name, free, taken: free.saturating_sub(file.free_extents()) }
    });
    let files = files.collect();
    db.close()?;
    Ok(files)
}

/// The lines of the error log that trace flag 1165 prints.
fn fill_lines(recorder: &Recorder) -> Vec<String> {
    let lines = recorder.take().into_iter().filter_map(|event| match event {
        Event::ProportionalFill { lines } => Some(lines),
        _ => None,
    });
    lines.flatten().collect()
}

fn orders() -> TableSpec {
    let text = |len| SqlType::VarChar { len: Some(len), collation: COLLATION };
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("customer", text(40)).not_null(),
        ColumnSpec::new("item", text(40)).not_null(),
        ColumnSpec::new("price", SqlType::Money).not_null(),
        ColumnSpec::new("ordered", SqlType::Date).not_null(),
        ColumnSpec::new("note", text(200)),
    ];
    TableSpec::heap(TABLE, columns)
}

fn insert(
    session: &mut Session<'_>,
    table: &Table,
    ids: impl IntoIterator<Item = u32>,
) -> anyhow::Result<()> {
    session.begin();
    for id in ids {
        insert_one(session, table, id)?;
    }
    Ok(session.commit()?)
}

fn insert_one(session: &mut Session<'_>, table: &Table, id: u32) -> anyhow::Result<Address> {
    let customer = CUSTOMERS[(id as usize * 5 + id as usize / 7) % CUSTOMERS.len()];
    let item = GOODS[(id as usize + id as usize / 11) % GOODS.len()];
    let note =
        "please wrap it as a present and leave it with the neighbours; ".repeat(id as usize % 4);
    let note = if note.is_empty() { Datum::Null } else { text(note.trim_end_matches("; ")) };
    let values = [
        Datum::Int(id.try_into()?),
        text(customer),
        text(item),
        Datum::Money(Money(i64::from(100 + id % 9000) * 100)),
        Datum::Date(day(id)?),
        note,
    ];
    Ok(session.insert(table, &values)?)
}

/// A day of 2011.
fn day(id: u32) -> anyhow::Result<Date> {
    let first = Date::from_ymd(2011, 1, 1).context("a day of the calendar")?;
    Date::new(first.days() + id / 300 % 365).map_err(|_| anyhow!("no day of the calendar"))
}

fn text(text: &str) -> Datum<'static> {
    let ty = SqlType::VarChar { len: Some(200), collation: COLLATION };
    Datum::decode(&ty, text.as_bytes()).map_or(Datum::Null, Datum::into_owned)
}

/// Starts a process that writes orders after `rows`, up to `last`, and kills it in the middle of
/// another transaction. Returns the last order that was acknowledged.
pub(super) fn write_and_die(folder: &Path, rows: u32, last: u32) -> anyhow::Result<u32> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let first = (rows + 1).to_string();
    let last = last.to_string();
    let mut process = Command::new(program)
        .args(["demo", "--first", &first, "--last", &last, "--writer"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run this program")?;
    let said = process.stdout.take();
    let process = Running::new(process);
    let said = said.map(|said| listen(BufReader::new(said)));
    // Nothing of it is asked: SIGKILL. Its memory is gone, its files are as the system has them.
    process.with(Child::kill).context("cannot kill the process")?;
    process.with(Child::wait)?;
    match said {
        Some(acknowledged) => acknowledged,
        None => bail!("the process says nothing"),
    }
}

/// The last order that was acknowledged before the process was in the middle of something.
fn listen(said: impl BufRead) -> anyhow::Result<u32> {
    let mut acknowledged = 0;
    for line in said.lines() {
        let line = line?;
        if line == READY {
            return Ok(acknowledged);
        }
        acknowledged = line.parse().with_context(|| format!("the process said {line}"))?;
    }
    bail!("the process ended by itself")
}

/// The process that is killed: says which orders are committed, and when it is in the middle of a
/// transaction. Half of the orders are written to the files by a checkpoint, together with what the
/// unfinished transaction has done; the rest is in the log.
pub(super) fn write_until_killed(folder: &Path, first: u32, last: u32) -> anyhow::Result<()> {
    let options = Options { checkpoint_log_bytes: None, ..Options::default() };
    let db = Database::open(&spec(folder).paths(), options)?;
    let mut out = std::io::stdout().lock();
    let mut committing = db.session();
    let mut unfinished = db.session();
    let table = committing.table(TABLE)?;
    let victims = first_rows(&mut committing, &table, UNFINISHED as usize)?;
    unfinished.begin();
    for at in victims {
        unfinished.delete(&table, &at)?;
    }
    let mut next = first;
    let middle = u32::midpoint(first, last);
    let mut is_checkpointed = false;
    while next <= last {
        let end = (next + BATCH - 1).min(last);
        insert(&mut committing, &table, next..=end)?;
        writeln!(out, "{end}")?;
        out.flush()?;
        next = end + 1;
        if next > middle && !is_checkpointed {
            db.checkpoint()?;
            is_checkpointed = true;
        }
    }
    for id in 0..UNFINISHED {
        insert_one(&mut unfinished, &table, 1_000_000 + id)?;
    }
    db.log().flush_all()?;
    writeln!(out, "{READY}")?;
    out.flush()?;
    // Who started this process kills it. If that one is gone instead, its pipe ends.
    let mut nothing = Vec::new();
    std::io::stdin().read_to_end(&mut nothing)?;
    Ok(())
}

/// The places of the first rows of the table.
fn first_rows(
    session: &mut Session<'_>,
    table: &Table,
    count: usize,
) -> anyhow::Result<Vec<Address>> {
    let mut rids = Vec::new();
    session.scan(table, &mut |at, _| {
        rids.push(at);
        if rids.len() < count {
            std::ops::ControlFlow::Continue(())
        } else {
            std::ops::ControlFlow::Break(())
        }
    })?;
    Ok(rids)
}

/// Opens the database as it was left, which recovers it, and closes it. What that had to do, and
/// the rows there are.
pub(super) fn recover(folder: &Path) -> anyhow::Result<(Recovered, i64)> {
    let db = Database::open(&spec(folder).paths(), Options::default())?;
    let recovered = db.recovered().clone();
    let rows = db.session().table(TABLE)?.row_count();
    db.close()?;
    ensure!(
        !recovered.was_clean(),
        "the database was closed cleanly, although its process was killed"
    );
    Ok((recovered, rows))
}
