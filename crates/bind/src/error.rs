//! Why a query has no meaning: SQL Server's messages about names, groups and queries.

use extentdb_expr::CompileError;
use extentdb_tsql::Span;

/// Why a query cannot be bound.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct Error {
    /// Which message.
    pub cause: Cause,
    /// The part of the text that it is about.
    pub span: Span,
}

/// Result of binding.
pub type Result<T> = std::result::Result<T, Error>;

/// The messages.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are the arguments of the texts")]
pub enum Cause {
    /// Of an expression.
    #[error(transparent)]
    Expression(#[from] CompileError),
    /// 40517
    #[error("not supported: {what}.")]
    NotSupported { what: String },
    /// Of what resolves names: number and text.
    #[error("{text}")]
    Other { number: i32, text: String },
    #[error(
        "The ORDER BY position number {position} is out of range of the number of items in the \
         select list."
    )]
    OrderPosition { position: i64 },
    #[error(
        "Expression type is not valid for ORDER BY: a constant expression was encountered in the \
         ORDER BY list, position {position}."
    )]
    OrderConstant { position: usize },
    #[error(
        "The SELECT item identified by the ORDER BY number {position} contains a variable as part \
         of the expression identifying a column position. Variables are only allowed when \
         ordering by an expression referencing a column name."
    )]
    OrderVariable { position: usize },
    #[error(
        "A column has been specified more than once in the order by list. Columns in the order by \
         list must be unique."
    )]
    OrderTwice,
    #[error(
        "Windowed functions cannot be used in the context of another windowed function or \
         aggregate."
    )]
    NestedWindow,
    #[error(
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support {what} as \
         ORDER BY clause expressions."
    )]
    WindowConstant { what: &'static str, number: i32 },
    #[error(
        "{what} not allowed in the recursive part of a recursive common table expression '{name}'."
    )]
    RecursivePart { what: &'static str, name: String, number: i32 },
    #[error(
        "Recursive member of a common table expression '{name}' has multiple recursive references."
    )]
    RecursiveTwice { name: String },
    #[error(
        "Each GROUP BY expression must contain at least one column that is not an outer reference."
    )]
    GroupConstant,
    #[error(
        "Only one expression can be specified in the select list when the subquery is not \
         introduced with EXISTS."
    )]
    SubqueryColumns,
    #[error("Must specify table to select from.")]
    NoTable,
    #[error(
        "Cannot perform an aggregate function on an expression containing an aggregate or a subquery."
    )]
    NestedAggregate,
    #[error("ORDER BY items must appear in the select list if SELECT DISTINCT is specified.")]
    DistinctOrder,
    #[error(
        "An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a \
         HAVING clause or a select list, and the column being aggregated is an outer reference."
    )]
    AggregateInWhere,
    #[error(
        "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause."
    )]
    AggregateInGroupBy,
    #[error("An aggregate may not appear in the set list of an UPDATE statement.")]
    AggregateInSet,
    #[error(
        "An aggregate cannot appear in an ON clause unless it is in a subquery contained in a HAVING clause or select list, and the column being aggregated is an outer reference."
    )]
    AggregateInOn,
    #[error("'{name}' has more columns than were specified in the column list.")]
    MoreColumns { name: String },
    #[error("'{name}' has fewer columns than were specified in the column list.")]
    FewerColumns { name: String },
    #[error("The {function} function requires {count} argument(s).")]
    ArgumentCount { function: String, count: usize },
    #[error(
        "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions in their target lists."
    )]
    SetColumns,
    #[error("Invalid column name '{name}'.")]
    InvalidColumn { name: String },
    #[error("Invalid object name '{name}'.")]
    InvalidObject { name: String },
    #[error("Ambiguous column name '{name}'.")]
    AmbiguousColumn { name: String },
    #[error(
        "The column prefix '{prefix}' does not match with a table name or alias name used in the query."
    )]
    Prefix { prefix: String },
    #[error("Must declare the scalar variable \"{name}\".")]
    UnknownVariable { name: String },
    #[error("Must declare the table variable \"{name}\".")]
    UnknownTableVariable { name: String },
    #[error(
        "The objects \"{first}\" and \"{second}\" in the FROM clause have the same exposed names. Use correlation names to distinguish them."
    )]
    SameNames { first: String, second: String },
    #[error("The correlation name '{name}' is specified multiple times in a FROM clause.")]
    SameAliases { name: String },
    #[error("The multi-part identifier \"{name}\" could not be bound.")]
    MultiPart { name: String },
    #[error("No column name was specified for column {position} of '{name}'.")]
    UnnamedColumn { position: usize, name: String },
    #[error("The column '{column}' was specified multiple times for '{name}'.")]
    DuplicateColumn { column: String, name: String },
    #[error(
        "Column '{column}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."
    )]
    UngroupedInSelect { column: String },
    #[error(
        "Column '{column}' is invalid in the HAVING clause because it is not contained in either an aggregate function or the GROUP BY clause."
    )]
    UngroupedInHaving { column: String },
    #[error(
        "Column \"{column}\" is invalid in the ORDER BY clause because it is not contained in either an aggregate function or the GROUP BY clause."
    )]
    UngroupedInOrder { column: String },
    #[error("Operand data type {ty} is invalid for {function} operator.")]
    OperandType { ty: String, function: String },
    #[error("Windowed functions can only appear in the SELECT or ORDER BY clauses.")]
    WindowPlace,
    #[error("The function '{function}' must have an OVER clause.")]
    NeedsOver { function: String },
    #[error("The function '{function}' must have an OVER clause with ORDER BY.")]
    NeedsOrder { function: String },
    #[error("The function '{function}' may not have a window frame.")]
    NoFrame { function: String },
    #[error(
        "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table expressions, unless TOP, OFFSET or FOR XML is also specified."
    )]
    OrderInSubquery,
    #[error(
        "Recursive common table expression '{name}' does not contain a top-level UNION ALL operator."
    )]
    RecursionWithoutUnion { name: String },
    #[error(
        "Types don't match between the anchor and the recursive part in column \"{column}\" of recursive query \"{name}\"."
    )]
    RecursionTypes { column: String, name: String },
    #[error("The text, ntext, or image data type cannot be selected as DISTINCT.")]
    DistinctLob,
    #[error(
        "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator."
    )]
    SetOrder,
    #[error("A TOP can not be used in the same query or sub-query as a OFFSET.")]
    TopAndOffset,
    #[error("The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.")]
    TiesWithoutOrder,
    #[error(
        "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer."
    )]
    TopNotInteger,
    #[error(
        "Cannot insert explicit value for identity column in table '{table}' when IDENTITY_INSERT is set to OFF."
    )]
    IdentityInsert { table: String },
    #[error(
        "Explicit value must be specified for identity column in table '{table}' when IDENTITY_INSERT is set to ON."
    )]
    IdentityMissing { table: String },
    #[error(
        "An explicit value for the identity column in table '{table}' can only be specified when a column list is used and IDENTITY_INSERT is ON."
    )]
    IdentityList { table: String },
    #[error(
        "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."
    )]
    MoreInsertColumns,
    #[error(
        "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of values in the VALUES clause must match the number of columns specified in the INSERT statement."
    )]
    FewerInsertColumns,
    #[error(
        "The select list for the INSERT statement contains more items than the insert list. The number of SELECT values must match the number of INSERT columns."
    )]
    MoreInsertItems,
    #[error(
        "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT values must match the number of INSERT columns."
    )]
    FewerInsertItems,
    #[error("Column name or number of supplied values does not match table definition.")]
    InsertColumnCount,
    #[error("The number of columns for each row in a table value constructor must be the same.")]
    ValuesRows,
    #[error(
        "The column name '{column}' is specified more than once in the SET clause or column list of an INSERT. A column cannot be assigned more than one value in the same clause. Modify the clause to make sure that a column is updated only once. If this statement updates or inserts columns into a view, column aliasing can conceal the duplication in your code."
    )]
    AssignedTwice { column: String },
    #[error(
        "The column \"{column}\" cannot be modified because it is either a computed column or is the result of a UNION operator."
    )]
    ComputedColumn { column: String },
    #[error("Cannot update identity column '{column}'.")]
    UpdateIdentity { column: String },
    #[error("Cannot update a timestamp column.")]
    UpdateTimestamp,
    #[error(
        "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the timestamp column, or insert a DEFAULT into the timestamp column."
    )]
    InsertTimestamp,
    #[error(
        "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations."
    )]
    AssignsAndReturns,
    #[error("The table '{name}' is ambiguous.")]
    AmbiguousTable { name: String },
}

