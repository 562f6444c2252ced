//! UPDATE.

use extentdb_bind::BoundUpdate;
use extentdb_bind::logical::ValueId;
use extentdb_engine::Vector;
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context, datum};
use extentdb_plan::physical::Node;
use extentdb_types::Datum;

use super::output::{Changed, ChangedRows, Event, Outputs};
use super::planned::PlanParts;
use super::read_values;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Output;
use extentdb_connection::query::{Prepared, QueryStop, all_batches, operator};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;

/// Variables and what they become.
type Assigned = Vec<(usize, Datum<'static>)>;

/// An UPDATE that is planned.
pub(super) struct UpdatePlan {
    prepared: Prepared,
    node: Node,
    /// Variables that take values, and where these are in a batch.
    variables: Vec<(usize, usize)>,
    work: Updating,
}

impl UpdatePlan {
    /// Plans a bound UPDATE; it `keeps` rows for triggers.
    pub(super) fn new(
        mut prepared: Prepared,
        bound: BoundUpdate,
        keeps: bool,
    ) -> Result<UpdatePlan, Cause> {
        prepared.changes("UPDATE", &bound.stored);
        let mut always = vec![bound.locator];
        let sets = bound.columns.iter().map(|set| set.value);
        for id in sets.chain(bound.variables.iter().map(|(_, id)| *id)) {
            if !always.contains(&id) {
                always.push(id);
            }
        }
        let used = bound.outputs.iter().flat_map(|it| it.values.iter().flat_map(|it| it.places()));
        let ids = read_values(&always, used, &bound.relation.columns());
        let at = |id: ValueId| ids.iter().position(|own| *own == id).unwrap_or(0);
        let sets = bound.columns.iter().map(|set| (set.ordinal, at(set.value))).collect();
        let variables = bound.variables.iter().map(|(variable, id)| (*variable, at(*id)));
        let variables = variables.collect();
        let node = prepared.node(bound.relation, &ids)?;
        let outputs = Outputs::new(
            &prepared,
            &bound.outputs,
            &bound.deleted,
            &bound.inserted,
            &node.columns,
        )?;
        let outputs = outputs.keeping(keeps);
        let work = Updating { target: Target::new(&bound.stored), sets, outputs, count: 0 };
        Ok(UpdatePlan { prepared, node, variables, work })
    }

    /// Changes the rows, and the variables.
    pub(super) fn run(&mut self, run: &mut Run<'_>, frame: &mut Frame) -> Result<Changed, Stop> {
        let UpdatePlan { prepared, node, variables, work } = self;
        let mut operator = operator(node)?;
        work.target.begin();
        work.count = 0;
        let (count, assigned) = prepared.execute(run, frame, |context, output| {
            work.outputs.begin(output)?;
            let kept = all_batches(&mut *operator, context)?;
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
                    for (slot, column) in &*variables {
                        let Some(vector) = batch.columns.get(*column) else { continue };
                        assigned.push((*slot, datum(vector, last)?));
                    }
                }
            }
            Ok((work.count, assigned))
        })?;
        for (slot, value) in assigned {
            if let Some(own) = frame.values.get_mut(slot) {
                *own = value;
            }
        }
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
        self.outputs.tell(context, output, Event::Update, &rows, &batch.take(&changed))
    }
}
