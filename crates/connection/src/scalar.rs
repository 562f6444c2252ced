//! Expressions of statements: compiled by `expr`, with values from variables and from the session.
//!
//! ```text
//! tsql::Expr ── Collector ──▶ sources: variables, @@ functions, functions of the session
//!     └───────── expr ──────▶ Program over them        (or one source alone)
//! ```
//!
//! Invariant: a scalar is compiled once for its batch, and knows the type and nullability that the
//! client is told before it is evaluated.

mod collect;
mod nullability;

use extentdb_base::sync::Arc;
use extentdb_expr::{
    Batch, CompileError, Environment, EvalError, Failure, Predicate, Program, Settings,
};
use extentdb_tsql::syntax::{Condition as ConditionSyntax, Expr, ExprKind, Literal};
use extentdb_types::{Collation, Datum, SqlType};

use crate::cause::Cause;
use crate::frame::{Frame, Values, Variable};
use crate::function::{Definition, is_function_of_the_product};
use crate::output::Scope;
use crate::variant;
use collect::Collector;

/// What expressions are compiled with.
#[derive(Clone, Copy)]
pub struct Compiler<'c> {
    /// Variables declared so far.
    pub variables: &'c [Variable],
    /// Collation of the database.
    pub collation: Collation,
    /// What values depend on.
    pub settings: Settings,
}

/// Where a value comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A variable, by its place in the frame.
    Variable(usize),
    /// A function of the session.
    Function {
        /// The function.
        definition: &'static Definition,
        /// Its arguments.
        arguments: Vec<Scalar>,
    },
    /// A sql_variant as a value of another type.
    Unwrapped {
        /// What is converted.
        operand: Box<Scalar>,
        /// To which type.
        to: SqlType,
        /// NULL instead of an error?
        is_try: bool,
    },
    /// `( SELECT value [ WHERE condition ] )`
    Query {
        /// What is aggregated.
        value: Box<Scalar>,
        /// Which rows count; all without.
        filter: Option<Box<Condition>>,
    },
}

/// A source with the type of its values.
#[derive(Debug, Clone)]
pub struct Input {
    source: Source,
    ty: SqlType,
}

/// A compiled value.
#[derive(Debug, Clone)]
pub struct Scalar {
    form: Form,
    inputs: Vec<Input>,
    /// Type that the client is told.
    pub ty: SqlType,
    /// May its value be NULL?
    pub is_nullable: bool,
}

#[derive(Debug, Clone)]
enum Form {
    /// The first input, as it is.
    Input,
    /// The first input as a sql_variant.
    Wrapped,
    Program(Box<Program>),
}

/// A compiled condition.
#[derive(Debug, Clone)]
pub struct Condition {
    predicate: Box<Predicate>,
    inputs: Vec<Input>,
}

impl<'c> Compiler<'c> {
    /// A value of its own type.
    pub fn value(&self, expr: &Expr) -> Result<Scalar, Cause> {
        self.compile(expr, None)
    }

    /// A value as one of type `target`, converted as an assignment does.
    pub fn assigned(&self, expr: &Expr, target: SqlType) -> Result<Scalar, Cause> {
        self.compile(expr, Some(target))
    }

    fn compile(&self, expr: &Expr, target: Option<SqlType>) -> Result<Scalar, Cause> {
        let mut collector = Collector::new(*self);
        let whole = collector.whole(expr)?;
        if let Some(ty) = whole
            && let Some(form) = direct_form(ty, target)?
        {
            let ty = target.unwrap_or(ty);
            let is_nullable = nullability::of(expr, self);
            return Ok(Scalar { form, inputs: collector.into_inputs(), ty, is_nullable });
        }
        if target == Some(SqlType::SqlVariant) {
            return self.wrapped(expr);
        }
        let mut collector = Collector::new(*self);
        let wanted = target.map(target_of_program);
        let program = Program::of_value(expr, &self.environment(), &mut collector, wanted);
        let program = program.map_err(|error| collector.cause_of(error))?;
        let ty = target.unwrap_or_else(|| reported(expr, program.result_type()));
        Ok(Scalar {
            form: Form::Program(Box::new(program)),
            inputs: collector.into_inputs(),
            ty,
            is_nullable: nullability::of(expr, self),
        })
    }

    /// A value of any type as a sql_variant.
    fn wrapped(&self, expr: &Expr) -> Result<Scalar, Cause> {
        let value = self.compile(expr, None)?;
        let ty = value.ty;
        let is_nullable = value.is_nullable;
        let source = Source::Query { value: Box::new(value), filter: None };
        Ok(Scalar {
            form: Form::Wrapped,
            inputs: vec![Input { source, ty }],
            ty: SqlType::SqlVariant,
            is_nullable,
        })
    }

