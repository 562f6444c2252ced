//! EXECUTE of procedures and texts.

use super::data_type::DataType;
use super::expression::Expr;
use super::literal::StringLiteral;
use super::name::{Name, NameOrVariable, ObjectName, VariableName};
use crate::span::Span;

/// `[ EXEC | EXECUTE ] [ @status = ] what [ argument , … ] [ WITH option , … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    pub status: Option<VariableName>,
    pub what: Executed,
    pub arguments: Vec<Argument>,
    pub is_recompile: bool,
    pub result_sets: Option<ResultSets>,
    pub span: Span,
}

/// What is executed.
#[derive(Debug, Clone, PartialEq)]
pub enum Executed {
    Procedure {
        name: ProcedureName,
        /// `; number`
        number: Option<u32>,
    },
    /// `( text + … [ , argument … ] ) [ AS { LOGIN | USER } = 'name' ] [ AT server ]`
    Text { text: Box<Expr>, principal: Option<TextPrincipal>, at: Option<TextServer> },
}

/// `[ AT ] server | AT DATA_SOURCE source`
#[derive(Debug, Clone, PartialEq)]
pub struct TextServer {
    pub name: Name,
    pub is_data_source: bool,
}

/// `procedure | @procedure`
#[derive(Debug, Clone, PartialEq)]
pub enum ProcedureName {
    Object(ObjectName),
    Variable(VariableName),
}

/// `{ LOGIN | USER } = 'name'`
#[derive(Debug, Clone, PartialEq)]
pub struct TextPrincipal {
    pub is_login: bool,
    pub name: StringLiteral,
}

/// `[ @name = ] value [ OUTPUT ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub name: Option<VariableName>,
    /// A literal with its sign, a variable, DEFAULT, or a column, which stands for its name.
    pub value: Expr,
    pub is_output: bool,
    pub span: Span,
}

/// `RESULT SETS { UNDEFINED | NONE | ( definition , … ) }`
#[derive(Debug, Clone, PartialEq)]
pub enum ResultSets {
    Undefined,
    None,
    Sets(Vec<ResultSet>),
}

/// A result set.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultSet {
    Columns(Vec<ResultColumn>),
    AsObject(ObjectName),
    AsType(ObjectName),
    AsForXml,
}

/// `name type [ COLLATE collation ] [ NULL | NOT NULL ]`
#[derive(Debug, Clone, PartialEq)]
pub struct ResultColumn {
    pub name: Name,
    pub data_type: DataType,
    pub collation: Option<Name>,
    pub is_nullable: Option<bool>,
}

/// `EXECUTE AS context [ WITH { NO REVERT | COOKIE INTO @v } ]`
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteAs {
    pub context: ExecuteContext,
    pub is_no_revert: bool,
    pub cookie: Option<VariableName>,
}

/// `CALLER | SELF | OWNER | LOGIN = name | USER = name | 'user'`
#[derive(Debug, Clone, PartialEq)]
pub enum ExecuteContext {
    Caller,
    Owner,
    /// SELF
    Itself,
    Login(Expr),
    User(Expr),
    Named(StringLiteral),
}

/// `REVERT [ WITH COOKIE = @v ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Revert {
    pub cookie: Option<VariableName>,
}

/// `SETUSER [ 'name' [ WITH NORESET ] ]`
#[derive(Debug, Clone, PartialEq)]
pub struct SetUser {
    pub name: Option<Expr>,
    pub is_noreset: bool,
}

/// `USE database`
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    pub database: Name,
}

/// `KILL { session | 'uow' | QUERY NOTIFICATION SUBSCRIPTION id | STATS JOB id } [ WITH … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    pub what: Killed,
    pub is_status_only: bool,
    /// `WITH COMMIT | WITH ROLLBACK` of a unit of work
    pub outcome: Option<KillOutcome>,
}

/// What is killed.
#[derive(Debug, Clone, PartialEq)]
pub enum Killed {
    Session(Expr),
    StatsJob(Expr),
    /// `None` for ALL.
    NotificationSubscription(Option<Expr>),
}

/// How a unit of work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillOutcome {
    Commit,
    Rollback,
}

/// How a procedure's parameter or a cursor is named where a name or variable may stand.
impl From<VariableName> for NameOrVariable {
    fn from(variable: VariableName) -> NameOrVariable {
        NameOrVariable::Variable(variable)
    }
}
