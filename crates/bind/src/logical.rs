//! Logical plans: what a query means, in operators of relational algebra.
//!
//! Every value of a plan has a number of its own ([`ValueId`]); an operator adds values to those of
//! its inputs, and expressions name them by number. So a subtree may be moved wherever the values
//! that it uses are there, and a correlated subquery is one that uses values of no input of its
//! own.
//!
//! Invariants
//! - A number has one meaning and one type in its plan.
//! - Conditions are conjuncts: each of a list must be true.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_expr::json_rows::JsonField;
use extentdb_expr::{Scalar, XmlNodes};
use extentdb_types::SqlType;

use crate::function::{Aggregate, WindowFunction};
use crate::provider::{CallProvider, RowProvider};
use crate::table::BoundTable;

/// Number of a value in a plan; the place of its parameter in expressions.
pub type ValueId = usize;

/// A value that an operator gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its number.
    pub id: ValueId,
    /// Its type, with the collation of texts.
    pub ty: SqlType,
    /// Can it be NULL?
    pub is_nullable: bool,
}

/// A value with its number.
#[derive(Clone, Debug)]
pub struct Computed {
    /// Its number.
    pub id: ValueId,
    /// What it is.
    pub value: Scalar,
}

/// How rows of two inputs are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    /// Pairs that satisfy the condition.
    Inner,
    /// The same, and rows of the left input without a partner, with NULLs.
    Left,
    /// The same of both inputs.
    Full,
    /// Rows of the left input that have a partner.
    Semi,
    /// Rows of the left input that have none.
    Anti,
    /// All rows of the left input with a bit: has it a partner? NULL when that is unknown: a
    /// condition was unknown and none was true.
    Mark(ValueId),
    /// Each row of the left input with the one partner it may have, or NULLs; a second one is an
    /// error (512).
    Single,
}

/// A key of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderKey {
    /// The value.
    pub id: ValueId,
    /// Greatest first.
    pub is_descending: bool,
}

/// A call of an aggregate.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The result.
    pub column: Column,
    /// Which one.
    pub function: Aggregate,
    /// Its argument; `None` for `COUNT(*)`.
    pub argument: Option<ValueId>,
    /// The separator of STRING_AGG.
    pub separator: Option<ValueId>,
    /// Each value once?
    pub is_distinct: bool,
    /// WITHIN GROUP.
    pub order: Vec<OrderKey>,
}

/// A call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The result.
    pub column: Column,
    /// Which one.
    pub function: WindowFunction,
    /// Its arguments.
    pub arguments: Vec<ValueId>,
    /// The rows that it looks at.
    pub frame: Frame,
    /// IGNORE NULLS.
    pub ignores_nulls: bool,
}

/// The rows around a row that a window function looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// RANGE: rows of equal keys belong together; else ROWS.
    pub is_range: bool,
    /// Its first row.
    pub start: FrameBound,
    /// Its last row.
    pub end: FrameBound,
}

/// An end of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// So many rows before.
    Preceding(u64),
    /// The row itself.
    CurrentRow,
    /// So many rows after.
    Following(u64),
    /// The last row of the partition.
    UnboundedFollowing,
}

/// Set operations; UNION ALL is a concatenation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetOperation {
    /// EXCEPT: rows of the left input that the right one does not have, each once.
    Except,
    /// INTERSECT: rows of both, each once.
    Intersect,
}

/// How many rows TOP, OFFSET and FETCH leave.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Rows that are left out first.
    pub skip: Option<Scalar>,
    /// Rows that follow; a share in percent when `is_percent`.
    pub count: Option<Scalar>,
    /// TOP … PERCENT.
    pub is_percent: bool,
    /// WITH TIES: rows that are equal to the last one by these keys, too.
    pub ties: Option<Vec<OrderKey>>,
}

