//! Expressions over the rows of a scan: computed columns that rows do not store, and the condition
//! of `--where`.
//!
//! ```text
//! row ── stored inputs ──▶ program of crate expr ──▶ value, truth, or why there is none
//! ```
//!
//! What crate `expr` is not certain about does not compile, or leaves its row undecided; nothing is
//! guessed.

use anyhow::{anyhow, bail};
use extentdb_catalog::{Catalog, Column, Fault, Table};
use extentdb_expr::{Batch, CompileError, Environment, EvalError, Predicate, Program, Settings};
use extentdb_reader::{Row, Value, stored_columns};
use extentdb_types::{Collation, Datum, SqlType};

use super::encode::WHOLE_BYTES_MAX;
use super::sink::RowStop;
use crate::suggest::did_you_mean;

/// Characters of an expression that an error shows.
const SHOWN_CHARS: usize = 40;

/// The columns of a table as expressions name them.
pub(super) struct ColumnNames<'c> {
    /// In the order of [`Environment::columns`].
    columns: Vec<NamedColumn<'c>>,
    collation: Collation,
}

struct NamedColumn<'c> {
    column: &'c Column,
    ty: SqlType,
    /// Position among the columns of a scan; `None` for a computed column that is not stored.
    position: Option<usize>,
}

/// Which columns an expression may name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Those that rows store.
    Stored,
    /// Computed ones, too.
    All,
}

impl<'c> ColumnNames<'c> {
    pub(super) fn of(table: &'c Table, catalog: &Catalog) -> ColumnNames<'c> {
        let stored = stored_columns(table);
        let named = |column: &'c Column| {
            let position = stored.iter().position(|stored| stored.id == column.id);
            Some(NamedColumn { column, ty: column.ty?, position })
        };
        let is_named = |column: &&Column| !column.column_set;
        let columns = table.columns.iter().filter(is_named).filter_map(named).collect();
        ColumnNames { columns, collation: Collation(catalog.boot.collation_id) }
    }

    fn environment(&self, scope: Scope) -> Environment {
        let is_known = |named: &NamedColumn<'_>| scope == Scope::All || named.position.is_some();
        // A hidden one has a name that no text can have: places stay those of `columns`.
        let name = |named: &NamedColumn<'_>| {
            if is_known(named) { named.column.name.clone() } else { String::new() }
        };
        Environment {
            columns: self.columns.iter().map(|named| (name(named), named.ty)).collect(),
            database_collation: self.collation,
            settings: Settings::stored(),
        }
    }

    /// Where the values of a program's inputs come from.
    fn inputs(&self, columns: &[usize]) -> anyhow::Result<Vec<Input>> {
        let input = |position: &usize| {
            let named = self
                .columns
                .get(*position)
                .ok_or_else(|| anyhow!("a column of the expression is lost"))?;
            let source = match named.position {
                Some(position) => Source::Row(position),
                None => Source::Computed(Box::new(Computed::compile(named.column, self)?)),
            };
            Ok(Input { ty: named.ty, source })
        };
        columns.iter().map(input).collect()
    }
}

/// An input of a program.
struct Input {
    ty: SqlType,
    source: Source,
}

enum Source {
    /// Position among the columns of the scan.
    Row(usize),
    Computed(Box<Computed>),
}

/// Why an expression has no result for a row.
pub(super) enum NoResult {
    /// The row cannot be read.
    Stop(RowStop),
    /// It cannot be evaluated.
    Undecided(EvalError),
}

impl From<Fault> for NoResult {
    fn from(fault: Fault) -> NoResult {
        NoResult::Stop(RowStop::Fault(fault))
    }
}

/// Hands the inputs of one row to a batch.
fn push(inputs: &[Input], row: &Row<'_>, batch: &mut Batch) -> Result<(), NoResult> {
    for (at, input) in inputs.iter().enumerate() {
        let stored = match &input.source {
            Source::Row(position) => stored_bytes(row, *position, input.ty)?,
            Source::Computed(computed) => computed.bytes(row)?,
        };
        batch.push(at, stored.as_deref());
    }
    batch.end_row();
    Ok(())
}

/// A value in stored form, `None` for NULL. Values of types that expressions only ask for NULL are
/// empty.
fn stored_bytes(row: &Row<'_>, position: usize, ty: SqlType) -> Result<Option<Vec<u8>>, Fault> {
    let is_opaque =
        ty.is_lob() || matches!(ty, SqlType::Xml | SqlType::SqlVariant | SqlType::Udt { .. });
    let datum = match row.value(position)? {
        Value::Datum(Datum::Null) => return Ok(None),
        _ if is_opaque => return Ok(Some(Vec::new())),
        Value::Lob(value) => return value.reader.read_to_vec(WHOLE_BYTES_MAX).map(Some),
        Value::Datum(datum) => datum,
    };
    let mut bytes = Vec::new();
    let fault = |error| Fault::Lob {
        rid: row.rid,
        what: format!("a value for an expression: {error}"),
    };
    datum.encode(&ty, &mut bytes).map_err(fault)?;
    Ok(Some(bytes))
}

