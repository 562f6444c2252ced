//! A power cut, and the device has written a page in part.
//!
//! Seen in the wild as: error 824, a torn page or a checksum that does not match, after a power
//! failure on any device whose sectors are smaller than a page: 512 bytes, or 4,096. Each sector of
//! a page that was not durable is old or new by itself; with 4,096 one half of the page. The engine
//! must survive, as after any power cut.

use std::path::Path;

use extentdb_base::env::Rng;
use extentdb_base::size::SECTOR_BYTES;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;

/// Sectors of devices: the old ones, and those of today.
const SECTORS: [usize; 2] = [SECTOR_BYTES, 4096];

/// The disk after the power cut. Armed as any power cut: [`power_cut::arm`](super::power_cut::arm).
pub fn crash(disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
    let sector = SECTORS[rng.below(SECTORS.len() as u64) as usize];
    disk.memory().crash_by(rng, &|_: &Path| sector)
}
