//! Functions of texts.
//!
//! Invariants
//! - What counts characters asks `Encoding::verify_units` first: a text whose characters may be
//!   more than one unit gives [`EvalError::Characters`], never a cut in the middle.
//! - A result that is part of its operand is a span inside it and copies nothing.

use crate::arena::{self, Arena};
use crate::error::{EvalError, EvalResult, NULL, VALUE};
use crate::lane::{Lane, LaneKind, Lanes, Reg, Span, map, zip, zip3};
use crate::operator::ascii::{Encoding, Fold, Search};

/// Which letters change case, beyond ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Casing {
    /// UPPER, not LOWER.
    pub is_upper: bool,
    /// The letters À to Þ and à to þ stand at their Latin-1 numbers.
    pub has_latin1: bool,
    /// Turkish and Azeri: i and I are not a pair.
    pub has_dotless_i: bool,
}

/// Functions of texts.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum Op {
    Len {
        a: Reg,
        encoding: Encoding,
    },
    DataLength {
        a: Reg,
    },
    /// DATALENGTH of a type with one length.
    FixedLength {
        a: Reg,
        len: i64,
    },
    Case {
        a: Reg,
        encoding: Encoding,
        casing: Casing,
    },
    Trim {
        a: Reg,
        encoding: Encoding,
        left: bool,
        right: bool,
    },
    Left {
        a: Reg,
        len: Reg,
        encoding: Encoding,
    },
    Right {
        a: Reg,
        len: Reg,
        encoding: Encoding,
    },
    Substring {
        a: Reg,
        start: Reg,
        len: Reg,
        encoding: Encoding,
    },
    Reverse {
        a: Reg,
        encoding: Encoding,
    },
    Replicate {
        a: Reg,
        count: Reg,
        limit: Option<u16>,
    },
    Concat {
        a: Reg,
        b: Reg,
        limit: Option<u16>,
    },
    /// CONCAT's operands: NULL is the empty text.
    NullAsEmpty {
        a: Reg,
    },
    Stuff {
        a: Reg,
        start: Reg,
        len: Reg,
        with: Reg,
        encoding: Encoding,
        limit: Option<u16>,
    },
    Replace {
        a: Reg,
        pattern: Reg,
        with: Reg,
        encoding: Encoding,
        fold: Fold,
        limit: Option<u16>,
    },
    CharIndex {
        pattern: Reg,
        a: Reg,
        start: Reg,
        encoding: Encoding,
        fold: Fold,
        /// An empty text is nowhere.
        is_decided: bool,
    },
    /// ASCII, UNICODE: the first unit as a number.
    FirstUnit {
        a: Reg,
        encoding: Encoding,
    },
    /// CHAR, NCHAR; NULL outside `0..=most`.
    Character {
        a: Reg,
        is_wide: bool,
        most: i64,
    },
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        match *self {
            Op::Len { a, encoding } => map(out, lanes.at(a), |a: Span| {
                let text = arena.get(a);
                encoding.verify_units(text)?;
                let trimmed = text.get(..encoding.trim_end(text)).unwrap_or_default();
                Ok(encoding.characters(trimmed) as i64)
            }),
            Op::DataLength { a } => map(out, lanes.at(a), |a: Span| Ok(i64::from(a.len))),
            Op::FixedLength { a, len } => fixed_length(lanes.at(a), len, out),
            Op::Case { a, encoding, casing } => {
                map(out, lanes.at(a), |a: Span| {
                    arena.build(|arena, to| casing.write(arena.get(a), encoding, to))
                });
            }
            Op::Trim { a, encoding, left, right } => map(out, lanes.at(a), |a: Span| {
                let text = arena.get(a);
                let end = if right { encoding.trim_end(text) } else { text.len() };
                let start = if left { encoding.leading_blanks(text).min(end) } else { 0 };
                Ok(arena::part(a, start, end - start))
            }),
            Op::Reverse { a, encoding } => {
                map(out, lanes.at(a), |a: Span| {
                    arena.build(|arena, to| reverse(arena.get(a), encoding, to))
                });
            }
            Op::NullAsEmpty { a } => null_as_empty(lanes.at(a), out),
            Op::FirstUnit { a, encoding } => first_unit(lanes.at(a), arena, encoding, out),
            Op::Character { a, is_wide, most } => character(lanes.at(a), is_wide, most, arena, out),
            _ => self.run_more(lanes, arena, out),
        }
    }

    fn run_more(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        match *self {
            Op::Left { a, len, encoding } => {
                zip(out, (lanes.at(a), lanes.at(len)), |a: Span, len: i64| {
                    let bytes = bytes_of(a, len, arena, encoding)?;
                    Ok(arena::part(a, 0, bytes))
                })
            }
            Op::Right { a, len, encoding } => {
                zip(out, (lanes.at(a), lanes.at(len)), |a: Span, len: i64| {
                    let text = arena.get(a);
                    if encoding == Encoding::CodePoints {
                        let len = usize::try_from(len).map_err(|_| EvalError::Argument)?;
                        let before = encoding.characters(text).saturating_sub(len);
                        let start = encoding.offset(text, before);
                        return Ok(arena::part(a, start, text.len() - start));
                    }
                    let bytes = bytes_of(a, len, arena, encoding)?;
                    Ok(arena::part(a, a.len as usize - bytes, bytes))
                })
            }
            Op::Substring { a, start, len, encoding } => {
                zip3(out, (lanes.at(a), lanes.at(start), lanes.at(len)), |a: Span, start, len| {
                    let text = arena.get(a);
                    encoding.verify_units(text)?;
                    match encoding {
                        Encoding::CodePoints => substring_of_points(a, start, len, text),
                        _ => substring(a, start, len, encoding.unit()),
                    }
                });
            }
            Op::Replicate { a, count, limit } => {
                replicate((lanes.at(a), lanes.at(count)), limit, arena, out);
            }
            Op::Concat { a, b, limit } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a: Span, b: Span| {
                    arena.build(|arena, to| {
                        to.extend_from_slice(arena.get(a));
                        to.extend_from_slice(arena.get(b));
                        cut(to, limit);
                        Ok(())
                    })
                })
            }
            Op::Stuff { a, start, len, with, encoding, limit } => {
                let operands = [a, start, len, with].map(|reg| lanes.at(reg));
                stuff(operands, encoding, limit, arena, out);
            }
            Op::Replace { a, pattern, with, encoding, fold, limit } => {
                zip3(
                    out,
                    (lanes.at(a), lanes.at(pattern), lanes.at(with)),
                    |a: Span, pattern: Span, with: Span| {
                        arena.build(|arena, to| {
                            let search =
                                Search::new(arena.get(a), arena.get(pattern), encoding, fold)?;
                            replace(&search, arena.get(with), encoding.unit(), limit, to)
                        })
                    },
                );
            }
            Op::CharIndex { pattern, a, start, encoding, fold, is_decided } => {
                zip3(
                    out,
                    (lanes.at(pattern), lanes.at(a), lanes.at(start)),
                    |pattern: Span, a: Span, start: i64| {
                        let search = Search::new(arena.get(a), arena.get(pattern), encoding, fold)?;
                        // Where an empty text is found is not documented.
                        if search.pattern.is_empty() {
                            return if is_decided { Ok(0) } else { Err(EvalError::Form) };
                        }
                        let from = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
                        Ok(char_index(&search, from, encoding))
                    },
                );
            }
            _ => {}
        }
    }
}

