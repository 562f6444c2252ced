//! Begin and end of transactions and statements.
//!
//! A statement that fails is undone up to its start, where the log, the space that it freed and its
//! changes of the cached catalog are remembered; a savepoint is such a start with a name.

use extentdb_base::sync::lock;
use extentdb_base::{Lsn, OwnerId};
use extentdb_space::{Freed, FreedMark};
use extentdb_txn::{Transaction, TransactionKind};

use crate::error::{Cause, Error};
use crate::session::context::StatementContext;

/// The state of a transaction that a failed statement or a rollback to a savepoint returns to.
#[derive(Clone, Copy)]
pub(super) struct StatementStart {
    undo_until: Lsn,
    freed: FreedMark,
    stale: usize,
    changes: usize,
}

impl StatementContext<'_> {
    pub(super) fn begin(&mut self) {
        self.begin_named("user_transaction");
        self.state.is_explicit = true;
    }

    fn begin_named(&mut self, name: &str) {
        if self.state.tx.is_none() {
            self.state.tx = Some(self.db.transactions.begin(TransactionKind::User, name));
        }
    }

    fn verify_not_doomed(&self) -> Result<(), Error> {
        if self.state.is_doomed { Err(Error::Doomed) } else { Ok(()) }
    }

    pub(super) fn begin_statement(&mut self, name: &str) -> Result<StatementStart, Error> {
        self.db.verify_online()?;
        self.verify_not_doomed()?;
        self.state.cancellation.clear();
        self.begin_named(name);
        let undo_until = |tx: &Transaction| tx.undo_next().max(tx.begin_lsn());
        Ok(StatementStart {
            undo_until: self.state.tx.as_ref().map_or(Lsn::ZERO, undo_until),
            freed: self.state.freed.mark(),
            stale: self.state.stale.len(),
            changes: self.state.changes.len(),
        })
    }

    /// Commits a statement that is a transaction by itself; undoes one that has failed.
    pub(super) fn end_statement<T>(
        &mut self,
        start: StatementStart,
        done: Result<T, Error>,
    ) -> Result<T, Error> {
        match done {
            Ok(done) if self.state.is_explicit => Ok(done),
            Ok(done) => {
                self.commit()?;
                Ok(done)
            }
            Err(error) if !self.state.is_explicit => {
                self.rollback()?;
                Err(error)
            }
            Err(error) => {
                self.state.is_doomed = error.is_deadlock();
                self.return_to(start)?;
                Err(error)
            }
        }
    }

    fn return_to(&mut self, start: StatementStart) -> Result<(), Error> {
        let _ddl = self.lock_catalog_from(start.changes);
        self.undo_to(start.undo_until)?;
        // The undo has reallocated what was freed since then.
        self.state.freed.return_to(start.freed);
        self.restore_stale(start.stale);
        self.roll_back_changes(start.changes);
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.verify_not_doomed()?;
        let db = self.db;
        let Some(tx) = self.state.tx.take() else { return Ok(()) };
        let owner = tx.owner();
        if let Err(error) = tx.commit().map_err(Error::from) {
            db.go_offline(&error);
            // It may still be open in the log: its space stays reserved until the next restart.
            self.state.forget_reserved();
            self.end(owner);
            return Err(error);
        }
        if !self.state.changes.is_empty() {
            let _ddl = lock(&db.ddl);
            for change in std::mem::take(&mut self.state.changes) {
                db.catalog.commit(change);
            }
        }
        self.end(owner);
        db.space.release(std::mem::take(&mut self.state.freed))?;
        db.space.release(std::mem::take(&mut self.state.undone))?;
        db.checkpoint_if_due()
    }

    pub(super) fn rollback(&mut self) -> Result<(), Error> {
        let db = self.db;
        let Some(mut tx) = self.state.tx.take() else { return Ok(()) };
        let owner = tx.owner();
        let begin = tx.begin_lsn();
        // Checkpoints, which read the catalog under the same mutex, see it before the undo or
        // after it, and its rows with it.
        let ddl = self.lock_catalog_from(0);
        let undone = db.undo_to(&mut tx, begin, &mut self.state.undone);
        if let Err(error) = &undone {
            if error.cause() == Cause::BadPage && self.state.changes.is_empty() {
                db.defer_rollback(&tx, error)?;
                self.forget_deferred();
                return undone;
            }
            db.go_offline(error);
            self.state.forget_reserved();
        }
        let undone = undone.and_then(|()| {
            tx.abort().map_err(Error::from).inspect_err(|error| {
                db.go_offline(error);
                self.state.forget_reserved();
            })
        });
        self.roll_back_changes(0);
        drop(ddl);
        // The undo has reallocated what the transaction had freed.
        self.state.freed = Freed::default();
        self.restore_stale(0);
        self.end(owner);
        db.space.release(std::mem::take(&mut self.state.undone))?;
        undone.map(|_| ())
    }

    /// The rollback needs a page that cannot be read. The transaction stays open, its locks are
    /// held, the log keeps its records: the next opening continues the rollback. The session begins
    /// another transaction.
    fn forget_deferred(&mut self) {
        self.state.freed = Freed::default();
        self.state.undone = Freed::default();
        self.state.forget_reserved();
        self.state.forget_transaction();
    }

    /// Releases the reserved space and the locks of a transaction that has ended.
    fn end(&mut self, owner: OwnerId) {
        for (heap, reserved) in self.state.reserved.drain(..) {
            heap.give_back(reserved);
        }
        self.end_lobs();
        self.db.locks.release_all(owner);
        self.state.leave_serializable(self.db);
        self.state.forget_transaction();
    }

    pub(super) fn save(&mut self, name: &str) -> Result<(), Error> {
        self.verify_not_doomed()?;
        self.begin();
        let lsn = self.tx()?.savepoint(name)?;
        let start = StatementStart {
            undo_until: lsn,
            freed: self.state.freed.mark(),
            stale: self.state.stale.len(),
            changes: self.state.changes.len(),
        };
        self.state.savepoints.insert(lsn, start);
        Ok(())
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.db.verify_online()?;
        self.verify_not_doomed()?;
        let missing = || Error::NoSavepoint { name: name.to_owned() };
        let tx = self.state.tx.as_mut().ok_or_else(missing)?;
        let until = tx.return_to(name).map_err(|_| missing())?;
        let start = self.state.savepoints.get(&until).copied().ok_or_else(missing)?;
        self.return_to(start)?;
        self.state.savepoints.retain(|lsn, _| *lsn <= until);
        Ok(())
    }
}
