//! Queries: common tables, set operators, ORDER BY, OFFSET.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::span::Span;
use crate::syntax::{
    CommonTable, Offset, Query, QueryBody, SelectStatement, SetOperator, SetTerm, StatementKind,
    With, XmlNamespace,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// A SELECT statement after its common tables.
    pub(super) fn select_statement(&mut self, with: Option<With>) -> Parsed<StatementKind> {
        let mut query = self.query()?;
        query.with = with;
        let option = self.option_clause()?;
        Ok(StatementKind::Select(Box::new(SelectStatement { query, option })))
    }

    /// A query with its common tables.
    pub(super) fn query_with_tables(&mut self) -> Parsed<Query> {
        let start = self.span();
        let has_with = self.is("WITH");
        let with = self.when(has_with, Parser::with_clause)?;
        let mut query = self.query()?;
        query.with = with;
        query.span = self.since(start);
        Ok(query)
    }

    /// A query without common tables.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        self.nested(|parser| {
            let start = parser.span();
            let body = parser.query_primary()?;
            parser.query_rest(body, start)
        })
    }

    /// True for a word that begins a query.
    pub(super) fn is_set_operator(&self) -> bool {
        self.is_any(&["UNION", "EXCEPT", "INTERSECT"])
    }

    /// The rest of a query whose first part, a query in parentheses, was taken for a value.
    pub(super) fn query_after_if_set(&mut self, first: Query) -> Parsed<Query> {
        if !self.is_set_operator() {
            return Ok(first);
        }
        let start = first.span;
        self.query_rest(QueryBody::Parenthesised(Box::new(first)), start)
    }

    fn query_rest(&mut self, first: QueryBody, start: Span) -> Parsed<Query> {
        let first = self.set_terms(first, Parser::tight_operator, Parser::query_primary)?;
        let body = self.set_terms(first, Parser::loose_operator, Parser::intersected)?;
        let has_order = self.is("ORDER");
        let order_by = if has_order { self.order_by()? } else { Vec::new() };
        let has_offset = has_order && self.is("OFFSET");
        if has_offset && has_top(&body) {
            return Err(self.error(Cause::TopWithOffset));
        }
        let offset = self.when(has_offset, Parser::offset)?.map(Box::new);
        let for_clause = self.for_clause()?.map(Box::new);
        Ok(Query {
            with: None,
            body,
            order_by,
            offset,
            for_clause,
            span: self.since(start),
        })
    }

    fn intersected(&mut self) -> Parsed<QueryBody> {
        let first = self.query_primary()?;
        self.set_terms(first, Parser::tight_operator, Parser::query_primary)
    }

    /// Set operators of one level from left to right.
    fn set_terms(
        &mut self,
        first: QueryBody,
        operator: fn(&mut Self) -> Option<SetOperator>,
        body: fn(&mut Self) -> Parsed<QueryBody>,
    ) -> Parsed<QueryBody> {
        let mut rest = Vec::new();
        loop {
            let start = self.span();
            let Some(operator) = operator(self) else { break };
            let span = self.since(start);
            rest.push(SetTerm { operator, body: body(self)?, span });
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(QueryBody::Set { first: Box::new(first), rest })
    }

    fn tight_operator(&mut self) -> Option<SetOperator> {
        self.choose(&[("INTERSECT", SetOperator::Intersect)])
    }

    fn loose_operator(&mut self) -> Option<SetOperator> {
        let operator =
            self.choose(&[("UNION", SetOperator::Union), ("EXCEPT", SetOperator::Except)])?;
        if operator == SetOperator::Union && self.accept("ALL") {
            return Some(SetOperator::UnionAll);
        }
        Some(operator)
    }

    /// `SELECT … | ( query )`
    fn query_primary(&mut self) -> Parsed<QueryBody> {
        if self.is_kind(TokenKind::LeftParen) {
            let query = self.parenthesised(Parser::query)?;
            return Ok(QueryBody::Parenthesised(Box::new(query)));
        }
        self.select().map(|select| QueryBody::Select(Box::new(select)))
    }

    /// `OFFSET skip { ROW | ROWS } [ FETCH { FIRST | NEXT } fetch { ROW | ROWS } ONLY ]`
    fn offset(&mut self) -> Parsed<Offset> {
        self.expect("OFFSET")?;
        let skip = self.expression()?;
        self.rows()?;
        let has_fetch = self.is("FETCH") && (self.is_word_at(1, "NEXT") || self.is_first());
        let fetch = self.when(has_fetch, |parser| {
            parser.at += 2;
            let fetch = parser.expression()?;
            parser.rows()?;
            parser.expect("ONLY")?;
            Ok(fetch)
        })?;
        Ok(Offset { skip, fetch })
    }

    fn is_first(&self) -> bool {
        self.is_word_at(1, "FIRST")
    }

    fn rows(&mut self) -> Parsed<()> {
        self.expect_choice(&[("ROWS", ()), ("ROW", ())])
    }

    /// `WITH …`
    pub(super) fn with_clause(&mut self) -> Parsed<With> {
        let start = self.span();
        self.expect("WITH")?;
        let mut with = With {
            namespaces: Vec::new(),
            change_tracking_context: None,
            tables: Vec::new(),
            span: start,
        };
        loop {
            if self.is("XMLNAMESPACES") && self.kind_at(1) == TokenKind::LeftParen {
                self.at += 1;
                with.namespaces = self.parenthesised_list(Parser::xml_namespace)?;
            } else if self.is("CHANGE_TRACKING_CONTEXT") && self.kind_at(1) == TokenKind::LeftParen
            {
                self.at += 1;
                with.change_tracking_context = Some(self.parenthesised(Parser::expression)?);
            } else {
                with.tables.push(self.common_table()?);
            }
            if !self.accept_kind(TokenKind::Comma) {
                with.span = self.since(start);
                return Ok(with);
            }
        }
    }

    fn xml_namespace(&mut self) -> Parsed<XmlNamespace> {
        if self.accept("DEFAULT") {
            return Ok(XmlNamespace { uri: self.string()?, prefix: None });
        }
        let uri = self.string()?;
        self.expect("AS")?;
        Ok(XmlNamespace { uri, prefix: Some(self.name()?) })
    }

    fn common_table(&mut self) -> Parsed<CommonTable> {
        let name = self.name()?;
        let columns = self.optional_list(Parser::name)?;
        self.expect("AS")?;
        let query = self.parenthesised(Parser::query)?;
        Ok(CommonTable { name, columns, query })
    }
}

/// True for a SELECT with TOP that is the whole body.
fn has_top(body: &QueryBody) -> bool {
    matches!(body, QueryBody::Select(select) if select.top.is_some())
}
