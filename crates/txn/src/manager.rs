//! Which transactions are active, and where each of them began.
//!
//! ```text
//! begin      nothing is logged: a transaction that changes nothing leaves no trace
//! 1st record BEGIN_XACT, then the record; the transaction is active
//! commit     COMMIT_XACT; no longer active
//! ```
//!
//! Invariants
//! - A transaction is in the table exactly while the log holds its BEGIN_XACT and not its end: both
//!   records are appended under the table's lock. What a checkpoint reads under that lock and logs
//!   before it releases it is therefore the state at the LSN of its record.
//! - Ids grow and are never used twice in a database.

use std::collections::BTreeMap;

use extentdb_base::env::Clock;
use extentdb_base::sync::{Arc, Mutex, OnceLock, lock};
use extentdb_base::{Lsn, PageId, XactId};
use extentdb_format::log::payload::Payload;
use extentdb_format::log::payload::xact::EndXact;
use extentdb_format::log::record::RecordFlags;
use extentdb_format::log::{Context, Op, RecordHeader};
use extentdb_wal::Log;

use crate::error::Error;
use crate::time::log_time;
use crate::transaction::{Transaction, TransactionKind};

/// Begins transactions and keeps the table of the active ones.
pub struct Manager {
    pub(crate) log: Arc<Log>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    changes: OnceLock<Arc<dyn PageChanges>>,
}

/// Observer of the pages that change.
pub trait PageChanges: Send + Sync {
    /// A page is about to change. It is latched: the call must not wait.
    fn changes(&self, page: PageId);
}

struct State {
    next: u64,
    active: BTreeMap<XactId, Arc<Progress>>,
}

/// What other threads may read of an active transaction.
#[derive(Debug)]
pub(crate) struct Progress {
    begin: Lsn,
    last: Mutex<Lsn>,
}

impl Progress {
    pub(crate) fn begin(&self) -> Lsn {
        self.begin
    }

    pub(crate) fn set_last(&self, lsn: Lsn) {
        *lock(&self.last) = lsn;
    }
}

/// An active transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Active {
    /// Id of the transaction.
    pub xact: XactId,
    /// LSN of its BEGIN_XACT record.
    pub begin: Lsn,
    /// Its newest record.
    pub last: Lsn,
}

impl Manager {
    /// No transaction is active; the next one gets the id after `last_id`.
    pub fn new(log: Arc<Log>, clock: Arc<dyn Clock>, last_id: XactId) -> Manager {
        let state = State { next: number(last_id) + 1, active: BTreeMap::new() };
        Manager {
            log,
            clock,
            state: Mutex::new(state),
            changes: OnceLock::new(),
        }
    }

    /// Log that transactions write to.
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The clock that log records are stamped from.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Sets the observer of page changes; only the first call has an effect.
    pub fn set_page_changes(&self, changes: Arc<dyn PageChanges>) {
        // A database has one `Space`; a second observer would get no calls.
        let _ = self.changes.set(changes);
    }

    /// A page is about to change.
    pub fn note_change(&self, page: PageId) {
        if let Some(changes) = self.changes.get() {
            changes.changes(page);
        }
    }

    /// A new transaction. Nothing is logged before its first change.
    pub fn begin(self: &Arc<Self>, kind: TransactionKind, name: &str) -> Transaction {
        let mut state = lock(&self.state);
        let id = id_of(state.next);
        state.next += 1;
        Transaction::new(self.clone(), id, kind, name)
    }

    /// A transaction that a restart found open: to be undone from `last` on.
    pub fn resume(self: &Arc<Self>, id: XactId, begin: Lsn, last: Lsn) -> Transaction {
        let progress = Arc::new(Progress { begin, last: Mutex::new(last) });
        let mut state = lock(&self.state);
        state.next = state.next.max(number(id) + 1);
        state.active.insert(id, progress.clone());
        Transaction::resumed(self.clone(), id, progress, begin, last)
    }

    /// The highest id given to a transaction so far.
    pub fn last_id(&self) -> XactId {
        id_of(lock(&self.state).next - 1)
    }

    /// Runs `f` with the active transactions; none begins or ends in the log meanwhile.
    pub fn with_active<T>(&self, f: impl FnOnce(&[Active]) -> T) -> T {
        let state = lock(&self.state);
        let active = state.active.iter();
        let active: Vec<Active> = active
            .map(|(xact, progress)| Active {
                xact: *xact,
                begin: progress.begin,
                last: *lock(&progress.last),
            })
            .collect();
        f(&active)
    }

    /// Is this transaction active? When it is not, its end is in the log.
    pub fn is_active(&self, xact: XactId) -> bool {
        lock(&self.state).active.contains_key(&xact)
    }

    /// Where the oldest active transaction began; `None` when there is none.
    pub fn oldest_begin(&self) -> Option<Lsn> {
        lock(&self.state).active.values().map(|progress| progress.begin).min()
    }

    /// Logs a change that belongs to no transaction and is never undone.
    pub fn log_alone(&self, op: Op, context: Context, payload: &Payload<'_>) -> Result<Lsn, Error> {
        let header = RecordHeader { op, context, ..RecordHeader::default() };
        Ok(self.log.append_reserved(&header, payload)?)
    }

    /// Appends BEGIN_XACT and enters the transaction in the table.
    pub(crate) fn enter(
        &self,
        id: XactId,
        append: impl FnOnce() -> Result<Lsn, Error>,
    ) -> Result<Arc<Progress>, Error> {
        let mut state = lock(&self.state);
        let begin = append()?;
        let progress = Arc::new(Progress { begin, last: Mutex::new(begin) });
        state.active.insert(id, progress.clone());
        Ok(progress)
    }

    /// Appends the end of a transaction and takes it out of the table.
    pub(crate) fn leave(
        &self,
        id: XactId,
        op: Op,
        previous: Lsn,
        begin: Lsn,
    ) -> Result<Lsn, Error> {
        let end = EndXact {
            end_time: log_time(self.clock()),
            begin,
            ..EndXact::default()
        };
        let flags = RecordFlags::TRANSACTION;
        let header = RecordHeader { op, xact: id, previous, flags, ..RecordHeader::default() };
        let mut state = lock(&self.state);
        let lsn = self.log.append_reserved(&header, &Payload::EndXact(end))?;
        state.active.remove(&id);
        Ok(lsn)
    }
}

impl std::fmt::Debug for Manager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Manager({} active)", lock(&self.state).active.len())
    }
}

fn number(id: XactId) -> u64 {
    u64::from(id.high) << 32 | u64::from(id.low)
}

fn id_of(number: u64) -> XactId {
    XactId { high: (number >> 32) as u16, low: number as u32 }
}
