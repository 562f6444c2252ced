//! What a client is told: errors, warnings and what was printed.

use crate::cause::Cause;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Number; 0 for PRINT.
    pub number: i32,
    /// Severity: 0 to 10 informs, 11 and above is an error.
    pub severity: u8,
    /// State.
    pub state: u8,
    /// Procedure that the statement stands in; empty in a batch.
    pub procedure: String,
    /// Line of the statement in its batch, from 1; 0 where there is none.
    pub line: u32,
    /// Text.
    pub text: String,
}

impl Message {
    /// The message of a cause.
    #[must_use]
    pub fn of(cause: &Cause, line: u32) -> Message {
        Message {
            number: cause.number(),
            severity: cause.severity(),
            state: cause.state(),
            procedure: String::new(),
            line,
            text: cause.to_string(),
        }
    }

    /// An informational message.
    #[must_use]
    pub fn info(number: i32, state: u8, line: u32, text: impl Into<String>) -> Message {
        let text = text.into();
        Message {
            number,
            severity: 0,
            state,
            procedure: String::new(),
            line,
            text,
        }
    }

    /// Does it tell of a failure?
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity > MAX_INFO_SEVERITY
    }
}

/// Severities up to this one only inform.
pub const MAX_INFO_SEVERITY: u8 = 10;
/// From this severity on the connection is closed.
pub const FATAL_SEVERITY: u8 = 20;
