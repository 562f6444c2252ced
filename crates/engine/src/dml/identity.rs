//! Draws identity values for a session, and stores how far the catalog is ahead of them.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_change::in_own_system;
use extentdb_txn::lock::LockMode;
use extentdb_types::Datum;

use crate::catalog::identity::{IdentityState, State};
use crate::catalog::{Identity, Storage, Table};
use crate::database::Database;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

impl Session {
    /// The next value of the table's identity column. It is used up, whatever becomes of the
    /// transaction.
    ///
    /// # Errors
    /// [`Error::NotSupported`]: the table has no identity column. [`Error::Identity`]: its values
    /// are used up.
    pub fn next_identity(&mut self, table: &Table) -> Result<Datum<'static>, Error> {
        self.in_transaction("IDENTITY", |context| context.next_identity(table))
    }

    /// A row was given this value for the table's identity column: the values that follow are
    /// drawn after it.
    ///
    /// # Errors
    /// The catalog cannot be written.
    pub fn raise_identity(&mut self, table: &Table, value: &Datum<'_>) -> Result<(), Error> {
        let Some(value) = whole_number(value) else { return Ok(()) };
        self.in_transaction("IDENTITY", |context| {
            let storage = table.storage();
            let Some(identity) = storage.identity.as_ref() else { return Ok(()) };
            match identity.raise(value) {
                Some(state) => context.keep_identity(table, identity, state),
                None => Ok(()),
            }
        })
    }
}

impl Session {
    /// The values of the table's identity column go on after this one. Where none was given out
    /// yet, they begin with it.
    ///
    /// # Errors
    /// [`Error::NotSupported`]: the table has no identity column. [`Error::Identity`]: its type
    /// has no such value.
    pub fn reseed_identity(&mut self, table: &Table, value: i128) -> Result<(), Error> {
        self.in_transaction("IDENTITY", |context| {
            context.lock_table(table, LockMode::X)?;
            let missing = || Unsupported::NoIdentity { table: table.name().to_owned() };
            let storage = table.storage();
            let identity = storage.identity.as_ref().ok_or_else(missing)?;
            let ty = identity.current().ty.base_name();
            let state = identity.reseed(value);
            let state =
                state.ok_or_else(|| Error::Identity { table: table.name().to_owned(), ty })?;
            context.keep_identity(table, identity, state)
        })
    }
}

/// The value of an identity column.
fn whole_number(value: &Datum<'_>) -> Option<i128> {
    Some(match value {
        Datum::TinyInt(value) => (*value).into(),
        Datum::SmallInt(value) => (*value).into(),
        Datum::Int(value) => (*value).into(),
        Datum::BigInt(value) => (*value).into(),
        Datum::Decimal(value) => value.to_string().parse().ok()?,
        _ => return None,
    })
}

impl StatementContext<'_> {
    pub(crate) fn next_identity(&mut self, table: &Table) -> Result<Datum<'static>, Error> {
        // No other session draws from a table that is being created or dropped.
        self.lock_table(table, LockMode::Ix)?;
        let missing = || Unsupported::NoIdentity { table: table.name().to_owned() };
        let storage = table.storage();
        let identity = storage.identity.as_ref().ok_or_else(missing)?;
        let ty = identity.current().ty.base_name();
        let used_up = || Error::Identity { table: table.name().to_owned(), ty };
        let (value, told) = identity.next().ok_or_else(used_up)?;
        if let Some(state) = told {
            self.keep_identity(table, identity, state)?;
        }
        identity.datum(value).ok_or_else(used_up)
    }

    /// The identity of a table that was emptied begins again. The catalog is locked, and the table
    /// for this transaction alone, whose rollback brings the old values back.
    pub(crate) fn restart_identity(
        &mut self,
        table: &Arc<Table>,
        storage: &Arc<Storage>,
    ) -> Result<(), Error> {
        let Some(identity) = &storage.identity else { return Ok(()) };
        let (fresh, state) = identity.restarted();
        let columns = self.db().catalog.system("syscolpars")?;
        for row in fresh.rows(columns, table.id(), state)? {
            columns.replace(self.tx()?, &row)?;
        }
        let identity = Some(Arc::new(fresh));
        self.store(table, Storage { identity, ..Storage::clone(storage) });
        Ok(())
    }

    /// The catalog stores how far it is ahead.
    fn keep_identity(
        &mut self,
        table: &Table,
        identity: &Identity,
        state: State,
    ) -> Result<(), Error> {
        if !self.has_own_identity(table.id()) {
            return self.db().store_identity(table.id(), identity, state);
        }
        // The column's row is this transaction's own: what others wrote into it could not be rolled
        // back with it.
        let _ddl = lock(&self.db().ddl);
        let columns = self.db().catalog.system("syscolpars")?;
        for row in identity.rows(columns, table.id(), state)? {
            columns.replace(self.tx()?, &row)?;
        }
        Ok(())
    }
}

impl Database {
    /// The identity of a table as it is now; `None` when it has none.
    pub fn identity(&self, table: ObjectId) -> Option<IdentityState> {
        let table = self.catalog.table_by_id(table)?;
        let storage = table.storage();
        storage.identity.as_ref().map(|identity| identity.current())
    }

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
