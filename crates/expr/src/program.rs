//! Programs: expressions compiled once, read by all workers.
//!
//! ```text
//! lanes   inputs and constants, as they were met │ one lane per step
//! steps   op(lane, lane …) → lane, operands before their users
//! ```
//!
//! Invariants
//! - A program is immutable and knows no row; every step writes a lane of its own.
//! - The type derived here is the one the catalog declares, or the program does not compile
//!   ([`Program::compile_as`]): the declared type of a computed column is SQL Server's own
//!   derivation, so agreement checks ours.

use extentdb_kernel::arena;
use extentdb_kernel::constant::Constant;
use extentdb_kernel::disk::StorageForm;
use extentdb_kernel::error::EvalError;
use extentdb_kernel::lane::{Lane, Reg};
use extentdb_kernel::operator::Op;
use extentdb_tsql::syntax::{Condition, Expr};
use extentdb_types::{Collation, SqlType};

use crate::batch::{ArithmeticNulls, Batch};
use crate::bind::{Binder, Note, Ty, Value};
use crate::error::CompileError;
use crate::lower;
use crate::resolver::Resolver;
use crate::settings::Settings;
use crate::syntax::Syntax;
use crate::typing;

/// What an expression may name.
#[derive(Debug, Clone)]
pub struct Environment {
    /// Columns of the table, by name.
    pub columns: Vec<(String, SqlType)>,
    /// Collation of the database: that of literals, and of names.
    pub database_collation: Collation,
    /// How the expression is read.
    pub settings: Settings,
}

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Program {
    inputs: Vec<usize>,
    pub(crate) forms: Vec<(Reg, StorageForm)>,
    constants: Vec<(Reg, Constant)>,
    steps: Vec<(Op, Reg)>,
    notes: Vec<Note>,
    settings: Settings,
    pub(crate) lanes: usize,
    result: Reg,
    result_type: SqlType,
    is_precise: bool,
    is_deterministic: bool,
}

impl AsRef<Program> for Program {
    fn as_ref(&self) -> &Program {
        self
    }
}

impl Program {
    /// Compiles an expression with a value; its type is [`Program::result_type`].
    pub fn compile(text: &str, environment: &Environment) -> Result<Program, CompileError> {
        let (binder, value) = bind(text, environment)?;
        let result_type = value_type(&value, environment)?;
        Ok(Program::assemble(binder, value.reg, result_type))
    }

    /// Compiles the expression of a column of type `declared`.
    ///
    /// The derived type must be the declared one. Lengths, the precision of decimals and the width
    /// of integers may differ: a value that does not fit is [`EvalError::Declared`] for its row.
    pub fn compile_as(
        text: &str,
        environment: &Environment,
        declared: SqlType,
    ) -> Result<Program, CompileError> {
        let (mut binder, value) = bind(text, environment)?;
        let natural = value_type(&value, environment)?;
        let reg = binder.declare(&value, natural, declared)?;
        Ok(Program::assemble(binder, reg, declared))
    }

    /// Compiles a value of a statement. What the row does not have is asked of `resolver`. With a
    /// target the value is converted to it as an assignment does, texts cut; the literal NULL is an
    /// int without one.
    ///
    /// # Errors
    /// As for [`Program::compile`].
    pub fn of_value(
        expr: &Expr,
        environment: &Environment,
        resolver: &mut dyn Resolver,
        target: Option<SqlType>,
    ) -> Result<Program, CompileError> {
        let syntax = lower::value(expr, resolver, environment.settings)?;
        let mut binder = Binder::new(environment);
        let mut value = binder.bind(&syntax)?;
        if value.ty == Ty::Null {
            value = binder.typed_null(target.unwrap_or(SqlType::Int))?;
        }
        if let Some(target) = target {
            value = binder.assigned(value, target)?;
        }
        let result_type = value_type(&value, environment)?;
        Ok(Program::assemble(binder, value.reg, result_type))
    }

