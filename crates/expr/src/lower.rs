//! From the syntax tree of T-SQL to the flat tree of this crate.
//!
//! The grammar is that of crate `tsql`; here every part of a tree becomes a node, or is refused by
//! its name and position when it has no value outside of a statement.
//!
//! Invariants
//! - Recursion follows the syntax tree, whose height the parser bounds; operators of one level,
//!   AND, OR and the values of IN are loops.
//! - Comments are refused: the catalog has none, and `--` could be two signs.

use extentdb_tsql::syntax::{
    Arguments, BinaryOperator, Column, Comparison, Condition, ConditionKind, DataType, Expr,
    ExprKind, FunctionCall, JsonNulls, Link, Literal, Name, ObjectName, OdbcKind, StringLiteral,
    TrimSide, TypeParameter, UnaryOperator,
};
use extentdb_tsql::{Cause, MAX_NESTING, Options, Span, Term, lexer, parse_term};

use crate::error::CompileError;
use crate::resolver::{Nothing, Resolver};
use crate::settings::Settings;
use crate::syntax::{
    AT_TIME_ZONE, IS_DISTINCT, Id, Infix, Node, ODBC_ESCAPE, ODBC_FUNCTION, ODBC_FUNCTIONS, PARSE,
    Syntax, TRY_PARSE, Test, TypeName,
};

const MAX_BYTES: usize = 64 * 1024;

/// Functions whose first argument is the name of a part of a date.
const DATE_FUNCTIONS: [&str; 7] =
    ["datepart", "datename", "dateadd", "datediff", "datediff_big", "datetrunc", "date_bucket"];

type Lowered<T = Id> = Result<T, CompileError>;

/// The tree of a text.
pub(crate) fn parse(text: &str) -> Lowered<Syntax> {
    if text.len() > MAX_BYTES {
        return Err(CompileError::TooLarge { what: "bytes of text", limit: MAX_BYTES });
    }
    verify_no_comments(text)?;
    let term = parse_term(text, Options::default()).map_err(|error| refused(&error))?;
    let nulls = Nulls::AreUnknown;
    let mut lowering = Lowering { syntax: Syntax::default(), resolver: &mut Nothing, nulls };
    match &term {
        Term::Value(expr) => lowering.expr(expr)?,
        Term::Condition(condition) => lowering.condition(condition)?,
    };
    Ok(lowering.syntax)
}

/// The flat tree of a value of a statement.
pub(crate) fn value(
    expr: &Expr,
    resolver: &mut dyn Resolver,
    settings: Settings,
) -> Lowered<Syntax> {
    let nulls = Nulls::of(settings);
    let mut lowering = Lowering { syntax: Syntax::default(), resolver, nulls };
    lowering.expr(expr)?;
    Ok(lowering.syntax)
}

/// The flat tree of a condition of a statement.
pub(crate) fn condition(
    condition: &Condition,
    resolver: &mut dyn Resolver,
    settings: Settings,
) -> Lowered<Syntax> {
    let nulls = Nulls::of(settings);
    let mut lowering = Lowering { syntax: Syntax::default(), resolver, nulls };
    lowering.condition(condition)?;
    Ok(lowering.syntax)
}

/// Between tokens there are blanks only.
fn verify_no_comments(text: &str) -> Lowered<()> {
    let tokens = lexer::tokens(text).map_err(|error| refused(&error))?;
    let mut end = 0;
    for token in tokens {
        let start = token.span.start as usize;
        let between = text.get(end..start).unwrap_or_default();
        if let Some(at) = between.find(|c: char| !c.is_whitespace()) {
            return unsupported("a comment", Span { start: (end + at) as u32, ..token.span });
        }
        end = token.span.end as usize;
    }
    Ok(())
}

/// The parser's error as this crate's.
fn refused(error: &extentdb_tsql::Error) -> CompileError {
    let at = error.span.start as usize;
    match &error.cause {
        Cause::TooDeep => CompileError::TooLarge { what: "nesting", limit: MAX_NESTING as usize },
        Cause::NumberTooLong { .. } => {
            CompileError::Unsupported { what: "a number of more than 38 digits".to_owned(), at }
        }
        cause => CompileError::Syntax { what: cause.to_string(), at },
    }
}

