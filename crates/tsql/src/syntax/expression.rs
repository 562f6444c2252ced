//! Expressions, which have a value, and conditions, which are true, false or unknown.

use super::data_type::DataType;
use super::literal::Literal;
use super::name::{Name, ObjectName, VariableName};
use super::query::Query;
use crate::span::Span;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    Column(Box<ColumnName>),
    /// `@v`
    Variable(Box<str>),
    /// `@@rowcount`
    GlobalVariable(Box<str>),
    /// `DEFAULT`, as a value of VALUES, SET and EXECUTE, and as an argument.
    Default,
    Unary {
        operator: UnaryOperator,
        operand: Box<Expr>,
    },
    /// Operators of one level, from left to right.
    Chain {
        first: Box<Expr>,
        rest: Vec<Link>,
    },
    SimpleCase(Box<SimpleCase>),
    SearchedCase(Box<SearchedCase>),
    /// `IIF ( condition , yes , no )`
    Iif(Box<Iif>),
    Function(Box<FunctionCall>),
    /// `{ fn call }`
    OdbcFunction(Box<Expr>),
    /// `CAST | TRY_CAST ( operand AS type )`
    Cast {
        is_try: bool,
        operand: Box<Expr>,
        data_type: Box<DataType>,
    },
    Convert(Box<Convert>),
    Parse(Box<Parse>),
    /// `operand COLLATE collation`
    Collate {
        operand: Box<Expr>,
        collation: Name,
    },
    /// `operand AT TIME ZONE zone`
    AtTimeZone {
        operand: Box<Expr>,
        zone: Box<Expr>,
    },
    Method(Box<MethodCall>),
    StaticMember(Box<StaticMember>),
    /// `( query )`
    Subquery(Box<Query>),
    NextValue(Box<NextValue>),
    /// `IDENTITY ( type [ , seed , increment ] )` of SELECT INTO
    Identity(Box<IdentityFunction>),
}

/// An operator with what follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub operator: BinaryOperator,
    pub operand: Expr,
    /// Of the operator.
    pub span: Span,
}

/// Operators before a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    Plus,
    Minus,
    BitNot,
}

/// Operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    Multiply,
    Divide,
    Modulo,
    Add,
    Subtract,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

/// `[ qualifier. ] column`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    pub qualifier: Option<ObjectName>,
    pub column: Column,
}

/// A column, or what stands for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    Named(Name),
    /// `$action`, `$identity`, `IDENTITYCOL`, `%%physloc%%` …: in small letters as written.
    Pseudo(Box<str>),
}

/// `CASE operand WHEN value THEN result … [ ELSE result ] END`
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleCase {
    pub operand: Expr,
    pub arms: Vec<SimpleArm>,
    pub otherwise: Option<Expr>,
}

/// `WHEN value THEN result`
#[derive(Debug, Clone, PartialEq)]
pub struct SimpleArm {
    pub value: Expr,
    pub result: Expr,
}

/// `CASE WHEN condition THEN result … [ ELSE result ] END`
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedCase {
    pub arms: Vec<SearchedArm>,
    pub otherwise: Option<Expr>,
}

/// `WHEN condition THEN result`
#[derive(Debug, Clone, PartialEq)]
pub struct SearchedArm {
    pub condition: Condition,
    pub result: Expr,
}

/// `IIF ( condition , yes , no )`
#[derive(Debug, Clone, PartialEq)]
pub struct Iif {
    pub condition: Condition,
    pub yes: Expr,
    pub no: Expr,
}

/// `CONVERT | TRY_CONVERT ( type , operand [ , style ] )`
#[derive(Debug, Clone, PartialEq)]
pub struct Convert {
    pub is_try: bool,
    pub data_type: DataType,
    pub operand: Expr,
    pub style: Option<Expr>,
}

/// `PARSE | TRY_PARSE ( operand AS type [ USING culture ] )`
#[derive(Debug, Clone, PartialEq)]
pub struct Parse {
    pub is_try: bool,
    pub operand: Expr,
    pub data_type: DataType,
    pub culture: Option<Expr>,
}

