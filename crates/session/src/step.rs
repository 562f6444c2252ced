//! A statement that is ready to run, and what it runs in.

use extentdb_base::sync::Arc;
use extentdb_tsql::syntax::{Script, Statement};

use crate::cause::Cause;
use crate::connection::Connection;
use crate::frame::{Frame, Values, Variable};
use crate::message::Message;
use crate::options::SetOptions;
use crate::output::{Done, Environment, Output, Scope, StatementCode};
use crate::stop::{Raised, Stop};

/// What a statement leaves in @@ROWCOUNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowCount {
    Unchanged,
    Rows(i64),
}

/// A statement, ready to run any number of times.
pub(crate) trait Step {
    /// Does it run with these options? FMTONLY, NOEXEC and PARSEONLY keep most from it.
    fn is_run(&self, options: &SetOptions) -> bool {
        !options.fmtonly && !options.noexec && !options.parseonly
    }

    fn run(&self, run: &mut Run<'_>, frame: &mut Frame) -> Result<RowCount, Stop>;
}

/// Errors that are followed by the message that their statement was terminated: those of rows that
/// a table does not take.
const TERMINATING: [i32; 6] = [515, 547, 2601, 2627, 2628, 8152];

/// Does the message that the statement was terminated follow? Definitions that rows contradict are
/// refused without it.
fn is_terminating(message: &Message) -> bool {
    TERMINATING.contains(&message.number) && !message.text.starts_with("The ALTER TABLE")
}

/// A request that runs.
pub(crate) struct Run<'r> {
    pub(crate) connection: &'r mut Connection,
    pub(crate) output: &'r mut dyn Output,
    /// Runs a text: a statement that does so knows no other statement.
    pub(crate) run_text: RunText,
}

/// Compiles and runs a text.
pub(crate) type RunText = fn(&mut Run<'_>, Text<'_>) -> Result<Frame, Stop>;

/// What is run.
#[derive(Clone, Copy)]
pub(crate) enum Source<'t> {
    /// A text, compiled with the parameters.
    Text(&'t str),
    /// The body of a procedure, which is a part of its script.
    Procedure { script: &'t Script, body: &'t [Statement], name: &'t str },
}

/// A text to be run, and what it is run in.
pub(crate) struct Text<'t> {
    pub(crate) source: Source<'t>,
    pub(crate) scope: Scope,
    pub(crate) parameters: Vec<Variable>,
    pub(crate) values: Vec<extentdb_types::Datum<'static>>,
    /// What the caller has caught.
    pub(crate) inherited: Option<Arc<Message>>,
    pub(crate) has_outer_handler: bool,
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        connection: &'r mut Connection,
        output: &'r mut dyn Output,
        run_text: RunText,
    ) -> Run<'r> {
        Run { connection, output, run_text }
    }

    /// Runs a text; its frame afterwards, for output parameters.
    pub(crate) fn text(&mut self, text: Text<'_>) -> Result<Frame, Stop> {
        (self.run_text)(self, text)
    }

    /// Tells the client of an error.
    pub(crate) fn report(&mut self, raised: &Raised, scope: Scope) -> Result<(), Stop> {
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

    /// The end of a statement or procedure.
    pub(crate) fn done(
        &mut self,
        scope: Scope,
        code: StatementCode,
        count: Option<u64>,
        is_error: bool,
    ) -> Result<(), Stop> {
        let in_transaction = self.connection.is_in_transaction();
        let count = count.filter(|_| !self.connection.options.nocount);
        Ok(self.output.done(Done { scope, code, count, is_error, in_transaction })?)
    }

    /// What expressions of a frame see.
    pub(crate) fn values<'v>(&'v self, frame: &'v Frame) -> Values<'v> {
        Values { connection: self.connection, frame }
    }

    /// Makes another database the current one, and tells the client.
    pub(crate) fn change_database(&mut self, name: &str) -> Result<(), Stop> {
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
