//! Moves objects to another schema: everything that belongs to them goes along, the permissions on
//! them do not. Texts keep the schemas that they name.
//!
//! A table that is moved is another [`Table`] over the same storage, as one that is renamed.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, lock, write};
use extentdb_catalog::model::ObjectType;

use crate::catalog::objects::object;
use crate::catalog::system_table::{Cells, byte, int, number, text};
use crate::catalog::{DeferredChange, Table};
use crate::ddl::module::RENAMED;
use crate::error::Error;
use crate::session::{Session, StatementContext};

/// `sysprivs.class` of objects and columns.
const OBJECT_CLASS: u8 = 1;

impl Session {
    /// Moves a table with its constraints and triggers to another schema; returns it there.
    ///
    /// # Errors
    /// There is an object of such a name; the schema is not there.
    pub fn transfer_table(
        &mut self,
        table: &Arc<Table>,
        schema: &str,
    ) -> Result<Arc<Table>, Error> {
        self.statement("ALTER SCHEMA", |context| {
            let to = context.schema_id(schema)?;
            context.lock_name(to, table.name())?;
            context.lock_definition(table)?;
            let _ddl = lock(&context.db().ddl);
            context.transfer_rows(table.id(), to)?;
            let moved = Arc::new(table.in_schema(schema));
            let mut tables = write(&context.db().catalog.tables);
            tables.remove(table.id());
            tables.add(moved.clone());
            drop(tables);
            let old = table.clone();
            context.defer_change(DeferredChange::Renamed { old, new: moved.clone() });
            Ok(moved)
        })
    }

    /// Moves a view, procedure, function, synonym, sequence, default or rule to another schema.
    ///
    /// # Errors
    /// As for [`Session::transfer_table`].
    pub fn transfer_object(
        &mut self,
        (schema, name): (&str, &str),
        new_schema: &str,
    ) -> Result<(), Error> {
        self.statement("ALTER SCHEMA", |context| {
            let from = context.schema_id(schema)?;
            let to = context.schema_id(new_schema)?;
            context.lock_name(from, name)?;
            context.lock_name(to, name)?;
            let _ddl = lock(&context.db().ddl);
            let mut kinds = RENAMED.to_vec();
            kinds.push(ObjectType(*b"SO"));
            let id = context.object_of(from, name, &kinds)?;
            context.transfer_rows(id, to)
        })
    }
}

impl StatementContext<'_> {
    /// Gives an object and what belongs to it another schema in `sysschobjs`.
    fn transfer_rows(&mut self, id: ObjectId, schema: i32) -> Result<(), Error> {
        let objects = self.db().catalog.system("sysschobjs")?;
        let children = objects.rows_by(object::BY_PARENT, &[int(id.0)])?;
        let children = children.iter().filter_map(|row| row.get(object::ID).and_then(number));
        for id in std::iter::once(i64::from(id.0)).chain(children) {
            // Rows as an index has them are not whole.
            for row in objects.rows(&[int(id as i32)])? {
                self.transfer_row(&row, schema)?;
            }
        }
        self.delete_where("sysprivs", &[byte(OBJECT_CLASS), int(id.0)])
    }

    fn transfer_row(&mut self, old: &Cells, schema: i32) -> Result<(), Error> {
        let name = text(old.get(object::NAME));
        let id = old.get(object::ID).and_then(number);
        match self.db().catalog.object_named(schema, &name)? {
            Some(other) if Some(i64::from(other.0)) != id => {
                return Err(Error::Exists { name });
            }
            _ => {}
        }
        let missing = || Error::catalog("sysschobjs lacks a column");
        let mut new = old.clone();
        *new.get_mut(object::SCHEMA).ok_or_else(missing)? = int(schema);
        self.db().catalog.system("sysschobjs")?.redefine_keys(self.tx()?, old, &new)
    }
}
