#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)
)]

mod alter_table;
mod bound;
mod column;
mod constraint;
mod create_table;
mod ddl_trigger;
mod drop;
mod event;
mod guard;
mod index;
mod key;
mod module;
mod names;
mod options;
mod permission;
mod problem;
mod reference;
mod schema;
mod sequence;
mod statistics;
mod transfer;
mod truncate;
mod user_type;

use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Session, StatementEnd};
use extentdb_tsql::syntax::{DropClass, DropObjects, ObjectName, Script, Statement, StatementKind};

use extentdb_connection::cause::Cause;
use extentdb_connection::connection::Connection;
use extentdb_connection::frame::Frame;
use extentdb_connection::message::Message;
use extentdb_connection::output::StatementCode;
use extentdb_connection::run_trigger::{begin_own, end_own};
use extentdb_connection::step::{RowCount, Run, Step};
use extentdb_connection::stop::Stop;

use event::Told;
use guard::Guarded;
use problem::{Defined, Problem};
use transfer::Transfer;

pub use bound::{Binding, Bound, bind};

/// Syntax of a statement that defines something.
trait Define: Guarded + Told + Send + Sync {
    fn define(&self, ddl: &mut Ddl<'_, '_>) -> Defined;

    /// What clients are told that it was.
    fn code(&self) -> StatementCode {
        StatementCode::Other
    }
}

/// What a statement works with.
struct Ddl<'d, 'r> {
    run: &'d mut Run<'r>,
    /// The batch, which spans refer to.
    text: &'d str,
    /// Where the statement begins in it.
    start: usize,
    line: u32,
}

/// A statement, ready to run.
struct Definition<S> {
    syntax: S,
    text: Arc<str>,
    start: usize,
    end: usize,
    line: u32,
}

/// Compiles a statement of this family; `None` for any other.
pub fn compile(script: &Script, statement: &Statement) -> Option<Box<dyn Step>> {
    Some(match &statement.kind {
        StatementKind::CreateTable(create) => step(script, statement, (**create).clone()),
        StatementKind::AlterTable(alter) => step(script, statement, (**alter).clone()),
        StatementKind::Truncate(truncate) => step(script, statement, truncate.clone()),
        StatementKind::CreateIndex(create) => step(script, statement, (**create).clone()),
        StatementKind::AlterIndex(alter) => step(script, statement, (**alter).clone()),
        StatementKind::DropIndex(drop) => step(script, statement, drop.clone()),
        StatementKind::CreateStatistics(create) => step(script, statement, (**create).clone()),
        StatementKind::UpdateStatistics(update) => step(script, statement, (**update).clone()),
        StatementKind::DefineModule(define) => step(script, statement, (**define).clone()),
        StatementKind::SwitchTrigger(switch) => step(script, statement, (**switch).clone()),
        StatementKind::CreateSchema(create) => step(script, statement, (**create).clone()),
        StatementKind::CreateType(create) => step(script, statement, (**create).clone()),
        StatementKind::Sequence(sequence) => step(script, statement, (**sequence).clone()),
        StatementKind::CreateSynonym(create) => step(script, statement, (**create).clone()),
        StatementKind::CreateDefault(create) => step(script, statement, (**create).clone()),
        StatementKind::CreateRule(create) => step(script, statement, (**create).clone()),
        StatementKind::Permission(permission) => step(script, statement, (**permission).clone()),
        StatementKind::AlterAuthorization(alter) => step(script, statement, (**alter).clone()),
        StatementKind::DropObjects(drop) => return drop_objects(script, statement, drop),
        StatementKind::Admin(admin) => step(script, statement, Transfer::of(admin)?),
        _ => return None,
    })
}

fn drop_objects(
    script: &Script,
    statement: &Statement,
    drop: &DropObjects,
) -> Option<Box<dyn Step>> {
    match drop.class {
        DropClass::Table
        | DropClass::View
        | DropClass::Procedure
        | DropClass::Function
        | DropClass::Trigger
        | DropClass::Schema
        | DropClass::Type
        | DropClass::Sequence
        | DropClass::Synonym
        | DropClass::Statistics
        | DropClass::Default
        | DropClass::Rule => Some(step(script, statement, drop.clone())),
        DropClass::Aggregate | DropClass::Database => None,
    }
}

