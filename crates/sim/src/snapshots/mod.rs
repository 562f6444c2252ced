//! Readers with snapshots against a model, beside writers, with power cuts.
//!
//! ```text
//! seed ─▶ a server; a clustered table and a heap, each with an index
//!      ─▶ sessions on one thread: some under SNAPSHOT, some under READ COMMITTED with versions,
//!         some with locks; statements in the order of the seed
//!      ─▶ each reading is compared with the model as of the reader's snapshot, and its own changes
//!      ─▶ power cuts between statements and within them; afterwards the rows are those of the
//!         acknowledged commits
//!      ─▶ in the end the full check
//! ```
//!
//! No session waits: a row that another transaction has changed is a lock timeout, exactly where
//! the model says so.

mod model;

use std::ops::ControlFlow;
use std::path::PathBuf;

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{
    Address, ColumnSpec, DatabaseChange, DatabaseSpec, Error, IndexSpec, Instance, Isolation,
    Paths, Range, ReadHints, Row, Session, TableHint, TableSpec, Termination, Timeout,
};
use extentdb_io::MemDisk;
use extentdb_types::{Datum, SqlType};

use crate::instance::{fail, start};
use crate::property::sound::complaint;
use model::{Model, TransactionModel, View};

/// Data files of tempdb.
const TEMPDB_FILES: usize = 1;
/// Sessions of a run.
const SESSIONS: usize = 5;
/// Keys are below this.
const KEYS: u64 = 24;
/// Values of the indexed column are below this.
const GROUPS: u64 = 4;
/// A longer text makes the row move.
const TEXT_MAX: u64 = 3_000;
/// One that is longer still lies off its row.
const LONG_TEXT_MAX: u64 = 30_000;
const TABLES: [&str; 2] = ["clustered", "heap"];

/// Counts of a run with snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotReport {
    /// Readings that were compared with the model.
    pub readings: u64,
    /// Changes that were done.
    pub changes: u64,
    /// Changes that found their row changed since the snapshot.
    pub conflicts: u64,
    /// Power cuts that were recovered from.
    pub power_cuts: u64,
    /// Versions that were kept.
    pub versions: u64,
}

/// How a session reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Snapshot,
    Versions,
    Locks,
}

struct Client {
    session: Session,
    level: Level,
    /// The open transaction.
    open: Option<TransactionModel>,
}

struct Run {
    rng: SplitMix64,
    disk: MemDisk,
    /// `None` while the power is off.
    server: Option<Arc<Instance>>,
    clients: Vec<Client>,
    model: Model,
    report: SnapshotReport,
}

/// Runs `steps` statements.
///
/// # Errors
/// What the model did not expect.
pub fn run_snapshots(seed: u64, steps: u64) -> Result<SnapshotReport, String> {
    let mut run = Run::new(seed)?;
    for step in 0..steps {
        run.step().map_err(|what| format!("step {step}: {what}"))?;
    }
    run.finish()
}

fn spec() -> DatabaseSpec {
    DatabaseSpec::new("sim", "", 4 << 20)
}

fn text(rng: &mut SplitMix64) -> Vec<u8> {
    let len = match rng.below(8) {
        0 => rng.below(LONG_TEXT_MAX),
        1 | 2 => rng.below(TEXT_MAX),
        _ => rng.below(40),
    };
    vec![b'a' + rng.below(26) as u8; len as usize]
}

/// id, group, text.
type Values = (i32, i32, Vec<u8>);

fn datums(row: &Values) -> [Datum<'_>; 3] {
    [Datum::Int(row.0), Datum::Int(row.1), Datum::Binary(row.2.as_slice().into())]
}

fn values(row: &Row) -> Option<Values> {
    match &row[..] {
        [Datum::Int(id), Datum::Int(group), Datum::Binary(text)] => {
            Some((*id, *group, text.to_vec()))
        }
        _ => None,
    }
}