fn unsupported<T>(what: impl Into<String>, span: Span) -> Lowered<T> {
    Err(CompileError::Unsupported { what: what.into(), at: span.start as usize })
}

struct Lowering<'r> {
    syntax: Syntax,
    resolver: &'r mut dyn Resolver,
    nulls: Nulls,
}

/// What `=` and `<>` make of NULL.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    /// Whether they are equal is not known.
    AreUnknown,
    /// Beside a literal NULL and beside variables it is a value: SET ANSI_NULLS OFF.
    AreCompared,
}

impl Nulls {
    fn of(settings: Settings) -> Nulls {
        if settings.options().ansi_nulls { Nulls::AreUnknown } else { Nulls::AreCompared }
    }
}

/// Is it NULL, or a variable?
fn may_stand_for_null(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Variable(_) | ExprKind::Literal(Literal::Null))
}

impl Lowering<'_> {
    fn push(&mut self, node: Node, span: Span) -> Lowered {
        self.syntax.push(node, span.start as usize)
    }

    fn expr(&mut self, expr: &Expr) -> Lowered {
        match self.resolver.resolve(expr)? {
            Some(parameter) => self.push(Node::Parameter(parameter), expr.span),
            None => self.own_expr(expr),
        }
    }

    /// An operand of a comparison.
    fn compared(&mut self, expr: &Expr) -> Lowered {
        match self.resolver.resolve_compared(expr)? {
            Some(parameter) => self.push(Node::Parameter(parameter), expr.span),
            None => self.own_expr(expr),
        }
    }

    fn own_expr(&mut self, expr: &Expr) -> Lowered {
        let node = match &expr.kind {
            ExprKind::Literal(Literal::Odbc { .. }) => self.choice_or_conversion(expr)?,
            ExprKind::Literal(literal) => literal_node(literal, expr.span)?,
            ExprKind::Column(column) => match (&column.qualifier, &column.column) {
                (None, Column::Named(name)) => Node::Column(name.text.to_string()),
                _ => return foreign(expr.span),
            },
            ExprKind::Unary { operator, operand } => {
                let operand = self.expr(operand)?;
                match operator {
                    UnaryOperator::Minus => Node::Negate(operand),
                    UnaryOperator::Plus => Node::Plus(operand),
                    UnaryOperator::BitNot => Node::BitNot(operand),
                }
            }
            ExprKind::Chain { first, rest } => return self.chain(first, rest),
            ExprKind::Function(call) => self.call(call, expr.span)?,
            ExprKind::OdbcFunction(inner) => return self.odbc_function(inner),
            ExprKind::Collate { operand, collation } => {
                Node::Collate(self.expr(operand)?, collation.text.to_string())
            }
            _ => self.choice_or_conversion(expr)?,
        };
        self.push(node, expr.span)
    }

    fn choice_or_conversion(&mut self, expr: &Expr) -> Lowered<Node> {
        match &expr.kind {
            ExprKind::SimpleCase(case) => {
                let operand = Some(self.compared(&case.operand)?);
                let mut arms = Vec::new();
                for arm in &case.arms {
                    arms.push((self.compared(&arm.value)?, self.expr(&arm.result)?));
                }
                let other = self.optional(case.otherwise.as_ref())?;
                Ok(Node::Case { operand, arms, other })
            }
            ExprKind::SearchedCase(case) => {
                let mut arms = Vec::new();
                for arm in &case.arms {
                    arms.push((self.condition(&arm.condition)?, self.expr(&arm.result)?));
                }
                let other = self.optional(case.otherwise.as_ref())?;
                Ok(Node::Case { operand: None, arms, other })
            }
            ExprKind::Iif(iif) => {
                let condition = self.condition(&iif.condition)?;
                let args = vec![condition, self.expr(&iif.yes)?, self.expr(&iif.no)?];
                Ok(Node::Call { name: "iif".to_owned(), part: None, args })
            }
            ExprKind::Cast { is_try, operand, data_type } => {
                let to = type_name(data_type)?;
                let of = self.expr(operand)?;
                Ok(Node::Convert { to, of, style: None, is_try: *is_try })
            }
            ExprKind::Convert(convert) => {
                let to = type_name(&convert.data_type)?;
                let of = self.expr(&convert.operand)?;
                let style = self.optional(convert.style.as_ref())?;
                Ok(Node::Convert { to, of, style, is_try: convert.is_try })
            }
            ExprKind::AtTimeZone { operand, zone } => {
                self.named_call(AT_TIME_ZONE, None, &[operand, zone])
            }
            ExprKind::Parse(parse) => {
                let name = if parse.is_try { TRY_PARSE } else { PARSE };
                let to = type_name(&parse.data_type)?;
                let digit = |parameter: Option<u32>| {
                    parameter.map_or_else(String::new, |number| number.to_string())
                };
                let first = digit(to.first.flatten());
                let part = format!("{},{first},{}", to.name, digit(to.second));
                let args: Vec<&Expr> =
                    std::iter::once(&parse.operand).chain(&parse.culture).collect();
                self.named_call(name, Some(part), &args)
            }
            ExprKind::Literal(Literal::Odbc { kind, value }) => {
                let part = match kind {
                    OdbcKind::Date => "d",
                    OdbcKind::Time => "t",
                    OdbcKind::Timestamp => "ts",
                    OdbcKind::Guid => "guid",
                };
                let text = Node::Text { text: value.to_string(), is_wide: false };
                let args = vec![self.push(text, expr.span)?];
                Ok(Node::Call {
                    name: ODBC_ESCAPE.to_owned(),
                    part: Some(part.to_owned()),
                    args,
                })
            }
            ExprKind::Method(call) => self.method(call, expr.span),
            kind => unsupported(refusal(kind), expr.span),
        }
    }

    fn optional(&mut self, expr: Option<&Expr>) -> Lowered<Option<Id>> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    /// Operators of one level from left to right.
    fn chain(&mut self, first: &Expr, rest: &[Link]) -> Lowered {
        let mut left = self.expr(first)?;
        for link in rest {
            let right = self.expr(&link.operand)?;
            let node = match infix(link.operator) {
                Some(infix) => Node::Infix(infix, left, right),
                None => {
                    let is_left = link.operator == BinaryOperator::ShiftLeft;
                    let name = if is_left { "left_shift" } else { "right_shift" };
                    Node::Call { name: name.to_owned(), part: None, args: vec![left, right] }
                }
            };
            left = self.push(node, link.span)?;
        }
        Ok(left)
    }

    fn call(&mut self, call: &FunctionCall, span: Span) -> Lowered<Node> {
        if !call.name.is_simple() {
            return foreign(span);
        }
        let name = call.name.name.text.to_ascii_lowercase();
        let is_plain = call.over.is_none() && call.within_group.is_empty() && call.nulls.is_none();
        if !is_plain {
            return unsupported(format!("the function {name}"), span);
        }
        let Arguments::List(values) = &call.arguments else {
            return self.special_call(name, &call.arguments, span);
        };
        if let ("isjson", [value, kind]) = (name.as_str(), values.as_slice()) {
            let kind = first_name(std::slice::from_ref(kind))?;
            return self.named_call("isjson", Some(kind), &[value]);
        }
        let part = date_part(&name, values)?;
        let values = values.get(usize::from(part.is_some())..).unwrap_or_default();
        let args: Lowered<Vec<Id>> = values.iter().map(|value| self.expr(value)).collect();
        Ok(Node::Call { name, part, args: args? })
    }

    /// `{ fn call }`: some functions have another name there.
    fn odbc_function(&mut self, inner: &Expr) -> Lowered {
        let ExprKind::Function(call) = &inner.kind else { return self.expr(inner) };
        let (true, Arguments::List(values)) = (call.name.is_simple(), &call.arguments) else {
            return self.expr(inner);
        };
        let own = call.name.name.text.to_ascii_lowercase();
        if !ODBC_FUNCTIONS.iter().any(|(name, ..)| *name == own) {
            return self.expr(inner);
        }
        let args: Vec<&Expr> = values.iter().collect();
        let node = self.named_call(&format!("{ODBC_FUNCTION}{own}"), None, &args)?;
        self.push(node, inner.span)
    }

    /// Functions whose arguments are more than a list.
    fn special_call(&mut self, name: String, arguments: &Arguments, span: Span) -> Lowered<Node> {
        let nulls_part = |nulls: &JsonNulls| match nulls {
            JsonNulls::NullOnNull => "null on null".to_owned(),
            JsonNulls::AbsentOnNull => "absent on null".to_owned(),
        };
        match arguments {
            Arguments::Trim { side, characters, operand } => {
                let side = match side {
                    Some(TrimSide::Leading) => "leading",
                    Some(TrimSide::Trailing) => "trailing",
                    Some(TrimSide::Both) | None => "both",
                };
                let mut args = vec![self.expr(operand)?];
                args.extend(self.optional(characters.as_deref())?);
                Ok(Node::Call { name, part: Some(side.to_owned()), args })
            }
            Arguments::JsonObject { members, nulls } => {
                let mut args = Vec::with_capacity(members.len() * 2);
                for member in members {
                    args.push(self.expr(&member.key)?);
                    args.push(self.expr(&member.value)?);
                }
                Ok(Node::Call { name, part: nulls.as_ref().map(nulls_part), args })
            }
            Arguments::JsonArray { values, nulls } => {
                let args: Lowered<Vec<Id>> = values.iter().map(|value| self.expr(value)).collect();
                Ok(Node::Call { name, part: Some(nulls_part(nulls)), args: args? })
            }
            _ => unsupported(format!("the function {name}"), span),
        }
    }

    /// What has an operator or a grammar of its own, and is a function to the binder.
    fn named_call(&mut self, name: &str, part: Option<String>, args: &[&Expr]) -> Lowered<Node> {
        let args: Lowered<Vec<Id>> = args.iter().map(|arg| self.expr(arg)).collect();
        Ok(Node::Call { name: name.to_owned(), part, args: args? })
    }

    fn condition(&mut self, condition: &Condition) -> Lowered {
        let span = condition.span;
        if let Some(parameter) = self.resolver.resolve_condition(condition)? {
            let bit = self.push(Node::Parameter(parameter), span)?;
            return self.push(Node::IsSet(bit), span);
        }
        let node = match &condition.kind {
            ConditionKind::And(parts) => return self.connected(parts, Node::And),
            ConditionKind::Or(parts) => return self.connected(parts, Node::Or),
            ConditionKind::Not(operand) => Node::Not(self.condition(operand)?),
            ConditionKind::Comparison { left, comparison, right }
                if self.nulls == Nulls::AreCompared
                    && matches!(comparison, Comparison::Equal | Comparison::NotEqual)
                    && (may_stand_for_null(left) || may_stand_for_null(right)) =>
            {
                let kind = ConditionKind::IsDistinct {
                    left: left.clone(),
                    right: right.clone(),
                    is_negated: *comparison == Comparison::Equal,
                };
                return self.condition(&Condition { kind, span });
            }
            ConditionKind::Comparison { left, comparison, right } => {
                let left = self.compared(left)?;
                Node::Compare(test(*comparison), left, self.compared(right)?)
            }
            ConditionKind::Update(column) => {
                let updated = self.expr(&updated(column, span))?;
                let one = Expr { kind: ExprKind::Literal(Literal::Integer("1".into())), span };
                Node::Compare(test(Comparison::Equal), updated, self.expr(&one)?)
            }
            ConditionKind::IsNull { operand, is_negated } => {
                let node = Node::IsNull(self.expr(operand)?);
                return self.negated(node, *is_negated, span);
            }
            ConditionKind::Between(between) => {
                let of = self.compared(&between.operand)?;
                let low = self.compared(&between.low)?;
                let high = self.compared(&between.high)?;
                let from = self.push(Node::Compare(Test::GreaterOrEqual, of, low), span)?;
                let to = self.push(Node::Compare(Test::LessOrEqual, of, high), span)?;
                return self.negated(Node::And(from, to), between.is_negated, span);
            }
            ConditionKind::InList { operand, values, is_negated } => {
                let any = self.in_list(operand, values, span)?;
                return if *is_negated { self.push(Node::Not(any), span) } else { Ok(any) };
            }
            ConditionKind::Like(like) => {
                let of = self.expr(&like.operand)?;
                let pattern = self.expr(&like.pattern)?;
                let escape = self.optional(like.escape.as_ref())?;
                let node = Node::Like { of, pattern, escape };
                return self.negated(node, like.is_negated, span);
            }
            ConditionKind::InQuery { operand, query, is_negated: true } => {
                let (operand, query) = (operand.clone(), query.clone());
                let kind = ConditionKind::InQuery { operand, query, is_negated: false };
                Node::Not(self.condition(&Condition { kind, span })?)
            }
            ConditionKind::Quantified(quantified) if quantified.is_all => {
                // No partner for which the opposite is true.
                let mut any = quantified.clone();
                any.is_all = false;
                any.comparison = opposite(any.comparison);
                let kind = ConditionKind::Quantified(any);
                Node::Not(self.condition(&Condition { kind, span })?)
            }
            ConditionKind::IsDistinct { left, right, is_negated } => {
                let args = vec![self.compared(left)?, self.compared(right)?];
                let node = Node::Call { name: IS_DISTINCT.to_owned(), part: None, args };
                return self.negated(node, *is_negated, span);
            }
            _ => return unsupported("a condition with a query or of a session", span),
        };
        self.push(node, span)
    }

    fn negated(&mut self, node: Node, is_negated: bool, span: Span) -> Lowered {
        let id = self.push(node, span)?;
        if is_negated { self.push(Node::Not(id), span) } else { Ok(id) }
    }

    /// Parts with AND or OR between them, from left to right.
    fn connected(&mut self, parts: &[Condition], node: fn(Id, Id) -> Node) -> Lowered {
        let Some((first, rest)) = parts.split_first() else {
            return unsupported("an empty condition", Span::default());
        };
        let mut left = self.condition(first)?;
        for part in rest {
            let right = self.condition(part)?;
            left = self.push(node(left, right), part.span)?;
        }
        Ok(left)
    }

    fn in_list(&mut self, operand: &Expr, values: &[Expr], span: Span) -> Lowered {
        let of = self.compared(operand)?;
        let mut any: Option<Id> = None;
        for value in values {
            let value = self.compared(value)?;
            let equal = self.push(Node::Compare(Test::Equal, of, value), span)?;
            any = Some(match any {
                Some(before) => self.push(Node::Or(before, equal), span)?,
                None => equal,
            });
        }
        any.map_or_else(|| unsupported("IN without values", span), Ok)
    }
}

