//! Numbers: + - * / %, bits, signs and rounding.
//!
//! ```text
//! integers    in i64; a result outside the type's range is an overflow; division cuts towards zero
//! money       sums as integers; a product is rounded, a quotient cut at four digits
//! decimal     in i128, in 256 bits where that is too small; a quotient is cut at its scale, a
//!             product whose scale is reduced is rounded
//! float, real IEEE; infinity and NaN are overflows, as in the product
//! ```
//!
//! Where public descriptions do not settle the last digit (a tie in a product of money, digits lost
//! in a sum), the row is [`EvalError::Rounding`].

use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, Lanes, Reg, map, zip};
use crate::operator::far;
use crate::wide::{multiply_divide, power_of_ten};

/// The four operations and the remainder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the operators")]
pub enum Sign {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// The operators between bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are the operators")]
pub enum Bits {
    And,
    Or,
    Xor,
}

/// Least and greatest value of a type.
pub type Range = (i64, i64);

/// How two decimals are combined.
#[derive(Debug, Clone, Copy)]
pub struct WidePlan {
    /// The operation.
    pub sign: Sign,
    /// Powers of ten that bring the operands of a sum or remainder to one scale.
    pub up: (u8, u8),
    /// Quotient: power of ten for the dividend.
    pub dividend_up: u8,
    /// Digits to drop from sum or product.
    pub drop: u8,
    /// Digits the result may have.
    pub precision: u8,
}

/// Arithmetic of one type.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the head of `operator` says what fields are")]
pub enum Op {
    Int {
        sign: Sign,
        a: Reg,
        b: Reg,
        range: Range,
    },
    /// Products and quotients of money; sums are integers.
    Money {
        sign: Sign,
        a: Reg,
        b: Reg,
        range: Range,
    },
    Wide {
        plan: WidePlan,
        a: Reg,
        b: Reg,
    },
    /// A product of money, the half rounded away from zero.
    MoneyProduct {
        a: Reg,
        b: Reg,
        range: Range,
    },
    /// Of integers; the least value by -1 overflows.
    Remainder {
        a: Reg,
        b: Reg,
        range: Range,
    },
    /// As `Wide`, with every result decided.
    WideExactly {
        plan: WidePlan,
        a: Reg,
        b: Reg,
    },
    Float {
        sign: Sign,
        a: Reg,
        b: Reg,
        is_real: bool,
    },
    Bits {
        bits: Bits,
        a: Reg,
        b: Reg,
    },
    /// `~`; a bit flips, an integer inverts all its bits within `range`.
    BitNot {
        a: Reg,
        range: Range,
    },
    NegateInt {
        a: Reg,
        range: Range,
    },
    NegateWide {
        a: Reg,
    },
    NegateFloat {
        a: Reg,
    },
    AbsInt {
        a: Reg,
        range: Range,
    },
    AbsWide {
        a: Reg,
    },
    AbsFloat {
        a: Reg,
    },
    /// SIGN, times `unit` (1, or 10000 for money).
    SignInt {
        a: Reg,
        unit: i64,
    },
    /// SIGN of a decimal at its scale.
    SignWide {
        a: Reg,
        scale: u8,
    },
    /// CEILING or FLOOR to a multiple of `unit`.
    StepInt {
        a: Reg,
        unit: i64,
        is_up: bool,
        range: Range,
    },
    /// CEILING or FLOOR of a decimal, to scale 0.
    StepWide {
        a: Reg,
        scale: u8,
        is_up: bool,
    },
    StepFloat {
        a: Reg,
        is_up: bool,
    },
    /// ROUND to a multiple of `unit`; the half goes away from zero.
    RoundInt {
        a: Reg,
        unit: i64,
        cut: bool,
        range: Range,
    },
    RoundWide {
        a: Reg,
        unit: i128,
        cut: bool,
        precision: u8,
    },
}

fn fit(value: Option<i64>, range: Range) -> EvalResult<i64> {
    value.filter(|value| (range.0..=range.1).contains(value)).ok_or(EvalError::Overflow)
}

/// Is the value below `10^precision`?
#[inline]
pub(crate) fn fit_wide(value: Option<i128>, precision: u8) -> EvalResult<i128> {
    let limit = power_of_ten(precision).ok_or(EvalError::Overflow)?;
    value.filter(|value| -limit < *value && *value < limit).ok_or(EvalError::Overflow)
}

impl Op {
    pub(crate) fn run(&self, lanes: &Lanes, out: &mut Lane) {
        match *self {
            Op::Int { sign, a, b, range } => int(sign, range, (lanes.at(a), lanes.at(b)), out),
            Op::Money { sign: Sign::Divide, a, b, range } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a, b| money_quotient(a, b, range));
            }
            Op::Money { a, b, range, .. } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a, b| money_product(a, b, range));
            }
            Op::Wide { plan, a, b } => wide(plan, (lanes.at(a), lanes.at(b)), out),
            Op::MoneyProduct { a, b, range } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a: i64, b: i64| {
                    let product = i128::from(a) * i128::from(b);
                    narrow(round(product, 10_000, false)? / 10_000, range)
                });
            }
            Op::Remainder { a, b, range } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a: i64, b: i64| match b {
                    0 => Err(EvalError::DivideByZero),
                    -1 if a == range.0 => Err(EvalError::Overflow),
                    _ => a.checked_rem(b).ok_or(EvalError::Overflow),
                });
            }
            Op::WideExactly { plan, a, b } => {
                far::run(plan, (lanes.at(a), lanes.at(b)), out);
            }
            Op::Float { sign, a, b, is_real } => {
                zip(out, (lanes.at(a), lanes.at(b)), |a: f64, b: f64| float(sign, a, b, is_real));
            }
            Op::Bits { bits, a, b } => zip(out, (lanes.at(a), lanes.at(b)), |a: i64, b: i64| {
                Ok(match bits {
                    Bits::And => a & b,
                    Bits::Or => a | b,
                    Bits::Xor => a ^ b,
                })
            }),
            // All bits set is the greatest value of bit and tinyint, and -1 of the signed types.
            Op::BitNot { a, range } => {
                map(out, lanes.at(a), |a: i64| Ok(if range.0 == 0 { range.1 - a } else { !a }))
            }
            _ => self.run_unary(lanes, out),
        }
    }

    fn run_unary(&self, lanes: &Lanes, out: &mut Lane) {
        match *self {
            Op::NegateInt { a, range } => {
                map(out, lanes.at(a), |a: i64| fit(a.checked_neg(), range))
            }
            Op::NegateWide { a } => map(out, lanes.at(a), |a: i128| Ok(a.saturating_neg())),
            Op::NegateFloat { a } => map(out, lanes.at(a), |a: f64| Ok(-a)),
            Op::AbsInt { a, range } => map(out, lanes.at(a), |a: i64| fit(a.checked_abs(), range)),
            Op::AbsWide { a } => map(out, lanes.at(a), |a: i128| Ok(a.saturating_abs())),
            Op::AbsFloat { a } => map(out, lanes.at(a), |a: f64| Ok(a.abs())),
            Op::SignInt { a, unit } => map(out, lanes.at(a), |a: i64| Ok(a.signum() * unit)),
            Op::SignWide { a, scale } => map(out, lanes.at(a), |a: i128| {
                Ok(a.signum() * power_of_ten(scale).ok_or(EvalError::Overflow)?)
            }),
            Op::StepInt { a, unit, is_up, range } => {
                map(out, lanes.at(a), |a: i64| {
                    step(a.into(), unit.into(), is_up).and_then(|it| narrow(it, range))
                });
            }
            Op::StepWide { a, scale, is_up } => map(out, lanes.at(a), |a: i128| {
                let unit = power_of_ten(scale).ok_or(EvalError::Overflow)?;
                Ok(step(a, unit, is_up)? / unit)
            }),
            Op::StepFloat { a, is_up } => {
                map(out, lanes.at(a), |a: f64| Ok(if is_up { a.ceil() } else { a.floor() }));
            }
            Op::RoundInt { a, unit, cut, range } => map(out, lanes.at(a), |a: i64| {
                round(a.into(), unit.into(), cut).and_then(|it| narrow(it, range))
            }),
            Op::RoundWide { a, unit, cut, precision } => {
                map(out, lanes.at(a), |a: i128| fit_wide(Some(round(a, unit, cut)?), precision));
            }
            _ => {}
        }
    }
}

