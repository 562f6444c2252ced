//! Bound expressions: trees whose names are parameters, as plans keep, combine and compile them.
//!
//! ```text
//! tsql::Expr ── Resolver: names, subqueries, aggregates ──▶ Scalar ── rewritten, moved ──▶ Program
//! ```
//!
//! A plan numbers its values; [`Parameter::place`] is such a number, and [`Scalar::compile`] gives
//! a program whose inputs are these numbers.
//!
//! Invariants
//! - A scalar names no column by its text.
//! - Its type and nullability are those that its program has.

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{Condition, Expr};
use extentdb_types::SqlType;

use crate::bind::{Binder, Ty};
use crate::error::CompileError;
use crate::lower;
use crate::program::{Environment, Program};
use crate::resolver::{Parameter, Resolver};
use crate::syntax::{Id, Infix, Node, Syntax, Test};

/// Sorts after what most texts go on with.
const LAST_LETTERS: &str = "zzz";

/// A comparison between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "variants are operators")]
pub enum ScalarTest {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A value or condition over parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    syntax: Arc<Syntax>,
    ty: SqlType,
    is_condition: bool,
    is_nullable: bool,
}

impl Scalar {
    /// A value of a statement.
    ///
    /// # Errors
    /// A part cannot be compiled, or types do not go together.
    pub fn of_value(
        expr: &Expr,
        environment: &Environment,
        resolver: &mut dyn Resolver,
    ) -> Result<Scalar, CompileError> {
        Scalar::of_syntax(lower::value(expr, resolver, environment.settings)?, environment)
    }

    /// A condition of a statement; its type is bit.
    ///
    /// # Errors
    /// As for [`of_value`](Self::of_value).
    pub fn of_condition(
        condition: &Condition,
        environment: &Environment,
        resolver: &mut dyn Resolver,
    ) -> Result<Scalar, CompileError> {
        Scalar::of_syntax(lower::condition(condition, resolver, environment.settings)?, environment)
    }

    /// A parameter alone.
    #[must_use]
    pub fn parameter(parameter: Parameter) -> Scalar {
        let mut syntax = Syntax::default();
        // The first node of a tree is no node too many.
        let _ = syntax.push(Node::Parameter(parameter), 0);
        Scalar {
            syntax: Arc::new(syntax),
            ty: parameter.ty,
            is_condition: false,
            is_nullable: parameter.is_nullable,
        }
    }

    /// A small integer.
    #[must_use]
    pub fn integer(value: i32) -> Scalar {
        let mut syntax = Syntax::default();
        let digits = Node::Integer(value.unsigned_abs().to_string());
        if let Ok(id) = syntax.push(digits, 0)
            && value < 0
        {
            let _ = syntax.push(Node::Negate(id), 0);
        }
        Scalar {
            syntax: Arc::new(syntax),
            ty: SqlType::Int,
            is_condition: false,
            is_nullable: false,
        }
    }

    /// NULL of a type.
    #[must_use]
    pub fn null(ty: SqlType) -> Scalar {
        let mut syntax = Syntax::default();
        if let Ok(id) = syntax.push(Node::Null, 0) {
            let _ = syntax.push(Node::Assigned(id, ty), 0);
        }
        Scalar {
            syntax: Arc::new(syntax),
            ty,
            is_condition: false,
            is_nullable: true,
        }
    }

    fn of_syntax(syntax: Syntax, environment: &Environment) -> Result<Scalar, CompileError> {
        let mut binder = Binder::new(environment);
        let value = binder.bind(&syntax)?;
        let is_nullable = is_nullable(&syntax, syntax.root());
        let (ty, is_condition) = match value.ty {
            Ty::Sql(ty) => (ty, false),
            Ty::Null => (SqlType::Int, false),
            Ty::Truth => (SqlType::Bit, true),
        };
        Ok(Scalar { syntax: Arc::new(syntax), ty, is_condition, is_nullable })
    }

    /// Type of the value; bit of a condition, int of the literal NULL.
    #[must_use]
    pub fn ty(&self) -> SqlType {
        self.ty
    }

    /// Can it be NULL?
    #[must_use]
    pub fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    /// Is it a condition?
    #[must_use]
    pub fn is_condition(&self) -> bool {
        self.is_condition
    }

