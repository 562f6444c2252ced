//! DECLARE.

use super::{Parsed, Parser};
use crate::syntax::{Declaration, DeclarationKind, Declare, StatementKind};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `DECLARE …` of variables, or of a cursor.
    pub(super) fn declare(&mut self) -> Parsed<StatementKind> {
        if self.is_name_at(1) {
            return self.declare_cursor();
        }
        self.expect("DECLARE")?;
        let declarations = self.list(Parser::declaration)?;
        Ok(StatementKind::Declare(Declare { declarations }))
    }

    fn declaration(&mut self) -> Parsed<Declaration> {
        let start = self.span();
        let name = self.variable()?;
        self.accept("AS");
        let kind = if self.accept("CURSOR") {
            DeclarationKind::Cursor
        } else if self.accept("TABLE") {
            DeclarationKind::Table(self.table_elements()?)
        } else {
            let data_type = self.data_type()?;
            let is_nullable = self.nullability()?;
            let has_value = self.accept_kind(TokenKind::Equal);
            let value = self.when(has_value, Parser::expression)?;
            DeclarationKind::Scalar { data_type, is_nullable, value }
        };
        Ok(Declaration { name, kind, span: self.since(start) })
    }
}
