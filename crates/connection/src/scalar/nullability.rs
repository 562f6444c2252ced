//! Can an expression be NULL? What the client is told in the columns of a result.
//!
//! Not nullable: literals, most functions of the session, ISNULL with a value that cannot be NULL,
//! CASE and COALESCE when every arm cannot, CONCAT, `+` of two texts that cannot. Nullable:
//! variables, arithmetic, conversions, everything else.

use extentdb_tsql::syntax::{
    Arguments, BinaryOperator, Expr, ExprKind, FunctionCall, Literal, UnaryOperator,
};

use super::Compiler;
use crate::function;

pub(super) fn of(expr: &Expr, compiler: &Compiler<'_>) -> bool {
    match &expr.kind {
        ExprKind::Literal(literal) => *literal == Literal::Null,
        ExprKind::Unary {
            operator: UnaryOperator::Minus | UnaryOperator::Plus,
            operand,
        } => !matches!(operand.kind, ExprKind::Literal(_)) || of(operand, compiler),
        ExprKind::GlobalVariable(name) => function::global(name).is_none_or(|it| it.is_nullable),
        ExprKind::Function(call) => of_call(call, compiler),
        ExprKind::Collate { operand, .. } => of(operand, compiler),
        ExprKind::Chain { first, rest } => {
            let is_sum = rest.iter().all(|link| link.operator == BinaryOperator::Add);
            !is_sum
                || !is_text(first)
                || of(first, compiler)
                || rest.iter().any(|link| !is_text(&link.operand) || of(&link.operand, compiler))
        }
        ExprKind::SearchedCase(case) => {
            case.otherwise.as_ref().is_none_or(|it| of(it, compiler))
                || case.arms.iter().any(|arm| of(&arm.result, compiler))
        }
        ExprKind::SimpleCase(case) => {
            case.otherwise.as_ref().is_none_or(|it| of(it, compiler))
                || case.arms.iter().any(|arm| of(&arm.result, compiler))
        }
        ExprKind::Iif(iif) => of(&iif.yes, compiler) || of(&iif.no, compiler),
        _ => true,
    }
}

fn of_call(call: &FunctionCall, compiler: &Compiler<'_>) -> bool {
    let count = match &call.arguments {
        Arguments::List(values) => values.len(),
        _ => 0,
    };
    if let Some(definition) = function::called(&call.name.name.text, count) {
        return definition.is_nullable;
    }
    let Arguments::List(values) = &call.arguments else { return true };
    match call.name.name.text.to_ascii_lowercase().as_str() {
        "isnull" => values.iter().all(|value| of(value, compiler)),
        "coalesce" => values.iter().any(|value| of(value, compiler)),
        "concat" | "concat_ws" => false,
        _ => true,
    }
}

/// A literal text, or what is built of them: `+` of others may be arithmetic.
fn is_text(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(literal) => matches!(literal, Literal::String(_)),
        ExprKind::Collate { operand, .. } => is_text(operand),
        ExprKind::GlobalVariable(name) => {
            matches!(&*name.to_ascii_lowercase(), "@@version" | "@@servername" | "@@language")
        }
        _ => false,
    }
}
