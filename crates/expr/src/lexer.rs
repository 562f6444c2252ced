//! Tokens of T-SQL as the catalog writes it.
//!
//! ```text
//! [a]]b] "a" a      names; only the last may be a keyword
//! 12  1.5  1e0      integer, decimal, float
//! $1.50             money
//! 'it''s'  N'x'     text
//! 0x0AFF            binary
//! + - * / % & | ^ ~ ( ) , . = <> != < <= !> > >= !<
//! ```
//!
//! Invariants
//! - A text has at most [`MAX_BYTES`] bytes; every token has its byte offset.
//! - Comments are refused: the catalog has none, and `--` could be two signs.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::error::CompileError;

pub(crate) const MAX_BYTES: usize = 64 * 1024;

/// A token and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind {
    /// A bare name or keyword.
    Word(String),
    /// A name in brackets or double quotes.
    Quoted(String),
    Integer(String),
    /// Digits and a point.
    Decimal(String),
    Float(String),
    /// What stands after `$`.
    Money(String),
    Text {
        text: String,
        is_wide: bool,
    },
    Binary(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// All symbols, the longer before their beginnings.
const SYMBOLS: [&str; 22] = [
    "<>", "<=", ">=", "!=", "!<", "!>", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "^", "~",
    "(", ")", ",", ".",
];

/// The tokens of a text, ending with [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, CompileError> {
    if text.len() > MAX_BYTES {
        return Err(CompileError::TooLarge { what: "bytes of text", limit: MAX_BYTES });
    }
    let mut lexer = Lexer { text, rest: text.char_indices().peekable() };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token()?;
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

fn syntax(what: &'static str, at: usize) -> CompileError {
    CompileError::Syntax { what, at }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '@' | '#' | '$')
}

impl<'a> Lexer<'a> {
    fn at(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn remaining(&mut self) -> &'a str {
        let at = self.at();
        self.text.get(at..).unwrap_or_default()
    }

    fn skip(&mut self, characters: usize) {
        for _ in 0..characters {
            self.rest.next();
        }
    }

    fn token(&mut self) -> Result<Token, CompileError> {
        while self.rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let at = self.at();
        let kind = match self.rest.peek().map(|(_, c)| *c) {
            None => TokenKind::End,
            Some('[') => TokenKind::Quoted(self.delimited(']', at)?),
            Some('"') => TokenKind::Quoted(self.delimited('"', at)?),
            Some('\'') => TokenKind::Text { text: self.delimited('\'', at)?, is_wide: false },
            Some('N' | 'n') if self.remaining().get(1..2) == Some("'") => {
                self.skip(1);
                TokenKind::Text { text: self.delimited('\'', at)?, is_wide: true }
            }
            Some('$') => self.money(at)?,
            Some(c) if c.is_ascii_digit() => self.number(at)?,
            Some('.') if self.remaining().as_bytes().get(1).is_some_and(u8::is_ascii_digit) => {
                self.number(at)?
            }
            Some(c) if is_word(c) => TokenKind::Word(self.take_while(is_word).to_owned()),
            Some(_) => self.symbol(at)?,
        };
        Ok(Token { kind, at })
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let start = self.at();
        while self.rest.next_if(|(_, c)| belongs(*c)).is_some() {}
        let end = self.at();
        self.text.get(start..end).unwrap_or_default()
    }

    /// What stands between an opening character and `end`; a doubled `end` stands for itself.
    fn delimited(&mut self, end: char, at: usize) -> Result<String, CompileError> {
        self.rest.next();
        let mut inner = String::new();
        loop {
            match self.rest.next() {
                None => return Err(syntax("text or name without end", at)),
                Some((_, c)) if c != end => inner.push(c),
                Some(_) if self.rest.next_if(|(_, c)| *c == end).is_some() => inner.push(end),
                Some(_) => return Ok(inner),
            }
        }
    }

