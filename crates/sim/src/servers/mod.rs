//! A server with several databases against a model: transactions over all of them, temporary
//! tables, files that are added and removed, cancelled statements, killed sessions, power cuts.
//!
//! ```text
//! seed ─▶ a server; databases a and b, each with a table; sessions on one thread
//!      ─▶ transactions whose statements change rows of either database: after any power cut all
//!         of their changes are there, or none
//!      ─▶ statements of several changes that are cancelled between two of them: none stays, and
//!         the transaction goes on
//!      ─▶ tables in tempdb, filled, read and dropped: none outlives a restart
//!      ─▶ a database that is created, filled, given files, taken out of service and dropped
//!         ([`extra`])
//!      ─▶ in the end the full check of every database
//! ```
//!
//! No session waits: a row that another transaction has touched is a lock timeout, exactly where
//! the model says so.

mod extra;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, DatabaseSpec, Error, IndexSpec, Instance, Paths, Range, Row, Session,
    StatementEnd, Table, TableSpec, Termination, Timeout,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::instance::{fail, start};
use crate::property::sound::complaint;
use extra::Extra;

/// Data files of tempdb.
const TEMPDB_FILES: usize = 2;
/// Sessions of a run.
const SESSIONS: usize = 4;
/// Keys are below this.
const KEYS: u64 = 32;
const DATABASES: [&str; 2] = ["a", "b"];
/// Changes of a statement, at most.
const CHANGES_MAX: u64 = 6;
const TEXT_MAX: u64 = 2_500;

/// Counts of a run of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerReport {
    /// Transactions over more than one database that were committed.
    pub distributed: u64,
    /// Statements that were done.
    pub statements: u64,
    /// Statements that were cancelled between two of their changes.
    pub cancelled: u64,
    /// Sessions that were killed.
    pub killed: u64,
    /// Tables that were made in tempdb.
    pub temporary: u64,
    /// Changes of the extra database and its files.
    pub extra: u64,
    /// Power cuts that were recovered from.
    pub power_cuts: u64,
}

/// Rows by database and id.
type Rows = BTreeMap<(usize, i32), Vec<u8>>;
/// Changes of a transaction; `None` deletes the row.
type Changes = BTreeMap<(usize, i32), Option<Vec<u8>>>;

struct Client {
    session: Session,
    /// Changes of the open transaction.
    open: Option<Changes>,
    /// Rows that it may have locked: a statement that fails keeps its locks.
    touched: BTreeSet<(usize, i32)>,
}

struct Run {
    rng: SplitMix64,
    disk: MemDisk,
    /// `None` while the power is off.
    server: Option<Arc<Instance>>,
    clients: Vec<Client>,
    committed: Rows,
    extra: Extra,
    /// Number of the next temporary table.
    next_temporary: u64,
    report: ServerReport,
}

/// Runs `steps` steps.
///
/// # Errors
/// What the model did not expect.
pub fn run_servers(seed: u64, steps: u64) -> Result<ServerReport, String> {
    let mut run = Run::new(seed)?;
    for step in 0..steps {
        run.step().map_err(|what| format!("step {step}: {what}"))?;
    }
    run.finish()
}

fn table_spec(name: &str) -> TableSpec {
    let columns = vec![
        ColumnSpec::new("id", SqlType::Int).not_null(),
        ColumnSpec::new("text", SqlType::VarBinary { len: Some(8000) }),
    ];
    TableSpec::heap(name, columns)
}

fn datums(id: i32, text: &[u8]) -> Row {
    vec![Datum::Int(id), Datum::Binary(text.to_vec().into())]
}

