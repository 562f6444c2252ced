//! Damage is detected, or it changed nothing: never wrong rows.

use extentdb_engine::Database;
use extentdb_io::MemDisk;

use super::{rows, sound};
use crate::disk::FaultDisk;
use crate::environment::Environment;
use crate::model::Model;

/// The effect of damage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Witness {
    /// The check reports findings, or reading fails.
    Check,
    /// All rows are right.
    Harmless,
    /// Rows differ, and neither check nor engine reports it.
    Nobody,
}

/// Checks and reads a damaged copy of a closed database.
pub(crate) fn witness(environment: &Environment, memory: MemDisk, model: &Model) -> Witness {
    let is_found = sound::complaint(&memory, &environment.paths()).is_some();
    let disk = FaultDisk::over(memory);
    let read = Database::open(&environment.paths(), environment.options(&disk))
        .and_then(|db| rows::read(&db));
    match read.map(|found| rows::difference(model, &found, rows::Addresses::Compared)) {
        _ if is_found => Witness::Check,
        Ok(None) => Witness::Harmless,
        Ok(Some(_)) => Witness::Nobody,
        Err(_) => Witness::Check,
    }
}
