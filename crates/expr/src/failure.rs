//! The message behind a row's error: its number, and its text with the types and values it names.
//!
//! A row keeps one byte. Every step's lane is still there after a run, so the step that failed is
//! found by going back from the result along the operands with the same error.

use extentdb_kernel::error::EvalError;
use extentdb_kernel::lane::{Lane, LaneKind, Reg};
use extentdb_kernel::operator::Op;
use extentdb_kernel::operator::codec;
use extentdb_types::{Datum, SqlType};

use crate::batch::Batch;
use crate::bind::Note;
use crate::error::name;
use crate::program::Program;
use crate::typing;

/// What failed in a row, as the message names it. Its [`Display`](std::fmt::Display) is the text of
/// SQL Server's message.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The error.
    pub error: EvalError,
    /// Type of the value that a conversion or function began with.
    pub from: Option<SqlType>,
    /// Type of the result of the step that failed.
    pub to: SqlType,
    /// The value as text, where messages name it.
    pub value: Option<String>,
    /// The function that failed, in small letters; empty for an operator or conversion.
    pub function: &'static str,
    /// Byte offset of the step in the expression.
    pub at: usize,
}

impl Program {
    /// Why a row of the last run has an error; `None` where it has a value.
    #[must_use]
    pub fn failure(&self, batch: &Batch, row: usize) -> Option<Failure> {
        let (result, _) = batch.result?;
        let state = batch.lanes.at(result).state.get(row).copied()?;
        let error = EvalError::of_state(state)?;
        let mut at = result;
        let mut origin = None;
        // Operands have smaller numbers than their users, so this ends.
        while let Some(step) = self.steps().iter().rposition(|(_, out)| *out == at) {
            origin = Some(step);
            let (op, _) = self.steps().get(step)?;
            match op.source_of(&batch.lanes, row, state) {
                Some(source) => at = source,
                None => break,
            }
        }
        let found = origin.and_then(|step| self.steps().get(step).zip(self.notes().get(step)));
        let Some(((op, _), note)) = found else {
            return Some(Failure::bare(error, self.result_type()));
        };
        Some(Failure::of(error, op, note, batch, row))
    }
}

impl Failure {
    fn bare(error: EvalError, to: SqlType) -> Failure {
        Failure { error, from: None, to, value: None, function: "", at: 0 }
    }

    fn of(error: EvalError, op: &Op, note: &Note, batch: &Batch, row: usize) -> Failure {
        let operand = op.operands().first().copied();
        let value = note.from.zip(operand).and_then(|(ty, reg)| shown(&ty, reg, batch, row));
        Failure {
            error,
            from: note.from,
            to: note.to,
            value,
            function: note.function,
            at: note.at,
        }
    }

