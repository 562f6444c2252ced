//! DBCC, CHECKPOINT, RECONFIGURE, SHUTDOWN, LINENO.

use super::{Parsed, Parser};
use crate::syntax::{
    Checkpoint, Column, ColumnName, Dbcc, DbccOption, Expr, ExprKind, LineNo, Reconfigure,
    Shutdown, StatementKind,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `DBCC command [ ( argument , … ) ] [ WITH option , … ]`
    pub(super) fn dbcc(&mut self) -> Parsed<StatementKind> {
        self.expect("DBCC")?;
        let command = self.any_word()?;
        let has_arguments = self.is_kind(TokenKind::LeftParen);
        let arguments = self.when(has_arguments, Parser::dbcc_arguments)?;
        let mut options = Vec::new();
        if self.accept("WITH") {
            options = self.list(Parser::dbcc_option)?;
        }
        Ok(StatementKind::Dbcc(Box::new(Dbcc { command, arguments, options })))
    }

    fn dbcc_arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect_kind(TokenKind::LeftParen)?;
        if self.accept_kind(TokenKind::RightParen) {
            return Ok(Vec::new());
        }
        let arguments = self.list(Parser::dbcc_argument)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(arguments)
    }

    /// A literal with its sign, a variable, or a name.
    fn dbcc_argument(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is_name() && self.kind_at(1) == TokenKind::Dot {
            return self.expression();
        }
        let is_word = self.is_kind(TokenKind::Reserved) && !self.is("NULL");
        if self.is_name() || is_word {
            let column = Column::Named(self.any_word()?);
            let kind = ExprKind::Column(Box::new(ColumnName { qualifier: None, column }));
            return Ok(Expr { kind, span: self.since(start) });
        }
        self.simple_value()
    }

    fn dbcc_option(&mut self) -> Parsed<DbccOption> {
        let start = self.span();
        let name = self.any_word()?;
        let has_value = self.accept_kind(TokenKind::Equal);
        let value = self.when(has_value, Parser::dbcc_argument)?;
        Ok(DbccOption { name, value, span: self.since(start) })
    }

    pub(super) fn checkpoint(&mut self) -> Parsed<StatementKind> {
        self.expect("CHECKPOINT")?;
        let has_duration = matches!(self.kind(), TokenKind::Integer | TokenKind::Variable);
        let duration = self.when(has_duration, Parser::simple_value)?;
        Ok(StatementKind::Checkpoint(Checkpoint { duration }))
    }

    pub(super) fn shutdown(&mut self) -> Parsed<StatementKind> {
        self.expect("SHUTDOWN")?;
        let is_nowait = self.accept_all(&["WITH", "NOWAIT"]);
        Ok(StatementKind::Shutdown(Shutdown { is_nowait }))
    }

    pub(super) fn reconfigure(&mut self) -> Parsed<StatementKind> {
        self.expect("RECONFIGURE")?;
        let is_override = self.accept_all(&["WITH", "OVERRIDE"]);
        Ok(StatementKind::Reconfigure(Reconfigure { is_override }))
    }

    pub(super) fn line_no(&mut self) -> Parsed<StatementKind> {
        self.expect("LINENO")?;
        Ok(StatementKind::LineNo(LineNo { number: self.simple_value()? }))
    }
}