    /// The literal NULL, which takes any type.
    #[must_use]
    pub fn is_null_literal(&self) -> bool {
        matches!(self.syntax.node(self.syntax.root()), Some(Node::Null))
    }

    /// The value of a literal int.
    #[must_use]
    pub fn literal_integer(&self) -> Option<i64> {
        let node = |id| self.syntax.node(id);
        match node(self.syntax.root())? {
            Node::Integer(digits) => digits.parse().ok(),
            Node::Negate(of) => match node(*of)? {
                Node::Integer(digits) => digits.parse().ok().map(|value: i64| -value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Is it the same value at every evaluation: no parameter in it?
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.places().next().is_none()
    }

    /// The parameter that it is, when it is nothing else.
    #[must_use]
    pub fn as_parameter(&self) -> Option<Parameter> {
        match self.syntax.node(self.syntax.root())? {
            Node::Parameter(parameter) => Some(*parameter),
            _ => None,
        }
    }

    /// The places of its parameters; a place may come twice.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.syntax.nodes().filter_map(|(node, _)| match node {
            Node::Parameter(parameter) => Some(parameter.place),
            _ => None,
        })
    }

    /// The same with other values for some parameters.
    ///
    /// # Errors
    /// The tree becomes too large, or a value of another type does not fit.
    pub fn replaced(
        &self,
        environment: &Environment,
        by: &dyn Fn(usize) -> Option<Scalar>,
    ) -> Result<Scalar, CompileError> {
        let mut tree = Syntax::default();
        let mut ids: Vec<Id> = Vec::new();
        for (node, at) in self.syntax.nodes() {
            let replacement = match node {
                Node::Parameter(parameter) => by(parameter.place),
                _ => None,
            };
            ids.push(match replacement {
                Some(scalar) => import(&mut tree, &scalar.syntax, None)?,
                None => tree.push(node.with_operands(&mut |id| moved(&ids, id)), at)?,
            });
        }
        Scalar::of_syntax(tree, environment)
    }

    /// The value as an assignment to a variable or column of this type converts it.
    ///
    /// # Errors
    /// There is no such conversion.
    pub fn assigned(&self, to: SqlType, environment: &Environment) -> Result<Scalar, CompileError> {
        if self.ty == to && !self.is_null_literal() {
            return Ok(self.clone());
        }
        let mut tree = Syntax::default();
        let of = import(&mut tree, &self.syntax, None)?;
        tree.push(Node::Assigned(of, to), 0)?;
        let mut assigned = Scalar::of_syntax(tree, environment)?;
        assigned.is_nullable = self.is_nullable;
        Ok(assigned)
    }

    /// The same, NULL where the conversion fails.
    ///
    /// # Errors
    /// There is no such conversion.
    pub fn tried(&self, to: SqlType, environment: &Environment) -> Result<Scalar, CompileError> {
        let mut tree = Syntax::default();
        let of = import(&mut tree, &self.syntax, None)?;
        tree.push(Node::TryAssigned(of, to), 0)?;
        Scalar::of_syntax(tree, environment)
    }

    /// The condition that two values compare so.
    ///
    /// # Errors
    /// They do not compare.
    pub fn compared(
        test: ScalarTest,
        left: &Scalar,
        right: &Scalar,
        environment: &Environment,
    ) -> Result<Scalar, CompileError> {
        combined(left, right, environment, |left, right| Node::Compare(test.into(), left, right))
    }

    /// Both conditions.
    ///
    /// # Errors
    /// The tree becomes too large.
    pub fn and(&self, other: &Scalar, environment: &Environment) -> Result<Scalar, CompileError> {
        combined(self, other, environment, Node::And)
    }

    /// One of the conditions.
    ///
    /// # Errors
    /// The tree becomes too large.
    pub fn or(&self, other: &Scalar, environment: &Environment) -> Result<Scalar, CompileError> {
        combined(self, other, environment, Node::Or)
    }

    /// The sum of two values, as `+` gives it.
    ///
    /// # Errors
    /// They have no sum.
    pub fn plus(&self, other: &Scalar, environment: &Environment) -> Result<Scalar, CompileError> {
        combined(self, other, environment, |left, right| Node::Infix(Infix::Add, left, right))
    }

