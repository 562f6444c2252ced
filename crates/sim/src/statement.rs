//! Statements on rows, and the end of a transaction: chosen from the model, executed by a session,
//! judged by the model.
//!
//! ```text
//! step    choose ─▶ execute ─▶ judge              one session, on the thread of the simulation
//! round   choose ─▶ execute, each session on a    all sessions; only where the schedule of threads
//!         choose    thread of its own ─▶ judge    follows from a seed (`--cfg shuttle`)
//! ```
//!
//! No two statements of a round have the same row, none has a row of a transaction that commits in
//! it, and transactions with DDL end in steps only: in whatever order the statements of a round are
//! executed, the model is the same.

use std::collections::BTreeSet;

use extentdb_base::sync::{Arc, thread};
use extentdb_base::{PageId, Rid};
use extentdb_engine::{Address, Error, Row, Table};

use crate::kind::RunKind;
use crate::model::{Change, StoredRow};
use crate::property::rows;
use crate::schema::{PartChange, any_part, any_row, with_computed};
use crate::workload::{RunStop, Worker, Workload};

/// A row by the name of its table and its id.
type RowName = (String, i32);

/// A statement with all that it needs.
pub(crate) enum Statement {
    /// `values` go in; `row` is read back, computed columns included.
    Insert {
        table: Arc<Table>,
        name: RowName,
        values: Row,
        row: Row,
    },
    Update {
        table: Arc<Table>,
        name: RowName,
        stored: StoredRow,
        values: Row,
        row: Row,
    },
    /// A part of a value is replaced.
    Write {
        table: Arc<Table>,
        name: RowName,
        stored: StoredRow,
        change: PartChange,
        row: Row,
    },
    Delete {
        table: Arc<Table>,
        name: RowName,
        stored: StoredRow,
    },
    Get {
        table: Arc<Table>,
        name: RowName,
        stored: StoredRow,
    },
    Commit,
    Rollback,
}

/// What the engine answered.
pub(crate) enum Answer {
    Address(Result<Address, Error>),
    Row(Result<Option<Row>, Error>),
    Done(Result<(), Error>),
}

impl Statement {
    fn run(&self, worker: &mut Worker) -> Answer {
        let session = &mut worker.session;
        match self {
            Statement::Insert { table, values, .. } => {
                Answer::Address(session.insert(table, values))
            }
            Statement::Update { table, stored, values, .. } => {
                Answer::Address(session.update(table, &stored.at, values))
            }
            Statement::Write { table, stored, change, .. } => {
                let PartChange { column, part, data } = change;
                let data = &mut data.as_slice();
                Answer::Address(session.write_lob(table, &stored.at, column, *part, data))
            }
            Statement::Delete { table, stored, .. } => {
                Answer::Done(session.delete(table, &stored.at))
            }
            Statement::Get { table, stored, .. } => Answer::Row(session.get(table, &stored.at)),
            Statement::Commit => Answer::Done(session.commit()),
            Statement::Rollback => Answer::Done(session.rollback()),
        }
    }

    fn row_name(&self) -> Option<&RowName> {
        match self {
            Statement::Insert { name, .. }
            | Statement::Update { name, .. }
            | Statement::Write { name, .. }
            | Statement::Delete { name, .. }
            | Statement::Get { name, .. } => Some(name),
            Statement::Commit | Statement::Rollback => None,
        }
    }
}

impl Workload<'_, '_> {
    /// `None` when the session sees no table.
    pub(crate) fn choose_insert(&mut self, at: usize) -> Result<Option<Statement>, RunStop> {
        let Some((name, model)) = self.any_table(at) else { return Ok(None) };
        let table = self.open_table(at, &name)?;
        let id = self.state.next_id;
        self.state.next_id += 1;
        let values =
            any_row(&mut self.state.rng, &model.spec, id, self.state.environment.row_sizes);
        let row = with_computed(&model.spec, id, values.clone());
        Ok(Some(Statement::Insert { table, name: (name, id), values, row }))
    }

