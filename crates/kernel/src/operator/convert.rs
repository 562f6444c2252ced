//! Conversions between representations and types.
//!
//! ```text
//! decimal → integer   cut             decimal → decimal, money   rounded, the half away from zero
//! money → integer     rounded         float → integer            cut
//! text → text         cut to the length, padded for char
//! ```
//! (public table "Truncating and rounding results" of CAST and CONVERT)

use extentdb_types::text::CharDecoder;
use extentdb_types::{CodePage, SqlType};

use crate::arena::Arena;
use crate::calendar::{self, Clock, DAY, SECOND, SMALL_DAY};
use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, Lanes, Reg, Span, map};
use crate::operator::arithmetic::{self, Range, fit_wide, settle_float};
use crate::operator::date_text::{self, Style};
use crate::operator::{codec, number_text};
use crate::type_facts;
use crate::wide::power_of_ten;

/// From one representation to another.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum How {
    /// Integer to integer of another range.
    Range(Range),
    /// Anything but 0 is 1.
    IntToBit,
    WideToBit,
    FloatToBit,
    /// Integer to money (10000), or days to a clock.
    Scale {
        factor: i64,
        range: Range,
    },
    /// Money to integer: rounded to `unit`, divided by it.
    Unscale {
        unit: i64,
        range: Range,
    },
    /// `is_certain`: every value of the integer's type fits.
    IntToWide {
        up: u8,
        precision: u8,
        is_certain: bool,
    },
    /// `unit` is 10000 for money.
    IntToFloat {
        unit: f64,
        is_real: bool,
    },
    WideToInt {
        scale: u8,
        range: Range,
    },
    WideToMoney {
        scale: u8,
        range: Range,
    },
    Rescale {
        from: u8,
        to: u8,
        precision: u8,
    },
    WideToFloat {
        scale: u8,
        is_real: bool,
    },
    FloatToInt {
        range: Range,
    },
    ToReal,
    /// Between date and time types.
    Clock {
        from: Clock,
        to: Clock,
        scale: u8,
        range: Range,
    },
    IntToText {
        is_wide: bool,
        len: Option<u16>,
        or_star: bool,
    },
    WideToText {
        is_wide: bool,
        scale: u8,
        len: Option<u16>,
    },
    MoneyToText {
        is_wide: bool,
        style: u8,
        len: Option<u16>,
    },
    ClockToText {
        is_wide: bool,
        clock: Clock,
        style: Style,
        digits: u8,
        len: Option<u16>,
    },
    GuidToText {
        is_wide: bool,
        len: Option<u16>,
    },
    BinaryToText {
        is_wide: bool,
        has_prefix: bool,
        len: Option<u16>,
    },
    TextToInt {
        is_wide: bool,
        range: Range,
    },
    TextToWide {
        is_wide: bool,
        scale: u8,
        precision: u8,
    },
    TextToClock {
        is_wide: bool,
        clock: Clock,
        style: Style,
        range: Range,
    },
    /// char to nchar.
    Widen(CodePage),
    /// nchar to char.
    Narrow,
    /// char to nchar, every byte.
    WidenExactly(CodePage),
    /// nchar to char, with the best fit for characters that the code page lacks.
    NarrowExactly(CodePage),
    /// Cut to the length of a text type without parting a character, padded for char and nchar.
    ResizeExactly {
        ty: SqlType,
    },
    /// Cut to a length, padded with blanks or zeros to it. `is_plain`: only ASCII may be cut.
    Resize {
        len: usize,
        pad: Option<&'static [u8]>,
        is_plain: bool,
    },
    /// The declared type must hold the value as it is.
    Fit {
        len: usize,
    },
    FitRange(Range),
    FitWide {
        precision: u8,
    },
}

