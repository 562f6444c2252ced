//! Functions of dates by name.

use extentdb_kernel::calendar::{self, Clock};
use extentdb_kernel::operator::Op;
use extentdb_kernel::operator::date::{self, DatePart};
use extentdb_types::SqlType;

use super::{BindResult, Binder, Ty, Value};
use crate::typing;

impl Binder<'_> {
    /// DATEPART, DATEADD, DATEDIFF: the functions with a part as first argument.
    pub(super) fn date_part_function(
        &mut self,
        name: &str,
        part: &str,
        args: Vec<Value>,
    ) -> BindResult {
        let Some(known) = DatePart::named(part).filter(|part| *part != DatePart::Offset) else {
            return self.unsupported(format!("the part {part} of a date"));
        };
        let mut args = args.into_iter();
        match (name, args.next(), args.next(), args.next()) {
            ("datepart", Some(a), None, None) => self.date_part(known, a),
            ("dateadd", Some(count), Some(a), None) => self.date_add(known, count, a),
            ("datediff", Some(from), Some(to), None) => self.date_diff(known, from, to),
            _ => self.unsupported(format!("the function {name} of {part}")),
        }
    }

    /// The other functions of dates; `None` when the name is none of theirs.
    pub(super) fn date_function(
        &mut self,
        name: &str,
        args: &[Value],
    ) -> BindResult<Option<Value>> {
        let value = match (name, args) {
            ("year", [a]) => self.date_part(DatePart::Year, a.clone())?,
            ("month", [a]) => self.date_part(DatePart::Month, a.clone())?,
            ("day", [a]) => self.date_part(DatePart::Day, a.clone())?,
            ("eomonth", [a]) => {
                let none = self.number(0)?;
                self.end_of_month(a.clone(), none)?
            }
            ("eomonth", [a, months]) => self.end_of_month(a.clone(), months.clone())?,
            ("datefromparts", [year, month, day]) => {
                let year = self.cast(year.clone(), SqlType::Int)?.reg;
                let month = self.cast(month.clone(), SqlType::Int)?.reg;
                let day = self.cast(day.clone(), SqlType::Int)?.reg;
                self.emit(Op::Date(date::Op::FromParts { year, month, day }), SqlType::Date)?
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    /// A value as a point in time: a number counts days, a literal text becomes `literal`.
    fn clock(&mut self, value: Value, literal: SqlType) -> BindResult<(Value, Clock)> {
        let ty = match value.ty {
            Ty::Null => literal,
            _ => self.sql(&value)?,
        };
        let value = match ty {
            _ if typing::is_clock(&ty) => value,
            _ if typing::is_integer(&ty) => self.cast(value, SqlType::DateTime)?,
            _ if value.literal.is_some() || value.ty == Ty::Null => self.cast(value, literal)?,
            _ => return self.unsupported(format!("{ty} as a date")),
        };
        let ty = self.sql(&value)?;
        match calendar::clock(&ty) {
            Some(clock) => Ok((value, clock)),
            None => self.unsupported(format!("{ty} as a date")),
        }
    }

    fn date_part(&mut self, part: DatePart, a: Value) -> BindResult {
        let (a, clock) = self.clock(a, SqlType::DateTime2 { scale: 7 })?;
        let is_of_time = part.ticks().is_some() || part == DatePart::Nanosecond;
        let is_fine = matches!(part, DatePart::Microsecond | DatePart::Nanosecond);
        let is_known = match clock {
            _ if matches!(part, DatePart::Week | DatePart::WeekDay) => false,
            Clock::Date => !is_of_time,
            Clock::Time => is_of_time,
            Clock::DateTime | Clock::SmallDateTime => !is_fine,
            Clock::DateTime2 => true,
        };
        if !is_known {
            return self.unsupported(format!("the part {part:?} of {clock:?}"));
        }
        self.emit(Op::Date(date::Op::DatePart { part, clock, a: a.reg }), SqlType::Int)
    }

    fn date_add(&mut self, part: DatePart, count: Value, a: Value) -> BindResult {
        let (a, clock) = self.clock(a, SqlType::DateTime)?;
        let ty = self.sql(&a)?;
        let count = self.cast(count, SqlType::Int)?.reg;
        let Some(range) = calendar::range(&ty) else {
            return self.unsupported(format!("DATEADD of {ty}"));
        };
        let months = match part {
            DatePart::Year => Some(12),
            DatePart::Quarter => Some(3),
            DatePart::Month => Some(1),
            _ => None,
        };
        let op = match (months, counts(part, clock, &ty)) {
            _ if clock == Clock::Time => return self.unsupported("DATEADD of a time"),
            (Some(factor), _) => date::Op::AddMonths { factor, clock, range, count, a: a.reg },
            (None, Some(factor)) => date::Op::AddCounts { factor, range, count, a: a.reg },
            (None, None) => return self.unsupported(format!("DATEADD of {part:?} to {ty}")),
        };
        self.emit(Op::Date(op), ty)
    }

    fn date_diff(&mut self, part: DatePart, from: Value, to: Value) -> BindResult {
        let literal = SqlType::DateTime2 { scale: 7 };
        let (from, a) = self.clock(from, literal)?;
        let (to, b) = self.clock(to, literal)?;
        let is_fine =
            matches!(part, DatePart::Millisecond | DatePart::Microsecond | DatePart::Nanosecond);
        let is_of_day = part.ticks().is_none() && part != DatePart::Nanosecond;
        let has = |clock: Clock| a == clock || b == clock;
        let is_known = part != DatePart::IsoWeek
            && !(is_fine && has(Clock::DateTime))
            && !(is_of_day && has(Clock::Time))
            // A time beside a date would have to become one.
            && !(has(Clock::Time) && a != b);
        if !is_known {
            return self.unsupported(format!("DATEDIFF of {part:?} between {a:?} and {b:?}"));
        }
        let op = date::Op::Diff { part, clocks: (a, b), from: from.reg, to: to.reg };
        self.emit(Op::Date(op), SqlType::Int)
    }

    fn end_of_month(&mut self, a: Value, months: Value) -> BindResult {
        let (a, clock) = self.clock(a, SqlType::Date)?;
        if clock == Clock::Time {
            return self.unsupported("EOMONTH of a time");
        }
        let months = self.cast(months, SqlType::Int)?.reg;
        self.emit(Op::Date(date::Op::EndOfMonth { clock, a: a.reg, months }), SqlType::Date)
    }
}

/// Counts of a clock in one part; `None` where the clock has no such part or would have to round.
pub(super) fn counts(part: DatePart, clock: Clock, ty: &SqlType) -> Option<i64> {
    let days = match part {
        DatePart::Day | DatePart::DayOfYear | DatePart::WeekDay => Some(1),
        DatePart::Week => Some(7),
        _ => None,
    };
    if let Some(days) = days {
        return Some(days * clock.per_day());
    }
    let ticks = part.ticks()?;
    let unit = match *ty {
        SqlType::DateTime if ticks >= calendar::SECOND => {
            return Some(ticks / calendar::SECOND * 300);
        }
        SqlType::SmallDateTime if ticks >= 60 * calendar::SECOND => {
            return Some(ticks / (60 * calendar::SECOND));
        }
        SqlType::DateTime2 { scale } => 10i64.pow(u32::from(7 - scale.min(7))),
        _ => return None,
    };
    (ticks % unit == 0).then_some(ticks)
}
