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

use extentdb_types::SqlType;

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

/// Why a row has no result.
///
/// The errors up to [`EvalError::Argument`] are SQL Server's own: the statement would have failed.
/// The others say that this crate does not know: see [`EvalError::is_undecided`].
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
}

/// State of a row that has a value.
pub(crate) const VALUE: u8 = 0;
/// State of a row that is NULL.
pub(crate) const NULL: u8 = 1;

/// One row's result inside an operator.
pub(crate) type EvalResult<T> = Result<T, EvalError>;

impl EvalError {
    const ALL: [EvalError; 12] = [
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
    ];

    /// The state of a row with this error.
    pub(crate) fn state(self) -> u8 {
        self as u8
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
        self.state() > EvalError::Argument.state()
    }
}
