//! Methods of xml as they are written: a call with names before it may be one of a column.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Column as ColumnSyntax, ColumnName, Expr, ExprKind, FunctionCall, MethodCall,
    ObjectName, Qualifier,
};

use crate::error::{Cause, Error};

/// Names of the methods, which are in small letters.
const METHODS: [&str; 5] = ["value", "query", "exist", "nodes", "modify"];

/// A call that was written as a method of a column: `source.column.method(…)`.
pub(crate) fn as_method(call: &FunctionCall) -> Option<MethodCall> {
    let Arguments::List(arguments) = &call.arguments else { return None };
    let name = &call.name;
    let column = name.schema()?;
    let is_method = METHODS.contains(&&*name.name.text)
        && (name.database().is_some() || !column.text.eq_ignore_ascii_case("dbo"));
    if !is_method || call.over.is_some() {
        return None;
    }
    let mut qualifier = name.database().cloned().map(ObjectName::simple);
    if let (Some(own), Some(schema)) = (&mut qualifier, name.server()) {
        let schema = Some(schema.clone());
        own.qualifier = Some(Box::new(Qualifier { schema, ..Qualifier::default() }));
    }
    let column = ColumnName { qualifier, column: ColumnSyntax::Named(column.clone()) };
    let span = name.span;
    let operand = Expr { kind: ExprKind::Column(Box::new(column)), span };
    Some(MethodCall {
        operand,
        name: name.name.clone(),
        arguments: Some(arguments.clone()),
    })
}

/// 493: a column of `nodes` is no value.
pub(crate) fn not_a_value(column: &str, span: Span) -> Error {
    let text = format!(
        "The column '{column}' that was returned from the nodes() method cannot be used directly. \
         It can only be used with one of the four XML data type methods, exist(), nodes(), \
         query(), and value(), or in IS NULL and IS NOT NULL checks."
    );
    Cause::Other { number: 493, text }.at(span)
}
