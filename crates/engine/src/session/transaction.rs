//! Begin and end of transactions and statements.
//!
//! A statement that fails is undone up to its start, where the log, the space that it freed and its
//! changes of the cached catalog are remembered; a savepoint is such a start with a name. A
//! transaction over several databases has a [`Branch`] in each, which begins with the first
//! statement there; it commits by two-phase commit ([`two_phase`](super::two_phase)). An undo that
//! needs a page which cannot be read leaves the database online: see
//! [`suspect`](crate::database::suspect).

use extentdb_base::sync::{Arc, MutexGuard, lock, read};
use extentdb_base::{Lsn, OwnerId};
use extentdb_space::{Freed, FreedMark};
use extentdb_txn::{Transaction, TransactionKind};

use crate::database::Database;
use crate::database::row_versions::Writing;
use crate::error::{Cause, Error};
use crate::session::branch::{Branch, DatabaseInUse};
use crate::session::context::{SessionState, StatementContext};
use crate::session::reference_checks::{ChecksMark, ReferenceChecks};
use crate::session::two_phase;

/// The state of a transaction in one database that a failed statement or a rollback to a savepoint
/// returns to.
#[derive(Clone, Copy, Default)]
pub(super) struct StatementStart {
    undo_until: Lsn,
    freed: FreedMark,
    stale: usize,
    changes: usize,
    checks: ChecksMark,
}

/// How a statement ends that has no error of its own to return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementEnd {
    /// Its effects stay.
    Done,
    /// Its effects are undone, in all databases.
    Failed,
}

/// A statement of several calls: see [`Session::begin_scope`](crate::Session::begin_scope).
#[derive(Debug)]
#[must_use = "the statement is open until `end_scope`"]
pub struct StatementScope {
    /// Where each branch stood, by the owner of its database's locks.
    starts: Vec<(Arc<Database>, StatementStart)>,
}

impl std::fmt::Debug for StatementStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.undo_until)
    }
}