/// Bytes of the first `len` characters, at most all.
fn bytes_of(a: Span, len: i64, arena: &Arena, encoding: Encoding) -> EvalResult<usize> {
    let len = usize::try_from(len).map_err(|_| EvalError::Argument)?;
    if encoding == Encoding::CodePoints {
        return Ok(encoding.offset(arena.get(a), len));
    }
    encoding.verify_units(arena.get(a))?;
    Ok(len.saturating_mul(encoding.unit()).min(a.len as usize))
}

/// Where a text is found, in characters from 1; 0 where it is not.
fn char_index(search: &Search<'_>, from: usize, encoding: Encoding) -> i64 {
    if encoding != Encoding::CodePoints {
        return search.find(from).map_or(0, |at| at as i64 + 1);
    }
    let from = encoding.offset(search.text, from) / 2;
    let before = |at: usize| search.text.get(..at * 2).unwrap_or_default();
    search.find(from).map_or(0, |at| encoding.characters(before(at)) as i64 + 1)
}

/// As [`substring`], in code points.
fn substring_of_points(a: Span, start: i64, len: i64, text: &[u8]) -> EvalResult<Span> {
    if len < 0 {
        return Err(EvalError::Argument);
    }
    let points = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
    let end = start.saturating_add(len).max(1) - 1;
    let from = Encoding::CodePoints.offset(text, points(start.max(1) - 1));
    let to = Encoding::CodePoints.offset(text, points(end));
    Ok(arena::part(a, from, to.saturating_sub(from)))
}

