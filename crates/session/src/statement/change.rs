//! INSERT, UPDATE, DELETE and MERGE: rows are read by a plan, then changed one after the other.
//!
//! Invariants
//! - All rows are read before the first is changed, unless the statement does not read its target.
//! - A statement that fails, or whose trigger fails, has changed nothing.
//! - What OUTPUT sends to the client goes before the count; what it puts into a table is part of
//!   the statement.

mod delete;
mod execute;
mod insert;
mod instead;
mod kept;
mod merge;
mod output;
mod planned;
mod positioned;
mod trigger;
mod update;

use extentdb_bind::logical::{Column, ValueId};
use extentdb_bind::{Binder, Result as Bound};
use extentdb_tsql::Span;
use extentdb_tsql::syntax::{Dml, Expr, ExprKind, InsertSource, Literal, Top};

use super::{Compiled, Context, hints};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::output::StatementCode;
use extentdb_connection::query::{Basis, KeptPlan, Prepared};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

use delete::DeletePlan;
use insert::InsertPlan;
use kept::KeptChange;
use update::UpdatePlan;

pub(crate) use insert::insert as insert_rows;
pub(crate) use output::Event;
pub(crate) use trigger::TriggerTarget;

/// A statement that changes rows; it is bound when it runs, unless its plan was kept.
struct ChangeStep {
    dml: Dml,
    recursion_limit: u32,
    plan: KeptPlan<KeptChange>,
}

/// Compiles a statement that changes rows.
pub(super) fn compile(context: &Context<'_>, dml: &Dml) -> Compiled {
    if let Dml::Insert(insert) = dml
        && let InsertSource::Execute(execute) = &insert.source
    {
        return execute::compile(context, insert, execute);
    }
    let hints = match dml {
        Dml::Insert(insert) => &insert.option,
        Dml::Update(update) => &update.option,
        Dml::Delete(delete) => &delete.option,
        Dml::Merge(merge) => &merge.option,
    };
    let recursion_limit = hints::recursion_limit(hints)?;
    let plan = KeptPlan::default();
    Ok(Box::new(ChangeStep { dml: dml.clone(), recursion_limit, plan }))
}

impl ChangeStep {
    /// Keeps a plan that may be kept.
    fn keep(&self, basis: Option<Basis>, plan: impl FnOnce(Basis) -> Option<KeptChange>) {
        if let Some(plan) = basis.and_then(plan) {
            self.plan.put_back(Box::new(plan));
        }
    }

