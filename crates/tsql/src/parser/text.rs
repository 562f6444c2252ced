//! READTEXT, WRITETEXT, UPDATETEXT.

use super::{Parsed, Parser};
use crate::syntax::{
    Expr, ExprKind, ReadText, StatementKind, TextSource, UnaryOperator, UpdateText, WriteText,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// A literal, with a sign or not, or a variable.
    pub(super) fn simple_value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.accept_kind(TokenKind::Minus) {
            let kind = ExprKind::Literal(self.expect_literal()?);
            let operand = Box::new(Expr { kind, span: self.since(start) });
            let kind = ExprKind::Unary { operator: UnaryOperator::Minus, operand };
            return Ok(Expr { kind, span: self.since(start) });
        }
        self.accept_kind(TokenKind::Plus);
        if let Some(literal) = self.literal()? {
            return Ok(Expr { kind: ExprKind::Literal(literal), span: self.since(start) });
        }
        match self.kind() {
            TokenKind::Variable | TokenKind::GlobalVariable => self.primary(),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn read_text(&mut self) -> Parsed<StatementKind> {
        self.expect("READTEXT")?;
        let read = ReadText {
            column: self.column_name()?,
            pointer: self.simple_value()?,
            offset: self.simple_value()?,
            size: self.simple_value()?,
            is_holdlock: self.accept("HOLDLOCK"),
        };
        Ok(StatementKind::ReadText(Box::new(read)))
    }

    pub(super) fn write_text(&mut self) -> Parsed<StatementKind> {
        self.expect("WRITETEXT")?;
        let is_bulk = self.accept("BULK");
        let column = self.column_name()?;
        let pointer = self.simple_value()?;
        let with_log = self.accept_all(&["WITH", "LOG"]);
        let data = self.when(!is_bulk, Parser::simple_value)?;
        let write = WriteText { is_bulk, column, pointer, with_log, data };
        Ok(StatementKind::WriteText(Box::new(write)))
    }

    pub(super) fn update_text(&mut self) -> Parsed<StatementKind> {
        self.expect("UPDATETEXT")?;
        let is_bulk = self.accept("BULK");
        let column = self.column_name()?;
        let pointer = self.simple_value()?;
        let offset = self.simple_value()?;
        let length = self.simple_value()?;
        let with_log = self.accept_all(&["WITH", "LOG"]);
        let data = self.text_source()?;
        let update = UpdateText { is_bulk, column, pointer, offset, length, with_log, data };
        Ok(StatementKind::UpdateText(Box::new(update)))
    }

    fn text_source(&mut self) -> Parsed<Option<TextSource>> {
        if self.is_name() && self.kind_at(1) == TokenKind::Dot {
            let column = self.column_name()?;
            return Ok(Some(TextSource::Column { column, pointer: self.simple_value()? }));
        }
        let is_value = self.is_string()
            || self.is("NULL")
            || matches!(self.kind(), TokenKind::Variable | TokenKind::Binary);
        Ok(self.when(is_value, Parser::simple_value)?.map(TextSource::Value))
    }
}
