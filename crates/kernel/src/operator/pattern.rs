//! LIKE and PATINDEX of statements: any characters, any pattern, by the collation.
//!
//! ```text
//! %  any text     _  one character     [a-c] [^x]  one of, none of      escape  the next as it is
//! ```
//!
//! A pattern is taken apart once where it is a constant, else when it changes from one row to the
//! next. Membership of ASCII characters in a set is a bit, whatever the order of the collation.
//! Blanks at the end of a char text may be left over; those of an nchar text count.

use extentdb_types::Collation;

use crate::arena::Arena;
use crate::lane::{Lane, Lanes, Reg, Span, zip};
use crate::operator::ascii::{Encoding, is_same};
use crate::operator::compare::order_text;

/// How characters compare.
#[derive(Debug, Clone, Copy)]
pub struct Alphabet {
    /// The collation of text and pattern.
    pub collation: Collation,
    /// The encoding of both.
    pub encoding: Encoding,
    /// ASCII letters are simply letters.
    pub has_plain_ascii: bool,
    /// Letters equal those of the other case.
    pub ignores_case: bool,
}

/// LIKE or PATINDEX.
#[derive(Debug, Clone)]
pub struct Op {
    /// The text.
    pub a: Reg,
    /// What it is compared with.
    pub pattern: Reg,
    /// The character of ESCAPE.
    pub escape: Option<u32>,
    /// How characters compare.
    pub alphabet: Alphabet,
    /// PATINDEX: where the pattern is found, not whether it matches.
    pub is_index: bool,
}

/// An element of a pattern.
#[derive(Debug, Clone, PartialEq)]
enum Element {
    Any,
    Each,
    One(u32),
    Set {
        /// ASCII characters in the set.
        ascii: u128,
        ranges: Vec<(u32, u32)>,
        is_negated: bool,
    },
    /// A set without end, an escape of nothing.
    Nothing,
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &Arena, out: &mut Lane) {
        let mut last: Option<(Span, Vec<Element>)> = None;
        zip(out, (lanes.at(self.a), lanes.at(self.pattern)), |a: Span, pattern: Span| {
            let is_known = |known: &(Span, Vec<Element>)| {
                known.0 == pattern || arena.get(known.0) == arena.get(pattern)
            };
            let (_, elements) = match last.take().filter(is_known) {
                Some(known) => last.insert(known),
                None => last.insert((pattern, self.parse(arena.get(pattern)))),
            };
            Ok::<i64, _>(self.row(arena.get(a), elements))
        });
    }

    fn parse(&self, pattern: &[u8]) -> Vec<Element> {
        parse(&points(pattern, self.alphabet.encoding), self.escape, self.alphabet)
    }

    fn row(&self, text: &[u8], pattern: &[Element]) -> i64 {
        match self.alphabet.encoding {
            Encoding::SingleByte | Encoding::MultiByte => self.answer(text, pattern),
            Encoding::Utf16 | Encoding::Supplementary => {
                self.answer(text.as_chunks::<2>().0, pattern)
            }
            Encoding::CodePoints => {
                self.answer(points(text, self.alphabet.encoding).as_slice(), pattern)
            }
        }
    }

    fn answer<T: Characters + ?Sized>(&self, text: &T, pattern: &[Element]) -> i64 {
        if !self.is_index {
            return i64::from(matches(text, 0, pattern, self.alphabet));
        }
        match pattern.split_first() {
            Some((Element::Any, rest)) => {
                let found = |from: &usize| matches(text, *from, rest, self.alphabet);
                (0..=text.len()).find(found).map_or(0, |at| at as i64 + 1)
            }
            _ => i64::from(matches(text, 0, pattern, self.alphabet)),
        }
    }
}

/// A text by its characters.
trait Characters {
    fn len(&self) -> usize;
    fn at(&self, at: usize) -> Option<u32>;

