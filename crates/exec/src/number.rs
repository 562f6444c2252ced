//! Numbers of columns, whatever their types: read as floats, and written as results.

use extentdb_engine::{Values, Vector};
use extentdb_types::SqlType;

use crate::error::Error;

/// What a decimal of the greatest precision is less than: 10^38.
const DECIMAL_LIMIT: u128 = 10u128.pow(38);
/// What money counts.
const MONEY_UNITS: f64 = 10_000.0;

/// The values as floats, 0 for NULL; `None` of a type that is no number.
pub(crate) fn floats(vector: &Vector) -> Option<Vec<f64>> {
    Some(match &vector.values {
        Values::F64(own) => own.clone(),
        Values::F32(own) => own.iter().map(|value| f64::from(*value)).collect(),
        Values::I128(own) => {
            let unit = 10f64.powi(scale(&vector.ty).into());
            own.iter().map(|value| *value as f64 / unit).collect()
        }
        _ => {
            let is_money = matches!(vector.ty, SqlType::Money | SqlType::SmallMoney);
            let unit = if is_money { MONEY_UNITS } else { 1.0 };
            vector.integers()?.into_iter().map(|value| value as f64 / unit).collect()
        }
    })
}

/// Digits after the decimal point of a decimal; 0 of other types.
pub(crate) fn scale(ty: &SqlType) -> u8 {
    match *ty {
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => scale,
        _ => 0,
    }
}

/// Is the value one of the type, in its units?
///
/// # Errors
/// [`Error::Overflow`].
pub(crate) fn verify_range(ty: SqlType, value: i128) -> Result<i128, Error> {
    let is_in = match ty {
        SqlType::Int => i32::try_from(value).is_ok(),
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => value.unsigned_abs() < DECIMAL_LIMIT,
        _ => i64::try_from(value).is_ok(),
    };
    if is_in { Ok(value) } else { Err(Error::Overflow { ty }) }
}

/// Results as they are computed, one by one.
#[derive(Debug)]
pub(crate) struct Results {
    ty: SqlType,
    exact: Vec<i128>,
    floats: Vec<f64>,
    is_valid: Vec<bool>,
}

impl Results {
    /// Without results yet.
    pub(crate) fn new(ty: SqlType) -> Results {
        Results {
            ty,
            exact: Vec::new(),
            floats: Vec::new(),
            is_valid: Vec::new(),
        }
    }

    /// Appends an integer, money, or the unscaled value of a decimal; `None` is NULL.
    ///
    /// # Errors
    /// [`Error::Overflow`]: it is not in the range of the type.
    pub(crate) fn push_exact(&mut self, value: Option<i128>) -> Result<(), Error> {
        let value = value.map(|value| verify_range(self.ty, value)).transpose()?;
        self.exact.push(value.unwrap_or_default());
        self.is_valid.push(value.is_some());
        Ok(())
    }

    /// Appends a float; `None` is NULL.
    ///
    /// # Errors
    /// [`Error::Overflow`]: it is infinite.
    pub(crate) fn push_float(&mut self, value: Option<f64>) -> Result<(), Error> {
        if value.is_some_and(|value| !value.is_finite()) {
            return Err(Error::Overflow { ty: self.ty });
        }
        self.floats.push(value.unwrap_or_default());
        self.is_valid.push(value.is_some());
        Ok(())
    }

    /// All of them.
    pub(crate) fn finish(self) -> Vector {
        let mut vector = Vector::computed(self.ty);
        let is_valid = |row: usize| self.is_valid.get(row).copied().unwrap_or_default();
        match &vector.values {
            Values::F32(_) | Values::F64(_) => vector.extend_floats(&self.floats, &is_valid),
            Values::I128(_) => vector.extend_wide(&self.exact, &is_valid),
            _ => {
                let values: Vec<i64> = self.exact.iter().map(|value| *value as i64).collect();
                vector.extend_integers(&values, &is_valid);
            }
        }
        vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cell, batch};

    #[test]
    fn numbers_of_all_types_are_floats() {
        let decimal = SqlType::Decimal { precision: 9, scale: 2 };
        for (ty, cell, expected) in [
            (SqlType::Bit, Cell::Int(1), 1.0),
            (SqlType::TinyInt, Cell::Int(255), 255.0),
            (SqlType::BigInt, Cell::Int(-7), -7.0),
            (SqlType::Money, Cell::Int(12_500), 1.25),
            (SqlType::SmallMoney, Cell::Int(-5_000), -0.5),
            (decimal, Cell::Wide(-150), -1.5),
            (SqlType::Real, Cell::Float(0.5), 0.5),
        ] {
            let rows = batch(&[ty], &[vec![cell]]);
            assert_eq!(floats(&rows.columns[0]), Some(vec![expected]), "{ty}");
        }
        let rows = batch(&[SqlType::UniqueIdentifier], &[vec![Cell::Guid(1)]]);
        assert_eq!(floats(&rows.columns[0]), None);
    }

    #[test]
    fn results_are_verified_against_their_type() {
        let limit = 10i128.pow(38);
        let decimal = SqlType::Numeric { precision: 38, scale: 3 };
        for (ty, value, is_in) in [
            (SqlType::Int, i128::from(i32::MAX), true),
            (SqlType::Int, i128::from(i32::MAX) + 1, false),
            (SqlType::BigInt, i128::from(i64::MIN), true),
            (SqlType::BigInt, i128::from(i64::MIN) - 1, false),
            (SqlType::Money, i128::from(i64::MAX) + 1, false),
            (decimal, limit - 1, true),
            (decimal, -limit, false),
            (decimal, i128::MIN, false),
        ] {
            assert_eq!(verify_range(ty, value).is_ok(), is_in, "{value} {ty}");
        }
    }
}
