//! The catalog of faults: one file each, with its symptom in production and what the engine must
//! guarantee.
//!
//! ```text
//! survive   no acknowledged change is lost, no other one is seen:
//!           power cut, torn page, process death, read error, failed sync, disk full, full disk
//! detect    an error or a finding names the page; never wrong rows:
//!           bit rot, misdirected write, lost write, log damage, swapped files, bad page
//! ```

pub mod bad_page;
pub mod bit_rot;
pub mod disk_full;
pub mod failed_sync;
pub mod full_disk;
pub mod log_damage;
pub mod lost_write;
pub mod misdirected_write;
pub mod power_cut;
pub mod process_death;
pub mod read_error;
pub mod swapped_files;
pub mod torn_page;

use extentdb_base::env::Rng;

use crate::disk::FaultDisk;

/// What happens to a database while it is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// No fault; the database is closed at the end.
    None,
    /// No fault, but the database is not closed: a power cut between two statements.
    Abandoned,
    /// A power cut during a call.
    PowerCut,
    /// A power cut, or the death of the process, during a checkpoint.
    CutCheckpoint,
    /// A read fails.
    ReadError,
    /// A sync or a durable write fails.
    FailedSync,
    /// Files cannot grow any more.
    DiskFull,
}

impl Fault {
    /// A random fault.
    pub fn any(rng: &mut dyn Rng) -> Fault {
        match rng.below(12) {
            0..=2 => Fault::None,
            3 => Fault::Abandoned,
            4..=7 => Fault::PowerCut,
            8 => Fault::ReadError,
            9..=10 => Fault::FailedSync,
            _ => Fault::DiskFull,
        }
    }

    /// Arms the fault: it happens after a random number of calls.
    pub fn arm(self, disk: &FaultDisk, rng: &mut dyn Rng) {
        match self {
            Fault::None | Fault::Abandoned | Fault::CutCheckpoint => {}
            Fault::PowerCut => power_cut::arm(disk, rng),
            Fault::ReadError => read_error::arm(disk, rng),
            Fault::FailedSync => failed_sync::arm(disk, rng),
            Fault::DiskFull => disk_full::arm(disk, rng),
        }
    }
}

/// Where a file of a closed database was damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Path of the damaged file.
    pub path: std::path::PathBuf,
    /// Number of the damaged page in the file.
    pub page: u32,
    /// What was done to it.
    pub what: String,
}
