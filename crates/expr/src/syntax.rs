//! The syntax tree, flat: operands stand before the nodes that use them.
//!
//! Invariants
//! - A node names only nodes before it, so that one loop from first to last meets every operand
//!   first: nothing walks the tree by recursion, however long a chain of ORs is.
//! - `BETWEEN` and `IN` are already comparisons; their operand is one node used several times.

pub(crate) use extentdb_kernel::operator::compare::Test;
use extentdb_types::SqlType;

use crate::error::CompileError;
use crate::resolver::Parameter;

/// Most nodes of one expression.
pub(crate) const MAX_NODES: usize = 8_000;

/// Names of functions that T-SQL writes in another way. No identifier begins like them; what
/// follows is the name for refusals.
pub(crate) const IS_DISTINCT: &str = "\0IS DISTINCT FROM";
pub(crate) const AT_TIME_ZONE: &str = "\0AT TIME ZONE";
pub(crate) const PARSE: &str = "\0the function parse";
pub(crate) const TRY_PARSE: &str = "\0the function try_parse";
pub(crate) const ODBC_ESCAPE: &str = "\0an ODBC escape";
/// Stands before the name of a function in `{fn …}`.
pub(crate) const ODBC_FUNCTION: &str = "\0the function ";

/// Functions that ODBC names otherwise: its name, ours, the part of a date.
pub(crate) const ODBC_FUNCTIONS: [(&str, &str, Option<&str>); 15] = [
    ("octet_length", "datalength", None),
    ("dayname", "datename", Some("weekday")),
    ("monthname", "datename", Some("month")),
    ("ucase", "upper", None),
    ("lcase", "lower", None),
    ("length", "len", None),
    ("ifnull", "isnull", None),
    ("dayofmonth", "day", None),
    ("dayofweek", "datepart", Some("weekday")),
    ("dayofyear", "datepart", Some("dayofyear")),
    ("hour", "datepart", Some("hour")),
    ("minute", "datepart", Some("minute")),
    ("quarter", "datepart", Some("quarter")),
    ("second", "datepart", Some("second")),
    ("week", "datepart", Some("week")),
];

/// A node's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) usize);

/// The operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Infix {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
}

/// The name of a type as CONVERT and CAST write it; `max` is `Some(None)` as first parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypeName {
    pub(crate) name: String,
    pub(crate) first: Option<Option<u32>>,
    pub(crate) second: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Integer(String),
    Decimal(String),
    Float(String),
    Money(String),
    Text {
        text: String,
        is_wide: bool,
    },
    Binary(Vec<u8>),
    Column(String),
    /// A value from outside of the row.
    Parameter(Parameter),
    Negate(Id),
    /// Unary plus, which changes nothing.
    Plus(Id),
    BitNot(Id),
    Infix(Infix, Id, Id),
    Compare(Test, Id, Id),
    And(Id, Id),
    Or(Id, Id),
    Not(Id),
    IsNull(Id),
    Like {
        of: Id,
        pattern: Id,
        escape: Option<Id>,
    },
    Case {
        operand: Option<Id>,
        arms: Vec<(Id, Id)>,
        other: Option<Id>,
    },
    /// A function; `part` is the first argument of the date functions.
    Call {
        name: String,
        part: Option<String>,
        args: Vec<Id>,
    },
    Convert {
        to: TypeName,
        of: Id,
        style: Option<Id>,
        /// TRY_CAST, TRY_CONVERT: NULL where it fails.
        is_try: bool,
    },
    Collate(Id, String),
    /// A value as one of a type, as an assignment converts it.
    Assigned(Id, SqlType),
    /// The same, NULL where it fails.
    TryAssigned(Id, SqlType),
    /// A bit as a condition: unknown when it is NULL.
    IsSet(Id),
}

impl Node {
    /// The same node over other operands.
    pub(crate) fn with_operands(&self, to: &mut dyn FnMut(Id) -> Id) -> Node {
        let mut node = self.clone();
        node.each_operand(&mut |id| *id = to(*id));
        node
    }

    /// Calls `each` with the operands, in order.
    pub(crate) fn each_operand(&mut self, each: &mut dyn FnMut(&mut Id)) {
        match self {
            Node::Null
            | Node::Integer(_)
            | Node::Decimal(_)
            | Node::Float(_)
            | Node::Money(_)
            | Node::Text { .. }
            | Node::Binary(_)
            | Node::Column(_)
            | Node::Parameter(_) => {}
            Node::Negate(a)
            | Node::Plus(a)
            | Node::BitNot(a)
            | Node::Not(a)
            | Node::IsNull(a)
            | Node::Collate(a, _)
            | Node::Assigned(a, _)
            | Node::TryAssigned(a, _)
            | Node::IsSet(a) => each(a),
            Node::Infix(_, a, b) | Node::Compare(_, a, b) | Node::And(a, b) | Node::Or(a, b) => {
                each(a);
                each(b);
            }
            Node::Like { of, pattern, escape } => {
                each(of);
                each(pattern);
                escape.iter_mut().for_each(each);
            }
            Node::Case { operand, arms, other } => {
                operand.iter_mut().for_each(&mut *each);
                for (when, then) in arms {
                    each(when);
                    each(then);
                }
                other.iter_mut().for_each(each);
            }
            Node::Call { args, .. } => args.iter_mut().for_each(each),
            Node::Convert { of, style, .. } => {
                each(of);
                style.iter_mut().for_each(each);
            }
        }
    }
}

/// A parsed expression; the last node is the root.
#[derive(Debug, Default, Clone)]
pub(crate) struct Syntax {
    nodes: Vec<(Node, usize)>,
}

/// Wherever they stand in their texts.
impl PartialEq for Syntax {
    fn eq(&self, other: &Syntax) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|((a, _), (b, _))| a == b)
    }
}

impl Syntax {
    /// Appends a node that begins at byte `at`.
    pub(crate) fn push(&mut self, node: Node, at: usize) -> Result<Id, CompileError> {
        if self.nodes.len() >= MAX_NODES {
            return Err(CompileError::TooLarge { what: "operators and values", limit: MAX_NODES });
        }
        self.nodes.push((node, at));
        Ok(Id(self.nodes.len() - 1))
    }

    /// A node; `None` for an id of another tree.
    pub(crate) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id.0).map(|(node, _)| node)
    }

    /// The last node.
    pub(crate) fn root(&self) -> Id {
        Id(self.nodes.len().saturating_sub(1))
    }

    /// The nodes and their places in the text, operands first.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Node, usize)> {
        self.nodes.iter().map(|(node, at)| (node, *at))
    }
}
