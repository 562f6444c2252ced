//! Templates in SQL Server's printf-like form, and filling them.
//!
//! ```text
//! %d %ld %I64d          number, decimal
//! %x %08x %#016I64x     number, hexadecimal; width and # as in C
//! %s %ls %hs %.*ls      text (the length of %.*ls comes with the text: one argument, not two)
//! %S_PGID               page, printed as (file:page)
//! %S_MSG %S_LSN %S_DATE text
//! %%                    a percent sign
//! ```
//!
//! Invariant: the arguments fit the holes one to one, in number and in kind. What does not fit is
//! an error of the caller and is returned as one; nothing is left out or made up.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// What fills a hole of a template.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Arg<'a> {
    /// For `%d`, `%I64d`, `%x` and their relatives.
    Int(i64),
    /// For `%ls`, `%.*ls`, `%hs`, `%S_MSG`, `%S_LSN`, `%S_DATE`.
    Text(Cow<'a, str>),
    /// For `%S_PGID`, printed `(1:272)`.
    Page {
        /// File of the database.
        file: u16,
        /// Page in the file.
        page: u32,
    },
}

/// What a hole asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgKind {
    /// An integer, [`Arg::Int`].
    Int,
    /// A text, [`Arg::Text`].
    Text,
    /// A page id, [`Arg::Page`].
    Page,
}

/// The arguments do not fit the template.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// Too many or too few.
    ArgumentCount {
        /// Message whose template was filled.
        number: u32,
        /// Holes of the template.
        expected: usize,
        /// Number of arguments that the caller gave.
        given: usize,
    },
    /// An argument of the wrong kind.
    ArgumentKind {
        /// Message whose template was filled.
        number: u32,
        /// Which argument, from 0.
        index: usize,
        /// What the template asks for.
        expected: ArgKind,
        /// What was given.
        given: ArgKind,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::ArgumentCount { number, expected, given } => {
                write!(f, "message {number} takes {expected} arguments, {given} were given")
            }
            FormatError::ArgumentKind { number, index, expected, given } => {
                write!(f, "argument {index} of message {number} is {given:?}, not {expected:?}")
            }
        }
    }
}

impl std::error::Error for FormatError {}

impl Arg<'_> {
    /// What it can fill.
    pub fn kind(&self) -> ArgKind {
        match self {
            Arg::Int(_) => ArgKind::Int,
            Arg::Text(_) => ArgKind::Text,
            Arg::Page { .. } => ArgKind::Page,
        }
    }

    /// The same argument, owning its text.
    pub fn into_owned(self) -> Arg<'static> {
        match self {
            Arg::Int(value) => Arg::Int(value),
            Arg::Text(text) => Arg::Text(Cow::Owned(text.into_owned())),
            Arg::Page { file, page } => Arg::Page { file, page },
        }
    }
}

macro_rules! from_int {
    ($($int:ty)*) => {$(
        impl From<$int> for Arg<'_> {
            fn from(value: $int) -> Self {
                Arg::Int(i64::from(value))
            }
        }
    )*};
}
from_int!(u8 u16 u32 i16 i32 i64);

impl<'a> From<&'a str> for Arg<'a> {
    fn from(text: &'a str) -> Self {
        Arg::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Arg<'_> {
    fn from(text: String) -> Self {
        Arg::Text(Cow::Owned(text))
    }
}

