//! The part of a session's transaction in one database.
//!
//! ```text
//! Session ── transaction ──┬─ Branch in the current database
//!                          ├─ Branch in another one      each with log records, locks, freed space
//!                          └─ …                          and catalog changes of its own
//! ```
//!
//! All branches have one owner of locks, so that deadlocks through several databases are found, and
//! end together ([`transaction`](super::transaction)). A session that stays in one database has one
//! branch, which is empty between transactions.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;
use extentdb_base::sync::atomic::Ordering;
use extentdb_base::{AllocUnitId, Lsn, ObjectId, PageId};
use extentdb_rowset::LobUnit;
use extentdb_rowset::heap::{Heap, ReservedRoom};
use extentdb_space::Freed;
use extentdb_txn::Transaction;
use extentdb_txn::lock::LockMode;

use crate::catalog::DeferredChange;
use crate::database::Database;
use crate::database::row_versions::Writing;
use crate::error::{Cause, Error};
use crate::session::reference_checks::ReferenceChecks;
use crate::session::seen::BranchSnapshots;
use crate::session::transaction::StatementStart;

/// What a transaction has changed in a unit of values off rows.
pub(super) struct ChangedLob {
    pub(super) unit: Arc<LobUnit>,
    /// Reserved for its undo until it ends.
    pub(super) reserved: Vec<ReservedRoom>,
}

/// A page that the transaction has freed while its class in PFS was out of date.
pub(super) struct StalePage {
    pub(super) unit: Arc<LobUnit>,
    pub(super) page: PageId,
}

/// What a transaction has in one database until it ends.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) tx: Option<Transaction>,
    /// Space of heap pages that is reserved until the transaction ends, for its undo.
    pub(super) reserved: Vec<(Arc<Heap>, ReservedRoom)>,
    /// Units of values off rows that the transaction has changed.
    pub(super) lobs: BTreeMap<AllocUnitId, ChangedLob>,
    /// What a rollback must look at again.
    pub(super) stale: Vec<StalePage>,
    /// The table that the transaction locked last, and its mode: table locks are held to its end.
    pub(super) last_table: Option<(ObjectId, LockMode)>,
    /// Has the transaction read a range under SERIALIZABLE?
    pub(super) is_serializable: bool,
    /// Pages and extents that the transaction freed: reused only after its commit.
    pub(super) freed: Freed,
    /// Pages and extents that an undo freed. The transaction may hold locks on their rows: they are
    /// reused after these are released.
    pub(super) undone: Freed,
    pub(super) changes: Vec<DeferredChange>,
    /// Tables whose identity column the transaction has added.
    pub(super) own_identities: Vec<ObjectId>,
    /// Checks that wait for the end of the statement; `None` outside of one of several rows.
    pub(super) checks: Option<ReferenceChecks>,
    pub(super) savepoints: BTreeMap<Lsn, StatementStart>,
    /// How the transaction changes rows; `None` before its first change.
    pub(super) writing: Option<Writing>,
    /// What it sees in this database under SNAPSHOT, and its statement under READ COMMITTED.
    pub(super) snapshots: BranchSnapshots,
}

impl Branch {
    /// Leaves everything as between two transactions.
    pub(super) fn clear(&mut self) {
        self.stale.clear();
        self.last_table = None;
        self.savepoints.clear();
        self.own_identities.clear();
        self.checks = None;
        self.writing = None;
        self.snapshots = BranchSnapshots::default();
    }

    /// The transaction may still be open in the log: its space stays reserved until the next
    /// restart.
    pub(super) fn forget_reserved(&mut self) {
        self.reserved.clear();
        self.lobs.clear();
    }

    /// An undo has allocated again what was freed since `from`.
    pub(super) fn restore_stale(&mut self, from: usize) {
        for StalePage { unit, page } in self.stale.split_off(from.min(self.stale.len())) {
            unit.restored([page]);
        }
    }

    /// The transaction has ended in the log: text pages that have lost their last record are
    /// freed. Its locks are still held, so that no unit is dropped meanwhile.
    pub(super) fn end_lobs(&mut self, db: &Database) {
        for ChangedLob { unit, reserved } in std::mem::take(&mut self.lobs).into_values() {
            if db.catalog.units.get(unit.unit().id()).is_none() {
                continue;
            }
            match unit.end(reserved).map_err(Error::from) {
                Ok(()) => {}
                // Such pages stay allocated, and are filled again.
                Err(error)
                    if matches!(
                        error.cause(),
                        Cause::LogFull | Cause::BadPage | Cause::Offline
                    ) => {}
                Err(error) => db.go_offline(&error),
            }
        }
    }

    /// Has the transaction written to the log of the database?
    pub(super) fn has_changed(&self) -> bool {
        self.tx.as_ref().is_some_and(|tx| !tx.begin_lsn().is_zero())
    }
}

/// A database that a session uses: it is not closed meanwhile.
pub(super) struct DatabaseInUse(Arc<Database>);

impl DatabaseInUse {
    pub(super) fn new(db: &Arc<Database>) -> DatabaseInUse {
        // The tasks of the background have sessions of their own in it.
        db.own.get_or_init(|| Arc::downgrade(db));
        db.open_sessions.fetch_add(1, Ordering::SeqCst);
        DatabaseInUse(db.clone())
    }
}

impl std::ops::Deref for DatabaseInUse {
    type Target = Arc<Database>;

    fn deref(&self) -> &Arc<Database> {
        &self.0
    }
}

impl Drop for DatabaseInUse {
    fn drop(&mut self) {
        self.0.open_sessions.fetch_sub(1, Ordering::SeqCst);
    }
}
