//! What the names of a query mean here: objects of the catalog, variables, functions.

use extentdb_base::sync::Arc;
use extentdb_bind::access::{Access, Allowed};
use extentdb_bind::surroundings::{
    Home, MadeRows, Object, SessionFunction, StoredTable, Surroundings, TableFunctionObject,
    UserFunction, View,
};
use extentdb_bind::{Cause as BindCause, Error as BindError, Result as Bound};
use extentdb_engine::Database;
use extentdb_engine::model::ObjectBody;
use extentdb_expr::Environment;
use extentdb_tsql::syntax::{
    DataType, Module, Name, ObjectName, Qualifier, Statement, StatementKind,
};
use extentdb_tsql::{Options, Span, parse};
use extentdb_types::SqlType;

use crate::cause::Cause;
use crate::connection::Connection;
use crate::data_type;
use crate::frame::{Frame, variable_named};
use crate::function;
use crate::objects::ResolvedObject;
use crate::pending_load;
use crate::query::functions::RowFunction;
use crate::query::system_view::{self, Reader};
use crate::query::user_function::StoredFunction;
use crate::security::permission::code;

/// What a query stands in.
pub struct QuerySurroundings<'s> {
    connection: &'s mut Connection,
    frame: &'s Frame,
    environment: Environment,
    /// The functions that were met; their numbers are positions here.
    pub functions: Vec<RowFunction>,
    /// Was a table met?
    pub reads_tables: bool,
    /// Do names mean the same until a definition changes? Not those of system views and of rows
    /// that are there for this statement.
    pub is_reusable: bool,
}

impl<'s> QuerySurroundings<'s> {
    /// What a query of a connection finds around it.
    pub fn new(connection: &'s mut Connection, frame: &'s Frame) -> QuerySurroundings<'s> {
        let database_collation = connection.collation();
        let settings = connection.options.settings();
        QuerySurroundings {
            connection,
            frame,
            environment: Environment { columns: Vec::new(), database_collation, settings },
            functions: Vec::new(),
            reads_tables: false,
            is_reusable: true,
        }
    }

    /// The function of users of a name.
    fn stored_function(
        &mut self,
        name: &ObjectName,
        from: Option<&Home>,
    ) -> Bound<Option<(StoredFunction, ResolvedObject)>> {
        let within = seen_from(name, from);
        let name = within.as_ref().unwrap_or(name);
        let found = self.connection.readable(name).map_err(|cause| refused(cause, name.span))?;
        let collation = self.environment.database_collation;
        match found {
            Some(found) => {
                let function = StoredFunction::of(&found, collation, name.span)?;
                Ok(function.map(|function| (function, found)))
            }
            None => Ok(None),
        }
    }

    /// Who reads a system view or function of a database.
    fn reader(&self, database: &Arc<Database>, name: &ObjectName) -> Bound<Reader> {
        let reader = self.connection.reader_of(database, name);
        reader.map_err(|cause| refused(cause, name.span))
    }

    /// The number of a sequence among the functions.
    fn sequence_number(&mut self, found: &ResolvedObject) -> usize {
        let id = found.object.object.id;
        let is_it = |own: &RowFunction| match own {
            RowFunction::NextValue { database, sequence, .. } => {
                *sequence == id && Arc::ptr_eq(database, &found.database)
            }
            RowFunction::Session(_) | RowFunction::User(_) => false,
        };
        self.functions.iter().position(is_it).unwrap_or_else(|| {
            let database = found.database.clone();
            let name = found.object.object.name.clone();
            self.functions.push(RowFunction::NextValue { database, sequence: id, name });
            self.functions.len() - 1
        })
    }

    fn resolved(
        &mut self,
        found: ResolvedObject,
        from: Option<&Home>,
        span: Span,
    ) -> Bound<Option<Object>> {
        let accesses = self.connection.accesses_to(&found, from);
        let accesses = accesses.map_err(|cause| refused(cause, span))?;
        if let ObjectBody::Module(module) = &found.object.body
            && found.kind() == "V"
        {
            let name = found.object.object.name.clone();
            let Some(text) = &module.text else {
                return Err(refused(
                    Cause::not_supported(format!("the encrypted view {name}")),
                    span,
                ));
            };
            let home = Some(self.connection.home_of(&found));
            let schema = Some(found.schema_name());
            let access = accesses.into_iter().next();
            return view(text, ViewName { home, schema, name, access }, span).map(Some);
        }
        self.reads_tables = true;
        let id = found.object.object.id;
        if found.table.is_none()
            && let Some(rows) = self.connection.server.other_rows(&found.database, id)
        {
            if let Some(own) = accesses.iter().find(|own| own.select != Allowed::All) {
                return Err(own.denied("SELECT").at(span));
            }
            return Ok(Some(Object::Rows(rows)));
        }
        let table = found.into_table().map_err(|cause| refused(cause, span))?;
        Ok(table.map(|table| {
            Object::Table(StoredTable {
                database: table.database,
                table: table.table,
                object: table.object,
                accesses,
            })
        }))
    }
}

