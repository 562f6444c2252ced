//! Arithmetic of 38 digits: products and dividends of up to 256 bits.

/// Digits a decimal can have.
pub const MAX_PRECISION: u8 = 38;

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn powers() -> [i128; 39] {
    let mut table = [1i128; 39];
    let mut at = 1;
    while at < 39 {
        table[at] = table[at - 1] * 10;
        at += 1;
    }
    table
}

static POWERS: [i128; 39] = powers();

/// `10^exponent`; `None` beyond 38.
#[inline]
pub fn power_of_ten(exponent: u8) -> Option<i128> {
    POWERS.get(usize::from(exponent)).copied()
}

/// `a * b / divisor` and its remainder, the product taken in 256 bits; `None` when the quotient
/// needs more than 128 or the divisor is 0.
pub(crate) fn multiply_divide(a: u128, b: u128, divisor: u128) -> Option<(u128, u128)> {
    if divisor == 0 {
        return None;
    }
    let (high, low) = multiply(a, b);
    match high {
        // Most numbers are small, and small ones are divided many times faster.
        0 => Some(match (u64::try_from(low), u64::try_from(divisor)) {
            (Ok(low), Ok(divisor)) => ((low / divisor).into(), (low % divisor).into()),
            _ => (low / divisor, low % divisor),
        }),
        _ if high >= divisor => None,
        _ => Some(divide(high, low, divisor)),
    }
}

/// The product as high and low half.
fn multiply(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let a1 = a >> 64;
    let a0 = a & HALF;
    let b1 = b >> 64;
    let b0 = b & HALF;
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & HALF);
    (a1 * b1 + (middle >> 64) + (other >> 64), other << 64 | low & HALF)
}

/// Long division bit by bit; `high < divisor`, so the quotient has 128 bits.
fn divide(high: u128, low: u128, divisor: u128) -> (u128, u128) {
    let mut quotient = 0u128;
    let mut rest = high;
    for bit in (0..128).rev() {
        let carry = rest >> 127;
        rest = rest << 1 | low >> bit & 1;
        quotient <<= 1;
        if carry == 1 || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    (quotient, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_product_divided_by_one_factor_is_the_other(a in any::<u128>(), b in 1u128.., rest in any::<u128>()) {
            prop_assert_eq!(multiply_divide(a, b, b), Some((a, 0)));
            prop_assert_eq!(multiply_divide(a, 1, b), Some((a / b, a % b)));
            let (high, low) = multiply(a, b);
            let rest = rest % b;
            // (a * b + rest) / b, the sum built by hand.
            let (sum, carry) = low.overflowing_add(rest);
            let high = high + u128::from(carry);
            if high < b {
                prop_assert_eq!(divide(high, sum, b), (a, rest));
            }
        }
    }

    #[test]
    fn a_quotient_beyond_128_bits_is_refused() {
        assert_eq!(multiply_divide(u128::MAX, u128::MAX, u128::MAX), Some((u128::MAX, 0)));
        assert_eq!(multiply_divide(u128::MAX, u128::MAX, 1), None);
        assert_eq!(multiply_divide(5, 5, 0), None);
        assert_eq!(power_of_ten(38), Some(10i128.pow(38)));
        assert_eq!(power_of_ten(39), None);
    }
}
