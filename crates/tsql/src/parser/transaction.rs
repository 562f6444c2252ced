//! Transactions.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{
    BeginTransaction, Commit, NameOrVariable, Rollback, SaveTransaction, StatementKind,
};
use crate::token::TokenKind;

/// Characters of a transaction's name.
const MAX_NAME: u32 = 32;

impl Parser<'_> {
    pub(super) fn begin_transaction(&mut self) -> Parsed<StatementKind> {
        self.expect("BEGIN")?;
        let is_distributed = self.accept("DISTRIBUTED");
        self.transaction_word()?;
        let name = self.transaction_name()?;
        let has_mark = name.is_some() && self.accept_all(&["WITH", "MARK"]);
        let mark = self.when(has_mark, |parser| {
            let has_text = parser.is_string();
            parser.when(has_text, Parser::string)
        })?;
        let begin = BeginTransaction { is_distributed, name, mark };
        Ok(StatementKind::BeginTransaction(Box::new(begin)))
    }

    fn transaction_word(&mut self) -> Parsed<()> {
        self.expect_choice(&[("TRAN", ()), ("TRANSACTION", ())])
    }

    /// The name of a transaction, if one follows; a word that begins a statement is none.
    fn transaction_name(&mut self) -> Parsed<Option<NameOrVariable>> {
        let is_name = self.is_kind(TokenKind::Variable)
            || (self.is_name() && self.kind_at(1) != TokenKind::Colon && !self.is_word_statement());
        let name = self.when(is_name, Parser::name_or_variable)?;
        if let Some(NameOrVariable::Name(name)) = &name
            && name.text.encode_utf16().count() > MAX_NAME as usize
        {
            let start: String = name.text.chars().take(MAX_NAME as usize).collect();
            let cause = Cause::NameTooLong { start: start.into(), limit: MAX_NAME };
            return Err(crate::Error { cause, span: name.span });
        }
        Ok(name)
    }

    /// `COMMIT [ TRAN [ name ] | WORK ] [ WITH ( DELAYED_DURABILITY = … ) ]`
    pub(super) fn commit(&mut self) -> Parsed<StatementKind> {
        self.expect("COMMIT")?;
        let name = self.end_name()?;
        let has_option = self.is("WITH") && self.kind_at(1) == TokenKind::LeftParen;
        self.at += usize::from(has_option);
        let delayed_durability = self.when(has_option, |parser| {
            parser.parenthesised(|parser| {
                parser.expect("DELAYED_DURABILITY")?;
                parser.expect_kind(TokenKind::Equal)?;
                parser.on_or_off()
            })
        })?;
        Ok(StatementKind::Commit(Commit { name, delayed_durability }))
    }

    pub(super) fn rollback(&mut self) -> Parsed<StatementKind> {
        self.expect("ROLLBACK")?;
        Ok(StatementKind::Rollback(Rollback { name: self.end_name()? }))
    }

    /// `[ TRAN [ name ] | WORK ]`
    fn end_name(&mut self) -> Parsed<Option<NameOrVariable>> {
        if self.accept("WORK") || self.choose(&[("TRAN", ()), ("TRANSACTION", ())]).is_none() {
            return Ok(None);
        }
        self.transaction_name()
    }

    pub(super) fn save_transaction(&mut self) -> Parsed<StatementKind> {
        self.expect("SAVE")?;
        self.transaction_word()?;
        let Some(name) = self.transaction_name()? else { return Err(self.unexpected()) };
        Ok(StatementKind::SaveTransaction(SaveTransaction { name }))
    }
}
