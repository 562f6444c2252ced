//! OUTPUT clauses: values over rows before and after.

use extentdb_bind::logical::Column;
use extentdb_bind::{BoundOutput, ColumnSource};
use extentdb_engine::LoadLock;
use extentdb_exec::write::{RowImage, Target, batch_of};
use extentdb_exec::{Batch, Context, Evaluator, datum};
use extentdb_types::Datum;

use crate::cause::Cause;
use crate::output::{ColumnInfo, Output};
use crate::query::{Prepared, QueryStop};

/// The OUTPUT clauses of a statement.
pub(super) struct Outputs {
    clauses: Vec<Clause>,
    deleted: Vec<Column>,
    inserted: Vec<Column>,
}

struct Clause {
    infos: Vec<ColumnInfo>,
    values: Vec<Evaluator>,
    into: Option<(Target, Vec<ColumnSource>)>,
}

/// Rows that a statement has changed: before, after, and as they were read.
#[derive(Default)]
pub(super) struct ChangedRows {
    pub(super) deleted: Vec<RowImage>,
    pub(super) inserted: Vec<RowImage>,
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
            });
        }
        Ok(Outputs {
            clauses: built,
            deleted: deleted.to_vec(),
            inserted: inserted.to_vec(),
        })
    }

    /// Are there none?
    pub(super) fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The columns of what goes to the client.
    pub(super) fn begin(&self, output: &mut dyn Output) -> Result<(), QueryStop> {
        for clause in self.clauses.iter().filter(|clause| clause.into.is_none()) {
            output.columns(&clause.infos)?;
        }
        Ok(())
    }

    /// Tells of changed rows; `source` has the rows of the relation that they were made of.
    pub(super) fn tell(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        rows: &ChangedRows,
        source: &Batch,
    ) -> Result<(), QueryStop> {
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
        for at in 0..told.rows {
            let row: Result<Vec<Datum<'static>>, extentdb_exec::Error> =
                told.columns.iter().map(|column| datum(column, at)).collect();
            output.row(&row?)?;
        }
        Ok(())
    }
}
