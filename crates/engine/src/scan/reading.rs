//! What one reading locks: its hints and the isolation level of its session, resolved.
//!
//! ```text
//!                      row          table                       SERIALIZABLE only
//!                                                   table, for a whole heap   range of keys
//! READ UNCOMMITTED     –            Sch-S
//! READ COMMITTED       S, released  IS
//! REPEATABLE READ      S            IS
//! SERIALIZABLE         S            IS              S                         RangeS-S
//! UPDLOCK              U            IU              UIX                       RangeS-U
//! XLOCK                X            IX              X                         RangeX-X
//! TABLOCK              –            S; with UPDLOCK or XLOCK X, and no ranges
//! row versions         –            Sch-S            SNAPSHOT, or READ COMMITTED by the database
//! ```
//!
//! UPDLOCK and XLOCK count at every level of the session; beside NOLOCK they are refused. Keys of a
//! range are locked in the range's mode, rows that a nonclustered index leads to in that of rows.
//! READ COMMITTED takes no lock on a row that has no values off it and that no open transaction can
//! have changed.

use std::ops::ControlFlow;

use extentdb_base::{Lsn, Resource};
use extentdb_rowset::version::Versions;
use extentdb_txn::lock::{LockError, LockMode, Timeout};

use crate::catalog::{Address, Storage, Table};
use crate::dml::row_ref::RowRef;
use crate::error::Error;
use crate::scan::hints::{Granularity, OnConflict, ReadHints, RowLock};
use crate::session::{Isolation, StatementContext};

/// Receives rows as records; values are decoded on demand.
pub(crate) type EachRow<'e> = &'e mut dyn FnMut(&RowRef<'_>) -> Result<ControlFlow<()>, Error>;

/// What is read, and how.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'r> {
    pub(crate) table: &'r Table,
    pub(crate) storage: &'r Storage,
    pub(crate) hints: ReadHints,
    /// What it sees; `None`: what is there, under its locks.
    pub(crate) versions: Option<Versions<'r>>,
}

/// The lock of a row that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RowLocking {
    pub(crate) mode: LockMode,
    /// Until the end of the transaction, or while the row is read.
    pub(crate) stays: bool,
}

/// What of a table is read: its lock depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// Rows or ranges of an index.
    Part,
    /// All rows of a heap, which has no keys to lock.
    WholeHeap,
}