    /// Does the condition not hold? Unknown stays unknown.
    ///
    /// # Errors
    /// The tree becomes too large.
    pub fn not(&self, environment: &Environment) -> Result<Scalar, CompileError> {
        self.wrapped(environment, Node::Not)
    }

    /// Is the value NULL?
    ///
    /// # Errors
    /// The tree becomes too large.
    pub fn is_null(&self, environment: &Environment) -> Result<Scalar, CompileError> {
        self.wrapped(environment, Node::IsNull)
    }

    /// A bit as a condition.
    ///
    /// # Errors
    /// The tree becomes too large.
    pub fn is_set(&self, environment: &Environment) -> Result<Scalar, CompileError> {
        self.wrapped(environment, Node::IsSet)
    }

    fn wrapped(
        &self,
        environment: &Environment,
        node: fn(Id) -> Node,
    ) -> Result<Scalar, CompileError> {
        let mut tree = Syntax::default();
        let of = import(&mut tree, &self.syntax, None)?;
        tree.push(node(of), 0)?;
        Scalar::of_syntax(tree, environment)
    }

    /// A call of a function of this crate.
    ///
    /// # Errors
    /// The function is not known, or does not take these arguments.
    pub fn call(
        name: &str,
        arguments: &[Scalar],
        environment: &Environment,
    ) -> Result<Scalar, CompileError> {
        let mut tree = Syntax::default();
        let args: Result<Vec<Id>, CompileError> =
            arguments.iter().map(|argument| import(&mut tree, &argument.syntax, None)).collect();
        tree.push(Node::Call { name: name.to_owned(), part: None, args: args? }, 0)?;
        Scalar::of_syntax(tree, environment)
    }

    /// The type that values of several expressions have together: of UNION, CASE, VALUES.
    ///
    /// # Errors
    /// They do not go together.
    pub fn common_type(
        values: &[Scalar],
        environment: &Environment,
    ) -> Result<SqlType, CompileError> {
        let typed: Vec<Scalar> =
            values.iter().filter(|value| !value.is_null_literal()).cloned().collect();
        match typed.as_slice() {
            [] => Ok(SqlType::Int),
            [one] => Ok(one.ty),
            [first, rest @ ..] => {
                let mut common = first.clone();
                for value in rest {
                    let pair = [common, value.clone()];
                    common = Scalar::call("coalesce", &pair, environment)?;
                }
                Ok(common.ty)
            }
        }
    }

    /// How many comparisons it makes: what its evaluation costs, about.
    #[must_use]
    pub fn comparisons(&self) -> usize {
        let nodes = self.syntax.nodes();
        nodes.filter(|(node, _)| matches!(node, Node::Compare(..) | Node::Like { .. })).count()
    }

    /// The parts that AND connects.
    ///
    /// # Errors
    /// Never: parts of what was compiled compile.
    pub fn conjuncts(&self, environment: &Environment) -> Result<Vec<Scalar>, CompileError> {
        let mut parts = Vec::new();
        let mut left = vec![self.syntax.root()];
        while let Some(id) = left.pop() {
            match self.syntax.node(id) {
                Some(Node::And(a, b)) => left.extend([*b, *a]),
                _ => parts.push(self.part(id, environment)?),
            }
        }
        Ok(parts)
    }

    /// The parts that OR connects.
    ///
    /// # Errors
    /// As for [`conjuncts`](Self::conjuncts).
    pub fn disjuncts(&self, environment: &Environment) -> Result<Vec<Scalar>, CompileError> {
        let mut parts = Vec::new();
        let mut left = vec![self.syntax.root()];
        while let Some(id) = left.pop() {
            match self.syntax.node(id) {
                Some(Node::Or(a, b)) => left.extend([*b, *a]),
                _ => parts.push(self.part(id, environment)?),
            }
        }
        Ok(parts)
    }

    /// The comparison that it is, with its operands.
    ///
    /// # Errors
    /// As for [`conjuncts`](Self::conjuncts).
    pub fn as_comparison(
        &self,
        environment: &Environment,
    ) -> Result<Option<(ScalarTest, Scalar, Scalar)>, CompileError> {
        let Some(Node::Compare(test, left, right)) = self.syntax.node(self.syntax.root()) else {
            return Ok(None);
        };
        let left = self.part(*left, environment)?;
        Ok(Some(((*test).into(), left, self.part(*right, environment)?)))
    }

