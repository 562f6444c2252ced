//! AFTER triggers: texts that run once after a statement, in its transaction.
//!
//! ```text
//! BEGIN (where none is open) ─▶ statement ─▶ foreign keys ─▶ trigger 1, 2 … ─▶ COMMIT (ours)
//!                                               └ ROLLBACK in one: 3609, the batch ends
//! ```
//!
//! Invariants
//! - A statement and its triggers are one: an error in a trigger undoes both, and the transaction
//!   is rolled back or doomed, as under XACT_ABORT.
//! - A trigger does not fire itself directly.
//! - Rows that cascades of foreign keys change in a table with triggers are refused: the engine
//!   changes rows for a caller that names the one table whose triggers it runs.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_bind::BoundOutput;
use extentdb_bind::surroundings::StoredTable;
use extentdb_engine::StatementEnd;
use extentdb_tsql::syntax::{Trigger, TriggerTiming};
use extentdb_tsql::{Options, parse};

use super::output::{Changed, ChangedRows, Event, KeptChanges};
use extentdb_connection::cause::Cause;
use extentdb_connection::frame::Frame;
use extentdb_connection::query::{Change, exec_cause};
use extentdb_connection::run_trigger::{Loaded, begin_own, end_own, run_trigger, trigger_of};
use extentdb_connection::step::Run;
use extentdb_connection::stop::{Stop, located};
use extentdb_connection::trigger::TriggerRows;

/// A table whose rows a statement changes, and what it does to them.
pub(crate) struct TriggerTarget {
    stored: StoredTable,
    events: Vec<Event>,
    /// Positions of the columns that UPDATE gives values to.
    updated: Vec<usize>,
    /// Do rows go to the client by OUTPUT?
    tells_client: bool,
}

impl TriggerTarget {
    pub(crate) fn new(
        stored: &StoredTable,
        events: &[Event],
        outputs: &[BoundOutput],
    ) -> TriggerTarget {
        TriggerTarget {
            stored: stored.clone(),
            events: events.to_vec(),
            updated: Vec::new(),
            tells_client: outputs.iter().any(BoundOutput::tells_client),
        }
    }

    /// UPDATE gives values to these columns.
    pub(super) fn updating(mut self, ordinals: impl IntoIterator<Item = usize>) -> TriggerTarget {
        self.updated.extend(ordinals);
        self
    }

    /// Changes rows and runs the triggers; says how many rows have changed. `change` is told
    /// whether rows are kept.
    pub(crate) fn around(
        self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        change: impl FnOnce(&mut Run<'_>, &mut Frame, bool) -> Result<Changed, Stop>,
    ) -> Result<u64, Stop> {
        let enabled = self.stored.table.enabled_triggers();
        if enabled.is_empty() {
            return change(run, frame, false).map(|changed| changed.count);
        }
        let triggers = self.loaded(run, &enabled)?;
        if triggers.is_empty() {
            return self.changed(run, frame, false, change).map(|changed| changed.count);
        }
        if self.tells_client {
            let name = self.stored.table.name().to_owned();
            return Err(Cause::OutputWithTriggers { name }.into());
        }
        let own = begin_own(run);
        let done = self.in_scope(run, frame, &triggers, change);
        end_own(run, own, done)
    }

    /// Changes rows of a table whose triggers are run, or need not run, by the caller.
    fn changed(
        &self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        keeps: bool,
        change: impl FnOnce(&mut Run<'_>, &mut Frame, bool) -> Result<Changed, Stop>,
    ) -> Result<Changed, Stop> {
        run.connection.session.set_triggers_run_of(Some(self.stored.table.id()));
        let changed = change(run, frame, keeps);
        run.connection.session.set_triggers_run_of(None);
        changed
    }

    fn in_scope(
        &self,
        run: &mut Run<'_>,
        frame: &mut Frame,
        triggers: &[Loaded],
        change: impl FnOnce(&mut Run<'_>, &mut Frame, bool) -> Result<Changed, Stop>,
    ) -> Result<u64, Stop> {
        let scope = run.connection.session.begin_scope();
        let scope = scope.map_err(|error| run.connection.engine_cause(&error))?;
        let done = self.changed(run, frame, true, change).and_then(|changed| {
            let verified = run.connection.session.verify_references();
            verified.map_err(|error| self.cause_of(run, error))?;
            let count = changed.count;
            self.fire(run, frame, triggers, changed)?;
            Ok(count)
        });
        let is_done = done.is_ok() && run.connection.transaction.count > 0;
        let end = if is_done { StatementEnd::Done } else { StatementEnd::Failed };
        let ended = run.connection.session.end_scope(scope, end);
        let count = done?;
        ended.map_err(|error| run.connection.engine_cause(&error))?;
        Ok(count)
    }

    /// An error of a foreign key in the words of the statement.
    fn cause_of(&self, run: &Run<'_>, error: extentdb_engine::Error) -> Cause {
        let verb = match self.events.as_slice() {
            [event] => event.word(),
            _ => "MERGE",
        };
        let change = Change { verb, stored: self.stored.clone() };
        exec_cause(error.into(), run.connection, Some(&change))
    }

    /// The triggers that the statement fires.
    fn loaded(&self, run: &mut Run<'_>, enabled: &[ObjectId]) -> Result<Vec<Loaded>, Stop> {
        let model = self.stored.database.model();
        let model = model.map_err(|error| run.connection.engine_cause(&error))?;
        let mut loaded = Vec::new();
        for id in enabled.iter().filter(|id| run.connection.firing.last() != Some(id)) {
            let Some(object) = model.object_by_id(*id) else { continue };
            let name = object.object.name.clone();
            let Some(text) = object.module().and_then(|module| module.text.as_deref()) else {
                return Err(Cause::not_supported(format!("the encrypted trigger {name}")).into());
            };
            let script = parse(text, Options { quoted_identifier: true })
                .map_err(|error| located(Cause::Syntax(error.cause), error.span.line))?;
            let Some(trigger) = trigger_of(&script.statements) else {
                return Err(Cause::not_supported(format!("the text of trigger {name}")).into());
            };
            if !self.events.iter().any(|event| fires_on(trigger, *event)) {
                continue;
            }
            // It has run in the place of the statement, or runs now.
            if trigger.timing == TriggerTiming::InsteadOf {
                continue;
            }
            loaded.push(Loaded { id: *id, name, script });
        }
        Ok(loaded)
    }

    fn fire(
        &self,
        run: &mut Run<'_>,
        frame: &Frame,
        triggers: &[Loaded],
        changed: Changed,
    ) -> Result<(), Stop> {
        let Changed { count, kept } = changed;
        let KeptChanges { inserts, updates, deletes } = kept;
        for (event, rows) in
            [(Event::Insert, inserts), (Event::Update, updates), (Event::Delete, deletes)]
        {
            if !self.events.contains(&event) {
                continue;
            }
            let ChangedRows { deleted, inserted } = rows;
            let updated = (event == Event::Update).then_some(self.updated.as_slice());
            let rows = Arc::new(TriggerRows::new(&self.stored, deleted, inserted, updated));
            for loaded in triggers {
                if trigger_of(&loaded.script.statements).is_some_and(|it| fires_on(it, event)) {
                    run.connection.rowcount = i64::try_from(count).unwrap_or(i64::MAX);
                    let database = self.stored.database.name();
                    run_trigger(run, frame, loaded, (database, rows.clone()))?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn fires_on(trigger: &Trigger, event: Event) -> bool {
    trigger.events.iter().any(|own| own.text.eq_ignore_ascii_case(event.word()))
}
