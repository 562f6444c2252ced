//! DELETE.

use extentdb_bind::BoundDelete;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context};
use extentdb_plan::physical::Node;

use super::output::{Changed, ChangedRows, Event, Outputs};
use super::planned::PlanParts;
use super::read_values;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Output;
use extentdb_connection::query::{Prepared, QueryStop, all_batches, operator};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// A DELETE that is planned.
pub(super) struct DeletePlan {
    prepared: Prepared,
    node: Node,
    work: Deleting,
}

impl DeletePlan {
    /// Plans a bound DELETE; it `keeps` rows for triggers.
    pub(super) fn new(
        mut prepared: Prepared,
        bound: BoundDelete,
        keeps: bool,
    ) -> Result<DeletePlan, Cause> {
        prepared.changes("DELETE", &bound.stored);
        let used = bound.outputs.iter().flat_map(|it| it.values.iter().flat_map(|it| it.places()));
        let ids = read_values(&[bound.locator], used, &bound.relation.columns());
        let node = prepared.node(bound.relation, &ids)?;
        let outputs = Outputs::new(&prepared, &bound.outputs, &bound.deleted, &[], &node.columns)?;
        let outputs = outputs.keeping(keeps);
        let work = Deleting { target: Target::new(&bound.stored), outputs, count: 0 };
        Ok(DeletePlan { prepared, node, work })
    }

    pub(super) fn run(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<Changed, Stop> {
        let DeletePlan { prepared, node, work } = self;
        let mut operator = operator(node)?;
        work.target.begin();
        work.count = 0;
        let count = prepared.execute(run, frame, |context, output| {
            work.outputs.begin(output)?;
            let kept = all_batches(&mut *operator, context)?;
            for batch in &kept {
                work.delete(context, output, batch)?;
            }
            Ok(work.count)
        })?;
        Ok(self.work.outputs.changed(count))
    }

    pub(super) fn parts(&self) -> PlanParts<'_> {
        PlanParts {
            prepared: &self.prepared,
            node: &self.node,
            outputs: &self.work.outputs,
        }
    }
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
