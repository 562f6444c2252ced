//! Physical plans: operators as they run.
//!
//! An operator gives batches of columns; expressions name columns of their input by position, and
//! values from outside (variables, rows of an outer loop) by number.

use extentdb_base::sync::Arc;
use extentdb_bind::function::{Aggregate, WindowFunction};
use extentdb_bind::logical::{
    Column, Frame, JoinKind, RowsSource, SetOperation, TextQuery, ValueId,
};
use extentdb_bind::provider::{RequestedColumn, RowProvider};
use extentdb_bind::table::BoundTable;
use extentdb_engine::CompareOp;
use extentdb_expr::{Program, Scalar};
use extentdb_types::SqlType;

/// An operator with its inputs.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub operator: Operator,
    /// What it gives.
    pub columns: Vec<Column>,
    /// Rows that are expected.
    pub rows: f64,
}

impl Node {
    /// The nodes whose rows it takes.
    pub fn inputs(&self) -> Vec<&Node> {
        match &self.operator {
            Operator::Row
            | Operator::Values(_)
            | Operator::Scan(_)
            | Operator::Provided(_)
            | Operator::Function(..)
            | Operator::Recent { .. } => Vec::new(),
            Operator::Filter { input, .. }
            | Operator::Project { input, .. }
            | Operator::Call { input, .. }
            | Operator::Sort { input, .. }
            | Operator::Top { input, .. }
            | Operator::Text { input, .. } => vec![input],
            Operator::HashJoin(join) => vec![&join.left, &join.right],
            Operator::LoopJoin(join) => vec![&join.left, &join.right],
            Operator::Aggregate(grouping) => vec![&grouping.input],
            Operator::Window(window) => vec![&window.input],
            Operator::Concat(inputs) => inputs.iter().collect(),
            Operator::SetOperation { left, right, .. } => vec![left, right],
            Operator::Recursive { anchor, step, .. } => vec![anchor, step],
        }
    }

    /// The scan of which it is the rows, thinned out or with other columns, where several threads
    /// may read it.
    pub fn parallel_scan(&self) -> Option<&Arc<Scan>> {
        match &self.operator {
            Operator::Scan(scan) => Some(scan).filter(|scan| scan.is_parallel),
            Operator::Filter { input, .. } | Operator::Project { input, .. } => {
                input.parallel_scan()
            }
            _ => None,
        }
    }
}

/// A compiled value or condition.
#[derive(Clone, Debug)]
pub struct Expression {
    /// Its program.
    pub program: Arc<Program>,
    /// What each input of the program is.
    pub inputs: Vec<Input>,
    /// What it was compiled from, for messages.
    pub scalar: Scalar,
}

/// A value that a program takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// A column of the operator's input.
    Column(usize),
    /// A value from outside.
    Outer(ValueId),
}

/// A key of an order: a column of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SortKey {
    /// The column.
    pub column: usize,
    /// Greatest first.
    pub is_descending: bool,
}

/// What an operator does.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the inputs and parameters of their operator")]
pub enum Operator {
    /// One row without columns.
    Row,
    /// Rows of values.
    Values(Vec<Vec<Expression>>),
    /// Rows of a table.
    Scan(Arc<Scan>),
    /// Rows of a provider.
    Provided(ProvidedRows),
    /// Rows that a function makes.
    Function(RowsSource, Vec<Expression>),
    /// Rows whose conditions are true.
    Filter { input: Box<Node>, condition: Expression },
    /// Columns of the input, then computed ones.
    Project { input: Box<Node>, keep: Vec<usize>, computed: Vec<Expression> },
    /// The input with a column that a function of the session gives.
    Call { input: Box<Node>, function: usize, arguments: Vec<Expression>, is_guarded: bool },
    /// A join by equal keys.
    HashJoin(Box<HashJoin>),
    /// A join by a loop: the right input is evaluated for each row of the left one.
    LoopJoin(Box<LoopJoin>),
    /// Groups.
    Aggregate(Box<Grouping>),
    /// Functions over windows; the input is sorted by partition and order.
    Window(Box<Window>),
    /// The input in an order; only so many rows where a limit follows.
    Sort { input: Box<Node>, keys: Vec<SortKey>, limit: Option<TopRows> },
    /// Some of the first rows.
    Top { input: Box<Node>, top: TopRows, ties: Option<Vec<SortKey>> },
    /// All rows of all inputs, whose columns are those of the result, in order.
    Concat(Vec<Node>),
    /// EXCEPT and INTERSECT over inputs with the columns of the result.
    SetOperation { operation: SetOperation, left: Box<Node>, right: Box<Node> },
    /// All rows as one text: the columns of the input are those of the text, in order.
    Text { input: Box<Node>, text: Box<TextQuery> },
    /// A recursion.
    Recursive { number: usize, anchor: Box<Node>, step: Box<Node>, most: u32 },
    /// The rows that were added last to a recursion.
    Recent { number: usize },
}

/// How many rows are left.
#[derive(Clone, Debug)]
pub struct TopRows {
    /// Rows that are left out first.
    pub skip: Option<Expression>,
    /// Rows that follow.
    pub count: Option<Expression>,
    /// The count is a share in percent.
    pub is_percent: bool,
}

