//! CREATE TABLE: the table with its defaults and clustered key first, then its other keys, indexes,
//! checks and foreign keys, one after the other, as ALTER TABLE would add them.

use extentdb_base::sync::Arc;
use extentdb_engine::model::CatalogModel;
use extentdb_engine::{ColumnSpec, Error, IndexSpec, TableSpec, Unsupported};
use extentdb_tsql::syntax::{
    ColumnDefinition, ColumnKind, Constraint, ConstraintKind, CreateTable, InlineIndex,
    KeyConstraint, Name, TableElement, TableKind,
};
use extentdb_types::SqlType;

use super::column::{Columns, Standing};
use super::constraint::{ExistingRows, Target};
use super::key::{self, KeyColumn};
use super::names::Namer;
use super::options::verify_table_options;
use super::problem::{Defined, Problem};
use super::{Ddl, Define};
use extentdb_connection::cause::{Cause, DefinitionCause};
use extentdb_connection::objects::{
    DEFAULT_SCHEMA, QualifiedName, is_global_temporary, is_temporary, stored_name,
};
use extentdb_connection::output::StatementCode;

/// A table as its syntax describes it.
struct Elements<'t> {
    columns: Vec<&'t ColumnDefinition>,
    /// Constraints but for defaults, each with the column that it stands beside.
    constraints: Vec<(&'t Constraint, Option<&'t Name>)>,
    /// The same.
    indexes: Vec<(&'t InlineIndex, Option<&'t Name>)>,
}

/// What a definition of a table makes.
#[derive(Clone, Copy)]
enum Making {
    Table,
    Type,
}

impl Define for CreateTable {
    fn code(&self) -> StatementCode {
        StatementCode::CreateTable
    }

    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined {
        let at = ddl.free_name(self)?;
        ddl.in_scope(&at.database.clone(), |ddl| ddl.create_table(self, &at).map(drop))
    }
}

impl Ddl<'_, '_> {
    /// Where the new table comes to.
    fn free_name(&mut self, create: &CreateTable) -> Defined<QualifiedName> {
        let name = create.name.name.text.to_string();
        let place = self.connection().qualified(&create.name)?;
        let Some(mut at) = place else {
            let database = create.name.database().map(|name| name.text.to_string());
            return Err(Cause::UnknownDatabase { name: database.unwrap_or_default() }.into());
        };
        let is_own = is_temporary(&name) && !is_global_temporary(&name);
        if is_own {
            self.verify_no_temporary(&name)?;
            at.name = stored_name(&name, self.connection().server.next_temporary_table());
            return Ok(at);
        }
        let model = self.model(&at.database)?;
        let Some(schema) = model.schema(&at.schema) else {
            return Err(DefinitionCause::NoSchema { name: at.schema }.into());
        };
        at.schema = schema.name.clone();
        if self.connection().object_at(&at)?.is_some() {
            return Err(DefinitionCause::ObjectExists { name }.into());
        }
        Ok(at)
    }

    /// A scope has one temporary table of a name.
    fn verify_no_temporary(&mut self, name: &str) -> Defined {
        let connection = self.connection();
        let tempdb = connection.tempdb()?;
        let nesting = connection.nesting;
        let stored: Vec<String> =
            connection.temporary.stored_at(name, nesting).map(str::to_owned).collect();
        for stored in stored {
            let stored = format!("{DEFAULT_SCHEMA}.{stored}");
            if connection.session.table_in(&tempdb, &stored).is_ok() {
                return Err(DefinitionCause::ObjectExists { name: name.to_owned() }.into());
            }
        }
        Ok(())
    }

    /// Makes the table in the current database.
    pub(super) fn create_table(
        &mut self,
        create: &CreateTable,
        at: &QualifiedName,
    ) -> Defined<Target> {
        self.create(create, at, Making::Table)
    }

    /// Makes a table type in the current database, from the table that it stands for.
    pub(super) fn create_table_type(
        &mut self,
        create: &CreateTable,
        at: &QualifiedName,
    ) -> Defined {
        self.create(create, at, Making::Type).map(drop)
    }