/// `operand.name [ ( arguments ) ]` of a value of a CLR type or xml
#[derive(Debug, Clone, PartialEq)]
pub struct MethodCall {
    pub operand: Expr,
    pub name: Name,
    /// `None` for a property.
    pub arguments: Option<Vec<Expr>>,
}

/// `type::name [ ( arguments ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct StaticMember {
    pub data_type: ObjectName,
    pub name: Name,
    /// `None` for a property.
    pub arguments: Option<Vec<Expr>>,
}

/// `NEXT VALUE FOR sequence [ OVER ( ORDER BY … ) ]`
#[derive(Debug, Clone, PartialEq)]
pub struct NextValue {
    pub sequence: ObjectName,
    pub over: Option<Window>,
}

/// `IDENTITY ( type [ , seed , increment ] )`
#[derive(Debug, Clone, PartialEq)]
pub struct IdentityFunction {
    pub data_type: DataType,
    pub seed: Option<Expr>,
    pub increment: Option<Expr>,
}

/// A function with its arguments. Functions that are written without parentheses, such as
/// `CURRENT_TIMESTAMP`, have [`Arguments::None`].
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub name: ObjectName,
    pub arguments: Arguments,
    /// `WITHIN GROUP ( ORDER BY … )`
    pub within_group: Vec<OrderItem>,
    /// `IGNORE NULLS | RESPECT NULLS`
    pub nulls: Option<NullTreatment>,
    pub over: Option<Over>,
}

/// What stands in the parentheses of a function.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// No parentheses.
    None,
    /// `*`
    Star,
    /// `[ ALL ] expression , …`
    List(Vec<Expr>),
    /// `DISTINCT expression , …`
    Distinct(Vec<Expr>),
    /// `[ LEADING | TRAILING | BOTH ] [ characters ] FROM operand` of TRIM
    Trim { side: Option<TrimSide>, characters: Option<Box<Expr>>, operand: Box<Expr> },
    /// `key : value , …` of JSON_OBJECT
    JsonObject { members: Vec<JsonMember>, nulls: Option<JsonNulls> },
    /// `value , …` of JSON_ARRAY with its treatment of NULL
    JsonArray { values: Vec<Expr>, nulls: JsonNulls },
    /// `$PARTITION.function ( value )`: the name is that of the partition function.
    Partition(Vec<Expr>),
}

/// Which end TRIM cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Leading,
    Trailing,
    Both,
}

/// `key : value`
#[derive(Debug, Clone, PartialEq)]
pub struct JsonMember {
    pub key: Expr,
    pub value: Expr,
}

/// `NULL ON NULL | ABSENT ON NULL`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonNulls {
    NullOnNull,
    AbsentOnNull,
}

/// `IGNORE NULLS | RESPECT NULLS`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullTreatment {
    Ignore,
    Respect,
}

/// `OVER window_name | OVER ( window )`
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    Named(Name),
    Window(Window),
}

/// `[ window_name ] [ PARTITION BY … ] [ ORDER BY … ] [ frame ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub base: Option<Name>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

/// `ROWS | RANGE start | BETWEEN start AND end`
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub is_range: bool,
    pub start: FrameBound,
    /// `None` without BETWEEN.
    pub end: Option<FrameBound>,
}

/// An end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// `expression [ ASC | DESC ]`
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub value: Expr,
    pub direction: Option<Direction>,
}

/// `ASC | DESC`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Ascending,
    Descending,
}

/// `@variable` with the operator and value that it is set by
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub variable: VariableName,
    pub operator: AssignOperator,
    pub value: Expr,
}

/// `=`, or an operator with `=`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssignOperator {
    Set,
    Compound(BinaryOperator),
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    pub kind: ConditionKind,
    pub span: Span,
}

