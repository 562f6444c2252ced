//! Which parts of an expression are values from outside.

use extentdb_expr::{CompileError, Parameter, Resolver};
use extentdb_tsql::syntax::{
    Arguments, DataType, Expr, ExprKind, FunctionCall, Query, QueryBody, SelectItem,
};
use extentdb_types::SqlType;

use super::{Compiler, Input, Source, cause_of, literal_text};
use crate::cause::Cause;
use crate::data_type;
use crate::frame::variable_named;
use crate::function::{self, Definition};

/// Collects the sources of one expression.
pub(super) struct Collector<'c> {
    compiler: Compiler<'c>,
    inputs: Vec<Input>,
    /// Why a part cannot be had, in the words of this crate.
    cause: Option<Cause>,
}

impl<'c> Collector<'c> {
    pub(super) fn new(compiler: Compiler<'c>) -> Collector<'c> {
        Collector { compiler, inputs: Vec::new(), cause: None }
    }

    pub(super) fn into_inputs(self) -> Vec<Input> {
        self.inputs
    }

    /// The type of the whole expression when it is one source.
    pub(super) fn whole(&mut self, expr: &Expr) -> Result<Option<SqlType>, Cause> {
        self.source(expr).map(|found| found.map(|parameter| parameter.ty))
    }

    /// The cause behind an error of the compiler, which may have been ours.
    pub(super) fn cause_of(&mut self, error: CompileError) -> Cause {
        self.cause.take().unwrap_or_else(|| cause_of(error))
    }

    fn add(&mut self, source: Source, ty: SqlType) -> Parameter {
        if let Source::Variable(slot) = source {
            let is_it =
                |input: &Input| matches!(input.source, Source::Variable(own) if own == slot);
            if let Some(place) = self.inputs.iter().position(is_it) {
                return Parameter { place, ty, is_nullable: true };
            }
        }
        self.inputs.push(Input { source, ty });
        Parameter { place: self.inputs.len() - 1, ty, is_nullable: true }
    }

    fn source(&mut self, expr: &Expr) -> Result<Option<Parameter>, Cause> {
        Ok(match &expr.kind {
            ExprKind::Variable(name) => Some(self.variable(name)?),
            ExprKind::GlobalVariable(name) => {
                let definition = function::global(name)
                    .ok_or_else(|| Cause::UnknownVariable { name: name.to_string() })?;
                Some(self.function(definition, Vec::new()))
            }
            ExprKind::Function(call) => self.call(call)?,
            ExprKind::Cast { is_try, operand, data_type } => {
                self.unwrapped(operand, data_type, *is_try)?
            }
            ExprKind::Convert(convert) => {
                self.unwrapped(&convert.operand, &convert.data_type, convert.is_try)?
            }
            ExprKind::Subquery(query) => Some(self.query(query)?),
            ExprKind::Column(column) => match &column.qualifier {
                Some(qualifier) => {
                    let name = format!("{qualifier}.{}", expr_name(expr));
                    return Err(Cause::UnknownIdentifier { name: name.replace(['[', ']'], "") });
                }
                None => None,
            },
            _ => None,
        })
    }

    fn variable(&mut self, name: &str) -> Result<Parameter, Cause> {
        let variables = self.compiler.variables;
        let slot = variable_named(variables, name);
        let unknown = || Cause::UnknownVariable { name: name.to_owned() };
        let slot = slot.ok_or_else(unknown)?;
        let ty = variables.get(slot).map(|variable| variable.ty).ok_or_else(unknown)?;
        Ok(self.add(Source::Variable(slot), ty))
    }

    fn function(
        &mut self,
        definition: &'static Definition,
        arguments: Vec<super::Scalar>,
    ) -> Parameter {
        let ty = definition.result.ty(self.compiler.collation);
        self.add(Source::Function { definition, arguments }, ty)
    }

    fn call(&mut self, call: &FunctionCall) -> Result<Option<Parameter>, Cause> {
        if !call.name.is_simple() || call.over.is_some() {
            return Ok(None);
        }
        let values: &[Expr] = match &call.arguments {
            Arguments::None => &[],
            Arguments::List(values) => values,
            _ => return Ok(None),
        };
        let name = &call.name.name.text;
        let Some(definition) = function::called(name, values.len()) else { return Ok(None) };
        definition.verify_count(values.len())?;
        let compiler = self.compiler;
        let argument = |(place, expr): (usize, &Expr)| match definition.argument(place) {
            Some(kind) => compiler.assigned(expr, kind.ty(compiler.collation)),
            None => compiler.value(expr),
        };
        let arguments: Result<Vec<_>, _> = values.iter().enumerate().map(argument).collect();
        Ok(Some(self.function(definition, arguments?)))
    }

    /// CAST or CONVERT of a sql_variant; other operands are those of `expr`.
    fn unwrapped(
        &mut self,
        operand: &Expr,
        data_type: &DataType,
        is_try: bool,
    ) -> Result<Option<Parameter>, Cause> {
        let mut inner = Collector::new(self.compiler);
        if inner.whole(operand)? != Some(SqlType::SqlVariant) {
            return Ok(None);
        }
        let to = data_type::converted(data_type, self.compiler.collation)?;
        let operand = Box::new(self.compiler.value(operand)?);
        Ok(Some(self.add(Source::Unwrapped { operand, to, is_try }, to)))
    }

    fn query(&mut self, query: &Query) -> Result<Parameter, Cause> {
        let refused = || Cause::not_supported("a query with FROM as a value");
        let QueryBody::Select(select) = &query.body else { return Err(refused()) };
        let is_plain = query.with.is_none()
            && query.order_by.is_empty()
            && query.offset.is_none()
            && query.for_clause.is_none()
            && select.from.is_empty()
            && select.top.is_none()
            && select.group_by.is_none()
            && select.having.is_none();
        let (true, [SelectItem::Value { value, .. }]) = (is_plain, select.items.as_slice()) else {
            return Err(refused());
        };
        let value = Box::new(self.compiler.value(value)?);
        let filter = select.filter.as_ref().map(|it| self.compiler.condition(it)).transpose()?;
        let ty = value.ty;
        Ok(self.add(Source::Query { value, filter: filter.map(Box::new) }, ty))
    }

    /// A property whose base type its name says stands as a value of that type.
    fn compared(&mut self, expr: &Expr) -> Result<Option<Parameter>, Cause> {
        if let ExprKind::Function(call) = &expr.kind
            && let Arguments::List(values) = &call.arguments
            && let Some(definition) = function::named(&call.name.name.text)
            && let Some(name) = values.last().and_then(literal_text)
            && let Some(base) = function::property_type(definition, name, self.compiler.collation)
        {
            let operand = Box::new(self.compiler.value(expr)?);
            return Ok(Some(
                self.add(Source::Unwrapped { operand, to: base, is_try: false }, base),
            ));
        }
        self.source(expr)
    }

    fn answer(
        &mut self,
        found: Result<Option<Parameter>, Cause>,
        expr: &Expr,
    ) -> Result<Option<Parameter>, CompileError> {
        found.map_err(|cause| {
            let what = cause.to_string();
            self.cause = Some(cause);
            CompileError::Unsupported { what, at: expr.span.start as usize }
        })
    }
}

impl Resolver for Collector<'_> {
    fn resolve(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError> {
        let found = self.source(expr);
        self.answer(found, expr)
    }

    fn resolve_compared(&mut self, expr: &Expr) -> Result<Option<Parameter>, CompileError> {
        let found = self.compared(expr);
        self.answer(found, expr)
    }
}

/// The last part of a column's name.
fn expr_name(expr: &Expr) -> String {
    let text = expr.to_string();
    text.rsplit('.').next().unwrap_or_default().to_owned()
}