impl Surroundings for QuerySurroundings<'_> {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn object(&mut self, name: &ObjectName, from: Option<&Home>) -> Bound<Option<Object>> {
        if let Some(rows) = pending_load::rows_named(self.connection.loaded_rows(), name) {
            self.is_reusable = false;
            return Ok(Some(Object::Rows(rows)));
        }
        if let Some(rows) = self.frame.trigger.as_ref().and_then(|trigger| trigger.named(name)) {
            self.is_reusable = false;
            return Ok(Some(Object::Rows(rows)));
        }
        let within = seen_from(name, from);
        let name = within.as_ref().unwrap_or(name);
        let found = self.connection.readable(name).map_err(|cause| refused(cause, name.span))?;
        if let Some(found) = found {
            return self.resolved(found, from, name.span);
        }
        let at = self.connection.qualified(name).map_err(|cause| refused(cause, name.span))?;
        let Some(at) = at else { return Ok(None) };
        self.is_reusable = false;
        let server = self.connection.server.clone();
        let collation = self.environment.database_collation;
        let reader = self.reader(&at.database, name)?;
        system_view::object(name, &server, &at.database, collation, reader)
    }

    fn table_variable(&mut self, name: &str) -> Option<StoredTable> {
        let found = self.connection.table_variable(name).ok().flatten()?;
        self.reads_tables = true;
        Some(StoredTable {
            database: found.database,
            table: found.table,
            object: found.object,
            accesses: Vec::new(),
        })
    }

    fn is_read_only(&self, variable: &str) -> bool {
        self.connection.is_read_only(variable)
    }

    fn variable(&mut self, name: &str) -> Option<(usize, SqlType)> {
        let slot = variable_named(&self.frame.variables, name)?;
        self.frame.variables.get(slot).map(|variable| (slot, variable.ty))
    }

    fn function(&mut self, name: &str, arguments: usize) -> Bound<Option<SessionFunction>> {
        let found = match name.starts_with("@@") {
            true => function::global(name),
            false => function::called(name, arguments),
        };
        let Some(definition) = found else { return Ok(None) };
        definition.verify_count(arguments).map_err(|cause| refused(cause, Span::default()))?;
        let collation = self.environment.database_collation;
        let types = (0..arguments)
            .map(|place| definition.argument(place).map(|kind| kind.ty(collation)))
            .collect();
        self.functions.push(RowFunction::Session(definition));
        Ok(Some(SessionFunction {
            number: self.functions.len() - 1,
            ty: definition.result.ty(collation),
            is_nullable: definition.is_nullable,
            arguments: types,
            is_per_row: matches!(
                definition.name,
                "newid" | "newsequentialid" | "crypt_gen_random" | "pwdencrypt"
            ),
        }))
    }

    fn takes_identity(&self, stored: &StoredTable) -> bool {
        let table = self.connection.options.identity_insert.as_ref();
        let loads = self.connection.bulk_rows.as_ref();
        loads.is_some_and(|rows| has_identity(rows, stored))
            || table.is_some_and(|own| own.is(stored.database.name(), stored.table.id()))
    }

    fn table_function(
        &mut self,
        name: &ObjectName,
        from: Option<&Home>,
    ) -> Bound<Option<TableFunctionObject>> {
        self.is_reusable = false;
        if let Some((function, found)) = self.stored_function(name, from)? {
            let verified = self.connection.verify_object(&found, from, code::SELECT, "SELECT");
            verified.map_err(|cause| refused(cause, name.span))?;
            let number = self.functions.len();
            let found = function.table_function(number, name.span)?;
            self.functions.push(RowFunction::User(Arc::new(function)));
            self.reads_tables = true;
            return Ok(Some(found));
        }
        let current = self.connection.session.database().clone();
        let home = from.filter(|_| name.database().is_none());
        let database = home.map_or(&current, |home| &home.database);
        let server = self.connection.server.clone();
        let reader = self.reader(database, name)?;
        let collation = self.environment.database_collation;
        let found = system_view::function(name, &server, database, collation, reader)?;
        Ok(found.map(TableFunctionObject::System))
    }

    fn user_function(
        &mut self,
        name: &ObjectName,
        from: Option<&Home>,
    ) -> Bound<Option<UserFunction>> {
        self.is_reusable = false;
        let Some((function, object)) = self.stored_function(name, from)? else { return Ok(None) };
        let verified = self.connection.verify_object(&object, from, code::EXECUTE, "EXECUTE");
        verified.map_err(|cause| refused(cause, name.span))?;
        let Some(found) = function.value_function(self.functions.len()) else { return Ok(None) };
        self.functions.push(RowFunction::User(Arc::new(function)));
        self.reads_tables = true;
        Ok(Some(found))
    }

    fn sequence(&mut self, name: &ObjectName) -> Bound<Option<SessionFunction>> {
        self.is_reusable = false;
        let found = self.connection.readable(name).map_err(|cause| refused(cause, name.span))?;
        let Some(found) = found else { return Ok(None) };
        let ObjectBody::Sequence(definition) = &found.object.body else { return Ok(None) };
        let verified = self.connection.verify_object(&found, None, code::UPDATE, "UPDATE");
        verified.map_err(|cause| refused(cause, name.span))?;
        self.reads_tables = true;
        Ok(Some(SessionFunction {
            number: self.sequence_number(&found),
            ty: definition.ty,
            is_nullable: false,
            arguments: Vec::new(),
            is_per_row: true,
        }))
    }

    fn data_type(&mut self, data_type: &DataType) -> Bound<SqlType> {
        let collation = self.environment.database_collation;
        data_type::declared(data_type, 1, collation).map_err(|cause| refused(cause, data_type.span))
    }
}

