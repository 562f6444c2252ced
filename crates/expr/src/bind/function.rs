//! Functions by name; here those of numbers and of choice.

use extentdb_kernel::lane::LaneKind;
use extentdb_kernel::operator::convert::How;
use extentdb_kernel::operator::{Op, arithmetic, digest, logic};
use extentdb_kernel::wide::power_of_ten;
use extentdb_types::SqlType;

use super::{BindResult, Binder, Literal, Ty, Value};
use crate::context::ContextFunction;
use crate::syntax::Test;
use crate::typing;

impl Binder<'_> {
    pub(super) fn call(&mut self, name: &str, part: Option<&str>, args: Vec<Value>) -> BindResult {
        if self.is_statement() {
            return self.call_exactly(name, part, args);
        }
        if let Some(form) = name.strip_prefix('\0') {
            return self.unsupported(form);
        }
        if let Some(part) = part {
            return self.date_part_function(name, part, args);
        }
        let count = args.len();
        if count == 0
            && let Some(value) = self.context_function(name)?
        {
            return Ok(value);
        }
        let mut args = args.into_iter();
        let mut next = || args.next();
        match (name, next(), next(), next(), next()) {
            ("isnull", Some(a), Some(b), None, None) => self.is_null(a, b),
            ("nullif", Some(a), Some(b), None, None) => self.null_if(a, b),
            ("iif", Some(condition), Some(then), Some(other), None) => {
                self.case(None, vec![(condition, then)], Some(other))
            }
            ("abs" | "sign", Some(a), None, None, None) => self.abs_or_sign(&a, name == "sign"),
            ("ceiling" | "floor", Some(a), None, None, None) => {
                self.step_to_whole(a, name == "ceiling")
            }
            ("round", Some(a), Some(digits), cut, None) => self.round(a, &digits, cut.as_ref()),
            ("hashbytes", Some(algorithm), Some(a), None, None) => self.hash_bytes(&algorithm, &a),
            ("coalesce", Some(a), Some(b), c, d) => {
                let rest = [Some(a), Some(b), c, d].into_iter().flatten().chain(args);
                self.coalesce(rest.collect())
            }
            ("concat", Some(a), Some(b), c, d) => {
                let rest = [Some(a), Some(b), c, d].into_iter().flatten().chain(args);
                self.concat(rest.collect())
            }
            (_, a, b, c, d) if count <= 4 => {
                let args: Vec<Value> = [a, b, c, d].into_iter().flatten().collect();
                match self.date_function(name, &args)? {
                    Some(value) => Ok(value),
                    None => self.text_function(name, args),
                }
            }
            _ => self.unsupported(format!("the function {name} of {count} arguments")),
        }
    }

    /// A function of the session; `None` where the environment has none of this name.
    pub(super) fn context_function(&mut self, name: &str) -> BindResult<Option<Value>> {
        let Some(function) = ContextFunction::named(name) else { return Ok(None) };
        let hidden = function.input_name();
        let place = self.environment.columns.iter().position(|(known, _)| *known == hidden);
        let Some(place) = place else { return Ok(None) };
        if function.is_new_each_time() && self.inputs.contains(&place) {
            return self.unsupported(format!("{name}() twice"));
        }
        self.is_deterministic = false;
        self.column(&hidden).map(Some)
    }

    fn is_null(&mut self, a: Value, b: Value) -> BindResult {
        if a.ty == Ty::Null {
            return Ok(b);
        }
        let ty = self.sql(&a)?;
        let b = self.same_collation(&a, b)?;
        if a.is_settled || b.ty == Ty::Null || !typing::is_text(&ty) {
            let b = self.cast(b, ty)?;
            return self.first_of(&a, &b);
        }
        // ISNULL cuts `b` to the length of `a`, which is not certain: only an empty text is safe
        // from it.
        let collation = ty.collation().unwrap_or(self.environment.database_collation);
        let tb = self.sql(&b)?;
        if !typing::is_text(&tb) {
            return self.unsupported(format!("ISNULL of a text of unknown length and {tb}"));
        }
        let b = self.under(b, tb, typing::is_wide_text(&ty), collation)?;
        let b = self.step(b.reg, How::Fit { len: 0 }, ty)?;
        self.first_of(&a, &b)
    }

    /// A literal takes the collation of the column it stands for; two columns must agree.
    fn same_collation(&mut self, a: &Value, b: Value) -> BindResult {
        let (Ty::Sql(ta), Ty::Sql(tb)) = (a.ty, b.ty) else { return Ok(b) };
        let (Some(ca), Some(cb)) = (ta.collation(), tb.collation()) else { return Ok(b) };
        if ca == cb {
            return Ok(b);
        }
        if b.label >= a.label {
            return self.unsupported("texts of two collations");
        }
        let is_wide = typing::is_wide_text(&tb);
        self.under(b, tb, is_wide, ca)
    }

    pub(super) fn first_of(&mut self, a: &Value, b: &Value) -> BindResult {
        let ty = self.sql(a)?;
        let op = logic::Op::IfNull { a: a.reg, b: b.reg, kind: typing::kind(&ty) };
        let value = self.emit(Op::Logic(op), ty)?;
        Ok(Value { label: a.label, is_settled: a.is_settled, ..value })
    }

    fn coalesce(&mut self, args: Vec<Value>) -> BindResult {
        let mut values = self.unify(args)?.into_iter().rev();
        let Some(mut chosen) = values.next() else {
            return self.unsupported("COALESCE without values");
        };
        for value in values {
            chosen = self.first_of(&value, &chosen)?;
        }
        Ok(chosen)
    }

    fn null_if(&mut self, a: Value, b: Value) -> BindResult {
        let ty = self.sql(&a)?;
        let equal = self.compare(Test::Equal, a.clone(), b)?;
        let null = self.null(Ty::Sql(ty))?;
        let select = logic::Op::Select {
            condition: self.truth(equal)?,
            then: null.reg,
            other: a.reg,
            kind: typing::kind(&ty),
        };
        let value = self.emit(Op::Logic(select), ty)?;
        Ok(Value { label: a.label, is_settled: a.is_settled, ..value })
    }

    fn abs_or_sign(&mut self, a: &Value, is_sign: bool) -> BindResult {
        let ty = self.sql(a)?;
        let result = number_result(&ty);
        let unit = if typing::is_money(&ty) { 10_000 } else { 1 };
        let op = match (ty, typing::range(&result)) {
            (SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. }, _) if is_sign => {
                arithmetic::Op::SignWide { a: a.reg, scale }
            }
            (SqlType::Decimal { .. } | SqlType::Numeric { .. }, _) => {
                arithmetic::Op::AbsWide { a: a.reg }
            }
            (SqlType::Float | SqlType::Real, _) if !is_sign => {
                arithmetic::Op::AbsFloat { a: a.reg }
            }
            (_, Some(range)) if typing::digits(&ty).is_some() && ty != SqlType::Bit => {
                if is_sign {
                    arithmetic::Op::SignInt { a: a.reg, unit }
                } else {
                    arithmetic::Op::AbsInt { a: a.reg, range }
                }
            }
            _ => return self.unsupported(format!("ABS or SIGN of {ty}")),
        };
        let mut value = self.emit(Op::Arithmetic(op), result)?;
        // Documents and practice disagree about the precision of the result.
        value.is_settled = typing::kind(&ty) != LaneKind::Wide;
        Ok(value)
    }

    pub(super) fn step_to_whole(&mut self, a: Value, is_up: bool) -> BindResult {
        let ty = self.sql(&a)?;
        let (op, result) = match ty {
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
                return self.cast(a, number_result(&ty));
            }
            SqlType::Money | SqlType::SmallMoney => {
                let range = (i64::MIN, i64::MAX);
                (arithmetic::Op::StepInt { a: a.reg, unit: 10_000, is_up, range }, SqlType::Money)
            }
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                let result = SqlType::Decimal { precision, scale: 0 };
                (arithmetic::Op::StepWide { a: a.reg, scale, is_up }, result)
            }
            SqlType::Float | SqlType::Real => {
                (arithmetic::Op::StepFloat { a: a.reg, is_up }, SqlType::Float)
            }
            _ => return self.unsupported(format!("CEILING or FLOOR of {ty}")),
        };
        let mut value = self.emit(Op::Arithmetic(op), result)?;
        value.is_settled = typing::kind(&ty) != LaneKind::Wide;
        Ok(value)
    }

    fn round(&mut self, a: Value, digits: &Value, cut: Option<&Value>) -> BindResult {
        let digits = self.literal_integer(digits, "a length of ROUND")?;
        let cut = match cut {
            Some(cut) => self.literal_integer(cut, "a third argument of ROUND")? != 0,
            None => false,
        };
        let ty = self.sql(&a)?;
        let Some((precision, scale)) = typing::digits(&ty).filter(|_| ty != SqlType::Bit) else {
            return self.unsupported(format!("ROUND of {ty}"));
        };
        let result = number_result(&ty);
        if digits >= i64::from(scale) {
            return self.cast(a, result);
        }
        let unit = i64::from(scale)
            .checked_sub(digits)
            .and_then(|up| u8::try_from(up).ok())
            .and_then(power_of_ten);
        let Some(unit) = unit else { return self.unsupported("ROUND to more than 38 digits") };
        let op = match (typing::kind(&ty), i64::try_from(unit), typing::range(&result)) {
            (LaneKind::Wide, ..) => arithmetic::Op::RoundWide { a: a.reg, unit, cut, precision },
            (LaneKind::Int, Ok(unit), Some(range)) => {
                arithmetic::Op::RoundInt { a: a.reg, unit, cut, range }
            }
            _ => return self.unsupported("ROUND to more digits than the number has"),
        };
        let mut value = self.emit(Op::Arithmetic(op), result)?;
        value.is_settled = typing::kind(&ty) != LaneKind::Wide;
        Ok(value)
    }

    fn hash_bytes(&mut self, algorithm: &Value, a: &Value) -> BindResult {
        let algorithm = match &algorithm.literal {
            Some(Literal::Text(name)) => digest::Algorithm::named(name),
            _ => None,
        };
        let Some(algorithm) = algorithm else {
            return self.unsupported("this algorithm of HASHBYTES");
        };
        let ty = self.sql(a)?;
        if !typing::is_text(&ty) && !typing::is_binary(&ty) {
            return self.unsupported(format!("HASHBYTES of {ty}"));
        }
        let result = SqlType::VarBinary { len: Some(typing::MAX_BYTES) };
        self.emit(Op::Digest(digest::Op { a: a.reg, algorithm }), result)
    }
}

/// The type that functions of numbers give: the small integers become int, smallmoney money, real
/// float.
fn number_result(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::TinyInt | SqlType::SmallInt => SqlType::Int,
        SqlType::SmallMoney => SqlType::Money,
        SqlType::Real => SqlType::Float,
        other => *other,
    }
}
