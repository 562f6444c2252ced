//! SELECT … INTO: a new table with the columns of a query, filled with its rows.
//!
//! It is CREATE TABLE, then INSERT … SELECT, as one statement: when the rows fail, the table is not
//! there. A column of one table keeps its IDENTITY.

use extentdb_base::sync::Arc;
use extentdb_bind::BoundQuery;
use extentdb_engine::StatementEnd;
use extentdb_engine::model::ObjectBody;
use extentdb_tsql::syntax::{
    Column, ColumnName, CreateTable, Expr, ExprKind, Insert, InsertSource, Into, Query, QueryBody,
    QueryHint, SelectItem, StatementKind, TableElement, TableHint, TableHintKind, TableSourceKind,
    Target, TargetKind,
};
use extentdb_tsql::{Options, parse};
use extentdb_types::{Collation, SqlType};

use super::Compiled;
use super::change::insert_rows;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::options::IdentityInsert;
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

struct SelectInto {
    into: Into,
    /// `IDENTITY ( … )` among the values; the query is without it.
    made: Option<MadeIdentity>,
    /// Without INTO.
    query: Arc<Query>,
    hints: Vec<QueryHint>,
    recursion_limit: u32,
}

/// The INTO of a query, where it has one.
pub(super) fn into_of(query: &Query) -> Option<&Into> {
    match &query.body {
        QueryBody::Select(select) => select.into.as_ref(),
        QueryBody::Parenthesised(inner) => into_of(inner),
        QueryBody::Set { first, .. } => match &**first {
            QueryBody::Select(select) => select.into.as_ref(),
            _ => None,
        },
    }
}

pub(super) fn compile(query: &Query, into: &Into, hints: &[QueryHint]) -> Compiled {
    if into.filegroup.is_some() {
        return Err(Cause::not_supported("SELECT INTO … ON a filegroup"));
    }
    let mut plain = query.clone();
    without_into(&mut plain.body);
    let made = made_identity(&mut plain)?;
    Ok(Box::new(SelectInto {
        into: into.clone(),
        made,
        query: Arc::new(plain),
        hints: hints.to_vec(),
        recursion_limit: super::hints::recursion_limit(hints)?,
    }))
}

/// A column of new identity values.
struct MadeIdentity {
    name: String,
    /// As CREATE TABLE has it: type, and IDENTITY with its numbers.
    text: String,
    place: Place,
}

/// Where a column stands among those of the query.
#[derive(Clone, Copy)]
enum Place {
    /// So many are before it.
    FromStart(usize),
    /// So many are after it.
    FromEnd(usize),
}

/// Takes `IDENTITY ( … )` out of a query.
fn made_identity(query: &mut Query) -> Result<Option<MadeIdentity>, Cause> {
    let QueryBody::Select(select) = &mut query.body else { return Ok(None) };
    let is_made = |item: &SelectItem| match item {
        SelectItem::Value { value, .. } => matches!(value.kind, ExprKind::Identity(_)),
        _ => false,
    };
    let Some(at) = select.items.iter().position(is_made) else { return Ok(None) };
    let has_star = select.items.iter().take(at).any(|item| matches!(item, SelectItem::Star { .. }));
    let item = select.items.remove(at);
    let SelectItem::Value { value, alias } = item else { return Ok(None) };
    let ExprKind::Identity(own) = &value.kind else { return Ok(None) };
    let Some(alias) = alias else {
        let text = "Incorrect syntax near 'IDENTITY'. A column with IDENTITY needs a name.";
        return Err(Cause::Query { number: 102, severity: 15, text: text.to_owned() });
    };
    let number = |expr: &Option<Expr>| expr.as_ref().map_or("1".to_owned(), Expr::to_string);
    let (seed, increment) = (number(&own.seed), number(&own.increment));
    let place = match has_star {
        true => Place::FromEnd(select.items.len() - at),
        false => Place::FromStart(at),
    };
    let text = format!("{} IDENTITY({seed}, {increment}) NOT NULL", own.data_type);
    Ok(Some(MadeIdentity { name: alias.text.to_string(), text, place }))
}

fn without_into(body: &mut QueryBody) {
    match body {
        QueryBody::Select(select) => select.into = None,
        QueryBody::Parenthesised(inner) => without_into(&mut inner.body),
        QueryBody::Set { first, .. } => without_into(first),
    }
}

impl Step for SelectInto {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        let (_, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            binder.statement(&self.query)
        })?;
        let identity = self.identity(run)?;
        let create = self.table(&bound, run.connection.collation(), identity.as_ref())?;
        run.connection.begin_implicit(run.output)?;
        let scope = run.connection.session.begin_scope();
        let scope = scope.map_err(|error| run.connection.engine_cause(&error))?;
        let done = self.filled(run, frame, create, identity.is_some());
        let end = if done.is_ok() { StatementEnd::Done } else { StatementEnd::Failed };
        let ended = run.connection.session.end_scope(scope, end);
        let count = done?;
        ended.map_err(|error| run.connection.engine_cause(&error))?;
        run.done(frame.scope, StatementCode::SelectInto, Some(count), false)?;
        Ok(RowCount::Rows(count as i64))
    }
}

/// The identity that a column of the new table gets.
struct InheritedIdentity {
    column: String,
    seed: String,
    increment: String,
}

impl InheritedIdentity {
    /// As CREATE TABLE has it.
    fn text(&self) -> String {
        format!(" IDENTITY({}, {})", self.seed, self.increment)
    }
}

/// The columns of a new table, to be listed.
fn column_names(create: &CreateTable) -> Vec<ColumnName> {
    let names = create.elements.iter().filter_map(|element| match element {
        TableElement::Column(column) => Some(column.name.clone()),
        _ => None,
    });
    names.map(|name| ColumnName { qualifier: None, column: Column::Named(name) }).collect()
}

