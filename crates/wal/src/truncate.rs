//! Truncation: what is no longer needed may be overwritten.
//!
//! Nothing is written: VLFs are freed in memory, those whose sequence number is below that of the
//! minimum LSN. Before it calls, the caller makes durable where a restart begins: an END_CKPT
//! record whose minimum is this LSN or a later one, then the boot page, which names the BEGIN_CKPT
//! of that checkpoint. An earlier LSN than the END_CKPT's keeps more of the log: the full recovery
//! model does, for backups.
//!
//! Invariants
//! - The minimum never decreases, and never exceeds the durable end of the log.
//! - The VLF that holds the minimum, and all after it, are active; so is the newest one, whatever
//!   the minimum.

use extentdb_base::Lsn;
use extentdb_base::sync::lock;

use crate::error::Error;
use crate::log_manager::Log;

impl Log {
    /// Everything before `minimum` is no longer needed: VLFs that hold nothing else may be used
    /// again. An LSN below the minimum so far changes nothing.
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
