//! Expressions over the rows of a table: computed columns that only an index stores, and predicates
//! of filtered indexes (`docs/check.md` 20).
//!
//! ```text
//! compiled once per index            what cannot be compiled: the index is not compared, the
//!                                    report says why
//! a batch per worker and expression  all rows of a page go through it together, column by column;
//!                                    no lock
//! ```
//!
//! A row whose value is not certain (a collation that does not decide, text that might convert)
//! makes its index not compared; nothing is ever guessed.

use extentdb_catalog::model::{Column, Index, Table};
use extentdb_expr::{Batch, CompileError, Environment, EvalError, Predicate, Program, Settings};
use extentdb_types::{Collation, SqlType};

use super::column::Content;
use super::hasher::RowHasher;
use super::page::{PageRows, Visit};
use super::plan::RowPlan;
use crate::sound::SoundPage;

/// An expression with the columns that it reads.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    program: Code,
    /// `column_id` of the computed column; a filter has none.
    column: Option<i32>,
    /// `column_id` of each input.
    pub(super) inputs: Vec<i32>,
}

#[derive(Clone, Debug)]
enum Code {
    Value(Program),
    Predicate(Predicate),
}

/// The columns of a table that an expression may read: those that rows store.
fn environment(table: &Table, database: Collation) -> (Environment, Vec<i32>) {
    let stored = |column: &&Column| column.computed.is_none() && !column.is_virtual();
    let readable =
        table.columns.iter().filter(stored).filter_map(|column| Some((column, column.ty?)));
    let (columns, ids) =
        readable.map(|(column, ty)| ((column.name.clone(), ty), column.id)).unzip();
    (
        Environment {
            columns,
            database_collation: database,
            settings: Settings::stored(),
        },
        ids,
    )
}

impl Expression {
    /// The expression of a computed column.
    pub(super) fn of_column(
        table: &Table,
        column: &Column,
        database: Collation,
    ) -> Result<Self, String> {
        let what = || format!("computed column {}", column.name);
        let text = column.computed.as_deref().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| format!("{}: its expression could not be read", what()))?;
        let ty: SqlType = column.ty.ok_or_else(|| format!("{}: its type is not known", what()))?;
        let (environment, ids) = environment(table, database);
        let program =
            Program::compile_as(text, &environment, ty).map_err(|why| refuse(&what(), &why))?;
        if !program.is_precise() {
            return Err(format!("{} is computed from approximate numbers", what()));
        }
        if !program.is_deterministic() {
            return Err(format!("{} is not deterministic", what()));
        }
        let inputs = pick(program.inputs(), &ids);
        Ok(Expression {
            program: Code::Value(program),
            column: Some(column.id),
            inputs,
        })
    }

    /// The predicate of a filtered index.
    pub(super) fn of_filter(
        table: &Table,
        index: &Index,
        database: Collation,
    ) -> Result<Option<Self>, String> {
        let Some(text) = &index.filter else { return Ok(None) };
        let (environment, ids) = environment(table, database);
        let predicate =
            Predicate::compile(text, &environment).map_err(|why| refuse("its filter", &why))?;
        let inputs = pick(predicate.inputs(), &ids);
        Ok(Some(Expression { program: Code::Predicate(predicate), column: None, inputs }))
    }

    /// Runs it over the rows of a batch.
    fn run(&self, batch: &mut Batch) {
        match &self.program {
            Code::Value(program) => program.run(batch),
            Code::Predicate(predicate) => predicate.run(batch),
        }
    }

    fn reset(&self, batch: &mut Batch) {
        match &self.program {
            Code::Value(program) => batch.reset(program),
            Code::Predicate(predicate) => batch.reset(predicate),
        }
    }

    /// The value for one row, whose inputs are given in stored form. For the second pass only.
    pub(super) fn value_of(&self, inputs: &[Option<Vec<u8>>]) -> Option<Option<Vec<u8>>> {
        let mut batch = Batch::new();
        self.reset(&mut batch);
        for (at, value) in inputs.iter().enumerate() {
            batch.push(at, value.as_deref());
        }
        batch.end_row();
        self.run(&mut batch);
        Some(batch.value(0).ok()?.map(<[u8]>::to_vec))
    }
}

fn pick(places: &[usize], ids: &[i32]) -> Vec<i32> {
    places.iter().filter_map(|place| ids.get(*place).copied()).collect()
}

fn refuse(what: &str, why: &CompileError) -> String {
    format!("{what}: {why}")
}

/// An expression whose inputs are found in the rows of one unit.
#[derive(Clone, Debug)]
pub(super) struct BoundExpression {
    expression: Expression,
    /// Places of its inputs among the columns of the plan.
    inputs: Vec<u16>,
}

impl BoundExpression {
    /// `None` when a column that it reads is not in the rows.
    pub(super) fn new(expression: &Expression, plan: &RowPlan) -> Option<BoundExpression> {
        let place =
            |id: &i32| Some(plan.columns.iter().position(|column| column.id == *id)? as u16);
        let inputs = expression.inputs.iter().map(place).collect::<Option<Vec<u16>>>()?;
        Some(BoundExpression { expression: expression.clone(), inputs })
    }