    /// `None` when the table has no row.
    pub(crate) fn choose_update(&mut self, at: usize) -> Result<Option<Statement>, RunStop> {
        let Some((name, model, id, stored)) = self.any_row(at) else { return Ok(None) };
        let table = self.open_table(at, &name)?;
        if self.state.kind == RunKind::Lobs
            && self.below(3) != 0
            && let Some((change, row)) = any_part(&mut self.state.rng, &model.spec, &stored.row)
        {
            return Ok(Some(Statement::Write { table, name: (name, id), stored, change, row }));
        }
        let values =
            any_row(&mut self.state.rng, &model.spec, id, self.state.environment.row_sizes);
        let row = with_computed(&model.spec, id, values.clone());
        Ok(Some(Statement::Update { table, name: (name, id), stored, values, row }))
    }

    /// `None` when the table has no row.
    pub(crate) fn choose_delete(&mut self, at: usize) -> Result<Option<Statement>, RunStop> {
        let Some((name, _, id, stored)) = self.any_row(at) else { return Ok(None) };
        let table = self.open_table(at, &name)?;
        Ok(Some(Statement::Delete { table, name: (name, id), stored }))
    }

    /// `None` when the table has no row.
    pub(crate) fn choose_get(&mut self, at: usize) -> Result<Option<Statement>, RunStop> {
        let Some((name, _, id, stored)) = self.any_row(at) else { return Ok(None) };
        let table = self.open_table(at, &name)?;
        Ok(Some(Statement::Get { table, name: (name, id), stored }))
    }

    /// Executes one statement and judges it.
    pub(crate) fn execute(&mut self, at: usize, statement: Statement) -> Result<(), RunStop> {
        let answer = statement.run(&mut self.workers[at]);
        self.judge_answer(at, statement, answer)
    }

    /// One statement of each session, all at the same time.
    pub(crate) fn round(&mut self) -> Result<(), RunStop> {
        let statements = self.choose_round()?;
        self.state.report.steps += statements.iter().flatten().count() as u64;
        self.is_concurrent = true;
        let answers: Vec<Option<Answer>> = thread::scope(|scope| {
            let threads: Vec<_> = self
                .workers
                .iter_mut()
                .zip(&statements)
                .map(|(worker, statement)| {
                    let statement = statement.as_ref()?;
                    Some(scope.spawn(move || statement.run(worker)))
                })
                .collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Answer>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(|thread| thread.map(join)).collect()
        });
        // All are judged, even when one says that everything has stopped.
        let mut judged = Ok(());
        for (at, (statement, answer)) in statements.into_iter().zip(answers).enumerate() {
            let (Some(statement), Some(answer)) = (statement, answer) else { continue };
            judged = match (judged, self.judge_answer(at, statement, answer)) {
                (Err(RunStop::Wrong(what)), _) => Err(RunStop::Wrong(what)),
                (Err(RunStop::Dead), Ok(())) => Err(RunStop::Dead),
                (_, own) => own,
            };
        }
        self.is_concurrent = false;
        judged
    }

    /// For each session a statement whose row no other session of the round has.
    fn choose_round(&mut self) -> Result<Vec<Option<Statement>>, RunStop> {
        let mut statements = Vec::new();
        let mut committing = BTreeSet::new();
        let mut chosen = BTreeSet::new();
        for at in 0..self.workers.len() {
            let worker = &self.workers[at];
            // The end of a transaction with DDL changes the tables that the others see.
            let may_end = worker.session.is_in_transaction()
                && worker.changes.iter().all(|change| changed_row(change).is_some());
            let statement = match self.below(20) {
                0..=1 if may_end => Some(Statement::Commit),
                2 if may_end => Some(Statement::Rollback),
                3..=4 => self.choose_get(at)?,
                5..=10 => self.choose_update(at)?,
                11..=12 => self.choose_delete(at)?,
                _ => self.choose_insert(at)?,
            };
            if matches!(statement, Some(Statement::Commit)) {
                committing.extend(self.workers[at].changes.iter().filter_map(changed_row));
            }
            let row = statement.as_ref().and_then(Statement::row_name).cloned();
            statements.push(statement.filter(|_| row.is_none_or(|row| chosen.insert(row))));
        }
        for statement in &mut statements {
            let row = statement.as_ref().and_then(Statement::row_name);
            if row.is_some_and(|row| committing.contains(row)) {
                *statement = None;
            }
        }
        Ok(statements)
    }