    fn create(
        &mut self,
        create: &CreateTable,
        at: &QualifiedName,
        making: Making,
    ) -> Defined<Target> {
        verify_kind(create)?;
        let model = self.model(&at.database)?;
        let shown = create.name.name.text.to_string();
        let elements = Elements::of(create, &shown)?;
        let mut namer = Namer::new(&model, &at.schema, &shown, &at.name);
        let columns = self.columns(&elements, &model, &shown, &mut namer)?;
        let clustered = elements.clustered(&shown)?;
        let base = clustered.map(|own| own.spec(&shown, &columns, &mut namer)).transpose()?;
        let group = key::filegroup(create.storage.as_ref())?;
        let spec = TableSpec {
            schema: Some(at.schema.clone()),
            name: at.name.clone(),
            columns,
            filegroup: base.as_ref().and_then(|base| base.filegroup.clone()).or(group.clone()),
            clustered: base
                .map(|base| IndexSpec { filegroup: base.filegroup.clone().or(group), ..base }),
        };
        let table = match making {
            Making::Table => self.make_table(&spec, &shown)?,
            Making::Type => {
                let made = self.session().create_table_type(&spec);
                made.map_err(|error| size_problem(&shown, &spec, error))?
            }
        };
        let target = Target {
            database: at.database.clone(),
            schema: at.schema.clone(),
            table,
            shown,
        };
        self.add_rest(&target, &elements, clustered)?;
        Ok(target)
    }

    fn make_table(
        &mut self,
        spec: &TableSpec,
        shown: &str,
    ) -> Defined<Arc<extentdb_engine::Table>> {
        let is_default = |name: &str| {
            spec.columns.iter().any(|c| c.default.as_ref().is_some_and(|d| d.name == name))
        };
        let is_key = |name: &str| spec.clustered.as_ref().is_some_and(|key| key.name == name);
        let made = self.session().create_table(spec).map_err(|error| match error {
            Error::Exists { name } if is_default(&name) || is_key(&name) => {
                let cause = DefinitionCause::ObjectExists { name };
                Problem::from(cause).then(DefinitionCause::NotCreated)
            }
            error => size_problem(shown, spec, error),
        });
        let table = made?;
        if is_temporary(shown) {
            // One that all sessions see ends with the session, not with a procedure of it.
            let connection = self.connection();
            let nesting = if is_global_temporary(shown) { 0 } else { connection.nesting };
            connection.temporary.add(shown, &table, nesting);
        }
        Ok(table)
    }

    fn columns(
        &mut self,
        elements: &Elements<'_>,
        model: &Arc<CatalogModel>,
        table: &str,
        namer: &mut Namer<'_>,
    ) -> Defined<Vec<ColumnSpec>> {
        let columns = Columns { model, options: &self.connection().options.clone(), table };
        let standing = |position: usize, column: &ColumnDefinition| Standing {
            position,
            is_in_primary_key: elements.is_in_primary_key(&column.name),
        };
        let mut specs = Vec::new();
        for (position, column) in (1..).zip(&elements.columns) {
            specs.push(match column.kind {
                // Its type follows from those of the others.
                ColumnKind::Computed { .. } => placeholder(column),
                _ => columns.stored(column, standing(position, column), namer)?,
            });
        }
        let stored = specs.clone();
        for (at, column) in elements.columns.iter().enumerate() {
            if matches!(column.kind, ColumnKind::Computed { .. })
                && let Some(spec) = specs.get_mut(at)
            {
                *spec = columns.computed(column, standing(at + 1, column), &stored)?;
            }
        }
        verify_one_of_a_kind(&specs, table)?;
        Ok(specs)
    }