    fn bind<T>(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        bind: impl FnOnce(&mut Binder<'_>) -> Bound<T>,
    ) -> Result<(Prepared, T), Cause> {
        Prepared::bind(run, frame, |binder| {
            binder.set_recursion_limit(self.recursion_limit);
            bind(binder)
        })
    }
}

impl Step for ChangeStep {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        verify_writable(run)?;
        if let Some(mut kept) = self.plan.take(run.connection) {
            // A plan that fails is made again.
            let count = kept.run(run, frame)?;
            self.plan.put_back(kept);
            run.done(frame.scope, code_of(&self.dml), Some(count), false)?;
            return Ok(RowCount::Rows(count as i64));
        }
        let basis = Basis::now(run.connection);
        let positioned = positioned::with_key(run, frame, &self.dml)?;
        let limited = limited(run, positioned.as_ref().unwrap_or(&self.dml));
        let dml = limited.as_ref().or(positioned.as_ref()).unwrap_or(&self.dml);
        if let Some(count) = instead::fired(run, frame, dml)? {
            run.done(frame.scope, code_of(dml), Some(count), false)?;
            return Ok(RowCount::Rows(count as i64));
        }
        // What stands for the statement in its own words is another one the next time.
        let is_itself = positioned.is_none() && limited.is_none();
        let basis = basis.filter(|_| is_itself);
        let count = match dml {
            Dml::Insert(syntax) => {
                let (mut prepared, bound) = self.bind(run, frame, |it| it.insert(syntax))?;
                prepared.changes("INSERT", &bound.stored);
                let target = TriggerTarget::new(&bound.stored, &[Event::Insert], &bound.outputs);
                target.around(run, frame, |run, frame, keeps| {
                    let mut plan = InsertPlan::new(prepared, bound, keeps)?;
                    let changed = plan.run(run, frame)?;
                    self.keep(basis, |basis| KeptChange::insert(plan, basis));
                    Ok(changed)
                })?
            }
            Dml::Update(syntax) => {
                let (prepared, bound) = self.bind(run, frame, |it| it.update(syntax))?;
                let target = TriggerTarget::new(&bound.stored, &[Event::Update], &bound.outputs);
                let ordinals = bound.columns.iter().map(|set| set.ordinal);
                target.updating(ordinals).around(run, frame, |run, frame, keeps| {
                    let mut plan = UpdatePlan::new(prepared, bound, keeps)?;
                    let changed = plan.run(run, frame)?;
                    self.keep(basis, |basis| KeptChange::update(plan, basis));
                    Ok(changed)
                })?
            }
            Dml::Delete(syntax) => {
                let (prepared, bound) = self.bind(run, frame, |it| it.delete(syntax))?;
                let target = TriggerTarget::new(&bound.stored, &[Event::Delete], &bound.outputs);
                target.around(run, frame, |run, frame, keeps| {
                    let mut plan = DeletePlan::new(prepared, bound, keeps)?;
                    let changed = plan.run(run, frame)?;
                    self.keep(basis, |basis| KeptChange::delete(plan, basis));
                    Ok(changed)
                })?
            }
            Dml::Merge(syntax) => {
                let (prepared, bound) = self.bind(run, frame, |it| it.merge(syntax))?;
                let target =
                    TriggerTarget::new(&bound.stored, &merge::events(&bound), &bound.outputs);
                target.updating(merge::updated(&bound)).around(
                    run,
                    frame,
                    |run, frame, keeps| merge::merge(run, frame, prepared, bound, keeps),
                )?
            }
        };
        run.done(frame.scope, code_of(dml), Some(count), false)?;
        Ok(RowCount::Rows(count as i64))
    }
}

/// SET ROWCOUNT as TOP, where the statement has none.
fn limited(run: &Run<'_>, dml: &Dml) -> Option<Dml> {
    let count = run.connection.options.rowcount;
    if count == 0 {
        return None;
    }
    let mut dml = dml.clone();
    let top = match &mut dml {
        Dml::Insert(insert) => &mut insert.top,
        Dml::Update(update) => &mut update.top,
        Dml::Delete(delete) => &mut delete.top,
        Dml::Merge(_) => return None,
    };
    let literal = Literal::Integer(count.to_string().into());
    let count = Expr { kind: ExprKind::Literal(literal), span: Span::default() };
    top.get_or_insert(Top { count, is_percent: false, with_ties: false });
    Some(dml)
}

fn code_of(dml: &Dml) -> StatementCode {
    match dml {
        Dml::Insert(_) => StatementCode::Insert,
        Dml::Update(_) => StatementCode::Update,
        Dml::Delete(_) => StatementCode::Delete,
        Dml::Merge(_) => StatementCode::Merge,
    }
}

/// The values that a change reads: those that it always does, then those of the relation that its
/// clauses use, each once.
fn read_values(
    always: &[ValueId],
    used: impl IntoIterator<Item = ValueId>,
    given: &[Column],
) -> Vec<ValueId> {
    let mut ids = always.to_vec();
    for id in used {
        if given.iter().any(|column| column.id == id) && !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// A transaction that can only be rolled back changes nothing.
fn verify_writable(run: &Run<'_>) -> Result<(), Stop> {
    if run.connection.transaction.is_doomed {
        return Err(Cause::Doomed.into());
    }
    Ok(())
}