/// A conversion.
#[derive(Debug, Clone)]
pub struct Op {
    /// The value.
    pub a: Reg,
    /// From which representation to which.
    pub how: How,
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &mut Arena, out: &mut Lane) {
        let a = lanes.at(self.a);
        match self.how {
            How::Range(range) => map(out, a, |a: i64| within(a, range)),
            How::IntToBit => map(out, a, |a: i64| Ok(i64::from(a != 0))),
            How::WideToBit => map(out, a, |a: i128| Ok(i64::from(a != 0))),
            How::FloatToBit => map(out, a, |a: f64| Ok(i64::from(a != 0.0))),
            How::Scale { factor, range } => {
                map(out, a, |a: i64| {
                    within(a.checked_mul(factor).ok_or(EvalError::Overflow)?, range)
                });
            }
            How::Unscale { unit, range } => map(out, a, |a: i64| {
                narrow(arithmetic::round(a.into(), unit.into(), false)? / i128::from(unit), range)
            }),
            How::IntToWide { up, precision, is_certain } => {
                int_to_wide(a, up, precision, is_certain, out)
            }
            How::IntToFloat { unit, is_real } => {
                map(out, a, |a: i64| settle_float(a as f64 / unit, is_real));
            }
            How::WideToInt { scale, range } => {
                map(out, a, |a: i128| narrow(a / power(scale)?, range))
            }
            How::WideToMoney { scale, range } => {
                map(out, a, |a: i128| rescale(a, scale, 4).and_then(|a| narrow(a, range)));
            }
            How::Rescale { from, to, precision } => {
                map(out, a, |a: i128| fit_wide(Some(rescale(a, from, to)?), precision));
            }
            How::WideToFloat { scale, is_real } => {
                map(out, a, |a: i128| settle_float(a as f64 / power(scale)? as f64, is_real));
            }
            How::FloatToInt { range } => map(out, a, |a: f64| float_to_int(a, range)),
            How::ToReal => map(out, a, |a: f64| settle_float(a, true)),
            How::Clock { from, to, scale, range } => {
                map(out, a, |a: i64| clock(from, to, a, scale).and_then(|a| within(a, range)));
            }
            How::FitRange(range) => {
                map(out, a, |a: i64| within(a, range).map_err(|_| EvalError::Declared))
            }
            How::FitWide { precision } => {
                map(out, a, |a: i128| {
                    fit_wide(Some(a), precision).map_err(|_| EvalError::Declared)
                });
            }
            How::Fit { len } => {
                map(
                    out,
                    a,
                    |a: Span| if a.len as usize <= len { Ok(a) } else { Err(EvalError::Declared) },
                )
            }
            _ => self.run_text(a, arena, out),
        }
    }

    fn run_text(&self, a: &Lane, arena: &mut Arena, out: &mut Lane) {
        match self.how {
            How::IntToText { is_wide, len, or_star } => map(out, a, |a: i64| {
                arena.build(|_, to| {
                    number_text::write_decimal(a.into(), 0, to);
                    if or_star && len.is_some_and(|len| to.len() > usize::from(len)) {
                        to.clear();
                        to.push(b'*');
                    }
                    finish(to, is_wide, len)
                })
            }),
            How::WideToText { is_wide, scale, len } => map(out, a, |a: i128| {
                arena.build(|_, to| {
                    number_text::write_decimal(a, scale, to);
                    finish(to, is_wide, len)
                })
            }),
            How::MoneyToText { is_wide, style, len } => map(out, a, |a: i64| {
                arena.build(|_, to| {
                    number_text::write_money(a, style, to)?;
                    finish(to, is_wide, len)
                })
            }),
            How::ClockToText { is_wide, clock, style, digits, len } => map(out, a, |a: i64| {
                arena.build(|_, to| {
                    style.write(clock, a, digits, to)?;
                    // A date is cut where a number is an error.
                    to.truncate(len.map_or(to.len(), usize::from));
                    finish(to, is_wide, len)
                })
            }),
            How::GuidToText { is_wide, len } => map(out, a, |a: Span| {
                arena.build(|arena, to| {
                    number_text::write_guid(arena.get(a), to)?;
                    finish(to, is_wide, len)
                })
            }),
            How::BinaryToText { is_wide, has_prefix, len } => map(out, a, |a: Span| {
                arena.build(|arena, to| {
                    to.extend_from_slice(if has_prefix { b"0x" } else { b"" });
                    number_text::write_hex(arena.get(a), to);
                    finish(to, is_wide, len).map_err(|_| EvalError::Form)
                })
            }),
            How::TextToInt { is_wide, range } => map(out, a, |a: Span| {
                let value = with_plain(arena.get(a), is_wide, number_text::read_integer)?;
                within(value, range)
            }),
            How::TextToWide { is_wide, scale, precision } => map(out, a, |a: Span| {
                let value = with_plain(arena.get(a), is_wide, |text| {
                    number_text::read_decimal(text, scale)
                })?;
                fit_wide(Some(value), precision)
            }),
            How::TextToClock { is_wide, clock, style, range } => map(out, a, |a: Span| {
                let moment = with_plain(arena.get(a), is_wide, |text| style.read(text))?;
                date_text::count(clock, moment).and_then(|count| within(count, range))
            }),
            How::Widen(code_page) => {
                map(out, a, |a: Span| arena.build(|arena, to| widen(arena.get(a), code_page, to)));
            }
            How::Narrow => {
                map(out, a, |a: Span| arena.build(|arena, to| narrow_text(arena.get(a), to)))
            }
            How::WidenExactly(code_page) => map(out, a, |a: Span| {
                arena.build(|arena, to| {
                    widen_exactly(arena.get(a), code_page, to);
                    Ok(())
                })
            }),
            How::NarrowExactly(code_page) => map(out, a, |a: Span| {
                arena.build(|arena, to| {
                    codec::narrow_units(code_page, arena.get(a), to);
                    Ok(())
                })
            }),
            How::ResizeExactly { ty } => map(out, a, |a: Span| resize_exactly(a, &ty, arena)),
            How::Resize { len, pad, is_plain } => {
                map(out, a, |a: Span| resize(a, len, pad, is_plain, arena));
            }
            _ => {}
        }
    }
}

