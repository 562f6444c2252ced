//! Names.

use super::{Parsed, Parser};
use crate::error::Cause;
use crate::lexer::delimited_value;
use crate::syntax::{CursorName, Name, NameOrVariable, ObjectName, Qualifier, VariableName};
use crate::token::{Token, TokenKind};

/// Characters of a name.
const MAX_NAME: usize = 128;

impl Parser<'_> {
    /// True when the token `ahead` is a name: a bare word that is not reserved, or a delimited one.
    pub(super) fn is_name_at(&self, ahead: usize) -> bool {
        match self.kind_at(ahead) {
            TokenKind::Word | TokenKind::Bracketed => true,
            TokenKind::DoubleQuoted => self.quoted_identifier,
            _ => false,
        }
    }

    pub(super) fn is_name(&self) -> bool {
        self.is_name_at(0)
    }

    /// True when the next token is a name and no label, as where an alias may stand.
    pub(super) fn is_alias(&self) -> bool {
        self.is_name() && self.kind_at(1) != TokenKind::Colon
    }

    pub(super) fn name(&mut self) -> Parsed<Name> {
        if !self.is_name() {
            return Err(self.unexpected());
        }
        let name = self.name_of(self.token(0))?;
        self.at += 1;
        Ok(name)
    }

    /// A name, where a reserved word may stand, too: after `::`, in options.
    pub(super) fn any_word(&mut self) -> Parsed<Name> {
        if self.is_kind(TokenKind::Reserved) {
            let name = self.name_of(self.token(0))?;
            self.at += 1;
            return Ok(name);
        }
        self.name()
    }

    /// The name that a token is, without its delimiters.
    fn name_of(&self, token: Token) -> Parsed<Name> {
        let text = token.span.of(self.text);
        let text: Box<str> = match token.kind {
            TokenKind::Word | TokenKind::Reserved => text.into(),
            _ => delimited_value(text).into(),
        };
        if text.is_empty() {
            return Err(self.error(Cause::EmptyName));
        }
        if text.len() > MAX_NAME && text.encode_utf16().count() > MAX_NAME {
            let start: String = text.chars().take(MAX_NAME).collect();
            return Err(
                self.error(Cause::NameTooLong { start: start.into(), limit: MAX_NAME as u32 })
            );
        }
        Ok(Name { text, span: token.span })
    }

    /// A name or a string that stands for one, as in aliases.
    pub(super) fn name_or_string(&mut self) -> Parsed<Name> {
        if self.is_string() {
            let span = self.span();
            let text = self.string()?.value;
            if text.is_empty() {
                return Err(self.error(Cause::EmptyName));
            }
            return Ok(Name { text, span });
        }
        self.name()
    }

    /// `[[[server.][database].][schema].]name`
    pub(super) fn object_name(&mut self) -> Parsed<ObjectName> {
        let start = self.span();
        let mut parts: Vec<Option<Name>> = Vec::new();
        loop {
            if self.is_kind(TokenKind::Dot) {
                parts.push(None);
            } else {
                parts.push(Some(self.name()?));
            }
            if parts.len() == 4 || !self.accept_kind(TokenKind::Dot) {
                break;
            }
        }
        let Some(Some(name)) = parts.pop() else { return Err(self.unexpected()) };
        Ok(self.qualified(parts, name, start))
    }

    /// A name with its qualifiers, outermost first.
    pub(super) fn qualified(
        &self,
        mut parts: Vec<Option<Name>>,
        name: Name,
        start: crate::Span,
    ) -> ObjectName {
        let schema = parts.pop().flatten();
        let database = parts.pop().flatten();
        let server = parts.pop().flatten();
        let qualifier = Qualifier { server, database, schema };
        let is_simple = qualifier == Qualifier::default();
        let qualifier = (!is_simple).then(|| Box::new(qualifier));
        ObjectName { name, qualifier, span: self.since(start) }
    }

    pub(super) fn names(&mut self) -> Parsed<Vec<Name>> {
        self.list(Parser::name)
    }

    /// `( name , … )`
    pub(super) fn parenthesised_names(&mut self) -> Parsed<Vec<Name>> {
        self.parenthesised_list(Parser::name)
    }

    /// `@name`
    pub(super) fn variable(&mut self) -> Parsed<VariableName> {
        if !self.is_kind(TokenKind::Variable) {
            return Err(self.unexpected());
        }
        let token = self.take();
        let text = token.span.of(self.text);
        if text.encode_utf16().count() > MAX_NAME {
            let start: String = text.chars().take(MAX_NAME).collect();
            let limit = MAX_NAME as u32;
            return Err(self.error(Cause::NameTooLong { start: start.into(), limit }));
        }
        Ok(VariableName { text: text.into(), span: token.span })
    }

    pub(super) fn name_or_variable(&mut self) -> Parsed<NameOrVariable> {
        if self.is_kind(TokenKind::Variable) {
            return self.variable().map(NameOrVariable::Variable);
        }
        self.name().map(NameOrVariable::Name)
    }

    /// `[ GLOBAL ] cursor | @cursor`
    pub(super) fn cursor_name(&mut self) -> Parsed<CursorName> {
        let is_global = self.is("GLOBAL") && self.is_name_at(1) && self.accept("GLOBAL");
        Ok(CursorName { is_global, name: self.name_or_variable()? })
    }
}
