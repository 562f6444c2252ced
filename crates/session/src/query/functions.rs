//! Functions of the session, called by the executor.

use extentdb_base::ObjectId;
use extentdb_base::sync::Arc;
use extentdb_engine::{Database, Error, Session};
use extentdb_exec::{Error as ExecError, Functions, within};
use extentdb_types::Datum;

use crate::cause::Cause;
use crate::connection::Connection;
use crate::frame::{Frame, Values};
use crate::function::Definition;

/// A function of a query.
#[derive(Clone)]
pub(crate) enum RowFunction {
    /// One of the session.
    Session(&'static Definition),
    /// The next value of a sequence.
    NextValue { database: Arc<Database>, sequence: ObjectId, name: String },
}

/// The functions of one query, by their numbers.
pub(crate) struct RowFunctions<'f> {
    pub(crate) connection: &'f Connection,
    pub(crate) frame: &'f Frame,
    pub(crate) definitions: &'f [RowFunction],
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
}

impl RowFunctions<'_> {
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
