//! Comparisons of two values of one type: 1, 0 or NULL.
//!
//! Texts compare through their [`Collation`]. Equality of printable ASCII is decided here, letter
//! by letter, where the collation treats ASCII plainly; that is certain even where its *order* is
//! not.

use std::cmp::Ordering;

use extentdb_types::{Collation, Guid};

use crate::arena::Arena;
use crate::error::{EvalError, EvalResult};
use crate::lane::{Element, Lane, Lanes, Reg, Span, zip};
use crate::operator::ascii::{self, Encoding};
use crate::operator::moment;
use crate::wide::power_of_ten;

/// The operators that compare two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the operators")]
pub enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What kind of values are compared.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum How {
    Int,
    Wide,
    Float,
    Text {
        collation: Collation,
        encoding: Encoding,
        has_plain_ascii: bool,
        is_decided: bool,
    },
    Binary,
    /// Zeros at the end do not count.
    PaddedBinary,
    Guid,
    /// datetimeoffset, by its instant.
    Offset {
        scale: u8,
    },
    /// Decimals of two scales, each times its power of ten.
    Scaled {
        up: (u8, u8),
    },
}

/// A comparison.
#[derive(Debug, Clone)]
pub struct Op {
    /// What kind of values.
    pub how: How,
    /// What is asked of them.
    pub test: Test,
    /// The value on the left.
    pub a: Reg,
    /// The value on the right.
    pub b: Reg,
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, arena: &Arena, out: &mut Lane) {
        let test = self.test;
        let operands = (lanes.at(self.a), lanes.at(self.b));
        match self.how {
            How::Int => numbers::<i64>(test, operands, out),
            How::Wide => numbers::<i128>(test, operands, out),
            How::Float => numbers::<f64>(test, operands, out),
            How::Text { collation, encoding, has_plain_ascii, is_decided } => {
                zip(out, operands, |a: Span, b: Span| {
                    let a = arena.get(a);
                    let b = arena.get(b);
                    if has_plain_ascii
                        && matches!(test, Test::Equal | Test::NotEqual)
                        && let Some(is_equal) =
                            ascii::plain_equal(a, b, encoding, collation.ignores_case())
                    {
                        return Ok(i64::from(is_equal == (test == Test::Equal)));
                    }
                    let order = if is_decided {
                        order_text(collation, encoding, a, b)
                    } else {
                        compare_text(collation, encoding, a, b)?
                    };
                    Ok(verdict(test, order))
                })
            }
            How::PaddedBinary => zip(out, operands, |a: Span, b: Span| {
                let trimmed = |span| without_zeros(arena.get(span));
                Ok(verdict(test, trimmed(a).cmp(trimmed(b))))
            }),
            How::Offset { scale } => zip(out, operands, |a: Span, b: Span| {
                let instant = |span| Ok(moment::stored_offset(arena.get(span), scale)?.0);
                Ok(verdict(test, instant(a)?.cmp(&instant(b)?)))
            }),
            How::Scaled { up } => zip(out, operands, |a: i128, b: i128| {
                let a = scaled(a, up.0);
                let b = scaled(b, up.1);
                Ok(verdict(test, a.cmp(&b)))
            }),
            How::Binary => zip(out, operands, |a: Span, b: Span| {
                compare_binary(arena.get(a), arena.get(b)).map(|order| verdict(test, order))
            }),
            How::Guid => zip(out, operands, |a: Span, b: Span| {
                let guid =
                    |span| arena.get(span).try_into().map(Guid).map_err(|_| EvalError::Input);
                Ok(verdict(test, guid(a)?.cmp(&guid(b)?)))
            }),
        }
    }
}

