//! Functions of the session, called by the executor.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Error, Session};
use extentdb_exec::{Error as ExecError, Functions, within};
use extentdb_types::Datum;

use super::user_function::StoredFunction;

use crate::cause::Cause;
use crate::connection::Connection;
use crate::frame::{Frame, Values};
use crate::function::Definition;
use crate::output::Discard;
use crate::step::{Run, RunText};
use crate::stop::Stop;

/// A function of a query.
#[derive(Clone)]
pub enum RowFunction {
    /// One of the session.
    Session(&'static Definition),
    /// One of users.
    User(Arc<StoredFunction>),
    /// The next value of a sequence.
    NextValue { database: Arc<Database>, sequence: ObjectId, name: String },
}

/// The functions of one query, by their numbers.
pub struct RowFunctions<'f> {
    /// What functions of the session ask.
    pub connection: &'f mut Connection,
    /// What variables are in.
    pub frame: &'f Frame,
    /// The functions that the query calls row by row.
    pub definitions: &'f [RowFunction],
    /// Runs texts: the bodies of functions of users.
    pub run_text: RunText,
    /// Stands where the session of the query was while a function of users works with it.
    pub stand_in: Option<Session>,
}

impl Functions for RowFunctions<'_> {
    fn call(
        &mut self,
        session: Option<&mut Session>,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, ExecError> {
        match self.definitions.get(function) {
            Some(RowFunction::Session(definition)) => self.session_call(definition, arguments),
            Some(RowFunction::User(function)) => {
                let function = function.clone();
                self.in_session(session, |run| function.value(run, arguments))
            }
            Some(RowFunction::NextValue { database, sequence, name }) => {
                let session = session.ok_or_else(|| {
                    ExecError::NotSupported("NEXT VALUE FOR without its engine".to_owned())
                })?;
                within(session, database, |session| {
                    session.next_value(*sequence).map_err(|error| next_value_error(error, name))
                })
            }
            None => Err(ExecError::NotSupported("a function without a definition".to_owned())),
        }
    }

    fn call_rows(
        &mut self,
        session: Option<&mut Session>,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Vec<Vec<Datum<'static>>>, ExecError> {
        match self.definitions.get(function) {
            Some(RowFunction::User(function)) => {
                let function = function.clone();
                self.in_session(session, |run| function.rows(run, arguments))
            }
            _ => Err(ExecError::NotSupported("a function without a definition".to_owned())),
        }
    }
}

impl RowFunctions<'_> {
    /// Runs statements with the session of the query, which rests meanwhile.
    fn in_session<T>(
        &mut self,
        session: Option<&mut Session>,
        work: impl FnOnce(&mut Run<'_>) -> Result<T, Stop>,
    ) -> Result<T, ExecError> {
        let no_session = || ExecError::NotSupported("a function of users here".to_owned());
        let session = session.ok_or_else(no_session)?;
        let stand_in = match self.stand_in.take() {
            Some(stand_in) => stand_in,
            None => self.connection.server.instance.session(session.database().name())?,
        };
        let own = std::mem::replace(session, stand_in);
        self.connection.session.give_back(own);
        let work = work(&mut Run::new(self.connection, &mut Discard, self.run_text));
        let own = self.connection.session.lend().ok_or_else(no_session)?;
        self.stand_in = Some(std::mem::replace(session, own));
        work.map_err(|stop| ExecError::Function(Box::new(stopped(stop))))
    }

    fn session_call(
        &self,
        definition: &Definition,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, ExecError> {
        let at = Values { connection: self.connection, frame: self.frame };
        let arguments: Vec<Datum<'static>> =
            arguments.iter().map(|value| value.clone().into_owned()).collect();
        (definition.evaluate)(at, &arguments).map_err(|cause| ExecError::Function(Box::new(cause)))
    }
}

/// What has stopped a function, as an error of the query.
fn stopped(stop: Stop) -> Cause {
    match stop {
        Stop::Raised(raised) => Cause::Failed {
            number: raised.message.number,
            severity: raised.message.severity,
            text: raised.message.text,
        },
        _ => Cause::not_supported("a function that does not come to its end"),
    }
}

/// A sequence has no more values.
const SEQUENCE_END: i32 = 11_728;

fn next_value_error(error: Error, name: &str) -> ExecError {
    if !matches!(error, Error::SequenceEnd { .. }) {
        return error.into();
    }
    let text = format!(
        "The sequence object '{name}' has reached its minimum or maximum value. Restart the sequence object to allow new values to be generated."
    );
    ExecError::Function(Box::new(Cause::Failed { number: SEQUENCE_END, severity: 16, text }))
}
