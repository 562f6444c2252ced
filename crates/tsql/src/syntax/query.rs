//! Queries.

use super::expression::{Assignment, Condition, Expr, OrderItem, Window};
use super::literal::StringLiteral;
use super::name::{Name, ObjectName};
use super::table_source::TableSource;
use crate::span::Span;

/// `[ WITH … ] body [ ORDER BY … ] [ OFFSET … ] [ FOR … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub with: Option<With>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub offset: Option<Box<Offset>>,
    pub for_clause: Option<Box<ForClause>>,
    pub span: Span,
}

/// `WITH [ XMLNAMESPACES ( … ) , ] [ CHANGE_TRACKING_CONTEXT ( … ) , ] cte , …`
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub namespaces: Vec<XmlNamespace>,
    pub change_tracking_context: Option<Expr>,
    pub tables: Vec<CommonTable>,
    pub span: Span,
}

/// `name [ ( column , … ) ] AS ( query )`
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: Name,
    pub columns: Vec<Name>,
    pub query: Query,
}

/// `'uri' AS prefix | DEFAULT 'uri'`
#[derive(Debug, Clone, PartialEq)]
pub struct XmlNamespace {
    pub uri: StringLiteral,
    /// `None` for DEFAULT.
    pub prefix: Option<Name>,
}

/// `select | ( query ) | values | body operator body …`
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    Parenthesised(Box<Query>),
    /// Operators of one level, from left to right; INTERSECT binds tighter than the others.
    Set {
        first: Box<QueryBody>,
        rest: Vec<SetTerm>,
    },
}

/// `operator body`
#[derive(Debug, Clone, PartialEq)]
pub struct SetTerm {
    pub operator: SetOperator,
    pub body: QueryBody,
    /// Of the operator.
    pub span: Span,
}

/// `UNION [ ALL ] | EXCEPT | INTERSECT`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOperator {
    Union,
    UnionAll,
    Except,
    Intersect,
}

/// `SELECT [ ALL | DISTINCT ] [ TOP … ] items [ INTO … ] [ FROM … ] [ WHERE … ] [ GROUP BY … ]
/// [ HAVING … ] [ WINDOW … ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    pub is_distinct: bool,
    pub top: Option<Top>,
    pub items: Vec<SelectItem>,
    pub into: Option<Into>,
    pub from: Vec<TableSource>,
    pub filter: Option<Condition>,
    pub group_by: Option<GroupBy>,
    pub having: Option<Condition>,
    pub windows: Vec<NamedWindow>,
    pub span: Span,
}

/// `TOP ( count ) [ PERCENT ] [ WITH TIES ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    pub count: Expr,
    pub is_percent: bool,
    pub with_ties: bool,
}

/// An item of a select list.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `[ qualifier. ] *`
    Star { qualifier: Option<ObjectName>, span: Span },
    /// `expression [ [ AS ] alias ] | alias = expression`
    Value { value: Expr, alias: Option<Name> },
    /// `@variable = expression`
    Assign(Assignment),
}

/// `INTO table [ ON filegroup ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Into {
    pub table: ObjectName,
    pub filegroup: Option<Name>,
}

/// `GROUP BY [ ALL ] item , … [ WITH CUBE | WITH ROLLUP ]`
#[derive(Debug, Clone, PartialEq)]
pub struct GroupBy {
    pub is_all: bool,
    pub items: Vec<GroupItem>,
    pub with: Option<GroupWith>,
}

/// `WITH CUBE | WITH ROLLUP`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupWith {
    Cube,
    Rollup,
}

/// An item of GROUP BY.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupItem {
    Value(Expr),
    /// `( )` or, within the others, `( value , … )`
    Composite(Vec<Expr>),
    Rollup(Vec<GroupItem>),
    Cube(Vec<GroupItem>),
    GroupingSets(Vec<GroupItem>),
}

/// `WINDOW name AS ( window )`
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    pub name: Name,
    pub window: Window,
}

/// `OFFSET skip ROWS [ FETCH NEXT fetch ROWS ONLY ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Offset {
    pub skip: Expr,
    pub fetch: Option<Expr>,
}

/// `FOR …`
#[derive(Debug, Clone, PartialEq)]
pub enum ForClause {
    Browse,
    Xml(ForXml),
    Json(ForJson),
}

/// `FOR XML mode [ , option ] …`
#[derive(Debug, Clone, PartialEq)]
pub struct ForXml {
    pub mode: XmlMode,
    /// In `RAW ( 'name' )`, `PATH ( 'name' )`
    pub element: Option<StringLiteral>,
    pub has_binary_base64: bool,
    pub has_type: bool,
    /// `ROOT [ ( 'name' ) ]`
    pub root: Option<Option<StringLiteral>>,
    pub elements: Option<XmlElements>,
    /// `XMLSCHEMA [ ( 'uri' ) ]`
    pub schema: Option<Option<StringLiteral>>,
    pub has_xml_data: bool,
}

/// Modes of FOR XML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XmlMode {
    Raw,
    Auto,
    Explicit,
    Path,
}

/// `ELEMENTS [ XSINIL | ABSENT ]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XmlElements {
    Plain,
    XsiNil,
    Absent,
}

/// `FOR JSON { AUTO | PATH } [ , option ] …`
#[derive(Debug, Clone, PartialEq)]
pub struct ForJson {
    pub is_auto: bool,
    /// `ROOT [ ( 'name' ) ]`
    pub root: Option<Option<StringLiteral>>,
    pub include_null_values: bool,
    pub without_array_wrapper: bool,
}
