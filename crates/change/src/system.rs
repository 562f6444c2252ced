//! System transactions: the nested top actions of ARIES.
//!
//! Allocations and page splits stay when the transaction that asked for them is rolled back. One
//! that fails is rolled back here, before the error is returned. When even that fails, it stays
//! open in the log, and the next restart undoes it.

use extentdb_buffer::PageWriteGuard;
use extentdb_format::log::RecordRef;
use extentdb_txn::{Transaction, TransactionKind};

use crate::error::Error;
use crate::undo::{UndoContext, undo_with};

/// Runs `work` in a system transaction inside `tx`.
///
/// # Errors
/// Those of `work`, of the log and of the rollback.
pub fn in_system<C: UndoContext, T>(
    context: &C,
    tx: &mut Transaction,
    name: &str,
    work: impl FnOnce(&mut Transaction) -> Result<T, C::Error>,
) -> Result<T, C::Error> {
    let mut system = tx.begin_system(name);
    match work(&mut system) {
        Ok(done) => {
            system.commit_into(tx).map_err(Error::from)?;
            Ok(done)
        }
        Err(error) => {
            roll_back_system(context, system)?;
            Err(error)
        }
    }
}

/// Runs `work` in a system transaction outside of any other, durable when this returns.
///
/// # Errors
/// Those of `work`, of the log and of the rollback.
pub fn in_own_system<C: UndoContext, T, E: From<C::Error>>(
    context: &C,
    name: &str,
    work: impl FnOnce(&mut Transaction) -> Result<T, E>,
) -> Result<T, E> {
    let mut system = context.transactions().begin(TransactionKind::System, name);
    match work(&mut system) {
        Ok(done) => {
            system.commit().map_err(|error| C::Error::from(error.into()))?;
            Ok(done)
        }
        Err(error) => {
            roll_back_system(context, system)?;
            Err(error)
        }
    }
}

/// Undoes all of a system transaction, and ends it.
pub fn roll_back_system<C: UndoContext>(context: &C, tx: Transaction) -> Result<(), C::Error> {
    roll_back_system_with(context, tx, &mut Vec::new(), |_| ())
}

/// The same for a caller that keeps pages of it latched until all of it is undone. `before` sees
/// each record that is about to be undone.
pub fn roll_back_system_with<C: UndoContext>(
    context: &C,
    mut tx: Transaction,
    latched: &mut Vec<PageWriteGuard>,
    mut before: impl FnMut(&RecordRef<'_>),
) -> Result<(), C::Error> {
    while tx.undo_next() > tx.begin_lsn() {
        undo_with(context, &mut tx, latched, &mut before)?;
    }
    tx.abort().map_err(Error::from)?;
    Ok(())
}