fn narrow(value: i128, range: Range) -> EvalResult<i64> {
    fit(i64::try_from(value).ok(), range)
}

fn int(sign: Sign, range: Range, operands: (&Lane, &Lane), out: &mut Lane) {
    match sign {
        Sign::Add => zip(out, operands, |a: i64, b| fit(a.checked_add(b), range)),
        Sign::Subtract => zip(out, operands, |a: i64, b| fit(a.checked_sub(b), range)),
        Sign::Multiply => zip(out, operands, |a: i64, b| fit(a.checked_mul(b), range)),
        Sign::Divide => zip(out, operands, |a: i64, b| match b {
            0 => Err(EvalError::DivideByZero),
            _ => fit(a.checked_div(b), range),
        }),
        Sign::Modulo => zip(out, operands, |a: i64, b| match b {
            0 => Err(EvalError::DivideByZero),
            // The least value by -1 overflows in the processor; what the product says is not
            // certain.
            _ => a.checked_rem(b).filter(|_| a != range.0 || b != -1).ok_or(EvalError::Rounding),
        }),
    }
}

/// Most products have 64 bits, and those are divided many times faster.
#[inline]
fn money_product(a: i64, b: i64, range: Range) -> EvalResult<i64> {
    let Some(product) = a.checked_mul(b) else {
        let product = i128::from(a) * i128::from(b);
        let up = round_up((product % 10_000) as i64)?;
        return narrow(product / 10_000 + i128::from(up), range);
    };
    fit(Some(product / 10_000 + round_up(product % 10_000)?), range)
}