impl StatementContext<'_> {
    pub(super) fn begin(&mut self) {
        self.begin_named("user_transaction");
        self.state.is_explicit = true;
    }

    /// Begins the branch of the transaction in the current database.
    fn begin_named(&mut self, name: &str) {
        if self.state.branch.tx.is_some() {
            return;
        }
        let transactions = &self.db.transactions;
        let kind = TransactionKind::User;
        let tx = match self.state.owner {
            Some(owner) => transactions.begin_as(owner, kind, name),
            None => transactions.begin(kind, name),
        };
        if self.state.owner.is_none() {
            self.state.snapshots.begin_transaction(self.state.isolation);
        }
        self.state.owner = Some(tx.owner());
        self.state.entry.task.set_owner(self.state.owner);
        self.state.branch.tx = Some(tx);
    }

    pub(super) fn begin_statement(&mut self, name: &str) -> Result<StatementStart, Error> {
        self.db.verify_in_service()?;
        self.state.verify_not_doomed()?;
        let handle = &self.state.entry.handle;
        if self.state.scopes == 0 {
            handle.cancellation().clear();
        }
        if handle.is_killed() {
            return Err(Error::Killed);
        }
        self.begin_named(name);
        Ok(self.state.branch.start())
    }

    /// Commits a statement that is a transaction by itself; undoes one that has failed.
    pub(super) fn end_statement<T>(
        &mut self,
        start: StatementStart,
        done: Result<T, Error>,
    ) -> Result<T, Error> {
        if self.state.scopes == 0 {
            self.state.end_statement_snapshot();
        }
        let is_alone = !self.state.is_explicit && self.state.scopes == 0;
        match done.map_err(|error| self.with_group_name(error)) {
            Ok(done) if !is_alone => Ok(done),
            Ok(done) => {
                self.commit()?;
                Ok(done)
            }
            Err(error) if is_alone => {
                self.rollback()?;
                Err(error)
            }
            Err(error) => {
                self.state.is_doomed |= error.dooms_transaction();
                let undone = self.state.branch.return_to(self.db, start);
                self.end_partial_undo(undone)?;
                Err(error)
            }
        }
    }

    /// Space knows filegroups by their numbers.
    fn with_group_name(&self, error: Error) -> Error {
        let groups = read(&self.db.catalog.filegroups);
        match error.group_without_files().and_then(|group| groups.name_of(group)) {
            Some(name) => Error::EmptyFilegroup { name: name.to_owned() },
            None => error,
        }
    }

    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.state.verify_not_doomed()?;
        let Some(owner) = self.state.owner.take() else { return Ok(()) };
        let decided = if self.state.others.is_empty() {
            self.state.branch.commit(self.db)
        } else {
            two_phase::commit(&mut self.state.branches(self.db))
        };
        if let Err(error) = decided {
            // What was not committed is rolled back; a branch whose commit failed has ended.
            let _ = self.roll_back_branches(owner);
            return Err(error);
        }
        // Before the first of its locks is released.
        self.state.publish_commit(self.db);
        let finished =
            self.state.each_branch(self.db, |db, branch| branch.finish_commit(db, owner));
        self.state.forget_transaction();
        finished
    }

    pub(super) fn rollback(&mut self) -> Result<(), Error> {
        let Some(owner) = self.state.owner.take() else { return Ok(()) };
        self.roll_back_branches(owner)
    }

    fn roll_back_branches(&mut self, owner: OwnerId) -> Result<(), Error> {
        let undone = self.state.each_branch(self.db, |db, branch| branch.roll_back(db, owner));
        self.state.forget_transaction();
        undone
    }

    pub(super) fn save(&mut self, name: &str) -> Result<(), Error> {
        self.state.verify_not_doomed()?;
        self.begin();
        self.state.each_branch(self.db, |_, branch| branch.save(name))
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.db.verify_online()?;
        self.state.verify_not_doomed()?;
        let mut branches = self.state.others.iter().map(|(_, branch)| branch);
        if !self.state.branch.has_savepoint(name) && !branches.any(|own| own.has_savepoint(name)) {
            return Err(Error::NoSavepoint { name: name.to_owned() });
        }
        let returned =
            self.state.each_branch(self.db, |db, branch| branch.return_to_savepoint(db, name));
        self.end_partial_undo(returned)
    }

    /// An undo up to the start of a statement or to a savepoint that has met a page which cannot be
    /// read has left the transaction somewhere in between: it can only be rolled back, and that
    /// waits for the page.
    fn end_partial_undo(&mut self, undone: Result<(), Error>) -> Result<(), Error> {
        self.state.is_doomed |= undone.as_ref().is_err_and(|error| error.cause() == Cause::BadPage);
        undone
    }

    pub(super) fn begin_scope(&mut self) -> Result<StatementScope, Error> {
        self.begin_statement("statement")?;
        let mut starts = Vec::new();
        self.state.each_branch(self.db, |db, branch| {
            starts.push((db.clone(), branch.start()));
            Ok(())
        })?;
        if self.state.scopes == 0 {
            self.state.branch.checks = Some(ReferenceChecks::default());
        }
        self.state.scopes += 1;
        Ok(StatementScope { starts })
    }

    pub(super) fn end_scope(
        &mut self,
        scope: StatementScope,
        end: StatementEnd,
    ) -> Result<(), Error> {
        self.state.scopes = self.state.scopes.saturating_sub(1);
        if self.state.scopes == 0 {
            self.state.end_statement_snapshot();
        }
        let is_alone = !self.state.is_explicit && self.state.scopes == 0;
        if self.state.scopes == 0
            && let Err(error) = self.end_checks(end)
        {
            self.end_scope_as(&scope, StatementEnd::Failed, is_alone)?;
            self.state.is_doomed |= error.is_deadlock();
            return Err(error);
        }
        self.end_scope_as(&scope, end, is_alone)
    }

    /// Makes the checks that wait for the end of a scope, which goes on.
    pub(super) fn verify_references_now(&mut self) -> Result<(), Error> {
        match self.state.branch.checks.as_mut().map(std::mem::take) {
            Some(checks) => self.verify_waiting(checks),
            None => Ok(()),
        }
    }

    /// Makes the checks that have waited for the end of a scope, unless it has failed.
    fn end_checks(&mut self, end: StatementEnd) -> Result<(), Error> {
        let checks = self.state.branch.checks.take();
        match end {
            StatementEnd::Done => self.verify_waiting(checks.unwrap_or_default()),
            StatementEnd::Failed => Ok(()),
        }
    }

    fn end_scope_as(
        &mut self,
        scope: &StatementScope,
        end: StatementEnd,
        is_alone: bool,
    ) -> Result<(), Error> {
        match end {
            StatementEnd::Done if is_alone => self.commit(),
            StatementEnd::Done => Ok(()),
            StatementEnd::Failed if is_alone => self.rollback(),
            StatementEnd::Failed => self.return_to_scope(scope),
        }
    }

    fn return_to_scope(&mut self, scope: &StatementScope) -> Result<(), Error> {
        let returned = self.state.each_branch(self.db, |db, branch| {
            let start = scope.starts.iter().find(|(own, _)| Arc::ptr_eq(own, db));
            // A branch that began in the scope is undone whole.
            branch.return_to(db, start.map(|(_, start)| *start).unwrap_or_default())
        });
        self.end_partial_undo(returned)
    }
}