    /// The number of SQL Server's message; `None` for what only this crate cannot do.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        let from_text = self.from.is_some_and(|ty| ty.collation().is_some());
        Some(match self.error {
            EvalError::DivideByZero => 8134,
            EvalError::Conversion => self.conversion_number(),
            EvalError::Overflow if from_text => self.overflow_of_text(),
            EvalError::Overflow => self.overflow_number(),
            EvalError::Argument => self.argument_number(),
            EvalError::DateDifference => 535,
            EvalError::DateRange if !self.has_own_range() => 241,
            EvalError::DateRange => 242,
            EvalError::DateOverflow => 517,
            EvalError::DateParts => 289,
            EvalError::Length if self.function == "right" => 536,
            EvalError::Length => 537,
            EvalError::Domain => 3623,
            EvalError::TextTooShort => self.too_short_number(),
            EvalError::Style if from_text => 9807,
            EvalError::Style => 281,
            EvalError::Json => 13609,
            EvalError::JsonPath => 13607,
            EvalError::JsonProperty => 13608,
            EvalError::JsonScalar => 13623,
            EvalError::JsonObject => 13624,
            EvalError::Parse => 9819,
            EvalError::TimeZone => 9820,
            EvalError::Offset => 9812,
            EvalError::Translate => 9828,
            EvalError::Value => 9834,
            EvalError::Xml => 9400,
            EvalError::NullMutator => 5302,
            EvalError::LobOffset => 7116,
            EvalError::LobLength => 7135,
            _ => return None,
        })
    }

    /// datetime and smalldatetime say that a date is out of range.
    fn has_own_range(&self) -> bool {
        matches!(self.to, SqlType::DateTime | SqlType::SmallDateTime)
            || self.from.is_some_and(|ty| typing::is_temporal(&ty))
    }

    fn argument_number(&self) -> u32 {
        match self.function {
            "left" | "substring" => 537,
            "right" => 536,
            "dateadd" | "eomonth" => 517,
            "datefromparts" => 289,
            _ => 535,
        }
    }

    fn conversion_number(&self) -> u32 {
        match self.to {
            _ if matches!(self.from, Some(SqlType::DateTimeOffset { .. })) => 241,
            SqlType::SmallDateTime => 295,
            SqlType::Money => 235,
            SqlType::SmallMoney => 293,
            SqlType::UniqueIdentifier => 8169,
            SqlType::Bit | SqlType::TinyInt | SqlType::SmallInt | SqlType::Int => 245,
            _ if typing::is_temporal(&self.to) => 241,
            _ => 8114,
        }
    }

    fn overflow_of_text(&self) -> u32 {
        match self.to {
            SqlType::Int => 248,
            SqlType::TinyInt | SqlType::SmallInt => 244,
            SqlType::Money => 236,
            SqlType::SmallMoney => 294,
            _ => 8115,
        }
    }

    fn overflow_number(&self) -> u32 {
        match (self.from, self.to) {
            (Some(from), to) if typing::is_temporal(&from) && typing::is_temporal(&to) => 242,
            (Some(from), to) if typing::is_float(&from) && typing::is_integer(&to) => 232,
            (Some(from), SqlType::TinyInt | SqlType::SmallInt) if typing::is_integer(&from) => 220,
            _ => 8115,
        }
    }

    fn too_short_number(&self) -> u32 {
        match self.from {
            Some(SqlType::Money | SqlType::SmallMoney) => 234,
            Some(SqlType::Float | SqlType::Real) => 232,
            Some(SqlType::UniqueIdentifier) if !typing::is_wide_text(&self.to) => 8170,
            _ => 8115,
        }
    }

    fn source_name(&self) -> &'static str {
        self.from.as_ref().map_or("expression", name)
    }

    /// What message 8115 says is converted: a type where a decimal or text is involved.
    fn overflowing_name(&self) -> &'static str {
        let is_plain = |ty: &SqlType| typing::range(ty).is_some() && !typing::is_decimal(ty);
        let from_integer = self.from.is_some_and(|ty| typing::is_integer(&ty));
        let is_expression = is_plain(&self.to) || from_integer && typing::is_text(&self.to);
        let from_text = self.from.is_some_and(|ty| ty.collation().is_some());
        if is_expression && !from_text { "expression" } else { self.source_name() }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let from = self.source_name();
        let to = name(&self.to);
        let value = self.value.as_deref().unwrap_or_default();
        match self.number() {
            Some(8134) => f.write_str("Divide by zero error encountered."),
            Some(8115) => {
                let from = self.overflowing_name();
                write!(f, "Arithmetic overflow error converting {from} to data type {to}.")
            }
            Some(220) => {
                write!(f, "Arithmetic overflow error for data type {to}, value = {value}.")
            }
            Some(232) => write!(f, "Arithmetic overflow error for type {to}, value = {value}."),
            Some(234) => f.write_str(
                "There is insufficient result space to convert a money value to varchar.",
            ),
            Some(235) => f.write_str(
                "Cannot convert a char value to money. The char value has incorrect syntax.",
            ),
            Some(236) => f.write_str(
                "The conversion from char data type to money resulted in a money overflow error.",
            ),
            Some(241) => f.write_str(
                "Conversion failed when converting date and/or time from character string.",
            ),
            Some(242) => write!(
                f,
                "The conversion of a {from} data type to a {to} data type resulted in an \
                 out-of-range value."
            ),
            Some(244) => write!(
                f,
                "The conversion of the {from} value '{value}' overflowed an {} column. Use a \
                 larger integer column.",
                if self.to == SqlType::TinyInt { "INT1" } else { "INT2" }
            ),
            Some(245) => write!(
                f,
                "Conversion failed when converting the {from} value '{value}' to data type {to}."
            ),
            Some(248) => {
                write!(f, "The conversion of the {from} value '{value}' overflowed an int column.")
            }
            Some(281) => write!(
                f,
                "The style is not a valid style number when converting from {from} to a character \
                 string."
            ),
            Some(289) => write!(
                f,
                "Cannot construct data type {to}, some of the arguments have values which are not \
                 valid."
            ),
            Some(293) => f.write_str(
                "Cannot convert char value to smallmoney. The char value has incorrect syntax.",
            ),
            Some(294) => f.write_str(
                "The conversion from char data type to smallmoney data type resulted in a \
                 smallmoney overflow error.",
            ),
            Some(295) => f.write_str(
                "Conversion failed when converting character string to smalldatetime data type.",
            ),
            Some(8114) => write!(f, "Error converting data type {from} to {to}."),
            Some(8169) => f.write_str(
                "Conversion failed when converting from a character string to uniqueidentifier.",
            ),
            Some(8170) => {
                f.write_str("Insufficient result space to convert uniqueidentifier value to char.")
            }
            Some(_) => self.of_function(f),
            None => write!(f, "not supported: {}", self.error),
        }
    }
}

