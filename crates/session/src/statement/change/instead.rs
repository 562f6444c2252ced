//! INSTEAD OF triggers: texts that run in the place of a statement, over tables and views.
//!
//! ```text
//! INSERT v (a) VALUES (1)       inserted ◀── SELECT * FROM (VALUES (1)) s
//! DELETE v WHERE c              deleted  ◀── SELECT a, b FROM v WHERE c
//! UPDATE v SET a = x WHERE c    deleted, inserted ◀── SELECT a, b, x FROM v WHERE c
//! ```
//!
//! Invariants
//! - The statement itself changes nothing, and no constraint is asked.
//! - A trigger does not run in the place of its own statements over the same target.
//!
//! Where we differ: a column of `inserted` that INSERT does not name is NULL, also when it has a
//! default.

use extentdb_base::sync::Arc;
use extentdb_engine::StatementEnd;
use extentdb_engine::model::ObjectBody;
use extentdb_tsql::syntax::{
    AssignOperator, Column, ColumnName, Delete, Dml, DmlFilter, Expr, ExprKind, Insert,
    InsertSource, Link, Literal, Name, ObjectName, Query, QueryBody, Select, SelectItem, SetItem,
    TableAlias, TableReference, TableSource, TableSourceKind, TargetKind, Top, TriggerTiming,
    Update,
};
use extentdb_tsql::{Options, Span, parse};
use extentdb_types::{Datum, SqlType};

use super::output::Event;
use super::trigger::fires_on;
use crate::statement::capture::{Rows, rows_of};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::objects::ResolvedObject;
use extentdb_connection::query::{self, Prepared};
use extentdb_connection::run_trigger::{Loaded, begin_own, end_own, run_trigger, trigger_of};
use extentdb_connection::scalar::converted;
use extentdb_connection::security::permission::code;
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};
use extentdb_connection::trigger::TriggerRows;

/// A column of the target.
struct TargetColumn {
    name: String,
    ty: SqlType,
    is_nullable: bool,
    /// INSERT without a list of columns gives it a value.
    is_insertable: bool,
}

/// What is changed, and the trigger that runs in its place.
struct Instead {
    found: ResolvedObject,
    columns: Vec<TargetColumn>,
    trigger: Loaded,
    /// How the statement names the target.
    qualifier: ObjectName,
}

/// Rows before and after.
#[derive(Default)]
struct Changes {
    deleted: Vec<Vec<Datum<'static>>>,
    inserted: Vec<Vec<Datum<'static>>>,
    updated: Option<Vec<usize>>,
}

/// Runs the INSTEAD OF trigger of a statement; `None` when it has none. Says how many rows the
/// trigger has seen.
pub(super) fn fired(run: &mut Run<'_>, frame: &mut Frame, dml: &Dml) -> Result<Option<u64>, Stop> {
    let (target, from, event) = match dml {
        Dml::Insert(insert) => (&insert.target, &[][..], Event::Insert),
        Dml::Update(update) => (&update.target, update.from.as_slice(), Event::Update),
        Dml::Delete(delete) => (&delete.target, delete.from.as_slice(), Event::Delete),
        Dml::Merge(_) => return Ok(None),
    };
    let TargetKind::Object(name) = &target.kind else { return Ok(None) };
    if name.name.text.starts_with('#') {
        return Ok(None);
    }
    let Some(instead) = Instead::of(run, frame, name, from, event)? else { return Ok(None) };
    let changes = match dml {
        Dml::Insert(insert) => instead.inserted(run, frame, insert)?,
        Dml::Update(update) => instead.updated(run, frame, update)?,
        Dml::Delete(delete) => instead.deleted(run, frame, delete)?,
        Dml::Merge(_) => return Ok(None),
    };
    instead.fire(run, frame, changes).map(Some)
}

/// The name behind an alias of FROM.
fn behind_alias<'f>(name: &'f ObjectName, from: &'f [TableSource]) -> &'f ObjectName {
    let is_it = |source: &&TableSource| {
        let alias = source.alias.as_ref();
        alias.is_some_and(|alias| alias.name.text.eq_ignore_ascii_case(&name.name.text))
    };
    let mut all: Vec<&TableSource> = Vec::new();
    for source in from {
        match &source.kind {
            TableSourceKind::Joined { first, joins } => {
                all.push(first);
                all.extend(joins.iter().map(|join| &join.right));
            }
            _ => all.push(source),
        }
    }
    match all.into_iter().filter(|_| name.is_simple()).find(is_it).map(|source| &source.kind) {
        Some(TableSourceKind::Table(reference)) => &reference.name,
        _ => name,
    }
}