    /// Compiles a tree over parameters; NULL alone is an int.
    pub(crate) fn of_syntax(
        syntax: &Syntax,
        environment: &Environment,
    ) -> Result<Program, CompileError> {
        let mut binder = Binder::new(environment);
        let mut value = binder.bind(syntax)?;
        if value.ty == Ty::Null {
            value = binder.typed_null(SqlType::Int)?;
        }
        let result_type = match value.ty {
            Ty::Truth => SqlType::Bit,
            _ => value_type(&value, environment)?,
        };
        Ok(Program::assemble(binder, value.reg, result_type))
    }

    /// Compiles the conversion of a parameter from one type to another, by a style.
    pub(crate) fn of_conversion(
        from: SqlType,
        to: SqlType,
        style: i64,
        environment: &Environment,
    ) -> Result<Program, CompileError> {
        let mut binder = Binder::new(environment);
        let value = binder.converted_parameter(from, to, style)?;
        Ok(Program::assemble(binder, value.reg, to))
    }

    fn assemble(binder: Binder<'_>, result: Reg, result_type: SqlType) -> Program {
        let Binder {
            inputs,
            forms,
            constants,
            steps,
            lanes,
            is_precise,
            is_deterministic,
            notes,
            environment,
            ..
        } = binder;
        Program {
            inputs,
            forms,
            constants,
            steps,
            notes,
            settings: environment.settings,
            lanes: usize::from(lanes),
            result,
            result_type,
            is_precise,
            is_deterministic,
        }
    }

    pub(crate) fn steps(&self) -> &[(Op, Reg)] {
        &self.steps
    }

    /// Most bytes of text in a batch.
    pub(crate) fn text_limit(&self) -> usize {
        if self.settings.is_statement() { arena::MAX_STATEMENT_BYTES } else { arena::MAX_BYTES }
    }

    /// Of each step.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The columns that are read, as places in [`Environment::columns`]; places from its length on
    /// are those of [`Parameter`](crate::Parameter)s. [`Batch::push`] counts along this list.
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Type of the result; bit for a predicate.
    #[must_use]
    pub fn result_type(&self) -> SqlType {
        self.result_type
    }

    /// No float or real anywhere: the result is the same on every processor.
    #[must_use]
    pub fn is_precise(&self) -> bool {
        self.is_precise
    }

    /// SQL Server would call it deterministic, too. (A text literal that is compared with a date is
    /// not, to it; here such a literal is only accepted in a form that every session reads alike.)
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        self.is_deterministic
    }

    /// Evaluates all rows of a batch that was [reset](Batch::reset) for this program.
    pub fn run(&self, batch: &mut Batch) {
        self.evaluate(batch);
        let form = StorageForm::of(&self.result_type);
        batch.encoded.clear();
        if batch.result.is_some() {
            batch.stride = form.write(batch.lanes.at(self.result), &mut batch.encoded);
        }
    }

    /// The same for results that are read as [native](Batch::native) values.
    pub fn evaluate(&self, batch: &mut Batch) {
        if batch.inputs != self.forms || batch.lanes.count() < self.lanes {
            batch.result = None;
            return;
        }
        self.fill_constants(batch);
        batch.arithmetic_nulls = ArithmeticNulls::default();
        let gives_null = self.gives_null();
        for (step, (op, out)) in self.steps.iter().enumerate() {
            let Some(mut lane) = batch.lanes.at_mut(*out).map(std::mem::take) else { continue };
            op.run(&batch.lanes, &mut batch.arena, &mut lane);
            if gives_null && self.is_arithmetic(step) {
                batch.arithmetic_nulls.take(&mut lane);
            }
            if let Some(target) = batch.lanes.at_mut(*out) {
                *target = lane;
            }
        }
        batch.stride = 0;
        batch.result = Some((self.result, StorageForm::of(&self.result_type)));
    }

    /// Without ANSI_WARNINGS and ARITHABORT, errors of arithmetic are NULL.
    fn gives_null(&self) -> bool {
        let options = self.settings.options();
        self.settings.is_statement() && !options.ansi_warnings && !options.arith_abort
    }

    /// A text that is no number stays an error.
    fn is_arithmetic(&self, step: usize) -> bool {
        let from = self.notes.get(step).and_then(|note| note.from);
        from.is_none_or(|ty| typing::is_number(&ty))
    }

    fn fill_constants(&self, batch: &mut Batch) {
        let rows = batch.rows;
        for (reg, constant) in &self.constants {
            let span = match constant {
                Constant::Bytes(bytes) => batch.arena.push(bytes),
                _ => Err(EvalError::Row),
            };
            let Some(lane) = batch.lanes.at_mut(*reg) else { continue };
            match constant {
                Constant::Null => lane.fill_null(rows),
                Constant::Int(value) => lane.fill(rows, *value),
                Constant::Wide(value) => lane.fill(rows, *value),
                Constant::Float(value) => lane.fill(rows, *value),
                Constant::Bytes(_) => match span {
                    Ok(span) => lane.fill(rows, span),
                    Err(error) => fill_error(lane, rows, error),
                },
            }
        }
    }
}

