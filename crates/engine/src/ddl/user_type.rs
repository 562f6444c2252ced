//! Alias types: names for a system type with its length and its NULL or NOT NULL.
//!
//! ```text
//! sysscalartypes      id, schema, name, type; status 1: NOT NULL
//! syscolpars.utype    the columns and parameters of the type
//! ```
//!
//! A column keeps the system type beside the alias, so that nothing below the catalog knows of it.

use extentdb_base::sync::lock;
use extentdb_catalog::table::definition::column_facets;
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;
use extentdb_types::SqlType;

use crate::catalog::objects::object;
use crate::catalog::system_table::{Cells, int, number, text};
use crate::ddl::spec::Nullability;
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// `sysname`, the last type of the system.
const LAST_OF_SYSTEM: i64 = 256;
const STATUS_NOT_NULL: i32 = 1;
/// Columns of `sysscalartypes`, and of `syscolpars`.
const ID: usize = 0;
const SCHEMA: usize = 1;
const NAME: usize = 2;
const COLUMN_TYPE: usize = 5;

/// A new alias type.
#[derive(Clone, Debug)]
pub struct TypeSpec {
    /// Schema; `dbo` for none.
    pub schema: Option<String>,
    /// Name, 1 to 128 UTF-16 units.
    pub name: String,
    /// The type behind it.
    pub ty: SqlType,
    /// Of columns that say neither NULL nor NOT NULL.
    pub nullability: Nullability,
}

impl Session {
    /// Makes an alias type; returns its id, `user_type_id`.
    ///
    /// # Errors
    /// The name is taken; the schema is not there.
    pub fn create_type(&mut self, spec: &TypeSpec) -> Result<i32, Error> {
        self.statement("CREATE TYPE", |context| {
            verify_name("type", &spec.name)?;
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            context.lock_name(schema, &spec.name)?;
            let _ddl = lock(&context.db().ddl);
            let types = context.db().catalog.system("sysscalartypes")?.rows(&[])?;
            if types.iter().any(|row| is_type(row, schema, &spec.name)) {
                return Err(Error::Exists { name: spec.name.clone() });
            }
            let ids = types.iter().filter_map(|row| row.get(ID).and_then(number));
            let id = (ids.max().unwrap_or(0).max(LAST_OF_SYSTEM) + 1) as i32;
            let row = context.type_row(spec, id, schema);
            context.db().catalog.system("sysscalartypes")?.insert(context.tx()?, &row)?;
            Ok(id)
        })
    }

    /// Drops an alias type.
    ///
    /// # Errors
    /// There is none of this name, or a column or parameter has it: [`Error::ReferencedBy`].
    pub fn drop_type(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        self.statement("DROP TYPE", |context| {
            let schema = context.schema_id(schema)?;
            context.lock_name(schema, name)?;
            let _ddl = lock(&context.db().ddl);
            let missing = || Unsupported::NoType { name: name.to_owned() };
            let types = context.db().catalog.system("sysscalartypes")?.rows(&[])?;
            let own = types.iter().find(|row| is_type(row, schema, name)).ok_or_else(missing)?;
            let id = own.get(ID).and_then(number).filter(|id| *id > LAST_OF_SYSTEM);
            let id = id.ok_or_else(missing)?;
            context.verify_type_unused(name, id)?;
            context.delete_where("sysscalartypes", &[int(id as i32)])
        })
    }
}

impl StatementContext<'_> {
    fn type_row(&self, spec: &TypeSpec, id: i32, schema: i32) -> RowValues {
        let now = log_time(&*self.db().options.clock);
        let (length, precision, scale) = column_facets(&spec.ty);
        let collation = spec.ty.collation().map_or(0, |collation| collation.0 as i32);
        let is_not_null = spec.nullability == Nullability::NotNull;
        let mut row = RowValues::new();
        row.int(id).int(schema).ntext(&spec.name).tinyint(spec.ty.xtype()).smallint(length);
        row.tinyint(precision).tinyint(scale).int(collation);
        row.int(if is_not_null { STATUS_NOT_NULL } else { 0 });
        row.datetime(now.days as i32, now.ticks).datetime(now.days as i32, now.ticks);
        row.int(0).int(0);
        row
    }

    /// Refuses to drop a type that columns or parameters have.
    fn verify_type_unused(&self, name: &str, id: i64) -> Result<(), Error> {
        let columns = self.db().catalog.system("syscolpars")?.rows(&[])?;
        let has = |row: &&Cells| row.get(COLUMN_TYPE).and_then(number) == Some(id);
        let Some(column) = columns.iter().find(has) else { return Ok(()) };
        let owner = column.first().and_then(number).unwrap_or(0) as i32;
        let rows = self.db().catalog.system("sysschobjs")?.rows(&[int(owner)])?;
        let by = rows.first().map(|row| text(row.get(object::NAME))).unwrap_or_default();
        Err(Error::ReferencedBy { name: name.to_owned(), by })
    }
}

fn is_type(row: &Cells, schema: i32, name: &str) -> bool {
    row.get(SCHEMA).and_then(number) == Some(schema.into())
        && text(row.get(NAME)).eq_ignore_ascii_case(name)
}
