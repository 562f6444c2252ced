//! MERGE.

use extentdb_bind::logical::{Column, ValueId};
use extentdb_bind::{BoundAction, BoundMerge, BoundMergeClause, ColumnSource};
use extentdb_exec::write::Target;
use extentdb_exec::{Batch, Context, Evaluator};
use extentdb_tsql::syntax::Matching;
use extentdb_types::{Datum, SqlType};

use super::output::{Changed, ChangedRows, Event, Outputs};
use super::read_values;
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::Output;
use extentdb_connection::query::{Prepared, QueryStop, all_batches};
use extentdb_connection::step::Run;
use extentdb_connection::stop::Stop;
use extentdb_connection::variant;

/// A WHEN that is ready to run.
struct When {
    matching: Matching,
    condition: Option<Evaluator>,
    action: Action,
}

enum Action {
    Update(Vec<(usize, Evaluator)>),
    Delete,
    Insert(Vec<ColumnSource>, Vec<Evaluator>),
}

/// Runs a bound MERGE; `keeps` the rows for triggers.
pub(super) fn merge(
    run: &mut Run<'_>,
    frame: &Frame,
    mut prepared: Prepared,
    bound: BoundMerge,
    keeps: bool,
) -> Result<Changed, Stop> {
    prepared.changes("MERGE", &bound.stored);
    let ids = read_values(&[bound.locator, bound.mark], used(&bound), &bound.relation.columns());
    let (mut operator, columns) = prepared.plan(bound.relation, &ids)?;
    let mut whens = Vec::new();
    for clause in &bound.clauses {
        whens.push(when(&prepared, clause, &columns)?);
    }
    let mut all = columns.clone();
    all.push(bound.action.clone());
    let outputs = Outputs::new(&prepared, &bound.outputs, &bound.deleted, &bound.inserted, &all)?;
    let outputs = outputs.keeping(keeps);
    let action = bound.action.ty;
    let target = Target::new(&bound.stored);
    let mut work = Merging { target, whens, outputs, action, count: 0 };
    let count = prepared.execute(run, frame, |context, output| {
        work.outputs.begin(output)?;
        let kept = all_batches(&mut *operator, context)?;
        for batch in &kept {
            work.merge(context, output, batch)?;
        }
        Ok(work.count)
    })?;
    Ok(work.outputs.changed(count))
}

/// What its clauses may do.
pub(super) fn events(bound: &BoundMerge) -> Vec<Event> {
    let mut events = Vec::new();
    for clause in &bound.clauses {
        let event = match &clause.action {
            BoundAction::Update(_) => Event::Update,
            BoundAction::Insert(..) => Event::Insert,
            BoundAction::Delete => Event::Delete,
        };
        if !events.contains(&event) {
            events.push(event);
        }
    }
    events
}

/// The columns that its clauses update.
pub(super) fn updated(bound: &BoundMerge) -> Vec<usize> {
    let sets = bound.clauses.iter().filter_map(|clause| match &clause.action {
        BoundAction::Update(sets) => Some(sets.iter().map(|(ordinal, _)| *ordinal)),
        _ => None,
    });
    sets.flatten().collect()
}

/// The values that clauses and OUTPUT use.
fn used(bound: &BoundMerge) -> Vec<ValueId> {
    let mut ids: Vec<ValueId> = Vec::new();
    for clause in &bound.clauses {
        ids.extend(clause.condition.iter().flat_map(|it| it.places()));
        match &clause.action {
            BoundAction::Update(sets) => ids.extend(sets.iter().flat_map(|(_, it)| it.places())),
            BoundAction::Insert(_, values) => ids.extend(values.iter().flat_map(|it| it.places())),
            BoundAction::Delete => {}
        }
    }
    ids.extend(bound.outputs.iter().flat_map(|it| it.values.iter().flat_map(|it| it.places())));
    ids
}

fn when(prepared: &Prepared, clause: &BoundMergeClause, columns: &[Column]) -> Result<When, Cause> {
    let condition =
        clause.condition.as_ref().map(|it| prepared.evaluator(it, columns)).transpose()?;
    let action = match &clause.action {
        BoundAction::Delete => Action::Delete,
        BoundAction::Update(sets) => {
            let sets: Result<Vec<_>, Cause> = sets
                .iter()
                .map(|(ordinal, value)| Ok((*ordinal, prepared.evaluator(value, columns)?)))
                .collect();
            Action::Update(sets?)
        }
        BoundAction::Insert(sources, values) => {
            let values: Result<Vec<_>, Cause> =
                values.iter().map(|value| prepared.evaluator(value, columns)).collect();
            Action::Insert(sources.clone(), values?)
        }
    };
    Ok(When { matching: clause.matching, condition, action })
}

