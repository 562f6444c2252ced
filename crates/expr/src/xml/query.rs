//! The syntax tree of XQuery, as far as it is known here.

use super::document::Name;

/// A text of XQuery.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) body: Body,
    /// What `sql:variable` and `sql:column` name, by the numbers in the tree.
    pub(crate) outside: Vec<Outside>,
}

/// A value of the statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outside {
    Variable(String),
    Column(String),
}

/// An expression, or what `modify` does.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Value(Expr),
    Insert { what: Expr, place: Place, target: Expr },
    Delete(Expr),
    Replace { target: Expr, with: Expr },
}

/// Where `insert` puts nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Last,
    Before,
    After,
}

#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Number(f64),
    Text(String),
    Variable(String),
    Outside(usize),
    /// `.`
    Item,
    /// `/`
    Root,
    Path {
        from: Box<Expr>,
        steps: Vec<Step>,
    },
    Filter {
        of: Box<Expr>,
        predicates: Vec<Expr>,
    },
    Call(Function, Vec<Expr>),
    Cast {
        of: Box<Expr>,
        to: Atomic,
    },
    Or(Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Compare {
        left: Box<Expr>,
        test: Test,
        right: Box<Expr>,
        is_value: bool,
    },
    Arithmetic(Box<Expr>, Arithmetic, Box<Expr>),
    Negate(Box<Expr>),
    Sequence(Vec<Expr>),
    If {
        condition: Box<Expr>,
        then: Box<Expr>,
        other: Box<Expr>,
    },
    Flwor(Box<Flwor>),
    Quantified {
        is_every: bool,
        bindings: Vec<(String, Expr)>,
        satisfies: Box<Expr>,
    },
    Element(Box<Element>),
    /// `attribute name { … }`
    Attribute(Name, Box<Expr>),
    /// `text { … }`
    TextNode(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// `is`
    Same,
    /// `<<`
    Precedes,
    /// `>>`
    Follows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// Types of values, as far as they differ here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atomic {
    Number,
    Integer,
    Text,
    Boolean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Self_,
    Parent,
    Attribute,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NodeTest {
    /// `node()`
    Any,
    /// `text()`
    Text,
    /// `comment()`
    Comment,
    /// `processing-instruction()`
    Instruction,
    /// A name; `None` is `*`.
    Named { uri: Option<String>, local: Option<String> },
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) axis: Axis,
    pub(crate) test: NodeTest,
    pub(crate) predicates: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Flwor {
    pub(crate) clauses: Vec<Clause>,
    /// Keys of `order by`, and whether they descend.
    pub(crate) order: Vec<(Expr, bool)>,
    pub(crate) result: Expr,
}

#[derive(Debug, Clone)]
pub(crate) enum Clause {
    For { variable: String, of: Expr },
    Let { variable: String, of: Expr },
    Where(Expr),
}

/// `<name a="…">…</name>` and `element name { … }`
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) name: Name,
    pub(crate) declared: Vec<(String, String)>,
    pub(crate) attributes: Vec<(Name, Vec<Expr>)>,
    pub(crate) content: Vec<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Average,
    Ceiling,
    Concat,
    Contains,
    Count,
    Data,
    DistinctValues,
    Empty,
    False,
    Floor,
    Last,
    LocalName,
    LowerCase,
    Max,
    Min,
    NamespaceUri,
    Not,
    Number,
    Position,
    Round,
    String,
    StringLength,
    Substring,
    Sum,
    True,
    UpperCase,
}