fn within(value: i64, range: Range) -> EvalResult<i64> {
    if (range.0..=range.1).contains(&value) { Ok(value) } else { Err(EvalError::Overflow) }
}

fn narrow(value: i128, range: Range) -> EvalResult<i64> {
    within(i64::try_from(value).map_err(|_| EvalError::Overflow)?, range)
}

fn power(exponent: u8) -> EvalResult<i128> {
    power_of_ten(exponent).ok_or(EvalError::Overflow)
}

fn int_to_wide(a: &Lane, up: u8, precision: u8, is_certain: bool, out: &mut Lane) {
    match power_of_ten(up) {
        Some(factor) if is_certain => map(out, a, |a: i64| Ok(i128::from(a) * factor)),
        Some(factor) => {
            map(out, a, |a: i64| fit_wide(i128::from(a).checked_mul(factor), precision))
        }
        None => map(out, a, |_: i64| Err::<i128, _>(EvalError::Overflow)),
    }
}

fn rescale(value: i128, from: u8, to: u8) -> EvalResult<i128> {
    if to >= from {
        return value.checked_mul(power(to - from)?).ok_or(EvalError::Overflow);
    }
    let unit = power(from - to)?;
    Ok(arithmetic::round(value, unit, false)? / unit)
}

fn float_to_int(value: f64, range: Range) -> EvalResult<i64> {
    let value = value.trunc();
    // 2^63 itself is a float and not an i64.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    if fits { within(value as i64, range) } else { Err(EvalError::Overflow) }
}

