//! Functions of dates in statements.

use extentdb_kernel::calendar::{self, Clock};
use extentdb_kernel::operator::date::{self as date_op, DatePart};
use extentdb_kernel::operator::function::date;
use extentdb_kernel::operator::{Op, logic};
use extentdb_types::SqlType;

use super::entry::{Arguments, Entry, entry};
use super::exact::Style;
use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::typing;

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("datepart", 1, 1, |binder, a| binder.date_part_exactly(&a)),
    entry("datename", 1, 1, |binder, a| binder.date_name(&a)),
    entry("dateadd", 2, 2, |binder, a| binder.date_add_exactly(&a)),
    entry("datediff", 2, 2, |binder, a| binder.date_diff_exactly(&a, SqlType::Int)),
    entry("datediff_big", 2, 2, |binder, a| binder.date_diff_exactly(&a, SqlType::BigInt)),
    entry("datetrunc", 1, 1, |binder, a| binder.date_trunc(&a)),
    entry("date_bucket", 2, 3, |binder, a| binder.date_bucket(&a)),
    entry("year", 1, 1, |binder, a| binder.part_named(&a, DatePart::Year)),
    entry("month", 1, 1, |binder, a| binder.part_named(&a, DatePart::Month)),
    entry("day", 1, 1, |binder, a| binder.part_named(&a, DatePart::Day)),
    entry("eomonth", 1, 2, |binder, a| binder.end_of_month_exactly(&a)),
    entry("datefromparts", 3, 3, |binder, a| binder.assembled(&a, SqlType::Date, 3)),
    entry("datetimefromparts", 7, 7, |binder, a| binder.assembled(&a, SqlType::DateTime, 7)),
    entry("smalldatetimefromparts", 5, 5, |binder, a| {
        binder.assembled(&a, SqlType::SmallDateTime, 5)
    }),
    entry("timefromparts", 5, 5, |binder, a| {
        binder.parts_with_precision(&a, |scale| SqlType::Time { scale })
    }),
    entry("datetime2fromparts", 8, 8, |binder, a| {
        binder.parts_with_precision(&a, |scale| SqlType::DateTime2 { scale })
    }),
    entry("datetimeoffsetfromparts", 10, 10, |binder, a| {
        binder.parts_with_precision(&a, |scale| SqlType::DateTimeOffset { scale })
    }),
    entry("isdate", 1, 1, |binder, a| binder.is_date(&a)),
    entry("switchoffset", 2, 2, |binder, a| binder.with_offset(&a, date::switch_offset)),
    entry("todatetimeoffset", 2, 2, |binder, a| binder.with_offset(&a, date::to_offset)),
];

const OFFSET: SqlType = SqlType::DateTimeOffset { scale: 7 };
const DATETIME2: SqlType = SqlType::DateTime2 { scale: 7 };