/// A relation: rows of values.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "fields are the inputs and parameters of their operator")]
pub enum Relation {
    /// One row without values.
    Row,
    /// Rows of constants.
    Values { columns: Vec<Column>, rows: Vec<Vec<Scalar>> },
    /// Rows of a table.
    Table(Box<BoundTable>),
    /// Rows that a function or a system view makes.
    Function(Box<TableFunction>),
    /// Rows that satisfy the conditions.
    Filter { input: Box<Relation>, conditions: Vec<Scalar> },
    /// The same rows with more values.
    Compute { input: Box<Relation>, values: Vec<Computed> },
    /// The same rows with a value that the session's function gives for each.
    Call { input: Box<Relation>, call: FunctionCall },
    /// Rows of both inputs.
    Join {
        kind: JoinKind,
        left: Box<Relation>,
        /// May use values of the left input: it is then evaluated for each of its rows.
        right: Box<Relation>,
        conditions: Vec<Scalar>,
    },
    /// A row for each group.
    Aggregate {
        input: Box<Relation>,
        keys: Vec<ValueId>,
        calls: Vec<AggregateCall>,
        /// Sets of keys (numbers in `keys`) that are grouped by, each for itself; `None`: by all.
        sets: Option<GroupingSets>,
    },
    /// The same rows with values of functions over rows around them.
    Window {
        input: Box<Relation>,
        partition: Vec<ValueId>,
        order: Vec<OrderKey>,
        calls: Vec<WindowCall>,
    },
    /// The rows in an order.
    Sort { input: Box<Relation>, order: Vec<OrderKey> },
    /// Some of the first rows.
    Limit { input: Box<Relation>, limit: Box<Limit> },
    /// The rows of all inputs, one after the other: the columns of each, in order, become
    /// `columns`.
    Concat { inputs: Vec<(Relation, Vec<ValueId>)>, columns: Vec<Column> },
    /// Rows by their equality, NULL being equal to NULL.
    SetOperation {
        operation: SetOperation,
        left: Box<(Relation, Vec<ValueId>)>,
        right: Box<(Relation, Vec<ValueId>)>,
        columns: Vec<Column>,
    },
    /// All rows as one text; no row without any.
    Text { input: Box<Relation>, text: Box<TextQuery> },
    /// The rows of `anchor`, and those that `step` makes of the rows added last, until there are
    /// none.
    Recursive(Box<Recursive>),
    /// In the step of a recursion: the rows that were added last.
    Recent { recursion: usize, columns: Vec<Column> },
}

/// FOR JSON, FOR XML.
#[derive(Clone, Debug)]
pub struct TextQuery {
    /// The columns of the text.
    pub items: Vec<TextItem>,
    /// How they are written.
    pub form: TextForm,
    /// The text.
    pub column: Column,
}

/// A column of a text.
#[derive(Clone, Debug)]
pub struct TextItem {
    /// Its name.
    pub name: String,
    /// Its value.
    pub id: ValueId,
    /// Is it written as it is: JSON or XML itself?
    pub is_raw: bool,
}

/// How rows are written.
#[derive(Clone, Debug)]
pub enum TextForm {
    /// FOR JSON.
    Json {
        /// ROOT.
        root: Option<String>,
        /// INCLUDE_NULL_VALUES.
        includes_nulls: bool,
        /// Not WITHOUT_ARRAY_WRAPPER.
        has_array: bool,
    },
    /// FOR XML.
    Xml(XmlForm),
}

/// FOR XML.
#[derive(Clone, Debug)]
pub struct XmlForm {
    /// Which elements rows become.
    pub mode: XmlRows,
    /// ROOT.
    pub root: Option<String>,
    /// ELEMENTS: columns are elements, not attributes.
    pub has_elements: bool,
    /// XSINIL.
    pub shows_nulls: bool,
    /// Declarations of WITH XMLNAMESPACES, as attributes; of the root, or of each first element.
    pub namespaces: String,
}

/// Which elements the rows of FOR XML become.
#[derive(Clone, Debug)]
pub enum XmlRows {
    /// RAW: an element of this name for each row.
    Raw(String),
    /// PATH: an element of this name, or none when it is empty; names of columns are paths.
    Path(String),
    /// AUTO: an element for each table, within that of the table before it.
    Auto {
        /// Names of the elements, from the outside.
        names: Vec<String>,
        /// The level of each column.
        levels: Vec<usize>,
    },
    /// EXPLICIT: the first columns are the tag and that of the parent.
    Explicit(Vec<ExplicitColumn>),
}

/// `element!tag!attribute!directive`: a column of FOR XML EXPLICIT.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplicitColumn {
    /// Name of the element.
    pub element: String,
    /// The tag that its rows have.
    pub tag: i32,
    /// Name of the attribute, or of an element within; empty for the text of the element.
    pub attribute: String,
    /// What the value is.
    pub directive: ExplicitDirective,
}

