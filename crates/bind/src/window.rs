//! Functions over windows: `f (…) OVER ( PARTITION BY … ORDER BY … frame )`.

use extentdb_expr::{Parameter, Scalar};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{
    Arguments, Expr, ExprKind, Frame as FrameSyntax, FrameBound as BoundSyntax,
    FunctionCall as CallSyntax, Literal, NullTreatment, Over, Window,
};
use extentdb_types::SqlType;

use crate::binder::Binder;
use crate::error::{Cause, Result, not_supported};
use crate::function::{Aggregate, WindowFunction};
use crate::logical::{Frame, FrameBound, OrderKey, ValueId, WindowCall};
use crate::query::is_descending;
use crate::scalar::{Clause, Place, parameter};
use crate::stage::StageStep;
use crate::walk;

/// A window with its values.
struct BoundWindow {
    partition: Vec<ValueId>,
    order: Vec<OrderKey>,
    frame: Option<FrameSyntax>,
}

impl Binder<'_> {
    pub(crate) fn window_call(
        &mut self,
        call: &CallSyntax,
        span: Span,
        place: &mut Place<'_>,
    ) -> Result<Parameter> {
        if !matches!(place.clause, Clause::Select | Clause::Order) {
            return Err(Cause::WindowPlace.at(span));
        }
        let name = call.name.name.text.to_lowercase();
        let Some(function) = WindowFunction::named(&name) else {
            return not_supported(format!("the function {name} with OVER"), span);
        };
        let mut window = self.window(call, span, place)?;
        if function.needs_order() && window.order.is_empty() {
            return Err(Cause::NeedsOrder { function: name }.at(span));
        }
        if !function.takes_frame() && window.frame.is_some() {
            return Err(Cause::NoFrame { function: name }.at(span));
        }
        let values = self.window_arguments(call, function, span, place)?;
        let mut types: Vec<SqlType> = values.iter().map(Scalar::ty).collect();
        for item in &call.within_group {
            let mut value = self.value(&item.value, place.again())?;
            if function == WindowFunction::PercentileCont {
                let converted = value.assigned(SqlType::Float, &self.environment);
                value = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
            }
            types = vec![value.ty()];
            let id = self.staged(&value, place.stage);
            window.order.push(OrderKey { id, is_descending: is_descending(item) });
        }
        let (ty, is_nullable) = result(function, &types, span)?;
        let arguments = values.iter().map(|value| self.staged(value, place.stage)).collect();
        let column = self.new_column(ty, is_nullable);
        let bound = parameter(&column);
        let frame = self.frame(function, &window, span)?;
        place.stage.push(StageStep::Window {
            partition: window.partition,
            order: window.order,
            calls: vec![WindowCall {
                column,
                function,
                arguments,
                frame,
                ignores_nulls: call.nulls == Some(NullTreatment::Ignore),
            }],
        });
        Ok(bound)
    }

    fn window(
        &mut self,
        call: &CallSyntax,
        span: Span,
        place: &mut Place<'_>,
    ) -> Result<BoundWindow> {
        let syntax = match &call.over {
            Some(Over::Window(window)) => window.clone(),
            Some(Over::Named(name)) => Window {
                base: Some(name.clone()),
                partition_by: Vec::new(),
                order_by: Vec::new(),
                frame: None,
            },
            None => return not_supported("a window function without OVER", span),
        };
        let syntax = self.whole_window(syntax, span)?;
        let mut partition = Vec::new();
        for value in &syntax.partition_by {
            partition.push(self.order_value(value, place)?);
        }
        let mut order = Vec::new();
        for item in &syntax.order_by {
            verify_order(&item.value)?;
            let id = self.order_value(&item.value, place)?;
            order.push(OrderKey { id, is_descending: is_descending(item) });
        }
        Ok(BoundWindow { partition, order, frame: syntax.frame })
    }

    /// A window with what the named window has that it begins with.
    fn whole_window(&mut self, mut window: Window, span: Span) -> Result<Window> {
        let mut left = 32;
        while let Some(base) = window.base.take() {
            left -= 1;
            let named = self.windows.iter().rev().flatten();
            let found = named.clone().find(|it| self.is_same(&it.name.text, &base.text)).cloned();
            let Some(found) = found.filter(|_| left > 0) else {
                let text = format!("Window '{}' is undefined.", base.text);
                return Err(Cause::Other { number: 5362, text }.at(span));
            };
            let own = found.window;
            if window.partition_by.is_empty() {
                window.partition_by = own.partition_by;
            }
            if window.order_by.is_empty() {
                window.order_by = own.order_by;
            }
            window.frame = window.frame.or(own.frame);
            window.base = own.base;
        }
        Ok(window)
    }

    /// A value that rows are ordered or divided by. A constant orders nothing: `(SELECT NULL)`.
    fn order_value(&mut self, value: &Expr, place: &mut Place<'_>) -> Result<ValueId> {
        verify_alone(value)?;
        let value = self.value(value, place.again())?;
        Ok(self.staged(&value, place.stage))
    }

    fn window_arguments(
        &mut self,
        call: &CallSyntax,
        function: WindowFunction,
        span: Span,
        place: &mut Place<'_>,
    ) -> Result<Vec<Scalar>> {
        let values: &[Expr] = match &call.arguments {
            Arguments::Star | Arguments::None => &[],
            Arguments::List(values) => values,
            Arguments::Distinct(_) => {
                let text = "Use of DISTINCT is not allowed with the OVER clause.".to_owned();
                return Err(Cause::Other { number: 10759, text }.at(span));
            }
            _ => return not_supported("these arguments of a window function", span),
        };
        let mut bound = Vec::new();
        for value in values {
            verify_alone(value)?;
            bound.push(self.value(value, place.again())?);
        }
        let least = match function {
            WindowFunction::RowNumber
            | WindowFunction::Rank
            | WindowFunction::DenseRank
            | WindowFunction::PercentRank
            | WindowFunction::CumeDist => 0,
            WindowFunction::Aggregate(Aggregate::Count | Aggregate::CountBig)
                if matches!(call.arguments, Arguments::Star) =>
            {
                0
            }
            _ => 1,
        };
        let most =
            if matches!(function, WindowFunction::Lag | WindowFunction::Lead) { 3 } else { least };
        if bound.len() < least || bound.len() > most {
            let function = call.name.name.text.to_lowercase();
            return Err(Cause::ArgumentCount { function, count: least }.at(span));
        }
        // The default of LAG and LEAD is one of the values.
        if let [first, _, default] = bound.as_mut_slice() {
            let converted = default.assigned(first.ty(), &self.environment);
            *default = converted.map_err(|cause| Cause::Expression(cause).at(span))?;
        }
        Ok(bound)
    }

    fn frame(
        &mut self,
        function: WindowFunction,
        window: &BoundWindow,
        span: Span,
    ) -> Result<Frame> {
        let whole = Frame {
            is_range: false,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::UnboundedFollowing,
        };
        let Some(frame) = &window.frame else {
            return Ok(if window.order.is_empty() || !function.takes_frame() {
                whole
            } else {
                Frame { is_range: true, end: FrameBound::CurrentRow, ..whole }
            });
        };
        if window.order.is_empty() {
            let text = "Window frame with ROWS or RANGE must have an ORDER BY clause.".to_owned();
            return Err(Cause::Other { number: 10756, text }.at(span));
        }
        let start = bound(&frame.start, span)?;
        let end = frame.end.as_ref().map(|end| bound(end, span)).transpose()?;
        let end = end.unwrap_or(FrameBound::CurrentRow);
        let is_number =
            |bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
        if frame.is_range && (is_number(start) || is_number(end)) {
            let text = "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame \
                        delimiters."
                .to_owned();
            return Err(Cause::Other { number: 4194, text }.at(span));
        }
        Ok(Frame { is_range: frame.is_range, start, end })
    }
}

