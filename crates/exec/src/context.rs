//! What operators work with: the session, values from outside, functions of the session.

use extentdb_bind::logical::ValueId;
use extentdb_engine::Session;
use extentdb_types::Datum;
use rustc_hash::FxHashMap;

use crate::batch::Batch;
use crate::error::Error;

/// What operators work with.
pub struct Context<'c> {
    /// The engine's session: transaction, locks, cancellation.
    pub session: &'c mut Session,
    /// Values from outside: variables, rows of outer loops.
    pub outer: OuterValues,
    /// Functions that the session evaluates.
    pub functions: &'c mut dyn Functions,
    /// The rows that were added last, of each recursion that runs.
    pub recent: FxHashMap<usize, Vec<Batch>>,
    /// What the rows that were inserted last have done to `@@IDENTITY`.
    pub identity: LastIdentity,
}

/// The identity value of the row that a statement has inserted last.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum LastIdentity {
    /// No row was inserted.
    #[default]
    Unchanged,
    /// Into a table without an identity column.
    Missing,
    /// This value.
    Value(Datum<'static>),
}

impl<'c> Context<'c> {
    /// A context without values from outside.
    pub fn new(session: &'c mut Session, functions: &'c mut dyn Functions) -> Context<'c> {
        Context {
            session,
            outer: OuterValues::default(),
            functions,
            recent: FxHashMap::default(),
            identity: LastIdentity::default(),
        }
    }
}

/// Functions that need more than their arguments.
pub trait Functions {
    /// The value of a function for one row. The session is that of the execution.
    ///
    /// # Errors
    /// Any; it ends the execution.
    fn call(
        &mut self,
        session: &mut Session,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error>;
}

/// Values from outside, by their numbers, in stored form.
#[derive(Debug, Default, Clone)]
pub struct OuterValues {
    values: FxHashMap<ValueId, Option<Box<[u8]>>>,
}

impl OuterValues {
    /// Sets a value; `None` is NULL.
    pub fn set(&mut self, id: ValueId, value: Option<&[u8]>) {
        self.values.insert(id, value.map(Box::from));
    }

    /// A value; NULL when it was not set.
    pub fn get(&self, id: ValueId) -> Option<&[u8]> {
        self.values.get(&id)?.as_deref()
    }
}
