//! The expected content of the database: tables, and their rows by id.

use std::collections::BTreeMap;

use extentdb_base::sync::Arc;
use extentdb_engine::{Address, IndexSpec, Row, TableSpec};
use extentdb_types::Datum;

/// Tables by name.
pub(crate) type Model = BTreeMap<String, TableModel>;

#[derive(Clone, Debug)]
pub(crate) struct TableModel {
    pub(crate) spec: Arc<TableSpec>,
    pub(crate) rows: BTreeMap<i32, StoredRow>,
    pub(crate) indexes: BTreeMap<String, Arc<IndexSpec>>,
    /// Disabled indexes by name.
    pub(crate) disabled: BTreeMap<String, Arc<IndexSpec>>,
}

/// The effect of a column change on the rows of a table.
#[derive(Clone, Debug)]
pub(crate) enum Reshape {
    /// Rows keep their values.
    Keep,
    /// Rows get another value.
    Add(Datum<'static>),
    /// Rows get another value: twice the id.
    AddTwice,
    /// Rows lose a value.
    Drop(usize),
    /// An int becomes a bigint.
    Widen(usize),
}

impl Reshape {
    fn row(&self, id: i32, row: &Row) -> Row {
        let mut row = row.clone();
        match self {
            Reshape::Keep => {}
            Reshape::Add(value) => row.push(value.clone()),
            Reshape::AddTwice => row.push(Datum::Int(2 * id)),
            Reshape::Drop(at) => drop(row.remove(*at)),
            Reshape::Widen(at) => {
                if let Datum::Int(value) = row[*at] {
                    row[*at] = Datum::BigInt(value.into());
                }
            }
        }
        row
    }
}

/// A row and its address, which never changes in a heap.
#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    pub(crate) at: Address,
    pub(crate) row: Arc<Row>,
}

/// A change of the model, made by a statement that succeeded.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put { table: String, id: i32, stored: StoredRow },
    Remove { table: String, id: i32 },
    Create { name: String, spec: Arc<TableSpec> },
    Drop { name: String },
    Truncate { name: String },
    Index { table: String, spec: Arc<IndexSpec> },
    Unindex { table: String, name: String },
    Switch { table: String, name: String, is_on: bool },
    Reshape { table: String, spec: Arc<TableSpec>, how: Reshape },
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
                let clustered = spec
                    .clustered
                    .iter()
                    .map(|index| (index.name.clone(), Arc::new(index.clone())));
                let rows = BTreeMap::new();
                let indexes = clustered.collect();
                let disabled = BTreeMap::new();
                model.insert(
                    name.clone(),
                    TableModel { spec: spec.clone(), rows, indexes, disabled },
                );
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
            Change::Switch { table, name, is_on } => {
                let Some(table) = model.get_mut(table) else { return };
                let (from, to) = if *is_on {
                    (&mut table.disabled, &mut table.indexes)
                } else {
                    (&mut table.indexes, &mut table.disabled)
                };
                if let Some(index) = from.remove(name) {
                    to.insert(name.clone(), index);
                }
            }
            Change::Reshape { table, spec, how } => {
                if let Some(table) = model.get_mut(table) {
                    table.spec = spec.clone();
                    let rows = table.rows.iter_mut();
                    rows.for_each(|(id, stored)| stored.row = Arc::new(how.row(*id, &stored.row)));
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