/// What a column of FOR XML EXPLICIT is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplicitDirective {
    /// An attribute, or the text where it has no name.
    Attribute,
    /// An element within.
    Element,
    /// The same, with xsi:nil for NULL.
    ElementXsiNil,
    /// XML as it is written.
    Xml,
    /// A CDATA section.
    Cdata,
    /// Nothing: the rows are sorted by it.
    Hide,
}

/// A recursive common table expression.
#[derive(Clone, Debug)]
pub struct Recursive {
    /// Which recursion [`Relation::Recent`] belongs to.
    pub number: usize,
    /// Where it begins.
    pub anchor: (Relation, Vec<ValueId>),
    /// The rows after those.
    pub step: (Relation, Vec<ValueId>),
    /// The columns of the result.
    pub columns: Vec<Column>,
    /// MAXRECURSION; 0 for no limit.
    pub most: u32,
}

/// Several groupings at once.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupingSets {
    /// Numbers of keys, for each set.
    pub sets: Vec<Vec<usize>>,
    /// Values of GROUPING and GROUPING_ID: the keys that they ask for.
    pub groupings: Vec<(ValueId, Vec<usize>)>,
}

/// A call of a function of the session.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// The result.
    pub column: Column,
    /// Which one: a number that the caller of the binder knows.
    pub function: usize,
    /// Its arguments.
    pub arguments: Vec<Scalar>,
    /// Is the last argument a guard? The function is called where it is 1, and is NULL elsewhere.
    pub is_guarded: bool,
}

/// Rows that are made, not stored.
#[derive(Clone, Debug)]
pub struct TableFunction {
    /// Where the rows come from.
    pub source: RowsSource,
    /// What they have.
    pub columns: Vec<Column>,
}

/// Where rows come from that no table stores.
#[derive(Clone)]
#[allow(missing_docs, reason = "fields are arguments")]
pub enum RowsSource {
    /// A system view, or a table of files that are only read.
    Provider(Arc<dyn RowProvider>),
    /// A function of the system.
    Called { provider: Arc<dyn CallProvider>, arguments: Vec<Scalar> },
    /// A function of users that the session runs, by its number.
    User { function: usize, arguments: Vec<Scalar> },
    /// STRING_SPLIT (text, separator [, enable_ordinal]).
    StringSplit(Vec<Scalar>),
    /// GENERATE_SERIES (start, stop [, step]).
    GenerateSeries(Vec<Scalar>),
    /// OPENJSON (text [, path]) [WITH …].
    OpenJson { arguments: Vec<Scalar>, fields: Option<Vec<JsonField>> },
    /// document.nodes(…): document, node or -1, values that the query names.
    XmlNodes { arguments: Vec<Scalar>, nodes: XmlNodes },
}

impl std::fmt::Debug for RowsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RowsSource::Provider(_) => "Provider",
            RowsSource::Called { .. } => "Called",
            RowsSource::User { .. } => "User",
            RowsSource::StringSplit(_) => "StringSplit",
            RowsSource::GenerateSeries(_) => "GenerateSeries",
            RowsSource::OpenJson { .. } => "OpenJson",
            RowsSource::XmlNodes { .. } => "XmlNodes",
        })
    }
}

impl Relation {
    /// Is a value NULL as it is written, in all rows?
    pub(crate) fn is_null(&self, id: ValueId) -> bool {
        match self {
            Relation::Compute { input, values } => {
                match values.iter().find(|computed| computed.id == id) {
                    Some(computed) => computed.value.is_null_literal(),
                    None => input.is_null(id),
                }
            }
            Relation::Filter { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Limit { input, .. } => input.is_null(id),
            Relation::Concat { inputs, columns } => {
                let at = columns.iter().position(|column| column.id == id);
                at.is_some_and(|at| {
                    inputs
                        .iter()
                        .all(|(input, ids)| ids.get(at).is_some_and(|id| input.is_null(*id)))
                })
            }
            _ => false,
        }
    }

    /// The values that it gives.
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns
    }