impl SessionState {
    pub(super) fn verify_not_doomed(&self) -> Result<(), Error> {
        if self.is_doomed { Err(Error::Doomed) } else { Ok(()) }
    }

    /// All branches of the transaction, those of databases that were current before first.
    fn branches<'s>(&'s mut self, current: &'s Arc<Database>) -> two_phase::Branches<'s> {
        let others = self.others.iter_mut().map(|(db, branch)| (&**db, branch));
        others.chain([(current, &mut self.branch)]).collect()
    }

    /// Does something to all branches, in the order of [`branches`](Self::branches); returns the
    /// first error.
    fn each_branch(
        &mut self,
        current: &Arc<Database>,
        mut work: impl FnMut(&Arc<Database>, &mut Branch) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let others = self.others.iter_mut().map(|(db, branch)| work(db, branch));
        let done = others.fold(Ok(()), Result::and);
        done.and(work(current, &mut self.branch))
    }

    /// The session has left a database for another. Its branch of the open transaction waits there.
    pub(super) fn change_database(&mut self, left: DatabaseInUse, current: &Arc<Database>) {
        let known = self.others.iter().position(|(db, _)| Arc::ptr_eq(db, current));
        let entered = known.map_or_else(Branch::default, |at| self.others.remove(at).1);
        let branch = std::mem::replace(&mut self.branch, entered);
        if branch.tx.is_some() {
            self.others.push((left, branch));
        }
    }

    /// No transaction is open.
    fn forget_transaction(&mut self) {
        self.owner = None;
        self.entry.task.set_owner(None);
        self.is_explicit = false;
        self.is_doomed = false;
        self.others.clear();
        self.snapshots.end_transaction();
    }
}

impl Branch {
    /// Where a statement begins.
    pub(super) fn start(&self) -> StatementStart {
        let undo_until = |tx: &Transaction| tx.undo_next().max(tx.begin_lsn());
        StatementStart {
            undo_until: self.tx.as_ref().map_or(Lsn::ZERO, undo_until),
            freed: self.freed.mark(),
            stale: self.stale.len(),
            changes: self.changes.len(),
            checks: self.checks.as_ref().map(ReferenceChecks::mark),
        }
    }

    pub(super) fn return_to(&mut self, db: &Database, start: StatementStart) -> Result<(), Error> {
        let _ddl = self.lock_catalog_from(db, start.changes);
        match (&mut self.checks, start.checks) {
            (Some(checks), Some(mark)) => checks.return_to(mark),
            (checks, _) => *checks = None,
        }
        self.undo_to(db, start.undo_until)?;
        if let Some(tx) = &self.tx {
            db.catalog.changes.note_undo(tx.owner());
        }
        // The undo has reallocated what was freed since then.
        self.freed.return_to(start.freed);
        self.restore_stale(start.stale);
        self.roll_back_changes(db, start.changes);
        Ok(())
    }

    /// Makes the commit durable: the first step of an end.
    ///
    /// # Errors
    /// The database is offline, and its next opening finds out whether the transaction is
    /// committed.
    pub(super) fn commit(&mut self, db: &Database) -> Result<(), Error> {
        let Some(tx) = self.tx.take() else { return Ok(()) };
        let owner = tx.owner();
        let ended = if db.is_ephemeral() { tx.commit_delayed() } else { tx.commit() };
        if let Err(error) = ended.map_err(Error::from) {
            db.go_offline(&error);
            // It may still be open in the log: its space stays reserved until the next restart.
            self.forget_reserved();
            self.end(db, owner);
            return Err(error);
        }
        Ok(())
    }

    /// What follows the commit in memory: the cached catalog, locks, freed space, a checkpoint.
    pub(super) fn finish_commit(&mut self, db: &Database, owner: OwnerId) -> Result<(), Error> {
        if !self.changes.is_empty() {
            let _ddl = lock(&db.ddl);
            for change in std::mem::take(&mut self.changes) {
                db.catalog.commit(change);
            }
        }
        self.end(db, owner);
        db.space.release(std::mem::take(&mut self.freed))?;
        db.space.release(std::mem::take(&mut self.undone))?;
        db.checkpoint_if_due()
    }