    /// The first position from `from` on, at most the end, where an element may take a character.
    fn candidate(&self, from: usize, _: Option<&Element>, _: Alphabet) -> usize {
        from
    }
}

impl Characters for [u8] {
    fn candidate(&self, from: usize, element: Option<&Element>, alphabet: Alphabet) -> usize {
        let (Some(Element::One(one)), Some(rest)) = (element, self.get(from..)) else {
            return from;
        };
        let Some(one) = u8::try_from(*one).ok().filter(|one| is_plain((*one).into())) else {
            return from;
        };
        if !alphabet.has_plain_ascii {
            return from;
        }
        let other = match alphabet.ignores_case && one.is_ascii_alphabetic() {
            true => one ^ 0x20,
            false => one,
        };
        let may_be = |byte: &u8| *byte == one || *byte == other || !is_plain((*byte).into());
        from + rest.iter().position(may_be).unwrap_or(rest.len())
    }
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
    fn at(&self, at: usize) -> Option<u32> {
        self.get(at).map(|byte| u32::from(*byte))
    }
}

impl Characters for [[u8; 2]] {
    fn len(&self) -> usize {
        <[[u8; 2]]>::len(self)
    }
    fn at(&self, at: usize) -> Option<u32> {
        self.get(at).map(|pair| u16::from_le_bytes(*pair).into())
    }
}

impl Characters for [u32] {
    fn len(&self) -> usize {
        <[u32]>::len(self)
    }
    fn at(&self, at: usize) -> Option<u32> {
        self.get(at).copied()
    }
}

/// The characters of a text: bytes, code units or code points.
pub(crate) fn points(text: &[u8], encoding: Encoding) -> Vec<u32> {
    if encoding.unit() == 1 {
        return text.iter().map(|byte| u32::from(*byte)).collect();
    }
    let units = text.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair));
    if encoding != Encoding::CodePoints {
        return units.map(u32::from).collect();
    }
    char::decode_utf16(units)
        .map(|point| point.map_or_else(|error| error.unpaired_surrogate().into(), u32::from))
        .collect()
}

/// Two pointers: on a mismatch, the last `%` takes one character more.
fn matches<T: Characters + ?Sized>(
    text: &T,
    from: usize,
    pattern: &[Element],
    alphabet: Alphabet,
) -> bool {
    let mut at = from;
    let mut part = 0;
    let mut last: Option<(usize, usize)> = None;
    loop {
        match (text.at(at), pattern.get(part)) {
            (_, Some(Element::Any)) => {
                part += 1;
                last = Some((at, part));
                continue;
            }
            (None, None) => return true,
            (Some(_), None) if alphabet.encoding.unit() == 1 && is_blank_from(text, at) => {
                return true;
            }
            (Some(character), Some(element)) if takes(element, character, alphabet) => {
                at += 1;
                part += 1;
                continue;
            }
            (None, Some(_)) => return false,
            _ => {}
        }
        let Some((before, after)) = last else { return false };
        at = text.candidate(before + 1, pattern.get(after), alphabet);
        part = after;
        last = Some((at, after));
    }
}

/// A printable character of ASCII?
#[inline]
fn is_plain(character: u32) -> bool {
    (0x20..0x7F).contains(&character)
}

fn is_blank_from<T: Characters + ?Sized>(text: &T, from: usize) -> bool {
    (from..text.len()).all(|at| text.at(at) == Some(u32::from(b' ')))
}

fn takes(element: &Element, character: u32, alphabet: Alphabet) -> bool {
    match element {
        Element::Any | Element::Nothing => false,
        Element::Each => true,
        Element::One(one) => match alphabet.ascii_same(*one, character) {
            Some(is_same) => is_same,
            None => alphabet.is_same(*one, character),
        },
        Element::Set { ascii, is_negated, .. } if character < 128 => {
            (ascii >> character & 1 == 1) != *is_negated
        }
        Element::Set { ranges, is_negated, .. } => alphabet.is_in(ranges, character) != *is_negated,
    }
}

