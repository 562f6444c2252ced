//! What the names of a query over files mean: tables and views of the reader's catalog, functions
//! of the time.
//!
//! A table with computed columns that rows do not store is a view over what they store: the binder
//! computes them as it computes everything else.

use extentdb_base::sync::Arc;
use extentdb_bind::surroundings::{
    Home, MadeRows, Object, SessionFunction, StoredTable, Surroundings,
};
use extentdb_bind::{Binder, Cause as BindCause, Result as Bound};
use extentdb_catalog::model::{Object as CatalogObject, ObjectType};
use extentdb_catalog::{Column, Table};
use extentdb_expr::{Environment, Settings, StatementOptions};
use extentdb_tsql::syntax::{DataType, ObjectName, Query};
use extentdb_tsql::{Options, Span, parse_query};
use extentdb_types::{Collation, SqlType};

use super::files::Files;
use super::mount::CatalogServer;
use super::scan::{Lost, TableRows};
use extentdb_connection::cause::Cause;
use extentdb_connection::data_type;
use extentdb_connection::function::{self, Definition, clock};
use extentdb_connection::query::{Reader, ViewName, refused, system_view, view};

/// Schema of names without one.
const DEFAULT_SCHEMA: &str = "dbo";
/// Schema by which views over tables with computed columns name what rows store. Not a name that a
/// schema of a user can have.
const STORED: &str = "\u{1}stored";

/// What a query over files stands in.
pub(super) struct FileSurroundings {
    files: Arc<Files>,
    environment: Environment,
    /// The functions that were met; their numbers are positions here.
    pub(super) functions: Vec<&'static Definition>,
    /// Who answers for the catalog, once a view of it was met.
    catalog: Option<CatalogServer>,
}

impl FileSurroundings {
    pub(super) fn new(files: &Arc<Files>) -> FileSurroundings {
        let database_collation = Collation(files.catalog().boot.collation_id);
        let settings = Settings::statement(StatementOptions::default());
        FileSurroundings {
            files: files.clone(),
            environment: Environment { columns: Vec::new(), database_collation, settings },
            functions: Vec::new(),
            catalog: None,
        }
    }

    /// How expressions are compiled.
    pub(super) fn into_environment(self) -> Environment {
        self.environment
    }

    fn is_same(&self, a: &str, b: &str) -> bool {
        let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
        a == b || (self.environment.database_collation.ignores_case() && fold(a) == fold(b))
    }

    fn verify_database(&self, name: &ObjectName) -> Bound<()> {
        if name.server().is_some() {
            let what = "names with a server".to_owned();
            return Err(BindCause::NotSupported { what }.at(name.span));
        }
        let Some(database) = name.database() else { return Ok(()) };
        if self.is_same(&database.text, &self.files.catalog().boot.name.to_string()) {
            return Ok(());
        }
        let what = format!("the database {}: the files are of another one", database.text);
        Err(BindCause::NotSupported { what }.at(name.span))
    }

    fn table(&self, table: &Table, span: Span) -> Bound<Object> {
        if table.columns.iter().any(is_computed) {
            return self.computing(table, span);
        }
        Ok(Object::Rows(stored(&self.files, table, Lost::Noted)))
    }

    /// A view over what rows store that computes the other columns; those that cannot be computed
    /// are left out, as an export leaves them out.
    fn computing(&self, table: &Table, span: Span) -> Bound<Object> {
        let from = format!("{}.{}", quoted(STORED), quoted(&table.full_name()));
        let mut items = Vec::new();
        for column in table.columns.iter().filter(|column| !column.column_set) {
            let name = quoted(&column.name);
            match &column.computed {
                Some(text) if is_computed(column) => {
                    let item = format!("{text} AS {name}");
                    if self.binds(&format!("SELECT {item} FROM {from}")) {
                        items.push(item);
                    }
                }
                _ => items.push(name),
            }
        }
        let text = format!("SELECT {} FROM {from}", items.join(", "));
        let name = table.name.clone();
        Ok(Object::View(extentdb_bind::surroundings::View {
            home: None,
            access: None,
            schema: Some(table.schema.clone()),
            query: Arc::new(query(&text, &name, span)?),
            columns: Vec::new(),
            has_check_option: false,
            name,
        }))
    }

    /// A view of the catalog: what a server says of the files, which is started for it in memory.
    fn system_view(&mut self, name: &ObjectName) -> Bound<Option<Object>> {
        let collation = self.environment.database_collation;
        if self.catalog.is_none() {
            let started = CatalogServer::start(&self.files).map_err(|error| {
                let what = format!("the view {} in a query over files: {error}", name.name.text);
                BindCause::NotSupported { what }.at(name.span)
            })?;
            self.catalog = Some(started);
        }
        let Some(catalog) = &self.catalog else { return Ok(None) };
        system_view(name, &catalog.server, &catalog.database, collation, Reader::default())
    }

    /// Can a query over stored columns be bound?
    fn binds(&self, text: &str) -> bool {
        let Ok(query) = query(text, "", Span::default()) else { return false };
        let mut own = FileSurroundings::new(&self.files);
        Binder::new(&mut own).statement(&query).is_ok()
    }

