//! What the database must hold: tables, and in them rows by id.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;
use extentdb_engine::{Address, IndexSpec, Row, TableSpec};

/// Tables by name.
pub(crate) type Model = BTreeMap<String, TableModel>;

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct TableModel {
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) rows: BTreeMap<i32, Stored>,
    /// By name.
    pub(crate) indexes: BTreeMap<String, Arc<IndexSpec>>,
}

/// A row and where it is: in a heap its address never changes.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) at: Address,
    pub(crate) row: Arc<Row>,
}

/// A change of the model, made by a statement that succeeded.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put { table: String, id: i32, stored: Stored },
    Remove { table: String, id: i32 },
    Create { name: String, spec: Arc<TableSpec> },
    Drop { name: String },
    Truncate { name: String },
    Index { table: String, spec: Arc<IndexSpec> },
    Unindex { table: String, name: String },
}

impl Change {
    pub(crate) fn apply(&self, model: &mut Model) {
        match self {
            Change::Put { table, id, stored } => {
                if let Some(table) = model.get_mut(table) {
                    table.rows.insert(*id, stored.clone());
                }
            }
            Change::Remove { table, id } => {
                if let Some(table) = model.get_mut(table) {
                    table.rows.remove(id);
                }
            }
            Change::Create { name, spec } => {
                let clustered =
                    spec.clustered.iter().map(|index| (index.name.clone(), Arc::new(index.clone())));
                let (rows, indexes) = (BTreeMap::new(), clustered.collect());
                model.insert(name.clone(), TableModel { spec: spec.clone(), rows, indexes });
            }
            Change::Drop { name } => {
                model.remove(name);
            }
            Change::Truncate { name } => {
                if let Some(table) = model.get_mut(name) {
                    table.rows.clear();
                }
            }
            Change::Index { table, spec } => {
                if let Some(table) = model.get_mut(table) {
                    table.indexes.insert(spec.name.clone(), spec.clone());
                }
            }
            Change::Unindex { table, name } => {
                if let Some(table) = model.get_mut(table) {
                    table.indexes.remove(name);
                }
            }
        }
    }
}

/// The model with these changes.
pub(crate) fn with(model: &Model, changes: &[Change]) -> Model {
    let mut changed = model.clone();
    changes.iter().for_each(|change| change.apply(&mut changed));
    changed
}
