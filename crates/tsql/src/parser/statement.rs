//! Statements: lists of them, and which one begins with which word.

use super::{Body, Parsed, Parser};
use crate::error::{Cause, Error};
use crate::syntax::{Dml, Statement, StatementKind, With};
use crate::token::TokenKind;

type Parse = for<'p, 'a> fn(&'p mut Parser<'a>) -> Parsed<StatementKind>;

/// Statements by their first word; the frequent ones first.
const STATEMENTS: [(&str, Parse); 51] = [
    ("SELECT", |parser| parser.select_statement(None)),
    ("SET", |parser| parser.set_statement()),
    ("INSERT", |parser| parser.insert_or_bulk()),
    ("IF", |parser| parser.if_statement()),
    ("UPDATE", |parser| parser.update_or_statistics()),
    ("EXEC", |parser| parser.execute()),
    ("EXECUTE", |parser| parser.execute()),
    ("DECLARE", |parser| parser.declare()),
    ("BEGIN", |parser| parser.begin()),
    ("DELETE", |parser| parser.dml(None).map(StatementKind::Dml)),
    ("PRINT", |parser| parser.print()),
    ("CREATE", |parser| parser.create()),
    ("ALTER", |parser| parser.alter()),
    ("DROP", |parser| parser.drop_statement()),
    ("COMMIT", |parser| parser.commit()),
    ("ROLLBACK", |parser| parser.rollback()),
    ("RETURN", |parser| parser.return_statement()),
    ("WHILE", |parser| parser.while_statement()),
    ("FETCH", |parser| parser.fetch()),
    ("OPEN", |parser| parser.open()),
    ("CLOSE", |parser| parser.close()),
    ("DEALLOCATE", |parser| parser.cursor_statement(StatementKind::Deallocate)),
    ("RAISERROR", |parser| parser.raise_error()),
    ("WITH", |parser| parser.with_statement()),
    ("MERGE", |parser| parser.dml(None).map(StatementKind::Dml)),
    ("TRUNCATE", |parser| parser.truncate()),
    ("USE", |parser| parser.use_database()),
    ("GRANT", |parser| parser.permission()),
    ("DENY", |parser| parser.permission()),
    ("REVOKE", |parser| parser.permission()),
    ("BREAK", |parser| parser.break_statement()),
    ("CONTINUE", |parser| parser.continue_statement()),
    ("GOTO", |parser| parser.goto()),
    ("WAITFOR", |parser| parser.wait_for()),
    ("SAVE", |parser| parser.save_transaction()),
    ("DBCC", |parser| parser.dbcc()),
    ("KILL", |parser| parser.kill()),
    ("REVERT", |parser| parser.revert()),
    ("SETUSER", |parser| parser.set_user()),
    ("CHECKPOINT", |parser| parser.checkpoint()),
    ("RECONFIGURE", |parser| parser.reconfigure()),
    ("SHUTDOWN", |parser| parser.shutdown()),
    ("LINENO", |parser| parser.line_no()),
    ("BULK", |parser| parser.bulk_insert()),
    ("READTEXT", |parser| parser.read_text()),
    ("WRITETEXT", |parser| parser.write_text()),
    ("UPDATETEXT", |parser| parser.update_text()),
    ("BACKUP", |parser| parser.admin_statement()),
    ("RESTORE", |parser| parser.admin_statement()),
    ("ADD", |parser| parser.admin_statement()),
    ("END", |parser| parser.admin_statement()),
];

