//! Statements of several sessions, in an order that follows from the seed.
//!
//! Sessions do not wait: a lock that another one holds is an error of the statement, which then has
//! changed nothing. So every interleaving of transactions is possible on one thread, and repeats
//! with the seed.

use extentdb_base::env::{Rng, SplitMix64};
use extentdb_base::sync::Arc;
use extentdb_engine::{Cause, Database, Error, IndexSpec, Session, Table, TableSpec, Timeout};

use crate::disk::FaultDisk;
use crate::environment::Environment;
use crate::kind::RunKind;
use crate::model::{Change, Model, StoredRow, TableModel, with};
use crate::schema::{any_filter, any_index, any_table, lob_table};
use crate::simulation::RunReport;
use crate::statement::Statement;
use crate::trace::Trace;

/// The name of every clustered index.
pub(crate) const CLUSTERED: &str = "c";
/// Tables at one time.
const TABLES_MAX: usize = 6;
/// Checkpoints that the power cut may wait for. A full log, which open transactions keep full,
/// makes none of them.
const CHECKPOINTS_MAX: u32 = 50;

/// State that survives from one opening of the database to the next.
pub(crate) struct RunState {
    pub(crate) rng: SplitMix64,
    pub(crate) environment: Environment,
    pub(crate) disk: FaultDisk,
    /// The acknowledged transactions.
    pub(crate) committed: Model,
    /// The transactions that were being acknowledged when everything stopped: each is there as a
    /// whole or not at all.
    pub(crate) in_doubt: Vec<Vec<Change>>,
    pub(crate) trace: Trace,
    pub(crate) report: RunReport,
    pub(crate) next_id: i32,
    pub(crate) next_table: u32,
    pub(crate) is_rich: bool,
    pub(crate) is_indexed: bool,
    pub(crate) is_altered: bool,
    pub(crate) kind: RunKind,
}

/// Why work stops.
#[derive(Debug)]
pub(crate) enum RunStop {
    /// A power cut, or the database went offline because of a fault.
    Dead,
    /// A property does not hold.
    Wrong(String),
}

/// A session and the changes of its open transaction.
pub(crate) struct Worker {
    pub(crate) session: Session,
    pub(crate) changes: Vec<Change>,
    pub(crate) savepoints: Vec<usize>,
}

/// Sessions and the state they change.
pub(crate) struct Workload<'d, 's> {
    db: &'d Arc<Database>,
    pub(crate) state: &'s mut RunState,
    pub(crate) workers: Vec<Worker>,
    /// Faults that happened before the opening.
    fired: u64,
    /// True during a round, until its last statement is judged.
    pub(crate) is_concurrent: bool,
}

impl<'d, 's> Workload<'d, 's> {
    pub(crate) fn new(db: &'d Arc<Database>, state: &'s mut RunState) -> Workload<'d, 's> {
        let workers = (0..state.environment.sessions).map(|_| {
            let mut session = db.session();
            session.set_lock_timeout(Timeout::NoWait);
            Worker { session, changes: Vec::new(), savepoints: Vec::new() }
        });
        let workers = workers.collect();
        let fired = state.disk.fired();
        Workload { db, state, workers, fired, is_concurrent: false }
    }

    /// Executes `steps` steps.
    pub(crate) fn run(&mut self, steps: u64) -> Result<(), RunStop> {
        for _ in 0..steps {
            // Only a scheduler that follows from a seed makes a run with threads repeatable.
            if cfg!(shuttle) && self.below(2) == 0 {
                self.round()?;
                continue;
            }
            let at = self.below(self.workers.len() as u64) as usize;
            self.state.report.steps += 1;
            self.step(at)?;
        }
        Ok(())
    }

    /// Ends all transactions.
    pub(crate) fn finish(&mut self) -> Result<(), RunStop> {
        for at in 0..self.workers.len() {
            match self.below(2) {
                0 => self.rollback(at)?,
                _ => self.commit(at)?,
            }
        }
        Ok(())
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.state.rng.below(bound)
    }

    fn step(&mut self, at: usize) -> Result<(), RunStop> {
        let is_open = self.workers[at].session.is_in_transaction();
        if self.state.kind == RunKind::Ddl && self.below(3) != 0 {
            return self.ddl(at);
        }
        if self.state.is_indexed && self.below(16) == 0 {
            return if self.below(3) == 0 { self.drop_index(at) } else { self.create_index(at) };
        }
        if self.state.is_altered && self.below(12) == 0 {
            return self.alter(at);
        }
        match self.below(200) {
            0..=1 => self.checkpoint(),
            2..=4 => self.create_table(at),
            5 => self.drop_table(at),
            6..=7 => self.truncate_table(at),
            8..=20 if !is_open => self.begin(at),
            8..=20 => self.commit(at),
            21..=25 if is_open => self.rollback(at),
            26..=30 if is_open => self.save(at),
            31..=35 if is_open => self.rollback_to(at),
            36..=50 => self.get(at),
            51..=110 => self.update(at),
            111..=135 => self.delete(at),
            136..=138 => self.burst(at),
            _ => self.insert(at),
        }
    }

