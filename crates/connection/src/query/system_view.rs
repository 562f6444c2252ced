//! System views as tables of queries.

use extentdb_base::sync::Arc;
use extentdb_bind::provider::{CallProvider, KeptRows, RequestedColumn, RowProvider, RowStream};
use extentdb_bind::surroundings::{CalledRows, MadeRows, Object};
use extentdb_bind::{Cause as BindCause, Result as Bound};
use extentdb_engine::Database;
use extentdb_sysview::{Content, Source, View};
use extentdb_tsql::syntax::ObjectName;
use extentdb_types::{Collation, Datum, SqlType};

use crate::cause::Cause;
use crate::connection::Connection;
use crate::facts::ServerView;
use crate::query::my_permissions::MyPermissions;
use crate::query::spt_values;
use crate::security::Hidden;
use crate::server::Server;

/// A system view in a database.
struct SystemRows {
    server: Arc<Server>,
    database: Arc<Database>,
    view: &'static View,
    reader: Reader,
}

/// What the one who reads does not see.
#[derive(Clone, Default)]
pub struct Reader {
    pub(crate) hidden: Hidden,
    /// What the session may do, for functions that tell it.
    pub(super) permissions: Option<Arc<MyPermissions>>,
}

impl Connection {
    /// Who reads a system view or function of a database.
    ///
    /// # Errors
    /// It is about the server, and the session may not look at that: 300.
    pub(crate) fn reader_of(
        &self,
        database: &Arc<Database>,
        name: &ObjectName,
    ) -> Result<Reader, Cause> {
        let text = name.name.text.to_lowercase();
        let permissions = match text == "fn_my_permissions" {
            true => Some(Arc::new(MyPermissions::of(self, self.rights(database)?))),
            false => None,
        };
        if self.is_sysadmin() {
            return Ok(Reader { permissions, ..Reader::default() });
        }
        self.verify_access(database)?;
        let rights = self.rights(database)?;
        let is_open = text == "dm_exec_sessions" || text.starts_with("dm_exec_describe");
        let may = match &*text {
            _ if is_open => true,
            own if own.starts_with("dm_db_") || own.starts_with("dm_tran_") => {
                rights.has_on_database("VWDS") || self.has_on_server("VWSS")
            }
            own if own.starts_with("dm_") => self.has_on_server("VWSS"),
            "fn_dblog" | "fn_dump_dblog" => rights.has_on_database("CL"),
            _ => true,
        };
        if may {
            return Ok(Reader { hidden: self.hidden_objects(database)?, permissions });
        }
        let (number, text) = match text.starts_with("dm_db_") || text.starts_with("dm_tran_") {
            true => (
                262,
                format!("VIEW DATABASE STATE permission denied in database '{}'.", database.name()),
            ),
            false => (
                300,
                "VIEW SERVER STATE permission was denied on object 'server', database \
                       'master'."
                    .to_owned(),
            ),
        };
        Err(Cause::Denied { number, text })
    }
}

/// Without what the one who reads does not see.
fn as_seen<'s>(source: Source<'s>, hidden: &Hidden) -> Source<'s> {
    let Hidden { objects, texts, principals, logins, session } = hidden.clone();
    let source = source.without(objects, texts, logins).only_session(session);
    source.without_principals(principals)
}

impl CallProvider for SystemRows {
    fn rows(&self, arguments: &[Datum<'static>]) -> Result<Vec<Vec<Datum<'static>>>, String> {
        let model = self.database.model().map_err(|error| error.to_string())?;
        let facts = ServerView(&self.server);
        let source = Source::new(&self.server.instance, &self.database, &model);
        let source = source.with_facts(&facts);
        let source = as_seen(source, &self.reader.hidden);
        self.view.call(&source, arguments).map_err(|error| error.to_string())
    }
}

impl RowProvider for SystemRows {
    fn open(&self, columns: &[RequestedColumn]) -> Result<Box<dyn RowStream>, String> {
        let model = self.database.model().map_err(|error| error.to_string())?;
        let facts = ServerView(&self.server);
        let source = Source::new(&self.server.instance, &self.database, &model);
        let source = source.with_facts(&facts);
        let source = as_seen(source, &self.reader.hidden);
        let rows = self.view.rows(&source).map_err(|error| error.to_string())?;
        Ok(Box::new(KeptRows::new(rows, columns)))
    }
}

/// The system view that a name stands for in a database.
///
/// # Errors
/// The server has what the view is about, and does not fill it.
pub fn object(
    name: &ObjectName,
    server: &Arc<Server>,
    database: &Arc<Database>,
    collation: Collation,
    reader: Reader,
) -> Bound<Option<Object>> {
    let schema = name.schema().map_or("dbo", |schema| &schema.text);
    let is_numbers = name.name.text.eq_ignore_ascii_case(spt_values::NAME);
    let is_master = database.locks().database() == extentdb_base::DatabaseId::MASTER;
    if is_numbers && is_master && schema.eq_ignore_ascii_case("dbo") {
        return Ok(Some(Object::Rows(spt_values::rows(collation))));
    }
    let Some(view) = extentdb_sysview::view(schema, &name.name.text) else { return Ok(None) };
    if view.content() == Content::Refused {
        let what = format!("the view {}.{}", view.schema, view.name);
        return Err(BindCause::NotSupported { what }.at(name.span));
    }
    let columns = columns_of(view, collation);
    let provider = Arc::new(SystemRows {
        server: server.clone(),
        database: database.clone(),
        view,
        reader,
    });
    let schema = Some(view.schema.to_owned());
    Ok(Some(Object::Rows(MadeRows { schema, columns, provider })))
}

/// The function of the system that a name stands for. Those of schema sys may be written without
/// it when their name begins with `fn_`.
///
/// # Errors
/// The server has what the function is about, and does not fill it.
pub(super) fn function(
    name: &ObjectName,
    server: &Arc<Server>,
    database: &Arc<Database>,
    collation: Collation,
    reader: Reader,
) -> Bound<Option<CalledRows>> {
    let text = &name.name.text;
    let is_plain = text.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("fn_"));
    let schema = match name.schema() {
        Some(schema) => &*schema.text,
        None if is_plain => "sys",
        None => return Ok(None),
    };
    let Some(view) = extentdb_sysview::function(schema, text) else { return Ok(None) };
    if let Some(provider) = reader.permissions {
        return Ok(Some(CalledRows { columns: columns_of(view, collation), provider }));
    }
    if view.content() == Content::Refused {
        let what = format!("the function {}.{}", view.schema, view.name);
        return Err(BindCause::NotSupported { what }.at(name.span));
    }
    let provider = Arc::new(SystemRows {
        server: server.clone(),
        database: database.clone(),
        view,
        reader,
    });
    Ok(Some(CalledRows { columns: columns_of(view, collation), provider }))
}

fn columns_of(view: &View, collation: Collation) -> Vec<(String, SqlType, bool)> {
    let columns = view.columns.iter();
    columns
        .map(|column| (column.name.to_owned(), column.ty.sql_type(collation), column.is_nullable))
        .collect()
}