impl Parser<'_> {
    /// All statements of a batch.
    pub(super) fn batch(&mut self) -> Parsed<Vec<Statement>> {
        let statements = self.batch_statements().map_err(|error| self.furthest_error(error))?;
        self.verify_gotos()?;
        Ok(statements)
    }

    fn batch_statements(&mut self) -> Parsed<Vec<Statement>> {
        self.skip_semicolons();
        let mut first = Vec::new();
        if self.is_implicit_execute() {
            let start = self.span();
            let execute = self.implicit_execute()?;
            let kind = StatementKind::Execute(Box::new(execute));
            first.push(Statement { kind, span: self.since(start) });
        }
        let statements = self.statements(first)?;
        self.expect_end()?;
        Ok(statements)
    }

    /// The error to report: an optional part of the grammar tables may have come further than
    /// what was tried after it.
    fn furthest_error(&mut self, error: Error) -> Error {
        match self.furthest.take() {
            Some(failure) if failure.error.span.start > error.span.start => failure.error,
            _ => error,
        }
    }

    fn skip_semicolons(&mut self) -> bool {
        let before = self.at;
        while self.accept_kind(TokenKind::Semicolon) {}
        self.at > before
    }

    /// A batch may begin with the name of a procedure.
    fn is_implicit_execute(&self) -> bool {
        let is_label = self.kind_at(1) == TokenKind::Colon;
        self.is_name() && !is_label && !self.is_word_statement()
    }

    /// Statements up to END, a parenthesis, or the end of the text.
    pub(super) fn statements_until_end(&mut self) -> Parsed<Vec<Statement>> {
        self.skip_semicolons();
        self.statements(Vec::new())
    }

    fn statements(&mut self, mut statements: Vec<Statement>) -> Parsed<Vec<Statement>> {
        let mut is_terminated = statements.is_empty() || self.skip_semicolons();
        while !self.is_end_of_statements() {
            if !is_terminated && self.is("WITH") {
                return Err(self.error(Cause::WithNeedsTerminator));
            }
            let is_first = self.depth == 0 && statements.is_empty();
            let statement = self.statement_at(is_first)?;
            statements.push(statement);
            is_terminated = self.skip_semicolons();
        }
        Ok(statements)
    }

    fn is_end_of_statements(&self) -> bool {
        matches!(self.kind(), TokenKind::End)
            || self.is("END") && !self.is_word_at(1, "CONVERSATION")
    }

    /// A statement inside another one.
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        self.statement_at(false)
    }

    fn statement_at(&mut self, is_first: bool) -> Parsed<Statement> {
        let start = self.span();
        self.is_first = is_first;
        let kind = self.statement_kind()?;
        let is_merge = matches!(&kind, StatementKind::Dml(Dml::Merge(_)));
        if is_merge && !self.is_kind(TokenKind::Semicolon) {
            return Err(self.error(Cause::MergeNeedsTerminator));
        }
        Ok(Statement { kind, span: self.since(start) })
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        match self.kind() {
            TokenKind::Reserved => {
                let parse = STATEMENTS.iter().find(|(word, _)| self.is(word));
                let (_, parse) = parse.ok_or_else(|| self.unexpected())?;
                parse(self)
            }
            TokenKind::LeftParen => self.select_statement(None),
            TokenKind::LeftBrace => self.odbc_call(),
            _ if self.is_name() && self.kind_at(1) == TokenKind::Colon => self.label(),
            TokenKind::Word => self.word_statement(),
            _ => Err(self.unexpected()),
        }
    }

    /// A statement whose first word is not reserved.
    fn word_statement(&mut self) -> Parsed<StatementKind> {
        if !self.is_word_statement() {
            return Err(self.unexpected());
        }
        if self.is("THROW") {
            return self.throw();
        }
        if self.is_any(&["ENABLE", "DISABLE"]) {
            return self.switch_trigger();
        }
        self.admin_statement()
    }

    /// True for a word that begins a statement though it is not reserved.
    pub(super) fn is_word_statement(&self) -> bool {
        self.kind() == TokenKind::Word
            && (self.is("THROW")
                || self.are(&["ENABLE", "TRIGGER"])
                || self.are(&["DISABLE", "TRIGGER"])
                || self.are(&["SEND", "ON"])
                || self.are(&["GET", "CONVERSATION"])
                || self.are(&["MOVE", "CONVERSATION"])
                || self.is_receive())
    }

    fn is_receive(&self) -> bool {
        self.is("RECEIVE") && !matches!(self.kind_at(1), TokenKind::Semicolon | TokenKind::End)
    }

    /// What follows WITH and its common tables.
    fn with_statement(&mut self) -> Parsed<StatementKind> {
        let with: With = self.with_clause()?;
        if self.is_any(&["INSERT", "UPDATE", "DELETE", "MERGE"]) {
            return self.dml(Some(with)).map(StatementKind::Dml);
        }
        self.select_statement(Some(with))
    }

    fn insert_or_bulk(&mut self) -> Parsed<StatementKind> {
        if self.is_word_at(1, "BULK") {
            return self.insert_bulk();
        }
        self.dml(None).map(StatementKind::Dml)
    }

    fn update_or_statistics(&mut self) -> Parsed<StatementKind> {
        if self.is_word_at(1, "STATISTICS") {
            return self.update_statistics();
        }
        self.dml(None).map(StatementKind::Dml)
    }

    fn execute(&mut self) -> Parsed<StatementKind> {
        if self.is_word_at(1, "AS") {
            return self.execute_as();
        }
        self.execute_statement().map(|execute| StatementKind::Execute(Box::new(execute)))
    }

    fn open(&mut self) -> Parsed<StatementKind> {
        if self.is_admin() {
            return self.admin_statement();
        }
        self.cursor_statement(StatementKind::Open)
    }

    fn close(&mut self) -> Parsed<StatementKind> {
        if self.is_admin() {
            return self.admin_statement();
        }
        self.cursor_statement(StatementKind::Close)
    }

    /// `{ [ ? = ] call procedure [ ( argument , … ) ] }`
    fn odbc_call(&mut self) -> Parsed<StatementKind> {
        self.expect_kind(TokenKind::LeftBrace)?;
        let execute = self.odbc_procedure()?;
        self.expect_kind(TokenKind::RightBrace)?;
        Ok(StatementKind::Execute(Box::new(execute)))
    }

    /// A module must be the first statement of its batch; `ahead` is its class.
    pub(super) fn verify_first(&self, ahead: usize, statement: &'static str) -> Parsed<()> {
        if self.depth > 0 || self.body != Body::Batch {
            return Err(self.unexpected_at(ahead));
        }
        if !self.is_first {
            return Err(self.error(Cause::NotFirstInBatch { statement }));
        }
        Ok(())
    }
}