fn numbers<T: Element + PartialOrd>(test: Test, operands: (&Lane, &Lane), out: &mut Lane) {
    // One loop per comparison: the test inside would be asked for every row.
    match test {
        Test::Equal => zip(out, operands, |a: T, b: T| Ok(i64::from(a == b))),
        Test::NotEqual => zip(out, operands, |a: T, b: T| Ok(i64::from(a != b))),
        Test::Less => zip(out, operands, |a: T, b: T| Ok(i64::from(a < b))),
        Test::LessOrEqual => zip(out, operands, |a: T, b: T| Ok(i64::from(a <= b))),
        Test::Greater => zip(out, operands, |a: T, b: T| Ok(i64::from(a > b))),
        Test::GreaterOrEqual => zip(out, operands, |a: T, b: T| Ok(i64::from(a >= b))),
    }
}

fn verdict(test: Test, order: Ordering) -> i64 {
    i64::from(match test {
        Test::Equal => order.is_eq(),
        Test::NotEqual => order.is_ne(),
        Test::Less => order.is_lt(),
        Test::LessOrEqual => order.is_le(),
        Test::Greater => order.is_gt(),
        Test::GreaterOrEqual => order.is_ge(),
    })
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    bytes.get(..len).unwrap_or_default()
}

/// The value times `10^up`; beyond 128 bits, more than any decimal.
fn scaled(value: i128, up: u8) -> i128 {
    power_of_ten(up).map_or(i128::MAX, |unit| value.saturating_mul(unit))
}

/// By the collation, blanks at the end aside, certain or not.
pub(crate) fn order_text(collation: Collation, encoding: Encoding, a: &[u8], b: &[u8]) -> Ordering {
    if encoding.unit() == 2 {
        collation.compare_nchar(a, b).ordering
    } else {
        collation.compare_char(a, b).ordering
    }
}

/// By the collation, blanks at the end aside.
pub(crate) fn compare_text(
    collation: Collation,
    encoding: Encoding,
    a: &[u8],
    b: &[u8],
) -> EvalResult<Ordering> {
    let comparison = if encoding.unit() == 2 {
        collation.compare_nchar(a, b)
    } else {
        collation.compare_char(a, b)
    };
    comparison.ordering().ok_or(EvalError::Collation)
}

/// Byte by byte. Whether zeros at the end count is not certain, so texts that differ by nothing
/// else are left open.
fn compare_binary(a: &[u8], b: &[u8]) -> EvalResult<Ordering> {
    let common = a.len().min(b.len());
    let order = a.iter().zip(b).map(|(a, b)| a.cmp(b)).find(|order| order.is_ne());
    if let Some(order) = order {
        return Ok(order);
    }
    let rest = if a.len() > common { a.get(common..) } else { b.get(common..) };
    match rest.unwrap_or_default() {
        [] => Ok(Ordering::Equal),
        rest if rest.iter().all(|byte| *byte == 0) => Err(EvalError::Collation),
        _ => Ok(a.len().cmp(&b.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_compare_by_bytes_and_leave_zeros_at_the_end_open() {
        assert_eq!(compare_binary(&[1, 2], &[1, 3]), Ok(Ordering::Less));
        assert_eq!(compare_binary(&[1, 2], &[1]), Ok(Ordering::Greater));
        assert_eq!(compare_binary(&[1], &[1, 0]), Err(EvalError::Collation));
        assert_eq!(compare_binary(&[], &[]), Ok(Ordering::Equal));
    }

    #[test]
    fn blanks_at_the_end_of_a_text_never_count() {
        let collation = Collation::SQL_LATIN1_GENERAL_CP1_CI_AS;
        assert_eq!(
            compare_text(collation, Encoding::SingleByte, b"a  ", b"A"),
            Ok(Ordering::Equal)
        );
        assert_eq!(ascii::plain_equal(b"a  ", b"A", Encoding::SingleByte, true), Some(true));
        assert_eq!(ascii::plain_equal(b"a!", b"a?", Encoding::SingleByte, true), Some(false));
        assert_eq!(ascii::plain_equal(b"\xE9", b"e", Encoding::SingleByte, true), None);
    }
}