impl Function {
    /// The function of a name, and how many arguments it takes.
    pub(crate) fn named(name: &str) -> Option<(Function, usize, usize)> {
        Some(match name {
            "avg" => (Function::Average, 1, 1),
            "ceiling" => (Function::Ceiling, 1, 1),
            "concat" => (Function::Concat, 2, usize::MAX),
            "contains" => (Function::Contains, 2, 2),
            "count" => (Function::Count, 1, 1),
            "data" => (Function::Data, 1, 1),
            "distinct-values" => (Function::DistinctValues, 1, 1),
            "empty" => (Function::Empty, 1, 1),
            "false" => (Function::False, 0, 0),
            "floor" => (Function::Floor, 1, 1),
            "last" => (Function::Last, 0, 0),
            "local-name" => (Function::LocalName, 0, 1),
            "lower-case" => (Function::LowerCase, 1, 1),
            "max" => (Function::Max, 1, 1),
            "min" => (Function::Min, 1, 1),
            "namespace-uri" => (Function::NamespaceUri, 0, 1),
            "not" => (Function::Not, 1, 1),
            "number" => (Function::Number, 0, 1),
            "position" => (Function::Position, 0, 0),
            "round" => (Function::Round, 1, 1),
            "string" => (Function::String, 0, 1),
            "string-length" => (Function::StringLength, 0, 1),
            "substring" => (Function::Substring, 2, 3),
            "sum" => (Function::Sum, 1, 1),
            "true" => (Function::True, 0, 0),
            "upper-case" => (Function::UpperCase, 1, 1),
            _ => return None,
        })
    }
}

impl Expr {
    /// Is it never more than one item, by its form alone?
    pub(crate) fn is_single(&self) -> bool {
        match self {
            Expr::Path { from, steps } => from.is_single() && steps.iter().all(Step::is_single),
            Expr::Filter { of, predicates } => {
                of.is_single() || predicates.iter().any(Expr::is_position)
            }
            Expr::Call(function, arguments) => match function {
                Function::Data => arguments.iter().all(Expr::is_single),
                Function::DistinctValues => false,
                _ => true,
            },
            Expr::Sequence(parts) => match parts.as_slice() {
                [] => true,
                [part] => part.is_single(),
                _ => false,
            },
            Expr::If { then, other, .. } => then.is_single() && other.is_single(),
            Expr::Flwor(_) => false,
            _ => true,
        }
    }

    /// Does it choose one item by its position?
    fn is_position(&self) -> bool {
        let is_place = |expr: &Expr| {
            matches!(expr, Expr::Number(_) | Expr::Outside(_) | Expr::Call(Function::Last, _))
        };
        match self {
            Expr::Compare { left, test: Test::Equal, right, .. } => {
                let is_asked = |expr: &Expr| matches!(expr, Expr::Call(Function::Position, _));
                (is_asked(left) && is_place(right)) || (is_asked(right) && is_place(left))
            }
            expr => is_place(expr),
        }
    }

    /// What it gives, as messages name it: the last step decides.
    pub(crate) fn type_name(&self) -> String {
        let count = if self.is_single() { "?" } else { "*" };
        let Some(step) = self.last_step() else { return format!("node() {count}") };
        let kind = match &step.test {
            NodeTest::Text => "text".to_owned(),
            NodeTest::Comment => "comment".to_owned(),
            NodeTest::Instruction => "processing-instruction".to_owned(),
            NodeTest::Any => "node()".to_owned(),
            NodeTest::Named { local, .. } => {
                let name = local.as_deref().unwrap_or("*");
                match step.axis {
                    Axis::Attribute => format!("attribute({name},xdt:untypedAtomic)"),
                    _ => format!("element({name},xdt:untyped)"),
                }
            }
        };
        format!("{kind} {count}")
    }

    fn last_step(&self) -> Option<&Step> {
        match self {
            Expr::Path { steps, .. } => steps.last(),
            Expr::Filter { of, .. } => of.last_step(),
            Expr::Sequence(parts) => match parts.as_slice() {
                [part] => part.last_step(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Is the last step one to an element?
    pub(crate) fn is_element(&self) -> bool {
        self.last_step().is_some_and(|step| {
            step.axis != Axis::Attribute && matches!(step.test, NodeTest::Named { .. })
        })
    }
}

impl Step {
    fn is_single(&self) -> bool {
        let is_one = match (self.axis, &self.test) {
            (Axis::Self_ | Axis::Parent, _) => true,
            (Axis::Attribute, NodeTest::Named { local, .. }) => local.is_some(),
            _ => false,
        };
        is_one || self.predicates.iter().any(Expr::is_position) && self.axis == Axis::Child
    }
}
