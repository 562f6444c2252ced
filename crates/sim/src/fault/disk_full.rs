//! The disk has no room for a file that grows.
//!
//! Seen in the wild as: error 1105 or 9002 with autogrow on. The engine must survive: the statement
//! fails and changes nothing, a rollback still works, and so do statements that need no growth.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// Lets the disk fill up after a few more kilobytes.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.limit_growth(rng.below(8) * (64 << 10));
}