/// A name that is looked up in another database than the current one.
fn seen_from(name: &ObjectName, from: Option<&Home>) -> Option<ObjectName> {
    from.filter(|_| name.database().is_none()).map(|home| {
        let span = name.span;
        let database = Name { text: home.database.name().into(), span };
        let schema = name.schema().cloned();
        let qualifier = Qualifier { server: None, database: Some(database), schema };
        ObjectName { qualifier: Some(Box::new(qualifier)), ..name.clone() }
    })
}

/// A cause of this crate in the words of the binder.
pub fn refused(cause: Cause, span: Span) -> BindError {
    BindCause::Other { number: cause.number(), text: cause.to_string() }.at(span)
}

/// What a view is called.
pub struct ViewName {
    /// Its database and owner; `None`: where its name was looked up.
    pub home: Option<Home>,
    /// Its schema, where columns may be named by it.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// What may be done with it; `None` for everything.
    pub access: Option<Arc<Access>>,
}

/// The query of a view, from its text.
pub fn view(text: &str, view: ViewName, span: Span) -> Bound<Object> {
    let ViewName { home, schema, name, access } = view;
    let unreadable = |what: String| {
        refused(Cause::not_supported(format!("the text of view {name}: {what}")), span)
    };
    let script = parse(text, Options { quoted_identifier: true })
        .map_err(|error| unreadable(error.cause.to_string()))?;
    let [Statement { kind: StatementKind::DefineModule(define), .. }] =
        script.statements.as_slice()
    else {
        return Err(unreadable("it is no CREATE VIEW".to_owned()));
    };
    let Module::View(view) = &define.module else {
        return Err(unreadable("it is no CREATE VIEW".to_owned()));
    };
    Ok(Object::View(View {
        home,
        access,
        schema,
        query: Arc::new((*view.query).clone()),
        columns: view.columns.iter().map(|name| name.text.to_string()).collect(),
        has_check_option: view.with_check_option,
        name,
    }))
}

/// Do rows in memory have values for the identity column of a table? A load of others leaves the
/// values to the table.
fn has_identity(rows: &MadeRows, stored: &StoredTable) -> bool {
    let columns = stored.object.table().map(|table| &*table.columns).unwrap_or_default();
    let identity = columns.iter().find(|column| column.identity.is_some());
    identity.is_some_and(|own| rows.columns.iter().any(|it| it.0.eq_ignore_ascii_case(&own.name)))
}
