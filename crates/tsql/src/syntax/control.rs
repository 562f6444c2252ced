//! Control flow, messages, waits.

use super::clause::Clause;
use super::expression::{Condition, Expr};
use super::name::Name;
use super::statement::Statement;
use crate::span::Span;

/// `IF condition statement [ ELSE IF condition statement ] … [ ELSE statement ]`
#[derive(Debug, Clone, PartialEq)]
pub struct If {
    /// At least one; the others are those of ELSE IF.
    pub branches: Vec<Branch>,
    pub otherwise: Option<Box<Statement>>,
}

/// `IF condition statement`
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    pub condition: Condition,
    pub statement: Statement,
    /// From IF to the end of the condition.
    pub span: Span,
}

/// `WHILE condition statement`
#[derive(Debug, Clone, PartialEq)]
pub struct While {
    pub condition: Condition,
    pub statement: Box<Statement>,
}

/// `BEGIN TRY … END TRY BEGIN CATCH … END CATCH`
#[derive(Debug, Clone, PartialEq)]
pub struct TryCatch {
    pub body: Vec<Statement>,
    pub handler: Vec<Statement>,
}

/// `BEGIN ATOMIC WITH ( option , … ) … END` of natively compiled modules
#[derive(Debug, Clone, PartialEq)]
pub struct Atomic {
    pub options: Vec<Clause>,
    pub statements: Vec<Statement>,
}

/// `WAITFOR …`
#[derive(Debug, Clone, PartialEq)]
pub enum WaitFor {
    Delay(Expr),
    Time(Expr),
    /// `( RECEIVE … | GET CONVERSATION GROUP … ) [ , TIMEOUT timeout ]`
    Statement {
        statement: Box<Statement>,
        timeout: Option<Expr>,
    },
}

/// `THROW [ number , message , state ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Throw {
    /// `None` to throw again what a CATCH block has caught.
    pub error: Option<ThrownError>,
}

/// `number , message , state`
#[derive(Debug, Clone, PartialEq)]
pub struct ThrownError {
    pub number: Expr,
    pub message: Expr,
    pub state: Expr,
}

/// `RAISERROR ( message , severity , state [ , argument … ] ) [ WITH option , … ]`, or the old form
/// `RAISERROR number message`
#[derive(Debug, Clone, PartialEq)]
pub struct RaiseError {
    pub message: Expr,
    /// `None` in the old form.
    pub severity: Option<Expr>,
    pub state: Option<Expr>,
    /// In the old form, the message of the number.
    pub arguments: Vec<Expr>,
    pub has_log: bool,
    pub has_nowait: bool,
    pub has_seterror: bool,
}

/// `GOTO label`
#[derive(Debug, Clone, PartialEq)]
pub struct Goto {
    pub label: Name,
}

/// `RETURN [ value ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    pub value: Option<Expr>,
}

/// `PRINT value`
#[derive(Debug, Clone, PartialEq)]
pub struct Print {
    pub value: Expr,
}
