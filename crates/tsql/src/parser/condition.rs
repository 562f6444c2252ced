//! Conditions, and the places where a value or a condition may stand.
//!
//! ```text
//! OR < AND < NOT < comparison, IS, IN, BETWEEN, LIKE, EXISTS …
//! ```
//!
//! After a parenthesis only what follows tells whether it holds a value or a condition. So the
//! levels below pass a [`Term`] on, and whatever needs a condition asks for one: message 4145.

use super::{Parsed, Parser, Term};
use crate::error::Cause;
use crate::span::Span;
use crate::syntax::{
    Between, Comparison, Condition, ConditionKind, Expr, ExprKind, Like, Quantified,
};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn condition(&mut self) -> Parsed<Condition> {
        let term = self.term()?;
        self.as_condition(term)
    }

    fn as_condition(&self, term: Term) -> Parsed<Condition> {
        match term {
            Term::Condition(condition) => Ok(condition),
            Term::Value(_) => {
                let unexpected = self.unexpected();
                match unexpected.cause {
                    Cause::Syntax { near } | Cause::Keyword { keyword: near } => {
                        Err(crate::Error {
                            cause: Cause::NotACondition { near },
                            span: unexpected.span,
                        })
                    }
                    _ => Err(unexpected),
                }
            }
        }
    }

    /// A value or a condition.
    pub(super) fn term(&mut self) -> Parsed<Term> {
        self.nested(|parser| {
            parser.connected("OR", ConditionKind::Or, |parser| {
                parser.connected("AND", ConditionKind::And, Parser::negation)
            })
        })
    }

    /// `part word part …`
    fn connected(
        &mut self,
        word: &str,
        kind: fn(Vec<Condition>) -> ConditionKind,
        mut part: impl FnMut(&mut Self) -> Parsed<Term>,
    ) -> Parsed<Term> {
        let start = self.span();
        let first = part(self)?;
        if !self.is(word) {
            return Ok(first);
        }
        let mut parts = vec![self.as_condition(first)?];
        while self.accept(word) {
            let next = part(self)?;
            parts.push(self.as_condition(next)?);
        }
        Ok(self.condition_since(kind(parts), start))
    }

    fn condition_since(&self, kind: ConditionKind, start: Span) -> Term {
        Term::Condition(Condition { kind, span: self.since(start) })
    }

    fn negation(&mut self) -> Parsed<Term> {
        let start = self.span();
        if !self.accept("NOT") {
            return self.predicate();
        }
        let operand = self.nested(Parser::negation)?;
        let operand = Box::new(self.as_condition(operand)?);
        Ok(self.condition_since(ConditionKind::Not(operand), start))
    }

    fn predicate(&mut self) -> Parsed<Term> {
        let start = self.span();
        if let Some(kind) = self.word_predicate()? {
            return Ok(self.condition_since(kind, start));
        }
        let left = if self.is_kind(TokenKind::LeftParen) {
            match self.nested(Parser::parenthesised_term)? {
                Term::Condition(condition) => return Ok(Term::Condition(condition)),
                Term::Value(value) => self.value_after(value)?,
            }
        } else {
            self.expression()?
        };
        self.predicate_after(left, start)
    }

    /// The rest of a value that begins with a parenthesis.
    fn value_after(&mut self, value: Expr) -> Parsed<Expr> {
        let value = self.postfix_after(value)?;
        let value = self.product_after(value)?;
        self.sum_after(value)
    }

    /// `( query | term )`
    pub(super) fn parenthesised_term(&mut self) -> Parsed<Term> {
        let start = self.span();
        self.expect_kind(TokenKind::LeftParen)?;
        let mut term = if self.is("SELECT") {
            let query = Box::new(self.query()?);
            Term::Value(Expr { kind: ExprKind::Subquery(query), span: self.since(start) })
        } else {
            self.term()?
        };
        if let Term::Value(Expr { kind: ExprKind::Subquery(query), .. }) = term {
            let query = Box::new(self.query_after_if_set(*query)?);
            term = Term::Value(Expr { kind: ExprKind::Subquery(query), span: start });
        }
        self.expect_kind(TokenKind::RightParen)?;
        if let Term::Value(value) = &mut term
            && matches!(value.kind, ExprKind::Subquery(_))
        {
            value.span = self.since(start);
        }
        Ok(term)
    }

    /// A predicate that begins with a word.
    fn word_predicate(&mut self) -> Parsed<Option<ConditionKind>> {
        if !matches!(self.kind(), TokenKind::Reserved | TokenKind::Word)
            || self.kind_at(1) != TokenKind::LeftParen
        {
            return Ok(None);
        }
        if self.accept("EXISTS") {
            let query = self.parenthesised(Parser::query)?;
            return Ok(Some(ConditionKind::Exists(Box::new(query))));
        }
        if self.is("CONTAINS") || self.is("FREETEXT") {
            return self.full_text().map(Some);
        }
        if self.accept("UPDATE") {
            return self.parenthesised(Parser::name).map(ConditionKind::Update).map(Some);
        }
        if self.is("MATCH") {
            return self.graph_match().map(Some);
        }
        Ok(None)
    }

    /// What makes a value a predicate, if it is there.
    fn predicate_after(&mut self, left: Expr, start: Span) -> Parsed<Term> {
        if let Some(comparison) = self.comparison()? {
            let kind = self.compared(left, comparison)?;
            return Ok(self.condition_since(kind, start));
        }
        if self.accept("IS") {
            let kind = self.is_null(left)?;
            return Ok(self.condition_since(kind, start));
        }
        let is_negated = self.accept("NOT");
        let kind = if self.accept("IN") {
            self.in_list(left, is_negated)?
        } else if self.accept("BETWEEN") {
            self.between(left, is_negated)?
        } else if self.accept("LIKE") {
            self.like(left, is_negated)?
        } else if is_negated {
            return Err(self.unexpected());
        } else {
            return Ok(Term::Value(left));
        };
        Ok(self.condition_since(kind, start))
    }

    /// A comparison; blanks may stand between its characters.
    fn comparison(&mut self) -> Parsed<Option<Comparison>> {
        let next = self.kind_at(1);
        let (comparison, length) = match (self.kind(), next) {
            (TokenKind::StarEqual, _) | (TokenKind::Equal, TokenKind::Star) => {
                return Err(self.error(Cause::OldOuterJoin));
            }
            (TokenKind::Equal, _) => (Comparison::Equal, 1),
            (TokenKind::NotEqual, _) => (Comparison::NotEqual, 1),
            (TokenKind::Less, TokenKind::Greater) => (Comparison::NotEqual, 2),
            (TokenKind::Less, TokenKind::Equal) => (Comparison::LessOrEqual, 2),
            (TokenKind::Less, _) => (Comparison::Less, 1),
            (TokenKind::LessOrEqual | TokenKind::NotGreater, _) => (Comparison::LessOrEqual, 1),
            (TokenKind::Greater, TokenKind::Equal) => (Comparison::GreaterOrEqual, 2),
            (TokenKind::Greater, _) => (Comparison::Greater, 1),
            (TokenKind::GreaterOrEqual | TokenKind::NotLess, _) => (Comparison::GreaterOrEqual, 1),
            (TokenKind::Exclamation, TokenKind::Equal) => (Comparison::NotEqual, 2),
            (TokenKind::Exclamation, TokenKind::Less) => (Comparison::GreaterOrEqual, 2),
            (TokenKind::Exclamation, TokenKind::Greater) => (Comparison::LessOrEqual, 2),
            _ => return Ok(None),
        };
        self.at += length;
        Ok(Some(comparison))
    }

    /// What follows a comparison.
    fn compared(&mut self, left: Expr, comparison: Comparison) -> Parsed<ConditionKind> {
        let quantifier = self.choose(&[("ALL", true), ("ANY", false), ("SOME", false)]);
        if let Some(is_all) = quantifier {
            let query = self.parenthesised(Parser::query)?;
            let quantified = Quantified { left, comparison, is_all, query };
            return Ok(ConditionKind::Quantified(Box::new(quantified)));
        }
        let right = Box::new(self.expression()?);
        Ok(ConditionKind::Comparison { left: Box::new(left), comparison, right })
    }

    fn is_null(&mut self, left: Expr) -> Parsed<ConditionKind> {
        let is_negated = self.accept("NOT");
        if self.accept_all(&["DISTINCT", "FROM"]) {
            let right = Box::new(self.expression()?);
            return Ok(ConditionKind::IsDistinct { left: Box::new(left), right, is_negated });
        }
        self.expect("NULL")?;
        Ok(ConditionKind::IsNull { operand: Box::new(left), is_negated })
    }

    /// `( query )` or `( value , … )`; a query in more parentheses is a query, too.
    fn in_list(&mut self, left: Expr, is_negated: bool) -> Parsed<ConditionKind> {
        let operand = Box::new(left);
        self.expect_kind(TokenKind::LeftParen)?;
        let kind = if self.is("SELECT") {
            let query = Box::new(self.query()?);
            ConditionKind::InQuery { operand, query, is_negated }
        } else {
            let mut values = self.list(Parser::expression)?;
            match values.pop() {
                Some(Expr { kind: ExprKind::Subquery(query), .. }) if values.is_empty() => {
                    let query = Box::new(self.query_after_if_set(*query)?);
                    ConditionKind::InQuery { operand, query, is_negated }
                }
                last => {
                    values.extend(last);
                    ConditionKind::InList { operand, values, is_negated }
                }
            }
        };
        self.expect_kind(TokenKind::RightParen)?;
        Ok(kind)
    }

    fn between(&mut self, operand: Expr, is_negated: bool) -> Parsed<ConditionKind> {
        let low = self.expression()?;
        self.expect("AND")?;
        let high = self.expression()?;
        Ok(ConditionKind::Between(Box::new(Between { operand, low, high, is_negated })))
    }

    fn like(&mut self, operand: Expr, is_negated: bool) -> Parsed<ConditionKind> {
        let pattern = self.expression()?;
        let is_odbc = self.is_kind(TokenKind::LeftBrace) && self.is_word_at(1, "ESCAPE");
        self.at += usize::from(is_odbc);
        let has_escape = self.accept("ESCAPE");
        let escape = self.when(has_escape, Parser::expression)?;
        if is_odbc {
            self.expect_kind(TokenKind::RightBrace)?;
        }
        Ok(ConditionKind::Like(Box::new(Like { operand, pattern, escape, is_negated })))
    }
}
