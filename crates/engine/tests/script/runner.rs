//! Runs the commands of a script on a database in memory. A prefix names the session. A script that
//! sets row versions runs on a database of a server.
//!
//! After a command the runner waits until every session is idle or waits for a lock, so that the
//! output does not depend on time. Sessions whose wait ends by a timeout are waited for.

use std::collections::{BTreeMap, HashMap};
use std::error::Error as StdError;
use std::path::PathBuf;
use std::time::Duration;

use extentdb_base::OwnerId;
use extentdb_base::env::{Clock, SplitMix64, SystemClock};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Database, DatabaseChange, DatabaseSpec, Error, Instance, InstanceOptions, Row, Termination,
    Timeout,
};
use extentdb_io::MemDisk;
use extentdb_txn::lock::{LockError, LockRow, LockStatus, Resource};
use goldenscript::{Command, Context};

use super::names::Names;
use super::statement::{ComputedColumn, IndexInfo, Scene, Statement, statement};
use super::syntax::{isolation, plain};
use super::words::{Syntax, Words, syntax};
use super::worker::{Job, Output, Worker};
use crate::support::{check, files_of, on, reopen, rows_by_reader, spec};

/// Begins a line about another session than the one whose command it was.
pub(super) const OTHER_SESSION: char = '\u{1}';
/// The session of commands without a prefix.
const DEFAULT_SESSION: &str = "main";
/// How often all sessions must be found waiting, one look after the other.
const STABLE_LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// A session that runs for longer than this hangs.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// What the database is open in.
enum Home {
    /// It is opened by itself.
    Alone,
    /// A server, which has a tempdb for row versions; `None` while it is down.
    Server(Option<Arc<Instance>>),
}

pub(super) struct Runner {
    disk: MemDisk,
    spec: DatabaseSpec,
    /// `None` while it is closed.
    db: Option<Arc<Database>>,
    home: Home,
    sessions: BTreeMap<String, Worker>,
    /// Which session has which transaction.
    owners: HashMap<OwnerId, String>,
    indexes: Vec<IndexInfo>,
    computed: Vec<ComputedColumn>,
    names: Names,
    crashes: u64,
}

impl goldenscript::Runner for Runner {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn StdError>> {
        let session = context.prefix.as_deref().unwrap_or(DEFAULT_SESSION);
        let mut words = Words::of(command);
        let lines = match command.name.as_str() {
            "locks" if words.take("count") => counts(self.locks(context.prefix.as_deref())),
            "locks" => self.locks(context.prefix.as_deref()),
            "checkpoint" => {
                self.db().checkpoint()?;
                Vec::new()
            }
            "restart" => {
                self.close();
                self.open();
                Vec::new()
            }
            "crash" => {
                self.crash();
                Vec::new()
            }
            "check" => self.check(),
            "offline" => self.offline(&words.word()?),
            "set" if words.take("read_committed_snapshot") => {
                let is_on = words.switch()?;
                self.change(DatabaseChange::ReadCommittedSnapshot(is_on))
            }
            "set" if words.take("allow_snapshot_isolation") => {
                let is_on = words.switch()?;
                self.change(DatabaseChange::AllowSnapshotIsolation(is_on))
            }
            "set" => self.set(session, &mut words)?,
            name => self.statement(session, name, &mut words)?,
        };
        words.end()?;
        Ok(lines.join("\n"))
    }

    /// Whatever a script has done: the full check finds no fault.
    fn end_script(&mut self) -> Result<(), Box<dyn StdError>> {
        let found = self.check();
        if found == ["0 errors"] { Ok(()) } else { syntax(format!("check: {found:#?}"))? }
    }
}

impl Runner {
    pub(super) fn new() -> Runner {
        let disk = MemDisk::new();
        let spec = spec("script");
        let db = Database::create(&spec, on(&disk)).unwrap();
        Runner {
            disk,
            spec,
            db: Some(db),
            home: Home::Alone,
            sessions: BTreeMap::new(),
            owners: HashMap::new(),
            indexes: Vec::new(),
            computed: Vec::new(),
            names: Names::default(),
            crashes: 0,
        }
    }

    fn db(&self) -> &Arc<Database> {
        self.db.as_ref().unwrap()
    }

