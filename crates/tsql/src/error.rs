//! Why a text is not T-SQL.
//!
//! The parser stops at the first error. Each variant names the message by which the edge reports
//! it: number, then the text where it says more than the variant's own. Severity is 15 for all of
//! them. The line of a message is that of [`Error::span`]: syntax errors report the line of the
//! token, as SQL Server does.

use crate::span::Span;

/// An error and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {}: {cause}", span.line)]
pub struct Error {
    /// What is wrong.
    pub cause: Cause,
    /// The token at which it was seen.
    pub span: Span,
}

/// What is wrong, one variant for each message. Texts are those of SQL Server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// Message 102. At the end of the text, `near` is the last token.
    #[error("Incorrect syntax near '{near}'.")]
    Syntax {
        /// The token; strings and delimited names without their delimiters.
        near: Box<str>,
    },
    /// Message 156: as 102, for a reserved word.
    #[error("Incorrect syntax near the keyword '{keyword}'.")]
    Keyword {
        /// The word as it is written.
        keyword: Box<str>,
    },
    /// Message 103.
    #[error("The identifier that starts with '{start}' is too long. Maximum length is {limit}.")]
    NameTooLong {
        /// The first characters, up to the limit.
        start: Box<str>,
        /// 128 characters, 116 for names of temporary tables, 32 for those of transactions.
        limit: u32,
    },
    /// Message 105, which SQL Server follows by 102 near the same text.
    #[error("Unclosed quotation mark after the character string '{rest}'.")]
    UnclosedQuote {
        /// What follows the quotation mark.
        rest: Box<str>,
    },
    /// Message 111.
    #[error("'{statement}' must be the first statement in a query batch.")]
    NotFirstInBatch {
        /// Such as `CREATE/ALTER PROCEDURE`.
        statement: &'static str,
    },
    /// Message 113.
    #[error("Missing end comment mark '*/'.")]
    UnclosedComment,
    /// Message 119.
    #[error(
        "Must pass parameter number {number} and subsequent parameters as '@name = value'. \
         After the form '@name = value' has been used, all subsequent parameters must be passed in \
         the form '@name = value'."
    )]
    PositionalAfterNamed {
        /// Number of the parameter, counted from 1.
        number: u32,
    },
    /// Message 132.
    #[error(
        "The label '{label}' has already been declared. \
         Label names must be unique within a query batch or stored procedure."
    )]
    DuplicateLabel {
        /// The label.
        label: Box<str>,
    },
    /// Message 133.
    #[error("A GOTO statement references the label '{label}' but the label has not been declared.")]
    UnknownLabel {
        /// The label.
        label: Box<str>,
    },
    /// Message 135.
    #[error("Cannot use a BREAK statement outside the scope of a WHILE statement.")]
    BreakOutsideWhile,
    /// Message 136.
    #[error("Cannot use a CONTINUE statement outside the scope of a WHILE statement.")]
    ContinueOutsideWhile,
    /// Message 142.
    #[error("Incorrect syntax for definition of the '{kind}' constraint.")]
    Constraint {
        /// `TABLE` or `COLUMN`.
        kind: &'static str,
    },
    /// Message 155.
    #[error("'{word}' is not a recognized {kind} option.")]
    UnknownOption {
        /// The word.
        word: Box<str>,
        /// The statement or clause, as in `CREATE TABLE`.
        kind: &'static str,
    },
    /// Message 170: as 102 with the line in its text, for clients that follow SQL Server 2000.
    /// The parser never makes it; it is here for edges that do.
    #[error("Line {line}: Incorrect syntax near '{near}'.")]
    SyntaxWithLine {
        /// Line of the token.
        line: u32,
        /// The token.
        near: Box<str>,
    },
    /// Message 178.
    #[error("A RETURN statement with a return value cannot be used in this context.")]
    ReturnValue,
    /// Message 179.
    #[error("Cannot use the OUTPUT option when passing a constant to a stored procedure.")]
    OutputConstant,
    /// Message 191.
    #[error(
        "Some part of your SQL statement is nested too deeply. \
         Rewrite the query or break it up into smaller queries."
    )]
    TooDeep,
    /// Message 195.
    #[error("'{name}' is not a recognized {kind}.")]
    UnknownName {
        /// The name.
        name: Box<str>,
        /// `SET option`, `built-in function name` …
        kind: &'static str,
    },
    /// Message 319.
    #[error(
        "Incorrect syntax near the keyword 'with'. If this statement is a common table \
         expression, an xmlnamespaces clause or a change tracking context clause, the previous \
         statement must be terminated with a semicolon."
    )]
    WithNeedsTerminator,
    /// Message 336.
    #[error(
        "Incorrect syntax near '{near}'. If this is intended to be a common table expression, \
         you need to explicitly terminate the previous statement with a semi-colon."
    )]
    CommonTableNeedsTerminator {
        /// The name of the common table expression.
        near: Box<str>,
    },
    /// Message 321.
    #[error(
        "\"{word}\" is not a recognized table hints option. If it is intended as a parameter to a \
         table-valued function or to the CHANGETABLE function, ensure that your database \
         compatibility mode is set to 90."
    )]
    UnknownTableHint {
        /// The word.
        word: Box<str>,
    },
    /// Message 343.
    #[error("Unknown object type '{word}' used in a CREATE, DROP, or ALTER statement.")]
    UnknownObjectType {
        /// The word.
        word: Box<str>,
    },
    /// Message 1001.
    #[error("Line {line}: Length or precision specification {value} is invalid.")]
    InvalidLength {
        /// Line of the specification.
        line: u32,
        /// The number as it is written.
        value: Box<str>,
    },
    /// Message 1007.
    #[error(
        "The number '{number}' is out of the range for numeric representation \
         (maximum precision 38)."
    )]
    NumberTooLong {
        /// The number as it is written.
        number: Box<str>,
    },
    /// Message 1018.
    #[error(
        "Incorrect syntax near '{near}'. If this is intended as a part of a table hint, A WITH \
         keyword and parenthesis are now required. See SQL Server Books Online for proper syntax."
    )]
    HintNeedsWith {
        /// The hint.
        near: Box<str>,
    },
    /// Message 1038.
    #[error(
        "An object or column name is missing or empty. For SELECT INTO statements, verify each \
         column has a name. For other statements, look for empty alias names. Aliases defined as \
         \"\" or [] are not allowed. Change the alias to a valid name."
    )]
    EmptyName,
    /// Message 1039.
    #[error("Option '{option}' is specified more than once.")]
    DuplicateOption {
        /// The option.
        option: Box<str>,
    },
    /// Message 4145.
    #[error(
        "An expression of non-boolean type specified in a context where a condition is expected, \
         near '{near}'."
    )]
    NotACondition {
        /// The token after the expression.
        near: Box<str>,
    },
    /// Message 4147.
    #[error(
        "The query uses non-ANSI outer join operators (\"*=\" or \"=*\"). To run this query without \
         modification, please set the compatibility level for current database to 80, using the \
         SET COMPATIBILITY_LEVEL option of ALTER DATABASE. It is strongly recommended to rewrite \
         the query using ANSI outer join operators (LEFT OUTER JOIN, RIGHT OUTER JOIN). In the \
         future versions of SQL Server, non-ANSI join operators will not be supported even in \
         backward-compatibility modes."
    )]
    OldOuterJoin,
    /// Message 10704.
    #[error("To rethrow an error, a THROW statement must be used inside a CATCH block.")]
    ThrowOutsideCatch,
    /// Message 10713.
    #[error("A MERGE statement must be terminated by a semi-colon (;).")]
    MergeNeedsTerminator,
    /// Message 10738.
    #[error(
        "The number of row value expressions in the INSERT statement exceeds the maximum allowed \
         number of 1000 row values."
    )]
    TooManyRows,
    /// Message 10741.
    #[error("A TOP can not be used in the same query or sub-query as a OFFSET.")]
    TopWithOffset,
    /// No message of SQL Server: a batch of 4 GiB or more does not reach its parser.
    #[error("The batch is too long.")]
    TextTooLong,
}

