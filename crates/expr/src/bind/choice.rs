//! Functions of statements that choose between values, and what has a grammar of its own.

use extentdb_kernel::constant::Constant;
use extentdb_kernel::operator::function::{date, number, zone};
use extentdb_kernel::operator::{Op, logic};
use extentdb_types::SqlType;

use super::entry::Arguments;
use super::exact::Style;
use super::{BindResult, Binder, Label, Literal, Ty, Value};
use crate::error::CompileError;
use crate::syntax::{Test, TypeName};
use crate::typing;

impl Binder<'_> {
    pub(super) fn is_null_exactly(&mut self, a: Value, b: Value) -> BindResult {
        match (a.ty, b.ty) {
            (Ty::Null, Ty::Null) => return self.null(Ty::Sql(SqlType::Int)),
            (Ty::Null, _) => return Ok(b),
            _ => {}
        }
        let ty = self.sql(&a)?;
        let b = self.implicit(b, ty)?;
        self.first_of(&a, &b)
    }

    pub(super) fn null_if_exactly(&mut self, a: Value, b: Value) -> BindResult {
        if a.ty == Ty::Null {
            return Err(CompileError::OnlyNull { function: "NULLIF", at: self.at });
        }
        let ty = self.sql(&a)?;
        let equal = self.compare(Test::Equal, a.clone(), b)?;
        let null = self.null(Ty::Sql(ty))?;
        let condition = self.truth(equal)?;
        let chosen = self.select(condition, &null, &a)?;
        // A small literal is of the smallest type that has it.
        let narrow = match a.literal {
            Some(Literal::Integer(0..=255)) => SqlType::TinyInt,
            Some(Literal::Integer(-32_768..=32_767)) => SqlType::SmallInt,
            _ => return Ok(Value { label: a.label, ..chosen }),
        };
        self.exact(chosen, narrow, Style::NONE)
    }

    /// `then` where a condition is true, else `other`; both are of one type.
    fn select(
        &mut self,
        condition: extentdb_kernel::lane::Reg,
        then: &Value,
        other: &Value,
    ) -> BindResult {
        let ty = self.sql(other)?;
        let kind = typing::kind(&ty);
        let op = logic::Op::Select { condition, then: then.reg, other: other.reg, kind };
        let value = self.emit(Op::Logic(op), ty)?;
        Ok(Value { label: other.label, ..value })
    }

    pub(super) fn iif(&mut self, arguments: Arguments) -> BindResult {
        let mut values = arguments.values.into_iter();
        match (values.next(), values.next(), values.next()) {
            (Some(condition), Some(then), other) => self.case(None, vec![(condition, then)], other),
            _ => self.unsupported("IIF without its arguments"),
        }
    }

    pub(super) fn coalesce_exactly(&mut self, values: Vec<Value>) -> BindResult {
        let mut values = self.unify_exactly(values, "COALESCE")?.into_iter().rev();
        let Some(mut chosen) = values.next() else {
            return self.unsupported("COALESCE without values");
        };
        for value in values {
            chosen = self.first_of(&value, &chosen)?;
        }
        Ok(chosen)
    }

    /// CHOOSE: the value at a place from 1, NULL outside.
    pub(super) fn choose(&mut self, arguments: Arguments) -> BindResult {
        let index = self.int_argument(&arguments, 0)?;
        let values = arguments.values.get(1..).unwrap_or_default().to_vec();
        let values = self.unify_exactly(values, "CASE")?;
        let Some(ty) = values.first().map(|value| self.sql(value)).transpose()? else {
            return self.unsupported("CHOOSE without values");
        };
        let mut chosen = self.null(Ty::Sql(ty))?;
        chosen.label = values.first().map_or(Label::Default, |value| value.label);
        for (at, value) in values.iter().enumerate().rev() {
            let place = self.number(at as i64 + 1)?;
            let equal = self.compare(Test::Equal, index.clone(), place)?;
            let condition = self.truth(equal)?;
            chosen = self.select(condition, value, &chosen)?;
        }
        Ok(chosen)
    }

    /// GREATEST and LEAST: NULL is passed over.
    pub(super) fn extreme(&mut self, values: Vec<Value>, is_greatest: bool) -> BindResult {
        let mut values = self.unify_exactly(values, "CASE")?.into_iter();
        let Some(mut best) = values.next() else {
            return self.unsupported("GREATEST without values");
        };
        let test = if is_greatest { Test::Greater } else { Test::Less };
        for value in values {
            let better = self.compare(test, value.clone(), best.clone())?;
            let condition = self.truth(better)?;
            let larger = self.select(condition, &value, &best)?;
            // Where the best is NULL, the comparison was unknown.
            best = self.first_of(&larger, &value)?;
        }
        Ok(best)
    }

    /// `a IS DISTINCT FROM b`: never unknown.
    pub(super) fn is_distinct(&mut self, a: Value, b: Value) -> BindResult {
        let compared = self.compare(Test::Equal, a.clone(), b.clone())?;
        let equal = self.truth(compared)?;
        let a_null = self.condition(Op::Logic(logic::Op::IsNull { a: a.reg }))?.reg;
        let b_null = self.condition(Op::Logic(logic::Op::IsNull { a: b.reg }))?.reg;
        let any_null = self.condition(Op::Logic(logic::Op::Or { a: a_null, b: b_null }))?.reg;
        let both_null = self.condition(Op::Logic(logic::Op::And { a: a_null, b: b_null }))?.reg;
        let no_null = self.condition(Op::Logic(logic::Op::Not { a: any_null }))?.reg;
        let same = self.condition(Op::Logic(logic::Op::And { a: no_null, b: equal }))?.reg;
        let same = self.condition(Op::Logic(logic::Op::Or { a: both_null, b: same }))?.reg;
        self.condition(Op::Logic(logic::Op::Not { a: same }))
    }

    /// `{d '…'}`, `{t '…'}`, `{ts '…'}` are datetime, `{guid '…'}` uniqueidentifier.
    pub(super) fn odbc_escape(&mut self, arguments: Arguments) -> BindResult {
        let text = self.text_argument(&arguments, 0)?;
        let part = arguments.part.as_deref().unwrap_or_default();
        if part == "guid" {
            return self.exact(text, SqlType::UniqueIdentifier, Style::NONE);
        }
        // ODBC's forms are those of style 121, in any session.
        self.exact(text, SqlType::DateTime, Style::Known(121))
    }

    /// `PARSE ( text AS type USING culture )`
    pub(super) fn parse(&mut self, arguments: Arguments, is_try: bool) -> BindResult {
        let text = self.wide_argument(&arguments, 0)?;
        if arguments.get(1).is_some() {
            let culture = self.text_argument(&arguments, 1)?;
            let is_known = match self.constant_of(culture.reg) {
                Some(Constant::Bytes(name)) => {
                    let name: Vec<u8> = name.iter().copied().filter(|byte| *byte != 0).collect();
                    name.eq_ignore_ascii_case(b"en-US") || name.eq_ignore_ascii_case(b"en")
                }
                _ => false,
            };
            if !is_known {
                return self.unsupported("a culture of PARSE other than en-US");
            }
        }
        let part = arguments.part.unwrap_or_default();
        let mut words = part.split(',');
        let name = words.next().unwrap_or_default().to_owned();
        let mut number = || words.next().and_then(|word| word.parse().ok());
        let to = TypeName { name, first: number().map(Some), second: number() };
        let target = typing::named(&to, self.environment.database_collation);
        let Some(target) = target else {
            return Err(self.no_such_type(&to));
        };
        let function = match target {
            _ if typing::is_number(&target) && target != SqlType::Bit => number::parse,
            _ if typing::is_temporal(&target) => date::parse,
            _ => return self.invalid_argument(Some(target), 2),
        };
        let reg = text.reg;
        let parsed = self.row(function, &[text], target, 0)?;
        if is_try { self.null_if_failed(parsed, reg) } else { Ok(parsed) }
    }

    /// `date AT TIME ZONE zone`
    pub(super) fn at_time_zone(&mut self, arguments: Arguments) -> BindResult {
        let Some(date) = arguments.get(0).cloned() else {
            return self.unsupported("AT TIME ZONE of nothing");
        };
        let zone = self.wide_argument(&arguments, 1)?;
        let ty = match date.ty {
            Ty::Null => SqlType::DateTime2 { scale: 7 },
            _ => self.sql(&date)?,
        };
        let scale = match ty {
            SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => scale,
            SqlType::DateTime => 3,
            SqlType::SmallDateTime => 0,
            _ => return self.invalid_argument(Some(ty), 1),
        };
        let date = self.implicit(date, ty)?;
        self.row(zone::at_time_zone, &[zone, date], SqlType::DateTimeOffset { scale }, 0)
    }
}
