//! Names of objects: from what a statement writes to what the catalog has.
//!
//! ```text
//! t, s.t, db.s.t, db..t   the schema of the user, then dbo, where none is written; the current
//!                         database where none is
//! #t, x.dbo.#t            a temporary table of this session: in tempdb, by its stored name
//! ##t                     in tempdb, by its own name
//! srv.db.s.t              linked servers: 7202
//! ```
//!
//! Invariants
//! - What is found belongs together: the object of the model is that of the table.
//! - A table that another transaction is dropping or creating is waited for; it is not passed over.
//!   A statement that runs in a transaction takes its locks by `Session::stable_model` afterwards,
//!   and resolves again when the table is gone.

mod table_type;
mod table_variable;
mod temporary;

use extentdb_base::sync::Arc;
use extentdb_engine::model::{CatalogModel, ObjectBody, ObjectModel, ObjectType};
use extentdb_engine::{Database, Error, StatementEnd, Table};
use extentdb_tsql::syntax::{Name, ObjectName, Qualifier};

use crate::cause::{Cause, DefinitionCause};
use crate::connection::Connection;

pub use crate::temporary_table::HandedTable;
pub use table_type::TableType;
pub use temporary::{TemporaryTables, stored_name};

/// Schema of names without one.
pub const DEFAULT_SCHEMA: &str = "dbo";
/// Database of temporary tables.
pub const TEMPDB: &str = "tempdb";
/// A table that is being dropped again and again is looked up as often.
const TRIES_MAX: usize = 100;

/// A name with its database and schema; nothing need have it.
#[derive(Clone)]
pub struct QualifiedName {
    /// Where it is.
    pub database: Arc<Database>,
    /// Name of its schema.
    pub schema: String,
    /// As the catalog stores it.
    pub name: String,
}

/// An object that a name leads to.
#[derive(Clone)]
pub struct ResolvedObject {
    /// Where it is.
    pub database: Arc<Database>,
    /// The catalog that it was found in.
    pub model: Arc<CatalogModel>,
    /// What the catalog has of it.
    pub object: Arc<ObjectModel>,
    /// A user table whose rows are read here.
    pub table: Option<Arc<Table>>,
}

/// A table that a name leads to.
#[derive(Clone)]
pub struct ResolvedTable {
    /// Where it is.
    pub database: Arc<Database>,
    /// What the catalog has of it.
    pub object: Arc<ObjectModel>,
    /// Its rows.
    pub table: Arc<Table>,
}

/// Is it the name of a temporary table of a session, or of all?
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('#')
}

/// Is it the name of a temporary table that all sessions see?
pub fn is_global_temporary(name: &str) -> bool {
    name.starts_with("##")
}

/// The name of the temporary table that a table variable is.
pub fn table_variable_name(name: &str) -> String {
    format!("#{name}")
}

impl ResolvedObject {
    /// Code of what it is, as `sys.objects.type` has it.
    pub fn kind(&self) -> &str {
        self.object.object.kind.code()
    }

    /// Its name as it was created: without the ending of a temporary procedure.
    pub fn shown_name(&self) -> &str {
        temporary::shown(&self.object.object.name)
    }

    /// Name of its schema.
    pub fn schema_name(&self) -> String {
        let id = self.object.object.schema_id;
        let schema = self.model.schemas().find(|schema| schema.id == id);
        schema.map(|schema| schema.name.clone()).unwrap_or_default()
    }

    /// The table that it is; `None` when it is something else.
    ///
    /// # Errors
    /// It is a table whose rows are not read here.
    pub fn into_table(self) -> Result<Option<ResolvedTable>, Cause> {
        let ResolvedObject { database, object, table, .. } = self;
        match table {
            Some(table) => Ok(Some(ResolvedTable { database, object, table })),
            None if object.object.kind == ObjectType::USER_TABLE => {
                let name = &object.object.name;
                Err(Cause::not_supported(format!("table {name}, whose rows are not in one index")))
            }
            None => Ok(None),
        }
    }
}

impl ResolvedTable {
    /// Its name as it was created: without the ending of a temporary table.
    pub fn shown_name(&self) -> &str {
        temporary::shown(self.table.name())
    }
}

impl Connection {
    /// What a query reads by a name, through synonyms; `None` when nothing has the name.
    ///
    /// # Errors
    /// The database is not online, or a lock is not granted.
    pub fn readable(&mut self, name: &ObjectName) -> Result<Option<ResolvedObject>, Cause> {
        match self.object(name)? {
            Some(found) => self.behind_synonym(found),
            None => Ok(None),
        }
    }