    /// True for the expression of the same computed column.
    pub(super) fn is_of(&self, expression: &Expression) -> bool {
        expression.column.is_some() && self.expression.column == expression.column
    }

    /// Column after column; `None` when a value is not in its row.
    fn push_columns(
        &self,
        plan: &RowPlan,
        rows: &PageRows<'_>,
        batch: &mut Batch,
        nulls: u64,
        words: &mut Vec<u64>,
    ) -> Option<()> {
        for (at, place) in self.inputs.iter().enumerate() {
            let column = plan.columns.get(usize::from(*place))?;
            if rows
                .words(column, nulls, words)
                .is_some_and(|bytes| batch.push_words(at, words, bytes))
            {
                continue;
            }
            let mut listed = Listed { values: Vec::with_capacity(rows.len()), is_whole: true };
            rows.each(column, &mut listed);
            listed.is_whole.then(|| batch.push_column(at, &listed.values))?;
        }
        batch.end_rows(rows.len());
        Some(())
    }

    /// Row after row. What is not pushed makes the row's result an error, which is what it is.
    #[cold]
    fn push_rows(
        &self,
        plan: &RowPlan,
        hasher: &RowHasher<'_>,
        page: &SoundPage<'_>,
        rows: &PageRows<'_>,
        batch: &mut Batch,
    ) {
        for row in rows.iter() {
            let cells = rows.cells(row);
            for (at, place) in self.inputs.iter().enumerate() {
                let Some(column) = plan.columns.get(usize::from(*place)) else { continue };
                match column.of(&cells) {
                    Some(Content::Null) => batch.push(at, None),
                    Some(Content::Bytes(bytes)) => batch.push(at, Some(bytes)),
                    Some(Content::Complex(pointer)) => {
                        if let Some(bytes) = hasher.off_row(column, pointer, page.rid(row.slot)) {
                            batch.push(at, Some(&bytes));
                        }
                    }
                    None => {}
                }
            }
            batch.end_row();
        }
    }
}

/// The values of a column, row by row.
struct Listed<'r> {
    values: Vec<Option<&'r [u8]>>,
    /// All of them are in their rows.
    is_whole: bool,
}

impl<'r> Visit<'r> for Listed<'r> {
    #[inline(always)]
    fn visit(&mut self, _: usize, content: Option<Content<'r>>) {
        self.values.push(match content {
            Some(Content::Bytes(bytes)) => Some(bytes),
            Some(Content::Null) => None,
            Some(Content::Complex(_)) | None => {
                self.is_whole = false;
                None
            }
        });
    }
}

/// The batches of one worker: one for each expression of the table at hand.
#[derive(Default)]
pub(super) struct Batches {
    batches: Vec<Batch>,
    /// A column on its way.
    words: Vec<u64>,
}

impl Batches {
    /// Evaluates all expressions of a plan over the rows of a page. The rows are counted as they
    /// come.
    pub(super) fn run(
        &mut self,
        plan: &RowPlan,
        hasher: &RowHasher<'_>,
        page: &SoundPage<'_>,
        rows: &PageRows<'_>,
    ) {
        let Batches { batches, words } = self;
        let nulls = rows.null_bits();
        if batches.len() < plan.expressions.len() {
            batches.resize_with(plan.expressions.len(), Batch::new);
        }
        for (placed, batch) in plan.expressions.iter().zip(batches) {
            placed.expression.reset(batch);
            if placed.push_columns(plan, rows, batch, nulls, words).is_none() {
                placed.expression.reset(batch);
                placed.push_rows(plan, hasher, page, rows, batch);
            }
            placed.expression.run(batch);
        }
    }

    /// The value of an expression for a row.
    pub(super) fn value(&self, expression: u16, row: usize) -> Result<Option<&[u8]>, EvalError> {
        self.batches.get(usize::from(expression)).ok_or(EvalError::Row)?.value(row)
    }

    /// The values of an expression for all rows, when they have a fixed length.
    pub(super) fn values(
        &self,
        expression: u16,
    ) -> Option<impl Iterator<Item = Result<Option<&[u8]>, EvalError>>> {
        self.batches.get(usize::from(expression))?.values()
    }

    /// The values of an expression for all rows and their bytes, when they are numbers and none is
    /// NULL or uncertain.
    pub(super) fn numbers(&self, expression: u16) -> Option<(usize, &[i64])> {
        self.batches.get(usize::from(expression))?.numbers()
    }

    /// Whether a row passes a filter: unknown is no.
    pub(super) fn passes(&self, expression: u16, row: usize) -> Result<bool, EvalError> {
        let truth = self.batches.get(usize::from(expression)).ok_or(EvalError::Row)?.truth(row)?;
        Ok(truth == Some(true))
    }
}
