//! The lexer: text to tokens, without copying.
//!
//! ```text
//! [a]]b] "a""b" a #t ##t      names; bare words may be keywords
//! @v @@rowcount $action       variables, global variables, pseudo columns
//! 12 1.5 .5 1e0 1e $1 £1 0xA  numbers
//! 'it''s' N'x'                strings
//! -- …    /* … /* … */ … */   comments, nested
//! ```
//!
//! Invariants
//! - Tokens are in order, do not overlap, and the last one is [`TokenKind::End`].
//! - A string or comment without end is a token, so that an error before it is reported first.
//! - Lines are counted by line feeds.

use crate::error::{Cause, Error};
use crate::reserved::is_reserved;
use crate::span::Span;
use crate::token::{Token, TokenKind};

mod symbol;
mod value;

pub use value::{binary_value, delimited_value};

/// The tokens of a text, ending with [`TokenKind::End`].
///
/// # Errors
/// [`Cause::TextTooLong`] when offsets do not fit 32 bits.
pub fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    if u32::try_from(text.len()).is_err() {
        return Err(Error { cause: Cause::TextTooLong, span: Span::default() });
    }
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut tokens = Vec::with_capacity(text.len() / 4 + 2);
    loop {
        let token = lexer.token();
        tokens.push(token);
        if token.kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

/// True for the first character of a bare word.
pub(crate) fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '#' || (!c.is_ascii() && c.is_alphabetic())
}

/// True for the other characters of a bare word.
pub(crate) fn continues_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c, '_' | '#' | '@' | '$')
        || (!c.is_ascii() && (c.is_alphanumeric() || is_combining(c)))
}

/// Marks that follow a letter in names.
fn is_combining(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{5b0}'..='\u{5c7}' | '\u{64b}'..='\u{65f}'
        | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}' | '\u{200c}' | '\u{200d}')
}

/// True for a currency sign that begins a money literal.
fn is_currency(c: char) -> bool {
    matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{9f2}' | '\u{9f3}' | '\u{e3f}' | '\u{17db}'
        | '\u{20a0}'..='\u{20bf}' | '\u{fdfc}' | '\u{fe69}' | '\u{ff04}' | '\u{ffe0}'
        | '\u{ffe1}' | '\u{ffe5}' | '\u{ffe6}')
}

/// Blanks between tokens: white space, control characters, the byte order mark.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}'
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or_default()
    }

    fn char(&self) -> Option<char> {
        let byte = self.byte(0);
        if byte != 0 && byte.is_ascii() {
            return Some(char::from(byte));
        }
        self.rest().chars().next()
    }

    /// Moves past a character, counting lines.
    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
        self.line += u32::from(c == '\n');
    }

    fn skip_while(&mut self, belongs: impl Fn(char) -> bool) {
        while let Some(c) = self.char()
            && belongs(c)
        {
            self.skip(c);
        }
    }

    /// The next token, after blanks and comments.
    fn token(&mut self) -> Token {
        loop {
            self.skip_while(is_blank);
            match (self.byte(0), self.byte(1)) {
                (b'-', b'-') => self.skip_while(|c| c != '\n'),
                (b'/', b'*') => {
                    let start = self.span();
                    if !self.comment() {
                        return self.ended(TokenKind::UnclosedComment, start);
                    }
                }
                _ => break,
            }
        }
        let start = self.span();
        let kind = self.kind();
        self.ended(kind, start)
    }

    fn span(&self) -> Span {
        let at = self.at as u32;
        Span { start: at, end: at, line: self.line }
    }

    fn ended(&self, kind: TokenKind, start: Span) -> Token {
        Token { kind, span: Span { end: self.at as u32, ..start } }
    }

    /// Moves past a comment with those inside it; false when it has no end.
    fn comment(&mut self) -> bool {
        let mut depth = 0usize;
        while let Some(c) = self.char() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.skip(c),
            }
        }
        false
    }

    fn kind(&mut self) -> TokenKind {
        let Some(c) = self.char() else { return TokenKind::End };
        match c {
            'N' | 'n' if self.byte(1) == b'\'' => {
                self.at += 1;
                self.delimited('\'', TokenKind::NationalString)
            }
            _ if begins_word(c) => self.word(),
            '@' => self.variable(),
            '\'' => self.delimited('\'', TokenKind::String),
            '[' => self.delimited(']', TokenKind::Bracketed),
            '"' => self.delimited('"', TokenKind::DoubleQuoted),
            '0' if matches!(self.byte(1), b'x' | b'X') => self.binary(),
            '0'..='9' => self.number(),
            '.' if self.byte(1).is_ascii_digit() => self.number(),
            _ if is_currency(c) => self.currency(c),
            _ => self.symbol(c),
        }
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        self.skip_while(continues_word);
        let word = self.text.get(start..self.at).unwrap_or_default();
        if is_reserved(word) { TokenKind::Reserved } else { TokenKind::Word }
    }

    fn variable(&mut self) -> TokenKind {
        self.at += 1;
        let kind =
            if self.byte(0) == b'@' { TokenKind::GlobalVariable } else { TokenKind::Variable };
        self.skip_while(continues_word);
        kind
    }

    /// Moves past a string or delimited name; a doubled `end` stands for itself.
    fn delimited(&mut self, end: char, kind: TokenKind) -> TokenKind {
        self.at += 1;
        while let Some(c) = self.char() {
            self.skip(c);
            if c == end {
                if self.char() != Some(end) {
                    return kind;
                }
                self.skip(end);
            }
        }
        TokenKind::UnclosedQuote
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Digits with or without a point, with or without an exponent; the exponent may have no
    /// digits.
    fn number(&mut self) -> TokenKind {
        self.digits();
        let has_point = self.byte(0) == b'.';
        if has_point {
            self.at += 1;
            self.digits();
        }
        if !matches!(self.byte(0), b'e' | b'E') {
            return if has_point { TokenKind::Decimal } else { TokenKind::Integer };
        }
        self.at += 1;
        if matches!(self.byte(0), b'+' | b'-') {
            self.at += 1;
        }
        self.digits();
        TokenKind::Float
    }

    /// Hexadecimal digits; a backslash at the end of a line continues on the next.
    fn binary(&mut self) -> TokenKind {
        self.at += 2;
        loop {
            while self.byte(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            let is_continued = self.rest().starts_with("\\\n") || self.rest().starts_with("\\\r\n");
            if !is_continued {
                return TokenKind::Binary;
            }
            self.at += if self.byte(1) == b'\n' { 2 } else { 3 };
            self.line += 1;
        }
    }

    /// A word after a dollar sign, or money with digits, commas and a point.
    fn currency(&mut self, sign: char) -> TokenKind {
        self.skip(sign);
        if sign == '$' && self.char().is_some_and(begins_word) {
            self.skip_while(continues_word);
            return TokenKind::DollarWord;
        }
        self.money_digits();
        TokenKind::Money
    }

    /// Commas belong to the number when digits are on both sides.
    fn money_digits(&mut self) {
        self.digits();
        if self.byte(0) == b'.' {
            self.at += 1;
            self.digits();
        }
    }
}

#[cfg(test)]
mod tests;
