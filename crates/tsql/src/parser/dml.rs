//! INSERT, UPDATE, DELETE, TRUNCATE, BULK INSERT, INSERT BULK.

use super::select::TopForm;
use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{
    BulkInsert, Delete, Dml, DmlFilter, Expr, Insert, InsertBulk, InsertSource, Output, OutputInto,
    PartitionRange, SelectItem, SetItem, StatementKind, Target, TargetKind, Truncate, Update, With,
};
use crate::token::TokenKind;

/// Rows of VALUES of an INSERT statement.
const MAX_ROWS: usize = 1000;

impl Parser<'_> {
    /// A DML statement that is a table source.
    pub(super) fn nested_dml(&mut self) -> Parsed<Dml> {
        self.nested(|parser| parser.dml(None))
    }

    /// A DML statement after its common tables.
    pub(super) fn dml(&mut self, with: Option<With>) -> Parsed<Dml> {
        if self.is("INSERT") {
            return self.insert(with).map(|insert| Dml::Insert(Box::new(insert)));
        }
        if self.is("UPDATE") {
            return self.update(with).map(|update| Dml::Update(Box::new(update)));
        }
        if self.is("DELETE") {
            return self.delete(with).map(|delete| Dml::Delete(Box::new(delete)));
        }
        self.merge(with).map(|merge| Dml::Merge(Box::new(merge)))
    }

    fn insert(&mut self, with: Option<With>) -> Parsed<Insert> {
        let start = self.span();
        self.expect("INSERT")?;
        let top = self.top(TopForm::Dml)?;
        self.accept("INTO");
        let target = self.target()?;
        let has_columns = self.is_kind(TokenKind::LeftParen) && !self.is_parenthesised_query();
        let columns =
            if has_columns { self.parenthesised_list(Parser::column_name)? } else { Vec::new() };
        let outputs = self.outputs()?;
        let source = self.insert_source()?;
        let option = self.option_clause()?;
        let span = self.since(start);
        Ok(Insert { with, top, target, columns, outputs, source, option, span })
    }

    /// True when the parentheses that follow hold a query.
    fn is_parenthesised_query(&self) -> bool {
        let mut ahead = 0;
        while self.kind_at(ahead) == TokenKind::LeftParen {
            ahead += 1;
        }
        self.is_word_at(ahead, "SELECT")
    }

    fn insert_source(&mut self) -> Parsed<InsertSource> {
        if self.accept_all(&["DEFAULT", "VALUES"]) {
            return Ok(InsertSource::DefaultValues);
        }
        if self.accept("VALUES") {
            let rows = self.list(Parser::value_row)?;
            if rows.len() > MAX_ROWS {
                return Err(self.error(Cause::TooManyRows));
            }
            return Ok(InsertSource::Values(rows));
        }
        if self.is_any(&["EXEC", "EXECUTE"]) {
            return self.execute_statement().map(|it| InsertSource::Execute(Box::new(it)));
        }
        if self.is("SELECT") || self.is_kind(TokenKind::LeftParen) {
            return self.query().map(|query| InsertSource::Query(Box::new(query)));
        }
        Err(self.unexpected())
    }

    /// What is changed, with its hints.
    pub(super) fn target(&mut self) -> Parsed<Target> {
        let start = self.span();
        let kind = self.target_kind()?;
        let hints = self.table_hints()?;
        Ok(Target { kind, hints, span: self.since(start) })
    }

    fn target_kind(&mut self) -> Parsed<TargetKind> {
        if self.is_kind(TokenKind::Variable) {
            return self.variable().map(TargetKind::Variable);
        }
        if self.is_kind(TokenKind::Reserved) {
            let start = self.span();
            let Some(kind) = self.rowset_source()? else { return Err(self.unexpected()) };
            let span = self.since(start);
            let source = crate::syntax::TableSource { kind, alias: None, span };
            return Ok(TargetKind::Rowset(Box::new(source)));
        }
        self.object_name().map(TargetKind::Object)
    }

    /// `[ OUTPUT … ] …`: one with INTO, one without.
    pub(super) fn outputs(&mut self) -> Parsed<Vec<Output>> {
        let mut outputs = Vec::new();
        while outputs.len() < 2 && self.accept("OUTPUT") {
            let items: Vec<SelectItem> = self.list(Parser::select_item)?;
            let has_into = self.accept("INTO");
            let into = self.when(has_into, |parser| {
                let target = parser.target_kind()?;
                Ok(OutputInto { target, columns: parser.optional_list(Parser::name)? })
            })?;
            outputs.push(Output { items, into });
        }
        Ok(outputs)
    }

    fn update(&mut self, with: Option<With>) -> Parsed<Update> {
        let start = self.span();
        self.expect("UPDATE")?;
        let top = self.top(TopForm::Dml)?;
        let target = self.target()?;
        self.expect("SET")?;
        let sets = self.list(Parser::set_item)?;
        let outputs = self.outputs()?;
        let from = self.table_sources()?;
        let filter = self.dml_filter()?;
        let option = self.option_clause()?;
        let span = self.since(start);
        Ok(Update { with, top, target, sets, outputs, from, filter, option, span })
    }

    /// An item of SET.
    pub(super) fn set_item(&mut self) -> Parsed<SetItem> {
        if self.is_kind(TokenKind::Variable) {
            return self.variable_set_item();
        }
        let column = self.dotted_column()?;
        if self.is_kind(TokenKind::LeftParen) {
            return self.method_set_item(column);
        }
        let operator = self.assign_operator()?;
        let value = self.expression_or_default()?;
        Ok(SetItem::Column { variable: None, column, operator, value })
    }

    /// `@v = value`, or `@v = column = value`.
    fn variable_set_item(&mut self) -> Parsed<SetItem> {
        let is_double = self.kind_at(1) == TokenKind::Equal
            && self.is_name_at(2)
            && self.is_column_assignment_at(2);
        if !is_double {
            return self.assignment().map(SetItem::Variable);
        }
        let variable = Some(self.variable()?);
        self.expect_kind(TokenKind::Equal)?;
        let column = self.dotted_column()?;
        let operator = self.assign_operator()?;
        let value = self.expression_or_default()?;
        Ok(SetItem::Column { variable, column, operator, value })
    }

    /// True when names with points are `ahead`, and an assignment after them.
    fn is_column_assignment_at(&self, mut ahead: usize) -> bool {
        while self.is_name_at(ahead) && self.kind_at(ahead + 1) == TokenKind::Dot {
            ahead += 2;
        }
        self.is_name_at(ahead) && self.is_assignment_at(ahead + 1)
    }

    /// Names with points as a column, where a parenthesis may follow.
    fn dotted_column(&mut self) -> Parsed<crate::syntax::ColumnName> {
        use crate::syntax::{Column, ColumnName};
        if !self.is_name() {
            return self.column_name();
        }
        let start = self.span();
        let mut parts = self.dotted_parts()?;
        let Some(Some(last)) = parts.pop() else { return Err(self.unexpected()) };
        let qualifier = parts.pop().flatten().map(|name| self.qualified(parts, name, start));
        Ok(ColumnName { qualifier, column: Column::Named(last) })
    }

    /// `column.method ( arguments )`: the last name is the method.
    fn method_set_item(&mut self, column: crate::syntax::ColumnName) -> Parsed<SetItem> {
        use crate::syntax::{Column, ColumnName};
        let (Some(qualifier), Column::Named(method)) = (column.qualifier, column.column) else {
            return Err(self.unexpected());
        };
        let start = qualifier.span;
        let (mut parts, name) = qualifier.into_parts();
        let qualifier = parts.pop().flatten().map(|name| self.qualified(parts, name, start));
        let arguments = self.arguments()?;
        let column = ColumnName { qualifier, column: Column::Named(name) };
        Ok(SetItem::Method { column, method, arguments })
    }

    /// `[ WHERE condition | WHERE CURRENT OF cursor ]`
    fn dml_filter(&mut self) -> Parsed<Option<DmlFilter>> {
        if !self.accept("WHERE") {
            return Ok(None);
        }
        if self.accept_all(&["CURRENT", "OF"]) {
            return self.cursor_name().map(DmlFilter::CurrentOf).map(Some);
        }
        self.condition().map(DmlFilter::Condition).map(Some)
    }

    fn delete(&mut self, with: Option<With>) -> Parsed<Delete> {
        let start = self.span();
        self.expect("DELETE")?;
        let top = self.top(TopForm::Dml)?;
        self.accept("FROM");
        let target = self.target()?;
        let outputs = self.outputs()?;
        let from = self.table_sources()?;
        let filter = self.dml_filter()?;
        let option = self.option_clause()?;
        let span = self.since(start);
        Ok(Delete { with, top, target, outputs, from, filter, option, span })
    }

    /// `TRUNCATE TABLE table [ WITH ( PARTITIONS ( range , … ) ) ]`
    pub(super) fn truncate(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["TRUNCATE", "TABLE"])?;
        let table = self.object_name()?;
        let mut partitions = Vec::new();
        if self.is("WITH") && self.kind_at(1) == TokenKind::LeftParen {
            self.at += 1;
            partitions = self.parenthesised(|parser| {
                parser.expect("PARTITIONS")?;
                parser.parenthesised_list(Parser::partition_range)
            })?;
        }
        Ok(StatementKind::Truncate(Truncate { table, partitions }))
    }

    fn partition_range(&mut self) -> Parsed<PartitionRange> {
        let low = self.expression()?;
        let has_high = self.accept("TO");
        let high: Option<Expr> = self.when(has_high, Parser::expression)?;
        Ok(PartitionRange { low, high })
    }

    /// `BULK INSERT target FROM 'file' [ WITH ( option , … ) ]`
    pub(super) fn bulk_insert(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["BULK", "INSERT"])?;
        let target = self.object_name()?;
        self.expect("FROM")?;
        let file = self.primary()?;
        let options = self.bulk_options()?;
        Ok(StatementKind::BulkInsert(Box::new(BulkInsert { target, file, options })))
    }

    /// `[ WITH ( option [ , ] … ) ]`
    fn bulk_options(&mut self) -> Parsed<Vec<crate::syntax::BulkOption>> {
        let mut options = Vec::new();
        if !(self.is("WITH") && self.kind_at(1) == TokenKind::LeftParen) {
            return Ok(options);
        }
        self.at += 2;
        options.push(self.bulk_option()?);
        while !self.accept_kind(TokenKind::RightParen) {
            self.accept_kind(TokenKind::Comma);
            options.push(self.bulk_option()?);
        }
        Ok(options)
    }

    /// `INSERT BULK target [ ( column type , … ) ] [ WITH ( option , … ) ]`
    pub(super) fn insert_bulk(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["INSERT", "BULK"])?;
        let target = self.object_name()?;
        let columns = self.optional_list(Parser::rowset_column)?;
        let options = self.bulk_options()?;
        Ok(StatementKind::InsertBulk(Box::new(InsertBulk { target, columns, options })))
    }
}