/// What rounding adds to a quotient with this remainder; a half is not decided.
#[inline]
fn round_up(rest: i64) -> EvalResult<i64> {
    match rest.abs() {
        5_000 => Err(EvalError::Rounding),
        far => Ok(rest.signum() * i64::from(far > 5_000)),
    }
}

fn money_quotient(a: i64, b: i64, range: Range) -> EvalResult<i64> {
    match b {
        0 => Err(EvalError::DivideByZero),
        _ => narrow(i128::from(a) * 10_000 / i128::from(b), range),
    }
}

pub(super) fn wide(plan: WidePlan, operands: (&Lane, &Lane), out: &mut Lane) {
    let WidePlan { up, precision, drop, .. } = plan;
    let (Some(up_a), Some(up_b), Some(unit)) =
        (power_of_ten(up.0), power_of_ten(up.1), power_of_ten(drop))
    else {
        return zip(out, operands, |_: i128, _: i128| Err::<i128, _>(EvalError::Overflow));
    };
    let aligned = |a: i128, b: i128| match (a.checked_mul(up_a), b.checked_mul(up_b)) {
        (Some(a), Some(b)) => Ok((a, b)),
        // Only possible where digits are to be dropped again: not worth more than saying so.
        _ => Err(EvalError::Rounding),
    };
    let exact = |sum: Option<i128>| {
        let sum = sum.ok_or(EvalError::Overflow)?;
        if sum % unit == 0 {
            fit_wide(Some(sum / unit), precision)
        } else {
            Err(EvalError::Rounding)
        }
    };
    let limit = power_of_ten(precision).unwrap_or(0);
    let fit = |value: Option<i128>| {
        value.filter(|it| -limit < *it && *it < limit).ok_or(EvalError::Overflow)
    };
    // Most operands have 64 bits when they are aligned, and no digits are dropped.
    let near = |a, b| match (product(a, up_a), product(b, up_b)) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(EvalError::Rounding),
    };
    match plan.sign {
        Sign::Add if drop == 0 => {
            zip(out, operands, |a, b| near(a, b).and_then(|(a, b)| fit(a.checked_add(b))));
        }
        Sign::Subtract if drop == 0 => {
            zip(out, operands, |a, b| near(a, b).and_then(|(a, b)| fit(a.checked_sub(b))));
        }
        Sign::Add => {
            zip(out, operands, |a, b| aligned(a, b).and_then(|(a, b)| exact(a.checked_add(b))))
        }
        Sign::Subtract => {
            zip(out, operands, |a, b| aligned(a, b).and_then(|(a, b)| exact(a.checked_sub(b))))
        }
        Sign::Multiply if drop == 0 => zip(out, operands, |a, b| fit(product(a, b))),
        Sign::Multiply => zip(out, operands, |a: i128, b: i128| {
            rounded_product(a, b, unit).and_then(|it| fit_wide(Some(it), precision))
        }),
        Sign::Divide => {
            let up = power_of_ten(plan.dividend_up).unwrap_or(0);
            zip(out, operands, |a: i128, b: i128| {
                quotient(a, b, up).and_then(|it| fit_wide(Some(it), precision))
            });
        }
        Sign::Modulo => zip(out, operands, |a, b| {
            let (a, b) = aligned(a, b)?;
            a.checked_rem(b)
                .ok_or(EvalError::DivideByZero)
                .and_then(|it| fit_wide(Some(it), precision))
        }),
    }
}

