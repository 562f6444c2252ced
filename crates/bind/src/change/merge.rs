//! MERGE.
//!
//! The rows are those of the target and of the source, put together by the condition: a full outer
//! join. A row with a place is one of the target, a row with the mark one of the source; the first
//! WHEN whose kind of row it is and whose condition holds says what becomes of it.

use extentdb_expr::Scalar;
use extentdb_tsql::syntax::{
    Column as ColumnSyntax, ColumnName, Insert, InsertSource, Matching, Merge, MergeAction,
    MergeClause, SetItem, Target,
};
use extentdb_types::SqlType;

use super::insert::ColumnSource;
use super::output::{BoundOutput, OutputRows};
use super::query_target::TargetNames;
use super::update::SetColumn;
use crate::access;
use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::logical::{Column, Computed, JoinKind, Relation, ValueId};
use crate::scalar::{Clause, Place};
use crate::scope::{Scope, Source};
use crate::stage::Stage;
use crate::surroundings::StoredTable;

/// A bound MERGE.
#[derive(Clone)]
pub struct BoundMerge {
    /// The table.
    pub stored: StoredTable,
    /// Rows of target and source.
    pub relation: Relation,
    /// The value that says where a row of the target is; NULL when there is none.
    pub locator: ValueId,
    /// The value that is not NULL where there is a row of the source.
    pub mark: ValueId,
    /// WHEN, in order.
    pub clauses: Vec<BoundMergeClause>,
    /// The row before, where OUTPUT names it.
    pub deleted: Vec<Column>,
    /// The row after, where OUTPUT names it.
    pub inserted: Vec<Column>,
    /// `$action`
    pub action: Column,
    /// OUTPUT.
    pub outputs: Vec<BoundOutput>,
}

/// A WHEN.
#[derive(Clone, Debug)]
pub struct BoundMergeClause {
    /// Which rows.
    pub matching: Matching,
    /// Which of them.
    pub condition: Option<Scalar>,
    /// What becomes of them.
    pub action: BoundAction,
}

/// What WHEN does; values are ones over the relation.
#[derive(Clone, Debug)]
pub enum BoundAction {
    /// UPDATE: numbers of columns, and values.
    Update(Vec<(usize, Scalar)>),
    /// DELETE.
    Delete,
    /// INSERT: for each column of the table its source, where [`ColumnSource::Value`] is a number
    /// in the values.
    Insert(Vec<ColumnSource>, Vec<Scalar>),
}