/// The address of a row by its key.
fn place(session: &mut Session, table: &Table, id: i32) -> Result<Option<Address>, Error> {
    let mut found = None;
    let key = [Datum::Int(id)];
    session.range(table, &Range::of("pk", &key), &mut |at, _| {
        found = Some(at);
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// All rows of a table, by id.
fn rows_of(session: &mut Session, table: &Table) -> Result<BTreeMap<i32, Vec<u8>>, Error> {
    let mut rows = BTreeMap::new();
    session.scan(table, &mut |_, row| {
        if let [Datum::Int(id), Datum::Binary(text)] = &row[..] {
            rows.insert(*id, text.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn apply(rows: &mut Rows, changes: &Changes) {
    for (key, text) in changes {
        match text {
            Some(text) => rows.insert(*key, text.clone()),
            None => rows.remove(key),
        };
    }
}

impl Run {
    fn new(seed: u64) -> Result<Run, String> {
        let disk = MemDisk::new();
        let server = start(&disk, TEMPDB_FILES)?;
        let made = || -> Result<(), Error> {
            for name in DATABASES {
                server.create_database(&DatabaseSpec::new(name, "", 4 << 20))?;
                let mut session = server.session(name)?;
                let spec = table_spec("t");
                let key = IndexSpec::primary_key("pk", &["id"]);
                // A tree in one database, a heap with an index in the other.
                let table = session.create_table(&if name == "a" {
                    spec.clustered(key.clone())
                } else {
                    spec
                })?;
                if name == "b" {
                    session.create_index(&table, &IndexSpec::new("pk", &["id"]).unique())?;
                }
            }
            Ok(())
        };
        made().map_err(|error| format!("{error:?}"))?;
        let mut run = Run {
            rng: SplitMix64::new(seed),
            disk,
            server: Some(server),
            clients: Vec::new(),
            committed: Rows::new(),
            extra: Extra::default(),
            next_temporary: 0,
            report: ServerReport::default(),
        };
        run.connect(SESSIONS)?;
        Ok(run)
    }

    fn server(&self) -> Result<Arc<Instance>, String> {
        self.server.clone().ok_or_else(|| "no server".to_owned())
    }

    fn connect(&mut self, count: usize) -> Result<(), String> {
        let server = self.server()?;
        for _ in 0..count {
            let mut session = server.session("a").map_err(|error| format!("{error:?}"))?;
            session.set_lock_timeout(Timeout::NoWait);
            self.clients.push(Client { session, open: None, touched: BTreeSet::new() });
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let at = self.rng.below(SESSIONS as u64) as usize;
        match self.rng.below(100) {
            0 => self.recover(None, None),
            1..3 => self.cut_within(at),
            3 => self.kill(at),
            4..14 => self.begin(at),
            14..26 => self.end(at),
            26..36 => self.temporary(at),
            36..44 => self.change_extra(),
            44..56 => self.read(at),
            _ => self.change(at),
        }
    }

    fn begin(&mut self, at: usize) -> Result<(), String> {
        let client = &mut self.clients[at];
        if client.open.is_none() {
            client.session.begin();
            client.open = Some(Changes::new());
        }
        Ok(())
    }

    fn end(&mut self, at: usize) -> Result<(), String> {
        let is_commit = self.rng.below(4) > 0;
        let client = &mut self.clients[at];
        let Some(open) = client.open.take() else { return Ok(()) };
        client.touched.clear();
        if client.session.is_doomed() || !is_commit {
            return match client.session.rollback() {
                Err(_) if self.disk.is_dark() => self.recover(None, None),
                done => done.map_err(|error| format!("rollback: {error:?}")),
            };
        }
        match client.session.commit() {
            Ok(()) => {
                let in_database = |of: usize| open.keys().any(|(database, _)| *database == of);
                self.report.distributed += u64::from(in_database(0) && in_database(1));
                apply(&mut self.committed, &open);
                Ok(())
            }
            Err(_) if self.disk.is_dark() => self.recover(Some(open), None),
            Err(error) => fail(("commit", error)),
        }
    }

    /// May another transaction hold a lock that a change of these rows needs?
    fn may_wait(&self, at: usize, database: usize) -> bool {
        let others = self.clients.iter().enumerate().filter(|(other, _)| *other != at);
        // Pages, keys next to each other and slots are shared: any row of the table may do.
        others.into_iter().any(|(_, client)| client.touched.iter().any(|(of, _)| *of == database))
    }

    /// What a session sees: its own changes, and what is committed.
    fn view(&self, at: usize) -> Rows {
        let mut rows = self.committed.clone();
        if let Some(open) = &self.clients[at].open {
            apply(&mut rows, open);
        }
        rows
    }

    fn read(&mut self, at: usize) -> Result<(), String> {
        if self.clients[at].session.is_doomed() {
            return self.end(at);
        }
        let server = self.server()?;
        let number = self.rng.below(DATABASES.len() as u64) as usize;
        let expected = self.view(at);
        let expected: BTreeMap<i32, Vec<u8>> = expected
            .into_iter()
            .filter(|((of, _), _)| *of == number)
            .map(|((_, id), text)| (id, text))
            .collect();
        let may_wait = self.may_wait(at, number);
        let session = &mut self.clients[at].session;
        let found = (|| {
            server.use_database(session, DATABASES[number])?;
            let table = session.table("t")?;
            rows_of(session, &table)
        })();
        match found {
            Ok(found) if found == expected => Ok(()),
            Ok(found) => {
                let ids = |rows: &BTreeMap<i32, Vec<u8>>| rows.keys().copied().collect::<Vec<_>>();
                fail((at, DATABASES[number], "reads", ids(&found), "not", ids(&expected)))
            }
            Err(Error::Lock(_)) if may_wait => Ok(()),
            Err(_) if self.disk.is_dark() => self.recover(None, None),
            Err(error) => fail((at, "read", error)),
        }
    }

    /// A statement of several changes, cancelled between two of them or not.
    fn change(&mut self, at: usize) -> Result<(), String> {
        if self.clients[at].session.is_doomed() {
            return self.end(at);
        }
        let server = self.server()?;
        let number = self.rng.below(DATABASES.len() as u64) as usize;
        let count = 1 + self.rng.below(CHANGES_MAX);
        let mut seen = self.view(at);
        // A scan notices, when there are pages to be read.
        let has_rows = seen.keys().any(|(of, _)| *of == number);
        let is_cancelled = has_rows && self.rng.below(4) == 0;
        let cancelled_at = is_cancelled.then(|| self.rng.below(count));
        let may_wait = self.may_wait(at, number);
        let mut changes = Changes::new();
        let mut plan = Vec::new();
        for _ in 0..count {
            let key = (number, self.rng.below(KEYS) as i32);
            let len = self.rng.below(TEXT_MAX) as usize;
            let text = vec![b'a' + self.rng.below(26) as u8; len];
            let to = (self.rng.below(3) > 0).then_some(text);
            let is_there = seen.contains_key(&key);
            plan.push((key.1, is_there, to.clone()));
            // A row that is not seen is not deleted, and not locked.
            if is_there || to.is_some() {
                changes.insert(key, to.clone());
            }
            apply(&mut seen, &Changes::from([(key, to)]));
        }
        let client = &mut self.clients[at];
        client.touched.extend(changes.keys());
        let done = write(&server, &mut client.session, DATABASES[number], &plan, cancelled_at);
        if client.open.is_none() {
            client.touched.clear();
        }
        match done {
            Ok(()) if cancelled_at.is_some() => fail((at, "a cancelled statement was done")),
            Ok(()) => {
                self.report.statements += 1;
                match &mut client.open {
                    Some(open) => open.extend(changes),
                    None => apply(&mut self.committed, &changes),
                }
                Ok(())
            }
            Err(_) if self.disk.is_dark() => {
                let is_alone = client.open.is_none();
                self.recover(is_alone.then_some(changes), None)
            }
            Err(Error::Cancelled) if cancelled_at.is_some() => {
                self.report.cancelled += 1;
                Ok(())
            }
            Err(Error::Lock(_)) if may_wait => Ok(()),
            Err(error) => fail((at, "change", error, cancelled_at)),
        }
    }

    /// KILL: its transaction is rolled back, and a new session takes its place.
    fn kill(&mut self, at: usize) -> Result<(), String> {
        let server = self.server()?;
        let client = self.clients.remove(at);
        client.session.handle().kill();
        drop(client);
        if self.disk.is_dark() {
            return self.recover(None, None);
        }
        self.report.killed += 1;
        drop(server);
        self.connect(1)
    }

    /// A table in tempdb, of which nobody else knows: made, filled, read, dropped; or left behind.
    fn temporary(&mut self, at: usize) -> Result<(), String> {
        if self.clients[at].open.is_some() {
            return Ok(());
        }
        let server = self.server()?;
        let name = format!("#t{}", self.next_temporary);
        self.next_temporary += 1;
        let count = self.rng.below(60) as i32;
        let is_kept = self.rng.below(8) == 0;
        let text = vec![b't'; self.rng.below(TEXT_MAX) as usize];
        let session = &mut self.clients[at].session;
        let found = (|| {
            server.use_database(session, "tempdb")?;
            let table = session.create_table(&table_spec(&name))?;
            for id in 0..count {
                session.insert(&table, &datums(id, &text))?;
            }
            let rows = rows_of(session, &table)?.len();
            if !is_kept {
                session.drop_table(&table)?;
            }
            Ok(rows)
        })();
        match found {
            Ok(found) if found == count as usize => {
                self.report.temporary += 1;
                Ok(())
            }
            Ok(found) => fail((at, "temporary table", found, "rows, not", count)),
            Err(_) if self.disk.is_dark() => self.recover(None, None),
            Err(error) => {
                let error: Error = error;
                fail((at, "temporary table", error))
            }
        }
    }

    fn change_extra(&mut self) -> Result<(), String> {
        let server = self.server()?;
        let after = self.extra.next(&mut self.rng);
        match self.extra.change_to(&after, &server) {
            Ok(()) => {
                self.extra = after;
                self.report.extra += 1;
                self.extra.verify(&server)
            }
            Err(_) if self.disk.is_dark() => self.recover(None, Some(after)),
            Err(error) => fail(("extra", &self.extra, &after, error)),
        }
    }

    /// The power fails at one of the next calls of the disk.
    fn cut_within(&mut self, at: usize) -> Result<(), String> {
        let cuts = self.report.power_cuts;
        self.disk.fail_after(self.rng.below(30));
        while self.report.power_cuts == cuts {
            match self.rng.below(8) {
                0 => self.begin(at)?,
                1 | 2 => self.end(at)?,
                3 => self.temporary(at)?,
                4 | 5 => self.change_extra()?,
                _ => self.change(at)?,
            }
            if self.rng.below(12) == 0 {
                break;
            }
        }
        if self.report.power_cuts == cuts { self.recover(None, None) } else { Ok(()) }
    }

    /// The power is back. `unknown` was about to be committed, `extra` to be reached.
    fn recover(&mut self, unknown: Option<Changes>, extra: Option<Extra>) -> Result<(), String> {
        self.report.power_cuts += 1;
        let after = self.disk.crash(&mut self.rng);
        self.clients.clear();
        self.server = None;
        self.disk = after;
        let server = start(&self.disk, TEMPDB_FILES)?;
        self.server = Some(server.clone());
        self.connect(SESSIONS)?;
        let found = self.all_rows(&server)?;
        if found != self.committed {
            let mut with = self.committed.clone();
            unknown.iter().for_each(|unknown| apply(&mut with, unknown));
            if found != with {
                return fail(("rows after a power cut", keys(&found), keys(&self.committed)));
            }
            self.committed = with;
        }
        if let Err(what) = self.extra.verify(&server) {
            let Some(extra) = extra else { return Err(what) };
            extra.verify(&server).map_err(|other| format!("{what}; or {other}"))?;
            self.extra = extra;
        }
        let tempdb = server.database("tempdb").map_err(|error| format!("{error:?}"))?;
        let left = tempdb.tables();
        match left.iter().filter(|table| table.name().starts_with("#t")).count() {
            0 => Ok(()),
            count => fail((count, "tables of tempdb have outlived a restart")),
        }
    }

    fn all_rows(&mut self, server: &Instance) -> Result<Rows, String> {
        let mut found = Rows::new();
        for (number, name) in DATABASES.iter().enumerate() {
            let read = || -> Result<_, Error> {
                let mut session = server.session(name)?;
                let table = session.table("t")?;
                rows_of(&mut session, &table)
            };
            let rows = read().map_err(|error| format!("{name} after a power cut: {error:?}"))?;
            found.extend(rows.into_iter().map(|(id, text)| ((number, id), text)));
        }
        Ok(found)
    }

    fn finish(mut self) -> Result<ServerReport, String> {
        self.clients.clear();
        let server = self.server()?;
        self.server = None;
        server.clean().map_err(|error| format!("clean: {error:?}"))?;
        let paths: Vec<Paths> = server
            .databases()
            .iter()
            .filter(|info| info.name != "tempdb")
            .map(|info| {
                let data = info.files.iter().filter(|file| !file.is_log);
                let data = data.map(|file| PathBuf::from(&file.path)).collect();
                Paths { data, log: PathBuf::new() }
            })
            .collect();
        server.shutdown(Termination::NoWait).map_err(|error| format!("{error:?}"))?;
        match paths.iter().find_map(|paths| complaint(&self.disk, paths)) {
            Some(complaint) => Err(complaint),
            None => Ok(self.report),
        }
    }
}

fn keys(rows: &Rows) -> Vec<(usize, i32)> {
    rows.keys().copied().collect()
}

/// A statement of these changes: id, whether there is such a row, what becomes of it.
fn write(
    server: &Instance,
    session: &mut Session,
    database: &str,
    plan: &[(i32, bool, Option<Vec<u8>>)],
    cancelled_at: Option<u64>,
) -> Result<(), Error> {
    server.use_database(session, database)?;
    let table = session.table("t")?;
    let scope = session.begin_scope()?;
    let mut done = Ok(());
    for ((id, is_there, to), number) in plan.iter().zip(0..) {
        if cancelled_at == Some(number) {
            session.cancellation().cancel();
            done = rows_of(session, &table).map(drop);
            break;
        }
        done = write_one(session, &table, *id, *is_there, to.as_deref());
        if done.is_err() {
            break;
        }
    }
    session.cancellation().clear();
    let end = if done.is_ok() { StatementEnd::Done } else { StatementEnd::Failed };
    let ended = session.end_scope(scope, end);
    done.and(ended)
}

fn write_one(
    session: &mut Session,
    table: &Table,
    id: i32,
    is_there: bool,
    to: Option<&[u8]>,
) -> Result<(), Error> {
    match (is_there, to) {
        (false, None) => place(session, table, id).map(drop),
        (false, Some(text)) => session.insert(table, &datums(id, text)).map(drop),
        (true, to) => {
            let Some(at) = place(session, table, id)? else {
                return Err(Error::NoTransaction);
            };
            match to {
                Some(text) => session.update(table, &at, &datums(id, text)).map(drop),
                None => session.delete(table, &at),
            }
        }
    }
}
