//! CAST, CONVERT, COLLATE and the conversions between operands.

use extentdb_kernel::calendar::{self, Clock};
use extentdb_kernel::constant::Constant;
use extentdb_kernel::lane::Reg;
use extentdb_kernel::operator::arithmetic::Range;
use extentdb_kernel::operator::ascii::Encoding;
use extentdb_kernel::operator::convert::{self, How};
use extentdb_kernel::operator::{Op, date_text};
use extentdb_types::{Collation, Guid, SqlType};

use super::{BindResult, Binder, Label, Literal, Ty, Value};
use crate::error::CompileError;
use crate::syntax::TypeName;
use crate::typing;

const MONEY_UNIT: i64 = 10_000;

impl Binder<'_> {
    pub(super) fn convert(
        &mut self,
        to: &TypeName,
        value: Value,
        style: Option<&Value>,
    ) -> BindResult {
        if self.is_statement() {
            return self.convert_exactly(to, value, style);
        }
        let collation = match value.ty {
            Ty::Sql(ty) => ty.collation(),
            _ => None,
        };
        let target = typing::named(to, collation.unwrap_or(self.environment.database_collation));
        let is_known = |ty: &SqlType| !typing::is_opaque(ty) && *ty != SqlType::RowVersion;
        let Some(target) = target.filter(is_known) else {
            return self.unsupported(format!("conversion to type {}", to.name));
        };
        let style = match style {
            Some(style) => self.literal_integer(style, "a style")?,
            None => 0,
        };
        let label = if collation.is_some() { value.label } else { Label::Default };
        let mut converted = self.cast_in_style(value, target, style)?;
        converted.label = label;
        // 5 is numeric(1,0) beside a decimal, but CONVERT(int, 5) is an int.
        converted.literal = None;
        Ok(converted)
    }

    pub(super) fn collate(&mut self, value: Value, name: &str) -> BindResult {
        if self.is_statement() && value.ty == Ty::Null {
            return Ok(value);
        }
        let ty = self.sql(&value)?;
        let own = self.environment.database_collation;
        let is_own = name.eq_ignore_ascii_case("database_default")
            || (self.is_statement() && name.eq_ignore_ascii_case("catalog_default"));
        let collation = if is_own { Some(own) } else { extentdb_types::Collation::from_name(name) };
        if self.is_statement() {
            return self.collate_exactly(value, ty, collation, name);
        }
        let (Some(collation), true) = (collation, typing::is_text(&ty)) else {
            return self.unsupported(format!("COLLATE {name}"));
        };
        let target = match ty {
            SqlType::Char { len, .. } => SqlType::Char { len, collation },
            SqlType::VarChar { len, .. } => SqlType::VarChar { len, collation },
            SqlType::NChar { len, .. } => SqlType::NChar { len, collation },
            SqlType::NVarChar { len, .. } => SqlType::NVarChar { len, collation },
            other => other,
        };
        let mut value = self.cast(value, target)?;
        value.label = Label::Explicit;
        Ok(value)
    }

    fn collate_exactly(
        &mut self,
        value: Value,
        ty: SqlType,
        collation: Option<Collation>,
        name: &str,
    ) -> BindResult {
        let at = self.at;
        let unknown = || CompileError::UnknownCollation { name: name.to_owned(), at };
        let collation = collation.ok_or_else(unknown)?;
        if !typing::is_text(&ty) {
            return Err(CompileError::NotCollatable { ty, at });
        }
        let mut value = self.implicit(value, typing::with_collation(ty, collation))?;
        value.label = Label::Explicit;
        Ok(value)
    }

    /// The value as another type; the same lane where nothing changes.
    pub(super) fn cast(&mut self, value: Value, to: SqlType) -> BindResult {
        if self.is_statement() {
            return self.implicit(value, to);
        }
        self.cast_in_style(value, to, 0)
    }

    fn cast_in_style(&mut self, value: Value, to: SqlType, style: i64) -> BindResult {
        if value.ty == Ty::Null {
            return self.null(Ty::Sql(to));
        }
        let from = self.sql(&value)?;
        if from == to {
            return Ok(value);
        }
        if let Some(Literal::Text(text)) = &value.literal
            && style == 0
            && let Some(constant) = self.literal_as(text, &from, &to)?
        {
            return self.constant(constant, Ty::Sql(to));
        }
        if typing::is_text(&from) && typing::is_text(&to) {
            return self.cast_text(value, from, to);
        }
        let Some(how) = number_to_number(&from, &to).or_else(|| clock_to_clock(&from, &to)) else {
            return self.cast_to_or_from_text(value, from, to, style);
        };
        let is_settled = typing::digits(&to).is_some() || value.is_settled;
        let reg = match how {
            Some(How::Rescale { from, to, precision }) if from == u8::MAX => {
                // Money has its four digits first.
                let widened = self.step(
                    value.reg,
                    How::IntToWide { up: 0, precision: 38, is_certain: true },
                    to_decimal(38, 4),
                )?;
                self.step(
                    widened.reg,
                    How::Rescale { from: 4, to, precision },
                    to_decimal(precision, to),
                )?
                .reg
            }
            Some(how) => self.step(value.reg, how, to)?.reg,
            None => value.reg,
        };
        let mut converted = self.value(reg, Ty::Sql(to));
        converted.is_settled = is_settled;
        Ok(converted)
    }

    /// The literal NULL as a value of a type.
    pub(crate) fn typed_null(&mut self, ty: SqlType) -> BindResult {
        self.null(Ty::Sql(ty))
    }

    /// The value as a variable of type `to` takes it.
    pub(crate) fn assigned(&mut self, value: Value, to: SqlType) -> BindResult {
        self.cast(value, to)
    }

    pub(super) fn step(&mut self, a: Reg, how: How, ty: SqlType) -> BindResult {
        self.emit(Op::Convert(convert::Op { a, how }), ty)
    }

    /// A text literal as a constant of another type; `None` when the type takes texts row by row.
    fn literal_as(
        &mut self,
        text: &str,
        from: &SqlType,
        to: &SqlType,
    ) -> BindResult<Option<Constant>> {
        if let Some(clock) = calendar::clock(to) {
            self.is_deterministic = false;
            let count = date_text::read_unambiguous(text, clock)
                .and_then(|moment| date_text::count(clock, moment).ok())
                .filter(|count| is_within(*count, to) && is_whole(*count, to));
            return match count {
                Some(count) => Ok(Some(Constant::Int(count))),
                None => self.unsupported(format!("the text '{text}' as {to}")),
            };
        }
        if *to == SqlType::UniqueIdentifier {
            return match Guid::parse(text) {
                Some(guid) => Ok(Some(Constant::Bytes(guid.0.to_vec()))),
                None => self.unsupported(format!("the text '{text}' as {to}")),
            };
        }
        // A literal is written in the code page that it will be compared in.
        let is_recoded =
            matches!(to, SqlType::VarChar { .. }) && matches!(from, SqlType::VarChar { .. });
        match (is_recoded, to.collation(), to.max_bytes()) {
            (true, Some(collation), most) => {
                let bytes = self.encode(text, false, collation)?;
                Ok(most.is_none_or(|most| bytes.len() <= most).then_some(Constant::Bytes(bytes)))
            }
            _ => Ok(None),
        }
    }

    /// Between text types: width, code page, length, padding.
    fn cast_text(&mut self, value: Value, from: SqlType, to: SqlType) -> BindResult {
        let was_wide = typing::is_wide_text(&from);
        let is_wide = typing::is_wide_text(&to);
        let code_page = |ty: &SqlType| ty.collation().and_then(|collation| collation.code_page());
        let mut reg = value.reg;
        match (was_wide, is_wide) {
            (false, true) => {
                let Some(page) = code_page(&from) else {
                    return self.unsupported("text without a code page");
                };
                reg = self.step(reg, How::Widen(page), to)?.reg;
            }
            (true, false) => reg = self.step(reg, How::Narrow, to)?.reg,
            (false, false) if code_page(&from) != code_page(&to) => {
                return self.unsupported("text of one code page as text of another");
            }
            _ => {}
        }
        let may_be_longer = match (typing::characters(&from), typing::characters(&to)) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(before), Some(after)) => before > after,
        };
        if may_be_longer || typing::is_padded(&to) {
            let len = to.max_bytes().unwrap_or(usize::MAX);
            let pad: Option<&'static [u8]> = match typing::is_padded(&to) {
                true if is_wide => Some(b" \0"),
                true => Some(b" "),
                false => None,
            };
            let is_plain =
                matches!(Encoding::of(&to), Encoding::MultiByte | Encoding::Supplementary);
            reg = self.step(reg, How::Resize { len, pad, is_plain }, to)?.reg;
        }
        let mut converted = self.value(reg, Ty::Sql(to));
        converted.label = value.label;
        Ok(converted)
    }

    fn cast_to_or_from_text(
        &mut self,
        value: Value,
        from: SqlType,
        to: SqlType,
        style: i64,
    ) -> BindResult {
        let how = if typing::is_text(&to) {
            // In place: a text type of fixed length is padded after the fact.
            self.text_of(&value, &from, &to, style)?
        } else if typing::is_text(&from) {
            from_text(&from, &to, style)
        } else {
            None
        };
        let reg = match how {
            Some(how) => self.step(value.reg, how, to)?.reg,
            None => match binary_len(&from, &to) {
                Some(Some((len, pad))) => {
                    self.step(value.reg, How::Resize { len, pad, is_plain: false }, to)?.reg
                }
                Some(None) => value.reg,
                None => {
                    return self
                        .unsupported(format!("conversion from {from} to {to} (style {style})"));
                }
            },
        };
        let needs_padding = typing::is_padded(&to) && typing::is_text(&to);
        if !needs_padding {
            return Ok(self.value(reg, Ty::Sql(to)));
        }
        let variable = match to {
            SqlType::NChar { len, collation } => SqlType::NVarChar { len: Some(len), collation },
            SqlType::Char { len, collation } => SqlType::VarChar { len: Some(len), collation },
            other => other,
        };
        let text = self.value(reg, Ty::Sql(variable));
        self.cast_text(text, variable, to)
    }

    fn text_of(
        &mut self,
        value: &Value,
        from: &SqlType,
        to: &SqlType,
        style: i64,
    ) -> BindResult<Option<How>> {
        let is_wide = typing::is_wide_text(to);
        let len = typing::characters(to);
        let small_style = u8::try_from(style).unwrap_or(u8::MAX);
        Ok(match from {
            SqlType::Bit
            | SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
                if style == 0 =>
            {
                let or_star = !is_wide && !matches!(from, SqlType::BigInt | SqlType::Bit);
                Some(How::IntToText { is_wide, len, or_star })
            }
            SqlType::Decimal { scale, .. } | SqlType::Numeric { scale, .. } if style == 0 => {
                if !value.is_settled {
                    return self.unsupported("the text of a decimal whose scale is not certain");
                }
                Some(How::WideToText { is_wide, scale: *scale, len })
            }
            SqlType::Money | SqlType::SmallMoney if small_style <= 2 => {
                Some(How::MoneyToText { is_wide, style: small_style, len })
            }
            SqlType::UniqueIdentifier => Some(How::GuidToText { is_wide, len }),
            SqlType::Binary { .. } | SqlType::VarBinary { .. } if matches!(style, 1 | 2) => {
                Some(How::BinaryToText { is_wide, has_prefix: style == 1, len })
            }
            _ => {
                let digits = match *from {
                    SqlType::DateTime2 { scale } | SqlType::Time { scale } => scale,
                    _ => 3,
                };
                calendar::clock(from).and_then(|clock| {
                    let style = date_text::writing(style, clock)?;
                    Some(How::ClockToText { is_wide, clock, style, digits, len })
                })
            }
        })
    }

    /// The lane of the result as its column declares it; see
    /// [`Program::compile_as`](crate::Program::compile_as).
    pub(crate) fn declare(
        &mut self,
        value: &Value,
        natural: SqlType,
        declared: SqlType,
    ) -> BindResult<Reg> {
        let mismatch = Err(CompileError::ResultType { natural, declared });
        let most = |ty: &SqlType| ty.max_bytes().unwrap_or(usize::MAX);
        let how = match (&natural, &declared) {
            (a, b) if a == b => None,
            (
                SqlType::Decimal { scale: a, precision: p }
                | SqlType::Numeric { scale: a, precision: p },
                SqlType::Decimal { scale: b, precision } | SqlType::Numeric { scale: b, precision },
            ) if a == b => (p > precision).then_some(How::FitWide { precision: *precision }),
            (a, b)
                if typing::is_integer(a)
                    && typing::is_integer(b)
                    && *a != SqlType::Bit
                    && *b != SqlType::Bit =>
            {
                let before = typing::range(a).unwrap_or((i64::MIN, i64::MAX));
                typing::range(b).filter(|it| before.0 < it.0 || it.1 < before.1).map(How::FitRange)
            }
            (SqlType::VarBinary { .. }, SqlType::VarBinary { .. }) => {
                (most(&natural) > most(&declared)).then_some(How::Fit { len: most(&declared) })
            }
            (a, b) if typing::is_text(a) && typing::is_text(b) => {
                let page =
                    |ty: &SqlType| ty.collation().and_then(|collation| collation.code_page());
                let is_alike = typing::is_wide_text(a) == typing::is_wide_text(b)
                    && typing::is_padded(a) == typing::is_padded(b)
                    && (typing::is_wide_text(a) || (page(a).is_some() && page(a) == page(b)))
                    && (!typing::is_padded(a) || a.max_bytes() == b.max_bytes());
                if !is_alike {
                    return mismatch;
                }
                (most(a) > most(b)).then_some(How::Fit { len: most(b) })
            }
            _ => return mismatch,
        };
        match how {
            Some(how) => Ok(self.step(value.reg, how, declared)?.reg),
            None => Ok(value.reg),
        }
    }
}

