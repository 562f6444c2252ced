//! UPDATE.

use extentdb_expr::{Scalar, XML_OF_NODE};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Column as ColumnSyntax, ColumnName, DmlFilter, Expr, ExprKind, MethodCall, Name, SetItem,
    Update,
};
use extentdb_types::SqlType;

use super::output::{BoundOutput, OutputRows};
use super::query_target::TargetNames;
use super::target::{TargetRows, model_column};
use crate::access;
use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::logical::{Column, Relation, ValueId};
use crate::scalar::{Clause, Place};
use crate::scope::Scope;
use crate::select::assigned_value;
use crate::stage::Stage;
use crate::surroundings::StoredTable;

/// A column with its new value.
#[derive(Clone, Debug)]
pub struct SetColumn {
    /// Its number in the table.
    pub ordinal: usize,
    /// Its new value, one of the relation.
    pub value: ValueId,
}

/// A bound UPDATE.
#[derive(Clone)]
pub struct BoundUpdate {
    /// The table.
    pub stored: StoredTable,
    /// Rows with their places and new values; a row may be there twice.
    pub relation: Relation,
    /// The value that says where a row is.
    pub locator: ValueId,
    /// The columns that change.
    pub columns: Vec<SetColumn>,
    /// Variables, and the values of the relation that they get, in turn.
    pub variables: Vec<(usize, ValueId)>,
    /// The row before, where OUTPUT names it.
    pub deleted: Vec<Column>,
    /// The row after, where OUTPUT names it.
    pub inserted: Vec<Column>,
    /// OUTPUT.
    pub outputs: Vec<BoundOutput>,
}

