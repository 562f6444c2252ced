//! Operators between values: + - * / %, bits, comparisons, LIKE, CASE.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::lane::LaneKind;
use extentdb_kernel::operator::arithmetic::{self, Bits, Sign, WidePlan};
use extentdb_kernel::operator::ascii::Encoding;
use extentdb_kernel::operator::{Op, compare, like, logic, text};
use extentdb_types::{Collation, SqlType};

use super::{BindResult, Binder, Label, Literal, Ty, Value};
use crate::error::CompileError;
use crate::syntax::{Infix, Test};
use crate::typing;

/// A type with what decides between two collations.
#[derive(Clone, Copy)]
struct LabelledType {
    ty: SqlType,
    label: Label,
}

impl Binder<'_> {
    pub(super) fn negate(&mut self, a: Value) -> BindResult {
        if a.ty == Ty::Null {
            return Ok(a);
        }
        if self.is_statement() {
            return self.negate_exactly(a);
        }
        let ty = self.sql(&a)?;
        if let Some(Literal::Integer(number)) = a.literal {
            let mut value = self.constant(Constant::Int(-number), Ty::Sql(SqlType::Int))?;
            value.literal = Some(Literal::Integer(-number));
            return Ok(value);
        }
        let op = match (typing::kind(&ty), typing::range(&ty)) {
            (LaneKind::Wide, _) => arithmetic::Op::NegateWide { a: a.reg },
            (LaneKind::Float, _) => arithmetic::Op::NegateFloat { a: a.reg },
            (LaneKind::Int, Some(range)) if range.0 < 0 && !typing::is_clock(&ty) => {
                arithmetic::Op::NegateInt { a: a.reg, range }
            }
            _ => return self.unsupported(format!("the negative of {ty}")),
        };
        let mut value = self.emit(Op::Arithmetic(op), ty)?;
        value.is_settled = a.is_settled;
        Ok(value)
    }

    pub(super) fn bit_not(&mut self, a: Value) -> BindResult {
        if a.ty == Ty::Null {
            return Ok(a);
        }
        let ty = self.sql(&a)?;
        match typing::range(&ty) {
            Some(range) if typing::is_integer(&ty) => {
                self.emit(Op::Arithmetic(arithmetic::Op::BitNot { a: a.reg, range }), ty)
            }
            _ if self.is_statement() => {
                Err(CompileError::InvalidOperand { ty, operator: "'~'", at: self.at })
            }
            _ => self.unsupported(format!("~ of {ty}")),
        }
    }

    pub(super) fn infix(&mut self, op: Infix, a: Value, b: Value) -> BindResult {
        if self.is_statement() {
            return self.infix_exactly(op, a, b);
        }
        let (a, b) = match (a.ty, b.ty) {
            (Ty::Null, Ty::Null) => return self.null(Ty::Sql(SqlType::Int)),
            (Ty::Null, Ty::Sql(ty)) => (self.null(Ty::Sql(ty))?, b),
            (Ty::Sql(ty), Ty::Null) => (a, self.null(Ty::Sql(ty))?),
            _ => (a, b),
        };
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        if op == Infix::Add && typing::is_text(&ta) && typing::is_text(&tb) {
            return self.concatenate(a, b);
        }
        if op == Infix::Add && typing::is_binary(&ta) && typing::is_binary(&tb) {
            return self.concatenate_binary(&a, &b);
        }
        let sign = match op {
            Infix::Add => Sign::Add,
            Infix::Subtract => Sign::Subtract,
            Infix::Multiply => Sign::Multiply,
            Infix::Divide => Sign::Divide,
            Infix::Modulo => Sign::Modulo,
            Infix::BitAnd => return self.bits(Bits::And, a, b),
            Infix::BitOr => return self.bits(Bits::Or, a, b),
            Infix::BitXor => return self.bits(Bits::Xor, a, b),
        };
        if typing::is_clock(&ta) || typing::is_clock(&tb) {
            return self.clock_arithmetic(sign, a, b);
        }
        self.arithmetic(op, sign, a, b)
    }

    /// Numbers: the higher type's arithmetic.
    fn arithmetic(&mut self, op: Infix, sign: Sign, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        let is_number = |ty: &SqlType| typing::digits(ty).is_some() || typing::is_float(ty);
        let fits =
            |ty: &SqlType| is_number(ty) || (typing::is_text(ty) && typing::is_integer(&higher));
        if !fits(&ta) || !fits(&tb) || (ta == SqlType::Bit && tb == SqlType::Bit) {
            return self.unsupported(format!("{op:?} of {ta} and {tb}"));
        }
        match higher {
            SqlType::Float | SqlType::Real => {
                if sign == Sign::Modulo {
                    return self.unsupported("the remainder of floats");
                }
                let a = self.cast(a, higher)?;
                let b = self.cast(b, higher)?;
                let is_real = higher == SqlType::Real;
                self.emit(
                    Op::Arithmetic(arithmetic::Op::Float { sign, a: a.reg, b: b.reg, is_real }),
                    higher,
                )
            }
            SqlType::Decimal { .. } | SqlType::Numeric { .. } => {
                self.decimal_arithmetic(op, sign, a, b)
            }
            _ => {
                let a = self.cast(a, higher)?;
                let b = self.cast(b, higher)?;
                let Some(range) = typing::range(&higher) else {
                    return self.unsupported(format!("{op:?} of {higher}"));
                };
                let is_scaled =
                    typing::is_money(&higher) && matches!(sign, Sign::Multiply | Sign::Divide);
                let op = if is_scaled {
                    arithmetic::Op::Money { sign, a: a.reg, b: b.reg, range }
                } else {
                    arithmetic::Op::Int { sign, a: a.reg, b: b.reg, range }
                };
                self.emit(Op::Arithmetic(op), higher)
            }
        }
    }

    fn decimal_arithmetic(&mut self, op: Infix, sign: Sign, a: Value, b: Value) -> BindResult {
        let da = self.decimal_digits(&a)?;
        let db = self.decimal_digits(&b)?;
        let Some(result) = typing::result_digits(op, da, db) else {
            return self.unsupported(format!("{op:?} of decimals beyond 38 digits"));
        };
        let drop = result.full_scale - result.scale;
        let is_settled = a.is_settled && b.is_settled;
        if !is_settled && (drop > 0 || sign == Sign::Divide) {
            return self.unsupported("a quotient of decimals whose precision is not certain");
        }
        let scale = da.1.max(db.1);
        let dividend_up = match (sign, (result.scale + db.1).checked_sub(da.1)) {
            (Sign::Divide, Some(up)) if up <= extentdb_kernel::wide::MAX_PRECISION => up,
            (Sign::Divide, _) => {
                return self.unsupported("a quotient of decimals of this precision");
            }
            _ => 0,
        };
        let plan = WidePlan {
            sign,
            up: if matches!(sign, Sign::Multiply | Sign::Divide) {
                (0, 0)
            } else {
                (scale - da.1, scale - db.1)
            },
            dividend_up,
            drop: if sign == Sign::Divide { 0 } else { drop },
            precision: result.precision,
        };
        let decimal = |(precision, scale)| SqlType::Decimal { precision, scale };
        let a = self.cast(a, decimal(da))?;
        let b = self.cast(b, decimal(db))?;
        let op = Op::Arithmetic(arithmetic::Op::Wide { plan, a: a.reg, b: b.reg });
        let mut value = self.emit(op, decimal((result.precision, result.scale)))?;
        value.is_settled = is_settled;
        Ok(value)
    }

    /// Precision and scale an operand has beside a decimal: a literal only as many digits as it
    /// shows.
    pub(super) fn decimal_digits(&self, value: &Value) -> BindResult<(u8, u8)> {
        if let Some(Literal::Integer(number)) = value.literal {
            let digits = number.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
            return Ok((digits as u8, 0));
        }
        let ty = self.sql(value)?;
        match typing::digits(&ty) {
            Some(digits) => Ok(digits),
            None => self.unsupported(format!("{ty} with a decimal")),
        }
    }

    /// datetime and smalldatetime with days, or with one another.
    fn clock_arithmetic(&mut self, sign: Sign, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        let is_old = |ty: &SqlType| matches!(ty, SqlType::DateTime | SqlType::SmallDateTime);
        let fits = |ty: &SqlType| is_old(ty) || typing::is_integer(ty);
        let is_sum = matches!(sign, Sign::Add | Sign::Subtract);
        let (true, true, true, Some(range)) =
            (is_sum, fits(&ta), fits(&tb), typing::range(&higher))
        else {
            return self.unsupported(format!("{sign:?} of {ta} and {tb}"));
        };
        let a = self.cast(a, higher)?;
        let b = self.cast(b, higher)?;
        self.emit(Op::Arithmetic(arithmetic::Op::Int { sign, a: a.reg, b: b.reg, range }), higher)
    }

    fn bits(&mut self, bits: Bits, a: Value, b: Value) -> BindResult {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        if !typing::is_integer(&ta) || !typing::is_integer(&tb) {
            return self.unsupported(format!("bits of {ta} and {tb}"));
        }
        let higher = if typing::rank(&ta) <= typing::rank(&tb) { ta } else { tb };
        let a = self.cast(a, higher)?;
        let b = self.cast(b, higher)?;
        self.emit(Op::Arithmetic(arithmetic::Op::Bits { bits, a: a.reg, b: b.reg }), higher)
    }

    /// Both texts in one width, and the collation that both obey.
    pub(super) fn agree(
        &mut self,
        a: Value,
        b: Value,
    ) -> BindResult<(Value, Value, Collation, Label)> {
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        let (Some(ca), Some(cb)) = (ta.collation(), tb.collation()) else {
            return self.unsupported(format!("{ta} with {tb}"));
        };
        let (collation, label) = match a.label.cmp(&b.label) {
            std::cmp::Ordering::Greater => (ca, a.label),
            std::cmp::Ordering::Less => (cb, b.label),
            std::cmp::Ordering::Equal if ca == cb => (ca, a.label),
            std::cmp::Ordering::Equal => return self.collation_conflict(ca, cb),
        };
        let is_wide = typing::is_wide_text(&ta) || typing::is_wide_text(&tb);
        let a = self.under(a, ta, is_wide, collation)?;
        let b = self.under(b, tb, is_wide, collation)?;
        Ok((a, b, collation, label))
    }

    fn collation_conflict<T>(&self, a: Collation, b: Collation) -> BindResult<T> {
        if self.is_statement() {
            let operation = self.operation;
            return Err(CompileError::CollationConflict { a, b, operation, at: self.at });
        }
        self.unsupported("texts of two collations")
    }

    /// A text as it is, but for its width and collation.
    pub(super) fn under(
        &mut self,
        value: Value,
        ty: SqlType,
        is_wide: bool,
        collation: Collation,
    ) -> BindResult {
        let is_variable = !typing::is_padded(&ty) || is_wide != typing::is_wide_text(&ty);
        let target = match ty {
            SqlType::Char { len, .. } if !is_variable => SqlType::Char { len, collation },
            SqlType::NChar { len, .. } if !is_variable => SqlType::NChar { len, collation },
            // A widened text of up to 8000 characters has no name below (max), and no limit here.
            _ => {
                let characters = typing::characters(&ty).filter(|it| !is_wide || *it <= 4_000);
                typing::text_type(is_wide, characters, collation)
            }
        };
        self.cast(value, target)
    }

    pub(super) fn concatenate(&mut self, a: Value, b: Value) -> BindResult {
        let limit = |ty: &SqlType| typing::characters(ty);
        let la = limit(&self.sql(&a)?);
        let lb = limit(&self.sql(&b)?);
        let is_settled = a.is_settled && b.is_settled;
        let (a, b, collation, label) = self.agree(a, b)?;
        let is_wide = typing::is_wide_text(&self.sql(&a)?);
        let characters = match (la, lb) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            _ => None,
        };
        let both_padded = typing::is_padded(&self.sql(&a)?) && typing::is_padded(&self.sql(&b)?);
        let ty = match (typing::text_type(is_wide, characters, collation), both_padded) {
            (SqlType::VarChar { len: Some(len), .. }, true) => SqlType::Char { len, collation },
            (SqlType::NVarChar { len: Some(len), .. }, true) => SqlType::NChar { len, collation },
            (ty, _) => ty,
        };
        let limit = characters.map(|_| typing::MAX_BYTES);
        let mut value = self.emit(Op::Text(text::Op::Concat { a: a.reg, b: b.reg, limit }), ty)?;
        value.label = label;
        value.is_settled = is_settled;
        Ok(value)
    }

    pub(super) fn concatenate_binary(&mut self, a: &Value, b: &Value) -> BindResult {
        let len = |ty: SqlType| match ty {
            SqlType::VarBinary { len } => len,
            other => other.fixed_bytes().and_then(|len| u16::try_from(len).ok()),
        };
        let la = len(self.sql(a)?);
        let lb = len(self.sql(b)?);
        let sum = la.zip(lb).map(|(a, b)| a.saturating_add(b).min(typing::MAX_BYTES));
        let limit = sum.map(|_| typing::MAX_BYTES);
        self.emit(
            Op::Text(text::Op::Concat { a: a.reg, b: b.reg, limit }),
            SqlType::VarBinary { len: sum },
        )
    }

    pub(super) fn compare(&mut self, test: Test, a: Value, b: Value) -> BindResult {
        if a.ty == Ty::Null || b.ty == Ty::Null {
            return match (a.ty, b.ty) {
                (Ty::Truth, _) | (_, Ty::Truth) => {
                    self.unsupported("a condition where a value is expected")
                }
                _ => self.null(Ty::Truth),
            };
        }
        if self.is_statement() {
            return self.compare_exactly(test, a, b);
        }
        let ta = self.sql(&a)?;
        let tb = self.sql(&b)?;
        if typing::is_text(&ta) && typing::is_text(&tb) {
            return self.compare_texts(test, a, b);
        }
        if typing::is_binary(&ta) && typing::is_binary(&tb) {
            return self.comparison(test, compare::How::Binary, &a, &b);
        }
        let Some(common) = typing::common(&ta, &tb) else {
            return self.unsupported(format!("{ta} with {tb}"));
        };
        // A text beside a decimal takes a precision of its own.
        let is_open = (typing::is_text(&ta) || typing::is_text(&tb))
            && typing::kind(&common) == LaneKind::Wide;
        if is_open {
            return self.unsupported(format!("{ta} with {tb}"));
        }
        let a = self.cast(a, common)?;
        let b = self.cast(b, common)?;
        let how = match typing::kind(&common) {
            LaneKind::Int => compare::How::Int,
            LaneKind::Wide => compare::How::Wide,
            LaneKind::Float => compare::How::Float,
            LaneKind::Bytes if common == SqlType::UniqueIdentifier => compare::How::Guid,
            LaneKind::Bytes | LaneKind::Opaque => {
                return self.unsupported(format!("{ta} with {tb}"));
            }
        };
        self.comparison(test, how, &a, &b)
    }

    pub(super) fn compare_texts(&mut self, test: Test, a: Value, b: Value) -> BindResult {
        let (a, b, collation, _) = self.agree(a, b)?;
        let ty = self.sql(&a)?;
        let is_wide = typing::is_wide_text(&ty);
        let how = compare::How::Text {
            collation,
            encoding: Encoding::of(&ty),
            has_plain_ascii: collation.has_plain_ascii(is_wide),
            is_decided: self.is_statement(),
        };
        self.comparison(test, how, &a, &b)
    }

    pub(super) fn comparison(
        &mut self,
        test: Test,
        how: compare::How,
        a: &Value,
        b: &Value,
    ) -> BindResult {
        self.condition(Op::Compare(compare::Op { how, test, a: a.reg, b: b.reg }))
    }

    pub(super) fn like(&mut self, a: Value, pattern: &Value, escape: Option<&Value>) -> BindResult {
        if self.is_statement() {
            return self.like_exactly(a, pattern.clone(), escape);
        }
        let escape = match escape.map(|escape| &escape.literal) {
            None => None,
            Some(Some(Literal::Text(text))) if text.chars().count() == 1 => text.chars().next(),
            Some(_) => return self.unsupported("ESCAPE of anything but one literal character"),
        };
        let Some(Literal::Text(text)) = &pattern.literal else {
            return self.unsupported("a pattern that is no literal");
        };
        let Some(parsed) = like::Pattern::parse(text, escape) else {
            return self.unsupported(format!("the pattern '{text}'"));
        };
        if a.ty == Ty::Null {
            return self.null(Ty::Truth);
        }
        if !typing::is_text(&self.sql(&a)?) {
            return self.unsupported("LIKE of anything but text");
        }
        let (a, _, collation, _) = self.agree(a, pattern.clone())?;
        let ty = self.sql(&a)?;
        if !collation.has_plain_ascii(typing::is_wide_text(&ty)) {
            return self.unsupported(format!("LIKE under {collation}"));
        }
        let op = like::Op {
            a: a.reg,
            pattern: parsed,
            collation,
            encoding: Encoding::of(&ty),
        };
        self.condition(Op::Like(op))
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&Value>,
        arms: Vec<(Value, Value)>,
        other: Option<Value>,
    ) -> BindResult {
        let mut conditions = Vec::with_capacity(arms.len());
        let mut values = Vec::with_capacity(arms.len() + 1);
        for (condition, value) in arms {
            let condition = match operand {
                Some(operand) => self.compare(Test::Equal, operand.clone(), condition)?,
                None => condition,
            };
            conditions.push(self.truth(condition)?);
            values.push(value);
        }
        let other = match other {
            Some(other) => other,
            None => self.null(Ty::Null)?,
        };
        values.push(other);
        let values = if self.is_statement() {
            self.unify_exactly(values, "CASE")?
        } else {
            self.unify(values)?
        };
        let mut values = values.into_iter().rev();
        let Some(mut chosen) = values.next() else {
            return self.unsupported("CASE without values");
        };
        for (condition, value) in conditions.into_iter().rev().zip(values) {
            let ty = self.sql(&value)?;
            let select = logic::Op::Select {
                condition,
                then: value.reg,
                other: chosen.reg,
                kind: typing::kind(&ty),
            };
            let next = self.emit(Op::Logic(select), ty)?;
            chosen = Value { label: value.label, is_settled: value.is_settled, ..next };
        }
        Ok(chosen)
    }

    /// All values in their common type.
    pub(super) fn unify(&mut self, values: Vec<Value>) -> BindResult<Vec<Value>> {
        let mut common: Option<LabelledType> = None;
        for value in values.iter().filter(|value| value.ty != Ty::Null) {
            let own = LabelledType { ty: self.sql(value)?, label: value.label };
            common = Some(match common {
                None => own,
                Some(before) => self.unify_types(before, own)?,
            });
        }
        let Some(LabelledType { ty: common, label }) = common else {
            return self.unsupported("values that are all NULL");
        };
        let mut is_settled = values.iter().all(|value| value.is_settled);
        if let SqlType::Decimal { precision, scale } = common {
            // Whether a literal counts as int (ten digits) or only its own digits shows in narrower
            // decimals.
            let has_literal =
                values.iter().any(|value| matches!(value.literal, Some(Literal::Integer(_))));
            is_settled &= !has_literal || precision - scale >= 10;
        }
        let mut unified = Vec::with_capacity(values.len());
        for value in values {
            let value = self.cast(value, common)?;
            unified.push(Value { label, is_settled, literal: None, ..value });
        }
        Ok(unified)
    }

    fn unify_types(&self, a: LabelledType, b: LabelledType) -> BindResult<LabelledType> {
        let (first, second) = if a.label >= b.label { (a, b) } else { (b, a) };
        let collation = a.ty.collation();
        let is_conflict =
            a.label == b.label && collation.is_some() && collation != b.ty.collation();
        if is_conflict && b.ty.collation().is_some() {
            return self.unsupported("texts of two collations");
        }
        match typing::common(&first.ty, &second.ty) {
            Some(ty) => Ok(LabelledType { ty, label: first.label }),
            None => self.unsupported(format!("{} with {}", a.ty, b.ty)),
        }
    }
}