fn to_decimal(precision: u8, scale: u8) -> SqlType {
    SqlType::Decimal { precision, scale }
}

fn is_within(count: i64, ty: &SqlType) -> bool {
    calendar::range(ty).is_some_and(|range| (range.0..=range.1).contains(&count))
}

/// No more digits than the type has: a literal is not rounded here.
fn is_whole(count: i64, ty: &SqlType) -> bool {
    match ty {
        SqlType::DateTime2 { scale } => count % 10i64.pow(u32::from(7 - (*scale).min(7))) == 0,
        _ => true,
    }
}

/// `None`: not both numbers. `Some(None)`: the lane serves as it is. `from: u8::MAX` in a rescale
/// stands for money.
pub(super) fn number_to_number(from: &SqlType, to: &SqlType) -> Option<Option<How>> {
    let all: Range = (i64::MIN, i64::MAX);
    let range = typing::range(to).unwrap_or(all);
    let is_real = *to == SqlType::Real;
    let is_int = |ty: &SqlType| typing::is_integer(ty);
    let decimal = |ty: &SqlType| match *ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Some((precision, scale))
        }
        _ => None,
    };
    Some(match (decimal(from), decimal(to)) {
        (None, None) if is_int(from) && *to == SqlType::Bit => Some(How::IntToBit),
        (None, None) if is_int(from) && is_int(to) => {
            let before = typing::range(from).unwrap_or(all);
            let is_wider = range.0 <= before.0 && before.1 <= range.1;
            (!is_wider).then_some(How::Range(range))
        }
        (None, None) if is_int(from) && typing::is_money(to) => {
            Some(How::Scale { factor: MONEY_UNIT, range })
        }
        (None, None) if is_int(from) && typing::is_float(to) => {
            Some(How::IntToFloat { unit: 1.0, is_real })
        }
        (None, None)
            if is_int(from) && matches!(to, SqlType::DateTime | SqlType::SmallDateTime) =>
        {
            let factor = calendar::clock(to).map_or(1, Clock::per_day);
            Some(How::Scale { factor, range: calendar::range(to)? })
        }
        (None, None) if typing::is_money(from) && *to == SqlType::Bit => Some(How::IntToBit),
        (None, None) if typing::is_money(from) && is_int(to) => {
            Some(How::Unscale { unit: MONEY_UNIT, range })
        }
        (None, None) if typing::is_money(from) && typing::is_money(to) => Some(How::Range(range)),
        (None, None) if typing::is_money(from) && typing::is_float(to) => {
            Some(How::IntToFloat { unit: MONEY_UNIT as f64, is_real })
        }
        (None, None) if typing::is_float(from) && *to == SqlType::Bit => Some(How::FloatToBit),
        (None, None) if typing::is_float(from) && is_int(to) => Some(How::FloatToInt { range }),
        (None, None) if typing::is_float(from) && typing::is_float(to) => {
            is_real.then_some(How::ToReal)
        }
        (None, Some((precision, scale))) if is_int(from) => {
            let is_certain =
                typing::digits(from).is_some_and(|(digits, _)| digits <= precision - scale);
            Some(How::IntToWide { up: scale, precision, is_certain })
        }
        (None, Some((precision, scale))) if typing::is_money(from) => {
            Some(How::Rescale { from: u8::MAX, to: scale, precision })
        }
        (Some(_), None) if *to == SqlType::Bit => Some(How::WideToBit),
        (Some((_, scale)), None) if is_int(to) => Some(How::WideToInt { scale, range }),
        (Some((_, scale)), None) if typing::is_money(to) => Some(How::WideToMoney { scale, range }),
        (Some((_, scale)), None) if typing::is_float(to) => {
            Some(How::WideToFloat { scale, is_real })
        }
        (Some((p1, s1)), Some((p2, s2))) => {
            let is_wider = s1 == s2 && p1 <= p2;
            (!is_wider).then_some(How::Rescale { from: s1, to: s2, precision: p2 })
        }
        _ => return None,
    })
}