    /// Undoes everything, and ends the transaction in this database.
    pub(super) fn roll_back(&mut self, db: &Database, owner: OwnerId) -> Result<(), Error> {
        let Some(mut tx) = self.tx.take() else { return Ok(()) };
        let begin = tx.begin_lsn();
        // Checkpoints, which read the catalog under the same mutex, see it before the undo or
        // after it, and its rows with it.
        let ddl = self.lock_catalog_from(db, 0);
        let undone = db.undo_to(&mut tx, begin, &mut self.undone);
        if let Err(error) = &undone {
            if self.can_defer(error) {
                db.defer_rollback(&tx, error)?;
                self.forget_deferred();
                return undone;
            }
            db.go_offline(error);
            self.forget_reserved();
        }
        let undone = undone.and_then(|()| {
            tx.abort().map_err(Error::from).inspect_err(|error| {
                db.go_offline(error);
                self.forget_reserved();
            })
        });
        self.roll_back_changes(db, 0);
        db.catalog.changes.note_undo(owner);
        drop(ddl);
        // The undo has reallocated what the transaction had freed.
        self.freed = Freed::default();
        self.restore_stale(0);
        self.end(db, owner);
        db.space.release(std::mem::take(&mut self.undone))?;
        undone.map(|_| ())
    }

    /// Can the rollback that met this error wait for the next opening? One of DDL cannot: the
    /// catalog must be whole.
    fn can_defer(&self, error: &Error) -> bool {
        error.cause() == Cause::BadPage && self.changes.is_empty()
    }

    /// The transaction stays open in this database, its locks are held, the log keeps its records:
    /// the next opening ends it. The session begins another transaction.
    pub(super) fn forget_deferred(&mut self) {
        if let Some(Writing::Versioned(writer)) = self.writing.take() {
            writer.leave_open();
        }
        *self = Branch::default();
    }

    /// Releases the reserved space and the locks of a transaction that has ended.
    fn end(&mut self, db: &Database, owner: OwnerId) {
        for (heap, reserved) in self.reserved.drain(..) {
            heap.give_back(reserved);
        }
        db.catalog.changes.forget(owner);
        self.end_lobs(db);
        // Of a rollback: no record has its tag any more.
        self.writing = None;
        db.locks.release_all(owner);
        if std::mem::take(&mut self.is_serializable) {
            db.serializers.leave();
        }
        self.clear();
    }

    fn save(&mut self, name: &str) -> Result<(), Error> {
        let start = self.start();
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let lsn = tx.savepoint(name)?;
        self.savepoints.insert(lsn, StatementStart { undo_until: lsn, ..start });
        Ok(())
    }

    fn has_savepoint(&self, name: &str) -> bool {
        self.tx.as_ref().is_some_and(|tx| tx.has_savepoint(name))
    }

    /// Returns to a savepoint; a branch that began after it is undone whole.
    fn return_to_savepoint(&mut self, db: &Database, name: &str) -> Result<(), Error> {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let until = tx.return_to(name).unwrap_or(Lsn::ZERO);
        let start = self.savepoints.get(&until).copied().unwrap_or_default();
        self.return_to(db, start)?;
        self.savepoints.retain(|lsn, _| *lsn <= until);
        Ok(())
    }

    /// Locks the cached catalog while changes of it since `from` are undone; nothing when there are
    /// none. The holder of the mutex never waits for a lock of a transaction, so a rollback may
    /// wait for it.
    fn lock_catalog_from<'d>(&self, db: &'d Database, from: usize) -> Option<MutexGuard<'d, ()>> {
        (self.changes.len() > from).then(|| lock(&db.ddl))
    }

    /// The cached catalog follows an undo of all changes since `from`.
    fn roll_back_changes(&mut self, db: &Database, from: usize) {
        for change in self.changes.split_off(from).into_iter().rev() {
            db.catalog.roll_back(change);
        }
    }

    /// Undoes all records of the transaction after `until`.
    fn undo_to(&mut self, db: &Database, until: Lsn) -> Result<(), Error> {
        for table in self.own_identities.iter().filter_map(|id| db.catalog.table_by_id(*id)) {
            table.storage().identity.iter().for_each(|identity| identity.invalidate_stored());
        }
        let Some(tx) = &mut self.tx else { return Ok(()) };
        // A transaction whose first statement failed keeps its begin record.
        let until = until.max(tx.begin_lsn());
        db.undo_to(tx, until, &mut self.undone).inspect_err(|error| {
            if !self.can_defer(error) {
                db.go_offline(error);
            }
        })
    }
}
