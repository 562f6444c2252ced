//! FROM: table sources and joins.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::span::Span;
use crate::syntax::{
    Arguments, Expr, ExprKind, FunctionCall, Join, JoinHint, JoinKind, ObjectName, SystemTime,
    TableAlias, TableFunction, TableReference, TableSample, TableSource, TableSourceKind,
};
use crate::token::TokenKind;

const JOIN_HINTS: [(&str, JoinHint); 4] = [
    ("LOOP", JoinHint::Loop),
    ("HASH", JoinHint::Hash),
    ("MERGE", JoinHint::Merge),
    ("REMOTE", JoinHint::Remote),
];

impl Parser<'_> {
    /// `[ FROM source , … ]`
    pub(super) fn table_sources(&mut self) -> Parsed<Vec<TableSource>> {
        if self.accept("FROM") { self.list(Parser::named_source) } else { Ok(Vec::new()) }
    }

    /// A source with its joins, whose derived tables have names.
    fn named_source(&mut self) -> Parsed<TableSource> {
        let source = self.table_source()?;
        if has_nameless(&source) { Err(self.unexpected()) } else { Ok(source) }
    }

    /// A source with its joins.
    pub(super) fn table_source(&mut self) -> Parsed<TableSource> {
        self.nested(|parser| {
            let first = parser.single_source()?;
            parser.joins_after(first)
        })
    }

    /// The joins after a source. A join whose ON is still to come ends before it.
    fn joins_after(&mut self, mut source: TableSource) -> Parsed<TableSource> {
        let start = source.span;
        let mut length = 0;
        loop {
            let joins = self.joins()?;
            if !joins.is_empty() {
                let kind = TableSourceKind::Joined { first: Box::new(source), joins };
                source = TableSource { kind, alias: None, span: self.since(start) };
            }
            if !self.is_any(&["PIVOT", "UNPIVOT"]) {
                return Ok(source);
            }
            source = self.pivots_after(source)?;
            length += 1;
            self.verify_chain(length)?;
        }
    }

    fn joins(&mut self) -> Parsed<Vec<Join>> {
        let mut joins = Vec::new();
        while let Some((kind, hint)) = self.join_words()? {
            let right = self.single_source()?;
            let has_on =
                !matches!(kind, JoinKind::Cross | JoinKind::CrossApply | JoinKind::OuterApply);
            let right = if has_on && !self.is("ON") {
                self.nested(|parser| parser.joins_after(right))?
            } else {
                right
            };
            let on = self.when(has_on, |parser| {
                parser.expect("ON")?;
                parser.condition()
            })?;
            joins.push(Join { kind, hint, right, on });
        }
        Ok(joins)
    }

    /// The words of a join, up to JOIN or APPLY.
    fn join_words(&mut self) -> Parsed<Option<(JoinKind, Option<JoinHint>)>> {
        if self.accept("JOIN") {
            return Ok(Some((JoinKind::Inner, None)));
        }
        if self.accept("CROSS") {
            let kind =
                self.expect_choice(&[("JOIN", JoinKind::Cross), ("APPLY", JoinKind::CrossApply)])?;
            return Ok(Some((kind, None)));
        }
        if self.accept("OUTER") {
            self.expect("APPLY")?;
            return Ok(Some((JoinKind::OuterApply, None)));
        }
        if self.accept("INNER") {
            let hint = self.choose(&JOIN_HINTS);
            self.expect("JOIN")?;
            return Ok(Some((JoinKind::Inner, hint)));
        }
        let sides =
            [("LEFT", JoinKind::Left), ("RIGHT", JoinKind::Right), ("FULL", JoinKind::Full)];
        let Some(kind) = self.choose(&sides) else { return Ok(None) };
        self.accept("OUTER");
        let hint = self.choose(&JOIN_HINTS);
        self.expect("JOIN")?;
        Ok(Some((kind, hint)))
    }

    /// A source without joins, with its alias and pivots.
    pub(super) fn single_source(&mut self) -> Parsed<TableSource> {
        let source = self.plain_source()?;
        self.pivots_after(source)
    }

    fn plain_source(&mut self) -> Parsed<TableSource> {
        let start = self.span();
        if self.is_kind(TokenKind::LeftParen) {
            return self.parenthesised_source();
        }
        if self.is_kind(TokenKind::LeftBrace) {
            return self.odbc_join();
        }
        if self.is_kind(TokenKind::DoubleColon) {
            self.at += 1;
        }
        if let Some(kind) = self.rowset_source()? {
            return self.aliased(kind, start);
        }
        if self.is_kind(TokenKind::Variable) {
            return self.variable_source();
        }
        let name = self.object_name()?;
        if self.is_kind(TokenKind::LeftParen) && !self.are_old_hints() {
            return self.function_source(name);
        }
        self.table_reference(name, start)
    }

    /// A kind of source with its alias, if it has one.
    fn aliased(&mut self, kind: TableSourceKind, start: Span) -> Parsed<TableSource> {
        let alias = self.table_alias()?;
        Ok(TableSource { kind, alias, span: self.since(start) })
    }

    /// `[ [ AS ] name [ ( column , … ) ] ]`
    pub(super) fn table_alias(&mut self) -> Parsed<Option<TableAlias>> {
        let has_as = self.accept("AS");
        let has_alias = has_as || self.is_alias() && !self.is_window_clause();
        self.when(has_alias, |parser| {
            let name = parser.name_or_string_alias()?;
            let has_columns = parser.is_kind(TokenKind::LeftParen) && !parser.are_old_hints();
            let columns = if has_columns { parser.parenthesised_names()? } else { Vec::new() };
            Ok(TableAlias { name, columns })
        })
    }

    fn name_or_string_alias(&mut self) -> Parsed<crate::syntax::Name> {
        if self.is("HOLDLOCK") {
            return Err(self.error(Cause::HintNeedsWith { near: self.word().into() }));
        }
        self.name()
    }

    /// A table with everything that may follow its name.
    fn table_reference(&mut self, name: ObjectName, start: Span) -> Parsed<TableSource> {
        if self.is("HOLDLOCK") {
            return Err(self.error(Cause::HintNeedsWith { near: self.word().into() }));
        }
        let has_time = self.accept_all(&["FOR", "SYSTEM_TIME"]);
        let system_time = self.when(has_time, Parser::system_time)?;
        let is_for_path = self.accept_all(&["FOR", "PATH"]);
        let mut sample = self.table_sample()?;
        let mut hints = self.table_hints()?;
        let alias = self.table_alias()?;
        if sample.is_none() {
            sample = self.table_sample()?;
        }
        if hints.is_empty() {
            hints = self.table_hints()?;
        }
        let reference = TableReference { name, system_time, is_for_path, sample, hints };
        let kind = TableSourceKind::Table(Box::new(reference));
        Ok(TableSource { kind, alias, span: self.since(start) })
    }

    fn system_time(&mut self) -> Parsed<SystemTime> {
        if self.accept("ALL") {
            return Ok(SystemTime::All);
        }
        if self.accept_all(&["AS", "OF"]) {
            return self.expression().map(SystemTime::AsOf);
        }
        if self.accept("FROM") {
            let from = self.expression()?;
            self.expect("TO")?;
            return Ok(SystemTime::FromTo { from, to: self.expression()? });
        }
        if self.accept("BETWEEN") {
            let from = self.expression()?;
            self.expect("AND")?;
            return Ok(SystemTime::Between { from, to: self.expression()? });
        }
        self.expect_all(&["CONTAINED", "IN"])?;
        self.parenthesised(|parser| {
            let from = parser.expression()?;
            parser.expect_kind(TokenKind::Comma)?;
            Ok(SystemTime::ContainedIn { from, to: parser.expression()? })
        })
    }

    fn table_sample(&mut self) -> Parsed<Option<TableSample>> {
        if !self.accept("TABLESAMPLE") {
            return Ok(None);
        }
        self.accept("SYSTEM");
        self.expect_kind(TokenKind::LeftParen)?;
        let count = self.expression()?;
        let is_rows = self.choose(&[("ROWS", true), ("PERCENT", false)]).unwrap_or(false);
        self.expect_kind(TokenKind::RightParen)?;
        let has_seed = self.accept("REPEATABLE");
        let seed = self.when(has_seed, |parser| parser.parenthesised(Parser::expression))?;
        Ok(Some(TableSample { count, is_rows, seed }))
    }

    /// `function ( arguments ) [ WITH ( … ) ]`, or a method of a column.
    fn function_source(&mut self, name: ObjectName) -> Parsed<TableSource> {
        let start = name.span;
        let is_json = name.is_simple() && name.name.text.eq_ignore_ascii_case("OPENJSON");
        let call = FunctionCall {
            name,
            arguments: Arguments::List(self.arguments()?),
            within_group: Vec::new(),
            nulls: None,
            over: None,
        };
        let mut function = TableFunction { call, columns: Vec::new(), hints: Vec::new() };
        if is_json && self.accept("WITH") {
            function.columns = self.parenthesised_list(Parser::rowset_column)?;
        } else if !is_json {
            function.hints = self.table_hints()?;
        }
        let kind = if self.is_kind(TokenKind::Dot) {
            self.method_source(function, start)?
        } else {
            TableSourceKind::Function(Box::new(function))
        };
        self.aliased(kind, start)
    }

    /// `.nodes ( … )` after a call that was taken for a function.
    fn method_source(&mut self, function: TableFunction, start: Span) -> Parsed<TableSourceKind> {
        let kind = ExprKind::Function(Box::new(function.call));
        let value = self.postfix_after(Expr { kind, span: self.since(start) })?;
        match value.kind {
            ExprKind::Method(method) if method.arguments.is_some() => {
                Ok(TableSourceKind::Method(method))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `@table`, or a method of a variable.
    fn variable_source(&mut self) -> Parsed<TableSource> {
        let start = self.span();
        let variable = self.variable()?;
        if !self.is_kind(TokenKind::Dot) {
            let alias = self.table_alias()?;
            let hints = self.table_hints()?;
            let kind = TableSourceKind::Variable { name: variable, hints };
            return Ok(TableSource { kind, alias, span: self.since(start) });
        }
        let kind = ExprKind::Variable(variable.text);
        let value = self.postfix_after(Expr { kind, span: variable.span })?;
        match value.kind {
            ExprKind::Method(method) if method.arguments.is_some() => {
                self.aliased(TableSourceKind::Method(method), start)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `( query ) alias`, `( VALUES … ) alias`, `( DML ) alias`, or joins in parentheses.
    fn parenthesised_source(&mut self) -> Parsed<TableSource> {
        let start = self.span();
        self.expect_kind(TokenKind::LeftParen)?;
        let kind = if self.is("SELECT") {
            TableSourceKind::Derived(Box::new(self.query()?))
        } else if self.accept("VALUES") {
            TableSourceKind::Values(self.list(Parser::value_row)?)
        } else if self.is_any(&["INSERT", "UPDATE", "DELETE", "MERGE"]) {
            TableSourceKind::Dml(Box::new(self.nested_dml()?))
        } else {
            let inner = self.table_source()?;
            match self.derived_after(inner)? {
                TableSource { kind, alias: None, .. }
                    if matches!(kind, TableSourceKind::Derived(_)) =>
                {
                    kind
                }
                inner => {
                    self.expect_kind(TokenKind::RightParen)?;
                    return Ok(TableSource { span: self.since(start), ..inner });
                }
            }
        };
        self.expect_kind(TokenKind::RightParen)?;
        self.aliased(kind, start)
    }

    /// A query in parentheses that was taken for a source, with the set operators after it.
    fn derived_after(&mut self, source: TableSource) -> Parsed<TableSource> {
        match source {
            TableSource { kind: TableSourceKind::Derived(query), alias: None, span } => {
                let query = self.query_after_if_set(*query)?;
                let kind = TableSourceKind::Derived(Box::new(query));
                Ok(TableSource { kind, alias: None, span })
            }
            source => Ok(source),
        }
    }

    /// `{ oj source }`
    fn odbc_join(&mut self) -> Parsed<TableSource> {
        self.expect_kind(TokenKind::LeftBrace)?;
        self.expect("OJ")?;
        let source = self.table_source()?;
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(source)
    }
}

/// Is there a derived table without a name? In parentheses it may still be a part of one.
fn has_nameless(source: &TableSource) -> bool {
    match &source.kind {
        TableSourceKind::Derived(_) => source.alias.is_none(),
        TableSourceKind::Joined { first, joins } => {
            has_nameless(first) || joins.iter().any(|join| has_nameless(&join.right))
        }
        _ => false,
    }
}