impl SelectInto {
    /// The identity column of the one table of the query, where it is selected once and as it is.
    fn identity(&self, run: &mut Run<'_>) -> Result<Option<InheritedIdentity>, Cause> {
        let QueryBody::Select(select) = &self.query.body else { return Ok(None) };
        if self.made.is_some() {
            return Ok(None);
        }
        let [source] = select.from.as_slice() else { return Ok(None) };
        let TableSourceKind::Table(reference) = &source.kind else { return Ok(None) };
        if select.group_by.is_some() || self.query.with.is_some() {
            return Ok(None);
        }
        let Some(found) = run.connection.readable(&reference.name)? else { return Ok(None) };
        let ObjectBody::Table(model) = &found.object.body else { return Ok(None) };
        let column = model.columns.iter().find(|column| column.identity.is_some());
        let Some((column, identity)) = column.and_then(|it| Some((it, it.identity.as_ref()?)))
        else {
            return Ok(None);
        };
        // The name that the column has in the new table.
        let selected = |item: &SelectItem| match item {
            SelectItem::Star { .. } => Some(column.name.clone()),
            SelectItem::Value { value, alias } => {
                let ExprKind::Column(name) = &value.kind else { return None };
                let Column::Named(name) = &name.column else { return None };
                let is_it = name.text.eq_ignore_ascii_case(&column.name);
                is_it.then(|| alias.as_ref().unwrap_or(name).text.to_string())
            }
            SelectItem::Assign(_) => None,
        };
        let names: Vec<String> = select.items.iter().filter_map(selected).collect();
        let [name] = names.as_slice() else { return Ok(None) };
        Ok(Some(InheritedIdentity {
            column: name.clone(),
            seed: identity.seed.to_string(),
            increment: identity.increment.to_string(),
        }))
    }

    /// The new table takes values for its identity column.
    fn identity_insert(&self, run: &mut Run<'_>) -> Result<Option<IdentityInsert>, Stop> {
        let found = run.connection.readable(&self.into.table)?;
        Ok(found.map(|found| IdentityInsert {
            database: found.database.name().to_owned(),
            schema: found.schema_name(),
            name: found.object.object.name.clone(),
            table: found.object.object.id,
        }))
    }

    fn filled(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        create: CreateTable,
        has_identity: bool,
    ) -> Result<u64, Stop> {
        extentdb_definition::create_table(run, frame, &create)?;
        let span = self.into.table.span;
        let hint = TableHint { kind: TableHintKind::Word("TABLOCK"), span };
        let insert = Insert {
            with: None,
            top: None,
            target: Target {
                kind: TargetKind::Object(self.into.table.clone()),
                hints: vec![hint],
                span,
            },
            columns: match has_identity {
                true => column_names(&create),
                false => Vec::new(),
            },
            outputs: Vec::new(),
            source: InsertSource::Query(Box::new((*self.query).clone())),
            option: self.hints.clone(),
            span,
        };
        let before = run.connection.options.identity_insert.clone();
        if has_identity {
            run.connection.options.identity_insert = self.identity_insert(run)?;
        }
        let bound = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            binder.insert(&insert)
        });
        run.connection.options.identity_insert = before;
        let (mut prepared, bound) = bound?;
        prepared.changes("SELECT INTO", &bound.stored);
        insert_rows(run, frame, prepared, bound, false).map(|changed| changed.count)
    }

    /// The statement that creates the table.
    fn table(
        &self,
        bound: &BoundQuery,
        collation: Collation,
        identity: Option<&InheritedIdentity>,
    ) -> Result<CreateTable, Cause> {
        let mut columns = Vec::new();
        for output in &bound.outputs {
            if output.name.is_empty() {
                let text = "An object or column name is missing or empty. For SELECT INTO \
                            statements, verify each column has a name. For other statements, look \
                            for empty alias names. Aliases defined as \"\" or [] are not allowed. \
                            Change the alias to a valid name.";
                let text = text.to_owned();
                return Err(Cause::Query { number: 1038, severity: 15, text });
            }
            let ty = output.column.ty;
            if ty == SqlType::RowVersion {
                return Err(Cause::not_supported("SELECT INTO of a rowversion column"));
            }
            let own = ty.collation().filter(|own| *own != collation).and_then(|own| own.name());
            let collate = own.map(|name| format!(" COLLATE {name}")).unwrap_or_default();
            let null = if output.column.is_nullable { "NULL" } else { "NOT NULL" };
            let name = output.name.replace(']', "]]");
            let own = identity.filter(|own| own.column.eq_ignore_ascii_case(&output.name));
            let own = own.map(InheritedIdentity::text).unwrap_or_default();
            columns.push(format!("[{name}] {ty}{collate}{own} {null}"));
        }
        if let Some(made) = &self.made {
            let at = match made.place {
                Place::FromStart(before) => before.min(columns.len()),
                Place::FromEnd(after) => columns.len().saturating_sub(after),
            };
            columns.insert(at, format!("[{}] {}", made.name.replace(']', "]]"), made.text));
        }
        let text = format!("CREATE TABLE {} ({})", self.into.table, columns.join(", "));
        let refused = |what: String| Cause::not_supported(format!("SELECT INTO: {what}"));
        let script = parse(&text, Options { quoted_identifier: true })
            .map_err(|error| refused(error.cause.to_string()))?;
        match script.statements.into_iter().next().map(|statement| statement.kind) {
            Some(StatementKind::CreateTable(create)) => Ok(*create),
            _ => Err(refused("its columns".to_owned())),
        }
    }
}
