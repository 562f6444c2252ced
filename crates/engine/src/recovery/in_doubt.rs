//! Transactions in doubt: prepared, and decided by a transaction in another database.
//!
//! ```text
//! restart of a participant   PREP_XACT, no end ─▶ Decisions::outcome ─▶ Committed: COMMIT_XACT
//!                                                                     Aborted: undone as a loser
//!                                                                     Unknown: deferred
//! ```
//!
//! A transaction that stays in doubt keeps its tables locked, and the log; every opening asks
//! again. The protocol: `session::two_phase`.

use std::collections::BTreeMap;

use extentdb_base::Lsn;
use extentdb_base::sync::Arc;
use extentdb_space::Freed;
use extentdb_txn::{Manager, Preparation, Transaction};

use crate::database::Database;
use crate::error::Error;
use crate::recovery::redo::Recovery;

/// How a transaction over several databases has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Committed,
    Aborted,
    /// The coordinator cannot be asked.
    Unknown,
}

/// What is known of the decisions of other databases.
pub(crate) trait Decisions {
    fn outcome(&self, of: &Preparation) -> Outcome;
}

/// A database that is opened without a server has nobody to ask.
pub(crate) struct NobodyToAsk;

impl Decisions for NobodyToAsk {
    fn outcome(&self, _: &Preparation) -> Outcome {
        Outcome::Unknown
    }
}

/// A transaction in doubt.
pub(crate) struct InDoubt {
    tx: Transaction,
    by: Preparation,
    freed: Freed,
}

impl Recovery {
    /// The decisions that the log has, with the begin of each transaction: others may ask for them.
    pub(crate) fn decisions(&self) -> &BTreeMap<Preparation, Lsn> {
        &self.analysis.decisions
    }

    /// The transactions in doubt; to be taken after the losers.
    pub(crate) fn take_in_doubt(&mut self, transactions: &Arc<Manager>) -> Vec<InDoubt> {
        let open = std::mem::take(&mut self.analysis.open);
        let freed = &mut self.analysis.freed;
        open.into_iter()
            .filter_map(|(id, open)| {
                let by = open.waits_for?;
                let tx = transactions.resume(id, open.begin, open.last);
                Some(InDoubt { tx, by, freed: freed.remove(&id).unwrap_or_default() })
            })
            .collect()
    }
}

impl Database {
    /// Commits what is known to be committed, and defers what nothing is known of; returns what is
    /// to be undone.
    ///
    /// # Errors
    /// Nothing is known of a transaction that has changed the catalog, which must be whole.
    pub(crate) fn resolve_in_doubt(
        &mut self,
        in_doubt: Vec<InDoubt>,
        decisions: &dyn Decisions,
    ) -> Result<Vec<Transaction>, Error> {
        let mut aborted = Vec::new();
        for InDoubt { tx, by, freed } in in_doubt {
            match decisions.outcome(&by) {
                Outcome::Committed => {
                    tx.commit()?;
                    self.space.release(freed)?;
                }
                Outcome::Aborted => aborted.push(tx),
                Outcome::Unknown => {
                    self.recovered.in_doubt += 1;
                    self.defer_transaction(tx, Error::in_doubt(by))?;
                }
            }
        }
        self.recovered.undone += aborted.len() as u64;
        Ok(aborted)
    }

    /// The decision on a transaction of a session has failed: as after a restart, but for the
    /// locks, which the transaction has. When it has changed the catalog the database goes offline.
    pub(crate) fn defer_in_doubt(&self, tx: &Transaction, by: Preparation) -> Result<(), Error> {
        let error = Error::in_doubt(by);
        if self.has_changed_catalog(tx)? {
            self.go_offline(&error);
            return Err(error);
        }
        self.defer_rollback(tx, &error)
    }
}