impl Alphabet {
    /// Are two characters of ASCII the same? `None` where the collation has to say.
    #[inline]
    fn ascii_same(self, a: u32, b: u32) -> Option<bool> {
        if a == b {
            return Some(true);
        }
        if !self.has_plain_ascii || !is_plain(a) || !is_plain(b) {
            return None;
        }
        let is_letter = (u32::from(b'a')..=u32::from(b'z')).contains(&(a | 0x20));
        Some(self.ignores_case && is_letter && (a ^ b) == 0x20)
    }

    /// The bytes of a character.
    fn bytes(self, character: u32, to: &mut [u8; 4]) -> usize {
        if self.encoding.unit() == 1 {
            to[0] = character as u8;
            return 1;
        }
        let mut units = [0; 2];
        let count = match char::from_u32(character) {
            Some(character) => character.encode_utf16(&mut units).len(),
            None => {
                units[0] = character as u16;
                1
            }
        };
        for (pair, unit) in to.as_chunks_mut::<2>().0.iter_mut().zip(units) {
            *pair = unit.to_le_bytes();
        }
        count * 2
    }

    fn is_same(self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        let mut text_a = [0; 4];
        let mut text_b = [0; 4];
        let len_a = self.bytes(a, &mut text_a);
        let len_b = self.bytes(b, &mut text_b);
        is_same(
            self.collation,
            self.encoding,
            self.has_plain_ascii,
            text_a.get(..len_a).unwrap_or_default(),
            text_b.get(..len_b).unwrap_or_default(),
        )
    }

    fn order(self, a: u32, b: u32) -> std::cmp::Ordering {
        let mut text_a = [0; 4];
        let mut text_b = [0; 4];
        let len_a = self.bytes(a, &mut text_a);
        let len_b = self.bytes(b, &mut text_b);
        order_text(
            self.collation,
            self.encoding,
            text_a.get(..len_a).unwrap_or_default(),
            text_b.get(..len_b).unwrap_or_default(),
        )
    }

    fn is_in(self, ranges: &[(u32, u32)], character: u32) -> bool {
        ranges.iter().any(|(from, to)| {
            self.is_same(*from, character)
                || self.is_same(*to, character)
                || (from != to
                    && self.order(*from, character).is_le()
                    && self.order(character, *to).is_le())
        })
    }
}

fn parse(pattern: &[u32], escape: Option<u32>, alphabet: Alphabet) -> Vec<Element> {
    const ANY: u32 = b'%' as u32;
    const EACH: u32 = b'_' as u32;
    const SET: u32 = b'[' as u32;
    let mut elements = Vec::new();
    let mut rest = pattern;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        elements.push(match *first {
            it if Some(it) == escape => match rest.split_first() {
                Some((next, after)) => {
                    rest = after;
                    Element::One(*next)
                }
                None => Element::Nothing,
            },
            ANY => Element::Any,
            EACH => Element::Each,
            SET => parse_set(&mut rest, escape, alphabet),
            it => Element::One(it),
        });
    }
    elements
}

