//! A sync or a durable write fails.
//!
//! Seen in the wild as: a device that drops what it had in its cache and reports it once, to one
//! caller; the next sync succeeds and hides it. We promise to survive by not going on: the database
//! is offline, nothing is acknowledged any more, and the next opening finds everything that had
//! been acknowledged before.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// One of the next syncs.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.fail_sync_after(rng.below(40));
}