fn fill_error(lane: &mut Lane, rows: usize, error: EvalError) {
    lane.fill_null(rows);
    lane.state.fill(error.state());
}

fn bind<'a>(text: &str, environment: &'a Environment) -> Result<(Binder<'a>, Value), CompileError> {
    let syntax = lower::parse(text)?;
    let mut binder = Binder::new(environment);
    let value = binder.bind(&syntax)?;
    Ok((binder, value))
}

fn value_type(value: &Value, environment: &Environment) -> Result<SqlType, CompileError> {
    match value.ty {
        Ty::Sql(ty) if typing::is_opaque(&ty) && !environment.settings.is_statement() => {
            Err(CompileError::Unsupported { what: format!("a value of type {ty}"), at: value.at })
        }
        Ty::Sql(ty) => Ok(ty),
        Ty::Null => Err(CompileError::Unsupported {
            what: "an expression that is always NULL".to_owned(),
            at: value.at,
        }),
        Ty::Truth => Err(CompileError::Unsupported {
            what: "a condition where a value is expected".to_owned(),
            at: value.at,
        }),
    }
}

/// A compiled condition: the filter of an index, or a check constraint.
#[derive(Debug, Clone)]
pub struct Predicate {
    program: Program,
}

impl AsRef<Program> for Predicate {
    fn as_ref(&self) -> &Program {
        &self.program
    }
}

impl Predicate {
    /// Compiles a condition.
    pub fn compile(text: &str, environment: &Environment) -> Result<Predicate, CompileError> {
        let (binder, value) = bind(text, environment)?;
        if value.ty != Ty::Truth {
            let what = "a value where a condition is expected".to_owned();
            return Err(CompileError::Unsupported { what, at: value.at });
        }
        Ok(Predicate { program: Program::assemble(binder, value.reg, SqlType::Bit) })
    }

    /// Compiles a condition of a statement, as [`Program::of_value`].
    ///
    /// # Errors
    /// As for [`Predicate::compile`].
    pub fn of_condition(
        condition: &Condition,
        environment: &Environment,
        resolver: &mut dyn Resolver,
    ) -> Result<Predicate, CompileError> {
        let syntax = lower::condition(condition, resolver, environment.settings)?;
        let mut binder = Binder::new(environment);
        let value = binder.bind(&syntax)?;
        Ok(Predicate { program: Program::assemble(binder, value.reg, SqlType::Bit) })
    }

    /// The columns of the condition, as [`Program::inputs`].
    #[must_use]
    pub fn inputs(&self) -> &[usize] {
        self.program.inputs()
    }

    /// Has it the same answer on every machine? As [`Program::is_precise`].
    #[must_use]
    pub fn is_precise(&self) -> bool {
        self.program.is_precise()
    }

    /// Has it the same answer at any time? As [`Program::is_deterministic`].
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        self.program.is_deterministic()
    }

    /// As [`Program::run`]; the result is [`Batch::truth`].
    pub fn run(&self, batch: &mut Batch) {
        self.program.run(batch);
    }
}
