//! SELECT … INTO: a new table with the columns of a query, filled with its rows.
//!
//! It is CREATE TABLE, then INSERT … SELECT, as one statement: when the rows fail, the table is not
//! there. Where we differ: a column does not inherit IDENTITY.

use extentdb_base::sync::Arc;
use extentdb_bind::BoundQuery;
use extentdb_engine::StatementEnd;
use extentdb_tsql::syntax::{
    CreateTable, Insert, InsertSource, Into, Query, QueryBody, QueryHint, StatementKind, TableHint,
    TableHintKind, Target, TargetKind,
};
use extentdb_tsql::{Options, parse};
use extentdb_types::{Collation, SqlType};

use super::Compiled;
use super::change::insert_rows;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::Prepared;
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

struct SelectInto {
    into: Into,
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
    Ok(Box::new(SelectInto {
        into: into.clone(),
        query: Arc::new(plain),
        hints: hints.to_vec(),
        recursion_limit: super::hints::recursion_limit(hints)?,
    }))
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
        let create = self.table(&bound, run.connection.collation())?;
        run.connection.begin_implicit(run.output)?;
        let scope = run.connection.session.begin_scope();
        let scope = scope.map_err(|error| run.connection.engine_cause(&error))?;
        let done = self.filled(run, frame, create);
        let end = if done.is_ok() { StatementEnd::Done } else { StatementEnd::Failed };
        let ended = run.connection.session.end_scope(scope, end);
        let count = done?;
        ended.map_err(|error| run.connection.engine_cause(&error))?;
        run.done(frame.scope, StatementCode::SelectInto, Some(count), false)?;
        Ok(RowCount::Rows(count as i64))
    }
}

impl SelectInto {
    fn filled(&self, run: &mut Run<'_>, frame: &Frame, create: CreateTable) -> Result<u64, Stop> {
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
            columns: Vec::new(),
            outputs: Vec::new(),
            source: InsertSource::Query(Box::new((*self.query).clone())),
            option: self.hints.clone(),
            span,
        };
        let (mut prepared, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            binder.insert(&insert)
        })?;
        prepared.changes("SELECT INTO", &bound.stored);
        insert_rows(run, frame, prepared, bound, false).map(|changed| changed.count)
    }

    /// The statement that creates the table.
    fn table(&self, bound: &BoundQuery, collation: Collation) -> Result<CreateTable, Cause> {
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
            columns.push(format!("[{name}] {ty}{collate} {null}"));
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
