//! The power goes between any two calls, or during one.
//!
//! Seen in the wild as: a tripped fuse, a killed virtual machine. Of what was not synced, pages and
//! log sectors survive, vanish or are torn, in any order. We promise to survive: whatever was
//! acknowledged is there again, nothing else, and the files are sound; also when it goes again and
//! again while the database recovers.

use extentdb_base::env::Rng;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::world::World;

/// Within the next calls.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    let most = [20, 200, 1000][rng.below(3) as usize];
    disk.memory().fail_after(rng.below(most));
}

/// The disk afterwards.
pub fn crash(disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
    disk.memory().crash_by(rng, &World::unit_of)
}
