//! Extended properties: rows of `sysxprops`.
//!
//! ```text
//! class, id, minor id, name   key
//! value                       sql_variant; NULL is no bytes
//! ```

use extentdb_base::sync::lock;
use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::values::RowValues;
use extentdb_types::{Datum, SqlType};

use crate::catalog::system_table::{byte, int, name_cell};
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// What a property belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropertyOwner {
    /// 0 database, 1 object or column, 2 parameter, 3 schema, 6 type, 7 index, 20 filegroup.
    pub class: u8,
    /// Id of the object, schema, type or filegroup; 0 of the database.
    pub id: i32,
    /// Id of the column, parameter or index; 0 without one.
    pub minor: i32,
}

impl PropertyOwner {
    fn key<'n>(&self, name: &'n str) -> [Cell<'n>; 4] {
        [byte(self.class), int(self.id), int(self.minor), name_cell(name)]
    }
}

impl Session {
    /// Gives something an extended property. `value` is a sql_variant, or NULL.
    ///
    /// # Errors
    /// It has one of this name: [`Error::Exists`].
    pub fn add_property(
        &mut self,
        owner: PropertyOwner,
        name: &str,
        value: &Datum<'_>,
    ) -> Result<(), Error> {
        self.statement("EXTENDED PROPERTY", |context| {
            let _ddl = lock(&context.db().ddl);
            if context.has_property(owner, name)? {
                return Err(Error::Exists { name: name.to_owned() });
            }
            context.insert_property(owner, name, value)
        })
    }

    /// Replaces the value of an extended property.
    ///
    /// # Errors
    /// There is none of this name: [`Unsupported::NoProperty`].
    pub fn set_property(
        &mut self,
        owner: PropertyOwner,
        name: &str,
        value: &Datum<'_>,
    ) -> Result<(), Error> {
        self.statement("EXTENDED PROPERTY", |context| {
            let _ddl = lock(&context.db().ddl);
            context.delete_property(owner, name)?;
            context.insert_property(owner, name, value)
        })
    }

    /// Takes an extended property away.
    ///
    /// # Errors
    /// There is none of this name: [`Unsupported::NoProperty`].
    pub fn drop_property(&mut self, owner: PropertyOwner, name: &str) -> Result<(), Error> {
        self.statement("EXTENDED PROPERTY", |context| {
            let _ddl = lock(&context.db().ddl);
            context.delete_property(owner, name)
        })
    }
}

impl StatementContext<'_> {
    fn has_property(&self, owner: PropertyOwner, name: &str) -> Result<bool, Error> {
        let rows = self.db().catalog.system("sysxprops")?.rows(&owner.key(name))?;
        Ok(!rows.is_empty())
    }

    fn insert_property(
        &mut self,
        owner: PropertyOwner,
        name: &str,
        value: &Datum<'_>,
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        if !matches!(value, Datum::Null) {
            let encoded = value.encode(&SqlType::SqlVariant, &mut bytes);
            encoded.map_err(|_| Error::catalog("a property of such a value"))?;
        }
        let mut row = RowValues::new();
        row.tinyint(owner.class).int(owner.id).int(owner.minor).ntext(name).raw(&bytes);
        let rows = [("sysxprops".to_owned(), vec![row])];
        self.insert_system_rows(rows.iter().map(|(table, rows)| (table, rows)))
    }

    fn delete_property(&mut self, owner: PropertyOwner, name: &str) -> Result<(), Error> {
        if !self.has_property(owner, name)? {
            return Err(Unsupported::NoProperty { name: name.to_owned() }.into());
        }
        self.delete_where("sysxprops", &owner.key(name))
    }
}
