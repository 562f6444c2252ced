//! Arithmetic of decimals with every result decided: digits that a sum or product loses are
//! rounded, the half away from zero, and what needs more than 128 bits on the way has them.

use crate::error::{EvalError, EvalResult};
use crate::lane::{Lane, zip};
use crate::operator::arithmetic::{
    Sign, WidePlan, fit_wide, quotient, rounded_product, signed, wide,
};
use crate::wide::{MAX_PRECISION, multiply_divide, power_of_ten};

pub(super) fn run(plan: WidePlan, operands: (&Lane, &Lane), out: &mut Lane) {
    let WidePlan { up, precision, drop, dividend_up, sign } = plan;
    let fit = |value: EvalResult<i128>| value.and_then(|it| fit_wide(Some(it), precision));
    match sign {
        // Loops for what needs no more than 128 bits.
        Sign::Add | Sign::Subtract | Sign::Multiply if drop == 0 => wide(plan, operands, out),
        Sign::Divide if dividend_up <= MAX_PRECISION => wide(plan, operands, out),
        Sign::Add => zip(out, operands, |a, b| fit(far_sum(a, b, up, drop))),
        Sign::Subtract => zip(out, operands, |a, b: i128| fit(far_sum(a, -b, up, drop))),
        Sign::Multiply => zip(out, operands, |a, b| fit(far_product(a, b, drop))),
        Sign::Divide => zip(out, operands, |a, b| fit(far_quotient(a, b, dividend_up))),
        Sign::Modulo => zip(out, operands, |a, b| fit(far_remainder(a, b, up))),
    }
}

/// `(a * 10^up.0 + b * 10^up.1) / 10^drop`, the half away from zero.
fn far_sum(a: i128, b: i128, up: (u8, u8), drop: u8) -> EvalResult<i128> {
    let unit = power(drop)?;
    let part = |value: i128, up: u8| {
        if up >= drop {
            let whole = value.checked_mul(power(up - drop)?).ok_or(EvalError::Overflow)?;
            return Ok((whole, 0));
        }
        let divisor = power(drop - up)?;
        Ok((value / divisor, value % divisor * power(up)?))
    };
    let (whole_a, rest_a) = part(a, up.0)?;
    let (whole_b, rest_b) = part(b, up.1)?;
    let whole = whole_a.checked_add(whole_b).ok_or(EvalError::Overflow)?;
    let rest = rest_a.checked_add(rest_b).ok_or(EvalError::Overflow)?;
    let mut whole = whole.checked_add(rest / unit).ok_or(EvalError::Overflow)?;
    let mut rest = rest % unit;
    // The rest takes the sign of the whole, so that a half goes away from zero.
    if whole > 0 && rest < 0 {
        whole -= 1;
        rest += unit;
    } else if whole < 0 && rest > 0 {
        whole += 1;
        rest -= unit;
    }
    let is_far = rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs();
    let sign = if rest < 0 { -1 } else { 1 };
    Ok(whole + if is_far { sign } else { 0 })
}

fn power(exponent: u8) -> EvalResult<i128> {
    power_of_ten(exponent).ok_or(EvalError::Overflow)
}

/// `a * b / 10^drop`, the half away from zero; as many as 39 digits are dropped.
fn far_product(a: i128, b: i128, drop: u8) -> EvalResult<i128> {
    let Some(unit) = power_of_ten(drop) else {
        let unit = power(drop - 1)?.unsigned_abs();
        let parts = multiply_divide(a.unsigned_abs(), b.unsigned_abs(), unit);
        let (tens, _) = parts.ok_or(EvalError::Overflow)?;
        return signed(tens / 10 + u128::from(tens % 10 >= 5), (a < 0) != (b < 0));
    };
    rounded_product(a, b, unit)
}

/// `a * 10^up / b`, cut.
fn far_quotient(a: i128, b: i128, up: u8) -> EvalResult<i128> {
    let Some(unit) = power_of_ten(up) else {
        let more = power(up - MAX_PRECISION)?.unsigned_abs();
        let most = power(MAX_PRECISION)?.unsigned_abs();
        if b == 0 {
            return Err(EvalError::DivideByZero);
        }
        let divisor = b.unsigned_abs();
        let first = multiply_divide(a.unsigned_abs(), most, divisor);
        let (whole, rest) = first.ok_or(EvalError::Overflow)?;
        let (tail, _) = multiply_divide(rest, more, divisor).ok_or(EvalError::Overflow)?;
        let whole = whole.checked_mul(more).and_then(|whole| whole.checked_add(tail));
        return signed(whole.ok_or(EvalError::Overflow)?, (a < 0) != (b < 0));
    };
    quotient(a, b, unit)
}

/// `a * 10^up.0 % (b * 10^up.1)`; one of the two powers is 0.
fn far_remainder(a: i128, b: i128, up: (u8, u8)) -> EvalResult<i128> {
    if b == 0 {
        return Err(EvalError::DivideByZero);
    }
    // A divisor beyond 128 bits is greater than any dividend.
    let Some(divisor) = b.checked_mul(power(up.1)?) else { return Ok(a) };
    if let Some(dividend) = a.checked_mul(power(up.0)?) {
        return dividend.checked_rem(divisor).ok_or(EvalError::Overflow);
    }
    let divisor = divisor.unsigned_abs();
    let rest = (0..up.0).try_fold(a.unsigned_abs() % divisor, |rest, _| {
        multiply_divide(rest, 10, divisor).map(|(_, rest)| rest)
    });
    signed(rest.ok_or(EvalError::Overflow)?, a < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_beyond_38_digits_are_decided() {
        // decimal(38,0) + decimal(38,10): 1 + 0.5 and -1 - 0.5 at scale 0.
        assert_eq!(far_sum(1, 5_000_000_000, (10, 0), 10), Ok(2));
        assert_eq!(far_sum(-1, -5_000_000_000, (10, 0), 10), Ok(-2));
        assert_eq!(far_sum(1, -4_999_999_999, (10, 0), 10), Ok(1));
        assert_eq!(far_sum(1, -5_000_000_001, (10, 0), 10), Ok(0));
        let nines = 10i128.pow(38) - 1;
        assert_eq!(far_sum(nines, 4_000_000_000, (10, 0), 10), Ok(nines));
        // Scales 5 and 10 at scale 2: 0.12345 + 0.0000500000.
        assert_eq!(far_sum(12_345, 500_000, (5, 0), 8), Ok(12));
        assert_eq!(far_product(nines, nines, 39), Ok(10i128.pow(37)));
        assert_eq!(far_quotient(1, 10i128.pow(37), 44), Ok(10i128.pow(7)));
        assert_eq!(far_remainder(nines, 7, (38, 0)), Ok(far_remainder_by_steps(nines, 7)));
        assert_eq!(far_remainder(-5, 1, (0, 38)), Ok(-5));
    }

    fn far_remainder_by_steps(value: i128, divisor: i128) -> i128 {
        (0..38).fold(value % divisor, |rest, _| rest * 10 % divisor)
    }
}
