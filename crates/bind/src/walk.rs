//! What an expression contains, without looking into its subqueries.

use extentdb_tsql::syntax::{
    Arguments, Condition, ConditionKind, Expr, ExprKind, FunctionCall, SelectItem,
};

use crate::function::Aggregate;
use crate::method_call::as_method;

/// Is there an aggregate that groups the rows?
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    if let ExprKind::Function(call) = &expr.kind
        && is_aggregate(call)
    {
        return true;
    }
    let mut found = false;
    each_operand(expr, &mut |operand| found |= has_aggregate(operand));
    found
}

/// The same of a condition.
pub(crate) fn condition_has_aggregate(condition: &Condition) -> bool {
    let mut found = false;
    each_value(condition, &mut |value| found |= has_aggregate(value));
    found
}

/// The same of an item of a select list.
pub(crate) fn item_has_aggregate(item: &SelectItem) -> bool {
    match item {
        SelectItem::Value { value, .. } => has_aggregate(value),
        SelectItem::Assign(assignment) => has_aggregate(&assignment.value),
        SelectItem::Star { .. } => false,
    }
}

/// An aggregate, and no window function.
pub(crate) fn is_aggregate(call: &FunctionCall) -> bool {
    let name = &call.name.name.text;
    let is_own = call.name.is_simple() && call.over.is_none();
    is_own
        && (Aggregate::named(name).is_some()
            || name.eq_ignore_ascii_case("grouping")
            || name.eq_ignore_ascii_case("grouping_id"))
}

/// Is it a CASE with a function of users in a result?
pub(crate) fn has_guarded_call(expr: &Expr) -> bool {
    let mut results: Vec<&Expr> = Vec::new();
    match &expr.kind {
        ExprKind::SearchedCase(case) => {
            results.extend(case.arms.iter().map(|arm| &arm.result));
            results.extend(&case.otherwise);
        }
        ExprKind::SimpleCase(case) => {
            results.extend(case.arms.iter().map(|arm| &arm.result));
            results.extend(&case.otherwise);
        }
        ExprKind::Iif(iif) => results.extend([&iif.yes, &iif.no]),
        _ => return false,
    }
    results.into_iter().any(has_user_call)
}

/// Is there a call of a function of users, in the place of the expression?
pub(crate) fn has_user_call(expr: &Expr) -> bool {
    if is_user_call(expr) {
        return true;
    }
    let mut found = false;
    let is_own_place = matches!(&expr.kind, ExprKind::Function(call)
        if call.over.is_some() || is_aggregate(call));
    if !is_own_place {
        each_operand(expr, &mut |operand| found |= has_user_call(operand));
    }
    found
}

/// Is it a call of a function of users?
pub(crate) fn is_user_call(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Function(call)
        if !call.name.is_simple() && call.over.is_none() && as_method(call).is_none())
}

/// Is there a NEXT VALUE FOR?
pub(crate) fn has_next_value(expr: &Expr) -> bool {
    let mut found = matches!(expr.kind, ExprKind::NextValue(_));
    each_operand(expr, &mut |operand| found |= has_next_value(operand));
    found
}

/// Is there one among the items of a select list?
pub(crate) fn items_have_next_value(items: &[SelectItem]) -> bool {
    items.iter().any(|item| match item {
        SelectItem::Value { value, .. } => has_next_value(value),
        SelectItem::Assign(assignment) => has_next_value(&assignment.value),
        SelectItem::Star { .. } => false,
    })
}

/// Is it one of the expressions that evaluate only some of their operands?
pub(crate) fn is_choice(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::SearchedCase(_) | ExprKind::SimpleCase(_) | ExprKind::Iif(_) => true,
        ExprKind::Function(call) => {
            let name = call.name.name.text.to_ascii_lowercase();
            let is_named = matches!(&*name, "choose" | "coalesce" | "isnull" | "nullif");
            call.name.is_simple() && is_named
        }
        _ => false,
    }
}

/// Is there a function with OVER?
pub(crate) fn has_window(expr: &Expr) -> bool {
    if matches!(&expr.kind, ExprKind::Function(call) if call.over.is_some()) {
        return true;
    }
    let mut found = false;
    each_operand(expr, &mut |operand| found |= has_window(operand));
    found
}