/// What each hole of `template` asks for.
pub(crate) fn arguments(template: &'static str) -> impl Iterator<Item = ArgKind> + 'static {
    Pieces(template).filter_map(|piece| match piece {
        Piece::Literal(_) => None,
        Piece::Hole(hole) => Some(hole.kind()),
    })
}

/// Fills `template`, the text of message `number`.
pub(crate) fn format(number: u32, template: &str, args: &[Arg<'_>]) -> Result<String, FormatError> {
    let mut text = String::with_capacity(template.len() + 16 * args.len());
    let mut used = 0;
    for piece in Pieces(template) {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Hole(hole) => {
                if let Some(arg) = args.get(used) {
                    hole.fill(arg, &mut text).map_err(|()| FormatError::ArgumentKind {
                        number,
                        index: used,
                        expected: hole.kind(),
                        given: arg.kind(),
                    })?;
                }
                used += 1;
            }
        }
    }
    if used != args.len() {
        return Err(FormatError::ArgumentCount { number, expected: used, given: args.len() });
    }
    Ok(text)
}

/// A template cut at its holes.
enum Piece<'t> {
    Literal(&'t str),
    Hole(Hole),
}

/// A hole: what it prints and how.
#[derive(Clone, Copy)]
enum Hole {
    Decimal,
    Hex { width: usize, prefix: bool, wide: bool },
    Text,
    Page,
}

impl Hole {
    fn kind(self) -> ArgKind {
        match self {
            Hole::Decimal | Hole::Hex { .. } => ArgKind::Int,
            Hole::Text => ArgKind::Text,
            Hole::Page => ArgKind::Page,
        }
    }

    /// Prints `arg`; fails when it is of another kind.
    fn fill(self, arg: &Arg<'_>, out: &mut String) -> Result<(), ()> {
        let written = match (self, arg) {
            (Hole::Decimal, Arg::Int(value)) => write!(out, "{value}"),
            (Hole::Hex { width, prefix, wide }, Arg::Int(value)) => {
                // Without I64 the original prints 32 bits, which matters for negative numbers.
                let bits = if wide { *value as u64 } else { u64::from(*value as u32) };
                if prefix {
                    write!(out, "{bits:#0width$x}")
                } else {
                    write!(out, "{bits:0width$x}")
                }
            }
            (Hole::Text, Arg::Text(text)) => out.write_str(text),
            (Hole::Page, Arg::Page { file, page }) => write!(out, "({file}:{page})"),
            _ => return Err(()),
        };
        written.map_err(|_| ())
    }
}

/// Iterator over the pieces of a template. The table is part of the program, so a template that
/// cannot be read is a mistake of ours; the tests read every one.
struct Pieces<'t>(&'t str);

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let template = self.0;
        if template.is_empty() {
            return None;
        }
        let Some(percent) = template.find('%') else {
            self.0 = "";
            return Some(Piece::Literal(template));
        };
        if percent > 0 {
            let (literal, rest) = template.split_at(percent);
            self.0 = rest;
            return Some(Piece::Literal(literal));
        }
        let (piece, rest) = read_hole(&template[1..]);
        self.0 = rest;
        Some(piece)
    }
}

/// Reads what follows a percent sign: a piece and the rest of the template.
fn read_hole(spec: &str) -> (Piece<'_>, &str) {
    if let Some(rest) = spec.strip_prefix('%') {
        return (Piece::Literal("%"), rest);
    }
    if let Some(rest) = spec.strip_prefix("S_PGID") {
        return (Piece::Hole(Hole::Page), rest);
    }
    for name in ["S_MSG", "S_LSN", "S_DATE"] {
        if let Some(rest) = spec.strip_prefix(name) {
            return (Piece::Hole(Hole::Text), rest);
        }
    }
    let prefix = spec.starts_with('#');
    let spec = spec.trim_start_matches('#');
    let digits = spec.len() - spec.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let width = spec[..digits].parse().unwrap_or(0);
    let spec = spec[digits..].trim_start_matches(".*");
    let wide = spec.starts_with("I64");
    let spec = spec.trim_start_matches("I64").trim_start_matches(['l', 'h']);
    let hole = match spec.chars().next() {
        Some('d') => Hole::Decimal,
        Some('x') => Hole::Hex { width, prefix, wide },
        Some('s') => Hole::Text,
        other => panic!("a template holds the unknown conversion {other:?}"),
    };
    (Piece::Hole(hole), &spec[1..])
}
