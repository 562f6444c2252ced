//! DELETE.

use extentdb_base::sync::Arc;
use extentdb_bind::BoundDelete;
use extentdb_bind::logical::ValueId;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context};
use extentdb_tsql::syntax::Delete;

use super::output::{ChangedRows, Outputs};
use crate::frame::Frame;
use crate::output::Output;
use crate::query::{Prepared, QueryStop, each_batch};
use crate::step::{RowCount, Run, Step};
use crate::stop::Stop;

pub(super) struct DeleteStep {
    pub(super) syntax: Arc<Delete>,
    pub(super) limit: u32,
}

impl Step for DeleteStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        super::verify_writable(run)?;
        let (mut prepared, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.limit);
            binder.delete(&self.syntax)
        })?;
        prepared.changes("DELETE", &bound.stored);
        let count = delete(run, frame, prepared, bound)?;
        super::ended(run, frame, count)
    }
}

fn delete(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    bound: BoundDelete,
) -> Result<u64, Stop> {
    let given = bound.relation.columns();
    let mut ids: Vec<ValueId> = vec![bound.locator];
    for id in bound.outputs.iter().flat_map(|it| it.values.iter().flat_map(|it| it.places())) {
        if given.iter().any(|column| column.id == id) && !ids.contains(&id) {
            ids.push(id);
        }
    }
    let (mut operator, columns) = prepared.plan(bound.relation, &ids)?;
    let outputs = Outputs::new(&prepared, &bound.outputs, &bound.deleted, &[], &columns)?;
    let mut work = Deleting { target: Target::new(&bound.stored), outputs, count: 0 };
    prepared.execute(run, frame, |context, output| {
        work.outputs.begin(output)?;
        let mut kept: Vec<Batch> = Vec::new();
        each_batch(&mut *operator, context, &mut |_, batch| {
            kept.push(batch.clone());
            Ok(())
        })?;
        for batch in &kept {
            work.delete(context, output, batch)?;
        }
        Ok(work.count)
    })
}

struct Deleting {
    target: Target,
    outputs: Outputs,
    count: u64,
}

impl Deleting {
    fn delete(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        batch: &Batch,
    ) -> Result<(), QueryStop> {
        let Some(places) = batch.columns.first() else { return Ok(()) };
        let mut rows = ChangedRows::default();
        let mut changed = Vec::new();
        for row in 0..batch.rows {
            let place = places.bytes(row);
            if places.is_null(row) || !self.target.is_unchanged(place) {
                continue;
            }
            if !self.outputs.is_empty() {
                rows.deleted.extend(self.target.image_at(context, place)?);
                changed.push(row as u32);
            }
            self.count += u64::from(self.target.delete(context, place)?);
        }
        if self.outputs.is_empty() {
            return Ok(());
        }
        self.outputs.tell(context, output, &rows, &batch.take(&changed))
    }
}