/// `None`: no times, or a conversion that is not certain.
pub(super) fn clock_to_clock(from: &SqlType, to: &SqlType) -> Option<Option<How>> {
    let a = calendar::clock(from)?;
    let b = calendar::clock(to)?;
    let scale = match *to {
        SqlType::Time { scale } | SqlType::DateTime2 { scale } => scale,
        _ => 7,
    };
    let is_possible = match (a, b) {
        (Clock::Date, Clock::DateTime | Clock::SmallDateTime | Clock::DateTime2) => true,
        (Clock::DateTime, Clock::Date | Clock::SmallDateTime) => true,
        // How many digits of 1/300 s a finer type shows depends on the compatibility level.
        (Clock::DateTime, Clock::Time | Clock::DateTime2) => scale <= 3,
        (Clock::SmallDateTime, _) => true,
        (Clock::DateTime2, Clock::Date | Clock::Time | Clock::DateTime2) => true,
        (Clock::Time, Clock::Time) => true,
        _ => false,
    };
    let how = How::Clock { from: a, to: b, scale, range: calendar::range(to)? };
    is_possible.then_some(Some(how))
}

fn from_text(from: &SqlType, to: &SqlType, style: i64) -> Option<How> {
    let is_wide = typing::is_wide_text(from);
    match *to {
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            Some(How::TextToInt { is_wide, range: typing::range(to)? })
        }
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            Some(How::TextToWide { is_wide, scale, precision })
        }
        SqlType::Date | SqlType::DateTime | SqlType::SmallDateTime => {
            let style = date_text::style(style)?;
            let clock = calendar::clock(to)?;
            Some(How::TextToClock { is_wide, clock, style, range: calendar::range(to)? })
        }
        _ => None,
    }
}

/// Text or binary as binary: the length to bring it to and the padding; `Some(None)` when it fits
/// as it is.
#[allow(clippy::type_complexity, reason = "one caller, which takes it apart at once")]
fn binary_len(from: &SqlType, to: &SqlType) -> Option<Option<(usize, Option<&'static [u8]>)>> {
    let is_bytes =
        typing::is_text(from) || typing::is_binary(from) || *from == SqlType::UniqueIdentifier;
    let is_target = matches!(to, SqlType::Binary { .. } | SqlType::VarBinary { .. });
    if !is_bytes || !is_target {
        return None;
    }
    let pad: Option<&'static [u8]> = typing::is_padded(to).then_some(&[0u8]);
    Some(to.max_bytes().map(|len| (len, pad)))
}