    /// The table that a variable of the batch or procedure at hand is, by its name with `@`.
    ///
    /// # Errors
    /// As for [`Connection::object`].
    pub fn table_variable(&mut self, name: &str) -> Result<Option<ResolvedTable>, Cause> {
        let name = table_variable_name(name);
        let stored: Vec<String> =
            self.temporary.stored_at(&name, self.nesting).map(str::to_owned).collect();
        let database = self.tempdb()?;
        for stored in stored {
            let at = QualifiedName {
                database: database.clone(),
                schema: DEFAULT_SCHEMA.to_owned(),
                name: stored,
            };
            if let Some(found) = self.object_at(&at)? {
                return found.into_table();
            }
        }
        Ok(None)
    }

    /// The object of a name, whatever it is.
    ///
    /// # Errors
    /// The database is not online, or a lock is not granted.
    pub fn object(&mut self, name: &ObjectName) -> Result<Option<ResolvedObject>, Cause> {
        for at in self.lookups(name)? {
            if let Some(found) = self.object_at(&at)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What a synonym stands for; anything else as it is.
    fn behind_synonym(&mut self, found: ResolvedObject) -> Result<Option<ResolvedObject>, Cause> {
        let ObjectBody::Synonym(base) = &found.object.body else { return Ok(Some(found)) };
        let base = object_name(base);
        let in_database = ObjectName {
            qualifier: Some(Box::new(Qualifier {
                database: Some(base.database().cloned().unwrap_or_else(|| Name {
                    text: found.database.name().into(),
                    span: base.span,
                })),
                schema: base.schema().cloned(),
                server: base.server().cloned(),
            })),
            ..base
        };
        self.object(&in_database)
    }

    /// Where the object of a name is looked for, in this order.
    fn lookups(&self, name: &ObjectName) -> Result<Vec<QualifiedName>, Cause> {
        let text = &*name.name.text;
        if is_temporary(text) && !is_global_temporary(text) {
            let database = self.tempdb()?;
            let at = |stored: &str| QualifiedName {
                database: database.clone(),
                schema: DEFAULT_SCHEMA.to_owned(),
                name: stored.to_owned(),
            };
            return Ok(self.temporary.stored_names(text).map(at).collect());
        }
        let own = self.qualified(name)?;
        let is_of_user =
            name.schema().is_none() && own.as_ref().is_some_and(|own| own.schema != DEFAULT_SCHEMA);
        let shared = own.clone().filter(|_| is_of_user);
        let shared = shared.map(|own| QualifiedName { schema: DEFAULT_SCHEMA.to_owned(), ..own });
        Ok(own.into_iter().chain(shared).collect())
    }

    /// A name with its database and schema; `None` when there is no such database. The name of a
    /// temporary table of this session is the one that is written.
    ///
    /// # Errors
    /// It names a server, or a database that is not online.
    pub fn qualified(&self, name: &ObjectName) -> Result<Option<QualifiedName>, Cause> {
        if let Some(server) = name.server() {
            let name = server.text.to_string();
            return Err(DefinitionCause::NoServer { name }.into());
        }
        let text = name.name.text.to_string();
        if is_temporary(&text) {
            let database = self.tempdb()?;
            return Ok(Some(QualifiedName {
                database,
                schema: DEFAULT_SCHEMA.to_owned(),
                name: text,
            }));
        }
        let database = match name.database() {
            None => self.session.database().clone(),
            Some(database) => match self.server.instance.database(&database.text) {
                Ok(database) => database,
                Err(Error::NoDatabase { .. }) => return Ok(None),
                Err(error) => return Err(self.engine_cause(&error)),
            },
        };
        let schema = match name.schema() {
            Some(schema) => schema.text.to_string(),
            None => self.default_schema(&database).unwrap_or_else(|| DEFAULT_SCHEMA.to_owned()),
        };
        Ok(Some(QualifiedName { database, schema, name: text }))
    }

    /// Database of temporary tables.
    pub fn tempdb(&self) -> Result<Arc<Database>, Cause> {
        self.server.instance.database(TEMPDB).map_err(|error| self.engine_cause(&error))
    }

    /// The object at a place in the catalog.
    ///
    /// # Errors
    /// As for [`Connection::object`].
    pub fn object_at(&mut self, at: &QualifiedName) -> Result<Option<ResolvedObject>, Cause> {
        let database = &at.database;
        for _ in 0..TRIES_MAX {
            let table = self.table_named(database, &at.schema, &at.name)?;
            let model = database.model().map_err(|error| self.engine_cause(&error))?;
            let Some(table) = table else { return self.object_of_model(at, model) };
            if let Some(object) = model.object_by_id(table.id()).cloned() {
                return Ok(Some(ResolvedObject {
                    database: database.clone(),
                    model,
                    object,
                    table: Some(table),
                }));
            }
            // Another transaction has dropped it, and may still roll back.
            self.await_definition(database, &table)?;
        }
        Ok(None)
    }

    /// What is no table here, or a table by a name that differs by more than the case of ASCII
    /// letters.
    fn object_of_model(
        &self,
        at: &QualifiedName,
        model: Arc<CatalogModel>,
    ) -> Result<Option<ResolvedObject>, Cause> {
        let Some(object) = model.object(&at.schema, &at.name).cloned() else { return Ok(None) };
        let schema = model.schema(&at.schema).map_or(&*at.schema, |schema| &schema.name);
        let table = match object.object.kind {
            ObjectType::USER_TABLE => {
                self.table_named(&at.database, schema, &object.object.name)?
            }
            _ => None,
        };
        Ok(Some(ResolvedObject { database: at.database.clone(), model, object, table }))
    }

    fn table_named(
        &self,
        database: &Arc<Database>,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<Table>>, Cause> {
        match self.session.table_in(database, &format!("{schema}.{name}")) {
            Ok(table) => Ok(Some(table)),
            Err(Error::NoTable { .. }) => Ok(None),
            Err(error) => Err(self.engine_cause(&error)),
        }
    }

    /// Waits until nobody is changing the definition of a table.
    fn await_definition(&mut self, database: &Arc<Database>, table: &Table) -> Result<(), Cause> {
        let waited = self.in_database(database, |connection| {
            let session = &mut connection.session;
            let scope = session.begin_scope()?;
            let waited = session.stable_model(&[table.id()]).map(|_| ());
            session.end_scope(scope, StatementEnd::Done)?;
            waited
        });
        match waited {
            Ok(()) | Err(Error::Gone { .. }) => Ok(()),
            Err(error) => Err(self.engine_cause(&error)),
        }
    }

    /// Does something in a database, which is the current one meanwhile.
    pub fn in_database<T, E: From<Error>>(
        &mut self,
        database: &Arc<Database>,
        work: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let home = self.enter_database(database)?;
        let done = work(self);
        self.leave_database(home)?;
        done
    }

    /// Makes a database the current one for a while. What is returned ends that:
    /// [`Connection::leave_database`].
    pub fn enter_database(
        &mut self,
        database: &Arc<Database>,
    ) -> Result<Option<Arc<Database>>, Error> {
        let home = self.session.database().clone();
        if Arc::ptr_eq(&home, database) {
            return Ok(None);
        }
        let instance = self.server.instance.clone();
        instance.use_database(&mut self.session, database.name())?;
        Ok(Some(home))
    }

    /// The database before is the current one again.
    pub fn leave_database(&mut self, home: Option<Arc<Database>>) -> Result<(), Error> {
        home.map_or(Ok(()), |home| self.session.use_database(&home))
    }
}

/// An object name from its parts in a text: `[db].[s].[t]`.
pub fn object_name(text: &str) -> ObjectName {
    let span = extentdb_tsql::Span::default();
    let name = |text: String| Name { text: text.into(), span };
    let mut parts = parts_of(text);
    let last = parts.pop().unwrap_or_default();
    let mut part = || parts.pop().filter(|part| !part.is_empty()).map(name);
    let schema = part();
    let database = part();
    let server = part();
    let has_qualifier = schema.is_some() || database.is_some() || server.is_some();
    let qualifier = has_qualifier.then(|| Box::new(Qualifier { server, database, schema }));
    ObjectName { name: name(last), qualifier, span }
}

/// The parts of a name between points, without brackets and quotation marks.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.trim().chars().peekable();
    let mut until = None;
    while let Some(letter) = letters.next() {
        let Some(part) = parts.last_mut() else { break };
        match (until, letter) {
            (Some(end), _) if letter == end => {
                if letters.next_if_eq(&end).is_some() {
                    part.push(end);
                } else {
                    until = None;
                }
            }
            (Some(_), _) => part.push(letter),
            (None, '[') => until = Some(']'),
            (None, '"') => until = Some('"'),
            (None, '.') => parts.push(String::new()),
            (None, _) => part.push(letter),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{object_name, parts_of};

    #[test]
    fn names_in_texts_are_taken_apart() {
        let cases: [(&str, &[&str]); 6] = [
            ("t", &["t"]),
            ("dbo.t", &["dbo", "t"]),
            ("[a.b].[c]]d]", &["a.b", "c]d"]),
            ("db..t", &["db", "", "t"]),
            ("\"x\"\"y\".z", &["x\"y", "z"]),
            ("", &[""]),
        ];
        for (text, parts) in cases {
            assert_eq!(parts_of(text), parts, "{text}");
        }
    }

    #[test]
    fn parts_that_are_left_out_are_none() {
        let name = object_name("db..t");
        assert_eq!(name.database().map(|it| &*it.text), Some("db"));
        assert_eq!((name.schema(), name.server()), (None, None));
        assert!(object_name("[t]").is_simple());
    }
}