fn clock(from: Clock, to: Clock, count: i64, scale: u8) -> EvalResult<i64> {
    let moment = from.moment(count);
    let unit = 10i64.pow(u32::from(7 - scale.min(7)));
    // Parts of 1/300 s are thirds of 1 ms: at three digits and fewer they round the same from
    // either.
    let ticks = match from {
        Clock::DateTime if matches!(to, Clock::Time | Clock::DateTime2) => {
            date_text::milliseconds(count) * (SECOND / 1_000)
        }
        _ => moment.ticks,
    };
    let rounded = (ticks + unit / 2) / unit * unit;
    let day = || to.of_day(moment.days).ok_or(EvalError::Conversion);
    match to {
        Clock::Date => Ok(moment.days),
        // Past midnight a time would start over; whether it does is not certain.
        Clock::Time => {
            if rounded < DAY {
                Ok(rounded)
            } else {
                Err(EvalError::Rounding)
            }
        }
        Clock::DateTime2 => day()?.checked_add(rounded).ok_or(EvalError::Conversion),
        Clock::DateTime => Ok(day()? + moment.ticks / (60 * SECOND) * (60 * 300)),
        Clock::SmallDateTime => {
            let within_day = match from {
                Clock::DateTime => {
                    (count.rem_euclid(calendar::DATETIME_DAY) + 30 * 300) / (60 * 300)
                }
                _ => moment.ticks / (60 * SECOND),
            };
            Ok(day()? + within_day.min(SMALL_DAY))
        }
    }
}

/// Makes ASCII text of one byte per character the text of its type; an error when it is too long.
fn finish(to: &mut Vec<u8>, is_wide: bool, len: Option<u16>) -> EvalResult<()> {
    if len.is_some_and(|len| to.len() > usize::from(len)) {
        return Err(EvalError::Overflow);
    }
    if is_wide {
        let ascii = to.len();
        to.resize(ascii * 2, 0);
        for at in (0..ascii).rev() {
            to.swap(at, at * 2);
        }
    }
    Ok(())
}

/// Longest text that is read as a number or date.
const LONGEST: usize = 64;

/// Reads ASCII text of either width.
fn with_plain<T>(
    text: &[u8],
    is_wide: bool,
    read: impl FnOnce(&[u8]) -> EvalResult<T>,
) -> EvalResult<T> {
    if !is_wide {
        return read(text);
    }
    let mut plain = [0u8; LONGEST];
    let pairs = text.as_chunks::<2>().0;
    let target = plain.get_mut(..pairs.len()).ok_or(EvalError::Form)?;
    for (byte, [low, high]) in target.iter_mut().zip(pairs) {
        if *high != 0 {
            return Err(EvalError::Form);
        }
        *byte = *low;
    }
    read(target)
}

fn widen(text: &[u8], code_page: CodePage, to: &mut Vec<u8>) -> EvalResult<()> {
    if text.is_ascii() {
        to.extend(text.iter().flat_map(|byte| [*byte, 0]));
        return Ok(());
    }
    let mut decoder = CharDecoder::new(code_page);
    let mut decoded = String::new();
    decoder.push(text, &mut decoded);
    if decoder.finish(&mut decoded) > 0 {
        return Err(EvalError::Characters);
    }
    to.extend(decoded.encode_utf16().flat_map(u16::to_le_bytes));
    Ok(())
}

fn widen_exactly(text: &[u8], code_page: CodePage, to: &mut Vec<u8>) {
    if text.is_ascii() {
        to.extend(text.iter().flat_map(|byte| [*byte, 0]));
        return;
    }
    let mut decoder = CharDecoder::new(code_page);
    let mut decoded = String::new();
    decoder.push(text, &mut decoded);
    decoder.finish(&mut decoded);
    to.extend(decoded.encode_utf16().flat_map(u16::to_le_bytes));
}

fn resize_exactly(a: Span, ty: &SqlType, arena: &mut Arena) -> EvalResult<Span> {
    let most = ty.max_bytes().unwrap_or(usize::MAX);
    let kept = codec::whole_characters(ty, arena.get(a), most);
    if !type_facts::is_padded(ty) || kept == most {
        return Ok(crate::arena::part(a, 0, kept));
    }
    arena.build(|arena, to| {
        to.extend_from_slice(arena.get(a).get(..kept).unwrap_or_default());
        codec::pad(ty, 0, to);
        Ok(())
    })
}

