//! Operators and punctuation.

use super::Lexer;
use crate::token::TokenKind;

/// Tokens of two characters.
const PAIRS: [(&[u8; 2], TokenKind); 17] = [
    (b"::", TokenKind::DoubleColon),
    (b"<>", TokenKind::NotEqual),
    (b"!=", TokenKind::NotEqual),
    (b"<=", TokenKind::LessOrEqual),
    (b">=", TokenKind::GreaterOrEqual),
    (b"!<", TokenKind::NotLess),
    (b"!>", TokenKind::NotGreater),
    (b"<<", TokenKind::ShiftLeft),
    (b">>", TokenKind::ShiftRight),
    (b"+=", TokenKind::PlusEqual),
    (b"-=", TokenKind::MinusEqual),
    (b"*=", TokenKind::StarEqual),
    (b"/=", TokenKind::SlashEqual),
    (b"%=", TokenKind::PercentEqual),
    (b"&=", TokenKind::AmpersandEqual),
    (b"|=", TokenKind::PipeEqual),
    (b"^=", TokenKind::CaretEqual),
];

impl Lexer<'_> {
    /// An operator, or a character that begins no token.
    pub(super) fn symbol(&mut self, c: char) -> TokenKind {
        let pair = [self.byte(0), self.byte(1)];
        if is_first_of_pair(c)
            && let Some((_, kind)) = PAIRS.iter().find(|(known, _)| **known == pair)
        {
            self.at += 2;
            return *kind;
        }
        self.skip(c);
        single(c)
    }
}

fn is_first_of_pair(c: char) -> bool {
    matches!(c, ':' | '<' | '>' | '!' | '+' | '-' | '*' | '/' | '%' | '&' | '|' | '^')
}

fn single(c: char) -> TokenKind {
    match c {
        '(' => TokenKind::LeftParen,
        ')' => TokenKind::RightParen,
        '{' => TokenKind::LeftBrace,
        '}' => TokenKind::RightBrace,
        ',' => TokenKind::Comma,
        '.' => TokenKind::Dot,
        ';' => TokenKind::Semicolon,
        ':' => TokenKind::Colon,
        '=' => TokenKind::Equal,
        '<' => TokenKind::Less,
        '>' => TokenKind::Greater,
        '!' => TokenKind::Exclamation,
        '+' => TokenKind::Plus,
        '-' => TokenKind::Minus,
        '*' => TokenKind::Star,
        '/' => TokenKind::Slash,
        '%' => TokenKind::Percent,
        '&' => TokenKind::Ampersand,
        '|' => TokenKind::Pipe,
        '^' => TokenKind::Caret,
        '~' => TokenKind::Tilde,
        _ => TokenKind::Unknown,
    }
}
