//! A read fails once.
//!
//! Seen in the wild as: error 823 after a lost path to the storage, and no error after it. The
//! engine must survive: the statement fails and changes nothing, or the database goes offline
//! and the next opening finds everything.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// Lets one of the next reads fail.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.fail_read_after(rng.below(60));
}
