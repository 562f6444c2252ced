//! Functions of numbers in statements.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::Op;
use extentdb_kernel::operator::arithmetic;
use extentdb_kernel::operator::function::number;
use extentdb_kernel::operator::row::Function as RowFunction;
use extentdb_kernel::wide::MAX_PRECISION;
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, entry};
use super::exact::Style;
use super::{BindResult, Binder, Ty, Value};
use crate::typing;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("abs", 1, 1, |binder, a| binder.abs_exactly(&a)),
    entry("sign", 1, 1, |binder, a| binder.sign_exactly(&a)),
    entry("ceiling", 1, 1, |binder, a| binder.step_exactly(&a, true)),
    entry("floor", 1, 1, |binder, a| binder.step_exactly(&a, false)),
    entry("round", 2, 3, |binder, a| binder.round_exactly(&a)),
    entry("power", 2, 2, |binder, a| binder.power(&a)),
    entry("sqrt", 1, 1, |binder, a| binder.of_float(&a, number::sqrt)),
    entry("square", 1, 1, |binder, a| binder.of_float(&a, number::square)),
    entry("exp", 1, 1, |binder, a| binder.of_float(&a, number::exp)),
    entry("log", 1, 2, |binder, a| binder.of_float(&a, number::log)),
    entry("log10", 1, 1, |binder, a| binder.of_float(&a, number::log10)),
    entry("sin", 1, 1, |binder, a| binder.of_float(&a, number::sin)),
    entry("cos", 1, 1, |binder, a| binder.of_float(&a, number::cos)),
    entry("tan", 1, 1, |binder, a| binder.of_float(&a, number::tan)),
    entry("cot", 1, 1, |binder, a| binder.of_float(&a, number::cot)),
    entry("asin", 1, 1, |binder, a| binder.of_float(&a, number::asin)),
    entry("acos", 1, 1, |binder, a| binder.of_float(&a, number::acos)),
    entry("atan", 1, 1, |binder, a| binder.of_float(&a, number::atan)),
    entry("atn2", 2, 2, |binder, a| binder.of_float(&a, number::atn2)),
    entry("degrees", 1, 1, |binder, a| binder.angle(&a, number::degrees)),
    entry("radians", 1, 1, |binder, a| binder.angle(&a, number::radians)),
    entry("pi", 0, 0, |binder, _| {
        let pi = Constant::Float(std::f64::consts::PI);
        binder.constant(pi, Ty::Sql(SqlType::Float))
    }),
    entry("rand", 0, 1, |binder, a| {
        if a.values.is_empty() {
            return binder.unsupported("the function rand without a seed");
        }
        let seed = binder.int_argument(&a, 0)?;
        binder.by_rows(number::rand, &[seed], SqlType::Float)
    }),
    entry("isnumeric", 1, 1, |binder, a| binder.is_numeric(&a)),
];

impl Binder<'_> {
    /// An argument that must be a number; texts are floats.
    fn number_argument(
        &mut self,
        arguments: &Arguments,
        at: usize,
    ) -> BindResult<(Value, SqlType)> {
        let value = match arguments.get(at).cloned() {
            Some(value) if value.ty != Ty::Null => value,
            _ => return Ok((self.null(Ty::Sql(SqlType::Float))?, SqlType::Float)),
        };
        let ty = self.sql(&value)?;
        let is_exact = typing::is_number(&ty) && ty != SqlType::Bit;
        if is_exact {
            return Ok((value, ty));
        }
        Ok((self.argument(arguments, at, SqlType::Float)?, SqlType::Float))
    }

    fn abs_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let (a, ty) = self.number_argument(arguments, 0)?;
        let a = self.implicit(a, number_result(&ty))?;
        let ty = self.sql(&a)?;
        let op = match typing::range(&ty) {
            Some(range) => arithmetic::Op::AbsInt { a: a.reg, range },
            None if typing::is_decimal(&ty) => arithmetic::Op::AbsWide { a: a.reg },
            None => arithmetic::Op::AbsFloat { a: a.reg },
        };
        self.emit(Op::Arithmetic(op), ty)
    }

    fn sign_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let (a, ty) = self.number_argument(arguments, 0)?;
        let result = number_result(&ty);
        let op = match ty {
            SqlType::Money | SqlType::SmallMoney => {
                arithmetic::Op::SignInt { a: a.reg, unit: 10_000 }
            }
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                let widest = SqlType::Decimal { precision: MAX_PRECISION, scale };
                let op = arithmetic::Op::SignWide { a: a.reg, scale };
                return self.emit(Op::Arithmetic(op), widest);
            }
            SqlType::Float | SqlType::Real => {
                return self.by_rows(number::sign, &[a], SqlType::Float);
            }
            _ => arithmetic::Op::SignInt { a: a.reg, unit: 1 },
        };
        self.emit(Op::Arithmetic(op), result)
    }

    fn step_exactly(&mut self, arguments: &Arguments, is_up: bool) -> BindResult {
        let (a, _) = self.number_argument(arguments, 0)?;
        self.step_to_whole(a, is_up)
    }

    fn round_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let (a, ty) = self.number_argument(arguments, 0)?;
        let result = number_result(&ty);
        let a = self.implicit(a, result)?;
        let digits = self.int_argument(arguments, 1)?;
        let cut = match arguments.get(2) {
            Some(_) => self.int_argument(arguments, 2)?,
            None => self.number(0)?,
        };
        self.row(number::round, &[a, digits, cut], result, 0)
    }

    fn power(&mut self, arguments: &Arguments) -> BindResult {
        let (a, ty) = self.number_argument(arguments, 0)?;
        let result = match number_result(&ty) {
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                SqlType::Decimal { precision: MAX_PRECISION, scale }
            }
            other => other,
        };
        let y = self.float_argument(arguments, 1)?;
        self.row(number::power, &[a, y], result, 0)
    }

    fn of_float(&mut self, arguments: &Arguments, function: RowFunction) -> BindResult {
        let values: BindResult<Vec<Value>> =
            (0..arguments.values.len()).map(|at| self.float_argument(arguments, at)).collect();
        self.by_rows(function, &values?, SqlType::Float)
    }

    /// DEGREES and RADIANS keep the type of their argument.
    fn angle(&mut self, arguments: &Arguments, function: RowFunction) -> BindResult {
        let (a, ty) = self.number_argument(arguments, 0)?;
        let result = match number_result(&ty) {
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
                SqlType::Decimal { precision: MAX_PRECISION, scale: scale.max(18) }
            }
            other => other,
        };
        let a = self.implicit(a, SqlType::Float)?;
        let angle = self.by_rows(function, &[a], SqlType::Float)?;
        self.exact(angle, result, Style::NONE)
    }

    fn is_numeric(&mut self, arguments: &Arguments) -> BindResult {
        let Some(value) = arguments.get(0).cloned() else { return self.number(0) };
        let ty = match value.ty {
            Ty::Null => return self.number(0),
            _ => self.sql(&value)?,
        };
        if self.is_character(&value) {
            return self.row_with_nulls(number::is_numeric, &[value], SqlType::Int, 0);
        }
        let is_number = typing::is_number(&ty);
        self.row_with_nulls(number::is_value, &[value], SqlType::Int, i64::from(is_number))
    }
}

/// The type that functions of numbers give.
fn number_result(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::TinyInt | SqlType::SmallInt => SqlType::Int,
        SqlType::SmallMoney => SqlType::Money,
        SqlType::Real => SqlType::Float,
        other => *other,
    }
}
