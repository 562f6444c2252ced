//! A statement that is ready to run, and what it runs in.

use extentdb_base::sync::Arc;
use extentdb_exec::Notice;
use extentdb_tsql::syntax::{Script, Statement};

use crate::cause::{Cause, Effect};
use crate::connection::Connection;
use crate::frame::{Frame, Values, Variable};
use crate::message::Message;
use crate::options::SetOptions;
use crate::output::{Done, Environment, Output, Scope, StatementCode};
use crate::stop::{Raised, Stop};
use crate::trigger::TriggerRows;

/// Text of message 8153.
const NULL_ELIMINATED: &str =
    "Warning: Null value is eliminated by an aggregate or other SET operation.";

/// What a statement leaves in @@ROWCOUNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCount {
    /// As it was.
    Unchanged,
    /// So many.
    Rows(i64),
}

/// A statement, ready to run any number of times.
pub trait Step: Send + Sync {
    /// Does it run with these options? FMTONLY, NOEXEC and PARSEONLY keep most from it.
    fn is_run(&self, options: &SetOptions) -> bool {
        !options.fmtonly && !options.noexec && !options.parseonly
    }

    /// Runs it.
    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop>;
}

/// Errors that are followed by the message that their statement was terminated: those of rows that
/// a table does not take.
const TERMINATING: [i32; 8] = [513, 515, 547, 550, 2601, 2627, 2628, 8152];

/// Does the message that the statement was terminated follow? Definitions that rows contradict are
/// refused without it.
fn is_terminating(message: &Message) -> bool {
    TERMINATING.contains(&message.number) && !message.text.starts_with("The ALTER TABLE")
}

/// Deepest nesting of procedures, texts, functions and triggers.
const MAX_NESTING: u32 = 32;

/// A request that runs.
pub struct Run<'r> {
    /// The connection that it runs for.
    pub connection: &'r mut Connection,
    /// Where results go.
    pub output: &'r mut dyn Output,
    /// Runs a text: a statement that does so knows no other statement.
    pub run_text: RunText,
}

/// What ends a text is an error of the statement that runs it.
fn as_statement(stop: Stop) -> Stop {
    match stop {
        Stop::Raised(mut raised) if raised.effect == Effect::Scope => {
            raised.effect = Effect::Statement;
            // XACT_ABORT does not look at errors of compilation.
            raised.is_raiserror = true;
            Stop::Raised(raised)
        }
        other => other,
    }
}

/// Compiles and runs a text.
pub type RunText = fn(&mut Run<'_>, Text<'_>) -> Result<Frame, Stop>;

/// What is run.
#[derive(Clone, Copy)]
pub enum Source<'t> {
    /// A text, compiled with the parameters.
    Text(&'t str),
    /// The body of a procedure, which is a part of its script.
    Procedure {
        /// Its text, parsed.
        script: &'t Script,
        /// Its statements.
        body: &'t [Statement],
        /// Its name, for messages.
        name: &'t str,
        /// Of a function: the variable that takes its value.
        returns: Option<&'t str>,
    },
}

/// A text to be run, and what it is run in.
pub struct Text<'t> {
    /// What is run.
    pub source: Source<'t>,
    /// What its statements end as.
    pub scope: Scope,
    /// Variables that are there at the beginning.
    pub parameters: Vec<Variable>,
    /// Their values.
    pub values: Vec<extentdb_types::Datum<'static>>,
    /// What the caller has caught.
    pub inherited: Option<Arc<Message>>,
    /// Would a caller catch an error?
    pub has_outer_handler: bool,
    /// What it sees when it is the text of a trigger.
    pub trigger: Option<Arc<TriggerRows>>,
}