    fn judge_answer(
        &mut self,
        at: usize,
        statement: Statement,
        answer: Answer,
    ) -> Result<(), RunStop> {
        match (statement, answer) {
            (Statement::Insert { name: (name, id), row, .. }, Answer::Address(inserted)) => {
                let address = inserted.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
                let what = format!("insert {id} into {name}{address}");
                self.judge(at, &what, inserted, |at| put(&name, id, at, row)).map(|_| ())
            }
            (
                Statement::Update { name: (name, id), stored, row, .. }
                | Statement::Write { name: (name, id), stored, row, .. },
                Answer::Address(updated),
            ) => {
                let what = format!("update {id} of {name} at {}", stored.at);
                self.judge(at, &what, updated, |at| put(&name, id, at, row)).map(|_| ())
            }
            (Statement::Delete { name: (name, id), stored, .. }, Answer::Done(deleted)) => {
                let what = format!("delete {id} of {name} at {}", stored.at);
                let change = Change::Remove { table: name, id };
                self.judge(at, &what, deleted, |_| Some(change)).map(|_| ())
            }
            (Statement::Get { name: (name, id), stored, .. }, Answer::Row(found)) => {
                let what = format!("get {id} of {name} at {}", stored.at);
                match self.judge(at, &what, found, |_| None)? {
                    Some(found) if found.as_ref() != Some(&*stored.row) => {
                        let found = found.as_ref().map(rows::id_of);
                        let at = stored.at;
                        Err(RunStop::Wrong(format!(
                            "row {id} of {name} at {at} reads as {found:?}"
                        )))
                    }
                    _ => Ok(()),
                }
            }
            (Statement::Commit, Answer::Done(committed)) => self.judge_commit(at, committed),
            (Statement::Rollback, Answer::Done(done)) => self.judge_rollback(at, done),
            _ => unreachable!("an answer to another statement"),
        }
    }

    fn judge_commit(&mut self, at: usize, committed: Result<(), Error>) -> Result<(), RunStop> {
        let worker = &mut self.workers[at];
        let changes = std::mem::take(&mut worker.changes);
        worker.savepoints.clear();
        self.state.trace.note(format!(
            "{at}: commit of {} changes: {}",
            changes.len(),
            committed.is_ok()
        ));
        match committed {
            Ok(()) => self.acknowledged(changes),
            Err(_) if self.is_faulty() => {
                self.state.in_doubt.push(changes);
                Err(RunStop::Dead)
            }
            Err(error) => Err(RunStop::Wrong(format!("commit: {error:?}"))),
        }
    }

    fn judge_rollback(&mut self, at: usize, done: Result<(), Error>) -> Result<(), RunStop> {
        let worker = &mut self.workers[at];
        let undone = std::mem::take(&mut worker.changes).len();
        worker.savepoints.clear();
        self.state.report.rollbacks += 1;
        self.state.trace.note(format!("{at}: rollback of {undone} changes: {}", done.is_ok()));
        match done {
            Ok(()) => Ok(()),
            Err(_) if self.is_faulty() => Err(RunStop::Dead),
            Err(error) => Err(RunStop::Wrong(format!("rollback: {error:?}"))),
        }
    }
}

fn changed_row(change: &Change) -> Option<RowName> {
    match change {
        Change::Put { table, id, .. } | Change::Remove { table, id } => Some((table.clone(), *id)),
        _ => None,
    }
}

/// `None` for the address: the statement is in doubt.
fn put(table: &str, id: i32, address: Option<&Address>, row: Row) -> Option<Change> {
    let unknown = Address::Rid(Rid::new(PageId::NONE, 0));
    let stored = StoredRow { at: address.cloned().unwrap_or(unknown), row: Arc::new(row) };
    Some(Change::Put { table: table.to_owned(), id, stored })
}
