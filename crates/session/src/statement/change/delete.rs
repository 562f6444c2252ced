//! DELETE.

use extentdb_bind::BoundDelete;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context};

use super::output::{Changed, ChangedRows, Event, Outputs};
use super::read_values;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Output;
use extentdb_connection::query::{Prepared, QueryStop, all_batches};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// Deletes the rows of a bound DELETE; `keeps` them for triggers.
pub(super) fn delete(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    bound: BoundDelete,
    keeps: bool,
) -> Result<Changed, Stop> {
    prepared.changes("DELETE", &bound.stored);
    let used = bound.outputs.iter().flat_map(|it| it.values.iter().flat_map(|it| it.places()));
    let ids = read_values(&[bound.locator], used, &bound.relation.columns());
    let (mut operator, columns) = prepared.plan(bound.relation, &ids)?;
    let outputs = Outputs::new(&prepared, &bound.outputs, &bound.deleted, &[], &columns)?;
    let outputs = outputs.keeping(keeps);
    let mut work = Deleting { target: Target::new(&bound.stored), outputs, count: 0 };
    let count = prepared.execute(run, frame, |context, output| {
        work.outputs.begin(output)?;
        let kept = all_batches(&mut *operator, context)?;
        for batch in &kept {
            work.delete(context, output, batch)?;
        }
        Ok(work.count)
    })?;
    Ok(work.outputs.changed(count))
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
        self.outputs.tell(context, output, Event::Delete, &rows, &batch.take(&changed))
    }
}
