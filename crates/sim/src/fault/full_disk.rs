//! The disk has no room for anything that is written for the first time.
//!
//! Seen in the wild as: `ENOSPC` on the volume of the files, for minutes or days, over restarts of
//! the server. Files cannot grow, new ones cannot be written, and a write into a hole of a file
//! fails, too, although the file is long enough. The engine must survive: a statement that needs
//! room fails with the error of a full filegroup or a full log and changes nothing, everything else
//! continues, checkpoints and closing included; the database opens while the disk is full; when
//! there is room again, everything works.

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// There is little room left, or none.
pub fn fill(disk: &FaultDisk, rng: &mut dyn Rng) {
    let memory = disk.memory();
    let left = [0, 4 << 10, rng.below(64) * (4 << 10)][rng.below(3) as usize];
    memory.set_capacity(Some(memory.used_bytes() + left));
}

/// There is room again.
pub fn clear(disk: &FaultDisk) {
    disk.memory().set_capacity(None);
}
