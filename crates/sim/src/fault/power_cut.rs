//! A power cut between any two calls, or during one.
//!
//! Seen in the wild as: a tripped fuse, a killed virtual machine. Of what was not synced, pages and
//! log sectors survive, vanish or are torn, in any order. The engine must survive: whatever was
//! acknowledged is there again, nothing else, and the files are sound; also after repeated
//! power cuts during recovery.

use extentdb_base::env::Rng;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::environment::Environment;

/// Lets the power fail within the next calls.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    let most = [20, 200, 1000][rng.below(3) as usize];
    disk.memory().fail_after(rng.below(most));
}

/// The disk after the power cut.
pub fn crash(disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
    disk.memory().crash_by(rng, &Environment::unit_of)
}