/// What leads out of the table at hand.
fn foreign<T>(span: Span) -> Lowered<T> {
    unsupported("a function of the user, a method or a qualified name", span)
}

/// Why an expression of this kind is not compiled.
fn refusal(kind: &ExprKind) -> &'static str {
    match kind {
        ExprKind::Variable(_) | ExprKind::GlobalVariable(_) => "a variable",
        ExprKind::StaticMember(_) => "a function of the user, a method or a qualified name",
        ExprKind::Subquery(_) => "a query",
        _ => "a value of a statement or session",
    }
}

fn literal_node(literal: &Literal, span: Span) -> Lowered<Node> {
    Ok(match literal {
        Literal::Null => Node::Null,
        Literal::Integer(digits) => Node::Integer(digits.to_string()),
        Literal::Decimal(digits) => Node::Decimal(digits.to_string()),
        Literal::Float(digits) => Node::Float(digits.to_string()),
        Literal::Money(text) => Node::Money(text.strip_prefix('$').unwrap_or(text).to_owned()),
        Literal::Binary(bytes) => Node::Binary(bytes.to_vec()),
        Literal::String(string) => {
            Node::Text { text: string.value.to_string(), is_wide: string.is_national }
        }
        Literal::Odbc { .. } => return unsupported("an ODBC escape", span),
    })
}

