//! Cursors.

use super::expression::Expr;
use super::hint::QueryHint;
use super::name::{CursorName, Name, VariableName};
use super::query::Query;

/// `DECLARE name CURSOR …`
#[derive(Debug, Clone, PartialEq)]
pub struct DeclareCursor {
    pub name: Name,
    pub definition: CursorDefinition,
}

/// `[ INSENSITIVE ] [ SCROLL ] CURSOR [ option ] … FOR query [ FOR { READ ONLY | UPDATE … } ]`
#[derive(Debug, Clone, PartialEq)]
pub struct CursorDefinition {
    /// The ISO form's INSENSITIVE.
    pub is_insensitive: bool,
    /// Options in their order; SCROLL of the ISO form is one.
    pub options: Vec<CursorOption>,
    pub query: Query,
    pub hints: Vec<QueryHint>,
    pub access: Option<CursorAccess>,
}

/// Options of DECLARE CURSOR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CursorOption {
    Local,
    Global,
    ForwardOnly,
    Scroll,
    Static,
    Keyset,
    Dynamic,
    FastForward,
    ReadOnly,
    ScrollLocks,
    Optimistic,
    TypeWarning,
}

/// `FOR READ ONLY | FOR UPDATE [ OF column , … ]`
#[derive(Debug, Clone, PartialEq)]
pub enum CursorAccess {
    ReadOnly,
    /// Empty for all columns.
    Update(Vec<Name>),
}

/// `FETCH [ [ direction ] FROM ] cursor [ INTO @v , … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Fetch {
    pub direction: FetchDirection,
    pub cursor: CursorName,
    pub into: Vec<VariableName>,
}

/// Where FETCH goes.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchDirection {
    Next,
    Prior,
    First,
    Last,
    Absolute(Expr),
    Relative(Expr),
}