/// Only ASCII: for the rest, the product looks for the nearest character.
fn narrow_text(text: &[u8], to: &mut Vec<u8>) -> EvalResult<()> {
    for [low, high] in text.as_chunks::<2>().0 {
        if *high != 0 || !low.is_ascii() {
            return Err(EvalError::Characters);
        }
        to.push(*low);
    }
    Ok(())
}

fn resize(
    a: Span,
    len: usize,
    pad: Option<&[u8]>,
    is_plain: bool,
    arena: &mut Arena,
) -> EvalResult<Span> {
    let found = a.len as usize;
    match pad {
        _ if found > len && is_plain && !arena.get(a).is_ascii() => Err(EvalError::Characters),
        Some(pad) if found < len => arena.build(|arena, to| {
            to.extend_from_slice(arena.get(a));
            to.extend(pad.iter().cycle().take(len - found));
            Ok(())
        }),
        _ => Ok(crate::arena::part(a, 0, len)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_or_are_cut_as_documented() {
        assert_eq!(rescale(1_239, 3, 2), Ok(124));
        assert_eq!(rescale(-1_235, 3, 2), Ok(-124));
        assert_eq!(rescale(12, 0, 3), Ok(12_000));
        assert_eq!(float_to_int(-10.6496, (-100, 100)), Ok(-10));
        assert_eq!(float_to_int(9.3e18, (i64::MIN, i64::MAX)), Err(EvalError::Overflow));
        assert_eq!(float_to_int(f64::NAN, (i64::MIN, i64::MAX)), Err(EvalError::Overflow));
    }

    #[test]
    fn a_smalldatetime_rounds_at_half_a_minute() {
        // 12:34:29.998 is 12:34, 12:34:29.999 is stored as 30.000 and is 12:35 (public example).
        let at = |seconds: i64, parts: i64| ((12 * 60 + 34) * 60 + seconds) * 300 + parts;
        let small = |count| clock(Clock::DateTime, Clock::SmallDateTime, count, 7).unwrap();
        assert_eq!(small(at(29, 299)), 12 * 60 + 34);
        assert_eq!(small(at(30, 0)), 12 * 60 + 35);
    }

    #[test]
    fn a_time_rounds_to_its_scale() {
        let time = |count, scale| clock(Clock::DateTime2, Clock::Time, count, scale);
        assert_eq!(time(12_345_678, 3), Ok(12_350_000));
        assert_eq!(time(12_345_678, 7), Ok(12_345_678));
        assert_eq!(time(DAY - 1, 0), Err(EvalError::Rounding));
        assert_eq!(
            clock(Clock::DateTime, Clock::DateTime2, 1, 3),
            Clock::DateTime2
                .of_day(calendar::DAYS_TO_1900)
                .map(|day| day + 30_000)
                .ok_or(EvalError::Row)
        );
    }

    #[test]
    fn texts_grow_shrink_and_change_their_width() {
        let mut arena = Arena::default();
        let span = arena.push(b"abc").unwrap();
        let padded = resize(span, 5, Some(b" "), false, &mut arena).unwrap();
        assert_eq!(arena.get(padded), b"abc  ");
        let cut = resize(span, 2, Some(b" "), false, &mut arena).unwrap();
        assert_eq!(arena.get(cut), b"ab");
        let mut wide = b"42".to_vec();
        finish(&mut wide, true, Some(2)).unwrap();
        assert_eq!(wide, b"4\x002\0");
        assert_eq!(finish(&mut b"123".to_vec(), false, Some(2)), Err(EvalError::Overflow));
        let mut out = Vec::new();
        widen(b"\xE9", CodePage::Cp1252, &mut out).unwrap();
        assert_eq!(out, [0xE9, 0]);
        assert_eq!(narrow_text(&[0xE9, 0], &mut out), Err(EvalError::Characters));
    }
}
