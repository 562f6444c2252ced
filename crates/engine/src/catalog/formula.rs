//! Expressions over the columns of a row: computed columns, filters of indexes, CHECK
//! constraints.
//!
//! ```text
//! row       the cells of its record │ cells of computed columns that rows do not have
//! inputs    cells by the ids of their columns ──▶ program of crate expr ──▶ value, truth, or why
//!           there is none
//! ```
//!
//! Compiled once, when the table is opened or changed. An expression is evaluated with certainty or
//! not at all: a CHECK, a filter or a persisted column that does not compile makes its table read
//! only, and a row that stays undecided is refused. A column that is not persisted and has no value
//! fails only statements that read it.

use std::borrow::Cow;

use extentdb_catalog::layout::Cell;
use extentdb_catalog::table::{Computed, DEFAULT_COLLATION};
use extentdb_expr::{
    Batch, ContextFunction, Environment, EvalError, Predicate, Program, Settings, StatementOptions,
};
use extentdb_types::{Collation, SqlType};

use crate::catalog::TableColumn;
use crate::error::{Error, Unsupported};

/// Where an input of a program comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// A column, by its id.
    Column(i32),
    Context(ContextFunction),
}

/// The inputs of a program.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Inputs {
    sources: Vec<Source>,
    /// Ids of the columns among them.
    columns: Vec<i32>,
}

impl Inputs {
    fn of(places: &[usize], environment: &Environment, columns: &[TableColumn]) -> Inputs {
        let source = |at: &usize| match environment.context_function(*at) {
            Some(function) => Some(Source::Context(function)),
            None => Some(Source::Column(columns.get(*at)?.id)),
        };
        let sources: Vec<Source> = places.iter().filter_map(source).collect();
        let id = |source: &Source| match source {
            Source::Column(id) => Some(*id),
            Source::Context(_) => None,
        };
        Inputs { columns: sources.iter().filter_map(id).collect(), sources }
    }

    /// One row as the only one of a batch.
    fn push(
        &self,
        batch: &mut Batch,
        columns: &[TableColumn],
        row: &[Cell<'_>],
        context: Option<&dyn ContextValues>,
    ) {
        for (input, source) in self.sources.iter().enumerate() {
            let id = match source {
                Source::Column(id) => *id,
                Source::Context(function) => {
                    // Without a session the row stays undecided.
                    if let Some(context) = context {
                        batch.push(input, context.value(*function).as_deref());
                    }
                    continue;
                }
            };
            let at = columns.iter().find(|column| column.id == id).map(|column| column.at);
            match at.and_then(|at| row.get(at)) {
                Some(Cell::Bytes(bytes)) => batch.push(input, Some(bytes)),
                Some(Cell::Bit(bit)) => batch.push(input, Some(&[u8::from(*bit)])),
                // A value off the row that was not read: what needs it stays undecided.
                Some(Cell::Complex(_)) => {}
                _ => batch.push(input, None),
            }
        }
        batch.end_row();
    }
}

/// The session, as expressions see it.
pub(crate) trait ContextValues {
    /// The stored bytes of the value of a function; `None` for NULL.
    fn value(&self, function: ContextFunction) -> Option<Vec<u8>>;
}

/// The columns that an expression may name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visible {
    /// Those that rows have.
    Stored,
    /// Those that rows have and that are not computed.
    Plain,
}

/// The columns of a table as expressions name them.
fn environment(columns: &[TableColumn], visible: Visible) -> Environment {
    let of_table = columns.iter().find_map(|column| column.ty.collation());
    let is_hidden = |column: &TableColumn| {
        !column.is_stored() || (column.formula.is_some() && visible == Visible::Plain)
    };
    // A hidden one has a name that no text can have.
    let name =
        |column: &TableColumn| if is_hidden(column) { String::new() } else { column.name.clone() };
    Environment {
        columns: columns.iter().map(|column| (name(column), column.ty)).collect(),
        database_collation: of_table.unwrap_or(Collation(DEFAULT_COLLATION)),
        settings: Settings::stored(),
    }
}

/// A condition over the columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    predicate: Predicate,
    inputs: Inputs,
}

impl Condition {
    /// Compiles a condition as the catalog keeps it.
    ///
    /// # Errors
    /// Why it cannot be evaluated.
    pub(crate) fn compile(text: &str, columns: &[TableColumn]) -> Result<Condition, String> {
        Condition::compile_in(text, columns, environment(columns, Visible::Stored))
    }

    /// The same of a CHECK, which may name functions of the session.
    pub(crate) fn compile_check(text: &str, columns: &[TableColumn]) -> Result<Condition, String> {
        Condition::compile_in(text, columns, environment(columns, Visible::Stored).with_context())
    }

