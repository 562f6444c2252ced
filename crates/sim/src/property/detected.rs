//! Damage is seen, or it changed nothing: never wrong rows.

use extentdb_engine::Database;
use extentdb_io::MemDisk;

use super::{rows, sound};
use crate::disk::FaultDisk;
use crate::model::Model;
use crate::world::World;

/// How damage came to light.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Witness {
    /// The check has findings, and whoever opens and reads gets an error or the right rows.
    Check,
    /// Nothing differs.
    Harmless,
    /// Rows differ, and neither check nor engine says so.
    Nobody,
}

/// Checks and reads a damaged copy of a closed database.
pub(crate) fn witness(world: &World, memory: MemDisk, model: &Model) -> Witness {
    let is_found = sound::complaint(&memory, &world.paths()).is_some();
    let disk = FaultDisk::over(memory);
    let read = Database::open(&world.paths(), world.options(&disk)).and_then(|db| rows::read(&db));
    match read.map(|found| rows::difference(model, &found, true)) {
        _ if is_found => Witness::Check,
        Ok(None) => Witness::Harmless,
        Ok(Some(_)) => Witness::Nobody,
        Err(_) => Witness::Check,
    }
}
