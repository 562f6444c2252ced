//! Conversions of statements: each pair of types has one, is an error of its own, or has none.

use extentdb_kernel::calendar::Clock;
use extentdb_kernel::constant::Constant;
use extentdb_kernel::lane::Reg;
use extentdb_kernel::operator::convert::How;
use extentdb_kernel::operator::moment_style::{self, NO_STYLE};
use extentdb_kernel::operator::row::{self, Call, Function};
use extentdb_kernel::operator::{Op, cast, codec};
use extentdb_types::{Collation, SqlType};

use super::{BindResult, Binder, Ty, Value};
use crate::error::CompileError;
use crate::resolver::Parameter;
use crate::syntax::TypeName;
use crate::typing::{self, Conversion};
use crate::variant;

/// The style of a conversion.
#[derive(Debug, Clone)]
pub(super) enum Style {
    Known(i64),
    /// An argument that differs from row to row.
    Row(Box<Value>),
}

impl Style {
    pub(super) const NONE: Style = Style::Known(NO_STYLE);
}

impl Binder<'_> {
    pub(crate) fn is_statement(&self) -> bool {
        self.environment.settings.is_statement()
    }

    /// CAST and CONVERT.
    pub(super) fn convert_exactly(
        &mut self,
        to: &TypeName,
        value: Value,
        style: Option<&Value>,
    ) -> BindResult {
        let own = match value.ty {
            Ty::Sql(ty) => ty.collation(),
            _ => None,
        };
        let collation = own.unwrap_or(self.environment.database_collation);
        let Some(target) = typing::named(to, collation) else {
            return Err(self.no_such_type(to));
        };
        if value.ty == Ty::Null {
            return self.null(Ty::Sql(target));
        }
        let from = self.sql(&value)?;
        if typing::conversion(&from, &target) == Conversion::None {
            return Err(CompileError::ExplicitConversion { from, to: target, at: self.at });
        }
        let style = match style {
            None => Style::NONE,
            Some(style) if style.ty == Ty::Null => return self.null(Ty::Sql(target)),
            Some(style) => self.style(style, &from, &target)?,
        };
        let label = value.label;
        let mut converted = self.exact(value, target, style)?;
        converted.literal = None;
        if own.is_some() {
            converted.label = label;
        }
        Ok(converted)
    }

    /// Why a type that CAST names is none.
    pub(super) fn no_such_type(&self, to: &TypeName) -> CompileError {
        let at = self.at;
        let most = match to.name.as_str() {
            "char" | "character" | "varchar" | "binary" | "varbinary" => Some(8_000),
            "nchar" | "nvarchar" => Some(4_000),
            "decimal" | "numeric" | "dec" | "time" | "datetime2" | "datetimeoffset" | "float" => {
                None
            }
            "hierarchyid" | "geometry" | "geography" => {
                return CompileError::Unsupported {
                    what: format!("conversion to {}", to.name),
                    at,
                };
            }
            _ => return CompileError::UnknownType { name: to.name.clone(), at },
        };
        let given = to.first.flatten().unwrap_or(0);
        match most {
            Some(most) if given > most => {
                CompileError::TypeSize { name: to.name.clone(), given, most, at }
            }
            _ => CompileError::TypeParameter { given, at },
        }
    }

    fn style(&mut self, style: &Value, from: &SqlType, to: &SqlType) -> BindResult<Style> {
        let style = self.implicit(style.clone(), SqlType::Int)?;
        let Some(number) = self.constant_integer(&style) else {
            return Ok(Style::Row(Box::new(style)));
        };
        let is_text_date = cast::is_character(from) && typing::is_temporal(to);
        if is_text_date && matches!(number, 130 | 131) {
            return self.unsupported("a text of the Hijri calendar as a date");
        }
        let is_date_text = typing::is_temporal(from) && cast::is_character(to);
        if is_date_text && !moment_style::is_style(number) {
            return Err(CompileError::InvalidStyle { style: number, from: *from, at: self.at });
        }
        Ok(Style::Known(number))
    }

    /// The value of an integer that is known when it is compiled.
    pub(super) fn constant_integer(&self, value: &Value) -> Option<i64> {
        match (self.constant_of(value.reg)?, value.ty) {
            (Constant::Int(number), Ty::Sql(ty)) if typing::is_integer(&ty) => Some(*number),
            _ => None,
        }
    }

    /// The constant behind a lane.
    pub(super) fn constant_of(&self, reg: Reg) -> Option<&Constant> {
        self.constants.iter().rev().find(|(own, _)| *own == reg).map(|(_, constant)| constant)
    }

    /// The value as another type, where it becomes one by itself.
    pub(super) fn implicit(&mut self, value: Value, to: SqlType) -> BindResult {
        let Ty::Sql(from) = value.ty else {
            return match value.ty {
                Ty::Null => self.null(Ty::Sql(to)),
                _ => self.unsupported("a condition where a value is expected"),
            };
        };
        let at = self.at;
        match typing::conversion(&from, &to) {
            Conversion::Implicit => self.exact(value, to, Style::NONE),
            Conversion::Explicit => Err(CompileError::ImplicitConversion { from, to, at }),
            Conversion::None => Err(CompileError::OperandClash { from, to, at }),
        }
    }

    /// The value as another type, which it can become.
    pub(super) fn exact(&mut self, value: Value, to: SqlType, style: Style) -> BindResult {
        let Ty::Sql(from) = value.ty else { return self.null(Ty::Sql(to)) };
        if from == to {
            return Ok(value);
        }
        if from == SqlType::SqlVariant {
            return self.cast_by_rows(variant::unwrap, value, to, style);
        }
        if to == SqlType::SqlVariant {
            return self.cast_by_rows(variant::wrap, value, to, Style::NONE);
        }
        if typing::is_text(&from) && typing::is_text(&to) {
            return self.exact_text(value, from, to);
        }
        if let Some(how) = quick(&from, &to) {
            return match how {
                Some(how) => self.converted(value.reg, how, from, to),
                None => Ok(self.value(value.reg, Ty::Sql(to))),
            };
        }
        if let (Some(how), Style::Known(NO_STYLE | 0)) = (number_text(&from, &to), &style) {
            let variable = typing::variable(to);
            let text = self.converted(value.reg, how, from, variable)?;
            return self.exact_text(text, variable, to);
        }
        match cast::function(&from, &to) {
            Some(function) => self.cast_by_rows(function, value, to, style),
            None => self.unsupported(format!("conversion from {from} to {to}")),
        }
    }

    /// A parameter of one type as one of another, which need not become it by itself.
    pub(crate) fn converted_parameter(
        &mut self,
        from: SqlType,
        to: SqlType,
        style: i64,
    ) -> BindResult {
        if typing::conversion(&from, &to) == Conversion::None {
            return Err(CompileError::OperandClash { from, to, at: self.at });
        }
        let value = self.parameter(Parameter { place: 0, ty: from, is_nullable: false })?;
        self.exact(value, to, Style::Known(style))
    }

    fn cast_by_rows(
        &mut self,
        function: Function,
        value: Value,
        to: SqlType,
        style: Style,
    ) -> BindResult {
        match style {
            Style::Known(number) => self.row(function, &[value], to, number),
            Style::Row(style) => {
                let value = self.row(function, &[value, *style], to, 0)?;
                if let Some((Op::Row(op), _)) = self.steps.last_mut() {
                    op.number_from = Some(1);
                }
                Ok(value)
            }
        }
    }

    fn converted(&mut self, a: Reg, how: How, from: SqlType, to: SqlType) -> BindResult {
        let value = self.step(a, how, to)?;
        self.note_source(from);
        Ok(value)
    }

    /// A function that is evaluated row by row; done at once where its arguments are constants.
    pub(super) fn row(
        &mut self,
        function: Function,
        arguments: &[Value],
        result: SqlType,
        number: i64,
    ) -> BindResult {
        self.row_op(function, arguments, result, number, false)
    }

    /// The same for a function that sees NULL.
    pub(super) fn row_with_nulls(
        &mut self,
        function: Function,
        arguments: &[Value],
        result: SqlType,
        number: i64,
    ) -> BindResult {
        self.row_op(function, arguments, result, number, true)
    }

    fn row_op(
        &mut self,
        function: Function,
        arguments: &[Value],
        result: SqlType,
        number: i64,
        takes_null: bool,
    ) -> BindResult {
        let types: BindResult<Vec<SqlType>> =
            arguments.iter().map(|argument| self.sql(argument)).collect();
        let call = Call {
            types: types?,
            result,
            options: self.environment.settings.options(),
            number,
        };
        let source = call.types.first().copied();
        let op = row::Op {
            function,
            arguments: arguments.iter().map(|argument| argument.reg).collect(),
            call,
            takes_null,
            number_from: None,
        };
        let constants: Option<Vec<&Constant>> =
            op.arguments.iter().map(|reg| self.constant_of(*reg)).collect();
        let folded = constants.filter(|it| !it.is_empty()).and_then(|it| op.fold(&it));
        if let Some(constant) = folded {
            return self.constant(constant, Ty::Sql(result));
        }
        if op.arguments.is_empty() {
            return self.unsupported("a function without arguments");
        }
        let value = self.emit(Op::Row(Box::new(op)), result)?;
        if let Some(source) = source {
            self.note_source(source);
        }
        Ok(value)
    }

    /// Between text types: width, code page, length, padding.
    fn exact_text(&mut self, value: Value, from: SqlType, to: SqlType) -> BindResult {
        let label = value.label;
        if let Some(Constant::Bytes(bytes)) = self.constant_of(value.reg) {
            let mut converted = Vec::new();
            codec::write(&to, &codec::decode(&from, bytes), &mut converted);
            let constant = self.constant(Constant::Bytes(converted), Ty::Sql(to))?;
            return Ok(Value { label, ..constant });
        }
        let was_wide = typing::is_wide_text(&from);
        let is_wide = typing::is_wide_text(&to);
        let pages = (codec::code_page(&from), codec::code_page(&to));
        let recoded = |collation: Collation| SqlType::NVarChar { len: None, collation };
        let reg = match (was_wide, is_wide) {
            (false, true) => self.step(value.reg, How::WidenExactly(pages.0), to)?.reg,
            (true, false) => self.step(value.reg, How::NarrowExactly(pages.1), to)?.reg,
            (false, false) if pages.0 != pages.1 => {
                let middle = from.collation().map_or(to, recoded);
                let wide = self.step(value.reg, How::WidenExactly(pages.0), middle)?;
                self.step(wide.reg, How::NarrowExactly(pages.1), to)?.reg
            }
            _ => value.reg,
        };
        let may_be_longer = match (from.max_bytes(), to.max_bytes()) {
            (_, None) => false,
            (Some(before), Some(after)) if was_wide == is_wide && pages.0 == pages.1 => {
                before > after
            }
            _ => true,
        };
        let reg = if may_be_longer || typing::is_padded(&to) {
            let resized = How::ResizeExactly { ty: to };
            self.step(reg, resized, to)?.reg
        } else {
            reg
        };
        let mut converted = self.value(reg, Ty::Sql(to));
        converted.label = label;
        Ok(converted)
    }
}

