//! A sync or a durable write fails.
//!
//! Seen in the wild as: a device that drops what it had in its cache and reports it once, to one
//! caller; the next sync succeeds and hides it. The engine must survive by stopping: the database
//! goes offline, acknowledges nothing more, and the next opening finds everything that was
//! acknowledged before.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// Lets one of the next syncs fail.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.fail_sync_after(rng.below(40));
}
