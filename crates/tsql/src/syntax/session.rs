//! DBCC and other statements of few words.

use super::expression::Expr;
use super::name::Name;
use crate::span::Span;

/// `DBCC command [ ( argument , … ) ] [ WITH option , … ]`
///
/// Any command is accepted: which exist is not a matter of syntax (message 2526).
#[derive(Debug, Clone, PartialEq)]
pub struct Dbcc {
    pub command: Name,
    /// `None` without parentheses.
    pub arguments: Option<Vec<Expr>>,
    pub options: Vec<DbccOption>,
}

/// `NAME [ = value ]`
#[derive(Debug, Clone, PartialEq)]
pub struct DbccOption {
    pub name: Name,
    pub value: Option<Expr>,
    pub span: Span,
}

/// `CHECKPOINT [ duration ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    pub duration: Option<Expr>,
}

/// `SHUTDOWN [ WITH NOWAIT ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Shutdown {
    pub is_nowait: bool,
}

/// `RECONFIGURE [ WITH OVERRIDE ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Reconfigure {
    pub is_override: bool,
}

/// `LINENO number`
#[derive(Debug, Clone, PartialEq)]
pub struct LineNo {
    pub number: Expr,
}