impl Instead {
    fn of(
        run: &mut Run<'_>,
        frame: &Frame,
        name: &ObjectName,
        from: &[TableSource],
        event: Event,
    ) -> Result<Option<Instead>, Stop> {
        let object = behind_alias(name, from);
        let Some(found) = run.connection.readable(object)? else { return Ok(None) };
        let Some(trigger) = trigger(run, &found, event)? else { return Ok(None) };
        let (kind, word) = match event {
            Event::Insert => (code::INSERT, "INSERT"),
            Event::Update => (code::UPDATE, "UPDATE"),
            Event::Delete => (code::DELETE, "DELETE"),
        };
        run.connection.verify_object(&found, None, kind, word)?;
        // Which columns there are needs no permission.
        let before = run.connection.security_depth();
        run.connection.enter_module(&found);
        let columns = columns(run, frame, &found, object);
        run.connection.restore_security(before);
        let columns = columns?;
        Ok(Some(Instead { found, columns, trigger, qualifier: name.clone() }))
    }

    fn ordinal(&self, name: &str) -> Result<usize, Stop> {
        let found = self.columns.iter().position(|own| own.name.eq_ignore_ascii_case(name));
        Ok(found.ok_or_else(|| Cause::Failed {
            number: 207,
            severity: 16,
            text: format!("Invalid column name '{name}'."),
        })?)
    }

