//! SELECT: its list and its clauses.

use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax::{
    AssignOperator, Assignment, BinaryOperator, Expr, ExprKind, GroupBy, GroupItem, GroupWith,
    Into, Literal, NamedWindow, Select, SelectItem, Top,
};
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Parsed<Select> {
        let start = self.span();
        self.expect("SELECT")?;
        let is_distinct = self.choose(&[("DISTINCT", true), ("ALL", false)]).unwrap_or(false);
        let top = self.top(TopForm::Query)?;
        let items = self.list(Parser::select_item)?;
        let has_into = self.accept("INTO");
        let into = self.when(has_into, Parser::select_into)?;
        let from = self.table_sources()?;
        let has_where = self.accept("WHERE");
        let filter = self.when(has_where, Parser::condition)?;
        let has_group = self.is("GROUP");
        let group_by = self.when(has_group, Parser::group_by)?;
        let has_having = self.accept("HAVING");
        let having = self.when(has_having, Parser::condition)?;
        let windows = self.windows()?;
        let span = self.since(start);
        Ok(Select {
            is_distinct,
            top,
            items,
            into,
            from,
            filter,
            group_by,
            having,
            windows,
            span,
        })
    }

    /// `[ TOP … ]`
    pub(super) fn top(&mut self, form: TopForm) -> Parsed<Option<Top>> {
        if !self.accept("TOP") {
            return Ok(None);
        }
        let count = if self.is_kind(TokenKind::LeftParen) {
            self.parenthesised_value()?
        } else {
            self.bare_top()?
        };
        let is_percent = self.accept("PERCENT");
        let with_ties = form == TopForm::Query && self.accept_all(&["WITH", "TIES"]);
        Ok(Some(Top { count, is_percent, with_ties }))
    }

    /// A number without parentheses.
    fn bare_top(&mut self) -> Parsed<Expr> {
        let start = self.span();
        match self.literal()? {
            Some(
                literal @ (Literal::Integer(_)
                | Literal::Decimal(_)
                | Literal::Float(_)
                | Literal::Money(_)),
            ) => Ok(Expr { kind: ExprKind::Literal(literal), span: start }),
            _ => {
                self.at = self.index_of(start);
                Err(self.unexpected())
            }
        }
    }

    pub(super) fn select_item(&mut self) -> Parsed<SelectItem> {
        let start = self.span();
        if self.accept_kind(TokenKind::Star) {
            return Ok(SelectItem::Star { qualifier: None, span: start });
        }
        if self.is_star_after_names() {
            let qualifier = Some(self.qualified_star()?);
            return Ok(SelectItem::Star { qualifier, span: self.since(start) });
        }
        if self.is_kind(TokenKind::Variable) && self.is_assignment_at(1) {
            return self.assignment().map(SelectItem::Assign);
        }
        let is_alias = self.is_name() || self.is_string();
        if is_alias && self.kind_at(1) == TokenKind::Equal {
            let alias = self.name_or_string()?;
            self.expect_kind(TokenKind::Equal)?;
            return Ok(SelectItem::Value { value: self.expression()?, alias: Some(alias) });
        }
        let value = self.expression()?;
        let has_as = self.accept("AS");
        let has_alias = has_as || self.is_alias() || self.is_string();
        let alias = self.when(has_alias, Parser::name_or_string)?;
        Ok(SelectItem::Value { value, alias })
    }

    /// True when an assignment's operator is `ahead`.
    pub(super) fn is_assignment_at(&self, ahead: usize) -> bool {
        self.kind_at(ahead) == TokenKind::Equal
            || compound(self.kind_at(ahead)).is_some()
            || (split_compound(self.kind_at(ahead)).is_some()
                && self.kind_at(ahead + 1) == TokenKind::Equal)
    }

    /// `@variable operator value`
    pub(super) fn assignment(&mut self) -> Parsed<Assignment> {
        let variable = self.variable()?;
        let operator = self.assign_operator()?;
        Ok(Assignment { variable, operator, value: self.expression()? })
    }

    /// `=`, or an operator with `=`; blanks may stand between them.
    pub(super) fn assign_operator(&mut self) -> Parsed<AssignOperator> {
        if self.accept_kind(TokenKind::Equal) {
            return Ok(AssignOperator::Set);
        }
        if let Some(operator) = compound(self.kind()) {
            self.at += 1;
            return Ok(AssignOperator::Compound(operator));
        }
        let operator = split_compound(self.kind()).ok_or_else(|| self.unexpected())?;
        self.at += 1;
        self.expect_kind(TokenKind::Equal)?;
        Ok(AssignOperator::Compound(operator))
    }

    fn select_into(&mut self) -> Parsed<Into> {
        let table = self.object_name()?;
        let has_filegroup = self.accept("ON");
        let filegroup = self.when(has_filegroup, Parser::name_or_string)?;
        Ok(Into { table, filegroup })
    }

    /// `GROUP BY [ ALL ] item , … [ WITH … ]`
    fn group_by(&mut self) -> Parsed<GroupBy> {
        self.expect_all(&["GROUP", "BY"])?;
        let is_all = self.accept("ALL");
        let items = self.list(Parser::group_item)?;
        let with = if self.accept_all(&["WITH", "CUBE"]) {
            Some(GroupWith::Cube)
        } else if self.accept_all(&["WITH", "ROLLUP"]) {
            Some(GroupWith::Rollup)
        } else {
            None
        };
        Ok(GroupBy { is_all, items, with })
    }

    fn group_item(&mut self) -> Parsed<GroupItem> {
        let has_list = self.kind_at(1) == TokenKind::LeftParen;
        if self.is("ROLLUP") && has_list {
            self.at += 1;
            return self.parenthesised_list(Parser::composite_item).map(GroupItem::Rollup);
        }
        if self.is("CUBE") && has_list {
            self.at += 1;
            return self.parenthesised_list(Parser::composite_item).map(GroupItem::Cube);
        }
        if self.accept_all(&["GROUPING", "SETS"]) {
            return self
                .nested(|parser| parser.parenthesised_list(Parser::grouping_set))
                .map(GroupItem::GroupingSets);
        }
        if self.is_kind(TokenKind::LeftParen) && self.kind_at(1) == TokenKind::RightParen {
            self.at += 2;
            return Ok(GroupItem::Composite(Vec::new()));
        }
        self.expression().map(GroupItem::Value)
    }

    fn grouping_set(&mut self) -> Parsed<GroupItem> {
        if self.is_any(&["ROLLUP", "CUBE", "GROUPING"])
            || (self.is_kind(TokenKind::LeftParen) && self.kind_at(1) == TokenKind::RightParen)
        {
            return self.group_item();
        }
        self.composite_item()
    }

    /// `( value , value … )`, or a value.
    fn composite_item(&mut self) -> Parsed<GroupItem> {
        if !self.is_composite() {
            return self.expression().map(GroupItem::Value);
        }
        let values = self.parenthesised_list(Parser::expression)?;
        Ok(GroupItem::Composite(values))
    }

    /// True when the matching parenthesis of the next one ends the item.
    fn is_composite(&self) -> bool {
        if !self.is_kind(TokenKind::LeftParen) {
            return false;
        }
        let mut depth = 0usize;
        for ahead in 0.. {
            match self.kind_at(ahead) {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen if depth == 1 => {
                    let next = self.kind_at(ahead + 1);
                    return matches!(next, TokenKind::Comma | TokenKind::RightParen);
                }
                TokenKind::RightParen => depth -= 1,
                TokenKind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// `WINDOW name AS ( … ) , …`
    fn windows(&mut self) -> Parsed<Vec<NamedWindow>> {
        if !self.is_window_clause() {
            return Ok(Vec::new());
        }
        self.at += 1;
        self.list(|parser| {
            let name = parser.name()?;
            parser.expect("AS")?;
            let window = parser.parenthesised(Parser::window)?;
            Ok(NamedWindow { name, window })
        })
    }

    /// `WINDOW` is a name unless a window follows.
    pub(super) fn is_window_clause(&self) -> bool {
        self.is("WINDOW")
            && self.is_name_at(1)
            && self.is_word_at(2, "AS")
            && self.kind_at(3) == TokenKind::LeftParen
    }

    /// `value , …` of VALUES, in parentheses
    pub(super) fn value_row(&mut self) -> Parsed<Vec<Expr>> {
        self.parenthesised_list(Parser::expression_or_default)
    }

    /// The span of a part of the text from `start` on, and the part itself.
    pub(super) fn with_source<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<(T, Span)> {
        let start = self.span();
        let parsed = parse(self)?;
        Ok((parsed, self.since(start)))
    }
}

/// Where TOP stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopForm {
    /// In SELECT, where WITH TIES may follow.
    Query,
    Dml,
}

fn compound(kind: TokenKind) -> Option<BinaryOperator> {
    Some(match kind {
        TokenKind::PlusEqual => BinaryOperator::Add,
        TokenKind::MinusEqual => BinaryOperator::Subtract,
        TokenKind::StarEqual => BinaryOperator::Multiply,
        TokenKind::SlashEqual => BinaryOperator::Divide,
        TokenKind::PercentEqual => BinaryOperator::Modulo,
        TokenKind::AmpersandEqual => BinaryOperator::BitAnd,
        TokenKind::PipeEqual => BinaryOperator::BitOr,
        TokenKind::CaretEqual => BinaryOperator::BitXor,
        _ => return None,
    })
}

/// The operator of `+ =`.
fn split_compound(kind: TokenKind) -> Option<BinaryOperator> {
    Some(match kind {
        TokenKind::Plus => BinaryOperator::Add,
        TokenKind::Minus => BinaryOperator::Subtract,
        TokenKind::Star => BinaryOperator::Multiply,
        TokenKind::Slash => BinaryOperator::Divide,
        TokenKind::Percent => BinaryOperator::Modulo,
        TokenKind::Ampersand => BinaryOperator::BitAnd,
        TokenKind::Pipe => BinaryOperator::BitOr,
        TokenKind::Caret => BinaryOperator::BitXor,
        _ => return None,
    })
}
