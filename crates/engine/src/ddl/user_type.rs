//! Alias types: names for a system type with its length and its NULL or NOT NULL. Table types:
//! names for the columns, keys and checks of a table that has no rows.
//!
//! ```text
//! sysscalartypes      id, schema, name, type; status 1: NOT NULL
//! syscolpars.utype    the columns and parameters of the type
//! sysschobjs          TT, in sys: the table of a table type
//! syssingleobjrefs    class 56, depid = type, indepid = its table
//! ```
//!
//! A column keeps the system type beside the alias, so that nothing below the catalog knows of it.

use extentdb_base::sync::{Arc, lock};
use extentdb_catalog::load::CLASS_TABLE_OF_TYPE;
use extentdb_catalog::table::definition::column_facets;
use extentdb_catalog::table::values::RowValues;
use extentdb_txn::log_time;
use extentdb_types::SqlType;

use crate::catalog::Table;
use crate::catalog::objects::object;
use crate::catalog::system_table::{Cells, byte, int, number, text};
use crate::ddl::spec::{Nullability, TableSpec};
use crate::error::invalid::verify_name;
use crate::error::{Error, Unsupported};
use crate::session::{Session, StatementContext};

/// `sysname`, the last type of the system.
const LAST_OF_SYSTEM: i64 = 256;
const STATUS_NOT_NULL: i32 = 1;
/// `system_type_id` of table types.
const XTYPE_TABLE: u8 = 243;
/// Schema of the tables behind them.
const SYS: &str = "sys";
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
            let id = context.free_type_id(schema, &spec.name)?;
            let row = context.type_row(spec, id, schema);
            context.db().catalog.system("sysscalartypes")?.insert(context.tx()?, &row)?;
            Ok(id)
        })
    }

    /// Makes a table type; returns the table behind it, which takes constraints and indexes as any
    /// other. `spec` is that of the table, with the schema and name of the type.
    ///
    /// # Errors
    /// As for [`Session::create_type`] and [`Session::create_table`].
    pub fn create_table_type(&mut self, spec: &TableSpec) -> Result<Arc<Table>, Error> {
        spec.verify()?;
        self.statement("CREATE TYPE", |context| {
            let schema = context.schema_id(spec.schema.as_deref().unwrap_or("dbo"))?;
            context.lock_name(schema, &spec.name)?;
            let _ddl = lock(&context.db().ddl);
            let id = context.free_type_id(schema, &spec.name)?;
            let of_table = TableSpec { schema: Some(SYS.to_owned()), ..spec.clone() };
            let table = context.make_table_of_type(&of_table)?;
            let row = context.table_type_row(&spec.name, id, schema);
            context.db().catalog.system("sysscalartypes")?.insert(context.tx()?, &row)?;
            let mut link = RowValues::new();
            link.tinyint(CLASS_TABLE_OF_TYPE).int(id).int(0).int(table.id().0).int(0).int(0);
            context.db().catalog.system("syssingleobjrefs")?.insert(context.tx()?, &link)?;
            Ok(table)
        })
    }

    /// Drops an alias type, or a table type with its table.
    ///
    /// # Errors
    /// There is none of this name, or a column or parameter has it: [`Error::ReferencedBy`].
    pub fn drop_type(&mut self, schema: &str, name: &str) -> Result<(), Error> {
        if let Some(table) = self.table_of_type(schema, name)? {
            self.drop_table(&table)?;
        }
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
            let class = byte(CLASS_TABLE_OF_TYPE);
            context.delete_where("syssingleobjrefs", &[int(id as i32), class])?;
            context.delete_where("sysscalartypes", &[int(id as i32)])
        })
    }
}

impl Session {
    /// The table behind a table type; `None` when the type is not one, or is not there.
    fn table_of_type(&mut self, schema: &str, name: &str) -> Result<Option<Arc<Table>>, Error> {
        let model = self.database().model()?;
        let Some(schema) = model.schema(schema) else { return Ok(None) };
        let ty = model.scalar_type_named(schema.id, name);
        let Some(object) = ty.and_then(|ty| model.object_by_id(ty.table?)) else {
            return Ok(None);
        };
        self.table(&format!("{SYS}.{}", object.object.name)).map(Some)
    }
}

impl StatementContext<'_> {
    /// The id of a new type.
    fn free_type_id(&self, schema: i32, name: &str) -> Result<i32, Error> {
        let types = self.db().catalog.system("sysscalartypes")?.rows(&[])?;
        if types.iter().any(|row| is_type(row, schema, name)) {
            return Err(Error::Exists { name: name.to_owned() });
        }
        let ids = types.iter().filter_map(|row| row.get(ID).and_then(number));
        Ok((ids.max().unwrap_or(0).max(LAST_OF_SYSTEM) + 1) as i32)
    }

    fn table_type_row(&self, name: &str, id: i32, schema: i32) -> RowValues {
        let now = log_time(&*self.db().options.clock);
        let mut row = RowValues::new();
        row.int(id).int(schema).ntext(name).tinyint(XTYPE_TABLE).smallint(-1);
        row.tinyint(0).tinyint(0).int(0).int(STATUS_NOT_NULL);
        row.datetime(now.days as i32, now.ticks).datetime(now.days as i32, now.ticks);
        row.int(0).int(0);
        row
    }

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