    /// The value that it asks to be NULL.
    ///
    /// # Errors
    /// As for [`conjuncts`](Self::conjuncts).
    pub fn as_is_null(&self, environment: &Environment) -> Result<Option<Scalar>, CompileError> {
        match self.syntax.node(self.syntax.root()) {
            Some(Node::IsNull(of)) => self.part(*of, environment).map(Some),
            _ => Ok(None),
        }
    }

    /// The condition that it negates.
    ///
    /// # Errors
    /// As for [`conjuncts`](Self::conjuncts).
    pub fn as_negation(&self, environment: &Environment) -> Result<Option<Scalar>, CompileError> {
        match self.syntax.node(self.syntax.root()) {
            Some(Node::Not(of)) => self.part(*of, environment).map(Some),
            _ => Ok(None),
        }
    }

    /// What values are about, for which it is true, if it is LIKE with a literal pattern: from the
    /// text before the first wildcard up to a text that is greater than most that begin with it.
    /// None, where the pattern begins with a wildcard. For estimates only: the bounds do not follow
    /// from the condition.
    ///
    /// # Errors
    /// As for [`conjuncts`](Self::conjuncts).
    pub fn as_like_bounds(
        &self,
        environment: &Environment,
    ) -> Result<Option<Vec<Scalar>>, CompileError> {
        let node = |id| self.syntax.node(id);
        let Some(Node::Like { of, pattern, .. }) = node(self.syntax.root()) else {
            return Ok(None);
        };
        let Some(Node::Text { text, is_wide }) = node(*pattern) else { return Ok(None) };
        let begin = text.split(['%', '_', '[']).next().unwrap_or_default();
        let literal = |text: String| {
            let mut syntax = Syntax::default();
            syntax.push(Node::Text { text, is_wide: *is_wide }, 0)?;
            Scalar::of_syntax(syntax, environment)
        };
        let of = self.part(*of, environment)?;
        let compared = |test, text| Scalar::compared(test, &of, &literal(text)?, environment);
        let mut bounds = Vec::new();
        if !begin.is_empty() {
            bounds.push(compared(ScalarTest::GreaterOrEqual, begin.to_owned())?);
            bounds.push(compared(ScalarTest::Less, format!("{begin}{LAST_LETTERS}"))?);
        }
        Ok(Some(bounds))
    }

    fn part(&self, id: Id, environment: &Environment) -> Result<Scalar, CompileError> {
        let mut tree = Syntax::default();
        import(&mut tree, &self.syntax, Some(id))?;
        Scalar::of_syntax(tree, environment)
    }

    /// The program; its [inputs](Program::inputs) are the places of the parameters.
    ///
    /// # Errors
    /// A part cannot be compiled.
    pub fn compile(&self, environment: &Environment) -> Result<Program, CompileError> {
        Program::of_syntax(&self.syntax, environment)
    }
}

fn combined(
    left: &Scalar,
    right: &Scalar,
    environment: &Environment,
    node: impl FnOnce(Id, Id) -> Node,
) -> Result<Scalar, CompileError> {
    let mut tree = Syntax::default();
    let left = import(&mut tree, &left.syntax, None)?;
    let right = import(&mut tree, &right.syntax, None)?;
    tree.push(node(left, right), 0)?;
    Scalar::of_syntax(tree, environment)
}

/// Appends a tree, or the part of it that ends with a node; the new root.
fn import(to: &mut Syntax, from: &Syntax, root: Option<Id>) -> Result<Id, CompileError> {
    let needed = root.map(|root| needed(from, root));
    let last = root.unwrap_or_else(|| from.root());
    let mut ids: Vec<Id> = Vec::new();
    for (number, (node, at)) in from.nodes().enumerate().take(last.0 + 1) {
        let is_needed =
            needed.as_ref().is_none_or(|needed| needed.get(number).copied().unwrap_or_default());
        ids.push(if is_needed {
            to.push(node.with_operands(&mut |id| moved(&ids, id)), at)?
        } else {
            Id(0)
        });
    }
    Ok(moved(&ids, last))
}

fn moved(ids: &[Id], id: Id) -> Id {
    ids.get(id.0).copied().unwrap_or(Id(0))
}