impl Cause {
    /// The number by which SQL Server reports it; 0 where it has none.
    #[must_use]
    pub fn number(&self) -> u32 {
        match self {
            Cause::Syntax { .. } => 102,
            Cause::Keyword { .. } => 156,
            Cause::NameTooLong { .. } => 103,
            Cause::UnclosedQuote { .. } => 105,
            Cause::NotFirstInBatch { .. } => 111,
            Cause::UnclosedComment => 113,
            Cause::PositionalAfterNamed { .. } => 119,
            Cause::DuplicateLabel { .. } => 132,
            Cause::UnknownLabel { .. } => 133,
            Cause::BreakOutsideWhile => 135,
            Cause::ContinueOutsideWhile => 136,
            Cause::Constraint { .. } => 142,
            Cause::UnknownOption { .. } => 155,
            Cause::SyntaxWithLine { .. } => 170,
            Cause::ReturnValue => 178,
            Cause::OutputConstant => 179,
            Cause::TooDeep => 191,
            Cause::UnknownName { .. } => 195,
            Cause::WithNeedsTerminator => 319,
            Cause::CommonTableNeedsTerminator { .. } => 336,
            Cause::UnknownTableHint { .. } => 321,
            Cause::UnknownObjectType { .. } => 343,
            Cause::InvalidLength { .. } => 1001,
            Cause::NumberTooLong { .. } => 1007,
            Cause::HintNeedsWith { .. } => 1018,
            Cause::EmptyName => 1038,
            Cause::DuplicateOption { .. } => 1039,
            Cause::NotACondition { .. } => 4145,
            Cause::OldOuterJoin => 4147,
            Cause::ThrowOutsideCatch => 10704,
            Cause::MergeNeedsTerminator => 10713,
            Cause::TooManyRows => 10738,
            Cause::TopWithOffset => 10741,
            Cause::TextTooLong => 0,
        }
    }
}