    fn digits(&mut self) -> &'a str {
        self.take_while(|c| c.is_ascii_digit())
    }

    /// Digits with or without a point; was there one?
    fn plain_number(&mut self) -> (&'a str, bool) {
        let start = self.at();
        self.digits();
        let has_point = self.rest.next_if(|(_, c)| *c == '.').is_some();
        if has_point {
            self.digits();
        }
        let end = self.at();
        (self.text.get(start..end).unwrap_or_default(), has_point)
    }

    fn money(&mut self, at: usize) -> Result<TokenKind, CompileError> {
        self.skip(1);
        let (number, _) = self.plain_number();
        if number.bytes().any(|byte| byte.is_ascii_digit()) {
            Ok(TokenKind::Money(number.to_owned()))
        } else {
            Err(syntax("a number after $", at))
        }
    }

    fn number(&mut self, at: usize) -> Result<TokenKind, CompileError> {
        if let Some("0x" | "0X") = self.remaining().get(..2) {
            self.skip(2);
            return self.binary(at);
        }
        let (number, has_point) = self.plain_number();
        let number = number.to_owned();
        let kind = if self.rest.next_if(|(_, c)| matches!(c, 'e' | 'E')).is_some() {
            let sign = self.take_while(|c| matches!(c, '+' | '-'));
            let exponent = self.digits();
            if sign.len() > 1 || exponent.is_empty() {
                return Err(syntax("an exponent", at));
            }
            TokenKind::Float(format!("{number}e{sign}{exponent}"))
        } else if has_point {
            TokenKind::Decimal(number)
        } else {
            TokenKind::Integer(number)
        };
        match self.rest.peek() {
            Some((_, c)) if is_word(*c) => Err(syntax("a number that ends", at)),
            _ => Ok(kind),
        }
    }

    fn binary(&mut self, at: usize) -> Result<TokenKind, CompileError> {
        let digits = self.take_while(is_word);
        let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
        let pair = |pair: &[u8]| {
            let text = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(text, 16).ok().filter(|_| pair.iter().all(u8::is_ascii_hexdigit))
        };
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(pair).collect();
        bytes.map(TokenKind::Binary).ok_or(syntax("hexadecimal digits", at))
    }

    fn symbol(&mut self, at: usize) -> Result<TokenKind, CompileError> {
        let rest = self.remaining();
        if rest.starts_with("--") || rest.starts_with("/*") {
            return Err(CompileError::Unsupported { what: "a comment".to_owned(), at });
        }
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        let symbol = symbol.ok_or(syntax("a character that begins nothing", at))?;
        self.skip(symbol.len());
        Ok(TokenKind::Symbol(symbol))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn names_and_texts_keep_doubled_ends_as_one() {
        let text = |text: &str, is_wide| TokenKind::Text { text: text.to_owned(), is_wide };
        let quoted = |name: &str| TokenKind::Quoted(name.to_owned());
        assert_eq!(kinds("[a]]b]\"c\"\"d\""), [quoted("a]b"), quoted("c\"d"), TokenKind::End]);
        assert_eq!(kinds("'it''s'N'é'"), [text("it's", false), text("é", true), TokenKind::End]);
    }

    #[test]
    fn numbers_are_told_apart_by_their_form() {
        let own = str::to_owned;
        assert_eq!(
            kinds("12 1.50 .5 1. 1e3 1.0000000000000000e+000 $2.5 0x0aF 0x"),
            [
                TokenKind::Integer(own("12")),
                TokenKind::Decimal(own("1.50")),
                TokenKind::Decimal(own(".5")),
                TokenKind::Decimal(own("1.")),
                TokenKind::Float(own("1e3")),
                TokenKind::Float(own("1.0000000000000000e+000")),
                TokenKind::Money(own("2.5")),
                TokenKind::Binary(vec![0x00, 0xAF]),
                TokenKind::Binary(vec![]),
                TokenKind::End
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_refused_with_its_position() {
        for (text, at) in
            [("1 + 'x", 4), ("[a", 0), ("1e", 0), ("12ab", 0), ("$", 0), ("0xG", 0), ("1 ? 2", 2)]
        {
            assert!(
                matches!(tokens(text), Err(CompileError::Syntax { at: found, .. }) if found == at),
                "{text}"
            );
        }
        assert!(matches!(tokens("1--2"), Err(CompileError::Unsupported { at: 1, .. })));
        assert!(matches!(tokens(&" ".repeat(MAX_BYTES + 1)), Err(CompileError::TooLarge { .. })));
    }
}
