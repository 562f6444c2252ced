//! Operators of statements: which types go together, and which message those that do not have.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::lane::LaneKind;
use extentdb_kernel::operator::arithmetic::{self, Bits, Sign, WidePlan};
use extentdb_kernel::operator::{Op, compare, text};
use extentdb_types::SqlType;

use super::{BindResult, Binder, Label, Literal, Ty, Value};
use crate::error::CompileError;
use crate::syntax::{Infix, Test};
use crate::typing::{self, Conversion};
use crate::variant;

/// An operator as messages name it.
fn operator_name(op: Infix) -> &'static str {
    match op {
        Infix::Add => "add",
        Infix::Subtract => "subtract",
        Infix::Multiply => "multiply",
        Infix::Divide => "divide",
        Infix::Modulo => "modulo",
        Infix::BitAnd => "'&'",
        Infix::BitOr => "'|'",
        Infix::BitXor => "'^'",
    }
}

/// A comparison as messages name it.
fn test_name(test: Test) -> &'static str {
    match test {
        Test::Equal => "equal to",
        Test::NotEqual => "not equal to",
        Test::Less => "less than",
        Test::LessOrEqual => "less than or equal to",
        Test::Greater => "greater than",
        Test::GreaterOrEqual => "greater than or equal to",
    }
}

