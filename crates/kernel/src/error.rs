//! The outcome of a row: a value, NULL or an error.
//!
//! It is one byte in the row's lane:
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

/// Why a row has no result.
///
/// The errors up to [`EvalError::Argument`], and those from [`EvalError::DateRange`] on, are SQL
/// Server's own: the statement would have failed. The others say that this crate does not know: see
/// [`EvalError::is_undecided`]. `Failure` of crate `expr` has the message.
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
    /// 13608: a strict path finds nothing.
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
    /// 13623: a strict path of JSON_VALUE leads to an object or array.
    #[error("no scalar value")]
    JsonScalar = 31,
    /// 13624: a strict path of JSON_QUERY leads to a scalar.
    #[error("no object or array")]
    JsonObject = 32,
    /// 5302: a method changes a value that is NULL.
    #[error("a change of NULL")]
    NullMutator = 33,
    /// 7116: .WRITE begins where there is nothing.
    #[error("an offset out of range")]
    LobOffset = 34,
    /// 7135: .WRITE replaces less than nothing.
    #[error("a length out of range")]
    LobLength = 35,
}

/// State of a row that has a value.
pub const VALUE: u8 = 0;
/// State of a row that is NULL.
pub const NULL: u8 = 1;

/// One row's result inside an operator.
pub type EvalResult<T> = Result<T, EvalError>;

impl EvalError {
    const ALL: [EvalError; 34] = [
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
        EvalError::JsonScalar,
        EvalError::JsonObject,
        EvalError::NullMutator,
        EvalError::LobOffset,
        EvalError::LobLength,
    ];

    /// The state of a row with this error.
    #[inline]
    pub fn state(self) -> u8 {
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
    #[inline]
    pub fn is_arithmetic(self) -> bool {
        matches!(self, EvalError::Overflow | EvalError::DivideByZero | EvalError::Domain)
    }

    /// The error behind a state; `None` for a value or NULL.
    #[inline]
    pub fn of_state(state: u8) -> Option<EvalError> {
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
