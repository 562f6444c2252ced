//! OUTPUT clauses: values over rows before and after.

use extentdb_bind::logical::Column;
use extentdb_bind::{BoundOutput, ColumnSource};
use extentdb_engine::LoadLock;
use extentdb_exec::write::{RowImage, Target, batch_of};
use extentdb_exec::{Batch, Context, Evaluator, datum};
use extentdb_types::Datum;

use extentdb_connection::cause::Cause;
use extentdb_connection::output::{ColumnInfo, Output};
use extentdb_connection::query::{Prepared, QueryStop};

/// The OUTPUT clauses of a statement, and the rows that its triggers see.
pub(super) struct Outputs {
    clauses: Vec<Clause>,
    /// `None`: no trigger runs.
    kept: Option<KeptChanges>,
    deleted: Vec<Column>,
    inserted: Vec<Column>,
}

struct Clause {
    infos: Vec<ColumnInfo>,
    values: Vec<Evaluator>,
    into: Option<(Target, Vec<ColumnSource>)>,
    /// The value must be 1: a row of the view WITH CHECK OPTION.
    is_check: bool,
}

/// Rows that a statement has changed: before and after.
#[derive(Default)]
pub(super) struct ChangedRows {
    pub(super) deleted: Vec<RowImage>,
    pub(super) inserted: Vec<RowImage>,
}

/// What a statement does to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Insert,
    Update,
    Delete,
}

impl Event {
    /// As T-SQL writes it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
        }
    }
}

/// The rows that a statement has changed, for its triggers.
#[derive(Default)]
pub(crate) struct KeptChanges {
    pub(super) inserts: ChangedRows,
    pub(super) updates: ChangedRows,
    pub(super) deletes: ChangedRows,
}

impl KeptChanges {
    fn keep(&mut self, event: Event, rows: &ChangedRows) {
        match event {
            Event::Insert => self.inserts.inserted.extend_from_slice(&rows.inserted),
            Event::Delete => self.deletes.deleted.extend_from_slice(&rows.deleted),
            Event::Update => {
                self.updates.deleted.extend_from_slice(&rows.deleted);
                self.updates.inserted.extend_from_slice(&rows.inserted);
            }
        }
    }
}

/// What a statement has done.
#[derive(Default)]
pub(crate) struct Changed {
    /// Rows.
    pub(crate) count: u64,
    /// For triggers.
    pub(crate) kept: KeptChanges,
}

impl Outputs {
    /// Clauses over the row before, the row after, and the columns of the relation.
    pub(super) fn new(
        prepared: &Prepared,
        clauses: &[BoundOutput],
        deleted: &[Column],
        inserted: &[Column],
        relation: &[Column],
    ) -> Result<Outputs, Cause> {
        let mut columns = deleted.to_vec();
        columns.extend_from_slice(inserted);
        columns.extend_from_slice(relation);
        let mut built = Vec::new();
        for clause in clauses {
            let values: Result<Vec<Evaluator>, Cause> =
                clause.values.iter().map(|value| prepared.evaluator(value, &columns)).collect();
            let info = |output: &extentdb_bind::Output| ColumnInfo {
                name: output.name.clone(),
                ty: output.column.ty,
                is_nullable: output.column.is_nullable,
                is_computed: output.is_computed,
                is_identity: output.is_identity,
            };
            let into = clause.into.as_ref().map(|into| {
                let target = Target::new(&into.stored);
                let sources = (0..target.types().len())
                    .map(|ordinal| match into.ordinals.iter().position(|own| *own == ordinal) {
                        Some(at) => ColumnSource::Value(at),
                        None => ColumnSource::Default,
                    })
                    .collect();
                (target, sources)
            });
            built.push(Clause {
                infos: clause.outputs.iter().map(info).collect(),
                values: values?,
                into,
                is_check: clause.is_check,
            });
        }
        Ok(Outputs {
            clauses: built,
            kept: None,
            deleted: deleted.to_vec(),
            inserted: inserted.to_vec(),
        })
    }

    /// Rows are kept for triggers.
    pub(super) fn keeping(mut self, keeps: bool) -> Outputs {
        self.kept = keeps.then(KeptChanges::default);
        self
    }

    /// Does nobody ask for rows?
    pub(super) fn is_empty(&self) -> bool {
        self.clauses.is_empty() && self.kept.is_none()
    }

    /// What the statement has done.
    pub(super) fn changed(&mut self, count: u64) -> Changed {
        Changed { count, kept: self.kept.take().unwrap_or_default() }
    }

    /// The columns of what goes to the client.
    pub(super) fn begin(&self, output: &mut dyn Output) -> Result<(), QueryStop> {
        let told = |clause: &&Clause| clause.into.is_none() && !clause.is_check;
        for clause in self.clauses.iter().filter(told) {
            output.columns(&clause.infos)?;
        }
        Ok(())
    }

    /// Tells of changed rows; `source` has the rows of the relation that they were made of.
    pub(super) fn tell(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        event: Event,
        rows: &ChangedRows,
        source: &Batch,
    ) -> Result<(), QueryStop> {
        if let Some(kept) = &mut self.kept {
            kept.keep(event, rows);
        }
        if self.clauses.is_empty() || source.rows == 0 {
            return Ok(());
        }
        let mut batch = Batch { rows: source.rows, columns: Vec::new() };
        for (columns, images) in [(&self.deleted, &rows.deleted), (&self.inserted, &rows.inserted)]
        {
            let types: Vec<_> = columns.iter().map(|column| column.ty).collect();
            let own = match images.len() == source.rows {
                true => batch_of(&types, images)?,
                false => {
                    let nulls: RowImage = vec![Datum::Null; types.len()];
                    batch_of(&types, &vec![nulls; source.rows])?
                }
            };
            batch.columns.extend(own.columns);
        }
        batch.columns.extend(source.columns.iter().cloned());
        for clause in &mut self.clauses {
            clause.tell(context, output, &batch)?;
        }
        Ok(())
    }
}

impl Clause {
    fn tell(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        batch: &Batch,
    ) -> Result<(), QueryStop> {
        let mut columns = Vec::with_capacity(self.values.len());
        for value in &mut self.values {
            columns.push(value.vector(batch, &context.outer)?);
        }
        let told = Batch { rows: batch.rows, columns };
        if let Some((target, sources)) = &self.into {
            return Ok(target.insert(context, &told, sources, LoadLock::Rows)?);
        }
        if self.is_check {
            return verify_rows(&told);
        }
        for at in 0..told.rows {
            let row: Result<Vec<Datum<'static>>, extentdb_exec::Error> =
                told.columns.iter().map(|column| datum(column, at)).collect();
            output.row(&row?)?;
        }
        Ok(())
    }
}

/// Refuses a row that its view WITH CHECK OPTION has not.
fn verify_rows(checks: &Batch) -> Result<(), QueryStop> {
    for column in &checks.columns {
        for at in 0..checks.rows {
            if datum(column, at)? != Datum::Int(1) {
                return Err(Cause::Failed {
                    number: 550,
                    severity: 16,
                    text: CHECK_OPTION.to_owned(),
                }
                .into());
            }
        }
    }
    Ok(())
}

const CHECK_OPTION: &str = "The attempted insert or update failed because the target view either \
                            specifies WITH CHECK OPTION or spans a view that specifies WITH CHECK \
                            OPTION and one or more rows resulting from the operation did not \
                            qualify under the CHECK OPTION constraint.";
