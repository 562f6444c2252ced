//! Functions of users in an arm of CASE: they are called for rows that take the arm alone.
//!
//! ```text
//! CASE WHEN c THEN x * f(y) ELSE 0 END
//!
//!   guard   CASE WHEN c THEN 1 ELSE 0 END                 a column
//!   f       called with CASE guard WHEN 1 THEN y END    where the guard is 1, else NULL
//!   value   CASE WHEN c THEN x * f ELSE 0 END
//! ```
//!
//! Guards and results stand in the expression as variables, whose names no text can have.

use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, FunctionCall as CallSyntax, Literal, SimpleArm, SimpleCase,
};

use crate::binder::Binder;
use crate::error::Result;
use crate::logical::{Column, ValueId};
use crate::scalar::Place;
use crate::walk::{self, has_guarded_call, has_user_call, is_user_call};

impl Binder<'_> {
    /// The same CASE with the results of functions of users as variables.
    pub(crate) fn guarded_case(&mut self, expr: &Expr, place: &mut Place<'_>) -> Result<Expr> {
        let mut case = expr.clone();
        self.guard_case(&mut case, None, place)?;
        Ok(case)
    }

    fn guard_case(
        &mut self,
        case: &mut Expr,
        outer: Option<ValueId>,
        place: &mut Place<'_>,
    ) -> Result<()> {
        let whole = case.clone();
        for (number, result) in results_mut(case).into_iter().enumerate() {
            if !has_user_call(result) {
                continue;
            }
            let mut guard = whole.clone();
            for (own, result) in results_mut(&mut guard).into_iter().enumerate() {
                result.kind = literal(if own == number { "1" } else { "0" });
            }
            let guard = match outer {
                Some(outer) => where_guard(guard, outer),
                None => guard,
            };
            let value = self.value(&guard, place.again())?;
            let id = self.staged(&value, &mut *place.stage);
            self.named(Column { id, ty: value.ty(), is_nullable: true });
            self.guard_calls(result, id, place)?;
        }
        Ok(())
    }

    fn guard_calls(
        &mut self,
        expr: &mut Expr,
        guard: ValueId,
        place: &mut Place<'_>,
    ) -> Result<()> {
        if has_guarded_call(expr) {
            return self.guard_case(expr, Some(guard), place);
        }
        if !is_user_call(expr) {
            let mut done = Ok(());
            each_operand_mut(expr, &mut |operand| {
                if done.is_ok() {
                    done = self.guard_calls(operand, guard, place);
                }
            });
            return done;
        }
        let ExprKind::Function(call) = &expr.kind else { return Ok(()) };
        let mut call = call.clone();
        if let Arguments::List(values) = &mut call.arguments {
            for value in values.iter_mut().filter(|value| value.kind != ExprKind::Default) {
                *value = where_guard(value.clone(), guard);
            }
        }
        let result = self.guarded_call(&call, guard, expr.span, place)?;
        expr.kind = ExprKind::Variable(self.named(result));
        Ok(())
    }

    fn guarded_call(
        &mut self,
        call: &CallSyntax,
        guard: ValueId,
        span: Span,
        place: &mut Place<'_>,
    ) -> Result<Column> {
        let guard = variable(guard, span);
        let found = self.user_call(call, Some(&guard), place.again(), span)?;
        Ok(Column { id: found.place, ty: found.ty, is_nullable: true })
    }

    /// The name of the variable that a column is in expressions.
    fn named(&mut self, column: Column) -> Box<str> {
        let name = name_of(column.id);
        self.parameters.push((name.clone(), column));
        name
    }
}

/// No text can have this name.
fn name_of(id: ValueId) -> Box<str> {
    format!("@\u{1}{id:?}").into()
}

fn variable(id: ValueId, span: Span) -> Expr {
    Expr { kind: ExprKind::Variable(name_of(id)), span }
}

fn literal(text: &str) -> ExprKind {
    ExprKind::Literal(Literal::Integer(text.into()))
}

/// `CASE guard WHEN 1 THEN value END`
fn where_guard(value: Expr, guard: ValueId) -> Expr {
    let span = value.span;
    let one = Expr { kind: literal("1"), span };
    let case = SimpleCase {
        operand: variable(guard, span),
        arms: vec![SimpleArm { value: one, result: value }],
        otherwise: None,
    };
    Expr { kind: ExprKind::SimpleCase(Box::new(case)), span }
}

fn results_mut(expr: &mut Expr) -> Vec<&mut Expr> {
    match &mut expr.kind {
        ExprKind::SearchedCase(case) => {
            let results = case.arms.iter_mut().map(|arm| &mut arm.result);
            results.chain(&mut case.otherwise).collect()
        }
        ExprKind::SimpleCase(case) => {
            let results = case.arms.iter_mut().map(|arm| &mut arm.result);
            results.chain(&mut case.otherwise).collect()
        }
        ExprKind::Iif(iif) => vec![&mut iif.yes, &mut iif.no],
        _ => Vec::new(),
    }
}

/// Calls `each` with the operands that functions are looked for in.
fn each_operand_mut(expr: &mut Expr, each: &mut dyn FnMut(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Unary { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. } => each(operand),
        ExprKind::Chain { first, rest } => {
            each(first);
            rest.iter_mut().for_each(|link| each(&mut link.operand));
        }
        ExprKind::Convert(convert) => each(&mut convert.operand),
        ExprKind::Function(call) if call.over.is_none() && !walk::is_aggregate(call) => {
            if let Arguments::List(values) = &mut call.arguments {
                values.iter_mut().for_each(each);
            }
        }
        _ => {}
    }
}
