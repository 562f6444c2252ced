//! A read fails once.
//!
//! Seen in the wild as: error 823 after a lost path to the storage, and all is well after it. We
//! promise to survive: the statement fails and leaves nothing behind, or the database goes offline
//! and the next opening finds everything.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// One of the next reads.
pub fn arm(disk: &FaultDisk, rng: &mut dyn Rng) {
    disk.fail_read_after(rng.below(60));
}