impl Binder<'_> {
    /// An UPDATE.
    ///
    /// # Errors
    /// A name means nothing, or a column takes no value.
    pub fn update(&mut self, update: &Update) -> Result<BoundUpdate> {
        if let Some(with) = &update.with {
            self.add_common_tables(with)?;
        }
        let rows = self.target_rows(&update.target, &update.from)?;
        self.scopes.push(Scope { sources: rows.sources.clone(), grouped: None });
        let bound = self.update_rows(update, rows);
        self.scopes.pop();
        bound
    }

    fn update_rows(&mut self, update: &Update, rows: TargetRows) -> Result<BoundUpdate> {
        let TargetRows { stored, relation, sources, locator, names, check } = rows;
        let mut relation = self.dml_filtered(relation, update.filter.as_ref())?;
        if let Some(top) = &update.top {
            relation = self.top(relation, top, None)?;
        }
        let mut stage = Stage::default();
        let mut columns: Vec<SetColumn> = Vec::new();
        let mut variables = Vec::new();
        for set in &update.sets {
            self.set_item(&stored, &names, set, &mut stage, &mut columns, &mut variables)?;
        }
        for set in &columns {
            let name = stored.table.columns().into_iter().nth(set.ordinal);
            let name = name.map(|(name, _)| name).unwrap_or_default();
            access::verify_update(&stored, &name, update.target.span)?;
        }
        if !update.outputs.is_empty() {
            access::verify_output(&stored, update.target.span)?;
        }
        let relation = stage.upon(relation);
        let deleted = self.row_columns(&stored);
        let inserted = self.row_columns(&stored);
        let rows = OutputRows {
            inserted: Some(&names.named(&inserted)),
            deleted: Some(&names.named(&deleted)),
            sources: if update.from.is_empty() { &[] } else { &sources },
            action: None,
        };
        let mut outputs = self.outputs(&update.outputs, &rows)?;
        if let Some(query) = check {
            outputs.extend(self.view_check(&query, &stored, &inserted)?);
        }
        let columns_of = |row: Vec<(String, Column)>| row.into_iter().map(|(_, it)| it).collect();
        Ok(BoundUpdate {
            stored,
            relation,
            locator,
            columns,
            variables,
            deleted: columns_of(deleted),
            inserted: columns_of(inserted),
            outputs,
        })
    }

    /// WHERE of UPDATE and DELETE.
    pub(crate) fn dml_filtered(
        &mut self,
        relation: Relation,
        filter: Option<&DmlFilter>,
    ) -> Result<Relation> {
        match filter {
            None => Ok(relation),
            Some(DmlFilter::Condition(condition)) => self.where_rows(relation, condition),
            Some(DmlFilter::CurrentOf(_)) => not_supported("WHERE CURRENT OF", Span::default()),
        }
    }

    fn set_item(
        &mut self,
        stored: &StoredTable,
        names: &TargetNames,
        set: &SetItem,
        stage: &mut Stage,
        columns: &mut Vec<SetColumn>,
        variables: &mut Vec<(usize, ValueId)>,
    ) -> Result<()> {
        match set {
            SetItem::Column { variable, column, operator, value } => {
                let own = Expr {
                    kind: ExprKind::Column(Box::new(column.clone())),
                    span: value.span,
                };
                let value = assigned_value(*operator, own, value);
                let set = self.set_column(stored, names, column, &value, stage)?;
                if columns.iter().any(|it| it.ordinal == set.ordinal) {
                    let column = crate::names::column_text(column);
                    return Err(Cause::AssignedTwice { column }.at(value.span));
                }
                if let Some(name) = variable {
                    let Some((variable, ty)) = self.surroundings.variable(&name.text) else {
                        let name = name.text.to_string();
                        return Err(Cause::UnknownVariable { name }.at(value.span));
                    };
                    let place = Place { clause: Clause::Set, stage, grouping: None };
                    let bound = self.value(&value, place)?;
                    let bound = bound.assigned(ty, &self.environment);
                    let bound = bound.map_err(|cause| Cause::Expression(cause).at(value.span))?;
                    variables.push((variable, self.staged(&bound, stage)));
                }
                columns.push(set);
                Ok(())
            }
            SetItem::Variable(assignment) => {
                let place = Place { clause: Clause::Set, stage, grouping: None };
                let (variable, value) = self.assignment(assignment, place)?;
                variables.push((variable, self.staged(&value, stage)));
                Ok(())
            }
            SetItem::Method { column, method, arguments } => {
                let value = mutated(column, method, arguments)?;
                let set = self.set_column(stored, names, column, &value, stage)?;
                if columns.iter().any(|it| it.ordinal == set.ordinal) {
                    let column = crate::names::column_text(column);
                    return Err(Cause::AssignedTwice { column }.at(value.span));
                }
                columns.push(set);
                Ok(())
            }
        }
    }

    /// A column with its new value; the target's name may stand before it.
    pub(crate) fn set_column(
        &mut self,
        stored: &StoredTable,
        names: &TargetNames,
        column: &ColumnName,
        value: &Expr,
        stage: &mut Stage,
    ) -> Result<SetColumn> {
        let ColumnSyntax::Named(name) = &column.column else {
            return not_supported("a pseudo-column in SET", value.span);
        };
        let ordinal = self.target_ordinal(stored, names, name)?;
        let columns = stored.table.columns();
        let Some((text, ty)) = columns.get(ordinal) else {
            return Err(Cause::InvalidColumn { name: name.text.to_string() }.at(name.span));
        };
        let model = model_column(stored, text);
        let column = || text.clone();
        if model.is_some_and(|it| it.computed.is_some()) {
            return Err(Cause::ComputedColumn { column: column() }.at(name.span));
        }
        if model.is_some_and(|it| it.identity.is_some()) {
            return Err(Cause::UpdateIdentity { column: column() }.at(name.span));
        }
        if *ty == SqlType::RowVersion {
            return Err(Cause::UpdateTimestamp.at(name.span));
        }
        let value: Scalar = if value.kind == ExprKind::Default {
            match self.default_of(stored, ordinal, stage) {
                Some(value) => value,
                None => return not_supported("DEFAULT of this column", value.span),
            }
        } else {
            let place = Place { clause: Clause::Set, stage, grouping: None };
            let bound = self.value(value, place)?;
            self.arriving(&bound, *ty, value.span)?
        };
        Ok(SetColumn { ordinal, value: self.staged(&value, stage) })
    }
}

/// What `SET column.method(…)` assigns: the column as the method leaves it.
fn mutated(column: &ColumnName, method: &Name, arguments: &[Expr]) -> Result<Expr> {
    let text = match &*method.text {
        "modify" => "modify".to_owned(),
        own if own.eq_ignore_ascii_case("write") => format!("{XML_OF_NODE}write"),
        own => return not_supported(format!("SET column.{own}(…)"), method.span),
    };
    let span = method.span;
    let operand = Expr { kind: ExprKind::Column(Box::new(column.clone())), span };
    let name = Name { text: text.into(), span };
    let call = MethodCall { operand, name, arguments: Some(arguments.to_vec()) };
    Ok(Expr { kind: ExprKind::Method(Box::new(call)), span })
}
