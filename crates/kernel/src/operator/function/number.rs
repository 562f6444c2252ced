//! Mathematics, ISNUMERIC, and PARSE of numbers.

use extentdb_types::SqlType;

use crate::error::{EvalError, EvalResult};
use crate::operator::row::{Call, Cell, Outcome, first};
use crate::operator::{arithmetic, cast, codec, number_form};
use crate::type_facts;
use crate::wide::power_of_ten;

/// A float that is a number; else the function has no value there.
fn settled(value: f64) -> EvalResult<Outcome> {
    if value.is_nan() {
        return Err(EvalError::Domain);
    }
    if value.is_infinite() { Err(EvalError::Overflow) } else { Ok(Outcome::Float(value)) }
}

fn of(cells: &[Cell<'_>]) -> f64 {
    first::<1>(cells)[0].float()
}

macro_rules! float_function {
    ($name:ident, $value:expr) => {
        /// The function of this name; a message where it has no value.
        pub fn $name(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
            let value: fn(f64) -> f64 = $value;
            settled(value(of(cells)))
        }
    };
}

float_function!(sqrt, f64::sqrt);
float_function!(square, |x| x * x);
float_function!(exp, f64::exp);
float_function!(sin, f64::sin);
float_function!(cos, f64::cos);
float_function!(tan, f64::tan);
float_function!(asin, f64::asin);
float_function!(acos, f64::acos);
float_function!(atan, f64::atan);
float_function!(degrees, |x| x * (180.0 / std::f64::consts::PI));
float_function!(radians, |x| x * (std::f64::consts::PI / 180.0));
float_function!(sign, |x| if x == 0.0 { 0.0 } else { x.signum() });

/// COT.
pub fn cot(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let x = of(cells);
    if x == 0.0 { Err(EvalError::Domain) } else { settled(1.0 / x.tan()) }
}

/// LOG of a number, to base e or to the second argument.
pub fn log(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [x, base] = first::<2>(cells);
    let x = x.float();
    if x <= 0.0 {
        return Err(EvalError::Domain);
    }
    match base {
        Cell::Float(base) if base <= 0.0 || base == 1.0 => Err(EvalError::Domain),
        Cell::Float(base) => settled(x.ln() / base.ln()),
        _ => settled(x.ln()),
    }
}

/// LOG10.
pub fn log10(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let x = of(cells);
    if x <= 0.0 { Err(EvalError::Domain) } else { settled(x.log10()) }
}

/// ATN2.
pub fn atn2(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [y, x] = first::<2>(cells);
    if y.float() == 0.0 && x.float() == 0.0 {
        return Err(EvalError::Domain);
    }
    settled(y.float().atan2(x.float()))
}

/// RAND with a seed: L'Ecuyer's combination of two generators, of which the second one begins
/// alike for every seed.
pub fn rand(_: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    const MODULUS: i64 = 2_147_483_563;
    const MULTIPLIER: i64 = 40_014;
    const SECOND: i64 = 615_096_481;
    const FACTOR: f64 = 4.656_613e-10;
    /// What a seed of 0 stands for.
    const ZERO: i64 = 12_345;
    let [seed] = first::<1>(cells);
    let seed = match seed.int().abs() {
        0 => ZERO,
        seed => seed,
    };
    let mut value = MULTIPLIER * seed % MODULUS - SECOND;
    if value < 1 {
        value += MODULUS - 1;
    }
    Ok(Outcome::Float(value as f64 * FACTOR))
}

/// ROUND of any number: `cells` are the number, the length, and whether to cut.
pub fn round(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value, digits, cut] = first::<3>(cells);
    let digits = digits.int().clamp(-400, 400);
    let cut = cut.int() != 0;
    let exact = |value: i128, scale: u8| -> EvalResult<i128> {
        let down = i64::from(scale) - digits;
        if down <= 0 {
            return Ok(value);
        }
        match u8::try_from(down).ok().and_then(power_of_ten) {
            Some(unit) => arithmetic::round(value, unit, cut),
            None => Ok(0),
        }
    };
    let result = &call.result;
    match value {
        Cell::Int(value) => {
            let scale = if type_facts::is_money(result) { 4 } else { 0 };
            let rounded = i64::try_from(exact(value.into(), scale)?);
            let (least, most) = type_facts::range(result).unwrap_or((i64::MIN, i64::MAX));
            let rounded = rounded.ok().filter(|value| (least..=most).contains(value));
            rounded.map(Outcome::Int).ok_or(EvalError::Overflow)
        }
        Cell::Wide(value) => {
            let (precision, scale) = type_facts::digits(result).unwrap_or((38, 0));
            arithmetic::fit_wide(Some(exact(value, scale)?), precision).map(Outcome::Wide)
        }
        Cell::Float(value) => settled(round_float(value, digits as i32, cut)),
        _ => Err(EvalError::Row),
    }
}

