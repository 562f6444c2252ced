//! The process dies, and the machine keeps running.
//!
//! Seen in the wild as: `kill -9`, the out-of-memory killer, a crash of the program that the engine
//! is linked into. What calls that returned have written is in the page cache and survives; a
//! deferred write in flight is torn between two pages of the cache, so that half a page of the
//! database is new and half is old. The engine must survive, as after a power cut: whatever was
//! acknowledged is there again, nothing else, and the files are sound. A torn write in
//! flight must not lose a row either.

use extentdb_base::env::Rng;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;

/// The disk after the death of the process. Armed as a power cut is:
/// [`power_cut::arm`](super::power_cut::arm).
pub fn crash(disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
    disk.memory().kill(rng)
}
