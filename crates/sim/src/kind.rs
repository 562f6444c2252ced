//! Kinds of lives: what goes wrong in them beyond what goes wrong in every one.
//!
//! Each kind shows one fault, so that a seed that fails says which promise is broken. The faults
//! are described in `fault`.

use extentdb_base::env::Rng;
use extentdb_io::MemDisk;

use crate::disk::FaultDisk;
use crate::fault::{Fault, power_cut, process_death, torn_page};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Nothing more: devices write pages as a whole.
    #[default]
    Plain,
    /// Power cuts tear pages between sectors.
    Torn,
    /// The process dies instead of the power.
    Killed,
    /// The disk is full, at openings and during statements.
    FullDisk,
    /// DDL in explicit transactions, rolled back for the most part, beside checkpoints.
    Ddl,
    /// Damage to the log of a crashed database.
    LogDamage,
    /// Files of another database, or of another age.
    Swapped,
    /// One bad page, in closed databases and in crashed ones.
    BadPage,
    /// After each close no free page of a mixed extent is out of reach.
    MixedExtents,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 9] = [
        Kind::Plain,
        Kind::Torn,
        Kind::Killed,
        Kind::FullDisk,
        Kind::Ddl,
        Kind::LogDamage,
        Kind::Swapped,
        Kind::BadPage,
        Kind::MixedExtents,
    ];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Torn => "torn",
            Kind::Killed => "killed",
            Kind::FullDisk => "full-disk",
            Kind::Ddl => "ddl",
            Kind::LogDamage => "log-damage",
            Kind::Swapped => "swapped",
            Kind::BadPage => "bad-page",
            Kind::MixedExtents => "mixed-extents",
        }
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Where files must be able to grow again, none are of a fixed size.
    pub(crate) fn may_be_tight(self) -> bool {
        self != Kind::FullDisk
    }

    /// What happens while the database is open.
    pub(crate) fn any_fault(self, rng: &mut dyn Rng) -> Fault {
        match self {
            Kind::Plain => Fault::any(rng),
            Kind::Torn | Kind::Killed => match rng.below(8) {
                0 => Fault::None,
                1 => Fault::Abandoned,
                2..=3 => Fault::PowerCut,
                _ => Fault::CutCheckpoint,
            },
            Kind::LogDamage => match rng.below(4) {
                0 => Fault::PowerCut,
                _ => Fault::Abandoned,
            },
            Kind::FullDisk | Kind::Swapped | Kind::BadPage => match rng.below(3) {
                0 => Fault::Abandoned,
                _ => Fault::None,
            },
            Kind::Ddl | Kind::MixedExtents => match rng.below(4) {
                0 => Fault::Abandoned,
                1 => Fault::PowerCut,
                _ => Fault::None,
            },
        }
    }

    /// The disk that the end of all work leaves.
    pub(crate) fn crash(self, disk: &FaultDisk, rng: &mut dyn Rng) -> MemDisk {
        match self {
            Kind::Torn => torn_page::crash(disk, rng),
            Kind::Killed => process_death::crash(disk, rng),
            _ => power_cut::crash(disk, rng),
        }
    }
}