fn round_float(value: f64, digits: i32, cut: bool) -> f64 {
    let unit = 10f64.powi(digits.abs());
    if !unit.is_finite() {
        return if digits > 0 { value } else { 0.0 };
    }
    let scaled = if digits >= 0 { value * unit } else { value / unit };
    if !scaled.is_finite() {
        return value;
    }
    let whole = if cut { scaled.trunc() } else { scaled.round() };
    if digits >= 0 { whole / unit } else { whole * unit }
}

/// POWER: of the type of its first argument.
pub fn power(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [x, y] = first::<2>(cells);
    let y = y.float();
    if let (Cell::Int(x), SqlType::Int | SqlType::BigInt) = (x, &call.result)
        && y >= 0.0
        && y.fract() == 0.0
    {
        let value = i128::from(x).checked_pow(y.min(200.0) as u32);
        let value = value.and_then(|it| i64::try_from(it).ok()).ok_or(EvalError::Overflow)?;
        let (least, most) = type_facts::range(&call.result).unwrap_or((i64::MIN, i64::MAX));
        let is_in = (least..=most).contains(&value);
        return if is_in { Ok(Outcome::Int(value)) } else { Err(EvalError::Overflow) };
    }
    let base = match (x, call.ty(0)) {
        (Cell::Int(value), ty) if type_facts::is_money(ty) => value as f64 / 10_000.0,
        (Cell::Int(value), _) => value as f64,
        (Cell::Wide(value), ty) => {
            number_form::decimal_to_float(value, type_facts::digits(ty).map_or(0, |it| it.1))
        }
        (other, _) => other.float(),
    };
    if base == 0.0 && y < 0.0 {
        return Err(EvalError::DivideByZero);
    }
    let value = base.powf(y);
    if value.is_nan() {
        return Err(EvalError::Domain);
    }
    if !value.is_finite() {
        return Err(EvalError::Overflow);
    }
    let within = |value: i128| {
        let (least, most) = type_facts::range(&call.result).unwrap_or((i64::MIN, i64::MAX));
        let value = i64::try_from(value).ok().filter(|value| (least..=most).contains(value));
        value.map(Outcome::Int).ok_or(EvalError::Overflow)
    };
    match call.result {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            let value = number_form::float_to_decimal(value, scale)?;
            arithmetic::fit_wide(Some(value), precision).map(Outcome::Wide)
        }
        SqlType::Money | SqlType::SmallMoney => within(number_form::float_to_decimal(value, 4)?),
        SqlType::Float | SqlType::Real => Ok(Outcome::Float(value)),
        _ => within(value.trunc() as i128),
    }
}

/// ISNUMERIC of a text.
pub fn is_numeric(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [text] = first::<1>(cells);
    let is_numeric = match text {
        Cell::Bytes(bytes) => number_form::is_numeric(&codec::decode(call.ty(0), bytes)),
        _ => false,
    };
    Ok(Outcome::Int(i64::from(is_numeric)))
}

/// ISNUMERIC of another type, which is one of numbers or not; NULL is no number.
pub fn is_value(call: &Call, cells: &[Cell<'_>], _: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [value] = first::<1>(cells);
    Ok(Outcome::Int(if value == Cell::Null { 0 } else { call.number }))
}

/// PARSE of a number in en-US: commas between the digits, a currency sign for money.
pub fn parse(call: &Call, cells: &[Cell<'_>], to: &mut Vec<u8>) -> EvalResult<Outcome> {
    let [text] = first::<1>(cells);
    let text = codec::decode(call.ty(0), text.bytes());
    let word = text.trim();
    let plain = word.replace(',', "");
    let plain = match type_facts::is_money(&call.result) {
        true => plain.replace('$', ""),
        false => plain,
    };
    if !plain.bytes().any(|byte| byte.is_ascii_digit()) || word.starts_with(',') {
        return Err(EvalError::Parse);
    }
    cast::read(&call.result, &plain, call, to).map_err(|_| EvalError::Parse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::StatementOptions;

    fn call(ty: SqlType, result: SqlType) -> Call {
        Call {
            types: vec![ty],
            result,
            options: StatementOptions::default(),
            number: 0,
        }
    }

    #[test]
    fn rand_gives_the_published_values_of_its_seeds() {
        let cases = [
            (0, 0.943_597_390_424_144),
            (1, 0.713_591_993_212_924),
            (2, 0.713_610_626_184_182),
            (100, 0.715_436_657_367_485),
        ];
        for (seed, expected) in cases {
            let of_int = call(SqlType::Int, SqlType::Float);
            match rand(&of_int, &[Cell::Int(seed)], &mut Vec::new()) {
                Ok(Outcome::Float(value)) => {
                    assert!((value - expected).abs() < 1e-14, "{seed}: {value}");
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn floats_round_half_away_from_zero() {
        let cases = [
            (123.9995, 3, false, 124.0),
            (-2.5, 0, false, -3.0),
            (748.58, -1, false, 750.0),
            (150.75, 0, true, 150.0),
            (5.0, -400, false, 0.0),
        ];
        for (value, digits, cut, expected) in cases {
            assert_eq!(round_float(value, digits, cut), expected, "{value} {digits}");
        }
    }
}
