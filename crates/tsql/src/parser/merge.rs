//! MERGE.

use super::select::TopForm;
use super::{Parsed, Parser};
use crate::syntax::{Matching, Merge, MergeAction, MergeClause, With};

impl Parser<'_> {
    pub(super) fn merge(&mut self, with: Option<With>) -> Parsed<Merge> {
        let start = self.span();
        self.expect("MERGE")?;
        let top = self.top(TopForm::Dml)?;
        self.accept("INTO");
        let mut target = self.target()?;
        let has_alias = !self.is("USING");
        let alias = if has_alias { self.table_alias()? } else { None };
        if target.hints.is_empty() {
            target.hints = self.table_hints()?;
        }
        self.expect("USING")?;
        let source = self.table_source()?;
        self.expect("ON")?;
        let on = self.condition()?;
        let mut clauses = vec![self.merge_clause()?];
        while self.is("WHEN") {
            clauses.push(self.merge_clause()?);
        }
        let outputs = self.outputs()?;
        let option = self.option_clause()?;
        let span = self.since(start);
        Ok(Merge {
            with,
            top,
            target,
            alias,
            source,
            on,
            clauses,
            outputs,
            option,
            span,
        })
    }

    /// `WHEN matching [ AND condition ] THEN action`
    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        let start = self.span();
        self.expect("WHEN")?;
        let matching = self.matching()?;
        let has_condition = self.accept("AND");
        let condition = self.when(has_condition, Parser::condition)?;
        self.expect("THEN")?;
        let action = self.merge_action(matching)?;
        Ok(MergeClause { matching, condition, action, span: self.since(start) })
    }

    fn matching(&mut self) -> Parsed<Matching> {
        if self.accept("MATCHED") {
            return Ok(Matching::Matched);
        }
        self.expect_all(&["NOT", "MATCHED"])?;
        if !self.accept("BY") {
            return Ok(Matching::NotMatchedByTarget);
        }
        self.expect_choice(&[
            ("TARGET", Matching::NotMatchedByTarget),
            ("SOURCE", Matching::NotMatchedBySource),
        ])
    }

    /// Rows without a target are inserted, the others updated or deleted.
    fn merge_action(&mut self, matching: Matching) -> Parsed<MergeAction> {
        if matching != Matching::NotMatchedByTarget {
            if self.accept("DELETE") {
                return Ok(MergeAction::Delete);
            }
            self.expect_all(&["UPDATE", "SET"])?;
            return self.list(Parser::set_item).map(MergeAction::Update);
        }
        self.expect("INSERT")?;
        let columns = self.optional_list(Parser::name)?;
        if self.accept_all(&["DEFAULT", "VALUES"]) {
            return Ok(MergeAction::Insert { columns, values: None });
        }
        self.expect("VALUES")?;
        let values = Some(self.value_row()?);
        Ok(MergeAction::Insert { columns, values })
    }
}
