//! The allocation units of a database, by id.

use std::collections::BTreeMap;

use extentdb_base::AllocUnitId;
use extentdb_base::sync::{Arc, RwLock, read, write};
use extentdb_space::Unit;

/// The allocation units of a database.
#[derive(Default)]
pub(crate) struct Units(RwLock<BTreeMap<AllocUnitId, Arc<Unit>>>);

impl Units {
    pub(crate) fn get(&self, id: AllocUnitId) -> Option<Arc<Unit>> {
        read(&self.0).get(&id).cloned()
    }

    /// The unit whose pages have these ids in their headers.
    pub(crate) fn all(&self) -> Vec<Arc<Unit>> {
        read(&self.0).values().cloned().collect()
    }

    pub(crate) fn add(&self, unit: Arc<Unit>) {
        write(&self.0).insert(unit.id(), unit);
    }

    pub(crate) fn remove(&self, id: AllocUnitId) -> Option<Arc<Unit>> {
        write(&self.0).remove(&id)
    }
}
