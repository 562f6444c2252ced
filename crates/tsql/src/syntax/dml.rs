//! Statements that change rows.

use super::execute::Execute;
use super::expression::{AssignOperator, Assignment, ColumnName, Condition, Expr};
use super::hint::{QueryHint, TableHint};
use super::name::{CursorName, Name, ObjectName, VariableName};
use super::query::{Query, SelectItem, Top, With};
use super::table_source::{BulkOption, RowsetColumn, TableAlias, TableSource};
use crate::span::Span;

/// INSERT, UPDATE, DELETE or MERGE.
#[derive(Debug, Clone, PartialEq)]
pub enum Dml {
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
}

/// `[ WITH … ] INSERT [ TOP … ] [ INTO ] target [ ( column , … ) ] [ OUTPUT … ] source`
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: Target,
    pub columns: Vec<ColumnName>,
    pub outputs: Vec<Output>,
    pub source: InsertSource,
    pub option: Vec<QueryHint>,
    pub span: Span,
}

/// Where the rows of an INSERT are from.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    DefaultValues,
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
    Execute(Box<Execute>),
}

/// What is changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub kind: TargetKind,
    pub hints: Vec<TableHint>,
    pub span: Span,
}

/// Kinds of targets.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetKind {
    Object(ObjectName),
    Variable(VariableName),
    /// OPENQUERY, OPENROWSET, OPENDATASOURCE
    Rowset(Box<TableSource>),
}

/// `OUTPUT item , … [ INTO target [ ( column , … ) ] ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub items: Vec<SelectItem>,
    pub into: Option<OutputInto>,
}

/// `INTO target [ ( column , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct OutputInto {
    pub target: TargetKind,
    pub columns: Vec<Name>,
}

/// `[ WITH … ] UPDATE [ TOP … ] target SET set , … [ OUTPUT … ] [ FROM … ] [ WHERE … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: Target,
    pub sets: Vec<SetItem>,
    pub outputs: Vec<Output>,
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub option: Vec<QueryHint>,
    pub span: Span,
}

/// An item of SET.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `[ @variable = ] column operator value`
    Column {
        variable: Option<VariableName>,
        column: ColumnName,
        operator: AssignOperator,
        value: Expr,
    },
    /// `@variable operator value`
    Variable(Assignment),
    /// `column.method ( arguments )`, such as `.WRITE ( value , offset , length )`
    Method { column: ColumnName, method: Name, arguments: Vec<Expr> },
}

/// `WHERE condition | WHERE CURRENT OF cursor`
#[derive(Debug, Clone, PartialEq)]
pub enum DmlFilter {
    Condition(Condition),
    CurrentOf(CursorName),
}

/// `[ WITH … ] DELETE [ TOP … ] [ FROM ] target [ OUTPUT … ] [ FROM … ] [ WHERE … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: Target,
    pub outputs: Vec<Output>,
    pub from: Vec<TableSource>,
    pub filter: Option<DmlFilter>,
    pub option: Vec<QueryHint>,
    pub span: Span,
}

/// `[ WITH … ] MERGE [ TOP … ] [ INTO ] target [ alias ] USING source ON condition when …
/// [ OUTPUT … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    pub with: Option<With>,
    pub top: Option<Top>,
    pub target: Target,
    pub alias: Option<TableAlias>,
    pub source: TableSource,
    pub on: Condition,
    pub clauses: Vec<MergeClause>,
    pub outputs: Vec<Output>,
    pub option: Vec<QueryHint>,
    pub span: Span,
}

/// `WHEN matching [ AND condition ] THEN action`
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    pub matching: Matching,
    pub condition: Option<Condition>,
    pub action: MergeAction,
    pub span: Span,
}

/// `MATCHED | NOT MATCHED [ BY TARGET ] | NOT MATCHED BY SOURCE`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matching {
    Matched,
    NotMatchedByTarget,
    NotMatchedBySource,
}

/// What WHEN does.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    Update(Vec<SetItem>),
    Delete,
    Insert {
        columns: Vec<Name>,
        /// `None` for DEFAULT VALUES.
        values: Option<Vec<Expr>>,
    },
}

/// `TRUNCATE TABLE table [ WITH ( PARTITIONS ( range , … ) ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Truncate {
    pub table: ObjectName,
    pub partitions: Vec<PartitionRange>,
}

/// `number | low TO high`
#[derive(Debug, Clone, PartialEq)]
pub struct PartitionRange {
    pub low: Expr,
    pub high: Option<Expr>,
}

/// `BULK INSERT target FROM 'file' [ WITH ( option , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct BulkInsert {
    pub target: ObjectName,
    pub file: Expr,
    pub options: Vec<BulkOption>,
}

/// `INSERT BULK target ( column type , … ) [ WITH ( option , … ) ]`: the bulk load of clients
#[derive(Debug, Clone, PartialEq)]
pub struct InsertBulk {
    pub target: ObjectName,
    pub columns: Vec<RowsetColumn>,
    pub options: Vec<BulkOption>,
}

/// `READTEXT column pointer offset size [ HOLDLOCK ]`
#[derive(Debug, Clone, PartialEq)]
pub struct ReadText {
    pub column: ColumnName,
    pub pointer: Expr,
    pub offset: Expr,
    pub size: Expr,
    pub is_holdlock: bool,
}

/// `WRITETEXT [ BULK ] column pointer [ WITH LOG ] data`
#[derive(Debug, Clone, PartialEq)]
pub struct WriteText {
    pub is_bulk: bool,
    pub column: ColumnName,
    pub pointer: Expr,
    pub with_log: bool,
    /// `None` when a bulk load sends it.
    pub data: Option<Expr>,
}

/// `UPDATETEXT [ BULK ] column pointer offset length [ WITH LOG ] [ data | source pointer ]`
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateText {
    pub is_bulk: bool,
    pub column: ColumnName,
    pub pointer: Expr,
    pub offset: Expr,
    pub length: Expr,
    pub with_log: bool,
    pub data: Option<TextSource>,
}

/// Where UPDATETEXT takes its text from.
#[derive(Debug, Clone, PartialEq)]
pub enum TextSource {
    Value(Expr),
    Column { column: ColumnName, pointer: Expr },
}
