//! EXECUTE, EXECUTE AS, REVERT, SETUSER, USE, KILL.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{
    Argument, Column, ColumnName, Execute, ExecuteAs, ExecuteContext, Executed, Expr, ExprKind,
    Kill, KillOutcome, Killed, ProcedureName, ResultColumn, ResultSet, ResultSets, Revert, SetUser,
    StatementKind, TextPrincipal, TextServer, Use,
};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `{ EXEC | EXECUTE } …`
    pub(super) fn execute_statement(&mut self) -> Parsed<Execute> {
        let start = self.span();
        self.expect_choice(&[("EXEC", ()), ("EXECUTE", ())])?;
        let mut execute = if self.is_kind(TokenKind::LeftParen) {
            self.execute_text()?
        } else {
            self.execute_procedure()?
        };
        self.execute_options(&mut execute)?;
        execute.span = self.since(start);
        Ok(execute)
    }

    /// A procedure that begins a batch without EXEC.
    pub(super) fn implicit_execute(&mut self) -> Parsed<Execute> {
        let start = self.span();
        let mut execute = self.execute_procedure()?;
        self.execute_options(&mut execute)?;
        execute.span = self.since(start);
        Ok(execute)
    }

    /// `[ @status = ] call procedure [ ( argument , … ) ]` of an ODBC escape
    pub(super) fn odbc_procedure(&mut self) -> Parsed<Execute> {
        let start = self.span();
        let has_status = self.is_kind(TokenKind::Variable);
        let status = self.when(has_status, |parser| {
            let status = parser.variable()?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok(status)
        })?;
        self.expect("CALL")?;
        let name = ProcedureName::Object(self.object_name()?);
        let is_empty =
            self.is_kind(TokenKind::LeftParen) && self.kind_at(1) == TokenKind::RightParen;
        self.at += if is_empty { 2 } else { 0 };
        let arguments = self.optional_list(Parser::argument)?;
        let what = Executed::Procedure { name, number: None };
        let span = self.since(start);
        Ok(Execute {
            status,
            what,
            arguments,
            is_recompile: false,
            result_sets: None,
            span,
        })
    }

    fn execute_procedure(&mut self) -> Parsed<Execute> {
        let start = self.span();
        let has_status = self.is_kind(TokenKind::Variable) && self.kind_at(1) == TokenKind::Equal;
        let status = self.when(has_status, |parser| {
            let status = parser.variable()?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok(status)
        })?;
        let name = if self.is_kind(TokenKind::Variable) {
            ProcedureName::Variable(self.variable()?)
        } else {
            ProcedureName::Object(self.object_name()?)
        };
        let has_number =
            self.is_kind(TokenKind::Semicolon) && self.kind_at(1) == TokenKind::Integer;
        self.at += usize::from(has_number);
        let number = self.when(has_number, Parser::integer)?;
        let arguments = self.execute_arguments()?;
        let what = Executed::Procedure { name, number };
        let span = self.since(start);
        Ok(Execute {
            status,
            what,
            arguments,
            is_recompile: false,
            result_sets: None,
            span,
        })
    }

    /// The arguments of a procedure, up to a token that cannot begin one.
    fn execute_arguments(&mut self) -> Parsed<Vec<Argument>> {
        let mut arguments: Vec<Argument> = Vec::new();
        if !self.is_argument() {
            return Ok(arguments);
        }
        loop {
            let argument = self.argument()?;
            if argument.name.is_none() && arguments.iter().any(|before| before.name.is_some()) {
                let number = arguments.len() as u32 + 1;
                let cause = Cause::PositionalAfterNamed { number };
                return Err(crate::Error { cause, span: argument.span });
            }
            arguments.push(argument);
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(arguments);
            }
        }
    }

    fn is_argument(&self) -> bool {
        match self.kind() {
            TokenKind::Reserved => self.is_any(&["NULL", "DEFAULT"]),
            TokenKind::Variable
            | TokenKind::GlobalVariable
            | TokenKind::Minus
            | TokenKind::Plus
            | TokenKind::Integer
            | TokenKind::Decimal
            | TokenKind::Float
            | TokenKind::Money
            | TokenKind::Binary => true,
            TokenKind::LeftBrace => self.is_string_at(2),
            _ => self.is_string() || self.is_alias() || self.is_kind(TokenKind::DoubleQuoted),
        }
    }

    /// `[ @name = ] value [ OUTPUT ]`
    fn argument(&mut self) -> Parsed<Argument> {
        let start = self.span();
        let has_name = self.is_kind(TokenKind::Variable) && self.kind_at(1) == TokenKind::Equal;
        let name = self.when(has_name, |parser| {
            let name = parser.variable()?;
            parser.expect_kind(TokenKind::Equal)?;
            Ok(name)
        })?;
        let value = self.argument_value()?;
        let is_output = self.choose(&[("OUTPUT", ()), ("OUT", ())]).is_some();
        if is_output && !matches!(value.kind, ExprKind::Variable(_)) {
            return Err(crate::Error { cause: Cause::OutputConstant, span: value.span });
        }
        Ok(Argument { name, value, is_output, span: self.since(start) })
    }

    /// A literal with its sign, a variable, DEFAULT, or a name that stands for a string.
    fn argument_value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is("DEFAULT") {
            return self.expression_or_default();
        }
        if self.is_kind(TokenKind::LeftBrace) {
            return self.primary();
        }
        if self.is_name() {
            let column = Column::Named(self.name()?);
            let kind = ExprKind::Column(Box::new(ColumnName { qualifier: None, column }));
            return Ok(Expr { kind, span: self.since(start) });
        }
        self.simple_value()
    }

    /// `( text [ , argument … ] ) [ AS … ] [ AT server ]`
    fn execute_text(&mut self) -> Parsed<Execute> {
        let start = self.span();
        self.expect_kind(TokenKind::LeftParen)?;
        let text = Box::new(self.execute_string()?);
        let mut arguments = Vec::new();
        while self.accept_kind(TokenKind::Comma) {
            arguments.push(self.argument()?);
        }
        self.expect_kind(TokenKind::RightParen)?;
        let has_principal =
            self.is("AS") && (self.is_word_at(1, "LOGIN") || self.is_word_at(1, "USER"));
        let principal = self.when(has_principal, Parser::text_principal)?;
        let has_server = self.is("AT") && self.is_name_at(1);
        let at = self.when(has_server, Parser::text_server)?;
        let what = Executed::Text { text, principal, at };
        let span = self.since(start);
        Ok(Execute {
            status: None,
            what,
            arguments,
            is_recompile: false,
            result_sets: None,
            span,
        })
    }

    /// Strings and variables with `+` between them.
    fn execute_string(&mut self) -> Parsed<Expr> {
        let text = self.expression()?;
        let is_text = |kind: &ExprKind| {
            matches!(kind, ExprKind::Literal(crate::syntax::Literal::String(_)))
                || matches!(kind, ExprKind::Variable(_))
        };
        let offending = match &text.kind {
            ExprKind::Chain { first, rest } => std::iter::once(first.as_ref())
                .chain(rest.iter().map(|link| &link.operand))
                .find(|part| !is_text(&part.kind)),
            kind => (!is_text(kind)).then_some(&text),
        };
        match offending {
            None => Ok(text),
            Some(part) => {
                self.at = self.index_of(part.span);
                Err(self.unexpected())
            }
        }
    }

    fn text_principal(&mut self) -> Parsed<TextPrincipal> {
        self.expect("AS")?;
        let is_login = self.expect_choice(&[("LOGIN", true), ("USER", false)])?;
        self.expect_kind(TokenKind::Equal)?;
        Ok(TextPrincipal { is_login, name: self.string()? })
    }

    fn text_server(&mut self) -> Parsed<TextServer> {
        self.expect("AT")?;
        let is_data_source = self.is("DATA_SOURCE") && self.is_name_at(1);
        self.at += usize::from(is_data_source);
        Ok(TextServer { name: self.name()?, is_data_source })
    }

    /// `[ WITH { RECOMPILE | RESULT SETS … } , … ]`
    fn execute_options(&mut self, execute: &mut Execute) -> Parsed<()> {
        let has_options =
            self.is("WITH") && (self.is_word_at(1, "RECOMPILE") || self.is_word_at(1, "RESULT"));
        if !has_options {
            return Ok(());
        }
        self.at += 1;
        loop {
            if self.accept("RECOMPILE") {
                execute.is_recompile = true;
            } else {
                self.expect_all(&["RESULT", "SETS"])?;
                execute.result_sets = Some(self.result_sets()?);
            }
            if !self.accept_kind(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn result_sets(&mut self) -> Parsed<ResultSets> {
        if self.accept("UNDEFINED") {
            return Ok(ResultSets::Undefined);
        }
        if self.accept("NONE") {
            return Ok(ResultSets::None);
        }
        self.parenthesised_list(Parser::result_set).map(ResultSets::Sets)
    }

    fn result_set(&mut self) -> Parsed<ResultSet> {
        if !self.accept("AS") {
            return self.parenthesised_list(Parser::result_column).map(ResultSet::Columns);
        }
        if self.accept("OBJECT") {
            return self.object_name().map(ResultSet::AsObject);
        }
        if self.accept("TYPE") {
            return self.object_name().map(ResultSet::AsType);
        }
        self.expect_all(&["FOR", "XML"])?;
        Ok(ResultSet::AsForXml)
    }

    fn result_column(&mut self) -> Parsed<ResultColumn> {
        let name = self.name()?;
        let data_type = self.data_type()?;
        let has_collation = self.accept("COLLATE");
        let collation = self.when(has_collation, Parser::name)?;
        let is_nullable = self.nullability()?;
        Ok(ResultColumn { name, data_type, collation, is_nullable })
    }

    /// `[ NULL | NOT NULL ]`
    pub(super) fn nullability(&mut self) -> Parsed<Option<bool>> {
        if self.accept("NULL") {
            return Ok(Some(true));
        }
        if self.accept_all(&["NOT", "NULL"]) {
            return Ok(Some(false));
        }
        Ok(None)
    }

    /// `EXECUTE AS …`
    pub(super) fn execute_as(&mut self) -> Parsed<StatementKind> {
        self.at += 1;
        self.expect("AS")?;
        let context = self.execute_context()?;
        let mut statement = ExecuteAs { context, is_no_revert: false, cookie: None };
        if self.accept("WITH") {
            if self.accept_all(&["NO", "REVERT"]) {
                statement.is_no_revert = true;
            } else {
                self.expect_all(&["COOKIE", "INTO"])?;
                statement.cookie = Some(self.variable()?);
            }
        }
        Ok(StatementKind::ExecuteAs(Box::new(statement)))
    }

    /// What follows EXECUTE AS.
    pub(super) fn execute_context(&mut self) -> Parsed<ExecuteContext> {
        if self.accept("CALLER") {
            return Ok(ExecuteContext::Caller);
        }
        if self.accept("SELF") {
            return Ok(ExecuteContext::Itself);
        }
        if self.accept("OWNER") {
            return Ok(ExecuteContext::Owner);
        }
        if self.is_string() {
            return self.string().map(ExecuteContext::Named);
        }
        let is_login = self.expect_choice(&[("LOGIN", true), ("USER", false)])?;
        self.expect_kind(TokenKind::Equal)?;
        let name = self.simple_value()?;
        Ok(if is_login { ExecuteContext::Login(name) } else { ExecuteContext::User(name) })
    }

    pub(super) fn revert(&mut self) -> Parsed<StatementKind> {
        self.expect("REVERT")?;
        let has_cookie = self.accept_all(&["WITH", "COOKIE"]);
        let cookie = self.when(has_cookie, |parser| {
            parser.expect_kind(TokenKind::Equal)?;
            parser.variable()
        })?;
        Ok(StatementKind::Revert(Revert { cookie }))
    }

    pub(super) fn set_user(&mut self) -> Parsed<StatementKind> {
        self.expect("SETUSER")?;
        let has_name = self.is_string() || self.is_kind(TokenKind::Variable);
        let name = self.when(has_name, Parser::simple_value)?;
        let is_noreset = has_name && self.accept_all(&["WITH", "NORESET"]);
        Ok(StatementKind::SetUser(SetUser { name, is_noreset }))
    }

    pub(super) fn use_database(&mut self) -> Parsed<StatementKind> {
        self.expect("USE")?;
        Ok(StatementKind::Use(Use { database: self.name()? }))
    }

    pub(super) fn kill(&mut self) -> Parsed<StatementKind> {
        self.expect("KILL")?;
        let what = if self.accept_all(&["QUERY", "NOTIFICATION", "SUBSCRIPTION"]) {
            let is_all = self.accept("ALL");
            Killed::NotificationSubscription(self.when(!is_all, Parser::simple_value)?)
        } else if self.accept_all(&["STATS", "JOB"]) {
            Killed::StatsJob(self.simple_value()?)
        } else {
            Killed::Session(self.simple_value()?)
        };
        let mut kill = Kill { what, is_status_only: false, outcome: None };
        if self.accept("WITH") {
            kill.is_status_only = self.accept("STATUSONLY");
            if !kill.is_status_only {
                let outcomes =
                    [("COMMIT", KillOutcome::Commit), ("ROLLBACK", KillOutcome::Rollback)];
                kill.outcome = Some(self.expect_choice(&outcomes)?);
            }
        }
        Ok(StatementKind::Kill(Box::new(kill)))
    }
}