/// A window in a window is refused.
fn verify_alone(value: &Expr) -> Result<()> {
    if walk::has_window(value) { Err(Cause::NestedWindow.at(value.span)) } else { Ok(()) }
}

/// Neither a position nor a constant orders a window.
fn verify_order(value: &Expr) -> Result<()> {
    let (what, number) = match &value.kind {
        ExprKind::Literal(Literal::Integer(_)) => ("integer indices", 5308),
        ExprKind::Literal(_) => ("constants", 5309),
        _ => return Ok(()),
    };
    Err(Cause::WindowConstant { what, number }.at(value.span))
}

fn bound(syntax: &BoundSyntax, span: Span) -> Result<FrameBound> {
    let rows = |value: &Expr| match &value.kind {
        extentdb_tsql::syntax::ExprKind::Literal(extentdb_tsql::syntax::Literal::Integer(text)) => {
            text.parse().map_err(|_| Cause::TopNotInteger.at(span))
        }
        _ => not_supported("a frame of rows that is no number", span),
    };
    Ok(match syntax {
        BoundSyntax::UnboundedPreceding => FrameBound::UnboundedPreceding,
        BoundSyntax::Preceding(rows_before) => FrameBound::Preceding(rows(rows_before)?),
        BoundSyntax::CurrentRow => FrameBound::CurrentRow,
        BoundSyntax::Following(rows_after) => FrameBound::Following(rows(rows_after)?),
        BoundSyntax::UnboundedFollowing => FrameBound::UnboundedFollowing,
    })
}

/// Type and nullability of the result.
fn result(function: WindowFunction, types: &[SqlType], span: Span) -> Result<(SqlType, bool)> {
    let first = types.first().copied().unwrap_or(SqlType::Int);
    Ok(match function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::NTile => (SqlType::BigInt, false),
        WindowFunction::PercentRank | WindowFunction::CumeDist => (SqlType::Float, false),
        WindowFunction::PercentileCont => (SqlType::Float, true),
        WindowFunction::PercentileDisc
        | WindowFunction::Lag
        | WindowFunction::Lead
        | WindowFunction::FirstValue
        | WindowFunction::LastValue => (first, true),
        WindowFunction::Aggregate(Aggregate::StringAgg) => {
            return not_supported("STRING_AGG with OVER", span);
        }
        WindowFunction::Aggregate(aggregate) => match aggregate.result(&first) {
            Some(ty) => (ty, !aggregate.is_never_null()),
            None => {
                let ty = first.base_name().to_owned();
                let function = aggregate.name().to_owned();
                return Err(Cause::OperandType { ty, function }.at(span));
            }
        },
    })
}
