//! INSERT.

use extentdb_bind::logical::ValueId;
use extentdb_bind::{BoundInsert, ColumnSource};
use extentdb_engine::LoadLock;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context};
use extentdb_plan::physical::Node;

use super::output::{Changed, ChangedRows, Event, Outputs};
use super::planned::PlanParts;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Output;
use extentdb_connection::query::{Prepared, QueryStop, all_batches, each_batch, operator};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// An INSERT that is planned.
pub(super) struct InsertPlan {
    prepared: Prepared,
    node: Node,
    reads_target: bool,
    work: Inserting,
}

/// Inserts the rows of a bound INSERT; `keeps` them for triggers.
pub(crate) fn insert(
    run: &mut Run<'_>,
    frame: &Frame,
    prepared: Prepared,
    bound: BoundInsert,
    keeps: bool,
) -> Result<Changed, Stop> {
    InsertPlan::new(prepared, bound, keeps)?.run(run, frame)
}

impl InsertPlan {
    pub(super) fn new(
        prepared: Prepared,
        bound: BoundInsert,
        keeps: bool,
    ) -> Result<InsertPlan, Cause> {
        let mut ids: Vec<ValueId> = Vec::new();
        let mut sources = Vec::new();
        for source in &bound.columns {
            sources.push(match source {
                ColumnSource::Value(id) => {
                    let known = ids.iter().position(|own| own == id);
                    ColumnSource::Value(known.unwrap_or_else(|| {
                        ids.push(*id);
                        ids.len() - 1
                    }))
                }
                other => *other,
            });
        }
        let reads_target = bound.relation.reads(bound.stored.table.id());
        let node = prepared.node(bound.relation, &ids)?;
        let outputs = Outputs::new(&prepared, &bound.outputs, &[], &bound.inserted, &node.columns)?;
        let outputs = outputs.keeping(keeps);
        let lock = if bound.locks_table { LoadLock::Table } else { LoadLock::Rows };
        let work = Inserting { target: Target::new(&bound.stored), sources, outputs, lock };
        Ok(InsertPlan { prepared, node, reads_target, work })
    }

    pub(super) fn run(&mut self, run: &mut Run<'_>, frame: &Frame) -> Result<Changed, Stop> {
        let InsertPlan { prepared, node, reads_target, work } = self;
        let mut operator = operator(node)?;
        work.target.begin();
        let count = prepared.execute(run, frame, |context, output| {
            work.outputs.begin(output)?;
            let mut count = 0;
            let mut insert = |context: &mut Context<'_>, batch: &Batch| {
                count += batch.rows as u64;
                work.insert(context, output, batch)
            };
            if *reads_target {
                for batch in all_batches(&mut *operator, context)? {
                    insert(context, &batch)?;
                }
            } else {
                each_batch(&mut *operator, context, &mut insert)?;
            }
            Ok(count)
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

struct Inserting {
    target: Target,
    sources: Vec<ColumnSource>,
    outputs: Outputs,
    lock: LoadLock,
}

impl Inserting {
    fn insert(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        batch: &Batch,
    ) -> Result<(), QueryStop> {
        if self.outputs.is_empty() {
            return Ok(self.target.insert(context, batch, &self.sources, self.lock)?);
        }
        let mut rows = ChangedRows::default();
        for row in 0..batch.rows {
            let at = self.target.insert_row(context, batch, row, &self.sources)?;
            rows.inserted.extend(self.target.image(context, &at)?);
        }
        self.outputs.tell(context, output, Event::Insert, &rows, batch)
    }
}
