//! Statements and options of the grammar tables: matching rules against tokens.

use super::grammar::{Grammar, Node, Rule, Terminal, grammar};
use super::{Failure, MAX_NESTING, Parsed, Parser};
use crate::error::{Cause, Error};
use crate::syntax::{AdminStatement, Clause, Part, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The statement of the tables that begins here, if there is one.
    fn admin_rule(&self) -> Option<&'static Rule> {
        let first = self.word().to_ascii_uppercase();
        let begins = |rule: &&Rule| {
            rule.name.split(' ').enumerate().all(|(ahead, word)| self.is_word_at(ahead, word))
        };
        grammar().statements(&first).find(begins)
    }

    /// True when a statement of the tables begins here.
    pub(super) fn is_admin(&self) -> bool {
        self.admin_rule().is_some()
    }

    /// A statement of the tables.
    pub(super) fn admin_statement(&mut self) -> Parsed<StatementKind> {
        let Some(rule) = self.admin_rule() else { return Err(self.unknown_class()) };
        self.at += rule.name.split(' ').count();
        let clause = self.matched(rule)?;
        let admin = AdminStatement { head: rule.name, clause };
        Ok(StatementKind::Admin(Box::new(admin)))
    }

    /// The class after CREATE, ALTER or DROP is unknown.
    pub(super) fn unknown_class(&self) -> Error {
        let is_verb = self.is_any(&["CREATE", "ALTER", "DROP"]);
        if is_verb && self.kind_at(1) == TokenKind::Word {
            let word = self.shown(self.token(1));
            let span = self.token(1).span;
            return Error { cause: Cause::UnknownObjectType { word }, span };
        }
        self.unexpected_at(1)
    }

    /// What a rule of the tables matches here.
    pub(super) fn clause(&mut self, rule: &str) -> Parsed<Clause> {
        match grammar().rule(rule) {
            Some(rule) => self.matched(rule),
            None => Err(self.unexpected()),
        }
    }

    /// `clause , …`
    pub(super) fn clauses(&mut self, rule: &str) -> Parsed<Vec<Clause>> {
        self.list(|parser| parser.clause(rule))
    }

    /// `( clause , … )`
    pub(super) fn parenthesised_clauses(&mut self, rule: &str) -> Parsed<Vec<Clause>> {
        self.parenthesised_list(|parser| parser.clause(rule))
    }

    /// `[ WITH ( clause , … ) ]`
    pub(super) fn with_clauses(&mut self, rule: &str) -> Parsed<Vec<Clause>> {
        if !(self.is("WITH") && self.kind_at(1) == TokenKind::LeftParen) {
            return Ok(Vec::new());
        }
        self.at += 1;
        self.parenthesised_clauses(rule)
    }

    /// Matches a rule; the error is the one furthest to the right.
    fn matched(&mut self, rule: &'static Rule) -> Parsed<Clause> {
        let start = self.span();
        let mut parts = Vec::new();
        if self.matches(grammar(), &rule.node, &mut parts) {
            return Ok(Clause { rule: rule.name, parts, span: self.since(start) });
        }
        Err(match self.furthest.take() {
            Some(failure) => failure.error,
            None => self.unexpected(),
        })
    }

    /// Takes what a node matches; nothing is taken when it does not match.
    fn matches(
        &mut self,
        grammar: &'static Grammar,
        node: &'static Node,
        parts: &mut Vec<Part>,
    ) -> bool {
        match node {
            Node::Word(word) => self.matches_word(word, parts),
            Node::Symbol { kind, text } => self.matches_symbol(*kind, text, parts),
            Node::Terminal(terminal) => self.matches_terminal(*terminal, parts),
            Node::Rule(at) => self.matches_rule(grammar, *at, parts),
            Node::Sequence(nodes) => {
                let before = self.at;
                let length = parts.len();
                let is_whole = nodes.iter().all(|node| self.matches(grammar, node, parts));
                if !is_whole {
                    self.at = before;
                    parts.truncate(length);
                }
                is_whole
            }
            Node::Choice(nodes) => nodes.iter().any(|node| self.matches(grammar, node, parts)),
            Node::Optional(node) => {
                self.matches(grammar, node, parts);
                true
            }
            Node::Repeated(node) => self.matches_repeated(grammar, node, parts),
            Node::List(node) => self.matches_list(grammar, node, parts),
            Node::Nothing => false,
        }
    }

    fn matches_repeated(
        &mut self,
        grammar: &'static Grammar,
        node: &'static Node,
        parts: &mut Vec<Part>,
    ) -> bool {
        if !self.matches(grammar, node, parts) {
            return false;
        }
        loop {
            let before = self.at;
            if !self.matches(grammar, node, parts) || self.at == before {
                return true;
            }
        }
    }

    fn matches_list(
        &mut self,
        grammar: &'static Grammar,
        node: &'static Node,
        parts: &mut Vec<Part>,
    ) -> bool {
        if !self.matches(grammar, node, parts) {
            return false;
        }
        loop {
            let before = self.at;
            if !self.accept_kind(TokenKind::Comma) {
                self.failed();
                return true;
            }
            if !self.matches(grammar, node, parts) {
                self.at = before;
                return true;
            }
        }
    }

    fn matches_rule(
        &mut self,
        grammar: &'static Grammar,
        at: usize,
        parts: &mut Vec<Part>,
    ) -> bool {
        let Some(rule) = grammar.rules.get(at) else { return false };
        if self.depth >= MAX_NESTING {
            return self.failed_with(self.error(Cause::TooDeep));
        }
        self.depth += 1;
        let start = self.span();
        let mut inner = Vec::new();
        let is_match = self.matches(grammar, &rule.node, &mut inner);
        self.depth -= 1;
        if is_match {
            let clause = Clause { rule: rule.name, parts: inner, span: self.since(start) };
            parts.push(Part::Clause(clause));
        }
        is_match
    }

    fn matches_word(&mut self, word: &'static str, parts: &mut Vec<Part>) -> bool {
        if !self.accept(word) {
            return self.failed();
        }
        parts.push(Part::Word(word));
        true
    }

    fn matches_symbol(
        &mut self,
        kind: TokenKind,
        text: &'static str,
        parts: &mut Vec<Part>,
    ) -> bool {
        if !self.accept_kind(kind) {
            return self.failed();
        }
        if !matches!(text, "(" | ")" | "," | ".") {
            parts.push(Part::Symbol(text));
        }
        true
    }

    fn matches_terminal(&mut self, terminal: Terminal, parts: &mut Vec<Part>) -> bool {
        let before = self.at;
        let depth = self.depth;
        match self.terminal(terminal) {
            Ok(part) => {
                parts.push(part);
                true
            }
            Err(error) => {
                self.failed_with(error);
                self.at = before;
                self.depth = depth;
                false
            }
        }
    }

    fn terminal(&mut self, terminal: Terminal) -> Parsed<Part> {
        Ok(match terminal {
            Terminal::Name => Part::Name(self.name()?),
            Terminal::Word => Part::Name(self.any_word()?),
            Terminal::Object => Part::Object(self.object_name()?),
            Terminal::String => Part::Literal(crate::syntax::Literal::String(self.string()?)),
            Terminal::Integer if self.is_kind(TokenKind::Integer) => {
                Part::Literal(self.expect_literal()?)
            }
            Terminal::Number
                if matches!(
                    self.kind(),
                    TokenKind::Integer | TokenKind::Decimal | TokenKind::Float
                ) =>
            {
                Part::Literal(self.expect_literal()?)
            }
            Terminal::Binary if self.is_kind(TokenKind::Binary) => {
                Part::Literal(self.expect_literal()?)
            }
            Terminal::Integer | Terminal::Number | Terminal::Binary => {
                return Err(self.unexpected());
            }
            Terminal::Variable => Part::Variable(self.variable()?),
            Terminal::Value => Part::Expr(self.simple_value()?),
            Terminal::Expr => Part::Expr(self.expression()?),
            Terminal::Condition => Part::Condition(self.condition()?),
            Terminal::Type => Part::DataType(self.data_type()?),
        })
    }

    /// The next token is not what a rule expects; false.
    fn failed(&mut self) -> bool {
        let is_further = self.furthest.as_ref().is_none_or(|failure| failure.at < self.at);
        if is_further {
            self.furthest = Some(Failure { at: self.at, error: self.unexpected() });
        }
        false
    }

    /// As [`Parser::failed`], with an error from further within.
    fn failed_with(&mut self, error: Error) -> bool {
        let at = self.index_of(error.span).max(self.at);
        let is_further = self.furthest.as_ref().is_none_or(|failure| failure.at < at);
        if is_further {
            self.furthest = Some(Failure { at, error });
        }
        false
    }
}