    /// Adds what the table has not got yet.
    fn add_rest(
        &mut self,
        target: &Target,
        elements: &Elements<'_>,
        clustered: Option<Clustered<'_>>,
    ) -> Defined {
        let key = match clustered {
            Some(Clustered::Key(key, _)) => Some(key),
            _ => None,
        };
        let is_done =
            |constraint: &Constraint| key.is_some_and(|key| std::ptr::eq(key, constraint));
        for (constraint, column) in &elements.constraints {
            if !is_done(constraint) {
                self.add_constraint(target, constraint, *column, ExistingRows::Verified)?;
            }
        }
        for (index, column) in &elements.indexes {
            let is_done = matches!(
                clustered, Some(Clustered::Index(done, _)) if std::ptr::eq(done, *index)
            );
            if !is_done {
                let spec = inline_index(index, *column)?;
                self.create_index(target, &spec)?;
            }
        }
        Ok(())
    }
}

/// What holds the rows of a table, with the column that it stands beside.
#[derive(Clone, Copy)]
enum Clustered<'t> {
    Key(&'t Constraint, Option<&'t Name>),
    Index(&'t InlineIndex, Option<&'t Name>),
}

impl Clustered<'_> {
    fn spec(
        self,
        table: &str,
        columns: &[ColumnSpec],
        namer: &mut Namer<'_>,
    ) -> Defined<IndexSpec> {
        let spec = match self {
            Clustered::Index(index, column) => inline_index(index, column)?,
            Clustered::Key(constraint, column) => {
                let ConstraintKind::Key(own) = &constraint.kind else {
                    return Err(Cause::not_supported("a key without columns").into());
                };
                let name = namer.of_key(constraint, own, column);
                key::of_constraint(own, name, column, true)?
            }
        };
        let columns: Vec<KeyColumn> = columns.iter().map(KeyColumn::from).collect();
        key::verify(&spec, table, &columns)?;
        Ok(spec)
    }
}

/// An index of a table definition.
pub(super) fn inline_index(index: &InlineIndex, column: Option<&Name>) -> Result<IndexSpec, Cause> {
    let mut spec = key::of_definition(&index.name, &index.definition)?;
    if let (true, Some(column)) = (spec.keys.is_empty(), column) {
        spec.keys.push((column.text.to_string(), false));
    }
    Ok(spec)
}

impl<'t> Elements<'t> {
    fn of(create: &'t CreateTable, table: &str) -> Defined<Elements<'t>> {
        let mut elements = Elements {
            columns: Vec::new(),
            constraints: Vec::new(),
            indexes: Vec::new(),
        };
        for element in &create.elements {
            match element {
                TableElement::Column(column) => elements.add_column(column, table)?,
                TableElement::Constraint(constraint) => {
                    elements.constraints.push((constraint, None));
                }
                TableElement::Index(index) => elements.indexes.push((index, None)),
                TableElement::Period { .. } => {
                    return Err(Cause::not_supported("PERIOD FOR SYSTEM_TIME").into());
                }
            }
        }
        elements.verify_keys(table)?;
        Ok(elements)
    }

    fn add_column(&mut self, column: &'t ColumnDefinition, table: &str) -> Defined {
        let name = &column.name.text;
        if self.columns.iter().any(|other| other.name.text.eq_ignore_ascii_case(name)) {
            let column = name.to_string();
            let table = table.to_owned();
            return Err(DefinitionCause::ColumnTwiceInTable { column, table }.into());
        }
        for constraint in &column.constraints {
            if !matches!(constraint.kind, ConstraintKind::Default { .. }) {
                self.constraints.push((constraint, Some(&column.name)));
            }
        }
        self.indexes.extend(column.index.iter().map(|index| (index, Some(&column.name))));
        self.columns.push(column);
        Ok(())
    }

    fn keys(&self) -> impl Iterator<Item = (&'t Constraint, &'t KeyConstraint, Option<&'t Name>)> {
        self.constraints.iter().filter_map(|(constraint, column)| match &constraint.kind {
            ConstraintKind::Key(key) => Some((*constraint, &**key, *column)),
            _ => None,
        })
    }

    fn verify_keys(&self, table: &str) -> Defined {
        if self.keys().filter(|(_, key, _)| key.is_primary).count() > 1 {
            let table = table.to_owned();
            return Err(DefinitionCause::SecondPrimaryKey { table }.into());
        }
        for (_, key, column) in self.keys() {
            if column.is_some() && key.columns.len() > 1 {
                let kind = if key.is_primary { "PRIMARY KEY" } else { "UNIQUE" };
                let table = table.to_owned();
                return Err(DefinitionCause::ColumnConstraintColumns { kind, table }.into());
            }
        }
        Ok(())
    }

    /// The key or index that holds the rows: the one that says so, else the primary key unless it
    /// says NONCLUSTERED.
    fn clustered(&self, table: &str) -> Defined<Option<Clustered<'t>>> {
        let is_said = |it: Option<bool>| it == Some(true);
        let keys = self.keys().filter(|(_, key, _)| is_said(key.is_clustered));
        let keys = keys.map(|(constraint, _, column)| Clustered::Key(constraint, column));
        let indexes = self.indexes.iter().filter(|(index, _)| {
            is_said(index.definition.is_clustered) && !index.definition.is_columnstore
        });
        let indexes = indexes.map(|(index, column)| Clustered::Index(index, *column));
        let mut said = keys.chain(indexes);
        if let Some(first) = said.next() {
            if said.next().is_some() {
                let table = table.to_owned();
                return Err(DefinitionCause::SecondClusteredConstraint { table }.into());
            }
            return Ok(Some(first));
        }
        let mut primary =
            self.keys().filter(|(_, key, _)| key.is_primary && key.is_clustered.is_none());
        Ok(primary.next().map(|(constraint, _, column)| Clustered::Key(constraint, column)))
    }