impl Binder<'_> {
    fn incompatible<T>(&self, a: SqlType, b: SqlType, operator: &'static str) -> BindResult<T> {
        Err(CompileError::IncompatibleTypes { a, b, operator, at: self.at })
    }

    fn invalid<T>(&self, ty: SqlType, operator: &'static str) -> BindResult<T> {
        Err(CompileError::InvalidOperand { ty, operator, at: self.at })
    }

    pub(super) fn negate_exactly(&mut self, a: Value) -> BindResult {
        let ty = self.sql(&a)?;
        if let Some(Literal::Integer(number)) = a.literal
            && i32::try_from(-number).is_ok()
        {
            let mut value = self.constant(Constant::Int(-number), Ty::Sql(SqlType::Int))?;
            value.literal = Some(Literal::Integer(-number));
            return Ok(value);
        }
        let (a, ty) = match ty {
            SqlType::TinyInt => {
                (self.exact(a, SqlType::SmallInt, super::exact::Style::NONE)?, SqlType::SmallInt)
            }
            _ => (a, ty),
        };
        let op = match (typing::kind(&ty), typing::range(&ty)) {
            (LaneKind::Wide, _) => arithmetic::Op::NegateWide { a: a.reg },
            (LaneKind::Float, _) => arithmetic::Op::NegateFloat { a: a.reg },
            (LaneKind::Int, Some(range)) if range.0 < 0 && !typing::is_clock(&ty) => {
                arithmetic::Op::NegateInt { a: a.reg, range }
            }
            _ => return self.invalid(ty, "minus"),
        };
        self.emit(Op::Arithmetic(op), ty)
    }

    pub(super) fn infix_exactly(&mut self, op: Infix, a: Value, b: Value) -> BindResult {
        let (a, b) = match (a.ty, b.ty) {
            (Ty::Null, Ty::Null) => return self.null(Ty::Sql(SqlType::Int)),
            (Ty::Null, Ty::Sql(ty)) => (self.null(Ty::Sql(ty))?, b),
            (Ty::Sql(ty), Ty::Null) => (a, self.null(Ty::Sql(ty))?),
            _ => (a, b),
        };
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        if ta == SqlType::SqlVariant || tb == SqlType::SqlVariant {
            return match ta == tb {
                true => self.invalid(ta, operator_name(op)),
                false => self.incompatible(ta, tb, operator_name(op)),
            };
        }
        if op == Infix::Add && typing::is_text(&ta) && typing::is_text(&tb) {
            self.operation = "add";
            return self.concatenate_exactly(a, b);
        }
        if op == Infix::Add && typing::is_binary(&ta) && typing::is_binary(&tb) {
            return self.concatenate_binary(&a, &b);
        }
        if typing::is_temporal(&ta) || typing::is_temporal(&tb) {
            return self.clock_arithmetic_exactly(op, a, b);
        }
        match op {
            Infix::BitAnd => self.bits_exactly(op, Bits::And, a, b),
            Infix::BitOr => self.bits_exactly(op, Bits::Or, a, b),
            Infix::BitXor => self.bits_exactly(op, Bits::Xor, a, b),
            _ => self.arithmetic_exactly(op, a, b),
        }
    }

    fn concatenate_exactly(&mut self, a: Value, b: Value) -> BindResult {
        if self.environment.settings.options().concat_null_yields_null {
            return self.concatenate(a, b);
        }
        let a = self.null_as_empty(a)?;
        let b = self.null_as_empty(b)?;
        self.concatenate(a, b)
    }

    pub(super) fn null_as_empty(&mut self, a: Value) -> BindResult {
        let ty = self.sql(&a)?;
        let op = Op::Text(text::Op::NullAsEmpty { a: a.reg });
        let value = self.emit(op, ty)?;
        Ok(Value { label: a.label, ..value })
    }

    /// Numbers, and what becomes a number beside one.
    fn arithmetic_exactly(&mut self, op: Infix, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let name = operator_name(op);
        let sign = match op {
            Infix::Add => Sign::Add,
            Infix::Subtract => Sign::Subtract,
            Infix::Multiply => Sign::Multiply,
            Infix::Divide => Sign::Divide,
            _ => Sign::Modulo,
        };
        let is_product = matches!(sign, Sign::Multiply | Sign::Divide);
        let are_both = |is: fn(&SqlType) -> bool| is(&ta) && is(&tb);
        if are_both(SqlType::is_bit) || are_both(typing::is_binary) {
            return if is_product {
                self.invalid(ta, name)
            } else {
                self.incompatible(ta, tb, name)
            };
        }
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        if !typing::is_number(&higher) {
            let is_mixed = typing::is_text(&ta) != typing::is_text(&tb);
            let is_string = |ty: &SqlType| typing::is_text(ty) || typing::is_binary(ty);
            return if is_mixed && is_string(&ta) && is_string(&tb) {
                self.incompatible(ta, tb, name)
            } else {
                self.invalid(higher, name)
            };
        }
        if sign == Sign::Modulo && typing::is_float(&higher) {
            return if are_both(typing::is_float) {
                self.invalid(ta, name)
            } else {
                self.incompatible(ta, tb, name)
            };
        }
        let a = self.as_number(a, higher)?;
        let b = self.as_number(b, higher)?;
        self.numbers_exactly(op, sign, higher, a, b)
    }

    /// A text or binary as the number it stands beside; numbers as they are.
    fn as_number(&mut self, value: Value, higher: SqlType) -> BindResult {
        let ty = self.sql(&value)?;
        if typing::is_number(&ty) { Ok(value) } else { self.implicit(value, higher) }
    }

    fn numbers_exactly(
        &mut self,
        op: Infix,
        sign: Sign,
        higher: SqlType,
        a: Value,
        b: Value,
    ) -> BindResult {
        if typing::is_decimal(&higher) {
            return self.decimals_exactly(op, sign, a, b);
        }
        let a = self.implicit(a, higher)?;
        let b = self.implicit(b, higher)?;
        let a = a.reg;
        let b = b.reg;
        let op = match (higher, typing::range(&higher)) {
            (SqlType::Float | SqlType::Real, _) => {
                arithmetic::Op::Float { sign, a, b, is_real: higher == SqlType::Real }
            }
            (SqlType::Money | SqlType::SmallMoney, Some(range)) if sign == Sign::Multiply => {
                arithmetic::Op::MoneyProduct { a, b, range }
            }
            (SqlType::Money | SqlType::SmallMoney, Some(range)) if sign == Sign::Divide => {
                arithmetic::Op::Money { sign, a, b, range }
            }
            (_, Some(range)) if sign == Sign::Modulo => arithmetic::Op::Remainder { a, b, range },
            (_, Some(range)) => arithmetic::Op::Int { sign, a, b, range },
            _ => return self.invalid(higher, operator_name(op)),
        };
        self.emit(Op::Arithmetic(op), higher)
    }

    fn decimals_exactly(&mut self, op: Infix, sign: Sign, a: Value, b: Value) -> BindResult {
        let da = self.decimal_digits(&a)?;
        let db = self.decimal_digits(&b)?;
        let Some(result) = typing::result_digits(op, da, db) else {
            return self.unsupported(format!("{op:?} of decimals beyond 38 digits"));
        };
        let scale = da.1.max(db.1);
        let is_sum = !matches!(sign, Sign::Multiply | Sign::Divide);
        let dividend_up = (result.scale + db.1).saturating_sub(da.1);
        let plan = WidePlan {
            sign,
            up: if is_sum { (scale - da.1, scale - db.1) } else { (0, 0) },
            dividend_up: if sign == Sign::Divide { dividend_up } else { 0 },
            drop: if sign == Sign::Divide { 0 } else { result.full_scale - result.scale },
            precision: result.precision,
        };
        let decimal = |(precision, scale)| SqlType::Decimal { precision, scale };
        let a = self.implicit(a, decimal(da))?;
        let b = self.implicit(b, decimal(db))?;
        let op = arithmetic::Op::WideExactly { plan, a: a.reg, b: b.reg };
        self.emit(Op::Arithmetic(op), decimal((result.precision, result.scale)))
    }

    /// datetime and smalldatetime with days, or with one another; the other types of dates have no
    /// sums.
    fn clock_arithmetic_exactly(&mut self, op: Infix, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let name = operator_name(op);
        let sign = match op {
            Infix::Add => Sign::Add,
            Infix::Subtract => Sign::Subtract,
            _ => return self.invalid(if typing::is_temporal(&ta) { ta } else { tb }, name),
        };
        let is_old = |ty: &SqlType| matches!(ty, SqlType::DateTime | SqlType::SmallDateTime);
        let is_new = |ty: &SqlType| typing::is_temporal(ty) && !is_old(ty);
        if is_new(&ta) || is_new(&tb) {
            let (new, other) = if is_new(&ta) { (ta, tb) } else { (tb, ta) };
            return match other {
                _ if typing::is_number(&other) => {
                    Err(CompileError::OperandClash { from: new, to: other, at: self.at })
                }
                _ if ta == tb => self.invalid(ta, name),
                _ => self.incompatible(ta, tb, name),
            };
        }
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        // Days below 0 are no smalldatetime, but may be added to one.
        let a = self.implicit(a, SqlType::DateTime)?;
        let b = self.implicit(b, SqlType::DateTime)?;
        let range = typing::range(&SqlType::DateTime).unwrap_or_default();
        let sum = arithmetic::Op::Int { sign, a: a.reg, b: b.reg, range };
        let value = self.emit(Op::Arithmetic(sum), SqlType::DateTime)?;
        self.implicit(value, higher)
    }

    fn bits_exactly(&mut self, op: Infix, bits: Bits, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        let fits = |ty: &SqlType| typing::is_integer(ty) || typing::is_binary(ty);
        if !typing::is_integer(&higher) || !fits(&ta) || !fits(&tb) {
            return self.incompatible(ta, tb, operator_name(op));
        }
        let a = self.implicit(a, higher)?;
        let b = self.implicit(b, higher)?;
        self.emit(Op::Arithmetic(arithmetic::Op::Bits { bits, a: a.reg, b: b.reg }), higher)
    }

    pub(super) fn compare_exactly(&mut self, test: Test, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let name = test_name(test);
        if ta == SqlType::SqlVariant || tb == SqlType::SqlVariant {
            return self.compare_variants(test, a, b);
        }
        let is_large =
            |ty: &SqlType| ty.is_lob() || matches!(ty, SqlType::Xml | SqlType::Udt { .. });
        if is_large(&ta) || is_large(&tb) {
            return self.incompatible(ta, tb, name);
        }
        if typing::is_text(&ta) && typing::is_text(&tb) {
            self.operation = name;
            return self.compare_texts(test, a, b);
        }
        if typing::is_binary(&ta) && typing::is_binary(&tb) {
            return self.comparison(test, compare::How::PaddedBinary, &a, &b);
        }
        if let Some(compared) = self.compare_far_decimals(test, &a, &b)? {
            return Ok(compared);
        }
        let common = typing::common_of_statement(&ta, &tb);
        let is_possible = |ty: &SqlType| typing::conversion(ty, &common) == Conversion::Implicit;
        if typing::is_temporal(&ta)
            && typing::is_temporal(&tb)
            && !(is_possible(&ta) && is_possible(&tb))
        {
            return self.incompatible(ta, tb, name);
        }
        let a = self.implicit(a, common)?;
        let b = self.implicit(b, common)?;
        let how = match (typing::kind(&common), common) {
            (LaneKind::Int, _) => compare::How::Int,
            (LaneKind::Wide, _) => compare::How::Wide,
            (LaneKind::Float, _) => compare::How::Float,
            (_, SqlType::UniqueIdentifier) => compare::How::Guid,
            (_, SqlType::DateTimeOffset { scale }) => compare::How::Offset { scale },
            _ if typing::is_text(&common) => return self.compare_texts(test, a, b),
            _ if typing::is_binary(&common) => compare::How::PaddedBinary,
            _ => return self.incompatible(ta, tb, name),
        };
        self.comparison(test, how, &a, &b)
    }

    /// By families of types, then by value.
    fn compare_variants(&mut self, test: Test, a: Value, b: Value) -> BindResult {
        let a = self.implicit(a, SqlType::SqlVariant)?;
        let b = self.implicit(b, SqlType::SqlVariant)?;
        let order = self.row(variant::order, &[a, b], SqlType::Int, 0)?;
        let zero = self.constant(Constant::Int(0), Ty::Sql(SqlType::Int))?;
        self.comparison(test, compare::How::Int, &order, &zero)
    }

    /// Decimals whose common type would lose digits.
    fn compare_far_decimals(
        &mut self,
        test: Test,
        a: &Value,
        b: &Value,
    ) -> BindResult<Option<Value>> {
        let digits = |value: &Value| match value.ty {
            Ty::Sql(
                SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale },
            ) => Some((precision, scale)),
            _ => None,
        };
        let (Some((p1, s1)), Some((p2, s2))) = (digits(a), digits(b)) else { return Ok(None) };
        let scale = s1.max(s2);
        let whole = (p1 - s1).max(p2 - s2);
        if whole + scale <= extentdb_kernel::wide::MAX_PRECISION {
            return Ok(None);
        }
        let how = compare::How::Scaled { up: (scale - s1, scale - s2) };
        self.comparison(test, how, a, b).map(Some)
    }

    /// All values in their common type; `function` is named when all are the literal NULL.
    pub(super) fn unify_exactly(
        &mut self,
        values: Vec<Value>,
        function: &'static str,
    ) -> BindResult<Vec<Value>> {
        let mut common: Option<(SqlType, Label)> = None;
        let has_decimal =
            values.iter().any(|value| matches!(value.ty, Ty::Sql(ty) if typing::is_decimal(&ty)));
        for value in values.iter().filter(|value| value.ty != Ty::Null) {
            let mut ty = self.sql(value)?;
            // Beside a decimal, a literal counts by its digits.
            if has_decimal && matches!(value.literal, Some(Literal::Integer(_))) {
                let (precision, scale) = self.decimal_digits(value)?;
                ty = SqlType::Decimal { precision, scale };
            }
            common = Some(match common {
                None => (ty, value.label),
                Some(before) => self.unify_two(before, (ty, value.label), function)?,
            });
        }
        let Some((common, label)) = common else {
            return Err(CompileError::OnlyNull { function, at: self.at });
        };
        let mut unified = Vec::with_capacity(values.len());
        for value in values {
            let value = self.implicit(value, common)?;
            unified.push(Value { label, literal: None, ..value });
        }
        Ok(unified)
    }

    fn unify_two(
        &self,
        a: (SqlType, Label),
        b: (SqlType, Label),
        function: &'static str,
    ) -> BindResult<(SqlType, Label)> {
        let (first, second) = if a.1 >= b.1 { (a, b) } else { (b, a) };
        if let (Some(ca), Some(cb)) = (a.0.collation(), b.0.collation())
            && a.1 == b.1
            && ca != cb
        {
            return Err(CompileError::CollationConflict {
                a: ca,
                b: cb,
                operation: function,
                at: self.at,
            });
        }
        let ty = typing::common_of_statement(&first.0, &second.0);
        // A collation is that of the stronger text.
        let collation = first.0.collation().or(second.0.collation());
        let ty = collation.map_or(ty, |collation| typing::with_collation(ty, collation));
        let label = match (first.0.collation(), second.0.collation()) {
            (None, Some(_)) => second.1,
            _ => first.1,
        };
        Ok((ty, label))
    }
}
