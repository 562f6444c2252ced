//! Why a statement fails: number, severity, state and text of each message, and what it ends.
//!
//! Texts are those of SQL Server; those of syntax errors are in crate `tsql`. What is not supported
//! here has the numbers by which the product refuses what its edition lacks: 40510 for a statement,
//! 40517 for a part of one.
//!
//! ```text
//! Effect      what ends                             transaction
//! Continue    nothing                               kept
//! Statement   the statement                         kept; rolled back under XACT_ABORT
//! Scope       the batch, dynamic text or procedure  kept; its caller continues
//! Batch       everything up to the client           kept
//! Rollback    everything up to the client           rolled back; in TRY: doomed
//! Connection  the connection                        rolled back
//! ```

mod definition;

use extentdb_types::SqlType;

pub use definition::DefinitionCause;

/// What an error ends, outside of TRY and with XACT_ABORT OFF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing: the next statement runs.
    Continue,
    /// The statement.
    Statement,
    /// The batch, dynamic text or procedure.
    Scope,
    /// All batches, up to the client.
    Batch,
    /// All batches, and the transaction is rolled back.
    Rollback,
    /// The connection.
    Connection,
}

/// Why a statement fails, one variant for each message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are the arguments of the texts")]
pub enum Cause {
    #[error("{0}")]
    Syntax(#[from] extentdb_tsql::Cause),
    /// 40510
    #[error("Statement '{name}' is not supported in this version of ExtentDB.")]
    StatementNotSupported { name: String },
    /// 40517
    #[error("not supported: {what}.")]
    NotSupported { what: String },
    /// 108
    #[error(
        "The ORDER BY position number {position} is out of range of the number of items in the \
         select list."
    )]
    OrderPosition { position: i64 },
    /// 127
    #[error("A TOP N or FETCH rowcount value may not be negative.")]
    NegativeTop,
    /// 134
    #[error(
        "The variable name '{name}' has already been declared. Variable names must be unique \
         within a query batch or stored procedure."
    )]
    DuplicateVariable { name: String },
    /// 137
    #[error("Must declare the scalar variable \"{name}\".")]
    UnknownVariable { name: String },
    /// 141
    #[error(
        "A SELECT statement that assigns a value to a variable must not be combined with \
         data-retrieval operations."
    )]
    AssignsAndReturns,
    /// 148
    #[error("Incorrect time syntax in time string '{text}' used with WAITFOR.")]
    WaitTime { text: String },
    /// 174
    #[error("The {name} function requires {count} argument(s).")]
    ArgumentCount { name: String, count: usize },
    /// 189
    #[error("The {name} function requires {least} to {most} arguments.")]
    ArgumentRange { name: String, least: usize, most: usize },
    /// 195
    #[error("'{name}' is not a recognized built-in function name.")]
    UnknownFunction { name: String },
    /// 201
    #[error(
        "Procedure or function '{procedure}' expects parameter '{parameter}', which was not \
         supplied."
    )]
    MissingParameter { procedure: String, parameter: String },
    /// 206
    #[error("Operand type clash: {from} is incompatible with {to}")]
    TypeClash { from: &'static str, to: &'static str },
    /// 207
    #[error("Invalid column name '{name}'.")]
    UnknownColumn { name: String },
    /// 214
    #[error("Procedure expects parameter '{parameter}' of type '{ty}'.")]
    ParameterType { parameter: &'static str, ty: &'static str },
    /// 217
    #[error(
        "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32)."
    )]
    TooNested,
    /// 220
    #[error("Arithmetic overflow error for data type {ty}, value = {value}.")]
    ValueOverflow { ty: &'static str, value: String },
    /// 226
    #[error("{statement} statement not allowed within multi-statement transaction.")]
    InTransaction { statement: &'static str },
    /// 241
    #[error("Conversion failed when converting date and/or time from character string.")]
    DateConversion,
    /// 245
    #[error("Conversion failed when converting the {from} value '{value}' to data type {to}.")]
    ValueConversion { from: &'static str, value: String, to: &'static str },
    /// 257
    #[error(
        "Implicit conversion from data type {from} to {to} is not allowed. Use the CONVERT \
         function to run this query."
    )]
    ImplicitConversion { from: &'static str, to: &'static str },
    /// 263
    #[error("Must specify table to select from.")]
    NoTable,
    /// 266
    #[error(
        "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT \
         statements. Previous count = {before}, current count = {after}."
    )]
    TransactionCount { before: u32, after: u32 },
    /// 535
    #[error("The function was given a value outside of its range.")]
    FunctionArgument,
    /// 596
    #[error("Cannot continue the execution because the session is in the kill state.")]
    Killed,
    /// 628
    #[error("Cannot issue SAVE TRANSACTION when there is no active transaction.")]
    SaveOutside,
    /// 911
    #[error("Database '{name}' does not exist. Make sure that the name is entered correctly.")]
    UnknownDatabase { name: String },
    /// 924
    #[error("Database '{name}' is already open and can only have one user at a time.")]
    SingleUser { name: String },
    /// 942
    #[error("Database '{name}' cannot be opened because it is offline.")]
    DatabaseOffline { name: String },
    /// 1060
    #[error(
        "The number of rows provided for a TOP or FETCH clauses row count parameter must be an \
         integer."
    )]
    TopNotInteger,
    /// 1205
    #[error(
        "Transaction (Process ID {spid}) was deadlocked on lock resources with another process \
         and has been chosen as the deadlock victim. Rerun the transaction."
    )]
    Deadlock { spid: u16 },
    /// 1222
    #[error("Lock request time out period exceeded.")]
    LockTimeout,
    /// 1801
    #[error("Database '{name}' already exists. Choose a different database name.")]
    DatabaseExists { name: String },
    /// 2628 and others
    #[error("{text}")]
    Engine { text: String },
    /// 3617, which no client sees: an attention ends a statement without a message.
    #[error("The statement was cancelled.")]
    Cancelled,
    /// 2715
    #[error("Column, parameter, or variable #{position}: Cannot find data type {name}.")]
    UnknownType { position: usize, name: String },
    /// 2732
    #[error(
        "Error number {number} is invalid. The number must be from 13000 through 2147483647 and \
         it cannot be 50000."
    )]
    RaisedNumber { number: i64 },
    /// 2739
    #[error("The text, ntext, and image data types are invalid for local variables.")]
    LobVariable,
    /// 2741
    #[error("SET DATEFORMAT date order '{order}' is invalid.")]
    DateFormat { order: String },
    /// 2742
    #[error("SET DATEFIRST {value} is out of range.")]
    DateFirst { value: i64 },
    /// 2747
    #[error(
        "Too many substitution parameters for RAISERROR. Cannot exceed 20 substitution parameters."
    )]
    TooManySubstitutions,
    /// 2748
    #[error("Cannot specify {ty} data type (parameter {position}) as a substitution parameter.")]
    SubstitutionType { ty: &'static str, position: usize },
    /// 2754
    #[error(
        "Error severity levels greater than 18 can only be specified by members of the sysadmin \
         role, using the WITH LOG option."
    )]
    SeverityNeedsLog,
    /// 2758
    #[error("RAISERROR could not locate entry for error {number} in sys.messages.")]
    NoSuchMessage { number: i64 },
    /// 2786
    #[error(
        "The data type of substitution parameter {position} does not match the expected type of \
         the format specification."
    )]
    SubstitutionMismatch { position: usize },
    /// 2787
    #[error("Invalid format specification: '{specification}'.")]
    FormatSpecification { specification: String },
    /// 2812
    #[error("Could not find stored procedure '{name}'.")]
    UnknownProcedure { name: String },
    /// 3621
    #[error("The statement has been terminated.")]
    Terminated,
    /// 3701
    #[error(
        "Cannot drop the database '{name}', because it does not exist or you do not have \
         permission."
    )]
    NoDatabaseToDrop { name: String },
    /// 3702
    #[error("Cannot drop database \"{name}\" because it is currently in use.")]
    DatabaseInUse { name: String },
    /// 3708
    #[error("Cannot drop the database '{name}' because it is a system database.")]
    SystemDatabase { name: String },
    /// 3902
    #[error("The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION.")]
    CommitOutside,
    /// 3903
    #[error("The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION.")]
    RollbackOutside,
    /// 3930
    #[error(
        "The current transaction cannot be committed and cannot support operations that write to \
         the log file. Roll back the transaction."
    )]
    Doomed,
    /// 3931
    #[error(
        "The current transaction cannot be committed and cannot be rolled back to a savepoint. \
         Roll back the entire transaction."
    )]
    DoomedSavepoint,
    /// 3989
    #[error(
        "New request is not allowed to start because it should come with valid transaction \
         descriptor."
    )]
    Descriptor,
    /// 3998
    #[error(
        "Uncommittable transaction is detected at the end of the batch. The transaction is \
         rolled back."
    )]
    DoomedAtEnd,
    /// 4104
    #[error("The multi-part identifier \"{name}\" could not be bound.")]
    UnknownIdentifier { name: String },
    /// 6101
    #[error("Session ID {id} is not valid.")]
    SessionId { id: i64 },
    /// 6104
    #[error("Cannot use KILL to kill your own process.")]
    KillSelf,
    /// 6106
    #[error("Process ID {id} is not an active process ID.")]
    NoProcess { id: i64 },
    /// 6401
    #[error("Cannot roll back {name}. No transaction or savepoint of that name was found.")]
    NoSavepoint { name: String },
    /// 8114
    #[error("Error converting data type {from} to {to}.")]
    Conversion { from: &'static str, to: &'static str },
    /// 8115
    #[error("Arithmetic overflow error converting {from} to data type {to}.")]
    Overflow { from: &'static str, to: &'static str },
    /// 8134
    #[error("Divide by zero error encountered.")]
    DivideByZero,
    /// 8144
    #[error("Procedure or function {procedure} has too many arguments specified.")]
    TooManyArguments { procedure: String },
    /// 8145
    #[error("{parameter} is not a parameter for procedure {procedure}.")]
    UnknownParameter { parameter: String, procedure: String },
    /// 8162
    #[error(
        "The formal parameter \"{parameter}\" was not declared as an OUTPUT parameter, but the \
         actual parameter passed in requested output."
    )]
    NotOutput { parameter: String },
    /// 8178
    #[error(
        "The parameterized query '{query}' expects the parameter '{parameter}', which was not \
         supplied."
    )]
    QueryParameter { query: String, parameter: String },
    /// 8179
    #[error("Could not find prepared statement with handle {handle}.")]
    UnknownHandle { handle: i64 },
    /// 18054
    #[error(
        "Error {number}, severity {severity}, state {state} was raised, but no message with that \
         error number was found in sys.messages. If error is larger than 50000, make sure the \
         user-defined message is added using sp_addmessage."
    )]
    NoMessageText { number: i64, severity: i64, state: i64 },
    /// 35100
    #[error(
        "Error number {number} in the THROW statement is outside the valid range. Specify an \
         error number in the valid range of 50000 to 2147483647."
    )]
    ThrownNumber { number: i64 },
    /// Of a query that has no meaning.
    #[error("{text}")]
    Query { number: i32, severity: u8, text: String },
    /// Of a query that has failed.
    #[error("{text}")]
    Failed { number: i32, severity: u8, text: String },
    /// Of statements that define objects.
    #[error(transparent)]
    Definition(Box<DefinitionCause>),
    /// 334
    #[error(
        "The target table '{name}' of the DML statement cannot have any enabled triggers if the statement contains an OUTPUT clause without INTO clause."
    )]
    OutputWithTriggers { name: String },
    /// 3609
    #[error("The transaction ended in the trigger. The batch has been aborted.")]
    EndedInTrigger,
    /// 8164
    #[error("An INSERT EXEC statement cannot be nested.")]
    NestedInsertExecute,
    /// 229, 262, 916, 15247 and others of permissions
    #[error("{text}")]
    Denied { number: i32, text: String },
    /// 15007 and others of logins
    #[error("{text}")]
    Login { number: i32, text: String },
}