/// A computed column that rows do not store.
pub(super) struct Computed {
    program: Program,
    inputs: Vec<Input>,
    ty: SqlType,
}

impl Computed {
    pub(super) fn compile(column: &Column, names: &ColumnNames<'_>) -> anyhow::Result<Computed> {
        let refused =
            |why: String| anyhow!("column {} is computed and not stored: {why}", column.name);
        let text = column.computed.as_deref().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| refused("its expression is not known".to_owned()))?;
        let ty = column.ty.ok_or_else(|| refused("its type is not known".to_owned()))?;
        let environment = names.environment(Scope::Stored);
        let program = Program::compile_as(text, &environment, ty);
        let program = program.map_err(|why| refused(format!("{text}: {why}")))?;
        let inputs = names.inputs(program.inputs())?;
        Ok(Computed { program, inputs, ty })
    }

    /// The value for a row, in stored form.
    fn bytes(&self, row: &Row<'_>) -> Result<Option<Vec<u8>>, NoResult> {
        let mut batch = Batch::new();
        batch.reset(&self.program);
        push(&self.inputs, row, &mut batch)?;
        self.program.run(&mut batch);
        Ok(batch.value(0).map_err(NoResult::Undecided)?.map(<[u8]>::to_vec))
    }

    /// The value for a row.
    pub(super) fn value(&self, row: &Row<'_>) -> Result<Datum<'static>, NoResult> {
        let Some(bytes) = self.bytes(row)? else { return Ok(Datum::Null) };
        let decoded = Datum::decode(&self.ty, &bytes).map(Datum::into_owned);
        decoded.map_err(|_| NoResult::Undecided(EvalError::Declared))
    }
}

/// The condition of `--where`.
pub(super) struct Filter {
    predicate: Predicate,
    inputs: Vec<Input>,
}

impl Filter {
    /// Compiles the condition for a table.
    ///
    /// # Errors
    /// What is wrong and where in the text.
    pub(super) fn compile(text: &str, names: &ColumnNames<'_>) -> anyhow::Result<Filter> {
        let environment = names.environment(Scope::All);
        let predicate = match Predicate::compile(text, &environment) {
            Ok(predicate) => predicate,
            Err(error) => bail!("--where: {}", explain(&error, text, names)),
        };
        let inputs = names.inputs(predicate.inputs())?;
        Ok(Filter { predicate, inputs })
    }

    /// True for a row that the condition holds for; unknown is no.
    pub(super) fn passes(&self, row: &Row<'_>, batch: &mut Batch) -> Result<bool, NoResult> {
        batch.reset(&self.predicate);
        push(&self.inputs, row, batch)?;
        self.predicate.run(batch);
        Ok(batch.truth(0).map_err(NoResult::Undecided)? == Some(true))
    }
}

/// What is wrong with an expression, with the place in words that its author can follow.
fn explain(error: &CompileError, text: &str, names: &ColumnNames<'_>) -> String {
    match error {
        CompileError::UnknownColumn { name, at } => {
            let known = names.columns.iter().map(|named| named.column.name.as_str());
            format!("no column {name} {}{}", position_text(text, *at), did_you_mean(name, known))
        }
        CompileError::Syntax { what, at } => {
            format!("syntax error {}: {what}", position_text(text, *at))
        }
        CompileError::Unsupported { what, at } => {
            format!("not supported {}: {what}", position_text(text, *at))
        }
        other => other.to_string(),
    }
}

/// ``at character 9 (before `> 5 AND`)``, counted from 1.
fn position_text(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let character = before.chars().count() + 1;
    let rest = text.get(at..).unwrap_or_default().trim_end();
    if rest.is_empty() {
        return format!("at character {character}, the end");
    }
    let shown: String = rest.chars().take(SHOWN_CHARS).collect();
    let more = if shown.len() < rest.len() { "…" } else { "" };
    format!("at character {character}, `{shown}{more}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_of_an_error_is_counted_in_characters() {
        assert_eq!(position_text("[Größe] > x", 12), "at character 11, `x`");
        assert_eq!(position_text("a >", 3), "at character 4, the end");
        assert_eq!(position_text("a >", 99), "at character 4, the end");
        let long = "x".repeat(SHOWN_CHARS + 1);
        assert!(position_text(&long, 0).ends_with("…`"));
    }
}
