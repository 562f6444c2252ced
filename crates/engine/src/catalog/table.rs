//! A user table: its name, and what it is at the moment.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, RwLock, read, write};
use extentdb_catalog::model::{self, Catalog, IndexKind};
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::Heap;
use extentdb_space::Unit;
use extentdb_types::SqlType;

use crate::catalog::columns::{FoundColumns, stored_defaults};
use crate::catalog::constraint::constraints_of;
use crate::catalog::definition::definition_of_index;
use crate::catalog::storage::{OffRowOptions, definition_of, heap_shape};
use crate::catalog::{
    Base, Identity, Index, LoadedCatalog, OffRowUnits, Storage, Trigger, UnreadableColumn,
};
use crate::error::{Error, Unsupported};
use crate::statistics::kept::TableStatistics;

/// A user table.
#[derive(Debug)]
pub struct Table {
    id: ObjectId,
    schema: String,
    name: String,
    storage: RwLock<Arc<Storage>>,
    statistics: Arc<TableStatistics>,
}

/// A table and its storage as a statement sees them.
#[derive(Clone, Copy)]
pub(crate) struct TableRef<'t> {
    pub(crate) table: &'t Table,
    pub(crate) storage: &'t Storage,
}

impl Table {
    /// The table as the catalog has it. `None` when its rows are not in one plain heap or
    /// clustered index: such a table is read and checked by other means, and not written here. With
    /// an index that cannot be kept true, or a column that is not read, it is read only.
    pub(crate) fn open(table: &model::Table, loaded: LoadedCatalog<'_>) -> Option<Table> {
        let mut storage = open_base(table, loaded)?;
        let definition = definition_of(table.id, &table.name, &storage);
        for index in table.indexes.iter().skip(1) {
            if index.is_marked_disabled() && index.kind == IndexKind::Nonclustered {
                storage.disabled.push(Arc::new(definition_of_index(index, None)));
                continue;
            }
            match Index::open(&definition, &storage, index, loaded) {
                Ok(index) => storage.indexes.push(Arc::new(index)),
                Err(why) => storage.read_only = Some(why),
            }
        }
        Some(Table::new(table.id, table.schema.clone(), table.name.clone(), storage))
    }

    /// A table by its name and what it is.
    pub(crate) fn new(id: ObjectId, schema: String, name: String, storage: Storage) -> Table {
        Table {
            id,
            schema,
            name,
            storage: RwLock::new(Arc::new(storage)),
            statistics: Arc::default(),
        }
    }

    /// The same table under another name.
    pub(crate) fn renamed(&self, name: &str) -> Table {
        self.named(self.schema.clone(), name.to_owned())
    }

    /// The same table in another schema.
    pub(crate) fn in_schema(&self, schema: &str) -> Table {
        self.named(schema.to_owned(), self.name.clone())
    }

    fn named(&self, schema: String, name: String) -> Table {
        Table {
            id: self.id,
            schema,
            name,
            storage: RwLock::new(self.storage()),
            statistics: self.statistics.clone(),
        }
    }

    pub(crate) fn with<'t>(&'t self, storage: &'t Storage) -> TableRef<'t> {
        TableRef { table: self, storage }
    }

    /// Is it a system base table? These keep no versions of their rows.
    pub(crate) fn is_system(&self) -> bool {
        self.unit().id().is_system()
    }

    /// Object id, unique in the database and never used again.
    pub fn id(&self) -> ObjectId {
        self.id
    }

    /// Name of its schema.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Name in its schema.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names and types of the columns that are read, in order: rows have a value for each.
    pub fn columns(&self) -> Vec<(String, SqlType)> {
        self.storage().columns.iter().map(|column| (column.name.clone(), column.ty)).collect()
    }

    /// The other columns, and why their values are not read. With any, the table is read only.
    pub fn unreadable_columns(&self) -> Vec<UnreadableColumn> {
        self.storage().unreadable.clone()
    }

    /// The heap of its rows; `None` of a table with a clustered index.
    pub fn heap(&self) -> Option<Arc<Heap>> {
        self.storage().base.heap().cloned()
    }

    /// The allocation unit of its rows.
    pub fn unit(&self) -> Arc<Unit> {
        self.storage().base.unit().clone()
    }

    pub(crate) fn storage(&self) -> Arc<Storage> {
        read(&self.storage).clone()
    }

    /// What is known of the values of its columns, in memory.
    pub(crate) fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    pub(crate) fn set_storage(&self, storage: Arc<Storage>) {
        *write(&self.storage) = storage;
    }

    /// Names of its indexes, by id.
    pub fn indexes(&self) -> Vec<String> {
        self.storage().all_indexes().map(|index| index.name().to_owned()).collect()
    }