impl From<DefinitionCause> for Cause {
    fn from(cause: DefinitionCause) -> Cause {
        Cause::Definition(Box::new(cause))
    }
}

impl Cause {
    /// What is refused by its name.
    #[must_use]
    pub fn not_supported(what: impl Into<String>) -> Cause {
        Cause::NotSupported { what: what.into() }
    }

    /// An arithmetic overflow of an expression.
    #[must_use]
    pub fn overflow(to: &SqlType) -> Cause {
        Cause::Overflow { from: "expression", to: type_name(to) }
    }

    /// The message's number.
    #[must_use]
    pub fn number(&self) -> i32 {
        match self {
            Cause::Syntax(cause) => i32::try_from(cause.number()).unwrap_or(0),
            Cause::StatementNotSupported { .. } => 40510,
            Cause::NotSupported { .. } => 40517,
            Cause::OrderPosition { .. } => 108,
            Cause::NegativeTop => 127,
            Cause::DuplicateVariable { .. } => 134,
            Cause::UnknownVariable { .. } => 137,
            Cause::AssignsAndReturns => 141,
            Cause::WaitTime { .. } => 148,
            Cause::ArgumentCount { .. } => 174,
            Cause::ArgumentRange { .. } => 189,
            Cause::UnknownFunction { .. } => 195,
            Cause::MissingParameter { .. } => 201,
            Cause::TypeClash { .. } => 206,
            Cause::UnknownColumn { .. } => 207,
            Cause::ParameterType { .. } => 214,
            Cause::TooNested => 217,
            Cause::ValueOverflow { .. } => 220,
            Cause::InTransaction { .. } => 226,
            Cause::DateConversion => 241,
            Cause::ValueConversion { .. } => 245,
            Cause::ImplicitConversion { .. } => 257,
            Cause::NoTable => 263,
            Cause::TransactionCount { .. } => 266,
            Cause::FunctionArgument => 535,
            Cause::Killed => 596,
            Cause::SaveOutside => 628,
            Cause::UnknownDatabase { .. } => 911,
            Cause::SingleUser { .. } => 924,
            Cause::DatabaseOffline { .. } => 942,
            Cause::TopNotInteger => 1060,
            Cause::Deadlock { .. } => 1205,
            Cause::LockTimeout => 1222,
            Cause::DatabaseExists { .. } => 1801,
            Cause::Engine { .. } => 40_001,
            Cause::Cancelled => 3617,
            Cause::UnknownType { .. } => 2715,
            Cause::RaisedNumber { .. } => 2732,
            Cause::LobVariable => 2739,
            Cause::DateFormat { .. } => 2741,
            Cause::DateFirst { .. } => 2742,
            Cause::TooManySubstitutions => 2747,
            Cause::SubstitutionType { .. } => 2748,
            Cause::SeverityNeedsLog => 2754,
            Cause::NoSuchMessage { .. } => 2758,
            Cause::SubstitutionMismatch { .. } => 2786,
            Cause::FormatSpecification { .. } => 2787,
            Cause::UnknownProcedure { .. } => 2812,
            Cause::OutputWithTriggers { .. } => 334,
            Cause::EndedInTrigger => 3609,
            Cause::NestedInsertExecute => 8164,
            Cause::Terminated => 3621,
            Cause::NoDatabaseToDrop { .. } => 3701,
            Cause::DatabaseInUse { .. } => 3702,
            Cause::SystemDatabase { .. } => 3708,
            Cause::CommitOutside => 3902,
            Cause::RollbackOutside => 3903,
            Cause::Doomed => 3930,
            Cause::DoomedSavepoint => 3931,
            Cause::Descriptor => 3989,
            Cause::DoomedAtEnd => 3998,
            Cause::UnknownIdentifier { .. } => 4104,
            Cause::SessionId { .. } => 6101,
            Cause::KillSelf => 6104,
            Cause::NoProcess { .. } => 6106,
            Cause::NoSavepoint { .. } => 6401,
            Cause::Conversion { .. } => 8114,
            Cause::Overflow { .. } => 8115,
            Cause::DivideByZero => 8134,
            Cause::TooManyArguments { .. } => 8144,
            Cause::UnknownParameter { .. } => 8145,
            Cause::NotOutput { .. } => 8162,
            Cause::QueryParameter { .. } => 8178,
            Cause::UnknownHandle { .. } => 8179,
            Cause::NoMessageText { .. } => 18054,
            Cause::ThrownNumber { .. } => 35100,
            Cause::Query { number, .. } | Cause::Failed { number, .. } => *number,
            Cause::Definition(cause) => cause.number(),
            Cause::Login { number, .. } | Cause::Denied { number, .. } => *number,
        }
    }

