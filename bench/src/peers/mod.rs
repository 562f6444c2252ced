//! Other programs on the same machine, in the same run. Each is left out, and said so, where it is
//! not installed.
//!
//! ```text
//! rows      the rows of a data file, as the loader of a peer takes them     schema    its tables and indexes in a peer's SQL
//! postgres  pg_amcheck and pg_checksums      sqlite  integrity_check        mariadb   CHECK TABLE … EXTENDED
//! account   the user that a server runs as   fio     reads of the device    inserts   rows that come, by many clients
//! trees     tables with indexes: rows come, are found, change; indexes are built
//! ```
//!
//! Rules
//! - A peer gets the same rows in the same order and the same indexes, built after the rows: its
//!   pages are as full as it makes them.
//! - It gets what makes it fast: buffers for everything, texts compared byte by byte, no vacuum
//!   while it is measured.
//! - Its rate is that of its own files, which it writes as compactly as it likes; hence rows per
//!   second stand beside it.
//! - It works in a folder of its own, which is deleted when it is done or has failed.

mod account;
mod fio;
pub mod inserts;
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

use crate::workload::{InsertWork, TreeWork};
pub use fio::fio_read;
use inserts::Inserts;
pub use outcome::Outcome;
use outcome::told;
use rows::Rows;
pub use setting::{Depth, PeerCheck, Places, Setting};
use trees::{Builds, Trees};

/// A database program of somebody else, by what it can be asked to do. Folders are where it makes
/// its own; the shortest of the given number of runs counts.
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Loads the rows and measures its checks, the fullest first.
    pub measure: fn(&Setting<'_>, &Rows<'_>) -> Result<Outcome<Vec<PeerCheck>>>,
    inserts: fn(&Places, &Path, &[InsertWork], u32) -> Result<Outcome<Inserts>>,
    trees: fn(&Places, &Path, &[TreeWork], u32) -> Result<Outcome<Trees>>,
    builds: fn(&Places, &Path, &Rows<'_>, u32) -> Result<Outcome<Builds>>,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "PostgreSQL",
        measure: postgres::measure,
        inserts: postgres::inserts,
        trees: postgres::trees,
        builds: postgres::builds,
    },
    Peer {
        name: "SQLite",
        measure: sqlite::measure,
        inserts: sqlite::inserts,
        trees: sqlite::trees,
        builds: sqlite::builds,
    },
    Peer {
        name: "MariaDB",
        measure: mariadb::measure,
        inserts: mariadb::inserts,
        trees: mariadb::trees,
        builds: mariadb::builds,
    },
];

/// Inserts by every peer that is installed; one that is not, or fails, is reported.
pub fn measure_inserts(folder: &Path, works: &[InsertWork], runs: u32) -> Vec<Inserts> {
    if works.is_empty() {
        return Vec::new();
    }
    of_each(|peer, places| (peer.inserts)(places, folder, works, runs))
}

/// The same for work on tables with indexes.
pub fn measure_trees(folder: &Path, works: &[TreeWork], runs: u32) -> Vec<Trees> {
    if works.is_empty() {
        return Vec::new();
    }
    of_each(|peer, places| (peer.trees)(places, folder, works, runs))
}

/// The same for building the nonclustered indexes of the tables.
pub fn measure_builds(folder: &Path, rows: &Rows<'_>, runs: u32) -> Vec<Builds> {
    of_each(|peer, places| (peer.builds)(places, folder, rows, runs))
}

fn of_each<T>(measure: impl Fn(&Peer, &Places) -> Result<Outcome<T>>) -> Vec<T> {
    let places = Places::of_machine();
    PEERS.iter().filter_map(|peer| told(peer.name, measure(peer, &places))).collect()
}
