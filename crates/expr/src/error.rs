//! Why an expression does not compile, with the messages of SQL Server.

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
    /// Another message, with its text.
    #[error("{text}")]
    Message {
        /// Its number.
        number: u32,
        /// Its text.
        text: String,
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
            CompileError::Message { number, .. } => *number,
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
