//! `MATCH ( … )` of graph tables.

use super::{Parsed, Parser};
use crate::syntax::{
    ConditionKind, GraphMatch, GraphNode, GraphPath, GraphPattern, GraphStep, Name,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `MATCH ( pattern [ AND pattern ] … )`
    pub(super) fn graph_match(&mut self) -> Parsed<ConditionKind> {
        self.expect("MATCH")?;
        let patterns = self.parenthesised(|parser| {
            let mut patterns = vec![parser.graph_pattern()?];
            while parser.accept("AND") {
                patterns.push(parser.graph_pattern()?);
            }
            Ok(patterns)
        })?;
        Ok(ConditionKind::Match(Box::new(GraphMatch { patterns })))
    }

    fn graph_pattern(&mut self) -> Parsed<GraphPattern> {
        if self.is("SHORTEST_PATH") && self.kind_at(1) == TokenKind::LeftParen {
            self.at += 1;
            return self.parenthesised(Parser::graph_path).map(GraphPattern::ShortestPath);
        }
        let is_last_node = self.is("LAST_NODE") && self.kind_at(1) == TokenKind::LeftParen;
        if is_last_node && self.kind_at(4) == TokenKind::Equal {
            let left = self.last_node()?;
            self.expect_kind(TokenKind::Equal)?;
            return Ok(GraphPattern::SameLastNode { left, right: self.last_node()? });
        }
        self.graph_path().map(GraphPattern::Path)
    }

    fn last_node(&mut self) -> Parsed<Name> {
        self.expect("LAST_NODE")?;
        self.parenthesised(Parser::name)
    }

    fn graph_node(&mut self) -> Parsed<GraphNode> {
        let is_last_node = self.is("LAST_NODE") && self.kind_at(1) == TokenKind::LeftParen;
        let name = if is_last_node { self.last_node()? } else { self.name()? };
        Ok(GraphNode { name, is_last_node })
    }

    /// `node step … | ( steps ) + node`
    fn graph_path(&mut self) -> Parsed<GraphPath> {
        let mut steps = Vec::new();
        if self.is_kind(TokenKind::LeftParen) {
            steps.push(self.repeated()?);
            let node = self.graph_node()?;
            return Ok(GraphPath { start: node, steps });
        }
        let start = self.graph_node()?;
        while let Some(step) = self.graph_step()? {
            steps.push(step);
        }
        if steps.is_empty() {
            return Err(self.unexpected());
        }
        Ok(GraphPath { start, steps })
    }

    fn graph_step(&mut self) -> Parsed<Option<GraphStep>> {
        if self.is_kind(TokenKind::LeftParen) {
            return self.repeated().map(Some);
        }
        if !matches!(self.kind(), TokenKind::Minus | TokenKind::Less) {
            return Ok(None);
        }
        let (edge, is_reversed) = self.edge()?;
        let node = Some(self.graph_node()?);
        Ok(Some(GraphStep::Edge { edge, is_reversed, node }))
    }

    /// `-( edge )-> | <-( edge )-`
    fn edge(&mut self) -> Parsed<(Name, bool)> {
        let is_reversed = self.accept_kind(TokenKind::Less);
        self.expect_kind(TokenKind::Minus)?;
        let edge = self.parenthesised(Parser::name)?;
        self.expect_kind(TokenKind::Minus)?;
        if !is_reversed {
            self.expect_kind(TokenKind::Greater)?;
        }
        Ok((edge, is_reversed))
    }

    /// `( [ node ] step … ) { + | { low , high } }`; the last step may have no node when the group
    /// begins with one.
    fn repeated(&mut self) -> Parsed<GraphStep> {
        self.expect_kind(TokenKind::LeftParen)?;
        let has_start = self.is_name();
        let start = self.when(has_start, Parser::name)?;
        let mut steps = Vec::new();
        while !self.is_kind(TokenKind::RightParen) {
            steps.push(self.repeated_step(has_start)?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        if steps.is_empty() {
            return Err(self.unexpected());
        }
        let limits = self.limits()?;
        Ok(GraphStep::Repeated { start, steps, limits })
    }

    fn repeated_step(&mut self, has_start: bool) -> Parsed<GraphStep> {
        let (edge, is_reversed) = self.edge()?;
        let has_node = !(has_start && self.is_kind(TokenKind::RightParen));
        let node = self.when(has_node, Parser::graph_node)?;
        Ok(GraphStep::Edge { edge, is_reversed, node })
    }

    /// `+ | { low , high }`
    fn limits(&mut self) -> Parsed<Option<(u32, u32)>> {
        if self.accept_kind(TokenKind::Plus) {
            return Ok(None);
        }
        self.expect_kind(TokenKind::LeftBrace)?;
        let low = self.integer()?;
        self.expect_kind(TokenKind::Comma)?;
        let high = self.integer()?;
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(Some((low, high)))
    }
}
