//! Common table expressions, recursive ones among them.
//!
//! Each reference binds the query again. A query that names itself after UNION ALL is a recursion:
//! what is before the first such term is the anchor.

use extentdb_base::sync::Arc;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    JoinKind, ObjectName, QueryBody, SetOperator, SetTerm, TableAlias, TableSource,
    TableSourceKind, With,
};

use crate::binder::{Binder, CommonTableEntry};
use crate::error::{Cause, Result, not_supported};
use crate::from::Named;
use crate::logical::{Column, Recursive, Relation};
use crate::query::{BoundQuery, QueryPlace};
use crate::scope::{NamedColumn, Source};
use crate::walk;

impl Binder<'_> {
    /// Makes the tables of WITH visible.
    pub(crate) fn add_common_tables(&mut self, with: &With) -> Result<()> {
        if with.change_tracking_context.is_some() {
            return not_supported("WITH CHANGE_TRACKING_CONTEXT", with.span);
        }
        self.namespaces.extend(with.namespaces.iter().cloned());
        let from = self.common_tables.len();
        for table in &with.tables {
            let own = self.common_tables.get(from..).unwrap_or_default();
            if own.iter().any(|it| self.is_same(&it.table.name.text, &table.name.text)) {
                let text = format!(
                    "Duplicate common table expression name '{}' was specified.",
                    table.name.text
                );
                return Err(Cause::Other { number: 239, text }.at(table.name.span));
            }
            self.common_tables.push(CommonTableEntry {
                table: Arc::new(table.clone()),
                visible: self.common_tables.len(),
                recursion: None,
            });
        }
        Ok(())
    }

    /// The rows of a common table expression, when the name is that of one.
    pub(crate) fn common_table(
        &mut self,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Result<Option<Named>> {
        if !name.is_simple() {
            return Ok(None);
        }
        let found = self
            .common_tables
            .iter()
            .rposition(|it| self.is_same(&it.table.name.text, &name.name.text));
        let Some(entry) = found.and_then(|at| self.common_tables.get(at)).cloned() else {
            return Ok(None);
        };
        let text = entry.table.name.text.to_string();
        if let Some((recursion, columns)) = entry.recursion {
            let named = columns.iter().map(|(name, it)| NamedColumn::new(name.clone(), it.clone()));
            let source = Source::derived(text, named.collect());
            let columns = columns.iter().map(|(_, column)| column.clone()).collect();
            let relation = Relation::Recent { recursion, columns };
            return self.aliased(relation, source, alias, span).map(Some);
        }
        self.enter(span)?;
        let hidden = self.common_tables.split_off(entry.visible);
        let scopes = std::mem::take(&mut self.scopes);
        let bound = self.common_query(&entry, span);
        self.scopes = scopes;
        self.common_tables.truncate(entry.visible);
        self.common_tables.extend(hidden);
        self.leave();
        let bound = bound?;
        let given: Vec<String> =
            entry.table.columns.iter().map(|name| name.text.to_string()).collect();
        let columns = self.output_columns(bound.outputs, &given, &text, span)?;
        let source = Source::derived(text, columns);
        self.aliased(bound.relation, source, alias, span).map(Some)
    }

    fn common_query(&mut self, entry: &CommonTableEntry, span: Span) -> Result<BoundQuery> {
        let query = &entry.table.query;
        let name = &entry.table.name.text;
        if let QueryBody::Set { first, rest } = &query.body {
            let names_itself = |term: &SetTerm| mentions(&term.body, name);
            if let Some(at) = rest.iter().position(names_itself) {
                let (anchor, step) = rest.split_at(at);
                return self.recursive(entry, (first, anchor), step, span);
            }
        }
        self.query(query, QueryPlace::Subquery)
    }

    fn recursive(
        &mut self,
        entry: &CommonTableEntry,
        (first, anchor): (&QueryBody, &[SetTerm]),
        step: &[SetTerm],
        span: Span,
    ) -> Result<BoundQuery> {
        let name = entry.table.name.text.to_string();
        if step.iter().any(|term| term.operator != SetOperator::UnionAll) {
            return Err(Cause::RecursionWithoutUnion { name }.at(span));
        }
        let mut bound = self.body(first)?;
        for term in anchor {
            let right = self.body(&term.body)?;
            bound = self.combined(bound, term.operator, right, term.span)?;
        }
        let number = self.recursions;
        self.recursions += 1;
        let mut outputs = bound.outputs.clone();
        for (at, output) in outputs.iter_mut().enumerate() {
            if let Some(name) = entry.table.columns.get(at) {
                output.name = name.text.to_string();
            }
            output.column = self.new_column(output.column.ty, true);
            output.is_computed = true;
        }
        let columns: Vec<Column> = outputs.iter().map(|it| it.column.clone()).collect();
        let mut steps: Option<(Relation, Vec<usize>)> = None;
        for term in step {
            verify_recursive(&term.body, &name).map_err(|cause| cause.at(span))?;
            let recent: Vec<(String, Column)> = outputs
                .iter()
                .map(|it| (it.name.clone(), self.new_column(it.column.ty, true)))
                .collect();
            self.common_tables
                .push(CommonTableEntry { recursion: Some((number, recent)), ..entry.clone() });
            let next = self.body(&term.body);
            self.common_tables.pop();
            let next = next?;
            if next.outputs.len() != columns.len() {
                return Err(Cause::SetColumns.at(term.span));
            }
            let differs = next
                .outputs
                .iter()
                .zip(&columns)
                .position(|(own, column)| own.column.ty != column.ty);
            if let Some(at) = differs {
                let column = outputs.get(at).map(|it| it.name.clone()).unwrap_or_default();
                return Err(Cause::RecursionTypes { column, name }.at(span));
            }
            let types: Vec<_> = columns.iter().map(|column| column.ty).collect();
            let next = self.converted(next, &types, term.span)?;
            steps = Some(match steps {
                None => next,
                Some(before) => {
                    let columns: Vec<Column> =
                        columns.iter().map(|it| self.new_column(it.ty, true)).collect();
                    let ids = columns.iter().map(|it| it.id).collect();
                    (Relation::Concat { inputs: vec![before, next], columns }, ids)
                }
            });
        }
        let Some(step) = steps else {
            return Err(Cause::RecursionWithoutUnion { name }.at(span));
        };
        let types: Vec<_> = columns.iter().map(|column| column.ty).collect();
        let anchor = self.converted(bound, &types, span)?;
        let most = self.recursion_limit;
        let recursive = Recursive { number, anchor, step, columns, most };
        Ok(BoundQuery { relation: Relation::Recursive(Box::new(recursive)), outputs })
    }
}