/// What stands after `[`, up to its `]`.
fn parse_set(rest: &mut &[u32], escape: Option<u32>, alphabet: Alphabet) -> Element {
    let is_negated = rest.first() == Some(&u32::from(b'^'));
    let mut members: Vec<(u32, bool)> = Vec::new();
    let mut at = usize::from(is_negated);
    loop {
        match rest.get(at) {
            None => {
                *rest = &[];
                return Element::Nothing;
            }
            Some(it) if Some(*it) == escape && at + 1 < rest.len() => {
                members.extend(rest.get(at + 1).map(|next| (*next, true)));
                at += 2;
            }
            Some(it) if *it == u32::from(b']') => break,
            Some(it) => {
                members.push((*it, false));
                at += 1;
            }
        }
    }
    *rest = rest.get(at + 1..).unwrap_or_default();
    let mut ranges = Vec::new();
    let mut members = members.as_slice();
    const TO: (u32, bool) = (b'-' as u32, false);
    while let Some((first, after)) = members.split_first() {
        members = after;
        match members {
            [TO, to, after @ ..] => {
                ranges.push((first.0, to.0));
                members = after;
            }
            _ => ranges.push((first.0, first.0)),
        }
    }
    let ascii = (0..128)
        .filter(|character| alphabet.is_in(&ranges, *character))
        .fold(0, |set, character| set | 1u128 << character);
    Element::Set { ascii, ranges, is_negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alphabet(collation: &str, is_wide: bool) -> Alphabet {
        let collation = Collation::from_name(collation).unwrap();
        let encoding = if is_wide { Encoding::Utf16 } else { Encoding::SingleByte };
        Alphabet {
            collation,
            encoding,
            has_plain_ascii: collation.has_plain_ascii(is_wide),
            ignores_case: collation.ignores_case(),
        }
    }

    fn like(text: &[u8], pattern: &[u8], escape: Option<u32>, alphabet: Alphabet) -> bool {
        let op = Op {
            a: Reg(0),
            pattern: Reg(0),
            escape,
            alphabet,
            is_index: false,
        };
        op.row(text, &op.parse(pattern)) == 1
    }

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn patterns_match_as_documented() {
        let cases = [
            ("abc", "ABC", true),
            ("abc", "a%", true),
            ("abc", "%b%", true),
            ("", "%", true),
            ("", "_", false),
            ("5%", "5[%]", true),
            ("a_b", "a!_b", true),
            ("axb", "a!_b", false),
            ("[x", "[[]x", true),
            ("a]", "a]", true),
            ("b", "[a-c]", true),
            ("d", "[a-c]", false),
            ("d", "[^a-c]", true),
            ("-", "[a-]", true),
            ("x", "[x", false),
            ("é", "[d-f]", true),
            ("é", "É", true),
            ("é", "e", false),
            ("abc", "", false),
        ];
        for (text, pattern, expected) in cases {
            let it = alphabet("SQL_Latin1_General_CP1_CI_AS", true);
            let found = like(&wide(text), &wide(pattern), Some('!'.into()), it);
            assert_eq!(found, expected, "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn a_text_is_found_wherever_it_begins() {
        let latin = alphabet("SQL_Latin1_General_CP1_CI_AS", false);
        let binary = alphabet("Latin1_General_BIN", false);
        let cases: [(&[u8], &[u8], bool, bool); 8] = [
            (b"the special REQUESTS of some", b"%special%requests%", true, false),
            (b"the special requests of some", b"%special%requests%", true, true),
            (b"sspecialrrequest", b"%special%requests%", false, false),
            (b"requests special", b"%special%requests%", false, false),
            (b"aaab", b"%aab", true, true),
            (b"aaa", b"%aab", false, false),
            (b"caf\xe9 \xe9A", b"%A", true, true),
            (b"x  ", b"%x", true, true),
        ];
        for (text, pattern, insensitive, exact) in cases {
            assert_eq!(like(text, pattern, None, latin), insensitive, "{text:?} {pattern:?}");
            assert_eq!(like(text, pattern, None, binary), exact, "{text:?} {pattern:?}");
        }
    }

    #[test]
    fn blanks_at_the_end_of_a_char_text_may_be_left_over() {
        let narrow = alphabet("SQL_Latin1_General_CP1_CI_AS", false);
        assert!(like(b"abc ", b"abc", None, narrow));
        assert!(!like(b"abc", b"abc ", None, narrow));
        assert!(like(b"  ", b"", None, narrow));
        let it = alphabet("SQL_Latin1_General_CP1_CI_AS", true);
        assert!(!like(&wide("abc "), &wide("abc"), None, it));
    }
}