    /// The server; the first call puts an empty database in place of the one that is open.
    fn server(&mut self) -> Arc<Instance> {
        if let Home::Alone = self.home {
            assert!(self.db().tables().is_empty(), "row versions are set before the first table");
            self.close();
            self.disk = MemDisk::new();
            let server = start(&self.disk);
            self.db = Some(server.create_database(&self.spec).unwrap());
            self.home = Home::Server(Some(server));
        }
        match &self.home {
            Home::Server(Some(server)) => server.clone(),
            _ => panic!("the server is down"),
        }
    }

    /// Changes the state of the database, and waits for nobody.
    fn change(&mut self, change: DatabaseChange) -> Vec<String> {
        let server = self.server();
        let name = self.spec.name.clone();
        match server.change_database(&name, change, Termination::NoWait, None) {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!("error: {error}")],
        }
    }

    fn session(&mut self, name: &str) -> &mut Worker {
        let db = self.db().clone();
        self.sessions.entry(name.to_owned()).or_insert_with(|| Worker::start(db))
    }

    /// `set isolation serializable`, `set deadlock_priority low`, `set lock_timeout 0`.
    fn set(&mut self, session: &str, words: &mut Words) -> Result<Vec<String>, Syntax> {
        let option = words.word()?;
        let value = words.word()?;
        let wrong = || Syntax(format!("{option} {value}"));
        let job: Job = match option.as_str() {
            "isolation" => {
                let level = isolation(&value).ok_or_else(wrong)?;
                Box::new(move |session| {
                    session.set_isolation(level);
                    Ok(Output::default())
                })
            }
            "deadlock_priority" => {
                let priority = match value.as_str() {
                    "low" => -5,
                    "normal" => 0,
                    "high" => 5,
                    number => number.parse().map_err(|_| wrong())?,
                };
                Box::new(move |session| {
                    session.set_deadlock_priority(priority);
                    Ok(Output::default())
                })
            }
            "lock_timeout" => {
                let timeout = match value.as_str() {
                    "infinite" => Timeout::Infinite,
                    "0" => Timeout::NoWait,
                    millis => {
                        let millis = millis.parse().map_err(|_| wrong())?;
                        Timeout::After(Duration::from_millis(millis))
                    }
                };
                self.session(session).has_timeout = timeout != Timeout::Infinite;
                Box::new(move |session| {
                    session.set_lock_timeout(timeout);
                    Ok(Output::default())
                })
            }
            _ => return Err(wrong()),
        };
        self.send(session, job)
    }

    fn statement(
        &mut self,
        session: &str,
        name: &str,
        words: &mut Words,
    ) -> Result<Vec<String>, Syntax> {
        let cursors = self.session(session).cursors.clone();
        let scene = Scene {
            indexes: self.indexes.clone(),
            computed: self.computed.clone(),
            cursors,
        };
        let Statement { job, indexes, computed } = statement(name, words, scene)?;
        self.computed.extend(computed);
        for index in indexes {
            let is_other = |it: &IndexInfo| it.table != index.table || it.name != index.name;
            self.indexes.retain(is_other);
            self.indexes.push(index);
        }
        if name == "alter" || name == "create" || name == "truncate" {
            self.names.forget_indexes();
        }
        self.send(session, job)
    }

    fn send(&mut self, session: &str, job: Job) -> Result<Vec<String>, Syntax> {
        if self.session(session).is_busy {
            return syntax(format!("session {session} waits"));
        }
        self.names.learn(&self.db().clone());
        self.session(session).send(job);
        Ok(self.settle(session))
    }

    /// Waits until all sessions are idle or wait for a lock, and tells what happened.
    fn settle(&mut self, current: &str) -> Vec<String> {
        let clock = SystemClock::new();
        let begin = clock.monotonic();
        let mut told = BTreeMap::<String, Vec<String>>::new();
        let mut looks = 0;
        while self.sessions.values().any(|session| session.is_busy) && looks < STABLE_LOOKS {
            let elapsed = clock.monotonic() - begin;
            assert!(elapsed < HANGS_AFTER, "a session hangs: {:#?}", self.db().locks());
            let is_stable = !self.receive(current, &mut told) && self.all_wait(current);
            looks = if is_stable { looks + 1 } else { 0 };
            std::thread::sleep(BETWEEN_LOOKS);
        }
        self.name_owners(current);
        self.tell_waits(current, &mut told);
        let mut lines = told.remove(current).unwrap_or_default();
        for (session, others) in told {
            lines.extend(others.iter().map(|line| match &*session {
                DEFAULT_SESSION => format!("{OTHER_SESSION}{line}"),
                _ => format!("{OTHER_SESSION}{session}: {line}"),
            }));
        }
        lines
    }

    /// Takes what sessions have done. Has one of them done something?
    fn receive(&mut self, current: &str, told: &mut BTreeMap<String, Vec<String>>) -> bool {
        let mut done = Vec::new();
        for (name, session) in self.sessions.iter_mut().filter(|(_, session)| session.is_busy) {
            if let Ok(result) = session.results.try_recv() {
                session.is_busy = false;
                session.waits = None;
                done.push((name.clone(), result));
            }
        }
        let has_done = !done.is_empty();
        for (name, result) in done {
            if name == current {
                self.name_owners(current);
            }
            let mut lines = self.lines_of(result);
            if name != current {
                match &mut *lines {
                    [only] => only.insert_str(0, "continues: "),
                    _ => lines.insert(0, "continues".to_owned()),
                }
            }
            told.entry(name).or_default().extend(lines);
        }
        has_done
    }

    fn lines_of(&mut self, result: Result<Output, Error>) -> Vec<String> {
        match result {
            Ok(output) => {
                let db = self.db().clone();
                self.names.see(&db, &self.indexes, &output.seen);
                output.lines
            }
            Err(error) => vec![format!("error: {}", self.error(&error))],
        }
    }

    /// The message of an error, with names for what is locked.
    fn error(&self, error: &Error) -> String {
        let text = error.to_string();
        let lock = match error {
            Error::Lock(lock) => lock,
            // The next table may have another id.
            Error::Gone { id } => return text.replace(&id.to_string(), "(id)"),
            _ => return text,
        };
        let named = |resource: Resource| {
            text.replace(&resource.to_string(), &self.names.resource(self.db(), resource))
        };
        match lock {
            LockError::Timeout { resource, .. } => named(*resource),
            LockError::Deadlock { resource, mode, cycle } => {
                let owner = |id: &OwnerId| self.owners.get(id).map_or("?", |name| name).to_owned();
                let mut cycle: Vec<String> = cycle.iter().map(owner).collect();
                // A cycle has no begin: it is shown from its first session on.
                let first = (0..cycle.len()).min_by_key(|at| cycle[*at].clone()).unwrap_or(0);
                cycle.rotate_left(first);
                cycle.extend(cycle.first().cloned());
                let text = named(*resource);
                format!("{text}, asked for {mode}; cycle: {}", cycle.join(" -> "))
            }
            _ => text,
        }
    }

    fn waiting(&self) -> Vec<LockRow> {
        let is_waiting = |row: &LockRow| row.status != LockStatus::Grant;
        self.db().locks().locks().into_iter().filter(is_waiting).collect()
    }

    fn session_of<'s>(&'s self, owner: OwnerId, current: &'s str) -> &'s str {
        self.owners.get(&owner).map_or(current, |name| name)
    }

    /// Does every session that runs a statement wait, and not only for a while?
    fn all_wait(&self, current: &str) -> bool {
        let waiting = self.waiting();
        let waits =
            |name: &str| waiting.iter().any(|row| self.session_of(row.owner.id, current) == name);
        let mut busy = self.sessions.iter().filter(|(_, session)| session.is_busy);
        busy.all(|(name, session)| !session.has_timeout && waits(name))
    }

    /// Transactions that nobody had before are those of the session that did something.
    fn name_owners(&mut self, current: &str) {
        for row in self.db().locks().locks() {
            self.owners.entry(row.owner.id).or_insert_with(|| current.to_owned());
        }
    }

    fn tell_waits(&mut self, current: &str, told: &mut BTreeMap<String, Vec<String>>) {
        let db = self.db().clone();
        for row in self.waiting() {
            let name = self.session_of(row.owner.id, current).to_owned();
            let resource = self.names.resource(&db, row.resource);
            let blockers = self.blockers(&row).join(", ");
            let Some(session) = self.sessions.get_mut(&name) else { continue };
            if session.waits == Some((row.resource, row.mode)) {
                continue;
            }
            session.waits = Some((row.resource, row.mode));
            let line = format!("waits for {} on {resource}, blocked by {blockers}", row.mode);
            told.entry(name).or_default().push(line);
        }
    }

    /// The sessions whose locks are in the way of a request.
    fn blockers(&self, request: &LockRow) -> Vec<String> {
        let is_ahead = |row: &LockRow| {
            row.resource == request.resource
                && row.owner != request.owner
                && row.status == LockStatus::Grant
                && !request.mode.is_compatible(row.mode)
        };
        let locks = self.db().locks().locks();
        let owners = locks.iter().filter(|row| is_ahead(row));
        let mut names: Vec<String> =
            owners.map(|row| self.session_of(row.owner.id, "?").to_owned()).collect();
        names.sort();
        if names.is_empty() {
            names.push("an earlier request".to_owned());
        }
        names
    }

    /// The locks of a session, or of all.
    fn locks(&self, session: Option<&str>) -> Vec<String> {
        let mut lines = Vec::new();
        for row in self.db().locks().locks() {
            let owner = self.session_of(row.owner.id, DEFAULT_SESSION);
            if session.is_some_and(|session| session != owner) {
                continue;
            }
            let resource = self.names.resource(self.db(), row.resource);
            let status = match row.status {
                LockStatus::Grant => "",
                LockStatus::Convert => " converts",
                LockStatus::Wait => " waits",
            };
            let prefix = if session.is_none() { format!("{owner}: ") } else { String::new() };
            lines.push(format!("{prefix}{resource} {}{status}", row.mode));
        }
        lines.sort_by_key(|line| sortable(line));
        if lines.is_empty() {
            lines.push("no locks".to_owned());
        }
        lines
    }

    /// Ends all sessions, which rolls their transactions back.
    fn end_sessions(&mut self) {
        self.sessions.values_mut().for_each(Worker::close);
        std::mem::take(&mut self.sessions).into_values().for_each(Worker::join);
        self.owners.clear();
        self.names.forget_indexes();
    }

    fn close(&mut self) {
        self.end_sessions();
        let db = self.db.take().unwrap();
        match &mut self.home {
            Home::Alone => db.close().unwrap(),
            Home::Server(server) => {
                drop(db);
                server.take().unwrap().shutdown(Termination::NoWait).unwrap();
            }
        }
    }

    fn open(&mut self) {
        let db = match &mut self.home {
            Home::Alone => reopen(&self.disk, &self.spec.paths()),
            Home::Server(server) => {
                let started = start(&self.disk);
                let db = started.database(&self.spec.name).unwrap();
                *server = Some(started);
                db
            }
        };
        self.db = Some(db);
    }

    /// The power fails: what was not durable is lost, or not, sector by sector.
    fn crash(&mut self) {
        self.crashes += 1;
        let after = self.disk.crash(&mut SplitMix64::new(self.crashes));
        self.end_sessions();
        self.db = None;
        if let Home::Server(server) = &mut self.home {
            *server = None;
        }
        self.disk = after;
        self.open();
    }

    /// Closes the database, and looks at its files.
    fn look<T>(&mut self, look: impl FnOnce(&[PathBuf]) -> T) -> T {
        self.close();
        let folder = tempfile::tempdir().unwrap();
        let found = look(&files_of(&self.disk, &self.spec.paths(), folder.path()));
        self.open();
        found
    }

    /// The rows of a table by the offline reader, sorted.
    fn offline(&mut self, table: &str) -> Vec<String> {
        let rows = self.look(|files| rows_by_reader(files, table));
        let line = |row: &Row| row.iter().map(plain).collect::<Vec<_>>().join(" ");
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        lines.sort();
        lines
    }

    /// The full check over the files of the closed database.
    fn check(&mut self) -> Vec<String> {
        let report = self.look(check);
        if report.findings.is_empty() {
            return vec!["0 errors".to_owned()];
        }
        report.findings.iter().map(|finding| format!("{finding:?}")).collect()
    }
}

/// A server on a disk.
fn start(disk: &MemDisk) -> Arc<Instance> {
    let options = InstanceOptions {
        tempdb_files: 1,
        tempdb_file_bytes: 2 << 20,
        ..InstanceOptions::new("", on(disk))
    };
    Instance::start(options).unwrap()
}

/// How many locks there are of each kind and mode, instead of each of them.
fn counts(lines: Vec<String>) -> Vec<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    for line in lines {
        let kind = match (line.find(" ("), line.rfind(") ")) {
            (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
            _ => line,
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect()
}

/// Numbers in a line by their value.
fn sortable(line: &str) -> String {
    let pad = |word: &str| match word.trim_matches(['(', ')', ',']).parse::<i64>() {
        Ok(number) => format!("{number:020}"),
        Err(_) => word.to_owned(),
    };
    line.split(' ').map(pad).collect::<Vec<_>>().join(" ")
}