/// Calls `each` with the operands of an expression.
pub fn each_operand<'e>(expr: &'e Expr, each: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. } => each(operand),
        ExprKind::Chain { first, rest } => {
            each(first);
            rest.iter().for_each(|link| each(&link.operand));
        }
        ExprKind::SimpleCase(case) => {
            each(&case.operand);
            for arm in &case.arms {
                each(&arm.value);
                each(&arm.result);
            }
            case.otherwise.iter().for_each(each);
        }
        ExprKind::SearchedCase(case) => {
            for arm in &case.arms {
                each_value(&arm.condition, each);
                each(&arm.result);
            }
            case.otherwise.iter().for_each(each);
        }
        ExprKind::Iif(iif) => {
            each_value(&iif.condition, each);
            each(&iif.yes);
            each(&iif.no);
        }
        ExprKind::Function(call) => each_argument(call, each),
        ExprKind::OdbcFunction(inner) => each(inner),
        ExprKind::Convert(convert) => {
            each(&convert.operand);
            convert.style.iter().for_each(each);
        }
        ExprKind::Parse(parse) => each(&parse.operand),
        ExprKind::AtTimeZone { operand, zone } => {
            each(operand);
            each(zone);
        }
        ExprKind::Method(call) => {
            each(&call.operand);
            call.arguments.iter().flatten().for_each(each);
        }
        ExprKind::StaticMember(member) => member.arguments.iter().flatten().for_each(each),
        _ => {}
    }
}

fn each_argument<'e>(call: &'e FunctionCall, each: &mut dyn FnMut(&'e Expr)) {
    match &call.arguments {
        Arguments::None | Arguments::Star => {}
        Arguments::List(values)
        | Arguments::Distinct(values)
        | Arguments::JsonArray { values, .. }
        | Arguments::Partition(values) => values.iter().for_each(each),
        Arguments::Trim { characters, operand, .. } => {
            characters.iter().for_each(|it| each(it));
            each(operand);
        }
        Arguments::JsonObject { members, .. } => {
            for member in members {
                each(&member.key);
                each(&member.value);
            }
        }
    }
}

/// Calls `each` with the values of a condition.
pub(crate) fn each_value<'e>(condition: &'e Condition, each: &mut dyn FnMut(&'e Expr)) {
    match &condition.kind {
        ConditionKind::And(parts) | ConditionKind::Or(parts) => {
            parts.iter().for_each(|part| each_value(part, each));
        }
        ConditionKind::Not(part) => each_value(part, each),
        ConditionKind::Comparison { left, right, .. }
        | ConditionKind::IsDistinct { left, right, .. } => {
            each(left);
            each(right);
        }
        ConditionKind::IsNull { operand, .. } => each(operand),
        ConditionKind::Between(between) => {
            each(&between.operand);
            each(&between.low);
            each(&between.high);
        }
        ConditionKind::InList { operand, values, .. } => {
            each(operand);
            values.iter().for_each(each);
        }
        ConditionKind::Like(like) => {
            each(&like.operand);
            each(&like.pattern);
            like.escape.iter().for_each(each);
        }
        ConditionKind::Quantified(quantified) => each(&quantified.left),
        ConditionKind::InQuery { operand, .. } => each(operand),
        _ => {}
    }
}

/// Is one of the conditions of an expression about a query?
pub fn has_query_condition(expr: &Expr) -> bool {
    let is_about = |condition: &Condition| condition_has_query(condition);
    match &expr.kind {
        ExprKind::SearchedCase(case) => case.arms.iter().any(|arm| is_about(&arm.condition)),
        ExprKind::Iif(iif) => is_about(&iif.condition),
        _ => false,
    }
}

/// Is it a query, or the call of a function of users, which may have one?
pub fn is_query_like(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Subquery(_) => true,
        ExprKind::Function(call) => !call.name.is_simple(),
        _ => false,
    }
}

/// Is there a query in a condition?
pub fn condition_has_query(condition: &Condition) -> bool {
    match &condition.kind {
        ConditionKind::Exists(_) | ConditionKind::InQuery { .. } | ConditionKind::Quantified(_) => {
            true
        }
        ConditionKind::And(parts) | ConditionKind::Or(parts) => {
            parts.iter().any(condition_has_query)
        }
        ConditionKind::Not(part) => condition_has_query(part),
        _ => {
            let mut found = false;
            each_value(condition, &mut |value| found |= value_has_query(value));
            found
        }
    }
}

fn value_has_query(expr: &Expr) -> bool {
    let mut found = is_query_like(expr) || has_query_condition(expr);
    each_operand(expr, &mut |operand| found |= value_has_query(operand));
    found
}
