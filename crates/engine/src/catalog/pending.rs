//! Deferred catalog changes: what the cached catalog still has to do when the transaction that
//! changed the system tables ends.
//!
//! ```text
//! new_tables      tables that open transactions create: visible to others when they commit
//! created_units   units that open transactions create: kept by a commit, removed by a rollback
//! dropped_units   heaps and trees that they drop or replace: removed by a commit, kept by a
//!                 rollback
//! ```

use extentdb_base::sync::atomic::Ordering;
use extentdb_base::sync::{Arc, read, write};
use extentdb_base::{AllocUnitId, ObjectId};
use extentdb_rowset::Tree;

use crate::catalog::cache::DroppedObject;
use crate::catalog::{CatalogCache, Storage, Table};
use crate::error::Error;

/// A change of the catalog by an open transaction: kept or dropped for good by its commit, restored
/// by its rollback.
pub(crate) enum DeferredChange {
    /// A table was created.
    Created(Arc<Table>),
    /// A schema was created.
    Schema(i32),
    /// One was dropped.
    SchemaDropped { id: i32, name: String },
    /// A sequence was created, altered or dropped.
    Sequence(ObjectId),
    /// A table has another name.
    Renamed { old: Arc<Table>, new: Arc<Table> },
    /// A table was dropped.
    Dropped(Arc<Table>),
    /// The rows of a table were moved, or its indexes changed.
    Stored { table: Arc<Table>, old: Arc<Storage>, new: Arc<Storage> },
    /// Statistics of a table were created, with this id.
    StatisticsCreated { table: Arc<Table>, id: i32 },
    /// They were dropped.
    StatisticsDropped { table: Arc<Table>, id: i32 },
}

impl DeferredChange {
    /// The table that is another one now.
    pub(crate) fn table(&self) -> Option<&Arc<Table>> {
        match self {
            DeferredChange::Created(table)
            | DeferredChange::Dropped(table)
            | DeferredChange::Stored { table, .. } => Some(table),
            DeferredChange::Renamed { new, .. } => Some(new),
            DeferredChange::Schema(_)
            | DeferredChange::SchemaDropped { .. }
            | DeferredChange::Sequence(_)
            | DeferredChange::StatisticsCreated { .. }
            | DeferredChange::StatisticsDropped { .. } => None,
        }
    }

    pub(crate) fn created(&self) -> Option<&Arc<Table>> {
        if let DeferredChange::Created(table) = self { Some(table) } else { None }
    }

    pub(crate) fn dropped(&self) -> Option<&Arc<Table>> {
        if let DeferredChange::Dropped(table) = self { Some(table) } else { None }
    }
}

/// What a table has, by unit.
fn objects_of(storage: &Storage) -> impl Iterator<Item = (AllocUnitId, DroppedObject)> {
    let heap =
        storage.base.heap().map(|heap| (heap.unit().id(), DroppedObject::Heap(heap.clone())));
    let trees = storage.trees().map(|tree| (tree.unit().id(), DroppedObject::Tree(tree.clone())));
    let lobs = storage.lob_units().map(|lob| (lob.unit().id(), DroppedObject::Lob(lob.clone())));
    heap.into_iter().chain(trees).chain(lobs)
}

impl CatalogCache {
    /// Refuses a table that was dropped.
    pub(crate) fn verify_exists(&self, table: &Table) -> Result<(), Error> {
        // Under another name it is another one.
        let is_it = |own: &Arc<Table>| std::ptr::eq(&**own, table);
        let exists = read(&self.tables).get(table.id()).is_some_and(is_it);
        if exists { Ok(()) } else { Err(Error::Gone { id: table.id() }) }
    }

    /// Does the unit hold rows that `sysrowsets` counts?
    pub(crate) fn counts_rows(&self, unit: AllocUnitId) -> bool {
        self.tree_of(unit).is_some() || self.table_of(unit).is_some()
    }

    /// The transaction that did this has committed.
    pub(crate) fn commit(&self, change: DeferredChange) {
        match change {
            DeferredChange::Schema(_)
            | DeferredChange::SchemaDropped { .. }
            | DeferredChange::Sequence(_)
            | DeferredChange::Renamed { .. }
            | DeferredChange::StatisticsCreated { .. } => {}
            DeferredChange::StatisticsDropped { table, id } => table.statistics().forget(id),
            DeferredChange::Created(table) => {
                write(&self.new_tables).remove(&table.id());
                self.keep_units(&table.storage());
            }
            DeferredChange::Dropped(table) => self.forget(&table),
            // Only said that its rows were about to change.
            DeferredChange::Stored { old, new, .. } if Arc::ptr_eq(&old, &new) => {}
            DeferredChange::Stored { old, new, .. } => {
                self.keep_units(&new);
                self.forget_units(&old, &new);
            }
        }
    }

