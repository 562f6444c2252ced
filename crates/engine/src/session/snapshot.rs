//! What statements see under SNAPSHOT, and under READ COMMITTED in a database with
//! READ_COMMITTED_SNAPSHOT.
//!
//! ```text
//!                    snapshot taken                         for              given up
//! SNAPSHOT           at the first access of data            the transaction  at its end
//! READ COMMITTED     at the first reading of the statement  the statement    at its end
//! ```
//!
//! One snapshot serves all databases of the transaction or statement. A reading gets it when its
//! table is locked (Sch-S): what DDL has changed since the snapshot was taken is refused, because
//! tables have no versions. Catalog and system tables are read under locks.
//!
//! With locking hints a reading sees what is there now; under SNAPSHOT a change of a row that the
//! snapshot does not see is an update conflict.

use std::time::Duration;

use extentdb_base::sync::Arc;
use extentdb_rowset::version::{Snapshot, VersionTag, Versioning};
use extentdb_txn::versions::{SnapshotKind, TakenSnapshot};

use crate::catalog::{Address, Storage, Table};
use crate::database::Database;
use crate::database::row_versions::{SnapshotIsolationState, Writing};
use crate::error::Error;
use crate::scan::hints::{Granularity, OnConflict, ReadHints, RowLock, UseVersions};
use crate::session::context::SessionState;
use crate::session::seen::{RowWriter, SeenHere, SeenVersions};
use crate::session::{Isolation, StatementContext};

impl SessionState {
    /// The statement is over: it reads nothing more.
    pub(super) fn end_statement_snapshot(&mut self) {
        if self.snapshots.statement.take().is_some() {
            self.branch.snapshots.statement = None;
            self.others.iter_mut().for_each(|(_, branch)| branch.snapshots.statement = None);
        }
    }

    /// The commit is durable in all databases: snapshots that are taken from now on see it. The
    /// locks are still held.
    pub(super) fn publish_commit(&mut self, db: &Database) {
        let others = self.others.iter_mut().map(|(_, branch)| branch);
        let branches = others.chain([&mut self.branch]);
        let writers: Vec<_> = branches
            .filter_map(|branch| match branch.writing.take() {
                Some(Writing::Versioned(writer)) => Some(writer),
                _ => None,
            })
            .collect();
        if writers.is_empty() {
            return;
        }
        let versions = &db.services.versions;
        if self.snapshots.transaction.is_some() {
            versions.counters.count_snapshot_update();
        }
        let number = versions.commits.commit(writers);
        let others = self.others.iter().map(|(db, branch)| (&***db, branch));
        for (db, branch) in others.chain([(db, &self.branch)]) {
            let tables = branch.changes.iter().filter_map(|change| change.table());
            db.row_versions.note_redefined(tables.map(|table| table.id()), number);
        }
    }
}