    /// Is an index read here? Those of other kinds and forms are in the catalog only.
    pub fn has_index(&self, name: &str) -> bool {
        self.storage().all_indexes().any(|index| index.name().eq_ignore_ascii_case(name))
    }

    /// Rows, those of open transactions counted as if they were to commit.
    pub fn row_count(&self) -> i64 {
        self.unit().counts().0.rows
    }

    pub(crate) fn no_index(&self, name: &str) -> Error {
        Error::NoIndex { table: self.name.clone(), name: name.to_owned() }
    }

    /// Its triggers that are enabled, in the order in which they were created.
    pub fn enabled_triggers(&self) -> Vec<ObjectId> {
        let storage = self.storage();
        let enabled = storage.triggers.iter().filter(|trigger| trigger.is_enabled);
        let mut ids: Vec<ObjectId> = enabled.map(|trigger| trigger.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Refuses a table with triggers that would not run.
    pub(crate) fn verify_untriggered(&self, storage: &Storage) -> Result<(), Error> {
        match storage.triggers.iter().find(|trigger| trigger.is_enabled) {
            None => Ok(()),
            Some(trigger) => Err(self.read_only_error(&format!("trigger {}", trigger.name))),
        }
    }

    /// Refuses to remove all rows of a table that foreign keys of other tables reference.
    pub(crate) fn verify_unreferenced(
        &self,
        storage: &Storage,
        action: &'static str,
    ) -> Result<(), Error> {
        match storage.constraints.referencing_keys.iter().find(|key| key.child != self.id) {
            None => Ok(()),
            Some(key) => {
                let table = self.name.clone();
                Err(Unsupported::ReferencedTable { action, table, key: key.name.clone() }.into())
            }
        }
    }

    /// Refuses a table that is not even altered here.
    pub(crate) fn verify_alterable(&self, storage: &Storage) -> Result<(), Error> {
        storage.read_only.as_ref().map_or(Ok(()), |why| Err(self.read_only_error(why)))
    }

    fn read_only_error(&self, why: &str) -> Error {
        Unsupported::ReadOnlyTable { table: self.name.clone(), why: why.to_owned() }.into()
    }
}

/// The storage of a table with its heap or clustered index, without other indexes.
fn open_base(table: &model::Table, loaded: LoadedCatalog<'_>) -> Option<Storage> {
    let catalog = loaded.catalog;
    let rowset = catalog.rowsets_of(table.base()?).next()?;
    let first = table.indexes.first().filter(|first| first.rowsets.len() == 1)?;
    let (shape, unwritten) = RowShape::for_reading(rowset).ok()?;
    let shape = shape.with_stored_defaults(stored_defaults(rowset, catalog));
    let unit = loaded.unit(rowset)?;
    let found = FoundColumns::of(table, rowset, catalog);
    let columns = found.columns;
    let space = loaded.space.clone();
    let (base, shape) = match first.kind {
        IndexKind::Heap => {
            let of_rows = heap_shape(&rowset.layout, &shape);
            (Base::Heap(Arc::new(Heap::new(space, unit, of_rows, loaded.placement))), shape)
        }
        IndexKind::Clustered => {
            let definition = definition_of_index(first, Some(rowset));
            let shape = shape.with_declared_keys(definition.keys.len());
            let index = Index::clustered(definition, &columns, shape.clone(), space, unit);
            (Base::Clustered(Arc::new(index.with_order_unknown())), shape)
        }
        _ => return None,
    };
    let (constraints, read_only) = constraints_of(table, &columns, catalog);
    let not_all =
        || found.unreadable.first().map(|own| format!("column {}: {}", own.name, own.why));
    let read_only = found
        .sparse
        .map(|name| format!("sparse column {name}"))
        .or_else(not_all)
        .or(unwritten.map(|why| why.to_string()))
        .or(read_only);
    Some(Storage {
        columns,
        unreadable: found.unreadable,
        shape,
        base,
        off_row: OffRowUnits::open(rowset, loaded.space, loaded.units),
        off_row_options: OffRowOptions { text_in_row: first.text_in_row, ..Default::default() },
        indexes: Vec::new(),
        disabled: Vec::new(),
        identity: table.columns.iter().find_map(Identity::of).map(Arc::new),
        constraints,
        triggers: triggers_of(table.id, catalog),
        read_only,
    })
}

fn triggers_of(table: ObjectId, catalog: &Catalog) -> Vec<Trigger> {
    let objects = catalog.modules.iter().map(|module| &module.object);
    let own = objects.filter(|object| object.kind.code() == "TR" && object.parent == table);
    let trigger = |object: &model::Object| Trigger {
        id: object.id,
        name: object.name.clone(),
        is_enabled: object.status & model::Object::DISABLED == 0,
    };
    own.map(trigger).collect()
}