impl Run {
    fn new(seed: u64) -> Result<Run, String> {
        let disk = MemDisk::new();
        let server = start(&disk, TEMPDB_FILES)?;
        let made = || -> Result<(), Error> {
            server.create_database(&spec())?;
            let mut session = server.session("sim")?;
            for name in TABLES {
                let columns = vec![
                    ColumnSpec::new("id", SqlType::Int).not_null(),
                    ColumnSpec::new("g", SqlType::Int),
                    ColumnSpec::new("name", SqlType::VarBinary { len: None }),
                ];
                let table = session.create_table(&TableSpec::heap(name, columns))?;
                let key = IndexSpec::new("pk", &["id"]).unique();
                let key = if name == "clustered" { key.clustered() } else { key };
                session.create_index(&table, &key)?;
                session.create_index(&table, &IndexSpec::new("ix", &["g"]))?;
            }
            drop(session);
            for change in [
                DatabaseChange::AllowSnapshotIsolation(true),
                DatabaseChange::ReadCommittedSnapshot(true),
            ] {
                server.change_database("sim", change, Termination::NoWait, None)?;
            }
            Ok(())
        };
        made().map_err(|error| format!("{error:?}"))?;
        let mut run = Run {
            rng: SplitMix64::new(seed),
            disk,
            server: Some(server),
            clients: Vec::new(),
            model: Model::default(),
            report: SnapshotReport::default(),
        };
        run.connect()?;
        Ok(run)
    }