struct Merging {
    target: Target,
    whens: Vec<When>,
    outputs: Outputs,
    action: SqlType,
    count: u64,
}

/// What became of a row.
struct Done {
    event: Event,
    deleted: Option<Vec<Datum<'static>>>,
    inserted: Option<Vec<Datum<'static>>>,
}

impl Merging {
    fn merge(
        &mut self,
        context: &mut Context<'_>,
        output: &mut dyn Output,
        batch: &Batch,
    ) -> Result<(), QueryStop> {
        for row in 0..batch.rows {
            let one = batch.slice(row, 1);
            let Some(done) = self.row(context, &one)? else { continue };
            self.count += 1;
            if self.outputs.is_empty() {
                continue;
            }
            let nulls = || vec![Datum::Null; self.target.types().len()];
            let rows = ChangedRows {
                deleted: vec![done.deleted.unwrap_or_else(nulls)],
                inserted: vec![done.inserted.unwrap_or_else(nulls)],
            };
            let word = extentdb_exec::write::batch_of(
                &[self.action],
                &[vec![variant::nchar(done.event.word())]],
            )?;
            let mut source = one;
            source.columns.extend(word.columns);
            self.outputs.tell(context, output, done.event, &rows, &source)?;
        }
        Ok(())
    }

    /// Does what the first WHEN says that takes the row.
    fn row(&mut self, context: &mut Context<'_>, row: &Batch) -> Result<Option<Done>, QueryStop> {
        let (Some(places), Some(marks)) = (row.columns.first(), row.columns.get(1)) else {
            return Ok(None);
        };
        let matching = match (places.is_null(0), marks.is_null(0)) {
            (false, false) => Matching::Matched,
            (true, false) => Matching::NotMatchedByTarget,
            (false, true) => Matching::NotMatchedBySource,
            (true, true) => return Ok(None),
        };
        let place = places.bytes(0).to_vec();
        let wants_images = !self.outputs.is_empty();
        for when in self.whens.iter_mut().filter(|it| it.matching == matching) {
            if let Some(condition) = &mut when.condition
                && condition.selection(row, &context.outer)?.is_empty()
            {
                continue;
            }
            if !places.is_null(0) && !self.target.is_unchanged(&place) {
                return Err(twice().into());
            }
            let before = match wants_images && !places.is_null(0) {
                true => self.target.image_at(context, &place)?,
                false => None,
            };
            return match &mut when.action {
                Action::Delete => {
                    self.target.delete(context, &place)?;
                    Ok(Some(Done { event: Event::Delete, deleted: before, inserted: None }))
                }
                Action::Update(sets) => {
                    let mut vectors = Vec::new();
                    for (ordinal, value) in sets {
                        vectors.push((*ordinal, value.vector(row, &context.outer)?));
                    }
                    let sets: Vec<_> = vectors.iter().map(|(at, it)| (*at, it)).collect();
                    let at = self.target.update(context, &place, &sets, 0)?;
                    let after = match at.filter(|_| wants_images) {
                        Some(at) => self.target.image(context, &at)?,
                        None => None,
                    };
                    Ok(Some(Done { event: Event::Update, deleted: before, inserted: after }))
                }
                Action::Insert(sources, values) => {
                    let mut columns = Vec::new();
                    for value in values {
                        columns.push(value.vector(row, &context.outer)?);
                    }
                    let new = Batch { rows: 1, columns };
                    let at = self.target.insert_row(context, &new, 0, sources)?;
                    let after = match wants_images {
                        true => self.target.image(context, &at)?,
                        false => None,
                    };
                    Ok(Some(Done { event: Event::Insert, deleted: None, inserted: after }))
                }
            };
        }
        Ok(None)
    }
}

fn twice() -> Cause {
    let text = "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This \
                happens when a target row matches more than one source row. A MERGE statement \
                cannot UPDATE/DELETE the same row of the target table multiple times. Refine the \
                ON clause to ensure a target row matches at most one source row, or use the GROUP \
                BY clause to group the source rows.";
    Cause::Failed { number: 8672, severity: 16, text: text.to_owned() }
}
