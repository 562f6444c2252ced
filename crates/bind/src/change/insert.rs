//! INSERT.

use extentdb_base::sync::Arc;
use extentdb_expr::Scalar;
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Column as ColumnSyntax, Expr, ExprKind, Insert, InsertSource, Name, Query, Target, TargetKind,
};
use extentdb_types::SqlType;

use super::output::{BoundOutput, OutputRows};
use super::query_target::TargetNames;
use super::target::model_column;
use crate::access;
use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::from::kinds;
use crate::logical::{Column, Computed, Relation, ValueId};
use crate::query::{BoundQuery, QueryPlace};
use crate::scalar::{Clause, Place, parameter};
use crate::stage::Stage;
use crate::surroundings::{Object, StoredTable};

/// Where the value of a column of a new row comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnSource {
    /// A value of the relation.
    Value(ValueId),
    /// The next value of the identity.
    Identity,
    /// A computed column, or rowversion.
    Generated,
    /// Its default, which the engine evaluates.
    Default,
}

/// A bound INSERT.
#[derive(Clone)]
pub struct BoundInsert {
    /// The table.
    pub stored: StoredTable,
    /// Its new rows.
    pub relation: Relation,
    /// For each column of the table.
    pub columns: Vec<ColumnSource>,
    /// The row after, where OUTPUT names it.
    pub inserted: Vec<Column>,
    /// OUTPUT.
    pub outputs: Vec<BoundOutput>,
    /// TABLOCK.
    pub locks_table: bool,
}