/// A reading of a table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table; its hints.
    pub table: BoundTable,
    /// Numbers of the columns that are read, in the order of the result.
    pub ordinals: Vec<usize>,
    /// Is the last column of the result the place of the row?
    pub has_locator: bool,
    /// Which rows.
    pub access: Access,
    /// Comparisons of columns (numbers in the table) with values that are known when the scan
    /// begins; a NULL value leaves no row.
    pub comparisons: Vec<Comparison>,
    /// Rows that are expected to be read, whether the comparisons leave them or not.
    pub read_rows: f64,
    /// May several threads read it, in any order?
    pub is_parallel: bool,
}

/// Rows of a provider.
#[derive(Clone)]
pub struct ProvidedRows {
    /// Where they come from.
    pub provider: Arc<dyn RowProvider>,
    /// The columns that are read, in the order of the result.
    pub columns: Vec<RequestedColumn>,
}

impl std::fmt::Debug for ProvidedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProvidedRows").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// A comparison that a scan makes on its own.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Number of the column in the table.
    pub ordinal: usize,
    /// The operator.
    pub op: CompareOp,
    /// Of the column's type; without columns.
    pub value: Expression,
}

/// How a table is read.
#[derive(Clone, Debug)]
pub enum Access {
    /// All of it.
    Whole,
    /// A range of an index.
    Range(Box<IndexRange>),
}

/// A range of an index: values of its first columns, then bounds of the next one.
#[derive(Clone, Debug)]
pub struct IndexRange {
    /// Name of the index.
    pub index: String,
    /// Values of its first columns; a NULL leaves no row.
    pub equal: Vec<Expression>,
    /// Bound of the next column in the index's order, and whether it is included.
    pub from: Option<(Expression, bool)>,
    /// The other bound.
    pub to: Option<(Expression, bool)>,
    /// Does a NULL among `equal` stand for IS NULL?
    pub nulls_match: Vec<bool>,
    /// Is the column of the bounds a descending one of the index? NULLs are at its end then, and at
    /// its beginning otherwise; they satisfy no bound.
    pub is_descending: bool,
    /// Against the order of the index.
    pub is_backward: bool,
}

/// A join by equal keys.
#[derive(Clone, Debug)]
pub struct HashJoin {
    /// Which rows it gives. `Single` too.
    pub kind: JoinKind,
    /// Read second; its rows look for partners.
    pub left: Node,
    /// Read first, into memory.
    pub right: Node,
    /// Columns of left and right that must be equal, of equal types; NULL is equal to nothing.
    pub keys: Vec<(usize, usize)>,
    /// Over the columns of left, then of right.
    pub condition: Option<Expression>,
}

/// A join by a loop.
#[derive(Clone, Debug)]
pub struct LoopJoin {
    /// Which rows it gives.
    pub kind: JoinKind,
    /// The outer input.
    pub left: Node,
    /// The inner one.
    pub right: Node,
    /// Values of the left input that the right one uses: number and column. Empty: the right input
    /// is the same for all rows, and kept.
    pub bindings: Vec<(ValueId, usize)>,
    /// Over the columns of left, then of right.
    pub condition: Option<Expression>,
}

/// An aggregation.
#[derive(Clone, Debug)]
pub struct Grouping {
    /// What is grouped.
    pub input: Node,
    /// Columns whose equal values make a group; none, and no sets: all rows are one group, which is
    /// there without rows, too.
    pub keys: Vec<usize>,
    /// The aggregates.
    pub calls: Vec<AggregateCall>,
    /// Sets of keys (numbers in `keys`), each grouped for itself; keys that are not in a set are
    /// NULL.
    pub sets: Option<Vec<Vec<usize>>>,
    /// For each GROUPING or GROUPING_ID: the keys that it asks for.
    pub groupings: Vec<Vec<usize>>,
    /// Do rows of a group follow each other in the input?
    pub is_ordered: bool,
    /// May it be made of groupings of parts of the input?
    pub is_divisible: bool,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which one.
    pub function: Aggregate,
    /// Column of the argument; `None` for `COUNT(*)`.
    pub argument: Option<usize>,
    /// Type of the argument.
    pub argument_type: SqlType,
    /// Column of the separator.
    pub separator: Option<usize>,
    /// Each value once?
    pub is_distinct: bool,
    /// Order of the values.
    pub order: Vec<SortKey>,
    /// Type of the result.
    pub ty: SqlType,
}

/// Functions over windows.
#[derive(Clone, Debug)]
pub struct Window {
    /// Sorted by partition, then order.
    pub input: Node,
    /// Columns whose equal values make a partition.
    pub partition: Vec<usize>,
    /// The order within a partition.
    pub order: Vec<SortKey>,
    /// The functions.
    pub calls: Vec<WindowCall>,
}

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// Which one.
    pub function: WindowFunction,
    /// Columns of the arguments.
    pub arguments: Vec<usize>,
    /// Their types.
    pub argument_types: Vec<SqlType>,
    /// The rows that it looks at.
    pub frame: Frame,
    /// IGNORE NULLS.
    pub ignores_nulls: bool,
    /// Type of the result.
    pub ty: SqlType,
}
