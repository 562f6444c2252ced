//! Trees of the statements and options that the grammar tables describe.
//!
//! Administrative statements have no types of their own. A clause is what a rule of the grammar
//! tables matched: keywords, names and values in the order of the text, and the clauses of the
//! rules that it uses.

use super::data_type::DataType;
use super::expression::{Condition, Expr};
use super::literal::Literal;
use super::name::{Name, ObjectName, VariableName};
use crate::span::Span;

/// What a rule matched. Parentheses, commas and points are not kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Clause {
    /// Name of the rule.
    pub rule: &'static str,
    pub parts: Vec<Part>,
    pub span: Span,
}

/// A part of a clause.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A keyword, in capitals.
    Word(&'static str),
    /// An operator, such as `=`.
    Symbol(&'static str),
    Name(Name),
    Object(ObjectName),
    Variable(VariableName),
    Literal(Literal),
    Expr(Expr),
    Condition(Condition),
    DataType(DataType),
    Clause(Clause),
}

impl Clause {
    /// True when the keyword is among the parts.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Word(known) if *known == word))
    }

    /// The clauses of a rule among the parts.
    pub fn all<'a>(&'a self, rule: &'a str) -> impl Iterator<Item = &'a Clause> {
        self.parts.iter().filter_map(move |part| match part {
            Part::Clause(clause) if clause.rule == rule => Some(clause),
            _ => None,
        })
    }

    /// The first clause of a rule among the parts.
    #[must_use]
    pub fn first<'a>(&'a self, rule: &'a str) -> Option<&'a Clause> {
        self.all(rule).next()
    }

    /// The part after a keyword, not counting `=`.
    #[must_use]
    pub fn after(&self, word: &str) -> Option<&Part> {
        let at = self.parts.iter().position(|part| matches!(part, Part::Word(w) if *w == word))?;
        self.parts.iter().skip(at + 1).find(|part| !matches!(part, Part::Symbol("=")))
    }

    /// The names of one part.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.parts.iter().filter_map(|part| match part {
            Part::Name(name) => Some(name),
            _ => None,
        })
    }

    /// The literals.
    pub fn literals(&self) -> impl Iterator<Item = &Literal> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(literal) => Some(literal),
            _ => None,
        })
    }
}

/// A statement that the grammar tables describe.
#[derive(Debug, Clone, PartialEq)]
pub struct AdminStatement {
    /// The words by which its rule begins, such as `CREATE LOGIN`.
    pub head: &'static str,
    /// What follows them.
    pub clause: Clause,
}