    /// A condition.
    pub fn condition(&self, condition: &ConditionSyntax) -> Result<Condition, Cause> {
        let mut collector = Collector::new(*self);
        let environment = self.environment();
        let predicate = Predicate::of_condition(condition, &environment, &mut collector);
        let predicate = predicate.map_err(|error| collector.cause_of(error))?;
        Ok(Condition {
            predicate: Box::new(predicate),
            inputs: collector.into_inputs(),
        })
    }

    fn environment(&self) -> Environment {
        Environment {
            columns: Vec::new(),
            database_collation: self.collation,
            settings: self.settings,
        }
    }
}

/// How a source alone gives the target; `None` where `expr` converts it.
fn direct_form(ty: SqlType, target: Option<SqlType>) -> Result<Option<Form>, Cause> {
    match target {
        None => Ok(Some(Form::Input)),
        Some(target) if target == ty => Ok(Some(Form::Input)),
        Some(SqlType::SqlVariant) if !ty.is_max() && !ty.is_lob() => Ok(Some(Form::Wrapped)),
        Some(target) if ty == SqlType::SqlVariant => Err(Cause::ImplicitConversion {
            from: "sql_variant",
            to: crate::cause::type_name(&target),
        }),
        Some(_) => Ok(None),
    }
}

/// Is there a query in it, or what needs one as NEXT VALUE FOR does?
pub fn has_subquery(expr: &Expr) -> bool {
    let mut found =
        matches!(expr.kind, ExprKind::NextValue(_)) || extentdb_bind::is_query_like(expr);
    extentdb_bind::each_operand(expr, &mut |operand| found |= has_subquery(operand));
    found || extentdb_bind::has_query_condition(expr)
}

/// A numeric is a decimal to `expr`.
fn target_of_program(target: SqlType) -> SqlType {
    match target {
        SqlType::Numeric { precision, scale } => SqlType::Decimal { precision, scale },
        other => other,
    }
}

/// Exact numbers are numeric unless a type was named.
fn reported(expr: &Expr, ty: SqlType) -> SqlType {
    let is_named =
        matches!(expr.kind, ExprKind::Cast { .. } | ExprKind::Convert(_) | ExprKind::Variable(_));
    match ty {
        SqlType::Decimal { precision, scale } if !is_named => SqlType::Numeric { precision, scale },
        other => other,
    }
}

