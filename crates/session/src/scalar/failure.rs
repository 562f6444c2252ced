//! Why an evaluation failed, in the words of its message.
//!
//! `expr` says what kind of failure it is; a message also names the value and the types. They are
//! found by evaluating the parts of the expression again, innermost first.

use extentdb_expr::EvalError;
use extentdb_tsql::syntax::{Expr, ExprKind};
use extentdb_types::{Datum, SqlType};

use super::{Compiler, Scalar, is_conversion};
use crate::cause::{Cause, type_name};
use crate::frame::Values;
use crate::variant;

/// The cause of an error at `syntax`, whose result is of type `ty`.
pub(super) fn explain(error: EvalError, syntax: &Expr, ty: &SqlType, at: Values<'_>) -> Cause {
    if is_conversion(error) {
        let found = conversion(syntax, at);
        return found.unwrap_or_else(|| plain(error, ty));
    }
    plain(error, ty)
}

/// The cause without a value.
pub(super) fn plain(error: EvalError, ty: &SqlType) -> Cause {
    match error {
        EvalError::Overflow => Cause::overflow(ty),
        EvalError::DivideByZero => Cause::DivideByZero,
        EvalError::Conversion => by_type("varchar", "", ty),
        EvalError::Argument => Cause::FunctionArgument,
        other => Cause::not_supported(other.to_string()),
    }
}

/// The message of a text that is no value of a type depends on the type.
fn by_type(from: &'static str, value: &str, to: &SqlType) -> Cause {
    match to {
        SqlType::Date
        | SqlType::DateTime
        | SqlType::SmallDateTime
        | SqlType::Time { .. }
        | SqlType::DateTime2 { .. }
        | SqlType::DateTimeOffset { .. } => Cause::DateConversion,
        SqlType::BigInt
        | SqlType::Decimal { .. }
        | SqlType::Numeric { .. }
        | SqlType::Float
        | SqlType::Real => Cause::Conversion { from, to: type_name(to) },
        _ => Cause::ValueConversion { from, value: value.to_owned(), to: type_name(to) },
    }
}

/// The innermost conversion that fails.
fn conversion(expr: &Expr, at: Values<'_>) -> Option<Cause> {
    children(expr).into_iter().find_map(|child| conversion(child, at)).or_else(|| own(expr, at))
}

fn own(expr: &Expr, at: Values<'_>) -> Option<Cause> {
    let (operand, ty) = match &expr.kind {
        ExprKind::Cast { operand, .. } => (&**operand, compile(expr, at)?.ty),
        ExprKind::Convert(convert) => (&convert.operand, compile(expr, at)?.ty),
        ExprKind::Chain { first, rest } => {
            let operands: Vec<&Expr> =
                std::iter::once(&**first).chain(rest.iter().map(|link| &link.operand)).collect();
            let is_text = |it: &&&Expr| text_of(it, at).is_some();
            let text = operands.iter().find(is_text)?;
            (*text, compile(expr, at)?.ty)
        }
        _ => return None,
    };
    let (from, value) = text_of(operand, at)?;
    Some(by_type(from, &value, &ty))
}

/// Type name and value of an expression that is a text.
fn text_of(expr: &Expr, at: Values<'_>) -> Option<(&'static str, String)> {
    let scalar = compile(expr, at)?;
    scalar.ty.collation()?;
    match scalar.value(at).ok()? {
        Datum::Null => None,
        value => Some((type_name(&scalar.ty), variant::text(&value)?)),
    }
}

fn compile(expr: &Expr, at: Values<'_>) -> Option<Scalar> {
    let variables = &at.frame.variables;
    let compiler = Compiler { variables, collation: at.connection.collation() };
    compiler.value(expr).ok()
}

fn children(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. } => vec![operand],
        ExprKind::Convert(convert) => vec![&convert.operand],
        ExprKind::Chain { first, rest } => {
            std::iter::once(&**first).chain(rest.iter().map(|link| &link.operand)).collect()
        }
        ExprKind::SearchedCase(case) => {
            let results = case.arms.iter().map(|arm| &arm.result);
            results.chain(&case.otherwise).collect()
        }
        _ => Vec::new(),
    }
}