/// A name as messages show it: without brackets.
fn written(name: &ObjectName) -> String {
    let parts = [name.server(), name.database(), name.schema(), Some(&name.name)];
    let first = parts.iter().position(Option::is_some).unwrap_or_default();
    let parts = parts.iter().skip(first).map(|part| part.map_or("", |name| &name.text));
    parts.collect::<Vec<_>>().join(".")
}

/// Creates a table within a statement that fills it.
pub fn create_table(
    run: &mut Run<'_>,
    frame: &Frame,
    create: &extentdb_tsql::syntax::CreateTable,
) -> Result<(), Stop> {
    let mut ddl = Ddl { run, text: "", start: 0, line: 0 };
    ddl.permit(create)?;
    create.define(&mut ddl).map_err(|problem| ddl.raised(problem, frame))
}

fn step<S: Define + 'static>(script: &Script, statement: &Statement, syntax: S) -> Box<dyn Step> {
    Box::new(Definition {
        syntax,
        text: script.text.clone(),
        start: statement.span.start as usize,
        end: statement.span.end as usize,
        line: statement.span.line,
    })
}

impl<S: Define> Definition<S> {
    fn define(&self, ddl: &mut Ddl<'_, '_>, frame: &Frame) -> Result<(), Stop> {
        self.syntax.define(ddl).map_err(|problem| ddl.raised(problem, frame))
    }

    /// The statement as it was written.
    fn source(&self) -> &str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }
}

impl<S: Define> Step for Definition<S> {
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop> {
        if run.connection.transaction.is_doomed {
            return Err(Cause::Doomed.into());
        }
        run.connection.begin_implicit(run.output)?;
        let mut ddl = Ddl { run, text: &self.text, start: self.start, line: self.line };
        ddl.permit(&self.syntax)?;
        let events = self.syntax.events(&mut ddl)?;
        let fired = event::fired_by(ddl.run, events)?;
        if fired.is_empty() {
            self.define(&mut ddl, frame)?;
        } else {
            let own = begin_own(ddl.run);
            let mut done = self.define(&mut ddl, frame);
            if done.is_ok() {
                done = event::fire(ddl.run, frame, &fired, self.source());
            }
            end_own(run, own, done.map(|()| 0))?;
        }
        run.done(frame.scope, self.syntax.code(), None, false)?;
        Ok(RowCount::Rows(0))
    }
}

impl Ddl<'_, '_> {
    /// Refuses what the session may not define.
    fn permit(&mut self, syntax: &impl Guarded) -> Result<(), Cause> {
        if self.connection().is_sysadmin() { Ok(()) } else { syntax.verify(self) }
    }

    fn connection(&mut self) -> &mut Connection {
        self.run.connection
    }

    fn session(&mut self) -> &mut Session {
        &mut self.run.connection.session
    }

    /// Does something in a database as one statement: when it fails, nothing of it stays.
    fn in_scope<T>(
        &mut self,
        database: &Arc<Database>,
        work: impl FnOnce(&mut Self) -> Defined<T>,
    ) -> Defined<T> {
        if database.is_read_only() {
            let database = database.name().to_owned();
            return Err(extentdb_engine::Error::ReadOnly { database }.into());
        }
        let home = self.connection().enter_database(database)?;
        let done = self.scoped(work);
        self.connection().leave_database(home)?;
        done
    }

    fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> Defined<T>) -> Defined<T> {
        let scope = self.session().begin_scope()?;
        match work(self) {
            Ok(done) => {
                self.session().end_scope(scope, StatementEnd::Done)?;
                Ok(done)
            }
            Err(problem) => {
                self.session().end_scope(scope, StatementEnd::Failed)?;
                Err(problem)
            }
        }
    }

    /// Tells the client something that is no error.
    fn inform(&mut self, number: i32, text: impl Into<String>) -> Defined {
        let message = Message::info(number, 0, self.line, text);
        Ok(self.run.output.message(&message, false)?)
    }

    /// A problem as what ends the statement. The messages before the last are told at once, unless
    /// a handler gets the error: it sees the last one alone.
    fn raised(&mut self, problem: Problem, frame: &Frame) -> Stop {
        let (before, last) = problem.into_causes(self.run.connection);
        if !frame.is_handled() {
            for cause in before {
                let message = Message::of(&cause, self.line);
                if self.run.output.message(&message, false).is_err() {
                    return Stop::Gone;
                }
            }
        }
        last
    }
}