/// Most factors have 64 bits, and then the product needs no check.
#[inline]
fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

/// `a * b / unit`, the half away from zero.
pub(super) fn rounded_product(a: i128, b: i128, unit: i128) -> EvalResult<i128> {
    let unit = unit.unsigned_abs();
    let (whole, rest) =
        multiply_divide(a.unsigned_abs(), b.unsigned_abs(), unit).ok_or(EvalError::Overflow)?;
    let rounded = whole.checked_add(u128::from(rest >= unit - rest)).ok_or(EvalError::Overflow)?;
    signed(rounded, (a < 0) != (b < 0))
}

/// `a * up / b`, cut.
pub(super) fn quotient(a: i128, b: i128, up: i128) -> EvalResult<i128> {
    if b == 0 {
        return Err(EvalError::DivideByZero);
    }
    if let Some(dividend) = a.checked_mul(up) {
        return dividend.checked_div(b).ok_or(EvalError::Overflow);
    }
    let (whole, _) = multiply_divide(a.unsigned_abs(), up.unsigned_abs(), b.unsigned_abs())
        .ok_or(EvalError::Overflow)?;
    signed(whole, (a < 0) != (b < 0))
}

pub(super) fn signed(magnitude: u128, is_negative: bool) -> EvalResult<i128> {
    let value = i128::try_from(magnitude).map_err(|_| EvalError::Overflow)?;
    Ok(if is_negative { -value } else { value })
}

fn float(sign: Sign, a: f64, b: f64, is_real: bool) -> EvalResult<f64> {
    let value = match sign {
        Sign::Add => a + b,
        Sign::Subtract => a - b,
        Sign::Multiply => a * b,
        Sign::Divide if b == 0.0 => return Err(EvalError::DivideByZero),
        Sign::Divide => a / b,
        // Not defined for floats; the binder does not ask for it.
        Sign::Modulo => return Err(EvalError::Argument),
    };
    settle_float(value, is_real)
}

/// A result as its type holds it; what is no number is an overflow.
pub(crate) fn settle_float(value: f64, is_real: bool) -> EvalResult<f64> {
    let value = if is_real { f64::from(value as f32) } else { value };
    if value.is_finite() { Ok(value) } else { Err(EvalError::Overflow) }
}

/// The next multiple of `unit` above or below.
fn step(value: i128, unit: i128, is_up: bool) -> EvalResult<i128> {
    let below = value.checked_rem_euclid(unit).ok_or(EvalError::Overflow)?;
    match below {
        0 => Ok(value),
        _ if is_up => value.checked_add(unit - below).ok_or(EvalError::Overflow),
        _ => value.checked_sub(below).ok_or(EvalError::Overflow),
    }
}

