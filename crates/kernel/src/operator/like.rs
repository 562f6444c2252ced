//! LIKE: `%`, `_`, `[a-z]`, `[^a-z]` and ESCAPE, over printable ASCII.
//!
//! The pattern is a literal, parsed once. Sets and ranges follow the order of the collation, one
//! character at a time; a text with a character outside printable ASCII leaves its row open. Blanks
//! at the end of the text are ignored for char types and count for nchar types; where that alone
//! decides, the row is open, too.

use extentdb_types::Collation;

use crate::arena::Arena;
use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, Lanes, Reg, Span, map};
use crate::operator::ascii::{self, Encoding};
use crate::operator::compare::compare_text;

/// LIKE with a literal.
#[derive(Debug, Clone)]
pub struct Op {
    /// The text.
    pub a: Reg,
    /// What it is compared with.
    pub pattern: Pattern,
    /// The collation of both.
    pub collation: Collation,
    /// The encoding of the text.
    pub encoding: Encoding,
}

/// A pattern taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern(Vec<PatternElement>);

impl Pattern {
    /// The pattern of a literal; `None` for forms whose reading is not certain.
    pub fn parse(text: &str, escape: Option<char>) -> Option<Pattern> {
        let escape = match escape {
            Some(escape) => Some(u8::try_from(escape).ok()?),
            None => None,
        };
        if !ascii::is_printable(text.as_bytes(), 1) {
            return None;
        }
        let mut parts = Vec::new();
        let mut rest = text.bytes();
        while let Some(byte) = rest.next() {
            parts.push(match byte {
                _ if Some(byte) == escape => PatternElement::One(rest.next()?),
                b'%' => PatternElement::Any,
                b'_' => PatternElement::Each,
                b'[' => parse_set(&mut rest, escape)?,
                _ => PatternElement::One(byte),
            });
        }
        Some(Pattern(parts))
    }
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &Arena, out: &mut Lane) {
        map(out, lanes.at(self.a), |a: Span| self.matches(arena.get(a)));
    }

    fn matches(&self, text: &[u8]) -> EvalResult<i64> {
        if !ascii::is_printable(text, self.encoding.unit()) {
            return Err(EvalError::Characters);
        }
        let trimmed = text.get(..self.encoding.trim_end(text)).unwrap_or_default();
        let whole = self.matches_all(text)?;
        let is_settled = trimmed.len() == text.len() || whole == self.matches_all(trimmed)?;
        if is_settled { Ok(i64::from(whole)) } else { Err(EvalError::Form) }
    }

    /// Two pointers: on a mismatch, the last `%` takes one character more.
    fn matches_all(&self, text: &[u8]) -> EvalResult<bool> {
        let unit = self.encoding.unit();
        let pattern = self.pattern.0.as_slice();
        let mut at = 0;
        let mut part = 0;
        let mut last: Option<(usize, usize)> = None;
        loop {
            match (text.get(at * unit), pattern.get(part)) {
                (_, Some(PatternElement::Any)) => {
                    part += 1;
                    last = Some((at, part));
                    continue;
                }
                (None, None) => return Ok(true),
                (Some(byte), Some(one)) if self.takes(one, *byte)? => {
                    (at, part) = (at + 1, part + 1);
                    continue;
                }
                (None, Some(_)) => return Ok(false),
                _ => {}
            }
            let Some((from, after)) = last else { return Ok(false) };
            (at, part) = (from + 1, after);
            last = Some((from + 1, after));
        }
    }

    fn takes(&self, part: &PatternElement, byte: u8) -> EvalResult<bool> {
        match part {
            PatternElement::Any => Ok(false),
            PatternElement::Each => Ok(true),
            PatternElement::One(one) => Ok(self.is_same(*one, byte)),
            PatternElement::Set { ranges, is_negated } => {
                for (from, to) in ranges {
                    if self.is_within(byte, *from, *to)? {
                        return Ok(!is_negated);
                    }
                }
                Ok(*is_negated)
            }
        }
    }

    fn is_same(&self, a: u8, b: u8) -> bool {
        a == b || (self.collation.ignores_case() && a.eq_ignore_ascii_case(&b))
    }

    fn is_within(&self, byte: u8, from: u8, to: u8) -> EvalResult<bool> {
        if self.is_same(byte, from) || self.is_same(byte, to) {
            return Ok(true);
        }
        if from == to {
            return Ok(false);
        }
        let order = |a: u8, b: u8| match self.encoding.unit() {
            1 => compare_text(self.collation, self.encoding, &[a], &[b]),
            _ => compare_text(self.collation, self.encoding, &[a, 0], &[b, 0]),
        };
        Ok(order(from, byte)?.is_le() && order(byte, to)?.is_le())
    }
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq)]
enum PatternElement {
    /// `%`: any text, the empty one included.
    Any,
    /// `_`: one character, whatever it is.
    Each,
    One(u8),
    Set {
        ranges: Vec<(u8, u8)>,
        is_negated: bool,
    },
}

