//! UPDATE.

use extentdb_base::sync::Arc;
use extentdb_bind::BoundUpdate;
use extentdb_bind::logical::ValueId;
use extentdb_engine::Vector;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context, datum};
use extentdb_tsql::syntax::Update;
use extentdb_types::Datum;

use super::output::{ChangedRows, Outputs};
use crate::frame::Frame;
use crate::output::Output;
use crate::query::{Prepared, QueryStop, each_batch};
use crate::step::{RowCount, Run, Step};
use crate::stop::Stop;

pub(super) struct UpdateStep {
    pub(super) syntax: Arc<Update>,
    pub(super) limit: u32,
}

impl Step for UpdateStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        super::verify_writable(run)?;
        let (mut prepared, bound) = Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.limit);
            binder.update(&self.syntax)
        })?;
        prepared.changes("UPDATE", &bound.stored);
        let (count, variables) = update(run, frame, prepared, bound)?;
        for (slot, value) in variables {
            if let Some(own) = frame.values.get_mut(slot) {
                *own = value;
            }
        }
        super::ended(run, frame, count)
    }
}

type Assigned = Vec<(usize, Datum<'static>)>;

fn update(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    bound: BoundUpdate,
) -> Result<(u64, Assigned), Stop> {
    let given = bound.relation.columns();
    let mut ids: Vec<ValueId> = vec![bound.locator];
    let used = bound
        .outputs
        .iter()
        .flat_map(|clause| clause.values.iter().flat_map(|value| value.places()))
        .filter(|id| given.iter().any(|column| column.id == *id));
    let sets = bound.columns.iter().map(|set| set.value);
    let variables = bound.variables.iter().map(|(_, id)| *id);
    for id in sets.chain(variables).chain(used) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let at = |id: ValueId| ids.iter().position(|own| *own == id).unwrap_or(0);
    let sets = bound.columns.iter().map(|set| (set.ordinal, at(set.value))).collect();
    let variables: Vec<(usize, usize)> =
        bound.variables.iter().map(|(variable, id)| (*variable, at(*id))).collect();
    let (mut operator, columns) = prepared.plan(bound.relation, &ids)?;
    let outputs =
        Outputs::new(&prepared, &bound.outputs, &bound.deleted, &bound.inserted, &columns)?;
    let mut work = Updating { target: Target::new(&bound.stored), sets, outputs, count: 0 };
    prepared.execute(run, frame, |context, output| {
        work.outputs.begin(output)?;
        let mut kept: Vec<Batch> = Vec::new();
        each_batch(&mut *operator, context, &mut |_, batch| {
            kept.push(batch.clone());
            Ok(())
        })?;
        let mut assigned = Assigned::new();
        let mut whole: Option<Batch> = None;
        for batch in kept {
            match &mut whole {
                Some(whole) => whole.append(&batch),
                None => whole = Some(batch),
            }
        }
        if let Some(batch) = &whole {
            work.update(context, output, batch)?;
            if let Some(last) = batch.rows.checked_sub(1) {
                for (slot, column) in &variables {
                    let Some(vector) = batch.columns.get(*column) else { continue };
                    assigned.push((*slot, datum(vector, last)?));
                }
            }
        }
        Ok((work.count, assigned))
    })
}

struct Updating {
    target: Target,
    /// Numbers of columns, and where their values are in a batch.
    sets: Vec<(usize, usize)>,
    outputs: Outputs,
    count: u64,
}

impl Updating {
    fn update(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        batch: &Batch,
    ) -> Result<(), QueryStop> {
        let Some(places) = batch.columns.first() else { return Ok(()) };
        let sets: Vec<(usize, &Vector)> = self
            .sets
            .iter()
            .filter_map(|(ordinal, at)| Some((*ordinal, batch.columns.get(*at)?)))
            .collect();
        let mut rows = ChangedRows::default();
        let mut changed = Vec::new();
        // A row whose new key another one still has waits until that one has changed.
        let mut left: Vec<usize> = (0..batch.rows).collect();
        while !left.is_empty() {
            let mut waiting = Vec::new();
            let mut conflict = None;
            let before = left.len();
            for row in left {
                let place = places.bytes(row);
                if places.is_null(row) || !self.target.is_unchanged(place) {
                    continue;
                }
                let image = match self.outputs.is_empty() {
                    true => None,
                    false => self.target.image_at(context, place)?,
                };
                let at = match self.target.update(context, place, &sets, row) {
                    Err(error) if error.is_duplicate_key() => {
                        waiting.push(row);
                        conflict = Some(error);
                        continue;
                    }
                    done => done?,
                };
                let Some(at) = at else { continue };
                self.count += 1;
                if !self.outputs.is_empty() {
                    rows.deleted.extend(image);
                    rows.inserted.extend(self.target.image(context, &at)?);
                    changed.push(row as u32);
                }
            }
            if let Some(conflict) = conflict.filter(|_| waiting.len() == before) {
                return Err(conflict.into());
            }
            // Rows that wait for each other do so in the order that they came in.
            waiting.reverse();
            left = waiting;
        }
        if self.outputs.is_empty() {
            return Ok(());
        }
        self.outputs.tell(context, output, &rows, &batch.take(&changed))
    }
}