    fn compile_in(
        text: &str,
        columns: &[TableColumn],
        environment: Environment,
    ) -> Result<Condition, String> {
        let predicate =
            Predicate::compile(text, &environment).map_err(|error| error.to_string())?;
        let inputs = Inputs::of(predicate.inputs(), &environment, columns);
        Ok(Condition { predicate, inputs })
    }

    pub(crate) fn predicate(&self) -> &Predicate {
        &self.predicate
    }

    /// Ids of the columns that it is about.
    pub(crate) fn columns(&self) -> &[i32] {
        &self.inputs.columns
    }

    /// What it says of a row, in a session perhaps; `None` for unknown.
    pub(crate) fn truth(
        &self,
        columns: &[TableColumn],
        row: &[Cell<'_>],
        context: Option<&dyn ContextValues>,
    ) -> Result<Option<bool>, EvalError> {
        let mut batch = Batch::new();
        batch.reset(&self.predicate);
        self.inputs.push(&mut batch, columns, row, context);
        self.predicate.run(&mut batch);
        batch.truth(0)
    }
}

/// What a computed column is computed by.
#[derive(Clone, Debug)]
pub(crate) struct Formula {
    pub(crate) computed: Computed,
    inputs: Inputs,
    /// Or why it cannot be evaluated.
    program: Result<Program, String>,
}

impl Formula {
    /// Compiles the expression of a column of this type as the catalog keeps it.
    pub(crate) fn compile(computed: &Computed, ty: SqlType, columns: &[TableColumn]) -> Formula {
        Formula::compile_in(computed, ty, columns, environment(columns, Visible::Plain))
    }

    /// The conversion of a statement, which has a value where a stored one would leave it open.
    pub(crate) fn conversion(computed: &Computed, ty: SqlType, columns: &[TableColumn]) -> Formula {
        let settings = Settings::statement(StatementOptions::default());
        let environment = Environment { settings, ..environment(columns, Visible::Plain) };
        Formula::compile_in(computed, ty, columns, environment)
    }

    fn compile_in(
        computed: &Computed,
        ty: SqlType,
        columns: &[TableColumn],
        environment: Environment,
    ) -> Formula {
        let program = Program::compile_as(&computed.text, &environment, ty);
        let program = program.map_err(|error| error.to_string());
        let inputs = program.as_ref().map_or_else(
            |_| Inputs::default(),
            |it| Inputs::of(it.inputs(), &environment, columns),
        );
        Formula { computed: computed.clone(), inputs, program }
    }

    /// Ids of the columns that it is computed of.
    pub(crate) fn columns(&self) -> &[i32] {
        &self.inputs.columns
    }

    /// Why it cannot be evaluated.
    pub(crate) fn unknown(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// Can its values be keys, which must be the same on every machine?
    pub(crate) fn is_precise(&self) -> bool {
        self.program
            .as_ref()
            .is_ok_and(|program| program.is_precise() && program.is_deterministic())
    }

    /// What computes it.
    ///
    /// # Errors
    /// [`Error::NotSupported`]: it is not known.
    pub(crate) fn program(&self, own: &TableColumn) -> Result<&Program, Error> {
        self.program.as_ref().map_err(|why| open(own, why))
    }

    /// The value of the column in a row.
    ///
    /// # Errors
    /// [`Error::Value`]: the expression has none, as for a division by zero.
    /// [`Error::NotSupported`]: it is not known.
    pub(crate) fn evaluate(
        &self,
        own: &TableColumn,
        columns: &[TableColumn],
        row: &[Cell<'_>],
    ) -> Result<Cell<'static>, Error> {
        let program = self.program(own)?;
        let mut batch = Batch::new();
        batch.reset(program);
        self.inputs.push(&mut batch, columns, row, None);
        program.run(&mut batch);
        Ok(match self.result(own, &batch, 0)? {
            None => Cell::Null,
            Some(bytes) if own.ty.is_bit() => Cell::Bit(bytes.first().is_some_and(|bit| *bit != 0)),
            Some(bytes) => Cell::Bytes(Cow::Owned(bytes.to_vec())),
        })
    }

    /// The value of the column in a row of a batch that its program has run over; `None` for NULL.
    ///
    /// # Errors
    /// As of [`evaluate`](Self::evaluate).
    pub(crate) fn result<'b>(
        &self,
        own: &TableColumn,
        batch: &'b Batch,
        row: usize,
    ) -> Result<Option<&'b [u8]>, Error> {
        match batch.value(row) {
            Ok(None) if !own.nullable => {
                Err(own.refused("it is computed as NULL, which it does not take"))
            }
            Ok(value) => Ok(value),
            Err(error) if error.is_undecided() => Err(open(own, &error.to_string())),
            Err(error) => Err(own.refused(error.to_string())),
        }
    }
}

/// A computed column has no value that is known for certain.
fn open(own: &TableColumn, why: &str) -> Error {
    let why = why.to_owned();
    Unsupported::ComputedColumn { column: own.name.clone(), why }.into()
}
