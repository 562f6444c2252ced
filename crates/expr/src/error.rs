//! What can go wrong: once, when an expression is compiled, and per row, when it is evaluated.
//!
//! A row's outcome is one byte in its lane:
//!
//! ```text
//! 0   a value
//! 1   NULL
//! 2…  an EvalError, by its number
//! ```
//!
//! Invariant: the byte of an operator's result is at least that of its operands, unless the
//! operator looks at NULL or chooses between operands. So an error in a branch that is not taken
//! disappears, and every other one stays.

use extentdb_types::{Collation, SqlType};

/// Why an expression cannot be compiled. `at` is a byte offset in its text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// Legal T-SQL, perhaps, but its value here would not be certain.
    #[error("not supported at byte {at}: {what}")]
    Unsupported {
        /// What it is.
        what: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// Not T-SQL, or cut off.
    #[error("syntax error at byte {at}: {what}")]
    Syntax {
        /// The syntax error of SQL Server.
        what: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// The table has no such column.
    #[error("no column [{name}] (byte {at})")]
    UnknownColumn {
        /// Its name in the expression.
        name: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// The text is longer, or nested deeper, than anything the catalog holds.
    #[error("the expression is too large: {what} beyond {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much of it is accepted.
        limit: usize,
    },
    /// 206: no conversion leads from one type to the other.
    #[error("Operand type clash: {} is incompatible with {}", name(.from), name(.to))]
    OperandClash {
        /// Type of the operand.
        from: SqlType,
        /// Type it stands beside, or is assigned to.
        to: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 257: only CONVERT leads from one type to the other.
    #[error(
        "Implicit conversion from data type {} to {} is not allowed. Use the CONVERT function to \
         run this query.", name(.from), name(.to)
    )]
    ImplicitConversion {
        /// Type of the value.
        from: SqlType,
        /// Type that is asked for.
        to: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 529: CONVERT does not lead there, either.
    #[error("Explicit conversion from data type {} to {} is not allowed.", name(.from), name(.to))]
    ExplicitConversion {
        /// Type of the value.
        from: SqlType,
        /// Type that is asked for.
        to: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 402: an operator that does not take these two types together.
    #[error(
        "The data types {} and {} are incompatible in the {operator} operator.", name(.a), name(.b)
    )]
    IncompatibleTypes {
        /// Type on the left.
        a: SqlType,
        /// Type on the right.
        b: SqlType,
        /// The operator as messages name it.
        operator: &'static str,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 8117: an operator that does not take this type at all.
    #[error("Operand data type {} is invalid for {operator} operator.", name(.ty))]
    InvalidOperand {
        /// Type of the operand.
        ty: SqlType,
        /// The operator as messages name it.
        operator: &'static str,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 8116: an argument of a type that its function does not take.
    #[error(
        "Argument data type {} is invalid for argument {position} of {function} function.",
        .ty.as_ref().map_or("NULL", name)
    )]
    InvalidArgument {
        /// Type of the argument; `None` for the literal NULL.
        ty: Option<SqlType>,
        /// Which argument, from 1.
        position: usize,
        /// Name of the function, in small letters.
        function: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 174, 189: another number of arguments.
    #[error("{}", argument_count(.function, *.least, *.most))]
    ArgumentCount {
        /// Name of the function, in small letters.
        function: String,
        /// Arguments at least.
        least: usize,
        /// Arguments at most.
        most: usize,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 195: no function of expressions has this name. (One of the session or of a query may.)
    #[error("'{name}' is not a recognized built-in function name.")]
    UnknownFunction {
        /// Name of the function, in small letters.
        name: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 468: two collations of the same strength.
    #[error(
        "Cannot resolve the collation conflict between \"{}\" and \"{}\" in the {operation} \
         operation.", collation_name(*.a), collation_name(*.b)
    )]
    CollationConflict {
        /// Collation on the left.
        a: Collation,
        /// Collation on the right.
        b: Collation,
        /// The operation as messages name it.
        operation: &'static str,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 448: no collation has this name.
    #[error("Invalid collation '{name}'.")]
    UnknownCollation {
        /// Its name in the expression.
        name: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 447: COLLATE of what is no text.
    #[error("Expression type {} is invalid for COLLATE clause.", name(.ty))]
    NotCollatable {
        /// Type of the value.
        ty: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 243: CAST to a type that is none.
    #[error("Type {name} is not a defined system type.")]
    UnknownType {
        /// Its name in the expression.
        name: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 131: a length beyond what its type has.
    #[error("The size ({given}) given to the type '{name}' exceeds the maximum allowed ({most}).")]
    TypeSize {
        /// Name of the type.
        name: String,
        /// The length that is asked for.
        given: u32,
        /// The greatest there is.
        most: u32,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 1001, 1002, 2750: a length, precision or scale that its type does not have.
    #[error("Length or precision specification {given} is invalid.")]
    TypeParameter {
        /// What is asked for.
        given: u32,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 155: no part of a date has this name.
    #[error("'{part}' is not a recognized {function} option.")]
    UnknownDatePart {
        /// The part as it was written, in small letters.
        part: String,
        /// Name of the function, in small letters.
        function: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 9810, 9806: a part that the type, or the function, does not have.
    #[error("{}", date_part(.part, .function, .ty))]
    DatePart {
        /// Name of the part.
        part: String,
        /// Name of the function, in small letters.
        function: String,
        /// Type of the date.
        ty: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 281: no style of this conversion.
    #[error(
        "{style} is not a valid style number when converting from {} to a character string.",
        name(.from)
    )]
    InvalidStyle {
        /// The style.
        style: i64,
        /// Type of the value.
        from: SqlType,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 506: ESCAPE of more or less than one character.
    #[error("The invalid escape character \"{text}\" was specified in a LIKE predicate.")]
    InvalidEscape {
        /// What stands after ESCAPE.
        text: String,
        /// Byte offset in the expression.
        at: usize,
    },
    /// 4127, 4151, 8133: nothing but the literal NULL where a type is needed.
    #[error("{}", only_null(.function))]
    OnlyNull {
        /// `CASE`, `COALESCE` or `NULLIF`.
        function: &'static str,
        /// Byte offset in the expression.
        at: usize,
    },
    /// The type this crate derives is not the one the catalog declares, so one of the two is
    /// misunderstood.
    #[error("the expression has type {natural}, its column is declared {declared}")]
    ResultType {
        /// Type derived from the operands.
        natural: SqlType,
        /// Type of the column in the catalog.
        declared: SqlType,
    },
}

impl CompileError {
    /// The severity of its message.
    #[must_use]
    pub fn severity(&self) -> u8 {
        match self.number() {
            Some(131 | 155 | 174 | 189 | 195 | 1001) => 15,
            _ => 16,
        }
    }

    /// The number of SQL Server's message with this text; `None` for what is refused only here.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        Some(match self {
            CompileError::UnknownColumn { .. } => 207,
            CompileError::OperandClash { .. } => 206,
            CompileError::ImplicitConversion { .. } => 257,
            CompileError::ExplicitConversion { .. } => 529,
            CompileError::IncompatibleTypes { .. } => 402,
            CompileError::InvalidOperand { .. } => 8117,
            CompileError::InvalidArgument { .. } => 8116,
            CompileError::ArgumentCount { least, most, .. } if least == most => 174,
            CompileError::ArgumentCount { .. } => 189,
            CompileError::UnknownFunction { .. } => 195,
            CompileError::CollationConflict { .. } => 468,
            CompileError::UnknownCollation { .. } => 448,
            CompileError::NotCollatable { .. } => 447,
            CompileError::UnknownType { .. } => 243,
            CompileError::TypeSize { .. } => 131,
            CompileError::TypeParameter { .. } => 1001,
            CompileError::UnknownDatePart { .. } => 155,
            CompileError::DatePart { part, function, .. } if is_never(part, function) => 9806,
            CompileError::DatePart { .. } => 9810,
            CompileError::InvalidStyle { .. } => 281,
            CompileError::InvalidEscape { .. } => 506,
            CompileError::OnlyNull { function: "NULLIF", .. } => 4151,
            CompileError::OnlyNull { function: "COALESCE", .. } => 4127,
            CompileError::OnlyNull { .. } => 8133,
            _ => return None,
        })
    }
}

/// A type as messages name it.
pub(crate) fn name(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::Decimal { .. } => "numeric",
        SqlType::RowVersion => "timestamp",
        other => other.base_name(),
    }
}

fn collation_name(collation: Collation) -> String {
    collation.name().unwrap_or_else(|| format!("{:08X}", collation.0))
}

fn argument_count(function: &str, least: usize, most: usize) -> String {
    if least == most {
        format!("The {function} function requires {least} argument(s).")
    } else {
        format!("The {function} function requires {least} to {most} arguments.")
    }
}

/// Has a function this part of no type at all?
fn is_never(part: &str, function: &str) -> bool {
    matches!(part, "iso_week" | "tzoffset") && !matches!(function, "datepart" | "datename")
}

fn date_part(part: &str, function: &str, ty: &SqlType) -> String {
    let ty = match is_never(part, function) {
        true => String::new(),
        false => format!(" for data type {}", name(ty)),
    };
    format!("The datepart {part} is not supported by date function {function}{ty}.")
}

fn only_null(function: &str) -> &'static str {
    match function {
        "NULLIF" => {
            "The type of the first argument to NULLIF cannot be the NULL constant because \
                     the type of the first argument has to be known."
        }
        "COALESCE" => {
            "At least one of the arguments to COALESCE must be an expression that is not \
                       the NULL constant."
        }
        _ => {
            "At least one of the result expressions in a CASE specification must be an expression \
              other than the NULL constant."
        }
    }
}

/// Why a row has no result.
///
/// The errors up to [`EvalError::Argument`], and those from [`EvalError::DateRange`] on, are SQL
/// Server's own: the statement would have failed. The others say that this crate does not know: see
/// [`EvalError::is_undecided`]. [`Failure`](crate::Failure) has the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
#[repr(u8)]
pub enum EvalError {
    /// 220, 8115: the value does not fit the type.
    #[error("arithmetic overflow")]
    Overflow = 2,
    /// Division by zero (message 8134).
    #[error("divide by zero")]
    DivideByZero = 3,
    /// 241, 245, 8114: the text is not a value of the type.
    #[error("conversion failed")]
    Conversion = 4,
    /// 535, 537: an argument outside what its function takes.
    #[error("argument out of range")]
    Argument = 5,
    /// The bytes pushed are no value of the column's type, or the column was not pushed for this
    /// row.
    #[error("the input is no value of its type")]
    Input = 6,
    /// The collation does not settle this comparison here.
    #[error("the collation does not decide")]
    Collation = 7,
    /// Characters whose case, width or boundaries are not certain here.
    #[error("characters that are not certain")]
    Characters = 8,
    /// The last digit depends on how the product rounds.
    #[error("rounding that is not certain")]
    Rounding = 9,
    /// A text that might convert, in a form that is not certain.
    #[error("a form of text that is not certain")]
    Form = 10,
    /// The value does not fit the type its column declares.
    #[error("the value does not fit the declared type")]
    Declared = 11,
    /// The batch holds too many bytes of text.
    #[error("too much text in one batch")]
    Space = 12,
    /// There is no such row in the batch.
    #[error("no such row")]
    Row = 13,
    /// 242: the date is none of its type.
    #[error("date out of range")]
    DateRange = 14,
    /// 517: DATEADD leaves the range of its type.
    #[error("a sum of dates out of range")]
    DateOverflow = 15,
    /// 535: too many parts between two dates.
    #[error("a difference of dates out of range")]
    DateDifference = 16,
    /// 289: parts that make no date.
    #[error("parts of no date")]
    DateParts = 17,
    /// 536, 537: a negative length.
    #[error("invalid length")]
    Length = 18,
    /// 3623: a number outside the domain of its function.
    #[error("invalid floating point operation")]
    Domain = 19,
    /// 232, 234, 8115, 8170: the text has no room for the value.
    #[error("the value does not fit the text")]
    TextTooShort = 20,
    /// 281, 9807: no style of this conversion, or a text of another style.
    #[error("invalid style")]
    Style = 21,
    /// 13609: the text is no JSON.
    #[error("the text is no JSON")]
    Json = 22,
    /// 13607: the text is no path.
    #[error("invalid JSON path")]
    JsonPath = 23,
    /// 13608, 13623, 13624: a strict path finds nothing, or not what is asked for.
    #[error("property not found")]
    JsonProperty = 24,
    /// 9819: PARSE of a text that is no value of its culture.
    #[error("parsing failed")]
    Parse = 25,
    /// 9820: a time zone that is not known.
    #[error("unknown time zone")]
    TimeZone = 26,
    /// 9812, 9813: an offset of a time zone out of range.
    #[error("invalid offset")]
    Offset = 27,
    /// 9828: the second and third argument of TRANSLATE differ in length.
    #[error("texts of different length")]
    Translate = 28,
    /// 9834 and others: an argument that its function does not take.
    #[error("invalid argument")]
    Value = 29,
    /// 9400 and others: the text is no XML.
    #[error("the text is no XML")]
    Xml = 30,
}

/// State of a row that has a value.
pub(crate) const VALUE: u8 = 0;
/// State of a row that is NULL.
pub(crate) const NULL: u8 = 1;

/// One row's result inside an operator.
pub(crate) type EvalResult<T> = Result<T, EvalError>;

impl EvalError {
    const ALL: [EvalError; 29] = [
        EvalError::Overflow,
        EvalError::DivideByZero,
        EvalError::Conversion,
        EvalError::Argument,
        EvalError::Input,
        EvalError::Collation,
        EvalError::Characters,
        EvalError::Rounding,
        EvalError::Form,
        EvalError::Declared,
        EvalError::Space,
        EvalError::Row,
        EvalError::DateRange,
        EvalError::DateOverflow,
        EvalError::DateDifference,
        EvalError::DateParts,
        EvalError::Length,
        EvalError::Domain,
        EvalError::TextTooShort,
        EvalError::Style,
        EvalError::Json,
        EvalError::JsonPath,
        EvalError::JsonProperty,
        EvalError::Parse,
        EvalError::TimeZone,
        EvalError::Offset,
        EvalError::Translate,
        EvalError::Value,
        EvalError::Xml,
    ];

    /// The state of a row with this error.
    pub(crate) fn state(self) -> u8 {
        self as u8
    }

    /// Does TRY_CAST give NULL for it?
    pub(crate) fn is_failed_conversion(self) -> bool {
        matches!(
            self,
            EvalError::Conversion
                | EvalError::Overflow
                | EvalError::DateRange
                | EvalError::TextTooShort
                | EvalError::Style
                | EvalError::Parse
                | EvalError::Xml
        )
    }

    /// Does it become NULL without ANSI_WARNINGS and ARITHABORT?
    pub(crate) fn is_arithmetic(self) -> bool {
        matches!(self, EvalError::Overflow | EvalError::DivideByZero | EvalError::Domain)
    }

    /// The error behind a state; `None` for a value or NULL.
    pub(crate) fn of_state(state: u8) -> Option<EvalError> {
        (state > NULL).then(|| {
            EvalError::ALL.into_iter().find(|it| it.state() == state).unwrap_or(EvalError::Row)
        })
    }

    /// Not SQL Server's error but a limit of what is certain here: nothing follows about the row.
    #[must_use]
    pub fn is_undecided(self) -> bool {
        (EvalError::Input.state()..=EvalError::Row.state()).contains(&self.state())
    }
}
