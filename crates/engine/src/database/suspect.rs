//! Suspect pages: what needs one fails and names it (824); everything else works, closes and opens
//! again.
//!
//! ```text
//! statement   fails with the page; the next one that needs it, too
//! checkpoint  passes over what the page keeps it from telling the catalog or the maps
//! redo        passes over the page's records, unless one formats it again; the log is kept from
//!             the first of them
//! undo        stops: the transaction is deferred, its tables stay locked, the log is kept from its
//!             begin; one up to a savepoint or to the start of a statement dooms the transaction,
//!             whose rollback then stops there, too
//! ```
//!
//! Every opening tries again what was deferred. Until that succeeds the database is not marked as
//! closed cleanly.

use std::collections::{BTreeMap, BTreeSet};

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, lock};
use extentdb_base::{AllocUnitId, ObjectId, OfflineCause, XactId};
use extentdb_buffer::SuspectPage;
use extentdb_change::record_bytes;
use extentdb_format::log::{BlockFormat, RecordRef};
use extentdb_txn::Transaction;
use extentdb_txn::lock::{LockMode, LockRequest, Resource, Timeout};

use crate::database::Database;
use crate::error::{Cause, Error};

/// Transactions that stay open until a page can be read again.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    pub(crate) transactions: BTreeSet<XactId>,
    /// The tables that they have changed, and why.
    pub(crate) tables: BTreeMap<ObjectId, OfflineCause>,
}

/// Passes over what a suspect page keeps from being done: the page is on the list of the pool.
pub(crate) fn skip_suspect(done: Result<(), Error>) -> Result<(), Error> {
    match done {
        Err(error) if error.cause() == Cause::BadPage => Ok(()),
        done => done,
    }
}

impl Database {
    /// Pages that could not be read since the database was opened, by number.
    pub fn suspect_pages(&self) -> Vec<SuspectPage> {
        self.pool.suspect_pages()
    }

    /// Transactions whose rollback waits for a suspect page.
    pub fn deferred_transactions(&self) -> usize {
        lock(&self.deferred).transactions.len()
    }

    /// Leaves a transaction open whose undo met a suspect page, and locks its tables.
    ///
    /// # Errors
    /// [`Error::CatalogRollback`].
    pub(crate) fn defer_transaction(&self, tx: Transaction, error: Error) -> Result<(), Error> {
        let why = OfflineCause::new(None, &error);
        for unit in self.units_of(&tx)? {
            let Some(table) = self.table_with(unit) else {
                return Err(Error::CatalogRollback { source: Box::new(error) });
            };
            let resource = Resource::Object(table.id());
            let request = LockRequest::new(tx.lock_owner(), resource, LockMode::X);
            // Nobody else has a lock yet.
            self.locks.acquire(LockRequest { timeout: Timeout::NoWait, ..request })?;
            self.note_deferred_table(table.id(), why.clone());
        }
        lock(&self.deferred).transactions.insert(tx.id());
        Ok(())
    }

    fn table_with(&self, unit: AllocUnitId) -> Option<Arc<crate::Table>> {
        let has_unit =
            |table: &Arc<crate::Table>| table.storage().units().any(|own| own.is_known_as(unit));
        self.catalog.all_tables().into_iter().find(has_unit)
    }

    fn note_deferred_table(&self, table: ObjectId, why: OfflineCause) {
        lock(&self.deferred).tables.insert(table, why);
        self.has_deferred.store(true, Ordering::Release);
    }

    /// A rollback at run time has met a page that cannot be read: as after a restart, but for the
    /// locks, which the transaction has.
    pub(crate) fn defer_rollback(&self, tx: &Transaction, error: &Error) -> Result<(), Error> {
        let why = OfflineCause::new(None, error);
        for unit in self.units_of(tx)? {
            if let Some(table) = self.table_with(unit) {
                self.note_deferred_table(table.id(), why.clone());
            }
        }
        lock(&self.deferred).transactions.insert(tx.id());
        Ok(())
    }

    /// Refuses a table whose locks are not released before the next opening.
    pub(crate) fn verify_not_deferred(&self, table: &crate::Table) -> Result<(), Error> {
        if !self.has_deferred.load(Ordering::Acquire) {
            return Ok(());
        }
        match lock(&self.deferred).tables.get(&table.id()) {
            None => Ok(()),
            Some(why) => Err(Error::Deferred { table: table.name().to_owned(), why: why.clone() }),
        }
    }

    /// Has a transaction changed something else than rows of user tables?
    pub(crate) fn has_changed_catalog(&self, tx: &Transaction) -> Result<bool, Error> {
        Ok(self.units_of(tx)?.into_iter().any(|unit| self.table_with(unit).is_none()))
    }

    /// The allocation units that a transaction has changed.
    fn units_of(&self, tx: &Transaction) -> Result<BTreeSet<AllocUnitId>, Error> {
        let mut units = BTreeSet::new();
        let mut at = tx.last_lsn();
        while at > tx.begin_lsn() {
            let bytes = record_bytes(&self.transactions, at)?;
            let Some(record) = RecordRef::parse(BlockFormat::V4, &bytes) else { break };
            let unit = record.payload().page_part().map(|part| part.alloc_unit());
            units.extend(unit.filter(|unit| *unit != AllocUnitId::SYSTEM_PAGES));
            at = record.header().previous;
        }
        Ok(units)
    }
}
