//! Truncation: what is no longer needed may be overwritten.
//!
//! Nothing is written: a VLF is free when its sequence number is below that of the minimum LSN, and
//! the caller makes the minimum durable (in the END_CKPT record that the boot page points to)
//! before it calls.
//!
//! Invariants
//! - The minimum never decreases, and never exceeds the durable end of the log.
//! - The VLF that holds the minimum, and all after it, are active.

use extentdb_base::Lsn;
use extentdb_base::sync::lock;

use crate::error::Error;
use crate::log_manager::Log;

impl Log {
    /// Everything before `minimum` is no longer needed: VLFs that hold nothing else may be used
    /// again.
    ///
    /// # Errors
    /// [`Error::NoRecord`] when `minimum` is not durable: a restart could not begin there.
    pub fn truncate(&self, minimum: Lsn) -> Result<(), Error> {
        let mut state = lock(&self.state);
        if minimum > state.durable {
            return Err(Error::NoRecord { lsn: minimum });
        }
        if minimum > state.minimum {
            state.minimum = minimum;
            state.vlfs.free_below(minimum.vlf);
        }
        Ok(())
    }

    /// LSN of the oldest record that is needed.
    pub fn minimum(&self) -> Lsn {
        lock(&self.state).minimum
    }
}