    /// The message's severity.
    #[must_use]
    pub fn severity(&self) -> u8 {
        match self {
            Cause::Syntax(_)
            | Cause::OrderPosition { .. }
            | Cause::NegativeTop
            | Cause::DuplicateVariable { .. }
            | Cause::UnknownVariable { .. }
            | Cause::AssignsAndReturns
            | Cause::WaitTime { .. }
            | Cause::ArgumentCount { .. }
            | Cause::ArgumentRange { .. }
            | Cause::UnknownFunction { .. }
            | Cause::LobVariable => 15,
            Cause::Query { severity, .. } | Cause::Failed { severity, .. } => *severity,
            Cause::Definition(cause) => cause.severity(),
            Cause::Denied { number: 229 | 230 | 262 | 300 | 916 | 2571, .. } => 14,
            Cause::Killed => 21,
            Cause::Deadlock { .. } => 13,
            Cause::SingleUser { .. } | Cause::DatabaseOffline { .. } => 14,
            Cause::Terminated => 0,
            Cause::NoDatabaseToDrop { .. } => 11,
            Cause::KillSelf => 16,
            _ => 16,
        }
    }

    /// The message's state.
    #[must_use]
    pub fn state(&self) -> u8 {
        match self {
            Cause::UnknownVariable { .. } => 2,
            Cause::UnknownFunction { .. } => 10,
            Cause::Terminated => 0,
            Cause::Overflow { .. } | Cause::Failed { number: 8115, .. } => 2,
            Cause::UnknownProcedure { .. } => 62,
            Cause::Denied { number: 229, .. } | Cause::Query { number: 229, .. } => 5,
            _ => 1,
        }
    }