impl Binder<'_> {
    fn part_of(&self, arguments: &Arguments) -> BindResult<DatePart> {
        let name = arguments.part.as_deref().unwrap_or_default();
        DatePart::named(name).ok_or_else(|| CompileError::UnknownDatePart {
            part: name.to_owned(),
            function: self.function.to_owned(),
            at: self.at,
        })
    }

    fn verify_part(&self, part: DatePart, is_known: bool, ty: SqlType) -> BindResult<()> {
        if is_known {
            return Ok(());
        }
        Err(CompileError::DatePart {
            part: part.name().to_owned(),
            function: self.function.to_owned(),
            ty,
            at: self.at,
        })
    }

    /// An argument as a point in time; a text, or NULL, as one of type `text`, a number as the days
    /// of a datetime.
    fn date_argument(
        &mut self,
        arguments: &Arguments,
        at: usize,
        text: SqlType,
    ) -> BindResult<(Value, SqlType)> {
        let Some(value) = arguments.get(at).cloned() else {
            return Ok((self.null(Ty::Sql(text))?, text));
        };
        if value.ty == Ty::Null {
            return Ok((self.null(Ty::Sql(text))?, text));
        }
        let ty = self.sql(&value)?;
        if typing::is_temporal(&ty) {
            return Ok((value, ty));
        }
        let target = if typing::is_text(&ty) { text } else { SqlType::DateTime };
        Ok((self.argument(arguments, at, target)?, target))
    }

    fn part_named(&mut self, arguments: &Arguments, part: DatePart) -> BindResult {
        let (a, ty) = self.date_argument(arguments, 0, DATETIME2)?;
        self.verify_part(part, part.is_of(&ty), ty)?;
        self.part_value(part, a, ty)
    }

    fn date_part_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let part = self.part_of(arguments)?;
        let (a, ty) = self.date_argument(arguments, 0, OFFSET)?;
        self.verify_part(part, part.is_of(&ty), ty)?;
        self.part_value(part, a, ty)
    }

    /// The parts that every clock has have loops.
    fn part_value(&mut self, part: DatePart, a: Value, ty: SqlType) -> BindResult {
        let is_plain = !matches!(
            part,
            DatePart::Week
                | DatePart::WeekDay
                | DatePart::Microsecond
                | DatePart::Nanosecond
                | DatePart::Offset
        );
        match calendar::clock(&ty) {
            Some(clock) if is_plain => {
                let op = date_op::Op::DatePart { part, clock, a: a.reg };
                self.emit(Op::Date(op), SqlType::Int)
            }
            _ => self.row(date::part, &[a], SqlType::Int, part as i64),
        }
    }

    fn date_name(&mut self, arguments: &Arguments) -> BindResult {
        let part = self.part_of(arguments)?;
        let (a, ty) = self.date_argument(arguments, 0, OFFSET)?;
        self.verify_part(part, part.is_of(&ty), ty)?;
        let collation = self.environment.database_collation;
        let result = typing::text_type(true, Some(30), collation);
        self.row(date::name, &[a], result, part as i64)
    }

    fn date_add_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let part = self.part_of(arguments)?;
        let (a, ty) = self.date_argument(arguments, 1, SqlType::DateTime)?;
        let is_possible = !matches!(part, DatePart::IsoWeek | DatePart::Offset);
        let is_old = matches!(ty, SqlType::DateTime | SqlType::SmallDateTime);
        let is_fine = matches!(part, DatePart::Microsecond | DatePart::Nanosecond);
        let is_known = is_possible && part.is_of(&ty) && !(is_fine && is_old);
        self.verify_part(part, is_known, ty)?;
        let count = self.int_argument(arguments, 0)?;
        let months = part.months();
        let plain = calendar::clock(&ty).zip(calendar::range(&ty));
        if let Some((clock, range)) = plain.filter(|(clock, _)| *clock != Clock::Time) {
            let op = match (months, super::date_function::counts(part, clock, &ty)) {
                (Some(factor), _) => Some(date_op::Op::AddMonths {
                    factor,
                    clock,
                    range,
                    count: count.reg,
                    a: a.reg,
                }),
                (None, Some(factor)) => {
                    Some(date_op::Op::AddCounts { factor, range, count: count.reg, a: a.reg })
                }
                _ => None,
            };
            if let Some(op) = op {
                return self.emit(Op::Date(op), ty);
            }
        }
        self.row(date::add, &[a, count], ty, part as i64)
    }

    fn date_diff_exactly(&mut self, arguments: &Arguments, result: SqlType) -> BindResult {
        let part = self.part_of(arguments)?;
        let (from, ta) = self.date_argument(arguments, 0, OFFSET)?;
        let (to, tb) = self.date_argument(arguments, 1, OFFSET)?;
        let is_possible = !matches!(part, DatePart::IsoWeek | DatePart::Offset);
        self.verify_part(part, is_possible, ta)?;
        let is_fine =
            matches!(part, DatePart::Millisecond | DatePart::Microsecond | DatePart::Nanosecond);
        let clocks = calendar::clock(&ta).zip(calendar::clock(&tb));
        match clocks {
            Some(clocks) if result == SqlType::Int && !is_fine => {
                let op = date_op::Op::Diff { part, clocks, from: from.reg, to: to.reg };
                self.emit(Op::Date(op), SqlType::Int)
            }
            _ => self.row(date::diff, &[from, to], result, part as i64),
        }
    }

    fn date_trunc(&mut self, arguments: &Arguments) -> BindResult {
        let part = self.part_of(arguments)?;
        let (a, ty) = self.date_argument(arguments, 0, DATETIME2)?;
        let is_known = part.is_of(&ty)
            && part.is_not_finer_than(&ty)
            && !matches!(part, DatePart::WeekDay | DatePart::Offset | DatePart::Nanosecond);
        self.verify_part(part, is_known, ty)?;
        self.row(date::truncate, &[a], ty, part as i64)
    }

    fn date_bucket(&mut self, arguments: &Arguments) -> BindResult {
        let part = self.part_of(arguments)?;
        let (a, ty) = self.date_argument(arguments, 1, DATETIME2)?;
        let is_known = part.is_of(&ty)
            && !matches!(
                part,
                DatePart::IsoWeek
                    | DatePart::Offset
                    | DatePart::WeekDay
                    | DatePart::DayOfYear
                    | DatePart::Microsecond
                    | DatePart::Nanosecond
            );
        self.verify_part(part, is_known, ty)?;
        let count = self.argument(arguments, 0, SqlType::BigInt)?;
        let mut values = vec![a, count];
        if arguments.get(2).is_some() {
            values.push(self.argument(arguments, 2, ty)?);
        }
        self.row(date::bucket, &values, ty, part as i64)
    }

    fn end_of_month_exactly(&mut self, arguments: &Arguments) -> BindResult {
        let (a, ty) = self.date_argument(arguments, 0, SqlType::Date)?;
        if matches!(ty, SqlType::Time { .. }) {
            return self.invalid_argument(Some(ty), 1);
        }
        let a = self.exact(a, SqlType::Date, Style::NONE)?;
        let months = match arguments.get(1) {
            Some(_) => {
                let months = self.int_argument(arguments, 1)?;
                let none = self.number(0)?;
                self.first_of(&months, &none)?
            }
            None => self.number(0)?,
        };
        let op = date_op::Op::EndOfMonth { clock: Clock::Date, a: a.reg, months: months.reg };
        self.emit(Op::Date(op), SqlType::Date)
    }

    fn assembled(&mut self, arguments: &Arguments, result: SqlType, count: usize) -> BindResult {
        let parts: BindResult<Vec<Value>> =
            (0..count).map(|at| self.int_argument(arguments, at)).collect();
        self.row(date::from_parts, &parts?, result, 0)
    }

    /// The last argument is the precision, a literal.
    fn parts_with_precision(
        &mut self,
        arguments: &Arguments,
        result: fn(u8) -> SqlType,
    ) -> BindResult {
        let last = arguments.values.len() - 1;
        let precision = arguments.get(last).and_then(|value| self.constant_integer(value));
        let Some(scale @ 0..=7) = precision else {
            return self
                .unsupported(format!("a precision of {} that is no literal", self.function));
        };
        self.assembled(arguments, result(scale as u8), last)
    }

    fn is_date(&mut self, arguments: &Arguments) -> BindResult {
        let Some(value) = arguments.get(0).cloned() else { return self.number(0) };
        let ty = match value.ty {
            Ty::Null => return self.number(0),
            _ => self.sql(&value)?,
        };
        match ty {
            SqlType::DateTime | SqlType::SmallDateTime => {
                let is_null = self.condition(Op::Logic(logic::Op::IsNull { a: value.reg }))?;
                let not = self.condition(Op::Logic(logic::Op::Not { a: is_null.reg }))?;
                return Ok(self.value(not.reg, Ty::Sql(SqlType::Int)));
            }
            _ if typing::is_temporal(&ty) => return self.invalid_argument(Some(ty), 1),
            _ => {}
        }
        let text = self.text_argument(arguments, 0)?;
        self.row_with_nulls(date::is_date, &[text], SqlType::Int, 0)
    }

    /// SWITCHOFFSET and TODATETIMEOFFSET: the offset is a text or a number of minutes.
    fn with_offset(
        &mut self,
        arguments: &Arguments,
        function: extentdb_kernel::operator::row::Function,
    ) -> BindResult {
        let (date, ty) = self.date_argument(arguments, 0, OFFSET)?;
        let scale = match ty {
            SqlType::DateTime2 { scale } | SqlType::DateTimeOffset { scale } => scale,
            SqlType::DateTime => 3,
            SqlType::SmallDateTime | SqlType::Date => 0,
            _ => return self.invalid_argument(Some(ty), 1),
        };
        let result = SqlType::DateTimeOffset { scale };
        let date = self.implicit(date, result)?;
        let offset = match arguments.get(1) {
            Some(value) if self.is_character(value) => self.text_argument(arguments, 1)?,
            _ => self.int_argument(arguments, 1)?,
        };
        self.row(function, &[offset, date], result, 0)
    }
}