impl Failure {
    /// Messages of functions.
    fn of_function(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let function = self.function;
        let value = self.value.as_deref().unwrap_or_default();
        match self.number() {
            Some(517) => {
                write!(f, "Adding a value to a '{}' column caused an overflow.", name(&self.to))
            }
            Some(535) => write!(
                f,
                "The {function} function resulted in an overflow. The number of dateparts \
                 separating two date/time instances is too large. Try to use {function} with a \
                 less precise datepart."
            ),
            Some(536) => write!(f, "Invalid length parameter passed to the {function} function."),
            Some(537) => {
                f.write_str("Invalid length parameter passed to the LEFT or SUBSTRING function.")
            }
            Some(3623) => f.write_str("An invalid floating point operation occurred."),
            Some(5302) => {
                let method = function.rsplit(' ').next().unwrap_or_default();
                write!(f, "Mutator '{method}()' on '{value}' cannot be called on a null value.")
            }
            Some(7116) => write!(f, "Offset {value} is not in the range of available LOB data."),
            Some(7135) => write!(
                f,
                "Deletion length {value} is not in the range of available text, ntext, or image \
                 data."
            ),
            Some(9400) => f.write_str("XML parsing: the text is not well formed."),
            Some(9807) => f.write_str(
                "The input character string does not follow style, either change the input \
                 character string or use a different style.",
            ),
            Some(9812) => {
                write!(f, "The timezone provided to builtin function {function} is invalid.")
            }
            Some(9819) => write!(
                f,
                "Error converting string value '{value}' into data type {} using culture ''.",
                name(&self.to)
            ),
            Some(9820) => write!(
                f,
                "The time zone parameter '{value}' provided to AT TIME ZONE clause is invalid."
            ),
            Some(9828) => f.write_str(
                "The second and third arguments of the TRANSLATE built-in function must contain \
                 an equal number of characters.",
            ),
            Some(13607) => f.write_str("JSON path is not properly formatted."),
            Some(13608) => f.write_str("Property cannot be found on the specified JSON path."),
            Some(13623) => f.write_str("Scalar value cannot be found in the specified JSON path."),
            Some(13624) => {
                f.write_str("Object or array cannot be found in the specified JSON path.")
            }
            Some(13609) => f.write_str("JSON text is not properly formatted."),
            _ => write!(f, "Invalid parameter passed to the {function} function."),
        }
    }
}

/// A value as messages show it.
fn shown(ty: &SqlType, reg: Reg, batch: &Batch, row: usize) -> Option<String> {
    let lane: &Lane = batch.lanes.at(reg);
    match typing::kind(ty) {
        LaneKind::Bytes if ty.collation().is_some() => {
            let bytes = batch.arena.get(*lane.spans.get(row)?);
            Some(codec::decode(ty, bytes).into_owned())
        }
        LaneKind::Int => lane.ints.get(row).map(i64::to_string),
        LaneKind::Float => lane.floats.get(row).map(|value| format!("{value:.6}")),
        _ => None,
    }
}

impl Batch {
    /// The value of a row of the last run of `program`.
    ///
    /// # Errors
    /// The row has an error.
    pub fn datum(&self, program: &Program, row: usize) -> Result<Datum<'_>, Box<Failure>> {
        let bare = |error| Box::new(Failure::bare(error, program.result_type()));
        match self.value(row) {
            Ok(None) => Ok(Datum::Null),
            Ok(Some(bytes)) => {
                let decoded = Datum::decode(&program.result_type(), bytes);
                decoded.map_err(|_| bare(EvalError::Row))
            }
            Err(error) => Err(program.failure(self, row).map_or_else(|| bare(error), Box::new)),
        }
    }
}
