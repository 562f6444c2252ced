//! Transactions of a connection: how often BEGIN was said, names, and whether it can still commit.
//!
//! ```text
//! BEGIN   @@TRANCOUNT + 1; from 0 a transaction of the engine and a descriptor
//! COMMIT  @@TRANCOUNT - 1; at 0 it is committed
//! ROLLBACK            → 0, whatever it was
//! doomed              reads only; ends by a rollback
//! ```

use crate::cause::Cause;
use crate::connection::Connection;
use crate::output::{Environment, Output};
use crate::request::Isolation;
use crate::stop::Stop;

/// The transaction of a connection.
#[derive(Debug, Default)]
pub struct TransactionState {
    /// `@@TRANCOUNT`
    pub count: u32,
    /// Name of the outermost one; may be empty.
    name: String,
    /// 0 when there is none.
    pub descriptor: u64,
    /// It can only be rolled back: `XACT_STATE()` is -1.
    pub is_doomed: bool,
}

impl TransactionState {
    /// `XACT_STATE()`
    pub fn state(&self) -> i16 {
        match (self.count, self.is_doomed) {
            (0, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }
}

impl Connection {
    /// BEGIN TRANSACTION.
    pub fn begin(&mut self, name: &str, output: &mut dyn Output) -> Result<(), Stop> {
        // Under IMPLICIT_TRANSACTIONS the statement itself begins one first.
        let is_implicit = self.options.implicit_transactions && self.transaction.count == 0;
        if self.transaction.count == 0 {
            self.open_transaction(name, output)?;
        }
        self.transaction.count += 1 + u32::from(is_implicit);
        Ok(())
    }

    /// A statement that reads or changes tables begins: under IMPLICIT_TRANSACTIONS a transaction
    /// begins with it.
    pub fn begin_implicit(&mut self, output: &mut dyn Output) -> Result<(), Stop> {
        if self.options.implicit_transactions && self.transaction.count == 0 {
            self.open_transaction("", output)?;
            self.transaction.count = 1;
        }
        Ok(())
    }

    /// Begins a transaction for one statement and its triggers; the client does not learn of it.
    pub fn begin_alone(&mut self) {
        self.session.begin();
        self.transaction.count = 1;
    }

    fn open_transaction(&mut self, name: &str, output: &mut dyn Output) -> Result<(), Stop> {
        self.session.begin();
        self.transaction.descriptor = self.server.next_descriptor();
        self.transaction.name = name.to_owned();
        let descriptor = self.transaction.descriptor;
        Ok(output.environment(&Environment::Begin { descriptor })?)
    }

    /// COMMIT TRANSACTION.
    pub fn commit(&mut self, output: &mut dyn Output) -> Result<(), Stop> {
        match self.transaction.count {
            0 => return Err(Cause::CommitOutside.into()),
            _ if self.transaction.is_doomed => return Err(Cause::Doomed.into()),
            1 => {}
            _ => {
                self.transaction.count -= 1;
                return Ok(());
            }
        }
        self.session.commit().map_err(|error| self.engine_cause(&error))?;
        let descriptor = self.transaction.descriptor;
        self.transaction = TransactionState::default();
        self.end_transaction_locks();
        if self.options.cursor_close_on_commit {
            self.cursors.close_all();
        }
        if descriptor != 0 {
            output.environment(&Environment::Commit { descriptor })?;
        }
        Ok(())
    }

    /// ROLLBACK TRANSACTION; `name` is that of the transaction or of a savepoint.
    pub fn roll_back(&mut self, name: &str, output: &mut dyn Output) -> Result<(), Stop> {
        if self.transaction.count == 0 {
            return Err(Cause::RollbackOutside.into());
        }
        if name.is_empty() || name == self.transaction.name {
            return self.roll_back_all(output);
        }
        if self.transaction.is_doomed {
            return Err(Cause::DoomedSavepoint.into());
        }
        let kept = self.table_variable_rows().map_err(|error| self.engine_cause(&error))?;
        self.session.rollback_to(name).map_err(|error| match error {
            extentdb_engine::Error::NoSavepoint { name } => Cause::NoSavepoint { name },
            other => self.engine_cause(&other),
        })?;
        self.restore_table_variables(kept).map_err(|error| self.engine_cause(&error))?;
        Ok(())
    }

    /// Rolls back whatever is open.
    pub fn roll_back_all(&mut self, output: &mut dyn Output) -> Result<(), Stop> {
        if self.transaction.count == 0 {
            return Ok(());
        }
        let descriptor = self.transaction.descriptor;
        // What cannot be read any more is lost with the transaction.
        let kept = self.table_variable_rows().unwrap_or_default();
        self.transaction = TransactionState::default();
        let rolled_back = self.session.rollback();
        self.end_transaction_locks();
        rolled_back.map_err(|error| self.engine_cause(&error))?;
        self.restore_table_variables(kept).map_err(|error| self.engine_cause(&error))?;
        if self.options.cursor_close_on_commit {
            self.cursors.close_all();
        }
        if descriptor != 0 {
            output.environment(&Environment::Rollback { descriptor })?;
        }
        Ok(())
    }

    /// SAVE TRANSACTION.
    pub fn save(&mut self, name: &str) -> Result<(), Stop> {
        if self.transaction.count == 0 {
            return Err(Cause::SaveOutside.into());
        }
        if self.transaction.is_doomed {
            return Err(Cause::Doomed.into());
        }
        self.session.save(name).map_err(|error| self.engine_cause(&error))?;
        Ok(())
    }

    /// Sets the isolation level of the next statements.
    pub fn set_isolation(&mut self, isolation: Isolation) -> Result<(), Cause> {
        match isolation {
            Isolation::Unchanged => return Ok(()),
            other => self.options.isolation = other,
        }
        self.apply_options();
        Ok(())
    }
}