    /// Inserts many rows in one session.
    pub(crate) fn burst(&mut self, at: usize) -> Result<(), RunStop> {
        for _ in 0..10 + self.below(60) {
            self.insert(at)?;
        }
        Ok(())
    }

    /// The tables as this session sees them.
    fn view(&self, at: usize) -> Model {
        with(&self.state.committed, &self.workers[at].changes)
    }

    pub(crate) fn any_table(&mut self, at: usize) -> Option<(String, TableModel)> {
        let view = self.view(at);
        let chosen = self.below(view.len() as u64) as usize;
        view.into_iter().nth(chosen)
    }

    pub(crate) fn any_row(&mut self, at: usize) -> Option<(String, TableModel, i32, StoredRow)> {
        let (name, table) = self.any_table(at)?;
        let chosen = self.below(table.rows.len() as u64) as usize;
        let (id, stored) = table.rows.iter().nth(chosen)?;
        let id = *id;
        let stored = stored.clone();
        Some((name, table, id, stored))
    }

    pub(crate) fn open_table(&mut self, at: usize, name: &str) -> Result<Arc<Table>, RunStop> {
        let found = self.workers[at].session.table(name);
        found.map_err(|error| RunStop::Wrong(format!("table {name}: {error}")))
    }

    fn others_are_open(&self, at: usize) -> bool {
        let mut others = self.workers.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, worker)| worker.session.is_in_transaction())
    }

    /// True after a fault since the database was opened.
    pub(crate) fn is_faulty(&self) -> bool {
        self.state.disk.memory().is_dark() || self.state.disk.fired() > self.fired
    }

    /// Applies the change of a statement that succeeded; checks that one that failed was allowed
    /// to.
    pub(crate) fn judge<T>(
        &mut self,
        at: usize,
        what: &str,
        result: Result<T, Error>,
        change: impl FnOnce(Option<&T>) -> Option<Change>,
    ) -> Result<Option<T>, RunStop> {
        let is_explicit = self.workers[at].session.is_in_transaction();
        match result {
            Ok(done) => {
                self.state.trace.note(format!("{at}: {what}"));
                let change = change(Some(&done));
                if is_explicit {
                    self.workers[at].changes.extend(change)
                } else {
                    self.acknowledged(change.into_iter().collect())?
                }
                Ok(Some(done))
            }
            Err(error) => {
                self.state.trace.note(format!("{at}: {what}: {error}"));
                if !is_explicit && self.is_faulty() {
                    self.state.in_doubt.push(change(None).into_iter().collect());
                    return Err(RunStop::Dead);
                }
                self.may_fail(at, what, &error).map(|()| None)
            }
        }
    }

    fn may_fail(&mut self, at: usize, what: &str, error: &Error) -> Result<(), RunStop> {
        let is_faulty = self.is_faulty();
        if self.state.disk.memory().is_dark() || is_faulty && error.cause() == Cause::Offline {
            return Err(RunStop::Dead);
        }
        let report = &mut self.state.report;
        match error.cause() {
            Cause::LogFull => report.full_logs += 1,
            Cause::FilegroupFull => report.full_filegroups += 1,
            Cause::Lock => report.lock_conflicts += 1,
            _ => {}
        }
        match error.cause() {
            Cause::LogFull | Cause::FilegroupFull => Ok(()),
            Cause::Lock if self.is_concurrent || self.others_are_open(at) => Ok(()),
            // Nothing in the row is longer than a pointer to it.
            Cause::RowTooLong => Ok(()),
            _ if is_faulty => Ok(()),
            _ => Err(RunStop::Wrong(format!("{what}: {error:?}"))),
        }
    }

    /// Adds acknowledged changes to the model.
    pub(crate) fn acknowledged(&mut self, changes: Vec<Change>) -> Result<(), RunStop> {
        // In a round the write may have been lost after the acknowledgement.
        let is_late = !self.is_concurrent && self.state.disk.has_lost_log();
        if !changes.is_empty() && is_late {
            return Err(RunStop::Wrong(
                "a commit was acknowledged after the log had lost a write".to_owned(),
            ));
        }
        self.state.report.commits += u64::from(!changes.is_empty());
        changes.iter().for_each(|change| change.apply(&mut self.state.committed));
        Ok(())
    }

    pub(crate) fn begin(&mut self, at: usize) -> Result<(), RunStop> {
        self.workers[at].session.begin();
        self.state.trace.note(format!("{at}: begin"));
        Ok(())
    }

    pub(crate) fn commit(&mut self, at: usize) -> Result<(), RunStop> {
        self.execute(at, Statement::Commit)
    }

    pub(crate) fn rollback(&mut self, at: usize) -> Result<(), RunStop> {
        self.execute(at, Statement::Rollback)
    }

    pub(crate) fn save(&mut self, at: usize) -> Result<(), RunStop> {
        let name = format!("s{}", self.workers[at].savepoints.len());
        let saved = self.workers[at].session.save(&name);
        if self.judge(at, &format!("save {name}"), saved, |_| None)?.is_some() {
            let changes = self.workers[at].changes.len();
            self.workers[at].savepoints.push(changes);
        }
        Ok(())
    }

    pub(crate) fn rollback_to(&mut self, at: usize) -> Result<(), RunStop> {
        let worker = &self.workers[at];
        let row_changes =
            |change: &Change| matches!(change, Change::Put { .. } | Change::Remove { .. });
        let is_poor = !self.state.is_rich && !worker.changes.iter().all(row_changes);
        if worker.savepoints.is_empty() || is_poor {
            return Ok(());
        }
        let chosen = self.below(self.workers[at].savepoints.len() as u64) as usize;
        let worker = &mut self.workers[at];
        let done = worker.session.rollback_to(&format!("s{chosen}"));
        worker.changes.truncate(worker.savepoints[chosen]);
        worker.savepoints.truncate(chosen + 1);
        self.state.trace.note(format!("{at}: rollback to s{chosen}: {}", done.is_ok()));
        match done {
            Ok(()) => Ok(()),
            Err(_) if self.is_faulty() => Err(RunStop::Dead),
            Err(error) => Err(RunStop::Wrong(format!("rollback to a savepoint: {error:?}"))),
        }
    }

    pub(crate) fn checkpoint(&mut self) -> Result<(), RunStop> {
        if self.state.environment.is_tight {
            self.write_lazily()?;
        }
        if self.state.is_indexed {
            self.clean_ghosts()?;
        }
        let done = self.db.checkpoint();
        self.state.trace.note(format!("checkpoint: {}", done.is_ok()));
        match done {
            Ok(()) => Ok(()),
            Err(_) if self.is_faulty() => Err(RunStop::Dead),
            Err(error) if error.cause() == Cause::LogFull => {
                self.state.report.full_logs += 1;
                Ok(())
            }
            Err(error) => Err(RunStop::Wrong(format!("checkpoint: {error:?}"))),
        }
    }

    /// A power cut during a checkpoint.
    pub(crate) fn die_in_checkpoint(&mut self) -> Result<(), RunStop> {
        let most = [10, 40, 160][self.below(3) as usize];
        let calls = self.below(most);
        self.state.trace.note(format!("power cut after {calls} calls"));
        self.state.disk.memory().fail_after(calls);
        for _ in 0..CHECKPOINTS_MAX {
            self.checkpoint()?;
            self.burst(0)?;
        }
        // Nothing calls the disk any more: open transactions have filled the log.
        self.state.disk.memory().fail_after(0);
        Err(RunStop::Dead)
    }

    fn clean_ghosts(&mut self) -> Result<(), RunStop> {
        let done = self.db.clean_some_ghosts();
        self.chore("ghost cleanup", done)
    }

    fn write_lazily(&mut self) -> Result<(), RunStop> {
        let done = self.db.write_lazily();
        self.chore("lazy writer", done)
    }

    /// Checks the result of a background task.
    fn chore(&mut self, what: &str, done: Result<(), Error>) -> Result<(), RunStop> {
        self.state.trace.note(format!("{what}: {}", done.is_ok()));
        match done {
            Ok(()) => Ok(()),
            Err(_) if self.is_faulty() => Err(RunStop::Dead),
            Err(error) => Err(RunStop::Wrong(format!("{what}: {error:?}"))),
        }
    }

    pub(crate) fn insert(&mut self, at: usize) -> Result<(), RunStop> {
        match self.choose_insert(at)? {
            Some(statement) => self.execute(at, statement),
            None => self.create_table(at),
        }
    }

    fn update(&mut self, at: usize) -> Result<(), RunStop> {
        let chosen = self.choose_update(at)?;
        chosen.map_or(Ok(()), |statement| self.execute(at, statement))
    }

    fn delete(&mut self, at: usize) -> Result<(), RunStop> {
        let chosen = self.choose_delete(at)?;
        chosen.map_or(Ok(()), |statement| self.execute(at, statement))
    }

    fn get(&mut self, at: usize) -> Result<(), RunStop> {
        let chosen = self.choose_get(at)?;
        chosen.map_or(Ok(()), |statement| self.execute(at, statement))
    }

    pub(crate) fn create_table(&mut self, at: usize) -> Result<(), RunStop> {
        if self.view(at).len() >= TABLES_MAX {
            return Ok(());
        }
        let name = self.dropped_name(at).unwrap_or_else(|| format!("t{}", self.state.next_table));
        self.state.next_table += 1;
        let chosen = self.below(3) as usize;
        let group = self.state.environment.filegroups.get(chosen).cloned();
        let table_of = if self.state.kind == RunKind::Lobs { lob_table } else { any_table };
        let mut spec = table_of(&mut self.state.rng, &name, group);
        if self.state.is_indexed && self.below(2) == 0 {
            let index = any_index(&mut self.state.rng, &spec, CLUSTERED);
            // The longest row has no room for a uniquifier.
            let keys = if index.unique || has_room(&spec) {
                index.keys
            } else {
                vec![("id".to_owned(), false)]
            };
            let unique = index.unique || !has_room(&spec);
            spec = spec.clustered(IndexSpec { included: Vec::new(), keys, unique, ..index });
        }
        let spec = Arc::new(spec);
        let created = self.workers[at].session.create_table(&spec);
        let change = Change::Create { name: name.clone(), spec };
        self.judge(at, &format!("create {name}"), created, |_| Some(change)).map(|_| ())
    }

    pub(crate) fn create_index(&mut self, at: usize) -> Result<(), RunStop> {
        const INDEXES_MAX: usize = 4;
        let Some((table, model)) = self.any_table(at) else { return Ok(()) };
        let name = format!("i{}", self.below(6));
        let is_taken = model.indexes.contains_key(&name) || model.disabled.contains_key(&name);
        if model.indexes.len() >= INDEXES_MAX || is_taken {
            return Ok(());
        }
        let mut spec = any_index(&mut self.state.rng, &model.spec, &name);
        if self.state.is_altered {
            spec = any_filter(&mut self.state.rng, spec);
        }
        let spec = Arc::new(spec);
        let opened = self.open_table(at, &table)?;
        let created = self.workers[at].session.create_index(&opened, &spec);
        let what = format!("index {name} on {table}: {:?} {:?}", spec.keys, spec.included);
        self.judge(at, &what, created, |_| Some(Change::Index { table, spec })).map(|_| ())
    }

    pub(crate) fn drop_index(&mut self, at: usize) -> Result<(), RunStop> {
        let Some((table, model)) = self.any_table(at) else { return Ok(()) };
        let chosen = self.below(model.indexes.len() as u64) as usize;
        let Some(name) =
            model.indexes.keys().nth(chosen).filter(|name| *name != CLUSTERED).cloned()
        else {
            return Ok(());
        };
        let opened = self.open_table(at, &table)?;
        let dropped = self.workers[at].session.drop_index(&opened, &name);
        let what = format!("drop index {name} of {table}");
        self.judge(at, &what, dropped, |_| Some(Change::Unindex { table, name })).map(|_| ())
    }

    /// Now and then the name of a table that the open transaction has dropped, to be used again.
    fn dropped_name(&mut self, at: usize) -> Option<String> {
        if !self.state.is_rich || self.below(2) == 0 {
            return None;
        }
        let view = self.view(at);
        let dropped = self.workers[at].changes.iter().rev().find_map(|change| match change {
            Change::Drop { name } => Some(name),
            _ => None,
        });
        dropped.filter(|name| !view.contains_key(*name)).cloned()
    }

    pub(crate) fn drop_table(&mut self, at: usize) -> Result<(), RunStop> {
        let Some((name, _)) = self.any_table(at) else { return Ok(()) };
        let table = self.open_table(at, &name)?;
        let dropped = self.workers[at].session.drop_table(&table);
        let change = Change::Drop { name: name.clone() };
        self.judge(at, &format!("drop {name}"), dropped, |_| Some(change)).map(|_| ())
    }

    pub(crate) fn truncate_table(&mut self, at: usize) -> Result<(), RunStop> {
        let Some((name, _)) = self.any_table(at) else { return Ok(()) };
        let table = self.open_table(at, &name)?;
        let truncated = self.workers[at].session.truncate_table(&table);
        let change = Change::Truncate { name: name.clone() };
        self.judge(at, &format!("truncate {name}"), truncated, |_| Some(change)).map(|_| ())
    }
}

/// True when rows of any values have room for a uniquifier.
fn has_room(table: &TableSpec) -> bool {
    const BYTES_MAX: usize = 8000;
    table.columns.iter().map(|column| column.ty.max_bytes().unwrap_or(1) + 3).sum::<usize>()
        < BYTES_MAX
}
