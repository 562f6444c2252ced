//! Kinds of runs: each has one fault beyond those of every run.
//!
//! With one fault per kind, a seed that fails tells which guarantee is broken. The faults
//! are described in `fault`.

use extentdb_base::env::Rng;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::fault::{Fault, power_cut, process_death, torn_page};

/// The additional fault of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunKind {
    /// No additional fault: devices write pages atomically.
    #[default]
    Plain,
    /// Power cuts tear pages between sectors.
    Torn,
    /// The process dies where other runs lose power.
    Killed,
    /// The disk is full, at openings and during statements.
    FullDisk,
    /// DDL in explicit transactions, mostly rolled back, and checkpoints.
    Ddl,
    /// Damage to the log of a crashed database.
    LogDamage,
    /// Files of another database, or of an earlier time.
    Swapped,
    /// One bad page, in closed databases and in crashed ones.
    BadPage,
    /// After each close, SGAM marks every mixed extent with a free page.
    MixedExtents,
    /// Tables with values off their rows, which are changed as a whole and by parts.
    Lobs,
}

impl RunKind {
    /// All of them.
    pub const ALL: [RunKind; 10] = [
        RunKind::Plain,
        RunKind::Torn,
        RunKind::Killed,
        RunKind::FullDisk,
        RunKind::Ddl,
        RunKind::LogDamage,
        RunKind::Swapped,
        RunKind::BadPage,
        RunKind::MixedExtents,
        RunKind::Lobs,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RunKind::Plain => "plain",
            RunKind::Torn => "torn",
            RunKind::Killed => "killed",
            RunKind::FullDisk => "full-disk",
            RunKind::Ddl => "ddl",
            RunKind::LogDamage => "log-damage",
            RunKind::Swapped => "swapped",
            RunKind::BadPage => "bad-page",
            RunKind::MixedExtents => "mixed-extents",
            RunKind::Lobs => "lobs",
        }
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<RunKind> {
        RunKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// False for kinds whose files must be able to grow.
    pub(crate) fn may_be_tight(self) -> bool {
        !matches!(self, RunKind::FullDisk | RunKind::Lobs)
    }

    /// A random fault for the time the database is open.
    pub(crate) fn any_fault(self, rng: &mut dyn Rng) -> Fault {
        match self {
            RunKind::Plain | RunKind::Lobs => Fault::any(rng),
            RunKind::Torn | RunKind::Killed => match rng.below(8) {
                0 => Fault::None,
                1 => Fault::Abandoned,
                2..=3 => Fault::PowerCut,
                _ => Fault::CutCheckpoint,
            },
            RunKind::LogDamage => match rng.below(4) {
                0 => Fault::PowerCut,
                _ => Fault::Abandoned,
            },
            RunKind::FullDisk | RunKind::Swapped | RunKind::BadPage => match rng.below(3) {
                0 => Fault::Abandoned,
                _ => Fault::None,
            },
            RunKind::Ddl | RunKind::MixedExtents => match rng.below(4) {
                0 => Fault::Abandoned,
                1 => Fault::PowerCut,
                _ => Fault::None,
            },
        }
    }

    /// The disk after a crash.
    pub(crate) fn crash(self, disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
        match self {
            RunKind::Torn => torn_page::crash(disk, rng),
            RunKind::Killed => process_death::crash(disk, rng),
            _ => power_cut::crash(disk, rng),
        }
    }
}
