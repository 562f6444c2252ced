//! Why a statement does not end as it should.

use crate::cause::{Cause, Effect};
use crate::message::Message;
use crate::output::Gone;

/// An error that was not told yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Raised {
    /// What is told.
    pub message: Message,
    /// What it ends.
    pub effect: Effect,
    /// XACT_ABORT does not look at RAISERROR.
    pub is_raiserror: bool,
}

/// Why a statement does not end as it should.
#[derive(Debug, Clone, PartialEq)]
pub enum Stop {
    /// An error.
    Raised(Box<Raised>),
    /// All batches end; the client was told why.
    Batch,
    /// The client does not want it any more.
    Interrupted,
    /// Nobody reads.
    Gone,
    /// The connection is to be closed.
    Close,
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Stop {
        Stop::Gone
    }
}

impl From<Cause> for Stop {
    fn from(cause: Cause) -> Stop {
        located(cause, 0)
    }
}

/// A cause at a line.
pub fn located(cause: Cause, line: u32) -> Stop {
    if matches!(cause, Cause::Cancelled) {
        return Stop::Interrupted;
    }
    let message = Message::of(&cause, line);
    Stop::Raised(Box::new(Raised { message, effect: cause.effect(), is_raiserror: false }))
}