    fn connect(&mut self) -> Result<(), String> {
        let Some(server) = &self.server else { return fail("no server") };
        for number in 0..SESSIONS {
            let mut session = server.session("sim").map_err(|error| format!("{error:?}"))?;
            session.set_lock_timeout(Timeout::NoWait);
            let level =
                [Level::Snapshot, Level::Snapshot, Level::Versions, Level::Versions, Level::Locks]
                    [number % SESSIONS];
            if level == Level::Snapshot {
                session.set_isolation(Isolation::Snapshot);
            }
            self.clients.push(Client { session, level, open: None });
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), String> {
        let at = self.rng.below(SESSIONS as u64) as usize;
        match self.rng.below(100) {
            0 => self.cut_between(),
            1 => self.cut_within(at),
            2..8 => self.clean(),
            8..20 => self.begin(at),
            20..30 => self.end(at),
            30..65 => self.read(at),
            _ => self.change(at),
        }
    }

    fn clean(&mut self) -> Result<(), String> {
        let Some(server) = &self.server else { return fail("no server") };
        self.report.versions = self.report.versions.max(server.versions().store.records_kept);
        server.clean().map_err(|error| format!("clean: {error:?}"))
    }

    fn begin(&mut self, at: usize) -> Result<(), String> {
        let client = &mut self.clients[at];
        if client.open.is_none() {
            client.session.begin();
            client.open = Some(TransactionModel::default());
        }
        Ok(())
    }

    fn end(&mut self, at: usize) -> Result<(), String> {
        let client = &mut self.clients[at];
        let Some(open) = client.open.take() else { return Ok(()) };
        if client.session.is_doomed() || self.rng.below(4) == 0 {
            return match client.session.rollback() {
                Err(_) if self.disk.is_dark() => self.recover(None),
                done => done.map_err(|error| format!("rollback: {error:?}")),
            };
        }
        match client.session.commit() {
            Ok(()) => {
                self.model.commit(open);
                Ok(())
            }
            Err(error) if self.disk.is_dark() => {
                let _ = error;
                self.recover(Some(open))
            }
            Err(error) => fail(("commit", error)),
        }
    }

    /// What a session sees now; its snapshot is taken when it has none.
    fn view(&mut self, at: usize) -> View {
        let client = &mut self.clients[at];
        match (&mut client.open, client.level) {
            (Some(open), Level::Snapshot) => {
                open.snapshot.get_or_insert_with(|| self.model.view()).with(&open.changes)
            }
            (Some(open), _) => self.model.view().with(&open.changes),
            (None, _) => self.model.view(),
        }
    }

    fn read(&mut self, at: usize) -> Result<(), String> {
        if self.clients[at].session.is_doomed() {
            return Ok(());
        }
        let number = self.rng.below(TABLES.len() as u64) as usize;
        let group = self.rng.below(GROUPS) as i32;
        let way = self.rng.below(3);
        let may_wait = self.others(at).any(|open| open.may_lock(number, None));
        let view = self.view(at);
        let client = &mut self.clients[at];
        let found = find(&mut client.session, client.level, TABLES[number], way, group);
        let expected: Vec<Values> = view.rows(number, (way == 2).then_some(group));
        match found {
            Ok(found) if found == expected => {
                self.report.readings += 1;
                Ok(())
            }
            Ok(found) => {
                fail((at, client.level, TABLES[number], way, short(&found), short(&expected)))
            }
            Err(Error::Lock(_)) if client.level == Level::Locks && may_wait => Ok(()),
            Err(_) if self.disk.is_dark() => self.recover(None),
            Err(error) => fail((at, client.level, error)),
        }
    }

    /// The open transactions of other sessions.
    fn others(&self, at: usize) -> impl Iterator<Item = &TransactionModel> {
        let others = self.clients.iter().enumerate().filter(move |(other, _)| *other != at);
        others.filter_map(|(_, client)| client.open.as_ref())
    }

    fn change(&mut self, at: usize) -> Result<(), String> {
        if self.clients[at].session.is_doomed() {
            return self.end(at);
        }
        let number = self.rng.below(TABLES.len() as u64) as usize;
        let id = self.rng.below(KEYS) as i32;
        let row = (id, self.rng.below(GROUPS) as i32, text(&mut self.rng));
        let is_delete = self.rng.below(3) == 0;
        let locked = self.others(at).any(|open| open.has_changed(number, Some(id)));
        // The ghost of an index entry may lead to a slot of a heap that another row has got since.
        let locked_id = (TABLES[number] != "heap").then_some(id);
        let may_wait = self.others(at).any(|open| open.may_lock(number, locked_id));
        if let Some(open) = &mut self.clients[at].open {
            open.tried.insert((number, id));
        }
        // The snapshot is taken at the first change, too.
        let view = self.view(at);
        let own =
            self.clients[at].open.as_ref().is_some_and(|open| open.has_changed(number, Some(id)));
        let is_snapshot = self.clients[at].level == Level::Snapshot;
        let committed = self.model.view();
        let is_changed_since = is_snapshot && !own && view.differs(&committed, number, id);
        let current = if own { &view } else { &committed };
        let is_there = current.row(number, id).is_some();
        let is_seen = view.row(number, id).is_some();
        let client = &mut self.clients[at];
        let done = write(
            &mut client.session,
            TABLES[number],
            &row,
            is_delete,
            view.row(number, id).is_some(),
        );
        let to = (!is_delete).then(|| row.clone());
        match done {
            // A row that is not seen is not deleted, and not locked.
            Ok(()) if locked && (is_seen || !is_delete) => {
                fail((at, "a change of a row that another has locked", id))
            }
            Ok(()) if is_changed_since && is_seen => fail((at, "a change that is a conflict", id)),
            Ok(()) => {
                self.report.changes += 1;
                let changed = is_seen || !is_delete;
                match &mut client.open {
                    Some(open) if changed => open.set(number, id, to),
                    None if changed => {
                        let mut alone = TransactionModel::default();
                        alone.set(number, id, to);
                        self.model.commit(alone);
                    }
                    _ => {}
                }
                Ok(())
            }
            Err(_) if self.disk.is_dark() => {
                let mut alone = TransactionModel::default();
                alone.set(number, id, to);
                let is_alone = client.open.is_none();
                self.recover(is_alone.then_some(alone))
            }
            Err(Error::Lock(_)) if may_wait => Ok(()),
            Err(Error::DuplicateKey { .. }) if is_changed_since && is_there => Ok(()),
            Err(Error::UpdateConflict { .. }) if is_changed_since => {
                self.report.conflicts += 1;
                if client.open.is_none() {
                    return Ok(());
                }
                self.end(at)
            }
            Err(error) => {
                fail((at, client.level, TABLES[number], id, error, locked, is_changed_since))
            }
        }
    }

    fn cut_between(&mut self) -> Result<(), String> {
        self.recover(None)
    }

    /// The power fails at one of the next calls of the disk.
    fn cut_within(&mut self, at: usize) -> Result<(), String> {
        self.disk.fail_after(self.rng.below(12));
        for _ in 0..6 {
            match self.rng.below(4) {
                0 => self.begin(at)?,
                1 => self.end(at)?,
                _ => self.change(at)?,
            }
            if !self.disk.is_dark() && self.report.power_cuts > 0 && self.rng.below(3) == 0 {
                break;
            }
        }
        // It has, or it does now.
        self.recover(None)
    }

    /// The power is back. `unknown` was about to be committed.
    fn recover(&mut self, unknown: Option<TransactionModel>) -> Result<(), String> {
        self.report.power_cuts += 1;
        let after = self.disk.crash(&mut self.rng);
        self.clients.clear();
        self.server = None;
        self.disk = after;
        self.server = Some(start(&self.disk, TEMPDB_FILES)?);
        self.connect()?;
        let mut candidates = vec![self.model.clone()];
        if let Some(unknown) = unknown {
            let mut committed = self.model.clone();
            committed.commit(unknown);
            candidates.push(committed);
        }
        let client = &mut self.clients[0];
        let mut found = Vec::new();
        for name in TABLES {
            let rows = find(&mut client.session, Level::Snapshot, name, 0, 0);
            found.push(rows.map_err(|error| format!("after a power cut: {error:?}"))?);
        }
        let is_it =
            |model: &Model| (0..TABLES.len()).all(|at| model.view().rows(at, None) == found[at]);
        match candidates.into_iter().find(is_it) {
            Some(model) => {
                self.model = model;
                Ok(())
            }
            None => fail((
                "rows after a power cut",
                found.iter().map(|rows| short(rows)).collect::<Vec<_>>(),
            )),
        }
    }

    fn finish(mut self) -> Result<SnapshotReport, String> {
        self.clean()?;
        self.clients.clear();
        let Some(server) = self.server.take() else { return fail("no server") };
        server.shutdown(Termination::NoWait).map_err(|error| format!("{error:?}"))?;
        let paths: Paths = spec().paths();
        match complaint(&self.disk, &Paths { log: PathBuf::new(), ..paths }) {
            Some(complaint) => Err(complaint),
            None => Ok(self.report),
        }
    }
}

/// Rows without their texts.
fn short(rows: &[Values]) -> Vec<(i32, i32, usize)> {
    rows.iter().map(|(id, group, text)| (*id, *group, text.len())).collect()
}

/// All rows by a scan or by the key, or those of a group by the other index; by id.
fn find(
    session: &mut Session,
    level: Level,
    name: &str,
    way: u64,
    group: i32,
) -> Result<Vec<Values>, Error> {
    let table = session.table(name)?;
    let hints = match level {
        Level::Locks => ReadHints::of(&[TableHint::ReadCommittedLock])?,
        _ => ReadHints::default(),
    };
    let mut found = Vec::new();
    let each = &mut |_: Address, row: Row| {
        found.extend(values(&row));
        ControlFlow::Continue(())
    };
    let key = [Datum::Int(group)];
    match way {
        0 => session.scan_with(&table, hints, each)?,
        1 => session.range(&table, &Range { hints, ..Range::all("pk") }, each)?,
        _ => session.range(&table, &Range { hints, ..Range::of("ix", &key) }, each)?,
    }
    found.sort();
    Ok(found)
}

/// Inserts, changes or deletes a row by its key. What is there is read by the snapshot, else under
/// an update lock.
fn write(
    session: &mut Session,
    name: &str,
    row: &Values,
    is_delete: bool,
    is_seen: bool,
) -> Result<(), Error> {
    let table = session.table(name)?;
    if !is_seen && !is_delete {
        return session.insert(&table, &datums(row)).map(drop);
    }
    let key = [Datum::Int(row.0)];
    let mut at = None;
    let range = Range::of("pk", &key);
    let range = if session.isolation() == Isolation::Snapshot { range } else { range.for_update() };
    session.range(&table, &range, &mut |address, _| {
        at = Some(address);
        ControlFlow::Break(())
    })?;
    match at {
        None => Ok(()),
        Some(at) if is_delete => session.delete(&table, &at),
        Some(at) => session.update(&table, &at, &datums(row)).map(drop),
    }
}
