//! OUTPUT: what a statement tells of the rows that it has changed.

use extentdb_expr::Scalar;
use extentdb_tsql::syntax::{
    Column as ColumnSyntax, ColumnName, ExprKind, Output as OutputSyntax, SelectItem, TargetKind,
};
use extentdb_types::SqlType;

use crate::access;
use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::logical::Column;
use crate::query::Output;
use crate::scalar::{Clause, Place, parameter};
use crate::scope::{NamedColumn, Scope, Source};
use crate::stage::Stage;
use crate::surroundings::StoredTable;

/// An OUTPUT clause.
#[derive(Clone)]
pub struct BoundOutput {
    /// Its values, over the row before, the row after and the relation's columns.
    pub values: Vec<Scalar>,
    /// Names and types of its columns.
    pub outputs: Vec<Output>,
    /// Where they go; `None`: to the client.
    pub into: Option<OutputInto>,
    /// Nowhere: the one value is 1 for rows that a view WITH CHECK OPTION has.
    pub is_check: bool,
}

impl BoundOutput {
    /// Do rows go to the client?
    pub fn tells_client(&self) -> bool {
        self.into.is_none() && !self.is_check
    }
}

/// The table that an OUTPUT clause fills.
#[derive(Clone)]
pub struct OutputInto {
    /// The table.
    pub stored: StoredTable,
    /// Number of its column for each value.
    pub ordinals: Vec<usize>,
}

/// The rows that an OUTPUT clause may name.
pub(crate) struct OutputRows<'o> {
    pub(crate) inserted: Option<&'o [(String, Column)]>,
    pub(crate) deleted: Option<&'o [(String, Column)]>,
    /// Sources of FROM.
    pub(crate) sources: &'o [Source],
    /// `$action` of MERGE.
    pub(crate) action: Option<Column>,
}

impl Binder<'_> {
    pub(crate) fn outputs(
        &mut self,
        clauses: &[OutputSyntax],
        rows: &OutputRows<'_>,
    ) -> Result<Vec<BoundOutput>> {
        let mut sources = Vec::new();
        let named = |columns: &[(String, Column)]| {
            columns.iter().map(|(name, it)| NamedColumn::new(name.clone(), it.clone())).collect()
        };
        if let Some(columns) = rows.inserted {
            sources.push(Source::derived("inserted", named(columns)));
        }
        if let Some(columns) = rows.deleted {
            sources.push(Source::derived("deleted", named(columns)));
        }
        if let Some(action) = &rows.action {
            let column = NamedColumn::new("$action", action.clone());
            sources.push(Source::derived("", vec![column]));
        }
        sources.extend(rows.sources.iter().cloned());
        self.scopes.push(Scope { sources, grouped: None });
        let bound = clauses.iter().map(|clause| self.output_clause(clause)).collect();
        self.scopes.pop();
        bound
    }

    fn output_clause(&mut self, clause: &OutputSyntax) -> Result<BoundOutput> {
        let mut values = Vec::new();
        let mut outputs = Vec::new();
        for item in &clause.items {
            self.output_item(item, &mut values, &mut outputs)?;
        }
        let into = match &clause.into {
            None => None,
            Some(into) => Some(self.output_into(into, &mut values)?),
        };
        Ok(BoundOutput { values, outputs, into, is_check: false })
    }

    fn output_item(
        &mut self,
        item: &SelectItem,
        values: &mut Vec<Scalar>,
        outputs: &mut Vec<Output>,
    ) -> Result<()> {
        match item {
            SelectItem::Star { qualifier, span } => {
                let Some(qualifier) = qualifier else { return not_supported("OUTPUT *", *span) };
                let scope = self.scopes.last().cloned().unwrap_or_default();
                let found = scope.sources.iter().find(|it| self.exposes(it, qualifier));
                let Some(source) = found else {
                    let prefix = crate::binder::shown(qualifier);
                    return Err(Cause::Prefix { prefix }.at(*span));
                };
                for own in &source.columns {
                    access::verify_readable(own, *span)?;
                    values.push(Scalar::parameter(parameter(&own.column)));
                    outputs.push(Output {
                        name: own.name.clone(),
                        column: own.column.clone(),
                        is_computed: false,
                        is_identity: own.is_identity,
                        source: None,
                    });
                }
            }
            SelectItem::Value { value, alias } => {
                let mut stage = Stage::default();
                let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
                let scalar = self.value(value, place)?;
                if !stage.is_empty() {
                    return not_supported("a query or function in OUTPUT", value.span);
                }
                let own = match &value.kind {
                    ExprKind::Column(name) => Some(column_name(name)),
                    _ => None,
                };
                let name = alias.as_ref().map(|it| it.text.to_string()).or(own.clone());
                let column = self.new_column(scalar.ty(), scalar.is_nullable());
                outputs.push(Output {
                    name: name.unwrap_or_default(),
                    column,
                    is_computed: own.is_none(),
                    is_identity: false,
                    source: None,
                });
                values.push(scalar);
            }
            SelectItem::Assign(assignment) => {
                return not_supported("an assignment in OUTPUT", assignment.variable.span);
            }
        }
        Ok(())
    }

    fn output_into(
        &mut self,
        into: &extentdb_tsql::syntax::OutputInto,
        values: &mut [Scalar],
    ) -> Result<OutputInto> {
        let span = match &into.target {
            TargetKind::Object(name) => name.span,
            TargetKind::Variable(name) => name.span,
            TargetKind::Rowset(_) => extentdb_tsql::Span::default(),
        };
        let target =
            extentdb_tsql::syntax::Target { kind: into.target.clone(), hints: Vec::new(), span };
        let stored = self.target(&target)?;
        access::verify_insert(&stored, span)?;
        let columns = stored.table.columns();
        let mut ordinals = Vec::new();
        if into.columns.is_empty() {
            ordinals = self.insertable(&stored);
        }
        for name in &into.columns {
            ordinals.push(self.ordinal(&stored, &name.text, name.span)?);
        }
        if ordinals.len() != values.len() {
            return Err(Cause::InsertColumnCount.at(span));
        }
        for (value, ordinal) in values.iter_mut().zip(&ordinals) {
            let ty = columns.get(*ordinal).map_or(SqlType::Int, |(_, ty)| *ty);
            *value = self.arriving(value, ty, span)?;
        }
        Ok(OutputInto { stored, ordinals })
    }
}

fn column_name(name: &ColumnName) -> String {
    match &name.column {
        ColumnSyntax::Named(name) => name.text.to_string(),
        ColumnSyntax::Pseudo(text) => text.to_string(),
    }
}