/// `start` counts from 1; what lies before the text shortens the part.
fn substring(a: Span, start: i64, len: i64, unit: usize) -> EvalResult<Span> {
    if len < 0 {
        return Err(EvalError::Argument);
    }
    let end = start.saturating_add(len).max(1) - 1;
    let start = start.max(1) - 1;
    let bytes = |units: i64| usize::try_from(units).unwrap_or(usize::MAX).saturating_mul(unit);
    Ok(arena::part(a, bytes(start), bytes((end - start).max(0))))
}

fn cut(text: &mut Vec<u8>, limit: Option<u16>) {
    if let Some(limit) = limit {
        text.truncate(usize::from(limit));
    }
}

fn fixed_length(a: &Lane, len: i64, out: &mut Lane) {
    let (states, values) = out.slots::<i64>(a.state.len());
    for ((state, value), &a) in states.iter_mut().zip(values).zip(&a.state) {
        (*state, *value) = (a, if a == VALUE { len } else { 0 });
    }
}

impl Casing {
    fn write(self, text: &[u8], encoding: Encoding, to: &mut Vec<u8>) -> EvalResult<()> {
        if encoding.unit() == 1 {
            for byte in text {
                to.push(self.unit((*byte).into())? as u8);
            }
            return Ok(());
        }
        let (pairs, rest) = text.as_chunks::<2>();
        for pair in pairs {
            to.extend(self.unit(u16::from_le_bytes(*pair))?.to_le_bytes());
        }
        if rest.is_empty() { Ok(()) } else { Err(EvalError::Input) }
    }

    /// One unit in the other case; an error where tables of Windows would have to say.
    fn unit(self, unit: u16) -> EvalResult<u16> {
        const CASE: u16 = 0x20;
        if unit < 0x80 {
            let is_i = matches!(unit, 0x49 | 0x69);
            let first = if self.is_upper { 0x61 } else { 0x41 };
            let is_letter = (first..first + 26).contains(&unit);
            return match is_letter {
                true if is_i && self.has_dotless_i => Err(EvalError::Characters),
                true => Ok(unit ^ CASE),
                false => Ok(unit),
            };
        }
        match unit {
            _ if !self.has_latin1 => Err(EvalError::Characters),
            0xD7 | 0xF7 | 0xA0..=0xB4 | 0xB6..=0xBF => Ok(unit),
            0xC0..=0xDE => Ok(if self.is_upper { unit } else { unit | CASE }),
            0xE0..=0xFE => Ok(if self.is_upper { unit & !CASE } else { unit }),
            _ => Err(EvalError::Characters),
        }
    }
}

fn reverse(text: &[u8], encoding: Encoding, to: &mut Vec<u8>) -> EvalResult<()> {
    encoding.verify_units(text)?;
    if encoding == Encoding::CodePoints {
        let units: Vec<u16> =
            text.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        let points: Vec<_> = char::decode_utf16(units).collect();
        let unit = |point: &Result<char, std::char::DecodeUtf16Error>| match point {
            Ok(character) => character.encode_utf16(&mut [0; 2]).to_vec(),
            Err(error) => vec![error.unpaired_surrogate()],
        };
        to.extend(points.iter().rev().flat_map(unit).flat_map(u16::to_le_bytes));
    } else if encoding.unit() == 1 {
        to.extend(text.iter().rev());
    } else {
        to.extend(text.as_chunks::<2>().0.iter().rev().flatten());
    }
    Ok(())
}

