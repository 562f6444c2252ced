//! Hints of tables and queries.

use super::literal::Literal;
use super::name::{Name, ObjectName, VariableName};
use crate::span::Span;

/// A hint of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableHint {
    pub kind: TableHintKind,
    pub span: Span,
}

/// Kinds of table hints.
#[derive(Debug, Clone, PartialEq)]
pub enum TableHintKind {
    /// `INDEX ( index , … ) | INDEX = index`
    Index(Vec<IndexReference>),
    /// `FORCESEEK [ ( index ( column , … ) ) ]`
    ForceSeek(Option<ForceSeek>),
    /// `SPATIAL_WINDOW_MAX_CELLS = count`
    SpatialWindowMaxCells(u32),
    /// Every other: `NOLOCK`, `UPDLOCK` …, in capitals.
    Word(&'static str),
}

/// An index by name or number.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexReference {
    Name(Name),
    Number(u32),
}

/// `( index ( column , … ) )`
#[derive(Debug, Clone, PartialEq)]
pub struct ForceSeek {
    pub index: IndexReference,
    pub columns: Vec<Name>,
}

/// A hint of OPTION.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryHint {
    pub kind: QueryHintKind,
    pub span: Span,
}

/// Kinds of query hints.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryHintKind {
    /// `HASH GROUP`, `RECOMPILE`, `FORCE ORDER` …, in capitals with one blank.
    Words(&'static str),
    /// `MAXDOP n`, `FAST n`, `MAXRECURSION n`, `MIN_GRANT_PERCENT = n` …
    Number { name: &'static str, value: Literal },
    /// `LABEL = 'text'`, `USE PLAN 'xml'`
    Text { name: &'static str, value: Box<str> },
    /// `OPTIMIZE FOR ( @v { UNKNOWN | = literal } , … )`; no value for UNKNOWN
    OptimizeFor(Vec<OptimizeFor>),
    /// `USE HINT ( 'name' , … )`
    UseHint(Vec<Box<str>>),
    /// `TABLE HINT ( name [ , hint ] … )`
    Table { name: ObjectName, hints: Vec<TableHint> },
    /// `FOR TIMESTAMP AS OF 'time'`
    ForTimestamp(Box<str>),
}

/// `@v { UNKNOWN | = literal }`
#[derive(Debug, Clone, PartialEq)]
pub struct OptimizeFor {
    pub variable: VariableName,
    /// `None` for UNKNOWN.
    pub value: Option<SignedLiteral>,
}

/// A literal with its sign.
#[derive(Debug, Clone, PartialEq)]
pub struct SignedLiteral {
    pub is_negative: bool,
    pub value: Literal,
}
