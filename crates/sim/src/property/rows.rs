//! The rows are those of the model, each at its address; no other tables exist. Every index has an
//! entry for each row.

use extentdb_base::sync::Arc;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use extentdb_engine::{Address, Database, Error, Row, Session, Table};
use extentdb_types::{Datum, SqlType};

use crate::model::{Model, TableModel};
use crate::schema::is_in;

/// Tables by name.
pub(crate) type Found = BTreeMap<String, FoundTable>;

/// What a table holds.
pub(crate) struct FoundTable {
    pub(crate) rows: BTreeMap<i32, (Address, Row)>,
    /// Names and types.
    columns: Vec<(String, SqlType)>,
    /// By index: the ids of its rows, ascending.
    indexes: BTreeMap<String, Vec<i32>>,
}

/// Reads all user tables.
pub(crate) fn read(db: &Arc<Database>) -> Result<Found, Error> {
    let mut session = db.session();
    let mut found = Found::new();
    for table in db.tables() {
        found.insert(table.name().to_owned(), read_table(&mut session, &table)?);
    }
    Ok(found)
}

/// Reads a table, and the ids of the rows of each index.
pub(crate) fn read_table(session: &mut Session, table: &Table) -> Result<FoundTable, Error> {
    let mut rows = BTreeMap::new();
    session.scan(table, &mut |at, row| {
        rows.insert(id_of(&row), (at, row));
        ControlFlow::Continue(())
    })?;
    let mut indexes = BTreeMap::new();
    for index in table.indexes() {
        let mut ids = Vec::new();
        session.seek(table, &index, &[], &mut |_, row| {
            ids.push(id_of(&row));
            ControlFlow::Continue(())
        })?;
        ids.sort_unstable();
        indexes.insert(index, ids);
    }
    let columns = table.columns();
    Ok(FoundTable { rows, columns, indexes })
}

/// The value of the first column.
pub(crate) fn id_of(row: &Row) -> i32 {
    match row.first() {
        Some(Datum::Int(id)) => *id,
        _ => i32::MIN,
    }
}

/// Whether the addresses of rows are compared with those of the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Addresses {
    Compared,
    Ignored,
}

/// The first difference to the model.
pub(crate) fn difference(model: &Model, found: &Found, addresses: Addresses) -> Option<String> {
    let expected: Vec<_> = model.keys().collect();
    let present: Vec<_> = found.keys().collect();
    if expected != present {
        return Some(format!("tables {expected:?} expected, {present:?} found"));
    }
    model.iter().find_map(|(name, table)| table_difference(name, table, &found[name], addresses))
}

/// The same for one table.
pub(crate) fn table_difference(
    name: &str,
    table: &TableModel,
    found: &FoundTable,
    addresses: Addresses,
) -> Option<String> {
    let FoundTable { rows, columns, indexes } = found;
    let expected = table.spec.columns.iter().map(|column| (&column.name, &column.ty));
    if !expected.eq(columns.iter().map(|(name, ty)| (name, ty))) {
        return Some(format!(
            "columns {:?} of {name} expected, {columns:?} found",
            table.spec.columns
        ));
    }
    if !table.indexes.keys().eq(indexes.keys()) {
        return Some(format!(
            "indexes {:?} of {name} expected, {:?} found",
            table.indexes.keys(),
            indexes.keys()
        ));
    }
    if let Some(id) = table.rows.keys().find(|id| !rows.contains_key(id)) {
        return Some(format!("row {id} of {name} is lost"));
    }
    if let Some(id) = rows.keys().find(|id| !table.rows.contains_key(id)) {
        return Some(format!("row {id} of {name} was never committed"));
    }
    for (id, stored) in &table.rows {
        let (at, row) = &rows[id];
        if *stored.row != *row {
            return Some(format!("row {id} of {name} at {at} has other values"));
        }
        if addresses == Addresses::Compared && stored.at != *at {
            return Some(format!("row {id} of {name} was put at {} and is at {at}", stored.at));
        }
    }
    let is_complete = |index: &String, ids: &[i32]| {
        ids.iter().eq(rows.keys().filter(|id| is_in(&table.indexes[index], **id)))
    };
    let (index, ids) = indexes.iter().find(|(index, ids)| !is_complete(index, ids))?;
    Some(format!("index {index} of {name} has {} of {} rows", ids.len(), rows.len()))
}