    /// What it ends.
    #[must_use]
    pub fn effect(&self) -> Effect {
        match self {
            Cause::TransactionCount { .. }
            | Cause::CommitOutside
            | Cause::RollbackOutside
            | Cause::RaisedNumber { .. }
            | Cause::FormatSpecification { .. } => Effect::Continue,
            Cause::Query { number: 229 | 230 | 262 | 300 | 916, .. } => Effect::Statement,
            Cause::Syntax(_)
            | Cause::StatementNotSupported { .. }
            | Cause::NotSupported { .. }
            | Cause::DuplicateVariable { .. }
            | Cause::UnknownVariable { .. }
            | Cause::UnknownFunction { .. }
            | Cause::UnknownColumn { .. }
            | Cause::Query { .. }
            | Cause::UnknownIdentifier { .. } => Effect::Scope,
            Cause::Definition(cause) => cause.effect(),
            Cause::Descriptor | Cause::EndedInTrigger => Effect::Batch,
            Cause::DateConversion
            | Cause::ValueConversion { .. }
            | Cause::Failed { number: 242 | 244 | 245 | 248 | 295 | 296 | 3960 | 3961, .. }
            | Cause::Deadlock { .. }
            | Cause::TooNested
            | Cause::UnknownDatabase { .. } => Effect::Rollback,
            Cause::Killed => Effect::Connection,
            _ => Effect::Statement,
        }
    }
}

/// The name of a type in messages, which never has a length.
#[must_use]
pub fn type_name(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::Decimal { .. } => "numeric",
        other => other.base_name(),
    }
}
