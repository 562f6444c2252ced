//! DECLARE and SET of variables.

use extentdb_tsql::syntax::{
    AssignOperator, Assignment, Declaration, DeclarationKind, Expr, ExprKind, Link, MethodCall,
    Name, VariableName,
};
use extentdb_types::{Collation, SqlType};

use super::Compiled;
use extentdb_connection::cause::Cause;
use extentdb_connection::data_type;
use extentdb_connection::frame::{Frame, Variable, variable_named};
use extentdb_connection::query::{self, Prepared};
use extentdb_connection::scalar::{Compiler, Scalar, has_subquery};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

/// `@v = value`
pub(crate) struct Assign {
    pub(crate) slot: usize,
    pub(crate) value: AssignedValue,
}

/// What is assigned.
pub(crate) enum AssignedValue {
    Scalar(Box<Scalar>),
    /// A value with a query in it, for a variable of this type.
    Query(Box<Expr>, SqlType),
}

impl Assign {
    /// Compiles an assignment, with its operator if it has one.
    pub(crate) fn of(compiler: &Compiler<'_>, assignment: &Assignment) -> Result<Assign, Cause> {
        let name = &assignment.variable.text;
        let value = match assignment.operator {
            AssignOperator::Set => assignment.value.clone(),
            AssignOperator::Compound(operator) => {
                let span = assignment.value.span;
                let first = Expr { kind: ExprKind::Variable(name.clone()), span };
                let operand = assignment.value.clone();
                let rest = vec![Link { operator, operand, span }];
                Expr { kind: ExprKind::Chain { first: Box::new(first), rest }, span }
            }
        };
        Assign::to(compiler, name, &value)
    }

    /// `@v.modify ( … )`: the variable becomes what the method leaves.
    pub(crate) fn modified(
        compiler: &Compiler<'_>,
        variable: &VariableName,
        method: &Name,
        arguments: &[Expr],
    ) -> Result<Assign, Cause> {
        if &*method.text != "modify" {
            return Err(Cause::not_supported(format!("the method {} of a variable", method.text)));
        }
        let span = method.span;
        let operand = Expr { kind: ExprKind::Variable(variable.text.clone()), span };
        let call = MethodCall {
            operand,
            name: method.clone(),
            arguments: Some(arguments.to_vec()),
        };
        let value = Expr { kind: ExprKind::Method(Box::new(call)), span };
        Assign::to(compiler, &variable.text, &value)
    }

    fn to(compiler: &Compiler<'_>, name: &str, value: &Expr) -> Result<Assign, Cause> {
        let unknown = || Cause::UnknownVariable { name: name.to_owned() };
        let slot = variable_named(compiler.variables, name).ok_or_else(unknown)?;
        let variable = compiler.variables.get(slot).ok_or_else(unknown)?;
        let value = match compiler.assigned(value, variable.ty) {
            Ok(scalar) => AssignedValue::Scalar(Box::new(scalar)),
            Err(Cause::NotSupported { .. }) if has_subquery(value) => {
                AssignedValue::Query(Box::new(value.clone()), variable.ty)
            }
            Err(cause) => return Err(cause),
        };
        Ok(Assign { slot, value })
    }

    /// Assigns.
    pub(crate) fn apply(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<(), Stop> {
        let value = match &self.value {
            AssignedValue::Scalar(scalar) => scalar.value(run.values(frame))?,
            AssignedValue::Query(expr, ty) => {
                let (prepared, bound) =
                    Prepared::bind(run, frame, |binder| binder.scalar(expr, Some(*ty)))?;
                query::single_value(run, frame, prepared, bound)?
            }
        };
        if let Some(slot) = frame.values.get_mut(self.slot) {
            *slot = value;
        }
        Ok(())
    }
}

impl Step for Assign {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        self.apply(run, frame)?;
        Ok(RowCount::Rows(1))
    }
}

/// The variable of a declaration, the one at `position` from 1.
pub(crate) fn declared(
    declaration: &Declaration,
    position: usize,
    collation: Collation,
) -> Result<Variable, Cause> {
    match &declaration.kind {
        DeclarationKind::Scalar { data_type, .. } => Ok(Variable {
            name: declaration.name.text.as_ref().into(),
            ty: data_type::declared(data_type, position, collation)?,
        }),
        DeclarationKind::Table(_) => Err(Cause::not_supported("a table variable")),
        DeclarationKind::Cursor => Err(Cause::not_supported("a cursor variable")),
    }
}

/// The assignment of its first value, if it has one.
pub(crate) fn initial(compiler: &Compiler<'_>, declaration: &Declaration) -> Option<Compiled> {
    let DeclarationKind::Scalar { value: Some(value), .. } = &declaration.kind else {
        return None;
    };
    let assign = Assign::to(compiler, &declaration.name.text, value);
    Some(assign.map(|assign| Box::new(assign) as Box<dyn Step>))
}