impl Scalar {
    /// The value now.
    pub fn value(&self, at: Values<'_>) -> Result<Datum<'static>, Cause> {
        match &self.form {
            Form::Input => first_input(&self.inputs, at),
            Form::Wrapped => {
                let ty = self.inputs.first().map_or(SqlType::Int, |input| input.ty);
                Ok(variant::wrap(first_input(&self.inputs, at)?, ty))
            }
            Form::Program(program) => {
                let mut batch = Batch::new();
                batch.reset(&**program);
                push_inputs(program.inputs(), &self.inputs, &mut batch, at)?;
                program.run(&mut batch);
                at.connection.notices.note_arithmetic(batch.arithmetic_nulls());
                let ty = program.result_type();
                match batch.value(0) {
                    Ok(None) => Ok(Datum::Null),
                    Ok(Some(bytes)) => decoded(&ty, bytes),
                    Err(error) => Err(failure_of(program, &batch, error)),
                }
            }
        }
    }

    /// The value of an int; NULL is `None`.
    pub fn integer(&self, at: Values<'_>) -> Result<Option<i64>, Cause> {
        Ok(variant::integer(&self.value(at)?))
    }

    /// The value as text; NULL is `None`.
    pub fn text(&self, at: Values<'_>) -> Result<Option<String>, Cause> {
        Ok(variant::text(&self.value(at)?))
    }
}

impl Condition {
    /// Is it true? Unknown is not.
    pub fn is_true(&self, at: Values<'_>) -> Result<bool, Cause> {
        let mut batch = Batch::new();
        batch.reset(&*self.predicate);
        push_inputs(self.predicate.inputs(), &self.inputs, &mut batch, at)?;
        self.predicate.run(&mut batch);
        match batch.truth(0) {
            Ok(truth) => Ok(truth == Some(true)),
            Err(error) => Err(failure_of((*self.predicate).as_ref(), &batch, error)),
        }
    }
}

fn first_input(inputs: &[Input], at: Values<'_>) -> Result<Datum<'static>, Cause> {
    inputs.first().map_or(Ok(Datum::Null), |input| input.value(at))
}

fn decoded(ty: &SqlType, bytes: &[u8]) -> Result<Datum<'static>, Cause> {
    let value = Datum::decode(ty, bytes);
    value.map(Datum::into_owned).map_err(|error| Cause::not_supported(error.to_string()))
}

fn push_inputs(
    places: &[usize],
    inputs: &[Input],
    batch: &mut Batch,
    at: Values<'_>,
) -> Result<(), Cause> {
    let mut bytes = Vec::new();
    for (input, place) in places.iter().enumerate() {
        let Some(source) = inputs.get(*place) else { continue };
        let value = source.value(at)?;
        bytes.clear();
        let is_value = !value.is_null();
        if is_value {
            let encoded = value.encode(&source.ty, &mut bytes);
            encoded.map_err(|error| Cause::not_supported(error.to_string()))?;
        }
        batch.push(input, is_value.then_some(bytes.as_slice()));
    }
    batch.end_row();
    Ok(())
}

impl Input {
    fn value(&self, at: Values<'_>) -> Result<Datum<'static>, Cause> {
        match &self.source {
            Source::Variable(slot) => {
                Ok(at.frame.values.get(*slot).cloned().unwrap_or(Datum::Null))
            }
            Source::Function { definition, arguments } => {
                let values: Result<Vec<_>, _> = arguments.iter().map(|it| it.value(at)).collect();
                (definition.evaluate)(at, &values?)
            }
            Source::Unwrapped { operand, to, is_try } => {
                let value = unwrapped(operand.value(at)?, *to, at);
                if *is_try { Ok(value.unwrap_or(Datum::Null)) } else { value }
            }
            Source::Query { value, filter } => match filter {
                Some(filter) if !filter.is_true(at)? => Ok(Datum::Null),
                _ => value.value(at),
            },
        }
    }
}

/// The value inside a sql_variant, converted.
fn unwrapped(value: Datum<'static>, to: SqlType, at: Values<'_>) -> Result<Datum<'static>, Cause> {
    match value {
        Datum::Variant(inner) => converted(inner.value, inner.ty, to, at),
        _ => Ok(Datum::Null),
    }
}

/// A value of one type as a value of another, as an assignment converts.
pub fn converted(
    value: Datum<'static>,
    from: SqlType,
    to: SqlType,
    at: Values<'_>,
) -> Result<Datum<'static>, Cause> {
    if value.is_null() || from == to {
        return Ok(value);
    }
    let name: Box<str> = "@value".into();
    let variables: Arc<[Variable]> = Arc::from([Variable { name: name.as_ref().into(), ty: from }]);
    let collation = at.connection.collation();
    let settings = at.connection.options.settings();
    let compiler = Compiler { variables: &variables, collation, settings };
    let expr = Expr { kind: ExprKind::Variable(name), span: Default::default() };
    let scalar = compiler.assigned(&expr, to)?;
    let mut frame = Frame::new(Scope::Batch, variables.clone());
    frame.values = vec![value];
    scalar.value(Values { frame: &frame, ..at })
}

/// The cause behind a compiler's error.
pub fn cause_of(error: CompileError) -> Cause {
    match error {
        CompileError::UnknownColumn { name, .. } => Cause::UnknownColumn { name },
        CompileError::UnknownFunction { name, .. } if is_function_of_the_product(&name) => {
            Cause::NotSupported { what: format!("the function {name}") }
        }
        CompileError::UnknownFunction { name, .. } => Cause::UnknownFunction { name },
        CompileError::Unsupported { what, .. } => {
            let name = what.strip_prefix("the function ").and_then(|rest| rest.split(' ').next());
            match name {
                Some(name) if !is_function_of_the_product(name) => {
                    Cause::UnknownFunction { name: name.to_owned() }
                }
                _ => Cause::NotSupported { what },
            }
        }
        other => match other.number().and_then(|number| i32::try_from(number).ok()) {
            Some(number) => Cause::Query { number, severity: 16, text: other.to_string() },
            None => Cause::not_supported(other.to_string()),
        },
    }
}

/// The literal that an expression is.
pub fn literal_text(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(Literal::String(text)) => Some(&text.value),
        _ => None,
    }
}

/// The cause of an error in the first row of a batch.
fn failure_of(program: &Program, batch: &Batch, error: EvalError) -> Cause {
    match program.failure(batch, 0) {
        Some(failure) => failure_cause(&failure),
        None => Cause::not_supported(error.to_string()),
    }
}

/// The cause of an evaluation that failed.
pub fn failure_cause(failure: &Failure) -> Cause {
    match failure.number().and_then(|number| i32::try_from(number).ok()) {
        Some(241) => Cause::DateConversion,
        Some(8134) => Cause::DivideByZero,
        Some(number) => Cause::Failed { number, severity: 16, text: failure.to_string() },
        None => Cause::not_supported(failure.to_string()),
    }
}