    fn object_named(&self, schema: &str, name: &str) -> Option<&CatalogObject> {
        let catalog = self.files.catalog();
        let schema_id = *catalog.schemas.iter().find(|(_, own)| self.is_same(own, schema))?.0;
        catalog
            .objects
            .values()
            // Below 0 are the system's own, which databases list from 2012 on.
            .filter(|object| object.id.0 > 0)
            .find(|object| object.schema_id == schema_id && self.is_same(&object.name, name))
    }

    /// A view by its text, or why there is none.
    fn view(&self, object: &CatalogObject, schema: &str, span: Span) -> Bound<Object> {
        let name = object.name.clone();
        let modules = &self.files.catalog().modules;
        let module = modules.iter().find(|module| module.object.id == object.id);
        let Some(text) = module.and_then(|module| module.text.as_deref()) else {
            let what = format!("the view {name}, whose text is encrypted or cannot be read");
            return Err(BindCause::NotSupported { what }.at(span));
        };
        let schema = Some(schema.to_owned());
        view(text, ViewName { home: None, schema, name, access: None }, span)
    }
}

/// What the rows of a table store.
pub(super) fn stored(files: &Arc<Files>, table: &Table, lost: Lost) -> MadeRows {
    let shown = |column: &&Column| !column.column_set && !is_computed(column);
    let shown: Vec<&Column> = table.columns.iter().filter(shown).collect();
    let ids = shown.iter().map(|column| column.id).collect();
    // Damaged files hold NULL in columns that should not have it.
    let made = |column: &&Column| {
        let ty = column.ty.unwrap_or(SqlType::VarBinary { len: None });
        (column.name.clone(), ty, true)
    };
    MadeRows {
        schema: Some(table.schema.clone()),
        columns: shown.iter().map(made).collect(),
        provider: Arc::new(TableRows::new(files, table, ids, lost)),
    }
}

/// A column whose values rows do not store.
pub(super) fn is_computed(column: &Column) -> bool {
    column.computed.is_some() && !column.persisted
}

fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn query(text: &str, name: &str, span: Span) -> Bound<Query> {
    parse_query(text, Options { quoted_identifier: true }).map_err(|error| {
        let what = format!("the computed columns of {name}: {}", error.cause);
        BindCause::NotSupported { what }.at(span)
    })
}

impl Surroundings for FileSurroundings {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn object(&mut self, name: &ObjectName, _: Option<&Home>) -> Bound<Option<Object>> {
        self.verify_database(name)?;
        let own = &name.name.text;
        let schema = name.schema().map_or(DEFAULT_SCHEMA, |schema| &schema.text);
        let tables = self.files.catalog().tables.values();
        if schema == STORED {
            let table = tables.into_iter().find(|table| table.full_name() == **own);
            return Ok(table.map(|table| Object::Rows(stored(&self.files, table, Lost::Noted))));
        }
        let is_meant = |table: &&Table| {
            table.kind != ObjectType::VIEW
                && self.is_same(&table.schema, schema)
                && self.is_same(&table.name, own)
        };
        if let Some(table) = tables.into_iter().find(is_meant) {
            return self.table(table, name.span).map(Some);
        }
        let refuse = |what: String| Err(BindCause::NotSupported { what }.at(name.span));
        match self.object_named(schema, own).map(|object| (object, object.kind.code())) {
            Some((object, "V")) => return self.view(object, schema, name.span).map(Some),
            Some((_, "SN")) => return refuse(format!("the synonym {schema}.{own}")),
            _ => {}
        }
        match extentdb_sysview::view(schema, own) {
            Some(view) if view.name.starts_with("dm_") => refuse(format!(
                "the view {}.{} in a query over files: it needs a server",
                view.schema, view.name
            )),
            Some(_) => self.system_view(name),
            None => Ok(None),
        }
    }

    fn table_variable(&mut self, _: &str) -> Option<StoredTable> {
        None
    }

    fn variable(&mut self, _: &str) -> Option<(usize, SqlType)> {
        None
    }

    fn function(&mut self, name: &str, arguments: usize) -> Bound<Option<SessionFunction>> {
        let found = match name.starts_with("@@") {
            true => function::global(name),
            false => function::called(name, arguments),
        };
        let Some(definition) = found else { return Ok(None) };
        if clock::value_at(definition.name, std::time::Duration::ZERO).is_none() {
            let what = format!("{name} in a query over files: it needs a server");
            return Err(BindCause::NotSupported { what }.at(Span::default()));
        }
        definition.verify_count(arguments).map_err(|cause| refused(cause, Span::default()))?;
        self.functions.push(definition);
        Ok(Some(SessionFunction {
            number: self.functions.len() - 1,
            ty: definition.result.ty(self.environment.database_collation),
            is_nullable: definition.is_nullable,
            arguments: Vec::new(),
            is_per_row: false,
        }))
    }

    fn data_type(&mut self, data_type: &DataType) -> Bound<SqlType> {
        let collation = self.environment.database_collation;
        let ty = data_type::declared(data_type, 1, collation);
        ty.map_err(|cause: Cause| refused(cause, data_type.span))
    }
}