/// Which nodes a node uses, directly or not, itself among them.
fn needed(syntax: &Syntax, root: Id) -> Vec<bool> {
    let mut needed = vec![false; root.0 + 1];
    let mut left = vec![root];
    while let Some(id) = left.pop() {
        let Some(seen) = needed.get_mut(id.0).filter(|seen| !**seen) else { continue };
        *seen = true;
        if let Some(node) = syntax.node(id) {
            // Only looked at.
            node.clone().each_operand(&mut |operand| left.push(*operand));
        }
    }
    needed
}

/// Can a node be NULL, as far as clients are told? Arithmetic and conversions can.
fn is_nullable(syntax: &Syntax, id: Id) -> bool {
    let of = |id: &Id| is_nullable(syntax, *id);
    match syntax.node(id) {
        Some(
            Node::Integer(_)
            | Node::Decimal(_)
            | Node::Float(_)
            | Node::Money(_)
            | Node::Text { .. }
            | Node::Binary(_),
        ) => false,
        Some(Node::Parameter(parameter)) => parameter.is_nullable,
        Some(Node::Negate(a) | Node::Plus(a)) => !is_literal(syntax, *a),
        Some(Node::Collate(a, _)) => of(a),
        Some(Node::Infix(Infix::Add, a, b)) => {
            !is_text(syntax, *a) || !is_text(syntax, *b) || of(a) || of(b)
        }
        Some(Node::Case { arms, other, .. }) => {
            other.as_ref().is_none_or(of) || arms.iter().any(|(_, result)| of(result))
        }
        Some(Node::Call { name, args, .. }) => match (name.as_str(), args.as_slice()) {
            ("isnull" | "coalesce", args) => args.iter().all(of),
            ("iif", [_, yes, no]) => of(yes) || of(no),
            ("concat" | "concat_ws", _) => false,
            _ => true,
        },
        Some(Node::Assigned(a, _)) => of(a),
        _ => true,
    }
}

fn is_literal(syntax: &Syntax, id: Id) -> bool {
    matches!(
        syntax.node(id),
        Some(Node::Integer(_) | Node::Decimal(_) | Node::Float(_) | Node::Money(_))
    )
}

fn is_text(syntax: &Syntax, id: Id) -> bool {
    match syntax.node(id) {
        Some(Node::Text { .. }) => true,
        Some(Node::Parameter(parameter)) => parameter.ty.collation().is_some(),
        Some(Node::Collate(..)) => true,
        Some(Node::Infix(Infix::Add, a, b)) => is_text(syntax, *a) && is_text(syntax, *b),
        _ => false,
    }
}

impl From<Test> for ScalarTest {
    fn from(test: Test) -> ScalarTest {
        match test {
            Test::Equal => ScalarTest::Equal,
            Test::NotEqual => ScalarTest::NotEqual,
            Test::Less => ScalarTest::Less,
            Test::LessOrEqual => ScalarTest::LessOrEqual,
            Test::Greater => ScalarTest::Greater,
            Test::GreaterOrEqual => ScalarTest::GreaterOrEqual,
        }
    }
}

impl From<ScalarTest> for Test {
    fn from(test: ScalarTest) -> Test {
        match test {
            ScalarTest::Equal => Test::Equal,
            ScalarTest::NotEqual => Test::NotEqual,
            ScalarTest::Less => Test::Less,
            ScalarTest::LessOrEqual => Test::LessOrEqual,
            ScalarTest::Greater => Test::Greater,
            ScalarTest::GreaterOrEqual => Test::GreaterOrEqual,
        }
    }
}