impl StatementContext<'_> {
    /// Which snapshot a reading wants.
    fn wanted_snapshot(&self, hints: ReadHints) -> Option<SnapshotKind> {
        let is_locking = hints.row_lock != RowLock::ByIsolation;
        match self.level(hints) {
            _ if hints.versions == UseVersions::Never => None,
            Isolation::Snapshot if hints.versions == UseVersions::BeforeChange || !is_locking => {
                Some(SnapshotKind::Transaction)
            }
            _ if is_locking => None,
            // With these hints it asks for locks.
            _ if hints.granularity == Granularity::Table => None,
            _ if hints.on_conflict == OnConflict::Skip => None,
            Isolation::ReadCommitted if self.db().is_read_committed_snapshot() => {
                Some(SnapshotKind::Statement)
            }
            _ => None,
        }
    }

    /// Does a reading see versions, so that it locks nothing but the definition of its table?
    pub(crate) fn reads_versions(&self, hints: ReadHints) -> bool {
        self.wanted_snapshot(hints).is_some()
    }

    /// Prepares a reading of a table, which is locked.
    ///
    /// # Errors
    /// SNAPSHOT is not allowed here, or DDL has changed the table since.
    pub(crate) fn begin_reading(&mut self, table: &Table, hints: ReadHints) -> Result<(), Error> {
        match self.wanted_snapshot(hints) {
            None if self.level(hints) == Isolation::Snapshot => self.begin_change(table),
            None => Ok(()),
            Some(kind) => self.ensure_snapshot(table, kind),
        }
    }

    /// Prepares a change of rows of a table, which is locked: under SNAPSHOT it needs the snapshot.
    ///
    /// # Errors
    /// As for [`begin_reading`](Self::begin_reading).
    pub(crate) fn begin_change(&mut self, table: &Table) -> Result<(), Error> {
        if self.isolation() == Isolation::Snapshot {
            self.ensure_snapshot(table, SnapshotKind::Transaction)?;
        }
        Ok(())
    }

    fn ensure_snapshot(&mut self, table: &Table, kind: SnapshotKind) -> Result<(), Error> {
        let seen = match self.snapshot_here(kind) {
            Some(seen) => seen.clone(),
            None => self.enter_snapshot(kind)?,
        };
        if self.db().row_versions.is_redefined_since(table.id(), seen.0.number()) {
            let database = self.db().name.clone();
            return Err(Error::RedefinedSinceSnapshot { table: full_name(table), database });
        }
        Ok(())
    }

    fn snapshot_here(&self, kind: SnapshotKind) -> Option<&Arc<SeenHere>> {
        let snapshots = &self.state.branch.snapshots;
        match kind {
            SnapshotKind::Transaction => snapshots.transaction.as_ref(),
            SnapshotKind::Statement => snapshots.statement.as_ref(),
        }
    }

    /// The snapshot in this database, which is new to it.
    fn enter_snapshot(&mut self, kind: SnapshotKind) -> Result<Arc<SeenHere>, Error> {
        let own = &self.db.row_versions;
        let database = || self.db.name.clone();
        let mut reading = None;
        if kind == SnapshotKind::Transaction {
            if self.state.snapshots.began_under != Isolation::Snapshot {
                return Err(Error::NotStartedAsSnapshot { database: database() });
            }
            // Counted first: a transition that begins after the look waits for it.
            reading = Some(own.begin_reading());
            if own.snapshot_isolation() != SnapshotIsolationState::On {
                return Err(Error::SnapshotNotAllowed { database: database() });
            }
        }
        let Some(versions) = own.versions() else {
            return Err(Error::SnapshotNotAllowed { database: database() });
        };
        let taken = self.take_snapshot(kind);
        if !own.is_readable_at(taken.number()) {
            return Err(Error::SnapshotTooOld { database: database() });
        }
        let branch = &mut self.state.branch;
        let id = branch.tx.as_ref().ok_or(Error::NoTransaction)?.id();
        let seen = Arc::new(SeenHere(taken.within(&versions.commits, id)));
        match kind {
            SnapshotKind::Transaction => {
                self.state.snapshots.transaction = Some(taken);
                branch.snapshots.transaction = Some(seen.clone());
                branch.snapshots.reading = reading;
            }
            SnapshotKind::Statement => {
                self.state.snapshots.statement = Some(taken);
                branch.snapshots.statement = Some(seen.clone());
            }
        }
        Ok(seen)
    }

    /// The snapshot of the transaction or statement, taken now when there is none.
    fn take_snapshot(&self, kind: SnapshotKind) -> Arc<TakenSnapshot> {
        let snapshots = &self.state.snapshots;
        let own = match kind {
            SnapshotKind::Transaction => &snapshots.transaction,
            SnapshotKind::Statement => &snapshots.statement,
        };
        let take = || {
            let session = self.state.entry.handle.id();
            let now: Duration = self.db.options.clock.monotonic();
            Arc::new(self.db.services.versions.commits.snapshot(session, kind, now))
        };
        own.clone().unwrap_or_else(take)
    }

    /// What a reading sees; `None`: what is there, under its locks. The table was locked for it.
    pub(crate) fn seen(&self, hints: ReadHints) -> Option<SeenVersions> {
        let snapshot = self.snapshot_here(self.wanted_snapshot(hints)?)?.clone();
        let store = self.db.row_versions.versions()?.clone();
        Some(SeenVersions { store, snapshot })
    }

    /// What the transaction sees under SNAPSHOT: a row that it changes must be among that.
    fn transaction_snapshot(&self) -> Option<Arc<dyn Snapshot>> {
        if self.isolation() != Isolation::Snapshot {
            return None;
        }
        let seen = self.snapshot_here(SnapshotKind::Transaction)?;
        Some(seen.clone())
    }

    /// What the transaction needs to change rows of a table; `None` when it keeps no versions of
    /// them.
    ///
    /// # Errors
    /// [`Error::ReadOnly`].
    pub(crate) fn row_writer(&mut self, table: &Table) -> Result<Option<RowWriter>, Error> {
        // From here on the transaction is one that writes.
        self.tx()?;
        let Some(Writing::Versioned(writer)) = &self.state.branch.writing else { return Ok(None) };
        let Some(store) = self.db.row_versions.versions().filter(|_| !table.is_system()) else {
            return Ok(None);
        };
        Ok(Some(RowWriter {
            store: store.clone(),
            writer: writer.id(),
            snapshot: self.transaction_snapshot(),
        }))
    }

    /// What the transaction needs to keep what it changes; `None` when it writes no versions. It
    /// has changed something, or is about to.
    pub(crate) fn versioning(&self) -> Option<Versioning<'_>> {
        let Some(Writing::Versioned(writer)) = &self.state.branch.writing else { return None };
        let store = &**self.db.row_versions.versions()?;
        Some(Versioning { store, writer: writer.id(), snapshot: None })
    }

    /// Refuses the change of a row that is locked X, when another transaction has changed or
    /// deleted it since the snapshot was taken.
    ///
    /// # Errors
    /// [`Error::UpdateConflict`].
    pub(crate) fn verify_unchanged(
        &self,
        table: &Table,
        storage: &Storage,
        at: &Address,
    ) -> Result<(), Error> {
        let Some(snapshot) = self.transaction_snapshot() else { return Ok(()) };
        let newest = storage.newest(at)?;
        let tag = newest.as_deref().and_then(VersionTag::of);
        match tag {
            Some(tag) if !snapshot.sees(tag.writer) => Err(self.update_conflict(table)),
            _ => Ok(()),
        }
    }

    /// An error of a change of a row of this table.
    pub(crate) fn write_error(&self, table: &Table, error: extentdb_rowset::Error) -> Error {
        match error {
            extentdb_rowset::Error::UpdateConflict { .. } => self.update_conflict(table),
            other => other.into(),
        }
    }

    /// A row to be changed was changed by another transaction since the snapshot was taken.
    pub(crate) fn update_conflict(&self, table: &Table) -> Error {
        self.db.services.versions.counters.count_conflict();
        Error::UpdateConflict { table: full_name(table), database: self.db.name.clone() }
    }

    /// Tables have no versions: in an explicit transaction under SNAPSHOT they are not altered.
    ///
    /// # Errors
    /// [`Error::DdlInSnapshot`].
    pub(crate) fn verify_alterable_now(&self) -> Result<(), Error> {
        let is_in_snapshot = self.state.is_explicit && self.isolation() == Isolation::Snapshot;
        if is_in_snapshot { Err(Error::DdlInSnapshot) } else { Ok(()) }
    }
}

fn full_name(table: &Table) -> String {
    format!("{}.{}", table.schema(), table.name())
}
