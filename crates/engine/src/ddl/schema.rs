//! CREATE SCHEMA: a row for the schema, and one for its owner.

use extentdb_base::sync::{lock, read, write};
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;

use crate::catalog::DeferredChange;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// `sysclsobjs.class` of a schema, and `syssingleobjrefs.class` of its owner.
const CLASS_SCHEMA: u8 = 50;
/// From here on ids are those of roles.
const FIRST_ROLE: i32 = 16_384;
const DBO: i32 = 1;

impl Session {
    /// Makes a schema that belongs to dbo; returns its id.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn create_schema(&mut self, name: &str) -> Result<i32, Error> {
        self.statement("CREATE SCHEMA", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let id = context.free_schema_id(name)?;
            let now = log_time(&*db.options.clock);
            let days = now.days as i32;
            let ticks = now.ticks;
            let mut row = RowValues::new();
            row.tinyint(CLASS_SCHEMA).int(id).ntext(name).int(0).raw(&[0, 0]).int(0);
            row.datetime(days, ticks).datetime(days, ticks);
            db.catalog.system("sysclsobjs")?.insert(context.tx()?, &row)?;
            let mut owner = RowValues::new();
            owner.tinyint(CLASS_SCHEMA).int(id).int(0).int(DBO).int(0).int(0);
            db.catalog.system("syssingleobjrefs")?.insert(context.tx()?, &owner)?;
            write(&db.catalog.schemas).insert(id, name.to_owned());
            context.defer_change(DeferredChange::Schema(id));
            Ok(id)
        })
    }
}

impl StatementContext<'_> {
    fn free_schema_id(&self, name: &str) -> Result<i32, Error> {
        verify_name("schema", name)?;
        let schemas = read(&self.db().catalog.schemas);
        if schemas.values().any(|own| own.eq_ignore_ascii_case(name)) {
            return Err(Error::Exists { name: name.to_owned() });
        }
        let last = schemas.keys().filter(|id| **id < FIRST_ROLE).max().copied().unwrap_or(0);
        match last + 1 {
            id if id < FIRST_ROLE => Ok(id),
            _ => Err(Unsupported::TooManySchemas { most: FIRST_ROLE - 1 }.into()),
        }
    }
}
