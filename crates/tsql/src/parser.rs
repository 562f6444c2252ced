//! The parser: recursive descent over tokens, one file for each family of statements.
//!
//! Invariants
//! - Recursion is bounded by [`MAX_NESTING`]; chains of operators, joins, set operators and ELSE IF
//!   are loops.
//! - Whatever the text, the parser ends with a tree or an error; it looks ahead, and does not try
//!   alternatives in turn except in the grammar tables, whose rules decide by their first words.

use extentdb_base::sync::Arc;

use crate::error::{Cause, Error};
use crate::lexer;
use crate::span::Span;
use crate::syntax::{Condition, Expr, Name, Query, Script};
use crate::token::{Token, TokenKind};

mod admin;
mod alter_table;
mod column;
mod condition;
mod constraint;
mod control;
mod cursor;
mod data_type;
mod dml;
mod execute;
mod expression;
mod for_clause;
mod full_text;
mod function;
mod grammar;
mod graph;
mod hint;
mod index;
mod literal;
mod merge;
mod module;
mod name;
mod object;
mod odbc;
mod permission;
mod pivot;
mod query;
mod rowset;
mod select;
mod session;
mod set;
mod statement;
mod table;
mod table_source;
mod text;
mod tokens;
mod transaction;
mod variable;

/// Deepest nesting of parentheses, functions, subqueries and blocks together. SQL Server's own
/// limit depends on its stack; it reports message 191, too.
pub const MAX_NESTING: u32 = 200;

/// Settings of the session that the parser depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// QUOTED_IDENTIFIER: whether `"x"` is a name or a string. A SET statement of the batch changes
    /// it for what follows.
    pub quoted_identifier: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { quoted_identifier: true }
    }
}

/// A value or a condition, where either may stand.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A value.
    Value(Expr),
    /// A condition.
    Condition(Condition),
}

/// Parses a batch, as the server receives it: without `GO`.
///
/// # Errors
/// The first error of the batch; nothing of it runs then.
pub fn parse(text: &str, options: Options) -> Result<Script, Error> {
    let mut parser = Parser::new(text, options)?;
    let statements = parser.batch()?;
    Ok(Script { text: Arc::from(text), statements })
}

/// Parses a text that is one value, such as a stored default.
///
/// # Errors
/// The first error of the text.
pub fn parse_expression(text: &str, options: Options) -> Result<Expr, Error> {
    let mut parser = Parser::new(text, options)?;
    let expr = parser.expression()?;
    parser.expect_end()?;
    Ok(expr)
}

/// Parses a text that is one condition, such as a stored check constraint.
///
/// # Errors
/// The first error of the text.
pub fn parse_condition(text: &str, options: Options) -> Result<Condition, Error> {
    let mut parser = Parser::new(text, options)?;
    let condition = parser.condition()?;
    parser.expect_end()?;
    Ok(condition)
}

/// Parses a text that is a value or a condition, such as any stored expression of the catalog.
///
/// # Errors
/// The first error of the text.
pub fn parse_term(text: &str, options: Options) -> Result<Term, Error> {
    let mut parser = Parser::new(text, options)?;
    let term = parser.term()?;
    parser.expect_end()?;
    Ok(term)
}

/// Parses a text that is one query, such as that of a view.
///
/// # Errors
/// The first error of the text.
pub fn parse_query(text: &str, options: Options) -> Result<Query, Error> {
    let mut parser = Parser::new(text, options)?;
    let query = parser.query_with_tables()?;
    parser.expect_end()?;
    Ok(query)
}

type Parsed<T> = Result<T, Error>;

/// What the statements at hand are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Batch,
    Procedure,
    Function,
    Trigger,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    /// Index of the next token.
    at: usize,
    depth: u32,
    quoted_identifier: bool,
    body: Body,
    /// The statement at hand is the first of its batch.
    is_first: bool,
    /// WHILE statements around the one at hand.
    loops: u32,
    /// CATCH blocks around the one at hand.
    catches: u32,
    labels: Vec<Name>,
    gotos: Vec<Name>,
    /// The token furthest to the right that an optional part of the grammar tables could not
    /// take, with its error.
    furthest: Option<Failure>,
}

struct Failure {
    at: usize,
    error: Error,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, options: Options) -> Parsed<Parser<'a>> {
        Ok(Parser {
            text,
            tokens: lexer::tokens(text)?,
            at: 0,
            depth: 0,
            quoted_identifier: options.quoted_identifier,
            body: Body::Batch,
            is_first: false,
            loops: 0,
            catches: 0,
            labels: Vec::new(),
            gotos: Vec::new(),
            furthest: None,
        })
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser<'a>) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.error(Cause::TooDeep));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Fails when a chain of postfix operators, each of which is a level of the tree, is too long.
    fn verify_chain(&self, length: u32) -> Parsed<()> {
        if length < MAX_NESTING { Ok(()) } else { Err(self.error(Cause::TooDeep)) }
    }

    /// An error at the next token.
    fn error(&self, cause: Cause) -> Error {
        Error { cause, span: self.span() }
    }

    fn expect_end(&mut self) -> Parsed<()> {
        if self.kind() == TokenKind::End { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Span of the next token.
    fn span(&self) -> Span {
        self.token(0).span
    }
}

#[cfg(test)]
mod tests;