impl<'r> Run<'r> {
    /// A request of a connection; `run_text` runs texts within it.
    pub fn new(
        connection: &'r mut Connection,
        output: &'r mut dyn Output,
        run_text: RunText,
    ) -> Run<'r> {
        Run { connection, output, run_text }
    }

    /// Runs a text; its frame afterwards, for output parameters.
    pub fn text(&mut self, text: Text<'_>) -> Result<Frame, Stop> {
        (self.run_text)(self, text)
    }

    /// Tells the client of an error.
    pub fn report(&mut self, raised: &Raised, scope: Scope) -> Result<(), Stop> {
        self.connection.error = raised.message.number;
        self.output.message(&raised.message, false)?;
        if is_terminating(&raised.message) {
            let line = raised.message.line;
            let text = Cause::Terminated.to_string();
            let told = Message::info(Cause::Terminated.number(), 0, line, text);
            self.output.message(&told, false)?;
        }
        if raised.message.is_error() {
            self.done(scope, StatementCode::Other, None, true)?;
        }
        Ok(())
    }

    /// Tells what the statement notes: NULLs that aggregates passed over, arithmetic without a
    /// value.
    pub fn tell_notices(&mut self) -> Result<(), Stop> {
        let line = self.connection.line;
        for notice in self.connection.notices.take() {
            let options = &self.connection.options;
            let (number, text, is_told) = match notice {
                Notice::NullEliminated => (8153, NULL_ELIMINATED, options.ansi_warnings),
                Notice::Division => (3607, "Division by zero occurred.", !options.arithignore),
                Notice::Overflow => (3606, "Arithmetic overflow occurred.", !options.arithignore),
            };
            if is_told {
                self.output.message(&Message::info(number, 1, line, text), false)?;
            }
        }
        Ok(())
    }

    /// The end of a statement or procedure.
    pub fn done(
        &mut self,
        scope: Scope,
        code: StatementCode,
        count: Option<u64>,
        is_error: bool,
    ) -> Result<(), Stop> {
        self.tell_notices()?;
        // Under NOCOUNT a procedure tells of its results alone.
        let is_told = is_error || code == StatementCode::Select || scope != Scope::Procedure;
        if self.connection.options.nocount && !is_told {
            return Ok(());
        }
        let in_transaction = self.connection.is_in_transaction();
        let count = count.filter(|_| !self.connection.options.nocount);
        Ok(self.output.done(Done { scope, code, count, is_error, in_transaction })?)
    }

    /// Runs a text within another: options and database are looked after.
    pub fn within<T>(
        &mut self,
        work: impl FnOnce(&mut Run<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.connection.nesting >= MAX_NESTING {
            return Err(Cause::TooNested.into());
        }
        let options = self.connection.options.clone();
        let database = self.connection.database.clone();
        let security = self.connection.security_depth();
        self.connection.nesting += 1;
        self.connection.identities.enter();
        let done = work(self);
        self.connection.identities.leave();
        self.connection.drop_temporary_from(self.connection.nesting);
        self.connection.nesting = self.connection.nesting.saturating_sub(1);
        self.connection.restore_security(security);
        self.connection.options = options;
        self.connection.apply_options();
        if self.connection.database != database {
            self.return_to_database(&database)?;
        }
        done.map_err(as_statement)
    }

    /// What expressions of a frame see.
    pub fn values<'v>(&'v self, frame: &'v Frame) -> Values<'v> {
        Values { connection: self.connection, frame }
    }

    /// Makes another database the current one, where the session has a user, and tells the client.
    pub fn change_database(&mut self, name: &str) -> Result<(), Stop> {
        let server = self.connection.server.clone();
        if let Ok(database) = server.instance.database(name) {
            self.connection.verify_access(&database)?;
        }
        self.return_to_database(name)
    }

    /// The same of one that the session was let into before.
    fn return_to_database(&mut self, name: &str) -> Result<(), Stop> {
        let connection = &mut *self.connection;
        let server = connection.server.clone();
        let used = server.instance.use_database(&mut connection.session, name);
        used.map_err(|error| connection.engine_cause(&error))?;
        let new = connection.session.database().name().to_owned();
        let old = std::mem::replace(&mut connection.database, new.clone());
        self.output.environment(&Environment::Database { new, old })?;
        Ok(())
    }
}
