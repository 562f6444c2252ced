//! Objects by name: rows of `sysschobjs`.

use extentdb_base::ObjectId;

use crate::catalog::CatalogCache;
use crate::catalog::system_table::{Cells, number, text};
use crate::error::Error;

/// Columns of sysschobjs.
pub(crate) mod object {
    use extentdb_base::IndexId;

    pub(crate) const ID: usize = 0;
    pub(crate) const NAME: usize = 1;
    pub(crate) const SCHEMA: usize = 2;
    pub(crate) const STATUS: usize = 4;
    pub(crate) const KIND: usize = 5;
    pub(crate) const PARENT: usize = 6;
    /// Of a table: how many columns it has had.
    pub(crate) const COUNT: usize = 8;
    /// Its index by name, schema and class.
    pub(crate) const BY_NAME: IndexId = IndexId(3);
    /// Its index by the object that it belongs to.
    pub(crate) const BY_PARENT: IndexId = IndexId(4);
}

impl CatalogCache {
    /// The object of a name in a schema.
    pub(crate) fn object_named(&self, schema: i32, name: &str) -> Result<Option<ObjectId>, Error> {
        let is_named = |row: &Cells| text(row.get(object::NAME)).eq_ignore_ascii_case(name);
        let is_there =
            |row: &Cells| row.get(object::SCHEMA).and_then(number) == Some(schema.into());
        let objects = self.system("sysschobjs")?;
        let mut rows = match objects.rows_by_name(object::BY_NAME, name)? {
            // Equal under the collation of the database.
            Some(rows) => rows,
            None => objects.rows(&[])?.into_iter().filter(is_named).collect(),
        };
        rows.retain(is_there);
        let found = rows.first().and_then(|row| row.get(object::ID).and_then(number));
        Ok(found.map(|id| ObjectId(id as i32)))
    }
}
