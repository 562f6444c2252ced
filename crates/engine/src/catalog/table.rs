//! A user table: its name, and what it is at the moment.

use extentdb_base::ObjectId;
use extentdb_base::sync::{Arc, RwLock, read, write};
use extentdb_catalog::model::{AllocUnitKind, Catalog, IndexKind, Rowset};
use extentdb_rowset::RowShape;
use extentdb_rowset::heap::{Heap, Placement};
use extentdb_space::{Space, Unit};
use extentdb_types::SqlType;

use crate::catalog::constraint::constraints_of;
use crate::catalog::definition::{definition_of_index, position_of};
use crate::catalog::storage::{OffRowOptions, definition_of, heap_shape};
use crate::catalog::units::Units;
use crate::catalog::{
    Base, BaseKey, ColumnDefault, Formula, Identity, Index, OffRowUnits, Storage, TableColumn,
    Trigger,
};
use crate::error::{Error, Unsupported};

/// A user table.
#[derive(Debug)]
pub struct Table {
    id: ObjectId,
    schema: String,
    name: String,
    storage: RwLock<Arc<Storage>>,
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
    /// an index that cannot be kept true it is read only.
    pub(crate) fn open(
        table: &extentdb_catalog::model::Table,
        catalog: &Catalog,
        space: &Arc<Space>,
        units: &Units,
        placement: Placement,
    ) -> Result<Option<Table>, Error> {
        let Some(rowset) = table.base().and_then(|base| catalog.rowsets_of(base).next()) else {
            return Ok(None);
        };
        let Some(first) = table.indexes.first().filter(|first| first.rowsets.len() == 1) else {
            return Ok(None);
        };
        let Ok(shape) = RowShape::of_rowset(rowset) else { return Ok(None) };
        let Some(unit) = rowset.unit(AllocUnitKind::InRow).and_then(|unit| units.get(unit.id))
        else {
            return Ok(None);
        };
        let Some(columns) = columns_of(table, rowset, catalog) else { return Ok(None) };
        let (base, shape) = match first.kind {
            IndexKind::Heap => {
                let heap =
                    Heap::new(space.clone(), unit, heap_shape(&rowset.layout, &shape), placement);
                (Base::Heap(Arc::new(heap)), shape)
            }
            IndexKind::Clustered => {
                let definition = definition_of_index(first, Some(rowset));
                let shape = shape.with_declared_keys(definition.keys.len());
                let space = space.clone();
                let index = Index::clustered(definition, &columns, shape.clone(), space, unit);
                (Base::Clustered(Arc::new(index.with_order_unknown())), shape)
            }
            _ => return Ok(None),
        };
        let identity = table.columns.iter().find_map(Identity::of).map(Arc::new);
        let (constraints, read_only) = constraints_of(table, &columns, catalog);
        let off_row = OffRowUnits::open(rowset, space, units);
        let off_row_options =
            OffRowOptions { text_in_row: first.text_in_row, ..Default::default() };
        let mut storage = Storage {
            columns,
            shape,
            base,
            off_row,
            off_row_options,
            indexes: Vec::new(),
            disabled: Vec::new(),
            identity,
            constraints,
            triggers: triggers_of(table.id, catalog),
            read_only,
        };
        let definition = definition_of(table.id, &table.name, &storage);
        let base_key = BaseKey::of(&storage);
        for index in table.indexes.iter().skip(1) {
            if index.is_marked_disabled() && index.kind == IndexKind::Nonclustered {
                storage.disabled.push(Arc::new(definition_of_index(index, None)));
                continue;
            }
            match Index::open(
                &definition,
                &storage.columns,
                &base_key,
                index,
                catalog,
                space,
                units,
            ) {
                Ok(index) => storage.indexes.push(Arc::new(index)),
                Err(why) => storage.read_only = Some(why),
            }
        }
        Ok(Some(Table::new(table.id, table.schema.clone(), table.name.clone(), storage)))
    }

    /// A table by its name and what it is.
    pub(crate) fn new(id: ObjectId, schema: String, name: String, storage: Storage) -> Table {
        Table { id, schema, name, storage: RwLock::new(Arc::new(storage)) }
    }

    pub(crate) fn with<'t>(&'t self, storage: &'t Storage) -> TableRef<'t> {
        TableRef { table: self, storage }
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

    /// Names and types of the columns, in order.
    pub fn columns(&self) -> Vec<(String, SqlType)> {
        self.storage().columns.iter().map(|column| (column.name.clone(), column.ty)).collect()
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

    pub(crate) fn set_storage(&self, storage: Arc<Storage>) {
        *write(&self.storage) = storage;
    }

    /// Names of its indexes, by id.
    pub fn indexes(&self) -> Vec<String> {
        self.storage().all_indexes().map(|index| index.name().to_owned()).collect()
    }

    /// Rows, those of open transactions counted as if they were to commit.
    pub fn row_count(&self) -> i64 {
        self.unit().counts().0.rows
    }

    pub(crate) fn no_index(&self, name: &str) -> Error {
        Error::NoIndex { table: self.name.clone(), name: name.to_owned() }
    }

    /// Refuses a table whose rows are only read here.
    pub(crate) fn verify_writable(&self, storage: &Storage) -> Result<(), Error> {
        self.verify_alterable(storage)?;
        match storage.triggers.first() {
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

fn triggers_of(table: ObjectId, catalog: &Catalog) -> Vec<Trigger> {
    let objects = catalog.modules.iter().map(|module| &module.object);
    let own = objects.filter(|object| object.kind.code() == "TR" && object.parent == table);
    own.map(|object| Trigger { id: object.id, name: object.name.clone() }).collect()
}

/// The columns of a table of the catalog; `None` when one of them is of a kind that is not
/// written.
fn columns_of(
    table: &extentdb_catalog::model::Table,
    rowset: &Rowset,
    catalog: &Catalog,
) -> Option<Vec<TableColumn>> {
    let mut columns = Vec::new();
    let mut after = rowset.layout.columns.len()..;
    for column in &table.columns {
        let at = position_of(&rowset.layout, column.id);
        let is_virtual = column.computed.is_some() && !column.persisted;
        let constraint =
            catalog.defaults.iter().find(|default| default.object.id == column.default_object);
        let default = constraint.filter(|_| column.default_object.0 != 0);
        columns.push(TableColumn {
            id: column.id,
            name: column.name.clone(),
            ty: column.ty?,
            nullable: column.nullable,
            default: default.map(|default| ColumnDefault {
                id: default.object.id,
                name: default.object.name.clone(),
                is_own: default.object.parent == table.id,
                // A default whose text cannot be read is one that cannot be evaluated.
                text: default.definition.clone().unwrap_or_default(),
            }),
            formula: None,
            at: if is_virtual { after.next()? } else { at? },
        });
    }
    let texts =
        table.columns.iter().map(|column| Some((column.computed.clone()?, column.persisted)));
    with_formulas(&mut columns, &texts.collect::<Vec<_>>());
    Some(columns)
}

/// Says which columns are computed: by these texts, and whether rows have their values.
pub(crate) fn with_formulas(columns: &mut [TableColumn], texts: &[Option<(String, bool)>]) {
    // Columns are computed of those that are not, whose names alone count.
    let mut plain = columns.to_vec();
    let computed = plain.iter_mut().zip(texts).filter(|(_, text)| text.is_some());
    computed.for_each(|(column, _)| column.name.clear());
    for (column, text) in columns.iter_mut().zip(texts) {
        if let Some((text, is_persisted)) = text {
            let formula = Formula::compile(text, column.ty, *is_persisted, &plain);
            column.formula = Some(Arc::new(formula));
        }
    }
}