impl Cause {
    /// 191: a query that is deeper than the threads that work on it can go.
    pub(crate) fn too_deep() -> Cause {
        let text = "Some part of your SQL statement is nested too deeply. Rewrite the query or \
                    break it up into smaller queries."
            .to_owned();
        Cause::Other { number: 191, text }
    }

    /// Number of the message; 0 of an expression's.
    pub fn number(&self) -> i32 {
        match self {
            Cause::Expression(_) => 0,
            Cause::NotSupported { .. } => 40517,
            Cause::Other { number, .. } => *number,
            Cause::Prefix { .. } => 107,
            Cause::OrderPosition { .. } => 108,
            Cause::MoreInsertColumns => 109,
            Cause::FewerInsertColumns => 110,
            Cause::SubqueryColumns => 116,
            Cause::FewerInsertItems => 120,
            Cause::MoreInsertItems => 121,
            Cause::NestedAggregate => 130,
            Cause::UnknownVariable { .. } => 137,
            Cause::AssignsAndReturns => 141,
            Cause::AggregateInGroupBy => 144,
            Cause::DistinctOrder => 145,
            Cause::AggregateInWhere => 147,
            Cause::AggregateInSet => 157,
            Cause::AggregateInOn => 1015,
            Cause::MoreColumns { .. } => 8158,
            Cause::FewerColumns { .. } => 8159,
            Cause::GroupConstant => 164,
            Cause::ArgumentCount { .. } => 174,
            Cause::SetColumns => 205,
            Cause::InvalidColumn { .. } => 207,
            Cause::InvalidObject { .. } => 208,
            Cause::AmbiguousColumn { .. } => 209,
            Cause::InsertColumnCount => 213,
            Cause::RecursionTypes { .. } => 240,
            Cause::RecursionWithoutUnion { .. } => 252,
            Cause::NoTable => 263,
            Cause::AssignedTwice { .. } => 264,
            Cause::ComputedColumn { .. } => 271,
            Cause::UpdateTimestamp => 272,
            Cause::InsertTimestamp => 273,
            Cause::OrderConstant { .. } => 408,
            Cause::OrderVariable { .. } => 1008,
            Cause::OrderTwice => 169,
            Cause::NestedWindow => 4109,
            Cause::WindowConstant { number, .. } | Cause::RecursivePart { number, .. } => *number,
            Cause::RecursiveTwice { .. } => 253,
            Cause::DistinctLob => 421,
            Cause::IdentityInsert { .. } => 544,
            Cause::IdentityMissing { .. } => 545,
            Cause::IdentityList { .. } => 8101,
            Cause::SameAliases { .. } => 1011,
            Cause::SameNames { .. } => 1013,
            Cause::OrderInSubquery => 1033,
            Cause::TopNotInteger => 1060,
            Cause::TiesWithoutOrder => 1062,
            Cause::UnknownTableVariable { .. } => 1087,
            Cause::WindowPlace => 4108,
            Cause::NeedsOver { .. } => 10753,
            Cause::NeedsOrder { .. } => 4112,
            Cause::NoFrame { .. } => 10752,
            Cause::SetOrder => 104,
            Cause::MultiPart { .. } => 4104,
            Cause::UpdateIdentity { .. } => 8102,
            Cause::OperandType { .. } => 8117,
            Cause::UngroupedInSelect { .. } => 8120,
            Cause::UngroupedInHaving { .. } => 8121,
            Cause::UngroupedInOrder { .. } => 8127,
            Cause::AmbiguousTable { .. } => 8154,
            Cause::UnnamedColumn { .. } => 8155,
            Cause::DuplicateColumn { .. } => 8156,
            Cause::ValuesRows => 10709,
            Cause::TopAndOffset => 10741,
        }
    }

    /// Severity of the message.
    pub fn severity(&self) -> u8 {
        match self {
            Cause::UnknownVariable { .. }
            | Cause::MoreInsertColumns
            | Cause::FewerInsertColumns
            | Cause::FewerInsertItems
            | Cause::MoreInsertItems
            | Cause::AssignsAndReturns
            | Cause::NestedAggregate
            | Cause::AggregateInWhere
            | Cause::AggregateInGroupBy
            | Cause::AggregateInSet
            | Cause::AggregateInOn
            | Cause::OrderInSubquery
            | Cause::UnknownTableVariable { .. }
            | Cause::TopAndOffset
            | Cause::TiesWithoutOrder => 15,
            Cause::Other { number: 229 | 230 | 262 | 300 | 916, .. } => 14,
            _ => 16,
        }
    }

    /// The message about a part of the text.
    pub fn at(self, span: Span) -> Error {
        Error { cause: self, span }
    }
}

/// What is not supported, with its name.
pub(crate) fn not_supported<T>(what: impl Into<String>, span: Span) -> Result<T> {
    Err(Cause::NotSupported { what: what.into() }.at(span))
}