impl ScalarTest {
    /// The same test with its operands exchanged.
    #[must_use]
    pub fn mirrored(self) -> ScalarTest {
        match self {
            ScalarTest::Less => ScalarTest::Greater,
            ScalarTest::LessOrEqual => ScalarTest::GreaterOrEqual,
            ScalarTest::Greater => ScalarTest::Less,
            ScalarTest::GreaterOrEqual => ScalarTest::LessOrEqual,
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use extentdb_tsql::syntax::{Expr, ExprKind};
    use extentdb_tsql::{Options, Term, parse_term};
    use extentdb_types::Collation;

    use super::*;
    use crate::{Batch, Settings, StatementOptions};

    /// `@1`, `@2` … are ints of these places; odd ones can be NULL.
    struct Numbers;

    impl Resolver for Numbers {
        fn resolve(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError> {
            let ExprKind::Variable(name) = &expr.kind else { return Ok(None) };
            let place = name[1..].parse().unwrap();
            let is_nullable = place % 2 == 1;
            Ok(Some(Parameter { place, ty: SqlType::Int, is_nullable }))
        }
    }

    fn environment() -> Environment {
        Environment {
            columns: Vec::new(),
            database_collation: Collation::SQL_LATIN1_GENERAL_CP1_CI_AS,
            settings: Settings::statement(StatementOptions::default()),
        }
    }

    fn scalar(text: &str) -> Scalar {
        match parse_term(text, Options::default()).unwrap() {
            Term::Value(expr) => Scalar::of_value(&expr, &environment(), &mut Numbers).unwrap(),
            Term::Condition(condition) => {
                Scalar::of_condition(&condition, &environment(), &mut Numbers).unwrap()
            }
        }
    }

    fn value(scalar: &Scalar, values: &[i32]) -> Option<i32> {
        let program = scalar.compile(&environment()).unwrap();
        let mut batch = Batch::new();
        batch.reset(&program);
        for (input, place) in program.inputs().iter().enumerate() {
            batch.push(input, Some(&values[*place].to_le_bytes()));
        }
        batch.end_row();
        program.run(&mut batch);
        batch.value(0).unwrap().map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            i32::from_le_bytes(word)
        })
    }

    #[test]
    fn conjuncts_are_taken_apart_and_stand_alone() {
        let whole = scalar("@1 = 1 AND (@2 > 5 OR @3 = 2) AND NOT (@1 = 7 AND @2 = 8)");
        let parts = whole.conjuncts(&environment()).unwrap();
        let places: Vec<Vec<usize>> = parts.iter().map(|part| part.places().collect()).collect();
        assert_eq!(places, [vec![1], vec![2, 3], vec![1, 2]]);
        assert_eq!(value(&parts[1], &[0, 0, 6, 0]), Some(1));
        assert_eq!(value(&parts[1], &[0, 0, 5, 0]), Some(0));
        assert_eq!(parts[1].disjuncts(&environment()).unwrap().len(), 2);
    }

    #[test]
    fn a_comparison_gives_its_operands() {
        let whole = scalar("@1 + 1 <= @2 * 2");
        let (test, left, right) = whole.as_comparison(&environment()).unwrap().unwrap();
        assert_eq!(test, ScalarTest::LessOrEqual);
        assert_eq!((value(&left, &[0, 4]), value(&right, &[0, 0, 4])), (Some(5), Some(8)));
    }

    #[test]
    fn parameters_are_replaced_by_values() {
        let sum = scalar("@1 * 2").replaced(&environment(), &|_| Some(scalar("@2 + 3"))).unwrap();
        assert_eq!(sum.places().collect::<Vec<_>>(), [2]);
        assert_eq!(value(&sum, &[0, 0, 4]), Some(14));
    }

    #[test]
    fn nullability_is_what_clients_are_told() {
        for (text, expected) in [
            ("1", false),
            ("-1", false),
            ("NULL", true),
            ("@2", false),
            ("@1", true),
            ("@2 + 1", true),
            ("ISNULL(@1, 0)", false),
            ("COALESCE(@1, @3)", true),
            ("CASE WHEN @1 = 1 THEN 1 ELSE @2 END", false),
            ("CASE WHEN @1 = 1 THEN 1 END", true),
            ("'a' + 'b'", false),
        ] {
            assert_eq!(scalar(text).is_nullable(), expected, "{text}");
        }
    }

    #[test]
    fn values_have_a_common_type() {
        let values = [scalar("1"), scalar("NULL"), scalar("CAST(2 AS bigint)")];
        assert_eq!(Scalar::common_type(&values, &environment()), Ok(SqlType::BigInt));
    }

    #[test]
    fn an_assignment_converts() {
        let text = scalar("'12'").assigned(SqlType::Int, &environment()).unwrap();
        assert_eq!(value(&text, &[]), Some(12));
        assert!(!text.is_nullable());
        let null = scalar("NULL").assigned(SqlType::Int, &environment()).unwrap();
        assert_eq!(value(&null, &[]), None);
    }
}
