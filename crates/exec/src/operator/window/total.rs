//! COUNT, SUM, AVG and CHECKSUM_AGG over frames that slide: what enters is added, what leaves is
//! taken off.

use extentdb_bind::function::Aggregate;
use extentdb_engine::{Values, Vector};
use extentdb_types::SqlType;

use crate::error::Error;
use crate::number::{self, Results};
use crate::operator::aggregate::sum::Average;
use crate::operator::window::slide::Slider;

/// COUNT: of rows without a column, else of values.
pub(super) struct Count<'v> {
    pub(super) values: Option<&'v Vector>,
    count: i128,
    results: Results,
}

impl<'v> Count<'v> {
    pub(super) fn new(values: Option<&'v Vector>, ty: SqlType) -> Count<'v> {
        Count { values, count: 0, results: Results::new(ty) }
    }

    fn counts(&self, row: usize) -> bool {
        self.values.is_none_or(|values| !values.is_null(row))
    }

    pub(super) fn finish(self) -> Vector {
        self.results.finish()
    }
}

impl Slider for Count<'_> {
    fn clear(&mut self) {
        self.count = 0;
    }

    fn add(&mut self, row: usize) {
        self.count += i128::from(self.counts(row));
    }

    fn remove(&mut self, row: usize) {
        self.count -= i128::from(self.counts(row));
    }

    fn push_result(&mut self) -> Result<(), Error> {
        self.results.push_exact(Some(self.count))
    }
}

/// SUM, AVG or CHECKSUM_AGG of integers, money and decimals.
pub(super) struct Exact<'v> {
    values: &'v Vector,
    numbers: Vec<i128>,
    function: Aggregate,
    ty: SqlType,
    average: Average,
    sum: i128,
    /// How often the sum has left 128 bits, less how often it has come back.
    carry: i64,
    count: i64,
    results: Results,
}

impl<'v> Exact<'v> {
    /// `None`: the values are no such numbers.
    pub(super) fn new(values: &'v Vector, function: Aggregate, ty: SqlType) -> Option<Exact<'v>> {
        let numbers = match &values.values {
            Values::I128(own) => own.clone(),
            _ => values.integers()?.into_iter().map(i128::from).collect(),
        };
        Some(Exact {
            values,
            numbers,
            function,
            ty,
            average: Average::new(&values.ty, &ty),
            sum: 0,
            carry: 0,
            count: 0,
            results: Results::new(ty),
        })
    }

    /// Adds a value, or takes it off again.
    fn change(&mut self, value: i128, is_added: bool) {
        self.count += if is_added { 1 } else { -1 };
        if self.function == Aggregate::ChecksumAgg {
            self.sum ^= value;
            return;
        }
        // A value is less than 10^38, so that it has an opposite.
        let change = if is_added { value } else { -value };
        let (sum, has_left) = self.sum.overflowing_add(change);
        self.sum = sum;
        if has_left {
            self.carry += change.signum() as i64;
        }
    }

    fn value(&self, row: usize) -> Option<i128> {
        self.numbers.get(row).copied().filter(|_| !self.values.is_null(row))
    }

    pub(super) fn finish(self) -> Vector {
        self.results.finish()
    }
}

impl Slider for Exact<'_> {
    fn clear(&mut self) {
        self.sum = 0;
        self.carry = 0;
        self.count = 0;
    }

    fn add(&mut self, row: usize) {
        if let Some(value) = self.value(row) {
            self.change(value, true);
        }
    }

    fn remove(&mut self, row: usize) {
        if let Some(value) = self.value(row) {
            self.change(value, false);
        }
    }

    fn push_result(&mut self) -> Result<(), Error> {
        if self.carry != 0 {
            return Err(Error::Overflow { ty: self.ty });
        }
        let result = match self.function {
            _ if self.count == 0 => None,
            Aggregate::Avg => Some(self.average.of(self.ty, self.sum, self.count)?),
            _ => Some(self.sum),
        };
        self.results.push_exact(result)
    }
}

/// SUM or AVG of floats, by Neumaier's compensated summation: what a large value takes from a small
/// one is kept, and comes back when the large one leaves.
pub(super) struct Float<'v> {
    values: &'v Vector,
    numbers: Vec<f64>,
    is_average: bool,
    sum: f64,
    lost: f64,
    count: f64,
    results: Results,
}

impl<'v> Float<'v> {
    /// `None`: the values are no numbers.
    pub(super) fn new(values: &'v Vector, function: Aggregate, ty: SqlType) -> Option<Float<'v>> {
        Some(Float {
            values,
            numbers: number::floats(values)?,
            is_average: function == Aggregate::Avg,
            sum: 0.0,
            lost: 0.0,
            count: 0.0,
            results: Results::new(ty),
        })
    }

    fn value(&self, row: usize) -> Option<f64> {
        self.numbers.get(row).copied().filter(|_| !self.values.is_null(row))
    }

    fn change(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost += if self.sum.abs() >= value.abs() {
            (self.sum - sum) + value
        } else {
            (value - sum) + self.sum
        };
        self.sum = sum;
    }

    pub(super) fn finish(self) -> Vector {
        self.results.finish()
    }
}

impl Slider for Float<'_> {
    fn clear(&mut self) {
        self.sum = 0.0;
        self.lost = 0.0;
        self.count = 0.0;
    }

    fn add(&mut self, row: usize) {
        let Some(value) = self.value(row) else { return };
        self.count += 1.0;
        self.change(value);
    }

    fn remove(&mut self, row: usize) {
        let Some(value) = self.value(row) else { return };
        self.count -= 1.0;
        self.change(-value);
        if self.count == 0.0 {
            self.clear();
        }
    }

    fn push_result(&mut self) -> Result<(), Error> {
        let sum = self.sum + self.lost;
        let result = if self.is_average { sum / self.count } else { sum };
        self.results.push_float((self.count > 0.0).then_some(result))
    }
}
