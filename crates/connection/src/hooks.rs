//! What statements ask of the process that they run in.

use extentdb_base::SessionId;

/// How a server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownMode {
    /// Statements end first.
    Wait,
    /// At once: WITH NOWAIT.
    NoWait,
}

/// The process around the sessions.
pub trait Hooks: Send + Sync {
    /// SHUTDOWN was said.
    fn shutdown(&self, mode: ShutdownMode);
    /// A session was killed: its connection is to be closed, also while it is idle.
    fn killed(&self, session: SessionId);
    /// Logins have changed: they are to be written down.
    ///
    /// # Errors
    /// What was written is what was there before.
    fn store_logins(&self, logins: &str) -> Result<(), String>;
    /// Fills a buffer with random bytes that nobody can guess.
    fn random(&self, bytes: &mut [u8]);
}

/// A process without a server: nothing is written down, and random bytes are not random.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn shutdown(&self, _: ShutdownMode) {}

    fn killed(&self, _: SessionId) {}

    fn store_logins(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn random(&self, bytes: &mut [u8]) {
        bytes.fill(0x5A);
    }
}
