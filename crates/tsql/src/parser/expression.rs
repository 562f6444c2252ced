//! Values: operators by precedence, and what they stand between.
//!
//! ```text
//! level   operators
//! 3       COLLATE, AT TIME ZONE, .method       after a value
//! 2       ~                                    before a value
//! 1       * / %
//! 0       + - & ^ | << >>, and + - before a product
//! ```
//!
//! A sign binds weaker than a product: `8 / -2 * 4` is `8 / -(2 * 4)`, which is -1.

use super::function::PSEUDO_COLUMNS;
use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax::{
    BinaryOperator, Column, ColumnName, Expr, ExprKind, Link, MethodCall, Name, ObjectName,
    SearchedArm, SearchedCase, SimpleArm, SimpleCase, StaticMember, UnaryOperator,
};
use crate::token::TokenKind;

/// Pseudo columns between two pairs of percent signs.
const PHYSICAL: [&str; 5] = ["physloc", "lockres", "rownodeid", "lobid", "lobstate"];

impl Parser<'_> {
    /// A value.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(|parser| {
            let first = parser.product()?;
            parser.sum_after(first)
        })
    }

    /// The operators of the lowest level after a value, if there are any.
    pub(super) fn sum_after(&mut self, first: Expr) -> Parsed<Expr> {
        self.chain(first, sum_operator, Parser::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let operator = match self.kind() {
            TokenKind::Minus => UnaryOperator::Minus,
            TokenKind::Plus => UnaryOperator::Plus,
            _ => {
                let first = self.factor()?;
                return self.product_after(first);
            }
        };
        self.at += 1;
        let operand = self.nested(Parser::product)?;
        Ok(self.unary(operator, operand, start))
    }

    /// The operators of products after a value, if there are any.
    pub(super) fn product_after(&mut self, first: Expr) -> Parsed<Expr> {
        self.chain(first, product_operator, Parser::signed_factor)
    }

    /// A factor; a sign before it takes the rest of the product.
    fn signed_factor(&mut self) -> Parsed<Expr> {
        if matches!(self.kind(), TokenKind::Minus | TokenKind::Plus) {
            return self.product();
        }
        self.factor()
    }

    fn unary(&self, operator: UnaryOperator, operand: Expr, start: Span) -> Expr {
        let kind = ExprKind::Unary { operator, operand: Box::new(operand) };
        Expr { kind, span: self.since(start) }
    }

    /// Operators of one level from left to right.
    fn chain(
        &mut self,
        first: Expr,
        operator: fn(TokenKind) -> Option<BinaryOperator>,
        operand: fn(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let start = first.span;
        let mut rest = Vec::new();
        while let Some(operator) = operator(self.kind()) {
            let span = self.take().span;
            rest.push(Link { operator, operand: operand(self)?, span });
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let kind = ExprKind::Chain { first: Box::new(first), rest };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn factor(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.accept_kind(TokenKind::Tilde) {
            let operand = self.nested(Parser::signed_factor)?;
            return Ok(self.unary(UnaryOperator::BitNot, operand, start));
        }
        let value = self.primary()?;
        self.postfix_after(value)
    }

    /// COLLATE, AT TIME ZONE and members after a value, if there are any.
    pub(super) fn postfix_after(&mut self, mut value: Expr) -> Parsed<Expr> {
        let mut length = 0;
        loop {
            let start = value.span;
            let operand = Box::new(value);
            let kind = if self.accept("COLLATE") {
                ExprKind::Collate { operand, collation: self.name()? }
            } else if self.accept_all(&["AT", "TIME", "ZONE"]) {
                ExprKind::AtTimeZone { operand, zone: Box::new(self.primary()?) }
            } else if self.is_kind(TokenKind::Dot) && self.is_word_like_at(1) {
                self.at += 1;
                ExprKind::Method(Box::new(self.method(*operand)?))
            } else {
                return Ok(*operand);
            };
            value = Expr { kind, span: self.since(start) };
            length += 1;
            self.verify_chain(length)?;
        }
    }

    fn is_word_like_at(&self, ahead: usize) -> bool {
        self.is_name_at(ahead) || self.kind_at(ahead) == TokenKind::Reserved
    }

    /// `name [ ( arguments ) ]` after a value and a point.
    fn method(&mut self, operand: Expr) -> Parsed<MethodCall> {
        let name = self.any_word()?;
        let has_arguments = self.is_kind(TokenKind::LeftParen);
        let arguments = self.when(has_arguments, Parser::arguments)?;
        Ok(MethodCall { operand, name, arguments })
    }

    /// `( [ argument , … ] )`
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.list(Parser::expression_or_default)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    pub(super) fn expression_or_default(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.accept("DEFAULT") {
            return Ok(Expr { kind: ExprKind::Default, span: start });
        }
        self.expression()
    }

    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if let Some(literal) = self.literal()? {
            return Ok(Expr { kind: ExprKind::Literal(literal), span: start });
        }
        let kind = match self.kind() {
            TokenKind::LeftParen => return self.parenthesised_value(),
            TokenKind::Variable => ExprKind::Variable(self.variable()?.text),
            TokenKind::GlobalVariable => ExprKind::GlobalVariable(self.take_text()),
            TokenKind::DollarWord => self.dollar_word()?,
            TokenKind::LeftBrace => self.odbc_escape()?,
            TokenKind::Percent => self.physical_column()?,
            TokenKind::Reserved => self.reserved_function()?,
            _ => self.named_value()?,
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn take_text(&mut self) -> Box<str> {
        self.take().span.of(self.text).into()
    }

    /// `( query )` or a value in parentheses.
    pub(super) fn parenthesised_value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.expect_kind(TokenKind::LeftParen)?;
        let mut value = if self.is("SELECT") {
            let query = Box::new(self.nested(Parser::query)?);
            Expr { kind: ExprKind::Subquery(query), span: start }
        } else {
            self.expression()?
        };
        if let ExprKind::Subquery(query) = value.kind {
            let query = Box::new(self.query_after_if_set(*query)?);
            value = Expr { kind: ExprKind::Subquery(query), span: start };
        }
        self.expect_kind(TokenKind::RightParen)?;
        value.span = if matches!(value.kind, ExprKind::Subquery(_)) {
            self.since(start)
        } else {
            value.span
        };
        Ok(value)
    }

    /// `%%physloc%%`
    fn physical_column(&mut self) -> Parsed<ExprKind> {
        self.expect_kind(TokenKind::Percent)?;
        self.expect_kind(TokenKind::Percent)?;
        let word = self.word();
        if !PHYSICAL.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            return Err(self.unexpected());
        }
        self.at += 1;
        self.expect_kind(TokenKind::Percent)?;
        self.expect_kind(TokenKind::Percent)?;
        let column = Column::Pseudo(format!("%%{}%%", word.to_ascii_lowercase()).into());
        Ok(ExprKind::Column(Box::new(ColumnName { qualifier: None, column })))
    }

    /// A column, function or static member that begins with a name.
    fn named_value(&mut self) -> Parsed<ExprKind> {
        if let Some(kind) = self.special_function()? {
            return Ok(kind);
        }
        let start = self.span();
        let mut parts = self.dotted_parts()?;
        if parts.len() == 1 && self.is_partition_at(1) {
            self.at += 2;
            self.expect_kind(TokenKind::Dot)?;
            return self.partition_function(parts.pop().flatten());
        }
        let pseudo = if self.is_kind(TokenKind::Dot) { self.pseudo_column() } else { None };
        if let Some(column) = pseudo {
            return Ok(self.qualified_column(parts, column, start));
        }
        let Some(Some(last)) = parts.pop() else { return Err(self.unexpected()) };
        if self.is_kind(TokenKind::LeftParen) && parts.len() < 4 {
            let name = self.qualified(parts, last, start);
            return self.function_call(name).map(|call| ExprKind::Function(Box::new(call)));
        }
        if self.accept_kind(TokenKind::DoubleColon) {
            let data_type = self.qualified(parts, last, start);
            return self.static_member(data_type);
        }
        Ok(self.qualified_column(parts, Column::Named(last), start))
    }

    /// `name . [ name ] . name …`, at most five; before a pseudo column it ends.
    pub(super) fn dotted_parts(&mut self) -> Parsed<Vec<Option<Name>>> {
        let mut parts = vec![Some(self.name()?)];
        while parts.len() < 5 && self.is_kind(TokenKind::Dot) {
            let ahead = self.kind_at(1);
            if self.is_name_at(1) {
                self.at += 1;
                parts.push(Some(self.name()?));
            } else if ahead == TokenKind::Dot {
                self.at += 1;
                parts.push(None);
            } else {
                break;
            }
        }
        if matches!(parts.last(), Some(None)) {
            return Err(self.unexpected());
        }
        Ok(parts)
    }

    fn qualified_column(
        &self,
        mut parts: Vec<Option<Name>>,
        column: Column,
        start: Span,
    ) -> ExprKind {
        let qualifier = parts.pop().flatten().map(|name| self.qualified(parts, name, start));
        ExprKind::Column(Box::new(ColumnName { qualifier, column }))
    }

    /// True when `$PARTITION` is `ahead`.
    fn is_partition_at(&self, ahead: usize) -> bool {
        let text = self.token(ahead).span.of(self.text);
        self.kind_at(ahead) == TokenKind::DollarWord && text.eq_ignore_ascii_case("$partition")
    }

    /// The pseudo column after a point; `None` when there is another token.
    fn pseudo_column(&mut self) -> Option<Column> {
        let text = self.token(1).span.of(self.text);
        let is_pseudo = PSEUDO_COLUMNS.iter().any(|known| known.eq_ignore_ascii_case(text))
            || self.is_word_at(1, "IDENTITYCOL")
            || self.is_word_at(1, "ROWGUIDCOL");
        if !is_pseudo {
            return None;
        }
        self.at += 1;
        let word = self.take_text().to_ascii_lowercase();
        Some(Column::Pseudo(word.into()))
    }

    /// `name [ ( arguments ) ]` after a type and `::`
    fn static_member(&mut self, data_type: ObjectName) -> Parsed<ExprKind> {
        let name = self.any_word()?;
        let has_arguments = self.is_kind(TokenKind::LeftParen);
        let arguments = self.when(has_arguments, Parser::arguments)?;
        Ok(ExprKind::StaticMember(Box::new(StaticMember { data_type, name, arguments })))
    }

    /// `[ qualifier. ] column` alone, as in lists of columns.
    pub(super) fn column_name(&mut self) -> Parsed<ColumnName> {
        let start = self.span();
        let value = self.primary()?;
        match value.kind {
            ExprKind::Column(column) => Ok(*column),
            _ => {
                self.at = self.index_of(start);
                Err(self.unexpected_at(usize::from(self.is_name())))
            }
        }
    }

    /// Index of the token that begins at `start`.
    pub(super) fn index_of(&self, start: Span) -> usize {
        self.tokens.partition_point(|token| token.span.start < start.start)
    }

    /// `CASE … END`, after CASE.
    pub(super) fn case(&mut self) -> Parsed<ExprKind> {
        if self.is("WHEN") {
            return self.searched_case();
        }
        let operand = self.expression()?;
        let mut arms = Vec::new();
        while self.accept("WHEN") {
            let value = self.expression()?;
            self.expect("THEN")?;
            arms.push(SimpleArm { value, result: self.expression()? });
        }
        if arms.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = self.case_end()?;
        Ok(ExprKind::SimpleCase(Box::new(SimpleCase { operand, arms, otherwise })))
    }

    fn searched_case(&mut self) -> Parsed<ExprKind> {
        let mut arms = Vec::new();
        while self.accept("WHEN") {
            let condition = self.condition()?;
            self.expect("THEN")?;
            arms.push(SearchedArm { condition, result: self.expression()? });
        }
        let otherwise = self.case_end()?;
        Ok(ExprKind::SearchedCase(Box::new(SearchedCase { arms, otherwise })))
    }

    fn case_end(&mut self) -> Parsed<Option<Expr>> {
        let has_else = self.accept("ELSE");
        let otherwise = self.when(has_else, Parser::expression)?;
        self.expect("END")?;
        Ok(otherwise)
    }
}

fn sum_operator(kind: TokenKind) -> Option<BinaryOperator> {
    Some(match kind {
        TokenKind::Plus => BinaryOperator::Add,
        TokenKind::Minus => BinaryOperator::Subtract,
        TokenKind::Ampersand => BinaryOperator::BitAnd,
        TokenKind::Pipe => BinaryOperator::BitOr,
        TokenKind::Caret => BinaryOperator::BitXor,
        TokenKind::ShiftLeft => BinaryOperator::ShiftLeft,
        TokenKind::ShiftRight => BinaryOperator::ShiftRight,
        _ => return None,
    })
}

fn product_operator(kind: TokenKind) -> Option<BinaryOperator> {
    Some(match kind {
        TokenKind::Star => BinaryOperator::Multiply,
        TokenKind::Slash => BinaryOperator::Divide,
        TokenKind::Percent => BinaryOperator::Modulo,
        _ => return None,
    })
}
