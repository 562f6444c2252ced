//! Looking at tokens and taking them.

use super::{Parsed, Parser};
use crate::error::{Cause, Error};
use crate::lexer::delimited_value;
use crate::span::Span;
use crate::token::{Token, TokenKind};

const END: Token = Token {
    kind: TokenKind::End,
    span: Span { start: 0, end: 0, line: 1 },
};

impl<'a> Parser<'a> {
    /// The token `ahead` of the next one.
    pub(super) fn token(&self, ahead: usize) -> Token {
        self.tokens.get(self.at + ahead).or(self.tokens.last()).copied().unwrap_or(END)
    }

    pub(super) fn kind(&self) -> TokenKind {
        self.token(0).kind
    }

    pub(super) fn kind_at(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    /// The text of the next token.
    pub(super) fn word(&self) -> &'a str {
        self.token(0).span.of(self.text)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// True when the token `ahead` is this word, in any case.
    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        let token = self.token(ahead);
        let length = (token.span.end - token.span.start) as usize;
        length == word.len()
            && matches!(token.kind, TokenKind::Word | TokenKind::Reserved)
            && token.span.of(self.text).eq_ignore_ascii_case(word)
    }

    /// True when the next token is this word.
    pub(super) fn is(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    /// True when the next tokens are these words.
    pub(super) fn are(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.is_word_at(ahead, word))
    }

    /// True when the next token is one of these words.
    pub(super) fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    pub(super) fn is_kind(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    /// Takes the next token when it is this word.
    pub(super) fn accept(&mut self, word: &str) -> bool {
        let is_here = self.is(word);
        self.at += usize::from(is_here);
        is_here
    }

    /// Takes the next tokens when they are these words.
    pub(super) fn accept_all(&mut self, words: &[&str]) -> bool {
        let are_here = self.are(words);
        if are_here {
            self.at += words.len();
        }
        are_here
    }

    pub(super) fn accept_kind(&mut self, kind: TokenKind) -> bool {
        let is_here = self.kind() == kind;
        self.at += usize::from(is_here && kind != TokenKind::End);
        is_here
    }

    pub(super) fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.accept(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn expect_all(&mut self, words: &[&str]) -> Parsed<()> {
        words.iter().try_for_each(|word| self.expect(word))
    }

    pub(super) fn expect_kind(&mut self, kind: TokenKind) -> Parsed<()> {
        if self.accept_kind(kind) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Takes one of these words; the value beside it.
    pub(super) fn choose<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let (_, value) = choices.iter().find(|(word, _)| self.is(word))?;
        self.at += 1;
        Some(*value)
    }

    /// As [`Parser::choose`], where one of the words must stand.
    pub(super) fn expect_choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Parsed<T> {
        self.choose(choices).ok_or_else(|| self.unexpected())
    }

    /// Takes one of these words; the one that it was.
    pub(super) fn choose_word(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let word = words.iter().find(|word| self.is(word))?;
        self.at += 1;
        Some(word)
    }

    /// `ON | OFF`
    pub(super) fn on_or_off(&mut self) -> Parsed<bool> {
        self.expect_choice(&[("ON", true), ("OFF", false)])
    }

    /// `item , …`
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.accept_kind(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `( item , … )`
    pub(super) fn parenthesised_list<T>(
        &mut self,
        item: impl FnMut(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.parenthesised(|parser| parser.list(item))
    }

    /// `( item )`
    pub(super) fn parenthesised<T>(
        &mut self,
        item: impl FnOnce(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<T> {
        self.expect_kind(TokenKind::LeftParen)?;
        let item = item(self)?;
        self.expect_kind(TokenKind::RightParen)?;
        Ok(item)
    }

    /// `[ ( item , … ) ]`
    pub(super) fn optional_list<T>(
        &mut self,
        item: impl FnMut(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        if self.is_kind(TokenKind::LeftParen) {
            self.parenthesised_list(item)
        } else {
            Ok(Vec::new())
        }
    }

    /// Parses an item when `condition` holds.
    pub(super) fn when<T>(
        &mut self,
        condition: bool,
        item: impl FnOnce(&mut Parser<'a>) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        if condition { item(self).map(Some) } else { Ok(None) }
    }

    /// From the token that begins at `start` to the last one taken.
    pub(super) fn since(&self, start: Span) -> Span {
        let last = self.at.checked_sub(1).and_then(|last| self.tokens.get(last));
        last.map_or(start, |last| start.to(last.span))
    }

    /// The error that the next token should not be there.
    pub(super) fn unexpected(&self) -> Error {
        self.unexpected_at(0)
    }

    /// The error that the token `ahead` should not be there; at the end, the last token is named.
    pub(super) fn unexpected_at(&self, ahead: usize) -> Error {
        let token = self.token(ahead);
        let cause = match token.kind {
            TokenKind::End => {
                let last = self.tokens.len().checked_sub(2).and_then(|at| self.tokens.get(at));
                return self.syntax_error_at(last.copied().unwrap_or(token));
            }
            TokenKind::Reserved => Cause::Keyword { keyword: token.span.of(self.text).into() },
            TokenKind::UnclosedQuote => {
                let text = token.span.of(self.text).trim_start_matches(['N', 'n']);
                Cause::UnclosedQuote { rest: text.get(1..).unwrap_or_default().into() }
            }
            TokenKind::UnclosedComment => Cause::UnclosedComment,
            _ => return self.syntax_error_at(token),
        };
        Error { cause, span: token.span }
    }

    fn syntax_error_at(&self, token: Token) -> Error {
        Error {
            cause: Cause::Syntax { near: self.shown(token) },
            span: token.span,
        }
    }

    /// A token as messages show it: strings and names without their delimiters.
    pub(super) fn shown(&self, token: Token) -> Box<str> {
        let text = token.span.of(self.text);
        match token.kind {
            TokenKind::String
            | TokenKind::NationalString
            | TokenKind::Bracketed
            | TokenKind::DoubleQuoted => delimited_value(text).into(),
            _ => text.into(),
        }
    }
}
