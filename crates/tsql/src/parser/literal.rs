//! Literals.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::lexer::{binary_value, delimited_value};
use crate::syntax::{Literal, OdbcKind, StringLiteral};
use crate::token::TokenKind;

/// Digits of a numeric literal.
const MAX_DIGITS: usize = 38;

impl Parser<'_> {
    /// True when the next token is a string.
    pub(super) fn is_string(&self) -> bool {
        self.is_string_at(0)
    }

    pub(super) fn is_string_at(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::String | TokenKind::NationalString => true,
            TokenKind::DoubleQuoted => !self.quoted_identifier,
            _ => false,
        }
    }

    pub(super) fn string(&mut self) -> Parsed<StringLiteral> {
        if !self.is_string() {
            return Err(self.unexpected());
        }
        let token = self.take();
        let value = delimited_value(token.span.of(self.text)).into();
        Ok(StringLiteral { value, is_national: token.kind == TokenKind::NationalString })
    }

    /// A literal without sign; `None` when the next token is none.
    pub(super) fn literal(&mut self) -> Parsed<Option<Literal>> {
        let text = self.word();
        let literal = match self.kind() {
            TokenKind::Integer => Literal::Integer(self.digits(text)?),
            TokenKind::Decimal => Literal::Decimal(self.digits(text)?),
            TokenKind::Float => Literal::Float(text.into()),
            TokenKind::Money => Literal::Money(text.into()),
            TokenKind::Binary => Literal::Binary(binary_value(text).into()),
            TokenKind::Reserved if self.is("NULL") => Literal::Null,
            _ if self.is_string() => return self.string().map(Literal::String).map(Some),
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(literal))
    }

    /// The text of a number with at most as many digits as numeric has.
    fn digits(&self, text: &str) -> Parsed<Box<str>> {
        let digits = text.trim_start_matches('0').bytes().filter(u8::is_ascii_digit).count();
        if digits > MAX_DIGITS {
            return Err(self.error(Cause::NumberTooLong { number: text.into() }));
        }
        Ok(text.into())
    }

    pub(super) fn expect_literal(&mut self) -> Parsed<Literal> {
        self.literal()?.ok_or_else(|| self.unexpected())
    }

    /// An integer literal that fits 32 bits.
    pub(super) fn integer(&mut self) -> Parsed<u32> {
        if !self.is_kind(TokenKind::Integer) {
            return Err(self.unexpected());
        }
        let number = self.word().parse().map_err(|_| self.unexpected())?;
        self.at += 1;
        Ok(number)
    }

    /// The literal of an ODBC escape, after its brace.
    pub(super) fn odbc_literal(&mut self) -> Parsed<Option<Literal>> {
        const KINDS: [(&str, OdbcKind); 4] = [
            ("D", OdbcKind::Date),
            ("T", OdbcKind::Time),
            ("TS", OdbcKind::Timestamp),
            ("GUID", OdbcKind::Guid),
        ];
        if !self.is_string_at(1) {
            return Ok(None);
        }
        let kind = self.expect_choice(&KINDS)?;
        let value = self.string()?.value;
        Ok(Some(Literal::Odbc { kind, value }))
    }
}
