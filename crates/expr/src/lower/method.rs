//! Methods of xml: `value`, `query`, `exist`, and `modify` as the value that it leaves.
//!
//! A caller that knows the row's node of `nodes` gives it as the last argument and puts
//! [`OF_NODE`] before the method's name.

use extentdb_tsql::syntax::{Expr, ExprKind, Literal, MethodCall};
use extentdb_tsql::{Options, Span, parse_expression};

use super::{Lowered, Lowering, type_name, unsupported};
use crate::error::CompileError;
use crate::syntax::{Id, Node};
use crate::xml::{self, Method, Outside, ParseError, QueryError};

/// What stands before the name of a method whose last argument is a node.
pub const OF_NODE: char = '\u{1}';

impl Lowering<'_> {
    pub(super) fn method(&mut self, call: &MethodCall, span: Span) -> Lowered<Node> {
        let name = &*call.name.text;
        if name.strip_prefix(OF_NODE) == Some("write") {
            return self.write(call, span);
        }
        let (own, has_node) = match name.strip_prefix(OF_NODE) {
            Some(own) => (own, true),
            None => (name, false),
        };
        let Some(method) = Method::named(own).filter(|it| *it != Method::Nodes) else {
            return unsupported(format!("the method {own}"), call.name.span);
        };
        let mut arguments = call.arguments.as_deref().unwrap_or_default();
        let mut node = None;
        if has_node && let Some((last, rest)) = arguments.split_last() {
            (node, arguments) = (Some(last), rest);
        }
        let (query, ty) = match (method, arguments) {
            (Method::Value, [query, ty]) => (query, Some(ty)),
            (Method::Query | Method::Exist | Method::Modify, [query]) => (query, None),
            (method, _) => {
                let function = method.name().to_owned();
                let count = 1 + usize::from(method == Method::Value);
                let at = span.start as usize;
                return Err(CompileError::ArgumentCount {
                    function,
                    least: count,
                    most: count,
                    at,
                });
            }
        };
        let text = literal(method, query)?;
        let called = self.called(method, call, node, text, span)?;
        let Some(ty) = ty else { return Ok(called) };
        let of = self.push(called, span)?;
        let to = cast_type(literal(method, ty)?, span)?;
        Ok(Node::Convert { to, of, style: None, is_try: false })
    }

    /// `.WRITE ( value , offset , length )` of a column: the value that it leaves.
    fn write(&mut self, call: &MethodCall, span: Span) -> Lowered<Node> {
        let arguments = call.arguments.as_deref().unwrap_or_default();
        if arguments.len() != 3 {
            let at = span.start as usize;
            let function = "write".to_owned();
            return Err(CompileError::ArgumentCount { function, least: 3, most: 3, at });
        }
        let column = shown(&call.operand);
        let name = column.rsplit('.').next().unwrap_or_default().to_owned();
        let mut args = vec![
            self.push(Node::Text { text: name, is_wide: true }, span)?,
            self.expr(&call.operand)?,
        ];
        for argument in arguments {
            args.push(self.expr(argument)?);
        }
        Ok(Node::Call { name: "\0the method WRITE".to_owned(), part: None, args })
    }

    fn called(
        &mut self,
        method: Method,
        call: &MethodCall,
        node: Option<&Expr>,
        text: &str,
        span: Span,
    ) -> Lowered<Node> {
        let outside = verified(method, text, &call.operand, span)?;
        let name = match &call.operand.kind {
            ExprKind::Variable(name) => name.to_string(),
            _ => shown(&call.operand).rsplit('.').next().unwrap_or_default().to_owned(),
        };
        let name = Node::Text { text: name, is_wide: true };
        let mut args = vec![self.push(name, span)?, self.expr(&call.operand)?];
        args.push(match node {
            Some(node) => self.expr(node)?,
            None => {
                let none = self.push(Node::Integer("1".to_owned()), span)?;
                self.push(Node::Negate(none), span)?
            }
        });
        args.push(self.push(Node::Text { text: text.to_owned(), is_wide: true }, span)?);
        for value in &outside {
            args.push(self.outside(value, span)?);
        }
        Ok(Node::Call { name: format!("\0xml {}", method.name()), part: None, args })
    }

    /// `sql:variable` and `sql:column` as expressions.
    fn outside(&mut self, value: &Outside, span: Span) -> Lowered<Id> {
        self.expr(&outside_expr(value, span)?)
    }
}

