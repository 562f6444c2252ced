//! Peers store the long values that our engine stores. The value is in the memory of the server
//! before the clock runs: no protocol lies between, and each insert commits durably. Values are
//! kept as they are, without compression, and reading one copies it whole.

use std::time::Duration;

use crate::workload::LobWork;

/// A peer, and how long it took for all values.
#[derive(Clone, Debug)]
pub struct Lobs {
    /// Its name and version.
    pub name: String,
    /// The shortest of its runs of inserts.
    pub write: Duration,
    /// The shortest of its runs of reads.
    pub read: Duration,
}

impl Lobs {
    /// With the shorter times of both.
    #[must_use]
    pub(super) fn best(self, other: &Lobs) -> Lobs {
        Lobs {
            name: self.name,
            write: self.write.min(other.write),
            read: self.read.min(other.read),
        }
    }
}

/// Buffers for all values and what goes with them.
pub(super) fn buffer_bytes(work: LobWork) -> u64 {
    2 * work.all_bytes() + (256 << 20)
}