    /// A value as one of a column.
    fn value(
        &self,
        run: &Run<'_>,
        frame: &Frame,
        value: Datum<'static>,
        from: SqlType,
        ordinal: usize,
    ) -> Result<Datum<'static>, Stop> {
        let to = self.columns.get(ordinal).map_or(from, |column| column.ty);
        Ok(converted(value, from, to, run.values(frame))?)
    }

    fn inserted(&self, run: &mut Run<'_>, frame: &Frame, insert: &Insert) -> Result<Changes, Stop> {
        let ordinals = self.listed(insert)?;
        let Rows { columns, rows } = match source(insert)? {
            Some(query) => rows_of(run, frame, &query)?,
            None => Rows { columns: Vec::new(), rows: vec![Vec::new()] },
        };
        let has_values = !matches!(insert.source, InsertSource::DefaultValues);
        if has_values && columns.len() != ordinals.len() {
            return Err(Cause::Failed {
                number: 213,
                severity: 16,
                text: "Column name or number of supplied values does not match table definition."
                    .to_owned(),
            }
            .into());
        }
        let mut inserted = Vec::new();
        for row in rows {
            let mut new = vec![Datum::Null; self.columns.len()];
            for ((value, column), ordinal) in row.into_iter().zip(&columns).zip(&ordinals) {
                let value = self.value(run, frame, value, column.ty, *ordinal)?;
                new.get_mut(*ordinal).into_iter().for_each(|place| *place = value.clone());
            }
            inserted.push(new);
        }
        Ok(Changes { inserted, ..Changes::default() })
    }

    /// The columns that INSERT gives values to.
    fn listed(&self, insert: &Insert) -> Result<Vec<usize>, Stop> {
        if insert.columns.is_empty() {
            let all = self.columns.iter().enumerate().filter(|(_, column)| column.is_insertable);
            return Ok(all.map(|(ordinal, _)| ordinal).collect());
        }
        let names = insert.columns.iter().map(|column| match &column.column {
            Column::Named(name) => self.ordinal(&name.text),
            Column::Pseudo(_) => Err(Cause::not_supported("a pseudo-column in INSERT").into()),
        });
        names.collect()
    }

    /// The rows of the target that a statement is about, and after them these values.
    fn rows(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        values: Vec<Expr>,
        rest: Rest<'_>,
    ) -> Result<Rows, Stop> {
        let span = self.qualifier.span;
        let own = self.columns.iter().map(|column| self.column(&column.name, span));
        let items = own.chain(values).map(|value| SelectItem::Value { value, alias: None });
        let from = match rest.from {
            [] => vec![TableSource {
                kind: TableSourceKind::Table(Box::new(TableReference {
                    name: self.qualifier.clone(),
                    system_time: None,
                    is_for_path: false,
                    sample: None,
                    hints: Vec::new(),
                })),
                alias: None,
                span,
            }],
            from => from.to_vec(),
        };
        let filter = match rest.filter {
            Some(DmlFilter::Condition(condition)) => Some(condition.clone()),
            _ => None,
        };
        let select = Select {
            is_distinct: false,
            top: rest.top.cloned(),
            items: items.collect(),
            into: None,
            from,
            filter,
            group_by: None,
            having: None,
            windows: Vec::new(),
            span,
        };
        let query = Query {
            with: rest.with.cloned(),
            body: QueryBody::Select(Box::new(select)),
            order_by: Vec::new(),
            offset: None,
            for_clause: None,
            span,
        };
        rows_of(run, frame, &query)
    }

    fn column(&self, name: &str, span: Span) -> Expr {
        let column = Column::Named(Name { text: name.into(), span });
        let qualifier = Some(self.qualifier.clone());
        Expr {
            kind: ExprKind::Column(Box::new(ColumnName { qualifier, column })),
            span,
        }
    }

    fn deleted(&self, run: &mut Run<'_>, frame: &Frame, delete: &Delete) -> Result<Changes, Stop> {
        let rest = Rest {
            with: delete.with.as_ref(),
            top: delete.top.as_ref(),
            from: &delete.from,
            filter: delete.filter.as_ref(),
        };
        let deleted = self.rows(run, frame, Vec::new(), rest)?.rows;
        Ok(Changes { deleted, ..Changes::default() })
    }

    fn updated(&self, run: &mut Run<'_>, frame: &Frame, update: &Update) -> Result<Changes, Stop> {
        let mut ordinals = Vec::new();
        let mut values = Vec::new();
        for set in &update.sets {
            let SetItem::Column { variable: None, column, operator, value } = set else {
                return Err(Cause::not_supported("such a SET over an INSTEAD OF trigger").into());
            };
            let Column::Named(name) = &column.column else {
                return Err(Cause::not_supported("a pseudo-column in SET").into());
            };
            ordinals.push(self.ordinal(&name.text)?);
            values.push(self.assigned(&name.text, *operator, value));
        }
        let rest = Rest {
            with: update.with.as_ref(),
            top: update.top.as_ref(),
            from: &update.from,
            filter: update.filter.as_ref(),
        };
        let Rows { columns, rows } = self.rows(run, frame, values, rest)?;
        let mut changes = Changes::default();
        for mut row in rows {
            let new = row.split_off(self.columns.len().min(row.len()));
            let mut after = row.clone();
            let types = columns.iter().skip(self.columns.len());
            for ((value, column), ordinal) in new.into_iter().zip(types).zip(&ordinals) {
                let value = self.value(run, frame, value, column.ty, *ordinal)?;
                after.get_mut(*ordinal).into_iter().for_each(|place| *place = value.clone());
            }
            changes.deleted.push(row);
            changes.inserted.push(after);
        }
        changes.updated = Some(ordinals);
        Ok(changes)
    }

    /// `column operator value` as a value.
    fn assigned(&self, name: &str, operator: AssignOperator, value: &Expr) -> Expr {
        match operator {
            AssignOperator::Set => without_default(value),
            AssignOperator::Compound(operator) => {
                let span = value.span;
                let first = Box::new(self.column(name, span));
                let rest = vec![Link { operator, operand: value.clone(), span }];
                Expr { kind: ExprKind::Chain { first, rest }, span }
            }
        }
    }

    fn fire(&self, run: &mut Run<'_>, frame: &Frame, changes: Changes) -> Result<u64, Stop> {
        let count = changes.deleted.len().max(changes.inserted.len()) as u64;
        let columns = self.columns.iter();
        let columns = columns.map(|own| (own.name.clone(), own.ty, own.is_nullable)).collect();
        let Changes { deleted, inserted, updated } = changes;
        let rows = TriggerRows::of_columns(columns, deleted, inserted, updated.as_deref());
        let own = begin_own(run);
        let scope = run.connection.session.begin_scope();
        let scope = scope.map_err(|error| run.connection.engine_cause(&error))?;
        run.connection.rowcount = i64::try_from(count).unwrap_or(i64::MAX);
        let database = self.found.database.name().to_owned();
        let done = run_trigger(run, frame, &self.trigger, (&database, Arc::new(rows)));
        let is_done = done.is_ok() && run.connection.transaction.count > 0;
        let end = if is_done { StatementEnd::Done } else { StatementEnd::Failed };
        let ended = run.connection.session.end_scope(scope, end);
        let done = done.and_then(|()| {
            ended.map_err(|error| run.connection.engine_cause(&error))?;
            Ok(count)
        });
        end_own(run, own, done)
    }
}