    fn collect_columns(&self, out: &mut Vec<Column>) {
        match self {
            Relation::Row => {}
            Relation::Values { columns, .. }
            | Relation::Concat { columns, .. }
            | Relation::SetOperation { columns, .. }
            | Relation::Recent { columns, .. } => out.extend_from_slice(columns),
            Relation::Table(table) => {
                out.extend(table.columns.iter().map(|it| it.column.clone()));
                out.extend(table.locator.map(|id| Column {
                    id,
                    ty: SqlType::VarBinary { len: None },
                    is_nullable: false,
                }));
            }
            Relation::Function(function) => out.extend_from_slice(&function.columns),
            Relation::Filter { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Limit { input, .. } => input.collect_columns(out),
            Relation::Compute { input, values } => {
                input.collect_columns(out);
                out.extend(values.iter().map(Computed::column));
            }
            Relation::Call { input, call } => {
                input.collect_columns(out);
                out.push(call.column.clone());
            }
            Relation::Join { kind, left, right, .. } => join_columns(*kind, left, right, out),
            Relation::Aggregate { input, keys, calls, sets } => {
                let given = input.columns();
                let is_nullable = sets.is_some();
                out.extend(keys.iter().filter_map(|key| {
                    let column = given.iter().find(|column| column.id == *key)?;
                    Some(Column {
                        is_nullable: is_nullable || column.is_nullable,
                        ..column.clone()
                    })
                }));
                out.extend(calls.iter().map(|call| call.column.clone()));
                if let Some(sets) = sets {
                    out.extend(sets.groupings.iter().map(|(id, _)| Column {
                        id: *id,
                        ty: SqlType::Int,
                        is_nullable: false,
                    }));
                }
            }
            Relation::Window { input, calls, .. } => {
                input.collect_columns(out);
                out.extend(calls.iter().map(|call| call.column.clone()));
            }
            Relation::Text { text, .. } => out.push(text.column.clone()),
            Relation::Recursive(recursive) => out.extend_from_slice(&recursive.columns),
        }
    }

    /// Does it read this table?
    pub fn reads(&self, table: ObjectId) -> bool {
        match self {
            Relation::Table(own) => own.table.id() == table,
            Relation::Row
            | Relation::Values { .. }
            | Relation::Function(_)
            | Relation::Recent { .. } => false,
            Relation::Filter { input, .. }
            | Relation::Compute { input, .. }
            | Relation::Call { input, .. }
            | Relation::Aggregate { input, .. }
            | Relation::Window { input, .. }
            | Relation::Sort { input, .. }
            | Relation::Text { input, .. }
            | Relation::Limit { input, .. } => input.reads(table),
            Relation::Join { left, right, .. } => left.reads(table) || right.reads(table),
            Relation::Concat { inputs, .. } => inputs.iter().any(|(input, _)| input.reads(table)),
            Relation::SetOperation { left, right, .. } => {
                left.0.reads(table) || right.0.reads(table)
            }
            Relation::Recursive(recursive) => {
                recursive.anchor.0.reads(table) || recursive.step.0.reads(table)
            }
        }
    }

    /// The same rows with more values; itself when there are none to add.
    #[must_use]
    pub fn computing(self, values: Vec<Computed>) -> Relation {
        if values.is_empty() {
            return self;
        }
        Relation::Compute { input: Box::new(self), values }
    }

    /// The rows that satisfy conditions; itself when there are none.
    #[must_use]
    pub fn filtered(self, conditions: Vec<Scalar>) -> Relation {
        if conditions.is_empty() {
            return self;
        }
        Relation::Filter { input: Box::new(self), conditions }
    }
}

fn join_columns(kind: JoinKind, left: &Relation, right: &Relation, out: &mut Vec<Column>) {
    let from = out.len();
    left.collect_columns(out);
    if kind == JoinKind::Full {
        out.iter_mut().skip(from).for_each(|column| column.is_nullable = true);
    }
    let middle = out.len();
    match kind {
        JoinKind::Semi | JoinKind::Anti => {}
        JoinKind::Mark(id) => out.push(Column { id, ty: SqlType::Bit, is_nullable: true }),
        JoinKind::Inner => right.collect_columns(out),
        JoinKind::Left | JoinKind::Full | JoinKind::Single => {
            right.collect_columns(out);
            out.iter_mut().skip(middle).for_each(|column| column.is_nullable = true);
        }
    }
}

impl Computed {
    /// The value that it gives.
    pub fn column(&self) -> Column {
        Column {
            id: self.id,
            ty: self.value.ty(),
            is_nullable: self.value.is_nullable(),
        }
    }
}
