//! CREATE SCHEMA: a row for the schema, and one for its owner. DROP SCHEMA.

use extentdb_base::sync::{lock, read, write};
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;

use crate::catalog::DeferredChange;
use crate::catalog::objects::object::{NAME as OBJECT_NAME, SCHEMA as OBJECT_SCHEMA};
use crate::catalog::system_table::{Cells, byte, int, number, text};
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// `sysclsobjs.class` of a schema, and `syssingleobjrefs.class` of its owner.
const CLASS_SCHEMA: u8 = 50;
/// From here on ids are those of roles.
const FIRST_ROLE: i32 = 16_384;
const DBO: i32 = 1;
/// dbo, guest, INFORMATION_SCHEMA and sys are 1 to 4.
const LAST_OF_SYSTEM: i32 = 4;
/// Class of extended properties and permissions of schemas.
const PROPERTY_CLASS: u8 = 3;

impl Session {
    /// Makes a schema that belongs to dbo; returns its id.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn create_schema(&mut self, name: &str) -> Result<i32, Error> {
        self.create_schema_of(name, DBO)
    }

    /// Makes a schema that belongs to a principal; returns its id.
    ///
    /// # Errors
    /// There is one of this name.
    pub fn create_schema_of(&mut self, name: &str, owner: i32) -> Result<i32, Error> {
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
            context.insert_owner(CLASS_SCHEMA, id, owner)?;
            write(&db.catalog.schemas).insert(id, name.to_owned());
            context.defer_change(DeferredChange::Schema(id));
            Ok(id)
        })
    }
}

impl Session {
    /// Drops a schema that has nothing in it.
    ///
    /// # Errors
    /// There is none of this name, it is one of the system, or something is in it:
    /// [`Error::ReferencedBy`].
    pub fn drop_schema(&mut self, name: &str) -> Result<(), Error> {
        self.statement("DROP SCHEMA", |context| {
            let db = context.db();
            let _ddl = lock(&db.ddl);
            let id = context.schema_id(name)?;
            if id <= LAST_OF_SYSTEM || id >= FIRST_ROLE {
                return Err(Unsupported::SystemSchema { name: name.to_owned() }.into());
            }
            context.verify_empty(name, id)?;
            context.delete_where("sysclsobjs", &[byte(CLASS_SCHEMA), int(id)])?;
            context.delete_where("syssingleobjrefs", &[int(id), byte(CLASS_SCHEMA)])?;
            context.delete_where("sysxprops", &[byte(PROPERTY_CLASS), int(id)])?;
            context.delete_where("sysprivs", &[byte(PROPERTY_CLASS), int(id)])?;
            let name = write(&db.catalog.schemas).remove(&id).unwrap_or_default();
            context.defer_change(DeferredChange::SchemaDropped { id, name });
            Ok(())
        })
    }
}

impl StatementContext<'_> {
    /// Refuses a schema with objects or types in it.
    fn verify_empty(&self, name: &str, id: i32) -> Result<(), Error> {
        let places = [("sysschobjs", OBJECT_SCHEMA, OBJECT_NAME), ("sysscalartypes", 1, 2)];
        for (table, schema, named) in places {
            let rows = self.db().catalog.system(table)?.rows(&[])?;
            let is_in = |row: &&Cells| row.get(schema).and_then(number) == Some(id.into());
            if let Some(row) = rows.iter().find(is_in) {
                let by = text(row.get(named));
                return Err(Error::ReferencedBy { name: name.to_owned(), by });
            }
        }
        Ok(())
    }

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
