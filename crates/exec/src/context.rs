//! What operators work with: the session of the engine, if there is one, values from outside,
//! functions of the session.

use extentdb_base::cancel::{Cancellation, Cancelled};
use extentdb_base::sync::Arc;
use extentdb_bind::logical::ValueId;
use extentdb_engine::Session;
use extentdb_types::Datum;
use rustc_hash::FxHashMap;

use crate::batch::Batch;
use crate::error::Error;
use crate::memory::Memory;
use crate::notice::Notices;
use crate::workers::Workers;

/// What operators work with.
pub struct Context<'c> {
    engine: Engine<'c>,
    /// Values from outside: variables, rows of outer loops.
    pub outer: OuterValues,
    /// Functions that the session evaluates.
    pub functions: &'c mut dyn Functions,
    /// What operators may keep in memory.
    pub memory: Memory,
    /// Threads beside the one of the session.
    pub workers: Workers,
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

/// Where rows of stored tables come from.
enum Engine<'c> {
    /// The engine's session: transaction, locks, cancellation.
    Session(&'c mut Session),
    /// Nowhere: all rows are those of providers and functions.
    Absent(&'c Cancellation),
}

impl<'c> Context<'c> {
    /// A context without values from outside.
    pub fn new(session: &'c mut Session, functions: &'c mut dyn Functions) -> Context<'c> {
        Context::over(Engine::Session(session), functions)
    }

    /// The same for plans that read no stored table.
    pub fn without_engine(
        cancellation: &'c Cancellation,
        functions: &'c mut dyn Functions,
    ) -> Context<'c> {
        Context::over(Engine::Absent(cancellation), functions)
    }

    /// The engine's session.
    ///
    /// # Errors
    /// There is none.
    pub fn session(&mut self) -> Result<&mut Session, Error> {
        match &mut self.engine {
            Engine::Session(session) => Ok(session),
            Engine::Absent(_) => {
                Err(Error::NotSupported("a stored table without its engine".to_owned()))
            }
        }
    }

    /// The value of a function that the session evaluates.
    ///
    /// # Errors
    /// Any; it ends the execution.
    pub fn call(
        &mut self,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error> {
        let session = match &mut self.engine {
            Engine::Session(session) => Some(&mut **session),
            Engine::Absent(_) => None,
        };
        self.functions.call(session, function, arguments)
    }

    /// The rows of a function that the session runs.
    ///
    /// # Errors
    /// Any; it ends the execution.
    pub fn call_rows(
        &mut self,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        let session = match &mut self.engine {
            Engine::Session(session) => Some(&mut **session),
            Engine::Absent(_) => None,
        };
        self.functions.call_rows(session, function, arguments)
    }

    /// # Errors
    /// The statement was cancelled.
    pub(crate) fn verify_not_cancelled(&self) -> Result<(), Cancelled> {
        match &self.engine {
            Engine::Session(session) => session.cancellation().verify(),
            Engine::Absent(cancellation) => cancellation.verify(),
        }
    }

    fn over(engine: Engine<'c>, functions: &'c mut dyn Functions) -> Context<'c> {
        Context {
            engine,
            outer: OuterValues::default(),
            functions,
            memory: Memory::unlimited(),
            workers: Workers::default(),
            recent: FxHashMap::default(),
            identity: LastIdentity::default(),
        }
    }
}

/// Functions that need more than their arguments.
pub trait Functions {
    /// The value of a function for one row. The session is that of the execution, if it has one.
    ///
    /// # Errors
    /// Any; it ends the execution.
    fn call(
        &mut self,
        session: Option<&mut Session>,
        function: usize,
        arguments: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error>;

    /// The rows of a function that returns a table.
    ///
    /// # Errors
    /// Any; it ends the execution.
    fn call_rows(
        &mut self,
        _session: Option<&mut Session>,
        _function: usize,
        _arguments: &[Datum<'_>],
    ) -> Result<Vec<Vec<Datum<'static>>>, Error> {
        Err(Error::NotSupported("a function that returns a table".to_owned()))
    }
}

/// None: of executions without a session.
#[derive(Debug)]
pub struct NoFunctions;

impl Functions for NoFunctions {
    fn call(
        &mut self,
        _: Option<&mut Session>,
        _: usize,
        _: &[Datum<'_>],
    ) -> Result<Datum<'static>, Error> {
        Err(Error::NotSupported("a function of the session without one".to_owned()))
    }
}

/// Values from outside, by their numbers, in stored form.
#[derive(Debug, Default, Clone)]
pub struct OuterValues {
    values: FxHashMap<ValueId, Option<Box<[u8]>>>,
    /// What the statement tells of, by whichever thread.
    pub notices: Arc<Notices>,
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