impl Binder<'_> {
    /// A MERGE.
    ///
    /// # Errors
    /// A name means nothing, or a column takes no value.
    pub fn merge(&mut self, merge: &Merge) -> Result<BoundMerge> {
        if let Some(with) = &merge.with {
            self.add_common_tables(with)?;
        }
        if let Some(top) = &merge.top {
            return not_supported("MERGE TOP", top.count.span);
        }
        let inserts = |clause: &&MergeClause| clause.matching == Matching::NotMatchedByTarget;
        if merge.clauses.iter().filter(inserts).count() > 1 {
            let text = "An action of type 'WHEN NOT MATCHED' cannot appear more than once in a \
                        'INSERT' clause of a MERGE statement."
                .to_owned();
            return Err(Cause::Other { number: 10714, text }.at(merge.span));
        }
        let rows = self.target_rows(&merge.target, &[])?;
        if rows.check.is_some() {
            return not_supported("MERGE into a view WITH CHECK OPTION", merge.target.span);
        }
        let mut target =
            rows.sources.into_iter().next().unwrap_or_else(|| Source::derived("", Vec::new()));
        if let Some(alias) = &merge.alias {
            target.name = alias.name.text.to_string();
            target.schema = None;
            target.database = None;
        }
        let (source, sources) = self.from(std::slice::from_ref(&merge.source))?;
        let mark = self.new_id();
        let one = Computed { id: mark, value: Scalar::integer(1) };
        let source = source.computing(vec![one]);
        let mut all = vec![target];
        all.extend(sources);
        self.scopes.push(Scope { sources: all.clone(), grouped: None });
        let mut stage = Stage::default();
        let place = Place { clause: Clause::On, stage: &mut stage, grouping: None };
        let conditions = self.conjuncts(&merge.on, place);
        self.scopes.pop();
        let conditions = conditions?;
        if !stage.is_empty() {
            return not_supported("a subquery in the condition of MERGE", merge.on.span);
        }
        let has = |wanted| merge.clauses.iter().any(|clause| clause.matching == wanted);
        let (left, right) = (Box::new(rows.relation), Box::new(source));
        let relation = match (has(Matching::NotMatchedBySource), has(Matching::NotMatchedByTarget))
        {
            (true, true) => Relation::Join { kind: JoinKind::Full, left, right, conditions },
            (true, false) => Relation::Join { kind: JoinKind::Left, left, right, conditions },
            (false, true) => {
                Relation::Join { kind: JoinKind::Left, left: right, right: left, conditions }
            }
            (false, false) => Relation::Join { kind: JoinKind::Inner, left, right, conditions },
        };
        all.iter_mut().for_each(Source::make_nullable);
        self.scopes.push(Scope { sources: all, grouped: None });
        let bound = self.merge_rows(merge, rows.stored, relation, (rows.locator, mark));
        self.scopes.pop();
        bound
    }

    fn merge_rows(
        &mut self,
        merge: &Merge,
        stored: StoredTable,
        relation: Relation,
        (locator, mark): (ValueId, ValueId),
    ) -> Result<BoundMerge> {
        let mut stage = Stage::default();
        let mut clauses = Vec::new();
        for clause in &merge.clauses {
            clauses.push(self.merge_clause(merge, &stored, clause, &mut stage)?);
        }
        verify_access(merge, &stored, &clauses)?;
        let mut deleted = self.row_columns(&stored);
        let mut inserted = self.row_columns(&stored);
        // A row that is inserted has no values from before, one that is deleted none after.
        for (_, column) in deleted.iter_mut().chain(&mut inserted) {
            column.is_nullable = true;
        }
        let collation = self.environment.database_collation;
        let action = self.new_column(SqlType::NVarChar { len: Some(20), collation }, false);
        let sources = self.scopes.last().map(|scope| scope.sources.clone()).unwrap_or_default();
        let rows = OutputRows {
            inserted: Some(&inserted),
            deleted: Some(&deleted),
            sources: sources.get(1..).unwrap_or_default(),
            action: Some(action.clone()),
        };
        let outputs = self.outputs(&merge.outputs, &rows)?;
        let columns_of = |row: Vec<(String, Column)>| row.into_iter().map(|(_, it)| it).collect();
        Ok(BoundMerge {
            stored,
            relation: stage.upon(relation),
            locator,
            mark,
            clauses,
            deleted: columns_of(deleted),
            inserted: columns_of(inserted),
            action,
            outputs,
        })
    }

    fn merge_clause(
        &mut self,
        merge: &Merge,
        stored: &StoredTable,
        clause: &MergeClause,
        stage: &mut Stage,
    ) -> Result<BoundMergeClause> {
        let condition = match &clause.condition {
            Some(condition) => {
                let place = Place { clause: Clause::Where, stage, grouping: None };
                Some(self.condition(condition, place)?)
            }
            None => None,
        };
        let action = match &clause.action {
            MergeAction::Delete => BoundAction::Delete,
            MergeAction::Update(sets) => {
                let names = TargetNames::default();
                let mut columns = Vec::new();
                for set in sets {
                    let SetItem::Column { variable: None, column, operator, value } = set else {
                        return not_supported("this SET in MERGE", clause.span);
                    };
                    let own = extentdb_tsql::syntax::Expr {
                        kind: extentdb_tsql::syntax::ExprKind::Column(Box::new(column.clone())),
                        span: value.span,
                    };
                    let value = crate::select::assigned_value(*operator, own, value);
                    let mut own_stage = Stage::default();
                    let set = self.set_column(stored, &names, column, &value, &mut own_stage)?;
                    columns.push(self.unstaged(set, own_stage, stage)?);
                }
                BoundAction::Update(columns)
            }
            MergeAction::Insert { columns, values } => {
                self.merge_insert(merge, stored, columns, values.as_deref(), stage)?
            }
        };
        Ok(BoundMergeClause { matching: clause.matching, condition, action })
    }

    /// A new value as an expression, which is evaluated for the rows of its WHEN only.
    fn unstaged(
        &mut self,
        set: SetColumn,
        own: Stage,
        stage: &mut Stage,
    ) -> Result<(usize, Scalar)> {
        let relation = own.upon(Relation::Row);
        match relation {
            Relation::Compute { input, values } if matches!(*input, Relation::Row) => {
                if let Some(value) = values.into_iter().find(|it| it.id == set.value) {
                    return Ok((set.ordinal, value.value));
                }
                not_supported("this value in MERGE", extentdb_tsql::Span::default())
            }
            Relation::Row => {
                // A column as it is.
                let found = self.scopes.last().and_then(|scope| {
                    let columns = scope.sources.iter().flat_map(|source| &source.columns);
                    columns.map(|it| &it.column).find(|it| it.id == set.value).cloned()
                });
                let Some(column) = found else {
                    return not_supported("this value in MERGE", extentdb_tsql::Span::default());
                };
                let _: &mut Stage = stage;
                Ok((set.ordinal, Scalar::parameter(crate::scalar::parameter(&column))))
            }
            _ => not_supported("a subquery in SET of MERGE", extentdb_tsql::Span::default()),
        }
    }

    fn merge_insert(
        &mut self,
        merge: &Merge,
        stored: &StoredTable,
        columns: &[extentdb_tsql::syntax::Name],
        values: Option<&[extentdb_tsql::syntax::Expr]>,
        stage: &mut Stage,
    ) -> Result<BoundAction> {
        // The list of columns is that of an INSERT.
        let insert = Insert {
            with: None,
            top: None,
            target: Target {
                kind: merge.target.kind.clone(),
                hints: Vec::new(),
                span: merge.target.span,
            },
            columns: columns
                .iter()
                .map(|name| ColumnName {
                    qualifier: None,
                    column: ColumnSyntax::Named(name.clone()),
                })
                .collect(),
            outputs: Vec::new(),
            source: match values {
                Some(values) => InsertSource::Values(vec![values.to_vec()]),
                None => InsertSource::DefaultValues,
            },
            option: Vec::new(),
            span: merge.span,
        };
        let ordinals = self.listed(stored, &TargetNames::default(), &insert)?;
        let mut given = Vec::new();
        if let Some(values) = values {
            if values.len() != ordinals.len() {
                return Err(crate::error::Cause::InsertColumnCount.at(merge.target.span));
            }
            let types = stored.table.columns();
            for (value, ordinal) in values.iter().zip(&ordinals) {
                let bound = self.cell(stored, *ordinal, value, stage)?;
                let ty = types.get(*ordinal).map_or(SqlType::Int, |(_, ty)| *ty);
                given.push(self.arriving(&bound, ty, value.span)?);
            }
        }
        let listed: Vec<(usize, ValueId)> = ordinals.into_iter().zip(0..).collect();
        let mut sources = Vec::new();
        let (relation, completed) = self.completed(stored, Relation::Row, &listed, &insert)?;
        let defaults = match relation {
            Relation::Compute { values, .. } => values,
            Relation::Row => Vec::new(),
            _ => return not_supported("a default with a query in MERGE", merge.target.span),
        };
        for (ordinal, source) in completed.into_iter().enumerate() {
            let is_listed = listed.iter().any(|(own, _)| *own == ordinal);
            sources.push(match source {
                ColumnSource::Value(at) if is_listed => ColumnSource::Value(at),
                ColumnSource::Value(id) => match defaults.iter().find(|it| it.id == id) {
                    Some(default) => {
                        given.push(default.value.clone());
                        ColumnSource::Value(given.len() - 1)
                    }
                    None => ColumnSource::Default,
                },
                other => other,
            });
        }
        Ok(BoundAction::Insert(sources, given))
    }
}

/// What the clauses do may be done.
fn verify_access(merge: &Merge, stored: &StoredTable, clauses: &[BoundMergeClause]) -> Result<()> {
    let span = merge.target.span;
    for clause in clauses {
        match &clause.action {
            BoundAction::Delete => access::verify_delete(stored, span)?,
            BoundAction::Insert(..) => access::verify_insert(stored, span)?,
            BoundAction::Update(columns) => {
                for (ordinal, _) in columns {
                    let name = stored.table.columns().into_iter().nth(*ordinal);
                    let name = name.map(|(name, _)| name).unwrap_or_default();
                    access::verify_update(stored, &name, span)?;
                }
            }
        }
    }
    match merge.outputs.is_empty() {
        true => Ok(()),
        false => access::verify_output(stored, span),
    }
}