fn null_as_empty(a: &Lane, out: &mut Lane) {
    let (states, values) = out.slots::<Span>(a.state.len());
    for ((state, value), (&a_state, &a_value)) in
        states.iter_mut().zip(values).zip(a.state.iter().zip(&a.spans))
    {
        (*state, *value) =
            if a_state == NULL { (VALUE, Span::default()) } else { (a_state, a_value) };
    }
}

/// NULL of an empty text: only here does a value become NULL, so the rows are written one by one.
fn first_unit(a: &Lane, arena: &Arena, encoding: Encoding, out: &mut Lane) {
    out.clear();
    for (&state, &span) in a.state.iter().zip(&a.spans) {
        let text = arena.get(span);
        match (state, text.first(), text.get(1)) {
            (VALUE, None, _) => out.push_null(LaneKind::Int),
            (VALUE, Some(_), _) if encoding == Encoding::MultiByte && !text.is_ascii() => {
                out.push::<i64>(Err(EvalError::Characters));
            }
            (VALUE, Some(&low), high) if encoding.unit() == 2 => {
                let unit = u16::from_le_bytes([low, high.copied().unwrap_or(0)]);
                let second = text.get(2..4).and_then(|pair| pair.try_into().ok());
                if encoding == Encoding::CodePoints
                    && let Some(Ok(character)) = char::decode_utf16(
                        [Some(unit), second.map(u16::from_le_bytes)].into_iter().flatten(),
                    )
                    .next()
                {
                    out.push(Ok(i64::from(u32::from(character))));
                    continue;
                }
                let is_half =
                    encoding == Encoding::Supplementary && (0xD800..0xE000).contains(&unit);
                out.push(if is_half { Err(EvalError::Characters) } else { Ok(i64::from(unit)) });
            }
            (VALUE, Some(&byte), _) => out.push(Ok(i64::from(byte))),
            _ => out.push_state(LaneKind::Int, state),
        }
    }
}

fn character(a: &Lane, is_wide: bool, most: i64, arena: &mut Arena, out: &mut Lane) {
    out.clear();
    for (&state, &code) in a.state.iter().zip(&a.ints) {
        if state != VALUE {
            out.push_state(LaneKind::Bytes, state);
        } else if !(0..=most).contains(&code) {
            out.push_null(LaneKind::Bytes);
        } else {
            if let Some(character) = char::from_u32(code as u32).filter(|_| code > 0xFFFF) {
                let units = character.encode_utf16(&mut [0; 2]).to_vec();
                let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
                out.push(arena.push(&bytes));
                continue;
            }
            let bytes = (code as u16).to_le_bytes();
            out.push(arena.push(bytes.get(..if is_wide { 2 } else { 1 }).unwrap_or_default()));
        }
    }
}

/// A negative count gives NULL.
fn replicate((a, count): (&Lane, &Lane), limit: Option<u16>, arena: &mut Arena, out: &mut Lane) {
    out.clear();
    let operands = a.state.iter().zip(&a.spans).zip(count.state.iter().zip(&count.ints));
    for ((&a_state, &span), (&count_state, &count)) in operands {
        let worst = a_state.max(count_state);
        match worst {
            VALUE if count < 0 => out.push_null(LaneKind::Bytes),
            VALUE => out.push(arena.build(|arena, to| repeat(arena, span, count, limit, to))),
            _ => out.push_state(LaneKind::Bytes, worst),
        }
    }
}

fn repeat(
    arena: &Arena,
    text: Span,
    count: i64,
    limit: Option<u16>,
    to: &mut Vec<u8>,
) -> EvalResult<()> {
    let text = arena.get(text);
    let most = limit.map_or(arena.limit(), usize::from);
    let wanted = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(text.len());
    if wanted > arena.limit() && limit.is_none() {
        return Err(EvalError::Space);
    }
    to.extend(text.iter().cycle().take(wanted.min(most)));
    Ok(())
}

