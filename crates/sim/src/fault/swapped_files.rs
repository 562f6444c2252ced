//! A file replaced by another: a log of another database, a data file or a log of an earlier time.
//!
//! Seen in the wild as: a restore or a copy that brought one file too few, two databases whose logs
//! have the same name. The engine must detect: a crashed database is not opened with a log that is
//! not its own; one that was closed cleanly is opened without replaying such a log; and no data
//! file that is older than the others is taken for one of them.

use std::path::Path;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_engine::{
    ColumnSpec, Database, DatabaseSpec, Error, Options, Session, Table, TableSpec,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::disk::FaultDisk;
use crate::environment::Environment;
use crate::property::rows::{self, Found};

/// Another database whose files have the same names.
#[derive(Debug)]
pub(crate) struct Foreign {
    /// As a crash left them.
    pub(crate) crashed: MemDisk,
    /// As a clean close left them.
    pub(crate) closed: MemDisk,
}

impl Foreign {
    /// A database with a number of transactions that follows from the seed.
    pub(crate) fn of(environment: &Environment, rng: &mut dyn Rng) -> Result<Foreign, Error> {
        let disk = FaultDisk::default();
        let spec = DatabaseSpec { seed: !environment.spec.seed, ..environment.spec.clone() };
        let db = Database::create(&spec, environment.options(&disk))?;
        let mut session = db.session();
        let table = create_numbers(&mut session)?;
        insert_numbers(&mut session, &table, 0..1 + rng.below(300) as i32, 0)?;
        let crashed = disk.memory().copy();
        drop((session, table));
        db.close()?;
        Ok(Foreign { crashed, closed: disk.memory().clone() })
    }
}

impl Foreign {
    /// Both, with what they are.
    pub(crate) fn logs(&self) -> [(&'static str, &MemDisk); 2] {
        [("of another, crashed database", &self.crashed), ("of another database", &self.closed)]
    }
}

/// Replaces the file by that of another disk; false when there is no such file, or it is the same.
pub(crate) fn swap(memory: &MemDisk, path: &Path, from: &MemDisk) -> bool {
    match from.contents(path) {
        Some(other) if memory.contents(path).as_ref() != Some(&other) => {
            memory.put(path, other);
            true
        }
        _ => false,
    }
}

fn create_numbers(session: &mut Session) -> Result<extentdb_base::sync::Arc<Table>, Error> {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("number", SqlType::Int).not_null(),
    ];
    session.create_table(&TableSpec::heap("numbers", columns))
}

fn insert_numbers(
    session: &mut Session,
    table: &Table,
    ids: std::ops::Range<i32>,
    salt: i32,
) -> Result<(), Error> {
    for id in ids {
        session.insert(table, &[Datum::Int(id), Datum::Int(id ^ salt)])?;
    }
    Ok(())
}

/// One of two databases that do the same in the same order, with other values: their logs are alike
/// to the last LSN.
struct Twin {
    /// Closed cleanly, with the rows it had then.
    closed: (MemDisk, i32),
    /// Crashed later, with the rows that were acknowledged.
    crashed: (MemDisk, i32),
    salt: i32,
}

/// Are the ids that both databases got at their creation the same?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// As of two databases of one name that were made with the default seed.
    Same,
    /// As of two databases anywhere.
    Different,
}

fn spec(seed: u64) -> DatabaseSpec {
    DatabaseSpec { seed, ..DatabaseSpec::new("twin", "", 3 << 20) }
}

fn options(memory: &MemDisk) -> Options {
    Options {
        frames: 64,
        ..Options::on(extentdb_base::sync::Arc::new(memory.clone()))
    }
}

impl Twin {
    fn run(seed: u64, id_seed: u64, salt: i32) -> Result<Twin, Error> {
        let mut rng = SplitMix64::new(seed);
        let memory = MemDisk::new();
        let db = Database::create(&spec(id_seed), options(&memory))?;
        let mut session = db.session();
        let table = create_numbers(&mut session)?;
        let first = 1 + rng.below(40) as i32;
        insert_numbers(&mut session, &table, 0..first, salt)?;
        drop((session, table));
        db.close()?;
        let closed = (memory.copy(), first);
        let db = Database::open(&spec(id_seed).paths(), options(&memory))?;
        let mut session = db.session();
        let table = session.table("numbers")?;
        let second = first + 1 + rng.below(40) as i32;
        insert_numbers(&mut session, &table, first..second, salt)?;
        let crashed = (memory.copy(), second);
        Ok(Twin { closed, crashed, salt })
    }

    /// The first difference to a database of `rows` rows.
    fn difference(&self, found: &Found, rows: i32) -> Option<String> {
        let Some(table) = found.get("numbers") else { return Some("its table is lost".to_owned()) };
        let ids: Vec<i32> = table.rows.keys().copied().collect();
        if ids != (0..rows).collect::<Vec<i32>>() {
            return Some(format!("{} rows found, {rows} expected", ids.len()));
        }
        let is_wrong = |(id, (_, row)): &(&i32, &(_, extentdb_engine::Row))| {
            row.get(1) != Some(&Datum::Int(**id ^ self.salt))
        };
        table
            .rows
            .iter()
            .find(is_wrong)
            .map(|(id, _)| format!("row {id} has the value of the other database"))
    }
}

/// Opens a database with a log of its twin: crashed, it must be refused; closed cleanly, it must
/// have its rows.
///
/// # Errors
/// What was found instead.
pub fn swap_logs_of_twins(seed: u64, ids: Ids) -> Result<(), String> {
    const SALT: i32 = 0x5555;
    let failed = |error: Error| format!("a twin: {error:?}");
    let own = Twin::run(seed, 0, 0).map_err(failed)?;
    let other_ids = if ids == Ids::Same { 0 } else { 1 };
    let other = Twin::run(seed, other_ids, SALT).map_err(failed)?;
    let log = spec(0).log.path;
    let mut wrong = Vec::new();
    for (name, from) in [("crashed", &other.crashed.0), ("closed", &other.closed.0)] {
        let memory = own.crashed.0.copy();
        swap(&memory, &log, from);
        wrong.extend(
            refused(&memory, &own)
                .err()
                .map(|what| format!("crashed, log of the {name} twin: {what}")),
        );
        let memory = own.closed.0.copy();
        swap(&memory, &log, from);
        wrong.extend(
            sound(&memory, &own)
                .err()
                .map(|what| format!("closed, log of the {name} twin: {what}")),
        );
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

fn refused(memory: &MemDisk, own: &Twin) -> Result<(), String> {
    let Ok(db) = Database::open(&spec(0).paths(), options(memory)) else { return Ok(()) };
    let found =
        rows::read(&db).map_err(|error| format!("opened, and cannot be read: {error:?}"))?;
    let difference = own.difference(&found, own.crashed.1);
    Err(format!(
        "opened: {}",
        difference.unwrap_or_else(|| "its rows are right by luck".to_owned())
    ))
}

fn sound(memory: &MemDisk, own: &Twin) -> Result<(), String> {
    let opened = Database::open(&spec(0).paths(), options(memory));
    let db = opened.map_err(|error| format!("not opened: {error}"))?;
    let found = rows::read(&db).map_err(|error| format!("cannot be read: {error:?}"))?;
    if let Some(difference) = own.difference(&found, own.closed.1) {
        return Err(difference);
    }
    db.close().map_err(|error| format!("close: {error:?}"))?;
    match crate::property::sound::complaint(memory, &spec(0).paths()) {
        Some(complaint) => Err(complaint),
        None => Ok(()),
    }
}
