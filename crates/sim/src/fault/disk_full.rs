//! The disk has no room for a file that grows.
//!
//! Seen in the wild as: error 1105 or 9002 with autogrow on. We promise to survive: the statement
//! fails and leaves nothing behind, a rollback still works, and what has room already goes on.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// After little more.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.limit_growth(rng.below(8) * (64 << 10));
}
