//! Other programs on the same machine, in the same run. Each is skipped, with a line, where it is
//! not installed.
//!
//! ```text
//! setting    where peers are found and work     outcome    measured, or not installed
//! rows       the rows of a data file, in the form of a peer's loader
//! schema     its tables and indexes in a peer's SQL
//! postgres   pg_amcheck and pg_checksums        sqlite     integrity_check
//! mariadb    CHECK TABLE … EXTENDED             fio        reads of the device
//! account    the user that a server runs as
//! inserts    inserts by many clients
//! trees      tables with indexes: inserts, reads, updates; index builds
//! lobs       long values                         duckdb     queries in Python
//! ```
//!
//! Rules
//! - A peer gets the same rows in the same order and the same indexes, built after the rows: its
//!   pages are as full as it makes them.
//! - It gets its fastest settings: buffers for everything, texts compared byte by byte, no vacuum
//!   while it is measured.
//! - Its rate is that of its own files, which it writes as compactly as it likes; hence rows per
//!   second are shown with it.
//! - It works in its own folder, which is deleted at the end.

mod account;
pub mod duckdb;
mod fio;
pub mod inserts;
pub mod lobs;
mod mariadb;
mod outcome;
pub mod postgres;
pub mod rows;
mod schema;
mod setting;
mod sqlite;
pub mod trees;

use std::path::Path;

use anyhow::Result;

use crate::workload::{InsertWork, LobWork, TreeWork};
pub use fio::fio_read;
use inserts::Inserts;
use lobs::Lobs;
pub use outcome::Outcome;
use outcome::measured_or_reported;
use rows::Rows;
use setting::Workplace;
pub use setting::{Depth, PeerCheck, ProgramFolders, Setting};
use trees::{Builds, Trees};

/// Inserts and reads long values.
type MeasureLobs = fn(Workplace<'_>, LobWork) -> Result<Outcome<Lobs>>;

/// Another database program, by its measurements. Each works below the given folder; the shortest
/// of the given number of runs counts.
pub struct Peer {
    /// Name in tables and messages.
    pub name: &'static str,
    /// Loads the rows and measures its checks, the fullest first.
    pub measure: fn(&Setting<'_>, &Rows<'_>) -> Result<Outcome<Vec<PeerCheck>>>,
    inserts: fn(Workplace<'_>, &[InsertWork]) -> Result<Outcome<Inserts>>,
    trees: fn(Workplace<'_>, &[TreeWork]) -> Result<Outcome<Trees>>,
    builds: fn(Workplace<'_>, &Rows<'_>) -> Result<Outcome<Builds>>,
    lobs: Option<MeasureLobs>,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "PostgreSQL",
        measure: postgres::measure,
        inserts: postgres::inserts,
        trees: postgres::trees,
        builds: postgres::builds,
        lobs: Some(postgres::lobs),
    },
    Peer {
        name: "SQLite",
        measure: sqlite::measure,
        inserts: sqlite::inserts,
        trees: sqlite::trees,
        builds: sqlite::builds,
        lobs: Some(sqlite::lobs),
    },
    Peer {
        name: "MariaDB",
        measure: mariadb::measure,
        inserts: mariadb::inserts,
        trees: mariadb::trees,
        builds: mariadb::builds,
        lobs: None,
    },
];

/// Inserts by every peer that is installed; one that is not, or fails, is reported.
pub fn measure_inserts(folder: &Path, works: &[InsertWork], runs: u32) -> Vec<Inserts> {
    if works.is_empty() {
        return Vec::new();
    }
    of_each(folder, runs, |peer, workplace| (peer.inserts)(workplace, works))
}

/// The same for work on tables with indexes.
pub fn measure_trees(folder: &Path, works: &[TreeWork], runs: u32) -> Vec<Trees> {
    if works.is_empty() {
        return Vec::new();
    }
    of_each(folder, runs, |peer, workplace| (peer.trees)(workplace, works))
}

/// The same for building the nonclustered indexes of the tables.
pub fn measure_builds(folder: &Path, rows: &Rows<'_>, runs: u32) -> Vec<Builds> {
    of_each(folder, runs, |peer, workplace| (peer.builds)(workplace, rows))
}

/// The same for long values; MariaDB is left out.
pub fn measure_lobs(folder: &Path, work: LobWork, runs: u32) -> Vec<Lobs> {
    let folders = ProgramFolders::of_machine();
    let workplace = Workplace { folders: &folders, folder, runs };
    let measured = PEERS.iter().filter_map(|peer| Some((peer.name, (peer.lobs?)(workplace, work))));
    measured.filter_map(|(name, outcome)| measured_or_reported(name, outcome)).collect()
}

fn of_each<T>(
    folder: &Path,
    runs: u32,
    measure: impl Fn(&Peer, Workplace<'_>) -> Result<Outcome<T>>,
) -> Vec<T> {
    let folders = ProgramFolders::of_machine();
    let workplace = Workplace { folders: &folders, folder, runs };
    let measured = PEERS.iter().map(|peer| (peer.name, measure(peer, workplace)));
    measured.filter_map(|(name, outcome)| measured_or_reported(name, outcome)).collect()
}
