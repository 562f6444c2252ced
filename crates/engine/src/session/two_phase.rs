//! Two-phase commit of a transaction over several databases of a server, with presumed abort.
//!
//! ```text
//! coordinator   PREP_XACT ─────────────────────────▶ COMMIT_XACT, flushed: the decision
//! participants        └▶ PREP_XACT, flushed ──────────────────┴─▶ COMMIT_XACT, flushed
//! ```
//!
//! The coordinator is master when the transaction has changed it, else its first database. A
//! PREP_XACT names the coordinator, the transaction there and the LSN of the coordinator's own
//! PREP_XACT, which no other has. One database that has changed needs none of this, and a database
//! that is not durable takes no part:
//! tempdb commits after the decision.
//!
//! What a crash leaves, and what the next start does
//! 1. No COMMIT_XACT at the coordinator: no decision. The coordinator rolls back, and so does every
//!    participant, prepared or not.
//! 2. The decision is durable, a participant has PREP_XACT and no COMMIT_XACT: it is in doubt until
//!    the coordinator's log is read ([`in_doubt`](crate::recovery::in_doubt)), and commits.
//! 3. A participant is opened and its coordinator's log cannot be read: the transaction stays in
//!    doubt, its tables are locked, and the log is kept. When it has changed the catalog, which
//!    must be whole, the participant is not opened: [`Error::InDoubt`].
//!
//! Invariants
//! - A participant has made its prepare durable before the decision is appended.
//! - The coordinator keeps its log from the transaction's begin until every participant's commit is
//!   durable: a restart finds the decision as long as somebody may ask for it.

use extentdb_base::sync::Arc;
use extentdb_base::{DatabaseId, Lsn};
use extentdb_txn::Preparation;

use crate::database::Database;
use crate::error::Error;
use crate::session::branch::Branch;

/// The branches of a transaction, with their databases.
pub(super) type Branches<'s> = Vec<(&'s Arc<Database>, &'s mut Branch)>;

/// Commits all branches that have changed something; the others have nothing to commit.
///
/// # Errors
/// Before the decision: nothing is committed, and the branches that are still open are to be rolled
/// back. When the decision itself failed the outcome is unknown: the coordinator is offline and the
/// participants stay in doubt until both are opened again.
pub(super) fn commit(branches: &mut Branches<'_>) -> Result<(), Error> {
    let is_party = |(db, branch): &&mut (&Arc<Database>, &mut Branch)| {
        branch.has_changed() && !db.is_ephemeral()
    };
    let mut parties: Vec<_> = branches.iter_mut().filter(is_party).collect();
    // master is read before all others at a start: it must not be in doubt.
    parties.sort_by_key(|(db, _)| db.locks.database() != DatabaseId::MASTER);
    match parties.split_first_mut() {
        None => {}
        Some(((db, branch), [])) => branch.commit(db)?,
        Some((coordinator, participants)) => commit_all(coordinator, participants)?,
    }
    branches.iter_mut().try_for_each(|(db, branch)| branch.commit(db))
}

/// A branch that takes part in the decision.
type Party<'p, 's> = &'p mut (&'s Arc<Database>, &'s mut Branch);

fn commit_all(coordinator: Party<'_, '_>, participants: &mut [Party<'_, '_>]) -> Result<(), Error> {
    let (db, branch) = coordinator;
    let pin = db.checkpoints.pin(branch.begin_lsn());
    let decided_by = branch.prepare(db, None)?;
    for (db, branch) in participants.iter_mut() {
        branch.prepare(db, Some(decided_by))?;
        db.log.flush_all()?;
    }
    if let Err(error) = branch.commit(db) {
        for (db, branch) in participants.iter_mut() {
            branch.leave_in_doubt(db, decided_by)?;
        }
        return Err(error);
    }
    let mut is_told = true;
    for (db, branch) in participants.iter_mut() {
        // One that fails goes offline, and finds the decision when it is opened again.
        is_told &= branch.commit(db).is_ok();
    }
    if !is_told {
        pin.keep();
    }
    Ok(())
}

impl Branch {
    fn begin_lsn(&self) -> Lsn {
        self.tx.as_ref().map_or(Lsn::ZERO, |tx| tx.begin_lsn())
    }

    /// Logs that the branch is ready to commit; returns what names the decision when this is the
    /// coordinator's.
    fn prepare(&mut self, db: &Database, by: Option<Preparation>) -> Result<Preparation, Error> {
        db.verify_online()?;
        let tx = self.tx.as_mut().ok_or(Error::NoTransaction)?;
        let own = Preparation {
            database: db.locks.database(),
            binding: db.binding.0,
            xact: tx.id(),
            at: Lsn::ZERO,
        };
        let at = tx.prepare(by.unwrap_or(own))?;
        Ok(Preparation { at, ..own })
    }

    /// Nobody knows whether the transaction is committed: it stays open, with its locks.
    fn leave_in_doubt(&mut self, db: &Database, by: Preparation) -> Result<(), Error> {
        if let Some(tx) = self.tx.take() {
            db.defer_in_doubt(&tx, by)?;
        }
        self.forget_deferred();
        Ok(())
    }
}
