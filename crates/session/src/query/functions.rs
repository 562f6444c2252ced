//! Functions of the session, called by the executor.

use extentdb_exec::{Error as ExecError, Functions};
use extentdb_types::Datum;

use crate::connection::Connection;
use crate::frame::{Frame, Values};
use crate::function::Definition;

/// The functions of one query, by their numbers.
pub(crate) struct RowFunctions<'f> {
    pub(crate) connection: &'f Connection,
    pub(crate) frame: &'f Frame,
    pub(crate) definitions: &'f [&'static Definition],
}

impl Functions for RowFunctions<'_> {
    fn call(
        &mut self,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, ExecError> {
        let Some(definition) = self.definitions.get(function) else {
            return Err(ExecError::NotSupported("a function without a definition".to_owned()));
        };
        let at = Values { connection: self.connection, frame: self.frame };
        let arguments: Vec<Datum<'static>> =
            arguments.iter().map(|value| value.clone().into_owned()).collect();
        (definition.evaluate)(at, &arguments).map_err(|cause| ExecError::Function(Box::new(cause)))
    }
}