    /// The units that a table had before are to be freed.
    pub(crate) fn drop_replaced(&self, old: &Storage, new: &Storage) {
        let mut dropped_units = write(&self.dropped_units);
        for (unit, left) in objects_of(old) {
            if new.units().all(|other| other.id() != unit) {
                dropped_units.insert(unit, left);
            }
        }
    }

    /// This index is being dropped.
    pub(crate) fn drop_tree(&self, tree: &Arc<Tree>) {
        write(&self.dropped_units).insert(tree.unit().id(), DroppedObject::Tree(tree.clone()));
    }

    /// This unit of a table whose others are to be freed is not.
    pub(crate) fn keep_unit(&self, unit: AllocUnitId) {
        write(&self.dropped_units).remove(&unit);
    }

    /// All units of a table are to be freed.
    pub(crate) fn drop_all(&self, storage: &Storage) {
        write(&self.dropped_units).extend(objects_of(storage));
    }

    /// These units stay.
    fn keep_units(&self, storage: &Storage) {
        let mut created_units = write(&self.created_units);
        let mut dropped_units = write(&self.dropped_units);
        storage.units().for_each(|unit| {
            created_units.remove(&unit.id());
            dropped_units.remove(&unit.id());
        });
    }

    /// Forgets the units that one storage of a table has and the other has not.
    fn forget_units(&self, gone: &Storage, kept: &Storage) {
        for unit in gone.units().filter(|unit| kept.units().all(|other| other.id() != unit.id())) {
            self.forget_unit(unit.id());
        }
    }

    fn forget_unit(&self, unit: AllocUnitId) {
        write(&self.dropped_units).remove(&unit);
        write(&self.created_units).remove(&unit);
        if let Some(unit) = self.units.remove(unit) {
            write(&self.tables).remove_unit(&unit);
        }
    }

    /// The transaction that did this was rolled back.
    pub(crate) fn roll_back(&self, change: DeferredChange) {
        match change {
            DeferredChange::Created(table) => self.forget(&table),
            DeferredChange::Schema(id) => {
                write(&self.schemas).remove(&id);
            }
            DeferredChange::Sequence(id) => self.sequences.forget(id),
            DeferredChange::SchemaDropped { id, name } => {
                write(&self.schemas).insert(id, name);
            }
            DeferredChange::Renamed { old, new } => {
                old.set_storage(new.storage());
                let mut tables = write(&self.tables);
                tables.remove(new.id());
                tables.add(old);
            }
            DeferredChange::StatisticsCreated { table, id } => table.statistics().forget(id),
            DeferredChange::StatisticsDropped { .. } => {}
            DeferredChange::Dropped(table) => {
                let mut dropped_units = write(&self.dropped_units);
                table.storage().units().for_each(|unit| {
                    dropped_units.remove(&unit.id());
                });
            }
            DeferredChange::Stored { table, old, new } => {
                let mut dropped_units = write(&self.dropped_units);
                old.units().for_each(|unit| {
                    dropped_units.remove(&unit.id());
                });
                drop(dropped_units);
                self.forget_units(&new, &old);
                table.set_storage(old);
            }
        }
    }

    fn forget(&self, table: &Table) {
        write(&self.new_tables).remove(&table.id());
        write(&self.tables).remove(table.id());
        table.storage().units().for_each(|unit| self.forget_unit(unit.id()));
    }

    /// Reads everything again: an undo of a restart has changed it.
    pub(crate) fn reload(
        &mut self,
        pool: &extentdb_buffer::Pool,
        space: &Arc<extentdb_space::Space>,
        options: &crate::database::options::Options,
    ) -> Result<(), Error> {
        let fresh = CatalogCache::load(pool, space, options)?;
        let last =
            self.last_rowset.load(Ordering::Relaxed).max(fresh.last_rowset.load(Ordering::Relaxed));
        fresh.last_rowset.store(last, Ordering::Relaxed);
        self.replace_by(fresh);
        Ok(())
    }
}
