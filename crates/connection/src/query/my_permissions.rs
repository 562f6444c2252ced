//! `sys.fn_my_permissions`: what the session may do with a securable.

use extentdb_base::sync::Arc;
use extentdb_bind::access::Allowed;
use extentdb_bind::provider::CallProvider;
use extentdb_types::Datum;

use crate::connection::Connection;
use crate::objects::{DEFAULT_SCHEMA, object_name};
use crate::security::{Identity, LoginToken, Rights, permission, server_permission};
use crate::server::Server;
use crate::variant::{nchar, text};

type Row = Vec<Datum<'static>>;

/// What the rows are made from.
pub(super) struct MyPermissions {
    rights: Arc<Rights>,
    server: Arc<Server>,
    login: Option<Arc<LoginToken>>,
    default_schema: String,
}

impl MyPermissions {
    pub(super) fn of(connection: &Connection, rights: Arc<Rights>) -> MyPermissions {
        let own = connection.default_schema(connection.session.database());
        MyPermissions {
            rights,
            server: connection.server.clone(),
            login: match connection.identity() {
                Identity::Login(login) => Some(login),
                Identity::User { .. } => None,
            },
            default_schema: own.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()),
        }
    }

    fn of_server(&self) -> Vec<Row> {
        let Some(login) = &self.login else { return Vec::new() };
        let has = |name: &&(&str, &str)| server_permission(&self.server, login, name.0);
        let all = permission::all_of("SERVER");
        all.iter().filter(has).map(|(_, name)| row("server", "", name)).collect()
    }

    fn of_database(&self) -> Vec<Row> {
        let all = permission::all_of("DATABASE");
        let has = |own: &&(&str, &str)| self.rights.has_on_database(own.0);
        all.iter().filter(has).map(|(_, name)| row("database", "", name)).collect()
    }

    /// An object, then its columns.
    fn of_object(&self, written: &str) -> Vec<Row> {
        let name = object_name(written);
        let model = self.rights.model();
        let found = match name.schema() {
            Some(schema) => model.object(&schema.text, &name.name.text),
            None => [&*self.default_schema, DEFAULT_SCHEMA]
                .iter()
                .find_map(|schema| model.object(schema, &name.name.text)),
        };
        let Some(object) = found.filter(|object| self.rights.sees(object)) else {
            return Vec::new();
        };
        let columns: Vec<&str> = match (object.table(), object.module()) {
            (Some(table), _) => table.columns.iter().map(|own| own.name.as_str()).collect(),
            (None, Some(module)) => module.columns.iter().map(|own| own.name.as_str()).collect(),
            _ => Vec::new(),
        };
        let kind = object.object.kind.code();
        let mut rows = Vec::new();
        let mut of_columns = Vec::new();
        for (code, permission) in permission::all_of("OBJECT") {
            if !permission::is_of_object(kind, code) {
                continue;
            }
            let is_dbo = self.rights.is_dbo();
            let allowed = if is_dbo { Allowed::All } else { self.rights.allowed(object, code) };
            if allowed == Allowed::All {
                rows.push(row(written, "", permission));
            }
            if !matches!(code, "SL" | "UP" | "RF") {
                continue;
            }
            for column in &columns {
                let is_allowed = match &allowed {
                    Allowed::All => true,
                    Allowed::Columns(names) => names.contains(*column),
                    Allowed::Nothing => false,
                };
                if is_allowed {
                    of_columns.push(row(written, column, permission));
                }
            }
        }
        rows.extend(of_columns);
        rows
    }

    fn of_schema(&self, written: &str) -> Vec<Row> {
        let Some(schema) = self.rights.model().schema(&object_name(written).name.text) else {
            return Vec::new();
        };
        let has = |own: &&(&str, &str)| self.rights.has_on_schema(schema.id, own.0);
        let all = permission::all_of("SCHEMA");
        all.iter().filter(has).map(|(_, name)| row(written, "", name)).collect()
    }
}

fn row(entity: &str, column: &str, permission: &str) -> Row {
    vec![nchar(entity), nchar(column), nchar(permission)]
}

impl CallProvider for MyPermissions {
    fn rows(&self, arguments: &[Datum<'static>]) -> Result<Vec<Row>, String> {
        let securable = arguments.first().and_then(text);
        let class = arguments.get(1).and_then(text).map(|class| class.trim().to_uppercase());
        match (class.as_deref(), securable) {
            (Some("SERVER"), _) => Ok(self.of_server()),
            (Some("DATABASE"), _) => Ok(self.of_database()),
            (Some("OBJECT"), Some(securable)) => Ok(self.of_object(&securable)),
            (Some("SCHEMA"), Some(securable)) => Ok(self.of_schema(&securable)),
            (Some("OBJECT" | "SCHEMA") | None, _) => Ok(Vec::new()),
            (Some(class), _) => Err(format!("fn_my_permissions of class {class}")),
        }
    }
}
