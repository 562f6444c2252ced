//! Table sources: what FROM lists.

use super::data_type::DataType;
use super::dml::Dml;
use super::expression::{ColumnName, Condition, Expr, FunctionCall, MethodCall};
use super::hint::TableHint;
use super::literal::StringLiteral;
use super::name::{Name, ObjectName, VariableName};
use super::query::Query;
use crate::span::Span;

/// A table source with its alias.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSource {
    pub kind: TableSourceKind,
    pub alias: Option<TableAlias>,
    pub span: Span,
}

/// `[ AS ] name [ ( column , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct TableAlias {
    pub name: Name,
    pub columns: Vec<Name>,
}

/// Kinds of table sources.
#[derive(Debug, Clone, PartialEq)]
pub enum TableSourceKind {
    Table(Box<TableReference>),
    /// `@table`
    Variable {
        name: VariableName,
        hints: Vec<TableHint>,
    },
    /// `function ( arguments ) [ WITH ( columns ) ]`, OPENJSON too
    Function(Box<TableFunction>),
    /// `value.nodes ( … )` and other methods
    Method(Box<MethodCall>),
    /// `( query )`
    Derived(Box<Query>),
    /// `( VALUES ( … ) , … )`
    Values(Vec<Vec<Expr>>),
    /// `( INSERT | UPDATE | DELETE | MERGE … OUTPUT … )`
    Dml(Box<Dml>),
    OpenXml(Box<OpenXml>),
    OpenQuery {
        server: Name,
        query: StringLiteral,
    },
    OpenRowset(Box<OpenRowset>),
    /// `OPENDATASOURCE ( provider , connection ) . database . schema . object`
    OpenDatasource {
        provider: StringLiteral,
        connection: StringLiteral,
        object: ObjectName,
    },
    ChangeTable(Box<ChangeTable>),
    FullText(Box<FullTextTable>),
    /// `PREDICT ( MODEL = …, DATA = … ) WITH ( columns )`
    Predict(Box<Predict>),
    Pivot(Box<Pivot>),
    Unpivot(Box<Unpivot>),
    /// Joins from left to right.
    Joined {
        first: Box<TableSource>,
        joins: Vec<Join>,
    },
}

/// `name [ FOR SYSTEM_TIME … ] [ FOR PATH ] [ TABLESAMPLE … ] [ hints ]`
#[derive(Debug, Clone, PartialEq)]
pub struct TableReference {
    pub name: ObjectName,
    pub system_time: Option<SystemTime>,
    pub is_for_path: bool,
    pub sample: Option<TableSample>,
    pub hints: Vec<TableHint>,
}

/// `FOR SYSTEM_TIME …`
#[derive(Debug, Clone, PartialEq)]
pub enum SystemTime {
    AsOf(Expr),
    FromTo { from: Expr, to: Expr },
    Between { from: Expr, to: Expr },
    ContainedIn { from: Expr, to: Expr },
    All,
}

/// `TABLESAMPLE [ SYSTEM ] ( count [ PERCENT | ROWS ] ) [ REPEATABLE ( seed ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct TableSample {
    pub count: Expr,
    pub is_rows: bool,
    pub seed: Option<Expr>,
}

/// `function ( arguments ) [ WITH ( column , … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct TableFunction {
    pub call: FunctionCall,
    pub columns: Vec<RowsetColumn>,
    pub hints: Vec<TableHint>,
}

/// `name type [ COLLATE collation ] [ 'path' | ordinal ] [ AS JSON ]`
#[derive(Debug, Clone, PartialEq)]
pub struct RowsetColumn {
    pub name: Name,
    pub data_type: DataType,
    pub collation: Option<Name>,
    pub path: Option<Expr>,
    pub is_json: bool,
}

/// `OPENXML ( document , pattern [ , flags ] ) [ WITH ( column , … | table ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct OpenXml {
    pub arguments: Vec<Expr>,
    pub schema: OpenXmlSchema,
}

/// What follows WITH of OPENXML.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenXmlSchema {
    None,
    Columns(Vec<RowsetColumn>),
    Table(ObjectName),
}

/// `OPENROWSET ( … )`
#[derive(Debug, Clone, PartialEq)]
pub enum OpenRowset {
    /// `'provider' , { 'source' ; 'user' ; 'password' | 'connection' } , { object | 'query' }`
    Provider { provider: StringLiteral, connection: Vec<StringLiteral>, target: RowsetTarget },
    /// `BULK file , option , … [ ) WITH ( columns ]`
    Bulk { files: Vec<StringLiteral>, options: Vec<BulkOption>, columns: Vec<RowsetColumn> },
    /// `TABLE name , …` of internal rowsets
    Internal { name: Name, arguments: Vec<Expr> },
}

/// `object | 'query'`
#[derive(Debug, Clone, PartialEq)]
pub enum RowsetTarget {
    Object(ObjectName),
    Query(StringLiteral),
}

/// `NAME [ = value ]` of BULK INSERT, INSERT BULK and OPENROWSET ( BULK … )
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOption {
    pub name: Box<str>,
    pub value: Option<Expr>,
    /// `ORDER ( column [ ASC | DESC ] , … ) [ UNIQUE ]`
    pub order: Vec<BulkOrder>,
    pub is_unique: bool,
}

/// `column [ ASC | DESC ]`
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOrder {
    pub column: Name,
    pub is_descending: bool,
}

/// `CHANGETABLE ( { CHANGES table , version | VERSION table , ( columns ) , ( values ) } … )`
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeTable {
    Changes { table: ObjectName, version: Expr, option: Option<Name> },
    Version { table: ObjectName, columns: Vec<Name>, values: Vec<Expr>, option: Option<Name> },
}

/// `CONTAINSTABLE | FREETEXTTABLE | SEMANTIC… ( table , columns , argument , … )`
#[derive(Debug, Clone, PartialEq)]
pub struct FullTextTable {
    pub function: Name,
    pub table: ObjectName,
    /// Empty for `*`.
    pub columns: Vec<Name>,
    pub arguments: Vec<Expr>,
    pub language: Option<Expr>,
    pub top: Option<Expr>,
}

/// `PREDICT ( MODEL = model , DATA = source AS alias [ , RUNTIME = runtime ] ) WITH ( columns )`
#[derive(Debug, Clone, PartialEq)]
pub struct Predict {
    pub model: Expr,
    pub data: TableSource,
    pub runtime: Option<Name>,
    pub columns: Vec<RowsetColumn>,
}

/// `source PIVOT ( aggregate , … FOR column IN ( name , … ) )`
#[derive(Debug, Clone, PartialEq)]
pub struct Pivot {
    pub source: TableSource,
    pub aggregate: FunctionCall,
    pub column: ColumnName,
    pub values: Vec<Name>,
}

/// `source UNPIVOT ( value FOR column IN ( name , … ) )`
#[derive(Debug, Clone, PartialEq)]
pub struct Unpivot {
    pub source: TableSource,
    pub value: Name,
    pub column: Name,
    pub columns: Vec<ColumnName>,
}

/// A join with what it joins to.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub hint: Option<JoinHint>,
    pub right: TableSource,
    pub on: Option<Condition>,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    CrossApply,
    OuterApply,
}

/// `LOOP | HASH | MERGE | REMOTE`, between kind and JOIN
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinHint {
    Loop,
    Hash,
    Merge,
    Remote,
}