    fn is_in_primary_key(&self, column: &Name) -> bool {
        self.keys().filter(|(_, key, _)| key.is_primary).any(|(_, key, beside)| {
            let has = |name: &Name| name.text.eq_ignore_ascii_case(&column.text);
            match key.columns.as_slice() {
                [] => beside.is_some_and(has),
                columns => columns.iter().any(|own| has(&own.name)),
            }
        })
    }
}

/// A table with too many columns, or too long ones.
fn size_problem(table: &str, spec: &TableSpec, error: Error) -> Problem {
    let table = table.to_owned();
    match error {
        Error::NotSupported(Unsupported::RowBytes { bytes }) => {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            DefinitionCause::RowTooWide { table, bytes }.into()
        }
        Error::NotSupported(Unsupported::ColumnCount { .. }) => {
            let column = spec.columns.get(1024).map(|column| column.name.clone());
            DefinitionCause::TooManyColumns { column: column.unwrap_or_default(), table }.into()
        }
        error => error.into(),
    }
}

fn placeholder(column: &ColumnDefinition) -> ColumnSpec {
    ColumnSpec::computed(&column.name.text, SqlType::Int, "")
}

fn verify_one_of_a_kind(columns: &[ColumnSpec], table: &str) -> Defined {
    if columns.iter().filter(|column| column.identity.is_some()).count() > 1 {
        return Err(DefinitionCause::SecondIdentity { table: table.to_owned() }.into());
    }
    let mut versions = columns.iter().filter(|column| column.ty == SqlType::RowVersion);
    if let Some(second) = versions.nth(1) {
        let column = second.name.clone();
        return Err(DefinitionCause::SecondTimestamp { table: table.to_owned(), column }.into());
    }
    if columns.iter().filter(|column| column.row_guid).count() > 1 {
        return Err(Cause::not_supported("a second ROWGUIDCOL").into());
    }
    Ok(())
}

fn verify_kind(create: &CreateTable) -> Defined {
    let what = match create.kind {
        TableKind::Plain if create.filestream_storage.is_some() => "FILESTREAM_ON",
        TableKind::Plain => {
            if let Some(name) = &create.text_storage {
                let is_usual = ["default", "primary"]
                    .iter()
                    .any(|usual| name.text.eq_ignore_ascii_case(usual));
                let of_table = create.storage.as_ref().map(|storage| &*storage.name.text);
                if !is_usual && of_table != Some(&*name.text) {
                    return Err(Cause::not_supported("TEXTIMAGE_ON another filegroup").into());
                }
            }
            return Ok(verify_table_options(&create.options)?);
        }
        TableKind::FileTable => "FileTables",
        TableKind::Node | TableKind::Edge => "graph tables",
    };
    Err(Cause::not_supported(what).into())
}