/// The nearest multiple of `unit`, the half away from zero; or, cut, the next one towards zero.
pub(crate) fn round(value: i128, unit: i128, cut: bool) -> EvalResult<i128> {
    let rest = value.checked_rem(unit).ok_or(EvalError::Overflow)?;
    let down = value - rest;
    let is_far = !cut && rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs();
    if is_far {
        down.checked_add(value.signum() * unit).ok_or(EvalError::Overflow)
    } else {
        Ok(down)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn money_rounds_products_and_cuts_quotients() {
        let all = (i64::MIN, i64::MAX);
        // 1.00 / 18.4172 is 0.0542, and 18.4172 * 1.1562 is 21.2940 (public example).
        assert_eq!(money_quotient(10_000, 184_172, all), Ok(542));
        assert_eq!(money_product(184_172, 11_562, all), Ok(212_940));
        assert_eq!(money_product(10_000, 10_000, all), Ok(10_000));
        assert_eq!(money_product(1, 5_000, all), Err(EvalError::Rounding), "a tie");
        assert_eq!(money_product(-3, 5_001, all), Ok(-2));
        assert_eq!(money_product(i64::MAX, 10_001, all), Err(EvalError::Overflow));
        assert_eq!(
            money_product(i64::MIN, 9_999, all),
            Ok((i128::from(i64::MIN) * 9_999 / 10_000) as i64)
        );
        assert_eq!(money_quotient(1, 0, all), Err(EvalError::DivideByZero));
        assert_eq!(money_product(i64::MAX, 20_000, all), Err(EvalError::Overflow));
    }

    #[test]
    fn a_quotient_of_decimals_is_cut() {
        // 2.0 / 3.0 at scale 6; 1.67574 / 10000 of decimal(38,10) at scale 6 is 0.000167 (public
        // example).
        assert_eq!(quotient(20, 30, 10i128.pow(6)), Ok(666_666));
        assert_eq!(quotient(-20, 30, 10i128.pow(6)), Ok(-666_666));
        assert_eq!(quotient(16_757_400_000, 100_000_000_000_000, 10i128.pow(6)), Ok(167));
        assert_eq!(quotient(1, 0, 10), Err(EvalError::DivideByZero));
        let nines = 10i128.pow(38) - 1;
        assert_eq!(quotient(nines, nines, 10i128.pow(30)), Ok(10i128.pow(30)), "in 256 bits");
        assert_eq!(quotient(nines, 1, 10i128.pow(30)), Err(EvalError::Overflow));
    }

    #[test]
    fn a_product_that_loses_digits_is_rounded() {
        // 0.0000009 * 1 at scale 6 is 0.000001 (public example).
        assert_eq!(rounded_product(9_000, 10i128.pow(10), 10i128.pow(14)), Ok(1));
        assert_eq!(rounded_product(-15, 1, 10), Ok(-2));
        assert_eq!(rounded_product(14, 1, 10), Ok(1));
    }

    #[test]
    fn rounding_gives_the_documented_values() {
        // ROUND(123.9994, 3), ROUND(123.9995, 3), ROUND(123.45, -2), ROUND(150.75, 0),
        // ROUND(150.75, 0, 1).
        assert_eq!(round(1_239_994, 10, false), Ok(1_239_990));
        assert_eq!(round(1_239_995, 10, false), Ok(1_240_000));
        assert_eq!(round(12_345, 10_000, false), Ok(10_000));
        assert_eq!(round(15_075, 100, false), Ok(15_100));
        assert_eq!(round(15_075, 100, true), Ok(15_000));
        // ROUND(748.58, -3) does not fit decimal(5,2); ROUND(748.58, -4) is 0.
        assert_eq!(fit_wide(round(74_858, 100_000, false).ok(), 5), Err(EvalError::Overflow));
        assert_eq!(round(74_858, 1_000_000, false), Ok(0));
        // CEILING and FLOOR of 123.45 and -123.45.
        let steps = [
            (12_345, true, 12_400),
            (-12_345, true, -12_300),
            (12_345, false, 12_300),
            (-12_345, false, -12_400),
        ];
        for (value, is_up, expected) in steps {
            assert_eq!(step(value, 100, is_up), Ok(expected));
        }
    }

    proptest! {
        #[test]
        fn rounding_is_nearest_and_symmetric(value in -1_000_000i128..1_000_000, unit in 1i128..5_000) {
            let rounded = round(value, unit, false).unwrap();
            prop_assert_eq!(rounded % unit, 0);
            prop_assert!((rounded - value).abs() * 2 <= unit);
            prop_assert_eq!(round(-value, unit, false).unwrap(), -rounded);
            let cut = round(value, unit, true).unwrap();
            prop_assert!(cut.abs() <= value.abs() && (value - cut).abs() < unit);
        }

        #[test]
        fn products_agree_with_plain_integers(a in any::<i64>(), b in any::<i64>(), drop in 1u8..30) {
            let unit = power_of_ten(drop).unwrap();
            let exact = i128::from(a) * i128::from(b);
            prop_assert_eq!(product(a.into(), b.into()), Some(exact));
            prop_assert_eq!(rounded_product(a.into(), b.into(), unit), round(exact, unit, false).map(|it| it / unit));
        }
    }
}
