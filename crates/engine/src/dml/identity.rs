//! Draws identity values for a session, and stores how far the catalog is ahead of them.

use extentdb_base::ObjectId;
use extentdb_base::sync::lock;
use extentdb_change::in_own_system;
use extentdb_txn::lock::LockMode;
use extentdb_types::Datum;

use crate::catalog::identity::{Identity, State};
use crate::catalog::table::Table;
use crate::database::Database;
use crate::error::{Error, Unsupported};
use crate::session::Session;
use crate::session::context::StatementContext;

impl Session<'_> {
    /// The next value of the table's identity column. It is used up, whatever becomes of the
    /// transaction.
    ///
    /// # Errors
    /// [`Error::NotSupported`]: the table has no identity column. [`Error::Identity`]: its values
    /// are used up.
    pub fn next_identity(&mut self, table: &Table) -> Result<Datum<'static>, Error> {
        self.in_transaction("IDENTITY", |context| context.next_identity(table))
    }
}

impl StatementContext<'_> {
    pub(crate) fn next_identity(&mut self, table: &Table) -> Result<Datum<'static>, Error> {
        // No other session draws from a table that is being created or dropped.
        self.lock_table(table, LockMode::Ix)?;
        let missing = || Unsupported::NoIdentity { table: table.name().to_owned() };
        let used_up = || Error::Identity { table: table.name().to_owned() };
        let storage = table.storage();
        let identity = storage.identity.as_ref().ok_or_else(missing)?;
        let (value, told) = identity.next().ok_or_else(used_up)?;
        match told {
            // The column's row is this transaction's own: what others wrote into it could not be
            // rolled back with it.
            Some(state) if self.has_own_identity(table.id()) => {
                let _ddl = lock(&self.db().ddl);
                let columns = self.db().catalog.system("syscolpars")?;
                for row in identity.rows(columns, table.id(), state)? {
                    columns.replace(self.tx()?, &row)?;
                }
            }
            Some(state) => self.db().store_identity(table.id(), identity, state)?,
            None => {}
        }
        identity.datum(value).ok_or_else(used_up)
    }
}

impl Database {
    fn store_identity(
        &self,
        table: ObjectId,
        identity: &Identity,
        state: State,
    ) -> Result<(), Error> {
        let _ddl = lock(&self.ddl);
        let columns = self.catalog.system("syscolpars")?;
        for row in identity.rows(columns, table, state)? {
            in_own_system(&*self.space, "Identity", |system| columns.replace(system, &row))?;
        }
        Ok(())
    }

    /// Before a clean close: the catalog has the values that were given out last.
    pub(crate) fn store_identities(&self) -> Result<(), Error> {
        for table in self.catalog.all_tables() {
            if let Some(identity) = &table.storage().identity
                && let Some(state) = identity.exact()
            {
                self.store_identity(table.id(), identity, state)?;
            }
        }
        Ok(())
    }
}