/// What stands after `[`. Forms whose reading is not certain (no end, an empty set, a hyphen at an
/// edge) are open.
fn parse_set(rest: &mut impl Iterator<Item = u8>, escape: Option<u8>) -> Option<PatternElement> {
    let mut inner: Vec<u8> = Vec::new();
    loop {
        match rest.next()? {
            b']' => break,
            byte if Some(byte) == escape => return None,
            byte => inner.push(byte),
        }
    }
    let (is_negated, members) = match inner.split_first() {
        Some((b'^', members)) => (true, members),
        _ => (false, inner.as_slice()),
    };
    // A lone wildcard or symbol in brackets stands for itself, the hyphen, too.
    let mut ranges = Vec::new();
    let mut members = members;
    loop {
        members = match members {
            [] if ranges.is_empty() => return None,
            [] => return Some(PatternElement::Set { ranges, is_negated }),
            [from, b'-', to, after @ ..] if *from != b'-' && *to != b'-' => {
                ranges.push((*from, *to));
                after
            }
            [b'-'] if ranges.is_empty() => {
                ranges.push((b'-', b'-'));
                &[]
            }
            [b'-', ..] => return None,
            [one, after @ ..] => {
                ranges.push((*one, *one));
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str, collation: &str) -> EvalResult<bool> {
        let collation = Collation::from_name(collation).unwrap();
        let pattern = Pattern::parse(pattern, Some('!')).ok_or(EvalError::Form)?;
        let op = Op {
            a: Reg(0),
            pattern,
            collation,
            encoding: Encoding::SingleByte,
        };
        op.matches(text.as_bytes()).map(|it| it == 1)
    }

    #[test]
    fn wildcards_match_as_documented() {
        let cases = [
            ("abc", "abc", true),
            ("ABC", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("ac", "a_c", false),
            ("", "%", true),
            ("", "_", false),
            ("5%", "5[%]", true),
            ("50", "5[%]", false),
            ("a_b", "a!_b", true),
            ("axb", "a!_b", false),
            ("172-32-1176", "[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]", true),
            ("172-32-117x", "[0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][0-9][0-9]", false),
            ("PMA42628M", "[A-Z][A-Z][A-Z][1-9][0-9][0-9][0-9][0-9][FM]", true),
            ("H-B39728F", "[A-Z]-[A-Z][1-9][0-9][0-9][0-9][0-9][FM]", true),
            ("9952", "99[0-9][0-9]", true),
            ("Carsen", "[CK]ars[eo]n", true),
            ("design", "de[^l]%", true),
            ("delta", "de[^l]%", false),
            ("aXbXc", "a%X%c", true),
        ];
        for (text, pattern, expected) in cases {
            assert_eq!(
                like(text, pattern, "SQL_Latin1_General_CP1_CI_AS"),
                Ok(expected),
                "{text} LIKE {pattern}"
            );
        }
    }

    #[test]
    fn a_range_follows_the_collation() {
        assert_eq!(like("b", "[A-C]", "Latin1_General_BIN2"), Ok(false));
        assert_eq!(like("b", "[A-C]", "Latin1_General_CS_AS"), Ok(true), "A b B c C");
        assert_eq!(like("B", "B", "Latin1_General_CS_AS"), Ok(true));
        assert_eq!(like("b", "B", "Latin1_General_CS_AS"), Ok(false));
    }

    #[test]
    fn what_is_not_certain_is_open() {
        let collation = "SQL_Latin1_General_CP1_CI_AS";
        assert_eq!(
            like("abc  ", "abc", collation),
            Err(EvalError::Form),
            "blanks at the end decide"
        );
        assert_eq!(like("abc  ", "abc%", collation), Ok(true));
        assert_eq!(like("a", "[a", collation), Err(EvalError::Form));
        assert_eq!(like("é", "_", collation), Err(EvalError::Characters));
    }
}
