//! The request at hand of a connection, as its tasks see it.

use extentdb_base::sync::{Arc, Mutex};
use extentdb_session::Interrupt;

/// What the two tasks of a connection know of the request at hand.
#[derive(Default)]
pub(crate) struct Running {
    /// Messages that were handed on and are not answered.
    pub(crate) messages: usize,
    /// Ends the request that runs; `None` before it has begun.
    pub(crate) interrupt: Option<Interrupt>,
    pub(crate) is_attention: bool,
    pub(crate) is_ended: bool,
}

impl Running {
    pub(crate) fn interrupt(&self) {
        if let Some(interrupt) = &self.interrupt {
            interrupt.interrupt();
        }
    }
}

pub(crate) type SharedRunning = Arc<Mutex<Running>>;
