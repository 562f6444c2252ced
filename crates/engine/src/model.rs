//! The catalog as a binder reads it: names, columns, keys, constraints and modules, parsed.
//!
//! ```text
//! base tables ── all, at the first use ──▶ CatalogModel, version v
//!      │  DDL: rows about an object                 │ shares all other objects
//!      └── those of the object, by their keys ──▶ CatalogModel, version v + n
//! ```
//!
//! A model is immutable. It tells what the base tables say, changes of open transactions among
//! them; a statement that takes it through [`Session::stable_model`] holds Sch-S on its tables, so
//! that nobody is changing them and what it reads of them is committed, or its own.
//!
//! A column whose values are not read says why ([`Column::unreadable`]); rows have no value for it
//! ([`Table::columns`](crate::Table::columns) are those that they have).
//!
//! A change costs as much with ten tables as with ten thousand: the rows of the object are read by
//! their keys, and a new model copies one shard of its maps.

mod base_table;
mod build;
mod shards;
mod source;
mod view;

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::model::Catalog;
use extentdb_txn::lock::LockMode;

use crate::catalog::cache::{PoolPages, verify_faults};
use crate::database::Database;
use crate::error::Error;
use crate::session::Session;

pub use base_table::{BaseRow, BaseTable};
pub use extentdb_catalog::model::{
    Column, Constraint, ExtendedProperty, ForeignKey, Identity, Index, IndexColumn, IndexKind,
    Object, ObjectType, Parameter, Permission, Principal, ScalarType, Statistics, Unreadable,
};
pub use view::{CatalogModel, ModuleModel, ObjectBody, ObjectModel, SchemaModel, TableModel};

impl Database {
    /// The catalog as it is now.
    ///
    /// # Errors
    /// A page of the base tables cannot be read.
    pub fn model(&self) -> Result<Arc<CatalogModel>, Error> {
        let mut current = lock(&self.catalog.model);
        if let Some(model) = current.as_ref()
            && model.version() == self.catalog.changes.version()
        {
            return Ok(model.clone());
        }
        // The rows of a statement change together under this mutex.
        let _ddl = lock(&self.ddl);
        let version = self.catalog.changes.version();
        let stale = self.catalog.changes.take();
        let read = match current.as_ref() {
            Some(model) => source::read_again(self, model, &stale, version),
            None => read_all(self, version),
        };
        match read {
            Ok(model) => {
                let model = Arc::new(model);
                *current = Some(model.clone());
                Ok(model)
            }
            Err(error) => {
                self.catalog.changes.put_back(stale);
                Err(error)
            }
        }
    }

    /// Grows with every change of a definition, also when it is rolled back.
    pub fn model_version(&self) -> u64 {
        self.catalog.changes.version()
    }
}

fn read_all(db: &Database, version: u64) -> Result<CatalogModel, Error> {
    let pages = PoolPages { pool: &db.pool, space: &db.space };
    let catalog = Catalog::load(&pages)?;
    let described = extentdb_catalog::model::Descriptions::load(&pages)?;
    verify_faults(db.options.purpose, catalog.faults.iter().chain(&described.faults))?;
    Ok(build::whole(catalog, described, version))
}

impl Session {
    /// The catalog, with Sch-S locks on tables that a statement is about to be bound to: their
    /// definitions are those of the model until the transaction ends.
    ///
    /// # Errors
    /// The session is in no transaction, a table was dropped, or a lock is not granted.
    pub fn stable_model(&mut self, tables: &[ObjectId]) -> Result<Arc<CatalogModel>, Error> {
        if !self.is_in_transaction() {
            return Err(Error::NoTransaction);
        }
        let db = self.database().clone();
        self.statement("SELECT", |context| {
            for id in tables {
                let table = db.catalog.table_by_id(*id).ok_or(Error::Gone { id: *id })?;
                context.lock_table(&table, LockMode::SchS)?;
            }
            // Read under the locks: who has changed the tables before has ended.
            db.model()
        })
    }
}