/// The part that is the first argument of a date function, in small letters.
fn date_part(name: &str, values: &[Expr]) -> Lowered<Option<String>> {
    if !DATE_FUNCTIONS.contains(&name) {
        return Ok(None);
    }
    first_name(values).map(Some)
}

/// A name that stands as an argument, in small letters.
fn first_name(values: &[Expr]) -> Lowered<String> {
    let span = values.first().map_or(Span::default(), |value| value.span);
    match values.first().map(|value| &value.kind) {
        Some(ExprKind::Column(column)) if column.qualifier.is_none() => match &column.column {
            Column::Named(name) => Ok(name.text.to_ascii_lowercase()),
            Column::Pseudo(_) => unsupported("a part of a date that is no name", span),
        },
        _ => unsupported("a part of a date that is no name", span),
    }
}

/// `[decimal](10,2)`, `varchar(max)`, `[sys].[int]`.
fn type_name(data_type: &DataType) -> Lowered<TypeName> {
    let is_system = data_type.name.schema().is_none_or(|it| it.text.eq_ignore_ascii_case("sys"));
    if !is_system || data_type.name.database().is_some() || data_type.xml_schema.is_some() {
        return unsupported("a type of the user", data_type.span);
    }
    let number = |parameter: &TypeParameter| match parameter {
        TypeParameter::Number(number) => Some(*number),
        TypeParameter::Max => None,
    };
    let name = data_type.name.name.text.to_ascii_lowercase();
    match data_type.parameters.as_slice() {
        [] => Ok(TypeName { name, first: None, second: None }),
        [first] => Ok(TypeName { name, first: Some(number(first)), second: None }),
        [first, second] => {
            Ok(TypeName { name, first: Some(number(first)), second: number(second) })
        }
        _ => unsupported(format!("the type {data_type}"), data_type.span),
    }
}