/// What a query names as an expression of the statement.
pub(crate) fn outside_expr(value: &Outside, span: Span) -> Lowered<Expr> {
    let (Outside::Variable(text) | Outside::Column(text)) = value;
    let parsed = parse_expression(text, Options { quoted_identifier: true });
    let is_own = |expr: &Expr| match value {
        Outside::Variable(_) => matches!(expr.kind, ExprKind::Variable(_)),
        Outside::Column(_) => matches!(expr.kind, ExprKind::Column(_)),
    };
    match parsed.ok().filter(is_own) {
        Some(expr) => Ok(Expr { span, ..expr }),
        None => unsupported(format!("sql:variable or sql:column of {text}"), span),
    }
}

/// A column as messages name it; a variable has no name there.
fn shown(operand: &Expr) -> String {
    match &operand.kind {
        ExprKind::Variable(name) => name
            .strip_prefix(OF_NODE)
            .and_then(|name| name.split_once(OF_NODE))
            .map_or_else(String::new, |(_, name)| name.to_owned()),
        ExprKind::Column(_) => operand.to_string().replace(['[', ']'], ""),
        _ => String::new(),
    }
}

/// The values that a query names; its errors are messages with the method and its operand.
pub(crate) fn verified(
    method: Method,
    text: &str,
    operand: &Expr,
    span: Span,
) -> Lowered<Vec<Outside>> {
    let at = span.start as usize;
    let mut own = shown(operand);
    if !own.is_empty() {
        own.push('.');
    }
    let own = format!("XQuery [{own}{}()]: ", method.name());
    let message =
        |number, text: String| Err(CompileError::Message { number, text: own.clone() + &text, at });
    let error = match xml::verify(method, text) {
        Ok(outside) if outside.len() <= xml::OUTSIDE_MAX => return Ok(outside),
        Ok(_) => return unsupported("an XQuery with so many values", span),
        Err(error) => error,
    };
    match error {
        QueryError::Parse(ParseError::Syntax(near)) => {
            message(2209, format!("Syntax error near '{near}'"))
        }
        QueryError::Parse(ParseError::NotSupported(what)) => unsupported(what, span),
        QueryError::Parse(ParseError::UnknownFunction(name)) => {
            message(2395, format!("There is no function '{name}'"))
        }
        QueryError::Parse(ParseError::UnknownPrefix(prefix)) => {
            message(2229, format!("The name \"{prefix}\" does not denote a namespace."))
        }
        QueryError::NotSingle => message(
            2389,
            "'value()' requires a singleton (or empty sequence), found operand of type \
             'xdt:untypedAtomic *'"
                .to_owned(),
        ),
        QueryError::InsertTarget(ty) => {
            message(2226, format!("The target of 'insert' must be a single node, found '{ty}'"))
        }
        QueryError::ReplaceTarget(ty) => {
            message(2337, format!("The target of 'replace' must be at most one node, found '{ty}'"))
        }
        QueryError::ReplaceElement(ty) => message(
            2356,
            format!(
                "The target of 'replace value of' must be a non-metadata attribute or an element \
                 with simple typed content, found '{ty}'"
            ),
        ),
    }
}

/// The text of an argument, which is a literal: 8172.
pub(crate) fn literal(method: Method, expr: &Expr) -> Lowered<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Ok(&text.value),
        _ => {
            let text = format!(
                "The argument 1 of the XML data type method \"{}\" must be a string literal.",
                method.name()
            );
            Err(CompileError::Message { number: 8172, text, at: expr.span.start as usize })
        }
    }
}

/// The type that `value` names.
fn cast_type(text: &str, span: Span) -> Lowered<crate::syntax::TypeName> {
    let cast = parse_expression(&format!("CAST(NULL AS {text})"), Options::default());
    match cast.map(|cast| cast.kind) {
        Ok(ExprKind::Cast { data_type, .. }) => type_name(&data_type),
        _ => unsupported(format!("the type {text}"), span),
    }
}

/// The query of `nodes`, and the values that it names.
///
/// # Errors
/// The arguments are not one literal, or that is no query that is known.
pub fn nodes(call: &MethodCall, span: Span) -> Result<(String, Vec<Expr>), CompileError> {
    let [query] = call.arguments.as_deref().unwrap_or_default() else {
        let at = span.start as usize;
        let function = Method::Nodes.name().to_owned();
        return Err(CompileError::ArgumentCount { function, least: 1, most: 1, at });
    };
    let text = literal(Method::Nodes, query)?;
    let outside = verified(Method::Nodes, text, &call.operand, span)?;
    let values: Lowered<Vec<Expr>> = outside.iter().map(|it| outside_expr(it, span)).collect();
    Ok((text.to_owned(), values?))
}