/// What a statement says of its rows.
struct Rest<'s> {
    with: Option<&'s extentdb_tsql::syntax::With>,
    top: Option<&'s Top>,
    from: &'s [TableSource],
    filter: Option<&'s DmlFilter>,
}

/// The enabled INSTEAD OF trigger of an object for an event; not one that runs now.
fn trigger(run: &Run<'_>, found: &ResolvedObject, event: Event) -> Result<Option<Loaded>, Stop> {
    let children = found.object.children.iter().filter_map(|id| found.model.object_by_id(*id));
    let triggers = children.filter(|child| {
        child.object.kind.code() == "TR"
            && !child.object.is_disabled_constraint()
            && run.connection.firing.last() != Some(&child.object.id)
    });
    for child in triggers {
        let Some(text) = child.module().and_then(|module| module.text.as_deref()) else { continue };
        if !text.to_ascii_uppercase().contains("INSTEAD") {
            continue;
        }
        let script = parse(text, Options { quoted_identifier: true })
            .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
        let is_it = trigger_of(&script.statements).is_some_and(|trigger| {
            trigger.timing == TriggerTiming::InsteadOf && fires_on(trigger, event)
        });
        if is_it {
            let name = child.object.name.clone();
            return Ok(Some(Loaded { id: child.object.id, name, script }));
        }
    }
    Ok(None)
}

/// The columns of a table or view.
fn columns(
    run: &mut Run<'_>,
    frame: &Frame,
    found: &ResolvedObject,
    name: &ObjectName,
) -> Result<Vec<TargetColumn>, Stop> {
    if let ObjectBody::Table(table) = &found.object.body {
        let columns = table.columns.iter().filter_map(|column| {
            let ty = column.ty?;
            Some(TargetColumn {
                name: column.name.clone(),
                ty,
                is_nullable: true,
                is_insertable: column.computed.is_none()
                    && column.identity.is_none()
                    && ty != SqlType::RowVersion,
            })
        });
        return Ok(columns.collect());
    }
    let text = format!("SELECT * FROM {name}");
    let query = extentdb_tsql::parse_query(&text, Options { quoted_identifier: true })
        .map_err(|error| Cause::Syntax(error.cause))?;
    let (_, bound) = Prepared::bind(run, frame, |binder| binder.statement(&query))?;
    let columns = query::column_infos(&bound).into_iter().map(|info| TargetColumn {
        name: info.name,
        ty: info.ty,
        is_nullable: true,
        is_insertable: true,
    });
    Ok(columns.collect())
}

/// The rows of an INSERT as a query; `None` for DEFAULT VALUES.
fn source(insert: &Insert) -> Result<Option<Query>, Stop> {
    let span = insert.span;
    match &insert.source {
        InsertSource::DefaultValues => Ok(None),
        InsertSource::Execute(_) => {
            Err(Cause::not_supported("INSERT … EXECUTE over an INSTEAD OF trigger").into())
        }
        InsertSource::Query(query) => {
            let mut query = (**query).clone();
            if query.with.is_none() {
                query.with.clone_from(&insert.with);
            }
            Ok(Some(query))
        }
        InsertSource::Values(rows) => {
            let width = rows.first().map_or(0, Vec::len);
            let name = |text: String| Name { text: text.into(), span };
            let alias = TableAlias {
                name: name("s".to_owned()),
                columns: (0..width).map(|at| name(format!("c{at}"))).collect(),
            };
            let rows = rows.iter().map(|row| row.iter().map(without_default).collect()).collect();
            let select = Select {
                is_distinct: false,
                top: insert.top.clone(),
                items: vec![SelectItem::Star { qualifier: None, span }],
                into: None,
                from: vec![TableSource {
                    kind: TableSourceKind::Values(rows),
                    alias: Some(alias),
                    span,
                }],
                filter: None,
                group_by: None,
                having: None,
                windows: Vec::new(),
                span,
            };
            Ok(Some(Query {
                with: insert.with.clone(),
                body: QueryBody::Select(Box::new(select)),
                order_by: Vec::new(),
                offset: None,
                for_clause: None,
                span,
            }))
        }
    }
}

/// A value; NULL in the place of DEFAULT.
fn without_default(value: &Expr) -> Expr {
    match value.kind {
        ExprKind::Default => Expr { kind: ExprKind::Literal(Literal::Null), span: value.span },
        _ => value.clone(),
    }
}