fn infix(operator: BinaryOperator) -> Option<Infix> {
    Some(match operator {
        BinaryOperator::Multiply => Infix::Multiply,
        BinaryOperator::Divide => Infix::Divide,
        BinaryOperator::Modulo => Infix::Modulo,
        BinaryOperator::Add => Infix::Add,
        BinaryOperator::Subtract => Infix::Subtract,
        BinaryOperator::BitAnd => Infix::BitAnd,
        BinaryOperator::BitOr => Infix::BitOr,
        BinaryOperator::BitXor => Infix::BitXor,
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => return None,
    })
}

fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}

fn test(comparison: Comparison) -> Test {
    match comparison {
        Comparison::Equal => Test::Equal,
        Comparison::NotEqual => Test::NotEqual,
        Comparison::Less => Test::Less,
        Comparison::LessOrEqual => Test::LessOrEqual,
        Comparison::Greater => Test::Greater,
        Comparison::GreaterOrEqual => Test::GreaterOrEqual,
    }
}

/// `UPDATE(column)` as a call of a function, which the session has.
fn updated(column: &Name, span: Span) -> Expr {
    let name = ObjectName::simple(Name { text: "update".into(), span });
    let column = StringLiteral { value: column.text.clone(), is_national: true };
    let column = Expr { kind: ExprKind::Literal(Literal::String(column)), span };
    let call = FunctionCall {
        name,
        arguments: Arguments::List(vec![column]),
        within_group: Vec::new(),
        nulls: None,
        over: None,
    };
    Expr { kind: ExprKind::Function(Box::new(call)), span }
}

pub(crate) mod method;
#[cfg(test)]
mod tests;
