//! Control flow, messages, waits.

use super::{Body, Parsed, Parser};
use crate::error::{Cause, Error};
use crate::syntax::{
    Atomic, Branch, Goto, If, Print, RaiseError, Return, Statement, StatementKind, Throw,
    ThrownError, TryCatch, WaitFor, While,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// IF with all its ELSE IF.
    pub(super) fn if_statement(&mut self) -> Parsed<StatementKind> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            branches.push(self.branch()?);
            if !self.accept_else() {
                break;
            }
            if !self.is("IF") {
                otherwise = Some(Box::new(self.body_statement()?));
                break;
            }
        }
        Ok(StatementKind::If(If { branches, otherwise }))
    }

    fn branch(&mut self) -> Parsed<Branch> {
        let start = self.span();
        self.expect("IF")?;
        let condition = self.condition()?;
        let span = self.since(start);
        Ok(Branch { condition, statement: self.body_statement()?, span })
    }

    /// ELSE, after the semicolon of the statement before it.
    fn accept_else(&mut self) -> bool {
        let has_semicolon = self.is_kind(TokenKind::Semicolon) && self.is_word_at(1, "ELSE");
        self.at += usize::from(has_semicolon);
        self.accept("ELSE")
    }

    /// The one statement of IF, ELSE or WHILE.
    fn body_statement(&mut self) -> Parsed<Statement> {
        self.nested(|parser| {
            let statement = parser.statement()?;
            if parser.is_kind(TokenKind::Semicolon) && !parser.is_word_at(1, "ELSE") {
                parser.at += 1;
            }
            Ok(statement)
        })
    }

    pub(super) fn while_statement(&mut self) -> Parsed<StatementKind> {
        self.expect("WHILE")?;
        let condition = self.condition()?;
        self.loops += 1;
        let statement = Box::new(self.body_statement()?);
        self.loops -= 1;
        Ok(StatementKind::While(Box::new(While { condition, statement })))
    }

    pub(super) fn break_statement(&mut self) -> Parsed<StatementKind> {
        if self.loops == 0 {
            return Err(self.error(Cause::BreakOutsideWhile));
        }
        self.at += 1;
        Ok(StatementKind::Break)
    }

    pub(super) fn continue_statement(&mut self) -> Parsed<StatementKind> {
        if self.loops == 0 {
            return Err(self.error(Cause::ContinueOutsideWhile));
        }
        self.at += 1;
        Ok(StatementKind::Continue)
    }

    /// BEGIN: a block, TRY, a transaction, or a conversation.
    pub(super) fn begin(&mut self) -> Parsed<StatementKind> {
        if self.is_word_at(1, "TRY") && !self.is_dot_after_name() {
            return self.nested(Parser::try_catch);
        }
        if self.is_word_at(1, "DISTRIBUTED")
            || self.is_word_at(1, "TRAN")
            || self.is_word_at(1, "TRANSACTION")
        {
            return self.begin_transaction();
        }
        if self.is_word_at(1, "ATOMIC") && self.is_word_at(2, "WITH") {
            return self.nested(Parser::atomic);
        }
        let is_dialog = self.is_word_at(1, "DIALOG") || self.is_word_at(1, "CONVERSATION");
        if is_dialog && !self.is_dot_after_name() {
            return self.admin_statement();
        }
        self.nested(Parser::block)
    }

    fn is_dot_after_name(&self) -> bool {
        matches!(self.kind_at(2), TokenKind::Dot | TokenKind::Colon)
    }

    fn block(&mut self) -> Parsed<StatementKind> {
        self.expect("BEGIN")?;
        let statements = self.statements_until_end()?;
        if statements.is_empty() {
            return Err(self.unexpected());
        }
        self.expect("END")?;
        Ok(StatementKind::Block(statements))
    }

    fn atomic(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["BEGIN", "ATOMIC", "WITH"])?;
        let options = self.parenthesised_clauses("atomic_option")?;
        let statements = self.statements_until_end()?;
        self.expect("END")?;
        Ok(StatementKind::Atomic(Atomic { options, statements }))
    }

    fn try_catch(&mut self) -> Parsed<StatementKind> {
        self.expect_all(&["BEGIN", "TRY"])?;
        self.accept_kind(TokenKind::Semicolon);
        let body = self.statements_until_end()?;
        if body.is_empty() {
            return Err(self.unexpected());
        }
        self.expect_all(&["END", "TRY"])?;
        self.expect_all(&["BEGIN", "CATCH"])?;
        self.accept_kind(TokenKind::Semicolon);
        self.catches += 1;
        let handler = self.statements_until_end()?;
        self.catches -= 1;
        self.expect_all(&["END", "CATCH"])?;
        Ok(StatementKind::TryCatch(TryCatch { body, handler }))
    }

    pub(super) fn goto(&mut self) -> Parsed<StatementKind> {
        self.expect("GOTO")?;
        let label = self.name()?;
        self.gotos.push(label.clone());
        Ok(StatementKind::Goto(Goto { label }))
    }

    pub(super) fn label(&mut self) -> Parsed<StatementKind> {
        let label = self.name()?;
        self.expect_kind(TokenKind::Colon)?;
        let is_known = |known: &&crate::syntax::Name| same_label(known, &label);
        if self.labels.iter().any(|known| is_known(&known)) {
            let cause = Cause::DuplicateLabel { label: label.text };
            return Err(Error { cause, span: label.span });
        }
        self.labels.push(label.clone());
        Ok(StatementKind::Label(label))
    }

    /// Every GOTO of a batch or module leads to a label of it.
    pub(super) fn verify_gotos(&self) -> Parsed<()> {
        let missing =
            |goto: &&crate::syntax::Name| !self.labels.iter().any(|label| same_label(label, goto));
        match self.gotos.iter().find(missing) {
            None => Ok(()),
            Some(goto) => {
                let cause = Cause::UnknownLabel { label: goto.text.clone() };
                Err(Error { cause, span: goto.span })
            }
        }
    }

    /// `RETURN [ value ]`: which may be there depends on the body.
    pub(super) fn return_statement(&mut self) -> Parsed<StatementKind> {
        let start = self.span();
        self.expect("RETURN")?;
        if !self.is_value() {
            return Ok(StatementKind::Return(Return { value: None }));
        }
        if matches!(self.body, Body::Batch | Body::Trigger) {
            return Err(Error { cause: Cause::ReturnValue, span: start });
        }
        Ok(StatementKind::Return(Return { value: Some(self.expression()?) }))
    }

    /// True when the next token begins a value, and no statement.
    fn is_value(&self) -> bool {
        match self.kind() {
            TokenKind::End
            | TokenKind::Semicolon
            | TokenKind::RightParen
            | TokenKind::UnclosedComment => false,
            TokenKind::Reserved => self.is_value_word(),
            TokenKind::Word => self.kind_at(1) != TokenKind::Colon && !self.is_word_statement(),
            _ => true,
        }
    }

    fn is_value_word(&self) -> bool {
        self.is_any(&[
            "NULL",
            "CASE",
            "CONVERT",
            "TRY_CONVERT",
            "COALESCE",
            "NULLIF",
            "LEFT",
            "RIGHT",
            "CURRENT_TIMESTAMP",
            "CURRENT_USER",
            "SESSION_USER",
            "SYSTEM_USER",
            "USER",
        ])
    }

    pub(super) fn print(&mut self) -> Parsed<StatementKind> {
        self.expect("PRINT")?;
        Ok(StatementKind::Print(Print { value: self.expression()? }))
    }

    /// `THROW [ number , message , state ]`
    pub(super) fn throw(&mut self) -> Parsed<StatementKind> {
        let start = self.span();
        self.expect("THROW")?;
        let is_again = !matches!(self.kind(), TokenKind::Integer | TokenKind::Variable);
        if is_again {
            if self.catches == 0 {
                return Err(Error { cause: Cause::ThrowOutsideCatch, span: start });
            }
            return Ok(StatementKind::Throw(Box::new(Throw { error: None })));
        }
        let number = self.simple_value()?;
        self.expect_kind(TokenKind::Comma)?;
        let message = self.simple_value()?;
        self.expect_kind(TokenKind::Comma)?;
        let state = self.simple_value()?;
        let error = Some(ThrownError { number, message, state });
        Ok(StatementKind::Throw(Box::new(Throw { error })))
    }

    /// RAISERROR with parentheses, or without them as in older servers.
    pub(super) fn raise_error(&mut self) -> Parsed<StatementKind> {
        self.expect("RAISERROR")?;
        let mut error = RaiseError {
            message: crate::syntax::Expr {
                kind: crate::syntax::ExprKind::Default,
                span: self.span(),
            },
            severity: None,
            state: None,
            arguments: Vec::new(),
            has_log: false,
            has_nowait: false,
            has_seterror: false,
        };
        if !self.accept_kind(TokenKind::LeftParen) {
            error.message = self.simple_value()?;
            self.accept_kind(TokenKind::Comma);
            error.arguments.push(self.simple_value()?);
            return Ok(StatementKind::RaiseError(Box::new(error)));
        }
        error.message = self.simple_value()?;
        self.expect_kind(TokenKind::Comma)?;
        error.severity = Some(self.simple_value()?);
        self.expect_kind(TokenKind::Comma)?;
        error.state = Some(self.simple_value()?);
        while self.accept_kind(TokenKind::Comma) {
            error.arguments.push(self.simple_value()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        self.raise_error_options(&mut error)?;
        Ok(StatementKind::RaiseError(Box::new(error)))
    }

    fn raise_error_options(&mut self, error: &mut RaiseError) -> Parsed<()> {
        if !self.accept("WITH") {
            return Ok(());
        }
        loop {
            match self.choose_word(&["LOG", "NOWAIT", "SETERROR"]) {
                Some("LOG") => error.has_log = true,
                Some("NOWAIT") => error.has_nowait = true,
                Some(_) => error.has_seterror = true,
                None => return Err(self.unexpected()),
            }
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    pub(super) fn wait_for(&mut self) -> Parsed<StatementKind> {
        self.expect("WAITFOR")?;
        let wait = if self.accept("DELAY") {
            WaitFor::Delay(self.simple_value()?)
        } else if self.accept("TIME") {
            WaitFor::Time(self.simple_value()?)
        } else {
            let statement = self.parenthesised(|parser| parser.nested(Parser::statement))?;
            let is_receiver = matches!(&statement.kind, StatementKind::Admin(admin)
                if matches!(admin.head, "RECEIVE" | "GET CONVERSATION GROUP"));
            if !is_receiver {
                self.at = self.index_of(statement.span);
                return Err(self.unexpected());
            }
            let has_timeout = self.accept_kind(TokenKind::Comma);
            let timeout = self.when(has_timeout, |parser| {
                parser.expect("TIMEOUT")?;
                parser.simple_value()
            })?;
            WaitFor::Statement { statement: Box::new(statement), timeout }
        };
        Ok(StatementKind::WaitFor(Box::new(wait)))
    }
}

/// Labels differ by more than case.
fn same_label(a: &crate::syntax::Name, b: &crate::syntax::Name) -> bool {
    a.text.to_lowercase() == b.text.to_lowercase()
}
