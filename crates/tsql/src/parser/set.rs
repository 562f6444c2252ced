//! SET of variables and options.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::syntax::{Expr, ExprKind, IsolationLevel, Set, StatementKind, VariableName};
use crate::token::TokenKind;

/// Options that are on or off.
const SWITCHES: [&str; 27] = [
    "ANSI_DEFAULTS",
    "ANSI_NULLS",
    "ANSI_NULL_DFLT_OFF",
    "ANSI_NULL_DFLT_ON",
    "ANSI_PADDING",
    "ANSI_WARNINGS",
    "ARITHABORT",
    "ARITHIGNORE",
    "CONCAT_NULL_YIELDS_NULL",
    "CURSOR_CLOSE_ON_COMMIT",
    "DISABLE_DEF_CNST_CHK",
    "FMTONLY",
    "FORCEPLAN",
    "IMPLICIT_TRANSACTIONS",
    "NOCOUNT",
    "NOEXEC",
    "NO_BROWSETABLE",
    "NUMERIC_ROUNDABORT",
    "PARSEONLY",
    "QUOTED_IDENTIFIER",
    "REMOTE_PROC_TRANSACTIONS",
    "RESULT_SET_CACHING",
    "SHOWPLAN_ALL",
    "SHOWPLAN_TEXT",
    "SHOWPLAN_XML",
    "XACT_ABORT",
    "RECOMMENDATIONS",
];

/// Options with a value.
const VALUES: [&str; 9] = [
    "CONTEXT_INFO",
    "DATEFIRST",
    "DATEFORMAT",
    "DEADLOCK_PRIORITY",
    "LANGUAGE",
    "LOCK_TIMEOUT",
    "QUERY_GOVERNOR_COST_LIMIT",
    "ROWCOUNT",
    "TEXTSIZE",
];

const STATISTICS: [&str; 4] = ["IO", "TIME", "XML", "PROFILE"];

impl Parser<'_> {
    pub(super) fn set_statement(&mut self) -> Parsed<StatementKind> {
        self.expect("SET")?;
        let set = if self.is_kind(TokenKind::Variable) {
            self.set_variable()?
        } else {
            self.set_option()?
        };
        Ok(StatementKind::Set(Box::new(set)))
    }

    fn set_variable(&mut self) -> Parsed<Set> {
        if self.is_assignment_at(1) {
            if self.is_word_at(2, "CURSOR") {
                let variable = self.variable()?;
                self.at += 2;
                let definition = Box::new(self.cursor_definition()?);
                return Ok(Set::Cursor { variable, definition });
            }
            return self.assignment().map(Set::Variable);
        }
        let variable = self.variable()?;
        if !self.accept_kind(TokenKind::DoubleColon) {
            self.expect_kind(TokenKind::Dot)?;
        }
        self.set_member(variable)
    }

    /// `.name = value | .name ( arguments )`
    fn set_member(&mut self, variable: VariableName) -> Parsed<Set> {
        let name = self.any_word()?;
        if self.is_kind(TokenKind::LeftParen) {
            let arguments = self.arguments()?;
            return Ok(Set::Method { variable, method: name, arguments });
        }
        self.expect_kind(TokenKind::Equal)?;
        Ok(Set::Property { variable, property: name, value: self.expression()? })
    }

    fn set_option(&mut self) -> Parsed<Set> {
        if self.accept("STATISTICS") {
            let what = self.list(|parser| {
                parser.choose_word(&STATISTICS).ok_or_else(|| parser.unexpected())
            })?;
            return Ok(Set::Statistics { what, is_on: self.on_or_off()? });
        }
        if self.accept("TRANSACTION") {
            self.expect_all(&["ISOLATION", "LEVEL"])?;
            return self.isolation_level().map(Set::IsolationLevel);
        }
        if self.accept("IDENTITY_INSERT") {
            let table = self.object_name()?;
            return Ok(Set::IdentityInsert { table, is_on: self.on_or_off()? });
        }
        if self.accept("OFFSETS") {
            return self.offsets();
        }
        if self.accept("FIPS_FLAGGER") {
            return self.fips_flagger();
        }
        if let Some(option) = self.choose_word(&VALUES) {
            return Ok(Set::Value { option, value: self.option_value()? });
        }
        self.switches()
    }

    /// `option , … { ON | OFF }`
    fn switches(&mut self) -> Parsed<Set> {
        let options = self.list(Parser::switch_name)?;
        let is_on = self.on_or_off()?;
        let is_module = self.body != super::Body::Batch;
        if options.contains(&"QUOTED_IDENTIFIER") && !is_module {
            self.quoted_identifier = is_on;
        }
        if options.contains(&"ANSI_DEFAULTS") && !is_module {
            self.quoted_identifier = is_on;
        }
        Ok(Set::Switch { options, is_on })
    }

    fn switch_name(&mut self) -> Parsed<&'static str> {
        if let Some(name) = self.choose_word(&SWITCHES) {
            return Ok(name);
        }
        if self.is_kind(TokenKind::Word) {
            let name = self.word().into();
            return Err(self.error(Cause::UnknownName { name, kind: "SET option" }));
        }
        Err(self.unexpected())
    }

    /// A value of an option: a literal with its sign, a variable, or a word such as `mdy`.
    fn option_value(&mut self) -> Parsed<Expr> {
        let start = self.span();
        if self.is_name() || self.is_kind(TokenKind::DoubleQuoted) && self.quoted_identifier {
            let name = self.name()?;
            let column = crate::syntax::Column::Named(name);
            let column = crate::syntax::ColumnName { qualifier: None, column };
            return Ok(Expr {
                kind: ExprKind::Column(Box::new(column)),
                span: self.since(start),
            });
        }
        self.simple_value()
    }

    fn isolation_level(&mut self) -> Parsed<IsolationLevel> {
        const LEVELS: [(&[&str], IsolationLevel); 5] = [
            (&["READ", "UNCOMMITTED"], IsolationLevel::ReadUncommitted),
            (&["READ", "COMMITTED"], IsolationLevel::ReadCommitted),
            (&["REPEATABLE", "READ"], IsolationLevel::RepeatableRead),
            (&["SNAPSHOT"], IsolationLevel::Snapshot),
            (&["SERIALIZABLE"], IsolationLevel::Serializable),
        ];
        let found = LEVELS.iter().find(|(words, _)| self.are(words));
        if let Some((words, level)) = found {
            self.at += words.len();
            return Ok(*level);
        }
        let has_first = self.is_any(&["READ", "REPEATABLE"]);
        Err(self.unexpected_at(usize::from(has_first)))
    }

    fn fips_flagger(&mut self) -> Parsed<Set> {
        if self.accept("OFF") {
            return Ok(Set::FipsFlagger(None));
        }
        Ok(Set::FipsFlagger(Some(self.string()?.value)))
    }

    fn offsets(&mut self) -> Parsed<Set> {
        let keywords = self.list(|parser| parser.any_word().map(|name| name.text))?;
        Ok(Set::Offsets { keywords, is_on: self.on_or_off()? })
    }
}
