//! Tokens: what the lexer makes of a text.

use crate::span::Span;

/// A token and where it stands. Its text is the part of the source that [`Token::span`] covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its bytes, delimiters included.
    pub span: Span,
}

/// Kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TokenKind {
    /// A bare word that is not reserved: a name, or a keyword where the grammar expects one.
    Word,
    /// A reserved word.
    Reserved,
    /// `[a]]b]`
    Bracketed,
    /// `"a""b"`: a name when QUOTED_IDENTIFIER is on, a string when it is off.
    DoubleQuoted,
    /// `@name`
    Variable,
    /// `@@name`
    GlobalVariable,
    /// `$action`, `$identity`, `$rowguid`, `$partition` …
    DollarWord,
    /// `12`
    Integer,
    /// `1.5`, `1.`, `.5`
    Decimal,
    /// `1e0`, `1.5E-3`, `1e`
    Float,
    /// `$1.50`, `£1`, `$`
    Money,
    /// `0x0AFF`
    Binary,
    /// `'it''s'`
    String,
    /// `N'it''s'`
    NationalString,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `{`
    LeftBrace,
    /// `}`
    RightBrace,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// `=`
    Equal,
    /// `<>` or `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `!<`
    NotLess,
    /// `!>`
    NotGreater,
    /// `!` alone, as in `! =`
    Exclamation,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `&`
    Ampersand,
    /// `|`
    Pipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `+=`
    PlusEqual,
    /// `-=`
    MinusEqual,
    /// `*=`
    StarEqual,
    /// `/=`
    SlashEqual,
    /// `%=`
    PercentEqual,
    /// `&=`
    AmpersandEqual,
    /// `|=`
    PipeEqual,
    /// `^=`
    CaretEqual,
    /// A string or delimited name without end; the parser reports it when it meets it.
    UnclosedQuote,
    /// A comment without end.
    UnclosedComment,
    /// A character that begins no token.
    Unknown,
    /// The end of the text.
    End,
}
