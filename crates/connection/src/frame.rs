//! A running batch, dynamic text or procedure: its variables and the errors that it has caught.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;
use extentdb_types::Datum;

use crate::connection::Connection;
use crate::cursor::CursorNames;
use crate::message::Message;
use crate::output::Scope;
use crate::trigger::TriggerRows;
pub use crate::variable::{Variable, variable_named};

/// What runs.
#[derive(Debug)]
pub struct Frame {
    /// What was declared.
    pub variables: Arc<[Variable]>,
    /// Values in the order of their declarations.
    pub values: Vec<Datum<'static>>,
    /// What its statements end as.
    pub scope: Scope,
    /// By CATCH block.
    pub caught: BTreeMap<usize, Arc<Message>>,
    /// The CATCH block of the statement at hand.
    pub catch: Option<usize>,
    /// Does the statement at hand stand in a TRY block?
    pub is_in_try: bool,
    /// What the caller's CATCH block has caught.
    pub inherited: Option<Arc<Message>>,
    /// Would a caller catch an error?
    pub has_outer_handler: bool,
    /// The procedure that runs; empty in batches and texts.
    pub procedure: Box<str>,
    /// What a trigger sees.
    pub trigger: Option<Arc<TriggerRows>>,
    /// Local cursors, and variables that are cursors.
    pub cursors: CursorNames,
    /// What RETURN says.
    pub return_status: i32,
}

impl Frame {
    /// A frame whose variables are NULL.
    pub fn new(scope: Scope, variables: Arc<[Variable]>) -> Frame {
        Frame {
            values: vec![Datum::Null; variables.len()],
            variables,
            scope,
            caught: BTreeMap::new(),
            catch: None,
            is_in_try: false,
            inherited: None,
            has_outer_handler: false,
            procedure: Box::default(),
            trigger: None,
            cursors: CursorNames::new(),
            return_status: 0,
        }
    }

    /// Would an error of the statement at hand be caught?
    pub fn is_handled(&self) -> bool {
        self.is_in_try || self.has_outer_handler
    }

    /// The error that ERROR_NUMBER() and the like tell of.
    pub fn error_at_hand(&self) -> Option<&Arc<Message>> {
        let own = self.catch.and_then(|catch| self.caught.get(&catch));
        own.or(self.inherited.as_ref())
    }
}

/// Where expressions find values.
#[derive(Clone, Copy)]
pub struct Values<'v> {
    /// What functions of the session ask.
    pub connection: &'v Connection,
    /// What variables are in.
    pub frame: &'v Frame,
}