impl StatementContext<'_> {
    /// The isolation level of a reading.
    pub(crate) fn level(&self, hints: ReadHints) -> Isolation {
        hints.isolation.unwrap_or(self.isolation())
    }

    /// How rows are locked that are read; `None`: not at all.
    pub(crate) fn row_locking(&self, hints: ReadHints) -> Option<RowLocking> {
        if hints.granularity == Granularity::Table {
            return None;
        }
        let mode = match hints.row_lock {
            RowLock::Update => LockMode::U,
            RowLock::Exclusive => LockMode::X,
            RowLock::ByIsolation => LockMode::S,
        };
        let stays = match (hints.row_lock, self.level(hints)) {
            (RowLock::ByIsolation, Isolation::ReadUncommitted) => return None,
            (RowLock::ByIsolation, Isolation::ReadCommitted) => false,
            _ => true,
        };
        Some(RowLocking { mode, stays })
    }

    /// How the keys of a range and the one after it are locked; `None`: as rows.
    pub(crate) fn range_locking(&self, hints: ReadHints) -> Option<LockMode> {
        if self.level(hints) != Isolation::Serializable || hints.granularity == Granularity::Table {
            return None;
        }
        Some(match hints.row_lock {
            RowLock::ByIsolation => LockMode::RsS,
            RowLock::Update => LockMode::RsU,
            RowLock::Exclusive => LockMode::RxX,
        })
    }

    /// The lock of a table that is read.
    fn table_mode(&self, hints: ReadHints, extent: Extent) -> LockMode {
        if hints.granularity == Granularity::Table {
            return if hints.row_lock == RowLock::ByIsolation { LockMode::S } else { LockMode::X };
        }
        if self.reads_versions(hints) {
            return LockMode::SchS;
        }
        let level = self.level(hints);
        let is_whole = extent == Extent::WholeHeap && level == Isolation::Serializable;
        match hints.row_lock {
            RowLock::ByIsolation if is_whole => LockMode::S,
            RowLock::Update if is_whole => LockMode::Uix,
            RowLock::Exclusive if is_whole => LockMode::X,
            RowLock::Update => LockMode::Iu,
            RowLock::Exclusive => LockMode::Ix,
            RowLock::ByIsolation if level == Isolation::ReadUncommitted => LockMode::SchS,
            RowLock::ByIsolation => LockMode::Is,
        }
    }

    /// Locks a table to be read with these hints.
    ///
    /// # Errors
    /// [`Error::ReadPastLevel`]; the lock is not granted, or the table was dropped.
    pub(crate) fn lock_to_read(
        &mut self,
        table: &Table,
        hints: ReadHints,
        extent: Extent,
    ) -> Result<(), Error> {
        hints.verify_level(self.level(hints))?;
        let mode = self.table_mode(hints, extent);
        match hints.on_conflict {
            OnConflict::Fail => self.lock_table_within(table, mode, Timeout::NoWait)?,
            OnConflict::Wait | OnConflict::Skip => self.lock_table(table, mode)?,
        }
        self.begin_reading(table, hints)
    }

    /// Where the oldest transaction began whose changes must be waited for: with those of locks
    /// that stay, everything is locked.
    pub(crate) fn oldest_open(&self, hints: ReadHints) -> Option<Lsn> {
        match self.row_locking(hints) {
            None => None,
            Some(RowLocking { stays: true, .. }) => Some(Lsn::ZERO),
            Some(RowLocking { stays: false, .. }) => self.db().transactions.oldest_begin(),
        }
    }

    /// Acquires a lock on a part of the table that is read. False when it is left out: READPAST.
    pub(crate) fn lock_part(
        &self,
        of: Reading<'_>,
        resource: Resource,
        mode: LockMode,
    ) -> Result<bool, Error> {
        let table = Some(of.table);
        match of.hints.on_conflict {
            OnConflict::Wait => self.lock(resource, mode, table).map(|()| true),
            OnConflict::Fail => {
                self.lock_within(resource, mode, table, Timeout::NoWait).map(|()| true)
            }
            OnConflict::Skip => match self.lock_within(resource, mode, table, Timeout::NoWait) {
                Ok(()) => Ok(true),
                Err(Error::Lock(LockError::Timeout { .. })) => Ok(false),
                Err(error) => Err(error),
            },
        }
    }

    /// Calls `each` with a row that was read without a lock. One with values off it is read again
    /// under its lock, which protects them.
    pub(crate) fn emit_settled(
        &self,
        of: Reading<'_>,
        row: &RowRef<'_>,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        if !row.is_off_row() || of.versions.is_some() {
            return each(row);
        }
        if self.row_locking(of.hints).is_none() {
            return self.emit_unlocked(of, row, each);
        }
        let at = row.address()?;
        match self.read_row(of, &at)? {
            Some(found) => each(&RowRef::at(of.storage, &found.record, &at)?.seen_by(of.versions)),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    /// Calls `each` with a row that may be without a lock. Values off such a row may be freed while
    /// they are read: what looks damaged is the fault of the reading when the row has changed.
    ///
    /// # Errors
    /// [`Error::DataMovement`], and those of `each`.
    pub(crate) fn emit_unlocked(
        &self,
        of: Reading<'_>,
        row: &RowRef<'_>,
        each: EachRow<'_>,
    ) -> Result<ControlFlow<()>, Error> {
        let error = match each(row) {
            Err(error @ Error::Rowset(extentdb_rowset::Error::Corrupt { .. })) => error,
            read => return read,
        };
        let may_change =
            of.versions.is_none() && self.row_locking(of.hints).is_none() && row.is_off_row();
        let is_same = |record: Vec<u8>| record == row.record().bytes();
        if may_change && !of.storage.row_at(&row.address()?)?.is_some_and(is_same) {
            return Err(Error::DataMovement { table: of.table.name().to_owned() });
        }
        Err(error)
    }

    /// Reads a row under the lock that the reading requires; `None` of one that is left out, too.
    pub(crate) fn read_row(
        &self,
        of: Reading<'_>,
        at: &Address,
    ) -> Result<Option<ReadRow<'_>>, Error> {
        let unlocked = |record| ReadRow { record, lock: None };
        if let Some(versions) = of.versions {
            return Ok(of.storage.row_seen(at, versions)?.map(unlocked));
        }
        let Some(RowLocking { mode, stays }) = self.row_locking(of.hints) else {
            return Ok(of.storage.row_at(at)?.map(unlocked));
        };
        if !stays {
            let settled = of.storage.settled_row_at(at, || self.oldest_open(of.hints))?;
            if let Some(record) = settled.filter(|record| !of.storage.is_off_row(record)) {
                return Ok(Some(unlocked(record)));
            }
        }
        let resource = at.resource(of.storage.base.hobt());
        if !self.lock_part(of, resource, mode)? {
            return Ok(None);
        }
        let lock = HeldLock { context: self, resource };
        let found = of.storage.row_at(at);
        // Of a row that is not there nothing has been read, but that its key is free.
        let is_kept_free =
            self.level(of.hints) == Isolation::Serializable && matches!(at, Address::Key(_));
        let lock = if stays && (is_kept_free || matches!(found, Ok(Some(_)))) {
            lock.keep();
            None
        } else {
            Some(lock)
        };
        // Values off the row are read under the lock.
        Ok(found?.map(|record| {
            let lock = lock.filter(|_| of.storage.is_off_row(&record));
            ReadRow { record, lock }
        }))
    }
}

impl Reading<'_> {
    /// How its rows are locked; `None`: not at all.
    pub(crate) fn locking(&self, context: &StatementContext<'_>) -> Option<RowLocking> {
        if self.versions.is_some() { None } else { context.row_locking(self.hints) }
    }

    /// Do its rows stay locked?
    pub(crate) fn keeps_locks(&self, context: &StatementContext<'_>) -> bool {
        self.locking(context).is_some_and(|locking| locking.stays)
    }
}

/// A row that was read; while it has values off it, its lock is held.
pub(crate) struct ReadRow<'s> {
    pub(crate) record: Vec<u8>,
    #[expect(dead_code, reason = "released when the row is dropped")]
    lock: Option<HeldLock<'s>>,
}

/// A lock that is held for one read.
struct HeldLock<'s> {
    context: &'s StatementContext<'s>,
    resource: Resource,
}

impl HeldLock<'_> {
    /// It is held to the end of the transaction.
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for HeldLock<'_> {
    fn drop(&mut self) {
        self.context.unlock(self.resource);
    }
}