/// NULL where `start` is outside the text, or `len` is negative.
fn stuff(
    [a, start, len, with]: [&Lane; 4],
    encoding: Encoding,
    limit: Option<u16>,
    arena: &mut Arena,
    out: &mut Lane,
) {
    out.clear();
    let texts = a.state.iter().zip(&a.spans).zip(with.state.iter().zip(&with.spans));
    let ranges = start.state.iter().zip(&start.ints).zip(len.state.iter().zip(&len.ints));
    for ((a, with), (start, len)) in texts.zip(ranges) {
        // NULL as replacement is no NULL result but not certain enough to say what it is.
        let worst = *a.0.max(start.0).max(len.0);
        let units = match encoding {
            Encoding::CodePoints => encoding.characters(arena.get(*a.1)) as i64,
            _ => (a.1.len as usize / encoding.unit()) as i64,
        };
        if worst != VALUE {
            out.push_state(LaneKind::Bytes, worst);
        } else if *with.0 == NULL {
            out.push::<Span>(Err(EvalError::Form));
        } else if *with.0 != VALUE {
            out.push_state(LaneKind::Bytes, *with.0);
        } else if *start.1 <= 0 || *start.1 > units || *len.1 < 0 {
            out.push_null(LaneKind::Bytes);
        } else {
            out.push(arena.build(|arena, to| {
                let text = arena.get(*a.1);
                encoding.verify_units(text)?;
                let count = |count: i64| usize::try_from(count).unwrap_or(usize::MAX);
                let from = encoding.offset(text, count(*start.1 - 1));
                to.extend_from_slice(text.get(..from).unwrap_or_default());
                to.extend_from_slice(arena.get(*with.1));
                let rest = text.get(from..).unwrap_or_default();
                let removed = encoding.offset(rest, count(*len.1));
                to.extend_from_slice(rest.get(removed..).unwrap_or_default());
                cut(to, limit);
                Ok(())
            }));
        }
    }
}

fn replace(
    search: &Search<'_>,
    with: &[u8],
    unit: usize,
    limit: Option<u16>,
    to: &mut Vec<u8>,
) -> EvalResult<()> {
    let text = search.text;
    let mut from = 0;
    if !search.pattern.is_empty() {
        while let Some(at) = search.find(from) {
            to.extend_from_slice(text.get(from * unit..at * unit).unwrap_or_default());
            to.extend_from_slice(with);
            from = at + search.pattern.len() / unit;
            if to.len() > arena::MAX_STATEMENT_BYTES {
                return Err(EvalError::Space);
            }
        }
    }
    to.extend_from_slice(text.get(from * unit..).unwrap_or_default());
    cut(to, limit);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn substring_counts_from_one_and_loses_what_lies_before() {
        let whole = Span { start: 10, len: 6 };
        let cases =
            [(2, 3, (1, 3)), (0, 3, (0, 2)), (-5, 3, (0, 0)), (5, 10, (4, 2)), (9, 1, (6, 0))];
        for (start, len, (at, bytes)) in cases {
            assert_eq!(
                substring(whole, start, len, 1),
                Ok(Span { start: 10 + at, len: bytes }),
                "{start} {len}"
            );
        }
        assert_eq!(substring(whole, 1, -1, 1), Err(EvalError::Argument));
        assert_eq!(substring(whole, i64::MAX, i64::MAX, 2), Ok(Span { start: 16, len: 0 }));
    }

    #[test]
    fn case_changes_only_where_it_is_certain() {
        let upper = Casing { is_upper: true, has_latin1: true, has_dotless_i: false };
        let lower = Casing { is_upper: false, ..upper };
        for (small, large) in [(b'a', b'A'), (b'z', b'Z'), (0xE9, 0xC9), (0xFE, 0xDE)] {
            assert_eq!(upper.unit(small.into()), Ok(large.into()));
            assert_eq!(upper.unit(large.into()), Ok(large.into()));
            assert_eq!(lower.unit(large.into()), Ok(small.into()));
        }
        for same in [b'1', b'@', b'[', b'`', b'{', 0xD7, 0xF7] {
            assert_eq!(
                (upper.unit(same.into()), lower.unit(same.into())),
                (Ok(same.into()), Ok(same.into()))
            );
        }
        for open in [0xDF, 0xFF, 0xB5, 0x100, 0x80] {
            assert_eq!(upper.unit(open), Err(EvalError::Characters), "{open:x}");
        }
        let turkish = Casing { has_dotless_i: true, ..upper };
        assert_eq!(turkish.unit(b'i'.into()), Err(EvalError::Characters));
        assert_eq!(turkish.unit(b'I'.into()), Ok(b'I'.into()));
    }
}
