//! WITH CHECK OPTION: rows that come through a view must be rows of it.
//!
//! The condition of the view is bound over the row after the statement, and is one more OUTPUT
//! clause, whose value is 1 for a row that the view has.

use extentdb_tsql::syntax::{
    Expr, ExprKind, Literal, Query, QueryBody, SearchedArm, SearchedCase, TableSourceKind,
};

use super::output::BoundOutput;
use crate::binder::Binder;
use crate::error::{Result, not_supported};
use crate::logical::Column;
use crate::scalar::{Clause, Place};
use crate::scope::{NamedColumn, Scope, Source};
use crate::stage::Stage;
use crate::surroundings::StoredTable;

impl Binder<'_> {
    /// The check of rows that come through a view of this query; `None` when it has no condition.
    pub(super) fn view_check(
        &mut self,
        query: &Query,
        stored: &StoredTable,
        inserted: &[(String, Column)],
    ) -> Result<Option<BoundOutput>> {
        let span = query.span;
        let refused = || not_supported("such a view WITH CHECK OPTION", span);
        let QueryBody::Select(select) = &query.body else { return refused() };
        let Some(filter) = &select.filter else { return Ok(None) };
        let [source] = select.from.as_slice() else { return refused() };
        let TableSourceKind::Table(reference) = &source.kind else { return refused() };
        let name = source.alias.as_ref().map_or(&reference.name.name.text, |it| &it.name.text);
        let columns = inserted.iter();
        let columns = columns.map(|(name, it)| NamedColumn::new(name.clone(), it.clone()));
        let mut row = Source::derived(&**name, columns.collect());
        row.schema = Some(stored.table.schema().to_owned());
        let literal =
            |text: &str| Expr { kind: ExprKind::Literal(Literal::Integer(text.into())), span };
        let case = SearchedCase {
            arms: vec![SearchedArm { condition: filter.clone(), result: literal("1") }],
            otherwise: Some(literal("0")),
        };
        let value = Expr { kind: ExprKind::SearchedCase(Box::new(case)), span };
        let mut stage = Stage::default();
        let outer = std::mem::take(&mut self.scopes);
        self.scopes.push(Scope { sources: vec![row], grouped: None });
        let place = Place { clause: Clause::Other, stage: &mut stage, grouping: None };
        let bound = self.value(&value, place);
        self.scopes = outer;
        let bound = bound?;
        if !stage.is_empty() {
            return refused();
        }
        Ok(Some(BoundOutput {
            values: vec![bound],
            outputs: Vec::new(),
            into: None,
            is_check: true,
        }))
    }
}