impl Binder<'_> {
    /// An INSERT whose rows are not those of EXECUTE.
    ///
    /// # Errors
    /// A name means nothing, a column takes no value, or values do not go with columns.
    pub fn insert(&mut self, insert: &Insert) -> Result<BoundInsert> {
        if let Some(with) = &insert.with {
            self.add_common_tables(with)?;
        }
        let (stored, names, check) = self.insert_target(&insert.target)?;
        access::verify_insert(&stored, insert.target.span)?;
        if !insert.outputs.is_empty() {
            access::verify_output(&stored, insert.target.span)?;
        }
        let hints = self.hints(&insert.target.hints)?;
        let ordinals = self.listed(&stored, &names, insert)?;
        let source = match &insert.source {
            InsertSource::DefaultValues => Rows { relation: Relation::Row, values: Vec::new() },
            InsertSource::Values(rows) => self.value_rows(&stored, &ordinals, rows, insert)?,
            InsertSource::Query(query) => {
                let bound = self.query(query, QueryPlace::Statement)?;
                self.query_rows(&stored, &ordinals, bound, insert)?
            }
            InsertSource::Execute(_) => {
                return not_supported("INSERT … EXECUTE", insert.target.span);
            }
        };
        let mut relation = source.relation;
        if let Some(top) = &insert.top {
            relation = self.top(relation, top, None)?;
        }
        let listed: Vec<(usize, ValueId)> = ordinals.into_iter().zip(source.values).collect();
        let (relation, columns) = self.completed(&stored, relation, &listed, insert)?;
        let inserted = self.row_columns(&stored);
        let rows = OutputRows {
            inserted: Some(&inserted),
            deleted: None,
            sources: &[],
            action: None,
        };
        let mut outputs = self.outputs(&insert.outputs, &rows)?;
        if let Some(query) = check {
            outputs.extend(self.view_check(&query, &stored, &inserted)?);
        }
        Ok(BoundInsert {
            stored,
            relation,
            columns,
            inserted: inserted.into_iter().map(|(_, column)| column).collect(),
            outputs,
            locks_table: hints.read.granularity == extentdb_engine::Granularity::Table,
        })
    }

    /// Numbers of the columns that are listed, or of all that take a value.
    pub(super) fn listed(
        &mut self,
        stored: &StoredTable,
        names: &TargetNames,
        insert: &Insert,
    ) -> Result<Vec<usize>> {
        if insert.columns.is_empty() {
            if self.surroundings.takes_identity(stored)
                && !matches!(insert.source, InsertSource::DefaultValues)
            {
                let table = stored.table.name().to_owned();
                return Err(Cause::IdentityList { table }.at(insert.target.span));
            }
            return Ok(match insert.source {
                InsertSource::DefaultValues => Vec::new(),
                _ if names.is_empty() => self.insertable(stored),
                _ => self.insertable_of_view(stored, names, insert.target.span)?,
            });
        }
        let mut ordinals = Vec::new();
        for name in &insert.columns {
            let span = insert.target.span;
            let text = match &name.column {
                ColumnSyntax::Named(name) => name.text.to_string(),
                ColumnSyntax::Pseudo(_) => match self.identity_name(stored) {
                    Some(name) => name,
                    None => return not_supported("a pseudo-column in INSERT", span),
                },
            };
            let named = Name { text: text.as_str().into(), span };
            let ordinal = self.target_ordinal(stored, names, &named)?;
            if ordinals.contains(&ordinal) {
                return Err(Cause::AssignedTwice { column: text }.at(span));
            }
            let own = stored.table.columns().into_iter().nth(ordinal).map(|(name, _)| name);
            self.verify_insertable(stored, &own.unwrap_or(text), span)?;
            ordinals.push(ordinal);
        }
        Ok(ordinals)
    }

    /// What another count of values than of columns is, without a list of columns.
    fn count_cause(&self, stored: &StoredTable) -> Cause {
        match self.identity_name(stored) {
            Some(_) => Cause::IdentityList { table: stored.table.name().to_owned() },
            None => Cause::InsertColumnCount,
        }
    }

    fn identity_name(&self, stored: &StoredTable) -> Option<String> {
        let columns = stored.table.columns();
        let is_identity =
            |name: &str| model_column(stored, name).is_some_and(|it| it.identity.is_some());
        columns.into_iter().map(|(name, _)| name).find(|name| is_identity(name))
    }

    fn verify_insertable(&mut self, stored: &StoredTable, name: &str, span: Span) -> Result<()> {
        let Some(column) = model_column(stored, name) else { return Ok(()) };
        if column.computed.is_some() {
            return Err(Cause::ComputedColumn { column: name.to_owned() }.at(span));
        }
        if column.identity.is_some() && !self.surroundings.takes_identity(stored) {
            let table = stored.table.name().to_owned();
            return Err(Cause::IdentityInsert { table }.at(span));
        }
        Ok(())
    }

    /// The table of an INSERT, also behind a view; the columns by the names of that, and its query
    /// WITH CHECK OPTION.
    fn insert_target(
        &mut self,
        target: &Target,
    ) -> Result<(StoredTable, TargetNames, Option<Arc<Query>>)> {
        if let TargetKind::Object(name) = &target.kind
            && let Some(Object::View(_)) = self.surroundings.object(name, None)?
            && let Some(rows) = self.query_target(target)?
        {
            return Ok((rows.stored, rows.names, rows.check));
        }
        Ok((self.target(target)?, TargetNames::default(), None))
    }

    /// The columns of a view that an INSERT without a list gives values to.
    fn insertable_of_view(
        &mut self,
        stored: &StoredTable,
        names: &TargetNames,
        span: Span,
    ) -> Result<Vec<usize>> {
        let own = self.insertable(stored);
        let mut ordinals = Vec::new();
        for (_, ordinal) in names.columns() {
            let ordinal = ordinal.ok_or_else(|| names.derived().at(span))?;
            if own.contains(&ordinal) {
                ordinals.push(ordinal);
            }
        }
        Ok(ordinals)
    }

    /// The columns that an INSERT without a list gives values to.
    pub(crate) fn insertable(&mut self, stored: &StoredTable) -> Vec<usize> {
        let takes_identity = self.surroundings.takes_identity(stored);
        let columns = stored.table.columns();
        let takes_value = |name: &str, ty: SqlType| {
            let column = model_column(stored, name);
            let is_made = column.is_some_and(|it| {
                it.computed.is_some() || (it.identity.is_some() && !takes_identity)
            });
            !is_made && ty != SqlType::RowVersion
        };
        columns
            .iter()
            .enumerate()
            .filter(|(_, (name, ty))| takes_value(name, *ty))
            .map(|(ordinal, _)| ordinal)
            .collect()
    }

    /// Rows of VALUES, as values of the columns.
    fn value_rows(
        &mut self,
        stored: &StoredTable,
        ordinals: &[usize],
        rows: &[Vec<Expr>],
        insert: &Insert,
    ) -> Result<Rows> {
        let span = insert.target.span;
        if rows.windows(2).any(|pair| matches!(pair, [a, b] if a.len() != b.len())) {
            return Err(Cause::ValuesRows.at(span));
        }
        for row in rows {
            let has_list = !insert.columns.is_empty();
            let cause = match row.len().cmp(&ordinals.len()) {
                std::cmp::Ordering::Equal => continue,
                _ if !has_list => self.count_cause(stored),
                std::cmp::Ordering::Less => Cause::MoreInsertColumns,
                std::cmp::Ordering::Greater => Cause::FewerInsertColumns,
            };
            return Err(cause.at(span));
        }
        let types: Vec<SqlType> = self.types(stored, ordinals);
        let mut stage = Stage::default();
        let mut bound: Vec<Vec<Scalar>> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut values = Vec::with_capacity(row.len());
            for (value, ordinal) in row.iter().zip(ordinals) {
                values.push(self.cell(stored, *ordinal, value, &mut stage)?);
            }
            bound.push(values);
        }
        self.unify(&mut bound, span)?;
        for row in &mut bound {
            for (value, ty) in row.iter_mut().zip(&types) {
                *value = self.arriving(value, *ty, span)?;
            }
        }
        let columns: Vec<Column> = types
            .iter()
            .enumerate()
            .map(|(at, ty)| {
                let given = bound.first().and_then(|row| row.get(at)).map_or(*ty, Scalar::ty);
                self.new_column(given, true)
            })
            .collect();
        let values = columns.iter().map(|column| column.id).collect();
        let relation = if stage.is_empty() {
            Relation::Values { columns, rows: bound }
        } else {
            self.staged_rows(bound, columns, stage)
        };
        Ok(Rows { relation, values })
    }

    /// Rows whose values need operators of their own.
    fn staged_rows(
        &mut self,
        rows: Vec<Vec<Scalar>>,
        columns: Vec<Column>,
        stage: Stage,
    ) -> Relation {
        let base = stage.upon(Relation::Row);
        let mut inputs = Vec::new();
        for row in rows {
            let mut computed = Vec::new();
            for value in row {
                computed.push(Computed { id: self.new_id(), value });
            }
            let ids = computed.iter().map(|it| it.id).collect();
            inputs.push((base.clone().computing(computed), ids));
        }
        Relation::Concat { inputs, columns }
    }

    /// A value of VALUES; DEFAULT is that of its column.
    pub(crate) fn cell(
        &mut self,
        stored: &StoredTable,
        ordinal: usize,
        value: &Expr,
        stage: &mut Stage,
    ) -> Result<Scalar> {
        if value.kind == ExprKind::Default {
            let default = self.default_of(stored, ordinal, stage);
            return default.map_or_else(|| not_supported("DEFAULT of this column", value.span), Ok);
        }
        let place = Place { clause: Clause::Other, stage, grouping: None };
        self.value(value, place)
    }

    /// Several rows: the values of a column become ones of their common type first.
    fn unify(&self, rows: &mut [Vec<Scalar>], span: Span) -> Result<()> {
        let width = rows.first().map_or(0, Vec::len);
        if rows.len() < 2 {
            return Ok(());
        }
        for at in 0..width {
            let column: Vec<Scalar> = rows.iter().filter_map(|row| row.get(at)).cloned().collect();
            let mut types = column.iter().filter(|it| !it.is_null_literal()).map(Scalar::ty);
            let Some(first) = types.next() else { continue };
            if types.all(|ty| ty == first) {
                continue;
            }
            let common = Scalar::common_type(&kinds(&column), &self.environment);
            let common = common.map_err(|cause| Cause::Expression(cause).at(span))?;
            for row in rows.iter_mut() {
                if let Some(value) = row.get_mut(at) {
                    let converted = value.assigned(common, &self.environment);
                    *value = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
                }
            }
        }
        Ok(())
    }

    /// Rows of a query, as values of the columns.
    fn query_rows(
        &mut self,
        stored: &StoredTable,
        ordinals: &[usize],
        query: BoundQuery,
        insert: &Insert,
    ) -> Result<Rows> {
        let span = insert.target.span;
        let has_list = !insert.columns.is_empty();
        match query.outputs.len().cmp(&ordinals.len()) {
            std::cmp::Ordering::Equal => {}
            _ if !has_list => return Err(self.count_cause(stored).at(span)),
            std::cmp::Ordering::Less => return Err(Cause::FewerInsertItems.at(span)),
            std::cmp::Ordering::Greater => return Err(Cause::MoreInsertItems.at(span)),
        }
        let types = self.types(stored, ordinals);
        let mut computed = Vec::new();
        let mut values = Vec::new();
        for (output, ty) in query.outputs.iter().zip(&types) {
            let value = Scalar::parameter(parameter(&output.column));
            let value = self.arriving(&value, *ty, span)?;
            let id = self.new_id();
            values.push(id);
            computed.push(Computed { id, value });
        }
        Ok(Rows { relation: query.relation.computing(computed), values })
    }

    fn types(&self, stored: &StoredTable, ordinals: &[usize]) -> Vec<SqlType> {
        let columns = stored.table.columns();
        let ty = |ordinal: &usize| columns.get(*ordinal).map_or(SqlType::Int, |(_, ty)| *ty);
        ordinals.iter().map(ty).collect()
    }

    /// The source of each column: a value that is listed, or what stands for one.
    pub(crate) fn completed(
        &mut self,
        stored: &StoredTable,
        relation: Relation,
        listed: &[(usize, ValueId)],
        insert: &Insert,
    ) -> Result<(Relation, Vec<ColumnSource>)> {
        let span = insert.target.span;
        let mut stage = Stage::default();
        let mut sources = Vec::new();
        for (ordinal, (name, ty)) in stored.table.columns().into_iter().enumerate() {
            let given = listed.iter().find(|(own, _)| *own == ordinal);
            let column = model_column(stored, &name);
            sources.push(match given {
                Some((_, id)) if ty == SqlType::RowVersion => {
                    let _: &ValueId = id;
                    return Err(Cause::InsertTimestamp.at(span));
                }
                Some((_, id)) => ColumnSource::Value(*id),
                None if column.is_some_and(|it| it.identity.is_some()) => {
                    if self.surroundings.takes_identity(stored) {
                        let table = stored.table.name().to_owned();
                        return Err(Cause::IdentityMissing { table }.at(span));
                    }
                    ColumnSource::Identity
                }
                None if ty == SqlType::RowVersion
                    || column.is_some_and(|it| it.computed.is_some()) =>
                {
                    ColumnSource::Generated
                }
                None => match self.default_of(stored, ordinal, &mut stage) {
                    Some(value) => ColumnSource::Value(self.staged(&value, &mut stage)),
                    None => ColumnSource::Default,
                },
            });
        }
        Ok((stage.upon(relation), sources))
    }
}

struct Rows {
    relation: Relation,
    values: Vec<ValueId>,
}