/// Conversions with a loop of their own; `Some(None)` where the lane serves as it is.
fn quick(from: &SqlType, to: &SqlType) -> Option<Option<How>> {
    if typing::is_decimal(from) && typing::is_float(to) || is_money_to_decimal(from, to) {
        return None;
    }
    if let Some(how) = super::conversion::number_to_number(from, to) {
        return Some(how);
    }
    let clock = extentdb_kernel::calendar::clock;
    let scale = |ty: &SqlType| match *ty {
        SqlType::Time { scale } | SqlType::DateTime2 { scale } => scale,
        _ => 7,
    };
    let is_plain = match (clock(from)?, clock(to)?) {
        (Clock::Date, Clock::DateTime | Clock::DateTime2) => true,
        (Clock::DateTime, Clock::Date) => true,
        (Clock::DateTime2, Clock::Date) => true,
        (Clock::DateTime2, Clock::DateTime2) | (Clock::Time, Clock::Time) => {
            scale(from) <= scale(to)
        }
        _ => false,
    };
    if is_plain { super::conversion::clock_to_clock(from, to) } else { None }
}

/// Integers and decimals as texts, which have loops.
fn number_text(from: &SqlType, to: &SqlType) -> Option<How> {
    if !typing::is_text(to) {
        return None;
    }
    let is_wide = typing::is_wide_text(to);
    let len = typing::characters(to);
    match *from {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => {
            Some(How::IntToText { is_wide, len, or_star: !is_wide })
        }
        SqlType::Bit | SqlType::BigInt => Some(How::IntToText { is_wide, len, or_star: false }),
        SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } => {
            Some(How::WideToText { is_wide, scale, len })
        }
        _ => None,
    }
}

fn is_money_to_decimal(from: &SqlType, to: &SqlType) -> bool {
    typing::is_money(from) && typing::is_decimal(to)
}