/// Kinds of conditions.
#[derive(Debug, Clone, PartialEq)]
pub enum ConditionKind {
    /// At least two.
    And(Vec<Condition>),
    /// At least two.
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Comparison {
        left: Box<Expr>,
        comparison: Comparison,
        right: Box<Expr>,
    },
    /// `left comparison { ALL | ANY | SOME } ( query )`
    Quantified(Box<Quantified>),
    /// `operand IS [ NOT ] NULL`
    IsNull {
        operand: Box<Expr>,
        is_negated: bool,
    },
    /// `left IS [ NOT ] DISTINCT FROM right`
    IsDistinct {
        left: Box<Expr>,
        right: Box<Expr>,
        is_negated: bool,
    },
    Between(Box<Between>),
    /// `operand [ NOT ] IN ( value , … )`
    InList {
        operand: Box<Expr>,
        values: Vec<Expr>,
        is_negated: bool,
    },
    /// `operand [ NOT ] IN ( query )`
    InQuery {
        operand: Box<Expr>,
        query: Box<Query>,
        is_negated: bool,
    },
    Like(Box<Like>),
    /// `EXISTS ( query )`
    Exists(Box<Query>),
    FullText(Box<FullText>),
    /// `UPDATE ( column )` of triggers
    Update(Name),
    /// `MATCH ( pattern )` of graph tables
    Match(Box<GraphMatch>),
}

/// Comparisons; `!<` and `!>` are their opposites.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// `left comparison { ALL | ANY | SOME } ( query )`
#[derive(Debug, Clone, PartialEq)]
pub struct Quantified {
    pub left: Expr,
    pub comparison: Comparison,
    /// ALL; else ANY, which SOME is another word for.
    pub is_all: bool,
    pub query: Query,
}

/// `operand [ NOT ] BETWEEN low AND high`
#[derive(Debug, Clone, PartialEq)]
pub struct Between {
    pub operand: Expr,
    pub low: Expr,
    pub high: Expr,
    pub is_negated: bool,
}

/// `operand [ NOT ] LIKE pattern [ ESCAPE escape ]`
#[derive(Debug, Clone, PartialEq)]
pub struct Like {
    pub operand: Expr,
    pub pattern: Expr,
    pub escape: Option<Expr>,
    pub is_negated: bool,
}

/// `{ CONTAINS | FREETEXT } ( columns , search [ , LANGUAGE language ] )`
#[derive(Debug, Clone, PartialEq)]
pub struct FullText {
    pub is_freetext: bool,
    pub columns: FullTextColumns,
    pub search: Expr,
    pub language: Option<Expr>,
}

/// `* | table.* | column | ( column , … ) | PROPERTY ( column , name )`
#[derive(Debug, Clone, PartialEq)]
pub enum FullTextColumns {
    All(Option<ObjectName>),
    Columns(Vec<ColumnName>),
    Property { column: ColumnName, property: Box<str> },
}

/// `MATCH ( pattern [ AND pattern ] … )`
#[derive(Debug, Clone, PartialEq)]
pub struct GraphMatch {
    pub patterns: Vec<GraphPattern>,
}

/// A path of a graph.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphPattern {
    Path(GraphPath),
    /// `SHORTEST_PATH ( pattern )`
    ShortestPath(GraphPath),
    /// `LAST_NODE ( a ) = LAST_NODE ( b )`
    SameLastNode {
        left: Name,
        right: Name,
    },
}

/// `node { -( edge )-> | <-( edge )- } node …`
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPath {
    pub start: GraphNode,
    pub steps: Vec<GraphStep>,
}

/// A node, or the last node of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphNode {
    pub name: Name,
    pub is_last_node: bool,
}

/// An edge with its node, or a repeated group of them.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphStep {
    /// No node at the end of a group that begins with one.
    Edge { edge: Name, is_reversed: bool, node: Option<GraphNode> },
    /// `( steps ) + | ( steps ) { low , high }`; `start` when the node comes first.
    Repeated { start: Option<Name>, steps: Vec<GraphStep>, limits: Option<(u32, u32)> },
}