/// Refuses what a recursive part does not have: groups, DISTINCT, TOP, outer joins, and a second
/// reference to itself.
fn verify_recursive(body: &QueryBody, name: &str) -> std::result::Result<(), Cause> {
    let select = match body {
        QueryBody::Select(select) => select,
        QueryBody::Parenthesised(query) => return verify_recursive(&query.body, name),
        QueryBody::Set { .. } => return Ok(()),
    };
    let refused = |what, number| {
        let name = name.to_owned();
        Err(Cause::RecursivePart { what, name, number })
    };
    let has_groups = select.group_by.is_some()
        || select.having.is_some()
        || select.items.iter().any(walk::item_has_aggregate);
    if has_groups {
        return refused("GROUP BY, HAVING, or aggregate functions are", 467);
    }
    if select.is_distinct {
        return refused("DISTINCT operator is", 460);
    }
    if select.top.is_some() {
        return refused("The TOP or OFFSET operator is", 461);
    }
    if select.from.iter().any(has_outer_join) {
        return refused("Outer join is", 462);
    }
    if select.from.iter().map(|source| references(source, name)).sum::<usize>() > 1 {
        return Err(Cause::RecursiveTwice { name: name.to_owned() });
    }
    Ok(())
}

fn has_outer_join(source: &TableSource) -> bool {
    let TableSourceKind::Joined { first, joins } = &source.kind else { return false };
    let is_outer = |kind| {
        matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full | JoinKind::OuterApply)
    };
    has_outer_join(first)
        || joins.iter().any(|join| is_outer(join.kind) || has_outer_join(&join.right))
}

/// How often a source names a table.
fn references(source: &TableSource, name: &str) -> usize {
    match &source.kind {
        TableSourceKind::Joined { first, joins } => {
            let others = joins.iter().map(|join| references(&join.right, name));
            references(first, name) + others.sum::<usize>()
        }
        _ => usize::from(source_mentions(source, name)),
    }
}

/// Does a body name this table in a FROM of its own?
fn mentions(body: &QueryBody, name: &str) -> bool {
    match body {
        QueryBody::Select(select) => select.from.iter().any(|it| source_mentions(it, name)),
        QueryBody::Parenthesised(query) => mentions(&query.body, name),
        QueryBody::Set { first, rest } => {
            mentions(first, name) || rest.iter().any(|term| mentions(&term.body, name))
        }
    }
}

fn source_mentions(source: &TableSource, name: &str) -> bool {
    match &source.kind {
        TableSourceKind::Table(reference) => {
            reference.name.is_simple() && reference.name.name.text.eq_ignore_ascii_case(name)
        }
        TableSourceKind::Derived(query) => mentions(&query.body, name),
        TableSourceKind::Joined { first, joins } => {
            source_mentions(first, name)
                || joins.iter().any(|join| source_mentions(&join.right, name))
        }
        TableSourceKind::Pivot(pivot) => source_mentions(&pivot.source, name),
        TableSourceKind::Unpivot(unpivot) => source_mentions(&unpivot.source, name),
        _ => false,
    }
}
