//! SET IDENTITY_INSERT: one table of a session takes values for its identity column.

use extentdb_engine::model::ObjectBody;
use extentdb_tsql::syntax::ObjectName;

use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::options::IdentityInsert;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// There is no such table.
const UNKNOWN: i32 = 1088;
/// It has no identity column.
const NO_IDENTITY: i32 = 8106;
/// It is on for another table.
const OTHER_TABLE: i32 = 8107;

struct Switch {
    table: ObjectName,
    is_on: bool,
}

pub(super) fn compile(table: &ObjectName, is_on: bool) -> Box<dyn Step> {
    Box::new(Switch { table: table.clone(), is_on })
}

fn failed(number: i32, text: String) -> Cause {
    Cause::Failed { number, severity: 16, text }
}

impl Step for Switch {
    fn run(&self, run: &mut Run<'_>, _: &mut Frame) -> Result<RowCount, Stop> {
        let table = self.resolved(run)?;
        let current = run.connection.options.identity_insert.take();
        let other = current.filter(|own| !own.is(&table.database, table.table));
        if !self.is_on {
            run.connection.options.identity_insert = other;
            return Ok(RowCount::Rows(0));
        }
        if let Some(other) = other {
            let IdentityInsert { database, schema, name, .. } = &other;
            let text = format!(
                "IDENTITY_INSERT is already ON for table '{database}.{schema}.{name}'. Cannot perform SET operation for table '{}'.",
                table.name
            );
            run.connection.options.identity_insert = Some(other);
            return Err(failed(OTHER_TABLE, text).into());
        }
        run.connection.options.identity_insert = Some(table);
        Ok(RowCount::Rows(0))
    }
}

impl Switch {
    fn resolved(&self, run: &mut Run<'_>) -> Result<IdentityInsert, Stop> {
        let found = run.connection.readable(&self.table)?;
        let unknown = || {
            let name = self.table.to_string().replace(['[', ']'], "");
            let text = format!(
                "Cannot find the object \"{name}\" because it does not exist or you do not have permissions."
            );
            failed(UNKNOWN, text)
        };
        let found = found.ok_or_else(unknown)?;
        let altered = run.connection.verify_object(&found, None, code::ALTER, "ALTER");
        altered.map_err(|_| unknown())?;
        let ObjectBody::Table(model) = &found.object.body else { return Err(unknown().into()) };
        let name = found.object.object.name.clone();
        if !model.columns.iter().any(|column| column.identity.is_some()) {
            let text = format!(
                "Table '{name}' does not have the identity property. Cannot perform SET operation."
            );
            return Err(failed(NO_IDENTITY, text).into());
        }
        Ok(IdentityInsert {
            database: found.database.name().to_owned(),
            schema: found.schema_name(),
            name,
            table: found.object.object.id,
        })
    }
}
