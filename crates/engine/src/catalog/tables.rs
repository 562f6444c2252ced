//! The tables that memory knows: by id, by name, and by the allocation units that they own or have
//! owned since they were opened.

use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::btree_set::BTreeSet;

use extentdb_base::sync::Arc;
use extentdb_base::{AllocUnitId, ObjectId};
use extentdb_space::Unit;

use crate::catalog::storage::Storage;
use crate::catalog::table::Table;

/// Schema and name of a table, without the case of ASCII letters.
type FoldedName = (String, String);

fn folded(schema: &str, name: &str) -> FoldedName {
    (schema.to_ascii_lowercase(), name.to_ascii_lowercase())
}

/// User tables, and `sysfiles1`.
#[derive(Default)]
pub(crate) struct Tables {
    by_id: BTreeMap<ObjectId, Arc<Table>>,
    /// Several tables share a name while a transaction that has dropped one is open.
    by_name: BTreeMap<FoldedName, BTreeSet<ObjectId>>,
    /// By every id that pages and log records name a unit by.
    by_unit: BTreeMap<AllocUnitId, ObjectId>,
}

impl Tables {
    /// Adds a table with all its units.
    pub(crate) fn add(&mut self, table: Arc<Table>) {
        self.add_units(table.id(), &table.storage());
        self.by_name.entry(folded(table.schema(), table.name())).or_default().insert(table.id());
        self.by_id.insert(table.id(), table);
    }

    /// Adds units to a table.
    pub(crate) fn add_units(&mut self, table: ObjectId, storage: &Storage) {
        for id in storage.units().flat_map(|unit| unit.aliases()) {
            // A unit's own id precedes one that is an alias.
            let is_own = storage.units().any(|unit| unit.id() == id);
            match self.by_unit.entry(id) {
                Entry::Vacant(vacant) => {
                    vacant.insert(table);
                }
                Entry::Occupied(mut other) if is_own => {
                    other.insert(table);
                }
                Entry::Occupied(_) => {}
            }
        }
    }

    /// Forgets a unit; its table stays.
    pub(crate) fn remove_unit(&mut self, unit: &Unit) {
        for id in unit.aliases() {
            self.by_unit.remove(&id);
        }
    }

    /// Forgets a table. Its units are forgotten one by one.
    pub(crate) fn remove(&mut self, id: ObjectId) {
        let Some(table) = self.by_id.remove(&id) else { return };
        if let Entry::Occupied(mut same) = self.by_name.entry(folded(table.schema(), table.name()))
        {
            same.get_mut().remove(&id);
            if same.get().is_empty() {
                same.remove();
            }
        }
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Arc<Table>> {
        self.by_id.get(&id)
    }

    /// The tables of this name, by id.
    pub(crate) fn named(&self, schema: &str, name: &str) -> impl Iterator<Item = &Arc<Table>> {
        let ids = self.by_name.get(&folded(schema, name));
        ids.into_iter().flatten().filter_map(|id| self.by_id.get(id))
    }

    /// The table that owns a unit, or has owned it in a transaction that is still open.
    pub(crate) fn owner(&self, unit: AllocUnitId) -> Option<&Arc<Table>> {
        self.by_id.get(self.by_unit.get(&unit)?)
    }

    /// All tables, by id.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_id.values()
    }
}
